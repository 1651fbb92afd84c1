"""Drawing random programs over all ops of the table: shared nodes, unused inputs, repeated outputs.

Where an op may be tried is said once, by its case in the table: a step draws an example of an op, and puts values of
the program in the places of the example's float operands, in their shapes and inside their domains.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from primad import ops
from primad.functional.control.user_loops import scan
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import trace
from primad.verify.cases.case_table import cases
from primad.verify.cases.drawn_cases import ANY, Case, Choices, Operand, sample
from primad.verify.checks.trial import listed

SHAPES = ((), (2,), (3,), (2, 2), (1, 2))
LARGEST = 8
"""Values with more elements are summed: high precision is slow."""
Shape = tuple[int, ...]


def is_drawn(case: Case) -> bool:
    """Say whether programs may contain the op."""
    through = case.through is None or case.through.is_composite
    return through and not (case.internal or case.op.derivative.only_transposed or case.op.holds_program)


@cache
def drawn() -> tuple[Case, ...]:
    """Return the cases that programs are drawn from: composites that hold programs are tried on their own."""
    return tuple([case for case in cases().values() if is_drawn(case)])


class Pool:
    """The values of a program that is being drawn: floats of 64 bits."""

    def __init__(self, choose: Choices, inputs: list[Any]) -> None:
        self.choose = choose
        self.values = list(inputs)

    def any(self) -> Any:
        """Return a value; later ones are chosen more often, so that programs are deep."""
        recent = self.values[-3:]
        return self.choose.among(recent if self.choose.integer(0, 2) else self.values)

    def of_shape(self, shape: Shape) -> Any:
        """Return a value of a shape: if possible one that has it, else the elements of another, as often as needed."""
        alike = [value for value in self.values if value.shape == shape]
        if alike and self.choose.integer(0, 3):
            return self.choose.among(alike)
        return refilled(self.any(), shape)

    def operand(self, operand: Operand, like: Any) -> Any:
        """Return what stands for an operand of an example."""
        if operand.literal is not None:
            return operand.literal
        if operand.array is not None:
            return TracedArray(lift(operand.array, like.node.trace))
        value = self.of_shape(operand.type.shape)
        if operand.type.is_complex:
            return self._of_parts(value, self.of_shape(operand.type.shape))
        if operand.independent:
            # Elements of other values may repeat; what they are added to does not.
            points = [float(point) for point in sample(self.choose, operand, set())]
            value = TracedArray(lift(np.reshape(points, operand.type.shape), like.node.trace)) + 0.1 * ops.sin(value)
        elif (operand.low, operand.high) != ANY or self.choose.integer(0, 3) == 0:
            value = inside(value, operand.low, operand.high)
        return ops.cast(value, dtype=str(operand.type.dtype)) if operand.type.dtype != np.float64 else value

    def _of_parts(self, x: Any, y: Any) -> Any:
        """Return complex numbers of two values, or a function of them."""
        z = ops.complex_of(ops.sin(x), ops.sin(y))
        w = ops.exp(z)
        return self.choose.among((z, w, ops.sin(z) * ops.conj(w), ops.conj(w) / (z + 2.5), ops.sqrt(w + 2.5)))


def refilled(x: Any, shape: Shape) -> Any:
    """Return an array of a shape, filled with the elements of x in order, again and again."""
    size = math.prod(shape)
    if x.size == 1:
        return ops.broadcast(ops.reshape(x, shape=()), shape=shape, axes=tuple(range(len(shape))))
    if x.size < size:
        times = -(-size // x.size)
        x = ops.broadcast(x, shape=(times, *x.shape), axes=(0,))
    if x.size > size:
        flat = ops.reshape(x, shape=(x.size,))
        x = ops.slice_(flat, start=(0,), stop=(size,), step=(1,))
    return ops.reshape(x, shape=shape)


def inside(x: Any, low: float, high: float) -> Any:
    """Bring a value into an interval, away from its ends."""
    return (low + high) / 2 + 0.45 * (high - low) * ops.sin(x)


def step(pool: Pool, case: Case) -> Any:
    """Apply an op to values of the pool, as one of its examples does; the result is a float of 64 bits again."""
    example, like = case.draw(pool.choose), pool.any()
    operands = [pool.operand(operand, like) for operand in example.operands]
    if case.through is not None:
        operands = [case.through(*operands)]
    if operands:
        result = case.op(*operands, **example.params)
    else:
        result = TracedArray(like.node.trace.build(case.op, (), tuple(sorted(example.params.items()))))
    value = pool.choose.among(listed(result))
    if not value.size:
        return like
    if value.dtype == np.complex128:
        return ops.real_part(value) + 0.5 * ops.imaginary_part(value)
    if value.dtype == np.float64 and operands:
        return value
    # What depends on no value, or does so in steps only, weighs one.
    weight = ops.select(value, *_constants(value)) if value.dtype == bool else ops.sin(ops.cast(value, dtype="float64"))
    return weight * pool.of_shape(value.shape)


def _constants(value: Any) -> list[Any]:
    type = ArrayType(value.shape, float)
    return [TracedArray(value.node.trace.literal(number, type)) for number in (1.0, 0.5)]


def _moving(choose: Choices) -> Case:
    """Draw an op for the body of a loop: difference quotients hold no `stop_gradient` in there at its value."""
    case = choose.among(drawn())
    return _moving(choose) if case.op is ops.stop_gradient else case


def loop(pool: Pool) -> Any:
    """Take up to three steps of ops drawn once, which close over another value; the result is what was carried."""
    choose, start, outer = pool.choose, pool.any(), pool.any()

    def body(carry: Any, row: Any) -> Any:
        inner = Pool(choose, [carry, outer, row])
        for _ in range(choose.integer(1, 2)):
            value = step(inner, _moving(choose))
            inner.values.append(value if value.size <= LARGEST else row)
        after = refilled(ops.sin(inner.values[-1]), carry.shape)
        return after + 0.1 * carry, ops.sin(row) * refilled(after, ())

    rows = ops.sin(refilled(start, (choose.integer(1, 3),)))
    carry, results = scan(body, start, rows, reverse=bool(choose.integer(0, 1)))
    return carry * refilled(results, carry.shape)


def draw_program(choose: Choices, most: int = 6) -> Program:
    """Draw a program with one to three inputs and up to `most` ops (and what brings their operands into the domain)."""
    types = [ArrayType(choose.among(SHAPES), float) for _ in range(choose.integer(1, 3))]

    def body(*inputs: Any) -> list[Any]:
        pool = Pool(choose, list(inputs))
        for _ in range(choose.integer(2, most)):
            value = step(pool, choose.among(drawn())) if choose.integer(0, 30) else loop(pool)
            if value.size > LARGEST:
                value = ops.sum(value, axes=tuple(range(value.ndim - 1)))
            if value.size > LARGEST:
                value = ops.sum(value, axes=(0,))
            pool.values.append(value)
        made = pool.values[len(inputs) :]
        return [made[-1], *(choose.among(made) for _ in range(choose.integer(0, 2)))]

    return trace(body)(*types)
