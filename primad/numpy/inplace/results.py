"""Traced arrays that are written to: results of operations, which become arrays that may be written to then.

All that NumPy would show as views of them do so with them, so that a write into one is seen in the others. This module
is loaded when something is written for the first time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.node import Leaf
from primad.numpy.inplace.buffer_contents import ArrayMemory, Numbers
from primad.numpy.inplace.seen import forget, origin, views
from primad.numpy.inplace.views import check_cast
from primad.numpy.inplace.writable import WritableArray
from primad.numpy.promotion import convert
from primad.recording.refusals import written_to
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import RECORDING


def _root(x: TracedArray) -> TracedArray:
    """Return the array that an array is a view of, through others perhaps; itself if it is none."""
    source = origin(x)
    while source is not None and type(source.base) is TracedArray:
        x, source = source.base, origin(source.base)
    return x


def _become_writable(x: Any) -> WritableArray | None:
    """Let an array, and what is seen of it, be written to from now on; None if it is another recording's, or complex.

    The real and imaginary parts of complex arrays are views of another dtype, which are not noted.
    """
    while type(x) is TracedArray:
        root: Any = _root(x)
        trace = RECORDING.get()
        if root.node.trace is not trace or root.dtype.kind == "c":
            return None
        numbers = np.empty(root.shape, root.dtype)
        _hold(root, ArrayMemory(numbers, trace, TracedArray(root.node)), numbers)
    found: WritableArray = x
    return found


def _hold(x: Any, memory: ArrayMemory, view: Numbers) -> None:
    """Let an array be a view of memory, and all that is seen of it; what memory shows to be a copy is left alone."""
    seen = views(x)
    forget(x)
    x.__class__ = WritableArray
    x.memory, x._view = memory, view
    for each in seen:
        source = origin(each)
        if source is None or source.base is not x:
            continue
        shown = source.within(view)
        is_view = isinstance(shown, np.ndarray) and (not shown.size or np.may_share_memory(shown, memory.numbers))
        if is_view and shown.dtype == view.dtype:
            _hold(each, memory, shown)
        else:
            del each._of


def write(x: TracedArray, index: Any, value: Any) -> None:
    """Write into a result; one number is none, and an argument of the function that is being recorded its caller's."""
    _for_writes(x)[index] = value


def _for_writes(x: TracedArray) -> WritableArray:
    own = None if not x.shape or isinstance(_root(x).node.op, Leaf) else _become_writable(x)
    if own is None:
        raise written_to()
    return own


def let_write(targets: Any) -> bool:
    """Let arrays that a function is asked to write into, as `out`, be written to, if results are among them."""
    results = [x for x in targets if type(x) is TracedArray]
    for x in results:
        _for_writes(x)
    return bool(results)


def in_place(x: TracedArray, found: Any, name: str, alone: bool) -> Any:
    """Return what an array is after an operator in place.

    Args:
        x: the array.
        found: the result of the operator.
        name: of the operator.
        alone: whether nothing else holds the array: then the result takes its place.
    """
    if alone and origin(x) is None:
        return found if found.type == x.type or x.node.trace is not RECORDING.get() else _fitted(x, found, name)
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
