"""Roots of systems of equations, by SciPy's names; of traced functions they are differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.recording.traced_array import settled
from primad.scipy.optimize.solver_calls import solution_of
from primad.scipy.traced_calls import Function, as_args, is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["fsolve", "newton_krylov", "root"]


def unknown_row(x0: Any) -> Any:
    """Return a start as SciPy takes it: a row of floats."""
    start = settled(pnp.ravel(pnp.array(x0)))
    return start if start.dtype.kind in "fc" else start.astype(np.float64)


def _by_root(function: Function, x0: Any, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    return optimize.root(function, x0, **options)


@entrance
def root(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Return SciPy's result for a system of equations; its `x` is a function of what the equations depend on.

    Derivatives are those of the solution itself (`primad.implicit.root`). Where nothing is traced it is SciPy's
    function, with differences for a Jacobian that is not given; `primad.optimize.root` has the exact one.

    Args:
        fun: a function (x, *args) -> as many numbers as x has, written with NumPy.
        x0: where to start.
        args: further arguments of `fun`.
        method: as SciPy's.
        jac: as SciPy's: a function, or True if `fun` returns the pair. Of a traced function the exact one is taken.
        tol: as SciPy's.
        callback: as SciPy's, where nothing is traced.
        options: as SciPy's.

    Returns:
        SciPy's result. Of a traced function it has `x`, `fun`, `success`, `status` and `message`.

    Raises:
        DomainError: if no solution was found.
        MatrixError: where a derivative is asked for and the Jacobian is singular.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> def crossing(a):
        ...     return primad.scipy.optimize.root(lambda x: [x[0] + x[1] - a, x[0] * x[1] - 2], [0.0, 3.0]).x
        >>> print(primad.jvp(crossing, (3.0,), (1.0,)))
        (array([1., 2.]), array([-1.,  2.]))
    """
    args, start = as_args(args), unknown_row(x0)
    if not is_recorded((start, args), lambda: fun(start, *args)):
        from scipy import optimize  # loads when it is called

        return optimize.root(fun, x0, args, method, jac, tol=tol, callback=callback, options=options)
    values: Function = (lambda x: fun(x, *args)[0]) if jac is True else lambda x: fun(x, *args)
    simple = method == "hybr" and tol is None and not options
    given: dict[str, Any] = {} if simple else {"method": method, "tol": tol, "options": options}
    x = solution_of(lambda x: (values(x),), start, None if simple else _by_root, "root", **given)
    return _result(x, pnp.array(values(x)))


def _result(x: Any, fun: Any) -> Any:
    from scipy.optimize import OptimizeResult  # loads when it is called

    return OptimizeResult(x=x, fun=fun, success=True, status=1, message="The solution converged.")


def _by_fsolve(function: Function, x0: Any, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    return optimize.fsolve(function, x0, **options)


@entrance
def fsolve(
    func: Function,
    x0: Any,
    args: Any = (),
    fprime: Function | None = None,
    full_output: bool = False,
    col_deriv: bool = False,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: float = 100,
    diag: Any = None,
) -> Any:
    """Return the solution of a system of equations, as a function of what they depend on (see `root`).

    Args:
        func: a function (x, *args) -> as many numbers as x has, written with NumPy.
        x0: where to start.
        args: further arguments of `func`.
        fprime: its Jacobian; of a traced function the exact one is taken.
        full_output: as SciPy's, where nothing is traced.
        col_deriv: as SciPy's, as all that follow.
        xtol: how exact the solution is.
        maxfev: calls, at most.
        band: where the Jacobian has entries.
        epsfcn: the step of differences.
        factor: of the first step.
        diag: scales of the unknowns.

    Returns:
        the solution, an array of one axis.

    Example:
        >>> import primad, primad.scipy.optimize
        >>> print(primad.jacobian(lambda a: primad.scipy.optimize.fsolve(lambda x: x**2 - a, [1.0, -1.0]))(4.0)[:])
        [ 0.25 -0.25]
    """
    args, start = as_args(args), unknown_row(x0)
    if not is_recorded((start, args), lambda: func(start, *args)):
        from scipy import optimize  # loads when it is called

        return optimize.fsolve(func, x0, args, fprime, full_output, col_deriv, xtol, maxfev, band, epsfcn, factor, diag)
    refuse("optimize.fsolve", full_output=full_output)
    options = {"xtol": xtol, "maxfev": maxfev, "band": band, "epsfcn": epsfcn, "factor": factor, "diag": diag}
    return solution_of(lambda x: (func(x, *args),), start, _by_fsolve, "fsolve", **options)


def _by_newton_krylov(function: Function, x0: Any, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    return optimize.newton_krylov(function, x0, **options)


@entrance
def newton_krylov(
    F: Function,
    xin: Any,
    iter: int | None = None,
    rdiff: float | None = None,
    method: Any = "lgmres",
    inner_maxiter: int = 20,
    inner_M: Any = None,
    outer_k: int = 10,
    verbose: bool = False,
    maxiter: int | None = None,
    f_tol: float | None = None,
    f_rtol: float | None = None,
    x_tol: float | None = None,
    x_rtol: float | None = None,
    tol_norm: Callable[..., Any] | None = None,
    line_search: str | None = "armijo",
    callback: Callable[..., Any] | None = None,
    **kw: Any,
) -> Any:
    """Return the solution of a large system of equations, as a function of what they depend on (see `root`).

    Args:
        F: a function x -> an array of the shape of x, written with NumPy.
        xin: where to start, an array of any shape.
        iter: as SciPy's, as all that follow.
        rdiff: the step of differences, a share.
        method: by which the linear systems are solved.
        inner_maxiter: its iterations, at most.
        inner_M: a preconditioner, which goes to SciPy's solver as it is.
        outer_k: vectors that it keeps.
        verbose: whether each step prints a line.
        maxiter: steps, at most.
        f_tol: how large the residual may be.
        f_rtol: the same as a share of that at the start.
        x_tol: how large the last step may be.
        x_rtol: the same as a share of the solution.
        tol_norm: what measures both.
        line_search: how long a step is.
        callback: called after each step, with SciPy's numbers.
        **kw: further options.

    Returns:
        the solution, an array of the shape of `xin`.

    Raises:
        DomainError: if what was found is no solution.
        MatrixError: where a derivative is asked for and the Jacobian is singular.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> def mean(heat):
        ...     balance = lambda u: np.diff(np.pad(u, 1), 2) - 0.01 * u**3 + heat
        ...     return np.mean(primad.scipy.optimize.newton_krylov(balance, np.ones(20)))
        >>> print(f"{primad.grad(mean)(0.1):.4f}")
        7.5544
    """
    options = {
        "iter": iter, "rdiff": rdiff, "method": method, "inner_maxiter": inner_maxiter, "inner_M": inner_M,
        "outer_k": outer_k, "verbose": verbose, "maxiter": maxiter, "f_tol": f_tol, "f_rtol": f_rtol, "x_tol": x_tol,
        "x_rtol": x_rtol, "tol_norm": tol_norm, "line_search": line_search, "callback": callback, **kw,
    }  # fmt: skip
    start = settled(pnp.array(xin))
    if not is_recorded(start, lambda: F(start)):
        return _by_newton_krylov(F, xin, **options)
    start = start if start.dtype.kind in "fc" else start.astype(np.float64)
    return solution_of(lambda x: (F(x),), start, _by_newton_krylov, "newton_krylov", **options)
