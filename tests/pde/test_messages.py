"""What is written as in other systems, or nearly right, is answered by what to write; the way out works."""

from __future__ import annotations

import ast
import dataclasses
import re
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import primad
from primad import errors, nn, optimize, pde
from primad.errors import PrimadError
from primad.pde.deepxde_names import ANSWERS, SETTINGS, WRITTEN

SQUARE, NETWORK = pde.Box((0, 1), (0, 1)), pde.MLP(4, 1)
X, Y = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 4))
ROWS = np.stack([X.ravel(), Y.ravel()], axis=1)


def problem(conditions=None, equation=lambda u: u.xx + u.yy, domain=SQUARE, **more) -> pde.Problem:
    conditions = pde.Dirichlet(u=0) if conditions is None else conditions
    return pde.Problem(equation, domain, conditions, **{"network": NETWORK, **more})


@lru_cache
def solution() -> pde.Solution:
    return problem().solve(points=20, steps=1, progress=False)


MESSAGES = {
    "a value elsewhere": (lambda: problem(equation=lambda u, x: u(x / 2)), "write u(x, y) with all of them"),
    "a value nowhere": (lambda: problem(equation=lambda u, x: u(x=x + 2)), "keep the limits of integrals"),
    "a value without a place": (lambda: problem(equation=lambda u: u()), "write u itself"),
    "a place by another name": (lambda: problem(equation=lambda u: u(z=1.0)), "write u(x=x / 2)"),
    "an integral of values": (lambda: problem(equation=lambda u: pde.integral(u.value, 0, 1)), "lambda s:"),
    "an endless integral": (lambda: problem(equation=lambda u: pde.integral(u, 0, np.inf)), "where the integrand is"),
    "no nodes": (lambda: problem(quadrature=0), "a positive integer, got 0"),
    "a derivative by a transform": (lambda: problem(equation=lambda u, x, y: primad.grad(u)(x, y)), "write u, u.x"),
    "a part that is a function": (lambda: pde.Dirichlet(on=lambda x: x == 0, u=0), "domain.named(inlet=lambda x, y"),
    "a part that is a number": (lambda: pde.Neumann(0, u=0), 'write on="x-"'),
    "a place of a condition": (lambda: pde.Condition(lambda u: u.x, on=lambda x: x == 0), "domain.named("),
    "no data": (lambda: pde.Data(), "write Data(x=…, u=…)"),
    "a value without a name": (lambda: pde.Dirichlet(0), "Dirichlet(u=0)"),
    "a function without a name": (lambda: pde.Neumann(np.sin), "Neumann(u=lambda x: np.sin(x))"),
    "an unknown and its value": (lambda: pde.Dirichlet("u", 0), "Dirichlet(u=0)"),
    "a start without a name": (lambda: pde.Initial(lambda x: x), "Initial(u=0)"),
    "a past without a name": (lambda: pde.Past(lambda t: 1.0), "write Past(u=0)"),
    "a start elsewhere": (lambda: pde.Initial(u=0, on="x-"), "leave `on` out"),
    "an acceleration at the start": (lambda: pde.Initial(u=0, order=2), "on='initial'"),
    "a value that is an array": (lambda: pde.Dirichlet(u=np.zeros(3)), "got ndarray of shape (3,)"),
    "a normal in a value": (lambda: problem(pde.Dirichlet(u=lambda n: n.x)), "in Neumann and Robin of the normal n"),
    "an unknown in a value": (lambda: problem(pde.Neumann(u=lambda u: u)), "write pde.Condition(lambda u, …: u.value"),
    "a coefficient in a value": (lambda: problem(pde.Robin(u=0, a=lambda k: k)), "write pde.Condition(lambda u"),
    "sizes of layers": (lambda: pde.MLP([2, 20, 20, 1]), "write MLP(width=20, depth=2)"),
    "no sizes": (lambda: pde.MLP("tanh"), "width must be a positive integer, got 'tanh'"),
    "a broken depth": (lambda: pde.MLP(20, 3.5), "depth must be a positive integer, got 3.5"),
    "a number of features": (lambda: pde.MLP(features=10), "features=pde.Fourier(count=32"),
    "an activation": (lambda: pde.MLP(activation="relu"), "choose one of tanh, sine, swish"),
    "a basis that is a class": (lambda: pde.Mixture((pde.MLP, pde.MLP())), "got MLP, which is a class"),
    "a network that is a class": (lambda: problem(network=pde.MLP), "the class MLP"),
    "a pair of ends": (lambda: pde.Interval((0, 1)), "write Interval(0, 1)"),
    "a pair of times": (lambda: pde.Time((0, 1)), "write Time(0, 1)"),
    "a radius alone": (lambda: pde.Disk(1), "write Disk((0, 0), radius=1)"),
    "a ball's radius alone": (lambda: pde.Ball(2.0), "write Ball((0, 0), radius=1)"),
    "parameters without names": (lambda: pde.Parameters((0, 1)), "Parameters(nu="),
    "a domain that is a pair": (lambda: problem(domain=(0, 1)), "pass pde.Box(x=(0, 1)"),
    "an exact function of something else": (lambda: solution().error(u=lambda X: X), "write u=lambda x, y: …"),
    "exact values": (lambda: solution().error(u=np.zeros(3)), "lambda x: np.sin(x)"),
    "an exact function alone": (lambda: solution().error(lambda x, y: x), "write error(u=lambda x, y: …)"),
    "a derivative of an unknown": (lambda: solution().u.x(X, Y), 'written solution.u.d("x")'),
    "a higher one": (lambda: solution().u.xy(X, Y), 'written solution.u.d("xy")'),
    "no derivative": (lambda: solution().u.z, "'z' is no coordinate"),
    "points in rows": (lambda: solution().u(ROWS), 'write solution.at(points, "u")'),
    "a coordinate too few": (lambda: solution().u(0.5), "write u(x, y)"),
    "an unknown that is none": (lambda: solution().w, "its unknowns are u"),
    "points of other columns": (lambda: solution().at(np.zeros((4, 3)), "u"), "pass np.stack([x, y], axis=1)"),
    "one point": (lambda: solution().at(np.zeros(2), "u"), "pass np.stack([x, y], axis=1)"),
    "a residual of no equation": (lambda: solution().residual_at(ROWS, "heat"), "there are equation"),
    "a point outside of a box": (lambda: SQUARE.contains([0.5, 0.5]), "pass np.stack([x, y], axis=1)"),
    "an unknown elsewhere": (lambda: solution().at(ROWS, "w"), "there are u"),
    "an operator of values": (lambda: pde.laplacian(solution().u(X, Y)), "of a solution, add up derivatives"),
    "an operator of an unknown": (lambda: pde.gradient(solution().u), 'solution.u.d("xx")(x, y)'),
    "an operator of a field": (lambda: pde.hessian(pde.Field(lambda x: x, "x")), "give it points: hessian(u(x, y))"),
    "a derivative of a grid": (
        lambda: primad.grad(problem().solve(method="elements", size=0.5).u)(0.5, 0.5),
        'names: solution.u.d("x")',
    ),
    "points to solve at": (lambda: problem().solve(points=ROWS[:, 0]), "np.stack([x, y], axis=1)"),
    "points elsewhere": (lambda: problem().solve(points=ROWS + 5), "leave them out: rows[domain.contains(rows)]"),
    "points of no equation": (lambda: problem().solve(points={"heat": ROWS}), "there are 'equation'"),
    "no points": (lambda: problem().solve(points=[]), "an array with a row for each"),
    "points of a boundary": (lambda: problem().solve(boundary_points=ROWS), "none is fitted on the boundary"),
    "a setting without a name": (lambda: problem().solve(100), "write solve(steps=100)"),
    "an optimiser's name": (lambda: problem().solve(optimizer="adam"), "optimize.Descent(nn.Adam(1e-3))"),
    "a list of weights": (lambda: problem().solve(weights=[1, 2]), 'write weights={"data": 10.0}'),
    "a picture of a derivative": (lambda: solution().plot("u_x"), 'a derivative is written "u.x"'),
    "data without names": (lambda: pde.Data(ROWS, X), "Data(x=points[:, 0], …, u=values)"),
    "data in a column": (lambda: pde.Data(x=X, u=X), "pass x.ravel()"),
    "a function without a name on a part": (lambda: pde.Dirichlet(lambda x: 0 * x, on="x-"), "(u=0, on='x-')"),
    "a number without a name on a part": (lambda: pde.Robin(0, on="x-"), "Robin(u=0, on='x-')"),
    "a part after a function": (lambda: pde.Robin(lambda x: 0 * x, "x-"), "write Robin(u=0)"),
    "two parts without a list": (lambda: pde.Condition(lambda u: u.x, "x-", "y-"), 'write on=["x-", "y-"]'),
    "a period by a keyword": (lambda: pde.Periodic(on="x"), 'write Periodic("x")'),
    "freedom by a keyword": (lambda: pde.Free(u=None), 'write Free("u")'),
    "an optimiser without a name": (lambda: problem().solve("adam"), "optimize.Descent(nn.Adam(1e-3))"),
    "a slip in a method": (lambda: problem().solve(method="elemnts"), "did you mean elements?"),
    "an acronym": (lambda: problem().solve(method="fvm"), 'write method="volumes".'),
    "an optimiser as a method": (lambda: problem().solve(method="adamw"), "write optimizer="),
    "a rule without a name": (lambda: problem().solve(optimize.LBFGS()), "solve(optimizer=optimize.LBFGS())"),
    "settings without a name": (lambda: problem().solve({"steps": 3}), "write solve(**settings)"),
    "a velocity by an index": (lambda: timely(pde.Initial(u_t=0)), "write Initial(u=…, order=1)"),
    "a velocity by letters": (lambda: timely(pde.Initial(ut=0)), "write Initial(u=…, order=1)"),
    "a velocity as a quotient": (lambda: timely(pde.Initial(du_dt=0)), "write Initial(u=…, order=1)"),
    "a slope by an index": (lambda: problem(pde.Dirichlet(u_x=0)), "write Neumann(u=…) along the outward normal"),
    "two corners": (lambda: pde.Box([0, 0], [1, 1]), "write Box(x=(0, 1), y=(0, 1))"),
    "other corners": (lambda: pde.Box([-1, 0], [1, 2 / 4 - 1]), "write Box(x=(-1, 1), y=(0, -0.5))"),
    "corners in space": (lambda: pde.Box([0, 0, 0], [1, 2, 3]), "write Box(x=(0, 1), y=(0, 2), z=(0, 3))"),
    "ends of a box": (lambda: pde.Box(0, 1), "write Box(x=(0, 1), y=(0, 1))"),
    "corners one by one": (lambda: pde.Polygon((0, 0), (1, 0), (0, 1)), "write Polygon([(0, 0), (1, 0), (0, 1)])"),
    "d2x": (lambda: problem(equation=lambda u: u.d2x), "write u.xx"),
    "dx": (lambda: problem(equation=lambda u: u.dx), "write u.x."),
    "dxx": (lambda: problem(equation=lambda u: u.dxx), "write u.xx."),
    "u_xy": (lambda: problem(equation=lambda u: u.u_xy), "write u.xy."),
    "du_dx": (lambda: problem(equation=lambda u: u.du_dx), "write u.x."),
    "d2u_dx2": (lambda: problem(equation=lambda u: u.d2u_dx2), "write u.xx."),
    "a derivative of a derivative": (lambda: problem(equation=lambda u: u.x.x), "u.xx for u.x.x"),
    "a column": (lambda: problem(equation=lambda u: u[:, 0:1]), "lambda u, v: …"),
    "a component by a coordinate": (lambda: problem(equation=lambda u: u["x"]), "write u.x"),
    "an order": (lambda: problem(equation=lambda u: u.d(2)), 'write d("x x")'),
    "a coordinate and an order": (lambda: problem(equation=lambda u: u.d("x", 2)), 'write d("x x")'),
    "an operator as a method": (lambda: problem(equation=lambda u: u.diff("x")), "pde.laplacian(u)"),
    "a normal after a gradient": (
        lambda: problem(pde.Condition(lambda u, n: pde.gradient(u) @ n)), "or n @ pde.gradient(u)"
    ),
    "coefficients without values": (lambda: problem(coefficients=["k"]), 'write coefficients={"k": 1.0}'),
    "constants without values": (lambda: problem(constants="k"), 'write constants={"k": 1.0}'),
    "conditions by name": (lambda: problem({"wall": pde.Dirichlet(u=0)}), "write [pde.Dirichlet(u=0)"),
    "a number of unknowns": (lambda: problem(unknowns=1), 'write unknowns="u v"'),
    "a domain before equations": (
        lambda: pde.Problem(SQUARE, lambda u: u.xx, pde.Dirichlet(u=0)), "Equations come first"
    ),
    "data that are a function": (lambda: pde.Data(x=[0.5], y=[0.5], u=lambda x: x), "pass what it is at the points"),
    "a march loaded by a problem": (lambda: problem().load(marched()), "pde.Marched.load(path, window, start)"),
}  # fmt: skip


def timely(velocity: pde.Initial) -> pde.Problem:
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=0), velocity]
    return problem(conditions, lambda u: u.tt - u.xx, pde.Interval(0, 1) * pde.Time(0, 1))


@lru_cache
def marched() -> Path:
    """Return a file with the parameters of a march."""
    path = Path(tempfile.mkdtemp()) / "march"
    primad.nn.save(path, {"windows": [problem().init()], "times": np.arange(2.0)}, about={"windows": "1"})
    return path


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", MESSAGES)
def test_a_slip_is_told_what_to_write_and_where_it_stands(name: str) -> None:
    make, words = MESSAGES[name]
    with pytest.raises(PrimadError) as caught:
        make()
    message = str(caught.value)
    assert words in message
    assert f"  in {__file__}:" in message, "the user's own line"
    assert "Fix: " in message or name in ("no sizes", "a broken depth"), "a way out"
    assert len(message) < 600, "no arrays are printed"


def test_the_ways_out_work() -> None:
    left = SQUARE.named(inlet=lambda x, y: x == 0)
    flow = pde.Neumann(u=lambda x, y, n: x * n.x + n.y, on="x+")
    one = problem([pde.Dirichlet(on="inlet", u=0), flow, pde.Free("u")], domain=left)
    assert list(one.terms) == ["equation", "du/dn on x+"]
    u = solution().u
    np.testing.assert_array_equal(solution().at(ROWS, "u"), u(X, Y).ravel())
    np.testing.assert_array_equal(solution().at(ROWS.tolist(), "u", "xy"), u.d("xy")(X, Y).ravel())
    assert repr(pde.Box((0, 1), (0, 2), (-1, 1))) == "Box(x=(0, 1), y=(0, 2), z=(-1, 1))"
    assert pde.Ball((0, 0, 0)).radius == 1.0


def both(u, v):
    return u.xx + u.yy, v.xx + v.yy


NAMED = {
    "unknowns": lambda names: problem(pde.Free("u v"), both, unknowns=names("u", "v")).unknowns,
    "what is free": lambda names: pde.Free(names("u", "v"), on="x-").unknowns,
    "what repeats": lambda names: pde.Periodic("x", unknowns=names("u", "v")).unknowns,
    "along what it repeats": lambda names: pde.Periodic(names("x", "y")).coordinates,
    "coordinates of a disk": lambda names: pde.Disk(names=names("u", "v")).names,
    "coordinates of a triangle": lambda names: pde.Polygon([(0, 0), (1, 0), (0, 1)], names("u", "v")).names,
    "coordinates of a mesh": lambda names: pde.Mesh(np.eye(3)[:, :2], np.arange(3)[None], names=names("u", "v")).names,
    "components": lambda names: pde.Field(lambda x: np.stack([x, x]), "x", names("u", "v")).components,
    "space": lambda names: pde.Field(lambda x, y: x * y, "x y", space=names("x", "y")).space,
    "what an operator is about": lambda names: pde.laplacian(
        pde.Field(lambda x, y: x**2 * y, "x y")(1.0, 2.0), names("x", "y")
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMED)
def test_names_are_written_in_one_text_or_one_by_one(what: str) -> None:
    """Whatever takes several names takes them as `unknowns="u v"` does."""
    forms = (lambda *n: " ".join(n), lambda *n: ", ".join(n), lambda *n: list(n), lambda *n: n)
    first, *others = [NAMED[what](form) for form in forms]
    assert first and all(other == first for other in others)


def test_a_solution_takes_points_in_every_form() -> None:
    found, points = solution(), SQUARE.interior(7)
    exact = lambda x, y: x + y  # noqa: E731
    for form in (points, points.at.tolist(), points[:]):
        np.testing.assert_array_equal(found.at(form, "u"), found.u(points["x"], points["y"]))
        np.testing.assert_array_equal(found.residual_at(form, "equation"), found.residual_at(points.at, "equation"))
        assert found.error(form, u=exact) == found.error(points.at, u=exact)


def test_plain_forms_of_derivatives_and_normals_are_what_the_others_are() -> None:
    points, params = np.random.default_rng(0).uniform(0, 1, (5, 2)), problem().init()

    two = problem(equation=lambda u: (u.d("x", "y") - u.xy, u.d(["x", "x"]) - u.xx))
    found = two.values(params, {"equation": {"at": points}})["equation"]
    np.testing.assert_array_equal(np.asarray(found), 0.0)
    flow = pde.Condition(lambda u, n: n @ pde.gradient(u) - pde.normal_derivative(u, np.stack(n, axis=-1)), on="x+")
    one = problem([flow, pde.Dirichlet(u=0, on=["x-", "y-", "y+"])])
    rows = one.points(9)
    np.testing.assert_allclose(np.asarray(one.values(one.init(), rows)["condition on x+"]), 0.0, atol=1e-15)
    for domain in (pde.Time(0, 1) * SQUARE, SQUARE * pde.Time(0, 1)):  # where the normal has a component of time too
        along = pde.Condition(lambda u, n: n @ pde.gradient(u) - n.x * u.x - n.y * u.y, on="x+")
        conditions = [along, pde.Dirichlet(u=0, on=["x-", "y-", "y+"], hard=False), pde.Initial(u=0)]
        timed = pde.Problem(lambda u: u.t - u.xx - u.yy, domain, conditions, network=pde.MLP(4, 1))
        rows = timed.points(9)
        np.testing.assert_allclose(np.asarray(timed.values(timed.init(), rows)["condition on x+"]), 0.0, atol=1e-15)


def test_settings_of_others_are_answered_by_settings_that_are_there() -> None:
    known = {field.name for field in dataclasses.fields(pde.Settings)}
    for name, written in SETTINGS.items():
        assert name not in known
        named = re.findall(r"(?:^|, |or )(\w+)=", written)
        assert set(named) <= known | {"u", "points_order"} and (named or "pde." in written or "solution." in written), (
            name
        )
        with pytest.raises(PrimadError, match=re.escape(f"write {written}")):
            problem().solve(**{name: 1})
    for name, written in ANSWERS.items():
        with pytest.raises(PrimadError, match=re.escape(f"write {written}")):
            getattr(solution(), name)
        for owner, attribute in re.findall(r"(problem|solution)\.(\w+)", written):
            assert hasattr(problem() if owner == "problem" else solution(), attribute), written


def test_rules_that_are_looked_for_among_optimisers_are_found() -> None:
    rules = [name for name in dir(nn) if hasattr(getattr(nn, name), "update")]
    assert "Adam" in rules
    for name in rules:
        with pytest.raises(PrimadError, match=f"optimize.Descent\\(nn.{name}\\("):
            getattr(optimize, name)
        assert optimize.Descent(getattr(nn, name)(1e-3)).compile


def test_names_of_deepxde_are_answered_by_names_that_are_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "coming_from_deepxde.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    told = {name for row in rows for text in re.findall(r"`([^`]*)`", row) for name in re.findall(r"[A-Z]\w+", text)}
    assert told - {"L", "BFGS"} - set(pde.__all__) <= set(WRITTEN)
    assert not set(WRITTEN) & set(pde.__all__)
    for name, written in WRITTEN.items():
        with pytest.raises(AttributeError, match=rf"DeepXDE's {name} is written"):
            getattr(pde, name)
        for ours in re.findall(r"pde\.(\w+)", written):
            assert ours in pde.__all__, written
        for setting in re.findall(r"solve\((\w+)=", written):
            assert setting in pde.Settings.__dataclass_fields__
    with pytest.raises(AttributeError, match="did you mean Dirichlet"):
        pde.Dirichelt  # noqa: B018
    assert not hasattr(pde, "__wrapped__")


def test_measured_derivatives_and_integrals_are_unknowns_of_their_own() -> None:
    """As the page for users of DeepXDE says."""
    x = np.linspace(0, 1, 20)
    slope = pde.Problem(
        lambda u, v: (u.xx + v, u.x - v),
        pde.Interval(0, 1),
        [pde.Dirichlet(u=1, on="x-"), pde.Free("u", "v"), pde.Data(x=x, v=-np.exp(-x))],
        unknowns="u v",
        network=pde.MLP(6, 1),
    )
    whole = pde.Problem(
        lambda u, w: (u.x + w - 1, w.x - u),
        pde.Interval(0, 1),
        [pde.Dirichlet(u=0, w=0, on="x-"), pde.Free("u", "w")],
        unknowns="u w",
        network=pde.MLP(6, 1),
    )
    np.testing.assert_allclose(slope.solve(steps=60, points=40, progress=False).u(x), np.exp(-x), atol=1e-3)
    np.testing.assert_allclose(whole.solve(steps=60, points=40, progress=False).u(x), np.sin(x), atol=1e-3)


OUTSIDE = {
    "a square": (SQUARE, (0.5, 1.1)),
    "a hole": (SQUARE - pde.Disk((0.5, 0.5), 0.2), (0.5, 0.55)),
    "a disk": (pde.Disk(), (0.9, 0.9)),
    "an L": (pde.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]), (1.5, 1.5)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_data_outside_of_the_domain_are_refused_and_rounded_ones_are_not(name: str) -> None:
    domain, at = OUTSIDE[name]
    edge = np.concatenate([domain.boundary(part, 9).at for part in domain.parts])
    for rounded in (edge, edge.astype(np.float32), np.round(edge, 4)):
        problem([pde.Free("u"), pde.Data(x=rounded[:, 0], y=rounded[:, 1], u=rounded[:, 0])], domain=domain)
    x, y = np.append(edge[:, 0], at[0]), np.append(edge[:, 1], at[1])
    with pytest.raises(PrimadError, match=rf"at place {len(edge)} are outside of the domain, at x = {at[0]}(.|\n)*Fix"):
        problem([pde.Free("u"), pde.Data(x=x, y=y, u=x)], domain=domain)
    inside = domain.contains(np.stack([x, y], axis=1))
    problem([pde.Free("u"), pde.Data(x=x[inside], y=y[inside], u=x[inside])], domain=domain)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_solution_is_not_asked_outside_of_the_domain_unless_that_is_said(name: str) -> None:
    domain, at = OUTSIDE[name]
    one = problem(pde.Free("u"), domain=domain)
    found = pde.Solution(one, one.init(), None, one.points(9), pde.History(()))
    edge = np.concatenate([domain.boundary(part, 9).at for part in domain.parts])
    for rounded in (edge, edge.astype(np.float32), np.round(edge, 4)):
        found.at(rounded, "u", "xx")
    for ask in (lambda u, **how: u(*at, **how), lambda u, **how: u.d("xy")(x=at[0], y=[at[1], np.nan], **how)):
        with pytest.raises(
            PrimadError, match=rf"(?s)u is asked outside of the domain, at x = {at[0]}.*extrapolate=True"
        ):
            ask(found.u)
        assert np.any(np.isfinite(ask(found.u, extrapolate=True)))
    rows = np.stack(np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7)), axis=-1).reshape(-1, 2)
    inside = domain.contains(np.stack([rows[:, 0], rows[:, 1]], axis=1))
    np.testing.assert_array_equal(found.at(rows[inside], "u"), found.at(rows, "u", extrapolate=True)[inside])


def test_every_error_of_problems_says_what_to_do() -> None:
    """The source is read: an error that is raised without a way out is found before anybody meets it."""
    without = []
    for path in sorted(Path(pde.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                known = getattr(errors, node.func.id, None)
                is_error = isinstance(known, type) and issubclass(known, PrimadError)
                if is_error and not any(word.arg == "fix" for word in node.keywords):
                    without.append(f"{path.name}:{node.lineno}")
    assert not without
