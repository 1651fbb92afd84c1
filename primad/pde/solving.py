"""The search for parameters: steps of an optimiser, and what goes on around them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import optimize, tree
from primad.errors import NotFiniteError
from primad.optimize.vectors import Space
from primad.pde.settings import Settings
from primad.pde.solution import History, Solution

if TYPE_CHECKING:
    from primad.pde.problem import Problem

Tree = Any
RESIDUAL_RULES = (optimize.LevenbergMarquardt, optimize.GaussNewtonCG)
WORDS = {
    "target": "the loss is as low as asked for",
    "stalled": "no lower loss was found: a minimum, up to rounding",
    "steps": "all steps were made",
    "seconds": "the time is over",
    "patience": "the loss did not go down any more",
    "callback": "the callback asked for it",
    "interrupted": "interrupted",
    "diverged": "a value is not finite",
}


def default_optimizer(parameters: int) -> Any:
    """Return the optimiser for a number of parameters."""
    if parameters <= 2500:
        return optimize.LevenbergMarquardt()
    return optimize.SelfScaledBroyden() if parameters <= 6000 else optimize.GaussNewtonCG()


def solve(problem: Problem, settings: Settings) -> Solution:
    """Search, until a reason to stop comes up."""
    return Run(problem, settings).go()


class Run:
    """A search: what it is at, and how it goes on."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.params = problem.init(settings.seed) if settings.params is None else settings.params
        self.size = Space.of(self.params).size
        self.rule = settings.optimizer or default_optimizer(self.size)
        self.state = self.rule.init(self.params)
        self.history = History(tuple([label for labels in problem.labels.values() for label in labels]))
        self.function = self.rule.compile(problem.residuals if isinstance(self.rule, RESIDUAL_RULES) else self._loss)
        self.points = self._drawn(0)

    def _loss(self, params: Tree, points: Any) -> Any:
        return 0.5 * sum(np.sum(leaf**2) for leaf in tree.leaves(self.problem.residuals(params, points)))

    def _drawn(self, number: int) -> Any:
        s = self.settings
        weights = s.weights if not isinstance(s.weights, str) else None
        return self.problem.points(s.points, s.boundary_points, (s.seed, number), weights)

    def solution(self, reason: str = "", message: str = "") -> Solution:
        """Return what there is."""
        return Solution(self.problem, self.params, self.state, self.history, reason, message or WORDS.get(reason, ""))

    def go(self) -> Solution:
        """Make steps until a reason to stop comes up."""
        began = time.perf_counter() - (self.history.seconds[-1] if self.history.seconds else 0.0)
        reason, message = "", ""
        try:
            while not reason:
                reason = self._step(began)
        except KeyboardInterrupt:
            reason = "interrupted"
        except NotFiniteError as error:
            if not len(self.history):
                raise
            reason, message = "diverged", error.what
        return self.solution(reason, message)

    def _step(self, began: float) -> str:
        """Make a step; return why it was the last, or ""."""
        s, done = self.settings, len(self.history)
        if s.resample and done and done % s.resample == 0:
            self.points = self._drawn(done // s.resample)
        self.params, self.state = self.rule.update(self.params, self.state, self.function, self.points)
        self._tell(time.perf_counter() - began)
        if s.callback is not None and s.callback(self.solution()):
            return "callback"
        value = self.history.values[-1]
        if value <= s.target:
            return "target"
        if self.state.stalled and not s.resample:
            return "stalled"
        if len(self.history) >= s.steps:
            return "steps"
        if s.seconds is not None and self.history.seconds[-1] >= s.seconds:
            return "seconds"
        best = int(np.argmin(self.history.values))
        return "patience" if s.patience is not None and done - best >= s.patience else ""

    def _tell(self, seconds: float) -> None:
        values = self.problem.evaluated(self.params, self.points)
        means = [np.mean(values[name] ** 2, axis=0) for name in self.problem.labels]
        self.history.losses.append([float(mean) for mean in np.concatenate(means)])
        self.history.values.append(float(self.state.value))
        self.history.seconds.append(seconds)
        for name, value in self.params["coefficients"].items():
            self.history.coefficients.setdefault(name, []).append(np.array(value)[()])
