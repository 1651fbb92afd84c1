"""NumPy's elementwise functions and operators over the primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.errors import DomainError, ShapeError, TracingError
from primad.ir.array_types import is_complex, is_float
from primad.ir.node import LITERAL, literal_value
from primad.numpy.elementwise.meeting_operands import agree, as_number, larger, smaller, with_number
from primad.numpy.inplace.seen import fresh
from primad.numpy.promotion import (
    any_traced,
    as_float,
    as_traced,
    as_ufunc,
    check_layout,
    common_shape,
    convert,
    expand,
    first_traced,
    harmonize,
    implements,
    loop_dtype,
    of_one_shape,
    refuse_out,
    result_dtype,
)
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive, full
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray, bind

__all__ = [
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "divide",
    "divmod",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmod",
    "heaviside",
    "hypot",
    "left_shift",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "positive",
    "power",
    "reciprocal",
    "remainder",
    "right_shift",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "where",
]  # fmt: skip


AS_NUMPY = "Broadcasts and promotes as NumPy does."


def binary(
    primitive: Primitive, *ufuncs: np.ufunc, floats: bool = False, over_complex: Callable[[Any, Any], Any] | None = None
) -> Any:
    """Make NumPy's function of two operands from a primitive, and register it for the ufuncs.

    Args:
        primitive: what it does.
        ufuncs: NumPy's.
        floats: whether integers become floats.
        over_complex: what it does with complex operands, where that is something else.
    """
    name = ufuncs[0].__name__

    def function(x: Any, y: Any, /, out: Any = None) -> Any:
        if out is not None:
            refuse_out(name, out)
        if type(x) is TracedArray and type(y) is TracedArray:
            a, b, trace = x.node, y.node, x.node.trace
            if b.trace is trace and a.type.dtype is b.type.dtype and a.type.dtype.kind == "f" and not trace.closed:
                nodes = (a, b) if a.type is b.type else of_one_shape(x, y)  # most operations by far
                if nodes is not None:
                    return TracedArray(trace.build(primitive, nodes, ()))
        elif x.__class__ is float or y.__class__ is float:
            found = with_number(primitive, x, y)
            if found is not None:
                return found
        x, y = as_number(x, y), as_number(y, x)
        if not agree(x, y, floats):
            x, y = harmonize(name, x, y, dtype=loop_dtype(ufuncs[0], x, y))
        if over_complex is not None and type(x) is TracedArray and is_complex(x.dtype):
            return over_complex(x, y)
        return bind(primitive, (x, y), {})

    return as_ufunc(function, f"{primitive.doc} {AS_NUMPY}", *ufuncs)


def unary(primitive: Primitive, *ufuncs: Any, over_complex: Callable[[Any], Any] | None = None) -> Any:
    """Make NumPy's function of one operand from a primitive, and register it for the ufuncs.

    Args:
        primitive: what it does.
        ufuncs: NumPy's.
        over_complex: what it does with complex operands, where that is something else.
    """
    name = ufuncs[0].__name__

    def function(x: Any, /, out: Any = None) -> Any:
        if out is not None:
            refuse_out(name, out)
        if type(x) is TracedArray:
            node = x.node
            if node.type.dtype.kind == "f" and not node.trace.closed:
                return TracedArray(node.trace.build(primitive, (node,), ()))
        if x.dtype.kind != "f":
            x = convert(x, loop_dtype(ufuncs[0], x))
            if over_complex is not None and is_complex(x.dtype):
                return over_complex(x)
        return bind(primitive, (x,), {})

    return as_ufunc(function, primitive.doc, *ufuncs)


def _direction(x: Any, y: Any) -> Any:
    """Return z/|z|, 0 at 0, for z = x + iy; where one part is infinite along it, and NaN where both are, as NumPy's."""
    far, nothing = [ops.equal(ops.abs(part), math.inf) for part in (x, y)], full(0.0, x)
    origin = ops.equal(x, 0) & ops.equal(y, 0)

    def part(along: Any, across: Any, far: Any, far_across: Any) -> Any:
        ordinary = ops.select(origin, nothing, ops.direction(along, across))
        along = ops.select(far_across, full(math.nan, along), ops.sign(along))
        return ops.select(far, along, ops.select(far_across, nothing, ordinary))

    return ops.complex_of(part(x, y, *far), part(y, x, *far[::-1]))


add = binary(ops.add, np.add)
subtract = binary(ops.sub, np.subtract)
multiply = binary(ops.mul, np.multiply)
true_divide = divide = binary(ops.div, np.true_divide, floats=True)
maximum = binary(ops.maximum, np.maximum, over_complex=larger)
minimum = binary(ops.minimum, np.minimum, over_complex=smaller)
floor_divide = binary(ops.floor_divide, np.floor_divide)
remainder = mod = binary(ops.remainder, np.remainder)
fmod = binary(ops.fmod, np.fmod)
hypot = binary(ops.hypot, np.hypot, floats=True)
arctan2 = binary(ops.arctan2, np.arctan2, floats=True)
left_shift = binary(ops.left_shift, np.left_shift)
right_shift = binary(ops.right_shift, np.right_shift)


negative = unary(ops.neg, np.negative)
absolute = unary(ops.abs, np.absolute, over_complex=lambda z: ops.hypot(ops.real_part(z), ops.imaginary_part(z)))
fabs = unary(ops.abs, np.fabs)
exp = unary(ops.exp, np.exp)
expm1 = unary(ops.expm1, np.expm1)
exp2 = unary(ops.exp2, np.exp2)
log = unary(ops.log, np.log)
log2 = unary(ops.log2, np.log2)
log10 = unary(ops.log10, np.log10)
log1p = unary(ops.log1p, np.log1p)
sqrt = unary(ops.sqrt, np.sqrt)
sin = unary(ops.sin, np.sin)
cos = unary(ops.cos, np.cos)
tan = unary(ops.tan, np.tan)
sinh = unary(ops.sinh, np.sinh)
cosh = unary(ops.cosh, np.cosh)
tanh = unary(ops.tanh, np.tanh)
arctan = unary(ops.arctan, np.arctan)
arcsin = unary(ops.arcsin, np.arcsin)
arccos = unary(ops.arccos, np.arccos)
arcsinh = unary(ops.arcsinh, np.arcsinh)
arccosh = unary(ops.arccosh, np.arccosh)
arctanh = unary(ops.arctanh, np.arctanh)
cbrt = unary(ops.cbrt, np.cbrt)
sign = unary(ops.sign, np.sign, over_complex=lambda z: _direction(ops.real_part(z), ops.imaginary_part(z)))
floor = unary(ops.floor, np.floor)


@implements(np.power, ufunc=True)
def power(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.power: x to the power y. A constant exponent stays a constant, so x**2 is x·x.

    Integer arrays to negative powers are refused, as by NumPy.
    """
    refuse_out("power", out)
    if type(x) is TracedArray and (y.__class__ is int or y.__class__ is float) and is_float(x.dtype):
        found = with_number(ops.power, x, float(y))
        return ops.power(x, float(y)) if found is None else found
    constant = type(x) is TracedArray and type(y) is not TracedArray and np.ndim(y) == 0 and is_float(x.dtype)
    if constant and result_dtype(x, y) == x.dtype:
        return ops.power(x, complex(y) if is_complex(x.dtype) else float(y))
    a, b = harmonize("power", x, y, dtype=loop_dtype(np.power, x, y))
    if b.node.op is LITERAL and not is_float(b.dtype) and literal_value(b.node) < 0:
        raise DomainError(
            "power: integers to negative integer powers",
            why="They are no integers.",
            fix="convert with .astype(float).",
        )
    return ops.power(a, b)


@implements(np.float_power, ufunc=True)
def float_power(x: Any, y: Any, /, out: Any = None) -> Any:
    """np.float_power: x to the power y in float64 at least."""
    refuse_out("float_power", out)
    return ops.power(*harmonize("float_power", x, y, dtype=loop_dtype(np.float_power, x, y)))


@implements(np.positive, ufunc=True)
def positive(x: Any, /, out: Any = None) -> Any:
    """np.positive: x."""
    refuse_out("positive", out)
    return fresh(convert(x, loop_dtype(np.positive, x)))


# -- functions by definition -------------------------------------------------------------------------------------------

square: Primitive = composite("square", numpy=np.square, lower=lambda x: x * x, doc="x².")
reciprocal: Primitive = composite("reciprocal", numpy=np.reciprocal, lower=lambda x: _reciprocal(x), doc="1/x.")
logaddexp: Primitive = composite(
    "logaddexp",
    numpy=np.logaddexp,
    lower=lambda x, y: _logaddexp(x, y),
    jvp=[
        lambda t, out, x, y: t * ops.logistic(difference(x, y)),
        lambda t, out, x, y: t * ops.logistic(-difference(x, y)),
    ],
    doc="log(eˣ + eʸ), without overflow; where both are the same infinity each has half of the derivative.",
)


def _reciprocal(x: Any) -> Any:
    if is_float(x.dtype):
        return 1.0 / x
    return ops.select(ops.equal(ops.abs(x), 1), x, x - x)


def difference(x: Any, y: Any) -> Any:
    """The difference, and 0 where both are the same infinity."""
    same = ops.equal(x, y) & ops.equal(ops.abs(x), math.inf)
    return ops.select(same, full(0.0, x), x - y)


def _logaddexp(x: Any, y: Any) -> Any:
    """The larger one + log(1 + e^−|x − y|), written so that infinities are harmless."""
    if x.dtype == np.float16:  # rounded once, as by NumPy
        wide = [ops.cast(operand, dtype="float32") for operand in (x, y)]
        return ops.cast(_logaddexp(*wide), dtype="float16")
    d = difference(x, y)
    return ops.select(d > 0, x + ops.softplus(-d), y + ops.softplus(d))


COMPOSITES = [square, reciprocal, logaddexp]


def _by_definition(primitive: Primitive, ufunc: np.ufunc) -> Callable[..., Any]:
    def function(*operands: Any, out: Any = None) -> Any:
        refuse_out(ufunc.__name__, out)
        return primitive(*harmonize(ufunc.__name__, *operands, dtype=loop_dtype(ufunc, *operands)))

    return as_ufunc(function, primitive.doc, ufunc)


square = _by_definition(square, np.square)  # type: ignore[assignment]
reciprocal = _by_definition(reciprocal, np.reciprocal)  # type: ignore[assignment]
logaddexp = _by_definition(logaddexp, np.logaddexp)  # type: ignore[assignment]


@implements(np.divmod, ufunc=True)
def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """np.divmod: the quotient rounded down, and the remainder."""
    return floor_divide(x, y), remainder(x, y)


@implements(np.ceil, ufunc=True)
def ceil(x: Any, /, out: Any = None) -> Any:
    """np.ceil: the smallest integer not below x."""
    refuse_out("ceil", out)
    return -ops.floor(-x) if is_float(x.dtype) else fresh(convert(x, loop_dtype(np.ceil, x)))


@implements(np.heaviside, ufunc=True)
def heaviside(x: Any, at_zero: Any, /) -> Any:
    """np.heaviside: 0 below 0, 1 above 0, `at_zero` at 0, NaN at NaN."""
    x, at_zero = harmonize("heaviside", x, at_zero, dtype=loop_dtype(np.heaviside, x, at_zero))
    elsewhere = ops.select(x > 0, full(1.0, x), ops.select(x < 0, full(0.0, x), full(math.nan, x)))
    return ops.select(ops.equal(x, 0), at_zero, elsewhere)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """np.where with three arguments: elements of x where the condition holds, of y elsewhere.

    The derivative of the branch that is not selected is exactly zero, even where it is infinite or NaN. With one
    argument it is np.nonzero.
    """
    if x is None and y is None:
        try:
            return np.nonzero(condition)
        except TracingError as error:
            if not error.only_types:
                raise
            raise TracingError(
                "np.where with one argument has a result of unknown shape", fix="pass both values."
            ) from None
    if not any_traced([x, y]):
        like = first_traced([condition])
        x = as_traced(np.asarray(x, result_dtype(x, y)), like)
    a, b = harmonize("where", x, y)
    condition = convert(as_traced(condition, first_traced([condition, a])), np.bool_)
    shape = common_shape("where", [condition.shape, a.shape])
    return ops.select(expand(condition, shape), expand(a, shape), expand(b, shape))


def defined_where(condition: Any, x: Any) -> Any:
    """Return x where the condition holds; elsewhere NaN, whose derivatives of all orders are NaN where it is read.

    Those of a constant would be 0. There it depends on x by its reciprocal, which has derivatives of all orders.
    """
    if not any_traced([condition, x]):
        return np.where(condition, x, np.nan)
    like = first_traced([condition, x])
    x, condition = as_float(as_traced(x, like)), convert(as_traced(condition, like), np.bool_)
    shape = common_shape("where", [condition.shape, x.shape])
    known = expand(condition, shape)
    return ops.defined_where(known, ops.select(known, expand(x, shape), expand(1.0 / x, shape)))


@implements(np.clip, method="clip")
def clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """np.clip: x held inside [a_min, a_max]; at an edge the derivative is 1/2 (a tie of maximum)."""
    refuse_out("clip", out)
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise ShapeError("clip: give a_min and a_max, or min and max, not both", fix="write np.clip(x, low, high).")
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    if low is not None:
        x = maximum(x, low)
    return x if high is None else minimum(x, high)


def _astype(x: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: Any = True) -> Any:
    check_layout("astype", order)
    if not np.can_cast(x.dtype, dtype, casting):
        raise TracingError(
            f"astype: casting from {x.dtype} to {np.dtype(dtype)} is not {casting}",
            fix="leave casting out for a conversion in any case.",
        )
    found = convert(x, dtype)
    return fresh(found) if copy else found


METHODS["astype"] = _astype
