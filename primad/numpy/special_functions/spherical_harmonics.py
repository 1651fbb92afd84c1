"""Spherical harmonics, by Gegenbauer's polynomials (DLMF 14.30.1, 14.7.10 and 18.11.1)."""

from __future__ import annotations

import math
from typing import Any

from primad import ops
from primad.errors import NotDifferentiableError
from primad.numpy.promotion import harmonize, implements
from primad.numpy.special_functions.families import plain_order
from primad.system.deferred import special

__all__ = ["sph_harm_y"]


def _of_polar_angle(theta: Any, n: int, m: int) -> Any:
    """Return the harmonic at angle 0 around the axis: (sin θ)^|m| times a polynomial of cos θ, 0 where |m| > n."""
    size = abs(m)
    if size > n:
        return 0.0 * theta
    share = math.lgamma(n - size + 1) - math.lgamma(n + size + 1)
    double_factorial = size * math.log(2.0) + math.lgamma(size + 0.5) - 0.5 * math.log(math.pi)
    factor = math.exp(0.5 * (math.log((2 * n + 1) / (4.0 * math.pi)) + share) + double_factorial)
    sign = -1.0 if m > 0 and m % 2 else 1.0
    polynomial = ops.member(ops.cos(theta), of="gegenbauer", p=(n - size, size + 0.5))
    return sign * factor * ops.power(ops.sin(theta), size) * polynomial


@implements(special.sph_harm_y)
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """scipy.special.sph_harm_y for one plain n and m: a spherical harmonic, of a polar angle 0 ≤ theta ≤ π and of phi.

    It is smooth at the poles.

    Example:
        >>> import primad
        >>> from primad.scipy.special import sph_harm_y
        >>> float(round(primad.grad(lambda theta: sph_harm_y(1, 0, theta, 0.3).real)(0.5), 6))
        -0.234249
    """
    if diff_n:
        raise NotDifferentiableError(
            f"scipy.special.sph_harm_y: diff_n={diff_n} on traced arrays",
            fix="leave it out: primad.derivative has them.",
        )
    n, m = plain_order("sph_harm_y", n, 0, whole=True), plain_order("sph_harm_y", m, whole=True)
    theta, phi = harmonize("sph_harm_y", theta, phi, floats=True)
    size = _of_polar_angle(theta, n, m)
    return ops.complex_of(size * ops.cos(m * phi), size * ops.sin(m * phi))
