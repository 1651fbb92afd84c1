"""L-BFGS with a state that can be saved and resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primad.optimize.parameter_vectors import Vector, check_counts
from primad.optimize.quasi_newton.line_search import LinePoint
from primad.optimize.quasi_newton.search_step import QuasiNewton, QuasiNewtonState, curved

__all__ = ["LBFGS", "LBFGSState"]


@dataclass(frozen=True, kw_only=True)
class LBFGSState(QuasiNewtonState):
    """Where the search is: `step`, `evaluations`, `value`, `gradient`, `kept`, `stalled`, and the last changes.

    Attributes:
        moves: the last changes of the parameters, one a row; row `kept % rows` is the next to be replaced.
        changes: the changes of the gradient that belong to them.
    """

    moves: Any
    changes: Any


@dataclass(frozen=True)
class LBFGS(QuasiNewton[LBFGSState]):
    """L-BFGS (Liu & Nocedal 1989) with a line search for the strong Wolfe conditions.

    The search runs in float64, whatever the dtypes of the parameters; but the noise of a function in single precision
    ends it early.

    Attributes:
        memory: how many changes of the gradient are remembered.
        first_length: length of the first step, as a change of the parameters in the 1-norm, at most that of the
            gradient.
        evaluations: how many times a step may compute the function.

    Example:
        >>> import numpy as np, primad
        >>> def rosenbrock(x):
        ...     return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
        >>> rule = primad.optimize.LBFGS()
        >>> x = np.zeros(4)
        >>> state = rule.init(x)
        >>> f = rule.compile(rosenbrock)
        >>> while not state.stalled and state.step < 100:
        ...     x, state = rule.update(x, state, f)
        >>> np.allclose(x, 1.0)
        True
    """

    memory: int = 10
    first_length: float = 1.0
    evaluations: int = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "memory")

    def _started(self, size: int, **fields: Any) -> LBFGSState:
        shape = (self.memory, size)
        return LBFGSState(moves=np.zeros(shape), changes=np.zeros(shape), **fields)

    def _remember(self, state: LBFGSState, kept: int, found: LinePoint, before: Vector, move: Vector) -> LBFGSState:
        """Store a change, unless it says that the function is not convex there."""
        moves, changes = np.array(state.moves), np.array(state.changes)
        change = state.gradient - before
        if curved(move, change):
            moves[kept % self.memory], changes[kept % self.memory] = move, change
            kept += 1
        return replace(state, moves=moves, changes=changes, kept=np.int64(kept))

    def _scaled(self, gradient: Vector, state: LBFGSState, kept: int) -> Vector:
        """Multiply by the approximate inverse Hessian (Nocedal & Wright 2006, algorithm 7.4)."""
        rows = [i % self.memory for i in range(max(0, kept - self.memory), kept)]
        product = np.array(gradient)
        shares: list[float] = []
        for i in reversed(rows):
            shares.append(float(state.moves[i] @ product / (state.moves[i] @ state.changes[i])))
            product -= shares[-1] * state.changes[i]
        if rows:
            last = rows[-1]
            product *= (state.moves[last] @ state.changes[last]) / (state.changes[last] @ state.changes[last])
        for i, share in zip(rows, reversed(shares), strict=True):
            again = state.changes[i] @ product / (state.moves[i] @ state.changes[i])
            product += (share - again) * state.moves[i]
        return product
