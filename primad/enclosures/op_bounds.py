"""The bounds of each op: one table over all primitives, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.enclosures import array_bounds, function_bounds, interval_arithmetic
from primad.enclosures.bounds import Bounds
from primad.ops.record.primitive import Primitive

BoundsOf = Callable[..., Bounds]


def _same(x: Bounds, **_: Any) -> Bounds:
    return x


def _cast(x: Bounds, *, dtype: str) -> Bounds:
    return Bounds(*[np.asarray(end, np.float64) for end in x])


def _truncate(x: Bounds, *, dtype: str) -> Bounds:
    """Truth values become 0 and 1, others lose their fractions; a truth value is whether a number is not 0."""
    if np.dtype(dtype).kind == "b":
        low, high = x
        return Bounds((low > 0) | (high < 0), ~((low == 0) & (high == 0)))
    return Bounds(*[np.trunc(np.asarray(end, np.float64)) for end in x])


def _not(x: Bounds) -> Bounds:
    return Bounds(~x.high, ~x.low)


EXACT = (
    ops.reshape, ops.permute, ops.flip, ops.slice_, ops.broadcast, ops.concatenate, ops.pad, ops.windows,
    ops.reduce_max, ops.reduce_min, ops.floor, ops.sign, ops.logical_and, ops.logical_or,
)  # fmt: skip
"""Ops that are exact and grow with every operand."""
BOUNDS: dict[Primitive, BoundsOf] = {
    **{op: array_bounds.at_both_ends(op) for op in EXACT},
    **{op: array_bounds.at_places(op) for op in (ops.gather, ops.scatter_add)},
    **{op: function_bounds.of_op(op, shape) for op, shape in function_bounds.SHAPES.items()},
    ops.stop_gradient: _same,
    ops.barrier: _same,
    ops.cast: _cast,
    ops.truncate: _truncate,
    ops.logical_not: _not,
    ops.add: interval_arithmetic.add,
    ops.sub: interval_arithmetic.sub,
    ops.neg: interval_arithmetic.neg,
    ops.mul: interval_arithmetic.mul,
    ops.div: interval_arithmetic.div,
    ops.abs: interval_arithmetic.absolute,
    ops.maximum: interval_arithmetic.maximum,
    ops.minimum: interval_arithmetic.minimum,
    ops.power: interval_arithmetic.power,
    ops.hypot: interval_arithmetic.hypot,
    ops.direction: interval_arithmetic.direction,
    ops.arctan2: interval_arithmetic.arctan2,
    ops.remainder: interval_arithmetic.remainder,
    ops.floor_divide: interval_arithmetic.floor_divide,
    ops.less: interval_arithmetic.less,
    ops.less_equal: interval_arithmetic.less_equal,
    ops.equal: interval_arithmetic.equal,
    ops.select: interval_arithmetic.select,
    ops.mask: interval_arithmetic.mask,
    ops.defined_where: interval_arithmetic.defined_where,
    ops.sin: function_bounds.sine,
    ops.cos: function_bounds.cosine,
    ops.tan: function_bounds.tangent,
    ops.leg: function_bounds.leg,
    ops.sum: array_bounds.sum_bounds,
    ops.cumsum: array_bounds.cumsum_bounds,
    ops.overlap_add: array_bounds.overlap_add_bounds,
    ops.contract: array_bounds.contract_bounds,
}
"""The bounds of an op's results from those of its operands; params are the op's."""
SQUARES: dict[Primitive, BoundsOf] = {ops.mul: interval_arithmetic.square}
"""Bounds of ops of one and the same operand twice, which are tighter."""


def _at_origin(x: Bounds, y: Bounds) -> Any:
    return (x.low <= 0) & (x.high >= 0) & (y.low <= 0) & (y.high >= 0)


JUMPS: dict[Primitive, Callable[..., Any]] = {
    ops.remainder: interval_arithmetic.crosses_multiple,
    ops.arctan2: lambda y, x: (x.low <= 0) & (y.low <= 0) & (y.high >= 0),
    ops.direction: _at_origin,
}
"""Ops with derivatives that jump, and where they may: those of other ops are piecewise constant, or nowhere."""

_SPECTRA = "eigenvalues, singular vectors and factors of matrices that vary have no bounds yet"
_FUNCTIONS = "it neither grows nor falls everywhere, and where it turns is not stated yet"
_WHOLE = "its result depends on the order of elements, which may change inside of a box"
_FOURIER = "complex numbers and Fourier transforms have no bounds yet"
WITHOUT: dict[Primitive, str] = {
    **dict.fromkeys(
        (
            ops.cholesky, ops.lu, ops.qr, ops.eigh, ops.svd, ops.eig, ops.left_vectors, ops.gaps, ops.slopes,
            ops.spread, ops.solve_triangular, ops.solve_sylvester, ops.cofactors, ops.cofactors_along, ops.expm,
            ops.expm_frechet, ops.logm, ops.logm_frechet, ops.sqrtm, ops.project,
        ),
        _SPECTRA,
    ),
    **dict.fromkeys((ops.argsort, ops.window_argmax), _WHOLE),
    **dict.fromkeys(
        (ops.fft, ops.rfft, ops.irfft, ops.dct, ops.dst, ops.real_part, ops.imaginary_part, ops.conj, ops.complex_of),
        _FOURIER,
    ),
    **dict.fromkeys((ops.left_shift, ops.right_shift), "bits of whole numbers that vary have no bounds"),
    ops.fmod: "remainders with the sign of the dividend have no bounds yet; use the remainder %",
    ops.draw: "random numbers have no bounds",
    **dict.fromkeys((ops.eye, ops.iota), "it has no operands: its values are known"),
}  # fmt: skip
"""Primitives that have no bounds where an operand varies, with the reasons; those of point values are the values."""


def may_jump(op: Primitive, operands: Sequence[Bounds], found: Bounds) -> bool:
    """Say whether an op's value may jump inside of the bounds of its operands, or does not move as its rule says."""
    if op.kind == "piecewise constant":
        return not found.is_point
    return op in JUMPS and bool(np.any(JUMPS[op](*operands)))


def why_not(op: Primitive) -> str:
    """Return why an op has no bounds where an operand varies; '' where it has."""
    if op in BOUNDS:
        return ""
    return WITHOUT.get(op, _FUNCTIONS if op.axes.pointwise else "an op of your own has no bounds")
