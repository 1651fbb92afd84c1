"""Entries of a matrix of derivatives that are computed as they are, without products with directions.

A stencil takes copies of its argument, moved, and computes with them element by element; what it computes is moved, and
added, to the result. So its Jacobian is T D L: L says from which elements the copies are taken, T where the results go,
both constant, and D has a diagonal for each pair of a copy and a result. The diagonals are the program of the product
with a direction itself, with 1 in place of one copy and nothing in place of the others. Each entry of the matrix is
one of their elements, or the sum of a few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node, Trace
from primad.ir.program import Program, subprogram
from primad.ir.replay import reapplied, rebuild, replay
from primad.ir.walks import dependents
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import prepare
from primad.transforms.lowering import inline
from primad.transforms.reverse import transpose

Array = np.ndarray[Any, Any]

MOST_DIAGONALS = 64
"""Diagonals of a matrix that are computed as they are. Chosen: each has code of its own, and more take long to
compile."""
MOST_EACH = 2
"""Elements of diagonals for each entry of the matrix, above which products with directions are taken."""
MOST_ADDED = 4
"""Elements of diagonals that are added up for an entry, up to which each has a list, and above which they are
scattered. Chosen: entries of stencils are sums of few."""


class Diagonals(NamedTuple):
    """The diagonals of a program of products with a direction.

    Attributes:
        program: (inputs) -> all diagonals, one after the other, and 0 at the end.
        size: how many elements they have.
        numbers, rows, columns: an element, and a place of the matrix where it belongs; elements may have several.
        weights: by which it is multiplied there.
    """

    program: Program
    size: int
    numbers: Array
    rows: Array
    columns: Array
    weights: Array


class EntrySums(NamedTuple):
    """Which elements of diagonals are added up for the entries of a matrix.

    Attributes:
        places: lists of the numbers of elements, one for each entry; that of the 0 at the end where there are fewer.
        weights: by which the elements are multiplied; None if by 1.
    """

    places: Array
    weights: Array | None

    @property
    def lists(self) -> list[Array]:
        """All of these."""
        return [*self.places, *(() if self.weights is None else self.weights)]

    def by_columns(self, order: Array) -> EntrySums:
        """Return the same for entries in another order."""
        weights = None if self.weights is None else np.take(self.weights, order, axis=1)
        return EntrySums(np.take(self.places, order, axis=1), weights)


class _Stencil(NamedTuple):
    """A program that is linear in a direction, taken apart.

    Attributes:
        copies: what is only moved of the direction.
        middle: pointwise ops on these, in order.
        tail: what moves and adds their results, in order.
        uses: the results, one for each time that the tail takes them: by what, and as which operand.
    """

    copies: list[Node]
    middle: list[Node]
    tail: list[Node]
    uses: dict[tuple[Node | None, int], Node]


def diagonals_of(along: Program) -> Diagonals | None:
    """Return the diagonals of a lowered program of products with a direction; None if it is no stencil."""
    parts = _taken_apart(along)
    if parts is None or along.inputs[-1].type.dtype != np.float64 or along.out_types[0].dtype != np.float64:
        return None
    columns = _sources(subprogram(along, along.inputs[-1:], parts.copies))
    targets = _targets(_tail_of(along, parts))
    if columns is None or targets is None:
        return None
    behind = [dependents(parts.middle, [copy]) for copy in parts.copies]
    results = dict.fromkeys(parts.uses.values())
    pairs = [(copy, result) for copy in range(len(parts.copies)) for result in results if result in behind[copy]]
    if not 0 < len(pairs) <= MOST_DIAGONALS:
        return None
    apart = program_of(along.in_types[:-1], lambda *xs: _computed(along, parts, pairs, xs))
    computed = dict(zip(pairs, apart.outputs, strict=True))
    sizes = {node: node.type.size for node in apart.outputs}  # equal ones are one
    begin = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    taken = [
        (begin[computed[pair]] + np.arange(pair[1].type.size), rows, columns[pair[0]], weights)
        for result, (rows, weights) in zip(parts.uses.values(), targets, strict=True)
        for pair in pairs
        if pair[1] is result
    ]
    numbers, rows, columns_of, weights = [np.concatenate(each) for each in zip(*taken, strict=True)]
    there = (rows >= 0) & (columns_of >= 0)
    program = program_of(along.in_types[:-1], lambda *xs: [_joined(Program(apart.trace, apart.inputs, [*sizes]), xs)])
    return Diagonals(program, sum(sizes.values()), numbers[there], rows[there], columns_of[there], weights[there])


def _taken_apart(along: Program) -> _Stencil | None:
    """Return copies, pointwise ops and what takes their results; None where other ops are between them."""
    direction, (output,) = along.inputs[-1], along.outputs
    moving = dependents(along.nodes, [direction])
    if output not in moving:
        return None
    copies: dict[Node, None] = {direction: None}
    middle: dict[Node, None] = {}
    tail: dict[Node, None] = {}
    for node in along.nodes:
        if node not in moving or node is direction:
            continue
        own = [x for x in node.inputs if x in moving]
        if isinstance(node.op, Leaf) or node.op.holds_program or not isinstance(node.type, ArrayType):
            return None
        plain = all(x.op is LITERAL for x in node.inputs if x not in moving)
        if node.op.axes.pointwise and not any(x in tail for x in own):
            middle[node] = None
        elif plain and not node.op.axes.pointwise and all(x in copies for x in own):
            copies[node] = None
        elif plain and (node.op.kind == "linear" or len(own) == 1):
            tail[node] = None
        else:
            return None
    uses: dict[tuple[Node | None, int], Node] = {
        (node, i): x for node in tail for i, x in enumerate(node.inputs) if x in moving and x not in tail
    }
    if output not in tail:
        uses[None, 0] = output
    used = {x for node in middle for x in node.inputs} | {*uses.values()}
    return _Stencil([x for x in copies if x in used], [*middle], [*tail], uses)


def _tail_of(along: Program, parts: _Stencil) -> Program:
    """Return the program of the result, by what the tail takes."""

    def result(*xs: TracedArray) -> list[TracedArray]:
        trace, given = xs[0].node.trace, dict(zip(parts.uses, xs, strict=True))
        if (None, 0) in given:
            return [given[None, 0]]
        found: dict[Node, Node] = {}
        for node in parts.tail:
            operands = [
                given[node, i].node if (node, i) in given else found[x] if x in found else rebuild(x, found, trace)
                for i, x in enumerate(node.inputs)
            ]
            found[node] = reapplied(node, tuple(operands), trace)
        return [TracedArray(found[along.outputs[0]])]

    return program_of([x.type for x in parts.uses.values()], result)


def _sources(head: Program) -> list[Array] | None:
    """Return which element of the direction each element of the copies is, −1 for none; None if it is no copy."""
    size, type = head.in_types[0].size, head.in_types[0]
    run = prepare(head).run
    numbers, drawn = np.arange(1.0, size + 1), np.random.default_rng(0).normal(size=size)
    found = []
    for label, value in zip(run([numbers.reshape(type.shape)]), run([drawn.reshape(type.shape)]), strict=True):
        places = np.rint(label).astype(np.int64).ravel() - 1
        inside = (places >= -1) & (places < size)
        if not inside.all() or not np.array_equal(np.append(drawn, 0.0)[places], np.ravel(value)):
            return None
        found.append(places)
    return found


def _targets(tail: Program) -> list[tuple[Array, Array]] | None:
    """Return to which element of the result each element goes that is added up, −1 for none, and times what.

    Returns:
        None where one goes to several, or this is not known.
    """
    type = tail.out_types[0]
    try:
        run = prepare(transpose(tail)).run
    except NotDifferentiableError:  # an op has no transpose
        return None
    drawn = np.random.default_rng(1).normal(size=type.size)
    numbers = np.arange(1.0, type.size + 1)
    given = [run([x.reshape(type.shape)]) for x in (np.ones(type.size), numbers, drawn)]
    found = []
    for weight, label, value in zip(*[[np.ravel(x) for x in each] for each in given], strict=True):
        there = weight != 0.0
        places = np.rint(np.divide(label, weight, out=np.zeros_like(label), where=there)).astype(np.int64) - 1
        inside = (places >= -1) & (places < type.size)
        if not inside.all() or not np.allclose(np.append(drawn, 0.0)[places] * weight, value, rtol=1e-12, atol=0.0):
            return None
        found.append((places, weight))
    return found


def _computed(
    along: Program, parts: _Stencil, pairs: Sequence[tuple[int, Node]], xs: Sequence[TracedArray]
) -> list[TracedArray]:
    """Return the diagonals, which are products with 1 in place of one copy each."""
    trace = xs[0].node.trace
    given = dict(zip(along.inputs[:-1], [x.node for x in xs], strict=True))
    moving = dependents(along.nodes, along.inputs[-1:])
    replay([node for node in along.nodes if node not in moving], given, trace)
    by_copy = {}
    for copy in dict.fromkeys(copy for copy, _ in pairs):
        node = parts.copies[copy]
        alone = {node: trace.literal(1.0, node.type)}
        by_copy[copy] = _pushed(parts.middle, alone, given, moving, trace)
    return [TracedArray(by_copy[copy][result]) for copy, result in pairs]


def _joined(diagonals: Program, xs: Sequence[TracedArray]) -> TracedArray:
    """Return the elements of all diagonals, and 0 at the end."""
    flat = [ops.reshape(x, shape=(x.size,)) for x in inline(diagonals, xs)]
    found: TracedArray = ops.concatenate(*flat, TracedArray(lift(np.zeros(1), xs[0].node.trace)), axis=0)
    return found


def _pushed(
    middle: Sequence[Node], found: dict[Node, Node], given: Mapping[Node, Node], moving: set[Node], trace: Trace
) -> dict[Node, Node]:
    """Apply pointwise ops to what there is of a direction; what is not there is zero."""
    for node in middle:
        if not any(x in found for x in node.inputs):
            continue
        none = {x: trace.literal(0.0, x.type) for x in node.inputs if x in moving and x not in found}
        operands = [found.get(x) or none.get(x) or given[x] for x in node.inputs]
        found[node] = reapplied(node, tuple(operands), trace)
    return found


def sums_of(diagonals: Diagonals, starts: Array, columns: Array, size: int) -> EntrySums | None:
    """Return which elements of the diagonals are added up for each entry of a matrix; None where they are too many.

    Args:
        diagonals: all of them.
        starts: where those of each row begin, and the last's end.
        columns: of all, those of a row in order.
        size: how many columns there are.
    """
    if diagonals.size > MOST_EACH * len(columns):
        return None
    wanted = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * size + columns
    keys = diagonals.rows * size + diagonals.columns
    entry = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    kept = np.flatnonzero(wanted[entry] == keys)  # elsewhere it is known to be zero
    kept = kept[np.argsort(entry[kept], kind="stable")]
    entry = entry[kept]
    counts = np.bincount(entry, minlength=len(wanted))
    most = max(1, int(counts.max(initial=0)))
    if most > MOST_ADDED:
        return None
    rank = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    index = np.int32 if diagonals.size < 2**31 else np.int64
    places, weights = np.full((most, len(wanted)), diagonals.size, index), np.ones((most, len(wanted)))
    places[rank, entry], weights[rank, entry] = diagonals.numbers[kept], diagonals.weights[kept]
    return EntrySums(places, None if np.all(weights == 1.0) else weights)


def summed(diagonals: Diagonals, sums: EntrySums, data: Array) -> Program:
    """Build the program (inputs, lists, array) -> the entries.

    Args:
        diagonals: all of them.
        sums: which of their elements are added up.
        data: like the array, which is not read: its memory is for the result.
    """
    inputs, given = len(diagonals.program.inputs), [*sums.lists, data]

    def body(*xs: TracedArray) -> list[TracedArray]:
        return [added_up(diagonals, sums, xs[:inputs], xs[inputs:-1])]

    return program_of([*diagonals.program.in_types, *[ArrayType(x.shape, x.dtype) for x in given]], body)


def added_up(
    diagonals: Diagonals, sums: EntrySums, operands: Sequence[TracedArray], lists: Sequence[TracedArray]
) -> TracedArray:
    """Return the entries.

    Args:
        diagonals: all of them.
        sums: which of their elements are added up.
        operands: inputs of the diagonals' program.
        lists: those of the sums.
    """
    (values,) = inline(diagonals.program, operands)
    count = len(sums.places)
    terms = [ops.gather(values, own, axis=0, batch=0) for own in lists[:count]]
    for i, weights in enumerate(lists[count:]):
        terms[i] = ops.mul(terms[i], weights)
    total: TracedArray = terms[0]
    for term in terms[1:]:
        total = ops.add(total, term)
    return total
