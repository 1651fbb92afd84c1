"""Parameters as one vector, and what may go wrong with them: the floor of the optimisers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, NotFiniteError, ShapeError
from primad.ir.array_types import ArrayType
from primad.parallel.job import ranks
from primad.parallel.shares import Share, shares_in
from primad.recording import tree
from primad.recording.foreign import plain
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of

Tree = Any
Vector = np.ndarray[Any, np.dtype[np.float64]]


def check_counts(rule: Any, *names: str) -> None:
    """Raise unless settings of a rule are positive integers.

    Raises:
        ShapeError: if one is not: a search with no budget would look like one that has ended.
    """
    for name in names:
        count = getattr(rule, name)
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise ShapeError(
                f"{type(rule).__name__}: {name} must be a positive integer, got {count!r}",
                fix="write a whole number, 1 or more.",
            )


IMPLICIT = ("least_squares", "minimize", "root")
"""Solvers that `primad.implicit` has under the same name."""


def check_plain(what: str, values: Tree) -> None:
    """Raise if there is a traced array in a tree: optimisers run on plain numbers.

    Raises:
        NotDifferentiableError: with what to do now.
    """
    if not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(values)):
        return
    outside = f"call {what} outside of grad, jit and vmap"
    fix = (
        f"{outside}; inside, put it into a function with primad.opaque(result=…) and give this its derivative, that of "
        "the implicit function, with primad.custom_jvp."
    )
    if what == "solve_ivp":
        fix = "take primad.integrate.solve_ivp, which is recorded."
    elif what in IMPLICIT:
        fix = f"take primad.implicit.{what}, whose result is differentiated, or {fix}"
    raise NotDifferentiableError(
        f"{what} got a traced array, so it would be differentiated, batched or compiled",
        why="It runs on plain numbers, and how the solution moves with its parameters is not recorded.",
        fix=fix,
    )


def float_types(params: Tree) -> list[ArrayType]:
    """Return the types of the leaves of parameters.

    Raises:
        ShapeError: if one is not a float array, or there are none.
    """
    types = [type_of(leaf) for leaf in tree.leaves(params)]
    for type in types:
        if type.is_complex:
            raise ShapeError(
                f"a step of an optimiser needs real parameters, got {type}",
                why="It searches among the parts of complex ones.",
                fix="call primad.optimize.solve(rule, function, params), which takes these; steps=1 makes one step.",
            )
        if not type.is_float:
            raise ShapeError(f"an optimiser needs float parameters, got {type}", fix="convert with .astype(float).")
    if not sum(type.size for type in types):
        raise ShapeError(
            "an optimiser needs parameters, got a tree with no numbers in it",
            fix="give an array of floats, or a container of such arrays.",
        )
    return types


def flat(leaves: Sequence[Any]) -> Vector:
    """Return arrays as one float64 vector."""
    return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in leaves] or [np.zeros(0)])


def flat_like(structure: Any, values: Tree, what: str) -> Vector:
    """Return a tree as one float64 vector, in the order of a structure that it must have."""
    return flat(tree.flatten_as(structure, values, what))


@dataclass(frozen=True)
class Space:
    """The parameters of one kind: how trees of them become vectors, and vectors trees.

    Attributes:
        structure: of the trees.
        types: of their leaves.
    """

    structure: Any
    types: list[ArrayType]

    @classmethod
    def of(cls, params: Tree) -> Space:
        """Return the space that parameters belong to."""
        return cls(tree.flatten(params)[1], float_types(params))

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(type.size for type in self.types)

    def vector(self, params: Tree) -> Vector:
        """Return a tree as a vector."""
        return flat(tree.leaves(params))

    def tree(self, vector: Vector) -> Tree:
        """Cut a vector into arrays of the shapes and dtypes of the parameters."""
        found, start = [], 0
        for type in self.types:
            size = math.prod(type.shape)
            found.append(vector[start : start + size].reshape(type.shape).astype(type.dtype))
            start += size
        return tree.unflatten(self.structure, found)

    def check_state(self, vector: Any) -> None:
        """Raise unless a vector that a state holds has as many numbers as the parameters.

        Raises:
            ShapeError: if not.
        """
        if np.shape(vector) != (self.size,):
            raise ShapeError(
                f"a state for {np.size(vector)} parameters does not fit {self.size} parameters",
                fix="make a state for these parameters: rule.init(params).",
            )


def first_bad(what: str, values: Tree) -> str | None:
    """Return which element of a tree is NaN or infinite, in words; None if none is.

    Where there are Shares, all processes ask together, and hear of the first process that has one.
    """
    leaves, structure = tree.flatten(values)
    found = None
    for path, leaf in zip(tree.paths(structure), leaves, strict=True):
        array = leaf.part if isinstance(leaf, Share) else plain(leaf)
        if array.dtype.kind not in "fc" or np.all(np.isfinite(array)):
            continue
        index = np.argwhere(~np.isfinite(array))[0].tolist()
        value = array[tuple(index)]
        if isinstance(leaf, Share):
            index[leaf.axis] += leaf.start
        found = f"{what}{''.join(f'[{part!r}]' for part in (*path, *index))} is {value}"
        break
    if any(shares_in(leaves)):
        found = next((one for one in ranks().gathered(found) if one), None)
    return found


def not_finite(rule: str, params: Tree, data: Sequence[Any], named: Sequence[tuple[str, Tree]]) -> NotFiniteError:
    """Return the error for a function that is not finite where a step begins.

    Args:
        rule: who wants to make the step.
        params: where it begins.
        data: the other arguments of the function, which may be the reason.
        named: what was computed, from its cause to its effects.
    """
    for what, values in (("data", tuple(data)), ("the parameter ", params), *named):
        found = first_bad(what, values)
        if found is not None:
            break
    else:
        found = "a sum of the values overflows"
    return NotFiniteError(
        f"{rule}: the function is not finite at the parameters: {found}",
        why="A step needs finite values where it begins; parameters and state are as they were.",
        fix="mend the data or the function there, or go on from earlier parameters with a smaller step.",
    )
