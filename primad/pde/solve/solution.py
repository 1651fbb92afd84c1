"""What was found: the unknowns as functions, the history of the search, and why it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.numpy.shapes.shaping import concatenate
from primad.optimize.parameter_vectors import Space
from primad.pde.geometry.sampling import as_rows
from primad.pde.report import html_report as report
from primad.pde.report import plots, run_plots
from primad.pde.report.pages import results
from primad.pde.solve.answers import Answers
from primad.pde.solve.certified.error_bounds import MOST as MOST_IN_ALL
from primad.pde.solve.certified.error_bounds import SLABS, CertifiedError, certified_error
from primad.pde.solve.certified.integral_bounds import CertifiedIntegral, certified_integral
from primad.pde.solve.certified.residual_bounds import FACTOR, MOST, Certificate, certified
from primad.pde.solve.confidence import intervals
from primad.pde.solve.history import History
from primad.pde.solve.solution_files import save_parameters
from primad.pde.solve.unknown_functions import evaluator

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.problem.settings import Settings

__all__ = ["Solution"]

Array = np.ndarray[Any, Any]
Tree = Any
MOST_AT_ONCE = 2**15
"""Points that an unknown is evaluated at in one call."""


class Solution(Answers):
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
        functions: of a family, the input functions that it is given, as `Problem.points` returns them; None where it is
            for all of them.
        inputs: names of the input functions of a family.
    """

    functions: Mapping[str, Array] | None = None

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
        functions: Mapping[str, Array] | None = None,
    ) -> None:
        self.problem, self.params, self.state, self.points = problem, params, state, points
        self.history, self.reason, self.message, self.settings = history, reason, message, settings
        self.functions, self.inputs = functions, tuple(problem.family.inputs)

    def given(self, **functions: Any) -> Solution:
        """Return the solution for one input function of a family: with pictures, residuals and errors as of any other.

        Args:
            **functions: for each input a function of its coordinate, or its values at the sensors.

        Raises:
            ProblemError: if one is missing, there are several of one, or the problem is no family.

        Example:
            >>> from primad import pde
            >>> family = {"v": pde.GaussianProcess("x", count=5, sensors=20)}
            >>> network = pde.DeepONet(4, pde.MLP(8, 1), pde.MLP(8, 1))
            >>> p = pde.Problem(
            ...     lambda u, v: u.x - v,
            ...     pde.Interval(0, 1),
            ...     [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")],
            ...     network=network,
            ...     family=family,
            ... )
            >>> solution = p.solve(steps=2, points=10, progress=False)
            >>> one = solution.given(v=lambda x: 2 * x)
            >>> bool(one.u(0.5) == solution.u(0.5, v=lambda x: 2 * x))
            True
        """
        if not self.inputs:
            raise ProblemError(
                "the solution is that of one problem, which has no input functions",
                fix='take it as it is; a family is pde.Problem(…, family={"v": pde.GaussianProcess("x")}).',
            )
        rows, several = self.problem.family.rows(functions)
        if several:
            raise ProblemError(
                "a solution is given one function of each input, got several",
                fix=f"pass one; of several write solution.{self.unknowns[0]}({', '.join(self.coordinates)}, …).",
            )
        return Solution(
            self.problem, self.params, self.state, self.points, self.history, self.reason, self.message, self.settings,
            rows,
        )  # fmt: skip

    def _inputs(self, given: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], bool]:
        """Return the input functions that are meant, as arrays of a term, and whether they are several."""
        if given or self.functions is None:
            return self.problem.family.rows(given or {})
        return dict(self.functions), False

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

    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does, for input functions by name as a user gives them; several of them are a first axis."""
        points = as_rows(points, self.coordinates)
        evaluate, (inputs, several) = evaluator(self.problem, unknown, derivative), self._inputs(functions)
        if not extrapolate:
            self._check_inside(points, unknown)
        many = max(1, MOST_AT_ONCE // self.problem.family.members(inputs))
        pieces = [evaluate(self.params, points[i : i + many], inputs) for i in range(0, max(len(points), 1), many)]
        found = concatenate(pieces, axis=-1) if len(pieces) > 1 else pieces[0]
        return found if several or not inputs else found[0]

    def recorded(self, points: Any, unknown: str, derivative: str, functions: Mapping[str, Any]) -> Any:
        """Return what `evaluated` does at points that are recorded: the network becomes a part of the program."""
        inputs, several = self._inputs(functions)
        found = evaluator(self.problem, unknown, derivative)(self.params, points, inputs)
        return found if several or not inputs else found[0]

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
        return np.asarray(self.problem.evaluated(self.params, {term: {"at": points, **self._inputs()[0]}})[term])

    def mean_squares(self) -> list[tuple[str, int, float]]:
        """Return for each residual its name, how many points it has, and its mean square after the last step."""
        rows = [(label, self.points[term]) for term, labels in self.problem.labels.items() for label in labels]
        means = self.history.losses[-1] if self.history.losses else []
        return [(label, len(row["at"]), mean) for (label, row), mean in zip(rows, means, strict=False)]

    def certify(self, factor: float = FACTOR, order: int = 2, most: int = MOST, progress: bool = True) -> Certificate:
        """Return proven upper bounds of the residuals of all equations over the whole domain, not at points.

        The domain is divided into boxes, on which the residual runs in interval arithmetic (`primad.enclose`), until
        the bound is close enough to what the residual takes somewhere.

        Args:
            factor: how far a bound may be above values that are taken, as a part of the largest sampled one.
            order: of the Taylor models on a box.
            most: how many boxes are looked at for an equation; then the bound is what is known, and true.
            progress: whether to show how far it has come, on a terminal or in a notebook.

        Returns:
            the bounds; printed, a line for each equation.

        Raises:
            EnclosureError: for an op of an equation that has no bounds.
            ProblemError: if an equation has an integral, which is computed as a sum, or an input function of a family.

        Example:
            >>> from primad import pde
            >>> p = pde.Problem(lambda u: u.xx + 1, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(4, 1))
            >>> certificate = p.solve(steps=20, points=40, progress=False).certify()
            >>> certificate.residuals[0].most <= 2 * certificate.residuals[0].sampled
            True
        """
        return certified(self, self._inputs()[0], factor, order, most, progress)

    def certify_error(
        self,
        factor: float = FACTOR,
        order: int = 2,
        most: int = MOST_IN_ALL,
        slabs: int = SLABS,
        progress: bool = True,
        waves: int = 0,
    ) -> CertifiedError:
        """Return a proven upper bound of the error of the solution, of one unknown on an interval or a box.

        Where values, slopes or mixtures of both are given on the whole boundary, the error obeys an equation with the
        residual as its right side; comparison with a function that is known bounds it (the maximum principle, and
        Grönwall's inequality in time). By how much conditions are off is bounded too, so they may be fitted. The
        equation is

        - in time, ∂u/∂t = A(x, u)∇∇u + b(x, u, ∇u), with A ≥ 0. The bound grows at the largest rate at which an error
          feeds itself: for heat that is 0, for Burgers' equation that of the steepest fall of the solution; a weight
          that depends on the place makes it less where that is worth it, and reaches over slopes at the boundary;
        - without time, linear: −A∇∇u + b·∇u + c u = f with A positive and c ≥ 0; or c a little below. Slopes alone need
          c > 0.

        Factors are derivatives of the equation as it is written, and proven bounds of them and of the residual come
        from interval arithmetic, as in `certify`.

        Args:
            factor: how far the residual's bound may be above values that are taken, as a part of the largest one.
            order: of the Taylor models on a box.
            most: how many boxes are looked at for all bounds together, by default half a million, which takes one or
                two minutes for a small network. Then the bound is what is known, and true; it says that it is not
                `finished`.
            slabs: in how many pieces of time bounds are computed one by one: with more they are closer.
            progress: whether to show how far it has come, on a terminal or in a notebook.
            waves: how many cosines of each coordinate a correction has, 0 for none. It is chosen such that the residual
                of the solution with it is small, and |u − û| ≤ |correction| + what is left: residuals that oscillate,
                as those of networks do, make bounds tens of times as large as the error, which a correction takes away.
                It needs more boxes; `order=3` suits it. Of bounds without and with it the smaller one is taken.

        Returns:
            the bound: `most` of it, `at` points, and its picture, `plot`.

        Raises:
            ProblemError: if the problem is another one; the message says why.
            EnclosureError: if errors may grow too fast for a bound, no weight is found, or an op has no bounds.

        Example:
            >>> from primad import pde
            >>> p = pde.Problem(lambda u: u.xx + 2, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(4, 1))
            >>> solution = p.solve(steps=20, points=40, progress=False)
            >>> bound = solution.certify_error()
            >>> bool(abs(solution.u(0.5) - 0.25) <= bound.at([[0.5]])[0] <= bound.most)
            True
        """
        return certified_error(self, factor, order, most, slabs, progress, waves)

    def certify_integral(
        self, factor: float = FACTOR, order: int = 2, most: int = MOST_IN_ALL, slabs: int = SLABS
    ) -> CertifiedIntegral:
        """Return a proven upper bound of ∫|u − û| dx at each time, of a conservation law that may have shocks.

        The equation is ∂u/∂t + ∇·F(u) = f(x, t), where all of space repeats, and u its entropy solution. Its distance
        from any function grows at most as fast as the residual of that is large (Kruzhkov 1970). Residuals, what is
        off at the start, and what does not repeat at the ends are integrated from above, box by box.

        Args:
            factor: by which part integrals may be too large.
            order: of the Taylor models on a box.
            most: how many boxes are looked at for all integrals together.
            slabs: in how many pieces of time the bound is computed one by one.

        Returns:
            the bound: `most` of it, and `at` times.

        Raises:
            ProblemError: if the problem is another one; the message says why.
            EnclosureError: if a residual is not proven to be finite, or an op of the equation has no bounds.

        Example:
            >>> import numpy as np
            >>> from primad import pde
            >>> start = pde.Initial(u=lambda x: np.sin(np.pi * x))
            >>> domain = pde.Interval(-1, 1) * pde.Time(0, 0.2)
            >>> p = pde.Problem(lambda u: u.t + u * u.x, domain, [pde.Periodic("x"), start], network=pde.MLP(4, 1))
            >>> bound = p.solve(steps=20, points=40, progress=False).certify_integral(slabs=1, most=500)
            >>> bool(bound.start <= bound.at(0.1) <= bound.most)
            True
        """
        return certified_integral(self, factor, order, most, slabs)

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
    plot_residual = plots.plot_residual
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
