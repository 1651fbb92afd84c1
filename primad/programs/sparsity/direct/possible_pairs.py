"""Which elements of copies may have derivatives in which elements of results, found at few points.

Where points stay apart, what is zero at a point follows from where known arrays are zero there. So of all points at
which the same known numbers are zero one is followed, as a program of so few points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from primad.ir.array_types import TupleType
from primad.ir.node import CAPTURED, LITERAL, Node
from primad.ir.program import Program, subprogram
from primad.ir.walks import dependents
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.dependence import follow
from primad.programs.sparsity.labels import MOST_ENTRIES, Array, Labels, listed
from primad.transforms.dimensions import Dimension, Dimensions
from primad.transforms.resizing import resized

WORD = np.dtype(np.uint64).itemsize
"""Bytes of the largest whole numbers."""


class PossiblePairs(NamedTuple):
    """Which elements of results may depend on which of copies.

    Attributes:
        table: rows are elements of results, columns those of copies, one for all elements of which the same is said.
        results, copies: of each result and each copy the number in the table of each element.
    """

    table: Array
    results: Sequence[Array]
    copies: Sequence[Array]

    def are(self, result: int, rows: Array, copy: int, columns: Array) -> Array:
        """Say which pairs of elements of a result and a copy are possible."""
        return np.asarray(self.table[self.results[result][rows], self.copies[copy][columns]])


class _FewPoints:
    """A program that is linear in its first inputs, of fewer and fewer points.

    Args:
        program: what computes results from copies and what is beside them.
        linear: how many copies there are.
        values: what is known of the other inputs.
    """

    def __init__(self, program: Program, linear: int, values: Sequence[KnownValue | None]) -> None:
        self.program, self._linear, self.values = program, linear, [*values]
        self.taken: set[int] = set()  # the places of values of which points are left out that have the same zeros only
        self._kinds: list[dict[int, Array]] = [{} for _ in self._ends()]
        self._shapes = [x.type.shape for x in self._ends()]

    def _ends(self) -> list[Node]:
        return [*self.program.inputs[: self._linear], *self.program.outputs]

    def with_fewer(self) -> bool:
        """Take one point of each kind along a dimension along which there are far fewer; say whether there was one."""
        of = self.program
        moving = dependents(of.nodes, of.inputs[: self._linear])
        dimensions = Dimensions(of)
        found = [dimensions.of(x, i) for x in of.inputs[: self._linear] for i in range(x.type.ndim)]
        for dimension in sorted(dict.fromkeys(found), key=lambda x: -x.length):
            if dimension.happens(moving) or dimension.twice:
                continue
            kinds = self._kinds_of(dimension)
            count = 1 + int(kinds.max(initial=0))
            if 2 * count <= dimension.length:
                self._take(dimension, kinds, count)
                return True
        return False

    def _kinds_of(self, dimension: Dimension) -> Array:
        """Return the kind of each point along a dimension: those of one have the same zeros, or the same numbers."""
        kinds = np.zeros(dimension.length, np.int64)
        zeros = [np.zeros((dimension.length, 0), np.bool_)]
        columns: list[Array] = []
        for node, known in zip(self.program.inputs[self._linear :], self.values, strict=True):
            if known is not None and node in dimension.axis:
                rows = np.moveaxis(known.value, dimension.axis[node], 0).reshape(dimension.length, -1)
                if _tells_by_zeros(known):
                    zeros.append(rows != 0)
                else:
                    columns += [*_words(rows)]
        for column in (*columns, *_words(np.packbits(np.concatenate(zeros, axis=1), axis=1))):
            if (column != column[0]).any():
                number = np.unique(column, return_inverse=True)[1].reshape(-1)
                kinds = np.unique(kinds * (1 + number.max()) + number, return_inverse=True)[1].reshape(-1)
        return kinds

    def _take(self, dimension: Dimension, kinds: Array, count: int) -> None:
        first = np.zeros(count, np.int64)
        first[kinds[::-1]] = np.arange(len(kinds))[::-1]
        of, axis = self.program, dimension.axis
        for place, node in enumerate(of.inputs[self._linear :]):
            known = self.values[place]
            if known is not None and node in axis:
                self.values[place] = known._replace(value=np.take(known.value, first, axis[node]))
                if _tells_by_zeros(known):
                    self.taken.add(place)
        for own, node in zip(self._kinds, self._ends(), strict=True):
            if node in axis:
                own[axis[node]] = kinds
        self.program = resized(of, of.inputs, of.outputs, axis, count)[0]

    def numbers(self) -> list[Array]:
        """Return of each copy and each result the number of each element among those that are left."""
        found = []
        for node, own, shape in zip(self._ends(), self._kinds, self._shapes, strict=True):
            total = np.zeros((), np.int64)
            for axis, length in enumerate(shape):
                total = total[..., None] * node.type.shape[axis] + own.get(axis, np.arange(length))
            found.append(total.ravel())
        return found


def _tells_by_zeros(known: KnownValue) -> bool:
    """Say whether what is found depends on where a value is zero only, as of elements of a given array."""
    return known.is_moved or bool(np.all(known.value))


def _words(rows: Array) -> Array:
    """Return the bytes of each row as whole numbers, a column of them after the other."""
    plain = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    words = np.zeros((len(plain), -(-plain.shape[1] // WORD) * WORD), np.uint8)
    words[:, : plain.shape[1]] = plain
    return words.view(np.uint64).T


def possible_pairs(between: Program, linear: int, constants: Constants) -> PossiblePairs | None:
    """Return which elements of the results of a program may depend on which of its copies.

    Args:
        between: the program, which is linear in its last inputs.
        linear: how many those are, the copies.
        constants: its values that are known.

    Returns:
        None where there are too many points of different kinds, or they differ in more than where zeros are.
    """
    copies = between.inputs[len(between.inputs) - linear :]
    moving = dependents(between.nodes, copies)
    beside = dict.fromkeys([x for node in between.nodes if node in moving for x in node.inputs if x not in moving])
    others = [x for x in beside if x.op is not LITERAL]
    if any(isinstance(x.type, TupleType) or x.op is CAPTURED for x in others):
        return None
    few = _FewPoints(
        subprogram(between, [*copies, *others], between.outputs), linear, [constants.find(x) for x in others]
    )
    while few.with_fewer():
        pass
    own = few.program.inputs[:linear]
    ends, sizes = np.cumsum([0, *[x.type.size for x in own]]).tolist(), [x.size for x in few.program.out_types]
    if 2 * ends[-1] > sum([x.type.size for x in copies]) or ends[-1] * sum(sizes) > MOST_ENTRIES:
        return None
    inputs = few.program.inputs[linear:]
    there = {place: known for place, known in enumerate(few.values) if known is not None}
    inner = Constants({inputs[place]: known._replace(of=frozenset([place])) for place, known in there.items()})
    labels = {
        node: (Labels(np.arange(1 + begin, 1 + begin + node.type.size, dtype=np.int32).reshape(node.type.shape)),)
        for node, begin in zip(own, ends, strict=False)
    }
    table = np.zeros((sum(sizes), ends[-1]), np.bool_)
    begin = 0
    for reached, size in zip(follow(few.program, labels, inner, ends[-1]), sizes, strict=True):
        found = listed(reached, size, ends[-1])
        if found is None:
            return None
        table[begin + np.repeat(np.arange(size), np.diff(found[0])), found[1]] = True
        begin += size
    if not inner.contents.isdisjoint(few.taken):
        return None
    constants.contents.update(*[there[place].of for place in inner.contents])
    constants.zeros.update(*[there[place].of for place in inner.zeros])
    numbers, begins = few.numbers(), np.cumsum([0, *sizes]).tolist()
    return PossiblePairs(
        table,
        [x + begin for x, begin in zip(numbers[linear:], begins, strict=False)],
        [x + begin for x, begin in zip(numbers[:linear], ends, strict=False)],
    )
