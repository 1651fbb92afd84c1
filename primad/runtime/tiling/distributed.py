"""Running a program on points that processes share: chunks of points, whose sums are added in a tree over the chunks.

The program is cut as for tiles (`primad.runtime.tiling.tile_program`), along the dimension of each Share: what does not
depend on points is computed by every process, before and after; in between each process computes its chunks, and one
sum over the processes makes the totals, in the order of the chunks. A chunk is a program like any other, and runs in
tiles on the threads of its process.

Where totals are used along the points again, the program is cut there and has a sum over the processes for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.ops.blocked.groups import RunningSums
from primad.ops.record.primitive import application
from primad.parallel.job import checksum, ranks
from primad.parallel.shares import Chunks, Share, over_ranks
from primad.parallel.threads import on_threads, thread_count
from primad.runtime.executors.dispatch import NATIVE
from primad.runtime.executors.executor import PLAIN, Executable
from primad.runtime.failure import nearest_line
from primad.runtime.plan.donation import own_results
from primad.runtime.tiling.tile_program import TilePartition, along, partition_of, surroundings
from primad.runtime.tiling.tileable_axes import MOST_OPS, as_tileable, hindrances
from primad.runtime.tiling.tiles import TilePlan
from primad.runtime.tiling.unrolled_loops import step_after_step
from primad.simplify.barriers import without_barriers
from primad.transforms.dimensions import Dimension, Dimensions
from primad.transforms.lowering import without_calls


class _Cut(Struct, frozen=True):
    """What runs in chunks along the points of some Shares.

    Attributes:
        partition: what runs.
        chunks: the chunks.
        source: the input of the program that is a Share of these points.
        totals: the types of the sums that it ends in.
        plans: of the chunks, by their length.
    """

    partition: TilePartition
    chunks: Chunks
    source: int
    plans: dict[int, TilePlan[Executable]] = field(default_factory=dict)

    @property
    def totals(self) -> list[ArrayType]:
        """The types of the sums that it ends in."""
        return [node.type for node in self.partition.totals]

    def run(self, values: Sequence[Any], chunk: int, targets: Sequence[Share]) -> list[Any]:
        """Compute a chunk: return what it adds to the totals, and write its rows of what is computed at points.

        Args:
            values: what it reads, Shares or whole arrays.
            chunk: its number.
            targets: where to write.
        """
        partition = self.partition
        start, stop = self.chunks.span(chunk)
        if start == stop:
            return [np.zeros(type.shape, type.dtype) for type in self.totals]
        if stop - start not in self.plans:
            program, slices = partition.tile(stop - start)
            self.plans[stop - start] = TilePlan(_prepared(program), program, slices.axis)
        found = self.plans[stop - start].run(self._rows(values, chunk), start)
        totals = RunningSums(len(partition.totals))
        for place, value in zip(partition.total_of, found, strict=False):
            totals.add(place, value)
        for target in targets[:1]:  # all begin where it does
            own = start - target.start, stop - target.start
            partition.write([target.part for target in targets], *own, found[len(partition.sums) :])
        return totals.ended()

    def _rows(self, values: Sequence[Any], chunk: int) -> list[Any]:
        start, stop = self.chunks.span(chunk)
        found = []
        for value, node in zip(values, self.partition.inputs, strict=True):
            axis = self.partition.axis(node)
            if isinstance(value, Share):
                found.append(value.chunk(chunk))
            else:
                found.append(value if axis is None else np.asarray(value)[along(axis, start, stop)])
        return found


class DistributedPlan:
    """A program of which all processes run their share.

    Attributes:
        program: what it computes.

    Args:
        program: a lowered program.
        cuts: the inputs that are shared, by their positions: the axis of the points, and the number of chunks.

    Raises:
        ShapeError: if an op mixes the points, or those of two Shares that have nothing to do with each other.
    """

    def __init__(self, program: Program, cuts: Mapping[int, tuple[int, int]]) -> None:
        program = without_barriers(without_calls(program))
        if any(map(_is_loop, _mixing(_shared(program, cuts)))):
            program = without_barriers(step_after_step(program))
        self.program = program
        shared = _shared(program, cuts)
        self._check(list(shared))
        self._shared = frozenset(cuts)
        self._whole = [i for i, x in enumerate(program.inputs) if not any(x in d.axis for d in shared)]
        self._signature = checksum([np.frombuffer(program.text().encode(), np.uint8)])
        self._first: DistributedPlan | None = None
        first = self._needed_first(list(shared))
        if first:
            self._first = DistributedPlan(subprogram(program, program.inputs, first), cuts)
            rest = subprogram(program, [*program.inputs, *first], program.outputs)
            self._rest = DistributedPlan(rest, cuts)
            return
        found = [
            _Cut(partition_of(program, as_tileable(dimension), ()), Chunks(dimension.length, cuts[i][1]), i)
            for dimension, i in shared.items()
        ]
        self._cuts = [cut for cut in found if cut.partition.sums or cut.partition.sliced]
        around = surroundings(program, [cut.partition for cut in found])
        self._given, self._early, self._before = around.given, around.early, _prepared(around.before)
        self._known, self._late, self._after = around.known, around.late, _prepared(around.after)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        if self._first is not None:
            return self.program, self._first, self._rest
        return self.program, self._before, self._after, *[x for cut in self._cuts for x in cut.plans.values()]

    def _check(self, shared: Sequence[Dimension]) -> None:
        """Raise unless nothing happens along the points but maps and sums."""
        bad = _mixing(shared)
        for node in self.program.nodes:
            if node in bad:
                raise _mixed(node, nearest_line(self.program.lines, node))
            values = [node] if isinstance(node.op, Leaf) else [node, *node.inputs]
            if sum(any(value in dimension.axis for value in values) for dimension in shared) > 1:
                raise ShapeError(
                    f"distribute: {node.op.name} lets the points of one Share meet those of another",
                    why="They are cut along their own axes, and no process has all pairs.",
                    fix="share one of the two arrays, and pass the other as a whole.",
                    where=nearest_line(self.program.lines, node),
                )

    def _needed_first(self, shared: Sequence[Dimension]) -> list[Node]:
        """Return the sums over points that others depend on, if there are such: they are computed first."""
        sums = {node for dimension in shared for node, _ in dimension.summed}
        axis = {node for dimension in shared for node in dimension.axis}
        level: dict[Node, int] = {}
        again = False
        for node in self.program.nodes:
            depth = max((level[operand] for operand in node.inputs if operand in level), default=0)
            again = again or (depth > 0 and node in axis)
            level[node] = depth + (node in sums)
        return [node for node in self.program.nodes if node in sums and level[node] == 1] if again else []

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs, together with all other processes: arrays, and Shares of what has the points.

        Args:
            arguments: arrays that are the same in all processes, and Shares where inputs are shared.
        """
        return list(on_threads(min(thread_count(), ranks().threads), lambda: self._run(arguments)))

    def _run(self, arguments: Sequence[Any]) -> list[Any]:
        if self._first is not None:
            return self._rest._run([*arguments, *self._first._run(arguments)])
        program, cuts = self.program, self._cuts
        known: dict[Node, Any] = dict(zip(program.inputs, arguments, strict=True))
        same = ranks().agreed([arguments[i] for i in self._whole])
        known.update(zip([program.inputs[i] for i in self._whole], same, strict=True))
        failure: Exception | None = None
        try:
            known.update(zip(self._early, self._before.run([known[node] for node in self._given]), strict=True))
        except Exception as error:  # the others wait for this process: they hear of it where they would for the sum
            failure = error
        values = [[] if failure else [known[node] for node in cut.partition.inputs] for cut in cuts]
        shares = [arguments[i] for i in self._shared]
        targets = [
            [_target(node, cut.partition.dimension.axis[node], arguments[cut.source]) for node in cut.partition.sliced]
            for cut in cuts
        ]
        joined = _Joined([type for cut in cuts for type in cut.totals])

        def chunk(number: int) -> list[Any]:
            if failure is not None:
                raise failure
            totals: list[Any] = []
            for cut, read, written in zip(cuts, values, targets, strict=True):
                totals += cut.run(read, number, written)
            return joined.part(totals)

        found = over_ranks(
            shares, chunk, joined.like, {"programs": self._signature, "arguments that are no Shares": checksum(same)}
        )
        if failure is not None:  # this process has no points
            raise failure
        nodes = [node for cut in cuts for node in cut.partition.totals]
        known.update(zip(nodes, joined.values(found), strict=True))
        late = ranks().agreed(self._after.run([known[node] for node in self._known]))
        known.update(zip(self._late, late, strict=True))
        for cut, written in zip(cuts, targets, strict=True):
            known.update(zip(cut.partition.sliced, written, strict=True))
        whole = [node for node in program.outputs if not isinstance(known[node], Share)]
        own = iter(own_results(whole, program.inputs, known))
        return [next(own) if node in whole else known[node] for node in program.outputs]


def _shared(program: Program, cuts: Mapping[int, tuple[int, int]]) -> dict[Dimension, int]:
    """Return the dimensions of Shares, and of each the input that is the last with it."""
    dimensions = Dimensions(program)
    return {dimensions.of(program.inputs[i], axis): i for i, (axis, _) in cuts.items()}


def _mixing(shared: Iterable[Dimension]) -> set[Node]:
    """Return what does something else along shared points than map them, and sum over them."""
    return {node for dimension in shared for node in hindrances(dimension)}


def _is_loop(node: Node) -> bool:
    return application(node)[0].op.programs.loop is not None


def _mixed(node: Node, where: str | None) -> ShapeError:
    """Return the error of an op that does something else along points than map them, and sum over them."""
    said = f"distribute: {node.op.name} does not keep the points of a Share apart, nor sum over them"
    if _is_loop(node):
        return ShapeError(
            said,
            why="Each process has some of the points only. Which values of a loop have points is known where all its "
            f"steps together have at most {MOST_OPS} operations, and their number is known.",
            fix="take fewer steps, by primad.scan, or take the loop out of the function.",
            where=where,
        )
    return ShapeError(
        said,
        why="Each process has some of the points only, and what is computed at one point cannot wait for "
        "others: a sort, a cumulative sum, a maximum over points, differences between neighbours.",
        fix="give it the whole array, as an argument that is no Share, or take it out of the function.",
        where=where,
    )


def _prepared(program: Program) -> Executable:
    """Return what runs a part of a program on this process."""
    return NATIVE.as_function(program, None) or NATIVE.prepare(program, PLAIN)


def _target(node: Node, axis: int, of: Share) -> Share:
    """Return memory for the rows of a value that a process has of a Share."""
    shape = list(node.type.shape)
    shape[axis] = of.part.shape[of.axis]
    return of.like(np.empty(shape, node.type.dtype), axis)


class _Joined:
    """The totals of a sum as one array for each dtype: few large additions, and one message.

    Args:
        types: of the totals.

    Attributes:
        like: arrays of the shapes and dtypes of the sum.
    """

    def __init__(self, types: Sequence[ArrayType]) -> None:
        self._types = types
        dtypes = sorted({type.dtype for type in types}, key=lambda dtype: (-dtype.itemsize, dtype.str))
        self._places = [[i for i, type in enumerate(types) if type.dtype == dtype] for dtype in dtypes]
        sizes = [sum(types[i].size for i in places) for places in self._places]
        self.like = [np.zeros(size, dtype) for size, dtype in zip(sizes, dtypes, strict=True)]

    def part(self, totals: Sequence[Any]) -> list[Any]:
        """Return totals joined."""
        return [np.concatenate([np.ravel(totals[i]) for i in places]) for places in self._places]

    def values(self, part: Sequence[Any]) -> list[Any]:
        """Return the totals."""
        found: list[Any] = [None] * len(self._types)
        for array, places in zip(part, self._places, strict=True):
            start = 0
            for i in places:
                type = self._types[i]
                found[i] = array[start : start + type.size].reshape(type.shape)
                start += type.size
        return found
