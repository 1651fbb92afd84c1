"""Update rules with explicit state: SGD, momentum, Adam and AdamW.

A rule is a frozen record of numbers. `init(params)` makes a state; `update(params, gradients, state)` returns new
parameters and a new state and changes nothing. Parameters are any tree of float arrays, or of complex ones, which step
along the conjugates of their gradients, and whose mean squares are those of sizes. Compiled with
`primad.jit(rule.update, donate=(0, 2))`, the new arrays take the memory of the old ones, in one pass over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import is_complex, real_dtype
from primad.numpy.elementwise.complex_numbers import conj, squares
from primad.numpy.elementwise.ufuncs import sqrt
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of

__all__ = ["SGD", "Adam", "AdamState", "AdamW", "Momentum", "MomentumState"]

Tree = Any


def _zeros(params: Tree, sizes: bool = False) -> Tree:
    """Return zeros for each parameter, of the type that it has, or that its size has."""

    def zero(leaf: Any) -> Any:
        type = type_of(leaf)
        if not type.is_float:
            raise ShapeError(f"an optimiser needs float parameters, got {type}", fix="convert with .astype(float).")
        return np.zeros(type.shape, real_dtype(type.dtype) if sizes else type.dtype)

    return tree.map(zero, params)


def _number(value: Any, like: Any) -> Any:
    """Return a number in the dtype of an array, which must not be promoted by it."""
    return value.astype(like.dtype) if isinstance(value, TracedArray) else like.dtype.type(value)


def _uphill(g: Any) -> Any:
    """Return the direction in which a function grows that has a gradient: of a complex parameter the conjugate."""
    return conj(g) if is_complex(g.dtype) else g


def _leaves(params: Tree, *others: tuple[str, Tree]) -> tuple[Any, Any]:
    """Return the structure of the parameters, and tuples (parameter, leaves of the others that belong to it)."""
    found, structure = tree.flatten(params)
    columns = [tree.flatten_as(structure, other, f"{name} of an update") for name, other in others]
    leaves = [leaf if isinstance(leaf, TracedArray) else np.asarray(leaf) for leaf in found]
    for i, column in enumerate(columns):
        columns[i] = [leaf if isinstance(leaf, TracedArray) else np.asarray(leaf) for leaf in column]
        for leaf, other in zip(leaves, columns[i], strict=True):
            if leaf.shape != other.shape:
                raise ShapeError(
                    f"{others[i][0]} of shape {other.shape} for a parameter of shape {leaf.shape}",
                    fix="make the state anew for these parameters, and give gradients by them.",
                )
    return structure, list(zip(leaves, *columns, strict=True))


@dataclass(frozen=True)
class SGD:
    """Gradient descent, p ← p − η·(g + λ·p).

    Attributes:
        learning_rate: η.
        weight_decay: λ.

    Example:
        >>> import numpy as np, primad
        >>> rule = primad.nn.SGD(0.5)
        >>> params = {"w": np.array([1.0, 2.0])}
        >>> rule.update(params, {"w": np.array([2.0, 0.0])}, rule.init(params))
        ({'w': array([0., 2.])}, ())
    """

    learning_rate: float = 0.01
    weight_decay: float = 0.0

    def init(self, params: Tree) -> tuple[()]:
        """Return the state, which is empty."""
        return ()

    def update(
        self, params: Tree, gradients: Tree, state: tuple[()] = (), learning_rate: Any = None
    ) -> tuple[Tree, tuple[()]]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            gradients: a tree of the same structure.
            state: the empty state.
            learning_rate: a rate for this step, instead of the rule's.

        Returns:
            the new parameters and the state.

        Raises:
            ShapeError: if the trees differ.
        """
        structure, rows = _leaves(params, ("gradients", gradients))
        rate = self.learning_rate if learning_rate is None else learning_rate
        new = [p - _number(rate, p) * _decayed(_uphill(g), p, self.weight_decay) for p, g in rows]
        return tree.unflatten(structure, new), ()


def _decayed(g: Any, p: Any, weight_decay: float) -> Any:
    return g + weight_decay * p if weight_decay else g


@dataclass(frozen=True)
class MomentumState:
    """The velocity of each parameter."""

    velocity: Tree


@dataclass(frozen=True)
class Momentum:
    """Gradient descent with momentum μ (Polyak 1964), or with Nesterov's look-ahead (Sutskever et al. 2013).

    v ← μ·v + g and p ← p − η·v, with g + μ·v in place of v for Nesterov's form, as in PyTorch and Paddle. With
    `scaled_velocity`, v ← μ·v − η·g and p ← p + v, as in MXNet: the same for a constant η, another path for a schedule.

    Attributes:
        learning_rate: η.
        momentum: μ.
        nesterov: whether to look ahead.
        weight_decay: λ of the gradient g + λ·p.
        scaled_velocity: whether the velocity contains the learning rate.
    """

    learning_rate: float = 0.01
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 0.0
    scaled_velocity: bool = False

    def init(self, params: Tree) -> MomentumState:
        """Return the state before the first step: velocities 0.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        return MomentumState(_zeros(params))

    def update(
        self, params: Tree, gradients: Tree, state: MomentumState, learning_rate: Any = None
    ) -> tuple[Tree, MomentumState]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            gradients: a tree of the same structure.
            state: what `init` or the last step returned.
            learning_rate: a rate for this step, instead of the rule's.

        Returns:
            the new parameters and the new state.

        Raises:
            ShapeError: if the trees differ.
        """
        structure, rows = _leaves(params, ("gradients", gradients), ("velocity", state.velocity))
        rate = self.learning_rate if learning_rate is None else learning_rate
        new, velocity = [], []
        for p, g, v in rows:
            step = -_number(rate, p)
            force = _decayed(_uphill(g), p, self.weight_decay)
            if self.scaled_velocity:
                force = step * force
            v = self.momentum * v + force
            move = force + self.momentum * v if self.nesterov else v
            new.append(p + move if self.scaled_velocity else p + step * move)
            velocity.append(v)
        return tree.unflatten(structure, new), MomentumState(tree.unflatten(structure, velocity))


@dataclass(frozen=True)
class AdamState:
    """The number of steps made, and the running means of the gradients and of their squares."""

    step: Any
    first: Tree
    second: Tree


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma & Ba 2015): p ← p − η·m̂/(√v̂ + ε), m̂ and v̂ being unbiased running means of g and g².

    Attributes:
        learning_rate: η.
        beta1: how much of the mean of g is kept in a step.
        beta2: how much of the mean of g² is kept in a step.
        epsilon: ε.
        weight_decay: λ of the gradient g + λ·p; for decay beside the gradient see `AdamW`.
        raw_epsilon: whether ε is added to the root of the biased mean of g², as in MXNet and in the last paragraph of
            the paper's section 2, instead of the unbiased one, as in the paper's algorithm, PyTorch and Paddle.

    Example:
        >>> import numpy as np, primad
        >>> rule = primad.nn.Adam(0.1)
        >>> params = np.array([1.0, -1.0])
        >>> state = rule.init(params)
        >>> for _ in range(200):
        ...     params, state = rule.update(params, 2 * params, state)
        >>> bool(np.all(abs(params) < 1e-3))
        True
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    raw_epsilon: bool = False

    def init(self, params: Tree) -> AdamState:
        """Return the state before the first step: means 0.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        return AdamState(np.int64(0), _zeros(params), _zeros(params, sizes=True))

    def update(
        self, params: Tree, gradients: Tree, state: AdamState, learning_rate: Any = None
    ) -> tuple[Tree, AdamState]:
        """Make one step.

        Args:
            params: a tree of float arrays.
            gradients: a tree of the same structure.
            state: what `init` or the last step returned.
            learning_rate: a rate for this step, instead of the rule's.

        Returns:
            the new parameters and the new state.

        Raises:
            ShapeError: if the trees differ.
        """
        structure, rows = _leaves(
            params, ("gradients", gradients), ("first means", state.first), ("second means", state.second)
        )
        step = state.step + 1
        rate = self.learning_rate if learning_rate is None else learning_rate
        size = rate / (1.0 - self.beta1**step)
        root = (1.0 - self.beta2**step) ** 0.5
        new, first, second = [], [], []
        for p, g, m, v in rows:
            p, g = self._decay(p, _uphill(g), rate)
            m = self.beta1 * m + (1.0 - self.beta1) * g
            v = self.beta2 * v + (1.0 - self.beta2) * squares(g)
            if self.raw_epsilon:
                moved = _number(size * root, p) * m / (sqrt(v) + self.epsilon)
            else:
                moved = _number(size, p) * m / (sqrt(v) / _number(root, v) + self.epsilon)
            new.append(p - moved)
            first.append(m)
            second.append(v)
        trees = [tree.unflatten(structure, leaves) for leaves in (new, first, second)]
        return trees[0], AdamState(step, trees[1], trees[2])

    def _decay(self, p: Any, g: Any, rate: Any) -> tuple[Any, Any]:
        return p, _decayed(g, p, self.weight_decay)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decay beside the gradient: first p ← p·(1 − η·λ), then Adam's step (Loshchilov & Hutter 2019).

    Attributes:
        weight_decay: λ; the other attributes are those of `Adam`.
    """

    weight_decay: float = 0.01

    def _decay(self, p: Any, g: Any, rate: Any) -> tuple[Any, Any]:
        return p * _number(1.0 - rate * self.weight_decay, p), g
