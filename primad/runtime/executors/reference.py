"""Running programs op by op, by a table from ops to functions: without buffers, kernels, tiles and threads.

With NumPy's definitions as the table this is the reference that all other ways to run a program are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.ir.node import INPUT, Leaf, leaf_value
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive
from primad.parallel.threads import single_threaded_blas
from primad.runtime.cost_model import Machine, Prediction, by_numpy
from primad.runtime.executors.executor import Executable, Executor, Options
from primad.runtime.failure import fail
from primad.runtime.plan.donation import settle
from primad.system.deferred import loaded
from primad.system.process import silently
from primad.transforms.lowering import without_calls

Table = Callable[[Primitive], Callable[..., Any]]
"""The function of each op: it takes the op's operands and params."""


def definition(op: Primitive) -> Callable[..., Any]:
    """Return an op's own definition."""
    function: Callable[..., Any] = loaded(op.numpy)
    return function


class TableExecutor(Executor):
    """Runs programs op by op.

    Args:
        name: of the executor.
        function_of: the function of each op.
    """

    def __init__(self, name: str, function_of: Table) -> None:
        self.name = name
        self.function_of = function_of

    def prepare(self, program: Program, options: Options) -> Executable:
        """Return what runs a program, with those that it calls: there are no tiles; donated memory is filled last."""
        return OpByOp(without_calls(program), self.function_of, options)


class OpByOp(Executable):
    """A program whose ops run one after the other, each value an array of its own."""

    def __init__(self, program: Program, function_of: Table, options: Options) -> None:
        self.program = program
        self._donated = options.donated
        leaves = [node for node in program.nodes if isinstance(node.op, Leaf) and node.op is not INPUT]
        self._leaves = {node: leaf_value(node) for node in leaves}
        self._steps = [(node, function_of(node.op)) for node in program.nodes if not isinstance(node.op, Leaf)]

    @property
    def peak_bytes(self) -> int:
        """Memory of all values, none of which is freed before the end."""
        return sum(node.type.nbytes for node, _ in self._steps if not node.op.memory.views)

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return "op by op"

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        return sum([by_numpy(node, machine.on_one_thread) for node, _ in self._steps], Prediction())

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs, on one thread, BLAS too: its sums depend on how many there are."""
        found: list[Any] = single_threaded_blas(lambda: silently(self._run, arguments))
        return found

    def _run(self, arguments: Sequence[Any]) -> list[Any]:
        values = {**self._leaves, **dict(zip(self.program.inputs, arguments, strict=True))}
        for node, function in self._steps:
            operands = [values[operand] for operand in node.inputs]
            try:
                values[node] = function(*operands, **dict(node.params))
            except Exception as error:
                fail(error, node, operands, self.program.lines)
        results = [np.array(values[node], node.type.dtype) for node in self.program.outputs]
        return settle([x if x.ndim else x[()] for x in results], arguments, self._donated)


EXECUTOR = TableExecutor("reference", definition)
