"""Products of small arrays, with all that follows from their shapes found before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ops.blocked.deep_products import ACROSS, ALONG, DOT, MATRIX, as_matrices

Product = Callable[[Any, Any], Any]
SHORTEST = min(ACROSS, ALONG, DOT, MATRIX)
"""Products of a sum that one call adds up in any case, whatever the shapes and strides."""


def aligned_product(x_order: Any, x_index: Any, y_order: Any, y_index: Any) -> Product:
    """Return what multiplies arrays without a sum, given how their axes are moved and where new ones stand."""
    if not x_order and not y_order:
        return np.multiply
    move_x, move_y = _moving(x_order, x_index), _moving(y_order, y_index)
    if move_x is None:
        return np.multiply if move_y is None else lambda x, y: np.multiply(x, move_y(y))
    return lambda x, y: np.multiply(move_x(x), y if move_y is None else move_y(y))


def _moving(order: tuple[int, ...], index: tuple[Any, ...]) -> Callable[[Any], Any] | None:
    """Return what moves axes and inserts new ones; None where NumPy's broadcasting does the same."""
    moved = order != tuple(range(len(order)))
    first = next((i for i, item in enumerate(index) if item is not None), len(index))
    if None in index[first:]:
        return (lambda x: x.transpose(order)[index]) if moved else lambda x: x[index]
    return (lambda x: x.transpose(order)) if moved else None


def summed_product(steps: tuple[Any, ...], depth: int, definition: Product) -> Product | None:
    """Return what multiplies arrays of floats and sums; None where one product of matrices is not the way.

    Args:
        steps: what makes matrices of operands and an array of the product; None stands for what changes nothing.
        depth: products that are summed for an element.
        definition: computes it for arrays whose elements do not lie in a row.
    """
    if depth > SHORTEST:
        return None
    before, (matrix, result, out_order) = steps[:4], steps[4:]

    def product(x: Any, y: Any) -> Any:
        if not (x.flags.forc and y.flags.forc):
            return definition(x, y)
        made = np.matmul(*as_matrices(x, y, *before))
        if matrix is not None:
            made = made.reshape(result)
        return made if out_order is None else made.transpose(out_order)

    return product
