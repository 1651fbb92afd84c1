"""Kernels: a group of pointwise ops as one loop over arrays.

A kernel takes an array of pointers (what it reads, then what it writes) and the lengths of its three loops. An operand
varies along some of them; a result that does not vary along all is a sum. Its text says nothing about sizes, so tiles
of any length share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.ir.node import LITERAL, Node, literal_value
from primad.native.compiler import DECLARATIONS
from primad.native.vectors import EMITTERS, Vector


@dataclass(frozen=True)
class Read:
    """An array that a kernel reads.

    Attributes:
        source: the node that has the array.
        layout: the loops along which it varies (see `primad.native.space`).
    """

    source: Node
    layout: str


def kernel_text(
    nodes: Sequence[Node],
    reads: Sequence[Read],
    found: dict[Node, int],
    results: Sequence[tuple[Node, Node, str]],
    dtype: np.dtype[Any],
    columns: int,
) -> str:
    """Write a kernel.

    Args:
        nodes: the ops, in order.
        reads: the arrays that it reads.
        found: for each operand from outside, which read it is.
        results: what is stored: the node, the op whose value it is or sums, and its layout.
        dtype: the float type of the group.
        columns: the length of a row; a multiple of the vector's length needs no code for what is left over.
    """
    lanes = Vector(dtype, "v").lanes
    cells = [_cell(read.source.type.dtype) for read in reads] + [_cell(node.type.dtype) for node, _, _ in results]
    layouts = [read.layout for read in reads] + [layout for _, _, layout in results]
    lines = ["define void @KERNEL(ptr %pointers, i64 %outer, i64 %rows, i64 %columns) nounwind {", "entry:"]
    for i in range(len(cells)):
        lines.append(f"  %slot{i} = getelementptr ptr, ptr %pointers, i64 {i}")
        lines.append(f"  %array{i} = load ptr, ptr %slot{i}")
    whole_only = columns % lanes == 0
    if whole_only:
        lines.append("  %whole = add i64 %columns, 0")
    else:
        ramp = ", ".join(f"i64 {i}" for i in range(lanes))
        lines += [
            f"  %rest = and i64 %columns, {lanes - 1}",
            "  %whole = sub i64 %columns, %rest",
            "  %some = icmp ne i64 %whole, 0",
            "  %more = icmp ne i64 %rest, 0",
            f"  %rest0 = insertelement <{lanes} x i64> poison, i64 %rest, i64 0",
            f"  %rests = shufflevector <{lanes} x i64> %rest0, <{lanes} x i64> poison, <{lanes} x i32> zeroinitializer",
            f"  %inside = icmp ult <{lanes} x i64> <{ramp}>, %rests",
        ]
    lines += [
        "  br label %around",
        "around:",
        "  %o = phi i64 [ 0, %entry ], [ %o1, %turn ]",
        "  %block = mul i64 %o, %rows",
        "  br label %row",
        "row:",
        "  %r = phi i64 [ 0, %around ], [ %r1, %next ]",
        "  %place = add i64 %block, %r",
        # Where a row of an array starts, for each set of loops along which arrays vary.
        "  %start.orc = mul i64 %place, %columns",
        "  %start.oc = mul i64 %o, %columns",
        "  %start.rc = mul i64 %r, %columns",
    ]
    starts = {"c": "0", "": "0", "or": "%place", "o": "%o", "r": "%r"}
    for i, (cell, layout) in enumerate(zip(cells, layouts, strict=True)):
        lines.append(f"  %at{i} = getelementptr {cell}, ptr %array{i}, i64 {starts.get(layout, f'%start.{layout}')}")
        if i < len(reads) and "c" not in layout:
            lines += _spread(i, cell, lanes)
    summed = {layout for _, _, layout in results if layout != "orc"}
    for layout in sorted(summed):
        index = {"rc": "%o", "oc": "%r", "c": "%place"}[layout]
        lines.append(f"  %first.{layout} = icmp eq i64 {index}, 0")
    after = "next" if whole_only else "tail"
    lines += [f"  br {'' if whole_only else 'i1 %some, '}label %loop" + ("" if whole_only else ", label %tail")]
    lines += ["loop:", "  %k = phi i64 [ 0, %row ], [ %k1, %loop ]"]
    called: dict[str, str] = {}
    lines += _body(nodes, reads, found, results, dtype, called, "v", "%k", masked=False)
    lines += [
        f"  %k1 = add i64 %k, {lanes}",
        "  %again = icmp ult i64 %k1, %whole",
        f"  br i1 %again, label %loop, label %{after}",
    ]
    if not whole_only:
        lines += ["tail:", "  br i1 %more, label %part, label %next", "part:"]
        lines += _body(nodes, reads, found, results, dtype, called, "t", "%whole", masked=True)
        lines.append("  br label %next")
    lines += [
        "next:",
        "  %r1 = add i64 %r, 1",
        "  %on = icmp ult i64 %r1, %rows",
        "  br i1 %on, label %row, label %turn",
        "turn:",
        "  %o1 = add i64 %o, 1",
        "  %further = icmp ult i64 %o1, %outer",
        "  br i1 %further, label %around, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + DECLARATIONS + "\n".join(called.values())


def _cell(dtype: np.dtype[Any]) -> str:
    return "i8" if dtype.kind == "b" else "double" if dtype.itemsize == 8 else "float"


def _bits(cell: str) -> str:
    return {"i8": "i8", "double": "f64", "float": "f32"}[cell]


def _spread(i: int, cell: str, lanes: int) -> list[str]:
    return [
        f"  %one{i} = load {cell}, ptr %at{i}, align 1",
        f"  %first{i} = insertelement <{lanes} x {cell}> poison, {cell} %one{i}, i64 0",
        f"  %spread{i} = shufflevector <{lanes} x {cell}> %first{i}, <{lanes} x {cell}> poison, "
        f"<{lanes} x i32> zeroinitializer",
    ]


def _body(
    nodes: Sequence[Node],
    reads: Sequence[Read],
    found: dict[Node, int],
    results: Sequence[tuple[Node, Node, str]],
    dtype: np.dtype[Any],
    called: dict[str, str],
    tag: str,
    column: str,
    masked: bool,
) -> list[str]:
    """One vector of the loop: all loads, the ops, all stores (a result may lie over an operand that ends here)."""
    vector = Vector(dtype, tag)
    loaded: list[str] = []
    for i, read in enumerate(reads):
        loaded.append(_load(vector, i, read, column, masked, called))
    values: dict[Node, str] = {}

    def value(node: Node) -> str:
        if node in found:
            return loaded[found[node]]
        if node.op is LITERAL:
            constant = literal_value(node)
            return vector.truth(constant) if node.type.dtype.kind == "b" else vector.constant(constant)
        return values[node]

    for node in nodes:
        values[node] = EMITTERS[node.op.name](vector, *[value(operand) for operand in node.inputs])
    for i, (node, source, layout) in enumerate(results):
        kept = values[source]
        if layout != "orc":
            # The first element of a sum is added to zero, whatever the memory holds.
            before = _load_at(vector, len(reads) + i, _cell(node.type.dtype), column, masked, called)
            started = f"i1 %first.{layout}, {vector.type} zeroinitializer, {vector.type} {before}"
            kept = vector.op("fadd", vector.emit(f"select {started}"), kept)
        _store(vector, len(reads) + i, node, kept, column, masked, called)
    called.update(vector.called)
    return vector.lines


def _load(vector: Vector, i: int, read: Read, column: str, masked: bool, called: dict[str, str]) -> str:
    cell = _cell(read.source.type.dtype)
    value = _load_at(vector, i, cell, column, masked, called) if "c" in read.layout else f"%spread{i}"
    if cell != "i8":
        return value
    return vector.emit(f"icmp ne <{vector.lanes} x i8> {value}, zeroinitializer")


def _load_at(vector: Vector, i: int, cell: str, column: str, masked: bool, called: dict[str, str]) -> str:
    type = f"<{vector.lanes} x {cell}>"
    place = vector.emit(f"getelementptr {cell}, ptr %at{i}, i64 {column}")
    if not masked:
        return vector.emit(f"load {type}, ptr {place}, align 1")
    # Lanes outside get a harmless value: 0 would send log into its slow path.
    filler = vector.constant(0.5) if cell != "i8" else "zeroinitializer"
    name = f"llvm.masked.load.v{vector.lanes}{_bits(cell)}.p0"
    called[name] = f"declare {type} @{name}(ptr, i32, {vector.bool}, {type})"
    return vector.emit(f"call {type} @{name}(ptr {place}, i32 1, {vector.bool} %inside, {type} {filler})")


def _store(vector: Vector, i: int, node: Node, value: str, column: str, masked: bool, called: dict[str, str]) -> None:
    cell = _cell(node.type.dtype)
    type = f"<{vector.lanes} x {cell}>"
    if cell == "i8":
        value = vector.emit(f"zext {vector.bool} {value} to {type}")
    place = vector.emit(f"getelementptr {cell}, ptr %at{i}, i64 {column}")
    if masked:
        name = f"llvm.masked.store.v{vector.lanes}{_bits(cell)}.p0"
        called[name] = f"declare void @{name}({type}, ptr, i32, {vector.bool})"
        vector.lines.append(f"  call void @{name}({type} {value}, ptr {place}, i32 1, {vector.bool} %inside)")
    else:
        vector.lines.append(f"  store {type} {value}, ptr {place}, align 1")
