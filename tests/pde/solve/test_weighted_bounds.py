"""Proven bounds by weights: slopes and mixtures given at the boundary, conditions that are fitted, and long times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import pde
from primad.enclosures import IntervalArray
from primad.errors import EnclosureError
from primad.pde.solve.certified import bound_search
from primad.pde.solve.certified.weights import SLOW, Weight, Weighted, grown
from tests.sweeps import chosen

LINE, TIME = pde.Interval(0, 1), pde.Time(0, 0.5)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
SMALL = pde.MLP(4, 1)
LEFT = pde.Dirichlet(u=0, on="x-")


def damped(x: Any, t: Any) -> Any:
    return np.exp(-0.1 * np.pi**2 * t) * np.cos(np.pi * x)


EXACT: dict[str, tuple[Callable[..., Any], Any, list[Any], Callable[..., Any]]] = {
    "slope at one end": (lambda u: u.xx + 2, LINE, [LEFT, pde.Neumann(u=-1, on="x+")], lambda x: x * (1 - x)),
    "mixture at one end": (
        lambda u: u.xx + 2,
        LINE,
        [LEFT, pde.Robin(u=-2, a=3.0, b=2.0, on="x+")],
        lambda x: x * (1 - x),
    ),
    "mixture with both signs turned": (
        lambda u: -2.0 * u.xx - 4,
        LINE,
        [LEFT, pde.Robin(u=2, a=-3.0, b=-2.0, on="x+")],
        lambda x: x * (1 - x),
    ),
    "slopes at both ends": (
        lambda u, x: u.xx - 2 * u - (np.pi**2 + 2) * -pnp.cos(np.pi * x),
        LINE,
        [pde.Neumann(u=0)],
        lambda x: np.cos(np.pi * x),
    ),
    "slopes that depend on the normal": (
        lambda u, x: u.xx - u + pnp.exp(-x) * 0.0,
        LINE,
        [pde.Neumann(u=lambda x, n: n[0] * pnp.exp(x))],
        np.exp,
    ),
    "drift towards a slope": (
        lambda u: 0.5 * u.xx - u.x + 1,
        LINE,
        [LEFT, pde.Neumann(u=1, on="x+")],
        lambda x: x,
    ),
    "insulated": (
        lambda u: u.t - 0.1 * u.xx,
        LINE * TIME,
        [pde.Neumann(u=0), pde.Initial(u=lambda x: pnp.cos(np.pi * x))],
        damped,
    ),
    "all fitted": (
        lambda u: 3.0 * u.t - 0.3 * u.xx,
        LINE * TIME,
        [
            pde.Dirichlet(u=lambda x, t: pnp.exp(-0.1 * np.pi**2 * t) * pnp.cos(np.pi * x), hard=False, on="x-"),
            pde.Robin(u=lambda x, t: -pnp.exp(-0.1 * np.pi**2 * t), on="x+"),
            pde.Initial(u=lambda x: pnp.cos(np.pi * x), hard=False),
        ],
        damped,
    ),
    "insulated square": (
        lambda u: u.t - 0.05 * pde.laplacian(u),
        SQUARE * TIME,
        [pde.Neumann(u=0), pde.Initial(u=lambda x, y: pnp.cos(np.pi * x) * pnp.cos(np.pi * y))],
        lambda x, y, t: damped(x, t) * np.cos(np.pi * y),
    ),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "name", chosen(EXACT, {"slope at one end", "mixture with both signs turned", "slopes at both ends", "all fitted"})
)
@pytest.mark.parametrize("steps", [2, pytest.param(15, marks=pytest.mark.exhaustive)])
def test_a_bound_is_above_the_true_error(name: str, steps: int) -> None:
    """It holds whatever the parameters are, so also of a network that is hardly trained."""
    equation, domain, conditions, exact = EXACT[name]
    solution = pde.Problem(equation, domain, conditions, network=SMALL).solve(steps=steps, points=80, progress=False)
    bound = solution.certify_error(factor=1.0, slabs=2, most=1000)
    corners = np.array(np.meshgrid(*domain.bounds)).reshape(len(domain.names), -1).T
    at = np.concatenate([domain.interior(300).at, corners])
    wrong, found = np.abs(solution.at(at, "u") - exact(*at.T)), bound.at(at)
    assert np.all(wrong <= found) and np.max(found) <= bound.most < 1e3 * np.max(wrong)


@pytest.mark.exhaustive
def test_what_is_off_is_what_the_bound_is_made_of() -> None:
    """The solution is exact but for the slope at one end: then it is off by what is known."""
    slope = pde.Neumann(u=-1, on="x+")
    problem = pde.Problem(lambda u: u.xx + 2, LINE, [LEFT, slope], network=SMALL)
    solution = problem.solve(steps=60, points=100, progress=False)
    before = solution.certify_error(factor=2.0, most=2000)
    slope.values["u"] = -0.75  # the solution is x (1 - x) + x / 4
    at = np.linspace(0, 1, 50)[:, None]
    wrong = 0.25 * at[:, 0]
    after = solution.certify_error(factor=2.0, most=2000)
    assert np.all(wrong - before.most <= after.at(at)) and before.most < 0.1
    assert after.mismatch >= 0.25 - before.mismatch and after.most < 4 * np.max(wrong)


@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_level_obeys_its_inequality(seed: int) -> None:
    """v = Z φ has −L v ≥ ρ with the rate that is computed, and α v + β ∂v/∂n ≥ m; differences of v tell."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(2, 6)) * 0.3
    weight = Weight((0, 1), np.array([0.5, 0.0]), np.array([0.5, 2.0]), factors)
    A, b, c = np.array([[1.0, 0.2], [0.2, 0.5]]), rng.normal(size=2), -0.3
    points = np.stack([rng.uniform(0, 1, 20), rng.uniform(-2, 2, 20)], axis=1)

    def size(at: Any) -> Any:
        return pnp.exp(weight.value(at))

    for at in points:
        slope, second = primad.grad(size)(at), np.asarray(primad.hessian(size)(at))
        rate = weight.rate(A, b, c, at)
        np.testing.assert_allclose(np.sum(A * second) + b @ slope + c * size(at), rate * size(at), rtol=1e-10)
        np.testing.assert_allclose(slope, np.array(weight.slopes(at)) * size(at), rtol=1e-12)
    exact = np.exp(weight.value(points))
    assert np.all(weight.at(points) >= exact * (1 - 1e-15)) and np.all(weight.at(points) <= exact * (1 + 1e-12))
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 200), np.linspace(-2, 2, 200)), axis=-1)
    largest = np.max(np.exp(weight.value(grid)))
    assert largest <= weight.most(IntervalArray([0.0, -2.0], [1.0, 2.0])) <= 1.05 * largest
    assert Weight.none((0,), np.array([[0.0, 1.0]])).most(IntervalArray([0.0], [1.0])) == 1.0


def test_levels_grow_and_fall_at_least_as_the_equation_says() -> None:
    for rate in (0.0, 1e-9, -1e-9, SLOW, -3 * SLOW, 0.3, -0.3, 5.0, -5.0):
        passed = 0.5 * rate
        factor = 0.5 * (np.expm1(passed) / passed if passed else 1.0)
        exact = 0.1 * np.exp(passed) + 2.0 * factor
        assert exact * (1 - 1e-15) <= grown(0.1, 2.0, rate, 1.0, 1.5) <= exact * (1 + 2 * SLOW)


def test_a_level_between_two_times_is_the_larger_one() -> None:
    """It is one of a slab, and moves from one end to the other without turning."""
    weight = Weight.none((0,), np.array([[0.0, 1.0], [0.0, 3.0]]))
    bound = Weighted(1, np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.1, 0.3, 0.2]), weight)
    at = np.stack([np.zeros(7), np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])], axis=1)
    np.testing.assert_array_equal(bound.at(at), [0.5, 0.5, 0.5, 0.3, 0.3, 0.3, 0.3])


@pytest.mark.exhaustive
def test_a_weight_makes_what_grows_grow_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error feeds itself five times as fast as it is, and diffusion between the ends carries away more."""
    start = pde.Initial(u=lambda x: pnp.sin(np.pi * x))
    problem = pde.Problem(
        lambda u: u.t - u.xx - 5 * u, LINE * pde.Time(0, 1), [pde.Dirichlet(u=0), start], network=SMALL
    )
    solution = problem.solve(steps=30, points=100, progress=False)
    bound = solution.certify_error(factor=2.0, slabs=1, most=8000)
    monkeypatch.setattr(bound_search, "chosen_weight", lambda equation, ends, times: Weight.none(equation.space, ends))
    plain = solution.certify_error(factor=2.0, slabs=2, most=2000)
    at = problem.domain.interior(300).at
    wrong = np.abs(solution.at(at, "u") - np.exp((5 - np.pi**2) * at[:, 1]) * np.sin(np.pi * at[:, 0]))
    assert np.all(wrong <= bound.at(at)) and np.all(wrong <= plain.at(at))
    assert bound.growth < 2 < 5 <= plain.growth and bound.most < 0.3 * plain.most


def test_a_weight_that_does_not_rise_to_the_end_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_search, "chosen_weight", lambda equation, ends, times: Weight.none(equation.space, ends))
    equation, domain, conditions, _ = EXACT["insulated"]
    solution = pde.Problem(equation, domain, conditions, network=SMALL).solve(steps=1, points=40, progress=False)
    with pytest.raises(EnclosureError, match="no weight is found by which the condition on x-"):
        solution.certify_error(slabs=1, most=500)
