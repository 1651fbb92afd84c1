"""SciPy's least squares and root finders for plain functions of trees: the Jacobian comes from the function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError, suggestion
from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.derivatives.gradient_checks import check_declared
from primad.optimize.parameter_vectors import Tree, Vector
from primad.optimize.scipy_solvers.callbacks import called_back
from primad.optimize.scipy_solvers.derivatives import SCHEMES
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, as_array, spread
from primad.optimize.scipy_solvers.limits import bounds_of
from primad.recording import tree
from primad.system.tracebacks import entrance

__all__ = ["least_squares", "root"]

WITH_JACOBIAN = ("hybr", "lm")
WITHOUT_JACOBIAN = (
    "anderson", "broyden1", "broyden2", "df-sane", "diagbroyden", "excitingmixing", "krylov", "linearmixing",
)  # fmt: skip
"""SciPy's methods of `root`, by whether they take the Jacobian."""


@entrance
def least_squares(
    fun: Function,
    x0: Tree,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    diff_step: Any = None,
    tr_solver: str | None = None,
    tr_options: dict[str, Any] | None = None,
    jac_sparsity: Any = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    callback: Callable[..., Any] | None = None,
    workers: Any = None,
    *,
    products: bool = False,
    compiled: bool = True,
) -> Any:
    """Call `scipy.optimize.least_squares` on a plain function of an array or a tree; the Jacobian is supplied.

    It takes what SciPy's takes. `diff_step` and `workers` speak of differences only, and have no effect.

    Args:
        fun: a function (x, *args, **kwargs) of the residuals, an array or a tree, written with NumPy; of complex ones
            the parts are squared.
        x0: where to start. Numbers, and lists and tuples of numbers, are an array, as in SciPy; anything else is a tree
            of arrays. Integers become floats. Complex arrays are searched by their parts.
        jac: as SciPy's. A function (x, *args, **kwargs) that returns the matrix (a row for each residual) is used, and
            `fun` is called as it is; the names of differences ask for a derivative: it is exact.
        bounds: (lower, upper), each a number or a tree like x0; or `Bounds`. Of complex arrays they are complex, a
            bound for each part.
        method: as SciPy's: "trf", "dogbox" or "lm".
        ftol: as SciPy's, as are `xtol`, `gtol`, `f_scale`, `tr_solver`, `tr_options`, `max_nfev` and `verbose`.
        xtol: as SciPy's.
        gtol: as SciPy's.
        x_scale: as SciPy's; a number, "jac", or a tree like x0.
        loss: as SciPy's: a name, or a function of squared residuals.
        f_scale: as SciPy's.
        diff_step: has no effect.
        tr_solver: as SciPy's.
        tr_options: as SciPy's.
        jac_sparsity: as SciPy's, which entries may not be zero. SciPy gets the exact Jacobian as a sparse array, whose
            entries are found by themselves; those that the declaration misses are an error.
        max_nfev: as SciPy's.
        verbose: as SciPy's.
        args: other arguments of `fun`.
        kwargs: other arguments of `fun`, by name.
        callback: called after each iteration with x, or with `intermediate_result` if this is the name of its argument.
        workers: has no effect.
        products: whether SciPy gets products with the Jacobian instead of the matrix, for large problems (it solves by
            LSMR then).
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.

    Returns:
        SciPy's result, in which `x`, `grad` and `active_mask` are as x0 is, and `fun` as the function's result
        (numbers, and lists of numbers, are an array); of a complex array the gradient is ∂f/∂x − i ∂f/∂y, and the mask
        has one more axis, for the parts. `primad.optimize.covariance` tells how certain `x` is.

    Raises:
        ShapeError: if x0 is no tree of float arrays, or bounds do not fit it.
        NotFiniteError: if residuals are NaN or infinite at the start, or their derivatives on the way: which, and of
            which parameter.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad
        >>> t = np.linspace(0.0, 1.0, 20)
        >>> def misfit(p, y):
        ...     return p["size"] * np.exp(-p["rate"] * t) - y
        >>> start = {"size": 1.0, "rate": 1.0}
        >>> found = primad.optimize.least_squares(misfit, start, args=(3.0 * np.exp(-2.0 * t),))
        >>> print(f"{found.x['size']:.4f} {found.x['rate']:.4f}")
        3.0000 2.0000
    """
    from scipy import optimize  # loads when it is called

    _check_options(jac, method)
    flat = Plain(fun, x0, args, "least_squares", compiled, kwargs, parts=True)
    settings: dict[str, Any] = {
        "ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale, "tr_solver": tr_solver,
        "tr_options": tr_options or {}, "max_nfev": max_nfev, "verbose": verbose,
    }  # fmt: skip
    if x_scale is not None:  # None is newer than the oldest SciPy that primad takes, as callback is
        settings["x_scale"] = (
            x_scale if isinstance(x_scale, str) else spread(flat.space, x_scale, "least_squares: x_scale")
        )
    if callback is not None:
        settings["callback"] = called_back(flat, callback)
    if not np.all(np.isfinite(flat.start)):
        raise flat.not_finite(flat.start, "at the start")
    limits = bounds_of(flat, bounds, by_element=False)
    values, matrix = _supplied(flat, jac, products, jac_sparsity)
    found = optimize.least_squares(values, flat.start, matrix, bounds=(limits.lb, limits.ub), method=method, **settings)
    end = flat.tree(found.x)
    found.fun = as_array(flat.call(end)) if callable(jac) else flat.result(end)
    found.x, found.grad = flat.point(found.x), flat.gradient(found.grad)
    found.active_mask = tree.map(lambda leaf: np.asarray(leaf, int), flat.tree(found.active_mask))
    return found


def _check_options(jac: Any, method: Any) -> None:
    """Raise for what SciPy takes and this does not, and for what neither knows."""
    if not callable(jac) and not (isinstance(jac, str) and jac in SCHEMES):
        hint = (
            "write args=(…) if these are arguments of fun." if isinstance(jac, tuple) else "leave jac out: it is exact."
        )
        raise TracingError(f"least_squares: jac is a function or one of {SCHEMES}, got {jac!r}", fix=hint)
    if method not in ("trf", "dogbox", "lm"):
        raise TracingError(
            f"least_squares: there is no method {method!r}",
            fix='choose "trf", "dogbox" or "lm", or call solve(LevenbergMarquardt(), fun, x0) or GaussNewtonCG().',
        )


def _supplied(flat: Plain, jac: Any, products: bool, declared: Any) -> tuple[Function, Function]:
    """Return residuals and Jacobian of a vector; the first residuals, and all derivatives, are looked at."""
    if callable(jac):
        values, matrix = flat.values(as_it_is=True), flat.given(jac)
    elif declared is not None:
        values, matrix = flat.values(), _sparse(flat, declared)
    else:
        values, matrix = flat.values(), _operator(flat) if products else flat.matrix()
    checked = False

    def first_checked(x: Vector) -> Vector:
        nonlocal checked
        found = values(x)
        if not checked and not np.all(np.isfinite(found)):
            raise flat.not_finite(x, "at the start", not callable(jac))
        checked = True
        return found

    def all_checked(x: Vector) -> Any:
        found = matrix(x)
        if isinstance(found, np.ndarray) and not np.all(np.isfinite(found)):
            raise flat.not_finite(x, f"at {flat.tree(x)}", not callable(jac), found)
        return found

    return first_checked, all_checked


def _sparse(flat: Plain, declared: Any) -> Callable[[Vector], Any]:
    """Return the function that takes a vector to the Jacobian there as a sparse array, in declared places only."""
    matrix = flat.sparse_matrix()

    def at(x: Vector) -> Any:
        found = matrix(x).tocsr()
        check_declared(
            found,
            declared,
            "least_squares: jac_sparsity",
            "jac_sparsity=primad.jacobian(fun)(x0).pattern()",
            "residual",
        )
        return found

    return at


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
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    compiled: bool = True,
) -> Any:
    """Call `scipy.optimize.root` on a plain function of an array or a tree; the Jacobian is supplied.

    Args:
        fun: a function (x, *args) whose result has as many numbers as x, written with NumPy.
        x0: where to start. Numbers, and lists and tuples of numbers, are an array, as in SciPy; anything else is a tree
            of arrays. Integers become floats. Complex arrays are searched by their parts, as many as the results' are.
        args: other arguments of `fun`; one that is no tuple is the only one.
        method: as SciPy's; hybr and lm use the Jacobian, the others find their own way.
        jac: as SciPy's. None or False: the exact Jacobian. A function (x, *args) that returns the matrix, or True if
            `fun` returns (values, matrix): what it says is used, and `fun` is called as it is.
        tol: as SciPy's.
        callback: as SciPy's: called with x and the values, by all methods but hybr and lm.
        options: as SciPy's.
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.

    Returns:
        SciPy's result, in which `x` is as x0 is, and `fun` as the function's result (numbers, and lists of numbers, are
        an array).

    Raises:
        ShapeError: if x0 is no tree of float arrays, or the result has another number of elements.
        TracingError: if there is no such method.
        NotFiniteError: if the function is NaN or infinite at the start.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad
        >>> found = primad.optimize.root(lambda p: (p["x"] ** 2 - p["y"], p["y"] - 4.0), {"x": 1.0, "y": 1.0})
        >>> print(f"{found.x['x']:.6f} {found.x['y']:.6f}")
        2.000000 4.000000
        >>> print(primad.optimize.root(lambda x: [x[0] + x[1] - 3, x[0] * x[1] - 2], [0, 3]).x)
        [1. 2.]
    """
    from scipy import optimize  # loads when it is called

    name = method.lower() if isinstance(method, str) else ""
    known = (*WITH_JACOBIAN, *WITHOUT_JACOBIAN)
    if name not in known:
        raise TracingError(
            f"root: there is no method {method!r}", fix=suggestion(str(method), known) or f"choose from {known}."
        )
    if jac is not None and not callable(jac) and not isinstance(jac, (bool, np.bool_)):
        raise TracingError(
            f"root: jac is a function, True, False or None, got {jac!r}", fix="leave jac out: it is exact."
        )
    both = jac is not None and not callable(jac) and bool(jac)
    values_of = (lambda x, *args: fun(x, *args)[0]) if both else fun
    flat = Plain(values_of, x0, args if isinstance(args, tuple) else (args,), "root", compiled, parts=True)
    own = both or callable(jac)
    as_it_is = own or (name not in WITH_JACOBIAN and not flat.is_recordable(flat.call))
    values = flat.values(as_it_is)
    first = values(flat.start)
    if first.size != flat.space.size:
        raise ShapeError(
            f"root: the function has {first.size} results for {flat.space.size} unknowns",
            fix="use least_squares, which takes any number.",
        )
    if not np.all(np.isfinite(first)):
        raise flat.not_finite(flat.start, "at the start", not as_it_is)
    given: dict[str, Any] = {}
    if name in WITH_JACOBIAN:
        matrix = (lambda x, *args: fun(x, *args)[1]) if both else jac
        given["jac"] = flat.given(matrix) if own else flat.matrix()
    if callback is not None:
        given["callback"] = lambda x, f: callback(flat.point(x), f)
    found = optimize.root(values, flat.start, method=method, tol=tol, options=options, **given)
    end, found.x = flat.tree(found.x), flat.point(found.x)
    found.fun = as_array(flat.call(end)) if as_it_is else flat.result(end)
    return found
