"""Random programs, differentiated in every way, against each other and against differences in high precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.array_types import TupleType
from primad.ir.program import Program
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.transforms import jvp, lower, vjp, vmap
from primad.verify.cases.case_table import cases
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.decide import Wrong
from primad.verify.exact.high_precision import Precise, UndefinedError
from primad.verify.exact.object_arrays import Evaluator
from primad.verify.random_programs import draw_program

DIGITS = 110
STEP = -30
"""Decimal exponent of a difference quotient's step: its error is about 10^(2·STEP), rounding's 10^(−DIGITS − STEP)."""
AGREE = -50
"""Decimal exponent of the relative difference that is accepted."""
ROUNDED = -12
"""The same where simplifying writes out an op whose definition holds to rounding only, as a quadrature does."""
MARGIN = 1e-3
"""Programs are not differentiated closer than this to a kink."""


class Counterexample(Struct, frozen=True):
    """A random program on which two ways to compute the same thing disagree.

    Attributes:
        seed: `fuzz_one(seed)` draws it again.
        what: the disagreement.
        program: its text.
    """

    seed: int
    what: str
    program: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.what}\n{self.program}"


def fuzz(n: int, seed: int = 0) -> list[Counterexample]:
    """Check `n` random programs and return the failures.

    Args:
        n: how many programs.
        seed: of the first program; the others follow.
    """
    failures = []
    for i in range(n):
        failure = fuzz_one(seed + i)
        if failure is not None:
            failures.append(failure)
    return failures


def fuzz_one(seed: int) -> Counterexample | None:
    """Check the random program of a seed."""
    choose = Seeded(seed)
    while True:
        program = draw_program(choose)
        attempt = Attempt(program, choose)
        if attempt.regular(attempt.x):
            break
    try:
        attempt.check()
    except Wrong as wrong:
        return Counterexample(seed, str(wrong), str(program))
    except Exception as error:  # whatever breaks, the seed must be reported
        return Counterexample(seed, f"{type(error).__name__}: {error}", str(program))
    return None


class Attempt:
    """One program at one point, in high precision."""

    def __init__(self, program: Program, choose: Seeded) -> None:
        self.program = program
        self.lowered = lower(program)
        self.choose = choose
        self.numbers = Precise(DIGITS)
        meanings = {case.op: case.symbolic for case in cases().values() if case.symbolic is not None}
        self.rounded = {case.op for case in cases().values() if case.rounded}
        self.evaluator = Evaluator(self.numbers, meanings)
        self.step = self.numbers.context.mpf(10) ** STEP
        self.x = self.points(program.in_types)

    def points(self, types: Sequence[Any]) -> list[Any]:
        """Draw one array of dyadic numbers for each type."""
        return [
            np.array([(2 * self.choose.integer(-100, 99) + 1) / 128 for _ in range(type.size)]).reshape(type.shape)
            for type in types
        ]

    def regular(self, x: Sequence[Any]) -> bool:
        """Say whether a point lies inside the domain and away from kinks."""
        self.numbers.margin = float("inf")
        try:
            out = self.run(self.lowered, x)
        except UndefinedError:
            return False
        if not all(self.numbers.context.isfinite(value) and abs(value) < 1e30 for y in out for value in y.flat):
            return False
        return self.numbers.margin > MARGIN

    def run(self, program: Program, arguments: Sequence[Any], frozen: dict[Any, Any] | None = None) -> list[Any]:
        """Run a program in high precision."""
        return self.evaluator.run(program, [self.exact(x) for x in arguments], frozen)

    def exact(self, x: Any) -> Any:
        """Convert floats to high precision."""
        x = np.asarray(x)
        if x.dtype == object:
            return x
        mpf = self.numbers.context.mpf
        out = np.empty(x.shape, object)
        for index in np.ndindex(x.shape):
            out[index] = mpf(float(x[index]))
        return out

    def check(self) -> None:
        """Compare every way to compute the values and derivatives."""
        program, x = self.program, self.x
        out = self.run(program, x)
        self.same("lowered and as written", out, self.run(self.lowered, x))
        forward, reverse = jvp(program), vjp(program)
        t, w = self.points(program.in_types), self.points(program.out_types)
        pushed = self.run(forward, [*x, *t])
        self.same("JVP against differences", [*out, *self.quotient(self.lowered, x, t)], pushed)
        pulled = self.run(reverse, [*x, *w])[len(out) :]
        tangents = pushed[len(out) :]
        self.same("⟨w, J v⟩ and ⟨Jᵀ w, v⟩", [self.inner(w, tangents)], [self.inner(pulled, t)])
        self.batches()
        second = jvp(forward)
        u = self.points(forward.in_types)
        twice = self.run(second, [*x, *t, *u])
        self.same("JVP of JVP against differences", self.quotient(forward, [*x, *t], u), twice[len(pushed) :])
        for name, derived, inputs in (
            ("JVP", forward, [*x, *t]),
            ("VJP", reverse, [*x, *w]),
            ("JVP of JVP", second, [*x, *t, *u]),
        ):
            simpler = simplify(derived)
            simpler.check()
            agree = ROUNDED if any(node.op in self.rounded for node in derived.nodes) else AGREE
            self.same(f"{name}, simplified", self.run(derived, inputs), self.run(simpler, inputs), agree)
            self.interpreted(f"{name}, interpreted", simpler, inputs)

    def quotient(self, program: Program, x: Sequence[Any], t: Sequence[Any]) -> list[Any]:
        """Return the central difference quotient in a direction, `stop_gradient` held at its value."""
        frozen: dict[Any, Any] = {}
        self.run(program, x, frozen)
        ahead, behind = (
            self.run(
                program, [self.exact(a) + self.exact(b) * (sign * self.step) for a, b in zip(x, t, strict=True)], frozen
            )
            for sign in (1, -1)
        )
        return [np.asarray((a - b) / (2 * self.step)) for a, b in zip(ahead, behind, strict=True)]

    def batches(self) -> None:
        """Compare a batched run with a loop."""
        types = self.program.in_types
        flags = [bool(self.choose.integer(0, 1)) for _ in types]
        flags[self.choose.integer(0, len(flags) - 1)] = True
        rows = [self.points(types) for _ in range(2)]
        rows = [[new if on else x for new, x, on in zip(row, self.x, flags, strict=True)] for row in rows]
        rows = [row if self.regular(row) else self.x for row in rows]
        stacked = [
            np.stack([row[i] for row in rows]) if on else x for i, (x, on) in enumerate(zip(self.x, flags, strict=True))
        ]
        batched = self.run(vmap(self.program, flags, 2), stacked)
        looped = [self.run(self.lowered, row) for row in rows]
        self.same("batched and looped", [np.stack(column) for column in zip(*looped, strict=True)], batched)

    def interpreted(self, what: str, program: Program, arguments: Sequence[Any]) -> None:
        """The interpreter's buffers change no bit: compare it with one NumPy call after another.

        NumPy multiplies single complex numbers by other instructions than arrays of them: these may differ by rounding.
        """
        expected = REFERENCE.prepare(program, PLAIN).run(arguments)
        single = any(
            not isinstance(x.type, TupleType) and x.type.is_complex and not x.type.shape for x in program.nodes
        )
        for value, found in zip(expected, Plan(program).run(arguments), strict=True):
            equal = np.array_equal(value, found, equal_nan=True)
            if not (equal or (single and np.allclose(value, found, rtol=1e-9, atol=1e-12, equal_nan=True))):
                raise Wrong(what, np.asarray(value).tolist(), np.asarray(found).tolist())

    def inner(self, xs: Sequence[Any], ys: Sequence[Any]) -> Any:
        """Return the inner product of two lists of arrays."""
        total = self.numbers.context.mpf(0)
        for x, y in zip(xs, ys, strict=True):
            for a, b in zip(self.exact(x).flat, self.exact(y).flat, strict=True):
                total += a * b
        return np.array(total, object)

    def same(self, what: str, expected: Sequence[Any], got: Sequence[Any], agree: int = AGREE) -> None:
        """Compare lists of arrays of numbers, up to a relative difference of 10 to the power `agree`.

        Raises:
            Wrong: if they differ within the digits that are promised.
        """
        context = self.numbers.context
        for i, (a, b) in enumerate(zip(expected, got, strict=True)):
            if a.shape != b.shape:
                raise Wrong(f"{what}: output {i}", a.shape, b.shape)
            scale = max([abs(value) for value in a.flat], default=0) + 1
            for index in np.ndindex(a.shape):
                gap = abs(a[index] - b[index])
                if not gap <= scale * context.mpf(10) ** agree:
                    where = f"{what}: output {i}, element {list(index)}"
                    raise Wrong(where, context.nstr(a[index], 30), context.nstr(b[index], 30), self.inputs())

    def inputs(self) -> dict[str, Any]:
        """Return the point, by the names of the inputs."""
        return {name: x.tolist() for name, x in zip(self.program.names, self.x, strict=True)}
