"""The primitives, one file a family. `ALL` lists every record, in reading order; `BY_NAME` finds one."""

from primad.ops.arithmetic import add, div, mul, neg, power, sub
from primad.ops.barrier import barrier
from primad.ops.broadcasting import broadcast, sum
from primad.ops.contraction import contract
from primad.ops.conversion import cast, truncate
from primad.ops.discrete import (
    equal,
    floor,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    right_shift,
    sign,
    stop_gradient,
)  # fmt: skip
from primad.ops.division import floor_divide, fmod, remainder
from primad.ops.elementary import (
    arctan,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sech2,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)  # fmt: skip
from primad.ops.factorization import qr, solve_triangular
from primad.ops.gamma import gammaln, polygamma
from primad.ops.generators import eye, iota
from primad.ops.indexing import gather, scatter_add
from primad.ops.inverse import arccos, arccosh, arcsin, arcsinh, arctanh, cbrt, erfinv, leg
from primad.ops.kinks import abs, maximum, minimum
from primad.ops.plane import arctan2, direction, hypot
from primad.ops.random import draw
from primad.ops.reduction import cumsum, reduce_max, reduce_min
from primad.ops.selection import mask, select
from primad.ops.sorting import argsort
from primad.ops.special import erf, erfc, logistic, softplus
from primad.ops.structural import concatenate, flip, pad, permute, reshape, slice_
from primad.ops.windows import overlap_add, window_argmax, windows
from primad.primitive import Primitive, project

ALL: tuple[Primitive, ...] = (
    neg, add, sub, mul, div, power, abs, maximum, minimum,
    exp, exp2, expm1, log, log2, log10, log1p, sqrt, sin, cos, tan, sinh, cosh, tanh, sech2, arctan,
    hypot, arctan2, direction, erf, erfc, logistic, softplus,
    arcsin, arccos, arcsinh, arccosh, arctanh, leg, cbrt, erfinv, gammaln, polygamma,
    sign, floor, floor_divide, remainder, fmod, less, less_equal, equal, logical_and, logical_or, logical_not,
    left_shift, right_shift, stop_gradient, truncate, argsort,
    eye, iota, draw,
    select, mask, broadcast, sum, reshape, permute, slice_, pad, concatenate, flip, cast, barrier, cumsum, gather,
    scatter_add, contract, reduce_max, reduce_min, windows, overlap_add, window_argmax,
    solve_triangular, qr, project,
)  # fmt: skip

BY_NAME: dict[str, Primitive] = {primitive.name: primitive for primitive in ALL}

__all__ = [
    "ALL",
    "BY_NAME",
    "abs",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argsort",
    "barrier",
    "broadcast",
    "cast",
    "cbrt",
    "concatenate",
    "contract",
    "cos",
    "cosh",
    "cumsum",
    "direction",
    "div",
    "draw",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "eye",
    "flip",
    "floor",
    "floor_divide",
    "fmod",
    "gammaln",
    "gather",
    "hypot",
    "iota",
    "left_shift",
    "leg",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logistic",
    "mask",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "overlap_add",
    "pad",
    "permute",
    "polygamma",
    "power",
    "project",
    "qr",
    "reduce_max",
    "reduce_min",
    "remainder",
    "reshape",
    "right_shift",
    "scatter_add",
    "sech2",
    "select",
    "sign",
    "sin",
    "sinh",
    "slice_",
    "softplus",
    "solve_triangular",
    "sqrt",
    "stop_gradient",
    "sub",
    "sum",
    "tan",
    "tanh",
    "truncate",
    "window_argmax",
    "windows",
]
