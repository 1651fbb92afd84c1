"""Predicting a plan's time from its costs and the machine's speeds.

The model is as simple as it can be: matrix products at the machine's peak, other elements at the speed of a sum or of a
function in cache, large arrays at the speed of a copy, each NumPy call at the price of a call. What it says is what the
plan would take if nothing else stood in the way; a measured time far above it is worth a question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.native.emit.emit_context import Loops, Way
from primad.native.emit.op_table import (
    has_small_arrays,
    likely_exps,
    likely_work,
    needs_lapack,
    one_loop_of,
    reason,
    short_length,
    way_of,
)
from primad.native.emit.pointwise import is_function
from primad.native.loops.body_programs import form_of, has_body, step_program
from primad.ops.record.fields import LoopForm
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.system.deferred import loaded
from primad.system.machine import ALONE_WORK, SECOND_CACHE

LATENCY_SECONDS, INSTRUCTION_SECONDS, FUNCTION_SECONDS, LOOP_SECONDS = 0.7e-9, 0.15e-9, 8e-9, 6e-9
"""Seconds that an op, one of many on values in registers, a function and a loop of native code take, however small
their arrays are. Fitted to times of programs of small steps; only predictions depend on them."""
STEP_CALLS, DEFINITION_CALLS, PART_CALLS, ENTRY_CALLS, LOOP_CALLS = 2, 15, 15, 0.2, 80
"""Calls of a NumPy function that these take as long as: a step that is a ufunc, one whose definition is Python's, a
native part, a program that Python calls itself, a loop or a call of a program beside its steps. Fitted to times of
programs of small steps; only predictions depend on them."""
LIKELY_STEPS = 8
"""Steps of a loop that ends by itself, if it may take so many: those of Newton's method. Estimated; only predictions
depend on it."""
SMALL_FLOP_SECONDS, TOGETHER, LAPACK_SECONDS = 1.5e-9, 3, 0.8e-6
"""Seconds that a flop of a factorization takes where LAPACK is not called; how many times faster those of a stack are,
whose vectors have one matrix in each lane; seconds of a call of LAPACK. Fitted to times of 3 to 12 rows; only
predictions depend on them."""
FLOPS_OF_A_MATRIX, LAPACK_SHARE, HALF_OF_IT = 16, 0.6, 150
"""Flops for each element of a result, from which an op is taken for a factorization of matrices; the share of the speed
of matrix products that LAPACK reaches with large ones; the rows for which it reaches half of that. Fitted to times of
20 to 1000 rows; only predictions depend on them."""
CACHED_BYTES = SECOND_CACHE.size
"""Bytes; larger arrays come from memory."""


class Machine(Struct, frozen=True):
    """Speeds for one dtype.

    Attributes:
        peak: flops per second of matrix products on all threads.
        peak_alone: the same on one thread.
        bandwidth: bytes per second that a copy of a large array reads and writes, on one thread.
        arithmetic: seconds per element of a sum in cache.
        function: seconds per element of a function (tanh) in cache.
        call: seconds that a call of a NumPy function costs apart from its work.
        native_arithmetic: seconds per element of a sum or product in native code, its share of loads included.
        native_function: seconds per element of exp in native code.
    """

    peak: float
    peak_alone: float
    bandwidth: float
    arithmetic: float
    function: float
    call: float
    native_arithmetic: float
    native_function: float

    @property
    def on_one_thread(self) -> Machine:
        """The machine where matrix products have one thread."""
        return replace(self, peak=self.peak_alone)


class Prediction(Struct, frozen=True):
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

    def moving(self, nbytes: int, machine: Machine) -> Prediction:
        """Return the prediction where so many bytes are moved: more than a cache holds is waited for."""
        return self + Prediction(elements=max(0.0, _to_move(nbytes, machine) - self.total))


def by_steps(
    units: Sequence[Node | NativeStep], machine: Machine, times: Callable[[Node], float] = lambda _: 1.0
) -> Prediction:
    """Predict how long steps take, one after the other.

    Args:
        units: nodes, which run by their ops' NumPy definitions, and native functions of several nodes.
        machine: speeds.
        times: how often a loop runs, since what it made is not kept.
    """
    total = Prediction()
    for unit in units:
        if isinstance(unit, NativePart):
            inside = in_one_function(unit.nodes, machine)
            total = total + inside + Prediction(calls=PART_CALLS * machine.call)
        elif isinstance(unit, NativeStep):
            kernels = unit.work * machine.native_arithmetic
            total = total + Prediction(unit.flops / machine.peak_alone, kernels, calls=PART_CALLS * machine.call)
        else:
            total = total + by_numpy(unit, machine).times(times(unit))
    return total


def by_numpy(node: Node, machine: Machine) -> Prediction:
    """Predict how long a call of an op's NumPy definition takes."""
    if node.op.programs.called:
        return _of_held(node, machine)
    cost = node.op.cost(node)
    ufunc = isinstance(loaded(node.op.numpy), np.ufunc)
    call = machine.call * (STEP_CALLS if ufunc else DEFINITION_CALLS)
    if node.op.memory.views:
        return Prediction(calls=call)
    if cost.matmul_flops:
        return Prediction(products=_of_product(node, cost.matmul_flops, machine, machine.peak), calls=call)
    if way_of(node) is not Way.SUM and cost.flops > FLOPS_OF_A_MATRIX * node.type.size:
        return Prediction(elements=_by_lapack(node, cost.flops, machine.peak), calls=call)
    size = max([node.type.size, *[operand.type.size for operand in node.inputs]])
    function = is_function(node)
    seconds = size * machine.function if function else max(size, likely_work(node)) * machine.arithmetic
    return Prediction(elements=max(seconds, _waiting(node, machine)), calls=call)


def _waiting(node: Node, machine: Machine) -> float:
    """Return the seconds that it takes to move an op's arrays; 0 if a cache holds them."""
    return _to_move(node.type.nbytes + sum(operand.type.nbytes for operand in node.inputs), machine)


def _to_move(nbytes: int, machine: Machine) -> float:
    return nbytes / machine.bandwidth if nbytes > CACHED_BYTES else 0.0


def _of_product(node: Node, flops: int, machine: Machine, peak: float) -> float:
    """Predict how many seconds a matrix product takes: one with a vector, or with few columns, loads as it computes."""
    loaded = sum(operand.type.size for operand in node.inputs) * machine.arithmetic
    return max(flops / peak + loaded, _waiting(node, machine))


def _by_lapack(node: Node, flops: int, peak: float) -> float:
    """Predict how many seconds LAPACK takes for a stack of matrices: the more rows, the more of it is products."""
    rows = max(1, min(node.inputs[0].type.shape[-2:], default=1))  # where there is none there are no flops either
    share = (needs_lapack(node) or 1.0) * LAPACK_SHARE * rows / (rows + HALF_OF_IT)
    return _matrices_of(node) * LAPACK_SECONDS + flops / (share * peak)


def _of_held(node: Node, machine: Machine) -> Prediction:
    """Predict how long an op takes that runs programs: a loop takes as often as many flops as one of its steps has."""
    total = Prediction(calls=LOOP_CALLS * machine.call)
    flops = node.op.cost(node).flops
    for program in [of.hoisted for of in node.op.held(node.params)]:
        once = program.cost()
        times = max(1.0, flops / once.flops) if once.flops else 1.0
        steps = [x for x in program.nodes if not isinstance(x.op, Leaf)]
        if once.flops > ALONE_WORK or any(x.op.programs.called and reason(x) for x in steps):
            total = total + by_steps(steps, machine).times(times)
        else:
            total = total + _within(program, machine).times(times)
    return total


def as_one_function(program: Program, machine: Machine) -> Prediction:
    """Predict how long a program takes that runs as one native function, on one thread."""
    return _within(program, machine) + Prediction(calls=ENTRY_CALLS * machine.call)


def _within(program: Program, machine: Machine) -> Prediction:
    """Predict how long a program takes inside of a native function, on one thread."""
    length = short_length(program) if has_small_arrays(program) else None
    return in_one_function(program.nodes, machine) if length is None else _in_registers(program, length)


def _in_registers(program: Program, length: int) -> Prediction:
    """Predict how long a program takes with every element in a register: all instructions, or the longest chain."""
    ready: dict[Node, float] = {}
    for node in program.nodes:
        alone = 0.0 if isinstance(node.op, Leaf) or not likely_work(node) else LATENCY_SECONDS
        if likely_exps(node):
            alone = FUNCTION_SECONDS
        ready[node] = alone + max([ready[operand] for operand in node.inputs], default=0.0)
    return Prediction(kernels=max(length * INSTRUCTION_SECONDS, *ready.values(), 0.0))


def in_one_function(nodes: Sequence[Node], machine: Machine) -> Prediction:
    """Predict how long nodes take in a native function, on one thread."""
    products = kernels = 0.0
    for node in nodes:
        if has_body(node):
            loop = _of_loop(form_of(node), machine)
            products, kernels = products + loop.products, kernels + loop.kernels
        elif not isinstance(node.op, Leaf) and not node.op.memory.views:
            cost = node.op.cost(node)
            if cost.matmul_flops:
                products += _of_product(node, cost.matmul_flops, machine, machine.peak_alone) + LOOP_SECONDS
                continue
            how = way_of(node)
            if isinstance(how, Loops) and (how.lapack or cost.flops > node.type.size):
                kernels += _of_matrices(node, cost.flops, machine)
            else:
                kernels += _of_elements(node, machine)
    return Prediction(products, kernels)


def _of_elements(node: Node, machine: Machine) -> float:
    """Predict how many seconds an op takes that computes elements: from registers, or in a loop of its own."""
    exps, work = likely_exps(node), likely_work(node)
    if exps:
        return max(exps * machine.native_function, FUNCTION_SECONDS)
    if isinstance(way_of(node), Loops) or way_of(node) is Way.SUM:
        return work * machine.arithmetic + LOOP_SECONDS
    return max(work * machine.native_arithmetic, LATENCY_SECONDS) if work else 0.0


def _of_loop(form: LoopForm, machine: Machine) -> Prediction:
    """Predict how long a loop takes as a part of a native function, on one thread."""
    steps = min(LIKELY_STEPS, form.length) if form.ends else form.length
    one = one_loop_of(form.of, (True,) * form.carry) if form.separate else None
    if one is None:
        return _within(step_program(form.of), machine).times(steps)
    member, length = one
    return Prediction(kernels=steps * member.size / member.lanes * length * INSTRUCTION_SECONDS)


def _matrices_of(node: Node) -> int:
    """Return how many matrices an op is applied to."""
    return max(1, math.prod(node.inputs[0].type.shape[:-2]))


def _of_matrices(node: Node, flops: int, machine: Machine) -> float:
    """Predict how many seconds a factorization of a stack of matrices takes, or another op of many flops an element."""
    lapack = _by_lapack(node, flops, machine.peak_alone) + LOOP_SECONDS
    written_out = flops * SMALL_FLOP_SECONDS / (1 if _matrices_of(node) < TOGETHER else TOGETHER) + LOOP_SECONDS
    return lapack if needs_lapack(node) else min(lapack, written_out)
