"""Time the evaluations side by side: `python -m tests.benchmarks.gradbench.compare NAME… --peer-python PATH`.

Each system is a tool of its own that is sent the same messages, one processor each, in turn with the others; all must
agree. A system that does not answer within `--patience` seconds is started again, and is not asked for larger inputs.
"""

import argparse
import json
import select
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .inputs import EVALUATIONS, Evaluation
from .published import CPP
from .references import ANSWERS

ROOT = Path(__file__).parents[3]
TOLERANCE = 1e-6
PEERS = {"JAX": "jax", "PyTorch": "torch"}


class LateError(Exception):
    """A tool did not answer in time."""


class ToolError(Exception):
    """A tool answered that it failed, or a wrong value."""


class Tool:
    """A process that speaks the protocol."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name, self._command, self._id = name, command, 0
        self._process: subprocess.Popen[str] | None = None

    def ask(self, message: dict[str, Any], patience: float) -> dict[str, Any]:
        """Return the answer to a message.

        Raises:
            LateError: if there is none in time; the process is ended, and the next message starts another.
            ToolError: if the tool says that it failed, or ended.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
            )
        process, self._id = self._process, self._id + 1
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"id": self._id, **message}) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], patience)[0]:
            self.close()
            raise LateError(f"{self.name}: no answer in {patience:.0f} s")
        line = process.stdout.readline()
        if not line:
            self.close()
            raise ToolError(f"{self.name}: its process ended")
        answer: dict[str, Any] = json.loads(line)
        if answer["id"] != self._id:
            raise ToolError(f"{self.name}: it answered message {answer['id']}, not {self._id}")
        if not answer.get("success", True):
            raise ToolError(f"{self.name}: {answer['error'].strip().splitlines()[-1]}")
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@dataclass
class Timed:
    """How long a tool took for one function of one input, in milliseconds."""

    first: float
    medians: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The least median of the rounds; the first call, if it was the only one."""
        return min(self.medians, default=self.first)


def numbers(output: Any) -> np.ndarray:
    """Return all numbers of an output, in an order."""
    if isinstance(output, dict):
        return np.concatenate([numbers(output[name]) for name in sorted(output)])
    return np.ravel(np.asarray(output, float))


def check(name: str, found: Any, expected: Any) -> None:
    """Compare two outputs.

    Raises:
        ToolError: if they differ.
    """
    theirs, ours = numbers(found), numbers(expected)
    scale = max(float(np.linalg.norm(ours)), 1e-300)
    error = np.linalg.norm(theirs - ours) / scale if theirs.shape == ours.shape else np.inf
    if not error <= TOLERANCE:
        raise ToolError(f"{name}: its result is off by {error:.1e}")


def verify(tool: Tool, name: str, patience: float) -> None:
    """Compare what a tool answers to the smallest input with what is known of it.

    Raises:
        LateError, ToolError: if there is no answer, or a wrong one.
    """
    evaluation = EVALUATIONS[name]
    for _, given in evaluation.inputs((evaluation.smallest,)):
        for function, expected in zip(evaluation.functions, ANSWERS[name](given), strict=True):
            message = {"kind": "evaluate", "module": name, "function": function, "input": given}
            check(f"{tool.name}: {name} {function}", tool.ask(message, patience)["output"], expected)


def verified(tool: Tool, name: str, patience: float) -> bool:
    """Say whether a tool answers the smallest input rightly, and in time."""
    try:
        verify(tool, name, patience)
    except (LateError, ToolError) as error:
        print(error, file=sys.stderr, flush=True)
        return False
    finally:
        tool.close()  # the first call that is timed is the first of its process
    return True


def timed(tools: list[Tool], message: dict[str, Any], options: argparse.Namespace) -> dict[str, Timed | str]:
    """Ask every tool in turn, some rounds; return what each took, or why it has no time."""
    found: dict[str, Timed | str] = {}
    reference = None
    for turn in range(options.rounds):
        for tool in tools:
            before = found.get(tool.name)
            if isinstance(before, str) or (before and before.first > 1e3 * options.patience / 4):
                continue
            try:
                answer = tool.ask(message, options.patience)
                reference = answer["output"] if reference is None else reference
                if turn == 0:
                    check(tool.name, answer["output"], reference)
            except (LateError, ToolError) as error:
                print(error, file=sys.stderr, flush=True)
                found[tool.name] = str(error)
                continue
            times = [1e-6 * timing["nanoseconds"] for timing in answer["timings"]]
            entry = before or Timed(times[0])
            rest = times[1:] if before is None else times
            entry.medians += [statistics.median(rest)] if rest else []
            found[tool.name] = entry
    return found


def rows(name: str, evaluation: Evaluation, tools: list[Tool], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Time an evaluation from its smallest input to its largest."""
    given_up: set[tuple[str, str]] = set()
    for label, given in evaluation.inputs(evaluation.published):
        asked = given | {"min_runs": 2, "min_seconds": options.seconds}
        for function in evaluation.functions:
            message = {"kind": "evaluate", "module": name, "function": function, "input": asked}
            able = [tool for tool in tools if (tool.name, function) not in given_up]
            found = timed(able, message, options)
            given_up |= {(tool, function) for tool, entry in found.items() if isinstance(entry, str)}
            times = {tool: [entry.best, entry.first] for tool, entry in found.items() if isinstance(entry, Timed)}
            cpp = CPP.get(name, {}).get((label, function))
            yield {"evaluation": name, "input": label, "function": function, "ms": times, "cpp_ms": cpp}


def shown(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    times = row["ms"]
    own = times.get("primad", [None, None])
    best = min((times[peer][0] for peer in PEERS if peer in times), default=None)
    cells = [row["evaluation"], row["input"], row["function"], number(own[0]), number(own[1])]
    for peer in PEERS:
        cells += [number(value) for value in times.get(peer, [None, None])]
    cells += [ratio(best, own[0]), number(row["cpp_ms"]), ratio(row["cpp_ms"], own[0])]
    return "| " + " | ".join(cells) + " |"


def number(value: float | None) -> str:
    """Return a number with three digits."""
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def ratio(theirs: float | None, ours: float | None) -> str:
    """Return how many times longer they take."""
    return "–" if theirs is None or ours is None else f"{theirs / ours:.2f}"


def header() -> str:
    """Return the head of the table."""
    columns = ["evaluation", "input", "function", "primad ms", "first"]
    for peer in PEERS:
        columns += [f"{peer} ms", "first"]
    columns += ["best peer / primad", "C++ ms (published)", "C++ / primad"]
    return "| " + " | ".join(columns) + " |\n|" + "---|" * 3 + "--:|" * (len(columns) - 3)


def main() -> int:
    """Time the evaluations named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gradbench.compare", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"evaluations (all if none): {', '.join(EVALUATIONS)}")
    parser.add_argument("--peer-python", help="an interpreter with JAX, PyTorch and SciPy")
    parser.add_argument("--seconds", type=float, default=0.3, help="least seconds for an answer")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--patience", type=float, default=60.0, help="most seconds for an answer")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    if unknown := set(options.names) - set(EVALUATIONS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(EVALUATIONS)}")
    tools = [Tool("primad", [sys.executable, "-m", "tests.benchmarks.gradbench"])]
    for name, argument in PEERS.items() if options.peer_python else ():
        tools.append(Tool(name, [options.peer_python, "-m", "tests.benchmarks.gradbench", argument]))
    found = []
    print(header(), flush=True)
    try:
        for name in options.names or EVALUATIONS:
            able = [tool for tool in tools if verified(tool, name, options.patience)]
            for row in rows(name, EVALUATIONS[name], able, options):
                print(shown(row), flush=True)
                found.append(row)
    finally:
        for tool in tools:
            tool.close()
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return int(any("primad" not in row["ms"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
