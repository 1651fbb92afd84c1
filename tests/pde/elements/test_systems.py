"""Elements with several unknowns: each equation is solved for the right one, with the fluxes that conditions give."""

from __future__ import annotations

import numpy as np
import pytest

import primad
from primad import pde
from tests.sweeps import thinned

NET = pde.MLP(4, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
LINE = pde.Interval(0, 1)
STIFF, SHEAR = 1.7, 1.0
"""Lamé's constants of an elastic solid."""


def errors_of(problem, exact, sizes, degree=2):
    """Return the errors of all unknowns, a row for each size."""
    found = []
    for size in sizes:
        solution = problem.solve(method="elements", size=size, degree=degree)
        found.append([solution.error(2000, **{name: function}) for name, function in exact.items()])
    return np.asarray(found)


def orders(errors):
    return np.log2(errors[:-1] / errors[1:])


# -- elasticity --------------------------------------------------------------------------------------------------------


def balance(u, v):
    """Return ∇·σ in the plane."""
    along, both = STIFF + 2 * SHEAR, STIFF + SHEAR
    return along * u.xx + SHEAR * u.yy + both * v.d("xy"), along * v.yy + SHEAR * v.xx + both * u.d("xy")


def traction(u_x, u_y, v_x, v_y, n):
    """Return σ·n of slopes."""
    shear = SHEAR * (u_y + v_x)
    return (
        ((STIFF + 2 * SHEAR) * u_x + STIFF * v_y) * n.x + shear * n.y,
        ((STIFF + 2 * SHEAR) * v_y + STIFF * u_x) * n.y + shear * n.x,
    )


def bent(x, y):
    return np.sin(x) * np.cos(2 * y)


def lifted(x, y):
    return np.exp(x) * y


def pulled(u, v, n, x, y):
    """Return by how much tractions differ from those of the exact displacements."""
    slopes = np.cos(x) * np.cos(2 * y), -2 * np.sin(x) * np.sin(2 * y), np.exp(x) * y, np.exp(x)
    wanted = traction(*slopes, n)
    return tuple(a - b for a, b in zip(traction(u.x, u.y, v.x, v.y, n), wanted, strict=True))


def loaded(u, v, x, y):
    first = -(STIFF + 6 * SHEAR) * bent(x, y) + (STIFF + SHEAR) * np.exp(x)
    second = SHEAR * lifted(x, y) - 2 * (STIFF + SHEAR) * np.cos(x) * np.sin(2 * y)
    return tuple(a - b for a, b in zip(balance(u, v), (first, second), strict=True))


def solid(equations=loaded):
    conditions = [
        pde.Dirichlet(u=bent, v=lifted, on="x-", hard=False),
        pde.Condition(pulled, on=["x+", "y-", "y+"]),
    ]
    return pde.Problem(equations, SQUARE, conditions, unknowns="u v", network=NET)


@thinned(2, degree=[1, 2])
def test_an_elastic_solid_under_tractions_has_errors_of_the_right_order(degree) -> None:
    """The flux of a weak form with a symmetric A is no traction: what they differ by is along the boundary."""
    sizes = np.array([1 / 4, 1 / 8]) / (3 if degree == 1 else 1)
    found = errors_of(solid(), {"u": bent, "v": lifted}, sizes, degree)
    assert np.all(orders(found) > degree + 0.8), found


@pytest.mark.exhaustive
def test_equations_may_be_listed_in_another_order() -> None:
    right, swapped = (pde.Elements(solid(one), 0.25) for one in (loaded, lambda u, v, x, y: loaded(u, v, x, y)[::-1]))
    for name, values in right.values().items():
        assert swapped.values()[name] == pytest.approx(values, abs=1e-12)
    assert swapped.pairing.equations == (1, 0)


def test_the_stiffness_matrix_of_a_solid_is_symmetric() -> None:
    elements = pde.Elements(solid(), 0.25, 2)
    matrix = primad.jacobian(lambda v: elements.residual(v, {}))(np.zeros(elements.offsets[-1])).sparse().tocsr()
    matrix = matrix[elements.free][:, elements.free]
    assert abs(matrix - matrix.T).max() < 1e-13 < abs(matrix).max()


def test_rollers_hold_one_displacement_and_shear_is_none() -> None:
    """A square pulled along x narrows by Poisson's ratio: linear displacements, which elements have exactly."""

    def free(u, v, n, pull):
        along, across = traction(u.x, u.y, v.x, v.y, n)
        return along - pull * n.x, across

    roller = [pde.Condition(lambda u, v: u.y + v.x, on=["x-", "y-"])]
    conditions = [
        pde.Dirichlet(u=0, on="x-"),
        pde.Dirichlet(v=0, on="y-"),
        *roller,
        pde.Condition(free, on=["x+", "y+"]),
    ]
    problem = pde.Problem(balance, SQUARE, conditions, unknowns="u v", network=NET, constants={"pull": 0.5})
    elements = pde.Elements(problem, 0.5)
    solution = elements.solve()
    stretch = np.linalg.solve([[STIFF + 2 * SHEAR, STIFF], [STIFF, STIFF + 2 * SHEAR]], [0.5, 0])
    assert [solution.u(1.0, 0.3), solution.v(0.3, 1.0)] == pytest.approx(stretch, rel=1e-12)
    there = elements.interpolation([(1.0, 0.3)])
    assert primad.grad(lambda pull: (there @ elements.values(pull=pull)["u"])[0])(0.5) == pytest.approx(2 * stretch[0])


def test_slopes_that_cancel_for_stated_constants_are_there_for_others() -> None:
    """With λ = μ the flux of the weak form is the traction, and its derivative by λ is not."""

    def at_rest(u, v, first):
        along, both = first + 2, first + 1
        return along * u.xx + u.yy + both * v.d("xy"), along * v.yy + v.xx + both * u.d("xy")

    def pulled(u, v, n, first, y):
        shear = u.y + v.x
        return (
            ((first + 2) * u.x + first * v.y) * n.x + shear * n.y - y * n.x,
            ((first + 2) * v.y + first * u.x) * n.y + shear * n.x,
        )

    conditions = [pde.Dirichlet(u=0, v=0, on="x-"), pde.Condition(pulled, on=["x+", "y-", "y+"])]
    settings = {"unknowns": "u v", "network": NET}
    stated, other = (
        pde.Elements(pde.Problem(at_rest, SQUARE, conditions, constants={"first": one}, **settings), 0.25)
        for one in (1.0, 3.0)
    )
    assert stated.values(first=3.0)["v"] == pytest.approx(other.values()["v"], rel=1e-9, abs=1e-12)
    end = lambda first: stated.values(first=first)["v"][-1]  # noqa: E731
    assert primad.grad(end)(1.0) == pytest.approx((end(1.001) - end(0.999)) / 0.002, rel=1e-5)


# -- flows -------------------------------------------------------------------------------------------------------------

REYNOLDS = 20.0
RATE = REYNOLDS / 2 - np.sqrt(REYNOLDS**2 / 4 + 4 * np.pi**2)


def steady(u, v, p):
    return (
        u * u.x + v * u.y + p.x - pde.laplacian(u) / REYNOLDS,
        u * v.x + v * v.y + p.y - pde.laplacian(v) / REYNOLDS,
        u.x + v.y,
    )


KOVASZNAY = {
    "u": lambda x, y: 1 - np.exp(RATE * x) * np.cos(2 * np.pi * y),
    "v": lambda x, y: RATE / (2 * np.pi) * np.exp(RATE * x) * np.sin(2 * np.pi * y),
    "p": lambda x, y: 0.5 * (1 - np.exp(2 * RATE * x)),
}


@pytest.mark.exhaustive
def test_a_flow_has_its_pressure_a_degree_lower() -> None:
    """Kovasznay's flow (1948): Newton's method on Taylor and Hood's elements."""
    domain = pde.Box(x=(-0.5, 1), y=(-0.5, 0.5))
    conditions = [
        pde.Dirichlet(u=KOVASZNAY["u"], v=KOVASZNAY["v"], hard=False),
        pde.Dirichlet(p=KOVASZNAY["p"], on="x+", hard=False),
        pde.Free("p", on=["x-", "y-", "y+"]),
    ]
    problem = pde.Problem(steady, domain, conditions, unknowns="u v p", network=NET)
    found = errors_of(problem, KOVASZNAY, (1 / 4, 1 / 8))
    assert np.all(orders(found) > [2.6, 2.6, 1.6]), found
    values = pde.Elements(problem, 0.5, 2).values()
    assert len(values["u"]) == 35 and len(values["p"]) == 12


def test_stress_at_an_outlet_is_a_condition_of_its_own() -> None:
    """Poiseuille's flow in a channel, which is exact: −p n + ∂u/∂n at the outlet has the pressure in it."""
    channel = pde.Box(x=(0, 2), y=(0, 1))
    outlet = pde.Condition(lambda u, v, p, n: (n.x * u.x - (p - 1) * n.x, n.x * v.x), on="x+")
    conditions = [
        pde.Dirichlet(u=lambda y: 4 * y * (1 - y), v=0, on="x-", hard=False),
        pde.Dirichlet(u=0, v=0, on=["y-", "y+"]),
        pde.Free("p", on=["x-", "y-", "y+"]),
        pde.Dirichlet(p=1, on="x+"),
        outlet,
    ]
    equations = lambda u, v, p: (p.x - pde.laplacian(u), p.y - pde.laplacian(v), u.x + v.y)  # noqa: E731
    solution = pde.Problem(equations, channel, conditions, unknowns="u v p", network=NET).solve(
        method="elements", size=0.5, degree=2
    )
    assert solution.error(u=lambda x, y: 4 * y * (1 - y)) < 1e-11
    assert solution.error(p=lambda x, y: 1 + 8 * (2 - x)) < 1e-11


# -- others ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 1e-10])
def test_mixed_derivatives_leave_slopes_along_the_boundary_in_the_flux(unit) -> None:
    """In whatever unit equations and conditions are."""

    def exact(x, y):
        return np.exp(x) * np.sin(2 * y)

    def equation(u, x, y):
        return unit * (u.xx + u.d("xy") + u.yy + np.exp(x) * (3 * np.sin(2 * y) - 2 * np.cos(2 * y)))

    def oblique(u, x, y):
        return unit * (u.y + 0.7 * u.x - np.exp(x) * (2 * np.cos(2 * y) + 0.7 * np.sin(2 * y)))

    for said in (
        pde.Neumann(u=lambda x, y: 2 * np.exp(x) * np.cos(2 * y), on="y+"),
        pde.Condition(oblique, on="y+"),
    ):
        given = pde.Dirichlet(u=exact, on=["x-", "x+", "y-"], hard=False)
        problem = pde.Problem(equation, SQUARE, [given, said], network=NET)
        found = errors_of(problem, {"u": exact}, (1 / 4, 1 / 8))
        assert np.all(orders(found) > 2.8), found


def test_coefficients_that_jump_keep_the_flux_where_elements_end_there() -> None:
    weight = pde.Field(lambda x: np.where(x < 0.5, 1.0, 10.0), "x")
    ends = [pde.Dirichlet(u=0, on="x-"), pde.Dirichlet(u=1, on="x+")]
    problem = pde.Problem(lambda u, x: pde.diffusion(u, weight(x)), LINE, ends, network=NET)
    assert problem.solve(method="elements", size=0.1).u(0.5) == pytest.approx(10 / 11, rel=1e-12)


def test_a_condition_of_ones_own_gives_values_with_coefficients_in_them() -> None:
    ends = [pde.Condition(lambda u, hot, x: 2 * u - hot - x, on="x-"), pde.Dirichlet(u=1, on="x+")]
    problem = pde.Problem(lambda u: u.xx, LINE, ends, constants={"hot": 6.0}, network=NET)
    elements = pde.Elements(problem, 0.25)
    assert elements.values() == pytest.approx([3, 2.5, 2, 1.5, 1], rel=1e-12)
    assert primad.grad(lambda hot: elements.values(hot=hot)[1])(6.0) == pytest.approx(0.375, rel=1e-10)


def test_a_search_begins_with_what_each_unknown_is_given() -> None:
    """u² = 4 + v has two solutions; the one nearer to the start is found."""
    problem = pde.Problem(
        lambda u, v: (v.xx, u**2 - 4 - v), LINE, [pde.Dirichlet(v=0), pde.Free("u")], unknowns="u v", network=NET
    )
    for sign in (-1, 1):
        values = pde.Elements(problem, 0.25).values(start={"u": 3.0 * sign})
        assert values["u"] == pytest.approx(2 * sign * np.ones(5), rel=1e-10)


# -- two conditions on one unknown -------------------------------------------------------------------------------------


def deflection(x, y):
    return np.sin(np.pi * x) ** 2 * np.sin(np.pi * y) ** 2 + x * y


def moment(x, y):
    c, d = np.cos(2 * np.pi * x), np.cos(2 * np.pi * y)
    return np.pi**2 * (c * (1 - d) + d * (1 - c))


def load(x, y):
    c, d = np.cos(2 * np.pi * x), np.cos(2 * np.pi * y)
    return 4 * np.pi**4 * (4 * c * d - c - d)


def slope(n, x, y):
    return n.x * y + n.y * x


@thinned(2, degree=[2, 1])
def test_a_clamped_plate_is_a_system_of_two_equations(degree: int) -> None:
    """Both conditions are on the deflection, and none on the moment, in whatever order equations are written."""
    clamped = [pde.Dirichlet(w=deflection, hard=False), pde.Neumann(w=slope), pde.Free("m")]
    equations = [
        lambda w, m, x, y: (pde.laplacian(w) - m, pde.laplacian(m) - load(x, y)),
        lambda w, m, x, y: (pde.laplacian(m) - load(x, y), pde.laplacian(w) - m),
    ]
    exact = {"w": deflection, "m": moment}
    first, second = [pde.Problem(one, SQUARE, clamped, unknowns="w m", network=NET) for one in equations]
    found = errors_of(first, exact, [1 / 6, 1 / 12], degree)
    assert errors_of(second, exact, [1 / 6], degree)[0] == pytest.approx(found[0], rel=1e-6)
    of_w, of_m = orders(found)[0]
    assert of_w > degree + 0.7 and of_m > 1.5  # theory has less for the moment


def test_a_beam_is_clamped_at_one_end_and_supported_at_the_other() -> None:
    beam = pde.Problem(
        lambda w, m: (w.xx - m, m.xx - 1),
        LINE,
        [pde.Dirichlet(w=0), pde.Neumann(w=0, on="x-"), pde.Free("m", on="x-"), pde.Dirichlet(m=0, on="x+")],
        unknowns="w m",
        network=NET,
    )
    exact = {"w": lambda x: (2 * x**4 - 5 * x**3 + 3 * x**2) / 48, "m": lambda x: (4 * x**2 - 5 * x + 1) / 8}
    found = errors_of(beam, exact, [1 / 4, 1 / 8])
    assert orders(found)[0, 0] > 2.9 and np.max(found[:, 1]) < 1e-12  # the moment is a parabola


@pytest.mark.exhaustive
def test_a_clamped_surface_becomes_flat_by_diffusion_along_it() -> None:
    """∂w/∂t = −∂⁴w/∂x⁴: the first mode of a clamped beam decays by its eigenvalue."""
    beta = 4.730040744862704
    ratio = (np.cosh(beta) - np.cos(beta)) / (np.sinh(beta) - np.sin(beta))

    def mode(x):
        return np.cosh(beta * x) - np.cos(beta * x) - ratio * (np.sinh(beta * x) - np.sin(beta * x))

    surface = pde.Problem(
        lambda w, m: (w.t + m.xx, m - w.xx),
        LINE * pde.Time(0, 2e-3),
        [pde.Dirichlet(w=0), pde.Neumann(w=0), pde.Free("m"), pde.Initial(w=mode), pde.Free("m", on="initial")],
        unknowns="w m",
        network=NET,
    )
    found = [
        surface.solve(method="elements", size=size, degree=2, frames=5).error(
            2000, w=lambda x, t: mode(x) * np.exp(-(beta**4) * t)
        )
        for size in (1 / 5, 1 / 10)
    ]
    assert np.log2(found[0] / found[1]) > 2.5 and found[1] < 1e-3
