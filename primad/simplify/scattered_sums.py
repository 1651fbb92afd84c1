"""The law that adds many short parts of a long array to their places: each alone is an array with zeros around it.

The gradient of what was read by many slices, `sum([f(y[i : i + 8]) for i in starts])`, adds as many arrays as there are
slices, each as long as y. So many passes over all elements are one over the parts, if these are added to an array of
zeros at their places (`scatter_add`).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from primad import ops
from primad.ir.law_families import LEFT_OUT, LOCAL, ROUNDING
from primad.ir.node import Node, Trace
from primad.ir.program import Program
from primad.ops.record.primitive import apply
from primad.system.machine import CALL_ELEMENTS
from primad.transforms.lowering import rewritten

FEWEST = 16
"""Terms of a sum that are short parts, at least. Chosen: as many passes over a short array take less than a microsecond
in one native function."""
SHORT = 8
"""Times the elements of all parts together that the arrays have with zeros around them, at least. Estimated: to add an
element at a place takes as long as to add four beside each other, and to join the parts as long again."""


def scatter_short_terms(program: Program, fewest: int = FEWEST, smallest: int = CALL_ELEMENTS) -> Program:
    """Return the program with sums of many short parts of long arrays written as sums at places.

    Args:
        program: a lowered program.
        fewest: terms of a sum that are short parts, at least.
        smallest: elements of all arrays with zeros around parts, at least.
    """
    if sum(node.op is ops.pad for node in program.nodes) < fewest or LEFT_OUT.get() & {LOCAL, ROUNDING}:
        return program
    chosen = {node: terms for node, terms in _sums(program).items() if _is_worth_it(terms[0], fewest, smallest)}
    if not chosen:
        return program
    return rewritten(
        program,
        lambda node, mapping, trace: _scattered(*chosen[node], mapping, trace) if node in chosen else None,
        copy=True,
    )


def _sums(program: Program) -> dict[Node, tuple[list[Node], list[Node]]]:
    """Return the sums that are no terms of other sums, or are read elsewhere too.

    Returns:
        for each its terms that are parts of arrays with zeros around them, and the others, in order.
    """
    uses = Counter(operand for node in program.nodes for operand in node.inputs)
    uses.update(program.outputs)
    inner: set[Node] = set()
    found: dict[Node, tuple[list[Node], list[Node]]] = {}
    for node in reversed(program.nodes):
        if node.op is not ops.add or node in inner:
            continue
        parts: list[Node] = []
        others: list[Node] = []
        waiting = [node]
        while waiting:
            term = waiting.pop()
            if term is node or (term.op is ops.add and uses[term] == 1):
                inner.add(term)
                waiting += reversed(term.inputs)
            else:
                (parts if term.op is ops.pad else others).append(term)
        found[node] = parts, others
    return found


def _is_worth_it(parts: list[Node], fewest: int, smallest: int) -> bool:
    elements = sum([node.inputs[0].type.size for node in parts])
    return len(parts) >= fewest and len(parts) * parts[0].type.size >= max(smallest, SHORT * elements)


def _widths(node: Node, name: str) -> tuple[int, ...]:
    found: tuple[int, ...] = dict(node.params)[name]
    return found


def _places(node: Node) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return where the elements of a part stand in the array, counted through all of its rows."""
    axes = zip(_widths(node, "low"), node.inputs[0].type.shape, _widths(node, "interior"), strict=True)
    return np.ravel_multi_index(
        np.ix_(*[low + (gap + 1) * np.arange(size) for low, size, gap in axes]), node.type.shape
    ).ravel()


def _scattered(parts: list[Node], others: list[Node], mapping: dict[Node, Node], trace: Trace) -> Node:
    """Return the sum of short parts, which are added at their places, and of other terms."""
    whole = parts[0].type
    rows = [apply(trace, ops.reshape, mapping[x], shape=(x.type.size,)) for x in [node.inputs[0] for node in parts]]
    indices = trace.capture(np.concatenate([_places(node) for node in parts]))
    joined = apply(trace, ops.concatenate, *rows, axis=0)
    total = apply(trace, ops.scatter_add, joined, indices, axis=0, batch=0, size=whole.size)
    total = apply(trace, ops.reshape, total, shape=whole.shape)
    for node in others:
        total = apply(trace, ops.add, total, mapping[node])
    return total
