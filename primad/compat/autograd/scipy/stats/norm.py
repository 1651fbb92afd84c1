"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn

_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density."""
    return -0.5 * ((x - loc) / scale) ** 2 - pn.log(scale) - _LOG_ROOT


def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    return pn.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the probability of a smaller value."""
    return 0.5 * pn.special.erfc((loc - x) / scale / math.sqrt(2.0))


def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the probability of a larger value."""
    return 0.5 * pn.special.erfc((x - loc) / scale / math.sqrt(2.0))


def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of `cdf`, also where that underflows."""
    return pn.special.log_ndtr((x - loc) / scale)


def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of `sf`, also where that underflows."""
    return pn.special.log_ndtr((loc - x) / scale)
