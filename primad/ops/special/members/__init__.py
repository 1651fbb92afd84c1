"""Families of special functions in one variable, closed under their derivative: one op, and a table of what it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special.members.bessel_like import BESSEL_LIKE
from primad.ops.special.members.entry import FunctionFamily
from primad.ops.special.members.hypergeometric import HYPERGEOMETRIC
from primad.ops.special.members.scaled_bessel import SCALED_BESSEL

__all__ = ["member"]

MEMBERS: dict[str, FunctionFamily] = {**BESSEL_LIKE, **HYPERGEOMETRIC, **SCALED_BESSEL}
"""The families by name."""


def _value(x: Any, *, of: str, p: tuple[Any, ...]) -> Any:
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        return np.asarray(MEMBERS[of].value(x.astype(np.float64), *p), x.dtype)


def _of(name: str, x: Any, *p: Any) -> Any:
    return member(x, of=name, p=p)


member: Primitive = elementwise(
    "member",
    numpy=_value,
    partials=[lambda out, x, *, of, p: MEMBERS[of].slope(_of, out, x, *p)],
    meaning=lambda numbers, x, *, of, p: MEMBERS[of].meaning(numbers, x, *p),
    doc="A special function of one variable, from a family that has its derivatives, with plain params p.",
)
