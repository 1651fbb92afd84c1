"""Derivatives on equal grids: differences of an order, as sparse matrices, or of all orders, by Fourier transforms."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.pde.fields.spectral_derivatives import spectral_derivative

Array = np.ndarray[Any, Any]


def weights(offsets: Array, derivative: int) -> Array:
    """Return what values at offsets from a point are multiplied by for a derivative there, for polynomials exactly."""
    found = []
    for own in offsets:
        others = np.array([x for x in offsets if x != own], np.float64)
        basis = np.poly(others)[::-1]  # of Lagrange, with whole numbers, which are exact
        found.append(factorial(derivative) * basis[derivative] / np.prod(own - others))
    return np.array(found)


def stencil(place: int, count: int, derivative: int, order: int) -> Array:
    """Return the points of a line from which a derivative at one of them is taken: around it, or those at an end."""
    reach = (derivative + order - 1) // 2
    if reach <= place < count - reach:
        return np.arange(place - reach, place + reach + 1)
    size = derivative + order
    first = min(max(place - size // 2, 0), count - size)
    return np.arange(first, first + size)


def line_matrix(count: int, step: float, derivative: int, order: int, periodic: bool) -> Any:
    """Return the sparse matrix that takes values on a line to a derivative there.

    Args:
        count: how many points there are.
        step: their distance.
        derivative: how often is differentiated.
        order: of the error.
        periodic: whether the first point is the next after the last.
    """
    from scipy.sparse import csr_array  # loads when it is called

    rows, columns, entries = [], [], []
    for place in range(count):
        points = stencil(count if periodic else place, 3 * count if periodic else count, derivative, order)
        near = points - count + place if periodic else points
        rows.append(np.full(len(points), place))
        columns.append(near % count)
        entries.append(weights(near - place, derivative) / step**derivative)
    placed = (np.concatenate(rows), np.concatenate(columns))
    return csr_array((np.concatenate(entries), placed), shape=(count, count))


class Differences:
    """Derivatives of values on a grid by differences.

    Args:
        counts: points along each axis.
        steps: their distances.
        periodic: whether each axis repeats.
        order: of the errors.
    """

    def __init__(self, counts: tuple[int, ...], steps: tuple[float, ...], periodic: list[bool], order: int) -> None:
        self._counts, self._steps, self._periodic, self._order = counts, steps, periodic, order
        self._matrices: dict[tuple[int, int], Any] = {}

    def line(self, axis: int, derivative: int) -> Any:
        """Return the matrix of a derivative along one axis, for values on a line."""
        return line_matrix(self._counts[axis], self._steps[axis], derivative, self._order, self._periodic[axis])

    def __call__(self, values: Any, orders: tuple[int, ...]) -> Any:
        """Return a derivative of values, a row for all points: how often along each axis is given."""
        from scipy.sparse import eye_array, kron  # loads when it is called

        for axis, derivative in enumerate(orders):
            if not derivative:
                continue
            if (axis, derivative) not in self._matrices:
                before, after = int(np.prod(self._counts[:axis])), int(np.prod(self._counts[axis + 1 :]))
                whole = kron(kron(eye_array(before), self.line(axis, derivative)), eye_array(after))
                self._matrices[axis, derivative] = whole.tocsr()
            values = self._matrices[axis, derivative] @ values
        return values


class Spectral:
    """Derivatives of values on a periodic grid by Fourier transforms.

    Args:
        counts: points along each axis.
        steps: their distances.
    """

    def __init__(self, counts: tuple[int, ...], steps: tuple[float, ...]) -> None:
        self._counts, self._steps = counts, steps

    def __call__(self, values: Any, orders: tuple[int, ...]) -> Any:
        """Return a derivative of values, a row for all points: how often along each axis is given."""
        found = pnp.reshape(values, self._counts)
        for axis, derivative in enumerate(orders):
            if derivative:
                period = self._counts[axis] * self._steps[axis]
                found = spectral_derivative(found, period, derivative, axis)
        return pnp.reshape(found, (-1,))
