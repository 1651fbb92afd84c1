"""Laws of literals: an op of two is one, and multiples fold where the product is an ordinary number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ops.record.fields import Law

Inputs = tuple[Node, ...]
Params = dict[str, Any]


def of_literals(name: str, op: Callable[[], Any], function: np.ufunc, x: float, y: float, result: float) -> Law:
    """Make the law that an op of two literals is a literal, stated for x and y."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        if inputs[0].op is LITERAL and inputs[1].op is LITERAL:
            type = inputs[0].type
            with np.errstate(all="ignore"):
                value = function(*[type.dtype.type(literal_value(node)) for node in inputs])
            return trace.literal(value.item(), type)
        return None

    def statement() -> tuple[Any, Any]:
        return op()(np.float64(x), np.float64(y)), np.float64(result)

    return Law(name, "bitwise", statement, (), rewrite, ("literal",), complex="bitwise")


def is_ordinary(value: float, type: ArrayType) -> bool:
    """Say whether a folded factor neither overflows nor vanishes in the dtype."""
    with np.errstate(all="ignore"):
        size = np.abs(type.dtype.type(value))
    return bool(np.finfo(type.dtype).tiny <= size < np.inf)
