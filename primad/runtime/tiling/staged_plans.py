"""Plans made of other plans: one after the other, or with some arguments given twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.ir.node import INPUT, Node, leaf_value
from primad.ir.program import Program
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import Donated, Executable
from primad.runtime.plan.blocking import beside_tiles
from primad.runtime.plan.donation import settle


class StagedPlan(Executable):
    """A program split where complete sums over a dimension are used along it again.

    Args:
        program: what it computes.
        first: values that the first part computes for the second.
        parts: the plans of its two parts.
    """

    def __init__(self, program: Program, first: Sequence[Node], parts: tuple[Any, Any]) -> None:
        self.program = program
        self.parts = parts
        self.is_tiled = any(part.is_tiled for part in parts)
        self._within = beside_tiles(program)
        self._kept_bytes = sum(node.type.nbytes for node in first)

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most; the first part's buffers may stay for the next."""
        first, second = self.parts
        return int(first.peak_bytes + self._kept_bytes + second.peak_bytes)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, *self.parts

    @property
    def flops(self) -> int:
        """Flops of both parts together."""
        return sum(part.flops for part in self.parts)

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return (
            "two stages, one after the other: what needs complete values or sums over the axis is used along it again"
        )

    @property
    def details(self) -> list[str]:
        """What its stages are."""
        return [
            line
            for name, part in zip(("first", "then"), self.parts, strict=True)
            for line in (f"{name}: {part.summary}", *[f"  {line}" for line in part.details])
        ]

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        first, second = [part.predicted(machine) for part in self.parts]
        together: Prediction = first + second
        return together

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the first part's values, then the rest."""
        first, second = self.parts
        found: list[Any] = self._within(lambda: second.run([*arguments, *first.run(arguments)]))
        return found


class ApartPlan(Executable):
    """A program that is run as one whose index does not meet itself (`primad.transforms.axis_split`).

    Args:
        program: what it computes.
        plan: how the other program runs.
        copied: what that takes after the inputs: some of them again, or constants.
        donated: outputs that take the memory of inputs.
    """

    def __init__(self, program: Program, plan: Any, copied: Sequence[Node], donated: Donated) -> None:
        self.program = program
        self.parts = (plan,)
        self.is_tiled = plan.is_tiled
        self._copied = [program.inputs.index(node) if node.op is INPUT else leaf_value(node) for node in copied]
        self._donated = donated

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most."""
        return int(self.parts[0].peak_bytes)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, *self.parts

    @property
    def flops(self) -> int:
        """Flops of the program that runs."""
        return int(self.parts[0].flops)

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return f"an axis that meets itself is two: {self.parts[0].summary}"

    @property
    def details(self) -> list[str]:
        """What it consists of."""
        return list(self.parts[0].details)

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        predicted: Prediction = self.parts[0].predicted(machine)
        return predicted

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        again = [arguments[x] if isinstance(x, int) else x for x in self._copied]
        return settle(self.parts[0].run([*arguments, *again]), arguments, self._donated)
