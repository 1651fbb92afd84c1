"""The function that threads run to compute the tiles of a program: each takes the next lane until none is left."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from primad.native.compiler import DECLARATIONS
from primad.native.writing import Text


class Job(ctypes.Structure):
    """What all threads of one run share.

    Attributes:
        next: the next lane to take.
        stop: not 0 when threads should end.
        lanes: number of lanes; each runs its tiles in order and adds up their sums.
        tiles: number of tiles.
        table: addresses of the whole inputs, and of the whole outputs that are no sums.
        steps: the bytes from one tile's slice to the next one's, in each of these arrays.
        last: addresses for the last tile, if that is shorter than the others: of copies that are long enough.
        rest: how many indices the last tile has; the others have all.
        sums: memory for the sums of all lanes.
    """

    _fields_ = (
        ("next", ctypes.c_int64),
        ("stop", ctypes.c_int64),
        ("lanes", ctypes.c_int64),
        ("tiles", ctypes.c_int64),
        ("table", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("last", ctypes.c_void_p),
        ("rest", ctypes.c_int64),
        ("sums", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Table:
    """What the table of a tile's addresses has: inputs, then sums, then other outputs.

    Attributes:
        inputs: number of inputs.
        sums: place of each sum in the memory of a lane; sums that are added up share one.
        lane_bytes: size of that memory.
        sliced: number of outputs that are no sums.
    """

    inputs: int
    sums: tuple[int, ...]
    lane_bytes: int
    sliced: int

    @property
    def whole(self) -> list[int]:
        """The entries for whole arrays, in the order of the job's table."""
        return [*range(self.inputs), *range(self.inputs + len(self.sums), self.size)]

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.inputs + len(self.sums) + self.sliced


def worker_text(tile: Text, table: Table, length: int) -> str:
    """Write the worker: a function of the job and of scratch memory.

    Args:
        tile: the functions of one tile.
        table: the arrays that they take.
        length: indices of a tile.
    """
    w = _Lines()
    job = {name: w.emit(f"getelementptr i8, ptr %job, i64 {getattr(Job, name).offset}") for name, _ in Job._fields_}
    lanes, tiles, rest = (w.emit(f"load i64, ptr {job[name]}") for name in ("lanes", "tiles", "rest"))
    addresses, steps, last, sums = (w.emit(f"load ptr, ptr {job[name]}") for name in ("table", "steps", "last", "sums"))
    w.lines += [f"  %local = alloca ptr, i64 {table.size + 1}"]
    w.lines += [f"  %final = sub i64 {tiles}, 1"]
    # What is done before the tiles reads only inputs that are the same for all of them.
    for i, entry in enumerate(table.whole):
        w.store(w.item("ptr", addresses, i), entry)
    for entry in range(table.inputs, table.inputs + len(table.sums)):
        w.store("null", entry)
    taken = w.emit(f"load atomic i64, ptr {job['next']} monotonic, align 8")
    w.lines += [
        f"  %late = icmp uge i64 {taken}, {lanes}",
        "  br i1 %late, label %done, label %prepare",
        "prepare:",
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
        f"  %place = mul i64 %lane, {table.lane_bytes}",
        f"  %own = getelementptr i8, ptr {sums}, i64 %place",
    ]
    if table.lane_bytes:
        w.lines.append(f"  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 {table.lane_bytes}, i1 false)")
    w.lines += [
        "  br label %tile",
        "tile:",
        "  %i = phi i64 [ %start, %begin ], [ %further, %ready ]",
        f"  %stop = load atomic i64, ptr {job['stop']} monotonic, align 8",
        "  %going = icmp eq i64 %stop, 0",
        "  br i1 %going, label %ready, label %done",
        "ready:",
        f"  %short = icmp ult i64 {rest}, {length}",
        "  %ending = icmp eq i64 %i, %final",
        "  %copied = and i1 %short, %ending",
        f"  %from.table = select i1 %copied, ptr {last}, ptr {addresses}",
        "  %index = select i1 %copied, i64 0, i64 %i",
        f"  %count = select i1 %copied, i64 {rest}, i64 {length}",
    ]
    for i, entry in enumerate(table.whole):
        offset = w.emit(f"mul i64 %index, {w.item('i64', steps, i)}")
        w.store(w.emit(f"getelementptr i8, ptr {w.item('ptr', '%from.table', i)}, i64 {offset}"), entry)
    for place, entry in zip(table.sums, range(table.inputs, table.inputs + len(table.sums)), strict=True):
        w.store(w.emit(f"getelementptr i8, ptr %own, i64 {place}"), entry)
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


class _Lines:
    """Instructions with numbered values."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def emit(self, code: str) -> str:
        name = f"%w{len(self.lines)}"
        self.lines.append(f"  {name} = {code}")
        return name

    def item(self, type: str, array: str, place: int) -> str:
        return self.emit(f"load {type}, ptr {self.emit(f'getelementptr {type}, ptr {array}, i64 {place}')}")

    def store(self, address: str, place: int) -> None:
        slot = self.emit(f"getelementptr ptr, ptr %local, i64 {place}")
        self.lines.append(f"  store ptr {address}, ptr {slot}")
