"""Derivatives of the unary operators up to order 3, against mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import primad.compat.mxnet as mx
from primad.compat.mxnet.operators.elementwise import UNARY

MEANINGS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "abs": (abs, -0.7),
    "square": (lambda x: x**2, 0.7),
    "sqrt": (mpmath.sqrt, 0.7),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 0.7),
    "exp": (mpmath.exp, 0.7),
    "expm1": (mpmath.expm1, 0.7),
    "log": (mpmath.log, 0.7),
    "log10": (mpmath.log10, 0.7),
    "log2": (lambda x: mpmath.log(x, 2), 0.7),
    "log1p": (mpmath.log1p, 0.7),
    "sin": (mpmath.sin, 0.7),
    "cos": (mpmath.cos, 0.7),
    "tan": (mpmath.tan, 0.7),
    "arcsin": (mpmath.asin, 0.6),
    "arccos": (mpmath.acos, 0.6),
    "arctan": (mpmath.atan, 0.6),
    "sinh": (mpmath.sinh, 0.7),
    "cosh": (mpmath.cosh, 0.7),
    "tanh": (mpmath.tanh, 0.7),
    "arcsinh": (mpmath.asinh, 0.7),
    "arccosh": (mpmath.acosh, 1.7),
    "arctanh": (mpmath.atanh, 0.6),
    "cbrt": (mpmath.cbrt, 0.7),
    "rcbrt": (lambda x: 1 / mpmath.cbrt(x), 0.7),
    "gamma": (mpmath.gamma, -0.7),
    "gammaln": (mpmath.loggamma, 1.7),
    "erf": (mpmath.erf, 0.7),
    "erfinv": (mpmath.erfinv, 0.6),
    "degrees": (mpmath.degrees, 0.7),
    "radians": (mpmath.radians, 0.7),
    "reciprocal": (lambda x: 1 / x, 0.7),
    "relu": (lambda x: max(x, 0), 0.7),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), 0.7),
    "softsign": (lambda x: x / (1 + abs(x)), 0.7),
    "negative": (lambda x: -x, 0.7),
    **dict.fromkeys(("sign", "round", "rint", "ceil", "floor", "trunc", "fix", "logical_not"), (lambda x: 0 * x, 0.7)),
}
"""What an operator computes, up to a constant for those that are constant, and a point where it is smooth."""


def test_every_unary_operator_has_a_meaning() -> None:
    assert MEANINGS.keys() == UNARY.keys()


@pytest.mark.parametrize("name", sorted(MEANINGS))
def test_recorded_derivatives(name: str) -> None:
    meaning, point = MEANINGS[name]
    x = mx.nd.array([point], dtype="float64")
    x.attach_grad()
    found = []
    with mx.autograd.record():
        y = getattr(mx.nd, name)(x)
        for _ in range(3):
            (y,) = mx.autograd.grad(y, x, create_graph=True)
            found.append(float(y.asscalar()))
    with mpmath.workdps(40):
        expected = [float(mpmath.diff(meaning, mpmath.mpf(point), order)) for order in (1, 2, 3)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted(MEANINGS))
def test_bound_derivatives(name: str) -> None:
    meaning, point = MEANINGS[name]
    symbol = getattr(mx.sym, name)(mx.sym.Variable("x"))
    grad = mx.nd.zeros(1, dtype="float64")
    texec = symbol.bind(mx.cpu(), {"x": mx.nd.array([point], dtype="float64")}, {"x": grad})
    texec.backward(mx.nd.ones(1, dtype="float64"))
    with mpmath.workdps(40):
        expected = float(mpmath.diff(meaning, mpmath.mpf(point)))
    np.testing.assert_allclose(grad.asscalar(), expected, rtol=1e-12, atol=1e-12)
