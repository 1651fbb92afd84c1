"""Where a matrix of derivatives may have entries that are not zero: found by dependence, and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import MemoryLimitError
from primad.ir.program import Program
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.dependence import follow
from primad.programs.sparsity.direct.block_programs import PointBlocks, blocks_of
from primad.programs.sparsity.direct.entry_sums import MOST_EACH, MOST_LISTED, EntrySums, entries_of
from primad.programs.sparsity.direct.linear_parts import DirectionProgram
from primad.programs.sparsity.found_entries import Found
from primad.programs.sparsity.labels import MOST_ENTRIES, Reached, both_ways, in_rows, listed, own
from primad.programs.sparsity.matrix_programs import MatrixPrograms
from primad.system.machine import LOOP_ELEMENTS

Array = np.ndarray[Any, Any]
_Entries = tuple[Array, Array, tuple[int, int]]

MOST_KEPT = 8
"""Contents of known arrays for which entries are kept. Chosen: more change with each call."""

WORD = np.dtype(np.uint64).itemsize
"""Bytes of the largest whole numbers."""


class KeptEntries:
    """The entries of a matrix, for the contents of those known arrays that say where zeros are.

    Args:
        programs: of products with the matrix.
        symmetric: whether it is symmetric.
    """

    def __init__(self, programs: MatrixPrograms, symmetric: bool) -> None:
        self._programs, self._symmetric = programs, symmetric
        self._found: list[tuple[frozenset[int], dict[_ConstantUse, Array | bytes], Found]] = []

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return tuple([(*used.values(), found.held) for _, used, found in self._found])

    def found(self, known: Mapping[int, Array], chosen: Sequence[Array] = ()) -> tuple[Found, bool]:
        """Return the entries, and whether they are found for the first time.

        Args:
            known: those of the program's inputs of which the values are known.
            chosen: what is chosen at a point, for the entries there.
        """
        known = {**known, **{~i: x for i, x in enumerate(chosen)}}
        along = self._programs.chooses if chosen else self._programs.followed
        digests: dict[_ConstantUse, bytes] = {}
        for names, used, found in self._found:
            if names == known.keys() and all(use.is_kept(kept, known, digests) for use, kept in used.items()):
                return found, False
        given = {along.inputs[i] if i >= 0 else self._programs.choices[~i]: (i, x) for i, x in known.items()}
        constants = Constants({node: KnownValue(x, frozenset([i]), True) for node, (i, x) in given.items()})
        linear = None if chosen else self._programs.linear(constants)
        entries, blocks = self._by_blocks(linear, constants)
        if entries is None:
            entries = self._entries(along, constants)
        found = Found(entries, self._symmetric, self._programs.side, self._programs.costs, linear, blocks)
        uses = (
            [_ConstantUse(i, False) for i in constants.contents],
            [_ConstantUse(i, True) for i in constants.zeros - constants.contents],
        )
        most = sum(places.nbytes for places in entries[:2])
        used = {use: use.kept(known, most) for each in uses for use in each}
        self._found = [*self._found[1 - MOST_KEPT :], (frozenset(known), used, found)]
        return found, True

    def _by_blocks(
        self, linear: DirectionProgram | None, constants: Constants
    ) -> tuple[_Entries | None, tuple[PointBlocks, EntrySums] | None]:
        """Return the entries that blocks have, and these, of many numbers: it takes less time than to follow all.

        Returns:
            None where there are no blocks, or more elements than products would have.
        """
        rows, size = self._programs.shape
        if linear is None or self._symmetric or max(rows, size) < LOOP_ELEMENTS:
            return None, None
        blocks = blocks_of(linear, MOST_ENTRIES // MOST_LISTED, constants)
        if blocks is None or not blocks.narrow:
            return None, None
        starts, columns, sums = entries_of(blocks, (rows, size))
        if blocks.size > MOST_EACH * len(columns):
            return None, None
        return (starts, columns, (rows, size)), (blocks, sums)

    def _entries(self, along: Program, constants: Constants) -> _Entries:
        rows, size = self._programs.shape
        direction = along.inputs[-1].type
        reached: Reached = ()
        if direction.size:
            reached = follow(along, {along.inputs[-1]: own(direction.shape)}, constants, direction.size)[0]
        found = listed(reached, along.out_types[0].size, direction.size)
        if found is None:
            raise MemoryLimitError(
                f"a matrix of {rows} × {size} derivatives has more than {MOST_ENTRIES} entries that may not be zero",
                fix="ask for products with it, or for the rows that are needed, which are computed alone.",
            )
        starts, columns = found
        if self._programs.pushed is None:
            starts, columns = in_rows(columns, np.repeat(np.arange(size), np.diff(starts)), rows, size)
        if self._symmetric:
            starts, columns = both_ways(starts, columns, size)
        return starts, columns, self._programs.shape


class _ConstantUse(NamedTuple):
    """What is looked at of a known array.

    Attributes:
        number: of the array.
        of_zeros: whether it is where the zeros are, and not the values.
    """

    number: int
    of_zeros: bool

    def kept(self, known: Mapping[int, Array], most: int) -> Array | bytes:
        """Return a copy of what is looked at, or its digest where it has more bytes: it takes 20 times as long."""
        seen = self._seen(known)
        return _digest(seen) if seen.nbytes > most else seen.copy()

    def is_kept(self, kept: Array | bytes, known: Mapping[int, Array], digests: dict[_ConstantUse, bytes]) -> bool:
        """Say whether an array is as one was, by its digest where that was kept, which is computed once."""
        if not isinstance(kept, bytes):
            return np.array_equal(self._seen(known), kept)
        if self not in digests:
            digests[self] = _digest(self._seen(known))
        return digests[self] == kept

    def _seen(self, known: Mapping[int, Array]) -> Array:
        """Return what is looked at as whole numbers, by which NaN is told from other numbers, and −0 from 0.

        Of zeros it is one bit for each number; nothing for an array without any.
        """
        x = known[self.number]
        if self.of_zeros:
            counts = np.atleast_1d(x != 0)
            return np.packbits(counts[:0] if counts.all() else counts)
        return np.ascontiguousarray(x).view(f"u{min(x.dtype.itemsize, WORD)}")


def _digest(seen: Array) -> bytes:
    return hashlib.sha256(seen.data).digest()
