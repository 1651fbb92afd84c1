"""Initial value problems of complex numbers: SciPy's steps, and the derivatives of a two-level system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

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


@pytest.mark.one_in(2)
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


FAST = np.array([[-1000.0 + 2j, 1j], [0.5, -1.0 + 3j]])


@pytest.mark.parametrize("method", ["ROS23", "RODAS4"])
def test_stiff_methods_integrate_the_parts(method: str) -> None:
    """y′ = A y and, not analytic, y′ = A y − 5 ȳ, beside the exponential of the matrix of the parts."""
    tight = {"rtol": 1e-5, "atol": 1e-8} if method == "ROS23" else TIGHT
    for pull in (0.0, 5.0):
        slope = lambda t, y, pull=pull: list(FAST @ y - pull * np.conj(y))  # noqa: E731
        of_parts = np.block([[FAST.real, -FAST.imag], [FAST.imag, FAST.real]]) - pull * np.diag([1, 1, -1, -1])
        exact = scipy.linalg.expm(of_parts / 10) @ np.concatenate([START.real, START.imag])
        found = solve_ivp(slope, (0.0, 0.1), list(START), method, dense_output=True, **tight)
        assert found.y.dtype == complex and found.t.size < 2000
        np.testing.assert_allclose(found.y[:, -1], exact[:2] + 1j * exact[2:], rtol=10 * tight["rtol"], atol=1e-6)
        np.testing.assert_allclose(found.sol(0.1), found.y[:, -1])


def test_derivatives_of_stiff_complex_values() -> None:
    """|y₂(t)|² of y′ = r A y, whose derivative in r is that of an exponential; and in the state."""

    def size(rate: Any, start: Any) -> Any:
        path = mirror.solve_ivp(lambda t, y: rate * (FAST @ y), (0, 0.1), start, "BDF", t_eval=[0.1], **TIGHT)
        return np.abs(path.y[1, -1]) ** 2

    last = scipy.linalg.expm(FAST / 10)[1]
    by_rate, by_start = primad.grad(size, argnums=(0, 1))(1.0, START)
    slope = (FAST / 10 @ scipy.linalg.expm(FAST / 10) @ START)[1]
    assert np.isclose(by_rate, 2 * np.real(np.conj(last @ START) * slope), rtol=1e-6)
    np.testing.assert_allclose(by_start, 2 * np.conj(last @ START) * last, rtol=1e-5)


def test_mass_matrices_of_complex_values() -> None:
    """i y₁′ = y₂ and 0 = y₁ + (1 + i) y₂: y₁ turns by a complex rate, and y₂ follows."""
    weights, rate = np.array([[1j, 0], [0, 0]]), 1j / (1 + 1j)
    slope = lambda t, y: np.stack([y[1], y[0] + (1 + 1j) * y[1]])  # noqa: E731
    start = np.array([1.0, -1 / (1 + 1j)])
    found = solve_ivp(slope, (0, 1), start, "RODAS4", t_eval=[1.0], mass=weights, **TIGHT)
    np.testing.assert_allclose(found.y[:, 0], np.exp(rate) * start, rtol=1e-6)
    with pytest.raises(primad.ShapeError, match=r"y0\[1\] = -0.5\+1.5j is off by about 0-1j(.|\n)*begin at about y0"):
        solve_ivp(slope, (0, 1), start + np.array([0, 1j]), "RODAS4", mass=weights)
    with pytest.raises(
        primad.TracingError, match=r"complex mass matrix of real values(.|\n)*np.asarray\(y0, complex\)"
    ):
        solve_ivp(slope, (0, 1), [1.0, 0.0], "RODAS4", mass=weights)


def test_complex_slopes_of_real_values_are_refused() -> None:
    with pytest.raises(
        primad.TracingError, match=r"complex numbers for a value of real ones(.|\n)*np.asarray\(y0, complex\)"
    ):
        solve_ivp(schroedinger, (0.0, 1.0), START.real)
