"""What arrays and symbols have in common: Python's operators, and methods that are operators of the same name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from primad.compat.mxnet.errors import unsupported

Scalar = (int, float, np.integer, np.floating, np.bool_)

_TWO = {
    "add": ("elemwise_add", "_plus"),
    "sub": ("elemwise_sub", "_minus"),
    "mul": ("elemwise_mul", "_mul"),
    "div": ("elemwise_div", "_div"),
}
_ONE = {
    "add": ("_plus_scalar", "_plusscalar"),
    "sub": ("_minus_scalar", "_minusscalar"),
    "mul": ("_mul_scalar", "_mulscalar"),
    "div": ("_div_scalar", "_divscalar"),
    "mod": ("_mod_scalar", "_modscalar"),
    "power": ("_power_scalar", "_powerscalar"),
    "maximum": ("_maximum_scalar", "_maximumscalar"),
    "minimum": ("_minimum_scalar", "_minimumscalar"),
    "hypot": ("_hypot_scalar", "_hypotscalar"),
}
_REFLECTED = {
    "sub": ("_rminus_scalar", "_rminusscalar"),
    "div": ("_rdiv_scalar", "_rdivscalar"),
    "mod": ("_rmod_scalar", "_rmodscalar"),
    "power": ("_rpower_scalar", "_rpower_scalar"),
}
_SWAPPED = {
    "greater": "lesser",
    "lesser": "greater",
    "greater_equal": "lesser_equal",
    "lesser_equal": "greater_equal",
}
"""What a comparison becomes where its operands change places."""

_FLUENT = {
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel", "argmin",
    "argsort", "broadcast_axes", "broadcast_like", "broadcast_to", "cbrt", "ceil", "clip", "cos", "cosh", "degrees",
    "depth_to_space", "diag", "exp", "expand_dims", "expm1", "fix", "flip", "floor", "log", "log10", "log1p",
    "log2", "log_softmax", "max", "mean", "min", "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick",
    "prod", "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape_like", "rint", "round", "rsqrt",
    "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like", "softmax",
    "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "squeeze", "sum", "swapaxes", "take", "tan",
    "tanh", "tile", "topk", "transpose", "trunc", "zeros_like", "flatten",
}  # fmt: skip
"""The methods that are operators of the same name."""


class Operand:
    """An array or a symbol: what operators are applied to.

    Attributes:
        _written: what the class is called in messages.
    """

    __slots__ = ()
    __array_priority__ = 1000.0
    _written: ClassVar[str]

    @staticmethod
    def _pairs(operation: str) -> tuple[str, str]:
        """Return the operator of two operands, and the first part of its automatic names."""
        raise NotImplementedError

    def _apply(self, name: str, hint: str, inputs: Sequence[Any], parameters: dict[str, Any]) -> Self:
        """Apply an operator by name to inputs by place."""
        raise NotImplementedError

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call an operator's function on this operand and arguments."""
        raise NotImplementedError

    def _with(self, other: Any, operation: str, reflected: bool = False) -> Self:
        """Apply an operation, a key of `elementwise.ARITHMETIC`, to this operand and another one or a number."""
        if reflected and operation in _SWAPPED:
            operation, reflected = _SWAPPED[operation], False
        if isinstance(other, type(self)):
            pair = (other, self) if reflected else (self, other)
            return self._apply(*self._pairs(operation), pair, {})
        if isinstance(other, Scalar):
            default = f"_{operation}_scalar", f"_{operation}_scalar"
            names = _ONE.get(operation, default)
            return self._apply(*(_REFLECTED.get(operation, names) if reflected else names), (self,), {"scalar": other})
        raise TypeError(f"type {type(other)} not supported")

    def __add__(self, other: Any) -> Self:
        return self._with(other, "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return self._with(other, "sub")

    def __rsub__(self, other: Any) -> Self:
        return self._with(other, "sub", True)

    def __mul__(self, other: Any) -> Self:
        return self._with(other, "mul")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        return self._with(other, "div")

    def __rtruediv__(self, other: Any) -> Self:
        return self._with(other, "div", True)

    def __mod__(self, other: Any) -> Self:
        return self._with(other, "mod")

    def __rmod__(self, other: Any) -> Self:
        return self._with(other, "mod", True)

    def __pow__(self, other: Any) -> Self:
        return self._with(other, "power")

    def __rpow__(self, other: Any) -> Self:
        return self._with(other, "power", True)

    def __abs__(self) -> Self:
        return self._apply("abs", "abs", (self,), {})

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return self._with(other, "equal")

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return self._with(other, "not_equal")

    def __gt__(self, other: Any) -> Self:
        return self._with(other, "greater")

    def __ge__(self, other: Any) -> Self:
        return self._with(other, "greater_equal")

    def __lt__(self, other: Any) -> Self:
        return self._with(other, "lesser")

    def __le__(self, other: Any) -> Self:
        return self._with(other, "lesser_equal")

    __hash__ = None  # type: ignore[assignment]

    def reshape(self, *args: Any, **kwargs: Any) -> Self:
        """Return the operand in another shape, given as one tuple or as lengths."""
        if args:
            kwargs["shape"] = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        made: Self = self._call("reshape", **kwargs)
        return made

    def __getattr__(self, name: str) -> Any:
        if name in _FLUENT:
            return lambda *args, **kwargs: self._call(name, *args, **kwargs)
        raise unsupported(type(self)._written, name, [*_FLUENT, *dir(type(self))])


def elementwise_pair(operation: str) -> tuple[str, str]:
    """Return the operator of two operands of one shape, and the first part of its automatic names."""
    return _TWO.get(operation, (f"_{operation}", f"_{operation}"))


FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
    "power": operator.pow, "maximum": max, "minimum": min, "hypot": np.hypot,
    "equal": operator.eq, "not_equal": operator.ne, "greater": operator.gt, "greater_equal": operator.ge,
    "lesser": operator.lt, "lesser_equal": operator.le,
}  # fmt: skip
"""The functions of two operands, on numbers."""


def function_of_two(name: str, operation: str) -> Callable[[Any, Any], Any]:
    """Return the public function of two operands, each of which may be a number."""

    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, Operand):
            return lhs._with(rhs, operation)
        if isinstance(rhs, Operand):
            return rhs._with(lhs, operation, True)
        return FLOATS[operation](lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(lhs, rhs): of two arrays that broadcast, two symbols of one shape, or one and a number."
    return function
