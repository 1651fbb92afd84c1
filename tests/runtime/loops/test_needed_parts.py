"""Of a loop, a plan computes what its used results need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.loops import loop_runs
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.system.machine import CALL_ELEMENTS

START = np.float64(0.3), np.linspace(0.1, 0.9, 5), np.arange(3.0)
ROWS = np.linspace(-1.0, 1.0, 8).reshape(4, 2)


def step(c: Any, row: Any) -> Any:
    """Carry a value that another needs, one of its own, and one that needs both; make rows of each."""
    a, b, d = c
    return (a * np.sin(row[0]), np.cos(b) + row[1], d + a * np.sum(b)), (a + row[1], b * 2.0, np.exp(d))


NEEDED = {  # results: of the carried values and of the rows, how many of the loop's values are carried, and results
    (0,): (1, 1),
    (1,): (1, 1),
    (2,): (3, 3),
    (3,): (1, 2),
    (4,): (1, 2),
    (5,): (3, 4),
    (0, 1): (2, 2),
    (1, 3): (2, 3),
    (0, 1, 2, 3, 4, 5): (3, 6),
}


@pytest.mark.parametrize("which", NEEDED)
@pytest.mark.parametrize("reverse", [False, True])
def test_what_no_result_needs_is_not_computed(
    which: tuple[int, ...], reverse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    run_scan = loop_runs.run_scan

    def counted(of: Any, given: Any, carry: int, *rest: Any) -> Any:
        taken.append((carry, len(of.out_types)))
        return run_scan(of, given, carry, *rest)

    monkeypatch.setattr(loop_runs, "run_scan", counted)

    def some(start: Any, rows: Any) -> Any:
        carried, made = primad.scan(step, start, rows, reverse=reverse)
        found = (*carried, *made)
        return tuple(found[i] for i in which)

    program = simplify(primad.trace(some)(START, ROWS))
    given = primad.recording.tree.leaves((START, ROWS))
    found = Plan(program, CALL_ELEMENTS).run(given)
    assert taken == [NEEDED[which]]
    for got, want in zip(found, REFERENCE.prepare(program, PLAIN).run(given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
