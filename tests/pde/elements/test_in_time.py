"""Elements in time: the right orders, what moves at the boundary, systems, and derivatives by what states depend on."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError
from tests.sweeps import thinned

NET = pde.MLP(4, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
LINE = pde.Interval(0, 1)
TIGHT = {"method": "elements", "tolerance": 1e-9}


def orders(problem, degree=2, **exact):
    """Return the orders of the errors of unknowns, by elements of half the size."""
    found = []
    for size in (1 / 4, 1 / 8):
        solution = problem.solve(size=size, degree=degree, frames=10, **TIGHT)
        at_end = problem.domain.interior(500).at
        at_end[:, -1] = solution.elements.times[-1]
        found.append([solution.error(at_end, **{name: one}) for name, one in exact.items()])
    return np.log2(np.divide(*found))


@pytest.mark.exhaustive
@thinned(2, degree=[2, 1])
def test_the_error_of_the_heat_equation_falls_with_the_order_of_the_elements(degree: int) -> None:
    def exact(x, y, t):
        return np.exp(-2 * np.pi**2 * t) * np.sin(np.pi * x) * np.sin(np.pi * y)

    plate = pde.Problem(
        lambda u: u.t - pde.laplacian(u),
        SQUARE * pde.Time(0, 0.05),
        [pde.Dirichlet(u=0), pde.Initial(u=lambda x, y: exact(x, y, 0))],
        network=NET,
    )
    assert orders(plate, degree, u=exact) == pytest.approx(degree + 1, abs=0.3)


@pytest.mark.exhaustive
def test_values_and_fluxes_at_the_boundary_move() -> None:
    def exact(x, t):
        return np.sin(x + t) * np.exp(x)

    def through(x, t):
        return np.exp(x) * (np.sin(x + t) + np.cos(x + t))

    rod = pde.Problem(
        lambda u, x, t: u.t - u.xx + np.cos(x + t) * np.exp(x),
        LINE * pde.Time(0, 1),
        [
            pde.Dirichlet(u=exact, on="x-", hard=False),
            pde.Robin(u=lambda x, t: 2 * exact(x, t) + through(x, t), a=2, on="x+"),
            pde.Initial(u=lambda x: exact(x, 0), hard=False),
        ],
        network=NET,
    )
    assert orders(rod, u=exact) == pytest.approx(3, abs=0.2)


def test_what_is_carried_along_a_ring_comes_back() -> None:
    def exact(x, t):
        return np.exp(-0.4 * np.pi**2 * t) * np.sin(2 * np.pi * (x - t))

    ring = pde.Problem(
        lambda u: u.t + u.x - 0.1 * u.xx,
        LINE * pde.Time(0, 0.3),
        [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x))],
        network=NET,
    )
    assert ring.solve(size=1 / 16, degree=2, frames=10, **TIGHT).error(2000, u=exact) < 2e-3


@pytest.mark.exhaustive
def test_a_wave_is_a_system_of_first_order_in_time() -> None:
    """The equation with the second derivatives is solved for u, whose values are given: v needs none."""

    def exact(x, t):
        return np.cos(np.pi * t) * np.sin(np.pi * x)

    string = pde.Problem(
        lambda u, v: (u.t - v, v.t - u.xx),
        LINE * pde.Time(0, 1),
        [pde.Dirichlet(u=0), pde.Free("v", on=["x-", "x+"]), pde.Initial(u=lambda x: exact(x, 0), v=0)],
        unknowns="u v",
        network=NET,
    )
    # At t = 1 the exact v is 0, and its relative error none.
    assert orders(string, u=exact) == pytest.approx(3, abs=0.2)
    assert pde.Elements(string, 1 / 8, 2).pairing.equations == (1, 0)


GROWTH = {
    "the same conductivity": (1, 0),
    "one that changes in time": (lambda u, t: 1 + t, 0),
    "one that changes with u": (lambda u, t: 1 + u, 1),
    "one that changes with u, with a kink": (lambda u, t: 1 + np.maximum(u, 0), 1),
}
AT_END = {
    "a slope": lambda u, t: u.x - 2 * np.exp(t),
    "a slope and u": lambda u, t: u.x + t * u**2 - 2 * np.exp(t) - t * np.exp(2 * t),
    "a rate": lambda u, t: u.x + u.t - 3 * np.exp(t),
    "a rate times u": lambda u, t: u.x + u * u.t - 2 * np.exp(t) - np.exp(2 * t),
    "a rate times t": lambda u, t: u.x + t * u.t - (2 + t) * np.exp(t),
    "a rate that is squared": lambda u, t: u.x + u.t**2 - 2 * np.exp(t) - np.exp(2 * t),
    "a rate at late times": lambda u, t: u.x + np.where(t > 0.8, 1, 0) * (u.t - np.exp(t)) - 2 * np.exp(t),
    "a slope times u, and a rate": lambda u, t: (1 + u) * u.x + u.t - (3 + 2 * np.exp(t)) * np.exp(t),
    "a second derivative": lambda u, t: u.x + u.xx - 4 * np.exp(t),
    "one along time": lambda u, t: u.x + u.d("xt") - 4 * np.exp(t),
}


@pytest.mark.one_in(4)
@thinned(2, said=[*AT_END], conductivity=[*GROWTH])
def test_conditions_at_the_boundary_hold_or_are_refused(said: str, conductivity: str) -> None:
    """Of u = x² exp(t): whatever a condition says of it, nothing is left out."""
    given, changes = GROWTH[conductivity]

    def equation(u, x, t):
        own, exact = given(u, t) if callable(given) else given, x**2 * np.exp(t)
        once = given(exact, t) if callable(given) else given
        steep, flat = changes * u.x**2, changes * (2 * x * np.exp(t)) ** 2
        return u.t - own * u.xx - steep - exact + once * 2 * np.exp(t) + flat

    start = [pde.Dirichlet(u=0, on="x-"), pde.Initial(u=lambda x: x**2)]
    problem = pde.Problem(equation, LINE * pde.Time(0, 1), [*start, pde.Condition(AT_END[said], on="x+")], network=NET)
    refused = "rate" in said and not (said == "a rate" and conductivity == "the same conductivity")
    if refused or said in ("a second derivative", "one along time"):
        with pytest.raises(ProblemError, match=r"with factors that change|derivatives of order 2 in"):
            pde.Elements(problem, 1 / 4, 2)
        return
    elements = pde.Elements(problem, 1 / 4, 2, frames=3)
    assert elements.values() == pytest.approx(elements.nodes[:, 0] ** 2 * np.e, abs=1e-3)


def test_what_moves_at_the_boundary_only_is_refused() -> None:
    """The state at the start would be that of the equations without what moves."""
    drum = pde.Problem(
        lambda u: u.xx,
        LINE * pde.Time(0, 1),
        [pde.Dirichlet(u=0, on="x-"), pde.Condition(lambda u: u.t + u.x, on="x+"), pde.Initial(u=lambda x: x)],
        network=NET,
    )
    with pytest.raises(ProblemError, match="says how u changes with t, and the equation in the domain does not"):
        pde.Elements(drum, 1 / 4, 2)


LEANING = {
    "always": lambda u, t: 1.0,
    "after the start": lambda u, t: t,
    "after a while": lambda u, t: np.where(t > 0.5, 1.0, 0.0),
    "where u is large": lambda u, t: np.maximum(u - 1, 0),
    "where u is small": lambda u, t: np.minimum(u - 0.2, 0),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("when", LEANING)
def test_slopes_along_the_boundary_are_in_the_flux_whenever_a_condition_says_so(when: str) -> None:
    """They are left out where nothing depends on them: of (xy + y²)(1 + t)."""

    def exact(x, y, t):
        return (x * y + y * y) * (1 + t)

    def oblique(u, y, t):
        lean, whole = LEANING[when](u, t), LEANING[when](exact(1, y, t), t)
        return u.x + lean * u.y - (1 + t) * (y + whole * (1 + 2 * y))

    plate = pde.Problem(
        lambda u, x, y, t: u.t - pde.laplacian(u) - x * y - y * y + 2 * (1 + t),
        SQUARE * pde.Time(0, 1),
        [
            pde.Dirichlet(u=exact, on=["x-", "y-", "y+"], hard=False),
            pde.Condition(oblique, on="x+"),
            pde.Initial(u=lambda x, y: exact(x, y, 0), hard=False),
        ],
        network=NET,
    )
    elements = pde.Elements(plate, 1 / 2, 2, frames=3)
    assert elements.values() == pytest.approx(exact(*elements.nodes.T, 1.0), abs=1e-9)


@pytest.mark.exhaustive
def test_equations_of_fourth_order_are_systems_with_one_without_a_rate() -> None:
    """Cahn and Hilliard's: c is conserved, and what a grid of points finds is found."""

    def split(c, m):
        return c.t - m.xx, m - c**3 + c + 0.01 * c.xx

    conditions = [
        pde.Neumann(c=0, m=0),
        pde.Initial(c=lambda x: 0.1 * np.cos(2 * np.pi * x) + 0.1 * x**2 * (1.5 - x)),
        pde.Free("m", on="initial"),
    ]
    problem = pde.Problem(split, LINE * pde.Time(0, 0.05), conditions, unknowns="c m", network=NET)
    elements = pde.Elements(problem, 1 / 12, 2, frames=4, tolerance=1e-7)
    states = elements.states()["c"]
    whole = elements.inside[0].spaces[0].integrals(elements.inside[0].weights)
    assert states @ whole == pytest.approx(np.full(5, states[0] @ whole), rel=1e-9)
    whole_problem = pde.Problem(
        lambda c: c.t - (3 * c**2 - 1) * c.xx - 6 * c * c.x**2 + 0.01 * c.xxxx,
        LINE * pde.Time(0, 0.05),
        [pde.Neumann(c=0), pde.Condition(lambda c: c.xxx, on=["x-", "x+"]), conditions[1]],
        unknowns="c",
        network=NET,
    )
    there = np.linspace(0, 1, 9)
    with pytest.raises(ProblemError, match="order 4"):
        whole_problem.solve(method="elements")
    finer = problem.solve(method="elements", size=1 / 24, degree=2, frames=4, tolerance=1e-7)
    assert elements.solve().c(there, 0.05) == pytest.approx(finer.c(there, 0.05), abs=2e-4)


@pytest.mark.exhaustive
def test_grids_and_elements_agree_on_two_reactants() -> None:
    def reacting(u, v):
        return u.t - 0.02 * u.xx + u * v**2 - 0.04 * (1 - u), v.t - 0.01 * v.xx - u * v**2 + 0.1 * v

    problem = pde.Problem(
        reacting,
        LINE * pde.Time(0, 2),
        [
            pde.Neumann(u=0, v=0),
            pde.Initial(u=1.0, v=lambda x: 0.5 + 0.5 * np.cos(np.pi * x)),
        ],
        unknowns="u v",
        network=NET,
    )
    by_elements = problem.solve(size=1 / 32, degree=2, frames=10, **TIGHT)
    by_points = problem.solve(method="differences", points=65, frames=10)
    x = np.linspace(0, 1, 9)  # nodes, where elements are more exact than between them
    for name in "uv":
        assert getattr(by_elements, name)(x, 2.0) == pytest.approx(getattr(by_points, name)(x, 2.0), abs=5e-6)


def test_nonlinear_diffusion_agrees_with_a_grid() -> None:
    porous = pde.Problem(
        lambda u: u.t - 2 * u * u.xx - 2 * u.x**2,
        LINE * pde.Time(0, 0.1),
        [pde.Neumann(u=0), pde.Initial(u=lambda x: 1 + np.cos(np.pi * x) / 2)],
        network=NET,
    )
    by_elements = porous.solve(size=1 / 16, degree=2, frames=5, **TIGHT)
    by_points = porous.solve(method="differences", points=81, frames=5)
    x = np.linspace(0, 1, 9)
    assert by_elements.u(x, 0.1) == pytest.approx(by_points.u(x, 0.1), abs=1e-6)


@pytest.mark.exhaustive
@thinned(2, size=[1 / 8, 1 / 256])
def test_states_are_differentiated_by_capacity_conductivity_source_and_what_moves_at_the_boundary(size: float) -> None:
    """The matrix of what moves depends on coefficients too; small systems have a dense one, large ones a sparse one."""
    names = ["c", "k", "amplitude"]
    sparse = size < 0.01
    rod = pde.Problem(
        lambda u, c, k: c * u.t - k * u.xx - 1,
        LINE * pde.Time(0, 0.5),
        [
            pde.Condition(lambda u, t, amplitude: u - amplitude * np.sin(t), on="x-"),
            pde.Neumann(u=0, on="x+"),
            pde.Initial(u=0),
        ],
        constants=dict(zip(names, (2.0, 1.0, 3.0), strict=True)),
        network=NET,
    )
    elements = pde.Elements(rod, size, frames=4, tolerance=1e-6 if sparse else 1e-8)
    middle = elements.interpolation([0.5])

    def misfit(*numbers):
        found = middle @ elements.states(**dict(zip(names, numbers, strict=True))).T
        return np.sum((found - 0.3) ** 2)

    at = np.array([2.0, 1.0, 3.0])
    gradient = primad.grad(misfit, (0, 1, 2))(*at)
    for axis, slope in list(enumerate(gradient))[: 1 if sparse else 3]:
        step = 1e-3 * np.eye(3)[axis]
        assert slope == pytest.approx((misfit(*(at + step)) - misfit(*(at - step))) / 2e-3, rel=1e-3)


def test_a_solution_in_time_is_asked_as_every_other_one() -> None:
    plate = pde.Problem(
        lambda u: u.t - pde.laplacian(u),
        SQUARE.named(hot=lambda x, y: (x == 0) & (y < 0.5)) * pde.Time(0, 0.1),
        [pde.Dirichlet(u=1, on="hot"), pde.Neumann(u=0, on=["x-", "x+", "y-", "y+"]), pde.Initial(u=0, hard=False)],
        network=NET,
    )
    solution = plate.solve(method="elements", size=0.25, frames=10)
    assert repr(solution) == "<solution of u: 32 elements of degree 1, 22 unknowns>"
    assert solution.u(np.array([0.1, 0.9]), 0.2, 0.1).shape == (2,)
    assert solution.u(0.0, 0.25, 0.1) == pytest.approx(1)
    assert solution.elements.states().shape == (11, 25)
    assert solution.elements.values() == pytest.approx(solution.nodal)
    assert solution.u.d("x")(0.1, 0.1, 0.1) < 0
    for asked, words in (
        (lambda: solution.u.d("t")(0.5, 0.5, 0.1), "derivatives in space"),
        (lambda: plate.solve(method="elements", frames=1), "three states"),
        (lambda: pde.Elements(pde.Problem(lambda u: u.xx, LINE, [pde.Dirichlet(u=0)])).states(), "has no time"),
    ):
        with pytest.raises(ProblemError, match=re.escape(words)):
            asked()
    assert solution.plot(t=0.1).get_title().startswith("u")
