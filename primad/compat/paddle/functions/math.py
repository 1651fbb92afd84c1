"""Elementwise functions, comparisons, reductions and products: Paddle's functions over its operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import primad.numpy as pn
from primad.compat.paddle.eager.operators import Prototype, Value, apply, prototype
from primad.compat.paddle.settings.dtypes import as_dtype, default_numpy
from primad.numpy import special

Axis = int | Sequence[int] | None


def floating(x: Any) -> Any:
    """Return an array as floats: integers and booleans in the default data type, as Paddle's functions take them."""
    return x if x.dtype.kind == "f" else x.astype(default_numpy())


# -- one operand -------------------------------------------------------------------------------------------------------


def unary(type: str, compute: Callable[[Any], Any], doc: str, floats: bool = True) -> Callable[..., Any]:
    """Make a function of one tensor from what it computes."""
    record = Prototype(type, (lambda x: compute(floating(x))) if floats else compute)

    def function(x: Any, name: str | None = None) -> Any:
        return apply(record, x, name=name)

    function.__name__ = function.__qualname__ = type
    function.__doc__ = doc
    return function


abs = unary("abs", np.abs, "|x|, elementwise; its derivative at 0 is 0.", floats=False)
acos = unary("acos", np.arccos, "Inverse cosine, elementwise, in radians.")
acosh = unary("acosh", np.arccosh, "Inverse hyperbolic cosine, elementwise.")
asin = unary("asin", np.arcsin, "Inverse sine, elementwise, in radians.")
asinh = unary("asinh", np.arcsinh, "Inverse hyperbolic sine, elementwise.")
atan = unary("atan", np.arctan, "Inverse tangent, elementwise, in radians.")
atanh = unary("atanh", np.arctanh, "Inverse hyperbolic tangent, elementwise.")
ceil = unary("ceil", np.ceil, "Smallest integer that is not less, elementwise.")
cos = unary("cos", np.cos, "Cosine, elementwise, of radians.")
cosh = unary("cosh", np.cosh, "Hyperbolic cosine, elementwise.")
erf = unary("erf", special.erf, "Error function, elementwise.")
exp = unary("exp", np.exp, "Exponential, elementwise.")
expm1 = unary("expm1", np.expm1, "exp(x) − 1, elementwise, exact near 0.")
floor = unary("floor", np.floor, "Largest integer that is not greater, elementwise.")
log = unary("log", np.log, "Natural logarithm, elementwise.")
log10 = unary("log10", np.log10, "Logarithm to base 10, elementwise.")
log1p = unary("log1p", np.log1p, "log(1 + x), elementwise, exact near 0.")
log2 = unary("log2", np.log2, "Logarithm to base 2, elementwise.")
reciprocal = unary("reciprocal", lambda x: 1.0 / x, "1/x, elementwise.")
rsqrt = unary("rsqrt", lambda x: x**-0.5, "1/√x, elementwise.")
sigmoid = unary("sigmoid", special.expit, "1/(1 + exp(−x)), elementwise, stable at both ends.")
sign = unary("sign", np.sign, "−1, 0 or 1, elementwise.", floats=False)
sin = unary("sin", np.sin, "Sine, elementwise, of radians.")
sinh = unary("sinh", np.sinh, "Hyperbolic sine, elementwise.")
sqrt = unary("sqrt", np.sqrt, "Square root, elementwise.")
tan = unary("tan", np.tan, "Tangent, elementwise, of radians.")
tanh = unary("tanh", np.tanh, "Hyperbolic tangent, elementwise.")
isnan = unary("isnan_v2", np.isnan, "Whether an element is NaN.", floats=False)
isinf = unary("isinf_v2", np.isinf, "Whether an element is infinite.", floats=False)
isfinite = unary("isfinite_v2", np.isfinite, "Whether an element is neither infinite nor NaN.", floats=False)
bitwise_not = unary("bitwise_not", np.invert, "The bits that are not set, of integers or booleans.", floats=False)
logical_not = unary("logical_not", np.logical_not, "Not x, elementwise.", floats=False)


@prototype("square")
def square_(x: Any) -> Any:
    """The square of x."""
    return np.square(x)


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


def _elementwise(type: str, compute: Callable[[Any, Any], Any]) -> Prototype:
    """Return the operator of two tensors, which broadcast, that computes a function."""
    return Prototype(type, lambda x, y, *, axis: compute(x, _aligned(x, y, axis)), ("X", "Y"), ("Out",), {"axis": -1})


def binary(record: Prototype, doc: str) -> Callable[..., Any]:
    """Make a function of two tensors from an elementwise operator."""

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        return apply(record, x, y, name=name)

    function.__name__ = function.__qualname__ = record.type
    function.__doc__ = f"{doc} The operands broadcast."
    return function


def _aligned(x: Any, y: Any, axis: int) -> Any:
    """Return y with ones appended to its shape, so that its first axis meets `axis` of x; −1 aligns the last axes."""
    missing = 0 if axis == -1 else x.ndim - axis - y.ndim
    return y.reshape((*y.shape, *[1] * missing)) if missing > 0 else y


def _divide(x: Any, y: Any) -> Any:
    return floating(x) / floating(y)


elementwise_pow_ = _elementwise(
    "elementwise_pow", lambda x, y: np.power(x if x.dtype.kind + y.dtype.kind == "ii" else floating(x), y)
)
elementwise_add_ = _elementwise("elementwise_add", np.add)
add = binary(elementwise_add_, "x + y, elementwise.")
elementwise_sub_ = _elementwise("elementwise_sub", np.subtract)
subtract = binary(elementwise_sub_, "x − y, elementwise.")
elementwise_mul_ = _elementwise("elementwise_mul", np.multiply)
multiply = binary(elementwise_mul_, "x · y, elementwise.")
elementwise_div_ = _elementwise("elementwise_div", _divide)
divide = binary(elementwise_div_, "x / y, elementwise; integers are divided as floats.")
elementwise_floordiv_ = _elementwise("elementwise_floordiv", np.floor_divide)
floor_divide = binary(elementwise_floordiv_, "x / y rounded down, elementwise.")
elementwise_mod_ = _elementwise("elementwise_mod", np.remainder)
mod = remainder = binary(elementwise_mod_, "Remainder of x / y with the sign of y, elementwise.")
maximum = binary(
    _elementwise("elementwise_max", lambda x, y: np.where((x > y) | (x != x), x, y)),
    "The larger of x and y, elementwise; where they are equal, the derivative is that of y.",
)
minimum = binary(
    _elementwise("elementwise_min", lambda x, y: np.where((x < y) | (x != x), x, y)),
    "The smaller of x and y, elementwise; where they are equal, the derivative is that of y.",
)
atan2 = binary(
    _elementwise("atan2", np.arctan2), "The angle of the point (y, x) given as (x, y), elementwise, in radians."
)
equal_ = _elementwise("equal", np.equal)
equal = binary(equal_, "x = y, elementwise.")
not_equal_ = _elementwise("not_equal", np.not_equal)
not_equal = binary(not_equal_, "x ≠ y, elementwise.")
less_than_ = _elementwise("less_than", np.less)
less_than = binary(less_than_, "x < y, elementwise.")
less_equal_ = _elementwise("less_equal", np.less_equal)
less_equal = binary(less_equal_, "x ≤ y, elementwise.")
greater_than_ = _elementwise("greater_than", np.greater)
greater_than = binary(greater_than_, "x > y, elementwise.")
greater_equal_ = _elementwise("greater_equal", np.greater_equal)
greater_equal = binary(greater_equal_, "x ≥ y, elementwise.")
bitwise_and_ = _elementwise("bitwise_and", np.bitwise_and)
bitwise_and = binary(bitwise_and_, "The bits that are set in x and in y.")
bitwise_or_ = _elementwise("bitwise_or", np.bitwise_or)
bitwise_or = binary(bitwise_or_, "The bits that are set in x or in y.")
bitwise_xor_ = _elementwise("bitwise_xor", np.bitwise_xor)
bitwise_xor = binary(bitwise_xor_, "The bits that are set in one of x and y.")
logical_and = binary(_elementwise("logical_and", np.logical_and), "x and y, elementwise.")
logical_or = binary(_elementwise("logical_or", np.logical_or), "x or y, elementwise.")
logical_xor = binary(_elementwise("logical_xor", np.logical_xor), "Either x or y, elementwise.")


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


def _reduction(type: str, compute: Callable[..., Any]) -> Prototype:
    def reduce(x: Any, *, dim: tuple[int, ...], keep_dim: bool, reduce_all: bool) -> Any:
        return compute(x, axis=None if reduce_all else dim, keepdims=keep_dim)

    return Prototype(type, reduce, attributes={"dim": (), "keep_dim": False, "reduce_all": False})


def _reduce(record: Prototype, layer: str, x: Any, axis: Axis, keepdim: bool, name: str | None = None) -> Any:
    dim = () if axis is None else tuple(map(int, axis)) if isinstance(axis, Sequence) else (int(axis),)
    return apply(record, x, layer=layer, name=name, dim=dim, keep_dim=keepdim, reduce_all=not dim)


_sum = _reduction("reduce_sum", lambda x, **axes: np.sum(x.astype("int64") if x.dtype.kind in "ib" else x, **axes))
_mean = _reduction("reduce_mean", lambda x, **axes: np.mean(floating(x), **axes))
_max = _reduction("reduce_max", np.max)
_min = _reduction("reduce_min", np.min)
_prod = _reduction("reduce_prod", np.prod)
_all = _reduction("reduce_all", np.all)
_any = _reduction("reduce_any", np.any)
_logsumexp = _reduction("logsumexp", lambda x, *, axis, keepdims: special.logsumexp(x, axis=axis, keepdims=keepdims))


def sum(x: Any, axis: Axis = None, dtype: Any = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return the sum over axes, by default over all; integers are summed as int64."""
    return _reduce(_sum, "sum", cast(x, dtype) if dtype is not None else x, axis, keepdim, name=name)


def mean(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return the mean over axes, by default over all."""
    return _reduce(_mean, "mean", x, axis, keepdim, name=name)


def max(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return the maximum over axes, by default over all."""
    return _reduce(_max, "max", x, axis, keepdim, name=name)


def min(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return the minimum over axes, by default over all."""
    return _reduce(_min, "min", x, axis, keepdim, name=name)


def prod(x: Any, axis: Axis = None, keepdim: bool = False, dtype: Any = None, name: Any = None) -> Any:
    """Return the product over axes, by default over all."""
    return _reduce(_prod, "reduce_prod", cast(x, dtype) if dtype is not None else x, axis, keepdim, name=name)


def all(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return whether all elements along axes are true."""
    return _reduce(_all, "all", x, axis, keepdim, name=name)


def any(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return whether any element along axes is true."""
    return _reduce(_any, "any", x, axis, keepdim, name=name)


def logsumexp(x: Any, axis: Axis = None, keepdim: bool = False, name: Any = None) -> Any:
    """Return log Σ exp(x) over axes, by default over all, without overflow."""
    return _reduce(_logsumexp, "logsumexp", x, axis, keepdim, name=name)


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


@prototype("dot", inputs="X Y")
def _dot(x: Any, y: Any) -> Any:
    return np.sum(x * y, axis=-1)


def dot(x: Any, y: Any, name: Any = None) -> Any:
    """Return the inner product of vectors, along the last axis."""
    return apply(_dot, x, y, name=name)


@prototype("cast", out_dtype="float32")
def _cast(x: Any, *, out_dtype: str) -> Any:
    return x.astype(out_dtype)


def cast(x: Any, dtype: Any) -> Any:
    """Return x in another data type."""
    return apply(_cast, x, out_dtype=as_dtype(dtype).name)
