"""A bounded cache that threads share: the least recently used entry goes first."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

_MISSING = object()


class Cache:
    """Values by key, at most `maxsize` of them."""

    def __init__(self, maxsize: int) -> None:
        self._maxsize = maxsize
        self._entries: dict[Hashable, Any] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the value of a key, making it on a miss (outside the lock: two threads may both make it)."""
        with self._lock:
            value = self._entries.pop(key, _MISSING)
            if value is not _MISSING:
                self._entries[key] = value  # last in order: the latest used; comparing long keys once is enough
                return value
        value = make()
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = value
            while len(self._entries) > self._maxsize:
                del self._entries[next(iter(self._entries))]
        return value

    def __len__(self) -> int:
        return len(self._entries)


PLANS = Cache(512)
"""Plans by (transform, canonical key of the primal program, options)."""
BUILT = Cache(512)
"""Programs that derivative composites lower to, by the same kind of key."""
WHOLE = Cache(512)
"""Native functions of small programs, by the same kind of key and how they are called; None where there is none."""
