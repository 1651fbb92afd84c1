"""The gamma distribution of scale 1."""

from __future__ import annotations

from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.numpy.special import gammaln, xlogy


def logpdf(x: Any, a: Any) -> Any:
    """Return the logarithm of the density."""
    return xlogy(a - 1.0, x) - x - gammaln(a)


def pdf(x: Any, a: Any) -> Any:
    """Return the density."""
    return pn.exp(logpdf(x, a))


__all__ = ["logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
