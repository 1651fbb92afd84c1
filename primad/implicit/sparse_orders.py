"""Factors of sparse matrices, in orders that are found once for each pattern."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from primad.runtime.cache import Cache

Array = np.ndarray[Any, Any]

ALIKE = 0.5
"""Share of the entries of a matrix that have one at the mirrored place, from which it is ordered as a symmetric one:
that of UMFPACK (T. A. Davis, Algorithm 832, ACM Transactions on Mathematical Software 30, 2004)."""
PIVOT = 0.1
"""Share of the largest element of a column that one on the diagonal has at least to be a pivot: what SuperLU's guide
names for matrices that are ordered as symmetric ones."""


class SymmetricOrder(NamedTuple):
    """The order in which the factors of a matrix with mirrored places have few entries, and the matrix in that order.

    Attributes:
        places: which row and column of the matrix is at each place of the order.
        starts: where the columns begin, in the order.
        rows: of the entries, in the order.
        entries: which of the matrix's entries each one is.
    """

    places: Array
    starts: Array
    rows: Array
    entries: Array

    def factors(self, matrix: Any) -> SymmetricFactors:
        """Return the factors of a matrix of that pattern.

        Raises:
            RuntimeError: if the matrix is singular.
        """
        from scipy.sparse import csc_array  # loads when it is called
        from scipy.sparse.linalg import splu

        ordered = csc_array((matrix.data[self.entries], self.rows, self.starts), matrix.shape)
        mode = {"SymmetricMode": True}
        return SymmetricFactors(splu(ordered, permc_spec="NATURAL", diag_pivot_thresh=PIVOT, options=mode), self.places)


class SymmetricFactors:
    """SciPy's factors of a matrix whose rows and columns are in another order.

    Args:
        own: SciPy's.
        places: which row and column of the matrix is at each place of the order.
    """

    def __init__(self, own: Any, places: Array) -> None:
        self._own, self._places = own, places
        self.nnz = own.nnz

    def solve(self, b: Array, trans: str = "N") -> Array:
        """Return the solution with the matrix; with the transposed one for 'T'."""
        found = self._own.solve(b[self._places], trans)
        x: Array = np.empty_like(found)
        x[self._places] = found
        return x


class OrderKey(NamedTuple):
    """The pattern of a matrix that has its diagonal."""

    pattern: bytes
    kind: str = "order"


ORDERS = Cache(16)
"""Orders by pattern, None where a matrix is ordered as SciPy does: methods factor many matrices of one pattern."""


def sparse_factors(matrix: Any) -> Any:
    """Return what solves with a sparse matrix, in the order in which its factors are expected to have few entries.

    A matrix with its entries at mirrored places, such as that of a discretised equation, is ordered by minimum degree
    of A + Aᵀ, with pivots on the diagonal where these are large enough. Any other is ordered as SciPy does.

    Args:
        matrix: SciPy's sparse array.

    Raises:
        RuntimeError: if the matrix is singular.
    """
    from scipy.sparse.linalg import splu  # loads when it is called

    matrix = matrix.tocsc()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    order = _order_of(matrix) if matrix.diagonal().all() else None
    return splu(matrix) if order is None else order.factors(matrix)


def _order_of(matrix: Any) -> SymmetricOrder | None:
    digest = hashlib.blake2b(str(matrix.shape).encode(), digest_size=32)
    for places in (matrix.indptr, matrix.indices):
        digest.update(np.ascontiguousarray(places, np.int64).data)
    found: SymmetricOrder | None = ORDERS.get(OrderKey(digest.digest()), lambda: _made_for(matrix))
    return found


def _made_for(matrix: Any) -> SymmetricOrder | None:
    """Return the order of a matrix with mirrored places; it depends on where its entries are, and on no number."""
    from scipy.sparse import csc_array  # loads when it is called
    from scipy.sparse.linalg import spilu

    def of_pattern(data: Array) -> Any:
        return csc_array((data, matrix.indices, matrix.indptr), matrix.shape)

    if not _is_almost_symmetric(of_pattern(np.ones(matrix.nnz, np.bool_))):
        return None
    columns = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    identity = of_pattern((matrix.indices == columns).astype(np.float64))  # has no other factors, and so takes no time
    mode = {"SymmetricMode": True}  # without it SuperLU changes the order to one for AᵀA
    ordered_only = spilu(identity, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", options=mode)
    places = np.argsort(ordered_only.perm_c)
    ordered = of_pattern(np.arange(matrix.nnz))[places][:, places].tocsc()
    ordered.sort_indices()
    return SymmetricOrder(places, ordered.indptr.astype(np.intc), ordered.indices.astype(np.intc), ordered.data)


def _is_almost_symmetric(there: Any) -> bool:
    """Say whether most entries of a matrix of ones, column by column, have one at the mirrored place."""
    rows = there.tocsr()
    if np.array_equal(rows.indptr, there.indptr) and np.array_equal(rows.indices, there.indices):
        return True
    return bool(there.multiply(there.T).nnz >= ALIKE * there.nnz)
