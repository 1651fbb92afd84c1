"""How fields show themselves in notebooks: by a formula, where they have a short one."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import PrimadError
from primad.functional.control.mapping import vmap
from primad.ir.array_types import ArrayType
from primad.recording import tree
from primad.recording.tracing import trace
from primad.system.deferred import sympy

if TYPE_CHECKING:
    from primad.pde.fields.named_fields import Field, FieldAt


_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)\w+;")
"""What only HTML knows by name; pages are well-formed without."""


def mathml(formulas: list[Any]) -> list[str]:
    """Return formulas in MathML, an element for each."""
    written = [sympy.mathml(one, printer="presentation") for one in formulas]
    written = [_ENTITY.sub(lambda found: unescape(found[0]), one) for one in written]
    return [f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{one}</math>' for one in written]


def equations(field: Field) -> list[Any]:
    """Return u(x, t) = …, one for each component; nothing where there is no formula, or a long one."""
    from primad.symbolic.program_formulas import short_formulas  # loads when it is called, with SymPy

    symbols = {name: sympy.Symbol(name, real=True) for name in field.coordinates.names}
    groups = [(group,) if isinstance(group, str) else group for group in field.coordinates.arguments]
    given = [np.array([symbols[name] for name in group], object) for group in groups]
    single = [isinstance(group, str) for group in field.coordinates.arguments]

    def at_point(*arguments: Any) -> Any:
        return vmap(field.function)(*arguments) if not field.batched else field.function(*arguments)

    def flat(*arguments: Any) -> Any:
        return at_point(*[x if alone else x[None] for x, alone in zip(arguments, single, strict=True)])[0]

    try:
        found = short_formulas(trace(flat)(*[ArrayType(one.shape, np.float64) for one in given]), given)
    except PrimadError:
        return []
    leaves = [] if found is None else tree.leaves(found)
    if len(leaves) != 1:
        return []
    parts = list(leaves[0]) if np.ndim(leaves[0]) else leaves
    names = field.components or ([_name(field.function)] if len(parts) == 1 else [f"u_{i}" for i in range(len(parts))])
    point = [symbols[name] for name in field.coordinates.names]
    return [
        sympy.Eq(sympy.Function(name)(*point), part, evaluate=False) for name, part in zip(names, parts, strict=True)
    ]


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "u")
    return name if name.isidentifier() else "u"


def latex(field: Field) -> str | None:
    """Return a field's formulas in LaTeX, if it has short ones."""
    from primad.symbolic.program_formulas import LONGEST  # loads when it is called, with SymPy

    lines = [sympy.latex(one) for one in equations(field)]
    if not 0 < sum(map(len, lines)) <= LONGEST:
        return None
    inside = lines[0] if len(lines) == 1 else r"\begin{gathered} " + r" \\ ".join(lines) + r" \end{gathered}"
    return f"$\\displaystyle {inside}$"


def html(field: Field) -> str:
    """Return what a field is a function of, and its formulas, if it has short ones."""
    from primad.symbolic.program_formulas import LONGEST  # loads when it is called, with SymPy

    found = equations(field)
    short = sum(len(sympy.latex(one)) for one in found) <= LONGEST
    return f"<pre>{escape(repr(field))}</pre>" + ("".join(mathml(found)) if short else "")


def html_at(at: FieldAt, values: Any) -> str:
    """Return a field at points: how many, and the least and the greatest value.

    Args:
        at: the field at points.
        values: at the points; None where they are not known yet.
    """
    shape = ", ".join(map(str, at.shape_of_points))
    known = "" if values is None or not values.size else f", from {np.min(values):.6g} to {np.max(values):.6g}"
    return html(at.field) + f"<p>at points of shape ({shape}){known}</p>"
