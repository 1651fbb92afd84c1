"""Steps that carry an array whole, where they would carry its parts and join these first, or carry these besides.

Where a step writes the inside of an array, laws see through what it reads of it (the inside of `u` is what was put),
so that the inside is carried, and each step begins by copying it to the middle of an array. That array is carried
instead: then what a step computes is computed in its place, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from primad import ops
from primad.ir.node import LITERAL, Leaf, Node, Trace
from primad.ir.program import Program, carry_lines
from primad.ir.replay import replay
from primad.ir.walks import needed_between
from primad.programs.rerolling.first_steps import HARDLY_MORE
from primad.programs.rerolling.node_sequences import is_joined
from primad.recording.traced_array import TracedArray


class JoinedCarries:
    """What the steps of a loop carry, and what they carry if they carry arrays that are joined instead of their parts.

    Args:
        program: a step; its first inputs and outputs are what it carries.
        start: what is carried into the first step.
        trace: that of the loop.
    """

    def __init__(self, program: Program, start: Sequence[Node], trace: Trace) -> None:
        self._source, self._start = program, start
        self._before, self._after = program.inputs[: len(start)], program.outputs[: len(start)]
        self._inside: dict[Node, tuple[Node, tuple[int, ...]]] = {}  # of a part, what it is joined to, and where
        self._find_carried_twice()
        self._wholes = self._joined_first()
        self._kept = [x for x in self._before if x not in self._inside]
        self._stay = self._find_what_stays(trace)

    @property
    def any(self) -> bool:
        """Whether arrays are joined that are carried, or may be, which is for each loop to see."""
        return bool(self._inside) or any(is_joined(x) for x in self._after)

    def _find_carried_twice(self) -> None:
        """Note what is carried and is a part of something else that is, after each step and before the first."""
        for whole, joined, array in zip(self._before, self._after, self._start, strict=True):
            places = dict(_places(joined))
            for part, after, before in zip(self._before, self._after, self._start, strict=True):
                if after in places and _slice(array, places[after], after) is before:
                    self._inside[part] = whole, places[after]

    def _joined_first(self) -> list[Node]:
        """Return the arrays that are joined of what is carried and of hardly anything else, nothing being computed."""
        of = {x: {x} for x in self._before if x not in self._inside}
        moved, wholes = set(of), dict[Node, None]()
        for node in self._source.nodes:
            own = [x for x in node.inputs if x.trace is self._source.trace]
            if isinstance(node.op, Leaf):
                moved.update([node] if node.op is LITERAL else [])
            elif moved.issuperset(own) and (node.op.memory.views or is_joined(node)):
                moved.add(node)
                places = [(x, at) for x, at in _places(node) if x in node.inputs and x in of and x not in self._inside]
                parts = {part for x, _ in places for part in of[x]}
                if places and sum(x.type.nbytes for x in parts) * HARDLY_MORE >= node.type.nbytes:
                    of[node] = parts
                    self._inside.update({x: (node, at) for x, at in places})
                    wholes[node] = None
        return [node for node in wholes if node not in self._inside]

    def _find_what_stays(self, trace: Trace) -> dict[Node, tuple[Node, tuple[int, ...]]]:
        """Return what is closed over and is the same part of a carried array before and after each step.

        As the ends of an array whose inside is written: reverse mode would sum its cotangents from step to step.
        """
        found = {}
        after = {**dict(zip(self._before, self._after, strict=True)), **{x: x for x in self._wholes}}
        for whole, array in zip((*self._kept, *self._wholes), self.joined(self._start, trace), strict=True):
            for x, at in _places(after[whole]):
                if x.trace is not self._source.trace and not isinstance(x.op, Leaf) and _slice(array, at, x) is x:
                    found[x] = whole, at
        return found

    def program(self) -> Program:
        """Return a step that carries what is no part of a joined array, and then these."""
        source = self._source
        if not self._inside and not self._stay:
            return source
        trace = Trace(origin=source.trace.origin)
        mapping = {x: trace.input(x.type) for x in (*self._kept, *self._wholes, *source.inputs[len(self._before) :])}
        inputs = list(mapping.values())
        for x in (*self._before, *self._inside):
            self._part(x, mapping)
        stay = {x: _slice(mapping[whole], at, x) for x, (whole, at) in self._stay.items()}
        mapping.update(stay)
        replay(source.nodes, mapping, trace)
        carry_lines(source, mapping, trace)
        outputs = [mapping.get(x, x) for x in source.outputs]
        after = self.joined(outputs[: len(self._after)], trace, stay)
        made = Program(trace, inputs, [*after, *outputs[len(self._after) :]], label=source.label)
        made.lines = trace.lines
        trace.close()
        return made

    def joined(self, values: Sequence[Node], trace: Trace, stay: Mapping[Node, Node] | None = None) -> list[Node]:
        """Return what is carried, of the values of what the given step carries, and of parts that stay."""
        mapping = {**dict(zip(self._before, values, strict=True)), **(stay or {})}
        needed = needed_between(mapping, self._wholes)
        replay([node for node in self._source.nodes if node in needed], mapping, trace)
        return [mapping[x] for x in (*self._kept, *self._wholes)]

    def parts(self, found: Sequence[Node]) -> list[Node]:
        """Return the values of what the given step carries, of what is carried."""
        mapping = dict(zip((*self._kept, *self._wholes), found, strict=True))
        return [self._part(x, mapping) for x in self._before]

    def _part(self, node: Node, mapping: dict[Node, Node]) -> Node:
        if node not in mapping:
            whole, at = self._inside[node]
            mapping[node] = _slice(self._part(whole, mapping), at, node)
        return mapping[node]


def _places(node: Node, begin: tuple[int, ...] = ()) -> Iterator[tuple[Node, tuple[int, ...]]]:
    """Yield what an array is joined of, and what these are, each with the indices of its first element."""
    if not is_joined(node):
        return
    axis, at = dict(node.params)["axis"], list(begin or (0,) * node.type.ndim)
    for x in node.inputs:
        yield x, tuple(at)
        yield from _places(x, tuple(at))
        at[axis] += x.type.shape[axis]


def _slice(array: Node, begin: Sequence[int], part: Node) -> Node:
    """Return the part of an array that begins at a place and has the shape of another."""
    stop = tuple([i + n for i, n in zip(begin, part.type.shape, strict=True)])
    found: TracedArray = ops.slice_(TracedArray(array), start=tuple(begin), stop=stop, step=(1,) * len(stop))
    return found.node
