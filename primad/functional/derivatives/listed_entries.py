"""Entries of matrices of derivatives at arrays of indices, by the few products that have all entries."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import MemoryLimitError, NotDifferentiableError
from primad.functional.derivatives.sparse_matrices import SparseForm
from primad.system.machine import SPARE_DOUBLES

Array = np.ndarray[Any, Any]
FEW = 64
"""Rows, or columns, up to which a product is taken for each. Chosen: where the entries of the whole matrix are is found
in about the time of so many products."""
OPS_OF_ELEMENT = 10
"""Ops that a product takes for each element of an argument, and of a result. Estimated, by steps of simulations."""


class ListedEntries(NamedTuple):
    """Entries at indices.

    Attributes:
        rows: their rows.
        columns: their columns.
        shape: of the result.
    """

    rows: Array
    columns: Array
    shape: tuple[int, ...]


def listed(index: tuple[Any, ...], shape: Sequence[int], column_axes: int) -> ListedEntries | None:
    """Return the entries that an index names one by one; None for an index of another kind, or out of range.

    Args:
        index: what stands in brackets.
        shape: of the matrix.
        column_axes: how many of the last axes are those of columns.
    """
    if len(index) != len(shape):
        return None
    parts = [np.asarray(part) for part in index if not isinstance(part, slice) and part is not None]
    if len(parts) != len(shape) or any(part.dtype.kind not in "iu" for part in parts):
        return None
    if any(np.any((part < -n) | (part >= n)) for part, n in zip(parts, shape, strict=True)):
        return None
    parts = [part.astype(np.int64) for part in parts]
    try:
        places = np.broadcast_arrays(
            *[np.where(part < 0, part + n, part) for part, n in zip(parts, shape, strict=True)]
        )
    except ValueError:
        return None
    flat, split = [place.reshape(-1) for place in places], len(shape) - column_axes
    rows, columns = (
        np.ravel_multi_index(tuple(flat[own]), tuple(shape[own])) if shape[own] else np.zeros_like(flat[0])
        for own in (slice(split), slice(split, None))
    )
    return ListedEntries(rows, columns, places[0].shape)


def entries(matrix: Any, form: SparseForm, wanted: ListedEntries, size: tuple[int, int]) -> Array | None:
    """Compute entries by products with few directions, or a product for each row or column; None where they are few.

    Args:
        matrix: shows itself in other shapes, and gives rows and columns.
        form: how it is asked for the entries that may not be zero.
        wanted: the entries.
        size: how many rows and columns it has.
    """
    if len(wanted.rows) <= FEW:
        return None
    (rows, row), (columns, column) = (np.unique(x, return_inverse=True) for x in (wanted.rows, wanted.columns))
    if min(len(rows), len(columns)) > FEW:
        # Nearly all entries may not be zero, or they are second derivatives of a complex result.
        with contextlib.suppress(MemoryLimitError, NotDifferentiableError):
            fewest = min(len(rows), len(columns))
            if _worth_colors(form, fewest * sum(size)) and form.coloring().directions < fewest:
                found = form.sparse("csr")[wanted.rows, wanted.columns]
                return np.asarray(found).reshape(wanted.shape)
    flat, by_rows = matrix.reshape(*size), len(rows) <= len(columns)
    own, place, other = (rows, row, wanted.columns) if by_rows else (columns, column, wanted.rows)
    found, together = np.empty(len(wanted.rows), matrix.dtype), max(1, SPARE_DOUBLES // size[by_rows])
    for first in range(0, len(own), together):
        part = own[first : first + together]
        block = np.asarray(flat[part] if by_rows else flat[:, part])
        here = np.flatnonzero((place >= first) & (place < first + len(part)))
        near = place[here] - first
        found[here] = block[near, other[here]] if by_rows else block[other[here], near]
    return found.reshape(wanted.shape)


def _worth_colors(form: SparseForm, elements: int) -> bool:
    """Say whether finding colours, which looks at all pairs in a row, takes no longer than products so large."""
    in_rows = np.bincount(form.pattern().tocoo().row).astype(np.float64)
    return bool(in_rows @ in_rows <= OPS_OF_ELEMENT * elements)
