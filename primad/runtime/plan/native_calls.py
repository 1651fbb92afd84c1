"""The calls of a plan's native functions on the memory of a run."""

from __future__ import annotations

import ctypes
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.native.cpython.object_layout import data_address
from primad.native.llvm.scratch_memory import ALIGNMENT, aligned
from primad.native.schedule.iteration_space import LOOPS
from primad.parallel.threads import MOST_CHUNKS, run_chunks
from primad.runtime.failure import failure_of
from primad.runtime.plan.fusion import FusedStep
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.runtime.plan.workspaces import Workspace
from primad.system.machine import THREAD_WORK


class Places(NamedTuple):
    """Where a plan has its values.

    Attributes:
        slot: the place of each value of the plan.
        assigned: the buffer of each value that has one.
        taken: the argument whose memory a value takes, for those that do.
    """

    slot: Mapping[Node, int]
    assigned: Mapping[Node, int]
    taken: Mapping[Node, int]


class NativeCall(ABC):
    """A native function with the places of its operands and results in a plan.

    Attributes:
        fixed: which of its arrays lie in which buffers.
        count: how many arrays it has.
        scratch: bytes of memory that it needs beside.

    Args:
        step: what to run.
        reads: the operands, in the order in which it takes them.
        places: where the plan has its values.
    """

    scratch = 0

    def __init__(self, step: NativeStep, reads: Sequence[Node], places: Places) -> None:
        slot, assigned, taken = places
        self._kernel = step.kernel
        self._loose: list[tuple[int, int, ArrayType]] = []
        self._fresh: list[tuple[int, int, ArrayType]] = []
        self._taken: list[tuple[int, int, int]] = []
        self._placed: list[tuple[int, int]] = []
        self.fixed: list[tuple[int, int]] = []
        for i, node in enumerate(reads):
            # A user's own function may return another array than the buffer that it was given.
            if node in assigned and ops.BY_NAME.get(node.op.name) is node.op:
                self.fixed.append((i, assigned[node]))
            else:
                self._loose.append((i, slot[node], node.type))
        for i, node in enumerate(step.results, len(reads)):
            if node in assigned:
                self.fixed.append((i, assigned[node]))
                self._placed.append((slot[node], assigned[node]))
            elif node in taken:
                self._taken.append((i, slot[node], taken[node]))
            else:
                self._fresh.append((i, slot[node], node.type))
        self._scalars = [slot[node] for node in step.results if not node.type.shape]
        self.count = len(reads) + len(step.results)

    def run(self, values: list[Any], workspace: Workspace, index: int) -> None:
        """Compute the results from `values` and put them there."""
        pointers = workspace.pointers[index]
        held = []
        for i, place, type in self._loose:
            # Arguments, views and results of functions of any kind: only plain arrays of the full size are read.
            array = np.ascontiguousarray(values[place], type.dtype)
            if array.size != type.size:
                array = np.ascontiguousarray(np.broadcast_to(values[place], type.shape), type.dtype)
            pointers[i] = data_address(array)
            held.append(array)
        for i, place, type in self._fresh:
            values[place] = array = np.empty(type.shape, type.dtype)
            pointers[i] = data_address(array)
        for i, place, argument in self._taken:
            values[place] = array = values[argument]
            pointers[i] = data_address(array)
        for place, buffer in self._placed:
            values[place] = workspace.buffers[buffer]
        self._call(pointers, values, workspace, held)
        for place in self._scalars:
            values[place] = values[place][()]

    @abstractmethod
    def _call(self, pointers: Any, values: Sequence[Any], workspace: Workspace, held: Any) -> None:
        """Run the function on addresses of its arrays, and of scratch memory; what holds them is given too."""


class PartCall(NativeCall):
    """A part of a plan as one native function."""

    def __init__(self, part: NativePart, places: Places) -> None:
        super().__init__(part, part.inputs, places)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(part.kernel.address)
        self._failing = part.failing, part.lines
        self.scratch = part.scratch

    def _call(self, pointers: Any, values: Sequence[Any], workspace: Workspace, held: Any) -> None:
        status = self._function(pointers, pointers[self.count])
        if status:
            place, value = (ctypes.c_int64 * 2).from_address(pointers[self.count])
            raise failure_of(status, place, value, *self._failing).error()


class _GroupSums(NamedTuple):
    """Sums of groups that a kernel writes to scratch memory.

    Attributes:
        position: which of its arrays they are.
        slot: the place of their sum.
        levels: of how many groups: groups of groups behind them, and so on.
        type: type of their sum.
        offset: where they lie.
    """

    position: int
    slot: int
    levels: int
    type: ArrayType
    offset: int

    def of_groups(self, scratch: Any) -> Any:
        """Return them as an array."""
        size = self.levels * self.type.nbytes
        return scratch[self.offset : self.offset + size].view(self.type.dtype).reshape(self.levels, *self.type.shape)


class GroupCall(NativeCall):
    """A kernel."""

    def __init__(self, group: FusedStep, places: Places) -> None:
        super().__init__(group, [read.source for read in group.reads], places)
        self._function = group.kernel.function
        self._loops = group.loops
        self._pieces = _pieces(group)
        self._sums: list[_GroupSums] = []
        for i, (node, levels) in enumerate(zip(group.results, group.levels, strict=True), len(group.reads)):
            if levels:
                self._sums.append(_GroupSums(i, places.slot[node], levels, node.type, self.scratch))
                self.scratch += aligned(levels * node.type.nbytes)

    def _call(self, pointers: Any, values: Sequence[Any], workspace: Workspace, held: Any) -> None:
        """Run the kernel, on several chunks where there is much to do; each element is computed the same in any case.

        Chunks keep the memory behind the pointers alive: a second interrupt may end the wait for them.
        """
        if not self._pieces:
            for sums in self._sums:
                pointers[sums.position] = pointers[self.count] + sums.offset
            workspace.scratch[: self.scratch] = 0
            self._function(pointers, *self._loops)
            for sums in self._sums:
                np.add.reduce(sums.of_groups(workspace.scratch), axis=0, out=values[sums.slot])
            return

        def work(chunk: int, stopped: Callable[[], bool], held: Any = (values, workspace, held)) -> None:
            loops, offsets = self._pieces[chunk]
            moved = (ctypes.c_void_p * self.count)(*[p + offset for p, offset in zip(pointers, offsets, strict=False)])
            self._function(moved, *loops)

        run_chunks(work, len(self._pieces))


def native_call(step: NativeStep, places: Places) -> NativeCall:
    """Return the call of a native step in a plan."""
    if isinstance(step, NativePart):
        return PartCall(step, places)
    assert isinstance(step, FusedStep)
    return GroupCall(step, places)


WHOLE_VECTORS = ALIGNMENT
"""Elements, of a byte or more: pieces of a row begin at multiples, so that only the last has a vector that is not
full."""


def _pieces(group: FusedStep) -> list[tuple[tuple[int, ...], list[int]]]:
    """Cut the outermost loop of a large kernel that sums nothing: the loops and the byte offsets of each piece."""
    lengths = group.loops
    count = min(MOST_CHUNKS, group.work // THREAD_WORK)
    if count < 2 or any(layout != LOOPS for layout in group.layouts[len(group.reads) :]):
        return []
    cut = next(i for i, length in enumerate(lengths) if length > 1)
    step = WHOLE_VECTORS if cut == len(LOOPS) - 1 else 1
    units = -(-lengths[cut] // step)
    edges = [min(chunk * units // count * step, lengths[cut]) for chunk in range(count + 1)]
    inner = dict(zip(LOOPS[cut + 1 :], lengths[cut + 1 :], strict=True))
    types = [read.source.type for read in group.reads] + [node.type for node in group.results]
    strides = []
    for layout, type in zip(group.layouts, types, strict=True):
        stride = type.dtype.itemsize * math.prod(length for loop, length in inner.items() if loop in layout)
        strides.append(stride if LOOPS[cut] in layout else 0)
    return [
        ((*lengths[:cut], stop - start, *lengths[cut + 1 :]), [start * stride for stride in strides])
        for start, stop in itertools.pairwise(edges)
        if stop > start
    ]
