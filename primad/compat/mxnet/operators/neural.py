"""Layers of neural networks."""

from __future__ import annotations

from typing import Any

from primad import numpy as pnp
from primad.compat.mxnet.operators.elementwise import UNARY
from primad.compat.mxnet.operators.record import operator
from primad.compat.mxnet.parameters import Settings, boolean, choice, integer
from primad.compat.mxnet.shapes import Shape, same, size, unify
from primad.nn import softplus


def _weight_and_bias(settings: Settings) -> tuple[str, ...]:
    return ("data", "weight") if settings.no_bias else ("data", "weight", "bias")


def _dense_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    data, units = inputs[0], settings.num_hidden
    if data is None:
        return
    inputs[1] = unify((units, size(data, 1) if settings.flatten else data[-1]), inputs[1])
    outputs[0] = unify((data[0], units) if settings.flatten else (*data[:-1], units), outputs[0])
    if not settings.no_bias and (inputs[2] is None or len(inputs[2]) == 1):
        inputs[2] = unify((units,), inputs[2])
    assert outputs[0] is not None
    inputs[0] = unify((outputs[0][0], *data[1:]) if settings.flatten else (*outputs[0][:-1], data[-1]), data)


@operator(
    "FullyConnected",
    inputs=_weight_and_bias,
    parameters={"num_hidden": integer(minimum=1), "no_bias": boolean(False), "flatten": boolean(True)},
    shapes=_dense_shapes,
)
def fully_connected(settings: Settings, data: Any, weight: Any, bias: Any = None) -> Any:
    """X Wᵀ + b, of the data as rows or along its last axis."""
    if settings.flatten and data.ndim != 2:
        data = pnp.reshape(data, (data.shape[0], -1))
    result = data @ pnp.transpose(weight)
    return result if bias is None else result + pnp.reshape(bias, (-1,))


ACTIVATIONS = {**{name: UNARY[name] for name in ("relu", "sigmoid", "tanh", "softsign")}, "softrelu": softplus}


@operator("Activation", parameters={"act_type": choice(*ACTIVATIONS)}, shapes=same)
def activation(settings: Settings, data: Any) -> Any:
    """One of a few activation functions."""
    return ACTIVATIONS[settings.act_type](data)
