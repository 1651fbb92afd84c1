"""Values that are computed again instead of being kept: what a `checkpoint` asks for.

The derivative of a checkpointed function computes its inner values from the far side of a barrier. Where memory does
not grow with the data, in tiles and in small programs, barriers are dropped, and both computations become one again.
Where it does, the second one waits until its results are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from primad import ops
from primad.ir.node import Node
from primad.ir.walks import dependents, users_of


def late_order(steps: Sequence[Node], outputs: Sequence[Node]) -> list[Node]:
    """Order steps so that what lies behind a barrier is computed when it is first needed, and the rest as before."""
    place = {node: i for i, node in enumerate(steps)}
    behind = dependents(steps, [node for node in steps if node.op is ops.barrier])
    if not behind:
        return list(steps)
    users = users_of([node for node in steps if node in behind])
    ordered: dict[Node, None] = dict.fromkeys(node for node in steps if node not in behind)
    for output in outputs:
        stack = [output] if output in behind else []
        while stack:
            node = stack[-1]
            missing = [x for x in node.inputs if x in place and x not in ordered]
            if missing:
                # A cotangent was built after the values that it meets: with the latest operand first, these come last.
                stack.append(max(missing, key=place.__getitem__))
                continue
            stack.pop()
            if node in ordered:
                continue
            ordered[node] = None
            # What can be computed now need not keep its operands waiting; but nothing crosses a barrier unasked.
            stack += [
                x
                for x in users.get(node, ())
                if x.op is not ops.barrier and all(y in ordered or y not in place for y in x.inputs)
            ]
    return list(ordered)
