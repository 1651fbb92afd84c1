"""An op that fails never yields a number that is read, whichever law moves or drops what is around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.node import Node
from primad.recording.tracing import trace
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.operand_forms import combined, forms_of, others, rewriters, traced
from primad.verify.checks.trial import Trial, run_as_it_stands
from tests.cases import CASES, NAMES

WITH_LAWS = [
    name
    for name in NAMES
    if (CASES[name].op.axes.pointwise or any(law.rewrite for law in CASES[name].op.laws.own))
    and not CASES[name].op.holds_program
    and CASES[name].through is None
]


def reads(node: Node, wanted: set[Node]) -> bool:
    waiting, seen = [node], {node}
    while waiting:
        x = waiting.pop()
        if x in wanted:
            return True
        waiting += [y for y in x.inputs if y not in seen]
        seen.update(x.inputs)
    return False


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WITH_LAWS)
def test_what_may_fail_is_kept_where_it_is_read(name: str) -> None:
    """Where a law leaves rows out that were taken of an operand, no element of the result depends on them."""
    for index in range(3):
        trial = Trial(CASES[name], CASES[name].op, Seeded(f"{name}, {index}"))
        params = trial.example.params
        if not all(x.ndim and x.size and x.dtype == float for x in trial.values) or not trial.values:
            continue

        names: list[str] = []

        def build(where: Any, *arrays: Any, trial: Trial = trial, names: list[str] = names) -> list[Any]:
            half, found = len(trial.values), []
            taken = [ops.gather(x, where[: x.shape[0]], axis=0, batch=0) for x in arrays[:half]]
            failing = {x.node for x in taken}
            for chosen in combined(trial.choose, forms_of(trial, [*taken, *arrays[half:]], refused=True), 400):
                nodes = tuple([traced(value, arrays).node for value in chosen])
                for law, _, rewrite in rewriters(trial.op, nodes):
                    after = rewrite(nodes[0].trace, nodes, trial.example.params)
                    if after is not None and any(reads(x, failing) for x in nodes) and not reads(after, failing):
                        names.append(law)
                        found.append(trial.op(*chosen, **trial.example.params))
            return found

        with without(LOCAL, DIRECTIONS):
            given = [*trial.values, *others(trial.values)]
            longest = max(x.shape[0] for x in trial.values)
            types = [ArrayType((longest,), np.int64), *[ArrayType(x.shape, x.dtype) for x in given]]
            program = trace(build)(*types)
        where, half = np.arange(longest), len(trial.values)
        with np.errstate(all="ignore"):
            first = run_as_it_stands(program, [where, *given])
            second = run_as_it_stands(program, [where, *[x * 1.7 + 0.3 for x in given[:half]], *given[half:]])
        for law, x, y in zip(names, first, second, strict=True):
            np.testing.assert_array_equal(x, y, err_msg=f"{name}, {params}: {law}")
