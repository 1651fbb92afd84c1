"""SciPy's elliptic integrals and functions, in terms of Carlson's integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.numpy.elementwise.ufuncs import defined_where, where
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
    """scipy.special.elliprg: Carlson's integral of the second kind, of real numbers."""
    return ops.carlson_second(x, y, z)


def _complete(minor: Any) -> Any:
    return _carlson("f", full(0.0, minor), minor, full(1.0, minor))


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
    return 2.0 * ops.carlson_second(full(0.0, m), 1.0 - m, full(1.0, m))


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

    It is that of two means after some steps, which are near each other: neither their squares nor slopes in these
    overflow. The smaller number counts by its logarithm, in which derivatives have the size of the mean.
    """
    sign, range_of = ops.sign(a + b), np.finfo(a.dtype)
    upwards = full(2.0 ** (3 * range_of.maxexp // 5), a)  # nothing overflows: a slope next to 0 is no subnormal's
    first, second = a * sign, b * sign
    large, small = where(first > second, first, second), where(first > second, second, first)
    none, nothing, endless = large == 0.0, small == 0.0, large == math.inf
    scale = where(large < 2.0 ** (range_of.maxexp // 3), upwards, 1.0)
    large, small = where(none | endless, 1.0, large) * scale, where(nothing | endless, 1.0, small) * scale
    unit = ops.stop_gradient(where(large < math.inf, large, 1.0))
    high, ratio = large / unit, small / unit
    far = ratio < float(range_of.tiny) ** 0.25  # logarithms are long there, and a slope over the ratio may overflow
    below = where(far, ops.log(small) - ops.log(unit), ops.log(where(far, 1.0, ratio)))
    low = where(far, 0.0, ratio)
    for _ in range(MEANS):
        below = 0.5 * (below + ops.log(high))
        high, low = 0.5 * (high + low), ops.exp(below)
    zero, one = full(0.0, a), full(1.0, a)
    found = math.pi / ops.power_integral(zero, high * high, low * low, one, power=0.0, powers=THIRD["f"])
    steep = ops.sqrt(where(nothing, where(first > second, b, a), 1.0))  # it is 0 there, with an infinite slope
    found = where(endless, a + b, sign * found * (unit / scale))
    found = where(none, 0.0, where(nothing, steep, found))
    return defined_where((ops.sign(a) * ops.sign(b) >= 0.0) & (a * b == a * b), found)


MEANS = 8
"""Steps of the arithmetic-geometric mean: log₂ of the logarithm of the ratio of any two doubles, 1457, is 10.5, and e⁶
is a small ratio."""
