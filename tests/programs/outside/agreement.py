"""Whether results of two systems agree: values, gradients and products with Hessians, at some points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

ALIKE = 10.0
"""How many times as far apart is as much: roundings are of one size, but none of two is another one's bound."""

MOST_APART = 1e-3
"""Relative difference that is an error whatever JAX's own results are. Chosen: rounding leaves three digits."""

OVERFLOWING = 1e300
"""Size from which numbers count as infinite. Chosen: far from every result that is one, and near the largest number."""

OF_ITSELF, OF_ROUNDING, OF_LARGEST = 1e-6, 1e4, 1e-13
"""How far an element may be from JAX's: by parts of itself, of what it differs by beside the point, and of the largest
one. Chosen: what two ways to add leave is far below, and a wrong derivative is of the size of the element."""

KINDS = ("value", "gradient", "product")


def different(wanted: Sequence[Any], got: Sequence[Any], most: float = 1e-8) -> str:
    """Say what differs at the first point at which something does, by more than that part of its largest number."""
    largest = sizes(wanted)
    for x, y in zip(wanted, got, strict=True):
        for what, error in errors(x, y, largest).items():
            if error > most:
                return f"WRONG {what}: relative difference {error:.1e}"
    return ""


def astray(wanted: Sequence[Any], got: Sequence[Any], others: Sequence[Sequence[Any]]) -> str:
    """Say what has an element that is not JAX's, however small beside the largest one.

    Args:
        wanted: JAX's results at points.
        got: primad's.
        others: JAX's beside the points, or computed otherwise, whose distance is that of rounding.
    """
    largest = sizes(wanted)
    for x, y, *rest in zip(wanted, got, *others, strict=True):
        for what, a, b, size, *around in zip(KINDS, x, y, largest, *rest, strict=False):
            apart = [np.abs(np.where(_numbers(a) & _numbers(each), a - each, 0.0)) for each in (b, *around)]
            allowed = OF_ITSELF * np.abs(a) + OF_ROUNDING * np.max(apart[1:], axis=0) + OF_LARGEST * size
            if np.any(apart[0] > allowed):
                return f"WRONG {what}, in a small element: relative difference {np.max(apart[0] / allowed):.1e} allowed"
    return ""


def within(wanted: Sequence[Any], other: Sequence[Any]) -> float:
    """Return the relative difference from JAX's results that their own rounding explains."""
    return min(MOST_APART, ALIKE * apart(wanted, other))


def apart(results: Sequence[Any], others: Sequence[Any]) -> float:
    """Return the largest relative difference of results at points from others."""
    largest = sizes(results)
    return max(max(errors(x, y, largest).values()) for x, y in zip(results, others, strict=True))


def filled(wanted: Sequence[Any], got: Sequence[Any]) -> list[list[Any]]:
    """Return JAX's results, and primad's where these are no numbers."""
    pairs = [zip(x, y, strict=True) for x, y in zip(wanted, got, strict=True)]
    return [[np.where(np.isnan(a), b, a) for a, b in pair] for pair in pairs]


def sizes(wanted: Sequence[Any]) -> list[float]:
    """Return the largest number of value, gradient and product at any point: at one a gradient may be rounding only.

    So may a product at each, as that of a homogeneous function along its argument: it counts as large as a millionth of
    the gradient.
    """
    kinds = zip(*wanted, strict=True)
    found = [max(float(np.max(np.abs(x[_numbers(x)]), initial=1e-300)) for x in kind) for kind in kinds]
    return [*found[:2], *[max(each, 1e-6 * found[1]) for each in found[2:]]]


def errors(wanted: Any, got: Any, largest: Sequence[float]) -> dict[str, float]:
    """Return by which parts of these value, gradient and product differ; infinity where one of two is no number."""
    found = {}
    for what, x, y, size in zip(KINDS, wanted, got, largest, strict=False):
        y, finite = np.asarray(y), _numbers(x)
        error = np.max(np.abs(x[finite] - y[finite]), initial=0.0) / size
        found[what] = float(error) if np.array_equal(finite, _numbers(y)) else np.inf
    return found


def _numbers(x: Any) -> Any:
    """Say which elements are numbers, and not so large that the order of operations decides whether they overflow."""
    return np.abs(x) < OVERFLOWING
