"""The adaptive methods: Runge and Kutta's with SciPy's tableaux, and those for stiff systems; the first step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.functional.recorded_values import stop_gradient
from primad.integrate.method_steps import Method, Stepped, combined, norm, scale, squares
from primad.integrate.rosenbrock import STIFF

Function = Callable[..., Any]


def _stages(tableau: Any, fun: Function, t: Any, y: Any, slope: Any, h: Any) -> tuple[list[Any], Any]:
    """Return the slopes of all stages, that of the new value last, and the new value."""
    slopes = [slope]
    for s in range(1, tableau.n_stages):
        slopes.append(fun(t + float(tableau.C[s]) * h, y + h * combined(tableau.A[s], slopes)))
    new = y + h * combined(tableau.B, slopes)
    slopes.append(fun(t + h, new))
    return slopes, new


def _rk45(fun: Function, t: Any, y: Any, slope: Any, h: Any) -> Stepped:
    from scipy.integrate import RK45 as tableau  # loads when it is called

    slopes, new = _stages(tableau, fun, t, y, slope, h)

    def error(atol: Any, rtol: Any) -> Any:
        return norm(h * combined(tableau.E, slopes) / scale(y, new, atol, rtol))

    inside = pnp.stack([combined(column, slopes) for column in tableau.P.T])
    return Stepped(new, slopes[-1], error, inside)


def _between_rk45(inside: Any, y: Any, h: Any, x: Any) -> Any:
    """A polynomial of x whose coefficients are combined slopes."""
    value = inside[-1]
    for row in reversed(range(inside.shape[0] - 1)):
        value = value * x + inside[row]
    return y + h * x * value


def _dop853(fun: Function, t: Any, y: Any, slope: Any, h: Any) -> Stepped:
    from scipy.integrate import DOP853 as tableau  # loads when it is called

    slopes, new = _stages(tableau, fun, t, y, slope, h)

    def error(atol: Any, rtol: Any) -> Any:
        allowed = scale(y, new, atol, rtol)
        fifth = np.sum(squares(combined(tableau.E5, slopes) / allowed))
        third = np.sum(squares(combined(tableau.E3, slopes) / allowed))
        whole = fifth + 0.01 * third
        safe = np.where(whole == 0, 1.0, whole)
        return np.where(whole == 0, 0.0, np.abs(h) * fifth / np.sqrt(safe * y.shape[0]))

    further = list(slopes)
    for a, c in zip(tableau.A_EXTRA, tableau.C_EXTRA, strict=True):
        further.append(fun(t + float(c) * h, y + h * combined(a, further)))
    change = new - y
    parts = [change, h * slope - change, 2 * change - h * (slopes[-1] + slope)]
    parts += [h * combined(row, further) for row in tableau.D]
    return Stepped(new, slopes[-1], error, pnp.stack(parts))


def _between_dop853(inside: Any, y: Any, h: Any, x: Any) -> Any:
    value = 0.0 * inside[0]
    for i in range(inside.shape[0]):
        value = (value + inside[inside.shape[0] - 1 - i]) * (x if i % 2 == 0 else 1 - x)
    return y + value


METHODS = {
    "RK45": Method(_rk45, _between_rk45, 4, 6),
    "DOP853": Method(_dop853, _between_dop853, 7, 15),
    **STIFF,
}
"""The adaptive methods, by name."""


def first_step(
    fun: Function, t: Any, y: Any, slope: Any, span: Any, order: int, atol: Any, rtol: Any, most: float
) -> Any:
    """Return the length of a first step, as Hairer, Nørsett and Wanner choose it; it is a constant to derivatives."""
    t, y, slope, span = (stop_gradient(x) for x in (t, y, slope, span))
    allowed = scale(y, y, atol, rtol)
    small, steep = norm(y / allowed), norm(slope / allowed)
    tiny = (small < 1e-5) | (steep < 1e-5)
    h = np.minimum(np.where(tiny, 1e-6, 0.01 * small / np.where(tiny, 1.0, steep)), np.abs(span))
    ahead = np.sign(span) * h
    bend = norm((fun(t + ahead, y + ahead * slope) - slope) / allowed) / np.where(h == 0, 1.0, h)
    largest = np.maximum(steep, bend)
    flat = largest <= 1e-15
    exponent = 1.0 / (order + 1)
    other = np.where(flat, np.maximum(1e-6, h * 1e-3), (0.01 / np.where(flat, 1.0, largest)) ** exponent)
    return stop_gradient(np.minimum(np.minimum(np.minimum(100 * h, other), np.abs(span)), most))
