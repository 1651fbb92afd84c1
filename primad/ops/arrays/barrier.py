"""The identity that keeps equal values apart, so that one of them can be computed again later."""

from __future__ import annotations

from primad.ops.record.fields import CHEAP, MemoryUse
from primad.ops.record.kinds import linear
from primad.ops.record.primitive import Primitive

__all__ = ["barrier"]

barrier: Primitive = linear(
    "barrier",
    numpy=lambda x: x,
    infer=lambda x: x,
    transpose=[lambda ct, x: ct],
    memory=MemoryUse(views=True),
    work=CHEAP,
    doc="x; what is computed from it is not merged with what is computed from x itself.",
)
