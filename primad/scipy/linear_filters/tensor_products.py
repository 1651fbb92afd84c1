"""Sums over neighbours on a grid, weighed by products of weights along each axis."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from primad import numpy as pnp


def summed(values: Any, choices: Sequence[Sequence[tuple[Any, Any]]]) -> Any:
    """Return Σ w₁ w₂ … values[i₁, i₂, …] over all combinations of places and weights along the first axes.

    Args:
        values: on a grid, traced or plain; further axes are further values.
        choices: for each axis of the grid, places and their weights, which broadcast with those of other axes.
    """
    shape, count = values.shape[: len(choices)], len(choices)
    flat = pnp.reshape(values, (-1, *values.shape[count:]))
    trail = [None] * (values.ndim - count)
    found: Any = 0.0
    for corner in itertools.product(*choices):
        place = reduce(lambda number, axis: number * shape[axis] + corner[axis][0], range(1, count), corner[0][0])
        weight = reduce(mul, [part[1] for part in corner])
        weight = weight if np.ndim(weight) == 0 or not trail else weight[(..., *trail)]
        found = found + pnp.take(flat, place, axis=0) * weight
    return found
