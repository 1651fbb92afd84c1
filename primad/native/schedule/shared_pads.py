"""Zeros put around one array in several ways: once, as wide as any, and the rest are parts of that.

The transpose of a stencil, which adds slices, adds an array that is padded once for each of them. Each padding is a
loop over memory of its own; parts of one are views, which the loop that adds them reads. The elements, and so the bits,
are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from primad import ops
from primad.ir.node import Node, Trace
from primad.ir.program import Program
from primad.ops.record.primitive import apply
from primad.transforms.lowering import rewritten


def with_shared_pads(program: Program) -> Program:
    """Return a program in which what is padded to one shape in several ways is padded once."""
    groups: dict[tuple[Node, tuple[int, ...]], list[Node]] = {}
    for node in program.nodes:
        if node.op is ops.pad and not any(dict(node.params)["interior"]):
            groups.setdefault((node.inputs[0], node.type.shape), []).append(node)
    several = {node: pads for pads in groups.values() if _is_smaller(pads) for node in pads}
    if not several:
        return program
    wide: dict[tuple[Node, tuple[int, ...]], Node] = {}

    def change(node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        if node not in several:
            return None
        (source,) = node.inputs
        low, high = (_widest(several[node], side) for side in ("low", "high"))
        key = source, node.type.shape
        if key not in wide:
            new = mapping.get(source, source)
            wide[key] = apply(trace, ops.pad, new, low=low, high=high, interior=(0,) * len(low))
        start = tuple([most - own for most, own in zip(low, dict(node.params)["low"], strict=True)])
        stop = tuple([first + length for first, length in zip(start, node.type.shape, strict=True)])
        return apply(trace, ops.slice_, wide[key], start=start, stop=stop, step=(1,) * len(start))

    return rewritten(program, change, copy=True)


def _is_smaller(pads: Sequence[Node]) -> bool:
    """Say whether one array that has all in it is smaller than some: pads to far corners have little in common."""
    around = zip(pads[0].inputs[0].type.shape, _widest(pads, "low"), _widest(pads, "high"), strict=True)
    return len(pads) > 1 and math.prod(map(sum, around)) <= sum(node.type.size for node in pads)


def _widest(pads: Sequence[Node], side: str) -> tuple[int, ...]:
    return tuple(map(max, zip(*[dict(node.params)[side] for node in pads], strict=True)))
