"""What happened in a run, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.sampling import Array

__all__ = ["History"]

Tree = Any


@dataclass
class History:
    """What happened, step by step.

    Attributes:
        names: of the terms' residuals.
        losses: mean square of each, a list for each step.
        values: the loss that was minimised.
        seconds: since the run began, with the time before it was resumed.
        coefficients: the learned coefficients, by name.
    """

    names: tuple[str, ...]
    losses: list[list[float]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    coefficients: dict[str, list[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, losses: list[float], value: float, seconds: float, params: Tree) -> None:
        """Write down a step."""
        self.losses.append(losses)
        self.seconds.append(seconds)
        for name, coefficient in params["coefficients"].items():
            self.coefficients.setdefault(name, []).append(np.array(coefficient)[()])
        self.values.append(value)

    def cut(self, steps: int) -> None:
        """Forget what came after some steps: an interrupt may have come while it was written down."""
        traces: list[list[Any]] = [self.losses, self.values, self.seconds, *self.coefficients.values()]
        for trace in traces:
            del trace[steps:]

    def arrays(self) -> dict[str, Any]:
        """Return all of it as arrays."""
        traces = {name: np.array(trace) for name, trace in self.coefficients.items()}
        columns = {"losses": np.array(self.losses), "values": np.array(self.values), "seconds": np.array(self.seconds)}
        return {**columns, "coefficients": traces}

    def fill(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `arrays` returned, by the paths in it."""
        self.losses, self.values = arrays["losses"].tolist(), arrays["values"].tolist()
        self.seconds = arrays["seconds"].tolist()
        prefix = "coefficients/"
        self.coefficients = {
            key.removeprefix(prefix): [row[()] for row in trace]
            for key, trace in arrays.items()
            if key.startswith(prefix)
        }

    def of(self, name: str) -> Array:
        """Return the mean squares of one residual."""
        if name not in self.names:
            raise ProblemError(f"no residual is called {name!r}", fix=suggestion(name, self.names))
        return np.array(self.losses)[:, self.names.index(name)]
