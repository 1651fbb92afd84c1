"""The normal distribution."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.importing import missing
from primad.scipy.stats import norm as _own

cdf = _own.cdf
logcdf = _own.logcdf
logpdf = _own.logpdf
logsf = _own.logsf
pdf = _own.pdf
sf = _own.sf

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
