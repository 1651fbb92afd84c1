"""Gradients of what a tape has recorded: the calls that matter become a program, which the engine differentiates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from primad.compat.tape import OverwrittenError, TapeCall, TapeValue, reached
from primad.errors import ProgramError
from primad.ir.array_types import ArrayType
from primad.ir.node import Node, Trace, param_key
from primad.ir.program import Program
from primad.recording.traced_array import TracedArray, lift
from primad.runtime.cache import BUILT
from primad.runtime.executors.dispatch import prepare
from primad.runtime.executors.executor import Executable
from primad.transforms.lowering import expand, inline
from primad.transforms.partial_eval import cut
from primad.transforms.reverse import vjp


class SegmentKey(NamedTuple):
    """What the derivative of a part of the tape depends on.

    Attributes:
        values: of each value, the call that made it and its place there; of those that come from outside, the type.
        rows: the calls: operator, pattern, attributes, operands.
        outputs, wanted: numbers of values.
        absent: which outputs have no seed.
    """

    values: tuple[tuple[Any, Any], ...]
    rows: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]
    absent: tuple[bool, ...]
    wanted: tuple[int | None, ...]
    kind: str = "part of a tape"


class Segment:
    """The calls between outputs and wanted entries, their values numbered.

    Attributes:
        calls: in order.
        entries: the values that occur.
        key: equal for parts that differ only in the elements of arrays.
        wanted: the numbers of the wanted entries, None for those that the outputs do not depend on.
    """

    def __init__(
        self,
        outputs: Sequence[TapeValue],
        seeds: Sequence[TapeValue | None],
        wanted: Sequence[TapeValue],
        closed: set[TapeValue],
    ) -> None:
        begin = set(wanted)
        self.calls: list[TapeCall] = []
        live: set[TapeCall] = set()
        for call in reached(outputs, closed):
            assert call.operands is not None
            if any(
                entry.active and (entry in begin or (entry.call in live and entry not in closed))
                for entry in call.operands
            ):
                live.add(call)
                self.calls.append(call)
        self._numbers: dict[tuple[TapeValue, int], int] = {}
        self.entries: list[TapeValue] = []
        self.inside: list[bool] = []
        rows = []
        place = {call: i for i, call in enumerate(self.calls)}
        self._place, self._closed = place, closed
        self._out = set(outputs)
        for call in self.calls:
            assert call.operands is not None
            numbers = tuple([self._number(e, v) for e, v in zip(call.operands, call.versions, strict=True)])
            rows.append((call.operator, call.pattern, param_key(call.attributes), numbers))
        self.outputs = [self._number(entry, entry.version) for entry in outputs]
        found = {entry: number for (entry, _), number in self._numbers.items() if entry.active}
        self.wanted = [found.get(entry) for entry in wanted]
        values = tuple(
            [
                (place[entry.call], entry.index) if inside else (entry.array.shape, entry.array.dtype.char)  # type: ignore[index]
                for entry, inside in zip(self.entries, self.inside, strict=True)
            ]
        )
        self.key = SegmentKey(
            values,
            tuple(rows),
            tuple(self.outputs),
            tuple([seed is None for seed in seeds]),
            tuple(self.wanted),
        )

    def _number(self, entry: TapeValue, version: int) -> int:
        found = self._numbers.get((entry, version))
        if found is None:
            found = self._numbers[entry, version] = len(self.entries)
            self.entries.append(entry)
            self.inside.append(entry.call in self._place and (entry not in self._closed or entry in self._out))
        return found

    def check_versions(self, numbers: Iterable[int]) -> None:
        """Raise OverwrittenError if one of these entries no longer has the value that the calls read."""
        version = {number: version for (_, version), number in self._numbers.items()}
        for number in numbers:
            entry = self.entries[number]
            if entry.version != version[number]:
                raise OverwrittenError(entry.version, version[number])

    def record(self) -> tuple[Program, list[int], list[int]]:
        """Return the program (outside values) -> (outputs, inside values), and the numbers of both kinds of values."""
        trace = Trace()
        outside = [number for number, inside in enumerate(self.inside) if not inside]
        nodes: dict[int, Node] = {}
        for number in outside:
            array = self.entries[number].array
            nodes[number] = trace.input(ArrayType(array.shape, array.dtype))
        results: dict[TapeCall, tuple[Any, ...]] = {}
        inside: list[int] = []
        inputs = [nodes[number] for number in outside]
        for call in self.calls:
            assert call.operands is not None
            arrays = []
            for entry, version in zip(call.operands, call.versions, strict=True):
                number = self._numbers[entry, version]
                if number not in nodes:
                    nodes[number] = self._result(results, number, trace)
                    inside.append(number)
                arrays.append(TracedArray(nodes[number]))
            results[call] = call.results(arrays)
        for number in self.outputs:
            if number not in nodes:
                nodes[number] = self._result(results, number, trace)
                inside.append(number)
        program = Program(trace, inputs, [nodes[number] for number in (*self.outputs, *inside)])
        trace.close()
        return program, outside, inside

    def _result(self, results: dict[TapeCall, tuple[Any, ...]], number: int, trace: Trace) -> Node:
        entry = self.entries[number]
        assert entry.call is not None
        node = lift(results[entry.call][entry.index], trace)
        expected = ArrayType(entry.array.shape, entry.array.dtype)
        if node.type != expected:
            raise ProgramError(
                f"{entry.call.operator}: recorded as {node.type}, but it computed {expected}",
                fix="build the operator with shapes and dtypes that it computes; a shape that varies may be -1.",
            )
        return node


class DerivedOperator:
    """A program derived from one structure of calls, as an operator on the tape, on the values that it needs.

    Attributes:
        reads: which values it takes: numbers of entries, then (negative, from −1 downwards) seeds or tangents.
    """

    reads: list[int]
    _program: Program

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between calls."""
        return (self._program,)

    def compute(self, *values: Any) -> list[Any]:
        """Return its results: computed, or recorded where the values are traced."""
        if any(isinstance(value, TracedArray) for value in values):
            return inline(self._program, values)
        return [np.asarray(result) for result in self._executable.run(values)]

    @cached_property
    def _executable(self) -> Executable:
        return prepare(self._program)


class Derivative(DerivedOperator):
    """The gradients of one structure of calls.

    Attributes:
        results: for each wanted entry the position of its gradient, or None.
    """

    def __init__(self, part: Segment, seeds: Sequence[TapeValue | None]) -> None:
        primal, outside, inside = part.record()
        count = len(part.outputs)
        wanted = [number for number in part.wanted if number is not None]
        watched = [False] * count + [number in wanted for number in inside]
        program = vjp(
            primal,
            [number in wanted for number in outside],
            [*(1.0 if seed is None else True for seed in seeds), *[False] * len(inside)],
            watched,
        )
        program = cut(expand(program), count + len(inside))
        given = [-1 - i for i, seed in enumerate(seeds) if seed is not None]
        order = [*outside, *given, *part.outputs, *inside]
        # A gradient depends on what its program reads, and on what the gradients in it depend on, even where laws have
        # shown that the derivative is zero.
        formal: set[int] = set()
        for call in part.calls:
            if isinstance(call.operator, Derivative):
                assert call.operands is not None
                formal.update(part._numbers[pair] for pair in zip(call.operands, call.versions, strict=True))
        nodes = set(program.nodes)
        chosen: dict[int, Node] = {}
        for number, node in zip(order, program.inputs, strict=True):
            if node in nodes:
                chosen[number] = node
            elif number in formal:
                chosen.setdefault(number, node)
        self.reads = list(chosen)
        self.results = self._positions(part, outside, inside)
        self._program = Program(program.trace, list(chosen.values()), program.outputs)

    @staticmethod
    def _positions(part: Segment, outside: list[int], inside: list[int]) -> list[int | None]:
        order = [number for number in (*outside, *inside) if number in part.wanted]
        return [None if number is None else order.index(number) for number in part.wanted]


def _derivative(
    outputs: Sequence[TapeValue],
    seeds: Sequence[TapeValue | None],
    wanted: Sequence[TapeValue],
    closed: set[TapeValue],
    record: bool,
) -> list[TapeValue | None]:
    """Return the gradients of wanted entries (see `gradients`); no path passes the entries in `closed`."""
    part = Segment(outputs, seeds, wanted, closed)
    if all(number is None for number in part.wanted):
        return [None] * len(wanted)
    made: Derivative = BUILT.get(part.key, lambda: Derivative(part, seeds))
    part.check_versions([number for number in made.reads if number >= 0])
    operands = [part.entries[number] if number >= 0 else seeds[-1 - number] for number in made.reads]
    results = made.compute(*[entry.array for entry in operands])  # type: ignore[union-attr]
    active = record and any(entry.active for entry in operands)  # type: ignore[union-attr]
    call = TapeCall(made, (-1,) * len(operands), (), tuple(operands)) if active else None  # type: ignore[arg-type]
    made_entries = [TapeValue(array, active, call, i) for i, array in enumerate(results)]
    return [None if place is None else made_entries[place] for place in made.results]


def gradients(
    outputs: Sequence[TapeValue],
    seeds: Sequence[TapeValue | None],
    wanted: Sequence[TapeValue],
    constants: Iterable[TapeValue] = (),
    record: bool = False,
    add: Callable[[TapeValue, TapeValue], TapeValue] | None = None,
    retained: bool = False,
) -> list[TapeValue | None]:
    """Return the gradient of the sum of outputs, each weighted by its seed, for each wanted entry.

    Hooks of inner entries are applied where their gradients are complete; those of leaves are left to the caller.

    Args:
        outputs: active entries, each once.
        seeds: gradients of the outputs; None stands for ones.
        wanted: entries, leaves or not, each once.
        constants: entries that derivatives do not pass through.
        record: whether the gradients are calls on the tape themselves.
        add: how to add two gradients where `record` is set.
        retained: whether a wanted inner entry gets its gradient after those of its hooks that it is retained after;
            otherwise it gets it before all of them.

    Returns:
        the gradients, None for entries that the outputs do not depend on.

    Raises:
        FreedError: if the calls were freed.
        OverwrittenError: if a value that is needed was overwritten in place.
    """
    closed = set(constants)
    inner = {entry for call in reached(outputs, closed) for entry in call.operands or () if entry.call is not None}
    stops = {entry for entry in (*inner, *outputs) if _is_stop(entry) and entry not in closed}
    if not stops:
        return _derivative(outputs, seeds, wanted, closed, record)
    plus = add if record and add is not None else _plus
    pending: dict[TapeValue, TapeValue] = {}
    found: dict[TapeValue, TapeValue] = {}

    def collect(into: dict[TapeValue, TapeValue], entry: TapeValue, gradient: TapeValue) -> None:
        into[entry] = plus(into[entry], gradient) if entry in into else gradient

    def pull(sources: Sequence[TapeValue], weights: Sequence[TapeValue | None], targets: Sequence[TapeValue]) -> None:
        results = _derivative(sources, weights, targets, closed | stops, record) if sources else []
        for entry, gradient in zip(targets, results, strict=False):
            if gradient is not None:
                collect(pending if entry in stops else found, entry, gradient)

    def arrive(entries: Sequence[TapeValue], weights: Sequence[TapeValue | None]) -> None:
        """Start from entries: stops wait until their gradient is complete, the others are pulled back together."""
        plain = []
        for entry, weight in zip(entries, weights, strict=True):
            if entry in stops:
                collect(pending, entry, weight or TapeValue(np.ones_like(entry.array)))
            else:
                plain.append((entry, weight))
        pull([entry for entry, _ in plain], [weight for _, weight in plain], list(dict.fromkeys((*wanted, *stops))))

    arrive(outputs, seeds)
    while pending:
        call = max((entry.call for entry in pending if entry.call is not None), key=lambda call: call.order)
        ready = {entry: pending.pop(entry) for entry in list(pending) if entry.call is call}
        both = {entry: _hooked(entry, gradient) for entry, gradient in ready.items()}
        found.update((entry, both[entry][0] if retained else ready[entry]) for entry in ready if entry in wanted)
        changed = {entry: gradient for entry, (_, gradient) in both.items()}
        if call.pullback is None:
            earlier = [entry for entry in dict.fromkeys((*wanted, *stops)) if entry not in ready]
            pull(list(changed), list(changed.values()), earlier)
            continue
        weights = {entry.index: weight for entry, weight in changed.items()}
        pulled: dict[TapeValue, TapeValue] = {}
        assert call.operands is not None
        results = call.pullback([weights.get(i) for i in range(max(weights) + 1)])
        for entry, result in zip(call.operands, results, strict=True):
            if result is not None and entry.active and entry not in closed:
                collect(pulled, entry, result)
        arrive(list(pulled), list(pulled.values()))
    return [found.get(entry) for entry in wanted]


def _is_stop(entry: TapeValue) -> bool:
    return entry.call is not None and bool(entry.hooks or entry.call.pullback is not None)


def _plus(x: TapeValue, y: TapeValue) -> TapeValue:
    return TapeValue(x.array + y.array)


def hooked(entry: TapeValue, gradient: TapeValue) -> TapeValue:
    """Return the gradient after the entry's hooks."""
    return _hooked(entry, gradient)[1]


def _hooked(entry: TapeValue, gradient: TapeValue) -> tuple[TapeValue, TapeValue]:
    """Return what is retained of the gradient, and the gradient after all of the entry's hooks."""
    kept = gradient
    for key, hook in list((entry.hooks or {}).items()):
        gradient = hook(gradient) or gradient
        kept = gradient if key in (entry.retained or ()) else kept
    return kept, gradient
