"""Elliptic integrals: integrals of products of powers, closed under their derivatives, and Jacobi's amplitude."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ops.elementwise.discrete import floor
from primad.ops.elementwise.elementary import cos, sin, sqrt
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive, full
from primad.system.deferred import special

__all__ = ["jacobi_amplitude", "power_integral"]

STEP, LEFT, RIGHT = 0.5, 2.0, 40.0
"""Steps of the trapezoid rule in log t, whose error is exp(−2π²/STEP), since the integrand is analytic for angles below
π; and how many units of log t, over the powers there, it goes beyond the operands. Chosen: exp(−40) is below 2⁻⁵²."""
FIRST = {
    (0.0, (0.5, 0.5, 0.5, 0.0)): lambda x, y, z, p: 2.0 * special.elliprf(x, y, z),
    (0.0, (0.5, 0.5, 1.5, 0.0)): lambda x, y, z, p: special.elliprd(x, y, z) / 1.5,
    (0.0, (0.5, 0.5, 0.5, 1.0)): lambda x, y, z, p: special.elliprj(x, y, z, p) / 1.5,
    (0.0, (0.5, 1.0, 0.0, 0.0)): lambda x, y, z, p: 2.0 * special.elliprc(x, y),
}
"""Those that are Carlson's integrals, by the powers: SciPy has them."""
Powers = tuple[float, float, float, float]


def _integral(*operands: Any, power: float, powers: Powers) -> Any:
    dtype = np.asarray(operands[0]).dtype
    arrays = np.broadcast_arrays(*[np.asarray(x, np.float64) for x in operands])
    with np.errstate(all="ignore"):
        known = FIRST.get((power, powers))
        return np.asarray(_trapezoid(arrays, power, powers) if known is None else known(*arrays), dtype)


def _trapezoid(arrays: Any, power: float, powers: Powers) -> Any:
    """Add the integrand over equidistant values of log t: its terms are positive, so that no digits are lost.

    All is in units of the operands' mean, so that neither factors nor the sum overflow or vanish where the integral
    does not; an element ends at its own last step, however many another one of the array has.
    """
    used = [(x, e) for x, e in zip(arrays, powers, strict=True) if e]
    positive = np.stack([np.where(x > 0.0, x, np.nan) for x, _ in used])
    low, high = np.log(np.fmin.reduce(positive)), np.log(np.fmax.reduce(positive))
    inside = np.all(np.isfinite(positive) | (np.stack([x for x, _ in used]) == 0.0), axis=0)
    at_zero = sum([np.where(x == 0.0, e, 0.0) for x, e in used])  # what is t itself there
    left, right = power + 1.0 - at_zero, sum(powers) - power - 1.0
    start, end = low - RIGHT / np.maximum(left, 0.5) - LEFT, high + RIGHT / right + LEFT
    start, end = [np.where(np.isfinite(each), each, usual) for each, usual in ((start, 0.0), (end, 1.0))]
    count = int(np.ceil(np.max(end - start, initial=0.0) / STEP))
    logs = np.log(positive) * np.reshape([e for _, e in used], (-1, *[1] * start.ndim))
    unit = np.exp2(np.where(inside, np.round(np.nansum(logs, axis=0) / (sum(powers) * math.log(2.0))), 0.0))
    scaled, begin, width = [(x / unit, e) for x, e in used], start - np.log(unit), end - start
    total = np.zeros(start.shape)
    for k in range(count + 1):
        place = begin + np.minimum(k * STEP, width)
        t, term = np.exp(place), (power + 1.0) * place  # factors may overflow and vanish where their product does not
        for x, e in scaled:
            term = term - e * np.log(t + x)
        term = STEP * np.exp(term)
        total += np.where(k * STEP <= width, term, 0.0)
    half = unit ** (-0.5 * right)  # twice, since the whole may overflow where the sum is small
    return np.where(inside, np.where(left > 0.0, total * half * half, np.inf), np.nan)


def _along(place: int) -> Any:
    """Return the rule of one operand: its power goes up by 1."""

    def partial(out: Any, *operands: Any, power: float, powers: Powers) -> Any:
        if not powers[place]:
            return 0.0 * operands[place]
        more = tuple([e + (i == place) for i, e in enumerate(powers)])
        return power_integral(*operands, power=power, powers=more) * -powers[place]

    return partial


def _meaning(numbers: Any, *operands: Any, power: float, powers: tuple[float, ...]) -> Any:
    """Differentiate one of Carlson's integrals, whose powers differ by whole numbers."""
    half = numbers.mpf(1) / 2
    base: tuple[Any, ...]
    function: Callable[..., Any]
    used = [(x, e) for x, e in zip(operands, powers, strict=True) if e]
    operands, powers, count = tuple([x for x, _ in used]), tuple([e for _, e in used]), len(used)
    if power:
        base, function = (half, half, half), lambda x, y, z: -4 * numbers.elliprg(x, y, z)
    elif count == 4:
        base, function = (half, half, half, 1), lambda x, y, z, p: 2 * numbers.elliprj(x, y, z, p) / 3
    elif count == 3:
        base, function = (half, half, half), lambda x, y, z: 2 * numbers.elliprf(x, y, z)
    else:
        base, function = (half, 1), lambda x, y: 2 * numbers.elliprc(x, y)
    orders = tuple([int(e - float(least)) for e, least in zip(powers, base, strict=False)])
    found = _differentiated(numbers, function, operands, orders, third=count == 3 and not power)
    for least, n in zip(base, orders, strict=True):
        found = found * (-1) ** n / numbers.rf(least, n)
    return found


def _differentiated(numbers: Any, function: Any, operands: Any, orders: tuple[int, ...], third: bool) -> Any:
    if not third or not any(orders):
        return numbers.differentiated(function, operands, orders)
    most = orders.index(max(orders))  # by its own first derivative (DLMF 19.18.1), since differences are slow

    def slope(*xs: Any) -> Any:
        return -numbers.elliprd(*[x for i, x in enumerate(xs) if i != most], xs[most]) / 3

    return numbers.differentiated(slope, operands, tuple([n - (i == most) for i, n in enumerate(orders)]))


power_integral: Primitive = elementwise(
    "power_integral",
    numpy=_integral,
    partials=[_along(place) for place in range(4)],
    meaning=_meaning,
    doc="∫ tˢ·Π (t + xᵢ)^(−eᵢ) dt from 0 to ∞, of four xᵢ ≥ 0: Carlson's elliptic integrals (DLMF 19.16.14).",
)


def rest_of_first_kind(phi: Any, m: Any) -> Any:
    """Return the derivative in m of ∫ 1/√(1 − m·sin²θ) dθ from 0 to φ (DLMF 19.25.12; 19.2.10 beyond π/2)."""
    turns = floor(phi * (1.0 / math.pi) + 0.5)
    return _rest(sin(phi - math.pi * turns), cos(phi), m) + 2.0 * turns * _rest(full(1.0, m), full(0.0, m), m)


def _rest(s: Any, c: Any, m: Any) -> Any:
    one = full(1.0, m)
    third = power_integral(c * c, one, 1.0 - m * s * s, one, power=0.0, powers=(0.5, 0.5, 1.5, 0.0))
    return 0.25 * s * s * s * third


def _amplitude(u: Any, m: Any) -> Any:
    return np.asarray(special.ellipj(u, m)[3], np.asarray(u).dtype)


def _speed(out: Any, m: Any) -> Any:
    return sqrt(1.0 - m * sin(out) * sin(out))


jacobi_amplitude: Primitive = elementwise(
    "jacobi_amplitude",
    numpy=_amplitude,
    partials=[
        lambda out, u, m: _speed(out, m),
        lambda out, u, m: -_speed(out, m) * rest_of_first_kind(out, m),
    ],
    meaning=lambda numbers, u, m: numbers.root(
        lambda phi: numbers.ellipf(phi, m) - u, special.ellipj(float(u), float(m))[3]
    ),
    doc="Jacobi's amplitude: the φ whose elliptic integral of the first kind is u, for 0 ≤ m ≤ 1.",
)
