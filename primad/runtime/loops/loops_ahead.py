"""Loops that are made ahead: while the first of a program is compiled and runs, threads make the next ones.

What is made is the same as without.
"""

from __future__ import annotations

import atexit
from _thread import LockType, start_new_thread
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from threading import Lock
from typing import Any

from primad.native.llvm.compiler import WRITTEN
from primad.system.process import forgets


class LoopsAhead:
    """What threads make, and will make, by key.

    Who asks for a value waits while it is made, and makes it where that has not begun. A thread begins with a value
    when it has the turn to write, which it passes on when LLVM begins, or when it waits: so none that is waited for
    waits for a turn.
    """

    def __init__(self) -> None:
        self.forget()
        forgets(self)

    def forget(self) -> None:
        """Begin anew, in a forked child, which has no threads."""
        self._waiting: dict[Hashable, tuple[Callable[[], Any], Context]] = {}
        self._making: dict[Hashable, LockType] = {}
        self._writers: set[object] = set()
        self._turn = Lock()

    def begin(self, makers: Mapping[Hashable, Callable[[], Any]]) -> None:
        """Begin to make values, in their order, on threads, if there can be some.

        Args:
            makers: by key, what makes each; where that fails, who asks for the value makes it again, and sees why.
        """
        for key, make in makers.items():
            if key not in self._making:
                self._waiting[key] = make, copy_context()
        # Of two threads one writes while LLVM, which compiles one text at a time, has that of the other.
        for _ in range(min(len(self._waiting), 2 - len(self._writers))):
            writer = object()
            self._writers.add(writer)
            try:
                start_new_thread(self._make_all, (writer,))
            except RuntimeError:
                self._writers.discard(writer)
        if not self._writers:
            self._waiting.clear()

    def _make_all(self, writer: object) -> None:
        while True:
            while self._waiting:
                self._make_next(self._turn)
            self._writers.discard(writer)
            if not self._waiting:  # who began more before this saw a writer, and may have started none
                return
            self._writers.add(writer)

    def _make_next(self, turn: LockType) -> None:
        turn.acquire()
        held = iter([turn])

        def pass_on() -> None:
            for lock in held:
                lock.release()

        try:
            with suppress(StopIteration, RuntimeError):  # somebody else has taken the last one
                self._make(next(iter(self._waiting)), pass_on)
        finally:
            pass_on()

    def _make(self, key: Hashable, pass_on: Callable[[], None]) -> None:
        done = Lock()
        with done:
            self._making[key] = done  # first, so that who asks finds it either waiting or being made
            try:
                make, context = self._waiting.pop(key, (None, None))
                if make is not None and context is not None:
                    context.run(WRITTEN.set, pass_on)
                    context.run(make)
            except Exception:  # who asks makes it again, and sees why
                return
            finally:
                self._making.pop(key, None)

    def wait(self, key: Hashable) -> None:
        """Wait for a value that is being made; one that has not begun is left to who asks."""
        if not self._waiting and not self._making:  # as for most of all runs of loops
            return
        if self._waiting.pop(key, None) is not None:
            return
        WRITTEN.get()()
        done = self._making.get(key)
        while done is not None and self._making.get(key) is done:
            if done.acquire(timeout=0.05):  # again, where an interrupt came to another one before it could release
                done.release()

    def end(self) -> None:
        """Begin with no further value, and wait for those that are being made: LLVM's memory goes with the process."""
        self._waiting.clear()
        for key in list(self._making):
            self.wait(key)


AHEAD = LoopsAhead()
atexit.register(AHEAD.end)
