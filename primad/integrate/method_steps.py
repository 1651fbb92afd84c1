"""What steps of methods for initial value problems have in common.

A step is a function of (fun, t, y, fun(t, y), h). What it returns has a new value, its slope, an estimate of the error
and what the value inside of the step is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from primad.ir.array_types import is_complex


class Stepped(NamedTuple):
    """The result of a step.

    Attributes:
        y: the value at its end.
        slope: the slope there.
        error: (absolute, relative tolerance) -> a number that is below 1 where the step is accurate enough.
        inside: what `Method.between` takes, one array.
    """

    y: Any
    slope: Any
    error: Callable[[Any, Any], Any]
    inside: Any


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes:
        step: (fun, t, y, slope, h) -> Stepped.
        between: (inside, y at the start, h, x) -> the value where x of the step is done.
        order: of the estimate of the error.
        evaluations: of the function, in a step.
    """

    step: Callable[..., Stepped]
    between: Callable[..., Any]
    order: int
    evaluations: int


def combined(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    """Return the sum of slopes with weights, without those whose weight is 0."""
    terms = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w != 0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def norm(x: Any) -> Any:
    """Return the root of the mean square."""
    return np.sqrt(np.mean(squares(x)))


def squares(x: Any) -> Any:
    """Return the squares of numbers, of complex ones of their sizes."""
    return x.real**2 + x.imag**2 if is_complex(x.dtype) else x * x


def scale(y: Any, new: Any, atol: Any, rtol: Any) -> Any:
    """Return the tolerance for the error of each component."""
    return atol + rtol * np.maximum(np.abs(y), np.abs(new))
