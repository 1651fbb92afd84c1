"""Recording the function of a field at points, which must be a function of single points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from primad import numpy as pnp
from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.control.mapping import vmap
from primad.functional.derived_calls import Call
from primad.ir.walks import dependents
from primad.transforms.dimensions import couplings, result_axes
from primad.transforms.lowering import lower, without_calls

if TYPE_CHECKING:
    from primad.pde.fields.named_fields import Field


def recorded(field: Field, arguments: Sequence[Any]) -> Call:
    """Record a field's function at all points; refuse one that is no function of single points.

    Raises:
        ShapeError, NotDifferentiableError: if it is none.
    """
    call = Call(field.function if field.batched else vmap(field.function), arguments, known=False)
    types = call.program.out_types
    count = pnp.shape(arguments[0])[0]
    if len(types) != 1 or not 1 <= len(types[0].shape) - field.family <= 2 or types[0].shape[0] != count:
        found = ", ".join(str(type.shape if field.batched else type.shape[1:]) for type in types)
        raise ShapeError(
            f"{field!r}: the function has a result of shape {found} "
            + (f"for {count} points" if field.batched else "at a point"),
            why="A field is a number at each point, or an array of components.",
            fix="for a function that takes all points at once, say batched=True." if not field.batched else
            "return an array of a number, or of components, for each point.",
        )  # fmt: skip
    names = field.components
    if names and types[0].shape[1 + field.family :] != (len(names),):
        raise ShapeError(
            f"{field!r}: the function has a result of shape {types[0].shape[1:]} at a point",
            fix="return an array with a component for each name.",
        )
    if field.batched and count > 1:
        _check_apart(field, call)
    return call


def _check_apart(field: Field, call: Call) -> None:
    """Raise if the values at a point depend on other points."""
    program = lower(without_calls(call.program))
    chosen = [True] * len(program.inputs)
    axis, (output,) = result_axes(program, chosen)[0][0], program.outputs
    used = [place for place, node in enumerate(program.inputs) if output in dependents(program.nodes, [node])]
    if not axis.happens and all(axis.inputs.get(place) == 0 for place in used):
        return
    where = [(what, node) for what, node in couplings(program, chosen)]
    what, node = where[0] if where else ("mixes", program.outputs[0])
    raise NotDifferentiableError(
        f"{field!r}: the function couples points: {node.op.name} {what} them",
        why="A derivative by a coordinate is one at a single point: there, it would count the other points' changes.",
        fix="write the function for a single point, without batched=True; it is mapped over points.",
        where=program.lines.get(node),
    )
