"""Special functions as vectors: how accurate they are, at their zeros, poles and ends too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import mpmath as m
import numpy as np
import pytest
import scipy.special

from primad import ops
from primad.native.emit.pointwise import POINTWISE
from primad.native.llvm import compiler as native
from primad.native.llvm import vectors
from primad.native.special import bessel_fits, fits
from primad.ops.record.primitive import Primitive
from tests.accuracy import stored
from tests.accuracy.errors import EPS, ULPS, errors, found
from tests.native.emit.test_kernels import ulps
from tests.native.emit.test_vector_math import WIDTHS, applied
from tests.native.special.fits import WANTED, fitted

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
TABLES = stored.read()
ENDS = [0.0, -0.0, math.inf, -math.inf, math.nan, -1.0, -3.0, 1.0, 2.0, -1e17, 1e17, 1e308, -1e308, 0.5]
SMALLER_ENDS = [x for x in ENDS if abs(x) != 1e308]
"""Those of functions that SciPy has no value of elsewhere."""
ENDS_OF_SLOPES = [x for x in ENDS if x != 2.0]
"""Those where differences of SciPy's functions are not 9 ulp off."""


class Entry(NamedTuple):
    """A function, where it is asked for, within how many ulps it is (`conditioned`: times its condition), and ends."""

    op: Primitive
    params: dict[str, Any]
    exact: Callable[[Any], Any]
    points: Callable[[np.random.Generator], list[Any]]
    most: float
    conditioned: bool = False
    ends: Sequence[float] = ENDS


def _psi_points(rng: np.random.Generator) -> list[Any]:
    root = 1.4616321449683623
    return [10 ** rng.uniform(-18, 8, 60), rng.uniform(0, 12, 120), root * (1 + 10 ** rng.uniform(-15, -3, 20)), [root]]


def _gamma_points(rng: np.random.Generator) -> list[Any]:
    """Return positive points, and what is close to the zeros and to where formulas change."""
    near = np.multiply.outer((1.0, -1.0), 10 ** rng.uniform(-15, -1, 20))
    return [10 ** rng.uniform(-18, 8, 60), rng.uniform(0, 12, 80), *(1 + near), *(2 + near), *(3 + near)]


def _reflected_points(rng: np.random.Generator) -> list[Any]:
    """Return negative points, and what is close to poles and to zeros beside them."""
    zeros = (-2.4570247382208, -2.7476826467274, -3.1435808883499)
    near = [at + 10 ** rng.uniform(-15, -1, 10) for at in (*zeros, *range(-6, 0))]
    return [-(10 ** rng.uniform(-18, 8, 40)), rng.uniform(-4, 0, 80), rng.uniform(-40, -4, 30), *near]


def _of_both_signs(largest: float, digits: float) -> Callable[[np.random.Generator], list[Any]]:
    """Return points up to a size, and small ones."""

    def points(rng: np.random.Generator) -> list[Any]:
        x = np.append(rng.uniform(0, largest, 80), 10 ** rng.uniform(-digits, math.log10(largest), 60))
        return [x, -x]

    return points


def _chances(low: float, high: float) -> Callable[[np.random.Generator], list[Any]]:
    """Return points between two numbers, and close to both and to their middle."""

    def points(rng: np.random.Generator) -> list[Any]:
        small = 10 ** np.append(rng.uniform(-8, -1, 60), rng.uniform(-300 if low == 0 else -8, -8, 30))
        middle = (low + high) / 2 + np.append(small, -small)
        return [rng.uniform(low, high, 90), low + small, np.nextafter(high - small, low), middle]

    return points


def _bessel_points(n: int, zero_of: Callable[..., Any] = m.besseljzero) -> Callable[[np.random.Generator], list[Any]]:
    """Return points, and what is close to zeros."""

    def points(rng: np.random.Generator) -> list[Any]:
        zeros = np.array([float(zero_of(n, k)) for k in (1, 2, 3, 9)])
        near = np.multiply.outer(1 + 10 ** rng.uniform(-15, -3, 8), zeros).ravel()
        x = np.concatenate(
            [rng.uniform(0, 12, 80), 10 ** rng.uniform(-30, 6, 50), zeros, near, [5, np.nextafter(5, 6)]]
        )
        return [x, -x]

    return points


def _modified_points(largest: float, both: bool) -> Callable[[np.random.Generator], list[Any]]:
    """Return points up to a size, and what is close to where formulas change."""

    def points(rng: np.random.Generator) -> list[Any]:
        near = np.array([2, np.nextafter(2, 3), 8, np.nextafter(8, 9)])
        x = np.concatenate([rng.uniform(0, 12, 24), 10 ** rng.uniform(-12, math.log10(largest), 16), near])
        return [x, -x] if both else [x]

    return points


def _modified(kind: str, n: int, power: int = 0) -> Callable[[Any], Any]:
    return lambda x: getattr(m, f"bessel{kind}")(n, x) * m.exp(power * abs(x))


def _slope(kind: str, n: int, x: Any) -> Any:
    """Return the derivative of exp(∓x) times a modified Bessel function, x > 0 (DLMF 10.29.1 and 10.29.3)."""
    function, sign = getattr(m, f"bessel{kind}"), 1 if kind == "i" else -1
    mean = (function(abs(n - 1), x) + function(n + 1, x)) / 2
    return sign * m.exp(-sign * x) * (mean - function(n, x))


def _inverse(x: Any) -> Any:
    """Return the number at which erfc is x."""
    if x > 0.5:
        return -_inverse(2 - x) if x > 1.5 else m.erfinv(1 - x)
    found = m.sqrt(-m.log(x))
    for _ in range(12):
        value = m.erfc(found)
        found += m.log(value / x) * value * m.sqrt(m.pi) / 2 * m.exp(found * found)
    return found


def _log_gamma(x: Any) -> Any:
    return m.re(m.loggamma(x))


ENTRIES: dict[str, Entry] = {
    "digamma": Entry(ops.polygamma, {"n": 0}, partial(m.psi, 0), _psi_points, 8),
    "gammaln": Entry(ops.gammaln, {}, _log_gamma, _gamma_points, 6),
    "gammaln reflected": Entry(ops.gammaln, {}, _log_gamma, _reflected_points, 6, conditioned=True),
    "erfcx": Entry(ops.scaled_erfc, {"n": 0}, lambda x: m.exp(x * x) * m.erfc(x), _of_both_signs(26.0, 30.0), 6),
    "ndtr": Entry(ops.ndtr, {}, lambda x: m.erfc(-x / m.sqrt(2)) / 2, _of_both_signs(37.0, 30.0), 6),
    "erfinv": Entry(ops.erfinv, {}, lambda x: m.erfinv(x) if abs(x) < 0.5 else _inverse(1 - x), _chances(-1, 1), 6),
    "erfcinv": Entry(ops.erfcinv, {}, _inverse, _chances(0, 2), 6),
    "ndtri": Entry(ops.ndtri, {}, lambda p: -m.sqrt(2) * _inverse(2 * p), _chances(0, 1), 8),
    **{
        f"{kind}{n}": Entry(op, {"n": n}, _modified(kind, n), _modified_points(85.0, kind == "i"), 6, conditioned=True)
        for kind, op in (("i", ops.bessel_i), ("k", ops.bessel_k))
        for n in (0, 1)
    },
    "i2": Entry(ops.bessel_i, {"n": 2}, _modified("i", 2), _modified_points(85.0, True), 6, True, SMALLER_ENDS),
    "k2": Entry(ops.bessel_k, {"n": 2}, _modified("k", 2), _modified_points(85.0, False), 6, conditioned=True),
    **{
        f"{kind}{n}e": Entry(
            ops.member, {"of": f"{kind}ve", "p": (n,)}, _modified(kind, n, power), _modified_points(1e5, power < 0), 8
        )
        for kind, power in (("i", -1), ("k", 1))
        for n in (0, 1)
    },
    **{
        f"{kind}{n}e slope": Entry(
            ops.member,
            {"of": f"{kind}ve_slope", "p": (n, 1)},
            partial(_slope, kind, n),
            _modified_points(1e3, False),
            24,
            True,
            ENDS_OF_SLOPES,
        )
        for kind in "ik"
        for n in (0, 1)
    },
    "j0": Entry(ops.bessel_j, {"n": 0}, partial(m.besselj, 0), _bessel_points(0), 8, conditioned=True),
    "j1": Entry(ops.bessel_j, {"n": 1}, partial(m.besselj, 1), _bessel_points(1), 8, conditioned=True),
    "j2": Entry(ops.bessel_j, {"n": 2}, partial(m.besselj, 2), _bessel_points(2), 8, conditioned=True),
    **{
        f"y{n}": Entry(
            ops.bessel_y, {"n": n}, partial(m.bessely, n), _bessel_points(n, m.besselyzero), 8, conditioned=True
        )
        for n in (0, 1, 2)
    },
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_functions_are_accurate_and_as_numpys_at_ends(name: str, dtype: Any, monkeypatch: Any) -> None:
    """In vectors of all widths, which differ by the C library's functions for them."""
    entry = ENTRIES[name]
    x = np.concatenate(entry.points(np.random.default_rng(31))).astype(dtype)
    with np.errstate(all="ignore"):
        ends = np.array(entry.ends, dtype)
        want = entry.op.numpy(ends, **entry.params)
        x = x[np.isfinite(entry.op.numpy(x, **entry.params)) & (x != 0)]

    def computed() -> Any:
        return applied(lambda v, values: POINTWISE[entry.op].emit(v, *values, **entry.params), np.append(x, ends))

    values = computed()
    np.testing.assert_allclose(values[x.size :], want, rtol=16 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(values[x.size :][want == 0]), np.signbit(want[want == 0]))
    wide = []
    for width in WIDTHS:
        monkeypatch.setattr(vectors, "WIDTH_BYTES", width)
        wide.append(computed())
    with m.workdps(40):
        for a, *several in zip(map(m.mpf, x.tolist()), values, *wide, strict=False):
            exact = entry.exact(a)
            condition = 1 + abs(float(a * m.diff(entry.exact, a) / exact)) if entry.conditioned else 1
            assert max(ulps(value, exact, dtype) for value in {*several}) <= entry.most * condition, float(a)


@pytest.mark.parametrize("name", sorted(ENTRIES.keys() & TABLES.keys()))
def test_functions_are_as_right_as_the_page_says(name: str) -> None:
    """At the stored points of the whole domain: tiny, subnormal and huge ones, beside poles, of both signs."""
    entry, table = ENTRIES[name], TABLES[name]
    own = applied(lambda v, values: POINTWISE[entry.op].emit(v, *values, **entry.params), table.at[:, 0])
    sizes = [errors(y, table.exact[:, 0], table.conditions[:, 0]) for y in (own, found(name, table, scipy.special))]
    worse = sizes[0] > np.fmax(ULPS * EPS, sizes[1])
    assert not worse.any(), table.at[worse]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("module", [fits, bessel_fits], ids=["fits", "bessel_fits"])
def test_polynomials_are_of_what_they_stand_for(module: Any) -> None:
    wanted = WANTED[module.__name__.rpartition(".")[2]]
    tables = {name: (table.low, table.high) for name, table in vars(module).items() if isinstance(table, fits.Fit)}
    assert tables == {name: (each.low, each.high) for name, each in wanted.items()}
    for name, each in wanted.items():
        assert getattr(module, name).numbers == fitted(each), name
