"""Runs of loops: where they begin, what is held of their rows, and what they give."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from primad.errors import StepsError
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.runtime.failure import ENDLESS, MORE_STEPS
from primad.runtime.loops.binomial_schedule import Cut, cut
from primad.runtime.loops.driven_loops import Steps
from primad.runtime.loops.lane_loops import LaneLoops
from primad.runtime.loops.loop_executables import steps_of
from primad.runtime.loops.rematerialised_rows import Rows, Source, StoredRows, Take, pieces


def run_scan(
    of: ClosedProgram,
    arrays: Sequence[Any],
    carry: int,
    stacked: int,
    length: int,
    steps: int,
    reverse: bool,
    streams: Sequence[int] = (),
    budget: int = 0,
    memory: int | None = None,
) -> list[Any]:
    """Run a loop.

    Args:
        of: the program of a step: (carried values, rows, the rest) -> (carried values, results).
        arrays: the carried values before the first step, the stacked arrays, the rest.
        carry: how many are carried.
        stacked: how many are stacked.
        length: how many rows there are.
        steps: how many steps are taken, with the first rows.
        reverse: whether the last of these comes first.
        streams: which stacked results may be row streams.
        budget: bytes that may be held of all rows then.
        memory: bytes that arrays within a step may take.

    Returns:
        the carried values after the last step, and the stacked results, with zeros where no step was taken.
    """
    loop = steps_of(of, carry, stacked, reverse, False, memory)
    state = _owned(arrays[:carry], of)
    rows = [_rows(x, steps) for x in arrays[carry : carry + stacked]]
    take = _take(loop, rows, list(arrays[carry + stacked :]), reverse)
    types = of.out_types[carry:]
    chosen = cut_of(of, carry, streams, steps, budget)
    if chosen is None:
        unwritten = range(len(types)) if steps == length else streams
        made = _room(length, types, unwritten)
        if steps:
            take(state, 0, steps, made)
        return [*_values(state), *(made if steps == length else _held(made, steps, streams, types))]
    made = _room(length, types, range(len(types)) if steps == length else (), streams)
    source = Source(take, state, types, streams, reverse)
    source.run(steps, chosen, made)
    return [*_values(source.state), *_with_streams(made, source, streams, types, length)]


def cut_of(of: ClosedProgram, carry: int, streams: Sequence[int], steps: int, budget: int) -> Cut | None:
    """Return how a loop is gone back through, if some results are row streams; None where all fits into the budget."""
    types = of.out_types[carry:]
    if not streams or steps * sum(types[i].nbytes for i in streams) <= budget:
        return None
    return cut(steps, sum(type.nbytes for type in types), sum(type.nbytes for type in of.out_types[:carry]), budget)


def _rows(x: Any, steps: int) -> Any:
    return x if isinstance(x, Rows) and x.source.steps == steps else np.asarray(x)


def _take(loop: Steps, rows: Sequence[Any], fixed: list[Any], reverse: bool) -> Take:
    """Return what takes the steps of some rows."""
    cut = [x for x in rows if isinstance(x, Rows) or not loop.takes_views]

    def take(state: list[Any], first: int, last: int, results: list[Any]) -> int:
        taken = found = 0
        for start, stop in pieces(first, last, reverse, cut):
            given = [x.part(start, stop) if isinstance(x, Rows) else x[start:stop] for x in rows]
            found = loop.run(state, given, fixed, [y[start - first : stop - first] for y in results], stop - start)
            taken += abs(found)
        return taken if found >= 0 else -taken

    return take


def _values(state: Sequence[Any]) -> list[Any]:
    """Return carried values as results."""
    return [x.copy() if x.ndim else x[()] for x in state]


def _room(length: int, types: Sequence[ArrayType], unwritten: Collection[int], none: Collection[int] = ()) -> list[Any]:
    """Return arrays for the rows of all steps.

    Args:
        length: how many rows each has.
        types: of a row.
        unwritten: which of them need not be zeros where no step writes.
        none: of which there is no array, but None.
    """
    return [
        None if i in none else (np.empty if i in unwritten else np.zeros)((length, *t.shape), t.dtype)
        for i, t in enumerate(types)
    ]


def _held(made: Sequence[Any], steps: int, streams: Sequence[int], types: Sequence[ArrayType]) -> list[Any]:
    """Return stacked results, row streams as the rows of so many steps."""
    return _with_streams(
        made, StoredRows(steps, [made[i] for i in streams]), streams, types, len(made[0]) if made else 0
    )


def _with_streams(
    made: Sequence[Any], source: Source | StoredRows, streams: Sequence[int], types: Sequence[ArrayType], length: int
) -> list[Any]:
    found = list(made)
    for number, i in enumerate(streams):
        found[i] = Rows(source, number, ArrayType((length, *types[i].shape), types[i].dtype))
    return found


def _owned(arrays: Sequence[Any], of: ClosedProgram) -> list[Any]:
    """Return copies, to be written."""
    return [np.array(x, type.dtype, order="C") for x, type in zip(arrays, of.out_types, strict=False)]


def run_while(
    of: ClosedProgram,
    arrays: Sequence[Any],
    carry: int,
    most: int,
    streams: Sequence[int] = (),
    budget: int = 0,
    memory: int | None = None,
) -> list[Any]:
    """Run a loop that ends when a condition does not hold.

    Args:
        of: the program of a step: (carried values, the rest) -> (carried values, whether to go on, results).
        arrays: whether to begin, the carried values before the first step, the rest.
        carry: how many are carried.
        most: how many steps there may be.
        streams: which stacked results may be row streams.
        budget: bytes that may be held of all rows then.
        memory: bytes that arrays within a step may take.

    Returns:
        how many steps were taken, the carried values after the last one, and the stacked results, with zeros where no
        step was taken.

    Raises:
        StepsError: if the condition still holds after so many.
    """
    loop = steps_of(of, carry, 0, False, True, memory)
    state = _owned(arrays[1 : 1 + carry], of)
    types = of.out_types[carry + 1 :]
    begins = bool(arrays[0]) and most > 0
    take = _take(loop, (), list(arrays[1 + carry :]), False)
    taken = -int(arrays[0])
    if begins and most * sum(types[i].nbytes for i in streams) > budget:
        source = Source(take, state, types, streams, False)
        made = _room(most, types, (), streams)
        taken = source.explore(most, budget, made)
        made, state = _with_streams(made, source, streams, types, most), source.state
    else:
        made = _room(most, types, streams)
        taken = take(state, 0, most, made) if begins else taken
        made = _held(made, max(taken, 0), streams, types)
    return [_steps_taken(taken, most), *_values(state), *made]


def run_lanes(loops: LaneLoops, arrays: Sequence[Any], carry: int, most: int) -> list[Any]:
    """Run a stack of loops, each until it ends.

    Args:
        loops: what runs them.
        arrays: whether one begins, the carried values before the first step, the rest.
        carry: how many are carried.
        most: how many steps each may take.

    Returns:
        the largest number of steps, and the carried values after the last ones; None for what is not used.

    Raises:
        StepsError: if one would go on after so many.
    """
    if not arrays[0] or not most:
        return [_steps_taken(-int(arrays[0]), most), *map(np.array, arrays[1 : 1 + carry])]
    taken, state = loops.run(arrays[1:], most)
    return [_steps_taken(taken, most), *state]


def _steps_taken(taken: int, most: int) -> Any:
    """Return a number of steps, if it is none after which the condition still held."""
    if taken < 0:
        raise StepsError(
            f"while_loop: {ENDLESS.format(most)}",
            why="A loop that never ends would not return.",
            fix=MORE_STEPS,
        )
    return np.int64(taken)
