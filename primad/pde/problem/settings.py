"""How a problem is solved: what `Problem.solve` takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from primad.errors import ProblemError, TracingError, suggestion
from primad.pde.deepxde_names import SETTINGS
from primad.pde.geometry.sampling import most_points

__all__ = ["Settings"]

METHODS = ("network", "elements", "volumes", "differences", "spectral")
"""What `solve` takes for `method`."""
ACRONYMS = {"PINN": "network", "FEM": "elements", "FVM": "volumes", "FDM": "differences"}
"""What others call them."""
Optimizer = Any
"""Of `primad.optimize`."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `Problem.solve` takes.

    Attributes:
        optimizer: an optimiser of `primad.optimize`; by default Levenberg-Marquardt for up to 2500 parameters,
            self-scaled Broyden for up to 6000, and Gauss-Newton by conjugate gradients for more.
        steps: how many steps at most.
        seconds: how long at most; None for no limit.
        target: the loss, half the weighted sum of mean squares, at which to stop.
        points: how many points for each equation; or the points themselves, one a row, or a dict of either by the names
            of equations. Those that are given stay when others are drawn anew.
        boundary_points: how many for each condition that is fitted, by default a fifth of those, at least 20; or the
            points themselves, one a row, of which each condition takes those on its parts of the boundary; or a dict of
            either by the names of conditions. Those that are given stay.
        seed: decides the parameters to begin with, and the points.
        params: parameters to begin with; by default drawn.
        resample: after how many steps points are drawn anew; 0 for never.
        refine: which share of the points for equations is taken, when they are drawn anew, where residuals are large.
        weights: of terms by name; "gradient" to balance the gradients of the terms.
        causal: how much later times wait for earlier ones (ε of Wang, Sankaran & Perdikaris 2024); 0 for not at all.
        progress: whether to show a summary and a bar.
        callback: a function of the run so far (`primad.pde.Solution`) after each step; what is true ends it.
        patience: after how many steps without a loss lower than all before to stop; None for never.
        plateau: of data with a noise: after how many steps that lower the loss by less than a hundredth, all together,
            to stop, once the data are as close as their noise lets expect; None for never.
        checkpoint: a folder that keeps the state; where it holds one of the same problem and settings, the run goes on
            from it, and follows the path that it would have followed.
        checkpoint_every: seconds between two checkpoints.
        log: a file that gets a line of JSON for each step.
        chunks: where the processes of a job share the points (`mpiexec -n 4 python script.py`): into how many chunks,
            at least as many as there are processes; None where this process computes at all points. The last bits
            depend on it, and not on the number of processes. Process 0 shows the progress, asks the callback, decides
            when to stop, and writes and reads files; the extra `primad[mpi]` is needed.
    """

    optimizer: Optimizer = None
    steps: int = 200
    seconds: float | None = None
    target: float = 0.0
    points: Any = 1000
    boundary_points: Any = None
    seed: int = 0
    params: Any = None
    resample: int = 0
    refine: float = 0.0
    weights: Mapping[str, float] | Literal["gradient"] | None = None
    causal: float = 0.0
    progress: bool = True
    callback: Callable[[Any], Any] | None = None
    patience: int | None = None
    plateau: int | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: float = 30.0
    log: str | Path | None = None
    chunks: int | None = None

    def __post_init__(self) -> None:
        self._at_least("steps", 1)
        self._check_points("points", self.points)
        if self.boundary_points is not None:
            self._check_points("boundary_points", self.boundary_points)
        for name in ("patience", "plateau", "chunks"):
            if getattr(self, name) is not None:
                self._at_least(name, 1)
        self._at_least("resample", 0)
        if self.seconds is not None and not self.seconds > 0:
            raise ProblemError(
                f"solve: seconds must be more than 0, got {self.seconds}: there would be no step",
                fix="leave it out for no limit.",
            )
        for name in ("target", "causal", "checkpoint_every"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ProblemError(
                    f"solve: {name} must not be negative, got {value}",
                    fix="leave it out, or pass 0 or more.",
                )
        if not 0 <= self.refine < 1:
            raise ProblemError(
                f"solve: refine is a share of the points, at least 0 and less than 1, got {self.refine}",
                fix="pass refine=0.5.",
            )
        if self.refine and not self.resample:
            raise ProblemError(
                "solve: points are refined when they are drawn anew, which they never are", fix="pass resample=20, say."
            )
        if isinstance(self.optimizer, type):
            name = self.optimizer.__name__
            raise TracingError(f"solve: {name} is a class", fix=f"pass an optimiser: {name}().")
        if self.optimizer is not None and not hasattr(self.optimizer, "compile"):
            got = repr(self.optimizer) if isinstance(self.optimizer, str) else type(self.optimizer).__name__
            raise TracingError(
                f"solve: {got} is no optimiser of primad.optimize",
                fix="pass optimize.LBFGS(), or a rule of primad.nn in optimize.Descent(nn.Adam(1e-3)).",
            )
        if not (self.weights is None or self.weights == "gradient" or isinstance(self.weights, Mapping)):
            raise ProblemError(
                f"solve: weights are given by the names of terms, got {self.weights!r}",
                fix='write weights={"data": 10.0}, or weights="gradient"; `problem.weights` has the names.',
            )

    @property
    def most_points(self) -> int:
        """How many points an equation has at most."""
        return most_points(self.points)

    def points_for(self, equation: str) -> int:
        """Return how many points an equation has."""
        return most_points(self.points.get(equation, self.points) if isinstance(self.points, Mapping) else self.points)

    @property
    def drawn_on_boundary(self) -> int | None:
        """How many points conditions have where none are given; None for the default."""
        return int(self.boundary_points) if isinstance(self.boundary_points, (int, np.integer)) else None

    def _check_points(self, name: str, given: Any) -> None:
        each = list(given.values()) if isinstance(given, Mapping) else [given]
        for one in each:
            rows = isinstance(one, (np.ndarray, list, tuple))
            if len(one) < 1 if rows else isinstance(one, bool) or not isinstance(one, (int, np.integer)) or one < 1:
                where = "in the domain" if name == "points" else "on the boundary"
                raise ProblemError(
                    f"solve: {name} must be an integer of at least 1, or points in rows, got {one!r}",
                    fix=f"pass how many, which are drawn {where}, or an array with a row for each.",
                )
        if not each:
            whose = "equations" if name == "points" else "conditions"
            raise ProblemError("solve: there are no points", fix=f"pass how many, or points by the names of {whose}.")

    def _at_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            array = isinstance(value, (np.ndarray, list, tuple))
            got = f"{type(value).__name__} of shape {np.shape(value)}" if array else repr(value)
            raise ProblemError(f"solve: {name} must be an integer of at least {least}, got {got}", fix="pass how many.")


def unnamed_setting(value: Any) -> ProblemError:
    """Return the error for a setting without a name, with the name that it is likely to have."""
    if isinstance(value, int):
        fix = f"write solve(steps={value!r})."
    elif isinstance(value, Mapping):
        fix = "write solve(**settings)."
    else:
        fix = (
            "write solve(steps=200); an optimiser is solve(optimizer=optimize.LBFGS()), or a rule of primad.nn in "
            "optimize.Descent(nn.Adam(1e-3))."
        )
    return ProblemError("solve: settings have names", fix=fix)


def unknown_method(method: Any) -> ProblemError:
    """Return the error for a method that `solve` has none of: it may be a slip, or meant for an optimiser."""
    name = str(method)
    meant = ACRONYMS.get(name.upper())
    near = f'write method="{meant}".' if meant else suggestion(name.lower(), METHODS)
    return ProblemError(
        f"solve: there is no method {method!r}",
        why=f"There are {', '.join(METHODS)}.",
        fix=near or f"write {SETTINGS['method']} for another optimiser.",
    )


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Return settings by name.

    Raises:
        ProblemError: for a name that there is none of.
    """
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            raise ProblemError(
                f"solve has no setting {name!r}",
                fix=f"write {SETTINGS[name]}."
                if name in SETTINGS
                else suggestion(name, known) or f"there are {', '.join(known)}.",
            )
    return Settings(**given)
