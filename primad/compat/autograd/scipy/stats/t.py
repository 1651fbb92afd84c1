"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.numpy.special import gammaln


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density."""
    away = (x - loc) / scale
    normed = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * pn.log(df * math.pi) - pn.log(scale)
    return normed - 0.5 * (df + 1.0) * pn.log1p(away**2 / df)


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    return pn.exp(logpdf(x, df, loc, scale))


__all__ = ["logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
