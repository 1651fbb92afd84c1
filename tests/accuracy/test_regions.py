"""Special functions where formulas change, and where numbers are tiny, huge, or cancel."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import primad
import primad.scipy.special as recorded
from primad import ops
from primad.ops.special.members import MEMBERS


def test_students_distribution_near_the_middle() -> None:
    """Derivatives of all orders, in t by those of the density, and the quantile's by those of the inverse function."""
    t, df = np.array([0.0, 2e-15, -1e-8, 0.1, 0.2, -0.23]), 4.27
    height = math.gamma(0.5 * (df + 1)) / math.gamma(0.5 * df) / math.sqrt(math.pi * df)
    base, power = 1 + t * t / df, 0.5 * (df + 1)
    f = height * base**-power
    first = -f * 2 * power * t / (df * base)
    second = f * (-2 * power / (df * base) + 4 * power * (power + 1) * t * t / (df * base) ** 2)
    slopes = [primad.derivative(lambda t: recorded.stdtr(df, t), order)(t) for order in (1, 3)]
    np.testing.assert_allclose(slopes, [f, second], rtol=1e-11)
    p = special.stdtr(df, t)
    back = [primad.derivative(lambda p: recorded.stdtrit(df, p), order)(p) for order in (1, 3)]
    np.testing.assert_allclose(back, [1 / f, 3 * first**2 / f**5 - second / f**4], rtol=1e-8)


def test_pseudo_huber_of_widths_on_both_sides_of_the_residual() -> None:
    widths = np.array([2e-15, 0.1, 0.5, 3.0])
    found = primad.derivative(lambda d: recorded.pseudo_huber(d, 0.5), 3)(widths)
    exact = [float(mpmath.diff(lambda d: d * mpmath.sqrt(d**2 + 0.25) - d**2, d, 3)) for d in widths]
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_arithmetic_geometric_means_of_all_sizes() -> None:
    """The value, and what Euler's theorem says of derivatives: a·∂/∂a + b·∂/∂b is the value itself."""
    a, b = np.array([[1e-305, 0.7], [3.0, 8e-223], [5e180, 2.0], [1.0, 2.0], [-1e-200, -1e-190]]).T
    found, along = primad.jvp(lambda s: recorded.agm(s * a, s * b), (1.0,), (1.0,))
    np.testing.assert_allclose(found, special.agm(a, b), rtol=1e-14)
    np.testing.assert_allclose(along, special.agm(a, b), rtol=1e-13)


def test_slopes_of_arithmetic_geometric_means_of_subnormal_numbers_and_of_none() -> None:
    far = [(1.84e-317, 1.47e-319), (2.65e-200, 5e-320), (3e-310, 3e-310), (1e200, 1e-50), (-4e-320, -1e-100)]
    for a, b in (*far, (1e300, 1.0), (1e-300, 1e300), (3.7, 8e-223), (3e-130, 3.2), (2.5, 6e-137)):
        sizes = abs(a), abs(b)
        slopes = [float(_relative_slope(mpmath.agm, sizes, place)) for place in (0, 1)]
        value = math.copysign(float(mpmath.agm(*map(mpmath.mpf, sizes))), a)
        found, along = primad.jit(primad.value_and_grad(recorded.agm, (0, 1)))(a, b)
        assert found == pytest.approx(value, rel=1e-13, abs=5e-324)
        rel = 1e-12 if abs(value) > 1e-307 else 1e-4  # on the way back there are numbers of the size of the value
        assert along == pytest.approx(slopes, rel=rel), (a, b)
        if min(sizes) < 1e-307:
            continue  # a tangent of 1 over it is no number
        pushed = [primad.jvp(recorded.agm, (a, b), pair)[1] for pair in ((1.0, 0.0), (0.0, 1.0))]
        assert pushed == pytest.approx(slopes, rel=rel), (a, b)
    for a, b, of_a, of_b in ((0.0, 2.0, np.inf, 0.0), (-3.0, 0.0, 0.0, np.inf), (0.0, 0.0, 0.0, 0.0)):
        assert primad.value_and_grad(recorded.agm, (0, 1))(a, b) == (0.0, (of_a, of_b))
    both = np.array([1.0, -1e-200, 1.0, 0.0]), np.array([-1.0, 1e-200, np.nan, np.inf])
    assert np.all(np.isnan(primad.jit(recorded.agm)(*both)))


def test_arithmetic_geometric_means_of_all_types_and_of_infinities() -> None:
    sizes = np.array([0.0, 1.0, 3.7, 1e-30, 1e30, np.inf, np.nan, -1.0, -np.inf])
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(all="ignore"):
            a, b = np.meshgrid(sizes.astype(dtype), sizes.astype(dtype))
            wanted = special.agm(a.astype(float), b.astype(float))
            found = primad.jit(recorded.agm)(a, b)
            assert found.dtype == special.agm(a, b).dtype
        np.testing.assert_allclose(found, wanted, rtol=8 * np.finfo(found.dtype).eps)


def test_carlsons_integrals_of_all_sizes() -> None:
    """Where products of operands are no numbers; derivatives by Euler's theorem, which holds for each of them."""
    sizes = [(1e-310, 1e-305, 3e-320), (1e300, 4e299, 1e-300), (2e142, 5e273, 3e-130), (7e-24, 3e-44, 1e265)]
    for name, degree in (("elliprf", -0.5), ("elliprg", 0.5), ("elliprd", -1.5), ("elliprj", -1.5), ("elliprc", -0.5)):
        ours, exact = getattr(recorded, name), getattr(mpmath, name)
        for x, y, z in sizes:
            at = {"elliprc": (x, y), "elliprj": (x, y, z, 0.7 * z)}.get(name, (x, y, z))
            with mpmath.workdps(60):
                value = float(exact(*map(mpmath.mpf, at)).real)
            if not 1e-300 < value < 1e300:
                continue
            found, slopes = primad.jit(primad.value_and_grad(ours, tuple(range(len(at)))))(*at)
            assert found == pytest.approx(value, rel=1e-12), (name, at)
            products = [float(mpmath.mpf(float(s)) * mpmath.mpf(t)) for s, t in zip(slopes, at, strict=True)]
            if not np.all(np.isfinite(slopes)):
                continue
            assert sum(products) == pytest.approx(degree * value, rel=1e-11), (name, at)
    exact = float(_relative_slope(mpmath.elliprg, (3e-310, 0.0, 2.0), 0))
    assert primad.grad(recorded.elliprg)(3e-310, 0.0, 2.0) == pytest.approx(exact, rel=1e-12)


def _relative_slope(function: Any, at: tuple[float, ...], place: int) -> Any:
    """Return a partial derivative by differences that are small beside the number, however small that is."""
    with mpmath.workdps(400):
        x, step = [mpmath.mpf(each) for each in at], mpmath.mpf(at[place]) / 10**20
        ends = [function(*[each + sign * step * (i == place) for i, each in enumerate(x)]) for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)


def test_kelvin_functions_next_to_zero() -> None:
    """By their power series, of whose terms some have no part in them; rounded, these would be larger than the rest."""
    x = np.array([1e-99, 1e-10, 1e-3])
    slopes = [primad.derivative(recorded.ber, n)(x) for n in (1, 2, 3)]
    np.testing.assert_allclose(slopes, [-(x**3) / 16, -3 * x**2 / 16, -3 * x / 8], rtol=1e-12)
    slopes = [primad.derivative(recorded.bei, n)(x) for n in (1, 2, 3)]
    np.testing.assert_allclose(slopes, [x / 2, 0.5 + 0 * x, -5 * x**3 / 96], rtol=1e-12)
    for name, turn in (("kerp", 1), ("keip", 7), ("berp", 3), ("beip", 1)):
        at = np.array([1e-10, 0.7, 0.99999, 1.00001])
        meaning, letter = MEMBERS["kelvin"].meaning, "k" if name[0] == "k" else "j"
        with mpmath.workdps(80):
            exact = [[float(mpmath.diff(lambda x: -meaning(mpmath, x, letter, 1, turn), t, n, h=t / 10**20))  # noqa: B023
                      for t in map(mpmath.mpf, at)] for n in (0, 1)]  # fmt: skip
        found = [primad.jit(getattr(recorded, name))(at), primad.derivative(getattr(recorded, name))(at)]
        np.testing.assert_allclose(found, exact, rtol=1e-11)


def test_quantiles_of_f_far_out_have_derivatives() -> None:
    """Those of the distribution function at the quantile add up to none along a quantile."""
    q = np.array([1e-50, 1e-12, 0.3, 0.97])
    x, ones = special.fdtri(3.5, 6.0, q), np.ones(4)
    slopes = [primad.derivative(recorded.fdtri, argnums=i)(3.5 * ones, 6.0 * ones, q) for i in range(3)]
    of_x = [primad.derivative(recorded.fdtr, argnums=i)(3.5 * ones, 6.0 * ones, x) for i in range(3)]
    np.testing.assert_allclose(slopes, [-of_x[0] / of_x[2], -of_x[1] / of_x[2], 1 / of_x[2]], rtol=1e-10)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("a", "b", "p"), [(300.0, 0.02, 0.7), (2.5, 0.1, 0.97), (0.1, 2.5, 0.03), (2.5, 3.0, 0.4)])
def test_quantiles_of_the_beta_distribution_next_to_its_ends(a: float, b: float, p: float) -> None:
    """A quantile and the complement's are 1 together; one of them is next to 0, and differentiated by mpmath."""
    with mpmath.workdps(30):
        first, second = (a, b) if p < 0.5 else (b, a)  # the shapes of what is small

        def small(a: Any, b: Any, p: Any) -> Any:
            lead = mpmath.exp((mpmath.log(p * a * mpmath.beta(a, b))) / a)
            below = p * mpmath.beta(a, b)
            f = lambda u: mpmath.exp(a * u) * mpmath.hyp2f1(a, 1 - b, a + 1, mpmath.exp(u)) / a - below  # noqa: E731
            return mpmath.exp(mpmath.findroot(f, mpmath.log(lead)))

        rest = mpmath.mpf(p) if p < 0.5 else 1 - mpmath.mpf(p)
        at = [mpmath.mpf(first), mpmath.mpf(second), rest]
        slopes = [float(mpmath.diff(small, tuple(at), order)) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    found = [primad.grad(recorded.betaincinv, i)(a, b, p) for i in range(3)]
    other = [primad.grad(recorded.betainccinv, i)(b, a, p) for i in range(3)]
    wanted = slopes if p < 0.5 else [-slopes[1], -slopes[0], slopes[2]]
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    np.testing.assert_allclose(other, [-wanted[1], -wanted[0], -wanted[2]], rtol=1e-11)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("v", [0, 2.5])
@pytest.mark.parametrize("name", ["ive", "kve"])
def test_scaled_bessel_functions_far_out_have_derivatives(name: str, v: float) -> None:
    """By mpmath, beyond and below where a series is summed; differences of orders cancel there."""
    x = np.array([3.0, 24.0, 26.0, 700.0, 6e4])

    def exact(t: Any) -> Any:
        return mpmath.exp(-t) * mpmath.besseli(v, t) if name == "ive" else mpmath.exp(t) * mpmath.besselk(v, t)

    with mpmath.workdps(60):
        expected = [float(mpmath.diff(exact, mpmath.mpf(at), 3)) for at in x]
    found = primad.derivative(lambda t: getattr(recorded, name)(v, t), 3)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_scaled_bessel_functions_of_negative_numbers_are_mirrored() -> None:
    found = primad.derivative(recorded.i1e, 2)(np.array([-300.0, 300.0, -2.0, 2.0]))
    np.testing.assert_allclose(found[::2], -found[1::2], rtol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("a", "x", "upper"),
    [(2.5, 3000.0, True), (1e3, 3e3, True), (300.0, 1e-3, False), (2.5, 3.0, True), (2.5, 3.0, False)],
)
def test_logarithms_of_tails_of_the_gamma_distribution(a: float, x: float, upper: bool) -> None:
    """Of the first and second order, in the body and where the tail is below all numbers."""

    def exact(a: Any, x: Any) -> Any:
        ends = (x,) if upper else (0, x)
        return mpmath.log(mpmath.gammainc(a, *ends, regularized=True))

    def found(a: Any, x: Any) -> Any:
        return ops.log_gamma_tail(a, x, n=0, upper=upper)

    _compare(found, exact, (a, x), ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("a", "b", "x", "upper"),
    [(300.0, 2.0, 0.01, False), (0.5, 1e4, 0.2, True), (500.0, 600.0, 0.95, True), (2.5, 3.0, 0.4, True)],
)
def test_logarithms_of_tails_of_the_beta_distribution(a: float, b: float, x: float, upper: bool) -> None:
    def exact(a: Any, b: Any, x: Any) -> Any:
        return mpmath.log(mpmath.betainc(*((b, a, 0, 1 - x) if upper else (a, b, 0, x)), regularized=True))

    def found(a: Any, b: Any, x: Any) -> Any:
        return ops.log_beta_tail(a, b, x, n=(0, 0), upper=upper)

    _compare(found, exact, (a, b, x), ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (0, 0, 2)))


def _compare(found: Any, exact: Any, at: tuple[float, ...], orders: tuple[tuple[int, ...], ...]) -> None:
    with mpmath.workdps(40):
        precise = [mpmath.mpf(each) for each in at]
        assert primad.jit(found)(*at) == pytest.approx(float(exact(*precise)), rel=1e-14)
        for order in orders:
            slope = found
            for place, n in enumerate(order):
                for _ in range(n):
                    slope = primad.grad(slope, place)
            assert slope(*at) == pytest.approx(float(mpmath.diff(exact, tuple(precise), order)), rel=1e-8), order


def test_elliptic_integrals_of_infinite_amplitudes_are_scipys() -> None:
    phi, m = np.meshgrid([np.inf, -np.inf], [-np.inf, -2.0, 0.0, 0.5, 1.0, 2.0, np.nan])
    for name in ("ellipkinc", "ellipeinc"):
        np.testing.assert_array_equal(primad.jit(getattr(recorded, name))(phi, m), getattr(special, name)(phi, m))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("a", "x", "upper"), [(2.5, 1e6, True), (0.6, 3e3, True), (2.5, 8.0, True), (30.0, 25.0, True), (30.0, 25.0, False)]
)
def test_hazards_of_the_gamma_distribution_have_derivatives_however_flat_they_are(
    a: float, x: float, upper: bool
) -> None:
    """Far out a hazard falls like 1/x², and h·((a − 1)/x − 1 + h) is what rounding leaves."""

    def exact(a: Any, x: Any) -> Any:
        ends = (x,) if upper else (0, x)
        return x ** (a - 1) * mpmath.exp(-x) / mpmath.gammainc(a, *ends)

    for order in ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2)):
        found = primad.jit(lambda a, x, n=order: ops.gamma_hazard(a, x, n=n, upper=upper))(a, x)
        with mpmath.workdps(60):
            step = mpmath.mpf(10) ** -12
            wanted = mpmath.diff(exact, (mpmath.mpf(a), mpmath.mpf(x)), order, h=step)
        assert found == pytest.approx(float(wanted), rel=1e-9), order
