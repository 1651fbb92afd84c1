"""The function that threads run to compute the tiles of a program: each takes the next lane until none is left."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from primad.runtime.native import DECLARATIONS
from primad.runtime.writing import Text


class Job(ctypes.Structure):
    """What all threads of one run share.

    Attributes:
        next: the next lane to take.
        stop: not 0 when threads should end.
        lanes: number of lanes; each runs its tiles in order and adds up their sums.
        tiles: number of tiles.
        table: addresses of the whole inputs, and of the whole outputs that are no sums.
        last: the same for the last tile, if that is shorter than the others: addresses of copies that are long enough.
        rest: how many indices the last tile has; the others have all.
        sums: memory for the sums of all lanes.
    """

    _fields_ = (
        ("next", ctypes.c_int64),
        ("stop", ctypes.c_int64),
        ("lanes", ctypes.c_int64),
        ("tiles", ctypes.c_int64),
        ("table", ctypes.c_void_p),
        ("last", ctypes.c_void_p),
        ("rest", ctypes.c_int64),
        ("sums", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Steps:
    """How the addresses of a tile's arrays follow from those of the whole arrays.

    Attributes:
        arrays: of each input and each output that is no sum, the bytes from one tile's slice to the next one's.
        sums: place of each sum in the memory of a lane.
        lane_bytes: size of that memory.
        inputs: how many of the arrays are inputs.
    """

    arrays: tuple[int, ...]
    sums: tuple[int, ...]
    lane_bytes: int
    inputs: int


def worker_text(tile: Text, steps: Steps, length: int) -> str:
    """Write the worker: a function of the job and of scratch memory.

    Args:
        tile: the functions of one tile.
        steps: how its arrays lie.
        length: indices of a tile.
    """
    count = len(steps.arrays) + len(steps.sums)
    w = _Lines()
    job = {name: w.emit(f"getelementptr i8, ptr %job, i64 {getattr(Job, name).offset}") for name, _ in Job._fields_}
    lanes, tiles, rest = (w.emit(f"load i64, ptr {job[name]}") for name in ("lanes", "tiles", "rest"))
    table, last_table, sums = (w.emit(f"load ptr, ptr {job[name]}") for name in ("table", "last", "sums"))
    w.lines += [f"  %local = alloca ptr, i64 {count + 1}"]
    w.lines += [f"  %last = sub i64 {tiles}, 1"]
    # Nothing before the tiles depends on which tile it is: whole inputs and sums stand for theirs.
    for i, place in enumerate(_order(steps)):
        if place < len(steps.arrays):
            source = w.emit(f"getelementptr ptr, ptr {table}, i64 {place}")
            w.store(w.emit(f"load ptr, ptr {source}"), i)
        else:
            w.store("null", i)
    w.lines += [
        "  call void @KERNEL.before(ptr %local, ptr %scratch)",
        "  br label %take",
        "take:",
        f"  %lane = atomicrmw add ptr {job['next']}, i64 1 monotonic",
        f"  %left = icmp ult i64 %lane, {lanes}",
        "  br i1 %left, label %begin, label %done",
        "begin:",
        f"  %from = mul i64 %lane, {tiles}",
        f"  %start = udiv i64 %from, {lanes}",
        f"  %to = add i64 %from, {tiles}",
        f"  %end = udiv i64 %to, {lanes}",
        f"  %place = mul i64 %lane, {steps.lane_bytes}",
        f"  %own = getelementptr i8, ptr {sums}, i64 %place",
    ]
    if steps.lane_bytes:
        w.lines.append(f"  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 {steps.lane_bytes}, i1 false)")
    w.lines += [
        "  br label %tile",
        "tile:",
        "  %i = phi i64 [ %start, %begin ], [ %further, %ready ]",
        f"  %stop = load atomic i64, ptr {job['stop']} monotonic, align 8",
        "  %going = icmp eq i64 %stop, 0",
        "  br i1 %going, label %ready, label %done",
        "ready:",
        f"  %short = icmp ult i64 {rest}, {length}",
        "  %final = icmp eq i64 %i, %last",
        "  %copied = and i1 %short, %final",
        f"  %from.table = select i1 %copied, ptr {last_table}, ptr {table}",
        "  %index = select i1 %copied, i64 0, i64 %i",
        f"  %count = select i1 %copied, i64 {rest}, i64 {length}",
    ]
    for i, place in enumerate(_order(steps)):
        if place < len(steps.arrays):
            source = w.emit(f"getelementptr ptr, ptr %from.table, i64 {place}")
            address = w.emit(f"load ptr, ptr {source}")
            if steps.arrays[place]:
                offset = w.emit(f"mul i64 %index, {steps.arrays[place]}")
                address = w.emit(f"getelementptr i8, ptr {address}, i64 {offset}")
        else:
            address = w.emit(f"getelementptr i8, ptr %own, i64 {steps.sums[place - len(steps.arrays)]}")
        w.store(address, i)
    w.lines += [
        "  call void @KERNEL.tile(ptr %local, ptr %scratch, i64 %count)",
        "  %further = add i64 %i, 1",
        "  %more = icmp ult i64 %further, %end",
        "  br i1 %more, label %tile, label %take",
        "done:",
        "  ret void",
    ]
    text = "\n".join(["define void @KERNEL(ptr %job, ptr %scratch) nounwind {", "entry:", *w.lines, "}"])
    declared = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    return f"{tile.functions}\n{text}{DECLARATIONS}{tile.declarations}\n{declared}"


def _order(steps: Steps) -> Sequence[int]:
    """Return, for each entry of a tile's table (inputs, sums, other outputs), which array or sum it is."""
    arrays = range(len(steps.arrays))
    sums = range(len(steps.arrays), len(steps.arrays) + len(steps.sums))
    return [*arrays[: steps.inputs], *sums, *arrays[steps.inputs :]]


class _Lines:
    """Instructions with numbered values."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def emit(self, code: str) -> str:
        name = f"%w{len(self.lines)}"
        self.lines.append(f"  {name} = {code}")
        return name

    def store(self, address: str, place: int) -> None:
        slot = self.emit(f"getelementptr ptr, ptr %local, i64 {place}")
        self.lines.append(f"  store ptr {address}, ptr {slot}")
