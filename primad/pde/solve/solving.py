"""The search for parameters: steps of an optimiser, and what goes on around them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import optimize
from primad.errors import NotFiniteError, ProblemError, warn
from primad.optimize.nan_origin import first_not_finite
from primad.optimize.parameter_vectors import Space
from primad.pde.families.family import single
from primad.pde.geometry.sampling import Array
from primad.pde.problem.residual_checks import check_elsewhere
from primad.pde.problem.settings import Settings
from primad.pde.problem.weighting import Balance, causal_weights, refined, scaled
from primad.pde.report.summary import summary
from primad.pde.solve.history import History
from primad.pde.solve.misfit import coarse, imbalance, unseen
from primad.pde.solve.progress import Bar, Log
from primad.pde.solve.run_checkpoints import Checkpoint, identity, identity_of_points, restored
from primad.pde.solve.solution import Solution
from primad.recording import tree
from primad.recording.tracing import trace

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Tree = Any
FLAT = 0.01
"""By which share of it the loss may go down on a plateau."""
BALANCED_EVERY = 10
"""Steps between two changes of weights that balance gradients."""
UNSEEN = 12345
"""Seed of points that no search has drawn."""
WORDS = {
    "target": "the loss is as low as asked for",
    "stalled": "no lower loss was found: a minimum, up to rounding",
    "steps": "all steps were made",
    "seconds": "the time is over",
    "patience": "the loss did not go down any more",
    "plateau": "the data are fitted to their noise, and the loss hardly goes down any more",
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


@dataclass(frozen=True)
class Moment:
    """Where a search is: all that its further steps depend on.

    Attributes:
        params: the parameters.
        state: of the optimiser.
        points: of all terms, with their scales.
        weights: of the terms.
        done: how many steps were made.
    """

    params: Tree
    state: Any
    points: Any
    weights: dict[str, float]
    done: int


class Run:
    """A search: what it is at, and how it goes on.

    Args:
        problem: the problem.
        settings: how to solve it.

    Raises:
        ProblemError: if the parameters to begin with are of another problem, or a checkpoint is, or a plateau is
            asked for where no data have a noise.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        if settings.plateau is not None and not any(term.noise for term in problem.terms.values()):
            raise ProblemError(
                "solve: a plateau is for data whose noise is known, and there are none",
                fix="pass Data(noise=…), or stop with patience or target.",
            )
        if settings.chunks is not None and problem.family:
            raise ProblemError(
                "solve: processes share the points of one problem, and this is a family",
                fix="leave chunks out, and run it in one process.",
            )
        params = problem.init(settings.seed)
        if settings.params is not None:
            given = tree.flatten_as(tree.flatten(params)[1], settings.params, "solve: params")
            params = tree.unflatten(tree.flatten(params)[1], given)
        self.size = Space.of(params).size
        self.rule = settings.optimizer or default_optimizer(self.size)
        self.by = problem.computed_by(settings.chunks)
        self.function = problem.compiled(self.rule, settings.chunks)
        self.history = History(tuple([label for labels in problem.labels.values() for label in labels]))
        self.balance = Balance(problem, self.by) if settings.weights == "gradient" else None
        weights = self._first_weights()
        self.now = Moment(params, self.rule.init(params), self._drawn(params, 0, weights), weights, 0)
        self.checkpoint: Checkpoint | None = None
        self.unsaved = ""
        if settings.checkpoint is not None:
            self._restore(settings.checkpoint)

    def _first_weights(self) -> dict[str, float]:
        found, given = self.problem.weights, self.settings.weights
        if isinstance(given, str) or given is None:
            return found
        for name, weight in given.items():
            if name not in found:
                raise ProblemError(f"solve: there is no term {name!r}", fix=f"there are {', '.join(map(repr, found))}.")
            if not weight > 0:
                raise ProblemError(
                    f"solve: the weight of {name!r} must be positive, got {weight}",
                    fix="leave the term out of weights=, or pass a number greater than 0.",
                )
            found[name] = float(weight)
        return found

    def _drawn(self, params: Tree, number: int, weights: dict[str, float]) -> Any:
        s = self.settings
        found = self.problem.points(s.points, s.boundary_points, (s.seed, number), weights)
        if number and s.refine:
            found = refined(self.problem, params, found, s.refine, (s.seed, number), self.by.values)
        return self._weighted(params, found, weights) if s.causal else self.by.agreed(found)

    def _weighted(self, params: Tree, points: Any, weights: dict[str, float]) -> Any:
        """Return points with scales that fit the weights, and how far earlier times are solved."""
        each: dict[str, Array] = {}
        if self.settings.causal:
            values = self.by.values(params, points)
            each = {
                name: causal_weights(self.problem, name, row, values[name], self.settings.causal)
                for name, row in points.items()
            }
        return self.by.agreed(scaled(points, weights, each))

    # -- one step ------------------------------------------------------------------------------------------------------

    def _next(self, now: Moment) -> Moment:
        """Return where a step leads."""
        s, params, points, weights = self.settings, now.params, now.points, now.weights
        if s.resample and now.done and now.done % s.resample == 0:
            points = self._drawn(params, now.done // s.resample, weights)
        if self.balance is not None and now.done % BALANCED_EVERY == 0:
            weights = self.balance.balanced(params, points, weights)
        if s.causal or weights is not now.weights:
            points = self._weighted(params, points, weights)
        params, state = self.rule.update(params, now.state, self.function, self.by.given(points))
        return Moment(params, state, points, weights, now.done + 1)

    def _tell(self, now: Moment, seconds: float) -> None:
        """Write down what a step led to."""
        means = self.by.means(now.params, now.points)
        every = np.concatenate([means[name] for name in self.problem.labels])
        self.history.cut(now.done - 1)
        self.history.add([float(m) for m in every], float(now.state.value), seconds, now.params)

    def _ending(self) -> str:
        """Return why the last step was the last, or ""."""
        s, history, now = self.settings, self.history, self.now
        if s.callback is not None and s.callback(self.solution()):
            return "callback"
        if history.values[-1] <= s.target:
            return "target"
        if now.state.stalled and not (s.resample or s.causal or self.balance):
            return "stalled"
        if now.done >= s.steps:
            return "steps"
        if s.seconds is not None and history.seconds[-1] >= s.seconds:
            return "seconds"
        waited = now.done - 1 - int(np.argmin(history.values))
        if s.patience is not None and waited >= s.patience:
            return "patience"
        return "plateau" if s.plateau is not None and self._rests(s.plateau) else ""

    def _rests(self, steps: int) -> bool:
        """Say whether noisy data are as close as expected, and some steps have lowered the loss by less than FLAT.

        The mean square of N errors in units of their deviation is 1, with a deviation of √(2/N): two of these are let
        pass. To stop there at once is the discrepancy principle of V. Morozov (1966); what a flat loss adds is that
        coefficients, which may go on where the data hardly tell, arrive as well.
        """
        history, problem = self.history, self.problem
        for name, term in problem.terms.items():
            if term.noise:
                most = 1.0 + 2.0 * math.sqrt(2.0 / len(self.now.points[name]["at"]))
                if any(history.of(label)[-1] > most for label in problem.labels[name]):
                    return False
        values = history.values
        return len(values) > steps and values[-1 - steps] - values[-1] < FLAT * values[-1]

    # -- all steps -----------------------------------------------------------------------------------------------------

    def solution(self, reason: str = "", message: str = "") -> Solution:
        """Return what there is."""
        self.history.cut(self.now.done)
        s = replace(self.settings, optimizer=self.rule)
        words = message or WORDS.get(reason, "")
        if self.unsaved:
            words += f"; the last checkpoint could not be written ({self.unsaved})"
        return Solution(self.problem, self.now.params, self.now.state, self.now.points, self.history, reason, words, s)

    def go(self) -> Solution:
        """Make steps until a reason to stop comes up."""
        s, before = self.settings, self.history.seconds[-1] if self.history.seconds else 0.0
        bar = Bar(s, self.now.done) if s.progress and self.by.leads else None
        log = None if s.log is None or not self.by.leads else Log(s.log)
        if log is not None:
            log.begin(self.about(), self.now.done)
        if bar is not None:
            summary(self.problem, s, self.rule).show()
            bar.start()
        try:
            reason, message = self._steps(before, lambda: _told(bar, log, self.history, before))
        finally:
            if bar is not None:
                bar.stop()
            self._save()  # also where a callback fails
        found = self.solution(reason, message)
        if log is not None:
            log.end(found.reason, found.message)
        ended = found.reason not in ("interrupted", "diverged", "callback")
        asked = found.has_data and ended and s.weights is None and self.by.leads  # who states weights has chosen them
        if asked and (unbalanced := imbalance(self.problem, found.params, found.points, self.now.weights)):
            warn(unbalanced)
        if ended and (missed := self._missed()):
            warn(missed)
        if ended and self.by.leads:
            self._check_elsewhere(found.params)
        return found

    def _check_elsewhere(self, params: Tree) -> None:
        """Warn of integrals with too few nodes, and of coefficients with which unknowns are asked outside."""
        if summed := coarse(self.problem, params, self.now.points):
            warn(summed)
        try:
            check_elsewhere(self.problem, params)
        except ProblemError as error:
            learned = ", ".join(f"{name} = {np.asarray(value)}" for name, value in params["coefficients"].items())
            warn(f"with {learned}, {error.what}: the network returns anything there. Begin with another value.")

    def _missed(self) -> str:
        """Return in words what holds at the points of the search only; all processes compute it."""
        s, now = self.settings, self.now
        fresh = self.problem.points(s.most_points, s.drawn_on_boundary, (s.seed, now.done, UNSEEN), now.weights)
        means, new = (self.by.means(now.params, points) for points in (now.points, fresh))
        return unseen(self.problem, now.params, now.points, fresh, means, new) if self.by.leads else ""

    def _steps(self, before: float, told: Callable[[], None]) -> tuple[str, str]:
        """Make steps; return why the last one was it, and that in words where there is more to say."""
        began = saved = time.perf_counter()
        reason = "steps" if self.now.done >= self.settings.steps else ""
        last = self.now
        try:
            while not reason:
                found = self._next(self.now)
                self._tell(found, before + time.perf_counter() - began)
                last, self.now = self.now, found
                told()
                reason = self.by.led(self._ending)
                if time.perf_counter() - saved >= self.settings.checkpoint_every:
                    self._save()
                    saved = time.perf_counter()
        except KeyboardInterrupt:
            if not self.by.alone:  # other processes wait for this one: all end
                raise
            return "interrupted", ""
        except NotFiniteError as error:
            message = self._blame(error)
            if not self.now.done:
                raise NotFiniteError(
                    f"solve: {message}",
                    why="This is so for the parameters to begin with: there is nothing good to return.",
                    fix="mend the equation or the data there, or begin with other parameters (seed=…).",
                ) from None
            if isinstance(self.rule, optimize.Descent):  # such a step does not look where it goes
                self.now = last
            return "diverged", message
        return reason, ""

    def _blame(self, error: NotFiniteError) -> str:
        """Return which term went wrong first, and in which op."""
        now = self.now
        for name, row in now.points.items():
            values = self.problem.evaluated(now.params, {name: row})[name]
            if not np.all(np.isfinite(values)):
                place = int(np.argwhere(~np.isfinite(values))[0][0])
                one = single(row, place) if len(values) > 1 else dict(row)
                at = ", ".join(f"{c} = {v:.4g}" for c, v in zip(self.problem.domain.names, one["at"][0], strict=True))
                op = first_not_finite(lambda p, r, name=name: self.problem.values(p, {name: r}), now.params, one)
                return f"{name!r} is {values[place].tolist()} at {at}" + (f": {op}" if op else "")
        op = first_not_finite(self.problem.loss, now.params, now.points)
        return error.what + (f": {op}" if op else "")

    # -- files ---------------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return what the path of the search depends on, in words."""
        s, problem = self.settings, self.problem
        some = problem.points(3, 3)  # with all data, and what is given at the boundary
        return {
            "format": 2,
            "problem": identity(trace(problem.residuals)(self.now.params, some), (some, s.params or ())),
            "domain": repr(problem.domain),
            "unknowns": list(problem.unknowns),
            "terms": list(problem.terms),
            "coefficients": list(problem.coefficients),
            "parameters": self.size,
            "optimizer": re.sub(r" at 0x[0-9a-f]+", "", repr(self.rule)),  # functions lie elsewhere in another process
            "points": identity_of_points(s.points),
            "boundary_points": None if s.boundary_points is None else identity_of_points(s.boundary_points),
            "seed": s.seed,
            "resample": s.resample,
            "refine": s.refine,
            "weights": s.weights if isinstance(s.weights, str) or s.weights is None else dict(s.weights),
            "causal": s.causal,
            "chunks": s.chunks,
        }

    def _save(self) -> None:
        """Write a checkpoint; if it cannot be written, say so and go on: the one before is as it was."""
        if self.checkpoint is None or not self.now.done:
            return
        self.history.cut(self.now.done)
        now = self.now
        values = {
            "params": now.params,
            "state": now.state,
            "points": [dict(row) for row in now.points.values()],
            "weights": np.array([*now.weights.values()]),
            "done": np.int64(now.done),
            "history": self.history.arrays(),
        }
        try:
            self.checkpoint.save(values)
            self.unsaved = ""
        except OSError as error:
            self.unsaved = str(error)
            warn(f"a checkpoint could not be written; the run goes on, and keeps the old one: {error}")

    def _restore(self, folder: str | Path) -> None:
        """Go on from where a checkpoint was written: the process that leads has the folder, and reads it."""

        def known() -> dict[str, Array] | None:
            self.checkpoint = Checkpoint(folder, self.about())
            return self.checkpoint.load()

        arrays = self.by.led(known)
        if arrays is None:
            return
        now = self.now
        rows = restored(arrays, "points", [dict(row) for row in now.points.values()], sizes=False)
        weights = restored(arrays, "weights", np.array([*now.weights.values()]))
        self.now = Moment(
            restored(arrays, "params", now.params),
            restored(arrays, "state", now.state),
            dict(zip(now.points, rows, strict=True)),
            dict(zip(now.weights, weights.tolist(), strict=True)),
            int(restored(arrays, "done", np.int64(0))),
        )
        self.history.fill({key.removeprefix("history/"): a for key, a in arrays.items() if key.startswith("history/")})


def _told(bar: Bar | None, log: Log | None, history: History, before: float) -> None:
    if bar is not None:
        bar.show(history, before)
    if log is not None:
        log.step(history)
