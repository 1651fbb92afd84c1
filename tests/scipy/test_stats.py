"""primad.scipy.stats against SciPy: values in the body and in the tails, and derivatives in all parameters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

import primad
import primad.scipy.stats as stats
from primad import numpy as pn
from primad.errors import PrimadError
from primad.recording.scipy_names import DISTRIBUTIONS

X = np.array([-30.0, -4.0, -0.7, 0.0, 0.3, 0.9, 1.37, 6.0, 35.0])
Q = np.array([1e-12, 0.02, 0.3, 0.5, 0.8, 0.999])
SHAPES: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "beta": (2.3, 0.7), "betabinom": (6.0, 1.3, 2.2), "betaprime": (1.7, 4.6),
    "binom": (5.0, 0.55), "bradford": (1.4,), "burr": (2.7, 0.8), "burr12": (2.7, 0.8), "chi": (2.4,), "chi2": (2.0,),
    "dlaplace": (0.7,), "exponweib": (2.1, 1.3), "f": (3.5, 6.0), "fisk": (3.1,), "gamma": (0.6,),
    "gengamma": (1.6, -1.3), "genextreme": (0.2,), "genlogistic": (1.6,), "gennorm": (1.4,), "genpareto": (0.3,),
    "geom": (0.35,), "gompertz": (0.4,), "halfgennorm": (1.4,), "invgamma": (2.2,), "invgauss": (0.8,),
    "invweibull": (2.6,), "johnsonsb": (0.4, 1.3), "johnsonsu": (-0.4, 1.3), "loggamma": (1.7,),
    "loglaplace": (2.6,), "lognorm": (0.8,), "logser": (0.6,), "loguniform": (1.1, 4.4), "lomax": (2.7,),
    "nakagami": (1.6,), "nbinom": (2.6, 0.4),
    "pareto": (1.7,), "planck": (0.6,), "poisson": (3.2,), "powerlaw": (1.6,), "powernorm": (1.8,),
    "randint": (1.0, 7.0), "reciprocal": (1.1, 4.4), "rice": (0.9,), "skewnorm": (-1.3,), "t": (3.5,),
    "triang": (0.3,), "truncexpon": (4.2,), "truncnorm": (-0.4, 4.8), "vonmises": (1.4,), "weibull_max": (1.3,),
    "weibull_min": (1.3,), "yulesimon": (2.7,),
}  # fmt: skip
WHOLE = {"binom": 1, "betabinom": 1, "randint": 2}
"""How many of the first parameters are whole numbers, in which there are no derivatives."""
UNIT = ("arcsine", "beta", "bradford", "johnsonsb", "powerlaw", "triang", "uniform")
NAMES = [name for name in stats.__all__ if hasattr(getattr(stats, name), "log_density")]
BODY = {name: ("pmf", "logpmf") if getattr(stats, name).discrete else ("pdf", "logpdf") for name in NAMES}
SHARP = ("cdf", "sf", "pdf", "pmf")
"""Where SciPy is right to relative precision: its logarithms of probabilities near 1 are not."""
TAILS = ("cdf", "sf", "logcdf", "logsf")
NUMBERS = ("mean", "var", "std", "entropy", "median")
TABULATED = (*TAILS, *NUMBERS, "logpdf", "pdf", "logpmf", "pmf", "ppf", "isf")
LOSING = {("f", "isf"), ("betaprime", "isf"), ("genlogistic", "isf"), ("moyal", "isf"), ("powernorm", "ppf")}
"""Where SciPy's own is the quantile of 1 − q, which has lost q's digits."""


def at(name: str) -> float:
    """Return a point inside of the support."""
    inside = {"bernoulli": 0.0, "weibull_max": -0.7}
    if name in inside:
        return inside[name]
    return 2.0 if getattr(stats, name).discrete else 0.7 if name in UNIT else 2.9


def usual(name: str) -> list[float]:
    """Return shapes, and loc and scale of a continuous distribution."""
    return [*SHAPES.get(name, ()), *(() if getattr(stats, name).discrete else (0.1, 1.3))]


def points(name: str) -> Any:
    return np.arange(-1.0, 9.0) if getattr(stats, name).discrete else X


def closed(name: str) -> list[str]:
    """Return the methods that are known in closed form: moments that are not are integrals."""
    ours = getattr(stats, name)
    needed = {"mean": "mean", "var": "var", "std": "var", "entropy": "entropy"}
    integrals = [method for method, of in needed.items() if of not in ours.functions]
    return [method for method in ours.recorded if method in TABULATED and method not in integrals]


@cache
def recorded(name: str) -> Any:
    """Return the recorded function (x, q, *parameters) -> the values of these methods, by name."""
    ours = getattr(stats, name)

    def methods(x: Any, q: Any, *p: Any) -> dict[str, Any]:
        arguments = {"ppf": (q,), "isf": (q,), **dict.fromkeys(NUMBERS, ())}
        return {method: getattr(ours, method)(*arguments.get(method, (x,)), *p) for method in closed(name)}

    return primad.jit(methods, backend="reference")


def scipys(name: str, method: str, x: Any, q: Any, p: Any, family: Any = None) -> Any:
    theirs = family or getattr(scipy.stats, name)
    arguments = {"ppf": (q,), "isf": (q,), **dict.fromkeys(NUMBERS, ())}
    return getattr(theirs, method)(*arguments.get(method, (x,)), *p)


@pytest.mark.one_in(12)
@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives(name: str) -> None:
    ours, p = getattr(stats, name), usual(name)
    found = recorded(name)(points(name), Q, *p)
    for method in closed(name):
        expected = scipys(name, method, points(name), Q, p)
        np.testing.assert_array_equal(scipys(name, method, points(name), Q, p, ours), expected)
        if method.startswith("log"):  # of what is too small for a number, SciPy's may be that of 0
            expected = np.where((found[method] < -700.0) & (expected == -np.inf), found[method], expected)
        if (name, method) in LOSING:
            inverse = getattr(getattr(scipy.stats, name), {"isf": "sf", "ppf": "cdf"}[method])(found[method], *p)
            np.testing.assert_allclose(inverse, Q, rtol=1e-6, err_msg=method)
            expected[0] = found[method][0]
        least = 1e-300 if method in SHARP else 1e-14
        np.testing.assert_allclose(found[method], expected, rtol=1e-9, atol=least, err_msg=method)
    whole, rest = p[: WHOLE.get(name, 0)], p[WHOLE.get(name, 0) :]
    tails = [ours.sf] if "sf" in ours.functions else []
    if rest:
        methods = [getattr(ours, BODY[name][1]), *tails]
        primad.check_grads(lambda rest: [method(at(name), *whole, *rest) for method in methods], (rest,), order=2)
        numbers = [getattr(ours, number) for number in ("mean", "var", "entropy") if number in ours.functions]
        numbers = [number for number in numbers if np.isfinite(number(*p))]
        primad.check_grads(lambda rest: [number(*whole, *rest) for number in numbers], (rest,), order=1)


@pytest.mark.parametrize("name", ["johnsonsb", "poisson"])
def test_entropies_that_are_integrals_or_sums(name: str) -> None:
    """Values are SciPy's, also of arrays of shapes; derivatives are those of differences."""
    ours, shapes = getattr(stats, name), SHAPES[name]
    found = primad.jit(ours.entropy)(*[np.array([shape, 1.2 * shape]) for shape in shapes])
    theirs = [float(getattr(scipy.stats, name).entropy(*[k * shape for shape in shapes])) for k in (1.0, 1.2)]
    np.testing.assert_allclose(found, theirs, rtol=1e-8)
    primad.check_grads(lambda shapes: ours.entropy(*shapes), (list(shapes),), order=1)


def test_a_tail_far_out_has_its_derivative() -> None:
    slope = primad.grad(lambda x: stats.norm.logsf(x))(40.0)
    assert slope == pytest.approx(-40.0249688472, rel=1e-10)


BELOW_ALL_NUMBERS = [
    ("levy", "logcdf", 1e-4), ("moyal", "logcdf", -9.0), ("maxwell", "logsf", 50.0), ("maxwell", "logcdf", 1e-120),
    ("gamma", "logsf", 2e3, 2.5), ("gamma", "logcdf", 1e-3, 300.0), ("chi2", "logsf", 3e3, 3.0),
    ("chi", "logsf", 60.0, 2.0), ("invgamma", "logcdf", 1e-4, 1.5), ("nakagami", "logsf", 40.0, 1.2),
    ("gengamma", "logsf", 60.0, 1.5, 2.0), ("gengamma", "logcdf", 0.01, 1.5, -2.0), ("halfgennorm", "logsf", 60.0, 2.0),
    ("loggamma", "logsf", 8.0, 0.7), ("loggamma", "logcdf", -9.0, 120.0), ("beta", "logcdf", 1e-4, 200.0, 0.5),
    ("beta", "logsf", 0.3, 2.5, 3e3), ("t", "logcdf", -60.0, 900.0), ("t", "logsf", 1e40, 20.0),
    ("f", "logsf", 3e3, 3.0, 800.0), ("f", "logcdf", 1e-5, 300.0, 2.0), ("betaprime", "logsf", 1e4, 2.0, 150.0),
]  # fmt: skip
"""Distributions, tails that are below 1e-308, points, and shapes."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", BELOW_ALL_NUMBERS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_logarithms_of_tails_that_are_no_numbers_have_derivatives(case: tuple[Any, ...]) -> None:
    """By definition they are the density over the tail, with a sign, and so are differences of the values."""
    name, method, x, *shapes = case
    ours, sign = getattr(stats, name), 1.0 if method == "logcdf" else -1.0
    value, density = primad.jit(lambda x: (getattr(ours, method)(x, *shapes), ours.logpdf(x, *shapes)))(x)
    assert -1e6 < value < -700.0
    slope = primad.grad(getattr(ours, method))(x, *shapes)
    np.testing.assert_allclose(slope, sign * np.exp(density - value), rtol=1e-9)
    for place, shape in enumerate(shapes, start=1):
        step = 1e-4 * shape
        up, down = [
            primad.jit(getattr(ours, method))(x, *[s + k * step * (i == place) for i, s in enumerate(shapes, 1)])
            for k in (1.0, -1.0)
        ]
        by_shape = primad.grad(getattr(ours, method), place)(x, *shapes)
        assert by_shape == pytest.approx((up - down) / (2.0 * step), rel=1e-4, abs=1e-6 * abs(value))


@pytest.mark.parametrize(
    ("name", "method", "k", "shapes"),
    [
        ("poisson", "logsf", 400, (1.5,)), ("poisson", "logcdf", 2, (900.0,)), ("binom", "logsf", 390, (400, 0.01)),
        ("binom", "logcdf", 2, (2000, 0.4)), ("nbinom", "logsf", 5000, (2.5, 0.2)),
    ],
)  # fmt: skip
def test_logarithms_of_tails_of_counts_are_sums(name: str, method: str, k: int, shapes: tuple[float, ...]) -> None:
    """Of probabilities of all counts that are in the tail; the last shape is what they are differentiated in."""
    ours, counts = getattr(stats, name), np.arange(k + 1) if method == "logcdf" else np.arange(k + 1, k + 400)

    def summed(p: Any) -> Any:
        return pn.special.logsumexp(
            ours.logpmf(counts[counts <= shapes[0]] if name == "binom" else counts, *shapes[:-1], p)
        )

    found = primad.value_and_grad(lambda p: getattr(ours, method)(k, *shapes[:-1], p))(shapes[-1])
    assert -1e6 < found[0] < -700.0
    np.testing.assert_allclose(found, primad.value_and_grad(summed)(shapes[-1]), rtol=1e-9)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("c", [-1e-9, 0.0, 1e-9, 0.04])
@pytest.mark.parametrize("name", ["genextreme", "genpareto"])
def test_shapes_near_zero_have_the_derivatives_of_the_limit(name: str, c: float) -> None:
    """By power series in c of log(1 + c·x)/c, whose first terms are x − c·x²/2 + c²·x³/3."""
    x = 0.8

    def series(c: mpmath.mpf) -> mpmath.mpf:
        way = -x if name == "genextreme" else x
        t = mpmath.nsum(lambda k: (-c) ** int(k) * mpmath.mpf(way) ** int(k + 1) / (k + 1), [0, 40])
        return t * (1 - c) - mpmath.exp(t) if name == "genextreme" else -t * (1 + c)

    with mpmath.workdps(40):
        expected = [float(d) for d in mpmath.taylor(series, mpmath.mpf(c), 3)]
    f = partial(getattr(stats, name).logpdf, x)
    slope = primad.grad(f)
    found = [f(c), slope(c), primad.grad(slope)(c) / 2.0, primad.grad(primad.grad(slope))(c) / 6.0]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


FAR = {
    "truncnorm": (lambda a: stats.truncnorm.logsf(a + 0.2, a, a + 1.0), 20.0),
    "invgauss": (lambda a: stats.invgauss.logsf(60.0, a), 0.7),
    "exponweib": (lambda a: stats.exponweib.logsf(9.0, a, 2.0), 1.5),
    "burr": (lambda a: stats.burr.sf(1e9, a, 0.6), 2.2),
    "genlogistic": (lambda a: stats.genlogistic.isf(1e-200, a), 1.4),
    "geom": (lambda a: stats.geom.cdf(3, a), 1e-14),
    "nbinom": (lambda a: stats.nbinom.logsf(300, 2.5, a), 0.6),
}
"""Tails where 1 − cdf has no digits left: a function of one parameter, and where."""


def exactly(name: str, a: Any) -> Any:
    """Return what the function of `FAR` is, in mpmath's numbers."""
    m = mpmath
    mass = {
        "truncnorm": lambda: m.log((m.erfc((a + 0.2) / m.sqrt(2)) - m.erfc((a + 1) / m.sqrt(2)))
                                   / (m.erfc(a / m.sqrt(2)) - m.erfc((a + 1) / m.sqrt(2)))),
        "invgauss": lambda: m.log(m.ncdf((1 - 60 / a) / m.sqrt(60))
                                  - m.exp(2 / a) * m.ncdf(-(1 + 60 / a) / m.sqrt(60))),
        "exponweib": lambda: m.log(1 - (1 - m.exp(-m.mpf(81))) ** a),
        "burr": lambda: 1 - (1 + m.mpf(10) ** (-9 * a)) ** m.mpf("-0.6"),
        "genlogistic": lambda: -m.log((1 - m.mpf(10) ** -200) ** (-1 / a) - 1),
        "geom": lambda: 1 - (1 - a) ** 3,
        "nbinom": lambda: m.log(m.betainc(301, m.mpf("2.5"), 0, 1 - a, regularized=True)),
    }  # fmt: skip
    return mass[name]()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FAR)
def test_tails_far_out_are_right_to_relative_precision(name: str) -> None:
    f, at = FAR[name]
    with mpmath.workdps(450):
        expected = [float(2**k * d) for k, d in enumerate(mpmath.taylor(partial(exactly, name), mpmath.mpf(at), 2))]
    found = [primad.jit(f)(at), primad.grad(f)(at), 2.0 * primad.grad(primad.grad(f))(at)]
    np.testing.assert_allclose(found, [expected[0], expected[1] / 2.0, expected[2]], rtol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_ends_of_the_support_and_no_numbers(name: str) -> None:
    """At and beyond the ends, at infinities and NaN, and for quantiles of 0 and 1; where SciPy's is a number."""
    shapes = SHAPES.get(name, ())
    p = [*shapes, *(() if getattr(stats, name).discrete else (0.0, 1.0))]
    low, high = getattr(scipy.stats, name).support(*shapes)
    x = np.full(points(name).shape, 0.5)
    x[:7] = low, high, low - 1.0, high + 1.0, -np.inf, np.inf, np.nan
    q = np.array([0.0, 1.0, 0.3, 0.5, np.nan, 1.0 - 2.0**-20])
    for method, own in recorded(name)(x, q, *p).items():
        expected = scipys(name, method, x, q, p)
        given = {"ppf": q, "isf": q, **dict.fromkeys(NUMBERS, np.array(0.0))}.get(method, x)
        known = ~np.isnan(expected) | np.isnan(given)
        close = np.where(known, own, 0.0), np.where(known, expected, 0.0)
        np.testing.assert_allclose(*close, rtol=1e-9, atol=1e-14, err_msg=method)


def test_frozen_distributions_have_the_methods_of_their_family() -> None:
    x = np.array([0.4, 1.1, 2.5])
    for method in ("logpdf", "sf", "isf"):
        q = x if method != "isf" else x / 3.0
        frozen = primad.grad(lambda a, m=method, q=q: np.sum(getattr(stats.gamma(a, scale=2.0), m)(q)))(1.5)
        plain = primad.grad(lambda a, m=method, q=q: np.sum(getattr(stats.gamma, m)(q, a, scale=2.0)))(1.5)
        assert frozen == plain != 0.0
    np.testing.assert_array_equal(stats.gamma(1.5).logpdf(x), scipy.stats.gamma(1.5).logpdf(x))
    assert primad.grad(lambda r: stats.expon(scale=r).mean() * stats.expon(scale=r).std())(3.0) == 6.0
    assert primad.grad(lambda x: stats.norm(0.5, 2.0).logpdf(x))(1.0) == -0.125
    with pytest.raises(TypeError, match=r"gamma takes \(a, loc, scale\)"):
        stats.gamma()
    with pytest.raises(AttributeError, match="nothing"):
        getattr(stats.gamma(1.5), "nothing")  # noqa: B009


def test_what_is_not_recorded_says_so() -> None:
    with pytest.raises(
        primad.PrimadError, match=r"stats.poisson.ppf of traced values(?s:.*)stats, moment, expect, rvs of poisson are"
    ):
        primad.grad(lambda q: stats.poisson.ppf(q, 3.0))(0.5)
    with pytest.raises(AttributeError, match=r"scipy.stats.exponnorm called as it is"):
        getattr(stats, "exponnorm")  # noqa: B009
    with pytest.raises(primad.PrimadError, match=r"call logpdf of primad.scipy.stats.norm,"):
        primad.grad(lambda x: scipy.stats.norm.logpdf(x))(1.0)
    with pytest.raises(TypeError, match=r"gamma.pdf takes \(a, loc, scale\)"):
        primad.grad(lambda x: stats.gamma.pdf(x))(1.0)


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_parameters_that_no_distribution_has_give_scipys_nan(name: str) -> None:
    """In every method that is recorded, for each parameter alone; beyond 0 and 1 there are no quantiles."""
    p = usual(name)
    x = np.full(points(name).shape, 3.0 if getattr(stats, name).discrete else 0.7)
    q = np.array([-0.1, 0.3, 1.1, np.nan, 0.3, 0.3])
    for i, value in itertools.product(range(len(p)), (-1.5, 0.0, np.nan)):
        wrong = np.array([*p[:i], value, *p[i + 1 :]])
        found = recorded(name)(x, q, *wrong)
        for method, own in found.items():
            try:
                expected = scipys(name, method, x, q, wrong)
            except ZeroDivisionError:  # in SciPy's entropies
                expected = np.nan
            if method == "logcdf" and getattr(stats, name).discrete and np.isnan(own).all():
                continue  # SciPy says 0 of points above the support, whatever the parameters are
            np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-14, err_msg=f"{method} {wrong}")


MEAN, COV = np.array([0.3, -0.2]), np.array([[1.3, 0.4], [0.4, 0.9]])
PAIRS = np.array([[0.1, 0.5], [-1.0, 2.0], [3.0, 0.2]])
SHARES, ALPHA, CHANCES = np.array([0.2, 0.5, 0.3]), np.array([1.3, 2.2, 0.7]), np.array([0.2, 0.3, 0.5])
BODY_OF_VECTORS = {"logpdf", "pdf", "logpmf", "pmf"}
VECTORS: list[tuple[str, str, tuple[Any, ...]]] = [
    *(("multivariate_normal", "logpdf", (PAIRS, MEAN, cov)) for cov in (COV, np.array([1.3, 0.9]), 0.7)),
    ("multivariate_normal", "pdf", (PAIRS[0], MEAN, COV)),
    ("multivariate_normal", "logpdf", (np.array([0.1, 0.5, 2.0]), 0.4, 1.7)),
    ("multivariate_normal", "logpdf", (PAIRS, None, COV)),
    ("multivariate_normal", "entropy", (MEAN, COV)),
    *(("dirichlet", method, (SHARES, ALPHA)) for method in ("logpdf", "pdf")),
    ("dirichlet", "logpdf", (SHARES[:2], ALPHA)),
    ("dirichlet", "logpdf", (np.stack([SHARES, SHARES[::-1]]).T, ALPHA)),
    *(("dirichlet", method, (ALPHA,)) for method in ("mean", "var", "cov", "entropy")),
    *(("multinomial", method, (5.0, np.array([0.2, 0.3, 0.5]))) for method in ("mean", "cov")),
    *(("multinomial", method, (np.array([2, 1, 4]), 7, CHANCES)) for method in ("logpmf", "pmf")),
    ("multinomial", "logpmf", (np.array([[2, 1, 4], [2, 2, 4], [0, 0, 7]]), 7, CHANCES)),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", range(len(VECTORS)))
def test_distributions_of_vectors(case: int) -> None:
    """Values are SciPy's; derivatives in the last argument, or of a normal one in its points, are of order 2."""
    name, method, given = VECTORS[case]
    ours, expected = getattr(stats, name), getattr(getattr(scipy.stats, name), method)(*given)
    np.testing.assert_array_equal(getattr(ours, method)(*given), expected)
    before, last = given[:-1], given[-1]
    matrix = name == "multivariate_normal" and np.ndim(last) == 2

    def f(*args: Any) -> Any:
        """Of symmetric matrices only, and of chances that add up to 1: of others SciPy reads a part."""
        last = 0.5 * (args[-1] + args[-1].T) if matrix else args[-1]
        if name == "multinomial":
            last = pn.concatenate([last[:-1], 1.0 - pn.sum(last[:-1], keepdims=True)])
        return getattr(ours, method)(*args[:-1], last)

    np.testing.assert_allclose(primad.jit(partial(f, *before))(last), expected, rtol=1e-12)
    if method in BODY_OF_VECTORS:
        frozen = primad.jit(lambda last: getattr(ours(*before[1:], last), method)(before[0]))
        np.testing.assert_allclose(frozen(last), expected, rtol=1e-12)
    if np.isfinite(expected).all():
        primad.check_grads(partial(f, *before), (last,), order=2)
    if method == "logpdf" and not (name == "dirichlet" and len(given[0]) == len(last)):
        primad.check_grads(lambda x: f(x, *given[1:]), (given[0],), order=2, rtol=1e-4)


def test_what_is_scipys_alone_is_there_for_plain_arguments() -> None:
    found, expected = (each.norm.rvs(1.0, size=3, random_state=0) for each in (stats, scipy.stats))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(stats.norm(1.0).rvs(3, 0), scipy.stats.norm(1.0).rvs(3, 0))
    assert stats.gamma(2.0).interval(0.9) == scipy.stats.gamma(2.0).interval(0.9)
    assert stats.multivariate_normal.cdf(MEAN, MEAN, COV) == scipy.stats.multivariate_normal.cdf(MEAN, MEAN, COV)
    with pytest.raises(primad.PrimadError, match=r"norm.fit of traced values(?s:.*)Fix: take a method that is rec"):
        primad.grad(lambda m: stats.norm.fit(np.ones(3) * m))(1.0)


def test_points_may_be_lists_and_named() -> None:
    assert primad.grad(lambda a: stats.gamma.logpdf([1.0, 2.0], a).sum())(1.5) == pytest.approx(0.62016723260)
    assert primad.grad(lambda m: stats.norm(m).logpdf(x=1.0))(0.0) == 1.0
    assert primad.grad(lambda s: stats.gamma.logpdf(x=[1.0], a=[2.0], scale=s).sum())(1.0) == -1.0
    with pytest.raises(TypeError, match=r"norm\.ppf takes q"):
        primad.grad(lambda m: stats.norm.ppf(loc=m))(0.5)


def test_singular_covariances_say_what_to_do() -> None:
    for singular in (np.ones((len(MEAN), len(MEAN))), COV + 1e13 * np.ones_like(COV)):
        with pytest.raises(primad.PrimadError, match="Fix: give cov as a positive definite matrix"):
            primad.grad(lambda x: stats.multivariate_normal.logpdf(x, MEAN, singular, allow_singular=True))(MEAN)  # noqa: B023


def test_covariances_that_might_be_singular_and_are_not() -> None:
    """A filter that allows for them has the density of others; where values are not known it is refused."""

    def f(x: Any, **options: Any) -> Any:
        return stats.multivariate_normal.logpdf(x, MEAN, COV * x[0] ** 2, **options)

    x = np.asarray(MEAN, float) + 0.7
    np.testing.assert_array_equal(primad.grad(f)(x), primad.grad(lambda x: f(x, allow_singular=True))(x))
    with pytest.raises(primad.PrimadError, match="Fix: give cov as a positive definite matrix"):
        primad.jit(lambda x: f(x, allow_singular=True))(x)


def test_messages_know_which_methods_are_recorded() -> None:
    said = {name: set(methods.split()) for methods, names in DISTRIBUTIONS.items() for name in names.split()}
    assert said == {name: set(getattr(stats, name).recorded) for name in stats.__all__}


MESSAGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a method": (lambda x: scipy.stats.gamma.ppf(x, 2.0), "call ppf of primad.scipy.stats.gamma,"),
    "of vectors": (
        lambda x: scipy.stats.multivariate_normal(x, np.eye(2)).logpdf(x),
        "call primad.scipy.stats.multivariate_normal,",
    ),
    "not recorded": (lambda x: scipy.stats.rice.cdf(x, 2.0), "logpdf, pdf, rvs of primad.scipy.stats.rice are"),
    "a fit": (lambda x: scipy.stats.norm.fit(x), "rvs of primad.scipy.stats.norm are recorded"),
    "no such distribution": (lambda x: scipy.stats.alpha.pdf(x, 1.2), "with functions of primad.numpy"),
    "no distribution": (lambda x: scipy.stats.zscore(x), "with functions of primad.numpy"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_scipys_own_names_what_is_recorded(name: str) -> None:
    call, said = MESSAGES[name]
    with pytest.raises(PrimadError, match=re.escape(said)):
        primad.grad(lambda x: np.sum(call(x)))(np.array([0.3, 0.4]))
