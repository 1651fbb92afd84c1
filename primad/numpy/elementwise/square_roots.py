"""Roots of sums of squares: of norms and standard deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import Node, Trace
from primad.ops.record.fields import Law
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive


def _safe_sqrt(x: Any) -> Any:
    zero = x == 0
    one = x.__class__(x.node.trace.literal(1, x.type))
    nothing = x.__class__(x.node.trace.literal(0, x.type))
    return ops.select(zero, nothing, ops.sqrt(ops.select(zero, one, x)))


def _square_of_root(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    root, other = inputs
    return root.inputs[0] if root is other else None


safe_sqrt: Primitive = composite(
    "safe_sqrt",
    numpy=np.sqrt,
    lower=_safe_sqrt,
    consumed=[
        Law(
            "√x·√x = x for a sum of squares x, whose second derivatives are those of the squares",
            "real",
            lambda x: (ops.mul(safe_sqrt(ops.mul(x, x)), safe_sqrt(ops.mul(x, x))), ops.mul(x, x)),
            ((3,),),
            _square_of_root,
            ("mul",),
        )
    ],
    doc="√x of sums of squares, which are never negative, with derivative 0 at 0: for norms and standard deviations.",
)
COMPOSITES = [safe_sqrt]
