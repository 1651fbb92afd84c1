"""Partial derivatives of functions of coordinates, as nodes: sums of them are differential operators.

A term is a number and the coordinates along which is differentiated, in order. Each derivative is the one of lower
order differentiated once more, so that all that are asked for of one function share what they are made of.
"""

from __future__ import annotations

from collections.abc import Sequence

from primad import ops
from primad.ir.node import Trace
from primad.ir.program import ClosedProgram, Program
from primad.primitive import Primitive
from primad.programs.ops import program_op
from primad.recording import program_of
from primad.trace import TracedArray
from primad.transforms import forward
from primad.transforms.lowering import expand, inline
from primad.types import ArrayType

Direction = tuple[int, int | None]
"""A coordinate: an argument's position, and the index along its last axis (None: the argument is the coordinate)."""
Term = tuple[float, tuple[Direction, ...]]
"""A number, and the coordinates along which is differentiated, in order."""


def _component_type(type: ArrayType, component: int | None) -> ArrayType:
    return type if component is None else ArrayType(type.shape[:-1], type.dtype)


def build_partial(
    program: Program, *, output: int, component: int | None, terms: tuple[Term, ...], points: int
) -> Program:
    """Build a sum of partial derivatives of one output, each times a number.

    Args:
        program: a function of coordinates, at one point or at many that it does not couple.
        output: which of its outputs.
        component: the index along the output's last axis; None for the output itself.
        terms: what to add up.
        points: how many leading axes of arguments and result are points.
    """
    known: dict[tuple[Direction, ...], Program] = {
        (): program_of(program.in_types, lambda *xs: [inline(program, xs)[output]], program.names)
    }

    def total(*operands: TracedArray) -> list[TracedArray]:
        found = None
        for number, directions in terms:
            (term,) = inline(_derivative(known, directions), operands)
            if component is not None:
                term = _component(term, component)
            term = term * number
            found = term if found is None else found + term
        assert found is not None
        return [found]

    return expand(program_of(program.in_types, total, program.names))


def _derivative(known: dict[tuple[Direction, ...], Program], directions: tuple[Direction, ...]) -> Program:
    """Return a derivative, made of the one of lower order by differentiating once more."""
    if directions not in known:
        lower = _derivative(known, directions[:-1])
        argument, index = directions[-1]
        moved = forward.jvp(lower, [i == argument for i in range(len(lower.inputs))])

        def along(*operands: TracedArray) -> list[TracedArray]:
            unit = _unit(operands[0].node.trace, lower.in_types[argument], index)
            return inline(moved, [*operands, unit])[1:]

        known[directions] = expand(program_of(lower.in_types, along, lower.names))
    return known[directions]


def _unit(trace: Trace, type: ArrayType, index: int | None) -> TracedArray:
    """Return the direction of a coordinate, at all points."""
    if index is None:
        return TracedArray(trace.literal(1, type))
    n = type.shape[-1]
    one = TracedArray(trace.literal(1, ArrayType((1,), type.dtype)))
    row = ops.pad(one, low=(index,), high=(n - 1 - index,), interior=(0,))
    unit: TracedArray = ops.broadcast(row, shape=type.shape, axes=tuple(range(type.ndim - 1)))
    return unit


def _component(x: TracedArray, component: int) -> TracedArray:
    last = x.ndim - 1
    start, stop = (*(0,) * last, component), (*x.shape[:last], component + 1)
    found: TracedArray = ops.reshape(ops.slice_(x, start=start, stop=stop, step=(1,) * x.ndim), shape=x.shape[:last])
    return found


def _types(
    of: ClosedProgram, *, output: int, component: int | None, terms: tuple[Term, ...], points: int
) -> Sequence[ArrayType]:
    return [_component_type(of.out_types[output], component)]


partial_: Primitive = program_op(
    "partial",
    build=build_partial,
    out_types=lambda of, **options: list(_types(of, **options)),
    doc="A sum of partial derivatives of one output, each times a number.",
)
