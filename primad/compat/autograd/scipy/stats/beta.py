"""The beta distribution."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.importing import missing
from primad.scipy.stats import beta as _own

cdf = _own.cdf
logpdf = _own.logpdf
pdf = _own.pdf

__all__ = ["cdf", "logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
