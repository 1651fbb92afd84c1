"""Spherical harmonics against SciPy, and what they do at the poles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import primad
import primad.scipy.special as recorded

THETA, PHI = np.array([0.0, 0.4, 1.9, np.pi]), np.array([0.2, 5.0, 3.0, 1.0])


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 1), (1, -1), (3, -2), (4, 3), (2, 3), (90, -41)])
def test_values_and_derivatives_are_scipys(n: int, m: int) -> None:
    def harmonic(t: Any, p: Any) -> Any:
        return recorded.sph_harm_y(n, m, t, p)

    expected = special.sph_harm_y(n, m, THETA, PHI)
    np.testing.assert_allclose(primad.jit(harmonic)(THETA, PHI), expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(harmonic(THETA, PHI), expected)
    slopes = special.sph_harm_y(n, m, THETA[1:3], PHI[1:3], diff_n=1)[1]
    for which in (0, 1):
        along = tuple(np.full(2, float(which == k)) for k in (0, 1))
        found = primad.jvp(harmonic, (THETA[1:3], PHI[1:3]), along)[1]
        np.testing.assert_allclose(found, slopes[..., which], rtol=1e-9, atol=1e-12)


def test_an_expansion_is_differentiated_at_the_pole_too() -> None:
    """The part of order 1 is a smooth function of position, whose slope along the meridian is not 0 at the pole."""

    def value(theta: Any) -> Any:
        return sum(recorded.sph_harm_y(n, 1, theta, 0.3).real for n in (1, 2))

    exact = [-np.cos(0.3) * c for c in (np.sqrt(3 / (8 * np.pi)), np.sqrt(15 / (8 * np.pi)))]
    np.testing.assert_allclose(primad.grad(value)(0.0), sum(exact), rtol=1e-14)


def test_options_that_are_not_recorded_say_so() -> None:
    for call, said in (
        (lambda t: recorded.sph_harm_y(1, 1, t, t, diff_n=1)[0].real, "primad.derivative"),
        (lambda t: recorded.sph_harm_y(t, 1, 0.2, 0.3).real, "traced order"),
    ):
        with pytest.raises(primad.PrimadError, match=said):
            primad.grad(call)(0.4)
