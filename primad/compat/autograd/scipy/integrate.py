"""What `autograd.scipy.integrate` has: initial value problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.integrate import solve_ivp


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Sequence[Any] = (),
    tfirst: bool = False,
    rtol: float = 1.49012e-8,
    atol: float = 1.49012e-8,
) -> Any:
    """Return the values of a path of y′ = func(y, t, *args) at times, one row each.

    Unlike SciPy's LSODA the method is explicit (DOP853, by `primad.integrate.solve_ivp`): a stiff system takes many
    steps. It is differentiable in y0, t, args and what func closes over.

    Args:
        func: the slope.
        y0: the value at the first time.
        t: the times, in order.
        args: further arguments of func.
        tfirst: whether func takes the time first.
        rtol: relative tolerance, SciPy's by default.
        atol: absolute tolerance, SciPy's by default.

    Raises:
        StepsError: if the last time is not reached.
    """

    def slope(time: Any, y: Any, *rest: Any) -> Any:
        return func(time, y, *rest) if tfirst else func(y, time, *rest)

    span = t[0], t[-1]
    found = solve_ivp(slope, span, pn.atleast_1d(y0), "DOP853", t_eval=t, args=tuple(args), rtol=rtol, atol=atol)
    return pn.transpose(found.y)


__all__ = ["odeint"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
