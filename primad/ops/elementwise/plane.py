"""Polar coordinates of a point in the plane: hypot, arctan2, and the direction that both derivatives need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.node import Node, Trace
from primad.ops.elementwise.arithmetic import add, mul
from primad.ops.elementwise.discrete import equal
from primad.ops.elementwise.selection import select
from primad.ops.record.fields import Law, Work
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive, apply, full

__all__ = ["arctan2", "direction", "hypot"]


def _direction(x: Any, y: Any) -> Any:
    """x/hypot(x, y), with the limits at infinity and 0 at the origin."""
    x, y = np.asarray(x), np.asarray(y)
    with np.errstate(all="ignore"):
        length = np.hypot(x, y)
        if length.all() and np.isfinite(length).all():  # what follows has the same bits, and takes five times as long
            return x / length
        far = np.isinf(x)
        x, y = np.where(far, np.copysign(x.dtype.type(1), x), x), np.where(far, np.where(np.isinf(y), 1, y * 0), y)
        length = np.hypot(x, y)
        return x / np.where(length == 0, x.dtype.type(1), length)


def _per_length(value: Any, length: Any) -> Any:
    """Divide by the length; 0 at the origin, where no derivative exists."""
    origin = equal(length, 0)
    return select(origin, full(0.0, length), value / select(origin, full(1.0, length), length))


def _square_of_hypot(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    length, other = inputs
    if length is not other:
        return None
    return apply(trace, add, *[apply(trace, mul, part, part) for part in length.inputs])


hypot: Primitive = elementwise(
    "hypot",
    numpy=np.hypot,
    partials=[lambda out, x, y: direction(x, y), lambda out, x, y: direction(y, x)],
    meaning=lambda n, x, y: n.sqrt(x * x + y * y),
    doc="√(x² + y²), without overflow; at the origin all derivatives are 0.",
    consumed=[
        Law(
            "hypot(x, y)·hypot(x, y) = x·x + y·y, whose second derivatives at the origin are 2",
            "real",
            lambda x, y: (mul(hypot(x, y), hypot(x, y)), add(mul(x, x), mul(y, y))),
            ((3,), (3,)),
            _square_of_hypot,
            ("mul",),
        )
    ],
)


def _exact_direction(n: Any, x: Any, y: Any) -> Any:
    length = n.sqrt(x * x + y * y)
    return length if n.equal(length, 0) else n.divide(x, length)


def _direction_few(x: ArrayType, y: ArrayType) -> Any:
    """Return what divides by lengths where all are finite and none is 0: elsewhere length · (x / length) is NaN."""
    product = np.ndarray.dot if x.ndim == 1 else np.vdot

    def found(x: Any, y: Any) -> Any:
        length = np.hypot(x, y)
        quotient = x / length
        return _direction(x, y) if math.isnan(product(length, quotient)) else quotient

    return found


direction: Primitive = elementwise(
    "direction",
    numpy=_direction,
    work=Work(few=_direction_few),
    partials=[
        lambda out, x, y: _per_length(direction(y, x) * direction(y, x), hypot(x, y)),
        lambda out, x, y: _per_length(-(out * direction(y, x)), hypot(x, y)),
    ],
    meaning=_exact_direction,
    doc="x/√(x² + y²), the cosine of the point's angle, and 0 at the origin. Its derivatives are products of its own "
    "kind, in which nothing cancels, however far the point lies.",
)
arctan2: Primitive = elementwise(
    "arctan2",
    numpy=np.arctan2,
    partials=[
        lambda out, y, x: _per_length(direction(x, y), hypot(x, y)),
        lambda out, y, x: _per_length(-direction(y, x), hypot(x, y)),
    ],
    # Twice the angle at the circumference, measured from the axis that the point does not lie on.
    meaning=lambda n, y, x: 2 * n.atan(n.divide(y, n.sqrt(x * x + y * y) + x)),
    doc="The angle of the point (x, y), from −π to π; at the origin its derivative is 0.",
)
