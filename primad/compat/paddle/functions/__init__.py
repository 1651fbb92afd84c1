"""Paddle's functions over its operators; `__all__` lists those of the top level."""

from primad.compat.paddle.functions import creation, indexing, manipulation, math, numerics, queries, statistics
from primad.compat.paddle.functions.creation import *
from primad.compat.paddle.functions.indexing import *
from primad.compat.paddle.functions.manipulation import *
from primad.compat.paddle.functions.math import *
from primad.compat.paddle.functions.numerics import *
from primad.compat.paddle.functions.queries import *
from primad.compat.paddle.functions.statistics import *

__all__ = [
    *creation.__all__, *indexing.__all__, *manipulation.__all__, *math.__all__, *numerics.__all__, *queries.__all__,
    *statistics.__all__,
]  # fmt: skip
