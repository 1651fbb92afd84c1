"""Finite elements solve what networks solve: exact where they can be, of the right order elsewhere, differentiated."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError
from tests.sweeps import thinned

NET = pde.MLP(4, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
L_SHAPE = pde.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
CORNERS = [(0, 0), (1, 0), (1, 1), (0, 1), (0.4, 0.6)]
MESH = pde.Mesh(CORNERS, [(0, 1, 4), (1, 2, 4), (4, 2, 3), (3, 0, 4)], parts={"floor": [(1, 0)]})
TETRAHEDRA = pde.Mesh([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 1)], [(0, 1, 2, 3)])
GRADED = pde.Mesh([[0.0], [0.1], [0.3], [1.0]], [(0, 1), (1, 2), (3, 2)], parts={"end": [(3,)]})

DOMAINS = {
    "interval": (pde.Interval(-1, 2), "x+", 0.7),
    "box of one": (pde.Box(z=(1, 2)), "z-", 0.4),
    "box": (pde.Box(x=(0, 2), y=(-1, 0)), "y+", 0.6),
    "product": (pde.Interval(0, 1, "r") * pde.Interval(0, 1, "s"), "r-", 0.5),
    "cube": (pde.Box(x=(0, 1), y=(0, 2), z=(0, 1)), "z+", 1.0),
    "polygon": (L_SHAPE, "edge 2", 0.8),
    "clockwise": (pde.Polygon([(0, 0), (0, 1), (1, 1.5), (1, 0)]), "edge 1", 0.9),
    "mesh": (MESH, "floor", None),
    "finer mesh": (MESH, "floor", 0.4),
    "mesh of a line": (GRADED, "end", None),
    "finer mesh of a line": (GRADED, "end", 0.2),
    "tetrahedra": (TETRAHEDRA, None, None),
    "disk": (pde.Disk((1, 0), 2), None, 0.9),
    "hole": (pde.Box(x=(-2, 2), y=(-1, 1)) - pde.Disk(radius=0.5), "boundary", 0.4),
    "lens": (pde.Disk() & pde.Disk((1, 0)), "boundary 2", 0.3),
    "union": (pde.Polygon([(0, 0), (2, 0), (1, 2)]) | pde.Disk((1, 0), 0.5), "edge 1", 0.3),
    "ball": (pde.Ball((0, 0, 1)), None, 1.0),
    "shell": (pde.Ball((0, 0, 0), 2) - pde.Ball((0, 0, 0)), None, 2.0),
    "halves": (pde.Interval(0, 1) | pde.Interval(1, 1.5), "x+ 2", 0.3),
    "cube without a corner": (
        pde.Box(x=(0, 1), y=(0, 1), z=(0, 1)) - pde.Box(x=(0.4, 1), y=(0.5, 1), z=(0.5, 1)),
        "x- 2",
        0.6,
    ),
    "named ring": ((pde.Disk(radius=2) - pde.Disk()).named(port=lambda x, y: x > 1.5), "port", 0.6),
    "named": (L_SHAPE.named(port=lambda x, y: (x == 0) & (y < 1)), "port", 0.5),
}


def polynomial(degree: int, names: tuple[str, ...]):
    """Return a polynomial of the coordinates with its gradient and its Laplacian, written with `points`."""
    rng = np.random.default_rng(len(names))
    slope, half = rng.normal(size=len(names)), rng.normal(size=(len(names), len(names))) * (degree == 2)

    def value(points):
        return 0.3 + points @ slope + np.sum((points @ half) * points, axis=-1)

    return value, lambda points: slope + points @ (half + half.T), float(2 * np.trace(half))


@pytest.mark.one_in(4)
@thinned(2, name=list(DOMAINS), degree=[1, 2])
def test_polynomials_of_the_degree_are_exact_on_every_domain(name: str, degree: int) -> None:
    """What is no simplex of the domain, no facet of a part, or no outward normal of it, makes an error."""
    domain, through, size = DOMAINS[name]
    value, gradient, curvature = polynomial(degree, domain.names)

    def flux(n, points):
        return np.sum(np.stack(n, axis=-1) * gradient(points), axis=-1)

    def by_coordinates(function, *more):
        """Return a function of `points` as one of coordinates by name, as conditions take it."""
        names = ", ".join([*more, *domain.names])
        stacked = f"np.stack([{', '.join(domain.names)}], axis=-1)"
        return eval(f"lambda {names}: f({', '.join([*more, stacked])})", {"f": function, "np": np})

    exact = by_coordinates(value)
    others = [part for part in domain.parts if part != through]
    conditions = [pde.Dirichlet(u=exact, on=others, hard=False)]
    if through:
        conditions.append(pde.Neumann(u=by_coordinates(flux, "n"), on=through))
    problem = pde.Problem(lambda u: pde.laplacian(u) - curvature, domain, conditions, network=NET)
    elements = pde.Elements(problem, size, degree)
    solution = elements.solve()
    assert solution.error(u=exact) < 1e-12
    assert elements.mesh.facets.keys() == set(domain.parts)
    at = domain.interior(20).at
    for axis, coordinate in enumerate(domain.names):
        assert solution.at(at, "u", coordinate) == pytest.approx(gradient(at)[:, axis], abs=1e-9)
    if degree == 2:
        seconds = sum(solution.at(at, "u", f"{one} {one}") for one in domain.names)
        assert seconds == pytest.approx(curvature, abs=1e-7)


def bent(x, y):
    return np.sin(np.pi * x) * np.cos(np.pi * y) + x


def source(x, y):
    """Return ∇·((1 + xy)∇u) − u³ of `bent`."""
    s, c = np.sin(np.pi * x), np.cos(np.pi * y)
    by_x, by_y = np.pi * np.cos(np.pi * x) * c + 1, -np.pi * s * np.sin(np.pi * y)
    return -2 * np.pi**2 * (1 + x * y) * s * c + y * by_x + x * by_y - (s * c + x) ** 3


def varying(u, x, y):
    weight = pde.Field(lambda x, y: 1 + x * y, "x y")
    return pde.diffusion(u, weight(x, y)) - u**3 - source(x, y)


MIXED = [
    pde.Dirichlet(u=bent, on=["x-", "y-"], hard=False),
    pde.Neumann(u=lambda x, y: np.pi * np.cos(np.pi * x) * np.cos(np.pi * y) + 1, on="x+"),
    pde.Robin(u=lambda x, y: 2 * bent(x, y) - 3 * np.pi * np.sin(np.pi * x) * np.sin(np.pi * y), a=2, b=3, on="y+"),
]


@pytest.mark.parametrize(("degree", "sizes"), [(1, (8, 16)), (2, (4, 8))])
def test_the_error_falls_with_the_order_of_the_elements(degree: int, sizes: tuple[int, int]) -> None:
    problem = pde.Problem(varying, SQUARE, MIXED, network=NET)
    errors = [problem.solve(method="elements", size=1 / n, degree=degree).error(u=bent) for n in sizes]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(degree + 1, abs=0.1)


@thinned(2, degree=[1, 2])
def test_straight_edges_of_a_curved_domain_leave_the_second_order(degree: int) -> None:
    """Of a potential between two circles, given on one and with its flux on the other."""

    def exact(x, y):
        return np.log(x**2 + y**2) / 2

    ring = pde.Problem(
        lambda u: pde.laplacian(u),
        pde.Disk(radius=2) - pde.Disk(),
        [pde.Dirichlet(u=np.log(2), on="boundary"), pde.Neumann(u=-1, on="boundary 2")],
        network=NET,
    )
    errors = [ring.solve(method="elements", size=size, degree=degree).error(u=exact) for size in (0.2, 0.1)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25) and errors[1] < 4e-3


def test_a_mesh_of_a_line_resolves_a_layer() -> None:
    """Of a layer as wide as a thousandth (Shishkin's mesh), with forty elements: equal ones do not see it."""
    width, count = 1e-3, 20
    bend = 1 - 4 * width * np.log(2 * count)
    at = np.concatenate([np.linspace(0, bend, count + 1), np.linspace(bend, 1, count + 1)[1:]])
    mesh = pde.Mesh(at[:, None], np.arange(2 * count)[:, None] + [0, 1])

    def exact(x):
        return x - (np.exp((x - 1) / width) - np.exp(-1 / width)) / (1 - np.exp(-1 / width))

    def error(domain, size):
        layer = pde.Problem(lambda u: width * u.xx - u.x + 1, domain, [pde.Dirichlet(u=0)], network=NET)
        return layer.solve(method="elements", size=size, degree=2).error(u=exact)

    assert error(mesh, None) < 1e-4 < 0.1 < error(LINE, 1 / 40)


def test_a_divergence_written_out_has_a_symmetric_matrix() -> None:
    """The terms with the slopes of k cancel: what is left is ∫ k∇u·∇v."""
    problem = pde.Problem(
        lambda u, x, y: (1 + x * y) * (u.xx + u.yy) + y * u.x + x * u.y + u, SQUARE, [pde.Dirichlet(u=0)], network=NET
    )
    elements = pde.Elements(problem, 0.25)
    matrix = primad.jacobian(lambda values: elements.residual(values, {}))(np.zeros(len(elements.nodes))).sparse()
    assert abs(matrix - matrix.T).max() < 1e-13 < abs(matrix).max()


def test_a_solution_is_differentiated_by_what_it_depends_on() -> None:
    problem = pde.Problem(
        lambda u, k, f: k * pde.laplacian(u) - u**3 + f,
        SQUARE,
        [pde.Dirichlet(u=0, on=["x-", "y-"]), pde.Robin(u=1, a=0.5, on=["x+", "y+"])],
        constants={"k": 1.0, "f": 2.0},
        network=NET,
    )
    elements = pde.Elements(problem, 0.25, 2)
    there = elements.interpolation([(0.4, 0.3), (0.9, 0.9)])

    def misfit(k, f):
        return np.sum((there @ elements.values(k=k, f=f) - 0.1) ** 2)

    first = primad.grad(misfit, (0, 1))
    for axis in range(2):
        step = 1e-5 * np.eye(2)[axis]
        up, down = np.add([0.3, 2.0], step), np.subtract([0.3, 2.0], step)
        assert first(0.3, 2.0)[axis] == pytest.approx((misfit(*up) - misfit(*down)) / 2e-5, rel=1e-6)
    second = primad.grad(primad.grad(misfit))(0.3, 2.0)
    assert second == pytest.approx((first(0.30001, 2.0)[0] - first(0.29999, 2.0)[0]) / 2e-5, rel=1e-6)


def test_conditions_of_ones_own_give_the_flux() -> None:
    """With a matrix of second derivatives, and with a factor that depends on u."""

    def exact(x, y):
        return np.exp(x) * np.sin(y)

    problem = pde.Problem(
        lambda u, x, y: 2 * u.xx + u.d("yx") + 3 * u.yy - np.exp(x) * (np.cos(y) - np.sin(y)),
        SQUARE,
        [
            pde.Dirichlet(u=exact, on=["x-", "x+", "y-"], hard=False),
            pde.Condition(lambda u, x, y: 3 * u.y + 0.5 * u.x - np.exp(x) * (3 * np.cos(y) + 0.5 * np.sin(y)), on="y+"),
        ],
        network=NET,
    )
    assert problem.solve(method="elements", size=0.2, degree=2).error(u=exact) < 3e-4
    rod = pde.Problem(
        lambda u: (1 + u) * u.xx + u.x**2,  # ((1 + u) u′)′, so (1 + u)²/2 is linear
        pde.Interval(0, 1),
        [pde.Dirichlet(u=0, on="x-"), pde.Condition(lambda u, n: 2 * n.x * u.x * (1 + u) - 3, on="x+")],
        network=NET,
    )
    found = rod.solve(method="elements", size=0.05, degree=2)
    assert found.error(u=lambda x: np.sqrt(1 + 3 * x) - 1) < 1e-5


def test_a_solution_is_asked_as_every_other_one() -> None:
    solution = pde.Problem(lambda u: pde.laplacian(u) + 1, L_SHAPE, [pde.Dirichlet(u=0)], network=NET).solve(
        method="elements", size=0.25
    )
    assert solution.u(0.5, 0.5) == solution.at([(0.5, 0.5)], "u")[0] == solution.u(x=0.5, y=0.5)
    assert solution.u(np.ones((2, 3)) / 2, 0.5).shape == (2, 3)
    assert solution.u(1.0, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert repr(solution) == "<solution of u: 1024 elements of degree 1, 465 unknowns>"
    for asked, words in (
        (lambda: solution.u(1.5, 1.5), "outside of the domain"),
        (lambda: solution.u.d("xx")(0.5, 0.5), "no derivative 'xx'"),
        (lambda: solution.w, "its unknowns are u"),
        (lambda: solution.at([(0.5, 0.5)], "w"), "no unknown"),
    ):
        with pytest.raises(Exception, match=re.escape(words)):
            asked()
    assert solution.plot().get_title() == "u"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("fixed", [pde.Dirichlet(u=0.5, on="boundary 2"), pde.Neumann(u=1, on="boundary 2")])
def test_errors_in_shells_fall_with_the_square_of_the_size(fixed: pde.Condition) -> None:
    """Spheres are drawn by corners on them; 1 / r has a slope of 1 into the inner one."""
    shell = pde.Ball((0, 0, 0), 2) - pde.Ball((0, 0, 0))
    problem = pde.Problem(lambda u: pde.laplacian(u), shell, [pde.Dirichlet(u=0, on="boundary"), fixed], network=NET)

    def exact(x, y, z):
        return 1 / np.sqrt(x**2 + y**2 + z**2) - 0.5

    errors = [problem.solve(method="elements", size=size).error(u=exact) for size in (1.0, 0.5)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.4)


LINE, ZERO = pde.Interval(0, 1), [pde.Dirichlet(u=0)]
REFUSED = {
    "is not linear in second": (lambda u: u.xx**2 - 1, LINE, ZERO),
    "linear in second": (lambda u: np.maximum(u.xx, 0) - 1, LINE, ZERO),
    "not linear in second derivatives": (lambda u: u.xx**2 + u.yy - 1, SQUARE, ZERO),
    "first derivatives in the factors": (lambda u: u.xx / (1 + u.x**2) - 1, LINE, ZERO),
    "derivatives in the factors of second": (lambda u: u.xx + u.yy / (1 + u.y**2) - 1, SQUARE, ZERO),
    "order 4": (lambda u: u.xxxx - 1, LINE, [*ZERO, pde.Neumann(u=0)]),
    "order 1": (lambda u: u.x - 1, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Condition(lambda u: u.x, on="x+")]),
    "'freedom'": (lambda u: u.xx - 1, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")]),
    "along t and t": (lambda u: u.tt - u.xx, LINE * pde.Time(0, 1), [*ZERO, pde.Free("u", on="initial")]),
    "factors of derivatives along t that change": (
        lambda u: (1 + u**2) * u.t - u.xx, LINE * pde.Time(0, 1), [*ZERO, pde.Initial(u=0)],
    ),
    "no value of u at the start": (lambda u: u.t - u.xx, LINE * pde.Time(0, 1), [*ZERO, pde.Free("u", on="initial")]),
    "is not cut into simplices": (
        lambda u: pde.laplacian(u) - 1, pde.Ball((0, 0, 0)) | pde.Ball((0, 0, 1)), ZERO,
    ),
    "'data'": (lambda u: u.xx - 1, LINE, [*ZERO, pde.Data(x=[0.5], u=[0.1])]),
    "has two conditions": (lambda u: u.xx - 1, LINE, [*ZERO, pde.Neumann(u=0, on="x+")]),
    "nowhere what it is": (lambda u, v: (u.xx - v.x, v.xx), LINE, [pde.Periodic("x")]),
    "an integral where it says": (lambda u: u.xx - 1, LINE, [*ZERO, pde.Integral(lambda u: u.value, 0)]),
    "in a part of the domain": (
        pde.Within(pde.Interval(0, 0.5), lambda u: u.xx - 1), LINE, ZERO,
    ),
    "a complex unknown": (lambda u: u.xx + 1j * u, LINE, ZERO),
    "not linear in the derivatives": (
        lambda u: u.xx, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Condition(lambda u: u.x**2 - 1, on="x+")],
    ),
    "linear in the derivatives of u": (
        lambda u: u.xx + u.yy, SQUARE,
        [pde.Dirichlet(u=0, on=["x-", "x+", "y-"]), pde.Condition(lambda u: u.x**2 + u.y - 1, on="y+")],
    ),
    "1 equation for 2 unknowns": (lambda u, v: u.xx + v, LINE, [*ZERO, pde.Free("v")]),
    "2 equations for 1 unknown": (lambda u: (u.xx, u.xx - 1), LINE, ZERO),
    "does not have ∂u/∂n": (
        lambda u: u.xx + u.yy, SQUARE,
        [pde.Dirichlet(u=0, on=["x-", "y-", "y+"]), pde.Condition(lambda u: u.y, on="x+")],
    ),
    "derivatives of order 2 in the condition on x+": (
        lambda u: u.xx + 1, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Condition(lambda u: u.xx + u.x - 1, on="x+")],
    ),
    "is not linear in u": (
        lambda u: u.xx, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Condition(lambda u: u**2 - 1, on="x+")],
    ),
    "a slope of v": (
        lambda u, v: (u.xx + v, v - u), LINE, [*ZERO, pde.Neumann(v=0)],
    ),
    "says 1 things of u and v": (
        lambda u, v: (u.xx + v, v.xx - u), LINE,
        [pde.Dirichlet(u=0, v=0, on="x-"), pde.Condition(lambda u, v: u.x + v.x, on="x+")],
    ),
    "write degree=2": (
        lambda u, v, p: (pde.laplacian(u) - p.x, pde.laplacian(v) - p.y, u.x + v.y), SQUARE,
        [pde.Dirichlet(u=0, v=0), pde.Free("p", on=["x-", "y-", "y+"]), pde.Dirichlet(p=0, on="x+")],
    ),
    "and nowhere what it is": (
        lambda u, v: (u.t - u.xx, v.xx - u), LINE * pde.Time(0, 1),
        [pde.Dirichlet(u=0), pde.Neumann(v=0), pde.Initial(u=0), pde.Free("v", on="initial")],
    ),
    "none can be solved for p": (
        lambda u, v, p: (u.t - pde.laplacian(u) + p.x, v.t - pde.laplacian(v) + p.y, u * u.x + v.y),
        SQUARE * pde.Time(0, 1),
        [
            pde.Dirichlet(u=0, v=0), pde.Initial(u=0, v=0), pde.Free("p", on=["x-", "y-", "y+", "initial"]),
            pde.Dirichlet(p=0, on="x+"),
        ],
    ),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", REFUSED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_not_supported_is_one_error_that_names_it(words: str) -> None:
    equation, domain, conditions = REFUSED[words]
    complex_one = {"network": pde.Complex(NET)} if words == "a complex unknown" else {"network": NET}
    arguments = list(inspect.signature(getattr(equation, "equation", equation)).parameters)
    unknowns = "u v" if words == "1 equation for 2 unknowns" else arguments
    problem = pde.Problem(equation, domain, conditions, unknowns=unknowns, **complex_one)
    degree = 1 if words == "write degree=2" else 2
    with pytest.raises(ProblemError, match=re.escape(words)):
        problem.solve(method="elements", degree=degree)


def test_both_ends_of_periodic_coordinates_are_one_place() -> None:
    def exact(x, y):
        return np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * y) * y

    def rest(x, y):
        """Return Δu − u of the exact solution."""
        turn = 2 * np.pi
        own = -2 * turn**2 * np.sin(turn * (x + y)) - turn**2 * np.cos(turn * y) * y - 2 * turn * np.sin(turn * y)
        return own - exact(x, y)

    ends = [pde.Periodic("x"), pde.Dirichlet(u=exact, on=["y-", "y+"], hard=False)]
    problem = pde.Problem(lambda u, x, y: pde.laplacian(u) - u - rest(x, y), SQUARE, ends, network=NET)
    errors = [problem.solve(method="elements", size=1 / n, degree=2).error(u=exact) for n in (8, 16)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3, abs=0.2)
    torus = pde.Problem(lambda u, x, y: pde.laplacian(u) - u + x - 0.5, SQUARE, [pde.Periodic("x", "y")], network=NET)
    elements = pde.Elements(torus, 0.25)
    assert len(elements.free) == 16
    corners = elements.interpolation([(0, 0), (0, 1), (1, 0), (1, 1)]) @ elements.values()
    assert np.ptp(corners) < 1e-15


def test_where_the_equation_has_the_unknown_slopes_may_be_all_that_conditions_give() -> None:
    conditions = [pde.Neumann(u=lambda x: np.sinh(1.0) * x)]
    problem = pde.Problem(lambda u: u.xx - u, LINE, conditions, network=NET)
    assert problem.solve(method="elements", degree=2).error(u=lambda x: np.cosh(x)) < 1e-5


def test_a_coefficient_without_a_value_is_asked_for() -> None:
    with pytest.warns(UserWarning, match="nothing tells the value of k"):
        ends = [pde.Dirichlet(u=0, on="x-"), pde.Neumann(u=0, on="x+")]
        problem = pde.Problem(lambda u, k: k * u.xx + 1, LINE, ends, coefficients={"k": 1.0}, network=NET)
    elements = pde.Elements(problem)
    with pytest.raises(ProblemError, match="'k' has no value"):
        elements.solve()
    found = elements.solve(k=2.0)
    assert found.u(0.5) == pytest.approx(3 / 16)
    for wrong, words in (("w", "there are u"), ("uu", "did you mean u")):
        with pytest.raises(ProblemError, match=words):
            found.at([[0.5]], wrong)


def test_arguments_that_mean_nothing_are_refused() -> None:
    problem = pde.Problem(lambda u, k: k * u.xx + 1, LINE, ZERO, constants={"k": 1.0}, network=NET)
    for settings, words in (
        ({"method": "grid"}, "no method 'grid'"),
        ({"method": "elements", "degree": 3}, "of degree 1 or 2"),
        ({"method": "elements", "size": 0}, "a positive number"),
        ({"method": "elements", "steps": 10}, "no coefficient 'steps'"),
    ):
        with pytest.raises(ProblemError, match=re.escape(words)):
            problem.solve(**settings)
    assert problem.solve(method="elements", k=2.0).u(0.5) == pytest.approx(1 / 16)
    tetrahedra = pde.Problem(lambda u: pde.laplacian(u) + 1, TETRAHEDRA, ZERO, network=NET)
    with pytest.raises(ProblemError, match="taken as it is"):
        tetrahedra.solve(method="elements", size=0.1)
