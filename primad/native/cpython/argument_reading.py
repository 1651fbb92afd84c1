"""Reading Python's arguments in native code: each is checked to be what the program was recorded for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.native.cpython.object_layout import CONTIGUOUS, DATA, DESCR, DIMENSIONS, EQUAL, FLAGS, NDIM, TYPE, Objects


class Arguments:
    """Writes the checks of arguments, which put the addresses of their leaves' elements into slots.

    Attributes:
        leaves: the objects that are leaves, as far as they were read.

    Args:
        code: where to write; at its label `no` it goes on where an argument is something else.
        types: type of each leaf, and whether it is a Python number.
        slots: where the addresses go.
    """

    def __init__(self, code: Objects, types: tuple[tuple[ArrayType, bool], ...], slots: list[str]) -> None:
        self.leaves: list[str] = []
        self._code = code
        self._expected = iter(zip(types, slots, strict=True))

    def read(self, object: str, structure: Any) -> bool:
        """Write the checks of an argument that is a tree; return False if there is no code for it."""
        if structure.is_leaf():
            self.leaves.append(object)
            (expected, weak), slot = next(self._expected)
            return self._read_number(object, expected, slot) if weak else self._read_array(object, expected, slot)
        code, kind, children = self._code, structure.type, structure.children()
        if kind not in (tuple, list, dict):
            return False
        if kind is dict and any(type(key) not in (str, int) for key in structure.entries()):
            return False
        code.require_equal("ptr", code.field(object, TYPE, "ptr"), code.object(kind))
        size = {tuple: "PyTuple_Size", list: "PyList_Size", dict: "PyDict_Size"}[kind]
        code.require_equal("i64", code.ask("i64", code.python(size), ("ptr", object)), len(children))
        item = self._items(object) if kind is dict else self._item_at(object, kind)
        return all(self.read(item(key), child) for key, child in zip(structure.entries(), children, strict=True))

    def _item_at(self, object: str, kind: type) -> Callable[[Any], str]:
        """Return what reads an item of a tuple or a list."""
        code, name = self._code, "PyTuple_GetItem" if kind is tuple else "PyList_GetItem"
        return lambda place: code.ask("ptr", code.python(name), ("ptr", object), ("i64", str(place)))

    def _items(self, object: str) -> Callable[[Any], str]:
        """Return what reads the next value of a dict, whose key must be the one that is expected in this place."""
        code = self._code
        at, key, value = code.room("i64"), code.room("ptr"), code.room("ptr")
        code.store("i64", 0, at)
        step = [("ptr", place) for place in (object, at, key, value)]

        def item(expected: Any) -> str:
            code.require_equal("i32", code.ask("i32", code.python("PyDict_Next"), *step), 1)
            found = code.emit(f"load ptr, ptr {key}")
            code.require_equal("ptr", code.field(found, TYPE, "ptr"), code.object(type(expected)))
            compared = (("ptr", found), ("ptr", code.object(expected)), ("i32", str(EQUAL)))
            code.require_equal("i32", code.ask("i32", code.python("PyObject_RichCompareBool"), *compared), 1)
            return code.emit(f"load ptr, ptr {value}")

        return item

    def _read_number(self, object: str, type: ArrayType, slot: str) -> bool:
        code = self._code
        if type.dtype.str != "<f8":
            return False
        code.require_equal("ptr", code.field(object, TYPE, "ptr"), code.object(float))
        code.store("ptr", code.place("i8", object, DATA), slot)
        return True

    def _read_array(self, object: str, type: ArrayType, slot: str) -> bool:
        """Check an array; in place of one without axes there may be a NumPy scalar."""
        code = self._code
        kind = code.field(object, TYPE, "ptr")
        is_array = code.emit(f"icmp eq ptr {kind}, {code.object(np.ndarray)}")

        def array() -> str:
            code.require(is_array, "no")
            self._check_array(object, type)
            return code.field(object, DATA, "ptr")

        if type.shape or type.dtype.kind == "b":
            place = array()
        else:
            is_scalar = code.emit(f"icmp eq ptr {kind}, {code.object(type.dtype.type)}")
            place = code.either("ptr", is_scalar, lambda: code.place("i8", object, DATA), array)
        code.store("ptr", place, slot)
        return True

    def _check_array(self, object: str, type: ArrayType) -> None:
        code = self._code
        code.require_equal("ptr", code.field(object, DESCR, "ptr"), code.object(type.dtype))
        code.require_equal("i32", code.field(object, NDIM, "i32"), type.ndim)
        flags = code.emit(f"and i32 {code.field(object, FLAGS, 'i32')}, {CONTIGUOUS}")
        code.require_equal("i32", flags, CONTIGUOUS)
        if type.shape:
            dimensions = code.field(object, DIMENSIONS, "ptr")
            for axis, length in enumerate(type.shape):
                code.require_equal("i64", code.field(dimensions, 8 * axis, "i64"), length)
