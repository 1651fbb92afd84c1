"""Diagonals of matrices of derivatives, out of products with few directions, in bounded memory.

What an argument moves in a result goes there along paths that are told apart by their colours, and through sums. For
each colour of the argument's elements there is one product with a direction
(`primad.programs.sparsity.diagonal_coloring`). A sum s of few elements adds ∂y/∂s · ∂s/∂x, of whose diagonal is known
what ∂s/∂x and ∂y/∂s are: so many products more, however many elements the sum is over. Directions of which there are
more than fit into memory together are taken in blocks, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node, Trace
from primad.ir.program import ClosedProgram, Program, subprogram
from primad.ops.record.rules import tangent_sum
from primad.programs.jacobians.blocks import take_block, whole
from primad.programs.loops.scan import Form, scan
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.diagonal_coloring import ColumnColors, Wanted, coloring
from primad.programs.sparsity.listed_places import Known
from primad.programs.sparsity.paths import AffinePath, AffinePlace
from primad.programs.sparsity.reach import Reach, reach
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms import batching, reverse
from primad.transforms.lowering import apply_program_op, expand, inline, without_calls

BLOCK_BYTES = 2**25
"""Bytes of the directions that are taken together, unless it is one. Chosen: what is computed of them takes some tens
of times as much, which every machine has."""
MOST_CUT = 32
"""Elements of sums, at most, that are followed apart. Chosen: each costs a product both ways, and a row of memory."""


Push = Callable[[bool], Program]
"""Gives the program (inputs, direction) -> what moves in the result, both one row; what is linear apart, if asked."""


class Diagonal:
    """Wanted entries of a matrix of derivatives, and the directions that they take.

    Args:
        push: the matrix.
        wanted: the columns that are wanted of its first rows.
        known: the inputs that are indices whose values are known.
    """

    def __init__(self, push: Push, wanted: Wanted, known: Known | None = None) -> None:
        self._wanted = wanted
        self._pushed, self._found = _followed(push, False, known)
        if self._found.cuts:  # what is cut is transposed
            self._pushed, self._found = _followed(push, True, known)
        self._colors = coloring(self._found.outputs[0], self._pushed.inputs[-1].type.size, wanted)

    @property
    def directions(self) -> int:
        """How many directions are taken."""
        return self._colors.count

    def program(self) -> Program:
        """Build the program (inputs) -> entries."""
        pushed, cuts, wanted = self._pushed, self._found.cuts, self._wanted
        direct = subprogram(pushed, [*pushed.inputs, *cuts], pushed.outputs)

        def diagonal(*inputs: TracedArray) -> list[TracedArray]:
            zeros = [TracedArray(inputs[0].node.trace.literal(0, node.type)) for node in cuts]
            terms = [_by_colors(direct, [*inputs], zeros, self._colors, wanted)]
            return [tangent_sum([*terms, *_through_sums(pushed, direct, cuts, inputs, wanted)])]

        return program_of(pushed.in_types[:-1], diagonal, pushed.names[:-1])


def _followed(push: Push, apart: bool, known: Known | None) -> tuple[Program, Reach]:
    pushed = expand(push(apart))
    size = pushed.inputs[-1].type.size
    start = frozenset([AffinePath((size,), (AffinePlace(0),))])
    values = {pushed.inputs[i]: KnownValue(x, frozenset()) for i, x in known.values.items()} if known else {}
    return pushed, reach(pushed, {pushed.inputs[-1]: start}, size, Constants(values), MOST_CUT)


def _through_sums(
    pushed: Program, direct: Program, cuts: Sequence[Node], inputs: Sequence[TracedArray], wanted: Wanted
) -> list[TracedArray]:
    """Return what comes through each sum of the wanted entries."""
    terms = []
    still = TracedArray(inputs[0].node.trace.literal(0, pushed.in_types[-1]))
    for number, cut in enumerate(cuts):
        seeds = _basis(inputs[0].node.trace, cut.type)
        slope = expand(without_calls(subprogram(pushed, pushed.inputs, [cut])))
        linear = [node is slope.inputs[-1] for node in slope.inputs]
        back = batching.vmap(reverse.transposed_program(slope, linear), [*[False] * len(inputs), True], cut.type.size)
        flags = [*[False] * (len(inputs) + 1), *[i == number for i in range(len(cuts))]]
        on = batching.vmap(direct, flags, cut.type.size)
        others = [TracedArray(still.node.trace.literal(0, node.type)) for node in cuts]
        others[number] = seeds
        (rows,) = inline(back, [*inputs, seeds])
        (columns,) = inline(on, [*inputs, still, *others])
        end = wanted.start + wanted.step * wanted.count
        rows = take_block(rows, ((0, len(rows), 1), (wanted.start, end, wanted.step)))
        columns = _first(columns, wanted.count)
        terms.append(ops.sum(ops.cast(rows, dtype=str(columns.dtype)) * columns, axes=(0,)))
    return terms


def _basis(trace: Trace, type: ArrayType) -> TracedArray:
    eye = TracedArray(trace.build(ops.eye, (), (("dtype", str(type.dtype)), ("n", type.size))))
    basis: TracedArray = ops.reshape(eye, shape=(type.size, *type.shape))
    return basis


def together(count: int, *types: ArrayType) -> int:
    """Return how many directions, of so many, are taken at once, where each is of arrays of these types."""
    largest = max(1, *[type.nbytes for type in types])
    return max(1, min(count, BLOCK_BYTES // largest))


def _by_colors(
    direct: Program, inputs: Sequence[TracedArray], zeros: Sequence[TracedArray], colors: ColumnColors, wanted: Wanted
) -> TracedArray:
    """Return the wanted entries but for what comes through sums."""
    trace, along = inputs[0].node.trace, direct.inputs[len(inputs)].type
    if colors.count == 1:
        (found,) = inline(direct, [*inputs, TracedArray(trace.literal(1, along)), *zeros])
        return _first(found, wanted.count)
    block = together(colors.count, along, direct.out_types[0])
    flags = [*[False] * len(inputs), True, *[False] * len(zeros)]
    stacked = batching.vmap(direct, flags, block)

    def of_block(total: TracedArray, first: TracedArray, *inputs: TracedArray) -> list[TracedArray]:
        trace = total.node.trace
        numbers = spread_along(first, (block,), ()) + numbered(trace, block)
        columns, own = _colors(trace, colors, along.size, wanted)
        seeds = ops.cast(each_equal(numbers, columns), dtype=str(along.dtype))
        none = [TracedArray(trace.literal(0, x.type)) for x in zeros]
        (found,) = inline(stacked, [*inputs, ops.reshape(seeds, shape=(block, *along.shape)), *none])
        chosen = ops.mask(each_equal(numbers, own), _first(found, wanted.count))
        return [total + ops.sum(chosen, axes=(0,))]

    total = TracedArray(trace.literal(0, ArrayType((wanted.count,), direct.out_types[0].dtype)))
    steps = -(-colors.count // block)
    if steps == 1:
        return of_block(total, TracedArray(trace.literal(0, ArrayType((), np.int64))), *inputs)[0]
    types = [total.type, ArrayType((), np.int64), *[x.type for x in inputs]]
    of = ClosedProgram(program_of(types, of_block))
    form = Form(carry=1, stacked=1, length=steps, reverse=False, counted=False)
    firsts = numbered(trace, steps) * block
    summed: TracedArray = apply_program_op(scan, of, [total, firsts, *inputs], **form._asdict())
    return summed


def each_direction(along: Program, inputs: Sequence[TracedArray], total: bool) -> TracedArray:
    """Return what a program gives for each basis direction, stacked, or the sum of that, a block after the other.

    Args:
        along: (inputs, direction) -> result.
        inputs: all but the direction.
        total: whether the sum is wanted.
    """
    type, (y,) = along.in_types[-1], along.out_types
    block = together(type.size, type, y)
    stacked = batching.vmap(along, [*[False] * len(inputs), True], block)

    def of_block(*operands: TracedArray) -> list[TracedArray]:
        first, rest = (operands[1], operands[2:]) if total else (operands[0], operands[1:])
        trace = first.node.trace
        numbers = spread_along(first, (block,), ()) + numbered(trace, block)
        seeds = ops.cast(each_equal(numbers, numbered(trace, type.size)), dtype=str(type.dtype))
        (found,) = inline(stacked, [*rest, ops.reshape(seeds, shape=(block, *type.shape))])
        if not total:
            return [found]
        there = ops.less(
            numbers, spread_along(TracedArray(trace.literal(type.size, ArrayType((), np.int64))), (block,), ())
        )
        chosen = ops.mask(spread_along(there, (), y.shape), found)
        return [operands[0] + ops.sum(chosen, axes=(0,))]

    trace = inputs[0].node.trace
    steps = -(-type.size // block)
    sums = [TracedArray(trace.literal(0, y))] if total else []
    of = ClosedProgram(
        program_of([*[x.type for x in sums], ArrayType((), np.int64), *[x.type for x in inputs]], of_block)
    )
    form = Form(carry=len(sums), stacked=1, length=steps, reverse=False, counted=False)
    found: TracedArray = apply_program_op(scan, of, [*sums, numbered(trace, steps) * block, *inputs], **form._asdict())
    if total:
        return found
    rows = ops.reshape(found, shape=(steps * block, *y.shape))
    begin: TracedArray = take_block(rows, ((0, type.size, 1), *whole(y.shape)))
    return begin


def _colors(trace: Trace, colors: ColumnColors, size: int, wanted: Wanted) -> tuple[TracedArray, TracedArray]:
    """Return the colours of all columns, and of those that are wanted of the rows."""
    if colors.listed is None:
        columns, own = numbered(trace, size), wanted.columns(numbered(trace, wanted.count))
        if colors.count == size:
            return columns, own
        return columns % colors.count, own % colors.count
    listed = colors.listed.astype(np.int64)
    own = listed[wanted.columns(np.arange(wanted.count))]
    return TracedArray(trace.capture(listed)), TracedArray(trace.capture(own))


def _first(x: TracedArray, count: int) -> TracedArray:
    """Return the first elements of a row, or of each row of a stack."""
    begin: TracedArray = ops.slice_(x, start=(0,) * x.ndim, stop=(*x.shape[:-1], count), step=(1,) * x.ndim)
    return begin


def numbered(trace: Trace, n: int) -> TracedArray:
    """Return the numbers from 0 on."""
    return TracedArray(trace.build(ops.iota, (), (("dtype", "int64"), ("n", n))))


def spread_along(x: TracedArray, before: tuple[int, ...], after: tuple[int, ...]) -> TracedArray:
    """Return an array that is the same along further axes before and after its own."""
    shape = (*before, *x.shape, *after)
    new = (*range(len(before)), *range(len(before) + x.ndim, len(shape)))
    spread: TracedArray = ops.broadcast(x, shape=shape, axes=new)
    return spread


def each_equal(numbers: TracedArray, colors: TracedArray) -> TracedArray:
    """Say for each number of a block which colours are it."""
    equal: TracedArray = ops.equal(spread_along(numbers, (), colors.shape), spread_along(colors, numbers.shape, ()))
    return equal
