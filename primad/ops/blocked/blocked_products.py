"""Large contractions, as products of matrices that are made block by block.

BLAS multiplies matrices. An operand that is none in memory (the windows of an array, say) is copied to one; a copy of
all windows would be many times as large as the array, so copies are made for one block at a time. The blocks depend on
the operands' shapes and strides alone. They can be computed in any order or at the same time: `each` says how, and the
result does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import as_strided

from primad.ops.blocked.blocked_sums import add_product, mirror
from primad.ops.blocked.deep_products import MATRIX
from primad.ops.blocked.groups import RunningSums
from primad.ops.blocked.matrix_views import Chosen, MatrixOperand, Scratch, size_of
from primad.ops.blocked.pieces import MOST_CHUNKS, Each, Times, in_order
from primad.system.machine import ALONE_WORK, SECOND_CACHE, SHARED_FLOPS, THREAD_WORK

BLOCK_BYTES = SECOND_CACHE.share(1)
"""Size of a block's copy, if it is wide enough then."""
NARROWEST = 256
"""Columns of a block, at least. Estimated: BLAS rearranges the other matrix once for each block."""
DEEPEST = 4 * MATRIX
"""Products that are summed for an element of a small result; of more, blocks are cut along the sum. The last bits of
sums depend on it."""
SMALL = 32
"""Rows or columns, below which a matrix is small. Estimated; the last bits of sums depend on it."""


def product(left: Any, right: Any, target: Any) -> Any:
    """Multiply two matrices; where there is nothing to sum, BLAS would take several times as long."""
    return (np.multiply if left.shape[1] == 1 else np.matmul)(left, right, out=target)


def multiply(
    x: Any,
    y: Any,
    in_x: str,
    in_y: str,
    out: str,
    target: Any = None,
    each: Each = in_order,
    times: Times = product,
) -> Any:
    """Contract two arrays by products of matrices.

    Args:
        x: an array.
        y: an array of the same type, of real or complex numbers.
        in_x: one letter for each axis of x.
        in_y: one letter for each axis of y.
        out: letters of the result, each in x or y.
        target: an array for the result, if there is one.
        each: how the blocks are computed.
        times: how two matrices are multiplied.

    Returns:
        the result, or None if matrix products are not the way to compute it.
    """
    form = _form(in_x, in_y, out, x.shape, y.shape)
    if form is None or not _is_worthwhile(form, in_x, in_y, x.shape, y.shape, x.strides, y.strides, x.dtype):
        return None
    lengths = dict(zip(in_x + in_y, x.shape + y.shape, strict=True))
    order = form.loops + form.rows + form.columns
    direct = order == out and target is not None and target.flags.c_contiguous
    direct = direct and not (np.may_share_memory(target, x) or np.may_share_memory(target, y))
    result = target if direct else np.empty([lengths[c] for c in order], x.dtype)
    matrices = result.reshape(size_of(form.loops, lengths), size_of(form.rows, lengths), -1)
    left, right = _operands(form, x, y, in_x, in_y)
    matrix = right.view({}) if x is y and _is_symmetric(form, in_x, in_y) else None
    if matrix is None:
        _Product(form, lengths, left, right, matrices, each, times).run()
    else:
        matrices[...] = 0
        add_product(matrices[0], matrix, matrix, each)
        mirror(matrices[0])
    if direct:
        return target
    result = result.transpose([order.index(c) for c in out])
    if target is None:
        return result
    np.copyto(target, result)
    return target


def is_one_product(
    in_x: str, in_y: str, out: str, x_shape: tuple[int, ...], y_shape: tuple[int, ...], dtype: np.dtype[Any]
) -> bool:
    """Say whether `multiply` leaves a contraction to others, of arrays whose elements lie in a row in any order."""
    form, lengths = _form(in_x, in_y, out, x_shape, y_shape), dict(zip(in_x + in_y, x_shape + y_shape, strict=True))
    few = product_flops(lengths, dtype) < SHARED_FLOPS / 10
    return form is None or (few and size_of(form.inner, lengths) != 1)


def product_flops(lengths: dict[str, int], dtype: np.dtype[Any]) -> int:
    """Return the flops of all products, added up, over letters of these lengths: four real ones for a complex one."""
    return (8 if dtype.kind == "c" else 2) * math.prod(lengths.values())


def pieces_along(length: int, loops: int = 1) -> int:
    """Return in how many pieces each of some products is computed, whose results have so long an axis."""
    most = MOST_CHUNKS if loops * length >= MOST_CHUNKS * NARROWEST else MOST_CHUNKS // 2
    return max(1, min(-(-most // loops), length // SMALL))


def made_in_order(in_x: str, in_y: str, out: str, x_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> bool:
    """Say whether a contraction's result is made with its axes in order, so that it can be written where it belongs."""
    form = _form(in_x, in_y, out, x_shape, y_shape)
    return form is None or form.loops + form.rows + form.columns == out


class _Form(Struct, frozen=True):
    """A contraction as products of matrices: for each index of `loops`, rows × columns summed over inner letters.

    Attributes:
        loops: letters of the result, for each of whose indices there is one product.
        rows: letters of the left matrix that stay.
        columns: letters of the right matrix that stay.
        inner: letters that are summed over.
        swapped: whether the left matrix is made of the second operand.
    """

    loops: str
    rows: str
    columns: str
    inner: str
    swapped: bool


@lru_cache(maxsize=1024)
def _form(in_x: str, in_y: str, out: str, x_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> _Form | None:
    """Arrange a contraction as large matrix products; None if there are none.

    The result is made in its own order if the matrices are not small then.
    """
    lengths = dict(zip(in_x + in_y, x_shape + y_shape, strict=True))
    inner = "".join(c for c in in_x if c in in_y and c not in out)
    batch = "".join(c for c in out if c in in_x and c in in_y)
    own_x = "".join(c for c in out if c not in in_y)
    own_y = "".join(c for c in out if c not in in_x)
    flops = 2 * math.prod(lengths.values())
    if not (inner and own_x and own_y) or flops < THREAD_WORK:
        return None
    form = _Form(batch, own_y, own_x, inner, True)
    direct = _direct_form(out, batch, own_x, own_y, inner)
    if direct is not None:
        least = min(size_of(direct.rows, lengths), size_of(direct.columns, lengths))
        if least >= min(SMALL, size_of(own_x, lengths), size_of(own_y, lengths)):
            form = direct
    return form


def _is_symmetric(form: _Form, in_x: str, in_y: str) -> bool:
    """Say whether a contraction of an array with itself is a matrix times what it is transposed."""
    first, second = (in_y, in_x) if form.swapped else (in_x, in_y)
    same = [(form.rows, form.columns), (form.inner, form.inner)]
    return not form.loops and all([first.index(c) for c in a] == [second.index(c) for c in b] for a, b in same)


@lru_cache(maxsize=1024)
def _is_worthwhile(
    form: _Form,
    in_x: str,
    in_y: str,
    x_shape: tuple[int, ...],
    y_shape: tuple[int, ...],
    x_strides: tuple[int, ...],
    y_strides: tuple[int, ...],
    dtype: np.dtype[Any],
) -> bool:
    """Say whether blocks are better than one product for operands of such shapes and strides."""
    lengths = dict(zip(in_x + in_y, x_shape + y_shape, strict=True))
    flops, itemsize = product_flops(lengths, dtype), dtype.itemsize
    if flops >= SHARED_FLOPS or size_of(form.inner, lengths) == 1:
        return True
    for shape, strides in ((x_shape, x_strides), (y_shape, y_strides)):
        extent = itemsize + sum((n - 1) * abs(stride) for n, stride in zip(shape, strides, strict=True))
        if extent < math.prod(shape) * itemsize:
            return True
    if flops < SHARED_FLOPS / 10:  # it is worth sharing sooner where an operand is copied
        return False
    unread = np.empty(0, np.dtype(f"V{itemsize}"))
    x, y = (as_strided(unread, *layout) for layout in ((x_shape, x_strides), (y_shape, y_strides)))
    first: Chosen = dict.fromkeys(form.loops, 0)
    return any(operand.view(first) is None for operand in _operands(form, x, y, in_x, in_y))


def _operands(form: _Form, x: Any, y: Any, in_x: str, in_y: str) -> tuple[MatrixOperand, MatrixOperand]:
    """Return the operands that the left and the right matrices are made of."""
    (left, in_left), (right, in_right) = ((y, in_y), (x, in_x)) if form.swapped else ((x, in_x), (y, in_y))
    return MatrixOperand(left, in_left, form.rows, form.inner), MatrixOperand(right, in_right, form.inner, form.columns)


def _direct_form(out: str, batch: str, own_x: str, own_y: str, inner: str) -> _Form | None:
    """Return the form that makes the result in its own order, with the fewest loops."""
    for start in range(len(out) - 1):
        rest = out[start:]
        for own, swapped in ((own_y, False), (own_x, True)):
            rows = rest.rstrip(own)
            columns = rest[len(rows) :]
            if rows and columns and not any(c in own or c in batch for c in rows):
                return _Form(out[:start], rows, columns, inner, swapped)
    return None


class _Product(Struct, frozen=True):
    """The products of a form, in blocks.

    Attributes:
        form: how the contraction is arranged.
        lengths: lengths of the letters.
        left: the operand that left matrices are made of.
        right: the operand that right matrices are made of.
        results: the result, one matrix for each index of the form's loops.
        each: how blocks are computed.
        times: how two matrices are multiplied.
    """

    form: _Form
    lengths: dict[str, int]
    left: MatrixOperand
    right: MatrixOperand
    results: Any
    each: Each
    times: Times = product

    def run(self) -> None:
        """Compute the products."""
        form, results = self.form, self.results
        first: Chosen = dict.fromkeys(form.loops, 0)
        copies = [operand.view(first) is None for operand in (self.left, self.right)]
        depth = size_of(form.inner, self.lengths)
        if depth > DEEPEST and results.nbytes <= BLOCK_BYTES and not form.loops:
            return self._run_deep()
        if len(results) > 1 and 2 * depth * results[0].size < ALONE_WORK:
            return self._run_stacks(depth)
        if not any(copies):
            return self._run_views()
        by_columns = copies[1] if copies[0] != copies[1] else results.shape[2] >= results.shape[1]
        own = form.columns if by_columns else form.rows
        width = results.shape[2 if by_columns else 1]
        fitting = BLOCK_BYTES // (depth * results.itemsize) if copies[by_columns] else -(-width // MOST_CHUNKS)
        cuts = list(self._cuts(own, max(NARROWEST, fitting)))
        blocks = [(i, index, cut) for i, index in enumerate(self._indices()) for cut in cuts]
        if len(blocks) < MOST_CHUNKS // 2:  # too few for threads to have one each
            return self._run_divided(blocks, by_columns)
        return self._run_blocks(blocks, by_columns)

    def _indices(self) -> Iterator[Chosen]:
        for index in np.ndindex(*[self.lengths[c] for c in self.form.loops]):
            yield dict(zip(self.form.loops, index, strict=True))

    def _cuts(self, letters: str, width: int) -> Iterator[tuple[str, slice, slice]]:
        """Cut the first long letter into equal slices, so that they have about `width` rows or columns.

        Yields:
            the letter, the slice of it, and the slice of the rows or columns.
        """
        letter = next((c for c in letters if self.lengths[c] > 1), letters[0])
        length = self.lengths[letter]
        each = size_of(letters, self.lengths) // length
        count = max(1, -(-length * each // width))
        step = -(-length // min(count, length))
        for start in range(0, length, step):
            stop = min(start + step, length)
            yield letter, slice(start, stop), slice(start * each, stop * each)

    def _run_stacks(self, depth: int) -> None:
        """Compute many small products with one call, for slices of the longest loop."""
        loops, results = self.form.loops, self.results
        stacks = results.reshape([*[self.lengths[c] for c in loops], *results.shape[1:]])
        axis = max(range(len(loops)), key=lambda i: stacks.shape[i])
        length = stacks.shape[axis]
        copied = len(results) * depth * max(results.shape[1:]) * results.itemsize // length
        pieces = min(length, max(1, -(-length * copied // BLOCK_BYTES)))
        chunks = min(pieces, MOST_CHUNKS)

        def chunk(number: int) -> None:
            scratch, other = Scratch(), Scratch()
            for piece in range(number * pieces // chunks, (number + 1) * pieces // chunks):
                part = slice(piece * length // pieces, (piece + 1) * length // pieces)
                chosen = {loops[axis]: part}
                left, right = self.left.stack(chosen, loops, scratch), self.right.stack(chosen, loops, other)
                np.matmul(left, right, out=stacks[(slice(None),) * axis + (part,)])

        self.each(chunk, chunks)

    def _run_views(self) -> None:
        """Multiply views, in pieces along the longer axis of the result: BLAS rearranges the other matrix for each."""
        loops, height, width = self.results.shape
        length = max(height, width)
        count = pieces_along(length, loops)
        parts = [slice(i * length // count, (i + 1) * length // count) for i in range(count)]
        pieces = [(number, index, part) for number, index in enumerate(self._indices()) for part in parts]
        chunks = min(len(pieces), MOST_CHUNKS)

        def chunk(number: int) -> None:
            for i, index, part in pieces[number * len(pieces) // chunks : (number + 1) * len(pieces) // chunks]:
                left, right = self.left.view(index), self.right.view(index)
                if height >= width:
                    self.times(left[part], right, self.results[i, part])
                else:
                    self.times(left, right[:, part], self.results[i, :, part])

        self.each(chunk, chunks)

    def _run_blocks(self, blocks: list[Any], by_columns: bool) -> None:
        """Compute the blocks in chunks, each with buffers of its own."""
        chunks = min(len(blocks), MOST_CHUNKS)
        whole, cut_operand = (self.left, self.right) if by_columns else (self.right, self.left)
        fixed = whole.matrix({}, Scratch()) if not any(c in whole.letters for c in self.form.loops) else None

        def chunk(number: int) -> None:
            scratch, other = Scratch(), Scratch()
            matrix: Any = fixed
            latest = -1
            for i, index, (letter, part, place) in blocks[
                number * len(blocks) // chunks : (number + 1) * len(blocks) // chunks
            ]:
                if fixed is None and i != latest:
                    latest, matrix = i, whole.matrix(index, other)
                block = cut_operand.matrix({**index, letter: part}, scratch)
                if by_columns:
                    self.times(matrix, block, self.results[i, :, place])
                else:
                    self.times(block, matrix, self.results[i, place])

        self.each(chunk, chunks)

    def _run_divided(self, blocks: list[Any], by_columns: bool) -> None:
        """Copy each block in pieces, then multiply pieces of the other matrix with it."""
        whole, cut_operand = (self.left, self.right) if by_columns else (self.right, self.left)
        scratch, other = Scratch(), Scratch()
        for i, index, (letter, part, place) in blocks:
            chosen = {**index, letter: part}
            block = cut_operand.view(chosen)
            if block is None:
                block = self._copied(cut_operand, chosen, scratch)
            matrix = whole.view(index)
            if matrix is None:
                matrix = self._copied(whole, index, other)
            target = self.results[i, :, place] if by_columns else self.results[i, place].T
            self._multiply_in_pieces(matrix if by_columns else matrix.T, block if by_columns else block.T, target)

    def _multiply_in_pieces(self, left: Any, right: Any, target: Any) -> None:
        chunks = max(1, min(MOST_CHUNKS, len(left) // SMALL))

        def piece(chunk: int) -> None:
            rows = slice(chunk * len(left) // chunks, (chunk + 1) * len(left) // chunks)
            self.times(left[rows], right, target[rows])

        self.each(piece, chunks)

    def _copied(self, operand: MatrixOperand, chosen: Chosen, scratch: Scratch) -> Any:
        source, across = operand.source(chosen)
        copy = scratch.like(source)
        chunks = max(1, min(MOST_CHUNKS, len(source)))

        def copy_piece(chunk: int) -> None:
            piece = slice(chunk * len(source) // chunks, (chunk + 1) * len(source) // chunks)
            np.copyto(copy[piece], source[piece])

        self.each(copy_piece, chunks)
        return operand.folded(copy, across)

    def _run_deep(self) -> None:
        """Cut along the sum; chunks add up their blocks in groups, and then the chunks are added in order."""
        height, width = self.results.shape[1:]
        fitting = BLOCK_BYTES // (max(height, width) * self.results.itemsize)
        cuts = list(self._cuts(self.form.inner, max(NARROWEST, min(MATRIX, fitting))))
        chunks = min(len(cuts), MOST_CHUNKS)

        def chunk(number: int) -> Any:
            scratch, other = Scratch(), Scratch()
            sums = RunningSums(1)
            for letter, part, _ in cuts[number * len(cuts) // chunks : (number + 1) * len(cuts) // chunks]:
                chosen = {letter: part}
                sums.add(0, np.matmul(self.left.matrix(chosen, scratch), self.right.matrix(chosen, other)))
                sums.turn()
            return sums.ended()[0]

        first, *rest = self.each(chunk, chunks)
        for partial in rest:
            first += partial
        self.results[0] = first
