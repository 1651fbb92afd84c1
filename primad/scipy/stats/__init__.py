"""Distributions of `scipy.stats` for traced arrays, by their names there: densities, probabilities and quantiles.

They are differentiable in the point and in all parameters. On plain arrays they are SciPy's own.
"""

from typing import Any

from primad.scipy import other_names
from primad.scipy.stats import circular as _circular
from primad.scipy.stats import distributions as _table
from primad.scipy.stats import elliptical as _elliptical
from primad.scipy.stats import extremes as _extremes
from primad.scipy.stats import integer_distributions as _integers
from primad.scipy.stats import matrices as _matrices
from primad.scipy.stats import multivariate as _multivariate
from primad.scipy.stats import normal_family as _normal_family
from primad.scipy.stats import power_laws as _power_laws
from primad.scipy.stats.circular import *
from primad.scipy.stats.distributions import *
from primad.scipy.stats.elliptical import *
from primad.scipy.stats.extremes import *
from primad.scipy.stats.integer_distributions import *
from primad.scipy.stats.matrices import *
from primad.scipy.stats.multivariate import *
from primad.scipy.stats.normal_family import *
from primad.scipy.stats.power_laws import *

_FILES = (
    _table,
    _extremes,
    _normal_family,
    _power_laws,
    _circular,
    _integers,
    _multivariate,
    _elliptical,
    _matrices,
)
__all__ = sorted(name for file in _FILES for name in file.__all__)


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a distribution that is not recorded."""
    raise other_names.missing("scipy.stats", name, __all__)
