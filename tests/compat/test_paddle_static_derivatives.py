"""Every differentiable operation of the Paddle layer in a static program: three orders, as in eager mode."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad.compat.paddle as paddle
from tests.sweeps import thinned

_PATH = Path(__file__).parent / "programs" / "paddle_derivatives.py"
_spec = importlib.util.spec_from_file_location("paddle_derivatives_in_programs", _PATH)
assert _spec is not None and _spec.loader is not None
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

BY_VALUE = {"masked_select": "the length of its result depends on values"}
"""Operations that a program cannot describe, and why."""


def static_derivatives(function: Any, values: Any, orders: int) -> list[list[Any]]:
    """Return what `programs.derivatives` returns, from one run of a static program."""
    arrays = [np.array(value, "float64") for value in values]
    operands = [paddle.static.data(f"x{i}", array.shape, "float64") for i, array in enumerate(arrays)]
    for operand in operands:
        operand.stop_gradient = False
    current = function(paddle, *operands)
    weight = np.linspace(1.0, 2.0, int(np.prod(current.shape))).reshape(current.shape)
    total = paddle.sum(current * weight)
    found = []
    for _ in range(orders):
        gradients = paddle.static.gradients([total], operands)
        found.append([paddle.zeros_like(x) if g is None else g for g, x in zip(gradients, operands, strict=True)])
        total = sum(paddle.sum(g * array) for g, array in zip(found[-1], arrays, strict=True))
    feed = {operand.name: array for operand, array in zip(operands, arrays, strict=True)}
    run = iter(paddle.static.Executor().run(feed=feed, fetch_list=found))
    return [[next(run) for _ in operands] for _ in range(orders)]


@pytest.mark.one_in(12)
@thinned(4, name=[name for name in programs.OPERATIONS if name not in BY_VALUE])
def test_three_orders(name: str) -> None:
    function, values = programs.OPERATIONS[name]
    expected = programs.derivatives(paddle, function, values, 3)
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            found = static_derivatives(function, values, 3)
    finally:
        paddle.disable_static()
    for order, (static, eager) in enumerate(zip(found, expected, strict=True), 1):
        for one, two in zip(static, eager, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9, err_msg=f"order {order}")
