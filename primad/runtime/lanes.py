"""Running lanes of work on threads, with BLAS held to one thread meanwhile.

The number of lanes is the program's business, the number of threads the machine's: results are combined in the order of
the lanes, so they do not depend on the threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import Condition, Event, Lock, local
from typing import TYPE_CHECKING, Any

from primad.errors import ShapeError

MAX_LANES = 16
"""Work is cut into at most so many lanes, whatever the number of threads."""

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


def _default_threads() -> int:
    text = os.environ.get("PRIMAD_NUM_THREADS", "")
    if text.isdigit() and int(text) > 0:
        return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Threads:
    """The process-wide thread count and the pool that has it."""

    def __init__(self) -> None:
        self.count = _default_threads()
        self._pool: ThreadPoolExecutor | None = None
        self._workers = 0
        self._lock = Lock()

    def submit(self, work: Callable[[], Any], workers: int) -> list[Future[Any]]:
        """Submit the same work several times to one pool, which later calls may replace but not under this one."""
        with self._lock:
            if self._pool is None or self._workers < workers:
                if self._pool is not None:
                    self._pool.shutdown(wait=False)
                self._workers = max(self.count, workers)
                from concurrent.futures import ThreadPoolExecutor  # brings logging along: only when first needed

                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="primad")
            return [self._pool.submit(work) for _ in range(workers)]

    def resize(self, count: int) -> None:
        with self._lock:
            self.count = count
            if self._pool is not None:
                self._pool.shutdown(wait=False)
            self._pool = None

    def forget(self) -> None:
        """Start again in a forked child, which has the parent's pool but none of its threads."""
        self._lock = Lock()
        self._pool = None


_THREADS = _Threads()
_THREAD = local()
"""Whether this thread runs a lane (a program that a lane calls must not wait for the threads that run lanes), and how
many threads the call that it makes may have."""


def set_num_threads(count: int) -> None:
    """Set how many threads programs run on; results do not depend on it.

    Args:
        count: 1 or more. The default is the number of processors, or the environment variable PRIMAD_NUM_THREADS.

    Raises:
        ShapeError: if it is not a positive integer.

    Example:
        >>> import primad
        >>> primad.set_num_threads(2)
        >>> primad.get_num_threads()
        2
    """
    check_thread_count(count, "set_num_threads")
    if count != _THREADS.count:
        _THREADS.resize(count)


def check_thread_count(count: Any, what: str) -> None:
    """Raise unless a thread count is a positive integer."""
    if not isinstance(count, int) or count < 1:
        raise ShapeError(f"{what} needs a positive integer, got {count!r}")


def get_num_threads() -> int:
    """Return how many threads programs run on."""
    return _THREADS.count


@lru_cache(maxsize=1)
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController  # examines the loaded libraries: only when first needed

    return ThreadpoolController().select(user_api="blas")


@lru_cache(maxsize=1)
def blas_has_long_vectors() -> bool:
    """Say whether BLAS uses the 512-bit vectors of a processor that has them.

    OpenBLAS may not know the processor, and take its code for an older one.
    """
    found = [library.get("architecture", "") for library in _blas().info() if library["internal_api"] == "openblas"]
    return not found or any(name in LONG_VECTORS for name in found)


LONG_VECTORS = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""The names that OpenBLAS gives to its code for such processors."""


class _BlasLimit:
    """BLAS on one thread while any caller needs it, restored when the last one leaves."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start again, in a forked child."""
        self._lock = Lock()
        self._users = 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limit = _blas().limit(limits=1)
                self._limit.__enter__()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.__exit__(None, None, None)
                    self._limit = None


single_threaded_blas = _BlasLimit()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THREADS.forget)
    os.register_at_fork(after_in_child=single_threaded_blas.forget)


@contextmanager
def threads_for_call(count: int | None) -> Iterator[None]:
    """Run what this thread calls meanwhile on so many threads; None leaves the count as it is."""
    before = getattr(_THREAD, "count", None)
    _THREAD.count = before if count is None else count
    try:
        yield
    finally:
        _THREAD.count = before


def thread_count() -> int:
    """Return how many threads a call of this thread may have."""
    return getattr(_THREAD, "count", None) or _THREADS.count


def run_lanes(work: Callable[[int, Callable[[], bool]], Any], lanes: int) -> Sequence[Any]:
    """Run `work(lane, stopped)` for each lane and return the results in order, with BLAS on one thread meanwhile.

    When one lane fails, or the user interrupts, `stopped()` tells the others, and the error reaches the caller when
    they have ended.
    """
    stop = Event()
    results: list[Any] = [None] * lanes
    waiting = iter(range(lanes))  # threads take the next lane from it; its `next` is atomic

    def run() -> None:
        try:
            for lane in waiting:
                if stop.is_set():
                    return
                results[lane] = work(lane, stop.is_set)
        except BaseException:
            stop.set()
            raise

    with single_threaded_blas():
        if min(thread_count(), lanes) == 1:
            run()
        else:
            run_on_threads(run, lanes, stop.set)
    return results


def run_on_threads(work: Callable[[], None], most: int, stop: Callable[[], None], joins: bool = False) -> None:
    """Run the same work on several threads at once, which share what there is to do.

    Args:
        work: what to run; inside a lane it runs on the lane's own thread.
        most: no more threads than this.
        stop: makes all of them end soon, when one fails or the user interrupts; the error reaches the caller then.
        joins: whether the calling thread works too, which saves waking another but delays an interrupt until the end.
    """
    if getattr(_THREAD, "lane", False):
        work()
        return
    changed = Condition()
    busy = 0
    ended = False

    def run() -> None:
        nonlocal busy
        with changed:
            if ended:
                return
            busy += 1
        _THREAD.lane = True
        try:
            work()
        finally:
            _THREAD.lane = False
            with changed:
                busy -= 1
                changed.notify()

    others = min(thread_count(), most) - joins
    try:
        futures = _THREADS.submit(run, others) if others else []
        if joins:
            try:
                _THREAD.lane = True
                work()
            finally:
                _THREAD.lane = False
            futures = [future for future in futures if not future.cancel()]  # nothing is left for late threads
        for future in futures:
            future.result()
    except BaseException:
        # An interrupt may come anywhere in this thread, also in the block that ends a lane or before all work is handed
        # over. So other threads count what they run where they run it, and this one is not counted at all.
        _THREAD.lane = False
        # What threads write to may be the caller's, who has it back with the error.
        with changed:
            ended = True
            stop()
            changed.wait_for(lambda: not busy)
        raise
