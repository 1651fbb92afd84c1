"""Lowering a block to the engine's primitives, which then stand in the program's text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.functions.creation import assign_, assign_value_, fill_any_like_, fill_constant_
from primad.compat.paddle.settings.naming import generate
from primad.compat.paddle.static.inference import UNKNOWN, recorded
from primad.compat.paddle.static.operator import Operator
from primad.compat.paddle.static.program import Block
from primad.compat.paddle.static.variable import Variable
from primad.ir.node import CAPTURED, INPUT, LITERAL, Node, literal_value
from primad.ops.record.primitive import Primitive
from primad.recording import tree
from primad.system.process import made_once
from primad.transforms.lowering import lower

_FILL = dataclasses.replace(fill_constant_, type="fill_constant_p")
_FILL_LIKE = dataclasses.replace(fill_any_like_, type="fill_any_like_p")
_VALUES = dataclasses.replace(assign_value_, type="assign_value_p")


@made_once(most=1024)
def primitive_operator(primitive: Primitive, names: tuple[str, ...]) -> Prototype:
    """Return the operator that applies a primitive; its operands are in one slot.

    Args:
        primitive: the engine's record.
        names: the names of its params.
    """
    return Prototype(
        f"{primitive.name}_p",
        lambda operands, **params: primitive(*operands, **params),
        ("X",),
        ("Out",),
        dict.fromkeys(names),
    )


@made_once(most=256)
def _source(prototype: Prototype) -> Prototype:
    """Return an operator without operands (a constant, random numbers) as the primitive that it is."""
    return prototype if prototype.type.endswith("_p") else dataclasses.replace(prototype, type=f"{prototype.type}_p")


def lower_block(block: Block) -> None:
    """Replace operators by primitives, except those whose primitives would depend on a length that is unknown."""
    operators, block.ops = block.ops, []
    for op in operators:
        if not op.prototype.inputs:
            block.append_made(Operator(_source(op.prototype), (), op.results, op.attributes))
            continue
        lowering = _Lowering(block, op)
        if lowering.possible:
            lowering.append()
        else:
            block.append_made(op)


class _Lowering:
    """One operator of a block as primitives, recorded for two different numbers in place of unknown lengths."""

    def __init__(self, block: Block, op: Operator) -> None:
        self.block, self.op = block, op
        self.possible = bool(tree.leaves(op.slots)) and not op.type.endswith("_p")
        if not self.possible:
            return
        self.operands = [block.var(name) for name in op.input_arg_names]
        slots = tree.map(block.var, op.slots)
        one, two = (lower(program) for program in recorded(op.prototype, slots, op.attributes))
        self.program = one
        self.twin = dict(zip(one.nodes, two.nodes, strict=False))
        self.possible = len(one.nodes) == len(two.nodes) and all(self._known(node) for node in one.nodes)

    def _known(self, node: Node) -> bool:
        """Say whether a node depends on no unknown length."""
        other = self.twin[node]
        if node.op is not other.op:
            return False
        if node.op is LITERAL:
            return node.type == other.type or self._like(node) is not None
        return node.params == other.params or node.op is CAPTURED

    def _like(self, literal: Node) -> Node | None:
        """Return an operand beside a literal that has its type, whatever the unknown lengths are."""
        for node in self.program.nodes:
            if literal in node.inputs:
                for beside in node.inputs:
                    same = beside.type == literal.type and self.twin[beside].type == self.twin[literal].type
                    if beside.op is not LITERAL and same:
                        return beside
        return None

    def append(self) -> None:
        """Append the primitives."""
        role = self.op.attributes["op_role"]
        results = list(self._results())
        overwritten = self.op.input_arg_names  # written last, when all primitives have read them
        targets = {node: name for node, name in results if node.op is not INPUT and name not in overwritten}
        variables: dict[Node, Variable] = dict(zip(self.program.inputs, self.operands, strict=True))
        for node in self._in_order():
            record, slots, attributes = self._operator(node, variables)
            made = self.block.var(targets[node]) if node in targets else self._variable(node, record)
            self.block.append_operator(record, slots, [made], attributes, role)
            variables[node] = made
        for node, name in results:
            if targets.get(node) != name:
                self.block.append_operator(assign_, [variables[node]], [self.block.var(name)], {}, role)

    def _in_order(self) -> list[Node]:
        """Return the nodes to compute; literals that are made like an operand come after it."""
        plain = [node for node in self.program.nodes if node.op is not INPUT]
        late = {node for node in plain if node.op is LITERAL and node.type != self.twin[node].type}
        result: list[Node] = []
        for node in plain:
            if node not in late:
                result += [operand for operand in dict.fromkeys(node.inputs) if operand in late]
                late -= set(node.inputs)
                result.append(node)
        return result

    def _results(self) -> Iterator[tuple[Node, str]]:
        """Yield the nodes of the results that are wanted, and their variables' names."""
        made = tree.unflatten(self.program.out_tree, self.program.outputs)
        for value, slot in zip(made, self.op.results, strict=True):
            pairs = zip(value, slot, strict=True) if isinstance(slot, list) else [(value, slot)]
            yield from ((node, name) for node, name in pairs if node is not None and name is not None)

    def _variable(self, node: Node, record: Prototype) -> Variable:
        pairs = zip(node.type.shape, self.twin[node].type.shape, strict=True)
        shape = [one if one == two else UNKNOWN for one, two in pairs]
        return self.block.create_var(f"{generate(record.type)}.tmp_0", shape, node.type.dtype)

    def _operator(self, node: Node, variables: dict[Node, Variable]) -> tuple[Prototype, list[Any], dict[str, Any]]:
        if node.op is CAPTURED:
            return _VALUES, [], {"values": np.asarray(node.params[0][1].array)}
        if node.op is LITERAL and node.type != self.twin[node].type:
            like = self._like(node)
            assert like is not None
            return _FILL_LIKE, [variables[like]], {"value": literal_value(node)}
        if node.op is LITERAL:
            value = literal_value(node)
            return _FILL, [], {"shape": node.type.shape, "value": value, "dtype": node.type.dtype.name}
        params = dict(node.params)
        return primitive_operator(node.op, tuple(params)), [[variables[n] for n in node.inputs]], params
