"""Conditions: what holds by construction holds for all parameters; what is fitted has the residual that it says."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy

import primad
from primad import pde
from primad.errors import ProblemError

INTERVAL, SQUARE, TIME = pde.Interval(-1, 2), pde.Box(x=(0, 1), y=(0, 2)), pde.Time(0.5, 2)
TRIANGLE = pde.Polygon([(0, 0), (1, 0), (0, 2)])
RING = pde.Disk(radius=2) - pde.Disk(radius=1)
NETWORK = pde.MLP(4, 1)


def anything(u):
    return u.value


def g(x, y):
    return np.sin(x) * np.exp(y)


def h(x, t):
    return np.cos(x) * (1 + t**2)


HELD = {
    "one end": (INTERVAL, [pde.Dirichlet(u=3, on="x-"), pde.Free("u")]),
    "different ends": (INTERVAL, [pde.Dirichlet(u=3, on="x-"), pde.Dirichlet(u=-1, on="x+")]),
    "a function on a square": (SQUARE, [pde.Dirichlet(u=g)]),
    "other functions on its sides": (
        SQUARE,
        [
            pde.Dirichlet(u=lambda y: y, on="x-"),
            pde.Dirichlet(u=lambda y: y + 1, on="x+"),
            pde.Dirichlet(u=lambda x: x, on="y-"),
            pde.Dirichlet(u=lambda x: x + 2, on="y+"),
        ],
    ),
    "a square that is clamped": (SQUARE, [pde.Dirichlet(u=0), pde.Neumann(u=0)]),
    "a beam that is clamped, with a slope": (
        INTERVAL,
        [
            pde.Dirichlet(u=0, on="x-"),
            pde.Dirichlet(u=3, on="x+"),
            pde.Neumann(u=1, on="x+"),
            pde.Neumann(u=-1, on="x-"),
        ],
    ),
    "a disk": (pde.Disk((1, 0), 2), [pde.Dirichlet(u=g)]),
    "a ring": (RING, [pde.Dirichlet(u=g)]),
    "a triangle": (TRIANGLE, [pde.Dirichlet(u=g)]),
    "a triangle, edge by edge": (
        TRIANGLE,
        [pde.Dirichlet(u=g, on="edge 0"), pde.Dirichlet(u=g, on=["edge 1", "edge 2"])],
    ),
    "a half of a disk": (pde.Disk() & pde.Box(x=(-2, 2), y=(0, 2)), [pde.Dirichlet(u=1)]),
    "a box that a disk was cut off": (SQUARE - pde.Disk(radius=0.5), [pde.Dirichlet(u=g)]),
    "a box of many dimensions": (pde.Box(**{f"x{i}": (0, 1) for i in range(8)}), [pde.Dirichlet(u=2)]),
    "of many dimensions, with a function": (
        pde.Box(**{f"x{i}": (0, 1) for i in range(8)}),
        [pde.Dirichlet(u=lambda x1, x7: x1 * x7)],
    ),
    "many coordinates in time": (
        pde.Ball((0.5,) * 11, 1.0) * TIME,
        [pde.Initial(u=1), pde.Dirichlet(u=lambda t: 0.5 + t)],
    ),
    "a start": (INTERVAL * TIME, [pde.Initial(u=lambda x: x), pde.Free("u")]),
    "a start and ends": (INTERVAL * TIME, [pde.Initial(u=lambda x: h(x, 0.5)), pde.Dirichlet(u=h)]),
    "a velocity": (
        INTERVAL * TIME,
        [pde.Initial(u=lambda x: h(x, 0.5)), pde.Initial(u=lambda x: np.cos(x), order=1), pde.Dirichlet(u=h)],
    ),
    "a velocity alone with a start": (INTERVAL * TIME, [pde.Initial(u=1), pde.Initial(u=2, order=1), pde.Free("u")]),
    "a triangle in time": (TRIANGLE * TIME, [pde.Initial(u=0), pde.Dirichlet(u=lambda t: 0 * t)]),
    "a family": (INTERVAL * pde.Parameters(nu=(1, 2)), [pde.Dirichlet(u=lambda nu: nu)]),
    "pieces with names": (
        SQUARE.named(low=lambda y: y < 1),
        [pde.Dirichlet(u=g)],
    ),
    "periodic": (INTERVAL * TIME, [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x / 3))]),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", HELD)
def test_what_holds_by_construction_holds_for_all_parameters(name: str) -> None:
    domain, conditions = HELD[name]
    problem = pde.Problem(anything, domain, conditions, network=NETWORK)
    assert list(problem.labels) == ["equation"], "a condition is fitted"
    params = problem.init(7)
    solution = pde.Solution(problem, params, None, None, pde.History(()))
    for condition in conditions:
        if isinstance(condition, pde.Free):
            continue
        if isinstance(condition, pde.Periodic):
            at = domain.boundary("x-", 20).at
            other = at + np.array([3.0, 0.0])
            for derivative in ("", "x", "xx"):
                found = solution.at(at, "u", derivative), solution.at(other, "u", derivative)
                np.testing.assert_allclose(*found, atol=1e-9)
            continue
        for part in condition.parts(domain):
            edge = domain.boundary(part, 20, seed=9)
            columns = {key: edge[key] for key in edge.names}
            value = condition.values["u"]
            wanted = value if not callable(value) else value(**{k: columns[k] for k in value.__code__.co_varnames})
            if isinstance(condition, pde.Neumann):
                found = sum(edge.normals[:, i] * solution.at(edge.at, "u", n) for i, n in enumerate(domain.names))
            else:
                found = solution.at(edge.at, "u", "t" if getattr(condition, "order", 0) else "")
            np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=1e-9)
    inside = domain.interior(20).at
    assert not np.allclose(
        solution.at(inside, "u"), pde.Solution(problem, problem.init(8), None, None, pde.History(())).at(inside, "u")
    )


FITTED = {
    "values at corners that do not meet": (
        SQUARE,
        [pde.Dirichlet(u=1, on="y+"), pde.Dirichlet(u=0, on=["x-", "x+", "y-"])],
    ),
    "a start that does not meet the ends": (INTERVAL * TIME, [pde.Initial(u=1), pde.Dirichlet(u=0)]),
    "an L": (pde.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]), [pde.Dirichlet(u=0)]),
    "a slope alone": (SQUARE, [pde.Neumann(u=0)]),
    "a union": (SQUARE | pde.Disk(), [pde.Dirichlet(u=0)]),
    "a box with a box cut out": (SQUARE - pde.Box(x=(0.2, 0.5), y=(0.5, 1)), [pde.Dirichlet(u=0)]),
    "a box of too many dimensions": (pde.Box(**{f"x{i}": (0, 1) for i in range(15)}), [pde.Dirichlet(u=0)]),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_cannot_hold_by_construction_is_fitted_and_refused_where_it_is_insisted_on(name: str) -> None:
    domain, conditions = FITTED[name]
    problem = pde.Problem(anything, domain, conditions, network=NETWORK)
    assert not problem.held and len(problem.labels) == 1 + len(conditions)
    for condition in conditions:
        insisting = type(condition)(hard=True, **condition.values) if condition.on is None or isinstance(
            condition, pde.Initial) else type(condition)(condition.on, hard=True, **condition.values)  # fmt: skip
        rest = [one for one in conditions if one is not condition]
        with pytest.raises(ProblemError, match="cannot hold by construction"):
            pde.Problem(anything, domain, [*rest, insisting], network=NETWORK)


STARTS = {
    "a square": (lambda x: (x - 0.5) ** 2, "the derivative of order 1 in x would be -3 at one end and 3"),
    "half a wave": (lambda x: np.cos(np.pi * (x + 1) / 3), "the value in x would be 1 at one end and -1"),
    "nearly periodic": (lambda x: 1 / np.cosh(4 * x - 2), "the derivative of order 1"),
    "a slope": (lambda x: x, "the value in x"),
    "a kink where it repeats": (lambda x: np.abs(x - 0.5), "the derivative of order 1"),
    "alike up to two derivatives": (lambda x: ((x + 1) * (2 - x)) ** 3, "the derivative of order 3"),
    "waves and a number": (lambda x: 5 + np.sin(2 * np.pi * x / 3) * np.cos(4 * np.pi * x / 3), ""),
    "a narrow bell": (lambda x: np.exp(-20 * (x - 0.5) ** 2), ""),
    "a number": (3.0, ""),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", STARTS)
def test_a_start_holds_by_construction_only_if_it_repeats_where_the_unknown_does(name: str, order: int) -> None:
    """With its derivatives; otherwise it is fitted, which is said, or refused where it is insisted on."""
    value, why = STARTS[name]
    why = why.partition(" would be")[0] if order else why  # a velocity makes other numbers later

    def made(**how) -> pde.Problem:
        rest = [pde.Initial(u=2)] if order else []
        given = pde.Initial(u=value, order=order, **how)
        return pde.Problem(anything, INTERVAL * TIME, [pde.Periodic("x"), *rest, given], network=NETWORK)

    label = "du/dt at the start" if order else "u at the start"
    if why:
        with pytest.warns(UserWarning, match=f"for u, which is periodic, {re.escape(why)}"):
            problem = made()
        assert label in problem.labels and [one.name for one in problem.left] == ["u"]
        assert label in made(hard=False).labels
        with pytest.raises(ProblemError, match=re.escape(why)):
            made(hard=True)
        assert f"fitted: {why}" in problem._repr_html_()
    else:
        problem = made()
        assert list(problem.labels) == ["equation"]
    solution = pde.Solution(problem, problem.init(7), None, None, pde.History(()))
    t = np.linspace(0.5, 2, 5)
    for derivative in ("", "x", "xx", "xxx", "xt"):
        ends = solution.u.d(derivative)(-1, t), solution.u.d(derivative)(2, t)
        np.testing.assert_allclose(*ends, atol=1e-4, err_msg=derivative)


def test_what_repeats_is_found_for_each_condition_alone() -> None:
    """Of a start that does not repeat the sides are no less given, nor are other unknowns."""
    channel = pde.Box(x=(0, 1), y=(0, 2)) * pde.Time(0, 1)
    conditions = [
        pde.Periodic("x"),
        pde.Dirichlet(u=lambda x: np.sin(2 * np.pi * x), v=lambda x: x, on=["y-", "y+"]),
        pde.Initial(u=lambda x, y: x * y, v=1),
    ]
    with pytest.warns(UserWarning, match="is periodic, the value in x would be 0 at one end"):
        problem = pde.Problem(lambda u, v: (u * v, u - v), channel, conditions, unknowns="u v", network=NETWORK)
    assert list(problem.labels) == ["equation", "v on y- and y+", "u at the start"]
    assert [(condition.kind, name) for condition, name in problem.held] == [
        ("Dirichlet condition", "u"),
        ("initial condition", "v"),
    ]


def test_a_start_with_a_kink_at_a_periodic_end_is_solved() -> None:
    """Heat: the mean of x² stays, and its waves decay."""
    rod = pde.Interval(-1, 1) * pde.Time(0, 1)
    with pytest.warns(UserWarning, match="is periodic"):
        problem = pde.Problem(
            lambda u: u.t - u.xx, rod, [pde.Periodic("x"), pde.Initial(u=lambda x: x**2)], network=pde.MLP(8, 1)
        )
    solution = problem.solve(steps=30, points=100, progress=False)
    k, x = np.arange(1, 50)[:, None], np.linspace(-1, 1, 7)
    waves = 4 * (-1.0) ** k / (k * np.pi) ** 2 * np.exp(-0.2 * (k * np.pi) ** 2) * np.cos(k * np.pi * x)
    exact = 1 / 3 + np.sum(waves, axis=0)
    np.testing.assert_allclose(solution.u(x, 0.2), exact, atol=0.05)


@pytest.mark.parametrize("kind", ["Dirichlet", "Neumann", "Robin", "Condition"])
@pytest.mark.parametrize("end", "-+")
def test_a_condition_on_one_end_goes_with_repetition_and_on_both_contradicts_it(kind: str, end: str) -> None:
    def made(on):
        if kind == "Condition":
            return pde.Condition(lambda u: u.value, on=on)
        return getattr(pde, kind)(on, u=0)

    problem = pde.Problem(anything, INTERVAL, [pde.Periodic("x"), made(f"x{end}")], network=NETWORK)
    assert len(problem.labels) == 2 and not problem.held
    solution = pde.Solution(problem, problem.init(7), None, None, pde.History(()))
    np.testing.assert_allclose(solution.u.d("x")(-1), solution.u.d("x")(2), atol=1e-9)
    for both in ([made(["x-", "x+"])], [made("x-"), made("x+")]):
        with pytest.raises(ProblemError, match="contradict each other"):
            pde.Problem(anything, INTERVAL, [pde.Periodic("x"), *both], network=NETWORK)


def test_poisson_with_a_period_and_a_value_at_one_end_is_solved() -> None:
    def poisson(u, x):
        return u.xx + np.pi**2 * np.sin(np.pi * x)

    conditions = [pde.Periodic("x"), pde.Dirichlet(u=0, on="x-")]
    problem = pde.Problem(poisson, pde.Interval(-1, 1), conditions, network=pde.MLP(6, 1))
    solution = problem.solve(steps=25, points=30, progress=False)
    assert solution.error(100, u=lambda x: np.sin(np.pi * x)) < 1e-4


def test_values_of_slopes_may_ask_for_the_normal() -> None:
    """Whether they are fitted or hold by construction."""
    disk = pde.Disk((1, 0), 2)
    conditions = [pde.Robin(u=lambda x, n: x * n.y, a=lambda n: n.x**2, b=lambda y, n: n[0] - y)]
    problem = pde.Problem(anything, disk, conditions, network=NETWORK)
    row, params = problem.points(5)["u on boundary"], problem.init()
    n, (x, y) = row["normal"], row["at"].T
    np.testing.assert_allclose(n, (row["at"] - [1, 0]) / 2)
    np.testing.assert_allclose(row["target"], x * n[:, 1])
    np.testing.assert_allclose(row["a"], n[:, 0] ** 2)
    np.testing.assert_allclose(row["b"], n[:, 0] - y)
    assert np.all(np.isfinite(problem.evaluated(params, {"u on boundary": row})["u on boundary"]))
    beam = [pde.Dirichlet(u=lambda x: 2 * x), pde.Neumann(u=lambda n: 2 * n.x)]
    assert list(pde.Problem(anything, INTERVAL, beam, network=NETWORK).labels) == ["equation"]
    beam[1] = pde.Neumann(u=lambda n: n.x)
    assert "du/dn on boundary" in pde.Problem(anything, INTERVAL, beam, network=NETWORK).labels


def test_residuals_of_fitted_conditions_are_what_they_say() -> None:
    """Against derivatives of the same functions by `grad`, for each kind of condition."""
    domain = SQUARE * pde.Time(0, 1)
    x, y, t = (np.linspace(0.1, 0.9, 5) for _ in range(3))
    conditions = [
        pde.Dirichlet(u=lambda x, t: x * t, on="x-", hard=False),
        pde.Neumann(u=lambda y: y, on="x+"),
        pde.Robin(u=2.0, a=lambda t: t, b=3.0, on="y-"),
        pde.Condition(lambda u, v, n, c: (u * v - c, n.y * u.y), on="y+", name="mixed"),
        pde.Free("u", "v"),
        pde.Initial(u=1, hard=False),
        pde.Initial(v=lambda x: x, order=1, hard=False),
        pde.Interface(lambda u, n: n.x * u.x, of=pde.Box(x=(0, 0.5), y=(0, 2)) * pde.Time(0, 1), on="x+"),
        pde.Integral(lambda u, x: u * x, 0.5, order=5),
        pde.Data(x=x, y=y, t=t, u=x, v=y, noise=0.5),
    ]
    problem = pde.Problem(
        lambda u, v: (u.t - v.xx, v.value), domain, conditions, unknowns="u v", network=NETWORK, coefficients={"c": 2.0}
    )
    params, points = problem.init(3), problem.points(6, 6)
    found = problem.evaluated(params, points)
    solution = pde.Solution(problem, params, None, points, pde.History(()))

    def of(name: str, derivative: str = "", unknown: str = "u"):
        return solution.at(points[name]["at"], unknown, derivative)

    def column(name: str, coordinate: str):
        return points[name]["at"][:, "xyt".index(coordinate)]

    wanted = {
        "equation": [of("equation", "t") - of("equation", "xx", "v"), of("equation", "", "v")],
        "u on x-": [of("u on x-") - column("u on x-", "x") * column("u on x-", "t")],
        "du/dn on x+": [of("du/dn on x+", "x") - column("du/dn on x+", "y")],
        "u on y-": [column("u on y-", "t") * of("u on y-") - 3 * of("u on y-", "y") - 2],
        "mixed": [of("mixed") * of("mixed", "", "v") - 2, of("mixed", "y")],
        "u at the start": [of("u at the start") - 1],
        "dv/dt at the start": [of("dv/dt at the start", "t", "v") - column("dv/dt at the start", "x")],
        "interface": [of("interface", "x")],
        "integral": [[np.sum(points["integral"]["weights"] * of("integral") * column("integral", "x")) - 0.5]],
        "data": [(of("data") - x) / 0.5, (of("data", "", "v") - y) / 0.5],
    }
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], np.stack(values, axis=1), rtol=1e-9, atol=1e-12, err_msg=name)
    scaled = problem.residuals(params, points)
    assert problem.weights == {name: 1.0 if name == "data" else 4.0 for name in found}
    assert sum(np.sum(r**2) for r in scaled.values()) == pytest.approx(
        sum(problem.weights[name] * np.sum(np.mean(values**2, 0)) for name, values in found.items())
    )


def test_materials_have_equations_of_their_own() -> None:
    left, right = pde.Interval(0, 0.5), pde.Interval(0.5, 1)
    problem = pde.Problem(
        {
            "left": pde.Within(left, lambda u: u.xx),
            "right": pde.Within(right, lambda v: v.xx),
        },
        left | right,
        [
            pde.Dirichlet(u=0, on="x-", hard=False),
            pde.Dirichlet(v=1, on="x+ 2", hard=False),
            pde.Interface(lambda u, v: (u.value - v.value, u.x - 3 * v.x), of=left, on="x+"),
        ],
        unknowns="u v", network=pde.MLP(5, 1),
    )  # fmt: skip
    solution = problem.solve(steps=40, points=20, progress=False)
    assert solution.u(0.5) == pytest.approx(0.75, abs=1e-4)
    assert solution.v(0.75) == pytest.approx(0.875, abs=1e-4)


def test_each_material_needs_conditions_on_its_own_boundary() -> None:
    left, right = pde.Box(x=(0, 1), y=(0, 1)), pde.Box(x=(1, 2), y=(0, 1))
    equations = {"left": pde.Within(left, lambda u: u.xx), "right": pde.Within(right, lambda v: v.yy)}
    own = {"u": ["x-", "y-", "y+"], "v": ["x+ 2", "y- 2", "y+ 2"]}
    assert (left | right).parts == (*own["u"], *own["v"])
    for missing in (*own["u"], *own["v"]):
        given = [
            pde.Dirichlet(on=part, **{name: 0})
            for name, parts in own.items() for part in parts if part != missing
        ]  # fmt: skip
        name = "u" if missing in own["u"] else "v"
        with pytest.raises(ProblemError, match=f"nothing is said of {name} on the part '{re.escape(missing)}'"):
            pde.Problem(equations, left | right, given, unknowns="u v", network=NETWORK)
    pde.Problem(equations, left | right, [pde.Dirichlet(u=0, v=0)], unknowns="u v", network=NETWORK)


@pytest.mark.parametrize(
    ("domain", "name"), [(INTERVAL, "x"), (pde.Interval(0, 1, "r"), "r"), (pde.Box(y=(0, 1), s=(0, 1)), "y")]
)
def test_a_function_without_names_is_told_what_to_write(domain, name: str) -> None:
    words = rf"the arguments of sin have no names(.|\n)*lambda {name}: sin\({name}\)"
    with pytest.raises(primad.TracingError, match=words):
        pde.Problem(anything, domain, pde.Dirichlet(u=np.sin))
    with pytest.raises(primad.TracingError, match=words):
        pde.Problem(lambda u: pde.laplacian(u) + 1, domain, pde.Dirichlet(u=0), network=NETWORK).solve(
            method="elements", size=0.5
        ).error(u=np.sin)


@pytest.mark.parametrize("size", [9, 12])
def test_many_coordinates_are_one_array(size: int) -> None:
    """Few coordinates are arguments of their own, many an array: with the same residuals as `primad.laplacian`."""
    ball = pde.Ball(np.full(size, 0.5), 2.0)
    problem = pde.Problem(
        lambda u, points, x3: pde.laplacian(u) - np.sum(points**2, axis=-1) * x3,
        ball,
        pde.Dirichlet(u=1),
        network=NETWORK,
    )
    params, points = problem.init(1), problem.points(5)
    (group,) = problem.groups
    rows = points["equation"]["at"]

    def u(row):
        return group.at(params["networks"]["u"], dict(zip(ball.names, row, strict=True)))

    wanted = [primad.laplacian(lambda row: u(np.stack(list(row))))(row) - np.sum(row**2) * row[3] for row in rows]
    np.testing.assert_allclose(problem.evaluated(params, points)["equation"][:, 0], wanted, rtol=1e-9)


PLANE = pde.Box(x=(0, 1), y=(0, 1))
FAMILIES = {
    "a family": PLANE * pde.Parameters(nu=(1, 2)),
    "another name of time": PLANE * pde.Time(0, 1, "tau") * pde.Parameters(nu=(1, 2)),
    "cut and named": (PLANE * pde.Time(0, 1) - pde.Disk(radius=0.1) * pde.Time(0, 1)).named(low=lambda y: y == 0),
    "many": pde.Ball((0.0,) * 12, 1.0) * pde.Time(0, 1, "tau"),
    "many, time first": pde.Time(0, 1) * pde.Ball((0.0,) * 12, 1.0) * pde.Parameters(nu=(1, 2)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_operators_are_about_space_whatever_else_there_is(name: str) -> None:
    """Not about time by another name, nor about parameters; for functions, formulas, and normals of conditions."""
    domain = FAMILIES[name]
    space = [each for each in domain.names if each not in ("t", "tau", "nu")]

    def equation(u):
        return (
            pde.laplacian(u) - sum(u.d(f"{x} {x}") for x in space),
            pde.gradient(u)[..., 1] - u.d(space[1]),
            pde.advection(np.ones(len(space)), u) - sum(u.d(x) for x in space),
        )

    def flow(u, n):
        return pde.normal_derivative(u, n) - sum(getattr(n, x) * u.d(x) for x in space)

    part = domain.parts[-1] if domain.parts[-1] != "initial" else domain.parts[0]
    problem = pde.Problem(equation, domain, [pde.Condition(flow, on=part), pde.Free("u")], network=NETWORK)
    for values in problem.evaluated(problem.init(), problem.points(5, 5)).values():
        np.testing.assert_allclose(values, 0.0, atol=1e-9)
    if len(space) < 4:
        assert problem.latex()["equation"] == ["0 = 0"] * 3


def test_a_laplacian_in_many_dimensions_and_time_is_one_stack() -> None:
    def size(dimensions: int) -> int:
        ball = pde.Ball((0.0,) * dimensions, 1.0) * pde.Time(0, 1)
        problem = pde.Problem(lambda u: u.t - pde.laplacian(u), ball, pde.Free("u"), network=NETWORK)
        program = primad.trace(problem.residuals)(problem.init(), problem.points(5))
        return len(primad.simplify(program).nodes)

    assert size(60) == size(20) < 300


x, t, nu = sympy.symbols("x t nu")
U, V = sympy.Function("u")(x, t), sympy.Function("v")(x, t)
EQUATIONS = {
    "burgers": (
        sympy.Eq(U.diff(t) + U * U.diff(x), nu * U.diff(x, 2)),
        lambda u, nu: u.t + u * u.x - nu * u.xx,
    ),
    "a conservation law": ((U**2 / 2).diff(x) + U.diff(t), lambda u: u.t + u * u.x),
    "a system": (
        [sympy.Eq(U.diff(t), V.diff(x, 2)), sympy.Eq(V, sympy.exp(-t) * sympy.sin(x) * U)],
        lambda u, v, x, t: (u.t - v.xx, v - np.exp(-t) * np.sin(x) * u),
    ),
    "high and mixed orders": (U.diff(x, 3, t, 1) - sympy.Abs(x) * U, lambda u, x: u.d("xxxt") - abs(x) * u),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_an_equation_of_sympy_is_the_function_that_says_the_same(name: str) -> None:
    symbolic, written = EQUATIONS[name]
    settings = {"unknowns": "u v" if "v" in written.__code__.co_varnames else "u", "network": NETWORK}
    if "nu" in written.__code__.co_varnames:
        settings["constants"] = {"nu": 0.3}
    domain = INTERVAL * TIME
    given = [[symbolic] if name == "a system" else symbolic, written]
    found, latex = [], []
    for equation in given:
        problem = pde.Problem({"e": equation[0] if isinstance(equation, list) else equation}, domain,
                              [pde.Free(*settings["unknowns"].split())], **settings)  # fmt: skip
        found.append(problem.evaluated(problem.init(2), problem.points(9))["e"])
        latex.append(problem.latex()["e"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-13)
    assert len(latex[0]) == len(latex[1]) == found[0].shape[1]
    for line in latex[1]:
        assert "u" in line and line.endswith("= 0")


def test_equations_by_name_are_problems() -> None:
    rod, settings = INTERVAL * TIME, {"coefficients": {"k": 0.5}, "network": NETWORK}
    named = pde.Problem(pde.heat("k"), rod, pde.Free("u"), **settings)
    written = pde.Problem(lambda u, k: u.t - k * u.xx, rod, pde.Free("u"), **settings)
    assert named.latex()["equation"] == ["- k u_{xx} + u_{t} = 0"] == written.latex()["equation"]
    params, points = named.init(), named.points(9)
    found, same = (one.evaluated(params, points)["equation"] for one in (named, written))
    np.testing.assert_allclose(found, same, rtol=1e-12, atol=1e-14)
    system = pde.Problem(pde.stokes(), SQUARE, pde.Free("u", "v", "p"), unknowns="u v p", network=NETWORK)
    assert len(system.labels["equation"]) == len(system.latex()["equation"]) == 3


def test_formulas_of_functions_are_what_they_compute() -> None:
    from primad.pde.fields.problem_formulas import formulas

    def equation(u, v, x, t, k):
        return pde.laplacian(u) * np.sin(x) - k * u.t + v, np.where(x < t, u.x, v.d("xt")) ** 2

    k = sympy.Symbol("k", real=True)
    first, second = formulas(equation, INTERVAL * TIME, ("u", "v"), {"k": 0.5})
    xr, tr = sympy.symbols("x t", real=True)
    u, v = sympy.Function("u")(xr, tr), sympy.Function("v")(xr, tr)
    assert sympy.simplify(first - (u.diff(xr, 2) * sympy.sin(xr) - k * u.diff(tr) + v)) == 0
    assert second.subs({xr: 0, tr: 1}).doit() is not None
    assert formulas(lambda u, points: u - np.sum(points, axis=-1), INTERVAL * TIME, ("u",), {}) == [u - xr - tr]
    assert second.has(sympy.Piecewise) and second.has(v.diff(xr, tr))


@pytest.mark.parametrize(
    ("equation", "words"),
    [
        (sympy.Eq(x, x), "no equation"),
        (sympy.Function("u")(t, x) - U, "taken at"),
        (sympy.Function("u")(sympy.Symbol("r"), t), "unknown functions of r, which is no coordinate"),
        (sympy.Function("w")(x, t), "asks for 'w'"),
        (U - nu, "asks for 'nu'"),
        (x < U, "no equation"),
    ],
)
def test_what_is_no_equation_is_named(equation, words: str) -> None:
    with pytest.raises((ProblemError, primad.TracingError), match=words):
        pde.Problem(equation, INTERVAL * TIME, pde.Free("u"))


def test_indices_of_derivatives_stand_apart_where_a_name_is_long() -> None:
    domain = pde.Box(x=(0, 1), theta=(0, 1))
    x, theta = sympy.symbols("x theta")
    u = sympy.Function("u")(x, theta)
    equation = sympy.Eq(u.diff(x, theta) + u.diff(theta, 2) + u.diff(x, 2), 0)
    problem = pde.Problem(equation, domain, pde.Free("u"), network=NETWORK)
    assert problem.latex()["equation"] == ["u_{theta theta} + u_{theta x} + u_{xx} = 0"]


def test_conditions_along_normals_do_not_ask_for_the_derivative_along_time() -> None:
    """Of u = x² √t at t = 0 that is infinite, and 0 times it NaN: residuals there are those in space, 2 x √t − 2."""
    time = pde.Interval(0, 1) * pde.Time(0, 1)
    for condition in (pde.Neumann(u=2.0, on="x+"), pde.Robin(u=2.0, a=0.0, b=1.0, on="x+")):
        problem = pde.Problem(lambda u: u.t - u.xx, time, [condition, pde.Dirichlet(u=0, on="x-"), pde.Initial(u=0)])
        term = next(term for name, term in problem.terms.items() if term.kind == "boundary" and "x+" in name)
        at = np.array([[1.0, 0.0], [1.0, 0.25]])
        row = {"at": at, "normal": np.array([[1.0, 0.0]] * 2), "target": np.full(2, 2.0)}
        row |= {"a": np.zeros(2), "b": np.ones(2)}
        u = pde.Field(lambda x, t: x**2 * np.sqrt(t), "x t")(at[:, 0], at[:, 1])
        assert np.array_equal(np.asarray(term.residual({"u": u}, row)), [-2.0, -1.0])
