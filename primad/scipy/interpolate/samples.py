"""Interpolation of samples on a line: by straight lines, steps and splines."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.ufuncs import defined_where
from primad.recording.traced_array import settled
from primad.scipy.interpolate.bsplines import make_interp_spline
from primad.scipy.interpolate.piecewise import (
    check_inside,
    filled,
    in_double,
    on_the_line,
    own,
    piece_of,
    with_axes,
    with_points_at,
)
from primad.scipy.traced_calls import is_recorded
from primad.system.tracebacks import entrance

__all__ = ["interp1d"]

_DEGREES: dict[Any, int] = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_OF_SAMPLES = ("linear", "nearest", "nearest-up", "previous", "next")


class interp1d:
    """Interpolation of samples, as `scipy.interpolate.interp1d`; samples, their places and query points may be traced.

    A point outside is an error where it is known, if `bounds_error` is true (its default without a fill value); under
    `jit`, `vmap` and `trace` NaN is there.

    Args:
        x: places of samples.
        y: samples.
        kind: 'linear', 'nearest', 'nearest-up', 'previous', 'next', 'zero', 'slinear', 'quadratic', 'cubic', or the
            degree of a spline.
        axis: of y, that of the places.
        copy: as SciPy's, where nothing is traced.
        bounds_error: whether points outside are an error.
        fill_value: what is outside; a pair for what is below and above; or 'extrapolate'.
        assume_sorted: whether places ascend.

    Raises:
        ShapeError: if shapes do not fit.
        DomainError: for a kind that there is not; for points outside.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import interp1d
        >>> print(primad.grad(lambda y: interp1d([0.0, 1.0, 3.0], y)(2.0))(np.ones(3)))
        [0.  0.5 0.5]
    """

    @entrance
    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True, bounds_error: Any = None,
        fill_value: Any = np.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        traced = is_recorded((x, y, fill_value))
        options = (axis, copy, bounds_error, fill_value, assume_sorted)
        self._own = None if traced else own("interp1d")(x, y, kind, *options)
        x, y = in_double(x), settled(pnp.array(y))
        y = y if y.dtype.kind in "fc" else y.astype(np.float64)
        place = normalize_axis("interp1d", axis, y.ndim)
        if x.ndim != 1 or x.shape[0] != y.shape[place]:
            raise ShapeError(
                f"interp1d: places of shape {x.shape} for samples of shape {y.shape} along {axis}",
                fix="give one place for each sample along the axis.",
            )
        if kind not in (*_DEGREES, *_OF_SAMPLES) and not isinstance(kind, int):
            raise DomainError(f"interp1d: kind={kind!r}", fix=f"use one of {(*_OF_SAMPLES, *_DEGREES)}, or a degree.")
        if not assume_sorted:
            order = pnp.argsort(x)
            x, y = pnp.take(x, order), pnp.take(y, order, axis=place)
        self.x, self.y, self.axis = x, y, place
        self._samples, self._kind = pnp.moveaxis(y, place, 0), kind
        self._goes_on = isinstance(fill_value, str) and fill_value == "extrapolate"
        self.fill_value = fill_value
        if self._goes_on and bounds_error:
            raise DomainError("interp1d: bounds_error=True with fill_value='extrapolate'", fix="leave one of them out.")
        self.bounds_error = not self._goes_on if bounds_error is None else bounds_error
        self._spline = None if kind in _OF_SAMPLES else make_interp_spline(x, self._samples, _DEGREES.get(kind, kind))

    @entrance
    def __call__(self, x: Any) -> Any:
        """Return interpolated values; their axes of points stand where that of the samples was.

        Args:
            x: points.
        """
        if self._own is not None and not is_recorded(x):
            return self._own(x)
        points, trail = in_double(x), self._samples.ndim - 1
        found = self._spline(points) if self._spline is not None else self._between(points)
        low, high = self.x[0], self.x[-1]
        if self._goes_on:
            if self._kind in ("previous", "next"):
                outside = points > high if self._kind == "next" else points < low
                found = defined_where(with_axes(~outside, trail), found)
        else:
            if self.bounds_error:
                check_inside(points, low, high, "interp1d")
            pair = isinstance(self.fill_value, tuple) and len(self.fill_value) == 2
            below, above = self.fill_value if pair else (self.fill_value, self.fill_value)
            found = filled(with_axes(~(points < low), trail), found, below)
            found = filled(with_axes(~(points > high), trail), found, above)
        return with_points_at(found, points.ndim, self.axis)

    def _between(self, points: Any) -> Any:
        """Return what is between samples, and what the outer ones give outside."""
        x, y, kind = self.x, self._samples, self._kind
        on_the_line(x, points)
        if kind == "linear":
            piece = piece_of(points, x)
            start, first = pnp.take(x, piece), pnp.take(y, piece, axis=0)
            slope = (pnp.take(y, piece + 1, axis=0) - first) / with_axes(pnp.take(x, piece + 1) - start, y.ndim - 1)
            return first + slope * with_axes(points - start, y.ndim - 1)
        if kind in ("nearest", "nearest-up"):
            place = pnp.searchsorted((x[1:] + x[:-1]) / 2, points, "left" if kind == "nearest" else "right")
        else:
            counted = pnp.searchsorted(x, points, "right" if kind == "previous" else "left")
            place = pnp.clip(counted - (kind == "previous"), 0, x.shape[0] - 1)
        return pnp.take(y, place, axis=0)
