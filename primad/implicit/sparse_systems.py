"""Linear systems with sparse matrices as ops: one factorisation for the solution, its tangents and its cotangents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import DomainError, MatrixError, NotFiniteError, ShapeError
from primad.functional.derived_calls import Call
from primad.implicit.equations import FACTORS, Array, ImplicitEquation
from primad.implicit.matrix_factors import MatrixFactors
from primad.implicit.solution_ops import linear_solution
from primad.ir.key import Key
from primad.ir.program import ClosedProgram
from primad.numpy.linalg.sparse_arrays import TracedSparse
from primad.numpy.linalg.sparse_products import added_products
from primad.runtime.calling import traced_operands


class SystemKey(NamedTuple):
    """What solves with a sparse matrix of some entries."""

    of: Key
    solver: Any
    values: bytes
    kind: str = "sparse system"


class SparseSystem(ImplicitEquation):
    """A x, for a program (x, entries, rows, columns) -> A x; its Jacobian in x is the matrix itself.

    Attributes:
        solver: (matrix, b, transposed) -> x; None for a factorisation.
    """

    def jacobian(self, x: Array, given: Sequence[Array], output: int = 0) -> Any:
        """Return the matrix."""
        from scipy.sparse import coo_array  # loads when it is called

        entries, rows, columns = given[:3]
        return coo_array((entries, (rows, columns)), (len(x), len(x))).tocsc()

    def factors(self, x: Array, given: Sequence[Array]) -> Any:
        """Return what solves with the matrix, and is kept.

        Raises:
            MatrixError: if the matrix is singular.
        """
        digest = hashlib.blake2b(digest_size=32)
        for value in given:
            digest.update(np.ascontiguousarray(value).data)
        return FACTORS.get(SystemKey(self.of.key, self.solver, digest.digest()), lambda: self._made(x, given))

    def _made(self, x: Array, given: Sequence[Array]) -> Any:
        matrix = self.jacobian(x, given)
        if not np.isfinite(matrix.data).all():
            raise NotFiniteError(
                f"{self.name}: the matrix is not finite",
                fix="look where its entries are NaN or infinite: np.isfinite(A.data).",
            )
        if self.solver is not None:
            return _Iterated(self.name, self.solver, matrix)
        try:
            return MatrixFactors(matrix)
        except np.linalg.LinAlgError as error:
            raise MatrixError(
                f"{self.name}: the matrix is singular ({error})",
                fix="leave out equations that follow from others, or fix the unknowns that they leave open.",
            ) from None


class _Iterated:
    """What solves with a matrix step by step.

    Args:
        name: of SciPy's function.
        solver: (matrix, b, transposed) -> x and what SciPy says of it.
        matrix: SciPy's.
    """

    def __init__(self, name: str, solver: Callable[..., Any], matrix: Any) -> None:
        self._name, self._solver, self._matrix = name, solver, matrix

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self._matrix.data, self._matrix.indices)

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Return the solution with the matrix, or with the transposed one."""
        found, info = self._solver(self._matrix.T.tocsr() if transposed else self._matrix.tocsr(), b, transposed)
        if info:
            raise DomainError(
                f"scipy.sparse.linalg.{self._name} did not converge (info = {info})",
                fix="give a preconditioner M, more steps by maxiter=, or take spsolve.",
            )
        return np.asarray(found, b.dtype)


def solution_with(A: TracedSparse, b: Any, name: str, solver: Any = None, transposed: bool = False) -> Any:
    """Return the solution of A x = b.

    Args:
        A: the matrix; it or b is traced.
        b: the right side, of one axis.
        name: of SciPy's function.
        solver: (matrix, b, transposed) -> x and what SciPy says of it; None for a factorisation.
        transposed: whether it is the transposed matrix.
    """
    n = A.shape[0]
    if A.shape != (n, n) or b.shape != (n,):
        raise ShapeError(
            f"{name}: a matrix of shape {A.shape} and a right side of shape {b.shape} do not fit",
            fix="the matrix is square, and the right side has one number for each of its rows.",
        )
    dtype = np.result_type(A.dtype, b.dtype, np.float32)
    data, b = A.data.astype(dtype), b.astype(dtype)

    def times(x: Any, data: Any, rows: Any, columns: Any) -> Any:
        return [added_products(x, data, rows, columns, n)]

    call = Call(times, (np.zeros(n, dtype), data, A.rows, A.columns), known=False)
    of = SparseSystem(ClosedProgram(call.program), solver, 0.0, name, None)
    operands = traced_operands([b, *call.leaves, *call.program.sources])
    return linear_solution(*operands, of=of, transposed=transposed)
