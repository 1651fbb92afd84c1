"""Initial value problems of complex numbers: SciPy's steps, and the derivatives of a two-level system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import primad
import primad.scipy.integrate as mirror
from primad.integrate import solve_ivp

COUPLING = np.array([[0.0, 1.0], [1.0, 0.0]])
START = np.array([0.6 + 0.1j, 0.2 - 0.7j])
TIGHT = {"rtol": 1e-9, "atol": 1e-12}
OPTIONS: dict[str, dict[str, Any]] = {"RK45": TIGHT, "DOP853": TIGHT, "RK4": {"steps": 200}}


def schroedinger(t: Any, state: Any, rate: Any = 1.0) -> Any:
    return -1j * rate * (COUPLING @ state)


def turn(angle: float) -> Any:
    return np.array([[np.cos(angle), -1j * np.sin(angle)], [-1j * np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_scipys_steps(method: str) -> None:
    passes = lambda t, y: y[0].real - 0.3  # noqa: E731
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"t_eval": [0.3, 1.0]},
        {"events": passes},
        {"args": (2.0,), "atol": [1e-6, 1e-3]},
    )
    for options in cases:
        found = solve_ivp(schroedinger, (0.0, 1.0), START, method, **options)
        expected = scipy.integrate.solve_ivp(schroedinger, (0.0, 1.0), START, method, **options)
        assert found.y.dtype == complex
        np.testing.assert_allclose(found.t, expected.t, rtol=1e-12)
        np.testing.assert_allclose(found.y, expected.y, rtol=1e-12)
        if "events" in options:
            np.testing.assert_allclose(found.y_events[0], expected.y_events[0], rtol=1e-9)
    between = solve_ivp(schroedinger, (0.0, 1.0), START, method, dense_output=True, **TIGHT)
    np.testing.assert_allclose(between.sol(0.4), turn(0.4) @ START, rtol=1e-7)


@pytest.mark.parametrize("method", OPTIONS)
def test_derivatives_of_a_two_level_system(method: str) -> None:
    """The probability of the upper level, in the rate (twice) and in the state: ∂f/∂x − i ∂f/∂y."""

    def upper(rate: Any, start: Any) -> Any:
        path = solve_ivp(schroedinger, (0.0, 1.0), start, method, t_eval=[1.0], args=(rate,), **OPTIONS[method])
        return np.abs(path.y[1, -1]) ** 2

    ground = np.array([1.0 + 0j, 0.0])
    assert np.isclose(upper(1.3, ground), np.sin(1.3) ** 2, atol=1e-8)
    slopes = primad.grad(upper, argnums=(0, 1))
    assert np.isclose(slopes(1.3, ground)[0], np.sin(2.6), atol=1e-7)
    if method == "RK4":  # the stages of the others are many, and their derivatives take long to compile
        assert np.isclose(primad.jvp(lambda rate: upper(rate, ground), (1.3,), (1.0,))[1], np.sin(2.6), atol=1e-7)
        assert np.isclose(primad.grad(primad.grad(upper))(1.3, ground), 2 * np.cos(2.6), atol=1e-6)
    found = slopes(1.3, START)[1]
    np.testing.assert_allclose(found, 2 * np.conj((turn(1.3) @ START)[1]) * turn(1.3)[1], atol=1e-7)


def test_slopes_need_not_be_analytic() -> None:
    """y′ = −a ȳ: the real part falls, and the imaginary one grows."""

    def size(rate: Any) -> Any:
        path = mirror.solve_ivp(lambda t, y: -rate * np.conj(y), (0, 1), [1 + 1j], "RK23", t_eval=[1.0], **TIGHT)
        return np.abs(path.y[0, 0]) ** 2

    assert np.isclose(primad.grad(size)(0.5), 2 * np.exp(1.0) - 2 * np.exp(-1.0), atol=1e-6)
    assert np.isclose(primad.jit(primad.grad(size))(0.5), 2 * np.exp(1.0) - 2 * np.exp(-1.0), atol=1e-6)


def test_what_takes_real_values_says_so() -> None:
    with pytest.raises(primad.TracingError, match=r"RODAS4 is for real values(.|\n)*RK45, DOP853, RK4"):
        solve_ivp(schroedinger, (0.0, 1.0), START, "RODAS4")
    with pytest.raises(
        primad.TracingError, match=r"complex numbers for a value of real ones(.|\n)*np.asarray\(y0, complex\)"
    ):
        solve_ivp(schroedinger, (0.0, 1.0), START.real)
