"""The method of lines solves what networks solve: of the stated order, with every condition, with exact derivatives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import special

import primad
from primad import pde
from primad.errors import DomainError, ProblemError
from primad.pde.lines.grid_derivatives import Differences, Spectral, line_matrix
from tests.sweeps import thinned

NET = pde.MLP(4, 1)
LINE = pde.Interval(0, 1)


@thinned(2, order=[2, 4, 6], derivative=[1, 2, 3, 4], periodic=[False, True])
def test_differences_are_exact_of_polynomials_and_of_their_order_of_waves(order, derivative, periodic) -> None:
    """On a line that ends, of powers up to the derivative and the order less one; on a circle, of a wave."""
    count = 16
    if not periodic:
        x = np.linspace(-1, 1, count)
        matrix = line_matrix(count, x[1] - x[0], derivative, order, False)
        for power in range(derivative + order):
            right = np.polynomial.Polynomial.basis(power).deriv(derivative)(x)
            assert matrix @ x**power == pytest.approx(right, rel=1e-9, abs=1e-7)
        return
    errors = []
    for many in (count, 2 * count):
        x = 2 * np.pi * np.arange(many) / many
        found = line_matrix(many, x[1], derivative, order, True) @ np.sin(x + 0.3)
        errors.append(np.max(np.abs(found - np.sin(x + 0.3 + derivative * np.pi / 2))))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_differences_and_transforms_agree_along_each_axis_of_a_box() -> None:
    counts, steps = (24, 30), (2 * np.pi / 24, 2 * np.pi / 30)
    x, y = np.meshgrid(steps[0] * np.arange(24), steps[1] * np.arange(30), indexing="ij")
    values = (np.sin(x) * np.cos(y)).ravel()
    for orders, right in (((1, 0), np.cos(x) * np.cos(y)), ((1, 2), -np.cos(x) * np.cos(y))):
        assert Spectral(counts, steps)(values, orders) == pytest.approx(right.ravel(), abs=1e-12)
        assert Differences(counts, steps, [True, True], 6)(values, orders) == pytest.approx(right.ravel(), abs=1e-4)


def heat(**more: Any) -> pde.Problem:
    start = pde.Initial(u=lambda x: np.sin(np.pi * x))
    return pde.Problem(
        lambda u, k: u.t - k * u.xx,
        LINE * pde.Time(0, 0.1),
        [pde.Dirichlet(u=0), start],
        constants={"k": 1.0},
        network=NET,
        **more,
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", [2, 4, 6])
def test_heat_converges_with_the_order(order: int) -> None:
    errors = []
    for points in (17, 33):
        found = pde.Lines(heat(), points, order=order, tolerance=1e-10, frames=3).values()["u"]
        right = np.exp(-(np.pi**2) * 0.1) * np.sin(np.pi * np.linspace(0, 1, points))
        errors.append(np.max(np.abs(found - right)))
    assert np.log2(errors[0] / errors[1]) > order - 0.4


@pytest.mark.exhaustive
def test_derivatives_in_a_constant_are_exact() -> None:
    lines = pde.Lines(heat(), 25, order=6, tolerance=1e-10, frames=3)

    def middle(k: Any) -> Any:
        return lines.values(k=k)["u"][12]

    value = np.exp(-(np.pi**2) * 0.1)
    assert primad.grad(middle)(1.0) == pytest.approx(-(np.pi**2) * 0.1 * value, rel=1e-6)
    assert primad.grad(primad.grad(middle))(1.0) == pytest.approx((np.pi**2 * 0.1) ** 2 * value, rel=1e-5)
    assert primad.jit(primad.grad(middle))(1.0) == pytest.approx(primad.grad(middle)(1.0), rel=1e-9)


def test_every_condition_holds_and_changes_in_time() -> None:
    """Of u = exp(−t) cos x + x t, by Neumann's condition, Robin's, and one's own, all of which change in time."""

    def exact(x: Any, t: Any) -> Any:
        return np.exp(-t) * np.cos(x) + x * t

    def robin(t: Any) -> Any:
        return exact(1.0, t) + 2 * (t - np.exp(-t) * np.sin(1.0))

    ends = {
        "slopes": [pde.Neumann(u=lambda t: -t, on="x-"), pde.Robin(u=robin, a=1, b=2, on="x+")],
        "values": [
            pde.Condition(lambda u, t: 3 * u - 3 * np.exp(-t), on="x-"),
            pde.Dirichlet(u=lambda t: np.exp(-t) * np.cos(1.0) + t, on="x+"),
        ],
    }
    for name, conditions in ends.items():
        problem = pde.Problem(
            lambda u, x: u.t - u.xx - x,
            LINE * pde.Time(0, 1),
            [*conditions, pde.Initial(u=lambda x: np.cos(x), hard=False)],
            network=NET,
        )
        solution = problem.solve(method="differences", points=31, frames=20)
        assert solution.error(u=exact) < 3e-5, name
        slope = solution.u.d("x")(0.3, 0.5)
        assert slope == pytest.approx(0.5 - np.exp(-0.5) * np.sin(0.3), abs=1e-4), name


def test_a_wave_of_a_system_in_the_plane() -> None:
    problem = pde.Problem(
        lambda u, v: (u.t - v, v.t - pde.laplacian(u)),
        pde.Box(x=(0, 1), y=(0, 1)) * pde.Time(0, 0.5),
        [
            pde.Dirichlet(u=0),
            pde.Free("v", on=["x-", "x+", "y-", "y+"]),
            pde.Initial(u=lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y), v=0),
        ],
        unknowns="u v",
        network=NET,
    )
    solution = problem.solve(method="differences", points=(13, 15), frames=10, order=4)

    def exact(x: Any, y: Any, t: Any) -> Any:
        return np.sin(np.pi * x) * np.sin(np.pi * y) * np.cos(np.sqrt(2) * np.pi * t)

    assert solution.error(u=exact) < 2e-4
    assert repr(solution) == "<solution of u, v: 13 × 15 points, differences of order 4>"


def test_spectral_steps_and_differences_find_the_same_waves() -> None:
    """Of an equation of third order with a flux that is stated as one, as volumes take it."""
    problem = pde.Problem(
        lambda u: u.t + pde.flux_divergence(lambda u: u**2 / 2, u) + 0.01 * u.xxx,
        pde.Interval(-1, 1) * pde.Time(0, 0.3),
        [pde.Periodic("x"), pde.Initial(u=lambda x: np.cos(np.pi * x))],
        network=NET,
    )
    spectral = problem.solve(method="spectral", points=32, frames=20)
    differences = problem.solve(method="differences", points=64, order=6, frames=20)
    assert differences.error(u=lambda x, t: spectral.u(x, t)) < 3e-4
    assert np.mean(spectral.states["u"], axis=1) == pytest.approx(0, abs=1e-9)


def test_volumes_find_what_spectral_steps_find() -> None:
    problem = pde.Problem(
        lambda u: u.t + u * u.x,
        LINE * pde.Time(0, 0.1),
        [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x))],
        network=NET,
    )
    spectral = problem.solve(method="spectral", points=48, frames=20, tolerance=1e-6)
    volumes = problem.solve(method="volumes", cells=60, frames=20)
    assert volumes.error(u=lambda x, t: spectral.u(x, t)) < 3e-3


SPACETIME = LINE * pde.Time(0, 1)
STARTED = [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x), hard=False)]
REFUSED = {
    "no time": (lambda u: u.xx - u, LINE, [pde.Dirichlet(u=0)], {}, "the domain"),
    "a wave": (lambda u: u.tt - u.xx, SPACETIME, [*STARTED, pde.Initial(u=0, order=1)], {}, "initial velocity"),
    "a mixed one": (lambda u: u.t - u.xxt, SPACETIME, STARTED, {}, "first order in t"),
    "a factor": (lambda u: u * u.t - u.xx, SPACETIME, STARTED, {}, "other factors"),
    "a factor of place": (lambda u, x: (1 + x) * u.t - u.xx, SPACETIME, STARTED, {}, "differ between points"),
    "no rate": (lambda u: u.xx - u, SPACETIME, STARTED, {}, "no derivative along t"),
    "two": (lambda u: (u.t - u.xx, u.t - u.x), SPACETIME, STARTED, {}, "no derivative along t"),
    "order": (lambda u: u.t - u.xx, SPACETIME, STARTED, {"order": 3}, "orders 2, 4 and 6"),
    "points": (lambda u: u.t - u.xx, SPACETIME, STARTED, {"points": 7}, "at least 12 points"),
    "axes": (lambda u: u.t - u.xx, SPACETIME, STARTED, {"points": (20, 20)}, "got (20, 20)"),
    "name": (lambda u: u.t - u.xx, SPACETIME, STARTED, {"k": 2.0}, "no coefficient 'k'"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_other_problems_are_one_error(name: str) -> None:
    equation, domain, conditions, settings, why = REFUSED[name]
    problem = pde.Problem(equation, domain, conditions, network=NET)
    with pytest.raises(ProblemError, match=re.escape(why)) as raised:
        problem.solve(method="differences", **settings)
    assert str(raised.value).startswith("lines: ")


def test_what_is_asked_of_lines_is_checked() -> None:
    with pytest.raises(ProblemError, match="not periodic in all"):
        heat().solve(method="spectral")
    solution = heat().solve(method="differences", points=13, frames=3)
    with pytest.raises(ProblemError, match="derivatives in space"):
        solution.u.d("t")(0.5, 0.05)
    blown = pde.Problem(lambda u: u.t - u**2 * 100, SPACETIME, STARTED, network=NET)
    with pytest.raises(DomainError, match="steps of DOP853 end before"):
        blown.solve(method="differences", points=13, frames=3)


@pytest.mark.exhaustive
@pytest.mark.one_in(3)
@pytest.mark.parametrize("points", [15, 16])
def test_spectral_solutions_are_as_exact_between_points(points: int) -> None:
    """A wave that the grid resolves is the same wave between its points, and so are its derivatives."""
    problem = pde.Problem(
        lambda u: u.t + u.x,
        pde.Interval(0, 1) * pde.Time(0, 0.5),
        [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x))],
    )
    solution = problem.solve(method="spectral", points=points, tolerance=1e-10)
    places = np.linspace(0.0, 1.0, 37)
    wave = 2 * np.pi * (places - 0.5)
    np.testing.assert_allclose(solution.u(places, 0.5), np.sin(wave), atol=3e-7)
    np.testing.assert_allclose(solution.u.d("x")(places, 0.5), 2 * np.pi * np.cos(wave), atol=3e-6)


@pytest.mark.exhaustive
def test_equations_are_not_asked_where_conditions_hold_the_values() -> None:
    """Heat on a disk, along its radius: at the centre the equation has 1 / x, and a condition says the slope is 0."""
    zero = special.jn_zeros(0, 1)[0]
    problem = pde.Problem(
        lambda u, x, k: u.t - k * (u.xx + u.x / x),
        LINE * pde.Time(0, 0.1),
        [
            pde.Neumann(u=0, on="x-"),
            pde.Dirichlet(u=0, on="x+"),
            pde.Initial(u=lambda x: primad.scipy.special.j0(zero * x)),
        ],
        constants={"k": 1.0},
    )
    lines = pde.Lines(problem, points=41)
    right = np.exp(-0.1 * zero**2) * special.j0(zero * lines.places[0])
    np.testing.assert_allclose(lines.values(k=1.0)["u"], right, atol=1e-7)
    slope = primad.jacfwd(lambda k: lines.values(k=k)["u"])(1.0)
    np.testing.assert_allclose(slope, -0.1 * zero**2 * right, atol=1e-6)


@pytest.mark.exhaustive
def test_an_end_that_one_of_two_unknowns_has_free_moves_by_its_equation() -> None:
    """Sound in a tube: the velocity is held at a wall, where the pressure is what its equation says."""
    problem = pde.Problem(
        lambda p, v: (p.t + v.x, v.t + p.x),
        LINE * pde.Time(0, 0.4),
        [pde.Dirichlet(v=0), pde.Free("p"), pde.Initial(p=lambda x: np.cos(np.pi * x), v=0)],
        unknowns="p v",
        network=NET,
    )
    lines = pde.Lines(problem, points=41, order=4)
    x, found = lines.places[0], lines.values()
    np.testing.assert_allclose(found["p"], np.cos(np.pi * x) * np.cos(0.4 * np.pi), atol=5e-6)
    np.testing.assert_allclose(found["v"], np.sin(np.pi * x) * np.sin(0.4 * np.pi), atol=5e-6)
