"""Distributions of `scipy.stats` for traced arrays, by their names there: densities, probabilities and quantiles.

They are differentiable in the point and in all parameters. On plain arrays they are SciPy's own.
"""

from typing import Any

from primad.scipy import other_names
from primad.scipy.stats import table as _table
from primad.scipy.stats.table import *

__all__ = list(_table.__all__)


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a distribution that is not recorded."""
    raise other_names.missing("scipy.stats", name, __all__)
