"""The rows that the steps of a loop take or leave, as one array: of numbers, captured arrays, or parts of one array.

Python takes part after part (`x[n]`, `x[:, k]`, `A[i, j]`). Which elements of the array a part shows is the same
question for NumPy's own views: the views are applied to memory that nobody touches, and the address of what comes out
and its strides tell. Where parts lie one behind the other along an axis they are a slice of the array, where they jump
they are gathered, and neither makes a node for each step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, Params, Trace, leaf_value, literal_value, named
from primad.ir.replay import rebuild
from primad.numpy.promotion import expand
from primad.numpy.shapes.shaping import moveaxis, reshape, stack
from primad.programs.rerolling.node_sequences import is_gathered
from primad.recording.traced_array import TracedArray, lift
from primad.system.machine import CALL_ELEMENTS

Array = np.ndarray[Any, Any]

MOST_TURNS = 16
"""Arrays of which parts are joined by turns. Chosen: a state of so many numbers, each computed alone."""

MOST_SLICES = 6
"""Slices of one array that are joined; more are gathered at once. Chosen: each is an op, which is compiled."""


class Rebuilt(dict[Node, Node]):
    """What became of the nodes of a program; rows that loops take or leave are built when they are asked for alone.

    Args:
        known: what has been built.
        trace: where others are.
        later: constants, and views of what has been, or will be, that are built when they are asked for.

    Attributes:
        rows: of nodes that are rows which a loop leaves, in which array, and which row.
    """

    def __init__(self, known: Mapping[Node, Node], trace: Trace, later: Collection[Node] = ()) -> None:
        super().__init__(known)
        self._trace, self._later = trace, set(later)
        self.rows: dict[Node, tuple[Node, int]] = {}

    def get(self, node: Node, default: Any = None) -> Any:
        """Return what became of a node."""
        found = super().get(node)
        if found is None and node in self.rows:
            stack, place = self.rows[node]
            found = self[node] = row_of(stack, place)
        elif found is None and node in self._later:
            found = self[node] = rebuild(node, self, self._trace, copy=not any(x in self.rows for x in node.inputs))
        return default if found is None else found

    def put_off(self, node: Node) -> bool:
        """Say whether a node is a view of a row that a loop leaves; it is built when it is asked for then."""
        if len(node.inputs) != 1 or not node.op.memory.views or node.op.kind != "linear" or node.inputs[0] in self:
            return False
        if node.inputs[0] in self.rows:
            self._later.add(node)
        return node in self._later

    def pieces(self, node: Node) -> list[Node]:
        """Return what a node joins, where rows that loops leave are one piece if they follow one another."""
        rows = self._rows_in(node)
        found: list[Node] = []
        for source, group in groupby(node.inputs, lambda x: self.rows[rows[x]][0] if x in rows else None):
            each = list(group)
            whole = self.stacked([rows[x] for x in each]) if source is not None and len(each) > 1 else None
            if whole is None:
                found += [self.get(x, x) for x in each]
            else:
                length, *rest = each[0].type.shape
                found.append(reshape(TracedArray(whole), (len(each) * length, *rest)).node)
        return found

    def _rows_in(self, node: Node) -> dict[Node, Node]:
        """Return of which rows that loops leave the operands are made which a node joins along their first axis.

        They are these rows themselves, or such with one axis more.
        """
        if dict(node.params)["axis"]:
            return {}
        views = [x for x in node.inputs if len(x.inputs) == 1 and x.op.memory.views and x.inputs[0] in self.rows]
        like = {(x.op, x.params, x.type, x.inputs[0].type) for x in views}
        found = {x: x.inputs[0] for x in views} if all(_is_one_row(*each) for each in like) else {}
        return found | {x: x for x in node.inputs if x in self.rows}

    def stacked(self, each: Sequence[Node]) -> Node | None:
        """Return nodes one behind the other, if many follow one another in arrays that loops leave."""
        pieces: list[list[Node]] = []
        before, jump = None, 0
        for node in each:
            here = self.rows.get(node)
            if here and before and here[0] is before[0] and (len(pieces[-1]) == 1 or here[1] - before[1] == jump):
                jump = here[1] - before[1]
                pieces[-1].append(node)
            else:
                pieces.append([node])
            before = here
        many = 2 * len(pieces) > len(each)
        if many or len(pieces) > MOST_SLICES:
            found = self._in_any_order(each)
            if many or found is not None:
                return found
        return lift(ops.concatenate(*[self._piece(piece) for piece in pieces], axis=0), self._trace)

    def _in_any_order(self, each: Sequence[Node]) -> Node | None:
        """Return nodes one behind the other, if all are rows of one array."""
        rows = [self.rows.get(node) for node in each]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or any(stack is not known[0][0] for stack, _ in known):
            return None
        places = TracedArray(lift(np.array([place for _, place in known]), self._trace))
        return lift(ops.gather(TracedArray(known[0][0]), places, axis=0, batch=0), self._trace)

    def _piece(self, each: Sequence[Node]) -> TracedArray:
        """Return nodes one behind the other: one node, or rows of one array that are equally far apart."""
        found: TracedArray
        if len(each) == 1:
            found = reshape(TracedArray(self.get(each[0], each[0])), (1, *each[0].type.shape))
            return found
        stack, begin = self.rows[each[0]]
        end = self.rows[each[-1]][1]
        jump = (end - begin) // (len(each) - 1)
        if jump == 0:
            found = ops.broadcast(TracedArray(row_of(stack, begin)), shape=(len(each), *each[0].type.shape), axes=(0,))
            return found
        rest = stack.type.shape[1:]
        start, stop = (min(begin, end), *[0] * len(rest)), (max(begin, end) + 1, *rest)
        found = ops.slice_(TracedArray(stack), start=start, stop=stop, step=(abs(jump), *[1] * len(rest)))
        found = ops.flip(found, axes=(0,)) if jump < 0 else found
        return found


def _is_one_row(op: Any, params: Params, type: ArrayType, row: ArrayType) -> bool:
    """Say whether a view of an array is the array along a further axis, the first."""
    if type.shape != (1, *row.shape) or not op.memory.views or op.kind != "linear":
        return False
    places = np.arange(row.size).reshape(row.shape)
    return bool((op.numpy(places, **dict(params)) == places).all())


def row_of(stack: Node, place: int) -> Node:
    """Return a row of an array that a loop leaves, as indexing does in five times the time."""
    rest = stack.type.shape[1:]
    params = named({"start": (place, *[0] * len(rest)), "stop": (place + 1, *rest), "step": (1,) * (1 + len(rest))})
    return stack.trace.place(ops.reshape, (stack.trace.place(ops.slice_, (stack,), params),), (("shape", rest),))


def stacked_rows(each: Sequence[Node], trace: Trace, mapping: Mapping[Node, Node] | None = None) -> Node:
    """Return an array whose rows are values of equal types: numbers, captured arrays, or computed ones.

    Args:
        each: the values.
        trace: where the array is made.
        mapping: what became of them; they stand for themselves if it is not given.
    """
    if all(node.op is LITERAL for node in each):
        return lift(np.array([literal_value(node) for node in each], each[0].type.dtype), trace)
    if all(node.op is CAPTURED for node in each):
        return lift(np.stack([leaf_value(node) for node in each]), trace)
    known = {} if mapping is None else mapping
    gathered = [(x.op, x.params, x.type, x.inputs[0], x.inputs[1].type) for x in each if is_gathered(x)]
    if len(gathered) == len(each) and len(set(gathered)) == 1 and not dict(each[0].params)["batch"]:
        return _gathered_rows(each, trace, known)
    parts = _parts_of(each)
    found: TracedArray | None = None
    if parts is not None:
        parts = replace(parts, source=known.get(parts.source, parts.source))
        found = parts.joined(trace)
        if found is None and each[0].type.size < CALL_ELEMENTS:  # a longer one is copied in the time that a call takes
            found = parts.gathered(trace)
    if found is None:
        found = _of_few([known.get(node, node) for node in each], trace)
    return found.node


def _of_few(each: Sequence[Node], trace: Trace) -> TracedArray:
    """Return an array whose rows are values; where few are in many rows, it is gathered from these."""
    few = sorted(dict.fromkeys(each), key=lambda node: (node.trace.age, node.index))
    found: TracedArray = stack([TracedArray(node) for node in (few if 2 * len(few) <= len(each) else each)])
    if 2 * len(few) <= len(each):
        place = {node: i for i, node in enumerate(few)}
        found = ops.gather(found, TracedArray(lift(np.array([place[node] for node in each]), trace)), axis=0, batch=0)
    return found


def _gathered_rows(each: Sequence[Node], trace: Trace, known: Mapping[Node, Node]) -> Node:
    """Return an array whose rows are elements of one array, at other indices each: all are gathered at once."""
    source, params = each[0].inputs[0], dict(each[0].params)
    places = lift(np.stack([leaf_value(node.inputs[1]) for node in each]), trace)
    found: TracedArray = ops.gather(TracedArray(known.get(source, source)), TracedArray(places), **params)
    return lift(moveaxis(found, params["axis"], 0), trace)


def concatenated(pieces: Sequence[Node], axis: int, trace: Trace) -> Node:
    """Return arrays one behind the other along an axis; parts of one array, or of a few by turns, go there together."""
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault((views_of(node)[0], node.type), len(numbers)) for node in pieces]
    found: list[TracedArray] = []
    i = 0
    while i < len(pieces):
        turns, rounds = _turns(kinds, i)
        found += _together(pieces[i : i + turns * rounds], turns, axis, trace)
        i += turns * rounds
    return lift(ops.concatenate(*found, axis=axis), trace)


def _together(pieces: Sequence[Node], turns: int, axis: int, trace: Trace) -> list[TracedArray]:
    """Return the fewest arrays that were found to be pieces of some arrays by turns, one behind the other.

    Where all of them are no rows of one array, those of each half may be: so each is looked at a few times.
    """
    rounds = len(pieces) // turns
    if rounds < 2:
        return [TracedArray(node) for node in pieces]
    parts = [_parts_of(pieces[k::turns]) for k in range(turns)]
    rows = [None if each is None else each.joined(trace) for each in parts]
    if any(each is None for each in rows):
        middle = turns * (rounds // 2)
        return [*_together(pieces[:middle], turns, axis, trace), *_together(pieces[middle:], turns, axis, trace)]
    lengths, shape = [node.type.shape[axis] for node in pieces[:turns]], pieces[0].type.shape
    turned = [moveaxis(each, 0, axis) for each in rows]
    whole = ops.concatenate(*turned, axis=axis + 1) if turns > 1 else turned[0]
    return [reshape(whole, (*shape[:axis], rounds * sum(lengths), *shape[axis + 1 :]))]


def _turns(kinds: Sequence[object], begin: int) -> tuple[int, int]:
    """Return after how many of them the kinds from a place on repeat themselves, and how often: most of them."""
    best, left = (1, 1), len(kinds) - begin
    for turns in range(1, min(MOST_TURNS, left // 2) + 1):
        same = 0
        while same < left - turns and kinds[begin + same] == kinds[begin + same + turns]:
            same += 1
        rounds = same // turns + 1
        if rounds > 1 and turns * rounds > best[0] * best[1]:
            best = turns, rounds
    return best


class _Parts(Struct, frozen=True):
    """Parts of one array that have the same shape and strides.

    Attributes:
        source: the array.
        shape, strides: of each part; strides in elements of the source, which lies in row-major order.
        places: the element of the source with which each part begins, as its indices along the axes.
    """

    source: Node
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    places: Array

    def joined(self, trace: Trace) -> TracedArray | None:
        """Return the parts as rows of one array; None if they are no plain slices, or larger and jump along axes."""
        moving = np.flatnonzero((self.places != self.places[0]).any(0))
        if len(moving) > 1 and np.prod(self._once, dtype=int) == 1:  # elements, which are those of a line too
            line = reshape(TracedArray(self.source), (self.source.type.size,)).node
            places = np.ravel_multi_index(tuple(self.places.T), self.source.type.shape)[:, None]
            return replace(self, source=line, places=places).joined(trace)
        if len(moving) != 1:
            return None
        axis = int(moving[0])
        first = self.places[0]
        last = first + self._reach()
        if last[axis] != first[axis] or not self._is_slice(first, last + 1):
            return None
        source, along = TracedArray(self.source), self.places[:, axis]
        start, stop = list(map(int, first)), list(map(int, last + 1))
        jumps = np.diff(along)
        if (jumps == jumps[0]).all():
            start[axis], stop[axis] = int(along.min()), int(along.max()) + 1
            step = [1] * len(start)
            step[axis] = abs(int(jumps[0]))
            taken = ops.slice_(source, start=tuple(start), stop=tuple(stop), step=tuple(step))
            taken = ops.flip(taken, axes=(axis,)) if jumps[0] < 0 else taken
        else:
            start[axis], stop[axis] = 0, self.source.type.shape[axis]
            whole = ops.slice_(source, start=tuple(start), stop=tuple(stop), step=(1,) * len(start))
            taken = ops.gather(whole, TracedArray(lift(along, trace)), axis=axis, batch=0)
        found: TracedArray = reshape(moveaxis(taken, axis, 0), (len(along), *self._once))
        return expand(found, (len(along), *self.shape))

    def gathered(self, trace: Trace) -> TracedArray:
        """Return the parts, wherever they begin, as rows of one array, which is gathered element by element."""
        begin = np.ravel_multi_index(tuple(self.places.T), self.source.type.shape)
        steps = np.ix_(begin, *[stride * np.arange(n) for n, stride in zip(self._once, self.strides, strict=True)])
        places = TracedArray(lift(reduce(np.add, steps), trace))
        line = reshape(TracedArray(self.source), (self.source.type.size,))
        found = ops.gather(line, places, axis=0, batch=0)
        return expand(found, (len(begin), *self.shape))

    @property
    def _once(self) -> tuple[int, ...]:
        """The shape of a part without what repeats along an axis."""
        return tuple([1 if stride == 0 else n for n, stride in zip(self.shape, self.strides, strict=True)])

    def _reach(self) -> Array:
        """Return how far the last element of a part is from its first, along each axis of the source."""
        flat = sum((n - 1) * stride for n, stride in zip(self._once, self.strides, strict=True))
        return np.array(np.unravel_index(flat, self.source.type.shape)) if flat >= 0 else np.array([-1])

    def _is_slice(self, start: Array, stop: Array) -> bool:
        """Say whether a part is a slice with steps of 1, in another shape."""
        if (stop > self.source.type.shape).any():
            return False
        whole = np.empty(self.source.type.shape, np.int8)
        part = whole[tuple([slice(*ends) for ends in zip(start, stop, strict=True)])]
        if part.size != np.prod(self._once, dtype=int):
            return False
        part = part.reshape(self._once)
        return _steps(part) == self.strides


def _steps(part: Array) -> tuple[int, ...]:
    """Return the strides of an array of bytes; along axes of length 1 they say nothing, and are 0."""
    return tuple([stride if n > 1 else 0 for n, stride in zip(part.shape, part.strides, strict=True)])


def _parts_of(each: Sequence[Node]) -> _Parts | None:
    """Return values as parts of one array; None if they are not."""
    chains = [views_of(node) for node in each]
    source = chains[0][0]
    if not source.type.shape or any(root is not source for root, _ in chains):
        return None
    whole = np.empty(source.type.shape, np.int8)
    strides, offsets = None, []
    known: dict[object, tuple[int, tuple[int, ...]]] = {}  # most parts differ in where their first view begins
    for _, views in chains:
        part = views[0].op.numpy(whole, **dict(views[0].params)) if views else whole
        if not np.may_share_memory(part, whole):
            return None
        later = part.shape, part.strides, *[(view.op, view.params) for view in views[1:]]
        found = known.get(later)
        if found is None:
            last = part
            for view in views[1:]:
                last = view.op.numpy(last, **dict(view.params))
            if not np.may_share_memory(last, whole):
                return None
            found = known[later] = _address(last) - _address(part), _steps(last)
        if strides is not None and strides != found[1]:
            return None
        strides = found[1]
        offsets.append(_address(part) + found[0])
    assert strides is not None
    places = np.unravel_index(np.array(offsets) - _address(whole), source.type.shape)
    return _Parts(source, each[0].type.shape, strides, np.stack(places, axis=-1))


def _address(array: Array) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def views_of(node: Node) -> tuple[Node, list[Node]]:
    """Return the array whose elements a value is made of, and the linear views that lead from it to the value."""
    views: list[Node] = []
    while not isinstance(node.op, Leaf) and node.op.memory.views and node.op.kind == "linear":
        (inner,) = node.inputs
        if isinstance(inner.type, TupleType):
            break
        views.append(node)
        node = inner
    return node, views[::-1]
