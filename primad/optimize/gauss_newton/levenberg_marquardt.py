"""The Levenberg-Marquardt method for residuals, in the space of the parameters or of the residuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from primad.errors import MemoryLimitError, ShapeError
from primad.optimize.gauss_newton.damped_systems import InParameters, InResiduals, System
from primad.optimize.gauss_newton.damping import Damping, check_numbers
from primad.optimize.gauss_newton.residual_models import Residuals, finite
from primad.optimize.parameter_vectors import Space, Tree, Vector, check_counts
from primad.parallel.shares import shares_in
from primad.recording import tree
from primad.system.machine import physical_memory

__all__ = ["LevenbergMarquardt", "LevenbergMarquardtState"]


@dataclass(frozen=True)
class LevenbergMarquardtState:
    """How far the linear model is trusted; arrays and numbers only.

    Attributes:
        step: how many steps were made.
        evaluations: how often the residuals were computed, without those beside their derivatives.
        value: half the sum of the squares of the residuals, at the parameters, with the last step's data; NaN before
            the first step.
        gradient: its gradient where the last step began, as one float64 vector.
        damping: λ of the next step.
        growth: by how much λ grows if that fails.
        stalled: whether the last step found nothing lower: for its data the parameters are at a minimum, up to
            rounding.
    """

    step: Any
    evaluations: Any
    value: Any
    gradient: Any
    damping: Any
    growth: Any
    stalled: Any


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Levenberg-Marquardt with geodesic acceleration: for residuals with up to some thousands of parameters or points.

    With the Jacobian J of the residuals r and D a power of the diagonal of JᵀJ, a step is v + a/2, where
    (JᵀJ + λD) v = −Jᵀr and (JᵀJ + λD) a = −Jᵀr″ with the second derivative r″ of r along v (M. Transtrum & J. Sethna,
    arXiv:1201.5885); λ follows the gain ratio (Nielsen 1999). JᵀJ is summed up a block of points at a time: memory is
    of the order of the square of the number of parameters and does not grow with the points. Where there are fewer
    residuals than parameters, the same step comes from a system as large as the residuals, by Woodbury's identity, and
    J is kept. Each step begins with the residuals as they are, so data may be drawn anew before any.

    Attributes:
        damping: λ of the first step.
        scaling: the power of the diagonal in D: 0 for Levenberg's identity, 1 for Marquardt's diagonal.
        acceleration: the length of a, relative to that of v, up to which it bends the step; 0 for straight steps.
        space: "parameters" or "residuals", in which the system is solved; "auto" takes the smaller one.
        tries: how many values of λ a step may try.
        block: how many points are taken at a time; by default what makes 16 MiB of the Jacobian.

    Example:
        >>> import numpy as np, primad
        >>> def misfit(p, t, y):
        ...     return p["size"] * np.exp(-p["rate"] * t) - y
        >>> t = np.linspace(0.0, 1.0, 50)
        >>> rule = primad.optimize.LevenbergMarquardt()
        >>> f = rule.compile(misfit)
        >>> params = {"size": 1.0, "rate": 0.0}
        >>> state = rule.init(params)
        >>> for _ in range(10):
        ...     params, state = rule.update(params, state, f, t, 3.0 * np.exp(-2.0 * t))
        >>> print(f"{params['size']:.6f} {params['rate']:.6f}")
        3.000000 2.000000
    """

    damping: float = 1e-3
    scaling: float = 0.5
    acceleration: float = 0.75
    space: Literal["auto", "parameters", "residuals"] = "auto"
    tries: int = 15
    block: int | None = None

    def __post_init__(self) -> None:
        check_numbers(self)
        check_counts(self, "tries", *(["block"] if self.block is not None else []))
        if not self.acceleration >= 0:
            raise ShapeError(
                f"LevenbergMarquardt: acceleration must not be negative, got {self.acceleration}",
                fix="write 0 for straight steps.",
            )
        if self.space not in ("auto", "parameters", "residuals"):
            raise ShapeError(
                f"LevenbergMarquardt: there is no space {self.space!r}",
                fix='choose "auto", "parameters" or "residuals".',
            )

    def compile(self, residuals: Callable[..., Any]) -> Residuals:
        """Return what `update` takes of a residual function.

        Args:
            residuals: a function (parameters, *data) that returns an array or a tree of arrays.
        """
        return Residuals(residuals, self.block)

    def init(self, params: Tree) -> LevenbergMarquardtState:
        """Return the state before the first step.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        return LevenbergMarquardtState(
            step=np.int64(0),
            evaluations=np.int64(0),
            value=np.float64(np.nan),
            gradient=np.zeros(Space.of(params).size),
            damping=np.float64(self.damping),
            growth=np.float64(2.0),
            stalled=np.bool_(False),
        )

    def update(
        self, params: Tree, state: LevenbergMarquardtState, residuals: Residuals, *data: Any
    ) -> tuple[Tree, LevenbergMarquardtState]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            state: what `init` or the last step returned.
            residuals: what `compile` made of the residual function.
            *data: its other arguments, which may change from step to step.

        Returns:
            the new parameters, where the sum of squares is lower, and the new state; the old parameters and a state
            that is `stalled` where no λ led lower.

        Raises:
            ShapeError: if the state belongs to other parameters, or there are no residuals.
            NotFiniteError: if the residuals or their Jacobian are NaN or infinite at the parameters.
            NotDifferentiableError: if no residual depends on the parameters.
            primad.MemoryLimitError: if the matrix would not fit into memory.
        """
        if not isinstance(residuals, Residuals):
            raise ShapeError(
                f"{type(self).__name__}.update: expected compiled residuals, got {type(residuals).__name__}",
                fix="pass f = rule.compile(residuals), made once before the loop.",
            )
        space = Space.of(params)
        space.check_state(state.gradient)
        parts = residuals.parts(params, data)
        count = sum(part.size for part in parts)
        shared = any(shares_in(tree.leaves(data)))
        if shared and self.space == "residuals":
            raise ShapeError(
                'LevenbergMarquardt: the system in the space of "residuals" is not shared by processes',
                fix='choose the space "parameters".',
            )
        small = self.space == "residuals" or (self.space == "auto" and count < space.size and not shared)
        _check_memory(count, space.size, small)
        value = residuals.value(params, *data)
        if not math.isfinite(value):
            raise residuals.not_finite(type(self).__name__, params, data)
        system = (InResiduals if small else InParameters)(residuals, params, data, self.scaling)
        if not finite(value, system.gradient):
            raise residuals.not_finite(type(self).__name__, params, data)
        told = replace(state, step=state.step + 1, value=np.float64(value), gradient=system.gradient)
        damping = Damping(float(state.damping), float(state.growth))
        calls = int(state.evaluations)
        origin = space.vector(params)
        for _ in range(self.tries if np.any(system.gradient) else 0):
            move = self._move(system, damping.amount)
            if move is not None:
                step, straight = move
                there = space.tree(origin + step)
                found = residuals.value(there, *data)
                calls += 1
                if found < value:
                    promised = 0.5 * float(straight @ (damping.amount * system.scale * straight - system.gradient))
                    damping = damping.followed((value - found) / promised)
                    return there, replace(
                        told,
                        evaluations=np.int64(calls),
                        value=np.float64(found),
                        damping=np.float64(damping.amount),
                        growth=np.float64(damping.growth),
                        stalled=np.bool_(False),
                    )
            damping = damping.raised()
        # The damping stays as it was: with other data it may be right.
        return params, replace(told, evaluations=np.int64(calls), stalled=np.bool_(True))

    def _move(self, system: System, damping: float) -> tuple[Vector, Vector] | None:
        """Return a step and its straight part; None if the system cannot be solved with so little damping."""
        if not system.factor(damping):
            return None
        straight = system.straight()
        if not np.all(np.isfinite(straight)):
            return None
        if self.acceleration:
            bent = system.bent(straight)
            size = float(np.sum(system.scale * straight**2))
            # The parts are compared as D measures them, which is how far the step was allowed to go.
            if float(np.sum(system.scale * bent**2)) <= self.acceleration**2 * size:
                return straight + 0.5 * bent, straight
        return straight, straight


def _check_memory(residuals: int, parameters: int, small: bool) -> None:
    """Raise unless the matrices of a step fit into memory.

    Raises:
        primad.MemoryLimitError: if they do not.
    """
    needed = 8 * (residuals * (2 * parameters + 2 * residuals) if small else 2 * parameters**2)
    have = physical_memory()
    if have is not None and needed > have:
        raise MemoryLimitError(
            f"LevenbergMarquardt: {residuals} residuals of {parameters} parameters need {needed / 2**30:.1f} GiB, "
            f"and the machine has {have / 2**30:.1f} GiB",
            fix="use GaussNewtonCG, which needs products with the Jacobian only.",
        )
