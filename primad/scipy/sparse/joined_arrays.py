"""Sparse arrays that are made of others: Kronecker products and blocks, of which some may have traced entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.numpy.linalg.sparse_arrays import TracedSparse, entries_of
from primad.numpy.linalg.sparse_places import SparsePlaces
from primad.recording.foreign import is_sparse
from primad.scipy.sparse.traced_arrays import own
from primad.scipy.traced_calls import is_recorded

__all__ = ["block_array", "block_diag", "hstack", "kron", "vstack"]


def _has_traced(arrays: Any) -> bool:
    return any(isinstance(A, TracedSparse) or (A is not None and not is_sparse(A) and is_recorded(A)) for A in arrays)


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker product of two matrices: SciPy's, or one with traced entries.

    Args:
        A: SciPy's sparse array, one with traced entries, or a dense matrix.
        B: the same.
        format: of the result.

    Returns:
        SciPy's array, or a `TracedSparse`.

    Example:
        >>> import numpy as np, primad, scipy.sparse
        >>> from primad.scipy import sparse
        >>> def total(a):
        ...     return np.sum(sparse.kron(sparse.diags_array(a), scipy.sparse.eye_array(2)) @ np.arange(4.0))
        >>> print(primad.grad(total)(np.ones(2)))
        [1. 5.]
    """
    if not _has_traced((A, B)):
        return own("kron")(A, B, format=format)
    x, y = entries_of(A), entries_of(B)
    (rows, columns), (own_rows, own_columns) = x.places.shape, y.places.shape
    data = pnp.ravel(x.entries()[:, None] * y.entries())
    places = SparsePlaces(
        (x.rows[:, None] * own_rows + y.rows).ravel(),
        (x.columns[:, None] * own_columns + y.columns).ravel(),
        (rows * own_rows, columns * own_columns),
    )
    return TracedSparse(data, places).asformat(format)


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Return the sparse array of blocks in rows and columns: SciPy's, or one with traced entries.

    Args:
        blocks: rows of matrices; None for one of zeros.
        format: of the result.
        dtype: of its entries.

    Returns:
        SciPy's array, or a `TracedSparse`.

    Raises:
        ShapeError: if blocks of a row have different numbers of rows, or those of a column of columns, or all are None.

    Example:
        >>> import numpy as np, primad, scipy.sparse
        >>> from primad.scipy import sparse
        >>> def saddle(a):
        ...     A = sparse.diags_array(a)
        ...     return sparse.block_array([[A, scipy.sparse.eye_array(2)], [None, A]]) @ np.ones(4)
        >>> print(primad.jacobian(saddle)(np.ones(2))[:, :])
        [[1. 0.]
         [0. 1.]
         [1. 0.]
         [0. 1.]]
    """
    grid = [list(row) for row in blocks]
    if not _has_traced([A for row in grid for A in row]):
        return own("block_array")(grid, format=format, dtype=dtype)
    if len({len(row) for row in grid}) != 1:
        raise ShapeError("block_array: rows of different lengths", fix="write None where there is no block.")
    found = {(i, j): entries_of(A) for i, row in enumerate(grid) for j, A in enumerate(row) if A is not None}
    starts = [_starts(found, axis, count) for axis, count in enumerate((len(grid), len(grid[0])))]
    rows = np.concatenate([A.rows + starts[0][i] for (i, _), A in found.items()])
    columns = np.concatenate([A.columns + starts[1][j] for (_, j), A in found.items()])
    data = pnp.concatenate([A.entries() for A in found.values()])
    places = SparsePlaces(rows, columns, (int(starts[0][-1]), int(starts[1][-1])))
    return TracedSparse(data if dtype is None else data.astype(dtype), places).asformat(format)


def _starts(blocks: dict[tuple[int, int], TracedSparse], axis: int, count: int) -> Any:
    """Return where the rows (or the columns) of blocks begin, and where the last ones end."""
    lengths: list[int] = []
    for i in range(count):
        of_line = {A.places.shape[axis] for place, A in blocks.items() if place[axis] == i}
        if len(of_line) != 1:
            line = f"{('row', 'column')[axis]} {i} of blocks"
            raise ShapeError(
                f"block_array: {line} has lengths {sorted(of_line)}" if of_line else f"block_array: {line} is empty",
                fix="give each row and each column of blocks one length, a matrix of zeros where all would be None.",
            )
        lengths += of_line
    return np.cumsum([0, *lengths])


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices beside each other (see `block_array`)."""
    if not _has_traced(blocks):
        return own("hstack")(blocks, format=format, dtype=dtype)
    return block_array([list(blocks)], format=format, dtype=dtype)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices below each other (see `block_array`)."""
    if not _has_traced(blocks):
        return own("vstack")(blocks, format=format, dtype=dtype)
    return block_array([[A] for A in blocks], format=format, dtype=dtype)


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices along the diagonal (see `block_array`)."""
    mats = list(mats)
    if not _has_traced(mats):
        return own("block_diag")(mats, format=format, dtype=dtype)
    grid = [[A if i == j else None for j in range(len(mats))] for i, A in enumerate(mats)]
    return block_array(grid, format=format, dtype=dtype)
