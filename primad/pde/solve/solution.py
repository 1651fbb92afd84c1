"""What was found: the unknowns as functions, the history of the search, and why it ended."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, ShapeError, TracingError, no_attribute, suggestion
from primad.functional.jit import jit
from primad.optimize.parameter_vectors import Space
from primad.pde.deepxde_names import ANSWERS
from primad.pde.fields.coordinate_names import coordinates as coordinate_names
from primad.pde.fields.coordinate_names import derivative_text
from primad.pde.geometry.containment import outside, place_of
from primad.pde.geometry.point_arguments import Place
from primad.pde.geometry.sampling import as_rows
from primad.pde.problem.named_arguments import by_name, check_exact
from primad.pde.report import html_report as report
from primad.pde.report import plots, run_plots
from primad.pde.report.pages import results
from primad.pde.solve.certificate import FACTOR, MOST, Certificate, certified
from primad.pde.solve.confidence import intervals
from primad.pde.solve.history import History
from primad.pde.solve.solution_files import save_parameters
from primad.recording.foreign import plain
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.problem.settings import Settings

__all__ = ["Solution"]

Array = np.ndarray[Any, Any]
Tree = Any
MOST_AT_ONCE = 2**15
"""Points that an unknown is evaluated at in one call."""


class Unknown:
    """An unknown as a function of coordinates, which may be arrays that broadcast, by place or by name.

    Points outside of the domain are refused, but for `extrapolate=True`: no equation holds there.
    """

    def __init__(self, solution: Solution, name: str, derivative: str = "") -> None:
        self._solution, self.name, self.derivative = solution, name, derivative

    def __call__(self, *coordinates: Any, extrapolate: bool = False, **named: Any) -> Any:
        names = self._solution.coordinates
        given = dict(zip(names, coordinates, strict=False))
        if len(coordinates) > len(names) or set(given) & set(named) or {*given, *named} != set(names):
            rows = len(coordinates) == 1 and not named and np.ndim(coordinates[0]) == 2
            raise ProblemError(
                f"{self.name} is a function of {', '.join(names)}, got {_given(coordinates, named)}",
                fix=f'of points, one a row, write solution.at(points, "{self.name}").'
                if rows
                else f"write {self.name}({', '.join(names)}).",
            )
        given.update(named)
        if any(is_traced(value) for value in given.values()):
            raise TracingError(
                f"{self.name} of a solution is recorded, as in primad.grad(solution.{self.name})",
                why="It is evaluated, and no part of a program: a derivative of it would be lost.",
                fix=f'its derivatives have names: solution.{self.name}.d("{names[0]}").',
            )
        arrays = np.broadcast_arrays(*[plain(given[name], np.float64) for name in names])
        at = np.stack([array.ravel() for array in arrays], axis=1)
        found = self._solution.at(at, self.name, self.derivative, extrapolate=extrapolate)
        return found.reshape(arrays[0].shape)[()]

    def d(self, *derivative: str) -> Unknown:
        """Return a derivative, which is a function as well: `d("xx")`."""
        return Unknown(self._solution, self.name, derivative_text(derivative, self._solution.coordinates))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "_solution" not in self.__dict__:
            raise AttributeError(name)
        known = coordinate_names(self._solution.coordinates)
        try:
            known.split(name)
        except ShapeError as error:
            raise no_attribute(f"the unknown {self.name}", name, dir(self), error.what) from None
        fix = f'derivatives of a solution are written solution.{self.name}.d("{name}").'
        raise no_attribute(f"the unknown {self.name}", name, (), fix)

    def __repr__(self) -> str:
        names = ", ".join(self._solution.coordinates)
        return f"<{self.name}{'_' + self.derivative if self.derivative else ''}({names})>"


class Solution:
    """What `Problem.solve` found.

    Unknowns are attributes, functions of coordinates: `solution.u(x, t)`, `solution.u.d("xx")(x, t)`. Learned
    coefficients are in `coefficients`.

    Attributes:
        problem: the problem.
        params: the parameters of the networks, and the coefficients.
        state: the optimiser's state that belongs to them.
        points: of the last step, with their scales: what `Problem.residuals` takes.
        history: of the search.
        reason: why it ended: "target", "stalled", "steps", "seconds", "patience", "plateau", "callback",
            "interrupted" or "diverged".
        message: this in words.
        settings: how it was searched for.
    """

    def __init__(
        self,
        problem: Problem,
        params: Tree,
        state: Any,
        points: Any,
        history: History,
        reason: str = "",
        message: str = "",
        settings: Settings | None = None,
    ) -> None:
        self.problem, self.params, self.state, self.points = problem, params, state, points
        self.history, self.reason, self.message, self.settings = history, reason, message, settings

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return self.problem.unknowns

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in order."""
        return self.problem.domain.names

    @property
    def coefficients(self) -> dict[str, Any]:
        """The coefficients that were learned."""
        return {name: np.asarray(value)[()] for name, value in self.params["coefficients"].items()}

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return Space.of(self.params).size

    @property
    def loss(self) -> float:
        """Half the weighted sum of mean squares, as the last step left it."""
        return self.history.values[-1] if self.history.values else float("nan")

    @property
    def seconds(self) -> float:
        """How long the search took."""
        return self.history.seconds[-1] if self.history.seconds else 0.0

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("_") or "history" not in self.__dict__:
            raise AttributeError(name)
        if name in self.unknowns:
            return Unknown(self, name)
        known = (*dir(self), *self.unknowns)
        fix = f"write {ANSWERS[name]}." if name in ANSWERS else suggestion(name, known)
        raise no_attribute("a solution", name, known, fix or f"its unknowns are {', '.join(self.unknowns)}.")

    def at(self, points: Array, unknown: str, derivative: str = "", *, extrapolate: bool = False) -> Array:
        """Return an unknown, or a derivative of it, at points, one a row.

        Args:
            points: an array with a column for each coordinate.
            unknown: its name.
            derivative: along which coordinates, `"xxt"` say; none by default.
            extrapolate: whether points may lie outside of the domain, where no equation holds, and networks return
                anything.

        Raises:
            ShapeError: if points have other columns.
            ProblemError: if there is no such unknown, or a point is outside of the domain.
        """
        points = as_rows(points, self.coordinates)
        evaluate = _evaluator(self.problem, unknown, derivative)
        if not extrapolate:
            self._check_inside(points, unknown)
        pieces = [evaluate(self.params, points[i : i + MOST_AT_ONCE]) for i in range(0, len(points), MOST_AT_ONCE)]
        return np.concatenate([np.asarray(piece) for piece in pieces]) if pieces else np.zeros(0)

    def _check_inside(self, points: Array, unknown: str) -> None:
        """Raise for points outside of the domain; NaN and infinity are handed on."""
        domain, points = self.problem.domain, points[np.all(np.isfinite(points), axis=1)]
        found = outside(domain, points)
        if found.size:
            names = ", ".join(domain.names)
            raise ProblemError(
                f"{unknown} is asked outside of the domain, at {place_of(domain, points[found[0]])} "
                f"({found.size} such of {len(points)} points)",
                why=f"The equations hold in {domain!r}: outside, a network returns anything.",
                fix=f"ask inside, where domain.contains(np.stack([{names}], axis=1)) is true; or take what the network "
                f"returns: solution.{unknown}({names}, extrapolate=True).",
            )

    def residuals(self, points: Any = 1000, seed: int = 1) -> dict[str, tuple[Array, Array]]:
        """Return (points, residuals) of each equation, at points that were not used.

        Args:
            points: how many.
            seed: decides them.
        """
        found = {}
        for place, (name, labels) in enumerate(self.problem.labels.items()):
            if self.problem.terms[name].kind == "equation":
                at = self.problem.terms[name].draw(points, (seed, 12345, place))["at"]
                values = self.residual_at(at, name)
                for i, label in enumerate(labels):
                    found[label] = at, values[:, i]
        return found

    def residual_at(self, points: Array, term: str) -> Array:
        """Return the residuals of an equation at points: a row for each point.

        Args:
            points: one a row.
            term: name of the equation.

        Raises:
            ShapeError: if points have other columns.
            ProblemError: if there is no such equation.
        """
        equations = [name for name, one in self.problem.terms.items() if one.kind == "equation"]
        if term not in equations:
            fix = suggestion(term, equations) or f"there are {', '.join(equations)}."
            raise ProblemError(f"{term!r} is no equation of the problem", fix=fix)
        points = as_rows(points, self.coordinates)
        return np.asarray(self.problem.evaluated(self.params, {term: {"at": points}})[term])

    def mean_squares(self) -> list[tuple[str, int, float]]:
        """Return for each residual its name, how many points it has, and its mean square after the last step."""
        rows = [(label, self.points[term]) for term, labels in self.problem.labels.items() for label in labels]
        means = self.history.losses[-1] if self.history.losses else []
        return [(label, len(row["at"]), mean) for (label, row), mean in zip(rows, means, strict=False)]

    def error(self, points: int | Array = 10_000, **exact: Callable[..., Any]) -> float:
        """Return the relative L2 error of an unknown: `solution.error(u=lambda x, t: …)`.

        Args:
            points: how many, or the points themselves, one a row.
            **exact: the unknown, and a function of coordinates by name.

        Raises:
            ProblemError: if there is not one unknown, or the function asks for something else than coordinates.
        """
        if len(exact) != 1 or callable(points):
            raise ProblemError(
                f"the error is that of one unknown, got {', '.join(exact) or 'none'}",
                fix=f"write error({self.unknowns[0]}=lambda {', '.join(self.coordinates)}: …).",
            )
        ((name, function),) = exact.items()
        names = self.coordinates
        check_exact(function, name, names)
        at = self.problem.domain.interior(points).at if isinstance(points, int) else as_rows(points, names)
        known = ChainMap({"points": at}, Place(names, at))  # type: ignore[arg-type]
        right = np.broadcast_to(by_name(function, known), len(at))
        return float(np.linalg.norm(self.at(at, name) - right) / np.linalg.norm(right))

    def certify(self, factor: float = FACTOR, order: int = 2, most: int = MOST) -> Certificate:
        """Return proven upper bounds of the residuals of all equations over the whole domain, not at points.

        The domain is divided into boxes, on which the residual runs in interval arithmetic (`primad.enclose`), until
        the bound is close enough to what the residual takes somewhere.

        Args:
            factor: how far a bound may be above values that are taken, as a part of the largest sampled one.
            order: of the Taylor models on a box.
            most: how many boxes are looked at for an equation; then the bound is what is known, and true.

        Returns:
            the bounds; printed, a line for each equation.

        Raises:
            EnclosureError: for an op of an equation that has no bounds.

        Example:
            >>> from primad import pde
            >>> p = pde.Problem(lambda u: u.xx + 1, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(4, 1))
            >>> certificate = p.solve(steps=20, points=40, progress=False).certify()
            >>> certificate.residuals[0].most <= 2 * certificate.residuals[0].sampled
            True
        """
        return certified(self, factor, order, most)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parameters to a file (safetensors), and what they belong to; `Problem.load` reads them.

        Args:
            path: the file.

        Raises:
            OSError: if the file cannot be written, as where its folder is not there.
        """
        if self.writes:
            save_parameters(path, self.params, self.problem)

    @property
    def writes(self) -> bool:
        """Whether this process writes files, as the first of those that shared the points does."""
        return self.settings is None or self.problem.computed_by(self.settings.chunks).leads

    @property
    def has_data(self) -> bool:
        """Whether the problem has data."""
        return any(term.kind == "data" for term in self.problem.terms.values())

    @property
    def is_sure(self) -> bool:
        """Whether `confidence` has an answer, because coefficients were learned from data, in one search."""
        return self.has_data and bool(self.problem.coefficients)

    def confidence(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Return for each learned coefficient the interval that contains it with a probability.

        It comes from the Hessian of Gauss and Newton, where the residuals of each term (data, equations, conditions)
        are taken as errors of the size that they have, with Student's distribution. Of residuals of data whose
        neighbours are off alike, fewer count as independent.

        Args:
            level: the probability.

        Returns:
            for each coefficient the lowest and the highest value: infinite ones where data do not determine it, NaN,
            with a warning that says why, where the model does not fit: what is left of data is no noise, what is left
            of an equation is a good part of its terms, or the search is not at its end.

        Raises:
            ProblemError: if there are no coefficients, or no data.
        """
        return intervals(self, level)

    report = report.report
    plot, plot_error, plot_residual = plots.plot, plots.plot_error, plots.plot_residual
    plot_slices, plot_surface, animate = plots.plot_slices, plots.plot_surface, plots.animate
    plot_losses, plot_coefficients = run_plots.plot_losses, run_plots.plot_coefficients

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>" + "".join(results(self, {}, bands=False))

    def __repr__(self) -> str:
        return f"<solution of {', '.join(self.unknowns)}: {self._ended}>"

    @property
    def _ended(self) -> str:
        """How the search ended, in words."""
        steps = f"loss {self.loss:.3g} after {len(self.history)} steps, " if len(self.history) else ""
        return f"{steps}{self.message or self.reason}"


def _given(coordinates: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Return in words what a function was called with."""
    found = [f"an array of shape {np.shape(one)}" if np.ndim(one) else "a number" for one in coordinates]
    return ", ".join([*found, *named]) or "nothing"


def _evaluator(problem: Problem, unknown: str, derivative: str) -> Callable[[Tree, Array], Any]:
    """Return the compiled function of an unknown, which the problem keeps."""
    kept = problem.__dict__.setdefault("_evaluators", {})
    if unknown not in problem.unknowns:
        raise ProblemError(
            f"{unknown!r} is no unknown",
            fix=suggestion(unknown, problem.unknowns) or f"there are {', '.join(problem.unknowns)}.",
        )
    if (unknown, derivative) not in kept:

        def evaluate(params: Tree, at: Any) -> Any:
            field = problem.fields(params, at)[unknown]
            return field.d(derivative) if derivative else field.value

        kept[unknown, derivative] = jit(evaluate)
    found: Callable[[Tree, Array], Any] = kept[unknown, derivative]
    return found
