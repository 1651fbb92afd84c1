"""What tells programs apart in every process: a sum of their ops, params and types."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from primad.ir.node import CAPTURED, INPUT, LITERAL, Node, leaf_value, param_key, params_key
from primad.ir.program import Program


def fingerprint(program: Program, known: Mapping[str, Any]) -> str | None:
    """Return a text that is equal for equal programs only, in all processes of one version of the known ops.

    Args:
        program: without programs inside.
        known: the ops whose names say what they are.

    Returns:
        None where a name does not: of an op of the user's own, or of what a param refers to.
    """
    number: dict[Node, int] = {}
    said: list[str] = []
    heads: dict[Any, str | None] = {}  # what many nodes share takes long to say
    for node in dict.fromkeys([*program.inputs, *program.nodes]):
        key = node if node.op is CAPTURED else (node.op, params_key(node.params), node.type)
        if key not in heads:
            heads[key] = _said(node, known)
        head = heads[key]
        if head is None:
            return None
        said.append(f"{head} {[number[x] for x in node.inputs]}" if node.inputs else head)
        number[node] = len(number)
    said.append(str([number[node] for node in program.outputs]))
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def _said(node: Node, known: Mapping[str, Any]) -> str | None:
    """Return a text that says what a node is but for its operands."""
    name: str = node.op.name
    if node.op is INPUT:
        return f"input {node.type}"
    if node.op is CAPTURED:
        return f"array {node.type} {hashlib.sha256(np.ascontiguousarray(leaf_value(node)).data).hexdigest()}"
    params = [(key, param_key(value)) for key, value in node.params]
    if (node.op is not LITERAL and known.get(name) is not node.op) or not _is_plain(params):
        return None
    return f"{name} {params} {node.type}"


def _is_plain(value: Any) -> bool:
    """Say whether a param's text says all of it."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (int, str, bytes, np.dtype))
