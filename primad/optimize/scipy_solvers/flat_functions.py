"""Plain functions of trees as SciPy wants them: of one vector, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.functional.jit import jit
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.recording import tree
from primad.recording.foreign import plain
from primad.recording.tracing import check_function

Function = Callable[..., Any]


class Plain:
    """A function of a tree as a function of one vector, for solvers that know vectors only.

    Args:
        function: of the tree and other arguments.
        start: a tree like its argument.
        args: the other arguments, which stay as they are.
        what: the solver, for messages.
        compiled: whether functions are recorded once; otherwise at each call, and may branch on values.
    """

    def __init__(self, function: Function, start: Tree, args: Sequence[Any], what: str, compiled: bool) -> None:
        check_function(function, f"{what}: ")
        if not isinstance(args, (tuple, list)):
            raise TracingError(f"{what}: args is a tuple, got {type(args).__name__}", fix="write args=(value,).")
        self.space, self.what, self._function, self._args = Space.of(start), what, function, tuple(args)
        self.start = self.space.vector(start)
        self._compiled = compiled

    def call(self, x: Tree) -> Any:
        """Return the function of a tree."""
        return self._function(x, *self._args)

    def ready(self, function: Function) -> Function:
        """Return a function compiled, or as it is."""
        return jit(function) if self._compiled else function

    def tree(self, vector: Any) -> Tree:
        """Return a vector as a tree."""
        return self.space.tree(np.asarray(vector, np.float64))

    def joined(self, x: Tree) -> Any:
        """Return the function's result as one vector."""
        found = [reshape(leaf, (-1,)) for leaf in tree.leaves(self.call(x))]
        return concatenate(found) if found else np.zeros(0)

    def values(self) -> Callable[[Vector], Vector]:
        """Return the function of a vector whose result is a vector."""
        value = self.ready(self.joined)
        return lambda x: np.asarray(value(self.tree(x)), np.float64)

    def matrix(self) -> Callable[[Vector], Any]:
        """Return the function that takes a vector to the Jacobian there."""

        def found(x: Tree) -> Any:
            parts = [leaf[...] for leaf in tree.leaves(jacobian(self.joined)(x))]
            return concatenate([reshape(part, (part.shape[0], -1)) for part in parts], axis=1)

        rows = self.ready(found)
        return lambda x: np.asarray(rows(self.tree(x)), np.float64)

    def bounds(self, given: Any) -> tuple[Vector, Vector]:
        """Return (lower, upper) as vectors.

        Raises:
            ShapeError: if they do not fit the tree, or exclude each other.
        """
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise ShapeError(
                f"{self.what}: bounds are a pair (lower, upper), each a number or a tree like x0",
                why=f"It got {type(given).__name__}.",
            )
        lower, upper = [self._bound(bound) for bound in given]
        if np.any(lower > upper):
            raise ShapeError(f"{self.what}: a lower bound is above the upper one")
        return lower, upper

    def _bound(self, bound: Any) -> Vector:
        if isinstance(bound, (int, float, np.generic)):
            return np.full(self.space.size, float(bound))
        leaves = tree.flatten_as(self.space.structure, bound, f"{self.what}: bounds")
        for leaf, type in zip(leaves, self.space.types, strict=True):
            if np.shape(leaf) not in ((), type.shape):
                raise ShapeError(f"{self.what}: a bound of shape {np.shape(leaf)} for a leaf of shape {type.shape}")
        return np.concatenate(
            [
                np.ravel(np.broadcast_to(plain(leaf, np.float64), type.shape))
                for leaf, type in zip(leaves, self.space.types, strict=True)
            ]
        )
