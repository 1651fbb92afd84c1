"""The chi-squared distribution."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.numpy.special import gammaln, xlogy


def logpdf(x: Any, df: Any) -> Any:
    """Return the logarithm of the density."""
    half = 0.5 * df
    return xlogy(half - 1.0, x) - 0.5 * x - gammaln(half) - half * math.log(2.0)


def pdf(x: Any, df: Any) -> Any:
    """Return the density."""
    return pn.exp(logpdf(x, df))


__all__ = ["logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
