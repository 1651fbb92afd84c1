"""The single rule of a record, joined from one rule per operand; what is said where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, TracingError
from primad.ir.array_types import Linear, Zero
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray

Rule = Callable[..., Any]


def transpose_by_operand(name: str, rules: Sequence[Rule | None]) -> Rule:
    """Join one transpose per operand into the record's single function."""
    table = tuple(rules)

    def transpose(cotangent: Any, *inputs: Any, **params: Any) -> list[Any]:
        found: list[Any] = []
        for position, (rule, operand) in enumerate(zip(table, inputs, strict=True)):
            if not isinstance(operand, Linear):
                found.append(None)
            elif rule is None:
                raise NotDifferentiableError(
                    f"{name} is not linear in operand {position}",
                    fix="name the operands in which it is linear, or give the op a jvp.",
                )
            else:
                found.append(rule(cotangent, *inputs, **params))
        return found

    return transpose


def sum_of_contributions(rules: Sequence[Rule]) -> Rule:
    """Join one JVP contribution per operand into the record's single function."""
    table = tuple(rules)

    def jvp(tangents: Sequence[Any], out: Any, *inputs: Any, **params: Any) -> Any:
        terms = [
            table[i](tangent, out, *inputs, **params)
            for i, tangent in enumerate(tangents)
            if not isinstance(tangent, Zero)
        ]
        return tangent_sum(terms)

    return jvp


def sum_of_partials(rules: Sequence[Rule]) -> Rule:
    """Join one partial derivative per operand, a factor of its tangent, into the record's single function."""
    table = tuple(rules)

    def jvp(tangents: Sequence[Any], out: Any, *inputs: Any, **params: Any) -> Any:
        terms = [
            table[i](out, *inputs, **params) * tangent
            for i, tangent in enumerate(tangents)
            if not isinstance(tangent, Zero)
        ]
        return tangent_sum(terms)

    return jvp


def check_partials(name: str, numpy: Rule, partials: Any) -> tuple[Rule, ...]:
    """Return the partial derivatives of an elementwise primitive, one per operand, as a tuple.

    Raises:
        TracingError: unless each is a function of the output and the operands.
    """
    what = f"elementwise primitive {name!r}"
    example = "partials=[lambda out, x: …]"
    if not callable(numpy):
        raise TracingError(f"{what}: numpy is {_said(numpy)}, not a function of arrays", fix="pass np.tanh, say.")
    if not isinstance(partials, (list, tuple)) or not partials:
        raise TracingError(
            f"{what} needs one partial derivative per operand, in a list; got {_said(partials)}",
            fix=f"write {example}.",
        )
    count = len(partials)
    if isinstance(numpy, np.ufunc) and numpy.nin != count:
        raise TracingError(
            f"{what}: {numpy.nin} operands but {count} partial derivatives", fix="give one partial per operand."
        )
    for i, rule in enumerate(partials):
        if not callable(rule):
            raise TracingError(
                f"{what}: the partial derivative by operand {i} is {_said(rule)}, not a function",
                why="A derivative that is missing is an error in primad, never a zero.",
                fix="an operand that is never differentiated, as an order, may be closed over: "
                f"primad.elementwise({name!r}, lambda x: f(order, x), [lambda out, x: …]).",
            )
        needs = f"{1 + count}: the output and {count} operands"
        if not _takes(rule, 1 + count):
            raise TracingError(
                f"{what}: the partial derivative by operand {i} does not take {1 + count} arguments",
                why=f"It is called with {needs}.",
                fix=f"give one partial per operand, each written so: lambda out, {', '.join('xyzpqr'[:count])}: …",
            )
    return tuple(partials)


def _said(value: Any) -> str:
    if value is None:
        return "None"
    return "none" if isinstance(value, (list, tuple)) and not value else f"a value of type {type(value).__name__}"


def _takes(rule: Any, count: int) -> bool:
    """Say whether a rule can be called with so many arguments, as far as it tells."""
    if isinstance(rule, np.ufunc):
        return bool(rule.nin == count)
    try:
        parameters = [p for p in signature(rule).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    except (TypeError, ValueError):
        return True
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return True
    placed = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    return sum(p.default is p.empty for p in placed) <= count <= len(placed)


def missing_rule(primitive: Primitive, what: str) -> NotDifferentiableError:
    """Return the error for an op that lacks a rule."""
    return NotDifferentiableError(
        f"{primitive.name} has no {what}",
        why="A derivative that is missing is an error in primad, never a zero.",
        fix=f"give the record of `{primitive.name}` its {what}, wrap the function in primad.custom_jvp or custom_vjp, "
        "or use primad.stop_gradient where the derivative is meant to be zero.",
    )


def tangent_sum(terms: list[Any]) -> Any:
    """Add tangent contributions from left to right, those of several results each to its own."""
    total = terms[0]
    for term in terms[1:]:
        if isinstance(total, tuple):
            total = tuple([_sum_of_two(x, y) for x, y in zip(total, term, strict=True)])
        else:
            total = total + term
    return total


def _sum_of_two(x: Any, y: Any) -> Any:
    return y if isinstance(x, Zero) else x if isinstance(y, Zero) else x + y


def moving_operands(tangents: Sequence[Any], inputs: Sequence[Any], linear: Sequence[int] | None) -> list[Any]:
    """Return what a linear op is applied to for its tangent: tangents where it is linear, zeros where there is none.

    Args:
        tangents: of all operands, at least one of which has some.
        inputs: the operands.
        linear: the places of those in which the op is linear; None for all.
    """
    operands = []
    for i, (tangent, value) in enumerate(zip(tangents, inputs, strict=True)):
        if linear is not None and i not in linear:
            operands.append(value)
        elif isinstance(tangent, Zero):
            live = next(t for t in tangents if not isinstance(t, Zero))
            operands.append(TracedArray(live.node.trace.literal(0, tangent.type)))
        else:
            operands.append(tangent)
    return operands
