"""Bounds of functions of one number, from where they grow and fall, and how far NumPy's and SciPy's values are off.

A function that grows has its extremes at the ends. One with a single lowest or highest point is split there. What is
computed at an end is off by some ulps, which the table states; tests compare them with values of many digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from primad import ops
from primad.enclosures.bounds import Bounds, around, signed, undefined_where, within
from primad.enclosures.interval_arithmetic import absolute
from primad.ops.record.primitive import Primitive
from primad.system.deferred import loaded

Function = Callable[[Any], Any]
INFINITY = math.inf
ULPS = 4.0
"""Error of NumPy's functions in ulps: what it states for its vectors, and more than glibc's."""
SPECIAL_ULPS = 32.0
"""Error of SciPy's functions in ulps, which states none: several times the largest that was seen in 3000 draws."""
TAIL_ULPS = 8192.0
"""The same of those that fall as exp(−x²), whose rounded squares are errors of x² ulps: four times what was seen."""
LOG_GAMMA_ERROR = 1e-15
"""Absolute error of log Γ near its zeros 1 and 2: eight times the largest that was seen."""


TAIL_ERROR = float(np.finfo(np.float64).tiny)
"""Absolute error of those that fall to 0: of what is below the smallest normal number SciPy computes 0 at times."""


class Shape(Struct, frozen=True):
    """Where a function grows and falls.

    Attributes:
        lowest: the place of its only lowest point, before which it falls and behind which it grows.
        highest: the place of its only highest point. A function with neither grows everywhere, or falls everywhere.
        domain: the interval in which it is defined.
        closed: whether the domain's ends belong to it.
        least: no value is below it.
        most: no value is above it.
        through_zero: whether it grows everywhere and is 0 at 0, so that it has the sign of its operand.
        ulps: how far computed values are off.
        absolute: how far besides, near a zero of the function or where it falls to 0.
    """

    lowest: float | None = None
    highest: float | None = None
    domain: tuple[float, float] = (-INFINITY, INFINITY)
    closed: bool = True
    least: float = -INFINITY
    most: float = INFINITY
    through_zero: bool = False
    ulps: float = ULPS
    absolute: float = 0.0


def by_shape(function: Function, shape: Shape) -> Callable[[Bounds], Bounds]:
    """Return a function of bounds."""

    def bounds(x: Bounds) -> Bounds:
        first, last = shape.domain
        inside = (x.low >= first) & (x.high <= last) if shape.closed else (x.low > first) & (x.high < last)
        a, b = np.clip(x.low, first, last), np.clip(x.high, first, last)
        values = [function(a), function(b)]
        lows = [*values, *([] if shape.lowest is None else [function(np.clip(shape.lowest, a, b))])]
        highs = [*values, *([] if shape.highest is None else [function(np.clip(shape.highest, a, b))])]
        found = around(np.minimum.reduce(lows) - shape.absolute, np.maximum.reduce(highs) + shape.absolute, shape.ulps)
        if shape.through_zero:
            found = signed(found, a >= 0, b <= 0)
        return undefined_where(~inside, within(found, shape.least, shape.most))

    return bounds


# -- waves -------------------------------------------------------------------------------------------------------------

HALF_TURN, QUARTER_TURN = 3.0, 1.5
"""Sizes up to which sin and tan have the sign of their operand: a little less than π and π/2."""


def sine(x: Bounds, quarter: float = 0.0, function: Function = np.sin) -> Bounds:
    """Bounds of sin, or of sin so much of a turn further: 1 or −1 where a crest or a trough may lie inside."""
    ends = function(x.low), function(x.high)
    found = around(np.minimum(*ends), np.maximum(*ends), ULPS)
    top, bottom = _has_whole(x, quarter - 0.25), _has_whole(x, quarter + 0.25)
    found = Bounds(np.where(bottom, -1.0, found.low), np.where(top, 1.0, found.high))
    if not quarter:
        found = _of_the_same_sign(found, x, HALF_TURN)
    return undefined_where(~(np.isfinite(x.low) & np.isfinite(x.high)), within(found, -1.0, 1.0))


def cosine(x: Bounds) -> Bounds:
    """Bounds of cos."""
    return sine(x, 0.25, np.cos)


def _has_whole(x: Bounds, moved: float, period: float = 2.0 * math.pi) -> Any:
    """Say where x/period + moved may be a whole number; in doubt, so of all large numbers, it may.

    Roundings hide none. Where the sum is a whole number the quotient is w, of whole quarters, which float64 has up to
    2**51. π is rounded by less than 4e-17 of itself, less than half a unit in the last place, 5.5e-17 at least; so what
    is not below w times the period has a quotient that is rounded to w or above, and what is not above it to w or
    below. From 2**51 on quotients are whole halves, and sums with a quarter are rounded to whole numbers, which lie
    between the two in any case; sums with a half are as long as float64 has halves, and whole from there on.
    """
    first, last = x.low / period + moved, x.high / period + moved
    return np.ceil(first) <= np.floor(last)


def _of_the_same_sign(found: Bounds, x: Bounds, farthest: float) -> Bounds:
    """Return bounds of what has the sign of its operand up to a size of it."""
    return signed(found, (x.low >= 0) & (x.high <= farthest), (x.high <= 0) & (x.low >= -farthest))


def tangent(x: Bounds) -> Bounds:
    """Bounds of tan between two poles."""
    found = _of_the_same_sign(around(np.tan(x.low), np.tan(x.high), ULPS), x, QUARTER_TURN)
    return undefined_where(_has_whole(x, 0.5, math.pi), found)


# -- ops with functions of their own -----------------------------------------------------------------------------------


def leg(x: Bounds) -> Bounds:
    """Bounds of √(1 − x²)."""
    size = absolute(x)
    found = around(_leg(np.minimum(size.high, 1.0)), _leg(np.minimum(size.low, 1.0)), ULPS)
    return undefined_where(size.high > 1.0, within(found, 0.0, 1.0))


def _leg(x: Any) -> Any:
    return np.sqrt((1.0 - x) * (1.0 + x))


def of_op(op: Primitive, shape: Shape) -> Callable[[Bounds], Bounds]:
    """Return bounds of an op of one operand, computed by its own definition."""
    return by_shape(lambda x: loaded(op.numpy)(x), shape)


POSITIVE = (0.0, INFINITY)
UNIT_INTERVAL = (0.0, 1.0)
LEAST_GAMMA = 1.4616321449683623
"""Where Γ is least among positive numbers (DLMF 5.4.20)."""
SHAPES: dict[Primitive, Shape] = {
    ops.exp: Shape(least=0.0),
    ops.exp2: Shape(least=0.0),
    ops.expm1: Shape(through_zero=True, least=-1.0),
    ops.log: Shape(domain=POSITIVE, closed=False),
    ops.log2: Shape(domain=POSITIVE, closed=False),
    ops.log10: Shape(domain=POSITIVE, closed=False),
    ops.log1p: Shape(through_zero=True, domain=(-1.0, INFINITY), closed=False),
    ops.sqrt: Shape(through_zero=True, domain=POSITIVE, least=0.0, ulps=0.0),
    ops.cbrt: Shape(through_zero=True),
    ops.sinh: Shape(through_zero=True),
    ops.cosh: Shape(lowest=0.0, least=1.0),
    ops.tanh: Shape(through_zero=True, least=-1.0, most=1.0),
    ops.sech2: Shape(highest=0.0, least=0.0, most=1.0, ulps=SPECIAL_ULPS, absolute=TAIL_ERROR),
    ops.arcsin: Shape(through_zero=True, domain=(-1.0, 1.0)),
    ops.arccos: Shape(domain=(-1.0, 1.0), least=0.0),
    ops.arctan: Shape(through_zero=True),
    ops.arcsinh: Shape(through_zero=True),
    ops.arccosh: Shape(domain=(1.0, INFINITY), least=0.0),
    ops.arctanh: Shape(through_zero=True, domain=(-1.0, 1.0), closed=False),
    ops.erf: Shape(through_zero=True, least=-1.0, most=1.0, ulps=SPECIAL_ULPS),
    ops.erfc: Shape(least=0.0, most=2.0, ulps=TAIL_ULPS, absolute=TAIL_ERROR),
    ops.erfi: Shape(through_zero=True, ulps=TAIL_ULPS),
    ops.erfinv: Shape(through_zero=True, domain=(-1.0, 1.0), closed=False, ulps=SPECIAL_ULPS),
    ops.logistic: Shape(least=0.0, most=1.0, ulps=SPECIAL_ULPS, absolute=TAIL_ERROR),
    ops.logit: Shape(domain=UNIT_INTERVAL, closed=False, ulps=SPECIAL_ULPS),
    ops.softplus: Shape(least=0.0, ulps=SPECIAL_ULPS, absolute=TAIL_ERROR),
    ops.ndtr: Shape(least=0.0, most=1.0, ulps=TAIL_ULPS, absolute=TAIL_ERROR),
    ops.log_ndtr: Shape(most=0.0, ulps=TAIL_ULPS, absolute=TAIL_ERROR),
    ops.gammaln: Shape(lowest=LEAST_GAMMA, domain=POSITIVE, closed=False, ulps=SPECIAL_ULPS, absolute=LOG_GAMMA_ERROR),
    ops.gamma: Shape(lowest=LEAST_GAMMA, domain=POSITIVE, closed=False, least=0.0, ulps=SPECIAL_ULPS),
    ops.exp1: Shape(domain=POSITIVE, closed=False, least=0.0, ulps=SPECIAL_ULPS, absolute=TAIL_ERROR),
}
"""Functions of one number that turn at most once; a square root is rounded correctly."""
