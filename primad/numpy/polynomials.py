"""NumPy's functions of polynomials, given by their coefficients from the highest power down."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy.promotion import convert, implements, traced_operands
from primad.numpy.shaping import atleast_1d, concatenate
from primad.numpy.signals import convolve

__all__ = ["poly", "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """np.polyval, by Horner's rule, of a number or an array."""
    p, x = traced_operands(p, x)
    if not p.shape[0]:
        return np.zeros(x.shape, x.dtype)
    found = p[0] + np.zeros(x.shape, x.dtype)
    for coefficient in p[1:]:
        found = found * x + coefficient
    return found


def _aligned(a1: Any, a2: Any) -> list[Any]:
    """Give both polynomials the same number of coefficients, as NumPy does."""
    both = [atleast_1d(x) for x in traced_operands(a1, a2)]
    length = max(x.shape[0] for x in both)
    return [concatenate([np.zeros(length - x.shape[0], x.dtype), x]) if x.shape[0] < length else x for x in both]


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """np.polyadd."""
    first, second = _aligned(a1, a2)
    return first + second


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """np.polysub."""
    first, second = _aligned(a1, a2)
    return first - second


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """np.polymul; leading coefficients that are 0 stay, since whether they are is a question of values."""
    return convolve(*[atleast_1d(x) for x in traced_operands(a1, a2)])


def _order(name: str, m: Any) -> int:
    count = operator.index(m)
    if count < 0:
        raise ShapeError(f"{name}: the order {count} must not be negative")
    return count


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """np.polyder."""
    for _ in range(_order("polyder", m)):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """np.polyint, with constants of integration: one, or one for each time."""
    count = _order("polyint", m)
    p, k = traced_operands(p, 0.0 if k is None else k)
    constants = list(atleast_1d(k))
    constants = constants * count if len(constants) == 1 else constants
    if len(constants) < count:
        raise ShapeError(f"polyint: {len(constants)} constants for {count} integrations")
    for i in range(count):
        p = concatenate([p / np.arange(p.shape[0], 0, -1), atleast_1d(constants[i])])
    return p


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """np.poly of roots; of a matrix (its characteristic polynomial) it is refused."""
    (roots,) = traced_operands(seq_of_zeros)
    roots = roots if roots.dtype == np.float32 else convert(roots, np.float64)
    if roots.ndim > 1:
        raise ShapeError("np.poly of a traced matrix is not supported; only of roots")
    found, nothing = np.ones(1, roots.dtype), np.zeros(1, roots.dtype)
    for root in atleast_1d(roots):
        found = concatenate([found, nothing]) - concatenate([nothing, found * root])
    return found
