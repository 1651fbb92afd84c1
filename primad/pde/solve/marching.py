"""Marching in time: a problem in window after window, each of which begins where the last one ended."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence, Set
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.nn.saving import load, told
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import Time, clock, time_of
from primad.pde.geometry.sampling import as_rows
from primad.pde.problem.enough_conditions import check_handed_on, check_windows
from primad.pde.problem.pde_problem import Problem
from primad.pde.report.spectral_interpolation import Basis, ChebyshevBasis, TrigonometricBasis, near, through
from primad.pde.solve.history import History
from primad.pde.solve.solution import Solution
from primad.pde.solve.solution_files import check_described, save_parameters
from primad.recording.foreign import plain
from primad.system.tracebacks import entrance

__all__ = ["Marched", "march"]

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
MOST = {1: 64, 2: 33, 3: 17}
"""Points of a polynomial in one coordinate, by how many coordinates there are."""
MOST_WAVES = {1: 2**16, 2: 64, 3: 24}
"""Points of a period in one coordinate, likewise."""
FITTED = {1: 40, 2: 22, 3: 9}
"""Polynomials in one coordinate, likewise, where a domain is no box and values are fitted."""
ACCURACY = 1e-14
"""Size of what is left out of a function through values, relative to the largest part."""
ROUNDING = 1e-9
"""How far a time may be off the first and the last one, relative to the time between."""
ENDING = ("interrupted", "diverged")
"""Reasons of a window's end after which there is no next one."""


class Marched(Solution):
    """The solutions of all windows of a march as one, which is used as any other solution.

    Attributes:
        solutions: one for each window.
        times: where windows begin and end.
        params: the parameters of all windows.
        history: of all windows, one after the other.
    """

    def __init__(self, whole: Callable[[], Problem], solutions: Sequence[Solution], times: Array, nodes: int) -> None:
        self.solutions, self.times, self.nodes, self._whole = list(solutions), times, nodes, whole
        last, count = self.solutions[-1], len(self.solutions)
        self.params, self.state, self.points = [one.params for one in self.solutions], None, None
        self.history, self.reason, self.settings = _joined(self.solutions), last.reason, last.settings
        self.message = f"{last.message}, in the last of {count} windows" if count > 1 else last.message

    @cached_property
    def problem(self) -> Problem:  # type: ignore[override]
        """The problem from the first time to the last one that was reached, made when it is asked for.

        Raises:
            ProblemError: if the function that `march` took cannot make it.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # which the first window has told
                return self._whole()
        except Exception as error:
            raise ProblemError(
                f"the problem of all windows of the march cannot be made: {type(error).__name__}: {error}",
                why="Pictures, errors and reports want it, from the first time to the last one.",
                fix="let the function that makes the problem of a window make one of all times; or take a window: "
                "march.solutions[0].",
            ) from error

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return self.solutions[0].unknowns

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in order."""
        return self.solutions[0].coordinates

    @property
    def writes(self) -> bool:
        """Whether this process writes files, as the first of those that shared the points does."""
        return self.solutions[0].writes

    @property
    def _time(self) -> str:
        return clock(self.solutions[0].problem.domain).names[0]

    @property
    def coefficients(self) -> dict[str, Any]:
        """The coefficients that were learned, each an array with a row for each window."""
        found = [one.coefficients for one in self.solutions]
        return {name: np.stack([each[name] for each in found]) for name in found[0]}

    def at(self, points: Array, unknown: str, derivative: str = "", *, extrapolate: bool = False) -> Array:
        """Return an unknown, or a derivative of it, at points, one a row: of the earlier window where two meet.

        Args:
            points: an array with a column for each coordinate.
            unknown: its name.
            derivative: along which coordinates, `"xxt"` say; none by default.
            extrapolate: whether points may lie outside of the domain in space.

        Raises:
            ProblemError: if a time is before the first or after the last one, a point is outside of the domain, or
                there is no such unknown.
        """

        def found(solution: Solution, chosen: Array) -> Array:
            return solution.at(chosen, unknown, derivative, extrapolate=extrapolate)

        return self._by_window(points, found)

    def residual_at(self, points: Array, term: str) -> Array:
        """Return the residuals of an equation at points: a row for each point."""
        points = as_rows(points, self.coordinates)
        return self._by_window(points, lambda solution, chosen: solution.residual_at(chosen, term))

    def mean_squares(self) -> list[tuple[str, int, float]]:
        """Return for each residual its points and its mean square, over all windows."""
        found: dict[str, list[tuple[int, float]]] = {}
        for solution in self.solutions:
            for label, count, mean in solution.mean_squares():
                found.setdefault(label, []).append((count, mean))
        counts = {label: sum(count for count, _ in each) for label, each in found.items()}
        sums = {label: sum(count * mean for count, mean in each) for label, each in found.items()}
        return [(label, counts[label], sums[label] / counts[label]) for label in found]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parameters of all windows to a file (safetensors); `Marched.load` reads them.

        Args:
            path: the file.

        Raises:
            OSError: if the file cannot be written.
        """
        if self.writes:
            values = {"windows": self.params, "times": self.times}
            first = self.solutions[0].problem
            save_parameters(path, values, first, windows=str(len(self.solutions)), nodes=str(self.nodes))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        problem: Callable[[Time, dict[str, Function]], Problem],
        start: dict[str, Function],
    ) -> Marched:
        """Return the march that `save` wrote: no window is solved again.

        Args:
            path: the file.
            problem: as `march` took it.
            start: likewise.

        Raises:
            ShapeError: if the file holds something else.
            ProblemError: if it holds no march, or that of another problem.
        """
        known = told(path)
        if "windows" not in known:
            raise ProblemError(f"{os.fspath(path)} holds no march", fix="load it by its problem: problem.load(path).")
        count, nodes = int(known["windows"]), int(known["nodes"])
        times = np.asarray(load(path)["times"], np.float64)
        windows = _Windows(problem, start, times, nodes)
        like = windows.next().init()
        values = load(path, {"windows": [like] * count, "times": times})
        check_described(path, known, windows.now)
        for params in values["windows"]:
            window = windows.now if not windows.found else windows.next()
            windows.reached(
                Solution(window, params, None, window.points(), History(()), "loaded", f"loaded from {path}")
            )
        return windows.marched()

    def _by_window(self, points: Array, found: Callable[[Solution, Array], Array]) -> Array:
        """Return what solutions of windows find at those of the points that are theirs."""
        points = as_rows(points, self.coordinates)
        t = points[:, self.coordinates.index(self._time)]
        slack = ROUNDING * float(np.ptp(self.times))
        outside = np.flatnonzero(~((t >= self.times[0] - slack) & (t <= self.times[-1] + slack)))
        if outside.size:
            first, last = self.times[0], self.times[-1]
            raise ProblemError(
                f"the march is asked at {self._time} = {t[outside[0]]:g}, and it goes from {first:g} to {last:g}",
                why="No window was solved there.",
                fix="march on: give `march` more times.",
            )
        window = np.clip(np.searchsorted(self.times, t, side="left") - 1, 0, len(self.solutions) - 1)
        rows: Array | None = None
        for i in np.unique(window):
            values = found(self.solutions[i], points[window == i])
            rows = np.zeros((len(points), *values.shape[1:]), values.dtype) if rows is None else rows
            rows[window == i] = values
        return np.zeros(0) if rows is None else rows

    @property
    def is_sure(self) -> bool:
        """Whether `confidence` has an answer, which it has not."""
        return False

    def confidence(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Raise: each window has learned coefficients of its own.

        Raises:
            ProblemError: always.
        """
        raise ProblemError(
            "each window of a march has coefficients of its own",
            fix="ask the solution of a window: march.solutions[0].confidence().",
        )

    def __repr__(self) -> str:
        names, first, last = ", ".join(self.unknowns), self.times[0], self.times[-1]
        return f"<march of {names} from {self._time} = {first:g} to {last:g}: {self._ended}>"


def _joined(solutions: Sequence[Solution]) -> History:
    """Return the histories of windows as one: of the residuals that all windows have."""
    first = solutions[0].history
    names = tuple([name for name in first.names if all(name in one.history.names for one in solutions)])
    found = History(names)
    for solution in solutions:
        own, before = solution.history, found.seconds[-1] if found.seconds else 0.0
        places = [own.names.index(name) for name in names]
        found.losses += [[row[place] for place in places] for row in own.losses]
        found.values += own.values
        found.seconds += [before + seconds for seconds in own.seconds]
        for name, trace in own.coefficients.items():
            found.coefficients.setdefault(name, []).extend(trace)
    return found


class _Windows:
    """The windows of a march, one after the other."""

    def __init__(self, problem: Callable[..., Problem], start: dict[str, Function], times: Array, nodes: int) -> None:
        self.problem, self.begin, self.start, self.times, self.nodes = problem, start, start, times, nodes
        self.found: list[Solution] = []

    def next(self) -> Problem:
        """Return the problem of the next window."""
        number = len(self.found)
        called: set[str] = set()
        start = self.start if number else {name: _watched(one, name, called) for name, one in self.start.items()}
        self.now = self.problem(Time(float(self.times[number]), float(self.times[number + 1])), start)
        if self.now.domain.dimension - 1 not in MOST or time_of(self.now.domain) is None:
            raise ProblemError(
                f"march: time and one to three coordinates of space, got {', '.join(self.now.domain.names)}",
                fix="multiply a domain of space with the time of the window: pde.Interval(0, 1) * time.",
            )
        self._check_time()
        check_handed_on(self.now)
        if not number:
            self._check_begun(called)
        return self.now

    def _check_begun(self, called: Set[str]) -> None:
        """Raise if the problem of a window does not begin with what it is given."""
        for name, one in self.start.items():
            if callable(one) and name not in called and name in self.now.unknowns:
                raise ProblemError(
                    f"march: the problem of a window makes no use of start[{name!r}]",
                    why="It is what the last window ended with: all windows would begin alike.",
                    fix="begin with what the function is given: lambda time, start: pde.Problem(…, "
                    f"[pde.Initial({name}=start[{name!r}]), …]), or pde.Initial(**start) for all; or take {name!r} out "
                    "of the start, if no equation has its derivative in time.",
                )

    def _check_time(self) -> None:
        """Raise if the problem of a window is one of another time."""
        time, number = clock(self.now.domain), len(self.found)
        low, high = float(self.times[number]), float(self.times[number + 1])
        if np.max(np.abs((time.low - low, time.high - high))) > ROUNDING * np.ptp(self.times):
            raise ProblemError(
                f"march: the problem of the window from {low:g} to {high:g} goes from {time.low:g} to {time.high:g}",
                why="Each window is solved in its own time, which the function is given.",
                fix="multiply the domain with the time that the function is given: "
                "lambda time, start: pde.Problem(…, pde.Interval(0, 1) * time, [pde.Initial(**start), …]).",
            )

    def reached(self, solution: Solution) -> None:
        """Take the solution of the window; the next one begins where it ends."""
        self.found.append(solution)
        if len(self.found) + 1 < len(self.times) and solution.reason not in ENDING:
            end = float(self.times[len(self.found)])
            self.start = {name: _continued(self.now, solution, name, end, self.nodes) for name in self.now.unknowns}

    def marched(self) -> Marched:
        """Return the windows that were reached as one solution."""
        times = self.times[: len(self.found) + 1]
        time = Time(float(times[0]), float(times[-1]))
        return Marched(lambda: self.problem(time, self.begin), self.found, times, self.nodes)


def _watched(function: Any, name: str, called: set[str]) -> Any:
    """Return a function that notes its name when it is called; a number as it is."""
    if not callable(function):
        return function

    @wraps(function)
    def watched(*args: Any, **named: Any) -> Any:
        called.add(name)
        return function(*args, **named)

    return watched


@entrance
def march(
    problem: Callable[[Time, dict[str, Function]], Problem],
    start: dict[str, Function],
    times: Array,
    *,
    nodes: int = 2048,
    **settings: Any,
) -> Marched:
    """Solve a problem with up to three coordinates of space in window after window of time.

    A window begins with the function through values at the end of the last one: products of sines and cosines where the
    problem is periodic, else of polynomials through Chebyshev's points. In a domain that is no box, polynomials are
    fitted to the values at points of it.

    Args:
        problem: a function that returns the problem in a window: of the time, and of what the unknowns are at its
            start, functions by name.
        start: what they are at the first time.
        times: where windows begin and end, increasing.
        nodes: how many values of each unknown the next window gets along a coordinate, at most; with several
            coordinates, and where the problem is not periodic, fewer are taken.
        **settings: of `Problem.solve`; every window begins with the parameters of the last one, and has a checkpoint in
            a folder of its own.

    Returns:
        the solution in all windows; those that were reached, if Ctrl-C or a value that is not finite ended one.

    Raises:
        ProblemError: if the times do not increase, the problem has no time, another one than the window's, or more
            coordinates, or an unknown is differentiated twice in time: values are handed on, and no velocities.
    """
    times = plain(times, np.float64)
    if times.ndim != 1 or len(times) < 2 or np.any(np.diff(times) <= 0):
        raise ProblemError(
            "march: times are where windows begin and end, increasing", fix="pass np.linspace(0, 1, 11)."
        )
    check_windows(problem, start)
    windows = _Windows(problem, start, times, nodes)
    for number in range(len(times) - 1):
        window = windows.next()
        own: dict[str, Any] = {"params": windows.found[-1].params} if windows.found else {}
        if settings.get("checkpoint") is not None:
            own["checkpoint"] = Path(settings["checkpoint"]) / f"window {number}"
        solution = window.solve(**{**settings, **own})
        windows.reached(solution)
        if solution.reason in ENDING:
            break
    return windows.marched()


def _continued(window: Problem, solution: Solution, name: str, end: float, nodes: int) -> Function:
    """Return what an unknown is at the end of a window, as a function."""
    domain = window.domain
    time = domain.names.index(clock(domain).names[0])
    names = [each for i, each in enumerate(domain.names) if i != time]
    repeats = next(group.inputs.periodic for group in window.groups if name in group.names)
    bounds = {each: pair.tolist() for each, pair in zip(domain.names, domain.bounds, strict=True)}
    bases: list[Basis] = [(TrigonometricBasis if each in repeats else ChebyshevBasis)(*bounds[each]) for each in names]

    def values(at: Array) -> Array:
        return solution.at(np.insert(at, time, end, axis=1), name)

    most = {TrigonometricBasis: MOST_WAVES[len(names)], ChebyshevBasis: MOST[len(names)]}
    grid = np.meshgrid(*[basis.nodes(min(nodes, most[type(basis)])) for basis in bases], indexing="ij")
    at = np.stack([line.ravel() for line in grid], axis=1)
    if np.all(domain.contains(np.insert(at, time, end, axis=1))):
        return through(names, bases, values(at).reshape(grid[0].shape), ACCURACY)
    counts = [FITTED[len(names)]] * len(names)
    at = np.delete(_spread(domain, 6 * int(np.prod(counts))), time, axis=1)
    return near(names, bases, at, values(at), counts, ACCURACY)


def _spread(domain: Domain, count: int) -> Array:
    """Return points in a domain and on its boundary."""
    inside = domain.interior(count).at
    parts = [part for part in domain.parts if part != "initial"]
    edges = [domain.boundary(part, max(20, count // (4 * len(parts)))).at for part in parts]
    return np.concatenate([inside, *edges])
