"""Traced arrays that are written to: results of operations, which become arrays that may be written to then.

All that NumPy would show as views of them do so with them, so that a write into one is seen in the others. This module
is loaded when something is written for the first time.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy.inplace.buffer_contents import ArrayMemory, ChosenMemory, Numbers, PartMemory, items, known
from primad.numpy.inplace.seen import Origin, forget, origin, views
from primad.numpy.inplace.views import check_cast
from primad.numpy.inplace.writable import WritableArray
from primad.numpy.promotion import convert
from primad.recording.attribute_names import instead_of
from primad.recording.refusals import written_to
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import ARGUMENTS, RECORDING

Memory = ArrayMemory | ChosenMemory | PartMemory


def _root(x: TracedArray) -> TracedArray:
    """Return the array that an array is a view of, through others perhaps; itself if it is none."""
    source = origin(x)
    while source is not None and type(source.base) is TracedArray:
        x, source = source.base, origin(source.base)
    return x


def _become_writable(x: Any) -> WritableArray | None:
    """Let an array, and what is seen of it, be written to from now on; None if it is another recording's, or a number.

    One number is written to where it is a view of an array's. Others are immutable, as NumPy's, and nothing shows them.
    """
    while type(x) is TracedArray:
        root: Any = _root(x)
        trace = RECORDING.get()
        if root.node.trace is not trace or (root is x and not x.shape):
            return None
        if not root.shape:
            for each in views(root):
                forget(each)
            continue
        numbers = np.empty(root.shape, root.dtype)
        _hold(root, ArrayMemory(numbers, trace, TracedArray(root.node)), numbers)
    found: WritableArray = x
    return found


def _hold(x: Any, memory: Memory, view: Numbers) -> None:
    """Let an array be a view of memory, and all that is seen of it; what memory shows to be a copy is left alone."""
    seen = views(x)
    forget(x)
    x.__class__ = WritableArray
    x.memory, x._view = memory, view
    for each in seen:
        source = origin(each)
        if source is None or source.base is not x:
            continue
        own = _memory_of_view(x, source)
        if own is None:
            del each._of
        else:
            _hold(each, *own)


def _memory_of_view(x: Any, source: Origin) -> tuple[Memory, Numbers] | None:
    """Return the memory of what may be a view of an array, and which of it that is; None if memory shows a copy."""
    memory, view = x.memory, x._view
    if source.function is operator.getitem:
        index = known(source.args[0])
        if any(type(item) is TracedArray for item in items(index)):
            chosen = ChosenMemory(x, index, TracedArray(x.node)[index].shape)
            return chosen, chosen.numbers
        shown = view[index]
    else:
        shown = source.within(view)
    if not isinstance(shown, np.ndarray) or (shown.size and not np.may_share_memory(shown, memory.numbers)):
        return None
    if shown.dtype == view.dtype:
        return memory, shown
    assert not isinstance(memory, PartMemory)  # the parts of which are no complex numbers
    return PartMemory(memory, imaginary=not memory.holds(shown)), shown


def write(x: TracedArray, index: Any, value: Any) -> None:
    """Write into a result; one number is none, and an argument of the function that is being recorded its caller's."""
    _for_writes(x)[index] = value


def _for_writes(x: TracedArray, *what: str) -> WritableArray:
    trace, root = RECORDING.get(), _root(x)
    is_argument = trace is not None and id(root) in trace.noted.get(ARGUMENTS, ())
    own = None if is_argument else _become_writable(x)
    if own is None:
        raise written_to(*what)
    return own


def write_by(method: str, x: TracedArray, *args: Any, **options: Any) -> None:
    """Call a method of an array's that writes into it."""
    getattr(_for_writes(x, f"x.{method}", instead_of(method)), method)(*args, **options)


def let_write(targets: Any, *what: str) -> bool:
    """Let arrays that a function is asked to write into, as `out`, be written to, if results are among them."""
    results = [x for x in targets if type(x) is TracedArray]
    for x in results:
        _for_writes(x, *what)
    return bool(results)


def in_place(x: TracedArray, found: Any, name: str) -> Any:
    """Return what an array is after an operator in place: itself, with the value of the result.

    All names of the array are of one object, which stands for the result from then on; only where there are views of
    it, or it is one, is memory needed. Another recording's array is left as it is.

    Args:
        x: the array.
        found: the result of the operator.
        name: of the operator.
    """
    if x.node.trace is not RECORDING.get():
        return found
    if origin(x) is None and not views(x):
        x.node = (found if found.type == x.type else _fitted(x, found, name)).node
        return x
    own = _become_writable(x)
    return found if own is None else own.take_over(name, found)


def _fitted(x: TracedArray, found: TracedArray, name: str) -> TracedArray:
    """Return a result in the dtype of the array that it replaces."""
    if found.shape != x.shape:
        raise ShapeError(
            f"{name}: an operand of shape {x.shape} cannot be written into: the result has shape {found.shape}",
            fix="write x = x + y, which makes a new array.",
        )
    check_cast(name, found.dtype, x.dtype)
    return convert(found, x.dtype)
