"""jit: a function is recorded once for each combination of argument types, and then its programs run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from msgspec import Struct, field

from primad.errors import ShapeError, TracingError
from primad.functional.control.inlining import called
from primad.functional.parsing import known_ops
from primad.functional.selected_arguments import axis_of
from primad.functional.static_arguments import (
    StaticArguments,
    as_static,
    leaves_of,
    of_others,
    positions_of,
    static_arguments,
)
from primad.functional.transformed import Transformed
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.parallel.threads import check_thread_count, on_threads
from primad.programs.compacting import compact
from primad.recording import tree
from primad.recording.argument_keys import comparable_key, is_nested, static_key, structure_key
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import argument_names, is_weak, record, type_of
from primad.runtime.cache import Cache
from primad.runtime.calling import arrays, entry_of_arrays, executable_for_calls
from primad.runtime.executors.dispatch import executor
from primad.runtime.executors.executor import Donated, Executable, Executor, Hint, Options
from primad.runtime.plan.donation import check, match, settle
from primad.runtime.plan.memory_limit import check_limit, check_memory
from primad.system.process import MOST_KEPT
from primad.system.tracebacks import leave_users_frames

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def jit(
    function: Callable[P, R],
    static_argnums: Any = (),
    donate: Any = (),
    *,
    static_argnames: Any = (),
    threads: int | None = None,
    memory: int | None = None,
    along: tuple[int, int] | None = None,
    backend: str = "native",
) -> Callable[P, R]:
    """Return a function that records `function` once for each combination of argument types, and then only runs.

    Args:
        function: a function of arrays and pytrees of arrays.
        static_argnums: positions of arguments that are constants (hashable, part of the cache's key). They are compared
            by what Python can tell apart, not by `==`: 2, 2.0 and True are three. Objects without an equality of their
            own are themselves only. Such a parameter is also static where it is passed by keyword.
        donate: positions of arguments whose arrays may be overwritten. Each array of the result takes the memory of the
            first donated array of its shape and dtype that is left: it is then that same array, changed in place.
            Where nothing needs the old values afterwards, no other memory is used.
        static_argnames: names of parameters that are static, passed by keyword or by position.
        threads: how many threads its calls run on; by default as many as `set_num_threads` says. Results do not depend
            on it.
        memory: bytes that its arrays may take at once, but for those within a step of a loop, which are not checked;
            by default what the machine has. What reverse mode keeps of
            loops follows it (see `scan`): by default that takes 200 MB.
        along: (position of an array argument, axis of it) along which a large program is cut into tiles; by default the
            largest that is only mapped over and summed.
        backend: what runs the program: `"native"`, or `"reference"`, which calls each op's NumPy definition one after
            the other, without native code, tiles, blocks and threads (`along` and `threads` change nothing then): it is
            slow, and what a result that looks wrong can be compared with. Or `"jax"`, where XLA compiles it for the
            device that JAX has; see `to_jax`.

    Returns:
        a function with the same arguments and result. What the function reads without its being an argument, such as
        the arrays that it closes over, is taken when it is recorded. Inside a function that is recorded itself it is
        recorded in place; if it is long and called often there, as a step of a simulation is, once for all further
        calls, so that planning does not grow with their number.

    Raises:
        TracingError: where the function needs a value (`if x > 0`), with the line; where a donated array is read-only
            or shares memory with another argument; for a static argument that cannot be compared; for a backend that
            does not exist; for a name in `static_argnames` that the function does not have.
        ShapeError: if the program cannot be cut along the axis that `along` names; if `donate` names no argument.
        MemoryLimitError: if its arrays would not fit, with the op whose value is the largest.

    Example:
        >>> import numpy as np, primad
        >>> f = primad.jit(lambda x: np.sin(x) ** 2)
        >>> round(f(0.5), 12)
        np.float64(0.229848847066)

        A step that updates its parameters in place:

        >>> descend = primad.jit(lambda p, g: p - 0.5 * g, donate=0)
        >>> p = np.array([1.0, 2.0])
        >>> descend(p, np.array([2.0, 0.0])) is p
        True
        >>> p
        array([0., 2.])
    """
    options = {"static_argnums": static_argnums, "donate": donate, "static_argnames": static_argnames,
               "threads": threads, "memory": memory, "along": along, "backend": backend}  # fmt: skip
    if threads is not None:
        check_thread_count(threads, "jit: threads")
    check_limit(memory)
    static = static_arguments(function, static_argnums, static_argnames)
    compiles = executor(backend)
    compiles.load()
    held = _Compilation(function, static, positions_of(donate), threads, memory, along, compiles)
    first: Function | None = None
    others = held.others
    some_are_static = bool(static.positions)

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def compiled(*args: Any, **kwargs: Any) -> Any:
        nonlocal first
        try:
            if first is not None and not kwargs:
                found = first(*args)
                if found is not NotImplemented:
                    return found
                for entry in others:
                    found = entry(*args)
                    if found is not NotImplemented:
                        return found
            elif some_are_static and not kwargs:
                found = held.enter(args)
                if found is not NotImplemented:
                    return found
            result = held.call(args, kwargs)
            first = held.first
            return result
        except Exception as error:
            leave_users_frames(error)
            raise

    return Transformed(compiled, jit, (function,), options, held.programs)


class _Given(NamedTuple):
    """The arguments of a call, as far as what is compiled depends on them.

    Attributes:
        args: the positional arguments.
        kwargs: those with names, but for the static ones.
        fixed: positions of the static ones.
        named: the static ones with names.
        types: of the leaves of the others.
        weak: which of these are Python numbers.
        in_tree: the structure of the others, positional and with names.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    fixed: tuple[int, ...]
    named: dict[str, Any]
    types: tuple[ArrayType, ...]
    weak: tuple[bool, ...]
    in_tree: Any


class JitKey(NamedTuple):
    """What is compiled for a call depends on.

    Attributes:
        types, weak, in_tree: as those of `_Given`.
        entries: what tells the structure from others that are equal.
        fixed: positions and names of the static arguments.
        static: the key of their values.
    """

    types: tuple[ArrayType, ...]
    weak: tuple[bool, ...]
    in_tree: Any
    entries: Hashable
    fixed: tuple[int | str, ...]
    static: Hashable
    kind: str = "jit"


class _Specialization(NamedTuple):
    """What was compiled for one combination of argument types.

    Attributes:
        executable: what runs.
        captured: the inputs that follow the arguments.
        program: what was recorded.
        donated: which results take the memory of which arguments.
        names: of the leaves of the arguments.
        adopted: the leaves that are Python integers, with the dtypes of integers that they take.
        entry: what does it all for arguments of these types, and declines others; if there is such a function.
    """

    executable: Executable
    captured: list[Any]
    program: Program
    donated: Donated
    names: list[str]
    adopted: list[tuple[int, Any]]
    entry: Function | None


MOST_ENTRIES = 8
"""Native functions that `jit` tries in turn for the same static arguments, each for other types of the others. Chosen:
trying all of them should take no longer than finding the right plan."""


class _Compilation(Struct, eq=False):
    """What `jit` keeps of one function: what was compiled, and how.

    Attributes:
        first: a function of calls without static arguments or keywords, which declines arguments of other types
            than its own; apart from the others since most functions have one only.
        others: those of further types.
        entries: those of calls with static arguments, in the order of `MOST_ENTRIES`: by the number of arguments and
            the key of the static ones.
    """

    function: Function
    static: StaticArguments
    donate: tuple[Any, ...]
    threads: int | None
    memory: int | None
    along: tuple[int, int] | None
    executor: Executor
    first: Function | None = None
    others: list[Function] = field(default_factory=list)
    entries: dict[Any, list[Function]] = field(default_factory=dict)
    _places: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    _cache: Cache = field(default_factory=lambda: Cache(MOST_KEPT))

    def enter(self, args: tuple[Any, ...]) -> Any:
        """Call the function for these static arguments and such others; NotImplemented if there is none."""
        count = len(args)
        fixed, others = self._places_among(count)
        entries = self.entries.get((count, comparable_key([args[i] for i in fixed])))
        if entries is not None:
            dynamic = [args[i] for i in others]
            for entry in entries:
                found = entry(*dynamic)
                if found is not NotImplemented:
                    return found
        return NotImplemented

    def _open(self, entry: Function, key: Any) -> None:
        """Let `enter` find a function; those that it finds no more are put back when they are called."""
        if len(self.entries) >= MOST_KEPT:
            self.entries.clear()
        entries = self.entries.setdefault(key, [])
        if entry not in entries and len(entries) < MOST_ENTRIES:
            entries.append(entry)

    def _places_among(self, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the positions, among so many arguments, of the static ones and of the others."""
        found = self._places.get(count)
        if found is None:
            fixed = self.static.among(count)
            found = self._places[count] = fixed, tuple([i for i in range(count) if i not in fixed])
        return found

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run what was compiled for such arguments, or compile it first."""
        fixed, others = self._places_among(len(args))
        dynamic = tuple([args[i] for i in others])
        named: dict[str, Any] = {}
        if kwargs and self.static.names:
            named, kwargs = self.static.named(kwargs)
        places: tuple[int | str, ...] = (*fixed, *named)
        constants = [*[args[i] for i in fixed], *named.values()]
        leaves, in_tree = tree.flatten((dynamic, kwargs))
        if any(isinstance(leaf, TracedArray) for leaf in leaves):
            static = comparable_key(constants) if places else ()
            if static is None:
                return self.function(*args, **kwargs, **named)
            free = of_others(self.function, args, fixed, named)
            return called(free, leaves, in_tree, (id(self.function), places, static))
        try:
            types = tuple([type_of(leaf) for leaf in leaves])
        except TracingError as error:
            fix = as_static(dynamic, places, kwargs)
            raise (error.with_fix(fix) if fix else error) from None
        weak = tuple([is_weak(leaf) for leaf in leaves])
        static = static_key(self.function, places, constants) if places else ()
        key = JitKey(types, weak, in_tree, structure_key(in_tree) if is_nested(in_tree) else (), places, static)
        made = self._cache.get(key, lambda: self._compile(_Given(args, kwargs, fixed, named, types, weak, in_tree)))
        if made is None:  # it closes over a traced array: a part of the program being recorded
            return self.function(*args, **kwargs, **named)
        if fixed and made.entry is not None:
            self._open(made.entry, (len(args), static))
        return self._run(made, leaves, types)

    def programs(self) -> list[tuple[Program, tuple[bool, ...]]]:
        """Return what was recorded for calls without static arguments, and which inputs were Python numbers."""
        return [(made.program, key.weak) for key, made in self._cache.items() if made is not None and not key.fixed]

    def _compile(self, given: _Given) -> _Specialization | None:
        """Record the function and compile the program; None where it is a part of another that is being recorded."""
        args, kwargs, fixed, named, types, weak, in_tree = given
        free = of_others(self.function, args, fixed, named)

        def flat(positional: tuple[Any, ...], by_name: dict[str, Any]) -> Any:
            return free(*positional, **by_name)

        flat.__qualname__ = getattr(free, "__qualname__", "function")
        recorded = record(flat, types, in_tree, weak=weak)
        if recorded.captured:
            return None
        program = compact(recorded)
        for place in self.donate:
            if not isinstance(place, (int, np.integer)) or not -len(args) <= place < len(args):
                raise ShapeError(
                    f"jit: donate names argument {place!r}, but the call has {len(args)} positional arguments",
                    fix="give positions of arguments, and pass what is donated by position.",
                )
        donated = match(program.out_types, types, leaves_of(args, fixed, self.donate))
        options = Options(donated, None if self.along is None else _hint(self.along, args, fixed, types), self.memory)
        executable, captured = executable_for_calls(
            program, in_tree.children()[0], types, weak, options, self.executor, known_ops()
        )
        check_memory(executable, self.memory)
        adopted = _adopted(program, weak)  # of which there are none with an entry: it takes no Python integers
        entry = None
        if not donated and not kwargs and not named:
            entry = executable.entry(captured)
            if entry is None and not any(weak) and not is_nested(in_tree):
                entry = entry_of_arrays(self._running(executable), types, captured, program.out_tree)
        if not fixed and self.first is None:
            self.first = entry
        elif not fixed and entry is not None and len(self.others) < MOST_ENTRIES - 1:
            self.others.append(entry)
        names = _names(self.function, args, kwargs, fixed)
        return _Specialization(executable, captured, program, donated, names, adopted, entry)

    def _run(self, made: _Specialization, leaves: list[Any], types: Sequence[ArrayType]) -> Any:
        donated, run = made.donated, self._running(made.executable)
        for place, dtype in made.adopted:
            np.array(leaves[place], dtype)  # out of range: an OverflowError, as in NumPy
        values = arrays(leaves)
        if donated:
            for _, place in donated:
                values[place] = np.asarray(leaves[place])  # the array itself, also in another order of bytes
            check(values, [place for _, place in donated], made.names)
        inputs = [*values, *made.captured]
        for _, place in donated:
            # What is written there goes by its address: row by row, in the machine's order of bytes.
            inputs[place] = np.ascontiguousarray(values[place], types[place].dtype)
        return tree.unflatten(made.program.out_tree, settle(run(inputs), values, donated))

    def _running(self, executable: Executable) -> Callable[[list[Any]], list[Any]]:
        """Return what runs a plan, on as many threads as were asked for."""
        run, threads = executable.run, self.threads
        return run if threads is None else lambda inputs: on_threads(threads, lambda: run(inputs))


def without_static(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Function, tuple[Any, ...], dict[str, Any]]:
    """Return a function of the arguments that are not static, and these; of a function not jitted, itself and all."""
    if not isinstance(function, Transformed) or function.made[0] is not jit:
        return function, args, kwargs
    options = function.made[2]
    static = static_arguments(function.made[1][0], options["static_argnums"], options["static_argnames"])
    fixed, (named, free) = static.among(len(args)), static.named(kwargs)
    others = tuple([x for i, x in enumerate(args) if i not in fixed])
    return of_others(function, args, fixed, named), others, free


def _adopted(program: Program, weak: Sequence[bool]) -> list[tuple[int, Any]]:
    """Return the inputs that are Python integers and become integers of other types, with these."""
    place = {node: i for i, (node, on) in enumerate(zip(program.inputs, weak, strict=True)) if on}
    single = [node for node in program.nodes if len(node.inputs) == 1 and isinstance(node.type, ArrayType)]
    taken = [node for node in single if node.inputs[0] in place]
    found = [(place[node.inputs[0]], node.type.dtype) for node in taken if node.type.dtype.kind in "iu"]
    return [(i, dtype) for i, dtype in found if not np.can_cast(program.inputs[i].type.dtype, dtype)]


def _names(function: Function, args: Sequence[Any], kwargs: dict[str, Any], fixed: Sequence[int]) -> list[str]:
    """Return names of the leaves of the arguments that are not static."""
    places = tuple([() if i in fixed else arg for i, arg in enumerate(args)])
    named = ["_".join(map(str, path)) for path in tree.paths(tree.flatten(kwargs)[1])]
    return argument_names(function, tree.flatten(places)[1]) + named


def _hint(along: tuple[int, int], args: Sequence[Any], fixed: Sequence[int], types: Sequence[ArrayType]) -> Hint:
    """Return the flat position of the argument that `along` names, and its axis."""
    leaves = leaves_of(args, fixed, along[:1])
    if len(leaves) != 1:
        raise ShapeError(
            f"jit: along={along!r} names an argument of {len(leaves)} arrays",
            fix="name a positional argument that is one array.",
        )
    return leaves[0], axis_of(along[1], types[leaves[0]].ndim, "jit: along")
