"""The law that adds each term of a sum once: (a + b) + (b + c) is a + 2b + c.

Derivatives of products are sums in which a term stands as often as paths lead to it: the derivative of order n of a
product adds n (n + 1) / 2 times, by Pascal's triangle, where n + 1 terms with binomial factors are the same sum. Sums
that are read nowhere else are opened, and written with the least additions and factors; those of other values stay,
so that nothing is computed twice. Only factors of one and more are added up: terms of opposite signs are NaN together
where they are infinite, and half a sum may be finite where the sum is not.
"""

from __future__ import annotations

from primad import ops
from primad.ir.law_families import LEFT_OUT, LOCAL, ROUNDING
from primad.ir.node import LITERAL, Node, literal_value
from primad.ir.program import Program
from primad.ops.record.primitive import apply
from primad.transforms.lowering import rewritten

Weights = dict[Node, float]


def add_once(program: Program) -> Program:
    """Return the program with its sums written so that no term is added several times, where that takes fewer ops.

    Args:
        program: a lowered program.
    """
    if ops.add not in program.ops or LEFT_OUT.get() & {LOCAL, ROUNDING}:
        return program
    chosen = _sums(program)
    if not chosen:
        return program
    return rewritten(
        program, lambda node, mapping, _: _written(chosen[node], mapping) if node in chosen else None, copy=True
    )


def _sums(program: Program) -> dict[Node, Weights]:
    """Return the sums that take fewer ops when each term is added once, with the factors of their terms."""
    whole: dict[Node, Node | None] = {}
    within: dict[Node, Weights] = {}
    above: dict[Node, set[Node | None]] = {node: {None} for node in program.outputs}
    ops_of: dict[Node, int] = {}
    for node in reversed(program.nodes):
        parts = _parts(node)
        above_it = above.get(node, {None})
        sum_ = next(iter(above_it)) if len(above_it) == 1 else None
        sum_ = node if sum_ is None and node.op is ops.add and parts else sum_
        whole[node] = sum_ if parts else None
        for operand in node.inputs:
            above.setdefault(operand, set()).add(whole[node])
        if not parts or sum_ is None:
            continue
        weights = within.setdefault(sum_, {})
        own = weights.pop(node, 1.0)
        ops_of[sum_] = ops_of.get(sum_, 0) + 1
        for operand, factor in parts:
            weights[operand] = weights.get(operand, 0.0) + own * factor
    return {node: weights for node, weights in within.items() if _ops(weights) < ops_of[node] and _are_exact(weights)}


def _parts(node: Node) -> list[tuple[Node, float]]:
    """Return what a sum or a multiple adds up, with factors; nothing of other nodes."""
    if not node.type.is_float or node.type.is_complex:  # a factor of 1 + 0i is none where a part is infinite
        return []
    if node.op is ops.add:
        return [(operand, 1.0) for operand in node.inputs]
    if node.op is ops.mul:
        for number, rest in (node.inputs, node.inputs[::-1]):
            if number.op is LITERAL and literal_value(number) >= 1:
                return [(rest, float(literal_value(number)))]
    return []


def _ops(weights: Weights) -> int:
    """Return the ops of a sum as it is written here."""
    return len(weights) - 1 + len({*weights.values()} - {1.0})


def _are_exact(weights: Weights) -> bool:
    """Say whether the factors are numbers of their terms' dtypes."""
    return all(float(node.type.dtype.type(factor)) == factor < float("inf") for node, factor in weights.items())


def _written(weights: Weights, mapping: dict[Node, Node]) -> Node:
    """Return the sum of terms with factors; equal factors multiply once."""
    alike: dict[float, Node] = {}
    for term, factor in weights.items():
        new = mapping.get(term, term)
        alike[factor] = apply(new.trace, ops.add, alike[factor], new) if factor in alike else new
    total: Node | None = None
    for factor, node in alike.items():
        scaled = node if factor == 1.0 else apply(node.trace, ops.mul, node.trace.literal(factor, node.type), node)
        total = scaled if total is None else apply(scaled.trace, ops.add, total, scaled)
    assert total is not None
    return total
