"""Where a constant may be added to an unknown, elements choose it, and say where there is no solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import DomainError, ProblemError

NET = pde.MLP(4, 1)
SQUARE, LINE, TURN = pde.Box(x=(0, 1), y=(0, 1)), pde.Interval(0, 1), 2 * np.pi

pytestmark = pytest.mark.filterwarnings("ignore:a constant may be added")


def wave(x: Any, y: Any) -> Any:
    return np.cos(TURN * x) * np.cos(TURN * y)


def half_wave(x: Any, y: Any) -> Any:
    return np.cos(np.pi * x) * np.cos(np.pi * y)


def with_flux(x: Any, y: Any) -> Any:
    return x**2 - 1 / 3 + np.sin(TURN * y)


ENDS: dict[str, tuple[Any, Any, Sequence[Any]]] = {
    "periodic": (wave, lambda x, y: -2 * TURN**2 * wave(x, y), [pde.Periodic("x y")]),
    "free": (half_wave, lambda x, y: -2 * np.pi**2 * half_wave(x, y), [pde.Neumann(u=0)]),
    "mixed": (
        with_flux,
        lambda x, y: 2 - TURN**2 * np.sin(TURN * y),
        [pde.Periodic("y"), pde.Neumann(u=0, on="x-"), pde.Neumann(u=2, on="x+")],
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ends", ENDS)
def test_the_mean_is_zero_and_errors_fall_as_elsewhere(ends: str) -> None:
    exact, source, conditions = ENDS[ends]
    problem = pde.Problem(lambda u, x, y: pde.laplacian(u) - source(x, y), SQUARE, conditions, network=NET)
    errors = [problem.solve(method="elements", size=1 / n, degree=2).error(u=exact) for n in (8, 16)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3, abs=0.3)


def test_an_integral_says_what_the_level_is_and_derivatives_follow_it() -> None:
    problem = pde.Problem(
        lambda u, x, k: k * u.xx + TURN**2 * np.cos(TURN * x),
        LINE,
        [pde.Periodic("x"), pde.Integral(lambda u, k: k * u.value, 3.0)],
        constants={"k": 2.0},
        network=NET,
    )
    elements = pde.Elements(problem, 0.02, 2)
    assert elements.solve().error(u=lambda x: np.cos(TURN * x) / 2 + 1.5) < 1e-5
    assert primad.grad(lambda k: elements.values(k=k)[0])(2.0) == pytest.approx(-0.25 - 0.75, abs=1e-5)


@pytest.mark.parametrize(
    ("equation", "conditions", "words"),
    [
        (lambda u, x: u.xx + np.cos(TURN * x) + 0.2, [pde.Periodic("x")], "differ by 0.2, 30.8% .*\n.*\n.*add -0.2 to"),
        (lambda u: u.xx + 2, [pde.Neumann(u=-2)], "differ by 2, 33.3%"),
        (lambda u: u.xx + 2, [pde.Neumann(u=1)], "differ by 4, 100.0%"),
        (lambda u: u.xx + u.x**2 - 1, [pde.Periodic("x")], "differ by 1, 100.0%"),
    ],
    ids=["periodic", "flux", "flux in", "nonlinear"],
)
def test_an_equation_without_a_solution_says_by_how_much_it_misses(equation: Any, conditions: Any, words: str) -> None:
    problem = pde.Problem(equation, LINE, conditions, network=NET)
    with pytest.raises(DomainError, match=words):
        problem.solve(method="elements", size=0.02)


@pytest.mark.parametrize(
    "integral",
    [
        pde.Integral(lambda u: u.value**2, 1.0),
        pde.Integral(lambda u: u.x, 1.0),
        pde.Integral(lambda u: u.value, 0.0, on="x+"),
    ],
    ids=["square", "slope", "on an end"],
)
def test_an_integral_that_does_not_say_what_the_level_is_is_refused(integral: Any) -> None:
    problem = pde.Problem(lambda u: u.xx + 2, LINE, [pde.Neumann(u=-1), integral], network=NET)
    with pytest.raises(ProblemError, match="does not say what the level of u is"):
        problem.solve(method="elements", size=0.1)


def test_a_pressure_without_an_end_has_the_mean_zero() -> None:
    def at_rest(u: Any, v: Any, p: Any, y: Any) -> Any:
        return pde.laplacian(u) - p.x + 1, pde.laplacian(v) - p.y - 2 * y, u.x + v.y

    problem = pde.Problem(at_rest, SQUARE, [pde.Dirichlet(u=0, v=0), pde.Free("p")], unknowns="u v p", network=NET)
    solution = problem.solve(method="elements", size=0.125, degree=2)
    at = SQUARE.interior(20).at
    assert solution.at(at, "p") == pytest.approx(at[:, 0] - 0.5 - at[:, 1] ** 2 + 1 / 3, abs=5e-3)
    assert solution.at(at, "u") == pytest.approx(0, abs=1e-4)
