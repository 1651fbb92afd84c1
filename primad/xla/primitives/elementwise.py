"""JAX's primitives that compute each element from those in its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.errors import TracingError
from primad.numpy import special
from primad.recording.traced_array import TracedArray

Function = Callable[..., Any]


def dtype_of(x: Any) -> np.dtype[Any]:
    """Return the dtype of a traced or plain array."""
    dtype: np.dtype[Any] = np.dtype(x.dtype)
    return dtype


def _div(x: Any, y: Any) -> Any:
    """Divide; integers towards zero, and by 0 to -1, which is the largest number of unsigned ones."""
    if dtype_of(x).kind in "fc":
        return x / y
    return _unless_zero(lambda y: pnp.floor_divide(x - pnp.fmod(x, y), y), y, lambda: ~pnp.zeros_like(y))


def _rem(x: Any, y: Any) -> Any:
    """Return what is left of a division, with the sign of x; of integers by 0, x itself."""
    return pnp.fmod(x, y) if dtype_of(x).kind == "f" else _unless_zero(lambda y: pnp.fmod(x, y), y, lambda: x)


def _unless_zero(of: Function, y: Any, otherwise: Function) -> Any:
    """Return what is computed of y where it is not 0, and something else there."""
    if not isinstance(y, TracedArray) and y.all():
        return of(y)
    zero = y == 0
    return pnp.where(zero, otherwise(), of(pnp.where(zero, pnp.ones_like(y), y)))


def _clz(x: Any) -> Any:
    """Count the zero bits before the first one that is set: fill all behind it, and count those."""
    unsigned = np.dtype(f"u{dtype_of(x).itemsize}")
    bits, size = x.astype(unsigned), unsigned.itemsize * 8
    for shift in [2**i for i in range(size.bit_length() - 1)]:
        bits = bits | (bits >> unsigned.type(shift))
    return (size - pnp.bitwise_count(bits).astype(int)).astype(dtype_of(x))


def _population_count(x: Any) -> Any:
    return pnp.bitwise_count(x.astype(np.dtype(f"u{dtype_of(x).itemsize}"))).astype(dtype_of(x))


def _ordered(choose: Function, comes_first: Function) -> Function:
    """Return the larger or smaller of two numbers; of complex ones, by real parts and then by imaginary ones."""

    def chosen(x: Any, y: Any) -> Any:
        if dtype_of(x).kind != "c":
            return choose(x, y)
        first = comes_first(x.real, y.real) | ((x.real == y.real) & comes_first(x.imag, y.imag))
        return pnp.where(first, x, y)

    return chosen


def _logistic(x: Any) -> Any:
    return special.expit(x) if dtype_of(x).kind == "f" else 1 / (1 + pnp.exp(-x))


def _round(x: Any, *, rounding_method: Any) -> Any:
    """Round to the nearest integer; halves away from zero (method 0) or to even ones (1)."""
    if int(rounding_method):
        return pnp.rint(x)
    whole = pnp.trunc(x)
    return whole + pnp.where(abs(x - whole) >= 0.5, pnp.sign(x), pnp.zeros_like(x))


def _power(x: Any, y: Any) -> Any:
    """Return powers, whose exponents may be integers where x is not."""
    return pnp.power(x, y if dtype_of(x) == dtype_of(y) else y.astype(dtype_of(x)))


def _select(which: Any, *cases: Any) -> Any:
    """Take elements of the case that a boolean or an integer in their place numbers."""
    if dtype_of(which).kind == "b" and len(cases) == 2:
        return pnp.where(which, cases[1], cases[0])
    return reduce(lambda found, i: pnp.where(which < i, found, cases[i]), range(1, len(cases)), cases[0])


def _clamp(low: Any, x: Any, high: Any) -> Any:
    """Bound elements. At a bound the value is the bound, so that its derivative in x is 0, as in JAX."""
    return pnp.where(x <= low, low, pnp.where(x >= high, high, x))


def _cast(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    target = np.dtype(new_dtype)
    if target.kind == "b":
        return x != 0
    if target.kind in "iu" and dtype_of(x).kind == "f":
        return _whole(x, target)
    return (x.real if dtype_of(x).kind == "c" and target.kind != "c" else x).astype(target)


def _whole(x: Any, target: np.dtype[Any]) -> Any:
    """Convert to integers: numbers beyond the ends of their range to these, NaN to 0."""
    info, own = np.iinfo(target), dtype_of(x)
    low, high = (np.array(end).astype(own) for end in (info.min, info.max))
    inside = (x > low) & (x < high)
    ends = pnp.where(x >= high, np.array(info.max, target), np.array(info.min, target))
    beyond = pnp.where(x == x, ends, np.array(0, target))
    return pnp.where(inside, pnp.where(inside, x, pnp.zeros_like(x)).astype(target), beyond)


def _reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round to a shorter format that NumPy has."""
    own = np.finfo(dtype_of(x))
    if exponent_bits >= own.iexp and mantissa_bits >= own.nmant:
        return x
    for dtype in (np.float32, np.float16):
        info = np.finfo(dtype)
        if (exponent_bits, mantissa_bits) == (info.iexp, info.nmant):
            return x.astype(dtype).astype(dtype_of(x))
    raise TracingError(
        f"reduce_precision: there is no format of {exponent_bits} bits for the exponent and {mantissa_bits} behind it",
        fix="round to float32 or float16.",
    )


def _bitcast(x: Any, *, new_dtype: Any) -> Any:
    own, target = dtype_of(x), np.dtype(new_dtype)
    if not isinstance(x, TracedArray):
        return np.asarray(x).view(target)
    if own == target or (own.kind in "iu" and target.kind in "iu" and own.itemsize == target.itemsize):
        return x.astype(target)
    if own.kind in "iu" and target.kind == "f" and own.itemsize == target.itemsize:
        return _float_of_bits(x.astype(np.dtype(f"u{own.itemsize}")), target)
    if own.kind == "f" and target.kind in "iu" and own.itemsize % target.itemsize == 0:
        bits, size = _bits_of_float(x, np.dtype(f"u{own.itemsize}")), target.itemsize
        if size == own.itemsize:
            return bits.astype(target)
        words = [
            (bits >> bits.dtype.type(8 * at)) % bits.dtype.type(2 ** (8 * size)) for at in range(0, own.itemsize, size)
        ]
        return pnp.stack([word.astype(target) for word in words], axis=-1)
    raise TracingError(
        f"bitcast_convert_type: the bits of {own} as {target} are no function of its value",
        why="Only the bits of a float are taken apart, and put together from an integer of the same size.",
        fix="compute with the values.",
    )


def _is_before(x: Any, y: Any) -> Any:
    """Compare in the order in which NaN is behind all numbers."""
    return (x < y) | ((y != y) & (x == x))


def _float_of_bits(bits: Any, dtype: np.dtype[Any]) -> Any:
    """Return the numbers that bits are, which has no derivative: random numbers are made so."""
    info, own = np.finfo(dtype), dtype_of(bits)
    exponents = np.arange(2**info.iexp)
    scales = np.ldexp(np.ones((), dtype), np.maximum(exponents, 1) + info.minexp - 1 - info.nmant).astype(dtype)
    exponent = ((bits >> own.type(info.nmant)) & own.type(2**info.iexp - 1)).astype(int)
    fraction = bits & own.type(2**info.nmant - 1)
    whole = pnp.where(exponent > 0, fraction + own.type(2**info.nmant), fraction).astype(dtype)
    finite = whole * pnp.take(scales, exponent)
    special = pnp.where(fraction == 0, np.array(np.inf, dtype), np.array(np.nan, dtype))
    size = pnp.where(exponent == 2**info.iexp - 1, special, finite)
    return pnp.where(bits >> own.type(own.itemsize * 8 - 1) == 1, -size, size)


def _bits_of_float(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return the bits of numbers, the inverse of `_float_of_bits`: all NaN are one, without a sign."""
    info = np.finfo(dtype_of(x))
    x = ops.stop_gradient(x)
    size = pnp.where(pnp.isfinite(x), abs(x), pnp.zeros_like(x))
    exponent = pnp.searchsorted(np.ldexp(np.ones((), info.dtype), np.arange(info.minexp, info.maxexp)), size, "right")
    powers = info.nmant - info.minexp + 1 - np.maximum(np.arange(2**info.iexp), 1)
    for part in (powers // 2, powers - powers // 2):  # a power that is a number, as the whole may not be
        size = size * pnp.take(np.ldexp(np.ones((), info.dtype), part), exponent)
    hidden = dtype.type(2**info.nmant)
    whole = size.astype(dtype)
    bits = exponent.astype(dtype) * hidden + pnp.where(exponent > 0, whole - hidden, whole)
    for there, value in ((x != x, np.nan), (abs(x) == np.inf, np.inf)):
        bits = pnp.where(there, np.full((), value, info.dtype).view(dtype), bits)
    return bits + pnp.where(pnp.signbit(x) & (x == x), dtype.type(2 ** (dtype.itemsize * 8 - 1)), dtype.type(0))


def _shift_right_logical(x: Any, y: Any) -> Any:
    unsigned = np.dtype(f"u{dtype_of(x).itemsize}")
    return _shifted(pnp.right_shift, x.astype(unsigned), y.astype(unsigned), 0).astype(dtype_of(x))


def _shifted(shift: Function, x: Any, y: Any, beyond: Any) -> Any:
    """Shift by y bits; where y is no number of bits that x has, give what JAX gives."""
    bits = dtype_of(x).itemsize * 8
    inside = (y >= 0) & (y < bits)
    return pnp.where(inside, shift(x, pnp.where(inside, y, pnp.zeros_like(y))), beyond)


def _shift_right_arithmetic(x: Any, y: Any) -> Any:
    return _shifted(pnp.right_shift, x, y, pnp.where(x < 0, -pnp.ones_like(x), pnp.zeros_like(x)))


def _polygamma(n: Any, x: Any) -> Any:
    if isinstance(n, TracedArray) or np.unique(n).size != 1 or np.unique(n)[0] % 1:
        raise TracingError(
            "polygamma: the order must be one integer that is known",
            why="Derivatives with respect to orders have no formula here.",
            fix="call jax.scipy.special.polygamma with a Python integer.",
        )
    return special.polygamma(int(np.unique(n)[0]), x)


def _abs(x: Any) -> Any:
    """Return |x|, whose slope at 0 is 1, as in JAX: |x| log(1 + |x|), which is smooth, has its second derivative so."""
    is_real = isinstance(x, TracedArray) and x.dtype.kind == "f"
    return pnp.abs(x) + pnp.where(x == 0, x, np.zeros((), x.dtype)) if is_real else pnp.abs(x)


def without_params(function: Function) -> Function:
    """Return a function that ignores params, which say how a device computes and not what."""
    return lambda *operands, **_: function(*operands)


_NUMPY = {
    "acos": "arccos", "acosh": "arccosh", "add": "add", "add_any": "add", "and": "bitwise_and",
    "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "cbrt": "cbrt",
    "ceil": "ceil", "conj": "conj", "cos": "cos", "cosh": "cosh", "eq": "equal", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "floor": "floor", "ge": "greater_equal", "gt": "greater", "imag": "imag",
    "is_finite": "isfinite", "le": "less_equal", "log": "log", "log1p": "log1p", "log2": "log2", "lt": "less",
    "mul": "multiply", "ne": "not_equal", "neg": "negative", "nextafter": "nextafter",
    "not": "invert", "or": "bitwise_or", "real": "real",
    "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "sub": "subtract", "tan": "tan",
    "tanh": "tanh", "xor": "bitwise_xor",
}  # fmt: skip
_SPECIAL = {
    "bessel_i0e": "i0e", "bessel_i1e": "i1e", "digamma": "digamma", "erf": "erf", "erf_inv": "erfinv", "erfc": "erfc",
    "igamma": "gammainc", "igammac": "gammaincc", "lgamma": "gammaln",
    "regularized_incomplete_beta": "betainc", "zeta": "zeta",
}  # fmt: skip

ELEMENTWISE: dict[str, Function] = {
    **{name: without_params(getattr(pnp, own)) for name, own in _NUMPY.items()},
    **{name: without_params(getattr(special, own)) for name, own in _SPECIAL.items()},
    "abs": without_params(_abs),
    "Frexp": without_params(pnp.frexp),
    "Ldexp": without_params(pnp.ldexp),
    "bitcast_convert_type": _bitcast,
    "clz": without_params(_clz),
    "clamp": without_params(_clamp),
    "complex": without_params(lambda x, y: x + 1j * y),
    "convert_element_type": _cast,
    "copy": without_params(lambda x: x),
    "copy_p": without_params(lambda x: x),
    "div": without_params(_div),
    "eq_to": without_params(lambda x, y: (x == y) | ((x != x) & (y != y))),
    "le_to": without_params(lambda x, y: ~_is_before(y, x)),
    "lt_to": without_params(_is_before),
    "logistic": without_params(_logistic),
    "max": without_params(_ordered(pnp.maximum, pnp.greater)),
    "min": without_params(_ordered(pnp.minimum, pnp.less)),
    "one_minus_square": without_params(lambda x: (1 - x) * (1 + x)),
    "polynomial": without_params(lambda x, *ascending: reduce(lambda y, c: y * x + c, ascending[::-1])),
    "population_count": without_params(_population_count),
    "rem": without_params(_rem),
    "integer_pow": lambda x, *, y: pnp.power(x, y),
    "polygamma": without_params(_polygamma),
    "pow": without_params(_power),
    "reduce_precision": _reduce_precision,
    "round": _round,
    "rsqrt": without_params(lambda x: 1 / pnp.sqrt(x)),
    "zeros_like": without_params(pnp.zeros_like),
    "select_n": without_params(_select),
    "shift_left": without_params(lambda x, y: _shifted(pnp.left_shift, x, y, pnp.zeros_like(x))),
    "shift_right_arithmetic": without_params(_shift_right_arithmetic),
    "shift_right_logical": without_params(_shift_right_logical),
}
"""name -> function of the operands, with the primitive's params as keywords."""
