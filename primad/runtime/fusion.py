"""Grouping a plan's pointwise steps, so that each group runs as one native loop over its elements.

Steps with equal shape and float type belong together when no other step lies between them. Counting, for each step, how
often a path to it changes from group work to other work and back gives that at once: every edge that leaves a group
leads to a larger count, so groups of equal counts never wait for each other in a circle. A group reads each of its
operands once and writes only what others need; a broadcast operand is read from the small array.
"""

from __future__ import annotations

import heapq
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import LITERAL, Node
from primad.runtime.native import Kernel, Read, compiler, has_code, kernel_text
from primad.runtime.recompute import recompute
from primad.runtime.vectors import NEEDS

WORTHWHILE_SIZE = 4096
"""Groups on fewer elements stay with NumPy: a kernel saves less than compiling it costs."""
WORTHWHILE_OPS = 32
"""So many ops on so many elements, in all groups together, make kernels worth building; a function counts as eight."""
NARROW = 8
"""Broadcast operands with shorter rows are copied to the full shape: every row would be a partly filled vector."""

Key = tuple[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Group:
    """Steps that run as one kernel; in a plan's list of steps it stands where a node stands.

    Attributes:
        kernel: the compiled loop.
        reads: the arrays it reads, and how.
        results: the nodes whose values it writes.
        rows: number of rows of its iteration space.
        columns: number of columns.
        inputs: the nodes that it reads, for the plan.
    """

    kernel: Kernel
    reads: tuple[Read, ...]
    results: tuple[Node, ...]
    rows: int
    columns: int
    inputs: tuple[Node, ...]


Step = Node | Group


def fuse(steps: Sequence[Node], outputs: Sequence[Node], smallest: float = WORTHWHILE_SIZE) -> list[Step]:
    """Replace the worthwhile groups among a plan's steps by kernels, and order what is left.

    Args:
        steps: a plan's nodes, operands first.
        outputs: nodes whose values are needed at the end.
        smallest: groups on fewer elements are left alone.
    """
    large = any(node.type.size >= smallest and node.op.pointwise for node in steps)
    host = compiler() if large else None
    if host is None:
        return list(steps)
    keys = _keys(steps, smallest)
    found = [members for members in components(steps, keys) if _is_worthwhile(members)]
    drafts = [_Draft(members, keys[members[0]][1]) for members in recompute(found, steps, outputs)]
    if sum(draft.work for draft in drafts) < WORTHWHILE_OPS * smallest:
        return list(steps)
    grouped = {node for draft in drafts for node in draft.nodes}
    needed = set(outputs)
    for draft in drafts:
        draft.read()
        needed.update(read.source for read in draft.reads)
    alone: list[Node] = []
    for node in reversed(steps):
        # Broadcasts that are only read through are not computed.
        if node not in grouped and (node in needed or not node.op.views):
            alone.append(node)
            needed.update(node.inputs)
    try:
        kernels = host.kernels([draft.finish(needed) for draft in drafts])
    except RuntimeError as error:  # what llvmlite raises: a version of LLVM that refuses the text, or no memory
        warnings.warn(
            f"native kernels could not be compiled, NumPy runs instead: {error}", RuntimeWarning, stacklevel=2
        )
        return list(steps)
    groups = [draft.group(kernel) for draft, kernel in zip(drafts, kernels, strict=True)]
    return _ordered(steps, [*alone, *groups])


def _keys(steps: Sequence[Node], smallest: float) -> dict[Node, Key]:
    """Return the shape and float type of the steps that can be in a group."""
    keys: dict[Node, Key] = {}
    for node in steps:
        if node.type.size < smallest or not has_code(node):
            continue
        floats = [x.type.dtype for x in (node, *node.inputs) if x.type.dtype.kind == "f"]
        inherited = [keys[x][1] for x in node.inputs if x in keys]
        if floats or inherited:
            keys[node] = (node.type.shape, (floats or inherited)[0])
    return keys


def components(steps: Sequence[Node], keys: dict[Node, Key]) -> Iterator[list[Node]]:
    """Yield the groups: steps of equal key and count that are connected by values or by operands that they share."""
    count: dict[Node, int] = {}
    parent: dict[Any, Any] = {}

    def root(item: Any) -> Any:
        while parent.setdefault(item, item) is not item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for node in steps:
        key = keys.get(node)
        # Only the edges out of a group count: what comes after them can never lead back into it.
        count[node] = max(
            [count[x] + (x in keys and keys[x] != key) for x in node.inputs if x in count],
            default=0,
        )
        if key is None:
            continue
        for operand in node.inputs:
            if operand.op is not LITERAL:
                inside = keys.get(operand) == key and count[operand] == count[node]
                parent[root(operand if inside else (operand, key, count[node]))] = root(node)
    found: dict[Any, list[Node]] = {}
    for node in steps:
        if node in keys:
            found.setdefault(root(node), []).append(node)
    yield from found.values()


def _is_worthwhile(members: Sequence[Node]) -> bool:
    return len(members) > 1 or any(node.op.name in NEEDS for node in members)


class _Draft:
    """A group on its way: its members, then what it reads, then what it writes."""

    def __init__(self, nodes: Sequence[Node], dtype: np.dtype[Any]) -> None:
        self.nodes = nodes
        self._dtype = dtype
        self.reads: list[Read] = []
        self._members = set(nodes)
        self._found: dict[Node, int] = {}
        self._results: list[Node] = []
        self._columns = nodes[0].type.size

    @property
    def work(self) -> int:
        """Elements times ops."""
        return self.nodes[0].type.size * sum(8 if node.op.name in NEEDS else 1 for node in self.nodes)

    def read(self) -> None:
        """Decide how each operand from outside is read."""
        outside = dict.fromkeys(
            x for node in self.nodes for x in node.inputs if x not in self._members and x.op is not LITERAL
        )
        widths = Counter(width for x in outside if (width := _row_length(x)) is not None and width >= NARROW)
        if widths:
            self._columns = widths.most_common(1)[0][0]
        places: dict[Read, int] = {}
        for operand in outside:
            read = Read(operand, "full")
            if operand.op is ops.broadcast and operand.inputs[0].op is not LITERAL:
                source = operand.inputs[0]
                if source.type.size == 1:
                    read = Read(source, "scalar")
                elif _row_length(operand) == self._columns:
                    read = Read(source, "row" if _is_leading(operand) else "column")
            self._found[operand] = places.setdefault(read, len(places))
        self.reads = list(places)

    def finish(self, needed: set[Node]) -> str:
        """Decide what is written and return the kernel's text."""
        self._results = [node for node in self.nodes if node in needed]
        return kernel_text(self.nodes, self.reads, self._found, self._results, self._dtype, self._columns)

    def group(self, kernel: Kernel) -> Group:
        """Return the finished group."""
        rows = self.nodes[0].type.size // self._columns
        inputs = tuple(dict.fromkeys(read.source for read in self.reads))
        return Group(kernel, tuple(self.reads), tuple(self._results), rows, self._columns, inputs)


def _is_leading(node: Node) -> bool:
    return 0 in _wide_axes(node)[0]


def _wide_axes(node: Node) -> tuple[set[int], set[int]]:
    """Return the new axes and the kept ones of a broadcast, numbered without axes of length 1."""
    new = dict(node.params)["axes"]
    wide = [axis for axis, length in enumerate(node.type.shape) if length > 1]
    return {i for i, axis in enumerate(wide) if axis in new}, {i for i, axis in enumerate(wide) if axis not in new}


def _row_length(node: Node) -> int | None:
    """Return the number of columns for which a broadcast repeats one row, or one column; None if for no number."""
    if node.op is not ops.broadcast:
        return None
    new, kept = _wide_axes(node)
    if not new or not kept or node.inputs[0].op is LITERAL:
        return None
    small = node.inputs[0].type.size
    if max(new) < min(kept):
        return small
    return node.type.size // small if max(kept) < min(new) else None


def _ordered(steps: Sequence[Node], units: Sequence[Step]) -> list[Step]:
    """Order the units, operands first, and otherwise as the program had them."""
    position = {node: i for i, node in enumerate(steps)}
    maker: dict[Node, int] = {}
    rank: list[int] = []
    for i, unit in enumerate(units):
        made = unit.results if isinstance(unit, Group) else (unit,)
        rank.append(min(position[node] for node in made))
        maker.update(dict.fromkeys(made, i))
    waiting: list[set[int]] = [{maker[x] for x in unit.inputs if x in maker} for unit in units]
    users: dict[int, list[int]] = {}
    for i, before in enumerate(waiting):
        for other in before:
            users.setdefault(other, []).append(i)
    ready = [(rank[i], i) for i, before in enumerate(waiting) if not before]
    heapq.heapify(ready)
    ordered: list[Step] = []
    while ready:
        _, i = heapq.heappop(ready)
        ordered.append(units[i])
        for user in users.get(i, ()):
            waiting[user].discard(i)
            if not waiting[user]:
                heapq.heappush(ready, (rank[user], user))
    assert len(ordered) == len(units)
    return ordered
