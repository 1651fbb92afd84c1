"""The gradient and tangent operators of any operator: its vector-Jacobian and Jacobian-vector products, by the engine.

`foo_grad` takes what `foo` takes and the gradients of its results; `foo_grad_grad` is the gradient operator of that.
So every operator has gradients of every order, and no derivative is written in this layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.settings.naming import GRADIENT, TANGENT
from primad.functional.derivatives.first_order import jvp, vjp
from primad.recording import tree
from primad.system.process import made_once


@made_once(most=1024)
def gradient_of(operator: Prototype) -> Prototype:
    """Return the gradient operator of an operator.

    Its input slots are those of the operator, then `Out@GRAD` for each output slot (None stands for zeros); its output
    slots are `X@GRAD` for each input slot, None where the input is no float.
    """
    count = len(operator.inputs)

    def compute(*operands: Any, **attributes: Any) -> Any:
        slots, cotangents = operands[:count], operands[count:]
        leaves, structure = tree.flatten(list(slots))
        active = [i for i, leaf in enumerate(leaves) if leaf.dtype.kind == "f"]

        forward = _function_of(operator, attributes, leaves, structure, active)
        values, pullback = vjp(forward, *[leaves[i] for i in active])
        gradients: list[Any] = [None] * len(leaves)
        for i, gradient in zip(active, pullback(_seeds(values, list(cotangents))), strict=True):
            gradients[i] = gradient
        iterator = iter(gradients)
        packed = tuple(_packed(slot, iterator) for slot in slots)
        return packed[0] if count == 1 else packed

    return Prototype(
        f"{operator.type}_grad",
        compute,
        (*operator.inputs, *(f"{name}{GRADIENT}" for name in operator.outputs)),
        tuple(f"{name}{GRADIENT}" for name in operator.inputs),
        operator.attributes,
    )


def _function_of(
    operator: Prototype, attributes: dict[str, Any], leaves: list[Any], structure: Any, active: list[int]
) -> Callable[..., Any]:
    """Return the operator's float results as a function of the active leaves of its operands; the others are fixed."""

    def forward(*values: Any) -> Any:
        full = list(leaves)
        for i, value in zip(active, values, strict=True):
            full[i] = value
        results = operator.compute(*tree.unflatten(structure, full), **attributes)
        return _floats([results] if len(operator.outputs) == 1 else list(results))

    return forward


def _floats(results: Any) -> Any:
    """Return the results that can have a gradient, None in place of the others."""
    if isinstance(results, list):
        return [_floats(result) for result in results]
    return results if results is not None and results.dtype.kind == "f" else None


def _seeds(values: Any, cotangents: Any) -> Any:
    """Return cotangents in the structure of the values."""
    if isinstance(values, list):
        given = [None] * len(values) if cotangents is None else cotangents
        return [_seeds(value, cotangent) for value, cotangent in zip(values, given, strict=True)]
    return _seed(values, cotangents)


def _seed(value: Any, given: Any) -> Any:
    """Return the cotangent of a value: zeros where it is missing; the only element of another shape stands for all."""
    if value is None:
        return None
    if given is None:
        return np.zeros(value.shape, value.dtype)
    if given.shape != value.shape and given.size == 1:
        return np.broadcast_to(given.reshape(()), value.shape)
    return given


def _packed(slot: Any, gradients: Any) -> Any:
    """Return the next gradients in the structure of a slot."""
    if isinstance(slot, (list, tuple)):
        return [_packed(item, gradients) for item in slot]
    return None if slot is None else next(gradients)


@made_once(most=1024)
def tangent_of(operator: Prototype) -> Prototype:
    """Return the operator that pushes tangents through an operator: its Jacobian-vector product, by the engine.

    Its input slots are those of the operator, then `X@TANGENT` for each of them (None stands for zeros); its output
    slots are `Out@TANGENT` for each output slot, None where the output is no float.
    """
    count = len(operator.inputs)

    def compute(*operands: Any, **attributes: Any) -> Any:
        slots, tangents = operands[:count], operands[count:]
        leaves, structure = tree.flatten(list(slots))
        moves = [item for slot, given in zip(slots, tangents, strict=True) for item in _spread(slot, given)]
        active = [i for i, move in enumerate(moves) if move is not None and leaves[i].dtype.kind == "f"]

        forward = _function_of(operator, attributes, leaves, structure, active)
        _, pushed = jvp(forward, tuple([leaves[i] for i in active]), tuple([moves[i] for i in active]))
        return pushed[0] if len(operator.outputs) == 1 else tuple(pushed)

    return Prototype(
        f"{operator.type}_jvp",
        compute,
        (*operator.inputs, *(f"{name}{TANGENT}" for name in operator.inputs)),
        tuple(f"{name}{TANGENT}" for name in operator.outputs),
        operator.attributes,
    )


def _spread(slot: Any, given: Any) -> list[Any]:
    """Return a tangent, or None, for each value in a slot."""
    if not isinstance(slot, (list, tuple)):
        return [] if slot is None else [given]
    tangents = [None] * len(slot) if given is None else given
    return [tangent for value, tangent in zip(slot, tangents, strict=True) if value is not None]
