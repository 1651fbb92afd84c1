"""A compiled program as a built-in function of CPython: the whole call, from Python's arguments to its results.

Arguments are read where NumPy's and Python's headers say that they lie, results are made by their C functions. An
argument that is not exactly what the program was recorded for makes the function return NotImplemented: then the
caller goes the general way. Other interpreters than CPython, and builds with other object headers, do without.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from primad import tree
from primad.native.compiler import DECLARATIONS
from primad.types import ArrayType

DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 16, 24, 32, 56, 64
"""Places in NumPy's array object, the same since NumPy 1.0 as part of its binary interface."""
CONTIGUOUS = 0x0001 | 0x0100
"""Row-major and aligned."""
NEW_FROM_DESCR, SCALAR = 94, 60
"""Places in the table of NumPy's C functions."""
FASTCALL = 0x0080
EQUAL = 2
"""Python's number for `==`."""
UNLOCKED_WORK = 200_000
"""Programs with more work than this let other threads run meanwhile."""
SCRATCH_ON_STACK = 32 * 1024
ALIGNMENT = 64
MOST_LEAVES = 64
MOST_PARTS = 256
"""Leaves and containers of arguments, and of results that the function makes itself."""


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@lru_cache(maxsize=1)
def _numpy_table() -> Any:
    """Return NumPy's table of C functions; None where arrays do not look as this module expects."""
    ordinary = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount")
    if not ordinary or sysconfig.get_config_var("Py_GIL_DISABLED") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    capsule = getattr(np._core._multiarray_umath, "_ARRAY_API", None)  # type: ignore[attr-defined]
    if capsule is None:
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    sample = np.empty((3, 5), np.float32)
    found = (
        ctypes.c_size_t.from_address(id(sample) + 8).value == id(np.ndarray) == table[2],
        ctypes.c_size_t.from_address(id(sample) + DATA).value == sample.ctypes.data,
        ctypes.c_int.from_address(id(sample) + NDIM).value == 2,
        ctypes.c_size_t.from_address(id(sample) + DESCR).value == id(np.dtype(np.float32)),
        ctypes.c_int.from_address(id(sample) + FLAGS).value & CONTIGUOUS == CONTIGUOUS,
        ctypes.c_int.from_address(id(sample.T) + FLAGS).value & CONTIGUOUS != CONTIGUOUS,
        ctypes.c_double.from_address(id(np.float64(0.1)) + DATA).value == 0.1,
    )
    return table if all(found) else None


class _Writer:
    """Writes the text of a built-in function."""

    def __init__(self, table: Any) -> None:
        self.lines: list[str] = []
        self.held: list[Any] = []
        self.leaves: list[str] = []
        self._table = table
        self._count = 0
        self._labels = 0

    def emit(self, code: str) -> str:
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {code}")
        return name

    def address(self, value: int) -> str:
        return self.emit(f"inttoptr i64 {value} to ptr")

    def object(self, value: Any) -> str:
        """Return the address of an object that outlives the function."""
        self.held.append(value)
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
        place = self.emit(f"getelementptr i8, ptr {object}, i64 {offset}")
        return self.emit(f"load {type}, ptr {place}")

    def require(self, condition: str, otherwise: str) -> None:
        """Go on only where a condition holds."""
        self._labels += 1
        self.lines.append(f"  br i1 {condition}, label %go{self._labels}, label %{otherwise}")
        self.lines.append(f"go{self._labels}:")

    def equal(self, type: str, x: str, y: Any, otherwise: str = "no") -> None:
        """Go on only where two values are the same."""
        self.require(self.emit(f"icmp eq {type} {x}, {y}"), otherwise)

    # -- arguments -----------------------------------------------------------------------------------------------------

    def read(self, object: str, structure: Any, leaves: list[tuple[ArrayType, bool]], slots: list[str]) -> bool:
        """Check an argument and put the addresses of its leaves' elements into slots."""
        if structure.is_leaf():
            self.leaves.append(object)
            expected, weak = leaves.pop(0)
            slot = slots.pop(0)
            if weak:
                return self._read_number(object, expected, slot)
            self._read_array(object, expected, slot)
            return True
        kind = structure.type
        children = structure.children()
        if kind not in (tuple, list, dict):
            return False
        if kind is dict and any(type(key) not in (str, int) for key in structure.entries()):
            return False
        self.equal("ptr", self.field(object, 8, "ptr"), self.object(kind))
        size = {tuple: "PyTuple_Size", list: "PyList_Size", dict: "PyDict_Size"}[kind]
        found = self.emit(f"call i64 {self.python(size)}(ptr {object})")
        self.equal("i64", found, len(children))
        item = self._items(object) if kind is dict else self._item_at(object, kind)
        return all(
            self.read(item(key), child, leaves, slots) for key, child in zip(structure.entries(), children, strict=True)
        )

    def _item_at(self, object: str, kind: type) -> Callable[[Any], str]:
        """Return what reads an item of a tuple or a list."""
        name = "PyTuple_GetItem" if kind is tuple else "PyList_GetItem"
        return lambda place: self.emit(f"call ptr {self.python(name)}(ptr {object}, i64 {place})")

    def _items(self, object: str) -> Callable[[Any], str]:
        """Return what reads the next value of a dict, whose key must be the one that is expected in this place."""
        self._labels += 1
        at, key, value = (f"%{name}{self._labels}" for name in ("at", "key", "value"))
        self.lines += [f"  {at} = alloca i64", f"  {key} = alloca ptr", f"  {value} = alloca ptr"]
        self.lines.append(f"  store i64 0, ptr {at}")

        def item(expected: Any) -> str:
            step = f"(ptr {object}, ptr {at}, ptr {key}, ptr {value})"
            self.equal("i32", self.emit(f"call i32 {self.python('PyDict_Next')}{step}"), 1)
            found = self.emit(f"load ptr, ptr {key}")
            self.equal("ptr", self.field(found, 8, "ptr"), self.object(type(expected)))
            compared = f"(ptr {found}, ptr {self.object(expected)}, i32 {EQUAL})"
            self.equal("i32", self.emit(f"call i32 {self.python('PyObject_RichCompareBool')}{compared}"), 1)
            return self.emit(f"load ptr, ptr {value}")

        return item

    def _read_number(self, object: str, type: ArrayType, slot: str) -> bool:
        if type.dtype.str != "<f8":
            return False
        self.equal("ptr", self.field(object, 8, "ptr"), self.object(float))
        place = self.emit(f"getelementptr i8, ptr {object}, i64 {DATA}")  # a float's value comes after the same header
        self.lines.append(f"  store ptr {place}, ptr {slot}")
        return True

    def _read_array(self, object: str, type: ArrayType, slot: str) -> None:
        kind = self.field(object, 8, "ptr")
        array = self.emit(f"icmp eq ptr {kind}, {self.object(np.ndarray)}")
        if type.shape or type.dtype.kind == "b":
            self.require(array, "no")
            self._check_array(object, type)
            place = self.field(object, DATA, "ptr")
        else:
            # An array without axes or a NumPy scalar, whose value comes after its header.
            self._labels += 1
            k = self._labels
            scalar = self.emit(f"icmp eq ptr {kind}, {self.object(type.dtype.type)}")
            self.lines += [f"  br i1 {scalar}, label %scalar{k}, label %array{k}", f"array{k}:"]
            self.require(array, "no")
            self._check_array(object, type)
            from_array = self.field(object, DATA, "ptr")
            self.lines += [f"  br label %from{k}", f"from{k}:", f"  br label %both{k}", f"scalar{k}:"]
            from_scalar = self.emit(f"getelementptr i8, ptr {object}, i64 {DATA}")
            self.lines += [f"  br label %both{k}", f"both{k}:"]
            place = self.emit(f"phi ptr [ {from_array}, %from{k} ], [ {from_scalar}, %scalar{k} ]")
        self.lines.append(f"  store ptr {place}, ptr {slot}")

    def _check_array(self, object: str, type: ArrayType) -> None:
        self.equal("ptr", self.field(object, DESCR, "ptr"), self.object(type.dtype))
        self.equal("i32", self.field(object, NDIM, "i32"), type.ndim)
        flags = self.emit(f"and i32 {self.field(object, FLAGS, 'i32')}, {CONTIGUOUS}")
        self.equal("i32", flags, CONTIGUOUS)
        if type.shape:
            dimensions = self.field(object, DIMENSIONS, "ptr")
            for axis, length in enumerate(type.shape):
                self.equal("i64", self.field(dimensions, 8 * axis, "i64"), length)

    # -- results -------------------------------------------------------------------------------------------------------

    def incref(self, object: str) -> None:
        self.lines.append(f"  call void {self.python('Py_IncRef')}(ptr {object})")

    def new_array(self, type: ArrayType) -> str:
        descr = self.object(type.dtype)
        self.incref(descr)  # the new array takes the reference
        self._labels += 1
        shape = f"%shape{self._labels}"
        self.lines.append(f"  {shape} = alloca i64, i64 {max(1, type.ndim)}")
        for axis, length in enumerate(type.shape):
            place = self.emit(f"getelementptr i64, ptr {shape}, i64 {axis}")
            self.lines.append(f"  store i64 {length}, ptr {place}")
        operands = f"ptr {self.object(np.ndarray)}, ptr {descr}, i32 {type.ndim}, ptr {shape}"
        function = self.numpy(NEW_FROM_DESCR)
        return self.emit(f"call ptr {function}({operands}, ptr null, ptr null, i32 0, ptr null)")


@dataclass(frozen=True)
class Signature:
    """How a program is called from Python.

    Attributes:
        structure: the tree of the tuple of arguments.
        inputs: type of each leaf, and whether it is a Python number.
        constants: how many further inputs the program has.
        results: the tree of the result.
    """

    structure: Any
    inputs: tuple[tuple[ArrayType, bool], ...]
    constants: int
    results: Any


@dataclass(frozen=True)
class Entry:
    """The text of an entry, and the objects whose addresses are in it."""

    text: str
    held: list[Any]


def write_entry(signature: Signature, outputs: Sequence[ArrayType], scratch: int, work: int) -> Entry | None:
    """Write the function that takes Python's arguments to a compiled program.

    Args:
        signature: how it is called.
        outputs: types of the program's outputs.
        scratch: bytes of scratch memory that it needs.
        work: a measure of the time that it takes.

    Returns:
        None if an argument or this interpreter does not allow one. Where the tree of the result has more than tuples
        and lists, the function returns a flat tuple.
    """
    table = _numpy_table()
    inputs, constants = signature.inputs, signature.constants
    large = max(len(inputs), len(outputs)) > MOST_LEAVES or signature.structure.num_nodes > MOST_PARTS
    if table is None or large:
        return None
    e = _Writer(table)
    e.lines += ["define ptr @KERNEL(ptr %self, ptr %args, i64 %count) nounwind {", "entry:"]
    n_inputs = len(inputs) + constants
    e.lines.append(f"  %table = alloca ptr, i64 {n_inputs + len(outputs) + 1}")
    e.lines.append(f"  %numbers = alloca i64, i64 {len(outputs) + 1}")
    on_stack = scratch <= SCRATCH_ON_STACK
    if on_stack:
        e.lines.append(f"  %stack = alloca i8, i64 {scratch + 1}, align {ALIGNMENT}")
    slots = [e.emit(f"getelementptr ptr, ptr %table, i64 {i}") for i in range(n_inputs + len(outputs))]
    arguments = signature.structure.children()
    e.equal("i64", "%count", len(arguments))
    leaves, left = list(inputs), list(slots[: len(inputs)])
    for i, argument in enumerate(arguments):
        place = e.emit(f"getelementptr ptr, ptr %args, i64 {i}")
        if not e.read(e.emit(f"load ptr, ptr {place}"), argument, leaves, left):
            return None
    # The function's own object is a tuple: an array with the program's address and those of the constants comes first.
    own = e.field(e.emit(f"call ptr {e.python('PyTuple_GetItem')}(ptr %self, i64 0)"), DATA, "ptr")
    body = e.emit(f"load ptr, ptr {own}")
    for i in range(constants):
        source = e.emit(f"getelementptr ptr, ptr {own}, i64 {i + 1}")
        found = e.emit(f"load ptr, ptr {source}")
        e.lines.append(f"  store ptr {found}, ptr {slots[len(inputs) + i]}")
    results = signature.results if is_plain(signature.results) else None
    root, late = _make_results(e, results, outputs, slots[n_inputs:])
    memory = "%stack" if on_stack else _allocate(e, scratch, root)
    unlocked = work > UNLOCKED_WORK
    state = ""
    if unlocked:
        for leaf in e.leaves:  # other threads may take arrays out of the caller's lists and dictionaries meanwhile
            e.incref(leaf)
        state = e.emit(f"call ptr {e.python('PyEval_SaveThread')}()")
    e.lines.append(f"  call void {body}(ptr %table, ptr {memory})")
    if unlocked:
        e.lines.append(f"  call void {e.python('PyEval_RestoreThread')}(ptr {state})")
        for leaf in e.leaves:
            e.lines.append(f"  call void {e.python('Py_DecRef')}(ptr {leaf})")
    if not on_stack:
        e.lines.append(f"  call void {e.python('PyMem_RawFree')}(ptr %raw)")
    root = _make_scalars(e, root, late, outputs)
    e.lines += [f"  ret ptr {root}", "no:"]
    refused = e.object(NotImplemented)
    e.incref(refused)
    e.lines += [f"  ret ptr {refused}", "lost:", "  ret ptr null", "}"]
    return Entry("\n".join(e.lines) + DECLARATIONS, e.held)


Late = tuple[int, str, str, int, str]


def _make_results(
    e: _Writer, results: Any, outputs: Sequence[ArrayType], slots: Sequence[str]
) -> tuple[str, list[Late]]:
    """Make the containers and arrays of the result, outermost first, so that dropping the first drops all.

    Returns:
        the outermost object ('' for a single scalar), and the scalars that are made when their values are known: their
        number, place, container, position and the function that puts them there.
    """
    late: list[Late] = []
    numbers = iter(range(len(outputs)))

    def make(structure: Any, container: str, position: int, put: str, root: str) -> str:
        children: Sequence[Any] = ()
        if structure is None:
            name, children = "Tuple", [_LEAF] * len(outputs)
            made = e.emit(f"call ptr {e.python('PyTuple_New')}(i64 {len(children)})")
        elif structure.is_leaf():
            k = next(numbers)
            if not outputs[k].shape:
                place = e.emit(f"getelementptr i64, ptr %numbers, i64 {k}")
                e.lines.append(f"  store ptr {place}, ptr {slots[k]}")
                late.append((k, place, container, position, put))
                return root
            made = e.new_array(outputs[k])
        else:
            name, children = "Tuple" if structure.type is tuple else "List", structure.children()
            made = e.emit(f"call ptr {e.python(f'Py{name}_New')}(i64 {len(children)})")
        _keep(e, made, root)
        if container:
            e.emit(f"call i32 {e.python(put)}(ptr {container}, i64 {position}, ptr {made})")
        if structure is not None and structure.is_leaf():
            e.lines.append(f"  store ptr {e.field(made, DATA, 'ptr')}, ptr {slots[k]}")
        for i, child in enumerate(children):
            make(child, made, i, f"Py{name}_SetItem", root or made)
        return root or made

    return make(results, "", 0, "", ""), late


_LEAF = tree.flatten(0)[1]


def is_plain(structure: Any) -> bool:
    """Say whether a tree has only tuples and lists above its leaves, and not too many."""
    return structure.is_leaf() or (
        structure.num_nodes <= MOST_PARTS
        and structure.type in (tuple, list)
        and all(is_plain(child) for child in structure.children())
    )


def _keep(e: _Writer, made: str, root: str) -> None:
    """Give up, with the error that is set, where an object could not be made."""
    e._labels += 1
    k = e._labels
    failed = e.emit(f"icmp eq ptr {made}, null")
    e.lines += [f"  br i1 {failed}, label %failed{k}, label %made{k}", f"failed{k}:"]
    if root:
        e.lines.append(f"  call void {e.python('Py_DecRef')}(ptr {root})")
    e.lines += ["  br label %lost", f"made{k}:"]


def _allocate(e: _Writer, scratch: int, root: str) -> str:
    e.lines.append(f"  %raw = call ptr {e.python('PyMem_RawMalloc')}(i64 {scratch + ALIGNMENT})")
    e._labels += 1
    k = e._labels
    failed = e.emit("icmp eq ptr %raw, null")
    e.lines += [f"  br i1 {failed}, label %failed{k}, label %made{k}", f"failed{k}:"]
    if root:
        e.lines.append(f"  call void {e.python('Py_DecRef')}(ptr {root})")
    e.lines += [f"  call ptr {e.python('PyErr_NoMemory')}()", "  br label %lost", f"made{k}:"]
    beyond = e.emit(f"add i64 {e.emit('ptrtoint ptr %raw to i64')}, {ALIGNMENT - 1}")
    aligned = e.emit(f"and i64 {beyond}, {-ALIGNMENT}")
    return e.emit(f"inttoptr i64 {aligned} to ptr")


def _make_scalars(e: _Writer, root: str, late: Sequence[Late], outputs: Sequence[ArrayType]) -> str:
    for k, place, container, position, put in late:
        made = e.emit(f"call ptr {e.numpy(SCALAR)}(ptr {place}, ptr {e.object(outputs[k].dtype)}, ptr null)")
        _keep(e, made, root)
        if container:
            e.emit(f"call i32 {e.python(put)}(ptr {container}, i64 {position}, ptr {made})")
        else:
            root = made
    return root


def builtin(address: int, body: int, constants: Sequence[np.ndarray[Any, Any]], held: Sequence[Any]) -> Any:
    """Return the built-in function whose machine code is at an address.

    Args:
        address: the entry.
        body: address of the program that it calls.
        constants: the program's further inputs.
        held: what the code refers to, kept alive with the function.
    """
    table = np.array([body, *[x.ctypes.data for x in constants]], np.uint64)
    definition = _MethodDef(b"program", address, FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(definition), (table, definition, tuple(constants), tuple(held)), None)
