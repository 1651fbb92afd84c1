"""Intervals of coefficients: as wide as the theory of least squares says, and none where the model does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from primad import pde
from primad.errors import ProblemError
from primad.optimize.gauss_newton.levenberg_marquardt import LevenbergMarquardt
from primad.pde.report.pages import results
from primad.pde.solve.confidence import confidence
from primad.pde.solve.misfit import Residual, alike
from tests.sweeps import thinned

LINE = pde.Interval(-1, 3)
RANDOM = np.random.default_rng(5)


class Powers(pde.Network):
    """A polynomial of the coordinate: all of a problem is linear, so theory is exact."""

    def __init__(self, degree: int) -> None:
        self.degree = degree

    def init(self, key, inputs, outputs):
        return {"powers": np.zeros((self.degree + 1, outputs))}

    def apply(self, params, x):
        return np.stack([x[0] ** i for i in range(self.degree + 1)]) @ params["powers"]


def fitted(x, u, equation=lambda u, k: u.x - k, degree=1, **data) -> pde.Solution:
    conditions = [pde.Free("u"), pde.Data(x=x, u=u, **data)]
    problem = pde.Problem(equation, LINE, conditions, coefficients={"k": 0.5}, network=Powers(degree))
    return problem.solve(steps=8, points=12, progress=False)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e5])
@pytest.mark.parametrize("noise", [None, 0.3])
def test_intervals_of_a_slope_are_those_of_linear_regression(unit: float, noise: float | None) -> None:
    x = RANDOM.uniform(-1, 3, 9)
    u = unit * (2.0 - 0.7 * x + 0.3 * RANDOM.normal(size=9))
    line = stats.linregress(x, u)
    k = fitted(x, u, noise=noise and noise * unit)
    low, high = k.confidence(0.9)["k"]
    half = stats.t(7).ppf(0.95) * line.stderr
    np.testing.assert_allclose([low, high], [line.slope - half, line.slope + half], rtol=1e-4)
    assert confidence(k).freedom == pytest.approx(7, rel=1e-5)


def test_intervals_of_a_curvature_are_those_of_linear_regression() -> None:
    x = np.linspace(-1, 3, 12)
    u = 1 - x + 0.2 * x**2 + 0.1 * RANDOM.normal(size=12)
    powers = np.stack([x**i for i in range(3)], axis=1)
    found, square, *_ = np.linalg.lstsq(powers, u)
    error = np.sqrt(square[0] / 9 * np.linalg.inv(powers.T @ powers)[2, 2])
    half = stats.t(9).ppf(0.975) * error
    low, high = fitted(x, u, lambda u, k: u.xx - 2 * k, 2).confidence()["k"]
    np.testing.assert_allclose([low, high], [found[2] - half, found[2] + half], rtol=1e-4)


def test_intervals_contain_the_truth_as_often_as_they_say() -> None:
    """Of 120 draws with six values each."""
    x, inside = np.array([-1.0, -0.5, 0.3, 1.1, 2.0, 2.9]), 0
    problem = fitted(x, x).problem
    rows = problem.points(12)
    for _ in range(120):
        u = 1 + 2 * x + RANDOM.normal(size=6)
        line = stats.linregress(x, u)
        params = problem.init()
        params["coefficients"]["k"] = line.slope
        params["networks"]["u"]["powers"] = np.array([[line.intercept + line.slope], [2 * line.slope]])
        rows["data"] = {**rows["data"], "of u": u}
        low, high = pde.Solution(problem, params, None, rows, pde.History(())).confidence(0.8)["k"]
        inside += int(low < 2 < high)
    assert stats.binomtest(inside, 120, 0.8).pvalue > 1e-4


@pytest.mark.one_in(2)
@thinned(2, weight=[1.0, 30.0, 1e3, 1e6])
def test_intervals_are_those_of_the_weights_that_the_search_had(weight: float) -> None:
    """Of 60 draws: errors of k are as large as deviations say, or smaller by a half where the equation is missed.

    What is left of it comes from errors of data then, and counts besides.
    """
    x, rule = np.linspace(-1, 3, 30), LevenbergMarquardt()
    problem = fitted(x, x, degree=5).problem
    rows, errors = problem.points(20, weights={"equation": 1.0, "data": weight}), []
    compiled = problem.compiled(rule)
    for _ in range(60):
        params = problem.init()
        state = rule.init(params)
        rows["data"] = {**rows["data"], "of u": 1 + 2 * x + 0.3 * RANDOM.normal(size=30)}
        for _ in range(4):
            params, state = rule.update(params, state, compiled, rows)
        found = confidence(pde.Solution(problem, params, None, rows, pde.History(())))
        errors.append((found.values["k"] - 2) / found.deviations["k"])
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) < 1.25


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("equation", "infinite"),
    [
        (lambda u, k, c: u.x - k - 0 * c, "c"),
        (lambda u, k, c: u.x - (k + c), "kc"),
        (lambda u, k, c: (u.x - k, u.xx - c), ""),
    ],
)
def test_what_data_do_not_determine_has_no_end(equation, infinite: str) -> None:
    x = np.linspace(-1, 3, 9)
    u = 1 + 2 * x + 0.1 * RANDOM.normal(size=9)
    problem = pde.Problem(
        equation, LINE, [pde.Free("u"), pde.Data(x=x, u=u)], coefficients={"k": 1.0, "c": 1.0}, network=Powers(1)
    )
    found = problem.solve(steps=20, points=12, progress=False).confidence()
    for name, (low, high) in found.items():
        assert (low == -np.inf and high == np.inf) if name in infinite else (0 < high - low < 1), name


T = np.linspace(0, 2, 60)
DECAY = np.exp(-T)


def decaying(equation, u, steps: int = 30, weights=None, **data) -> pde.Solution:
    conditions = [pde.Free("u"), pde.Data(t=T, u=u, **data)]
    problem = pde.Problem(
        equation, pde.Time(0, 2), conditions, coefficients={"k": 0.2}, network=pde.MLP(6, 1)
    )  # fmt: skip
    return problem.solve(steps=steps, points=100, weights=weights, progress=False)


def decay(u, k):
    return u.t + k * u


MISFITS = {
    "a model without the forcing that the data have": (
        lambda: decaying(decay, DECAY + 0.4 * np.sin(6 * T)), "what is left of 'data' is no noise"
    ),
    "the same, with the data followed": (
        lambda: decaying(decay, DECAY + 0.4 * np.sin(6 * T), weights={"data": 1e4}), "what is left of 'equation' is"
    ),
    "residuals that are products": (
        lambda: decaying(lambda u, k, t: (t + 1) * (u.t + k * u), DECAY + 0.4 * np.sin(6 * T), weights={"data": 1e4}),
        "what is left of 'equation' is",
    ),
    "a search that was cut short": (lambda: decaying(decay, DECAY, steps=2), "is no noise|not at its end"),
    "noise that was stated, and is exceeded": (
        lambda: decaying(decay, DECAY + 0.4 * np.sin(6 * T), noise=0.01, weights={"equation": 1e6}),
        "what is left of 'data' is no noise",
    ),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", MISFITS)
def test_there_are_no_intervals_where_the_model_does_not_fit(name: str) -> None:
    make, words = MISFITS[name]
    solution = make()
    with pytest.warns(UserWarning, match=words):
        found = solution.confidence()
    assert np.isnan(found["k"]).all()
    assert "No confidence: what is left of" in "".join(results(solution, {}))


def fast(unit: float, **weights) -> pde.Solution:
    """A decay whose terms are large beside the values, in a unit of time."""
    t = np.linspace(0, 1, 60) * unit
    conditions = [pde.Free("u"), pde.Data(t=t, u=np.exp(-3 * t / unit))]
    problem = pde.Problem(
        lambda u, k: u.t + k / unit * u,
        pde.Time(0, unit),
        conditions,
        coefficients={"k": 1.0},
        network=pde.MLP(6, 1),
    )
    return problem.solve(steps=30, points=40, progress=False, **weights)


def test_an_equation_that_outweighs_data_by_its_unit_is_warned_of() -> None:
    """With weights that are as good as the ones that are advised; not where the user chose some, nor in other units."""
    with pytest.warns(UserWarning, match=r"'data' is not fitted, and the terms of 'equation' count") as told:
        found = fast(0.001)
    assert abs(found.coefficients["k"] - 3) > 0.5
    weights = eval(str(told[0].message).split("weights=")[1].split(")")[0])
    assert fast(0.001, weights=weights).coefficients["k"] == pytest.approx(3, rel=0.1)
    assert abs(fast(0.001, weights={"data": 1.0}).coefficients["k"] - 3) > 0.5


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.2])
def test_intervals_of_a_model_that_fits_are_given(noise: float) -> None:
    """Of data without noise too, though what the network misses is alike for neighbours."""
    u = DECAY + noise * RANDOM.normal(size=60)
    solution = decaying(decay, u, steps=60)
    low, high = solution.confidence(0.9999)["k"]
    assert low < 1 < high
    if not noise:
        assert high - low < 0.03
        return
    (_, rate), covariance = optimize.curve_fit(lambda t, start, k: start * np.exp(-k * t), T, u, [1.0, 1.0])
    half = stats.t(58).ppf(0.99995) * np.sqrt(covariance[1, 1])
    np.testing.assert_allclose([low, high], [rate - half, rate + half], atol=0.1 * half)


def test_neighbours_that_are_off_alike_are_told_from_chance() -> None:
    """In one and two dimensions, whatever the order of the points; and of independent errors never, or hardly."""
    for size in (1, 2):
        at = RANDOM.uniform(0, 1, (200, size))
        bounds = np.array([[0.0, 1.0]] * size)

        def told(values, at=at, bounds=bounds) -> float:
            return alike(Residual("data", 0, "data", "data", at, values, values), bounds)

        assert told(np.sin(5 * np.sum(at, axis=1))) > 0.7
        assert told(np.sin(5 * np.sum(at, axis=1)) + 0.3 * RANDOM.normal(size=200)) > 0.4
        assert sum(told(RANDOM.normal(size=200)) > 0 for _ in range(100)) <= 2
    assert told(np.zeros(200)) == 0.0


def test_what_has_no_confidence_is_said() -> None:
    x = np.linspace(-1, 3, 9)
    with pytest.raises(ProblemError, match="probability"):
        fitted(x, x).confidence(1.0)
    none = pde.Problem(lambda u, k: u.x - k, LINE, pde.Dirichlet(u=0), coefficients={"k": 1.0}, network=Powers(1))
    with pytest.raises(ProblemError, match="errors of data"):
        none.solve(steps=1, points=5, progress=False).confidence()
