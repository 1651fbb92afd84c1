"""Completing the shapes and dtypes of a graph, from inputs to outputs and back, until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import Clash, Shape, known, unify
from primad.compat.mxnet.graph.symbol_graph import Entry, Node, topological, variables
from primad.compat.mxnet.imperative.operator_parameters import Settings, read_shape
from primad.compat.mxnet.operators.record import DType, Operator
from primad.errors import PrimadError
from primad.ir.array_types import ArrayType
from primad.recording.tracing import trace

_KEY = ArrayType((), np.int64)


def computed_types(operator: Operator, settings: Settings, types: list[ArrayType]) -> list[ArrayType]:
    """Return the types of an operator's outputs, by recording it."""

    def function(key: Any, *arrays: Any) -> Any:
        return operator.apply(settings, arrays, False, key)

    return trace(function)(_KEY, *types).out_types[: operator.output_count(settings)]


def infer_shapes(nodes: list[Node], given: Mapping[Node, Shape]) -> dict[Entry, Shape]:
    """Complete the shapes of all entries of a graph.

    Args:
        nodes: the graph, inputs first.
        given: what is known of variables.

    Raises:
        MXNetError: naming the operator whose shapes contradict each other.
    """
    shapes: dict[Entry, Shape] = {Entry(node, i): given.get(node) for node in nodes for i in range(node.output_count)}
    computed: dict[Node, tuple[Shape, ...]] = {}
    changed = True
    while changed:
        changed = False
        for node in [*nodes, *reversed(nodes)]:
            if node.operator is not None and _complete(node, node.operator, shapes, computed):
                changed = True
    return shapes


def _complete(
    node: Node, operator: Operator, shapes: dict[Entry, Shape], computed: dict[Node, tuple[Shape, ...]]
) -> bool:
    """Complete the shapes around one node; say whether anything was learnt."""
    results = [Entry(node, i) for i in range(node.output_count)]
    before = [shapes[entry] for entry in (*node.inputs, *results)]
    if all(map(known, before)) and node in computed:
        return False
    inputs, outputs = before[: len(node.inputs)], before[len(node.inputs) :]
    try:
        operator.shapes(node.settings, inputs, outputs)
        if all(map(known, inputs)) and node not in computed:
            types = [ArrayType(shape or (), np.float32) for shape in inputs]
            computed[node] = tuple([type.shape for type in computed_types(operator, node.settings, types)])
        for i, shape in enumerate(computed.get(node, ())):
            outputs[i] = unify(shape, outputs[i], f"{i}-th output")
    except Clash as error:
        raise MXNetError(f"Error in operator {node.name}: {error.what.replace('{node}', node.name)}") from None
    except PrimadError as error:
        raise MXNetError(f"Error in operator {node.name}: {error.what}") from None
    after = [*inputs, *outputs]
    for entry, shape in zip((*node.inputs, *results), after, strict=True):
        shapes[entry] = shape if shapes[entry] is None else unify(shapes[entry], shape)
    return [shapes[entry] for entry in (*node.inputs, *results)] != before


def infer_types(nodes: list[Node], given: Mapping[Node, DType]) -> dict[Entry, DType]:
    """Complete the dtypes of all entries of a graph; see `infer_shapes`."""
    types: dict[Entry, DType] = {Entry(node, i): given.get(node) for node in nodes for i in range(node.output_count)}
    changed = True
    while changed:
        changed = False
        for node in [*nodes, *reversed(nodes)]:
            if node.operator is not None and _complete_types(node, node.operator, types):
                changed = True
    return types


def _complete_types(node: Node, operator: Operator, types: dict[Entry, DType]) -> bool:
    """Complete the dtypes around one node; say whether anything was learnt."""
    entries = [*node.inputs, *[Entry(node, i) for i in range(node.output_count)]]
    before = [types[entry] for entry in entries]
    inputs, outputs = before[: len(node.inputs)], before[len(node.inputs) :]
    operator.types(node.settings, inputs, outputs)
    for place, (entry, dtype) in enumerate(zip(entries, [*inputs, *outputs], strict=True)):
        if types[entry] is None:
            types[entry] = dtype
        elif dtype is not None and dtype != types[entry]:
            kind = f"{place}-th input" if place < len(inputs) else f"{place - len(inputs)}-th output"
            raise MXNetError(
                f"Error in operator {node.name}: Incompatible attr in node {node.name} at {kind}: "
                f"expected {dtype}, got {types[entry]}"
            )
    return [types[entry] for entry in entries] != before


# -- what users ask ----------------------------------------------------------------------------------------------------


def shapes_around(
    entries: Sequence[Entry], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Shape], list[Shape], list[Shape]]:
    """Return the shapes of the arguments, outputs and states of a graph, from those of some arguments.

    Raises:
        ValueError, TypeError, MXNetError: see `Symbol.infer_shape`.
    """
    given: dict[Node, Shape] = {}
    nodes = topological(entries)
    for node in nodes:
        if node.operator is None and "__shape__" in node.attributes:
            given[node] = read_shape(node.attributes["__shape__"]) or None
    for node, shape in _by_variable("InferShape", nodes, args, kwargs).items():
        if shape is not None and not isinstance(shape, tuple):
            raise TypeError(f"Arguments need to be shapes (tuple), but '{node.name}' is {type(shape)}.")
        given[node] = shape or None
    shapes = infer_shapes(nodes, given)
    arguments, states = variables(nodes)
    return (
        [shapes[Entry(node, 0)] for node in arguments],
        [shapes[entry] for entry in entries],
        [shapes[Entry(node, 0)] for node in states],
    )


def types_around(
    entries: Sequence[Entry], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the dtypes of the arguments, outputs and states of a graph, as NumPy's scalar types."""
    nodes = topological(entries)
    given = {
        node: np.dtype(node.attributes["__dtype__"])
        for node in nodes
        if node.operator is None and "__dtype__" in node.attributes
    }
    for node, dtype in _by_variable("InferType", nodes, args, kwargs).items():
        if dtype is not None:
            given[node] = np.dtype(dtype)
    types = infer_types(nodes, given)
    arguments, states = variables(nodes)

    def listed(entries: Sequence[Entry]) -> list[Any]:
        return [None if (found := types[entry]) is None else found.type for entry in entries]

    return (
        listed([Entry(node, 0) for node in arguments]),
        listed(entries),
        listed([Entry(node, 0) for node in states]),
    )


def _by_variable(what: str, nodes: list[Node], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[Node, Any]:
    """Return what was said of variables, by place or by name."""
    if args and kwargs:
        raise ValueError("Can only specify known argument shapes either by positional or kwargs way.")
    arguments, states = variables(nodes)
    if args:
        return dict(zip(arguments, args, strict=False))
    names = {node.name for node in (*arguments, *states)}
    for name in kwargs:
        if name not in names:
            listed = "\n".join(f"\t[{i}]{node.name}" for i, node in enumerate(arguments))
            raise MXNetError(f"{what}Keyword argument name {name} not found.\nCandidate arguments:\n{listed}")
    return {node: kwargs[node.name] for node in (*arguments, *states) if node.name in kwargs}
