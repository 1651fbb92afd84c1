"""Arithmetic: neg, add, sub and mul.

Laws that change the sign of a zero are not applied to complex numbers: it says on which side of a branch cut they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.ir.node import LITERAL, Node, Trace, is_literal, literal_value
from primad.ops.arrays.broadcasting import broadcast, sum
from primad.ops.arrays.generators import eye, identity
from primad.ops.arrays.slicing import concatenate, pad
from primad.ops.elementwise.literals import Inputs, Params, is_ordinary, may_round, of_literals
from primad.ops.record.fields import CHEAP, SAME, Law, Outermost, Rewrite
from primad.ops.record.kinds import linear, multilinear
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, apply

__all__ = ["add", "mul", "neg", "sub"]


def _commute(op: Callable[[], Any]) -> Callable[[Trace, Inputs, Params], Node | None]:
    """x∘y is y∘x where y∘x exists already; the order first written is kept, so that programs print as written."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        x, y = inputs
        newest = trace.size - 1  # of which nothing has been made yet
        if (x.index == newest and x.trace is trace) or (y.index == newest and y.trace is trace):
            return None
        return trace.existing(op(), (y, x))

    return rewrite


def _scaled(node: Node) -> tuple[float, Node]:
    """Split c·x into (c, x)."""
    if node.op is mul and node.inputs[0].op is LITERAL:
        return literal_value(node.inputs[0]), node.inputs[1]
    if node.op is mul and node.inputs[1].op is LITERAL:
        return literal_value(node.inputs[1]), node.inputs[0]
    return 1.0, node


def _times(trace: Trace, factor: float, x: Node) -> Node:
    return apply(trace, mul, trace.literal(factor, x.type), x)


def _like_terms(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    """Add multiples of one sign; those of opposite signs are NaN together where x is infinite."""
    (a, x), (b, y) = _scaled(inputs[0]), _scaled(inputs[1])
    if x is not y or not x.type.is_float or a * b <= 0 or not is_ordinary(a + b, x.type):
        return None
    return _times(trace, a + b, x) if may_round(np.add, a, b, a + b) else None


# -- neg, add, sub -----------------------------------------------------------------------------------------------------


def _neg_law(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (x,) = inputs
    if x.op is neg:
        return x.inputs[0]
    if x.op is LITERAL:
        with np.errstate(all="ignore"):  # integers wrap
            return trace.literal(np.negative(x.type.dtype.type(literal_value(x))).item(), x.type)
    return None


def _neg_sub(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    (x,) = inputs
    return apply(trace, sub, x.inputs[1], x.inputs[0]) if x.op is sub else None


def _leave_sum(op: Primitive, operands: Sequence[Any]) -> Rewrite | None:
    """A sum of −x is −sum of x, of real numbers: where all terms are 0 it has the other sign."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        if inputs[0].type.is_complex:
            return None
        return apply(trace, neg, apply(trace, op, inputs[0].inputs[0], **params))

    return rewrite if op is sum else None


neg: Primitive = linear(
    "neg",
    outermost=Outermost(2, _leave_sum),
    numpy=np.negative,
    infer=same_type,
    transpose=[lambda ct, x: -ct],
    work=CHEAP,
    doc="−x.",
    laws=[
        Law(
            "−(−x) = x; −literal is a literal",
            "bitwise",
            lambda x: (neg(neg(x)), x),
            ((3,),),
            _neg_law,
            ("neg", "literal"),
            complex="bitwise",
        ),
        Law(
            "−(x − y) = y − x",
            "real",
            lambda x, y: (neg(sub(x, y)), sub(y, x)),
            ((3,), (3,)),
            _neg_sub,
            ("sub",),
        ),
    ],
)


def _add_zero(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    if is_literal(y, 0) or is_literal(y, -0.0):
        return x
    return y if is_literal(x, 0) or is_literal(x, -0.0) else None


def _without_sign(trace: Trace, x: Node) -> Node | None:
    """Return y where x is −y or a broadcast of −y, else None."""
    if x.op is neg:
        return x.inputs[0]
    if x.op is broadcast and x.inputs[0].op is neg:
        return apply(trace, x.op, x.inputs[0].inputs[0], **dict(x.params))
    return None


def _add_neg(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    minus = _without_sign(trace, y)
    return apply(trace, sub, x, minus) if minus is not None else None


def _neg_add(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    minus = _without_sign(trace, x)
    return apply(trace, sub, y, minus) if minus is not None else None


def _add_pads(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    """Arrays that stand side by side among zeros are joined: the gradients of slices become one array, not a sum."""
    x, y = inputs
    if x.op is not pad or y.op is not pad:
        return None
    wide, other = dict(x.params), dict(y.params)
    if wide == other:
        return apply(trace, pad, apply(trace, add, x.inputs[0], y.inputs[0]), **wide)
    padded = [axis for axis in range(x.type.ndim) if any(p[key][axis] for p in (wide, other) for key in p)]
    if len(padded) != 1 or any(wide["interior"]) or any(other["interior"]):
        return None
    (axis,) = padded
    if wide["low"][axis] > other["low"][axis]:
        x, y, wide, other = y, x, other, wide
    if wide["low"][axis] + x.inputs[0].type.shape[axis] != other["low"][axis]:
        return None
    joined = apply(trace, concatenate, x.inputs[0], y.inputs[0], axis=axis)
    return apply(trace, pad, joined, low=wide["low"], high=other["high"], interior=wide["interior"])


def _add_third_pad(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    """What stands beside a term of a sum among zeros joins that: the gradient of a roll is a roll, added once."""
    for total, last in (inputs, inputs[::-1]):
        for other, term in (total.inputs, total.inputs[::-1]) if total.op is add and last.op is pad else ():
            joined = _add_pads(trace, (term, last), {})
            if joined is not None:
                return apply(trace, add, other, joined)
    return None


add: Primitive = linear(
    "add",
    numpy=np.add,
    infer=same_type,
    transpose=[lambda ct, x, y: ct, lambda ct, x, y: ct],
    operands=None,
    work=CHEAP,
    doc="x + y.",
    laws=[
        of_literals("literals add up", lambda: add, np.add, 2, 3, 5),
        Law("x + 0 = x", "real", lambda x: (add(x, 0.0), x), ((3,),), _add_zero, ("literal",)),
        Law(
            "x + y = y + x",
            "bitwise",
            lambda x, y: (add(x, y), add(y, x)),
            ((3,), (3,)),
            _commute(lambda: add),
            complex="bitwise",
        ),
        Law(
            "x + (−y) = x − y",
            "bitwise",
            lambda x, y: (add(x, neg(y)), sub(x, y)),
            ((3,), (3,)),
            _add_neg,
            ("neg", "broadcast"),
            complex="bitwise",
        ),
        Law(
            "(−x) + y = y − x",
            "bitwise",
            lambda x, y: (add(neg(x), y), sub(y, x)),
            ((3,), (3,)),
            _neg_add,
            ("neg", "broadcast"),
            complex="bitwise",
        ),
        Law(
            "like terms: a·x + b·x = (a + b)·x",
            "real",
            lambda x: (add(2.0 * x, x), 3.0 * x),
            ((3,),),
            _like_terms,
            ("mul", SAME),
        ),
        Law(
            "arrays side by side among zeros are joined",
            "real",
            lambda x, y: (
                add(pad(x, low=(0,), high=(2,), interior=(0,)), pad(y, low=(3,), high=(0,), interior=(0,))),
                concatenate(x, y, axis=0),
            ),
            ((3,), (2,)),
            _add_pads,
            ("pad",),
            complex="real",
        ),
        Law(
            "terms side by side among zeros are joined",
            "real",
            lambda x, y, z: (
                add(
                    add(z, pad(x, low=(0,), high=(2,), interior=(0,))),
                    pad(y, low=(3,), high=(0,), interior=(0,)),
                ),
                add(z, concatenate(x, y, axis=0)),
            ),
            ((3,), (2,), (5,)),
            _add_third_pad,
            ("pad",),
            complex="real",
        ),
    ],
)


def _sub_zero(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    return inputs[0] if is_literal(inputs[1], 0) else None


def _zero_sub(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    return apply(trace, neg, inputs[1]) if is_literal(inputs[0], 0) else None


def _sub_neg(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    minus = _without_sign(trace, y)
    return apply(trace, add, x, minus) if minus is not None else None


def _neg_minus(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    return apply(trace, neg, apply(trace, add, x.inputs[0], y)) if x.op is neg else None


sub: Primitive = linear(
    "sub",
    numpy=np.subtract,
    infer=same_type,
    transpose=[lambda ct, x, y: ct, lambda ct, x, y: -ct],
    operands=None,
    work=CHEAP,
    doc="x − y.",
    laws=[
        of_literals("literals subtract", lambda: sub, np.subtract, 2, 3, -1),
        Law("x − 0 = x", "bitwise", lambda x: (sub(x, 0.0), x), ((3,),), _sub_zero, ("literal",), complex="bitwise"),
        Law("0 − x = −x", "real", lambda x: (sub(0.0, x), neg(x)), ((3,),), _zero_sub, ("literal",)),
        Law(
            "x − (−y) = x + y",
            "bitwise",
            lambda x, y: (sub(x, neg(y)), add(x, y)),
            ((3,), (3,)),
            _sub_neg,
            ("neg", "broadcast"),
            complex="bitwise",
        ),
        Law(
            "(−x) − y = −(x + y)",
            "real",
            lambda x, y: (sub(neg(x), y), neg(add(x, y))),
            ((3,), (3,)),
            _neg_minus,
            ("neg",),
        ),
    ],
)


# -- mul, div ----------------------------------------------------------------------------------------------------------


def _mul_one(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    for k in (1, 0):
        if inputs[k].op is LITERAL:
            value = literal_value(inputs[k])
            if value == 1:
                return inputs[1 - k]
            if value == -1:
                return apply(trace, neg, inputs[1 - k])
    return None


def _mul_neg(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    minus = _without_sign(trace, x)
    if minus is not None:
        return apply(trace, neg, apply(trace, mul, minus, y))
    minus = _without_sign(trace, y)
    return apply(trace, neg, apply(trace, mul, x, minus)) if minus is not None else None


def _mul_literals(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    for x, y in (inputs, inputs[::-1]):
        if x.op is LITERAL and y.type.is_float:
            factor, rest = _scaled(y)
            number = literal_value(x)
            folds = rest is not y and is_ordinary(number * factor, rest.type)
            if folds and may_round(np.multiply, number, factor, number * factor):
                return _times(trace, number * factor, rest)
    return None


def _mul_identities(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    for x, y in (inputs, inputs[::-1]):
        if y.op is eye and (x is y or (x.op is mul and y in x.inputs)):
            return x
    return None


mul: Primitive = multilinear(
    "mul",
    numpy=np.multiply,
    infer=same_type,
    transpose=[lambda ct, x, y: ct * y, lambda ct, x, y: x * ct],
    work=CHEAP,
    doc="x · y.",
    laws=[
        Law(
            "the identity times itself is itself, element by element",
            "bitwise",
            lambda x: (mul(mul(x, identity(x, 3)), identity(x, 3)), mul(x, identity(x, 3))),
            ((3, 3),),
            _mul_identities,
            ("eye",),
        ),
        of_literals("literals multiply", lambda: mul, np.multiply, 2, 3, 6),
        Law("x · 1 = x, x · (−1) = −x", "bitwise", lambda x: (mul(x, 1.0), x), ((3,),), _mul_one, ("literal",)),
        Law(
            "x · y = y · x",
            "bitwise",
            lambda x, y: (mul(x, y), mul(y, x)),
            ((3,), (3,)),
            _commute(lambda: mul),
            complex="real",
        ),
        Law(
            "(−x) · y = −(x · y)",
            "bitwise",
            lambda x, y: (mul(neg(x), y), neg(mul(x, y))),
            ((3,), (3,)),
            _mul_neg,
            ("neg", "broadcast"),
        ),
        Law(
            "a · (b · x) = (a · b) · x",
            "real",
            lambda x: (mul(2.0, mul(3.0, x)), mul(6.0, x)),
            ((3,),),
            _mul_literals,
            ("literal",),
            only=("literal", "mul"),
        ),
    ],
)
