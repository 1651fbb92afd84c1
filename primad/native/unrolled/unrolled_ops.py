"""How ops are written on single elements: each alone, sums of products, along axes, what is moved, what is ordered."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ir.node import Node
from primad.native.emit.axis_loops import before
from primad.native.emit.emit_context import INT64, Emit
from primad.native.emit.pointwise import operand_dtype, pointwise_way, written
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.vectors import Vector, lanes_of
from primad.native.unrolled.unrolled_context import Elements, ElementSite
from primad.ops.arrays.contraction import split
from primad.ops.blocked.groups import GROUP

TOGETHER = 3
"""Elements from which on a function is computed for a whole vector of them. Estimated: a vector's takes longer than one
number's. The last bits of results depend on it."""


# -- each element alone ------------------------------------------------------------------------------------------------


def write_each(site: ElementSite) -> Elements:
    """Write an op that works on each element alone."""
    node, how = site.node, pointwise_way(site.node)
    found = np.empty(node.type.size, object)
    columns = [operand.ravel() for operand in site.operands]
    joins = how.function and found.size >= TOGETHER and site.lanes == 1
    step = lanes_of(operand_dtype(node)) if joins else 1
    for start in range(0, found.size, step):
        count = min(step, found.size - start)
        if step == 1:
            found[start] = written(site.vector(node.type.dtype), node, [column[start] for column in columns])
            continue
        joined = [
            _joined(site, node.inputs[i].type.dtype, column[start : start + count], step)
            for i, column in enumerate(columns)
        ]
        wide = Vector(site.code, operand_dtype(node), step)
        value, result = written(wide, node, joined), wide.of(node.type.dtype)
        for lane in range(count):
            mask = f"<1 x i32> <i32 {lane}>"
            found[start + lane] = site.code.once(f"shufflevector {result.type} {value}, {result.type} poison, {mask}")
    return found.reshape(node.type.shape)


def length_of_each(node: Node) -> int:
    """Return the instructions of an op that works on each element alone."""
    return int(node.type.size * (BUDGET.function if pointwise_way(node).function else 1))


def operand_size(node: Node) -> int:
    """Return the instructions of an op that takes one for each element of its operand."""
    return int(node.inputs[0].type.size)


def _joined(site: ElementSite, dtype: np.dtype[Any], elements: Elements, lanes: int) -> str:
    """Join elements to one vector; lanes that are left over repeat the last one."""
    one, wide = site.vector(dtype), Vector(site.code, dtype, lanes)
    value = "poison"
    for lane in range(lanes):
        element = elements[min(lane, len(elements) - 1)]
        scalar = site.code.once(f"extractelement {one.type} {element}, i64 0")
        value = site.code.once(f"insertelement {wide.type} {value}, {one.scalar} {scalar}, i64 {lane}")
    return value


# -- what is only moved ------------------------------------------------------------------------------------------------


def write_moved(site: ElementSite) -> Elements:
    """Say where the elements of a view, or of a joined array, are."""
    moved = site.node.op.numpy(*site.operands, **site.params)
    return np.asarray(moved, object).reshape(site.node.type.shape)  # a view of an array without axes is its element


def write_framed(site: ElementSite) -> Elements:
    """Say where the elements of an array are that shows another with zeros around it."""
    (x,), shown = site.operands, site.constants(np.zeros(site.node.type.shape, site.node.type.dtype))
    where = site.node.op.numpy(numbered(x.shape), **site.params)
    shown[where > 0] = x.ravel()[where[where > 0] - 1]
    return shown


def numbered(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the places of an array's elements, counted from 1, so that 0 stands for none."""
    return np.arange(1, math.prod(shape) + 1).reshape(shape)


def write_constant(site: ElementSite) -> Elements:
    """Write an array that is known."""
    return site.constants(np.asarray(site.node.op.numpy(**site.params), site.node.type.dtype))


def write_result(site: ElementSite) -> Elements:
    """Return one of the results of an op that has several."""
    found: Elements = site.operands[0][site.params["index"]]
    return found


# -- sums and extrema --------------------------------------------------------------------------------------------------


def write_contracted(site: ElementSite) -> Elements:
    """Write sums of products, rounded once for each product as in other loops."""
    x, y = site.operands
    left, right, result = split(site.params["labels"])
    sizes = dict(zip(left + right, (*x.shape, *y.shape), strict=True))
    summed = "".join(dict.fromkeys(letter for letter in left + right if letter not in result))
    vector = site.vector(site.node.type.dtype)
    found = np.empty([sizes[letter] for letter in result], object)
    for index in np.ndindex(found.shape):
        at = dict(zip(result, index, strict=True))
        totals: list[str] = []
        for i, inner in enumerate(np.ndindex(*[sizes[letter] for letter in summed])):
            at.update(zip(summed, inner, strict=True))
            factors = x[tuple([at[letter] for letter in left])], y[tuple([at[letter] for letter in right])]
            totals.append(vector.product_sum(factors, totals.pop() if i % GROUP else ""))
        found[index] = _in_pairs(added, vector, totals) if totals else vector.constant(0)
    return found


def added(v: Vector, x: str, y: str) -> str:
    """Add two elements."""
    return v.arithmetic("add", x, y)


def _in_pairs(join: Emit, vector: Vector, items: list[str]) -> str:
    """Join elements in pairs, and pairs likewise."""
    while len(items) > 1:
        odd = items[len(items) // 2 * 2 :]
        items = [join(vector, x, y) for x, y in zip(items[::2], items[1::2], strict=False)] + odd
    return items[0]


def write_reduced(site: ElementSite, join: Emit) -> Elements:
    """Write what is left of an array when elements along axes are joined, two by two."""
    (x,), node, axes = site.operands, site.node, site.params["axes"]
    vector = site.vector(node.type.dtype)
    count = math.prod([x.shape[axis] for axis in axes])
    rest = np.moveaxis(x, axes, range(len(axes))).reshape(count, *node.type.shape)
    found = np.empty(node.type.shape, object)
    for index in np.ndindex(node.type.shape):
        items = list(rest[(slice(None), *index)])
        found[index] = _in_pairs(join, vector, items) if items else vector.constant(0)
    return found


def write_running(site: ElementSite) -> Elements:
    """Write running sums."""
    params = site.params
    found: Elements = site.operands[0].copy()
    vector = site.vector(site.node.type.dtype)
    along = np.moveaxis(found, params["axis"], 0)[:: -1 if params["reverse"] else 1]
    for i in range(1, len(along)):
        for place in np.ndindex(along.shape[1:]):
            along[(i, *place)] = vector.arithmetic("add", along[(i - 1, *place)], along[(i, *place)])
    return found


# -- the order of elements ---------------------------------------------------------------------------------------------


def write_order(site: ElementSite) -> Elements:
    """Write a stable sort as exchanges of neighbours, each of which leaves equal elements where they are."""
    axis = site.params["axis"]
    keys, n = np.moveaxis(site.operands[0].copy(), axis, -1), site.node.type.shape[axis]
    places = site.constants(np.broadcast_to(np.arange(n), keys.shape))
    v, p = site.vector(site.node.inputs[0].type.dtype), site.vector(INT64)
    for row in np.ndindex(keys.shape[:-1]):
        for turn in range(n):
            for i in range(turn % 2, n - 1, 2):
                swaps = before(v, keys[(*row, i + 1)], keys[(*row, i)])
                _exchange(v, swaps, keys[row], i)
                _exchange(p, swaps, places[row], i)
    found: Elements = np.moveaxis(places, -1, axis)
    return found


def _exchange(v: Vector, condition: str, row: Elements, i: int) -> None:
    """Exchange two neighbours in a row where a condition holds."""
    row[i], row[i + 1] = v.choose(condition, row[i + 1], row[i]), v.choose(condition, row[i], row[i + 1])


def long_order(node: Node) -> str:
    """Return why an axis is sorted in memory; '' where it is sorted by exchanges."""
    n = node.type.shape[dict(node.params)["axis"]]
    return f"to sort {n} elements by exchanges takes longer than to use memory" if n * n > BUDGET.choices else ""


def length_of_order(node: Node) -> int:
    """Return the instructions of a sort."""
    n = node.type.shape[dict(node.params)["axis"]]
    return int(BUDGET.choice * node.type.size * (n - 1) // 2)
