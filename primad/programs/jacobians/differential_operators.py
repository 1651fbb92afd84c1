"""Sums of partial derivatives of functions of coordinates, as nodes: differential operators.

A term is the coordinates along which is differentiated, in order. Each derivative is the one of lower order
differentiated once more, so that all that are asked for of one function share what they are made of. Terms with one
weight stand together: 1, −1, or an operand that is a number. Sums of such nodes are one node, whatever way they are
written: what enters the terms linearly is then added where it begins (see `primad.simplify.factor_linear`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive
from primad.ops.record.rules import tangent_sum
from primad.programs.consumer_laws import of_operand
from primad.programs.program_ops import program_op
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.factor_linear import factor_linear, instead_in_sum
from primad.transforms import forward
from primad.transforms.lowering import expand, inline

Direction = tuple[int, int | None]
"""A coordinate: an argument's position, and the index along its last axis (None: the argument is the coordinate)."""
Term = tuple[Direction, ...]
"""The coordinates along which is differentiated, in order."""
Group = tuple[int, tuple[Term, ...]]
"""Terms with the same weight: 1 or −1; 0 for the next operand."""

Inputs = tuple[Node, ...]
Rule = Callable[[Node, Inputs, dict[str, Any]], Node | None]


def _component_type(type: ArrayType, component: int | None) -> ArrayType:
    return type if component is None else ArrayType(type.shape[:-1], type.dtype)


def build_partial(
    program: Program, *, output: int, component: int | None, groups: tuple[Group, ...], points: int
) -> Program:
    """Build a sum of partial derivatives of one output, with weights: the last operands.

    Args:
        program: a function of coordinates, at one point or at many that it does not couple.
        output: which of its outputs.
        component: the index along the output's last axis; None for the output itself.
        groups: what to add up.
        points: how many leading axes of arguments and result are points.
    """
    n = len(program.inputs)
    of = program_of(program.in_types, lambda *xs: [inline(program, xs)[output]], program.names)
    known: dict[Term, Program] = {(): of}
    weights = [ArrayType((), of.out_types[0].dtype) for sign, _ in groups if not sign]

    def total(*operands: TracedArray) -> list[TracedArray]:
        given = iter(operands[n:])
        found = []
        for sign, terms in groups:
            values = [inline(_derivative(known, term), operands[:n])[0] for term in terms]
            value = tangent_sum(values)
            if component is not None:
                value = _component(value, component)
            if not sign:
                value = value * ops.broadcast(next(given), shape=value.shape, axes=tuple(range(value.ndim)))
            found.append(-value if sign < 0 else value)
        return [tangent_sum(found)]

    return factor_linear(expand(program_of([*program.in_types, *weights], total)))


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
    of: ClosedProgram, *, output: int, component: int | None, groups: tuple[Group, ...], points: int
) -> Sequence[ArrayType]:
    return [_component_type(of.out_types[output], component)]


# -- sums of them ------------------------------------------------------------------------------------------------------


def _split(node: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the operands of a sum of derivatives: those of its function, and the weights."""
    count = len(node.inputs) - sum(not sign for sign, _ in dict(node.params)["groups"])
    return node.inputs[:count], node.inputs[count:]


def _same_function(x: Node, y: Node) -> bool:
    """Say whether two sums of derivatives are of the same function, at the same points."""
    named, others = ({k: v for k, v in node.params if k != "groups"} for node in (x, y))
    return named == others and _split(x)[0] == _split(y)[0]


def _weighted(node: Node) -> list[tuple[Any, Term]]:
    """Return the terms of a sum of derivatives with their weights, numbers where they are known."""
    weights = iter(_split(node)[1])
    found: list[tuple[Any, Term]] = []
    for sign, terms in dict(node.params)["groups"]:
        weight = sign or _number(next(weights))
        found += [(weight, term) for term in terms]
    return found


def _number(node: Node) -> Any:
    return literal_value(node) if node.op is LITERAL else TracedArray(node)


def _operator(like: Node, terms: Sequence[tuple[Any, Term]]) -> Node:
    """Return a sum of derivatives of the function that another one is of; equal terms become one."""
    weights: dict[Term, Any] = {}
    for weight, term in terms:
        weights[term] = weights[term] + weight if term in weights else weight
    groups, operands = grouped([(w, term) for term, w in weights.items()], like.trace, like.type)
    result: Node = partial_(
        *map(TracedArray, _split(like)[0]), *operands, **{**dict(like.params), "groups": groups}
    ).node
    return result


def grouped(
    terms: Sequence[tuple[Any, Term]], trace: Trace | None, type: ArrayType
) -> tuple[tuple[Group, ...], list[Any]]:
    """Return terms in groups of equal weights, and the weights that are operands.

    Args:
        terms: numbers, or traced numbers, and what they multiply.
        trace: where numbers that are operands go; None for plain ones.
        type: the type of the sum.
    """
    number = ArrayType((), type.dtype)
    found: dict[Any, list[Term]] = {}
    operands: dict[Any, Any] = {}
    for weight, term in terms:
        traced = isinstance(weight, TracedArray)
        key = weight.node if traced else float(weight)
        if key not in (1.0, -1.0) and key not in operands:
            if traced:
                operands[key] = weight
            elif trace is None:
                operands[key] = np.asarray(weight, type.dtype)[()]
            else:
                operands[key] = TracedArray(trace.literal(weight, number))
        found.setdefault(key, []).append(term)
    groups = tuple([(0 if key in operands else int(key), tuple(each)) for key, each in found.items()])
    return groups, list(operands.values())


def _added(sign: int) -> Rule:
    """Return the rule that an operator is added to one of the same function in the other sum, or subtracted from it."""

    def rule(node: Node, inputs: Inputs, params: dict[str, Any]) -> Node | None:
        left, right = inputs
        if right.op is node.op:
            found = instead_in_sum(left, _joined(right, sign))
            if found is not None or left.op is not node.op:
                return found
        if left.op is not node.op:
            return None
        found = instead_in_sum(right, _joined(left, sign))
        return found if found is None or sign > 0 else (-TracedArray(found)).node

    return rule


def _joined(node: Node, sign: int) -> Callable[[Node, int], Node | None]:
    """Return what a term of a sum becomes if an operator is added to the sum, with a sign: one with it."""

    def instead(term: Node, own: int) -> Node | None:
        if term.op is not node.op or not _same_function(term, node):
            return None
        return _operator(term, [*_weighted(term), *((sign * own * weight, each) for weight, each in _weighted(node))])

    return instead


def _scaled(node: Node, inputs: Inputs, params: dict[str, Any]) -> Node | None:
    other = inputs[1] if inputs[0] is node else inputs[0]
    if other.op is not LITERAL:
        return None
    return _operator(node, [(weight * literal_value(other), term) for weight, term in _weighted(node)])


def _negated(node: Node, inputs: Inputs, params: dict[str, Any]) -> Node:
    return _operator(node, [(-weight, term) for weight, term in _weighted(node)])


def _of_two(x: Any, y: Any) -> Any:
    return ops.sin(x) * y * y * x


def _statement(x: Any, y: Any, *terms: tuple[Any, Term]) -> Any:
    """A sum of derivatives of a function of two coordinates at three points."""
    type = ArrayType((3,), float)
    of = ClosedProgram(program_of([type] * 2, lambda x, y: [_of_two(x, y)]))
    groups, weights = grouped(terms, x.node.trace if isinstance(x, TracedArray) else None, type)
    return partial_(x, y, *weights, of=of, output=0, component=None, groups=groups, points=1)


_X, _Y = (0, None), (1, None)


def _law(name: str, at: Primitive, rule: Rule, statement: Any) -> Law:
    return Law(name, "real", statement, ((3,), (3,)), of_operand(lambda: partial_, rule), (at.name,))


partial_: Primitive = program_op(
    "partial",
    build=build_partial,
    out_types=lambda of, **options: list(_types(of, **options)),
    consumed=(
        _law(
            "a difference of differential operators is one",
            ops.sub,
            _added(-1),
            lambda x, y: (
                _statement(x, y, (1.0, (_X,))) - _statement(x, y, (2.0, (_Y, _Y))),
                _statement(x, y, (1.0, (_X,)), (-2.0, (_Y, _Y))),
            ),
        ),
        _law(
            "differential operators in a sum are one",
            ops.add,
            _added(1),
            lambda x, y: (
                (y - (x - _statement(x, y, (1.0, (_X,))))) + _statement(x, y, (2.0, (_Y,))),
                y - (x - _statement(x, y, (1.0, (_X,)), (2.0, (_Y,)))),
            ),
        ),
        _law(
            "a multiple of a differential operator is one",
            ops.mul,
            _scaled,
            lambda x, y: (
                _statement(x, y, (1.0, (_X,)), (3.0, (_Y, _Y))) * 2.0,
                _statement(x, y, (2.0, (_X,)), (6.0, (_Y, _Y))),
            ),
        ),
        _law(
            "a differential operator with the other sign is one",
            ops.neg,
            _negated,
            lambda x, y: (-_statement(x, y, (1.0, (_X,))), _statement(x, y, (-1.0, (_X,)))),
        ),
    ),
    doc="A sum of partial derivatives of one output, each times a number.",
)
