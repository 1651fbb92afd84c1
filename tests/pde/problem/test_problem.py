"""Problems: what they must say, what holds by construction, and that they are solved."""

from __future__ import annotations

import numpy as np
import pytest

from primad import optimize, pde
from primad.errors import ProblemError, TracingError

SMALL = pde.MLP(8, 2)


def poisson(u, x, y):
    return u.xx + u.yy + 2 * np.pi**2 * np.sin(np.pi * x) * np.sin(np.pi * y)


def heat(u):
    return u.t - 0.1 * u.xx


SQUARE = pde.Box(x=(0, 1), y=(0, 1))
ROD = pde.Interval(-1, 1) * pde.Time(0, 1)


def test_poisson_is_solved_whether_the_condition_holds_by_construction_or_is_fitted() -> None:
    for hard, error in ((None, 1e-5), (False, 1e-3)):
        problem = pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0, hard=hard), network=pde.MLP(12, 2))
        solution = problem.solve(steps=40, points=300, progress=False)
        assert solution.error(1000, u=lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y)) < error
        edge = np.max(np.abs(solution.u(np.linspace(0, 1, 9), 0.0)))
        assert edge == 0 if hard is None else 0 < edge < 1e-3


def test_ones_own_loop_gets_the_same_residuals() -> None:
    problem = pde.Problem(poisson, SQUARE, [pde.Dirichlet(u=0, hard=False)], network=SMALL)
    solution = problem.solve(steps=5, points=100, progress=False)
    points = problem.points(100, seed=(0, 0))
    result = optimize.solve(optimize.LevenbergMarquardt(), problem.residuals, problem.init(), (points,), steps=5)
    assert result.value == solution.loss
    means = problem.evaluated(result.params, points)
    assert solution.history.losses[-1] == [np.mean(means[name] ** 2) for name in ("equation", "u on boundary")]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "network",
    [pde.MLP(8, 2), pde.Separable(4, pde.MLP(6, 1)), pde.Mixture((pde.MLP(6, 1), pde.MLP(4, 1)), pde.MLP(3, 1))],
)
def test_a_family_is_solved_at_once_by_networks_of_every_form(network) -> None:
    """A Laplacian is about space: it does not differentiate along the parameter of the family."""
    domain = pde.Interval(0, 1) * pde.Parameters(k=(1, 2))
    problem = pde.Problem(lambda u, k: k * pde.laplacian(u) + 1, domain, pde.Dirichlet(u=0), network=network)
    solution = problem.solve(steps=30, points=100, progress=False)
    assert solution.error(500, u=lambda x, k: x * (1 - x) / (2 * k)) < 1e-3
    assert problem.latex()["equation"] == ["k u_{xx} + 1 = 0"]


def test_a_coefficient_is_found_from_data() -> None:
    rng = np.random.default_rng(0)
    x, t = rng.uniform(-1, 1, 100), rng.uniform(0, 1, 100)
    data = pde.Data(x=x, t=t, u=np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x))
    problem = pde.Problem(
        lambda u, k: u.t - k * u.xx, ROD, [pde.Free("u"), data], coefficients={"k": 1.0}, network=SMALL
    )
    solution = problem.solve(steps=40, points=200, progress=False)
    assert abs(solution.coefficients["k"] - 0.3) < 1e-3
    assert len(solution.history.coefficients["k"]) == len(solution.history) == 40


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pde.Problem(poisson, SQUARE), "nothing is said of u on the part 'x-'"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0, on=("x-", "x+", "y-"))), "on the part 'y+'"),
        (lambda: pde.Problem(heat, ROD, pde.Dirichlet(u=0)), "on the part 'initial'"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(v=0)), "'v' is no unknown"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=lambda z: z)), "asks for 'z'"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0, on="top")), "no part 'top'"),
        (lambda: pde.Problem(poisson, SQUARE, [pde.Dirichlet(u=0), pde.Dirichlet(u=1, on="x-")]), "said twice"),
        (lambda: pde.Problem(poisson, SQUARE, [pde.Dirichlet(u=0), pde.Free("u", on="x-")]), "contradict"),
        (lambda: pde.Problem(poisson, SQUARE, [pde.Dirichlet(u=0), pde.Periodic("x")]), "contradict"),
        (lambda: pde.Problem(poisson, SQUARE, [pde.Dirichlet(u=0), pde.Initial(u=0)]), "no beginning"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Periodic("z")), "cannot be periodic"),
        (lambda: pde.Problem(lambda u, w: u.xx, SQUARE, pde.Dirichlet(u=0)), "asks for 'w'"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0), unknowns="u w"), "asks for the unknown 'w'"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0), coefficients={"k": 1}), "the coefficient 'k'"),
        (
            lambda: pde.Problem(lambda u, n: u.xx - n, SQUARE, pde.Dirichlet(u=0), constants={"n": 1}),
            "'n' among the con",
        ),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0), constants={"x": 1}), "'x' is among the coordinates"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0), unknowns="u d"), "'d' is taken"),
        (lambda: pde.Problem(lambda u: u.z, SQUARE, pde.Dirichlet(u=0)), "'z'"),
        (lambda: pde.Problem(lambda u: np.sum(u.xx), SQUARE, pde.Dirichlet(u=0)), "one number at each point"),
        (lambda: pde.Dirichlet(u=np.nan), "is a number or a function"),
        (
            lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=lambda x, y: np.where(y > 2, x, np.nan))),
            "the value on 'x-' is nan at x = 0, y = 0",
        ),
        (lambda: pde.Data(x=[0.0, 1.0], u=[0.0, np.nan]), "are nan at place 1"),
        (lambda: pde.Data(x=[0.0], u=[0.0, 1.0]), "different lengths"),
        (lambda: pde.Problem(heat, ROD, [pde.Free("u"), pde.Data(x=[0.0], u=[0.0])]), "lack the coordinate 't'"),
        (lambda: pde.Interval(1, 1), "is empty"),
        (lambda: SQUARE & pde.Disk((5, 5), 1), "is empty"),
        (lambda: SQUARE - pde.Box(x=(-1, 2), y=(-1, 2)), "is empty"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0)).solve(steps=0), "steps must be"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0)).solve(seconds=0), "seconds must be"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0)).solve(points=0), "points must be"),
        (lambda: pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0)).solve(step=1), "no setting 'step'"),
    ],
)
def test_what_is_missing_or_contradicts_is_named(make, words: str) -> None:
    with pytest.raises((ProblemError, TracingError, AttributeError), match=words.replace("'", ".")):
        make()
