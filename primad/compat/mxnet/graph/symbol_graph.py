"""The graph behind symbols and recorded arrays: nodes that apply operators to outputs of other nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from primad.compat.mxnet.imperative.operator_parameters import Settings
from primad.compat.mxnet.operators.record import Operator

HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")
"""Attributes that are kept under `__name__` and found under both names."""

_NOTHING = Settings({})


def stored(key: str) -> str:
    """Return the name under which an attribute is kept."""
    return f"__{key}__" if key in HIDDEN_KEYS else key


class Node:
    """A variable, or an operator applied to inputs.

    Attributes:
        operator: the operator's record, None for a variable.
        name: its name.
        attributes: the texts that MXNet keeps with it: the parameters as they were given, and the user's attributes.
        inputs: its inputs, auxiliary states included.
        settings: the values of the parameters.
    """

    __slots__ = ("attributes", "inputs", "name", "operator", "settings")

    def __init__(
        self,
        operator: Operator | None,
        name: str,
        attributes: dict[str, str],
        inputs: Sequence[Entry] = (),
        settings: Settings = _NOTHING,
    ) -> None:
        self.operator = operator
        self.name = name
        self.attributes = attributes
        self.inputs = tuple(inputs)
        self.settings = settings

    @property
    def output_count(self) -> int:
        """The number of outputs that can be used."""
        return 1 if self.operator is None else self.operator.output_count(self.settings)

    def output_name(self, index: int) -> str:
        """Return the name of an output."""
        if self.operator is None:
            return self.name
        hidden = self.operator.hidden_count(self.settings) if self.operator.numbered else 0
        number = str(index) if self.output_count + hidden > 1 else ""
        return f"{self.name}_{self.operator.suffix}{number}"

    def auxiliary_inputs(self) -> list[Node]:
        """Return the variables that are states of this operator, in the order of its record."""
        if self.operator is None or not self.operator.auxiliary:
            return []
        names = self.operator.input_names(self.settings, len(self.inputs))
        return [entry.node for name, entry in zip(names, self.inputs, strict=True) if name in self.operator.auxiliary]


class Entry(NamedTuple):
    """One output of a node."""

    node: Node
    index: int  # type: ignore[assignment]  # tuples have a method of this name, which nobody calls here


def topological(entries: Iterable[Entry]) -> list[Node]:
    """Return the nodes that entries depend on, inputs first, each where a depth-first walk leaves it."""
    found: dict[Node, None] = {}
    for entry in entries:
        stack: list[tuple[Node, int]] = [(entry.node, 0)]
        while stack:
            node, place = stack.pop()
            if node in found:
                continue
            if place < len(node.inputs):
                stack.append((node, place + 1))
                if node.inputs[place].node not in found:
                    stack.append((node.inputs[place].node, 0))
            else:
                found[node] = None
    return list(found)


def variables(nodes: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """Return the arguments and the auxiliary states among nodes, in order."""
    nodes = list(nodes)
    states = {state for node in nodes for state in node.auxiliary_inputs()}
    leaves = [node for node in nodes if node.operator is None]
    return [node for node in leaves if node not in states], [node for node in leaves if node in states]


def substitute(entries: Iterable[Entry], replaced: dict[Node, Entry]) -> list[Entry]:
    """Return the entries in a copy of their graph in which variables are replaced."""
    entries = list(entries)
    copies: dict[Node, Node] = {}

    def moved(entry: Entry) -> Entry:
        return replaced.get(entry.node) or Entry(copies[entry.node], entry.index)

    for node in topological(entries):
        if node not in replaced:
            inputs = [moved(entry) for entry in node.inputs]
            copies[node] = Node(node.operator, node.name, dict(node.attributes), inputs, node.settings)
    return [moved(entry) for entry in entries]
