"""Native code of each kind of program at lengths around those where its loops change: vectors, blocks, short rows.

Values are small whole numbers, whose sums and products are exact in any order, so every result agrees to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primad import numpy as pnp
from primad import ops
from primad.native.llvm import vectors
from tests.guarded import check, needs_llvm
from tests.sweeps import thinned

Kind = Callable[..., Any]


def _windows(x: Any, axis: int) -> Any:
    return ops.windows(x, axes=(axis,), count=(x.shape[axis],), size=(3,), step=(1,), dilation=(1,), low=(1,))


def _overlapping(x: Any, axis: int) -> Any:
    length = (x.shape[axis] + 2,)
    return ops.overlap_add(_windows(x, axis), axes=(axis,), length=length, step=(1,), dilation=(2,), low=(1,))


def _padded(x: Any, axis: int, low: int, high: int, interior: int) -> Any:
    widths = [tuple([w if i == axis else 0 for i in range(x.ndim)]) for w in (low, high, interior)]
    return ops.pad(x, low=widths[0], high=widths[1], interior=widths[2])


KINDS: dict[str, Kind] = {
    "pointwise": lambda a, b, r, c, i: (a * b + 2, np.where((a > c) & (r < 2), a * r + c, b - r), r * c, -r),
    "sums": lambda a, b, r, c, i: (np.sum(a * b), np.sum(a, axis=0), np.sum(a - c, axis=1), np.sum(r)),
    "extrema": lambda a, b, r, c, i: (np.max(a), np.max(a, axis=0), np.min(a, axis=1), np.argsort(a, axis=0)),
    "products": lambda a, b, r, c, i: (a.T @ b, a @ b.T, a.T @ r[:, 0], a @ c[0], r[:, 0] @ r[:, 0]),
    "running sums": lambda a, b, r, c, i: (
        np.cumsum(a, axis=0), np.cumsum(a * b, axis=1), ops.cumsum(a, axis=0, reverse=True), np.cumsum(r, axis=0),
    ),
    "moved": lambda a, b, r, c, i: (
        a.T, (a * b).T, a[::-1], a[:, ::-1] + b, np.concatenate([a, b]), np.concatenate([a, r], axis=1), a[1:], a[::2],
        pnp.reshape(a * 2, (-1,)), pnp.reshape(a.T, a.shape),
    ),
    "padded": lambda a, b, r, c, i: (_padded(a, 0, 1, 2, 1), _padded(a, 1, 0, 1, 2), _padded(a * b, 0, 0, 1, 0)),
    "windows": lambda a, b, r, c, i: (
        np.sum(_windows(a, 0), axis=2), np.sum(_windows(a, 1), axis=2), _overlapping(a, 0), _overlapping(a, 1),
    ),
    "gathers": lambda a, b, r, c, i: (a[i], (a * b)[i] + 1, r[i, 0], a.T[:, i]),
    "scatters": lambda a, b, r, c, i: (
        ops.scatter_add(a, i, size=a.shape[0] + 1, axis=0, batch=0),
        ops.scatter_add(r[:, 0], i, size=a.shape[0], axis=0, batch=0),
    ),
}  # fmt: skip
"""Functions of two matrices, a column, a row and an index for each row."""


LANES = 4
LENGTHS = (1, 3, 4, 5, 9, 15, 16, 17)
"""On either side of each number of vectors at which there is other code."""


def arguments(rows: int, columns: int) -> list[Any]:
    rng = np.random.default_rng(rows + 1000 * columns)
    shapes = (rows, columns), (rows, columns), (rows, 1), (1, columns)
    return [*[rng.integers(-4, 5, shape).astype(float) for shape in shapes], rng.integers(-rows, rows, rows)]


@pytest.mark.one_in(4)
@needs_llvm
@thinned(2, kind=list(KINDS), part=range(2))
def test_lengths_around_vectors(kind: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are long, or many and shorter than a vector."""
    monkeypatch.setattr(vectors, "WIDTH_BYTES", 8 * LANES)
    for n in LENGTHS[part::2]:
        for shape in {(n, 1), (n, LANES - 1), (LANES - 1, n)}:
            check(KINDS[kind], *arguments(*shape), exact=True)
