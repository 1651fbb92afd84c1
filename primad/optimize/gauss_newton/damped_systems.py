"""The damped linear system of a Gauss-Newton step, solved in the space of the parameters or of the residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primad.optimize.gauss_newton.damping import scales
from primad.optimize.gauss_newton.residual_models import Residuals
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.parallel.threads import single_threaded_blas

ALONE = 1500
"""Rows of a matrix up to which BLAS runs on one thread: on busy cores its threads would wait for each other."""
Matrix = np.ndarray[Any, np.dtype[np.float64]]


class System(ABC):
    """The equations (JᵀJ + λD) v = −Jᵀr at some parameters.

    Args:
        residuals: the function.
        params: where.
        data: its other arguments.
        scaling: the power of the diagonal of JᵀJ in D.

    Attributes:
        gradient: Jᵀr.
        scale: D.
    """

    gradient: Vector
    scale: Vector

    def __init__(self, residuals: Residuals, params: Tree, data: Sequence[Any], scaling: float) -> None:
        self._residuals, self._params, self._data = residuals, params, data
        self._factor: Any = None
        self._collect()
        self.scale = scales(self._diagonal(), scaling)

    @abstractmethod
    def _collect(self) -> None:
        """Compute the Jacobian, and what of it is kept."""

    @abstractmethod
    def _diagonal(self) -> Vector:
        """Return the diagonal of JᵀJ."""

    @abstractmethod
    def _damped(self, damping: float) -> Matrix:
        """Return the matrix to factor, of which the lower triangle counts."""

    @abstractmethod
    def straight(self) -> Vector:
        """Return v."""

    @abstractmethod
    def bent(self, straight: Vector) -> Vector:
        """Return a, with (JᵀJ + λD) a = −Jᵀr″ and the second derivatives r″ along v."""

    def factor(self, damping: float) -> bool:
        """Factor the system for a value of λ; say whether it is positive definite in floating point."""
        from scipy.linalg import LinAlgError, cho_factor  # loads when a step is made

        matrix = self._damped(damping)
        try:
            self._factor = _quietly(
                len(matrix), lambda: cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            )
        except LinAlgError:
            return False
        return True

    def _solved(self, right: Vector) -> Vector:
        from scipy.linalg import cho_solve

        found: Vector = _quietly(right.size, lambda: cho_solve(self._factor, right, check_finite=False))
        return found


def _quietly(rows: int, work: Callable[[], Any]) -> Any:
    """Run linear algebra, of small matrices on one thread."""
    return single_threaded_blas(work) if rows <= ALONE else work()


class InParameters(System):
    """As many equations as parameters: JᵀJ is summed up block by block, in one triangle, and J is never whole."""

    def _collect(self) -> None:
        from scipy.linalg.blas import dsyrk

        size = Space.of(self._params).size

        def sums(blocks: Iterable[tuple[Matrix, Matrix]]) -> list[Any]:
            square, gradient = np.zeros((size, size), order="F"), np.zeros(size)
            for residuals, rows in blocks:
                _quietly(size, partial(dsyrk, 1.0, rows.T, beta=1.0, c=square, lower=1, overwrite_c=1))
                gradient += _quietly(size, partial(np.matmul, residuals, rows))
            return [square.T, gradient]

        like = [np.broadcast_to(0.0, (size, size)), np.zeros(size)]
        square, self.gradient = self._residuals.summed(sums, like, self._params, *self._data)
        self._square = square.T

    def _diagonal(self) -> Vector:
        return self._square.diagonal().copy()

    def _damped(self, damping: float) -> Matrix:
        found = self._square.copy(order="F")
        found.ravel("K")[:: len(found) + 1] += damping * self.scale
        return found

    def straight(self) -> Vector:
        """Return v."""
        return -self._solved(self.gradient)

    def bent(self, straight: Vector) -> Vector:
        """Return a."""
        return -self._solved(self._residuals.bend(self._params, straight, *self._data))


class InResiduals(System):
    """As many equations as residuals: (JᵀJ + λD)⁻¹Jᵀ = D⁻¹Jᵀ(JD⁻¹Jᵀ + λI)⁻¹, by Woodbury's identity."""

    def _collect(self) -> None:
        blocks = [*self._residuals.rows(self._params, *self._data)]
        self._values = np.concatenate([residuals for residuals, _ in blocks])
        self._rows: Matrix = np.concatenate([rows for _, rows in blocks])
        self.gradient = self._values @ self._rows
        self._square: Matrix | None = None

    def _diagonal(self) -> Vector:
        found: Vector = np.einsum("ij,ij->j", self._rows, self._rows)
        return found

    def _damped(self, damping: float) -> Matrix:
        if self._square is None:
            from scipy.linalg.blas import dsyrk

            scaled = self._rows / np.sqrt(self.scale)
            self._square = _quietly(len(scaled), lambda: dsyrk(1.0, scaled.T, trans=1, lower=1))
        found = self._square.copy(order="F")
        found.ravel("K")[:: len(found) + 1] += damping
        return found

    def _spread(self, weights: Vector) -> Vector:
        """Return D⁻¹Jᵀ times weights of the residuals."""
        found: Vector = (weights @ self._rows) / self.scale
        return found

    def straight(self) -> Vector:
        """Return v."""
        return -self._spread(self._solved(self._values))

    def bent(self, straight: Vector) -> Vector:
        """Return a."""
        return -self._spread(self._solved(self._residuals.bends(self._params, straight, *self._data)))
