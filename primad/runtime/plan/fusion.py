"""Grouping a plan's pointwise steps, so that each group runs as one native loop over its elements.

A group reads each of its operands once and writes only what others need; a broadcast operand is read from the small
array, and a sum of a value over some of its axes is accumulated beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import LITERAL, Leaf, Node
from primad.native.emit.kernels import SUMS, Read, kernel_text
from primad.native.emit.op_table import has_code
from primad.native.emit.pointwise import is_function, work_of_element
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import Kernel, compiled, compiler
from primad.native.schedule.grouping import Key, components, in_order, key_of
from primad.native.schedule.iteration_space import LOOPS, IterationSpace
from primad.ops.blocked.groups import spans_of
from primad.ops.record.primitive import is_of_several
from primad.runtime.plan.native_steps import NativeStep
from primad.runtime.plan.recompute import recompute
from primad.system.machine import CALL_ELEMENTS


class FusedStep(NativeStep, frozen=True, eq=False):
    """Steps that run as one kernel: a loop over their elements.

    Attributes:
        reads: the arrays it reads, and how.
        layouts: the loops along which each of its arrays varies, first those that it reads.
        loops: lengths of its three loops.
    """

    reads: tuple[Read, ...]
    layouts: tuple[str, ...]
    loops: tuple[int, int, int]

    @property
    def levels(self) -> list[int]:
        """Of each result, how many sums of groups it is made of; 0 where it is no sum."""
        lengths = dict(zip(LOOPS, self.loops, strict=True))
        found = []
        for layout in self.layouts[len(self.reads) :]:
            turns = math.prod([n for loop, n in lengths.items() if loop not in layout])
            found.append(len(spans_of(max(2, turns))) if layout in SUMS else 0)
        return found


Step = Node | FusedStep


def fuse(steps: Sequence[Node], outputs: Sequence[Node], smallest: float = CALL_ELEMENTS) -> list[Step]:
    """Replace the worthwhile groups among a plan's steps by kernels, and order what is left.

    Args:
        steps: a plan's nodes, operands first.
        outputs: nodes whose values are needed at the end.
        smallest: groups on fewer elements are left alone.
    """
    large = any(node.type.size >= smallest and node.op.axes.pointwise for node in steps)
    host = compiler() if large else None
    if host is None:
        return list(steps)
    keys = _keys(steps, smallest)
    found = [members for members in components(steps, keys) if _is_worthwhile(members)]
    drafts = [_Draft(members, keys[members[0]][1]) for members in recompute(found, steps, outputs)]
    if sum(draft.work for draft in drafts) < BUDGET.worth_kernels * smallest:
        return list(steps)
    grouped = {node for draft in drafts for node in draft.nodes}
    home = {node: draft for draft in reversed(drafts) for node in draft.nodes}
    needed = set(outputs)
    for draft in drafts:
        draft.read()
        needed.update(read.source for read in draft.reads)
    for node in steps:
        if node.op is ops.sum and node.inputs[0] in home and home[node.inputs[0]].accumulate(node):
            grouped.add(node)
            needed.add(node)
    alone: list[Node] = []
    for node in reversed(steps):
        # Broadcasts that are only read through are not computed.
        if node in needed and node not in grouped:
            alone.append(node)
            needed.update(node.inputs)
    kernels = compiled("native kernels", lambda: host.kernels([draft.finish(needed) for draft in drafts]))
    if kernels is None:
        return list(steps)
    groups = [draft.group(kernel) for draft, kernel in zip(drafts, kernels, strict=True)]
    return _ordered(steps, [*alone, *groups])


def is_pointwise(nodes: Sequence[Node], smallest: float = CALL_ELEMENTS) -> bool:
    """Say whether kernels can do all that is large: arrays then stream through them once, and need no tiles."""
    done = [x for x in nodes if not isinstance(x.op, Leaf) and x.op is not ops.broadcast]
    large = [x for x in done if any(y.type.size >= smallest for y in (x, *x.inputs))]
    return bool(large) and all(x.op.axes.pointwise for x in large) and all(map(has_code, large))


def _keys(steps: Sequence[Node], smallest: float) -> dict[Node, Key]:
    """Return the keys of the steps that can be in a group."""
    keys: dict[Node, Key] = {}
    able: dict[Any, bool] = {}  # whether there is code for an op, by its params and the dtypes that it meets
    for node in steps:
        if node.type.size < smallest or is_of_several(node):
            continue
        alike = (node.op, node.params, *[x.type.dtype for x in (node, *node.inputs)])
        if alike not in able:
            able[alike] = has_code(node)
        key = key_of(node, keys) if able[alike] else None
        if key is not None:
            keys[node] = key
    return keys


def _is_worthwhile(members: Sequence[Node]) -> bool:
    return len(members) > 1 or is_function(members[0])


class _Draft:
    """A group on its way: its members, then what it reads, then what it writes."""

    def __init__(self, nodes: Sequence[Node], dtype: np.dtype[Any]) -> None:
        self.nodes = nodes
        self._dtype = dtype
        self.reads: list[Read] = []
        self._members = set(nodes)
        self._space = IterationSpace(nodes[0].type.shape)
        self._sums: list[Node] = []
        self._found: dict[Node, int] = {}
        self._results: list[Node] = []
        self._layouts: tuple[str, ...] = ()

    @property
    def work(self) -> int:
        """Elements times ops."""
        return self.nodes[0].type.size * sum(map(work_of_element, self.nodes))

    def read(self) -> None:
        """Find what is read from outside, through broadcasts where the loops allow it."""
        self._through = {
            x: dict(x.params)["axes"]
            for node in self.nodes
            for x in node.inputs
            if x not in self._members and x.op is ops.broadcast
        }
        self._through = {x: axes for x, axes in self._through.items() if self._space.admit(axes)}
        outside = dict.fromkeys(
            x for node in self.nodes for x in node.inputs if x not in self._members and x.op is not LITERAL
        )
        self._outside = list(outside)
        self.reads = [self._read(x) for x in self._outside]

    def _read(self, operand: Node) -> Read:
        if operand in self._through:
            return Read(operand.inputs[0], self._space.layout(self._through[operand]))
        return Read(operand, self._space.layout(()))

    def accumulate(self, total: Node) -> bool:
        """Take in the sum of a member over some of its axes, if it keeps the dtype and the loops allow it."""
        if total.type.dtype != self._dtype or not self._space.admit(dict(total.params)["axes"], summed=True):
            return False
        self._sums.append(total)
        return True

    def finish(self, needed: set[Node]) -> str:
        """Decide what is written and return the kernel's text."""
        places: dict[Read, int] = {}
        self._found = {operand: places.setdefault(self._read(operand), len(places)) for operand in self._outside}
        self.reads = list(places)
        whole = self._space.layout(())
        self._results = [node for node in self.nodes if node in needed]
        written = [(node, node, whole) for node in self._results]
        written += [(node, node.inputs[0], self._space.layout(dict(node.params)["axes"])) for node in self._sums]
        self._results += self._sums
        self._layouts = (*(read.layout for read in self.reads), *(layout for _, _, layout in written))
        return kernel_text(self.nodes, self.reads, self._found, written, self._dtype, self._space.lengths[-1])

    def group(self, kernel: Kernel) -> FusedStep:
        """Return the finished group."""
        inputs = tuple(dict.fromkeys(read.source for read in self.reads))
        results, loops = tuple(self._results), self._space.lengths
        in_place = {*inputs} - {read.source for read in self.reads if read.layout != LOOPS}
        return FusedStep(kernel, inputs, results, in_place, self.work, 0, tuple(self.reads), self._layouts, loops)


def _ordered(steps: Sequence[Node], units: Sequence[Step]) -> list[Step]:
    """Order the units, operands first, and otherwise as the program had them."""
    position = {node: i for i, node in enumerate(steps)}
    maker: dict[Node, int] = {}
    rank: list[int] = []
    for i, unit in enumerate(units):
        made = unit.results if isinstance(unit, FusedStep) else (unit,)
        rank.append(min(position[node] for node in made))
        maker.update(dict.fromkeys(made, i))
    before = [{maker[x] for x in unit.inputs if x in maker} for unit in units]
    ordered = [units[i] for i in in_order(before, rank)]
    assert len(ordered) == len(units)
    return ordered
