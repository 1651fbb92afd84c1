"""Plans: steps in order, each an op's NumPy definition or a native function; values are freed after their last use."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from primad.errors import PrimadError
from primad.ir.array_types import TupleType
from primad.ir.node import CAPTURED, Leaf, Node, leaf_value
from primad.ir.program import Program
from primad.parallel.threads import single_threaded_blas
from primad.runtime.executors.executor import Donated, Executable
from primad.runtime.failure import fail
from primad.runtime.loops.row_streams import KeptStreams, Streams, budget_of, streams_of
from primad.runtime.plan.barrier_order import late_order
from primad.runtime.plan.blocking import BLOCK_BYTES, in_blocks, piece_arguments
from primad.runtime.plan.buffers import (
    BUILT_IN,
    assign_buffers,
    before_reshapes,
    direct,
    last_uses,
    makes_new_array,
    peak_bytes,
    writes_into,
)
from primad.runtime.plan.donation import settle, written_into
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.runtime.plan.workspaces import SPARE_WORKSPACES, Workspace
from primad.system.deferred import loaded
from primad.system.machine import BLAS_THREADS_FLOPS, WORTHWHILE_BYTES
from primad.system.process import silently
from primad.system.quantities import several, size

if TYPE_CHECKING:
    from primad.runtime.cost_model import Machine, Prediction
    from primad.runtime.plan.native_calls import NativeCall

Step = tuple[Callable[..., Any] | None, tuple[int, ...], dict[str, Any], int, tuple[int, ...], int]


class Plan(Executable):
    """A lowered program, ready to run: slots for values, one step for each node, and buffers for what dies inside.

    Attributes:
        program: what it computes.
        donated: outputs that take the memory of inputs.
        memory: bytes that arrays may take at once, if that is limited.
        inner: how many of the outputs, the last ones, may be row streams.
        buffers: types of the buffers that the steps write into.

    Args:
        program: what it computes.
        fused: pointwise steps on at least so many elements run as native kernels where these can be built; 0 keeps
            every step's NumPy definition.
        donated: outputs that take the memory of inputs; one of another type is its input in another shape.
        units: what runs, in order, where that has been chosen.
        memory: bytes that arrays may take at once, if that is limited: what loops keep for others follows it.
        inner: how many of the outputs, the last ones, may be row streams.
    """

    _by_lines: Callable[[Sequence[Any]], list[Any]] | None = None
    _runs = 0

    def __init__(
        self,
        program: Program,
        fused: float = 0,
        donated: Donated = (),
        units: Sequence[Node | NativeStep] | None = None,
        memory: int | None = None,
        inner: int = 0,
    ) -> None:
        self.program = program
        slot: dict[Node, int] = {node: i for i, node in enumerate(program.inputs)}
        self._constants: list[tuple[int, Any]] = []
        steps: list[Node] = []
        for node in program.nodes:
            if node in slot:
                continue
            slot[node] = len(slot)
            if isinstance(node.op, Leaf):
                found = leaf_value(node)
                self._constants.append((slot[node], found if found.ndim or node.op is CAPTURED else found[()]))
            else:
                steps.append(node)
        self._size = len(slot)
        if units is None:
            steps = late_order(steps, program.outputs)
            units = _fused(steps, program.outputs, fused) if fused else steps
        self._units = units
        freed = last_uses(units, program.outputs)
        self.donated, self._into, self.memory, self.inner = donated, written_into(program, donated), memory, inner
        given = {place for _, place in donated}
        streams = streams_of(units, program.outputs, inner)
        assigned, taken = self._placed(units, Streams({}, set(), streams.partly), memory)
        if streams.values and (streams.nbytes if memory is None else self._peak_bytes) > budget_of(memory):
            assigned, taken = self._placed(units, streams, memory)
        self._calls = _native_calls(units, slot, assigned, taken)
        called = 0
        self._steps: list[Step] = []
        for unit in units:
            last = tuple([place for operand in freed.get(unit, ()) if (place := slot[operand]) not in given])
            if isinstance(unit, NativeStep):
                self._steps.append((None, (), {}, called, last, -1))
                called += 1
            else:
                operands = tuple([slot[operand] for operand in unit.inputs])
                place = assigned.get(unit, -2 - taken[unit] if unit in taken else -1)
                function = loaded(unit.op.numpy)
                if place == -1 and function in SCALAR_FUNCTIONS and not unit.type.shape and unit.type.is_float:
                    function = SCALAR_FUNCTIONS[function]
                params = {**dict(unit.params), **piece_arguments(unit), **wanted_of(unit, slot)}
                params |= self.streams.arguments(unit)
                large = _makes_more_than_its_result(unit) and unit.type.shape
                if large and unit.type.nbytes >= 2 * BLOCK_BYTES:
                    function = in_blocks(function, unit.type, unit.op.memory.out is not None)
                self._steps.append((function, operands, params, slot[unit], last, place))
        self._finish = _finish(program, slot, {*donated} - {*self._into}, {*taken, *streams.values})
        # An op that does not say what it costs multiplies no matrices.
        alone = [unit for unit in units if not isinstance(unit, NativeStep)]
        products = [node.op.cost(node).matmul_flops for node in alone if node.op.work.flops is not None]
        self._single_threaded = max(products, default=0) >= BLAS_THREADS_FLOPS
        self._spare: list[Workspace] = []

    def _placed(
        self, units: Sequence[Node | NativeStep], streams: Streams, memory: int | None
    ) -> tuple[dict[Node, int], dict[Node, int]]:
        """Choose the buffers, and the outputs that are computed right into donated memory."""
        outputs = self.program.outputs
        assigned, self.buffers = assign_buffers(units, outputs, streams.values)

        def is_new(node: Node) -> bool:
            return makes_new_array(node) and node not in streams.values

        taken = direct(self.program, units, writes_into, is_new, self._into) if self._into else {}
        others = peak_bytes(units, outputs, {*assigned, *taken}, self.buffers, streams.values)
        budget = max(0, budget_of(memory) - (0 if memory is None else others))
        self.streams = KeptStreams(streams.of, budget, memory, streams.partly)
        self._peak_bytes = others + self.streams.nbytes
        return assigned, taken

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most."""
        return self._peak_bytes

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, [unit.kernel for unit in self._units if isinstance(unit, NativeStep)]

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return "step by step, untiled"

    @property
    def details(self) -> list[str]:
        """What its steps are, and how those run that run programs."""
        nodes = [unit for unit in self._units if not isinstance(unit, NativeStep)]
        said = [(node, node.op.programs.runs) for node in nodes]
        how = [runs(node) + self.streams.in_words(node) for node, runs in said if runs is not None]
        return [self.steps, *dict.fromkeys(how)]

    @property
    def steps(self) -> str:
        """Its steps in words."""
        parts = sum(isinstance(unit, NativePart) for unit in self._units)
        kernels = sum(isinstance(unit, NativeStep) for unit in self._units) - parts
        products = sum(not isinstance(unit, NativeStep) and unit.op.cost(unit).matmul_flops > 0 for unit in self._units)
        counts = ((products, "matrix product"), (kernels, "kernel"), (parts, "native function"))
        kinds = [several(n, name) for n, name in counts if n]
        text = several(len(self._units), "step") + (f" ({', '.join(kinds)})" if kinds else "")
        if self.buffers:
            text += f", {several(len(self.buffers), 'buffer')} of {size(sum(type.nbytes for type in self.buffers))}"
        return text

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        from primad.runtime.cost_model import by_steps  # it asks what native code there is

        return by_steps(self._units, machine, self.streams.times)

    @property
    def units(self) -> Sequence[Node | NativeStep]:
        """What runs, in order; nodes by their ops' NumPy definitions, and groups of nodes as kernels."""
        return self._units

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs; each is an array of its own, sharing no memory with arguments or other outputs."""
        if self._by_lines is not None:
            try:
                return self._by_lines(arguments)
            except Exception:  # of which the steps say what it means
                return silently(self._run, arguments)
        if self._runs < 2:
            self._count_run()
        if self._single_threaded:
            found: list[Any] = single_threaded_blas(lambda: silently(self._run, arguments))
            return found
        return silently(self._run, arguments)

    def _is_short(self) -> bool:
        """Say whether its runs may be those of a function of Python's: few small values, and ops that are known."""
        nodes = self.program.nodes
        small = sum(node.type.nbytes for node in nodes) < WORTHWHILE_BYTES
        special = self.buffers or self._calls or self.donated or self.inner or self._single_threaded
        return small and not special and all(isinstance(x.op, Leaf) or x.op in BUILT_IN for x in nodes)

    def _count_run(self) -> None:
        """Make the function when the plan runs again: many gradients are taken once."""
        self._runs += 1
        if self._runs == 2 and self._is_short():
            from primad.runtime.plan.line_by_line import line_by_line

            units = [unit for unit in self._units if isinstance(unit, Node)]
            inputs = len(self.program.inputs)
            self._by_lines = line_by_line(units, self._steps, inputs, self._constants, self._finish)

    def _run(self, arguments: Sequence[Any]) -> list[Any]:
        values: list[Any] = [None] * self._size
        values[: len(arguments)] = arguments
        for index, constant in self._constants:
            values[index] = constant
        workspace = self._take_workspace()
        buffers = workspace.buffers
        try:
            for step in self._steps:
                function, operands, params, place, freed, buffer = step
                if function is None:
                    self._calls[place].run(values, workspace, place)
                elif buffer != -1:
                    out = buffers[buffer] if buffer >= 0 else arguments[-2 - buffer]
                    values[place] = function(*[values[i] for i in operands], out=out, **params)
                else:
                    values[place] = function(*[values[i] for i in operands], **params)
                for index in freed:
                    values[index] = None
        except Exception as error:
            self._fail(error, step, values)
        results = [
            dtype.type(values[index]) if scalar else values[index] if fresh else np.array(values[index], dtype)
            for index, dtype, scalar, fresh in self._finish
        ]
        if self.buffers or self._calls:
            SPARE_WORKSPACES.give(workspace, self._spare)
        return settle(results, arguments, self._into) if self._into else results

    def _fail(self, error: Exception, step: Step, values: Sequence[Any]) -> NoReturn:
        """Raise what an error of an op's own definition, or of memory, means."""
        if isinstance(error, PrimadError) and error.failure is not None:  # a native part has said it all
            raise error
        unit = next(unit for unit, known in zip(self._units, self._steps, strict=True) if known is step)
        node = unit.results[0] if isinstance(unit, NativeStep) else unit
        fail(error, node, [values[i] for i in step[1]], self.program.lines)

    def _take_workspace(self) -> Workspace:
        """Return buffers that no other run holds: those of an earlier run, or new ones."""
        if not self.buffers and not self._calls:
            return _NO_BUFFERS
        return SPARE_WORKSPACES.take(self._spare) or Workspace(self.buffers, self._calls)


def _fused(steps: Sequence[Node], outputs: Sequence[Node], smallest: float) -> Sequence[Node | NativeStep]:
    """Return steps with kernels in the place of groups of them; where none is large, nothing native is even loaded."""
    if all(node.type.size < smallest for node in steps):
        return steps
    from primad.runtime.plan.fusion import fuse

    return fuse(steps, outputs, smallest)


def _native_calls(
    units: Sequence[Node | NativeStep],
    slot: Mapping[Node, int],
    assigned: Mapping[Node, int],
    taken: Mapping[Node, int],
) -> list[NativeCall]:
    """Return the calls of the native functions among what runs."""
    native = [unit for unit in units if isinstance(unit, NativeStep)]
    if not native:
        return []
    from primad.runtime.plan.native_calls import Places, native_call

    places = Places(slot, assigned, taken)
    return [native_call(unit, places) for unit in native]


def _finish(
    program: Program, slot: Mapping[Node, int], handed: Iterable[tuple[int, int]], elsewhere: Container[Node]
) -> list[tuple[int, Any, bool, bool]]:
    """Return, for each output: its slot, its dtype, whether it is a scalar, and whether it is an array of its own.

    Another shape of an array that no other output has is one too. What is of half precision is converted, since SciPy's
    functions give wider numbers.

    Args:
        program: what is computed.
        slot: of each value.
        handed: which outputs are inputs in another shape that nothing else needs.
        elsewhere: values in memory that is not theirs alone.
    """
    seen: set[Node] = set()
    found, given = [], {output for output, _ in handed}
    for position, node in enumerate(program.outputs):
        owner = before_reshapes(node)
        own = makes_new_array(owner) and owner not in seen and (owner is node or owner not in elsewhere)
        own = own and owner.type.dtype != np.float16
        found.append((slot[node], node.type.dtype, not node.type.shape, own or position in given))
        seen.add(owner)
    return found


def wanted_of(node: Node, known: Iterable[Node]) -> dict[str, Any]:
    """Return the argument that tells an op with several results which are used, where it can save the others."""
    if not isinstance(node.type, TupleType) or not node.op.memory.wanted:
        return {}
    used = {other.params[0][1] for other in known if other.inputs and other.inputs[0] is node}
    return {"wanted": tuple([i in used for i in range(len(node.type.types))])}


_NO_BUFFERS = Workspace([], [])
SCALAR_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
}
"""Of NumPy's scalars the operators compute the same bits as its functions, ten times as fast."""


def _makes_more_than_its_result(node: Node) -> bool:
    """Say whether a pointwise op is computed in several steps, with an array for what lies between."""
    return node.op.axes.pointwise and node.op in BUILT_IN and not isinstance(loaded(node.op.numpy), np.ufunc)
