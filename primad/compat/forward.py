"""Forward mode on the tape: tangents of outputs along tangents of entries, as programs of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from primad.compat.backward import DerivedOperator, Segment, SegmentKey
from primad.compat.tape import TapeCall, TapeValue
from primad.errors import NotDifferentiableError
from primad.ir.program import Program
from primad.runtime.cache import BUILT
from primad.transforms.forward import jvp
from primad.transforms.lowering import expand


class PushforwardKey(NamedTuple):
    """The tangents of a part of the tape."""

    part: SegmentKey
    kind: str = "tangents of a tape"


class Pushforward(DerivedOperator):
    """The tangents of one structure of calls."""

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
    made: Pushforward = BUILT.get(PushforwardKey(part.key), lambda: Pushforward(part))
    part.check_versions([number for number in made.reads if number >= 0])
    operands = tuple([part.entries[number] if number >= 0 else along[-1 - number] for number in made.reads])
    results = made.compute(*[entry.array for entry in operands])
    active = any(entry.active for entry in operands)
    pushed = TapeCall(made, (-1,) * len(operands), (), operands) if active else None
    return [TapeValue(array, active, pushed, i) for i, array in enumerate(results)]
