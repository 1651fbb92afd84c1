"""The incomplete beta functions and their inverses, differentiable in all three arguments."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from primad.ops.elementwise.selection import select
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special import beta_tails
from primad.ops.special.gamma_tails import bell_polynomials, log_derivatives
from primad.system.deferred import Deferred, special

__all__ = [
    "beta_density", "beta_hazard", "betainc", "betaincc", "betainccinv", "betaincinv", "log_beta_tail",
]  # fmt: skip


def _along(a: Any, b: Any, x: Any, j: int, k: int) -> Any:
    """Differentiate the density's derivative in x: its logarithm has the slope (a − 1)/x − (b − 1)/(1 − x)."""
    y = 1.0 - x
    found = beta_density(a, b, x, n=(j, k)) * ((a - 1.0) / x - (b - 1.0) / y)
    found = found + beta_density(a, b, x, n=(j - 1, k)) * (j / x) if j else found
    return found - beta_density(a, b, x, n=(j, k - 1)) * (k / y) if k else found


def _distribution(numbers: Any, a: Any, b: Any, x: Any, n: tuple[int, int] = (0, 0)) -> Any:
    """Add the power series of DLMF 8.17.8, whose terms are polynomials of small changes of a and b.

    It has few terms where x is small, and so right of the middle is what the left leaves of the whole (DLMF 8.17.4).
    """
    if x > 0.5:
        return (0 if any(n) else 1) - _distribution(numbers, b, a, 1 - x, n[::-1])
    places = [(j, k) for j in range(n[0] + 1) for k in range(n[1] + 1)]
    fact, lead = numbers.factorial, x * (1 - x)
    term = {(j, k): lead * _density(numbers, a, b, x, (j, k)) / (fact(j) * fact(k)) for j, k in places}
    for j, k in places:  # divided by a and its change
        term[j, k] = (term[j, k] - (term[j - 1, k] if j else 0)) / a
    total, steps = dict(term), 0
    while max([abs(term[at]) for at in places]) > numbers.eps * max([abs(total[at]) for at in places]):
        steps += 1
        grown = {(j, k): (a + b + steps - 1) * term[j, k] for j, k in places}
        for j, k in places:
            grown[j, k] += (term[j - 1, k] if j else 0) + (term[j, k - 1] if k else 0)
        for j, k in places:
            term[j, k] = (x * grown[j, k] - (term[j - 1, k] if j else 0)) / (a + steps)
            total[j, k] += term[j, k]
    return total[n] * fact(n[0]) * fact(n[1])


def _density(numbers: Any, a: Any, b: Any, x: Any, n: tuple[int, int]) -> Any:
    weight = x ** (a - 1) * (1 - x) ** (b - 1) / numbers.beta(a, b)
    if not any(n):
        return weight

    def change(shape: Any, order: int) -> Any:
        return numbers.psi(order, shape) - numbers.psi(order, a + b)

    logs = numbers.log(x) - change(a, 0), numbers.log(1 - x) - change(b, 0)
    found = {(1, 0): logs[0], (0, 1): logs[1]}
    for j, k in [(j, k) for j in range(n[0] + 1) for k in range(n[1] + 1) if j + k > 1]:
        found[j, k] = numbers.psi(j + k - 1, a + b) if j and k else -change(a if j else b, j + k - 1)
    return bell_polynomials(found, n)[n] * weight


def _quantile(numbers: Any, a: Any, b: Any, p: Any) -> Any:
    start = special.betaincinv(float(a), float(b), float(p))
    return numbers.root(lambda x: _distribution(numbers, a, b, x) - p, start)


beta_density: Primitive = elementwise(
    "beta_density",
    numpy=beta_tails.beta_density,
    partials=[
        lambda out, a, b, x, *, n: beta_density(a, b, x, n=(n[0] + 1, n[1])),
        lambda out, a, b, x, *, n: beta_density(a, b, x, n=(n[0], n[1] + 1)),
        lambda out, a, b, x, *, n: _along(a, b, x, *n),
    ],
    meaning=_density,
    doc="The derivative of orders n in a and b of xᵃ⁻¹(1 − x)ᵇ⁻¹/B(a, b), the density of the beta distribution.",
)
betainc: Primitive = elementwise(
    "betainc",
    numpy=beta_tails.beta_distribution,
    partials=[
        lambda out, a, b, x, *, n: betainc(a, b, x, n=(n[0] + 1, n[1])),
        lambda out, a, b, x, *, n: betainc(a, b, x, n=(n[0], n[1] + 1)),
        lambda out, a, b, x, *, n: beta_density(a, b, x, n=n),
    ],
    meaning=_distribution,
    doc="The derivative of orders n in a and b of the regularised incomplete beta function I_x(a, b).",
)
betaincc: Primitive = elementwise(
    "betaincc",
    numpy=special.betaincc,
    partials=[
        lambda out, a, b, x: -betainc(a, b, x, n=(1, 0)),
        lambda out, a, b, x: -betainc(a, b, x, n=(0, 1)),
        lambda out, a, b, x: -beta_density(a, b, x, n=(0, 0)),
    ],
    meaning=lambda numbers, a, b, x: 1 - _distribution(numbers, a, b, x),
    doc="The complement 1 − I_x(a, b) of the regularised incomplete beta function.",
)


def _slope(place: int, a: Any, b: Any, low: Any, high: Any) -> Any:
    """Return the derivative in a, b or p of the x at which I_x(a, b) is p, by the smaller one of x and 1 − x.

    Args:
        place: of which operand.
        a: the first shape.
        b: the second shape.
        low: x.
        high: 1 − x, which is the inverse of the complement with the shapes exchanged.
    """
    right = low > 0.5
    near = select(right, b, a), select(right, a, b), select(right, high, low)
    height = beta_density(*near, n=(0, 0))
    if place == 2:
        return 1.0 / height
    orders = ((1, 0), (0, 1)) if place == 0 else ((0, 1), (1, 0))
    own, other = [betainc(*near, n=order) for order in orders]
    return select(right, other, -own) / height


def _inverse(name: str, original: Deferred, partials: list[Any], meaning: Any, said: str) -> Primitive:
    def function(a: Any, b: Any, p: Any) -> Any:
        found = original(*[np.asarray(each, np.float64) for each in (a, b, p)])  # its loop of float32 is less exact
        return np.asarray(found, getattr(p, "dtype", np.float64))

    return elementwise(name, numpy=function, partials=partials, meaning=meaning, doc=said)


betaincinv: Primitive = _inverse(
    "betaincinv",
    special.betaincinv,
    [partial(lambda i, out, a, b, p: _slope(i, a, b, out, betainccinv(b, a, p)), i) for i in range(3)],
    _quantile,
    "The x at which I_x(a, b) is p.",
)
betainccinv: Primitive = _inverse(
    "betainccinv",
    special.betainccinv,
    [partial(lambda i, out, a, b, p: -_slope(i, b, a, betaincinv(b, a, p), out), i) for i in (1, 0, 2)],
    lambda numbers, a, b, p: _quantile(numbers, a, b, 1 - p),
    "The x at which 1 − I_x(a, b) is p.",
)


def _hazard_along(out: Any, a: Any, b: Any, x: Any, *, n: tuple[int, int], upper: bool) -> Any:
    """Differentiate a hazard h in x: h′ is h·((a − 1)/x − (b − 1)/(1 − x) ± h), and n times in a and b by Leibniz."""
    (j, k), y, sign = n, 1.0 - x, 1.0 if upper else -1.0

    def order(j: int, k: int) -> Any:
        return beta_hazard(a, b, x, n=(j, k), upper=upper)

    found = out * ((a - 1.0) / x - (b - 1.0) / y)
    found = found + order(j - 1, k) * (j / x) if j else found
    found = found - order(j, k - 1) * (k / y) if k else found
    for i, m in np.ndindex(j + 1, k + 1):
        found = found + sign * math.comb(j, i) * math.comb(k, m) * order(i, m) * order(j - i, k - m)
    return found


def _log_tail(numbers: Any, a: Any, b: Any, x: Any, n: tuple[int, int], upper: bool) -> Any:
    orders, sign = [*np.ndindex(n[0] + 1, n[1] + 1)], -1 if upper else 1
    whole = _distribution(numbers, a, b, x)
    whole = 1 - whole if upper else whole
    parts = {order: sign * _distribution(numbers, a, b, x, order) / whole for order in orders[1:]}
    return log_derivatives(parts, n)[n] if any(n) else numbers.log(whole)


def _hazard(numbers: Any, a: Any, b: Any, x: Any, n: tuple[int, int], upper: bool) -> Any:
    """Return the density over the tail: exp of its logarithm, whose derivatives are those of both."""
    orders, zero = [*np.ndindex(n[0] + 1, n[1] + 1)], (0, 0)
    height = _density(numbers, a, b, x, zero)
    parts = {order: _density(numbers, a, b, x, order) / height for order in orders[1:]}
    logs = {order: log - _log_tail(numbers, a, b, x, order, upper) for order, log in log_derivatives(parts, n).items()}
    return bell_polynomials(logs, n)[n] * height / numbers.exp(_log_tail(numbers, a, b, x, zero, upper))


log_beta_tail: Primitive = elementwise(
    "log_beta_tail",
    numpy=beta_tails.log_beta_tail,
    partials=[
        lambda out, a, b, x, *, n, upper: log_beta_tail(a, b, x, n=(n[0] + 1, n[1]), upper=upper),
        lambda out, a, b, x, *, n, upper: log_beta_tail(a, b, x, n=(n[0], n[1] + 1), upper=upper),
        lambda out, a, b, x, *, n, upper: (-1.0 if upper else 1.0) * beta_hazard(a, b, x, n=n, upper=upper),
    ],
    meaning=_log_tail,
    doc="The derivative of orders n in a and b of log I_x(a, b), or of log(1 − I_x(a, b)), which go on below 1e-308.",
)
beta_hazard: Primitive = elementwise(
    "beta_hazard",
    numpy=beta_tails.beta_hazard,
    partials=[
        lambda out, a, b, x, *, n, upper: beta_hazard(a, b, x, n=(n[0] + 1, n[1]), upper=upper),
        lambda out, a, b, x, *, n, upper: beta_hazard(a, b, x, n=(n[0], n[1] + 1), upper=upper),
        _hazard_along,
    ],
    meaning=_hazard,
    doc="The derivative of orders n in a and b of the beta distribution's density over a tail.",
)
