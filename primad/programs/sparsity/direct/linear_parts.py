"""A program that is linear in a direction, taken apart: what moves the direction, what computes, what adds results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from primad import ops
from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node
from primad.ir.program import Program, subprogram
from primad.ir.replay import reapplied, replay
from primad.ir.walks import dependents, needed_between, users_of
from primad.ops.record.primitive import full
from primad.programs.sparsity.constants import Constants
from primad.programs.sparsity.labels import Array
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import prepare
from primad.transforms.dimensions import Dimensions, axis_map
from primad.transforms.lowering import inline, lower
from primad.transforms.reverse import transpose

Use = tuple[Node | None, int]
"""What takes a result, and as which operand; None for the output of the program."""


class DirectionProgram(NamedTuple):
    """A lowered program that is linear in a direction, its last input.

    Attributes:
        along: the program.
        known: operands of what depends on the direction that are whole numbers, or literals, and known.
        moving: what depends on the direction.
    """

    along: Program
    known: Mapping[Node, Array]
    moving: set[Node]

    def has_known(self, node: Node) -> bool:
        """Say whether all operands of an op that do not depend on the direction are known."""
        return all(x in self.known or x in self.moving for x in node.inputs)


class LinearParts(NamedTuple):
    """A program that is linear in a direction, taken apart.

    Attributes:
        of: the program.
        sources: what is only moved of the direction: from which element each of its elements is, −1 for none.
        middle: what computes with these, in order.
        tail: what moves and adds the results, in order.
        uses: the results, one for each time that the tail takes them.
        scaling: the pointwise ops of the tail by values that are not known.
        scaled_copies: the copies that were scaled before they were moved.
    """

    of: DirectionProgram
    sources: Mapping[Node, Array]
    middle: list[Node]
    tail: list[Node]
    uses: Mapping[Use, Node]
    scaling: frozenset[Node]
    scaled_copies: frozenset[Node]

    def own(self, node: Node) -> list[int]:
        """Return which operands of an op depend on the direction."""
        return [i for i, x in enumerate(node.inputs) if x in self.of.moving]

    def differs(self, other: LinearParts) -> bool:
        """Say whether it has other parts."""
        return self.sources.keys() != other.sources.keys() or self.tail != other.tail

    @property
    def results(self) -> list[int]:
        """Which output of `between` each use takes; if it is scaled on the way, there is one for each use."""
        distinct = [*dict.fromkeys(self.uses.values())]
        return [i if self.scaling else distinct.index(x) for i, x in enumerate(self.uses.values())]

    @property
    def between(self) -> Program:
        """The program of what the uses take, by the inputs that are not the direction, and the copies.

        What scales the values that are moved does so before: it is moved back to them.
        """
        given, copies = self.of.along.inputs[:-1], [*self.sources]
        uses = self.uses.values()
        plain = subprogram(self.of.along, [*given, *copies], [*(uses if self.scaling else dict.fromkeys(uses))])
        before = [node for node in copies if node in self.scaled_copies]
        if not self.scaling and not before:
            return plain
        known = len(given)
        head = subprogram(self.of.along, self.of.along.inputs, before)
        tail = self._tail_alone(scaled=True) if self.scaling else None
        back = None if tail is None else transpose(tail, [i >= known for i in range(len(tail.inputs))])

        def scaled(*xs: TracedArray) -> list[TracedArray]:
            values, own = xs[:known], dict(zip(copies, xs[known:], strict=True))
            one = TracedArray(xs[0].node.trace.literal(1.0, head.in_types[-1]))
            for node, factor in zip(before, inline(head, [*values, one]), strict=True):
                own[node] = _times(own[node], factor)
            results = inline(plain, [*values, *own.values()])
            if back is None:
                return results
            one = TracedArray(xs[0].node.trace.literal(1.0, back.in_types[-1]))
            return [_times(x, factor) for x, factor in zip(results, inline(back, [*values, one]), strict=True)]

        return lower(program_of(plain.in_types, scaled))

    def targets(self) -> list[tuple[Array, Array]] | None:
        """Return to which element of the output each element of a use is added, −1 for none, and times what.

        Returns:
            None where one is added to several, or this is not known.
        """
        tail = self._tail_alone(scaled=False)
        known = len(self.of.along.inputs) - 1
        type = tail.out_types[0]
        try:
            run = prepare(transpose(tail, [i >= known for i in range(len(tail.inputs))])).run
        except NotDifferentiableError:  # an op has no transpose
            return None
        given = [np.zeros(x.shape, x.dtype) for x in tail.in_types[:known]]  # which are not looked at
        drawn = np.random.default_rng(1).normal(size=type.size)
        numbers = np.arange(1.0, type.size + 1)
        found = []
        ways = [run([*given, x.reshape(type.shape)]) for x in (np.ones(type.size), numbers, drawn)]
        for weight, label, value in zip(*[[np.ravel(x) for x in each] for each in ways], strict=True):
            there = weight != 0.0
            places = np.rint(np.divide(label, weight, out=np.zeros_like(label), where=there)).astype(np.int64) - 1
            inside = (places >= -1) & (places < type.size)
            if not inside.all() or not np.allclose(np.append(drawn, 0.0)[places] * weight, value, rtol=1e-12, atol=0.0):
                return None
            found.append((places, np.ones_like(weight) if self.scaling else weight))
        return found

    def _tail_alone(self, scaled: bool) -> Program:
        """Return the program of the output, by the inputs that are not the direction, and what the tail takes.

        Args:
            scaled: whether what is moved is scaled on the way as it is, or by drawn numbers.
        """
        inputs, rng = self.of.along.inputs[:-1], np.random.default_rng(2)

        def output(*xs: TracedArray) -> list[TracedArray]:
            trace, given = xs[0].node.trace, dict(zip(self.uses, xs[len(inputs) :], strict=True))
            if (None, 0) in given:
                return [given[None, 0]]
            found = dict(zip(inputs, [x.node for x in xs], strict=False))
            found.update({node: trace.capture(x) for node, x in self.of.known.items() if node.op is not LITERAL})
            others = [
                x for node in self.tail for i, x in enumerate(node.inputs) if x not in found and i not in self.own(node)
            ]
            values = others if scaled else [x for x in others if x.op is LITERAL]
            needed = needed_between(found, values)
            replay([node for node in self.of.along.nodes if node in needed], found, trace)
            for node in self.tail:
                own = {i: given[node, i].node if (node, i) in given else found[node.inputs[i]] for i in self.own(node)}
                if node in self.scaling and not scaled:  # drawn, so that what comes along two ways does not cancel
                    (x,) = own.values()
                    factor = TracedArray(trace.capture(rng.uniform(1.0, 2.0, x.type.shape)))
                    found[node] = ops.mul(TracedArray(x), factor).node
                else:
                    operands = tuple([own[i] if i in own else found[x] for i, x in enumerate(node.inputs)])
                    found[node] = reapplied(node, operands, trace)
            return [TracedArray(found[self.of.along.outputs[0]])]

        return program_of([*[x.type for x in inputs], *[x.type for x in self.uses.values()]], output)


def _times(x: TracedArray, factor: TracedArray) -> TracedArray:
    """Return what is scaled; what is masked is zero also where it would be infinite."""
    found: TracedArray = ops.mask(ops.logical_not(ops.equal(factor, full(0.0, factor))), ops.mul(x, factor))
    return found


def linear(along: Program, constants: Constants) -> DirectionProgram:
    """Return a lowered program of products with a direction, with what is known beside it.

    Args:
        along: the program.
        constants: its values that are known; of numbers among them only literals are, which are the same at each call.
    """
    moving = dependents(along.nodes, along.inputs[-1:])
    beside = dict.fromkeys([x for node in along.nodes if node in moving for x in node.inputs if x not in moving])
    known: dict[Node, Array] = {}
    for node in beside:
        value = constants.value(node) if node.op is LITERAL or node.type.dtype.kind in "iub" else None
        if value is not None:
            known[node] = value
            constants.uses(node)
    return DirectionProgram(along, known, moving)


def taken_apart(of: DirectionProgram, scaled: bool) -> list[LinearParts]:
    """Return ways to take apart a program that is linear in a direction, by what is copied and what its tail is.

    Args:
        of: the program.
        scaled: whether what is not known may scale what is moved.

    Returns:
        none where something is in the way.
    """
    order = [node for node in of.along.nodes if node in of.moving and node is not of.along.inputs[-1]]
    if of.along.outputs[0] not in of.moving or any(not _is_plain(node) for node in order):
        return []
    sources = _sources(of, order, scaled)
    short = _parts(of, order, sources, short=True, scaled=scaled)
    fewer = _fewer_sources(short, sources)
    found = [short] if scaled else [_parts(of, order, sources, short=False, scaled=False), short]
    found += [_parts(of, order, fewer, short=True, scaled=scaled)] if fewer else []
    return [x for i, x in enumerate(found) if all(x.differs(y) for y in found[:i])]


def _is_plain(node: Node) -> bool:
    """Say whether a value is an array of doubles, computed by an op that holds no program."""
    plain = isinstance(node.type, ArrayType) and node.type.dtype == np.float64
    return plain and not isinstance(node.op, Leaf) and not node.op.holds_program


def _parts(
    of: DirectionProgram, order: list[Node], sources: Mapping[Node, Array], short: bool, scaled: bool
) -> LinearParts:
    """Return the parts of a program.

    Args:
        of: the program.
        order: what depends on the direction.
        sources: what is moved of the direction, and from where.
        short: whether the tail has only what follows the first op that moves points.
        scaled: whether what is not known may scale what is moved.
    """
    (output,) = of.along.outputs
    rest = [node for node in order if node not in sources]
    tail = _longest_tail(of, rest, scaled)
    if short and tail:
        tail = _shorter_tail(of, rest, tail, sources)
    uses: dict[Use, Node] = {
        (node, i): x
        for node in rest
        if node in tail
        for i, x in enumerate(node.inputs)
        if x in of.moving and x not in tail
    }
    if output not in tail:
        uses[None, 0] = output
    middle = [node for node in rest if node not in tail]
    used = {x for node in middle for x in node.inputs} | {*uses.values()}
    scaling = frozenset([node for node in tail if not of.has_known(node)])
    taken = {node: x for node, x in sources.items() if node in used}
    scaled_copies = dependents(order, [node for node in sources if node in order and node.op.axes.pointwise])
    copied = frozenset(scaled_copies.intersection(taken))
    return LinearParts(of, taken, middle, [node for node in rest if node in tail], uses, scaling, copied)


def _sources(of: DirectionProgram, order: list[Node], scaled: bool) -> dict[Node, Array]:
    """Return what is only moved of the direction, and from where: it does to drawn numbers what it does to places."""
    direction = of.along.inputs[-1]
    size = direction.type.size
    drawn = np.random.default_rng(0).normal(size=size)
    labels: dict[Node, Array] = {direction: np.arange(size).reshape(direction.type.shape)}
    values: dict[Node, Array] = {direction: drawn.reshape(direction.type.shape)}
    padded = np.append(drawn, 0.0)
    for node in order:
        own = [i for i, x in enumerate(node.inputs) if x in of.moving]
        if not all(node.inputs[i] in labels for i in own):
            continue
        if node.op.axes.pointwise:
            if scaled and len(own) == 1 and node.op.is_linear_in(own[0]):
                labels[node], values[node] = labels[node.inputs[own[0]]], values[node.inputs[own[0]]]
            continue
        if not of.has_known(node):
            continue
        numbered, moved = [
            np.asarray(
                node.op.numpy(*[given(x) if x in labels else of.known[x] for x in node.inputs], **dict(node.params))
            )
            for given in (lambda x: labels[x] + 1.0, values.__getitem__)
        ]
        places = np.rint(numbered).astype(np.int64) - 1
        inside = (places >= -1) & (places < size)
        if inside.all() and np.array_equal(padded[places], moved):
            labels[node], values[node] = places, moved
    users = users_of(order)
    for node in reversed(order):  # what scales before nothing is moved is computed
        if node in labels and node.op.axes.pointwise and not any(x in labels for x in users.get(node, ())):
            del labels[node]
    return {node: np.ravel(x) for node, x in labels.items()}


def _fewer_sources(parts: LinearParts, sources: Mapping[Node, Array]) -> dict[Node, Array]:
    """Return copies without those that are made of others, point by point; none if these are all.

    So what of a copy is used twice, in another shape, is one column of a block and not two.
    """
    lengths = _Lengths(parts.of, parts.of.along.inputs, [*dict.fromkeys(parts.uses.values())], parts.sources)
    fewer = dict(sources)
    for node in parts.sources:
        chain = [node]
        while chain[-1] in sources and lengths.are_kept(chain[-1]):
            operand, *others = [x for x in chain[-1].inputs if x in parts.of.moving]
            if others:
                break
            if operand in parts.sources:
                for x in chain:
                    fewer.pop(x, None)
                break
            chain.append(operand)
    return fewer if len(fewer) < len(sources) else {}


class _Lengths:
    """The longest axes of some values of a program, and what happens to them.

    Args:
        of: the program.
        inputs, outputs: of the part that is looked at.
        values: whose axes they are.
    """

    def __init__(
        self, of: DirectionProgram, inputs: Sequence[Node], outputs: Sequence[Node], values: Iterable[Node]
    ) -> None:
        self._moving = of.moving
        self._own: dict[Node, Node] = {}
        self._dimensions = Dimensions(subprogram(of.along, inputs, outputs, mapping=self._own))
        taken = [self._own[x] for x in values]
        longest = max([n for x in taken for n in x.type.shape], default=0)
        long = [(x, i) for x in taken for i, n in enumerate(x.type.shape) if n == longest]
        self._long = {self._dimensions.of(x, i) for x, i in long}

    def are_kept(self, node: Node) -> bool:
        """Say whether an op does the same at all indices along them, of each operand that depends on the direction."""
        if isinstance(node.op, Leaf):
            return False
        map = axis_map(node)
        for operand, labels in zip(node.inputs, map.operands, strict=True):
            x = self._own.get(operand)
            if operand in self._moving:
                own = [] if x is None else [y for i, y in enumerate(labels) if self._dimensions.of(x, i) in self._long]
                if not own or any(map.role(label) != "mapped" for label in own):
                    return False
        return True


def _longest_tail(of: DirectionProgram, rest: list[Node], scaled: bool) -> set[Node]:
    """Return the linear ops that lead to the output through each other only, but for pointwise ones before moves."""
    users = users_of(rest)
    tail: set[Node] = set()
    for node in reversed(rest):
        if node is not of.along.outputs[0] and not all(x in tail for x in users.get(node, ())):
            continue
        own = [i for i, x in enumerate(node.inputs) if x in of.moving]
        scales = scaled and node.op.axes.pointwise and len(own) == 1 and node.op.is_linear_in(own[0])
        if scales or (of.has_known(node) and (node.op.kind == "linear" or len(own) == 1)):
            tail.add(node)
    for node in rest:
        if node in tail and node.op.axes.pointwise and not any(x in tail for x in node.inputs):
            tail.discard(node)
    return tail


def _shorter_tail(of: DirectionProgram, rest: list[Node], tail: set[Node], sources: Mapping[Node, Array]) -> set[Node]:
    """Return a tail without those ops before all others that do the same along the longest axes."""
    taken = [x for node in tail for x in node.inputs if x in of.moving and x not in tail]
    lengths = _Lengths(of, [*of.along.inputs[:-1], *sources], of.along.outputs, taken)
    short = set(tail)
    for node in rest:
        first = node in short and not any(x in short for x in node.inputs)
        if first and (node.op.axes.pointwise or lengths.are_kept(node)):
            short.discard(node)
    return short
