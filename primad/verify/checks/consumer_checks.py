"""The check of ops that choose how their operand, a derivative, is computed: they give what they give on its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.numpy.linalg.diagonals import diagonal_, trace_
from primad.ops.record.primitive import Primitive, as_tuple
from primad.recording.tracing import trace
from primad.verify.cases.drawn_cases import Case, Choices, Seeded
from primad.verify.checks.trial import Trial, close, run_floats
from primad.verify.verdicts import Row


def _consumers(x: Any, v: Any) -> list[tuple[str, Any, Any]]:
    """Return ops applied to a value, by NumPy and as recorded."""
    found: list[tuple[str, Any, Any]] = []
    for axis in range(x.ndim):
        n = x.shape[axis]
        start = tuple(n - 1 if i == axis else 0 for i in range(x.ndim))
        bounds = {"start": start, "stop": tuple(x.shape), "step": (1,) * x.ndim}
        found.append((f"slice along {axis}", ops.slice_, ((x,), bounds)))
        found.append((f"flip along {axis}", ops.flip, ((x,), {"axes": (axis,)})))
        taken = np.array([n - 1, 0, n - 1])
        found.append((f"gather along {axis}", ops.gather, ((x, taken), {"axis": axis, "batch": 0})))
        order = tuple([(i + axis) % x.ndim for i in range(x.ndim)])
        found.append((f"permute by {axis}", ops.permute, ((x,), {"order": order[::-1]})))
        found.append((f"sum along {axis}", ops.sum, ((x,), {"axes": (axis,)})))
        letters = "abcdef"[: x.ndim]
        labels = f"{letters},{letters[axis]}->{letters.replace(letters[axis], '')}"
        if n == 2:
            found.append((f"contract along {axis}", ops.contract, ((x, v.astype(x.dtype)), {"labels": labels})))
        for other in range(axis):
            if x.shape[other] == n:
                params = {"axis1": other, "axis2": axis}
                found.append((f"trace of {other}, {axis}", trace_, ((x,), params)))
                found.append((f"diagonal of {other}, {axis}", diagonal_, ((x,), params)))
    return found


def consumers_row(case: Case, op: Primitive, source: Callable[[str], Choices] = Seeded) -> Row | None:
    """Each op that may choose how its operand is computed gives what it gives on the computed operand."""
    if not op.laws.consumed or case.through is not None:  # that of a result is its op's
        return None
    count = 0
    for index in range(case.examples):
        trial = Trial(case, op, source(f"{op.name}, {index}"))
        v = np.array([0.75, -1.25])
        uses = [use for value in trial.results(trial.values) for use in _consumers(value, v)]
        expected = [(name, f.numpy(*args, **params)) for name, f, (args, params) in uses]

        def body(*arrays: Any, trial: Trial = trial, v: Any = v) -> list[Any]:
            found = as_tuple(op(*arrays, **trial.example.params))
            return [f(*args, **params) for value in found for _, f, (args, params) in _consumers(value, v)]

        if not expected:
            continue
        found = run_floats(trace(body)(*trial.example.types), trial.values)
        for (name, right), got in zip(expected, found, strict=True):
            close(f"{trial.where()} consumed by {name}", right, got, trial)
            count += 1
    return Row(op.name, "consumers", "tested", f"{count} uses")
