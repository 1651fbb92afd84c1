"""Recording a function of arrays as a Program: on the types of its arguments, or on their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from primad.errors import PrimadError, TracingError
from primad.ir.array_types import ArrayType, array_type
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import FLOAT64, INPUT, WEAK, Node, Trace, escaped
from primad.ir.program import Program
from primad.ir.replay import newest
from primad.parallel.shares import Share
from primad.recording import tree
from primad.recording.foreign import kind_of, refuse_foreign
from primad.recording.foreign_errors import explained
from primad.recording.refusals import Refusal
from primad.recording.traced_array import TracedArray, lift
from primad.system.tracebacks import entrance

RECORDING: ContextVar[Trace | None] = ContextVar("RECORDING", default=None)
"""The trace of the function that is being recorded, the innermost."""


def is_outermost() -> bool:
    """Say whether no function is being recorded, and all laws apply: what is recorded now, nothing outside changes."""
    return RECORDING.get() is None and not LEFT_OUT.get()


def type_of(value: Any) -> ArrayType:
    """Return the array type of an array, a number, a traced array, an ArrayType or a Share, which is of the whole.

    Raises:
        TracingError: for anything else, and for dtypes that are not supported.
    """
    if type(value) is np.ndarray:
        return array_type(value.shape, value.dtype)
    if type(value) is float or type(value) is np.float64:
        return array_type((), FLOAT64)
    if isinstance(value, ArrayType):
        return array_type(value.shape, value.dtype)
    if isinstance(value, TracedArray):
        return value.type
    refuse_foreign(value)
    if isinstance(value, Share):
        return value.type
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)) and not hasattr(value, "__array__"):
        words, fix = kind_of(value) or ("", "pass arrays, numbers, or trees of them.")
        raise TracingError(
            f"an argument of type {type(value).__name__} cannot be traced",
            why=words and f"It is {words}.",
            fix="pass float(x)." if type(value) is not type and hasattr(value, "__float__") else fix,
        )
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise TracingError(
            f"the integer {value} does not fit into 64 bits with a sign",
            why="A Python integer is an int64, which adopts the dtype of the arrays that it meets.",
            fix="pass np.uint64(…), or a float.",
        )
    array = np.asarray(value)
    return array_type(array.shape, array.dtype)


def plain_types(args: Sequence[Any]) -> tuple[tuple[ArrayType, ...], tuple[bool, ...]] | None:
    """Return the types of arguments, and which are weak, where all are NumPy's arrays or numbers, of floats."""
    types, weak = [], []
    for arg in args:
        if type(arg) is np.ndarray and arg.dtype.kind == "f" and arg.dtype.isnative:
            types.append(array_type(arg.shape, arg.dtype))
            weak.append(False)
        elif type(arg) is float:
            types.append(array_type((), FLOAT64))
            weak.append(True)
        else:
            return None
    return tuple(types), tuple(weak)


def is_weak(value: Any) -> bool:
    """Say whether a value is a Python number, which adopts the dtype of the arrays that it meets."""
    return type(value) is float or type(value) is int or type(value) is complex


def is_number(leaf: Any) -> bool:
    """Say whether an argument is a Python number, or was one where the function being recorded was called."""
    if type(leaf) is TracedArray:
        return leaf.node.op is INPUT and leaf.node.params == WEAK
    return is_weak(leaf)


def check_function(function: Any, what: str = "") -> None:
    """Raise unless a transform was given a function, as it is not in `grad(f(x))` for `grad(f)(x)`."""
    if not callable(function):
        raise TracingError(
            f"{what}expected a function, got "
            f"{'a traced array' if isinstance(function, TracedArray) else type(function).__name__}",
            fix="pass the function itself: f, not f(x).",
        )


ARGUMENTS = "arguments"
"""What a recording notes its arguments under, by what tells them from results, which may be of the same node: x·1."""


def record(
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    in_tree: Any,
    values: Sequence[Any] | None = None,
    evaluator: Callable[[Node], Any] | None = None,
    recording: bool = True,
    weak: Sequence[bool] | None = None,
    trace: Trace | None = None,
    earlier: Program | None = None,
) -> Program:
    """Record a function of positional arguments as a program.

    Args:
        function: what to record.
        types: types of the flattened arguments.
        in_tree: structure of the tuple of arguments.
        values: the values, where known; a TracedArray stands for the value of an outer trace.
        evaluator: computes a node's value on demand.
        recording: whether to note the user's lines.
        weak: which arguments are Python numbers, which adopt the dtype of the arrays that they meet; told from `values`
            where those are known.
        trace: where to record; by default a new trace.
        earlier: the program to return, with the results in their own tree, where the trace finds that it is the same.
    """
    check_function(function)
    origin = getattr(function, "__qualname__", type(function).__name__)
    if trace is None:
        trace = Trace(evaluator, recording)
    trace.origin = origin
    outer = RECORDING.set(trace)
    try:
        known = [None] * len(types) if values is None else values
        if weak is None:
            weak = [is_weak(value) for value in known]
        nodes = [trace.input(type, value, mark) for type, value, mark in zip(types, known, weak, strict=True)]
        trace.start(nodes)
        given = [TracedArray(node) for node in nodes]
        trace.noted[ARGUMENTS] = {id(x): x for x in given}
        args = tree.unflatten(in_tree, given)
        result = function(*args)
        leaves, out_tree = tree.flatten(result)
        outputs = [_output(leaf, trace) for leaf in leaves]
        refusal = trace.noted.get(Refusal)
        if refusal is not None and refusal.computing:
            raise refusal.caught()
        if trace.end(outputs) and earlier is not None:
            return earlier.returning(out_tree)
        names = partial(argument_names, function, in_tree)
        return Program(trace, nodes, outputs, in_tree, out_tree, names, origin)
    except PrimadError:
        raise
    except Exception as error:
        ours = explained(error, args, trace)
        if ours is None:
            raise
        raise ours.with_traceback(error.__traceback__) from None
    finally:
        RECORDING.reset(outer)
        trace.close()


def program_of(
    types: Sequence[ArrayType], body: Callable[..., Sequence[Any]], names: Sequence[str] | None = None
) -> Program:
    """Return the program that a function of traced arrays makes; what programs are built from other programs by.

    Args:
        types: types of its inputs.
        body: a function of the inputs that returns a list of outputs.
        names: names of the inputs.
    """
    trace = Trace()
    inputs = [trace.input(type) for type in types]
    outputs = body(*map(TracedArray, inputs))
    program = Program(trace, inputs, [lift(output, trace) for output in outputs], names=names)
    trace.close()
    return program


def call_rule(rule: Callable[..., Any], *args: Any) -> Any:
    """Call a rule of a user's own: arrays that it makes belong to the newest trace among its arguments'."""
    nodes = [leaf.node for leaf in tree.leaves(args) if isinstance(leaf, TracedArray)]
    if not nodes:
        return rule(*args)
    outer = RECORDING.set(newest(nodes, nodes[0].trace))
    try:
        return rule(*args)
    finally:
        RECORDING.reset(outer)


def call_outside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with plain arrays: arrays that it makes belong to no recording."""
    outer = RECORDING.set(None)
    try:
        return function(*args, **kwargs)
    finally:
        RECORDING.reset(outer)


def _output(leaf: Any, trace: Trace) -> Node:
    if isinstance(leaf, TracedArray):
        if leaf.node.trace.closed:
            raise escaped(leaf.node)
        return leaf.node
    if hasattr(leaf, "__traced__"):
        return lift(leaf.__traced__(), trace)
    if leaf is None or isinstance(leaf, str) or callable(leaf):
        raise TracingError(
            f"a traced function returned {type(leaf).__name__}, not an array or a tree of arrays",
            fix="return arrays, numbers, or dicts, lists and tuples of them.",
        )
    return lift(leaf, trace)


def trace(function: Callable[..., Any]) -> Callable[..., Program]:
    """Record a function as a `Program`, on arguments or on their types; nothing is computed.

    Args:
        function: a function of arrays (or of pytrees of arrays), or a Program.

    Returns:
        a function of example arguments (arrays, numbers, `ArrayType`s, trees of them) that returns the Program. Keyword
        arguments are further inputs, after the others.

    Raises:
        TracingError: where the function needs a value (`if x > 0`, `float(x)`), with the line; if it is no function.

    Example:
        >>> import numpy as np, primad
        >>> print(primad.trace(lambda x: np.sin(x) * 2.0)(primad.ArrayType((3,), float)))
        program(x: float64[3]) {
          a: float64[3] = sin x
          b: float64[3] = mul a 2.0
          return b
        }
    """
    check_function(function)

    @entrance
    def traced(*args: Any, **kwargs: Any) -> Program:
        of_all, given = positional(function, args, kwargs)
        leaves, in_tree = tree.flatten(given)
        return record(of_all, [type_of(leaf) for leaf in leaves], in_tree)

    return Shown(traced, "primad.trace of", function)


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of the positional parameters; none of functions that do not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


class Shown(partial):  # type: ignore[type-arg]  # which is called as fast as the function
    """A function that says what it is.

    Args:
        function: what it does.
        what: what that is, in words before the name of another function.
        of: the function that it was made of.
    """

    __qualname__: str
    _words: str

    def __new__(cls, function: Callable[..., Any], what: str, of: Callable[..., Any]) -> Shown:
        """Wrap a function, and keep its name and docstring."""
        self = super().__new__(cls, function)
        update_wrapper(self, function, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        self._words = f"<{what} {getattr(of, '__qualname__', None) or getattr(of, '__name__', type(of).__name__)}>"
        return self

    def __repr__(self) -> str:
        return self._words

    def __copy__(self) -> Shown:
        return self

    def __deepcopy__(self, memo: Any) -> Shown:
        return self

    def __reduce__(self) -> Any:
        return self.func.__qualname__  # as of any function: one that is defined inside another has no name to send


def positional(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function whose last positional arguments are those with names, and all the arguments."""
    if not kwargs:
        return function, args
    names = tuple(kwargs)

    def of_all(*given: Any) -> Any:
        return function(*given[: len(args)], **dict(zip(names, given[len(args) :], strict=True)))

    of_all.__name__ = getattr(function, "__name__", type(function).__name__)
    of_all.__qualname__ = getattr(function, "__qualname__", of_all.__name__)
    known = _parameters(function)
    first = [known[i] if i < len(known) else f"x{i}" for i in range(len(args))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    of_all.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in (*first, *names)])  # type: ignore[attr-defined]
    return of_all, (*args, *kwargs.values())


def argument_names(function: Callable[..., Any], in_tree: Any) -> list[str]:
    """Return readable names of the flattened arguments: the parameter's name, then the path inside it."""
    if isinstance(function, Program):
        return list(function.names) if function.in_tree in (None, in_tree) else []
    parameters = _parameters(function)
    paths = tree.paths(in_tree)
    alone = all(path[0] == 0 for path in paths)
    names = []
    for path in paths:
        head = parameters[path[0]] if path[0] < len(parameters) else "x" if alone else f"x{path[0]}"
        names.append("_".join([head, *(str(part) for part in path[1:])]))
    return names
