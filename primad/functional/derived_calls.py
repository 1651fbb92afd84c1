"""Calling a derived function.

Record the user's function, find or make the plan, and run it; inside another trace, record one node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from msgspec import Struct

from primad.errors import NotDifferentiableError, ShapeError, TracingError
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
        known: whether their values are.
    """

    functions: tuple[int, ...]
    types: tuple[ArrayType, ...]
    weak: tuple[bool, ...]
    in_tree: Any
    known: bool
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
        key = RecordingKey(places, self.types, weak, self.in_tree, known)
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


# -- arguments ---------------------------------------------------------------------------------------------------------


def check_differentiable(type: ArrayType, what: str, transform: str) -> None:
    """Raise unless derivatives can be taken with respect to a value of this type."""
    if not type.is_float:
        raise NotDifferentiableError(
            f"{what} of {transform} has dtype {type.dtype}",
            why="Derivatives are taken with respect to floating-point values; an integer cannot change by a little.",
            fix="pass a float (3.0, not 3), or convert with x.astype(float).",
        )


def choose_arguments(
    function: Callable[..., Any], args: Sequence[Any], argnums: Any, transform: str
) -> tuple[int, ...]:
    """Return the chosen positions as nonnegative numbers.

    Raises:
        TracingError: if there is no such argument.
    """
    if argnums.__class__ is int and 0 <= argnums < len(args):
        return (argnums,)
    chosen = []
    for number in (argnums,) if not isinstance(argnums, (tuple, list)) else argnums:
        try:
            number = operator.index(number)
        except TypeError:
            raise TracingError(
                f"{transform}: argnums must be integers, got {argnums!r}",
                fix="count the positional arguments from 0; several are a tuple, (0, 2).",
            ) from None
        if not -len(args) <= number < len(args):
            name = getattr(function, "__name__", "the function")
            raise TracingError(
                f"{transform}({name}): argnums={argnums} but the call has {len(args)} positional arguments",
                fix="argnums counts them from 0; arguments with names are not differentiated.",
            )
        chosen.append(number % len(args))
    return tuple(chosen)


def axis_of(axis: Any, ndim: int, what: str) -> int:
    """Return an axis that the user named, counted from the first one.

    Raises:
        ShapeError: if an array with `ndim` axes has none of this number.
    """
    if not isinstance(axis, (int, np.integer)) or not -ndim <= axis < ndim:
        raise ShapeError(
            f"{what} {axis!r} does not fit an array with {ndim} axes",
            fix=f"write an axis from 0 to {ndim - 1}." if ndim else "give an array that has axes, or no axis.",
        )
    return int(axis) % ndim


def _places(in_tree: Any, argnums: Sequence[int]) -> tuple[list[Any], list[Sequence[int]]]:
    """Return the structures of chosen arguments, None where all arguments are arrays, and where their leaves stand."""
    if in_tree is tree.flat(in_tree.num_leaves):
        return [None] * len(argnums), [(number,) for number in argnums]
    children = in_tree.children()
    starts = [0, *accumulate([structure.num_leaves for structure in children])]
    return [children[number] for number in argnums], [range(starts[number], starts[number + 1]) for number in argnums]


def returning_pair(function: Callable[..., Any], transform: str) -> Callable[..., Any]:
    """Return a function that raises where what it returns is no pair of a value and something beside it."""

    def inner(*args: Any) -> Any:
        result = function(*args)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ShapeError(
                f"{transform} with has_aux=True needs a function that returns a pair (value, aux)",
                fix="return value, aux; of these the value is differentiated.",
            )
        return result

    return inner


_Choice = tuple[list[Any], list[Sequence[int]], tuple[bool, ...]]


class Selected:
    """A recorded call, and which of its flattened arguments are differentiated.

    What is not chosen and no array (Python's numbers, strings, callables, …) is passed through as it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Any,
        transform: str,
        has_aux: bool = False,
    ) -> None:
        self.transform = transform
        self.single = not isinstance(argnums, (tuple, list))
        self.argnums = choose_arguments(function, args, argnums, transform)
        if kwargs:
            function = partial(function, **kwargs)
        if len(args) > 1 or not self.argnums:
            function, args = keep(function, args, [i in self.argnums for i in range(len(args))])
        self.has_aux = has_aux
        self.call = Call(returning_pair(function, transform) if has_aux else function, args)
        kept = self.call.kept
        found = None if kept is None else kept.choices.get(self.argnums)
        choice: _Choice = self._choice() if found is None else found
        self.trees, self.positions, self.active = choice
        if kept is not None:
            kept.choices[self.argnums] = choice

    def _choice(self) -> _Choice:
        """Return the structures of the chosen arguments, where their leaves stand, and which leaves these are."""
        types = self.call.types
        trees, positions = _places(self.call.in_tree, self.argnums)
        for number, places in zip(self.argnums, positions, strict=True):
            for place, position in enumerate(places):
                if types[position].dtype.kind != "f" and not types[position].is_complex:
                    leaf = f"element {place} of " if len(places) > 1 else ""
                    check_differentiable(types[position], f"{leaf}argument {number}", self.transform)
        chosen = {position for places in positions for position in places}
        return trees, positions, tuple([i in chosen for i in range(len(types))])

    @property
    def places(self) -> list[int]:
        """Where the leaves stand that are differentiated, in the order of a derivative's results."""
        return [i for i, on in enumerate(self.active) if on]

    @property
    def value_tree(self) -> Any:
        """The structure of what is differentiated, the value of a function that may return more beside it."""
        return self.call.out_tree.children()[0] if self.has_aux else self.call.out_tree

    def aux(self) -> Any:
        """Return what the function returns beside its value, of which only that is computed; None if it does not."""
        if not self.has_aux:
            return None
        whole, aux_tree = self.call.program, self.call.out_tree.children()[1]
        outputs = whole.outputs[self.value_tree.num_leaves :]
        program = Program(whole.trace, whole.inputs, outputs, whole.in_tree, aux_tree, whole.names, whole.label)
        program.lines = whole.lines
        return program(*tree.unflatten(self.call.in_tree, self.call.leaves))

    def pack(self, values: dict[int, Any]) -> Any:
        """Return derivatives, given by flat position, in the structure of the chosen arguments."""
        trees = []
        for positions, structure in zip(self.positions, self.trees, strict=True):
            found = [like_argument(values[i], self.call.leaves[i]) for i in positions]
            trees.append(found[0] if structure is None else tree.unflatten(structure, found))
        return trees[0] if self.single else tuple(trees)


def like_argument(value: Any, argument: Any) -> Any:
    """Return a derivative as its argument was given: an array for an array, a scalar for a number."""
    if isinstance(argument, np.ndarray) and isinstance(value, np.generic):
        return np.asarray(value)
    return value


def keep(
    function: Callable[..., Any], args: Sequence[Any], chosen: Sequence[bool]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Keep Python's numbers and whatever is no array from being traced, in arguments that are not chosen.

    Returns:
        a function of the arguments in which None stands for what is kept, and these arguments.
    """
    if all(on or type(arg) is np.ndarray or type(arg) is TracedArray for on, arg in zip(chosen, args, strict=True)):
        return function, tuple(args)
    flat = [tree.flatten(arg) for arg in args]
    kept = [[not on and not _is_array(leaf) for leaf in leaves] for on, (leaves, _) in zip(chosen, flat, strict=True)]
    if not any(map(any, kept)):
        return function, tuple(args)
    left = [
        tree.unflatten(structure, [None if stays else leaf for leaf, stays in zip(leaves, stay, strict=True)])
        for (leaves, structure), stay in zip(flat, kept, strict=True)
    ]

    def filled(*values: Any) -> Any:
        full = []
        for value, (leaves, structure), stay in zip(values, flat, kept, strict=True):
            given = iter(tree.leaves(value))
            full.append(tree.unflatten(structure, [x if y else next(given) for x, y in zip(leaves, stay, strict=True)]))
        return function(*full)

    filled.__qualname__ = getattr(function, "__qualname__", "function")
    filled.__wrapped__ = function  # type: ignore[attr-defined]  # the names of arguments are the function's
    return filled, tuple(left)


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") and not isinstance(leaf, np.generic)
