"""B-splines: their pieces as polynomials, and those that go through points."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.scipy.interpolate.cubic import solved
from primad.scipy.interpolate.piecewise import (
    PPoly,
    evaluated,
    in_double,
    of_plain_data,
    own,
    with_axes,
    with_points_at,
)
from primad.scipy.mirrors import known
from primad.scipy.traced_calls import has_traced, is_recorded
from primad.system.tracebacks import entrance

__all__ = ["BSpline", "make_interp_spline"]


def _quotient(above: Any, below: Any) -> Any:
    """Return a quotient that is 0 where knots coincide."""
    same = below == 0
    return pnp.where(same, 0.0, above / pnp.where(same, 1.0, below))


def basis_values(t: Any, k: int, piece: Any, x: Any, nu: int = 0) -> list[Any]:
    """Return the B-splines of degree k that are not 0 at points, or derivatives (Cox and de Boor).

    Args:
        t: knots.
        k: degree.
        piece: the knot to the left of each point; the first of the functions is that of the knot `piece − k`.
        x: points.
        nu: order of the derivative.
    """
    if nu > k:
        return [pnp.zeros(x.shape) for _ in range(k + 1)]
    knots = {i: pnp.take(t, piece + i) for i in range(1 - k, k + 1)}
    values: list[Any] = [pnp.ones(x.shape)]
    for degree in range(1, k + 1):
        raised: list[Any] = [0.0] * (degree + 1)
        for r, value in enumerate(values):
            left, right = knots[r + 1 - degree], knots[r + 1]
            part = _quotient(value, right - left)
            falling, rising = (-degree, degree) if degree > k - nu else (right - x, x - left)
            raised[r] = raised[r] + part * falling
            raised[r + 1] = raised[r + 1] + part * rising
        values = raised
    return values


class BSpline:
    """A spline Σ cᵢ Bᵢ, as `scipy.interpolate.BSpline`, whose knots and coefficients may be traced.

    It is differentiable in points, coefficients and knots. What is not recorded is SciPy's, where both are plain.

    Args:
        t: knots, ascending.
        c: coefficients.
        k: degree.
        extrapolate: whether outer polynomials go on (otherwise NaN is there), or 'periodic'.
        axis: of c, that of the knots.

    Raises:
        ShapeError: if there are not as many knots as coefficients and k + 1, or less than 2 k + 2.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import BSpline
        >>> t = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0])
        >>> print(primad.grad(lambda c: BSpline(t, c, 2)(0.5))(np.ones(4)))
        [0.25  0.625 0.125 0.   ]
    """

    @entrance
    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        if not is_recorded((t, c)):
            self._adopt(own("BSpline")(t, c, k, extrapolate, axis))
            return
        t, c, degree = in_double(t), in_double(c), operator.index(k)
        place = normalize_axis("BSpline", axis, c.ndim)
        c = pnp.moveaxis(c, place, 0)
        count = t.shape[0] - degree - 1
        if t.ndim != 1 or degree < 0 or count <= degree or c.shape[0] < count:
            raise ShapeError(
                f"BSpline: coefficients of shape {c.shape} for {t.shape[0]} knots and degree {degree}",
                fix="give one coefficient for each knot but degree + 1, and more than the degree.",
            )
        self._set(t, c, degree, extrapolate, place)

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> BSpline:
        """Return one of arrays in SciPy's layout, unchecked."""
        found = cls.__new__(cls)
        if is_recorded((t, c)):
            found._set(in_double(t), in_double(c), k, extrapolate, axis)
        else:
            found._adopt(own("BSpline").construct_fast(t, c, k, extrapolate, axis))
        return found

    def _set(self, t: Any, c: Any, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k, self.axis, self._own = t, c, k, axis, None
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    def _adopt(self, theirs: Any) -> None:
        """Become what an object of SciPy's is."""
        self._set(theirs.t, theirs.c, theirs.k, theirs.extrapolate, theirs.axis)
        self._own = theirs

    def __getattr__(self, name: str) -> Any:
        return of_plain_data(self, name, "t, c, k and tck")

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    @entrance
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return values at points, or derivatives of order nu.

        Args:
            x: points.
            nu: order of the derivative.
            extrapolate: whether outer polynomials go on; by default as the object was made.
        """
        if self._own is not None and not is_recorded(x):
            return self._own(x, nu, extrapolate)
        chosen = self.extrapolate if extrapolate is None else extrapolate
        points, (c, breaks) = in_double(x), self._pieces()
        return with_points_at(evaluated(c, breaks, points, nu, chosen), points.ndim, self.axis)

    def _pieces(self) -> tuple[Any, Any]:
        """Return the polynomials between knots as coefficients (power, piece, ...), and the knots between them."""
        t, k = self.t, self.k
        n = t.shape[0] - k - 1
        c, rows, left = self.c[:n], [], with_axes(t[k:n], self.c.ndim - 1)
        for order in range(k + 1):
            degree = k - order
            rows.append(self._at_left(c, degree, left) / math.factorial(order))
            if degree:
                widths = with_axes(t[1 + degree : n + degree] - t[1:n], c.ndim - 1)
                c = pnp.concatenate([0.0 * c[:1], degree * _quotient(c[1:] - c[:-1], widths)])
        return pnp.stack(rows[::-1]), t[k : n + 1]

    def _at_left(self, c: Any, degree: int, left: Any) -> Any:
        """Return the values at the knots to the left of pieces, by de Boor's algorithm."""
        t, k = self.t, self.k
        n, trail = t.shape[0] - k - 1, c.ndim - 1
        found = [c[k - degree + r : n - degree + r] for r in range(degree + 1)]
        for level in range(1, degree + 1):
            for r in range(degree, level - 1, -1):
                low = with_axes(t[k - degree + r : n - degree + r], trail)
                high = with_axes(t[k + 1 + r - level : n + 1 + r - level], trail)
                share = _quotient(left - low, high - low)
                found[r] = (1 - share) * found[r - 1] + share * found[r]
        return found[degree]

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order nu, a spline."""
        return self.antiderivative(-nu) if nu < 0 else self._derived("derivative", nu)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the integral from the first knot on, nu times, a spline."""
        return self.derivative(-nu) if nu < 0 else self._derived("antiderivative", nu)

    def _derived(self, name: str, nu: int) -> BSpline:
        if self._own is not None:
            found = BSpline.__new__(BSpline)
            found._adopt(getattr(self._own, name)(nu))
            return found
        t, k, extrapolate = self.t, self.k, self.extrapolate
        c = self.c[: t.shape[0] - k - 1]
        for _ in range(nu):
            if name == "derivative":
                widths = with_axes(t[k + 1 : -1] - t[1 : -k - 1], c.ndim - 1)
                c, t, k = k * _quotient(c[1:] - c[:-1], widths), t[1:-1], k - 1
            else:
                widths = with_axes(t[k + 1 :] - t[: -k - 1], c.ndim - 1)
                c = pnp.concatenate([0.0 * c[:1], pnp.cumsum(c * widths, axis=0) / (k + 1)])
                t, k = pnp.concatenate([t[:1], t, t[-1:]]), k + 1
                extrapolate = False if extrapolate == "periodic" else extrapolate
        return BSpline.construct_fast(t, c, k, extrapolate, self.axis)

    def _polynomial(self) -> PPoly:
        return PPoly.construct_fast(*self._pieces(), self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral between two points; outside of the knots 0 is integrated where nothing goes on.

        Args:
            a: where to begin.
            b: where to end.
            extrapolate: whether outer polynomials go on; by default as the object was made.
        """
        if self._own is not None and not is_recorded((a, b)):
            return self._own.integrate(a, b, extrapolate)
        chosen = self.extrapolate if extrapolate is None else extrapolate
        if not chosen:
            a, b = (pnp.clip(in_double(end), self.t[self.k], self.t[-self.k - 1]) for end in (a, b))
        return self._polynomial().integrate(a, b, chosen)


@entrance
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Return the spline of degree k through points; `jit` takes given knots, and points among them, that are plain.

    It is differentiable in values, in points, in the derivatives that conditions give, and in knots.

    Args:
        x: points, ascending.
        y: values at them.
        k: degree.
        t: knots; by default 'not a knot', or all points where conditions are given.
        bc_type: None, 'not-a-knot', 'natural', 'clamped', 'periodic' (of odd degree), or for each end a name or pairs
            (order, derivative).
        axis: of y, that of the points.
        check_finite: as SciPy's, where nothing is traced.

    Returns:
        the spline.

    Raises:
        ShapeError: if shapes, or the numbers of knots and conditions, do not fit.
        DomainError: for conditions that are not there.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import make_interp_spline
        >>> x = np.linspace(0.0, 3.0, 4)
        >>> print(primad.grad(lambda y: make_interp_spline(x, y)(1.5))(np.zeros(4)))
        [-0.0625  0.5625  0.5625 -0.0625]
    """
    if not is_recorded((x, y, t, bc_type)):
        found = BSpline.__new__(BSpline)
        found._adopt(own("make_interp_spline")(x, y, k, t, bc_type, axis, check_finite))
        return found
    x, y, k = in_double(x), in_double(y), operator.index(k)
    place = normalize_axis("make_interp_spline", axis, y.ndim)
    y = pnp.moveaxis(y, place, 0)
    if x.ndim != 1 or x.shape[0] != y.shape[0] or k < 0 or (k and x.shape[0] <= k):
        raise ShapeError(
            f"make_interp_spline: points of shape {x.shape}, values of shape {y.shape}, degree {k}",
            fix="give a vector of points, more than the degree, and values with one row for each.",
        )
    if k < 2 and t is None and bc_type is None:
        knots = pnp.concatenate([x[:1], x, x[-1:]] if k else [x, x[-1:]])
        return BSpline.construct_fast(knots, y, k, axis=place)
    if isinstance(bc_type, str) and bc_type == "periodic":
        return _periodic_spline(x, y, k, t, place)
    pair = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    ends = [_end_conditions(end, y.shape[1:]) for end in pair]
    t, places, knots = _knots(x, k, t, bool(ends[0] or ends[1]))
    if t.shape[0] != x.shape[0] + k + 1 + len(ends[0]) + len(ends[1]):
        raise ShapeError(
            f"make_interp_spline: {t.shape[0]} knots of degree {k} for {x.shape[0]} points and "
            f"{len(ends[0]) + len(ends[1])} conditions",
            fix="there is one coefficient for each point and condition, and k + 1 knots more than coefficients.",
        )
    return BSpline.construct_fast(t, _coefficients(x, y, k, t, ends, places, knots), k, axis=place)


def _end_conditions(end: Any, shape: tuple[int, ...]) -> list[tuple[int, Any]]:
    """Return the conditions at an end, as orders and derivatives."""
    if end is None or (isinstance(end, str) and end == "not-a-knot"):
        return []
    if isinstance(end, str):
        if end not in ("natural", "clamped"):
            raise DomainError(f"make_interp_spline: the condition {end!r}", fix="use 'natural' or 'clamped'.")
        return [(2 if end == "natural" else 1, np.zeros(shape))]
    return [(operator.index(order), pnp.reshape(in_double(given), shape)) for order, given in end]


def _knots(x: Any, k: int, t: Any, conditions: bool) -> tuple[Any, Any, Any]:
    """Return knots, and plain points and knots in the same order, which tell where points are among them."""
    if t is not None:
        t = in_double(t)
        fix = "pass plain points and knots, or leave t out."
        return t, *(known(each, "where points are among knots", fix) for each in (x, t))
    places = np.arange(float(x.shape[0])) if has_traced(x) else x
    return _usual_knots(x, k, conditions), places, _usual_knots(places, k, conditions)


def _usual_knots(x: Any, k: int, conditions: bool) -> Any:
    if conditions:
        inner = x[1:-1]
    else:
        inner = x[(k + 1) // 2 : -((k + 1) // 2)] if k % 2 else ((x[1:] + x[:-1]) / 2)[k // 2 : -(k // 2)]
    return pnp.concatenate([pnp.repeat(x[:1], k + 1), inner, pnp.repeat(x[-1:], k + 1)])


def _coefficients(x: Any, y: Any, k: int, t: Any, ends: list[Any], places: Any, knots: Any) -> Any:
    """Return the coefficients: a banded system of values at points and of derivatives at both ends."""
    count = t.shape[0] - k - 1
    piece = np.clip(np.searchsorted(knots, places, side="right") - 1, k, count - 1)
    data, rows, columns = [], [], []

    def equations(row: Any, piece: Any, at: Any, nu: int) -> None:
        for r, values in enumerate(basis_values(t, k, piece, at, nu)):
            data.append(values)
            rows.append(row)
            columns.append(piece - k + r)

    for number, (order, _) in enumerate(ends[0]):
        equations(np.array([number]), piece[:1], x[:1], order)
    equations(len(ends[0]) + np.arange(x.shape[0]), piece, x, 0)
    for number, (order, _) in enumerate(ends[1]):
        equations(np.array([len(ends[0]) + x.shape[0] + number]), piece[-1:], x[-1:], order)
    given = [[value[None] for _, value in end] for end in ends]
    return solved(data, rows, columns, pnp.concatenate([*given[0], y, *given[1]]))


def _periodic_spline(x: Any, y: Any, k: int, t: Any, axis: int) -> BSpline:
    """Return the periodic spline of odd degree with a knot at each point: a cyclic banded system."""
    if t is not None or k % 2 == 0:
        raise DomainError(
            f"make_interp_spline: a periodic spline of degree {k}{'' if t is None else ' with given knots'}",
            fix="use an odd degree, and no knots: there is one at each point.",
        )
    count, h = x.shape[0] - 1, pnp.diff(x)
    around = np.arange(k)
    before = x[0] - pnp.cumsum(pnp.take(h, -1 - around % count))[::-1]
    after = x[-1] + pnp.cumsum(pnp.take(h, around % count))
    t = pnp.concatenate([before, x, after])
    i = np.arange(count)
    values = basis_values(t, k, i + k, x[:-1])
    found = solved(values, [i] * (k + 1), [(i + r) % count for r in range(k + 1)], y[:-1])
    return BSpline.construct_fast(t, found[np.arange(count + k) % count], k, "periodic", axis)
