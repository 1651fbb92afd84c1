"""Laws that belong to no single op, with the statements that `primad.verify` proves.

The first families are applied by constructors, as the ops that are kept outermost say
(`primad.ops.record.fields.Outermost`), or views whose operands have laws for being consumed, the second, in
`direction_laws`, by the pass that moves sums over directions towards the inputs (`primad.simplify.collapse`), the third
by that for sums of derivatives (`primad.simplify.factor_linear`), the fourth to programs about to be planned
(`primad.simplify.outer_products`), the fifth to these and to programs about to be differentiated
(`primad.simplify.slice_pushdown`), the sixth to what is planned, last of all (`primad.simplify.like_terms`),
the seventh to what is planned, as soon as it is lowered (`primad.simplify.transformed_sums`), the eighth after what is
not read is gone (`primad.simplify.axis_orders`), and the ninth behind it (`primad.simplify.scattered_sums`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from primad import ops
from primad.ops.arrays.frequency_pairs import hermitian_ends
from primad.ops.record.fields import Law
from primad.ops.record.primitive import full
from primad.simplify.direction_laws import COLLAPSE, total, wide

_OUTERMOST = (
    Law(
        "a broadcast is outermost: pointwise ops of two operands",
        "bitwise",
        lambda x, y: (ops.mul(wide(x), wide(y)), wide(ops.mul(x, y))),
        ((3,), (3,)),
    ),
    Law(
        "a broadcast is outermost: along the axes that are new in both operands",
        "bitwise",
        lambda x, y: (
            ops.sub(ops.broadcast(x, shape=(4, 2, 3), axes=(0, 1)), ops.broadcast(y, shape=(4, 2, 3), axes=(0,))),
            ops.broadcast(ops.sub(ops.broadcast(x, shape=(2, 3), axes=(0,)), y), shape=(4, 2, 3), axes=(0,)),
        ),
        ((3,), (2, 3)),
    ),
    Law(
        "a broadcast is outermost: with a literal",
        "bitwise",
        lambda x: (ops.add(wide(x), 2.0), wide(ops.add(x, 2.0))),
        ((3,),),
    ),
    Law(
        "a broadcast is outermost: select",
        "bitwise",
        lambda c, x, y: (ops.select(wide(c > 0), wide(x), wide(y)), wide(ops.select(c > 0, x, y))),
        ((3,), (3,), (3,)),
    ),
    Law(
        "a sign is outermost: sum",
        "real",
        lambda x: (ops.sum(-x, axes=(0,)), -ops.sum(x, axes=(0,))),
        ((2, 3),),
    ),
    Law(
        "a mask is outermost: pointwise ops, in an operand in which they are linear",
        "finite",
        lambda c, x, y: (ops.mul(ops.mask(c > 0, x), y), ops.mask(c > 0, ops.mul(x, y))),
        ((3,), (3,), (3,)),
    ),
    Law(
        "a mask is outermost: quotients",
        "finite",
        lambda c, x, y: (ops.div(ops.mask(c > 0, x), y), ops.mask(c > 0, ops.div(x, y))),
        ((3,), (3,), (3,)),
    ),
    Law(
        "a mask is outermost: pointwise ops, in operands in which they are linear together",
        "bitwise",
        lambda c, x, y: (ops.sub(ops.mask(c > 0, x), ops.mask(c > 0, y)), ops.mask(c > 0, ops.sub(x, y))),
        ((3,), (3,), (3,)),
    ),
    Law(
        "a mask is outermost: signs",
        "real",
        lambda c, x: (ops.neg(ops.mask(c > 0, x)), ops.mask(c > 0, ops.neg(x))),
        ((3,), (3,)),
    ),
    Law(
        "a mask is outermost: reshape",
        "bitwise",
        lambda c, x: (
            ops.reshape(ops.mask(c > 0, x), shape=(6,)),
            ops.mask(ops.reshape(c > 0, shape=(6,)), ops.reshape(x, shape=(6,))),
        ),
        ((2, 3), (2, 3)),
    ),
    Law(
        "a mask is outermost: permute",
        "bitwise",
        lambda c, x: (
            ops.permute(ops.mask(c > 0, x), order=(1, 0)),
            ops.mask(ops.permute(c > 0, order=(1, 0)), ops.permute(x, order=(1, 0))),
        ),
        ((2, 3), (2, 3)),
    ),
    Law(
        "a mask is outermost: broadcast",
        "bitwise",
        lambda c, x: (wide(ops.mask(c > 0, x)), ops.mask(wide(c > 0), wide(x))),
        ((3,), (3,)),
    ),
)


def _seen(x: Any) -> Any:
    return ops.slice_(x, start=(0,), stop=(2,), step=(1,))


def _squared(x: Any) -> Any:
    """Convolve an array with itself."""
    there = {"axes": (0,), "norm": "backward"}
    z = ops.fft(ops.cast(x, dtype="complex128"), inverse=False, **there)
    return ops.fft(ops.mul(z, z), inverse=True, **there)


_SEEN = (
    Law(
        "what is seen of a value is consumed as the value is: squares of lengths",
        "real",
        lambda x, y: (
            ops.mul(_seen(ops.hypot(x, y)), _seen(ops.hypot(x, y))),
            _seen(ops.add(ops.mul(x, x), ops.mul(y, y))),
        ),
        ((3,), (3,)),
    ),
    Law(
        "what is seen of a value is consumed as the value is: real parts",
        "real",
        lambda x: (ops.real_part(_seen(_squared(x))), _seen(ops.real_part(_squared(x)))),
        ((4,),),
    ),
)

_PLANNED = (
    Law(
        "a contraction over axes of length 1 is a product of broadcasts",
        "real",
        lambda x, y: (
            ops.contract(x, y, labels="ab,cb->ac"),
            ops.mul(
                ops.broadcast(ops.reshape(x, shape=(3,)), shape=(3, 2), axes=(1,)),
                ops.broadcast(ops.reshape(y, shape=(2,)), shape=(3, 2), axes=(0,)),
            ),
        ),
        ((3, 1), (2, 1)),
    ),
    Law(
        "a contraction over no axis is a product of broadcasts",
        "real",
        lambda x, y: (
            ops.contract(x, y, labels="ab,ac->cab"),
            ops.mul(
                ops.broadcast(x, shape=(2, 4, 3), axes=(0,)),
                ops.broadcast(ops.permute(y, order=(1, 0)), shape=(2, 4, 3), axes=(2,)),
            ),
        ),
        ((4, 3), (4, 2)),
    ),
)

_GATHER = (
    Law(
        "a sum of products with the same factor is the product with the sum",
        "real",
        lambda x, y, z: (ops.add(ops.mul(x, z), ops.mul(z, y)), ops.mul(ops.add(x, y), z)),
        ((3,), (3,), (3,)),
    ),
    Law(
        "a difference of quotients by the same value is the quotient of the difference",
        "real",
        lambda x, y, z: (ops.sub(ops.div(x, z), ops.div(y, z)), ops.div(ops.sub(x, y), z)),
        ((3,), (3,), (3,)),
    ),
    Law(
        "a sum of contractions with the same array is the contraction with the sum",
        "real",
        lambda x, y, z: (
            ops.add(ops.contract(x, z, labels="ab,bc->ac"), ops.contract(y, z, labels="ab,bc->ac")),
            ops.contract(ops.add(x, y), z, labels="ab,bc->ac"),
        ),
        ((2, 3), (2, 3), (3, 2)),
    ),
    Law(
        "a sum of equal views is the view of the sum",
        "real",
        lambda x, y: (ops.add(total(x), total(y)), total(ops.add(x, y))),
        ((2, 3), (2, 3)),
    ),
    Law(
        "a multiple of a linear op in a sum is the op of the multiple",
        "real",
        lambda x, y, z: (
            ops.add(ops.mul(total(x), ops.broadcast(z, shape=(3,), axes=(0,))), total(y)),
            total(ops.add(ops.mul(x, ops.broadcast(z, shape=(2, 3), axes=(0, 1))), y)),
        ),
        ((2, 3), (2, 3), ()),
    ),
)


def _rows(x: Any, axis: int = 0) -> Any:
    return ops.gather(x, np.array([5, -3]), axis=axis, batch=0)


def _window(x: Any) -> Any:
    rest = x.ndim - 1
    return ops.slice_(x, start=(1, *[0] * rest), stop=(6, *x.shape[1:]), step=(2, *[1] * rest))


_TAKING = (
    Law(
        "rows are taken early: pointwise ops",
        "bitwise",
        lambda x, y: (_rows(ops.mul(x, y)), ops.mul(_rows(x), _rows(y))),
        ((8, 2), (8, 2)),
    ),
    Law(
        "rows are taken early: what is the same along other axes",
        "bitwise",
        lambda x: (
            _rows(ops.neg(ops.permute(x, order=(1, 0)))),
            ops.neg(ops.permute(_rows(x, 1), order=(1, 0))),
        ),
        ((2, 8),),
    ),
    Law(
        "rows are taken early: sums over other axes",
        "real",
        lambda x: (_rows(ops.sum(x, axes=(1,))), ops.sum(_rows(x), axes=(1,))),
        ((8, 3),),
    ),
    Law(
        "rows are taken early: products",
        "real",
        lambda x, y: (
            _rows(ops.contract(x, y, labels="ab,bc->ac")),
            ops.contract(_rows(x), y, labels="ab,bc->ac"),
        ),
        ((8, 3), (3, 2)),
    ),
    Law(
        "rows are taken early: products for each row",
        "real",
        lambda x, y: (
            _rows(ops.contract(x, y, labels="ab,abc->ac")),
            ops.contract(_rows(x), _rows(y), labels="ab,abc->ac"),
        ),
        ((8, 3), (8, 3, 2)),
    ),
    Law(
        "a slice is taken early: pointwise ops",
        "bitwise",
        lambda x, y: (_window(ops.sub(x, y)), ops.sub(_window(x), _window(y))),
        ((12,), (12,)),
    ),
    Law(
        "a slice is taken early: products",
        "real",
        lambda x, y: (
            _window(ops.contract(x, y, labels="ab,cb->ac")),
            ops.contract(_window(x), y, labels="ab,cb->ac"),
        ),
        ((12, 3), (2, 3)),
    ),
)


def _turned(x: Any) -> Any:
    return ops.permute(x, order=(1, 0))


_LATE = (
    Law(
        "a permutation is taken late: pointwise ops",
        "bitwise",
        lambda x, y: (ops.hypot(_turned(x), _turned(y)), _turned(ops.hypot(x, y))),
        ((3, 2), (3, 2)),
    ),
    Law(
        "a permutation is taken late: parts, put together again",
        "bitwise",
        lambda x, y: (
            _turned(ops.concatenate(ops.flip(_window(_turned(x)), axes=(0,)), _turned(y), axis=1)),
            ops.concatenate(ops.flip(_turned(_window(_turned(x))), axes=(1,)), y, axis=0),
        ),
        ((2, 12), (4, 3)),
    ),
    Law(
        "a permutation is taken late: sums",
        "real",
        lambda x, y: (ops.sum(ops.mul(_turned(x), _turned(y)), axes=(0,)), ops.sum(ops.mul(x, y), axes=(1,))),
        ((3, 2), (3, 2)),
    ),
)

_TERMS = (
    Law(
        "each term of a sum is added once: sums of sums",
        "real",
        lambda x, y, z: (ops.add(ops.add(x, y), ops.add(y, z)), ops.add(ops.add(x, z), ops.mul(2.0, y))),
        ((3,), (3,), (3,)),
    ),
    Law(
        "each term of a sum is added once: equal factors multiply once",
        "real",
        lambda x, y: (ops.add(ops.mul(3.0, x), ops.mul(3.0, y)), ops.mul(3.0, ops.add(x, y))),
        ((3,), (3,)),
    ),
)

_THERE = MappingProxyType({"axes": (0,), "inverse": False, "norm": "forward"})
_BACK = MappingProxyType({"axes": (0,), "inverse": True, "norm": "forward"})


def _half(x: Any) -> Any:
    return ops.rfft(x, axis=1, norm="backward")


_TRANSFORMED = (
    Law(
        "a transform of a sum leaves the term that was transformed back: all frequencies",
        "finite",
        lambda x, y: (
            ops.fft(ops.sub(ops.fft(ops.complex_of(x, y), **_BACK), ops.complex_of(y, x)), **_THERE),
            ops.sub(ops.complex_of(x, y), ops.fft(ops.complex_of(y, x), **_THERE)),
        ),
        ((3,), (3,)),
    ),
    Law(
        "a transform of a sum leaves the term that was transformed back: to real numbers",
        "finite",
        lambda x, y, z: (
            ops.irfft(ops.add(ops.complex_of(x, y), _half(z)), axis=1, n=3, norm="backward"),
            ops.add(z, ops.irfft(ops.complex_of(x, y), axis=1, n=3, norm="backward")),
        ),
        ((2, 2), (2, 2), (2, 3)),
    ),
    Law(
        "a transform of a sum leaves the term that was transformed back: of real numbers along two axes",
        "finite",
        lambda x, y, z: (
            ops.fft(
                _half(
                    ops.add(
                        ops.neg(z),
                        ops.mul(2.0, ops.irfft(ops.fft(ops.complex_of(x, y), **_BACK), axis=1, n=2, norm="backward")),
                    )
                ),
                **{**_THERE, "norm": "backward"},
            ),
            ops.sub(
                ops.mul(full(6.0, ops.complex_of(x, y)), hermitian_ends(ops.complex_of(x, y), axis=1, n=2, axes=(0,))),
                ops.fft(_half(z), **{**_THERE, "norm": "backward"}),
            ),
        ),
        ((3, 2), (3, 2), (3, 2)),
    ),
)

_PLACED = (
    Law(
        "short parts of a sum are added at their places",
        "real",
        lambda x, y: (
            ops.pad(x, low=(1,), high=(16,), interior=(1,)) + ops.pad(y, low=(3,), high=(15,), interior=(0,)),
            ops.scatter_add(ops.concatenate(x, y, axis=0), np.array([1, 3, 3, 4]), axis=0, batch=0, size=20),
        ),
        ((2,), (2,)),
        complex="real",
    ),
)
PASS_LAWS = (*_OUTERMOST, *_SEEN, *COLLAPSE, *_GATHER, *_PLANNED, *_TAKING, *_LATE, *_PLACED, *_TERMS, *_TRANSFORMED)
