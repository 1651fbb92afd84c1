"""Draws of primad.scipy.stats and means of functions: against SciPy's distributions, and their derivatives."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import primad
import primad.scipy.stats as stats
from primad import numpy as pn
from tests.scipy.test_stats import NAMES, SHAPES, WHOLE
from tests.sweeps import thinned

CONTINUOUS = [name for name in NAMES if not getattr(stats, name).discrete]
DISCRETE = [name for name in NAMES if getattr(stats, name).discrete]
REJECTED = ("vonmises",)
"""Whose draws are no continuous function of the parameters, so that differences of draws tell nothing."""
COUNT = 2000


def placed(name: str) -> list[float]:
    """Return shapes, and loc and scale; a circle has no scale."""
    scale = [] if getattr(stats, name).discrete else [1.0 if name in REJECTED else 1.3]
    return [*SHAPES.get(name, ()), 0.0 if name in WHOLE or not scale else 0.1, *scale]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_have_scipys_distribution_and_move_at_fixed_probability(name: str) -> None:
    """By Kolmogorov and Smirnov's test, and dx/dθ = −(∂F/∂θ)/f at draws, with differences of SciPy's cdf for ∂F/∂θ."""
    ours, theirs, p = getattr(stats, name), getattr(scipy.stats, name), placed(name)
    f = primad.jit(lambda key, p: ours.rvs(*p, size=COUNT, key=key), backend="reference")
    assert scipy.stats.kstest(f(7, p), lambda x: theirs.cdf(x, *p)).pvalue > 1e-3
    np.testing.assert_allclose(ours.rvs(*p, size=COUNT, key=7), f(7, p), rtol=1e-9)
    few = primad.jvp(lambda p: ours.rvs(*p, size=40, key=3), (p,), ([1.0] * len(p),))
    if name in ("rice", "skewnorm"):  # functions of two normal numbers: the mean of the derivative is the same
        return
    x, step = few[0], 1e-5
    ends = [theirs.cdf(x, *(np.array(p) + way)) - theirs.sf(x, *(np.array(p) + way)) for way in (step, -step)]
    moved = -(ends[0] - ends[1]) / (4.0 * step) / theirs.pdf(x, *p)
    bulk = (theirs.cdf(x, *p) > 0.05) & (theirs.sf(x, *p) > 0.05)
    np.testing.assert_allclose(few[1][bulk], moved[bulk], rtol=1e-4, atol=1e-5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", DISCRETE)
def test_draws_of_whole_numbers_have_scipys_distribution_and_no_derivative(name: str) -> None:
    ours, theirs, p = getattr(stats, name), getattr(scipy.stats, name), placed(name)
    found = primad.jit(lambda key, p: ours.rvs(*p, size=COUNT, key=key), backend="reference")(7, p)
    assert found.dtype == np.int64
    values, counts = np.unique(found, return_counts=True)
    often = COUNT * theirs.pmf(values, *p) > 8.0
    expected = COUNT * theirs.pmf(values[often], *p)
    assert np.sum((counts[often] - expected) ** 2 / expected) < often.sum() + 5.0 * np.sqrt(2.0 * often.sum())
    plain = primad.grad(lambda p: ours.rvs(*primad.stop_gradient(p), size=3, key=0).sum() * p[-2])(p)
    assert plain[-2] == ours.rvs(*p, size=3, key=0).sum()
    with pytest.raises(primad.PrimadError, match=f"draws of scipy.stats.{name} in its parameters(?s:.*)logpmf"):
        primad.grad(lambda p: ours.rvs(*p, size=3, key=0).sum() * 1.0)(p)


MOVED: dict[str, tuple[Any, Any, Any]] = {
    "norm": (lambda a: ("norm", a, 1.5 * a), lambda a: a, lambda a: 3.25 * a**2),
    "gamma": (lambda a: ("gamma", a, 0.0, 2.0), lambda a: 2.0 * a, lambda a: 4.0 * a * (a + 1.0)),
    "beta": (lambda a: ("beta", a, 2.0), lambda a: a / (a + 2.0), lambda a: a * (a + 1.0) / ((a + 2.0) * (a + 3.0))),
    "t": (lambda a: ("t", 4.0 * a), lambda a: 0.0 * a, lambda a: 4.0 * a / (4.0 * a - 2.0)),
    "skewnorm": (
        lambda a: ("skewnorm", a), lambda a: (2.0 / np.pi) ** 0.5 * a / pn.sqrt(1.0 + a * a), lambda a: 1.0 + 0.0 * a
    ),
    "rice": (lambda a: ("rice", a), None, lambda a: 2.0 + a * a),
    "invgauss": (lambda a: ("invgauss", a), lambda a: a, lambda a: a**2 + a**3),
    "vonmises": (lambda a: ("vonmises", a), lambda a: 0.0 * a, None),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", MOVED)
def test_gradients_of_means_are_those_of_the_expectation(name: str) -> None:
    """Of x and x², within four standard errors of the mean of the draws' derivatives."""
    make, first, second = MOVED[name]
    at = 2.2

    def drawn(a: Any) -> Any:
        family, *p = make(a)
        return getattr(stats, family).rvs(*p, size=4000, key=11)

    x, dx = primad.jvp(drawn, (at,), (1.0,))
    for slopes, exact in ((dx, first), (2.0 * x * dx, second)):
        if exact is not None:
            assert abs(slopes.mean() - primad.grad(exact)(at)) <= 4.0 * slopes.std() / slopes.size**0.5


def test_draws_have_derivatives_of_higher_order() -> None:
    """Those of E[x²] for an angle, whose mean of a cosine is I₁/I₀, and for an inverse Gaussian number."""
    a = 1.7
    square = primad.jvp(lambda k: primad.jvp(lambda k: stats.invgauss.rvs(k, size=4000, key=5) ** 2, (k,), (1.0,))[1],
                        (a,), (1.0,))[1]  # fmt: skip
    assert abs(square.mean() - (2.0 + 6.0 * a)) < 4.0 * square.std() / square.size**0.5
    cosine = primad.jvp(
        lambda k: primad.jvp(lambda k: pn.cos(stats.vonmises.rvs(k, size=4000, key=5)), (k,), (1.0,))[1], (a,), (1.0,)
    )[1]
    ratio = primad.grad(primad.grad(lambda k: primad.scipy.special.ive(1, k) / primad.scipy.special.ive(0, k)))(a)
    assert abs(cosine.mean() - ratio) < 4.0 * cosine.std() / cosine.size**0.5


def test_sizes_keys_and_frozen_forms() -> None:
    p = np.array([1.5, 2.5, 4.0])
    keys = np.arange(4)
    for draw in (
        lambda key, a: stats.gamma.rvs(a, size=(2, 3), key=key),
        lambda key, a: stats.gamma(a).rvs(size=(2, 3), key=key),
        lambda key, a: stats.vonmises.rvs(a, size=(2, 3), key=key),
        lambda key, a: stats.poisson.rvs(a, size=(2, 3), key=key),
        lambda key, a: stats.invgauss.rvs(a, size=(2, 3), key=key),
    ):
        found = draw(keys, p)
        assert found.shape == (4, 2, 3)
        np.testing.assert_array_equal(found, primad.vmap(draw, in_axes=(0, None))(keys, p))
        np.testing.assert_array_equal(found[2], primad.jit(draw)(2, p))
        assert np.unique(found).size > 3
    assert stats.norm.rvs(p, key=0).shape == (3,)
    assert stats.norm.rvs(key=0).shape == ()
    assert primad.jit(lambda a: stats.gamma.rvs(a, size=2, key=3))(np.float32(2.0)).dtype == np.float32
    assert np.isnan(primad.jit(lambda a: stats.gamma.rvs(a, size=2, key=3))(-1.0)).all()
    with pytest.raises(primad.PrimadError, match=r"gamma.rvs of traced parameters without a key(?s:.*)pass key="):
        primad.grad(lambda a: stats.gamma.rvs(a, size=3).sum())(1.0)
    with pytest.raises(primad.PrimadError, match=r"parameters of shape \(3,\) do not fit size=2"):
        stats.gamma.rvs(p, size=2, key=0)
    with pytest.raises(TypeError, match=r"norm.rvs takes \(loc, scale, size\) and a key"):
        stats.norm.rvs(random_state=1, key=0)


def test_uniform_numbers_have_no_ends() -> None:
    """Of 16 bits, where draws of 0 and of the largest number are frequent."""
    for dtype in (np.float16, np.float32):
        found = stats.expon.rvs(scale=dtype(1.0), size=20000, key=1)
        assert found.dtype == dtype
        assert np.isfinite(stats.norm.rvs(dtype(0.0), dtype(1.0), size=20000, key=1)).all()


# -- moments -----------------------------------------------------------------------------------------------------------


INTEGRATED = [name for name in CONTINUOUS if getattr(stats, name).integrated]
FEW = [name for name in INTEGRATED if not {"mean", "var"} <= set(getattr(stats, name).functions)]


@pytest.mark.one_in(12)
@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore")
@thinned(3, name=["gamma", "norm", *FEW])
def test_moments_are_scipys(name: str) -> None:
    ours, theirs, p = getattr(stats, name), getattr(scipy.stats, name), placed(name)
    orders = (1, 2, 3, 4, 3) if name == "gamma" else (1,)
    methods = (lambda each: each.stats(*p, moments="mvsk"), lambda each: (each.moment(3, *p),))
    found = primad.jit(lambda p: [*ours.stats(*p, moments="mvsk"), ours.moment(3, *p)][: len(orders)])(p)
    expected = [value for method in methods for value in method(theirs)]
    tail = float(ours.functions.get("tail", lambda *shapes: np.inf)(*p[:-2]))
    for order, own, other in zip(orders, found, expected, strict=False):
        if order >= tail:
            assert not np.isfinite(own)
        else:
            np.testing.assert_allclose(own, other, rtol=2e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", INTEGRATED)
def test_tails_that_are_powers_are_declared(name: str) -> None:
    """The power by which values grow where they get rarer gives the order below which moments are finite."""
    shapes = np.array(SHAPES.get(name, ()))
    family, ours = getattr(scipy.stats, name), getattr(stats, name)
    for factor in (1.0, -1.0) if name.startswith("gen") else (1.0, 1.4):
        if not np.all(family._argcheck(*(factor * shapes))):
            continue
        rare = np.array([1e-15, 1e-16, 1e-44, 1e-45])
        sides = [np.abs(np.array(ours.functions[way](rare, *(factor * shapes)))) for way in ("ppf", "isf")]
        rates = [np.log(x[[1, 3]] / x[[0, 2]]) / np.log(10.0) for x in sides if np.isfinite(x).all() and x[3] > 10.0]
        powers = [late for early, late in rates if early == pytest.approx(late, rel=0.02)]
        declared = ours.functions.get("tail", lambda *shapes: np.inf)(*(factor * shapes))
        np.testing.assert_allclose(1.0 / declared, max(powers, default=0.0), rtol=0.02, atol=1e-12)


@pytest.mark.exhaustive
def test_means_of_functions_and_their_derivatives() -> None:
    def call(s: Any) -> Any:
        return stats.lognorm.expect(lambda x: np.maximum(x - 1.0, 0.0), (s,), lb=1.0)

    def exact(s: Any) -> Any:
        return pn.exp(0.5 * s * s) * stats.norm.cdf(s) - 0.5

    for order in range(2):
        np.testing.assert_allclose(call(0.5), exact(0.5), rtol=1e-9, err_msg=str(order))
        call, exact = primad.grad(call), primad.grad(exact)
    above = partial(stats.norm.expect, lambda x: x**2, scale=2.0, lb=0.0, conditional=True)
    assert primad.jit(lambda m: above(loc=m))(0.3) == pytest.approx(scipy.stats.norm.expect(
        lambda x: x**2, loc=0.3, scale=2.0, lb=0.0, conditional=True), rel=1e-9)  # fmt: skip
    assert primad.grad(lambda a: stats.gamma(a, scale=2.0).expect(lambda x: x * x))(1.5) == pytest.approx(16.0)
    assert primad.grad(lambda a: stats.gamma(a, scale=2.0).moment(2))(1.5) == pytest.approx(16.0)
    np.testing.assert_allclose(
        primad.jit(lambda a: stats.burr.mean(a, 2.0))(np.array([1.5, 0.8])), [scipy.stats.burr.mean(1.5, 2.0), np.inf]
    )
    np.testing.assert_allclose(
        primad.jit(lambda a: stats.gamma(a).interval(0.9))(1.5), scipy.stats.gamma(1.5).interval(0.9)
    )
    with pytest.raises(primad.PrimadError, match=r"(?s)fall like a power.*Fix: logpmf, pmf"):
        primad.grad(lambda a: stats.yulesimon.expect(lambda k: k, (a,)))(1.0)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [name for name in NAMES if getattr(stats, name).discrete and name != "yulesimon"])
def test_sums_over_whole_numbers_are_scipys(name: str) -> None:
    ours, theirs, p = getattr(stats, name), getattr(scipy.stats, name), SHAPES[name]

    def found(each: Any, last: Any) -> list[Any]:
        shapes = (*p[:-1], last)
        bounded = {"lb": 3, "ub": 5, "loc": 2, "conditional": True} if name != "bernoulli" else {}
        means = [each.expect(np.cos, shapes, 2), each.expect(None, shapes, **bounded)]
        return [*each.stats(*shapes, 2, moments="mvsk"), each.moment(3, *shapes, 2), *means]

    expected = found(theirs, p[-1])
    np.testing.assert_allclose(primad.jit(partial(found, ours))(p[-1]), expected, rtol=1e-9, atol=1e-12)
    if name != "randint":  # whose ends have no derivatives
        mean, var = ours.mean(*p), primad.grad(lambda last: ours.var(*p[:-1], last))
        about = primad.grad(lambda last: ours.expect(lambda x: (x - mean) ** 2, (*p[:-1], last)))
        assert about(p[-1]) == pytest.approx(var(p[-1]), rel=1e-9)


def test_sums_that_are_long_or_do_not_end() -> None:
    """Derivatives of E[k] = 1/p, of many numbers; NaN where it would take too many; functions that grow."""
    mean = primad.grad(lambda p: stats.geom.expect(None, (p,)))
    assert mean(1e-3) == pytest.approx(-1e6, rel=1e-10) and np.isnan(mean(1e-9))
    third = primad.grad(primad.grad(lambda mu: stats.poisson(mu).expect(lambda k: k**3)))(3.2)
    assert third == pytest.approx(6 * 3.2 + 6, rel=1e-12)
    growing = primad.grad(lambda mu: stats.poisson.expect(np.exp, (mu,)))(3.0)
    assert growing == pytest.approx((np.e - 1) * np.exp(3 * (np.e - 1)), rel=1e-12)
    np.testing.assert_allclose(primad.jit(lambda p: stats.geom.moment(2, p))(np.array([0.1, 0.5])), [190.0, 6.0])
    assert np.isnan(primad.jit(lambda p: stats.geom.moment(2, p))(-1.0))


def test_moments_near_the_order_of_the_tail() -> None:
    """Of x² where the density falls like x to the power of −3.01; and a lognormal one, most of which lies far out."""
    found = primad.grad(lambda b: stats.pareto.moment(2, b))(2.01)
    assert found == pytest.approx(-2.0 / 0.01**2, rel=1e-6)
    assert np.isnan(primad.jit(lambda s: stats.lognorm.moment(4, s))(6.0))
    kurtosis = primad.jit(lambda a: stats.johnsonsb.stats(a, 1.3, moments="k"))(0.4)
    weigh = partial(scipy.stats.johnsonsb.pdf, a=0.4, b=1.3)

    def centred(mean: float, order: int) -> float:
        return scipy.integrate.quad(lambda x: (x - mean) ** order * weigh(x), 0, 1, epsabs=1e-13)[0]

    mean = centred(0.0, 1)
    assert kurtosis == pytest.approx(centred(mean, 4) / centred(mean, 2) ** 2 - 3.0, rel=1e-9)


# -- vectors -----------------------------------------------------------------------------------------------------------


def test_draws_of_normal_vectors_have_their_moments() -> None:
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    found = stats.multivariate_normal.rvs(mean, cov, size=8000, key=2)
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(found.T), cov, atol=0.08)
    product = primad.grad(lambda c: pn.mean(pn.prod(stats.multivariate_normal(mean, c).rvs(8000, key=2), axis=-1)))(cov)
    np.testing.assert_allclose(product, [[0.0, 0.5], [0.5, 0.0]], atol=0.06)  # E[xy] = m₀·m₁ + c₀₁
    assert stats.multivariate_normal.rvs(mean, cov, key=1).shape == (2,)
    assert stats.multivariate_normal.rvs(0.5, 2.0, size=3, key=1).shape == (3,)


@pytest.mark.parametrize("alpha", [(1.3, 2.2, 0.7), (0.001, 0.002, 0.004)])
def test_draws_of_shares_have_their_moments_and_derivatives(alpha: tuple[float, ...]) -> None:
    a = np.array(alpha)
    found = stats.dirichlet.rvs(a, size=8000, key=4)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0)
    np.testing.assert_allclose(found.mean(axis=0), scipy.stats.dirichlet.mean(a), atol=0.025)
    np.testing.assert_allclose(found.var(axis=0), scipy.stats.dirichlet.var(a), atol=0.02)
    if a.min() < 0.1:  # whose derivatives are those of rare draws
        return
    slope = primad.jacobian(lambda a: pn.mean(stats.dirichlet.rvs(a, size=8000, key=4), axis=0))(a)
    exact = primad.jacobian(lambda a: a / pn.sum(a))(a)
    np.testing.assert_allclose(slope, exact, atol=0.1 * np.abs(exact).max())


def test_draws_of_counts_have_their_mean_and_no_derivative() -> None:
    p = np.array([0.2, 0.3, 0.5])
    found = primad.jit(lambda key, p: stats.multinomial(7, p).rvs(3000, key=key))(3, p)
    assert found.shape == (3000, 3) and found.dtype == np.int64 and (found.sum(axis=-1) == 7).all()
    np.testing.assert_allclose(found.mean(axis=0), 7.0 * p, atol=0.1)
    keys = np.arange(2)
    np.testing.assert_array_equal(
        primad.vmap(lambda key: stats.multinomial.rvs(7, p, 2, key=key))(keys), stats.multinomial.rvs(7, p, 2, key=keys)
    )
    with pytest.raises(primad.PrimadError, match=r"draws of scipy.stats.multinomial in its parameters"):
        primad.grad(lambda p: stats.multinomial.rvs(7, p, key=0).sum() * 1.0)(p)
    for draw in (stats.dirichlet.rvs, stats.multivariate_normal.rvs):
        with pytest.raises(primad.PrimadError, match="without a key"):
            primad.grad(lambda a, draw=draw: draw(a).sum())(p)
