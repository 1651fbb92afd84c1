"""First and second derivatives of functions of complex numbers, at tiny, huge and nearly singular ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import primad

DIGITS = 700
"""Of mpmath: as many as a sum of 1 and the square of the smallest number has."""
SIZES = (1e-300, 1e-160, 1e-20, 1e-8, 1e-3, 0.5, 1.0, 2.0, 30.0, 600.0, 1e8, 1e30, 1e154, 1e160, 1e200, 1e300)
DIRECTIONS = (1 + 1j, 1 - 1j, -1 + 1j, -1 - 0.3j, 1 + 1e-10j, 1e-10 + 1j, -1e-12 + 1j, -1 + 1e-12j)
NEAR = (1 + 1e-9j, 1 - 1e-9j, -1 + 1e-9j, 1e-9 + 1j, -1e-200 + 1j, 1e-9 - 1j, 1e300 + 3j, 3 + 1e300j, -1e300 + 1e-300j)
POINTS = np.array([complex(r * d.real, r * d.imag) for r in SIZES for d in DIRECTIONS] + list(NEAR))


def _leg(z: Any) -> Any:
    return mp.sqrt(1 - z) * mp.sqrt(1 + z)


def _side(z: Any) -> Any:
    return mp.sqrt(z - 1) * mp.sqrt(z + 1)


SLOPES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sqrt": (lambda z: 1 / (2 * mp.sqrt(z)), lambda z: -1 / (4 * z * mp.sqrt(z))),
    "log": (lambda z: 1 / z, lambda z: -1 / z**2),
    "log2": (lambda z: 1 / (z * mp.ln2), lambda z: -1 / (z**2 * mp.ln2)),
    "log10": (lambda z: 1 / (z * mp.ln10), lambda z: -1 / (z**2 * mp.ln10)),
    "log1p": (lambda z: 1 / (1 + z), lambda z: -1 / (1 + z) ** 2),
    "reciprocal": (lambda z: -1 / z**2, lambda z: 2 / z**3),
    "exp": (mp.exp, mp.exp),
    "expm1": (mp.exp, mp.exp),
    "sin": (mp.cos, lambda z: -mp.sin(z)),
    "cos": (lambda z: -mp.sin(z), lambda z: -mp.cos(z)),
    "tan": (lambda z: mp.sec(z) ** 2, lambda z: 2 * mp.tan(z) * mp.sec(z) ** 2),
    "sinh": (mp.cosh, mp.sinh),
    "cosh": (mp.sinh, mp.cosh),
    "tanh": (lambda z: mp.sech(z) ** 2, lambda z: -2 * mp.tanh(z) * mp.sech(z) ** 2),
    "arcsin": (lambda z: 1 / _leg(z), lambda z: z / _leg(z) ** 3),
    "arccos": (lambda z: -1 / _leg(z), lambda z: -z / _leg(z) ** 3),
    "arctan": (lambda z: 1 / (1 + z * z), lambda z: -2 * z / (1 + z * z) ** 2),
    "arcsinh": (lambda z: 1 / _leg(1j * z), lambda z: -z / _leg(1j * z) ** 3),
    "arccosh": (lambda z: 1 / _side(z), lambda z: -z / _side(z) ** 3),
    "arctanh": (lambda z: 1 / (1 - z * z), lambda z: 2 * z / (1 - z * z) ** 2),
}
"""First and second derivatives, in numbers of so many digits that their cancellation does not matter."""


def _exact(function: Callable[[Any], Any], z: complex) -> complex:
    """Return a value in double precision, NaN where it overflows."""
    with mp.workdps(DIGITS if abs(z) < 1e100 else 60):
        try:
            found = function(mp.mpc(z.real, z.imag))
        except (ValueError, OverflowError, ZeroDivisionError):
            return complex(np.nan)
        return complex(found) if mp.fabs(found) < 1e308 else complex(np.nan)


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SLOPES)
def test_derivatives_neither_overflow_nor_cancel(name: str) -> None:
    """They are right to some units of the last place of their size, wherever that is a number."""
    function = getattr(np, name)

    def slope(z: Any) -> Any:
        return primad.jvp(function, (z,), (np.ones_like(z),))[1]

    points = POINTS[np.abs(POINTS) < 1e10] if name in ("sin", "cos", "tan", "sinh", "cosh", "tanh") else POINTS
    run = primad.jit(lambda z: (slope(z), primad.jvp(slope, (z,), (np.ones_like(z),))[1]), backend="reference")
    for found, exact in zip(run(points), SLOPES[name], strict=True):
        expected = np.array([_exact(exact, z) for z in points])
        known = np.isfinite(expected)
        assert known.sum() > len(points) // 3
        error = np.abs(found - expected)[known]
        smallest = 8 * np.finfo(float).smallest_subnormal
        worst = int(np.argmax(np.where(np.isnan(error), np.inf, error / (np.abs(expected[known]) + 1e-300))))
        assert np.all(error <= 1e-13 * np.abs(expected[known]) + smallest), points[known][worst]
