"""Families of special functions against mpmath, and SciPy's functions that are made of them against SciPy."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import primad
import primad.scipy.special as special
import primad.scipy.stats as stats
from primad import ops
from primad.numpy import special as recorded
from primad.numpy.special_functions import members
from primad.ops.special.members import MEMBERS
from primad.verify.exact.high_precision import Precise

NUMBERS = Precise(40)
STEP = NUMBERS.context.mpf(10) ** -10


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [name for name, family in MEMBERS.items() if family.tried and name != "lpmv"])
def test_values_and_derivatives(name: str) -> None:
    family = MEMBERS[name]
    low, high = family.domain
    points = np.array([low + 0.13 * (high - low), low + 0.71 * (high - low)])
    for p in family.tried[:2]:
        found = [primad.derivative(lambda x, p=p: ops.member(x, of=name, p=p), k)(points) for k in (1, 2)]
        value = ops.member.numpy(points, of=name, p=p)
        for i, x in enumerate(points):
            at = NUMBERS.context.mpf(float(x))
            below, exact, above = [
                NUMBERS.context.re(family.meaning(NUMBERS, at + h, *p)) for h in (-STEP, NUMBERS.context.mpf(0), STEP)
            ]
            slopes = (above - below) / (2 * STEP), (above - 2 * exact + below) / STEP**2
            assert value[i] == pytest.approx(float(exact), rel=1e-12, abs=1e-14)
            for order, slope in enumerate(slopes):
                assert found[order][i] == pytest.approx(float(slope), rel=1e-10, abs=1e-12), (p, x, order + 1)


INTEGRALS = [
    (0.0, (0.5, 0.5, 0.5, 0.0)), (0.0, (0.5, 1.5, 1.5, 0.0)), (0.0, (0.5, 0.5, 1.5, 0.0)), (0.0, (0.5, 0.5, 0.5, 1.0)),
    (0.0, (0.5, 1.5, 0.5, 1.0)), (0.0, (0.5, 0.5, 0.5, 2.0)), (0.0, (0.5, 1.0, 0.0, 0.0)), (0.0, (1.5, 1.0, 0.0, 0.0)),
    (1.0, (1.5, 0.5, 0.5, 0.0)), (1.0, (1.5, 1.5, 0.5, 0.0)),
]  # fmt: skip
"""The powers of Carlson's integrals, and of their derivatives."""


@pytest.mark.parametrize(("power", "powers"), INTEGRALS)
def test_elliptic_integrals_are_what_they_mean(power: float, powers: tuple[float, ...]) -> None:
    x = (0.3, 1.2, 2.0, 0.7)
    numbers = Precise(15)
    meant = ops.power_integral.meaning(numbers, *map(numbers.context.mpf, x), power=power, powers=powers)
    found = ops.power_integral.numpy(*map(np.float64, x), power=power, powers=powers)
    assert float(found) == pytest.approx(float(meant), rel=1e-9)


ARGUMENTS: dict[str, tuple[float, ...]] = {
    "elliprf": (0.3, 1.2, 2.0), "elliprd": (0.3, 1.2, 2.0), "elliprj": (0.3, 1.2, 2.0, 0.7), "elliprc": (0.3, 1.2),
    "elliprg": (0.3, 1.2, 2.0), "ellipk": (0.6,), "ellipkm1": (0.3,), "ellipe": (0.6,), "ellipkinc": (2.3, 0.6),
    "ellipeinc": (2.3, 0.6), "ellipj": (1.7, 0.6), "agm": (1.3, 0.4), "bdtr": (0.3,), "bdtrc": (0.3,),
    "bdtri": (0.3,), "nbdtr": (0.3,), "nbdtrc": (0.3,), "nbdtri": (0.3,),
    "pdtr": (2.5, 1.3), "pdtrc": (2.5, 1.3), "pdtri": (2.5, 0.3), "chdtr": (2.5, 1.3), "chdtrc": (2.5, 1.3),
    "chdtri": (2.5, 0.3), "gdtr": (2.5, 1.3, 0.7), "gdtrc": (2.5, 1.3, 0.7), "gdtrix": (2.5, 1.3, 0.7),
    "gdtria": (0.25, 1.3, 0.7), "fdtr": (2.5, 1.3, 0.7), "fdtrc": (2.5, 1.3, 0.7), "fdtri": (2.5, 3.3, 0.4),
    "stdtr": (2.5, 1.3), "stdtrit": (2.5, 0.3), "ndtri_exp": (-0.8,), "nrdtrimn": (0.3, 1.2, 0.5),
    "nrdtrisd": (0.3, 0.2, 0.1), "comb": (7.0, 2.5), "perm": (7.0, 2.5), "factorial": (3.2,), "cosdg": (33.0,),
    "sindg": (333.0,), "tandg": (33.0,), "cotdg": (33.0,), "exp10": (0.7,), "gammasgn": (-1.5,), "loggamma": (2.5,),
    "owens_t": (0.7, 0.4), "powm1": (1.2, 0.4), "radian": (3.0, 2.0, 1.0), "round": (2.3,),
    "voigt_profile": (0.3, 1.2, 0.4), "zeta": (2.5, 1.3), "zetac": (2.5,), "lambertw": (0.7,), "wofz": (0.7,),
    **dict.fromkeys((
        "airy", "cbrt", "cosm1", "dawsn", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfi", "erfinv",
        "exp1", "exp2", "expi", "expit", "expm1", "expn", "exprel", "gamma", "gammaln", "i0", "i1", "iv", "j0", "j1",
        "jn", "jv", "k0", "k1", "kn", "kv", "log1p", "log_expit", "log_ndtr", "log_softmax", "logit", "logsumexp",
        "ndtr", "ndtri", "polygamma", "psi", "rgamma", "softmax", "softplus", "y0", "y1", "yn", "yv", "diric",
    ), (0.7,)),
    **dict.fromkeys((
        "beta", "betaln", "boxcox", "boxcox1p", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "huber",
        "inv_boxcox", "inv_boxcox1p", "kl_div", "poch", "pseudo_huber", "rel_entr", "xlog1py", "xlogy",
    ), (1.3, 0.4)),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), (1.3, 0.7, 0.4)),
    "binom": (7.0, 2.5), "multigammaln": (2.3,), "sph_harm_y": (0.7, 0.4),
}  # fmt: skip
"""Of functions whose arguments are all traced."""
LAST: dict[str, tuple[int, ...]] = {"diric": (5,), "multigammaln": (3,)}
"""Plain parameters that come last."""
PLAIN: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("expn", "iv", "jn", "jv", "kn", "kv", "yn", "yv", "polygamma"), (2,)),
    **{"eval_jacobi": (3, 0.5, 1.0), "lpmv": (1, 2), "sph_harm_y": (2, 1), "eval_sh_jacobi": (3, 2.0, 1.0)},
    **dict.fromkeys(("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"), (2, 7)),
}
"""Plain parameters of functions that do not take the usual ones."""
USUAL = (2, 1.5, 2.5)
PYTHON: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"), (2, 0.7, 2)),
    **dict.fromkeys(("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"), (2, 0.7, True)),
}


def parts(results: Any) -> list[Any]:
    """Return the real numbers that results consist of."""
    several = results if isinstance(results, tuple) else (results,)
    return [part for x in several for part in ((x.real, x.imag) if np.iscomplexobj(x) else (x,))]


@pytest.mark.one_in(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(name for name in special.__all__ if hasattr(scipy.special, name)))
def test_scipys_values_and_slopes(name: str) -> None:
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    if name in ARGUMENTS:
        before, traced, after = PLAIN.get(name, ()), ARGUMENTS[name], LAST.get(name, ())
    elif name in PYTHON:
        before, traced, after = PYTHON[name][:1], PYTHON[name][1:2], PYTHON[name][2:]
    else:
        before, traced, after = PLAIN.get(name, USUAL[: len(members.TABLE[name].params)]), (0.7,), ()

    def call(*xs: Any) -> list[Any]:
        return parts(ours(*before, *xs, *after))

    found, expected = primad.jit(call)(*traced), parts(theirs(*before, *traced, *after))
    np.testing.assert_allclose(found, expected, rtol=2e-13, atol=1e-15)
    primad.check_grads(lambda *xs: sum(call(*xs)), traced, order=1)


@pytest.mark.parametrize("name", [name for name in members.TABLE if name.startswith("eval_")])
def test_polynomials_and_their_slopes_are_scipys_at_every_degree(name: str) -> None:
    """They are those of the polynomial through SciPy's values."""
    ours, theirs, points = getattr(special, name), getattr(scipy.special, name), np.array([-0.4, 0.3, 0.9, 1.0])
    others = PLAIN.get(name, USUAL)[1 : len(members.TABLE[name].params)]
    for degree in (0, 1, 2, 3, 6):
        nodes = np.linspace(-1, 1, degree + 1)
        exact = np.polynomial.Polynomial.fit(nodes, theirs(degree, *others, nodes), degree, domain=[-1, 1])
        for order in range(3):
            f = primad.derivative(lambda x, n=degree: ours(n, *others, x), order) if order else None
            found = f(points) if f else primad.trace(lambda x, n=degree: ours(n, *others, x))(points)(points)
            expected = exact.deriv(order)(points)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * np.max(np.abs(exact.coef)))


def test_a_t_distribution_has_its_derivatives_at_its_centre() -> None:
    """Near 0 it is a series, whose derivatives are those of the function beside it; and its inverse undoes it."""
    for order in (1, 2, 3):
        of_t = primad.derivative(lambda t: special.stdtr(3.5, t), order)
        of_p = primad.derivative(lambda p: special.stdtrit(3.5, p), order)
        np.testing.assert_allclose([of_t(0.0), of_p(0.5)], [of_t(1e-5), of_p(0.50001)], rtol=1e-5, atol=1e-3)
    for order in (1, 2, 3, 4, 5):
        both = primad.derivative(lambda p: special.stdtr(3.5, special.stdtrit(3.5, p)), order)
        assert both(0.5) == pytest.approx(float(order == 1), abs=1e-10)
        slope = primad.derivative(lambda t: special.stdtr(3.5, t), order)
        density = primad.derivative(lambda t: stats.t.pdf(t, 3.5), order - 1) if order > 1 else scipy.stats.t(3.5).pdf
        assert slope(0.0) == pytest.approx(density(0.0), rel=1e-12)


def test_an_order_that_is_traced_is_refused_with_a_way_out() -> None:
    with pytest.raises(primad.TracingError, match=r"hyp2f1 of a traced order(?s:.*)Fix: "):
        primad.grad(lambda a: special.hyp2f1(a, 1.0, 2.0, 0.3))(0.5)


EXTREME: tuple[tuple[str, tuple[float, ...], Any], ...] = (
    (
        "stdtr",
        (50.0, -7.0),
        lambda m, df, t: m.betainc(df / 2, m.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2,
    ),
    (
        "stdtr",
        (1e4, -25.3),
        lambda m, df, t: m.betainc(df / 2, m.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2,
    ),
    ("boxcox", (1e-18, 1.5), lambda m, x, p: (x**p - 1) / p),
    ("boxcox", (1e-18, 1e-3), lambda m, x, p: (x**p - 1) / p),
    ("boxcox1p", (1e9, -2.0), lambda m, x, p: ((1 + x) ** p - 1) / p),
    ("ellipkinc", (math.pi / 2, -5.0), lambda m, phi, k: m.ellipf(phi, k)),
    ("ellipkinc", (-4.7123889, 0.9), lambda m, phi, k: m.ellipf(phi, k)),
    ("ellipeinc", (math.pi / 2, 0.999), lambda m, phi, k: m.ellipe(phi, k)),
    ("ellipeinc", (1.570796, -50.0), lambda m, phi, k: m.ellipe(phi, k)),
    ("ellipeinc", (2.4, 0.999), lambda m, phi, k: m.ellipe(phi, k)),
    ("ellipkinc", (0.7, -1e-14), lambda m, phi, k: m.ellipf(phi, k)),
    ("ellipkinc", (-8.3, 1e-12), lambda m, phi, k: m.ellipf(phi, k)),
    ("ellipkinc", (1.8, 0.9999), lambda m, phi, k: m.ellipf(phi, k)),
    ("ellipkinc", (2.3, -1e20), lambda m, phi, k: m.ellipf(phi, k)),
    ("ellipeinc", (2.3, 1e-14), lambda m, phi, k: m.ellipe(phi, k)),
    ("ellipeinc", (4.6, -1e-12), lambda m, phi, k: m.ellipe(phi, k)),
    ("ellipeinc", (0.7, -1e20), lambda m, phi, k: m.ellipe(phi, k)),
    ("ellipj", (1e-9, 1.0 - 1e-12), lambda m, u, k: m.ellipfun("sn", u=u, m=k)),
    ("it2i0k0", (1e-13,), lambda m, x: x * x / 8 * m.hyper([1, 1], [2, 2, 2], x * x / 4)),
    ("it2j0y0", (1e-13,), lambda m, x: x * x / 8 * m.hyper([1, 1], [2, 2, 2], -x * x / 4)),
    ("spence", (1e-18,), lambda m, x: m.polylog(2, 1 - x)),
)
"""Places where terms of a formula cancel: names, arguments, and what the function is in mpmath."""


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name, at, meaning", EXTREME, ids=[f"{name}{at}" for name, at, _ in EXTREME])
def test_first_and_second_derivatives_where_terms_may_cancel(name: str, at: tuple[float, ...], meaning: Any) -> None:
    m, places = NUMBERS.context, tuple(range(len(at)))
    precise = [m.mpf(x) for x in at]

    def function(*xs: Any) -> Any:
        found = getattr(special, name)(*xs)
        return found[0] if isinstance(found, tuple) else found

    def moved(i: int, j: int, h: float, k: float) -> Any:
        xs = list(precise)
        xs[i] += h * STEP * abs(precise[i])
        xs[j] += k * STEP * abs(precise[j])
        return m.re(meaning(m, *xs))

    with m.workdps(60):
        assert primad.jit(function)(*at) == pytest.approx(float(m.re(meaning(m, *precise))), rel=1e-11, abs=0.0)
        for i in places:
            slope = (moved(i, i, 1, 0) - moved(i, i, -1, 0)) / (2 * STEP * abs(precise[i]))
            assert primad.grad(function, i)(*at) == pytest.approx(float(slope), rel=1e-10, abs=0.0)
            for j in places[: i + 1]:
                four = moved(i, j, 1, 1) - moved(i, j, 1, -1) - moved(i, j, -1, 1) + moved(i, j, -1, -1)
                second = four / (4 * STEP * STEP * abs(precise[i] * precise[j]))
                found = primad.grad(primad.grad(function, i), j)(*at)
                assert found == pytest.approx(float(second), rel=1e-9, abs=1e-13 * abs(float(slope))), (i, j)


def test_an_elliptic_integral_of_floats_of_32_bits_does_not_turn_at_a_quarter() -> None:
    for phi in np.float32(np.pi / 2) + np.array([-1e-6, 0.0, 1e-6], np.float32):
        for m in (-5.0, 0.5, 1.0):
            slope = primad.grad(special.ellipeinc)(phi, np.float32(m))
            assert slope == pytest.approx(math.sqrt(1.0 - m * math.sin(float(phi)) ** 2), rel=1e-5, abs=2e-6)
            assert primad.jit(special.ellipeinc)(phi, np.float32(m)) == pytest.approx(
                scipy.special.ellipeinc(phi, m), 1e-6
            )


def test_third_derivatives_of_elliptic_integrals_near_those_of_circles() -> None:
    """Of a parameter next to 0 those of both kinds are ±m·cos 2φ, and what is left is m²."""
    phi, m = np.array([0.3, 1.0, -2.4, 8.1]), np.array([1e-20, -1e-12, 1e-200, -1e-40])
    for function, sign in ((special.ellipkinc, 1.0), (special.ellipeinc, -1.0)):
        third = primad.derivative(lambda phi, f=function: f(phi, m), 3)(phi)
        np.testing.assert_allclose(third, sign * m * np.cos(2.0 * phi), rtol=1e-11)


@pytest.mark.parametrize("name, points", [
    ("zeta", [-2.5, -1.0, 0.0, 0.3, 0.999, 1.0, 2.0]), ("zetac", [-2.5, 0.0, 0.3, 1.0, 3.0]),
    ("i0e", [np.inf]), ("i1e", [np.inf]), ("k0e", [np.inf]), ("k1e", [np.inf]),
    ("wofz", [np.inf, -np.inf, 0.0]), ("loggamma", [0.0, -1.5, np.inf]),
])  # fmt: skip
def test_values_are_scipys_at_edges(name: str, points: list[float]) -> None:
    at = np.array(points)
    np.testing.assert_allclose(primad.jit(getattr(special, name))(at), getattr(scipy.special, name)(at), rtol=1e-12)


def test_slopes_of_zeta_functions_between_0_and_1() -> None:
    x = np.array([0.1, 0.5, 0.95])
    wanted = [float(NUMBERS.context.zeta(float(s), 1, 1)) for s in x]
    for function in (special.zeta, special.zetac):
        np.testing.assert_allclose(primad.grad(lambda x, f=function: np.sum(f(x)))(x), wanted, rtol=1e-11)


def test_an_integral_does_not_depend_on_what_else_is_in_the_array() -> None:
    """Operands of very different sizes have different numbers of steps; each is right, up to the largest."""
    m = np.array([-2.9e277, -1e150, -1e10, -3.0, 1e-5, 0.3, 0.9])
    together = primad.vmap(primad.value_and_grad(special.ellipe))(m)
    for place, each in enumerate(m):
        alone = primad.value_and_grad(special.ellipe)(each)
        np.testing.assert_allclose([found[place] for found in together], alone, rtol=1e-13)
        exact = (mpmath.ellipe(each) - mpmath.ellipk(each)) / (2 * mpmath.mpf(each))
        assert float(alone[1]) == pytest.approx(float(exact), rel=1e-11, abs=0.0)
    a, b = np.array([1e-100, 3.0, 1e100]), np.array([1e90, 2.0, 1e-90])
    means = primad.jit(special.agm)(a, b)
    np.testing.assert_allclose(means, [float(mpmath.agm(*pair)) for pair in zip(a, b, strict=True)], rtol=1e-14)


@pytest.mark.filterwarnings("ignore")
def test_nan_comes_through_wherever_scipy_has_it() -> None:
    """Also where a function is another one on each side of an argument that is NaN."""
    for name in sorted(recorded.__all__):
        exact = getattr(scipy.special, name, None)
        if not isinstance(exact, np.ufunc):
            continue
        rows = [
            [math.nan if i == place else x for i, x in enumerate(values)]
            for values in product((0.3, 2.0), repeat=exact.nin)
            for place in range(exact.nin)
        ]
        try:
            columns = np.array(rows).T
            wanted, found = exact(*columns), primad.jit(getattr(special, name))(*columns)
        except (TypeError, ValueError, primad.PrimadError):  # an argument is a plain number, or has no derivative
            continue
        for known, value in zip(np.atleast_2d(wanted), np.atleast_2d(found), strict=True):
            assert np.all(np.isnan(value[np.isnan(known)])), name
