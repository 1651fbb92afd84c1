"""Frequencies that stand for two, and those that stand for one: of a transform of real numbers, the half that is kept.

The transposes of such transforms double or halve those that stand for two. A weight is kept outside of products and
conjugates, so that the weights of a transform there and of one back meet and are gone. Of those that stand for one, the
frequency 0 and that of n/2, transforms back to real numbers read the Hermitian part only.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, real_dtype
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ops.arrays.broadcasting import broadcast
from primad.ops.arrays.reshaping import flip
from primad.ops.arrays.slicing import concatenate, pad, slice_
from primad.ops.elementwise.arithmetic import add, mul, neg, sub
from primad.ops.elementwise.conversion import complex_of, conj, imaginary_part, real_part
from primad.ops.record.fields import Law
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive, apply, full
from primad.recording.traced_array import TracedArray

Params = dict[str, Any]
Inputs = tuple[Node, ...]


def _weights(z: Any, axis: int, n: int, factor: float) -> Any:
    """Return the factor of each place along an axis: 1 of the frequency 0, and of n/2 for an even n."""
    weights = np.full(n // 2 + 1, factor, real_dtype(z.dtype) if z.dtype != object else object)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights


def _weighed(z: Any, *, axis: int, n: int, factor: float) -> Any:
    weights = _weights(z, axis, n, factor).reshape([-1 if i == axis else 1 for i in range(z.ndim)])
    if z.dtype == object:
        return z * weights
    out = np.empty_like(z)
    out.real, out.imag = z.real * weights, z.imag * weights
    return out


def _weighed_type(z: ArrayType, *, axis: int, n: int, factor: float) -> ArrayType:
    if not z.is_complex or not 0 <= axis < z.ndim or z.shape[axis] != n // 2 + 1:
        raise ShapeError(
            f"weigh_pairs needs {n // 2 + 1} complex numbers along axis {axis}, got {z}",
            fix="give n as the real array had it.",
        )
    return z


def _definition(z: Any, *, axis: int, n: int, factor: float) -> Any:
    known = TracedArray(z.node.trace.capture(_weights(z, axis, n, factor)))
    weights = broadcast(known, shape=z.shape, axes=tuple([i for i in range(z.ndim) if i != axis]))
    return complex_of(real_part(z) * weights, imaginary_part(z) * weights)


def _weighed_again(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (z,) = inputs
    if params["factor"] == 1:
        return z
    if z.op is not weigh_pairs or (given := dict(z.params))["axis"] != params["axis"] or given["n"] != params["n"]:
        return None
    return apply(trace, weigh_pairs, z.inputs[0], **{**params, "factor": given["factor"] * params["factor"]})


def _outside_of_product(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    place = 0 if inputs[0].op is weigh_pairs else 1
    weighed = inputs[place]
    factors = [x.inputs[0] if i == place else x for i, x in enumerate(inputs)]
    return apply(trace, weigh_pairs, apply(trace, mul, *factors), **dict(weighed.params))


def _twice(x: Any, y: Any) -> Any:
    return weigh_pairs(complex_of(x, y), axis=0, n=4, factor=2.0)


_SHAPES = ((3,), (3,))


def _outside_of(op: Primitive, name: str) -> Law:
    """Return the law of sums or differences of numbers with the same weights."""

    def statement(x: Any, y: Any) -> tuple[Any, Any]:
        return (
            op(_twice(x, y), _twice(y, x)),
            weigh_pairs(op(complex_of(x, y), complex_of(y, x)), axis=0, n=4, factor=2.0),
        )

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        x, y = inputs
        if (x.op, x.params) != (y.op, y.params):
            return None
        return apply(trace, weigh_pairs, apply(trace, op, x.inputs[0], y.inputs[0]), **dict(x.params))

    what = f"weights of pairs of frequencies are outside of {name}"
    return Law(what, "real", statement, _SHAPES, rewrite, (op.name,), complex="real")


def _outside_of_one(op: Primitive, name: str) -> Law:
    """Return the law of conjugates or negations of numbers with weights."""

    def statement(x: Any, y: Any) -> tuple[Any, Any]:
        return op(_twice(x, y)), weigh_pairs(op(complex_of(x, y)), axis=0, n=4, factor=2.0)

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        return apply(trace, weigh_pairs, apply(trace, op, z.inputs[0]), **dict(z.params))

    what = f"weights of pairs of frequencies are outside of {name}"
    return Law(what, "bitwise", statement, _SHAPES, rewrite, (op.name,), complex="bitwise")


weigh_pairs: Primitive = composite(
    "weigh_pairs",
    numpy=_weighed,
    lower=_definition,
    infer=_weighed_type,
    laws=[
        Law(
            "weights of pairs of frequencies are multiplied",
            "real",
            lambda x, y: (weigh_pairs(_twice(x, y), axis=0, n=4, factor=0.5), complex_of(x, y)),
            _SHAPES,
            _weighed_again,
            complex="real",
        )
    ],
    consumed=[
        Law(
            "weights of pairs of frequencies are outside of products",
            "real",
            lambda x, y: (
                mul(complex_of(y, x), _twice(x, y)),
                weigh_pairs(mul(complex_of(y, x), complex_of(x, y)), axis=0, n=4, factor=2.0),
            ),
            _SHAPES,
            _outside_of_product,
            ("mul",),
            complex="real",
        ),
        _outside_of_one(conj, "conjugates"),
        _outside_of_one(neg, "negations"),
        _outside_of(add, "sums"),
        _outside_of(sub, "differences"),
    ],
    doc="Multiply the frequencies that stand for two, which are conjugates of each other, by a factor.",
)


# -- frequencies that stand for one ------------------------------------------------------------------------------------


def _place_of_ends(n: int) -> slice:
    """Return where the frequencies 0 and n/2 are along the axis of a half: an odd length has no n/2."""
    return slice(0, 1, 1) if n % 2 else slice(0, n // 2 + 1, n // 2)


def _with_hermitian_ends(z: Any, *, axis: int, n: int, axes: tuple[int, ...]) -> Any:
    out = np.array(z)
    ends = out[tuple([_place_of_ends(n) if i == axis else slice(None) for i in range(z.ndim)])]
    opposite = np.roll(np.flip(ends, axes), 1, axes)
    if z.dtype == object:
        ends[...] = (ends + np.conj(opposite)) / 2
    else:
        ends.real, ends.imag = (ends.real + opposite.real) / 2, (ends.imag - opposite.imag) / 2
    return out


def _hermitian_ends_type(z: ArrayType, *, axis: int, n: int, axes: tuple[int, ...]) -> ArrayType:
    others = all(0 <= each < z.ndim for each in axes) and axis not in axes and list(axes) == sorted({*axes})
    if not others or not z.is_complex or not 0 <= axis < z.ndim or z.shape[axis] != n // 2 + 1:
        raise ShapeError(
            f"hermitian_ends needs {n // 2 + 1} complex numbers along axis {axis}, and others, got {z}",
            fix="give n as the real array had it.",
        )
    return z


def _cut(z: Any, axis: int, place: slice) -> Any:
    start, stop, step = (
        tuple([own if i == axis else whole for i, whole in enumerate(rest)])
        for own, rest in ((place.start, [0] * z.ndim), (place.stop, z.shape), (place.step, [1] * z.ndim))
    )
    return slice_(z, start=start, stop=stop, step=step)


def _ends_definition(z: Any, *, axis: int, n: int, axes: tuple[int, ...]) -> Any:
    """Add to the ends half of what they lack, so that all other numbers are read once, and in their places."""
    ends = _cut(z, axis, _place_of_ends(n))
    opposite = ends
    for each in axes:
        first, rest = (_cut(opposite, each, place) for place in (slice(0, 1, 1), slice(1, z.shape[each], 1)))
        opposite = concatenate(first, flip(rest, axes=(each,)), axis=each)
    lacking = mul(sub(conj(opposite), ends), full(0.5, ends))
    gaps = [n // 2 - 1 if i == axis and n % 2 == 0 else 0 for i in range(z.ndim)]
    after = [n // 2 if i == axis and n % 2 else 0 for i in range(z.ndim)]
    return add(z, pad(lacking, low=(0,) * z.ndim, high=tuple(after), interior=tuple(gaps)))


def _hermitian_already(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (z,) = inputs
    return z if z.op is hermitian_ends and dict(z.params) == params else None


def _number_outside(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (z,) = inputs
    if z.op is not mul:
        return None
    for number, rest in (z.inputs, z.inputs[::-1]):
        if number.op is LITERAL and not literal_value(number).imag:
            return apply(trace, mul, number, apply(trace, hermitian_ends, rest, **params))
    return None


_ENDS = MappingProxyType({"axis": 0, "n": 4, "axes": (1,)})
hermitian_ends: Primitive = composite(
    "hermitian_ends",
    numpy=_with_hermitian_ends,
    lower=_ends_definition,
    infer=_hermitian_ends_type,
    laws=[
        Law(
            "ends that are Hermitian stay as they are",
            "real",
            lambda x, y: (
                hermitian_ends(hermitian_ends(complex_of(x, y), **_ENDS), **_ENDS),
                hermitian_ends(complex_of(x, y), **_ENDS),
            ),
            ((3, 3), (3, 3)),
            _hermitian_already,
            ("hermitian_ends",),
            complex="real",
        ),
        Law(
            "a real number is outside of Hermitian ends",
            "real",
            lambda x, y: (
                hermitian_ends(mul(complex_of(x, y), full(3.0, complex_of(x, y))), **_ENDS),
                mul(full(3.0, complex_of(x, y)), hermitian_ends(complex_of(x, y), **_ENDS)),
            ),
            ((3, 3), (3, 3)),
            _number_outside,
            ("mul",),
            complex="real",
        ),
    ],
    doc="Replace the frequencies 0 and n/2 along an axis by (z(k) + the conjugate of z(-k))/2, k along other axes.",
)
