"""`primad.explain`: a function's costs, plan and times, as text and as a picture."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from primad.errors import TracingError
from primad.explanation.called_programs import Called, called_by
from primad.explanation.causes import causes
from primad.explanation.coupled import coupled
from primad.explanation.law_effects import Stage, forward_pass, stages
from primad.explanation.machine_speeds import machine
from primad.explanation.picture import Drawing, page, picture
from primad.functional.jit import without_static
from primad.functional.parsing import known_ops
from primad.functional.static_arguments import is_odd
from primad.ir.array_types import ArrayType
from primad.ir.json_form import not_packed
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.programs.compacting import compact
from primad.programs.rerolling.loop_diagnostics import short_loops
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import is_weak, positional, record, type_of
from primad.runtime.calling import arrays, executable_for_calls
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import Executable
from primad.system.quantities import count, quantity, seconds, size
from primad.system.tracebacks import entrance

SHORTEST_MEASURED = 20e-6
"""Seconds; what runs shorter is run several times for each reading of the clock."""
BUSY_LOAD = 1.5
"""Programs for each processor from which on times say little."""
MEASURED_SECONDS = 0.3
"""Runs are repeated for about so long."""


@dataclass(frozen=True)
class Explanation:
    """What primad does with a function; `print` it, `save` it, or let a notebook show it.

    Attributes:
        name: of the function.
        stages: the program and its cost after each family of laws (see `primad.explanation.law_effects`).
        forward_flops: flops of the matrix products of one forward pass; 0 if there are none.
        plan: what runs.
        machine: the speeds measured in this process.
        predicted: seconds of one run, by what they are spent on.
        measured: seconds of one run, the least of several.
        planning: seconds that recording, deriving, simplifying and planning took, kernels included, and, where programs
            are called, the first run, which plans them.
        coupled: what couples the rows of a Jacobian, which then takes more than one pullback for all points.
        calls: the distinct programs that the program calls, such as the step of a simulation and its pullback.
        causes: what keeps a part of the program from native code, what that costs, and what to write instead.
        loops: loops in Python that are too short to be loops of the program, by their lines.
        load: programs that wanted the processors while this was measured, for each processor; 0 if the system does not
            say.
    """

    name: str
    stages: tuple[Stage, ...]
    forward_flops: int
    plan: Executable
    machine: Machine
    predicted: Prediction
    measured: float
    planning: float
    coupled: tuple[str, ...] = ()
    calls: tuple[Called, ...] = ()
    causes: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    load: float = 0.0

    @property
    def program(self) -> Program:
        """The program that runs."""
        return self.plan.program

    def passes(self, stage: Stage) -> float | None:
        """Return a stage's matrix products in forward passes; None if there are none."""
        return stage.cost.matmul_flops / self.forward_flops if self.forward_flops else None

    @property
    def share_of_peak(self) -> float:
        """The share of the machine's matrix-product speed that the measured run reached."""
        return self.program.cost().matmul_flops / self.measured / self.machine.peak

    def __str__(self) -> str:
        return "\n".join([f"primad.explain({self.name})", "", *self._laws(), "", *self._plan(), "", *self._times()])

    __repr__ = __str__

    def _laws(self) -> list[str]:
        lines = [f"{'after':24} {'nodes':>9} {'flops':>9} {'bytes':>9} {'matrix products':>17}"]
        for stage in self.stages:
            passes = self.passes(stage)
            counted = "" if passes is None else f"{count(passes)} passes"
            cost = stage.cost
            nodes, flops, moved = (count(value) for value in (cost.nodes, cost.flops, cost.bytes))
            lines.append(f"{stage.name:24} {nodes:>9} {flops:>9} {moved:>9} {counted:>17}")
        if self.forward_flops:
            lines.append(f"one forward pass is {count(self.forward_flops)} flops of matrix products")
        return lines

    def _plan(self) -> list[str]:
        memory = f"peak memory of its arrays {size(self.plan.peak_bytes)}, planned in {seconds(self.planning)}"
        calls = [f"calls {entry}" for entry in self.calls]
        further = (*self.plan.details, *calls, *self.causes, *self.loops, memory, *self.coupled)
        return [f"plan: {self.plan.summary}", *[f"  {line}" for line in further]]

    def _times(self) -> list[str]:
        spent = (
            ("matrix products", self.predicted.products),
            ("kernels", self.predicted.kernels),
            ("other elements", self.predicted.elements),
            ("calls", self.predicted.calls),
        )
        parts = ", ".join(f"{name} {seconds(value)}" for name, value in spent if value > 0.01 * self.predicted.total)
        ratio = self.measured / self.predicted.total if self.predicted.total else float("inf")
        lines = [
            f"predicted {seconds(self.predicted.total)}: {parts}",
            f"measured  {seconds(self.measured)}, {ratio:.1f} times the prediction",
        ]
        if self.load > BUSY_LOAD:
            lines.append(
                f"          the machine is busy: {self.load:.1f} programs want each processor, so times are long"
            )
        flops = self.program.cost().matmul_flops
        if flops:
            reached, peak = quantity(flops / self.measured, "flop/s"), quantity(self.machine.peak, "flop/s")
            share = f"{100 * self.share_of_peak:.0f} % of the machine's matrix-product speed"
            lines.append(f"          {share} ({reached} of {peak})")
            if self.share_of_peak > 1.05:
                lines.append(
                    "          more than all of it: the machine was busy while its speed was measured, which is done"
                )
                lines.append(
                    "          once in a process; the prediction is too long by as much: explain again in a new one"
                )
        return lines

    def svg(self) -> str:
        """Return the picture of the program before and after the laws, with its costs, as SVG."""
        built = [stage for stage in self.stages if stage.program is not None]
        bars = [(stage.name, float(stage.cost.flops), self._caption(stage)) for stage in built]
        times = [("predicted", self.predicted.total, seconds(self.predicted.total)),
                 ("measured", self.measured, seconds(self.measured))]  # fmt: skip
        before, after = built[0], built[-1]
        assert before.program is not None and after.program is not None
        return picture(
            f"primad.explain({self.name})",
            Drawing(f"before: {self._caption(before)}", before.program),
            Drawing(f"after: {self._caption(after)}", after.program),
            bars,
            times,
            f"with every value computed anew for each use: {self._caption(self.stages[0])}",
            [self.plan.summary, *self.plan.details, f"peak memory {size(self.plan.peak_bytes)}"],
        )

    def _caption(self, stage: Stage) -> str:
        passes = self.passes(stage)
        counted = "" if passes is None else f", {count(passes)} forward passes"
        return f"{count(stage.cost.nodes)} nodes, {quantity(stage.cost.flops, 'flop')}{counted}"

    def _repr_html_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the explanation: a picture for `.svg`, a page with the picture and the text for `.html`, or `.txt`.

        Args:
            path: where to.

        Returns:
            the path.

        Raises:
            TracingError: for another suffix.
        """
        path = Path(path)
        makers: dict[str, Callable[[], str]] = {
            ".svg": self.svg,
            ".html": lambda: page(self.svg(), str(self)),
            ".txt": lambda: f"{self}\n",
        }
        if path.suffix not in makers:
            raise TracingError(f"explain: cannot write {path.name}", fix=f"end it in {', '.join(makers)}.")
        path.write_text(makers[path.suffix](), encoding="utf-8")
        return path


@entrance
def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Show what `primad.jit(function)(*args, **kwargs)` does: its program after each family of laws, its plan and time.

    Matrix products are counted in forward passes of the function whose derivatives are taken. The predicted time comes
    from the machine's speeds (`primad.explanation.machine_speeds`) and the costs; the function runs a few times to
    measure.

    Args:
        function: a function of arrays and pytrees of arrays, with the derivatives to explain in it or around it.
        args: its arguments. Those that are static for a jitted function are constants, as in a call.
        kwargs: its keyword arguments; texts and other objects without a shape are constants.

    Returns:
        an `Explanation`: its `str` is a report, `save("picture.svg")` and notebooks show the program before and after.

    Raises:
        TracingError: where the function needs a value (`if x > 0`), as `jit` does.

    Example:
        >>> import numpy as np, primad
        >>> weights = np.ones((50, 50))
        >>> def u(x):
        ...     return np.sum(np.tanh(np.tanh(x @ weights) @ weights))
        >>> report = primad.explain(lambda x: np.trace(primad.hessian(u)(x)), np.ones(50))
        >>> for stage in report.stages[1:]:
        ...     print(f"{stage.name}: {report.passes(stage):.0f} forward passes")
        equal values are one: 76 forward passes
        local laws: 51 forward passes
        sums over directions: 26 forward passes
        what plans rewrite: 26 forward passes
    """
    name = getattr(function, "__name__", type(function).__name__)
    function, args, kwargs = without_static(function, args, kwargs)
    constants = {key: value for key, value in kwargs.items() if is_odd(value)}
    if constants:
        function, kwargs = partial(function, **constants), {k: v for k, v in kwargs.items() if k not in constants}
    function, args = positional(function, args, kwargs)
    leaves, in_tree = tree.flatten(args)
    if any(isinstance(leaf, TracedArray) for leaf in leaves):
        raise TracingError("explain: the arguments are traced", fix="call it outside of jit, grad and vmap.")
    start = time.perf_counter()
    types, weak = [type_of(leaf) for leaf in leaves], [is_weak(leaf) for leaf in leaves]
    recorded = record(function, types, in_tree, weak=weak)
    if recorded.captured:
        raise TracingError("explain: the function closes over a traced array", fix="pass it as an argument.")
    program = compact(recorded)
    plan, further = executable_for_calls(program, in_tree, types, weak)
    values = [*arrays(leaves), *further]
    calls = called_by(plan.program)
    if calls:
        plan.run(values)
    planning = time.perf_counter() - start
    speeds = machine(_dtype(plan.program))
    measured = _measure(_runner(plan, values, args, further))
    if plan.program.cost().matmul_flops > measured * speeds.peak:  # it was busy when its speeds were measured
        machine.cache_clear()
        speeds = machine(_dtype(plan.program))
    hoisted = program.hoisted(scalars=False)
    return Explanation(
        name=name,
        stages=tuple(stages(hoisted, plan.program)),
        forward_flops=forward_pass(hoisted),
        plan=plan,
        machine=speeds,
        predicted=plan.predicted(speeds),
        measured=measured,
        planning=planning,
        coupled=coupled(hoisted),
        calls=calls,
        causes=(*_notes(program), *causes(plan, speeds), *_made_anew(hoisted)),
        loops=tuple(_short_loops(program)),
        load=_load(),
    )


def _notes(program: Program) -> list[str]:
    """Return the notes on a program and on those that it holds."""
    return list(dict.fromkeys(note for each in _held(program) for note in each.notes))


def _short_loops(program: Program) -> list[str]:
    """Return what is said of loops in Python, of a program and those that it holds, that are too short for any note."""
    return list(dict.fromkeys(said for each in _held(program) for said in short_loops(each)))


def _held(program: Program) -> list[Program]:
    """Return a program and those that it holds, and these hold."""
    waiting, seen = [program], {program}
    for each in waiting:
        applied = [node for node in each.nodes if not isinstance(node.op, Leaf)]
        held = dict.fromkeys(of.program for node in applied for of in node.op.held(node.params))
        waiting += [inner for inner in held if inner not in seen]
        seen.update(held)
    return waiting


def _made_anew(program: Program) -> list[str]:
    """Say what keeps all that is made of a program from being kept for the next start of a script."""
    why = not_packed(program, known_ops())
    return [f"each start of a script derives and plans it anew, since what is kept cannot say {why}"] if why else []


def _load() -> float:
    """Return how many programs want each processor, in the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0


def _runner(plan: Executable, values: list[Any], args: tuple[Any, ...], further: list[Any]) -> Callable[[], Any]:
    """Return what a call of the jitted function comes to."""
    entry = plan.entry(further)
    if entry is None or entry(*args) is NotImplemented:
        return lambda: plan.run(values)
    return lambda: entry(*args)


def _dtype(program: Program) -> str:
    floats = [node.type.dtype.name for node in program.nodes if isinstance(node.type, ArrayType) and node.type.is_float]
    return max(set(floats), key=floats.count) if floats else "float64"


def _measure(run: Callable[[], Any]) -> float:
    run()  # which may import what it needs
    best, begin, times = float("inf"), time.perf_counter(), 1
    while time.perf_counter() - begin < MEASURED_SECONDS:
        start = time.perf_counter()
        for _ in range(times):
            run()
        spent = time.perf_counter() - start
        best = min(best, spent / times)
        if spent < SHORTEST_MEASURED:
            times *= 2
    return best
