"""The entries of a matrix of derivatives that may not be zero, computed by one compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.functional.derivatives.lazy_matrices import hessian, jacobian
from primad.functional.jit import jit

Array = np.ndarray[Any, Any]


class MatrixEntries(NamedTuple):
    """Entries of a matrix.

    Attributes:
        rows: the row of each.
        columns: the column of each.
        values: the function of the arguments that computes them.
    """

    rows: Array
    columns: Array
    values: Callable[..., Array]


def jacobian_entries(function: Callable[..., Any], args: Sequence[Array]) -> MatrixEntries:
    """Return the entries of the Jacobian of a function, of one row, in its first argument, a row.

    Args:
        function: what is differentiated.
        args: arrays like its arguments.
    """
    return _entries(jacobian(function), args, lower=False)


def hessian_entries(function: Callable[..., Any], args: Sequence[Array]) -> MatrixEntries:
    """Return the entries of the Hessian of a function, of one number, in its first argument, a row.

    Args:
        function: what is differentiated.
        args: arrays like its arguments.

    Returns:
        those on the diagonal and below it.
    """
    return _entries(hessian(function), args, lower=True)


def _entries(matrix: Callable[..., Any], args: Sequence[Array], lower: bool) -> MatrixEntries:
    rows, columns = matrix(*args).pattern().tocoo().coords
    kept = np.flatnonzero(rows >= columns) if lower else np.arange(len(rows))
    return MatrixEntries(rows[kept], columns[kept], jit(lambda *xs: matrix(*xs).sparse("csr").data[kept]))
