"""primad as a tool of GradBench: it answers each evaluation, through the protocol, as its definition says."""

import sys

import pytest

from tests.benchmarks.gradbench.compare import Tool, ToolError, check, verify
from tests.benchmarks.gradbench.formats import ARGUMENTS
from tests.benchmarks.gradbench.inputs import EVALUATIONS
from tests.benchmarks.gradbench.references import ANSWERS


@pytest.fixture(scope="module")
def tool():
    started = Tool("primad", [sys.executable, "-m", "tests.benchmarks.gradbench"])
    yield started
    started.close()


def test_start_and_define(tool):
    assert tool.ask({"kind": "start", "eval": "hello"}, 60)["tool"] == "primad"
    for name in ARGUMENTS:
        assert tool.ask({"kind": "define", "module": name}, 60)["success"]
    with pytest.raises(ToolError, match="no evaluation 'unknown'"):
        tool.ask({"kind": "define", "module": "unknown"}, 60)


def test_hello(tool):
    for x in (1.0, 3.0):
        for function, expected in (("square", x * x), ("double", 2 * x)):
            message = {"kind": "evaluate", "module": "hello", "function": function, "input": x}
            assert tool.ask(message, 60)["output"] == expected


def test_every_evaluation_is_asked_for():
    assert set(EVALUATIONS) == set(ANSWERS) == set(ARGUMENTS) - {"hello"}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", EVALUATIONS)
def test_values_and_derivatives(tool, name):
    verify(tool, name, 120)


def test_runs_are_as_many_and_as_long_as_asked(tool):
    given = {"x": [1.0, 2.0], "min_runs": 3, "min_seconds": 0.01}
    answer = tool.ask({"kind": "evaluate", "module": "lse", "function": "primal", "input": given}, 60)
    times = [timing["nanoseconds"] for timing in answer["timings"]]
    assert len(times) >= 3 and sum(times) >= 1e7
    assert all(timing["name"] == "evaluate" for timing in answer["timings"])


def test_wrong_answers_are_found():
    with pytest.raises(ToolError, match="off by"):
        check("one", {"a": [1.0, 2.0]}, {"a": [1.0, 2.1]})
    with pytest.raises(ToolError, match="off by"):
        check("one", [1.0], [1.0, 2.0])
