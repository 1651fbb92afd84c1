"""What NumPy would show as a view of what: noted of traced arrays, for the case that one of them is written to.

A traced array that nobody writes to needs no memory. What NumPy's functions give that move elements only is noted
beside the array that they were given, as a call that is repeated on memory once there is some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib import import_module
from operator import is_
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray

VIEWS = frozenset((
    np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays, np.broadcast_to, np.diag,
    np.diagonal, np.dsplit, np.einsum, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit,
    np.lib.stride_tricks.sliding_window_view, np.linalg.diagonal, np.linalg.matrix_transpose, np.matrix_transpose,
    np.moveaxis, np.ravel, np.reshape, np.rollaxis, np.rot90, np.split, np.squeeze,
    np.swapaxes, np.transpose, np.unstack, np.vsplit,
))  # fmt: skip
"""Functions of NumPy's that give views, where they can."""
_DEAD = 32
"""Views of an array that are noted before those that are gone are forgotten. Chosen: more than code holds at once."""


_OF_EACH = frozenset((np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays))
"""Functions of several arrays that give a view of each."""
_PARTS = frozenset((np.imag, np.real, np.real_if_close))
"""Functions that give parts of complex numbers, and a real array itself."""


class Origin(NamedTuple):
    """What an array is a view of.

    Attributes:
        base: the array.
        function: gives the view of it.
        args: arguments after the array.
        options: arguments by name.
        place: which of the function's results it is; None if it is the result.
    """

    base: TracedArray
    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]
    place: int | None = None

    def is_of(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Say whether it says no more than that a call with these arguments gave a view of the first one."""
        own = self.base, *self.args, *self.options.values()
        if self.place is not None or len(own) != len(args) + len(options) or [*self.options] != [*options]:
            return False
        return all(map(is_, own, (*args, *options.values())))

    def within(self, memory: np.ndarray[Any, Any]) -> Any:
        """Return what the function gives of the memory of the array."""
        found = self.function(memory, *self.args, **self.options)
        return found if self.place is None else found[self.place]


_OF: Any = vars(TracedArray)["_of"]
_SEEN: Any = vars(TracedArray)["_seen"]


def origin(x: TracedArray) -> Origin | None:
    """Return what an array is a view of; None for one of its own."""
    try:
        found: Origin = _OF.__get__(x)
    except AttributeError:
        return None
    return found


def views(x: TracedArray) -> list[TracedArray]:
    """Return the views of an array that are held somewhere."""
    try:
        noted = _SEEN.__get__(x)
    except AttributeError:
        return []
    return [each for each in (entry() for entry in noted) if each is not None]


def forget(x: TracedArray) -> None:
    """Forget what an array is a view of, and what views there are of it."""
    for slot in (_OF, _SEEN):
        try:
            slot.__delete__(x)
        except AttributeError:
            continue


def note(
    found: Any, base: TracedArray, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any],
    place: int | None = None,
) -> None:  # fmt: skip
    """Note that a result is a view of an array, if memory shows it."""
    if type(found) is not TracedArray or found is base:
        return
    _OF.__set__(found, Origin(base, function, args, options, place))
    try:
        noted = _SEEN.__get__(base)
    except AttributeError:
        noted = []
        _SEEN.__set__(base, noted)
    if len(noted) >= _DEAD and len(noted) & (len(noted) - 1) == 0:
        noted[:] = [entry for entry in noted if entry() is not None]
    noted.append(ref(found))


def as_numpys(own: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of traced arrays whose results are views, or arrays of their own, as those of NumPy's are."""
    give = _views_of if own in VIEWS or own in _PARTS else _own

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return give(function(*args, **options), own, args, options)

    return call


def _views_of(found: Any, own: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if type(found) is list or type(found) is tuple:
        of_each = own in _OF_EACH and len(args) > 1
        for i, each in enumerate(found):
            if not of_each:
                _note_by_place(each, own, args, options, i)
            elif type(args[i]) is TracedArray:
                note(each, args[i], np.broadcast_to, (each.shape,), {})
    elif type(found) is TracedArray and args and type(args[0]) is TracedArray:
        note(found, args[0], own, args[1:], options)
    elif type(found) is TracedArray:
        _note_by_place(found, own, args, options)
    return found


def _note_by_place(
    found: Any, own: Any, args: tuple[Any, ...], options: dict[str, Any], place: int | None = None
) -> None:
    """Note a view of the one traced array among the arguments of a call."""
    given: dict[Any, Any] = {**dict(enumerate(args)), **options}
    bases = [key for key, each in given.items() if type(each) is TracedArray]
    if len(bases) == 1:
        (key,) = bases

        def again(memory: Any) -> Any:
            now: dict[Any, Any] = {**given, key: memory}
            return own(*[now[i] for i in range(len(args))], **{name: now[name] for name in options})

        note(found, given[key], again, (), {}, place)


def _own(found: Any, own: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    if type(found) is TracedArray:
        for each in args:
            if found is each:
                return fresh(found)
        return found if origin(found) is None else fresh(found)
    if type(found) is list or type(found) is tuple:
        return type(found)([_own(each, own, args, options) for each in found])
    return found


def fresh(x: TracedArray) -> TracedArray:
    """Return an array of its own with the elements of one."""
    return TracedArray(x.node)


@cache
def _results() -> Any:
    return import_module("primad.numpy.inplace.results")


METHODS["note view"] = note
METHODS["view of"] = origin
METHODS["__setitem__"] = lambda *args: _results().write(*args)
METHODS["in place"] = lambda *args: _results().in_place(*args)
METHODS["written into"] = lambda *args: _results().let_write(*args)
METHODS["fill"] = lambda *args, **options: _results().write_by("fill", *args, **options)
METHODS["partition"] = lambda *args, **options: _results().write_by("partition", *args, **options)
METHODS["put"] = lambda *args, **options: _results().write_by("put", *args, **options)
METHODS["sort"] = lambda *args, **options: _results().write_by("sort", *args, **options)
