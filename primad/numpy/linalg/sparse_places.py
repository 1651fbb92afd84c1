"""Where the entries of sparse arrays are: known rows and columns, in one of SciPy's formats."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from primad.errors import ShapeError

FORMATS = ("csr", "csc", "coo", "dia", "bsr")
"""SciPy's formats that a sparse array may be given in."""
ONE_AXIS = ("csr", "coo")
"""SciPy's formats of arrays with one axis."""


def storable(data: Any) -> Any:
    """Return entries in float32 for float16, which SciPy's sparse arrays do not have."""
    return data.astype(np.float32) if data.dtype == np.float16 else data


def index_dtype(shape: tuple[int, ...], entries: int) -> Any:
    """Return the dtype of the indices of SciPy's array of a shape, with so many entries: the smallest that it has."""
    return np.int32 if max(*shape, entries) < 2**31 else np.int64


class HasPlaces:
    """What has entries at places that are known, as sparse arrays have whose entries are traced."""


class SparsePlaces:
    """Where the entries of a sparse array are, and the format of SciPy's array that it is once they are numbers.

    Args:
        rows: the row of each entry; 0 where the array has one axis.
        columns: the column of each.
        shape: of the array, which has one axis or two.
        format: SciPy's name of the format.
    """

    def __init__(self, rows: Any, columns: Any, shape: tuple[int, ...], format: str = "coo") -> None:
        self.rows, self.columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
        self.shape, self.format = shape, format

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        digests = [hashlib.sha256(np.ascontiguousarray(x).data).digest() for x in (self.rows, self.columns)]
        return (*digests, self.shape, self.format)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparsePlaces) and self._key == other._key

    @property
    def transposed(self) -> SparsePlaces:
        """The places of the transposed array; an array with one axis is its own."""
        if len(self.shape) == 1:
            return self
        turned = {"csr": "csc", "csc": "csr"}
        return SparsePlaces(self.columns, self.rows, self.shape[::-1], turned.get(self.format, self.format))

    def in_format(self, format: str) -> SparsePlaces:
        """Return the same places for another format."""
        if format not in FORMATS:
            raise ShapeError(f"a sparse array has no format {format!r}", fix=f"choose from {', '.join(FORMATS)}.")
        if len(self.shape) == 1 and format not in ONE_AXIS:
            raise ShapeError(
                f"a sparse array with one axis has no format {format!r}", fix=f"choose from {', '.join(ONE_AXIS)}."
            )
        return self if format == self.format else SparsePlaces(self.rows, self.columns, self.shape, format)

    def taken(self, entries: Any) -> SparsePlaces:
        """Return the places of some of the entries, in this order."""
        return SparsePlaces(self.rows[entries], self.columns[entries], self.shape, self.format)

    @cached_property
    def as_matrix(self) -> SparsePlaces:
        """The same places of a matrix, whose only row an array with one axis is."""
        return self if len(self.shape) == 2 else SparsePlaces(self.rows, self.columns, (1, *self.shape))

    @cached_property
    def coords(self) -> tuple[Any, ...]:
        """The index of each entry along each axis."""
        return (self.rows, self.columns)[-len(self.shape) :]

    @cached_property
    def flat(self) -> Any:
        """The number of each place among all of the array, row by row."""
        return self.rows * max(1, self.shape[-1]) + self.columns

    @cached_property
    def order(self) -> Any | None:
        """The order in which SciPy's format has the entries, None if they have it or the format has none."""
        if self.format not in ("csr", "csc"):
            return None
        by_rows = self.format == "csr"
        major, minor = (self.rows, self.columns) if by_rows else (self.columns, self.rows)
        return None if (np.diff(major) >= 0).all() else np.lexsort((minor, major))

    @cached_property
    def once(self) -> tuple[SparsePlaces, Any] | None:
        """The places, each once, and which of them each entry is at; None where no place has two entries."""
        flat, number = np.unique(self.flat, return_inverse=True)
        if len(flat) == len(number):
            return None
        return self.at(flat, self.shape), number

    @staticmethod
    def at(flat: Any, shape: tuple[int, ...], format: str = "coo") -> SparsePlaces:
        """Return the places of these numbers among all of an array."""
        rows, columns = np.divmod(flat, max(1, shape[-1]))
        return SparsePlaces(rows, columns, shape, format)

    @cached_property
    def _indices(self) -> tuple[Any, Any]:
        """The rows and the columns as SciPy keeps them."""
        dtype = index_dtype(self.shape, len(self.rows))
        return self.rows.astype(dtype), self.columns.astype(dtype)

    @cached_property
    def _numbered(self) -> tuple[Any, Any] | None:
        """SciPy's array of these places, and which entry each of its own is, which is None if they have its order.

        There are none of both where two entries are at one place, and where the format has no order.
        """
        from scipy.sparse import coo_array  # loads when it is called

        numbers = np.arange(1, len(self.rows) + 1)
        found = coo_array((numbers, self._indices), self.shape).asformat(self.format)
        if self.format not in ("csr", "csc") or found.nnz != len(numbers):
            return None
        return found, None if np.array_equal(found.data, numbers) else found.data - 1

    def matrix(self, data: Any) -> Any:
        """Return SciPy's array with these entries; of stacks of entries SciPy's array with as many axes more."""
        from scipy import sparse  # loads when it is called

        data = storable(np.asarray(data))
        if data.ndim > 1:
            *stack, entry = np.indices(data.shape).reshape(data.ndim, -1)
            places = (*stack, *[x[entry] for x in self.coords])
            return sparse.coo_array((data.reshape(-1), places), (*data.shape[:-1], *self.shape))
        if len(self.shape) == 1:
            return sparse.coo_array((data, (self.columns.copy(),)), self.shape).asformat(self.format)
        if self._numbered is None:
            rows, columns = self._indices
            return sparse.coo_array((data, (rows.copy(), columns.copy())), self.shape).asformat(self.format)
        found, order = self._numbered
        data = data if order is None else data[order]
        return type(found)((data, found.indices.copy(), found.indptr.copy()), self.shape)
