"""Random programs over all ops: every way to differentiate them agrees."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import force_setattr, replace

from primad.ops.record.primitive import Primitive
from primad.transforms import lower
from primad.verify import fuzz
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program, drawn
from primad.verify.verify_commands import fuzz_command, verify_command
from tests.cases import CASES
from tests.sweeps import thinned


@thinned(50, start=range(0, 500, 10))
def test_random_programs(start: int) -> None:
    failures = fuzz.fuzz(10, start)
    assert not failures, "\n".join(map(str, failures))


def test_every_op_is_drawn() -> None:
    left_out = [case.op for case in CASES.values() if case.op.derivative.only_transposed or case.op.holds_program]
    wanted = {name for name, case in CASES.items() if case.op not in left_out and not case.internal}
    assert {case.op.name for case in drawn()} == wanted - {"project"}  # which takes the results of another op
    counts: Counter[str] = Counter()
    shared = unused = repeated = 0
    for seed in range(700):
        program = draw_program(Seeded(seed))
        counts.update({node.op.name for node in (*program.nodes, *lower(program).nodes)})
        uses = Counter(operand for node in program.nodes for operand in node.inputs)
        shared += any(count > 1 for node, count in uses.items())
        unused += any(node not in program.nodes for node in program.inputs)
        repeated += len(set(program.outputs)) < len(program.outputs)
    assert not {case.op.name for case in drawn()} - set(counts)
    assert min(shared, unused, repeated) > 20


def test_a_wrong_rule_is_found_and_replays() -> None:
    sin = CASES["sin"].op

    def wrong(tangents: Any, out: Any, x: Any) -> Any:
        return tangents[0] * out

    original = sin.derivative
    force_setattr(sin, "derivative", replace(original, jvp=wrong))
    try:
        failures = fuzz.fuzz(40)
        assert failures
        again = fuzz.fuzz_one(failures[0].seed)
        assert again == failures[0]
        assert f"seed {failures[0].seed}" in str(failures[0]) and "program(" in str(failures[0])
    finally:
        force_setattr(sin, "derivative", original)


@pytest.mark.exhaustive
def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(CASES["sin"].op, Primitive)
    assert verify_command(["sin", "mul"]) == 0
    out = capsys.readouterr().out
    assert out.strip().splitlines()[-1].startswith("2 verified")
    assert verify_command(["sine"]) == 2
    assert fuzz_command(3, 7) == 0
    assert "3 random programs, 3 right, 0 wrong" in capsys.readouterr().out
