"""One application of an op, on symbols: the program that holds it, its inputs, and a sample value of each symbol."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from primad.ir.array_types import ArrayType, TupleType
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import trace
from primad.runtime.executors.dispatch import REFERENCE, prepare
from primad.runtime.executors.executor import PLAIN
from primad.verify.cases.drawn_cases import Case, Choices, Example, Seeded, sample
from primad.verify.checks.decide import Wrong
from primad.verify.exact.high_precision import Precise
from primad.verify.exact.object_arrays import Evaluator, definition_of
from primad.verify.exact.sympy_numbers import Symbols

STEP_DIGITS = 60
"""Difference quotients of numeric cases take a step of so many digits behind the point."""


class Trial:
    """An example of an op, ready to be checked.

    Attributes:
        op: the record under test.
        case: the case it is tried on.
        example: its operands and params.
        program: the program that applies it once.
        symbols: the number system of SymPy expressions, with sample values; of a numeric case, precise numbers.
        evaluator: runs programs on symbols.
        inputs: symbol arrays (plain arrays for integers and booleans), one per input of the program.
        values: their values as floats.
        remark: what a check has to say of it beside its answer.
    """

    def __init__(self, case: Case, op: Primitive, choose: Choices) -> None:
        self.op = op
        self.case = case
        self.remark = ""
        self.example = case.draw(choose)
        self.choose = choose = Seeded(choose.integer(0, 2**20))  # values are many and need no shrinking
        self.program = one_op(op, self.example, case.through)
        self.symbols: Any = Precise(2 * STEP_DIGITS + 60) if case.numeric else Symbols()
        meaning = case.symbolic or definition_of(case.op)
        self.meaning = meaning
        known = {**case.others, **({} if meaning is None else {op: meaning})}
        self.evaluator = Evaluator(self.symbols, known or None)
        self._taken: set[Fraction] = set()
        self.inputs: list[Any] = []
        self.values: list[Any] = []
        for name, operand in zip("xyzpqr", self.example.inputs, strict=False):
            if operand.array is not None:
                self.inputs.append(operand.array)
                self.values.append(operand.array)
                continue
            parts = [sample(choose, operand, self._taken) for _ in range(2 if operand.type.is_complex else 1)]
            positive = True if operand.low >= 0 else None
            self.inputs.append(self._symbols(name, operand.type, *parts, positive=positive))
            flat = [complex(*map(float, part)) if len(part) > 1 else float(*part) for part in zip(*parts, strict=True)]
            self.values.append(np.array(flat, operand.type.dtype).reshape(operand.type.shape))

    def _symbols(
        self, name: str, type: ArrayType, points: Sequence[Fraction], *imaginary: Sequence[Fraction],
        positive: bool | None = None,
    ) -> Any:  # fmt: skip
        """Return an array of symbols, or of numbers, of a type; complex ones are numbers, of two parts."""
        out = np.empty(type.shape, object)
        for place, point, *other in zip(np.ndindex(type.shape), points, *imaginary, strict=True):
            if self.case.numeric:
                number = self.symbols.exactly(point)
                out[place] = self.symbols.context.mpc(number, *map(self.symbols.exactly, other)) if other else number
                continue
            symbol = sympy.Symbol("_".join([name, *map(str, place)]), real=True, positive=positive)
            self.symbols.add(symbol, point)
            out[place] = symbol
        return out

    def directions(self, name: str, types: Sequence[ArrayType]) -> list[Any]:
        """Return symbol arrays for tangents or cotangents."""
        return [
            self._symbols(f"{name}{i}", type, *[self._directions(type) for _ in range(1 + type.is_complex)])
            for i, type in enumerate(types)
        ]

    def _directions(self, type: ArrayType) -> list[Fraction]:
        return [self._direction(2000 if type.is_complex else 200) for _ in range(type.size)]

    def _direction(self, most: int) -> Fraction:
        while True:
            value = Fraction(self.choose.integer(-most, most) | 1, 64)
            if value not in self._taken:
                self._taken.add(value)
                return value

    def integers(self, types: Sequence[ArrayType]) -> list[Any]:
        """Return arrays of small integers, as floats: sums and products of them are exact."""
        found = []
        for type in types:
            parts = [[self.choose.integer(-4, 4) for _ in range(type.size)] for _ in range(1 + type.is_complex)]
            flat = [complex(*part) for part in zip(*parts, strict=True)] if type.is_complex else parts[0]
            found.append(np.array(flat, type.dtype).reshape(type.shape))
        return found

    def results(self, operands: Sequence[Any], params: dict[str, Any] | None = None) -> list[Any]:
        """Return what the NumPy function gives on operands, as arrays; with the example's params if none are given."""
        given = operands if self.case.through is None else [self.case.through.numpy(*operands)]
        params = self.example.params if params is None else params
        return [np.asarray(result) for result in listed(self.op.numpy(*given, **params))]

    def inferred(self, types: Sequence[ArrayType]) -> list[ArrayType]:
        """Return the types of the results for operands of these types."""
        given: Sequence[Any] = types if self.case.through is None else [self.case.through.infer(*types)]
        found = self.op.infer(*given, **self.example.params)
        return list(found.types) if isinstance(found, TupleType) else [found]

    def operands(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the operands of the op, for arrays that are the inputs of the program."""
        rest = iter(arrays)
        return [
            np.full(o.type.shape, o.literal) if o.literal is not None else next(rest) for o in self.example.operands
        ]

    def where(self) -> str:
        """Describe the example: types, params, values."""
        operands = ", ".join(str(o.literal) if o.literal is not None else str(o.type) for o in self.example.operands)
        params = ", ".join(f"{name}={value!r}" for name, value in self.example.params.items())
        return f"{self.op.name}({operands}{'; ' if params else ''}{params})"


def listed(value: Any) -> list[Any]:
    """Return what an op gives as a list, of one or of several results."""
    return list(value) if isinstance(value, tuple) else [value]


def one_op(op: Primitive, example: Example, through: Primitive | None = None) -> Program:
    """Return the program that applies an op once, if need be to the results of another."""

    def apply(*arrays: Any) -> Any:
        rest = iter(arrays)
        operands = [o.literal if o.literal is not None else next(rest) for o in example.operands]
        if through is not None:
            made = through(*operands)
            operands = [TracedArray(made[0].node.inputs[0]) if isinstance(made, tuple) else made]
        return op(*operands, **example.params)

    return trace(apply)(*example.types)


def is_float(arrays_or_types: Sequence[ArrayType]) -> list[bool]:
    """Say which types can carry derivatives."""
    return [type.is_float for type in arrays_or_types]


def run_floats(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Run a program with NumPy."""
    return prepare(program, executor=REFERENCE).run(arguments)


def run_as_it_stands(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Run a program with NumPy, op by op; no law is tried again."""
    return REFERENCE.prepare(program, PLAIN).run(arguments)


def shuffled(trial: Trial, x: Any) -> Any:
    """Return an array with its elements, scaled if they are floats, in another order."""
    flat = list(np.asarray(x).flat)
    for i in range(len(flat) - 1, 0, -1):
        j = trial.choose.integer(0, i)
        flat[i], flat[j] = flat[j], flat[i]
    if np.asarray(x).dtype.kind == "f":
        scale = trial.choose.among((1.0, 0.5, 0.75))
        flat = [value * scale for value in flat]
    return np.array(flat, x.dtype).reshape(np.shape(x))


def close(what: str, expected: Any, got: Any, trial: Trial | None = None, tolerance: float = 1e-10) -> None:
    """Compare arrays of floats (NaN equals NaN)."""
    expected, got = np.asarray(expected), np.asarray(got)
    inputs = {f"input {i}": x.tolist() for i, x in enumerate(trial.values)} if trial is not None else None
    if expected.shape != got.shape:
        raise Wrong(what, f"shape {expected.shape}", f"shape {got.shape}", inputs)
    if expected.dtype.kind not in "fc":
        if not np.array_equal(expected, got):
            raise Wrong(what, expected.tolist(), got.tolist(), inputs)
        return
    scale = float(np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected)))
    tolerance = max(tolerance, 1e-4 if {np.dtype("f4"), np.dtype("c8")} & {expected.dtype, got.dtype} else 0.0)
    if not np.allclose(got, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        raise Wrong(what, expected.tolist(), got.tolist(), inputs)
