"""Integrals over parts, between points where the integrand has kinks or jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import primad
from primad.integrate import quad


@pytest.mark.parametrize(
    ("points", "a", "b"), [([0.3], 0.0, 1.0), ([0.7, 0.3, 5.0], 1.0, 0.0), ([], -1.0, 1.0), ((0.3, 0.3), 0.0, np.inf)]
)
def test_integrals_over_parts_are_scipys(points: Any, a: float, b: float) -> None:
    def f(x: Any) -> Any:
        return np.abs(x - 0.3) * np.exp(-x * x)

    value, error = quad(f, a, b, points=points)
    assert value == pytest.approx(scipy.integrate.quad(f, a, b)[0], rel=1e-7) and error <= 1.49e-8 * (1 + len(points))


def test_a_jump_may_move() -> None:
    """Of 1 before p and 2 behind it, the integral over [0, b] is 2 b − p, and its derivative sees the jump."""

    def f(p: Any, b: Any) -> Any:
        return quad(lambda x: np.where(x < p, 1.0, 2.0), 0.0, b, points=[p])[0]

    assert primad.value_and_grad(f, (0, 1))(0.3, 1.0) == (pytest.approx(1.7), (-1.0, 2.0))


def test_options_that_only_scipy_has_are_refused() -> None:
    for name, way in {"weight": "multiply func", "full_output": "estimate of its error", "depth": "pass none"}.items():
        with pytest.raises(primad.TracingError, match=f"quad: there is no option '{name}'(?s:.)*{way}"):
            quad(np.cos, 0.0, 1.0, **{name: 1})


def test_as_many_intervals_are_used_as_are_allowed_and_all_of_them_are_counted() -> None:
    def f(x: Any) -> Any:
        return np.exp(-30.0 * np.abs(x - 0.9))

    exact = (2.0 - np.exp(-27.0) - np.exp(-3.0)) / 30.0
    for limit in range(1, 6):
        with pytest.raises(primad.PrimadError, match=f"after {limit} intervals"):
            quad(f, 0.0, 1.0, epsabs=2e-5, epsrel=0.0, limit=limit)
    assert quad(f, 0.0, 1.0, epsabs=3e-5, epsrel=0.0, limit=6)[0] == pytest.approx(exact, abs=3e-5)


@pytest.mark.parametrize("a, b", [(0.0, 1.0), (1.0, 0.0)])
def test_points_at_the_ends_divide_nothing(a: float, b: float) -> None:
    """A part without a length would have the integrand's value at the end alone, here infinite."""
    found, _ = quad(lambda x: 1 / np.sqrt(x), a, b, points=[0.0, 0.25, 1.0])
    assert found == pytest.approx(2 * (b - a), abs=1e-8)
