"""Running a program tile by tile along one dimension: in cache, on threads, in memory that does not grow with it.

The program is cut into three programs. The prologue computes what does not have the dimension; the tile program runs on
slices of the inputs and makes partial sums and slices of outputs; the epilogue finishes from the total sums. Prologue
and epilogue are ordinary programs for the interpreter, in native parts where they have many steps; for the tiles see
`primad.runtime.tiling.tile_choice`.

Where sums over the dimension are needed again along it (a variance, say), the program is split there: the first part
computes the sums, the second starts again with them as inputs and recomputes what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.native.llvm.compile_limits import BUDGET
from primad.runtime.executors.executor import Donated, Hint
from primad.runtime.loops.row_streams import budget_of, streams_of
from primad.runtime.plan.donation import handed_on
from primad.runtime.plan.fusion import is_pointwise
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.memory_limit import check_memory
from primad.runtime.plan.native_regions import partitioned
from primad.runtime.plan.planned_program import PlannedProgram, Planning
from primad.runtime.tiling.block_sums import BlockTiles, large_products, product_of_moved_rows
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.tile_choice import mixed_tiles, native_tiles
from primad.runtime.tiling.tile_program import (
    Surroundings,
    needed_of,
    partition_of,
    surroundings,
    with_compared,
    with_costly,
)
from primad.runtime.tiling.tileable_axes import (
    MOST_OPS,
    Tileable,
    ends_around_mixing,
    is_computed,
    largest_mixed,
    mixes,
    tileable_dimensions,
)
from primad.runtime.tiling.tiles import Tiles
from primad.runtime.tiling.unrolled_loops import with_loops_unrolled
from primad.runtime.tiling.whole_products import whole_plan
from primad.simplify.barriers import without_barriers
from primad.simplify.outer_products import outer_products
from primad.system.machine import CALL_ELEMENTS, CORE, SECOND_CACHE, WORTHWHILE_BYTES
from primad.transforms.axis_split import SplitAxes, split_axes
from primad.transforms.lowering import calls, without_calls

TILE_BYTES = SECOND_CACHE.share(1, 2)
"""Mean size of an interpreted tile's values: one of them fits into a core's second-level cache, all into the third."""
SHORTEST_TILE = 64
"""Rows of a tile, at least. Estimated: the calls of shorter ones cost more than tiles save. The last bits of results
depend on it."""

LARGE_BYTES = 512 * 1024 * 1024
"""Bytes of all arrays, from which such stages may cost more. Chosen: memory is short. The last bits depend on it."""
MAX_STAGES = 4
"""Tiled stages of a program, at most. Chosen: sums in sums in sums are rare, and each stage is planned by itself. The
last bits of results depend on it."""
STAGES = "two stages, one after the other: what needs complete values or sums over the axis is used along it again"
APART = "an axis that meets itself is two"
"""Why programs are planned: see `primad.transforms.axis_split`."""


def make_plan(
    program: Program, donated: Donated = (), along: Hint | None = None, memory: int | None = None, inner: int = 0
) -> AnyPlan:
    """Return a plan for a lowered program: tiled where a dimension allows it and is large, whole otherwise.

    Args:
        program: what to compute.
        donated: outputs that take the memory of inputs.
        along: the dimension to cut; by default the largest that can be cut.
        memory: bytes that its arrays may take at once, if that is limited.
        inner: how many of the outputs, the last ones, may be row streams.

    Raises:
        MemoryLimitError: if its arrays would not fit into the machine's memory.
        ShapeError: if the dimension to cut is mixed by an op.
    """
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    large = streams_of(steps, program.outputs, inner).nbytes > budget_of(memory) // 4
    plan = None if large and inner else _through_loops(program, donated, along, large)
    if large and along is None and (plan is None or plan.peak_bytes > budget_of(memory)):
        streamed = Plan(outer_products(program), CALL_ELEMENTS, donated, memory=memory, inner=inner)
        if streamed.streams.of and (plan is None or plan.peak_bytes > streamed.peak_bytes):
            check_memory(streamed)
            return streamed
    plan = plan or _through_calls(program, donated, along)
    if plan is None:
        plan = _plan(outer_products(without_barriers(program)), MAX_STAGES, donated, along)
    if plan.tiles is None and ops.barrier in program.ops:
        again = Plan(outer_products(program), CALL_ELEMENTS, donated)
        plan = again if again.peak_bytes < plan.peak_bytes else plan
    check_memory(plan)
    return plan


def _through_loops(program: Program, donated: Donated, along: Hint | None, large: bool) -> AnyPlan | None:
    """Return a plan of the program with what it calls in place and its loops step after step; None if it stays whole.

    Values that stay in cache through all steps gain more than planning a step once saves. Where loops pass large rows
    on to each other, a kernel of all steps gains that these never are in memory: no step is taken again for them.
    """
    unrolled = with_loops_unrolled(without_calls(program)) if _is_worth_inlining(program, along) else None
    if unrolled is None:
        return None
    plan = _plan(outer_products(without_barriers(unrolled)), MAX_STAGES, donated, along)
    one_kernel = large and is_pointwise(plan.program.nodes)
    return plan if along is not None or not isinstance(plan, Plan) or one_kernel else None


def _through_calls(program: Program, donated: Donated, along: Hint | None) -> AnyPlan | None:
    """Return a tiled plan of the program with what it calls in place, if a long axis goes through all of it.

    Values that stay in cache, and memory that does not grow with the axis, gain more than planning calls once saves.
    """
    if not _is_worth_inlining(program, along):
        return None
    plan = _plan(outer_products(without_barriers(without_calls(program))), MAX_STAGES, donated, along)
    return plan if along is not None or not isinstance(plan, Plan) else None


def _is_worth_inlining(program: Program, along: Hint | None) -> bool:
    """Say whether a program calls others, is large enough for tiles, and is small enough to be planned as a whole."""
    if not calls(program):
        return False
    cost = program.cost()
    return along is not None or (cost.bytes >= WORTHWHILE_BYTES and cost.nodes <= MOST_OPS)


def _plan(program: Program, stages: int, donated: Donated = (), along: Hint | None = None) -> AnyPlan:
    return _cut(program, stages, donated, along) or Plan(program, CALL_ELEMENTS, donated)


def _cut(program: Program, stages: int, donated: Donated = (), along: Hint | None = None) -> AnyPlan | None:
    """Return a plan of a program that is cut; None where its steps, one by one, are best."""
    chosen = None if along is None else _chosen(program, along)
    if is_pointwise(program.nodes):
        return None
    if along is None and (moved := product_of_moved_rows(program)) is not None:
        return _in_tiles(BlockTiles(*moved, lambda x: _plan(x, stages)), stages, donated)
    if chosen is not None:
        cut = _tiled(program, chosen, stages, donated, along)
    else:
        apart = partial(_with_split_axes, program, stages, donated)
        cut = _tiled(program, tileable_dimensions(program), stages, donated, instead=apart) or apart()
    cut = cut or _around_mixers(program, stages, donated, along)
    whole = None if cut is None or along is not None else whole_plan(program, cut, donated)
    return whole or cut


def _tiled(
    program: Program,
    dimensions: Sequence[Tileable],
    stages: int,
    donated: Donated = (),
    along: Hint | None = None,
    instead: Callable[[int], AnyPlan | None] | None = None,
) -> AnyPlan | None:
    """Return a plan along the first of some dimensions that is worth it; None if there is none.

    What would be stages along one may run `instead` in tiles along a longer axis.
    """
    for dimension in dimensions:
        computed = [x for x in dimension.axis.keys() - dimension.sources if is_computed(x)]
        if sum(node.type.nbytes for node in computed) < WORTHWHILE_BYTES:
            continue
        length = tile_length(dimension)
        pays = dimension.length >= 2 * length
        if not needs_stages(program, dimension):
            partition = partition_of(program, dimension, donated)
            large = large_products(partition)
            if large:
                return _in_tiles(BlockTiles(partition, large, lambda x: _plan(x, stages)), stages, donated)
            tiles: Tiles | None = native_tiles(partition.with_views_inside(), pays)
            if tiles is None and pays:
                tiles = mixed_tiles(partition) or InterpretedTiles(partition, length)
            if tiles is not None:
                return _in_tiles(tiles, stages, donated)
            continue
        if not pays:
            continue
        if stages > 1:
            if instead is not None and (other := instead(dimension.length)) is not None:
                return other
            before = _sums_before(program, dimension)
            first = [node for node in program.nodes if node in dimension.reductions and before[node] == 1]
            values = dimension.axis.keys() - dimension.sources
            staged = _staged(_stages(program, first, values, stages, donated, along))
            if staged.flops > CORE.again * program.cost().flops:
                whole = Plan(program, CALL_ELEMENTS, donated)
                return whole if whole.peak_bytes < LARGE_BYTES else staged
            return staged
    return None


def _with_split_axes(program: Program, stages: int, donated: Donated, stages_along: int = 0) -> AnyPlan | None:
    """Return a plan for a program whose largest dimension meets itself, tiled along one of the two that it becomes.

    Returns:
        None where nothing is tiled then, or too much is computed twice; instead of stages along an axis of some length,
        where no tiles along a longer one need none. (1024 rows of attention by heads of 64 take 0.65 of the time so.)
    """
    split = split_axes(program) if _bytes_of(program) >= WORTHWHILE_BYTES else None
    plan: AnyPlan | None = None
    if isinstance(split, SplitAxes):
        # One of the two may be summed over to be used along the other: with softmax, say, that of the keys. Else the
        # one that is the first axis of more values is cut: a tile of them lies in order.
        whole = split.program
        found = [(needs_stages(whole, x), x) for x in tileable_dimensions(whole) if x.length > stages_along]
        found = [pair for pair in found if not (stages_along and pair[0])]
        found.sort(key=lambda pair: (pair[0], -pair[1].length, sum(pair[1].axis.values())))
        inner = _tiled(whole, [dimension for _, dimension in found], stages)
        if isinstance(inner, PlannedProgram):
            planning = Planning(program)
            planned = planning.planned(planning.use(inner.planned, split.copied))
            why = ": ".join(filter(None, [APART, inner.why]))
            plan = PlannedProgram(program, planned, donated, why, inner.tiles)
    elif split is not None and stages > 1 and not stages_along and not {*program.outputs} <= {*split}:
        plan = _if_tiled(_stages(program, split, (), stages, donated))
    return plan if plan is not None and _gains(plan) else None


def _bytes_of(program: Program) -> int:
    """Return the bytes of all values of a program."""
    return sum(node.type.nbytes for node in program.nodes if not isinstance(node.type, TupleType))


def _gains(plan: AnyPlan) -> bool:
    """Say whether a plan has tiles, and does not compute too much twice for them."""
    return plan.is_tiled and plan.flops <= CORE.again * plan.program.cost().flops


class _Stages(NamedTuple):
    """A program that computes some values first, and the rest from them.

    Attributes:
        program: what is computed.
        given, first: what the first stage takes, and what it computes.
        known: what the second one takes.
        into: which of its outputs take the memory of which inputs.
        parts: the programs of both.
        cut: the plans of both, None where steps are best.
    """

    program: Program
    given: Sequence[Node]
    first: Sequence[Node]
    known: Sequence[Node]
    into: Donated
    parts: tuple[Program, Program]
    cut: tuple[AnyPlan | None, AnyPlan | None]


def _stages(
    program: Program,
    first: Sequence[Node],
    tiled: Collection[Node],
    stages: int,
    donated: Donated,
    along: Hint | None = None,
    mixed: Collection[Node] = (),
) -> _Stages:
    """Return a program in two stages, some values first; of `tiled` ones, none is kept for cost."""
    first = with_compared(program, with_costly(program, first, tiled, mixed))
    cut = [] if along is None else [program.inputs[along[0]]]
    given = needed_of(program.inputs, first, cut)
    taken = [program.inputs[place] for _, place in donated]
    known = needed_of([*program.inputs, *first], program.outputs, [*cut, *taken])
    hints = [None if along is None else (nodes.index(cut[0]), along[1]) for nodes in (given, known)]
    into = tuple([(output, known.index(program.inputs[place])) for output, place in donated])
    parts = subprogram(program, given, first), subprogram(program, known, program.outputs)
    plans = _cut(parts[0], 1, along=hints[0]), _cut(parts[1], stages - 1, into, hints[1])
    return _Stages(program, given, first, known, into, parts, plans)


def _staged(stages: _Stages) -> PlannedProgram:
    """Return a plan that runs one stage after the other."""
    program, given, first, known, into, parts, cut = stages
    early = cut[0] or Plan(parts[0], CALL_ELEMENTS)
    late = cut[1] or Plan(parts[1], CALL_ELEMENTS, (*into, *handed_on(program.outputs, first, known, into)))
    planning = Planning(program)
    planning.apply("stage", early, given, first, early.peak_bytes)  # its buffers may stay
    results = planning.apply("stage", late, known, program.outputs)
    return PlannedProgram(program, planning.planned(results), (), STAGES)


def _if_tiled(stages: _Stages) -> PlannedProgram | None:
    """Return the same if something of it is tiled; otherwise no step is planned or compiled."""
    return _staged(stages) if any(plan is not None and plan.is_tiled for plan in stages.cut) else None


def _around_mixers(program: Program, stages: int, donated: Donated, along: Hint | None) -> PlannedProgram | None:
    """Return a plan whose stages end before, and after, what mixes the elements along the largest dimension.

    Returns:
        None where nothing is tiled then, or too much is computed twice.
    """
    if stages < 2 or _bytes_of(program) < WORTHWHILE_BYTES:
        return None
    dimension = largest_mixed(program)
    if dimension is None:
        return None
    first = ends_around_mixing(program, dimension)
    if set(first) >= {node for node in program.outputs if not isinstance(node.op, Leaf)}:
        return None
    mixed = {node for node in dimension.axis if is_computed(node) and mixes(node)}
    values = dimension.axis.keys() - dimension.whole
    staged = _if_tiled(_stages(program, first, values, stages, donated, along, mixed))
    return staged if staged is not None and _gains(staged) else None


def _chosen(program: Program, along: Hint) -> list[Tileable]:
    """Return the dimension of an input's axis, the one to cut."""
    node, axis = program.inputs[along[0]], along[1]
    found = [dimension for dimension in tileable_dimensions(program) if dimension.axis.get(node) == axis]
    if not found:
        raise ShapeError(
            f"jit: axis {axis} of the argument of type {node.type} cannot be cut into tiles",
            why="Some op mixes its elements (a sort, a cumulative sum, a reshape), or another axis is the same.",
            fix="choose another axis, or none.",
        )
    return found


def tile_length(dimension: Tileable) -> int:
    """Return how many indices make an interpreted tile: an even number of tiles, as equal as multiples of 8 can be."""
    length = SHORTEST_TILE
    while length < 8192 and 2 * length * dimension.bytes_per_index <= TILE_BYTES:
        fewest = 4 if length <= 2 * SHORTEST_TILE else 8  # calls of short tiles cost more than idle threads
        if 2 * length * fewest > dimension.length + length:
            break
        length *= 2
    count = -(-dimension.length // length)
    even = count + count % 2
    return -(-dimension.length // (8 * even)) * 8


def _sums_before(program: Program, dimension: Tileable) -> dict[Node, int]:
    """Return for each value how many complete sums over the dimension, one after the other, it depends on."""
    before: dict[Node, int] = {}
    for node in program.nodes:
        level = max(map(before.__getitem__, node.inputs), default=0)
        before[node] = level + 1 if node in dimension.reductions else level
    return before


def needs_stages(program: Program, dimension: Tileable) -> bool:
    """Say whether complete sums over the dimension are used along it again; what is summed over it lies along it."""
    before = _sums_before(program, dimension)
    return any(before[node] for node in program.nodes if node in dimension.axis and not isinstance(node.op, Leaf))


def _in_tiles(tiles: Tiles, stages: int, donated: Donated) -> PlannedProgram:
    """Return the plan of a program of which a part runs in tiles."""
    partition = tiles.partition
    program = partition.program
    around = surroundings(program, [partition], donated)
    planning = Planning(program)
    if around.early:
        planning.apply("steps", _outside(around.before, stages), around.given, around.early)
    taken = sum([node.type.nbytes for node in partition.taken])
    planning.apply("tiles", tiles, partition.operands, partition.results, -taken)
    if around.late:
        after = _outside(around.after, stages, _donated_late(program, around, donated))
        planning.apply("steps", after, around.known, around.late)
    return PlannedProgram(program, planning.planned(), donated, tiles=tiles)


def _donated_late(program: Program, around: Surroundings, donated: Donated) -> Donated:
    """Return what may be written after tiles into the memory of inputs, of those that are no outputs themselves."""
    found = []
    for output, place in donated:
        node = program.outputs[output]
        if node in around.late and program.inputs[place] not in program.outputs:
            found.append((around.late.index(node), around.known.index(program.inputs[place])))
    return tuple({late: (late, place) for late, place in reversed(found)}.values())


def _outside(program: Program, stages: int, donated: Donated = ()) -> AnyPlan:
    """Return a plan for what comes before or after tiles."""
    plan = _plan(program, stages - 1, donated) if stages > 1 else Plan(program, CALL_ELEMENTS, donated)
    many = isinstance(plan, Plan) and len(plan.units) >= BUDGET.worth_a_region and not donated
    return partitioned(program) or plan if many else plan


AnyPlan = Plan | PlannedProgram
