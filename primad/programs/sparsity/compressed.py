"""Matrices of derivatives of which the entries that may not be zero are found, and computed by few products.

What is found once is kept for further points: the entries, colours, and the programs of the products. It depends on
the program and on the contents of those known arrays that say where zeros are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.program import ClosedProgram, Program
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import concatenate
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.diagonals import together
from primad.programs.sparsity.coloring.colored_products import colored_products, read_products
from primad.programs.sparsity.coloring.entries import Reading, Sweep
from primad.programs.sparsity.coloring.substitution import Substitution
from primad.programs.sparsity.direct.entry_sums import PointRows, added_up, in_shape, summed
from primad.programs.sparsity.found_entries import Found
from primad.programs.sparsity.kept_entries import KeptEntries
from primad.programs.sparsity.matrix_programs import MatrixPrograms
from primad.recording.traced_array import TracedArray
from primad.runtime.cache import BUILT
from primad.runtime.executors.dispatch import prepared
from primad.runtime.executors.executor import Options
from primad.runtime.plan.donation import settle
from primad.transforms.lowering import inline

Array = np.ndarray[Any, Any]


class CompressedKey(NamedTuple):
    """Which matrix of derivatives of which program it is."""

    op: Primitive
    of: Key
    options: tuple[tuple[str, Any], ...]
    left_out: frozenset[str]
    kind: str = "compressed"


class ChoicesKey(NamedTuple):
    """Values that choose where the zeros of a matrix are at a point."""

    matrix: CompressedKey
    kind: str = "choices"


class ProductsKey(NamedTuple):
    """Products of a matrix with so many directions together, by a program that may take what is chosen at a point."""

    matrix: CompressedKey
    pulled: bool
    local: bool
    block: int
    kind: str = "products"


class EntriesKey(NamedTuple):
    """So many entries of a matrix, in an order that is given, by all products at once."""

    products: ProductsKey
    entries: int
    kind: str = "entries"


class SumsKey(NamedTuple):
    """So many entries of a matrix, each a sum of so many elements of blocks, 0 where it is of any number of them.

    Attributes:
        rows: how they are read from the blocks, where that is said by no list.
    """

    blocks: Key
    constants: bytes
    entries: int
    added: int
    weighted: bool
    rows: PointRows | None
    kind: str = "sums"


def compressed(
    op: Primitive, of: ClosedProgram, options: dict[str, Any], derive: Callable[[], tuple[Program, int, bool]]
) -> Compressed:
    """Return a matrix of derivatives, found again if it was asked for before.

    Args:
        op: the op that is the matrix.
        of: the program that is differentiated.
        options: the op's.
        derive: gives the program of which it is the Jacobian, with respect to which input, and whether it is symmetric.
    """
    key = CompressedKey(op, of.key, tuple(sorted(options.items())), LEFT_OUT.get())
    found: Compressed = BUILT.get(key, lambda: Compressed(key, *derive()))
    return found


class Compressed:
    """A matrix of derivatives: rows are elements of the result, columns those of the argument.

    Args:
        key: tells it from others.
        of: the program of which it is the Jacobian, with one result.
        argument: the input with respect to which.
        symmetric: whether it is symmetric.
    """

    def __init__(self, key: CompressedKey, of: Program, argument: int, symmetric: bool) -> None:
        self._key = key
        self._programs = MatrixPrograms(of, argument)
        self._entries = KeptEntries(self._programs, symmetric)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self._programs.of, *self._entries.held)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        return self._programs.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the entries."""
        return self._programs.dtype

    def found(self, known: Mapping[int, Array], chosen: Sequence[Array] = ()) -> Found:
        """Return the entries.

        Args:
            known: those of the program's inputs of which the values are known.
            chosen: what is chosen at a point, for the entries there.
        """
        found, new = self._entries.found(known, chosen)
        if new:
            BUILT.put(self._key, self)  # it holds more than it did
        return found

    def chosen(self, values: Sequence[Array]) -> list[Array]:
        """Return what is chosen at a point.

        Entries that are found with it hold wherever the same is chosen, and are found again there only.

        Args:
            values: of the program's inputs.
        """
        along, choices = self._programs.chooses, self._programs.choices
        if not choices:
            return []
        key = ChoicesKey(self._key)
        run = prepared(key, lambda: Program(along.trace, along.inputs[:-1], choices)).run
        return run(list(values))

    def sweeps(self, found: Found) -> list[Sweep]:
        """Return the products that have the entries."""
        new = not found.is_colored
        made = found.sweeps
        if new:
            BUILT.put(self._key, self)
        return made

    def data(
        self,
        found: Found,
        values: Sequence[Array],
        format: str,
        out: Array | None = None,
        chosen: Sequence[Array] = (),
    ) -> Array:
        """Compute the entries.

        Args:
            found: where they are.
            values: of the program's inputs.
            chosen: what is chosen at the point, if they were found with it.
            format: 'csr' or 'csc', which says in what order they are wanted.
            out: takes them, if it is given.
        """
        data = np.empty(len(found.columns), self._programs.dtype) if out is None else out
        blocks = None if chosen else found.blocks
        if blocks is not None:
            sums = found.sums(format)
            added = 0 if sums.entries is not None else len(sums.places)
            key = SumsKey(blocks.key, found.constants, len(data), added, sums.weights is not None, sums.rows)
            place = in_shape(sums, data)
            self._fill(key, lambda: summed(blocks.program, sums, place), [*values, *sums.lists, place])
            return data
        for sweep, reading in zip(self.sweeps(found), found.readings(format), strict=True):
            along = self._programs.along(sweep.pulled, bool(chosen))
            if len(reading.places) == len(data) and sweep.count == self._together(along, sweep.count):
                self._read(along, sweep, reading, [*values, *chosen], data)
                continue
            for first, products in self._products(sweep.colors, sweep.count, sweep.pulled, values, chosen):
                reading.take(products, first, data)
        return data

    def _read(self, along: Program, sweep: Sweep, reading: Reading, values: Sequence[Array], data: Array) -> None:
        """Compute all entries by products with all directions at once, into an array."""
        count, inputs = sweep.count, len(along.inputs) - 1
        key = EntriesKey(ProductsKey(self._key, sweep.pulled, inputs > len(self._programs.of.inputs), count), len(data))
        self._fill(key, lambda: read_products(along, count, data), [*values, sweep.colors, reading.places, data])

    @staticmethod
    def _fill(key: SumsKey | EntriesKey, build: Callable[[], Program], arguments: list[Array]) -> None:
        """Compute all entries into the last argument of a program, an array that is not read."""
        donated = ((0, len(arguments) - 1),)
        settle(prepared(key, build, Options(donated=donated)).run(arguments), arguments, donated)

    @staticmethod
    def _together(along: Program, count: int) -> int:
        """Return how many directions, of so many, are taken at once."""
        return together(count, along.in_types[-1], along.out_types[0])

    def by_substitution(self, found: Found, values: Sequence[Array], chosen: Sequence[Array] = ()) -> Array:
        """Compute the entries of a symmetric matrix row by row, by fewer products than `data` takes.

        Args:
            found: where they are.
            values: of the program's inputs.
            chosen: what is chosen at the point, if they were found with it.
        """
        way = self.substitution(found)
        parts = [
            products
            for _, products in self._products(way.colors, way.count, self._programs.side == "pulled", values, chosen)
        ]
        return way.data(np.concatenate(parts) if parts else np.zeros(0, self._programs.dtype))

    def substitution(self, found: Found) -> Substitution:
        """Return fewer products for the entries of a symmetric matrix, and how these follow from them.

        Raises:
            ShapeError: if the matrix is not known to be symmetric.
        """
        way = found.substitution
        if way is None:
            raise ShapeError(
                "sparse: substitution=True of a matrix that is not known to be symmetric",
                why="The entries of one half follow from those of the other.",
                fix="leave substitution=True out; the Hessian of a function of one number has it.",
            )
        BUILT.put(self._key, self)  # it holds more than it did
        return way

    def _products(
        self, colors: Array, count: int, pulled: bool, values: Sequence[Array], chosen: Sequence[Array]
    ) -> Iterator[tuple[int, Array]]:
        """Give the products with the directions of all colours: where the first stands among all, and the elements."""
        along = self._programs.along(pulled, bool(chosen))
        size = along.out_types[0].size
        block = self._together(along, count)
        key = ProductsKey(self._key, pulled, bool(chosen), block)
        run = prepared(key, lambda: colored_products(along, block)).run
        for first in range(0, count, block):
            (products,) = run([*values, *chosen, colors, np.array(first)])
            yield first * size, products.reshape(-1)  # those beyond the last direction are zeros

    def recorded(self, found: Found, operands: Sequence[TracedArray], format: str) -> TracedArray:
        """Record the computation of the entries, of traced inputs of the program, in the order of 'csr' or 'csc'."""
        trace, parts, targets = operands[0].node.trace, [], []
        if found.blocks is not None:
            sums = found.sums(format)
            return added_up(found.blocks.program, sums, operands, [TracedArray(trace.capture(x)) for x in sums.lists])
        for sweep, reading in zip(self.sweeps(found), found.readings(format), strict=True):
            along = self._programs.along(sweep.pulled)
            block = self._together(along, sweep.count)
            program = colored_products(along, block)
            colors = TracedArray(trace.capture(sweep.colors))
            for first in range(0, sweep.count, block):
                number = TracedArray(trace.literal(first, ArrayType((), np.int64)))
                (products,) = inline(program, [*operands, colors, number])
                places, own = reading.within(first * along.out_types[0].size, products.size)
                parts.append(take(ops.reshape(products, shape=(products.size,)), places))
                targets.append(own)
        if not parts:
            return TracedArray(trace.literal(0, ArrayType((0,), self._programs.dtype)))
        data, order = concatenate(parts), np.concatenate(targets)
        data = data if np.array_equal(order, np.arange(len(order))) else take(data, np.argsort(order))
        entries: TracedArray = data.astype(self._programs.dtype)  # a pulled row has that of the argument
        return entries
