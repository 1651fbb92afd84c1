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
    times: Counter[Any] = Counter()
    found: dict[Any, tuple[ClosedProgram, Cost]] = {}
    _count(program, 1, times, found)
    entries = [
        Called(of.program.label, times[key], cost.nodes, times[key] * cost.flops / total if total else 0.0)
        for key, (of, cost) in found.items()
    ]
    return tuple(sorted(entries, key=lambda entry: -entry.share))


def _count(program: Program, runs: int, times: Counter[Any], found: dict[Any, tuple[ClosedProgram, Cost]]) -> None:
    """Count the calls of a program that is run so many times."""
    own: Counter[Any] = Counter()
    for node in calls(program):
        for of in _held(node, found):
            own[of.key] += dict(node.params).get("length", 1)  # of a loop, each step
    for key, count in own.items():
        times[key] += runs * count
        _count(found[key][0].hoisted, runs * count, times, found)


def _held(node: Any, found: dict[Any, tuple[ClosedProgram, Cost]]) -> list[ClosedProgram]:
    held: list[ClosedProgram] = node.op.held(node.params)
    for of in held:
        if of.key not in found:
            found[of.key] = of, of.hoisted.cost()
    return held
