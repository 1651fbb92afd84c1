"""What holds by construction is smooth inside the domain, agrees with all that holds besides, and repeats."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from primad import pde
from primad.errors import ProblemError
from primad.pde.networks.smoothness import may_be_rough, roughness
from tests.sweeps import chosen

ROD, NETWORK = pde.Interval(-1, 1) * pde.Time(0, 1), pde.MLP(4, 1)
RING = pde.Disk() - pde.Disk(radius=0.5)
HEAT = np.linspace(0.0, 1.0, 9)


def anything(u):
    return u.value


ROUGH = {
    "a kink": (lambda x, t: np.abs(x), "derivative of order 1 in x would jump"),
    "a kink between stations": (lambda x, t: np.maximum(x, 0.1234567), "derivative of order 1 in x would jump"),
    "a ramp in time": (lambda x, t: np.minimum(t, 0.3) * x, "derivative of order 1 in t would jump"),
    "a step": (lambda x, t: np.where(x < 0.3, 1.0, 0.0), "value would jump"),
    "a small step": (lambda x, t: np.cos(x) + 1e-3 * np.sign(x - t), "value would jump"),
    "a line of a table": (lambda x, t: np.interp(x, [-1, 0.2, 1], [0, 1, 0]), "derivative of order 1 in x would jump"),
    "a floor": (lambda x, t: np.floor(3 * x) + t, "value would jump"),
    "a modulus": (lambda x, t: x**2 % 0.3, "value would jump"),
    "alike up to the first derivative": (lambda x, t: x * np.abs(x), "derivative of order 2 in x would jump"),
    "alike up to the second": (
        lambda x, t: np.where(x < t, 0.0, (x - t) ** 3),
        "derivative of order 3 in x would jump",
    ),
    "a root of a square": (lambda x, t: np.sqrt((x - 0.1) ** 2), "derivative of order 1 in x would jump"),
    "a pole": (lambda x, t: 1 / ((x - 0.2) ** 2 + (t - 0.4) ** 2), "would have no bound"),
    "a logarithm": (lambda x, t: np.log((x - 0.2) ** 2 + (t - 0.4) ** 2), "would have no bound"),
    "an undefined half": (lambda x, t: np.log(x), "would not be finite"),
    "a cone": (lambda x, t: 1 - np.hypot(x - 0.1, t - 0.4), "a curvature would have no bound inside"),
    "a cone of a norm": (lambda x, t: np.sqrt(x**2 + (t - 0.3) ** 2) * np.cos(x), "a curvature would have no bound"),
    "a root at the end": (lambda x, t: np.sqrt(x + 1), "a slope would have no bound at the edge of"),
    "half an ellipse": (lambda x, t: np.sqrt(1 - x**2) * (1 + t), "a slope would have no bound at the edge of"),
    "a root of time": (lambda x, t: x * np.sqrt(t), "a slope would have no bound at the edge of"),
    "a root of a distance": (lambda x, t: np.hypot(x - 0.1, t - 0.4) ** 0.5, "a slope would have no bound inside"),
    "a power of a share": (lambda x, t: np.power(x + 1, 0.75), "a slope would have no bound at the edge of"),
    "a power below 0": (lambda x, t: np.power(x - 0.2, -4), "would"),
    "an entropy": (lambda x, t: (1 + x) * np.log(1 + x), "a slope would have no bound at the edge of"),
    "a step of a 500th": (lambda x, t: np.where(np.abs(x - 0.3) < 0.002, 1.0, 0.0), "value would jump"),
    "a hat of a 100th": (lambda x, t: np.maximum(0, 1 - np.abs(x - 0.3) / 0.01), "derivative of order 1 in x would"),
    "a short pulse": (lambda x, t: np.where((t > 0.2) & (t < 0.204), x, 0.0), "value would jump"),
}
SMOOTH = {
    "a polynomial": lambda x, t: x**3 * t - x**2,
    "a power": lambda x, t: (x + t) ** 5,
    "waves": lambda x, t: np.sin(9 * x) * np.exp(-t) / 3,
    "a front": lambda x, t: np.tanh((x - 0.1) / 0.003),
    "a logistic front": lambda x, t: 1 / (1 + np.exp(-100 * x)),
    "a rounded kink": lambda x, t: np.sqrt(x**2 + 1e-4),
    "a bell": lambda x, t: 1 / np.cosh(20 * x) ** 2,
    "a ratio with its limit": lambda x, t: np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)),
    "a maximum that never changes": lambda x, t: np.maximum(x, -2.0) ** 2,
    "a root beyond the end": lambda x, t: np.sqrt(x + 1.2),
    "a cube of a distance": lambda x, t: np.hypot(x - 0.1, t - 0.4) ** 3,
    "a rounded cone": lambda x, t: np.sqrt(x**2 + (t - 0.4) ** 2 + 1e-2),
    "a root's fifth power at the end": lambda x, t: (x + 1) ** 2.5,
    "a root's third power at the end": lambda x, t: (x + 1) ** 1.5,
    "a pole outside": lambda x, t: np.log(1.5 - x),
    "a function through values": lambda x, t: pde.chebyshev(HEAT**2, -1, 1)(x),
    "another one": lambda x, t: pde.trigonometric(np.sin(np.pi * HEAT[:-1] * 2), -1, 1)(x) * t,
}


TRIED = [
    "a kink", "a step", "a small step", "a modulus", "alike up to the first derivative", "alike up to the second",
    "a pole", "an undefined half", "a cone", "half an ellipse", "a root of a distance", "a power below 0",
    "a step of a 500th", "a short pulse",
]  # fmt: skip
"""What the suite asks of `ROUGH`: each message, of each order, inside and at the edge."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", chosen(ROUGH, TRIED))
def test_a_jump_is_found_in_values_and_in_derivatives(name: str) -> None:
    function, words = ROUGH[name]
    assert words in roughness(lambda at: function(at[0], at[1]), ROD)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", SMOOTH)
def test_what_is_only_steep_or_written_with_a_case_is_smooth(name: str) -> None:
    assert roughness(lambda at: SMOOTH[name](at[0], at[1]), ROD) == ""


def test_functions_that_are_smooth_by_their_ops_cost_no_search() -> None:
    for name in ("a polynomial", "a power", "waves", "a front", "a function through values", "another one"):
        assert not may_be_rough(lambda at, name=name: SMOOTH[name](at[0], at[1]), 2), name
    for name, (function, _) in ROUGH.items():
        assert may_be_rough(lambda at, function=function: function(at[0], at[1]), 2), name
    for inner in (
        lambda x: 2.0 * x - 1.0,
        lambda x: np.array([0.5, 1.0]) @ np.stack([x, x]),
        lambda x: np.where(x > 0, x, 1),
    ):
        assert may_be_rough(lambda at, inner=inner: np.abs(inner(at[0])), 2)  # beside what is constant


def test_a_pole_in_a_hole_is_none() -> None:
    for function in (lambda at: np.log(at @ at), lambda at: np.abs(at @ at - 0.04), lambda at: 1 / (at @ at)):
        assert roughness(function, RING) == ""
        assert roughness(function, pde.Disk()) != ""


CONDITIONS = {
    "a start": (ROD, [pde.Dirichlet(u=0)], lambda **how: pde.Initial(u=lambda x: 1 - np.abs(x), **how)),
    "a velocity": (
        ROD,
        [pde.Dirichlet(u=0), pde.Initial(u=0)],
        lambda **how: pde.Initial(u=lambda x: (1 - x**2) * np.sign(x - 0.2), order=1, **how),
    ),
    "a boundary": (pde.Disk(), [], lambda **how: pde.Dirichlet(u=lambda x, y: np.where(y > 0, 1.0, 0.0), **how)),
    "an angle around a ring": (RING, [], lambda **how: pde.Dirichlet(u=lambda x, y: np.arctan2(y, x), **how)),
    "a boundary in time": (ROD, [pde.Initial(u=0)], lambda **how: pde.Dirichlet(u=lambda t: np.fmax(t, 0.5), **how)),
    "of many coordinates": (pde.Ball((0,) * 12, 1), [], lambda **how: pde.Dirichlet(u=lambda x3: np.abs(x3), **how)),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_whose_values_jump_inside_is_fitted_and_said_or_refused(name: str) -> None:
    domain, rest, make = CONDITIONS[name]
    with pytest.warns(UserWarning, match=r"cannot hold by construction: for u the .* would jump inside the domain"):
        problem = pde.Problem(anything, domain, [*rest, make()], network=NETWORK)
    assert len(problem.labels) == 2 and len(problem.held) == len(rest)
    assert "would jump inside" in problem._repr_html_()
    assert len(pde.Problem(anything, domain, [*rest, make(hard=False)], network=NETWORK).labels) == 2
    with pytest.raises(ProblemError, match="cannot hold by construction"):
        pde.Problem(anything, domain, [*rest, make(hard=True)], network=NETWORK)


def test_heat_from_a_triangle_is_solved() -> None:
    """Were it held, the triangle would stay as it is, at a loss of 0: its second derivative is 0 except in a point."""
    start = pde.Initial(u=lambda x: 1 - np.abs(x), hard=False)
    problem = pde.Problem(lambda u: u.t - u.xx, ROD, [pde.Dirichlet(u=0), start], network=pde.MLP(8, 1))
    solution = problem.solve(steps=25, points=100, progress=False)
    k = np.arange(1, 40, 2)[:, None] * np.pi / 2
    x = np.linspace(-1, 1, 7)
    exact = np.sum(2 / k**2 * np.exp(-(k**2) * 0.2) * np.cos(k * x), axis=0)
    np.testing.assert_allclose(solution.u(x, 0.2), exact, atol=0.03)


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (lambda x, y: np.sin(2 * np.pi * x) * np.cos(4 * np.pi * y), ""),
        (lambda x, y: np.sin(2 * np.pi * x) * y, "the value in y would be"),
        (lambda x, y: (x - 0.5) ** 2 + np.cos(2 * np.pi * y), "the derivative of order 1 in x would be"),
        (lambda x, y: np.cos(2 * np.pi * x) * (y - 0.5) ** 2, "the derivative of order 1 in y would be"),
    ],
)
def test_a_start_repeats_along_every_periodic_coordinate(start, why: str) -> None:
    """With its derivatives along the others as well."""
    given = [pde.Periodic("x", "y"), pde.Initial(u=start)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        problem = pde.Problem(anything, SQUARE * TIME, given, network=NETWORK)
    assert bool(told) == bool(why) == (len(problem.labels) == 2)
    assert why in "".join(str(one.message) for one in told)
    solution = pde.Solution(problem, problem.init(3), None, None, pde.History(()))
    y, t = np.random.default_rng(0).uniform(size=(2, 20))
    for derivative in ("", "x", "y", "xy", "xx"):
        u = solution.u.d(derivative)
        np.testing.assert_allclose(u(0.0, y, t), u(1.0, y, t), atol=1e-6)
        np.testing.assert_allclose(u(y, 0.0, t), u(y, 1.0, t), atol=1e-6)


SQUARE, TIME = pde.Box(x=(0, 1), y=(0, 1)), pde.Time(0, 1)


def waves(x, t):
    return np.sin(2 * np.pi * x) * (1 + t)


VALUES = {
    "zero": 0.0,
    "one": 1.0,
    "waves": waves,
    "their start": lambda x: np.sin(2 * np.pi * x),
    "a slope": lambda x: x,
    "time": lambda t: t,
    "a kink": lambda x: np.abs(x - 0.4),
}
SPACES = {
    "an interval": (pde.Interval(0, 1), ["x-", "x+"]),
    "a square": (SQUARE, ["y-", "y+"]),
    "a square without a disk": (SQUARE - pde.Disk((0.5, 0.5), 0.2), ["x-", "boundary"]),
    "a disk": (pde.Disk((0.5, 0.5), 0.5), ["boundary"]),
    "a half": (pde.Disk((0.5, 0.5), 0.5) & pde.Box(x=(0, 1), y=(0.5, 1)), ["boundary", "y-"]),
    "named": (SQUARE.named(low=lambda x, y: (y == 0) & (x < 0.5)), ["low", "x+"]),
}  # fmt: skip
COMBINED = [
    (space, side, start, velocity, ends)
    for number, (space, side, start, velocity, ends) in enumerate(
        itertools.product(SPACES, VALUES, VALUES, (None, *VALUES), ("free", "periodic", "clamped"))
    )
    if number % 337 == 7
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", COMBINED)
def test_whatever_is_said_to_hold_holds_beside_all_the_rest(case) -> None:
    """Values, velocities, slopes, repetition and smoothness, for parameters that nobody trained."""
    space, side, start, velocity, ends = case
    domain, parts = SPACES[space][0] * TIME, SPACES[space][1]
    given = [pde.Dirichlet(parts, u=VALUES[side]), pde.Initial(u=VALUES[start]), pde.Free("u")]
    given += [] if velocity is None else [pde.Initial(u=VALUES[velocity], order=1)]
    repeats = ends == "periodic" and space in ("a square", "named") and "x+" not in parts
    given += [pde.Periodic("x")] if repeats else []
    given += [pde.Neumann(parts, u=0)] if ends == "clamped" else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = pde.Problem(anything, domain, given, network=NETWORK)
    params = problem.init(3)
    (group,) = problem.groups
    solution = pde.Solution(problem, params, None, None, pde.History(()))
    for condition, _ in problem.held:
        for part in condition.parts(domain):
            edge = domain.boundary(part, 20, seed=5)
            value = condition.values["u"]
            names = value.__code__.co_varnames if callable(value) else ()
            wanted = value(*[edge[name] for name in names]) if callable(value) else value
            if condition.kind == "Neumann condition":
                found = sum(edge.normals[:, i] * solution.at(edge.at, "u", n) for i, n in enumerate(domain.names))
            else:
                found = solution.at(edge.at, "u", "t" if condition.kind == "initial velocity" else "")
            np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=1e-7, err_msg=condition.what)
    if repeats:
        at = domain.boundary("x-", 20).at
        for derivative in ("", "x", "xx", "xt"):
            both = [solution.at(one, "u", derivative) for one in (at, at + np.eye(len(domain.names))[0])]
            np.testing.assert_allclose(*both, atol=1e-4, err_msg=derivative)
    weights = params["networks"]["u"]
    assert roughness(lambda at: group.at(weights, dict(zip(domain.names, at, strict=True))), domain) == ""
