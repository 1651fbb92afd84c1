"""Derivatives at the points where derivative libraries go wrong, in every mode.

Each row is a function of one number, a point and its exact derivatives of order 1, 2, …; they are computed in reverse
mode, in forward mode and in all mixtures of the two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import primad
import primad.numpy as pnp
from primad import nn
from primad.numpy.special import expit, log_softmax, logsumexp, softmax, softplus, xlogy

INF, NAN = math.inf, math.nan
Function = Callable[..., Any]


def forward(f: Function) -> Function:
    return lambda x: primad.jvp(f, (x,), (np.ones_like(x),))[1]


def modes(order: int) -> list[str]:
    words = ["".join(word) for word in itertools.product("fr", repeat=order)]
    return words if order <= 3 else ["r" * order, "f" * order, ("rf" * order)[:order], ("fr" * order)[:order]]


def differentiate(f: Function, word: str) -> Function:
    for letter in word:
        f = forward(f) if letter == "f" else primad.grad(f)
    return f


def check(f: Function, x: float, expected: tuple[float, ...], rtol: float = 1e-12) -> None:
    for order, value in enumerate(expected, start=1):
        for word in modes(order):
            found = differentiate(f, word)(x)
            np.testing.assert_allclose(found, value, rtol=rtol, atol=0, err_msg=f"mode {word} at {x}")


ROWS: dict[str, tuple[Function, float, tuple[float, ...]]] = {
    "sqrt at 0": (np.sqrt, 0.0, (INF,)),
    "log at 0": (np.log, 0.0, (INF,)),
    "abs at 0": (np.abs, 0.0, (0.0, 0.0, 0.0)),
    "abs at -0.0": (np.abs, -0.0, (0.0, 0.0)),
    "sign at 0": (np.sign, 0.0, (0.0, 0.0)),
    "relu at 0": (nn.relu, 0.0, (0.0, 0.0)),
    "x**2.0 at 0": (lambda x: x**2.0, 0.0, (0.0, 2.0, 0.0, 0.0, 0.0)),
    "x**2 at 0": (lambda x: x**2, 0.0, (0.0, 2.0, 0.0, 0.0, 0.0)),
    "x**3 at 0": (lambda x: x**3, 0.0, (0.0, 0.0, 6.0, 0.0, 0.0)),
    "x**4 at 0": (lambda x: x**4, 0.0, (0.0, 0.0, 0.0, 24.0, 0.0)),
    "x**1.0 at 0": (lambda x: x**1.0, 0.0, (1.0, 0.0, 0.0)),
    "x**0.0 at 0": (lambda x: x**0.0, 0.0, (0.0, 0.0, 0.0)),
    "x**0.5 at 0": (lambda x: x**0.5, 0.0, (INF,)),
    "x**1.5 at 0": (lambda x: x**1.5, 0.0, (0.0, INF)),
    "x**-1 at 0": (lambda x: x**-1, 0.0, (-INF,)),
    "(-2)**3.0": (lambda x: x**3.0, -2.0, (12.0, -12.0, 6.0, 0.0, 0.0)),
    "(-2)**5": (lambda x: x**5, -2.0, (80.0, -160.0, 240.0, -240.0, 120.0)),
    "(-2)**-2.0": (lambda x: x**-2.0, -2.0, (0.25, 6 / 16, 24 / 32)),
    "0**y at 2": (lambda y: 0.0**y, 2.0, (0.0, 0.0, 0.0)),
    "array 0**y": (lambda y: np.array(0.0) ** y, 2.0, (0.0, 0.0, 0.0)),
    "2**y at 0": (lambda y: 2.0**y, 0.0, (math.log(2), math.log(2) ** 2, math.log(2) ** 3)),
    "x/x at 1e-200": (lambda x: x / x, 1e-200, (0.0, 0.0, 0.0)),
    "x/x at 1e200": (lambda x: x / x, 1e200, (0.0, 0.0, 0.0)),
    "1/(1/x) at 1e-150": (lambda x: 1.0 / (1.0 / x), 1e-150, (1.0,)),
    "max(x, x)": (lambda x: np.maximum(x, x), 3.0, (1.0, 0.0)),
    "max(x, 0) + min(x, 0)": (lambda x: np.maximum(x, 0.0) + np.minimum(x, 0.0), 0.0, (1.0, 0.0)),
    "max(x, 0) at a subnormal": (lambda x: np.maximum(x, 0.0), 5e-324, (1.0, 0.0)),
    "relu at a subnormal": (nn.relu, 5e-324, (1.0, 0.0)),
    "clip at its edge": (lambda x: np.clip(x, -1.0, 1.0), 1.0, (0.5, 0.0)),
    "clip inside": (lambda x: np.clip(x, -1.0, 1.0), 0.5, (1.0, 0.0)),
    "clip outside": (lambda x: np.clip(x, -1.0, 1.0), 1.5, (0.0, 0.0)),
    "where(x > 0, sqrt(x), 0) at -1": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), -1.0, (0.0, 0.0, 0.0)),
    "where(x > 0, sqrt(x), 0) at 0": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, (0.0, 0.0, 0.0)),
    "where(x > 0, log(x), x**2) at 0": (lambda x: np.where(x > 0, np.log(x), x**2), 0.0, (0.0, 2.0, 0.0)),
    "where(x != 0, sin(x)/x, 1) at 0": (lambda x: np.where(x != 0, np.sin(x) / x, 1.0), 0.0, (0.0, 0.0, 0.0)),
    "where(x > 0, x**0.5, x) at -2": (lambda x: np.where(x > 0, x**0.5, x), -2.0, (1.0, 0.0, 0.0)),
    "log of where": (lambda x: np.log(np.where(x > 0, x, 1.0)), -1.0, (0.0, 0.0, 0.0)),
    "exp of where(inf)": (lambda x: np.exp(np.where(x < 1, x, np.exp(x * 1000))), 0.0, (1.0, 1.0, 1.0)),
    "where then a product": (lambda x: np.where(x > 0, np.sqrt(x), 0.0) * np.exp(x), -1.0, (0.0, 0.0, 0.0)),
    "where then a quotient": (lambda x: np.where(x > 0, np.sqrt(x), 1.0) / x, -1.0, (-1.0, -2.0, -6.0)),
    "where then sin": (lambda x: np.sin(np.where(x > 0, np.log(x), x)), 0.0, (1.0, 0.0, -1.0)),
    "both branches": (lambda x: np.where(x > 0, 1.0 / x, np.where(x < 0, np.sqrt(x), x)), 0.0, (1.0, 0.0, 0.0)),
    "broadcast scalar": (
        lambda x: np.sum(np.where(np.array([True, True, True]), x, np.sqrt(x))),
        -1.0,
        (3.0, 0.0, 0.0),
    ),
    "broadcast scalar, selected by value": (
        lambda x: np.sum(np.where(x * np.array([1.0, -1.0]) > 0, np.log(x * np.array([1.0, -1.0])), x)),
        -1.0,
        (1.0 - 1.0, -1.0, -2.0),
    ),
    "softplus at 1000": (softplus, 1000.0, (1.0, 0.0, 0.0)),
    "softplus at -1000": (softplus, -1000.0, (0.0, 0.0, 0.0)),
    "softplus at 0": (softplus, 0.0, (0.5, 0.25, 0.0, -0.125)),
    "logaddexp(x, 0) at 1000": (lambda x: np.logaddexp(x, 0.0), 1000.0, (1.0, 0.0, 0.0)),
    "logaddexp(x, 0) at -1000": (lambda x: np.logaddexp(x, 0.0), -1000.0, (0.0, 0.0, 0.0)),
    "logaddexp(0, x) at 0": (lambda x: np.logaddexp(0.0, x), 0.0, (0.5, 0.25, 0.0)),
    "logaddexp(x, x)": (lambda x: np.logaddexp(x, x), 5.0, (1.0, 0.0)),
    "logaddexp(x, -inf)": (lambda x: np.logaddexp(x, -INF), 1.0, (1.0, 0.0, 0.0)),
    "logaddexp(-inf, x)": (lambda x: np.logaddexp(-INF, x), 1.0, (1.0, 0.0, 0.0)),
    "logsumexp with -inf": (lambda x: logsumexp(np.array([0.0, -INF]) + x), 1.0, (1.0, 0.0, 0.0)),
    "logsumexp at 1000": (lambda x: logsumexp(x * np.array([1000.0, -1000.0])), 1.0, (1000.0, 0.0, 0.0)),
    "silu at 800": (nn.silu, 800.0, (1.0, 0.0)),
    "silu at -800": (nn.silu, -800.0, (0.0, 0.0)),
    "gelu at 40": (nn.gelu, 40.0, (1.0, 0.0)),
    "tanh at 400": (np.tanh, 400.0, (0.0, 0.0, 0.0)),
    "xlogy at 0, 0": (lambda x: xlogy(0.0, x), 0.0, (0.0, 0.0)),
    "norm at 0": (lambda x: np.linalg.norm(x * np.ones(3)), 0.0, (0.0,)),
    "norm**2 at 0": (lambda x: np.linalg.norm(x * np.array([1.0, 2.0])) ** 2, 0.0, (0.0,)),
    "norm at 1e-200": (lambda x: np.linalg.norm(x * np.array([3.0, 4.0])), 1e-200, (5.0,)),
    "norm at 1e200": (lambda x: np.linalg.norm(x * np.array([3.0, 4.0])), 1e200, (5.0,)),
    "std of a constant": (lambda x: np.std(x * np.ones(3)), 3.0, (0.0,)),
    "std at 0": (lambda x: np.std(x * np.array([1.0, 2.0])), 0.0, (0.0,)),
    "hypot at 0": (lambda x: np.hypot(x, 0.0), 0.0, (0.0,)),
    "stop_gradient": (lambda x: x * primad.stop_gradient(x) ** 2, 3.0, (9.0, 0.0, 0.0)),
    "floor": (lambda x: x * np.floor(x), 2.5, (2.0, 0.0)),
    "remainder": (lambda x: np.remainder(x, 1.0) ** 2, 2.5, (1.0, 2.0, 0.0)),
    "reciprocal near the largest float": (lambda x: 1.0 / x, 1e300, (0.0,)),
    "expm1": (np.expm1, 1e-300, (1.0, 1.0, 1.0)),
    "log1p": (np.log1p, 1e-20, (1.0, -1.0, 2.0)),
    "sinh at 1e-20": (np.sinh, 1e-20, (1.0, 1e-20, 1.0)),
    "cosh at 1e-20": (np.cosh, 1e-20, (1e-20, 1.0, 1e-20)),
    "cosh at 710": (np.cosh, 710.0, (math.sinh(710.0), math.cosh(710.0))),
    "log10 at 1e-300": (np.log10, 1e-300, (1e300 / math.log(10.0),)),
    "tan next to its pole": (np.tan, math.pi / 2, (1.0 + math.tan(math.pi / 2) ** 2,)),
    "remainder of a large number": (lambda x: np.remainder(x, 7.0), 1e20, (1.0, 0.0)),
    "remainder by a divisor": (lambda x: np.remainder(-7.5, x), 2.0, (4.0, 0.0)),
    "remainder by infinity": (lambda x: np.remainder(x, INF), 1.0, (1.0, 0.0)),
    "fmod by a divisor": (lambda x: np.fmod(-7.5, x), 2.0, (3.0, 0.0)),
    "hypot at 1e9": (lambda x: np.hypot(x, 1.0), 1e9, (1.0, 1e-27, -3e-36)),
    "hypot at 1e-200": (lambda x: np.hypot(x, 1e-200), 1e-200, (math.sqrt(0.5), math.sqrt(0.125) * 1e200)),
    "hypot at infinity": (lambda x: np.hypot(x, 1.0), INF, (1.0, 0.0)),
    "arctan2 far out": (lambda x: np.arctan2(x, 1e200), 1e200, (5e-201,)),
    "arctan2 at 0 from the left": (lambda x: np.arctan2(x, -1.0), -0.0, (-1.0, 0.0)),
    "arctan at 1e200": (np.arctan, 1e200, (0.0,)),
    "sqrt of a square": (lambda x: np.sqrt(x * x), -3.0, (-1.0, 0.0)),
    "a subnormal times a number": (lambda x: 2.0 * x, 5e-324, (2.0, 0.0)),
    "eigenvalues": (
        lambda x: np.sum(np.exp(np.linalg.eigvalsh(x * np.diag([1.0, 2.0])))),
        1.0,
        tuple(math.e + 2**k * math.e**2 for k in (1, 2, 3)),
    ),
    "equal eigenvalues": (lambda x: np.sum(np.exp(np.linalg.eigvalsh(x * np.eye(3)))), 1.0, (3 * math.e,)),
    "equal singular values": (lambda x: np.linalg.norm(x * np.eye(3), "nuc"), -2.0, (-3.0,)),
    "det of a singular matrix": (
        lambda x: np.linalg.det(x * np.eye(2) + np.array([[0.0, 1.0], [1.0, 0.0]])),
        1.0,
        (2.0, 2.0, 0.0),
    ),
    "det of zero": (lambda x: np.linalg.det(x * np.eye(3)), 0.0, (0.0, 0.0)),
    "pinv of low rank": (lambda x: np.linalg.pinv(x * np.ones((2, 2)))[0, 0], 2.0, (-1 / 16, 1 / 16, -6 / 64)),
    "cos at 0": (np.cos, 0.0, (0.0, -1.0, 0.0, 1.0)),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    check(*ROWS[name])


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", ROWS)
def test_row_under_jit_and_vmap(name: str) -> None:
    f, x, expected = ROWS[name]
    found = primad.jit(primad.grad(f))(x)
    np.testing.assert_allclose(found, expected[0], rtol=1e-12, atol=0)
    stacked = primad.vmap(primad.grad(f))(np.array([x, 1.25, x]))
    np.testing.assert_allclose(stacked[[0, 2]], [expected[0]] * 2, rtol=1e-12, atol=0)


# -- powers of two arguments -------------------------------------------------------------------------------------------


def power(x: Any, y: Any) -> Any:
    return x**y


@pytest.mark.parametrize("outer", [primad.grad, primad.jacfwd])
@pytest.mark.parametrize("inner", [primad.grad, primad.jacfwd])
def test_mixed_partials_of_power(outer: Any, inner: Any) -> None:
    # ∂²/∂x∂y x^y = x^(y−1)·(1 + y·log x) = 1/4 at (4, 0), in both orders
    assert outer(inner(power, 0), 1)(4.0, 0.0) == pytest.approx(0.25, abs=1e-15)
    assert outer(inner(power, 1), 0)(4.0, 0.0) == pytest.approx(0.25, abs=1e-15)


@pytest.mark.parametrize("transform", [primad.grad, primad.jacfwd])
def test_power_at_zero_in_both_arguments(transform: Any) -> None:
    base = transform(power, 0)
    exponent = transform(power, 1)
    assert base(0.0, 2.0) == 0.0
    assert base(0.0, 1.0) == 1.0
    assert base(0.0, 0.5) == INF
    assert base(0.0, 0.0) == 0.0
    assert base(0.0, -1.0) == -INF
    assert base(-2.0, 3.0) == 12.0
    assert exponent(0.0, 2.0) == 0.0
    assert exponent(3.0, 0.0) == pytest.approx(math.log(3.0))
    assert math.isnan(exponent(-2.0, 2.0))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [2.0, 3.0, 4.0])
@pytest.mark.parametrize("word", ["rrrrr", "fffff", "rfrfr", "frfrf"])
def test_power_at_zero_to_order_five_with_a_traced_exponent(n: float, word: str) -> None:
    for order in range(1, 6):
        expected = math.prod([n - k for k in range(order)]) if order == n else 0.0
        found = primad.jit(differentiate(lambda x: power(x, primad.stop_gradient(x * 0 + n)), word[:order]))(0.0)
        assert found == expected, order


def test_power_hessian_is_symmetric_at_zero_exponent() -> None:
    h = np.asarray(primad.hessian(lambda v: v[0] ** v[1])(np.array([4.0, 0.0])))
    np.testing.assert_allclose(h, [[0.0, 0.25], [0.25, math.log(4.0) ** 2]], rtol=1e-14)


# -- relative accuracy in the tails ------------------------------------------------------------------------------------


def truth(f: Function, x: float, order: int) -> float:
    with mpmath.workdps(420):
        return float(f(mpmath.mpf(x), order))


def tanh_derivative(x: Any, order: int) -> Any:
    s = 1 / mpmath.cosh(x) ** 2
    return s if order == 1 else -2 * mpmath.tanh(x) * s


def sigmoid_derivative(x: Any, order: int) -> Any:
    s = 1 / (1 + mpmath.exp(-x))
    t = 1 / (1 + mpmath.exp(x))
    return s * t if order == 1 else s * t * (t - s)


@pytest.mark.parametrize("x", [-300.0, -40.0, -20.0, -1.0, 1e-8, 0.5, 19.0, 40.0, 300.0])
@pytest.mark.parametrize("mode", ["r", "f"])
def test_tails(x: float, mode: str) -> None:
    for order in (1, 2):
        word = mode * order
        assert differentiate(np.tanh, word)(x) == pytest.approx(truth(tanh_derivative, x, order), rel=1e-13)
        assert differentiate(expit, word)(x) == pytest.approx(truth(sigmoid_derivative, x, order), rel=1e-13)
        assert differentiate(nn.sigmoid, word)(x) == pytest.approx(truth(sigmoid_derivative, x, order), rel=1e-13)
    softplus_second = truth(sigmoid_derivative, x, 1)
    assert differentiate(softplus, mode * 2)(x) == pytest.approx(softplus_second, rel=1e-13)


@pytest.mark.parametrize("x", [-35.0, -10.0, -3.0, 0.0, 3.0, 10.0])
def test_gelu_and_silu_tails(x: float) -> None:
    gelu = truth(lambda t, k: mpmath.ncdf(t) + t * mpmath.npdf(t), x, 1)
    silu = truth(lambda t, k: (1 + t / (1 + mpmath.exp(t))) / (1 + mpmath.exp(-t)), x, 1)
    for transform in (primad.grad, forward):
        assert transform(nn.gelu)(x) == pytest.approx(gelu, rel=1e-11)
        assert transform(nn.silu)(x) == pytest.approx(silu, rel=1e-11)


# -- vectors -----------------------------------------------------------------------------------------------------------


def jacobians(f: Function, x: Any) -> list[Any]:
    return [np.asarray(primad.jacrev(f)(x)), np.asarray(primad.jacfwd(f)(x))]


def hessians(f: Function, x: Any) -> list[Any]:
    pairs = itertools.product((primad.jacrev, primad.jacfwd), repeat=2)
    return [np.asarray(primad.hessian(f)(x)), *(np.asarray(a(b(f))(x)) for a, b in pairs)]


VECTORS: dict[str, tuple[Function, list[float], Any, Any]] = {
    "max of ties": (np.max, [1.0, 3.0, 3.0], [0, 0.5, 0.5], np.zeros((3, 3))),
    "min of ties": (np.min, [1.0, 1.0, 1.0], [1 / 3] * 3, np.zeros((3, 3))),
    "maximum of ties": (lambda x: np.maximum(x[0], x[1]), [2.0, 2.0], [0.5, 0.5], np.zeros((2, 2))),
    "hypot overflow": (lambda x: np.hypot(x[0], x[1]), [3e200, 4e200], [0.6, 0.8], None),
    "hypot underflow": (lambda x: np.hypot(x[0], x[1]), [3e-200, 4e-200], [0.6, 0.8], None),
    "hypot": (
        lambda x: np.hypot(x[0], x[1]),
        [3.0, 4.0],
        [0.6, 0.8],
        [[16 / 125, -12 / 125], [-12 / 125, 9 / 125]],
    ),
    "norm": (np.linalg.norm, [3.0, 4.0], [0.6, 0.8], [[16 / 125, -12 / 125], [-12 / 125, 9 / 125]]),
    "norm at 0": (np.linalg.norm, [0.0, 0.0], [0.0, 0.0], None),
    "norm with a zero": (np.linalg.norm, [0.0, 2.0], [0.0, 1.0], [[0.5, 0.0], [0.0, 0.0]]),
    "norm**2 at 0": (lambda x: np.linalg.norm(x) ** 2, [0.0, 0.0], [0.0, 0.0], None),
    "sum of squares at 0": (lambda x: np.sum(x**2), [0.0, 0.0], [0.0, 0.0], 2 * np.eye(2)),
    "std of a constant": (np.std, [3.0, 3.0, 3.0], [0.0] * 3, None),
    "var of a constant": (np.var, [3.0, 3.0], [0.0] * 2, [[0.5, -0.5], [-0.5, 0.5]]),
    "prod with one zero": (np.prod, [0.0, 2.0, 3.0], [6, 0, 0], [[0, 3, 2], [3, 0, 0], [2, 0, 0]]),
    "prod with two zeros": (np.prod, [0.0, 0.0, 3.0], [0, 0, 0], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    "sorted sum with weights": (
        lambda x: np.sum(np.sort(x) ** 2 * np.array([1.0, 2.0, 3.0])),
        [3.0, -1.0, 2.0],
        [18.0, -2.0, 8.0],
        np.diag([6.0, 2.0, 4.0]),
    ),
    "sort with ties is stable": (
        lambda x: np.sort(x) @ np.array([1.0, 10.0, 100.0]),
        [2.0, 1.0, 2.0],
        [10.0, 1.0, 100.0],
        np.zeros((3, 3)),
    ),
    "median of even": (np.median, [4.0, 1.0, 3.0, 2.0], [0, 0, 0.5, 0.5], np.zeros((4, 4))),
    "repeated indices": (lambda x: np.sum(x[[0, 0, 0, 1]] ** 2), [1.0, 2.0], [6.0, 4.0], np.diag([6.0, 2.0])),
    "unused element": (lambda x: x[0] ** 2, [3.0, 5.0], [6.0, 0.0], np.diag([2.0, 0.0])),
    "logsumexp with -inf": (
        logsumexp,
        [0.0, 0.0, -INF],
        [0.5, 0.5, 0.0],
        [[0.25, -0.25, 0], [-0.25, 0.25, 0], [0, 0, 0]],
    ),
    "logsumexp at ±1000": (logsumexp, [1000.0, -1000.0], [1.0, 0.0], np.zeros((2, 2))),
    "mean": (np.mean, [1.0, 2.0], [0.5, 0.5], np.zeros((2, 2))),
    "where with a mask": (
        lambda x: np.sum(np.where(x > 0, np.log(x) * x, 0.0)),
        [1.0, 0.0, -1.0],
        [1.0, 0.0, 0.0],
        np.diag([1.0, 0.0, 0.0]),
    ),
    "|x| summed": (lambda x: np.sum(np.abs(x)), [1.0, 0.0, -1.0], [1.0, 0.0, -1.0], np.zeros((3, 3))),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    f, point, gradient, hessian = VECTORS[name]
    x = np.array(point)
    np.testing.assert_allclose(primad.grad(f)(x), gradient, rtol=1e-14, atol=1e-15)
    for found in jacobians(f, x):
        np.testing.assert_allclose(found, gradient, rtol=1e-14, atol=1e-15)
    if hessian is not None:
        for found in hessians(f, x):
            np.testing.assert_allclose(found, hessian, rtol=1e-13, atol=1e-15)


def test_softmax_with_minus_infinity_and_large_logits() -> None:
    for x, expected in (([0.0, 0.0, -INF], [0.5, 0.5, 0.0]), ([1000.0, -1000.0, 0.0], [1.0, 0.0, 0.0])):
        for found in jacobians(softmax, np.array(x)):
            np.testing.assert_allclose(found, np.diag(expected) - np.outer(expected, expected), rtol=1e-13, atol=0)
    rows = [0.0, 1000.0, -1000.0]
    for found in jacobians(lambda x: log_softmax(x, axis=-1), np.array(rows)):
        np.testing.assert_allclose(found, np.eye(3) - special.softmax(rows), rtol=1e-13, atol=0)


def test_second_derivative_of_norm_is_finite_at_zero_where_it_is_squared() -> None:
    x = np.zeros(2)
    assert np.all(np.isfinite(np.asarray(primad.hessian(lambda x: np.sum(x**2) ** 0.5 * 0.0 + np.sum(x**2))(x + 1))))
    np.testing.assert_array_equal(np.asarray(primad.hessian(lambda x: x @ x)(x)), 2 * np.eye(2))


def test_ties_sum_to_one_along_axes() -> None:
    x = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    g = primad.grad(lambda x: np.sum(np.max(x, axis=1)))(x)
    np.testing.assert_allclose(g, [[0.5, 0.5, 0.0], [1 / 3] * 3])


# -- types and structure of results ------------------------------------------------------------------------------------


def test_float32_in_float32_out() -> None:
    x = np.array([0.5, 2.0], np.float32)

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * 2.0 + x**2 / 3 + np.where(x > 1, x, 0.5) + np.maximum(x, 0) + softplus(x))

    assert primad.grad(f)(x).dtype == np.float32
    assert primad.jvp(f, (x,), (x,))[1].dtype == np.float32
    assert np.asarray(primad.hessian(f)(x)).dtype == np.float32
    assert primad.jacfwd(np.tanh)(x).dtype == np.float32
    assert primad.jit(f)(x).dtype == np.float32
    assert primad.vmap(primad.grad(lambda t: np.exp(t) * 3))(x).dtype == np.float32
    for g in (
        np.std,
        np.var,
        np.mean,
        np.linalg.norm,
        np.prod,
        np.max,
        logsumexp,
        np.median,
        lambda x: np.sum(np.sort(x)),
    ):
        assert primad.grad(g)(x).dtype == np.float32, g
    for g in (nn.gelu, nn.silu, nn.relu, expit, np.sinh, np.cosh, np.tan, np.exp2, np.log2, np.log10, np.reciprocal):
        assert primad.jit(g)(x).dtype == np.float32, g
        assert primad.jacfwd(g)(x).dtype == np.float32, g


def test_mixed_dtypes_give_each_argument_its_own() -> None:
    x, y = np.ones(2, np.float32), np.ones(2)
    gx, gy = primad.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(x, y)
    assert gx.dtype == np.float32 and gy.dtype == np.float64


def test_python_float_in_scalar_out() -> None:
    g = primad.grad(lambda x: x * x)(3.0)
    assert isinstance(g, float) and g == 6.0
    y, t = primad.jvp(np.sin, (0.5,), (1.0,))
    assert isinstance(y, float) and isinstance(t, float)
    assert isinstance(primad.jit(lambda x: x + 1)(1.0), float)


def test_python_float_adopts_the_array_dtype() -> None:
    w = np.ones(2, np.float32)
    assert primad.jit(lambda lr, w: lr * w)(0.5, w).dtype == np.float32
    assert primad.grad(lambda lr, w: np.sum(lr * w), argnums=1)(0.5, w).dtype == np.float32
    gl, gw = primad.grad(lambda lr, w: np.sum(lr * w), argnums=(0, 1))(0.5, w)
    assert gw.dtype == np.float32 and gl == 2.0


def test_zero_d_array_in_zero_d_array_out() -> None:
    g = primad.grad(lambda x: x * x)(np.array(3.0))
    assert isinstance(g, np.ndarray) and g.shape == () and g == 6.0


@pytest.mark.parametrize("shape", [(0,), (2, 0), (4, 1), (1,), ()])
def test_gradient_has_the_shape_of_its_argument(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    g = primad.grad(lambda x: np.sum(x * np.ones((4, 3, 2))[..., :0] if x.size == 0 else x * np.ones((4, 3))))(
        x if x.size else np.ones((0,))
    )
    assert np.shape(g) == (np.shape(x) if x.size else (0,))
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(x) * 2.0)(x), np.full(shape, 2.0))


def test_unused_arguments_get_zeros() -> None:
    g = primad.grad(lambda x, y: x * 2.0, argnums=(0, 1))(1.0, np.ones((2, 3)))
    assert g[0] == 2.0
    np.testing.assert_array_equal(g[1], np.zeros((2, 3)))
    assert primad.grad(lambda x: 5.0)(1.0) == 0.0
    np.testing.assert_array_equal(primad.jacfwd(lambda x: np.ones(2))(np.ones(3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(primad.jacrev(lambda x: np.ones(2))(np.ones(3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(np.asarray(primad.hessian(lambda x: np.sum(x))(np.ones(3))), np.zeros((3, 3)))


def test_duplicated_inputs_and_outputs() -> None:
    x = np.array([1.0, 2.0])
    ga, gb = primad.grad(lambda a, b: np.sum(a * b), argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(ga, x)
    np.testing.assert_array_equal(gb, x)
    assert ga is not gb and not np.shares_memory(ga, gb)
    _, pullback = primad.vjp(lambda x: (x, x, 2.0 * x), x)
    np.testing.assert_array_equal(pullback((x, x, x))[0], 4 * x)
    y1, y2 = primad.jit(lambda x: (x, x))(x)
    y1[0] = 9.0
    assert y2[0] == 1.0 and x[0] == 1.0


def test_results_share_no_memory() -> None:
    x = np.array([1.0, 2.0])
    for f in (
        lambda x: x,
        lambda x: x.T,
        lambda x: x.reshape(2, 1),
        lambda x: x[::-1],
        lambda x: primad.stop_gradient(x),
    ):
        assert not np.shares_memory(primad.jit(f)(x), x)
    a, b = primad.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(x, x)
    assert not np.shares_memory(a, b)


# -- arrays are values -------------------------------------------------------------------------------------------------


def test_pullback_after_mutation() -> None:
    x = np.array([1.0, 2.0])
    w = np.array([3.0, 4.0])
    _, pullback = primad.vjp(lambda x: x * x * w, x)
    _, pushforward = primad.linearize(lambda x: x * x * w, x)
    x *= 10
    w *= 10
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [6.0, 16.0])
    np.testing.assert_array_equal(pushforward(np.ones(2)), [6.0, 16.0])


def test_lazy_jacobian_after_mutation() -> None:
    x, w = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    jacobian = primad.jacobian(lambda x: x * x * w)(x)
    hessian = primad.hessian(lambda x: np.sum(x**3 * w))(x)
    x *= 10
    w *= 10
    np.testing.assert_array_equal(np.asarray(jacobian), np.diag([6.0, 16.0]))
    np.testing.assert_array_equal(np.asarray(hessian), np.diag([18.0, 48.0]))


def test_closure_arrays_are_read_at_each_call() -> None:
    w = np.array([1.0, 2.0])
    g = primad.grad(lambda x: np.sum(w * x))
    np.testing.assert_array_equal(g(np.ones(2)), [1.0, 2.0])
    w[0] = 7.0
    np.testing.assert_array_equal(g(np.ones(2)), [7.0, 2.0])
    mapped = primad.vmap(lambda x: x * w[0])
    np.testing.assert_array_equal(mapped(np.ones(2)), [7.0, 7.0])
    w[0] = 8.0
    np.testing.assert_array_equal(mapped(np.ones(2)), [8.0, 8.0])


def test_a_captured_array_written_to_during_the_trace() -> None:
    w = np.array([1.0])

    def f(x: Any) -> Any:
        first = x * w
        w[0] = 5.0
        return np.sum(first + x * w)

    assert primad.grad(f)(np.ones(1))[0] == 6.0


def test_jit_takes_captured_arrays_at_its_first_call() -> None:
    w = np.array([1.0, 2.0])
    f = primad.jit(lambda x: x * w)
    np.testing.assert_array_equal(f(np.ones(2)), [1.0, 2.0])
    w *= 100
    np.testing.assert_array_equal(f(np.ones(2)), [1.0, 2.0])


def test_program_keeps_its_captured_arrays() -> None:
    w = np.array([1.0, 2.0])
    program = primad.trace(lambda x: x * w)(np.ones(2))
    w *= 100
    np.testing.assert_array_equal(program(np.ones(2)), [1.0, 2.0])


def test_a_changing_scalar_is_not_frozen() -> None:
    state = {"lr": 0.5}
    g = primad.grad(lambda x: state["lr"] * x)
    assert g(1.0) == 0.5
    state["lr"] = 0.25
    assert g(1.0) == 0.25
    assert primad.grad(lambda x: x ** state["lr"])(1.0) == 0.25
    state["lr"] = 3.0
    assert primad.grad(lambda x: x ** state["lr"])(1.0) == 3.0


def test_zero_keeps_its_sign_through_linear_maps() -> None:
    out = primad.jit(lambda x: x.reshape(1)[0] * 1.0)(-0.0)
    assert out == 0.0 and math.copysign(1.0, out) == -1.0
    assert math.copysign(1.0, primad.jit(lambda x: -x)(0.0)) == -1.0


def test_non_contiguous_and_reversed_inputs() -> None:
    x = np.arange(12.0).reshape(3, 4)

    def f(x: Any) -> Any:
        return np.sum(np.cumsum(x, axis=0) * x.reshape(-1)[:1] + np.sort(x, axis=1))

    for view in (x.T, x[::-1, ::2], x[:, 1], np.asfortranarray(x)):
        if view.ndim == 2:
            np.testing.assert_array_equal(primad.grad(f)(view), primad.grad(f)(np.ascontiguousarray(view)))


def test_big_endian_input() -> None:
    x = np.array([1.0, 2.0], ">f8")
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(x**2))(x), [2.0, 4.0])


def test_set_at_and_add_at_gradients() -> None:
    x, v = np.arange(3.0), np.array([10.0, 20.0])
    gx, gv = primad.grad(lambda x, v: np.sum(pnp.set_at(x, [0, 2], v) ** 2), argnums=(0, 1))(x, v)
    np.testing.assert_array_equal(gx, [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(gv, [20.0, 40.0])
    gx, gv = primad.grad(lambda x, v: np.sum(pnp.add_at(x, [1, 1], v) ** 2), argnums=(0, 1))(x, v)
    np.testing.assert_array_equal(gx, [0.0, 62.0, 4.0])
    np.testing.assert_array_equal(gv, [62.0, 62.0])


def test_nan_propagates_where_it_is_selected() -> None:
    assert math.isnan(primad.grad(lambda x: np.where(x < 0, np.sqrt(x), 0.0))(-1.0))
    assert math.isnan(primad.jvp(lambda x: np.where(x < 0, np.sqrt(x), 0.0), (-1.0,), (1.0,))[1])


# -- a branch that is not selected, behind every rearrangement ----

UNSELECTED: dict[str, Function] = {
    "broadcast": lambda x: np.where((x > 0)[:, None], np.sqrt(x)[:, None] + np.zeros(3), 0.0),
    "scalar": lambda x: np.where(np.array([True, True]), x[1], np.sqrt(x[1])),
    "reshape": lambda x: np.where((x > 0).reshape(2, 1), np.sqrt(x).reshape(2, 1), 0.0),
    "flip": lambda x: np.where((x > 0)[::-1], np.sqrt(x)[::-1], 0.0),
    "gather": lambda x: np.where((x > 0)[[1, 0]], np.sqrt(x)[[1, 0]], 0.0),
    "index": lambda x: np.where(x[1] > 0, np.sqrt(x)[1], 0.0),
    "concatenate": lambda x: np.where(np.tile(x, 2) > 0, np.concatenate([np.sqrt(x), np.log(x + 1.0)]), 0.0),
    "pad": lambda x: np.where(np.pad(x, 1) > 0, np.pad(np.sqrt(x), 1), 0.0),
    "transpose": lambda x: np.where((x[:, None] * np.ones(3)).T > 0, (np.sqrt(x)[:, None] * np.ones(3)).T, 0.0),
    "sum": lambda x: np.where(x > 0, np.sum(np.sqrt(x)[:, None] * np.ones(3), 1), 0.0),
    "cumsum": lambda x: np.where(x > 0, np.cumsum(np.sqrt(x)[:, None] * np.ones((2, 3)), 1)[:, 2], 0.0),
    "mean": lambda x: np.where(x[1] > 0, np.mean(np.sqrt(x)), 0.0),
    "max": lambda x: np.where(x[1] > 0, np.max(np.sqrt(x - 5.0)), 0.0),
    "prod": lambda x: np.where(x[1] > 0, np.prod(np.sqrt(x)), 0.0),
    "sort": lambda x: np.where(x[1] > 0, np.sort(np.sqrt(x))[1], 0.0),
    "astype": lambda x: np.where(x > 0, np.sqrt(x).astype(np.float32), np.float32(0.0)),
    "two uses": lambda x: np.where(x > 0, np.sqrt(x), 0.0) + np.where(x > 0.5, np.sqrt(x) * 2.0, 0.0),
    "nested": lambda x: np.where(x > 0, np.where(x > -5, np.sqrt(x), x), 0.0),
    "then a product": lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)) * np.exp(x[1]),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", UNSELECTED)
def test_unselected_branch(name: str) -> None:
    x = np.array([1.0, -1.0])

    def f(x: Any) -> Any:
        return np.sum(UNSELECTED[name](x))

    by_forward, by_reverse = primad.jacfwd(f)(x), primad.grad(f)(x)
    assert np.all(np.isfinite(by_forward))
    np.testing.assert_allclose(by_reverse, by_forward, rtol=1e-6)
    reference = primad.jacfwd(primad.jacfwd(f))(x)
    for outer, inner in itertools.product((primad.jacrev, primad.jacfwd), repeat=2):
        np.testing.assert_allclose(outer(inner(f))(x), reference, rtol=1e-6, atol=1e-7)


def drawn(choose: np.random.Generator, depth: int) -> Callable[..., Any]:
    """Draw an expression of arithmetic, in which equal parts and multiples of them are likely."""
    kind = int(choose.integers(0, 7)) if depth else 6
    if kind == 6:
        place = int(choose.integers(0, 2))
        return lambda *xs: xs[place]
    inner = drawn(choose, depth - 1)
    if kind < 2:
        factor = float(choose.choice([-2.0, -1.0, 0.5, 1.0, 3.0]))
        return (lambda *xs: factor * inner(*xs)) if kind else (lambda *xs: -inner(*xs))
    other = inner if choose.random() < 0.3 else drawn(choose, depth - 1)
    combine = (np.add, np.subtract, np.multiply, np.true_divide)[kind - 2]
    return lambda *xs: combine(inner(*xs), other(*xs))


def test_laws_keep_nan_and_infinities() -> None:
    """What is simplified is NaN or infinite exactly where what NumPy computes is."""
    special = np.array([np.inf, -np.inf, np.nan, 1.0, -2.0, 0.75])
    x, y = (values.ravel() for values in np.meshgrid(special, special))
    for seed in range(400):
        f = drawn(np.random.default_rng(seed), 4)
        with np.errstate(all="ignore"):
            expected = f(x, y)
            found = primad.jit(f, backend="reference")(x, y)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected), err_msg=str(seed))
        np.testing.assert_array_equal(np.isinf(found), np.isinf(expected), err_msg=str(seed))


def test_running_products_are_those_of_one_factor_after_the_other() -> None:
    """Products that overflow or vanish on the way are NumPy's, few or many of them, and so are first derivatives."""
    choose = np.random.default_rng(0)
    for n in [*range(2, 9)] * 4 + [80]:
        x = choose.choice([0.0, 1e200, 1e200, 1e-200, -3.0], size=n)
        with np.errstate(all="ignore"):
            expected = np.cumprod(x)
            without = np.cumprod(np.where(np.eye(n, dtype=bool), 1.0, x), 1).T * np.tri(n)
        for found in (
            primad.vjp(np.cumprod, x)[0], primad.jit(np.cumprod, backend="reference")(x), primad.jit(np.cumprod)(x),
            primad.jit(np.multiply.accumulate)(x), primad.vmap(np.cumprod)(np.stack([x, x]))[1],
        ):  # fmt: skip
            np.testing.assert_array_equal(found, expected, err_msg=str(x))
        if np.isfinite(expected).all():
            np.testing.assert_array_equal(primad.jacfwd(np.cumprod)(x), without, err_msg=str(x))
        x = choose.choice([0.0, 2.0, -0.5, 1.5], size=n, p=[0.04, 0.32, 0.32, 0.32])
        without = np.cumprod(np.where(np.eye(n, dtype=bool), 1.0, x), 1).T * np.tri(n)
        np.testing.assert_allclose(primad.jacrev(np.cumprod)(x), without, rtol=1e-12, err_msg=str(x))
