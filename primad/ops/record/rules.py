"""The single rule of a record, joined from one rule per operand; what is said where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import CO_VARARGS
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError
from primad.ir.array_types import Linear, Zero
from primad.ops.record.primitive import Primitive

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
                raise NotDifferentiableError(f"{name} is not linear in operand {position}")
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


def check_arity(name: str, numpy: Rule, partials: tuple[Rule, ...]) -> None:
    """Raise unless there is one partial derivative per operand, each a function of the output and the operands."""
    if isinstance(numpy, np.ufunc) and numpy.nin != len(partials):
        raise TypeError(f"elementwise primitive {name!r}: {numpy.nin} operands but {len(partials)} partial derivatives")
    for rule in partials:
        code = getattr(rule, "__code__", None)
        if code is None or code.co_flags & CO_VARARGS:
            continue
        if code.co_argcount != 1 + len(partials):
            raise TypeError(
                f"elementwise primitive {name!r}: a partial derivative takes {code.co_argcount} arguments, but needs "
                f"{1 + len(partials)}: the output and {len(partials)} operands; give one partial per operand"
            )


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
