"""Making Python's results in native code: containers and arrays before a program runs, scalars after it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.array_types import ArrayType
from primad.native.cpython.object_layout import DATA, NEW_FROM_DESCR, SCALAR, Objects
from primad.recording import tree

_LEAF = tree.flatten(0)[1]


class _Late(Struct, frozen=True):
    """A scalar, which is made when its value is known.

    Attributes:
        output: which output it is.
        value: address of its value.
        container: the object that it goes into; '' if it is the whole result.
        position: its place there.
        put: CPython's function that puts it there.
    """

    output: int
    value: str
    container: str
    position: int
    put: str


class Results:
    """Writes what makes the result, outermost first, so that dropping the first object drops all.

    Attributes:
        root: the outermost object; '' for a single scalar until it is made.

    Args:
        code: where to write; at its label `lost` it goes on, with an error set, where an object cannot be made.
        outputs: types of the program's outputs.
        slots: where their addresses go.
    """

    def __init__(self, code: Objects, outputs: Sequence[ArrayType], slots: Sequence[str]) -> None:
        self.root = ""
        self._code = code
        self._outputs = outputs
        self._slots = slots
        self._places = list(accumulate([type.dtype.itemsize // 16 + 1 for type in outputs], initial=0))
        self._numbers = code.room("i64", self._places[-1] + 1)
        self._left = iter(range(len(outputs)))
        self._late: list[_Late] = []

    def make(self, structure: Any, container: str = "", position: int = 0, put: str = "") -> None:
        """Make the containers and arrays of a tree; of None, a flat tuple of all outputs."""
        code = self._code
        if structure is not None and structure.is_leaf():
            self._make_leaf(container, position, put)
            return
        children = [_LEAF] * len(self._outputs) if structure is None else structure.children()
        name = "List" if structure is not None and structure.type is list else "Tuple"
        made = code.ask("ptr", code.python(f"Py{name}_New"), ("i64", str(len(children))))
        self._keep(made, container, position, put)
        for i, child in enumerate(children):
            self.make(child, made, i, f"Py{name}_SetItem")

    def _make_leaf(self, container: str, position: int, put: str) -> None:
        code, k = self._code, next(self._left)
        if self._outputs[k].shape:
            made = self._new_array(self._outputs[k])
            self._keep(made, container, position, put)
            code.store("ptr", code.field(made, DATA, "ptr"), self._slots[k])
        else:
            value = code.place("i64", self._numbers, self._places[k])
            code.store("ptr", value, self._slots[k])
            self._late.append(_Late(k, value, container, position, put))

    def make_scalars(self) -> None:
        """Make what waits for its value."""
        code = self._code
        for late in self._late:
            dtype = code.object(self._outputs[late.output].dtype)
            made = code.ask("ptr", code.numpy(SCALAR), ("ptr", late.value), ("ptr", dtype), ("ptr", "null"))
            self._keep(made, late.container, late.position, late.put)

    def require(self, made: str, failing: str = "") -> None:
        """Give up where an object or memory could not be made: with the error that is set, or that a function sets."""
        code = self._code
        with code.when(code.emit(f"icmp eq ptr {made}, null"), ends=True):
            if self.root:
                code.decref(self.root)
            if failing:
                code.ask("ptr", code.python(failing))
            code.go("lost")

    def _keep(self, made: str, container: str, position: int, put: str) -> None:
        """Put an object into its container, which then has its reference."""
        code = self._code
        self.require(made)
        if container:
            code.ask("i32", code.python(put), ("ptr", container), ("i64", str(position)), ("ptr", made))
        self.root = self.root or made

    def _new_array(self, type: ArrayType) -> str:
        code = self._code
        descr = code.object(type.dtype)
        code.incref(descr)  # the new array takes the reference
        shape = code.room("i64", max(1, type.ndim))
        for axis, length in enumerate(type.shape):
            code.store("i64", length, code.place("i64", shape, axis))
        given = (("ptr", code.object(np.ndarray)), ("ptr", descr), ("i32", str(type.ndim)), ("ptr", shape))
        none = (("ptr", "null"), ("ptr", "null"), ("i32", "0"), ("ptr", "null"))
        return code.ask("ptr", code.numpy(NEW_FROM_DESCR), *given, *none)
