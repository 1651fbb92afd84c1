"""SciPy's sparse arrays, of which the entries may be traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.numpy.linalg.sparse_arrays import TracedSparse, entries_of
from primad.numpy.linalg.sparse_places import SparsePlaces
from primad.recording.traced_array import settled
from primad.scipy.traced_calls import is_recorded

__all__ = ["coo_array", "csc_array", "csr_array", "diags_array", "eye_array"]


def own(name: str) -> Callable[..., Any]:
    """Return SciPy's function."""
    from scipy import sparse  # loads when it is called

    found: Callable[..., Any] = getattr(sparse, name)
    return found


def _made(name: str, arg1: Any, shape: Any, options: dict[str, Any]) -> Any:
    """Return SciPy's array, or one with traced entries at the places that SciPy's has for their numbers."""
    given = arg1 if isinstance(arg1, tuple) else (arg1,)
    format = name.removesuffix("_array")
    if isinstance(arg1, TracedSparse):
        return arg1.asformat(format)
    if not is_recorded(given[0]):
        return own(name)(arg1, shape=shape, **options)
    if not isinstance(arg1, tuple):
        return entries_of(arg1).asformat(format)
    data = pnp.array(arg1[0])
    if len(arg1) == 2:
        places = [np.asarray(along) for along in arg1[1]]
        size = shape or [int(along.max(initial=-1)) + 1 for along in places]
        rows, columns = (np.zeros_like(places[0]), *places)[-2:]
        return TracedSparse(data, SparsePlaces(rows, columns, tuple(size))).asformat(format)
    numbers = np.arange(1, len(data) + 1)  # which entry is where
    found = own(name)((numbers, *arg1[1:]), shape=shape).tocoo()
    return TracedSparse(data[found.data - 1], SparsePlaces(found.coords[0], found.coords[1], found.shape, format))


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
        return own("diags_array")(diagonals, offsets=offsets, shape=shape, **options)
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
                f"diags_array: diagonal {offset} of shape {shape} has {length} entries, got {len(diagonal)}",
                fix="give so many, or one for all.",
            )
        parts.append(pnp.broadcast_to(diagonal, (length,)))
        rows.append(row + np.arange(length))
        columns.append(column + np.arange(length))
    places = SparsePlaces(np.concatenate(rows), np.concatenate(columns), tuple(shape), "dia")
    return TracedSparse(pnp.concatenate(parts), places)


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Return SciPy's sparse array with ones on a diagonal; a multiple by a traced number has traced entries."""
    return own("eye_array")(m, n, k=k, dtype=dtype, format=format)
