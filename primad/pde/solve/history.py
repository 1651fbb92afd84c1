"""What happened in a run, step by step."""

from __future__ import annotations

import csv
import os
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

    def table(self) -> dict[str, Array]:
        """Return all of it as columns, a row for each step: what `pandas.DataFrame` takes.

        Returns:
            `step`, `seconds`, `loss`, the mean square of each residual by its name, and each coefficient by its own, of
            an array each element, `k[0]` say. What is called as a column before it gets a name that says what it is:
            an equation "loss" is the column `residual loss`, a coefficient of that name `coefficient loss`.

        Example:
            >>> from primad import pde
            >>> p = pde.Problem(lambda u: u.xx + 2, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(4, 1))
            >>> table = p.solve(steps=3, points=20, progress=False).history.table()
            >>> list(table), table["loss"].shape
            (['step', 'seconds', 'loss', 'equation'], (3,))
        """
        count = len(self)
        losses = np.reshape(np.array(self.losses, float), (count, len(self.names)))
        columns = {"step": np.arange(1, count + 1), "seconds": np.array(self.seconds), "loss": np.array(self.values)}
        for name, column in zip(self.names, losses.T, strict=True):
            columns[_unused(columns, name, "residual")] = column
        for name, trace in self.coefficients.items():
            values = np.array(trace)
            for place in np.ndindex(values.shape[1:]):
                label = f"{name}[{', '.join(map(str, place))}]" if place else name
                columns[_unused(columns, label, "coefficient")] = values[(slice(None), *place)]
        return columns

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file of comma-separated values, numbers with all their digits.

        Args:
            path: the file; one that is there is written over.

        Raises:
            OSError: if the file cannot be written, as where its folder is not there.
        """
        columns = self.table()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*[column.tolist() for column in columns.values()], strict=True))

    def of(self, name: str) -> Array:
        """Return the mean squares of one residual."""
        if name not in self.names:
            raise ProblemError(f"no residual is called {name!r}", fix=suggestion(name, self.names))
        return np.array(self.losses)[:, self.names.index(name)]


def _unused(columns: Mapping[str, Array], name: str, kind: str) -> str:
    """Return a name, with as many words for its kind before it as no column has yet: none would replace another."""
    while name in columns:
        name = f"{kind} {name}"
    return name
