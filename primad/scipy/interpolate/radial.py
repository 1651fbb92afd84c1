"""Interpolation of scattered data by radial basis functions: sums of one function of the distances to all points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, MatrixError, NotDifferentiableError, ShapeError, TracingError, warn
from primad.functional.recorded_values import stop_gradient
from primad.functional.rules.custom_rules import custom_jvp
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.shapes.ordering import values_of
from primad.scipy.interpolate.piecewise import in_double, own
from primad.scipy.traced_calls import is_recorded
from primad.system.tracebacks import entrance

__all__ = ["RBFInterpolator"]


@custom_jvp
def _thin_plate(r: Any) -> Any:
    return r * special.xlogy(r, r)


@_thin_plate.defjvp
def _thin_plate_rule(primals: Any, tangents: Any) -> Any:
    """Return the value and r (2 log r + 1) dr, which is 0 at 0, where the derivatives of its factors are infinite."""
    (r,), (change,) = primals, tangents
    return _thin_plate(r), (2.0 * special.xlogy(r, r) + r) * change


_OF_DISTANCES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (lambda r: -r, 0),
    "thin_plate_spline": (_thin_plate, 1),
    "cubic": (lambda r: r**3, 1),
    "quintic": (lambda r: -(r**5), 2),
}
"""Kernels of distances, which have a kink of some order at 0, and the least degree of their polynomial."""
_OF_SQUARES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "multiquadric": (lambda s: -pnp.sqrt(s + 1.0), 0),
    "inverse_multiquadric": (lambda s: 1.0 / pnp.sqrt(s + 1.0), -1),
    "inverse_quadratic": (lambda s: 1.0 / (s + 1.0), -1),
    "gaussian": (lambda s: pnp.exp(-s), -1),
}
"""Kernels of squared distances, which are smooth to every order, and the least degree of their polynomial."""


class RBFInterpolator:
    """Interpolation by radial functions of all points, as SciPy's; `neighbors` is for plain arrays.

    The values, the points of both kinds, the smoothing and epsilon may be traced. Where a query point is a data point,
    derivatives of the kernels with a kink are 0, from the order on at which they have none: the first one of 'linear',
    the third of 'cubic', the fifth of 'quintic'; the second of 'thin_plate_spline' is infinite, and NaN here.

    Args:
        y: data points (points, axes).
        d: their values (points, ...).
        neighbors: how many of the nearest points count, of plain arrays.
        smoothing: by how much values may be missed, one number or one for each point.
        kernel: 'linear', 'thin_plate_spline', 'cubic', 'quintic', 'multiquadric', 'inverse_multiquadric',
            'inverse_quadratic' or 'gaussian'.
        epsilon: what distances are multiplied by, 1 by default for the first four kernels.
        degree: of the polynomial that is added, −1 for none.

    Raises:
        ShapeError: if shapes do not fit, or there are fewer points than the polynomial has terms.
        DomainError: for an unknown kernel, a degree below −1, or no epsilon where one is needed.
        NotDifferentiableError: for neighbors of traced arrays.
        MatrixError: for a point that is given twice, without smoothing, and points on which the polynomial is not
            unique; under `jit` with traced points all values are NaN then.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy.interpolate import RBFInterpolator
        >>> y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> value = lambda d: RBFInterpolator(y, d)(np.array([[0.5, 0.25]]))[0]
        >>> print(primad.grad(value)(np.array([0.0, 1.0, 2.0, 3.0])).round(3))
        [0.375 0.375 0.125 0.125]
    """

    @entrance
    def __init__(
        self, y: Any, d: Any, neighbors: int | None = None, smoothing: Any = 0.0, kernel: str = "thin_plate_spline",
        epsilon: Any = None, degree: int | None = None,
    ) -> None:  # fmt: skip
        self._own, self._solution = None, None
        if not is_recorded((y, d, smoothing, epsilon)):
            self._own = own("RBFInterpolator")(y, d, neighbors, smoothing, kernel, epsilon, degree)
        self.neighbors, self.kernel = neighbors, kernel.lower()
        self.y, self.d, self.smoothing = in_double(y), in_double(d), in_double(smoothing)
        least = _least_degree(self.kernel, epsilon)
        self.epsilon = 1.0 if epsilon is None else epsilon
        self.degree = max(least, 0) if degree is None else int(degree)
        if self._own is None:
            self._check(least)
            self._solution = self._solve()

    def _check(self, least: int) -> None:
        """Raise for shapes, degrees and options that do not fit; warn, as SciPy does, of a degree that is too low."""
        _check_neighbors(self.neighbors)
        rows = self.y.shape[:1]
        if self.y.ndim != 2 or self.d.shape[:1] != rows or self.smoothing.shape not in ((), rows):
            raise ShapeError(
                f"RBFInterpolator: values of shape {self.d.shape} and smoothing of shape {self.smoothing.shape} at "
                f"points of shape {self.y.shape}",
                fix="give points (points, axes), one value for each, and smoothing as one number or one for each.",
            )
        if self.degree < -1:
            raise DomainError(f"RBFInterpolator: degree={self.degree}", fix="give −1, for no polynomial, or more.")
        terms = math.comb(self.degree + self.y.shape[1], self.y.shape[1])
        if self.degree >= 0 and terms > rows[0]:
            raise ShapeError(
                f"RBFInterpolator: {rows[0]} points for the {terms} terms of a polynomial of degree {self.degree}",
                fix="give more points, or a lower degree.",
            )
        if -1 < self.degree < least:
            warn(f"`degree` should not be below {least} except -1 when `kernel` is '{self.kernel}'.")

    def _solve(self) -> tuple[Any, Any, Any]:
        """Return the middle and the half width of the points, and the coefficients of kernels and monomials.

        What is interpolated does not depend on where monomials are centred, so these have no derivative.
        """
        count = self.y.shape[0]
        low, high = pnp.min(self.y, axis=0), pnp.max(self.y, axis=0)
        middle, width = stop_gradient((0.5 * (high + low), 0.5 * (high - low)))
        width = pnp.where(width == 0.0, 1.0, width)
        terms = self._monomials((self.y - middle) / width)
        corner = np.zeros((terms.shape[1], terms.shape[1]))
        matrix = pnp.block([[self._of_itself(count), terms], [terms.T, corner]])
        matrix = defined_where(self._is_regular(terms), matrix)
        values = pnp.reshape(self.d, (count, -1))
        right = pnp.concatenate([values, pnp.zeros((terms.shape[1], values.shape[1]), values.dtype)])
        return middle, width, pnp.linalg.solve(matrix, right)

    def _is_regular(self, terms: Any) -> Any:
        """Say whether all points count once, which is plain where they are known; raise where that would divide by 0.

        A solver finds a pivot of 0 by chance only: up to rounding it is another small number.
        """
        exact = pnp.broadcast_to(self.smoothing == 0.0, self.y.shape[:1])
        same = pnp.all(self.y[:, None, :] == self.y[None, :, :], axis=-1) & exact[:, None] & exact[None, :]
        regular = pnp.logical_not(pnp.any(same & ~np.eye(len(self.y), dtype=bool)))
        try:
            twice, rank = not values_of(regular, "two equal points"), np.linalg.matrix_rank(values_of(terms, "a rank"))
        except TracingError as error:
            if error.only_types:
                return regular
            raise
        if twice:
            raise MatrixError(
                "RBFInterpolator: a point is given twice, so the matrix is singular",
                fix="give each point once, such as the mean of its values, or smoothing > 0.",
            )
        if terms.shape[1] and rank < terms.shape[1]:
            raise MatrixError(
                f"RBFInterpolator: points on which polynomials of degree {self.degree} are not distinct, so the matrix "
                "is singular",
                fix="give a lower degree (−1 for none), or points that do not lie on one line or plane.",
            )
        return regular

    def _of_itself(self, count: int) -> Any:
        """Return the kernels between data points, and the smoothing; what is 0 of distances has no derivative."""
        same = np.eye(count, dtype=bool)
        away = pnp.where(same[:, :, None], 1.0, self.y[:, None, :] - self.y[None, :, :])
        return pnp.where(same, self._kernel(np.zeros((1, 1))) + self.smoothing, self._kernel(away))

    def _kernel(self, away: Any) -> Any:
        """Return the kernel of vectors, which are along the last axis."""
        away = away * self.epsilon
        if self.kernel in _OF_SQUARES:
            return _OF_SQUARES[self.kernel][0](pnp.sum(away * away, axis=-1))
        return _OF_DISTANCES[self.kernel][0](pnp.linalg.norm(away, axis=-1))

    def _monomials(self, x: Any) -> Any:
        """Return the terms (points, terms) of a polynomial of the degree."""
        axes, found = range(x.shape[1]), [np.ones(x.shape[0])]
        for degree in range(1, self.degree + 1):
            for places in itertools.combinations_with_replacement(axes, degree):
                found.append(math.prod(x[:, place] for place in places))
        return pnp.stack(found, axis=1) if self.degree >= 0 else np.zeros((x.shape[0], 0))

    @entrance
    def __call__(self, x: Any) -> Any:
        """Return values at points.

        Args:
            x: points (points, axes).
        """
        if self._own is not None and not is_recorded(x):
            return self._own(x)
        _check_neighbors(self.neighbors)
        x = in_double(x)
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ShapeError(
                f"RBFInterpolator: query points of shape {x.shape} for data points of shape {self.y.shape}",
                fix="give points (points, axes), x[None] of one.",
            )
        if self._solution is None:
            self._solution = self._solve()
        middle, width, solution = self._solution
        kernels = self._kernel(x[:, None, :] - self.y[None, :, :])
        rows = pnp.concatenate([kernels, self._monomials((x - middle) / width)], axis=1)
        return pnp.reshape(rows @ solution, (x.shape[0], *self.d.shape[1:]))


def _least_degree(kernel: str, epsilon: Any) -> int:
    """Return the least degree of the polynomial of a kernel."""
    known = _OF_DISTANCES | _OF_SQUARES
    if kernel not in known:
        raise DomainError(f"RBFInterpolator: kernel={kernel!r}", fix=f"give one of {', '.join(map(repr, known))}.")
    if epsilon is None and kernel in _OF_SQUARES:
        raise DomainError(
            f"RBFInterpolator: kernel={kernel!r} without epsilon",
            why="It has a width, which depends on the unit of the distances.",
            fix="give epsilon, one over the distance to which points are to have an influence.",
        )
    return known[kernel][1]


def _check_neighbors(neighbors: int | None) -> None:
    if neighbors is not None:
        raise NotDifferentiableError(
            f"RBFInterpolator: neighbors={neighbors} on traced arrays",
            why="The values jump where another point becomes one of the nearest.",
            fix="leave neighbors out, and all points count.",
        )
