"""Operators that pick elements: slices, rows by number, one element of each row; and Python's indexing of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import nn
from primad import numpy as pnp
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import Shape, known, unify
from primad.compat.mxnet.imperative.operator_parameters import (
    Parameter,
    Settings,
    boolean,
    choice,
    dtype,
    integer,
    optional_shape,
    real,
)
from primad.compat.mxnet.operators.record import DType, Operator, operator


class Index:
    """An index as a hashable value."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = tuple([_key(item) for item in value]) if isinstance(value, tuple) else _key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def _key(item: Any) -> Any:
    if isinstance(item, slice):
        return ("slice", item.start, item.stop, item.step)
    if isinstance(item, np.ndarray):
        return ("array", item.shape, item.dtype.char, item.tobytes())
    return item


def plain_index(key: Any) -> Any:
    """Return an index with NumPy's arrays in place of MXNet's, whose indices may be floats."""
    if isinstance(key, tuple):
        return tuple([plain_index(item) for item in key])
    if isinstance(key, list):
        return np.asarray(key)
    if hasattr(key, "asnumpy"):
        found = key.asnumpy()
        return found.astype(np.int64) if found.dtype.kind == "f" else found
    return key


def kept_index(index: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the slices that pick what integers pick, for an element that keeps sharing its memory."""
    items = index if isinstance(index, tuple) else (index,)
    return tuple([slice(i, i + 1) for i in (int(item) % n for item, n in zip(items, shape, strict=True))])


def _legacy(result: Any) -> Any:
    """Return a result whose shape has an axis at least, as MXNet's arrays have."""
    return pnp.reshape(result, (1,)) if result.ndim == 0 else result


GETITEM = Operator(
    "_getitem",
    lambda settings, data: _legacy(data[settings.index.value]),
    {"index": Parameter("index", lambda value: value)},
)
"""Python's indexing of an array that is recorded; no symbol has it."""


def _integers(index: Any) -> Any:
    return index.astype(np.int64)


def index_free(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    """The first input and the output have one dtype; of the index nothing is said."""
    found = inputs[0] or outputs[0]
    inputs[0] = inputs[0] or found
    outputs[0] = outputs[0] or found


# -- slices ------------------------------------------------------------------------------------------------------------


def _slices(settings: Settings, ndim: int) -> tuple[slice, ...]:
    steps = settings.step if settings.step else (None,) * len(settings.begin)
    return tuple(slice(*bounds) for bounds in zip(settings.begin, settings.end, steps, strict=True))


@operator("slice", "crop", parameters={"begin": optional_shape(), "end": optional_shape(), "step": optional_shape(())})
def slice_(settings: Settings, data: Any) -> Any:
    """The elements from begin to end along the first axes."""
    return data[_slices(settings, data.ndim)]


@operator("slice_axis", parameters={"axis": integer(), "begin": integer(), "end": integer(None)})
def slice_axis(settings: Settings, data: Any) -> Any:
    """The elements from begin to end along one axis."""
    place = settings.axis % data.ndim
    return data[(*[slice(None)] * place, slice(settings.begin, settings.end))]


@operator("slice_like", inputs=("data", "shape_like"), parameters={"axes": optional_shape(())}, types=index_free)
def slice_like(settings: Settings, data: Any, like: Any) -> Any:
    """The first elements along each axis (or along some), as many as another array has."""
    axes = [axis % data.ndim for axis in settings.axes] or list(range(data.ndim))
    return data[tuple(slice(like.shape[i]) if i in axes else slice(None) for i in range(data.ndim))]


# -- rows by number ----------------------------------------------------------------------------------------------------


def _held(index: Any, count: int, mode: str) -> Any:
    """Return indices inside [0, count)."""
    if mode == "wrap":
        return _integers(pnp.mod(_integers(index), count))
    index = _integers(index)
    return pnp.where(index < 0, 0, pnp.where(index >= count, count - 1, index))


def _inside(settings: Settings, a: Any, indices: Any) -> None:
    """Refuse indices outside, if they are to be."""
    count = a.shape[settings.axis % a.ndim]
    if settings.mode == "raise" and indices.size and not 0 <= indices.min() <= indices.max() < count:
        raise MXNetError("Check failed: is_valid: take operator contains indices out of bound")


@operator(
    "take",
    inputs=("a", "indices"),
    parameters={"axis": integer(0), "mode": choice("clip", "raise", "wrap", default="clip")},
    types=index_free,
    check=_inside,
)
def take(settings: Settings, a: Any, indices: Any) -> Any:
    """Elements at indices along an axis; indices outside are clipped or wrapped, or an error."""
    place = settings.axis % a.ndim
    return pnp.take(a, _held(indices, a.shape[place], settings.mode), axis=place)


def _embedding_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    inputs[1] = unify((settings.input_dim, settings.output_dim), inputs[1])
    if inputs[0] is not None:
        outputs[0] = unify((*inputs[0], settings.output_dim), outputs[0])


def _embedding_types(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    inputs[1] = inputs[1] or settings.dtype
    outputs[0] = outputs[0] or inputs[1]
    inputs[0] = inputs[0] or inputs[1]


@operator(
    "Embedding",
    inputs=("data", "weight"),
    parameters={
        "input_dim": integer(minimum=1),
        "output_dim": integer(minimum=1),
        "dtype": dtype(np.float32),
        "sparse_grad": boolean(False),
    },
    shapes=_embedding_shapes,
    types=_embedding_types,
)
def embedding(settings: Settings, data: Any, weight: Any) -> Any:
    """Rows of the weight by number; numbers outside are clipped."""
    return nn.embedding(_held(data, weight.shape[0], "clip"), weight)


def _pick_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    data, index = inputs
    if data is None or settings.axis is None:
        return
    place = settings.axis % len(data)
    kept = (1,) if settings.keepdims else ()
    rest = (*data[:place], *data[place + 1 :])
    if index is None or len(index) == len(rest):
        inputs[1] = unify(rest, index) or (1,)
    outputs[0] = unify((*data[:place], *kept, *data[place + 1 :]) or (1,), outputs[0])


@operator(
    "pick",
    "choose_element_0index",
    "batch_take",
    inputs=("data", "index"),
    parameters={
        "axis": integer(-1),
        "keepdims": boolean(False),
        "mode": choice("clip", "wrap", default="clip"),
    },
    shapes=_pick_shapes,
    types=index_free,
)
def pick(settings: Settings, data: Any, index: Any) -> Any:
    """One element of each row, by its number."""
    place = settings.axis % data.ndim
    rows = _held(index, data.shape[place], settings.mode)
    shape = (*data.shape[:place], 1, *data.shape[place + 1 :])
    picked = pnp.take_along_axis(data, pnp.reshape(rows, shape), axis=place)
    return picked if settings.keepdims else _legacy(pnp.reshape(picked, (*shape[:place], *shape[place + 1 :])))


@operator("gather_nd", inputs=("data", "indices"), types=index_free)
def gather_nd(settings: Settings, data: Any, indices: Any) -> Any:
    """Elements at positions, whose coordinates are the rows of the indices."""
    return data[tuple([_integers(indices[i]) for i in range(indices.shape[0])])]


def _one_hot_types(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    outputs[0] = settings.dtype


@operator(
    "one_hot",
    inputs=("indices",),
    parameters={"depth": integer(), "on_value": real(1.0), "off_value": real(0.0), "dtype": dtype(np.float32)},
    types=_one_hot_types,
)
def one_hot(settings: Settings, indices: Any) -> Any:
    """Vectors that have on_value at an index and off_value elsewhere."""
    hot = nn.one_hot(_integers(indices), settings.depth, settings.dtype)
    if (settings.on_value, settings.off_value) == (1.0, 0.0):
        return hot
    return (hot * (settings.on_value - settings.off_value) + settings.off_value).astype(settings.dtype)


def _where_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    if not known(inputs[0]):
        return
    shape = unify(unify(inputs[1], inputs[2], "2-th input"), outputs[0])
    inputs[1] = inputs[2] = outputs[0] = shape


def _where_types(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    found = inputs[1] or inputs[2] or outputs[0]
    inputs[1], inputs[2], outputs[0] = inputs[1] or found, inputs[2] or found, outputs[0] or found


@operator("where", inputs=("condition", "x", "y"), shapes=_where_shapes, types=_where_types)
def where(settings: Settings, condition: Any, x: Any, y: Any) -> Any:
    """X where the condition is not 0, y elsewhere; a condition of one axis chooses rows."""
    if condition.ndim < x.ndim:
        condition = pnp.reshape(condition, (-1,) + (1,) * (x.ndim - 1))
    return pnp.where(condition != 0, x, y)
