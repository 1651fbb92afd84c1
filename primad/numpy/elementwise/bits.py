"""NumPy's functions of the exponents and of the bits of numbers, and of integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import is_float
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.ufuncs import absolute, clip, floor_divide, fmod, maximum, where
from primad.numpy.promotion import (
    convert,
    harmonize,
    implements,
    joined,
    loop_dtype,
    loop_dtypes,
    refuse_out,
    traced_operands,
)
from primad.numpy.reduce.reductions import sum
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.ordering import searchsorted
from primad.numpy.shapes.shaping import moveaxis, ravel, reshape
from primad.ops.record.primitive import full
from primad.recording.traced_array import TracedArray

__all__ = ["bitwise_count", "frexp", "gcd", "lcm", "ldexp", "nextafter", "packbits", "spacing", "unpackbits"]

# -- exponents ---------------------------------------------------------------------------------------------------------


def _lowest(dtype: Any) -> int:
    """Return the exponent of the smallest number of a dtype."""
    return int(np.finfo(dtype).minexp - np.finfo(dtype).nmant)


def _powers(dtype: Any) -> np.ndarray[Any, Any]:
    """Return all powers of two of a dtype."""
    exponents = np.arange(_lowest(dtype), np.finfo(dtype).maxexp)
    return np.asarray(np.ldexp(np.dtype(dtype).type(1), exponents))


@implements(np.ldexp, ufunc=True)
def ldexp(x: Any, k: Any, /, out: Any = None) -> Any:
    """np.ldexp: x·2ᵏ, rounded once; the exponents have no derivative."""
    refuse_out("ldexp", out)
    dtype, integers = loop_dtypes(np.ldexp, x, k)
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    limits = np.finfo(wide)
    low, high = int(limits.minexp), int(limits.maxexp) - 1
    # A power that is no number is taken in steps; on the way down none but the last may round (FreeBSD's scalbn).
    down = low + limits.nmant + 1
    y = convert(convert(traced_operands(x, k)[0], dtype), wide)
    k = k.astype(np.int64) if isinstance(k, TracedArray) else np.array(k, integers).astype(np.int64)
    for _ in range(2):
        step = where(k > high, high, where(k < low, down, 0))
        if isinstance(step, TracedArray) or np.any(step):
            y, k = y * _power(step, wide), k - step
    return convert(y * _power(clip(k, low, high), wide), dtype)


def _power(k: Any, dtype: Any) -> Any:
    """Return 2ᵏ, exact, where it is a number."""
    return take(_powers(dtype), k - _lowest(dtype))


def _exponent(size: Any) -> Any:
    """Return the k of 2ᵏ⁻¹ ≤ size < 2ᵏ; of 0 that of the smallest number, less 1."""
    return searchsorted(_powers(size.dtype), size, "right") + _lowest(size.dtype)


@implements(np.frexp, ufunc=True)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """np.frexp: the m and k of x = m·2ᵏ with ½ ≤ |m| < 1; the exponents have no derivative."""
    x = convert(x, loop_dtypes(np.frexp, x)[0])
    size = ops.abs(x)
    k = ops.select((size > 0) & (size < math.inf), _exponent(size), full(0, convert(size, np.int64)))
    return ldexp(x, -k), convert(k, np.int32)


@implements(np.spacing, ufunc=True)
def spacing(x: Any, /, out: Any = None) -> Any:
    """np.spacing: how far the next number away from 0 is; it has no derivative."""
    refuse_out("spacing", out)
    x = convert(x, loop_dtype(np.spacing, x))
    size = ops.abs(x)
    step = _step(_exponent(size), x.dtype)
    step = ops.select(size < float(np.finfo(x.dtype).max), step, full(math.inf, x))
    return ops.select(size < math.inf, ops.select(x < 0, -step, step), full(math.nan, x))


def _step(exponent: Any, dtype: Any) -> Any:
    """Return the distance of the numbers below 2ᵏ, the largest of which are at least half of it."""
    return _power(maximum(exponent - 1 - int(np.finfo(dtype).nmant), _lowest(dtype)), dtype)


@implements(np.nextafter, ufunc=True)
def nextafter(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.nextafter: the number next to x towards y; its derivative is that of x."""
    refuse_out("nextafter", out)
    dtype = loop_dtype(np.nextafter, x, y)
    x, y = harmonize("nextafter", x, y, dtype=dtype)
    size = ops.abs(x)
    k = _exponent(size)
    inward = ((x > 0) & (y < x)) | ((x < 0) & (y > x))
    whole = _power(clip(k - 1, _lowest(dtype), None), dtype)
    step = _step(k - convert(inward & ops.equal(size, whole), np.int64), dtype)
    step = ops.select(x < y, step, -step)
    largest = full(float(np.finfo(dtype).max), x)
    found = ops.select(size < math.inf, x + step, ops.select(x > 0, largest, -largest))
    to_zero = inward & (size <= float(np.ldexp(dtype.type(1), _lowest(dtype))))
    found = ops.select(to_zero, ops.select(x < 0, full(-0.0, x), full(0.0, x)) - (ops.stop_gradient(x) - x), found)
    same = ops.select(ops.equal(x, 0), y, x)
    return ops.select(ops.equal(x, y), same, ops.select((x < y) | (x > y), found, x + y))


# -- integers ----------------------------------------------------------------------------------------------------------


def _divided(name: str, ufunc: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return integers, none above 0 where the dtype has signs, and their divisor, which has the sign of theirs.

    Of −n all bits are right where n itself is no number of the dtype. Euclid's remainders are below those of
    neighbouring Fibonacci numbers, which tells how many are enough.
    """
    a, b = harmonize(name, x, y, dtype=loop_dtype(ufunc, x, y))
    signed = a.dtype.kind == "i"
    a, b = (-absolute(each) if signed else each for each in (a, b))
    divisor, rest = a, b
    for _ in range(math.ceil(8 * a.dtype.itemsize / math.log2((1 + math.sqrt(5)) / 2)) + 1):
        done = ops.equal(rest, 0)
        over = fmod(divisor, where(done, np.ones((), a.dtype), rest))
        divisor, rest = ops.select(done, divisor, rest), ops.select(done, rest, over)
    return a, b, divisor


@implements(np.gcd, ufunc=True)
def gcd(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.gcd: the greatest common divisor."""
    refuse_out("gcd", out)
    _, _, divisor = _divided("gcd", np.gcd, x, y)
    return -divisor if divisor.dtype.kind == "i" else divisor


@implements(np.lcm, ufunc=True)
def lcm(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.lcm: the lowest common multiple."""
    refuse_out("lcm", out)
    a, b, divisor = _divided("lcm", np.lcm, x, y)
    multiple = floor_divide(a, where(divisor == 0, np.ones((), a.dtype), divisor)) * b
    return -multiple if multiple.dtype.kind == "i" else multiple


@implements(np.bitwise_count, ufunc=True)
def bitwise_count(x: Any, /, out: Any = None) -> Any:
    """np.bitwise_count: how many bits of |x| are 1."""
    refuse_out("bitwise_count", out)
    x = convert(x, loop_dtypes(np.bitwise_count, x)[0])
    size = x if x.dtype.kind == "b" else absolute(x)
    if x.dtype.kind == "b":
        return convert(size, np.uint8)
    bits = np.arange(8 * x.dtype.itemsize).astype(x.dtype)
    return sum((size[..., None] >> bits) & np.ones((), x.dtype), -1).astype(np.uint8)


def _order(name: str, bitorder: str) -> np.ndarray[Any, Any]:
    """Return by how much the eight bits of a byte are shifted."""
    if bitorder not in ("big", "little"):
        raise ShapeError(
            f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}",
            fix="write 'big', as NumPy does, or 'little'.",
        )
    return np.arange(8, dtype=np.uint8)[:: -1 if bitorder == "big" else 1]


@implements(np.packbits)
def packbits(a: Any, axis: Any = None, bitorder: str = "big") -> Any:
    """np.packbits: each eight elements as the bits of a byte."""
    shifts = _order("packbits", bitorder)
    a = joined(a)
    if is_float(a.dtype):
        raise ShapeError(f"packbits: takes booleans and integers, got {a.dtype}", fix="compare: np.packbits(a != 0).")
    rows = ravel(a) if axis is None else moveaxis(a, axis, -1)
    bits = convert(convert(rows, np.bool_), np.uint8)
    short = -rows.shape[-1] % 8
    bits = ops.pad(bits, low=(0,) * bits.ndim, high=(0,) * (bits.ndim - 1) + (short,), interior=(0,) * bits.ndim)
    packed = sum(reshape(bits, (*rows.shape[:-1], -1, 8)) << shifts, -1).astype(np.uint8)
    return packed if axis is None else moveaxis(packed, -1, axis)


@implements(np.unpackbits)
def unpackbits(a: Any, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """np.unpackbits: the bits of bytes as elements."""
    shifts = _order("unpackbits", bitorder)
    if a.dtype != np.uint8:
        raise ShapeError(f"unpackbits: needs uint8, got {a.dtype}", fix="convert with .astype(np.uint8).")
    rows = ravel(a) if axis is None else moveaxis(a, normalize_axis("unpackbits", axis, a.ndim), -1)
    bits = reshape((rows[..., None] >> shifts) & np.uint8(1), (*rows.shape[:-1], 8 * rows.shape[-1]))
    if count is not None:
        short = max(0, count - bits.shape[-1])
        low = (0,) * bits.ndim
        bits = ops.pad(bits, low=low, high=(*low[1:], short), interior=low)[..., :count]
    return bits if axis is None else moveaxis(bits, -1, axis)
