"""Whether what a search found holds between its points as well: what is said where it does not, and what helps."""

from __future__ import annotations

import warnings

import pytest

import primad.numpy as np
from primad import pde
from primad.pde.solve.misfit import _sizes

ROD = pde.Interval(-1, 1) * pde.Time(0, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
STEP = pde.Initial(u=lambda x: np.where(np.abs(x) < 0.3, 1.0, 0.0), hard=False)
ROUNDED = pde.Initial(u=lambda x: (np.tanh((x + 0.3) / 0.05) - np.tanh((x - 0.3) / 0.05)) / 2)

HELD = {
    "an equation of one operator": (
        lambda u: pde.laplacian(u), SQUARE, [pde.Dirichlet(u=lambda x, y: x * x - y * y)]
    ),
    "a product": (lambda u, x: (x + 2) * u.x, pde.Interval(0, 1), [pde.Dirichlet(u=1)]),
    "two of them": (
        lambda u: (u.t - u.value, u.tt - u), pde.Time(0, 1), [pde.Initial(u=1), pde.Initial(u=1, order=1)]
    ),
}  # fmt: skip
MISSED = {
    "a step at the start": (lambda u: u.t - 0.01 * u.xx, ROD, [pde.Dirichlet(u=0), STEP]),
    "few points": (
        lambda u, x: u.xx + 100 * np.sin(30 * x), pde.Interval(0, 1), [pde.Dirichlet(u=0)]
    ),
    "an equation of one operator": (
        lambda u: pde.laplacian(u), SQUARE, [pde.Dirichlet(u=lambda x, y: np.where(x < y, 1.0, 0.0), hard=False)]
    ),
    "no operator at all": (lambda u, x: u.value - np.sin(50 * x), pde.Interval(0, 1), [pde.Free("u")]),
    "two equations": (
        lambda u, v, x: (u.value - v, v.value - np.sin(50 * x)), pde.Interval(0, 1), [pde.Free("u", "v")]
    ),
}  # fmt: skip


def made(equation, domain, conditions) -> pde.Problem:
    names = equation.__code__.co_varnames
    return pde.Problem(equation, domain, conditions, unknowns="u v" if "v" in names else "u", network=pde.MLP(12, 2))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", HELD)
def test_what_holds_between_points_is_left_alone(name: str) -> None:
    made(*HELD[name]).solve(steps=15, points=150, progress=False)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", MISSED)
def test_what_holds_at_its_points_only_is_said(name: str) -> None:
    points = 8 if MISSED[name][1].dimension == 1 else 32
    with pytest.warns(UserWarning, match=r"holds at its \d+ points only.*resample=10, refine=0.5"):
        made(*MISSED[name]).solve(steps=40, points=points, progress=False)


@pytest.mark.exhaustive
def test_what_is_advised_for_a_step_helps() -> None:
    """A step at the start that is rounded off, and points where residuals are large: as the warning says."""

    def heat(start: pde.Initial, **settings) -> np.ndarray:
        problem = made(lambda u: u.t - 0.01 * u.xx, ROD, [pde.Dirichlet(u=0), start])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            solution = problem.solve(steps=60, progress=False, **settings)
        residuals = solution.residuals(2000)["equation"][1]
        return np.sqrt(np.mean(residuals**2)), bool(said)

    missed, told = heat(STEP, points=100)
    assert told and missed > 0.3
    rounded, told = heat(ROUNDED, points=300, resample=10, refine=0.5)
    assert not told and rounded < 0.05


def test_terms_of_derivatives_alone_are_seen() -> None:
    """Though derivatives that are added up are one operator."""
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=lambda x: np.sin(np.pi * x))]
    for equation in (lambda u: u.t - 0.1 * u.xx, lambda u: 0.1 * (u.xx - 10 * u.t)):
        problem = made(equation, ROD, conditions)
        solution = problem.solve(steps=20, points=100, progress=False)
        (size,) = _sizes(problem, solution.params, "equation", solution.points["equation"])
        x, t = solution.points["equation"]["at"].T
        assert size == pytest.approx(np.sqrt(np.mean((2 * solution.u.d("t")(x, t)) ** 2)), rel=1e-3)
