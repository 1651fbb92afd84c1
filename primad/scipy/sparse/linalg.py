"""Linear systems with sparse matrices, by SciPy's names, differentiated in the right side and in the entries."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.functional.control.mapping import vmap
from primad.implicit.sparse_systems import solution_with
from primad.numpy.linalg.sparse_arrays import TracedSparse, entries_of
from primad.recording.traced_array import settled
from primad.scipy import other_names
from primad.scipy.optimize.linear_fits import lsq_linear
from primad.scipy.optimize.solver_calls import SolverCall
from primad.scipy.traced_calls import is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["bicg", "bicgstab", "cg", "cgs", "factorized", "gmres", "lsqr", "minres", "splu", "spsolve"]


def _own(name: str) -> Any:
    return getattr(import_module("scipy.sparse.linalg"), name)


def _is_traced(A: Any, *others: Any) -> bool:
    return isinstance(A, TracedSparse) or is_recorded((A, *others))


def _of_columns(solve: Callable[[Any], Any], b: Any, name: str) -> Any:
    """Solve for a right side, or for each column of several."""
    b = settled(pnp.array(b))
    if b.ndim not in (1, 2):
        raise ShapeError(
            f"{name}: the right side is a vector or a matrix, got shape {b.shape}",
            fix="reshape it to a matrix, of which each column is a right side.",
        )
    if b.ndim == 1:
        return solve(b)
    return vmap(solve, in_axes=1, out_axes=1)(b)


@entrance
def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """Solve A x = b with a sparse matrix by factorisation, as SciPy does.

    It is differentiable in b, and in the entries of an A that `primad.scipy.sparse` makes; one factorisation serves the
    solution, its tangents and its cotangents.

    Args:
        A: SciPy's sparse array, or one with traced entries.
        b: the right side, a vector or a matrix.
        permc_spec: as SciPy's, where nothing is traced.
        use_umfpack: as SciPy's, where nothing is traced.

    Returns:
        x, as b is.

    Raises:
        MatrixError: if the matrix is singular.

    Example:
        >>> import numpy as np, primad, primad.scipy.sparse.linalg
        >>> from primad.scipy import sparse
        >>> def energy(k):
        ...     A = sparse.diags_array([-k, 2 * k, -k], offsets=[-1, 0, 1], shape=(3, 3))
        ...     return np.sum(sparse.linalg.spsolve(A.tocsc(), np.ones(3)))
        >>> print(f"{energy(2.0):.6f} {primad.grad(energy)(2.0):.6f}")
        2.500000 -1.250000
    """
    if not _is_traced(A, b):
        return _own("spsolve")(A, b, permc_spec, use_umfpack)
    entries = entries_of(A)
    right = pnp.ravel(b) if np.ndim(b) == 2 and b.shape[1] == 1 else b
    return _of_columns(lambda b: solution_with(entries, b, "spsolve"), right, "spsolve")


class SparseFactors:
    """The factors of a sparse matrix, which solve for right sides that may be traced (see `splu`).

    Args:
        A: the matrix.
        options: of SciPy's `splu`, which are used where the entries are plain.
    """

    def __init__(self, A: Any, options: dict[str, Any]) -> None:
        self._entries = entries_of(A)
        self._own = None if _is_traced(A) else _own("splu")(A, **options)
        self.shape, self.nnz = self._entries.shape, self._entries.nnz

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._own is None:
            raise AttributeError(f"the factors of a matrix with traced entries have no {name!r}: they solve")
        return getattr(self._own, name)

    def solve(self, b: Any, trans: str = "N") -> Any:
        """Return the solution with the matrix; with the transposed one for 'T' (and 'H', if it is real)."""
        if self._own is not None and not is_recorded((b,)):
            return self._own.solve(np.asarray(b), trans)
        if trans not in ("N", "T", "H") or (trans == "H" and self._entries.dtype.kind == "c"):
            raise ShapeError(
                f"splu: trans is 'N' or 'T', got {trans!r}",
                fix="conjugate the right side and the solution of 'T' for 'H'.",
            )
        return _of_columns(lambda b: solution_with(self._entries, b, "splu", None, trans != "N"), b, "splu")


@entrance
def splu(A: Any, **options: Any) -> SparseFactors:
    """Factorise a sparse matrix, as SciPy does; what it solves for may be traced, and so may be the entries.

    Args:
        A: SciPy's sparse array, or one with traced entries.
        **options: as SciPy's, where the entries are not traced.

    Returns:
        an object with `solve(b, trans)`; of plain entries also with what SciPy's has.

    Example:
        >>> import numpy as np, primad, primad.scipy.sparse.linalg, scipy.sparse
        >>> factors = primad.scipy.sparse.linalg.splu(scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]]))
        >>> print(primad.jacobian(factors.solve)(np.ones(2))[:, :])
        [[ 0.5    0.   ]
         [-0.125  0.25 ]]
    """
    return SparseFactors(A, options)


def factorized(A: Any) -> Callable[[Any], Any]:
    """Return the function that solves with a sparse matrix (see `splu`)."""
    return splu(A).solve


def _step_by_step(matrix: Any, b: Any, transposed: bool, *, method: str, M: Any, **options: Any) -> tuple[Any, int]:
    found: tuple[Any, int] = _own(method)(matrix, b, M=M.T if transposed and M is not None else M, **options)
    return found


def _iterated(name: str, A: Any, b: Any, x0: Any, callback: Any, options: dict[str, Any]) -> tuple[Any, int]:
    if not _is_traced(A, b):
        found: tuple[Any, int] = _own(name)(A, b, x0, callback=callback, **options)
        return found
    refuse(f"sparse.linalg.{name}", callback=callback)
    solver = SolverCall(_step_by_step, method=name, **options)
    A, b = entries_of(A), settled(pnp.ravel(pnp.array(b)))
    return solution_with(A, b, name, solver), 0


@entrance
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, int]:
    """Solve A x = b with a symmetric positive definite matrix by conjugate gradients, as SciPy does.

    It is differentiable in b, and in the entries of an A that `primad.scipy.sparse` makes: tangents and cotangents are
    solutions to the same tolerance.

    Args:
        A: the matrix: SciPy's sparse array, one with traced entries, or a dense one.
        b: the right side.
        x0: where to start, where nothing is traced.
        rtol: how large the residual may be, as a share of b.
        atol: how large it may be.
        maxiter: steps, at most.
        M: what is close to the inverse of A.
        callback: as SciPy's, where nothing is traced.

    Returns:
        x, and 0 if it was found.

    Raises:
        DomainError: if x or a derivative was not found, where something is traced.

    Example:
        >>> import numpy as np, primad, primad.scipy.sparse.linalg
        >>> from primad.scipy import sparse
        >>> def energy(k):
        ...     A = sparse.diags_array([-k, 2 * k, -k], offsets=[-1, 0, 1], shape=(3, 3))
        ...     return np.sum(sparse.linalg.cg(A, np.ones(3), rtol=1e-10)[0])
        >>> print(f"{primad.grad(energy)(2.0):.6f}")
        -1.250000
    """
    return _iterated("cg", A, b, x0, callback, {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M})


def _as_cg(name: str, words: str) -> Callable[..., tuple[Any, int]]:
    """Return a solver that takes what `cg` takes."""

    def solve(
        A: Any,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Any = None,
    ) -> tuple[Any, int]:
        return _iterated(name, A, b, x0, callback, {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M})

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"Solve A x = b by {words}, as SciPy does (see `cg`)."
    return entrance(solve)


bicg = _as_cg("bicg", "biconjugate gradients")
cgs = _as_cg("cgs", "squared conjugate gradients")
bicgstab = _as_cg("bicgstab", "stabilised biconjugate gradients")


@entrance
def lsqr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    iter_lim: int | None = None,
    show: bool = False,
    calc_var: bool = False,
    x0: Any = None,
) -> Any:
    """Return the x with the least |A x - b|² + damp² |x|², and what SciPy says of it, as functions of A, b and damp.

    Of traced values x is exact, as that of `primad.scipy.optimize.lsq_linear` without bounds, and A is dense inside.

    Args:
        A: the matrix: SciPy's sparse array, one with traced entries, or a dense one.
        b: a number for each row.
        damp: how much large x count; it may be traced.
        atol: as SciPy's, where nothing is traced; so are btol, conlim, iter_lim and x0.
        btol: as SciPy's.
        conlim: as SciPy's.
        iter_lim: as SciPy's.
        show: as SciPy's, where nothing is traced.
        calc_var: as SciPy's, where nothing is traced.
        x0: as SciPy's.

    Returns:
        SciPy's ten results: x, 2, no steps, the norms of A x - b and of that with damp * x, three estimates of its
        steps, which are NaN where something is traced, the norm of x, and None.

    Raises:
        DomainError: if columns of A depend on each other, and damp is 0.

    Example:
        >>> import numpy as np, primad, scipy.sparse
        >>> from primad.scipy import sparse
        >>> A = scipy.sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> print(primad.jacobian(lambda b: sparse.linalg.lsqr(A, b)[0])(np.ones(3))[:, :])
        [[0.5 0.5 0. ]
         [0.  0.  0.5]]
    """
    if not _is_traced(A, b, damp):
        return _own("lsqr")(A, b, damp, atol, btol, conlim, iter_lim, show, calc_var, x0)
    refuse("sparse.linalg.lsqr", show=show, calc_var=calc_var)
    matrix, right = A.toarray() if isinstance(A, TracedSparse) else A, settled(pnp.ravel(pnp.array(b)))
    rows = len(right)
    if is_recorded(damp) or damp:
        dense = pnp.array(entries_of(matrix).toarray())
        matrix = pnp.concatenate([dense, damp * np.eye(dense.shape[1])])
        right = pnp.concatenate([right, np.zeros(dense.shape[1])])
    found = lsq_linear(matrix, right)
    residual = found.fun[:rows]
    norms = pnp.linalg.norm(residual), pnp.linalg.norm(found.fun)
    return (found.x, 2, 0, *norms, np.nan, np.nan, np.nan, pnp.linalg.norm(found.x), None)


@entrance
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    callback_type: str | None = None,
) -> tuple[Any, int]:
    """Solve A x = b by generalised minimal residuals, as SciPy does (see `cg`)."""
    options = {"rtol": rtol, "atol": atol, "restart": restart, "maxiter": maxiter, "M": M}
    options |= {} if callback_type is None else {"callback_type": callback_type}
    return _iterated("gmres", A, b, x0, callback, options)


@entrance
def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    shift: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    show: bool = False,
    check: bool = False,
) -> tuple[Any, int]:
    """Solve (A - shift) x = b with a symmetric matrix by minimal residuals, as SciPy does (see `cg`)."""
    options = {"rtol": rtol, "shift": shift, "maxiter": maxiter, "M": M, "show": show, "check": check}
    return _iterated("minres", A, b, x0, callback, options)


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that there is not."""
    raise other_names.missing("scipy.sparse.linalg", name, __all__)
