"""Building Jacobians, Hessians, blocks and diagonals of them, and their products with vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ArraySizeError
from primad.ir.array_types import ArrayType, complex_dtype
from primad.ir.node import Trace
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.blocks import Block, block_shape, put_block, take_block, whole
from primad.programs.jacobians.pullback_rows import is_single, pull_rows
from primad.programs.program_ops import program_op
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.slice_pushdown import differentiable, take_early, windows_alone
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import applications, expand, inline

Types = list[ArrayType]


def restricted(program: Program, output: int, argument: int, block: Block | None = None) -> Program:
    """Return the program that computes (a block of) one output only, to be differentiated with respect to an input."""
    block = whole(program.out_types[output].shape) if block is None else block
    return differentiable(_block_of(program, output, block), only(program, argument))


def _block_of(program: Program, output: int, block: Block) -> Program:
    """Return the program of a block of an output, which computes no more than that needs, however small it is."""
    of = program_of(program.in_types, lambda *xs: [take_block(inline(program, xs)[output], block)], program.names)
    return of if block == whole(program.out_types[output].shape) else windows_alone(expand(of))


def _derivative_alone(derived: Program) -> Program:
    """Return a JVP or VJP of a program with one output without that output."""
    return Program(derived.trace, derived.inputs, derived.outputs[1:])


def basis(trace: Trace, type: ArrayType, block: Block) -> TracedArray:
    """Return the standard basis directions of a block of an array, one along the leading axis each."""
    shape = block_shape(block)
    count = math.prod(shape)
    eye = TracedArray(trace.build(ops.eye, (), (("dtype", str(type.dtype)), ("n", count))))
    seeds: TracedArray = ops.reshape(eye, shape=(count, *shape))
    if block == whole(type.shape):
        return seeds
    around: TracedArray = put_block(seeds, type, block)
    return around


def only(program: Program, argument: int) -> list[bool]:
    """Return flags of the inputs of a program: which of them is an argument."""
    return [i == argument for i in range(len(program.inputs))]


def matrix_dtype(x: ArrayType, y: ArrayType) -> np.dtype[Any]:
    """Return the dtype of the Jacobian of a result with respect to an argument, which is complex if one of them is."""
    return complex_dtype(y.dtype) if x.is_complex and not y.is_complex else y.dtype


FEW = 8
"""With so few results, or one direction, the fewer directions are taken without counting what they cost."""
FEW_ROWS = 64
"""Results of which it is counted whether a pullback of each costs less. Chosen: of more that is hardly ever so, and
counting takes as long as deriving."""


def build_jacobian(
    program: Program, *, output: int, argument: int, mode: str, rows: Block | None = None, columns: Block | None = None
) -> Program:
    """Build (a block of) the Jacobian of one output with respect to one argument.

    Forward mode takes one direction per column. Reverse mode pulls all rows back together: one pullback for all points
    that stay apart, one per row otherwise (see `primad.programs.jacobians.pullback_rows`). 'auto' takes what costs
    less, 'columns' forward mode; both take the other where an op has no rule for it. Of a real argument and a complex
    result the columns are the derivatives, of a complex argument and a real result the rows (see decision 0076).
    """
    x, y = program.in_types[argument], program.out_types[output]
    rows = whole(y.shape) if rows is None else rows
    columns = whole(x.shape) if columns is None else columns
    of = restricted(program, output, argument, rows)
    (y,) = of.out_types
    x_part = ArrayType(block_shape(columns), x.dtype)
    if x_part.size == 0 or y.size == 0:
        none = ArrayType((*y.shape, *x_part.shape), matrix_dtype(x, y))
        return program_of(of.in_types, lambda *xs: [TracedArray(xs[0].node.trace.literal(0, none))], of.names)
    if x.is_complex != y.is_complex:
        return (_by_rows if x.is_complex else _by_columns)(of, argument, columns)
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
    return not any(node.op.derivative.only_transposed for node in applications(program))


def tangent_of(of: Program, active: Sequence[bool], residuals: bool = False) -> Program:
    """Return the program (inputs, tangents of the active ones) -> the tangent of the only output.

    Where an op on the way has no tangent but a pullback, this is the transpose of the pullback.

    Args:
        of: a program with one output.
        active: which inputs have tangents.
        residuals: whether what is linear in the tangents is to stand apart.
    """
    pushed = _derivative_alone(forward.jvp(of, active, residuals))
    if _is_computable(pushed):
        return pushed
    pullback = expand(_derivative_alone(reverse.vjp(of, active)))
    return reverse.transpose(pullback, [i >= len(of.inputs) for i in range(len(pullback.inputs))])


def _by_columns(of: Program, argument: int, columns: Block) -> Program:
    """Build the Jacobian of the only output by one direction for each column of a block."""
    x, (y,) = of.in_types[argument], of.out_types
    part = ArrayType(block_shape(columns), x.dtype)
    derived = expand(_derivative_alone(forward.jvp(of, only(of, argument))))
    stacked = batching.vmap(derived, [*[False] * len(of.in_types), True], part.size)

    def matrix(*operands: TracedArray) -> list[TracedArray]:
        (found,) = inline(stacked, [*operands, basis(operands[0].node.trace, x, columns)])
        found = ops.permute(found, order=(*range(1, found.ndim), 0))
        return [ops.reshape(found, shape=(*y.shape, *part.shape))]

    return program_of(of.in_types, matrix, of.names)


def _by_rows(of: Program, argument: int, columns: Block) -> Program:
    """Build a block of columns of the Jacobian of the only output by pulling its rows back."""
    early = take_early(of, rows=1)  # a pullback of each row costs more than cuts
    if early is of:
        return _pulled_rows(of, argument, columns)
    return min([_pulled_rows(x, argument, columns) for x in (of, early)], key=lambda built: built.cost().flops)


def _is_real_linear(of: Program, argument: int) -> bool:
    """Say whether complex numbers are on the way, and the derivative is not linear over them: it takes real parts."""
    through = any(isinstance(node.type, ArrayType) and node.type.is_complex for node in of.nodes)
    analytic = of.in_types[argument].is_complex and of.out_types[0].is_complex
    return through and not (analytic and all(node.op.complex != "real-linear" for node in of.nodes if node.inputs))


def _together(pullback: Program, cuts: bool) -> Program | None:
    """Return what pulls all rows back at once; None where it cannot, or would need arrays that no memory holds."""
    try:
        return pull_rows(pullback, cuts) if is_single(pullback) else None
    except ArraySizeError:
        return None


def _pulled_rows(of: Program, argument: int, columns: Block) -> Program:
    x, (y,) = of.in_types[argument], of.out_types
    pullback = expand(_derivative_alone(reverse.vjp(of, only(of, argument))))
    # Rows at a cut are no factors of what is pulled back from there if the real parts of products are taken there.
    together = _together(pullback, cuts=not _is_real_linear(of, argument))
    if together is None or y.size <= FEW_ROWS:
        stacked = batching.vmap(pullback, [*[False] * len(of.inputs), True], y.size)
    # What is kept apart for all points may be padded with rows that are not asked for.
    if together is not None and y.size <= FEW_ROWS and stacked.cost().flops < together.cost().flops:
        together = None

    def matrix(*operands: TracedArray) -> list[TracedArray]:
        if together is not None:
            (found,) = inline(together, operands)
        else:
            (found,) = inline(stacked, [*operands, basis(operands[0].node.trace, y, whole(y.shape))])
        found = ops.cast(ops.reshape(found, shape=(*y.shape, *x.shape)), dtype=str(matrix_dtype(x, y)))
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
    Second derivatives are symmetric, so of two sides of equal size those of the later argument are the directions: the
    blocks of two arguments in either order are one program, and one is the other turned round.
    """
    x, z, y = program.in_types[first], program.in_types[second], program.out_types[output]
    rows = whole(y.shape) if rows is None else rows
    left = whole(x.shape) if left is None else left
    right = whole(z.shape) if right is None else right
    n_left, n_right = (ArrayType(block_shape(block), x.dtype).size for block in (left, right))
    swapped = (n_left, second) < (n_right, first)
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


# -- products with derivatives --------------------------------------------------------------------------------------


def _build_pushforward(program: Program, *, output: int, argument: int) -> Program:
    of = restricted(program, output, argument)
    return tangent_of(of, only(program, argument))


def _build_pullback(program: Program, *, output: int, argument: int) -> Program:
    of = restricted(program, output, argument)
    return _derivative_alone(reverse.vjp(of, only(program, argument)))


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
    return tangent_of(slope, only(program, along))


hvp_: Primitive = program_op(
    "hvp",
    build=_build_hvp,
    out_types=lambda of, *, output, argument, along: [
        ArrayType((*of.out_types[output].shape, *of.program.in_types[argument].shape), of.out_types[output].dtype)
    ],
    doc="The Hessian of one output times a vector: the derivative of the gradient along it.",
)
