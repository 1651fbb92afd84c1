"""Factors of matrices, dense and sparse, which solve with a matrix and with the transposed one."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

ALIKE = 0.5
"""Share of the entries of a matrix that have one at the mirrored place, from which it is ordered as a symmetric one:
that of UMFPACK (T. A. Davis, Algorithm 832, ACM Transactions on Mathematical Software 30, 2004)."""
PIVOT = 0.1
"""Share of the largest element of a column that one on the diagonal has at least to be a pivot: what SuperLU's guide
names for matrices that are ordered as symmetric ones."""


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
        if isinstance(matrix, np.ndarray):
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
        """Bytes of the factors; those of sparse ones have an index each."""
        if isinstance(self.matrix, np.ndarray):
            return sum(int(x.nbytes) for x in self._dense)
        index = np.dtype(np.intc).itemsize
        return int(self._sparse.nnz * (self.matrix.dtype.itemsize + index))

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Return the solution with the matrix, or with the transposed one."""
        if isinstance(self.matrix, np.ndarray):
            found = self._getrs(*self._dense, b, trans=int(transposed))[0]
        else:
            found = self._sparse.solve(b.astype(self.matrix.dtype, copy=False), "T" if transposed else "N")
        return np.asarray(found, b.dtype)


def sparse_factors(matrix: Any) -> Any:
    """Return SciPy's factors of a sparse matrix, in the order in which they are expected to have few entries.

    A matrix with its entries at mirrored places, such as that of a discretised equation, is ordered by minimum degree
    of A + Aᵀ, with pivots on the diagonal where these are large enough. Any other is ordered as SciPy does.

    Args:
        matrix: SciPy's sparse array.

    Raises:
        RuntimeError: if the matrix is singular.
    """
    from scipy.sparse.linalg import splu  # loads when it is called

    matrix = matrix.tocsc()
    if not _is_almost_symmetric(matrix):
        return splu(matrix)
    options = {"SymmetricMode": True}
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=PIVOT, options=options)


def _is_almost_symmetric(matrix: Any) -> bool:
    """Say whether a matrix, column by column, has its diagonal, and most other entries at mirrored places."""
    if not matrix.diagonal().all():
        return False
    rows = matrix.tocsr()
    if np.array_equal(rows.indptr, matrix.indptr) and np.array_equal(rows.indices, matrix.indices):
        return True
    there = matrix.astype(np.bool_)
    return bool(there.multiply(there.T).nnz >= ALIKE * matrix.nnz)
