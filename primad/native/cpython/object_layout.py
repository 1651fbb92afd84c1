"""Python's objects in native code: where CPython and NumPy put what is in them, and their C functions.

An object begins with its reference count and, 8 bytes on, its type. A float, and a NumPy scalar, has its value right
after these. An array goes on as NumPy's headers say:

    0   reference count
    8   type
    16  address of the first element
    24  number of axes
    32  address of the lengths of the axes
    40  address of the strides
    48  base: the object that owns the memory, if the array does not
    56  dtype
    64  flags

Other interpreters than CPython, and builds with other object headers, do without native entries.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from primad.native.llvm.builder import Builder

TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
"""Places, in bytes from the start of an object: of its type, and in NumPy's array object, the same since NumPy 1.0 as
part of its binary interface; DATA is also where the value of a float and of a NumPy scalar lies. Given by Python's
`object.h` and NumPy's `ndarraytypes.h`."""
ITEMS = tuple.__basicsize__
"""Bytes from the start of a tuple to its first item."""
NEW_FROM_DESCR, SCALAR = 94, 60
"""Places in the table of NumPy's C functions. Given by `numpy_api.py` in NumPy's sources."""
EQUAL, FASTCALL, CONTIGUOUS = 2, 0x0080, 0x0001 | 0x0100
"""Python's number for `==`; its flag for a function of (itself, address of the arguments, their number); NumPy's flags
of arrays that are row-major and aligned. Given by `object.h` (Py_EQ), `methodobject.h` (METH_FASTCALL) and
`ndarraytypes.h` (NPY_ARRAY_CARRAY_RO)."""


@lru_cache(maxsize=1)
def numpy_table() -> Any:
    """Return NumPy's table of C functions; None where arrays do not look as this module expects."""
    ordinary = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount")
    without_lock = "free-threading" in sys.version  # `sysconfig` says it too, and takes a millisecond to import
    if not ordinary or without_lock or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    capsule = getattr(np._core._multiarray_umath, "_ARRAY_API", None)  # type: ignore[attr-defined]
    if capsule is None:
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    sample, number = np.empty((3, 5), np.float32), np.float64(0.1)
    turned, pair = sample.T, (sample, table)
    found = (
        ctypes.c_size_t.from_address(id(sample) + TYPE).value == id(np.ndarray) == table[2],
        ctypes.c_size_t.from_address(id(sample) + DATA).value == sample.ctypes.data,
        ctypes.c_int.from_address(id(sample) + NDIM).value == 2,
        ctypes.c_size_t.from_address(id(sample) + DESCR).value == id(np.dtype(np.float32)),
        ctypes.c_int.from_address(id(sample) + FLAGS).value & CONTIGUOUS == CONTIGUOUS,
        ctypes.c_int.from_address(id(turned) + FLAGS).value & CONTIGUOUS != CONTIGUOUS,
        ctypes.c_double.from_address(id(number) + DATA).value == 0.1,
        ctypes.c_size_t.from_address(id(pair) + ITEMS).value == id(sample),
    )
    return table if all(found) else None


def data_address(array: Any) -> int:
    """Return the address of an array's first element, in a quarter of the time that NumPy's attribute takes."""
    if numpy_table() is None:
        return int(array.ctypes.data)
    return ctypes.c_size_t.from_address(id(array) + DATA).value


class Objects(Builder):
    """A builder of functions that handle Python's objects.

    The text has no addresses in it, so that its machine code serves other processes too: what is known now is read from
    a table, an array that is the first item of the function's own object. That is a tuple, since the garbage collector
    clears no tuples: the definition and the code of a function must outlive it.

    Attributes:
        own: address of the table.
        addresses: what comes last in it.
        kept: the objects whose addresses these are.
    """

    def __init__(self, table: Any, before: int) -> None:
        super().__init__()
        self.own = self.field(self.field("%self", ITEMS, "ptr"), DATA, "ptr")
        self.addresses: list[int] = []
        self.kept: list[Any] = []
        self._before = before
        self._table = table

    def address(self, value: int) -> str:
        """Return an address that is known now."""
        if value not in self.addresses:
            self.addresses.append(value)
        return self.load("ptr", self.own, self._before + self.addresses.index(value))

    def object(self, value: Any) -> str:
        """Return the address of an object that outlives the function."""
        self.kept.append(value)
        return self.address(id(value))

    def python(self, name: str) -> str:
        """Return the address of a function of CPython."""
        found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        assert found is not None
        return self.address(found)

    def numpy(self, place: int) -> str:
        """Return the address of a function of NumPy."""
        return self.address(self._table[place])

    def field(self, object: str, offset: int, type: str) -> str:
        """Load what lies so many bytes into an object."""
        return self.emit(f"load {type}, ptr {self.place('i8', object, offset)}")

    def require_equal(self, type: str, x: str, y: Any) -> None:
        """Go on only where two values are the same; otherwise the function is not for these arguments."""
        self.require(self.emit(f"icmp eq {type} {x}, {y}"), "no")

    def incref(self, object: str) -> None:
        """Hold an object."""
        self.run_own(self.python("Py_IncRef"), ("ptr", object))

    def decref(self, object: str) -> None:
        """Give up an object."""
        self.run_own(self.python("Py_DecRef"), ("ptr", object))
