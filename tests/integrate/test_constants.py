"""The numbers in methods of integration: each fulfils the equations, or shows the order, that it was derived from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import solve_ivp as reference
from scipy.integrate._ivp.rk import rk_step

import primad
from primad.integrate import rosenbrock
from primad.integrate.methods import METHODS
from primad.integrate.quadrature import _rule

# -- RODAS: order conditions of Rosenbrock methods (Hairer and Wanner, section IV.7), to the last digits ---------------


def _lower(rows: Any, last: float) -> Any:
    """Return the square matrix of rows that grow, with a number on the diagonal."""
    full = np.zeros((6, 6))
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return full + last * np.eye(6)


GAMMA = np.linalg.inv(_lower([[-c for c in row] for row in rosenbrock._C], 1 / rosenbrock._GAMMA))
ALPHA = _lower(rosenbrock._A, 0.0) @ GAMMA
BETA = ALPHA + GAMMA
LAST = np.array([*rosenbrock._A[5], 0.0])


def conditions(weights: Any, order: int, x: float = 1.0) -> Any:
    """Return by how much weights of stages miss the conditions for the value where x of the step is done."""
    b, a, s = weights @ GAMMA, ALPHA.sum(1), BETA.sum(1)
    found = [
        (1, b.sum(), x),
        (2, b @ s, x**2 / 2),
        (3, b @ a**2, x**3 / 3),
        (3, b @ BETA @ s, x**3 / 6),
        (4, b @ a**3, x**4 / 4),
        (4, b @ (a * (ALPHA @ s)), x**4 / 8),
        (4, b @ BETA @ a**2, x**4 / 12),
        (4, b @ BETA @ BETA @ s, x**4 / 24),
    ]
    return np.array([value - wanted for least, value, wanted in found if least <= order])


def test_the_stages_of_rodas_stand_at_their_times() -> None:
    np.testing.assert_allclose(ALPHA.sum(1), rosenbrock._TIMES, atol=1e-13)
    np.testing.assert_allclose(GAMMA.sum(1), rosenbrock._IN_TIME, atol=1e-13)


def test_the_value_of_rodas_and_the_one_beside_it_have_orders_4_and_3() -> None:
    np.testing.assert_allclose(conditions(LAST + np.eye(6)[5], 4), 0.0, atol=1e-13)
    np.testing.assert_allclose(conditions(LAST, 3), 0.0, atol=1e-13)
    assert np.abs(conditions(LAST, 4)).max() > 1e-4  # else their difference would estimate nothing


@pytest.mark.parametrize("x", [0.25, 0.6])
def test_rodas_has_order_3_inside_of_a_step(x: float) -> None:
    first, second = (np.array([*row, 0.0]) for row in rosenbrock._INSIDE)
    weights = x * (LAST + np.eye(6)[5] + (1 - x) * (first + x * second))
    np.testing.assert_allclose(conditions(weights, 3, x), 0.0, atol=1e-13)


# -- all methods: errors shrink with the step as they promise ----------------------------------------------------------

ORDERS = {"RK45": (5, 5, 4), "DOP853": (8, 8, 7), "ROS23": (2, 3, 2), "RODAS4": (4, 4, 3)}
"""Of the value, of the estimate of its error (as a power of the step) and of the values inside of a step."""
STEPS = {"RK45": 0.1, "DOP853": 0.4, "ROS23": 0.02, "RODAS4": 0.05}


def _slope(t: Any, y: Any) -> Any:
    return primad.numpy.stack([y[1] * np.cos(t), -y[0] * y[1] + np.sin(2.0 * t), y[0] - 0.5 * y[2] ** 2])


@pytest.mark.parametrize("name", METHODS)
def test_errors_shrink_as_the_order_promises(name: str) -> None:
    method, start, inside = METHODS[name], np.array([0.3, 0.8, -0.4]), (0.3, 0.7, 1.0)

    def errors(h: float) -> list[float]:
        made = method.step(_slope, 0.2, start, _slope(0.2, start), h)
        at = [0.2 + h * x for x in inside]
        options = {"method": "DOP853", "rtol": 3e-14, "atol": 1e-16, "max_step": h / 8}
        path = reference(lambda t, y: np.asarray(_slope(t, y)), (0.2, at[-1]), start, t_eval=at, **options).y.T
        between = [np.asarray(method.between(made.inside, start, h, x)) for x in inside]
        np.testing.assert_allclose(between[-1], np.asarray(made.y), rtol=1e-14)
        found = [np.abs(y - exact).max() for y, exact in zip([*between[:2], np.asarray(made.y)], path, strict=True)]
        return [found[2], float(made.error(1.0, 0.0)), *found[:2]]

    value, estimate, dense = ORDERS[name]
    assert method.order + 1 == estimate  # by which the next step is chosen
    shrinks = np.log2(np.array(errors(STEPS[name])) / np.array(errors(STEPS[name] / 2)))
    assert np.all(shrinks > np.array([value + 1, estimate, dense + 1, dense + 1]) - 0.4), shrinks
    assert shrinks[1] < estimate + 1.6, shrinks


@pytest.mark.parametrize("name", ["RK45", "DOP853"])
def test_estimates_of_errors_are_those_of_the_tableaux(name: str) -> None:
    start, h, atol, rtol = np.array([0.3, 0.8, -0.4]), 0.3, 1e-3, 1e-2
    made = METHODS[name].step(_slope, 0.2, start, _slope(0.2, start), h)
    solver = getattr(scipy.integrate, name)(lambda t, y: np.asarray(_slope(t, y)), 0.2, start, 9.0)
    new, _ = rk_step(solver.fun, 0.2, start, solver.f, h, solver.A, solver.B, solver.C, solver.K)
    allowed = atol + np.maximum(np.abs(start), np.abs(new)) * rtol
    wanted = solver._estimate_error_norm(solver.K, h, allowed)
    np.testing.assert_allclose(float(made.error(atol, rtol)), wanted, rtol=1e-6)


def test_the_estimate_of_ros23_is_its_error() -> None:
    """The value beside it has order 3, so that their difference tends to what the value of order 2 lacks."""
    fun, start = lambda t, y: -8.0 * y * y + primad.numpy.cos(3.0 * t), np.array([0.7])
    for h in (0.01, 0.005):
        made = METHODS["ROS23"].step(fun, 0.2, start, fun(0.2, start), h)
        options = {"method": "DOP853", "rtol": 3e-14, "atol": 1e-16}
        exact = reference(lambda t, y: np.asarray(fun(t, y)), (0.2, 0.2 + h), start, **options).y[:, -1]
        assert float(made.error(1.0, 0.0)) == pytest.approx(abs(made.y - exact)[0], rel=4 * h)


@pytest.mark.parametrize("name", rosenbrock.STIFF)
def test_methods_for_stiff_systems_are_l_stable(name: str) -> None:
    fun, start = lambda t, y: -1e9 * y, np.ones(1)
    assert abs(METHODS[name].step(fun, 0.0, start, fun(0.0, start), 1.0).y[0]) < 1e-6


def test_the_rules_of_gauss_and_kronrod_are_exact_for_polynomials() -> None:
    nodes, weights, coarse = _rule()
    for rule, degree in ((weights, 31), (coarse, 19)):
        powers = np.arange(degree + 1)
        np.testing.assert_allclose(rule @ nodes[:, None] ** powers, 1 / (powers + 1), rtol=1e-12)
        assert abs(rule @ np.cos(60 * nodes) - np.sin(60) / 60) > 1e-13  # and no better than that


# -- events ------------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize(("start", "stop"), [(0.0, 1.0), (1.0, 0.0), (-2.0, 1.0)])
@pytest.mark.parametrize("method", ["RK45", "RODAS4"])
def test_events_exactly_at_the_start_and_at_the_end(method: str, start: float, stop: float, direction: int) -> None:
    """As SciPy finds them: a change to zero, or from zero, is one."""

    def crosses(t: Any, y: Any) -> Any:
        return t - 1.0

    crosses.direction = direction  # type: ignore[attr-defined]
    ours = primad.integrate.solve_ivp(lambda t, y: -y, (start, stop), np.ones(1), method=method, events=crosses)
    theirs = reference(lambda t, y: -y, (start, stop), np.ones(1), events=crosses)
    np.testing.assert_allclose(ours.t_events[0], theirs.t_events[0], atol=1e-12)
