"""How many vectors a loop of pointwise ops computes at once, so that none waits for its own last result.

An op on vectors takes several cycles before another can read its result, and a processor begins several ops in a cycle:
a chain of ops, of which each reads the one before, keeps it idle but for the chains of further vectors. It looks for
these by itself, some dozens of ops ahead. Where chains are longer, the ops of several vectors are written in turn.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from itertools import accumulate

from primad.ir.node import Node
from primad.native.emit.pointwise import pointwise_way, written
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.vectors import Vector, lanes_of
from primad.system.machine import CORE, FEWEST_REGISTERS

LONG = 24
"""Ops of a loop, from which on its next vectors' are too far ahead. Measured: a polynomial by Horner's rule of 8 terms
takes as long either way, one of 16 two thirds of the time, one of 64 half."""
KEPT_VECTORS = FEWEST_REGISTERS - 2
"""Vectors that may be kept between ops: two registers hold operands."""


def together(nodes: Sequence[Node]) -> int:
    """Return how many vectors should be computed at once by a loop of pointwise ops, in order; a power of two.

    Every element is computed as it would be alone, so that no result depends on it.
    """
    if len(nodes) < LONG or any(pointwise_way(node).function for node in nodes):
        return 1  # a function of a vector is a call, which knows how long its vectors are
    depth: dict[Node, int] = {}
    for node in nodes:
        depth[node] = 1 + max([depth.get(x, 0) for x in node.inputs], default=0)
    wanted = -(-CORE.in_flight * max(depth.values()) // len(nodes))
    able = min(wanted, KEPT_VECTORS // _most_alive(nodes))
    return 1 << max(0, able.bit_length() - 1)


def _most_alive(nodes: Sequence[Node]) -> int:
    """Return how many of the values are needed after an op, at most: its result may lie over an operand."""
    last = {x: i for i, node in enumerate(nodes) for x in (node, *node.inputs)}
    ending = [0] * len(nodes)
    for node in nodes:
        ending[last[node]] += 1
    alive = accumulate(1 - ended for ended in ending)
    return max(1, *alive)


def write_in_step(
    vector: Vector, nodes: Sequence[Node], known: MutableMapping[Node, str], value: Callable[[Node], str]
) -> None:
    """Write pointwise ops, in order; where several vectors are computed at once, none goes far ahead of the others.

    Args:
        vector: of as many lanes as there are in all vectors.
        nodes: the ops.
        known: takes their values.
        value: (operand) -> its value.
    """
    count, alone = len(nodes), vector.lanes <= lanes_of(vector.dtype)
    apart = count if alone else max(CORE.in_flight, -(-count // BUDGET.meetings))
    last = {x: i for i, node in enumerate(nodes) for x in node.inputs}
    for start in range(0, count, apart):
        end = start + apart
        for node in nodes[start:end]:
            known[node] = written(vector, node, [value(x) for x in node.inputs])
        for node in nodes[start:end]:
            if last.get(node, 0) >= end and node.type.dtype == vector.dtype:
                known[node] = vector.in_step(known[node])
