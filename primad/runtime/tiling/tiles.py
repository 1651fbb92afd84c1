"""What of a program runs in tiles, whatever runs a tile: an op of a planned program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isqrt
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from primad.errors import PrimadError
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.parallel.threads import MOST_CHUNKS, thread_count
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import Executable
from primad.runtime.failure import fail_in_part
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling.tile_program import TilePartition
from primad.runtime.tiling.tileable_axes import is_computed
from primad.system.machine import SECOND_CACHE
from primad.system.quantities import several

Planned = TypeVar("Planned", bound=Executable)


def chunks_for(partition: TilePartition, most: int) -> int:
    """Return how many chunks tiles run in, at most: fewer where each has large sums of its own.

    With c chunks on as many threads, arithmetic takes a time W/c, and their sums c·S: least at √(W/S). W is about that
    of writing what is computed. S is that of passing four times over the sums of a chunk, which no cache holds: they
    are cleared, read and written while they are added to, and added up.
    """
    sums = sum(node.type.nbytes for node in partition.totals)
    if most * sums <= SECOND_CACHE.size:
        return most
    computed = sum(node.type.nbytes for node in partition.dimension.axis if is_computed(node))
    return min(most, max(2, isqrt(computed // (4 * sums))))


class TilePlan(NamedTuple, Generic[Planned]):
    """How tiles of one length run.

    Attributes:
        plan: what runs.
        program: the program of a tile.
        axis: the axis along which a value of it is a slice of the whole, for those that are.
    """

    plan: Planned
    program: Program
    axis: Mapping[Node, int]

    def run(self, slices: Sequence[Any], start: int) -> list[Any]:
        """Run on slices that begin at an index.

        Raises:
            PrimadError: with the place in the whole.
        """
        try:
            return self.plan.run(slices)
        except PrimadError:
            try:  # again, step by step: then the error speaks of values whose axes are known
                Plan(self.program).run(slices)
            except PrimadError as again:
                fail_in_part(again, self.axis, start)
            raise


class Tiles(Executable):
    """Values along a dimension, tile by tile, and sums over it.

    Its arguments are what tiles read, and then the arrays whose memory results take. Its results are the totals, and
    what tiles write slices of.

    Attributes:
        partition: what runs.
        length: indices of a tile.
        count: number of tiles.
        chunks: how many independent runs of tiles there are.

    Args:
        partition: what runs.
        length: indices of a tile.
        most_chunks: how many chunks there may be.
    """

    is_tiled = True

    def __init__(self, partition: TilePartition, length: int, most_chunks: int = MOST_CHUNKS) -> None:
        self.partition = partition
        self.length = length
        self.count = -(-partition.dimension.length // length)
        self.chunks = min(self.count, chunks_for(partition, most_chunks))

    @property
    @abstractmethod
    def each(self) -> str:
        """A tile in words."""

    @abstractmethod
    def predicted_each(self, machine: Machine) -> Prediction:
        """Predict how long a tile takes, on one thread."""

    @property
    @abstractmethod
    def working_bytes(self) -> int:
        """Memory of a run beside what it writes slices of, on as many threads as there are now."""

    @abstractmethod
    def run_tiles(self, values: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """Compute all tiles from whole inputs; fill whole outputs and return the totals."""

    @cached_property
    def program(self) -> Program:  # type: ignore[override]
        """What all tiles together compute."""
        partition = self.partition
        return subprogram(partition.program, partition.operands, partition.results)

    @property
    def flops(self) -> int:
        """Flops of all tiles."""
        outside = self.partition.before | self.partition.after
        nodes = [node for node in self.partition.program.nodes if node not in outside]
        return sum(node.op.cost(node).flops for node in nodes if not isinstance(node.op, Leaf))

    @property
    def peak_bytes(self) -> int:
        """Memory of a run, on as many threads as there are now."""
        placed = zip(self.partition.sliced, self.partition.into, strict=True)
        return self.working_bytes + sum([node.type.nbytes for node, place in placed if place is None])

    @property
    def summary(self) -> str:
        """How they run, in a line."""
        return (
            f"{several(self.count, 'tile')} of {self.length} along an axis of {self.partition.dimension.length}, in "
            f"{several(self.chunks, 'chunk')} on {several(min(self.chunks, thread_count()), 'thread')}"
        )

    @property
    def details(self) -> list[str]:
        """What a tile is."""
        return [f"each tile: {self.each}"]

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes, on as many threads as there are now."""
        rounds = self.partition.dimension.length / self.length / min(thread_count(), self.chunks)
        return self.predicted_each(machine).times(rounds).moving(self.partition.moved, machine)

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute all tiles."""
        partition = self.partition
        count = len(partition.inputs)
        taken = iter(arguments[count:])
        full = [
            np.empty(node.type.shape, node.type.dtype) if place is None else next(taken)
            for node, place in zip(partition.sliced, partition.into, strict=True)
        ]
        return [*self.run_tiles(list(map(np.asarray, arguments[:count])), full), *full]


class SlicedTiles(Tiles, Generic[Planned]):
    """Tiles that take slices of the inputs, run by a plan for each length.

    Attributes:
        plan: how a tile runs.
        last: how the last tile runs.
    """

    def __init__(self, partition: TilePartition, length: int, most_chunks: int = MOST_CHUNKS) -> None:
        super().__init__(partition, length, most_chunks)
        rest = partition.dimension.length % length
        self._plans = {n: self.planned(n) for n in (length, rest) if n}
        self.plan = self._plans[length].plan
        self.last = self._plans[rest or length].plan

    @abstractmethod
    def planned(self, length: int) -> TilePlan[Planned]:
        """Return how tiles of a length run."""

    @property
    def parts(self) -> Sequence[tuple[Executable, int]]:
        """The plan of a tile."""
        return ((self.plan, self.count),)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.plan, self.last

    def run_tile(self, values: Sequence[Any], start: int) -> tuple[int, list[Any]]:
        """Run the tile that begins at an index; return where it ends, and its results."""
        stop = min(start + self.length, self.partition.dimension.length)
        return stop, self._plans[stop - start].run(self.partition.slices(values, start, stop), start)
