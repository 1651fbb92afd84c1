"""Running programs: a block becomes one primad function, which is compiled once for each set of fed types.

What a program reads and writes beyond one run (parameters, the state of optimisers) lives in a `Scope`. Operators that
draw random numbers get them from the host, as inputs of the compiled function: each run has fresh ones, and none is
compiled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions.creation import fill_constant_
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError, PreconditionError
from primad.compat.paddle.static.defaults import default_main_program
from primad.compat.paddle.static.inference import UNKNOWN
from primad.compat.paddle.static.operator import Operator, each
from primad.compat.paddle.static.program import Block, Program
from primad.compat.paddle.static.run.scope import Scope, global_scope
from primad.compat.paddle.static.variable import Variable
from primad.compat.tape import TapeValue
from primad.errors import ShapeError
from primad.functional.jit import jit
from primad.ir.array_types import ArrayType
from primad.ir.node import Trace
from primad.recording.traced_array import TracedArray


@dataclass(frozen=True)
class Lowered:
    """A block between what is fed and what is fetched.

    Attributes:
        reads: names that it takes from the scope.
        writes: names that it puts there.
        draws: operators that draw random numbers on the host, by the names of their draws.
        run: compiled function of (fed arrays, arrays read only, arrays read and overwritten, draws) that returns
            (arrays written, fetched arrays). What is written takes the memory of what is overwritten.
    """

    reads: list[str]
    writes: list[str]
    draws: dict[str, Operator]
    run: Any


def lower(block: Block, fed: Sequence[str], fetched: Sequence[str]) -> Lowered:
    """Make a block a function of arrays.

    Raises:
        PreconditionError: if a fetched variable is not in the block, or an operator uses one that is neither fed nor
            computed nor persistable.
    """
    for name in fetched:
        if name not in block.vars:
            raise PreconditionError(
                f"the variable {name!r} is to be fetched, but the program has no such variable",
                fix="it has " + ", ".join(block.vars) + ".",
            )
    operators = _needed(block, fetched)
    known = set(fed)
    reads: dict[str, None] = {}
    for op in operators:
        for name in op.input_arg_names:
            if name not in known:
                _check_readable(block.vars[name], op)
                reads[name] = None
        known.update(op.output_arg_names)
    for name in fetched:
        if name not in known:
            _check_readable(block.vars[name], None)
            reads[name] = None
    computed = dict.fromkeys(name for op in operators for name in op.output_arg_names)
    writes = [name for name in computed if block.vars[name].persistable]
    draws = {str(place): op for place, op in enumerate(operators) if op.prototype.draw is not None}

    def function(feed: Any, fixed: Any, held: Any, drawn: Any) -> Any:
        values = {**feed, **fixed, **held}
        trace = next((value.node.trace for value in values.values() if isinstance(value, TracedArray)), None)
        for place, op in enumerate(operators):
            run_operator(op, values, drawn.get(str(place)), trace)
        return {name: values[name] for name in writes}, [values[name] for name in fetched]

    function.__qualname__ = "a static program"
    return Lowered(list(reads), writes, draws, jit(function, donate=2))


def _needed(block: Block, fetched: Sequence[str]) -> list[Operator]:
    """Return the operators that what is fetched or kept depends on."""
    needed = set(fetched)
    operators = []
    for op in reversed(block.ops):
        if any(name in needed or block.vars[name].persistable for name in op.output_arg_names):
            operators.append(op)
            needed.update(op.input_arg_names)
    return operators[::-1]


def run_operator(op: Operator, values: dict[str, Any], drawn: Any, trace: Trace | None) -> None:
    """Compute an operator on values by name, and add its results to them.

    Args:
        op: the operator.
        values: arrays, or traced arrays where it is recorded.
        drawn: its random numbers, if it needs any.
        trace: where constants are recorded, so that the engine's laws see them; None computes them.

    Raises:
        InvalidArgumentError: if the operands do not fit; it names the user's line that appended the operator.
    """
    operands = [each(slot, values.__getitem__) for slot in op.slots]
    named = {name: op.attributes[name] for name in op.prototype.attributes}
    if op.prototype.draw is not None:
        operands.append(drawn)
    if trace is not None and op.prototype.compute is fill_constant_.compute:
        type = ArrayType(tuple(named["shape"]), named["dtype"])
        results: Any = TracedArray(trace.literal(named["value"], type))
    else:
        try:
            results = op.prototype.compute(*operands, **named)
        except ShapeError as error:
            types = ", ".join(f"{name} {list(values[name].shape)}" for name in op.input_arg_names)
            raise InvalidArgumentError(
                f"the operator {op.type} does not take {types}",
                why=f"{error.what}: lengths that the program leaves open do not fit as they were fed.",
                where=op.where,
            ) from error
    many = len(op.prototype.outputs) != 1
    for slot, result in zip(op.results, results if many else [results], strict=True):
        if isinstance(slot, str):
            values[slot] = result
        elif slot is not None:
            values.update({name: item for name, item in zip(slot, result, strict=True) if name is not None})


def _check_readable(variable: Variable, op: Operator | None) -> None:
    if variable.persistable:
        return
    user = f"operator {op.type} uses it" if op is not None else "it is fetched"
    raise PreconditionError(
        f"the variable {variable.name!r} has no value, and {user}",
        why="" if variable.is_data else "No earlier operator of the program computes it.",
        fix="give its value in Executor.run(feed=…)." if variable.is_data else "",
    )


def draw(prototype: Prototype, attributes: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """Draw the random numbers of an operator; a `seed` other than 0 among its attributes gives the same every time."""
    named = {name: attributes[name] for name in prototype.attributes}
    if named.get("seed"):
        rng = np.random.default_rng(named["seed"])
    assert prototype.draw is not None
    return prototype.draw(rng, **named)


class RunKey(NamedTuple):
    """What is compiled for a run of a program depends on: its version, what is fed, and what is fetched."""

    version: int
    fed: tuple[str, ...]
    fetched: tuple[str, ...]
    kind: str = "run"


class Executor:
    """Runs programs.

    Args:
        place: where to run; there is only the CPU.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 2])
        ...     exe = paddle.static.Executor()
        ...     exe.run(feed={"x": [[1.0, 2.0], [3.0, 4.0]]}, fetch_list=[x * 2.0, [x[0]]])
        [array([[2., 4.], [6., 8.]], dtype=float32), array([1., 2.], dtype=float32)]
    """

    def __init__(self, place: Any = None) -> None:
        self.place = place

    def close(self) -> None:
        """Do nothing: an executor holds nothing."""

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run a program.

        Args:
            program: what to run; the default main program by default.
            feed: arrays by the names of `data` variables.
            fetch_list: variables, names, or nested lists of them.
            feed_var_name: ignored.
            fetch_var_name: ignored.
            scope: where parameters live; the global scope by default.
            return_numpy: whether to return NumPy arrays; otherwise tensors.
            use_program_cache: ignored; a program is always compiled once for each set of fed types.
            use_prune: ignored; what is neither fetched nor kept is never computed.

        Returns:
            the fetched values, in order.

        Raises:
            ArgumentTypeError: if the arguments are of the wrong types.
            InvalidArgumentError: if a fed array has the wrong shape, or there is no such variable.
            PreconditionError: if something needed is neither fed nor initialised, or there is nothing to fetch.
        """
        program = default_main_program() if program is None else program
        if not isinstance(program, Program):
            raise ArgumentTypeError(f"Executor requires Program as its Parameter. But you passed in {type(program)}")
        if feed is not None and not isinstance(feed, Mapping):
            raise ArgumentTypeError(f"feed requires dict as its Parameter. But you passed in {type(feed)}")
        scope = global_scope() if scope is None else scope
        block = program.global_block()
        arrays = {name: _fed(block, name, value) for name, value in (feed or {}).items()}
        fetched = tuple(_fetch_names(fetch_list))
        key = RunKey(program.version, tuple(sorted(arrays)), fetched)
        lowered: Lowered = program.lowered.get(key, lambda: lower(block, sorted(arrays), fetched))
        for name in program.rates.keys() & lowered.reads:
            scope.values[name] = np.asarray(program.rates[name](), block.vars[name].dtype.numpy)
        state = {name: _stored(scope, name) for name in lowered.reads}
        rng = program.generator()
        drawn = {key: draw(op.prototype, op.attributes, rng) for key, op in lowered.draws.items()}
        held = {name: state.pop(name) for name in lowered.writes if name in state}
        written, results = lowered.run(arrays, state, held, drawn)
        kept = {name: np.require(value, requirements="W") for name, value in written.items()}
        scope.values.update(kept)
        values = [_apart(np.asarray(value), kept.values()) for value in results]
        return values if return_numpy else [Tensor(TapeValue(value)) for value in values]


def _fed(block: Block, name: str, value: Any) -> np.ndarray[Any, Any]:
    if name not in block.vars:
        raise InvalidArgumentError(f"feed has {name!r}, but the program has no such variable")
    variable = block.vars[name]
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype != variable.dtype.numpy:
        if not np.can_cast(array.dtype, variable.dtype.numpy, "same_kind"):
            raise InvalidArgumentError(
                f"The data type of fed Variable {name!r} must be {variable.dtype}, but received {array.dtype}"
            )
        array = array.astype(variable.dtype.numpy)
    expected = variable.shape
    fits = len(expected) == array.ndim and all(
        want in (UNKNOWN, length) for want, length in zip(expected, array.shape, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"The fed Variable {name!r} should have dimensions = {len(expected)}, shape = {expected}, "
            f"but received fed shape {list(array.shape)}"
        )
    return array


def _apart(value: np.ndarray[Any, Any], kept: Iterable[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return a value, copied if the next run would overwrite it."""
    return value.copy() if any(np.may_share_memory(value, array) for array in kept) else value


def _fetch_names(fetch: Any) -> Iterator[str]:
    if fetch is None:
        return
    if isinstance(fetch, str):
        yield fetch
    elif isinstance(fetch, Variable):
        yield fetch.name
    elif isinstance(fetch, (list, tuple)):
        for item in fetch:
            yield from _fetch_names(item)
    else:
        raise ArgumentTypeError(f"Required fetch_var shall be str|Variable, but received {type(fetch).__name__}")


def _stored(scope: Scope, name: str) -> np.ndarray[Any, Any]:
    if name not in scope.values:
        raise PreconditionError(
            f"the variable {name!r} holds no value in this scope",
            fix="run the startup program first: exe.run(paddle.static.default_startup_program()).",
        )
    return scope.values[name]
