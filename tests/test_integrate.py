"""Initial value problems: SciPy's steps, and derivatives in initial values, parameters and times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import primad
from primad.integrate import solve_ivp

ALL: dict[str, dict[str, Any]] = {
    "RK45": {"rtol": 1e-9, "atol": 1e-10},
    "DOP853": {"rtol": 1e-10, "atol": 1e-11},
    "ROS23": {"rtol": 1e-6, "atol": 1e-9},
    "RK4": {"steps": 200},
}


def predators(t: Any, y: Any, a: Any = 1.5) -> Any:
    return primad.numpy.stack([a * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1] + 0.1 * np.sin(t)])


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
@pytest.mark.parametrize("span", [(0.0, 4.0), (4.0, 1.0)])
def test_steps_and_values_are_scipys(method: str, span: tuple[float, float]) -> None:
    """All accepted steps, values at times, and the dense output; forward and backward in time."""
    times = np.linspace(*span, 5)
    for options in ({"rtol": 1e-3, "atol": 1e-6}, {"rtol": 1e-7, "atol": 1e-9, "max_step": 0.4, "first_step": 0.01}):
        found = solve_ivp(predators, span, [1.0, 0.5], method, dense_output=True, **options)
        wanted = scipy.integrate.solve_ivp(
            lambda t, y: np.asarray(predators(t, y)), span, [1.0, 0.5], method, dense_output=True, **options
        )
        assert found.success and found.message == wanted.message
        np.testing.assert_allclose(found.t, wanted.t, rtol=1e-6)
        np.testing.assert_allclose(found.y, wanted.y, rtol=1e-6)
        np.testing.assert_allclose(found.sol(times), wanted.sol(times), rtol=1e-6)
        np.testing.assert_allclose(found.sol(2.2), wanted.sol(2.2), rtol=1e-6)
        at = solve_ivp(predators, span, [1.0, 0.5], method, t_eval=times, **options)
        np.testing.assert_allclose(at.y, wanted.sol(times), rtol=1e-6)


@pytest.mark.parametrize("method", ALL)
def test_derivatives_in_values_parameters_and_times(method: str) -> None:
    """y = y₀ exp(−a t): both modes, two orders, stacks whose elements take other steps."""
    precise = 1e-3 if method == "ROS23" else 1e-6

    def final(q: Any) -> Any:
        stop = q[2]
        found = solve_ivp(lambda t, y: -q[1] * y, (0.0, stop), q[:1], method, primad.numpy.stack([stop]), **ALL[method])
        return found.y[0, 0]

    def exact(q: Any) -> Any:
        return q[0] * np.exp(-q[1] * q[2])

    q, v = np.array([1.3, 0.7, 1.2]), np.array([1.0, -0.5, 0.2])
    np.testing.assert_allclose(final(q), exact(q), rtol=precise)
    np.testing.assert_allclose(primad.grad(final)(q), primad.grad(exact)(q), rtol=precise)
    np.testing.assert_allclose(primad.jvp(final, (q,), (v,))[1], primad.jvp(exact, (q,), (v,))[1], rtol=10 * precise)
    if method == "RK45":
        np.testing.assert_allclose(primad.hvp(final, q, v), primad.hvp(exact, q, v), rtol=1e-4)
    if method in ("RK45", "RK4"):
        stack = np.stack([q, 3 * q])
        np.testing.assert_allclose(primad.vmap(final)(stack), [exact(x) for x in stack], rtol=1e-5)
        found = primad.jit(primad.vmap(primad.grad(final)))(stack)
        np.testing.assert_allclose(found, [primad.grad(exact)(x) for x in stack], rtol=1e-4)


def test_times_between_steps_and_arguments() -> None:
    times = np.array([0.5, 1.1, 2.0])

    def loss(a: Any, times: Any) -> Any:
        found = solve_ivp(predators, (0.0, 2.0), [1.0, 0.5], t_eval=times, args=(a,), rtol=1e-9, atol=1e-10)
        return np.sum(found.y * np.array([[1.0], [2.0]]))

    step = 1e-5
    slope = (loss(1.5 + step, times) - loss(1.5 - step, times)) / (2 * step)
    assert primad.grad(loss)(1.5, times) == pytest.approx(slope, rel=1e-5)
    y = solve_ivp(predators, (0.0, 2.0), [1.0, 0.5], t_eval=times, rtol=1e-9, atol=1e-10).y
    slopes = np.stack([predators(t, y[:, i]) for i, t in enumerate(times)])
    np.testing.assert_allclose(primad.grad(loss, 1)(1.5, times), slopes @ [1.0, 2.0], rtol=1e-5)


def test_a_stiff_system_takes_few_steps() -> None:
    def stiff(t: Any, y: Any, rate: Any = 1e6) -> Any:
        return -rate * (y - np.cos(t))

    found = solve_ivp(stiff, (0.0, 3.0), [0.0], "ROS23")
    assert found.success and len(found.t) < 100
    assert abs(found.y[0, -1] - np.cos(3.0)) < 1e-2

    def final(rate: Any) -> Any:
        return solve_ivp(stiff, (0.0, 0.01), [0.0], "ROS23", [0.01], args=(rate,), rtol=1e-6, atol=1e-9).y[0, 0]

    step = 0.01
    slope = (final(100.0 + step) - final(100.0 - step)) / (2 * step)
    assert primad.grad(final)(100.0) == pytest.approx(slope, rel=1e-3)


def test_what_cannot_be_reached_is_said() -> None:
    found = solve_ivp(lambda t, y: np.stack([0.0 * t, y[1] ** 2]), (0.0, 2.0), [1.0, 1.0], t_eval=[0.5, 1.5])
    assert not found.success and found.status == -1
    assert "t = 0.9999" in found.message and "component 1" in found.message
    assert found.y[1, 0] == pytest.approx(2.0, rel=1e-2) and np.isnan(found.y[1, 1])
    found = solve_ivp(lambda t, y: np.sqrt(0.5 - t) * y, (0.0, 1.0), [1.0])
    assert found.status == -1 and "t = 0.49999" in found.message
    with pytest.raises(primad.StepsError, match="max_steps=5"):
        solve_ivp(predators, (0.0, 5.0), [1.0, 0.5], max_steps=5)
    for call, message in (
        (lambda: primad.grad(lambda y: solve_ivp(predators, (0.0, 1.0), y).y[0, -1])(np.ones(2)), "t_eval"),
        (lambda: solve_ivp(predators, (0.0, 1.0), [1.0, 0.5], "RK54"), "RK45"),
        (lambda: solve_ivp(predators, (0.0, 1.0), [1.0, 0.5], "RK4"), "steps"),
        (lambda: solve_ivp(predators, (0.0, 1.0), 1.0), "one axis"),
        (lambda: solve_ivp(lambda t, y: y[:1], (0.0, 1.0), [1.0, 0.5]), "shape"),
    ):
        with pytest.raises(primad.PrimadError, match=message) as caught:
            call()
        assert f"in {__file__}:" in str(caught.value)


def test_the_end_is_reached_whatever_rounding_makes_of_steps() -> None:
    """A value at each end is no NaN, forward and backward, under every method."""
    spans = [*np.random.default_rng(0).normal(size=(40, 2)).tolist(), [0.1, 1 / 3], [1 / 3, 0.1], [0.1, 0.1 + 0.2]]
    options = {"RK45": {"max_step": 0.3}, "DOP853": {"max_step": 0.3}, "RK4": {"steps": 10}, "ROS23": {"rtol": 1e-4}}

    def ends(span: Any) -> Any:
        given = options.items()
        times = primad.numpy.stack([span[0], span[1]])
        return [solve_ivp(lambda t, y: -y, (span[0], span[1]), np.ones(1), m, t_eval=times, **o).y for m, o in given]

    jitted = primad.jit(ends)
    for span in np.array(spans):
        for found in jitted(span):
            np.testing.assert_allclose(found, [[1.0, np.exp(span[0] - span[1])]], rtol=1e-2)
