"""Running chunks of work on threads, with BLAS held to one thread meanwhile.

The number of chunks is the program's business, the number of threads the machine's: results are combined in the order
of the chunks, so they do not depend on the threads.
"""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock, local
from typing import Any

from primad.errors import ShapeError
from primad.system.environment import whole_number
from primad.system.machine import blas, processors
from primad.system.process import Held, forgets, surely

MOST_CHUNKS = 16
"""Chunks that work is cut into, at most, whatever the number of threads. Chosen: each has partial sums of its own, and
16 keep as many threads busy. They are added in order: the last bits of sums depend on it."""

MOST_THREADS = 2**16
"""Threads that may be asked for. Chosen: more than any machine has; a larger number is a slip."""


def _default_threads() -> int:
    return whole_number("PRIMAD_NUM_THREADS", most=MOST_THREADS) or processors()


class _Threads:
    """The process-wide thread count, and threads that wait for jobs; they end with the process.

    Not a pool of `concurrent.futures`: an interrupt may leave its locks with the main thread.
    """

    def __init__(self) -> None:
        self.count = _default_threads()
        self.forget()
        forgets(self)

    def forget(self) -> None:
        """Start again in a forked child, which has none of the threads."""
        self._lock = Lock()
        self._running = 0
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def submit(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Hand jobs to threads, of which there are at least as many; a job raises nothing."""
        with self._lock:
            while self._running < len(jobs):
                start_new_thread(_serve, (self._jobs,))
                self._running += 1
        for job in jobs:
            self._jobs.put(job)


def _serve(jobs: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        jobs.get()()


_THREADS = _Threads()
_THREAD = local()
"""Whether this thread runs a chunk (a program that a chunk calls must not wait for the threads that run chunks), and
how many threads the call that it makes may have."""


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
    _THREADS.count = count


def check_thread_count(count: Any, what: str) -> None:
    """Raise unless a thread count is a positive integer."""
    if not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
        raise ShapeError(
            f"{what} needs a positive integer, {MOST_THREADS} at most, got {count!r}",
            fix=f"write a whole number from 1 to {MOST_THREADS}.",
        )


def get_num_threads() -> int:
    """Return how many threads programs run on."""
    return _THREADS.count


def _blas_threads() -> list[tuple[Any, int]]:
    return [(library, library.num_threads) for library in blas().lib_controllers]


def _limit_blas() -> None:
    for library in blas().lib_controllers:
        library.set_num_threads(1)


def _restore_blas(before: list[tuple[Any, int]]) -> None:
    for library, count in before:
        library.set_num_threads(count)


single_threaded_blas = Held(_blas_threads, _limit_blas, _restore_blas)
"""Runs work with BLAS on one thread."""


def on_threads(count: int, work: Callable[[], Any]) -> Any:
    """Run work whose calls, on this thread, may have so many threads."""
    before = getattr(_THREAD, "count", None)

    def limited() -> Any:
        _THREAD.count = count
        return work()

    return surely(limited, lambda: setattr(_THREAD, "count", before))


def thread_count() -> int:
    """Return how many threads a call of this thread may have."""
    return getattr(_THREAD, "count", None) or _THREADS.count


def run_chunks(work: Callable[[int, Callable[[], bool]], Any], chunks: int) -> Sequence[Any]:
    """Run `work(chunk, stopped)` for each chunk and return the results in order, with BLAS on one thread meanwhile.

    When one chunk fails, or the user interrupts, `stopped()` tells the others, and the error reaches the caller when
    they have ended.
    """
    stop = Event()
    results: list[Any] = [None] * chunks
    waiting = iter(range(chunks))  # threads take the next chunk from it; its `next` is atomic

    def run() -> None:
        try:
            for chunk in waiting:
                if stop.is_set():
                    return
                results[chunk] = work(chunk, stop.is_set)
        except BaseException:
            stop.set()
            raise

    def run_all() -> None:
        if min(thread_count(), chunks) == 1:
            run()
        else:
            run_on_threads(run, chunks, stop.set)

    single_threaded_blas(run_all)
    return results


def run_on_threads(work: Callable[[], None], most: int, stop: Callable[[], None], joins: bool = False) -> None:
    """Run the same work on several threads at once, which share what there is to do.

    Args:
        work: what to run; inside a chunk it runs on the chunk's own thread.
        most: no more threads than this.
        stop: makes all of them end soon, when one fails or the user interrupts; the error reaches the caller then.
        joins: whether the calling thread works too, which saves waking another but delays an interrupt until the end.
    """
    if getattr(_THREAD, "chunk", False):
        work()
        return
    seats = [Lock() for _ in range(min(thread_count(), most) - joins)]
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    late = False

    def run(seat: Lock) -> None:
        error = None
        with seat:  # as long as this thread works, and the caller waits
            if late:
                return
            _THREAD.chunk = True
            try:
                work()
            except BaseException as caught:
                error = caught
            _THREAD.chunk = False
            ended.put(error)

    try:
        _THREADS.submit([partial(run, seat) for seat in seats])
        if joins:
            try:
                _THREAD.chunk = True
                work()
            finally:
                _THREAD.chunk = False
            late = True  # nothing is left for threads that begin now
            _wait_for(seats)
            count = ended.qsize()
        else:
            count = len(seats)
        for _ in range(count):
            _raise(ended.get())
    except BaseException:
        # An interrupt may come anywhere in this thread, also in the block that ends a chunk or before all work is
        # handed over. What threads write to may be the caller's, who has it back with the error.
        _THREAD.chunk = False
        late = True
        stop()
        _wait_for(seats)
        raise


def _wait_for(seats: Sequence[Lock]) -> None:
    """Wait for the threads that work; those that begin now find that there is nothing left."""
    for seat in seats:
        with seat:
            pass


def _raise(error: BaseException | None) -> None:
    """Raise another thread's error, if there is one, without keeping what it refers to alive."""
    try:
        if error is not None:
            raise error
    finally:
        del error
