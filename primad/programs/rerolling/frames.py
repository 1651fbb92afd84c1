"""Arrays of one length, for steps of a loop whose arrays shrink or grow.

Each array whose length changes from step to step is the beginning of one that is as long as the longest: its frame.
What is behind it is never read for what the program computes, and has no derivative. It is 0 wherever something else
than an op on single elements takes it, and a number at which nearly all functions are smooth where an op does that is
not smooth everywhere: no derivative of any order meets an infinite one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import AxisMap, Strided, is_name
from primad.ir.node import LITERAL, Leaf, Node, Params, Trace, named, params_key
from primad.ir.replay import newest, reapplied
from primad.programs.rerolling.moved_parts import (
    Move,
    Number,
    lengthened,
    moved,
    places,
    selected,
    spread,
    start_and_step,
)
from primad.programs.rerolling.node_sequences import is_joined
from primad.programs.rerolling.repeated_runs import Period
from primad.programs.rerolling.stacked_rows import Rebuilt, stacked_rows
from primad.programs.rerolling.taken_elements import Axes, changing_axes, is_repeated, taken_elements
from primad.recording.traced_array import TracedArray
from primad.transforms.dimensions import axis_map

ALWAYS_SMOOTH = ("linear", "multilinear", "piecewise constant")
"""Kinds of ops whose derivatives are finite at all numbers."""
FILL = 0.5
"""What ops that are not smooth everywhere take behind the ends of arrays. Chosen: logarithms, roots, powers, quotients,
inverse sines and hyperbolic tangents, and gamma functions have all derivatives there."""

Steps = tuple[int, ...]
"""A number for each step."""


class NoFrames(Exception):
    """Why steps cannot compute with arrays of one length."""


class _Recipe(NamedTuple):
    """How a node of the step is computed with frames.

    Attributes:
        params: of its op; None where something else is done.
        moves: what moves of each operand, one move after the other.
        filled: which operands get other numbers behind their ends.
        cleared: which joined operands get zeros there, with their lengths.
    """

    params: Params | None = None
    moves: tuple[tuple[Move, ...], ...] = ()
    filled: tuple[int, ...] = ()
    cleared: Mapping[int, Steps] = MappingProxyType({})


class Frames:
    """What steps compute with, by the nodes of a step.

    Args:
        period: the steps.
        outside: the nodes of the step that are used outside of the run.

    Attributes:
        numbers: what differs from step to step, an integer in each: lengths, and where parts begin.

    Raises:
        NoFrames: if there is an op that cannot compute with more than it needs.
    """

    def __init__(self, period: Period, outside: set[int]) -> None:
        self._period = period
        self.numbers: dict[Steps, None] = {}
        self._changing: list[Axes] = []
        self._recipes: list[_Recipe] = []
        self._masked: dict[int, Axes] = {}  # along which what is behind the end of a node is 0
        self._longest = 0
        self._zero: set[Node] = set()  # nodes of the step that are known to be 0 behind their ends
        if period.changing:
            self._find_lengths()
            step = period.nodes[period.start : period.start + period.length]
            if not any(self._changing) or all(node.op.memory.views or is_joined(node) for node in step):
                raise NoFrames("steps only take parts that begin elsewhere in each")
            self._recipes = [self._recipe(r) for r in range(period.length)]
            self._find_masked(outside)

    def _of(self, r: int) -> Sequence[Node]:
        """Return a node of the step in all steps."""
        period = self._period
        return period.nodes[period.start + r : period.end : period.length]

    def _find_lengths(self) -> None:
        for r in range(self._period.length):
            every = self._of(r)
            if any(isinstance(x.type, TupleType) for node in (every[0], every[-1]) for x in (node, *node.inputs)):
                if any(node.type != every[0].type for node in every):
                    raise NoFrames(f"{every[0].op.name} has several results of other lengths in each")
                self._changing.append(())
                continue
            self._changing.append(changing_axes(every))
            for operands in (every, *zip(*[node.inputs for node in every], strict=True)):
                for axis in changing_axes(operands):
                    self._longest = max(self._longest, *[x.type.shape[axis] for x in operands])

    # -- what is computed with -----------------------------------------------------------------------------------------

    def type(self, r: int) -> Any:
        """Return the type that stands for that of a node of the step."""
        type = self._of(r)[0].type
        return self._framed(type, self._changing[r]) if self._changing and self._changing[r] else type

    def _framed(self, type: ArrayType, axes: Axes) -> ArrayType:
        shape = [self._longest if axis in axes else n for axis, n in enumerate(type.shape)]
        return ArrayType(tuple(shape), type.dtype)

    def type_of(self, each: Sequence[Node]) -> ArrayType:
        """Return the type that stands for those of an operand in all steps."""
        return each[0].type if not self._changing else self._framed(each[0].type, changing_axes(each))

    def fixed(
        self, each: Sequence[Node], users: Sequence[Node], mapping: Mapping[Node, Node], trace: Trace, body: Trace
    ) -> Node | None:
        """Return an array of which the steps take more or less from its beginning; None if they take no such thing.

        It is not 0 behind what a step takes: only for users that compute on single elements.

        Args:
            each: what the steps take.
            users: the nodes of a step that take it.
            mapping: what became of the nodes before the run.
            trace: where the array is made.
            body: the trace of the step, where what is repeated is made: a step takes what it is made of.
        """
        if not self._changing:
            return None
        axes = changing_axes(each)
        alike = all(x.op is each[0].op and x.inputs == each[0].inputs for x in each)
        if axes and alike and all(node.op.axes.pointwise for node in users) and is_repeated(each[0]):
            (x,) = each[0].inputs
            map = axis_map(each[0])
            lengths = {map.results[0][axis]: self._longest for axis in axes}
            change = map.change(lengths, [x.type], [each[0].type])
            params = named(each[0].op.axes.adapt(change, **dict(each[0].params)))
            return body.build(each[0].op, (mapping.get(x, x),), params) if _is_made(each[0], axes) else None
        parts = taken_elements(each, self.type_of(each)) if all(node.op.axes.pointwise for node in users) else None
        longest = None if parts is None else parts.longest()
        return None if parts is None or longest is None else parts.taken(longest, mapping, trace)

    def rows(self, each: Sequence[Node], mapping: Rebuilt, trace: Trace) -> Node:
        """Return an array of what the steps take from outside, a row for each."""
        changing = bool(self._changing) and bool(changing_axes(each))
        left = None if changing else mapping.stacked(each)
        if left is not None:
            return left
        if not changing:
            return stacked_rows(each, trace, mapping)
        parts = taken_elements(each, self.type_of(each))
        if parts is not None:
            return parts.taken(parts.places, mapping, trace)
        if each[0].op is LITERAL:
            return stacked_rows(each, trace, mapping)
        type = self.type_of(each)
        return stacked_rows([lengthened(TracedArray(mapping.get(x, x)), type).node for x in each], trace)

    def cut(self, value: TracedArray, type: ArrayType) -> TracedArray:
        """Return what a frame holds of a type."""
        if value.shape == type.shape:
            return value
        found: TracedArray = ops.slice_(value, start=(0,) * type.ndim, stop=type.shape, step=(1,) * type.ndim)
        return found

    # -- how each node is computed -------------------------------------------------------------------------------------

    def _recipe(self, r: int) -> _Recipe:
        every = self._of(r)
        operands = [changing_axes(each) for each in zip(*[node.inputs for node in every], strict=True)]
        params = params_key(every[0].params)
        if every[0].op.domain is not None and (self._changing[r] or any(operands)):
            raise NoFrames(f"{every[0].op.name} is not defined for all numbers")
        same = all(node.params is every[0].params or params_key(node.params) == params for node in every)
        if same and (every[0].op.axes.pointwise or not (self._changing[r] or any(operands))):
            return _Recipe(every[0].params, filled=self._filled(r, operands))
        maps = [axis_map(node) for node in every]
        axis = dict(every[0].params).get("axis")
        if every[0].op.indexing.joins and (axis in self._changing[r] or any(axis in axes for axes in operands)):
            return self._joined(r, maps)
        if len(operands) == 1 and every[0].op.kind == "linear" and any(map(_moves, maps)):
            return _Recipe(moves=(self._moved(r, maps),))
        return _Recipe(self._resized(r, maps, operands))

    def _filled(self, r: int, operands: Sequence[Axes]) -> tuple[int, ...]:
        """Return which operands of an op that is not smooth everywhere hold anything behind their ends."""
        node = self._of(r)[-1]
        smooth = node.op.derivative.smooth
        if node.op.kind in ALWAYS_SMOOTH or (smooth is not None and smooth(node)):
            return ()
        given = enumerate(zip(node.inputs, operands, strict=True))
        found = tuple([k for k, (x, axes) in given if axes and not _is_made(x, axes)])
        for axis in self._changing[r] if found else ():
            self._note(self._lengths(r, axis))
        return found

    def _lengths(self, r: int, axis: int) -> Steps:
        return tuple([node.type.shape[axis] for node in self._of(r)])

    def _resized(self, r: int, maps: Sequence[AxisMap], operands: Sequence[Axes]) -> Params:
        """Return the params of an op on frames: the same in all steps."""
        every = self._of(r)
        op, adapt = every[0].op, every[0].op.axes.adapt
        found: dict[Any, Params] = {}
        for node, map in zip(every, maps, strict=True):
            labels = {map.results[0][axis] for axis in self._changing[r]}
            for x, own, axes in zip(node.inputs, map.operands, operands, strict=True):
                labels.update(own[axis] for axis in axes)
                if x.op is LITERAL and any(map.role(own[axis]) == "summed" for axis in axes):
                    raise NoFrames(f"{op.name} adds up a number, more often in some")
            names = [part for label in labels for part in getattr(label, "names", (label,))]
            if adapt is None or any(not is_name(name) for name in names):
                raise NoFrames(f"{op.name} takes all of an array whose length changes")
            change = map.change(dict.fromkeys(names, self._longest), [x.type for x in node.inputs], [node.type])
            wanted = [self._framed(node.type, self._changing[r]).shape]
            wanted += [self._framed(x.type, axes).shape for x, axes in zip(node.inputs, operands, strict=True)]
            if [change.result.shape, *[axes.shape for axes in change.operands]] != wanted:
                raise NoFrames(f"{op.name} joins an axis whose length changes with another")
            params = named(adapt(change, **dict(node.params)))
            found[params_key(params)] = params
        if len(found) > 1:
            raise NoFrames(f"{op.name} has other params in each")
        (params,) = found.values()
        return params

    def _moved(self, r: int, maps: Sequence[AxisMap]) -> tuple[Move, ...]:
        """Return how the elements of the only operand move to those of the result."""
        found = []
        for axis, length in enumerate(self.type(r).shape):
            ways = [start_and_step(map.operands[0][axis], map.results[0][axis]) for map in maps]
            pairs = [way for way in ways if way is not None]
            if len(pairs) < len(ways):
                raise NoFrames("elements of arrays whose lengths change go to other axes, or apart")
            steps = {step for _, step in pairs}
            if len(steps) != 1:
                raise NoFrames(f"{self._of(r)[0].op.name} has other steps in each")
            move = Move(axis, tuple([start for start, _ in pairs]), steps.pop(), length)
            found.append(self._noted(move))
        return tuple(found)

    def _joined(self, r: int, maps: Sequence[AxisMap]) -> _Recipe:
        """Return how arrays whose lengths change are joined."""
        every, shape = self._of(r), self.type(r).shape
        axis = dict(every[0].params)["axis"]
        moves, cleared = [], {}
        for k, x in enumerate(every[0].inputs):
            begins = tuple([map.operands[k][axis].start for map in maps])
            moves.append((self._noted(Move(axis, tuple([-start for start in begins]), 1, shape[axis])),))
            if x.op is LITERAL:  # it fills its frame
                cleared[k] = tuple([node.inputs[k].type.shape[axis] for node in every])
                self._note(cleared[k])
        return _Recipe(moves=tuple(moves), cleared=cleared)

    def _noted(self, move: Move) -> Move:
        self._note(move.starts)
        return move

    def _note(self, numbers: Steps) -> None:
        if len(set(numbers)) > 1:
            self.numbers[numbers] = None

    def _find_masked(self, outside: set[int]) -> None:
        """Find out what is 0 behind its end: all but what only ops on single elements take, in the same step."""
        period = self._period
        place = {node: i for i, node in enumerate(period.nodes[period.start : period.end])}
        own = set(outside)
        for r in range(period.length):
            node = self._of(r)[-1]
            for at in [place[x] for x in node.inputs if x in place]:
                if not node.op.axes.pointwise or at < place[node] - r:
                    own.add(at % period.length)
        for r in own:
            self._masked[r] = self._changing[r]
            for axis in self._changing[r]:
                self._note(self._lengths(r, axis))

    def begin(self, given: Iterable[Node]) -> None:
        """Say what a step is given: what is carried, and rows, which are 0 behind their ends."""
        self._zero = set(given)

    # -- a step --------------------------------------------------------------------------------------------------------

    def computed(self, r: int, operands: tuple[Node, ...], body: Trace, numbers: Mapping[Steps, Node]) -> Node:
        """Return a node of the step, of operands that are frames.

        Args:
            r: which node.
            operands: what it is computed of.
            body: the trace of the step.
            numbers: what stands for the integers that differ from step to step.
        """
        node = self._of(r)[0]
        if not self._recipes:
            return reapplied(node, operands, newest(operands, body))

        def number(each: Steps) -> Number:
            return TracedArray(numbers[each]) if each in numbers else each[0]

        def kept(x: Node, axis: int, fill: float, lengths: Steps | None = None) -> Node:
            inside = places(x.type.shape[axis], body) < number(lengths or self._lengths(r, axis))
            return selected(spread(inside, axis, x.type.shape), TracedArray(x), fill, body).node

        recipe = self._recipes[r]
        for axis in self._changing[r] if recipe.filled else ():
            operands = tuple([kept(x, axis, FILL) if k in recipe.filled else x for k, x in enumerate(operands)])
        if recipe.params is not None:
            own = newest(operands, body)
            same = recipe.params is node.params
            found = reapplied(node, operands, own) if same else own.build(node.op, operands, recipe.params)
        else:
            axis = recipe.moves[0][0].axis
            operands = tuple(
                [kept(x, axis, 0, recipe.cleared.get(k)) if k in recipe.cleared else x for k, x in enumerate(operands)]
            )
            given = zip(map(TracedArray, operands), recipe.moves, strict=True)
            # what is joined is added up: each is 0 where the others lie, and no derivative of it asks where that is
            found = reduce(ops.add, [_moved(x, moves, number, body) for x, moves in given]).node
        alone = node.op.axes.pointwise and node.op.kind in ("linear", "multilinear")
        if r not in self._masked:
            return found
        if not (len(recipe.moves) > 1 or (alone and self._zero.issuperset(operands))):  # else it is 0 there already
            for axis in self._masked[r]:
                found = kept(found, axis, 0)
        self._zero.add(found)
        return found


def _moved(x: TracedArray, moves: Sequence[Move], number: Callable[[Steps], Number], body: Trace) -> TracedArray:
    for move in moves:
        if not (move.nothing and x.shape[move.axis] == move.length):
            x = moved(x, move, number(move.starts), body)
    return x


def _is_made(node: Node, axes: Axes) -> bool:
    """Say whether a value is the same along axes, and so all along a frame."""
    if node.op is LITERAL:
        return True
    if isinstance(node.op, Leaf) or node.op.axes.map is None:
        return False
    found = axis_map(node)
    return all(found.role(found.results[0][axis]) == "made" for axis in axes)


def _moves(map: AxisMap) -> bool:
    """Say whether an op moves elements along an axis."""
    return any(isinstance(label, Strided) for label in (*map.operands[0], *map.results[0]))
