"""Splitting an index that meets itself into two: pairs of points, rows that attend to rows, the matrix of a kernel.

Such a dimension (`primad.transforms.dimensions`) is had by some values along two axes: element (i, j) needs what was
computed once along the dimension at index i and at index j. Here it becomes two dimensions. Each axis gets one of two
colours: the axes of a value that has two get both, and ops carry the colours on. What is computed before the index
meets itself may be needed in both colours: it has to be computed first, once, and is given twice. Computed twice, in
tiles of another length, it could differ in its last bit, and no element would be sure to equal itself. A sum's own
index may have either colour. After that nothing but the shapes says that the two are equally long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from primad.ir.array_types import TupleType
from primad.ir.axes import Labels
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, Trace
from primad.ir.program import Program, carry_lines
from primad.ir.replay import rebuild
from primad.ir.walks import dependents
from primad.ops.record.primitive import project
from primad.transforms.dimensions import Dimension, Dimensions, axis_map

Colours = tuple[int, ...]
"""Of the axes that a value has along the dimension, in order."""


class SplitAxes(NamedTuple):
    """A program in which a dimension is two.

    Attributes:
        program: it has the inputs of the original one first, and then copies.
        copied: what those further inputs are: inputs, captured arrays or literals of the original one.
    """

    program: Program
    copied: tuple[Node, ...]


def split_axes(program: Program) -> SplitAxes | list[Node] | None:
    """Split the dimension that meets itself into two, the largest if there are several.

    Args:
        program: of primitives.

    Returns:
        the program with two dimensions; or the values at which it has to be split first, because what was summed over
        one of the two is used with the other there, or because both need them; or None, if there is no such dimension
        or it cannot be split.
    """
    dimensions = Dimensions(program)
    found = [d for d in dimensions if not all(isinstance(node.op, Leaf) for node in d.twice)]
    if not found:
        return None
    largest = max(found, key=lambda d: sum(node.type.nbytes for node in d.twice))
    if any(node.op is project for node in largest.axis):
        return None
    colouring = _Colouring(program, largest, dimensions)
    if colouring.clashes:
        return colouring.before_clashes()
    return _Copies(program, colouring).split()


class _Colouring:
    """The colours of what is computed after the index met itself.

    Attributes:
        axes: the axes of each value along the dimension.
        fixed: the colours of values that have them already; others, computed before, may be had in any.
        clashes: nodes that need one index of their operands in both colours.
    """

    def __init__(self, program: Program, dimension: Dimension, dimensions: Dimensions) -> None:
        self.axes = {
            node: tuple([axis for axis in range(node.type.ndim) if dimensions.of(node, axis) is dimension])
            for node in dimension.axis
        }
        self.fixed: dict[Node, Colours] = {}
        self.clashes: set[Node] = set()
        self._program = program
        for node in program.nodes:
            if not isinstance(node.op, Leaf) and not self._colour(node):
                self.clashes.add(node)

    def _colour(self, node: Node) -> bool:
        """Give a node its colours, if its operands fix them; return whether they agree."""
        operands, result = labels_of(node)
        known: dict[object, int] = {}
        for operand, labels in zip(node.inputs, operands, strict=True):
            for axis, colour in self.coloured(operand):
                if labels[axis] is not None and known.setdefault(labels[axis], colour) != colour:
                    return False
        own = [known.get(result[axis]) for axis in self.axes.get(node, ())]  # None is no label
        if len(own) == 2:
            first = own[0] if own[0] is not None else 0 if own[1] is None else 1 - own[1]
            if own[1] is not None and own[1] == first:
                return False
            self.fixed[node] = (first, 1 - first)
        elif len(own) == 1 and own[0] is not None:
            self.fixed[node] = (own[0],)
        return len(own) <= 2

    def coloured(self, node: Node) -> Iterator[tuple[int, int]]:
        """Yield the axes of a value along the dimension with their colours, if those are fixed."""
        if node in self.fixed:
            yield from zip(self.axes[node], self.fixed[node], strict=True)

    def before_clashes(self) -> list[Node]:
        """Return what is computed before the first clashes and needed there, or after them, or as a result."""
        late = dependents(self._program.nodes, self.clashes)
        needed: dict[Node, None] = {}
        for node in self._program.nodes:
            if node in late:
                needed |= dict.fromkeys(node.inputs)
        needed |= dict.fromkeys(self._program.outputs)
        return [node for node in needed if node not in late and not isinstance(node.op, Leaf)]


class _Copies:
    """The values of a program in the colours in which they are needed."""

    def __init__(self, program: Program, colouring: _Colouring) -> None:
        self._program, self._axes, self._fixed = program, colouring.axes, colouring.fixed
        self._wanted: dict[Node, dict[Colours, None]] = {}
        self._operands: dict[tuple[Node, Colours], list[Colours]] = {}

    def split(self) -> SplitAxes | list[Node] | None:
        """Return the program; or what both indices need, to be computed once; None where colours cannot be given."""
        for node in self._program.outputs:
            self._want(node, self._fixed.get(node, (0, 1)[: len(self._axes.get(node, ()))]))
        for node in reversed(self._program.nodes):
            for colours in [] if isinstance(node.op, Leaf) else [*self._wanted.get(node, ())]:
                chosen = self._of_operands(node, colours)
                if chosen is None:
                    return None
                self._operands[node, colours] = chosen
                for operand, its in zip(node.inputs, chosen, strict=True):
                    self._want(operand, its)
        return self._twice() or self._built()

    def _twice(self) -> list[Node]:
        """Return what is computed in two colours and used by what is not: two computations may differ in a last bit."""
        nodes = self._program.nodes
        several = [node for node in nodes if len(self._wanted.get(node, ())) > 1]
        twice = {node for node in several if not isinstance(node.op, Leaf) and not node.op.memory.views}
        ends = {*self._program.outputs, *[x for node in nodes if node not in twice for x in node.inputs]}
        return [node for node in several if node in twice and node in ends]

    def _want(self, node: Node, colours: Colours) -> None:
        self._wanted.setdefault(node, {})[colours] = None

    def _of_operands(self, node: Node, colours: Colours) -> list[Colours] | None:
        """Return the colours that a node with these needs its operands in; a sum's index takes one that is there."""
        operands, result = labels_of(node)
        known: dict[object, int] = {
            result[axis]: colour
            for axis, colour in zip(self._axes.get(node, ()), colours, strict=True)
            if result[axis] is not None
        }
        places = [
            (operand in self._fixed, len(self._axes.get(operand, ())), i) for i, operand in enumerate(node.inputs)
        ]
        found: list[Colours] = [()] * len(node.inputs)
        for fixed, _, i in sorted(places, reverse=True):  # first those that have least choice
            operand = node.inputs[i]
            names = [operands[i][axis] for axis in self._axes.get(operand, ())]
            if fixed:
                its = self._fixed[operand]
            elif len(names) == 2:
                second = known.get(names[1])
                first = known.get(names[0], 0 if second is None else 1 - second)
                its = first, 1 - first
            else:
                # What is summed before goes to the index that is not cut: else its sum would be used along that again.
                its = tuple([known.get(name, 1) for name in names])
            for name, colour in zip(names, its, strict=True):
                if name is not None and known.setdefault(name, colour) != colour:
                    return None
            found[i] = its
        return found

    def _built(self) -> SplitAxes | None:
        """Return the program with a node for each value and colours; None if two of one value would be the same."""
        trace = Trace()
        made: dict[tuple[Node, Colours], Node] = {}
        first: dict[Node, Node] = {}
        for node in self._program.inputs:
            first[node] = made[node, next(iter(self._wanted.get(node, [()])))] = trace.input(node.type)
        inputs, copied = [*first.values()], []
        for node, colours in self._values():
            if (node, colours) in made:
                continue
            if node.op in (LITERAL, CAPTURED) and node not in first:
                found = rebuild(node, {}, trace)
            elif isinstance(node.op, Leaf):
                found = trace.input(node.type)
                inputs.append(found)
                copied.append(node)
            else:
                operands = zip(node.inputs, self._operands[node, colours], strict=True)
                found = trace.copy(node, tuple([made[operand] for operand in operands]))
            if found is first.setdefault(node, found) and any((node, x) in made for x in self._wanted[node]):
                return None
            made[node, colours] = found
        outputs = [made[node, next(iter(self._wanted[node]))] for node in self._program.outputs]
        carry_lines(self._program, first, trace)
        separated = Program(trace, inputs, outputs)
        trace.close()
        return SplitAxes(separated, tuple(copied))

    def _values(self) -> Iterator[tuple[Node, Colours]]:
        """Yield the values in order, with the colours in which they are needed."""
        for node in self._program.nodes:
            for colours in self._wanted.get(node, ()):
                yield node, colours


def labels_of(node: Node) -> tuple[Sequence[Labels], Labels]:
    """Return the labels of the axes of a node's operands, and of its result; None for axes that it mixes."""
    if node.op.axes.pointwise:
        own = tuple(range(len(node.type.shape)))
        return [own] * len(node.inputs), own
    if node.op is project:
        return [()], (None,) * node.type.ndim
    map = axis_map(node)

    def named(labels: Labels) -> Labels:
        return tuple([None if map.role(label) == "mixed" else label for label in labels])

    several = isinstance(node.type, TupleType)  # whose axes are those of the values that are its results
    return [named(labels) for labels in map.operands], () if several else named(map.results[0])
