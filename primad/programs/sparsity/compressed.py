"""Matrices of derivatives of which the entries that may not be zero are found, and computed by few products.

What is found once is kept for further points: the entries, colours, and the programs of the products. It depends on
the program and on the contents of those known arrays that say where zeros are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import MemoryLimitError, NotDifferentiableError, ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.ir.replay import replay
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import concatenate
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.diagonals import together
from primad.programs.jacobians.jacobian_programs import matrix_dtype, only, tangent_of
from primad.programs.sparsity.colored_products import colored_products, read_products
from primad.programs.sparsity.coloring.entries import Reading, Sweep
from primad.programs.sparsity.coloring.substitution import Substitution
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.dependence import follow
from primad.programs.sparsity.found_entries import Found, Way
from primad.programs.sparsity.labels import MOST_ENTRIES, Reached, both_ways, in_rows, listed, own
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.cache import BUILT
from primad.runtime.executors.dispatch import prepared
from primad.runtime.executors.executor import Options
from primad.runtime.plan.donation import settle
from primad.transforms import reverse
from primad.transforms.lowering import expand, inline, lower
from primad.transforms.reverse import transpose

Array = np.ndarray[Any, Any]

MOST_KEPT = 8
"""Contents of known arrays for which entries are kept. Chosen: more change with each call."""


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
        self._key, self._of, self._argument, self._symmetric = key, of, argument, symmetric
        self._found: list[tuple[frozenset[int], dict[int, bytes], Found]] = []

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self._of, *[found.held for *_, found in self._found])

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        return self._of.out_types[0].size, self._of.in_types[self._argument].size

    def found(self, known: Mapping[int, Array], chosen: Sequence[Array] = ()) -> Found:
        """Return the entries.

        Args:
            known: those of the program's inputs of which the values are known.
            chosen: what is chosen at a point, for the entries there.
        """
        known = {**known, **{~i: x for i, x in enumerate(chosen)}}
        along = self._chooses if chosen else self._followed
        digests: dict[int, bytes] = {}
        for names, used, found in self._found:
            if names != known.keys():
                continue
            for number in used:
                if number not in digests:
                    digests[number] = _digest(known[number])
            if all(digests[number] == digest for number, digest in used.items()):
                return found
        depends: set[int] = set()
        found = Found(self._entries(along, known, depends), self._symmetric, self._only, self._costs)
        used = {i: _digest(known[i]) for i in depends}
        self._found = [*self._found[1 - MOST_KEPT :], (frozenset(known), used, found)]
        BUILT.put(self._key, self)  # it holds more than it did
        return found

    def _entries(
        self, along: Program, known: Mapping[int, Array], depends: set[int]
    ) -> tuple[Array, Array, tuple[int, int]]:
        given = {along.inputs[i] if i >= 0 else self._choices[~i]: (i, x) for i, x in known.items()}
        constants = Constants({node: KnownValue(x, frozenset([i])) for node, (i, x) in given.items()}, depends)
        rows, size = self.shape
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
        if self._pushed is None:
            starts, columns = in_rows(columns, np.repeat(np.arange(size), np.diff(starts)), rows, size)
        if self._symmetric:
            starts, columns = both_ways(starts, columns, size)
        return starts, columns, self.shape

    @cached_property
    def _followed(self) -> Program:
        """The program along which the entries are found, of the inputs and a direction."""
        return lower(self._pulled if self._pushed is None else self._pushed)

    @cached_property
    def _chooses(self) -> Program:
        """The same for the entries at a point, with what is linear in the direction apart, so that it is transposed."""
        if self._pushed is None:
            return self._followed
        return lower(expand(tangent_of(self._of, only(self._of, self._argument), residuals=True)))

    @cached_property
    def _choices(self) -> list[Node]:
        """The truth values and integers that are computed of the inputs alone, and choose."""
        along = self._chooses
        moving = {along.inputs[-1]}
        for node in along.nodes:
            if not moving.isdisjoint(node.inputs):
                moving.add(node)
        plain = [x for x in along.nodes if isinstance(x.type, ArrayType) and not isinstance(x.op, Leaf)]
        return [x for x in plain if x.type.dtype.kind in "iub" and x not in moving]

    def chosen(self, values: Sequence[Array]) -> list[Array]:
        """Return what is chosen at a point.

        Entries that are found with it hold wherever the same is chosen, and are found again there only.

        Args:
            values: of the program's inputs.
        """
        along, choices = self._chooses, self._choices
        if not choices:
            return []
        key = ChoicesKey(self._key)
        run = prepared(key, lambda: Program(along.trace, along.inputs[:-1], choices)).run
        return run(list(values))

    @cached_property
    def _pushed(self) -> Program | None:
        """The program of products with the matrix; None where there are rows only.

        They are all that there is of a real function of complex numbers, and where an op on the way has no tangent.
        """
        x, (y,) = self._of.in_types[self._argument], self._of.out_types
        if x.is_complex and not y.is_complex:
            return None
        try:
            return expand(tangent_of(self._of, only(self._of, self._argument)))
        except NotDifferentiableError:
            if y.is_complex and not x.is_complex:
                raise
            return None

    @property
    def _only(self) -> Way:
        """The only products from which entries may be read, if these are not both."""
        if self._pushed is None:
            return "pulled"
        return "pushed" if self._of.out_types[0].is_complex and not self._of.in_types[self._argument].is_complex else ""

    @cached_property
    def _pulled(self) -> Program:
        back = reverse.vjp(self._of, only(self._of, self._argument))
        return expand(Program(back.trace, back.inputs, back.outputs[1:]))

    def _costs(self) -> tuple[float, float]:
        """Return what a product with the matrix costs, and what one with its transpose does."""
        assert self._pushed is not None
        pushed, pulled = (lower(x).cost().flops for x in (self._pushed, self._pulled))
        return max(1.0, pushed), max(1.0, pulled)

    def sweeps(self, found: Found) -> list[Sweep]:
        """Return the products that have the entries."""
        new = not found.is_colored
        made = found.sweeps
        if new:
            BUILT.put(self._key, self)
        return made

    @cached_property
    def _where_chosen(self) -> Program:
        """The program along which entries are found, with what is chosen as inputs before the direction.

        So the entries that are computed are those that were found, also where rounding would choose otherwise.
        """
        along, choices = self._chooses, self._choices
        *inputs, direction = along.in_types

        def body(*xs: TracedArray) -> list[TracedArray]:
            given = [*along.inputs[:-1], *choices, along.inputs[-1]]
            mapping = {node: x.node for node, x in zip(given, xs, strict=True)}
            replay(along.nodes, mapping, xs[0].node.trace)
            return [TracedArray(mapping[node]) for node in along.outputs]

        return program_of([*inputs, *[x.type for x in choices], direction], body)

    @cached_property
    def _pulled_where_chosen(self) -> Program:
        along = self._where_chosen
        return transpose(along, [node is along.inputs[-1] for node in along.inputs])

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
        data = np.empty(len(found.columns), self.dtype) if out is None else out
        for sweep, reading in zip(self.sweeps(found), found.readings(format), strict=True):
            along = self._along(sweep.pulled, bool(chosen))
            if len(reading.places) == len(data) and sweep.count == self._together(along, sweep.count):
                self._read(along, sweep, reading, [*values, *chosen], data)
                continue
            for first, products in self._products(sweep.colors, sweep.count, sweep.pulled, values, chosen):
                reading.take(products, first, data)
        return data

    def _read(self, along: Program, sweep: Sweep, reading: Reading, values: Sequence[Array], data: Array) -> None:
        """Compute all entries by products with all directions at once, into an array."""
        count, inputs = sweep.count, len(along.inputs) - 1
        key = EntriesKey(ProductsKey(self._key, sweep.pulled, inputs > len(self._of.inputs), count), len(data))
        donated = ((0, inputs + 2),)
        arguments = [*values, sweep.colors, reading.places, data]
        settle(
            prepared(key, lambda: read_products(along, count, data), Options(donated=donated)).run(arguments),
            arguments,
            donated,
        )

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
        parts = [products for _, products in self._products(way.colors, way.count, False, values, chosen)]
        return way.data(np.concatenate(parts) if parts else np.zeros(0, self.dtype))

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
        along = self._along(pulled, bool(chosen))
        size = along.out_types[0].size
        block = self._together(along, count)
        key = ProductsKey(self._key, pulled, bool(chosen), block)
        run = prepared(key, lambda: colored_products(along, block)).run
        for first in range(0, count, block):
            (products,) = run([*values, *chosen, colors, np.array(first)])
            yield first * size, products.reshape(-1)[: (count - first) * size]

    def recorded(self, found: Found, operands: Sequence[TracedArray]) -> TracedArray:
        """Record the computation of the entries, row by row, of traced inputs of the program."""
        trace, parts, targets = operands[0].node.trace, [], []
        for sweep, reading in zip(self.sweeps(found), found.readings("csr"), strict=True):
            along = self._along(sweep.pulled)
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
            return TracedArray(trace.literal(0, ArrayType((0,), self.dtype)))
        data, order = concatenate(parts), np.concatenate(targets)
        return data if np.array_equal(order, np.arange(len(order))) else take(data, np.argsort(order))  # type: ignore[no-any-return]

    def _along(self, pulled: bool, local: bool = False) -> Program:
        """Return the program of products one way or the other, which takes what is chosen, or not."""
        if local:
            turned = pulled and self._pushed is not None
            return self._pulled_where_chosen if turned else self._where_chosen
        return self._pulled if pulled or self._pushed is None else self._pushed

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the entries."""
        return matrix_dtype(self._of.in_types[self._argument], self._of.out_types[0])


def _digest(x: Array) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(x).data).digest() + str(x.dtype).encode()
