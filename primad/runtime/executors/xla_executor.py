"""Programs as functions of JAX's arrays, and the executor that has XLA compile them for the device that JAX chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.ir.array_types import TupleType
from primad.ir.node import INPUT, Leaf, Node, leaf_value
from primad.ir.program import ClosedProgram, Program
from primad.runtime.cost_model import Machine, Prediction, by_numpy
from primad.runtime.executors.executor import Executable, Executor, Options
from primad.runtime.executors.reference import OpByOp, definition
from primad.runtime.failure import nearest_line
from primad.runtime.plan.donation import settle
from primad.xla.jax_functions import failures, functions, jax_module, narrow
from primad.xla.jax_loops import LOOPS


class XlaExecutor(Executor):
    """Runs programs by XLA, in 64 bits whatever JAX is set to."""

    name = "jax"

    def prepare(self, program: Program, options: Options) -> Executable:
        """Compile a program."""
        return _Compiled(program, options)


EXECUTOR = XlaExecutor()


class _Compiled(Executable):
    """A program that XLA compiled for one device."""

    def __init__(self, program: Program, options: Options) -> None:
        jax = jax_module()
        self.program = program
        self._donated = options.donated
        types = [jax.ShapeDtypeStruct(type.shape, type.dtype) for type in program.in_types]
        with jax.enable_x64(True):
            self._run = jax.jit(as_jax(program)).lower(*types).compile()
        self._jax = jax
        self._device = jax.devices()[0].platform

    @property
    def peak_bytes(self) -> int:
        """Memory of results and of what XLA keeps meanwhile."""
        analysis = self._run.memory_analysis()
        return int(analysis.temp_size_in_bytes + analysis.output_size_in_bytes)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs; XLA's code is not counted."""
        return (self.program,)

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return f"one function, compiled by XLA for its device {self._device!r}"

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes on one thread of the CPU, if nothing were fused."""
        nodes = [node for node in self.program.nodes if not isinstance(node.op, Leaf)]
        return sum([by_numpy(node, machine.on_one_thread) for node in nodes], Prediction())

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs.

        Raises:
            PrimadError: where an op met a value for which it has none, as every executor does.
        """
        types = self.program.in_types
        with self._jax.enable_x64(True):
            found, failed = self._run(*[np.asarray(x, type.dtype) for x, type in zip(arguments, types, strict=True)])
            if failed:
                OpByOp(self.program, definition, Options()).run(arguments)  # raises, and names op, place and line
            results = [np.array(x, type.dtype) for x, type in zip(found, self.program.out_types, strict=True)]
        return settle([x if x.ndim else x[()] for x in results], arguments, self._donated)


# -- programs as functions ---------------------------------------------------------------------------------------------


def as_jax(program: Program) -> Callable[..., tuple[list[Any], Any]]:
    """Return a function of JAX's arrays, one for each input.

    It returns the outputs, and whether an op met a value for which it has none.

    Raises:
        TracingError: if JAX is not installed, and for an op that has no function here, with the user's line.
    """
    jax = jax_module()
    table = functions()
    calls = {of: jax.jit(as_jax(of.hoisted)) for of in map(_called, program.nodes) if of is not None}
    for node in program.nodes:
        if not isinstance(node.op, Leaf) and node.op.name not in table and _called(node) is None:
            raise TracingError(
                f"{node.op.name}: JAX has no function for this op",
                why="It is called back in Python, or is a primitive of your own, known by its NumPy function only.",
                fix="define it as a composite of NumPy's functions, or run it by the native backend.",
                where=nearest_line(program.lines, node),
            )

    def run(*arguments: Any) -> tuple[list[Any], Any]:
        values: dict[Node, Any] = dict(zip(program.inputs, arguments, strict=True))
        failed: list[Any] = []
        for node in program.nodes:
            if node.op is INPUT:
                continue
            if isinstance(node.op, Leaf):
                values[node] = _constant(node)
            else:
                values[node] = _applied(node, calls, [values[operand] for operand in node.inputs], failed)
        return [values[node] for node in program.outputs], _any(failed)

    return run


def _called(node: Node) -> ClosedProgram | None:
    """Return the program that an op calls, if it is such an op."""
    if isinstance(node.op, Leaf) or node.op.kind != "program":
        return None
    found: ClosedProgram = dict(node.params)["of"]
    return found


def _constant(node: Node) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(np.asarray(leaf_value(node), node.type.dtype), narrow(node.type.dtype))


def _applied(
    node: Node, calls: Mapping[ClosedProgram, Callable[..., Any]], operands: Sequence[Any], failed: list[Any]
) -> Any:
    of, params = _called(node), dict(node.params)
    if of is not None:
        loop = LOOPS.get(node.op.name)
        found, bad = calls[of](*operands) if loop is None else loop(calls[of], operands, of.out_types, **params)
        failed.append(bad)
        return tuple(found) if isinstance(node.type, TupleType) else found[0]
    check = failures().get(node.op.name)
    if check is not None:
        failed.append(check(*operands, **params))
    return functions()[node.op.name](*operands, **params)


def _any(flags: Sequence[Any]) -> Any:
    import jax.numpy as jnp

    found = jnp.array(False)
    for flag in flags:
        found = found | flag
    return found


_DOUBLE = frozenset({np.dtype(np.float64), np.dtype(np.complex128)})


def needs_double(program: Program) -> str | None:
    """Say why a program cannot run where JAX is set to 32 bits; None if it can."""
    for node in program.nodes:
        types = node.type.types if isinstance(node.type, TupleType) else (node.type,)
        if not {type.dtype for type in types}.isdisjoint(_DOUBLE):
            return f"{'an argument' if node.op is INPUT else f'a value of the op {node.op.name}'} is {node.type}"
    return None


def check_precision(program: Program) -> None:
    """Raise if a program has numbers of 64 bits where JAX is set to 32.

    Raises:
        TracingError: naming the argument or op, or a constant that has integers beyond 32 bits.
    """
    check_integers(program.source_values)
    reason = None if jax_module().config.jax_enable_x64 else needs_double(program)
    if reason is not None:
        raise TracingError(
            f"to_jax: {reason}, and JAX is set to 32 bits",
            why="It would round every number to 32 bits without a word.",
            fix='call jax.config.update("jax_enable_x64", True) at the start, or pass arrays of float32 or complex64.',
        )


def check_integers(values: Iterable[Any]) -> None:
    """Raise if an array of NumPy's has integers that JAX does not, where it is set to 32 bits.

    Raises:
        TracingError: with one of them.
    """
    if jax_module().config.jax_enable_x64:
        return
    for value in values:
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iu":
            given = np.asarray(value)
            lost = given[given != given.astype(f"{given.dtype.kind}{min(4, given.dtype.itemsize)}")]
            if lost.size:
                raise TracingError(
                    f"to_jax: {lost.flat[0]} is an integer of more than 32 bits, and JAX is set to 32 bits",
                    why="It would drop the upper bits without a word.",
                    fix='call jax.config.update("jax_enable_x64", True) at the start, or pass smaller integers.',
                )
