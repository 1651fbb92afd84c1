"""Changing the dtype: casts and the parts of complex numbers are linear, truncate to integers is piecewise constant.

The transposes belong to the pairing Re Σ ct·t, without a conjugate (decision 0076): what reaches a real number of a
cotangent is its real part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, complex_dtype, real_dtype
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ops.elementwise.arithmetic import add, neg
from primad.ops.record.fields import CHEAP, Law, MemoryUse, always
from primad.ops.record.kinds import linear, piecewise_constant
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, apply, full

__all__ = ["cast", "complex_of", "conj", "imaginary_part", "real_part", "truncate"]

Inputs = tuple[Node, ...]
Params = dict[str, Any]


def _cast(x: Any, *, dtype: str) -> Any:
    x = np.asarray(x)
    return x if x.dtype == object else x.astype(dtype)


def _cast_same(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.type.dtype == np.dtype(params["dtype"]):
        return x
    if x.op is LITERAL:
        with np.errstate(all="ignore"):  # it may be no number of that dtype; NumPy would warn when it runs
            value = np.asarray(literal_value(x), x.type.dtype).astype(params["dtype"]).item()
        return trace.literal(value, ArrayType(x.type.shape, np.dtype(params["dtype"])))
    return None


def _to_float(x: ArrayType, *, dtype: str) -> ArrayType:
    result = ArrayType(x.shape, np.dtype(dtype))
    if not result.is_float:
        raise ShapeError(
            f"cast: {dtype} is not a floating-point dtype; use truncate",
            fix="truncate is the op that makes integers of floats.",
        )
    if x.is_complex and not result.is_complex:
        raise ShapeError(
            f"cast: {x} to {dtype} would drop the imaginary parts; use real_part",
            fix="take real_part first, or cast to a complex dtype.",
        )
    return result


def _pull_cast(ct: Any, x: Any, *, dtype: str) -> Any:
    real_input = ct.dtype.kind == "c" and x.dtype.kind != "c"
    return cast(real_part(ct) if real_input else ct, dtype=str(x.dtype))


cast: Primitive = linear(
    "cast",
    numpy=_cast,
    infer=_to_float,
    transpose=[_pull_cast],
    work=CHEAP,
    doc="Convert to another floating-point dtype, or to complex numbers.",
    laws=[
        Law(
            "a cast to the same dtype does nothing",
            "bitwise",
            lambda x: (cast(x, dtype="float64"), x),
            ((2, 3),),
            _cast_same,
            complex="bitwise",
        )
    ],
)


def _truncate(x: Any, *, dtype: str) -> Any:
    x = np.asarray(x)
    return np.vectorize(int, otypes=[object])(x) if x.dtype == object else x.astype(dtype)


def _to_discrete(x: ArrayType, *, dtype: str) -> ArrayType:
    result = ArrayType(x.shape, np.dtype(dtype))
    if result.is_float:
        raise ShapeError(
            f"truncate: from {x.dtype} to {dtype} is no truncation; use cast, or real_part",
            fix="truncate goes from floats to integers.",
        )
    return result


truncate: Primitive = piecewise_constant(
    "truncate",
    numpy=_truncate,
    infer=_to_discrete,
    laws=[
        Law(
            "a truncation to the same dtype does nothing",
            "bitwise",
            lambda x: (truncate(truncate(x, dtype="int64"), dtype="int64"), truncate(x, dtype="int64")),
            ((2, 3),),
            _cast_same,
        )
    ],
    work=CHEAP,
    doc="Convert to an integer or boolean dtype, towards zero.",
)


# -- parts of complex numbers ------------------------------------------------------------------------------------------


def _part(name: str) -> Callable[..., ArrayType]:
    def infer(x: ArrayType) -> ArrayType:
        if not x.is_complex:
            raise ShapeError(
                f"{name} needs complex numbers, got {x}", fix="leave real numbers as they are, or cast to complex128."
            )
        return ArrayType(x.shape, real_dtype(x.dtype))

    return infer


def _complex_type(x: ArrayType, y: ArrayType) -> ArrayType:
    type = same_type(x, y)
    if type.dtype.kind != "f" or type.dtype.itemsize < 4:
        raise ShapeError(
            f"complex_of: the parts are floats of 32 or 64 bits, got {type}", fix="cast both parts to float64."
        )
    return ArrayType(type.shape, complex_dtype(type.dtype))


def _only_complex(x: ArrayType) -> ArrayType:
    if not x.is_complex:
        raise ShapeError(
            f"conj needs complex numbers, got {x}", fix="leave it out: a real number is its own conjugate."
        )
    return x


def _complex(x: Any, y: Any, out: Any = None) -> Any:
    if out is None:
        out = np.empty(np.shape(x), complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


def _part_law(place: int) -> Callable[[Trace, Inputs, Params], Node | None]:
    """Make the constructor form for the real (0) or the imaginary part (1) of what is made of parts, or turned."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        dtype = real_dtype(z.type.dtype)
        if z.op is complex_of:
            return z.inputs[place]
        if z.op is LITERAL:
            value = literal_value(z)
            return trace.literal((value.real, value.imag)[place], ArrayType(z.type.shape, dtype))
        if z.op is cast and not z.inputs[0].type.is_complex:
            if place:
                return trace.literal(0.0, ArrayType(z.type.shape, dtype))
            return apply(trace, cast, z.inputs[0], dtype=str(dtype))
        if z.op is conj:
            found = apply(trace, imaginary_part if place else real_part, z.inputs[0])
            return apply(trace, neg, found) if place else found
        return None

    return rewrite


real_part: Primitive = linear(
    "real_part",
    numpy=lambda z, out=None: np.positive(np.real(z), out=out),
    infer=_part("real_part"),
    transpose=[lambda ct, z: cast(ct, dtype=str(z.dtype))],
    memory=MemoryUse(out=always),
    complex="real-linear",
    laws=[
        Law(
            "the real part of x + iy is x, of a conjugate that of the number",
            "bitwise",
            lambda x, y: (real_part(conj(complex_of(x, y))), x),
            ((3,), (3,)),
            _part_law(0),
            ("complex_of", "literal", "cast", "conj"),
            complex="bitwise",
        ),
    ],
    doc="The real parts of complex numbers.",
)
imaginary_part: Primitive = linear(
    "imaginary_part",
    numpy=lambda z, out=None: np.positive(np.imag(z), out=out),
    infer=_part("imaginary_part"),
    transpose=[lambda ct, z: complex_of(full(0.0, ct), -ct)],
    memory=MemoryUse(out=always),
    complex="real-linear",
    laws=[
        Law(
            "the imaginary part of x + iy is y, of a conjugate minus that of the number",
            "bitwise",
            lambda x, y: (imaginary_part(conj(complex_of(x, y))), neg(y)),
            ((3,), (3,)),
            _part_law(1),
            ("complex_of", "literal", "cast", "conj"),
            complex="bitwise",
        )
    ],
    doc="The imaginary parts of complex numbers.",
)


def _conj_law(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (z,) = inputs
    if z.op is conj:
        return z.inputs[0]
    if z.op is LITERAL:
        return trace.literal(literal_value(z).conjugate(), z.type)
    return apply(trace, complex_of, z.inputs[0], apply(trace, neg, z.inputs[1])) if z.op is complex_of else None


conj: Primitive = linear(
    "conj",
    numpy=np.conjugate,
    infer=_only_complex,
    transpose=[lambda ct, z: conj(ct)],
    complex="real-linear",
    laws=[
        Law(
            "the conjugate of a conjugate is the number, of x + iy it is x − iy",
            "bitwise",
            lambda x, y: (conj(complex_of(x, y)), complex_of(x, neg(y))),
            ((3,), (3,)),
            _conj_law,
            ("conj", "complex_of", "literal"),
            complex="bitwise",
        )
    ],
    doc="The complex conjugates x − iy of x + iy.",
)


def _complex_law(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    if x.op is real_part and y.op is imaginary_part and x.inputs == y.inputs:
        return x.inputs[0]
    if x.op is LITERAL and y.op is LITERAL:
        value = _complex(*[node.type.dtype.type(literal_value(node)) for node in inputs]).item()
        return trace.literal(value, _complex_type(x.type, y.type))
    return None


def _sum_of_parts(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    place = next((i for i, z in enumerate(inputs) if z.op is complex_of and _is_zero(z.inputs[0])), None)
    if place is None:
        return None
    made, other = inputs[place], inputs[1 - place]
    if other.op is not cast or other.inputs[0].type.is_complex:
        return None
    return apply(trace, complex_of, apply(trace, real_part, other), made.inputs[1])


def _is_zero(x: Node) -> bool:
    return x.op is LITERAL and literal_value(x) == 0


complex_of: Primitive = linear(
    "complex_of",
    numpy=_complex,
    infer=_complex_type,
    transpose=[lambda ct, x, y: real_part(ct), lambda ct, x, y: -imaginary_part(ct)],
    operands=None,
    memory=MemoryUse(out=always),
    complex="real-linear",
    laws=[
        Law(
            "a number has the parts that it is made of",
            "bitwise",
            lambda x, y: (complex_of(real_part(complex_of(x, y)), imaginary_part(complex_of(x, y))), complex_of(x, y)),
            ((3,), (3,)),
            _complex_law,
            ("real_part", "literal"),
        )
    ],
    consumed=[
        Law(
            "an imaginary number and a real one are the parts of their sum",
            "real",
            lambda x, y: (add(complex_of(full(0.0, x), x), cast(y, dtype="complex128")), complex_of(y, x)),
            ((3,), (3,)),
            _sum_of_parts,
            ("add",),
            complex="real",
        )
    ],
    doc="x + iy, of real parts x and y.",
)
