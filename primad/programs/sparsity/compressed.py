"""Matrices of derivatives of which the entries that may not be zero are found, and computed by few products.

What is found once is kept for further points: the entries, colours, and the programs of the products. It depends on
the program and on the contents of those known arrays that say where zeros are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from primad import ops
from primad.errors import MemoryLimitError, NotDifferentiableError
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.diagonals import each_equal, numbered, spread_along, together
from primad.programs.jacobians.jacobian_programs import matrix_dtype, only, tangent_of
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.dependence import follow
from primad.programs.sparsity.labels import MOST_ENTRIES, Reached, in_rows, listed, own
from primad.programs.sparsity.matrix_coloring import Entries, Sweep, one_way_sweeps, sweeps
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.cache import BUILT
from primad.runtime.executors.dispatch import prepared
from primad.transforms import batching, reverse
from primad.transforms.lowering import expand, inline, lower

Array = np.ndarray[Any, Any]

Way = Literal["", "pushed", "pulled"]
MOST_KEPT = 8
"""Contents of known arrays for which entries are kept. Chosen: more change with each call."""


class CompressedKey(NamedTuple):
    """Which matrix of derivatives of which program it is."""

    op: Primitive
    of: Key
    options: tuple[tuple[str, Any], ...]
    left_out: frozenset[str]
    kind: str = "compressed"


class ProductsKey(NamedTuple):
    """Products of a matrix with so many directions together."""

    matrix: CompressedKey
    pulled: bool
    block: int
    kind: str = "products"


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
        self._found: list[tuple[dict[int, bytes], Found]] = []

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self._of, *[found.held for _, found in self._found])

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        return self._of.out_types[0].size, self._of.in_types[self._argument].size

    def found(self, values: Sequence[Array], captured: int) -> Found:
        """Return the entries.

        Args:
            values: of the program's inputs.
            captured: which inputs, from this number on, are the same in all calls; of others integers are known.
        """
        digests: dict[int, bytes] = {}
        for used, found in self._found:
            for number in used:
                if number not in digests:
                    digests[number] = _digest(values[number])
            if all(digests[number] == digest for number, digest in used.items()):
                return found
        known = {i: x for i, x in enumerate(values) if x.dtype.kind in "iub" or i >= captured}
        depends: set[int] = set()
        found = Found(self._entries(known, depends), self._symmetric, self._only)
        self._found = [*self._found[1 - MOST_KEPT :], ({i: _digest(values[i]) for i in depends}, found)]
        BUILT.put(self._key, self)  # it holds more than it did
        return found

    def _entries(self, known: Mapping[int, Array], depends: set[int]) -> tuple[Array, Array, tuple[int, int]]:
        along = lower(self._pulled if self._pushed is None else self._pushed)
        constants = Constants({along.inputs[i]: KnownValue(x, frozenset([i])) for i, x in known.items()}, depends)
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
            starts, columns = _both_ways(starts, columns, size)
        return starts, columns, self.shape

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

    def sweeps(self, found: Found) -> list[Sweep]:
        """Return the products that have the entries."""
        new = not found.is_colored
        made = found.sweeps
        if new:
            BUILT.put(self._key, self)
        return made

    def data(self, found: Found, values: Sequence[Array]) -> Array:
        """Compute the entries."""
        data = np.empty(len(found.columns), matrix_dtype(self._of.in_types[self._argument], self._of.out_types[0]))
        for sweep in self.sweeps(found):
            along = self._pulled if sweep.pulled or self._pushed is None else self._pushed
            direction, (result,) = along.in_types[-1], along.out_types
            block = together(sweep.count, direction, result)
            key = ProductsKey(self._key, sweep.pulled, block)
            run = prepared(key, lambda along=along, block=block: _products(along, block)).run  # type: ignore[misc]
            for first in range(0, sweep.count, block):
                (products,) = run([*values, sweep.colors, np.array(first)])
                _take(products.reshape(-1), sweep, first * result.size, data)
        return data


def _take(products: Array, sweep: Sweep, first: int, data: Array) -> None:
    """Put the entries that products have in their places."""
    places, entries = sweep.places, sweep.entries
    if len(products) < sweep.last:
        there = (places >= first) & (places < first + len(products))
        places, entries = places[there] - first, entries[there]
    if len(entries) == len(data) and sweep.in_order:
        np.take(products, places, out=data, mode="clip")
    else:
        data[entries] = products[places]


def _products(along: Program, block: int) -> Program:
    """Build the program (inputs, colours, first number) -> products with the directions of so many colours."""
    type, (result,) = along.in_types[-1], along.out_types
    stacked = batching.vmap(along, [*[False] * (len(along.inputs) - 1), True], block)

    def products(*xs: TracedArray) -> list[TracedArray]:
        colors, first = xs[-2:]
        numbers = spread_along(first, (block,), ()) + numbered(first.node.trace, block)
        seeds = ops.cast(each_equal(numbers, colors), dtype=str(type.dtype))
        (found,) = inline(stacked, [*xs[:-2], ops.reshape(seeds, shape=(block, *type.shape))])
        return [ops.reshape(found, shape=(block, result.size))]

    integers = ArrayType((type.size,), np.int64), ArrayType((), np.int64)
    return program_of([*along.in_types[:-1], *integers], products)


def _both_ways(starts: Array, columns: Array, size: int) -> tuple[Array, Array]:
    """Return the entries of a symmetric matrix: where it has no entry one way, it is zero both ways."""
    from scipy.sparse import csr_array  # loads when it is called

    one = csr_array((np.ones(len(columns), np.bool_), columns, starts), (size, size))
    both = one.multiply(one.T.tocsr()).tocsr()
    both.sort_indices()
    return both.indptr, both.indices


def _digest(x: Array) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(x).data).digest() + str(x.dtype).encode()


class Found:
    """The entries of a matrix that may not be zero, and the products that have them.

    Args:
        entries: starts of rows, columns, and the matrix's shape.
        symmetric: whether the matrix is symmetric.
        only: the only products that there are: 'pushed', with the matrix, or 'pulled', with the transposed one; '' if
            there are both.
    """

    def __init__(self, entries: tuple[Array, Array, tuple[int, int]], symmetric: bool, only: Way) -> None:
        self.starts, self.columns, self.shape = entries
        self._symmetric, self._only = symmetric, only

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory, and the products too, once they are known."""
        made = self.sweeps if self.is_colored else []
        return self.starts, self.columns, *[(x.colors, x.entries, x.places) for x in made]

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
        return sweeps(entries, self._symmetric)

    def matrix(self, data: Array) -> Any:
        """Return SciPy's matrix with these entries, in float32 of float16, which SciPy's do not have."""
        from scipy.sparse import csr_array  # loads when it is called

        if data.dtype == np.float16:
            data = data.astype(np.float32)
        index = np.int32 if max(*self.shape, len(self.columns)) < 2**31 else np.int64
        return csr_array((data, self.columns.astype(index), self.starts.astype(index)), self.shape)
