"""Boxes whose ends are special: zeros, the smallest and largest numbers, poles, turning points, worst roundings."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from primad import numpy as pnp
from primad import ops
from primad.enclosures import EnclosureError, IntervalArray, enclose
from primad.enclosures.bounds import LARGEST, TINY, UNIT, Bounds
from primad.enclosures.function_bounds import LEAST_GAMMA, SHAPES
from primad.enclosures.op_bounds import BOUNDS
from tests.enclosures.test_op_bounds import EXACT, EXACT_OF_TWO

SIZES = [
    0.0, TINY, 1e-320, 2.2250738585072014e-308, 1e-300, 1e-160, 1e-20, 1e-9, 1e-3, 0.1, 0.3, 0.5, 1.0 - UNIT, 1.0,
    1.0 + 2.0 * UNIT, LEAST_GAMMA, 1.5, np.pi / 2, 2.0, 3.0, np.pi, 4.5, 7.0, 10.0, 25.0, 36.7, 100.0, 171.5, 700.0,
    709.7, 710.0, 745.0, 1e5, 2.0**40, 2.0**53, 1e100, 1e154, 1.4e154, 1e300, LARGEST,
]  # fmt: skip
SPECIAL = np.array(sorted({*SIZES, *(-x for x in SIZES)}))
COUNT = 120
FARTHEST_EXP = 1e6
"""Beyond it mpmath's exponentials have exponents that take it long."""
OF_ONE = {
    **{op.name: EXACT.get(op.name) or getattr(mpmath, op.name) for op in [*SHAPES, ops.sin, ops.cos, ops.tan]},
    "leg": lambda x: mpmath.sqrt(1 - x * x), "abs": abs, "floor": mpmath.floor, "sign": mpmath.sign,
}  # fmt: skip
OF_TWO = {**EXACT_OF_TWO, "maximum": max, "minimum": min}


def drawn(rng: np.random.Generator, least: float = -np.inf, most: float = np.inf) -> Bounds:
    """Return boxes: between any special numbers, between neighbours, of one, and beside one."""
    known = SPECIAL[(least <= SPECIAL) & (most >= SPECIAL)]
    rows = []
    for kind in rng.integers(4, size=COUNT):
        first = int(rng.integers(len(known) - 1))
        low = known[first]
        beside = low + abs(low) * 10.0 ** rng.uniform(-16, 0) + 10.0 ** rng.uniform(-320, -10)
        high = (rng.choice(known), known[first + 1], low, min(beside, most, LARGEST))[kind]
        rows.append(sorted((low, high)))
    return Bounds(*np.array(rows).T)


def within(rng: np.random.Generator, low: float, high: float) -> list[float]:
    inner = SPECIAL[(low <= SPECIAL) & (high >= SPECIAL)]
    middle = np.clip(low + rng.uniform() * (0.5 * high - 0.5 * low), low, high)
    return [low, high, float(middle), *(rng.choice(inner, 2) if len(inner) else [])]


def exact(function: Any, *at: float) -> Any:
    """Return a value in many digits; None where there is none."""
    try:
        value = function(*map(mpmath.mpf, map(float, at)))
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return None if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value) else value


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", OF_ONE)
def test_special_boxes_hold_the_exact_values(name: str) -> None:
    op, rng = getattr(ops, name), np.random.default_rng(len(name))
    x = drawn(rng, *(SHAPES[op].domain if op in SHAPES else ()))
    with np.errstate(all="ignore"):
        found = BOUNDS[op](x)
    far = np.inf if name in ("sin", "cos", "tan", "abs", "floor", "sign", "sqrt", "cbrt") else FARTHEST_EXP
    for low, high, least, most in zip(*x, *found, strict=True):
        with mpmath.workdps(400 if name in ("sin", "cos", "tan") else 60):
            for at in within(rng, low, high):
                value = exact(OF_ONE[name], at) if abs(at) <= far else None
                if value is not None and not np.isnan(least):
                    assert mpmath.mpf(least) <= value <= mpmath.mpf(most), (low, high, at)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", OF_TWO)
def test_special_boxes_of_two_hold_the_exact_values(name: str) -> None:
    op, rng = getattr(ops, name), np.random.default_rng(len(name))
    x, y = drawn(rng), drawn(rng)
    if name == "remainder":
        y = Bounds(y.low, y.low)
    with np.errstate(all="ignore"):
        found = BOUNDS[op](x, y)
    digits = 700 if name in ("remainder", "floor_divide", "direction", "arctan2") else 60
    for a, b, c, d, least, most in zip(*x, *y, *found, strict=True):
        if np.isnan(least):
            continue
        for one, other in zip(within(rng, a, b), within(rng, c, d), strict=False):
            if name == "power" and abs(other) > 2000:
                continue
            with mpmath.workdps(digits):
                value = exact(OF_TWO[name], one, other)
                assert value is None or mpmath.mpf(least) <= value <= mpmath.mpf(most), ((a, b), (c, d), one, other)


@pytest.mark.parametrize("n", [-6.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 6.0, 7.0])
def test_whole_powers_of_special_boxes_hold_the_exact_values(n: float) -> None:
    rng = np.random.default_rng(9)
    x = drawn(rng)
    with np.errstate(all="ignore"):
        found = ops_power(x, n)
    for low, high, least, most in zip(*x, *found, strict=True):
        for at in within(rng, low, high):
            if at == 0 and n <= 0:
                assert np.isnan(least) or n == 0, (low, high)
            elif not np.isnan(least):
                value = mpmath.mpf(float(at)) ** int(n)
                assert mpmath.mpf(least) <= value <= mpmath.mpf(most), (low, high, at)


def ops_power(x: Bounds, n: float) -> Bounds:
    return BOUNDS[ops.power](x, Bounds(np.asarray(n), np.asarray(n)))


def holds(bounds: Any, value: Fraction) -> bool:
    return Fraction(float(bounds.low)) <= value <= Fraction(float(bounds.high))


@pytest.mark.parametrize("n", [2, 3, 5, 7])
@pytest.mark.parametrize("small", [UNIT, 0.99 * UNIT, 2.0 * UNIT * 0.51, -0.49 * UNIT])
def test_sums_that_round_the_same_way_at_each_step_hold_the_exact_value(n: int, small: float) -> None:
    """1 + u + u + …: none of the small terms is in the computed sum, or each twice."""
    x = np.array([1.0, *[small] * (n - 1)])
    box = IntervalArray(x, x)
    total, running, product, matrix = enclose(
        lambda a: (pnp.sum(a), pnp.cumsum(a)[-1], pnp.dot(a, np.ones(n)), (a[None] @ np.ones((n, 1)))[0, 0]), box
    )
    value = sum(map(Fraction, x))
    assert all(holds(found, value) for found in (total, running, product, matrix))


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("small", [0.99 * UNIT, -0.49 * UNIT])
def test_long_sums_that_round_the_same_way_hold_the_exact_value(n: int, small: float) -> None:
    """Rows are added up one after the other, and each rounding loses nearly as much as it may."""
    column = np.array([1.0, *[small] * (n - 1)])
    x = np.repeat(column[:, None], 8, axis=1)
    found = enclose(
        lambda a: (pnp.sum(a, axis=0)[0], pnp.cumsum(a, axis=0)[-1, 0], (a.T @ np.ones((n, 8)))[0, 0]),
        IntervalArray(x, x),
    )
    assert all(holds(bounds, sum(map(Fraction, column))) for bounds in found)


@pytest.mark.parametrize("n", [1, 2, 20])
@pytest.mark.parametrize(("a", "b"), [(1.5e-162, 1.6e-162), (1e-170, 1e-160), (3e-200, 1e-110), (1e-162, -2.4e-162)])
def test_products_that_are_too_small_for_any_number_are_held(n: int, a: float, b: float) -> None:
    x, y = np.full(n, a), np.full(n, b)
    value = sum((Fraction(s) * Fraction(t) for s, t in zip(x, y, strict=True)), Fraction(0))
    for product in (lambda s, t: s @ t, lambda s, t: np.sum(s * t)):
        assert holds(enclose(product, IntervalArray(x, x), IntervalArray(y, y)), value)
        assert holds(enclose(product, IntervalArray(x, x), y), value)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_products_of_wide_boxes_that_vanish_are_held(n: int) -> None:
    """Those of middles, of a middle and a radius, and of radii are each less than half of the smallest number."""
    wide = 0.7 * 2.0**-537
    x, y = (
        IntervalArray(np.full(n, 0.5 * wide), np.full(n, 1.5 * wide)),
        IntervalArray(np.zeros(n), np.full(n, 2 * wide)),
    )
    found = enclose(lambda a, b: a @ b, x, y)
    assert Fraction(float(found.high)) >= n * Fraction(1.5 * wide) * Fraction(2 * wide)
    found = enclose(lambda a, b: a @ b, IntervalArray(-x.high, -x.low), y)
    assert Fraction(float(found.low)) <= -n * Fraction(1.5 * wide) * Fraction(2 * wide)


@pytest.mark.parametrize("n", [5, 9, 17, 33, 70])
@pytest.mark.parametrize("thick", [False, True])
def test_radii_that_lose_the_same_way_at_each_step_are_held(n: int, thick: bool) -> None:
    """1 + u + u + …: sums of radii are rounded, too, and in whatever order they are added up some order loses most."""
    for place in range(0, n, 4):
        radius = np.full(n, 0.99 * UNIT)
        radius[place] = 1.0
        other = IntervalArray(-np.ones(n), np.ones(n)) if thick else np.ones(n)
        for labels in (lambda a, b: a @ b, lambda a, b: (a[None] @ b[:, None])[0, 0]):
            found = enclose(labels, IntervalArray(-radius, radius), other)
            assert holds(found, sum(map(Fraction, radius))) and holds(found, -sum(map(Fraction, radius)))


def test_products_of_wide_boxes_hold_their_corners() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        low, width = rng.normal(size=(2, 4, 3)), 10.0 ** rng.uniform(-17, 1, (2, 4, 3))
        x, y = [IntervalArray(a, a + w) for a, w in zip(low, width, strict=True)]
        found = enclose(lambda a, b: a @ b.T, x, y)
        for side in rng.integers(2, size=(4, 2, 4, 3)):
            a, b = [np.where(s, box.high, box.low) for s, box in zip(side, (x, y), strict=True)]
            for i in range(4):
                for j in range(4):
                    value = sum(Fraction(s) * Fraction(t) for s, t in zip(a[i], b[j], strict=True))
                    assert Fraction(found.low[i, j]) <= value <= Fraction(found.high[i, j])


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (-0.0, 0.0), (0.0, TINY), (-TINY, TINY)])
def test_a_box_that_touches_a_pole_is_refused(low: float, high: float) -> None:
    box = IntervalArray(low, high)
    for function in (lambda x: 1.0 / x, lambda x: x**-2.0, lambda x: x**-3.0, np.log, lambda x: 1.0 // x):
        with pytest.raises(EnclosureError, match="not proven to be defined"):
            enclose(function, box)
    with pytest.raises(EnclosureError, match="not proven to be defined"):
        enclose(np.arctan2, box, IntervalArray(-1.0, 0.0))


def test_what_overflows_is_bounded_by_the_largest_number_and_infinity() -> None:
    """A value of one end that is too large is above the largest number, and nothing else is known of it."""
    found = enclose(lambda x: (np.exp(x), -np.exp(x), x * x * x), IntervalArray(709.0, 800.0))
    assert found[0].low < 9e307 and found[0].high == np.inf and found[1].low == -np.inf
    for function, low in ((np.exp, 710.0), (lambda x: x * x, 1e155), (lambda x: x + x, 1.2e308), (np.cosh, 711.0)):
        for sign in (1.0, -1.0):
            found = enclose(lambda x, f=function, s=sign: s * f(x), IntervalArray(low, 1.1 * low))
            size = sorted(np.abs([found.low, found.high]))
            assert size[0] <= LARGEST and size[1] == np.inf


def test_angles_on_either_side_of_the_cut_are_held() -> None:
    for y in ((-0.0, 0.0), (0.0, 0.5), (-0.5, 0.0), (-0.0, 0.5)):
        found = enclose(np.arctan2, IntervalArray(*y), IntervalArray(-2.0, -1.0))
        for at in {*y, 0.0, -0.0}:
            assert found.low <= np.arctan2(at, -1.5) <= found.high
        assert mpmath.mpf(float(found.low)) <= -mpmath.pi and mpmath.mpf(float(found.high)) >= mpmath.pi


def test_branches_at_their_ends_take_both_sides() -> None:
    """Where x may be the number that it is compared with, or just not, neither side is sure."""
    for compared in (lambda x: x < 1.0, lambda x: x <= 1.0, lambda x: x > 1.0, lambda x: x >= 1.0, lambda x: x == 1.0):
        for low, high in ((0.0, 1.0), (1.0, 2.0), (1.0, 1.0), (np.nextafter(1.0, 0), 1.0), (1.0, np.nextafter(1.0, 2))):
            found = enclose(lambda x, c=compared: np.where(c(x), 5.0, -5.0), IntervalArray(low, high))
            values = [5.0 if compared(x) else -5.0 for x in (low, high)]
            assert found.low == min(values) and found.high == max(values), (low, high)


def test_products_of_known_numbers_are_themselves_where_they_are_exact() -> None:
    rng = np.random.default_rng(4)
    short = rng.integers(-(2**26), 2**26, 200) * 2.0 ** rng.integers(-300, 300, 200)
    x, y = [np.concatenate([short, SPECIAL, rng.permutation(SPECIAL), 1.0 + UNIT * rng.integers(0, 99, 100)])
            for short in (short, short[::-1])]  # fmt: skip
    products = enclose(lambda a, b: a * b, IntervalArray(x, x), IntervalArray(y, y))
    squares = enclose(lambda a: a * a, IntervalArray(x, x))
    for a, b, *ends in zip(x, y, products.low, products.high, squares.low, squares.high, strict=True):
        for value, (low, high) in ((Fraction(a) * Fraction(b), ends[:2]), (Fraction(a) ** 2, ends[2:])):
            assert (low == -np.inf or Fraction(low) <= value) and (high == np.inf or value <= Fraction(high))
            told = value == 0 or 2.0**-890 < abs(value) < 2.0**990
            if told and max(abs(a), abs(b)) < 2.0**990 and Fraction(float(value)) == value:
                assert low == high
    assert np.all(products.low[:200] == products.high[:200])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("power", [20, 30, 40, 47, 50, 51, 52, 53, 54])
def test_crests_and_poles_between_neighbours_are_seen(power: int) -> None:
    """As far out as numbers are near enough for the waves between them to matter, a quotient is rounded by as much."""
    rng = np.random.default_rng(power)
    with mpmath.workdps(60):
        for k in map(int, rng.integers(2**power, 2 ** (power + 1), 40)):
            for quarters, function, value in ((1, np.sin, 1.0), (3, np.sin, -1.0), (0, np.cos, 1.0), (2, np.cos, -1.0)):
                at = (k + mpmath.mpf(quarters) / 4) * 2 * mpmath.pi
                found = enclose(function, beside(at))
                assert found.low <= value <= found.high, (k, quarters)
            with pytest.raises(EnclosureError, match="not proven to be defined"):
                enclose(np.tan, beside((k + mpmath.mpf(1) / 2) * mpmath.pi))


def beside(at: Any) -> IntervalArray:
    """Return the numbers on either side of one that is none of float64."""
    near = float(at)
    return (
        IntervalArray(min(near, np.nextafter(near, 0.0)), near)
        if near > at
        else IntervalArray(near, np.nextafter(near, np.inf))
    )


def test_waves_far_out_are_bounded_where_no_crest_is_near() -> None:
    with mpmath.workdps(60):
        for k in (2**10, 2**30, 2**41):
            x = float((k + mpmath.mpf(1) / 8) * 2 * mpmath.pi)
            for function in (np.sin, np.cos, np.tan):
                found = enclose(function, IntervalArray(x, np.nextafter(x, np.inf)))
                assert found.width < 1e-14 + 4.0 * np.spacing(x)


ODD = [op.name for op, shape in SHAPES.items() if shape.through_zero] + ["sin", "tan"]


@pytest.mark.parametrize("name", ODD)
def test_what_goes_through_zero_has_the_sign_of_its_operand(name: str) -> None:
    assert exact(OF_ONE[name], 0.0) == 0 < exact(OF_ONE[name], 0.3)
    op = getattr(ops, name)
    at_zero, above = enclose(op, IntervalArray(0.0, 0.0)), enclose(op, IntervalArray(0.0, 0.4))
    assert at_zero.low == at_zero.high == 0.0 and above.low == 0.0 < above.high
    if name != "sqrt":
        below = enclose(op, IntervalArray(-0.4, 0.0))
        assert below.high == 0.0 > below.low
