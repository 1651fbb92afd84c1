"""What steps need of a function: sums of squares of residuals, and losses, with their derivatives compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from primad.errors import NotFiniteError, ShapeError
from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.derivatives.gradients import value_and_grad
from primad.functional.derivatives.higher_order import hvp, taylor
from primad.functional.export.distribute import compiler_of
from primad.functional.jit import jit
from primad.numpy.promotion import convert
from primad.numpy.reduce.reductions import sum as total
from primad.optimize.gauss_newton.linearized_residuals import AtPoints, Linearized, Whole, pieces
from primad.optimize.gauss_newton.residual_blocks import (
    Array,
    RecordedResiduals,
    ResidualBlock,
    data_leaves,
    residual_blocks,
    types_of,
)
from primad.optimize.parameter_vectors import Space, Tree, Vector, flat, not_finite
from primad.optimize.real_coordinates import real_parts
from primad.parallel.job import checksum, ranks
from primad.parallel.shares import Share, over_ranks, shares_in
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.traced_array import TracedArray
from primad.system.machine import SPARE_BYTES

__all__ = ["Loss", "Residuals"]

Function = Callable[..., Any]
SMALL = 2**20
"""Numbers of a Jacobian up to which its diagonal products are computed rather than estimated."""
FEW = 8
"""Parameters up to which the diagonal of a Hessian is computed rather than estimated."""


class Residuals:
    """Half the sum of the squares of residuals, and its derivatives, compiled: ½ Σ r².

    The Jacobian of the residuals is computed a block of points at a time wherever the residuals of a point depend on
    the data of that point only: their first axis is the first axis of arrays among the data, nothing sums over it or
    mixes it, and nothing depends on its length. Other residuals (of integrals, of differences between points, of arrays
    that the function closes over instead of taking them as arguments) are computed as a whole.

    Args:
        function: a function (parameters, *data) that returns an array or a tree of arrays: the residuals, of complex
            ones their parts. What it reads besides is taken when it is first called.
        block: how many points to take at a time; by default what makes 16 MiB of the Jacobian.
        memory: bytes that `linearized` may keep for products.

    Example:
        >>> import numpy as np, primad
        >>> def misfit(p, t, y):
        ...     return p["size"] * np.exp(-p["rate"] * t) - y
        >>> t = np.linspace(0.0, 1.0, 5)
        >>> model = primad.optimize.Residuals(misfit)
        >>> print(model.value({"size": 2.0, "rate": 0.0}, t, np.ones(5)))
        2.5
    """

    def __init__(self, function: Function, block: int | None = None, memory: int = SPARE_BYTES) -> None:
        if block is not None and block < 1:
            raise ShapeError(
                f"Residuals: a block has at least one point, got block={block}",
                fix="leave it out: the points of a block follow from the memory then.",
            )
        given, run = compiler_of(function)

        def in_parts(params: Tree, *data: Any) -> Tree:
            return tree.map(real_parts, given(params, *data))

        function = in_parts
        self.function, self.block, self.memory = function, block, memory
        self._shared = run is not jit
        half, product = _half_and_product(function)

        def pulled(params: Tree, weights: Tree, *data: Any) -> Tree:
            return vjp(lambda p: function(p, *data), params)[1](weights)[0]

        def bend(params: Tree, direction: Tree, *data: Any) -> Tree:
            second = taylor(lambda p: function(p, *data), params, direction, 2)[2]
            return vjp(lambda p: function(p, *data), params)[1](tree.map(lambda leaf: 2 * leaf, second))[0]

        self._call, self._half, self._slope = run(function), run(half), run(value_and_grad(half))
        self._product, self._pulled, self._bend = run(product), run(pulled), run(bend)
        self._parts = lru_cache(maxsize=64)(self._make_parts)
        self._pieces = lru_cache(maxsize=64)(self._make_pieces)

    def _make_parts(self, types: Any, structure: Any, key: Any) -> tuple[list[ResidualBlock], RecordedResiduals]:
        recorded = RecordedResiduals(self.function, types, structure)
        size = sum(type.size for type in types[: recorded.first])
        return residual_blocks(recorded, size, self.block), recorded

    def _make_pieces(self, types: Any, structure: Any, key: Any) -> list[Whole | AtPoints]:
        parts, recorded = self._parts(types, structure, key)
        found: list[Whole | AtPoints] = []
        for part in parts:
            left = self.memory - sum(piece.kept_bytes for piece in found)
            found += pieces(part, recorded, left, _half_and_product)
        return found

    def parts(self, params: Tree, data: Sequence[Any]) -> list[ResidualBlock]:
        """Return which residuals are computed together, and how many points at a time.

        Raises:
            ShapeError: if a parameter or a residual is not a float array, or there are no residuals.
            NotDifferentiableError: if no residual depends on the parameters.
        """
        return self._made(params, data)[0]

    def pieces(self, params: Tree, data: Sequence[Any]) -> list[Whole | AtPoints]:
        """Return the pieces in which `linearized` computes the residuals; raises as `parts`."""
        types, structure = types_of((params, *data))
        return self._pieces(types, structure, structure_key(structure))

    def _made(self, params: Tree, data: Sequence[Any]) -> tuple[list[ResidualBlock], RecordedResiduals]:
        types, structure = types_of((params, *data))
        return self._parts(types, structure, structure_key(structure))

    def value(self, params: Tree, *data: Any) -> float:
        """Return half the sum of squares."""
        return float(self._half(params, *data))

    def value_and_gradient(self, params: Tree, *data: Any) -> tuple[float, Vector]:
        """Return half the sum of squares, and its gradient as a vector."""
        self.parts(params, data)
        value, gradient = self._slope(params, *data)
        return float(value), Space.of(params).vector(gradient)

    def product(self, params: Tree, direction: Vector, *data: Any) -> Vector:
        """Return JᵀJ times a vector."""
        space = Space.of(params)
        return space.vector(self._product(params, space.tree(direction), *data))

    def linearized(self, params: Tree, *data: Any) -> Linearized:
        """Return the sum of squares at parameters, with products that are made of what is computed once.

        Where points stay apart, the inputs of what sums over them and the cotangents that meet these are kept, up to
        `memory`; of further points they are computed again in each product.

        Args:
            params: the parameters.
            *data: the other arguments, whose arrays must not change as long as products are made.

        Returns:
            half the sum of squares, its gradient as a vector, and a function of vectors v that returns JᵀJv.

        Example:
            >>> import numpy as np, primad
            >>> model = primad.optimize.Residuals(lambda p, t: p[0] * t + p[1])
            >>> at = model.linearized(np.array([1.0, 0.0]), np.array([1.0, 2.0]))
            >>> print(at.value, at.gradient, at.product(np.array([1.0, 0.0])))
            2.5 [5. 3.] [5. 3.]
        """
        if self._shared:
            return Linearized(*self.value_and_gradient(params, *data), lambda v: self.product(params, v, *data))
        space, leaves, made = Space.of(params), data_leaves(data), self.pieces(params, data)
        params = space.tree(space.vector(params))  # a copy: what products are of is not changed
        starts = [piece.start(params, leaves) for piece in made]

        def product(v: Vector) -> Vector:
            direction = tree.leaves(space.tree(v))
            found: Vector = np.sum([flat(start.product(direction)) for start in starts], axis=0)
            return found

        gradient: Vector = np.sum([flat(start.gradient) for start in starts], axis=0)
        return Linearized(float(sum(start.value for start in starts)), gradient, product)

    def exact_diagonal(self, params: Tree, *data: Any) -> Vector | None:
        """Return the diagonal of JᵀJ; None where the Jacobian is so large that an estimate is cheaper."""
        count = sum(part.size for part in self.parts(params, data))
        if count * Space.of(params).size > SMALL:
            return None

        def squares(blocks: Iterable[tuple[Array, Array]]) -> list[Array]:
            return [np.sum([np.einsum("ij,ij->j", rows, rows) for _, rows in blocks], axis=0)]

        return self.summed(squares, [np.zeros(Space.of(params).size)], params, *data)[0]

    def diagonal(self, params: Tree, rng: np.random.Generator, *data: Any) -> Vector:
        """Return an estimate of the diagonal of JᵀJ without bias: (Jᵀz)², with random signs z."""
        made = self._made(params, data)[1]
        signs = [rng.choice(np.array([-1.0, 1.0]), type.shape).astype(type.dtype) for type in made.out_types]
        return Space.of(params).vector(self._pulled(params, tree.unflatten(made.out_tree, signs), *data)) ** 2

    def bend(self, params: Tree, direction: Vector, *data: Any) -> Vector:
        """Return Jᵀr″, with the second derivatives r″ of the residuals along a direction."""
        space = Space.of(params)
        return space.vector(self._bend(params, space.tree(direction), *data))

    def bends(self, params: Tree, direction: Vector, *data: Any) -> Vector:
        """Return r″, the second derivatives of the residuals along a direction, in the order of `rows`."""
        space, leaves = Space.of(params), data_leaves(data)
        along = space.tree(direction)
        return np.concatenate([part.bends(params, along, leaves) for part in self.parts(params, data)]).astype(float)

    def rows(self, params: Tree, *data: Any) -> Iterator[tuple[Array, Array]]:
        """Yield residuals and the rows of the Jacobian that belong to them, a block at a time."""
        leaves = data_leaves(data)
        for part in self.parts(params, data):
            yield from part.rows(params, leaves)

    def summed(
        self, of: Callable[[Iterable[tuple[Array, Array]]], list[Array]], like: list[Array], params: Tree, *data: Any
    ) -> list[Array]:
        """Return what blocks of residuals and rows add up to, over all processes where some data are Shares.

        Args:
            of: returns the sums over blocks.
            like: arrays of their shapes and dtypes.
            params: the parameters.
            *data: the other arguments.
        """
        leaves = data_leaves(data)
        shares = list(shares_in(leaves))
        if not shares:
            return of(self.rows(params, *data))
        parts = self.parts(params, data)
        own, structure = tree.flatten(params)
        plain = [i for i, leaf in enumerate(leaves) if not isinstance(leaf, Share)]
        same = ranks().agreed([*own, *[leaves[i] for i in plain]])
        params = tree.unflatten(structure, same[: len(own)])
        for i, leaf in zip(plain, same[len(own) :], strict=True):
            leaves[i] = leaf

        def chunk(number: int) -> list[Array]:
            return of(rows for part in parts for rows in part.rows_of_chunk(params, leaves, number))

        found: list[Array] = over_ranks(shares, chunk, like, {"arguments that are no Shares": checksum(same)})
        return found

    def not_finite(self, rule: str, params: Tree, data: Sequence[Any]) -> NotFiniteError:
        """Return the error for residuals that are not finite."""
        return not_finite(rule, params, data, [("the residual ", self._call(params, *data))])


class Loss:
    """A loss and its derivatives, compiled.

    Args:
        function: a function (parameters, *data) of one number. What it reads besides is taken when it is first called.

    Example:
        >>> import numpy as np, primad
        >>> model = primad.optimize.Loss(lambda x: np.sum(x**4))
        >>> value, gradient = model.value_and_gradient(np.array([1.0, 2.0]))
        >>> print(value, gradient)
        17.0 [ 4. 32.]
    """

    def __init__(self, function: Function) -> None:
        function, run = compiler_of(function)
        self.function = function

        def product(params: Tree, direction: Tree, *data: Any) -> Tree:
            return hvp(lambda p: function(p, *data), params, direction)

        self._call, self._slope, self._product = run(function), run(value_and_grad(function)), run(product)

    def value(self, params: Tree, *data: Any) -> float:
        """Return the loss."""
        return float(self._call(params, *data))

    def value_and_gradient(self, params: Tree, *data: Any) -> tuple[float, Vector]:
        """Return the loss, and its gradient as a vector.

        Raises:
            ShapeError: if the loss is not one number.
        """
        value, gradient = self._slope(params, *data)
        return float(value), Space.of(params).vector(gradient)

    def product(self, params: Tree, direction: Vector, *data: Any) -> Vector:
        """Return the Hessian times a vector."""
        space = Space.of(params)
        return space.vector(self._product(params, space.tree(direction), *data))

    def linearized(self, params: Tree, *data: Any) -> Linearized:
        """Return the loss at parameters, its gradient as a vector, and what multiplies a vector by the Hessian."""
        return Linearized(*self.value_and_gradient(params, *data), lambda v: self.product(params, v, *data))

    def diagonal(self, params: Tree, rng: np.random.Generator, *data: Any) -> Vector:
        """Return an estimate of the Hessian's diagonal without bias: z·Hz, with random signs z."""
        signs = rng.choice(np.array([-1.0, 1.0]), Space.of(params).size)
        return signs * self.product(params, signs, *data)

    def exact_diagonal(self, params: Tree, *data: Any) -> Vector | None:
        """Return the diagonal of the Hessian; None where there are so many parameters that an estimate is cheaper."""
        size = Space.of(params).size
        if size > FEW:
            return None
        return np.array([self.product(params, unit, *data)[i] for i, unit in enumerate(np.eye(size))])

    def not_finite(self, rule: str, params: Tree, data: Sequence[Any]) -> NotFiniteError:
        """Return the error for a loss that is not finite, or whose gradient is not."""
        value, gradient = self._slope(params, *data)
        return not_finite(rule, params, data, [("the loss", value), ("the gradient ", gradient)])


def _half_and_product(function: Function) -> tuple[Function, Function]:
    """Return half the sum of squares of residuals, and JᵀJ times a direction, as functions."""

    def half(params: Tree, *data: Any) -> Any:
        return 0.5 * sum(total(_double(leaf) ** 2) for leaf in tree.leaves(function(params, *data)))

    def product(params: Tree, direction: Tree, *data: Any) -> Tree:
        def at(p: Tree) -> Any:
            return function(p, *data)

        _, along = jvp(at, (params,), (direction,))
        return vjp(at, params)[1](along)[0]

    return half, product


def _double(leaf: Any) -> Any:
    """Return a residual in float64; what does not depend on the arguments is no traced array."""
    return convert(leaf, np.float64) if isinstance(leaf, TracedArray) else np.asarray(leaf, np.float64)


def finite(value: float, vector: Vector) -> bool:
    """Say whether a number and the elements of a vector are finite."""
    return math.isfinite(value) and bool(np.all(np.isfinite(vector)))
