"""The processes of a job that MPI started, and the sums that they make together, in an order that is always the same.

Nothing here knows what is summed. The leaves of a sum are numbered, each process has a range of them, and the tree in
which they are added is that of their numbers: who has which leaf changes the messages and not the sum.
"""

from __future__ import annotations

import pickle
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, TypeVar

import numpy as np

from primad.errors import ShapeError, TracingError, warn
from primad.system.machine import facts_for_bits, processors

T = TypeVar("T")
Part = list[np.ndarray[Any, Any]]
"""What a leaf adds to a sum: arrays of the same shapes and dtypes from every leaf."""


class Ranks:
    """The processes of a job: how many there are, and which one this is.

    Attributes:
        rank: the number of this process, from 0.
        size: how many there are.
        here: how many of them share this machine's processors.
    """

    def __init__(self) -> None:
        self._comm = _communicator()
        self.rank: int = self._comm.rank
        self.size: int = self._comm.size
        self.here = 1
        self._alike = True
        if self.size > 1:
            told = self._comm.allgather(facts_for_bits())
            self._alike = all(one == told[0] for one in told)
            if not self._alike and self.rank == 0:
                _warn_of_differences(told)
            shared = self._comm.Split_type(_mpi().COMM_TYPE_SHARED)
            self.here = shared.size
            shared.Free()
            self._end_together()

    @property
    def threads(self) -> int:
        """How many threads each process on this machine may have."""
        return max(1, processors() // self.here)

    def owner(self, leaf: int, leaves: int) -> int:
        """Return which process has one of so many leaves."""
        return ((leaf + 1) * self.size - 1) // leaves

    def own(self, leaves: int) -> range:
        """Return the leaves that this process has.

        Raises:
            ShapeError: if there are fewer leaves than processes.
        """
        if leaves < self.size:
            raise ShapeError(
                f"{self.size} processes cannot share {leaves} chunks of points",
                why="A chunk belongs to one process, and the number of chunks is the same for any number of them: the "
                "last bits of results depend on it.",
                fix=f"share points in more chunks: primad.Share.of(array, chunks={self.size}), or a multiple.",
            )
        return range(self.rank * leaves // self.size, (self.rank + 1) * leaves // self.size)

    def total(
        self, leaves: int, used: int, leaf: Callable[[int], Part], like: Part, signature: Mapping[str, int]
    ) -> Part:
        """Return the sum of all leaves, with the same bits in every process and for any number of them.

        Args:
            leaves: how many there are.
            used: how many of these, the first ones, have something to add.
            leaf: computes a leaf that this process has.
            like: arrays of the shapes and dtypes of the sum.
            signature: numbers that are equal where processes compute the same, by what they are of.

        Raises:
            Exception: in every process what a leaf raised in one of them, with a note that names it.
            TracingError: if the processes do not compute the same.
        """
        mine = self.own(leaves)
        agreement = _Agreement(self._comm, {**signature, **_sizes(leaves, used, like)}) if self.size > 1 else None
        header = np.zeros(1, np.int64)  # which process failed
        failure: BaseException | None = None
        known: dict[tuple[int, int], Part] = {}
        try:
            _add_up(0, used, range(mine.start, min(mine.stop, used)), leaf, known)
        except Exception as error:
            if self.size == 1:
                raise
            failure, header[0] = error, self.rank + 1
            _add_up(0, used, range(mine.start, min(mine.stop, used)), lambda i: [x.copy() for x in like], known)
        if agreement is None:
            return known[0, used]
        agreement.check()
        found = self._joined(0, used, leaves, known, _Messages(self._comm, like, header))
        found = _Messages(self._comm, like, header).sent_to_all(found)
        if header[0]:
            self._raise(int(header[0]), failure)
        return found

    def _joined(self, start: int, stop: int, leaves: int, known: dict[tuple[int, int], Part], by: _Messages) -> Any:
        """Return the sum of a range of leaves where its first leaf is; None elsewhere."""
        mine = self.own(leaves)
        if (start, stop) in known:
            return known[start, stop]
        if stop <= mine.start or mine.stop <= start:
            return None
        middle = (start + stop) // 2
        left = self._joined(start, middle, leaves, known, by)
        right = self._joined(middle, stop, leaves, known, by)
        to, of = self.owner(start, leaves), self.owner(middle, leaves)
        if to == of:
            return _added(left, right) if self.rank == to else None
        if self.rank == to:
            return _added(left, by.received_from(of))
        if self.rank == of:
            by.send_to(to, right)
        return None

    def _raise(self, rank: int, failure: BaseException | None) -> NoReturn:
        """Raise, in every process, what one of them raised."""
        error: BaseException = self._comm.bcast(None if failure is None else _sendable(failure), root=rank - 1)
        error = failure or error
        error.add_note(f"  raised in process {rank - 1} of {self.size}")
        raise error

    def same(self, value: Any) -> Any:
        """Return what process 0 has of a value, in every process: for what is drawn, timed or read.

        Example:
            >>> import time, primad
            >>> team = primad.ranks()
            >>> late = team.same(time.monotonic() > 1e9)
        """
        return value if self.size == 1 else self._comm.bcast(value, root=0)

    def led(self, work: Callable[[], Any]) -> Any:
        """Return in every process what process 0 finds, which alone does the work: what is read, decided or asked.

        Raises:
            Exception: in every process what the work raised, with a note that names the process.

        Example:
            >>> import json, primad
            >>> primad.ranks().led(lambda: json.loads("[1, 2]"))
            [1, 2]
        """
        if self.size == 1:
            return work()
        found, failure = None, None
        if self.rank == 0:
            try:
                found = work()
            except Exception as error:
                failure = error
        failed, found = self._comm.bcast((failure is not None, found), root=0)
        if failed:
            self._raise(1, failure)
        return found

    def gathered(self, own: T) -> list[T]:
        """Return what all processes have, by their numbers, in every process."""
        return [own] if self.size == 1 else list(self._comm.allgather(own))

    def agreed(self, arrays: list[Any]) -> list[Any]:
        """Return arrays that all processes computed, as process 0 has them if their machines may compute others.

        On equal machines they are equal, and nothing is sent.
        """
        return arrays if self._alike else list(self.same(arrays))

    def _end_together(self) -> None:
        """Let an exception that nobody catches end all processes: the others would wait for this one's messages."""
        before, comm = sys.excepthook, self._comm
        said = f"process {self.rank} of {self.size}"

        def end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
            before(kind, error, traceback)
            print(f"primad: {said} ended by {kind.__name__}: {error}; the job ends", file=sys.stderr, flush=True)
            comm.Abort(1)

        sys.excepthook = end

    def __repr__(self) -> str:
        return f"<process {self.rank} of {self.size}>"


class _Agreement:
    """What says whether all processes compute the same: asked before they compute, answered when they have.

    So it takes no time of its own, and messages of a sum fit each other when they are sent.

    Args:
        comm: between whom.
        signature: numbers by what they are of.
    """

    def __init__(self, comm: Any, signature: Mapping[str, int]) -> None:
        self._comm, self._signature = comm, dict(signature)
        number = checksum([np.array([*signature.values()], np.int64)])
        self._most = np.zeros(2, np.int64)
        self._sent = np.array([number, -number], np.int64)
        self._request = comm.Iallreduce(self._sent, self._most, op=_mpi().MAX)

    def check(self) -> None:
        """Wait for the answer.

        Raises:
            TracingError: in every process, if they differ: which one, and in what.
        """
        self._request.Wait()
        if self._most[0] == -self._most[1]:
            return
        told = self._comm.allgather(self._signature)
        rank = next(i for i, one in enumerate(told) if one != told[0])
        names = [name for name in {**told[0], **told[rank]} if told[0].get(name) != told[rank].get(name)]
        raise TracingError(
            f"the processes do not compute the same: process {rank} has other {' and other '.join(names)} than "
            "process 0",
            why="Every process calls the same functions in the same order, of the same number of points. What is no "
            "Share is the same in every process, such as parameters: so are random numbers that it is made of.",
            fix="seed generators alike in all processes, and decide nothing by the clock or by the rank; "
            "primad.ranks().same(value) is what process 0 has.",
        )


def _sizes(leaves: int, used: int, like: Part) -> dict[str, int]:
    """Return numbers that tell sums from others."""
    arrays = repr([(array.shape, array.dtype.str) for array in like]).encode()
    return {"chunks of points": leaves + (used << 32), "shapes of sums": zlib.crc32(arrays)}


class _Messages:
    """Messages of a sum: a header, and the arrays.

    Args:
        comm: between whom.
        like: arrays of the shapes and dtypes of the sum.
        header: of this process; what others say is noted in it.
    """

    def __init__(self, comm: Any, like: Part, header: Any) -> None:
        self._comm, self._like, self._header = comm, like, header
        self._size = header.nbytes + sum(array.nbytes for array in like)

    def send_to(self, rank: int, part: Part) -> None:
        self._comm.Send(self._packed(part), dest=rank)

    def received_from(self, rank: int) -> Part:
        buffer = np.empty(self._size, np.uint8)
        self._comm.Recv(buffer, source=rank)
        header, part = self._unpacked(buffer)
        self._header[0] = self._header[0] or header[0]
        return part

    def sent_to_all(self, part: Part | None) -> Part:
        buffer = np.empty(self._size, np.uint8) if part is None else self._packed(part)
        self._comm.Bcast(buffer, root=0)
        header, found = self._unpacked(buffer)
        self._header[:] = header
        return found

    def _packed(self, part: Part) -> Any:
        return np.concatenate([np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (self._header, *part)])

    def _unpacked(self, buffer: Any) -> tuple[Any, Part]:
        found, start = [], 0
        for like in (self._header, *self._like):
            found.append(buffer[start : start + like.nbytes].view(like.dtype).reshape(like.shape))
            start += like.nbytes
        return found[0], found[1:]


def _add_up(
    start: int, stop: int, mine: range, leaf: Callable[[int], Part], known: dict[tuple[int, int], Part]
) -> None:
    """Compute the sums of all ranges of leaves that a process has whole, and that are part of no such range."""
    if stop <= mine.start or mine.stop <= start:
        return
    if mine.start <= start and stop <= mine.stop:
        known[start, stop] = _summed(start, stop, leaf)
        return
    middle = (start + stop) // 2
    _add_up(start, middle, mine, leaf, known)
    _add_up(middle, stop, mine, leaf, known)


def _summed(start: int, stop: int, leaf: Callable[[int], Part]) -> Part:
    if stop == start + 1:
        return leaf(start)
    middle = (start + stop) // 2
    return _added(_summed(start, middle, leaf), _summed(middle, stop, leaf))


def _added(left: Part, right: Part) -> Part:
    """Add the right part to the left one."""
    for x, y in zip(left, right, strict=True):
        np.add(x, y, out=x)
    return left


def _warn_of_differences(told: Sequence[dict[str, Any]]) -> None:
    """Say which process computes other last bits than process 0, and why."""
    rank = next(i for i, one in enumerate(told) if one != told[0])
    names = [name for name in told[0] if told[rank][name] != told[0][name]]
    warn(
        f"process {rank} computes other last bits than process 0, since its {' and '.join(names)} differ: results "
        "depend on the number of processes, and what all of them compute is taken from process 0",
        RuntimeWarning,
    )


def _sendable(error: BaseException) -> BaseException:
    """Return an error as another process can read it, without what else it refers to."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an error of somebody else's does when it is pickled
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def checksum(arrays: Sequence[Any], start: int = 0) -> int:
    """Return a number that is most likely another one for other arrays."""
    for array in arrays:
        start = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, start)
    return start


_KNOWN: list[Ranks] = []
"""The processes of this job, once they were asked for; no more than one entry."""


def ranks() -> Ranks:
    """Return the processes of the job that this one belongs to, as `mpiexec -n 4 python script.py` starts them.

    Without `mpiexec` there is one. From the first call on, an exception that nobody catches in one process ends all;
    `sys.exit` is none: the others go on, and wait.

    Returns:
        an object with the attributes `rank` (the number of this process), `size` (how many there are), and a method
        `same(value)` for what process 0 decides.

    Raises:
        TracingError: if mpi4py is not installed, or finds no MPI.

    Example:
        >>> import primad
        >>> team = primad.ranks()
        >>> team.rank, team.size
        (0, 1)
    """
    if not _KNOWN:
        _KNOWN.append(Ranks())
    return _KNOWN[0]


def joined() -> Ranks | None:
    """Return the processes of the job if they were asked for before; a program that never did has itself only."""
    return _KNOWN[0] if _KNOWN else None


def is_awaited() -> bool:
    """Say whether other processes of a job wait for this one: what it does not do they never see."""
    team = joined()
    return team is not None and team.size > 1


def _mpi() -> Any:
    try:
        from mpi4py import MPI  # loads, and starts MPI, when it is first needed
    except (ImportError, RuntimeError) as error:
        raise TracingError(
            "the processes of a job need mpi4py and an MPI, and they are not installed",
            why=str(error),
            fix="pip install 'primad[mpi]'.",
        ) from None
    return MPI


def _communicator() -> Any:
    """Return a communicator of primad's own, so that its messages meet no others."""
    return _mpi().COMM_WORLD.Dup()
