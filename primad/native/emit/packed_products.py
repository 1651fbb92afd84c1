"""Products of two large matrices of complex numbers, as one LLVM function for all sizes and strides.

Tiles of the result stay in registers while they run along the sum. What they read is copied first, so that it lies in
the order in which it is read: a block of rows of the left matrix, which stays in the second-level cache, and a panel of
columns of the right one, which stays in the first-level cache while the rows pass. Goto and van de Geijn, "Anatomy of
high-performance matrix multiplication", ACM TOMS 34 (2008).

Real and imaginary parts lie side by side, as in memory. The vectors of the right matrix are multiplied with a real part
of the left one, and with an imaginary part, in sums of their own; the two are joined in the end.

In which order an element's products are added follows from the length of the sum alone: its bits do not depend on which
rows and columns are computed together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from primad.native.llvm.builder import Builder, module
from primad.native.llvm.compiler import Kernel, compiled, compiler
from primad.native.llvm.scratch_memory import ALIGNMENT, aligned
from primad.native.llvm.vectors import WIDTH_BYTES, Vector
from primad.ops.blocked.blocked_products import product
from primad.system.machine import FIRST_CACHE, LONGEST_VECTOR_BYTES, SECOND_CACHE, THREAD_WORK, vector_registers

REAL, COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)
ITEM = COMPLEX.itemsize
VECTORS = math.isqrt(vector_registers(WIDTH_BYTES)) - 1
"""Vectors of a row of a tile: of as many as rows of sums, about, so that the fewest are loaded."""
ROWS = ((vector_registers(WIDTH_BYTES) - 1) // VECTORS - 1) // 2
"""Rows of a tile: registers hold two sums for each of its vectors, the vectors of the right matrix and a repeated
number of the left one."""
COLUMNS = VECTORS * WIDTH_BYTES // ITEM
"""Columns of a tile."""
DEPTH = max(1, FIRST_CACHE.share(1, 3) // (VECTORS * WIDTH_BYTES))
"""Products of an element that are added up at a time: a panel takes a third of the first-level cache. Tuned: of half of
it rows push parts out. The last bits of results depend on it."""
HEIGHT = -(-SECOND_CACHE.share(1, 8) // (DEPTH * ITEM * ROWS)) * ROWS
"""Rows of a block of the left matrix, which takes an eighth of the second-level cache. Tuned."""
WIDTH = -(-SECOND_CACHE.share(1, 2) // (HEIGHT * ITEM * COLUMNS)) * COLUMNS
"""Columns of the result that are computed before others: with a block's rows they take half of the second-level cache,
where they stay while parts of their sums are added. Tuned."""
BLOCK_BYTES, PANEL_BYTES = aligned(HEIGHT * DEPTH * ITEM), DEPTH * COLUMNS * ITEM
PAIR, ZERO = "<2 x double>", "zeroinitializer"


class PackedProduct:
    """Multiplies two matrices by the function, where that takes less time than with BLAS.

    Args:
        kernel: the function.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __call__(self, left: Any, right: Any, target: Any) -> Any:
        """Return the product of two matrices, written into a third one, if there is one, which shares no memory."""
        if target is None:
            target = np.empty((len(left), right.shape[1]), left.dtype)
        factors = (left, right, target) if target.strides[1] == ITEM else (right.T, left.T, target.T)
        return target if self._run(*factors) else product(left, right, target)

    def _run(self, left: Any, right: Any, target: Any) -> bool:
        """Call the function, if it can and should compute such a product, and say whether it did."""
        (m, k), n = left.shape, right.shape[1]
        steps = (*left.strides, *right.strides, target.strides[0])
        if target.strides[1] != ITEM or any(step % ITEM for step in steps):
            return False
        computed = -(-m // ROWS) * ROWS * -(-n // COLUMNS) * COLUMNS
        if m * k * n < THREAD_WORK or 4 * computed > 5 * m * n:  # BLAS takes 5/4 of the time of full tiles
            return False
        scratch = np.empty(BLOCK_BYTES + PANEL_BYTES + ALIGNMENT, np.uint8)
        addresses = left.ctypes.data, right.ctypes.data, target.ctypes.data, aligned(scratch.ctypes.data)
        table = np.array([*addresses, m, n, k, *[step // ITEM for step in steps]], np.int64)
        self._kernel.function(table.ctypes.data, 0, 0, 0)
        return True


def packed_product(dtype: np.dtype[Any], work: int) -> PackedProduct | None:
    """Return what multiplies matrices in less time than BLAS does; None if nothing is known to.

    With vectors of 512 bits, OpenBLAS reaches three quarters of what a processor can do with complex numbers of 128
    bits. With shorter vectors, or numbers of 64 bits, it leaves nothing to win.

    Args:
        dtype: of the matrices.
        work: multiplications of numbers in all products of a step.
    """
    if dtype != COMPLEX or WIDTH_BYTES < LONGEST_VECTOR_BYTES or work < THREAD_WORK:
        return None
    host = compiler()
    if host is None:
        return None
    made = compiled("a matrix product", lambda: host.kernels([_text()]))
    return None if made is None else PackedProduct(*made)


@lru_cache(maxsize=1)
def _text() -> str:
    return _Writer().text()


class _Writer(Builder):
    """Writes the function.

    Its table has the addresses of left, right and target and of memory for a block and a panel; the rows and columns of
    the target and the length of the sums; and how far apart rows and columns of left, those of right, and rows of the
    target are, counted in elements. The target's columns are neighbours.
    """

    def __init__(self) -> None:
        super().__init__()
        self.vector = Vector(self, REAL)
        self.left, self.right, self.target, self.block = (self.load("ptr", "%table", i) for i in range(4))
        self.m, self.n, self.k, *steps = (self.load("i64", "%table", i) for i in range(4, 12))
        self.left_row, self.left_column, self.right_row, self.right_column, self.target_row = steps
        self.panel = self.place("i8", self.block, BLOCK_BYTES)

    def text(self) -> str:
        """Return the text."""
        self.in_parts("0", self.n, WIDTH, self._columns)
        self.do("ret void")
        head = "void @KERNEL(ptr %table, i64 %unused, i64 %none, i64 %last)"
        return module([self.function(head)], self.declared.values())

    def _columns(self, start: str, end: str, _: list[str]) -> None:
        """Compute columns of the result."""
        self.in_parts("0", self.m, HEIGHT, partial(self._rows, (start, end)))

    def _rows(self, columns: tuple[str, str], start: str, end: str, _: list[str]) -> None:
        """Compute rows of these columns."""
        self.in_parts("0", self.k, DEPTH, partial(self._part, columns, start, self._minus(end, start)))

    def _part(self, columns: tuple[str, str], start: str, height: str, first: str, end: str, _: list[str]) -> None:
        """Add a part of the sums of some rows."""
        depth = self._minus(end, first)
        bands = self._copy_block(self._at(self.left, (start, self.left_row), (first, self.left_column)), height, depth)

        def tiles(column: str, end: str, _: list[str]) -> None:
            source = self._at(self.right, (first, self.right_row), (column, self.right_column))
            target = self._at(self.target, (start, self.target_row), (column, 1))
            width, later = self._minus(end, column), self.emit(f"icmp ne i64 {first}, 0")
            self._copy_panel(source, depth, width)
            self._each(bands, self._tile(source, target, height, width, depth, later))

        self.in_parts(*columns, COLUMNS, tiles)

    # -- copies --------------------------------------------------------------------------------------------------------

    def _copy_block(self, source: str, height: str, depth: str) -> str:
        """Copy a block of the left matrix in bands of a tile's rows, and return how many there are."""
        size = self._times(depth, ROWS)

        def rows_of(band: str) -> str:
            left = self._minus(height, self._times(band, ROWS))
            return self.call("i64", "llvm.umin.i64", ("i64", left), ("i64", str(ROWS)))

        def copy(band: str, row: str, q: str) -> None:
            here = self._at(source, (self._plus(self._times(band, ROWS), row), self.left_row), (q, self.left_column))
            self._copy(here, self._at(self.block, (band, size), (q, ROWS), (row, 1)))

        def by_rows() -> None:
            each = self._each
            each(bands, lambda band: each(rows_of(band), lambda row: each(depth, lambda q: copy(band, row, q))))

        def by_columns() -> None:
            each = self._each
            each(depth, lambda q: each(bands, lambda band: each(rows_of(band), lambda row: copy(band, row, q))))

        bands = self.emit(f"udiv i64 {self._plus(height, ROWS - 1)}, {ROWS}")
        self._choose(self.emit(f"icmp eq i64 {self.left_column}, 1"), by_rows, by_columns)
        return bands

    def _copy_panel(self, source: str, depth: str, width: str) -> None:
        """Copy a panel of the right matrix."""

        def row(q: str) -> None:
            here, there = self._at(source, (q, self.right_row)), self._at(self.panel, (q, COLUMNS))
            for v in range(VECTORS):
                self._copy(self._vector(here, v), self._vector(there, v), self.vector.type)

        def number(column: str, q: str) -> None:
            here = self._at(source, (q, self.right_row), (column, self.right_column))
            self._copy(here, self._at(self.panel, (q, COLUMNS), (column, 1)))

        full = self.emit(f"icmp eq i64 {width}, {COLUMNS}")
        near = self.emit(f"icmp eq i64 {self.right_column}, 1")
        self._choose(
            self.emit(f"and i1 {full}, {near}"),
            lambda: self._each(depth, row),
            lambda: self._each(width, lambda column: self._each(depth, partial(number, column))),
        )

    def _fetch_ahead(self, source: str, band: str) -> None:
        """Fetch a piece of the next panel of the right matrix while a tile is computed: of a row or of a column."""
        runs = max(1, DEPTH // COLUMNS)
        column, run = self.emit(f"udiv i64 {band}, {runs}"), self.emit(f"urem i64 {band}, {runs}")
        across = self._times(band, self.right_row)
        along = self._plus(self._times(column, self.right_column), self._times(run, COLUMNS))
        near = self.emit(f"icmp eq i64 {self.right_column}, 1")
        piece = self.emit(f"select i1 {near}, i64 {across}, i64 {along}")
        self._fetch(self._at(source, (str(COLUMNS), self.right_column), (piece, 1)), 0)

    def _fetch(self, place: str, to_write: int) -> None:
        """Fetch as much as a row of a tile has."""
        for v in range(VECTORS):
            how = [("i32", str(number)) for number in (to_write, 3, 1)]
            self.run("llvm.prefetch.p0", ("ptr", self._vector(place, v)), *how)

    # -- tiles ---------------------------------------------------------------------------------------------------------

    def _tile(self, source: str, target: str, height: str, width: str, depth: str, later: str) -> Callable[[str], None]:
        """Return what writes the tile of a band.

        Args:
            source: of the panel in the right matrix.
            target: the address of the first band's tile.
            height: rows of all bands.
            width: columns of the tile that are in the result.
            depth: products to add.
            later: whether they are added to what the target holds.
        """
        vector, numbers = self.vector, self._times(width, 2)
        name = f"llvm.get.active.lane.mask.v{vector.lanes}i1.i64"
        firsts = [str(v * vector.lanes) for v in range(VECTORS)]
        masks = [self.call(vector.bool, name, ("i64", first), ("i64", numbers)) for first in firsts]

        def tile(band: str) -> None:
            rows = [self._plus(self._times(band, ROWS), row) for row in range(ROWS)]
            lines = [self._at(target, (row, self.target_row)) for row in rows]
            self._fetch_ahead(source, band)
            for line in lines:
                self._fetch(line, 1)
            sums = self._sums(self._at(self.block, (band, self._times(depth, ROWS))), depth)
            for row, line in enumerate(lines):
                there = self.emit(f"icmp ult i64 {rows[row]}, {height}")
                both = sums[2 * row : 2 * row + 2]
                self._store(line, both, [self._where(there, mask) for mask in masks], later)

        return tile

    def _sums(self, block: str, depth: str) -> list[list[str]]:
        """Return the sums of a tile, for each row those with real parts and those with imaginary parts."""
        vector = self.vector

        def turn(q: str, sums: list[str]) -> list[str]:
            here, there = self._at(block, (q, ROWS)), self._at(self.panel, (q, COLUMNS))
            known = [self._load(self._vector(there, v)) for v in range(VECTORS)]
            parts = [vector.repeated(self.load("double", here, i)) for i in range(2 * ROWS)]
            factors = [[part, x] for part in parts for x in known]
            return [vector.product_sum(pair, total) for pair, total in zip(factors, sums, strict=True)]

        sums = self.loop(depth, turn, [ZERO] * (2 * ROWS * VECTORS), vector.type)
        return [sums[i : i + VECTORS] for i in range(0, len(sums), VECTORS)]

    def _store(self, line: str, sums: Sequence[Sequence[str]], masks: Sequence[str], later: str) -> None:
        """Write a row of a tile, or add it to what is there: (a + ib)(x + iy) = (ax, ay) + (−by, bx)."""
        vector = self.vector
        signs = vector.listed([-1.0, 1.0] * (vector.lanes // 2))
        name = f"v{vector.lanes}f64.p0"
        for v, (real, imaginary, mask) in enumerate(zip(*sums, masks, strict=True)):
            turned = self.picked(vector.type, imaginary, "poison", [lane ^ 1 for lane in range(vector.lanes)])
            total = vector.product_sum([turned, signs], real)
            place = ("ptr", self._vector(line, v)), ("i32", "8")
            added = (vector.bool, self._where(later, mask)), (vector.type, ZERO)
            before = self.call(vector.type, f"llvm.masked.load.{name}", *place, *added)
            total = vector.arithmetic("add", total, before)
            self.run(f"llvm.masked.store.{name}", (vector.type, total), *place, (vector.bool, mask))

    # -- instructions --------------------------------------------------------------------------------------------------

    def _at(self, address: str, *steps: tuple[str, str | int]) -> str:
        """Return the address of a complex number: of each step, how often it is taken, and how far it goes."""
        offset = "0"
        for count, far in steps:
            offset = self._plus(self._times(count, far), offset)
        return self.place(PAIR, address, offset)

    def _vector(self, address: str, number: int) -> str:
        return self.place(self.vector.type, address, number)

    def _load(self, place: str) -> str:
        return self.emit(f"load {self.vector.type}, ptr {place}, align 8")

    def _copy(self, source: str, target: str, type: str = PAIR) -> None:
        self.do(f"store {type} {self.emit(f'load {type}, ptr {source}, align 8')}, ptr {target}, align 8")

    def _where(self, condition: str, mask: str) -> str:
        return self.emit(f"select i1 {condition}, {self.vector.bool} {mask}, {self.vector.bool} {ZERO}")

    def _plus(self, x: str, y: str | int) -> str:
        return x if y in (0, "0") else self.emit(f"add i64 {x}, {y}")

    def _minus(self, x: str, y: str) -> str:
        return self.emit(f"sub i64 {x}, {y}")

    def _times(self, x: str, y: str | int) -> str:
        return x if y == 1 else self.emit(f"mul i64 {x}, {y}")

    def _each(self, count: str, body: Callable[[str], None]) -> None:
        self.loop(count, lambda i, _: body(i))

    def _choose(self, condition: str, yes: Callable[[], None], no: Callable[[], None]) -> None:
        def done(way: Callable[[], None]) -> list[str]:
            way()
            return []

        self.either_of("", condition, lambda: done(yes), lambda: done(no))
