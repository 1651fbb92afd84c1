"""What an op of a user's own is made of: known where its definition is pointwise, and cheap if all of it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.ir.node import Node
from primad.recording.tracing import trace
from primad.simplify.own_definitions import is_cheap, own_definition

SHIFTS = np.array([1.0, 2.0, 3.0])
DEFINITIONS = {
    "arithmetic": (lambda x: 2.0 * x + 1.0, True, True),
    "a function": (lambda x: 2.0 * np.tanh(x), True, False),
    "nothing but its operand": (lambda x: x, True, True),
    "a sum among arithmetic": (lambda x: x * 2.0 - np.sum(x), False, False),
    "an array that it closes over": (lambda x: x + SHIFTS, False, False),
    "another dtype": (lambda x: (x * 2.0).astype(np.float32), False, False),
    "what cannot be recorded": (lambda x: x * float(x[0]), False, False),
}
"""A definition, whether it is known as pointwise ops, and whether it is cheap."""


def applied(definition: Callable[..., Any]) -> Node:
    op = primad.elementwise("own", definition, partials=[lambda out, x: out])
    return trace(lambda x: op(x))(np.ones(3)).outputs[0]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_are_known_where_all_of_them_is_pointwise(name: str) -> None:
    definition, known, cheap = DEFINITIONS[name]
    node = applied(definition)
    assert (own_definition(node) is not None) == known
    assert is_cheap(node) == cheap


def test_ops_that_primad_has_are_what_their_records_say() -> None:
    program = trace(lambda x: (x + 1.0, np.tanh(x), np.sum(x), np.linalg.slogdet(x)[1]))(np.eye(3))
    total, tangent, summed, logarithm = program.outputs
    assert [own_definition(node) for node in program.outputs] == [None] * 4
    assert is_cheap(total) and not any(map(is_cheap, (tangent, summed, logarithm, *logarithm.inputs, *program.inputs)))
