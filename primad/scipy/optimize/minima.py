"""Minima, by SciPy's names; of traced functions they are differentiated.

Within bounds x is least where x = clip(x − g, l, u) with the gradient g, that is, clip(g, x − u, x − l) = 0: as many
equations as unknowns, whose Jacobian has the rows of the second derivatives where x is free, and of the identity where
it is at a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.functional.derivatives.first_order import vjp
from primad.functional.derivatives.gradients import value_and_grad
from primad.implicit.constrained import conditions, start_of
from primad.optimize.scipy_solvers import residual_solvers, scipy_minimizers
from primad.recording.traced_array import settled
from primad.scipy.optimize.constraints import by_constrained, constrained
from primad.scipy.optimize.solver_calls import solution_of
from primad.scipy.optimize.systems import unknown_row
from primad.scipy.traced_calls import Function, as_args, is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["least_squares", "minimize", "minimize_scalar"]

WEIGHTS: dict[str, Function] = {
    "linear": lambda z: 1.0,
    "soft_l1": lambda z: (1 + z) ** -0.5,
    "huber": lambda z: pnp.where(z <= 1, 1.0, pnp.where(z <= 1, 1.0, z) ** -0.5),
    "cauchy": lambda z: 1 / (1 + z),
    "arctan": lambda z: 1 / (1 + z**2),
}
"""Derivatives ρ′(z) of SciPy's loss functions by squares of residuals z."""


def projected(x: Any, slope: Any, bounds: tuple[Any, ...]) -> Any:
    """Return what vanishes where a function with a slope is least: where x is free, the slope itself, not rounded."""
    return pnp.clip(slope, x - bounds[1], x - bounds[0]) if bounds else slope


def ends_of(name: str, bounds: Any, like: Any, in_pairs: bool) -> tuple[Any, ...]:
    """Return the lower and the upper bounds of unknowns; nothing if there are none."""
    if bounds is None:
        return ()
    if hasattr(bounds, "lb"):
        ends = (bounds.lb, bounds.ub)
    elif in_pairs:
        pairs = list(bounds)
        if any(len(pair) != 2 for pair in pairs) or len(pairs) != len(like):
            raise ShapeError(f"{name}: bounds are a pair for each of {len(like)} unknowns", fix="(lower, upper), …")
        lower = [-np.inf if pair[0] is None else pair[0] for pair in pairs]
        upper = [np.inf if pair[1] is None else pair[1] for pair in pairs]
        ends = (pnp.array(lower), pnp.array(upper))
    else:
        ends = tuple(bounds)
    found = tuple([settled(pnp.broadcast_to(pnp.array(end), like.shape).astype(like.dtype)) for end in ends])
    return found


def finite(ends: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return bounds; nothing if none of them is finite."""
    plain = [end for end in ends if isinstance(end, np.ndarray)]
    return () if len(plain) == 2 and not np.isfinite(plain).any() else ends


def _by_minimize(function: Function, x0: Any, *bounds: Any, **options: Any) -> Any:
    given = list(zip(*[np.asarray(end).tolist() for end in bounds], strict=True)) if bounds else None
    return _inside(bounds, scipy_minimizers.minimize(function, x0, bounds=given, **options))


def _inside(bounds: tuple[Any, ...], found: Any) -> Any:
    """Return a result at the bounds that its solver keeps away from."""
    if bounds:
        x, (lower, upper) = found.x, bounds
        near = 1e-8 * np.maximum(1.0, np.abs(x))
        found.x = np.where(x - lower <= near, lower, np.where(upper - x <= near, upper, x))
    return found


@entrance
def minimize(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Return SciPy's result for a minimum; its `x` is a function of what `fun` depends on.

    Derivatives are those of the point where the gradient is zero, or points out of the bounds; see
    `primad.implicit.minimize`. Where nothing is traced it is SciPy's function; `primad.optimize.minimize` has exact
    derivatives there.

    Args:
        fun: a function (x, *args) -> a number, written with NumPy.
        x0: where to start.
        args: further arguments of `fun`.
        method: as SciPy's.
        jac: as SciPy's: a function, or True if `fun` returns the pair. Of a traced function derivatives are exact.
        hess: as SciPy's, where nothing is traced.
        hessp: as SciPy's, where nothing is traced.
        bounds: as SciPy's; they may be traced.
        constraints: as SciPy's; what they depend on may be traced. The minimum is then that of the conditions of
            Karush, Kuhn and Tucker (see `primad.implicit.argmin`).
        tol: as SciPy's.
        callback: as SciPy's, where nothing is traced.
        options: as SciPy's.

    Returns:
        SciPy's result. Of a traced function it has `x`, `fun`, `success`, `status` and `message`.

    Raises:
        DomainError: if no minimum was found.
        MatrixError: where a derivative is asked for and the Hessian is singular.
        ShapeError: for a constraint in none of SciPy's forms.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> def nearest(a):
        ...     squares = lambda x: np.sum((x - a) ** 2)
        ...     return primad.scipy.optimize.minimize(squares, np.zeros(2), bounds=[(0, 1)] * 2).x
        >>> print(primad.jvp(nearest, (np.array([0.5, 3.0]),), (np.ones(2),)))
        (array([0.5, 1. ]), array([ 1., -0.]))
    """
    args, start = as_args(args), unknown_row(x0)
    probes = [lambda: fun(start, *args), lambda: _limits(constrained(lambda x: 0.0, constraints), start)]
    if not any(is_recorded((start, args, _leaves(bounds)), probe) for probe in probes):
        from scipy import optimize  # loads when it is called

        return optimize.minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)
    value: Function = (lambda x: fun(x, *args)[0]) if jac is True else lambda x: fun(x, *args)
    ends = finite(ends_of("minimize", bounds, start, True))
    if constraints:
        problem = constrained(value, constraints)
        equations = conditions(problem, lambda x, slope: projected(x, slope, ends))
        found = solution_of(
            equations, start_of(problem, start), by_constrained, "minimize", ends, method=method, tol=tol,
            options=options,
        )  # fmt: skip
        return result_of(x=found["x"], fun=value(found["x"]), multipliers=[found["equal"], found["positive"]])

    def equation(x: Any) -> Any:
        found, slope = value_and_grad(value)(x)
        return projected(x, slope, ends), found

    simple = method is None and tol is None and not options and not ends
    given: dict[str, Any] = {} if simple else {"method": method, "tol": tol, "options": options}
    x = solution_of(equation, start, None if simple else _by_minimize, "minimize", ends, **given)
    return result_of(x=x, fun=value(x))


def _limits(of: Any, start: Any) -> Any:
    """Return the constraints of a problem at a point."""
    return of.equal(start), of.positive(start)


def _leaves(bounds: Any) -> Any:
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds


def result_of(**fields: Any) -> Any:
    from scipy.optimize import OptimizeResult  # loads when it is called

    return OptimizeResult(success=True, status=0, message="A minimum was found.", **fields)


def _on_line(function: Function, x0: Any, *settings: Any, bounded: bool, method: str | None, **options: Any) -> Any:
    from scipy import optimize  # loads when it is called

    ends = tuple([float(x) for x in settings])
    given: dict[str, Any] = {"bounds": ends} if bounded else {"bracket": ends or None}
    found = optimize.minimize_scalar(lambda x: float(function(x)), method=method, **given, **options)
    if bounded and found.success:
        xatol = 2 * (options["options"] or {}).get("xatol", 1e-5)  # SciPy's
        found.x = next((end for end in ends if abs(found.x - end) <= xatol), found.x)
    return found


@entrance
def minimize_scalar(
    fun: Function,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: str | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Return SciPy's result for a minimum on a line; its `x` is a function of what `fun` depends on (see `minimize`).

    Args:
        fun: a function (x, *args) of a number, written with NumPy.
        bracket: two numbers, or three of which the middle one is lower, where to start.
        bounds: the ends of an interval, for the method 'bounded'; they may be traced.
        args: further arguments of `fun`.
        method: as SciPy's.
        tol: as SciPy's.
        options: as SciPy's.

    Returns:
        SciPy's result. Of a traced function it has `x`, `fun`, `success`, `status` and `message`.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> f = lambda a: primad.scipy.optimize.minimize_scalar(lambda x: np.exp(x) - a * x).x
        >>> print(f"{f(2.0):.6f} {primad.grad(f)(2.0):.6f}")
        0.693147 0.500000
    """
    args = as_args(args)
    bounded = bounds is not None
    settings = tuple(bounds) if bounded else tuple(bracket or ())
    start = 0.5 * (settings[0] + settings[-1]) if settings else 0.5
    if not is_recorded((settings, args), lambda: fun(start, *args)):
        from scipy import optimize  # loads when it is called

        return optimize.minimize_scalar(fun, bracket, bounds, args, method, tol, options)

    def equation(x: Any) -> Any:
        found, slope = value_and_grad(lambda x: fun(x, *args))(x)
        return projected(x, slope, settings if bounded else ()), found

    x = solution_of(
        equation, start, _on_line, "minimize_scalar", settings, bounded=bounded, method=method, tol=tol,
        options=options,
    )  # fmt: skip
    return result_of(x=x, fun=fun(x, *args))


def _by_least_squares(function: Function, x0: Any, *bounds: Any, **options: Any) -> Any:
    given: dict[str, Any] = {"bounds": tuple(map(np.asarray, bounds))} if bounds else {}
    return _inside(bounds, residual_solvers.least_squares(function, x0, **given, **options))


@entrance
def least_squares(
    fun: Function,
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    **others: Any,
) -> Any:
    """Return SciPy's result for a least sum of squares; its `x` is a function of what the residuals depend on.

    See `minimize`. All second derivatives of the residuals are part of the derivative.

    Args:
        fun: a function (x, *args, **kwargs) -> residuals, written with NumPy.
        x0: where to start.
        jac: as SciPy's; of traced residuals the exact Jacobian is taken.
        bounds: (lower, upper), each a number or an array, or `Bounds`; they may be traced.
        method: as SciPy's.
        ftol: as SciPy's.
        xtol: as SciPy's.
        gtol: as SciPy's.
        x_scale: as SciPy's.
        loss: as SciPy's: by its name.
        f_scale: as SciPy's: where large residuals begin.
        args: further arguments of `fun`.
        kwargs: further arguments by name.
        **others: SciPy's, where nothing is traced.

    Returns:
        SciPy's result. Of traced residuals it has `x`, `fun`, `cost`, `success`, `status` and `message`.

    Raises:
        DomainError: if no minimum was found.
        MatrixError: where a derivative is asked for and the residuals do not determine x.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> t = np.array([0.0, 1.0, 2.0])
        >>> def line(y):
        ...     return primad.scipy.optimize.least_squares(lambda p: p[0] + p[1] * t - y, np.zeros(2)).x
        >>> print(primad.jvp(line, (np.array([1.0, 3.0, 5.0]),), (np.array([0.0, 0.0, 1.0]),))[1].round(6))
        [-0.166667  0.5     ]
    """
    args, start, named = as_args(args), unknown_row(x0), kwargs or {}

    def residuals(x: Any) -> Any:
        return pnp.ravel(pnp.array(fun(x, *args, **named)))

    if not is_recorded((start, args, named, _leaves(bounds), f_scale), lambda: residuals(start)):
        from scipy import optimize  # loads when it is called

        return optimize.least_squares(
            fun, x0, jac, bounds, method, ftol, xtol, gtol, loss=loss, f_scale=f_scale, args=args, kwargs=kwargs,
            **({} if x_scale is None else {"x_scale": x_scale}), **others,
        )  # fmt: skip
    refuse("optimize.least_squares", **{key: value for key, value in others.items() if value != 0})
    if not isinstance(loss, str) or loss not in WEIGHTS:
        raise ShapeError(
            f"least_squares: loss is one of {', '.join(WEIGHTS)} of traced residuals, got {loss!r}",
            fix="use one of these.",
        )
    ends = finite(ends_of("least_squares", bounds, start, False))

    def equation(x: Any) -> Any:
        values, pull = vjp(residuals, x)
        (slope,) = pull(values * WEIGHTS[loss]((values / f_scale) ** 2))
        return projected(x, slope, ends), values

    options = {"method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale}
    options |= {} if x_scale is None else {"x_scale": x_scale}
    x = solution_of(equation, start, _by_least_squares, "least_squares", ends, **options)
    found = residuals(x)
    fields = {"cost": 0.5 * pnp.sum(found**2)} if loss == "linear" else {}
    return result_of(x=x, fun=found, **fields)
