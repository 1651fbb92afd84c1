"""Functions that overwrite their first operand: `tanh_` for `tanh`, from one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions import indexing, manipulation, math, numerics

_NAMES = (
    (
        math,
        "abs acos acosh asin asinh atan atanh bitwise_not cast ceil clip cos cosh cumsum erf exp expm1 floor log log10 "
        "log1p log2 logical_not pow reciprocal rsqrt scale sigmoid sin sinh sqrt square tan tanh",
    ),
    (numerics, "digamma erfinv frac lgamma neg round trunc"),
    (manipulation, "flatten reshape squeeze t transpose tril triu unsqueeze"),
    (indexing, "index_add masked_fill scatter"),
)
_BROADCASTING = (
    (
        math,
        "add bitwise_and bitwise_or bitwise_xor divide equal floor_divide greater_equal greater_than less_equal "
        "less_than logical_and logical_or logical_xor mod multiply not_equal remainder subtract",
    ),
    (numerics, "hypot lerp"),
)
"""Functions whose result must not be larger than what it replaces."""
_ALIASES = {"sub_": "subtract_", "mul_": "multiply_", "div_": "divide_"}


def in_place(function: Callable[..., Any], same_shape: bool = False) -> Callable[..., Tensor]:
    """Return the form of a function that overwrites its first operand with the result.

    Args:
        function: of a tensor and other arguments.
        same_shape: whether a result of another shape is refused.
    """
    name = f"{function.__name__}_"

    def write(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return x._overwrite(name, lambda old: function(old, *args, **kwargs), same_shape)

    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"Overwrite a tensor with what `{function.__name__}` gives, and return it."
    return write


IN_PLACE: dict[str, Callable[..., Tensor]] = {
    f"{name}_": in_place(getattr(module, name), same_shape)
    for table, same_shape in ((_NAMES, False), (_BROADCASTING, True))
    for module, names in table
    for name in names.split()
}
"""The functions by name; all of them are methods of tensors, too."""
IN_PLACE |= {alias: IN_PLACE[name] for alias, name in _ALIASES.items()}
