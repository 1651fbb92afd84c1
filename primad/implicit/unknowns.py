"""Unknowns of an equation: as the tree that functions take, and as the row of real numbers that solvers work on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import real_dtype
from primad.numpy.shapes.shaping import concatenate, ravel, reshape
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of


class Unknowns:
    """Unknowns as one row of real numbers, and as the tree that the function takes; equal for equal trees.

    A complex number is two real ones, so an equation need not be holomorphic.

    Args:
        x0: a tree like them.
        name: of the function that users call.
    """

    def __init__(self, x0: Any, name: str) -> None:
        leaves, self.structure = tree.flatten(x0)
        if not leaves:
            raise ShapeError(f"{name}: there are no unknowns in x0", fix="start at a number, an array or a tree.")
        self.types = tuple([type_of(leaf) for leaf in leaves])
        floats = [real_dtype(type.dtype) for type in self.types if type.is_float or type.is_complex]
        self.dtype = np.result_type(*floats) if floats else np.dtype(np.float64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknowns) and (self.structure, self.types) == (other.structure, other.types)

    def __hash__(self) -> int:
        return hash(self.types)

    def __call__(self, row: Any) -> Any:
        """Return a row as the tree."""
        leaves, start = [], 0
        for type in self.types:
            parts = []
            for _ in range(1 + type.is_complex):
                part = row[start : start + type.size]
                parts.append(reshape(part, type.shape) if isinstance(row, TracedArray) else part.reshape(type.shape))
                start += type.size
            leaves.append((parts[0] + 1j * parts[1] if type.is_complex else parts[0])[()])
        return tree.unflatten(self.structure, leaves)

    def row(self, x: Any) -> Any:
        """Return a tree as a row; a real number where a complex one is unknown has the imaginary part 0."""
        leaves, structure = tree.flatten(x)
        if structure == self.structure:
            pairs = zip(leaves, self.types, strict=True)
            leaves = [leaf + 0j if type.is_complex else leaf for leaf, type in pairs]
        return numbers(leaves, self.dtype)


def numbers(leaves: Iterable[Any], dtype: Any) -> Any:
    """Return the real numbers of the leaves of a tree as one row: of complex ones the real parts, then the others."""
    parts = []
    for leaf in leaves:
        flat = ravel(leaf)
        parts.extend([np.real(flat), np.imag(flat)] if type_of(leaf).is_complex else [flat])
    row = concatenate(parts) if len(parts) != 1 else parts[0]
    return row.astype(dtype)
