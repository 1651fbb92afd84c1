"""Products of two matrices that are symmetric, as the XᵀDX of the Hessian of a loss in z = X·w is.

Both operands are multiples of one array: at each index that is summed over by a number of its own, which is the same
along all other axes. So leftᵀ·right is a sum of multiples of outer products of a vector with itself. Where there are
several such numbers, as in a `vmap` over w, there are as many symmetric matrices, beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.axes import Label, Labels
from primad.ir.node import Leaf, Node, Trace, is_literal
from primad.ir.program import Program
from primad.ir.replay import reapplied
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.arrays.contraction import letters, matrix_form, split
from primad.recording.traced_array import TracedArray
from primad.simplify.collapse import is_constant_along
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import rewritten


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


class _Split(NamedTuple):
    """A value as a rest and outer products.

    Attributes:
        rest: None if nothing is left.
        outer: of each the factor that is the same along the axes of columns, and that which is so along those that are
            summed over.
    """

    rest: Node | None
    outer: list[tuple[Node, Node]]


def with_outer_terms_apart(program: Program, smallest: int) -> Program:
    """Return the program with products that are symmetric but for outer products as sums of both.

    The Hessian of log Σ exp X·w, of a norm or of a variance is XᵀDX less the outer product of a vector with itself, and
    is recorded as Xᵀ(DX − d·sᵀ). Half of XᵀDX is computed, where it stands alone.

    Args:
        program: a lowered program.
        smallest: products with fewer bytes are left alone.
    """
    large = {node for node in program.nodes if node.op is ops.contract and node.type.nbytes > smallest}
    changed: list[Node] = []

    def change(node: Node, mapping: dict[Node, Node], _: Trace) -> Node | None:
        made = _apart(node, mapping) if node in large else None
        changed.extend([] if made is None else [made])
        return made

    found = rewritten(program, change, copy=True) if large else program
    return found if changed else program


def _apart(node: Node, mapping: dict[Node, Node]) -> Node | None:
    """Build a product whose operand is a sum with outer products as a sum itself, if what is left is symmetric."""
    labels = dict(node.params)["labels"]
    found, (*parts, out) = matrix_form(labels), split(labels)
    if found is None or found[2]:
        return None
    x_order, y_order, _, rows, summed, _ = found
    orders = (*x_order[rows:], *x_order[:rows]), y_order
    inputs = [TracedArray(mapping[x]) for x in node.inputs]
    if is_symmetric(ops.contract(*inputs, labels=labels).node, *orders, summed):
        return None
    for i, order in enumerate(orders):
        terms = _without_outer(_Value(inputs[i].node, order), summed, {})
        if terms.rest is None or not 0 < len(terms.outer) <= BUDGET.outer:
            continue
        rest = [TracedArray(terms.rest) if j == i else x for j, x in enumerate(inputs)]
        total = ops.contract(*rest, labels=labels)
        if not is_symmetric(total.node, *orders, summed):
            continue
        mine, other = parts[i], parts[1 - i]
        inner, own = ("".join(c for c in mine if (c in out) == kept) for kept in (False, True))
        others = "".join(c for c in other if c in out)
        for factor, row in terms.outer:
            weights, line = _first(factor, order[summed:]), _first(row, order[:summed])
            sums = ops.contract(inputs[1 - i], weights, labels=letters(other, inner, others))
            total = ops.add(total, ops.contract(sums, line, labels=letters(others, own, out)))
        made: Node = total.node
        return made
    return None


def _first(node: Node, axes: Sequence[int]) -> TracedArray:
    """Return a value that is the same along some axes without these."""
    shape = node.type.shape
    stop = tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    first = ops.slice_(TracedArray(node), start=(0,) * len(shape), stop=stop, step=(1,) * len(shape))
    found: TracedArray = ops.reshape(first, shape=tuple([n for axis, n in enumerate(shape) if axis not in axes]))
    return found


def _without_outer(value: _Value, summed: int, found: dict[Node, _Split]) -> _Split:
    """Return a value, added and scaled element by element, as a rest and outer products; note it for its next use."""
    node = value.node
    if node not in found:
        full = len(found) >= BUDGET.looked_through
        found[node] = _Split(node, [])  # also while it is looked through, which counts
        if not full:
            found[node] = _looked_through(value, summed, found)
    return found[node]


def _looked_through(value: _Value, summed: int, found: dict[Node, _Split]) -> _Split:
    node = value.node
    factors = _factors(value, summed)
    if factors is not None:
        return _Split(None, [factors])
    if isinstance(node.op, Leaf) or not node.op.axes.pointwise:
        return _Split(node, [])
    parts = [part.node for part in _parts(value, summed) if part.axes == value.axes]
    apart = {i: _without_outer(_Value(x, value.axes), summed, found) for i, x in enumerate(node.inputs) if x in parts}
    if not 0 < sum([len(own.outer) for own in apart.values()]) <= BUDGET.outer:
        return _Split(node, [])
    none = {i: node.trace.literal(0.0, node.inputs[i].type) for i in apart}

    def applied(which: dict[int, Node]) -> Node:
        operands = [which.get(i, none.get(i, x)) for i, x in enumerate(node.inputs)]
        return reapplied(node, tuple(operands), node.trace)

    left = {i: own.rest for i, own in apart.items() if own.rest is not None}
    outer = [(applied({i: factor}), row) for i, own in apart.items() for factor, row in own.outer]
    return _Split(applied(left) if left else None, outer)


def _factors(value: _Value, summed: int) -> tuple[Node, Node] | None:
    """Return two factors of which a value is the outer product; None if it is none."""
    node = value.node
    if all(is_constant_along(node, axis) for axis in value.axes[:summed]):
        return node.trace.literal(1.0, node.type), node
    if len(node.inputs) != 2 or not node.op.axes.pointwise or not {(0,), (1,)} <= {*node.op.linear_groups(2)}:
        return None
    for factor, row in (node.inputs, node.inputs[::-1]):
        if all(is_constant_along(factor, axis) for axis in value.axes[summed:]) and all(
            is_constant_along(row, axis) for axis in value.axes[:summed]
        ):
            return factor, row
    return None
