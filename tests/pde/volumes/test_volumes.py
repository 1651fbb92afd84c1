"""Finite volumes solve what networks solve: of the right order, conserving, with exact derivatives."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import DomainError, ProblemError, ShapeError
from primad.pde.volumes import finite_volumes
from scientific_examples import shock_tube
from tests.sweeps import thinned

NET = pde.MLP(4, 1)
LINE = pde.Interval(0, 1)


def wave(x: Any) -> Any:
    return np.sin(2 * np.pi * x)


def periodic(equation: Any, end: float, start: Any = wave, **more: Any) -> pde.Problem:
    conditions = [pde.Periodic("x"), pde.Initial(u=start, hard=False)]
    return pde.Problem(equation, LINE * pde.Time(0, end), conditions, network=NET, **more)


def burgers(start: Any, x: Any, t: float) -> Any:
    """Return the solution of Burgers' equation before the shock, u = u₀(x − u t), by Newton's method."""
    u = start(x)
    for _ in range(30):
        slope = 2 * np.pi * np.cos(2 * np.pi * (x - u * t))
        u = u - (u - start(x - u * t)) / (1 + t * slope)
    return u


def averages(function: Any, volumes: pde.Volumes) -> Any:
    """Return averages over cells, by a quadrature of order 10."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    edges = volumes.edges[0]
    places = volumes.centers[0][:, None] + 0.5 * np.diff(edges)[:, None] * nodes
    return function(places) @ weights / 2


def smooth(kind: str) -> tuple[pde.Problem, Any]:
    """Return a problem with a smooth solution, and that at the end."""
    if kind == "advection":
        return periodic(lambda u, c: u.t + c * u.x, 0.5, constants={"c": -1.0}), lambda x: wave(x + 0.5)
    stated = {
        "Burgers by slopes": lambda u: u.t + u * u.x,
        "Burgers by flux": lambda u: u.t + pde.flux_divergence(lambda u: u * u / 2, u),
        "Burgers scaled": lambda u: 2 * u.t - pde.flux_divergence(lambda u: -u * u, u),
    }
    return periodic(stated[kind], 0.1), lambda x: burgers(wave, x, 0.1)


@pytest.mark.one_in(2)
@thinned(2, kind=["advection", "Burgers by slopes", "Burgers by flux", "Burgers scaled"], flux=["hll", "rusanov"])
def test_smooth_solutions_converge_with_the_order_of_the_reconstruction(kind: str, flux: str) -> None:
    """Steps shrink faster than cells, so that the error in time, of third order, stays below that in space."""
    problem, exact = smooth(kind)
    errors = []
    for cells in (32, 64):
        volumes = pde.Volumes(problem, cells, flux, cfl=0.4 * (16 / cells) ** (2 / 3), frames=2)
        errors.append(np.mean(np.abs(volumes.values()["u"] - averages(exact, volumes))))
    assert np.log2(errors[0] / errors[1]) > 4
    assert errors[1] < 1e-4


def test_constants_are_of_order_one_and_upwind() -> None:
    """A step of upwind differences is found again exactly."""
    volumes = pde.Volumes(periodic(lambda u: u.t + u.x, 0.01), 20, order=1, frames=1)
    first = volumes.states()["u"][0]

    def rate(u: Any) -> Any:
        return -(u - np.roll(u, 1)) * 20

    one = first + volumes.step * rate(first)
    two = 0.75 * first + 0.25 * (one + volumes.step * rate(one))
    assert volumes.step == pytest.approx(0.01)
    assert volumes.values()["u"] == pytest.approx(first / 3 + 2 / 3 * (two + volumes.step * rate(two)), abs=1e-14)


def test_the_average_is_conserved_to_rounding_with_a_shock() -> None:
    states = pde.Volumes(periodic(lambda u: u.t + u * u.x, 1.0, lambda x: 0.3 + wave(x)), 50).states()["u"]
    assert np.mean(states, axis=1) == pytest.approx(0.3, abs=1e-14)
    assert np.max(np.abs(np.diff(states[-1]))) > 0.2
    assert np.max(states[-1]) < 1.3


def test_the_shock_tube_is_the_exact_solution() -> None:
    """The L1 error of the density at 200 cells, whose shock and contact are a few cells wide."""
    volumes = pde.Volumes(shock_tube.stated(), 200, frames=1)
    right, *_ = shock_tube.EXACT((volumes.centers[0] - 0.5) / shock_tube.END)
    states = volumes.states(pressure=1.0)
    assert np.mean(np.abs(states["rho"][-1] - right)) < 3e-3
    for name in ("rho", "E"):
        assert np.mean(states[name], axis=1) == pytest.approx(np.mean(states[name][0]), rel=1e-13)


# -- derivatives -------------------------------------------------------------------------------------------------------


def slope(function: Any, at: float, step: float = 1e-5) -> float:
    return (function(at + step) - function(at - step)) / (2 * step)


@thinned(2, flux=["hll", "rusanov"], order=[1, 5])
def test_gradients_are_differences(flux: str, order: int) -> None:
    """In a coefficient, in a constant of the start, and in the averages at the start; also compiled."""
    problem = pde.Problem(
        lambda u, c, k: u.t + u * u.x + c * u.x + k * u**2,
        LINE * pde.Time(0, 0.2),
        [
            pde.Dirichlet(u=lambda t: 1 + t, on="x-"),
            pde.Free("u", on="x+"),
            pde.Condition(lambda u, x, a: 2 * u - 2 * a * (1 + 0.3 * np.cos(5 * x)), on="initial"),
        ],
        constants={"c": 0.5, "k": 0.2},
        coefficients={"a": 1.0},
        network=NET,
    )
    volumes = pde.Volumes(problem, 20, flux, order, frames=3)
    weights = np.cos(3 * volumes.centers[0])

    def total(**given: Any) -> Any:
        return np.sum(volumes.values(**given)["u"] ** 2 * weights)

    at = {"c": 0.5, "k": 0.2, "a": 1.0}
    found = primad.grad(lambda given: total(**given))(at)
    for name, value in at.items():
        assert found[name] == pytest.approx(slope(lambda x, name=name: total(**{**at, name: x}), value), rel=1e-6), name
    assert primad.jit(primad.grad(lambda a: total(a=a)))(1.0) == pytest.approx(found["a"], rel=1e-12)
    assert primad.jvp(lambda a: total(a=a), (1.0,), (1.0,))[1] == pytest.approx(found["a"], rel=1e-10)
    first = volumes.states(a=1.0)["u"][0]
    along = np.sin(np.arange(20.0))
    found = primad.grad(lambda u: total(a=1.0, start={"u": u}))(first) @ along
    assert found == pytest.approx(slope(lambda s: total(a=1.0, start={"u": first + s * along}), 0.0, 1e-6), rel=1e-6)


def test_second_derivatives_are_differences_of_first_ones() -> None:
    volumes = pde.Volumes(periodic(lambda u, c: u.t + c * u * u.x, 0.1, constants={"c": 1.0}), 16, frames=2)
    first = primad.grad(lambda c: np.sum(volumes.values(c=c)["u"] ** 3 * volumes.centers[0]))
    assert primad.grad(first)(1.0) == pytest.approx(slope(first, 1.0), rel=1e-6)


def test_gradients_of_a_gas_are_differences() -> None:
    volumes = pde.Volumes(shock_tube.stated(), 40, frames=2)

    def total(pressure: Any) -> Any:
        return np.sum(volumes.values(pressure=pressure)["rho"] ** 2 * np.sin(3 * volumes.centers[0]))

    assert primad.grad(total)(1.0) == pytest.approx(slope(total, 1.0, 1e-6), rel=1e-5)


# -- several coordinates, systems, conditions --------------------------------------------------------------------------


def test_waves_in_the_plane_converge_along_both_coordinates() -> None:
    def exact(x: Any, y: Any, t: Any) -> Any:
        return wave(x - t) * np.cos(2 * np.pi * (y - 0.5 * t))

    problem = pde.Problem(
        lambda u: u.t + u.x + 0.5 * u.y,
        pde.Box(x=(0, 1), y=(0, 1)) * pde.Time(0, 0.25),
        [pde.Periodic("x y"), pde.Initial(u=lambda x, y: exact(x, y, 0.0))],
        network=NET,
    )
    errors = []
    for cells in (16, 32):
        solution = problem.solve(method="volumes", cells=(cells, cells + 2), cfl=0.2, frames=20)
        x, y = solution.volumes.centers
        smoothed = np.sinc(1 / cells) * np.sinc(1 / (cells + 2))
        errors.append(np.max(np.abs(solution.states["u"][-1] - smoothed * exact(x[:, None], y, 0.25))))
    assert np.log2(errors[0] / errors[1]) > 4
    assert solution.error(u=exact) < 0.02


def shallow(h: Any, q: Any, r: Any) -> Any:
    def flux(h: Any, q: Any, r: Any) -> Any:
        return (q, q * q / h + h * h / 2, q * r / h), (r, q * r / h, r * r / h + h * h / 2)

    return tuple(u.t + part for u, part in zip((h, q, r), pde.flux_divergence(flux, h, q, r), strict=True))


def test_water_stays_between_walls_and_keeps_its_symmetry() -> None:
    """Walls are given momenta of 0 across them: no water passes. x and y are alike in all that is stated."""
    problem = pde.Problem(
        shallow,
        pde.Box(x=(0, 1), y=(0, 1)) * pde.Time(0, 0.4),
        [
            pde.Dirichlet(q=0, on=["x-", "x+"]),
            pde.Dirichlet(r=0, on=["y-", "y+"]),
            pde.Neumann(q=0, on=["y-", "y+"]),
            pde.Neumann(r=0, on=["x-", "x+"]),
            pde.Neumann(h=0),
            pde.Initial(h=lambda x, y: 1 + np.exp(-40 * ((x - 0.4) ** 2 + (y - 0.4) ** 2)), q=0, r=0),
        ],
        unknowns="h q r",
        network=NET,
    )
    states = pde.Volumes(problem, 20, frames=4).states()
    assert np.mean(states["h"], axis=(1, 2)) == pytest.approx(np.mean(states["h"][0]), rel=1e-13)
    assert states["h"][-1] == pytest.approx(states["h"][-1].T, rel=1e-12)
    assert states["q"][-1] == pytest.approx(states["r"][-1].T, abs=1e-12)
    assert np.max(np.abs(states["q"])) > 0.1


def test_sound_returns_from_walls() -> None:
    """After the time of a way across the tube the pressure is what it was, mirrored, and the velocity is 0."""
    problem = pde.Problem(
        lambda p, v, K: (p.t + K * v.x, v.t + p.x),
        LINE * pde.Time(0, 0.5),
        [pde.Dirichlet(v=0), pde.Neumann(p=0), pde.Initial(p=lambda x: np.exp(-150 * (x - 0.3) ** 2), v=0)],
        unknowns="p v",
        constants={"K": 4.0},
        network=NET,
    )
    states = pde.Volumes(problem, 100, frames=1).states()
    assert states["p"][-1] == pytest.approx(states["p"][0][::-1], abs=5e-3)
    assert np.max(np.abs(states["v"][-1])) < 5e-3


def test_what_flows_in_decays_by_the_source() -> None:
    """u(x, t) = g(t − x) exp(−k x) where g flows in."""
    problem = pde.Problem(
        lambda u, k: u.t + u.x + k * u,
        LINE * pde.Time(0, 2),
        [pde.Dirichlet(u=lambda t: 1 + 0.1 * np.sin(t), on="x-"), pde.Free("u", on="x+"), pde.Initial(u=1)],
        constants={"k": 1.0},
        network=NET,
    )
    solution = problem.solve(method="volumes", cells=50)
    x = np.linspace(0.1, 0.9, 7)
    assert solution.u(x, 2.0) == pytest.approx(np.exp(-x) * (1 + 0.1 * np.sin(2 - x)), abs=1e-3)


def test_a_network_finds_what_volumes_find() -> None:
    problem = periodic(lambda u: u.t + pde.flux_divergence(lambda u: np.sin(u), u), 0.3)
    network = pde.Problem(
        problem.statement.equations[0].function, problem.domain, problem.statement.conditions, network=pde.MLP(12, 2)
    ).solve(steps=60, points=300, progress=False)
    volumes = problem.solve(method="volumes", cells=60, frames=40)
    assert network.error(u=lambda x, t: volumes.u(x, t)) < 0.02


def test_a_flux_of_slopes_need_not_be_a_polynomial() -> None:
    """exp(u) is no polynomial: its integral is taken so often that its slope is right."""
    stated = periodic(lambda u: u.t + pde.flux_divergence(lambda u: np.exp(u), u), 0.1)
    sloped = periodic(lambda u: u.t + np.exp(u) * u.x, 0.1)
    one, two = (pde.Volumes(problem, 30, frames=1).values()["u"] for problem in (stated, sloped))
    assert one == pytest.approx(two, abs=1e-9)


# -- the operator ------------------------------------------------------------------------------------------------------


def test_the_divergence_of_a_flux_is_that_of_the_chain_rule() -> None:
    field = pde.Field(lambda x, y, t: np.stack([np.sin(x + 2 * y), x * y + t]), "x y t", "h q")
    x, y = np.array([0.1, 0.4, 0.8]), np.array([0.2, 0.3, 0.9])
    at = field(x, y, 0.5)

    def flux(h: Any, q: Any) -> Any:
        return (h * q, q**2), (np.exp(h), h)

    first, second = pde.flux_divergence(flux, at.h, at.q)
    assert first == pytest.approx(at.h.x * at.q + at.h * at.q.x + np.exp(at.h.value) * at.h.y)
    assert second == pytest.approx(2 * at.q * at.q.x + at.h.y)
    assert pde.flux_divergence(lambda h: h**2, at.h, wrt="y") == pytest.approx(2 * at.h * at.h.y)


def test_a_flux_that_is_none_is_refused() -> None:
    u = pde.Field(lambda x, t: x * t, "x t")(np.array([0.1, 0.2, 0.3]), 1.0)
    with pytest.raises(ShapeError, match=r"(?s)of one point.*derivatives would be missing"):
        pde.flux_divergence(lambda v: u * v, u)
    with pytest.raises(ShapeError, match="as many components"):
        pde.flux_divergence(lambda u: (u, u), u)
    with pytest.raises(ShapeError, match="a part for each"):
        pde.flux_divergence(lambda u: u, u, wrt="x t")
    with pytest.raises(primad.TracingError, match="the unknowns"):
        pde.flux_divergence(lambda u: u)
    with pytest.raises(primad.TracingError, match="a field at points"):
        pde.flux_divergence(lambda u: u, u.value)


# -- what volumes do not do --------------------------------------------------------------------------------------------

STARTED = [pde.Periodic("x"), pde.Initial(u=wave, hard=False)]
SPACETIME = LINE * pde.Time(0, 1)
REFUSED = {
    "no time": (lambda u: u.x - u, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")], "the domain"),
    "second order": (lambda u: u.t - u.xx, SPACETIME, STARTED, "order 2"),
    "speed of place": (lambda u, x: u.t + x * u.x, SPACETIME, STARTED, "factors of derivatives in space"),
    "steep": (lambda u: u.t + u.x**2, SPACETIME, STARTED, "factors of derivatives in space"),
    "no rate": (lambda u: u * u.t + u.x, SPACETIME, STARTED, "factors of derivatives along t"),
    "factor of a flux": (
        lambda u: u.t + u * pde.flux_divergence(lambda u: u, u),
        SPACETIME,
        STARTED,
        "factors of divergences of fluxes",
    ),
    "parameter": (
        lambda u, c: u.t + c * u.x,
        SPACETIME * pde.Parameters(c=(1, 2)),
        STARTED,
        "the domain",
    ),
    "data": (lambda u: u.t + u.x, SPACETIME, [*STARTED, pde.Data(x=[0.5], t=[0.5], u=[0.1])], "'data'"),
    "slope": (
        lambda u: u.t + u.x,
        SPACETIME,
        [pde.Neumann(u=1, on="x-"), pde.Free("u", on="x+"), pde.Initial(u=0)],
        "not 0",
    ),
    "own condition": (
        lambda u: u.t + u.x,
        SPACETIME,
        [pde.Condition(lambda u: u**2 - 1, on="x-"), pde.Free("u", on="x+"), pde.Initial(u=0)],
        "not linear",
    ),
    "own slope": (
        lambda u: u.t + u.x,
        SPACETIME,
        [pde.Condition(lambda u: u - u.x, on="x-"), pde.Free("u", on="x+"), pde.Initial(u=0)],
        "along x in it",
    ),
    "no start": (
        lambda u: u.t + u.x,
        SPACETIME,
        [pde.Periodic("x"), pde.Free("u", on="initial")],
        "'initial'",
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_other_problems_are_one_error(name: str) -> None:
    equation, domain, conditions, why = REFUSED[name]
    problem = pde.Problem(equation, domain, conditions, network=NET)
    with pytest.raises(ProblemError, match=re.escape(why)) as raised:
        problem.solve(method="volumes")
    assert str(raised.value).startswith("volumes: ")
    assert "Fix: " in str(raised.value)


@pytest.mark.parametrize(
    ("equations", "why"),
    [
        (lambda u, v: (u.t + v.x, v.t - u.x), "speeds are not real"),
        (lambda u, v: (u.t + v * u.x, v.t + u.x), "no derivatives of a flux"),
        (lambda u, v: (u.t + v.t, u.t + v.t + u.x), "does not say what"),
        (lambda u, v: (u.t + v.x, v.t + u.x, u.x), "3 equations for 2 unknowns"),
    ],
)
def test_systems_without_a_flux_or_with_other_waves_are_refused(equations: Any, why: str) -> None:
    conditions = [pde.Periodic("x"), pde.Initial(u=wave, v=lambda x: 1 + wave(x) / 2, hard=False)]
    problem = pde.Problem(equations, SPACETIME, conditions, unknowns="u v", network=NET)
    with pytest.raises(ProblemError, match=why):
        problem.solve(method="volumes")


@pytest.mark.filterwarnings("ignore:nothing tells the value of a")
def test_what_is_asked_of_volumes_is_checked() -> None:
    problem = periodic(lambda u, c, a: u.t + c * u.x + a * u, 0.5, constants={"c": 1.0}, coefficients={"a": 0.0})
    volumes = pde.Volumes(problem, 20, frames=2)
    assert repr(volumes) == "<20 cells, 26 steps>"
    with pytest.raises(ProblemError, match="'a' has no value"):
        volumes.values()
    with pytest.raises(ProblemError, match="no coefficient 'b'"):
        volumes.values(a=0.0, b=1.0)
    with pytest.raises(ProblemError, match=r"leave points= out: help\(pde\.Volumes\)"):
        periodic(lambda u: u.t + u.x, 0.5).solve(method="volumes", points=20)
    with pytest.raises(DomainError, match="waves cross"):
        volumes.values(a=0.0, c=4.0)
    with pytest.raises(DomainError, match="not finite"):
        volumes.values(a=-1e300)
    with pytest.raises(ProblemError, match="the shape"):
        volumes.values(a=0.0, start={"u": np.zeros(3)})
    for wrong in ({"cells": 3}, {"cells": (9, 9)}, {"flux": "roe"}, {"order": 3}, {"cfl": 1.0}, {"frames": 0}):
        with pytest.raises(ProblemError, match="volumes: "):
            problem.solve(method="volumes", a=0.0, **wrong)
    solution = volumes.solve(a=0.0)
    with pytest.raises(ProblemError, match="the derivative 'x'"):
        solution.u.d("x")(0.5, 0.1)
    with pytest.raises(ProblemError, match="outside of the domain"):
        solution.u(1.5, 0.1)
    assert solution.u(0.0, 0.25) == pytest.approx(solution.u(1.0, 0.25))
    assert repr(solution) == "<solution of u: 20 cells, 26 steps>"


@pytest.mark.parametrize(("speed", "begin"), [(1e18, 0.0), (1e6, 1e9)])
def test_waves_that_are_too_fast_for_any_number_of_steps_are_refused(
    speed: float, begin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at times so large that a step is lost in their rounding."""
    monkeypatch.setattr(finite_volumes, "while_loop", partial(finite_volumes.while_loop, max_steps=300))
    problem = pde.Problem(
        lambda u, c: u.t + c * u.x,
        LINE * pde.Time(begin, begin + 1e-3),
        [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x))],
        constants={"c": speed},
    )
    with pytest.raises(DomainError, match="fewer cells"):
        pde.Volumes(problem, cells=40)
