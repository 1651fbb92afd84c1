"""Where the values of a plan lie: how long each is needed, and the buffers that those share which die inside."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive
from primad.runtime.executors.executor import Donated
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.system.deferred import loaded
from primad.system.machine import LOOP_ELEMENTS


def last_uses(steps: Sequence[Node | NativeStep], outputs: Sequence[Node]) -> dict[Node | NativeStep, list[Node]]:
    """Return, for each step, the values that are not needed after it."""
    last: dict[Node, Node | NativeStep] = {}
    for node in steps:
        for operand in node.inputs:
            last[operand] = node
    freed: dict[Node | NativeStep, list[Node]] = {}
    keep = set(outputs)
    for operand, node in last.items():
        if operand not in keep:
            freed.setdefault(node, []).append(operand)
    return freed


def makes_new_array(node: Node) -> bool:
    """Say whether computing the node makes an array that nothing else holds.

    Of a user's own primitive that is not known: its function may return its argument. What holds the results of an op
    that has several is no array; each result is one, from where it is looked up.
    """
    if isinstance(node.type, TupleType):
        return False
    if node.inputs and isinstance(node.inputs[0].type, TupleType):
        return _is_known(node.inputs[0].op)
    return (
        not isinstance(node.op, Leaf)
        and not node.op.memory.views
        and (_is_known(node.op) or isinstance(node.op.numpy, np.ufunc))
    )


def before_reshapes(node: Node) -> Node:
    """Return the value that a value is in another shape; itself if it is none."""
    while node.op is ops.reshape:
        node = node.inputs[0]
    return node


def _is_known(op: Primitive) -> bool:
    """Say whether an op's results share no memory with its operands, unless it says so: ours, and plans of programs."""
    return op in BUILT_IN or op.holds_program


BUILT_IN = frozenset(ops.ALL)


def writes_into(node: Node) -> bool:
    """Say whether the op's definition can write its result into an existing array: ufuncs, and those that say so."""
    out = node.op.memory.out
    return isinstance(loaded(node.op.numpy), np.ufunc) or (out is not None and out(node))


Owners = dict[Node, set[Node]]


def _lifetimes(
    steps: Sequence[Node | NativeStep], outputs: Sequence[Node], streams: Container[Node]
) -> tuple[Owners, dict[Node, int]]:
    """Return the values whose memory each value lies in, and for each such value the step after which it is free.

    A row stream needs the operands of its loop as long as it is needed itself.
    """
    owners: Owners = {}
    until: dict[Node, int] = {}
    for position, step in enumerate(steps):
        for operand in step.inputs:
            for owner in owners.get(operand, ()):
                until[owner] = position
        if isinstance(step, NativeStep):
            owners.update((node, {node}) for node in step.results)
            continue
        new = makes_new_array(step) and step not in streams
        owners[step] = {step} if new else set().union(*(owners.get(x, set()) for x in step.inputs))
    for node in outputs:
        for owner in owners.get(node, ()):
            until[owner] = len(steps)
    return owners, until


def _dying(until: dict[Node, int]) -> dict[int, list[Node]]:
    dying: dict[int, list[Node]] = {}
    for owner, position in until.items():
        dying.setdefault(position, []).append(owner)
    return dying


def assign_buffers(
    steps: Sequence[Node | NativeStep], outputs: Sequence[Node], streams: Container[Node] = ()
) -> tuple[dict[Node, int], list[ArrayType]]:
    """Choose buffers for values that ufuncs and kernels compute and that die inside the program.

    A buffer is free again after the last use of the value in it and of all views of that value. A value may take the
    buffer of an operand that dies with the same step: NumPy defines ufuncs whose operands and result overlap, and a
    kernel reads an element of all its operands before it writes that element of its results.

    Returns:
        the buffer of each value that has one, and the types of the buffers.
    """
    end = len(steps)
    owners, until = _lifetimes(steps, outputs, streams)
    assigned: dict[Node, int] = {}
    types: list[ArrayType] = []
    free: dict[ArrayType, list[int]] = {}
    dying = _dying(until)
    for position, step in enumerate(steps):
        ends = [owner for owner in dying.get(position, ()) if owner in assigned]
        exposed = _exposed(step, owners) if isinstance(step, NativeStep) else ()
        for owner in ends:
            if owner not in exposed:
                free.setdefault(owner.type, []).append(assigned[owner])
        for node in step.results if isinstance(step, NativeStep) else (step,):
            # NumPy makes small arrays at no cost; a native function would have to look up where they lie.
            small = node.type.size < LOOP_ELEMENTS and not isinstance(step, NativePart)
            if small or until.get(node, end) == end:
                continue
            if step is node and not writes_into(node):
                continue
            spare = free.get(node.type, [])
            if spare:
                assigned[node] = spare.pop()
            else:
                assigned[node] = len(types)
                types.append(node.type)
        for owner in ends:
            if owner in exposed:
                free.setdefault(owner.type, []).append(assigned[owner])
    return assigned, types


def peak_bytes(
    steps: Sequence[Node | NativeStep],
    outputs: Sequence[Node],
    assigned: Container[Node],
    buffers: Sequence[ArrayType],
    streams: Container[Node] = (),
) -> int:
    """Return the bytes of a run's arrays when they are most: its buffers, and what lies outside of assigned memory.

    Streams are not counted.
    """
    _, until = _lifetimes(steps, outputs, streams)
    dying = _dying(until)
    now = peak = 0
    for position, step in enumerate(steps):
        for node in step.results if isinstance(step, NativeStep) else (step,):
            if node not in assigned and node not in streams and (isinstance(step, NativeStep) or makes_new_array(node)):
                now += node.type.nbytes
        peak = max(peak, now)
        now -= sum(node.type.nbytes for node in dying.get(position, ()) if node not in assigned)
    return peak + sum(type.nbytes for type in buffers)


def _exposed(step: NativeStep, owners: Owners) -> set[Node]:
    """Return the owners of memory that a native step may read after it wrote there: no place for results.

    What it reads element by element may be a view: those in another order than their owner are copied before.
    """
    exposed = [owners.get(node, set()) for node in step.inputs if node not in step.in_place]
    return set().union(*exposed)


def direct(
    program: Program,
    steps: Sequence[Node | NativeStep],
    writes_into: Callable[[Node], bool],
    makes_new_array: Callable[[Node], bool],
    donated: Donated,
) -> dict[Node, int]:
    """Choose the outputs that are computed right into donated memory.

    Args:
        program: what the plan computes.
        steps: its steps in order.
        writes_into: whether the definition of an op can write into given memory.
        makes_new_array: whether an op's result shares no memory with its operands.
        donated: which output takes the memory of which input.

    Returns:
        the input's position for each such value.
    """
    owners: dict[Node, set[Node]] = {node: {node} for node in program.inputs}
    last: dict[Node, int] = {}
    maker: dict[Node, int] = {}
    overlapping: set[tuple[int, Node]] = set()
    for position, step in enumerate(steps):
        for operand in step.inputs:
            for owner in owners.get(operand, ()):
                last[owner] = position
                if operand is not owner or not _reads_in_place(step, operand):
                    overlapping.add((position, owner))
        if isinstance(step, NativeStep):
            maker.update(dict.fromkeys(step.results, position))
            continue
        if writes_into(step):
            maker[step] = position
        if not makes_new_array(step):
            owners[step] = set().union(*(owners.get(operand, set()) for operand in step.inputs))
    kept = set().union(*(owners.get(node, set()) for node in program.outputs))
    found: dict[Node, int] = {}
    for output, place in donated:
        node, source = program.outputs[output], program.inputs[place]
        if node not in maker or source in kept or last.get(source, -1) > maker[node]:
            continue
        if (maker[node], source) not in overlapping:
            found[node] = place
    return found


def _reads_in_place(step: Node | NativeStep, operand: Node) -> bool:
    """Say whether a step reads each element of an operand only where it then writes that element of its results."""
    if isinstance(step, NativeStep):
        return operand in step.in_place
    return bool(step.op.axes.pointwise)
