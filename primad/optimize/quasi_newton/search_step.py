"""What quasi-Newton methods share: a line search along the direction that a model of the inverse Hessian gives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from primad.errors import ShapeError
from primad.functional.derivatives.gradients import value_and_grad as with_gradient
from primad.functional.export.distribute import compiler_of
from primad.optimize.parameter_vectors import Space, Tree, Vector, check_counts, flat_like, not_finite
from primad.optimize.quasi_newton.line_search import LinePoint, strong_wolfe
from primad.recording.tracing import type_of

ValueAndGrad = Callable[..., tuple[Any, Tree]]
Point = tuple[Tree, float, Vector]
"""Parameters, the function there, and its gradient."""
S = TypeVar("S", bound="QuasiNewtonState")


@dataclass(frozen=True, kw_only=True)
class QuasiNewtonState:
    """Where a search is; arrays and numbers only.

    Attributes:
        step: how many steps were made.
        evaluations: how often the function was computed.
        value: the function at the parameters; where it is NaN, as before the first step, `update` computes it anew.
        gradient: its gradient there, as one float64 vector.
        kept: how many changes of the gradient were stored.
        stalled: whether the last step found nothing lower: the parameters are at a minimum, up to rounding.
    """

    step: Any
    evaluations: Any
    value: Any
    gradient: Any
    kept: Any
    stalled: Any


class QuasiNewton(ABC, Generic[S]):
    """A search by steps at whose end the strong Wolfe conditions hold.

    A subclass says what its state remembers and which direction that gives.
    """

    first_length: float
    evaluations: int

    def __post_init__(self) -> None:
        check_counts(self, "evaluations")
        if not self.first_length > 0:
            raise ShapeError(
                f"{type(self).__name__}: first_length must be positive, got {self.first_length}",
                fix="leave it out for 1.",
            )

    def init(self, params: Tree) -> S:
        """Return the state before the first step.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        size = Space.of(params).size
        return self._started(
            size,
            step=np.int64(0),
            evaluations=np.int64(0),
            value=np.float64(np.nan),
            gradient=np.zeros(size),
            kept=np.int64(0),
            stalled=np.bool_(False),
        )

    @abstractmethod
    def _started(self, size: int, **fields: Any) -> S:
        """Return the state of a search among so many numbers, with the fields that all states have."""

    @abstractmethod
    def _scaled(self, gradient: Vector, state: S, kept: int) -> Vector:
        """Multiply a vector by the model of the inverse Hessian that the last changes give; by 1 if there are none."""

    @abstractmethod
    def _remember(self, state: S, kept: int, found: LinePoint, before: Vector, move: Vector) -> S:
        """Store the change of the gradient that belongs to a move."""

    def compile(self, loss: Callable[..., Any]) -> ValueAndGrad:
        """Return what `update` takes of a loss: its value and gradient, compiled.

        Args:
            loss: a function (parameters, *data) of one number.
        """
        loss, run = compiler_of(loss)
        return run(with_gradient(loss))

    def update(self, params: Tree, state: S, value_and_grad: ValueAndGrad, *data: Any) -> tuple[Tree, S]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            state: what `init` or the last step returned. If the function has changed since (other data, another
                penalty), and the step shows it, the search starts anew from its value now.
            value_and_grad: a function of the parameters and the data that returns a number and a tree like the
                parameters: what `compile` makes of a loss, or `primad.jit(primad.value_and_grad(loss))`.
            *data: its other arguments.

        Returns:
            the new parameters, where the function is lower, and the new state; the old parameters and a state that is
            `stalled` where no lower point was found.

        Raises:
            ShapeError: if the state belongs to other parameters, or the function does not return what it should.
            NotFiniteError: if the function or its gradient is NaN or infinite at the parameters.
        """
        space = Space.of(params)
        space.check_state(state.gradient)
        origin = space.vector(params)
        calls = int(state.evaluations)
        name = type(self).__name__

        def at(point: Vector) -> Point:
            nonlocal calls
            calls += 1
            there = space.tree(point)
            value, gradient = _pair(value_and_grad(there, *data), name)
            return there, value, flat_like(space.structure, gradient, "the gradient")

        def finite(there: Tree, value: float, gradient: Vector) -> tuple[float, Vector]:
            if not (math.isfinite(value) and np.all(np.isfinite(gradient))):
                raise not_finite(name, there, data, [("the value", value), ("the gradient ", space.tree(gradient))])
            return value, gradient

        value, gradient = float(state.value), np.asarray(state.gradient)
        kept, known = int(state.kept), not math.isnan(value)
        if not known:
            value, gradient = finite(*at(origin))
        found, kept = self._search(at, origin, value, gradient, state, kept)
        if known and (found is None or _doubtful(value, gradient, found, space.vector(found.data[0]) - origin)):
            # Another function than in the last step would make the values that the state holds meaningless.
            now, slope = finite(*at(origin))
            if not _same(value, gradient, now, slope):
                value, gradient = now, slope
                found, kept = self._search(at, origin, value, gradient, state, 0)
        told = replace(state, step=state.step + 1, evaluations=np.int64(calls), value=np.float64(value))
        if found is None:
            return params, replace(told, gradient=gradient, stalled=np.bool_(True))
        there, after = found.data
        told = replace(told, value=np.float64(found.value), gradient=after, stalled=np.bool_(False))
        return there, self._remember(told, kept, found, gradient, space.vector(there) - origin)

    def _search(
        self,
        at: Callable[[Vector], Point],
        origin: Vector,
        value: float,
        gradient: Vector,
        state: S,
        kept: int,
    ) -> tuple[LinePoint | None, int]:
        """Return the end of a line search, and how many changes of the gradient its direction used."""
        # Where the remembered curvature leads nowhere, the gradient itself may still.
        for count in (kept, 0) if kept else (0,):
            with np.errstate(over="ignore", invalid="ignore"):  # of a function that falls without bound
                direction = -self._scaled(gradient, state, count)
            start = LinePoint(0.0, value, _product(gradient, direction))
            if not start.slope < 0:
                continue
            norm = float(np.sum(np.abs(gradient)))
            length = 1.0 if count else min(1.0, self.first_length / norm)

            def along(length: float, direction: Vector = direction) -> LinePoint:
                there, value, gradient = at(origin + length * direction)
                return LinePoint(length, value, _product(gradient, direction), (there, gradient))

            found = strong_wolfe(along, start, length, self.evaluations)
            if found is not None:
                return found, count
        return None, 0


def curved(move: Vector, change: Vector) -> bool:
    """Say whether a change of the gradient shows that the function is convex along the move, beyond rounding."""
    return _product(move, change) > 1e-10 * math.sqrt(_product(change, change)) * math.sqrt(_product(move, move))


def _product(a: Vector, b: Vector) -> float:
    """Return the inner product, which overflows where a function falls without bound."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(a @ b)


def _pair(result: Any, name: str) -> tuple[float, Any]:
    """Return what a `value_and_grad` function returned, a number and a gradient."""
    wanted = "pass primad.jit(primad.value_and_grad(loss)), which returns a number and the gradient."
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        kind = type_of(result) if isinstance(result, (np.ndarray, np.generic, float)) else type(result).__name__
        raise ShapeError(f"{name}.update: value_and_grad returned {kind}, not a pair (value, gradient)", fix=wanted)
    value, gradient = result
    if isinstance(value, (tuple, list, dict)) or np.size(value) != 1:
        found = type(value).__name__ if isinstance(value, (tuple, list, dict)) else type_of(value)
        raise ShapeError(f"{name}.update: the value is {found}, not one number", fix=f"leave has_aux out; {wanted}")
    return float(np.reshape(value, ())), gradient


def _doubtful(value: float, gradient: Vector, found: LinePoint, move: Vector) -> bool:
    """Say whether the change of the function is far from what the slopes at both ends of the step promise.

    A rough function may do that, too: then the doubt costs one evaluation.
    """
    promised = 0.5 * float((gradient + found.data[1]) @ move)
    return abs(found.value - value - promised) > abs(float(gradient @ move))


def _same(value: float, gradient: Vector, now: float, slope: Vector) -> bool:
    """Say whether a function at a point is what it was there, up to rounding."""
    near = abs(now - value) <= 1e-9 * abs(value)
    return near and float(np.max(np.abs(slope - gradient), initial=0.0)) <= 1e-6 * float(
        np.max(np.abs(gradient), initial=0.0)
    )
