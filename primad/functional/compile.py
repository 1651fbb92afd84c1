"""jit, vmap and checkpoint, and the functions that look at programs: lower, value, stop_gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from primad import ops, tree
from primad.errors import ShapeError
from primad.functional.called import called
from primad.functional.calls import Call, keep
from primad.functional.keys import static_key, structure_key
from primad.functional.transformed import Transformed, transform
from primad.ir.program import ClosedProgram, Program
from primad.primitive import as_tuple
from primad.programs.checkpoint import checkpoint as checkpoint_
from primad.programs.ops import vmap_
from primad.recording import argument_names, is_weak, record, type_of
from primad.runtime.cache import Cache
from primad.runtime.chunks import check_thread_count, on_threads
from primad.runtime.donation import check, match, settle
from primad.runtime.executor import Donated, Executable, Hint, Options
from primad.runtime.executors import executor, prepared
from primad.runtime.memory import check_limit, check_memory
from primad.runtime.programs import arrays, source_values, traced_operands
from primad.runtime.programs import compiled as executable_of
from primad.trace import TracedArray
from primad.types import ArrayType

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def run_once(function: Function, args: Sequence[Any]) -> Any:
    """Record a function on its arguments and run the program, or record it in the arguments' trace."""
    call = Call(function, args)
    return tree.unflatten(call.out_tree, call.evaluate())


def jit(
    function: Callable[P, R],
    static_argnums: Any = (),
    donate: Any = (),
    *,
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
            own are themselves only.
        donate: positions of arguments whose arrays may be overwritten. Each array of the result takes the memory of the
            first donated array of its shape and dtype that is left: it is then that same array, changed in place.
            Where nothing needs the old values afterwards, no other memory is used.
        threads: how many threads its calls run on; by default as many as `set_num_threads` says. Results do not depend
            on it.
        memory: bytes that its arrays may take at once; by default what the machine has.
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
            does not exist.
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
    listed = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    given = (donate,) if isinstance(donate, int) else tuple(donate)
    if threads is not None:
        check_thread_count(threads, "jit: threads")
    check_limit(memory)
    chosen = executor(backend)
    cache = Cache(256)
    first: Function | None = None
    entries: list[Function] = []
    """Native functions of calls without static arguments or keywords, the first apart since most have one only; they
    decline arguments of other types."""

    def make(
        args: Any, kwargs: Any, fixed: tuple[int, ...], types: Sequence[ArrayType], weak: Sequence[bool], in_tree: Any
    ) -> tuple[Executable, list[Any], Program, Donated, list[str]] | None:
        nonlocal first

        def flat(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            values = list(positional)
            for i in sorted(set(fixed)):
                values.insert(i, args[i])
            return function(*values, **named)

        flat.__qualname__ = getattr(function, "__qualname__", "function")
        program = record(flat, types, in_tree, weak=weak)
        if program.captured:
            return None
        for place in given:
            if not isinstance(place, (int, np.integer)) or not -len(args) <= place < len(args):
                raise ShapeError(
                    f"jit: donate names argument {place!r}, but the call has {len(args)} positional arguments",
                    fix="give positions of arguments, and pass what is donated by position.",
                )
        donated = match(program.out_types, types, _leaves_of(args, fixed, given))
        options = Options(donated, None if along is None else _hint(along, args, fixed, types))
        executable, captured = executable_of(program, in_tree.children()[0], types, weak, options, chosen)
        check_memory(executable, memory)
        entry = None if fixed or donated or kwargs else executable.entry(captured)
        if first is None:
            first = entry
        elif entry is not None and len(entries) < MOST_ENTRIES - 1:
            entries.append(entry)
        return executable, captured, program, donated, _names(function, args, kwargs, fixed)

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def compiled(*args: Any, **kwargs: Any) -> Any:
        if first is not None and not kwargs:
            found = first(*args)
            if found is not NotImplemented:
                return found
            for entry in entries:
                found = entry(*args)
                if found is not NotImplemented:
                    return found
        return general(args, kwargs)

    def general(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fixed = tuple([place for i in listed if 0 <= (place := i if i >= 0 else i + len(args)) < len(args)])
        dynamic = tuple([arg for i, arg in enumerate(args) if i not in fixed])
        leaves, in_tree = tree.flatten((dynamic, kwargs))
        if any(isinstance(leaf, TracedArray) for leaf in leaves):
            return function(*args, **kwargs) if fixed else called(function, args, kwargs, leaves, in_tree)
        types = tuple([type_of(leaf) for leaf in leaves])
        weak = tuple([is_weak(leaf) for leaf in leaves])
        static = static_key(function, fixed, [args[i] for i in fixed]) if fixed else ()
        nested = in_tree.num_nodes - in_tree.num_leaves > 3  # than the tuple of both, the arguments and the keywords
        key = (types, weak, in_tree, structure_key(in_tree) if nested else (), fixed, static)
        made = cache.get(key, lambda: make(args, kwargs, fixed, types, weak, in_tree))
        if made is None:  # it closes over a traced array: a part of the program being recorded
            return function(*args, **kwargs)
        executable, captured, program, donated, names = made
        values = arrays(leaves)
        if donated:
            for _, place in donated:
                values[place] = np.asarray(leaves[place])  # the array itself, also in another order of bytes
            check(values, [place for _, place in donated], names)
        inputs = [*values, *captured]
        for _, place in donated:
            # What is written there goes by its address: row by row, in the machine's order of bytes.
            inputs[place] = np.ascontiguousarray(values[place], types[place].dtype)
        run = executable.run
        results = run(inputs) if threads is None else on_threads(threads, lambda: run(inputs))
        return tree.unflatten(program.out_tree, settle(results, values, donated))

    def programs() -> list[tuple[Program, tuple[bool, ...]]]:
        return [(made[2], key[1]) for key, made in cache.items() if made is not None and not key[4]]

    options = {"static_argnums": static_argnums, "donate": donate, "threads": threads, "memory": memory, "along": along,
               "backend": backend}  # fmt: skip
    return Transformed(compiled, jit, (function,), options, programs)


def _names(function: Function, args: Sequence[Any], kwargs: dict[str, Any], fixed: Sequence[int]) -> list[str]:
    """Return names of the leaves of the arguments that are not static."""
    places = tuple([() if i in fixed else arg for i, arg in enumerate(args)])
    named = ["_".join(map(str, path)) for path in tree.paths(tree.flatten(kwargs)[1])]
    return argument_names(function, tree.flatten(places)[1]) + named


def _leaves_of(args: Sequence[Any], fixed: Sequence[int], chosen: Sequence[int]) -> list[int]:
    """Return the flat positions, among the leaves of the arguments that are not static, of chosen arguments."""
    found: list[int] = []
    start = 0
    for i, arg in enumerate(args):
        if i in fixed:
            continue
        count = len(tree.leaves(arg))
        if i in chosen or i - len(args) in chosen:
            found.extend(range(start, start + count))
        start += count
    return found


def _hint(along: tuple[int, int], args: Sequence[Any], fixed: Sequence[int], types: Sequence[ArrayType]) -> Hint:
    """Return the flat position of the argument that `along` names, and its axis."""
    leaves = _leaves_of(args, fixed, along[:1])
    if len(leaves) != 1:
        raise ShapeError(
            f"jit: along={along!r} names an argument of {len(leaves)} arrays",
            fix="name a positional argument that is one array.",
        )
    return leaves[0], _axis_for(along[1], types[leaves[0]].ndim, "jit: along")


MOST_ENTRIES = 8
"""Native functions that `jit` tries in turn, each for other types of arguments."""


def _axis_for(axis: Any, ndim: int, what: str) -> int:
    if not isinstance(axis, (int, np.integer)) or not -ndim <= axis < ndim:
        raise ShapeError(f"{what} {axis!r} does not fit an array with {ndim} axes")
    return int(axis) % ndim


def _spread_axes(axes: Any, values: Sequence[Any], what: str) -> list[Any]:
    """Return an axis (or None) for each leaf: one for all, or one per argument, or a tree like the argument."""
    if axes is None or isinstance(axes, (int, np.integer)):
        axes = (axes,) * len(values)
    if not isinstance(axes, (tuple, list)) or len(axes) != len(values):
        raise ShapeError(f"vmap: {what} {axes!r} do not match {len(values)} values")
    result: list[Any] = []
    for axis, value in zip(axes, values, strict=True):
        leaves, structure = tree.flatten(value)
        if axis is None or isinstance(axis, (int, np.integer)):
            result.extend([axis] * len(leaves))
        else:
            numbered = iter(range(len(leaves)))
            places = tree.unflatten(structure, numbered)
            result.extend(_axes_of(axis, places, len(leaves), f"vmap: {what} {axis!r} do not fit the tree {structure}"))
    return result


def _axes_of(axes: Any, places: Any, count: int, message: str) -> list[Any]:
    """Return the axis of each leaf; `axes` is a tree like `places`, with an axis or None for a leaf or a subtree."""
    result: list[Any] = [None] * count
    stack = [(axes, places)]
    while stack:
        axis, place = stack.pop()
        leaves = tree.leaves(place)
        if axis is None or isinstance(axis, (int, np.integer)):
            for leaf in leaves:
                result[leaf] = axis
        elif type(axis) is type(place) and isinstance(axis, dict) and axis.keys() == place.keys():
            stack.extend((axis[key], place[key]) for key in axis)
        elif type(axis) is type(place) and isinstance(axis, (tuple, list)) and len(axis) == len(place):
            stack.extend(zip(axis, place, strict=True))
        else:
            named, found = tree.flatten(axis)
            if found != tree.flatten(place)[1]:
                raise ShapeError(message)
            for leaf, item in zip(leaves, named, strict=True):
                result[leaf] = item
    return result


@transform
def vmap(function: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]:
    """Return the function that maps `function` over an axis of its arguments, as one program without a loop.

    Args:
        function: a function of arrays and pytrees.
        in_axes: the axis to map of each argument (one number for all, or a tuple with a number, None, or a tree each).
        out_axes: where the mapped axis goes in the result.

    Returns:
        a function of stacked arguments that returns stacked results.

    Raises:
        ShapeError: if the mapped axes have different lengths or do not exist, or nothing is mapped.

    Example:
        >>> import numpy as np, primad
        >>> primad.vmap(np.dot)(np.ones((3, 2)), np.ones((3, 2)))
        array([2., 2., 2.])
    """

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def mapped(*args: Any) -> Any:
        axes = _spread_axes(in_axes, args, "in_axes")
        inner = function
        if None in axes:
            inner, args, axes = _keep_unmapped(function, args, axes)
        leaves, in_tree = tree.flatten(args)
        size: int | None = None
        types: list[ArrayType] = []
        places: list[int | None] = []
        for leaf, axis in zip(leaves, axes, strict=True):
            type = type_of(leaf)
            if axis is None:
                types.append(type)
                places.append(None)
                continue
            place = _axis_for(axis, type.ndim, "vmap: in_axes")
            length = type.shape[place]
            if size is not None and length != size:
                raise ShapeError(f"vmap: mapped axes have different lengths, {size} and {length}")
            size = length
            types.append(ArrayType(type.shape[:place] + type.shape[place + 1 :], type.dtype))
            places.append(place)
        if size is None:
            raise ShapeError("vmap: no argument is mapped (all in_axes are None)")
        fronted = [
            leaf if place in (None, 0) else _move(leaf, place, 0) for leaf, place in zip(leaves, places, strict=True)
        ]
        program = record(inner, types, in_tree)
        of = ClosedProgram(program)
        batched = tuple([place is not None for place in places])
        if any(isinstance(leaf, TracedArray) for leaf in leaves) or program.captured:
            operands = traced_operands([*fronted, *program.sources])
            results: list[Any] = list(as_tuple(vmap_(*operands, of=of, batched=batched, size=size)))
        else:
            build = vmap_.build
            assert build is not None
            executable = prepared((vmap_, of.key, batched, size), lambda: build(of.hoisted, batched=batched, size=size))
            results = executable.run([*arrays(fronted), *source_values(program)])
        out_values = tree.unflatten(program.out_tree, results)
        if out_axes == 0:
            return out_values
        many = isinstance(out_axes, (tuple, list))
        targets = _spread_axes(out_axes if many else (out_axes,), out_values if many else (out_values,), "out_axes")
        if None in targets:
            raise ShapeError("vmap: out_axes None is not supported; every result has the mapped axis")
        moved = [
            _move(result, 0, _axis_for(target, result.ndim, "vmap: out_axes"))
            for result, target in zip(results, targets, strict=True)
        ]
        return tree.unflatten(program.out_tree, moved)

    return cast(Callable[P, R], mapped)


def _keep_unmapped(
    function: Function, args: Sequence[Any], axes: list[Any]
) -> tuple[Function, tuple[Any, ...], list[Any]]:
    """Keep numbers, and whatever is no array, from being traced in arguments of which nothing is mapped."""
    flat = iter(axes)
    spread = [[next(flat) for _ in tree.leaves(arg)] for arg in args]
    chosen = [any(axis is not None for axis in own) for own in spread]
    inner, left = keep(function, args, chosen)
    found = [own if on else [None] * len(tree.leaves(arg)) for arg, own, on in zip(left, spread, chosen, strict=True)]
    return inner, left, [axis for own in found for axis in own]


def _move(x: Any, source: int, target: int) -> Any:
    if isinstance(x, TracedArray):
        order = [axis for axis in range(x.ndim) if axis != source]
        order.insert(target, source)
        return ops.permute(x, order=tuple(order))
    return np.moveaxis(np.asarray(x), source, target)


@transform
def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function whose inner values are computed again in reverse mode, where keeping them takes more memory.

    Values and derivatives are unchanged. A plan that runs in tiles needs no more memory for more points and computes
    nothing twice.

    Args:
        function: a function of arrays and pytrees.

    Returns:
        the marked function.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(primad.checkpoint(np.sin))(0.0)
        np.float64(1.0)
    """

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def marked(*args: Any) -> Any:
        leaves, _in_tree = tree.flatten(args)
        if not any(isinstance(leaf, TracedArray) for leaf in leaves):
            return cast(Function, function)(*args)
        call = Call(function, args)
        return tree.unflatten(call.out_tree, call.run(checkpoint_))

    return cast(Callable[P, R], marked)


def value(x: Any) -> Any:
    """Read the value of a traced array on purpose, as a plain array: a number without a derivative.

    Args:
        x: a traced array whose value is known (not under jit, vmap or trace), or a plain array, returned as it is.

    Returns:
        a NumPy array or scalar.

    Raises:
        TracingError: where only the type is known.

    Example:
        >>> import numpy as np, primad
        >>> def f(x):
        ...     print("x is", primad.value(x))
        ...     return x * x
        >>> primad.grad(f)(3.0)
        x is 3.0
        np.float64(6.0)
    """
    if not isinstance(x, TracedArray):
        return x
    found = np.array(x._value("the value"))
    return found if found.ndim else found[()]


def stop_gradient(x: T) -> T:
    """Return x as a constant: every derivative through it is zero. Works on arrays and pytrees of arrays.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda x: x * primad.stop_gradient(x))(3.0)
        np.float64(3.0)
    """
    return cast(T, tree.map(lambda leaf: ops.stop_gradient(leaf) if isinstance(leaf, TracedArray) else leaf, x))
