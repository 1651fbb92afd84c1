"""Linear programs, differentiated where the solution is unique and not degenerate.

With λ and μ the multipliers of inequalities and of equations, and the reduced costs r = c + Aᵀλ + Bᵀμ, the solution has

    x = clip(x − r, l, u),   min(λ, b − A x) = 0,   B x = d.

These are as many equations as unknowns. The Jacobian has the rows of the constraints that hold with equality.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError
from primad.recording.foreign import is_sparse
from primad.recording.traced_array import settled
from primad.scipy.optimize.minima import ends_of, result_of
from primad.scipy.optimize.solver_calls import DEGENERATE, refuse_degenerate, solution_of
from primad.scipy.traced_calls import is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["linprog"]


def _by_linprog(function: Any, x0: Any, *data: Any, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    c, upper, b, equal, d, low, high = data
    found = optimize.linprog(c, upper, b, equal, d, np.stack([low, high], axis=1), **options)
    if not found.success:
        raise DomainError(f"linprog: {found.message}", fix="see that the constraints can hold, and bound the unknowns.")
    x, multipliers = found.x, -found.ineqlin.marginals
    reduced = found.lower.marginals + found.upper.marginals
    small = DEGENERATE * max(1.0, float(np.max(np.abs([*multipliers, *reduced]), initial=0.0)))
    near = DEGENERATE * max(1.0, float(np.max(np.abs(x), initial=0.0)))
    refuse_degenerate("linprog", "inequality", multipliers, found.ineqlin.residual, small, near)
    refuse_degenerate("linprog", "bound of unknown", reduced, np.minimum(x - low, high - x), small, near)
    return {"x": x, "ub": multipliers, "eq": -found.eqlin.marginals}


def _matrix(rows: Any, size: int) -> Any:
    """Return the matrix of constraints; one without rows if there are none."""
    if rows is None:
        return np.zeros((0, size))
    return rows.toarray() if is_sparse(rows) else settled(pnp.atleast_2d(pnp.array(rows)))


def _row(values: Any) -> Any:
    return np.zeros(0) if values is None else settled(pnp.ravel(pnp.array(values)))


@entrance
def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: dict[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Return SciPy's result for a linear program; its `x` is a function of all numbers of the program.

    Derivatives exist where the solution is unique and no more constraints hold with equality than there are unknowns.
    Where nothing is traced it is SciPy's function.

    Args:
        c: the costs, which are least in sum.
        A_ub: the matrix of inequalities A_ub @ x <= b_ub.
        b_ub: their right sides.
        A_eq: the matrix of equations A_eq @ x = b_eq.
        b_eq: their right sides.
        bounds: a pair (lower, upper) for all unknowns, or one for each; None is no bound.
        method: as SciPy's.
        callback: as SciPy's, where nothing is traced.
        options: as SciPy's.
        x0: as SciPy's, where nothing is traced.
        integrality: as SciPy's, where nothing is traced.

    Returns:
        SciPy's result. Of traced numbers it has `x`, `fun`, `slack`, `con`, `ineqlin` and `eqlin` (with `residual` and
        `marginals`), `success`, `status` and `message`.

    Raises:
        DomainError: if there is no solution, or the solution is degenerate.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> def profit(prices):
        ...     A = np.array([[1.0, 2.0], [3.0, 1.0]])
        ...     return -primad.scipy.optimize.linprog(-prices, A, np.array([4.0, 6.0])).fun
        >>> print(primad.grad(profit)(np.array([2.0, 1.5])))  # how much of each is made
        [1.6 1.2]
    """
    if not is_recorded((c, A_ub, b_ub, A_eq, b_eq, bounds)):
        from scipy import optimize  # loads when it is called

        return optimize.linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, method, callback, options, x0, integrality)
    refuse("optimize.linprog", callback=callback, integrality=integrality)
    c = _row(c)
    size = len(c)
    A, B, b, d = _matrix(A_ub, size), _matrix(A_eq, size), _row(b_ub), _row(b_eq)
    pairs: list[Any] = [(0, None)] if bounds is None else list(bounds)
    pairs = [tuple(pairs)] if len(pairs) == 2 and np.ndim(pairs[0]) == 0 else [tuple(pair) for pair in pairs]
    low, high = ends_of("linprog", pairs * size if len(pairs) == 1 else pairs, np.zeros(size), True)

    def conditions(unknown: Any) -> Any:
        x, of_upper, of_equal = unknown["x"], unknown["ub"], unknown["eq"]
        reduced = c + of_upper @ A + of_equal @ B
        return ((x - pnp.clip(x - reduced, low, high), pnp.minimum(of_upper, b - A @ x), B @ x - d),)

    start = {"x": np.zeros(size), "ub": np.zeros(len(b)), "eq": np.zeros(len(d))}
    found = solution_of(
        conditions, start, _by_linprog, "linprog", (c, A, b, B, d, low, high), method=method, options=options
    )
    x = found["x"]
    upper, equal = b - A @ x, d - B @ x
    return result_of(
        x=x, fun=c @ x, slack=upper, con=equal,
        ineqlin=result_of(residual=upper, marginals=-found["ub"]),
        eqlin=result_of(residual=equal, marginals=-found["eq"]),
    )  # fmt: skip
