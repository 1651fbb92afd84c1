"""A program before and after each family of laws, and the forward pass that its matrix products are counted in."""

from __future__ import annotations

from dataclasses import dataclass

from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.node import Leaf, Node
from primad.ir.program import Cost, Program
from primad.simplify import simplify
from primad.transforms.lowering import lower_nodes


@dataclass(frozen=True)
class Stage:
    """A program after some families of laws.

    Attributes:
        name: the family that was applied last.
        cost: of one run.
        program: the program; None where it is only counted.
    """

    name: str
    cost: Cost
    program: Program | None = None


def stages(recorded: Program, planned: Program) -> list[Stage]:
    """Return a recorded function's program of primitives after more and more families of laws.

    The first is the expression written out as formulas are, every value computed anew for each of its uses: counted,
    not built, since it grows exponentially with the order of derivatives.

    Args:
        recorded: the function's program.
        planned: what its plan runs, after the rewritings that only plans make.
    """
    with without(LOCAL, DIRECTIONS):
        shared = simplify(recorded)
    with without(DIRECTIONS):
        local = simplify(recorded)
    summed = simplify(recorded)
    return [
        Stage("written out", written_out(shared)),
        Stage("equal values are one", shared.cost(), shared),
        Stage(LOCAL, local.cost(), local),
        Stage(DIRECTIONS, summed.cost(), summed),
        Stage("what plans rewrite", planned.cost(), planned),
    ]


def written_out(program: Program) -> Cost:
    """Count a program whose values are computed anew for each use: each node as often as paths lead to it.

    What is called, a loop with all its steps, is computed once: no formula writes it out.
    """
    paths: dict[Node, int] = dict.fromkeys(program.nodes, 0)
    for node in program.outputs:
        paths[node] = paths.get(node, 0) + 1
    total = Cost()
    for node in reversed(program.nodes):
        if not isinstance(node.op, Leaf) and node.op.programs.called:
            paths[node] = 1
        for operand in node.inputs:
            paths[operand] = paths.get(operand, 0) + paths[node]
        if not isinstance(node.op, Leaf):
            one, n = node.op.cost(node), paths[node]
            total = total + Cost(n * one.flops, n * one.matmul_flops, n * one.bytes, n * one.nodes)
    return total


def forward_pass(program: Program) -> int:
    """Return the flops of the matrix products of a function whose derivatives a program contains.

    That is the most that any of the programs held in it needs by itself, without the derivatives held in that again.
    """
    most = 0
    stack = [(program, 1)]
    seen = set()
    while stack:
        current, copies = stack.pop()
        plain = _plain(current)
        own = sum(node.op.cost(node).matmul_flops for node in plain.nodes if _is_own(node))
        most = max(most, own * copies)
        for node in plain.nodes:
            for held in () if isinstance(node.op, Leaf) else node.op.held(node.params):
                mapped = copies * dict(node.params).get("size", 1)
                if (held.key, mapped) not in seen:
                    seen.add((held.key, mapped))
                    stack.append((held.hoisted, mapped))
    return most


def _plain(program: Program) -> Program:
    """Lower the composites that hold no programs."""
    while True:
        chosen = {node for node in program.nodes if _is_composite(node) and not node.op.holds_program}
        if not chosen:
            return program
        program = lower_nodes(program, chosen)


def _is_composite(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and node.op.is_composite


def _is_own(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and (not node.op.holds_program or node.op.programs.called)
