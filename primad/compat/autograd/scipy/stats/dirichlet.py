"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.scipy.stats.multivariate import dirichlet_log_density


def logpdf(x: Any, alpha: Any) -> Any:
    """Return the logarithm of the density."""
    return dirichlet_log_density(pn.asarray(x), pn.asarray(alpha))


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
