"""Building Jacobians, Hessians, blocks and diagonals of them, and their products with vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Trace
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.compression import compressed_laplacian
from primad.programs.jacobians.narrowing import narrowed
from primad.programs.jacobians.pullback_rows import is_single, pull_rows
from primad.programs.program_ops import program_op
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.collapse import collapse
from primad.simplify.slice_pushdown import differentiable, take_early
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import applications, expand, inline

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


def _restricted(program: Program, output: int, argument: int, block: Block | None = None) -> Program:
    """Return the program that computes (a block of) one output only, to be differentiated with respect to an input."""
    block = whole(program.out_types[output].shape) if block is None else block
    return differentiable(_block_of(program, output, block), _only(program, argument))


def _block_of(program: Program, output: int, block: Block) -> Program:
    of = program_of(program.in_types, lambda *xs: [inline(program, xs)[output]], program.names)
    windows = tuple([(a, b) for a, b, _ in block])
    if block == whole(of.out_types[0].shape) or any(a >= b for a, b in windows):
        return program_of(of.in_types, lambda *xs: [take_block(inline(of, xs)[0], block)], of.names)
    part = narrowed(of, windows)
    own = tuple([(0, b - a, step) for a, b, step in block])
    return program_of(of.in_types, lambda *xs: [take_block(inline(part, xs)[0], own)], of.names)


def _derivative_alone(derived: Program) -> Program:
    """Return a JVP or VJP of a program with one output without that output."""
    return Program(derived.trace, derived.inputs, derived.outputs[1:])


def _seeds(trace: Trace, type: ArrayType, block: Block) -> TracedArray:
    """Return the standard basis directions of a block of an array, one along the leading axis each."""
    shape = block_shape(block)
    count = math.prod(shape)
    eye = TracedArray(trace.build(ops.eye, (), (("dtype", str(type.dtype)), ("n", count))))
    seeds: TracedArray = ops.reshape(eye, shape=(count, *shape))
    if block == whole(type.shape):
        return seeds
    last = [range(*bounds)[-1] for bounds in block]
    around: TracedArray = ops.pad(
        seeds,
        low=(0, *[start for start, _, _ in block]),
        high=(0, *[n - 1 - end for n, end in zip(type.shape, last, strict=True)]),
        interior=(0, *[step - 1 for _, _, step in block]),
    )
    return around


def _only(program: Program, argument: int) -> list[bool]:
    return [i == argument for i in range(len(program.inputs))]


FEW = 8
"""With so few results, or one direction, the fewer directions are taken without counting what they cost."""


def build_jacobian(
    program: Program, *, output: int, argument: int, mode: str, rows: Block | None = None, columns: Block | None = None
) -> Program:
    """Build (a block of) the Jacobian of one output with respect to one argument.

    Forward mode takes one direction per column. Reverse mode pulls all rows back together: one pullback for all points
    that stay apart, one per row otherwise (see `primad.programs.jacobians.pullback_rows`). 'auto' takes what costs
    less, 'columns' forward mode; both take the other where an op has no rule for it.
    """
    x, y = program.in_types[argument], program.out_types[output]
    rows = whole(y.shape) if rows is None else rows
    columns = whole(x.shape) if columns is None else columns
    of = _restricted(program, output, argument, rows)
    (y,) = of.out_types
    x_part = ArrayType(block_shape(columns), x.dtype)
    if x_part.size == 0 or y.size == 0:
        none = ArrayType((*y.shape, *x_part.shape), y.dtype)
        return program_of(of.in_types, lambda *xs: [TracedArray(xs[0].node.trace.literal(0, none))], of.names)
    if mode == "reverse" or (mode == "auto" and x_part.size > y.size):
        return _by_rows(of, argument, columns)
    built = _by_columns(of, argument, columns)
    if mode != "forward" and not _is_computable(built):
        return _by_rows(of, argument, columns)
    if mode == "auto" and x_part.size > 1 and y.size > FEW:
        return min(built, _by_rows(of, argument, columns), key=lambda built: built.cost().flops)
    return built


def _is_computable(program: Program) -> bool:
    """Say whether a program has values: a tangent that no rule gives, as of `custom_vjp`, has none."""
    return not any(node.op.only_transposed for node in applications(program))


def _along(of: Program, active: Sequence[bool]) -> Program:
    """Return the program (inputs, tangents of the active ones) -> the tangent of the only output.

    Where an op on the way has no tangent but a pullback, this is the transpose of the pullback.
    """
    pushed = _derivative_alone(forward.jvp(of, active))
    if _is_computable(pushed):
        return pushed
    pullback = expand(_derivative_alone(reverse.vjp(of, active)))
    return reverse.transpose(pullback, [i >= len(of.inputs) for i in range(len(pullback.inputs))])


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
    early = take_early(of, rows=1)  # a pullback of each row costs more than cuts
    if early is of:
        return _pulled_rows(of, argument, columns)
    return min([_pulled_rows(x, argument, columns) for x in (of, early)], key=lambda built: built.cost().flops)


def _pulled_rows(of: Program, argument: int, columns: Block) -> Program:
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
    inner_mode = "columns" if max(n_left, n_right) == 1 else "reverse" if y_part == () else "auto"
    slope = expand(build_jacobian(program, output=output, argument=first, mode=inner_mode, rows=rows, columns=left))
    built = build_jacobian(slope, output=0, argument=second, mode="columns", columns=right)
    if not swapped:
        return built
    ny, nl, nr = len(y_part), len(left), len(right)
    order = (*range(ny), *range(ny + nl, ny + nl + nr), *range(ny, ny + nl))
    return program_of(program.in_types, lambda *xs: [ops.permute(inline(built, xs)[0], order=order)], program.names)


def _second_directional(program: Program, output: int, argument: int) -> Program:
    """Return the program (arguments, direction) -> second derivative of an output along the direction, twice."""
    n = len(program.inputs)
    of = _restricted(program, output, argument)
    slope = _along(of, _only(program, argument))
    twice = _along(slope, [i == argument for i in range(n + 1)])
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
    if not total:
        return built
    narrow = (
        None
        if 0 in (x.size, y.size)
        else compressed_laplacian(
            _restricted(program, output, argument),
            argument,
            lambda of, i: build_jacobian(of, output=i, argument=argument, mode="auto"),
            lambda of, i: build_hessian_diagonal(of, output=i, argument=argument, total=True),
        )
    )
    return collapse(expand(built)) if narrow is None else narrow


# -- products with derivatives, and diagonals ------------------------------------------------------------------------


def _build_pushforward(program: Program, *, output: int, argument: int) -> Program:
    of = _restricted(program, output, argument)
    return _along(of, _only(program, argument))


def _build_pullback(program: Program, *, output: int, argument: int) -> Program:
    of = _restricted(program, output, argument)
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


def _build_hvp(program: Program, *, output: int, argument: int, along: int) -> Program:
    slope = expand(build_jacobian(program, output=output, argument=argument, mode="reverse"))
    return _along(slope, _only(program, along))


hvp_: Primitive = program_op(
    "hvp",
    build=_build_hvp,
    out_types=lambda of, *, output, argument, along: [
        ArrayType((*of.out_types[output].shape, *of.program.in_types[argument].shape), of.out_types[output].dtype)
    ],
    doc="The Hessian of one output times a vector: the derivative of the gradient along it.",
)
