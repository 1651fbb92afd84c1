"""Predicting a plan's time from its costs and the machine's speeds.

The model is as simple as it can be: matrix products at the machine's peak, other elements at the speed of a sum or of a
function in cache, large arrays at the speed of a copy, each NumPy call at the price of a call. What it says is what the
plan would take if nothing else stood in the way; a measured time far above it is worth a question.
"""

from __future__ import annotations

from dataclasses import dataclass

from primad.explanation.machine import Machine
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.native.vectors import NEEDS
from primad.runtime.fusion import Group
from primad.runtime.interpreter import Plan
from primad.runtime.lanes import thread_count
from primad.runtime.tiles import NativeTiles
from primad.runtime.tiling import AnyPlan, StagedPlan, TiledPlan
from primad.runtime.whole import WholePlan

IN_REGISTERS = 0.5
"""An op inside a kernel takes this share of a NumPy call's time per element: it neither loads nor stores."""
FUNCTION_WORK = 8
"""How a kernel's work counts a function's elements."""
CACHED_BYTES = 1024 * 1024
"""Larger arrays come from memory."""


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds, by what they are spent on."""

    products: float = 0.0
    kernels: float = 0.0
    elements: float = 0.0
    calls: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.products + self.kernels + self.elements + self.calls

    def __add__(self, other: Prediction) -> Prediction:
        return Prediction(
            self.products + other.products,
            self.kernels + other.kernels,
            self.elements + other.elements,
            self.calls + other.calls,
        )

    def times(self, factor: float) -> Prediction:
        """Return the prediction for so many runs."""
        return Prediction(*[factor * part for part in (self.products, self.kernels, self.elements, self.calls)])


def predict(plan: AnyPlan | WholePlan, machine: Machine) -> Prediction:
    """Predict how long one run of a plan takes."""
    if isinstance(plan, WholePlan):
        return _as_one_function(plan.program, machine)
    if isinstance(plan, StagedPlan):
        first, second = plan.parts
        return predict(first, machine) + predict(second, machine)
    if isinstance(plan, TiledPlan):
        before, tiles, after = plan.parts
        rounds = plan.dimension.length / tiles.length / min(thread_count(), tiles.lanes)
        if isinstance(tiles, NativeTiles):
            tile = _as_one_function(tiles.program, machine)
        else:
            tile = _by_steps(tiles.plan, machine, machine.peak_alone)
        return _by_steps(before, machine, machine.peak) + tile.times(rounds) + _by_steps(after, machine, machine.peak)
    return _by_steps(plan, machine, machine.peak)


def _by_steps(plan: Plan, machine: Machine, peak: float) -> Prediction:
    total = Prediction()
    for unit in plan.units:
        if isinstance(unit, Group):
            total = total + Prediction(kernels=unit.work * IN_REGISTERS * machine.arithmetic, calls=machine.call)
        else:
            total = total + _by_numpy(unit, machine, peak)
    return total


def _by_numpy(node: Node, machine: Machine, peak: float) -> Prediction:
    cost = node.op.cost(node)
    if node.op.views:
        return Prediction(calls=machine.call)
    if cost.matmul_flops:
        return Prediction(products=cost.matmul_flops / peak, calls=machine.call)
    size = max([node.type.size, *[operand.type.size for operand in node.inputs]])
    seconds = size * (machine.function if node.op.name in NEEDS else machine.arithmetic)
    moved = node.type.nbytes + sum(operand.type.nbytes for operand in node.inputs)
    if moved > CACHED_BYTES:
        seconds = max(seconds, moved / machine.bandwidth)
    return Prediction(elements=seconds, calls=machine.call)


def _as_one_function(program: Program, machine: Machine) -> Prediction:
    work = products = 0
    for node in program.nodes:
        if not isinstance(node.op, Leaf) and not node.op.views:
            cost = node.op.cost(node)
            products += cost.matmul_flops
            work += 0 if cost.matmul_flops else node.type.size * (FUNCTION_WORK if node.op.name in NEEDS else 1)
    kernels = work * IN_REGISTERS * machine.arithmetic
    return Prediction(products / machine.peak_alone, kernels, 0.0, machine.call)
