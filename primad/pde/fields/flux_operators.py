"""The divergence of a flux: of a function of unknowns, which is differentiated by the chain rule, or by a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.first_order import jvp
from primad.pde.fields.field_operators import Names, space
from primad.pde.fields.field_refusals import no_field
from primad.pde.fields.given_fields import GivenField
from primad.pde.fields.named_fields import FieldAt

Flux = Callable[..., Any]


class CellField(GivenField):
    """An unknown of a grid, to which the divergence of a flux is given as a whole.

    Attributes:
        name: of the unknown.
        divergence_of: a function of a flux and the names of its arguments, that returns what `flux_divergence` does.
    """

    def __init__(self, *given: Any, divergence_of: Callable[[Flux, tuple[str, ...]], Any]) -> None:
        super().__init__(*given)
        self.name: str = given[0]
        self.divergence_of = divergence_of


def flux_divergence(flux: Flux, *fields: FieldAt, wrt: Names = None) -> Any:
    """Return ∇·f(u) of a flux f, a function of unknowns: the term of a conservation law ∂u/∂t + ∇·f(u) = 0.

    A network's is found by the chain rule, f'(u) ∂u/∂x; finite volumes take the flux itself.

    Args:
        flux: a function of the values of the unknowns, and of nothing else that differs between points. Of one
            coordinate of space it returns the flux of the unknown, or a tuple with one for each; of several
            coordinates a tuple of these, one for each coordinate.
        *fields: the unknowns, fields at points.
        wrt: names of the coordinates of space; by default all but t.

    Returns:
        the divergence for the unknown; of several a tuple.

    Raises:
        ShapeError: if the flux returns another number of components, or arrays that do not belong to its arguments.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> u = pde.Field(lambda x, t: np.sin(x) + t, "x t")(0.5, 0.0)
        >>> print(f"{pde.flux_divergence(lambda u: u**2 / 2, u):.6f} {u.value * u.x:.6f}")
        0.420735 0.420735
    """
    for field in fields:
        if not isinstance(field, FieldAt):
            raise no_field(field, "flux_divergence")
    if not fields:
        raise TracingError("flux_divergence: it takes a flux and the unknowns", fix="write flux_divergence(flux, u).")
    if isinstance(fields[0], CellField):
        return fields[0].divergence_of(flux, tuple([field.name for field in fields if isinstance(field, CellField)]))
    names, values = space(fields[0], wrt), [field.value for field in fields]
    _check_alone(flux, values, len(names))
    total = [0.0] * len(fields)
    for axis, name in enumerate(names):

        def along(*values: Any, axis: int = axis) -> Any:
            return components(flux(*values), len(names), len(fields))[axis]

        _, slopes = jvp(along, tuple(values), tuple([field.d(name) for field in fields]))
        total = [one + slope for one, slope in zip(total, slopes, strict=True)]
    return total[0] if len(fields) == 1 else tuple(total)


def components(found: Any, axes: int, count: int) -> tuple[tuple[Any, ...], ...]:
    """Return what a flux returned as a tuple for each coordinate of a component for each unknown.

    Raises:
        ShapeError: if there are others.
    """
    rows = found if axes > 1 else (found,)
    if not isinstance(rows, (tuple, list)) or len(rows) != axes:
        raise ShapeError(
            f"a flux along {axes} coordinates has a part for each",
            fix="return a tuple: along x, along y.",
        )
    parts = [(row,) if count == 1 and not isinstance(row, (tuple, list)) else row for row in rows]
    if not all(isinstance(row, (tuple, list)) and len(row) == count for row in parts):
        raise ShapeError(
            f"a flux of {count} unknowns has as many components",
            fix="return a tuple with one for each of the unknowns, in their order.",
        )
    return tuple([tuple([_plain(one) for one in row]) for row in parts])


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, FieldAt) else x


def _check_alone(flux: Flux, values: Sequence[Any], axes: int) -> None:
    """Raise if a flux has arrays over points in it that are not its arguments: their derivatives would be missing."""
    if not pnp.ndim(values[0]) or not pnp.size(values[0]):
        return
    one = [pnp.reshape(value, (-1,))[:1] for value in values]
    for row in components(flux(*one), axes, len(values)):
        for part in row:
            if pnp.ndim(part) > 1 or pnp.size(part) != 1:
                raise ShapeError(
                    f"flux_divergence: of one point a flux returns an array of the shape {pnp.shape(part)}",
                    why="It asks for values at points (a coordinate, or another unknown) that are not its arguments: "
                    "their derivatives would be missing.",
                    fix="pass all unknowns as arguments: flux_divergence(flux, u, v); write what depends on "
                    "coordinates as further terms of the equation.",
                )


__all__ = ["flux_divergence"]
