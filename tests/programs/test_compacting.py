"""When loops are looked for: where a program is long, or a line of it was recorded as often as a loop has steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.ir.program import Program
from primad.programs import compacting
from primad.programs.rerolling import rerolled_loops
from primad.programs.rerolling.repeated_runs import FEWEST_NODES, FEWEST_STEPS


def repeated(times: int) -> Program:
    """Return a program of which one line was recorded so often."""

    def run(x: Any) -> Any:
        for _ in range(times):
            x = np.cos(x)
        return x

    return primad.trace(run)(np.ones(3))


def of_several_ops() -> Program:
    """Return a program of a line with more ops than a loop has steps, each of them a few times."""

    def run(x: Any, y: Any) -> Any:
        return np.cos(np.sin(np.tanh(x * y))) + np.exp(np.sin(x + y)) * np.cos(x - y) + np.sum(np.sqrt(x)) * np.tanh(y)

    program = primad.trace(run)(np.ones(3), np.ones(3))
    assert len(program.lines) > FEWEST_STEPS
    return program


def of_parts() -> Program:
    """Return a program of a line that takes more parts of a result than a loop has steps."""

    def run(x: Any) -> Any:
        return primad.scan(lambda parts, _: ([2.0 * part for part in parts], None), [x] * (FEWEST_STEPS + 1), length=2)

    program = primad.trace(run)(np.ones(3))
    assert len(program.lines) > FEWEST_STEPS
    return program


def on_lines_of_their_own(program: Program) -> Program:
    """Give every op of a program a line that no other has."""
    program.lines = {node: f"line {i}" for i, node in enumerate(program.lines)}
    return program


def without_lines(program: Program) -> Program:
    program.lines = {}
    return program


@pytest.mark.parametrize(
    ("program", "is_looked_at"),
    [
        (repeated(FEWEST_STEPS), True),
        (repeated(FEWEST_STEPS - 1), False),
        (on_lines_of_their_own(repeated(2 * FEWEST_STEPS)), False),
        (on_lines_of_their_own(repeated(FEWEST_NODES)), True),  # long, however it was written
        (without_lines(repeated(2 * FEWEST_STEPS)), True),  # read from a text, which says nothing of lines
        (without_lines(repeated(FEWEST_STEPS - 2)), False),
        (of_several_ops(), False),
        (of_parts(), False),
    ],
    ids=[
        "a loop",
        "a short one",
        "lines of their own",
        "a long one",
        "no lines",
        "no lines, short",
        "several ops",
        "parts",
    ],
)
def test_loops_are_looked_for_where_there_may_be_some(
    program: Program, is_looked_at: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Program] = []
    monkeypatch.setattr(rerolled_loops, "rolled", lambda program: (asked.append(program), program)[1])
    compacting.compact(program)
    assert bool(asked) is is_looked_at


def test_long_chains_are_looked_for_loops_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ops that follow on each other nothing is asked what could be computed together, before their loops are found.

    Sums are no such ops: a chain of them may be one.
    """
    asked: list[Program] = []
    monkeypatch.setattr(compacting, "_levels_of", lambda program, *_: asked.append(program))

    def chained(linear: bool) -> Program:
        def run(x: Any) -> Any:
            for _ in range(2 * FEWEST_NODES):
                x = x + x[::-1] if linear else np.cos(x)
            return x

        return primad.trace(run)(np.ones(3))

    for linear in (False, True):
        program = chained(linear)
        asked.clear()
        compacting.compact(program)
        assert (program in asked) == linear
