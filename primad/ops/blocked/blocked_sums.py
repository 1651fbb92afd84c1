"""Products of matrices that are added to a sum, piece by piece: by symmetry, where both operands are one matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from primad.ops.blocked.pieces import Each

PANEL = 336
"""Columns of an operand that a piece reads, at most. Tuned with 1341 columns: with fewer BLAS is slower, and with more
threads share worse. The last bits of results depend on it."""


def add_product(total: Any, left: Any, right: Any, each: Each, symmetric: bool = False) -> None:
    """Add leftᵀ·right to a matrix, in pieces that can be computed in any order.

    Of symmetric products only pieces on the diagonal and above are computed: see `mirror`.

    Args:
        total: the sum, (m, p).
        left: a matrix (k, m).
        right: a matrix (k, p).
        each: how pieces are computed.
        symmetric: whether the product is made of symmetric matrices beside each other, or one below the other; it is
            one where left is right.
    """
    rows, columns = _panels(left.shape[1]), _panels(right.shape[1])
    if left is right:  # NumPy computes a triangle of a matrix with itself; what takes half as long comes last
        pieces = [(a, b) for i, a in enumerate(rows) for b in columns[i + 1 :]] + [(a, a) for a in rows]
    else:
        pieces = _triangles(total) if symmetric else [(a, b) for a in rows for b in columns]

    def piece(number: int) -> None:
        a, b = pieces[number]
        total[a, b] += np.matmul(left[:, a].T, right[:, b])

    each(piece, len(pieces))


def mirror(total: Any) -> None:
    """Copy what is above the diagonals of symmetric sums to below them, so that the two are equal to the last bit."""
    side = min(total.shape)
    for i, j in _corners(total):
        square = total[i : i + side, j : j + side]
        for a, b in _triangle(side):
            if a == b:
                np.copyto(square[a, a], square[a, a].T, where=np.tri(a.stop - a.start, k=-1, dtype=bool))
            else:
                square[b, a] = square[a, b].T


def computed_share(length: int) -> float:
    """Return which share of a symmetric product of two matrices is computed, by its number of rows, at least 1."""
    elements: int = sum((a.stop - a.start) * (b.stop - b.start) for a, b in _triangle(length))
    return elements / length**2


def _corners(total: Any) -> list[tuple[int, int]]:
    """Return where the square matrices begin that are beside each other, or one below the other."""
    height, width = total.shape
    side = min(height, width)
    return [(i, j) for i in range(0, height, side) for j in range(0, width, side)]


def _triangles(total: Any) -> list[tuple[slice, slice]]:
    """Return the pieces on the diagonals of the square matrices and above, the largest first."""
    corners = _corners(total)
    return [
        (slice(i + a.start, i + a.stop), slice(j + b.start, j + b.stop))
        for a, b in _triangle(min(total.shape))
        for i, j in corners
    ]


def _triangle(length: int) -> list[tuple[slice, slice]]:
    """Return the pieces on the diagonal and above it, the largest first: a triangle is halves and a square."""
    panels = _panels(length)
    pieces = [(a, b) for i, a in enumerate(panels) for b in panels[i + 1 :]]
    while panels:
        halves = []
        for a in panels:
            middle = (a.start + a.stop) // 2
            if 4 * (a.stop - a.start) <= PANEL or middle == a.start:  # smaller products take longer than they save
                pieces.append((a, a))
            else:
                first, second = slice(a.start, middle), slice(middle, a.stop)
                pieces.append((first, second))
                halves += [first, second]
        panels = halves
    return pieces


def _panels(length: int) -> list[slice]:
    """Cut columns into panels of about equal width."""
    count = -(-length // PANEL)
    return [slice(a, b) for a, b in pairwise([i * length // count for i in range(count + 1)])]
