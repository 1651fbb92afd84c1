"""SciPy's minimisers and root finders for plain functions of trees: derivatives come from the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.derivatives.first_order import value_and_grad as with_gradient
from primad.functional.derivatives.higher_order import hvp
from primad.functional.derivatives.lazy_matrices import hessian
from primad.numpy.shapes.shaping import reshape
from primad.optimize.parameter_vectors import Tree, Vector
from primad.optimize.scipy_solvers.flat_functions import Function, Plain
from primad.recording import tree
from primad.system.tracebacks import entrance

__all__ = ["least_squares", "minimize", "root"]

BY_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
BY_HESSIAN = ("dogleg", "trust-exact")
WITHOUT = ("nelder-mead", "powell", "cobyla", "cobyqa")
"""Methods of `minimize` by what they take: products with the Hessian, the Hessian, or values only."""


@entrance
def minimize(
    fun: Function,
    x0: Tree,
    args: Sequence[Any] = (),
    method: str | None = None,
    *,
    bounds: tuple[Tree, Tree] | None = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[[Tree], Any] | None = None,
    options: dict[str, Any] | None = None,
    compiled: bool = True,
) -> Any:
    """Call `scipy.optimize.minimize` on a plain function of a tree; derivatives are supplied.

    Methods get what they use: the gradient; Newton-CG, trust-ncg, trust-krylov and trust-constr products with the
    Hessian; dogleg and trust-exact the Hessian.

    Args:
        fun: a function (x, *args) of one number, written with NumPy.
        x0: where to start, a tree of float arrays.
        args: other arguments of `fun` and of the constraints' functions.
        method: as SciPy's; by default BFGS, or with bounds L-BFGS-B, or with constraints SLSQP.
        bounds: (lower, upper), each a tree like x0 or a number for all.
        constraints: dicts {"type": "eq" or "ineq", "fun": f} (one or several), with f a function (x, *args) whose
            result is an array or a tree; "args" takes the place of `args`. Their Jacobians are supplied.
        tol: as SciPy's.
        callback: called with the tree after each iteration.
        options: as SciPy's.
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.

    Returns:
        SciPy's result, in which `x` and the gradient (`jac`; of trust-constr `grad`) are trees like x0.

    Raises:
        ShapeError: if x0 is no tree of float arrays, the bounds do not fit it, or `fun` does not return one number.

    Example:
        >>> import numpy as np, primad
        >>> def loss(p):
        ...     return (p["a"] - 1.0) ** 2 + np.sum((p["b"] - p["a"]) ** 4)
        >>> start = {"a": 3.0, "b": np.zeros(2)}
        >>> found = primad.optimize.minimize(loss, start, method="trust-ncg")
        >>> bool(found.success), round(float(found.x["a"]), 6)
        (True, 1.0)
    """
    from scipy import optimize  # loads when it is called

    flat = Plain(fun, x0, args, "minimize", compiled)
    name = (method or "").lower()
    target, given = _derivatives(flat, name)
    if bounds is not None:
        given["bounds"] = optimize.Bounds(*flat.bounds(bounds))
    listed = constraints if isinstance(constraints, (tuple, list)) else (constraints,)
    if listed:
        exact = name == "trust-constr"
        given["constraints"] = [_constraint(one, x0, args, compiled, exact) for one in listed]
    if callback is not None:
        given["callback"] = lambda x, *_: callback(flat.tree(x))
    found = optimize.minimize(target, flat.start, method=method, tol=tol, options=options, **given)
    found.x = flat.tree(found.x)
    for field in ("jac", "grad"):  # of trust-constr, jac are the constraints' Jacobians
        if isinstance(found.get(field), np.ndarray):
            found[field] = flat.tree(found[field][: flat.space.size])
    return found


def _derivatives(flat: Plain, method: str) -> tuple[Function, dict[str, Any]]:
    """Return the function of a vector that a method takes, and the derivatives."""
    if method in WITHOUT:
        plain = flat.ready(flat.call)
        return lambda x: float(plain(flat.tree(x))), {}
    slope = flat.ready(with_gradient(flat.call))

    def both(x: Vector) -> tuple[float, Vector]:
        value, gradient = slope(flat.tree(x))
        return float(value), flat.space.vector(gradient)

    given: dict[str, Any] = {"jac": True}
    if method in BY_PRODUCTS:
        product = flat.ready(lambda x, v: hvp(flat.call, x, v))
        given["hessp"] = lambda x, v: flat.space.vector(product(flat.tree(x), flat.tree(v)))
    if method in BY_HESSIAN:
        given["hess"] = _hessian(flat)
    return both, given


def _hessian(flat: Plain) -> Callable[[Vector], Any]:
    """Return the function that takes a vector to the Hessian there, which is one of a vector."""

    def loss(x: Any) -> Any:
        leaves, start = [], 0
        for type in flat.space.types:
            leaves.append(reshape(x[start : start + type.size], type.shape).astype(type.dtype))
            start += type.size
        return flat.call(tree.unflatten(flat.space.structure, leaves))

    matrix = flat.ready(lambda x: hessian(loss)(x)[:, :])
    return lambda x: np.asarray(matrix(x), np.float64)


def _constraint(given: Any, x0: Tree, args: Sequence[Any], compiled: bool, exact: bool) -> Any:
    """Return a constraint of vectors with its Jacobian; as trust-constr takes it, with products with its Hessian."""
    if not isinstance(given, dict) or "fun" not in given or given.get("type") not in ("eq", "ineq"):
        raise ShapeError(
            "minimize: a constraint is a dict with 'type' ('eq' or 'ineq') and 'fun'",
            why=f"It got {given!r}.",
            fix='write {"type": "ineq", "fun": f} for f(x) ≥ 0.',
        )
    flat = Plain(given["fun"], x0, given.get("args", args), "minimize: constraints", compiled)
    if not exact:
        return {"type": given["type"], "fun": flat.values(), "jac": flat.matrix()}
    from scipy.optimize import NonlinearConstraint
    from scipy.sparse.linalg import LinearOperator

    def weighed(x: Tree, v: Tree, weights: Any) -> Tree:
        return hvp(lambda y: np.sum(weights * flat.joined(y)), x, v)

    product = flat.ready(weighed)

    def bend(x: Vector, weights: Vector) -> Any:
        there = flat.tree(x)
        return LinearOperator(
            (x.size, x.size),
            matvec=lambda v: flat.space.vector(product(there, flat.tree(np.ravel(v)), weights)),
            dtype=np.float64,
        )

    upper = 0.0 if given["type"] == "eq" else np.inf
    return NonlinearConstraint(flat.values(), 0.0, upper, jac=flat.matrix(), hess=bend)


@entrance
def least_squares(
    fun: Function,
    x0: Tree,
    args: Sequence[Any] = (),
    *,
    bounds: tuple[Tree, Tree] = (-np.inf, np.inf),
    method: str = "trf",
    products: bool = False,
    compiled: bool = True,
    **options: Any,
) -> Any:
    """Call `scipy.optimize.least_squares` on a plain function of a tree; the Jacobian is supplied.

    Args:
        fun: a function (x, *args) of the residuals, an array or a tree, written with NumPy.
        x0: where to start, a tree of float arrays.
        args: other arguments of `fun`.
        bounds: (lower, upper), each a tree like x0 or a number for all.
        method: as SciPy's: "trf", "dogbox" or "lm".
        products: whether SciPy gets products with the Jacobian instead of the matrix, for large problems (it solves by
            LSMR then).
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.
        **options: as SciPy's (`loss`, `ftol`, `xtol`, `gtol`, `x_scale`, `max_nfev`, …).

    Returns:
        SciPy's result, in which `x`, `grad` and `active_mask` are trees like x0, and `fun` is a tree like the result.

    Raises:
        ShapeError: if x0 is no tree of float arrays, or the bounds do not fit it.

    Example:
        >>> import numpy as np, primad
        >>> t = np.linspace(0.0, 1.0, 20)
        >>> def misfit(p, y):
        ...     return p["size"] * np.exp(-p["rate"] * t) - y
        >>> found = primad.optimize.least_squares(misfit, {"size": 1.0, "rate": 1.0}, args=(3.0 * np.exp(-2.0 * t),))
        >>> print(f"{found.x['size']:.4f} {found.x['rate']:.4f}")
        3.0000 2.0000
    """
    from scipy import optimize  # loads when it is called

    for name in ("jac", "jac_sparsity"):
        if name in options:
            raise TracingError(f"least_squares: {name} is supplied by primad", fix=f"leave {name} out.")
    flat = Plain(fun, x0, args, "least_squares", compiled)
    supplied = _operator(flat) if products else flat.matrix()
    limits = flat.bounds(bounds)
    found = optimize.least_squares(flat.values(), flat.start, supplied, bounds=limits, method=method, **options)
    found.x, found.grad = flat.tree(found.x), flat.tree(found.grad)
    found.active_mask = tree.map(lambda leaf: np.asarray(leaf, int), flat.tree(found.active_mask))
    found.fun = flat.ready(flat.call)(found.x)
    return found


def _operator(flat: Plain) -> Callable[[Vector], Any]:
    """Return the function that takes a vector to the Jacobian there as a linear operator."""
    from scipy.sparse.linalg import LinearOperator

    value = flat.ready(flat.joined)
    forward = flat.ready(lambda x, v: jvp(flat.joined, (x,), (v,))[1])
    back = flat.ready(lambda x, w: vjp(flat.joined, x)[1](w)[0])

    def at(x: Vector) -> Any:
        there = flat.tree(x)
        like = value(there)
        return LinearOperator(
            (like.size, x.size),
            matvec=lambda v: np.asarray(forward(there, flat.tree(np.ravel(v))), np.float64),
            rmatvec=lambda w: flat.space.vector(back(there, np.ravel(w).astype(like.dtype))),
            dtype=np.float64,
        )

    return at


@entrance
def root(
    fun: Function,
    x0: Tree,
    args: Sequence[Any] = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    compiled: bool = True,
) -> Any:
    """Call `scipy.optimize.root` on a plain function of a tree; the Jacobian is supplied.

    Args:
        fun: a function (x, *args) whose result has as many numbers as x, written with NumPy.
        x0: where to start, a tree of float arrays.
        args: other arguments of `fun`.
        method: as SciPy's; hybr and lm use the Jacobian, the others find their own way.
        tol: as SciPy's.
        options: as SciPy's.
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.

    Returns:
        SciPy's result, in which `x` is a tree like x0 and `fun` a tree like the function's result.

    Raises:
        ShapeError: if x0 is no tree of float arrays, or the result has another number of elements.

    Example:
        >>> import numpy as np, primad
        >>> found = primad.optimize.root(lambda p: (p["x"] ** 2 - p["y"], p["y"] - 4.0), {"x": 1.0, "y": 1.0})
        >>> print(f"{found.x['x']:.6f} {found.x['y']:.6f}")
        2.000000 4.000000
    """
    from scipy import optimize  # loads when it is called

    flat = Plain(fun, x0, args, "root", compiled)
    values = flat.values()
    count = values(flat.start).size
    if count != flat.space.size:
        raise ShapeError(
            f"root: the function has {count} results for {flat.space.size} unknowns",
            fix="use least_squares, which takes any number.",
        )
    supplied = {"jac": flat.matrix()} if method in ("hybr", "lm") else {}
    found = optimize.root(values, flat.start, method=method, tol=tol, options=options, **supplied)
    found.x = flat.tree(found.x)
    found.fun = flat.ready(flat.call)(found.x)
    return found
