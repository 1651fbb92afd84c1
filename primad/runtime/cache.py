"""Bounded caches that threads share: the least recently used entry goes first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from primad.ir.key import CacheKey, Key
from primad.ir.node import CAPTURED
from primad.ir.program import Program
from primad.system.machine import SPARE_BYTES
from primad.system.process import collector_paused, forgets

FEWEST = 4
"""Values that stay in a cache, however much they hold. Chosen: a loop may take turns with a few programs of large
arrays."""
NODE_BYTES, ROW_BYTES = 600, 200
"""Bytes of a node with its step in a plan, and of its row in a key. Measured with the programs of the tests, by
tracemalloc."""


def held_bytes(value: Any) -> int:
    """Estimate the bytes that a cached value holds: nodes, captured arrays and native code, at any depth.

    Plans say by their property `held` what they hold; native functions and scripts of recordings say by their property
    `held_bytes` how much they take themselves.
    """
    total = 0
    seen: set[int] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        own, parts = _own_bytes(item)
        total += own
        stack.extend(parts)
    return total


def _own_bytes(item: Any) -> tuple[int, Sequence[Any]]:
    """Return what a value takes itself, and the values that it holds."""
    if isinstance(item, np.ndarray):
        return item.nbytes, ()
    if isinstance(item, Program):
        captured = [node.params[0][1].array for node in item.nodes if node.op is CAPTURED]
        return NODE_BYTES * len(item.nodes), captured
    if isinstance(item, (tuple, list)):
        return 0, item
    return getattr(item, "held_bytes", 0), getattr(item, "held", ())


def _key_bytes(key: Hashable) -> int:
    if isinstance(key, tuple):
        return sum(map(_key_bytes, key))
    return ROW_BYTES * len(key.rows) if isinstance(key, Key) else 0


class Cache:
    """Values by key, at most `maxsize` of them, which hold at most `maxbytes`, or are at most `fewest`.

    Args:
        maxsize: values.
        maxbytes: bytes of keys and values.
        fewest: values that stay, however much they hold.

    Attributes:
        fewest: as given.
        held: the bytes that keys and values hold, by estimate.
    """

    def __init__(self, maxsize: int, maxbytes: int = SPARE_BYTES, fewest: int = FEWEST) -> None:
        self.held = 0
        self._maxsize = maxsize
        self._maxbytes = maxbytes
        self.fewest = fewest
        self._entries: dict[CacheKey, tuple[Any, int]] = {}
        self.forget()
        forgets(self)

    def forget(self) -> None:
        """Keep the values in a forked child; whoever held the lock is not there."""
        self._lock = Lock()

    def get(self, key: CacheKey, make: Callable[[], Any]) -> Any:
        """Return the value of a key, making it on a miss (outside the lock: two threads may both make it).

        Python's collector is off meanwhile, since what is made stays: it is programs, plans and their nodes.
        """
        entry = self._found(key)
        if entry is not None:
            return entry[0]
        with self._lock:
            self._shrink(self.fewest - 1)  # so that what is made finds the memory of what it takes the place of
        value = collector_paused(make)
        self.put(key, value)
        return value

    def find(self, key: CacheKey) -> Any:
        """Return the value of a key, or None."""
        entry = self._found(key)
        return None if entry is None else entry[0]

    def _found(self, key: CacheKey) -> tuple[Any, int] | None:
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is not None:
                self._entries[key] = entry  # last in order: the latest used; comparing long keys once is enough
            return entry

    def put(self, key: CacheKey, value: Any) -> None:
        """Keep a value."""
        size = held_bytes(value) + _key_bytes(key)
        with self._lock:
            self.held += size - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = value, size
            if self.held > self._maxbytes:  # an interrupt may have taken an entry and left its size
                self.held = sum(held for _, held in self._entries.values())
            self._shrink(self.fewest)

    def _shrink(self, fewest: int) -> None:
        """Forget the values that were used longest ago, while there are too many, or they hold too much."""
        while len(self._entries) > self._maxsize or (self.held > self._maxbytes and len(self._entries) > fewest):
            self.held -= self._entries.pop(next(iter(self._entries)))[1]

    def items(self) -> list[tuple[Any, Any]]:
        """Return the keys and values, the latest used last."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._entries.items()]

    def __len__(self) -> int:
        return len(self._entries)


EXECUTABLES = Cache(1024)
"""Executables, by executor, program, options and, of native functions, signature; None where there is no function."""
BUILT = Cache(512)
"""Programs of derivatives, by transform, canonical key of what is differentiated, and options."""
