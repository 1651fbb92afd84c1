"""Values that are linear in the vectors of a matrix, or in vectors to both sides, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from primad import ops
from primad.ir.node import LITERAL, Node
from primad.ops.arrays.contraction import ALPHABET, letters
from primad.ops.linalg.factorization import conjugated
from primad.programs.spectra.roles import Role, role_of
from primad.programs.spectra.spectral_ops import matrix_function
from primad.programs.spectra.value_functions import Factor, Part, Spectrum
from primad.recording.traced_array import TracedArray, lift


class Turned(Struct, frozen=True):
    """A value that is linear in the vectors: Σ over rows of v (or of its conjugate) times x, scaled along an axis.

    Attributes:
        of: the eigenvalues to which the vectors belong.
        axis: where the places of the eigenvalues are among its axes.
        lead: where the axes of a stack are.
        x: what the vectors are multiplied by, with the rows along `axis`; None where it is the identity.
        rows: where the rows are if x is None.
        conjugate: whether it is of the vectors to the other side: the conjugates, of a general matrix the inverse's.
        scale: functions of the values that it is scaled by.
        part: the places that it has.
    """

    of: Spectrum
    axis: int
    lead: tuple[int, ...]
    x: Any = None
    rows: int = -1
    conjugate: bool = False
    scale: tuple[Factor, ...] = ()
    part: Part = None

    def moved(self, order: Sequence[int]) -> Turned:
        """Return it with its axes in another order."""
        place = list(order).index
        x = None if self.x is None else ops.permute(self.x, order=tuple(order))
        rows = place(self.rows) if x is None else -1
        return replace(self, axis=place(self.axis), lead=tuple([place(i) for i in self.lead]), x=x, rows=rows)

    def spread(self, axes: Sequence[int], shape: Sequence[int]) -> Turned | None:
        """Return it, the same along new axes in front, along which functions of the values may differ."""
        count = len(axes)
        if tuple(axes) != tuple(range(count)):
            return None
        x = None if self.x is None else ops.broadcast(self.x, shape=(*shape[:count], *self.x.shape), axes=tuple(axes))
        lead = (*axes, *[count + i for i in self.lead])
        rows = count + self.rows if x is None else -1
        of = self.of.stacked(shape[:count])
        return replace(self, of=of, axis=count + self.axis, lead=lead, x=x, rows=rows)

    def squeezed(self, shape: Sequence[int]) -> Turned | None:
        """Return it without a last axis of length 1, as it has in a system of equations for a vector."""
        last = 0 if self.x is None else self.x.ndim - 1
        if not last or self.axis == last or last in self.lead or tuple(self.x.shape) != (*shape, 1):
            return None
        return replace(self, x=ops.reshape(self.x, shape=tuple(shape)))

    def conjugates(self) -> Turned | None:
        """Return its conjugates; None of a general matrix's, which are nothing there."""
        if self.of.lower is None:
            return None
        scale = tuple([replace(f, conjugate=not f.conjugate) for f in self.scale])
        x = None if self.x is None else conjugated(self.x)
        return replace(self, x=x, conjugate=not self.conjugate, scale=scale)

    @property
    def are_vectors(self) -> bool:
        """Whether it is all vectors, or their transposed matrix, and nothing else."""
        whole = self.x is None and self.part is None and not self.scale
        return whole and not self.conjugate and not self.of.stack

    def inverse(self) -> Turned:
        """Return the inverse of what are vectors."""
        return replace(self, axis=self.rows, rows=self.axis, conjugate=True)

    def scaled(self, factor: Node, inverse: bool = False) -> Turned:
        """Return it scaled by a function of the values at its places."""
        return replace(self, scale=(*self.scale, Factor(factor, self.part, inverse=inverse)))

    def whole(self, dtype: Any, mapping: dict[Node, Node]) -> Any:
        """Return what the vectors are multiplied by, also where it is the identity."""
        if self.x is not None:
            return self.x
        n = self.of.values.shape[-1]
        eye = np.broadcast_to(np.eye(n, dtype=dtype), (*self.of.values.shape, n))
        placed = np.moveaxis(eye, range(eye.ndim), [*self.lead, self.rows, self.axis])
        return TracedArray(lift(placed, self.of.matrix(mapping).node.trace))


class Pair(Struct, frozen=True):
    """A product of two such values, of vectors to one side and to the other one, before the sum over the eigenvalues.

    Attributes:
        values: the two.
        labels: the letters of their axes.
        out: the letters of the product's axes; others are summed.
        scale: functions of the values that it is scaled by, besides their own.
        real: whether the real part is taken.
    """

    values: tuple[Turned, Turned]
    labels: tuple[str, str]
    out: str
    scale: tuple[Factor, ...] = ()
    real: bool = False

    @property
    def summed(self) -> str:
        """The letter of the places of the eigenvalues."""
        return self.labels[0][self.values[0].axis]

    @property
    def lead(self) -> str:
        """The letters of the axes of a stack."""
        return max((self._lead(i) for i in (0, 1)), key=len)

    def _lead(self, which: int) -> str:
        return "".join(self.labels[which][i] for i in self.values[which].lead)

    @property
    def fits(self) -> bool:
        """Whether both are of the same vectors at the same places, and a sum over these is a function of the matrix."""
        (y, z), (_, to) = self.values, self.labels
        same = y.of.source is z.of.source and y.part == z.part and self.summed == to[z.axis]
        alike = y.of.has_sides and y.conjugate == z.conjugate
        short, long = sorted((self._lead(0), self._lead(1)), key=len)
        return same and not alike and long.endswith(short)

    def scaled(self, factor: Node, inverse: bool = False) -> Pair:
        """Return it scaled by a function of the values at its places."""
        return replace(self, scale=(*self.scale, Factor(factor, self.values[0].part, inverse=inverse)))

    def joined(self, dtype: Any, mapping: dict[Node, Node]) -> Any:
        """Return the sum over the eigenvalues, by a function of the matrix; None where something else scales it."""
        (y, z), (at, to) = self.values, self.labels
        if y.conjugate:
            (y, z), (at, to) = (z, y), (to, at)
        of = max(y.of, z.of, key=lambda of: len(of.stack))
        value = _function(of, y.part, (*y.scale, *z.scale, *self.scale), mapping)
        if value is None:
            return None
        dtype = np.result_type(dtype, value.dtype, *[x.x.dtype for x in (y, z) if x.x is not None])
        e = self.summed
        row, column = [c for c in ALPHABET if c not in at + to + self.out][:2]
        value, have = ops.cast(value, dtype=str(dtype)), self.lead + row + column
        for one, places, mine in ((y, at, row), (z, to, column)):
            if one.x is None and places[one.rows] not in have:
                have = have.replace(mine, places[one.rows])
                continue
            x = ops.cast(one.whole(dtype, mapping), dtype=str(dtype))
            own = places.replace(e, mine)
            later = set(self.out) | (set(to) | {column} if one is y else set())
            keep = "".join(dict.fromkeys(c for c in have + own if c != mine and c in later))
            value, have = ops.contract(value, x, labels=letters(have, own, keep)), keep
        left = tuple([i for i, c in enumerate(have) if c not in self.out])
        value, have = ops.sum(value, axes=left), "".join(c for c in have if c in self.out)
        if self.real and value.dtype.kind == "c":
            value = ops.real_part(value)
        return permuted(value, have, self.out) if set(have) == set(self.out) else None


def _function(of: Spectrum, part: Part, scale: Sequence[Factor], mapping: dict[Node, Node]) -> Any:
    """Return V diag(g) Vᴴ for a product g of functions of the values; None where one of them is something else."""
    found = of.product(scale, part, mapping)
    if found is None:
        return None
    return matrix_function(found[0], of.matrix(mapping), found[1], [], of.lower)


def permuted(x: Any, have: str, wanted: str) -> Any:
    """Bring axes, which letters stand for, into another order."""
    return ops.permute(x, order=tuple([have.index(c) for c in wanted]))


def along(by: Node, axes: Sequence[int]) -> Node | None:
    """Return the vector of one number for each eigenvalue that a factor is, spread along all but some axes."""
    if by.op is LITERAL:
        return by
    if role_of(by) is Role.REPEATS:
        own = tuple([i for i in range(by.type.ndim) if i not in dict(by.params)["axes"]])
        if own == tuple(axes):
            return by.inputs[0]
    return by if tuple(axes) == tuple(range(by.type.ndim)) else None
