"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.numpy.special import gammaln, xlogy


def logpmf(k: Any, mu: Any) -> Any:
    """Return the logarithm of the probability."""
    return xlogy(k, mu) - mu - gammaln(k + 1.0)


def pmf(k: Any, mu: Any) -> Any:
    """Return the probability."""
    return pn.exp(logpmf(k, mu))


__all__ = ["logpmf", "pmf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
