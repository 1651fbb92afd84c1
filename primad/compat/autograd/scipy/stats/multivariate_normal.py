"""The multivariate normal distribution, of covariances that are positive definite."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.scipy.stats.elliptical import normal_log_density


def logpdf(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """Return the logarithm of the density at points, whose coordinates are the last axis."""
    if allow_singular:
        raise NotImplementedError("multivariate_normal.logpdf of singular covariances is not supported")
    away = pn.atleast_1d(x - mean)
    size = away.shape[-1]
    covariance = cov if pn.ndim(cov) == 2 else pn.diag(pn.broadcast_to(cov, (size,)))
    return normal_log_density(away, covariance)


def pdf(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """Return the density at points."""
    return pn.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any, cov: Any) -> Any:
    """Return the differential entropy, in nats."""
    size = cov.shape[0]
    return 0.5 * (size * (1.0 + math.log(2.0 * math.pi)) + pn.linalg.slogdet(cov)[1])
