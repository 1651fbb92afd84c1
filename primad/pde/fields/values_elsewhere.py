"""Fields at other points than those of an equation: delays, integrals, values at a given place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, ShapeError, suggestion
from primad.numpy.shapes.arranging import broadcast_arrays
from primad.numpy.shapes.creation import asarray
from primad.numpy.shapes.shaping import stack
from primad.pde.fields.integrals import quadrature
from primad.pde.geometry.containment import outside, place_of
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import clock, time_of
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.fields.named_fields import Field, FieldAt


class KnownPlaces:
    """Where an unknown of a problem may be asked, and what it is there.

    Args:
        domain: of the problem.
        names: of the unknowns.
        field: the unknowns, with what is known of them before the start.
        past: names of those of which this is known.
        periodic: the coordinates in which they repeat: a place beyond an end is one inside.
    """

    def __init__(
        self,
        domain: Domain,
        names: Sequence[str],
        field: Field,
        past: Sequence[str] = (),
        periodic: Collection[str] = (),
    ) -> None:
        self.domain, self.names, self.field, self.past = domain, tuple(names), field, tuple(past)
        self.periodic = periodic

    def returned(self, name: str, value: Any) -> Any:
        """Return a value of a coordinate, from beyond the ends of one in which the unknowns repeat to between them."""
        if name not in self.periodic:
            return value
        low, high = self.domain.bounds[self.domain.names.index(name)]
        return low + np.remainder(value - low, high - low)

    def check(self, name: str, at: Any) -> None:
        """Raise for points outside of the domain; before the start an unknown is known if it has a past.

        Raises:
            ProblemError: if one is.
        """
        inside = np.array(at)
        time = time_of(self.domain)
        if time is not None and name in self.past:
            column = self.domain.names.index(time)
            inside[:, column] = np.maximum(inside[:, column], clock(self.domain).low)
        found = outside(self.domain, inside)
        if not found.size:
            return
        point = at[found[0]]
        early = time is not None and point[self.domain.names.index(time)] < clock(self.domain).low
        fix = (
            f"say what {name} was: pde.Past({name}=lambda {time}: …) in the place of pde.Initial, or a number in it."
            if early and name not in self.past
            else "keep the limits of integrals and the places of values inside, or make the domain larger."
        )
        raise ProblemError(
            f"{name} is asked outside of the domain, at {place_of(self.domain, point)}",
            why=f"An integral or a delay leads there, and the equations hold in {self.domain!r}: nothing tells what "
            f"{name} is outside.",
            fix=fix,
        )


def elsewhere(at: FieldAt, arguments: Sequence[Any], named: Mapping[str, Any]) -> FieldAt:
    """Return a field, or a component of one, at other points.

    Args:
        at: the field at points.
        arguments: all coordinates in order, or none.
        named: coordinates by name; those that are not there stay as they are.

    Raises:
        ShapeError: for other arguments, or points of several axes in an integral.
        ProblemError: if it is an unknown of a problem, and a point lies outside of the domain.
    """
    names = at.field.coordinates.names
    columns = columns_elsewhere(at, arguments, named)
    how = quadrature()
    how.places += 1
    if how.depth and len(at.shape_of_points) > 1:
        raise ShapeError(
            f"a field at points of shape {at.shape_of_points} is integrated",
            why="The points of an integral are one axis, behind that of its nodes.",
            fix="take points along one axis: np.ravel.",
        )
    known = at.field.places
    if known is not None:
        columns = {name: known.returned(name, column) for name, column in columns.items()}
    points = stack(broadcast_arrays(*[asarray(columns[name]) for name in names]), axis=-1)
    if known is not None and not is_traced(points):
        known.check(known.names[at.component or 0], np.reshape(points, (-1, len(names))))
    found = (at.field if known is None else known.field).on(points)
    at.asked.add(())
    return found if at.component is None else found[at.component]


def columns_elsewhere(at: FieldAt, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return all coordinates of the other points by name.

    Raises:
        ShapeError: for other arguments than coordinates.
    """
    names = at.field.coordinates.names
    first = names[0]
    if arguments and (len(arguments) != len(names) or named):
        raise ShapeError(
            f"an unknown elsewhere is one of {', '.join(names)}, got {len(arguments)} without a name"
            + (f" and {', '.join(named)}" if named else ""),
            fix=f"write u({', '.join(names)}) with all of them, or those that change by name: u({first}={first} / 2).",
        )
    for name in named:
        if name not in names:
            raise ShapeError(
                f"{name!r} is no coordinate of the field",
                why=f"The coordinates are {', '.join(names)}.",
                fix=suggestion(name, names) or f"write u({first}={first} / 2).",
            )
    if not arguments and not named:
        raise ShapeError(
            "a field at points is called without a place", fix=f"write u itself, or u({first}={first} / 2) elsewhere."
        )
    given = {**dict(zip(names, arguments, strict=False)), **named}
    return {name: given[name] if name in given else at.coordinate(name) for name in names}
