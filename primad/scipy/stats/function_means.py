"""Means of functions of a random number: integrals over its quantiles, and sums over whole numbers.

With u = 1/(1 + e⁻ˢ) the mean of g is the integral of g(x(u))·u·(1 − u) over all s. Both tails fall exponentially there,
and the quantiles that they ask for are right to relative precision, so one rule integrates every distribution.

Sums begin at the median and go both ways, block by block, until what is left counts no more. Such a loop is
differentiated as it is: the derivatives of the probabilities left out are as small as these, but for a power.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.functional.control.mapping import vmap
from primad.functional.control.while_loops import while_loop
from primad.functional.recorded_values import stop_gradient
from primad.integrate import quad
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.scipy.stats.draws import middle_of

Function = Callable[..., Any]

REACH = 115.0
"""Where the integral over s is cut: beyond is a probability of 1e-50. Of less, SciPy's quantiles are not all right."""
ACCURACY = 1e-11
"""Relative accuracy of an integral, which is what a sum of its parts has at best where they cancel moderately."""
UNSURE = 1e-9
"""The relative share of a moment that may lie where it is not integrated: a hundred times `ACCURACY`."""
BLOCK = 128
"""How many whole numbers, on either side of the median, are added in one step of a sum."""
LEFT = 1e-40
"""The probability of a block, at which a sum ends: where a function grows in the tail, its terms say when."""
BLOCKS = 100_000
"""The most blocks of a sum, together 25 million numbers: about a second."""
INTERVALS = 400
"""The most intervals of one: a kink inside takes a few dozen."""


def _weighted(family: Any, g: Function, s: Any, shapes: Any) -> Any:
    """Return the integrand at s."""
    tail = special.expit(-pn.abs(s))
    low, high = (family.functions[name](tail, *shapes) for name in ("ppf", "isf"))
    return g(pn.where(s < 0.0, low, high)) * tail * (1.0 - tail)


def parts_of(
    family: Any, g: Function, shapes: list[Any], ends: tuple[Any, Any] = (-REACH, REACH), known: Any = True
) -> tuple[Any, Any]:
    """Return the parts below and above the median of the mean of g(z), of a standard form whose shapes are numbers.

    Args:
        family: the distribution.
        g: a function of z.
        shapes: of the distribution.
        ends: log-odds of the probability, between which to integrate.
        known: whether there is a mean; where not, the parts are 0.
    """
    low, high = ends
    middle = pn.clip(0.0, low, high)  # a quantile may have a kink at the median

    def integrand(s: Any, known: Any, *shapes: Any) -> Any:
        return pn.where(known, _weighted(family, g, s, shapes), 0.0)

    def part(a: Any, b: Any) -> Any:
        return quad(integrand, a, b, (known, *shapes), epsabs=0.0, epsrel=ACCURACY, limit=INTERVALS)[0]

    return part(low, middle), part(middle, high)


def sum_of(
    family: Any, g: Function, shapes: list[Any], ends: tuple[Any, Any] = (-math.inf, math.inf)
) -> tuple[Any, Any]:
    """Return the sum of g(z) times its probability between two ends, and that of the probabilities.

    They are NaN where what counts is more than can be added.

    Args:
        family: a distribution of whole numbers, whose shapes are numbers.
        g: a function of an array of z.
        shapes: of the distribution.
        ends: the least and the largest z that count.
    """
    start = middle_of(family.name, shapes)
    steps = np.arange(float(BLOCK))

    def terms(z: Any) -> tuple[Any, Any, Any]:
        inside, below, above, _ = family._within(z, shapes, 0.0, 1.0)
        chance = pn.where(below | above, 0.0, pn.exp(family.log_density(inside, *shapes)))
        counted = (z >= ends[0]) & (z <= ends[1]) & (chance > 0.0)  # 0 where a function overflows
        term = pn.where(counted, chance * g(pn.where(counted, inside, start)), 0.0)
        return pn.sum(term), pn.sum(pn.where(counted, chance, 0.0)), stop_gradient(pn.sum(chance) + 0.0 * pn.sum(term))

    def step(state: Any) -> Any:
        count, found, share, _, _ = state
        up, down = terms(start + count * BLOCK + steps), terms(start - 1.0 - count * BLOCK - steps)
        more = up[0] + down[0]
        return count + 1.0, found + more, share + up[1] + down[1], up[2] + down[2], stop_gradient(pn.abs(more))

    def counts_still(state: Any) -> Any:
        _, found, _, left, last = state
        return (left > LEFT) | (last > np.finfo(np.float64).eps ** 2 * pn.abs(found))

    def goes_on(state: Any) -> Any:
        return (state[0] < BLOCKS) & counts_still(state)

    zero = 0.0 * sum((pn.sum(shape) for shape in shapes), start)
    state = while_loop(goes_on, step, (zero, zero, zero, zero + 1.0, zero), max_steps=BLOCKS)
    whole = pn.logical_not(counts_still(state))
    return defined_where(whole, state[1]), defined_where(whole, state[2])


def power_mean(family: Any, order: int, shapes: list[Any], origin: Any = 0.0, unit: Any = 1.0) -> Any:
    """Return the mean of ((z − origin)/unit)ᵒʳᵈᵉʳ, elementwise in arrays of parameters.

    Where it is infinite it is infinite, or NaN for an odd order if both tails are. What lies beyond the end of the
    integral is that of a power of the probability, as such a tail is. Where its next term, or a tail that is no power,
    would count there, the result is NaN.
    """
    given = [pn.asarray(p) * 1.0 for p in (*shapes, origin, unit)]
    return _of_each(lambda *p: _power_mean(family, order, list(p[:-2]), p[-2], p[-1]), given)


def entropy_of(family: Any, shapes: list[Any]) -> Any:
    """Return the mean of −log p(z), elementwise in arrays of parameters."""

    def of_numbers(*shapes: Any) -> Any:
        def surprise(z: Any) -> Any:
            return -family.log_density(z, *shapes)

        if family.discrete:
            return sum_of(family, surprise, list(shapes))[0]
        return sum(parts_of(family, surprise, list(shapes)))

    return _of_each(of_numbers, [pn.asarray(p) * 1.0 for p in shapes])


def _of_each(compute: Function, given: list[Any]) -> Any:
    """Return what a function of numbers finds, elementwise in arrays of them."""
    whole = np.broadcast_shapes(*[p.shape for p in given])
    if not whole:
        return compute(*given)
    flat = [pn.reshape(pn.broadcast_to(p, whole), (-1,)) for p in given]
    return pn.reshape(vmap(compute)(*flat), whole)


def _power_mean(family: Any, order: int, shapes: list[Any], origin: Any, unit: Any) -> Any:
    """Return the mean of a power, of parameters that are numbers."""

    def power(z: Any) -> Any:
        return ((z - origin) / unit) ** order

    if family.discrete:
        return sum_of(family, power, shapes)[0]
    tail = family.functions.get("tail", lambda *shapes: math.inf)(*shapes)
    finite = (order < tail) & family.valid(*shapes)
    rate = 1.0 - order / pn.where(finite, tail, 2.0 * order + 1.0)
    below, above = (pn.where(finite, _weighted(family, power, s, shapes) / rate, 0.0) for s in (-REACH, REACH))
    two_sided = _is_whole_line(*family.support(*shapes))
    rest = above + below if two_sided else above
    lower, upper = parts_of(family, power, shapes, known=finite)
    unsure = pn.exp(-REACH / tail) * (pn.abs(above) + pn.abs(below)) > UNSURE * (pn.abs(lower) + pn.abs(upper))
    found = defined_where(pn.logical_not(unsure), lower + upper + rest)
    return defined_where(finite, found) if two_sided and order % 2 else pn.where(finite, found, math.inf)


def _is_whole_line(low: Any, high: Any) -> bool:
    return isinstance(low, float) and isinstance(high, float) and low == -math.inf and high == math.inf


def central(family: Any, order: int, shapes: list[Any]) -> Any:
    """Return the mean of the power of the distance from the mean, in standard deviations."""
    return power_mean(family, order, shapes, family.number("mean", shapes), pn.sqrt(family.number("var", shapes)))
