"""Recordings that follow an earlier one: while a function does what it did before, nothing is looked up or simplified.

A recording notes, in order, what its trace is asked for: operations, scalars, captured arrays. A later one compares
what it is asked for with these notes, exactly, and copies the nodes that answered. A whole call of NumPy's is compared
by its arguments (`known_calls`). If nothing differs to the end, its program is the earlier one. At the first difference
it goes on by itself, with the table that the earlier trace had there: what comes out is in any case what a recording
from nothing gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from primad.ir.array_types import ArrayType, in_machine_order
from primad.ir.node import (
    CAPTURED,
    LITERAL,
    Constant,
    Node,
    Operation,
    Params,
    Trace,
    literal_key,
    literal_value,
    params_key,
    same_bits,
)
from primad.ir.walks import NODE_BYTES
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray

if TYPE_CHECKING:
    from primad.functional.known_calls import KnownCall

Note = tuple[Any, tuple[Node, ...], Params, Node, int, int, int]
"""What was asked for: op, operands, params. What answered: the node, and how many nodes there were before and after;
and how many entries the table had before."""
Step = tuple[Any, Any, Params, Any, int, int, Any]
"""A note to compare with: the op; what takes the operands from all nodes (see `_taking`); the params; their key, or
that of a scalar, or the captured array; the number of the node that answered, and how many nodes there were then; its
type if it is a new node of just this op and these operands."""


class Script:
    """What a recording was asked for, and what it answered.

    Attributes:
        notes: all of it, in order.
        table, captures: what its trace had at its end, in the order in which they grew.
        several: whether one of its nodes has several results.
        outputs: numbers of the nodes that were its results.
        calls: calls of NumPy's that are known, by how many notes there were before them.
    """

    def __init__(self, trace: FollowingTrace, outputs: Sequence[Node]) -> None:
        self.outputs = [node.index for node in outputs]
        self.notes = trace.notes
        self.calls = trace.calls
        self.table = trace._table
        self.captures = trace._captures
        self.several = trace.several
        self._inputs = trace.inputs
        self._trace = trace
        self._size = trace.size
        self._lines = trace.lines

    @property
    def held_bytes(self) -> int:
        """Bytes that it holds, by estimate."""
        return NODE_BYTES * len(self.notes) + sum(
            node.type.nbytes for alike in self.captures.values() for node in alike
        )

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes by their number; those that stand for others while a program is built are missing."""
        alike = [node for nodes in self.captures.values() for node in nodes]
        found = {node.index: node for node in (*self._inputs, *self.table.values(), *alike)}
        return [found[i] for i in range(self._size) if i in found]

    @cached_property
    def lines(self) -> list[str | None]:
        """The user's line of each node."""
        return [self._lines.get(node) for node in self.nodes]

    @cached_property
    def copied(self) -> list[tuple[Any, Callable[[Sequence[Node]], tuple[Node, ...]], Params, Any]]:
        """The op of each node, what takes its operands from all copies, its params and its type."""
        return [(x.op, _taking([operand.index for operand in x.inputs]), x.params, x.type) for x in self.nodes]

    @cached_property
    def steps(self) -> list[Step] | None:
        """What to compare with; None where nodes came from elsewhere than the notes, or belong to other traces."""
        size = len(self._inputs)
        steps = []
        for note in self.notes:
            if note[4] != size:
                return None
            steps.append(_step(*note))
            size = note[5]
        foreign = any(x.trace is not self._trace for node in self.nodes for x in (node, *node.inputs))
        return None if foreign or not size == self._size == len(self.nodes) else steps


def _step(
    op: Any, operands: tuple[Node, ...], params: Params, node: Node, before: int, after: int, entries: int
) -> Step:
    if op is LITERAL:
        return op, None, (), literal_key(literal_value(node), node.type), node.index, after, None
    if op is CAPTURED:
        return op, None, (), node.params[0][1].array, node.index, after, None
    plain = after == before + 1 == node.index + 1 and node.op is op and node.inputs == operands
    taking = _taking([operand.index for operand in operands])
    return op, taking, params, params_key(params), node.index, after, node.type if plain else None


def _taking(numbers: Sequence[int]) -> Callable[[Sequence[Node]], tuple[Node, ...]]:
    """Return what takes the nodes of these numbers from all."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    if not numbers:
        return lambda nodes: ()
    (number,) = numbers
    return lambda nodes: (nodes[number],)


class FollowingTrace(Trace):
    """The trace of a recording that can be followed, and may follow an earlier one.

    Args:
        evaluator: computes a node's value on demand; None where values of the inputs are not known.
        earlier: what to follow: a recording on inputs of the same types, which were weak or not as these are.

    Attributes:
        inputs: its inputs.
        notes: what it was asked for since it goes by itself.
        calls: the calls of NumPy's among them that will be known.
        followed: whether, at its end, nothing differed from the earlier recording.
        script: what can be followed, when it has ended.
    """

    __slots__ = (
        "_at", "_copies", "_earlier", "_evaluate", "_lined", "_lines", "_reads", "_steps", "_within", "calls",
        "followed", "inputs", "notes", "script",
    )  # fmt: skip
    knows_calls = True

    def __init__(self, evaluator: Callable[[Node], Any] | None, earlier: Script | None) -> None:
        self._earlier: Script | None = None
        super().__init__(evaluator and self._read, True)
        self._evaluate = evaluator
        self._reads = 0
        self._lined = 0
        self.calls: dict[int, KnownCall] = {}
        self.inputs: list[Node] = []
        self.notes: list[Note] = []
        self.followed = False
        self.script = earlier
        self._steps: Sequence[Step] = ()
        self._copies: list[Node] = []
        self._at = 0
        self._within = False

    def start(self, inputs: Sequence[Node]) -> None:
        """Begin, after the inputs were made."""
        self.inputs = list(inputs)
        if self.script is not None and self.script.steps is not None:
            self._earlier = self.script
            self._steps = self.script.steps
            self.calls = self.script.calls
            self._copies = list(inputs)

    def end(self, outputs: Sequence[Node]) -> bool:
        """End with these results."""
        if self._earlier is not None:
            copies = self._copies
            self.followed = self._at == len(self._steps) and list(outputs) == [copies[i] for i in self._earlier.outputs]
            if self.followed:
                return True
            self._leave()
        self.script = Script(self, outputs)
        return False

    def close(self) -> None:
        """End the trace; what is built with its nodes from now on is no part of what can be followed.

        It holds none of its nodes any more, which hold it: they are freed when they are not used, not collected.
        """
        self._earlier = None
        self._copies = []
        self.inputs = []
        self.notes = []
        self.calls = {}
        self._within = True
        super().close()

    def call(self, record: Callable[..., Any], function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Return what a call of NumPy's gives, as `Trace.call`: at once where the earlier recording had it here too."""
        if self._earlier is None:
            return record(*args, **options) if self._within else self._called(record, function, args, options)
        known = self.calls.get(self._at)
        if known is None or not known.is_made(function, args, options, self):
            return record(*args, **options)
        self._at = known.end
        found = TracedArray(self._copied(known.answers[0], self._steps[known.end - 1][5]))
        if known.several is not None:
            return known.several([found, *[TracedArray(self._copies[i]) for i in known.answers[1:]]])
        if known.view is not None:
            METHODS["note view"](found, args[0], known.view, args[1:], options)
        return found

    def _called(self, record: Callable[..., Any], function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Make a call of NumPy's, and note it if what it records follows from its arguments."""
        start, reads, said = len(self.notes), self._reads, len(self.noted)
        found = record(*args, **options)
        end = len(self.notes)
        if end == start or self._earlier is not None or reads != self._reads or said != len(self.noted):
            return found
        from primad.functional.known_calls import KnownCall, forms_of, results_of  # only without jit

        results, several = results_of(found)
        own = {id(each) for each in (*args, *options.values())}
        for x in results:
            if type(x) is not TracedArray or x.node.trace is not self or id(x) in own:  # and is no array of its own
                return found
            own.add(id(x))
        sources = [METHODS["view of"](x) for x in results]
        source = sources[0] if several is None else None
        if any(each is not None for each in sources) and not (source is not None and source.is_of(args, options)):
            return found
        given, named = forms_of(args, self), forms_of(tuple(options.values()), self)
        if given is not None and named is not None and results:
            view = None if source is None else source.function
            answers = [x.node.index for x in results]
            self.calls[start] = KnownCall(function, given, tuple(options), named, end, answers, view, several)
        return found

    def _read(self, node: Node) -> Any:
        """Compute a value, which arguments alone do not tell."""
        assert self._evaluate is not None
        self._reads += 1
        return self._evaluate(node)

    @property
    def lines(self) -> dict[Node, str]:
        """The user's line for each node; those of copies are looked up when they are asked for."""
        if self._earlier is not None:
            lines = self._earlier.lines
            for node in self._copies[self._lined :]:
                line = lines[node.index]
                if line is not None:
                    self._lines[node] = line
            self._lined = len(self._copies)
        return self._lines

    @lines.setter
    def lines(self, lines: dict[Node, str]) -> None:
        self._lines = lines

    def build(self, op: Operation, inputs: tuple[Node, ...], params: Params) -> Node:
        """Return the node (op, inputs, params), as `Trace.build`."""
        at, copies = self._at, self._copies
        if self._earlier is None:
            return self._noted(op, inputs, params, Trace.build, op, inputs, params)
        if at < len(self._steps):
            known, taking, given, key, answer, size, type = self._steps[at]
            if known is op and inputs == taking(copies) and (params is given or params_key(params) == key):
                self._at = at + 1
                if type is None or size == len(copies):
                    return self._copied(answer, size)
                node = Node(op, inputs, params, type, self, answer)
                copies.append(node)
                self.size = size
                return node
        self._leave()
        return self.build(op, inputs, params)

    def literal(self, value: Any, type: ArrayType) -> Node:
        """Return the node of a scalar, as `Trace.literal`."""
        if self._earlier is None:
            return self._noted(LITERAL, (), (), Trace.literal, value, type)
        if self._at < len(self._steps):
            known, _, _, key, answer, size, _ = self._steps[self._at]
            if known is LITERAL and literal_key(value, type) == key:
                self._at += 1
                return self._copied(answer, size)
        self._leave()
        return self.literal(value, type)

    def capture(self, array: Any) -> Node:
        """Return the node of an array that the program closes over, as `Trace.capture`."""
        if self._earlier is None:
            return self._noted(CAPTURED, (), (), Trace.capture, array)
        if self._at < len(self._steps):
            known, _, _, content, answer, size, _ = self._steps[self._at]
            given = array.array if isinstance(array, Constant) else in_machine_order(array)
            if known is CAPTURED and same_bits(content, given):
                self._at += 1
                return self._copied(answer, size)
        self._leave()
        return self.capture(array)

    def _noted(
        self, op: Any, operands: tuple[Node, ...], params: Params, ask: Callable[..., Node], *asked: Any
    ) -> Node:
        """Ask the trace itself, and note it; what laws ask for meanwhile is no note of its own."""
        if self._within:
            return ask(self, *asked)
        before, entries = self.size, len(self._table)
        self._within = True
        try:
            node = ask(self, *asked)
        finally:
            self._within = False
        self.notes.append((op, operands, params, node, before, self.size, entries))
        return node

    def _copied(self, answer: int, size: int) -> Node:
        """Copy the earlier nodes up to a number of them, and return the one that answered."""
        copies, earlier = self._copies, self._earlier
        assert earlier is not None
        copied = earlier.copied
        for i in range(len(copies), size):
            op, taking, params, type = copied[i]
            node = Node(op, taking(copies), params, type, self, i)
            copies.append(node)
            if op is CAPTURED:
                self.values[node] = params[0][1].array
        self.size = size
        return copies[answer]

    def _leave(self) -> None:
        """Go on by itself, as if what was copied had been recorded."""
        earlier, copies, at = self._earlier, self._copies, self._at
        assert earlier is not None
        self._lines = self.lines  # with those of the copies
        self._earlier = None
        entries = earlier.notes[at][6] if at < len(earlier.notes) else len(earlier.table)
        table: dict[Any, Node] = {}
        for key, node in islice(earlier.table.items(), entries):
            if key[0] is not LITERAL:
                key = key[0], tuple([copies[x.index] for x in key[1]]), key[2]
            table[key] = copies[node.index]
        self._table = table
        size = len(copies)
        for alike, nodes in earlier.captures.items():
            mine = [copies[node.index] for node in nodes if node.index < size]
            if mine:
                self._captures[alike] = mine
        self.several = earlier.several
        self.notes = earlier.notes[:at]
        self.calls = {start: known for start, known in earlier.calls.items() if known.end <= at}
        grown = [*[note[6] for note in self.notes[1:]], entries]
        for (op, operands, params, node, before, after, known), then in zip(self.notes, grown, strict=False):
            if before == after and node in operands and known < then:  # not found in the table
                given = tuple([copies[x.index] for x in operands])
                self.neutral.append((before, op, given, params, copies[node.index]))

    def _new(self, op: Any, inputs: tuple[Node, ...], params: Params, type: Any) -> Node:
        if self._earlier is not None:  # a node that no step made
            self._leave()
        return super()._new(op, inputs, params, type)
