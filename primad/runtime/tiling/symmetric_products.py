"""Products of two matrices that are symmetric, as the XᵀDX of the Hessian of a loss in z = X·w is.

Both operands are multiples of one array: at each index that is summed over by a number of its own, which is the same
along all other axes. So leftᵀ·right is a sum of multiples of outer products of a vector with itself. Where there are
several such numbers, as in a `vmap` over w, there are as many symmetric matrices, beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from primad.ir.array_types import ArrayType
from primad.ir.axes import Label, Labels
from primad.ir.node import Leaf, Node, is_literal
from primad.simplify.collapse import is_constant_along
from primad.transforms.dimensions import axis_map


class _Value(NamedTuple):
    """A value with its axes in some order.

    Attributes:
        node: the value.
        axes: those that are summed over, then those of the rows or columns of a symmetric matrix.
        beside: those along which there are several matrices.
    """

    node: Node
    axes: tuple[int, ...]
    beside: tuple[int, ...] = ()


def is_symmetric(product: Node, left: tuple[int, ...], right: tuple[int, ...], summed: int) -> bool:
    """Say whether a contraction, as leftᵀ·right, is a symmetric matrix by its structure, or some beside each other.

    Of finite multiples they are so up to rounding. What is infinite or NaN is so in both elements of a pair, but where
    the array itself is, at an index at which it is multiplied by several numbers, or 0 is chosen instead of it.

    Args:
        product: a contraction of two operands.
        left: the axes of the first operand, those that are summed over first.
        right: those of the second operand.
        summed: how many are summed over.
    """
    x, y = zip(product.inputs, (left, right), strict=True)
    for (node, axes), (other, others) in ((x, y), (y, x)):
        start = summed + len(others) - len(axes)
        if start >= summed and len(axes) > summed:
            value = _Value(other, others[:summed] + others[start:], others[summed:start])
            if _is_multiple(value, _unscaled(_Value(node, axes), summed), summed):
                return True
    return False


def _unscaled(value: _Value, summed: int) -> _Value:
    """Return the array of which a value is a multiple, as far as none of those between is a sum of multiples."""
    while len(parts := _parts(value, summed)) == 1:
        value = parts[0]
    return value


def _is_multiple(value: _Value, of: _Value, summed: int) -> bool:
    """Say whether a value is a multiple of another, or a sum of some."""
    pending, seen = [value], {value}
    while pending:
        found = pending.pop()
        if found == of:
            continue
        parts = _parts(found, summed)
        if not parts:
            return False
        pending += [part for part in dict.fromkeys(parts) if part not in seen]
        seen.update(parts)
    return True


def _parts(value: _Value, summed: int) -> list[_Value]:
    """Return the values of which one is a multiple, or a sum of multiples; none where it is not known to be one."""
    node = value.node
    if isinstance(node.op, Leaf) or node.op.axes.map is None or not isinstance(node.type, ArrayType):
        return []
    if node.type.is_complex and node.op.complex == "real-linear":  # as a conjugate is
        return []
    found = axis_map(node)
    names = [found.results[0][axis] for axis in value.axes]
    beside = [found.results[0][axis] for axis in value.beside]
    if any(found.role(name) != "mapped" for name in names) or any(
        found.role(x) not in ("mapped", "made") for x in beside
    ):
        return []
    for group in node.op.linear_groups(len(node.inputs)):
        others = [i for i in range(len(node.inputs)) if i not in group]
        moved = [(node.inputs[i], found.operands[i]) for i in group if not is_literal(node.inputs[i], 0)]
        same = all(
            {*names} <= {*labels} <= {*names, *beside} and x.type.dtype == node.type.dtype for x, labels in moved
        )
        if moved and same and all(_lacks(node.inputs[i], found.operands[i], names[summed:]) for i in others):
            return [
                _Value(
                    x,
                    tuple([labels.index(name) for name in names]),
                    tuple([labels.index(name) for name in beside if name in labels]),
                )
                for x, labels in moved
            ]
    return []


def _lacks(node: Node, labels: Labels, names: Sequence[Label]) -> bool:
    """Say whether a value is the same along all axes of some names."""
    return all(label not in names or is_constant_along(node, axis) for axis, label in enumerate(labels))
