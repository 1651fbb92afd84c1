"""Forward mode on the tape: tangents of outputs along tangents of entries, as programs of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from primad.compat.backward import Segment
from primad.compat.tape import TapeCall, TapeValue
from primad.errors import NotDifferentiableError
from primad.ir.program import Program
from primad.runtime.cache import BUILT
from primad.runtime.executor import Executable
from primad.runtime.executors import prepare
from primad.trace import TracedArray
from primad.transforms.forward import jvp
from primad.transforms.lowering import expand, inline


class Pushforward:
    """The tangents of one structure of calls, as an operator on values and tangents.

    Attributes:
        reads: which values it takes: numbers of entries, then (negative, from −1 downwards) tangents.
    """

    def __init__(self, part: Segment) -> None:
        primal, outside, _ = part.record()
        program = jvp(primal, [number in part.wanted for number in outside])
        given = [-1 - part.wanted.index(number) for number in outside if number in part.wanted]
        total, count = len(primal.outputs), len(part.outputs)
        pushed = expand(Program(program.trace, program.inputs, program.outputs[total : total + count]))
        nodes = set(pushed.nodes)
        used = [pair for pair in zip([*outside, *given], pushed.inputs, strict=True) if pair[1] in nodes]
        self.reads = [number for number, _ in used]
        self._program = Program(pushed.trace, [node for _, node in used], pushed.outputs)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between calls."""
        return (self._program,)

    def compute(self, *values: Any) -> list[Any]:
        """Return the tangents: computed, or recorded where the values are traced."""
        if any(isinstance(value, TracedArray) for value in values):
            return inline(self._program, values)
        return [np.asarray(result) for result in self._executable.run(values)]

    @cached_property
    def _executable(self) -> Executable:
        return prepare(self._program)


def tangents(outputs: Sequence[TapeValue], wanted: Sequence[TapeValue], along: Sequence[TapeValue]) -> list[TapeValue]:
    """Return the tangents of outputs along tangents of the wanted entries, as calls on the tape.

    Args:
        outputs: entries, each once.
        wanted: active entries that they were computed from, each once.
        along: a tangent for each of these, of its type.

    Returns:
        a tangent for each output, zeros where it does not depend on the wanted entries.

    Raises:
        NotDifferentiableError: if a call on the way has a pullback of its own, which says nothing of tangents.
        FreedError, OverwrittenError: as for gradients.
    """
    part = Segment(outputs, (), wanted, set())
    for call in part.calls:
        if call.pullback is not None:
            raise NotDifferentiableError(
                "forward mode met a function with a backward of its own (PyLayer)",
                why="Its backward says how gradients go back, not how tangents go forward.",
                fix="use reverse mode: vjp, grad or Jacobian rows.",
            )
    made: Pushforward = BUILT.get((Pushforward, part.key), lambda: Pushforward(part))
    part.check_versions([number for number in made.reads if number >= 0])
    operands = tuple([part.entries[number] if number >= 0 else along[-1 - number] for number in made.reads])
    results = made.compute(*[entry.array for entry in operands])
    active = any(entry.active for entry in operands)
    pushed = TapeCall(made, (-1,) * len(operands), (), operands) if active else None
    return [TapeValue(array, active, pushed, i) for i, array in enumerate(results)]
