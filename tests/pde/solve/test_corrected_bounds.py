"""Corrections: bounds with them hold, are nearer to the error, and their derivatives are exact."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import pde
from primad.enclosures import IntervalArray, enclose
from primad.errors import EnclosureError, ProblemError
from primad.pde.solve.certified.box_budget import BoxBudget
from primad.pde.solve.certified.corrections import MARGIN, Corrected, Correction, corrected
from primad.pde.solve.certified.error_bounds import MOST, proven
from primad.pde.solve.certified.error_equation import ErrorEquation
from primad.pde.solve.certified.residual_bounds import FACTOR
from tests.pde.solve.test_error_bounds import EVOLVING, LINE, POINTS, SMALL, ZERO, solved
from tests.sweeps import chosen

ENDS = np.array([[-0.5, 1.2], [0.0, 0.7]])


def drawn(time: int | None = 1) -> Correction:
    return Correction(ENDS, time, np.random.default_rng(1).normal(size=(4, 5)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("along", [(), (0,), (1,), (0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("time", [1, None])
def test_derivatives_of_a_correction_are_exact(along: tuple[int, ...], time: int | None) -> None:
    """Also in their last digits: what would be rounded before a program is recorded would be wrong by that."""
    correction = drawn(time)

    def exact(*at: Any) -> Any:
        total = mpmath.mpf(0)
        places = [
            (x - mpmath.mpf(low)) / mpmath.mpf(float(high - low)) for x, (low, high) in zip(at, ENDS, strict=True)
        ]
        for m in range(4):
            for n in range(5):
                term = mpmath.mpf(correction.factors[m, n])
                for i, (s, k) in enumerate(zip(places, (m, n), strict=True)):
                    speed, start = [mpmath.mpf(np.pi * part * k) for part in (1.0 - 2.0 * MARGIN, MARGIN)]
                    term *= (s if i == time else s * (1 - s)) * mpmath.cos(s * speed + start)
                total += term
        return total

    for at in np.random.default_rng(2).uniform(*ENDS.T, (4, 2)):
        found = enclose(lambda x: correction.derivative(x, along), IntervalArray(at, at))
        with mpmath.workdps(60):
            orders = tuple(along.count(i) for i in range(2))
            value = mpmath.diff(exact, tuple(map(mpmath.mpf, at)), orders) if along else exact(*map(mpmath.mpf, at))
            assert mpmath.mpf(float(found.low)) <= value <= mpmath.mpf(float(found.high))
        assert found.width < 1e-11


def test_a_correction_is_zero_where_values_are_given() -> None:
    correction = drawn()
    for at in ([-0.5, 0.3], [1.2, 0.3], [0.4, 0.0]):
        assert abs(float(correction.value(np.array(at)))) < 1e-14
    assert abs(float(correction.value(np.array([0.4, 0.7])))) > 1e-3
    assert abs(float(drawn(None).value(np.array([0.4, 0.7])))) < 1e-14


CORRECTED = {"Poisson": 40, "drift": 40, "feeding": 40, "the other sign": 40, "Poisson on a square": 15, "heat": 15}
"""Problems, and steps after which what is left of residuals oscillates."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", chosen(CORRECTED, {"Poisson"}))
def test_a_corrected_bound_is_above_the_true_error_and_closer(name: str) -> None:
    solution, exact = solved(name, CORRECTED[name])
    line = len(solution.problem.domain.names) == 1
    waves = 16 if line else 8
    plain, bound = [solution.certify_error(slabs=2, waves=n, order=3, most=20_000) for n in (0, waves)]
    at = solution.problem.domain.interior(POINTS).at
    wrong = np.abs(solution.at(at, "u") - exact(*at.T))
    assert isinstance(bound.bound, Corrected)
    assert np.all(wrong <= bound.at(at)) and np.max(bound.at(at)) <= bound.most
    assert bound.most < (0.3 if line else 0.7) * plain.most and bound.residual < plain.residual


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["Burgers", "Allen and Cahn"])
def test_corrected_bounds_of_nonlinear_equations(name: str) -> None:
    equation, domain, start = EVOLVING[name]
    problem = pde.Problem(equation, domain, [ZERO, start], network=SMALL)
    solution = problem.solve(steps=12, points=100, progress=False)
    plain, bound = [solution.certify_error(factor=0.5, order=3, slabs=4, waves=n, most=100_000) for n in (0, 10)]
    reference = problem.solve(method="differences", points=201, order=4)
    at = np.random.default_rng(0).uniform(*np.array(domain.bounds).T, (200, 2))
    wrong = np.abs(solution.at(at, "u") - reference.at(at, "u"))
    assert np.all(wrong <= bound.at(at)) and bound.most < plain.most


WRONG = Correction(np.array([[0.0, 1.0]]), None, np.array([0.3, -0.2, 0.1]))
"""Nothing of what is wrong in a solution: its residual is far larger with it."""


def test_any_correction_gives_a_true_bound() -> None:
    """A wrong one makes it large, not false."""
    solution, exact = solved("Poisson", 8)
    most, *_, bound = proven(solution, WRONG, FACTOR, BoxBudget(MOST, 2, lambda what, boxes: None), 1)
    at = solution.problem.domain.interior(POINTS).at
    wrong = np.abs(solution.at(at, "u") - exact(*at.T))
    assert np.all(wrong <= bound.at(at)) and 0.01 < np.max(bound.at(at)) <= most


@pytest.mark.exhaustive
def test_a_correction_never_makes_a_bound_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is no good is not taken, nor one that boxes are lacking for; one without which no bound is proven is."""
    solution, _ = solved("Poisson", 8)
    plain, few = solution.certify_error(), solution.certify_error(most=4, factor=1e-6)
    assert plain.finished and not few.finished
    assert solution.certify_error(most=4, factor=1e-6, waves=16).boxes == few.boxes
    assert solution.certify_error(waves=16).most < plain.most
    known = proven

    def without_bound(solution: Any, correction: Any, *rest: Any) -> Any:
        if correction is None:
            raise EnclosureError("errors grow")
        return known(solution, correction, *rest)

    with monkeypatch.context() as patched:
        patched.setattr("primad.pde.solve.certified.error_bounds.corrected", lambda equation, waves: WRONG)
        assert solution.certify_error(waves=3).most == plain.most
    monkeypatch.setattr("primad.pde.solve.certified.error_bounds.proven", without_bound)
    assert solution.certify_error(waves=16).most < plain.most
    with pytest.raises(EnclosureError, match="errors grow"):
        solution.certify_error()


@pytest.mark.exhaustive
def test_where_a_correction_is_worth_nothing_there_is_none() -> None:
    """With one cosine of each coordinate little is taken away; where slopes are given it would change them."""
    solution, _ = solved("Poisson", 60)
    equation = ErrorEquation(solution.problem, solution.params)
    assert corrected(equation, 1) is None and corrected(equation, 16) is not None
    np.testing.assert_equal(solution.certify_error(waves=1).most, solution.certify_error().most)
    sloped = pde.Problem(lambda u: u.xx - u + 1, LINE, [pde.Neumann(u=0)], network=SMALL)
    found = sloped.solve(steps=3, points=40, progress=False)
    assert corrected(ErrorEquation(found.problem, found.params), 8) is None
    assert found.certify_error(waves=8, most=2000).most < 10
    with pytest.raises(ProblemError, match="has -1 waves"):
        solution.certify_error(waves=-1)


def test_the_residual_of_a_corrected_solution_is_that_of_the_sum() -> None:
    """Derivatives of the equation are taken at the sum, too."""
    solution, _ = solved("heat", 2)
    correction = Correction(np.array(solution.problem.domain.bounds, float), 1, 0.1 * np.ones((3, 3)))
    equation = ErrorEquation(solution.problem, solution.params, correction=correction)
    at = np.array([0.3, 0.2])

    def total(x: Any, t: Any) -> Any:
        at = pnp.stack([x, t])
        return pnp.reshape(solution.problem.fields(solution.params, at[None])["u"].value, ()) + correction.value(at)

    slope = primad.grad(lambda t: total(at[0], t))(at[1])
    curve = primad.grad(primad.grad(lambda x: total(x, at[1])))(at[0])
    np.testing.assert_allclose(float(equation.residual(at)), 2.0 * slope - 0.2 * curve, rtol=1e-10)
