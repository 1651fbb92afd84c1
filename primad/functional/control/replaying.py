"""Functions that are recorded once and used many times in one recording, as the slope in all stages of a step is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.ir.node import Node, Trace
from primad.ir.program import Program
from primad.programs.compacting import packed
from primad.programs.loop_sizes import FEWEST_NODES
from primad.recording import tree
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import RECORDING, is_number, record, type_of
from primad.transforms.lowering import inline


class Replayed:
    """A function of arrays; where it is long, its uses copy its program, and Python does not run again.

    The program is copied as few ops on arrays, where it is long because it computes number by number. A function that
    sees values of its arguments is not copied: whether it does, shows the recording of its program.

    Args:
        function: of arrays, which returns one array. It closes over nothing that is recorded after this.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._is_long = False
        self._sees_values = False
        self._programs: dict[object, Program] = {}

    def __call__(self, *args: Any) -> Any:
        """Return the function's result."""
        trace = RECORDING.get()
        if trace is None:
            return self._function(*args)
        if self._is_long and not self._sees_values and any(isinstance(x, TracedArray) for x in args):
            return inline(self._program(args, trace), [TracedArray(lift(x, trace)) for x in args])[0]
        before = trace.size
        found = self._function(*args)
        self._is_long = self._is_long or trace.size - before >= FEWEST_NODES
        return found

    def _program(self, args: tuple[Any, ...], trace: Trace) -> Program:
        """Return the program on such arguments; if it saw their values, it is that of these alone."""
        types, weak = tuple(map(type_of, args)), tuple(map(is_number, args))
        found = self._programs.get((types, weak))
        if found is None:
            seen: list[Node] = []
            evaluator = trace.evaluator

            def noted(node: Node) -> Any:
                assert evaluator is not None
                seen.append(node)
                return evaluator(node)

            in_tree = tree.flatten(args)[1]
            values = args if evaluator else None
            made = record(self._function, types, in_tree, values, noted if evaluator else None, weak=weak)
            found = packed(made)
            if seen:
                self._sees_values = True
            else:
                self._programs[types, weak] = found
        return found
