"""Special functions and their derivatives to order 2 against mpmath: near 0, near poles, and far in their tails."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import primad
from primad import ops
from primad.numpy import special
from primad.ops.special.series import PSI
from tests.sweeps import thinned

mp = mpmath.MPContext()
mp.dps = 40
ORDER = 2
BOUND = 1e-12
"""Of the error of a derivative, over how much it moves when its argument moves by as many of the argument's digits."""
VALUE = 1e-10
"""Of the error of a value, which is SciPy's own."""
TINY = 1e-25
NEAR, FAR = (-8.0, -2.0, -0.4, 1e-3, 0.7, 3.0, 9.0), (-30.0, 30.0, 1e3)
POSITIVE = (1e-6, 1e-2, 0.7, 2.5, 11.0, 60.0)
Table = dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[float, ...]]]


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(mp.mpf(a), mp.mpf(b), 0, mp.mpf(x), regularized=True)


UNARY: Table = {
    "erfcinv": (special.erfcinv, lambda x: mp.erfinv(1 - x), (1e-9, 1e-3, 0.4, 1.7)),
    "erfi": (special.erfi, mp.erfi, NEAR),
    "erfcx": (special.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), (*NEAR, 30.0, 1e3)),
    "dawsn": (special.dawsn, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (*NEAR, 15.0)),
    "ndtri": (special.ndtri, lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1), (1e-9, 0.2, 0.7, 0.97)),
    "log_ndtr": (special.log_ndtr, lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), (*NEAR, -30.0)),
    "logit": (special.logit, lambda x: mp.log(x / (1 - x)), (1e-9, 0.2, 0.6, 1 - 1e-9)),
    "log_expit": (special.log_expit, lambda x: -mp.log(1 + mp.exp(-x)), (*NEAR, *FAR)),
    "gamma": (special.gamma, mp.gamma, (*POSITIVE, -0.5, -3.2)),
    "rgamma": (special.rgamma, mp.rgamma, (*POSITIVE, 0.0, -3.0, -3.2, -4.0)),
    "gammaln": (special.gammaln, lambda x: mp.log(abs(mp.gamma(x))), (*POSITIVE, -100.5, -3.2)),
    "beta in a": (lambda x: special.beta(x, 0.3), lambda x: mp.beta(x, mp.mpf(0.3)), (*POSITIVE, 1e3)),
    "betaln in b": (lambda x: special.betaln(1e6, x), lambda x: mp.log(mp.beta(mp.mpf(1e6), x)), POSITIVE),
    "betaln in a": (lambda x: special.betaln(x, 2.0), lambda x: -mp.log(x * (x + 1)), (0.3, 2.0, 1e6)),
    "binom in n": (lambda x: special.binom(x, 2.5), lambda x: mp.binomial(x, mp.mpf(2.5)), (3.0, 8.5, 200.0)),
    "binom in k": (lambda x: special.binom(9.0, x), lambda x: mp.binomial(9, x), (0.5, 3.2, 8.0)),
    "poch in m": (lambda x: special.poch(3.5, x), lambda x: mp.rf(mp.mpf(3.5), x), (1e-3, 2.0, 7.5)),
    "poch in z": (lambda x: special.poch(x, 0.5), lambda x: mp.rf(x, mp.mpf(0.5)), (0.2, 2.0, 1e6)),
    "j0": (special.j0, lambda x: mp.besselj(0, x), (*NEAR, 25.0)),
    "j1": (special.j1, lambda x: mp.besselj(1, x), (*NEAR, 25.0)),
    "jv": (lambda x: special.jv(2.5, x), lambda x: mp.besselj(2.5, x), (0.2, 1.0, 4.0, 25.0)),
    "jn": (lambda x: special.jn(-3, x), lambda x: mp.besselj(-3, x), (0.2, 1.0, 4.0, 25.0)),
    "y0": (special.y0, lambda x: mp.bessely(0, x), (0.2, 25.0)),
    "yv": (lambda x: special.yv(0.75, x), lambda x: mp.bessely(0.75, x), (1e-3, 0.2, 1.0, 4.0, 25.0)),
    "k0": (special.k0, lambda x: mp.besselk(0, x), (0.2, 30.0)),
    "kv": (lambda x: special.kv(1.25, x), lambda x: mp.besselk(1.25, x), (1e-3, 0.2, 1.0, 4.0, 25.0)),
    "iv": (lambda x: special.iv(0.5, x), lambda x: mp.besseli(0.5, x), (1e-3, 0.2, 1.0, 4.0, 25.0)),
    "airy Ai": (lambda x: special.airy(x)[0], mp.airyai, NEAR),
    "airy Bi": (lambda x: special.airy(x)[2], mp.airybi, NEAR),
    "exp1": (special.exp1, mp.e1, (1e-6, 0.1, 1.0, 8.0, 300.0)),
    "expi": (special.expi, mp.ei, (-8.0, -0.4, 0.1, 3.0, 60.0)),
    "expn": (lambda x: special.expn(3, x), lambda x: mp.expint(3, x), (1e-3, 0.1, 1.0, 8.0, 300.0)),
    "exprel": (special.exprel, lambda x: mp.expm1(x) / x, (-300.0, *NEAR, 1e-9, 30.0, 300.0)),
    "gammainc in x": (
        lambda x: special.gammainc(30.0, x),
        lambda x: mp.gammainc(30, 0, x, regularized=True),
        (0.3, 12.0, 30.0, 60.0),
    ),
    "gammaincc in a": (
        lambda a: special.gammaincc(a, 2.5),
        lambda a: mp.gammainc(a, 2.5, mp.inf, regularized=True),
        (0.05, 0.4, 1.2, 2.9, 14.0, 60.0),
    ),
    "gammainc in a, small": (
        lambda a: special.gammainc(a, 1e-4),
        lambda a: mp.gammainc(a, 0, mp.mpf(1e-4), regularized=True),
        (0.1, 1.0, 7.0),
    ),
    "gammainc in a, large": (
        lambda a: special.gammainc(a, 1e3),
        lambda a: mp.gammainc(a, 0, 1000, regularized=True),
        (900.0, 999.0, 1001.0, 1100.0),
    ),
    "gammaincc in a, tiny": (
        lambda a: special.gammaincc(a, 0.3),
        lambda a: mp.gammainc(a, mp.mpf(0.3), mp.inf, regularized=True),
        (1e-3, 1e-2),
    ),
    "betainc in a": (lambda a: special.betainc(a, 0.4, 0.7), lambda a: _betainc(a, 0.4, 0.7), (1e-3, 0.3, 4.0, 60.0)),
    "betainc in b": (lambda b: special.betainc(30.0, b, 0.9), lambda b: _betainc(30, b, 0.9), (0.01, 1.2, 3.0, 40.0)),
    "betainc in b, far": (lambda b: special.betainc(2500.0, b, 0.999), lambda b: _betainc(2500, b, 0.999), (2.0, 3.5)),
    "betainc in x": (lambda x: special.betainc(2.5, 0.4, x), lambda x: _betainc(2.5, 0.4, x), (1e-4, 0.5, 0.99)),
    "betaincc in a": (lambda a: special.betaincc(a, 7.0, 1e-3), lambda a: 1 - _betainc(a, 7, 1e-3), (0.01, 0.5, 2.0)),
    "betaincinv in a": (
        lambda a: special.betaincinv(a, 1.0, 0.3),
        lambda a: mp.mpf(0.3) ** (1 / a),
        (0.05, 0.7, 40.0),
    ),
    "betainccinv in b": (
        lambda b: special.betainccinv(1.0, b, 0.3),
        lambda b: 1 - mp.mpf(0.3) ** (1 / b),
        (0.2, 0.7, 40.0),
    ),
    "entr": (special.entr, lambda x: -x * mp.log(x), POSITIVE),
    "rel_entr": (lambda x: special.rel_entr(0.3, x), lambda x: mp.mpf(0.3) * mp.log(0.3 / x), (1e-9, 0.29, 7.0)),
    "cosm1": (special.cosm1, lambda x: mp.cos(x) - 1, (1e-6, 0.3, 2.0)),
    "boxcox in λ": (lambda x: special.boxcox(3.0, x), lambda x: (mp.mpf(3) ** x - 1) / x, (-2.0, 1e-9, 0.3, 4.0)),
    "boxcox1p": (lambda x: special.boxcox1p(x, 0.5), lambda x: (mp.sqrt(1 + x) - 1) * 2, (1e-9, 0.3, 40.0)),
    "inv_boxcox": (lambda x: special.inv_boxcox(0.8, x), lambda x: (1 + x * 0.8) ** (1 / x), (1e-7, 0.01, 0.1, 3.0)),
    "inv_boxcox1p": (lambda x: special.inv_boxcox1p(x, 0.5), lambda x: (1 + x / 2) ** 2 - 1, (1e-9, 0.3, 4.0)),
    "pseudo_huber": (
        lambda x: special.pseudo_huber(0.5, x),
        lambda x: (mp.sqrt(1 + 4 * x * x) - 1) / 4,
        (1e-6, 0.3, 4.0),
    ),
}


@pytest.mark.one_in(4)
@thinned(2, name=list(UNARY), part=range(2))
def test_values_and_derivatives(name: str, part: int) -> None:
    ours, exact, points = UNARY[name]
    points = points[part::2]
    x = np.array(points)
    found = [np.asarray(primad.derivative(ours, order)(x) if order else ours(x)) for order in range(ORDER + 1)]
    for i, at in enumerate(points):
        centre = mp.mpf(at) if at else mp.mpf(TINY)  # next to what is removable
        known = [c * mp.factorial(k) for k, c in enumerate(mp.taylor(exact, centre, ORDER + 1, chop=False))]
        for order in range(1, ORDER + 1):
            scale = abs(known[order]) + abs(centre * known[order + 1])
            error = abs(mp.mpf(float(found[order][i])) - known[order])
            said = f"order {order} at {at}: {found[order][i]!r}, not {mp.nstr(known[order], 17)}"
            assert error <= BOUND * scale, said
        assert float(known[0]) == pytest.approx(
            found[0][i], rel=VALUE, abs=VALUE * float(abs(centre * known[1])) + TINY
        )


TOGETHER: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], int]] = {
    "gammainc": (
        lambda t: special.gammainc(1.3 + t, 0.7 + 0.6 * t),
        lambda t: mp.gammainc(1.3 + t, 0, 0.7 + 0.6 * t, regularized=True),
        5,
    ),
    "betainc": (
        lambda t: special.betainc(1.3 + 0.4 * t, 2.1 - t, 0.4 + 0.3 * t),
        lambda t: _betainc(1.3 + 0.4 * t, 2.1 - t, 0.4 + 0.3 * t),
        4,
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_derivatives_in_all_arguments_at_once(name: str) -> None:
    """Of orders at which densities have been differentiated in a parameter several times, and then in x."""
    ours, exact, most = TOGETHER[name]
    known = [c * mp.factorial(k) for k, c in enumerate(mp.taylor(exact, mp.mpf(0), most))]
    for order in range(1, most + 1):
        assert primad.derivative(ours, order)(0.0) == pytest.approx(float(known[order]), rel=1e-8)


def test_a_product_with_a_logarithm_has_a_slope_where_it_vanishes() -> None:
    """Both are smooth at x = 0, unless the logarithm is infinite: there a convention holds."""
    slope, mixed = primad.grad(special.xlogy), primad.grad(lambda y: primad.grad(special.xlogy)(0.0, y))
    assert slope(0.0, 3.0) == pytest.approx(np.log(3.0)) and mixed(4.0) == 0.25
    assert primad.grad(special.xlog1py)(0.0, 2.0) == pytest.approx(np.log(3.0))
    assert slope(0.0, 0.0) == 0.0 == slope(0.0, np.inf)


EDGES = {
    "entr": (special.entr, (0.0,), (np.inf,)),
    "rel_entr": (special.rel_entr, (0.0, 2.0), (-np.inf, 0.0)),
    "kl_div": (special.kl_div, (0.0, 2.0), (-np.inf, 1.0)),
    "xlogy": (special.xlogy, (0.0, 2.0), (np.log(2.0), 0.0)),
    "xlog1py": (special.xlog1py, (0.0, 0.5), (np.log(1.5), 0.0)),
    "huber": (special.huber, (0.0, -2.0), (2.0, 0.0)),
    "pseudo_huber": (special.pseudo_huber, (0.0, -2.0), (2.0, 0.0)),
    "boxcox, of 0": (special.boxcox, (0.0, 2.0), None),
    "boxcox, of 0, negative": (special.boxcox, (0.0, -2.0), None),
    "boxcox, the logarithm of 0": (special.boxcox, (0.0, 0.0), None),
    "boxcox, infinite": (special.boxcox, (np.inf, -2.0), None),
    "boxcox1p, of -1": (special.boxcox1p, (-1.0, 2.0), None),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_have_scipys_values_and_the_slopes_that_they_tend_to(name: str) -> None:
    """A value that is a constant at an edge is none beside it: its slope is the limit, and not 0."""
    function, at, slopes = EDGES[name]
    with np.errstate(all="ignore"):
        assert primad.jit(function)(*at) == function(*at)
        if slopes is not None:
            assert primad.grad(lambda *xs: function(*xs), tuple(range(len(at))))(*at) == slopes


def test_the_bernoulli_numbers_are_those_of_their_recurrence() -> None:
    wanted = [mp.bernoulli(2 * k) for k in range(1, len(PSI.numbers) + 1)]
    np.testing.assert_allclose(PSI.numbers, [float(x) for x in wanted], rtol=1e-15)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [1, 12, 149, 170])
def test_derivatives_of_digamma_of_negative_numbers_are_accurate(n: int) -> None:
    """Of all orders, and where the derivative of the cotangent is zero or larger than any double number."""
    halves = np.array([-0.5, -1.5, -3.5])
    x = np.concatenate([halves, np.random.default_rng(3).uniform(-6, 0, 6)])
    with np.errstate(all="ignore"):
        found = ops.polygamma.numpy(x, n=n)
    with mpmath.workdps(700):  # powers cancel
        for a, value in zip(x, found, strict=True):
            exact, slope = (mpmath.psi(order, mpmath.mpf(a)) for order in (n, n + 1))
            condition = 1 if a in halves else 1 + abs(float(a * slope / exact))
            if abs(exact) < sys.float_info.max:
                assert abs(value / exact - 1) <= 64 * condition * sys.float_info.epsilon
            else:
                assert value == math.copysign(math.inf, exact)


@pytest.mark.parametrize("n", [171, 700, 3000])
def test_derivatives_of_digamma_are_infinite_where_factorials_are(n: int) -> None:
    with np.errstate(all="ignore"):
        found = ops.polygamma.numpy(np.array([-0.25, -0.75, -1.0]), n=n)
    signs = [1.0, 1.0, 1.0] if n % 2 else [1.0, -1.0, -1.0]
    np.testing.assert_array_equal(found, np.inf * np.array(signs))
