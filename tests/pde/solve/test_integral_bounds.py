"""Proven bounds of the integral of an error's size are above it, with shocks and at ends that do not repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad.numpy as pnp
from primad import pde
from primad.errors import ProblemError
from primad.pde.solve.certified.integral_bounds import integral

RING, TIME = pde.Interval(-1, 1), pde.Time(0, 0.5)
ROUND = pde.Periodic("x")
WAVE = pde.Initial(u=lambda x: -pnp.sin(np.pi * x))
SMALL = pde.MLP(4, 1)


def burgers(x: Any, t: float) -> Any:
    """Return the entropy solution of u_t + u u_x = 0 that starts as −sin(πx): a shock stands at 0 from t = 1/π on.

    Ahead of the shock u is −sin(πy) with x = y − t sin(πy), of which the largest y ≤ 1 counts for x > 0.
    """
    size = np.abs(x)
    low, high = np.full_like(size, max(0.0, np.arccos(min(1.0, 1 / (np.pi * t))) / np.pi if t else 0.0)), 1.0 + 0 * size
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = middle - t * np.sin(np.pi * middle) < size
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return -np.sign(x) * np.sin(np.pi * low)


CASES: dict[str, tuple[Callable[..., Any], Callable[[Any, float], Any]]] = {
    "carried": (lambda u: u.t + 0.7 * u.x, lambda x, t: -np.sin(np.pi * (x - 0.7 * t))),
    "carried, multiplied": (lambda u: -2.0 * u.t - 1.4 * u.x, lambda x, t: -np.sin(np.pi * (x - 0.7 * t))),
    "with a shock": (lambda u: u.t + u * u.x, burgers),
    "with a source": (
        lambda u, x, t: u.t + u.x - pnp.cos(np.pi * (x - t)),
        lambda x, t: -np.sin(np.pi * (x - t)) + t * np.cos(np.pi * (x - t)),
    ),
}
MIDDLES = np.linspace(-1, 1, 4001)[:-1] + 0.25e-3


def error(solution: pde.Solution, exact: Callable[[Any, float], Any], t: float) -> float:
    found = solution.at(np.stack([MIDDLES, np.full(MIDDLES.shape, t)], axis=1), "u")
    return float(2 * np.mean(np.abs(found - exact(MIDDLES, t))))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("steps", [1, pytest.param(25, marks=pytest.mark.exhaustive)])
def test_a_bound_is_above_the_integral_of_the_true_error(name: str, steps: int) -> None:
    equation, exact = CASES[name]
    problem = pde.Problem(equation, RING * TIME, [ROUND, WAVE], network=SMALL)
    solution = problem.solve(steps=steps, points=100, progress=False)
    bound = solution.certify_integral(slabs=2, most=2000)
    for t in (0.0, 0.2, 0.25, 0.4, 0.5):
        assert error(solution, exact, t) <= bound.at(t) * (1 + 1e-3) + 1e-6
    assert bound.at(0.5) == bound.most and f"{bound.most:.3g}" in str(bound)
    assert bound.most < 100 * max(error(solution, exact, t) for t in (0.25, 0.5)) + 0.1


@pytest.mark.exhaustive
def test_what_is_off_at_the_start_is_kept() -> None:
    """The exact solution of other values at the start is as far away at every time, so the bound is close."""
    start = pde.Initial(u=lambda x: -pnp.sin(np.pi * x), hard=False)
    problem = pde.Problem(lambda u: u.t + 0.7 * u.x, RING * TIME, [ROUND, start], network=pde.MLP(8, 1))
    solution = problem.solve(steps=200, points=200, progress=False)
    start.values["u"] = lambda x: -pnp.sin(np.pi * x) + 0.3 * pnp.cos(np.pi * x)
    bound = solution.certify_integral(factor=0.1, slabs=2, most=6000)
    wrong = error(solution, lambda x, t: -np.sin(np.pi * (x - 0.7 * t)) + 0.3 * np.cos(np.pi * (x - 0.7 * t)), 0.5)
    assert wrong <= bound.most < 1.8 * wrong


def test_ends_that_do_not_repeat_are_counted() -> None:
    """A function that jumps at the ends of the period, with no residual inside, is carried away by the truth."""
    problem = pde.Problem(lambda u: u.t + u.x, RING * TIME, [ROUND, WAVE], network=SMALL)
    solution = problem.solve(steps=1, points=40, progress=False)
    plain = problem.fields

    def slope(params: Any, at: Any) -> Any:
        return {"u": _Line(at)}

    problem.fields = slope  # type: ignore[method-assign]
    problem.statement.conditions[1].values["u"] = lambda x: x
    bound = solution.certify_integral(slabs=2, most=2000)
    problem.fields = plain  # type: ignore[method-assign]
    # x − t against the line x, shifted and wrapped: 2 t (2 − t) / 2 … is what differs, with a jump of 2 and speed 1.
    wrapped = (MIDDLES - 0.5 + 1) % 2 - 1
    wrong = 2 * np.mean(np.abs((MIDDLES - 0.5) - wrapped))
    assert wrong <= bound.most * (1 + 1e-6) and bound.ends >= 0.9 and bound.residual < 1e-6


class _Line:
    """The field x − t, as those of problems have their derivatives."""

    def __init__(self, at: Any) -> None:
        self.value, self._zero = at[:, 0] - at[:, 1], 0.0 * at[:, 0]

    def d(self, names: str) -> Any:
        return {"x": self._zero + 1.0, "t": self._zero - 1.0}[names]


def test_integrals_of_sizes_are_bounded_closely() -> None:
    found, _ = integral(lambda at: pnp.sin(3.0 * at[0]) * at[1], np.zeros(2), np.array([2.0, 1.0]), (0.02, 2, 4000))
    x = (np.arange(200_000) + 0.5) / 100_000
    exact = 0.5 * 2 * np.mean(np.abs(np.sin(3 * x)))
    assert exact <= found < 1.1 * exact
    line, count = integral(lambda at: at[0] * 0.0 + 3.0, np.zeros(2), np.array([2.0, 0.0]), (0.02, 2, 10), (1,))
    assert 6.0 <= line < 6.0 + 1e-12 and count == 1


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("equation", "conditions", "words"),
    [
        (lambda u: u.t + u * u.x - 0.1 * u.xx, [ROUND, WAVE], "second derivatives"),
        (lambda u, x: u.t + pnp.sin(np.pi * x) * u.x, [ROUND, WAVE], "depends on the place"),
        (lambda u: u.t + u.x - u, [ROUND, WAVE], "depends on the unknown"),
        (lambda u: u.t + u.x**2, [ROUND, WAVE], "depends on the place"),
        (lambda u: u.t + u * u.x + pnp.maximum(u.value - 5.0, 0.0), [ROUND, WAVE], "depends on the unknown"),
        (lambda u: u.t + u.x, [pde.Dirichlet(u=0), WAVE], "condition of the kind 'Dirichlet condition'"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_conservation_law_is_refused(equation: Any, conditions: Any, words: str) -> None:
    solution = pde.Problem(equation, RING * TIME, conditions, network=SMALL).solve(steps=1, points=20, progress=False)
    with pytest.raises(ProblemError, match=words):
        solution.certify_integral(slabs=1, most=100)
    with pytest.raises(ProblemError, match="0 slabs"):
        solution.certify_integral(slabs=0)
