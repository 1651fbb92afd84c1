"""Indexing of sparse arrays: which of the entries an index takes, and where these are in what it gives."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from primad.errors import IndexShapeError
from primad.numpy.linalg.sparse_places import SparsePlaces
from primad.numpy.linalg.sparse_products import meeting_pairs
from primad.recording.foreign import is_sparse

Array = np.ndarray[Any, Any]
Index = int | Array


class Taken(NamedTuple):
    """What an index takes of a sparse array.

    Attributes:
        entries: the numbers of the entries.
        shape: of what it gives.
        numbers: of the elements of what it gives, row by row, that the entries are.
        places: of the entries in what it gives; None where that is a dense array, as at single elements.
    """

    entries: Array
    shape: tuple[int, ...]
    numbers: Array
    places: SparsePlaces | None


def taken_at(places: SparsePlaces, key: Any) -> Taken:
    """Return what an index takes of a sparse array, which are the same elements as SciPy's arrays give.

    Args:
        places: where the entries are.
        key: an integer, a slice, a list of integers or of truth values, or one for each axis; or truth values of the
            array's shape.

    Raises:
        IndexShapeError: for an index that SciPy's arrays do not take, or that is traced.
    """
    of = places.as_matrix
    indices = _indices(key, places)
    if len(places.shape) == 1:
        indices = [0, *indices]
    wide = [np.ndim(x) for x in indices]
    if min(wide) > 0 and not _is_listed(key, places) and max(wide) > 1:
        raise IndexShapeError(
            f"an index of a sparse array that gives {sum(wide)} axes", fix="sparse arrays have two at most: reshape it."
        )
    if min(wide) > 0 and _is_listed(key, places):
        wanted = np.broadcast_arrays(*indices)
        return _elements(of, wanted[0], wanted[1], wanted[0].ndim > 1 or places.format == "coo")
    if wide == [0, 0]:
        return _elements(of, np.array(indices[0]), np.array(indices[1]), False)
    if max(wide) > 1:
        both = np.broadcast_arrays(*indices)
        return _elements(of, both[0], both[1], True)
    rows, columns = (np.atleast_1d(x) for x in indices)
    first, row = meeting_pairs(of.rows, rows, of.shape[0])
    second, column = meeting_pairs(of.columns[first], columns, of.shape[1])
    entries, row = first[second], row[second]
    shape = tuple([len(x) for x, n in zip((rows, columns), wide, strict=True) if n])
    found = _placed(row * len(columns) + column, shape, places.format)
    return Taken(entries, shape, found.flat, found)


def _placed(flat: Array, shape: tuple[int, ...], format: str) -> SparsePlaces:
    """Return the places of a result, in the format of the array if SciPy's arrays of that are indexed."""
    keeps = len(shape) == 2 and format in ("csr", "csc", "coo")
    return SparsePlaces.at(flat, shape, format if keeps else "csr" if len(shape) == 2 else "coo")


def _elements(of: SparsePlaces, rows: Array, columns: Array, sparse: bool) -> Taken:
    """Return what the elements at some rows and columns are."""
    if rows.ndim > 2:
        raise IndexShapeError(
            f"an index of a sparse array that gives {rows.ndim} axes", fix="sparse arrays have two at most: reshape it."
        )
    wanted = (rows * max(1, of.shape[1]) + columns).ravel()
    order = np.argsort(of.flat, kind="stable")
    there = of.flat[order]
    first, last = np.searchsorted(there, wanted), np.searchsorted(there, wanted, "right")
    times = last - first
    numbers = np.repeat(np.arange(len(wanted)), times)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(times) - times, times)
    places = _placed(numbers, rows.shape, of.format) if sparse else None
    return Taken(order[first[numbers] + within], rows.shape, numbers, places)


def _keys(key: Any) -> list[Any]:
    return list(key) if isinstance(key, tuple) else [key]


def _is_listed(key: Any, places: SparsePlaces) -> bool:
    """Say whether an index has no slice: its lists are then of single elements."""
    keys = _keys(key)
    return len(places.shape) == 2 and not any(isinstance(x, slice) or x is Ellipsis for x in keys) and (
        len(keys) == 2 or _is_mask(key, places)
    )  # fmt: skip


def _is_mask(key: Any, places: SparsePlaces) -> bool:
    return getattr(key, "shape", None) == places.shape and key.dtype == bool and len(places.shape) == 2


def _indices(key: Any, places: SparsePlaces) -> list[Index]:
    """Return an index for each axis: a number, or an array of numbers."""
    if _is_mask(key, places) and (is_sparse(key) or isinstance(key, np.ndarray)):
        return [x.astype(np.int64) for x in key.nonzero()]  # of SciPy's arrays they are of 32 bits
    keys, ndim = _keys(key), len(places.shape)
    if any(x is None for x in keys):
        raise IndexShapeError("a new axis in an index of a sparse array", fix="A.reshape(shape) gives it one.")
    listed = [i for i, x in enumerate(keys) if x is Ellipsis]
    whole = slice(None)
    if listed:
        i = listed[0]
        keys[i : i + 1] = [whole] * (ndim - len(keys) + 1)
    if len(keys) > ndim or len(listed) > 1:
        raise IndexShapeError(
            f"{len(keys)} indices of a sparse array of shape {places.shape}", fix="give one for each axis."
        )
    keys += [whole] * (ndim - len(keys))
    return [_index(x, n) for x, n in zip(keys, places.shape, strict=True)]


def _index(key: Any, length: int) -> Index:
    """Return the numbers along an axis that an index takes."""
    if isinstance(key, slice):
        return np.arange(length)[key]
    number = isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_))
    found = np.asarray(operator.index(key) if number else _plain(key))
    if found.dtype == bool and found.ndim == 1 and len(found) == length:
        return np.flatnonzero(found)
    if not found.size and found.dtype.kind != "b":
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise IndexShapeError(
            f"an index {key!r} of a sparse array along an axis of length {length}",
            fix="give integers, slices, or as many truth values as the axis is long.",
        )
    if (found < -length).any() or (found >= length).any():
        raise IndexShapeError(
            f"an index of a sparse array is out of range for an axis of length {length}: {key!r}",
            fix=f"give integers from {-length} to {length - 1}.",
        )
    found = found.astype(np.int64)  # a number of a place may be too large for the type of an index
    found = np.where(found < 0, found + length, found)
    return int(found) if found.ndim == 0 else found


def _plain(key: Any) -> Any:
    if hasattr(key, "__leaf__") or hasattr(key, "places") or is_sparse(key):
        raise IndexShapeError(
            "an index of a sparse array with traced entries is traced, or sparse",
            why="Where the entries of the result are has to be known while a function is recorded.",
            fix="index by plain integers, slices and truth values, or the dense array: A.toarray()[i, j].",
        )
    return key
