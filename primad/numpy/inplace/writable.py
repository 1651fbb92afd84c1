"""The array that is written to while a function is recorded: functional updates behind a mutable face."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from primad.errors import MissingAttributeError, ShapeError, TracingError
from primad.numpy.inplace.buffer_contents import Numbers, known
from primad.numpy.inplace.seen import VIEWS
from primad.numpy.inplace.views import ArrayView, check_cast
from primad.numpy.promotion import any_traced, as_traced, convert, joined
from primad.numpy.shapes.index_updates import add_at, set_at
from primad.recording.foreign import plain
from primad.recording.protocols import WRITERS
from primad.recording.traced_array import TracedArray, settled

_VIEW_METHODS = frozenset(
    ("conj", "conjugate", "diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose", "view")
)
_OF_MEMORY = frozenset(("flags", "itemsize", "nbytes", "setflags", "strides"))
_OF_PLACES = {
    **dict.fromkeys(
        ("base", "ctypes", "data", "getfield", "setfield"), "np.array(y) is a plain copy of known numbers."
    ),
    "resize": "y = primad.numpy.resize(y, shape) is a copy of another size.",
}
"""Attributes that are about the place in memory, and what to write instead."""
_WRITING: dict[Any, tuple[int, str]] = {
    np.copyto: (1, "src"), np.fill_diagonal: (1, "val"), np.place: (2, "vals"), np.put: (2, "v"),
    np.put_along_axis: (2, "values"), np.putmask: (2, "values"),
}  # fmt: skip
"""Functions of NumPy's that write into their first argument, and where they take what they write."""
WRITERS.update(_WRITING)
_FIRST: dict[Any, str] = {
    np.copyto: "dst", np.fill_diagonal: "a", np.imag: "val", np.nan_to_num: "x", np.place: "arr", np.put: "a",
    np.put_along_axis: "arr", np.putmask: "a", np.real: "val", np.real_if_close: "a",
}  # fmt: skip
"""Functions that do something else with an array that may be written to, and the name of the argument that it is."""
_CASTING = {np.copyto: "same_kind", np.putmask: "safe"}
"""By which rule they cast, where it is not that of assignment."""
_LIKE_UFUNCS = frozenset((np.clip, np.fix, np.isneginf, np.isposinf))
"""Functions whose result is broadcast into `out`."""


class WritableArray(ArrayView):
    """An array of the function that is being recorded which behaves as NumPy's do: its elements can be written.

    It holds plain numbers until a traced value is written into it, and is a plain array to whoever asks for numbers
    that are known. Basic slices, transposes and reshapes are views that write through, as NumPy's are.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in _OF_MEMORY:
            return getattr(self._view, name)
        if name in _OF_PLACES:
            raise MissingAttributeError(
                f"y.{name} of an array that primad.numpy made in a recording",
                why="It is about a place in memory, and traced values that are written have none.",
                fix=_OF_PLACES[name],
            )
        if name.startswith("_"):  # what NumPy, copy and notebooks look for
            raise AttributeError(name)
        found = getattr(self._view if name in _VIEW_METHODS else _plain(self), name)  # which refuses what it has not
        if not callable(found):
            return found

        def bound(*args: Any, **kwargs: Any) -> Any:
            method = getattr(np.ndarray, name, None)
            out, given, options = _without(method, "out", (self, *args), kwargs)
            result = _called(partial(_call_method, name), given, options, name in _VIEW_METHODS)
            return result if out is None else _written(name, out, result, name == "clip")

        bound.__name__ = name
        return bound

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_OF_MEMORY})

    def __str__(self) -> str:
        return str(_plain(self))

    def __repr__(self) -> str:
        return repr(_plain(self))

    def __format__(self, spec: str) -> str:
        return format(_plain(self), spec)

    # -- values --------------------------------------------------------------------------------------------------------

    def _read(self, what: str) -> Numbers:
        now = self.__settled__()
        return now._read(what) if type(now) is TracedArray else now

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        now = self.__settled__()
        if type(now) is TracedArray:
            if not self.shape and self.dtype.kind in "fc":  # NumPy's array of objects would hold what is written later
                raise now._lost("np.asarray(y) of an array that may be written to")
            return now.__array__(dtype, copy)
        if copy is False:
            raise ShapeError(
                "a plain array without a copy of an array that may be written to",
                why="Traced values that are written into the one would not be seen in the other.",
                fix="np.array(y) is a copy.",
            )
        return np.array(now, dtype, copy=copy)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def copy(self, order: str = "C") -> Any:
        """Return a copy."""
        return self.made(_plain(self))

    def flatten(self, order: str = "C") -> Any:
        """Return a copy in one axis."""
        return self.made(_plain(self).flatten(order))

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Return a copy of another dtype; without `copy`, the array itself if it has it."""
        if not copy and self.dtype == dtype:
            return self
        return self.made(_plain(self).astype(dtype, casting=casting))

    def item(self, *args: Any) -> Any:
        """Return an element that is a plain number."""
        return _plain(self).item(*args)

    def tolist(self) -> Any:
        """Return the elements, where they are plain numbers, as a list."""
        return _plain(self).tolist()

    def fill(self, value: Any) -> None:
        """Write one value into all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Sort in place."""
        self[...] = np.sort(self.__settled__(), axis)

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
        """Sort in place so far that the k-th elements are in their places."""
        self[...] = np.partition(self.__settled__(), kth, axis)

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write values at places of the flattened array."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    # -- NumPy's protocols ---------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "at":
            return _at(ufunc, *inputs)
        out = kwargs.pop("out", None)
        given = {key: settled(value) for key, value in kwargs.items()}
        if out is not None and not any(type(target) is WritableArray for target in out):
            given["out"], out = out, None
        if out is not None and method == "__call__" and given.get("where", True) is not True:
            return _where(ufunc, inputs, out, **given)
        found = WritableArray.live(getattr(ufunc, method)(*settled(inputs), **given))
        if out is None:
            return found
        rest = (method in ("__call__", "outer"), given.get("casting", "same_kind"))
        if not isinstance(found, tuple):
            return _written(ufunc.__name__, out[0], found, *rest)
        pairs = zip(out, found, strict=True)
        return tuple([y if to is None else _written(ufunc.__name__, to, y, *rest) for to, y in pairs])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.shares_memory, np.may_share_memory):
            return function(*[x._view if type(x) is WritableArray else x for x in args], **kwargs)
        if _FIRST.get(function) in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop(_FIRST[function]),)
        if function in _WRITING and type(args[0]) is WritableArray:
            return args[0]._write(function, args[1:], kwargs)
        if function in (np.real, np.imag):
            return args[0].imag if function is np.imag else args[0].real
        if function is np.real_if_close:
            return function(settled(args[0]), *args[1:], **kwargs) if args[0].dtype.kind == "c" else args[0]
        if function is np.nan_to_num:
            copied, args, kwargs = _without(function, "copy", args, kwargs)
            if copied is not None and not copied:
                return args[0].take_over("nan_to_num", function(args[0], **kwargs))
        out, args, kwargs = _without(function, "out", args, kwargs)
        found = _called(function, args, kwargs, function in VIEWS)
        return found if out is None else _written(function.__name__, out, found, function in _LIKE_UFUNCS)

    def _write(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Do what a function of NumPy's does that writes: it is asked which values it puts where."""
        place, name = _WRITING[function]
        args, kwargs = list(known(tuple(args))), {key: known(item) for key, item in kwargs.items()}
        value = settled(args[place - 1] if len(args) >= place else kwargs[name])
        value = joined(value) if any_traced([value]) else plain(value)
        casting = kwargs.pop("casting", _CASTING.get(function, "unsafe"))
        check_cast(function.__name__, value.dtype, self.dtype, casting)
        mask = _mask_of(function, args, kwargs)
        if type(mask) is TracedArray:
            if value.size > 1 and function is not np.copyto and (function is np.place or value.shape != self.shape):
                raise TracingError(
                    f"np.{function.__name__} of {value.size} values at a mask whose values are not known",
                    fix="one number goes everywhere; y[...] = primad.numpy.where(mask, v, y) takes a v of y's shape.",
                )
            now = TracedArray(self.node)
            given = convert(as_traced(value.reshape(()) if value.size == 1 else value, now), self.dtype)
            self[...] = np.where(mask, given, now)
            return
        numbers = np.arange(value.size).reshape(value.shape)
        if len(args) >= place:
            args[place - 1] = numbers
        else:
            kwargs[name] = numbers
        self.mark(lambda marks: function(marks, *settled(tuple(args)), **kwargs), value)


writable = WritableArray.made


def _plain(value: Any) -> Any:
    """Return an operand of a call: the numbers themselves, to be read, where they are known; so in lists and tuples."""
    if type(value) is WritableArray:
        numbers = value.numbers
        return settled(value) if numbers is None else numbers
    return type(value)(map(_plain, value)) if type(value) is list or type(value) is tuple else value


def _views(value: Any, found: list[WritableArray]) -> Any:
    """Return an operand with arrays replaced by their views of numbers, and add the arrays to a list."""
    if type(value) is WritableArray:
        found.append(value)
        return value._view
    return type(value)([_views(item, found) for item in value]) if type(value) in (list, tuple) else value


def _mask_of(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the mask of a function of NumPy's that writes at one."""
    if function is np.copyto:
        return args[2] if len(args) > 2 else kwargs.get("where")
    return (args[0] if args else kwargs.get("mask")) if function in (np.place, np.putmask) else None


def _called(call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], moves: bool) -> Any:
    """Call a function of NumPy's; what it gives that shares memory with the arrays is a view of them.

    Args:
        call: the function.
        args: its arguments.
        kwargs: those by name.
        moves: whether it does no more than move elements, so that NumPy can say what is a view whatever they are.
    """
    arrays: list[WritableArray] = []
    shown = [_views(value, arrays) for value in (*args, *kwargs.values())]
    if moves and not any_traced(shown):
        with np.errstate(all="ignore"):  # of elements that are not known
            found = call(*shown[: len(args)], **dict(zip(kwargs, shown[len(args) :], strict=True)))
        parts = found if isinstance(found, (list, tuple)) else [found]
        if all(any(np.may_share_memory(part, array._view) for array in arrays) or not np.size(part) for part in parts):
            return WritableArray.live(found, *arrays)
    found = call(*map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})
    return WritableArray.made(found) if moves else WritableArray.live(found, *arrays)


def _call_method(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    return getattr(array, name)(*args, **kwargs)


def _without(function: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Sequence[Any], Any]:
    """Return an array or option that a call was given, None if there is none, and its other arguments."""
    if name in kwargs:
        return kwargs[name], args, {key: value for key, value in kwargs.items() if key != name}
    names: list[str] = []
    if len(args) > 1:
        with suppress(ValueError, TypeError):  # of a function that does not say what it takes
            for parameter in inspect.signature(function).parameters.values():
                if parameter.kind is parameter.VAR_POSITIONAL:
                    break
                names.append(parameter.name)
    place = names.index(name) if name in names else len(args)
    if place >= len(args):
        return None, args, kwargs
    later = dict(zip(names[place + 1 :], args[place + 1 :], strict=False))
    return args[place], args[:place], {**kwargs, **later}


def _written(name: str, out: Any, found: Any, spreads: bool = False, casting: Any = "same_kind") -> Any:
    """Write a result into an array."""
    if type(out) is WritableArray:
        return out.take_over(name, found, casting, spreads)
    out[...] = found
    return out


def _where(ufunc: Any, inputs: Sequence[Any], out: Sequence[Any], where: Any, **options: Any) -> Any:
    """Do what a ufunc does that writes where a mask is true: nothing is computed elsewhere."""
    mask = known(where)
    if isinstance(mask, TracedArray):
        raise TracingError(f"np.{ufunc.__name__} with out= and a traced where=", fix="use primad.numpy.where.")
    shape = out[0].shape
    mask = np.broadcast_to(mask, shape)
    given = [settled(x) if np.ndim(x) == 0 else np.broadcast_to(settled(x), shape)[mask] for x in inputs]
    casting = options.get("casting", "same_kind")
    found = ufunc(*given, **options)
    for target, part in zip(out, found if isinstance(found, tuple) else [found], strict=True):
        check_cast(ufunc.__name__, part.dtype, target.dtype, casting)
        target[mask] = part
    return tuple(out) if len(out) > 1 else out[0]


def _at(ufunc: Any, target: Any, index: Any, *values: Any) -> None:
    """Do what a ufunc's method `at` does: where an index repeats, one application follows the other."""
    if type(target) is not WritableArray:
        raise TracingError(f"np.{ufunc.__name__}.at with traced values", fix="primad.numpy.add_at returns a copy.")
    values = settled(values)
    if ufunc in (np.add, np.subtract):
        given = values[0].dtype if isinstance(values[0], TracedArray) else np.asarray(values[0]).dtype
        check_cast(f"{ufunc.__name__}.at", given, target.dtype)
        target[...] = add_at(target, index, values[0] if ufunc is np.add else -values[0])
        return
    places = np.arange(target.size).reshape(target.shape)[known(index)]
    flat = places.reshape(-1)
    operands = [np.broadcast_to(value, places.shape).reshape(-1) for value in values]
    before = np.zeros(flat.size, int)
    order = np.argsort(flat, kind="stable")
    starts = np.flatnonzero(np.diff(flat[order], prepend=-1))
    before[order] = np.arange(flat.size) - np.repeat(starts, np.diff([*starts, flat.size]))
    found = settled(target).reshape(-1)
    for turn in range(before.max(initial=0) + 1):
        now = np.flatnonzero(before == turn)
        changed = ufunc(found[flat[now]], *[operand[now] for operand in operands])
        check_cast(f"{ufunc.__name__}.at", changed.dtype, target.dtype)
        found = set_at(found, flat[now], changed)
    target[...] = found.reshape(target.shape)


# -- operators ---------------------------------------------------------------------------------------------------------


def _forward(operation: Callable[..., Any]) -> Any:
    def apply(self: WritableArray, *others: Any) -> Any:
        return WritableArray.live(operation(self.__settled__(), *settled(others)))

    return apply


def _reflected(operation: Callable[..., Any]) -> Any:
    def apply(self: WritableArray, other: Any) -> Any:
        return WritableArray.live(operation(settled(other), self.__settled__()))

    return apply


def _in_place(ufunc: np.ufunc) -> Any:
    def apply(self: WritableArray, other: Any) -> Any:
        return self.take_over(ufunc.__name__, ufunc(self.__settled__(), settled(other)))

    return apply


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift divmod"
for _name in _OPERATORS.split():
    _operation, _plain_name = getattr(operator, _name, divmod), _name.rstrip("_")
    setattr(WritableArray, f"__{_plain_name}__", _forward(_operation))
    setattr(WritableArray, f"__r{_plain_name}__", _reflected(_operation))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "index"):
    setattr(WritableArray, f"__{_name}__", _forward(getattr(operator, _name)))
for _conversion in (bool, int, float, complex, round):
    setattr(WritableArray, f"__{_conversion.__name__}__", _forward(_conversion))
for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}.items():  # fmt: skip
    setattr(WritableArray, f"__i{_name}__", _in_place(_ufunc))
