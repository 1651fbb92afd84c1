"""Calling a derived function.

Record the user's function, find or make the plan, and run it; inside another trace, record one node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from msgspec import Struct

from primad.functional.following import FollowingTrace, Script
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.node import named
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import Primitive, as_tuple
from primad.programs.compacting import compact, with_single_numbers
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import is_outermost, is_weak, plain_types, record, type_of
from primad.runtime.cache import FEWEST, Cache
from primad.runtime.calling import arrays, in_order, inlined, run_program, traced_operands
from primad.runtime.evaluation import evaluate_node
from primad.runtime.executors.dispatch import prepared
from primad.runtime.executors.executor import Executable
from primad.system.machine import SPARE_BYTES

MOST_MISSES = 4
"""Recordings of a function in a row that did other things than the one before, after which none is followed. Chosen:
what changes with each call, as a step's number does, will change again."""


class _Kept(Struct):
    """What is kept of a function's recording.

    Attributes:
        recorded, program: as of a `Call`.
        script: what later recordings follow.
        misses: how many in a row have not followed it, or one before it, to the end.
        choices: what follows from which arguments are differentiated, as `Selected` has it.
        ready: what derivatives of the program were made, by what they are of.
    """

    recorded: Program | None = None
    program: Program | None = None
    script: Script | None = None
    misses: int = -1
    choices: dict[Any, Any] = {}
    ready: dict[Any, Any] = {}

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self.script,)


class RecordingKey(NamedTuple):
    """Which recordings are likely to do the same: of functions in one place, on arguments alike.

    Attributes:
        functions: the places.
        types, weak, in_tree: of the arguments.
    """

    functions: tuple[int, ...]
    types: tuple[ArrayType, ...]
    weak: tuple[bool, ...]
    in_tree: Any
    kind: str = "recording"


class DerivativeKey(NamedTuple):
    """What is derived from a program: by an op that would hold it, and with its params."""

    op: Primitive
    of: Key
    options: tuple[tuple[str, Any], ...]
    kind: str = "derivative"


_RECORDINGS = Cache(256, 2**27)
"""Recordings by the place of the function's code, the tree and the types of its arguments. Another function may have
the place or the code since; what is found is compared."""


def kind_of(function: Any) -> tuple[int, ...]:
    """Return what functions share that are likely to do the same: the places of their code and of what they wrap."""
    found: list[int] = []
    while len(found) < 8:  # a function may be said to wrap itself
        code = getattr(function, "__code__", None)
        found.append(id(type(function) if code is None else code))
        inner = function.func if isinstance(function, partial) else getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return tuple(found)


class ReadyDerivative(NamedTuple):
    """What runs a derivative, as long as it is kept elsewhere, and what it takes after the arguments."""

    executable: ref[Executable]
    extras: Sequence[Any]


class Call:
    """A user's function recorded on given arguments.

    Args:
        function: the function, or one of ours that calls it.
        args: the arguments.
        known: whether the function may read their values.
        of: the user's function, where that is not `function`: recordings of one are likely to do the same.

    Attributes:
        recorded: the program as it was recorded.
        program: the program, with Python's loops as loops of its own.
        leaves: the flattened arguments, arrays in the machine's order of bytes.
        types: their types.
        nested: whether an argument, or something the function closes over, is traced.
        kept: what is known of the recording where it followed another one to the end.
        made: what `run` has made on plain arrays.
    """

    kept: _Kept | None = None
    made: ReadyDerivative | None = None

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        known: bool = True,
        of: Callable[..., Any] | None = None,
    ) -> None:
        users = function if of is None else of
        plain = plain_types(args) if known else None
        if plain is not None and is_outermost():
            self.leaves, self.in_tree, self.nested = list(args), tree.flat(len(args)), False
            self.types, weak = plain
            self._follow(function, known, kind_of(users), weak)
            return
        self.leaves, self.in_tree = tree.flatten(tuple(args))
        # The caller may write into its arrays, and the call be run, or run again, afterwards.
        self.leaves = [TracedArray(x.node) if type(x) is TracedArray else x for x in in_order(self.leaves)]
        self.types = tuple([type_of(leaf) for leaf in self.leaves])
        self.nested = TracedArray in map(type, self.leaves)
        if (known or of is not None) and not self.nested and is_outermost():
            self._follow(function, known, kind_of(users), tuple([known and is_weak(leaf) for leaf in self.leaves]))
            return
        values, evaluator = (self.leaves, evaluate_node) if known else (None, None)
        self.recorded = record(function, self.types, self.in_tree, values, evaluator)
        self.program = compact(self.recorded)
        self.nested = self.nested or bool(self.program.captured)

    def _follow(
        self, function: Callable[..., Any], known: bool, places: tuple[int, ...], weak: tuple[bool, ...]
    ) -> None:
        """Record the function as it was recorded before, as far as it does the same."""
        key = RecordingKey(places, self.types, weak, self.in_tree)
        kept = _RECORDINGS.find(key) or _Kept()
        follows = kept.misses < MOST_MISSES
        values, evaluator = (self.leaves, evaluate_node) if known else (None, None)
        trace = FollowingTrace(evaluator, kept.script) if follows else None
        found = record(function, self.types, self.in_tree, values, evaluator, True, weak, trace, kept.recorded)
        self.recorded = found
        if trace is not None and trace.followed:
            assert kept.program is not None
            kept.misses = 0
            self.program = kept.program.returning(found.out_tree)
            self.kept = kept
            return
        self.program = with_single_numbers(compact(found))
        self.nested = bool(self.program.captured)
        if trace is None:
            return
        assert trace.script is not None  # the recording has ended
        if trace.script.held_bytes <= SPARE_BYTES // FEWEST:
            misses = kept.misses + 1
            if misses < MOST_MISSES:
                _RECORDINGS.put(key, _Kept(self.recorded, self.program, trace.script, misses))
            else:
                _RECORDINGS.put(key, _Kept(misses=misses))

    @property
    def out_tree(self) -> Any:
        """Structure of the result."""
        return self.program.out_tree

    def run(self, primitive: Primitive, extras: Sequence[Any] = (), **options: Any) -> list[Any]:
        """Apply a program op to the recorded program and return its results."""
        of = ClosedProgram(self.program)
        if self.nested or any(type(extra) is TracedArray for extra in extras):
            operands = traced_operands([*self.leaves, *self.program.sources, *extras])
            return list(as_tuple(primitive(*operands, of=of, **options)))
        key = DerivativeKey(primitive, of.key, named(options))
        build = primitive.programs.build
        assert build is not None
        executable = prepared(key, lambda: build(of.hoisted, **options))
        self.made = ReadyDerivative(ref(executable), arrays(extras))
        return self.run_again(executable, self.made.extras)

    def run_again(self, executable: Executable, extras: Sequence[Any]) -> list[Any]:
        """Run what was made of an earlier recording that did the same."""
        return executable.run([*map(np.asarray, self.leaves), *self.program.source_values, *extras])

    def evaluate(self) -> list[Any]:
        """Run the recorded program itself."""
        if self.nested:
            return [TracedArray(node) for node in inlined(self.program, self.leaves)]
        return run_program(self.program, [*map(np.asarray, self.leaves)])


def run_once(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Record a function on its arguments and run the program, or record it in the arguments' trace."""
    call = Call(function, args)
    return tree.unflatten(call.out_tree, call.evaluate())
