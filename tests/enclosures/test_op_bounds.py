"""Bounds of every op hold what it takes: of all cases of the table on boxes, and at points to 50 digits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import primad
from primad import ops
from primad.enclosures import EnclosureError, Interval, enclose
from primad.enclosures.functions import SHAPES
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
            found.append(Interval(low, np.minimum(low + width * rng.uniform(0, 1, x.type.shape), max(x.high, x.low))))
    return found


def is_real(x: Operand) -> bool:
    values = x.type if x.array is None else x.array
    return x.literal is not None or values.dtype.kind in "biu" or values.dtype == np.float64


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
                at = [x.low + share * (x.high - x.low) if isinstance(x, Interval) else x for x in box]
                at = [np.clip(a, x.low, x.high) if isinstance(x, Interval) else a for a, x in zip(at, box, strict=True)]
                values = case.op(*at, **example.params)
                for bounds, value in zip(as_list(found), as_list(values), strict=True):
                    assert value.dtype.kind != "c"
                    unit = np.finfo(value.dtype).eps if value.dtype.kind == "f" else 0.0
                    slack = 500 * unit * (1.0 + np.max(np.abs(value), initial=0.0))
                    assert np.all(bounds.low - slack <= value), (name, width)
                    assert np.all(value <= bounds.high + slack), (name, width)


def as_list(found: Any) -> list[Any]:
    return [x if isinstance(x, Interval) else np.asarray(x) for x in (found if isinstance(found, tuple) else [found])]


EXACT = {
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
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


@pytest.mark.parametrize("op", [*SHAPES, ops.sin, ops.cos, ops.tan], ids=lambda op: op.name)
def test_bounds_at_points_hold_the_exact_value(op: Any) -> None:
    """What rounds the wrong way, or by fewer ulps than NumPy and SciPy are off, loses a value."""
    exact = EXACT.get(op.name) or getattr(mpmath, op.name)
    low, high = SHAPES[op].domain if op in SHAPES else (-np.inf, np.inf)
    rng = np.random.default_rng(3)
    points = np.concatenate([
        rng.uniform(max(low, -6.0), min(high, 6.0), 60), rng.uniform(max(low, -30.0), min(high, 30.0), 20),
        10.0 ** rng.uniform(-12, min(np.log10(high), 2.0), 20),
    ])  # fmt: skip
    points = points[(points > low) & (points < high)]
    points = points[np.isfinite(loaded(op.numpy)(points))]
    bounds = enclose(op, Interval(points, points))
    with mpmath.workdps(60):
        for x, least, most in zip(points, bounds.low, bounds.high, strict=True):
            value = exact(mpmath.mpf(x))
            assert mpmath.mpf(least) <= value <= mpmath.mpf(most), (op.name, x)
    ulps, absolute = (SHAPES[op].ulps, SHAPES[op].absolute) if op in SHAPES else (4.0, 0.0)
    assert np.all(bounds.width <= 3 * ((ulps + 1) * np.spacing(np.abs(bounds.low)) + absolute) + 5e-323)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "hypot", "power"])
def test_arithmetic_at_points_holds_the_exact_value(name: str) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=200) * 10.0 ** rng.integers(-9, 9, 200), rng.normal(size=200)
    x, y = (abs(x) if name == "power" else x), np.concatenate([y[:100], np.round(4 * y[100:]) + 0.5])
    bounds = enclose(getattr(ops, name), Interval(x, x), Interval(y, y))
    exact = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
             "div": lambda a, b: a / b, "hypot": mpmath.hypot, "power": mpmath.power}[name]  # fmt: skip
    with mpmath.workdps(60):
        for a, b, least, most in zip(x, y, bounds.low, bounds.high, strict=True):
            assert mpmath.mpf(least) <= exact(mpmath.mpf(a), mpmath.mpf(b)) <= mpmath.mpf(most), (a, b)


def test_sums_and_products_of_matrices_hold_the_exact_value() -> None:
    from fractions import Fraction

    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(4, 300)) * 10.0 ** rng.integers(-9, 9, (4, 300)), rng.normal(size=(300, 3))
    sums, products = enclose(lambda a, b: (np.sum(a, axis=1), a @ b), Interval(a, a), Interval(b, b))
    for i in range(4):
        exact = sum(map(Fraction, a[i]))
        assert Fraction(sums.low[i]) <= exact <= Fraction(sums.high[i])
        for j in range(3):
            exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a[i], b[:, j], strict=True))
            assert Fraction(products.low[i, j]) <= exact <= Fraction(products.high[i, j])
    assert np.all(products.width < 1e-9 * np.max(np.abs(a)))
