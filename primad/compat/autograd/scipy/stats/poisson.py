"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.importing import missing
from primad.scipy.stats import poisson as _own

cdf = _own.cdf
logpmf = _own.logpmf
pmf = _own.pmf

__all__ = ["cdf", "logpmf", "pmf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
