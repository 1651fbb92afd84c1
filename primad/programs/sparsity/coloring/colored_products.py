"""Programs of products of a matrix of derivatives with the directions of colours."""

from __future__ import annotations

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.programs.jacobians.diagonals import each_equal, numbered, spread_along
from primad.programs.sparsity.coloring.entries import Array
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms import batching
from primad.transforms.lowering import inline


def colored_products(along: Program, block: int) -> Program:
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


def read_products(along: Program, count: int, data: Array) -> Program:
    """Build the program (inputs, colours, places, array) -> the elements of all products at places.

    Args:
        along: (inputs, direction) -> the product.
        count: how many directions there are.
        data: like the array, which is not read: its memory is for the result.
    """
    products = colored_products(along, count)
    integers = [ArrayType((n,), np.int64) for n in (along.in_types[-1].size, len(data))]

    def read(*xs: TracedArray) -> list[TracedArray]:
        zero = TracedArray(xs[0].node.trace.literal(0, ArrayType((), np.int64)))
        (found,) = inline(products, [*xs[:-2], zero])
        return [ops.gather(ops.reshape(found, shape=(found.size,)), xs[-2], axis=0, batch=0)]

    return program_of([*along.in_types[:-1], *integers, ArrayType(data.shape, data.dtype)], read)
