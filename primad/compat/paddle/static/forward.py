"""Forward mode in static programs: appending the tangents of targets along tangents of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from primad.compat.paddle.eager.gradients import tangent_of
from primad.compat.paddle.functions.creation import fill_any_like_
from primad.compat.paddle.settings.naming import TANGENT, generate
from primad.compat.paddle.static.backward import path_between
from primad.compat.paddle.static.operator import BACKWARD, each
from primad.compat.paddle.static.program import Block
from primad.compat.paddle.static.variable import Variable
from primad.recording import tree


def tangents(
    targets: Sequence[Variable], inputs: Sequence[Variable], along: Sequence[Variable | None] | None = None
) -> list[Variable | None]:
    """Append the tangents of targets along tangents of inputs, and return them.

    Args:
        targets: variables of one program.
        inputs: variables of that program.
        along: a tangent for each input, of its shape; None means ones.

    Returns:
        the tangent of each target, None where it does not depend on the inputs.
    """
    block = inputs[0].program.global_block()
    path = path_between(block, {v.name for v in targets}, {v.name for v in inputs}, set())
    moving: dict[str, Variable] = {}
    for variable, tangent in zip(inputs, along or [None] * len(inputs), strict=True):
        moving[variable.name] = tangent if tangent is not None else _ones(block, variable)
    for op in path:
        given = tree.map(lambda name: moving.get(name), op.slots)
        if not tree.leaves(given):
            continue
        results = [each(slot, partial(_tangent, block)) for slot in op.results]
        values = tree.map(block.var, op.slots)
        block.append_operator(tangent_of(op.prototype), [*values, *given], results, op.attributes, BACKWARD)
        for slot, made in zip(op.results, results, strict=True):
            pairs = zip(slot, made, strict=True) if isinstance(slot, list) else [(slot, made)]
            moving.update((name, tangent) for name, tangent in pairs if tangent is not None)
    return [moving.get(variable.name) for variable in targets]


def _ones(block: Block, variable: Variable) -> Variable:
    result = _tangent(block, variable.name)
    assert result is not None
    block.append_operator(fill_any_like_, [variable], [result], {"value": 1.0}, BACKWARD)
    return result


def _tangent(block: Block, name: str) -> Variable | None:
    """Return a new variable for the tangent of a variable; None for one that is no float."""
    variable = block.var(name)
    if not variable.dtype.is_floating:
        return None
    name += TANGENT
    return block.create_var(generate(name) if name in block.vars else name, variable.shape, variable.dtype)
