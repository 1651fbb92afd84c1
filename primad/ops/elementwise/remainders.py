"""Division with a remainder: floor_divide, remainder, fmod."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.elementwise.discrete import sign
from primad.ops.elementwise.kinks import abs
from primad.ops.record.kinds import elementwise, piecewise_constant
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, full

__all__ = ["floor_divide", "fmod", "remainder"]

floor_divide: Primitive = piecewise_constant(
    "floor_divide",
    numpy=np.floor_divide,
    meaning=lambda n, x, y: n.number(n.floor(n.divide(x, y))),
    doc="⌊x/y⌋, rounded as NumPy does: 1 divided by 0.1 is 9, since 0.1 is a little more than a tenth.",
)
remainder: Primitive = elementwise(
    "remainder",
    numpy=np.remainder,
    partials=[lambda out, x, y: full(1.0, x), lambda out, x, y: -floor_divide(x, y)],
    infer=same_type,
    meaning=lambda n, x, y: x - y * n.floor(n.divide(x, y)),
    doc="x − y·⌊x/y⌋, exact; it has the sign of y.",
)


def _towards_zero(x: Any, y: Any) -> Any:
    """Return the integer part of x/y."""
    return sign(x) * sign(y) * floor_divide(abs(x), abs(y))


def _fmod(n: Any, x: Any, y: Any) -> Any:
    quotient = n.divide(x, y)
    return x - y * (-n.floor(-quotient) if n.less(quotient, 0) else n.floor(quotient))


fmod: Primitive = elementwise(
    "fmod",
    numpy=np.fmod,
    partials=[lambda out, x, y: full(1.0, x), lambda out, x, y: -_towards_zero(x, y)],
    infer=same_type,
    meaning=_fmod,
    doc="x − y·(x/y without its fraction), exact; it has the sign of x.",
)
