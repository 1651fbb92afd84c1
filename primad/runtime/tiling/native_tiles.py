"""Tiles that one native function runs, which threads share: it reads whole inputs and writes whole outputs in place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.ir.program import Program
from primad.native.cpython.object_layout import data_address
from primad.native.llvm.compiler import compiler
from primad.native.llvm.scratch_memory import ALIGNMENT, aligned
from primad.native.module.tile_worker import RECORD_BYTES, Job, Run, Table
from primad.ops.blocked.groups import spans_of
from primad.parallel.threads import run_on_threads, thread_count
from primad.runtime.cost_model import Machine, Prediction, as_one_function
from primad.runtime.failure import fail_in_part, failure_of
from primad.runtime.plan.workspaces import SPARE_WORKSPACES, Workspace
from primad.runtime.tiling.tile_program import Tiled, TilePartition, along
from primad.runtime.tiling.tiles import Tiles
from primad.system.quantities import several, size


class Worker(NamedTuple):
    """The function that threads run.

    Attributes:
        text: its text.
        scratch: bytes of memory that a thread needs beside.
        failing: the ops of a tile that can fail.
        lines: the user's lines of nodes.
        joins: whether the caller takes tiles itself: all of them together take no longer than an interrupt may wait.
    """

    text: str
    scratch: int
    failing: Sequence[Node]
    lines: Mapping[Node, str]
    joins: bool


class NativeTiles(Tiles):
    """Tiles that one native function runs, reading whole inputs and writing whole outputs in place.

    Args:
        partition: what runs.
        length: indices of a tile.
        tiled: makes the program of a tile, and says how it stands to the whole.
        steps: how many matrix products it has, and how many loops beside.
        worker: makes the function that threads run, for a table of what it takes.

    Attributes:
        products: how many matrix products a tile has.
        loops: how many loops beside.
        worker: the function that threads run, without its text.
    """

    def __init__(
        self,
        partition: TilePartition,
        length: int,
        tiled: Callable[[], Tiled],
        steps: tuple[int, int],
        worker: Callable[[Table], Worker],
    ) -> None:
        host = compiler()
        assert host is not None
        super().__init__(partition, length)
        self._make_tile = tiled
        self.products, self.loops = steps
        self._rest = partition.dimension.length - (self.count - 1) * length
        self._places: list[tuple[int, Node]] = []
        place = 0
        for node in partition.totals:
            self._places.append((place, node))
            place += aligned(node.type.nbytes)
        self._chunk_bytes = place
        places = tuple([self._places[i][0] for i in partition.total_of])
        self._alike = [list(group) for _, group in groupby(self._places, lambda placed: placed[1].type.dtype)]
        spans = spans_of(-(-self.count // self.chunks)) if place else []
        runs = tuple(map(_run_of, self._alike))
        ends = len(partition.inputs), len(partition.sliced)
        table = Table(*ends, places, self._chunk_bytes, runs, tuple(spans or [1]))
        made = worker(table)
        (self.kernel,) = host.kernels([made.text])
        self.worker = made._replace(text="")  # which may be long
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self.kernel.address)
        self._scratches: list[Workspace] = []
        self._sums: list[Workspace] = []

    @cached_property
    def _tiled(self) -> Tiled:
        return self._make_tile()

    @property
    def tile(self) -> Program:
        """The program of a tile."""
        return self._tiled[0]

    @property
    def scratch(self) -> int:
        """Bytes of memory that a thread needs beside."""
        return self.worker.scratch

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.kernel, *([self.tile] if "_tiled" in vars(self) else [])

    @property
    def each(self) -> str:
        """A tile in words."""
        text = f"one native function of {several(self.loops, 'loop')}"
        if self.products:
            text += f" and {several(self.products, 'matrix product')}"
        return f"{text}, {size(self.scratch)} of memory for a thread"

    def predicted_each(self, machine: Machine) -> Prediction:
        """Predict how long a tile takes, on one thread."""
        return as_one_function(self.tile, machine)

    @property
    def working_bytes(self) -> int:
        """Memory of a run beside what it writes slices of, on as many threads as there are now."""
        copied = [*self.partition.inputs, *self.partition.sliced] if self._rest < self.length else []
        moving = sum(node.type.nbytes for node in copied if self.partition.axis(node) is not None)
        copies = moving * self.length // self.partition.dimension.length
        sums = (self.chunks + 1) * self._chunk_bytes  # of each chunk, and of all
        return sums + min(self.chunks, thread_count()) * self.scratch + copies

    def run_tiles(self, values: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """Compute all tiles from whole inputs; fill whole outputs and return the totals."""
        partition = self.partition
        given = [self._plain(value, node) for value, node in zip(values, partition.inputs, strict=True)]
        inputs, outputs = self._for_last_tile(given) if self._rest < self.length else ([], [])
        sums = SPARE_WORKSPACES.take(self._sums) or _memory(self.chunks * self._chunk_bytes)
        table, last = _addresses([*given, *full]), _addresses([*inputs, *outputs])
        steps = self._steps([*given, *full])
        failed = np.zeros((self.chunks, RECORD_BYTES // 8), np.int64)
        job = Job(
            chunks=self.chunks,
            tiles=self.count,
            table=table.ctypes.data,
            steps=steps.ctypes.data,
            last=last.ctypes.data,
            rest=self._rest,
            sums=_aligned(sums),
            failed=failed.ctypes.data,
        )
        # What the addresses lead to lives as long as the work does, even when the caller has given up waiting for it.
        held = (given, full, inputs, outputs, sums, table, steps, last, failed)

        def work(held: Any = held) -> None:
            scratch = SPARE_WORKSPACES.take(self._scratches) or _memory(self.scratch)
            self._function(ctypes.addressof(job), _aligned(scratch))
            SPARE_WORKSPACES.give(scratch, self._scratches)

        def stop() -> None:
            job.stop = 1

        run_on_threads(work, self.chunks, stop, self.worker.joins)
        self._raise_first(failed)
        start = partition.dimension.length - self._rest
        for node, array, copy in zip(partition.sliced, full, outputs, strict=False):
            axis = partition.dimension.axis[node]
            array[along(axis, start, partition.dimension.length)] = copy[along(axis, 0, self._rest)]
        totals = self._totals(sums)
        SPARE_WORKSPACES.give(sums, self._sums)
        return totals

    def _raise_first(self, failed: Any) -> None:
        """Raise the error of the first chunk that failed."""
        if failed[:, 0].any():
            status, tile, place, value = failed[failed[:, 0] != 0][0].tolist()
            error = failure_of(status, place, value, self.worker.failing, self.worker.lines).error()
            fail_in_part(error, self._tiled[1].axis, tile * self.length)

    def _plain(self, value: Any, node: Node) -> Any:
        """Return an input as a plain array: arguments may be of any kind.

        Of an array that repeats one element along the tiled axis, as long as a tile is: it serves all tiles.
        """
        if value.shape != node.type.shape:
            value = np.broadcast_to(value, node.type.shape)
        if self.partition.axis(node) == 0 and value.strides[0] == 0:
            value = value[: self.length]
        return np.ascontiguousarray(value, node.type.dtype)

    def _steps(self, arrays: Sequence[Any]) -> Any:
        """Return the bytes from one tile's slice to the next one's, in each array."""
        steps = []
        for node, array in zip((*self.partition.inputs, *self.partition.sliced), arrays, strict=True):
            axis = self.partition.axis(node)
            moves = axis is not None and array.shape == node.type.shape
            steps.append(self.length * array.strides[axis] if moves else 0)
        return np.array(steps, np.int64)

    def _for_last_tile(self, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return inputs and outputs for a last tile that is shorter than the others: arrays as long as theirs.

        The inputs repeat their last index; what is computed from it again is not added to the sums, nor kept.
        """
        inputs: list[Any] = []
        start, stop = self.partition.dimension.length - self._rest, self.partition.dimension.length
        for node, array in zip(self.partition.inputs, given, strict=True):
            axis = self.partition.axis(node)
            if axis is not None and array.shape == node.type.shape:
                copy = self._empty_for_tile(node, axis)
                copy[along(axis, 0, self._rest)] = array[along(axis, start, stop)]
                copy[along(axis, self._rest, self.length)] = array[along(axis, stop - 1, stop)]
                inputs.append(copy)
            else:
                inputs.append(array)
        return inputs, [
            self._empty_for_tile(node, self.partition.dimension.axis[node]) for node in self.partition.sliced
        ]

    def _empty_for_tile(self, node: Node, axis: int) -> Any:
        """Return an array that holds a tile with the strides of the whole array; what lies between is never touched."""
        shape = node.type.shape
        return np.empty((self.length, *shape[1:]) if axis == 0 else shape, node.type.dtype)

    def _totals(self, sums: Workspace) -> list[Any]:
        """Add up the chunks in order; totals of one type that lie behind each other at once."""
        (memory,) = sums.buffers
        start = _aligned(sums) - memory.ctypes.data
        chunks = memory[start : start + self.chunks * self._chunk_bytes].reshape(self.chunks, -1)
        totals: list[Any] = []
        results = {*self.partition.program.outputs}
        for placed in self._alike:
            first, end, dtype = _run_of(placed)
            added = np.add.reduce(chunks[:, first:end].view(dtype), axis=0, dtype=dtype)
            for place, node in placed:
                at = (place - first) // dtype.itemsize
                shape = node.type.shape
                total = added[at : at + node.type.size].reshape(shape) if shape else added[at]
                # A result that the caller keeps does not keep the others.
                totals.append(total.copy() if shape and node in results and len(placed) > 1 else total)
        return totals


def _run_of(placed: Sequence[tuple[int, Node]]) -> Run:
    """Return the run of sums of one type, which have these places: where it begins and ends."""
    (first, node), (last, end) = placed[0], placed[-1]
    return first, last + aligned(end.type.nbytes), node.type.dtype


def _addresses(arrays: Sequence[Any]) -> Any:
    return np.array([data_address(array) for array in arrays], np.uint64)


def _memory(size: int) -> Workspace:
    return Workspace([ArrayType((size + ALIGNMENT,), np.dtype(np.uint8))], [])


def _aligned(memory: Workspace) -> int:
    """Return the first aligned address of some memory."""
    return aligned(int(memory.buffers[0].ctypes.data))
