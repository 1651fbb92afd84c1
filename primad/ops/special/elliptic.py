"""Elliptic integrals, in families that are closed under their derivatives, and Jacobi's amplitude."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primad.ops.elementwise.elementary import cos, sin, sqrt
from primad.ops.elementwise.selection import select
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive, full
from primad.system.deferred import special

__all__ = ["carlson_second", "jacobi_amplitude", "legendre_integral", "power_integral"]

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
SMALL = sys.float_info.min**0.25
"""Down to which size products of four numbers are normal numbers of 64 bits. Derived from their range."""
MOST = -math.log(sys.float_info.min)
"""The size of a logarithm up to which a number of 64 bits neither overflows nor vanishes. Derived from its range."""
Powers = tuple[float, float, float, float]


def _integral(*operands: Any, power: float, powers: Powers) -> Any:
    dtype = np.asarray(operands[0]).dtype
    arrays = np.broadcast_arrays(*[np.asarray(x, np.float64) for x in operands])
    with np.errstate(all="ignore"):
        known = FIRST.get((power, powers))
        if known is None:
            return np.asarray(_trapezoid(arrays, power, powers), dtype)
        found = np.asarray(known(*arrays))
        lost = ~((found > 0.0) & (found < np.inf))
        if powers[
            3
        ]:  # of four operands SciPy forms products of all, and may return a wrong number where they do not fit
            lost |= np.any([(x > 1.0 / SMALL) | ((x < SMALL) & (x > 0.0)) for x in arrays], axis=0)
        if np.any(lost):  # a product of operands has overflown or vanished on the way
            found = np.array(found)
            found[lost] = _trapezoid([x[lost] for x in arrays], power, powers)
    return np.asarray(found, dtype)


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
    wide = bool(np.any((begin < -MOST) | (begin + width > MOST)))
    if wide:
        scaled = [(np.log(x) - np.log(unit), e) for x, e in used]
    total = np.zeros(start.shape)
    for k in range(count + 1):
        place = begin + np.minimum(k * STEP, width)
        t, term = np.exp(place), (power + 1.0) * place  # factors may overflow and vanish where their product does not
        for x, e in scaled:
            term = term - e * (np.logaddexp(place, x) if wide else np.log(t + x))
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


def squares(phi: Any, m: Any) -> tuple[Any, Any]:
    """Return sin²φ and 1 − m·sin²φ, which loses digits neither where m is close to 1 nor where it is close to 0."""
    s, c = sin(phi), cos(phi)
    return s * s, select(m > 0.5, 1.0 - m + m * c * c, 1.0 - m * s * s)


def _second_kind(*operands: Any) -> Any:
    dtype = np.asarray(operands[0]).dtype
    x, y, z = np.broadcast_arrays(*[np.asarray(each, np.float64) for each in operands])
    with np.errstate(all="ignore"):
        found = np.asarray(special.elliprg(x, y, z))
        most = np.maximum(np.maximum(x, y), z)
        lost = ~((most > SMALL) & (most < 1.0 / SMALL)) & (most > 0.0) & (most < np.inf)
        if np.any(lost):
            found, unit = np.array(found), np.exp2(2.0 * np.round(0.5 * np.log2(most[lost])))
            found[lost] = special.elliprg(*[each[lost] / unit for each in (x, y, z)]) * np.sqrt(unit)
    return np.asarray(found, dtype)


def _along_second(place: int) -> Any:
    """Return the rule of one operand: the derivative of a mean is an integral of positive terms (DLMF 19.18.4)."""
    powers = tuple([1.5 if i == place else 0.5 for i in range(3)])

    def rule(out: Any, x: Any, y: Any, z: Any) -> Any:
        return 0.125 * power_integral(x, y, z, full(1.0, x), power=1.0, powers=(*powers, 0.0))

    return rule


carlson_second: Primitive = elementwise(
    "carlson_second",
    numpy=_second_kind,
    partials=[_along_second(place) for place in range(3)],
    meaning=lambda numbers, x, y, z: numbers.elliprg(x, y, z),
    doc="Carlson's symmetric elliptic integral of the second kind, of three x ≥ 0 (DLMF 19.16.3).",
)


class _Reduced(NamedTuple):
    """An amplitude φ beside the nearest multiple of π or, where that loses no digits, the nearest odd one of π/2.

    Attributes:
        quarters: how many times π/2 is left out.
        beside: whether that is an odd number; formulas around it have no singular terms at it, as others have.
        s: sine of the rest.
        c: its cosine, which is not negative.
        delta: 1 − m·sin²φ.
    """

    quarters: Any
    beside: Any
    s: Any
    c: Any
    delta: Any


def _reduced(phi: Any, m: Any) -> _Reduced:
    quarters = np.floor(phi * (2.0 / math.pi) + 0.5)
    rest = phi - 0.5 * math.pi * quarters - math.cos(0.5 * math.pi) * quarters  # the cosine is what π/2 loses
    s, c = np.sin(rest), np.cos(rest)
    odd = quarters != 2.0 * np.floor(0.5 * quarters)
    beside = odd & (m * s * s < 1.0 - m)
    back = odd & ~beside
    turn = np.where(rest == 0.0, -np.sign(quarters), np.sign(rest))
    quarters, s, c = (
        np.where(back, quarters + turn, quarters),
        np.where(back, -turn * c, s),
        np.where(back, turn * s, c),
    )
    small, large = np.where(beside, s, c), np.where(beside, c, s)
    return _Reduced(quarters, beside, s, c, np.where(m > 0.5, 1.0 - m + m * small * small, 1.0 - m * large * large))


def _legendre(phi: Any, m: Any, *, n: int, power: float) -> Any:
    """Add as many complete integrals as there are quarter turns, and that of what is left of φ."""
    dtype = np.asarray(phi).dtype
    phi, m = np.broadcast_arrays(np.asarray(phi, np.float64), np.asarray(m, np.float64))
    with np.errstate(all="ignore"):
        at = _reduced(phi, m)
        found = _raised_rest(at, m, n, power) if n else _rest(at, m, power)
        turned = at.quarters != 0.0
        if np.any(turned):
            inner = np.where(turned, m, 0.5)
            one, zero = np.ones(m.shape), np.zeros(m.shape)
            if n:
                whole = 0.5 * _integral(
                    zero, 1.0 - inner, one, one, power=0.0, powers=(0.5, power + n, 1.0 - power, 0.0)
                )
            else:
                whole = special.ellipkm1(1.0 - inner) if power > 0.0 else special.ellipe(inner)
            found = np.where(turned, at.quarters * whole, 0.0) + found
        endless = np.isinf(phi)
        if np.any(endless):
            scipys = special.ellipkinc if power > 0.0 else special.ellipeinc
            found = np.where(endless, scipys(phi, m) if n == 0 else np.nan, found)
    return np.asarray(found, dtype)


def _rest(at: _Reduced, m: Any, power: float) -> Any:
    """Return an integral of the first or of the second kind (DLMF 19.25.5, 19.25.9 and 19.25.10).

    Around odd multiples of π/2 it is that of the other angle ψ of a triangle: ∫ (1 − m·cos²θ)⁻ᵖ dθ from 0 to ψ.
    """
    unit = np.where(at.beside, 1.0 - m, 1.0)
    squares = unit * at.c * at.c, at.delta, unit
    first = at.s * special.elliprf(*squares)
    if power > 0.0:
        return first
    third, edge = at.s * at.s * at.s * (1.0 / 3.0), np.where(at.delta > 0.0, at.delta, 1.0)
    low = first + np.where(at.beside, m, -m) * third * special.elliprd(*squares)
    high = first + m * third * special.elliprd(at.c * at.c, np.ones(m.shape), edge)
    high = (1.0 - m) * high + m * at.s * at.c / np.sqrt(edge)
    return np.where(at.beside, unit * low, np.where(m > 0.5, high, low))


def _raised_rest(at: _Reduced, m: Any, n: int, power: float) -> Any:
    """Return an integral with sin²ⁿθ in it: of the variable 1/sin²θ − 1/sin²φ, where its integrand is positive."""
    found = np.empty(m.shape)
    for chosen in (at.beside, ~at.beside):
        if np.any(chosen):
            (_, beside, s, c, delta), unit = [each[chosen] for each in at], 1.0 - m[chosen]
            if beside[0]:
                powers = (0.5 - n, power + n, 1.0 - power, 0.0)
                factor, operands = s * unit ** (0.5 - n - power), (unit * c * c, delta, unit, unit)
            else:
                powers, one = (0.5, power + n, 1.0 - power, 0.0), np.ones(s.shape)
                factor, operands = s ** (2 * n + 1), (c * c, delta, one, one)
            found[chosen] = 0.5 * factor * _integral(*operands, power=0.0, powers=powers)
    return found


def _in_amplitude(out: Any, phi: Any, m: Any, *, n: int, power: float) -> Any:
    square, delta = squares(phi, m)
    root, found = sqrt(delta), full(1.0, phi)
    for _ in range(n):
        found = found * (square / delta)
    return found / root if power > 0.0 else found * root


def _meant(numbers: Any, phi: Any, m: Any, n: int, power: float) -> Any:
    of = numbers.ellipf if power > 0.0 else numbers.ellipe
    return numbers.differentiated(lambda m: of(phi, m), (m,), (n,)) / numbers.rf(power, n)


legendre_integral: Primitive = elementwise(
    "legendre_integral",
    numpy=_legendre,
    partials=[
        _in_amplitude,
        lambda out, phi, m, *, n, power: (power + n) * legendre_integral(phi, m, n=n + 1, power=power),
    ],
    meaning=_meant,
    doc="∫ sin²ⁿθ·(1 − m·sin²θ)^(−power − n) dθ from 0 to φ, power ±1/2: Legendre's integrals (DLMF 19.2.4, 19.2.5).",
)


def _amplitude(u: Any, m: Any) -> Any:
    """Return SciPy's amplitude; where that is an approximation, with two steps of Newton's method."""
    dtype = np.asarray(u).dtype
    u, m = np.broadcast_arrays(np.asarray(u, np.float64), np.asarray(m, np.float64))
    found = np.asarray(special.ellipj(u, m)[3])
    # From there on to 1 Cephes takes a difference of angles and a term of a series.
    near = (m >= 0.9999999999) & (m <= 1.0) & np.isfinite(u)
    if np.any(near):
        u, m, better = u[near], m[near], found[near]
        for _ in range(2):
            step = (_legendre(better, m, n=0, power=0.5) - u) * np.sqrt(_reduced(better, m).delta)
            better = better - np.where(np.isfinite(step), step, 0.0)
        found = np.array(found)
        found[near] = better
    return np.asarray(found, dtype)


def _speed(out: Any, m: Any) -> Any:
    return sqrt(squares(out, m)[1])


jacobi_amplitude: Primitive = elementwise(
    "jacobi_amplitude",
    numpy=_amplitude,
    partials=[
        lambda out, u, m: _speed(out, m),
        lambda out, u, m: -0.5 * _speed(out, m) * legendre_integral(out, m, n=1, power=0.5),
    ],
    meaning=lambda numbers, u, m: numbers.root(
        lambda phi: numbers.ellipf(phi, m) - u, special.ellipj(float(u), float(m))[3]
    ),
    doc="Jacobi's amplitude: the φ whose elliptic integral of the first kind is u, for 0 ≤ m ≤ 1.",
)
