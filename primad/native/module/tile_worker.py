"""The function that threads run to compute the tiles of a program: each takes the next chunk until none is left."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.native.emit.elementwise_loop import pointwise
from primad.native.llvm.builder import Builder, module
from primad.native.llvm.scratch_memory import aligned
from primad.native.llvm.strided_views import Code, View
from primad.native.llvm.vectors import Vector
from primad.native.module.program_text import ProgramText

Run = tuple[int, int, np.dtype[Any]]
"""Sums of one type that lie behind one another: where they begin and end, and the type."""


class FailureRecord(ctypes.Structure):
    """The failure of a chunk: which op, in which tile, one more than the place, and the value there."""

    _fields_ = tuple([(name, ctypes.c_int64) for name in ("status", "tile", "place", "value")])


RECORD_BYTES = ctypes.sizeof(FailureRecord)


class Job(ctypes.Structure):
    """What all threads of one run share.

    Attributes:
        next: the next chunk to take.
        stop: not 0 when threads should end.
        chunks: number of chunks; each runs its tiles in order and adds up their sums.
        tiles: number of tiles.
        table: addresses of the whole inputs, and of the whole outputs that are no sums.
        steps: the bytes from one tile's slice to the next one's, in each of these arrays.
        last: addresses for the last tile, if that is shorter than the others: of copies that are long enough.
        rest: how many indices the last tile has; the others have all.
        sums: memory for the sums of all chunks.
        failed: the `FailureRecord` of each chunk.
    """

    _fields_ = (
        ("next", ctypes.c_int64),
        ("stop", ctypes.c_int64),
        ("chunks", ctypes.c_int64),
        ("tiles", ctypes.c_int64),
        ("table", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("last", ctypes.c_void_p),
        ("rest", ctypes.c_int64),
        ("sums", ctypes.c_void_p),
        ("failed", ctypes.c_void_p),
    )


class Table(Struct, frozen=True):
    """What the table of a tile's addresses has: inputs, then sums, then other outputs.

    Attributes:
        inputs: number of inputs.
        sliced: number of outputs that are no sums.
        sums: place of each sum in the memory of a chunk; sums that are added up share one.
        chunk_bytes: size of that memory.
        runs: the sums in it by type.
        spans: how many tiles the sums stand for that are added up in groups, from the tiles themselves to groups of
            groups; the last are added to the memory of the chunk, and the others to the end of the scratch memory.
    """

    inputs: int
    sliced: int
    sums: tuple[int, ...]
    chunk_bytes: int
    runs: tuple[Run, ...]
    spans: tuple[int, ...]

    @property
    def whole(self) -> list[int]:
        """The entries for whole arrays, in the order of the job's table."""
        return [*range(self.inputs), *range(self.inputs + len(self.sums), self.size)]

    @property
    def summed(self) -> range:
        """The entries for sums."""
        return range(self.inputs, self.inputs + len(self.sums))

    @property
    def group_bytes(self) -> int:
        """Bytes of scratch memory for the sums of groups."""
        return self.chunk_bytes * (len(self.spans) - 1)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.inputs + len(self.sums) + self.sliced


def scratch_of(tile: ProgramText, table: Table) -> int:
    """Return how much scratch memory a worker takes."""
    return aligned(tile.scratch) + table.group_bytes


def worker_text(tile: ProgramText, table: Table, length: int) -> str:
    """Write the worker: a function of the job and of scratch memory.

    Args:
        tile: the functions of one tile.
        table: the arrays that they take.
        length: indices of a tile.
    """
    return _Worker(table, length).text(tile)


class _Worker:
    """A worker that is being written; for the arguments see `worker_text`.

    Chunks are taken from the job one after the other; threads that come late, or are told to stop, go to `done`.
    """

    def __init__(self, table: Table, length: int) -> None:
        self.code = Builder()
        self.table = table
        self.length = length
        self.moving = _moving(table.runs)

    def text(self, tile: ProgramText) -> str:
        """Return the whole text."""
        code = self.code
        self.groups = code.place("i8", "%scratch", aligned(tile.scratch))
        job = {name: code.place("i8", "%job", getattr(Job, name).offset) for name, _ in Job._fields_}
        self.job = {
            name: job[name] if name in ("next", "stop") else code.emit(f"load {kind}, ptr {job[name]}")
            for name, kind in ((name, "i64" if type is ctypes.c_int64 else "ptr") for name, type in Job._fields_)
        }
        self.local = code.room("ptr", self.table.size + 1)
        self.final = code.emit(f"sub i64 {self.job['tiles']}, 1")
        self._prepare()
        code.go("take")
        code.label("take")
        self._run_chunk()
        code.go("take")
        code.label("done")
        code.do("ret void")
        worker = code.function("void @KERNEL(ptr %job, ptr %scratch)")
        functions, declared = [tile.functions, worker], {**tile.declared, **code.declared}
        if self.table.group_bytes:
            parameters = ", ".join(f"ptr {name}" for name in self.moving.places.values())
            functions.append(self.moving.function(f"internal void @KERNEL.move({parameters})"))
            declared |= self.moving.declared
        return module(functions, declared.values())

    def _prepare(self) -> None:
        """Do what comes before the tiles, if a chunk is left: it reads only inputs that are the same for all tiles."""
        code, table = self.code, self.table
        for i, entry in enumerate(table.whole):
            self._set(entry, code.load("ptr", self.job["table"], i))
        for entry in table.summed:
            self._set(entry, "null")
        taken = code.emit(f"load atomic i64, ptr {self.job['next']} monotonic, align 8")
        code.require(code.emit(f"icmp ult i64 {taken}, {self.job['chunks']}"), "done")
        code.run_own("@KERNEL.before", ("ptr", self.local), ("ptr", "%scratch"))

    def _run_chunk(self) -> None:
        """Take the next chunk, clear its sums and run its tiles."""
        code, chunks, tiles = self.code, self.job["chunks"], self.job["tiles"]
        chunk = code.emit(f"atomicrmw add ptr {self.job['next']}, i64 1 monotonic")
        code.require(code.emit(f"icmp ult i64 {chunk}, {chunks}"), "done")
        first = code.emit(f"mul i64 {chunk}, {tiles}")
        start = code.emit(f"udiv i64 {first}, {chunks}")
        end = code.emit(f"udiv i64 {code.emit(f'add i64 {first}, {tiles}')}, {chunks}")
        size = self.table.chunk_bytes
        own = code.place("i8", self.job["sums"], code.emit(f"mul i64 {chunk}, {size}"))
        for memory, length in ((own, size), (self.groups, self.table.group_bytes)):
            if length:
                code.run("llvm.memset.p0.i64", ("ptr", memory), ("i8", "0"), ("i64", str(length)), ("i1", "false"))
        sums = [code.place("i8", self.groups, k * size) for k in range(len(self.table.spans) - 1)]
        self._run_group(self.table.spans, [*sums, own], chunk, start, end)

    def _run_group(self, spans: Sequence[int], sums: Sequence[str], chunk: str, start: str, end: str) -> None:
        """Run some tiles, which add to the first sums, and groups of them to the next ones, and so on."""
        code = self.code
        *inner, span = spans
        if not inner:
            code.loop(end, lambda i, _: self._run_tile(i, sums[0], chunk), start=start)
            return

        def part(first: str, stop: str, _: list[str]) -> None:
            self._run_group(inner, sums, chunk, first, stop)
            sides = {"below": sums[len(inner) - 1], "above": sums[len(inner)]}
            runs = [code.place(cell, sides[side], offset) for side, offset, cell in self.moving.places]
            code.run_own("@KERNEL.move", *[("ptr", run) for run in runs])

        code.in_parts(start, end, span, part)

    def _run_tile(self, i: str, own: str, chunk: str) -> None:
        """Point at a tile's slices and sums and run it; a last tile that is shorter than the others has copies."""
        code, job, table = self.code, self.job, self.table
        stop = code.emit(f"load atomic i64, ptr {job['stop']} monotonic, align 8")
        code.require(code.emit(f"icmp eq i64 {stop}, 0"), "done")
        short = code.emit(f"icmp ult i64 {job['rest']}, {self.length}")
        copied = code.emit(f"and i1 {short}, {code.emit(f'icmp eq i64 {i}, {self.final}')}")
        addresses = code.emit(f"select i1 {copied}, ptr {job['last']}, ptr {job['table']}")
        index = code.emit(f"select i1 {copied}, i64 0, i64 {i}")
        count = code.emit(f"select i1 {copied}, i64 {job['rest']}, i64 {self.length}")
        for k, entry in enumerate(table.whole):
            offset = code.emit(f"mul i64 {index}, {code.load('i64', job['steps'], k)}")
            self._set(entry, code.place("i8", code.load("ptr", addresses, k), offset))
        for place, entry in zip(table.sums, table.summed, strict=True):
            self._set(entry, code.place("i8", own, place))
        call = (("ptr", self.local), ("ptr", "%scratch"), ("i64", count))
        status = code.ask("i64", "@KERNEL.tile", *call)
        with code.when(code.emit(f"icmp ne i64 {status}, 0"), ends=True):
            self._say(status, i, chunk)
            code.go("take")

    def _say(self, status: str, tile: str, chunk: str) -> None:
        """Say what failed; the chunk ends there."""
        code = self.code
        place, value = (code.load("i64", "%scratch", k) for k in (0, 1))
        record = code.place("i8", self.job["failed"], code.emit(f"mul i64 {chunk}, {RECORD_BYTES}"))
        for k, number in enumerate((status, tile, place, value)):
            code.store("i64", number, code.place("i64", record, k))

    def _set(self, entry: int, address: str) -> None:
        """Set an entry of the table that the tile takes."""
        self.code.store("ptr", address, self.code.place("ptr", self.local, entry))


def _moving(runs: Sequence[Run]) -> Code:
    """Return a function that adds sums to others, and clears them: of both, it takes the addresses of all runs."""
    code = Code()
    for start, end, dtype in runs:
        first, size = start // dtype.itemsize, (end - start) // dtype.itemsize
        below, above = (View(side, first, (size,), (1,), dtype) for side in ("below", "above"))
        pointwise(code, [below, above], [above, below], dtype, _moved)
    code.do("ret void")
    return code


def _moved(vector: Vector, values: list[str]) -> list[str]:
    return [vector.arithmetic("add", *values), vector.constant(0)]
