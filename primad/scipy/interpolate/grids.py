"""Interpolation on grids of several axes: linear, nearest, and tensor products of splines."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.elementwise.ufuncs import defined_where
from primad.recording.traced_array import settled
from primad.scipy.interpolate.bsplines import basis_values, make_interp_spline
from primad.scipy.interpolate.piecewise import check_inside, filled, in_double, inside, own, piece_of, with_axes
from primad.scipy.linear_filters.tensor_products import summed
from primad.scipy.traced_calls import has_traced, is_recorded
from primad.system.tracebacks import entrance

__all__ = ["RegularGridInterpolator", "interpn"]

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator:
    """Interpolation on a grid, as SciPy's; the method 'pchip' is for plain arrays.

    Values, grid points (ascending, where they are traced) and query points may be traced. A point outside is an error
    where it is known, if `bounds_error` is true; under `jit`, `vmap` and `trace` NaN is there.

    Args:
        points: grid points along each axis.
        values: at the grid; further axes are further values.
        method: 'linear', 'nearest', 'slinear', 'cubic' or 'quintic'; 'pchip' of plain arrays.
        bounds_error: whether points outside are an error.
        fill_value: what is outside; None to go on.
        solver: as SciPy's, where nothing is traced.
        solver_args: as SciPy's, where nothing is traced.

    Raises:
        ShapeError: if shapes do not fit.
        DomainError: for methods that are not recorded; for points outside.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import RegularGridInterpolator
        >>> grid = (np.array([0.0, 1.0]), np.array([0.0, 2.0]))
        >>> value = lambda point: RegularGridInterpolator(grid, np.array([[0.0, 2.0], [3.0, 5.0]]))(point)[0]
        >>> print(primad.grad(value)(np.array([0.5, 0.5])))
        [3. 1.]
    """

    @entrance
    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan, *,
        solver: Any = None, solver_args: Any = None,
    ) -> None:  # fmt: skip
        traced = is_recorded((points, values, fill_value))
        options: dict[str, Any] = {"solver": solver, "solver_args": solver_args} if solver or solver_args else {}
        arguments = (points, values, method, bounds_error, fill_value)
        self._own = None if traced else own("RegularGridInterpolator")(*arguments, **options)
        grid, values = [in_double(axis) for axis in points], settled(pnp.array(values))
        values = values if values.dtype.kind in "fc" else values.astype(np.float64)
        lengths = tuple(axis.shape[0] for axis in grid)
        if values.shape[: len(grid)] != lengths or any(axis.ndim != 1 for axis in grid):
            raise ShapeError(
                f"RegularGridInterpolator: values of shape {values.shape} on a grid of {lengths} points",
                fix="give one value for each point of the grid: np.meshgrid(..., indexing='ij') has their places.",
            )
        for place, axis in enumerate(grid):
            if not has_traced(axis) and len(axis) > 1 and axis[0] > axis[1]:
                grid[place], values = axis[::-1], pnp.flip(values, place)
        self.grid, self.values, self.method = tuple(grid), values, method
        self.bounds_error, self.fill_value = bounds_error, fill_value

    @entrance
    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """Return values at points.

        Args:
            xi: points (..., axis), or a tuple of their coordinates.
            method: another method.
            nu: order of the derivative along each axis, of splines.
        """
        if self._own is not None and not is_recorded(xi):
            return self._own(xi, method, nu=nu)
        method = method or self.method
        points, count = _as_points(xi, len(self.grid)), len(self.grid)
        axes = [points[..., i] for i in range(count)]
        if method in ("linear", "nearest") and nu is None:
            found = self._of_neighbours(axes, method == "linear")
        elif method in _DEGREES:
            found = self._of_splines(axes, _DEGREES[method], nu or (0,) * count)
        else:
            raise DomainError(
                f"RegularGridInterpolator: method={method!r}{'' if nu is None else ' with nu'} is not recorded",
                fix=f"use 'linear' or 'nearest', or one of {(*_DEGREES,)}, which have derivatives nu.",
            )
        trail = self.values.ndim - count
        for x, axis in zip(axes, self.grid, strict=True):
            if self.bounds_error:
                check_inside(x, axis[0], axis[-1], "RegularGridInterpolator")
            outside = np.nan if self.bounds_error else self.fill_value
            if outside is not None:
                found = filled(with_axes(inside(x, axis[0], axis[-1]), trail), found, outside)
            found = defined_where(with_axes(~pnp.isnan(x), trail), found)
        return found

    def _of_neighbours(self, points: list[Any], linear: bool) -> Any:
        """Return the nearest values, or sums of those at the corners of cells by their shares."""
        choices: list[list[tuple[Any, Any]]] = []
        for x, axis in zip(points, self.grid, strict=True):
            piece = piece_of(x, axis)
            start = pnp.take(axis, piece)
            share = (x - start) / (pnp.take(axis, piece + 1) - start)
            near = [(pnp.where(share <= 0.5, piece, piece + 1), 1.0)]
            choices.append([(piece, 1 - share), (piece + 1, share)] if linear else near)
        return summed(self.values, choices)

    def _of_splines(self, points: list[Any], degree: int, nu: Any) -> Any:
        """Return values of a tensor product of splines of a degree, or of its derivatives."""
        values, choices = self.values, []
        for place, (x, axis) in enumerate(zip(points, self.grid, strict=True)):
            t, c, k = make_interp_spline(axis, values, degree, axis=place).tck
            values = pnp.moveaxis(c, 0, place)
            piece = piece_of(x, t[k : t.shape[0] - k]) + k
            choices.append([(piece - k + r, value) for r, value in enumerate(basis_values(t, k, piece, x, nu[place]))])
        return summed(values, choices)


def _as_points(xi: Any, count: int) -> Any:
    """Return points (..., axis) of an array of points, or of a tuple of coordinates."""
    if isinstance(xi, tuple):
        points = pnp.stack(pnp.broadcast_arrays(*[in_double(x) for x in xi]), axis=-1)
    else:
        points = in_double(xi)
        points = pnp.reshape(points, (-1, count)) if points.ndim == 1 else points
    if points.shape[-1] != count:
        raise ShapeError(
            f"points with {points.shape[-1]} coordinates, on a grid of {count} axes",
            fix="give points whose last axis has one coordinate for each axis of the grid.",
        )
    return points


@entrance
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """Interpolate on a grid, as SciPy does (see `RegularGridInterpolator`).

    Args:
        points: grid points along each axis.
        values: at the grid.
        xi: where to interpolate, points (..., axis) or a tuple of coordinates.
        method: of interpolation.
        bounds_error: whether points outside are an error.
        fill_value: what is outside; None to go on.

    Returns:
        values at the points.

    Raises:
        DomainError: for methods that are not recorded.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import interpn
        >>> grid = (np.arange(3.0), np.arange(3.0))
        >>> print(primad.grad(lambda v: interpn(grid, v, (0.5, 1.5))[()])(np.zeros((3, 3))))
        [[0.   0.25 0.25]
         [0.   0.25 0.25]
         [0.   0.   0.  ]]
    """
    if not is_recorded((points, values, xi, fill_value)):
        return own("interpn")(points, values, xi, method, bounds_error, fill_value)
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
