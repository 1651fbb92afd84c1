"""Initial value problems and integrals of functions, by SciPy's names; of traced functions they are differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from primad import integrate
from primad import numpy as pnp
from primad.scipy.traced_calls import Function, as_args, is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["odeint", "quad", "solve_ivp"]

INSTEAD = {"RK23": "RK45", "Radau": "RODAS4", "BDF": "RODAS4", "LSODA": "RODAS4"}
"""Methods that are recorded, for those of SciPy's that are not: of an order as high at least, and for stiff systems."""
ODEINT_TOLERANCE = 1.49012e-8
"""The tolerances of `odeint`, relative and absolute. SciPy's."""


def _own(name: str) -> Any:
    return getattr(import_module("scipy.integrate"), name)


@entrance
def solve_ivp(
    fun: Function,
    t_span: Sequence[Any],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Integrate y′ = f(t, y), as SciPy does; of traced functions and values by `primad.integrate.solve_ivp`.

    There the methods for stiff systems are RODAS4, with the exact Jacobian, and "RK23" is "RK45".

    Args:
        fun: (t, y, *args) -> slope, written with NumPy.
        t_span: the times at which to begin and to end.
        y0: the value at the beginning.
        method: as SciPy's.
        t_eval: times at which values are wanted; where something is traced only the last value is there without.
        dense_output: as SciPy's.
        events: as SciPy's.
        vectorized: as SciPy's.
        args: further arguments of `fun`.
        **options: as SciPy's: tolerances, and lengths of steps. A Jacobian is not needed where something is traced.

    Returns:
        SciPy's result.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> def end(rate):
        ...     slope = lambda t, y: -rate * y
        ...     return primad.scipy.integrate.solve_ivp(slope, (0, 2), [1.0], "BDF", t_eval=[2.0], rtol=1e-8).y[0, 0]
        >>> print(f"{primad.grad(end)(0.5):.4f}")
        -0.7358
    """
    further = () if args is None else as_args(args)
    start = pnp.array(y0)
    if not is_recorded((list(t_span), start, t_eval, further), lambda: fun(t_span[0], start, *further)):
        return _own("solve_ivp")(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)
    for name in ("jac", "jac_sparsity", "lband", "uband", "min_step"):
        options.pop(name, None)
    name = INSTEAD.get(method, method) if isinstance(method, str) else getattr(method, "__name__", method)
    return integrate.solve_ivp(
        fun, t_span, start, INSTEAD.get(name, name), t_eval, dense_output, events, vectorized, further, **options
    )


@entrance
def odeint(
    func: Function,
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    """Integrate y′ = f(y, t), as SciPy's older function does; of traced values by `primad.integrate.solve_ivp`.

    The method is RODAS4 there, for stiff systems and others.

    Args:
        func: (y, t, *args) -> slope, written with NumPy; (t, y, *args) with `tfirst`.
        y0: the value at the beginning.
        t: times at which values are wanted, from the first, at which y is y0.
        args: further arguments of `func`.
        Dfun: as SciPy's: of traced functions the Jacobian is exact.
        col_deriv: as SciPy's, as are all without a word here, where nothing is traced.
        full_output: as SciPy's.
        ml: as SciPy's.
        mu: as SciPy's.
        rtol: relative tolerance.
        atol: absolute tolerance.
        tcrit: as SciPy's.
        h0: length of the first step; 0 is by estimate.
        hmax: length of the longest; 0 is no limit.
        hmin: as SciPy's.
        ixpr: as SciPy's.
        mxstep: as SciPy's.
        mxhnil: as SciPy's.
        mxordn: as SciPy's.
        mxords: as SciPy's.
        printmessg: as SciPy's.
        tfirst: whether the time is the first argument of `func`.

    Returns:
        the values, a row for each time.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> def end(rate):
        ...     return primad.scipy.integrate.odeint(lambda y, t: -rate * y, 1.0, [0.0, 2.0])[-1, 0]
        >>> print(f"{primad.grad(end)(0.5):.6f}")
        -0.735759
    """
    further, start, times = as_args(args), pnp.ravel(pnp.array(y0)), pnp.array(t)
    slope: Function = func if tfirst else lambda t, y, *args: func(y, t, *args)
    if not is_recorded((start, times, further), lambda: slope(times[0], start, *further)):
        return _own("odeint")(
            func, y0, t, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr, mxstep,
            mxhnil, mxordn, mxords, printmessg, tfirst,
        )  # fmt: skip
    refuse("integrate.odeint", full_output=bool(full_output))
    given: dict[str, Any] = {"first_step": float(h0)} if h0 else {}
    found = integrate.solve_ivp(
        slope, (times[0], times[-1]), start, "RODAS4", times, args=further, max_step=hmax or np.inf,
        rtol=ODEINT_TOLERANCE if rtol is None else rtol, atol=ODEINT_TOLERANCE if atol is None else atol, **given,
    )  # fmt: skip
    return found.y.T


@entrance
def quad(
    func: Function,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    **others: Any,
) -> Any:
    """Integrate a function of one variable, as SciPy does; of traced functions by `primad.integrate.quad`.

    Args:
        func: (x, *args) -> number, written with NumPy.
        a: where to begin; an infinite limit must be a Python number.
        b: where to end.
        args: further arguments of `func`.
        full_output: as SciPy's, where nothing is traced.
        epsabs: absolute tolerance.
        epsrel: relative tolerance.
        limit: the most intervals.
        points: where the integrand has kinks or jumps.
        **others: as SciPy's, where nothing is traced.

    Returns:
        the integral, and an estimate of its error.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> area = lambda width: primad.scipy.integrate.quad(lambda x: np.exp(-((x / width) ** 2)), 0, np.inf)[0]
        >>> print(f"{primad.grad(area)(2.0):.6f}")
        0.886227
    """
    further = as_args(args)
    middle = a if np.ndim(a) == 0 and not isinstance(a, (int, float)) else 0.0
    if not is_recorded((a, b, further, points), lambda: func(middle, *further)):
        return _own("quad")(func, a, b, args, full_output, epsabs, epsrel, limit, points, **others)
    refuse("integrate.quad", full_output=bool(full_output))
    return integrate.quad(func, a, b, further, epsabs=epsabs, epsrel=epsrel, limit=limit, points=points, **others)
