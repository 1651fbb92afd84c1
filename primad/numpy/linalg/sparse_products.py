"""Products with SciPy's sparse arrays: rows that are taken, scaled, and added."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy.shapes.creation import zeros
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import reshape
from primad.recording.protocols import OF_SPARSE


def sparse_product(matrix: Any, x: Any) -> Any:
    """Return a sparse matrix times a vector, or times a matrix, that is traced.

    Raises:
        ShapeError: if they do not fit.
    """
    rows, columns = matrix.shape if len(matrix.shape) == 2 else (0, 0)
    if len(matrix.shape) != 2 or x.ndim not in (1, 2) or x.shape[0] != columns:
        raise ShapeError(
            f"matmul: a sparse matrix of shape {matrix.shape} and an array of shape {x.shape} do not fit",
            fix="a sparse matrix has two axes, and is multiplied with a vector or a matrix; primad.vmap takes a stack.",
        )
    entries = matrix.tocsr()
    place = np.repeat(np.arange(rows), np.diff(entries.indptr))
    return added_products(x, entries.data, place, entries.indices.astype(np.int64), rows)


def added_products(x: Any, entries: Any, rows: Any, columns: Any, count: int) -> Any:
    """Return a matrix of so many rows, given by its entries and their places, times a vector or a matrix."""
    products = reshape(entries, (-1,) + (1,) * (x.ndim - 1)) * take(x, columns, axis=0)
    return add_at(zeros((count, *x.shape[1:]), products.dtype), rows, products)


def meeting_pairs(columns: Any, rows: Any, count: int) -> tuple[Any, Any]:
    """Return which entries of two sparse arrays meet in their product: the numbers of both, pair by pair.

    Args:
        columns: the column of each entry of the first.
        rows: the row of each entry of the second.
        count: how many rows the second has.
    """
    order = np.argsort(rows, kind="stable")
    lengths = np.bincount(rows, minlength=count)
    starts = np.cumsum(lengths) - lengths
    times = lengths[columns]
    first = np.repeat(np.arange(len(columns)), times)
    within = np.arange(len(first)) - np.repeat(np.cumsum(times) - times, times)
    return first, order[starts[columns[first]] + within]


def _arrays() -> Any:
    """Return the module of sparse arrays with traced entries, which loads when there is one."""
    return import_module("primad.numpy.linalg.sparse_arrays")


def traced_sparse(data: Any, places: Any) -> Any:
    """Return the sparse array of traced entries at places."""
    return _arrays().TracedSparse(data, places)


def _times(matrix: Any, factor: Any) -> Any:
    """Return a multiple of SciPy's array by a traced number, or the product that `*` is of SciPy's older matrices."""
    return matrix @ factor if np.ndim(factor) else _arrays().entries_of(matrix) * factor


OF_SPARSE.update({
    (np.multiply, False): lambda factor, matrix: factor @ matrix if np.ndim(factor) else _times(matrix, factor),
    (np.multiply, True): _times,
    (np.true_divide, True): lambda matrix, divisor: _arrays().entries_of(matrix) / divisor,
})  # fmt: skip
