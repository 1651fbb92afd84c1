"""More elementwise functions, differences and comparisons with a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.functions import BINARY, UNARY, Function
from primad.compat.paddle.eager.operators import Prototype, Value, apply, prototype
from primad.compat.paddle.functions.math import add, binary, equal, multiply, subtract, unary
from primad.compat.paddle.functions.math import all as all_of
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.numpy import special


def _round(x: Any) -> Any:
    near = np.floor(x + 0.5)
    return near - np.where((near - x == 0.5) & (np.remainder(near, 2.0) == 1.0), 1.0, 0.0).astype(x.dtype)


def _trunc(x: Any) -> Any:
    return np.sign(x) * np.floor(np.abs(x))


round = unary("round", Function(_round, "The nearest integer, the even one for halves, elementwise."))
trunc = unary("trunc", Function(_trunc, "The integer towards 0, elementwise."))
frac = unary("frac", Function(lambda x: x - _trunc(x), "What is left of x without its integer part, elementwise."))
neg = unary("neg", UNARY["negative"])
lgamma = unary("lgamma", UNARY["gammaln"])
digamma = unary("digamma", Function(special.digamma, "Derivative of lgamma, elementwise."))
erfinv = unary("erfinv", UNARY["erfinv"])
deg2rad = unary("deg2rad", UNARY["radians"])
rad2deg = unary("rad2deg", UNARY["degrees"])
hypot = binary(Prototype("hypot", BINARY["hypot"].compute, ("X", "Y")), BINARY["hypot"].doc)
logaddexp = binary(
    Prototype("logaddexp", np.logaddexp, ("X", "Y")), "log(exp(x) + exp(y)), elementwise, without overflow."
)


def lerp(x: Any, y: Any, weight: Any, name: Any = None) -> Any:
    """Return x + weight·(y − x), elementwise."""
    return add(x, multiply(subtract(y, x), weight) if isinstance(weight, Value) else (y - x) * weight, name)


@prototype("diff", n=1, axis=-1)
def _diff(x: Any, *, n: int, axis: int) -> Any:
    return np.diff(x, n, axis)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, name: Any = None) -> Any:
    """Return the differences of neighbours along an axis, n times.

    Raises:
        InvalidArgumentError: with prepend or append, which are not supported.
    """
    if prepend is not None or append is not None:
        raise InvalidArgumentError("diff: prepend and append are not supported", fix="use paddle.concat.")
    return apply(_diff, x, n=n, axis=axis, name=name)


@prototype("isclose", inputs="Input Other", rtol=1e-5, atol=1e-8, equal_nan=False)
def _isclose(x: Any, y: Any, *, rtol: float, atol: float, equal_nan: bool) -> Any:
    near = (np.abs(x - y) <= atol + rtol * np.abs(y)) | (x == y)
    return near | ((x != x) & (y != y)) if equal_nan else near


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, name: Any = None) -> Any:
    """Return whether |x − y| ≤ atol + rtol·|y|, elementwise."""
    return apply(_isclose, x, y, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan), name=name)


def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, name: Any = None) -> Any:
    """Return whether |x − y| ≤ atol + rtol·|y| for all elements."""
    return all_of(isclose(x, y, rtol, atol, equal_nan), name=name)


def equal_all(x: Any, y: Any, name: Any = None) -> Any:
    """Return whether two tensors have the same shape and elements."""
    if list(x.shape) != list(y.shape):
        return all_of(equal(x * 0, x * 0 + 1), name=name)
    return all_of(equal(x, y), name=name)


__all__ = [
    "allclose", "deg2rad", "diff", "digamma", "equal_all", "erfinv", "frac", "hypot", "isclose", "lerp", "lgamma",
    "logaddexp", "neg", "rad2deg", "round", "trunc",
]  # fmt: skip
