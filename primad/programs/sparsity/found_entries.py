"""The entries of a matrix of derivatives that may not be zero, and where the products have them."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Literal

import numpy as np

from primad.ir.node import CAPTURED, leaf_value, literal_value
from primad.ir.program import ClosedProgram
from primad.numpy.linalg.sparse_places import SparsePlaces, index_dtype, storable
from primad.programs.sparsity.coloring.entries import Entries, Reading, Sweep
from primad.programs.sparsity.coloring.matrix_coloring import Costs, one_way_sweeps, sweeps
from primad.programs.sparsity.coloring.substitution import Substitution
from primad.programs.sparsity.direct.block_programs import PointBlocks, blocks_of
from primad.programs.sparsity.direct.entry_sums import MOST_EACH, EntrySums, sums_of
from primad.programs.sparsity.direct.linear_parts import DirectionProgram
from primad.programs.sparsity.direct.mirrored_blocks import half_of

Array = np.ndarray[Any, Any]
Way = Literal["", "pushed", "pulled"]


class Found:
    """The entries of a matrix that may not be zero, and the products that have them.

    Args:
        entries: starts of rows, columns, and the matrix's shape.
        symmetric: whether the matrix is symmetric.
        only: the only products that there are: 'pushed', with the matrix, or 'pulled', with the transposed one; '' if
            there are both.
        costs: what products cost, where there is a choice.
        linear: the program of products, by which entries may be computed without them.
        blocks: its blocks, if they are known, and which of their elements are added up, if all entries have some.
    """

    def __init__(
        self,
        entries: tuple[Array, Array, tuple[int, int]],
        symmetric: bool,
        only: Way,
        costs: Costs,
        linear: DirectionProgram | None = None,
        blocks: tuple[PointBlocks, EntrySums] | None = None,
    ) -> None:
        self.starts, self.columns, self.shape = entries
        self._symmetric, self._only, self._costs, self._linear = symmetric, only, costs, linear
        if blocks is not None:
            self._linear = None
            self._sums["csr"] = blocks[1]
            self.__dict__["blocks"] = ClosedProgram(blocks[0].program)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory, and the products too, once they are known."""
        made = self.sweeps if self.is_colored else []
        read = [(x.targets, x.places) for readings in self._readings.values() for x in readings]
        trees = self.substitution.held if "substitution" in self.__dict__ and self.substitution else ()
        added = [(x.places, x.weights, x.entries) for x in self._sums.values()]
        known = () if self._linear is None else self._linear.known.values()
        return self.starts, self.columns, *added, *known, *[(x.colors, x.entries) for x in made], *read, *trees

    @property
    def is_colored(self) -> bool:
        """Whether the products are known already."""
        return "sweeps" in self.__dict__

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """The products."""
        numbers = np.arange(len(self.columns))
        entries = Entries(self.shape, self.starts, self.columns, numbers)
        if self._only:
            return one_way_sweeps(entries, self._only == "pulled")
        return sweeps(entries, self._symmetric, self._costs)

    @cached_property
    def substitution(self) -> Substitution | None:
        """Fewer products, from which the entries follow one from another; None if the matrix is not symmetric."""
        if not self._symmetric:
            return None
        return Substitution(Entries(self.shape, self.starts, self.columns, np.arange(len(self.columns))))

    @cached_property
    def _readings(self) -> dict[str, list[Reading]]:
        return {}

    def readings(self, format: str) -> list[Reading]:
        """Return where the products have the entries, for each of them, in the order of 'csr' or 'csc'."""
        if format not in self._readings:
            number = np.arange(len(self.columns))
            if format == "csc":
                number[self._by_columns.data] = np.arange(len(number))
            self._readings[format] = [Reading(number[sweep.entries], sweep.places) for sweep in self.sweeps]
        return self._readings[format]

    @cached_property
    def blocks(self) -> ClosedProgram | None:
        """The program of the elements of which entries are sums; None where products have the entries."""
        linear = self._linear
        if linear is None:  # there is none, or another thread has been here
            return self.__dict__.get("blocks")
        blocks, entries = blocks_of(linear, MOST_EACH * len(self.columns)), None
        if blocks is not None and self._symmetric:
            blocks, entries = half_of(blocks, self.starts, self.columns)
        sums = None if blocks is None else sums_of(blocks, self.starts, self.columns, self.shape[1], entries)
        found = None
        if blocks is not None and sums is not None:
            self._sums["csr"] = sums
            found = ClosedProgram(blocks.program)
        self.__dict__["blocks"] = found
        self._linear = None  # it holds indices
        return found

    @cached_property
    def constants(self) -> bytes:
        """What tells the literals and the arrays that the program of the blocks holds from others."""
        found = hashlib.sha256()
        for node in self.blocks.program.sources if self.blocks is not None else ():
            found.update(np.ascontiguousarray(leaf_value(node) if node.op is CAPTURED else literal_value(node)).data)
        return found.digest()

    @cached_property
    def _sums(self) -> dict[str, EntrySums]:
        return {}

    def sums(self, format: str) -> EntrySums:
        """Return which elements of the blocks the entries are, in the order of 'csr' or 'csc'."""
        if format not in self._sums:
            assert self.blocks is not None  # it made those row by row
            self._sums[format] = self._sums["csr"].by_columns(self._by_columns.data, self.blocks.program)
        return self._sums[format]

    @cached_property
    def _by_columns(self) -> Any:
        """The number of each entry, column by column, as SciPy's array."""
        from scipy.sparse import csr_array  # loads when it is called

        return csr_array((np.arange(len(self.columns)), self.columns, self.starts), self.shape).tocsc()

    def in_order(self, data: Array, format: str) -> Array:
        """Return entries that are row by row in the order of 'csr' or 'csc'."""
        return data[self._by_columns.data] if format == "csc" else data

    @cached_property
    def _rows_and_columns(self) -> dict[str, tuple[Array, Array]]:
        return {}

    def indices(self, format: str) -> tuple[Array, Array]:
        """Return SciPy's arrays of the places of the entries: of 'csr' or 'csc' the indices and where lines begin."""
        if format not in self._rows_and_columns:
            found = self._by_columns if format == "csc" else None
            pair = (self.columns, self.starts) if found is None else (found.indices, found.indptr)
            dtype = index_dtype(self.shape, len(self.columns))
            self._rows_and_columns[format] = pair[0].astype(dtype), pair[1].astype(dtype)
        return self._rows_and_columns[format]

    def matrix(self, data: Array, format: str = "csr") -> Any:
        """Return SciPy's matrix with these entries, in 'csr' or 'csc'."""
        from scipy import sparse  # loads when it is called

        indices, starts = self.indices(format)
        made = sparse.csc_array if format == "csc" else sparse.csr_array
        return made((storable(data), indices.copy(), starts.copy()), self.shape)

    @cached_property
    def places(self) -> SparsePlaces:
        """Where the entries are, row by row."""
        return SparsePlaces(np.repeat(np.arange(self.shape[0]), np.diff(self.starts)), self.columns, self.shape, "csr")

    @cached_property
    def _places_by_columns(self) -> SparsePlaces:
        order = self._by_columns.data
        return SparsePlaces(self.places.rows[order], self.columns[order], self.shape, "csc")

    def placed(self, format: str) -> SparsePlaces:
        """Return where the entries are, column by column for 'csc', and row by row for any other format."""
        return self._places_by_columns if format == "csc" else self.places.in_format(format)
