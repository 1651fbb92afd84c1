"""What keeps the process whole where an interrupt, or a fork, comes in the middle of something.

Python runs the handlers of signals, such as the one that raises KeyboardInterrupt, on the main thread, between any two
instructions. So a function that puts something right may itself be cut short, and of Python's own tools those that are
written in Python (`Condition`, `Future`, `Thread.start`, context managers made of generators) can be left with a lock
that nobody gives back. Here and where threads meet stand only locks and queues that are written in C, which are taken
and given back at once or not at all.
"""

from __future__ import annotations

import gc
import os
import threading
from _thread import start_new_thread
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import update_wrapper
from queue import SimpleQueue
from threading import Lock, RLock
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast
from weakref import ref

import numpy as np

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


def surely(work: Callable[[], Value], undo: Callable[[], None]) -> Value:
    """Run `work`, then `undo`, also where an interrupt comes in either.

    Args:
        work: what to run.
        undo: puts right what `work` changed; no harm where nothing is to be put right, or only a part.
    """
    try:
        return work()
    finally:
        try:
            undo()
        except BaseException:
            undo()
            raise


def undisturbed(work: Callable[[], Value]) -> Value:
    """Run `work` to its end where no signal's handler comes between: on a thread that is not the main one.

    An interrupt ends the wait for it.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return work()
    ended: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            ended.put((work(), None))
        except BaseException as error:
            ended.put((None, error))

    start_new_thread(run, ())
    found: Value
    found, error = ended.get()
    if error is not None:
        raise error
    return found


class CollectorOff:
    """A context in which Python's collector is off, for what makes many objects that all stay, as an import does.

    It would look through all of them again and again, and once more, for 12 ms, in the first call after. They count as
    old at the end, unless somebody has frozen objects, which would be free again then.
    """

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # to the oldest generation, without a look at them
        _collect_again(self._was_on)


def silently(work: Callable[..., Value], *arguments: Any) -> Value:
    """Call `work` with NumPy's warnings off, in a context of its own: there is nothing to put back."""
    return copy_context().run(_silently, work, arguments)


def _silently(work: Callable[..., Value], arguments: tuple[Any, ...]) -> Value:
    with np.errstate(all="ignore"):
        return work(*arguments)


_QUIET: list[Context] = []
"""Contexts in which NumPy's warnings are off, and nothing else is set, that nobody is in."""


def quietly(work: Callable[..., Value], *arguments: Any) -> Value:
    """Call `work`, which looks at its arguments alone, with NumPy's warnings off: a fifth of the time of `silently`.

    What else is set in the caller's context, it does not see.
    """
    try:
        context = _QUIET.pop()
    except IndexError:
        context = Context()
        context.run(np.seterr, all="ignore")
    try:
        return context.run(work, *arguments)
    finally:
        _QUIET.append(context)


class _Forgets(Protocol):
    def forget(self) -> None: ...


_FORGETFUL: dict[ref[_Forgets], None] = {}
"""Weak references to objects that start again in a forked child."""


def forgets(owner: _Forgets) -> None:
    """Have an object start again in every forked child.

    A lock that another thread of the parent held would stay locked there for ever, and threads are not there at all.
    """
    _FORGETFUL[ref(owner, _FORGETFUL.pop)] = None


def _forget_all() -> None:
    for reference in list(_FORGETFUL):
        owner = reference()
        if owner is not None:
            owner.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class MadeOnce(Generic[Arguments, Value]):
    """A function that makes what the process shares: once for each combination of arguments, on whatever thread.

    `functools.lru_cache` holds no lock while its function runs. Two threads that call it first both make the thing, and
    one of them goes on with what nobody else has. That does no harm to a number or a text; a compiler, an open folder
    or a class must be one.

    Args:
        make: makes it.
        most: of how many combinations of arguments it is kept; those that were met first are forgotten first.
    """

    def __init__(self, make: Callable[Arguments, Value], most: int | None = None) -> None:
        update_wrapper(self, make)
        self._make, self._most = make, most
        self._made: dict[Any, Value] = {}
        self.forget()
        forgets(self)

    def forget(self) -> None:
        """Keep what was made in a forked child; whoever was making something is not there."""
        self._locks: dict[Any, Any] = {}

    def cache_clear(self) -> None:
        """Make it anew when it is wanted next."""
        self._made.clear()

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
        """Return what was made for these arguments, or make it while other threads wait."""
        key = (args, tuple(kwargs.items())) if kwargs else args
        found: Any = self._made.get(key, self)
        if found is not self:
            return cast(Value, found)
        # What makes it may ask for the same: then it gets one, and that one stays.
        with self._locks.setdefault(key, RLock()):
            found = self._made.get(key, self)
            if found is self:
                found = self._made.setdefault(key, self._make(*args, **kwargs))
                self._locks.pop(key, None)
                while self._most is not None and len(self._made) > self._most:
                    self._made.pop(next(iter(self._made)), None)
            return cast(Value, found)


MOST_KEPT = 512
"""Programs, or what else depends on types, that are kept for each of those who make some. Chosen: of more, few values
come again."""


def made_once(most: int | None = None) -> Callable[[Callable[Arguments, Value]], MadeOnce[Arguments, Value]]:
    """Return a decorator that makes a function a `MadeOnce`, which keeps so many of what it made."""
    return lambda make: MadeOnce(make, most)


class Held(Generic[Value]):
    """A state of the process that is changed while any caller needs it, and put back when the last one leaves.

    Args:
        read: returns the state.
        change: changes it.
        put_back: makes it what `read` returned.
    """

    def __init__(
        self, read: Callable[[], Value], change: Callable[[], None], put_back: Callable[[Value], None]
    ) -> None:
        self._read, self._change, self._put_back = read, change, put_back
        self._lock = Lock()
        self._users: set[object] = set()
        self._before: Value | None = None
        forgets(self)

    def __call__(self, work: Callable[[], Any]) -> Any:
        """Run `work` in the changed state."""
        user = object()

        def enter() -> Any:
            with self._lock:
                self._users.add(user)
                if self._before is None:
                    self._before = self._read()
                    self._change()
            return work()

        def leave() -> None:
            with self._lock:
                self._users.discard(user)
                if not self._users:
                    self._restore()

        return surely(enter, leave)

    def _restore(self) -> None:
        if self._before is not None:
            self._put_back(self._before)
            self._before = None

    def forget(self) -> None:
        """Put the state back, in a forked child, which has none of the callers."""
        self._lock = Lock()
        self._users.clear()
        self._restore()


def _collect_again(was_on: bool) -> None:
    if was_on:
        gc.enable()


collector_paused = Held(gc.isenabled, gc.disable, _collect_again)
"""Runs work with Python's collector off. A plan of thousands of nodes makes so many objects that the collector looks
through all that there are, several times, for a sixth of the time of a first call; hardly any of them is garbage before
the plan is made."""
