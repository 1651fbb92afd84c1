"""NumPy's comparisons, logic and bits: what gives truth values or takes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import is_complex, is_float
from primad.numpy.elementwise.meeting_operands import agree, by_parts
from primad.numpy.elementwise.ufuncs import AS_NUMPY, absolute
from primad.numpy.promotion import (
    as_float,
    as_traced,
    as_ufunc,
    common_shape,
    convert,
    expand,
    first_traced,
    harmonize,
    implements,
    loop_dtype,
    refuse_out,
    result_dtype,
    traced_operands,
)
from primad.ops.record.primitive import Primitive, full
from primad.recording.traced_array import TracedArray, bind

__all__ = [
    "allclose", "array_equal", "array_equiv", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "greater",
    "greater_equal", "invert", "isclose", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "logical_xor", "not_equal",
]  # fmt: skip


def comparison(primitive: Primitive, ufunc: np.ufunc, swap: bool = False, invert: bool = False) -> Any:
    """Make NumPy's comparison from a primitive, and register it for the ufunc."""
    name = ufunc.__name__

    def function(x: Any, y: Any, /, out: Any = None) -> Any:
        refuse_out(name, out)
        compare: Callable[..., Any] = primitive
        if not agree(x, y, False):
            x, y = _comparable(name, x, y)
            if x.dtype != y.dtype:
                compare = partial(_compared, primitive)
        if primitive is not ops.equal and is_complex(x.dtype if hasattr(x, "dtype") else y.dtype):
            compare = partial(by_parts, primitive)
        result = compare(y, x) if swap else compare(x, y)
        return bind(ops.logical_not, (result,), {}) if invert else result

    return as_ufunc(function, f"{primitive.doc} {AS_NUMPY}", ufunc)


def _comparable(name: str, x: Any, y: Any) -> list[TracedArray]:
    """Promote and broadcast, but keep 64-bit integers with and without sign apart: no dtype holds both."""
    x, y = _in_range(x, y), _in_range(y, x)
    kinds = [operand.dtype.kind if hasattr(operand, "dtype") else "" for operand in (x, y)]
    if sorted(kinds) != ["i", "u"] or not is_float(result_dtype(x, y)):
        return harmonize(name, x, y)
    like = first_traced([x, y])
    shape = common_shape(name, [x.shape, y.shape])
    return [expand(as_traced(operand, like), shape) for operand in (x, y)]


def _in_range(x: Any, y: Any) -> Any:
    """Return x, or ±∞ for a Python integer beyond the range of the integers y."""
    if type(x) is not int or y.dtype.kind not in "iu":
        return x
    info = np.iinfo(y.dtype)
    return x if info.min <= x <= info.max else math.copysign(math.inf, x)


def _compared(primitive: Primitive, x: TracedArray, y: TracedArray) -> Any:
    """Compare integers with and without sign: a negative one is to all of the others as it is to 0."""
    if x.dtype.kind == "i":
        return ops.select(x < 0, primitive(x, full(0, x)), primitive(convert(x, y.dtype), y))
    return ops.select(y < 0, primitive(full(0, y), y), primitive(x, convert(y, x.dtype)))


less = comparison(ops.less, np.less)


less_equal = comparison(ops.less_equal, np.less_equal)


greater = comparison(ops.less, np.greater, swap=True)


greater_equal = comparison(ops.less_equal, np.greater_equal, swap=True)


equal = comparison(ops.equal, np.equal)


not_equal = comparison(ops.equal, np.not_equal, invert=True)


def _bitwise(primitive: Primitive, ufunc: np.ufunc) -> Any:
    name = ufunc.__name__

    def function(*operands: Any, out: Any = None) -> Any:
        refuse_out(name, out)
        return bind(primitive, harmonize(name, *operands, dtype=loop_dtype(ufunc, *operands)), {})

    return as_ufunc(function, "of integers or booleans, bit by bit.", ufunc)


bitwise_and = _bitwise(ops.logical_and, np.bitwise_and)


bitwise_or = _bitwise(ops.logical_or, np.bitwise_or)


invert = _bitwise(ops.logical_not, np.invert)


@implements(np.bitwise_xor, ufunc=True)
def bitwise_xor(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.bitwise_xor: bits (of integers or booleans) that are set in one operand only."""
    refuse_out("bitwise_xor", out)
    a, b = harmonize("bitwise_xor", x, y, dtype=loop_dtype(np.bitwise_xor, x, y))
    return ops.logical_and(ops.logical_or(a, b), ops.logical_not(ops.logical_and(a, b)))


@implements(np.logical_xor, ufunc=True)
def logical_xor(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.logical_xor: nonzero counts as true."""
    refuse_out("logical_xor", out)
    return bitwise_xor(not_equal(x, 0), not_equal(y, 0))


def _logical(combine: Primitive | None, ufunc: np.ufunc) -> Any:
    def function(*operands: Any, out: Any = None) -> Any:
        refuse_out(ufunc.__name__, out)
        like = first_traced(operands)
        shape = np.broadcast_shapes(
            *[np.shape(operand) if type(operand) is not TracedArray else operand.shape for operand in operands]
        )
        booleans = [expand(convert(as_traced(operand, like), np.bool_), shape) for operand in operands]
        if combine is None:
            return ops.logical_not(booleans[0])
        return combine(*booleans)

    return as_ufunc(function, "nonzero counts as true.", ufunc)


logical_and = _logical(ops.logical_and, np.logical_and)


logical_or = _logical(ops.logical_or, np.logical_or)


logical_not = _logical(None, np.logical_not)


@implements(np.isnan, ufunc=True)
def isnan(x: Any, /) -> Any:
    """np.isnan."""
    return ~ops.equal(x, x)


@implements(np.isfinite, ufunc=True)
def isfinite(x: Any, /) -> Any:
    """np.isfinite."""
    if is_complex(x.dtype):
        return isfinite(ops.real_part(x)) & isfinite(ops.imaginary_part(x))
    return ops.abs(as_float(x)) < math.inf


@implements(np.isinf, ufunc=True)
def isinf(x: Any, /) -> Any:
    """np.isinf."""
    if is_complex(x.dtype):
        return isinf(ops.real_part(x)) | isinf(ops.imaginary_part(x))
    return ops.equal(ops.abs(as_float(x)), math.inf)


# -- nearly equal ------------------------------------------------------------------------------------------------------


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """np.isclose."""
    x, y = traced_operands(a, b)
    y = as_float(y)
    near = less_equal(absolute(x - y), atol + rtol * absolute(y)) & isfinite(y) | equal(x, y)
    return near | (isnan(x) & isnan(y)) if equal_nan else near


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """np.allclose: a traced truth value."""
    return _everywhere(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """np.array_equal: a traced truth value; False where shapes differ."""
    x, y = traced_operands(a1, a2)
    if x.shape != y.shape:
        return False
    same = equal(x, y)
    return _everywhere(same | (isnan(x) & isnan(y)) if equal_nan else same)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """np.array_equiv: a traced truth value; False where shapes do not broadcast."""
    x, y = traced_operands(a1, a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return _everywhere(equal(x, y))


def _everywhere(truth: Any) -> Any:
    missing = ops.sum(convert(ops.logical_not(truth), np.int64), axes=tuple(range(truth.ndim)))
    return ops.equal(missing, 0)
