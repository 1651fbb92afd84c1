"""Operators and methods of tensors and of static variables: the same functions, as `x + y` and `x.sum()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype, Value, apply
from primad.compat.paddle.functions import indexing, manipulation, math

_FUNCTIONS_ONLY = {"add_n", "atan2", "broadcast_to", "concat", "diag", "meshgrid", "pad", "stack", "unstack"}
METHODS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module in (math, manipulation, indexing)
    for name in module.__all__
    if name not in _FUNCTIONS_ONLY
}
"""What a method computes, by its name."""


BINARY = {
    "add": math.elementwise_add_,
    "sub": math.elementwise_sub_,
    "mul": math.elementwise_mul_,
    "truediv": math.elementwise_div_,
    "floordiv": math.elementwise_floordiv_,
    "mod": math.elementwise_mod_,
    "pow": math.elementwise_pow_,
    "and": math.bitwise_and_,
    "or": math.bitwise_or_,
    "xor": math.bitwise_xor_,
}
"""Python's operators that may be reflected."""
COMPARISONS = {
    "eq": math.equal_,
    "ne": math.not_equal_,
    "lt": math.less_than_,
    "le": math.less_equal_,
    "gt": math.greater_than_,
    "ge": math.greater_equal_,
}
_SCALED: dict[tuple[str, bool], Callable[[float], tuple[float, float]]] = {
    ("add", False): lambda c: (1.0, c),
    ("add", True): lambda c: (1.0, c),
    ("sub", False): lambda c: (1.0, -c),
    ("sub", True): lambda c: (-1.0, c),
    ("mul", False): lambda c: (c, 0.0),
    ("mul", True): lambda c: (c, 0.0),
}
"""Operators with a number that are a `scale`: (name, whether the number comes first) to (factor, bias)."""


def _operator(name: str, record: Prototype, reflected: bool) -> Callable[[Any, Any], Any]:
    scaled = _SCALED.get((name, reflected))

    def combine(self: Any, other: Any) -> Any:
        number = isinstance(other, (int, float, np.number)) and not isinstance(other, bool)
        if scaled is not None and number:
            factor, bias = scaled(other)
            return apply(math.scale_, self, layer="", scale=factor, bias=bias)
        if number and name == "pow" and not reflected:
            return apply(math.pow_, self, layer="", factor=other)
        if not isinstance(other, (Value, bool, int, float, np.ndarray, np.generic, list, tuple)):
            return NotImplemented
        if isinstance(other, (list, tuple)):
            other = np.asarray(other)
        return apply(record, *((other, self) if reflected else (self, other)), layer="")

    return combine


def attach(cls: type[Value]) -> None:
    """Give a kind of value the operators and methods."""
    members: dict[str, Any] = dict(METHODS)
    for name, record in BINARY.items():
        members[f"__{name}__"] = _operator(name, record, False)
        members[f"__r{name}__"] = _operator(name, record, True)
    for name, record in COMPARISONS.items():
        members[f"__{name}__"] = _operator(name, record, False)
    members |= {
        "__matmul__": math.matmul,
        "__rmatmul__": lambda self, other: math.matmul(other, self),
        "__neg__": lambda self: apply(math.scale_, self, layer="", scale=-1.0),
        "__abs__": math.abs,
        "__invert__": math.bitwise_not,
        "__getitem__": indexing.getitem,
        "__hash__": object.__hash__,
        "astype": math.cast,
        "T": property(lambda self: manipulation.transpose(self, range(len(self.shape))[::-1])),
    }
    for name, member in members.items():
        setattr(cls, name, member)
