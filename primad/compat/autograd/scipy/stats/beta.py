"""The beta distribution."""

from __future__ import annotations

from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.numpy.special import gammaln, xlogy


def logpdf(x: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of the density."""
    return xlogy(a - 1.0, x) + xlogy(b - 1.0, 1.0 - x) - gammaln(a) - gammaln(b) + gammaln(a + b)


def pdf(x: Any, a: Any, b: Any) -> Any:
    """Return the density."""
    return pn.exp(logpdf(x, a, b))


__all__ = ["logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
