"""Complex unknowns as real ones: solvers search among the parts, which stand last in arrays of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.functional.export.distribute import compiler_of
from primad.functional.jit import jit
from primad.ir.array_types import ArrayType, is_complex
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of

Tree = Any
Function = Callable[..., Any]


@dataclass(frozen=True)
class RealCoordinates:
    """How a tree of arrays becomes one of real arrays, and back.

    A complex array of shape s becomes a real one of shape (*s, 2), which lies in memory as it does: its parts. Real
    arrays, and functions of trees without complex ones, stay what they are.

    Attributes:
        structure: of the trees.
        types: of their leaves.
    """

    structure: Any
    types: tuple[ArrayType, ...]

    @classmethod
    def of(cls, params: Tree) -> RealCoordinates:
        """Return the coordinates of trees like one."""
        leaves, structure = tree.flatten(params)
        return cls(structure, tuple([type_of(leaf) for leaf in leaves]))

    @property
    def are_parts(self) -> bool:
        """Whether there is a complex array, so that coordinates are something else than the tree."""
        return any(type.is_complex for type in self.types)

    def split(self, params: Tree) -> Tree:
        """Return the coordinates of a tree: of z = x + iy the pair (x, y)."""
        return self._each(params, lambda leaf, type: np.stack([np.real(leaf), np.imag(leaf)], axis=-1))

    def joined(self, coordinates: Tree) -> Tree:
        """Return the tree that has coordinates, which may be traced."""
        return self._each(coordinates, lambda leaf, type: _joined(leaf, type))

    def gradient(self, slopes: Tree) -> Tree:
        """Return the gradient ∂f/∂x − i ∂f/∂y, as `primad.grad` has it, of slopes along the coordinates."""
        return self._each(slopes, lambda leaf, type: np.conj(_joined(leaf, type)))

    def slopes(self, gradient: Tree) -> Tree:
        """Return the slopes along the coordinates that a gradient by the tree has."""
        return self.split(self._each(gradient, lambda leaf, type: np.conj(leaf)))

    def bound(self, given: Any, what: str) -> Any:
        """Return bounds of coordinates: those of a complex unknown are complex, a bound for each part.

        Args:
            given: an infinite number, which is no bound for any, or a tree like the unknowns.
            what: it is, for messages.

        Raises:
            ShapeError: for a finite real bound of a complex unknown.
        """
        if not self.are_parts or (isinstance(given, (float, np.floating)) and np.isinf(given)):
            return given
        leaves = [given] if self.structure.is_leaf() else tree.flatten_as(self.structure, given, what)
        found = []
        for leaf, type in zip(leaves, self.types, strict=True):
            bounds = np.asarray(leaf)
            if type.is_complex and not is_complex(bounds.dtype):
                if not np.all(np.isinf(bounds)):
                    raise ShapeError(
                        f"{what}: a real bound of complex unknowns, {type}",
                        why="Complex numbers have no order; their parts have bounds.",
                        fix="write complex(-1, -2) for x ≥ -1 and y ≥ -2, or constrain np.abs(z) ** 2.",
                    )
                bounds = np.stack([bounds, bounds], axis=-1)
            elif type.is_complex:
                bounds = np.stack([bounds.real, bounds.imag], axis=-1)
            if type.is_complex and bounds.ndim == 1:
                bounds = np.broadcast_to(bounds, (*type.shape, 2))
            found.append(bounds)
        return tree.unflatten(self.structure, found)

    def function(self, function: Function) -> Function:
        """Return a function of a tree and other arguments as one of coordinates and the other arguments."""
        if not self.are_parts:
            return function
        inner, run = compiler_of(function)

        @functools.wraps(inner)
        def of_coordinates(coordinates: Tree, *others: Any) -> Any:
            return inner(self.joined(coordinates), *others)

        return of_coordinates if run is jit else run(of_coordinates)

    def refuse(self, what: str) -> None:
        """Raise where there are complex unknowns, for which something has no meaning that all agree on.

        Raises:
            TracingError: with what to leave out.
        """
        if self.are_parts:
            raise TracingError(
                f"{what} by complex unknowns",
                why="Solvers search among the real and imaginary parts, whose derivatives these would have to be.",
                fix="leave it out: derivatives are exact.",
            )

    def _each(self, values: Tree, change: Callable[[Any, ArrayType], Any]) -> Tree:
        """Change what belongs to complex leaves."""
        if not self.are_parts:
            return values
        leaves = tree.flatten_as(self.structure, values, "parameters")
        found = [change(leaf, type) if type.is_complex else leaf for leaf, type in zip(leaves, self.types, strict=True)]
        return tree.unflatten(self.structure, found)


def _joined(parts: Any, type: ArrayType) -> Any:
    """Return x + iy of an array whose last axis has x and y."""
    if isinstance(parts, TracedArray):
        return ops.complex_of(parts[..., 0], parts[..., 1])
    array = np.ascontiguousarray(parts, np.empty(0, type.dtype).real.dtype)
    return array.view(type.dtype)[..., 0]


def real_parts(leaf: Any) -> Any:
    """Return a complex array as a real one with one more axis, the last: its parts; a real array as it is."""
    if not is_complex(type_of(leaf).dtype):
        return leaf
    return np.stack([np.real(leaf), np.imag(leaf)], axis=-1)
