"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.numpy.special import gammaln, xlogy


def logpdf(x: Any, alpha: Any) -> Any:
    """Return the logarithm of the density."""
    alpha = pn.asarray(alpha)
    powers = pn.sum((xlogy(alpha - 1.0, pn.asarray(x).T)).T, axis=0)
    return powers - pn.sum(gammaln(alpha)) + gammaln(pn.sum(alpha))


def pdf(x: Any, alpha: Any) -> Any:
    """Return the density."""
    return pn.exp(logpdf(x, alpha))


def rvs(alpha: Any, size: int = 1, random_state: Any = None) -> Any:
    """Return samples, which are constants, one row each."""
    from scipy.stats import dirichlet  # a large library: only when numbers are drawn

    return dirichlet.rvs(alpha, size, random_state)


__all__ = ["logpdf", "pdf", "rvs"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
