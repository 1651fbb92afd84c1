"""Flows that change in time: a pressure is found by the derivative of the constraint, which holds at all times."""

from __future__ import annotations

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError

NET = pde.MLP(4, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
CORNER = SQUARE.named(corner=lambda x, y: (x == 0) & (y < 0.5), lid=lambda x, y: y == 1)
WALLS = ["x-", "x+", "y-", "lid", "corner"]


def flow(u, v, p, nu):
    return (
        u.t + u * u.x + v * u.y + p.x - nu * pde.laplacian(u),
        v.t + u * v.x + v * v.y + p.y - nu * pde.laplacian(v),
        u.x + v.y,
    )


def exact(nu):
    """Return Taylor and Green's vortex, which decays."""

    def decay(t):
        return np.exp(-2 * np.pi**2 * nu * t)

    return {
        "u": lambda x, y, t: -np.cos(np.pi * x) * np.sin(np.pi * y) * decay(t),
        "v": lambda x, y, t: np.sin(np.pi * x) * np.cos(np.pi * y) * decay(t),
        "p": lambda x, y, t: -0.25 * (np.cos(2 * np.pi * x) + np.cos(2 * np.pi * y)) * decay(t) ** 2,
    }


@pytest.mark.exhaustive
def test_a_flow_through_a_channel_is_exact() -> None:
    """The polynomials of elements have it, in time too: u = 4t y(1 − y) and p = 8νt(2 − x), with a force."""
    problem = pde.Problem(
        lambda u, v, p, nu, y: (
            u.t + p.x - nu * pde.laplacian(u) - 4 * y * (1 - y),
            v.t + p.y - nu * pde.laplacian(v),
            u.x + v.y,
        ),
        pde.Box(x=(0, 2), y=(0, 1)) * pde.Time(0, 0.5),
        [
            pde.Dirichlet(u=lambda y, t: 4 * t * y * (1 - y), v=0, on=["x-", "y-", "y+"], hard=False),
            pde.Condition(lambda u, v, p, nu: (nu * u.x - p, v.x), on="x+"),
            pde.Free("p", on=["x-", "y-", "y+", "initial"]),
            pde.Initial(u=0, v=0),
        ],
        unknowns="u v p",
        constants={"nu": 0.7},
        network=NET,
    )
    solution = problem.solve(method="elements", size=0.5, degree=2, frames=3)
    assert solution.error(u=lambda x, y, t: 4 * t * y * (1 - y)) < 1e-8
    assert solution.error(p=lambda x, y, t: 8 * 0.7 * t * (2 - x)) < 1e-8


@pytest.mark.exhaustive
@pytest.mark.parametrize("nu", [0.05, 1.0])
def test_a_vortex_decays_with_errors_of_the_right_order(nu: float) -> None:
    """What moves at the boundary has its share in the constraint; the pressure at the start is found."""
    wanted = exact(nu)
    problem = pde.Problem(
        flow,
        CORNER * pde.Time(0, 0.2),
        [
            pde.Dirichlet(u=wanted["u"], v=wanted["v"], on=WALLS, hard=False),
            pde.Dirichlet(p=wanted["p"], on="corner", hard=False),
            pde.Free("p", on=["x-", "x+", "y-", "lid", "initial"]),
            pde.Initial(u=lambda x, y: wanted["u"](x, y, 0), v=lambda x, y: wanted["v"](x, y, 0), hard=False),
        ],
        unknowns="u v p",
        constants={"nu": nu},
        network=NET,
    )
    found = []
    for size in (1 / 4, 1 / 8):
        solution = problem.solve(method="elements", size=size, degree=2, frames=3, tolerance=1e-7)
        at = problem.domain.interior(500).at
        at[:, 2] = np.resize([0.0, 0.2], len(at))
        found.append([solution.error(at, **{name: one}) for name, one in wanted.items()])
    assert np.all(np.log2(np.divide(*found)) > [2.6, 2.6, 1.6]), found


@pytest.mark.exhaustive
def test_a_flow_that_is_set_going_at_once_has_no_sources() -> None:
    """A lid begins to move: the flow nearest to what is given at the start is taken, and all is differentiated."""
    problem = pde.Problem(
        flow,
        CORNER * pde.Time(0, 0.3),
        [
            pde.Dirichlet(u=1, v=0, on="lid", hard=False),
            pde.Dirichlet(u=0, v=0, on=["x-", "x+", "y-", "corner"], hard=False),
            pde.Dirichlet(p=0, on="corner", hard=False),
            pde.Free("p", on=["x-", "x+", "y-", "lid", "initial"]),
            pde.Initial(u=0, v=0, hard=False),
        ],
        unknowns="u v p",
        constants={"nu": 0.1},
        network=NET,
    )
    elements = pde.Elements(problem, 1 / 4, 2, frames=3, tolerance=1e-7)
    states = elements.states(nu=0.1)
    late = elements.free >= elements.offsets[2]
    for place, time in enumerate(elements.times):
        whole = np.concatenate([states[name][place] for name in "uvp"])
        rows = elements.gathered(elements.residual(whole, {"nu": 0.1}, None, time))
        assert np.max(np.abs(rows[late])) < 1e-13

    def energy(nu):
        found = elements.values(nu=nu)
        return np.sum(found["u"] ** 2) + np.sum(found["p"] ** 2)

    assert primad.grad(energy)(0.1) == pytest.approx((energy(0.1001) - energy(0.0999)) / 2e-4, rel=1e-3)


@pytest.mark.parametrize(
    "constraint",
    [
        lambda u, v, t: (1 + u) * u.x + v.y,
        lambda u, v, t: (1 + t) * u.x + v.y,
        lambda u, v, t: u.t * u.x + v.y,
    ],
)
def test_constraints_that_are_not_linear_are_refused(constraint) -> None:
    problem = pde.Problem(
        lambda u, v, p, t: (u.t - pde.laplacian(u) + p.x, v.t - pde.laplacian(v) + p.y, constraint(u, v, t)),
        SQUARE * pde.Time(0, 1),
        [
            pde.Dirichlet(u=0, v=0),
            pde.Initial(u=0, v=0),
            pde.Dirichlet(p=0, on="x+"),
            pde.Free("p", on=["x-", "y-", "y+", "initial"]),
        ],
        unknowns="u v p",
        network=NET,
    )
    with pytest.raises(ProblemError, match=r"none can be solved for p|factors of derivatives along t"):
        problem.solve(method="elements", degree=2, size=0.5)
