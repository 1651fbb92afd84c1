"""L-BFGS with a state that can be saved and resumed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primad import tree
from primad.errors import ShapeError
from primad.nn.line_search import Trial, strong_wolfe
from primad.recording import type_of

__all__ = ["LBFGS", "LBFGSState"]

Tree = Any
ValueAndGrad = Callable[[Tree], tuple[Any, Tree]]
Vector = np.ndarray[Any, np.dtype[np.float64]]
Point = tuple[Tree, float, Vector]
"""Parameters, the function there, and its gradient."""


@dataclass(frozen=True)
class LBFGSState:
    """Where the search is; arrays and numbers only.

    Attributes:
        step: how many steps were made.
        evaluations: how often the function was computed.
        value: the function at the parameters; where it is NaN, as before the first step, `update` computes it anew.
        gradient: its gradient there, as one float64 vector.
        moves: the last changes of the parameters, one a row; row `kept % rows` is the next to be replaced.
        changes: the changes of the gradient that belong to them.
        kept: how many changes were stored.
        stalled: whether the last step found nothing lower: the parameters are at a minimum, up to rounding.
    """

    step: Any
    evaluations: Any
    value: Any
    gradient: Any
    moves: Any
    changes: Any
    kept: Any
    stalled: Any


@dataclass(frozen=True)
class LBFGS:
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
        >>> rule = primad.nn.LBFGS()
        >>> x = np.zeros(4)
        >>> state = rule.init(x)
        >>> f = primad.jit(primad.value_and_grad(rosenbrock))
        >>> while not state.stalled and state.step < 100:
        ...     x, state = rule.update(x, state, f)
        >>> np.allclose(x, 1.0)
        True
    """

    memory: int = 10
    first_length: float = 1.0
    evaluations: int = 25

    def init(self, params: Tree) -> LBFGSState:
        """Return the state before the first step.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        types = [type_of(leaf) for leaf in tree.leaves(params)]
        for type in types:
            if not type.is_float:
                raise ShapeError(f"an optimiser needs float parameters, got {type}", fix="convert with .astype(float).")
        size = sum(type.size for type in types)
        return LBFGSState(
            step=np.int64(0),
            evaluations=np.int64(0),
            value=np.float64(np.nan),
            gradient=np.zeros(size),
            moves=np.zeros((self.memory, size)),
            changes=np.zeros((self.memory, size)),
            kept=np.int64(0),
            stalled=np.bool_(False),
        )

    def update(self, params: Tree, state: LBFGSState, value_and_grad: ValueAndGrad) -> tuple[Tree, LBFGSState]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            state: what `init` or the last step returned. If the function has changed since (other data, another
                penalty), and the step shows it, the search starts anew from its value now.
            value_and_grad: a function of the parameters that returns a number and a tree like the parameters, such as
                `primad.jit(primad.value_and_grad(loss))`.

        Returns:
            the new parameters, where the function is lower, and the new state; the old parameters and a state that is
            `stalled` where no lower point was found.

        Raises:
            ShapeError: if the state belongs to other parameters, or the function does not return what it should.
        """
        leaves, structure = tree.flatten(params)
        origin = _flat(leaves)
        if state.gradient.shape != origin.shape:
            raise ShapeError(f"a state for {state.gradient.size} parameters does not fit {origin.size} parameters")
        calls = int(state.evaluations)

        def at(point: Vector) -> Point:
            nonlocal calls
            calls += 1
            there = tree.unflatten(structure, _split(point, leaves))
            value, gradient = _pair(value_and_grad(there))
            return there, value, _flat(tree.flatten_as(structure, gradient, "the gradient"))

        value, gradient = float(state.value), np.asarray(state.gradient)
        kept, known = int(state.kept), not math.isnan(value)
        if not known:
            _, value, gradient = at(origin)
        found, kept = self._search(at, origin, value, gradient, state, kept)
        if known and (found is None or _doubtful(value, gradient, found, origin)):
            # Another function than in the last step would make the values that the state holds meaningless.
            _, now, slope = at(origin)
            if not _same(value, gradient, now, slope):
                value, gradient = now, slope
                found, kept = self._search(at, origin, value, gradient, state, 0)
        told = replace(state, step=state.step + 1, evaluations=np.int64(calls), value=np.float64(value))
        if found is None:
            return params, replace(told, gradient=gradient, stalled=np.bool_(True))
        there, after = found.data
        move, change = _flat(tree.leaves(there)) - origin, after - gradient
        told = replace(told, value=np.float64(found.value), gradient=after, stalled=np.bool_(False))
        return there, self._remember(told, kept, move, change)

    def _search(
        self,
        at: Callable[[Vector], Point],
        origin: Vector,
        value: float,
        gradient: Vector,
        state: LBFGSState,
        kept: int,
    ) -> tuple[Trial | None, int]:
        """Return the end of a line search, and how many changes of the gradient its direction used."""
        # Where the remembered curvature leads nowhere, the gradient itself may still.
        for count in (kept, 0) if kept else (0,):
            direction = -self._scaled(gradient, state, count)
            start = Trial(0.0, value, float(gradient @ direction))
            if not start.slope < 0:
                continue
            norm = float(np.sum(np.abs(gradient)))
            length = 1.0 if count else min(1.0, self.first_length / norm)

            def along(length: float, direction: Vector = direction) -> Trial:
                there, value, gradient = at(origin + length * direction)
                return Trial(length, value, float(gradient @ direction), (there, gradient))

            found = strong_wolfe(along, start, length, self.evaluations)
            if found is not None:
                return found, count
        return None, 0

    def _remember(self, state: LBFGSState, kept: int, move: Vector, change: Vector) -> LBFGSState:
        """Store a change, unless it says that the function is not convex there."""
        moves, changes = np.array(state.moves), np.array(state.changes)
        if move @ change > 1e-10 * float(change @ change) ** 0.5 * float(move @ move) ** 0.5:
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


def _pair(result: Any) -> tuple[float, Any]:
    """Return what a `value_and_grad` function returned, a number and a gradient."""
    wanted = "pass primad.jit(primad.value_and_grad(loss)), which returns a number and the gradient."
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        kind = type_of(result) if isinstance(result, (np.ndarray, np.generic, float)) else type(result).__name__
        raise ShapeError(f"LBFGS.update: value_and_grad returned {kind}, not a pair (value, gradient)", fix=wanted)
    value, gradient = result
    if isinstance(value, (tuple, list, dict)) or np.size(value) != 1:
        found = type(value).__name__ if isinstance(value, (tuple, list, dict)) else type_of(value)
        raise ShapeError(f"LBFGS.update: the value is {found}, not one number", fix=f"leave has_aux out; {wanted}")
    return float(np.reshape(value, ())), gradient


def _doubtful(value: float, gradient: Vector, found: Trial, origin: Vector) -> bool:
    """Say whether the change of the function is far from what the slopes at both ends of the step promise.

    A rough function may do that, too: then the doubt costs one evaluation.
    """
    there, after = found.data
    move = _flat(tree.leaves(there)) - origin
    promised = 0.5 * float((gradient + after) @ move)
    return abs(found.value - value - promised) > abs(float(gradient @ move))


def _same(value: float, gradient: Vector, now: float, slope: Vector) -> bool:
    """Say whether a function at a point is what it was there, up to rounding."""
    near = abs(now - value) <= 1e-9 * abs(value)
    return near and float(np.max(np.abs(slope - gradient), initial=0.0)) <= 1e-6 * float(
        np.max(np.abs(gradient), initial=0.0)
    )


def _flat(leaves: list[Any]) -> Vector:
    return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in leaves] or [np.zeros(0)])


def _split(vector: Vector, like: list[Any]) -> list[Any]:
    """Cut a vector into arrays with the shapes and dtypes of others."""
    found, start = [], 0
    for leaf in like:
        type = type_of(leaf)
        size = math.prod(type.shape)
        found.append(vector[start : start + size].reshape(type.shape).astype(type.dtype))
        start += size
    return found
