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
from primad.programs.sparsity.found_entries import Found
from primad.programs.sparsity.labels import MOST_ENTRIES, Reached, both_ways, in_rows, listed, own
from primad.programs.sparsity.matrix_programs import MatrixPrograms

Array = np.ndarray[Any, Any]

MOST_KEPT = 8
"""Contents of known arrays for which entries are kept. Chosen: more change with each call."""


class KeptEntries:
    """The entries of a matrix, for the contents of those known arrays that say where zeros are.

    Args:
        programs: of products with the matrix.
        symmetric: whether it is symmetric.
    """

    def __init__(self, programs: MatrixPrograms, symmetric: bool) -> None:
        self._programs, self._symmetric = programs, symmetric
        self._found: list[tuple[frozenset[int], dict[_ConstantUse, bytes], Found]] = []

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return tuple([found.held for *_, found in self._found])

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
            if names != known.keys():
                continue
            for use in used:
                if use not in digests:
                    digests[use] = use.digest(known)
            if all(digests[use] == digest for use, digest in used.items()):
                return found, False
        given = {along.inputs[i] if i >= 0 else self._programs.choices[~i]: (i, x) for i, x in known.items()}
        constants = Constants({node: KnownValue(x, frozenset([i]), True) for node, (i, x) in given.items()})
        entries, linear = self._entries(along, constants), None if chosen else self._programs.linear(constants)
        found = Found(entries, self._symmetric, self._programs.side, self._programs.costs, linear)
        uses = (
            [_ConstantUse(i, False) for i in constants.contents],
            [_ConstantUse(i, True) for i in constants.zeros - constants.contents],
        )
        used = {use: use.digest(known) for each in uses for use in each}
        self._found = [*self._found[1 - MOST_KEPT :], (frozenset(known), used, found)]
        return found, True

    def _entries(self, along: Program, constants: Constants) -> tuple[Array, Array, tuple[int, int]]:
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

    def digest(self, known: Mapping[int, Array]) -> bytes:
        """Return what tells arrays apart; nothing for one without zeros, if these are what is looked at."""
        x = known[self.number]
        if not self.of_zeros:
            return hashlib.sha256(np.ascontiguousarray(x).data).digest() + str(x.dtype).encode()
        counts = x != 0
        return b"" if counts.all() else hashlib.sha256(np.packbits(counts).data).digest()
