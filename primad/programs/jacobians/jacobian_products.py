"""Matrices of derivatives in contractions: what is summed, what stays, and products with stacks of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.ir.node import named as named_params
from primad.ir.program import ClosedProgram
from primad.ops.arrays.contraction import ALPHABET, letters, split
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.jacobian_parts import (
    Inputs,
    Params,
    Rule,
    Side,
    defined,
    order_of,
)
from primad.programs.program_ops import vmap_
from primad.recording.traced_array import TracedArray
from primad.system.machine import SPARE_DOUBLES
from primad.transforms.lowering import alone

MOST_VECTORS = 1024
"""Vectors that a large matrix is multiplied by without being made. Chosen: more take longer than it does."""


def contraction(inputs: Inputs, params: Params, node: Node) -> tuple[str, str, str, TracedArray]:
    """Return the letters of the matrix, of the other operand and of the result, and the other operand."""
    parts = split(params["labels"])
    place = 0 if inputs[0] is node else 1
    return defined(parts[place], dict(node.params)), parts[1 - place], parts[2], TracedArray(inputs[1 - place])


def contracted(letters: str, other: str, out: str, rest: str) -> bool:
    """Say whether the other operand has these letters, which the result has not, and only others that stay.

    Args:
        letters: of the axes of a matrix that are summed.
        other: of the other operand.
        out: of the result.
        rest: of the other axes of the matrix.
    """
    stay = set(other) - set(letters)
    return (
        letters != "" and set(letters) <= set(other) and not set(letters) & set(out) and not stay & set(rest)
    )  # fmt: skip


def are_few(vectors: int, matrix: Node) -> bool:
    """Say whether so many vectors are multiplied by a matrix of derivatives that is not made for them."""
    return vectors <= 1 or (matrix.type.size > SPARE_DOUBLES and vectors < MOST_VECTORS)


def product(
    op: Primitive, operands: Sequence[Any], v: TracedArray, names: tuple[str, str], params: Params
) -> tuple[TracedArray, str]:
    """Return a product of a matrix of derivatives with a vector, or with a stack of them, and the letters of the stack.

    Args:
        op: what gives the product with a vector, its last operand.
        operands: the others.
        v: the vector, or the stack.
        names: the letters of its axes, and of those that are summed.
        params: of the op.
    """
    have, gone = names
    stay = "".join([letter for letter in have if letter not in gone])
    v = arranged(v, have, stay + gone)
    if not stay:
        return op(*operands, v, **params), ""
    lengths, own = v.shape[: len(stay)], v.shape[len(stay) :]
    rows = ops.reshape(v, shape=(math.prod(lengths), *own))
    one = alone(op, [*[x.type for x in operands], ArrayType(own, v.dtype)], named_params(params))
    flags = (*[False] * len(operands), True)
    found = vmap_(*operands, rows, of=ClosedProgram(one), batched=flags, size=len(rows))
    return ops.reshape(found, shape=(*lengths, *found.shape[1:])), stay


def arranged(x: Any, have: str, want: str) -> Any:
    """Return an array whose axes have letters with the letters in another order."""
    return ops.permute(x, order=tuple([have.index(letter) for letter in want]))


def added_up(sides: Sequence[Side], *times: Rule) -> Rule:
    """Return the rule that a sum of all rows, or of all columns, of a matrix is a product with ones.

    Args:
        sides: the sides of the matrix.
        times: the rules of its products.
    """

    def rule(node: Node, inputs: Inputs, params: Params) -> Node | None:
        named = dict(node.params)
        order = order_of(named, node.type.ndim)
        axes, start = {order[axis] for axis in params["axes"]}, 0
        for side, _ in sides:
            own = range(start, start + len(named[side]))
            start = own.stop
            if own and axes.issuperset(own):
                found = _times_ones(node, [order.index(axis) for axis in own], params["axes"], times)
                if found is not None:
                    return found
        return None

    return rule


def _times_ones(node: Node, own: Sequence[int], axes: Sequence[int], times: Sequence[Rule]) -> Node | None:
    """Return the sum of a matrix over some axes, of which `own` are those of a side; None without a rule."""
    here = ALPHABET[: node.type.ndim]
    gone = "".join([here[axis] for axis in own])
    kept = "".join([letter for letter in here if letter not in gone])
    ones = node.trace.literal(1, ArrayType(tuple([node.type.shape[axis] for axis in own]), node.type.dtype))
    rest = tuple([kept.index(here[axis]) for axis in axes if axis not in own])
    for product_rule in times:
        found = product_rule(node, (node, ones), {"labels": letters(here, gone, kept)})
        if found is not None:
            result: Node = ops.sum(TracedArray(found), axes=rest).node if rest else found
            return result
    return None
