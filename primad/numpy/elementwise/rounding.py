"""NumPy's rounding, signs and scales of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ir.array_types import is_complex, is_float
from primad.numpy.elementwise.logic import isnan
from primad.numpy.elementwise.ufuncs import absolute, ceil, difference, maximum, minimum, where
from primad.numpy.inplace.seen import fresh
from primad.numpy.promotion import as_float, as_ufunc, convert, harmonize, implements, loop_dtype, refuse_out
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive, full

__all__ = [
    "around", "copysign", "deg2rad", "degrees", "fix", "fmax", "fmin", "isneginf", "isposinf", "logaddexp2", "modf",
    "nan_to_num", "rad2deg", "radians", "rint", "round", "signbit", "sinc", "trunc",
]  # fmt: skip


# -- rounding ----------------------------------------------------------------------------------------------------------


@implements(np.rint, ufunc=True)
def rint(x: Any, /, out: Any = None) -> Any:
    """np.rint: the nearest integer, the even one of two; its derivative is 0."""
    refuse_out("rint", out)
    x = convert(x, loop_dtype(np.rint, x))
    if is_complex(x.dtype):
        return _of_parts(rint, x)
    low = ops.floor(x)
    rest = x - low
    odd = ops.equal(low - 2.0 * ops.floor(low * 0.5), 1)
    nearest = ops.select((rest > 0.5) | (ops.equal(rest, 0.5) & odd), low + 1.0, low)
    return ops.select(ops.equal(nearest, 0), _zero_of(x), nearest)


def _of_parts(function: Any, z: Any, *args: Any) -> Any:
    """Return the complex numbers whose parts a function makes of those of others."""
    return ops.complex_of(function(ops.real_part(z), *args), function(ops.imaginary_part(z), *args))


def _zero_of(x: Any) -> Any:
    """Zeros with the signs of x, whose derivative is 0."""
    return ops.stop_gradient(ops.select(x < 0, full(-0.0, x), ops.select(x > 0, full(0.0, x), x)))


@implements(np.trunc, ufunc=True)
def trunc(x: Any, /, out: Any = None) -> Any:
    """np.trunc: the integer next to x towards 0."""
    refuse_out("trunc", out)
    x = convert(x, loop_dtype(np.trunc, x))
    return ops.select(x < 0, ceil(x), ops.floor(x)) if is_float(x.dtype) else fresh(x)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """np.fix: as trunc."""
    refuse_out("fix", out)
    return trunc(x)


@implements(np.round, np.around, method="round")
def round(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """np.round: to a number of decimals; a half becomes even. Its derivative is 0."""
    refuse_out("round", out)
    if is_complex(x.dtype):
        return _of_parts(round, x, decimals)
    if x.dtype.kind == "b" and decimals:
        raise TracingError("np.round of booleans to decimals", fix="convert with .astype(float).")
    integers = x.dtype.kind in "iu"
    if not decimals or (integers and decimals > 0):
        return x if integers else rint(x)
    scale = 10.0 ** abs(decimals)
    y = as_float(x)
    return convert(rint(y * scale) / scale if decimals > 0 else rint(y / scale) * scale, x.dtype)


around = round


@implements(np.modf, ufunc=True)
def modf(x: Any, /) -> tuple[Any, Any]:
    """np.modf: the fraction, whose derivative is 1, and the integer; both have the sign of x."""
    x = convert(x, loop_dtype(np.modf, x))
    whole = trunc(x)
    zero = _zero_of(x)
    rest = x - whole
    rest = ops.select(ops.equal(rest, 0), zero - (ops.stop_gradient(x) - x), rest)  # its sign is that of x, too
    return ops.select(ops.equal(ops.abs(x), math.inf), zero, rest), whole


# -- signs and scales --------------------------------------------------------------------------------------------------


@implements(np.signbit, ufunc=True)
def signbit(x: Any, /) -> Any:
    """np.signbit: whether x is negative, −0.0 too; a NaN counts as positive."""
    x = convert(x, loop_dtype(np.signbit, x))
    return (x < 0) | (ops.equal(x, 0) & (full(1.0, x) / x < 0))


@implements(np.copysign, ufunc=True)
def copysign(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.copysign: |x| with the sign of y."""
    refuse_out("copysign", out)
    a, b = harmonize("copysign", x, y, dtype=loop_dtype(np.copysign, x, y))
    return ops.select(signbit(b), -ops.abs(a), ops.abs(a))


def _ignoring_nan(ufunc: np.ufunc, extremum: Any) -> Any:
    def function(x: Any, y: Any, /, out: Any = None) -> Any:
        refuse_out(ufunc.__name__, out)
        a, b = harmonize(ufunc.__name__, x, y, dtype=loop_dtype(ufunc, x, y))
        if not is_float(a.dtype):
            return extremum(a, b)
        return ops.select(isnan(b), a, ops.select(isnan(a), b, extremum(a, b)))

    return as_ufunc(function, "of a number and NaN it is the number.", ufunc)


fmax = _ignoring_nan(np.fmax, maximum)
fmin = _ignoring_nan(np.fmin, minimum)


def _scaled(numerator: float, denominator: float, *ufuncs: np.ufunc) -> Any:
    def function(x: Any, /, out: Any = None) -> Any:
        refuse_out(ufuncs[0].__name__, out)
        dtype = loop_dtype(ufuncs[0], x)
        x = convert(x, dtype)
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype  # half precision is rounded once, as by NumPy
        return convert(convert(x, wide) * float(wide.type(numerator) / wide.type(denominator)), dtype)

    return as_ufunc(function, "of angles.", *ufuncs)


degrees = _scaled(180.0, math.pi, np.degrees)
rad2deg = _scaled(180.0, math.pi, np.rad2deg)
radians = _scaled(math.pi, 180.0, np.radians)
deg2rad = _scaled(math.pi, 180.0, np.deg2rad)


def _refuse_complex(name: str, x: Any) -> None:
    if is_complex(x.dtype):
        raise TracingError(f"np.{name} of complex numbers, which have no sign", fix="ask for x.real and x.imag.")


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """np.isposinf."""
    refuse_out("isposinf", out)
    _refuse_complex("isposinf", x)
    return ops.equal(as_float(x), math.inf)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """np.isneginf."""
    refuse_out("isneginf", out)
    _refuse_complex("isneginf", x)
    return ops.equal(as_float(x), -math.inf)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """np.nan_to_num: numbers in place of NaN and infinities; they have no derivative."""
    if not copy:
        raise TracingError("np.nan_to_num with copy=False writes into an array", fix="assign its result.")
    if is_complex(x.dtype):
        return _of_parts(lambda part: nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf), x)
    if not is_float(x.dtype):
        return x
    info = np.finfo(x.dtype)
    x = where(isnan(x), nan, x).astype(x.dtype)
    x = where(ops.equal(x, math.inf), float(info.max) if posinf is None else posinf, x).astype(x.dtype)
    return where(ops.equal(x, -math.inf), float(info.min) if neginf is None else neginf, x).astype(x.dtype)


# -- functions by definition -------------------------------------------------------------------------------------------

LOG_2 = math.log(2.0)


def _logaddexp2(x: Any, y: Any) -> Any:
    """The larger one + log₂(1 + 2^−|x − y|), written so that infinities are harmless."""
    if x.dtype == np.float16:  # rounded once, as by NumPy
        wide = [ops.cast(operand, dtype="float32") for operand in (x, y)]
        return ops.cast(_logaddexp2(*wide), dtype="float16")
    d = difference(x, y) * LOG_2
    return ops.select(d > 0, x + ops.softplus(-d) / LOG_2, y + ops.softplus(d) / LOG_2)


logaddexp2_: Primitive = composite(
    "logaddexp2",
    numpy=np.logaddexp2,
    lower=_logaddexp2,
    jvp=[
        lambda t, out, x, y: t * ops.logistic(difference(x, y) * LOG_2),
        lambda t, out, x, y: t * ops.logistic(difference(x, y) * -LOG_2),
    ],
    doc="log₂(2ˣ + 2ʸ), without overflow; where both are the same infinity each has half of the derivative.",
)


@implements(np.logaddexp2, ufunc=True)
def logaddexp2(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.logaddexp2: log₂(2ˣ + 2ʸ), without overflow; where both are the same infinity each has half."""
    refuse_out("logaddexp2", out)
    return logaddexp2_(*harmonize("logaddexp2", x, y, dtype=loop_dtype(np.logaddexp2, x, y)))


COMPOSITES = [logaddexp2_]
SERIES = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(10)]
"""Of sin(y)/y in y²; below 1 the next term is less than 2e-20."""


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """np.sinc: sin(πx)/(πx); near 0 its series, so that derivatives of all orders are right there."""
    y = as_float(x) * math.pi
    near = absolute(y) < 1.0
    t = ops.select(near, y, full(0.0, y))
    t = t * t
    total: Any = full(SERIES[-1], t)
    for coefficient in reversed(SERIES[:-1]):
        total = total * t + coefficient
    far = ops.select(near, full(1.0, y), y)
    return ops.select(near, total, ops.sin(far) / far)
