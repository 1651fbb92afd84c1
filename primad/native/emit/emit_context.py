"""Where an op is written that has loops of its own: its operands, its results, and how it says that it failed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.node import Node
from primad.native.llvm.builder import Builder
from primad.native.llvm.strided_views import Code, View
from primad.native.llvm.symbols import in_python
from primad.native.unrolled.unrolled_context import ElementForm

INT64 = np.dtype(np.int64)
FAILURE_BYTES = 2 * ctypes.sizeof(ctypes.c_int64)
"""Bytes of the scratch memory that an op has which can fail: one more than the place, and the value there."""


class Site(Struct, frozen=True):
    """An op that is being written.

    Attributes:
        code: where to write.
        node: the op with its params.
        operands: where its operands lie.
        results: where its results go, one or several; None for those of several that nothing uses.
        own: the buffer of its own memory, if it wants any.
        counted: of a sum that tiles add to what is there, the axis of the first operand along which they lie.
    """

    code: Code
    node: Node
    operands: tuple[View, ...]
    results: tuple[View | None, ...]
    own: Any = None
    counted: int | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The op's params."""
        return dict(self.node.params)

    @property
    def out(self) -> View:
        """Where the result of an op with one goes."""
        (out,) = self.results
        assert out is not None
        return out

    def fail(self, condition: str, place: Callable[[], str], value: str) -> None:
        """Report a value for which the op is not defined, unless it has reported one before.

        Args:
            condition: whether it is not.
            place: writes the place of the value in the operand that the op's domain names, in row-major order.
            value: what to say of it, an i64.
        """
        with self.code.when(condition):
            report(self.code, failure_record_of(self.code, self.node), place, value)


def interrupt(code: Code, place: str) -> str:
    """Let Python handle the signals that came; return whether a handler raised an error, whose address is stored."""
    state = code.call("i32", in_python("PyGILState_Ensure"))
    raised = code.emit(f"icmp ne i32 {code.call('i32', in_python('PyErr_CheckSignals'))}, 0")
    with code.when(raised):
        error = [("ptr", code.room("ptr")) for _ in ("type", "value", "traceback")]
        code.run(in_python("PyErr_Fetch"), *error)
        code.run(in_python("PyErr_NormalizeException"), *error)
        type, value, traceback = (code.emit(f"load ptr, ptr {room}") for _, room in error)
        for dropped in (type, traceback):
            code.run(in_python("Py_DecRef"), ("ptr", dropped))
        code.store("ptr", value, place)
    code.run(in_python("PyGILState_Release"), ("i32", state))
    return raised


def own_of(node: Node) -> Any:
    """Return the buffer of an op's own memory."""
    return ("own", node)


def failure_of(node: Node) -> Any:
    """Return the buffer of an op's failure record."""
    return ("failure", node)


def failure_record_of(code: Code, node: Node) -> str:
    """Return the address of an op's failure record."""
    return code.start(View(failure_of(node), 0, (2,), (1,), INT64))


def report(code: Builder, record: str, place: Callable[[], str], value: str) -> None:
    """Write into a failure record, unless it has an entry.

    Args:
        code: where to write.
        record: its address.
        place: writes the place of the value in the operand that the op's domain names, in row-major order.
        value: what to say of it, an i64.
    """
    new = code.emit(f"icmp eq i64 {code.load('i64', record, 0)}, 0")
    with code.when(new):
        code.store("i64", code.emit(f"add i64 {place()}, 1"), record)
        code.store("i64", value, code.place("i64", record, 1))


def begin_failure_records(code: Builder, count: int) -> list[str]:
    """Return the addresses of failure records, which are empty, at the start of the scratch memory."""
    records = []
    for i in range(count):
        records.append(code.emit(f"getelementptr i8, ptr %scratch, i64 {FAILURE_BYTES * i}", f"%failure{i}"))
        code.store("i64", 0, records[-1])
    return records


def return_status(code: Builder, records: Sequence[str]) -> None:
    """Return which op failed, the first being 1, and say at the start of the scratch memory what it says; 0 if none."""
    for i, record in enumerate(records):
        place, value = (code.load("i64", record, k) for k in (0, 1))
        with code.when(code.emit(f"icmp ne i64 {place}, 0"), ends=True):
            code.store("i64", place, "%scratch")
            code.store("i64", value, code.place("i64", "%scratch", 1))
            code.do(f"ret i64 {i + 1}")
    code.do("ret i64 0")


class Missing(Struct, frozen=True):
    """Says that an op is not written.

    Attributes:
        reason: why.
    """

    reason: str


class Loops(Struct, frozen=True):
    """How an op is written that has loops of its own.

    Attributes:
        write: writes it.
        kinds: of the first operand's dtype: f(loats), i(ntegers), u(nsigned), b(ooleans).
        limit: (node) -> why it is not written so for this node; '' where it is.
        anywhere: whether results may lie in any place, or only row by row in memory of their own.
        memory: (node) -> bytes of its own that it wants.
        adds: whether it can add a tile's part of a sum to what is there (`Site.counted`).
        work: (node) -> how many ops of arithmetic on an element in a cache it takes as long as, where that is not the
            size of its result. Only predictions depend on it.
        lapack: 0 where small matrices are written out; of what LAPACK computes also for small ones, the share of the
            speed of its factorizations that it has. Only predictions depend on it.
    """

    write: Callable[[Site], None]
    kinds: str = "fiub"
    limit: Callable[[Node], str] = lambda node: ""
    anywhere: bool = True
    memory: Callable[[Node], int] = lambda node: 0
    adds: bool = False
    work: Callable[[Node], int] = lambda node: node.type.size
    lapack: float = 0.0


Emit = Callable[..., str]
"""(vector, *operands, **params) -> value; the vector is of the operands' type, of those that are no conditions."""


class Pointwise(Struct, frozen=True):
    """How an op that works on each element alone is written.

    Attributes:
        emit: writes it.
        kinds: of the operands that are no conditions: f(loats), i(ntegers), u(nsigned), b(ooleans).
        function: whether it takes as long as exp, at least: then it is worth a loop of its own.
        limit: (node) -> why it is not written so for this node; '' where it is.
        times_exp: (node) -> of a function, how many times exp's time it takes; only predictions ask.
    """

    emit: Emit
    kinds: str = "f"
    function: bool = False
    limit: Callable[[Node], str] = lambda node: ""
    times_exp: Callable[[Node], float] = lambda node: 1.0


class Way(Enum):
    """How ops are written that neither work on each element alone nor have a loop of their own."""

    VIEW = "index arithmetic on the array that it shows"
    SUM = "a sum of products"
    JOIN = "parts that are computed in their place"
    FRAME = "index arithmetic on a copy that has zeros around it"
    CONSTANT = "a constant of the text"
    RESULT = "one of the results of an op that writes several"
    LOOP = "a loop around a program of its own, or a program that it calls"


class Written(Struct, frozen=True):
    """How an op is written, or why it is not.

    Attributes:
        loops: on arrays in memory.
        elements: with every element in a register.
    """

    loops: Pointwise | Loops | Way | Missing
    elements: ElementForm | Missing


def times(count: float) -> Callable[[Node], float]:
    """Return what says of any node that its op takes so many times exp's time."""
    return lambda node: count
