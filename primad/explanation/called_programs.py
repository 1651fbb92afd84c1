"""What a program calls: the programs, how often each is called, and how much of the work they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from primad.ir.program import ClosedProgram, Cost, Program
from primad.transforms.lowering import calls


@dataclass(frozen=True)
class Called:
    """A program that others call.

    Attributes:
        name: what it is: a function, or what was derived of one.
        times: how often one run calls it, calls from other programs that are called included.
        nodes: how many ops it has.
        share: its part of the flops of the run, with what it calls.
    """

    name: str
    times: int
    nodes: int
    share: float

    def __str__(self) -> str:
        return f"{self.name}: {self.times} times, {self.nodes} nodes each, {100 * self.share:.0f} % of the flops"


def called_by(program: Program) -> tuple[Called, ...]:
    """Return the distinct programs that a program calls, the most work first."""
    total = program.cost().flops
    found: dict[Any, tuple[ClosedProgram, Cost]] = {}
    calls_of: dict[Any, Counter[Any]] = {}
    _look(None, program, calls_of, found)
    times: Counter[Any] = Counter({None: 1})
    for caller, own in reversed(calls_of.items()):  # what is called was looked at before its callers
        for key, count in own.items():
            times[key] += times[caller] * count
    entries = [
        Called(of.program.label, times[key], cost.nodes, times[key] * cost.flops / total if total else 0.0)
        for key, (of, cost) in found.items()
    ]
    return tuple(sorted(entries, key=lambda entry: -entry.share))


def _look(
    key: Any, program: Program, calls_of: dict[Any, Counter[Any]], found: dict[Any, tuple[ClosedProgram, Cost]]
) -> None:
    """Count what one run of a program calls, after looking at each of the programs that it calls."""
    own: Counter[Any] = Counter()
    for node in calls(program):
        for of in _held(node, found):
            own[of.key] += dict(node.params).get("length", 1)  # of a loop, each step
    for held in own:
        if held not in calls_of:
            _look(held, found[held][0].hoisted, calls_of, found)
    calls_of[key] = own


def _held(node: Any, found: dict[Any, tuple[ClosedProgram, Cost]]) -> list[ClosedProgram]:
    held: list[ClosedProgram] = node.op.held(node.params)
    for of in held:
        if of.key not in found:
            found[of.key] = of, of.hoisted.cost()
    return held
