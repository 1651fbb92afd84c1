"""What holds elsewhere than on the boundary: between materials, in the mean, in a part, before the start, at data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.fields.coordinate_names import coordinates as coordinate_names
from primad.pde.fields.problem_formulas import is_symbolic
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.point_arguments import numbers
from primad.pde.geometry.sampling import Points
from primad.pde.problem.conditions import Condition, Initial, Measured, Value, weight_of

__all__ = ["Data", "Integral", "Interface", "Past", "Within"]


class Interface(Condition):
    """Something is to be zero on the boundary of another domain that lies inside the problem's.

    Args:
        residual: a function of what it asks for by name, `n` (the normal, out of that domain) included.
        of: the other domain, with the same coordinates.
        on: the part of its boundary, or several; None for all.
        weight: of its mean square.
        name: what it is called in histories.

    Example:
        >>> from primad import pde
        >>> left = pde.Box(x=(0, 0.5), y=(0, 1))
        >>> jump = pde.Interface(lambda u, v: (u.value - v.value, u.x - 10 * v.x), of=left, on="x+")
    """

    kind = "interface condition"
    inside = True

    def __init__(
        self,
        residual: Callable[..., Any],
        of: Domain,
        on: str | Sequence[str] | None = None,
        *,
        weight: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(residual, on, weight=weight, name=name or "interface")
        self.of = of


class Integral(Condition):
    """An integral over the domain, or over a part of its boundary, has a given value.

    Args:
        integrand: a function of what it asks for by name, or an expression of SymPy.
        value: of the integral.
        on: the part of the boundary; None for the domain itself.
        weight: of the square of the difference.
        order: points for each coordinate.
        name: what it is called in histories.

    Example:
        >>> from primad import pde
        >>> normalised = pde.Integral(lambda u: u.value**2, 1.0)
    """

    kind = "integral"
    inside = True

    def __init__(
        self,
        integrand: Callable[..., Any],
        value: float,
        on: str | None = None,
        *,
        weight: float | None = None,
        order: int = 20,
        name: str | None = None,
    ) -> None:
        if not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
            raise ProblemError(
                f"the value of an integral must be a number, got {value!r}",
                fix="write pde.Integral(lambda u: u.value, 1.0); what is not known is a coefficient in the integrand.",
            )
        if order < 1:
            raise ProblemError(
                f"an integral needs at least one point, got order={order}",
                fix="leave `order` out, or ask for 20.",
            )
        super().__init__(integrand, on, weight=weight, name=name)
        self.value, self.order = float(value), order

    def points(self, domain: Domain) -> Points:
        """Return the points and weights of the sum that stands for the integral."""
        if self.on is None:
            return domain.quadrature(self.order)
        return domain.boundary_quadrature(self.on[0], self.order)


class Within:
    """An equation that holds in a part of the domain only, as in one of two materials.

    Args:
        domain: that part, with the coordinates of the problem.
        equation: a function that returns what is to be zero.
        weight: of its mean square.
    """

    def __init__(self, domain: Domain, equation: Callable[..., Any], *, weight: float | None = None) -> None:
        self.domain, self.equation = domain, equation
        self.weight = weight_of(weight, "the weight of an equation")


class Past(Initial):
    """Unknowns have given values at the start and before it, where delays ask for them: `Past(u=lambda t: np.cos(t))`.

    Equations ask by calling unknowns: `lambda u, t: u.t + u(t - 1)`.

    Args:
        hard: of the values at the start: True to insist on them by construction, False to fit them at points; None for
            what is possible.
        weight: of their mean square, where they are fitted.
        **values: a number, or a function of coordinates by name, for each unknown.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> def oscillator(u, t):
        ...     return u.t + u(t - np.pi / 2)
        >>> p = pde.Problem(oscillator, pde.Time(0, 2), pde.Past(u=lambda t: np.cos(t)), network=pde.MLP(8, 1))
        >>> bool(p.solve(steps=30, points=30, progress=False).error(u=lambda t: np.cos(t)) < 1e-3)
        True
    """

    def __init__(self, *unnamed: Any, hard: bool | None = None, weight: float | None = None, **values: Value) -> None:
        super().__init__(*unnamed, order=0, hard=hard, weight=weight, **values)


def computed(condition: Condition, domain: Domain) -> Condition:
    """Return a condition whose residual is a function, also where it is written in SymPy.

    Args:
        condition: any.
        domain: of the problem.
    """
    written = getattr(condition, "residual", None)
    if not is_symbolic(written):
        return condition
    found = copy(condition)
    found.residual = Equation(written, name=condition.name or condition.kind, coordinates=domain.names)
    return found


class Data(Measured):
    """Measured values at points: `Data(x=…, t=…, u=…)`, with arrays of one length.

    With a noise σ, the mean square of the differences, divided by σ, is χ² per value. For the network not to follow the
    noise rather than the equation, the weight of equations and fitted conditions is then 1/σ², unless it is stated: to
    miss an equation by σ everywhere costs as much as to miss all data by σ, whatever unit they are in.

    Args:
        table: columns by name, where it may be no argument's: `Data({"u.x": slopes}, x=x)` of measured derivatives.
        weight: of its mean square; by default 1.
        name: what it is called in histories.
        noise: standard deviation of the values, if it is known.
        **columns: all coordinates and at least one unknown, or derivative of one.

    Raises:
        ProblemError: if arrays have different lengths, are empty, or contain NaN.
    """

    kind = "data"

    def __init__(
        self,
        *table: Mapping[str, Any],
        weight: float | None = None,
        name: str | None = None,
        noise: float | None = None,
        **columns: Any,
    ) -> None:
        if len(table) == 1 and isinstance(table[0], Mapping):
            columns, table = {**table[0], **columns}, ()
        if table or not columns:
            what = "data need coordinates and values" + (" by their names" if table else "")
            raise ProblemError(what, fix="write Data(x=…, u=…); of points in rows, Data(x=points[:, 0], …, u=values).")
        found: dict[str, np.ndarray[Any, Any]] = {}
        for key, column in columns.items():
            if callable(column):
                raise ProblemError(
                    f"the data {key!r} are a function, and not measured values",
                    fix=f"pass what it is at the points, {key}=f(x); what is known everywhere is an equation, "
                    f"lambda {key}, x: {key}.value - f(x), or a condition at the boundary.",
                )
            array = numbers(column)
            if array.ndim != 1 or not array.size:
                raise ProblemError(
                    f"the data {key!r} are an array of one axis with numbers in it, got the shape {array.shape}",
                    fix=f"pass {key}.ravel(), and all other columns in the same order.",
                )
            bad = np.flatnonzero(~np.isfinite(array))
            if bad.size:
                raise ProblemError(
                    f"the data {key!r} are {array[bad[0]]} at place {bad[0]} ({bad.size} such)",
                    fix="leave these rows out: keep = np.isfinite(u), and x[keep], u[keep].",
                )
            found[key] = array
        lengths = {key: array.size for key, array in found.items()}
        if len(set(lengths.values())) > 1:
            raise ProblemError(
                "data columns have different lengths: " + ", ".join(f"{key} {n}" for key, n in lengths.items()),
                fix="for a grid, pass np.meshgrid(…) with every array raveled.",
            )
        self._told(found, weight, name, noise)

    def split(self, coordinates: Sequence[str], unknowns: Sequence[str]) -> tuple[Points, dict[str, Any]]:
        """Return the points, and the values by unknown, or by derivative of one, `u.x`.

        Raises:
            ProblemError: if a coordinate is missing, or a column is neither coordinate nor unknown.
            ShapeError: if a derivative is along no coordinate.
        """
        missing = [name for name in coordinates if name not in self.columns]
        if missing:
            raise ProblemError(f"the data lack the coordinate {missing[0]!r}", fix=f"pass {missing[0]}=… as well.")
        values = {name: column for name, column in self.columns.items() if name not in coordinates}
        for name in values:
            if name.partition(".")[0] not in unknowns:
                known = (*coordinates, *unknowns)
                raise ProblemError(
                    f"the data column {name!r} is neither a coordinate nor an unknown",
                    fix=suggestion(name, known) or f"there are {', '.join(known)}; derivatives are {{'u.x': …}}.",
                )
            coordinate_names(coordinates).split(name.partition(".")[2])
        if not values:
            raise ProblemError(
                f"the data have no values of {', '.join(unknowns)}",
                fix=f"pass {next(iter(unknowns))}=… as well.",
            )
        return Points(tuple(coordinates), np.stack([self.columns[name] for name in coordinates], axis=1)), values
