"""Piecewise polynomials: which piece a point is in, the polynomial there, and derivatives and integrals."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, MissingAttributeError, ShapeError, TracingError
from primad.ir.array_types import is_complex
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.shapes.ordering import values_of
from primad.recording.traced_array import settled
from primad.scipy.traced_calls import is_recorded
from primad.system.tracebacks import entrance

__all__ = ["PPoly"]

P = TypeVar("P", bound="PPoly")


def own(name: str) -> Any:
    """Return what `scipy.interpolate` has by a name."""
    return getattr(import_module("scipy.interpolate"), name)


def in_double(value: Any) -> Any:
    """Return an array, traced or plain, in double precision, in which SciPy's splines compute."""
    found = settled(pnp.array(value))
    return found.astype(np.result_type(found.dtype, np.float64))


def with_axes(x: Any, count: int) -> Any:
    """Return an array with so many axes of length 1 after its own."""
    return x[(..., *[None] * count)] if count else x


def on_the_line(*points: Any) -> None:
    """Raise where points are complex numbers, of which none is in a piece."""
    for each in points:
        if is_complex(each.dtype):
            raise ShapeError("a piecewise function at complex points", fix="give points on the real line.")


def piece_of(x: Any, breaks: Any) -> Any:
    """Return in which piece points are: that to the right of a break, and an outer piece outside of all."""
    on_the_line(x, breaks)
    if breaks.shape[0] <= 2:
        return np.zeros(x.shape, np.int64)
    return pnp.searchsorted(breaks[1:-1], x, side="right")


def with_points_at(values: Any, points: int, axis: int) -> Any:
    """Return values whose first axes are those of points with these where the interpolated axis was."""
    if not axis or not points:
        return values
    rest = list(range(points, values.ndim))
    return pnp.transpose(values, (*rest[:axis], *range(points), *rest[axis:]))


def within_period(x: Any, breaks: Any) -> Any:
    """Return points of a periodic function within its first period."""
    return breaks[0] + (x - breaks[0]) % (breaks[-1] - breaks[0])


def inside(x: Any, low: Any, high: Any) -> Any:
    """Say which points are between two others; for NaN it is true, which stays what it is."""
    return ~((x < low) | (x > high))


def check_inside(x: Any, low: Any, high: Any, name: str) -> None:
    """Raise for points outside of bounds, where values are known: under `jit` and `vmap` only types are.

    Raises:
        DomainError: if there are such points.
    """
    try:
        outside = np.any(values_of(~inside(x, low, high), "whether a point is outside"))
    except TracingError as error:
        if error.only_types:
            return
        raise
    if outside:
        raise DomainError(
            f"{name}: a point is outside of what is interpolated",
            fix="bounds_error=False gives fill_value there, and fill_value='extrapolate' (None on grids) goes on.",
        )


def evaluated(c: Any, breaks: Any, x: Any, nu: int, extrapolate: Any) -> Any:
    """Return a derivative of a piecewise polynomial, by Horner's rule.

    Args:
        c: coefficients (power, piece, ...), the highest power first, of the distance to the break on the left.
        breaks: where pieces begin and end.
        x: points.
        nu: order of the derivative.
        extrapolate: as SciPy's.
    """
    points = within_period(x, breaks) if extrapolate == "periodic" else x
    piece = piece_of(points, breaks)
    trail = c.ndim - 2
    distance = with_axes(points - pnp.take(breaks, piece), trail)
    degree = c.shape[0] - 1
    found = pnp.zeros((*x.shape, *c.shape[2:]), c.dtype) + 0 * distance
    for i in range(degree + 1 - nu):
        power = degree - i
        found = found * distance + math.perm(power, nu) * pnp.take(c[i], piece, axis=0)
    if extrapolate in (False, 0):
        return defined_where(with_axes(inside(points, breaks[0], breaks[-1]), trail), found)
    return found


def filled(known: Any, found: Any, fill: Any) -> Any:
    """Return what was found where it is known, elsewhere a fill value: NaN has derivatives that are NaN, too."""
    if not is_recorded(fill) and np.all(np.isnan(fill)):
        return defined_where(known, found)
    return pnp.where(known, found, fill)


def of_plain_data(spline: Any, name: str, kept: str) -> Any:
    """Return an attribute of the object of SciPy's that a spline of plain data has.

    Raises:
        MissingAttributeError: if its data are traced; `kept` names what it has then.
    """
    theirs = spline.__dict__.get("_own")
    if name.startswith("_") or theirs is None:
        raise MissingAttributeError(
            f"{type(spline).__name__} with traced coefficients has no {name!r}",
            fix=f"it can be called and has derivative, antiderivative, integrate, {kept}; the rest is there of plain "
            "data.",
        )
    return getattr(theirs, name)


class PPoly:
    """A piecewise polynomial, as `scipy.interpolate.PPoly`, whose coefficients and breaks may be traced.

    It is differentiable in points, coefficients and breaks; at a break the derivative is that to its right. What is not
    recorded (`roots`, `solve`, `extend`, …) is SciPy's, where coefficients and breaks are plain.

    Args:
        c: coefficients (power, piece, ...), the highest power first, of the distance to the break on the left.
        x: breaks, ascending, one more than pieces.
        extrapolate: whether outer pieces go on outside of the breaks (otherwise NaN is there), or 'periodic'.
        axis: which axis of results is that of points.

    Raises:
        ShapeError: if there is not one break more than pieces.

    Example:
        >>> import numpy as np, primad, primad.scipy.interpolate as interpolate
        >>> height = interpolate.PPoly(np.array([[1.0, -1.0], [0.0, 2.0]]), np.array([0.0, 1.0, 3.0]))
        >>> print(height(2.0), primad.grad(height)(2.0))
        1.0 -1.0
    """

    @entrance
    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        if not is_recorded((c, x)):
            self._adopt(own("PPoly")(c, x, extrapolate, axis))
            return
        c, x = in_double(c), in_double(x)
        place = normalize_axis("PPoly", axis, c.ndim - 1)
        c = pnp.moveaxis(pnp.moveaxis(c, place + 1, 0), place + 1, 0) if place else c
        if x.ndim != 1 or c.ndim < 2 or c.shape[1] != x.shape[0] - 1 or not c.shape[0] or x.shape[0] < 2:
            raise ShapeError(
                f"PPoly: coefficients of shape {c.shape} for breaks of shape {x.shape}",
                fix="give one column of coefficients for each piece between two breaks.",
            )
        self._set(c, x, True if extrapolate is None else extrapolate, place)

    @classmethod
    def construct_fast(cls: type[P], c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> P:
        """Return one of arrays in SciPy's layout, unchecked, such as those of a spline of SciPy's.

        Example:
            >>> import numpy as np, primad, scipy.interpolate
            >>> from primad.scipy.interpolate import PPoly
            >>> theirs = scipy.interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 8, 27])
            >>> print(primad.grad(PPoly.construct_fast(theirs.c, theirs.x))(2.0).round(6))
            12.0
        """
        found = cls.__new__(cls)
        extrapolate = True if extrapolate is None else extrapolate
        if is_recorded((c, x)):
            found._set(in_double(c), in_double(x), extrapolate, axis)
        else:
            found._adopt(own("PPoly").construct_fast(c, x, extrapolate, axis))
        return found

    def _set(self, c: Any, x: Any, extrapolate: Any, axis: int) -> None:
        self.c, self.x, self.axis, self._own = c, x, axis, None
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    def _adopt(self, theirs: Any) -> None:
        """Become what an object of SciPy's is."""
        self._set(theirs.c, theirs.x, theirs.extrapolate, theirs.axis)
        self._own = theirs

    def __getattr__(self, name: str) -> Any:
        return of_plain_data(self, name, "c and x")

    @entrance
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return values at points, or derivatives of order nu.

        Args:
            x: points.
            nu: order of the derivative; the integral from the first break for −1.
            extrapolate: whether outer pieces go on; by default as the object was made.
        """
        if self._own is not None and not is_recorded(x):
            return self._own(x, nu, extrapolate)
        if nu < 0:
            return self.antiderivative(-nu)(x, 0, extrapolate)
        chosen = self.extrapolate if extrapolate is None else extrapolate
        points = in_double(x)
        return with_points_at(evaluated(self.c, self.x, points, nu, chosen), points.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order nu, a piecewise polynomial."""
        if nu < 0:
            return self.antiderivative(-nu)
        if self._own is not None:
            return _adopted(self._own.derivative(nu))
        degree = self.c.shape[0] - 1
        if nu > degree:
            return _made(self.c[:1] * 0.0, self.x, self.extrapolate, self.axis)
        factors = np.array([float(math.perm(degree - i, nu)) for i in range(degree + 1 - nu)])
        return _made(
            self.c[: degree + 1 - nu] * with_axes(factors, self.c.ndim - 1), self.x, self.extrapolate, self.axis
        )

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the integral from the first break on, nu times, a piecewise polynomial."""
        if nu <= 0:
            return self.derivative(-nu)
        if self._own is not None:
            return _adopted(self._own.antiderivative(nu))
        c, widths = self.c, with_axes(pnp.diff(self.x), self.c.ndim - 2)
        for _ in range(nu):
            powers = with_axes(1.0 / np.arange(c.shape[0], 0.0, -1.0), c.ndim - 1)
            raised = c * powers
            area = pnp.zeros(c.shape[1:], c.dtype)
            for row in range(c.shape[0]):
                area = (area + raised[row]) * widths
            before = pnp.cumsum(area, axis=0) - area
            c = pnp.concatenate([raised, before[None]])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return _made(c, self.x, extrapolate, self.axis)

    @entrance
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral between two points, which may be traced.

        Args:
            a: where to begin.
            b: where to end.
            extrapolate: whether outer pieces go on; by default as the object was made.
        """
        if self._own is not None and not is_recorded((a, b)):
            return self._own.integrate(a, b, extrapolate)
        chosen = self.extrapolate if extrapolate is None else extrapolate
        area = self.antiderivative()
        a, b = in_double(a), in_double(b)
        if chosen != "periodic":
            return area(b, 0, chosen) - area(a, 0, chosen)
        first, last = self.x[0], self.x[-1]
        whole, turns = (
            area(last, 0, True),
            pnp.floor((b - first) / (last - first)) - pnp.floor((a - first) / (last - first)),
        )
        rest = [area(within_period(end, self.x), 0, True) for end in (b, a)]
        return turns * whole + rest[0] - rest[1]


def _adopted(theirs: Any) -> PPoly:
    found = PPoly.__new__(PPoly)
    found._adopt(theirs)
    return found


def _made(c: Any, x: Any, extrapolate: Any, axis: int) -> PPoly:
    found = PPoly.__new__(PPoly)
    found._set(c, x, extrapolate, axis)
    return found
