"""What ops do with axes: the map that a record states, and what becomes of axes that change.

A record says once which axes of its operands and results are the same index (`AxisMap`), and which params it has when
axes change (a function of a `Change`). Batching, tiling, the collapse of sums, and which results depend on which points
are derived from these two.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from primad.ir.array_types import ArrayType, TupleType

Role = Literal["mapped", "summed", "made", "mixed"]


class Factors(Struct, frozen=True):
    """The label of an axis that is several indices, the first the outermost: what a reshape merges or splits.

    Attributes:
        names: the names of the indices.
        lengths: their lengths.
    """

    names: tuple[Hashable, ...]
    lengths: tuple[int, ...]


class Strided(Struct, frozen=True):
    """The label of an axis whose index i is the element start + step · i of a named one (of an op that only moves)."""

    name: Hashable
    start: int
    step: int


class Slide(Struct, frozen=True):
    """Where windows move the indices of an axis: i goes to (factor · i + offset) / divisor, for each offset.

    Attributes:
        factor, offsets, divisor: what is said above; what is not whole, or not there, is nowhere.
    """

    factor: int
    offsets: range
    divisor: int


class Running(NamedTuple):
    """How an op goes along an axis of an operand and of its only result, which have the same shape.

    What is at an index of the result depends on the operand's elements up to there; along other axes it depends on
    those at the same indices.

    Attributes:
        operand: the number of the operand.
        axis: the axis.
        reverse: whether it goes from the end to the start.
    """

    operand: int
    axis: int
    reverse: bool


Label = Hashable
Labels = tuple[Label, ...]


def is_name(label: Label) -> bool:
    """Say whether a label stands for one whole index."""
    return label is not None and not isinstance(label, (Factors, Strided))


class AxisMap(Struct, frozen=True, dict=True):
    """The labels of the axes of an op's operands and results.

    A label is the name of an index, or None for an axis that the op mixes. Axes of equal names are the same index, and
    no two of one array are:

    - *mapped*, a name of operands and of a result: the op does the same at every index, and index i of the result
      depends on index i of the operands that have it;
    - *summed*, a name of operands only: the op on whole axes is the sum of the op on parts of them;
    - *made*, a name of a result only: the result is the same at every index.

    Of several results each has its own roles. A `Factors` is an axis that is several indices, a `Strided` one that
    holds a part of an index.

    Attributes:
        operands: one label per axis, for each operand.
        results: the same for each result.
    """

    operands: tuple[Labels, ...]
    results: tuple[Labels, ...]

    def role(self, label: Label, result: int = 0) -> Role:
        """Return what the op does along the axes of a label, with respect to one of its results.

        It mixes those that are no single whole index.
        """
        return self._roles[result].get(label, "mixed")

    @cached_property
    def _roles(self) -> list[dict[Label, Role]]:
        return [self._roles_in(set(labels)) for labels in self.results]

    def _roles_in(self, after: set[Label]) -> dict[Label, Role]:
        before = {label for labels in self.operands for label in labels}
        partly: set[Hashable] = set()
        for label in (*before, *after):
            if isinstance(label, Factors):
                partly.update(label.names)
            elif isinstance(label, Strided):
                partly.add(label.name)
        roles: dict[Label, Role] = {}
        for label in before | after:
            if is_name(label) and label not in partly:
                roles[label] = "made" if label not in before else "mapped" if label in after else "summed"
        return roles

    def change(
        self,
        lengths: Mapping[Hashable, int | None],
        operands: Sequence[ArrayType],
        results: Sequence[ArrayType],
    ) -> Change:
        """Return what becomes of all axes when indices get other lengths, or (None) are dropped."""
        return Change(
            tuple([_changed(*pair, lengths) for pair in zip(self.operands, operands, strict=True)]),
            tuple([_changed(*pair, lengths) for pair in zip(self.results, results, strict=True)]),
        )

    @cached_property
    def indices(self) -> tuple[Labels, ...] | None:
        """The index of each axis of each operand, then result; None where an axis is no index or part of one."""
        labels = (*self.operands, *self.results)
        if any(label is None or isinstance(label, Factors) for part in labels for label in part):
            return None
        return tuple([tuple([_index(label) for label in part]) for part in labels])

    def reordered(self, order: Labels, operands: Sequence[ArrayType], results: Sequence[ArrayType]) -> Change | None:
        """Return what becomes of all axes when indices exchange their places, to stand in an order.

        Args:
            order: some of the indices; the others stay where they are.
            operands: types of the operands.
            results: types of the results.

        Returns:
            None where an axis is no index or part of one.
        """
        if self.indices is None:
            return None
        pairs = zip(self.indices, (*operands, *results), strict=True)
        found = tuple([_reordered(names, type, order) for names, type in pairs])
        return Change(found[: len(operands)], found[len(operands) :])


def _index(label: Label) -> Hashable:
    return label.name if isinstance(label, Strided) else label


def _reordered(names: Labels, type: ArrayType, order: Labels) -> NewAxes:
    wanted = iter([name for name in order if name in names])
    old = tuple([names.index(next(wanted)) if name in order else axis for axis, name in enumerate(names)])
    return NewAxes(old, tuple([type.shape[axis] for axis in old]))


def _changed(labels: Labels, type: ArrayType, lengths: Mapping[Hashable, int | None]) -> NewAxes:
    old: list[int | None] = []
    shape = []
    for axis, (label, length) in enumerate(zip(labels, type.shape, strict=True)):
        new: int | None = length
        if isinstance(label, Factors):
            all_lengths = [lengths.get(name, n) for name, n in zip(label.names, label.lengths, strict=True)]
            left = [n for n in all_lengths if n is not None]
            new = _product(left) if left else None
        elif is_name(label):
            new = lengths.get(label, length)
        if new is not None:
            old.append(axis)
            shape.append(new)
    return NewAxes(tuple(old), tuple(shape))


def _product(lengths: Iterable[int]) -> int:
    total = 1
    for n in lengths:
        total *= n
    return total


class NewAxes(Struct, frozen=True):
    """What becomes of the axes of one array.

    Attributes:
        old: for each axis that it has then, the axis that it was; None for a new one.
        shape: the lengths that they have then.
    """

    old: tuple[int | None, ...]
    shape: tuple[int, ...]

    @property
    def inserted(self) -> bool:
        """Whether an axis is new."""
        return None in self.old

    @property
    def order(self) -> tuple[int, ...]:
        """The axes that it had, in the order in which they stand then."""
        return tuple([axis for axis in self.old if axis is not None])

    def place(self, axis: int | None) -> int:
        """Return where an axis is then (None: where the new one is)."""
        return self.old.index(axis)

    def places(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Return where those of the axes are that are not dropped, in their order."""
        wanted = set(axes)
        return tuple([place for place, axis in enumerate(self.old) if axis in wanted])

    def entries(self, values: Sequence[Any], new: Any) -> tuple[Any, ...]:
        """Return the entries of a param that has one per axis, `new` for the new axis."""
        return tuple([new if axis is None else values[axis] for axis in self.old])


class Change(Struct, frozen=True):
    """What becomes of the axes of an op's operands and results when axes are inserted, dropped, resized or reordered.

    At most one axis is new; it leads.

    Attributes:
        operands: for each operand.
        results: for each result.
    """

    operands: tuple[NewAxes, ...]
    results: tuple[NewAxes, ...]

    @classmethod
    def insert(
        cls, flags: Sequence[bool], size: int, operands: Sequence[ArrayType], results: Sequence[ArrayType]
    ) -> Change:
        """Return the change where the results and the operands with a flag get a new leading axis."""
        return cls(
            tuple([_led(type, size) if on else _kept(type) for type, on in zip(operands, flags, strict=True)]),
            tuple([_led(type, size) for type in results]),
        )

    @property
    def operand(self) -> NewAxes:
        """What becomes of the axes of the first operand."""
        return self.operands[0]

    @property
    def result(self) -> NewAxes:
        """What becomes of the axes of the only result."""
        (result,) = self.results
        return result

    @property
    def alike(self) -> bool:
        """Whether all operands have the new axis, or none."""
        return len({axes.inserted for axes in self.operands}) < 2


def _led(type: ArrayType, size: int) -> NewAxes:
    return NewAxes((None, *range(type.ndim)), (size, *type.shape))


def _kept(type: ArrayType) -> NewAxes:
    return NewAxes(tuple(range(type.ndim)), type.shape)


# -- maps and params that many ops share -------------------------------------------------------------------------------


def pointwise(*types: ArrayType, **params: Any) -> AxisMap:
    """Return the map of pointwise ops: every index of the result is the same index of each operand."""
    labels = tuple(range(types[0].ndim))
    return AxisMap((labels,) * len(types), (labels,))


def same_params(change: Change, **params: Any) -> dict[str, Any] | None:
    """Params that say nothing about axes stay; all operands must change alike."""
    return params if change.alike else None


def along(ndim: int, axes: Iterable[int]) -> AxisMap:
    """Return the map of an op with one operand that mixes some axes and keeps their number."""
    mixed = set(axes)
    labels = tuple([None if axis in mixed else axis for axis in range(ndim)])
    return AxisMap((labels,), (labels,))


def stacks(ndim: int, operands: Iterable[int], results: Iterable[int]) -> AxisMap:
    """Return the map of an op on stacks of arrays: the first axes are mapped, and so many last ones are mixed."""
    labels = tuple(range(ndim))
    return AxisMap(
        tuple([(*labels, *[None] * mixed) for mixed in operands]),
        tuple([(*labels, *[None] * mixed) for mixed in results]),
    )


def result_types(type: ArrayType | TupleType) -> tuple[ArrayType, ...]:
    """Return the types of an op's results, of which there may be several."""
    return type.types if isinstance(type, TupleType) else (type,)


def moved_axis(change: Change, *, axis: int, **params: Any) -> dict[str, Any] | None:
    """Params of which `axis` is an axis of the operands, and of the result: it moves."""
    return {**params, "axis": change.result.place(axis)} if change.alike else None


def moved_axes(change: Change, *, axes: Sequence[int], **params: Any) -> dict[str, Any] | None:
    """Params of which `axes` are axes of the first operand: they move."""
    return {**params, "axes": change.operand.places(axes)} if change.alike else None
