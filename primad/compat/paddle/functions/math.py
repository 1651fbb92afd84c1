"""Elementwise functions, comparisons, reductions and products: Paddle's functions over its operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import primad.numpy as pn
from primad.compat.functions import BINARY, REDUCTIONS, UNARY, Function
from primad.compat.paddle.eager.operators import Prototype, Value, apply, prototype
from primad.compat.paddle.settings.dtypes import as_dtype, default_numpy
from primad.numpy import special

Axis = int | Sequence[int] | None


def floating(x: Any) -> Any:
    """Return an array as floats: integers and booleans in the default data type, as Paddle's functions take them."""
    return x if x.dtype.kind == "f" else x.astype(default_numpy())


# -- one operand -------------------------------------------------------------------------------------------------------


def unary(type: str, function: Function) -> Callable[..., Any]:
    """Make a function of one tensor from what it computes, and what Paddle calls its operator."""
    compute = function.compute
    record = Prototype(type, (lambda x: compute(floating(x))) if function.floats else compute)

    def apply_to(x: Any, name: str | None = None) -> Any:
        return apply(record, x, name=name)

    apply_to.__name__ = apply_to.__qualname__ = type
    apply_to.__doc__ = function.doc
    return apply_to


abs = unary("abs", UNARY["abs"])
acos = unary("acos", UNARY["arccos"])
acosh = unary("acosh", UNARY["arccosh"])
asin = unary("asin", UNARY["arcsin"])
asinh = unary("asinh", UNARY["arcsinh"])
atan = unary("atan", UNARY["arctan"])
atanh = unary("atanh", UNARY["arctanh"])
ceil = unary("ceil", UNARY["ceil"])
cos = unary("cos", UNARY["cos"])
cosh = unary("cosh", UNARY["cosh"])
erf = unary("erf", UNARY["erf"])
exp = unary("exp", UNARY["exp"])
expm1 = unary("expm1", UNARY["expm1"])
floor = unary("floor", UNARY["floor"])
log = unary("log", UNARY["log"])
log10 = unary("log10", UNARY["log10"])
log1p = unary("log1p", UNARY["log1p"])
log2 = unary("log2", UNARY["log2"])
reciprocal = unary("reciprocal", UNARY["reciprocal"])
rsqrt = unary("rsqrt", Function(lambda x: x**-0.5, "1/√x, elementwise."))
sigmoid = unary("sigmoid", UNARY["expit"])
sign = unary("sign", UNARY["sign"])
sin = unary("sin", UNARY["sin"])
sinh = unary("sinh", UNARY["sinh"])
sqrt = unary("sqrt", UNARY["sqrt"])
tan = unary("tan", UNARY["tan"])
tanh = unary("tanh", UNARY["tanh"])
isnan = unary("isnan_v2", Function(np.isnan, "Whether an element is NaN.", floats=False))
isinf = unary("isinf_v2", Function(np.isinf, "Whether an element is infinite.", floats=False))
isfinite = unary("isfinite_v2", Function(np.isfinite, "Whether an element is neither infinite nor NaN.", floats=False))
bitwise_not = unary(
    "bitwise_not", Function(np.invert, "The bits that are not set, of integers or booleans.", floats=False)
)
logical_not = unary("logical_not", Function(np.logical_not, "Not x, elementwise.", floats=False))


square_ = Prototype("square", UNARY["square"].compute)


def square(x: Any, name: Any = None) -> Any:
    """Return x·x, elementwise."""
    return apply(square_, x, name=name)


@prototype("scale", scale=1.0, bias=0.0, bias_after_scale=True)
def scale_(x: Any, *, scale: float, bias: float, bias_after_scale: bool) -> Any:
    """scale·x + bias, or scale·(x + bias)."""
    integers = x.dtype.kind in "iu" and float(scale).is_integer() and float(bias).is_integer()
    x, scale, bias = (x, int(scale), int(bias)) if integers else (floating(x), scale, bias)
    shifted = x if bias_after_scale or bias == 0 else x + bias
    scaled = shifted if scale == 1 else shifted * scale
    return scaled + bias if bias_after_scale and bias != 0 else scaled


def scale(
    x: Any, scale: Any = 1.0, bias: float = 0.0, bias_after_scale: bool = True, act: str | None = None, name: Any = None
) -> Any:
    """Return scale·x + bias, or scale·(x + bias) with `bias_after_scale=False`."""
    if isinstance(scale, Value):
        return add(multiply(x, scale), bias, name) if bias_after_scale else multiply(add(x, bias), scale, name)
    return apply(scale_, x, scale=scale, bias=bias, bias_after_scale=bias_after_scale, name=name)


@prototype("pow", factor=1.0)
def pow_(x: Any, *, factor: float) -> Any:
    """The power of x with a number as exponent."""
    if x.dtype.kind in "iu" and isinstance(factor, int):
        return x**factor
    return floating(x) ** (int(factor) if float(factor).is_integer() else factor)


def pow(x: Any, y: Any, name: Any = None) -> Any:
    """Return x to the power of y, elementwise; y is a number or broadcasts with x."""
    if isinstance(y, (int, float)):
        return apply(pow_, x, factor=y, name=name)
    return apply(elementwise_pow_, x, y, name=name)


@prototype("clip", inputs="X Min Max", min=None, max=None)
def _clip(x: Any, low: Any, high: Any, *, min: float | None, max: float | None) -> Any:
    low, high = min if low is None else low, max if high is None else high
    if low is not None:
        x = np.where(x < low, low, x)
    return x if high is None else np.where(x > high, high, x)


def clip(x: Any, min: Any = None, max: Any = None, name: Any = None) -> Any:
    """Return x limited to [min, max], elementwise; the derivative at the limits is 1, beyond them 0."""
    low, high = (bound if isinstance(bound, Value) else None for bound in (min, max))
    return apply(_clip, x, low, high, min=None if low is min else min, max=None if high is max else max, name=name)


# -- two operands ------------------------------------------------------------------------------------------------------


def binary(record: Prototype, doc: str) -> Callable[..., Any]:
    """Make a function of two tensors from an operator."""

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        return apply(record, x, y, name=name)

    function.__name__ = function.__qualname__ = record.type
    function.__doc__ = doc
    return function


def _elementwise(type: str, function: Function) -> tuple[Prototype, Callable[..., Any]]:
    """Return the operator of two tensors that computes a function, and the function of two tensors that applies it."""

    def compute(x: Any, y: Any, *, axis: int) -> Any:
        return function.compute(x, _aligned(x, y, axis))

    record = Prototype(type, compute, ("X", "Y"), ("Out",), {"axis": -1})
    return record, binary(record, f"{function.doc} The operands broadcast.")


def _aligned(x: Any, y: Any, axis: int) -> Any:
    """Return y with ones appended to its shape, so that its first axis meets `axis` of x; −1 aligns the last axes."""
    missing = 0 if axis == -1 else x.ndim - axis - y.ndim
    return y.reshape((*y.shape, *[1] * missing)) if missing > 0 else y


def _divide(x: Any, y: Any) -> Any:
    return floating(x) / floating(y)


def _power(x: Any, y: Any) -> Any:
    return np.power(x if x.dtype.kind + y.dtype.kind == "ii" else floating(x), y)


elementwise_pow_ = _elementwise("elementwise_pow", Function(_power, "x to the power of y."))[0]
elementwise_add_, add = _elementwise("elementwise_add", BINARY["add"])
elementwise_sub_, subtract = _elementwise("elementwise_sub", BINARY["subtract"])
elementwise_mul_, multiply = _elementwise("elementwise_mul", BINARY["multiply"])
elementwise_div_, divide = _elementwise(
    "elementwise_div", Function(_divide, "x / y, elementwise; integers are divided as floats.")
)
elementwise_floordiv_, floor_divide = _elementwise(
    "elementwise_floordiv", Function(np.floor_divide, "x / y rounded down, elementwise.")
)
elementwise_mod_, mod = _elementwise("elementwise_mod", BINARY["remainder"])
remainder = mod
maximum = _elementwise(
    "elementwise_max",
    Function(
        lambda x, y: np.where((x > y) | (x != x), x, y),
        "The larger of x and y, elementwise; where they are equal, the derivative is that of y.",
    ),
)[1]
minimum = _elementwise(
    "elementwise_min",
    Function(
        lambda x, y: np.where((x < y) | (x != x), x, y),
        "The smaller of x and y, elementwise; where they are equal, the derivative is that of y.",
    ),
)[1]
atan2 = _elementwise(
    "atan2", Function(np.arctan2, "The angle of the point (y, x) given as (x, y), elementwise, in radians.")
)[1]
equal_, equal = _elementwise("equal", BINARY["equal"])
not_equal_, not_equal = _elementwise("not_equal", BINARY["not_equal"])
less_than_, less_than = _elementwise("less_than", BINARY["less"])
less_equal_, less_equal = _elementwise("less_equal", BINARY["less_equal"])
greater_than_, greater_than = _elementwise("greater_than", BINARY["greater"])
greater_equal_, greater_equal = _elementwise("greater_equal", BINARY["greater_equal"])
bitwise_and_, bitwise_and = _elementwise(
    "bitwise_and", Function(np.bitwise_and, "The bits that are set in x and in y.")
)
bitwise_or_, bitwise_or = _elementwise("bitwise_or", Function(np.bitwise_or, "The bits that are set in x or in y."))
bitwise_xor_, bitwise_xor = _elementwise(
    "bitwise_xor", Function(np.bitwise_xor, "The bits that are set in one of x and y.")
)
logical_and = _elementwise("logical_and", Function(np.logical_and, "x and y, elementwise."))[1]
logical_or = _elementwise("logical_or", Function(np.logical_or, "x or y, elementwise."))[1]
logical_xor = _elementwise("logical_xor", Function(np.logical_xor, "Either x or y, elementwise."))[1]


@prototype("sum", inputs="X")
def add_n_(x: Any) -> Any:
    """The sum of a list."""
    total = x[0]
    for other in x[1:]:
        total = total + other
    return total


def add_n(inputs: Any, name: Any = None) -> Any:
    """Return the sum of tensors of one shape."""
    return apply(add_n_, list(inputs) if isinstance(inputs, (list, tuple)) else [inputs], layer="add_n", name=name)


# -- reductions --------------------------------------------------------------------------------------------------------


def _operator(type: str, compute: Callable[..., Any]) -> Prototype:
    def reduce(x: Any, *, dim: tuple[int, ...], keep_dim: bool, reduce_all: bool) -> Any:
        return compute(x, axis=None if reduce_all else dim, keepdims=keep_dim)

    return Prototype(type, reduce, attributes={"dim": (), "keep_dim": False, "reduce_all": False})


def _reduce(record: Prototype, layer: str, x: Any, axis: Axis, keepdim: bool, name: str | None = None) -> Any:
    dim = () if axis is None else tuple(map(int, axis)) if isinstance(axis, Sequence) else (int(axis),)
    return apply(record, x, layer=layer, name=name, dim=dim, keep_dim=keepdim, reduce_all=not dim)


def _reduction(type: str, layer: str, function: Function) -> Callable[..., Any]:
    """Make a function of a tensor, axes and keepdim from what it computes."""
    compute = function.compute
    record = _operator(type, (lambda x, **axes: compute(floating(x), **axes)) if function.floats else compute)

    def reduce(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
        return _reduce(record, layer, x, axis, keepdim, name=name)

    reduce.__name__ = reduce.__qualname__ = layer
    reduce.__doc__ = function.doc
    return reduce


mean = _reduction("reduce_mean", "mean", REDUCTIONS["mean"])
max = _reduction("reduce_max", "max", REDUCTIONS["max"])
min = _reduction("reduce_min", "min", REDUCTIONS["min"])
all = _reduction("reduce_all", "all", Function(np.all, "Whether all elements along axes are true.", floats=False))
any = _reduction("reduce_any", "any", Function(np.any, "Whether any element along axes is true.", floats=False))
logsumexp = _reduction(
    "logsumexp",
    "logsumexp",
    Function(special.logsumexp, "log Σ exp(x) over axes, by default over all, without overflow.", floats=False),
)
_sum = _operator("reduce_sum", lambda x, **axes: np.sum(x.astype("int64") if x.dtype.kind in "ib" else x, **axes))
_prod = _operator("reduce_prod", REDUCTIONS["prod"].compute)


def sum(x: Any, axis: Axis = None, dtype: Any = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return the sum over axes, by default over all; integers are summed as int64."""
    return _reduce(_sum, "sum", cast(x, dtype) if dtype is not None else x, axis, keepdim, name=name)


def prod(x: Any, axis: Axis = None, keepdim: bool = False, dtype: Any = None, name: Any = None) -> Any:
    """Return the product over axes, by default over all."""
    return _reduce(_prod, "reduce_prod", cast(x, dtype) if dtype is not None else x, axis, keepdim, name=name)


@prototype("cumsum", axis=-1, flatten=False)
def _cumsum(x: Any, *, axis: int, flatten: bool) -> Any:
    return np.cumsum(x, axis=None if flatten else axis)


def cumsum(x: Any, axis: int | None = None, dtype: Any = None, name: Any = None) -> Any:
    """Return the sums of the elements so far along an axis, by default of the flattened tensor."""
    x = cast(x, dtype) if dtype is not None else x
    return apply(_cumsum, x, axis=-1 if axis is None else axis, flatten=axis is None, name=name)


@prototype("p_norm", porder=2.0, axis=-1, keepdim=False, asvector=False)
def _p_norm(x: Any, *, porder: float, axis: Any, keepdim: bool, asvector: bool) -> Any:
    if asvector:
        result = pn.norm(x.reshape(-1), ord=porder)
        return result.reshape((1,) * x.ndim) if keepdim else result
    return pn.norm(x, ord=porder, axis=axis, keepdims=keepdim)


def norm(x: Any, p: Any = None, axis: Any = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return the p-norm of vectors along an axis, by default of the flattened tensor; its derivative at 0 is 0."""
    order = 2.0 if p in (None, "fro") else float(p)
    if axis is None:
        return apply(_p_norm, x, porder=order, keepdim=keepdim, asvector=True, name=name)
    if isinstance(axis, (list, tuple)) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, (list, tuple)):
        return sqrt(sum(square(x), axis, keepdim=keepdim), name)
    return apply(_p_norm, x, porder=order, axis=axis, keepdim=keepdim, name=name)


# -- products ----------------------------------------------------------------------------------------------------------


@prototype("matmul_v2", inputs="X Y", trans_x=False, trans_y=False)
def _matmul(x: Any, y: Any, *, trans_x: bool, trans_y: bool) -> Any:
    x = np.swapaxes(x, -1, -2) if trans_x and x.ndim > 1 else x
    y = np.swapaxes(y, -1, -2) if trans_y and y.ndim > 1 else y
    return np.matmul(x, y)


def matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False, name: Any = None) -> Any:
    """Return the matrix product of the last two axes; the others broadcast, vectors are rows or columns."""
    return apply(_matmul, x, y, trans_x=transpose_x, trans_y=transpose_y, name=name)


mm = matmul


dot = binary(
    Prototype("dot", lambda x, y: np.sum(x * y, axis=-1), ("X", "Y")),
    "The inner product of vectors, along the last axis.",
)


@prototype("cast", out_dtype="float32")
def _cast(x: Any, *, out_dtype: str) -> Any:
    return x.astype(out_dtype)


def cast(x: Any, dtype: Any) -> Any:
    """Return x in another data type."""
    return apply(_cast, x, out_dtype=as_dtype(dtype).name)


__all__ = [
    "abs", "acos", "acosh", "add", "add_n", "all", "any", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "cast", "ceil", "clip", "cos", "cosh", "cumsum", "divide", "dot",
    "equal", "erf", "exp", "expm1", "floor", "floor_divide", "greater_equal", "greater_than", "isfinite", "isinf",
    "isnan", "less_equal", "less_than", "log", "log1p", "log2", "log10", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsumexp", "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "mod",
    "multiply", "norm", "not_equal", "pow", "prod", "reciprocal", "remainder", "rsqrt", "scale", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "square", "subtract", "sum", "tan", "tanh",
]  # fmt: skip
