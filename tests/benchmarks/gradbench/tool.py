"""GradBench's protocol from a tool's side: messages come as lines of JSON, and each is answered by a line."""

import json
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from .formats import ARGUMENTS, result

Message = dict[str, Any]


def unchanged(value: Any) -> Any:
    """Return what is given: for systems that work on NumPy's arrays."""
    return value


@dataclass(frozen=True)
class Side:
    """A system that answers.

    Attributes:
        name: of the system.
        functions: of an evaluation by its name; raises an error for one that the system does not have.
        prepare: makes the system's arguments of NumPy's arrays, outside of what is timed.
        wait: is called with a result and returns when it is there; is timed.
        to_numpy: makes NumPy's arrays of a result.
    """

    name: str
    functions: Callable[[str], Mapping[str, Callable[..., Any]]]
    prepare: Callable[[Any], Any] = unchanged
    wait: Callable[[Any], Any] = unchanged
    to_numpy: Callable[[Any], Any] = unchanged

    def serve(self, lines: Iterable[str], out: TextIO) -> None:
        """Answer messages until there are no more."""
        for line in lines:
            message = json.loads(line)
            print(json.dumps({"id": message["id"], **self.answer(message)}), file=out, flush=True)

    def answer(self, message: Message) -> Message:
        """Return the answer to a message, without its number."""
        if message["kind"] == "start":
            return {"tool": self.name}
        if message["kind"] not in ("define", "evaluate"):
            return {}
        try:
            functions = self.functions(message["module"])
            if message["kind"] == "define":
                return {"success": True}
            return self.evaluate(functions[message["function"]], message)
        except Exception:
            return {"success": False, "error": traceback.format_exc()}

    def evaluate(self, function: Callable[..., Any], message: Message) -> Message:
        """Run a function as often, and as long, as the message asks; say how long each run took."""
        module, given = message["module"], message["input"]
        arguments = self.prepare(ARGUMENTS[module](given))
        asked = given if isinstance(given, dict) else {}
        runs, nanoseconds = asked.get("min_runs", 1), 1e9 * asked.get("min_seconds", 0)
        times: list[int] = []
        total = 0
        while len(times) < runs or total < nanoseconds:
            start = time.perf_counter_ns()
            found = function(*arguments)
            self.wait(found)
            times.append(time.perf_counter_ns() - start)
            total += times[-1]
        return {
            "success": True,
            "output": result(module, message["function"], self.to_numpy(found), given),
            "timings": [{"name": "evaluate", "nanoseconds": taken} for taken in times],
        }
