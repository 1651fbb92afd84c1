"""NumPy's names and semantics over primad's ops.

Each function computes with NumPy on plain arrays and records on traced arrays; plain `np.sin(x)` on a traced array finds
the same implementation through NumPy's protocols, so user code need not change its imports.
"""

from primad.numpy import elementwise, indexing, products, reductions, shaping, special
from primad.numpy.elementwise import (
    absolute, add, bitwise_and, bitwise_or, ceil, clip, cos, cosh, divide, equal, exp, exp2, expm1, floor, floor_divide,
    greater, greater_equal, heaviside, hypot, invert, isfinite, isinf, isnan, less, less_equal, log, log1p, log2, log10,
    logaddexp, logical_and, logical_not, logical_or, maximum, minimum, mod, multiply, negative, not_equal, positive,
    power, reciprocal, remainder, sign, sin, sinh, sqrt, square, subtract, tan, tanh, true_divide, where, arctan,
)  # fmt: skip
from primad.numpy.indexing import add_at, set_at, take, take_along_axis
from primad.numpy.products import (
    cross, diag, diagonal, dot, einsum, inner, kron, matmul, outer, tensordot, trace, vdot, vecdot,
)  # fmt: skip
from primad.numpy.reductions import (
    all, amax, amin, any, append, argmax, argmin, argsort, average, cumsum, diff, max, mean, median, min, norm, prod, ptp,
    sort, std, sum, trapezoid, var,
)  # fmt: skip
from primad.numpy.shaping import (
    atleast_1d, atleast_2d, broadcast_to, column_stack, concatenate, copy, expand_dims, flip, full_like, hstack, moveaxis,
    ndim, ones_like, pad, ravel, repeat, reshape, roll, shape, size, split, squeeze, stack, swapaxes, tile, transpose,
    vstack, zeros_like,
)  # fmt: skip

abs = absolute

COMPOSITES = (*elementwise.COMPOSITES, *reductions.COMPOSITES, *products.COMPOSITES, *special.COMPOSITES)
"""The composite ops of this layer, for `primad.verify`."""

_MODULES = (elementwise, indexing, products, reductions, shaping, special)
__all__ = sorted(
    name for name, value in list(globals().items()) if callable(value) and not name.startswith("_")
)
