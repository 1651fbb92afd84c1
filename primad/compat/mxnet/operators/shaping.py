"""Operators that rearrange arrays: shapes, axes, joining and splitting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.compat.mxnet.graph.shape_rules import Clash, Shape, join, known, permuted, size, unify
from primad.compat.mxnet.imperative.operator_parameters import (
    Settings,
    boolean,
    choice,
    dtype,
    integer,
    partly_known,
    real,
    shape,
)
from primad.compat.mxnet.operators.indexing import index_free
from primad.compat.mxnet.operators.record import DType, operator

# -- shapes ------------------------------------------------------------------------------------------------------------


def reshaped(source: tuple[int, ...], target: Sequence[int], reverse: bool = False) -> tuple[int, ...]:
    """Return the shape that a target with MXNet's codes means.

    Codes: 0 keeps a length, −1 takes what is left, −2 copies all that follow, −3 joins two, −4 splits one into the two
    lengths that follow (one of which may be −1). With `reverse` they are read from the right.

    Raises:
        Clash: if the target does not fit.
    """
    if reverse:
        return tuple(reversed(reshaped(tuple(reversed(source)), tuple(reversed(target)))))
    found: list[int] = []
    place = 0
    codes = iter(target)
    for code in codes:
        taken, lengths = _meant(code, codes, source[place:])
        found += lengths
        place += taken
    if -1 in found:
        rest = math.prod(n for n in found if n != -1)
        found[found.index(-1)] = math.prod(source) // rest if rest else 0
    if math.prod(source) != math.prod(found) and 0 not in source:
        raise Clash(f"Target shape size is different to source. Target: {tuple(found)}\nSource: {source}")
    return tuple(found)


def _meant(code: int, codes: Iterator[int], source: tuple[int, ...]) -> tuple[int, Sequence[int]]:
    """Return how many lengths of the source a code takes, and those that it means; −4 takes two more codes."""
    if code == -4:
        first, second = next(codes), next(codes)
        first = source[0] // second if first == -1 else first
        return 1, (first, source[0] // first if second == -1 else second)
    if code == -3:
        return 2, (source[0] * source[1],)
    if code == -2:
        return len(source), source
    return 1, (source[0] if code == 0 else code,)


def _reshape_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    if inputs[0] is not None and (known(inputs[0]) or -1 not in settings.shape):
        outputs[0] = unify(reshaped(inputs[0], settings.shape, settings.reverse), outputs[0])


@operator("Reshape", "reshape", parameters={"shape": shape(()), "reverse": boolean(False)}, shapes=_reshape_shapes)
def reshape(settings: Settings, data: Any) -> Any:
    """The data in another shape; 0, −1, −2, −3 and −4 are codes."""
    return pnp.reshape(data, reshaped(data.shape, settings.shape, settings.reverse))


def _flatten_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    if inputs[0] is not None:
        outputs[0] = unify((inputs[0][0], size(inputs[0], 1)), outputs[0])


@operator("Flatten", "flatten", shapes=_flatten_shapes)
def flatten(settings: Settings, data: Any) -> Any:
    """All axes but the first as one."""
    return pnp.reshape(data, (data.shape[0], -1))


@operator("reshape_like", inputs=("lhs", "rhs"), types=index_free)
def reshape_like(settings: Settings, lhs: Any, rhs: Any) -> Any:
    """The first array in the shape of the second."""
    return pnp.reshape(lhs, rhs.shape)


@operator("expand_dims", parameters={"axis": integer()})
def expand_dims(settings: Settings, data: Any) -> Any:
    """The data with a new axis of length 1."""
    return pnp.expand_dims(data, settings.axis)


@operator("squeeze", parameters={"axis": shape(None)})
def squeeze(settings: Settings, data: Any) -> Any:
    """The data without axes of length 1."""
    result = pnp.squeeze(data, settings.axis)
    return pnp.reshape(result, result.shape or (1,))


def _int64(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    outputs[0] = np.dtype(np.int64)


@operator("shape_array", types=_int64)
def shape_array(settings: Settings, data: Any) -> Any:
    """The shape, as an array."""
    return np.array(data.shape, np.int64)


@operator("size_array", types=_int64)
def size_array(settings: Settings, data: Any) -> Any:
    """The number of elements, as an array."""
    return np.array([data.size], np.int64)


# -- order of axes and elements ----------------------------------------------------------------------------------------


def _order(settings: Settings, ndim: int) -> Sequence[int]:
    return [axis % ndim for axis in settings.axes] or list(reversed(range(ndim)))


@operator("transpose", parameters={"axes": shape(())}, shapes=permuted(_order))
def transpose(settings: Settings, data: Any) -> Any:
    """The axes in another order, reversed by default."""
    return pnp.transpose(data, tuple(_order(settings, data.ndim)))


def _swapped(settings: Settings, ndim: int) -> Sequence[int]:
    order = list(range(ndim))
    order[settings.dim1], order[settings.dim2] = order[settings.dim2], order[settings.dim1]
    return order


@operator("SwapAxis", "swapaxes", parameters={"dim1": integer(0), "dim2": integer(0)}, shapes=permuted(_swapped))
def swap_axis(settings: Settings, data: Any) -> Any:
    """Two axes exchanged."""
    return pnp.transpose(data, tuple(_swapped(settings, data.ndim)))


@operator("reverse", "flip", parameters={"axis": shape()})
def reverse(settings: Settings, data: Any) -> Any:
    """The elements in reverse order along axes."""
    return pnp.flip(data, settings.axis)


@operator("tile", parameters={"reps": shape()})
def tile(settings: Settings, data: Any) -> Any:
    """Copies side by side."""
    return pnp.tile(data, settings.reps)


@operator("repeat", parameters={"repeats": integer(), "axis": integer(None)})
def repeat(settings: Settings, data: Any) -> Any:
    """Each element several times."""
    return pnp.repeat(data, settings.repeats, axis=settings.axis)


@operator(
    "Pad",
    "pad",
    parameters={"mode": choice("constant", "edge", "reflect"), "pad_width": shape(), "constant_value": real(0.0)},
)
def pad(settings: Settings, data: Any) -> Any:
    """The data with a border of a constant, of its edge, or of its mirror image."""
    widths = list(zip(settings.pad_width[::2], settings.pad_width[1::2], strict=True))
    if settings.mode == "constant":
        return pnp.pad(data, widths, constant_values=settings.constant_value)
    for axis, (low, high) in enumerate(widths):
        places = np.pad(np.arange(data.shape[axis]), (low, high), mode=settings.mode)
        data = pnp.take(data, places, axis=axis)
    return data


@operator("diag", parameters={"k": integer(0), "axis1": integer(0), "axis2": integer(1)})
def diag(settings: Settings, data: Any) -> Any:
    """A diagonal of a matrix, or the matrix of a diagonal."""
    if data.ndim == 1:
        return pnp.diag(data, settings.k)
    return pnp.diagonal(data, settings.k, settings.axis1, settings.axis2)


@operator("depth_to_space", parameters={"block_size": integer(minimum=1)})
def depth_to_space(settings: Settings, data: Any) -> Any:
    """Blocks of channels as blocks of pixels."""
    n, c, h, w = data.shape
    b = settings.block_size
    parts = pnp.reshape(data, (n, b, b, c // (b * b), h, w))
    return pnp.reshape(pnp.transpose(parts, (0, 3, 4, 1, 5, 2)), (n, c // (b * b), h * b, w * b))


@operator("space_to_depth", parameters={"block_size": integer(minimum=1)})
def space_to_depth(settings: Settings, data: Any) -> Any:
    """Blocks of pixels as blocks of channels."""
    n, c, h, w = data.shape
    b = settings.block_size
    parts = pnp.reshape(data, (n, c, h // b, b, w // b, b))
    return pnp.reshape(pnp.transpose(parts, (0, 3, 5, 1, 2, 4)), (n, c * b * b, h // b, w // b))


# -- joining and splitting ---------------------------------------------------------------------------------------------


def _concat_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    inputs[:], outputs[0] = join(inputs, outputs[0], settings.dim)


@operator(
    "Concat",
    "concat",
    inputs=None,
    parameters={"num_args": integer(minimum=1), "dim": integer(1)},
    shapes=_concat_shapes,
)
def concat(settings: Settings, *arrays: Any) -> Any:
    """Arrays joined along an axis."""
    return pnp.concatenate(arrays, axis=settings.dim)


@operator("stack", inputs=None, parameters={"axis": integer(0), "num_args": integer(minimum=1)})
def stack(settings: Settings, *arrays: Any) -> Any:
    """Arrays joined along a new axis."""
    return pnp.stack(arrays, axis=settings.axis)


def _split_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    count = settings.num_outputs
    axis = settings.axis
    if inputs[0] is not None:
        axis %= len(inputs[0])
    if settings.squeeze_axis:
        outputs[:] = [None if part is None else (*part[:axis], 1, *part[axis:]) for part in outputs]
    data = inputs[0]
    if data is not None and data[axis]:
        part = (*data[:axis], data[axis] // count, *data[axis + 1 :])
        outputs[:] = [unify(part, found) for found in outputs]
    outputs[:], inputs[0] = join(outputs, data, axis)
    if settings.squeeze_axis:
        outputs[:] = [None if part is None else (*part[:axis], *part[axis + 1 :]) for part in outputs]


@operator(
    "SliceChannel",
    "split",
    parameters={"num_outputs": integer(minimum=1), "axis": integer(1), "squeeze_axis": boolean(False)},
    outputs=lambda settings: settings.num_outputs,
    shapes=_split_shapes,
)
def split(settings: Settings, data: Any) -> Any:
    """Equal parts along an axis, which is dropped on request."""
    parts = pnp.split(data, settings.num_outputs, axis=settings.axis)
    return tuple(pnp.squeeze(part, settings.axis) if settings.squeeze_axis else part for part in parts)


# -- broadcasting ------------------------------------------------------------------------------------------------------


@operator("broadcast_to", parameters={"shape": shape(())})
def broadcast_to(settings: Settings, data: Any) -> Any:
    """The data repeated along axes of length 1; 0 keeps a length."""
    return pnp.broadcast_to(data, tuple(m or n for m, n in zip(settings.shape, data.shape, strict=True)))


@operator("broadcast_axis", "broadcast_axes", parameters={"axis": shape(()), "size": shape(())})
def broadcast_axis(settings: Settings, data: Any) -> Any:
    """The data repeated along chosen axes of length 1."""
    lengths = dict(zip([axis % data.ndim for axis in settings.axis], settings.size, strict=True))
    return pnp.broadcast_to(data, tuple(lengths.get(i, n) for i, n in enumerate(data.shape)))


@operator("broadcast_like", inputs=("lhs", "rhs"), types=index_free)
def broadcast_like(settings: Settings, lhs: Any, rhs: Any) -> Any:
    """The first array repeated to the shape of the second."""
    return pnp.broadcast_to(lhs, rhs.shape)


# -- arrays from nothing -----------------------------------------------------------------------------------------------


def _given_type(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    outputs[0] = outputs[0] or settings.dtype


def _given_shape(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    outputs[0] = unify(settings.shape or None, outputs[0])


_PLACED = {"ctx": choice("cpu(0)", "cpu", "", default=""), "dtype": dtype(np.float32)}
_MADE = {"shape": partly_known(()), **_PLACED}


@operator("_zeros", inputs=(), parameters=_MADE, shapes=_given_shape, types=_given_type)
def zeros(settings: Settings) -> Any:
    """Zeros."""
    return np.zeros(settings.shape, settings.dtype)


@operator("_ones", inputs=(), parameters=_MADE, shapes=_given_shape, types=_given_type)
def ones(settings: Settings) -> Any:
    """Ones."""
    return np.ones(settings.shape, settings.dtype)


@operator("_full", inputs=(), parameters={**_MADE, "value": real()}, shapes=_given_shape, types=_given_type)
def full(settings: Settings) -> Any:
    """One number everywhere."""
    return np.full(settings.shape, settings.value, settings.dtype)


def spaced(start: float, stop: float | None, step: float, repeat: int, dtype: np.dtype[Any]) -> Any:
    """Return evenly spaced numbers, each several times; their first and their distance are rounded to the dtype."""
    start, stop = (0, start) if stop is None else (start, stop)
    count = max(math.ceil((stop - start) / step), 0)
    first, distance = np.array([start, step]).astype(dtype)
    return np.repeat((first + np.arange(count) * distance).astype(dtype), repeat)


@operator(
    "_arange",
    inputs=(),
    parameters={
        "start": real(),
        "stop": real(None),
        "step": real(1.0),
        "repeat": integer(1),
        "infer_range": boolean(False),
        **_PLACED,
    },
    types=_given_type,
)
def arange(settings: Settings) -> Any:
    """Evenly spaced numbers, each several times."""
    return spaced(settings.start, settings.stop, settings.step, settings.repeat, settings.dtype)


@operator(
    "_eye",
    inputs=(),
    parameters={
        "N": integer(),
        "M": integer(0),
        "k": integer(0),
        **_PLACED,
    },
    types=_given_type,
)
def eye(settings: Settings) -> Any:
    """Ones on a diagonal."""
    return np.eye(settings.N, settings.M or None, settings.k, settings.dtype)
