"""The table of cases: every primitive and composite, and what it is tried on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from primad import nn, ops
from primad import numpy as pnp
from primad.ir.array_types import ArrayType
from primad.numpy.elementwise.square_roots import safe_sqrt
from primad.ops.record.primitive import Primitive
from primad.verify.cases import array_examples as arrays
from primad.verify.cases.complex_cases import COMPLEX_CASES
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
from primad.verify.cases.textbook_definitions import MEANINGS
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


def _reduction(least: int = 1, **params: Any) -> Any:
    def draw(choose: Choices) -> Example:
        common = choose.among(SMALL)
        return Example((floats(common),), {"axes": arrays.axes(choose, len(common), least), **params})

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
    ops.broadcast: arrays.broadcast,
    ops.sum: _draw_sum,
    ops.reshape: arrays.reshape,
    ops.permute: arrays.permute,
    ops.slice_: arrays.slice_,
    ops.pad: arrays.pad,
    ops.concatenate: arrays.concatenate,
    ops.flip: arrays.flip,
    ops.cast: _cast,
    ops.barrier: pointwise(ANY),
    ops.cumsum: _cumsum,
    ops.gather: arrays.gather,
    ops.scatter_add: arrays.scatter_add,
    ops.contract: arrays.contract,
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
    "matmul": arrays.matmul,
    "outer": arrays.outer,
    "diagonal": arrays.diagonal,
    "trace": arrays.diagonal,
    "diag": arrays.diag,
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


OTHERS = (
    Case(safe_sqrt, pointwise(POSITIVE), 4, internal=True, bounded=True),  # at 0 its derivative is a convention
    *COMPLEX_CASES,
    *SPECIAL_CASES,
    *FACTORIZATION_CASES,
    *SLIDING_CASES,
    *PROGRAM_OP_CASES,
    *LOOP_CASES,
)
"""Cases that bring their definitions."""


@cache
def cases() -> dict[str, Case]:
    """Return the case of every built-in op, by name."""
    composites = {record.name: record for record in (*pnp.COMPOSITES, *nn.COMPOSITES)}
    found = list(PRIMITIVES.items())
    found += [(composites[name], draw) for name, draw in COMPOSITES.items() if name in composites]
    table = {op.name: Case(op, draw, MORE_EXAMPLES.get(op.name, 4), MEANINGS.get(op.name)) for op, draw in found}
    return {**table, **{case.op.name: case for case in OTHERS}}
