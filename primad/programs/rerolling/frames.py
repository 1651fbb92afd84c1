"""Arrays of one length, for steps of a loop whose arrays shrink or grow.

Each array whose length changes from step to step is the beginning of one that is as long as the longest: its frame.
What is behind it is never read for what the program computes, and has no derivative. It is 0 wherever something else
than an op on single elements takes it, and a number at which nearly all functions are smooth where an op does that is
not smooth everywhere: no derivative of any order meets an infinite one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import AxisMap, Factors, is_name
from primad.ir.node import LITERAL, Node, Params, Trace, named, params_key
from primad.ir.node_arrays import Places
from primad.ir.replay import newest, reapplied
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.moved_parts import (
    Move,
    Number,
    Steps,
    decisive,
    is_made,
    lengthened,
    moved,
    moves_elements,
    on_elements,
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
        self._given: frozenset[Node] = frozenset()  # what a step is given, which is 0 behind its end
        self._inside: set[tuple[int, int]] = set()  # of nodes, the operands that the same step computes
        self._ends: dict[Node, dict[int, Places]] = {}  # from where on others are 0 along axes, in each step
        if period.changing:
            self._find_lengths()
            step = period.nodes[period.start : period.start + period.length]
            if not any(self._changing) or all(node.op.memory.views or is_joined(node) for node in step):
                raise NoFrames("steps only take parts that begin elsewhere in each")
            self._recipes = [self._recipe(r) for r in range(period.length)]
            axes = max(map(len, self._changing))
            if period.length * period.steps < axes * repeated_runs.FEWEST_NODES:
                raise NoFrames(f"there are too few ops for steps that take as long as the longest, along {axes} axes")
            self._find_masked(outside)

    def _of(self, r: int) -> Sequence[Node]:
        """Return a node of the step in all steps."""
        return self._period.nodes[self._period.start + r : self._period.end : self._period.length]

    def _find_lengths(self) -> None:
        for r in range(self._period.length):
            every = self._of(r)
            if any(isinstance(x.type, TupleType) for node in (every[0], every[-1]) for x in (node, *node.inputs)):
                self._changing.append(())  # ops with several results match only where their lengths are the same
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
        if axes and alike and on_elements(users) and is_repeated(each[0]):
            (x,) = each[0].inputs
            map = axis_map(each[0])
            lengths = {map.results[0][axis]: self._longest for axis in axes}
            change = map.change(lengths, [x.type], [each[0].type])
            params = named(each[0].op.axes.adapt(change, **dict(each[0].params)))
            return body.build(each[0].op, (mapping.get(x, x),), params) if is_made(each[0], axes) else None
        parts = taken_elements(each, self.type_of(each)) if on_elements(users) else None
        longest = None if parts is None else parts.longest()
        return None if parts is None or longest is None else parts.taken(longest, mapping, trace)

    def rows(self, each: Sequence[Node], users: Sequence[Node], mapping: Rebuilt, trace: Trace) -> Node:
        """Return an array of what the steps take from outside, a row for each.

        It is 0 behind what a step takes where others of its nodes take it than those that compute on single elements.
        """
        changing = bool(self._changing) and bool(changing_axes(each))
        left = None if changing else mapping.stacked(each)
        if left is not None:
            return left
        if not changing:
            return stacked_rows(each, trace, mapping)
        parts = taken_elements(each, self.type_of(each))
        if parts is not None:
            return parts.taken(parts.places, mapping, trace, cleared=not on_elements(users))
        if each[0].op is LITERAL:
            return stacked_rows(each, trace, mapping)
        type = self.type_of(each)
        return stacked_rows([lengthened(TracedArray(mapping.get(x, x)), type).node for x in each], trace)

    def shifted(
        self, each: Sequence[Node], users: Sequence[Node], mapping: Mapping[Node, Node], trace: Trace
    ) -> tuple[Node, Move] | None:
        """Return what is carried in the place of rows, which would be arrays with one for each step."""
        parts = taken_elements(each, self.type_of(each)) if self._changing and on_elements(users) else None
        return None if parts is None else parts.shifted(mapping, trace)

    # -- how each node is computed -------------------------------------------------------------------------------------

    def _recipe(self, r: int) -> _Recipe:
        every = self._of(r)
        operands = [changing_axes(each) for each in zip(*[node.inputs for node in every], strict=True)]
        params = params_key(every[0].params)
        if every[0].op.domain is not None and (self._changing[r] or any(operands)):
            raise NoFrames(f"{every[0].op.name} is not defined for all numbers")
        same = all(params_key(node.params) == params for node in every)
        if same and (every[0].op.axes.pointwise or not (self._changing[r] or any(operands))):
            return _Recipe(every[0].params, filled=self._filled(r, operands))
        maps = [axis_map(node) for node in every]
        axis = dict(every[0].params).get("axis")
        if every[0].op.indexing.joins and (axis in self._changing[r] or any(axis in axes for axes in operands)):
            return self._joined(r, maps)
        if len(operands) == 1 and every[0].op.kind == "linear" and any(map(moves_elements, maps)):
            return _Recipe(moves=(self._moved(r, maps),))
        return _Recipe(self._resized(r, maps, operands))

    def _filled(self, r: int, operands: Sequence[Axes]) -> tuple[int, ...]:
        """Return which operands of an op that is not smooth everywhere hold anything behind their ends.

        One in which it is linear may, where no other does.
        """
        node = self._of(r)[-1]
        smooth = node.op.derivative.smooth
        if node.op.kind in ALWAYS_SMOOTH or (smooth is not None and smooth(node)):
            return ()
        given = enumerate(zip(node.inputs, operands, strict=True))
        found = tuple([k for k, (x, axes) in given if axes and not is_made(x, axes) and not node.op.is_linear_in(k)])
        for axis in self._changing[r] if found else ():
            self._note(self._lengths(r, axis))
        return found

    def _lengths(self, r: int, axis: int) -> Steps:
        return tuple([node.type.shape[axis] for node in self._of(r)])

    def _resized(self, r: int, maps: Sequence[AxisMap], operands: Sequence[Axes]) -> Params:
        """Return the params of an op on frames: the same in all steps.

        A step in which no changing axis is short tells what the op does: of one element a reshape tells little.
        """
        every, changing = self._of(r), (self._changing[r], *operands)
        shapes = [tuple([x.type.shape for x in (node, *node.inputs)]) for node in every]
        shortest = [
            min(shape[axis] for shape, axes in zip(each, changing, strict=True) for axis in axes) for each in shapes
        ]
        longest = int(np.argmax(shortest))
        node, map = every[longest], maps[longest]
        op, adapt = node.op, node.op.axes.adapt
        labels = (map.results[0], *map.operands)

        def params(wanted: Sequence[tuple[int, ...]]) -> Params:
            lengths = {
                own[i]: shape[i] for own, shape, axes in zip(labels, wanted, changing, strict=True) for i in axes
            }
            names = {label: length for label, length in lengths.items() if is_name(label)}
            if adapt is None or any(label not in names and not isinstance(label, Factors) for label in lengths):
                raise NoFrames(f"{op.name} takes all of an array whose length changes")
            change = map.change(names, [x.type for x in node.inputs], [node.type])
            if [change.result.shape, *[axes.shape for axes in change.operands]] != list(wanted):
                raise NoFrames(f"{op.name} joins an axis whose length changes with another")
            return named(adapt(change, **dict(node.params)))

        for x, own, axes in zip(
            zip(*[each.inputs for each in every], strict=True), map.operands, operands, strict=True
        ):
            if any(map.role(own[axis]) == "summed" for axis in axes) and any(each.op is LITERAL for each in x):
                raise NoFrames(f"{op.name} adds up a number, more often in some")
        given = zip((node, *node.inputs), changing, strict=True)
        found = params([self._framed(x.type, axes).shape for x, axes in given])
        if any(params_key(params(x)) != params_key(each.params) for each, x in zip(every, shapes, strict=True)):
            raise NoFrames(f"{op.name} has other params in each")
        return found

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
            self._note(move.starts)
            found.append(move)
        return tuple(found)

    def _joined(self, r: int, maps: Sequence[AxisMap]) -> _Recipe:
        """Return how arrays whose lengths change are joined."""
        every, shape = self._of(r), self.type(r).shape
        axis = dict(every[0].params)["axis"]
        moves, cleared = [], {}
        for k, x in enumerate(every[0].inputs):
            begins = tuple([map.operands[k][axis].start for map in maps])
            moves.append((Move(axis, tuple([-start for start in begins]), 1, shape[axis]),))
            self._note(moves[-1][0].starts)
            if x.op is LITERAL:  # it fills its frame
                cleared[k] = tuple([node.inputs[k].type.shape[axis] for node in every])
                self._note(cleared[k])
        return _Recipe(moves=tuple(moves), cleared=cleared)

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
            for k, at in [(k, place[x]) for k, x in enumerate(node.inputs) if x in place]:
                if at >= place[node] - r:
                    self._inside.add((r, k))
                if not node.op.axes.pointwise or (r, k) not in self._inside:
                    own.add(at % period.length)
        for r in own:
            self._masked[r] = self._changing[r]
            for axis in self._changing[r]:
                self._note(self._lengths(r, axis))

    def begin(self, given: Iterable[Node]) -> None:
        """Say what a step is given: what is carried, and rows, which are 0 behind their ends."""
        self._given = frozenset(given)

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
            found = reduce(ops.add, [moved(x, moves, number, body) for x, moves in given]).node
        ends = self._ends_of(r, found, operands)
        for axis in self._masked.get(r, ()):
            if (ends[axis] > self._lengths(r, axis)).any():
                found, ends[axis] = kept(found, axis, 0), np.array(self._lengths(r, axis))
        known = self._ends.setdefault(found, ends)
        known.update({axis: np.minimum(known.get(axis, end), end) for axis, end in ends.items()})
        return found

    def _ends_of(self, r: int, found: Node, operands: Sequence[Node]) -> dict[int, Places]:
        """Return from where on a node of the step is 0 along the axes that change, in each step.

        Args:
            r: which node.
            found: the node on frames.
            operands: the frames that it is computed of.
        """
        recipe = self._recipes[r]
        ends = {}
        for axis in self._changing[r]:
            if recipe.params is None:
                each = [self._moved_end(r, k, axis, x) for k, x in enumerate(operands)]
            else:
                each = [self._end(r, k, *at) for k, at in decisive(found, operands, axis, recipe.filled)]
            ends[axis] = np.max(each, axis=0) if each else np.full(self._period.steps, found.type.shape[axis])
        return ends

    def _end(self, r: int, k: int, x: Node, axis: int) -> Places:
        """Return from where on an operand is 0 along an axis, in each step; its length if nothing is known."""
        if x in self._given and (r, k) not in self._inside:
            return np.array([node.inputs[k].type.shape[axis] for node in self._of(r)])
        return self._ends.get(x, {}).get(axis, np.full(self._period.steps, x.type.shape[axis]))

    def _moved_end(self, r: int, k: int, axis: int, x: Node) -> Places:
        """Return from where on what moves of an operand is 0 along an axis, in each step."""
        recipe = self._recipes[r]
        moves = [move for move in recipe.moves[k] if move.axis == axis]
        end = np.array(recipe.cleared[k]) if moves and k in recipe.cleared else self._end(r, k, x, axis)
        return reduce(lambda before, move: move.end(before), moves, end)
