"""Running a program tile by tile along one dimension: in cache, on threads, in memory that does not grow with it.

The program is cut into three programs. The prologue computes what does not have the dimension; the tile program runs on
slices of the inputs and returns partial sums and slices of outputs; the epilogue finishes from the total sums. Each is
an ordinary program for the reference interpreter. Lanes of tiles accumulate in a fixed order, so results are equal bit
for bit for any number of threads.

Where sums over the dimension are needed again along it (a variance, say), the program is split there: the first part
computes the sums, the second starts again with them as inputs and recomputes what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ir.program import Program, carry_lines, newest, rebuild
from primad.runtime.axes import Dimension, tileable_dimensions
from primad.runtime.checkpoints import without_barriers
from primad.runtime.donation import Donated, settle
from primad.runtime.fusion import WORTHWHILE_SIZE, is_pointwise
from primad.runtime.interpreter import Plan
from primad.runtime.lanes import MAX_LANES, run_lanes, thread_count
from primad.runtime.memory import check_memory
from primad.simplify.outer import outer_products
from primad.types import ArrayType

TILE_BYTES = 512 * 1024
"""Mean size of a tile's values: one of them fits into a core's second-level cache, all into the third."""
SHORTEST_TILE = 64
"""Shorter tiles cost more in calls than they save."""
SHORT_TILE = 256
"""Tiles up to this length are made longer though fewer than eight are left to share among threads."""
WORTHWHILE_BYTES = 4 * 1024 * 1024
"""Programs whose tiled values are smaller than this together stay whole."""
WORTHWHILE_RECOMPUTATION = 1.5
"""Stages that start again with the inputs may cost so many times the flops of the whole program,"""
LARGE_BYTES = 512 * 1024 * 1024
"""unless its arrays would need so much memory."""
MAX_STAGES = 4


Hint = tuple[int, int]
"""The input, and the axis of it, that tiles are to cut."""


def make_plan(program: Program, donated: Donated = (), along: Hint | None = None) -> AnyPlan:
    """Return a plan for a lowered program: tiled where a dimension allows it and is large, whole otherwise.

    Args:
        program: what to compute.
        donated: outputs that take the memory of inputs.
        along: the dimension to cut; by default the largest that can be cut.

    Raises:
        MemoryLimitError: if its arrays would not fit into the machine's memory.
        ShapeError: if the dimension to cut is mixed by an op.
    """
    plan = _plan(outer_products(without_barriers(program)), MAX_STAGES, donated, along)
    if not isinstance(plan, TiledPlan) and any(node.op is ops.barrier for node in program.nodes):
        again = Plan(outer_products(program), WORTHWHILE_SIZE, donated)
        plan = again if again.peak_bytes < plan.peak_bytes else plan
    check_memory(plan)
    return plan


def _plan(program: Program, stages: int, donated: Donated = (), along: Hint | None = None) -> AnyPlan:
    chosen = None if along is None else _chosen(program, along)
    if is_pointwise(program.nodes):
        return Plan(program, WORTHWHILE_SIZE, donated)
    for dimension in tileable_dimensions(program) if chosen is None else chosen:
        tile = tile_length(dimension)
        tiled = [node for node in dimension.axis if not isinstance(node.op, Leaf) and not node.op.views]
        if dimension.length < 2 * tile or sum(node.type.nbytes for node in tiled) < WORTHWHILE_BYTES:
            continue
        before = _sums_before(program, dimension)
        if not _needs_stages(program, dimension, before):
            return TiledPlan(program, dimension, tile, donated)
        if stages > 1:
            first = [node for node in program.nodes if node in dimension.reductions and before[node] == 1]
            staged, whole = StagedPlan(program, first, stages, donated, along), Plan(program, WORTHWHILE_SIZE, donated)
            recomputes = staged.flops > WORTHWHILE_RECOMPUTATION * whole.flops
            return whole if recomputes and whole.peak_bytes < LARGE_BYTES else staged
    return Plan(program, WORTHWHILE_SIZE, donated)


def _chosen(program: Program, along: Hint) -> list[Dimension]:
    """Return the dimension of an input's axis, the one to cut."""
    node, axis = program.inputs[along[0]], along[1]
    found = [dimension for dimension in tileable_dimensions(program) if dimension.axis.get(node) == axis]
    if not found:
        raise ShapeError(
            f"jit: axis {axis} of the argument of type {node.type} cannot be cut into tiles",
            why="Some op mixes the elements along it (a sort, a cumulative sum, a reshape), or two axes of one array "
            "are the same as this one.",
            fix="choose another axis, or none.",
        )
    return found


def tile_length(dimension: Dimension) -> int:
    """Return how many indices make a tile: an even number of tiles, as equal as multiples of 8 can be."""
    length = SHORTEST_TILE
    while length < 8192 and 2 * length * dimension.bytes_per_index <= TILE_BYTES:
        fewest = 4 if 2 * length <= SHORT_TILE else 8
        if 2 * length * fewest > dimension.length + length:
            break
        length *= 2
    count = -(-dimension.length // length)
    even = count + count % 2
    return -(-dimension.length // (8 * even)) * 8


def _runs_in_tiles(node: Node, dimension: Dimension) -> bool:
    return node in dimension.axis and node not in dimension.sources and node.op is not LITERAL


def _sums_before(program: Program, dimension: Dimension) -> dict[Node, int]:
    """Return for each value how many complete sums over the dimension, one after the other, it depends on."""
    before: dict[Node, int] = {}
    for node in program.nodes:
        level = max((before[operand] for operand in node.inputs if operand in before), default=0)
        before[node] = level + 1 if node in dimension.reductions else level
    return before


def _needs_stages(program: Program, dimension: Dimension, before: dict[Node, int]) -> bool:
    """Say whether complete sums over the dimension are used along it again."""
    tiled = [node for node in program.nodes if node in dimension.axis and not isinstance(node.op, Leaf)]
    summed = [node.inputs for node in dimension.reductions]
    return any(before[node] for node in tiled) or any(before.get(x, 0) for operands in summed for x in operands)


def _copy(program: Program, inputs: Sequence[Node], outputs: Sequence[Node]) -> Program:
    """Return the part of a program between some of its nodes."""
    trace = Trace()
    new = [trace.input(node.type) for node in inputs]
    mapping = dict(zip(inputs, new, strict=True))
    needed = _between(inputs, outputs)
    for node in program.nodes:
        if node in needed and node not in mapping:
            mapping[node] = rebuild(node, mapping, trace, copy=True)
    carry_lines(program, mapping, trace)
    part = Program(trace, new, [mapping[node] for node in outputs])
    trace.close()
    return part


def _between(inputs: Sequence[Node], outputs: Sequence[Node]) -> set[Node]:
    stop = set(inputs)
    needed: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            if node not in stop:
                stack.extend(node.inputs)
    return needed


class StagedPlan:
    """A program split where complete sums over a dimension are used along it again.

    Attributes:
        program: what it computes.
        parts: the plans of its two parts.
    """

    def __init__(
        self, program: Program, first: Sequence[Node], stages: int, donated: Donated, along: Hint | None
    ) -> None:
        self.program = program
        self._first: AnyPlan = _plan(_copy(program, program.inputs, first), 1, along=along)
        second = _copy(program, [*program.inputs, *first], program.outputs)
        self._second = _plan(second, stages - 1, donated, along)
        self.parts = (self._first, self._second)
        self._kept_bytes = sum(node.type.nbytes for node in first)

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most; the first part's buffers may stay for the next."""
        return self._first.peak_bytes + self._kept_bytes + self._second.peak_bytes

    @property
    def flops(self) -> int:
        """Flops of both parts together."""
        return self._first.flops + self._second.flops

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the sums, then the rest."""
        return self._second.run([*arguments, *self._first.run(arguments)])


class TiledPlan:
    """A program that runs in tiles along one dimension.

    Attributes:
        program: what it computes.
        dimension: the dimension that is cut.
        tile: length of a tile.
        lanes: how many independent runs of tiles there are.
    """

    def __init__(self, program: Program, dimension: Dimension, tile: int, donated: Donated = ()) -> None:
        self.program = program
        self._donated = donated
        self.dimension = dimension
        self.tile = tile
        self.tiles = -(-dimension.length // tile)
        self.lanes = min(self.tiles, MAX_LANES)
        sums = dimension.reductions
        inside = {node for node in program.nodes if _runs_in_tiles(node, dimension)}
        self._partial = [node for node in program.nodes if node in sums]
        late = self._after_sums(inside)
        whole = [node for node in program.nodes if node not in inside and node not in late and node not in sums]
        self._sliced_outputs = [node for node in dict.fromkeys(program.outputs) if node in inside]
        used = [operand for node in program.nodes if node in inside or node in sums for operand in node.inputs]
        outer = set(whole) | set(program.inputs)
        self._tile_inputs = [node for node in dict.fromkeys(used) if node in outer and node.op is not LITERAL]
        own = set(program.inputs)
        self._prologue_outputs = [
            node
            for node in dict.fromkeys([*self._tile_inputs, *self._early_operands(late, outer), *program.outputs])
            if node in outer and node not in own and node.op is not LITERAL
        ]
        self._prologue = Plan(_copy(program, program.inputs, self._prologue_outputs), WORTHWHILE_SIZE)
        self._late_outputs = [node for node in dict.fromkeys(program.outputs) if node in late or node.op is LITERAL]
        self._late_inputs = [*program.inputs, *self._prologue_outputs, *self._partial, *self._sliced_outputs]
        epilogue = _copy(program, self._late_inputs, self._late_outputs)
        self._epilogue = Plan(epilogue, WORTHWHILE_SIZE, self._donated_late())
        self._sliced_into = self._donated_slices(whole, late)
        self._axes = [dimension.axis.get(node) if node in dimension.axis else None for node in self._tile_inputs]
        rest = dimension.length % tile
        self._main = self._tile_plan(tile)
        self._last = self._tile_plan(rest) if rest else self._main

    @property
    def parts(self) -> tuple[Plan, Plan, Plan]:
        """The plans of what comes before the tiles, of one tile, and of what comes after them."""
        return self._prologue, self._main, self._epilogue

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most, on as many threads as there are now."""
        placed = zip(self._sliced_outputs, self._sliced_into, strict=True)
        sliced = [node for node, place in placed if place is None]
        whole_results = sum(node.type.nbytes for node in [*self._prologue_outputs, *sliced])
        sums = self.lanes * sum(node.type.nbytes for node in self._partial)
        in_tiles = sums + min(self.lanes, thread_count()) * self._main.peak_bytes
        in_tiles += 0 if self._last is self._main else self._last.peak_bytes
        return whole_results + max(self._prologue.peak_bytes, in_tiles, self._epilogue.peak_bytes)

    @property
    def flops(self) -> int:
        """Flops of the program."""
        return self.program.cost().flops

    def _after_sums(self, inside: set[Node]) -> set[Node]:
        late: set[Node] = set()
        sums = self.dimension.reductions
        for node in self.program.nodes:
            if node not in inside and node not in sums and any(x in sums or x in late for x in node.inputs):
                late.add(node)
        return late

    def _early_operands(self, late: set[Node], outer: set[Node]) -> list[Node]:
        nodes = [node for node in self.program.nodes if node in late]
        return [operand for node in nodes for operand in node.inputs if operand in outer]

    def _tile_plan(self, length: int) -> Plan:
        trace = Trace()
        inputs = [trace.input(self._resized(node, length)) for node in self._tile_inputs]
        mapping = dict(zip(self._tile_inputs, inputs, strict=True))
        needed = _between(self._tile_inputs, [*self._partial, *self._sliced_outputs])
        for node in self.program.nodes:
            if node not in needed or node in mapping:
                continue
            if node.op is LITERAL:
                mapping[node] = trace.literal(literal_value(node), self._resized(node, length))
                continue
            operands = tuple([mapping[operand] for operand in node.inputs])
            params = _resized_params(node, self.dimension.axis.get(node), length)
            mapping[node] = newest(operands, trace).build(node.op, operands, params)
        carry_lines(self.program, mapping, trace)
        part = Program(trace, inputs, [mapping[node] for node in (*self._partial, *self._sliced_outputs)])
        trace.close()
        # The last tile uses the kernels that the others use, though it be short: the bits of a value do not depend on
        # where tiles end.
        return Plan(part, WORTHWHILE_SIZE * length / self.tile)

    def _donated_late(self) -> Donated:
        """Return what the epilogue may write into: the memory of inputs that are no outputs themselves."""
        found = []
        for output, place in self._donated:
            node = self.program.outputs[output]
            if node in self._late_outputs and self.program.inputs[place] not in self.program.outputs:
                found.append((self._late_outputs.index(node), place))
        return tuple({late: (late, place) for late, place in reversed(found)}.values())

    def _donated_slices(self, whole: Sequence[Node], late: set[Node]) -> list[int | None]:
        """Return for each output that tiles write the input whose memory it takes.

        A tile has read its slice of the input before it writes it, if the slice lies along the same axis and nothing
        else reads the input.
        """
        elsewhere = {operand for node in self.program.nodes if node in late for operand in node.inputs}
        elsewhere.update(operand for node in whole for operand in node.inputs)
        elsewhere.update(self.program.outputs)
        axis = self.dimension.axis
        places: dict[Node, int] = {}
        for output, place in self._donated:
            node, source = self.program.outputs[output], self.program.inputs[place]
            if node in axis and axis.get(source) == axis[node] and source not in elsewhere:
                places.setdefault(node, place)
        return [places.get(node) for node in self._sliced_outputs]

    def _resized(self, node: Node, length: int) -> ArrayType:
        axis = self.dimension.axis.get(node)
        if axis is None:
            return node.type
        shape = list(node.type.shape)
        shape[axis] = length
        return ArrayType(tuple(shape), node.type.dtype)

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        known: dict[Node, Any] = dict(zip(self.program.inputs, arguments, strict=True))
        known.update(zip(self._prologue_outputs, self._prologue.run(arguments), strict=True))
        values = [np.asarray(known[node]) for node in self._tile_inputs]
        full = [
            np.empty(node.type.shape, node.type.dtype) if place is None else arguments[place]
            for node, place in zip(self._sliced_outputs, self._sliced_into, strict=True)
        ]

        def work(lane: int, stopped: Callable[[], bool]) -> list[Any]:
            return self._run_lane(lane, values, full, stopped)

        totals: list[Any] = []
        for partial in run_lanes(work, self.lanes):
            totals = _accumulate(totals, partial)
        known.update(zip(self._partial, totals, strict=True))
        known.update(zip(self._sliced_outputs, full, strict=True))
        late = self._epilogue.run([known[node] for node in self._late_inputs])
        known.update(zip(self._late_outputs, late, strict=True))
        return settle(self._results(known), arguments, self._donated)

    def _run_lane(
        self, lane: int, values: Sequence[Any], full: Sequence[Any], stopped: Callable[[], bool]
    ) -> list[Any]:
        totals: list[Any] = []
        count = len(self._partial)
        for index in range(lane * self.tiles // self.lanes, (lane + 1) * self.tiles // self.lanes):
            if stopped():
                break
            start = index * self.tile
            stop = min(start + self.tile, self.dimension.length)
            plan = self._main if stop - start == self.tile else self._last
            pieces = [
                value if axis is None else value[(slice(None),) * axis + (slice(start, stop),)]
                for value, axis in zip(values, self._axes, strict=True)
            ]
            results = plan.run(pieces)
            totals = _accumulate(totals, results[:count])
            for target, node, piece in zip(full, self._sliced_outputs, results[count:], strict=True):
                target[(slice(None),) * self.dimension.axis[node] + (slice(start, stop),)] = piece
        return totals

    def _results(self, known: dict[Node, Any]) -> list[Any]:
        """Return the outputs as arrays of their own."""
        results: list[Any] = []
        given = set(self.program.inputs)
        seen: set[Node] = set()
        for node in self.program.outputs:
            value = known[node]
            if not node.type.shape:
                results.append(node.type.dtype.type(value))
            else:
                results.append(np.array(value) if node in seen or node in given else value)
            seen.add(node)
        return results


def _accumulate(totals: list[Any], partial: Sequence[Any]) -> list[Any]:
    """Add partial sums to totals, in place where they are arrays."""
    if not totals:
        return list(partial)
    for i, value in enumerate(partial):
        totals[i] += value
    return totals


def _resized_params(node: Node, axis: int | None, length: int) -> tuple[tuple[str, Any], ...]:
    """Return a node's params when the axis of its result has another length."""
    if axis is None or node.op not in (ops.broadcast, ops.reshape, ops.slice_):
        return node.params
    name = "stop" if node.op is ops.slice_ else "shape"
    params = dict(node.params)
    entries = list(params[name])
    entries[axis] = length
    params[name] = tuple(entries)
    return tuple(sorted(params.items()))


AnyPlan = Plan | TiledPlan | StagedPlan
