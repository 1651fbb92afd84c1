"""What a table says of one family of functions of a number that is closed under its derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class Tried:
    """Where families are tried: intervals without zeros of a denominator, in which they are of moderate size."""

    POSITIVE = (0.25, 3.0)
    ARGUMENT = (-1.5, 0.75)
    INSIDE = (-0.875, 0.875)


class FunctionFamily(Struct, frozen=True):
    """A family of functions f_p(x) with plain params p, whose derivatives are formulas in such families.

    Attributes:
        value: `(x, *p)`: of arrays in double precision.
        slope: `(of, out, x, *p)`: the derivative in x, in the language of rules; `of(name, x, *p)` is a member of any
            family.
        meaning: `(numbers, x, *p)`: what it is of numbers of high precision, in functions of mpmath.
        domain: where it is tried.
        tried: the params that it is tried with; none where SciPy is less exact than proofs ask.
    """

    value: Callable[..., Any]
    slope: Callable[..., Any]
    meaning: Callable[..., Any]
    domain: tuple[float, float]
    tried: tuple[tuple[Any, ...], ...] = ((),)
