"""Symbols as JSON texts, in MXNet 1.9.1's own layout, which it reads and this module writes byte for byte."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from primad.compat.mxnet.errors import MXNetError, unsupported
from primad.compat.mxnet.graph.symbol_graph import Entry, Node, stored, topological
from primad.compat.mxnet.operators import TABLE

VERSION = 10901
"""The version of MXNet whose texts these are."""
_SHORT = 10
"""Lists of at most so many items go on one line."""


def to_json(entries: Sequence[Entry]) -> str:
    """Return the text of a graph."""
    nodes = topological(entries)
    number = {node: i for i, node in enumerate(nodes)}
    changes: Counter[Node] = Counter()
    rows, pointers = [], [0]
    for node in nodes:
        states = node.auxiliary_inputs()
        inputs = []
        for entry in node.inputs:
            if entry.node in states:
                changes[entry.node] += 1
            inputs.append(f"[{number[entry.node]}, {entry.index}, {changes[entry.node]}]")
        rows.append(_row(node, inputs))
        hidden = 0 if node.operator is None else node.operator.hidden_count(node.settings)
        pointers.append(pointers[-1] + node.output_count + hidden)
    arguments = [i for i, node in enumerate(nodes) if node.operator is None]
    heads = [f"[{number[entry.node]}, {entry.index}, 0]" for entry in entries]
    return (
        '{\n  "nodes": [\n    ' + ", \n    ".join(rows) + "\n  ], \n"
        f'  "arg_nodes": {_list(arguments, "  ")}, \n'
        f'  "node_row_ptr": {_list(pointers, "  ")}, \n'
        f'  "heads": {_list(heads, "  ")}, \n'
        f'  "attrs": {{"mxnet_version": ["int", {VERSION}]}}\n}}'
    )


def _row(node: Node, inputs: Sequence[str]) -> str:
    lines = [
        f'"op": {_string("null" if node.operator is None else node.operator.name)}',
        f'"name": {_string(node.name)}',
    ]
    pairs = [f"{_string(key)}: {_string(value)}" for key, value in sorted(node.attributes.items())]
    if len(pairs) == 1:
        lines.append(f'"attrs": {{{pairs[0]}}}')
    elif pairs:
        lines.append('"attrs": {\n        ' + ", \n        ".join(pairs) + "\n      }")
    lines.append(f'"inputs": {_list(inputs, "      ")}')
    return "{\n      " + ", \n      ".join(lines) + "\n    }"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(items: Sequence[Any], margin: str) -> str:
    """Write a list, a long one with one item a line."""
    if len(items) <= _SHORT:
        return "[" + ", ".join(map(str, items)) + "]"
    separator = f", \n{margin}  "
    return f"[\n{margin}  " + separator.join(map(str, items)) + f"\n{margin}]"


def from_json(text: str) -> list[Entry]:
    """Return the outputs of the graph that a text describes; texts of older versions are read too.

    Raises:
        MXNetError: if the text is no symbol, or uses an operator that does not exist here.
    """
    try:
        found = json.loads(text)
        rows, heads = found["nodes"], found["heads"]
    except (ValueError, KeyError, TypeError) as error:
        raise MXNetError(f"the text is not a symbol: {type(error).__name__}: {error}") from None
    nodes: list[Node] = []
    for row in rows:
        attributes = dict(row.get("attrs") or {**row.get("param", {}), **row.get("attr", {})})
        inputs = [Entry(nodes[place], index) for place, index, *_ in row["inputs"]]
        nodes.append(make_node(row["op"], row["name"], attributes, inputs))
    return [Entry(nodes[place], index) for place, index, *_ in heads]


def make_node(op: str, name: str, attributes: dict[str, str], inputs: Sequence[Entry]) -> Node:
    """Make a node from MXNet's name of its operator ('null' for a variable) and texts of its parameters."""
    attributes = {stored(key): value for key, value in attributes.items()}
    if op == "null":
        return Node(None, name, attributes)
    if op not in TABLE:
        raise MXNetError(str(unsupported("the symbol's operator table", op, TABLE)))
    operator = TABLE[op]
    return Node(operator, name, attributes, inputs, operator.settings(_parameters(attributes)))


def _parameters(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if not (key.startswith("__") and key.endswith("__"))}


def readable(entries: Sequence[Entry]) -> str:
    """Return a graph as a text for people."""
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={entry.node.name}({entry.index})" for i, entry in enumerate(entries)]
    for node in topological(entries):
        if node.operator is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.operator.name}, Name={node.name}", "Inputs:"]
        states = node.auxiliary_inputs()
        for i, (source, index) in enumerate(node.inputs):
            version = f" version={int(source in states)}" if source.operator is None else ""
            lines.append(f"\targ[{i}]={source.name}({index}){version}")
        if node.attributes:
            lines += ["Attrs:", *[f"\t{key}={value}" for key, value in sorted(node.attributes.items())]]
    return "\n".join(lines) + "\n"
