"""A solution is a part of programs: derivatives by coordinates, and an ingredient of the next problem."""

from __future__ import annotations

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import pde
from primad.errors import TracingError

ROD = pde.Interval(0, 1) * pde.Time(0, 0.5)
CONDITIONS = [pde.Dirichlet(u=0), pde.Initial(u=lambda x: pnp.sin(np.pi * x))]
SEVERAL = np.linspace(0.1, 0.9, 5)


@pytest.fixture(scope="module")
def heat(code: None) -> pde.Solution:
    problem = pde.Problem(lambda u: u.t - 0.1 * u.xx, ROD, CONDITIONS, network=pde.MLP(6, 1))
    return problem.solve(steps=15, points=60, progress=False)


def test_derivatives_through_calls_are_those_by_name(heat: pde.Solution) -> None:
    u = heat.u
    np.testing.assert_allclose(primad.jit(u)(SEVERAL, 0.2), u(SEVERAL, 0.2), rtol=1e-13)
    np.testing.assert_allclose(primad.grad(u, argnums=0)(0.3, 0.2), u.d("x")(0.3, 0.2), rtol=1e-12)
    np.testing.assert_allclose(primad.grad(u, argnums=1)(0.3, 0.2), u.d("t")(0.3, 0.2), rtol=1e-12)
    np.testing.assert_allclose(primad.grad(lambda t: u(t=t, x=0.3))(0.2), u.d("t")(0.3, 0.2), rtol=1e-12)
    np.testing.assert_allclose(
        primad.hessian(lambda p: u(p[0], p[1]))(np.array([0.3, 0.2])),
        [[u.d("xx")(0.3, 0.2), u.d("xt")(0.3, 0.2)], [u.d("xt")(0.3, 0.2), u.d("tt")(0.3, 0.2)]],
        rtol=1e-11,
    )
    np.testing.assert_allclose(primad.grad(u.d("x"))(0.3, 0.2), u.d("xx")(0.3, 0.2), rtol=1e-11)
    slopes = u.d("x")(SEVERAL, 0.2)  # of which one is nearly 0, a difference of large terms
    rounding = 1e-15 * np.max(np.abs(slopes))
    np.testing.assert_allclose(primad.vmap(primad.grad(u), (0, None))(SEVERAL, 0.2), slopes, rtol=1e-12, atol=rounding)
    rows = primad.jit(lambda x, t: u(x, t))(SEVERAL[:, None], np.array([0.1, 0.2]))
    np.testing.assert_allclose(rows, u(SEVERAL[:, None], np.array([0.1, 0.2])), rtol=1e-13)
    assert rows.shape == (5, 2)


def test_a_solution_is_an_ingredient_of_the_next_problem(heat: pde.Solution) -> None:
    """With a source equal to the first solution's terms, the second problem has the first one's solution."""
    u = heat.u
    again = pde.Problem(
        lambda v, x, t: v.t - 0.1 * v.xx - u.d("t")(x, t) + 0.1 * u.d("xx")(x, t),
        ROD,
        [pde.Dirichlet(v=0), pde.Initial(v=lambda x: u(x, 0.0))],
        unknowns="v",
        network=pde.MLP(6, 1),
    )
    assert again.solve(steps=25, points=80, progress=False).error(v=u) < 2e-3


def test_a_solution_is_where_a_problem_in_time_begins(heat: pde.Solution) -> None:
    later = pde.Problem(
        lambda u: u.t - 0.1 * u.xx,
        ROD,
        [pde.Dirichlet(u=0), pde.Initial(u=lambda x: heat.u(x, 0.5))],
        network=pde.MLP(6, 1),
    )
    solution = later.solve(steps=10, points=60, progress=False)
    np.testing.assert_allclose(solution.u(SEVERAL, 0.0), heat.u(SEVERAL, 0.5), atol=1e-12)
    assert solution.error(u=lambda x, t: np.exp(-0.1 * np.pi**2 * (t + 0.5)) * np.sin(np.pi * x)) < 0.05


@pytest.mark.exhaustive
def test_a_solution_is_a_function_of_coordinates_by_name(heat: pde.Solution) -> None:
    grid = heat.problem.solve(method="differences", points=21)
    assert heat.error(u=grid.u) < 2e-3 and grid.error(u=heat.u) < 2e-3
    held = pde.Problem(lambda v: v.t - v.xx, ROD, [pde.Dirichlet(v=heat.u), pde.Initial(v=heat.u)], unknowns="v")
    np.testing.assert_allclose(held.solve(steps=1, points=20, progress=False).v(SEVERAL, 0.0), heat.u(SEVERAL, 0.0))


@pytest.mark.exhaustive
def test_solutions_on_grids_are_no_programs() -> None:
    problem = pde.Problem(lambda u: u.t - 0.1 * u.xx, ROD, CONDITIONS)
    solution = problem.solve(method="differences", points=21)
    with pytest.raises(TracingError, match="on a grid is recorded"):
        primad.grad(solution.u)(0.3, 0.2)


def test_points_that_are_known_are_still_refused_outside(heat: pde.Solution) -> None:
    with pytest.raises(primad.ProblemError, match="outside of the domain"):
        heat.u(1.5, 0.2)
    np.testing.assert_allclose(primad.jit(heat.u)(1.5, 0.2), heat.u(1.5, 0.2, extrapolate=True), rtol=1e-12)
