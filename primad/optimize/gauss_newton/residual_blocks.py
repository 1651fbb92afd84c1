"""Which residuals can be computed a block of points at a time, as the axis maps of the ops tell, and how."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.gradients import value_and_grad
from primad.functional.derivatives.higher_order import taylor
from primad.functional.derivatives.lazy_matrices import jacrev
from primad.functional.jit import jit
from primad.ir.array_types import ArrayType, check_real
from primad.ir.node import LITERAL, literal_value
from primad.ir.program import Program
from primad.ir.walks import dependents
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.parallel.shares import Share, shares_in
from primad.recording import tree
from primad.recording.foreign import plain
from primad.recording.tracing import trace, type_of
from primad.transforms.dimensions import result_axes
from primad.transforms.lowering import lower, without_calls

Function = Callable[..., Any]
Array = np.ndarray[Any, Any]
BLOCK = 2**21
"""Numbers of a Jacobian that are in memory at once (16 MiB): fewer make the products slower, more do not help."""


class RecordedResiduals:
    """A residual function on arguments of given types, of which single results can be asked.

    Args:
        function: of the parameters and the data.
        types: of the leaves of all arguments.
        structure: of the tuple of arguments.

    Attributes:
        out_types: of the leaves of the result.
        out_tree: its structure.

    Raises:
        ShapeError: if a residual is not a float array, or there are none.
        NotDifferentiableError: if none depends on the parameters.
    """

    def __init__(self, function: Function, types: Sequence[ArrayType], structure: Any) -> None:
        self.function, self.types, self.structure = function, list(types), structure
        self.first = structure.children()[0].num_leaves
        whole = self._program(function, self.types)
        self.out_types, self.out_tree = whole.out_types, whole.out_tree
        for type in self.out_types:
            check_real(type.dtype)
            if not type.is_float:
                raise ShapeError(f"a residual must be a float array, got {type}", fix="convert with .astype(float).")
        if not sum(type.size for type in self.out_types):
            raise ShapeError(
                "the residual function returns no residuals: there is nothing to minimise",
                why=f"It returned {[*self.out_types] or 'an empty tree'}.",
                fix="give it data of at least one point.",
            )
        if dependents(whole.nodes, whole.inputs[: self.first]).isdisjoint(whole.outputs):
            raise NotDifferentiableError(
                "no residual depends on the parameters",
                fix="compute the residuals from the first argument of the function.",
            )

    def _program(self, function: Function, types: Sequence[ArrayType]) -> Program:
        args = tree.unflatten(self.structure, list(types))
        return trace(function)(*args)

    def at(self, params: Any, data: Sequence[Any], which: Sequence[int]) -> list[Any]:
        """Return some leaves of the result, for the leaves of the data."""
        _, *rest = self.structure.children()
        found, start = [], 0
        for one in rest:
            found.append(tree.unflatten(one, data[start : start + one.num_leaves]))
            start += one.num_leaves
        leaves = tree.leaves(self.function(params, *found))
        return [leaves[i] for i in which]

    def cut(self, which: int) -> tuple[int, ...]:
        """Return the leaves of the data whose first axis is that of a result, a point; none if points are coupled.

        An element of the result depends on that element of the data only, and on nothing that knows how many there are.
        """
        type = self.out_types[which]
        if not type.ndim:
            return ()
        one = self._single(which, self.types)
        open_ = lower(without_calls(one.hoisted(scalars=False)))
        found = result_axes(open_, [True] * len(open_.inputs))[0][0]
        if found.happens or not found.inputs or any(axis for axis in found.inputs.values()):
            return ()
        places = sorted(found.inputs)
        if places[0] < self.first or places[-1] >= len(self.types):
            return ()
        length = 2 if type.shape[0] != 2 else 3
        types = [
            ArrayType((length, *other.shape[1:]), other.dtype) if i in found.inputs else other
            for i, other in enumerate(self.types)
        ]
        try:
            other = self._single(which, types)
        except Exception:  # whatever the user's function says about other lengths
            return ()
        return tuple([i - self.first for i in places]) if _numbers(one) == _numbers(other) else ()

    def read(self, which: Sequence[int]) -> frozenset[int]:
        """Return the leaves of the data that some results depend on."""
        program = self._program(lambda *args: [tree.leaves(self.function(*args))[i] for i in which], self.types)
        used = {operand for node in program.nodes for operand in node.inputs} | {*program.outputs}
        return frozenset([i - self.first for i, node in enumerate(program.inputs) if node in used and i >= self.first])

    def _single(self, which: int, types: Sequence[ArrayType]) -> Program:
        return self._program(lambda *args: tree.leaves(self.function(*args))[which], types)


def _numbers(program: Program) -> list[Any]:
    """Return the numbers that a program computes with, in order."""
    return [literal_value(node) for node in program.nodes if node.op is LITERAL]


@dataclass(frozen=True)
class ResidualBlock:
    """Residuals that are computed together.

    Attributes:
        which: leaves of the result.
        cut: leaves of the data whose first axis are the points; none if the residuals are computed as a whole.
        read: leaves of the data that they depend on.
        points: how many points there are, 1 for a whole.
        each: how many residuals a point has.
        most: how many points are taken at a time.
        residuals: a function of the parameters and the leaves of the data, that returns these leaves of the result.
        jacobian: a function of the parameters and the leaves of the data, that returns the residuals and, for each leaf
            of the parameters, the rows of the Jacobian.
        bends: a function (parameters, direction, leaves of the data) of the second derivatives of the residuals.
    """

    which: tuple[int, ...]
    cut: tuple[int, ...]
    read: frozenset[int]
    points: int
    each: int
    most: int
    residuals: Function
    jacobian: Function
    bends: Function

    @property
    def size(self) -> int:
        """How many residuals there are."""
        return self.points * self.each

    def blocks(self, data: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield the leaves of the data, a block of points at a time."""
        points = len(data[self.cut[0]]) if self.cut else 1
        count = math.ceil(points / self.most)
        step = math.ceil(points / max(count, 1))
        for start in range(0, points, max(step, 1)):
            yield [leaf[start : start + step] if i in self.cut else leaf for i, leaf in enumerate(data)]

    def rows(self, params: Any, data: Sequence[Any]) -> Iterator[tuple[Array, Array]]:
        """Yield residuals and the rows of the Jacobian that belong to them, in float64."""
        for block in self.blocks(data):
            residuals, rows = self.jacobian(params, block)
            yield np.asarray(residuals, np.float64).reshape(-1), np.asarray(rows, np.float64)

    def rows_of_chunk(self, params: Any, data: Sequence[Any], number: int) -> Iterator[tuple[Array, Array]]:
        """Yield residuals and rows of a chunk of points; those that have no Shares go to the first.

        Raises:
            ShapeError: if residuals that are computed as a whole depend on a Share.
        """
        shared = list(shares_in([data[i] for i in self.cut]))
        if not shared and number > 0:
            return
        start, stop = shared[0].chunks.span(number) if shared else (0, None)
        rows = []
        for i, leaf in enumerate(data):
            if not isinstance(leaf, Share):
                rows.append(leaf[start:stop] if i in self.cut else leaf)
            elif i in self.cut and leaf.axis == 0:
                rows.append(leaf.chunk(number))
            elif i not in self.read:
                rows.append(np.broadcast_to(np.zeros((), leaf.type.dtype), leaf.type.shape))
            else:
                raise ShapeError(
                    "residuals at the points of a Share cannot be computed apart from each other",
                    why="They sum over the points or mix them, depend on how many there are, or have another first "
                    "axis than the Share's.",
                    fix="return the residuals of each point along the first axis, and scale them by a number that is "
                    "an argument.",
                )
        yield from self.rows(params, rows)


def residual_blocks(recorded: RecordedResiduals, parameters: int, block: int | None) -> list[ResidualBlock]:
    """Return all residuals of a function in parts, those that have the same points in one.

    Args:
        recorded: the function.
        parameters: how many there are.
        block: how many points to take at a time; by default what makes 16 MiB of the Jacobian.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, type in enumerate(recorded.out_types):
        if type.size:
            groups.setdefault(recorded.cut(i), []).append(i)
    return [_part(recorded, cut, which, parameters, block) for cut, which in groups.items()]


def _part(
    recorded: RecordedResiduals, cut: tuple[int, ...], which: list[int], parameters: int, block: int | None
) -> ResidualBlock:
    types = [recorded.out_types[i] for i in which]
    points = types[0].shape[0] if cut else 1
    each = sum(type.size for type in types) // points

    def at(params: Any, leaves: Sequence[Any]) -> list[Any]:
        return recorded.at(params, leaves, which)

    def at_a_point(params: Any, leaves: Sequence[Any]) -> Any:
        """Return the residuals of one point (or all, where points are coupled) as a vector."""
        data = [leaf[None] if i in cut else leaf for i, leaf in enumerate(leaves)]
        return concatenate([reshape(leaf, (-1,)) for leaf in at(params, data)])

    def rows(params: Any, leaves: Sequence[Any]) -> tuple[Any, Any]:
        if each == 1:
            value, found = value_and_grad(lambda p: at_a_point(p, leaves)[0])(params)
            return value, concatenate([reshape(leaf, (-1,)) for leaf in tree.leaves(found)])
        found = jacrev(lambda p: at_a_point(p, leaves))(params)
        parts = [reshape(leaf, (each, -1)) for leaf in tree.leaves(found)]
        return at_a_point(params, leaves), concatenate(parts, axis=1)

    def many(params: Any, leaves: Sequence[Any]) -> tuple[Any, Any]:
        axes = [0 if i in cut else None for i in range(len(leaves))]
        residuals, found = vmap(rows, in_axes=(None, axes))(params, leaves) if cut else rows(params, leaves)
        return residuals, reshape(found, (-1, parameters))

    def together(params: Any, leaves: Sequence[Any]) -> Any:
        return [reshape(leaf, (points, -1)) for leaf in at(params, leaves)]

    def bends(params: Any, direction: Any, leaves: Sequence[Any]) -> Any:
        second = taylor(lambda p: together(p, leaves), params, direction, 2)[2]
        return reshape(concatenate([2 * leaf for leaf in second], axis=1), (-1,))

    most = block or max(1, BLOCK // (each * parameters))
    return ResidualBlock(
        tuple(which), cut, recorded.read(which), points, each, most if cut else 1, at, jit(many), jit(bends)
    )


def components(leaves: Sequence[Any]) -> list[Any]:
    """Return residuals at points as vectors that have one element for each point."""
    found = []
    for leaf in leaves:
        rows = leaf if leaf.ndim == 1 else reshape(leaf, (leaf.shape[0], -1))
        found += [rows] if leaf.ndim == 1 else [rows[:, i] for i in range(rows.shape[1])]
    return found


def data_leaves(data: Sequence[Any]) -> list[Any]:
    """Return the leaves of the data as arrays, so that blocks are views, and Shares."""
    return [
        leaf if type(leaf) is np.ndarray or isinstance(leaf, Share) else plain(leaf)
        for leaf in tree.leaves(tuple(data))
    ]


def types_of(args: Sequence[Any]) -> tuple[tuple[ArrayType, ...], Any]:
    """Return the types of the leaves of arguments, and their structure."""
    leaves, structure = tree.flatten(tuple(args))
    return tuple([type_of(leaf) for leaf in leaves]), structure
