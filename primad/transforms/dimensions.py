"""The dimensions of a program: which axes of all its values are the same index, and what happens along each.

The axis maps of the ops say which axes are the same index, and unifying them gives the dimensions. Two axes are one
dimension because a value goes from one to the other, never because they are equally long.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from typing import Literal

from msgspec import Struct, field

from primad.ir.array_types import TupleType
from primad.ir.axes import AxisMap, Factors, Label, Strided, result_types
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.ir.walks import dependents
from primad.ops.record.primitive import project

Use = tuple[Node, int]
"""A node and the position of one of its operands."""
Results = list[tuple[int, Node]]
"""The results of a node that are used: their numbers, and the values that they are."""


class Dimension(Struct, eq=False):
    """Axes of values that are one index.

    Attributes:
        length: its length.
        axis: the axis of each value that has it.
        twice: the values that have it along two axes, as x + xᵀ does.
        summed: where a value that has it is summed over it.
        mixed: where a value that has it is used in a way that mixes its elements, or is not known.
        made: the nodes that repeat a value along it.
        whole: the nodes that make it out of other dimensions, or of nothing: scans, joined arrays, seeds.
    """

    length: int
    axis: dict[Node, int] = field(default_factory=dict)
    twice: set[Node] = field(default_factory=set)
    summed: set[Use] = field(default_factory=set)
    mixed: set[Use] = field(default_factory=set)
    made: set[Node] = field(default_factory=set)
    whole: set[Node] = field(default_factory=set)

    def happens(self, to: Container[Node]) -> frozenset[Literal["summed", "mixed"]]:
        """Return what happens along the dimension to some of the values: inputs, and all that depends on them."""
        found: set[Literal["summed", "mixed"]] = set()
        if any(node.inputs[position] in to for node, position in self.summed):
            found.add("summed")
        if any(node.inputs[position] in to for node, position in self.mixed):
            found.add("mixed")
        if any(x in to for node in self.whole | self.twice for x in node.inputs):
            found.add("mixed")
        return frozenset(found)


class Dimensions:
    """The dimensions of a program.

    Args:
        program: any program. Ops whose axis map is not known mix everything; lower composites first.
    """

    def __init__(self, program: Program) -> None:
        union = _Union()
        maps: list[tuple[Node, AxisMap, Results]] = []
        several: dict[Node, Results] = {}
        for node in program.nodes:
            if isinstance(node.op, Leaf):
                continue
            if node.op is project:
                several[node.inputs[0]].append((dict(node.params)["index"], node))
            elif isinstance(node.type, TupleType):
                maps.append((node, axis_map(node), several.setdefault(node, [])))
            elif node.op.axes.pointwise:
                _join_all(node, union)
            else:
                maps.append((node, axis_map(node), [(0, node)]))
        for node, map, results in maps:
            _join(node, map, results, union)
        self._union = union
        self._found: dict[int, Dimension] = {}
        for node in dict.fromkeys((*program.inputs, *program.nodes)):
            for axis in range(0 if isinstance(node.type, TupleType) else node.type.ndim):
                dimension = self.of(node, axis)
                if node in dimension.axis:
                    dimension.twice.add(node)
                dimension.axis[node] = axis
        for node, map, results in maps:
            for index, result in results:
                self._classify(node, map, index, result)

    def of(self, node: Node, axis: int) -> Dimension:
        """Return the dimension that an axis of a value belongs to."""
        root = self._union.find(node, axis)
        found = self._found.get(root)
        if found is None:
            found = self._found[root] = Dimension(node.type.shape[axis])
        return found

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self._found.values())

    def _classify(self, node: Node, map: AxisMap, index: int, result: Node) -> None:
        for position, (operand, labels) in enumerate(zip(node.inputs, map.operands, strict=True)):
            for axis, label in enumerate(labels):
                role = map.role(label, index)
                if role == "summed":
                    self.of(operand, axis).summed.add((node, position))
                elif role == "mixed":
                    self.of(operand, axis).mixed.add((node, position))
        for axis, label in enumerate(map.results[index]):
            role = map.role(label, index)
            if role == "made":
                self.of(result, axis).made.add(result)
            elif role == "mixed":
                self.of(result, axis).whole.add(result)


class ResultAxis(Struct, frozen=True):
    """What an axis of a result is.

    Attributes:
        inputs: for each input that has the same index, by its position, the axis.
        happens: what happens along it, on the way to any result, to values that depend on the chosen inputs.
    """

    inputs: dict[int, int]
    happens: frozenset[Literal["summed", "mixed"]]


def result_axes(program: Program, chosen: Sequence[bool]) -> list[tuple[ResultAxis, ...]]:
    """Return, for each output of a program, what its axes are with respect to some inputs.

    Where nothing happens along an axis to values that depend on the chosen inputs, the result at one index depends on
    them through that index of all other values only: the residuals of a loss at its points, say.

    Args:
        program: a lowered program.
        chosen: for each input whether its dependents are looked at.
    """
    dimensions = Dimensions(program)
    dependent = dependents(program.nodes, [node for node, on in zip(program.inputs, chosen, strict=True) if on])

    def found(node: Node, axis: int) -> ResultAxis:
        dimension = dimensions.of(node, axis)
        inputs = {i: dimension.axis[x] for i, x in enumerate(program.inputs) if x in dimension.axis}
        return ResultAxis(inputs, dimension.happens(dependent))

    return [tuple([found(node, axis) for axis in range(node.type.ndim)]) for node in program.outputs]


def couplings(program: Program, chosen: Sequence[bool], taken: bool = False) -> list[tuple[str, Node]]:
    """Return the ops that couple elements of a result, such as residuals at points, by what depends on some inputs.

    Args:
        program: a lowered program.
        chosen: for each input whether its dependents are looked at.
        taken: whether ops that take rows of a value at indices couple none, since all rows are pulled back apart and
            taken of the Jacobian then.

    Returns:
        'sums' or 'mixes', and the node, for each op that does so to an index of a result, or to a part of one.
    """
    dimensions = Dimensions(program)
    dependent = dependents(program.nodes, [node for node, on in zip(program.inputs, chosen, strict=True) if on])
    points = {dimensions.of(node, axis) for node in program.outputs for axis in range(node.type.ndim)}
    found: dict[tuple[str, Node], None] = {}
    for node in reversed(program.nodes):
        if node not in dependent or isinstance(node.op, Leaf) or node.op is project:
            continue
        map = axis_map(node)
        shape = () if isinstance(node.type, TupleType) else node.type.shape
        own = [
            label
            for axis, label in enumerate(map.results[0][: len(shape)])
            if shape[axis] > 1 and dimensions.of(node, axis) in points
        ]
        names = {name for label in own for name in _names(label)}
        for operand, axis, label in _labelled(node, map):
            if not names.isdisjoint(_names(label)):
                points.add(dimensions.of(operand, axis))
                continue
            coupled = dimensions.of(operand, axis) in points
            if operand not in dependent or operand.type.shape[axis] <= 1:
                continue
            made = names.difference(*[_names(x) for x in map.operands[node.inputs.index(operand)]])
            if label is None and made and taken:  # an axis of the result says which rows
                points.add(dimensions.of(operand, axis))
                continue
            if label is None and (None in own or coupled or made):
                found["mixes", node] = None
            elif coupled:  # what is left of a summed axis, or of one that is taken apart, is no index of the result
                found["sums" if map.role(label) == "summed" else "mixes", node] = None
    return list(found)


def _labelled(node: Node, map: AxisMap) -> Iterator[tuple[Node, int, Label]]:
    """Yield the axes of a node's operands, with their labels."""
    for operand, labels in zip(node.inputs, map.operands, strict=True):
        for axis, label in enumerate(labels):
            yield operand, axis, label


def _names(label: Label) -> tuple[Hashable, ...]:
    """Return the names of the indices that a label is made of."""
    if isinstance(label, Factors):
        return label.names
    return () if label is None else (label.name,) if isinstance(label, Strided) else (label,)


def axis_map(node: Node) -> AxisMap:
    """Return the axis map of a node; one that mixes every axis if its op has none."""
    types = [operand.type for operand in node.inputs]
    if node.op.axes.map is None:
        dims = [0 if isinstance(type, TupleType) else type.ndim for type in types]  # several results have no axes
        results = result_types(node.type)
        return AxisMap(tuple([(None,) * ndim for ndim in dims]), tuple([(None,) * type.ndim for type in results]))
    found: AxisMap = node.op.axes.map(*types, **dict(node.params))
    return found


class _Union:
    """Axes that are the same index: each axis has a number, and numbers are joined."""

    def __init__(self) -> None:
        self._first: dict[Node, int] = {}
        self._parent: list[int] = []

    def first(self, node: Node) -> int:
        """Return the number of a value's first axis; the others follow."""
        found = self._first.get(node)
        if found is None:
            found = self._first[node] = len(self._parent)
            self._parent.extend(range(found, found + len(node.type.shape)))
        return found

    def find(self, node: Node, axis: int) -> int:
        """Return the number that stands for all axes that an axis was joined with."""
        return self._root(self.first(node) + axis)

    def join(self, x: int, y: int) -> None:
        """Say that two numbered axes are the same index."""
        self._parent[self._root(x)] = self._root(y)

    def _root(self, number: int) -> int:
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number


def _join_all(node: Node, union: _Union) -> None:
    """Join the axes of a pointwise op: every index of the result is the same index of each operand."""
    first = union.first(node)
    for operand in node.inputs:
        other = union.first(operand)
        for axis in range(len(node.type.shape)):
            union.join(other + axis, first + axis)


def _join(node: Node, map: AxisMap, results: Results, union: _Union) -> None:
    first: dict[object, int] = {}
    before = [*zip(node.inputs, map.operands, strict=True)]
    for index, result in results:
        for value, labels in [*before, (result, map.results[index])]:
            for number, label in enumerate(labels, union.first(value)):
                if map.role(label, index) != "mixed":
                    union.join(number, first.setdefault(label, number))
