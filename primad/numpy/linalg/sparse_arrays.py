"""Sparse arrays whose entries are traced: places that are known, and their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from primad.errors import MissingAttributeError, ShapeError, TracingError, users_frame
from primad.numpy.linalg.sparse_elements import (
    ZERO_AT_ZERO,
    added,
    at_entries,
    by_ufunc,
    extremum,
    mapped,
    scaled,
    times,
    together,
)
from primad.numpy.linalg.sparse_forms import OF_LINES, PlacedEntries
from primad.numpy.linalg.sparse_places import FORMATS, SparsePlaces
from primad.numpy.linalg.sparse_products import added_products, meeting_pairs
from primad.numpy.shapes.creation import array, zeros
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import concatenate, ravel
from primad.recording import tree
from primad.recording.foreign import is_sparse
from primad.recording.plain_makers import instead_of_joined
from primad.recording.protocols import FUNCTIONS, UFUNCS
from primad.recording.traced_array import settled
from primad.recording.user_expressions import doing

_OF_VALUES = "A.rows and A.columns say where entries are stored, A.nnz how many."
REFUSED = {
    "nonzero": f"which of the entries are zero depends on traced values: {_OF_VALUES}",
    "eliminate_zeros": f"which of the entries are zero depends on traced values: {_OF_VALUES}",
    "todok": "it holds Python's numbers: stay with A.tocoo(), or return A from the function first.",
    "tolil": "it holds Python's numbers: stay with A.tocsr(), or return A from the function first.",
    "resize": "it has one shape: A[:m, :n] is a part, and blocks of primad.scipy.sparse.block_array make it larger.",
    "setdiag": "its places are known when it is made: A + primad.scipy.sparse.diags_array(values - A.diagonal()).",
    "maxprint": "its entries are not known while a function is recorded: return A from it to print them.",
}
"""Attributes of SciPy's sparse arrays that one with traced entries does not have, and what to do instead."""
_OPERATORS: dict[np.ufunc, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"), np.subtract: ("__sub__", "__rsub__"), np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"), np.matmul: ("__matmul__", "__rmatmul__"),
    np.power: ("__pow__", ""), np.maximum: ("maximum", "maximum"), np.minimum: ("minimum", "minimum"),
}  # fmt: skip
"""The methods by which NumPy's functions of two arrays take a sparse one first, or second."""


class TracedSparse(PlacedEntries):
    """A sparse array whose entries are traced; entries at the same place are added.

    It has what SciPy's sparse arrays have, but for what depends on values (see `REFUSED`): products, indices, sums,
    functions of elements. `primad.scipy.sparse.linalg` solves with it. Returned from a function that is recorded it is
    SciPy's array again; from one that `vmap` maps, SciPy's array with one axis more.

    Args:
        data: the entries, of one axis.
        places: where they are.
    """

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "to" and name[2:] in FORMATS:
            return lambda **_: self.asformat(name[2:])
        if name in ZERO_AT_ZERO:
            return lambda: by_ufunc(self, name)
        if name in ("max", "min", "nanmax", "nanmin"):
            return lambda axis=None, out=None, *, explicit=False: extremum(self, axis, name, explicit)
        if name.startswith("_"):  # what NumPy, copy and notebooks look for
            raise AttributeError(name)
        now = doing(users_frame())
        raise MissingAttributeError(
            f"a sparse array with traced entries has no {name!r}",
            fix=REFUSED.get(name)
            or (name in OF_LINES and "A.tocsr() and A.tocsc() have it; A.rows and A.columns are those of A.data.")
            or instead_of_joined(now)
            or "it has what SciPy's csr_array has, data, rows and columns; A.toarray() is dense.",
        )

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        return FUNCTIONS[np.sum](self.diagonal(offset))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sums of the elements along an axis, or of all of them."""
        found = added(self, axis)
        return found if dtype is None else found.astype(dtype)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the means of the elements along an axis, or of all of them."""
        if not math.prod(self.shape):
            raise ShapeError(f"mean of a sparse array of shape {self.shape}", fix="leave empty arrays out.")
        found = added(self, axis, "mean")
        found = found * (math.prod(found.shape) / math.prod(self.shape))
        return found if dtype is None else found.astype(dtype)

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many elements are not zero, along an axis or of all."""
        return added(mapped(self, lambda data: (data != 0).astype(np.int64)), axis, "count_nonzero")

    def argmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return where the largest element is, by the dense array."""
        return FUNCTIONS[np.argmax](self.toarray(), axis=axis)

    def argmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return where the smallest element is, by the dense array."""
        return FUNCTIONS[np.argmin](self.toarray(), axis=axis)

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, TracedSparse) or is_sparse(x):
            return self._times(entries_of(x))
        x, entries, of = array(x), self.entries(), self.places.as_matrix
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[-1]:
            raise ShapeError(
                f"matmul: a sparse array of shape {self.shape} and an array of shape {x.shape} do not fit",
                fix="transpose one of them if that makes the lengths equal; numbers multiply by *.",
            )
        found = added_products(settled(x), entries, of.rows, of.columns, of.shape[0])
        return found if self.ndim == 2 else found[0]

    def dot(self, other: Any) -> Any:
        """Return the product with a vector, a matrix, another sparse array, or a number."""
        is_number = not isinstance(other, TracedSparse) and not is_sparse(other) and np.ndim(other) == 0
        return self * other if is_number else self @ other

    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return entries_of(x) @ self
        return self @ array(x).T if self.ndim == 1 else (self.T @ array(x).T).T

    def _times(self, other: TracedSparse) -> Any:
        """Return the product with another sparse array: of all pairs of entries that meet, those at a place added."""
        if self.shape[-1] != other.shape[0]:
            raise ShapeError(
                f"matmul: sparse arrays of shapes {self.shape} and {other.shape} do not fit",
                fix="transpose one of them if that makes the lengths equal.",
            )
        x, y = self.entries(), other.entries()
        of, by = self.places.as_matrix, other.places.as_matrix
        if other.ndim == 1:
            by = SparsePlaces(by.columns, by.rows, by.shape[::-1])
        first, second = meeting_pairs(of.columns, by.rows, by.shape[0])
        shape = of.shape[0], by.shape[1]
        flat = np.ravel_multi_index((of.rows[first], by.columns[second]), shape) if len(first) else first
        places, number = np.unique(flat, return_inverse=True)
        products = take(x, first) * take(y, second)
        data = add_at(zeros((len(places),), products.dtype), number, products)
        if self.ndim == other.ndim == 1:
            return FUNCTIONS[np.sum](data)
        if 1 in (self.ndim, other.ndim):
            return TracedSparse(data, SparsePlaces.at(places, (max(shape),) if min(shape) else (0,)))
        found = TracedSparse(data, SparsePlaces.at(places, shape, "csr"))
        return found.asformat("csc") if self.format == "csc" else found

    def _with(self, data: Any) -> TracedSparse:
        return TracedSparse(data, self.places)

    def multiply(self, other: Any) -> Any:
        """Return the product element by element, with a number, a dense array or a sparse one."""
        sparse = isinstance(other, TracedSparse) or is_sparse(other)
        return times(self, entries_of(other)) if sparse else scaled(self, other)

    __mul__ = __rmul__ = multiply

    def __truediv__(self, divisor: Any) -> TracedSparse:
        if isinstance(divisor, TracedSparse) or is_sparse(divisor):
            raise ShapeError(
                "a sparse array divided by a sparse one",
                why="It would be 0 / 0 wherever both have no entry.",
                fix="divide A.data of arrays with the same places, or by the dense array: A / B.toarray().",
            )
        return self._with(self.data / (at_entries(self, divisor) if np.ndim(divisor) else divisor))

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise ShapeError(
            "something is divided by a sparse array",
            why="It would be infinite wherever that has no entry.",
            fix="A.power(-1) has the entries' inverses, and A.toarray() is dense.",
        )

    def power(self, n: Any, dtype: Any = None) -> TracedSparse:
        """Return the array whose entries are powers; elements without an entry stay zero."""
        if np.ndim(n) != 0 or (isinstance(n, (int, float, np.number)) and n == 0):
            raise ShapeError(
                f"power: {n!r} of a sparse array",
                why="The power 0 of an element without an entry is 1.",
                fix="give one number that is not 0; A.toarray() ** n is dense.",
            )
        found: TracedSparse = mapped(self, lambda data: data**n)
        return found if dtype is None else found.astype(dtype)

    __pow__ = power

    def __abs__(self) -> TracedSparse:
        found: TracedSparse = mapped(self, abs)
        return found

    def __round__(self, ndigits: int = 0) -> TracedSparse:
        found: TracedSparse = mapped(self, lambda data: FUNCTIONS[np.round](data, ndigits))
        return found

    def conj(self, copy: bool = True) -> TracedSparse:
        """Return the array of conjugate entries."""
        return self._with(self.data.conj())

    conjugate = conj

    @property
    def real(self) -> TracedSparse:
        """The array of real parts."""
        return self._with(self.data.real)

    @property
    def imag(self) -> TracedSparse:
        """The array of imaginary parts."""
        return self._with(array(self.data.imag))

    def maximum(self, other: Any) -> Any:
        """Return the larger of two elements: sparse with a sparse array or a number that leaves zeros, else dense."""
        return self._chosen(other, np.maximum)

    def minimum(self, other: Any) -> Any:
        """Return the smaller of two elements (see `maximum`)."""
        return self._chosen(other, np.minimum)

    def _chosen(self, other: Any, ufunc: np.ufunc) -> Any:
        choose: Callable[..., Any] = UFUNCS[ufunc]
        if isinstance(other, TracedSparse) or is_sparse(other):
            return together(self, entries_of(other), choose)
        if isinstance(other, (int, float, np.number)) and ufunc(0, other) == 0:
            return mapped(self, lambda data: choose(data, other))
        found = choose(self.toarray(), other)
        return found if np.ndim(other) else entries_of(found)

    def __neg__(self) -> TracedSparse:
        return self._with(-self.data)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (int, float)) and other == 0:  # where Python's sum starts
            return self
        if not isinstance(other, TracedSparse) and not is_sparse(other):
            if np.ndim(other) == 0:
                raise ShapeError(
                    "a number is added to a sparse array",
                    why="The sum has no zeros.",
                    fix="A.toarray() + x is dense; A + x * primad.scipy.sparse.eye_array(n) adds to the diagonal.",
                )
            return self.toarray() + other
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

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _refuse_order(self, other: Any) -> NoReturn:
        raise TracingError(
            "a sparse array with traced entries is compared",
            why="Which elements are so depends on traced values, and so would where the entries are.",
            fix="compare A.data, entry by entry, or the dense array A.toarray().",
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_order
    __eq__ = __ne__ = _refuse_order
    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TracingError(
            "the truth of a sparse array with traced entries is asked",
            fix="A.nnz > 0 says whether it has entries; branch on values by np.where or primad.cond.",
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Return what NumPy's functions of elements and its operators are of the array."""
        if method == "__call__" and not options:
            if ufunc.__name__ in ZERO_AT_ZERO:
                return by_ufunc(self, ufunc.__name__)
            if ufunc in (np.absolute, np.negative, np.conjugate):
                return abs(self) if ufunc is np.absolute else -self if ufunc is np.negative else self.conj()
            if ufunc in _OPERATORS:
                first = inputs[0] is self
                name = _OPERATORS[ufunc][0 if first else 1]
                if name:
                    return getattr(self, name)(inputs[1 if first else 0])
        raise TracingError(
            f"np.{ufunc.__name__} of a sparse array with traced entries",
            why="It is not recorded of sparse arrays: most functions are not 0 at 0.",
            fix="apply it to A.data, entry by entry, or to the dense array A.toarray().",
        )


def _made_of(places: SparsePlaces, data: Any) -> Any:
    """Return the array with entries: SciPy's where they are numbers."""
    (entries,) = data
    return places.matrix(entries) if isinstance(entries, np.ndarray) else TracedSparse(entries, places)


tree.register(TracedSparse, lambda x: ((x.data,), x.places), _made_of)


def entries_of(matrix: Any) -> TracedSparse:
    """Return the entries of a matrix: of SciPy's, of one whose entries are traced, or of a dense one."""
    if isinstance(matrix, TracedSparse):
        return matrix
    if is_sparse(matrix):
        found = matrix.tocoo()
        rows, columns = (np.zeros_like(found.coords[0]), *found.coords)[-2:]
        return TracedSparse(found.data, SparsePlaces(rows, columns, found.shape, matrix.format))
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
