"""Loops whose carried values keep an axis through all steps, as a batch of simulations: its members on threads.

What one member computes depends on nothing of another. So members are cut into pieces that stay in a core's cache
through all steps, and threads share the pieces. How they are cut depends on the program alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import PrimadError
from primad.ir.node import CAPTURED, Node
from primad.ir.program import ClosedProgram, Program
from primad.native.llvm.compiler import compiler
from primad.native.loops.body_programs import most_work, step_program
from primad.parallel.threads import MOST_CHUNKS, run_on_threads
from primad.runtime.loops.driven_loops import DrivenLoop, Shape, Steps
from primad.runtime.plan.compiled_program import compiled_program
from primad.system.machine import SECOND_CACHE, THREAD_WORK
from primad.transforms.dimensions import Dimension, Dimensions
from primad.transforms.lowering import without_calls
from primad.transforms.resizing import resized

PIECE = THREAD_WORK // 8
"""Flops and bytes of a step of a piece, at least. Estimated: a tenth of what a step takes goes into the beginnings of
its loops over elements then. The last bits of results depend on it."""
CACHE_BYTES = SECOND_CACHE.share(1, 2)
"""Bytes of all values of a step of a piece, at most, where its work allows it."""
Axes = Sequence[int | None]
"""Along which axis members lie in each of some values; None where it is the same for all."""


class SharedLoop(Steps):
    """A loop whose members threads share.

    Args:
        axis: along which members lie in each value of the step's program.
        size: how many members there are.
        loops: the loop of a piece, for each length that pieces have; the first one is the length of all but the last.
        program: the step of all members.
        shape: how the loop is applied.
        whole: makes the loop of all members together.
    """

    takes_views = True

    def __init__(
        self,
        axis: Mapping[Node, int],
        size: int,
        loops: Mapping[int, DrivenLoop],
        program: Program,
        shape: Shape,
        whole: Callable[[], Steps],
    ) -> None:
        self.program = program
        self._size, self._loops, self._whole = size, loops, whole
        self._length = next(iter(loops))
        self._carry, self._stacked, *_ = shape
        self._inputs: Axes = [axis.get(node) for node in program.inputs]
        self._outputs: Axes = [axis.get(node) for node in program.outputs]
        self._work = most_work(program)
        self.summary = f"{self._length} of {size} members at a time, {next(iter(loops.values())).summary}"

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, *self._loops.values()

    def run(self, state: list[Any], rows: list[Any], fixed: list[Any], results: list[Any], steps: int) -> int:
        """Take steps, and return how many; see `Steps`."""
        # What is carried changes when all pieces have taken their steps: where an op fails, the loop of all members
        # begins again, and says of its first step that fails what it would say on one thread.
        after = [np.empty_like(x) for x in state]
        try:
            self._in_pieces(state, rows, fixed, [*after, *results], steps)
        except PrimadError:
            return self._whole().run(state, rows, fixed, results, steps)
        for old, new in zip(state, after, strict=True):
            old[...] = new
        return steps

    def _in_pieces(
        self, state: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any], made: Sequence[Any], steps: int
    ) -> None:
        stacked = range(self._carry, self._carry + self._stacked)
        inputs = [_placed(axis, i in stacked) for i, axis in enumerate(self._inputs)]
        outputs = [_placed(axis, i >= self._carry) for i, axis in enumerate(self._outputs)]
        whole = zip([*state, *rows, *fixed], self.program.in_types, inputs, strict=True)
        given = [_once(np.asarray(x, type.dtype), axis, self._length) for x, type, axis in whole]
        waiting = iter(range(0, self._size, self._length))  # threads take the next piece; its `next` is atomic
        stopped: list[bool] = []

        def work() -> None:
            try:
                for start in waiting:
                    if stopped:
                        return
                    stop = min(start + self._length, self._size)
                    own = [self._part(x, axis, start, stop) for x, axis in zip(given, inputs, strict=True)]
                    out = [self._part(x, axis, start, stop) for x, axis in zip(made, outputs, strict=True)]
                    kept = [not start or axis is not None for axis in outputs]
                    self._piece(self._loops[stop - start], own, out, kept, steps, stopped)
            except BaseException:
                stopped.append(True)
                raise

        pieces = -(-self._size // self._length)
        if steps * self._work < THREAD_WORK:
            work()
        else:
            run_on_threads(work, pieces, lambda: stopped.append(True), joins=True)

    def _part(self, x: Any, axis: int | None, start: int, stop: int) -> Any:
        """Return what some members have of a value."""
        if axis is None:
            return x
        return x[_along(axis, start, stop) if x.shape[axis] == self._size else _along(axis, 0, stop - start)]

    def _piece(
        self,
        loop: DrivenLoop,
        given: Sequence[Any],
        made: Sequence[Any],
        kept: Sequence[bool],
        steps: int,
        stopped: Sequence[bool],
    ) -> None:
        """Take the steps of a piece; write what is kept."""
        carry, end = self._carry, self._carry + self._stacked
        types = self.program.in_types
        state = [np.array(x, type.dtype, order="C") for x, type in zip(given[:carry], types, strict=False)]
        results = [
            x if keeps and x[0].flags.c_contiguous else np.empty(x.shape, x.dtype)
            for x, keeps in zip(made[carry:], kept[carry:], strict=True)
        ]
        loop.take(state, given[carry:end], given[end:], results, steps, stopped)
        for out, own, keeps in zip(made, [*state, *results], kept, strict=True):
            if keeps and out is not own:
                out[...] = own


def _placed(axis: int | None, stacked: bool) -> int | None:
    """Return the axis of members in a value, or in the stack of such values."""
    return None if axis is None else axis + stacked


def _along(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(start, stop))


def _once(x: Any, axis: int | None, length: int) -> Any:
    """Return a value that is the same for all members as that of some, which serves all pieces."""
    same = axis is not None and x.size and not x.strides[axis]
    return np.ascontiguousarray(x[_along(axis, 0, length)]) if axis is not None and same else x


def shared_loop(of: ClosedProgram, shape: Shape, whole: Callable[[], Steps]) -> SharedLoop | None:
    """Return a loop whose members threads share; None where members do not stay apart, or there is little to do.

    Args:
        of: the program of a step.
        shape: how the loop is applied.
        whole: makes the loop of all members together.
    """
    if compiler() is None or shape[-1] or most_work(step_program(of)) < 2 * PIECE:
        return None
    program = without_calls(step_program(of))
    members = _members(program, shape[0])
    length = None if members is None else _length(program, members)
    if members is None or length is None:
        return None
    loops = {}
    for count in dict.fromkeys([length, members.length % length or length]):
        piece, _ = resized(program, program.inputs, program.outputs, members.axis, count)
        made = compiled_program(piece, None)
        if made is None:
            return None
        loops[count] = DrivenLoop(made, shape)
    return SharedLoop(members.axis, members.length, loops, program, shape, whole)


def _members(program: Program, carry: int) -> Dimension | None:
    """Return the largest axis that keeps apart what belongs to each index, through all steps of a loop."""
    found = [x for x in Dimensions(program) if x.length > 1 and _stay_apart(x, program, carry)]
    return max(found, key=_bytes_along, default=None)


def _stay_apart(members: Dimension, program: Program, carry: int) -> bool:
    mixed = members.twice or members.mixed or members.summed or members.whole
    if mixed or any(node.op is CAPTURED for node in members.axis):
        return False
    carried = zip(program.inputs[:carry], program.outputs, strict=False)
    kept = [members.axis.get(before) == members.axis.get(after) for before, after in carried]
    return all(kept) and any(node in members.axis for node in program.outputs)


def _bytes_along(members: Dimension) -> int:
    return sum(node.type.nbytes for node in members.axis)


def _length(program: Program, members: Dimension) -> int | None:
    """Return how many members a piece has; None where they are too few to be shared."""
    one = most_work(resized(program, program.inputs, program.outputs, members.axis, 1)[0])
    each = (most_work(program) - one) // (members.length - 1)
    least = max(PIECE, MOST_CHUNKS * max(0, one - each))  # what each piece computes again is a small part of its work
    most = min(most_work(program) // least, members.length)
    count = min(most, max(MOST_CHUNKS, _bytes_along(members) // CACHE_BYTES))
    if count < 2:
        return None
    # Equal pieces are compiled once.
    even = (n for n in range(count, count // 2, -1) if members.length % n == 0)
    return -(-members.length // next(even, count))
