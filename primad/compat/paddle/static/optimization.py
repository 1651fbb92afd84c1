"""Training static programs: gradients, then one update operator for each parameter.

The update rules are those of `primad.nn`. Their state is made of persistable variables, which live in the scope beside
the parameters.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primad import nn
from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.settings.default_initializers import Constant
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.compat.paddle.settings.naming import generate
from primad.compat.paddle.static.backward import append_backward
from primad.compat.paddle.static.defaults import default_startup_program
from primad.compat.paddle.static.operator import OPTIMIZE, Operator
from primad.compat.paddle.static.parameters import fill
from primad.compat.paddle.static.program import Program, program_guard
from primad.compat.paddle.static.variable import Parameter, Variable
from primad.recording import tree
from primad.system.process import made_once

_STATE: dict[type, tuple[str, ...]] = {
    nn.SGD: (),
    nn.Momentum: ("Velocity",),
    nn.Adam: ("Step", "Moment1", "Moment2"),
    nn.AdamW: ("Step", "Moment1", "Moment2"),
}
"""What Paddle calls the parts of a rule's state, in the order of its leaves."""


@made_once(most=256)
def update_operator(rule: Any) -> Prototype:
    """Return the operator that makes one step of an update rule.

    Args:
        rule: an SGD, Momentum, Adam or AdamW of `primad.nn`.
    """
    parts = _STATE[type(rule)]
    structure = tree.flatten(rule.init(np.zeros(1)))[1]

    def compute(parameter: Any, gradient: Any, learning_rate: Any, *state: Any, **_: Any) -> Any:
        before = tree.unflatten(structure, state)
        new, after = rule.update(parameter, gradient, before, learning_rate=learning_rate)
        return (new, *tree.leaves(after)) if parts else new

    return Prototype(
        type(rule).__name__.lower(),
        compute,
        ("Param", "Grad", "LearningRate", *parts),
        ("ParamOut", *(f"{part}Out" for part in parts)),
        {field.name: getattr(rule, field.name) for field in dataclasses.fields(rule) if field.name != "learning_rate"},
    )


def minimize(
    loss: Any,
    rule_of: Callable[[Parameter], Any],
    learning_rate: Callable[[], float],
    startup_program: Program | None = None,
    parameters: Any = None,
    no_grad_set: Any = None,
    change: Callable[[list[tuple[Any, Any]]], list[tuple[Any, Any]]] = list,
) -> tuple[list[Operator], list[tuple[Variable, Variable]]]:
    """Append the gradients of a loss and the update of each parameter.

    Args:
        loss: what to minimise, of one element.
        rule_of: the update rule of a parameter.
        learning_rate: the rate, asked for at each run.
        startup_program: where the state is filled, by default the default startup program.
        parameters: variables or names; by default all trainable parameters.
        no_grad_set: as for `append_backward`.
        change: takes the list of (parameter, gradient) and returns the gradients that the update takes.

    Returns:
        the update operators, and the list of (parameter, gradient).

    Raises:
        InvalidArgumentError: if the loss has more than one element.
    """
    if any(length != 1 for length in loss.shape):
        raise InvalidArgumentError(
            f"minimize: the loss {loss.name} of shape {loss.shape} is not one number",
            fix="reduce it: paddle.mean(loss).",
        )
    program = loss.program
    with program_guard(program, startup_program or default_startup_program()):
        pairs = append_backward(loss, parameters, no_grad_set)
        changed = _as_updates(program, partial(change, pairs))
        return _append_updates(program, changed, rule_of, learning_rate), pairs


def _as_updates(program: Program, append: Callable[[], Any]) -> Any:
    """Call what appends operators, and mark them as part of the update."""
    block = program.global_block()
    before = len(block.ops)
    result = append()
    for op in block.ops[before:]:
        op.attributes["op_role"] = OPTIMIZE
    return result


def _append_updates(
    program: Program, pairs: list[tuple[Any, Any]], rule_of: Any, learning_rate: Callable[[], float]
) -> list[Operator]:
    block = program.global_block()
    rate = block.create_var(generate("learning_rate"), (), "float32", persistable=True, stop_gradient=True)
    fill(rate, Constant(learning_rate()))
    program.rates[rate.name] = learning_rate
    made = []
    for parameter, gradient in sorted(pairs, key=lambda pair: pair[0].name):
        rule = rule_of(parameter)
        record = update_operator(rule)
        scaled = rate
        if parameter.learning_rate != 1.0:
            scaled = _as_updates(program, partial(operator.mul, rate, parameter.learning_rate))
        state = []
        leaves = tree.leaves(rule.init(np.zeros(1, parameter.dtype.numpy)))
        for part, leaf in zip(record.inputs[3:], leaves, strict=True):
            shape = parameter.shape if np.ndim(leaf) else ()
            name = generate(f"{parameter.name}_{part.lower()}")
            variable = block.create_var(name, shape, leaf.dtype, persistable=True)
            fill(variable, Constant(0))
            state.append(variable)
        slots = [parameter, gradient, scaled, *state]
        made.append(block.append_operator(record, slots, [parameter, *state], dict(record.attributes), OPTIMIZE))
    return made
