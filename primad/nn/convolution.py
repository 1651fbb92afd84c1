"""Convolution, as a contraction with windows, and its transpose, as an overlap-add of products.

As everywhere in neural networks, convolution means cross-correlation: the kernel is not reversed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import is_float
from primad.nn.window_geometry import Padding, Pairs, PerAxis, Shape, pairs, per_axis, spatial_axes, window_counts
from primad.numpy.promotion import any_traced, as_float, as_traced, convert, first_traced, result_dtype
from primad.ops.arrays.contraction import letters
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["conv", "conv_transpose"]

_SPATIAL, _KERNEL = "xyz", "uvw"


def _grouped(x: Any, axis: int, groups: int) -> Any:
    """Split an axis into groups and what each group has."""
    return ops.reshape(x, shape=(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :]))


def _ungrouped(x: Any, axis: int) -> Any:
    return ops.reshape(x, shape=(*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


def _conv(x: Any, weight: Any, *, stride: Shape, padding: Pairs, dilation: Shape, groups: int) -> Any:
    rank, size = x.ndim - 2, weight.shape[2:]
    count = window_counts("conv", x.shape[2:], size, stride, dilation, padding)
    if groups > 1:
        x, weight = _grouped(x, 1, groups), _grouped(weight, 0, groups)
    axes = tuple(range(x.ndim - rank, x.ndim))
    low = tuple([before for before, _ in padding])
    seen = ops.windows(x, axes=axes, count=count, size=size, step=stride, dilation=dilation, low=low)
    group, spatial, kernel = "g" if groups > 1 else "", _SPATIAL[:rank], _KERNEL[:rank]
    labels = letters(f"n{group}c{spatial}{kernel}", f"{group}oc{kernel}", f"n{group}o{spatial}")
    out = ops.contract(seen, weight, labels=labels)
    return _ungrouped(out, 1) if groups > 1 else out


def _conv_transpose(
    x: Any, weight: Any, *, stride: Shape, padding: Pairs, output_padding: Shape, dilation: Shape, groups: int
) -> Any:
    rank, size = x.ndim - 2, weight.shape[2:]
    length = tuple(
        [
            (n - 1) * s + (k - 1) * d + 1 - before - behind + extra
            for n, s, k, d, (before, behind), extra in zip(
                x.shape[2:], stride, size, dilation, padding, output_padding, strict=True
            )
        ]
    )
    if groups > 1:
        x, weight = _grouped(x, 1, groups), _grouped(weight, 0, groups)
    group, spatial, kernel = "g" if groups > 1 else "", _SPATIAL[:rank], _KERNEL[:rank]
    labels = letters(f"n{group}c{spatial}", f"{group}co{kernel}", f"n{group}o{spatial}{kernel}")
    spread = ops.contract(x, weight, labels=labels)
    axes = tuple(range(x.ndim - rank, x.ndim))
    low = tuple([before for before, _ in padding])
    out = ops.overlap_add(spread, axes=axes, length=length, step=stride, dilation=dilation, low=low)
    return _ungrouped(out, 1) if groups > 1 else out


conv_: Primitive = composite(
    "conv", numpy=_conv, lower=_conv, doc="Cross-correlation with a kernel over the spatial axes, summed over channels."
)
conv_transpose_: Primitive = composite(
    "conv_transpose", numpy=_conv_transpose, lower=_conv_transpose, doc="The transpose of `conv` in its first operand."
)

COMPOSITES = (conv_, conv_transpose_)


def _operands(name: str, x: Any, weight: Any) -> tuple[Any, Any]:
    """Promote the two operands to one float type and check their ranks."""
    if any_traced((x, weight)):
        like = first_traced((x, weight))
        dtype = result_dtype(x, weight)
        x, weight = (as_float(convert(as_traced(value, like), dtype)) for value in (x, weight))
    else:
        dtype = np.result_type(x, weight)
        x, weight = (np.asarray(value, dtype if is_float(dtype) else np.float64) for value in (x, weight))
    spatial_axes(name, x)
    if weight.ndim != x.ndim:
        raise ShapeError(
            f"{name}: a weight of shape {tuple(weight.shape)} does not fit an input of shape {tuple(x.shape)}",
            why="Both have two axes for channels or the batch, and then the spatial axes.",
            fix=f"give a weight of {x.ndim} axes.",
        )
    return x, weight


def _check_groups(name: str, x: Any, weight: Any, split: int, expected: int, groups: int) -> None:
    if groups < 1 or weight.shape[0] % groups or split % groups or expected != x.shape[1]:
        raise ShapeError(
            f"{name}: {groups} groups, an input of shape {tuple(x.shape)} and a weight of shape {tuple(weight.shape)} "
            "do not fit",
            why="The groups divide the channels, and the weight has the input's channels (one group's, for conv).",
            fix=f"give groups that divide {x.shape[1]} channels and the weight's first axis, and a weight for these.",
        )


def conv(x: Any, weight: Any, stride: PerAxis = 1, padding: Padding = 0, dilation: PerAxis = 1, groups: int = 1) -> Any:
    """Convolution (cross-correlation) over one to three spatial axes.

    Args:
        x: shape (batch, channels, *spatial).
        weight: shape (channels of the result, channels / groups, *kernel).
        stride: distance of the windows, one integer or one for each axis.
        padding: zeros around the spatial axes: one integer, one for each axis, or a (before, behind) pair for each.
        dilation: distance of the elements of a window.
        groups: channels are split into so many parts, which do not mix.

    Returns:
        shape (batch, channels of the result, *number of windows).

    Raises:
        ShapeError: if the shapes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> x = np.arange(5.0).reshape(1, 1, 5)
        >>> difference = np.array([[[-1.0, 0.0, 1.0]]])
        >>> primad.nn.conv(x, difference)
        array([[[2., 2., 2.]]])
        >>> primad.grad(lambda w: np.sum(primad.nn.conv(x, w, padding=1)))(difference)
        array([[[ 6., 10., 10.]]])
    """
    x, weight = _operands("conv", x, weight)
    rank = x.ndim - 2
    _check_groups("conv", x, weight, x.shape[1], weight.shape[1] * groups, groups)
    return conv_(
        x,
        weight,
        stride=per_axis("conv", "stride", stride, rank),
        padding=pairs("conv", padding, rank),
        dilation=per_axis("conv", "dilation", dilation, rank),
        groups=groups,
    )


def conv_transpose(
    x: Any,
    weight: Any,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Any:
    """The transpose of `conv` in its input: what a convolution's derivative does to cotangents.

    Args:
        x: shape (batch, channels, *spatial).
        weight: shape (channels, channels of the result / groups, *kernel).
        stride: distance at which the windows are laid.
        padding: how much is cut off the result's spatial axes: one integer, one for each axis, or a (before, behind)
            pair for each.
        output_padding: how much longer the result is made behind, less than stride or dilation.
        dilation: distance of the elements of a window.
        groups: channels are split into so many parts, which do not mix.

    Returns:
        shape (batch, channels of the result, *spatial), with spatial lengths
        (n − 1)·stride − padding + dilation·(kernel − 1) + output_padding + 1.

    Raises:
        ShapeError: if the shapes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> x = np.array([[[1.0, 10.0]]])
        >>> primad.nn.conv_transpose(x, np.array([[[1.0, 2.0, 3.0]]]), stride=2)
        array([[[ 1.,  2., 13., 20., 30.]]])
    """
    x, weight = _operands("conv_transpose", x, weight)
    rank = x.ndim - 2
    _check_groups("conv_transpose", x, weight, x.shape[1], weight.shape[0], groups)
    step, spread = (
        per_axis("conv_transpose", "stride", stride, rank),
        per_axis("conv_transpose", "dilation", dilation, rank),
    )
    extra = per_axis("conv_transpose", "output_padding", output_padding, rank, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, step, spread, strict=True)):
        raise ShapeError(
            f"conv_transpose: output_padding {extra} must be less than stride {step} or dilation {spread}",
            fix="leave it out for the shortest output.",
        )
    return conv_transpose_(
        x,
        weight,
        stride=step,
        padding=pairs("conv_transpose", padding, rank),
        output_padding=extra,
        dilation=spread,
        groups=groups,
    )
