"""Values at the faces of cells, from averages over cells: constant, or by five cells and weights (WENO).

WENO of fifth order with the weights of R. Borges, M. Carmona, B. Costa & W. S. Don, J. Comput. Phys. 227 (2008) 3191,
on the candidates and smoothness of G.-S. Jiang & C.-W. Shu, J. Comput. Phys. 126 (1996) 202.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GHOSTS = 3
"""Cells beyond each end that the widest stencil needs: both states of the outermost face take three on its side."""
ORDERS = (1, 5)
"""Orders of the reconstructions that there are."""


def face_states(padded: Any, axis: int, order: int, floor: Any) -> tuple[Any, Any]:
    """Return the values left and right of each face across an axis.

    Args:
        padded: averages over cells, with `GHOSTS` more at both ends of the axis.
        axis: of the array.
        order: 1 for constants, 5 for WENO.
        floor: squares of differences below which a row counts as constant, that broadcasts to the averages.
    """
    count = padded.shape[axis] - 2 * GHOSTS

    def cells(first: int) -> Any:
        """Return the cells whose place to the face is given: −1 is left of it, 0 right."""
        place = [slice(None)] * np.ndim(padded)
        place[axis] = slice(GHOSTS + first, GHOSTS + first + count + 1)
        return padded[tuple(place)]

    if order == 1:
        return cells(-1), cells(0)
    row = [cells(k) for k in range(-3, 3)]
    return _weno(row[:5], floor), _weno(row[:0:-1], floor)


def _weno(row: list[Any], floor: Any) -> Any:
    """Return the value at the face between the third and the fourth of five cells in a row."""
    a, b, c, d, e = row
    candidates = (
        (2.0 * a - 7.0 * b + 11.0 * c) / 6.0,
        (-b + 5.0 * c + 2.0 * d) / 6.0,
        (2.0 * c + 5.0 * d - e) / 6.0,
    )
    rough = (
        13.0 / 12.0 * (a - 2.0 * b + c) ** 2 + 0.25 * (a - 4.0 * b + 3.0 * c) ** 2,
        13.0 / 12.0 * (b - 2.0 * c + d) ** 2 + 0.25 * (b - d) ** 2,
        13.0 / 12.0 * (c - 2.0 * d + e) ** 2 + 0.25 * (3.0 * c - 4.0 * d + e) ** 2,
    )
    whole = (rough[0] - rough[2]) ** 2
    weights = [best * (1.0 + whole / (one + floor) ** 2) for best, one in zip((0.1, 0.6, 0.3), rough, strict=True)]
    total = weights[0] + weights[1] + weights[2]
    return (weights[0] * candidates[0] + weights[1] * candidates[1] + weights[2] * candidates[2]) / total
