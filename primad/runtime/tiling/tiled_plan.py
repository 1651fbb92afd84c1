"""Running a program tile by tile along one dimension: in cache, on threads, in memory that does not grow with it.

The program is cut into three programs. The prologue computes what does not have the dimension; the tile program runs on
slices of the inputs and makes partial sums and slices of outputs; the epilogue finishes from the total sums. Prologue
and epilogue are ordinary programs for the interpreter, in native parts where they have many steps; for the tiles see
`primad.runtime.tiling.tile_choice`.

Where sums over the dimension are needed again along it (a variance, say), the program is split there: the first part
computes the sums, the second starts again with them as inputs and recomputes what it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.parallel.threads import thread_count
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import Donated, Executable, Hint
from primad.runtime.loops.row_streams import budget_of, streams_of
from primad.runtime.plan.blocking import beside_tiles
from primad.runtime.plan.donation import own_results, settle
from primad.runtime.plan.fusion import WORTHWHILE_SIZE, is_pointwise
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.memory_limit import check_memory
from primad.runtime.plan.native_regions import partitioned
from primad.runtime.tiling.block_sums import BlockTiles, large_products
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.staged_plans import ApartPlan, StagedPlan
from primad.runtime.tiling.tile_choice import Tiles, mixed_tiles, native_tiles
from primad.runtime.tiling.tile_program import WORTHWHILE_BYTES, partition_of, surroundings, with_compared, with_costly
from primad.runtime.tiling.tileable_axes import MOST_OPS, Tileable, is_computed, largest_mixed, tileable_dimensions
from primad.simplify.barriers import without_barriers
from primad.simplify.outer_products import outer_products
from primad.system.machine import SECOND_CACHE
from primad.system.quantities import several
from primad.transforms.axis_split import Separated, told_apart
from primad.transforms.dimensions import dependents
from primad.transforms.lowering import calls, without_calls

TILE_BYTES = SECOND_CACHE.share(1, 2)
"""Mean size of an interpreted tile's values: one of them fits into a core's second-level cache, all into the third."""
SHORTEST_TILE = 64
"""Rows of a tile, at least. Estimated: the calls of shorter ones cost more than tiles save. The last bits of results
depend on it."""
SHORT_TILE = 256
"""Rows of a tile: up to so many it is made longer though fewer than eight are left to share among threads. Estimated:
then calls cost more than idle threads. The last bits of results depend on it."""

WORTHWHILE_RECOMPUTATION = 1.5
"""Times the flops of the whole program that stages may cost which begin with the inputs. Estimated, as what values in a
cache save. The last bits of results depend on it."""
LARGE_BYTES = 512 * 1024 * 1024
"""Bytes of all arrays, from which such stages may cost more. Chosen: memory is short. The last bits depend on it."""
MAX_STAGES = 4
"""Tiled stages of a program, at most. Chosen: sums in sums in sums are rare, and each stage is planned by itself. The
last bits of results depend on it."""
MANY_STEPS = 12
"""Steps before or after tiles, from which those that can be are native. Estimated: compiling takes as long as some
thousand calls save, and little beside that of the tiles. The last bits of results depend on it."""


def make_plan(
    program: Program, donated: Donated = (), along: Hint | None = None, memory: int | None = None, inner: int = 0
) -> AnyPlan:
    """Return a plan for a lowered program: tiled where a dimension allows it and is large, whole otherwise.

    Args:
        program: what to compute.
        donated: outputs that take the memory of inputs.
        along: the dimension to cut; by default the largest that can be cut.
        memory: bytes that its arrays may take at once, if that is limited.
        inner: how many of the outputs, the last ones, may be streams.

    Raises:
        MemoryLimitError: if its arrays would not fit into the machine's memory.
        ShapeError: if the dimension to cut is mixed by an op.
    """
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    large = streams_of(steps, program.outputs, inner).nbytes > budget_of(memory) // 4
    plan: AnyPlan | None = None
    if large and along is None:
        plan = Plan(outer_products(program), WORTHWHILE_SIZE, donated, memory=memory, inner=inner)
        if plan.streams.of:
            check_memory(plan)
            return plan
    plan = _through_calls(program, donated, along)
    if plan is None:
        plan = _plan(outer_products(without_barriers(program)), MAX_STAGES, donated, along)
    if not isinstance(plan, TiledPlan) and any(node.op is ops.barrier for node in program.nodes):
        again = Plan(outer_products(program), WORTHWHILE_SIZE, donated)
        plan = again if again.peak_bytes < plan.peak_bytes else plan
    check_memory(plan)
    return plan


def _through_calls(program: Program, donated: Donated, along: Hint | None) -> AnyPlan | None:
    """Return a tiled plan of the program with what it calls in place, if a long axis goes through all of it.

    Values that stay in cache, and memory that does not grow with the axis, gain more than planning calls once saves.
    """
    if not calls(program):
        return None
    cost = program.cost()
    if along is None and (cost.bytes < WORTHWHILE_BYTES or cost.nodes > MOST_OPS):
        return None
    plan = _plan(outer_products(without_barriers(without_calls(program))), MAX_STAGES, donated, along)
    return None if along is None and isinstance(plan, Plan) else plan


def _plan(program: Program, stages: int, donated: Donated = (), along: Hint | None = None) -> AnyPlan:
    chosen = None if along is None else _chosen(program, along)
    if is_pointwise(program.nodes):
        return Plan(program, WORTHWHILE_SIZE, donated)
    tiled = _tiled(program, tileable_dimensions(program) if chosen is None else chosen, stages, donated, along)
    if tiled is not None:
        return tiled
    found = None if along is not None else _told_apart(program, stages, donated)
    return found or _around_mixers(program, stages, donated, along) or Plan(program, WORTHWHILE_SIZE, donated)


def _tiled(
    program: Program,
    dimensions: Sequence[Tileable],
    stages: int,
    donated: Donated = (),
    along: Hint | None = None,
) -> AnyPlan | None:
    """Return a plan along the first of some dimensions that is worth it; None if there is none."""
    for dimension in dimensions:
        computed = [x for x in dimension.axis.keys() - dimension.sources if is_computed(x)]
        if sum(node.type.nbytes for node in computed) < WORTHWHILE_BYTES:
            continue
        length = tile_length(dimension)
        pays = dimension.length >= 2 * length
        before = _sums_before(program, dimension)
        if not _needs_stages(program, dimension, before):
            partition = partition_of(program, dimension, donated)
            large = large_products(partition)
            if large:
                return TiledPlan(BlockTiles(partition, large, lambda x: _plan(x, stages)), stages, donated)
            tiles: Tiles | None = native_tiles(partition.with_views_inside(), pays)
            if tiles is None and pays:
                tiles = mixed_tiles(partition) or InterpretedTiles(partition, length)
            if tiles is not None:
                return TiledPlan(tiles, stages, donated)
            continue
        if not pays:
            continue
        if stages > 1:
            first = [node for node in program.nodes if node in dimension.reductions and before[node] == 1]
            values = dimension.axis.keys() - dimension.sources
            staged = _staged(program, first, values, stages, donated, along)
            whole = Plan(program, WORTHWHILE_SIZE, donated)
            recomputes = staged.flops > WORTHWHILE_RECOMPUTATION * whole.flops
            return whole if recomputes and whole.peak_bytes < LARGE_BYTES else staged
    return None


def _told_apart(program: Program, stages: int, donated: Donated) -> AnyPlan | None:
    """Return a plan for a program whose largest dimension meets itself, tiled along one of the two that it becomes.

    Returns:
        None where nothing is tiled then, or too much is computed twice.
    """
    apart = told_apart(program) if _bytes_of(program) >= WORTHWHILE_BYTES else None
    plan: AnyPlan | None = None
    if isinstance(apart, Separated):
        # One of the two may be summed over to be used along the other: with softmax, say, that of the keys. Else the
        # one that is the first axis of more values is cut: a tile of them lies in order.
        whole = apart.program
        found = [(_needs_stages(whole, x, _sums_before(whole, x)), x) for x in tileable_dimensions(whole)]
        found.sort(key=lambda pair: (pair[0], -pair[1].length, sum(pair[1].axis.values())))
        inner = _tiled(whole, [dimension for _, dimension in found], stages)
        plan = ApartPlan(program, inner, apart.copied, donated) if inner else None
    elif apart is not None and stages > 1 and not {*program.outputs} <= {*apart}:
        plan = _staged(program, apart, (), stages, donated)
    return plan if plan is not None and _gains(plan) else None


def _bytes_of(program: Program) -> int:
    """Return the bytes of all values of a program."""
    return sum(node.type.nbytes for node in program.nodes if not isinstance(node.type, TupleType))


def _gains(plan: AnyPlan) -> bool:
    """Say whether a plan has tiles, and does not compute too much twice for them."""
    return plan.is_tiled and plan.flops <= WORTHWHILE_RECOMPUTATION * plan.program.cost().flops


def _staged(
    program: Program,
    first: Sequence[Node],
    tiled: Collection[Node],
    stages: int,
    donated: Donated,
    along: Hint | None = None,
) -> StagedPlan:
    """Return a plan that computes some values first, and the rest from them; of `tiled` ones, none is kept for cost."""
    first = with_compared(program, with_costly(program, first, tiled))
    early = _plan(subprogram(program, program.inputs, first), 1, along=along)
    late = _plan(subprogram(program, [*program.inputs, *first], program.outputs), stages - 1, donated, along)
    return StagedPlan(program, first, (early, late))


def _around_mixers(program: Program, stages: int, donated: Donated, along: Hint | None) -> StagedPlan | None:
    """Return a plan whose stages end before, and after, what mixes the elements along the largest dimension.

    Returns:
        None where nothing is tiled then, or too much is computed twice.
    """
    if stages < 2 or _bytes_of(program) < WORTHWHILE_BYTES:
        return None
    dimension = largest_mixed(program)
    if dimension is None:
        return None
    mixing = {node for node, _ in dimension.mixed}
    behind = dependents(program.nodes, list(mixing))
    frontier = [node for node in program.nodes if node in mixing and behind.isdisjoint(node.inputs)]
    ends = [operand for node in frontier for operand in node.inputs if not isinstance(operand.op, Leaf)]
    if not ends:  # a stage that does nothing else
        made = {*frontier}
        ends = [x for x in program.nodes if (x in made or made & {*x.inputs}) and not isinstance(x.type, TupleType)]
        ends = [x for x in ends if x in made or isinstance(x.inputs[0].type, TupleType)]
    first = list(dict.fromkeys(ends))
    if not first or set(first) >= {node for node in program.outputs if not isinstance(node.op, Leaf)}:
        return None
    staged = _staged(program, first, dimension.axis.keys() - dimension.whole, stages, donated, along)
    return staged if _gains(staged) else None


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
        fewest = 4 if 2 * length <= SHORT_TILE else 8
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
        level = max((before[operand] for operand in node.inputs if operand in before), default=0)
        before[node] = level + 1 if node in dimension.reductions else level
    return before


def _needs_stages(program: Program, dimension: Tileable, before: dict[Node, int]) -> bool:
    """Say whether complete sums over the dimension are used along it again; what is summed over it lies along it."""
    return any(before[node] for node in program.nodes if node in dimension.axis and not isinstance(node.op, Leaf))


class TiledPlan(Executable):
    """A program that runs in tiles along one dimension.

    Attributes:
        program: what it computes.
        dimension: the dimension that is cut.
        tiles: what runs in tiles, and how.
    """

    is_tiled = True

    def __init__(self, tiles: AnyTiles, stages: int, donated: Donated) -> None:
        partition = tiles.partition
        program = partition.program
        self.program = program
        self.dimension = partition.dimension
        self.tiles = tiles
        self._partition = partition
        self._donated = donated
        self._within = beside_tiles(program)
        around = surroundings(program, [partition])
        self._prologue_outputs = around.early
        self._prologue = _outside(around.before, stages)
        self._late_inputs, self._late_outputs = around.known, around.late
        self._epilogue = _outside(around.after, stages, self._donated_late())

    @property
    def parts(self) -> tuple[AnyPlan, AnyTiles, AnyPlan]:
        """The plans of what comes before the tiles, of the tiles, and of what comes after them."""
        return self._prologue, self.tiles, self._epilogue

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most, on as many threads as there are now."""
        placed = zip(self._partition.sliced, self._partition.into, strict=True)
        sliced = [node for node, place in placed if place is None]
        whole_results = sum(node.type.nbytes for node in [*self._prologue_outputs, *sliced])
        return whole_results + max(self._prologue.peak_bytes, self.tiles.peak_bytes, self._epilogue.peak_bytes)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, *self.parts

    @property
    def flops(self) -> int:
        """Flops of the program."""
        return self.program.cost().flops

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        tiles = self.tiles
        return (
            f"{several(tiles.count, 'tile')} of {tiles.length} along an axis of {self.dimension.length}, in "
            f"{several(tiles.chunks, 'chunk')} on {several(min(tiles.chunks, thread_count()), 'thread')}"
        )

    @property
    def details(self) -> list[str]:
        """What runs before, in and after the tiles."""
        each = [f"each tile: {self.tiles.each}", *[f"  {line}" for line in self.tiles.details]]
        return [*_outer("before the tiles", self._prologue), *each, *_outer("after the tiles", self._epilogue)]

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes, on as many threads as there are now."""
        rounds = self.dimension.length / self.tiles.length / min(thread_count(), self.tiles.chunks)
        tiles = self.tiles.predicted_each(machine).times(rounds).moving(self._partition.moved, machine)
        return self._prologue.predicted(machine) + tiles + self._epilogue.predicted(machine)

    def _donated_late(self) -> Donated:
        """Return what the epilogue may write into: the memory of inputs that are no outputs themselves."""
        found = []
        for output, place in self._donated:
            node = self.program.outputs[output]
            if node in self._late_outputs and self.program.inputs[place] not in self.program.outputs:
                found.append((self._late_outputs.index(node), place))
        return tuple({late: (late, place) for late, place in reversed(found)}.values())

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        found: list[Any] = self._within(lambda: self._run(arguments))
        return found

    def _run(self, arguments: Sequence[Any]) -> list[Any]:
        known: dict[Node, Any] = dict(zip(self.program.inputs, arguments, strict=True))
        known.update(zip(self._prologue_outputs, self._prologue.run(arguments), strict=True))
        full = [
            np.empty(node.type.shape, node.type.dtype) if place is None else arguments[place]
            for node, place in zip(self._partition.sliced, self._partition.into, strict=True)
        ]
        totals = self.tiles.run([np.asarray(known[node]) for node in self._partition.inputs], full)
        known.update(zip(self._partition.totals, totals, strict=True))
        known.update(zip(self._partition.sliced, full, strict=True))
        late = self._epilogue.run([known[node] for node in self._late_inputs])
        known.update(zip(self._late_outputs, late, strict=True))
        return settle(own_results(self.program.outputs, self.program.inputs, known), arguments, self._donated)


def _outside(program: Program, stages: int, donated: Donated = ()) -> AnyPlan:
    """Return a plan for what comes before or after tiles."""
    plan = _plan(program, stages - 1, donated) if stages > 1 else Plan(program, WORTHWHILE_SIZE, donated)
    many = isinstance(plan, Plan) and len(plan.units) >= MANY_STEPS and not donated
    return partitioned(program) or plan if many else plan


def _outer(when: str, plan: AnyPlan) -> list[str]:
    """Return lines of what runs outside of tiles."""
    if isinstance(plan, Plan):
        return [f"{when}: {plan.steps}"] if plan.units else []
    return [f"{when}: {plan.summary}", *[f"  {line}" for line in plan.details]]


AnyTiles = Tiles | BlockTiles
AnyPlan = Plan | TiledPlan | StagedPlan | ApartPlan
