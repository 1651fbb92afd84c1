"""A compiled program as a built-in function of CPython: the whole call, from Python's arguments to its results.

Arguments are read where NumPy's and Python's headers say that they lie, results are made by their C functions. An
argument that is not exactly what the program was recorded for makes the function return NotImplemented: then the
caller goes the general way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.array_types import ArrayType
from primad.ir.signature import Signature
from primad.native.cpython.argument_reading import Arguments
from primad.native.cpython.failure_places import FailurePlace
from primad.native.cpython.object_layout import FASTCALL, TYPE, Objects, numpy_table
from primad.native.cpython.result_making import Results
from primad.native.llvm.builder import module
from primad.native.llvm.scratch_memory import ALIGNMENT
from primad.system.machine import THREAD_WORK

SCRATCH_ON_STACK = 32 * 1024
"""Bytes of scratch memory that are taken from the thread's stack. Chosen: of a stack, some of which have 128 kB,
Python's own frames need most."""
MOST_LEAVES, MOST_PARTS = 64, 256
"""Leaves and, with containers, parts of arguments, and of results that the function makes itself. Chosen: each is code
that must be compiled."""


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class CPythonEntry(Struct, frozen=True):
    """The text of an entry, the addresses that it reads from its table, and the objects that lie there."""

    text: str
    addresses: list[int]
    kept: list[Any]


def write_cpython_entry(
    signature: Signature, outputs: Sequence[ArrayType], scratch: int, work: int
) -> CPythonEntry | None:
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
    table = numpy_table()
    inputs, constants = signature.inputs, signature.constants
    large = max(len(inputs), len(outputs)) > MOST_LEAVES or signature.structure.num_nodes > MOST_PARTS
    if table is None or large:
        return None
    code = Objects(table, 1 + constants)
    n_inputs = len(inputs) + constants
    slots = _Slots(code, n_inputs + len(outputs))
    memory = code.room("i8", scratch + 1, ALIGNMENT) if scratch <= SCRATCH_ON_STACK else ""
    arguments = Arguments(code, inputs, slots.places[: len(inputs)])
    if not _read(code, arguments, signature.structure):
        return None
    body = _find_own(code, slots.places[len(inputs) : n_inputs])
    results = Results(code, outputs, slots.places[n_inputs:])
    results.make(signature.results if is_plain(signature.results) else None)
    raw = "" if memory else _allocate(code, scratch, results)
    held = arguments.leaves if work >= THREAD_WORK else None  # other threads run meanwhile
    memory = memory or _aligned(code, raw)
    failed = code.emit(f"icmp ne i64 {_run(code, body, slots.table, memory, held)}, 0")
    interrupted = _raised(code, failed, memory)
    if raw:
        code.run_own(code.python("PyMem_RawFree"), ("ptr", raw))
    with code.when(failed, ends=True):  # the general way finds out what failed
        if results.root:
            code.decref(results.root)
        code.require(code.emit(f"xor i1 {interrupted}, true"), "lost")
        code.go("no")
    results.make_scalars()
    code.do(f"ret ptr {results.root}")
    code.label("no")
    refused = code.object(NotImplemented)
    code.incref(refused)
    code.do(f"ret ptr {refused}")
    code.label("lost")
    code.do("ret ptr null")
    text = module([code.function("ptr @KERNEL(ptr %self, ptr %args, i64 %count)")], ())
    return CPythonEntry(text, code.addresses, code.kept)


class _Slots:
    """The table of addresses that the program takes: of inputs, constants and outputs."""

    def __init__(self, code: Objects, count: int) -> None:
        self.table = code.room("ptr", count + 1)
        self.places = [code.place("ptr", self.table, i) for i in range(count)]


def _read(code: Objects, arguments: Arguments, structure: Any) -> bool:
    """Write the checks of all arguments; return False if there is no code for one."""
    children = structure.children()
    code.require_equal("i64", "%count", len(children))
    return all(arguments.read(code.load("ptr", "%args", i), child) for i, child in enumerate(children))


def _find_own(code: Objects, slots: Sequence[str]) -> str:
    """Put the addresses of the constants into slots, and return the program's; the table begins with them."""
    body = code.emit(f"load ptr, ptr {code.own}")
    for i, slot in enumerate(slots, 1):
        code.store("ptr", code.load("ptr", code.own, i), slot)
    return body


def _run(code: Objects, body: str, table: str, memory: str, leaves: Sequence[str] | None) -> str:
    """Run the program, and return its status; with the arguments' leaves held, other threads may run meanwhile."""
    call = (("ptr", table), ("ptr", memory))
    if leaves is None:
        return code.ask("i64", body, *call)
    for leaf in leaves:  # other threads may take arrays out of the caller's lists and dictionaries meanwhile
        code.incref(leaf)
    state = code.ask("ptr", code.python("PyEval_SaveThread"))
    status = code.ask("i64", body, *call)
    code.run_own(code.python("PyEval_RestoreThread"), ("ptr", state))
    for leaf in leaves:
        code.decref(leaf)
    return status


def _raised(code: Objects, failed: str, memory: str) -> str:
    """Raise what the handler of a signal has raised that ended a loop, if one did; return whether."""

    def look() -> str:
        found = code.emit(f"icmp eq i64 {code.load('i64', memory, 0)}, {FailurePlace.INTERRUPTED}")
        with code.when(found):
            error = code.load("ptr", memory, 1)
            code.run_own(code.python("PyErr_SetObject"), ("ptr", code.field(error, TYPE, "ptr")), ("ptr", error))
            code.decref(error)
        return found

    return code.either("i1", failed, look, lambda: "false")


def _allocate(code: Objects, scratch: int, results: Results) -> str:
    """Return new memory with room for alignment."""
    raw = code.ask("ptr", code.python("PyMem_RawMalloc"), ("i64", str(scratch + ALIGNMENT)))
    results.require(raw, "PyErr_NoMemory")
    return raw


def _aligned(code: Objects, raw: str) -> str:
    beyond = code.emit(f"add i64 {code.emit(f'ptrtoint ptr {raw} to i64')}, {ALIGNMENT - 1}")
    return code.emit(f"inttoptr i64 {code.emit(f'and i64 {beyond}, {-ALIGNMENT}')} to ptr")


def is_plain(structure: Any) -> bool:
    """Say whether a tree has only tuples and lists above its leaves, and not too many."""
    return structure.is_leaf() or (
        structure.num_nodes <= MOST_PARTS
        and structure.type in (tuple, list)
        and all(is_plain(child) for child in structure.children())
    )


def builtin(
    address: int, body: int, constants: Sequence[np.ndarray[Any, Any]], entry: CPythonEntry, code: Sequence[Any]
) -> Any:
    """Return the built-in function whose machine code is at an address.

    Args:
        address: the entry's code.
        body: address of the program that it calls.
        constants: the program's further inputs.
        entry: what was written for it.
        code: what keeps the machine code alive.
    """
    table = np.array([body, *[x.ctypes.data for x in constants], *entry.addresses], np.uint64)
    definition = _MethodDef(b"program", address, FASTCALL, None)
    own = table, definition, tuple(constants), tuple(entry.kept), tuple(code)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(definition), own, None)
