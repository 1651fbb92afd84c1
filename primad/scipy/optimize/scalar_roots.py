"""Roots of functions of one number, by SciPy's names; of traced functions they are differentiated."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.functional.derivatives.first_order import jvp
from primad.implicit.recorded_equations import differences
from primad.scipy.optimize.solver_calls import solution_of
from primad.scipy.traced_calls import Function, as_args, is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["bisect", "brenth", "brentq", "fixed_point", "newton", "ridder", "root_scalar", "toms748"]

XTOL = 2e-12
"""How exact bracketing methods are, unless told otherwise. SciPy's."""
RTOL = 4 * float(np.finfo(float).eps)
"""The same as a share of the root. SciPy's."""


def _own(name: str) -> Any:
    """Return SciPy's function."""
    return getattr(import_module("scipy.optimize"), name)


def _within(function: Function, x0: Any, a: Any, b: Any, method: str, **options: Any) -> Any:
    return _own(method)(function, float(a), float(b), **options)


def _bracketed(name: str, f: Function, a: Any, b: Any, args: Any, full_output: bool, **options: Any) -> Any:
    args = as_args(args)
    if not is_recorded((a, b, args), lambda: f(a, *args)):
        return _own(name)(f, a, b, args=args, full_output=full_output, **options)
    refuse(f"optimize.{name}", full_output=full_output)
    return solution_of(lambda x: (f(x, *args),), 0.5 * (a + b), _within, name, (a, b), method=name, **options)


@entrance
def brentq(
    f: Function,
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = XTOL,
    rtol: float = RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root between two numbers, by Brent's method, as a function of what `f` depends on.

    Derivatives are those of the root itself (`primad.implicit.root`). Where nothing is traced it is SciPy's function.

    Args:
        f: a function (x, *args) of a number, written with NumPy; it may close over what is differentiated.
        a: an end of an interval at whose ends `f` has different signs. It may be traced.
        b: the other end.
        args: further arguments of `f`.
        xtol: how exact the root is; Newton's steps make a traced one as exact as `f`.
        rtol: the same, as a share of the root.
        maxiter: steps, at most.
        full_output: as SciPy's, on plain numbers.
        disp: whether it is an error if there are too few steps.

    Returns:
        the root.

    Raises:
        DomainError: if `f` does not vanish at what was found.
        MatrixError: where a derivative is asked for and `f` has none but zero.
        ValueError: of SciPy's, if `f` has the same sign at both ends.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> def height(mass):
        ...     return primad.scipy.optimize.brentq(lambda x: 20 * (x + x**3) - 9.81 * mass, 0.0, 2.0)
        >>> print(f"{height(1.0):.6f} {primad.grad(height)(1.0):.6f}")
        0.417649 0.322000
    """
    return _bracketed("brentq", f, a, b, args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@entrance
def brenth(
    f: Function,
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = XTOL,
    rtol: float = RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root between two numbers, by Brent's method with hyperbolic steps (see `brentq`)."""
    return _bracketed("brenth", f, a, b, args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@entrance
def ridder(
    f: Function,
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = XTOL,
    rtol: float = RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root between two numbers, by Ridder's method (see `brentq`)."""
    return _bracketed("ridder", f, a, b, args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@entrance
def bisect(
    f: Function,
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = XTOL,
    rtol: float = RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root between two numbers, by bisection (see `brentq`)."""
    return _bracketed("bisect", f, a, b, args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@entrance
def toms748(
    f: Function,
    a: Any,
    b: Any,
    args: Any = (),
    k: int = 1,
    xtol: float = XTOL,
    rtol: float = RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root between two numbers, by algorithm 748 of Alefeld, Potra and Shi (see `brentq`)."""
    return _bracketed("toms748", f, a, b, args, full_output, k=k, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


def _slope(function: Function) -> Function:
    """Return the derivative of a function, element by element."""
    return lambda x: jvp(function, (x,), (np.ones_like(x),))[1]


def _by_newton(function: Function, x0: Any, *further: Any, has_slope: bool, **options: Any) -> Any:
    return _own("newton")(
        function, x0, _slope(function) if has_slope else None, x1=next(iter(further), None), **options
    )


@entrance
def newton(
    func: Function,
    x0: Any,
    fprime: Function | None = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Function | None = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root near a start, by the secant method or Newton's, as a function of what `func` depends on.

    See `brentq`. Of an array each element is solved for.

    Args:
        func: a function (x, *args), written with NumPy.
        x0: where to start: a number or an array, real or complex.
        fprime: its derivative: with it the method is Newton's. Of a traced function the exact one is taken.
        args: further arguments of `func`.
        tol: how exact the root is.
        maxiter: steps, at most.
        fprime2: its second derivative, used where nothing is traced.
        x1: a second start, of the secant method.
        rtol: as `tol`, as a share of the root.
        full_output: as SciPy's, on plain numbers.
        disp: whether it is an error if there are too few steps.

    Returns:
        the root, as x0 is.

    Example:
        >>> import primad, primad.scipy.optimize
        >>> print(f"{primad.grad(lambda a: primad.scipy.optimize.newton(lambda x: x**3 - a, 1.0))(8.0):.6f}")
        0.083333
    """
    args = as_args(args)
    if not is_recorded((x0, args, x1), lambda: func(x0, *args)):
        return _own("newton")(func, x0, fprime, args, tol, maxiter, fprime2, x1, rtol, full_output, disp)
    refuse("optimize.newton", full_output=full_output)
    settings = () if x1 is None else (x1,)
    return solution_of(
        lambda x: (func(x, *args),), x0, _by_newton, "newton", settings, has_slope=fprime is not None, tol=tol,
        maxiter=maxiter, rtol=rtol, disp=disp,
    )  # fmt: skip


def _as_scalar(function: Function, x0: Any, *settings: Any, bracketed: bool, has_slope: bool, **options: Any) -> Any:
    slope = _slope(function) if has_slope else None
    given = {"bracket": settings} if bracketed else {"x0": x0, "x1": next(iter(settings), None)}
    return _own("root_scalar")(function, fprime=slope, **given, **options).root


@entrance
def root_scalar(
    f: Function,
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Return SciPy's result for a root of a function of one number; the root is a function of what `f` depends on.

    See `brentq`. Of a traced function the result has `root`, `converged`, `flag` and `method`.

    Args:
        f: a function (x, *args) of a number, written with NumPy.
        args: further arguments of `f`.
        method: as SciPy's.
        bracket: an interval at whose ends `f` has different signs.
        fprime: as SciPy's; of a traced function the exact derivative is taken where it is given.
        fprime2: the second derivative, used where nothing is traced.
        x0: where to start.
        x1: a second start.
        xtol: how exact the root is.
        rtol: the same, as a share of the root.
        maxiter: steps, at most.
        options: of the method.

    Returns:
        SciPy's result.

    Example:
        >>> import primad, primad.scipy.optimize
        >>> f = lambda a: primad.scipy.optimize.root_scalar(lambda x: x**2 - a, bracket=(0, 9)).root
        >>> print(f"{f(4.0):.6f} {primad.grad(f)(4.0):.6f}")
        2.000000 0.250000
    """
    args = as_args(args)
    start = x0 if bracket is None else 0.5 * (bracket[0] + bracket[1])
    if not is_recorded((bracket, x0, x1, args), lambda: f(start, *args)):
        return _own("root_scalar")(f, args, method, bracket, fprime, fprime2, x0, x1, xtol, rtol, maxiter, options)
    if start is None:
        raise ShapeError("root_scalar: there is no bracket and no x0", fix="give one of them.")
    settings = tuple(bracket) if bracket is not None else () if x1 is None else (x1,)
    root = solution_of(
        lambda x: (f(x, *args)[0] if fprime is True else f(x, *args),), start, _as_scalar, "root_scalar", settings,
        bracketed=bracket is not None, has_slope=bool(fprime), method=method, xtol=xtol, rtol=rtol, maxiter=maxiter,
        options=options,
    )  # fmt: skip
    return _own("OptimizeResult")(root=root, converged=True, flag="converged", method=method)


def _iterated(function: Function, x0: Any, **options: Any) -> Any:
    return _own("fixed_point")(function, x0, **options)


@entrance
def fixed_point(
    func: Function, x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500, method: str = "del2"
) -> Any:
    """Return what a function takes to itself, as a function of what it depends on (`primad.implicit.fixed_point`).

    Args:
        func: a function (x, *args), written with NumPy.
        x0: where to start: a number or an array.
        args: further arguments of `func`.
        xtol: how exact it is.
        maxiter: steps, at most.
        method: 'del2', with Steffensen's acceleration, or 'iteration'.

    Returns:
        x, as x0 is.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> f = lambda a: primad.scipy.optimize.fixed_point(lambda x: np.cos(a * x), 1.0)
        >>> print(f"{f(1.0):.6f} {primad.grad(f)(1.0):.6f}")
        0.739085 -0.297474
    """
    args = as_args(args)
    if not is_recorded((x0, args), lambda: func(x0, *args)):
        return _own("fixed_point")(func, x0, args, xtol, maxiter, method)

    def equation(x: Any) -> Any:
        found = func(x, *args)
        return differences("fixed_point", found, x, "unknowns"), found

    return solution_of(equation, x0, _iterated, "fixed_point", xtol=xtol, maxiter=maxiter, method=method)
