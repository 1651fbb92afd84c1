"""Bounds of every op hold what it takes: of all cases of the table on boxes, and at points to 50 digits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import primad
from primad import numpy as pnp
from primad import ops
from primad.enclosures import EnclosureError, IntervalArray, enclose
from primad.enclosures.function_bounds import SHAPES
from primad.enclosures.op_bounds import BOUNDS, JUMPS, SQUARES, WITHOUT, why_not
from primad.system.deferred import loaded
from primad.verify.cases.drawn_cases import Example, Operand, Seeded
from tests.cases import CASES, NAMES

WIDTHS = (0.0, 1e-9, 0.03, 0.4)
BY_TABLE = [name for name in NAMES if CASES[name].through is None and not CASES[name].op.holds_program]


def test_every_op_has_bounds_or_a_reason() -> None:
    shipped = set(ops.ALL)
    assert not BOUNDS.keys() & WITHOUT.keys()
    assert (BOUNDS.keys() | WITHOUT.keys() | SQUARES.keys() | JUMPS.keys()) <= shipped
    for op in shipped:
        assert why_not(op) or op in BOUNDS, op.name
        assert op in BOUNDS or op in WITHOUT or op.axes.pointwise, op.name


def boxes(example: Example, rng: np.random.Generator, width: float) -> list[Any]:
    """Return an interval for each float operand, and others as they are."""
    found: list[Any] = []
    for x in example.operands:
        if x.literal is not None:
            found.append(x.literal)
        elif x.array is not None:
            found.append(x.array)
        else:
            low = rng.uniform(x.low, x.high, x.type.shape)
            found.append(
                IntervalArray(low, np.minimum(low + width * rng.uniform(0, 1, x.type.shape), max(x.high, x.low)))
            )
    return found


def is_real(x: Operand) -> bool:
    values = x.type if x.array is None else x.array
    return x.literal is not None or values.dtype.kind in "biu" or values.dtype == np.float64


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", BY_TABLE)
def test_bounds_hold_all_values(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(len(name))
    for index in range(3):
        example = case.draw(Seeded(f"{name}, {index}"))
        if not all(map(is_real, example.operands)):
            continue
        for width in WIDTHS:
            box = boxes(example, rng, width)
            try:
                found = enclose(lambda *xs, params=example.params: case.op(*xs, **params), *box)
            except (EnclosureError, primad.NotDifferentiableError):
                continue
            for _ in range(6):
                share = rng.choice([0.0, 0.3, 0.5, 1.0])
                at = [x.low + share * (x.high - x.low) if isinstance(x, IntervalArray) else x for x in box]
                at = [
                    np.clip(a, x.low, x.high) if isinstance(x, IntervalArray) else a
                    for a, x in zip(at, box, strict=True)
                ]
                values = case.op(*at, **example.params)
                for bounds, value in zip(as_list(found), as_list(values), strict=True):
                    assert value.dtype.kind != "c"
                    unit = np.finfo(value.dtype).eps if value.dtype.kind == "f" else 0.0
                    slack = 500 * unit * (1.0 + np.max(np.abs(value), initial=0.0))
                    assert np.all(bounds.low - slack <= value), (name, width)
                    assert np.all(value <= bounds.high + slack), (name, width)


def as_list(found: Any) -> list[Any]:
    return [
        x if isinstance(x, IntervalArray) else np.asarray(x) for x in (found if isinstance(found, tuple) else [found])
    ]


EXACT = {
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "sech2": lambda x: mpmath.sech(x) ** 2,
    "logit": lambda x: mpmath.log(x / (1 - x)),
    "ndtr": mpmath.ncdf,
    "log_ndtr": lambda x: mpmath.log1p(-mpmath.ncdf(-x)) if x > 0 else mpmath.log(mpmath.ncdf(x)),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "gammaln": mpmath.loggamma,
    "log2": lambda x: mpmath.log(x, 2),
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh, "arctanh": mpmath.atanh, "exp1": mpmath.e1, "tan": mpmath.tan, "sin": mpmath.sin,
    "cos": mpmath.cos,
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("op", [*SHAPES, ops.sin, ops.cos, ops.tan], ids=lambda op: op.name)
def test_bounds_at_points_hold_the_exact_value(op: Any) -> None:
    """What rounds the wrong way, or by fewer ulps than NumPy and SciPy are off, loses a value."""
    exact = EXACT.get(op.name) or getattr(mpmath, op.name)
    low, high = SHAPES[op].domain if op in SHAPES else (-np.inf, np.inf)
    rng = np.random.default_rng(3)
    points = np.concatenate([
        rng.uniform(max(low, -6.0), min(high, 6.0), 60), rng.uniform(max(low, -30.0), min(high, 30.0), 20),
        10.0 ** rng.uniform(-12, min(np.log10(high), 2.0), 20),
        10.0 ** rng.uniform(-320, min(np.log10(high), 300.0), 20), rng.uniform(max(low, -760.0), min(high, 760.0), 40),
    ])  # fmt: skip
    points = points[(points > low) & (points < high)]
    with np.errstate(all="ignore"):
        points = points[np.isfinite(loaded(op.numpy)(points))]
    if op is ops.tan:
        points = points[np.abs(points) < 2.0**40]  # farther, a pole may be between a number and the next
    bounds = enclose(op, IntervalArray(points, points))
    with mpmath.workdps(400):
        for x, least, most in zip(points, bounds.low, bounds.high, strict=True):
            value = exact(mpmath.mpf(x))
            assert mpmath.mpf(least) <= value <= mpmath.mpf(most), (op.name, x)
    ulps, absolute = (SHAPES[op].ulps, SHAPES[op].absolute) if op in SHAPES else (4.0, 0.0)
    size = np.maximum(np.abs(bounds.low), np.abs(bounds.high))
    narrow = bounds.width <= 3 * ((ulps + 1) * np.spacing(size) + absolute) + 5e-323
    assert np.all(narrow | (np.abs(points) > 100)), points[~narrow]


EXACT_OF_TWO = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "hypot": mpmath.hypot, "power": mpmath.power, "remainder": lambda a, b: a - b * mpmath.floor(a / b),
    "floor_divide": lambda a, b: mpmath.floor(a / b), "direction": lambda a, b: a / mpmath.hypot(a, b),
    "arctan2": mpmath.atan2,
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT_OF_TWO)
def test_arithmetic_at_points_holds_the_exact_value(name: str) -> None:
    """Multiples in tenths are just beside where a remainder jumps; sizes go up to the largest and the smallest."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=200) * 10.0 ** rng.integers(-9, 9, 200), rng.normal(size=200)
    x, y = (abs(x) if name == "power" else x), np.concatenate([y[:100], np.round(4 * y[100:]) + 0.5])
    if name != "power":
        scales = 10.0 ** np.repeat([-322.0, -310.0, 0.0, 300.0, 307.9], 10)
        some = rng.uniform(0.5, 1.8, (2, 50)) * scales
        x = np.concatenate([x, np.arange(1, 31) / 10, np.arange(-30, 0).astype(float), some[0]])
        y = np.concatenate([y, np.repeat([0.1, -0.3], 15), np.repeat([0.1, -0.3], 15), some[1]])
    y_box = y if name == "remainder" else IntervalArray(y, y)
    bounds = enclose(getattr(ops, name), IntervalArray(x, x), y_box)
    with mpmath.workdps(700):
        for a, b, least, most in zip(x, y, bounds.low, bounds.high, strict=True):
            value = EXACT_OF_TWO[name](mpmath.mpf(a), mpmath.mpf(b))
            assert mpmath.mpf(least) <= value <= mpmath.mpf(most), (a, b)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_whole_numbers_are_bounded_as_their_type_holds_them(dtype: Any) -> None:
    """They wrap where they leave the type's range, and have more bits than float64 where they are large."""
    largest = np.iinfo(dtype).max
    known = np.array([0, 1, 5, largest // 2, largest - 1, largest, min(largest, 2**53 + 1), np.iinfo(dtype).min], dtype)
    programs = {
        "add": lambda k, c: k + c, "sub": lambda k, c: k - c, "mul": lambda k, c: k * c, "square": lambda k, c: k * k,
        "from": lambda k, c: c - k, "sum": lambda k, c: pnp.sum(k + c, dtype=dtype), "least": pnp.minimum,
        "quotient": lambda k, c: c // (k + dtype(1)), "dot": lambda k, c: pnp.dot(k + c, c),
    }  # fmt: skip
    rng = np.random.default_rng(8)
    for name, program in programs.items():
        for low, width in [(0.0, 0.5), (2.3, 0.5), (2.3, 4.0), (90.0, 30.0)]:
            low = np.full(8, low)
            found = enclose(lambda x, c, p=program: p(x.astype(dtype), c), IntervalArray(low, low + width), known)
            for at in (low, low + width, low + width * rng.uniform(size=8)):
                with np.errstate(all="ignore"):
                    value = np.atleast_1d(np.asarray(program(at.astype(dtype), known)))
                ends = zip(value, np.atleast_1d(found.low), np.atleast_1d(found.high), strict=True)
                assert all(float(a) <= int(v) <= float(b) for v, a, b in ends), (name, low[0])


def test_an_index_of_a_box_is_whole_where_it_is_known() -> None:
    found = enclose(lambda x, a: a[x.astype(int)], IntervalArray(1.2, 1.3), np.array([1.0, 2.0, 3.0]))
    assert found.low == found.high == 2.0
    with pytest.raises(EnclosureError, match="depends on where in the box"):
        enclose(lambda x, a: a[x.astype(int)], IntervalArray(0.9, 1.3), np.array([1.0, 2.0, 3.0]))


def test_sums_and_products_of_matrices_hold_the_exact_value() -> None:
    from fractions import Fraction

    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(4, 300)) * 10.0 ** rng.integers(-9, 9, (4, 300)), rng.normal(size=(300, 3))
    sums, products = enclose(lambda a, b: (np.sum(a, axis=1), a @ b), IntervalArray(a, a), IntervalArray(b, b))
    for i in range(4):
        exact = sum(map(Fraction, a[i]))
        assert Fraction(sums.low[i]) <= exact <= Fraction(sums.high[i])
        for j in range(3):
            exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a[i], b[:, j], strict=True))
            assert Fraction(products.low[i, j]) <= exact <= Fraction(products.high[i, j])
    assert np.all(products.width < 1e-9 * np.max(np.abs(a)))


@pytest.mark.parametrize("scale", [5e-324, 3e-310, 1e300])
def test_sums_of_the_smallest_and_the_largest_hold_the_exact_value(scale: float) -> None:
    from fractions import Fraction

    x = np.array([[1.0, 3.0], [7.0, 2.0]]) * scale
    box = IntervalArray(x, x)
    found = enclose(lambda a: (pnp.sum(a, axis=0), pnp.cumsum(a, axis=0), a @ np.ones((2, 1)), pnp.sum(a[[0, 0]])), box)
    columns = [sum(map(Fraction, column)) for column in x.T]
    exact = [
        columns, [[Fraction(v) for v in x[0]], columns],
        [[sum(map(Fraction, row))] for row in x], 2 * sum(map(Fraction, x[0])),
    ]  # fmt: skip
    for bounds, values in zip(found, exact, strict=True):
        ends = zip(np.ravel(np.array(values, object)), np.ravel(bounds.low), np.ravel(bounds.high), strict=True)
        assert all(Fraction(a) <= v <= Fraction(b) for v, a, b in ends)
