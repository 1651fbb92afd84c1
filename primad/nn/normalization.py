"""Batch and layer normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.nn.operands import floats
from primad.numpy.axis_arguments import normalize_axes, normalize_axis
from primad.numpy.elementwise.ufuncs import sqrt
from primad.numpy.reduce.reductions import mean, var
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["batch_norm", "batch_statistics", "layer_norm"]

Axes = tuple[int, ...]


def _batch_norm(x: Any, average: Any, variance: Any, scale: Any, shift: Any, *, axis: int, epsilon: float) -> Any:
    shape = tuple([n if i == axis else 1 for i, n in enumerate(x.shape)])
    factor = scale / sqrt(variance + epsilon)
    return (x - average.reshape(shape)) * factor.reshape(shape) + shift.reshape(shape)


def _layer_norm(x: Any, scale: Any, shift: Any, *, axes: Axes, epsilon: float) -> Any:
    shape = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
    centred = x - mean(x, axis=axes, keepdims=True)
    spread = sqrt(mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    return centred / spread * scale.reshape(shape) + shift.reshape(shape)


batch_norm_: Primitive = composite(
    "batch_norm",
    numpy=_batch_norm,
    lower=_batch_norm,
    doc="(x − mean)/√(variance + ε)·scale + shift, with one number of each per index of the channel axis.",
)
layer_norm_: Primitive = composite(
    "layer_norm",
    numpy=_layer_norm,
    lower=_layer_norm,
    doc="x minus its mean over some axes, divided by √(variance + ε) over them, times scale plus shift.",
)

COMPOSITES = (batch_norm_, layer_norm_)


def batch_norm(
    x: Any, mean: Any, variance: Any, scale: Any = None, shift: Any = None, epsilon: float = 1e-5, axis: int = 1
) -> Any:
    """Normalise each channel with a given mean and variance (Ioffe & Szegedy 2015).

    While training these are `batch_statistics(x, axis)`, through which derivatives then pass; at inference they are
    running averages.

    Args:
        x: an array with a channel axis.
        mean: one number per channel.
        variance: one number per channel.
        scale: one number per channel, or None for 1.
        shift: one number per channel, or None for 0.
        epsilon: added to the variance.
        axis: the channel axis.

    Returns:
        an array of the shape of x.

    Raises:
        ShapeError: if there is not one number per channel.

    Example:
        >>> import numpy as np, primad
        >>> x = np.array([[1.0, 2.0], [3.0, 6.0]])
        >>> primad.nn.batch_norm(x, *primad.nn.batch_statistics(x), epsilon=0.0)
        array([[-1., -1.],
               [ 1.,  1.]])
    """
    x, mean, variance = floats(x, mean, variance)
    axis = normalize_axis("batch_norm", axis, x.ndim)
    channels = (x.shape[axis],)
    scale = np.ones(channels, x.dtype) if scale is None else scale
    shift = np.zeros(channels, x.dtype) if shift is None else shift
    operands = floats(x, mean, variance, scale, shift)
    for name, value in zip(("mean", "variance", "scale", "shift"), operands[1:], strict=True):
        if value.shape != channels:
            raise ShapeError(
                f"batch_norm: {name} of shape {value.shape} does not fit {channels[0]} channels",
                fix=f"give an array of shape {channels}.",
            )
    return batch_norm_(*operands, axis=axis, epsilon=float(epsilon))


def batch_statistics(x: Any, axis: int = 1) -> tuple[Any, Any]:
    """Return the mean and the variance (divided by the count) of each channel, over all other axes.

    Args:
        x: an array with a channel axis.
        axis: the channel axis.

    Returns:
        two arrays with one number per channel.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.batch_statistics(np.array([[1.0, 2.0], [3.0, 6.0]]))
        (array([2., 4.]), array([1., 4.]))
    """
    (x,) = floats(x)
    kept = normalize_axis("batch_statistics", axis, x.ndim)
    others = tuple([i for i in range(x.ndim) if i != kept])
    return mean(x, axis=others), var(x, axis=others)


def layer_norm(x: Any, axes: Any, scale: Any = None, shift: Any = None, epsilon: float = 1e-5) -> Any:
    """Normalise over some axes of each sample (Ba, Kiros & Hinton 2016).

    Args:
        x: an array.
        axes: the axes that are averaged over, usually the last ones.
        scale: an array with the lengths of those axes, in their order in x, or None for 1.
        shift: an array of that shape, or None for 0.
        epsilon: added to the variance; the result is smooth in x for positive ones.

    Returns:
        an array of the shape of x.

    Raises:
        ShapeError: if an axis does not exist, or scale or shift do not fit.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.layer_norm(np.array([[1.0, 3.0], [2.0, 8.0]]), -1, epsilon=0.0)
        array([[-1.,  1.],
               [-1.,  1.]])
    """
    (x,) = floats(x)
    axes = normalize_axes("layer_norm", axes, x.ndim)
    lengths = tuple([x.shape[axis] for axis in axes])
    scale = np.ones(lengths, x.dtype) if scale is None else scale
    shift = np.zeros(lengths, x.dtype) if shift is None else shift
    operands = floats(x, scale, shift)
    for name, value in zip(("scale", "shift"), operands[1:], strict=True):
        if value.shape != lengths:
            raise ShapeError(
                f"layer_norm: {name} of shape {value.shape} does not fit axes of lengths {lengths}",
                fix=f"give an array of shape {lengths}.",
            )
    return layer_norm_(*operands, axes=axes, epsilon=float(epsilon))
