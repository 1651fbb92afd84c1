"""Self-scaled quasi-Newton methods of Broyden's class, with the whole inverse Hessian."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from primad.errors import ShapeError
from primad.optimize.parameter_vectors import Vector
from primad.optimize.quasi_newton.line_search import LinePoint
from primad.optimize.quasi_newton.search_step import QuasiNewton, QuasiNewtonState, curved

__all__ = ["SelfScaledBroyden", "SelfScaledBroydenState"]


@dataclass(frozen=True, kw_only=True)
class SelfScaledBroydenState(QuasiNewtonState):
    """Where the search is: `step`, `evaluations`, `value`, `gradient`, `kept`, `stalled`, and the inverse Hessian.

    Attributes:
        inverse: the model of the inverse Hessian, a symmetric positive definite float64 matrix; not used before a
            change of the gradient is kept.
    """

    inverse: Any


@dataclass(frozen=True)
class SelfScaledBroyden(QuasiNewton[SelfScaledBroydenState]):
    """Self-scaled Broyden and BFGS (Al-Baali 1998) with a line search for the strong Wolfe conditions.

    Each update scales the model of the inverse Hessian before it learns the newest change of the gradient, and
    Broyden's form also chooses the member of the class. On losses of differential equations both go several orders of
    magnitude lower than BFGS (Urbán, Stefanou & Pons, J. Comput. Phys. 523 (2025) 113656, where the formulas are).
    State and step take memory and time of the order of the square of the number of parameters: for some thousands.

    Attributes:
        form: "broyden" (SSBroyden), "bfgs" (SSBFGS), or "unscaled" for BFGS itself.
        first_length: length of the first step, as a change of the parameters in the 1-norm, at most that of the
            gradient.
        evaluations: how many times a step may compute the function.

    Example:
        >>> import numpy as np, primad
        >>> def rosenbrock(x):
        ...     return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
        >>> rule = primad.optimize.SelfScaledBroyden()
        >>> x = np.zeros(4)
        >>> state = rule.init(x)
        >>> f = rule.compile(rosenbrock)
        >>> while not state.stalled and state.step < 100:
        ...     x, state = rule.update(x, state, f)
        >>> np.allclose(x, 1.0)
        True
    """

    form: Literal["broyden", "bfgs", "unscaled"] = "broyden"
    first_length: float = 1.0
    evaluations: int = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("broyden", "bfgs", "unscaled"):
            raise ShapeError(
                f"SelfScaledBroyden: there is no form {self.form!r}", fix='choose "broyden", "bfgs" or "unscaled".'
            )

    def _started(self, size: int, **fields: Any) -> SelfScaledBroydenState:
        return SelfScaledBroydenState(inverse=np.eye(size), **fields)

    def _scaled(self, gradient: Vector, state: SelfScaledBroydenState, kept: int) -> Vector:
        return state.inverse @ gradient if kept else np.array(gradient)

    def _remember(
        self, state: SelfScaledBroydenState, kept: int, found: LinePoint, before: Vector, move: Vector
    ) -> SelfScaledBroydenState:
        """Learn a change, unless it says that the function is not convex there."""
        change = state.gradient - before
        inverse = np.array(state.inverse) if kept else np.eye(move.size)
        if curved(move, change):
            learnt = self._learnt(inverse, move, change, -found.length * float(move @ before), not kept)
            if np.all(np.isfinite(learnt)):
                return replace(state, inverse=learnt, kept=np.int64(kept + 1))
        return replace(state, inverse=inverse, kept=np.int64(kept))

    def _learnt(self, inverse: Any, move: Vector, change: Vector, stiffness: float, first: bool) -> Any:
        """Return the inverse Hessian that takes the change of the gradient to the move.

        Args:
            inverse: H, the inverse Hessian of the last step.
            move: s.
            change: y.
            stiffness: sᵀH⁻¹s, which the step along −Hg gives without a division.
            first: whether H is the identity, which knows nothing of the scale.
        """
        image = inverse @ change
        product, spread = float(move @ change), float(change @ image)
        phi, tau = self._scaling(stiffness / product, spread / product, len(move), first)
        towards = move / product - image / spread
        inverse -= np.outer(image / spread, image)
        inverse += np.outer(phi * spread * towards, towards)
        inverse /= tau
        inverse += np.outer(move / product, move)
        return inverse

    def _scaling(self, b: float, h: float, size: int, first: bool) -> tuple[float, float]:
        """Return φ, the member of Broyden's class (1: BFGS, 0: DFP), and τ, by which H is divided.

        Args:
            b: sᵀH⁻¹s/sᵀy.
            h: yᵀHy/sᵀy.
            size: number of parameters.
            first: whether H is the identity.
        """
        a = max(b * h - 1, 0.0)  # ≥ 0 by the inequality of Cauchy and Schwarz
        shrunk = min(1.0, 1 / b)
        if self.form == "unscaled":
            return 1.0, h if first else 1.0
        if self.form == "bfgs" or a < 1e-14:  # where s and Hy are parallel, all members of the class are one
            return 1.0, h if first else shrunk
        low = min(1.0, h * (1 - math.sqrt(a / (1 + a))))
        theta = max((low - 1) / a, min(1 / low, (1 - b) / b))
        sigma = 1 + a * theta
        phi = (1 - theta) / sigma
        if first:
            return phi, h / sigma
        spread = sigma ** (1 / (1 - size)) if size > 1 else 1.0
        return phi, min(shrunk * spread, sigma) if theta <= 0 else shrunk * min(spread, 1 / theta)
