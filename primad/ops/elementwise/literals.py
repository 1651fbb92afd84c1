"""Laws of literals: an op of two is one, and multiples fold where the product is an ordinary number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT, ROUNDING
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ops.record.fields import Law

Inputs = tuple[Node, ...]
Params = dict[str, Any]


EXACTLY: dict[Any, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
}
"""The four operations on fractions."""


def may_round(function: np.ufunc, x: Any, y: Any, value: Any) -> bool:
    """Say whether a value may stand for an op of two numbers: it is exact, or rounded ones do as well."""
    if ROUNDING not in LEFT_OUT.get():
        return True
    from fractions import Fraction  # loads when bounds are computed

    try:
        return bool(EXACTLY[function](Fraction(x), Fraction(y)) == Fraction(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):  # of complex numbers, ∞ and NaN
        return False


def of_literals(name: str, op: Callable[[], Any], function: np.ufunc, x: float, y: float, result: float) -> Law:
    """Make the law that an op of two literals is a literal, stated for x and y."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        if inputs[0].op is LITERAL and inputs[1].op is LITERAL:
            type = inputs[0].type
            with np.errstate(all="ignore"):
                x, y = [type.dtype.type(literal_value(node)) for node in inputs]
                value = function(x, y).item()
            return trace.literal(value, type) if may_round(function, x.item(), y.item(), value) else None
        return None

    def statement() -> tuple[Any, Any]:
        return op()(np.float64(x), np.float64(y)), np.float64(result)

    return Law(name, "bitwise", statement, (), rewrite, ("literal",), complex="bitwise", only=("literal",))


def is_ordinary(value: float, type: ArrayType) -> bool:
    """Say whether a folded factor neither overflows nor vanishes in the dtype."""
    with np.errstate(all="ignore"):
        size = np.abs(type.dtype.type(value))
    return bool(np.finfo(type.dtype).tiny <= size < np.inf)
