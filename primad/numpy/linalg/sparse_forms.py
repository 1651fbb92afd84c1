"""Sparse arrays as entries at places: their formats, their parts and other shapes of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NoReturn, Self

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.numpy.linalg.sparse_elements import once
from primad.numpy.linalg.sparse_indexing import taken_at
from primad.numpy.linalg.sparse_places import HasPlaces, SparsePlaces
from primad.numpy.shapes.creation import zeros
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import reshape
from primad.recording.traced_array import settled

OF_LINES = ("indices", "indptr", "has_sorted_indices", "sorted_indices", "sort_indices")
"""Attributes of arrays whose entries are one row, or one column, behind the other."""


class PlacedEntries(HasPlaces):
    """Entries at places, of which some may be the same.

    Args:
        data: the entries, of one axis.
        places: where they are.
    """

    def __init__(self, data: Any, places: SparsePlaces) -> None:
        self.data, self.places = settled(data), places

    @property
    def rows(self) -> Any:
        """The row of each entry."""
        return self.places.rows

    @property
    def columns(self) -> Any:
        """The column of each entry."""
        return self.places.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return (*self.data.shape[:-1], *self.places.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def format(self) -> str:
        """SciPy's name of the format that it has once its entries are numbers."""
        return self.places.format

    @property
    def T(self) -> Self:
        """The transposed array."""
        return type(self)(self.entries(), self.places.transposed)

    def transpose(self, axes: Any = None, copy: bool = False) -> Self:
        """Return the transposed array."""
        if axes is not None and tuple(axes) not in ((1, 0), (-1, -2)):
            raise ShapeError(f"transpose: axes {axes!r} of a sparse array", fix="leave axes out.")
        return self.T

    @property
    def dtype(self) -> Any:
        """The type of the entries."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return len(self.rows)

    size = nnz

    @property
    def coords(self) -> tuple[Any, ...]:
        """The index of each entry along each axis."""
        return self.places.coords

    @property
    def indices(self) -> Any:
        """Of arrays by rows the column of each entry, of those by columns the row."""
        return self._lines("indices")[1]

    @property
    def indptr(self) -> Any:
        """Where the entries of each row begin, or of each column, and where the last ones end."""
        lines, _, count = self._lines("indptr")
        return np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))])

    def _lines(self, name: str) -> tuple[Any, Any, int]:
        if self.format not in ("csr", "csc") or self.places.order is not None:
            raise AttributeError(name)  # the message is that of any attribute that there is not
        by_rows = self.format == "csr"
        pair = (self.rows, self.columns) if by_rows else (self.columns, self.rows)
        return *pair, self.places.as_matrix.shape[int(not by_rows)]

    @property
    def has_sorted_indices(self) -> bool:
        """Whether entries are in order along each row, or each column."""
        major, minor, _ = self._lines("has_sorted_indices")
        steps = np.diff(major), np.diff(minor)
        return bool(((steps[0] > 0) | (steps[1] >= 0)).all())

    @property
    def has_canonical_format(self) -> bool:
        """Whether entries are in order, and no two are at one place."""
        in_order = self.format not in ("csr", "csc") or self.has_sorted_indices
        return in_order and self.places.once is None

    def asformat(self, format: str | None = None, copy: bool = False) -> Self:
        """Return the same array, which is of another format once its entries are numbers."""
        if format is None:
            return self
        places = self.places.in_format(format)
        if places.order is None or self.data.ndim != 1:
            return type(self)(self.data, places)
        return type(self)(take(self.data, places.order), places.taken(places.order))

    def sorted_indices(self) -> Self:
        """Return the same array, whose entries are in order along each row, or each column."""
        major, minor, _ = self._lines("sorted_indices")
        order = np.lexsort((minor, major))
        return type(self)(take(self.entries(), order), self.places.taken(order))

    def _become(self, other: Self) -> None:
        self.data, self.places = other.data, other.places

    def sort_indices(self) -> None:
        """Put entries in order along each row, or each column."""
        self._become(self.sorted_indices())

    def sum_duplicates(self) -> None:
        """Add entries that are at the same place."""
        self._become(once(self))

    def prune(self) -> None:
        """Do nothing: there is no room that is not used."""

    def check_format(self, full_check: bool = True) -> None:
        """Do nothing: places were looked at when they were given."""

    def copy(self) -> Self:
        """Return the same array."""
        return type(self)(self.data, self.places)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Self:
        """Return the array with entries of another type."""
        return type(self)(self.data.astype(dtype), self.places)

    def reshape(self, *shape: Any, order: Literal["C", "F"] = "C", copy: bool = False) -> Self:
        """Return the same elements in another shape, of one axis or two."""
        wanted = shape[0] if len(shape) == 1 and np.ndim(shape[0]) else shape
        size = math.prod(self.places.shape)
        after = np.broadcast_to(np.int8(0), size).reshape(wanted).shape
        if len(after) not in (1, 2) or order not in ("C", "F"):
            raise ShapeError(
                f"reshape: {shape} in the order {order!r} of a sparse array of shape {self.shape}",
                fix="it has one axis or two, in the order 'C' or 'F'.",
            )
        number = np.ravel_multi_index(self.coords, self.places.shape, order=order) if size else self.rows
        places = np.unravel_index(number, after, order=order) if size else (self.rows,) * len(after)
        rows, columns = (np.zeros_like(number), *places)[-2:]
        return type(self)(self.entries(), SparsePlaces(rows, columns, after))

    def __getitem__(self, key: Any) -> Any:
        taken = taken_at(self.places, key)
        data = take(self.entries(), taken.entries)
        if taken.places is not None:
            return type(self)(data, taken.places)
        found = add_at(zeros((math.prod(taken.shape),), self.dtype), taken.numbers, data)
        return reshape(found, taken.shape)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TracingError(
            "a sparse array with traced entries is written to",
            why="Its places are known when it is made.",
            fix="add one, with primad.scipy.sparse: A + coo_array(([value - A[i, j]], ([i], [j])), shape=A.shape).",
        )

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self.shape[0])])

    def entries(self) -> Any:
        """Return the entries of one matrix."""
        if self.data.ndim != 1:
            raise ShapeError(
                f"a stack of sparse arrays, of shape {self.shape}, is no matrix",
                fix="compute with each inside of the function that primad.vmap maps, or with the rows of A.data.",
            )
        return self.data

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """Return the dense array."""
        return add_at(zeros(self.shape, self.dtype), self.coords, self.entries())

    todense = toarray

    def diagonal(self, k: int = 0) -> Any:
        """Return the elements of a diagonal, k above the main one."""
        if self.ndim != 2:
            raise ShapeError(
                "diagonal of a sparse array with one axis", fix="primad.scipy.sparse.diags_array(a) has one."
            )
        there = np.flatnonzero(self.columns - self.rows == k)
        length = max(0, min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)))
        return add_at(zeros(length, self.dtype), self.rows[there] + min(k, 0), take(self.entries(), there))
