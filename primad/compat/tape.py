"""An eager tape: calls recorded with the values they met, and derivatives of what was recorded.

A call is an operator applied to entries (one array each). To differentiate, the calls between the outputs and the
wanted entries are recorded once as a program, whose derivative the engine derives, simplifies and plans; it reads what
the tape has already computed. The plan is kept under the structure of those calls, so that the next step of a training
loop only runs it. A gradient can itself be a call on the tape: then it is differentiated like any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from primad import ops
from primad.errors import PrimadError, ProgramError
from primad.ir.node import Leaf, Node, Trace, param_key
from primad.ir.program import Program
from primad.runtime.cache import BUILT
from primad.runtime.executor import Executable
from primad.runtime.executors import prepare, prepared_parts
from primad.simplify import simplify
from primad.trace import TracedArray, lift
from primad.transforms.lowering import expand, inline
from primad.transforms.partial import cut
from primad.transforms.reverse import vjp
from primad.types import ArrayType

Pullback = Callable[[list["Entry | None"]], Sequence["Entry | None"]]
"""A derivative of a call's own: gradients of its results to gradients of its operands; None where there is none."""


class Entry:
    """One value on the tape.

    Attributes:
        array: the value.
        active: whether derivatives pass through it.
        call: the call that computed it, or None for a leaf.
        index: which of the call's results it is.
        version: how often it has been overwritten in place.
        hooks: functions of its gradient, which may return another one; None where there are none.
        gradient: what backward passes have accumulated, in whatever form the API above keeps it.
        retained: whether backward passes accumulate its gradient though it is no leaf.
        owner: a weak reference to the user's handle on it, or None.
    """

    __slots__ = ("active", "array", "call", "gradient", "hooks", "index", "owner", "retained", "version")

    def __init__(self, array: Any, active: bool = False, call: Call | None = None, index: int = 0) -> None:
        self.array = array
        self.active = active
        self.call = call
        self.index = index
        self.version = 0
        self.hooks: dict[int, Callable[[Entry], Entry | None]] | None = None
        self.gradient: Any = None
        self.retained = False
        self.owner: Any = None


_order = itertools.count()


class Call:
    """An operator applied to entries.

    Attributes:
        operator: its `compute` takes one argument per slot (an array, a list of arrays, None), then the attributes.
            Operators compare by identity: equal structures of calls share their plans.
        pattern: for each slot None (left out), −1 (one operand), or the length of a list of operands.
        attributes: names and hashable values.
        operands: the entries, slot by slot; None once they were freed.
        versions: those of the operands when they were read.
        pullback: a derivative of its own, which runs when a gradient is taken and may look at values.
        order: later calls have greater ones.
    """

    __slots__ = ("attributes", "operands", "operator", "order", "pattern", "pullback", "versions")

    def __init__(
        self,
        operator: Any,
        pattern: tuple[int | None, ...],
        attributes: tuple[tuple[str, Any], ...],
        operands: tuple[Entry, ...],
        pullback: Pullback | None = None,
    ) -> None:
        self.operator = operator
        self.pattern = pattern
        self.attributes = attributes
        self.operands: tuple[Entry, ...] | None = operands
        self.versions = tuple([entry.version for entry in operands])
        self.pullback = pullback
        self.order = next(_order)

    def results(self, arrays: Iterable[Any]) -> tuple[Any, ...]:
        """Apply the operator to arrays in place of the operands."""
        found = _applied(self.operator, self.pattern, self.attributes, arrays)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _applied(
    operator: Any, pattern: Sequence[int | None], attributes: Iterable[tuple[str, Any]], arrays: Iterable[Any]
) -> Any:
    if pattern == (-1,) * len(pattern):
        return operator.compute(*arrays, **dict(attributes))
    values = iter(arrays)
    slots = [
        None if count is None else next(values) if count < 0 else [next(values) for _ in range(count)]
        for count in pattern
    ]
    return operator.compute(*slots, **dict(attributes))


PLANNED_SIZE = 1 << 14
"""Operators on arrays of at least so many elements may run as plans, with native kernels and threads."""


def computed(
    operator: Any, pattern: tuple[int | None, ...], attributes: tuple[tuple[str, Any], ...], arrays: Sequence[Any]
) -> Any:
    """Apply an operator to arrays: with NumPy, or by a plan where the arrays are large and it does arithmetic.

    The plan is made once for each operator and types; nothing is recorded again.
    """
    if max([array.size for array in arrays], default=0) >= PLANNED_SIZE and all(type(x) is np.ndarray for x in arrays):
        types = tuple([(array.shape, array.dtype.char) for array in arrays])
        found = prepared_parts(
            ("operator", operator, pattern, param_key(attributes), types),
            lambda: _worthwhile(operator, pattern, attributes, arrays),
        )
        for executable in found:
            results = executable.run(arrays)
            return results if len(results) > 1 else results[0]
    with np.errstate(all="ignore"):
        return _applied(operator, pattern, attributes, arrays)


def refusal(
    operator: Any, pattern: tuple[int | None, ...], attributes: tuple[tuple[str, Any], ...], arrays: Sequence[Any]
) -> PrimadError | None:
    """Return the engine's error for operands whose types do not fit, which says more than NumPy's; None if they do."""
    trace = Trace()
    try:
        inputs = [trace.input(ArrayType(array.shape, array.dtype)) for array in arrays]
        _applied(operator, pattern, attributes, [TracedArray(node) for node in inputs])
    except PrimadError as error:
        return error
    except (AttributeError, IndexError, TypeError, ValueError):
        return None
    finally:
        trace.close()
    return None


def _worthwhile(
    operator: Any, pattern: tuple[int | None, ...], attributes: tuple[tuple[str, Any], ...], arrays: Sequence[Any]
) -> list[Program]:
    """Return the program of an operator where it does arithmetic; none where it does not."""
    trace = Trace()
    inputs = [trace.input(ArrayType(array.shape, array.dtype)) for array in arrays]
    found = _applied(operator, pattern, attributes, [TracedArray(node) for node in inputs])
    many = isinstance(found, (tuple, list))
    if many and len(found) == 1:
        return []
    program = Program(trace, inputs, [lift(result, trace) for result in (found if many else [found])])
    trace.close()
    program = simplify(program)
    worthwhile = any(node.op is ops.contract or node.op.kind == "elementwise" for node in _inner(program))
    return [program] if worthwhile else []


def _inner(program: Program) -> list[Node]:
    return [node for node in program.nodes if not isinstance(node.op, Leaf)]


class FreedError(Exception):
    """The calls were freed after an earlier gradient."""


class OverwrittenError(Exception):
    """A gradient reads a value that was overwritten in place; the arguments are its versions, now and when read."""


def reached(outputs: Iterable[Entry], closed: Collection[Entry] = ()) -> list[Call]:
    """Return the calls that active outputs depend on, in order; the search passes no entry in `closed`.

    Raises:
        FreedError: if it meets a call that was freed.
    """
    seen: set[Call] = set()
    stack = [entry.call for entry in outputs if entry.active and entry.call is not None]
    while stack:
        call = stack.pop()
        if call in seen:
            continue
        if call.operands is None:
            raise FreedError
        seen.add(call)
        for entry in call.operands:
            if entry.active and entry.call is not None and entry not in closed:
                stack.append(entry.call)
    return sorted(seen, key=lambda call: call.order)


def free(outputs: Iterable[Entry]) -> None:
    """Let go of everything that the outputs were computed from; no gradient passes there again."""
    for call in reached(outputs):
        call.operands = call.pullback = None


class Part:
    """The calls between outputs and wanted entries, their values numbered.

    Attributes:
        calls: in order.
        entries: the values that occur.
        key: equal for parts that differ only in the elements of arrays.
        wanted: the numbers of the wanted entries, None for those that the outputs do not depend on.
    """

    def __init__(
        self, outputs: Sequence[Entry], seeds: Sequence[Entry | None], wanted: Sequence[Entry], closed: set[Entry]
    ) -> None:
        begin = set(wanted)
        self.calls: list[Call] = []
        live: set[Call] = set()
        for call in reached(outputs, closed):
            assert call.operands is not None
            if any(
                entry.active and (entry in begin or (entry.call in live and entry not in closed))
                for entry in call.operands
            ):
                live.add(call)
                self.calls.append(call)
        self._numbers: dict[tuple[Entry, int], int] = {}
        self.entries: list[Entry] = []
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
        self.key = (
            values,
            tuple(rows),
            tuple(self.outputs),
            tuple([seed is None for seed in seeds]),
            tuple(self.wanted),
        )

    def _number(self, entry: Entry, version: int) -> int:
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
        results: dict[Call, tuple[Any, ...]] = {}
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

    def _result(self, results: dict[Call, tuple[Any, ...]], number: int, trace: Trace) -> Node:
        entry = self.entries[number]
        assert entry.call is not None
        node = lift(results[entry.call][entry.index], trace)
        expected = ArrayType(entry.array.shape, entry.array.dtype)
        if node.type != expected:
            raise ProgramError(f"{entry.call.operator}: recorded as {node.type}, but it computed {expected}")
        return node


class Derivative:
    """The gradients of one structure of calls, as an operator on the values that they need.

    Attributes:
        reads: which values it takes: numbers of entries, then (negative, from −1 downwards) seeds.
        results: for each wanted entry the position of its gradient, or None.
    """

    def __init__(self, part: Part, seeds: Sequence[Entry | None]) -> None:
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
    def _positions(part: Part, outside: list[int], inside: list[int]) -> list[int | None]:
        order = [number for number in (*outside, *inside) if number in part.wanted]
        return [None if number is None else order.index(number) for number in part.wanted]

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between calls."""
        return (self._program,)

    def compute(self, *values: Any) -> list[Any]:
        """Return the gradients: computed, or recorded where the values are traced."""
        if any(isinstance(value, TracedArray) for value in values):
            return inline(self._program, values)
        return [np.asarray(result) for result in self._executable.run(values)]

    @cached_property
    def _executable(self) -> Executable:
        return prepare(self._program)


def _derivative(
    outputs: Sequence[Entry],
    seeds: Sequence[Entry | None],
    wanted: Sequence[Entry],
    closed: set[Entry],
    record: bool,
) -> list[Entry | None]:
    """Return the gradients of wanted entries (see `gradients`); no path passes the entries in `closed`."""
    part = Part(outputs, seeds, wanted, closed)
    if all(number is None for number in part.wanted):
        return [None] * len(wanted)
    made: Derivative = BUILT.get(part.key, lambda: Derivative(part, seeds))
    part.check_versions([number for number in made.reads if number >= 0])
    operands = [part.entries[number] if number >= 0 else seeds[-1 - number] for number in made.reads]
    results = made.compute(*[entry.array for entry in operands])  # type: ignore[union-attr]
    active = record and any(entry.active for entry in operands)  # type: ignore[union-attr]
    call = Call(made, (-1,) * len(operands), (), tuple(operands)) if active else None  # type: ignore[arg-type]
    made_entries = [Entry(array, active, call, i) for i, array in enumerate(results)]
    return [None if place is None else made_entries[place] for place in made.results]


def gradients(
    outputs: Sequence[Entry],
    seeds: Sequence[Entry | None],
    wanted: Sequence[Entry],
    constants: Iterable[Entry] = (),
    record: bool = False,
    add: Callable[[Entry, Entry], Entry] | None = None,
) -> list[Entry | None]:
    """Return the gradient of the sum of outputs, each weighted by its seed, for each wanted entry.

    Hooks of inner entries are applied where their gradients are complete. A wanted inner entry gets its gradient
    before its own hooks; those of leaves are left to the caller.

    Args:
        outputs: active entries, each once.
        seeds: gradients of the outputs; None stands for ones.
        wanted: entries, leaves or not, each once.
        constants: entries that derivatives do not pass through.
        record: whether the gradients are calls on the tape themselves.
        add: how to add two gradients where `record` is set.

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
    pending: dict[Entry, Entry] = {}
    found: dict[Entry, Entry] = {}

    def collect(into: dict[Entry, Entry], entry: Entry, gradient: Entry) -> None:
        into[entry] = plus(into[entry], gradient) if entry in into else gradient

    def pull(sources: Sequence[Entry], weights: Sequence[Entry | None], targets: Sequence[Entry]) -> None:
        results = _derivative(sources, weights, targets, closed | stops, record) if sources else []
        for entry, gradient in zip(targets, results, strict=False):
            if gradient is not None:
                collect(pending if entry in stops else found, entry, gradient)

    def arrive(entries: Sequence[Entry], weights: Sequence[Entry | None]) -> None:
        """Start from entries: stops wait until their gradient is complete, the others are pulled back together."""
        plain = []
        for entry, weight in zip(entries, weights, strict=True):
            if entry in stops:
                collect(pending, entry, weight or Entry(np.ones_like(entry.array)))
            else:
                plain.append((entry, weight))
        pull([entry for entry, _ in plain], [weight for _, weight in plain], list(dict.fromkeys((*wanted, *stops))))

    arrive(outputs, seeds)
    while pending:
        call = max((entry.call for entry in pending if entry.call is not None), key=lambda call: call.order)
        ready = {entry: pending.pop(entry) for entry in list(pending) if entry.call is call}
        found.update((entry, gradient) for entry, gradient in ready.items() if entry in wanted)
        changed = {entry: hooked(entry, gradient) for entry, gradient in ready.items()}
        if call.pullback is None:
            earlier = [entry for entry in dict.fromkeys((*wanted, *stops)) if entry not in ready]
            pull(list(changed), list(changed.values()), earlier)
            continue
        weights = {entry.index: weight for entry, weight in changed.items()}
        pulled: dict[Entry, Entry] = {}
        assert call.operands is not None
        results = call.pullback([weights.get(i) for i in range(max(weights) + 1)])
        for entry, result in zip(call.operands, results, strict=True):
            if result is not None and entry.active and entry not in closed:
                collect(pulled, entry, result)
        arrive(list(pulled), list(pulled.values()))
    return [found.get(entry) for entry in wanted]


def _is_stop(entry: Entry) -> bool:
    return entry.call is not None and bool(entry.hooks or entry.call.pullback is not None)


def _plus(x: Entry, y: Entry) -> Entry:
    return Entry(x.array + y.array)


def hooked(entry: Entry, gradient: Entry) -> Entry:
    """Return the gradient after the entry's hooks."""
    for hook in list((entry.hooks or {}).values()):
        gradient = hook(gradient) or gradient
    return gradient
