"""Steps of methods for initial value problems: Runge and Kutta's with SciPy's tableaux, one for stiffness.

A step is a function of (fun, t, y, fun(t, y), h). What it returns has a new value, its slope, an estimate of the error
and what the value inside of the step is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from primad import numpy as pnp
from primad.functional.lazy import jacobian
from primad.functional.values import stop_gradient

Function = Callable[..., Any]


class Stepped(NamedTuple):
    """What a step gives.

    Attributes:
        y: the value at its end.
        slope: the slope there.
        error: (absolute, relative tolerance) -> a number that is below 1 where the step is accurate enough.
        inside: what `Method.between` takes, one array.
    """

    y: Any
    slope: Any
    error: Callable[[float, float], Any]
    inside: Any


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes:
        step: (fun, t, y, slope, h) -> Stepped.
        between: (inside, y at the start, h, x) -> the value where x of the step is done.
        order: of the estimate of the error.
        evaluations: of the function, in a step.
    """

    step: Callable[..., Stepped]
    between: Callable[..., Any]
    order: int
    evaluations: int


def combined(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    """Return the sum of slopes with weights, without those whose weight is 0."""
    terms = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w != 0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _norm(x: Any) -> Any:
    return np.sqrt(np.mean(x * x))


def _stages(tableau: Any, fun: Function, t: Any, y: Any, slope: Any, h: Any) -> tuple[list[Any], Any]:
    """Return the slopes of all stages, that of the new value last, and the new value."""
    slopes = [slope]
    for s in range(1, tableau.n_stages):
        slopes.append(fun(t + float(tableau.C[s]) * h, y + h * combined(tableau.A[s], slopes)))
    new = y + h * combined(tableau.B, slopes)
    slopes.append(fun(t + h, new))
    return slopes, new


def _rk45(fun: Function, t: Any, y: Any, slope: Any, h: Any) -> Stepped:
    tableau = scipy.integrate.RK45
    slopes, new = _stages(tableau, fun, t, y, slope, h)

    def error(atol: float, rtol: float) -> Any:
        return _norm(h * combined(tableau.E, slopes) / _scale(y, new, atol, rtol))

    inside = pnp.stack([combined(column, slopes) for column in tableau.P.T])
    return Stepped(new, slopes[-1], error, inside)


def _scale(y: Any, new: Any, atol: float, rtol: float) -> Any:
    return atol + rtol * np.maximum(np.abs(y), np.abs(new))


def _between_rk45(inside: Any, y: Any, h: Any, x: Any) -> Any:
    """A polynomial of x whose coefficients are combined slopes."""
    value = inside[-1]
    for row in reversed(range(inside.shape[0] - 1)):
        value = value * x + inside[row]
    return y + h * x * value


def _dop853(fun: Function, t: Any, y: Any, slope: Any, h: Any) -> Stepped:
    tableau = scipy.integrate.DOP853
    slopes, new = _stages(tableau, fun, t, y, slope, h)

    def error(atol: float, rtol: float) -> Any:
        scale = _scale(y, new, atol, rtol)
        fifth = np.sum((combined(tableau.E5, slopes) / scale) ** 2)
        third = np.sum((combined(tableau.E3, slopes) / scale) ** 2)
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


_D = 1 / (2 + np.sqrt(2))


def _rosenbrock(fun: Function, t: Any, y: Any, slope: Any, h: Any) -> Stepped:
    """The L-stable method of order 2 and 3 by Rosenbrock in the form of Shampine and Reichelt (`ode23s`).

    All three systems have the matrix 1 − h d J, so they share its factors. J and the slope in time are exact.
    """
    matrix = jacobian(lambda y: fun(t, y))(y)[:]
    in_time = jacobian(lambda t: fun(t, y))(t)[:]
    system = np.eye(y.shape[0]) - h * _D * matrix

    def solved(b: Any) -> Any:
        return np.linalg.solve(system, b)

    k1 = solved(slope + h * _D * in_time)
    middle = fun(t + h / 2, y + h / 2 * k1)
    k2 = solved(middle - k1) + k1
    new = y + h * k2
    after = fun(t + h, new)
    k3 = solved(after - (6 + np.sqrt(2)) * (k2 - middle) - 2 * (k1 - slope) + h * _D * in_time)

    def error(atol: float, rtol: float) -> Any:
        return _norm(h / 6 * (k1 - 2 * k2 + k3) / _scale(y, new, atol, rtol))

    return Stepped(new, after, error, pnp.stack([k1, k2]))


def _between_rosenbrock(inside: Any, y: Any, h: Any, x: Any) -> Any:
    first, second = x * (1 - x) / (1 - 2 * _D), x * (x - 2 * _D) / (1 - 2 * _D)
    return y + h * (first * inside[0] + second * inside[1])


METHODS = {
    "RK45": Method(_rk45, _between_rk45, 4, 6),
    "DOP853": Method(_dop853, _between_dop853, 7, 15),
    "ROS23": Method(_rosenbrock, _between_rosenbrock, 2, 3),
}
"""The adaptive methods, by name."""


def first_step(
    fun: Function, t: Any, y: Any, slope: Any, span: Any, order: int, atol: float, rtol: float, most: float
) -> Any:
    """Return the length of a first step, as Hairer, Nørsett and Wanner choose it; it is a constant to derivatives."""
    t, y, slope, span = (stop_gradient(x) for x in (t, y, slope, span))
    scale = atol + rtol * np.abs(y)
    small, steep = _norm(y / scale), _norm(slope / scale)
    tiny = (small < 1e-5) | (steep < 1e-5)
    h = np.minimum(np.where(tiny, 1e-6, 0.01 * small / np.where(tiny, 1.0, steep)), np.abs(span))
    ahead = np.sign(span) * h
    bend = _norm((fun(t + ahead, y + ahead * slope) - slope) / scale) / h
    largest = np.maximum(steep, bend)
    flat = largest <= 1e-15
    exponent = 1.0 / (order + 1)
    other = np.where(flat, np.maximum(1e-6, h * 1e-3), (0.01 / np.where(flat, 1.0, largest)) ** exponent)
    return stop_gradient(np.minimum(np.minimum(np.minimum(100 * h, other), np.abs(span)), most))
