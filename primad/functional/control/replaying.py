"""Functions that are recorded once and used many times in one recording, as the slope in all stages of a step is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.ir.program import Program
from primad.programs.compacting import packed
from primad.programs.loops.repeated_runs import FEWEST_NODES
from primad.recording import tree
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import RECORDING, is_number, record, type_of
from primad.transforms.lowering import inline


class Replayed:
    """A function of arrays; where it is long, its further uses copy its program, and Python does not run again.

    The program is copied as few ops on arrays, where it is long because it computes number by number. A function that
    sees values is not copied: whether it does, shows the first use in a recording that knows none.

    Args:
        function: of arrays, which returns one array. It closes over nothing that is recorded after this.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._is_long = False
        self._programs: dict[object, Program] = {}

    def __call__(self, *args: Any) -> Any:
        """Return the function's result."""
        trace = RECORDING.get()
        if trace is None or not any(isinstance(x, TracedArray) for x in args):
            return self._function(*args)
        if self._is_long:
            return inline(self._program(args), [TracedArray(lift(x, trace)) for x in args])[0]
        before = trace.size
        found = self._function(*args)
        self._is_long = trace.evaluator is None and trace.size - before >= FEWEST_NODES
        return found

    def _program(self, args: tuple[Any, ...]) -> Program:
        types, weak = tuple(map(type_of, args)), tuple(map(is_number, args))
        found = self._programs.get((types, weak))
        if found is None:
            made = record(self._function, types, tree.flatten(args)[1], weak=weak)
            found = self._programs[types, weak] = packed(made)
        return found
