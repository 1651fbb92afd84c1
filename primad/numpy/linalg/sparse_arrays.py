"""Sparse arrays whose entries are traced: places that are known, and their values."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from primad.errors import MissingAttributeError, ShapeError, users_frame
from primad.numpy.linalg.sparse_products import added_products, meeting_pairs
from primad.numpy.shapes.creation import array, zeros
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import concatenate, ravel
from primad.recording import tree
from primad.recording.foreign import is_sparse
from primad.recording.plain_makers import instead_of_joined
from primad.recording.protocols import OF_SPARSE
from primad.recording.traced_array import settled
from primad.recording.user_expressions import doing

FORMATS = ("csr", "csc", "coo", "dia", "bsr")
"""SciPy's formats that a sparse array may be given in."""


def storable(data: Any) -> Any:
    """Return entries in float32 for float16, which SciPy's sparse arrays do not have."""
    return data.astype(np.float32) if data.dtype == np.float16 else data


def index_dtype(shape: tuple[int, int], entries: int) -> Any:
    """Return the dtype of the indices of SciPy's array of a shape, with so many entries: the smallest that it has."""
    return np.int32 if max(*shape, entries) < 2**31 else np.int64


class SparsePlaces:
    """Where the entries of a sparse array are, and the format of SciPy's array that it is once they are numbers.

    Args:
        rows: the row of each entry.
        columns: the column of each.
        shape: of the array.
        format: SciPy's name of the format.
    """

    def __init__(self, rows: Any, columns: Any, shape: tuple[int, int], format: str = "coo") -> None:
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
        """The places of the transposed array."""
        turned = {"csr": "csc", "csc": "csr"}
        return SparsePlaces(self.columns, self.rows, self.shape[::-1], turned.get(self.format, self.format))

    def in_format(self, format: str) -> SparsePlaces:
        """Return the same places for another format."""
        if format not in FORMATS:
            raise ShapeError(f"a sparse array has no format {format!r}", fix=f"choose from {', '.join(FORMATS)}.")
        return self if format == self.format else SparsePlaces(self.rows, self.columns, self.shape, format)

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
            places = (*stack, self.rows[entry], self.columns[entry])
            return sparse.coo_array((data.reshape(-1), places), (*data.shape[:-1], *self.shape))
        if self._numbered is None:
            rows, columns = self._indices
            return sparse.coo_array((data, (rows.copy(), columns.copy())), self.shape).asformat(self.format)
        found, order = self._numbered
        data = data if order is None else data[order]
        return type(found)((data, found.indices.copy(), found.indptr.copy()), self.shape)


class TracedSparse:
    """A sparse array whose entries are traced; entries at the same place are added.

    It has the products, sums and multiples of SciPy's sparse arrays, `T`, `diagonal`, `toarray` and `data`, and is
    solved with by `primad.scipy.sparse.linalg`. Returned from a function that is recorded it is SciPy's array again;
    from one that `vmap` maps, SciPy's array with one axis more.

    Args:
        data: the entries, of one axis.
        places: where they are.
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave their operators to it

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
    def T(self) -> TracedSparse:
        """The transposed array."""
        return TracedSparse(self.entries(), self.places.transposed)

    def transpose(self) -> TracedSparse:
        """Return the transposed array."""
        return self.T

    @property
    def dtype(self) -> Any:
        """The type of the entries."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return len(self.rows)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "to" and name[2:] in FORMATS:
            return lambda **_: self.asformat(name[2:])
        if name == "copy":
            return lambda: self
        if name.startswith("_"):  # what NumPy, copy and notebooks look for
            raise AttributeError(name)
        now = doing(users_frame())
        raise MissingAttributeError(
            f"a sparse array with traced entries has no {name!r}",
            fix=instead_of_joined(now)
            or "it has @, +, -, multiples, T, diagonal(), toarray(), data, rows and columns.",
        )

    def asformat(self, format: str | None = None) -> TracedSparse:
        """Return the same array, which is of another format once its entries are numbers."""
        return self if format is None else TracedSparse(self.data, self.places.in_format(format))

    def entries(self) -> Any:
        """Return the entries of one matrix."""
        if self.data.ndim != 1:
            raise ShapeError(
                f"a stack of sparse arrays, of shape {self.shape}, is no matrix",
                fix="compute with each inside of the function that primad.vmap maps, or with the rows of A.data.",
            )
        return self.data

    def toarray(self) -> Any:
        """Return the dense array."""
        return add_at(zeros(self.shape, self.dtype), (self.rows, self.columns), self.entries())

    def diagonal(self) -> Any:
        """Return the entries on the diagonal."""
        there = np.flatnonzero(self.rows == self.columns)
        return add_at(zeros(min(self.shape), self.dtype), self.rows[there], self.entries()[there])

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, TracedSparse) or is_sparse(x):
            return self._times(entries_of(x))
        x, entries = array(x), self.entries()
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(
                f"matmul: a sparse array of shape {self.shape} and an array of shape {x.shape} do not fit",
                fix="transpose one of them if that makes the lengths equal.",
            )
        return added_products(settled(x), entries, self.rows, self.columns, self.shape[0])

    dot = __matmul__

    def __rmatmul__(self, x: Any) -> Any:
        return entries_of(x) @ self if is_sparse(x) else (self.T @ array(x).T).T

    def _times(self, other: TracedSparse) -> TracedSparse:
        """Return the product with another sparse array: of all pairs of entries that meet, those at a place added."""
        if self.shape[-1] != other.shape[0]:
            raise ShapeError(
                f"matmul: sparse arrays of shapes {self.shape} and {other.shape} do not fit",
                fix="transpose one of them if that makes the lengths equal.",
            )
        x, y = self.entries(), other.entries()
        first, second = meeting_pairs(self.columns, other.rows, other.places.shape[0])
        shape = self.places.shape[0], other.places.shape[1]
        flat = np.ravel_multi_index((self.rows[first], other.columns[second]), shape) if len(first) else first
        places, number = np.unique(flat, return_inverse=True)
        products = take(x, first) * take(y, second)
        data = add_at(zeros((len(places),), products.dtype), number, products)
        rows, columns = np.divmod(places, max(shape[1], 1))
        return TracedSparse(data, SparsePlaces(rows, columns, shape, "csc" if self.format == "csc" else "csr"))

    def _with(self, data: Any) -> TracedSparse:
        return TracedSparse(data, self.places)

    def __mul__(self, factor: Any) -> TracedSparse:
        _check_number(factor, "multiplied")
        return self._with(self.data * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> TracedSparse:
        _check_number(divisor, "divided")
        return self._with(self.data / divisor)

    def __neg__(self) -> TracedSparse:
        return self._with(-self.data)

    def __add__(self, other: Any) -> TracedSparse:
        if isinstance(other, (int, float)) and other == 0:  # where Python's sum starts
            return self
        other = entries_of(other)
        if other.shape != self.shape:
            raise ShapeError(
                f"sparse arrays of shapes {self.shape} and {other.shape} are not added", fix="add those of one shape."
            )
        rows = np.concatenate([self.rows, other.rows])
        columns = np.concatenate([self.columns, other.columns])
        data = concatenate([self.entries(), other.entries()])
        return TracedSparse(data, SparsePlaces(rows, columns, self.places.shape, self.format))

    __radd__ = __add__

    def __sub__(self, other: Any) -> TracedSparse:
        return self + (-entries_of(other))

    def __rsub__(self, other: Any) -> TracedSparse:
        return (-self).__add__(other)


def _check_number(factor: Any, done: str) -> None:
    if isinstance(factor, TracedSparse) or is_sparse(factor) or np.ndim(factor) != 0:
        raise ShapeError(
            f"a sparse array with traced entries is {done} by numbers, not by arrays",
            fix="A @ x is a product; to scale column by column, primad.scipy.sparse.csr_array((A.data * "
            "scale[A.columns], (A.rows, A.columns)), shape=A.shape).",
        )


def _made_of(places: SparsePlaces, data: Any) -> Any:
    """Return the array with entries: SciPy's where they are numbers."""
    (entries,) = data
    return places.matrix(entries) if isinstance(entries, np.ndarray) else TracedSparse(entries, places)


def _times(matrix: Any, factor: Any) -> Any:
    """Return a multiple of SciPy's array by a traced number, or the product that `*` is of SciPy's older matrices."""
    return matrix @ factor if np.ndim(factor) else entries_of(matrix) * factor


def _divided(matrix: Any, divisor: Any) -> Any:
    return entries_of(matrix) / divisor


OF_SPARSE.update({
    (np.multiply, False): lambda factor, matrix: factor @ matrix if np.ndim(factor) else _times(matrix, factor),
    (np.multiply, True): _times,
    (np.true_divide, True): _divided,
})  # fmt: skip

tree.register(TracedSparse, lambda x: ((x.data,), x.places), _made_of)


def entries_of(matrix: Any) -> TracedSparse:
    """Return the entries of a matrix: of SciPy's, of one whose entries are traced, or of a dense one."""
    if isinstance(matrix, TracedSparse):
        return matrix
    if is_sparse(matrix):
        found = matrix.tocoo()
        return TracedSparse(found.data, SparsePlaces(found.coords[0], found.coords[1], found.shape, matrix.format))
    if hasattr(matrix, "matvec"):
        raise ShapeError(
            "a LinearOperator and traced arrays",
            why="Its entries are not known, and what it computes is not recorded.",
            fix="primad.implicit.linear_solve(matvec, b, solver=…) takes a function that is written with NumPy.",
        )
    dense = settled(array(matrix))
    if dense.ndim != 2:
        raise ShapeError(f"a matrix has two axes, got shape {dense.shape}", fix="reshape it to (1, n) or (n, 1).")
    rows, columns = np.indices(dense.shape)
    return TracedSparse(ravel(dense), SparsePlaces(rows.ravel(), columns.ravel(), dense.shape))
