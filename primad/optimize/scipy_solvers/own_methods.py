"""The optimisers of this module as methods of `minimize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from primad.errors import TracingError
from primad.optimize.gauss_newton.newton_cg import NewtonCG
from primad.optimize.minimize_loop import Descent, Result, solve
from primad.optimize.parameter_vectors import Tree
from primad.optimize.quasi_newton.broyden import SelfScaledBroyden
from primad.optimize.quasi_newton.lbfgs import LBFGS
from primad.optimize.scipy_solvers.flat_functions import Plain

OWN = {kind.__name__: kind for kind in (LBFGS, NewtonCG, SelfScaledBroyden)}
"""Optimisers for losses that need no argument, by name."""
STATUS = {
    "target": 0,
    "gradient": 0,
    "stalled": 0,
    "steps": 1,
    "diverged": 2,
    "unbounded": 3,
    "callback": 99,
    "interrupted": 99,
}
"""SciPy's `status` of a reason to end; as SciPy's, it is 1 where iterations ran out, and 99 where somebody ended it."""


def own_method(method: Any) -> Any:
    """Return the optimiser of this module that a method is, or names; None if it is none.

    Raises:
        TracingError: for a class, and an optimiser that takes residuals.
    """
    if isinstance(method, str):
        return OWN[method]() if method in OWN else None
    if isinstance(method, (*OWN.values(), Descent)):
        return method
    if isinstance(method, type) and hasattr(method, "compile"):
        raise TracingError(f"minimize: {method.__name__} is a class", fix=f"pass an optimiser: {method.__name__}().")
    if hasattr(method, "compile"):
        name = type(method).__name__
        raise TracingError(
            f"minimize: {name} takes residuals, and fun returns one number",
            fix=f"call solve({name}(), fun, x0) with a function of the residuals, or least_squares.",
        )
    return None


def minimize_by(
    rule: Any,
    flat: Plain,
    refused: dict[str, Any],
    tol: float | None,
    callback: Callable[..., Any] | None,
    options: dict[str, Any] | None,
) -> Any:
    """Minimise a function by an optimiser of this module.

    Args:
        rule: the optimiser.
        flat: the function and where it starts.
        refused: SciPy's arguments that it does not take, which must be None or empty.
        tol: the largest element of the gradient at the end.
        callback: as SciPy's; StopIteration ends the search.
        options: "maxiter", "gtol" in place of `tol`, and "disp", whether to show a bar.

    Returns:
        SciPy's result: `x`, `fun`, `jac`, `nit`, `nfev`, `success`, `status` and `message`.

    Raises:
        TracingError: for arguments and options that it does not take.
    """
    from scipy.optimize import OptimizeResult

    name = type(rule).__name__
    for key, value in refused.items():
        if value is not None and (not isinstance(value, (tuple, list)) or value):
            exact = key in ("jac", "hess", "hessp")
            raise TracingError(
                f"minimize: the method {name} takes no {key}",
                fix=f"leave {key} out: derivatives are exact."
                if exact
                else 'method="SLSQP" or "trust-constr" take bounds and constraints, "L-BFGS-B" takes bounds.',
            )
    known = {"maxiter": 1000, "gtol": tol or 0.0, "disp": False}
    unknown = sorted((options or {}).keys() - known.keys())
    if unknown:
        raise TracingError(
            f"minimize: the method {name} has no option {unknown[0]!r}",
            fix=f"its options are {sorted(known)}; other numbers are fields of the optimiser: method={name}(…).",
        )
    settings = {**known, **(options or {})}
    start = flat.point(flat.start)
    flat.plain(flat.number_at)(start)  # a traced array that fun captures is refused here
    found = solve(
        rule,
        flat.number_at,
        start,
        steps=settings["maxiter"],
        tolerance=settings["gtol"],
        progress=bool(settings["disp"]),
        callback=None if callback is None else _callback(callback),
    )
    return _result(flat, found, OptimizeResult)


def _result(flat: Plain, found: Result, kind: Any) -> Any:
    return kind(
        x=found.params,
        fun=found.value,
        jac=flat.gradient(found.state.gradient),
        nit=len(found.values),
        success=found.converged,
        status=STATUS[found.reason],
        message=found.message,
        nfev=int(getattr(found.state, "evaluations", found.state.step)),  # those of Descent compute it once each
    )


def _callback(callback: Callable[..., Any]) -> Callable[[Tree, Any], bool]:
    """Return SciPy's callback as one of `solve`."""
    from scipy.optimize import OptimizeResult

    try:
        with_result = set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):  # of some compiled functions
        with_result = False

    def called(x: Tree, state: Any) -> bool:
        try:
            if with_result:
                callback(intermediate_result=OptimizeResult(x=x, fun=float(state.value)))
            else:
                callback(x)
        except StopIteration:
            return True
        return False

    return called
