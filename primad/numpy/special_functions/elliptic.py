"""SciPy's elliptic integrals and functions, in terms of Carlson's integrals."""

from __future__ import annotations

import math
from typing import Any

from primad import ops
from primad.numpy.elementwise.ufuncs import absolute, defined_where, where
from primad.numpy.special_functions.formulas import formula
from primad.ops.record.primitive import full
from primad.ops.special.elliptic import squares
from primad.system.deferred import special

__all__ = [
    "agm", "ellipe", "ellipeinc", "ellipj", "ellipk", "ellipkinc", "ellipkm1", "elliprc", "elliprd", "elliprf",
    "elliprg", "elliprj",
]  # fmt: skip

THIRD = {"f": (0.5, 0.5, 0.5, 0.0), "d": (0.5, 0.5, 1.5, 0.0), "j": (0.5, 0.5, 0.5, 1.0), "c": (0.5, 1.0, 0.0, 0.0)}
"""The powers of Carlson's integrals (DLMF 19.16)."""


def _carlson(kind: str, *operands: Any) -> Any:
    padded = (*operands, *[full(1.0, operands[0])] * (4 - len(operands)))
    factor = 0.5 if kind in "fc" else 1.5
    return factor * ops.power_integral(*padded, power=0.0, powers=THIRD[kind])


@formula(special.elliprf)
def elliprf(x: Any, y: Any, z: Any) -> Any:
    """scipy.special.elliprf: Carlson's integral of the first kind, of real numbers."""
    return _carlson("f", x, y, z)


@formula(special.elliprd)
def elliprd(x: Any, y: Any, z: Any) -> Any:
    """scipy.special.elliprd: Carlson's degenerate integral of the third kind, of real numbers."""
    return _carlson("d", x, y, z)


@formula(special.elliprj)
def elliprj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """scipy.special.elliprj: Carlson's integral of the third kind, of real numbers; differentiable for p > 0."""
    return _carlson("j", x, y, z, p)


@formula(special.elliprc)
def elliprc(x: Any, y: Any) -> Any:
    """scipy.special.elliprc: Carlson's degenerate integral, of real numbers; differentiable for y > 0."""
    return _carlson("c", x, y)


@formula(special.elliprg)
def elliprg(x: Any, y: Any, z: Any) -> Any:
    """scipy.special.elliprg: Carlson's integral of the second kind, of real numbers (DLMF 19.23.7)."""
    total, one = [], full(1.0, x)
    for a, b, c in ((x, y, z), (y, z, x), (z, x, y)):
        found = ops.power_integral(where(a == 0.0, 1.0, a), b, c, one, power=1.0, powers=(1.5, 0.5, 0.5, 0.0))
        total.append(where(a == 0.0, 0.0, a * found))
    return 0.25 * (total[0] + total[1] + total[2])


def _complete(minor: Any) -> Any:
    return _carlson("f", full(0.0, minor), minor, full(1.0, minor))


def _complete_second(minor: Any) -> Any:
    """Return E: twice the integral of the second kind of 0, 1 − m and 1, whose first term is none.

    Of 1 − m > 1 it is √(1 − m) times that of the inverse (DLMF 19.7.2): products with derivatives overflow at neither.
    """
    large = minor > 1.0
    above, minor = where(large, minor, 1.0), where(large, 1.0 / where(large, minor, 1.0), minor)
    one, zero = full(1.0, minor), full(0.0, minor)
    powers, positive = (1.5, 0.5, 0.5, 0.0), where(minor == 0.0, 1.0, minor)
    of_minor = ops.power_integral(positive, zero, one, one, power=1.0, powers=powers)
    of_one = ops.power_integral(one, zero, minor, one, power=1.0, powers=powers)
    return 0.5 * ops.sqrt(above) * (where(minor == 0.0, 0.0, minor * of_minor) + of_one)


@formula(special.ellipk)
def ellipk(m: Any) -> Any:
    """scipy.special.ellipk: the complete elliptic integral of the first kind, of the parameter m = k².

    Example:
        >>> import primad
        >>> float(round(primad.grad(primad.numpy.special.ellipk)(0.0), 12))
        0.392699081699
    """
    return _complete(1.0 - m)


@formula(special.ellipkm1)
def ellipkm1(p: Any) -> Any:
    """scipy.special.ellipkm1: the complete elliptic integral of the first kind near m = 1, of p = 1 − m."""
    return _complete(p)


@formula(special.ellipe)
def ellipe(m: Any) -> Any:
    """scipy.special.ellipe: the complete elliptic integral of the second kind, of the parameter m = k²."""
    return _complete_second(1.0 - m)


@formula(special.ellipkinc)
def ellipkinc(phi: Any, m: Any) -> Any:
    """scipy.special.ellipkinc: the incomplete elliptic integral of the first kind, of the parameter m = k²."""
    return ops.legendre_integral(phi, m, n=0, power=0.5)


@formula(special.ellipeinc)
def ellipeinc(phi: Any, m: Any) -> Any:
    """scipy.special.ellipeinc: the incomplete elliptic integral of the second kind, of the parameter m = k²."""
    return ops.legendre_integral(phi, m, n=0, power=-0.5)


@formula(special.ellipj)
def ellipj(u: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """scipy.special.ellipj: Jacobi's elliptic functions sn, cn, dn and the amplitude, for 0 ≤ m ≤ 1."""
    amplitude = ops.jacobi_amplitude(u, m)
    sn, cn = ops.sin(amplitude), ops.cos(amplitude)
    return sn, cn, ops.sqrt(squares(amplitude, m)[1]), amplitude


@formula(special.agm)
def agm(a: Any, b: Any) -> Any:
    """scipy.special.agm: the arithmetic-geometric mean of numbers of one sign (DLMF 19.8.6).

    It is that of two means after three steps, whose squares neither overflow nor vanish. The smaller number counts by
    its logarithm, in which derivatives have the size of the mean.
    """
    large, small = absolute(a), absolute(b)
    large, small = where(large > small, large, small), where(large > small, small, large)
    unit = ops.stop_gradient(where((large == 0.0) | ~(large < math.inf), 1.0, large))
    high, ratio = large / unit, small / unit
    far = ratio < FAR
    below = where(far, ops.log(small) - ops.log(unit), ops.log(where(far, 1.0, ratio)))
    low = where(far, 0.0, ratio)
    for _ in range(3):
        below = 0.5 * (below + ops.log(high))
        high, low = 0.5 * (high + low), ops.exp(below)
    zero, one = full(0.0, a), full(1.0, a)
    found = math.pi / ops.power_integral(zero, high * high, low * low, one, power=0.0, powers=THIRD["f"])
    return defined_where(a * b >= 0.0, ops.sign(a + b) * found * unit)


FAR = 1e-290
"""Below it a ratio may have lost digits. Derived from the least normal number of 64 bits."""
