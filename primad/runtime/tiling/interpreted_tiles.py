"""Tiles that the interpreter runs: the plan of one tile, on slices of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from primad.ops.blocked.groups import RunningSums, spans_of
from primad.parallel.threads import run_chunks, thread_count
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_regions import Partition
from primad.runtime.tiling.tile_program import TilePartition
from primad.runtime.tiling.tiles import SlicedTiles, TilePlan
from primad.system.machine import CALL_ELEMENTS


class InterpretedTiles(SlicedTiles[Plan]):
    """Tiles that run step by step.

    Args:
        partition: what runs.
        length: indices of a tile.
        mixed: whether what has native code in a tile is native functions.
    """

    def __init__(self, partition: TilePartition, length: int, mixed: bool = False) -> None:
        self._mixed = mixed
        super().__init__(partition, length)

    def planned(self, length: int) -> TilePlan[Plan]:
        """Return how tiles of a length run."""
        program, slices = self.partition.tile(length)
        units = Partition(program).units() if self._mixed else None
        # The last tile uses the kernels that the others use, though it be short: the bits of a value do not depend on
        # where tiles end.
        return TilePlan(Plan(program, CALL_ELEMENTS * length / self.length, units=units), program, slices.axis)

    @property
    def each(self) -> str:
        """A tile in words."""
        return self.plan.steps

    def predicted_each(self, machine: Machine) -> Prediction:
        """Predict how long a tile takes, on one thread, and others wait while it is in Python's code."""
        tile = self.plan.predicted(machine.on_one_thread)
        return replace(tile, calls=tile.calls * min(self.chunks, thread_count()))

    @property
    def working_bytes(self) -> int:
        """Memory of a run beside what it writes slices of, on as many threads as there are now."""
        threads = min(self.chunks, thread_count())
        groups = max(0, len(spans_of(-(-self.count // self.chunks))) - 1)  # of groups of tiles, while a chunk runs
        sums = (self.chunks + threads * groups) * sum(node.type.nbytes for node in self.partition.totals)
        last = 0 if self.last is self.plan else self.last.peak_bytes
        return sums + threads * self.plan.peak_bytes + last

    def run_tiles(self, values: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """Compute all tiles from whole inputs; fill whole outputs and return the totals."""

        def work(chunk: int, stopped: Callable[[], bool]) -> list[Any]:
            return self._run_chunk(chunk, values, full, stopped)

        first, *others = run_chunks(work, self.chunks)
        for partial in others:
            for i, value in enumerate(partial):
                first[i] += value
        return list(first)

    def _run_chunk(
        self, chunk: int, values: Sequence[Any], full: Sequence[Any], stopped: Callable[[], bool]
    ) -> list[Any]:
        partition = self.partition
        totals = RunningSums(len(partition.totals))
        count = len(partition.sums)
        for index in range(chunk * self.count // self.chunks, (chunk + 1) * self.count // self.chunks):
            if stopped():
                break
            start = index * self.length
            stop, results = self.run_tile(values, start)
            for i, value in zip(partition.total_of, results[:count], strict=True):
                totals.add(i, value)
            totals.turn()
            partition.write(full, start, stop, results[count:])
        return totals.ended()
