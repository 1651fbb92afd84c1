"""Weights of frequencies that stand for two: of a transform of real numbers, the half that is kept.

The transposes of such transforms double or halve those frequencies. A weight is kept outside of products and
conjugates, so that the weights of a transform there and of one back meet and are gone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, real_dtype
from primad.ir.node import Node, Trace
from primad.ops.arrays.broadcasting import broadcast
from primad.ops.elementwise.arithmetic import add, mul, sub
from primad.ops.elementwise.conversion import complex_of, conj, imaginary_part, real_part
from primad.ops.record.fields import Law
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive, apply
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
        raise ShapeError(f"weigh_pairs needs {n // 2 + 1} complex numbers along axis {axis}, got {z}")
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


def _outside_of_conjugate(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (z,) = inputs
    return apply(trace, weigh_pairs, apply(trace, conj, z.inputs[0]), **dict(z.params))


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
        Law(
            "weights of pairs of frequencies are outside of conjugates",
            "bitwise",
            lambda x, y: (conj(_twice(x, y)), weigh_pairs(conj(complex_of(x, y)), axis=0, n=4, factor=2.0)),
            _SHAPES,
            _outside_of_conjugate,
            ("conj",),
            complex="bitwise",
        ),
        _outside_of(add, "sums"),
        _outside_of(sub, "differences"),
    ],
    doc="Multiply the frequencies that stand for two, which are conjugates of each other, by a factor.",
)
