"""Solutions that are known for some functions of a family: measured, or computed by another method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.families.family import OF_EACH, Family, key
from primad.pde.geometry.point_arguments import numbers
from primad.pde.geometry.sampling import Array, generator
from primad.pde.problem.conditions import Measured

__all__ = ["FamilyData"]


class FamilyData(Measured):
    """Values of solutions for known input functions: `FamilyData(x=…, t=…, v=functions, u=values)`.

    All solutions are known at the same points. An operator is learned from data alone where the problem has no
    equation, `Problem([], domain, pde.FamilyData(…), …)`; beside an equation, whose functions are drawn, data of few
    functions help. L. Lu, P. Jin, G. Pang, Z. Zhang & G. Karniadakis, Nature Machine Intelligence 3 (2021) 218.

    Args:
        count: how many of the functions are compared at a time, drawn anew with the points (`solve(resample=…)`); None
            for all.
        weight: of the mean square; by default 1.
        name: what it is called in histories.
        noise: standard deviation of the values, if it is known.
        **columns: all coordinates of the points, each an array of one axis; each input function as its values at the
            sensors, a function a row; at least one unknown, (functions, points).

    Raises:
        ProblemError: if a name is not known or missing, shapes do not fit, or a value is NaN or infinite.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> x = np.linspace(0, 1, 20)
        >>> slopes = np.stack([np.cos(k * x) for k in (1, 2, 3)])
        >>> data = pde.FamilyData(x=x, v=slopes, u=np.stack([np.sin(k * x) / k for k in (1, 2, 3)]))
    """

    kind = "data of a family"

    def __init__(
        self,
        *,
        count: int | None = None,
        weight: float | None = None,
        name: str | None = None,
        noise: float | None = None,
        **columns: Any,
    ) -> None:
        if count is not None and (isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1):
            raise ProblemError(
                f"{self.what}: count must be a positive integer, got {count!r}", fix="leave it out, for all functions."
            )
        self.count = count
        found = {key: numbers(column) for key, column in columns.items()}
        for column, values in found.items():
            if not np.all(np.isfinite(values)):
                raise ProblemError(
                    f"the data {column!r} of a family have a value that is NaN or infinite",
                    fix="leave that function, or that point, out.",
                )
        self._told(found, weight, name, noise)

    def arrays(self, family: Family, unknowns: Sequence[str]) -> dict[str, Array]:
        """Return the arrays of its term: points, functions at the sensors, and values of each function at each point.

        Raises:
            ProblemError: as the class says.
        """
        names = family.domain.names
        known = [*names, *family.inputs, *unknowns]
        for name in self.columns:
            if name not in known:
                raise ProblemError(
                    f"{self.what}: {name!r} is neither a coordinate, nor an input function, nor an unknown",
                    fix=suggestion(name, known) or f"there are {', '.join(known)}.",
                )
        missing = [name for name in (*names, *family.inputs) if name not in self.columns]
        values = {name: self.columns[name] for name in unknowns if name in self.columns}
        if missing or not values:
            lacking = missing[0] if missing else unknowns[0]
            raise ProblemError(f"{self.what} lack {lacking!r}", fix=f"pass {lacking}=… as well.")
        at = self._points(names)
        functions = self._functions(family)
        shape = len(next(iter(functions.values()))), len(at)
        for name, found in values.items():
            if found.shape != shape:
                raise ProblemError(
                    f"{self.what}: the values of {name} have the shape {found.shape}, and of {shape[0]} functions at "
                    f"{shape[1]} points there are {shape}",
                    fix="give a function a row: on a grid, np.meshgrid(…) raveled, and values.reshape(functions, -1).",
                )
        return {"at": at, **functions, **{OF_EACH + name: found for name, found in values.items()}}

    def _points(self, names: Sequence[str]) -> Array:
        columns = [self.columns[name] for name in names]
        shapes = {column.shape for column in columns}
        if len(shapes) > 1 or len(columns[0].shape) != 1 or not columns[0].size:
            raise ProblemError(
                f"{self.what}: coordinates of points are arrays of one axis and one length, got the shapes "
                + ", ".join(f"{column.shape} of {name}" for name, column in zip(names, columns, strict=True)),
                fix="for a grid, pass np.meshgrid(…) with every array raveled.",
            )
        return np.stack(columns, axis=1)

    def _functions(self, family: Family) -> dict[str, Array]:
        rows, several = family.rows({name: self.columns[name] for name in family.inputs})
        if not several:
            raise ProblemError(
                f"{self.what}: input functions are given as one row of values",
                fix="give a function a row: v[None] of a single one, and u[None].",
            )
        return {name: np.asarray(values) for name, values in rows.items()}

    def drawn(self, arrays: dict[str, Array], seed: Sequence[int]) -> dict[str, Array]:
        """Return arrays of some of the functions, as many as are compared at a time.

        Args:
            arrays: of all of them.
            seed: integers that decide which.
        """
        own = [name for name in arrays if name.startswith((key(""), OF_EACH))]
        total = len(arrays[own[0]])
        if self.count is None or self.count >= total:
            return dict(arrays)
        chosen = np.sort(generator(*seed).choice(total, self.count, replace=False))
        return {name: values[chosen] if name in own else values for name, values in arrays.items()}

    def differences(self, of: Callable[[str], Any], row: Any) -> Any:
        """Return the differences from the values, in units of the noise if it is known.

        Args:
            of: returns the values of an unknown at all points for all functions.
            row: the arrays of the term.
        """
        names = [name.removeprefix(OF_EACH) for name in row if name.startswith(OF_EACH)]
        return tuple([(of(name) - row[OF_EACH + name]) / (self.noise or 1.0) for name in names])
