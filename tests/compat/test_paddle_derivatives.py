"""Derivatives through the eager layer: against Paddle to order 3, against forward mode and mpmath to order 8."""

import importlib.util
import json
from pathlib import Path

import mpmath
import numpy as np
import pytest

import primad
import primad.compat.paddle as paddle
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.tape import TapeValue

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("paddle_derivatives", HERE / "programs" / "paddle_derivatives.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)
OPERATIONS = programs.OPERATIONS
GOLDEN = json.loads((HERE / "golden" / "paddle_derivatives.json").read_text())["programs"]

DIFFERENT = {
    "conv2d": ((2, 2), "Paddle's third derivatives are a third of the true ones, as Euler's identity shows"),
    **dict.fromkeys(
        ("kl_div", "binary_cross_entropy", "bce_with_logits"), ((3, 1), "Paddle has no gradients for labels")
    ),
}
"""Operations where Paddle's derivatives stop short: how many orders and operands are compared, and why not more."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", OPERATIONS)
def test_as_paddle(name):
    function, values = OPERATIONS[name]
    found = programs.derivatives(paddle, function, values, 3)
    assert None not in found, "every operation has derivatives of every order"
    orders, operands = DIFFERENT.get(name, ((3, len(values)), ""))[0]
    for order, (own, theirs) in enumerate(zip(found, GOLDEN[f"derivative_{name}"]["value"], strict=True), 1):
        if theirs is None or order > orders:
            continue
        for a, b in list(zip(own, theirs, strict=True))[:operands]:
            expected = np.array(b["data"]).reshape(b["shape"])
            scale = np.max(np.abs(expected), initial=1e-3)
            np.testing.assert_allclose(a, expected, rtol=1e-6, atol=1e-6 * scale, err_msg=f"{name}, order {order}")


SLOWER = {"normalize": 6, "atan2": 7}
"""Operations whose eighth gradient is a program of 10⁵ nodes: how many orders are tried."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("name", "orders"),
    [
        *((name, 4) for name in OPERATIONS),
        *(pytest.param(name, SLOWER.get(name, 8), marks=pytest.mark.exhaustive) for name in OPERATIONS),
    ],
)
def test_orders_agree_with_forward_mode(name, orders):
    """Reverse over reverse over … through the tape, and nested forward mode of the same function of arrays.

    Each order is a program some times as long: the suite tries four, and eight of functions of one argument below.
    """
    function, values = OPERATIONS[name]
    arrays = [np.array(value, float) for value in values]
    weight = np.linspace(1.0, 2.0, int(np.prod(function(paddle, *map(paddle.to_tensor, arrays)).shape)))

    def along(t):
        """The weighted sum of the results at x·(1 + t)."""
        moved = [Tensor(TapeValue(x * (1.0 + t), True)) for x in arrays]
        return (function(paddle, *moved).reshape([-1]) * Tensor(TapeValue(weight)))._entry.array.sum()

    t = paddle.to_tensor(0.0, "float64", stop_gradient=False)
    moved = [paddle.to_tensor(x) * (1.0 + t) for x in arrays]
    current = (function(paddle, *moved).reshape([-1]) * paddle.to_tensor(weight)).sum()
    size = 1.0
    for order in range(1, orders + 1):
        (current,) = paddle.grad(current, t, create_graph=True, allow_unused=True)
        expected = float(primad.derivative(along, order)(0.0))
        size = max(size, abs(expected))
        found = 0.0 if current is None else float(current)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * size, err_msg=f"{name}, order {order}")
        if current is None:
            break


def test_third_derivatives_of_convolution_obey_eulers_identity():
    """conv(x, w)² is homogeneous of degree 4 in (x, w): along (x, w) itself, ∂D²f = 6·∂f."""
    function, values = OPERATIONS["conv2d"]
    first, _, third = programs.derivatives(paddle, function, values, 3)
    for a, b in zip(first, third, strict=True):
        np.testing.assert_allclose(b, 6.0 * a, rtol=1e-9)


UNARY = {
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "tanh": mpmath.tanh, "exp": mpmath.exp, "log": mpmath.log,
    "sqrt": mpmath.sqrt, "sinh": mpmath.sinh, "cosh": mpmath.cosh, "atan": mpmath.atan, "erf": mpmath.erf,
    "expm1": mpmath.expm1, "log1p": mpmath.log1p, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "asin": mpmath.asin, "acos": mpmath.acos, "atanh": mpmath.atanh,
    "asinh": mpmath.asinh, "square": lambda x: x * x,
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", UNARY)
def test_eight_orders_agree_with_mpmath(name):
    x = paddle.to_tensor(0.4, "float64", stop_gradient=False)
    current = getattr(paddle, name)(x)
    with mpmath.workdps(60):
        exact = mpmath.taylor(UNARY[name], mpmath.mpf(0.4), 8)
    for order in range(1, 9):
        (current,) = paddle.grad(current, x, create_graph=True)
        expected = float(exact[order] * mpmath.factorial(order))
        np.testing.assert_allclose(float(current), expected, rtol=1e-9, atol=1e-12, err_msg=f"order {order}")
