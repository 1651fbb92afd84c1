"""What stands for values in the keys of caches: values that Python can tell apart have different keys.

`==` is not enough: it takes 2 for 2.0 and for True and 0.0 for −0.0, finds NaN nowhere, and a class may define it as it
likes.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from inspect import signature
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.recording import tree
from primad.recording.traced_array import TracedArray

_ATOMS = frozenset([str, bytes, int, bool, type(None), type(Ellipsis), type(NotImplemented)])


class _Same:
    """The key of an object that is equal to itself only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


class _NotComparableError(Exception):
    """There is no key for a value, for a reason."""


def exact_key(value: Any) -> Hashable:
    """Return the key of a value.

    Numbers are told apart by type and bits, containers by their items in order, objects with an equality of their own
    by what pickling would write. Other objects are equal to themselves only, whatever their attributes are.
    """
    kind = type(value)
    if kind in _ATOMS:
        return kind, value
    if kind is float:
        return kind, struct.pack("d", value)
    if isinstance(value, np.generic):
        return kind, value.dtype.str, value.tobytes()
    if kind is tuple or kind is list or kind is frozenset or kind is set:
        return kind, tuple([exact_key(item) for item in value])
    if kind is dict:
        return kind, tuple([(exact_key(key), exact_key(item)) for key, item in value.items()])
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if kind is slice or kind is range:
        return kind, exact_key(value.start), exact_key(value.stop), exact_key(value.step)
    if kind is MethodType:
        return kind, exact_key(value.__self__), _Same(value.__func__)
    if isinstance(value, (np.ndarray, TracedArray)):
        raise _NotComparableError("it is an array, or holds one")
    if isinstance(value, (type, Enum, FunctionType, BuiltinFunctionType, ModuleType)):
        return _Same(value)
    equality: Any = kind.__eq__
    if equality is object.__eq__ and kind is not functools.partial:
        return _Same(value)
    return kind, _state_key(value)


def _state_key(value: Any) -> Hashable:
    """Return the key of what pickling would write of an object."""
    try:
        found = value.__reduce_ex__(4)
    except Exception as error:  # whatever a class's own method raises
        name = type(value).__name__
        raise _NotComparableError(
            f"the class {name} has an equality of its own, and its instances cannot be pickled ({error})"
        ) from None
    if isinstance(found, str):
        return _Same(value)
    function, arguments, state, items, pairs = (*found, None, None, None)[:5]
    listed = None if items is None else list(items)
    named = None if pairs is None else list(pairs)
    return tuple([exact_key(part) for part in (function, arguments, state, listed, named)])


def static_key(function: Callable[..., Any], places: Sequence[int | str], values: Sequence[Any]) -> Hashable:
    """Return the key of the static arguments of a function, at positions and with names.

    Raises:
        TracingError: for one that is not hashable or cannot be compared.
    """
    keys = []
    for place, value in zip(places, values, strict=True):
        try:
            hash(value)
        except TypeError:
            raise TracingError(
                f"jit: the static argument {_named(function, place)} is not hashable: {value!r}",
                fix="pass a tuple for a list; arrays are arguments that are not static.",
            ) from None
        except RecursionError:
            raise _too_deep(function, place) from None
        try:
            keys.append(exact_key(value))
        except _NotComparableError as error:
            raise TracingError(
                f"jit: the static argument {_named(function, place)} of type {type(value).__name__} cannot be compared "
                "with those of earlier calls",
                why=f"{error}.".capitalize(),
                fix="pass numbers, strings, tuples or frozen dataclasses of them, or close over the object.",
            ) from None
        except RecursionError:
            raise _too_deep(function, place) from None
    return tuple(keys)


def comparable_key(values: Sequence[Any]) -> Hashable | None:
    """Return the key of values; None where one of them cannot be compared."""
    try:
        return tuple([exact_key(value) for value in values])
    except (_NotComparableError, RecursionError):
        return None


def _too_deep(function: Callable[..., Any], place: int | str) -> TracingError:
    return TracingError(
        f"jit: the static argument {_named(function, place)} is nested too deeply, or contains itself",
        fix="close over it instead.",
    )


def _named(function: Callable[..., Any], place: int | str) -> str:
    if isinstance(place, str):
        return repr(place)
    try:
        parameters = list(signature(function).parameters)
    except (TypeError, ValueError):  # ufuncs and other functions that do not tell
        parameters = []
    return repr(parameters[place]) if place < len(parameters) else str(place)


def is_nested(in_tree: Any) -> bool:
    """Say whether a structure of arguments is more than the tuple of both, the positional ones and the named ones."""
    return bool(in_tree.num_nodes - in_tree.num_leaves > 3)


def structure_key(structure: Any) -> Hashable:
    """Return what tells structures apart that are equal: the keys of their dicts, where these are not all strings.

    Those of {1: x} and {True: x} are equal.
    """
    paths = tree.paths(structure)
    if {type(entry) for path in paths for entry in path} <= {str, int}:
        return ()
    return tuple([tuple([exact_key(entry) for entry in path]) for path in paths])
