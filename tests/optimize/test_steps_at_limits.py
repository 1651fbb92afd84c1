"""Steps and searches where what decides is met exactly, and at the ends of what numbers can be."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primad
from primad import optimize
from primad.errors import ShapeError
from primad.optimize import endings
from primad.optimize.gauss_newton import linearized_residuals
from primad.optimize.gauss_newton.linearized_residuals import AtPoints, Whole
from primad.optimize.nan_origin import first_not_finite
from primad.optimize.quasi_newton.line_search import LinePoint, _minimum_of_cubic, strong_wolfe
from primad.optimize.quasi_newton.search_step import _same

# -- line searches -----------------------------------------------------------------------------------------------------


def searched(trials: Sequence[tuple[float, float]], most: int = 25) -> tuple[LinePoint | None, list[float]]:
    """Return the end of a search from the value 0 and the slope −1 that sees values and slopes, and its lengths."""
    lengths: list[float] = []

    def evaluate(length: float) -> LinePoint:
        value, slope = trials[min(len(lengths), len(trials) - 1)]
        lengths.append(length)
        return LinePoint(length, value, slope)

    return strong_wolfe(evaluate, LinePoint(0.0, 0.0, -1.0), 1.0, most), lengths


def test_a_line_search_goes_on_where_the_value_stays_and_the_slope_leads_on() -> None:
    found, lengths = searched([(-100.0, -1.0), (-100.0, -1.0), (-200.0, 0.0)])
    assert found is not None and found.value == -200.0 and lengths[0] < lengths[1] < lengths[2]


def test_a_line_search_ends_where_no_number_is_left_between() -> None:
    found, lengths = searched([(1.0, 1.0)], most=10_000)
    assert found is None and lengths[-1] < 1e-300 and len(lengths) == len({*lengths}) < 1100
    found, lengths = searched([(1.0, 1.0), (-0.9, -1.0), (1.0, 1.0)], most=10_000)
    assert found is not None and lengths[1] == found.length and len(lengths) == len({*lengths}) < 100
    assert found.length < lengths[-1] < np.nextafter(found.length, 1.0) + 1e-15


def test_a_cubic_has_its_minimum_where_numbers_can_tell() -> None:
    """Of slopes (x − 1)(x − c): a minimum, a point of inflection, none; and values whose squares are infinite."""

    def point(x: float, c: float, size: float = 1.0) -> LinePoint:
        return LinePoint(x, size * (x**3 / 3 - (1 + c) * x**2 / 2 + c * x), size * (x - 1) * (x - c))

    for c, found in ((4.0, 4.0), (1.0, 1.0)):
        assert _minimum_of_cubic(point(0.0, c), point(3.0, c), 7.0) == pytest.approx(found, rel=1e-12)
    assert _minimum_of_cubic(LinePoint(0.0, 0.0, -1.0), LinePoint(1.0, -1.0, -1.0), 7.0) == 7.0
    assert _minimum_of_cubic(LinePoint(0.0, 0.0, 1.0), LinePoint(1.0, 0.7, 1.0), 7.0) == 7.0
    for large in (1e160, 1e300, np.inf):
        assert _minimum_of_cubic(LinePoint(0.0, 0.0, -1.0), LinePoint(1.0, large, large), 7.0) == 7.0


def test_searches_come_back_from_values_whose_squares_overflow() -> None:
    """Without a trial at a length that is no number, of which there were sixteen."""
    found = optimize.solve(optimize.LBFGS(), lambda x: np.sum(np.exp(7.0 * (x - 30.0)) - 0.05 * x), np.zeros(1))
    np.testing.assert_allclose(found.params, 30.0 - np.log(140.0) / 7.0, rtol=1e-6)
    assert found.state.evaluations < 85


def test_functions_are_the_same_where_their_slopes_are_too() -> None:
    slope = np.array([1.0, -2.0])
    assert _same(3.0, slope, 3.0, slope) and _same(3.0, slope, 3.0 * (1 + 1e-10), slope * (1 + 1e-7))
    assert not _same(3.0, slope, 3.0, -slope) and not _same(3.0, slope, 3.1, slope)


def test_what_falls_just_as_fast_as_the_slowest_power_has_no_bound() -> None:
    """A thousand times the distance, and the sixth root of it times the fall."""

    def value(x: Any) -> float:
        return -(float(np.maximum(x, 0.0)) ** endings.SLOWEST)

    state = SimpleNamespace(value=-1.0, gradient=np.array([-endings.SLOWEST]))
    assert endings._beyond(value, np.array(0.0), np.array(1.0), (), state) == (1000.0, value(1000.0))
    flatter = SimpleNamespace(value=-1.0 - 1e-12, gradient=state.gradient)
    assert endings._beyond(value, np.array(0.0), np.array(1.0), (), flatter) is None


# -- truncated steps ---------------------------------------------------------------------------------------------------


class Finite(optimize.Loss):
    """A loss that is asked where all parameters are finite."""

    def value(self, params: Any, *data: Any) -> float:
        assert np.all(np.isfinite(params))
        return super().value(params, *data)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_move_that_is_not_finite_is_not_tried() -> None:
    """Along x − y nothing but λ holds, and 1 / (1e-12 · 1e-300) is infinite."""
    rule = optimize.NewtonCG(damping=1e-12, scaling=0.0)
    f = Finite(lambda x: x[0] - x[1] + 0.5e-300 * (x[0] + x[1]) ** 2)
    start = np.zeros(2)
    params, state = rule.update(start, rule.init(start), f)
    assert np.all(np.isfinite(params)) and state.value < 0 and not state.stalled


def test_a_move_that_promises_nothing_is_not_tried() -> None:
    rule = optimize.NewtonCG()
    f = rule.compile(lambda x: 1e-200 * np.sum(x))
    start = np.zeros(2)
    params, state = rule.update(start, rule.init(start), f)
    assert state.stalled and state.evaluations == 0 and np.array_equal(params, start)


def test_one_parameter_has_no_spread() -> None:
    phi, tau = optimize.SelfScaledBroyden()._scaling(2.0, 2.0, 1, False)
    assert np.isfinite(phi) and 0 < tau <= 1


# -- residuals at points -----------------------------------------------------------------------------------------------


def linear(each: int) -> Any:
    def residuals(p: Any, t: Any) -> Any:
        return np.stack([p[0] * t + p[1] * (1 + i) for i in range(each)], axis=1)

    return residuals


@pytest.mark.parametrize(("each", "points", "apart"), [(8, 3, True), (9, 3, False), (2, 2, True), (2, 1, True)])
def test_residuals_of_few_a_point_are_multiplied_at_points(each: int, points: int, apart: bool) -> None:
    assert linearized_residuals.MOST_EACH == 8
    f, p, t = optimize.Residuals(linear(each)), np.array([0.5, 2.0]), np.linspace(1.0, 2.0, points)
    (piece,) = f.pieces(p, (t,))
    assert isinstance(piece, AtPoints if apart else Whole)
    rows = np.asarray(primad.jacobian(lambda p: np.reshape(linear(each)(p, t), -1))(p))
    np.testing.assert_allclose(f.linearized(p, t).product(np.ones(2)), rows.T @ (rows @ np.ones(2)), rtol=1e-12)
    if apart:
        for memory, keeps in ((piece.kept_bytes, True), (piece.kept_bytes - 1, False)):
            (piece,) = optimize.Residuals(linear(each), memory=memory).pieces(p, (t,))
            assert piece.keeps == keeps


T, MATRIX = np.linspace(1.0, 2.0, 3), np.arange(9.0).reshape(3, 3) ** 2
BLOCKS: dict[str, tuple[Any, tuple[Any, ...], tuple[int, ...]]] = {
    "at points": (lambda p, t: p[0] * t, (T,), (0,)),
    "of no data": (lambda p, t: p[0] * np.ones(3) + p[1], (T,), ()),
    "of parameters along an axis": (lambda p, t: p[:2], (T,), ()),
    "of parameters and an array": (lambda p, t: p[0] * np.ones(3), (T,), ()),
    "of parameters alone": (lambda p, t: np.broadcast_to(p[0], (3,)), (T,), ()),
    "one point along two axes": (lambda p, t, m: p[0] * t[:, None] * m.T, (T[:1], MATRIX[:, :1]), ()),
    "along another axis": (lambda p, m: p[0] * m.T, (MATRIX,), ()),
    "along two axes": (lambda p, t, m: p[0] * t[:, None] * m.T, (T, MATRIX), ()),
    "along a column": (lambda p, t, m: p[0] * t * m[:, 1], (T, MATRIX), (0, 1)),
    "along a row": (lambda p, t, m: p[0] * t * m[1], (T, MATRIX), ()),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_points_lie_along_the_first_axis_of_data(name: str) -> None:
    residuals, data, cut = BLOCKS[name]
    for f, p in (
        (optimize.Residuals(residuals, block=2), np.array([0.5, 2.0])),
        (optimize.Residuals(lambda p, *data: residuals(np.stack(p), *data)), (0.5, 2.0)),
        (optimize.Residuals(lambda p, *data: residuals(p, *data)), (0.5, 2.0)),
    ):
        if isinstance(p, tuple) and name == "of parameters along an axis":
            continue
        (part,) = f.parts(p, data)
        assert part.cut == cut
    p = np.array(p)
    f = optimize.Residuals(residuals, block=2)
    dense = np.asarray(primad.jacobian(lambda p: np.reshape(residuals(p, *data), -1))(p))
    np.testing.assert_allclose(np.concatenate([rows for _, rows in f.rows(p, *data)]), dense)


def ends(p: Any, x: Any, end: Any, extra: Any) -> Any:
    return {"inside": p[0] * x[:, 0] + p[1] * x[:, 1] ** 2, "ends": p[0] * end - p[1], "prior": p - extra}


SHARED: dict[str, tuple[bool, bool]] = {"all": (True, True), "some": (True, False), "the ends": (False, True)}


@pytest.mark.parametrize("rows", [5, 40])
@pytest.mark.parametrize("name", SHARED)
def test_what_is_shared_adds_up_to_what_is_not(name: str, rows: int) -> None:
    """Of chunks, of which there are sixteen, some are empty; what has no points is added once."""
    f, p = optimize.Residuals(ends), np.array([0.5, 2.0])
    x, end = np.random.default_rng(rows).normal(size=(rows, 2)), np.linspace(0.0, 1.0, 18)

    def of(blocks: Any) -> list[Any]:
        found = [np.zeros(()), np.zeros(2), np.zeros((2, 2))]
        for r, J in blocks:
            for total, part in zip(found, (r @ r, r @ J, J.T @ J), strict=True):
                total += part
        return found

    like, share = of(()), primad.Share.of
    given = [share(one) if shared else one for one, shared in zip((x, end), SHARED[name], strict=True)]
    expected, found = (f.summed(of, like, p, *data, 3.0) for data in ((x, end), given))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_share_along_another_axis_is_refused(wrong: int) -> None:
    f, matrix, t = optimize.Residuals(lambda p, t, m: p[0] * t * m[:, 1]), np.ones((4, 4)), np.ones(4)
    share = primad.Share.of(matrix, axis=wrong)
    data = (primad.Share.of(t), share)
    if wrong == 0:
        assert f.summed(lambda rows: [np.array(sum(r @ r for r, _ in rows))], [np.zeros(())], np.ones(1), *data)[0] == 4
    else:
        with pytest.raises(ShapeError, match="another first axis than the Share's"):
            f.summed(lambda rows: [np.array(sum(r @ r for r, _ in rows))], [np.zeros(())], np.ones(1), *data)


def test_systems_of_shared_residuals_are_those_of_parameters() -> None:
    def few(p: Any, t: Any) -> Any:
        return p[0] * t + np.sum(p) - 1.0

    rule, start, t = optimize.LevenbergMarquardt(), np.linspace(0.0, 1.0, 9), np.linspace(0.0, 1.0, 3)
    found = [rule.update(start, rule.init(start), rule.compile(f), data)[0] for f, data in (
        (few, t), (primad.distribute(few), primad.Share.of(t)),
    )]  # fmt: skip
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


# -- where what is not finite comes from -------------------------------------------------------------------------------


ORIGINS: dict[str, tuple[Any, tuple[Any, ...], str | None]] = {
    "of an operand": (lambda x: 2.0 * x + 1.0, (np.nan,), None),
    "of one of two": (lambda x, y: np.log(y) * x, (np.inf, 1.0), None),
    "of an array": (lambda x: np.sin(x) + np.log(x), (np.array([1.0, 0.0]),), "log of 0 is -inf at [1]"),
    "of a determinant": (lambda m: np.linalg.slogdet(m)[1], (np.zeros((2, 2)),), "log of 0 is -inf at [0]"),
    "of the first of two results": (
        lambda m: np.sum(np.linalg.qr(m)[1]),
        (np.full((3, 2), 1e308),),
        "qr is ",
    ),
    "of results of different shapes": (
        lambda x: np.sum(primad.scan(lambda c, t: (c / 2, np.log(t - c)), x, np.arange(1.0, 4.0))[1]),
        (np.array(1.0),),
        "scan is -inf at [0] of result 1",
    ),
    "of the last of a loop": (
        lambda x: primad.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, np.log(c[1])), (x, 0 * x))[1],
        (np.array(1.0),),
        "while_loop is nan of result ",
    ),
}


@pytest.mark.parametrize("name", ORIGINS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_first_value_that_is_not_finite_is_named(name: str) -> None:
    function, args, said = ORIGINS[name]
    found = first_not_finite(function, *args)
    assert found is None if said is None else said in str(found)
