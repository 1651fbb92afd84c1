"""Boolean indices whose values are not known while a function is recorded: what they choose, and writing it.

How many elements such an index chooses only the program knows, so they have no shape. But what acts on each element
alone can act on all of them, and what is written back at the same index is then a choice between two arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partialmethod
from typing import Any, NoReturn

import numpy as np

from primad import ops
from primad.errors import IndexShapeError, MissingAttributeError, ShapeError, TracingError
from primad.numpy.promotion import as_traced, convert, expand, joined
from primad.recording.protocols import call_function
from primad.recording.traced_array import TracedArray, settled

_OF_ELEMENTS = frozenset((np.where, np.clip, np.nan_to_num, np.real, np.isclose, np.sinc))
"""Functions of NumPy's, other than ufuncs, that act on each element alone."""
_FIX = (
    "y[mask] = v and y[mask] += v[mask] may be written to a y that primad.numpy made, and "
    "primad.numpy.where(mask, v, 0.0) has the shape of the whole."
)


def known_mask(item: Any) -> Any:
    """Return an item of an index with plain booleans, where it is a traced mask whose values are known."""
    item = settled(item) if isinstance(item, TracedArray) else item
    if type(item) is TracedArray and item.dtype.kind == "b":
        with suppress(TracingError):
            return np.asarray(item._read("the elements of a boolean index"))
    return item


def check_mask(mask: Any, shape: tuple[int, ...], axis: int) -> None:
    """Raise unless a boolean index has the lengths of the axes that it stands at."""
    if mask.shape != shape[axis : axis + mask.ndim]:
        raise IndexShapeError(
            f"a boolean index of shape {mask.shape} does not fit shape {shape} at axis {axis}",
            fix="compare along these axes, so that the index has their lengths.",
        )


class Mask:
    """A boolean index whose values are not known, among numbers and slices.

    Attributes:
        values: the booleans.
        around: the index of the *region* in which it chooses, for which all of it is taken.
        after: how many axes of the region follow those of the booleans.
    """

    __slots__ = ("after", "around", "values")

    def __init__(self, values: TracedArray, around: tuple[Any, ...], after: int) -> None:
        self.values = values
        self.around = around
        self.after = after

    @classmethod
    def of(cls, index: Any, shape: tuple[int, ...]) -> Mask | None:
        """Return the mask in an index of an array of a shape; None if it is not one mask among numbers and slices.

        Raises:
            IndexShapeError: if it does not fit the shape.
        """
        given = index if isinstance(index, tuple) else (index,)
        place = next((i for i, item in enumerate(given) if type(item) is TracedArray and item.dtype.kind == "b"), None)
        if place is None or sum(item is Ellipsis for item in given) > 1:
            return None
        mask, rest = given[place], [item for i, item in enumerate(given) if i != place and item is not Ellipsis]
        if not all(isinstance(item, (slice, np.integer)) or type(item) is int for item in rest):
            return None
        fill = [slice(None)] * (len(shape) - len(rest) - mask.ndim)
        given = given if any(item is Ellipsis for item in given) else (*given, Ellipsis)
        before, later = (
            [entry for item in part for entry in (fill if item is Ellipsis else [item])]
            for part in (given[:place], given[place + 1 :])
        )
        axis = len(before)
        check_mask(mask, shape, axis)
        entries = [*before, *[0] * mask.ndim, *later]
        advanced = [i for i, entry in enumerate(entries) if not isinstance(entry, slice)]
        if len(advanced) > mask.ndim and (not mask.ndim or advanced[-1] - advanced[0] >= len(advanced)):
            return None  # NumPy puts what is chosen first
        after = sum(isinstance(item, slice) for item in later)
        return cls(mask, (*before, *[slice(None)] * mask.ndim, *later, ...), after)

    def spread(self, value: Any) -> Any:
        """Return what is to stand at each element of the region, of a value that meets the chosen elements.

        Args:
            value: elements chosen by the same mask, a number, or an array that is the same for each chosen place.

        Raises:
            ShapeError: for elements that another mask chooses, and as many values as are chosen.
        """
        if isinstance(value, Chosen):
            if value.mask.values.node is not self.values.node or value.mask.after != self.after:
                raise ShapeError(
                    "elements that two different boolean indices choose do not stand at the same places",
                    why="Neither's values are known, nor how many each chooses.",
                    fix=f"keep the mask: mask = y > 0; y[mask] = v[mask]. {_FIX}",
                )
            return value.whole
        value = joined(settled(value))
        if np.ndim(value) <= self.after:
            return value
        value = value if isinstance(value, TracedArray) else np.asarray(value)
        axis = value.ndim - 1 - self.after
        if value.shape[axis] != 1:
            raise ShapeError(
                f"a value of shape {value.shape} where a boolean index chooses elements, and its values are not known",
                why=f"While primad records, how many of the {self.values.shape} places it chooses is not known, so "
                f"whether axis {axis} of the value has as many is not either.",
                fix="y[mask] = v[mask], of a traced v with the shape of the whole, takes what stands at the same "
                "places; one number goes everywhere.",
            )
        return value.reshape(value.shape[:axis] + (1,) * self.values.ndim + value.shape[axis + 1 :])

    def put(self, region: TracedArray, value: Any) -> Any:
        """Return the region, an array, with a value where the mask is true, cast as an assignment does."""
        whole = convert(as_traced(self.spread(value), region), region.dtype)
        hit = ops.reshape(self.values, shape=(*self.values.shape, *[1] * self.after))
        return ops.select(expand(hit, region.shape), expand(whole, region.shape), region)


class Chosen(TracedArray):
    """The elements that a mask chooses: what acts on each alone is recorded, on the whole region; the rest is refused.

    Args:
        whole: a value for each element of the region, or of more along leading axes.
        mask: which of them these are.
    """

    __slots__ = ("mask", "whole")
    __array_priority__ = 2000

    def __init__(self, whole: TracedArray, mask: Mask) -> None:
        self.whole = whole
        self.mask = mask

    def _unknown(self, what: str, kind: type[TracingError] = TracingError) -> TracingError:
        return kind(
            f"Python asked for {what} of the elements that a boolean index chooses, a traced array of type "
            f"{self.mask.values.type}",
            why="While primad records a function for jit, vmap or trace, arrays have a type but no value, so how many "
            "elements are chosen is not known, and the result would have no shape.",
            fix=f"sums may have where=mask. {_FIX}",
        )

    def _refuse(self) -> NoReturn:
        raise self._unknown("the shape")

    node = property(_refuse)
    type = shape = ndim = size = itemsize = nbytes = T = mT = flat = property(_refuse)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self.whole.dtype

    def __settled__(self) -> NoReturn:
        self._refuse()

    def _read(self, what: str) -> NoReturn:
        raise self._unknown(what)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise self._unknown("the values")

    def __len__(self) -> NoReturn:
        raise self._unknown("the number")

    def __iter__(self) -> NoReturn:
        raise self._unknown("each")

    def __getitem__(self, index: Any) -> NoReturn:
        raise self._unknown("some")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._unknown(f"x.{name}", MissingAttributeError)

    def __repr__(self) -> str:
        return f"Chosen({self.whole!r}, by a mask of type {self.mask.values.type})"

    def astype(self, dtype: Any) -> Chosen:
        """Return the elements converted."""
        return Chosen(convert(self.whole, dtype), self.mask)

    def copy(self) -> Chosen:
        """Return the elements: nothing writes into them."""
        return self

    def _each(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """Apply to all elements of the region what acts on each alone."""
        found = function(*[self.mask.spread(operand) for operand in operands])
        return tuple([Chosen(x, self.mask) for x in found]) if isinstance(found, tuple) else Chosen(found, self.mask)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or ufunc.signature is not None or kwargs:
            raise self._unknown(f"np.{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}")
        chosen: Chosen = next(x for x in inputs if isinstance(x, Chosen))
        return chosen._each(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _OF_ELEMENTS:
            raise self._unknown(f"np.{function.__name__}")
        given = {key: value for key, value in kwargs.items() if value is not None}
        if "out" in given or any(isinstance(value, TracedArray) for value in given.values()):
            raise self._unknown(f"np.{function.__name__} with {', '.join(given)}=")
        chosen: Chosen = next(x for x in args if isinstance(x, Chosen))
        return chosen._each(lambda *each: call_function(function, each, given), args)

    def became(self, name: str, found: Chosen) -> Chosen:
        """Return the result of an operation in place, which keeps dtype and shape.

        Raises:
            TracingError: if it cannot be cast.
            ShapeError: if it has more elements.
        """
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise TracingError(
                f"Cannot cast {name!r} output from {found.dtype!r} to {self.dtype!r} with casting rule 'same_kind'",
                why="An array keeps its dtype when it is written to.",
                fix="make it an array of floats: np.zeros(3), np.array([1.0, 2.0]), y.astype(float).",
            )
        if found.whole.shape != self.whole.shape:
            raise ShapeError(
                f"{name}: the result does not fit the elements that it is written into",
                fix="write one number, or one for each element that is chosen.",
            )
        return found if found.dtype == self.dtype else found.astype(self.dtype)


def _operators(ufunc: np.ufunc) -> tuple[Any, Any, Any]:
    """Return the methods of an operator: forward, reflected, in place."""

    def forward(self: Chosen, other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self, other)

    def reflected(self: Chosen, other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", other, self)

    def in_place(self: Chosen, other: Any) -> Any:
        return self.became(ufunc.__name__, forward(self, other))

    return forward, reflected, in_place


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "matmul": np.matmul,
}.items():  # fmt: skip
    for _prefix, _method in zip(("", "r", "i"), _operators(_ufunc), strict=True):
        setattr(Chosen, f"__{_prefix}{_name}__", _method)
for _name, _ufunc in {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}.items():  # fmt: skip
    setattr(Chosen, f"__{_name}__", _operators(_ufunc)[0])
for _name in ("neg", "pos", "abs", "invert"):
    setattr(
        Chosen, f"__{_name}__", partialmethod(lambda self, apply: self._each(apply, (self,)), getattr(operator, _name))
    )
