"""Weights of terms and points, and points where residuals are large: each does what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from primad import grad, pde
from primad.pde.problem.weighting import Balance, causal_weights, refined, scaled
from primad.recording import tree

ROD = pde.Interval(-1, 1) * pde.Time(1, 3)


@pytest.fixture(scope="module")
def problem(code: None) -> pde.Problem:
    conditions = [
        pde.Dirichlet(u=0, hard=False, weight=3.0),
        pde.Initial(u=lambda x: np.sin(np.pi * x), hard=False),
        pde.Integral(lambda u: u.value, 0.2, order=5),
    ]
    return pde.Problem(lambda u, x, t: u.t - u.xx + 30 * (x > 0.8) * (t - 1), ROD, conditions, network=pde.MLP(5, 1))


def length(tree_of_arrays) -> float:
    return float(np.sqrt(sum(np.sum(leaf**2) for leaf in tree.leaves(tree_of_arrays))))


def test_balanced_weights_make_the_gradients_of_all_terms_equally_long(problem: pde.Problem) -> None:
    params, points = problem.init(), problem.points(40)
    weights = problem.weights
    balance = Balance(problem, problem.computed_by(None))
    for _ in range(200):
        weights = balance.balanced(params, points, weights)
    found = scaled(points, weights, {})
    slopes = [length(grad(problem.loss)(params, {name: row})) for name, row in found.items()]
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-6)
    assert min(weights.values()) == 1.0


def test_scales_are_roots_of_weights_over_points(problem: pde.Problem) -> None:
    points = problem.points(40, 30)
    for name, row in points.items():
        rows = 1 if name == "integral" else len(row["at"])
        np.testing.assert_allclose(row["scale"], np.sqrt(problem.weights[name] / rows))
    again = scaled(points, dict.fromkeys(points, 2.0), {"equation": np.full(40, 0.5)})
    np.testing.assert_allclose(again["equation"]["scale"], np.sqrt(1 / 40))
    np.testing.assert_allclose(again["u at the start"]["scale"], np.sqrt(2 / 30))


def test_later_times_wait_for_earlier_ones(problem: pde.Problem) -> None:
    row = problem.points(400)["equation"]
    t, values = row["at"][:, 1], np.random.default_rng(0).normal(size=(400, 1))
    weights = causal_weights(problem, "equation", row, values, 0.1)
    order = np.argsort(t)
    assert np.all(np.diff(weights[order]) <= 1e-15)
    assert weights[order[0]] == 1.0
    earlier = [np.mean(values[(t >= 1 + i / 8) & (t < 1 + (i + 1) / 8)] ** 2) for i in range(5)]
    inside = (t > 1 + 5 / 8) & (t < 1 + 6 / 8)
    np.testing.assert_allclose(weights[inside], np.exp(-0.1 * sum(earlier)))
    np.testing.assert_array_equal(causal_weights(problem, "equation", row, 0 * values, 5.0), 1.0)
    start = problem.points(40)["u at the start"]
    np.testing.assert_array_equal(causal_weights(problem, "u at the start", start, values, 5.0), 1.0)


def test_refined_points_lie_where_residuals_are_large(problem: pde.Problem) -> None:
    params, points = problem.init(), problem.points(200)
    found = refined(problem, params, points, 0.5, (1, 2), problem.evaluated)
    assert all(found[name]["at"].shape == row["at"].shape for name, row in points.items())
    assert np.array_equal(found["equation"]["at"][:100], points["equation"]["at"][100:])
    assert np.all(ROD.contains(found["equation"]["at"]))
    there = [np.mean((at["equation"]["at"][:, 0] > 0.8) & (at["equation"]["at"][:, 1] > 2)) for at in (points, found)]
    assert there[1] > 2 * there[0]
    again = refined(problem, params, points, 0.5, (1, 2), problem.evaluated)
    assert np.array_equal(found["equation"]["at"], again["equation"]["at"])
    assert np.array_equal(found["u at the start"]["at"], points["u at the start"]["at"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e4])
def test_noise_says_how_much_equations_count_in_any_unit(unit: float) -> None:
    """Of an unknown in another unit, with noise in it too, the same path leads to the same coefficient."""
    rng = np.random.default_rng(0)
    x, t = rng.uniform(-1, 1, 80), rng.uniform(1, 3, 80)
    values = np.exp(-0.3 * t) * np.sin(np.pi * x) + 0.05 * rng.normal(size=80)
    data = pde.Data(x=x, t=t, u=unit * values, noise=0.05 * unit)

    class Scaled(pde.MLP):
        def apply(self, params, x):
            return unit * super().apply(params, x)

    equation = pde.Problem(
        lambda u, k: u.t - k * u.xx, ROD, [pde.Dirichlet(u=0), pde.Free("u"), data],
        coefficients={"k": 0.1}, network=Scaled(6, 1),
    )  # fmt: skip
    assert equation.weights == {"equation": pytest.approx((20 / unit) ** 2), "data": 1.0}
    found = equation.solve(steps=15, points=60, progress=False)
    assert found.coefficients["k"] == pytest.approx(0.3 / np.pi**2, rel=0.15)
    assert found.history.of("data")[-1] == pytest.approx(1.0, abs=0.35)  # χ², neither too large nor too small
    stated = pde.Problem(
        {"a": pde.Within(ROD, lambda u: u.xx, weight=3.0), "b": lambda u: u.x}, ROD,
        [pde.Free("u"), pde.Data(x=x, t=t, u=values, noise=0.1, weight=2.0), pde.Data(x=x, t=t, u=values)],
    )  # fmt: skip
    assert stated.weights == {"a": 3.0, "b": pytest.approx(100.0), "data": 2.0, "data 2": 1.0}
