"""Jacobians and Hessians as nodes, and how the ops that consume them choose their computation."""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ir.node import Node, Params, Trace
from primad.ir.program import ClosedProgram, Program
from primad.numpy.products import diagonal_, matmul_, trace_
from primad.ops.contraction import split
from primad.primitive import Primitive
from primad.programs.ops import lowered, program_op
from primad.programs.rows import is_single, pull_rows
from primad.recording import program_of
from primad.simplify.collapse import collapse
from primad.trace import TracedArray
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import expand, inline
from primad.types import ArrayType

Types = list[ArrayType]
Block = tuple[tuple[int, int, int], ...]
"""A part of an array: start, stop and step of each axis."""


def whole(shape: tuple[int, ...]) -> Block:
    """Return the block that is all of an array."""
    return tuple([(0, n, 1) for n in shape])


def block_shape(block: Block) -> tuple[int, ...]:
    """Return the lengths of a block's axes."""
    return tuple([len(range(*bounds)) for bounds in block])


def take_block(x: Any, block: Block) -> Any:
    """Return a block of an array."""
    start, stop, step = (tuple([bounds[i] for bounds in block]) for i in range(3))
    return ops.slice_(x, start=start, stop=stop, step=step)


def _restricted(program: Program, output: int, block: Block) -> Program:
    """Return the program that computes a block of one output only."""
    return program_of(program.in_types, lambda *xs: [take_block(inline(program, xs)[output], block)], program.names)


def _derivative_alone(derived: Program) -> Program:
    """Return a JVP or VJP of a program with one output without that output."""
    return Program(derived.trace, derived.inputs, derived.outputs[1:])


def _seeds(trace: Trace, type: ArrayType, block: Block) -> TracedArray:
    """Return the standard basis directions of a block of an array, one along the leading axis each."""
    eye = TracedArray(trace.build(ops.eye, (), (("dtype", str(type.dtype)), ("n", type.size))))
    seeds = ops.reshape(eye, shape=(*type.shape, *type.shape))
    shape = block_shape(block)
    chosen = take_block(seeds, (*block, *whole(type.shape)))
    count = 1
    for n in shape:
        count *= n
    result: TracedArray = ops.reshape(chosen, shape=(count, *type.shape))
    return result


def _only(program: Program, argument: int) -> list[bool]:
    return [i == argument for i in range(len(program.inputs))]


FEW = 8
"""With so few results, or one direction, the fewer directions are taken without counting what they cost."""


def build_jacobian(
    program: Program, *, output: int, argument: int, mode: str, rows: Block | None = None, columns: Block | None = None
) -> Program:
    """Build (a block of) the Jacobian of one output with respect to one argument.

    Forward mode takes one direction per column. Reverse mode pulls all rows back together: one pullback for all points
    that stay apart, one per row otherwise (see `primad.programs.rows`). 'auto' takes what costs less.
    """
    x, y = program.in_types[argument], program.out_types[output]
    rows = whole(y.shape) if rows is None else rows
    columns = whole(x.shape) if columns is None else columns
    of = _restricted(program, output, rows)
    (y,) = of.out_types
    x_part = ArrayType(block_shape(columns), x.dtype)
    if x_part.size == 0 or y.size == 0:
        none = ArrayType((*y.shape, *x_part.shape), y.dtype)
        return program_of(of.in_types, lambda *xs: [TracedArray(xs[0].node.trace.literal(0, none))], of.names)
    if mode == "auto" and x_part.size > 1 and y.size > FEW and x_part.size <= y.size:
        found = [build(of, argument, columns) for build in (_by_columns, _by_rows)]
        return min(found, key=lambda built: built.cost().flops)
    if mode == "auto":
        mode = "forward" if x_part.size <= y.size else "reverse"
    return (_by_columns if mode == "forward" else _by_rows)(of, argument, columns)


def _by_columns(of: Program, argument: int, columns: Block) -> Program:
    """Build the Jacobian of the only output by one direction for each column of a block."""
    x, (y,) = of.in_types[argument], of.out_types
    part = ArrayType(block_shape(columns), x.dtype)
    derived = expand(_derivative_alone(forward.jvp(of, _only(of, argument))))
    stacked = batching.vmap(derived, [*[False] * len(of.in_types), True], part.size)

    def matrix(*operands: TracedArray) -> list[TracedArray]:
        (found,) = inline(stacked, [*operands, _seeds(operands[0].node.trace, x, columns)])
        found = ops.permute(found, order=(*range(1, found.ndim), 0))
        return [ops.reshape(found, shape=(*y.shape, *part.shape))]

    return program_of(of.in_types, matrix, of.names)


def _by_rows(of: Program, argument: int, columns: Block) -> Program:
    """Build a block of columns of the Jacobian of the only output by pulling its rows back."""
    x, (y,) = of.in_types[argument], of.out_types
    pullback = expand(_derivative_alone(reverse.vjp(of, _only(of, argument))))

    def matrix(*operands: TracedArray) -> list[TracedArray]:
        if is_single(pullback):
            (found,) = inline(pull_rows(pullback), operands)
        else:
            stacked = batching.vmap(pullback, [*[False] * len(operands), True], y.size)
            (found,) = inline(stacked, [*operands, _seeds(operands[0].node.trace, y, whole(y.shape))])
        found = ops.cast(ops.reshape(found, shape=(*y.shape, *x.shape)), dtype=str(y.dtype))
        return [take_block(found, (*whole(y.shape), *columns))]

    return program_of(of.in_types, matrix, of.names)


def build_hessian(
    program: Program,
    *,
    output: int,
    first: int,
    second: int,
    rows: Block | None = None,
    left: Block | None = None,
    right: Block | None = None,
) -> Program:
    """Build (a block of) the second derivatives of one output with respect to two arguments.

    One direction per element of the smaller side: forward over reverse, or forward over forward for a single element.
    """
    x, z, y = program.in_types[first], program.in_types[second], program.out_types[output]
    rows = whole(y.shape) if rows is None else rows
    left = whole(x.shape) if left is None else left
    right = whole(z.shape) if right is None else right
    n_left, n_right = (ArrayType(block_shape(block), x.dtype).size for block in (left, right))
    swapped = n_left < n_right
    if swapped:
        first, second, left, right, x, z = second, first, right, left, z, x
    y_part = block_shape(rows)
    inner_mode = "forward" if max(n_left, n_right) == 1 else "reverse"
    if y_part != ():
        inner_mode = "auto" if inner_mode == "reverse" else inner_mode
    slope = expand(build_jacobian(program, output=output, argument=first, mode=inner_mode, rows=rows, columns=left))
    built = build_jacobian(slope, output=0, argument=second, mode="forward", columns=right)
    if not swapped:
        return built
    ny, nl, nr = len(y_part), len(left), len(right)
    order = (*range(ny), *range(ny + nl, ny + nl + nr), *range(ny, ny + nl))
    return program_of(program.in_types, lambda *xs: [ops.permute(inline(built, xs)[0], order=order)], program.names)


def _second_directional(program: Program, output: int, argument: int) -> Program:
    """Return the program (arguments, direction) -> second derivative of an output along the direction, twice."""
    n = len(program.inputs)
    of = _restricted(program, output, whole(program.out_types[output].shape))
    slope = _derivative_alone(forward.jvp(of, _only(program, argument)))
    twice = _derivative_alone(forward.jvp(slope, [i == argument for i in range(n + 1)]))
    return expand(program_of(slope.in_types, lambda *xs: inline(twice, [*xs, xs[-1]])))


def build_hessian_diagonal(program: Program, *, output: int, argument: int, total: bool) -> Program:
    """Build ∂²y/∂xᵢ² for each i (a last axis), or their sum: the Laplacian, collapsed."""
    x, y = program.in_types[argument], program.out_types[output]

    def diagonal(*operands: TracedArray) -> list[TracedArray]:
        trace = operands[0].node.trace
        if x.size == 0 or y.size == 0:
            shape = y.shape if total else (*y.shape, x.size)
            return [TracedArray(trace.literal(0, ArrayType(shape, y.dtype)))]
        along = _second_directional(program, output, argument)
        stacked = batching.vmap(along, [*[False] * len(operands), True], x.size)
        (found,) = inline(stacked, [*operands, _seeds(trace, x, whole(x.shape))])
        return [ops.sum(found, axes=(0,)) if total else ops.permute(found, order=(*range(1, found.ndim), 0))]

    built = program_of(program.in_types, diagonal, program.names)
    return collapse(expand(built)) if total else built


# -- who consumes a Jacobian -------------------------------------------------------------------------------------------


def _contraction(inputs: tuple[Node, ...], params: Params, node: Node) -> tuple[str, str, str, TracedArray]:
    """Return the letters of the matrix, of the other operand and of the result, and the other operand."""
    parts = split(dict(params)["labels"])
    place = 0 if inputs[0] is node else 1
    return parts[place], parts[1 - place], parts[2], TracedArray(inputs[1 - place])


def _arranged(x: Any, have: str, want: str) -> Any:
    return ops.permute(x, order=tuple([have.index(letter) for letter in want]))


def _block_of(params: Params, start: int, count: int) -> Block:
    named = dict(params)
    triples = list(zip(named["start"], named["stop"], named["step"], strict=True))
    return tuple(triples[start : start + count])


def _within(outer: Block, inner: Block) -> Block:
    """Return a block of a block as a block."""
    result = []
    for (a, _, s), (b, c, t) in zip(outer, inner, strict=True):
        start = a + b * s
        count = len(range(b, c, t))
        result.append((start, start + max(0, count - 1) * s * t + (1 if count else 0), s * t))
    return tuple(result)


def _jacobian_types(of: ClosedProgram, *, output: int, argument: int, mode: str, rows: Block, columns: Block) -> Types:
    return [ArrayType((*block_shape(rows), *block_shape(columns)), of.out_types[output].dtype)]


def _jacobian_consume(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: Params, node: Node) -> Node | None:
    if op is matmul_:
        return lowered(op, inputs)
    named = dict(node.params)
    of, rows, columns = named["of"], named["rows"], named["columns"]
    operands = [*map(TracedArray, node.inputs)]
    if op is ops.slice_:
        new_rows = _within(rows, _block_of(params, 0, len(rows)))
        new_columns = _within(columns, _block_of(params, len(rows), len(columns)))
        named.update(rows=new_rows, columns=new_columns)
        return node_of(jacobian_(*operands, **named))
    if op is ops.contract and rows == whole(of.out_types[named["output"]].shape):
        mine, other, out, v = _contraction(inputs, params, node)
        row_letters, column_letters = mine[: len(rows)], mine[len(rows) :]
        full = columns == whole(of.program.in_types[named["argument"]].shape)
        place = {"of": of, "output": named["output"], "argument": named["argument"]}
        if full and column_letters and set(other) == set(column_letters) and not set(other) & set(out):
            v = ops.cast(v, dtype=str(of.program.in_types[named["argument"]].dtype))
            found = pushforward_(*operands, _arranged(v, other, column_letters), **place)
            return node_of(_arranged(found, row_letters, out))
        if full and row_letters and set(other) == set(row_letters) and not set(other) & set(out):
            found = pullback_(*operands, _arranged(v, other, row_letters), **place)
            return node_of(ops.cast(_arranged(found, column_letters, out), dtype=str(node.type.dtype)))
    return None


def node_of(x: TracedArray) -> Node:
    """Return the node of a traced array."""
    return x.node


def _build_pushforward(program: Program, *, output: int, argument: int) -> Program:
    of = _restricted(program, output, whole(program.out_types[output].shape))
    return _derivative_alone(forward.jvp(of, _only(program, argument)))


def _build_pullback(program: Program, *, output: int, argument: int) -> Program:
    of = _restricted(program, output, whole(program.out_types[output].shape))
    return _derivative_alone(reverse.vjp(of, _only(program, argument)))


pushforward_: Primitive = program_op(
    "pushforward",
    build=_build_pushforward,
    out_types=lambda of, *, output, argument: [of.out_types[output]],
    doc="The Jacobian of one output with respect to one argument, times a tangent.",
)
pullback_: Primitive = program_op(
    "pullback",
    build=_build_pullback,
    out_types=lambda of, *, output, argument: [of.program.in_types[argument]],
    doc="A cotangent times the Jacobian of one output with respect to one argument.",
)
jacobian_: Primitive = program_op(
    "jacobian",
    build=build_jacobian,
    out_types=_jacobian_types,
    consume=_jacobian_consume,
    doc="(A block of) the Jacobian of one output with respect to one argument.",
)


# -- who consumes a Hessian --------------------------------------------------------------------------------------------


def _hessian_types(
    of: ClosedProgram, *, output: int, first: int, second: int, rows: Block, left: Block, right: Block
) -> Types:
    return [ArrayType((*block_shape(rows), *block_shape(left), *block_shape(right)), of.out_types[output].dtype)]


def _hessian_consume(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: Params, node: Node) -> Node | None:
    if op is matmul_:
        return lowered(op, inputs)
    named = dict(node.params)
    of, rows, left, right = named["of"], named["rows"], named["left"], named["right"]
    operands = [*map(TracedArray, node.inputs)]
    ny, nl = len(rows), len(left)
    whole_left = left == whole(of.program.in_types[named["first"]].shape)
    whole_right = right == whole(of.program.in_types[named["second"]].shape)
    whole_rows = rows == whole(of.out_types[named["output"]].shape)
    if op is ops.slice_:
        named.update(
            rows=_within(rows, _block_of(params, 0, ny)),
            left=_within(left, _block_of(params, ny, nl)),
            right=_within(right, _block_of(params, ny + nl, len(right))),
        )
        return node_of(hessian_(*operands, **named))
    if not (whole_left and whole_right and whole_rows):
        return None
    if op is ops.contract:
        mine, other, out, v = _contraction(inputs, params, node)
        y_letters, left_letters, right_letters = mine[:ny], mine[ny : ny + nl], mine[ny + nl :]
        place = {"of": of, "output": named["output"]}
        for along, kept, ours, rest in (
            (named["second"], named["first"], right_letters, left_letters),
            (named["first"], named["second"], left_letters, right_letters),
        ):
            if ours and set(other) == set(ours) and not set(other) & set(out):
                v = ops.cast(v, dtype=str(of.program.in_types[along].dtype))
                found = hvp_(*operands, _arranged(v, other, ours), along=along, argument=kept, **place)
                return node_of(_arranged(found, y_letters + rest, out))
    if op is trace_ and _is_diagonal(named, params, ny):
        assert op.lower is not None
        return node_of(op.lower(TracedArray(node), **dict(params)))
    if op is diagonal_ and _is_diagonal(named, params, ny):
        place = {"of": of, "output": named["output"], "argument": named["first"]}
        return node_of(hessian_diagonal_(*operands, total=False, **place))
    return None


def _is_diagonal(named: dict[str, Any], params: Params, ny: int) -> bool:
    axes = {dict(params)["axis1"], dict(params)["axis2"]}
    return named["first"] == named["second"] and len(named["left"]) == 1 and axes == {ny, ny + 1}


def _diagonal_consume(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: Params, node: Node) -> Node | None:
    named = dict(node.params)
    if op is ops.sum and not named["total"] and dict(params)["axes"] == (node.type.ndim - 1,):
        return node_of(hessian_diagonal_(*map(TracedArray, node.inputs), **{**named, "total": True}))
    return None


def _build_hvp(program: Program, *, output: int, argument: int, along: int) -> Program:
    slope = expand(build_jacobian(program, output=output, argument=argument, mode="reverse"))
    return _derivative_alone(forward.jvp(slope, _only(program, along)))


hvp_: Primitive = program_op(
    "hvp",
    build=_build_hvp,
    out_types=lambda of, *, output, argument, along: [
        ArrayType((*of.out_types[output].shape, *of.program.in_types[argument].shape), of.out_types[output].dtype)
    ],
    doc="The Hessian of one output times a vector: the derivative of the gradient along it.",
)
hessian_: Primitive = program_op(
    "hessian",
    build=build_hessian,
    out_types=_hessian_types,
    consume=_hessian_consume,
    doc="(A block of) the second derivatives of one output with respect to two arguments.",
)
hessian_diagonal_: Primitive = program_op(
    "hessian_diagonal",
    build=build_hessian_diagonal,
    out_types=lambda of, *, output, argument, total: [
        ArrayType(
            of.out_types[output].shape if total else (*of.out_types[output].shape, of.program.in_types[argument].size),
            of.out_types[output].dtype,
        )
    ],
    consume=_diagonal_consume,
    doc="Unmixed second derivatives of one output with respect to one argument, or (total) their sum, the Laplacian.",
)

MATRICES = (jacobian_, hessian_, hvp_, hessian_diagonal_, pushforward_, pullback_)
