"""Products without a sum, about to be planned: what BLAS would do one by one becomes pointwise and joins a kernel."""

from __future__ import annotations

from primad import ops
from primad.ir.node import Node
from primad.ir.program import Program
from primad.ops.arrays.contraction import split
from primad.ops.record.primitive import apply
from primad.system.machine import CALL_ELEMENTS
from primad.transforms.lowering import rewritten


def outer_products(program: Program, smallest: int = CALL_ELEMENTS) -> Program:
    """Return the program with contractions over axes of length 1, or over none, as products of broadcast operands.

    Differentiation keeps them as contractions, whose transposes are matrix products; so this comes last.

    Args:
        program: a lowered program.
        smallest: contractions whose result has fewer elements are left alone.
    """
    chosen = {node for node in program.nodes if node.type.size >= smallest and _is_outer(node)}
    if not chosen:
        return program
    return rewritten(program, lambda node, mapping, _: _spread(node, mapping) if node in chosen else None, copy=True)


def _is_outer(node: Node) -> bool:
    if node.op is not ops.contract:
        return False
    x, y, out = split(dict(node.params)["labels"])
    return all(
        letter in out or length == 1
        for operand, part in zip(node.inputs, (x, y), strict=True)
        for letter, length in zip(part, operand.type.shape, strict=True)
    )


def _spread(node: Node, mapping: dict[Node, Node]) -> Node:
    x, y, out = split(dict(node.params)["labels"])
    factors = []
    for operand, part in zip(node.inputs, (x, y), strict=True):
        new = mapping[operand]
        kept = [letter for letter in part if letter in out]
        lengths = dict(zip(part, operand.type.shape, strict=True))
        new = apply(new.trace, ops.reshape, new, shape=tuple([lengths[letter] for letter in kept]))
        ordered = [letter for letter in out if letter in kept]
        new = apply(new.trace, ops.permute, new, order=tuple([kept.index(letter) for letter in ordered]))
        missing = tuple([axis for axis, letter in enumerate(out) if letter not in kept])
        factors.append(apply(new.trace, ops.broadcast, new, shape=node.type.shape, axes=missing))
    return apply(factors[0].trace, ops.mul, *factors)
