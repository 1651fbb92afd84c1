"""Jacobians and Hessians as nodes, with the laws by which the ops that consume them choose their computation.

A part of a matrix of derivatives is that of fewer directions, a product with a vector is one pushforward, pullback or
Hessian-vector product, and a diagonal of a Hessian is made of second directional derivatives.
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
from primad.programs.jacobians.diagonal_ops import jacobian_diagonal_
from primad.programs.jacobians.jacobian_parts import (
    JACOBIAN,
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
    permuted,
    place_of,
    reshaped,
    rows_taken,
    sliced,
    summed,
    turned,
    with_added,
)
from primad.programs.jacobians.jacobian_products import added_up, are_few, arranged, contracted, contraction, product
from primad.programs.jacobians.jacobian_programs import (
    Types,
    build_jacobian,
    matrix_dtype,
    pullback_,
    pushforward_,
)
from primad.programs.program_ops import program_op
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of


def _jacobian_types(
    of: ClosedProgram,
    *,
    output: int,
    argument: int,
    mode: str,
    rows: Block,
    columns: Block,
    order: Any = None,
    known: Any = None,
) -> Types:
    shape = (*block_shape(rows), *block_shape(columns))
    dtype = matrix_dtype(of.program.in_types[argument], of.out_types[output])
    return [ArrayType(arranged_shape(shape, order), dtype)]


def _jacobian_times(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    mine, other, out, v = contraction(inputs, params, node)
    rows, columns = mine[: len(named["rows"])], mine[len(named["rows"]) :]
    x = named["of"].program.in_types[named["argument"]]
    few = are_few(v.size // max(1, x.size), node)
    if not (contracted(columns, other, out, rows) and few and is_whole(named, ("columns", "argument"))):
        return None
    v = ops.cast(v, dtype=str(x.dtype))
    place = {"argument": named["argument"], **place_of(named)}
    found, stack = product(pushforward_, [*map(TracedArray, node.inputs)], v, (other, columns), place)
    return node_of(arranged(found, stack + rows, out))


def _times_jacobian(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    mine, other, out, v = contraction(inputs, params, node)
    rows, columns = mine[: len(named["rows"])], mine[len(named["rows"]) :]
    few = are_few(v.size // max(1, named["of"].out_types[named["output"]].size), node)
    if not (contracted(rows, other, out, columns) and few and is_whole(named, ("columns", "argument"))):
        return None
    place = {"argument": named["argument"], **place_of(named)}
    found, stack = product(pullback_, [*map(TracedArray, node.inputs)], v, (other, rows), place)
    return node_of(ops.cast(arranged(found, stack + columns, out), dtype=str(node.type.dtype)))


def _diagonal_of_jacobian(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    if len(named["rows"]) != 1 or len(named["columns"]) != 1:
        return None
    named.pop("order", None)
    return node_of(jacobian_diagonal_(*map(TracedArray, node.inputs), **named))


def _vector(x: Any) -> Any:
    """Three functions of two variables, for statements."""
    total = ops.reshape(ops.sum(ops.exp(x), axes=(0,)), shape=(1,))
    return ops.concatenate(ops.sin(x) * ops.flip(x, axes=(0,)), total, axis=0)


def _jacobian(x: Any, rows: Block = ((0, 3, 1),), columns: Block = ((0, 2, 1),), **order: Any) -> Any:
    of = held(_vector)
    return jacobian_(x, of=of, output=0, argument=0, mode="forward", rows=rows, columns=columns, **order)


def _jacobian_law(name: str, at: Primitive, rule: Rule, statement: Any, *shapes: Any) -> Law:
    return consumer_law(name, lambda: jacobian_, at, rule, statement, (2,), *shapes)


def _jacobian_diagonal(x: Any) -> Any:
    named = {"output": 0, "argument": 0, "mode": "forward", "rows": ((0, 3, 1),), "columns": ((0, 2, 1),)}
    return jacobian_diagonal_(x, of=held(_vector), **named)


def _narrow(x: Any, dtype: str = "float32") -> Any:
    """Return a Jacobian by numbers of 32 bits, of results that are cast."""
    type = ArrayType((2,), np.float32)
    of = ClosedProgram(program_of([type], lambda x: [ops.cast(x * x, dtype=dtype)]))
    named = {"output": 0, "argument": 0, "mode": "forward", "rows": ((0, 2, 1),), "columns": ((0, 2, 1),)}
    return jacobian_(ops.cast(x, dtype="float32"), of=of, **named)


def _grid(x: Any) -> Any:
    return ops.sin(x) * ops.flip(x, axes=(0,))


def _of_grid(x: Any) -> Any:
    """Return a Jacobian of which rows and columns have two axes."""
    of = ClosedProgram(program_of([ArrayType((2, 2), float)], lambda x: [_grid(x)]))
    blocks = {"rows": ((0, 2, 1), (0, 2, 1)), "columns": ((0, 2, 1), (0, 2, 1))}
    return jacobian_(x, of=of, output=0, argument=0, mode="forward", **blocks)


def _of_rows(x: Any) -> Any:
    """Return the same Jacobian by what is added to the argument, both in one row."""

    def body(x: Any, t: Any) -> list[Any]:
        return [ops.reshape(_grid(x + ops.reshape(t, shape=(2, 2))), shape=(4,))]

    of = ClosedProgram(program_of([ArrayType((2, 2), float), ArrayType((4,), float)], body))
    blocks = {"rows": ((0, 4, 1),), "columns": ((0, 4, 1),)}
    zeros = full(0.0, ops.reshape(x, shape=(4,)))
    return jacobian_(x, zeros, of=of, output=0, argument=1, mode="forward", **blocks)


def _times_ones(x: Any) -> Any:
    three = ops.concatenate(x, ops.slice_(x, start=(0,), stop=(1,), step=(1,)), axis=0)
    return ops.contract(_jacobian(x), full(1.0, three), labels="ab,a->b")


def _of_taken_rows(x: Any) -> Any:
    types = [ArrayType((2,), float), ArrayType((2,), int)]
    of = ClosedProgram(program_of(types, lambda x, i: [ops.gather(_vector(x), i, axis=0, batch=0)]))
    named = {"of": of, "output": 0, "mode": "forward", "rows": ((0, 2, 1),), "columns": ((0, 2, 1),)}
    return jacobian_(x, np.array([2, 0]), argument=0, **named)


def _of_taken_columns(x: Any) -> Any:
    named = {"output": 0, "mode": "forward", "rows": ((0, 3, 1),), "columns": ((0, 2, 1),)}
    return jacobian_(x, np.array([1, 1]), full(0.0, x), of=with_added(_vector), argument=2, **named)


jacobian_: Primitive = program_op(
    "jacobian",
    build=in_order(build_jacobian),
    out_types=_jacobian_types,
    consumed=(
        _jacobian_law(
            "a part of a Jacobian is that of some outputs and arguments",
            ops.slice_,
            sliced(JACOBIAN),
            lambda x: (
                take_block(_jacobian(x), ((0, 3, 2), (1, 2, 1))),
                _jacobian(x, ((0, 3, 2),), ((1, 2, 1),)),
            ),
        ),
        _jacobian_law(
            "a Jacobian turned round along an axis is one of a block with a negative step",
            ops.flip,
            turned(JACOBIAN),
            lambda x: (ops.flip(_jacobian(x), axes=(1,)), _jacobian(x, ((0, 3, 1),), ((1, -1, -1),))),
        ),
        _jacobian_law(
            "a Jacobian in a wider dtype is that of results in this dtype",
            ops.cast,
            cast_before,
            lambda x: (ops.cast(_narrow(x), dtype="float64"), _narrow(x, "float64")),
        ),
        _jacobian_law(
            "a Jacobian transposed has its axes in another order",
            ops.permute,
            permuted(JACOBIAN),
            lambda x: (ops.permute(_jacobian(x), order=(1, 0)), _jacobian(x, order=(1, 0))),
        ),
        _jacobian_law(
            "rows of a Jacobian at indices are those of a function that takes these of its results",
            ops.gather,
            rows_taken(JACOBIAN),
            lambda x: (ops.gather(_jacobian(x), np.array([2, 0]), axis=0, batch=0), _of_taken_rows(x)),
        ),
        _jacobian_law(
            "columns of a Jacobian at indices are derivatives by what is added to the argument there",
            ops.gather,
            columns_taken(JACOBIAN),
            lambda x: (ops.gather(_jacobian(x), np.array([1, 1]), axis=1, batch=0), _of_taken_columns(x)),
        ),
        consumer_law(
            "a Jacobian with its rows and columns in other shapes is that of functions of these shapes",
            lambda: jacobian_,
            ops.reshape,
            reshaped(JACOBIAN),
            lambda x: (ops.reshape(_of_grid(x), shape=(4, 4)), _of_rows(x)),
            (2, 2),
        ),
        _jacobian_law(
            "a sum of all rows of a Jacobian is a product with ones",
            ops.sum,
            added_up(JACOBIAN, _jacobian_times, _times_jacobian),
            lambda x: (ops.sum(_jacobian(x), axes=(0,)), _times_ones(x)),
        ),
        _jacobian_law(
            "a diagonal of a Jacobian is its entries alone",
            diagonal_,
            _diagonal_of_jacobian,
            lambda x: (diagonal_(_jacobian(x), axis1=0, axis2=1), _jacobian_diagonal(x)),
        ),
        _jacobian_law(
            "a trace of a Jacobian is the sum of its diagonal",
            trace_,
            summed(_diagonal_of_jacobian),
            lambda x: (
                trace_(_jacobian(x), axis1=0, axis2=1),
                ops.sum(diagonal_(_jacobian(x), axis1=0, axis2=1), axes=(0,)),
            ),
        ),
        _jacobian_law(
            "a Jacobian times a vector is a pushforward",
            ops.contract,
            _jacobian_times,
            lambda x, v: (
                ops.contract(_jacobian(x), v, labels="ab,b->a"),
                pushforward_(x, v, of=held(_vector), output=0, argument=0),
            ),
            (2,),
        ),
        _jacobian_law(
            "a vector times a Jacobian is a pullback",
            ops.contract,
            _times_jacobian,
            lambda x, w: (
                ops.contract(w, _jacobian(x), labels="a,ab->b"),
                pullback_(x, w, of=held(_vector), output=0, argument=0),
            ),
            (3,),
        ),
        product_law("a Jacobian", lambda: jacobian_, _jacobian, "real", (2,), (2, 4)),
    ),
    doc="(A block of) the Jacobian of one output with respect to one argument.",
)
