"""NumPy's functions of sampled values: convolution, differences, interpolation, counts."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.numpy.axis_arguments import as_shape, normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.elementwise.logic import isnan
from primad.numpy.elementwise.rounding import nan_to_num
from primad.numpy.elementwise.ufuncs import absolute, where
from primad.numpy.linalg.products import dot
from primad.numpy.promotion import (
    as_float,
    convert,
    expand,
    first_traced,
    implements,
    joined,
    result_dtype,
    traced_operands,
)
from primad.numpy.reduce.reductions import sum
from primad.numpy.reduce.scans import cumsum
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.ordering import searchsorted, values_of
from primad.numpy.shapes.shaping import concatenate, flip, moveaxis, ravel, reshape
from primad.recording.traced_array import TracedArray

__all__ = [
    "bincount", "convolve", "correlate", "diff", "ediff1d", "gradient", "i0", "interp", "kaiser", "trapezoid", "unwrap",
]  # fmt: skip


def _sliding(a: Any, v: Any, before: int, count: int) -> Any:
    """Return the products of v with `count` stretches of a, the first of which begins `before` places before it."""
    dtype = result_dtype(a, v)
    a, v = convert(a, dtype), convert(v, dtype)
    shown = ops.windows(a, axes=(0,), count=(count,), size=v.shape, step=(1,), dilation=(1,), low=(before,))
    return dot(shown, v)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """np.lib.stride_tricks.sliding_window_view."""
    if writeable:
        raise TracingError(
            "sliding_window_view of a traced array is nothing to write to",
            fix="leave writeable out, and copy what you write to.",
        )
    sizes = as_shape(window_shape)
    axes = tuple(range(x.ndim)) if axis is None else as_shape(axis)
    if len(sizes) != len(axes):
        raise ShapeError(
            f"sliding_window_view: windows of {len(sizes)} axes along {len(axes)}",
            fix="give a length for each of the axes.",
        )
    for place, size in zip([normalize_axis("sliding_window_view", each, x.ndim) for each in axes], sizes, strict=True):
        count = x.shape[place] - size + 1
        if count < 1 or size < 0:
            raise ShapeError(
                f"sliding_window_view: {size} elements of {x.shape[place]}",
                fix="choose windows no longer than the axis.",
            )
        rows = moveaxis(x, place, -1)
        shown = rows[..., np.arange(count)[:, None] + np.arange(size)]
        x = moveaxis(shown, -2, place)
    return x


def _vectors(name: str, a: Any, v: Any) -> list[Any]:
    both = traced_operands(a, v)
    if any(x.ndim != 1 or not x.shape[0] for x in both):
        raise ShapeError(
            f"{name}: needs two vectors that are not empty, got shapes {[x.shape for x in both]}",
            fix="np.ravel makes vectors.",
        )
    return both


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """np.convolve."""
    a, v = _vectors("convolve", a, v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    return _correlate("convolve", a, flip(v), mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """np.correlate: products with the conjugate of v, which moves along a."""
    a, v = _vectors("correlate", a, v)
    v = conjugated(v)
    if v.shape[0] > a.shape[0]:
        return flip(_correlate("correlate", v, a, mode))
    return _correlate("correlate", a, v, mode)


def _correlate(name: str, a: Any, v: Any, mode: str) -> Any:
    n, m = a.shape[0], v.shape[0]
    if mode not in ("full", "same", "valid"):
        raise ShapeError(
            f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}", fix="leave it out for the default."
        )
    before, count = {"full": (m - 1, n + m - 1), "same": (m // 2, n), "valid": (0, n - m + 1)}[mode]
    return _sliding(a, v, before, count)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """np.ediff1d."""
    ary, *ends = traced_operands(ary, *[end for end in (to_begin, to_end) if end is not None])
    if not all(np.can_cast(end.dtype, ary.dtype, "same_kind") for end in ends):
        raise TracingError(f"ediff1d: ends of other kinds than {ary.dtype}", fix="convert them with .astype.")
    ends = [convert(ravel(end), ary.dtype) for end in ends]
    before, after = ends[: to_begin is not None], ends[to_begin is not None :]
    flat = ravel(ary)
    return concatenate([*before, flat[1:] - flat[:-1], *after])


# -- differences -------------------------------------------------------------------------------------------------------


@implements(np.diff)
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """np.diff: differences of neighbours, n times."""
    like = first_traced([x, prepend, append])
    x = x if isinstance(x, TracedArray) else traced_operands(x, like)[0]
    place = normalize_axis("diff", axis, x.ndim)
    if operator.index(n) < 0:
        raise ShapeError(f"diff: n counts differences and must not be negative, got {n}", fix="write 0 or more.")
    moved = moveaxis(x, place, 0)
    before, after = (_end(end, like, place, moved.shape[1:]) for end in (prepend, append))
    moved = concatenate([*before, moved, *after]) if n and (before or after) else moved
    for _ in range(n):
        moved = moved[1:] ^ moved[:-1] if moved.dtype.kind == "b" else moved[1:] - moved[:-1]
    return moveaxis(moved, 0, place)


def _end(end: Any, like: TracedArray, axis: int, shape: tuple[int, ...]) -> list[Any]:
    """Return what is put before or after an array, the axis first; numbers are repeated along the others."""
    if end is None:
        return []
    x = traced_operands(end, like)[0]
    return [moveaxis(x, axis, 0) if x.ndim else expand(x, (1, *shape))]


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """np.trapezoid: integral by the trapezoidal rule."""
    y = traced_operands(y, first_traced([y, x]))[0]
    x = joined(x)
    place = normalize_axis("trapezoid", axis, y.ndim)
    moved = moveaxis(y, place, -1)
    along = place if np.ndim(x) > 1 else -1
    steps = None if x is None else (diff(x, axis=along) if isinstance(x, TracedArray) else np.diff(x, axis=along))
    width = dx if steps is None else moveaxis(steps, along, -1)
    return sum(width * (moved[..., 1:] + moved[..., :-1]) * 0.5, -1)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient: central differences, one-sided at the ends, on even or uneven points."""
    spacings: list[Any]
    f, *spacings = traced_operands(f, *varargs)
    if f.dtype.kind in "iu":
        f = convert(f, np.float64)
    axes = range(f.ndim) if axis is None else [normalize_axis("gradient", i, f.ndim) for i in np.atleast_1d(axis)]
    if not spacings:
        spacings = [1.0]
    if len(spacings) == 1 and not np.ndim(spacings[0]):
        spacings = spacings * len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise ShapeError(
            f"gradient: {len(spacings)} spacings for {len(axes)} axes, edge_order {edge_order}",
            fix="give one spacing, or one for each axis, and edge_order=1 or 2.",
        )
    found = [_gradient(f, spacing, place, edge_order) for place, spacing in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _gradient(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    y = moveaxis(f, axis, 0)
    n = y.shape[0]
    if n < edge_order + 1:
        raise ShapeError(
            f"gradient: axis {axis} of length {n} is too short", fix="give edge_order + 1 points along it at least."
        )
    if not np.ndim(spacing):
        inner = (y[2:] - y[:-2]) / (2.0 * spacing)
        before = after = spacing, spacing
    elif spacing.shape != (n,):
        raise ShapeError(
            f"gradient: points of shape {spacing.shape} for an axis of length {n}",
            fix="give a spacing, or a coordinate for each point of the axis.",
        )
    else:
        steps = reshape(diff(as_float(spacing)), (n - 1,) + (1,) * (y.ndim - 1))
        h, k = steps[:-1], steps[1:]
        inner = y[:-2] * (-k / (h * (h + k))) + y[1:-1] * ((k - h) / (h * k)) + y[2:] * (h / (k * (h + k)))
        before, after = (steps[:1], steps[1:2]), (steps[-1:], steps[-2:-1])
    if edge_order == 1:
        first, last = (y[1:2] - y[:1]) / before[0], (y[-1:] - y[-2:-1]) / after[0]
    else:
        first, last = _edge(y[:3], *before), -_edge(flip(y[-3:], 0), *after)
    return moveaxis(convert(concatenate([first, inner, last]), as_float(f).dtype), 0, axis)


def _edge(y: Any, h: Any, k: Any) -> Any:
    """Return the derivative at the first of three points, to second order."""
    return y[:1] * (-(2.0 * h + k) / (h * (h + k))) + y[1:2] * ((h + k) / (h * k)) - y[2:] * (h / (k * (h + k)))


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """np.unwrap: multiples of the period are taken from jumps; they have no derivative."""
    if p.dtype.kind != "f" and type(period) is not float:
        raise TracingError(
            "np.unwrap of integers with an integer period is not supported on traced arrays",
            fix="convert to floats: x.astype(float).",
        )
    place = normalize_axis("unwrap", axis, p.ndim)
    p = moveaxis(p, place, 0)
    jumps = diff(p, axis=0)
    half = period / 2
    wrapped = (jumps + half) % period - half
    wrapped = where((wrapped == -half) & (jumps > 0), half, wrapped)
    turns = where(absolute(jumps) < (half if discont is None else discont), 0.0, wrapped - jumps)
    return moveaxis(concatenate([p[:1], as_float(p)[1:] + cumsum(ops.stop_gradient(turns), 0)]), 0, place)


# -- windows -----------------------------------------------------------------------------------------------------------


@implements(np.i0)
def i0(x: Any) -> Any:
    """np.i0: the modified Bessel function of the first kind and of order 0."""
    return ops.bessel_i(as_float(x), n=0)


@implements(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    """np.kaiser, of a shape parameter that may be traced; as NumPy's, not a number where I₀(beta) overflows.

    Raises:
        ShapeError: for several parameters.

    Example:
        >>> import primad, primad.numpy as np
        >>> primad.jacobian(lambda beta: np.kaiser(3, beta))(2.0)[:].round(3)
        array([-0.306,  0.   , -0.306])
    """
    (beta,) = (convert(x, np.float64) for x in traced_operands(beta))
    if beta.shape:
        raise ShapeError(f"kaiser: one shape parameter, not {beta.shape}", fix="primad.vmap makes windows of several.")
    if M == 1:
        return np.ones(1)
    middle = (float(M) - 1) / 2
    across = np.sqrt(1 - ((np.arange(0, M) - middle) / middle) ** 2.0)
    return i0(beta * across) / i0(beta)


# -- interpolation and counts ------------------------------------------------------------------------------------------


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """np.interp: linear between points, whose order is not checked; at one, the derivative is that to its right."""
    x, xp, fp = traced_operands(x, xp, fp)
    x, xp = convert(x, np.float64), convert(xp, np.float64)
    fp = convert(fp, np.result_type(fp.dtype, np.float64))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ShapeError(
            f"interp: points of shapes {xp.shape} and {fp.shape}", fix="give a vector of points, and a value for each."
        )
    if period is not None:
        period = abs(float(period))
        x, xp = x % period, xp % period
        order = ops.argsort(xp, axis=0)
        xp, fp = take(xp, order), take(fp, order)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    n = xp.shape[0]
    if n == 1:
        between = fp[0] + x * 0.0
    else:
        after = ops.maximum(ops.minimum(searchsorted(xp, x, "right"), n - 1), 1)
        x0, y0 = take(xp, after - 1), take(fp, after - 1)
        slope = (take(fp, after) - y0) / (take(xp, after) - x0)
        x0, y0 = where(x == xp[-1], xp[-1], x0), where(x == xp[-1], fp[-1], y0)
        slope = where(x == x0, nan_to_num(slope), slope)  # at a point it is the value there, however steep it is
        between = slope * (x - x0) + y0
    found = where(x > xp[-1], fp[-1] if right is None else right, between)
    found = where(x < xp[0], fp[0] if left is None else left, found)
    return where(isnan(x), x, found)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """np.bincount; how often each number occurs must be known while recording, the weights need not be."""
    numbers = values_of(x, "the numbers that np.bincount counts")
    if weights is None:
        return np.bincount(numbers, minlength=minlength)
    (weights,) = traced_operands(weights)
    if numbers.shape != weights.shape:
        raise ShapeError(
            f"bincount: weights of shape {weights.shape} for numbers of shape {numbers.shape}",
            fix="give a weight for each number.",
        )
    return add_at(np.zeros(np.bincount(numbers, minlength=minlength).size), numbers, convert(weights, np.float64))
