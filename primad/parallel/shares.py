"""Points that are shared by the processes of a job: each has some rows of an array of which all know the shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.ir.array_types import ArrayType
from primad.parallel.job import Ranks, ranks
from primad.parallel.threads import MOST_CHUNKS

CHUNKS = MOST_CHUNKS
"""Chunks that points are cut into where nobody says how many. Chosen: as many as tiles are run in, each with sums of
its own. The last bits of results depend on it."""


class Chunks:
    """The chunks of some points: how many rows each has, for any number of processes.

    Args:
        rows: how many points there are.
        count: how many chunks they are cut into; fewer points than that leave the last ones empty.
    """

    def __init__(self, rows: int, count: int) -> None:
        self.rows, self.count = rows, count
        self.length = -(-rows // count)

    @property
    def used(self) -> int:
        """How many chunks have points."""
        return -(-self.rows // self.length)

    def span(self, chunk: int) -> tuple[int, int]:
        """Return the first row of a chunk, and the first one after it."""
        return min(chunk * self.length, self.rows), min((chunk + 1) * self.length, self.rows)

    def spans(self, chunks: range) -> tuple[int, int]:
        """Return the first row of chunks that follow each other, and the first one after them."""
        return self.span(chunks.start)[0], max(self.span(chunks.start)[0], self.span(chunks.stop - 1)[1])


class Share:
    """This process's part of points that the processes of a job share: what `distribute`d functions take.

    Points are cut into chunks, which do not depend on the number of processes, and each process has some that follow
    each other. `Share.of` takes its part of an array that every process can read, `Share.drawn` draws it, and
    `Share(part, rows)` is given it.

    Args:
        part: the rows that this process has.
        rows: how many all processes have together.
        axis: the axis of the array along which the points lie.
        chunks: how many chunks there are.

    Attributes:
        part: the rows that this process has.
        start: the place of the first of them among all.
        axis: the axis of the array along which the points lie.
        chunks: the chunks.

    Raises:
        ShapeError: if the part is not the one that this process is to have, if there are no points, or fewer chunks
            than processes.
        TracingError: if mpi4py is not installed.

    Example:
        >>> import numpy as np, primad
        >>> points = primad.Share.of(np.linspace(0.0, 1.0, 5)[:, None])
        >>> points.type, points.part.shape
        (float64[5,1], (5, 1))
    """

    def __init__(self, part: Any, rows: int, axis: int = 0, chunks: int = CHUNKS) -> None:
        self.part: np.ndarray[Any, Any] = np.asarray(part)
        _check_counts(rows, chunks)
        if not -self.part.ndim <= axis < self.part.ndim:
            raise ShapeError(
                f"a Share cannot lie along axis {axis} of an array of shape {self.part.shape}",
                fix="name one of its axes, the one along which the points lie.",
            )
        self.axis = axis % self.part.ndim
        self.chunks = Chunks(rows, chunks)
        self.start, stop = self.chunks.spans(ranks().own(chunks))
        if self.part.shape[self.axis] != stop - self.start:
            raise ShapeError(
                f"{ranks()!r} is to have rows {self.start} to {stop} of {rows}, and was given "
                f"{self.part.shape[self.axis]} along axis {axis}",
                fix="ask which: primad.Share.rows(rows, chunks); or let primad take them: primad.Share.of(array).",
            )

    @staticmethod
    def rows(rows: int, chunks: int = CHUNKS) -> slice:
        """Return which rows of so many this process is to have.

        Example:
            >>> import primad
            >>> primad.Share.rows(1000)
            slice(0, 1000, None)
        """
        _check_counts(rows, chunks)
        return slice(*Chunks(rows, chunks).spans(ranks().own(chunks)))

    @classmethod
    def of(cls, array: Any, axis: int = 0, chunks: int = CHUNKS) -> Share:
        """Take this process's part of an array that all of them can read, such as a memory-mapped file.

        Args:
            array: the whole array. Nothing of it is copied, and other processes' rows are not read.
            axis: the axis along which the points lie.
            chunks: how many chunks there are.
        """
        array = np.asanyarray(array)
        if not -array.ndim <= axis < array.ndim:
            raise ShapeError(
                f"a Share cannot lie along axis {axis} of an array of shape {array.shape}",
                fix="name one of its axes, the one along which the points lie.",
            )
        own = cls.rows(array.shape[axis], chunks)
        return cls(array[(*(slice(None),) * (axis % array.ndim), own)], array.shape[axis], axis, chunks)

    @classmethod
    def drawn(cls, draw: Callable[[int, int], Any], rows: int, key: int, chunks: int = CHUNKS) -> Share:
        """Draw this process's points: each chunk with a key of its own, so they are the same for any number of ranks.

        Args:
            draw: a function (key, count) of an array of so many rows, such as
                `lambda key, count: primad.nn.uniform(key, (count, 2))`, or one that seeds a generator.
            rows: how many points all processes draw together.
            key: an integer; another key gives other points.
            chunks: how many chunks there are.

        Example:
            >>> import primad
            >>> points = primad.Share.drawn(lambda key, count: primad.nn.uniform(key, (count, 2)), 1000, key=3)
            >>> points.type
            float64[1000,2]
        """
        _check_counts(rows, chunks)
        cut = Chunks(rows, chunks)
        keys = np.random.Philox(key=key % 2**64).random_raw(chunks) >> np.uint64(1)
        own = ranks().own(chunks)
        counts = [stop - start for start, stop in map(cut.span, own)]
        # A process without points still has arrays of the right shape.
        parts = [np.asarray(draw(int(keys[i]), n)) for i, n in zip(own, counts, strict=True) if n or i == own.start]
        return cls(np.concatenate(parts), rows, 0, chunks)

    @property
    def type(self) -> ArrayType:
        """The type of the array that all processes have together."""
        shape = list(self.part.shape)
        shape[self.axis] = self.chunks.rows
        return ArrayType(tuple(shape), self.part.dtype)

    def chunk(self, number: int) -> Any:
        """Return the rows of a chunk that this process has."""
        start, stop = self.chunks.span(number)
        return self.part[(*(slice(None),) * self.axis, slice(start - self.start, stop - self.start))]

    def whole(self) -> np.ndarray[Any, Any]:
        """Return the array that all processes have together, in every process: all call this, as often.

        Example:
            >>> import numpy as np, primad
            >>> x = primad.Share.of(np.array([1.0, 2.0, 3.0]))
            >>> primad.distribute(lambda x: x**2)(x).whole()
            array([1., 4., 9.])
        """
        return np.concatenate(ranks().gathered(self.part), axis=self.axis)

    def like(self, part: Any, axis: int) -> Share:
        """Return the same rows of another array."""
        return Share(part, self.chunks.rows, axis, self.chunks.count)

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise TracingError(
            f"a Share of {self.type} is no array: this process has {self.part.shape[self.axis]} rows of it",
            why="What all processes compute together goes through one function.",
            fix="call primad.distribute(f)(…, share), outside of other transforms; its own rows are share.part, and "
            "share.whole() are those of all.",
        )

    def __repr__(self) -> str:
        stop = self.start + self.part.shape[self.axis]
        return f"<rows {self.start} to {stop} of {self.type}, in {self.chunks.count} chunks>"


def _check_counts(rows: int, chunks: int) -> None:
    for what, count in (("points", rows), ("chunks", chunks)):
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise ShapeError(
                f"a Share needs a positive number of {what}, got {count!r}", fix="write a whole number, 1 or more."
            )


def over_ranks(shares: list[Share], leaf: Callable[[int], Any], like: Any, signature: Mapping[str, int]) -> Any:
    """Return the sum over the chunks of points of what each adds, in every process (see `Ranks.total`).

    Args:
        shares: what is cut into these chunks.
        leaf: computes what a chunk adds.
        like: arrays of the shapes and dtypes of the sum.
        signature: numbers that are equal where processes compute the same, by what they are of.

    Raises:
        ShapeError: if the points of one are cut into another number of chunks than those of another.
    """
    counts = {share.chunks.count for share in shares}
    if len(counts) > 1:
        raise ShapeError(
            f"points that are cut into {' and '.join(map(str, sorted(counts)))} chunks cannot meet in one function",
            fix="give all Shares the same number: primad.Share.of(array, chunks=…).",
        )
    used = max(share.chunks.used for share in shares)
    team: Ranks = ranks()
    return team.total(counts.pop(), used, leaf, like, signature)


def shares_in(leaves: Any) -> Iterator[Share]:
    """Yield what of some arguments is shared."""
    return (leaf for leaf in leaves if isinstance(leaf, Share))
