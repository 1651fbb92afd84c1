"""Running loops: a body's executable, made once, is run step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import StepsError
from primad.ir.program import ClosedProgram
from primad.runtime.executor import Executable
from primad.runtime.executors import prepared, prepared_function


def _executable(of: ClosedProgram) -> Executable:
    """Return what runs a step."""
    key = ("called", of.key)
    return prepared_function(key, lambda: of.hoisted) or prepared(key, lambda: of.hoisted)


def run_scan(
    of: ClosedProgram,
    arrays: Sequence[Any],
    carry: int,
    stacked: int,
    length: int,
    steps: int,
    reverse: bool,
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

    Returns:
        the carried values after the last step, and the stacked results, with zeros where no step was taken.
    """
    executable = _executable(of)
    state: list[Any] = [np.array(x, type.dtype) for x, type in zip(arrays[:carry], of.out_types, strict=False)]
    rows = [np.asarray(x) for x in arrays[carry : carry + stacked]]
    fixed = list(arrays[carry + stacked :])
    results = [np.zeros((length, *type.shape), type.dtype) for type in of.out_types[carry:]]
    for i in reversed(range(steps)) if reverse else range(steps):
        found = executable.run([*state, *(x[i] for x in rows), *fixed])
        state = found[:carry]
        for result, value in zip(results, found[carry:], strict=True):
            result[i] = value
    return [*(x if x.ndim else x[()] for x in map(np.asarray, state)), *results]


def run_while(of: ClosedProgram, arrays: Sequence[Any], carry: int, most: int) -> list[Any]:
    """Run a loop that ends when a condition does not hold.

    Args:
        of: the program of a step: (carried values, the rest) -> (carried values, whether to go on, results).
        arrays: whether to begin, the carried values before the first step, the rest.
        carry: how many are carried.
        most: how many steps there may be.

    Returns:
        how many steps were taken, the carried values after the last one, and the stacked results, with zeros where no
        step was taken.

    Raises:
        StepsError: if the condition still holds after so many.
    """
    executable = _executable(of)
    go, fixed, taken = arrays[0], list(arrays[1 + carry :]), 0
    state: list[Any] = [np.array(x, type.dtype) for x, type in zip(arrays[1 : 1 + carry], of.out_types, strict=False)]
    results = [np.zeros((most, *type.shape), type.dtype) for type in of.out_types[carry + 1 :]]
    while go:
        if taken == most:
            raise StepsError(
                f"while_loop: the condition still holds after max_steps={most} steps",
                why="A loop that never ends would not return.",
                fix="pass a greater max_steps, or change the condition (values that are NaN compare false).",
            )
        found = executable.run([*state, *fixed])
        state, go = found[:carry], found[carry]
        for result, value in zip(results, found[carry + 1 :], strict=True):
            result[taken] = value
        taken += 1
    return [np.int64(taken), *(x if x.ndim else x[()] for x in map(np.asarray, state)), *results]
