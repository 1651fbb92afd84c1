"""Running loops: a body's executable, made once, is run step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.ir.program import ClosedProgram
from primad.runtime.executors import prepared, prepared_function


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
    key = ("called", of.key)
    executable = prepared_function(key, lambda: of.hoisted) or prepared(key, lambda: of.hoisted)
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
