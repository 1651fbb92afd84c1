"""Laws at special values: what a law puts in an op's place has the bits, or the kinds of numbers, that it promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.node import LITERAL, Node, literal_value
from primad.ir.program import Program
from primad.ops.record.fields import LawClass
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import trace
from primad.verify.cases.drawn_cases import Case, Choices
from primad.verify.checks.decide import Wrong
from primad.verify.checks.operand_forms import combined, described, forms_of, may_overflow, others, rewriters, traced
from primad.verify.checks.trial import Trial
from primad.verify.verdicts import Row

ORDINARY = (0.0, -0.0, 1.0, -1.0, 2.5, -0.75, 3.0)
UNBOUNDED = (*ORDINARY, np.inf, -np.inf, np.nan)
SPECIAL = (*UNBOUNDED, 5e-324, -1e308, 1e-200, 7e300)
"""Floats on which identities of exact arithmetic fail, if they fail anywhere."""
DISTANT = (1e250, -1e250, 1e-250, -1e-250, 1.0)
"""Floats whose products with factors overflow or vanish in one order, and not in another."""
INTEGERS = (0, 1, -1, 2, 7, -(2**63), 2**63 - 1)
Pools = tuple[tuple[LawClass, Sequence[float]], ...]
POOLS: Pools = (
    ("bitwise", SPECIAL),
    ("real", UNBOUNDED),
    ("real", DISTANT),
    ("finite", ORDINARY),
)
"""Where a law is tried, by what it promises."""
WHOLE: Pools = (("bitwise", INTEGERS), ("real", INTEGERS), ("finite", INTEGERS))
"""The same for integers, whose sums and products wrap: all laws are exact there."""
EXAMPLES = 3
"""How many times as many examples are drawn as for a proof: they cost little."""
MOST, FEW = 5000, 200
"""Combinations of operands that one example is tried on, and each other one, at most."""
ROUNDS = 4
"""How many values each combination is tried on."""


def special_row(case: Case, op: Primitive, source: Callable[[str], Choices], most: int = MOST) -> Row | None:
    """Apply each law alone to operands of every form, and compare with the op at special values.

    No other law is applied meanwhile, so a law is held to its own promise, not to that of the weakest in its company;
    and operands that its guard refuses are among them.
    """
    if not any(law.rewrite is not None for law in op.laws.own) and not op.axes.pointwise:
        return None
    count = 0
    trials = [Trial(case, op, source(f"{op.name}, {index}")) for index in range(EXAMPLES * case.examples)]
    largest = max(trials, key=lambda trial: sum(x.ndim for x in trial.values))  # it has the most forms
    for trial in trials:
        try:
            count += _at_special_values(trial, trial.values, POOLS, most if trial is largest else FEW)
            if op.kind in ("linear", "multilinear"):
                count += _at_special_values(trial, _whole(trial.values), WHOLE, FEW)
        except Wrong as wrong:
            return Row(op.name, "special values", "failed", str(wrong))
    return Row(op.name, "special values", "tested", f"{count} rewrites") if count else None


def _whole(values: Sequence[Any]) -> list[Any]:
    return [np.zeros(x.shape, np.int64) if x.dtype.kind in "fc" else x for x in values]


def _at_special_values(trial: Trial, values: Sequence[Any], pools: Pools, most: int) -> int:
    """Try laws on operands of the types of some values; return how often one was applied."""
    op, params = trial.op, trial.example.params
    applied: list[tuple[str, Sequence[Node], LawClass, bool]] = []

    def build(*arrays: Any) -> list[Any]:
        found = []
        for chosen in combined(trial.choose, forms_of(trial, arrays, refused=True), most):
            nodes = tuple([traced(value, arrays).node for value in chosen])
            for name, promise, rewrite in rewriters(op, nodes):
                after = rewrite(nodes[0].trace, nodes, params)
                if after is not None:
                    applied.append((name, nodes, promise, may_overflow(nodes)))
                    found += [op(*chosen, **params), TracedArray(after)]
        return found

    given = [*values, *others(values)]
    try:
        op.infer(*[ArrayType(x.shape, x.dtype) for x in trial.operands(values)], **params)
    except ShapeError:  # it has no whole numbers
        return 0
    with without(LOCAL, DIRECTIONS), np.errstate(all="ignore"):
        program = trace(build)(*[ArrayType(x.shape, x.dtype) for x in given])
    for promise, pool in pools:
        tried = promise in {held for _, _, held, _ in applied} and (op.axes.pointwise or pool is not DISTANT)
        for _ in range(ROUNDS if tried else 0):
            drawn = _drawn(trial.choose, given, pool)
            with np.errstate(all="ignore"):
                found = _on_arrays_of_their_own(program, drawn)
            for (name, nodes, held, overflows), before, after in zip(applied, found[::2], found[1::2], strict=True):
                if held == promise and not agree(held, before, after, overflows or pool is DISTANT):
                    what = f"{trial.where()}, {name}: {', '.join(map(described, nodes))}"
                    inputs = {"inputs": [x.tolist() for x in drawn]}
                    raise Wrong(what, np.asarray(before).tolist(), np.asarray(after).tolist(), inputs)
    return len(applied)


def _on_arrays_of_their_own(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Run a program as it stands, each value in memory of its own.

    NumPy's einsum multiplies sums by what is repeated in memory, so that an infinity meets no zero among the terms.
    """
    values = dict(zip(program.inputs, arguments, strict=True))
    for node in program.nodes:
        if node.op is LITERAL:
            values[node] = np.full(node.type.shape, literal_value(node), node.type.dtype)
        elif node not in values:
            found = node.op.numpy(*[values[x] for x in node.inputs], **dict(node.params))
            values[node] = found if isinstance(found, tuple) else np.array(found, order="C")
    return [values[node] for node in program.outputs]


def _drawn(choose: Choices, given: Sequence[Any], pool: Sequence[float]) -> list[Any]:
    """Draw floats from a pool in place of those of arrays; distant ones stand in arrays of their own."""
    found, kind = [], "i" if pool is INTEGERS else "f"
    for x in given:
        values = [choose.among(pool) for _ in range(1 if pool is DISTANT else x.size)]
        if x.dtype.kind == "c" and kind == "f":
            others = [choose.among(pool) for _ in values]
            drawn = np.array([complex(*parts) for parts in zip(values, others, strict=True)])
            found.append(np.resize(drawn, x.shape) if x.size else x)
            continue
        with np.errstate(over="ignore"):
            found.append(np.resize(values, x.shape).astype(x.dtype) if x.size and x.dtype.kind == kind else x)
    return found


def agree(promise: LawClass, before: Any, after: Any, distant: bool = False) -> bool:
    """Say whether two sides of a law are equal as it promises.

    A real law keeps infinities and NaN; it may overflow where the op does, and not where that gives a number.
    """
    before, after = np.asarray(before), np.asarray(after)
    same = before.shape == after.shape and before.dtype == after.dtype
    return same and _equal(promise, before, after, distant)


def _equal(promise: LawClass, x: Any, y: Any, distant: bool) -> bool:
    if x.dtype.kind == "c":
        if promise == "real" and not distant:  # a number is infinite in one part or in both, by the order of operations
            kept = np.isfinite(x)
            if not np.array_equal(kept, np.isfinite(y)):
                return False
            promise, x, y = "finite", x[kept], y[kept]
        if promise == "bitwise":
            return all(_equal(promise, *parts, distant) for parts in ((x.real, y.real), (x.imag, y.imag)))
    if x.dtype.kind not in "fc":
        return bool(np.array_equal(x, y))
    if promise == "bitwise":
        return bool(np.all(((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))))
    least, digits = (1e-290, 1e-12) if x.real.dtype == np.float64 else (1e-30, 1e-4)
    if promise == "finite" or distant:
        with np.errstate(all="ignore"):
            kept = np.isfinite(x) & (np.abs(x) > least if distant else True)
        x, y = x[kept], y[kept]
    size = max(least, float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x))))
    return bool(np.allclose(x, y, rtol=digits, atol=digits * size, equal_nan=True))
