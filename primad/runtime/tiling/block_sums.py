"""Products that sum over the points into a matrix larger than a cache, as the JᵀJ of a least-squares step.

Tiles that fit into a cache would read and write the whole matrix for a few points each, and each chunk would have one
of its own. Here blocks of points, much longer than tiles, come one after the other: the operands of the product are
computed for a block (in tiles, on all threads), and the product is added to the one sum, in pieces that threads share.
In memory are the sum and the operands of one block, however many points
there are; of many blocks there is a second sum, of a group of them. Half of a symmetric product is computed: both
operands are the same, or multiples at each point of the same (see `symmetric_products.py`), or what is done to their
rows is symmetric (see `self_adjoint_products.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from primad import ops
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.arrays.contraction import matrix_form
from primad.ops.blocked.blocked_sums import add_product, computed_share, mirror
from primad.ops.blocked.groups import GROUP, RunningSums
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import Executable
from primad.runtime.plan.blocking import in_chunks
from primad.runtime.tiling.self_adjoint_products import is_self_adjoint
from primad.runtime.tiling.symmetric_products import is_symmetric
from primad.runtime.tiling.tile_program import TilePartition, partition_of
from primad.runtime.tiling.tileable_axes import Tileable
from primad.runtime.tiling.tiles import SlicedTiles, TilePlan
from primad.system.machine import SECOND_CACHE, STREAMED_BYTES
from primad.system.quantities import several

LARGE_SUM = SECOND_CACHE.share(1, 4)
"""Bytes of a sum that tiles could not keep in a cache beside their values."""
BLOCK_BYTES = 2 * STREAMED_BYTES
"""Bytes of the operands of a block, and of the sum of a group of blocks where these are many. Tuned with 10 000 points
and 1341 columns: fewer make the products slower, more do not help. The last bits of results depend on it."""


class SumForm(Struct, frozen=True):
    """How a contraction is leftᵀ·right of two matrices, whose rows are what is summed over.

    Attributes:
        left: the axes of the first operand, those that are summed over first.
        right: those of the second operand.
        summed: how many are summed over.
        out: the result's axes among those of the product.
        symmetric: whether the product is a symmetric matrix, or some beside each other.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    summed: int
    out: tuple[int, ...]
    symmetric: bool

    def matrix(self, array: Any, axes: tuple[int, ...]) -> Any:
        """Return an operand as a matrix."""
        ordered = array.transpose(axes)
        return ordered.reshape(math.prod(ordered.shape[: self.summed]), -1)

    def is_of_one(self, x: Any, y: Any) -> bool:
        """Say whether both matrices of two operands are one."""
        return x is y and self.left == self.right

    def share(self, node: Node) -> float:
        """Return which share of a contraction is computed."""
        if self.is_of_one(*node.inputs):
            return 0.5
        return computed_share(self.side(node)) if self.symmetric else 1.0

    def side(self, node: Node) -> int:
        """Return the rows or the columns of a contraction as a matrix, whichever are fewer."""
        own = zip(node.inputs, (self.left, self.right), strict=True)
        return min([math.prod([x.type.shape[axis] for axis in axes[self.summed :]]) for x, axes in own])

    def result(self, matrix: Any, shape: tuple[int, ...]) -> Any:
        """Return a sum as an array of the contraction's shape."""
        if self.symmetric:
            mirror(matrix)
        lengths = [shape[self.out.index(axis)] for axis in range(len(shape))]
        return np.ascontiguousarray(matrix.reshape(lengths).transpose(self.out))


def _form(node: Node) -> SumForm | None:
    """Return the form of a contraction; None if it is no product of two matrices."""
    found = matrix_form(dict(node.params)["labels"])
    if found is None or found[2]:
        return None
    x_order, y_order, _, rows, summed, out = found
    left = (*x_order[rows:], *x_order[:rows])
    form = SumForm(left, y_order, summed, out, False)
    large = form.side(node) ** 2 * node.type.dtype.itemsize > LARGE_SUM  # pieces of smaller ones take longer
    return replace(form, symmetric=large and (is_symmetric(node, left, y_order, summed) or _has_moved_rows(node, form)))


def _has_moved_rows(node: Node, form: SumForm) -> bool:
    """Say whether a product is symmetric by what is done to rows of its operands, such as differences of them."""
    x, y = node.inputs
    return form.summed == 1 and is_self_adjoint(x, form.left, y, form.right)


def product_of_moved_rows(program: Program) -> tuple[TilePartition, dict[int, SumForm]] | None:
    """Return what of a program is a large product that is symmetric though its operands mix rows; None if nothing is.

    No tile goes through it to the operands: they are computed before, and the blocks are of the product alone.
    """
    for node in [x for x in program.nodes if x.op is ops.contract and x.type.nbytes > LARGE_SUM]:
        form = _form(node)
        if form is None or not form.symmetric or is_symmetric(node, form.left, form.right, form.summed):
            continue
        (x, y), rows = node.inputs, (form.left[0], form.right[0])
        if x is not y and x.type.nbytes + y.type.nbytes <= BUDGET.moved:
            axis = dict(zip((x, y), rows, strict=True))
            length = x.type.shape[rows[0]]
            bytes_per_index = (x.type.nbytes + y.type.nbytes) // max(1, length)
            dimension = Tileable(length, axis, frozenset([node]), frozenset([x, y]), bytes_per_index)
            return partition_of(program, dimension, ()), {0: form}
    return None


def _flops(node: Node) -> int:
    cost: int = node.op.cost(node).flops
    return cost


class BlockTiles(SlicedTiles[Executable]):
    """Blocks of points, one after the other, whose large products are added to one sum each: tiles in one chunk.

    Args:
        partition: what runs.
        large: the places, among its sums, of those that are large products, and their forms.
        planned: makes a plan of a program.
    """

    def __init__(
        self, partition: TilePartition, large: Mapping[int, SumForm], planned: Callable[[Program], Executable]
    ) -> None:
        self._forms, self._prepared = large, planned
        whole = partition.dimension.length
        operands = dict.fromkeys([x for i in large for x in partition.sums[i].inputs])
        moved = sum(node.type.nbytes for node in operands)
        totals = sum(node.type.nbytes for node in partition.totals)
        least = -(-moved // BLOCK_BYTES)
        if least > GROUP:  # then sums of groups take memory too
            least = -(-moved // max(BLOCK_BYTES // 2, BLOCK_BYTES - totals))
        super().__init__(partition, min(whole, -(-whole // (8 * least)) * 8), most_chunks=1)
        self._group = max(GROUP, math.isqrt(self.count - 1) + 1)  # beside the sums there is one of a group at most

    def planned(self, length: int) -> TilePlan[Executable]:
        """Return how blocks of a length run; note where the results have each sum, or its operands, and each slice."""
        program, slices = self.partition.tile(length)
        wanted = [node.inputs if i in self._forms else (node,) for i, node in enumerate(program.outputs)]
        made = list(dict.fromkeys([x for nodes in wanted for x in nodes]))
        self._outputs = [tuple([made.index(x) for x in nodes]) for nodes in wanted]
        became: dict[Node, Node] = {}
        block = subprogram(program, program.inputs, made, mapping=became)
        axes = {became[node]: axis for node, axis in slices.axis.items() if node in became}
        return TilePlan(self._prepared(block), block, axes)

    @property
    def each(self) -> str:
        """A block in words."""
        halves = sum(form.symmetric for form in self._forms.values())
        sums = f"{several(len(self._forms), 'large product')} added to one sum each"
        return f"{self.plan.summary}; {sums}" + (f", half of {halves} by symmetry" if halves else "")

    @property
    def details(self) -> list[str]:
        """What a block is, and what its plan consists of."""
        return [*super().details, *[f"  {line}" for line in self.plan.details]]

    def predicted_each(self, machine: Machine) -> Prediction:
        """Predict how long a block takes."""
        share = self.length / self.partition.dimension.length
        flops = sum(_flops(node := self.partition.sums[i]) * form.share(node) for i, form in self._forms.items())
        return self.plan.predicted(machine) + Prediction(products=share * flops / machine.peak)

    @property
    def working_bytes(self) -> int:
        """Memory of a run beside what it writes slices of."""
        total_of, totals = self.partition.total_of, self.partition.totals
        kinds = {(total_of[i], self._forms.get(i)) for i in range(len(self.partition.sums))}  # each is a sum of its own
        kept = sum(totals[where].type.nbytes for where, _ in kinds)
        return kept * (1 + (self.count > self._group)) + self.plan.peak_bytes

    def run_tiles(self, values: Sequence[Any], full: Sequence[Any]) -> list[Any]:
        """Compute all blocks from whole inputs; fill whole outputs and return the totals."""
        partition = self.partition
        count = len(partition.sums)
        products = list(dict.fromkeys([(partition.total_of[i], form) for i, form in self._forms.items()]))
        sums = RunningSums(len(partition.totals) + len(products), self._group)
        for start in range(0, partition.dimension.length, self.length):
            stop, found = self.run_tile(values, start)
            for i, places in enumerate(self._outputs[:count]):
                where = partition.total_of[i]
                if i in self._forms:
                    place = len(partition.totals) + products.index((where, self._forms[i]))
                    self._add(sums, place, self._forms[i], [found[operand] for operand in places])
                else:
                    sums.add(where, found[places[0]])
            sums.turn()
            partition.write(full, start, stop, [found[place] for (place,) in self._outputs[count:]])
            del found  # before the next block's are computed
        ended = sums.ended()
        totals, matrices = ended[: len(partition.totals)], ended[len(partition.totals) :]
        for (where, form), matrix in zip(products, matrices, strict=True):
            total = form.result(matrix, partition.totals[where].type.shape)
            totals[where] = total if totals[where] is None else totals[where] + total
        return totals

    def _add(self, sums: RunningSums, place: int, form: SumForm, operands: list[Any]) -> None:
        left = form.matrix(operands[0], form.left)
        right = left if form.is_of_one(*operands) else form.matrix(operands[1], form.right)
        if sums.of_group(place) is None:
            sums.add(place, np.zeros((left.shape[1], right.shape[1]), left.dtype))
        add_product(sums.of_group(place), left, right, in_chunks, form.symmetric)


def large_products(partition: TilePartition) -> dict[int, SumForm]:
    """Return which sums are products that are better added up in blocks: large ones that are most of the work."""
    axis = partition.dimension.axis
    found = {
        i: form
        for i, node in enumerate(partition.sums)
        if node.op is ops.contract and node.type.nbytes > LARGE_SUM and (form := _form(node)) is not None
    }
    cut = [node for node in partition.program.nodes if node in axis or node in partition.sums]
    work = sum(_flops(node) for node in cut if not isinstance(node.op, Leaf))
    return found if 2 * sum(_flops(partition.sums[i]) for i in found) > work else {}
