"""What keeps a part of a program from native code: which ops and types, what that costs, what to write instead."""

from __future__ import annotations

from collections.abc import Iterator

from primad import ops
from primad.ir.node import Leaf, Node
from primad.native.complex_numbers.realify import reason_in_parts
from primad.native.emit.op_table import kept_out_by
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.native.module.outlined_text import too_long
from primad.runtime.cost_model import Machine, by_numpy
from primad.runtime.executors.executor import Executable
from primad.runtime.plan.compiled_program import CompiledProgram, work_of
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.runtime.tiling.whole_products import is_shared
from primad.system.machine import ALONE_WORK, WORTHWHILE_BYTES
from primad.system.quantities import count, seconds, several, size

MOST_CAUSES = 6
"""Lines that are shown, the costliest first."""


def causes(plan: Executable, machine: Machine) -> list[str]:
    """Say what of a plan runs by NumPy's definitions, why, and what each costs in a run, as predicted."""
    found: dict[tuple[str, str], list[float]] = {}
    for node, times in _alone(plan):
        if node.op.memory.views or not node.inputs or node.op.programs.called:
            continue  # how what is called runs is among the details
        why = reason_in_parts(node) or ("llvmlite is not there" if compiler() is None else "")
        if why:
            found.setdefault((node.op.name, why), []).append(times * by_numpy(node, machine).total)
    ordered = sorted(found.items(), key=lambda entry: -sum(entry[1]))
    lines = [
        f"{name} runs with NumPy: {why} ({several(len(spent), 'step')}, predicted {seconds(sum(spent))}){_way(name)}"
        for (name, why), spent in ordered[:MOST_CAUSES]
    ]
    if len(ordered) > MOST_CAUSES:
        lines.append(f"{several(len(ordered) - MOST_CAUSES, 'other op')} of less cost")
    return [*lines, *_limits(plan)]


def _limits(plan: Executable) -> list[str]:
    """Say which limit keeps a program that runs in steps from being one native function, if nothing else does.

    Of one that is such a function, say which op keeps its small arrays out of registers.
    """
    if isinstance(plan, CompiledProgram):
        return list(filter(None, [kept_out_by(plan.written)]))
    if compiler() is None or not isinstance(plan, Plan) or any(isinstance(unit, NativePart) for unit in plan.units):
        return []
    steps = [node for node in plan.program.nodes if not isinstance(node.op, Leaf)]
    if not steps or any(map(reason_in_parts, steps)):
        return []
    if work_of(steps) is None:
        work, held = count(ALONE_WORK), size(WORTHWHILE_BYTES)
        why = "no long axis is only mapped and summed (a vmap over points, or a sum over them, has one)"
        if any(map(is_shared, steps)):
            why = "threads share each of its large products, of which tiles would repeat more than they save"
        return [
            f"it is no single native function, which has at most {work} elements of work and {held} of values, nor are "
            f"there tiles: {why}"
        ]
    long = too_long(plan.program)
    if not long:
        return []
    return [
        f"native code would take {seconds(long)} to compile, and may take {seconds(BUDGET.most)}: what repeats itself "
        "is compiled once as the body of primad.scan, or as a jitted function that is called"
    ]


def _alone(plan: Executable) -> Iterator[tuple[Node, float]]:
    """Yield the steps that NumPy runs, and how often a run of the plan does each."""
    if isinstance(plan, Plan):
        yield from ((unit, 1.0) for unit in plan.units if not isinstance(unit, NativeStep))
    for part, often in plan.parts:
        yield from ((node, often * times) for node, times in _alone(part))


def _way(name: str) -> str:
    """Return what to write instead of an op of one's own."""
    return "" if name in ops.BY_NAME else "; written with NumPy's functions it would be native"
