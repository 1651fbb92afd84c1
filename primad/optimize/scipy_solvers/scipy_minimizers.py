"""SciPy's minimisers for plain functions of trees: derivatives come from the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.errors import TracingError, suggestion
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM
from primad.optimize.constrained.constraint_rows import check_no_derivatives
from primad.optimize.constrained.nonlinear_program import NonlinearProgram
from primad.optimize.parameter_vectors import Tree
from primad.optimize.scipy_solvers.callbacks import called_back, with_trees
from primad.optimize.scipy_solvers.derivatives import METHODS, derivatives
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, parameters
from primad.optimize.scipy_solvers.limits import bounds_of, constraint_of
from primad.optimize.scipy_solvers.own_methods import OWN, minimize_by, own_method
from primad.system.tracebacks import entrance

__all__ = ["minimize"]

IPOPT = "ipopt"
"""The method of `minimize` that is Ipopt's."""


@entrance
def minimize(
    fun: Function,
    x0: Tree,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    compiled: bool = True,
) -> Any:
    """Call `scipy.optimize.minimize` on a plain function of an array or a tree; derivatives are supplied.

    It takes what SciPy's takes. Methods get what they use: the gradient; Newton-CG, trust-ncg, trust-krylov and
    trust-constr products with the Hessian; dogleg and trust-exact the Hessian; constraints their Jacobians, and of
    trust-constr products with their Hessians.

    Args:
        fun: a function (x, *args) of one number, written with NumPy.
        x0: where to start. Numbers, and lists and tuples of numbers, are an array, as in SciPy; anything else is a tree
            of arrays. Integers become floats. Complex arrays are searched by their parts.
        args: other arguments of `fun`; one that is no tuple is the only one.
        method: as SciPy's, a name or a function; by default BFGS, or with bounds L-BFGS-B, or with constraints SLSQP.
            Or an optimiser of this module for losses, or its name: "LBFGS", "NewtonCG", "SelfScaledBroyden". Or
            "ipopt", for many parameters and constraints: see `NonlinearProgram`.
        jac: as SciPy's. None, False and the names of differences: the exact gradient. A function (x, *args) that
            returns it, or True if `fun` returns (value, gradient): what it says is used, and `fun` is called as it is.
        hess: as SciPy's: a function (x, *args) of the matrix, or a strategy of updates; by default it is exact.
        hessp: as SciPy's: a function (x, v, *args) of the product; by default it is exact.
        bounds: `Bounds`, or a pair for each element of an array, None for no bound; or (lower, upper), each a number or
            a tree like x0; of a complex array complex ones, a bound for each part.
        constraints: `NonlinearConstraint`, `LinearConstraint` (its columns are the numbers of x0, in the order of the
            leaves; a complex one has two, for its parts), a dict {"type": "eq" or "ineq", "fun": f}, or several. Their
            functions (x, *args of the dict) return a number, an array or a tree. Their derivatives are exact where they
            are not given.
        tol: as SciPy's.
        callback: called after each iteration with x, or with `intermediate_result` if this is the name of its argument;
            of trust-constr with the state as well, if it takes two.
        options: as SciPy's; of an optimiser of this module "maxiter", "gtol" and "disp"; of Ipopt its own.
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.

    Returns:
        SciPy's result, in which `x` and the gradient (`jac`; of trust-constr `grad`) are as x0 is; by complex z = x +
        iy it is ∂f/∂x − i ∂f/∂y, as that of `primad.grad`. Matrices have a row for each number, in the order of the
        leaves, and two for a complex one.

    Raises:
        ShapeError: if x0 is no tree of float arrays, bounds do not fit it, or `fun` does not return one number.
        TracingError: if there is no such method.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad
        >>> def loss(p):
        ...     return (p["a"] - 1.0) ** 2 + np.sum((p["b"] - p["a"]) ** 4)
        >>> start = {"a": 3.0, "b": np.zeros(2)}
        >>> found = primad.optimize.minimize(loss, start, method="trust-ncg")
        >>> bool(found.success), round(float(found.x["a"]), 6)
        (True, 1.0)
        >>> found = primad.optimize.minimize(
        ...     lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [2, 0], bounds=[(None, 0.5), (0, 1)]
        ... )
        >>> found.x
        array([0.5, 0. ])
    """
    from scipy import optimize  # loads when it is called

    args = args if isinstance(args, tuple) else (args,)
    if isinstance(method, str) and method.lower() == IPOPT:
        check_no_derivatives({"jac": jac, "hess": hess, "hessp": hessp}, "minimize")
        if not compiled:
            raise TracingError(
                "minimize: Ipopt's derivatives are of a function recorded once, and compiled=False records anew",
                fix="leave compiled out, and choose with primad.numpy.where in place of a branch on a value.",
            )
        program = NonlinearProgram(fun, x0, args, bounds, constraints)
        return program.solve(tol=tol, callback=callback, options=options)
    flat = Plain(fun, x0, args, "minimize", compiled)
    own = own_method(method)
    if own is not None:
        refused = {"jac": jac, "hess": hess, "hessp": hessp, "bounds": bounds, "constraints": constraints}
        return minimize_by(own, flat, refused, tol, callback, options)
    name = _name(method)
    target, given = derivatives(flat, name, jac, hess, hessp)
    if bounds is not None:
        given["bounds"] = bounds_of(flat, bounds, by_element=True)
    if constraints is None or isinstance(constraints, (tuple, list)):
        constraints = list(constraints or ())
    else:
        constraints = [constraints]
    if constraints:
        start = parameters(x0, "minimize")
        given["constraints"] = [constraint_of(one, start, compiled, name) for one in constraints]
        if name == "trust-constr" and flat.space.size >= SPARSE_FROM:
            options = {"sparse_jacobian": True, **(options or {})}  # that of a dense constraint too: all must be alike
    if callback is not None:
        given["callback"] = called_back(flat, callback)
    found = optimize.minimize(target, flat.start, method=method, tol=tol, options=options, **given)
    return with_trees(flat, found)


def _name(method: Any) -> str:
    """Return SciPy's method in small letters; "custom" for a function of the user's.

    Raises:
        TracingError: if there is none of that name.
    """
    if callable(method):
        return "custom"
    name = method.lower() if isinstance(method, str) else method
    if name is None or name in METHODS:
        return name or ""
    known = [*METHODS, *OWN, IPOPT]
    near = suggestion(str(name), known)
    raise TracingError(f"minimize: there is no method {method!r}", fix=near or f"choose from {known}.")
