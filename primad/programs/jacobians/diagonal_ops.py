"""Diagonals of Jacobians and Hessians as nodes, which are computed without the matrix."""

from __future__ import annotations

import math
from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LEFT_OUT
from primad.ir.node import Node
from primad.ir.program import ClosedProgram, Program
from primad.numpy.linalg.diagonals import diagonal_
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive
from primad.programs.consumer_laws import node_of, of_operand
from primad.programs.jacobians.blocks import Block, block_shape, whole
from primad.programs.jacobians.diagonals import BLOCK_BYTES, Diagonal, each_direction
from primad.programs.jacobians.jacobian_programs import (
    basis,
    build_hessian,
    build_jacobian,
    only,
    restricted,
    tangent_of,
)
from primad.programs.jacobians.laplacian_bottleneck import compressed_laplacian
from primad.programs.program_ops import program_op
from primad.programs.sparsity.diagonal_coloring import Wanted
from primad.programs.sparsity.listed_places import Known
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.collapse import collapse
from primad.transforms import batching
from primad.transforms.lowering import expand, inline

SMALL = 2**16
"""Elements of a matrix up to which it is computed for its diagonal. Chosen: that takes no longer than finding out which
of them are zero."""
SHARE = 8
"""How many times as many elements as directions an argument must have for unmixed second derivatives to be found by
these. Chosen: a direction of its own for each costs a third less than one with the gradient."""


def _in_one_row(program: Program) -> Program:
    """Return a program of which the last input and the only output are one row."""
    x, (y,) = program.in_types[-1], program.out_types

    def flat(*xs: TracedArray) -> list[TracedArray]:
        (found,) = inline(program, [*xs[:-1], ops.reshape(xs[-1], shape=x.shape)])
        return [ops.reshape(found, shape=(y.size,))]

    return program_of([*program.in_types[:-1], ArrayType((x.size,), x.dtype)], flat)


def _entries(of: Program, argument: int, wanted: Wanted, known: Known | None) -> Diagonal:
    """Return entries of the Jacobian of the only output of a program."""
    return Diagonal(lambda apart: _in_one_row(tangent_of(of, only(of, argument), apart)), wanted, known)


def _first_rows(block: Block, count: int) -> Block:
    ((start, _, step),) = block
    return ((start, start + count * step, step),)


# -- Jacobians ---------------------------------------------------------------------------------------------------------


def _count(rows: Block, columns: Block) -> int:
    return min(*block_shape(rows), *block_shape(columns))


def _of_whole(matrix: Program) -> Program:
    """Return the program that computes a matrix for its diagonal."""
    return program_of(matrix.in_types, lambda *xs: [diagonal_(inline(matrix, xs)[0], axis1=0, axis2=1)], matrix.names)


def _is_small(rows: Block, columns: Block) -> bool:
    return math.prod(block_shape((*rows, *columns))) <= SMALL


def _build_jacobian_diagonal(
    program: Program,
    *,
    output: int,
    argument: int,
    mode: str,
    rows: Block,
    columns: Block,
    known: Known | None = None,
) -> Program:
    if _is_small(rows, columns):
        place: dict[str, Any] = {"output": output, "argument": argument, "rows": rows, "columns": columns}
        return _of_whole(build_jacobian(program, mode=mode, **place))
    count = _count(rows, columns)
    of = restricted(program, output, argument, _first_rows(rows, count))
    return _entries(of, argument, Wanted(columns[0][0], columns[0][2], count), known).program()


jacobian_diagonal_: Primitive = program_op(
    "jacobian_diagonal",
    build=_build_jacobian_diagonal,
    out_types=lambda of, *, output, argument, mode, rows, columns, known=None: [
        ArrayType((_count(rows, columns),), of.out_types[output].dtype)
    ],
    doc="The diagonal of a block of the Jacobian of one output with respect to one argument, both of one axis.",
)


# -- Hessians ----------------------------------------------------------------------------------------------------------


def _build_mixed_diagonal(
    program: Program,
    *,
    output: int,
    first: int,
    second: int,
    left: Block,
    right: Block,
    known: Known | None = None,
) -> Program:
    if _is_small(left, right):
        place: dict[str, Any] = {"output": output, "first": first, "second": second, "left": left, "right": right}
        return _of_whole(build_hessian(program, **place))
    count = _count(left, right)
    slope = _slope(program, output, first, _first_rows(left, count))
    return _entries(slope, second, Wanted(right[0][0], right[0][2], count), known).program()


def _slope(program: Program, output: int, argument: int, columns: Block) -> Program:
    """Return the program that gives (a block of) the gradient of an output."""
    built = build_jacobian(program, output=output, argument=argument, mode="reverse", columns=columns)
    return restricted(expand(built), 0, argument)


mixed_diagonal_: Primitive = program_op(
    "mixed_diagonal",
    build=_build_mixed_diagonal,
    out_types=lambda of, *, output, first, second, left, right, known=None: [
        ArrayType((_count(left, right),), of.out_types[output].dtype)
    ],
    doc="The diagonal of a block of second derivatives of one number with respect to two arguments of one axis.",
)


def _second_directional(program: Program, output: int, argument: int) -> Program:
    """Return the program (arguments, direction) -> second derivative of an output along the direction, twice."""
    n = len(program.inputs)
    of = restricted(program, output, argument)
    slope = tangent_of(of, only(program, argument))
    twice = tangent_of(slope, [i == argument for i in range(n + 1)])
    return expand(program_of(slope.in_types, lambda *xs: inline(twice, [*xs, xs[-1]])))


def build_hessian_diagonal(
    program: Program, *, output: int, argument: int, total: bool, known: Known | None = None
) -> Program:
    """Build ∂²y/∂xᵢ² for each i (a last axis), or their sum: the Laplacian, collapsed.

    Where few directions find the diagonal of the derivative of the gradient, these are taken.
    """
    x, y = program.in_types[argument], program.out_types[output]
    if 0 in (x.size, y.size):
        none = ArrayType(y.shape if total else (*y.shape, x.size), y.dtype)
        return program_of(program.in_types, lambda *xs: [TracedArray(xs[0].node.trace.literal(0, none))], program.names)
    narrow = _through_narrow_place(program, output, argument) if total else None
    if narrow is not None:
        return narrow
    large = x.size * x.nbytes > 2 * BLOCK_BYTES
    if y.shape == () and (large or (x.size**2 > SMALL and DIRECTIONS not in LEFT_OUT.get())):
        slope = _slope(program, output, argument, whole(x.shape))
        found = _entries(slope, argument, Wanted(0, 1, x.size), known)
        if found.directions * SHARE <= x.size or large:
            entries = found.program()
            if not total:
                return entries
            return program_of(entries.in_types, lambda *xs: [ops.sum(inline(entries, xs)[0], axes=(0,))], program.names)
    twice = _second_directional(program, output, argument)

    def diagonal(*operands: TracedArray) -> list[TracedArray]:
        if large:
            found = each_direction(twice, operands, total)
        else:
            stacked = batching.vmap(twice, [*[False] * len(operands), True], x.size)
            seeds = basis(operands[0].node.trace, x, whole(x.shape))
            (found,) = inline(stacked, [*operands, seeds])
            found = ops.sum(found, axes=(0,)) if total else found
        return [found if total else ops.permute(found, order=(*range(1, found.ndim), 0))]

    built = program_of(program.in_types, diagonal, program.names)
    return collapse(expand(built)) if total and not large else built


def _through_narrow_place(program: Program, output: int, argument: int) -> Program | None:
    return compressed_laplacian(
        restricted(program, output, argument),
        argument,
        lambda of, i: build_jacobian(of, output=i, argument=argument, mode="auto"),
        lambda of, i: build_hessian_diagonal(of, output=i, argument=argument, total=True),
    )


def _total(node: Node, inputs: tuple[Node, ...], params: dict[str, object]) -> Node | None:
    named = dict(node.params)
    if named["total"] or params["axes"] != (node.type.ndim - 1,):
        return None
    return node_of(hessian_diagonal_(*map(TracedArray, node.inputs), **{**named, "total": True}))


def _scalar(x: TracedArray) -> TracedArray:
    """A function of two variables whose second derivatives all differ, for the statement."""
    found: TracedArray = ops.sum(ops.sin(x) * ops.flip(x, axes=(0,)) * x * x, axes=(0,))
    return found


def _diagonal(x: Any, total: bool) -> Any:
    of = ClosedProgram(program_of([ArrayType((2,), float)], lambda x: [_scalar(x)]))
    return hessian_diagonal_(x, of=of, output=0, argument=0, total=total)


hessian_diagonal_: Primitive = program_op(
    "hessian_diagonal",
    build=build_hessian_diagonal,
    out_types=lambda of, *, output, argument, total, known=None: [
        ArrayType(
            of.out_types[output].shape if total else (*of.out_types[output].shape, of.program.in_types[argument].size),
            of.out_types[output].dtype,
        )
    ],
    consumed=(
        Law(
            "a sum of unmixed second derivatives is a Laplacian",
            "real",
            lambda x: (ops.sum(_diagonal(x, False), axes=(0,)), _diagonal(x, True)),
            ((2,),),
            of_operand(lambda: hessian_diagonal_, _total),
            (ops.sum.name,),
        ),
    ),
    doc="Unmixed second derivatives of one output with respect to one argument, or (total) their sum, the Laplacian.",
)
