"""Factors of matrices, dense and sparse, which solve with a matrix and with the transposed one."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.implicit.sparse_orders import sparse_factors

Array = np.ndarray[Any, Any]


class MatrixFactors:
    """The factors of a matrix, sparse or not.

    Args:
        matrix: NumPy's array, or SciPy's sparse one.

    Raises:
        LinAlgError: if the matrix is singular.
    """

    def __init__(self, matrix: Any) -> None:
        if matrix.dtype == np.float16:  # LAPACK and SuperLU have none
            matrix = matrix.astype(np.float32)
        self.matrix = matrix
        if 0 in matrix.shape:
            self._dense: Any = ()
        elif isinstance(matrix, np.ndarray):
            from scipy.linalg import lapack  # loads when it is called

            getrf, self._getrs = lapack.get_lapack_funcs(("getrf", "getrs"), (matrix,))
            *self._dense, place = getrf(matrix)
            if place > 0:
                raise np.linalg.LinAlgError(f"pivot {place} is 0")
        else:
            try:
                self._sparse = sparse_factors(matrix)
            except RuntimeError as error:  # what SciPy raises of a singular matrix
                raise np.linalg.LinAlgError(str(error)) from None

    @property
    def held_bytes(self) -> int:
        """Bytes of the matrix and of its factors; numbers of sparse ones have an index each."""
        if isinstance(self.matrix, np.ndarray):
            return sum(int(x.nbytes) for x in (self.matrix, *self._dense))
        index = np.dtype(np.intc).itemsize
        return int((self.matrix.nnz + self._sparse.nnz) * (self.matrix.dtype.itemsize + index))

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Return the solution with the matrix, or with the transposed one."""
        if not b.size:
            return b
        if isinstance(self.matrix, np.ndarray):
            found = self._getrs(*self._dense, b, trans=int(transposed))[0]
        else:
            found = self._sparse.solve(b.astype(self.matrix.dtype, copy=False), "T" if transposed else "N")
        return np.asarray(found, b.dtype)
