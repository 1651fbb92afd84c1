"""Hessians as nodes, with the laws by which the ops that consume them choose their computation.

A diagonal is made of second directional derivatives, or of few Hessian-vector products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.ir.program import ClosedProgram
from primad.numpy.linalg.diagonals import diagonal_, trace_
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive, full
from primad.programs.consumer_laws import node_of, product_law
from primad.programs.jacobians.blocks import Block, block_shape, take_block
from primad.programs.jacobians.diagonal_ops import hessian_diagonal_, jacobian_diagonal_, mixed_diagonal_
from primad.programs.jacobians.jacobian_laws import jacobian_
from primad.programs.jacobians.jacobian_parts import (
    HESSIAN,
    Inputs,
    Params,
    Rule,
    arranged_shape,
    cast_before,
    columns_taken,
    consumer_law,
    held,
    in_order,
    is_whole,
    known_of,
    order_of,
    permuted,
    place_of,
    reshaped,
    sliced,
    summed,
    turned,
    with_added,
)
from primad.programs.jacobians.jacobian_products import added_up, are_few, arranged, contracted, contraction, product
from primad.programs.jacobians.jacobian_programs import (
    Types,
    build_hessian,
    hvp_,
    pullback_,
    pushforward_,
)
from primad.programs.program_ops import program_op
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of


def _hessian_types(
    of: ClosedProgram,
    *,
    output: int,
    first: int,
    second: int,
    rows: Block,
    left: Block,
    right: Block,
    order: Any = None,
    known: Any = None,
) -> Types:
    shape = (*block_shape(rows), *block_shape(left), *block_shape(right))
    return [ArrayType(arranged_shape(shape, order), of.out_types[output].dtype)]


def _hessian_times(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    if not is_whole(named, ("left", "first"), ("right", "second")):
        return None
    ny, nl = len(named["rows"]), len(named["left"])
    mine, other, out, v = contraction(inputs, params, node)
    rows, left, right = mine[:ny], mine[ny : ny + nl], mine[ny + nl :]
    for along, kept, letters, rest in (
        (named["second"], named["first"], right, left),
        (named["first"], named["second"], left, right),
    ):
        few = are_few(v.size // max(1, named["of"].program.in_types[along].size), node)
        if contracted(letters, other, out, rows + rest) and few:
            v = ops.cast(v, dtype=str(named["of"].program.in_types[along].dtype))
            place = {"along": along, "argument": kept, **place_of(named)}
            found, stack = product(hvp_, [*map(TracedArray, node.inputs)], v, (other, letters), place)
            return node_of(arranged(found, stack + rows + rest, out))
    return None


def _diagonal_of_hessian(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    ny, order = len(named["rows"]), order_of(named, node.type.ndim)
    axes = [order[params[name]] for name in ("axis1", "axis2")]
    if len(named["left"]) != 1 or len(named["right"]) != 1 or sorted(axes) != [ny, ny + 1]:
        return None
    operands = [*map(TracedArray, node.inputs)]
    if named["first"] == named["second"] and is_whole(named, ("left", "first"), ("right", "second")):
        found = hessian_diagonal_(*operands, total=False, argument=named["first"], **place_of(named), **known_of(named))
        rows = tuple([axis for axis in order if axis < ny])
        return node_of(found if rows == tuple(range(ny)) else ops.permute(found, order=(*rows, ny)))
    if named["of"].out_types[named["output"]].shape:
        return None
    named.pop("order", None)
    named.pop("rows")
    return node_of(mixed_diagonal_(*operands, **named))


def _scalar(x: Any) -> Any:
    """A function of two variables whose second derivatives all differ, for statements."""
    return ops.sum(ops.sin(x) * ops.flip(x, axes=(0,)) * x * x, axes=(0,))


def _hessian(x: Any, left: Block = ((0, 2, 1),), right: Block = ((0, 2, 1),), **order: Any) -> Any:
    return hessian_(x, of=held(_scalar), output=0, first=0, second=0, rows=(), left=left, right=right, **order)


def _narrow(x: Any, dtype: str = "float32") -> Any:
    """Return a Hessian by numbers of 32 bits, of a result that is cast."""
    type = ArrayType((2,), np.float32)
    of = ClosedProgram(program_of([type], lambda x: [ops.cast(ops.sum(x * x * x, axes=(0,)), dtype=dtype)]))
    blocks = {"rows": (), "left": ((0, 2, 1),), "right": ((0, 2, 1),)}
    return hessian_(ops.cast(x, dtype="float32"), of=of, output=0, first=0, second=0, **blocks)


def _grid(x: Any) -> Any:
    return ops.sum(ops.sin(x) * ops.flip(x, axes=(0,)), axes=(0, 1))


def _of_grid(x: Any) -> Any:
    """Return a Hessian by an argument of two axes."""
    of = ClosedProgram(program_of([ArrayType((2, 2), float)], lambda x: [_grid(x)]))
    two = ((0, 2, 1), (0, 2, 1))
    return hessian_(x, of=of, output=0, first=0, second=0, rows=(), left=two, right=two)


def _of_row(x: Any) -> Any:
    """Return the same Hessian by what is added to the argument, in one row, twice."""

    def body(x: Any, s: Any, t: Any) -> list[Any]:
        return [_grid(x + ops.reshape(t, shape=(2, 2)) + ops.reshape(s, shape=(2, 2)))]

    row = ArrayType((4,), float)
    of = ClosedProgram(program_of([ArrayType((2, 2), float), row, row], body))
    zeros = full(0.0, ops.reshape(x, shape=(4,)))
    four = ((0, 4, 1),)
    return hessian_(x, zeros, zeros, of=of, output=0, first=1, second=2, rows=(), left=four, right=four)


def _times_ones(x: Any) -> Any:
    return ops.contract(_hessian(x), full(1.0, x), labels="ab,a->b")


def _of_taken_elements(x: Any) -> Any:
    blocks = {"rows": (), "left": ((0, 2, 1),), "right": ((0, 2, 1),)}
    return hessian_(x, np.array([1, 1]), full(0.0, x), of=with_added(_scalar), output=0, first=0, second=2, **blocks)


def _hessian_law(name: str, at: Primitive, rule: Rule, statement: Any, *shapes: Any) -> Law:
    return consumer_law(name, lambda: hessian_, at, rule, statement, (2,), *shapes)


hessian_: Primitive = program_op(
    "hessian",
    build=in_order(build_hessian),
    out_types=_hessian_types,
    consumed=(
        _hessian_law(
            "a part of a Hessian is that of some arguments",
            ops.slice_,
            sliced(HESSIAN),
            lambda x: (
                take_block(_hessian(x), ((0, 2, 1), (1, 2, 1))),
                _hessian(x, ((0, 2, 1),), ((1, 2, 1),)),
            ),
        ),
        _hessian_law(
            "a Hessian turned round along an axis is one of a block with a negative step",
            ops.flip,
            turned(HESSIAN),
            lambda x: (ops.flip(_hessian(x), axes=(1,)), _hessian(x, ((0, 2, 1),), ((1, -1, -1),))),
        ),
        _hessian_law(
            "a Hessian in a wider dtype is that of results in this dtype",
            ops.cast,
            cast_before,
            lambda x: (ops.cast(_narrow(x), dtype="float64"), _narrow(x, "float64")),
        ),
        _hessian_law(
            "a Hessian transposed has its axes in another order",
            ops.permute,
            permuted(HESSIAN),
            lambda x: (ops.permute(_hessian(x), order=(1, 0)), _hessian(x, order=(1, 0))),
        ),
        _hessian_law(
            "columns of a Hessian at indices are derivatives by what is added to the argument there",
            ops.gather,
            columns_taken(HESSIAN),
            lambda x: (ops.gather(_hessian(x), np.array([1, 1]), axis=1, batch=0), _of_taken_elements(x)),
        ),
        _hessian_law(
            "a Hessian times a vector is the derivative of the gradient along it",
            ops.contract,
            _hessian_times,
            lambda x, v: (
                ops.contract(_hessian(x), v, labels="ab,b->a"),
                hvp_(x, v, of=held(_scalar), output=0, argument=0, along=0),
            ),
            (2,),
        ),
        consumer_law(
            "a Hessian with its columns in other shapes is that of functions of these shapes",
            lambda: hessian_,
            ops.reshape,
            reshaped(HESSIAN),
            lambda x: (ops.reshape(_of_grid(x), shape=(4, 4)), _of_row(x)),
            (2, 2),
        ),
        _hessian_law(
            "a sum of all rows of a Hessian is a product with ones",
            ops.sum,
            added_up(HESSIAN, _hessian_times),
            lambda x: (ops.sum(_hessian(x), axes=(0,)), _times_ones(x)),
        ),
        _hessian_law(
            "a diagonal of a Hessian is made of unmixed second derivatives",
            diagonal_,
            _diagonal_of_hessian,
            lambda x: (
                diagonal_(_hessian(x), axis1=0, axis2=1),
                hessian_diagonal_(x, of=held(_scalar), output=0, argument=0, total=False),
            ),
        ),
        _hessian_law(
            "a trace of a Hessian is the sum of its diagonal",
            trace_,
            summed(_diagonal_of_hessian),
            lambda x: (
                trace_(_hessian(x), axis1=0, axis2=1),
                ops.sum(diagonal_(_hessian(x), axis1=0, axis2=1), axes=(0,)),
            ),
        ),
        product_law("a Hessian", lambda: hessian_, _hessian, "real", (2,), (2, 4)),
    ),
    doc="(A block of) the second derivatives of one output with respect to two arguments.",
)


MATRICES = (
    jacobian_, hessian_, hvp_, jacobian_diagonal_, mixed_diagonal_, hessian_diagonal_, pushforward_, pullback_,
)  # fmt: skip
