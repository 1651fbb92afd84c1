"""Calls of NumPy's functions that are known: with the same arguments they record the same, and need not be made again.

What a function of NumPy's records of traced arrays, numbers and small arrays follows from these alone, unless it reads
a value. So a later recording compares the arguments, exactly, and goes on behind what was recorded: nothing is promoted
or broadcast, and no axis is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign
from typing import Any, NamedTuple

import numpy as np

from primad.ir.node import Trace
from primad.recording.traced_array import TracedArray
from primad.system.machine import LOOP_ELEMENTS

_EQUAL = frozenset((int, bool, str, type(None), type(Ellipsis)))
_SAME = frozenset((type, type(np._NoValue)))
_SCALARS = frozenset(np.dtype(char).type for char in "?bhilqBHILQefdFD")
_OF_NUMBERS = "biufc"

Form = tuple[Any, Any]
"""What an argument must be: its class, and what tells it from others of the class."""


class KnownCall(NamedTuple):
    """A call, and what it recorded.

    Attributes:
        function: what was called.
        given: the forms of its arguments.
        names, named: the names of its arguments by name, and their forms.
        end: how many notes there were after it.
        answers: the numbers of its results.
        view: gives the result as a view of the first argument; None if it is none.
        several: makes what it returned of several results; None of one.
    """

    function: Any
    given: Sequence[Form]
    names: tuple[str, ...]
    named: Sequence[Form]
    end: int
    answers: Sequence[int]
    view: Callable[..., Any] | None
    several: Callable[[Sequence[TracedArray]], Any] | None

    def is_made(self, function: Any, args: Sequence[Any], options: dict[str, Any], trace: Trace) -> bool:
        """Say whether a call of a later recording is the same."""
        if self.function is not function or not fit(self.given, args, trace):
            return False
        return (not options and not self.names) or (
            self.names == tuple(options) and fit(self.named, tuple(options.values()), trace)
        )


def results_of(found: Any) -> tuple[Sequence[Any], Callable[[Sequence[TracedArray]], Any] | None]:
    """Return the results that a call returned, and what makes a tuple or list of them; None of one."""
    kind = type(found)
    if kind is tuple or kind is list:
        return found, kind
    make = getattr(kind, "_make", None) if isinstance(found, tuple) else None  # NumPy's tuples with names
    return ((found,), None) if make is None else (found, make)


def forms_of(values: Sequence[Any], trace: Trace) -> list[Form] | None:
    """Return the forms of arguments; None where something is not told apart by one, as a function of the user's."""
    found: list[Form] = []
    for value in values:
        kind = type(value)
        if kind in _EQUAL or kind in _SAME or isinstance(value, np.dtype):
            found.append((kind, value))
            continue
        content = _content_of(value, kind, trace)
        if content is None:
            return None
        found.append((kind, content))
    return found


def _content_of(value: Any, kind: type, trace: Trace) -> Any:
    """Return what tells a value from others of its class; None where nothing does."""
    if kind is TracedArray:
        return value.node.index if value.node.trace is trace else None
    if kind is float:
        return value, copysign(1.0, value)
    if kind is tuple or kind is list or kind is slice:
        return forms_of(_parts(value), trace)
    if kind is np.ndarray:
        return _of_array(value)
    return value.tobytes() if kind in _SCALARS else None


def fit(forms: Sequence[Form], values: Sequence[Any], trace: Any) -> bool:
    """Say whether values have the given forms, to the last bit."""
    if len(forms) != len(values):
        return False
    for (kind, content), value in zip(forms, values, strict=True):
        if type(value) is not kind:
            return False
        if kind is TracedArray:
            same = value.node.index == content and value.node.trace is trace
        elif kind is float:  # a NaN is never the same, which costs no more than time
            same = value == content[0] and (value or copysign(1.0, value) == content[1])
        else:
            same = value == content if kind in _EQUAL else _fits_other(kind, content, value, trace)
        if not same:
            return False
    return True


def _fits_other(kind: type, content: Any, value: Any, trace: Trace) -> bool:
    if kind is tuple or kind is list or kind is slice:
        return fit(content, _parts(value), trace)
    if kind is np.ndarray:
        dtype, shape, strides, said = content
        return (
            value.dtype is dtype and value.shape == shape and value.strides == strides and bool(value.tobytes() == said)
        )
    return bool(value.tobytes() == content) if kind in _SCALARS else value is content


def _parts(value: Any) -> Sequence[Any]:
    return (value.start, value.stop, value.step) if type(value) is slice else value


def _of_array(value: np.ndarray[Any, Any]) -> Any:
    """Return what tells an array from others; None of a long one, beside which it does not matter what a call takes."""
    if value.size > LOOP_ELEMENTS or value.dtype.kind not in _OF_NUMBERS:
        return None
    return value.dtype, value.shape, value.strides, value.tobytes()
