"""Tails of distributions as far out as numbers go: by integrals of their densities, all terms in logarithms."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import digamma

import primad
import primad.scipy.stats as stats
from primad.scipy.stats.tails import log1p_ratio
from tests.scipy.test_stats import NAMES, SHAPES

OUTWARDS = np.array([5.0, 30.0, 800.0, 1e5, 1e20, 1e120])
INWARDS = np.array([1e-3, 1e-20, 1e-120, 1e-250])
STEP = 0.05
"""Of the trapezoid rule, in the logarithm of a distance: integrands are analytic there, and 0 at both ends."""
CONTINUOUS = [name for name in NAMES if not getattr(stats, name).discrete and "cdf" in getattr(stats, name).functions]


def ends(name: str) -> tuple[float, float]:
    """Return the support of the standard form."""
    ours, shapes = getattr(stats, name), SHAPES.get(name, ())
    low, high = primad.jit(lambda one: [one * end for end in ours.support(*[s * one for s in shapes])])(1.0)
    return float(low), float(high)


def places(low: float, high: float) -> Any:
    """Return points near both ends, at which the distance from an end is a number with all its digits."""
    far = OUTWARDS + (low if low > -math.inf else 0.0) if high == math.inf else []
    near = low + INWARDS if low > -math.inf else []
    back = (high if high < math.inf else 0.0) - OUTWARDS if low == -math.inf else []
    found = np.unique(np.concatenate([far, near, back]))
    return found[(found > low) & (found < high)]


def integral(density: Any, z: Any, upper: bool, low: float, high: float) -> Any:
    """Return the logarithm of the integral of exp(density) beyond each z."""
    if (high if upper else low) in (math.inf, -math.inf):
        u = np.arange(-690.0, 690.0, STEP)
        t, log_weight = z[:, None] + np.exp(u) * (1.0 if upper else -1.0), u + 0.0 * z[:, None]
    else:
        u = np.arange(-690.0, 40.0, STEP)
        part, end = -np.logaddexp(0.0, -u), high if upper else low
        t = end + (z[:, None] - end) * np.exp(part)
        log_weight = np.log(np.abs(z[:, None] - end)) + part - np.logaddexp(0.0, u)
    inside = (t > low) & (t < high)
    terms = np.where(inside, density(np.where(inside, t, z[:, None])) + log_weight, -math.inf)
    most = np.maximum(np.max(terms, axis=1, keepdims=True), np.finfo(float).min)
    return most[:, 0] + np.log(np.sum(np.exp(terms - most), axis=1)) + math.log(STEP)


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CONTINUOUS)
def test_logarithms_of_tails_are_those_of_integrals(name: str) -> None:
    """Both tails and their slopes, of which one is below all numbers and the other one next to the whole."""
    ours, shapes, (low, high) = getattr(stats, name), SHAPES.get(name, ()), ends(name)
    z = places(low, high)

    def density(t: Any) -> Any:
        return primad.jit(lambda t: ours.log_density(t, *shapes), backend="reference")(t)

    left = primad.jit(lambda z: ours.cdf(z, *shapes), backend="reference")(z) < 0.5
    own = np.concatenate(
        [
            integral(density, z[chosen], upper, low, high) if chosen.any() else []
            for upper, chosen in ((False, left), (True, ~left))
        ]
    )
    order = np.argsort(np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)]))
    own = own[order]
    rest = np.log1p(-np.exp(own))
    for method, expected in (("logcdf", np.where(left, own, rest)), ("logsf", np.where(left, rest, own))):
        found, slope = primad.jit(
            lambda z, m=method: primad.jvp(lambda z: getattr(ours, m)(z, *shapes), (z,), (np.ones(len(z)),)),
            backend="reference",
        )(z)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-300, err_msg=method)
        moderate = (np.abs(expected) < 1e4) & (np.abs(z) > 1e-150)  # whose square is a number
        by_density = np.exp(density(z) - expected) * (1.0 if method == "logcdf" else -1.0)
        np.testing.assert_allclose(slope[moderate], by_density[moderate], rtol=1e-8, atol=1e-200, err_msg=method)
        assert not np.isnan(slope[np.abs(z) > 1e-150]).any()


@pytest.mark.parametrize("x", [1e9, 1e100, 1e200, 1e300])
def test_slopes_go_on_where_the_square_of_a_point_is_no_number(x: float) -> None:
    """Densities of powers of x, of which the slopes of logarithms are those powers over x, to every order."""
    t = stats.t
    powers = {
        "cauchy": (stats.cauchy.logsf, x, -1.0),
        "cauchy, left": (stats.cauchy.logcdf, -x, -1.0),
        "its density": (stats.cauchy.logpdf, x, -2.0),
        "halfcauchy": (stats.halfcauchy.logsf, x, -1.0),
        "t": (lambda z: t.logpdf(z, 3.0), x, -4.0),
        "t, left": (lambda z: t.logpdf(z, 0.5), -x, -1.5),
    }
    for name, (function, point, power) in powers.items():
        value, slope = primad.value_and_grad(function)(point)
        assert np.isfinite(value), name
        np.testing.assert_allclose(slope * point, power, rtol=1e-14, err_msg=name)
        if x < 1e150:
            second = primad.grad(primad.grad(function))(point)
            np.testing.assert_allclose(second * point * point, -power, rtol=1e-14, err_msg=name)
    slope = primad.grad(lambda df: t.logpdf(x, df))(3.0)
    exact = _slope_of_norm(3.0) - math.log(x)
    np.testing.assert_allclose(slope, exact, rtol=1e-13)


@pytest.mark.parametrize(("z", "scale"), [(1e158, 1e300), (1e-200, 1e-300), (3e5, 1e-300), (0.0, 1e-300), (1e100, 1.0)])
def test_squares_and_scales_may_be_no_numbers(z: float, scale: float) -> None:
    """log(1 + z²/scale) and its slopes, where z², or z²/scale, is too large or too small to be written."""
    ratio = mpmath.mpf(z) ** 2 / mpmath.mpf(scale)
    value, (slope, of_scale) = primad.value_and_grad(log1p_ratio, argnums=(0, 1))(z, scale)
    np.testing.assert_allclose(value, float(mpmath.log1p(ratio)), rtol=1e-14)
    exact = 2 * ratio / (1 + ratio)
    np.testing.assert_allclose(slope, float(exact / z) if z else 0.0, rtol=1e-13)
    np.testing.assert_allclose(of_scale, float(-exact / 2 / scale), rtol=1e-13)


def _slope_of_norm(df: float) -> float:
    """Return the slope in df of what stands before the logarithm of x in the density of t, far out."""
    # log Γ((df+1)/2) − log Γ(df/2) − log(df π)/2 + (df+1)/2 log df, and −(df+1) log x
    of_gammas = 0.5 * digamma(0.5 * df + 0.5) - 0.5 * digamma(0.5 * df)
    return float(of_gammas - 0.5 / df + 0.5 * math.log(df) + 0.5 * (df + 1.0) / df)


DISCRETE = [name for name in NAMES if getattr(stats, name).discrete and "sf" in getattr(stats, name).functions]
FAR_NUMBERS = [0, 1, 5, 40, 700, 5000]
TERMS = 100_000
"""Of a sum over whole numbers."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", DISCRETE)
def test_logarithms_of_tails_of_whole_numbers_are_those_of_sums(name: str) -> None:
    """Also where the tail itself is no number; slopes in the parameters are means of those of terms."""
    ours, (low, high) = getattr(stats, name), ends(name)
    shapes = [float(shape) for shape in SHAPES.get(name, ())]
    numbers = np.array([k for k in [*FAR_NUMBERS, *(-k for k in FAR_NUMBERS)] if low <= k < high], float)

    def tails(shapes: Any) -> Any:
        return [getattr(ours, method)(numbers, *shapes) for method in ("logsf", "logcdf")]

    def sums(first: Any, last: Any) -> tuple[Any, Any]:
        """Return logarithms of sums of probabilities, and their slopes."""
        found = []
        for a, b in zip(first, last, strict=True):
            k = np.arange(a, b + 1.0)
            terms, slopes = (
                primad.jit(f, backend="reference")(shapes)
                for f in (lambda s, k=k: ours.logpmf(k, *s), primad.jacfwd(lambda s, k=k: ours.logpmf(k, *s)))
            )
            total = np.logaddexp.reduce(terms)
            found.append((total, [np.exp(terms - total) @ slope for slope in slopes]))
        return np.array([total for total, _ in found]), np.array([slopes for _, slopes in found])

    upper = sums(numbers + 1.0, np.minimum(high, numbers + TERMS))
    lower = sums(np.maximum(low, numbers - TERMS), numbers)
    values, slopes = (primad.jit(f, backend="reference")(shapes) for f in (tails, primad.jacfwd(tails)))
    tolerance = 1e-3 if name == "yulesimon" else 1e-9  # of which sums go on for long
    for own, other, value, slope in zip((upper, lower), (lower, upper), values, slopes, strict=True):
        small = own[0] < np.log(0.5)
        expected = np.where(small, own[0], np.log1p(-np.exp(np.where(small, -1.0, other[0]))))
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=1e-300)
        if shapes and name != "randint":  # whose parameters are its ends
            of_shapes = np.stack([np.asarray(x) for x in slope], axis=-1)
            by_other = -np.exp(np.where(small, -1.0, other[0] - expected))[:, None] * other[1]
            np.testing.assert_allclose(
                of_shapes, np.where(small[:, None], own[1], by_other), rtol=10 * tolerance, atol=1e-12
            )
