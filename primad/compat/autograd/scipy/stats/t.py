"""Student's t distribution."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.importing import missing
from primad.scipy.stats import t as _own

cdf = _own.cdf
logcdf = _own.logcdf
logpdf = _own.logpdf
pdf = _own.pdf

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
