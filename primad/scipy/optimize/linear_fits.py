"""Linear least squares within bounds, and fits that may not fall, by SciPy's names; of traced data differentiated.

Within bounds the least |A x − b|² has, with the residuals r = A x − b,

    r = A x − b,   clip(Aᵀ r, x − u, x − l) = 0.

The residuals are unknowns too, after x: factors with pivots among the entries of A then lose what A loses, where those
of Aᵀ A lose its square (Peters and Wilkinson 1970). Sparse factors have their pivots elsewhere. Derivatives are those
of the least squares of the columns of the unknowns that are free, with the others at their bounds.

The rising x with the least Σ w (x − y)² has multipliers z of its inequalities D x ≥ 0, with D x = x[1:] − x[:-1]:

    w (x − y) = Dᵀ z,   min(z, D x) = 0.

Derivatives are those of the means of its blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM
from primad.functional.recorded_values import stop_gradient
from primad.recording.foreign import is_sparse
from primad.recording.traced_array import settled
from primad.scipy.optimize.minima import ends_of, finite, projected, result_of
from primad.scipy.optimize.solver_calls import DEGENERATE, refuse_degenerate, solution_of
from primad.scipy.traced_calls import is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["isotonic_regression", "lsq_linear", "nnls"]

MOST_SETS = 10
"""How often the set of the unknowns at bounds is found anew, at most. Chosen: SciPy's is right, or off by unknowns
that it keeps away from their bounds; one more finding then settles it."""
DEPENDENT = 1e-5
"""How small the smallest singular value of columns of length 1 may be beside the largest, where factors are sparse.
Chosen: these lose its square, which leaves six digits of derivatives."""


# -- least squares within bounds ---------------------------------------------------------------------------------------


def _at_bounds(name: str, A: Any, b: Any, low: Any, high: Any, x: Any) -> Any:
    """Return the least squares within bounds, from what a solver found: exact, and unique.

    Raises:
        DomainError: if an unknown is at a bound with multiplier 0, or the columns of free ones depend on each other.
    """
    lengths = np.linalg.norm(A, axis=0)
    safe = np.where(lengths == 0, 1.0, lengths)
    rcond = DEPENDENT if sum(A.shape) >= SPARSE_FROM else None
    at, rank = np.zeros(0), 0
    for _ in range(MOST_SETS):
        aim = x - A.T @ (A @ x - b) / safe**2  # where each unknown would go alone
        before, at = at, np.where(aim <= low, low, np.where(aim >= high, high, np.nan))
        if np.array_equal(before, at, equal_nan=True):
            break
        free = np.isnan(at)
        x = np.where(free, 0.0, at)
        # of columns of length 1, so that units of unknowns do not count as dependence
        steps, _, rank, _ = np.linalg.lstsq(A[:, free] / safe[free], b - A @ x, rcond=rcond)
        x[free] = steps / safe[free]
    slope = A.T @ (A @ x - b)
    small = DEGENERATE * lengths * (np.linalg.norm(b) + np.abs(x) @ lengths)
    near = DEGENERATE * np.maximum(np.max(np.abs(x), initial=0.0), np.linalg.norm(b) / safe)
    refuse_degenerate(name, "bound of unknown", slope, np.minimum(x - low, high - x), small, near)
    if rank < np.isnan(at).sum():
        raise DomainError(
            f"{name}: the columns of A of the {np.isnan(at).sum()} unknowns that are not at bounds have rank {rank}"
            + ("" if rcond is None else f" (to {rcond:g})"),
            why="Many x are as good, so the one that is found has no derivative.",
            fix="leave out columns that follow from others, or add rows: a weight for the size of x.",
        )
    return x


def _by_nnls(function: Any, x0: Any, A: Any, b: Any, low: Any, high: Any, scale: Any, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    x = _at_bounds("nnls", A, b, low, high, optimize.nnls(A, b, **options)[0])
    return {"x": x, "r": (A @ x - b) / scale}


def _by_lsq_linear(function: Any, x0: Any, A: Any, b: Any, low: Any, high: Any, scale: Any, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    found = optimize.lsq_linear(A, b, (low, high), **options)
    if not found.success:
        raise DomainError(f"lsq_linear: {found.message}", fix="raise max_iter, or take method='bvls'.")
    x = _at_bounds("lsq_linear", A, b, low, high, found.x)
    return {"x": x, "r": (A @ x - b) / scale}


def _data(name: str, A: Any, b: Any) -> tuple[Any, Any]:
    """Return a matrix and a right side of float64.

    Raises:
        ShapeError: for other shapes, for complex numbers and for a matrix that is known by its products only.
    """
    if not is_sparse(A) and hasattr(A, "matvec"):
        raise ShapeError(
            f"{name}: A is a {type(A).__name__} on traced arrays",
            "Derivatives take its entries.",
            "give A as a matrix.",
        )
    matrix = pnp.array(A.toarray() if is_sparse(A) else A)
    row = pnp.array(b)
    row = row[:, 0] if row.ndim == 2 and row.shape[1] == 1 else row
    if matrix.ndim != 2 or row.shape != matrix.shape[:1]:
        raise ShapeError(
            f"{name}: A has the shape {matrix.shape}, and b {row.shape}",
            fix="give a matrix, and a number for each row.",
        )
    if "c" in (matrix.dtype.kind, row.dtype.kind):
        raise ShapeError(
            f"{name}: A or b is complex, and bounds are of real numbers",
            fix="join both parts: np.concatenate([A.real, A.imag]), and b alike.",
        )
    return settled(matrix.astype(np.float64)), settled(row.astype(np.float64))


def _least(name: str, call: Any, A: Any, b: Any, ends: tuple[Any, ...], **options: Any) -> Any:
    """Return the x that one of SciPy's solvers finds, as a function of all data."""
    bounds = finite(ends)
    scale = stop_gradient(
        pnp.maximum(pnp.max(pnp.abs(A)), np.finfo(float).tiny)
    )  # its entries are 1 at most, as those of r
    matrix, right = A / scale, b / scale

    def equation(unknown: Any) -> Any:
        x, r = unknown["x"], unknown["r"]
        return ((matrix @ x - right - r, projected(x, r @ matrix, bounds)),)

    start = {"x": np.zeros(A.shape[1]), "r": np.zeros(A.shape[0])}
    return solution_of(equation, start, call, name, (A, b, *ends, scale), **options)["x"]


@entrance
def nnls(A: Any, b: Any, *, maxiter: int | None = None, atol: Any = None) -> Any:
    """Return the x of least |A x - b| that is nowhere negative, and how large that is, as functions of A and b.

    Derivatives are those of the least squares of the columns where x is positive; elsewhere x is 0. Where nothing is
    traced it is SciPy's function.

    Args:
        A: a matrix, which may be sparse.
        b: a number for each row.
        maxiter: as SciPy's.
        atol: as SciPy's, where nothing is traced.

    Returns:
        the pair of x and of the norm of A x - b.

    Raises:
        DomainError: if an element of x is 0 and its multiplier is 0 too, or the columns of positive elements depend on
            each other.
        ShapeError: if b has no number for each row, and for complex numbers.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> def shares(b):
        ...     return primad.scipy.optimize.nnls(A, b)[0]
        >>> print(primad.jacobian(shares)(np.array([2.0, 1.0, -1.0]))[:, :] + 0.0)
        [[0.5 0.5 0. ]
         [0.  0.  0. ]]
    """
    if not is_recorded((A, b)):
        from scipy import optimize  # loads when it is called

        return optimize.nnls(A, b, maxiter=maxiter, **({} if atol is None else {"atol": atol}))
    refuse("optimize.nnls", atol=atol)
    matrix, right = _data("nnls", A, b)
    size = matrix.shape[1]
    x = _least("nnls", _by_nnls, matrix, right, (np.zeros(size), np.full(size, np.inf)), maxiter=maxiter)
    return x, pnp.linalg.norm(matrix @ x - right)


@entrance
def lsq_linear(
    A: Any,
    b: Any,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    tol: float = 1e-10,
    lsq_solver: str | None = None,
    lsmr_tol: Any = None,
    max_iter: int | None = None,
    verbose: int = 0,
    *,
    lsmr_maxiter: int | None = None,
) -> Any:
    """Return SciPy's result for linear least squares within bounds; its `x` is a function of A, b and the bounds.

    Derivatives are those of the least squares of the columns of the unknowns that are not at bounds; the others move
    with their bounds. Where nothing is traced it is SciPy's function.

    Args:
        A: a matrix, which may be sparse; a plain `LinearOperator` where nothing is traced.
        b: a number for each row.
        bounds: (lower, upper), each a number or an array, or `Bounds`; they may be traced.
        method: as SciPy's.
        tol: as SciPy's. What SciPy finds is made exact.
        lsq_solver: as SciPy's.
        lsmr_tol: as SciPy's.
        max_iter: as SciPy's.
        verbose: as SciPy's, where nothing is traced.
        lsmr_maxiter: as SciPy's.

    Returns:
        SciPy's result. Of traced data it has `x`, `fun`, `cost`, `active_mask`, `success`, `status` and `message`.

    Raises:
        DomainError: if an unknown is at a bound and its multiplier is 0, or the columns of free ones depend on each
            other.
        ShapeError: if b has no number for each row, and for complex numbers.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> A, b = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 4.0, 1.0])
        >>> def within(top):
        ...     return primad.scipy.optimize.lsq_linear(A, b, (0.0, np.array([1.5, 9.0]) * top)).x
        >>> print(primad.jvp(within, (1.0,), (1.0,)))
        (array([1.5 , 1.75]), array([ 1.5 , -0.75]))
    """
    if not is_recorded((A, b, (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds)):
        from scipy import optimize  # loads when it is called

        return optimize.lsq_linear(
            A, b, bounds, method, tol, lsq_solver, lsmr_tol, max_iter, verbose, lsmr_maxiter=lsmr_maxiter
        )
    refuse("optimize.lsq_linear", verbose=verbose or None)
    matrix, right = _data("lsq_linear", A, b)
    ends = ends_of("lsq_linear", bounds, np.zeros(matrix.shape[1]), False)
    # the matrix is dense here, so that what SciPy takes for sparse ones is by name
    options = {"method": method, "tol": tol, "lsq_solver": lsq_solver, "lsmr_tol": lsmr_tol, "max_iter": max_iter}
    x = _least("lsq_linear", _by_lsq_linear, matrix, right, ends, lsmr_maxiter=lsmr_maxiter, **options)
    fun = matrix @ x - right
    mask = pnp.where(x <= ends[0], -1, pnp.where(x >= ends[1], 1, 0))  # a solution at a bound is the bound
    return result_of(x=x, fun=fun, cost=0.5 * fun @ fun, active_mask=mask)


# -- fits that may not fall --------------------------------------------------------------------------------------------


def _by_isotonic_regression(function: Any, x0: Any, y: Any, w: Any) -> Any:
    from scipy import optimize  # loads when it is called

    x = optimize.isotonic_regression(y, weights=w).x
    rise = np.diff(x)
    z = np.where(rise > 0, 0.0, np.cumsum(w * (y - x))[:-1])
    small, near = DEGENERATE * float(np.sum(w * np.abs(y))), DEGENERATE * float(np.max(np.abs(y)))
    refuse_degenerate("isotonic_regression", "inequality", z, rise, small, near)
    return {"x": x, "z": z}


@entrance
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """Return SciPy's result for the nearest numbers that rise; its `x` is a function of the numbers and the weights.

    Derivatives are those of the means of the blocks in which x is constant. Where nothing is traced it is SciPy's
    function.

    Args:
        y: numbers, a row.
        weights: a positive weight for each; 1 by default.
        increasing: whether x rises, or else falls.

    Returns:
        SciPy's result. Of traced numbers it has `x`, `success`, `status` and `message`: how many blocks there are is
        not known when a function is recorded.

    Raises:
        DomainError: where two neighbours are equal that no block joins, or a block is about to fall apart.
        ShapeError: if y is no row, or there is no weight for each number.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> def rising(y):
        ...     return primad.scipy.optimize.isotonic_regression(y).x
        >>> print(primad.jacobian(rising)(np.array([3.0, 1.0, 4.0]))[:, :] + 0.0)
        [[0.5 0.5 0. ]
         [0.5 0.5 0. ]
         [0.  0.  1. ]]
    """
    if not is_recorded((y, weights)):
        from scipy import optimize  # loads when it is called

        return optimize.isotonic_regression(y, weights=weights, increasing=increasing)
    row = pnp.atleast_1d(pnp.array(y))
    heavy = np.ones(row.shape) if weights is None else pnp.atleast_1d(pnp.array(weights))
    if row.ndim != 1 or heavy.shape != row.shape or not row.size:
        raise ShapeError(
            f"isotonic_regression: y has the shape {row.shape}, and the weights {heavy.shape}",
            fix="give a row of numbers, and a weight for each.",
        )
    order = slice(None) if increasing else slice(None, None, -1)
    values, w = [settled(each.astype(np.float64)[order]) for each in (row, heavy)]

    def equation(unknown: Any) -> Any:
        x, z = unknown["x"], unknown["z"]
        return ((w * (x - values) + pnp.diff(pnp.pad(z, 1)), pnp.minimum(z, pnp.diff(x))),)

    start = {"x": np.zeros(row.shape), "z": np.zeros(row.size - 1)}
    found = solution_of(equation, start, _by_isotonic_regression, "isotonic_regression", (values, w))
    return result_of(x=found["x"][order])
