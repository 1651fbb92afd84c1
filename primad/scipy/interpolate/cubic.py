"""Cubic interpolation: polynomials by values and slopes at points, and what chooses the slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.linalg.sparse_arrays import TracedSparse
from primad.numpy.linalg.sparse_places import SparsePlaces
from primad.scipy.interpolate.piecewise import PPoly, in_double, own, with_axes
from primad.scipy.sparse.linalg import spsolve
from primad.scipy.traced_calls import is_recorded
from primad.system.tracebacks import entrance

__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator", "pchip_interpolate"]

LEAST_WEIGHT = 1e-9
"""Weights of slopes, as a share of the largest, below which Akima's mean is the plain one. From SciPy."""


def _prepared(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Return points, values with the axis of points first, and that axis.

    Raises:
        ShapeError: if there are not as many points as values, or less than two.
    """
    x, y = in_double(x), in_double(y)
    place = normalize_axis(name, axis, y.ndim)
    if x.ndim != 1 or x.shape[0] != y.shape[place] or x.shape[0] < 2:
        raise ShapeError(
            f"{name}: points of shape {x.shape} for values of shape {y.shape}, interpolated along {axis}",
            fix="give one point for each value along the axis.",
        )
    return x, pnp.moveaxis(y, place, 0), place


def solved(data: list[Any], rows: list[Any], columns: list[Any], b: Any) -> Any:
    """Solve a system with a sparse matrix for right sides (rows, ...).

    Args:
        data: vectors of entries; those at the same place are added.
        rows: the row of each.
        columns: the column of each.
        b: right sides.
    """
    n = b.shape[0]
    matrix = TracedSparse(pnp.concatenate(data), SparsePlaces(np.concatenate(rows), np.concatenate(columns), (n, n)))
    if b.size == 0:
        return b
    return pnp.reshape(spsolve(matrix, pnp.reshape(b, (n, -1))), b.shape)


class CubicHermiteSpline(PPoly):
    """Cubic polynomials with given values and slopes, as `scipy.interpolate.CubicHermiteSpline`.

    Args:
        x: points, ascending.
        y: values at them.
        dydx: slopes at them.
        axis: of y, that of the points.
        extrapolate: whether outer polynomials go on outside of the points, or 'periodic'.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import CubicHermiteSpline
        >>> middle = lambda slopes: CubicHermiteSpline([0.0, 1.0], [0.0, 0.0], slopes)(0.5)
        >>> print(primad.grad(middle)(np.array([1.0, 1.0])))
        [ 0.125 -0.125]
    """

    @entrance
    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        if not is_recorded((x, y, dydx)):
            self._adopt(own("CubicHermiteSpline")(x, y, dydx, axis, extrapolate))
            return
        x, y, place = _prepared("CubicHermiteSpline", x, y, axis)
        slopes = pnp.moveaxis(in_double(dydx), place, 0)
        if slopes.shape != y.shape:
            raise ShapeError(
                f"CubicHermiteSpline: slopes of shape {slopes.shape} for values of shape {y.shape}",
                fix="give one slope for each value.",
            )
        self._through(x, y, slopes, place, extrapolate)

    def _through(self, x: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        """Become the cubics with values and slopes, whose first axis is that of points."""
        widths = with_axes(pnp.diff(x), y.ndim - 1)
        mean = pnp.diff(y, axis=0) / widths
        bend = (slopes[:-1] + slopes[1:] - 2 * mean) / widths
        c = pnp.stack([bend / widths, (mean - slopes[:-1]) / widths - bend, slopes[:-1], y[:-1]])
        self._set(c, x, True if extrapolate is None else extrapolate, axis)


class CubicSpline(CubicHermiteSpline):
    """The cubic spline through points, as `scipy.interpolate.CubicSpline`.

    It is differentiable in query points, values, points, and the derivatives that conditions give.

    Args:
        x: points, ascending.
        y: values at them.
        axis: of y, that of the points.
        bc_type: 'not-a-knot', 'natural', 'clamped', 'periodic', or a pair of such or (order, derivative).
        extrapolate: whether outer polynomials go on outside of the points, or 'periodic'.

    Raises:
        ShapeError: if shapes do not fit.
        DomainError: for conditions that there are not.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import CubicSpline
        >>> value = lambda y: CubicSpline([0.0, 1.0, 2.0], y, bc_type="natural")(0.5)
        >>> print(primad.grad(value)(np.zeros(3)))
        [ 0.40625  0.6875  -0.09375]
    """

    @entrance
    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        if not is_recorded((x, y, _values_of(bc_type))):
            self._adopt(own("CubicSpline")(x, y, axis, bc_type, extrapolate))
            return
        x, y, place = _prepared("CubicSpline", x, y, axis)
        ends = _conditions(bc_type, y.shape[1:])
        if extrapolate is None:
            extrapolate = "periodic" if ends[0] == "periodic" else True
        self._through(x, y, _spline_slopes(x, y, ends), place, extrapolate)


def _values_of(bc_type: Any) -> list[Any]:
    """Return the derivatives that conditions give."""
    pair = [] if isinstance(bc_type, str) else bc_type
    return [end[1] for end in pair if not isinstance(end, str)]


def _conditions(bc_type: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return the condition at each end: 'not-a-knot', 'periodic', or an order and a derivative."""
    if isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    named: dict[str, Any] = {"clamped": (1, np.zeros(shape)), "natural": (2, np.zeros(shape))}
    ends: list[Any] = [named.get(end, end) if isinstance(end, str) else (end[0], in_double(end[1])) for end in bc_type]
    wrong = [end for end in ends if isinstance(end, str) and end not in ("not-a-knot", "periodic")]
    wrong += [end for end in ends if not isinstance(end, str) and end[0] not in (1, 2)]
    if wrong or len(ends) != 2 or (ends[0] == "periodic") is not (ends[1] == "periodic"):
        raise DomainError(
            f"CubicSpline: bc_type={bc_type!r}",
            fix="use 'not-a-knot', 'natural', 'clamped', 'periodic' at both ends, or (1, slope), (2, curvature).",
        )
    for end in ends:
        if not isinstance(end, str) and end[1].shape != shape:
            raise ShapeError(
                f"CubicSpline: a derivative of shape {end[1].shape} at an end, for values of {shape}",
                fix="give one for each curve: the shape of the values without the axis of points.",
            )
    return ends


def _spline_slopes(x: Any, y: Any, ends: list[Any]) -> Any:
    """Return the slopes of a cubic spline at its points: a tridiagonal system, or a cyclic one."""
    n, h = x.shape[0], pnp.diff(x)
    wide = with_axes(h, y.ndim - 1)
    mean = pnp.diff(y, axis=0) / wide
    if ends[0] == "periodic":
        before, ahead = pnp.roll(h, 1), pnp.roll(wide, 1, 0)
        b = 3 * (wide * pnp.roll(mean, 1, 0) + ahead * mean)
        i = np.arange(n - 1)
        data, columns = [h, 2 * (h + before), before], [(i - 1) % (n - 1), i, (i + 1) % (n - 1)]
        found = solved(data, [i] * 3, columns, b)
        return pnp.concatenate([found, found[:1]])
    if n == 2:
        ends = [(1, mean[0]) if end == "not-a-knot" else end for end in ends]
    first = _end_row(x, y, h, mean, ends[0], n == 3 and ends[1] == "not-a-knot")
    last = _end_row(-x[::-1], -y[::-1], h[::-1], mean[::-1], _seen_back(ends[1]), n == 3 and ends[0] == "not-a-knot")
    i, inner = np.arange(n), np.arange(1, n - 1)
    b = pnp.concatenate([first[2][None], 3 * (wide[1:] * mean[:-1] + wide[:-1] * mean[1:]), last[2][None]])
    ends_of = [pnp.reshape(part, (1,)) for part in (first[0], last[0], first[1], last[1])]
    diagonal = pnp.concatenate([ends_of[0], 2 * (h[:-1] + h[1:]), ends_of[1]])
    above, below = pnp.concatenate([ends_of[2], h[:-1]]), pnp.concatenate([h[1:], ends_of[3]])
    rows = [i, np.concatenate([[0], inner]), np.concatenate([inner, [n - 1]])]
    return solved([diagonal, above, below], rows, [i, rows[1] + 1, rows[2] - 1], b)


def _seen_back(end: Any) -> Any:
    """Return the condition at the last point as that at the first of −y(−x), which has the same slopes."""
    return (end[0], -end[1]) if not isinstance(end, str) and end[0] == 2 else end


def _end_row(x: Any, y: Any, h: Any, mean: Any, end: Any, parabola: bool) -> tuple[Any, Any, Any]:
    """Return the equation a s₀ + b s₁ = c of the first point, for its slope and the next one's.

    Args:
        x: points.
        y: values.
        h: widths.
        mean: mean slopes between points.
        end: the condition.
        parabola: whether both ends of three points are no knots: the spline is one parabola.
    """
    if isinstance(end, str) and parabola:
        return np.ones(()), np.ones(()), 2 * mean[0]
    if isinstance(end, str):
        both = x[2] - x[0]
        return h[1], both, ((h[0] + 2 * both) * h[1] * mean[0] + h[0] ** 2 * mean[1]) / both
    order, given = end
    if order == 1:
        return np.ones(()), np.zeros(()), given
    return 2 * h[0], h[0], 3 * (y[1] - y[0]) - 0.5 * given * h[0] ** 2


class PchipInterpolator(CubicHermiteSpline):
    """Monotone cubic interpolation, as `scipy.interpolate.PchipInterpolator`.

    Where neighbouring mean slopes differ in sign the slope is 0, and so are its derivatives.

    Args:
        x: points, ascending.
        y: real values at them.
        axis: of y, that of the points.
        extrapolate: whether outer polynomials go on outside of the points, or 'periodic'.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import PchipInterpolator
        >>> value = lambda y: PchipInterpolator([0.0, 1.0, 2.0], y)(0.5)
        >>> print(primad.grad(value)(np.array([0.0, 1.0, 3.0])).round(4))
        [ 0.4236  0.6667 -0.0903]
    """

    @entrance
    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        if not is_recorded((x, y)):
            self._adopt(own("PchipInterpolator")(x, y, axis, extrapolate))
            return
        x, y, place = _prepared("PchipInterpolator", x, y, axis)
        _refuse_complex("PchipInterpolator", y)
        self._through(x, y, _monotone_slopes(x, y), place, extrapolate)


def _refuse_complex(name: str, y: Any) -> None:
    if y.dtype.kind == "c":
        raise ShapeError(f"{name} of complex values", fix="interpolate y.real and y.imag.")


def _monotone_slopes(x: Any, y: Any) -> Any:
    """Return weighted harmonic means of neighbouring slopes (Fritsch and Butland 1984), 0 at extrema."""
    h = with_axes(pnp.diff(x), y.ndim - 1)
    mean = pnp.diff(y, axis=0) / h
    if x.shape[0] == 2:
        return pnp.concatenate([mean, mean])
    left, right, w, v = mean[:-1], mean[1:], 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    level = (pnp.sign(left) != pnp.sign(right)) | (left == 0) | (right == 0)
    safe_left, safe_right = pnp.where(level, 1.0, left), pnp.where(level, 1.0, right)
    inner = pnp.where(level, 0.0, (w + v) / (w / safe_left + v / safe_right))
    ends = [_monotone_end(*parts) for parts in ((h[0], h[1], mean[0], mean[1]), (h[-1], h[-2], mean[-1], mean[-2]))]
    return pnp.concatenate([ends[0][None], inner, ends[1][None]])


def _monotone_end(h: Any, k: Any, near: Any, far: Any) -> Any:
    """Return the slope at an end: of the parabola through three points, limited to stay monotone."""
    found = ((2 * h + k) * near - h * far) / (h + k)
    steep = (pnp.sign(near) != pnp.sign(far)) & (pnp.abs(found) > 3 * pnp.abs(near))
    return pnp.where(pnp.sign(found) != pnp.sign(near), 0.0, pnp.where(steep, 3 * near, found))


class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's interpolation, as `scipy.interpolate.Akima1DInterpolator`.

    Args:
        x: points, ascending.
        y: real values at them.
        axis: of y, that of the points.
        method: 'akima', or 'makima' for the modified weights.
        extrapolate: whether outer polynomials go on outside of the points; by default NaN is there.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import Akima1DInterpolator
        >>> value = lambda t: Akima1DInterpolator([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 3.0, 4.0])(t)
        >>> print(primad.grad(value)(1.5).round(4))
        2.3
    """

    @entrance
    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if not is_recorded((x, y)):
            self._adopt(own("Akima1DInterpolator")(x, y, axis, method=method, extrapolate=extrapolate))
            return
        if method not in ("akima", "makima"):
            raise DomainError(f"Akima1DInterpolator: method={method!r}", fix="use 'akima' or 'makima'.")
        x, y, place = _prepared("Akima1DInterpolator", x, y, axis)
        _refuse_complex("Akima1DInterpolator", y)
        extrapolate = False if extrapolate is None else extrapolate
        self._through(x, y, _weighted_slopes(x, y, method == "makima"), place, extrapolate)


def _weighted_slopes(x: Any, y: Any, modified: bool) -> Any:
    """Return means of neighbouring slopes by weights of how these change (Akima 1970)."""
    mean = pnp.diff(y, axis=0) / with_axes(pnp.diff(x), y.ndim - 1)
    if x.shape[0] == 2:
        return pnp.concatenate([mean, mean])
    before, after = 2 * mean[:1] - mean[1:2], 2 * mean[-1:] - mean[-2:-1]
    m = pnp.concatenate([2 * before - mean[:1], before, mean, after, 2 * after - mean[-1:]])
    change = pnp.abs(pnp.diff(m, axis=0))
    weights = change + 0.5 * pnp.abs(m[1:] + m[:-1]) if modified else change
    ahead, behind = weights[2:], weights[:-2]
    both = ahead + behind
    weighed = both > LEAST_WEIGHT * pnp.max(both, initial=0.0)
    share = behind / pnp.where(weighed, both, 1.0)
    return pnp.where(weighed, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


@entrance
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Interpolate by monotone cubics, as SciPy does (see `PchipInterpolator`); or return derivatives.

    Args:
        xi: points.
        yi: values at them.
        x: where to interpolate.
        der: order of the derivative, or several.
        axis: of yi, that of the points.

    Returns:
        values, or for several orders a list of them.
    """
    if not is_recorded((xi, yi, x)):
        return own("pchip_interpolate")(xi, yi, x, der, axis)
    found = PchipInterpolator(xi, yi, axis)
    return found(x, der) if np.ndim(der) == 0 else [found(x, each) for each in der]
