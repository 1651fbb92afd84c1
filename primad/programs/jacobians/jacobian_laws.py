"""Jacobians and Hessians as nodes, with the laws by which the ops that consume them choose their computation.

A part of a matrix of derivatives is that of fewer directions, a product with a vector is one pushforward, pullback or
Hessian-vector product, and a diagonal of a Hessian is made of second directional derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.ir.program import ClosedProgram
from primad.numpy.linalg.diagonals import diagonal_, trace_
from primad.ops.arrays.contraction import split
from primad.ops.record.primitive import Law, Primitive
from primad.programs.jacobians.jacobian_programs import (
    Block,
    Types,
    block_shape,
    build_hessian,
    build_hessian_diagonal,
    build_jacobian,
    hvp_,
    pullback_,
    pushforward_,
    take_block,
    whole,
)
from primad.programs.program_ops import lowered, node_of, of_operand, product_law, program_op
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of

Params = dict[str, Any]
Inputs = tuple[Node, ...]
Rule = Callable[[Node, Inputs, Params], Node | None]


# -- parts and contractions of matrices --------------------------------------------------------------------------------


def _block_of(params: Params, start: int, count: int) -> Block:
    """Return the block that a slice takes of some of the axes."""
    triples = list(zip(params["start"], params["stop"], params["step"], strict=True))
    return tuple(triples[start : start + count])


def _within(outer: Block, inner: Block) -> Block:
    """Return a block of a block as a block."""
    result = []
    for (a, _, s), (b, c, t) in zip(outer, inner, strict=True):
        start = a + b * s
        count = len(range(b, c, t))
        result.append((start, start + max(0, count - 1) * s * t + (1 if count else 0), s * t))
    return tuple(result)


def _part(*sides: str) -> Rule:
    """Return the rule that a slice of a matrix of derivatives is that matrix of other blocks."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node:
        named = dict(node.params)
        begin = 0
        for side in sides:
            outer = named[side]
            named[side] = _within(outer, _block_of(params, begin, len(outer)))
            begin += len(outer)
        result: Node = node.op(*map(TracedArray, node.inputs), **named).node
        return result

    return rule


def _contraction(inputs: Inputs, params: Params, node: Node) -> tuple[str, str, str, TracedArray]:
    """Return the letters of the matrix, of the other operand and of the result, and the other operand."""
    parts = split(params["labels"])
    place = 0 if inputs[0] is node else 1
    return parts[place], parts[1 - place], parts[2], TracedArray(inputs[1 - place])


def _contracted(letters: str, other: str, out: str) -> bool:
    """Say whether the other operand has these letters and no other, and the result has none of them."""
    return letters != "" and set(other) == set(letters) and not set(other) & set(out)


def _arranged(x: Any, have: str, want: str) -> Any:
    return ops.permute(x, order=tuple([have.index(letter) for letter in want]))


def _law(name: str, op: Callable[[], Primitive], at: Primitive, rule: Rule, statement: Any, *shapes: Any) -> Law:
    return Law(name, "real", statement, shapes, of_operand(op, rule), (at.name,))


# -- Jacobians ---------------------------------------------------------------------------------------------------------


def _jacobian_types(of: ClosedProgram, *, output: int, argument: int, mode: str, rows: Block, columns: Block) -> Types:
    return [ArrayType((*block_shape(rows), *block_shape(columns)), of.out_types[output].dtype)]


def _is_whole(named: Params, *sides: tuple[str, str]) -> bool:
    """Say whether a matrix of derivatives has all rows, and all columns by each of the arguments."""
    of = named["of"]
    return named["rows"] == whole(of.out_types[named["output"]].shape) and all(
        named[side] == whole(of.program.in_types[named[argument]].shape) for side, argument in sides
    )


def _place(named: Params) -> Params:
    return {"of": named["of"], "output": named["output"]}


def _jacobian_times(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    mine, other, out, v = _contraction(inputs, params, node)
    rows, columns = mine[: len(named["rows"])], mine[len(named["rows"]) :]
    if not (_contracted(columns, other, out) and _is_whole(named, ("columns", "argument"))):
        return None
    v = ops.cast(v, dtype=str(named["of"].program.in_types[named["argument"]].dtype))
    operands = [*map(TracedArray, node.inputs), _arranged(v, other, columns)]
    return node_of(_arranged(pushforward_(*operands, argument=named["argument"], **_place(named)), rows, out))


def _times_jacobian(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    mine, other, out, v = _contraction(inputs, params, node)
    rows, columns = mine[: len(named["rows"])], mine[len(named["rows"]) :]
    if not (_contracted(rows, other, out) and _is_whole(named, ("columns", "argument"))):
        return None
    operands = [*map(TracedArray, node.inputs), _arranged(v, other, rows)]
    found = pullback_(*operands, argument=named["argument"], **_place(named))
    return node_of(ops.cast(_arranged(found, columns, out), dtype=str(node.type.dtype)))


def _vector(x: Any) -> Any:
    """Three functions of two variables, for statements."""
    total = ops.reshape(ops.sum(ops.exp(x), axes=(0,)), shape=(1,))
    return ops.concatenate(ops.sin(x) * ops.flip(x, axes=(0,)), total, axis=0)


def _held(body: Callable[[Any], Any]) -> ClosedProgram:
    return ClosedProgram(program_of([ArrayType((2,), float)], lambda x: [body(x)]))


def _jacobian(x: Any, rows: Block = ((0, 3, 1),), columns: Block = ((0, 2, 1),)) -> Any:
    of = _held(_vector)
    return jacobian_(x, of=of, output=0, argument=0, mode="forward", rows=rows, columns=columns)


def _jacobian_law(name: str, at: Primitive, rule: Rule, statement: Any, *shapes: Any) -> Law:
    return _law(name, lambda: jacobian_, at, rule, statement, (2,), *shapes)


jacobian_: Primitive = program_op(
    "jacobian",
    build=build_jacobian,
    out_types=_jacobian_types,
    consumed=(
        _jacobian_law(
            "a part of a Jacobian is that of some outputs and arguments",
            ops.slice_,
            _part("rows", "columns"),
            lambda x: (
                take_block(_jacobian(x), ((0, 3, 2), (1, 2, 1))),
                _jacobian(x, ((0, 3, 2),), ((1, 2, 1),)),
            ),
        ),
        _jacobian_law(
            "a Jacobian times a vector is a pushforward",
            ops.contract,
            _jacobian_times,
            lambda x, v: (
                ops.contract(_jacobian(x), v, labels="ab,b->a"),
                pushforward_(x, v, of=_held(_vector), output=0, argument=0),
            ),
            (2,),
        ),
        _jacobian_law(
            "a vector times a Jacobian is a pullback",
            ops.contract,
            _times_jacobian,
            lambda x, w: (
                ops.contract(w, _jacobian(x), labels="a,ab->b"),
                pullback_(x, w, of=_held(_vector), output=0, argument=0),
            ),
            (3,),
        ),
        product_law("a Jacobian", lambda: jacobian_, _jacobian, "real", (2,), (2, 4)),
    ),
    doc="(A block of) the Jacobian of one output with respect to one argument.",
)


# -- Hessians ----------------------------------------------------------------------------------------------------------


def _hessian_types(
    of: ClosedProgram, *, output: int, first: int, second: int, rows: Block, left: Block, right: Block
) -> Types:
    return [ArrayType((*block_shape(rows), *block_shape(left), *block_shape(right)), of.out_types[output].dtype)]


def _hessian_times(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    if not _is_whole(named, ("left", "first"), ("right", "second")):
        return None
    ny, nl = len(named["rows"]), len(named["left"])
    mine, other, out, v = _contraction(inputs, params, node)
    rows, left, right = mine[:ny], mine[ny : ny + nl], mine[ny + nl :]
    for along, kept, letters, rest in (
        (named["second"], named["first"], right, left),
        (named["first"], named["second"], left, right),
    ):
        if _contracted(letters, other, out):
            v = ops.cast(v, dtype=str(named["of"].program.in_types[along].dtype))
            operands = [*map(TracedArray, node.inputs), _arranged(v, other, letters)]
            found = hvp_(*operands, along=along, argument=kept, **_place(named))
            return node_of(_arranged(found, rows + rest, out))
    return None


def _is_diagonal(named: Params, params: Params) -> bool:
    """Say whether two axes are those of a Hessian by one vector, twice."""
    ny = len(named["rows"])
    axes = {params["axis1"], params["axis2"]}
    square = named["first"] == named["second"] and len(named["left"]) == 1
    return square and axes == {ny, ny + 1} and _is_whole(named, ("left", "first"), ("right", "second"))


def _diagonal_alone(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    if not _is_diagonal(named, params):
        return None
    operands = map(TracedArray, node.inputs)
    return node_of(hessian_diagonal_(*operands, total=False, argument=named["first"], **_place(named)))


def _trace_of_diagonal(node: Node, inputs: Inputs, params: Params) -> Node | None:
    return lowered(trace_)(node, inputs, params) if _is_diagonal(dict(node.params), params) else None


def _scalar(x: Any) -> Any:
    """A function of two variables whose second derivatives all differ, for statements."""
    return ops.sum(ops.sin(x) * ops.flip(x, axes=(0,)) * x * x, axes=(0,))


def _hessian(x: Any, left: Block = ((0, 2, 1),), right: Block = ((0, 2, 1),)) -> Any:
    return hessian_(x, of=_held(_scalar), output=0, first=0, second=0, rows=(), left=left, right=right)


def _hessian_law(name: str, at: Primitive, rule: Rule, statement: Any, *shapes: Any) -> Law:
    return _law(name, lambda: hessian_, at, rule, statement, (2,), *shapes)


hessian_: Primitive = program_op(
    "hessian",
    build=build_hessian,
    out_types=_hessian_types,
    consumed=(
        _hessian_law(
            "a part of a Hessian is that of some arguments",
            ops.slice_,
            _part("rows", "left", "right"),
            lambda x: (
                take_block(_hessian(x), ((0, 2, 1), (1, 2, 1))),
                _hessian(x, ((0, 2, 1),), ((1, 2, 1),)),
            ),
        ),
        _hessian_law(
            "a Hessian times a vector is the derivative of the gradient along it",
            ops.contract,
            _hessian_times,
            lambda x, v: (
                ops.contract(_hessian(x), v, labels="ab,b->a"),
                hvp_(x, v, of=_held(_scalar), output=0, argument=0, along=0),
            ),
            (2,),
        ),
        _hessian_law(
            "a diagonal of a Hessian is made of unmixed second derivatives",
            diagonal_,
            _diagonal_alone,
            lambda x: (
                diagonal_(_hessian(x), axis1=0, axis2=1),
                hessian_diagonal_(x, of=_held(_scalar), output=0, argument=0, total=False),
            ),
        ),
        _hessian_law(
            "a trace of a Hessian is the sum of its diagonal",
            trace_,
            _trace_of_diagonal,
            lambda x: (
                trace_(_hessian(x), axis1=0, axis2=1),
                ops.sum(diagonal_(_hessian(x), axis1=0, axis2=1), axes=(0,)),
            ),
        ),
        product_law("a Hessian", lambda: hessian_, _hessian, "real", (2,), (2, 4)),
    ),
    doc="(A block of) the second derivatives of one output with respect to two arguments.",
)


def _total(node: Node, inputs: Inputs, params: Params) -> Node | None:
    named = dict(node.params)
    if named["total"] or params["axes"] != (node.type.ndim - 1,):
        return None
    return node_of(hessian_diagonal_(*map(TracedArray, node.inputs), **{**named, "total": True}))


def _diagonal(x: Any, total: bool) -> Any:
    return hessian_diagonal_(x, of=_held(_scalar), output=0, argument=0, total=total)


hessian_diagonal_: Primitive = program_op(
    "hessian_diagonal",
    build=build_hessian_diagonal,
    out_types=lambda of, *, output, argument, total: [
        ArrayType(
            of.out_types[output].shape if total else (*of.out_types[output].shape, of.program.in_types[argument].size),
            of.out_types[output].dtype,
        )
    ],
    consumed=(
        _law(
            "a sum of unmixed second derivatives is a Laplacian",
            lambda: hessian_diagonal_,
            ops.sum,
            _total,
            lambda x: (ops.sum(_diagonal(x, False), axes=(0,)), _diagonal(x, True)),
            (2,),
        ),
    ),
    doc="Unmixed second derivatives of one output with respect to one argument, or (total) their sum, the Laplacian.",
)

MATRICES = (jacobian_, hessian_, hvp_, hessian_diagonal_, pushforward_, pullback_)
