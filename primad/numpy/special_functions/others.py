"""SciPy's special functions that belong to no family: combinations, degrees, zeta and Lambert functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.numpy.elementwise.rounding import rint
from primad.numpy.elementwise.ufuncs import defined_where, expm1, log, where
from primad.numpy.promotion import any_traced, as_float, convert, harmonize, implements
from primad.numpy.special_functions.families import plain_order
from primad.numpy.special_functions.formulas import formula
from primad.system.deferred import special

__all__ = [
    "comb", "cosdg", "cotdg", "diric", "exp10", "factorial", "gammasgn", "lambertw", "loggamma", "owens_t", "perm",
    "powm1", "radian", "round", "sindg", "tandg", "voigt_profile", "wofz", "zeta", "zetac",
]  # fmt: skip

DEGREE = math.pi / 180.0


@formula(special.loggamma)
def loggamma(z: Any) -> Any:
    """scipy.special.loggamma of real numbers: log Γ(z) for z ≥ 0, else NaN."""
    return defined_where(z >= 0.0, ops.gammaln(z))


@formula(special.gammasgn)
def gammasgn(x: Any) -> Any:
    """scipy.special.gammasgn: the sign of the gamma function, a constant between its poles."""
    odd = ops.floor(x) - 2.0 * ops.floor(0.5 * ops.floor(x))
    return where(x >= 0.0, 1.0, defined_where(ops.floor(x) != x, 1.0 - 2.0 * odd))


@formula(special.powm1)
def powm1(x: Any, y: Any) -> Any:
    """scipy.special.powm1: x**y − 1 of x > 0, without cancellation."""
    return expm1(y * log(x))


@formula(special.exp10)
def exp10(x: Any) -> Any:
    """scipy.special.exp10: 10 to the power x."""
    return ops.power(10.0, x) if x.dtype == np.float64 else ops.exp(x * math.log(10.0))


@formula(special.radian)
def radian(d: Any, m: Any, s: Any) -> Any:
    """scipy.special.radian: degrees, minutes and seconds as an angle in radians."""
    return (d + m * (1.0 / 60.0) + s * (1.0 / 3600.0)) * DEGREE


def _turned(x: Any) -> Any:
    """Return an angle in radians of one in degrees, between −π and π."""
    return (x - 360.0 * rint(x * (1.0 / 360.0))) * DEGREE


@formula(special.sindg)
def sindg(x: Any) -> Any:
    """scipy.special.sindg: the sine of an angle in degrees."""
    return ops.sin(_turned(x))


@formula(special.cosdg)
def cosdg(x: Any) -> Any:
    """scipy.special.cosdg: the cosine of an angle in degrees."""
    return ops.cos(_turned(x))


@formula(special.tandg)
def tandg(x: Any) -> Any:
    """scipy.special.tandg: the tangent of an angle in degrees."""
    return ops.tan(_turned(x))


@formula(special.cotdg)
def cotdg(x: Any) -> Any:
    """scipy.special.cotdg: the cotangent of an angle in degrees."""
    return 1.0 / ops.tan(_turned(x))


@formula(special.round)
def round(x: Any) -> Any:
    """scipy.special.round: the nearest integer; a half becomes even. Its derivative is 0."""
    return rint(x)


@implements(special.diric)
def diric(x: Any, n: int) -> Any:
    """scipy.special.diric: sin(nx/2)/(n·sin(x/2)) for one plain n, a Chebyshev polynomial of cos(x/2), smooth at 0."""
    order = plain_order("diric", n, 1, whole=True)
    return ops.member(ops.cos(0.5 * as_float(x)), of="chebyu", p=(order - 1,)) * (1.0 / order)


def _not_half(*values: Any, dtype: Any = np.float32) -> list[Any]:
    """Return values of half precision in a dtype of which SciPy has a loop, and others as they are."""
    return [convert(x, np.dtype(dtype)) if x.dtype == np.float16 else x for x in values]


def _inexact(name: str, exact: bool) -> None:
    if exact:
        raise TracingError(f"scipy.special.{name} with exact=True of traced values", fix="exact=False gives floats.")


@implements(special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """scipy.special.comb: the number of choices of k from N, of real numbers as `binom`; 0 where there is none."""
    _inexact("comb", exact)
    N, k = _not_half(*harmonize("comb", N, k, floats=True))
    N = N + k - 1.0 if repetition else N
    possible = (k <= N) & (N >= 0.0) & (k >= 0.0)
    return where(possible, ops.binom(where(possible, N, 1.0), where(possible, k, 1.0)), 0.0)


@implements(special.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """scipy.special.perm: the number of ordered choices of k from N, of real numbers; 0 where there is none."""
    _inexact("perm", exact)
    N, k = _not_half(*harmonize("perm", N, k, floats=True))
    possible = (k <= N) & (N >= 0.0) & (k >= 0.0)
    return where(possible, ops.poch(where(possible, N - k + 1.0, 1.0), where(possible, k, 1.0)), 0.0)


@implements(special.factorial)
def factorial(n: Any, exact: bool = False) -> Any:
    """scipy.special.factorial: Γ(n + 1), float64 of arrays of every dtype; 0 for negative n."""
    _inexact("factorial", exact)
    n = convert(as_float(n), np.dtype(np.float64))
    return where(n < 0.0, 0.0, ops.gamma(where(n < 0.0, 1.0, n + 1.0)))


@implements(special.zeta)
def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """scipy.special.zeta: the zeta functions of Riemann and Hurwitz, differentiable in both arguments for x > 0.

    That of two arguments, as SciPy's, has values for x ≥ 1 only.

    Example:
        >>> import primad
        >>> float(np.round(primad.grad(primad.numpy.special.zeta)(2.0), 12))
        -0.937548254316
    """
    if out is not None:
        raise TracingError("scipy.special.zeta with out= of traced values", fix="leave it out.")
    both = harmonize("zeta", x, 1.0 if q is None else q, floats=True)
    return ops.hurwitz(*_not_half(*both, dtype=np.float64 if q is None else np.float32), n=0)


@formula(special.zetac)
def zetac(x: Any) -> Any:
    """scipy.special.zetac: Riemann's zeta function less 1, ζ(x, 2); its derivatives are known for x > 0."""
    return ops.hurwitz(x, 2.0 + 0.0 * x, n=0)


@formula(special.owens_t)
def owens_t(h: Any, a: Any) -> Any:
    """scipy.special.owens_t: Owen's T function, of the bivariate normal distribution."""
    return ops.owens_t(h, a)


@implements(special.lambertw)
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """scipy.special.lambertw for one plain branch k: Lambert's function, a complex number.

    Raises:
        TracingError: for a traced branch.

    Example:
        >>> import primad
        >>> from primad.scipy import special
        >>> float(np.round(primad.grad(lambda x: special.lambertw(x).real)(1.0), 12))
        0.361896256635
    """
    if any_traced([tol]):
        raise TracingError("scipy.special.lambertw of a traced tolerance", fix="pass a plain number.")
    return ops.lambertw(convert(_complex(z), np.dtype(np.complex128)), k=plain_order("lambertw", k, whole=True))


def _complex(z: Any) -> Any:
    """Return complex numbers, of real ones those of 128 bits, as SciPy's function does."""
    if z.dtype.kind == "c":
        return z
    z = convert(as_float(z), np.dtype(np.float64))
    return ops.complex_of(z, np.zeros(z.shape, z.dtype))


@implements(special.wofz, ufunc=True)
def wofz(z: Any, /) -> Any:
    """scipy.special.wofz: the Faddeeva function exp(−z²)·erfc(−iz), a complex number."""
    z = _complex(z)
    turned = ops.complex_of(ops.imaginary_part(z), -ops.real_part(z))  # −iz, without ∞ times 0
    return ops.scaled_erfc(turned, n=0)


@formula(special.voigt_profile)
def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """scipy.special.voigt_profile: the convolution of a normal and a Cauchy density, of sigma > 0."""
    scale = sigma * math.sqrt(2.0)
    found = ops.real_part(ops.scaled_erfc(ops.complex_of(gamma / scale, -x / scale), n=0))
    return found / (sigma * math.sqrt(2.0 * math.pi))
