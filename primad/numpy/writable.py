"""The array that is written to while a function is recorded: functional updates behind a mutable face."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.numpy.flat import Flat
from primad.numpy.indexing import add_at
from primad.numpy.memory import ArrayMemory, Numbers, is_basic, items, known, updated, with_dots
from primad.numpy.promotion import any_traced, convert, joined
from primad.recording import RECORDING
from primad.trace import TracedArray, lift, settled
from primad.types import ArrayType

_VIEWS = frozenset((
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.array_split, np.broadcast_to, np.diagonal, np.dsplit,
    np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.matrix_transpose, np.moveaxis, np.ravel, np.real,
    np.reshape, np.rollaxis, np.rot90, np.split, np.squeeze, np.swapaxes, np.transpose, np.unstack, np.vsplit,
))  # fmt: skip
"""Functions of NumPy's that give views, where they can."""
_VIEW_METHODS = frozenset(("diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose"))
_OF_MEMORY = frozenset(("flags", "itemsize", "nbytes", "strides"))
_WRITING: dict[Any, tuple[int, str]] = {
    np.copyto: (1, "src"), np.fill_diagonal: (1, "val"), np.place: (2, "vals"), np.put: (2, "v"),
    np.put_along_axis: (2, "values"), np.putmask: (2, "values"),
}  # fmt: skip
"""Functions of NumPy's that write into their first argument, and where they take what they write."""
_CASTING = {np.copyto: "same_kind", np.putmask: "safe"}
"""By which rule they cast, where it is not that of assignment."""


def writable(array: Any) -> Any:
    """Return a fresh array as one that traced values can be written into, where a function is being recorded.

    Args:
        array: an array that nothing else refers to, or a traced array. Outside of a recording, and where its dtype is
            not one of traced arrays, it is returned as it is.
    """
    trace = RECORDING.get()
    if trace is None:
        return array
    if isinstance(array, TracedArray):
        array = settled(array)
    if type(array) is TracedArray:
        numbers = np.empty(array.shape, array.dtype)
        return WritableArray(ArrayMemory(numbers, trace, array), numbers)
    if type(array) is not np.ndarray or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return array
    if array.flags.c_contiguous:
        return WritableArray(ArrayMemory(array, trace), array)
    numbers = array.T if array.flags.f_contiguous else array.copy("C")
    return WritableArray(ArrayMemory(numbers, trace), numbers.T if array.flags.f_contiguous else numbers)


def _fresh(found: Any) -> Any:
    """Return the result of a function, writable where it is a plain array."""
    if type(found) is list or type(found) is tuple:
        return type(found)([_fresh(item) for item in found])
    return writable(found) if type(found) is np.ndarray and found.flags.writeable and found.ndim else found


def _forward(operation: Callable[..., Any]) -> Any:
    def apply(self: WritableArray, *others: Any) -> Any:
        return _fresh(operation(self.__settled__(), *settled(others)))

    return apply


def _reflected(operation: Callable[..., Any]) -> Any:
    def apply(self: WritableArray, other: Any) -> Any:
        return _fresh(operation(settled(other), self.__settled__()))

    return apply


def _in_place(ufunc: np.ufunc) -> Any:
    def apply(self: WritableArray, other: Any) -> Any:
        return self._take(ufunc.__name__, ufunc(self.__settled__(), settled(other)))

    return apply


class WritableArray(TracedArray):
    """An array of the function that is being recorded which behaves as NumPy's do: its elements can be written.

    It holds plain numbers until a traced value is written into it, and is a plain array to whoever asks for numbers
    that are known. Basic slices, transposes and reshapes are views that write through, as NumPy's are.
    """

    __slots__ = ("_memory", "_view")
    mutable = True

    def __init__(self, memory: ArrayMemory, view: Numbers) -> None:
        self._memory = memory
        self._view = view

    def __settled__(self) -> Any:
        return self._memory.get(self._view, ...)

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Any:  # type: ignore[override]
        """The node of what it holds now."""
        now = self.__settled__()
        return lift(now, RECORDING.get() or self._memory.trace)

    @property
    def type(self) -> ArrayType:
        """Shape and dtype together."""
        return ArrayType(self._view.shape, self._view.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; assigned to, it reshapes in place."""
        lengths: tuple[int, ...] = self._view.shape
        return lengths

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._view = self._viewed(self._view.reshape(shape), f"shape {shape} needs a copy")._view

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        found: np.dtype[Any] = self._view.dtype
        return found

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._view.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._view.size

    @property
    def T(self) -> TracedArray:
        """A view with its axes reversed."""
        return WritableArray(self._memory, self._view.T)

    @property
    def mT(self) -> TracedArray:
        """A view with its last two axes exchanged."""
        return WritableArray(self._memory, self._view.mT)

    @property
    def real(self) -> TracedArray:
        """The array itself: its elements are real."""
        return self

    def _viewed(self, found: Numbers, otherwise: str) -> WritableArray:
        if found.size and not np.may_share_memory(found, self._view):
            raise AttributeError(otherwise)
        return WritableArray(self._memory, found)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_MEMORY:
            return getattr(self._view, name)
        if name.startswith("_"):  # what NumPy, copy and notebooks look for
            raise AttributeError(name)
        now = self.__settled__()
        found = getattr(now, name)  # which says what there is instead, where there is none
        if not callable(found):
            return found

        def bound(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            if name in _VIEW_METHODS:
                view = getattr(self._view, name)(*args, **kwargs)
                if np.may_share_memory(view, self._view):
                    return WritableArray(self._memory, view)
            given = {key: settled(value) for key, value in kwargs.items()}
            fresh = writable if name in _VIEW_METHODS else _fresh
            result = fresh(getattr(self.__settled__(), name)(*settled(args), **given))
            return result if out is None else _written(name, out, result)

        return bound

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_OF_MEMORY})

    def __str__(self) -> str:
        return str(self.__settled__())

    def __repr__(self) -> str:
        return repr(self.__settled__())

    def __format__(self, spec: str) -> str:
        return format(self.__settled__(), spec)

    # -- values --------------------------------------------------------------------------------------------------------

    def _value(self, what: str) -> Numbers:
        now = self.__settled__()
        return now._value(what) if type(now) is TracedArray else now

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        now = self.__settled__()
        return np.array(now, dtype) if type(now) is not TracedArray else now.__array__(dtype, copy)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def copy(self, order: str = "C") -> Any:
        """Return a copy."""
        return writable(self.__settled__())

    def flatten(self, order: str = "C") -> Any:
        """Return a copy in one axis."""
        return writable(self.__settled__().flatten(order))

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Return a copy of another dtype; without `copy`, the array itself if it has it."""
        if not copy and self.dtype == dtype:
            return self
        return writable(self.__settled__().astype(dtype, casting=casting))

    __bool__ = _forward(bool)
    __int__ = _forward(int)
    __float__ = _forward(float)
    __complex__ = _forward(complex)
    __index__ = _forward(operator.index)
    __round__ = _forward(round)
    __neg__, __pos__, __abs__ = _forward(operator.neg), _forward(operator.pos), _forward(abs)
    __invert__, __divmod__, __rdivmod__ = _forward(operator.invert), _forward(divmod), _reflected(divmod)

    def item(self, *args: Any) -> Any:
        """Return an element that is a plain number."""
        return self.__settled__().item(*args)

    def tolist(self) -> Any:
        """Return the elements, where they are plain numbers, as a list."""
        return self.__settled__().tolist()

    # -- reading and writing -------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        index = known(index)
        if any(type(item) is TracedArray for item in items(index)):
            return TracedArray(self.node)[index]
        if is_basic(index):
            part = self._view[index]
            return (
                WritableArray(self._memory, part)
                if isinstance(part, np.ndarray)
                else self._memory.get(self._view, index)
            )
        return writable(self._memory.get(self._view, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check_recording()
        index = known(index)
        if type(value) is WritableArray and value._memory is self._memory and is_basic(index):
            part = self._view[with_dots(index)]
            if part.__array_interface__ == value._view.__array_interface__:
                return  # y[i] += v has written already
        value = settled(value)
        if any(type(item) is TracedArray for item in items(index)):
            self._memory.put(self._view, ..., convert(updated(TracedArray(self.node), index, value), self.dtype))
        elif any_traced([value]):
            self._memory.put(self._view, index, convert(joined(value), self.dtype))
        else:
            self._memory.put_numbers(self._view, index, value)

    def _check_recording(self) -> None:
        """Raise unless the array may be written to now."""
        if not self._view.flags.writeable:
            raise ValueError("assignment destination is read-only")
        now, own = RECORDING.get(), self._memory.trace
        if now is own or (now is None and not self._memory.pieces):
            return
        raise TracingError(
            "an array was written to in another recording than the one that made it",
            why="A function inside the one that made it is being recorded (by grad, jit, vmap, scan, …), or its own "
            "recording has ended: what is written now would leave that function, or happen once instead of each time.",
            fix="copy it there first, y = primad.numpy.copy(y), and return the copy.",
        )

    def _take(self, name: str, found: Any) -> WritableArray:
        """Become the result of an operation, as NumPy's arrays do for `+=` and `out=`."""
        if np.shape(found) != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast shape "
                f"{np.shape(found)}"
            )
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise self._cannot_cast(name, found.dtype)
        self[...] = found
        return self

    def _cannot_cast(self, name: str, dtype: Any) -> TracingError:
        return TracingError(
            f"Cannot cast {name!r} output from {dtype!r} to {self.dtype!r} with casting rule 'same_kind'",
            why="An array keeps its dtype when it is written to.",
            fix="make it an array of floats: np.zeros(3), np.array([1.0, 2.0]), y.astype(float).",
        )

    def fill(self, value: Any) -> None:
        """Write one value into all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Sort in place."""
        self[...] = np.sort(self.__settled__(), axis)

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write values at places of the flattened array."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    @property
    def flat(self) -> Any:
        """All elements in a row, to be read, written and iterated over."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    # -- NumPy's protocols ---------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "at":
            return self._at(ufunc, *inputs)
        out = kwargs.pop("out", None)
        given = {key: settled(value) for key, value in kwargs.items()}
        if out is not None and not any(type(target) is WritableArray for target in out):
            given["out"], out = out, None
        found = _fresh(getattr(ufunc, method)(*settled(inputs), **given))
        if out is None:
            return found
        if not isinstance(found, tuple):
            return _written(ufunc.__name__, out[0], found)
        return tuple([y if to is None else _written(ufunc.__name__, to, y) for to, y in zip(out, found, strict=True)])

    def _at(self, ufunc: Any, target: Any, index: Any, *values: Any) -> None:
        if type(target) is not WritableArray or ufunc not in (np.add, np.subtract):
            raise TracingError(f"np.{ufunc.__name__}.at with traced values", fix="primad.numpy.add_at returns a copy.")
        value = settled(values[0]) if ufunc is np.add else -settled(values[0])
        dtype = value.dtype if isinstance(value, TracedArray) else np.asarray(value).dtype
        if not np.can_cast(dtype, target.dtype, "same_kind"):
            raise target._cannot_cast(f"{ufunc.__name__}.at", dtype)
        target[...] = add_at(target, index, value)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _WRITING and type(args[0]) is WritableArray:
            return args[0]._write(function, args[1:], kwargs)
        if function in _VIEWS and type(args[0]) is WritableArray:
            views = args[0]._views(function, settled(args[1:]), kwargs)
            if views is not None:
                return views
        out = kwargs.get("out")
        given = {key: settled(value) for key, value in kwargs.items() if key != "out" or type(out) is not WritableArray}
        found = (writable if function in _VIEWS else _fresh)(function(*settled(tuple(args)), **given))
        return _written(function.__name__, out, found) if type(out) is WritableArray else found

    def _views(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the views that a function gives; None where it has to copy."""
        found = function(self._view, *args, **kwargs)
        parts = found if isinstance(found, (list, tuple)) else [found]
        if not all(isinstance(part, np.ndarray) and np.may_share_memory(part, self._view) for part in parts):
            return None
        views = [WritableArray(self._memory, part) for part in parts]
        return type(found)(views) if isinstance(found, (list, tuple)) else views[0]

    def _write(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Do what a function of NumPy's does that writes: it is asked which values it puts where."""
        place, name = _WRITING[function]
        args = list(args)
        value = settled(args[place - 1] if len(args) >= place else kwargs[name])
        value = joined(value) if any_traced([value]) else np.asarray(value)
        rule = kwargs.pop("casting", _CASTING.get(function, "unsafe"))
        if not np.can_cast(value.dtype, self.dtype, rule):
            raise TracingError(
                f"np.{function.__name__} cannot cast from {value.dtype} to {self.dtype} by the rule {rule!r}"
            )
        numbers = np.arange(value.size).reshape(value.shape)
        if len(args) >= place:
            args[place - 1] = numbers
        else:
            kwargs = {**kwargs, name: numbers}
        self.mark(lambda marks: function(marks, *settled(tuple(args)), **kwargs), value)

    def mark(self, write: Callable[[Numbers], Any], value: Any) -> None:
        """Write the values whose numbers `write` puts into an array of this shape."""
        marks = np.full(self.shape, -1)
        write(marks)
        hit = marks >= 0
        self[hit] = value.reshape(-1)[marks[hit]]


def _written(name: str, out: Any, found: Any) -> Any:
    if type(out) is WritableArray:
        return out._take(name, found)
    out[...] = found
    return out


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift"
for _name in _OPERATORS.split():
    _operation, _plain = getattr(operator, _name), _name.rstrip("_")
    setattr(WritableArray, f"__{_plain}__", _forward(_operation))
    setattr(WritableArray, f"__r{_plain}__", _reflected(_operation))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(WritableArray, f"__{_name}__", _forward(getattr(operator, _name)))
for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}.items():  # fmt: skip
    setattr(WritableArray, f"__i{_name}__", _in_place(_ufunc))
