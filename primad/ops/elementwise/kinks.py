"""Functions with kinks: abs, maximum, minimum. Ties share the derivative equally."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ir.node import Node, Trace
from primad.ops.elementwise.arithmetic import mul
from primad.ops.elementwise.discrete import sign
from primad.ops.elementwise.selection import select
from primad.ops.record.fields import CHEAP, Law
from primad.ops.record.kinds import elementwise
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, apply

__all__ = ["abs", "maximum", "minimum"]


def _square_of_abs(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    size, other = inputs
    return apply(trace, mul, *size.inputs, *size.inputs) if size is other else None


abs: Primitive = elementwise(
    "abs",
    numpy=np.absolute,
    partials=[lambda out, x: sign(x)],
    infer=same_type,
    meaning=lambda n, x: -x if n.less(x, 0) else x,
    work=CHEAP,
    doc="|x|, with |·|′(0) = 0.",
    consumed=[
        Law(
            "|x|·|x| = x·x, whose second derivative at 0 is 2",
            "bitwise",
            lambda x: (mul(abs(x), abs(x)), mul(x, x)),
            ((3,),),
            _square_of_abs,
            ("mul",),
        )
    ],
)

maximum: Primitive = elementwise(
    "maximum",
    numpy=np.maximum,
    partials=[lambda out, x, y: _share(y > x, x == y, x), lambda out, x, y: _share(x > y, x == y, x)],
    infer=same_type,
    meaning=lambda n, x, y: y if n.less(x, y) else x,
    work=CHEAP,
    doc="The larger of x and y; at a tie each has half of the derivative, and where one is NaN each has all of it.",
)

minimum: Primitive = elementwise(
    "minimum",
    numpy=np.minimum,
    partials=[lambda out, x, y: _share(y < x, x == y, x), lambda out, x, y: _share(x < y, x == y, x)],
    infer=same_type,
    meaning=lambda n, x, y: y if n.less(y, x) else x,
    work=CHEAP,
    doc="The smaller of x and y; at a tie each has half of the derivative, and where one is NaN each has all of it.",
)


def _share(loses: Any, ties: Any, like: Any) -> Any:
    """0 where it loses, 1/2 where it ties, 1 elsewhere: a NaN, which is neither, is not hidden."""
    trace, type = like.node.trace, like.node.type
    one, half, zero = (like.__class__(trace.literal(value, type)) for value in (1.0, 0.5, 0.0))
    return select(loses, zero, select(ties, half, one))
