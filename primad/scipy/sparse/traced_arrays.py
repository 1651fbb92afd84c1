"""Sparse arrays whose entries are traced: places that are known, and their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import MissingAttributeError, ShapeError
from primad.numpy.linalg.sparse_products import added_products
from primad.recording.foreign import is_sparse
from primad.recording.traced_array import settled
from primad.scipy.traced_calls import is_recorded

__all__ = ["coo_array", "csc_array", "csr_array", "diags_array"]

_FORMS = ("tocsr", "tocsc", "tocoo", "tobsr", "todia", "copy")
"""Methods that give another form of the same array: there is one form here."""


class TracedSparse:
    """A sparse array whose entries are traced; entries at the same place are added.

    It has the products, sums and multiples of SciPy's sparse arrays, `T`, `diagonal`, `toarray` and `data`, and is
    solved with by `primad.scipy.sparse.linalg`.

    Args:
        data: the entries, of one axis.
        rows: the row of each.
        columns: the column of each.
        shape: of the array.
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave their operators to it
    ndim = 2

    def __init__(self, data: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> None:
        self.data, self.shape = settled(data), shape
        self.rows, self.columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)

    @property
    def T(self) -> TracedSparse:
        """The transposed array."""
        return TracedSparse(self.data, self.columns, self.rows, self.shape[::-1])

    @property
    def dtype(self) -> Any:
        """The type of the entries."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return len(self.rows)

    def __getattr__(self, name: str) -> Any:
        if name in _FORMS:
            return lambda **_: self
        raise MissingAttributeError(
            f"a sparse array with traced entries has no {name!r}",
            fix="it has @, +, -, multiples, T, diagonal(), toarray(), data, rows and columns.",
        )

    def toarray(self) -> Any:
        """Return the dense array."""
        return pnp.add_at(pnp.zeros(self.shape, self.dtype), (self.rows, self.columns), self.data)

    def diagonal(self) -> Any:
        """Return the entries on the diagonal."""
        there = np.flatnonzero(self.rows == self.columns)
        return pnp.add_at(pnp.zeros(min(self.shape), self.dtype), self.rows[there], self.data[there])

    def __matmul__(self, x: Any) -> Any:
        x = pnp.array(x)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(f"matmul: a sparse array of shape {self.shape} and an array of shape {x.shape} do not fit")
        return added_products(settled(x), self.data, self.rows, self.columns, self.shape[0])

    dot = __matmul__

    def __rmatmul__(self, x: Any) -> Any:
        return (self.T @ pnp.array(x).T).T

    def _with(self, data: Any) -> TracedSparse:
        return TracedSparse(data, self.rows, self.columns, self.shape)

    def __mul__(self, factor: Any) -> TracedSparse:
        if np.ndim(factor) != 0:
            raise ShapeError("a sparse array with traced entries is multiplied by numbers", fix="A @ x is a product.")
        return self._with(self.data * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> TracedSparse:
        return self._with(self.data / divisor)

    def __neg__(self) -> TracedSparse:
        return self._with(-self.data)

    def __add__(self, other: Any) -> TracedSparse:
        other = entries_of(other)
        if other.shape != self.shape:
            raise ShapeError(f"sparse arrays of shapes {self.shape} and {other.shape} are not added")
        rows = np.concatenate([self.rows, other.rows])
        columns = np.concatenate([self.columns, other.columns])
        return TracedSparse(pnp.concatenate([self.data, other.data]), rows, columns, self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> TracedSparse:
        return self + (-entries_of(other))

    def __rsub__(self, other: Any) -> TracedSparse:
        return (-self).__add__(other)


def entries_of(matrix: Any) -> TracedSparse:
    """Return the entries of a matrix: of SciPy's, of one whose entries are traced, or of a dense one."""
    if isinstance(matrix, TracedSparse):
        return matrix
    if is_sparse(matrix):
        found = matrix.tocoo()
        return TracedSparse(found.data, found.coords[0], found.coords[1], found.shape)
    if hasattr(matrix, "matvec"):
        raise ShapeError(
            "a LinearOperator and traced arrays",
            why="Its entries are not known, and what it computes is not recorded.",
            fix="primad.implicit.linear_solve(matvec, b, solver=…) takes a function that is written with NumPy.",
        )
    dense = settled(pnp.array(matrix))
    if dense.ndim != 2:
        raise ShapeError(f"a matrix has two axes, got shape {dense.shape}")
    rows, columns = np.indices(dense.shape)
    return TracedSparse(pnp.ravel(dense), rows.ravel(), columns.ravel(), dense.shape)


def _own(name: str) -> Callable[..., Any]:
    from scipy import sparse  # loads when it is called

    found: Callable[..., Any] = getattr(sparse, name)
    return found


def _made(name: str, arg1: Any, shape: Any, options: dict[str, Any]) -> Any:
    """Return SciPy's array, or one with traced entries at the places that SciPy's has for their numbers."""
    given = arg1 if isinstance(arg1, tuple) else (arg1,)
    if isinstance(arg1, TracedSparse):
        return arg1
    if not is_recorded(given[0]):
        return _own(name)(arg1, shape=shape, **options)
    if not isinstance(arg1, tuple):
        return entries_of(arg1)
    data = pnp.array(arg1[0])
    numbers = np.arange(1, len(data) + 1)  # which entry is where
    found = _own(name)((numbers, *arg1[1:]), shape=shape).tocoo()
    return TracedSparse(data[found.data - 1], found.coords[0], found.coords[1], found.shape)


def csr_array(arg1: Any, shape: Any = None, **options: Any) -> Any:
    """Return a sparse array by rows: SciPy's, or one with traced entries.

    Args:
        arg1: (data, indices, indptr), (data, (rows, columns)), or a matrix.
        shape: of the array; by default as large as the places ask.
        **options: SciPy's, where nothing is traced.

    Returns:
        SciPy's array, or a `TracedSparse`.

    Example:
        >>> import numpy as np, primad, primad.scipy.sparse
        >>> places = (np.array([0, 1, 1]), np.array([0, 0, 1]))
        >>> product = lambda data: primad.scipy.sparse.csr_array((data, places)) @ np.array([1.0, 10.0])
        >>> print(primad.jacobian(product)(np.ones(3))[:, :])
        [[ 1.  0.  0.]
         [ 0.  1. 10.]]
    """
    return _made("csr_array", arg1, shape, options)


def csc_array(arg1: Any, shape: Any = None, **options: Any) -> Any:
    """Return a sparse array by columns: SciPy's, or one with traced entries (see `csr_array`)."""
    return _made("csc_array", arg1, shape, options)


def coo_array(arg1: Any, shape: Any = None, **options: Any) -> Any:
    """Return a sparse array of entries and places: SciPy's, or one with traced entries (see `csr_array`)."""
    if isinstance(arg1, tuple) and is_recorded(arg1[0]):
        rows, columns = (np.asarray(places) for places in arg1[1])
        size = shape or (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
        return TracedSparse(pnp.array(arg1[0]), rows, columns, tuple(size))
    return _made("coo_array", arg1, shape, options)


def diags_array(diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, **options: Any) -> Any:
    """Return a sparse array of diagonals: SciPy's, or one with traced entries.

    Args:
        diagonals: one diagonal, or several; a number is repeated along its own.
        offsets: how far above the main diagonal each is.
        shape: of the array; by default the square one that the diagonals fit.
        **options: SciPy's, where nothing is traced.

    Returns:
        SciPy's array, or a `TracedSparse`.

    Example:
        >>> import numpy as np, primad, primad.scipy.sparse
        >>> def product(a):
        ...     return primad.scipy.sparse.diags_array([-a, 2 * a, -a], offsets=[-1, 0, 1], shape=(3, 3)) @ np.arange(
        ...         3.0
        ...     )
        >>> print(primad.jvp(product, (1.0,), (1.0,)))
        (array([-1.,  0.,  3.]), array([-1.,  0.,  3.]))
    """
    if not is_recorded(diagonals):
        return _own("diags_array")(diagonals, offsets=offsets, shape=shape, **options)
    several = np.ndim(offsets) > 0
    pairs = list(zip(diagonals, offsets, strict=True)) if several else [(diagonals, offsets)]
    pairs = [(settled(pnp.atleast_1d(diagonal)), int(offset)) for diagonal, offset in pairs]
    if shape is None:
        n = len(pairs[0][0]) + abs(pairs[0][1])
        shape = (n, n)
    parts, rows, columns = [], [], []
    for diagonal, offset in pairs:
        row, column = max(0, -offset), max(0, offset)
        length = min(shape[0] - row, shape[1] - column)
        if len(diagonal) not in (1, length):
            raise ShapeError(
                f"diags_array: diagonal {offset} of shape {shape} has {length} entries, got {len(diagonal)}"
            )
        parts.append(pnp.broadcast_to(diagonal, (length,)))
        rows.append(row + np.arange(length))
        columns.append(column + np.arange(length))
    return TracedSparse(pnp.concatenate(parts), np.concatenate(rows), np.concatenate(columns), tuple(shape))
