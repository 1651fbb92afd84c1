"""Where elements of a result, such as residuals at points, are coupled, so that its Jacobian takes more pullbacks."""

from __future__ import annotations

from primad.explanation.picture import below_here
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.ir.walks import dependents
from primad.programs.jacobians.jacobian_laws import jacobian_
from primad.simplify.slice_pushdown import take_early
from primad.transforms.dimensions import couplings
from primad.transforms.lowering import lower

VERBS = {
    "sums": "adds up a result's elements: a pullback for each sum",
    "mixes": "mixes a result's elements: a pullback for each of them",
}


def coupled(program: Program) -> tuple[str, ...]:
    """Say for the Jacobians in a program, and in the programs that it holds, which ops couple their rows."""
    found: dict[str, None] = {}
    stack, seen = [program], set()
    while stack:
        current = stack.pop()
        for node in current.nodes:
            if isinstance(node.op, Leaf) or not node.op.holds_program:
                continue
            for of in node.op.held(node.params):
                if of.key not in seen:
                    seen.add(of.key)
                    stack.append(of.hoisted)
            params = dict(node.params)
            if node.op is jacobian_ and params["mode"] != "forward":
                held = params["of"].hoisted
                chosen = [i == params["argument"] for i in range(len(held.inputs))]
                output = Program(held.trace, held.inputs, [held.outputs[params["output"]]])
                output.lines = held.lines
                alone = take_early(lower(output))
                for verb, at in couplings(alone, chosen, taken=True):
                    after = dependents(alone.nodes, [at])  # a definition's line is that of its result
                    line = next((alone.lines[x] for x in alone.nodes if x in after and x in alone.lines), None)
                    where = "" if line is None else f" at {below_here(line)}"
                    found[f"the Jacobian's rows are coupled: {at.op.name}{where} {VERBS[verb]}"] = None
    return tuple(found)
