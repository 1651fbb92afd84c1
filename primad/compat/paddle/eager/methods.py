"""Operators and methods of tensors and of static variables: the same functions, as `x + y` and `x.sum()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype, Value, apply
from primad.compat.paddle.functions import indexing, manipulation, math

METHODS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module, names in (
        (
            math,
            "abs acos acosh add all any asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil "
            "clip cos cosh cumsum divide dot equal erf exp expm1 floor floor_divide greater_equal greater_than "
            "isfinite isinf isnan less_equal less_than log log10 log1p log2 logical_and logical_not logical_or "
            "logical_xor logsumexp matmul max maximum mean min minimum mm mod multiply norm not_equal pow prod "
            "reciprocal remainder rsqrt scale sigmoid sign sin sinh sqrt square subtract sum tan tanh",
        ),
        (
            manipulation,
            "chunk diagonal expand expand_as flatten flip moveaxis repeat_interleave reshape roll split squeeze "
            "swapaxes t tile transpose tril triu unbind unsqueeze",
        ),
        (
            indexing,
            "gather gather_nd index_add index_select masked_fill masked_select nonzero scatter scatter_nd_add slice "
            "strided_slice take_along_axis where",
        ),
    )
    for name in names.split()
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
