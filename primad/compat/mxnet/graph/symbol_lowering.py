"""From graphs to primad programs: one for the values, two for the gradients.

Loss heads send back what MXNet says instead of their derivative. Their gradients come from a surrogate objective,

    J  =  Σ over loss heads n  ⟨override_n, data_n⟩  +  Σ over outputs i  ⟨head_i, out_i⟩,

in which the output of every loss head is a constant. The gradient of J is a plain pullback, with the overrides and the
heads as cotangents, so no rule of the engine is bent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import Shape, known, written
from primad.compat.mxnet.graph.symbol_graph import Entry, Node, topological
from primad.compat.mxnet.imperative.operator_parameters import Settings
from primad.functional.derivatives.first_order import vjp
from primad.functional.recorded_values import stop_gradient
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.program import ClosedProgram, Program
from primad.recording import tree
from primad.recording.tracing import record
from primad.runtime.calling import executable_of
from primad.runtime.executors.dispatch import prepared_parts
from primad.simplify import simplify
from primad.transforms.lowering import lower
from primad.transforms.partial_eval import split


@dataclass(frozen=True)
class Evaluation:
    """What one pass over a graph gives.

    Attributes:
        outputs: values of the graph's entries.
        states: new values of the auxiliary states.
        loss_data: the first input of each loss head, in the graph's order.
        overrides: the gradient that each of them gets.
    """

    outputs: list[Any]
    states: list[Any]
    loss_data: list[Any]
    overrides: list[Any]


class Graph:
    """What an executor evaluates.

    Attributes:
        entries: the outputs.
        nodes: all nodes, inputs first.
        arguments: the variables that are arguments.
        states: the variables that are auxiliary states.
        random: the nodes that draw random numbers.
        losses: the nodes whose gradient is an override.
        checked: whether an operator refuses some values.
    """

    def __init__(self, entries: Sequence[Entry], arguments: Sequence[Node], states: Sequence[Node]) -> None:
        self.entries = list(entries)
        self.nodes = topological(entries)
        self.arguments = list(arguments)
        self.states = list(states)
        self.random = [node for node in self.nodes if node.operator is not None and node.operator.key]
        self.losses = [node for node in self.nodes if node.operator is not None and node.operator.override is not None]
        self.checked = any(node.operator is not None and node.operator.check is not None for node in self.nodes)
        self._completed: dict[Node, Settings] = {}

    def complete(self, shapes: Mapping[Entry, Shape]) -> None:
        """Note the shapes of arrays that are made from nothing, where they were inferred.

        Raises:
            MXNetError: for one that is not known.
        """
        for node in self.nodes:
            if node.operator is not None and "shape" in node.operator.parameters and not node.inputs:
                shape = shapes[Entry(node, 0)]
                if not known(shape):
                    raise MXNetError(
                        f"the shape of {node.name} is not known: {written(shape)}",
                        fix="give it whole, or use the array where an operator says what it must be.",
                    )
                if shape != node.settings.shape:
                    self._completed[node] = node.settings.replaced(shape=shape)

    @property
    def key_type(self) -> ArrayType:
        """Type of the keys, one for each node that draws random numbers."""
        return ArrayType((len(self.random),), np.int64)

    def evaluate(
        self,
        values: Sequence[Any],
        keys: Any,
        training: bool,
        watch: Callable[[Node, Sequence[Any], Any], None] | None = None,
    ) -> Evaluation:
        """Compute the graph on arrays, which may be traced.

        Args:
            values: of the arguments, then of the states.
            keys: one for each node that draws random numbers.
            training: whether states follow and dropout drops.
            watch: called with each node, its inputs and its outputs.
        """
        known = {Entry(node, 0): value for node, value in zip((*self.arguments, *self.states), values, strict=True)}
        states = {node: known[Entry(node, 0)] for node in self.states}
        loss_data, overrides = [], []
        for node in self.nodes:
            operator = node.operator
            if operator is None:
                continue
            inputs = [known[entry] for entry in node.inputs]
            key = keys[self.random.index(node)] if operator.key else None
            results = operator.apply(self._completed.get(node, node.settings), inputs, training, key)
            count = operator.output_count(node.settings)
            states.update(zip(node.auxiliary_inputs(), results[count:], strict=True))
            results = results[:count]
            if operator.override is not None:
                loss_data.append(inputs[0])
                overrides.append(operator.override(node.settings, inputs, results))
                results = tuple([stop_gradient(result) for result in results])
            if watch is not None:
                watch(node, inputs, results)
            known.update({Entry(node, i): result for i, result in enumerate(results)})
        return Evaluation([known[entry] for entry in self.entries], list(states.values()), loss_data, overrides)


def _record(function: Callable[..., Any], types: Sequence[ArrayType]) -> Program:
    return record(function, types, tree.flatten(tuple(types))[1])


class ForwardPlan:
    """The values of a graph, planned for given types."""

    def __init__(self, graph: Graph, types: Sequence[ArrayType], training: bool) -> None:
        program = _record(
            lambda *values: graph.evaluate(values[:-1], values[-1], training).outputs, [*types, graph.key_type]
        )
        self._executable = executable_of(program)
        self._sources = program.source_values

    def run(self, values: Sequence[Any], keys: Any) -> list[Any]:
        """Return the outputs."""
        return self._executable.run([*values, keys, *self._sources])


@dataclass(frozen=True)
class Linearized:
    """What the first half of a gradient leaves for the second.

    Attributes:
        outputs: values of the graph's entries.
        states: new values of the auxiliary states.
        overrides: what the loss heads send back.
        residuals: the values that the second half needs.
    """

    outputs: list[Any]
    states: list[Any]
    overrides: list[Any]
    residuals: list[Any]


class GradientKey(NamedTuple):
    """What the gradient of a graph depends on: its program, and how many of its inputs and results come when."""

    of: Key
    everything: int
    late: int
    early: int
    kind: str = "gradient of a graph"


class GradientPlan:
    """The values of a graph and its gradients, planned for given types in two halves: before and after the heads.

    Args:
        graph: what is differentiated.
        types: of the arguments, then of the states.
        active: which arguments get a gradient.
        training: as in `Graph.evaluate`.

    Attributes:
        needs_head: for each output, whether a gradient depends on its head.
    """

    def __init__(self, graph: Graph, types: Sequence[ArrayType], active: Sequence[bool], training: bool) -> None:
        everything = [*types, graph.key_type]
        primal = _record(lambda *values: _heads_of(graph.evaluate(values[:-1], values[-1], training)), everything)
        late = primal.out_types
        chosen = [i for i, on in enumerate(active) if on]
        count = len(graph.entries)

        def gradient(*operands: Any) -> Any:
            values, cotangents = list(operands[: len(everything)]), list(operands[len(everything) :])

            def surrogate(*arguments: Any) -> Any:
                for place, argument in zip(chosen, arguments, strict=True):
                    values[place] = argument
                found = graph.evaluate(values[:-1], values[-1], training)
                known = [*found.outputs, *found.states, *found.overrides]
                return _heads_of(found), stop_gradient(known)  # constants, or they would be differentiated too

            _, pullback, known = vjp(surrogate, *[values[place] for place in chosen], has_aux=True)
            return known, pullback(cotangents)

        program = _record(gradient, [*everything, *late])
        self._early_count = len(program.outputs) - len(chosen)
        self._sources = program.source_values
        self._counts = (count, count + len(graph.states), self._early_count)
        of = ClosedProgram(program)
        self._early, self._rest = prepared_parts(
            GradientKey(of.key, len(everything), len(late), self._early_count),
            lambda: _halves(of, len(everything), len(late), self._early_count),
        )
        rest = self._rest.program
        used = set(rest.nodes)
        self.needs_head = tuple([node in used for node in rest.inputs[len(rest.inputs) - len(late) :][:count]])

    def linearize(self, values: Sequence[Any], keys: Any) -> Linearized:
        """Compute what does not depend on the heads."""
        results = self._early.run([*values, keys, *self._sources])
        first, second, third = self._counts
        return Linearized(results[:first], results[first:second], results[second:third], results[third:])

    def pull_back(self, point: Linearized, heads: Sequence[Any]) -> list[Any]:
        """Return the gradients of the active arguments for given heads."""
        found: list[Any] = self._rest.run([*point.residuals, *heads, *point.overrides])
        return found


def _heads_of(found: Evaluation) -> list[Any]:
    """Return what takes cotangents: the outputs, and the data of the loss heads."""
    return [*found.outputs, *found.loss_data]


def _halves(of: ClosedProgram, values: int, late: int, early_outputs: int) -> tuple[Program, Program]:
    """Return what does not depend on the heads, and the rest."""
    program = simplify(lower(of.hoisted))
    late_inputs = [values <= i < values + late for i in range(len(program.inputs))]
    return split(program, late_inputs, [i >= early_outputs for i in range(len(program.outputs))])
