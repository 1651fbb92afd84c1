"""Programs as text; `primad.ir.parse` reads it back.

    program(x: float64[3]) {
      a: float64[3] = sin x
      b: float64[] = sum a axes=(0,)
      return b
    }

An operand is a name or a literal; a bare literal has the type of the first named operand, otherwise its type follows a
colon. Complex numbers are written by their parts, complex(0.0, 1.0). Params follow as name=value. Captured arrays of at
most 16 elements show their values. The results of an op that has several stand before it in their order
(`q: float64[3,2], r: float64[2,2] = qr a`), those that nothing uses as `_`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import shown_place
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, LITERAL, Node, literal_value

_SHOWN = 16
UNUSED = "_"
"""Stands for a result that nothing uses."""
RESERVED_NAMES = ("nan", "inf", "return", "True", "False", "None", "complex", UNUSED)
"""Words of program texts that cannot name a value."""


def render(program: Any, lines: bool = False, indent: str = "", name: str = "program") -> str:
    """Return the program as text.

    Args:
        program: the program.
        lines: append the user's `file:line` to each statement as a comment.
        indent: prefix of each line but the first.
        name: the first word.
    """
    names: dict[Node, str] = dict(zip(program.inputs, _unique(program.names), strict=True))
    fresh = variable_names(list(names.values()))
    out = [f"{name}({', '.join(f'{names[node]}: {node.type}' for node in program.inputs)}) {{"]
    for node in program.captured:
        names[node] = next(fresh)
        out.append(f"{indent}  {names[node]}: {node.type} = outer")
    parts = _parts(program) if program.trace.several else {}
    for node in program.nodes:
        if node.op is LITERAL or node in names:
            continue
        if node in parts:
            names.update((part, next(fresh)) for part in parts[node].values())
            result = ", ".join(_result_text(parts[node].get(i), names, type) for i, type in enumerate(node.type.types))
        else:
            names[node] = next(fresh)
            result = f"{names[node]}: {node.type}"
        if node.op is CAPTURED:
            text = "captured" + _array_text(node.params[0][1].array)
        else:
            held = node.op.programs.names
            text = " ".join(
                [node.op.name, *_operands(node, names)]
                + [f"{key}={_param_text(value, indent + '  ', key in held)}" for key, value in node.params]
            )
        where = f"  # {shown_place(program.lines[node])}" if lines and node in program.lines else ""
        out.append(f"{indent}  {result} = {text}{where}")
    results = [_literal_text(node, None) if node.op is LITERAL else names[node] for node in program.outputs]
    out.append(f"{indent}  return {', '.join(results)}".rstrip())
    out.append(f"{indent}}}")
    return "\n".join(out)


def _parts(program: Any) -> dict[Node, dict[int, Node]]:
    """Return the nodes of the results that are used, by their number, for each node that has several."""
    found: dict[Node, dict[int, Node]] = {}
    for node in program.nodes:
        if isinstance(node.type, TupleType):
            found[node] = {}
        elif node.inputs and node.inputs[0] in found:
            found[node.inputs[0]][node.params[0][1]] = node
    return found


def _result_text(node: Node | None, names: Mapping[Node, str], type: ArrayType) -> str:
    return f"{UNUSED if node is None else names[node]}: {type}"


def _unique(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        clean = re.sub(r"\W", "_", name) or "x"
        clean = clean if re.match(r"[A-Za-z_]", clean) and clean not in RESERVED_NAMES else f"x_{clean}"
        while clean in seen:
            seen[clean] += 1
            clean = f"{clean}_{seen[clean]}"
        seen[clean] = 0
        result.append(clean)
    return result


def _operands(node: Node, names: Mapping[Node, str]) -> list[str]:
    like = next((operand.type for operand in node.inputs if operand.op is not LITERAL), None)
    return [_literal_text(operand, like) if operand.op is LITERAL else names[operand] for operand in node.inputs]


def _literal_text(node: Node, like: ArrayType | None) -> str:
    value = number_text(literal_value(node))
    return value if node.type == like else f"{value}:{node.type}"


def is_shown(array: np.ndarray[Any, Any]) -> bool:
    """Say whether the text shows the values of a captured array."""
    return array.size <= _SHOWN


def _array_text(array: np.ndarray[Any, Any]) -> str:
    if not is_shown(array):
        return ""
    return " [" + ", ".join(map(number_text, array.ravel().tolist())) + "]"


def number_text(value: Any) -> str:
    """Return a number's text, which says all of its bits but those of NaN: a complex one by its parts."""
    return f"complex({value.real!r}, {value.imag!r})" if isinstance(value, complex) else repr(value)


def _param_text(value: Any, indent: str, is_program: bool = False) -> str:
    if is_program:
        return render(value.hoisted, indent=indent)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple):
        return (
            "("
            + "".join(_param_text(item, indent) + "," for item in value).removesuffix("," if len(value) > 1 else "")
            + ")"
        )
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f"<{getattr(value, 'name', None) or getattr(value, '__name__', type(value).__name__)}>"


def variable_names(taken: Sequence[str]) -> Iterator[str]:
    """Yield a, b, …, z, aa, ab, … without the names taken."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    avoid = {*taken, *RESERVED_NAMES}
    index = 0
    while True:
        name, rest = "", index
        while True:
            name = letters[rest % 26] + name
            rest = rest // 26 - 1
            if rest < 0:
                break
        index += 1
        if name not in avoid:
            yield name
