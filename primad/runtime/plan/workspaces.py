"""The memory of one run of a plan, and what of it is kept for the next."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.native.cpython.object_layout import data_address
from primad.native.llvm.scratch_memory import ALIGNMENT, aligned
from primad.system.process import forgets

if TYPE_CHECKING:
    from primad.runtime.plan.native_calls import NativeCall


class Workspace:
    """Buffers for one run at a time, and for each native function the addresses of what it reads and writes there.

    Attributes:
        buffers: the arrays.
        scratch: memory that each native function may use.
        pointers: an argument of each native function, and then its scratch memory; addresses outside of the buffers
            are filled in when it is called.
        size: bytes of the buffers together.
    """

    def __init__(self, types: Sequence[ArrayType], calls: Sequence[NativeCall]) -> None:
        self.buffers = [np.empty(type.shape, type.dtype) for type in types]
        scratch = max([call.scratch for call in calls], default=0)
        whole = np.empty(scratch + ALIGNMENT if scratch else 0, np.uint8)
        start = aligned(data_address(whole))
        self.scratch = whole[start - data_address(whole) :]
        self.size = sum(buffer.nbytes for buffer in self.buffers) + whole.nbytes
        self.pointers: list[Any] = []
        for call in calls:
            pointers = (ctypes.c_void_p * (call.count + 1))()
            pointers[call.count] = start
            for i, buffer in call.fixed:
                pointers[i] = data_address(self.buffers[buffer])
            self.pointers.append(pointers)


class SpareWorkspaces:
    """Workspaces between two runs, so that memory is not asked for and cleared each time; at most so many bytes in all.

    A plan keeps a list of its own workspaces. Here they stand in the order of their last use, and the oldest go first.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._owners: OrderedDict[Workspace, list[Workspace]] = OrderedDict()
        self._size = 0
        self.forget()
        forgets(self)

    def forget(self) -> None:
        """Keep the workspaces in a forked child; whoever held the lock is not there."""
        self._lock = Lock()

    @property
    def largest(self) -> int:
        """Bytes of a workspace, at most, for it to be kept."""
        return self._limit // 2

    def take(self, own: list[Workspace]) -> Workspace | None:
        """Return one of a plan's spare workspaces, if it has any."""
        if not own:
            return None
        with self._lock:
            if not own:
                return None
            workspace = own.pop()
            del self._owners[workspace]
            self._size -= workspace.size
            return workspace

    def give(self, workspace: Workspace, own: list[Workspace]) -> None:
        """Keep a workspace that a run has finished with."""
        if workspace.size > self.largest:
            return
        with self._lock:
            self._owners[workspace] = own
            self._size += workspace.size
            own.append(workspace)
            while self._size > self._limit:
                if not self._owners:  # an interrupt may have come before the size of what was taken was taken off
                    self._size = 0
                    return
                oldest, owner = self._owners.popitem(last=False)
                if oldest in owner:  # an interrupt may have come when it was taken
                    owner.remove(oldest)
                self._size -= oldest.size


SPARE_WORKSPACES = SpareWorkspaces(64 * 1024 * 1024)
"""The spare workspaces of all plans."""


def keep_freed_memory() -> None:
    """Have `malloc` keep the memory of arrays that are freed, for those that come: results, and LAPACK's own arrays.

    The C library of GNU asks the system for each large array, and gives it back. Clearing its pages again takes as long
    as many an op on it. The library learns: arrays up to the size of the largest one that was freed stay, and twice as
    much in all, but for those above 32 MB (mallopt(3), M_MMAP_THRESHOLD). This one is freed without being touched. Who
    sets these limits by hand keeps what was set, and other libraries have their own ways.
    """
    np.empty(2**25 - 2**14, np.uint8)  # with its head and whole pages not above 32 MB


keep_freed_memory()
