"""What runs in tiles: the program of one tile, interpreted or as one native function that threads share.

Both ways add up each chunk's sums tile by tile and then the chunks in order, so that results are equal bit for bit for
any number of threads.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import PrimadError
from primad.ir.node import Node
from primad.ir.program import Program
from primad.machine import SECOND_CACHE, blas_has_long_vectors
from primad.native.compiler import compiler
from primad.native.layout import layout_of
from primad.native.memory import ALIGNMENT, aligned
from primad.native.program_text import ProgramWriter, TooLongError
from primad.native.vectors import WIDTH_BYTES
from primad.native.worker import SAID_BYTES, Job, Table, worker_text
from primad.quantities import several, size
from primad.runtime.chunks import MOST_CHUNKS, run_chunks, run_on_threads, thread_count
from primad.runtime.failure import fail_in_part, failure_of
from primad.runtime.fusion import WORTHWHILE_SIZE
from primad.runtime.interpreter import Plan
from primad.runtime.partition import Partition
from primad.runtime.prediction import Machine, Prediction, as_one_function
from primad.runtime.tile_partition import TilePartition
from primad.runtime.workspaces import SPARE_WORKSPACES, Workspace
from primad.types import ArrayType

SCRATCH_BYTES = SECOND_CACHE.share(1)
"""Memory of a native tile."""
SLICES_BYTES = 8 * 1024 * 1024
"""Bytes that a native tile may read and write of whole arrays, of which a short last tile has copies."""
NATIVE_LENGTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Lengths of native tiles. There are few, so that other numbers of points find their function compiled."""
MIXED_LENGTHS = (256, 512, 1024, 2048)
"""Lengths of tiles of native functions and steps between them, which Python calls: shorter ones do not pay for that."""
FEWEST_TILES = 12
"""Tiles: native ones are made shorter to have so many of them for threads to share."""
SHORT_LENGTH = 32
"""Rows of a native tile, below which it is not made shorter for that."""
LARGEST_MATRIX = SECOND_CACHE.share(1, 4)
"""Bytes. Products with larger matrices are BLAS's, which reads them in blocks, unless its vectors are half as long."""
LONGEST_TEXT = 1_000_000
"""Characters of a native tile's loops that are not equal: more take seconds to compile."""
SHORT_WORK = 1e10
"""Flops that take well below a second: nobody misses an interrupt meanwhile."""


class InterpretedTiles:
    """Tiles that run step by step, in slices of the inputs.

    Attributes:
        partition: what runs.
        length: indices of a tile.
        count: number of tiles.
        chunks: how many independent runs of tiles there are.
        plan: how a tile runs.
        last: how the last tile runs.

    Args:
        partition: what runs.
        length: indices of a tile.
        mixed: whether what has native code in a tile is native functions.
    """

    def __init__(self, partition: TilePartition, length: int, mixed: bool = False) -> None:
        self._mixed = mixed
        self.partition = partition
        self.length = length
        self.count = -(-partition.dimension.length // length)
        self.chunks = min(self.count, MOST_CHUNKS)
        rest = partition.dimension.length % length
        self._axis: dict[Node, int] = {}
        self.plan = self._plan(length)
        self.last = self._plan(rest) if rest else self.plan

    def _plan(self, length: int) -> Plan:
        program, slices = self.partition.tile(length)
        self._axis.update(slices.axis)
        units = Partition(program).units() if self._mixed else None
        # The last tile uses the kernels that the others use, though it be short: the bits of a value do not depend on
        # where tiles end.
        return Plan(program, WORTHWHILE_SIZE * length / self.length, units=units)

    @property
    def each(self) -> str:
        """A tile in words."""
        return self.plan.steps

    def predicted_each(self, machine: Machine) -> Prediction:
        """Predict how long a tile takes, on one thread."""
        return self.plan.predicted(machine, machine.peak_alone)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.plan, self.last

    @property
    def peak_bytes(self) -> int:
        """Memory of a run, on as many threads as there are now."""
        sums = self.chunks * sum(node.type.nbytes for node in self.partition.totals)
        last = 0 if self.last is self.plan else self.last.peak_bytes
        return sums + min(self.chunks, thread_count()) * self.plan.peak_bytes + last

    def run(self, values: Sequence[Any], full: Sequence[Any]) -> list[Any]:
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
        totals: list[Any] = [None] * len(partition.totals)
        count = len(partition.sums)
        for index in range(chunk * self.count // self.chunks, (chunk + 1) * self.count // self.chunks):
            if stopped():
                break
            start = index * self.length
            stop = min(start + self.length, partition.dimension.length)
            plan = self.plan if stop - start == self.length else self.last
            pieces = [
                value if (axis := partition.axis(node)) is None else value[_slice(axis, start, stop)]
                for value, node in zip(values, partition.inputs, strict=True)
            ]
            try:
                results = plan.run(pieces)
            except PrimadError as error:
                fail_in_part(error, self._axis, start)
            for i, value in zip(partition.total_of, results[:count], strict=True):
                if totals[i] is None:
                    totals[i] = value
                else:
                    totals[i] += value
            for target, node, piece in zip(full, partition.sliced, results[count:], strict=True):
                target[_slice(partition.dimension.axis[node], start, stop)] = piece
        return totals


def _slice(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop))


class NativeTiles:
    """Tiles that one native function runs, reading whole inputs and writing whole outputs in place.

    Attributes:
        partition: what runs.
        length: indices of a tile.
        count: number of tiles.
        chunks: how many independent runs of tiles there are.
        program: the program of a tile.
        products: how many matrix products it has.
        loops: how many loops beside.
        scratch: bytes of memory that a thread needs beside.
    """

    def __init__(self, partition: TilePartition, length: int, program: Program, writer: ProgramWriter) -> None:
        host = compiler()
        assert host is not None
        self.partition = partition
        self.length = length
        self.program = program
        self.count = -(-partition.dimension.length // length)
        self.chunks = min(self.count, MOST_CHUNKS)
        self._rest = partition.dimension.length - (self.count - 1) * length
        heads = [unit.nodes[0] for unit in writer.layout.units]
        self.products = sum(node.op is ops.contract and node.op.cost(node).matmul_flops > 0 for node in heads)
        self.loops = len(heads) - self.products
        text = writer.write()
        self.scratch = text.scratch
        self._failing = text.failing, text.lines
        self._axis = writer.layout.slices.axis
        self._places: list[tuple[int, Node]] = []
        place = 0
        for node in partition.totals:
            self._places.append((place, node))
            place += aligned(node.type.nbytes)
        self._chunk_bytes = place
        places = tuple([self._places[i][0] for i in partition.total_of])
        table = Table(len(partition.inputs), places, self._chunk_bytes, len(partition.sliced))
        (self._kernel,) = host.kernels([worker_text(text, table, length)])
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._kernel.address)
        self._joins = partition.program.cost().flops < SHORT_WORK
        self._scratches: list[Workspace] = []
        self._sums: list[Workspace] = []

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, self._kernel

    @property
    def each(self) -> str:
        """A tile in words."""
        text = f"one native function of {several(self.loops, 'loop')}"
        if self.products:
            text += f" and {several(self.products, 'matrix product')}"
        return f"{text}, {size(self.scratch)} of memory for a thread"

    def predicted_each(self, machine: Machine) -> Prediction:
        """Predict how long a tile takes, on one thread."""
        return as_one_function(self.program, machine)

    @property
    def peak_bytes(self) -> int:
        """Memory of a run, on as many threads as there are now."""
        copied = [*self.partition.inputs, *self.partition.sliced] if self._rest < self.length else []
        moving = sum(node.type.nbytes for node in copied if self.partition.axis(node) is not None)
        copies = moving * self.length // self.partition.dimension.length
        sums = (self.chunks + 1) * self._chunk_bytes  # of each chunk, and of all
        return sums + min(self.chunks, thread_count()) * self.scratch + copies

    def run(self, values: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """Compute all tiles from whole inputs; fill whole outputs and return the totals."""
        partition = self.partition
        given = [self._plain(value, node) for value, node in zip(values, partition.inputs, strict=True)]
        inputs, outputs = self._for_last_tile(given) if self._rest < self.length else ([], [])
        sums = SPARE_WORKSPACES.take(self._sums) or _memory(self.chunks * self._chunk_bytes)
        table, last = _addresses([*given, *full]), _addresses([*inputs, *outputs])
        steps = self._steps([*given, *full])
        failed = np.zeros((self.chunks, SAID_BYTES // 8), np.int64)
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

        run_on_threads(work, self.chunks, stop, self._joins)
        self._raise_first(failed)
        start = partition.dimension.length - self._rest
        for node, array, copy in zip(partition.sliced, full, outputs, strict=False):
            axis = partition.dimension.axis[node]
            array[_slice(axis, start, partition.dimension.length)] = copy[_slice(axis, 0, self._rest)]
        totals = [self._total(sums, place, node.type) for place, node in self._places]
        SPARE_WORKSPACES.give(sums, self._sums)
        return totals

    def _raise_first(self, failed: Any) -> None:
        """Raise the error of the first chunk that failed."""
        for status, tile, place, value in failed[failed[:, 0] != 0][:1].tolist():
            error = failure_of(status, place, value, *self._failing).error()
            fail_in_part(error, self._axis, tile * self.length)

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
                copy[_slice(axis, 0, self._rest)] = array[_slice(axis, start, stop)]
                copy[_slice(axis, self._rest, self.length)] = array[_slice(axis, stop - 1, stop)]
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

    def _total(self, sums: Workspace, place: int, type: ArrayType) -> Any:
        """Add up the chunks in order."""
        (memory,) = sums.buffers
        start = _aligned(sums) - memory.ctypes.data
        chunks = memory[start : start + self.chunks * self._chunk_bytes].reshape(self.chunks, -1)
        total = np.add.reduce(chunks[:, place : place + type.nbytes].view(type.dtype), axis=0)
        return total.reshape(type.shape) if type.shape else total[0]


def _addresses(arrays: Sequence[Any]) -> Any:
    return np.array([array.ctypes.data for array in arrays], np.uint64)


def _memory(size: int) -> Workspace:
    return Workspace([ArrayType((size + ALIGNMENT,), np.dtype(np.uint8))], [])


def _aligned(memory: Workspace) -> int:
    """Return the first aligned address of some memory."""
    return aligned(int(memory.buffers[0].ctypes.data))


Tiles = InterpretedTiles | NativeTiles


def native_tiles(partition: TilePartition, even_large: bool) -> NativeTiles | None:
    """Return native tiles; None where an op has no loop, BLAS is better or the text too long.

    Args:
        partition: what runs in tiles.
        even_large: whether tiles may be larger than a cache where the shortest are: of a few long rows they had better
            not be, since the rows can be cut.
    """
    lengths = [length for length in NATIVE_LENGTHS if 2 * length <= partition.dimension.length]
    if compiler() is None or not lengths or _is_for_blas(partition):
        return None
    guess = min(64, lengths[-1])
    program, slices = partition.tile(guess)
    layout = layout_of(program, slices)
    if layout is None:
        return None
    writer = ProgramWriter(layout, LONGEST_TEXT)
    fitting = SCRATCH_BYTES * guess // max(1, writer.scratch - writer.copied_before)
    if fitting < lengths[0] and not even_large:
        return None
    arrays = [node for node in (*partition.inputs, *partition.sliced) if node in partition.dimension.axis]
    slices_bytes = sum(node.type.nbytes for node in arrays) // partition.dimension.length
    shared = max(SHORT_LENGTH, partition.dimension.length // FEWEST_TILES)
    longest = min(fitting, shared, SLICES_BYTES // max(1, slices_bytes))
    length = max([n for n in lengths if n <= longest], default=lengths[0])
    if length != guess:
        program, slices = partition.tile(length)
        layout = layout_of(program, slices)
        assert layout is not None
        writer = ProgramWriter(layout, LONGEST_TEXT)
    try:
        return NativeTiles(partition, length, program, writer)
    except TooLongError:
        return None
    except RuntimeError as error:  # what llvmlite raises: a version of LLVM that refuses the text, or no memory
        warnings.warn(f"tiles could not be compiled, NumPy runs instead: {error}", RuntimeWarning, stacklevel=2)
        return None


def mixed_tiles(partition: TilePartition) -> InterpretedTiles | None:
    """Return tiles of native functions with NumPy's steps between them; None where little of them is native."""
    lengths = [length for length in MIXED_LENGTHS if 2 * length <= partition.dimension.length]
    if compiler() is None or not lengths or _is_for_blas(partition):
        return None
    guess = lengths[0]
    program, _ = partition.tile(guess)
    parts = Partition(program)
    if not parts.is_mostly_native or parts.length > LONGEST_TEXT:
        return None
    fitting = SCRATCH_BYTES * guess // max(1, parts.scratch)
    longest = max([n for n in lengths if n <= fitting], default=guess)
    # A last tile that is shorter is compiled too.
    even = (n for n in range(longest, longest // 2, -8) if partition.dimension.length % n == 0)
    return InterpretedTiles(partition, next(even, longest), mixed=True)


def _is_for_blas(partition: TilePartition) -> bool:
    """Say whether a product reads a matrix again and again that is too large for a cache."""
    axis = partition.dimension.axis
    found = any(
        _matrix_bytes(partition, node) > LARGEST_MATRIX
        for node in partition.program.nodes
        if node.op is ops.contract and (node in axis or node in partition.sums)
    )
    return found and (WIDTH_BYTES < 64 or blas_has_long_vectors())


def _matrix_bytes(partition: TilePartition, node: Node) -> int:
    """Return the size of the largest matrix that a product reads again and again."""
    axis, length = partition.dimension.axis, partition.dimension.length
    if node in axis and all(operand in axis for operand in node.inputs):  # a product for each index
        return min(operand.type.nbytes // length for operand in node.inputs)
    return max([operand.type.nbytes for operand in node.inputs if operand not in axis], default=0)
