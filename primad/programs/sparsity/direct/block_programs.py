"""The blocks of derivatives at points that stay apart, by one seed for all points for each of a point's elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from primad import ops
from primad.errors import NotDifferentiableError
from primad.ir.node import Node, Trace
from primad.ir.program import Program
from primad.ir.replay import reapplied, replay
from primad.ir.walks import dependents, needed_between
from primad.programs.sparsity.constants import Constants
from primad.programs.sparsity.direct.late_reshapes import with_late_reshapes
from primad.programs.sparsity.direct.linear_parts import DirectionProgram, LinearParts, taken_apart
from primad.programs.sparsity.direct.possible_pairs import PossiblePairs, possible_pairs
from primad.programs.sparsity.labels import Array
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.batching import vmap
from primad.transforms.dimensions import Dimensions
from primad.transforms.lowering import inline, lower
from primad.transforms.reverse import transpose

MOST_BLOCKS = 64
"""Blocks, of a copy and a result, that are computed as they are. Chosen: each has code of its own, and more take long
to compile."""


class PointBlocks(NamedTuple):
    """The blocks of a program of products with a direction.

    Attributes:
        program: (inputs) -> the blocks, of which equal ones are one.
        size: how many elements they have.
        numbers, rows, columns: an element, and a place of the matrix where it belongs; elements may have several.
        weights: by which it is multiplied there.
        narrow: whether none of these are elements that are zero whatever the numbers are that are not known.
    """

    program: Program
    size: int
    numbers: Array
    rows: Array
    columns: Array
    weights: Array
    narrow: bool


class _Block(NamedTuple):
    """Derivatives of an output of a linear program by one of its linear inputs, at points that stay apart.

    Attributes:
        source, result: which input, of the linear ones, and which output.
        seeds: how many there are.
        places: for each element, by its seed and its place in the output, the element of the input.
    """

    source: int
    result: int
    seeds: int
    places: Array


class _Seeded(NamedTuple):
    """A program that is linear in some inputs, by one seed for each element at a point.

    Attributes:
        of: the program; its last inputs are those in which it is linear.
        linear: how many those are.
        blocks: of all pairs of an input and an output that depends on it, by inputs.
    """

    of: Program
    linear: int
    blocks: list[_Block]

    def work(self) -> int:
        """Return how many elements of values are computed for all blocks, and how often memory is touched for theirs.

        Values between may stay in registers. An element is written, its number and it are read, a sum is read and
        written.
        """
        of = self.of
        inputs = of.inputs[len(of.inputs) - self.linear :]
        behind = [sum([x.type.size for x in dependents(of.nodes, [node])]) for node in inputs]
        seeds = {block.source: block.seeds for block in self.blocks}
        own = sum([block.places.size for block in self.blocks])
        return 5 * own + sum([count * behind[source] for source, count in seeds.items()])

    def apart(self) -> Program:
        """Return the program of the blocks, one after the other."""
        of, given = self.of, len(self.of.inputs) - self.linear
        dimensions = Dimensions(of)

        def blocks(*xs: TracedArray) -> list[TracedArray]:
            found = []
            for source in dict.fromkeys(block.source for block in self.blocks):
                own = [block for block in self.blocks if block.source == source]
                alone = _alone(of, given, given + source, [block.result for block in own])
                cells = _cells(of, dimensions, of.inputs[given + source])
                found += _by_seeds(alone, own[0], cells, xs, xs[0].node.trace)
            return found

        return program_of([x.type for x in of.inputs[:given]], blocks)


def blocks_of(linear: DirectionProgram, most: int, constants: Constants | None = None) -> PointBlocks | None:
    """Return the blocks of a program of products with a direction, in the way that costs least.

    Args:
        linear: the program.
        most: how many elements they may have.
        constants: its values that are known, by which elements that are zero are left out where that is possible.

    Returns:
        None where there are none, or they have more elements.
    """
    own = linear.along
    linear = with_late_reshapes(linear)
    if constants is not None:
        constants = constants.within(dict(zip(linear.along.inputs, own.inputs, strict=True)))
    for scaled in (False, True):
        ways = [(parts, pulled) for parts in taken_apart(linear, scaled) for pulled in (False, True)]
        found = [(x, parts, pulled) for parts, pulled in ways if (x := _seeded(parts, pulled, most))]
        if any(not pulled and all(block.seeds == 1 for block in x.blocks) for x, _, pulled in found):
            found = [way for way in found if not way[-1]]  # tangents with one seed are what the program has anyway
        if not found:
            continue
        seeded, parts, pulled = min(found, key=lambda way: way[0].work())
        targets = parts.targets()
        if targets is not None:
            return _placed(parts, seeded, pulled, targets, constants)
    return None


def _seeded(parts: LinearParts, pulled: bool, most: int) -> _Seeded | None:
    """Return the seeds of the copies, or of the results; None where points do not stay apart, or blocks are many."""
    between = parts.between
    given = len(parts.of.along.inputs) - 1
    linear = [i >= given for i in range(len(between.inputs))]
    if pulled:
        try:
            between = lower(transpose(between, linear))
        except NotDifferentiableError:  # an op has no transpose
            return None
    blocks = _apart(between, given, most)
    return None if not blocks else _Seeded(between, len(between.inputs) - given, blocks)


def _cells(of: Program, dimensions: Dimensions, node: Node) -> list[int]:
    """Return the axes of an input along which something happens to what depends on it: there points are not apart."""
    behind = dependents(of.nodes, [node])
    return [i for i in range(node.type.ndim) if dimensions.of(node, i).happens(behind)]


def _apart(of: Program, given: int, most: int) -> list[_Block]:
    """Return the blocks of a program that is linear in its last inputs, up to so many elements.

    Returns:
        none where an output lacks an axis of an input along which points are apart, or where none are.
    """
    linear = of.inputs[given:]
    if _is_above(MOST_BLOCKS, of, linear):
        return []
    dimensions = Dimensions(of)
    cells = [_cells(of, dimensions, x) for x in linear]
    seeds = [math.prod([x.type.shape[i] for i in own]) for x, own in zip(linear, cells, strict=True)]
    behind = [dependents(of.nodes, [x]) for x in linear]
    full = [(i, j) for i, x in enumerate(linear) for j, y in enumerate(of.outputs) if x.type.size and y.type.size]
    pairs = [(i, j) for i, j in full if of.outputs[j] in behind[i]]
    if len(pairs) > MOST_BLOCKS or sum([seeds[i] * of.outputs[j].type.size for i, j in pairs]) > most:
        return []
    if all(seeds[i] == linear[i].type.size > 1 for i, _ in pairs):
        return []
    found = []
    for i, j in pairs:
        shape, output = linear[i].type.shape, of.outputs[j]
        steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        own = np.zeros(1, np.int64)
        for axis in cells[i]:
            own = (own[:, None] + steps[axis] * np.arange(shape[axis])).reshape(-1)
        places = own.reshape(seeds[i], *[1] * output.type.ndim)
        for axis in set(range(len(shape))).difference(cells[i]):
            there = dimensions.of(linear[i], axis).axis.get(output)
            if there is None:
                return []
            along = [1] * (1 + output.type.ndim)
            along[1 + there] = shape[axis]
            places = places + (steps[axis] * np.arange(shape[axis])).reshape(along)
        found.append(_Block(i, j, seeds[i], np.broadcast_to(places, (seeds[i], *output.type.shape))))
    return found


def _is_above(most: int, of: Program, linear: Sequence[Node]) -> bool:
    """Say whether more inputs than so many have blocks, or more outputs do, in a time that grows with the program."""
    results = [y for y in of.outputs if y.type.size]
    behind = dependents(of.nodes, [x for x in linear if x.type.size])
    before = needed_between((), results)
    return max(sum([x in before for x in linear if x.type.size]), sum([y in behind for y in results])) > most


def _alone(of: Program, given: int, position: int, results: Sequence[int]) -> Program:
    """Return the program of some outputs, by those inputs that are given and one of the linear ones, others being 0."""
    moving = dependents(of.nodes, of.inputs[given:])

    def body(*xs: TracedArray) -> list[TracedArray]:
        trace = xs[0].node.trace
        inputs = [*of.inputs[:given], of.inputs[position]]
        found = dict(zip(inputs, [x.node for x in xs], strict=True))
        replay([node for node in of.nodes if node not in moving], found, trace)
        _pushed(of.nodes, found, moving, trace)
        return [TracedArray(found[of.outputs[i]]) for i in results]

    return program_of([*[x.type for x in of.inputs[:given]], of.inputs[position].type], body)


def _pushed(nodes: Sequence[Node], found: dict[Node, Node], moving: set[Node], trace: Trace) -> None:
    """Apply ops to what there is of a direction; what is not there is zero."""
    for node in nodes:
        if node in found or node not in moving or not any(x in found and x in moving for x in node.inputs):
            continue
        none = {x: trace.literal(0.0, x.type) for x in node.inputs if x in moving and x not in found}
        operands = [found.get(x) or none[x] for x in node.inputs]
        found[node] = reapplied(node, tuple(operands), trace)


def _by_seeds(
    alone: Program, block: _Block, cells: Sequence[int], xs: Sequence[TracedArray], trace: Trace
) -> list[TracedArray]:
    """Return the outputs of a linear program for each seed of its last input, which has 1 at all points."""
    type = alone.in_types[-1]
    if block.seeds == 1:
        return inline(alone, [*xs, TracedArray(trace.literal(1.0, type))])
    eye = TracedArray(trace.build(ops.eye, (), (("dtype", str(type.dtype)), ("n", block.seeds))))
    seeds = ops.reshape(eye, shape=(block.seeds, *[type.shape[i] for i in cells]))
    others = tuple([1 + i for i in range(type.ndim) if i not in cells])
    if others:
        seeds = ops.broadcast(seeds, axes=others, shape=(block.seeds, *type.shape))
    return inline(vmap(alone, [*[False] * len(xs), True], block.seeds), [*xs, seeds])


def _placed(
    parts: LinearParts,
    found: _Seeded,
    pulled: bool,
    targets: Sequence[tuple[Array, Array]],
    constants: Constants | None,
) -> PointBlocks:
    """Return the blocks with the places of the matrix where their elements belong."""
    pairs = None if constants is None else _pairs(parts, constants)
    sources, numbers = [*parts.sources.values()], parts.results
    taken: list[list[tuple[Array, Array]]] = [[] for _ in range(1 + max(numbers))]
    for number, target in zip(numbers, targets, strict=True):
        taken[number].append(target)
    apart = found.apart()
    sizes = {node: node.type.size for node in apart.outputs}  # equal ones are one
    begins = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    pieces = []
    for block, node in zip(found.blocks, apart.outputs, strict=True):
        here = np.ravel(block.places)
        there = np.tile(np.arange(len(here) // block.seeds), block.seeds)
        copy, result = (block.result, block.source) if pulled else (block.source, block.result)
        own, at = (there, here) if pulled else (here, there)
        inner = np.arange(len(here))
        if pairs is not None:
            inner = np.flatnonzero(pairs.are(result, at, copy, own))
            own, at = own[inner], at[inner]
        columns = sources[copy][own]
        for rows, weights in taken[result]:
            pieces.append((begins[node] + inner, rows[at], columns, weights[at]))
    elements, rows, columns, weights = [np.concatenate(each) for each in zip(*pieces, strict=True)]
    inside = (rows >= 0) & (columns >= 0)
    return PointBlocks(
        Program(apart.trace, apart.inputs, [*sizes]),
        sum(sizes.values()),
        elements[inside],
        rows[inside],
        columns[inside],
        weights[inside],
        pairs is not None,
    )


def _pairs(parts: LinearParts, constants: Constants) -> PossiblePairs | None:
    """Return which elements of the results may depend on which of the copies."""
    between, given = parts.between, parts.of.along.inputs[:-1]
    inner = constants.within(dict(zip(between.inputs, given, strict=False)))
    return possible_pairs(between, len(between.inputs) - len(given), inner)
