"""Newton and Gauss-Newton methods that need products with the matrix only: conjugate gradients, truncated."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from primad.errors import ShapeError
from primad.optimize.gauss_newton.damping import Damping, check_numbers, scales
from primad.optimize.gauss_newton.linearized_residuals import Linearized
from primad.optimize.gauss_newton.residual_models import Loss, Residuals, finite
from primad.optimize.parameter_vectors import Space, Tree, Vector, check_counts
from primad.parallel.threads import single_threaded_blas
from primad.system.machine import SPARE_BYTES

__all__ = ["GaussNewtonCG", "NewtonCG", "NewtonCGState"]

M = TypeVar("M", Loss, Residuals)
KEPT = 0.8
"""How much of the running mean of the diagonal is kept in a step."""


@dataclass(frozen=True)
class NewtonCGState:
    """How far the quadratic model is trusted, and how it is scaled; arrays and numbers only.

    Attributes:
        step: how many steps were made.
        evaluations: how often the function was computed, without those beside its gradient.
        products: how many products with the matrix were made.
        value: the function at the parameters, with the last step's data; NaN before the first step.
        gradient: its gradient where the last step began, as one float64 vector.
        diagonal: running mean of the matrix's diagonal, or of estimates of it.
        forcing: how much of the gradient the last system was allowed to leave.
        damping: λ of the next step.
        growth: by how much λ grows if that fails.
        stalled: whether the last step found nothing lower: for its data the parameters are at a minimum, up to
            rounding.
    """

    step: Any
    evaluations: Any
    products: Any
    value: Any
    gradient: Any
    diagonal: Any
    forcing: Any
    damping: Any
    growth: Any
    stalled: Any


@dataclass(frozen=True)
class _Solved:
    """An approximate solution of a system, the decrease that its model promises, and the products that it took."""

    move: Vector
    promised: float
    products: int


@dataclass(frozen=True)
class _Truncated(ABC, Generic[M]):
    """What both methods share: the damped system (B + λD) v = −g, solved as well as the step deserves."""

    damping: float = 1e-3
    scaling: float = 0.5
    forcing: float = 0.1
    iterations: int = 250
    probes: int = 4
    tries: int = 15
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        if not 0 < self.forcing < 1:
            raise ShapeError(
                f"{type(self).__name__}: forcing must be between 0 and 1, got {self.forcing}",
                fix="leave it out for 0.1.",
            )
        check_counts(self, "iterations", "probes", "tries")

    @abstractmethod
    def compile(self, function: Callable[..., Any]) -> M:
        """Return what `update` takes of a function."""

    @abstractmethod
    def _expected(self) -> type[M]:
        """Return what `update` takes."""

    def init(self, params: Tree) -> NewtonCGState:
        """Return the state before the first step.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        size = Space.of(params).size
        return NewtonCGState(
            step=np.int64(0),
            evaluations=np.int64(0),
            products=np.int64(0),
            value=np.float64(np.nan),
            gradient=np.zeros(size),
            diagonal=np.zeros(size),
            forcing=np.float64(self.forcing),
            damping=np.float64(self.damping),
            growth=np.float64(2.0),
            stalled=np.bool_(False),
        )

    def update(self, params: Tree, state: NewtonCGState, function: M, *data: Any) -> tuple[Tree, NewtonCGState]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            state: what `init` or the last step returned.
            function: what `compile` made of the function.
            *data: its other arguments, which may change from step to step.

        Returns:
            the new parameters, where the function is lower, and the new state; the old parameters and a state that is
            `stalled` where no λ led lower.

        Raises:
            ShapeError: if the state belongs to other parameters, or the function does not return what it should.
            NotFiniteError: if the function or its gradient is NaN or infinite at the parameters.
        """
        name = type(self).__name__
        if not isinstance(function, self._expected()):
            raise ShapeError(
                f"{name}.update: expected a compiled function, got {type(function).__name__}",
                fix="pass f = rule.compile(function), made once before the loop.",
            )
        space = Space.of(params)
        space.check_state(state.gradient)
        at = function.linearized(params, *data)
        value, gradient = at.value, at.gradient
        if not finite(value, gradient):
            raise function.not_finite(name, params, data)
        rng = np.random.Generator(np.random.Philox(key=[self.seed, int(state.step)]))
        diagonal = self._diagonal(function, params, data, rng)
        mean = KEPT * state.diagonal + (1 - KEPT) * diagonal
        told = replace(
            state,
            step=state.step + 1,
            value=np.float64(value),
            gradient=gradient,
            diagonal=mean,
            forcing=np.float64(self._forcing(state, gradient)),
        )
        curvature = np.abs(mean) / (1 - KEPT ** float(told.step))
        # BLAS shares even inner products among its threads, which wait busily then, where products with J are to run.
        found: tuple[Tree, NewtonCGState] = single_threaded_blas(
            lambda: self._descend(params, told, function, data, at, curvature)
        )
        return found

    def _descend(
        self, params: Tree, told: NewtonCGState, function: M, data: Any, at: Linearized, curvature: Vector
    ) -> tuple[Tree, NewtonCGState]:
        """Try steps with more and more damping until one goes down."""
        value, gradient = at.value, at.gradient
        space, scale = Space.of(params), scales(curvature, self.scaling)
        damping = Damping(float(told.damping), float(told.growth))
        calls, products, origin = int(told.evaluations), int(told.products), space.vector(params)

        def counted(found: NewtonCGState) -> NewtonCGState:
            return replace(found, evaluations=np.int64(calls), products=np.int64(products))

        def product(added: Vector) -> Callable[[Vector], Vector]:
            return lambda v: at.product(v) + added * v

        for _ in range(self.tries if np.any(gradient) else 0):
            added = damping.amount * scale

            solved = conjugate_gradients(
                product(added), gradient, scales(curvature, 1.0) + added, float(told.forcing), self.iterations
            )
            products += solved.products
            # What λ adds is no part of the model whose promise is compared.
            promised = solved.promised + 0.5 * float(added @ solved.move**2)
            if promised > 0 and np.all(np.isfinite(solved.move)):
                there = space.tree(origin + solved.move)
                found = function.value(there, *data)
                calls += 1
                if found < value:
                    damping = damping.followed((value - found) / promised)
                    return there, counted(
                        replace(
                            told,
                            value=np.float64(found),
                            damping=np.float64(damping.amount),
                            growth=np.float64(damping.growth),
                            stalled=np.bool_(False),
                        )
                    )
            damping = damping.raised()
        # The damping stays as it was: with other data it may be right.
        return params, counted(replace(told, stalled=np.bool_(True)))

    def _diagonal(self, function: M, params: Tree, data: Any, rng: np.random.Generator) -> Vector:
        exact = function.exact_diagonal(params, *data)
        if exact is not None:
            return exact
        found: Vector = np.mean([function.diagonal(params, rng, *data) for _ in range(self.probes)], axis=0)
        return found

    def _forcing(self, state: NewtonCGState, gradient: Vector) -> float:
        """Return how much of the gradient may be left (Eisenstat & Walker 1996, choice 2 with its safeguard)."""
        with np.errstate(over="ignore"):  # of a function that falls without bound
            before, now = float(np.linalg.norm(state.gradient)), float(np.linalg.norm(gradient))
        if not before:
            return self.forcing
        found = 0.9 * (now / before) ** 2
        kept = 0.9 * float(state.forcing) ** 2
        return min(self.forcing, max(found, kept if kept > 0.1 else 0.0, 1e-8))


def conjugate_gradients(
    product: Callable[[Vector], Vector], gradient: Vector, diagonal: Vector, tolerance: float, most: int
) -> _Solved:
    """Solve A v = −g approximately, preconditioned by a diagonal (Jacobi).

    It ends where the residual is small, where it has made `most` products, or, as Steihaug (1983) does, where a
    direction of no positive curvature shows that A is not positive definite: with what there is by then, or with that
    direction if it is the first.
    """
    found = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / diagonal
    direction, inner = scaled, float(residual @ scaled)
    enough = tolerance * math.sqrt(inner)
    for count in range(1, most + 1):
        image = product(direction)
        bend = float(direction @ image)
        if not bend > 0:
            if count == 1:
                return _Solved(direction, -float(gradient @ direction) - 0.5 * bend, count)
            break
        length = inner / bend
        found = found + length * direction
        residual = residual - length * image
        scaled = residual / diagonal
        inner, last = float(residual @ scaled), inner
        if not math.sqrt(max(inner, 0.0)) > enough:
            break
        direction = scaled + (inner / last) * direction
    # vᵀAv is −v·(g + residual).
    return _Solved(found, 0.5 * float(found @ (residual - gradient)), count)


@dataclass(frozen=True)
class GaussNewtonCG(_Truncated[Residuals]):
    """Gauss-Newton without matrices, for residuals with many parameters: a damped system, solved by products JᵀJv.

    (JᵀJ + λD) v = −Jᵀr is solved by conjugate gradients with the diagonal as preconditioner, as far as Eisenstat &
    Walker (1996) ask; λ follows the gain ratio (Nielsen 1999), D is a power of the diagonal of JᵀJ. The diagonal itself
    is computed where the Jacobian is small; otherwise it is a running mean of (Jᵀz)² with random signs z, whose mean it
    is. A step needs a few vectors as long as the parameters, and up to `memory` for what products need of the points; a
    product runs a tile of points at a time. It begins with the residuals as they are, so data may be drawn anew before
    any.

    Attributes:
        damping: λ of the first step.
        scaling: the power of the diagonal in D: 0 for Levenberg's identity, 1 for Marquardt's diagonal.
        forcing: the largest part of the gradient that a system may leave.
        iterations: the most products for a system.
        probes: how many random vectors estimate the diagonal in a step.
        tries: how many values of λ a step may try.
        seed: of the random vectors, which depend on it and on the number of the step alone.
        memory: bytes that a step may keep for its products; of further points they compute all again.

    Example:
        >>> import numpy as np, primad
        >>> rule = primad.optimize.GaussNewtonCG()
        >>> f = rule.compile(lambda x: (10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]))
        >>> x = np.linspace(-1.0, 1.0, 20)
        >>> state = rule.init(x)
        >>> while not state.stalled and state.step < 100:
        ...     x, state = rule.update(x, state, f)
        >>> np.allclose(x, 1.0)
        True
    """

    memory: int = SPARE_BYTES

    def compile(self, function: Callable[..., Any]) -> Residuals:
        """Return what `update` takes of a residual function.

        Args:
            function: a function (parameters, *data) that returns an array or a tree of arrays.
        """
        return Residuals(function, memory=self.memory)

    def _expected(self) -> type[Residuals]:
        return Residuals


@dataclass(frozen=True)
class NewtonCG(_Truncated[Loss]):
    """Newton's method without matrices, for losses with many parameters: as `GaussNewtonCG`, by products Hv.

    The Hessian H may have negative eigenvalues: a direction of negative curvature ends a system (Steihaug 1983), and
    λ grows until the step goes down. The diagonal is a running mean of z·Hz with random signs z.

    Attributes:
        damping: λ of the first step; the other attributes are those of `GaussNewtonCG`.

    Example:
        >>> import numpy as np, primad
        >>> def rosenbrock(x):
        ...     return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
        >>> rule = primad.optimize.NewtonCG()
        >>> f = rule.compile(rosenbrock)
        >>> x = np.zeros(20)
        >>> state = rule.init(x)
        >>> while not state.stalled and state.step < 100:
        ...     x, state = rule.update(x, state, f)
        >>> np.allclose(x, 1.0)
        True
    """

    def compile(self, function: Callable[..., Any]) -> Loss:
        """Return what `update` takes of a loss.

        Args:
            function: a function (parameters, *data) of one number.
        """
        return Loss(function)

    def _expected(self) -> type[Loss]:
        return Loss
