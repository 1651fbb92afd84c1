"""Programs of middle size: too large for one native function that Python calls, and not held by tiles.

Tiles pay where nearly all of a program lies along one long axis. A stencil whose shifts mix every axis, a Jacobian of
blocks, a block of attention on short sequences have no such axis: what is outside of the tiles runs step by step, each
step reads and writes whole arrays, and small products go to BLAS one by one. As long as the values fit into twice the
memory that a plan keeps, native functions of all steps, with NumPy's between them where something has no native code,
take less.

A loop runs as it does alone, and is no reason to run what stands beside it step by step: fifty steps of a transport
problem of 200 points are too much for one native function that Python calls, and take less time than the passes over
its matrix before and after them, unless these are native.
"""

from __future__ import annotations

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.ir.walks import users_of
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
from primad.native.emit.pointwise import is_function, work_of_element
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.native.loops.body_programs import has_body
from primad.native.panels.stages import in_panels
from primad.native.schedule.inner_loops import with_inner_loops
from primad.native.schedule.joined_slices import with_slices_of_parts
from primad.native.schedule.shared_pads import with_shared_pads
from primad.native.schedule.stencil_split import GAIN, PASS, in_boxes_along_all
from primad.native.schedule.storage import VIEWS
from primad.ops.arrays.contraction import split
from primad.ops.record.primitive import application
from primad.runtime.executors.executor import PLAIN, Options
from primad.runtime.loops.row_streams import budget_of, streams_of
from primad.runtime.plan.compiled_program import work_of
from primad.runtime.plan.fusion import is_pointwise
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.memory_limit import check_memory
from primad.runtime.plan.native_regions import FEWEST_STEPS, Partition
from primad.runtime.plan.workspaces import SPARE_WORKSPACES
from primad.runtime.tiling.tile_choice import NATIVE_LENGTHS, SCRATCH_BYTES, reads_large_matrix
from primad.runtime.tiling.tile_program import needed_of, partition_of
from primad.runtime.tiling.tileable_axes import (
    Tileable,
    ends_around_mixing,
    is_computed,
    largest_mixed,
    tileable_dimensions,
)
from primad.runtime.tiling.tiled_plan import needs_stages
from primad.runtime.tiling.unrolled_loops import with_loops_unrolled
from primad.simplify.barriers import without_barriers
from primad.system.machine import ALONE_WORK, CALL_ELEMENTS, CORE, SHARED_FLOPS, STREAMED_BYTES, WORTHWHILE_BYTES
from primad.transforms.axis_split import SplitAxes, split_axes
from primad.transforms.lowering import calls, without_calls

MOST_WORK = 16 * ALONE_WORK
"""Ops on elements, up to which a program is of middle size: some twenty milliseconds on one thread. Chosen: threads
save little of so short a time beside what passes over memory cost. The last bits of results depend on it."""

MOST_WORKSPACES = 2
"""Times the memory that a plan keeps, up to which its functions may take as much. Measured: gradients of differences of
1024² numbers take 0.5 to 0.9 of the time of tiles, though they ask the system for 34 to 50 MB each time."""


def middle_plan(program: Program, options: Options = PLAIN) -> Plan | None:
    """Return a plan of native functions for a program of middle size; None for any other.

    Args:
        program: what to compute.
        options: how it is to run: tiles along a given axis, and what is limited in memory, are not for this.

    Raises:
        MemoryLimitError: if its arrays would not fit into the machine's memory.
    """
    if compiler() is None or options.along is not None or options.memory is not None or options.inner:
        return None
    program = without_barriers(_through_loops(program))
    many = _is_of_many_small(program)
    large = not many and not _is_of_middle_size(program)
    if not many and ((large and not _is_of_differences(program)) or is_pointwise(program.nodes)):
        return None
    boxed = _in_boxes(program)
    one_pass = boxed is not None and _is_one_pass(boxed)
    program = with_inner_loops(with_slices_of_parts(with_shared_pads(program)))
    if not one_pass and not many and _tiles_hold(program):
        return None
    parts = boxed if boxed is not None and one_pass and not boxed.scratch else _with_less_memory(program, boxed)
    if not parts.is_mostly_native:
        return None
    panels = _in_panels(parts)
    if panels is None and parts.length > BUDGET.tile_text:
        return None
    parts = panels or parts
    around = sum(node.type.nbytes for node in (*program.inputs, *program.outputs)) if large else 0
    most = MOST_WORKSPACES * max(around, SPARE_WORKSPACES.largest)
    if panels is None and parts.scratch > most and not any(map(_is_slid, program.nodes)):
        return None
    units = parts.units()
    if units is None:
        return None
    plan = Plan(parts.program, donated=options.donated, units=units)
    check_memory(plan)
    return plan


def _through_loops(program: Program) -> Program:
    """Return a program with its loops step after step, if no tiles hold it that could go through them.

    So it runs as the same steps do that Python takes one after the other.
    """
    unrolled = with_loops_unrolled(without_calls(program)) if calls(program) else None
    if unrolled is None or not (_is_of_middle_size(unrolled) or _is_of_differences(unrolled)):
        return program
    return program if _tiles_hold(unrolled) else unrolled


def tiles_hold_loops(program: Program) -> bool:
    """Say whether a program has loops, and tiles that go through their steps do most of its work.

    What stands around a loop may be little, and native parts by itself, while each step is large: a loop alone then
    writes what later loops read to memory, and takes it back, and one that sums over its members is not shared.

    Args:
        program: what to compute.
    """
    loops = [node for node in calls(program) if node.op.programs.loop is not None]
    if not loops or program.cost().bytes < WORTHWHILE_BYTES:
        return False
    handed = streams_of([x for x in program.nodes if not isinstance(x.op, Leaf)], program.outputs).nbytes
    most = BUDGET.handed_on if handed > STREAMED_BYTES else BUDGET.through_steps
    through = with_loops_unrolled(without_calls(program), most)
    return through is not None and any(_holds(through, dimension) for dimension in tileable_dimensions(through))


def _in_boxes(program: Program) -> Partition | None:
    """Return the parts of a program in boxes; None where boxes take no less time."""
    boxed = in_boxes_along_all(program)
    return None if boxed is program else Partition(boxed)


def _is_one_pass(boxed: Partition) -> bool:
    """Say whether boxes read the inputs and write the results, and little lies in memory between.

    Tiles copy what views show of the inputs, and differences along the first axis make columns of them, whose rows lie
    pages apart. Products and functions of elements are work that threads share. Gradients of differences of 1024²
    numbers, along the first axis or the last, take a fifth to a third of the processor's time of tiles so; with the
    value beside, whose sum reads an array that lies in memory, 0.4 to 0.7, which two threads of tiles hardly save.
    """
    program = boxed.program
    moved = sum(node.type.nbytes for node in (*program.inputs, *program.outputs))
    shared = any(node.op is ops.contract or is_function(node) for node in program.nodes)
    return boxed.is_one_part and boxed.scratch <= GAIN * moved and not shared


def _with_less_memory(program: Program, boxed: Partition | None) -> Partition:
    """Return the parts of a program, in boxes if less lies in memory then: else boxes only make more loops."""
    parts = Partition(program, loops=False)
    return boxed if boxed and boxed.scratch < parts.scratch else parts


def _in_panels(parts: Partition) -> Partition | None:
    """Return the parts of a program in panels of rows, if these need much less memory."""
    program = in_panels(parts.program, parts.scratch) if parts.is_one_part else None
    if program is None:
        return None
    found = Partition(program)
    return found if found.scratch < CORE.saved * parts.scratch and found.length <= BUDGET.panels else None


def _is_of_middle_size(program: Program) -> bool:
    """Say whether a program is large for one function, small enough for several, and more than loops and a product.

    One large product is BLAS's, on threads: what native functions save is passes over memory and calls beside products.
    Weighing neighbours is none: copies of all windows take BLAS many times as long as the sums.
    """
    every = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    steps = _beside_loops(program)
    slid = {node for node in steps if _is_slid(node)}
    if any(x.op.cost(x).flops >= SHARED_FLOPS and x not in slid for x in steps):
        return False
    work = {node: _work(node) for node in steps}
    products = {node for node in steps if node.op.cost(node).matmul_flops} - slid
    passes = [node for node in steps if is_computed(node) and node not in products and _is_large(node)]
    total, held = sum(work.values()), sum(node.op.cost(node).bytes for node in steps)
    if (len(passes) < FEWEST_STEPS and not slid) or 2 * max([work[node] for node in products], default=0) > total:
        return False
    large = total > ALONE_WORK or held > WORTHWHILE_BYTES
    if len(steps) < len(every):
        rows = streams_of(every, program.outputs, 0).nbytes  # large ones are never in memory as a whole
        large = total > BUDGET.worth_a_region * CALL_ELEMENTS and rows <= budget_of(None) // 4
        large = large and work_of(every) is None
    return (total <= MOST_WORK or bool(slid)) and large


def _beside_loops(program: Program) -> list[Node]:
    """Return the steps that are neither loops nor calls, nor results of such."""
    return [node for node in program.nodes if not isinstance(node.op, Leaf) and not has_body(application(node)[0])]


def _is_of_many_small(program: Program) -> bool:
    """Say whether a program is many ops on arrays that are small, so that those of a tile would only be more calls."""
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    if any(has_body(application(x)[0]) or _is_large(x) for x in steps):
        return False
    return bool(sum(node.op.cost(node).bytes for node in steps) > WORTHWHILE_BYTES)


def _is_of_differences(program: Program) -> bool:
    """Say whether a program is larger than of middle size, and differences of neighbours and what is around them.

    Tiles would have each array in memory that is shifted along them. It takes a second at most, and is not interrupted.
    """
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    if any(has_body(application(x)[0]) or is_function(x) or x.op.cost(x).matmul_flops for x in steps):
        return False
    large = MOST_WORK < sum(map(_work, steps)) < 100 * BUDGET.uninterrupted
    return large and any(node.op in (ops.pad, ops.concatenate) for node in steps)


def _is_slid(node: Node) -> bool:
    """Say whether an op weighs the neighbours of each element: BLAS would be given a copy that is read once."""
    if node.op is not ops.contract or not any(operand.op is ops.windows for operand in node.inputs):
        return False
    x, y, out = split(dict(node.params)["labels"])
    left, right = (operand.op is ops.windows for operand in node.inputs)
    return (left and {*y}.isdisjoint(out)) or (right and {*x}.isdisjoint(out))


def _is_large(node: Node) -> bool:
    """Say whether an op takes longer on its arrays than its call."""
    arrays = [x.type for x in (node, *node.inputs) if not isinstance(x.type, TupleType)]
    return max([type.size for type in arrays], default=0) >= CALL_ELEMENTS


def _tiles_hold(program: Program) -> bool:
    """Say whether tiles along some axis do most of a program's work, and fit into a cache."""
    held = any(_holds(program, dimension) for dimension in tileable_dimensions(program))
    if calls(program):
        through = with_loops_unrolled(without_calls(program)) or without_calls(program)
        held = held or any(_holds(through, dimension) for dimension in tileable_dimensions(through))
    return held or _comes_apart(program) or _is_mixed_last(program)


def _comes_apart(program: Program) -> bool:
    """Say whether an axis that meets itself can be cut as two, in most of a program or of what comes first."""
    apart = split_axes(program)
    if isinstance(apart, list):
        first = subprogram(program, needed_of(program.inputs, apart), apart)
        apart = split_axes(first) if _share(first, program) > 0.5 else None
    if not isinstance(apart, SplitAxes):
        return False
    return any(_holds(apart.program, dimension) for dimension in tileable_dimensions(apart.program))


def _is_mixed_last(program: Program) -> bool:
    """Say whether tiles hold nearly all of a program, and only then something mixes their axis.

    What comes after runs step by step. Of bundle adjustment's sparse Jacobian it is a tenth, and the whole takes 0.6 of
    the time of native functions; of the Hessian of a sheet's elastic energy, with sums at indices, a sixth, and the
    whole takes 1.6 times as long. So an eighth may be.
    """
    dimension = largest_mixed(program)
    if dimension is None:
        return False
    ends = ends_around_mixing(program, dimension)
    first = subprogram(program, needed_of(program.inputs, ends), ends)
    if _share(first, program) < 7 / 8:
        return False
    return any(_holds(first, dimension) for dimension in tileable_dimensions(first))


def _share(first: Program, program: Program) -> float:
    """Return how much of a program's work a part of it does."""
    works = [sum(_work(node) for node in x.nodes if not isinstance(node.op, Leaf)) for x in (first, program)]
    return works[0] / works[1]


def _holds(program: Program, dimension: Tileable) -> bool:
    steps = [node for node in program.nodes if is_computed(node)]
    if sum(node.type.nbytes for node in steps if node in dimension.axis) < WORTHWHILE_BYTES:
        return False
    if SCRATCH_BYTES * dimension.length < NATIVE_LENGTHS[0] * _live_bytes(program, dimension):
        return False
    work = {node: max(CALL_ELEMENTS, _work(node)) for node in steps}
    # An array that a view shows is copied for tiles, which read and write slices of whole arrays.
    copied = [node for node in dimension.sources if node.op in VIEWS and node.op is not ops.broadcast]
    whole = sum(work.values()) + sum(2 * PASS * node.type.size for node in copied)
    inside = sum(work.get(node, 0) for node in dimension.axis.keys() | dimension.reductions)
    if 2 * inside <= whole:
        return False
    if dimension.bytes_per_index * dimension.length < WORTHWHILE_BYTES and needs_stages(program, dimension):
        return False  # stages save passes over memory, and there are few of these
    return not reads_large_matrix(partition_of(program, dimension, ()))


def _live_bytes(program: Program, dimension: Tileable) -> int:
    """Return the bytes of values along an axis that memory holds at the same time: not of those that a loop ends in."""
    users = users_of(program.nodes)

    def lies(node: Node) -> bool:
        return is_computed(node) and not all(isinstance(way_of(x), Pointwise) for x in (node, *users.get(node, ())))

    held = {node: node.type.nbytes for node in dimension.axis if lies(node)}
    last = {x: node for node in program.nodes for x in node.inputs}
    now = most = 0
    for node in program.nodes:
        now += held.get(node, 0)
        most = max(most, now)
        now -= sum(held.get(x, 0) for x in {*node.inputs} if last[x] is node)
    return most


def _work(node: Node) -> int:
    """Return ops on elements, or an eighth of the flops: an op on a vector. Who reads windows counts them."""
    if node.op is ops.windows:
        return 0
    elements: int = 0 if isinstance(node.type, TupleType) else node.type.size * work_of_element(node)
    flops: int = node.op.cost(node).flops
    return max(elements, flops // 8)
