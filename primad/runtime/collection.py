"""Planning without collections of garbage in between.

A plan of thousands of nodes makes so many objects that Python looks through all that there are, several times, for a
sixth of the time of a first call; hardly any of them is garbage before the plan is made.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Pause:
    """Python's collector off while any caller needs it, and as it was when the last one leaves."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: set[object] = set()
        self._was_on = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        user = object()
        try:  # around all of it: an interrupt may come anywhere
            with self._lock:
                if not self._users:
                    self._was_on = gc.isenabled()
                self._users.add(user)
                gc.disable()
            yield
        finally:
            with self._lock:
                self._users.discard(user)
                if not self._users and self._was_on:
                    gc.enable()

    def forget(self) -> None:
        """Start again, in a forked child."""
        self._lock = Lock()
        if self._users and self._was_on:
            gc.enable()
        self._users.clear()


collector_paused = _Pause()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=collector_paused.forget)
