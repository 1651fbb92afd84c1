"""Products of matrices that are added to a sum, piece by piece: by symmetry, where both operands are one matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from primad.ops.blocked.pieces import Each

PANEL = 336
"""Columns of an operand that a piece reads, at most. Tuned with 1341 columns: with fewer BLAS is slower, and with more
threads share worse. The last bits of results depend on it."""


def add_product(total: Any, left: Any, right: Any, each: Each) -> None:
    """Add leftᵀ·right to a matrix, in pieces that can be computed in any order.

    If left is right, only the pieces on the diagonal and above are computed: see `mirror`.

    Args:
        total: the sum, (m, p).
        left: a matrix (k, m).
        right: a matrix (k, p).
        each: how pieces are computed.
    """
    rows, columns = _panels(left.shape[1]), _panels(right.shape[1])
    pieces = [(a, b) for i, a in enumerate(rows) for j, b in enumerate(columns) if left is not right or i < j]
    if left is right:  # what takes half as long comes last
        pieces += [(a, a) for a in rows]

    def piece(number: int) -> None:
        a, b = pieces[number]
        total[a, b] += np.matmul(left[:, a].T, right[:, b])  # of a matrix with itself, NumPy computes a triangle

    each(piece, len(pieces))


def mirror(total: Any) -> None:
    """Copy the pieces above the diagonal of a symmetric sum to where they are missing."""
    panels = _panels(len(total))
    for i, a in enumerate(panels):
        for b in panels[i + 1 :]:
            total[b, a] = total[a, b].T


def _panels(length: int) -> list[slice]:
    """Cut columns into panels of about equal width."""
    count = -(-length // PANEL)
    return [slice(a, b) for a, b in pairwise([i * length // count for i in range(count + 1)])]
