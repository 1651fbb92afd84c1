"""Means of functions of a random number, as integrals over its quantiles.

With u = 1/(1 + e⁻ˢ) the mean of g is the integral of g(x(u))·u·(1 − u) over all s. Both tails fall exponentially there,
and the quantiles that they ask for are right to relative precision, so one rule integrates every distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.functional.control.mapping import vmap
from primad.integrate import quad
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where

Function = Callable[..., Any]

REACH = 115.0
"""Where the integral over s is cut: beyond is a probability of 1e-50. Of less, SciPy's quantiles are not all right."""
ACCURACY = 1e-11
"""Relative accuracy of an integral, which is what a sum of its parts has at best where they cancel moderately."""
UNSURE = 1e-9
"""The relative share of a moment that may lie where it is not integrated: a hundred times `ACCURACY`."""
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


def power_mean(family: Any, order: int, shapes: list[Any], origin: Any = 0.0, unit: Any = 1.0) -> Any:
    """Return the mean of ((z − origin)/unit)ᵒʳᵈᵉʳ, elementwise in arrays of parameters.

    Where it is infinite it is infinite, or NaN for an odd order if both tails are. What lies beyond the end of the
    integral is that of a power of the probability, as such a tail is. Where its next term, or a tail that is no power,
    would count there, the result is NaN.
    """
    given = [pn.asarray(p) * 1.0 for p in (*shapes, origin, unit)]
    whole = np.broadcast_shapes(*[p.shape for p in given])
    if whole:
        flat = [pn.reshape(pn.broadcast_to(p, whole), (-1,)) for p in given]
        found = vmap(lambda *p: power_mean(family, order, list(p[:-2]), p[-2], p[-1]))(*flat)
        return pn.reshape(found, whole)
    *shapes, origin, unit = given

    def power(z: Any) -> Any:
        return ((z - origin) / unit) ** order

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
