"""Bounds of whole functions: Taylor models, loops, kinks and jumps, random programs, ranges and roots."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import primad
from primad import numpy as pnp
from primad.enclosures import EnclosureError, IntervalArray, Range, enclose, range_of, roots
from primad.enclosures.enclosing import RecordedFunction
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program

W = np.random.default_rng(1).normal(size=(2, 12))
V = np.random.default_rng(2).normal(size=12)


def network(x: Any) -> Any:
    return np.tanh(x @ W + 0.1 * V) @ V


SMOOTH: dict[str, Any] = {
    "network": network,
    "laplacian": lambda x: np.trace(primad.hessian(network)(x)),
    "gradient": lambda x: primad.grad(network)(x),
    "product": lambda x: np.exp(-x[0]) * np.sin(3.0 * x[1]) / (2.0 + x[0] * x[1]),
    "loop": lambda x: primad.fori_loop(0, 6, lambda i, y: y + 0.1 * np.sin(y * x[1]), x[0]),
    "polynomial": lambda x: x[0] ** 4 - 3.0 * x[0] ** 2 * x[1] + (x[1] - 0.5) ** 3,
    "root": lambda x: np.sqrt(1.0 + x @ x) ** 1.5,
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("name", SMOOTH)
def test_taylor_models_hold_all_values(name: str, order: int) -> None:
    rng = np.random.default_rng(order)
    for width in (0.5, 0.05, 1e-6):
        low = rng.uniform(-1.0, 1.0, 2)
        box = IntervalArray(low, low + width * np.array([1.0, 0.7]))
        bounds = enclose(SMOOTH[name], box, order=order)
        for share in rng.uniform(0, 1, (20, 2)):
            value = SMOOTH[name](np.clip(low + share * box.width, box.low, box.high))
            assert np.all(bounds.low <= value + 1e-13) and np.all(value <= bounds.high + 1e-13)


def test_excess_falls_with_the_square_of_the_width_and_with_the_order() -> None:
    found: dict[int, list[float]] = {}
    for order in range(4):
        for width in (0.01, 0.005):
            bounds = enclose(SMOOTH["product"], IntervalArray([0.3, 0.2], [0.3 + width, 0.2 + width]), order=order)
            grid = np.stack(np.meshgrid(*[np.linspace(a, a + width, 60) for a in (0.3, 0.2)]), -1).reshape(-1, 2)
            values = np.array([SMOOTH["product"](x) for x in grid])
            found.setdefault(order, []).append(float(bounds.width - (values.max() - values.min())))
        wide, narrow = found[order]
        assert np.log2(wide / narrow) > (1.6 if order else 0.8), order
    assert found[0][1] > 3 * found[1][1] and found[1][1] > 2 * found[2][1] and found[2][1] > found[3][1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(30))
def test_random_programs_stay_within_their_bounds(seed: int) -> None:
    function = draw_program(Seeded(seed))
    rng = np.random.default_rng(seed)
    if any(type.dtype != np.float64 for type in function.in_types):
        return
    arguments = [rng.uniform(-1.5, 1.5, type.shape) for type in function.in_types]
    box = [IntervalArray(x, x + 0.01) for x in arguments]
    for order in (0, 1):
        try:
            bounds = enclose(function, *box, order=order)
        except EnclosureError:
            continue
        found = primad.recording.tree.leaves(bounds)
        for _ in range(4):
            at = [x.low + rng.uniform() * (x.high - x.low) if isinstance(x, IntervalArray) else x for x in box]
            for interval, value in zip(found, primad.recording.tree.leaves(function(*at)), strict=True):
                if np.all(np.isfinite(value)):
                    slack = 1e-10 * (1.0 + np.abs(value))
                    assert np.all(interval.low <= value + slack) and np.all(value - slack <= interval.high)


def step(x: Any) -> Any:
    return np.where(x > 0, x + 1.0, x)


JUMPS: dict[str, Any] = {
    "where": step,
    "floor": lambda x: np.floor(3.0 * x) + x,
    "remainder": lambda x: np.remainder(x, 0.3),
    "angle": lambda x: np.arctan2(x, -1.0),
    "stopped": lambda x: primad.stop_gradient(x) + x * x,
    "branch": lambda x: primad.cond(x > 0, lambda: x * x + 1.0, lambda: x),
    "a rule that lies": lambda x: lying(x) + x,
}


@primad.custom_jvp
def lying(x: Any) -> Any:
    return np.sin(5.0 * x)


lying.defjvp(lambda primals, tangents: (lying(*primals), 0.0 * tangents[0]))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", JUMPS)
def test_what_jumps_or_has_rules_of_its_own_is_not_taken_for_its_derivative(name: str, order: int) -> None:
    for low, high in ((-0.5, 0.6), (-1e-3, 1e-3), (0.1, 1.2)):
        bounds = enclose(JUMPS[name], IntervalArray(low, high), order=order)
        for x in np.linspace(low, high, 101):
            assert bounds.low - 1e-14 <= JUMPS[name](x) <= bounds.high + 1e-14


def test_kinks_have_mean_value_forms() -> None:
    bounds = enclose(lambda x: np.maximum(x, 0.5 * x) + abs(x - 0.1), IntervalArray(-0.1, 0.3), order=3)
    assert bounds.low <= 0.0 and 0.5 <= bounds.high <= 0.9


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: 1.0 / x, "div is not proven to be defined"),
        (np.log, "log is not proven to be defined"),
        (lambda x: np.linalg.inv(np.stack([np.stack([x, x]), np.stack([x, 2 * x])])), "has no bounds"),
        (lambda x: primad.numpy.take(np.arange(3.0), (x > 0).astype(int)), "an index depends on where"),
        (lambda x: primad.while_loop(lambda y: y < 1.0, lambda y: y + 0.5, x, max_steps=9), "how many steps"),
    ],
)
def test_what_has_no_bounds_is_said(function: Any, said: str) -> None:
    with pytest.raises(EnclosureError, match=said):
        enclose(function, IntervalArray(-0.5, 0.5))


HOLES: dict[str, Any] = {
    "a quotient of itself": lambda x: x / x,
    "of powers": lambda x: x**3 / x**3,
    "both sides of a pole": lambda x: np.arctan(1.0 / x),
    "a sign": lambda x: np.sqrt(x * x) / x,
    "a root squared": lambda x: np.sqrt(x) ** 2,
    "a logarithm less itself": lambda x: np.log(x) - np.log(2.0 * x),
    "nothing times a pole": lambda x: 0.0 * (1.0 / x),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", HOLES)
def test_a_derivative_proves_no_value(name: str, order: int) -> None:
    """That of x/x is 0, also at 0, where x/x is no number."""
    with pytest.raises(EnclosureError, match="not proven to be defined"):
        enclose(HOLES[name], IntervalArray(-1.0, 2.0), order=order)
    found = roots(lambda x: HOLES[name](x) - 0.5, IntervalArray(-1.0, 1.0), width=1e-2)
    assert not any(0.0 in x for (x,) in found.proven)
    with pytest.raises(EnclosureError, match="not proven after"):
        range_of(HOLES[name], IntervalArray(-1.0, 2.0), width=0.1, order=order, most=50)


def test_a_second_derivative_proves_no_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of √x² is 0 on both sides of 0, where the first one jumps: here as if a law said that it is 0 at 0, too."""

    def derived(self: RecordedFunction, order: int) -> Any:
        del self
        slope = lambda x: pnp.reshape(x / np.sqrt(x * x), (1,))  # noqa: E731
        return slope if order == 1 else lambda x: pnp.reshape(0.0 * x, (1,) * order)

    monkeypatch.setattr(RecordedFunction, "_derived", derived)
    for order in range(5):
        bounds = enclose(lambda x: np.sqrt(x * x), IntervalArray(-1.0, 2.0), order=order)
        assert bounds.low <= 0.0 and bounds.high >= 2.0, order


OVERFLOWS: dict[str, tuple[Any, float, float, str]] = {
    "exp": (np.exp, 709.0, 710.0, "exp"),
    "hidden by what follows": (lambda x: 1.0 / np.exp(x), 709.0, 710.0, "exp"),
    "a power": (lambda x: x**4, 1e77, 2e77, "power|mul"),
    "a product": (lambda x: np.sum(x * x * np.ones(3)), 1e153, 1.2e154, "mul|sum|contract"),
    "a quotient": (lambda x: 1.0 / (1e-309 + 0.0 * x), 0.0, 1.0, "div"),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_that_nothing_overflows_is_proven_where_it_is_asked(name: str) -> None:
    function, low, high, said = OVERFLOWS[name]
    assert enclose(function, IntervalArray(low, high)).high > 0
    with pytest.raises(EnclosureError, match=f"({said}) is not proven to stay below"):
        enclose(function, IntervalArray(low, high), finite=True)
    if name != "a quotient":
        enclose(function, IntervalArray(0.5 * low, 0.9 * low), finite=True)


def test_what_rounds_by_more_is_not_said_to_be_finite() -> None:
    with pytest.raises(EnclosureError, match="float32 is computed"):
        enclose(lambda x: 1.0 / (1.0 - x.astype(np.float32)), IntervalArray(0.5, 1.0 - 1e-9), finite=True)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(primad.ShapeError, match="low <= high"):
        IntervalArray([0.0, 2.0], [1.0, 1.0])
    with pytest.raises(primad.ShapeError, match="Taylor model of order 5"):
        enclose(np.sin, IntervalArray(0, 1), order=5)
    with pytest.raises(primad.ShapeError, match="nothing varies"):
        range_of(np.sin, 1.0, width=0.1)
    with pytest.raises(primad.ShapeError, match="one number"):
        range_of(lambda x: x * 1.0, IntervalArray([0, 0], 1), width=0.1)
    with pytest.raises(primad.ShapeError, match="1 equation for 2 unknowns"):
        roots(np.sum, IntervalArray([0, 0], 1))


# Published ranges of Taylor-model benchmarks (Darulova and Kuncak's "Daisy" functions), by dense sampling here.
DAISY: dict[str, tuple[Any, list[tuple[float, float]]]] = {
    "doppler": (lambda u, v, t: -(331.4 + 0.6 * t) * v / (331.4 + 0.6 * t + u) ** 2,
                [(-100, 100), (20, 2e4), (-30, 50)]),
    "jet": (
        lambda a, b: a + ((2 * a * ((3 * a * a + 2 * b - a) / (a * a + 1)) * ((3 * a * a + 2 * b - a) / (a * a + 1) - 3)
                          + a * a * (4 * ((3 * a * a + 2 * b - a) / (a * a + 1)) - 6)) * (a * a + 1)
                          + 3 * a * a * ((3 * a * a + 2 * b - a) / (a * a + 1)) + a**3 + a
                          + 3 * ((3 * a * a + 2 * b - a) / (a * a + 1))), [(-5, 5), (-20, 5)]),
    "predator prey": (lambda x: 4.0 * x * x / (1.0 + (x / 1.11) ** 2), [(0.1, 0.3)]),
    "turbine": (lambda v, w, r: 3 + 2 / (r * r) - 0.125 * (3 - 2 * v) * (w * w * r * r) / (1 - v) - 4.5,
                [(-4.5, -0.3), (0.4, 0.9), (3.8, 7.8)]),
    "sine": (lambda x: x - x**3 / 6.0 + x**5 / 120.0 - x**7 / 5040.0, [(-1.57079632679, 1.57079632679)]),
    "square root": (lambda x: 1.0 + 0.5 * x - 0.125 * x * x + 0.0625 * x**3 - 0.0390625 * x**4, [(0.0, 1.0)]),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", DAISY)
def test_ranges_are_those_of_dense_samples(name: str) -> None:
    function, domain = DAISY[name]
    grids = np.meshgrid(*[np.linspace(low, high, 41) for low, high in domain])
    values = function(*grids)
    width = 0.02 * float(np.ptp(values))
    found = range_of(function, *[IntervalArray(*ends) for ends in domain], width=width, most=40_000)
    assert found.finished
    assert found.bounds.low <= values.min() and values.max() <= found.bounds.high
    assert found.bounds.low >= values.min() - 2 * width and found.bounds.high <= values.max() + 2 * width
    assert found.attained.low >= found.bounds.low and found.attained.high <= found.bounds.high


def test_a_search_that_is_not_finished_is_true_all_the_same() -> None:
    seen: list[int] = []
    found = range_of(SMOOTH["network"], IntervalArray([-1, -1], [1, 1]), width=1e-6, most=100, callback=seen.append)
    assert isinstance(found, Range) and not found.finished
    values = [network(x) for x in np.random.default_rng(0).uniform(-1, 1, (500, 2))]
    assert found.bounds.low <= min(values) and max(values) <= found.bounds.high
    assert seen == sorted(set(seen)) and seen[-1] == found.boxes
    with pytest.raises(EnclosureError, match="not proven after"):
        range_of(lambda x: 1.0 / x, IntervalArray(-1, 1), width=1.0, most=50)


def test_no_more_boxes_are_looked_at_than_are_allowed() -> None:
    """The whole one is looked at always; those that reach furthest are halved when not all can be."""
    values = [network(x) for x in np.random.default_rng(0).uniform(-1, 1, (500, 2))]
    widths = []
    for most in (0, 1, 2, 3, 4, 40, 333, 1000):
        found = range_of(SMOOTH["network"], IntervalArray([-1, -1], [1, 1]), width=1e-9, most=most)
        assert max(1, most - 1) <= found.boxes <= max(1, most) and not found.finished
        assert found.bounds.low <= min(values) and max(values) <= found.bounds.high
        widths.append(float(found.bounds.width))
    assert widths == sorted(widths, reverse=True) and widths[-1] < 0.7 * widths[0]


@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 1.0)])
def test_searches_refuse_boxes_without_end(ends: tuple[float, float]) -> None:
    with pytest.raises(primad.ShapeError, match="infinite"):
        range_of(lambda x: 1.0 / (1.0 + x * x), IntervalArray(*ends), width=0.1)
    with pytest.raises(primad.ShapeError, match="infinite"):
        roots(lambda x: x - 0.5, IntervalArray(*ends))
    bounds = enclose(lambda x: 1.0 / (1.0 + x * x), IntervalArray(*ends), order=1)
    assert bounds.low == 0.0 and bounds.high < 1.0 + 1e-15


def test_the_middle_of_the_smallest_box_lies_within() -> None:
    """Half of the smallest number above 0 is rounded to 0, where a root's derivative on the box says nothing."""
    x = np.array([5e-324, 1e-323])
    for order in (0, 1, 2):
        bounds = enclose(np.sqrt, IntervalArray(x, x), order=order)
        assert np.all(bounds.low <= np.sqrt(x)) and np.all(np.sqrt(x) <= bounds.high)


SCALED: dict[str, tuple[Any, Any]] = {
    "norm": (np.linalg.norm, lambda x: mpmath.sqrt(sum(a * a for a in x))),
    "norm of a column": (
        lambda x: np.linalg.norm(pnp.reshape(x, (3, 1)), axis=0)[0], lambda x: mpmath.sqrt(sum(a * a for a in x)),
    ),
    "log Σ exp": (pnp.special.logsumexp, lambda x: mpmath.log(sum(map(mpmath.exp, x)))),
    "softmax": (
        lambda x: pnp.special.softmax(x)[0], lambda x: 1 / sum(mpmath.exp(a - x[0]) for a in x),
    ),
}  # fmt: skip
"""Functions with scales against overflow, and their exact values."""


@pytest.mark.parametrize("name", SCALED)
def test_scales_against_overflow_make_no_bounds_wider(name: str) -> None:
    """Results do not depend on scales, so at corners bounds are those that the function takes there."""
    function, exact = SCALED[name]
    rng = np.random.default_rng(3)
    for size in (1.0, 1e-3, 30.0):
        low = size * (rng.uniform(0.2, 1.0, 3) * rng.choice([-1.0, 1.0], 3))
        box = IntervalArray(low, low + 0.1 * size * rng.uniform(0.5, 1.0, 3))
        for order in range(3):
            found = enclose(function, box, order=order)
            corners = [[a[i] for a, i in zip(zip(box.low, box.high, strict=True), side, strict=True)]
                       for side in itertools.product((0, 1), repeat=3)]  # fmt: skip
            values = [exact(list(map(mpmath.mpf, at))) for at in corners]
            for value in values:
                assert mpmath.mpf(float(found.low)) <= value <= mpmath.mpf(float(found.high))
            if name != "softmax":
                taken = float(max(values) - min(values))
                assert found.width <= taken * (1 + 1e-10) + 1e-13 * size


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_norms_of_what_is_tiny_or_huge_have_close_bounds(scale: float) -> None:
    x = scale * np.array([1.0, 2.0, -2.0])
    for order in range(3):
        found = enclose(np.linalg.norm, IntervalArray(x, x), order=order, finite=True)
        assert found.low <= 3.0 * scale * (1 + 1e-15) and found.high >= 3.0 * scale * (1 - 1e-15)
        assert found.width < 1e-13 * scale
    shifted = enclose(pnp.special.logsumexp, IntervalArray([1000.0, 1000.0], 1000.0), finite=True)
    assert shifted.low <= 1000.0 + np.log(2.0) <= shifted.high and shifted.width < 1e-9


def test_a_slope_of_a_norm_is_bounded_by_one() -> None:
    """Its scale, which jumps from element to element, is not in the way of Taylor's theorem."""
    box = IntervalArray([0.5, -1.0], [0.6, -0.9])
    slopes = enclose(primad.grad(np.linalg.norm), box, order=2)
    exact = np.array([[x / np.hypot(x, y) for x in (0.5, 0.6) for y in (-1.0, -0.9)]])
    assert slopes.low[0] <= exact.min() and exact.max() <= slopes.high[0]
    assert slopes.width[0] < 1.3 * (exact.max() - exact.min())


def test_a_multiple_of_a_number_times_that_number_is_a_square() -> None:
    """It has a sign; that of x³, which is recorded as (2 x)·x + x·x, is not negative anywhere."""
    slope = primad.grad(lambda x: x**3 - x)
    for low, high in ((-1.0, 2.0), (-3.0, -0.5), (-0.1, 0.2), (0.0, 5.0)):
        found = enclose(slope, IntervalArray(low, high))
        values = [3 * Fraction(x) ** 2 - 1 for x in (low, high, min(max(0.0, low), high))]
        assert Fraction(float(found.low)) <= min(values) and max(values) <= Fraction(float(found.high))
        assert found.width <= float(max(values) - min(values)) * (1 + 1e-14)
    other = enclose(lambda x: (-2.0 * x) * (3.0 * x), IntervalArray(-1.0, 2.0))
    assert -24.0 - 1e-13 <= other.low <= -24.0 and 0.0 <= other.high < 1e-300
    box = IntervalArray([-1.0, -1.0], 2.0)
    nested = enclose(lambda x: (2.0 * (np.array([1.5, 0.5]) * x)) * x, box)
    assert nested.low.tolist() == [0.0, 0.0] and np.all(nested.high >= [12.0, 4.0]) and np.all(nested.high < 12.1)
    rows = enclose(lambda x: (np.array([1.0, -2.0]) * x) * x, IntervalArray([-1.0, -1.0], [2.0, 1.0]))
    assert rows.low[0] == rows.high[1] == 0.0 and -2.0 - 1e-14 <= rows.low[1] <= -2.0


MULTIPLES: dict[str, Any] = {
    "multiples of multiples": lambda x: 0.1 * (0.7 * (1.1 * x)),
    "sums of multiples": lambda x: x * 0.1 + x * 0.2,
    "differences": lambda x: 0.1 * x - 0.3 * x,
    "divided twice": lambda x: x / 3.0 / 7.0,
    "three terms": lambda x: (0.1 * x + 0.2) + (0.1 * x + 0.7 * x),
    "of integers": lambda x: 3.0 * (5.0 * x) + 7.0 * x,
}


@pytest.mark.parametrize("name", MULTIPLES)
def test_no_law_rounds_the_numbers_of_a_program(name: str) -> None:
    """0.1 + 0.2 is no number of float64, and a law that adds them up is one of rounded numbers."""

    class Exact:
        def __init__(self, value: Any) -> None:
            self.value = value.value if isinstance(value, Exact) else Fraction(value)

        def __add__(self, other: Any) -> Exact:
            return Exact(self.value + Exact(other).value)

        def __sub__(self, other: Any) -> Exact:
            return Exact(self.value - Exact(other).value)

        def __mul__(self, other: Any) -> Exact:
            return Exact(self.value * Exact(other).value)

        def __truediv__(self, other: Any) -> Exact:
            return Exact(self.value / Exact(other).value)

        __radd__, __rmul__ = __add__, __mul__

    for x in np.random.default_rng(0).uniform(0.5, 2.0, 20):
        wanted = MULTIPLES[name](Exact(float(x))).value
        for of in (MULTIPLES[name], primad.jit(MULTIPLES[name])):
            bounds = enclose(of, IntervalArray(x, x))
            assert Fraction(float(bounds.low)) <= wanted <= Fraction(float(bounds.high))
