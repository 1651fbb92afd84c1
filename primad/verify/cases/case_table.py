"""The table of cases: every primitive and composite, and what it is tried on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from primad import nn, ops
from primad import numpy as pnp
from primad.ir.array_types import ArrayType
from primad.ops.arrays.contraction import letters
from primad.ops.record.primitive import Primitive
from primad.verify.cases.complex_cases import COMPLEX_CASES
from primad.verify.cases.definitions import MEANINGS
from primad.verify.cases.drawn_cases import (
    ANY,
    POSITIVE,
    Case,
    Choices,
    Example,
    Operand,
    booleans,
    floats,
    integers,
    pointwise,
    shape,
)
from primad.verify.cases.loop_cases import LOOP_CASES
from primad.verify.cases.matrix_cases import FACTORIZATION_CASES
from primad.verify.cases.network_cases import NETWORK_EXAMPLES
from primad.verify.cases.program_cases import PROGRAM_OP_CASES
from primad.verify.cases.special_cases import SPECIAL_CASES
from primad.verify.cases.window_cases import SLIDING_CASES

SMALL = ((2,), (3,), (2, 2), (2, 3))


def _power(choose: Choices) -> Example:
    common = choose.among(((2, 2), (2,), ()))
    base = floats(common, 0.125, 3.0)
    kind = choose.integer(0, 2)
    if kind == 0:
        return Example((base, floats(common, -2.0, 2.0)))
    if kind == 1:
        exponent = choose.among((0.5, 2.5, -1.5, 4.0, -2.0))
        return Example((base, Operand(base.type, literal=exponent)))
    return Example((floats(common, -3.0, 3.0), Operand(base.type, literal=choose.among((4.0, 5.0, -2.0, -3.0)))))


def _select(choose: Choices) -> Example:
    common = shape(choose, 0, 2)
    return Example((booleans(choose, common), floats(common), floats(common)))


def _mask(choose: Choices) -> Example:
    common = shape(choose, 0, 2)
    return Example((booleans(choose, common), floats(common)))


def _defined(choose: Choices) -> Example:
    """Everything is defined: a map to NaN, elsewhere, is not linear."""
    common = shape(choose, 0, 2)
    return Example((Operand(ArrayType(common, np.bool_), array=np.ones(common, bool)), floats(common)))


def _logical(arity: int) -> Any:
    def draw(choose: Choices) -> Example:
        common = choose.among(((2, 2), (2, 3), (2,), ()))
        return Example(tuple(booleans(choose, common) for _ in range(arity)))

    return draw


def _shift(choose: Choices) -> Example:
    common = choose.among(((2, 2), (2, 3), (2,), ()))
    return Example((integers(choose, common, -100, 100), integers(choose, common, 0, 70)))


def _eye(choose: Choices) -> Example:
    return Example((), {"n": choose.integer(2, 4), "dtype": "float64"})


def _broadcast(choose: Choices) -> Example:
    wide = tuple(choose.among((0, 1, 2, 3)) for _ in range(choose.integer(1, 3)))
    axes = _axes(choose, len(wide))
    inner = tuple(n for axis, n in enumerate(wide) if axis not in axes)
    return Example((floats(inner),), {"shape": wide, "axes": axes})


def _axes(choose: Choices, ndim: int, least: int = 1) -> tuple[int, ...]:
    flags = [choose.integer(0, 1) for _ in range(ndim)]
    if sum(flags) < least:
        flags[choose.integer(0, ndim - 1)] = 1
    return tuple(axis for axis, on in enumerate(flags) if on)


def _reduction(least: int = 1, **params: Any) -> Any:
    def draw(choose: Choices) -> Example:
        common = choose.among(SMALL)
        return Example((floats(common),), {"axes": _axes(choose, len(common), least), **params})

    return draw


def _draw_sum(choose: Choices) -> Example:
    """Among others all of a square matrix: the identity adds up; and no terms at all."""
    if choose.integer(0, 1):
        return Example((floats(choose.among(((2, 2), (2, 2), (0, 2)))),), {"axes": (0, 1)})
    drawn: Example = _reduction(0)(choose)
    return drawn


def _along(choose: Choices) -> Example:
    common = choose.among(SMALL)
    return Example((floats(common),), {"axis": choose.integer(0, len(common) - 1)})


def _cumsum(choose: Choices) -> Example:
    example = _along(choose)
    return Example(example.operands, {**example.params, "reverse": choose.among((False, True))})


def _reshape(choose: Choices) -> Example:
    before, after = choose.among(
        (((2, 3), (3, 2)), ((6,), (2, 3)), ((2, 3, 2), (2, 6)), ((2, 3, 2), (6, 2)), ((1, 3), (3,)), ((), (1, 1)))
    )
    return Example((floats(before),), {"shape": after})


def _permute(choose: Choices) -> Example:
    ndim = choose.integer(2, 3)
    rest = list(range(ndim))
    order = [rest.pop(choose.integer(0, len(rest) - 1)) for _ in range(ndim)]
    if order == sorted(order):
        order.reverse()
    return Example((floats(shape(choose, ndim, ndim)),), {"order": tuple(order)})


def _slice(choose: Choices) -> Example:
    common = tuple(choose.integer(2, 5) for _ in range(choose.integer(1, 2)))
    start = tuple(choose.integer(0, 1) for _ in common)
    stop = tuple(choose.integer(a, n) for a, n in zip(start, common, strict=True))
    step = tuple(choose.integer(1, 2) for _ in common)
    if choose.integer(0, 3) == 0:  # all of it
        start, stop, step = (0,) * len(common), common, (1,) * len(common)
    return Example((floats(common),), {"start": start, "stop": stop, "step": step})


def _pad(choose: Choices) -> Example:
    common = tuple(choose.integer(0, 3) for _ in range(choose.integer(1, 2)))
    widths = [choose.among(((0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 2, 0), (1, 2, 2), (2, 1, 0))) for _ in common]
    low, high, interior = zip(*widths, strict=True)
    return Example((floats(common),), {"low": low, "high": high, "interior": interior})


def _concatenate(choose: Choices) -> Example:
    ndim = choose.integer(1, 2)
    axis = choose.integer(0, ndim - 1)
    rest = shape(choose, ndim, ndim)
    count = choose.integer(1, 3)
    parts = [tuple(choose.integer(0, 2) if i == axis else n for i, n in enumerate(rest)) for _ in range(count)]
    return Example(tuple(floats(part) for part in parts), {"axis": axis})


def _flip(choose: Choices) -> Example:
    common = tuple(choose.integer(2, 3) for _ in range(choose.integer(1, 2)))
    return Example((floats(common),), {"axes": _axes(choose, len(common))})


def _gather(choose: Choices) -> Example:
    batch = choose.integer(0, 1)
    lead = (2,) * batch
    n = choose.integer(2, 3)
    before = shape(choose, 0, 1, 2)
    x = (*lead, *before, n, *shape(choose, 0, 1, 2))
    indices = integers(choose, (*lead, *shape(choose, 0, 2, 2)), 0, n - 1)
    return Example((floats(x), indices), {"axis": batch + len(before), "batch": batch})


def _scatter_add(choose: Choices) -> Example:
    example = _gather(choose)
    x, indices = example.operands
    axis, batch = example.params["axis"], example.params["batch"]
    updates = x.type.shape[:axis] + indices.type.shape[batch:] + x.type.shape[axis + 1 :]
    return Example((floats(updates), indices), {**example.params, "size": x.type.shape[axis]})


CONTRACTIONS = (
    "ab,bc->ac",
    "ab,ab->",
    "a,b->ab",
    "ab,ab->a",
    "abc,adc->adb",
    "ab,cb->ca",
    "a,a->a",
    "abc,cb->a",
    "ab,ab->ab",
)


def _labels(choose: Choices) -> str:
    """Draw labels of any form: what two arrays have in common stays or is summed over, in any order."""
    left, rest = "ab"[: choose.integer(1, 2)], list("abc")
    right = "".join(rest.pop(choose.integer(0, len(rest) - 1)) for _ in range(choose.integer(1, 2)))
    common, kept, out = set(left) & set(right), "", ""
    for letter in sorted({*left, *right}):
        kept += letter if letter not in common or choose.integer(0, 1) else ""
    while kept:
        out += (letter := choose.among(kept))
        kept = kept.replace(letter, "")
    return letters(left, right, out)


def _contract(choose: Choices) -> Example:
    labels = _labels(choose) if choose.integer(0, 1) else choose.among(CONTRACTIONS)
    left, right = labels.split("->")[0].split(",")
    most = choose.among((1, 2, 2))
    length = {letter: choose.integer(most // 2 + 1, 2) for letter in left + right}
    return Example(
        tuple(floats(tuple(length[letter] for letter in part)) for part in (left, right)), {"labels": labels}
    )


def _matmul(choose: Choices) -> Example:
    left, right = choose.among((((2, 3), (3, 2)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 2), (2, 2)), ((3,), (3,))))
    return Example((floats(left), floats(right)))


def _outer(choose: Choices) -> Example:
    return Example((floats((2,)), floats((choose.integer(1, 3),))))


def _diagonal(choose: Choices) -> Example:
    common, axis1, axis2 = choose.among((((2, 3), 0, 1), ((3, 2), 1, 0), ((2, 2, 3), 0, 2), ((2, 2, 2), 1, 2)))
    return Example((floats(common),), {"axis1": axis1, "axis2": axis2})


def _diag(choose: Choices) -> Example:
    return Example((floats((choose.integer(1, 3),)),), {"k": choose.integer(-1, 1)})


def _variance(choose: Choices) -> Example:
    return _reduction(ddof=choose.integer(0, 1))(choose)  # type: ignore[no-any-return]


def _truncate(choose: Choices) -> Example:
    return Example((floats(shape(choose, 0, 2)),), {"dtype": choose.among(("int64", "bool"))})


def _cast(choose: Choices) -> Example:
    source, target = choose.among((("float64", "float32"), ("float32", "float64")))
    return Example((Operand(ArrayType(choose.among(((2, 2), (2, 3), (2,), ())), np.dtype(source))),), {"dtype": target})


def _draw(choose: Choices) -> Example:
    block = shape(choose, 0, 2, 3)
    dtype = choose.among(("float64", "float32", "int64"))
    return Example((integers(choose, shape(choose, 0, 1, 2), -3, 2**20),), {"shape": block, "dtype": dtype})


PRIMITIVES: dict[Primitive, Any] = {
    ops.neg: pointwise(ANY),
    ops.add: pointwise(ANY, ANY, shapes=((2, 2), (4,), (3, 2), ())),
    ops.sub: pointwise(ANY, ANY),
    ops.mul: pointwise(ANY, ANY),
    ops.div: pointwise(ANY, ANY),
    ops.power: _power,
    ops.abs: pointwise(ANY),
    ops.maximum: pointwise(ANY, ANY),
    ops.minimum: pointwise(ANY, ANY),
    ops.exp: pointwise(ANY),
    ops.expm1: pointwise(ANY),
    ops.log: pointwise(POSITIVE),
    ops.exp2: pointwise(ANY),
    ops.log2: pointwise(POSITIVE),
    ops.log10: pointwise(POSITIVE),
    ops.log1p: pointwise((-0.875, 3.0)),
    ops.sqrt: pointwise(POSITIVE),
    ops.sin: pointwise(ANY),
    ops.cos: pointwise(ANY),
    ops.tan: pointwise((-1.25, 1.25)),
    ops.sinh: pointwise(ANY),
    ops.cosh: pointwise(ANY),
    ops.tanh: pointwise(ANY),
    ops.sech2: pointwise(ANY),
    ops.arctan: pointwise(ANY),
    ops.hypot: pointwise(ANY, ANY),
    ops.arctan2: pointwise(ANY, ANY),
    ops.direction: pointwise(ANY, ANY),
    ops.erf: pointwise(ANY),
    ops.erfc: pointwise(ANY),
    ops.ndtr: pointwise(ANY),
    ops.arcsin: pointwise((-0.875, 0.875)),
    ops.arccos: pointwise((-0.875, 0.875)),
    ops.arcsinh: pointwise(ANY),
    ops.arccosh: pointwise((2.5, 6.0), shapes=SMALL),
    ops.arctanh: pointwise((-0.875, 0.875)),
    ops.leg: pointwise((-0.875, 0.875)),
    ops.cbrt: pointwise(POSITIVE),
    ops.logistic: pointwise(ANY),
    ops.softplus: pointwise(ANY),
    ops.sign: pointwise(ANY),
    ops.floor: pointwise(ANY),
    ops.floor_divide: pointwise(ANY, ANY),
    ops.remainder: pointwise(ANY, ANY),
    ops.fmod: pointwise(ANY, ANY),
    ops.less: pointwise(ANY, ANY),
    ops.less_equal: pointwise(ANY, ANY),
    ops.equal: pointwise(ANY, ANY),
    ops.logical_and: _logical(2),
    ops.logical_or: _logical(2),
    ops.logical_not: _logical(1),
    ops.left_shift: _shift,
    ops.right_shift: _shift,
    ops.stop_gradient: pointwise(ANY),
    ops.truncate: _truncate,
    ops.argsort: _along,
    ops.eye: _eye,
    ops.iota: _eye,
    ops.draw: _draw,
    ops.select: _select,
    ops.mask: _mask,
    ops.defined_where: _defined,
    ops.broadcast: _broadcast,
    ops.sum: _draw_sum,
    ops.reshape: _reshape,
    ops.permute: _permute,
    ops.slice_: _slice,
    ops.pad: _pad,
    ops.concatenate: _concatenate,
    ops.flip: _flip,
    ops.cast: _cast,
    ops.barrier: pointwise(ANY),
    ops.cumsum: _cumsum,
    ops.gather: _gather,
    ops.scatter_add: _scatter_add,
    ops.contract: _contract,
    ops.reduce_max: _reduction(),
    ops.reduce_min: _reduction(),
}

COMPOSITES: dict[str, Any] = {
    "square": pointwise(ANY),
    "reciprocal": pointwise(ANY),
    "logaddexp": pointwise(ANY, ANY),
    "logaddexp2": pointwise(ANY, ANY),
    "mean": _reduction(),
    "var": _variance,
    "std": _variance,
    "prod": _reduction(),
    "norm": _reduction(),
    "logsumexp": _reduction(),
    "sort": _along,
    "cumprod": _along,
    "matmul": _matmul,
    "outer": _outer,
    "diagonal": _diagonal,
    "trace": _diagonal,
    "diag": _diag,
    "softmax": _along,
    "log_softmax": _along,
    "xlogy": pointwise(ANY, POSITIVE),
    **NETWORK_EXAMPLES,
}

MORE_EXAMPLES = {
    "reduce_min": 8,
    "reduce_max": 8,
    "power": 8,
    "contract": 12,
    "gather": 8,
    "scatter_add": 8,
    "reshape": 8,
    "matmul": 6,
    "slice": 10,
    "pad": 10,
    "concatenate": 8,
    "broadcast": 6,
}


OTHERS = (COMPLEX_CASES, FACTORIZATION_CASES, SLIDING_CASES, PROGRAM_OP_CASES, LOOP_CASES)


@cache
def cases() -> dict[str, Case]:
    """Return the case of every built-in op, by name."""
    composites = {record.name: record for record in (*pnp.COMPOSITES, *nn.COMPOSITES)}
    found = list(PRIMITIVES.items())
    found += [(composites[name], draw) for name, draw in COMPOSITES.items() if name in composites]
    table = {op.name: Case(op, draw, MORE_EXAMPLES.get(op.name, 4), MEANINGS.get(op.name)) for op, draw in found}
    return {
        **table,
        **{
            case.op.name: case
            for case in (
                *COMPLEX_CASES,
                *SPECIAL_CASES,
                *FACTORIZATION_CASES,
                *SLIDING_CASES,
                *PROGRAM_OP_CASES,
                *LOOP_CASES,
            )
        },
    }
