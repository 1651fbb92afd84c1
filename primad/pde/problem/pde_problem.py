"""A problem: equations in a domain, what is known besides, and networks for the unknowns."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import warn
from primad.functional.export.distribute import distribute
from primad.functional.jit import jit
from primad.numpy.shapes.shaping import reshape, stack
from primad.optimize.gauss_newton.levenberg_marquardt import LevenbergMarquardt
from primad.optimize.gauss_newton.newton_cg import GaussNewtonCG
from primad.pde.elements.discretisation import by_elements
from primad.pde.families.family import Family
from primad.pde.families.input_functions import InputFunctions
from primad.pde.fields.integrals import NODES, Quadrature, checked_nodes, integrating
from primad.pde.fields.named_fields import FieldAt
from primad.pde.fields.problem_formulas import latex_of
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import space_of
from primad.pde.geometry.point_arguments import Place
from primad.pde.geometry.sampling import Array
from primad.pde.lines.method_of_lines import by_lines
from primad.pde.networks.constraint_choice import Left, imposed
from primad.pde.networks.field_networks import MLP, Inputs, Network
from primad.pde.networks.hard_constraints import SharedNetwork
from primad.pde.problem.conditions import Condition, Measured
from primad.pde.problem.enough_conditions import check_posed
from primad.pde.problem.inner_conditions import Data
from primad.pde.problem.residual_checks import check_elsewhere, labels_of, plain
from primad.pde.problem.settings import settings_of, unknown_method, unnamed_setting
from primad.pde.problem.statement import Statement, stated
from primad.pde.problem.terms import (
    Row,
    Term,
    check_boundary_given,
    check_given,
    condition_terms,
    equation_term,
    normal_of,
    real_residuals,
)
from primad.pde.report.pages import conditions, equations
from primad.pde.solve.history import History
from primad.pde.solve.shared_points import OneProcess, SharedPoints
from primad.pde.solve.solution import Solution
from primad.pde.solve.solution_files import load_parameters
from primad.pde.solve.solving import solve
from primad.pde.volumes.finite_volumes import by_volumes
from primad.recording import tree
from primad.system.tracebacks import entrance

__all__ = ["Problem"]

Tree = Any
DEFAULT = MLP(width=24, depth=2)
RESIDUAL_RULES = (LevenbergMarquardt, GaussNewtonCG)
ROUNDED = (
    ". Points must be close where it is not smooth: solve(resample=10, refine=0.5); better, round it off over a few "
    "hundredths of the domain: np.tanh(x / 0.05) for np.sign(x), np.sqrt(x**2 + 0.05**2) for abs(x)."
)
KEPT = 4
"""Optimisers for which compiled functions are kept."""


class Problem:
    """Equations in a domain with conditions, and networks for the unknowns.

    Functions take what they ask for by name: unknowns (`primad.pde.FieldAt`: derivatives have names), coordinates,
    coefficients, constants; or for `points`, all coordinates in one array, a point a row. All are arrays over points.

    Args:
        equations: a function that returns what is to be zero, or a tuple of it; an equation of SymPy (`Eq`, or an
            expression that is to be zero); or several by name.
        domain: where.
        conditions: on the boundary, at the start, at points of data. Each part of the boundary needs one for each
            unknown, be it `Free`: nothing is assumed.
        unknowns: names of the unknowns, outputs of one network: `"u"`, `"u v p"`; or a network for each name, or names:
            `{"u v": MLP(), "k": MLP(10, 2)}`.
        network: for unknowns that have none of their own.
        coefficients: numbers to learn, with the values to begin with.
        constants: numbers that functions may ask for.
        family: functions that the problem is given, by name, and how they are drawn: `{"v": GaussianProcess("x")}`. The
            unknowns are learned for all of them; equations ask for `v` as for an unknown, and networks get it too.
        points_order: the order in which points are drawn: "sobol", "latin", "uniform" or "grid".
        quadrature: points of Gauss and Legendre for each integral in an equation, `pde.integral` or SymPy's.

    Raises:
        ProblemError: if something is missing, not known, or contradicts something else.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> def poisson(u, x):
        ...     return u.xx + np.pi**2 * np.sin(np.pi * x)
        >>> problem = pde.Problem(poisson, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(8, 1))
        >>> solution = problem.solve(steps=50, points=50, progress=False)
        >>> error = solution.u(np.linspace(0, 1, 5)) - np.sin(np.pi * np.linspace(0, 1, 5))
        >>> bool(np.max(np.abs(error)) < 1e-5)
        True
    """

    @entrance
    def __init__(
        self,
        equations: Any,
        domain: Domain,
        conditions: Sequence[Condition] | Condition = (),
        *,
        unknowns: str | Sequence[str] | Mapping[str, Network] = "u",
        network: Network = DEFAULT,
        coefficients: Mapping[str, Any] | None = None,
        constants: Mapping[str, Any] | None = None,
        family: Mapping[str, InputFunctions] | None = None,
        points_order: str = "sobol",
        quadrature: int = NODES,
    ) -> None:
        self.domain, self.quadrature = domain, checked_nodes(quadrature, "the quadrature of a problem")
        self.statement: Statement = stated(
            equations, domain, conditions, unknowns, network, coefficients or {}, constants or {}, family
        )
        self.family: Family = self.statement.family
        self.groups, fitted = self._grouped()
        self.terms = self._made_terms(fitted, points_order)
        self.asked: dict[str, dict[str, set[tuple[str, ...]]]] = {}
        self.learned: set[str] = set()
        self.complex: set[str] = set()
        self.integrals: set[str] = set()
        self.elsewhere: set[str] = set()
        self.labels = {name: labels_of(self, term) for name, term in self.terms.items()}
        check_posed(self)
        check_elsewhere(self, self.init())
        self.evaluated = jit(self.values)
        self._compiled: dict[Any, Any] = {}
        self._processes: dict[int | None, OneProcess] = {}

    # -- what it consists of -------------------------------------------------------------------------------------------

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return tuple(self.statement.networks)

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients that are learned."""
        return tuple(self.statement.coefficients)

    @property
    def measured(self) -> list[Data]:
        """The data, as they were given."""
        return [one for one in self.statement.conditions if isinstance(one, Data)]

    def _grouped(self) -> tuple[list[SharedNetwork], list[tuple[Condition, list[str]]]]:
        """Return the networks, and the conditions that are fitted with the unknowns that they are fitted for."""
        statement, done, by_construction = self.statement, [], {}
        self.left: list[Left] = []
        for name in self.unknowns:
            by_construction[name], used, left = imposed(
                name, self.domain, statement.conditions, statement.periodic([name])
            )
            done += [(condition, name) for condition in used]
            self.left += left
        groups = []
        for names, network in statement.groups:
            periodic = frozenset(statement.periodic(names))
            inputs = Inputs(self.domain.names, self.domain.bounds, periodic)
            held = {name: by_construction[name] for name in names}
            along = [one.coordinate for one in self.family.inputs.values()]
            if self.family and (wrong := network.misfit(inputs.places, along)):
                raise wrong
            groups.append(SharedNetwork(names, network, inputs, held, statement.past(names)))
        fitted = []
        for condition in statement.fitted():
            others = [name for name in getattr(condition, "values", ()) if (condition, name) not in done]
            if others or not hasattr(condition, "values"):
                fitted.append((condition, others or list(self.unknowns)))
        self.held = done
        for one in self.left:
            if one.surprise is not None:
                warn(
                    f"{one.condition.what} cannot hold by construction: for {one.name}{one.surprise} {one.why}; "
                    "it is fitted at points (give that condition hard=False to say that this is meant)"
                    + ("" if one.surprise else ROUNDED)
                )
        return groups, fitted

    def _made_terms(self, fitted: Sequence[tuple[Condition, list[str]]], order: str) -> dict[str, Term]:
        found = [
            equation_term(name, function, domain, weight, order)
            for name, function, domain, weight, _ in self.statement.equations
        ]
        for condition, names in fitted:
            found += condition_terms(condition, self.family, names, order)
        terms: dict[str, Term] = {}
        for term in found:
            name, number = term.name, 2
            while name in terms:
                name, number = f"{term.name} {number}", number + 1
            terms[name] = term
        return terms

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each term by name, as stated, or what the noise of data asks for, or 1."""
        told = [one for one in self.statement.conditions if isinstance(one, Measured)]
        strict = max([one.strictness for one in told], default=1.0)
        chosen = {name: 1.0 if term.kind == "data" else strict for name, term in self.terms.items()}
        return {name: chosen[name] if term.weight is None else term.weight for name, term in self.terms.items()}

    def latex(self) -> dict[str, list[str]]:
        """Return the equations in LaTeX, by name: lines, or nothing where an equation has no formula."""
        return self.formulas(latex_of)

    def formulas(self, form: Callable[..., list[str]]) -> dict[str, list[str]]:
        """Return the equations as formulas, by name, in a form: `latex_of` or `mathml_of`."""
        numbers = {**self.statement.coefficients, **self.statement.constants}
        functions = *self.unknowns, *self.family.inputs
        return {
            one.name: form(one.given, one.function, self.domain, functions, numbers, self.complex)
            for one in self.statement.equations
        }

    def _repr_latex_(self) -> str | None:
        lines = [line for found in self.latex().values() for line in found]
        return "$$\\begin{gathered}" + r" \\ ".join(lines) + "\\end{gathered}$$" if lines else None

    def _repr_html_(self) -> str:
        return "\n".join([*equations(self), *conditions(self)])

    def __repr__(self) -> str:
        equations = ", ".join(one.name for one in self.statement.equations)
        return f"<problem of {', '.join(self.unknowns)}: {equations} in {self.domain!r}>"

    # -- evaluation ----------------------------------------------------------------------------------------------------

    def init(self, seed: int = 0) -> Tree:
        """Return parameters to begin with: of the networks, and the coefficients.

        Args:
            seed: decides them.
        """
        count, numbers = len(self.groups), self.family.size
        networks = {group.key: group.init(seed * count + i, numbers) for i, group in enumerate(self.groups)}
        return {"networks": networks, "coefficients": dict(self.statement.coefficients)}

    def points(
        self, count: Any = 1000, boundary: Any = None, seed: int | Sequence[int] = 0, weights: Any = None
    ) -> dict[str, dict[str, Array]]:
        """Draw points for all terms.

        Args:
            count: how many for each equation; or the points themselves, one a row, or a dict of both by equation.
            boundary: how many for each condition that is fitted, by default a fifth of those; or the points themselves,
                one a row, or a dict of both by condition.
            seed: an integer, or several: the same ones give the same points.
            weights: of the terms by name; by default those of equations and conditions.

        Returns:
            for each term its arrays: with `scale`, √(weight/points), half the sum of squares of the residuals is half
            the weighted sum of mean squares. Of a family each function has a residual at each point.
        """
        check_given(count, self.terms, self.domain)
        check_boundary_given(boundary, self.terms, self.domain)
        found = {}
        seeds = (seed,) if isinstance(seed, (int, np.integer)) else tuple(seed)
        functions = self.family.drawn((*seeds, len(self.terms)))
        for place, (name, term) in enumerate(self.terms.items()):
            arrays = {**functions, **term.at_points(count, boundary, (*seeds, place))}
            rows = 1 if term.kind == "integral" else len(arrays["at"]) * self.family.members(arrays)
            weight = (weights or {}).get(name, self.weights[name])
            found[name] = {**arrays, "scale": np.full((rows, len(self.labels[name])), np.sqrt(weight / rows))}
        return found

    def residuals(self, params: Tree, points: Mapping[str, Mapping[str, Array]]) -> dict[str, Any]:
        """Return the residuals of all terms, times their scale: what an optimiser of residuals takes.

        Args:
            params: as `init` returns them.
            points: as the method `points` returns them, of some or all terms.
        """
        return {name: row["scale"] * self._stacked(params, name, row) for name, row in points.items()}

    def values(self, params: Tree, points: Mapping[str, Mapping[str, Array]]) -> dict[str, Any]:
        """Return the residuals of all terms as they are, without their scale."""
        return {name: self._stacked(params, name, row) for name, row in points.items()}

    def _stacked(self, params: Tree, name: str, row: Row) -> Any:
        leaves = tree.leaves(self.raw(params, self.terms[name], row))
        return stack([reshape(plain(leaf), (-1,)) for leaf in leaves], axis=1)

    def raw(self, params: Tree, term: Term, row: Row, how: Quadrature | None = None) -> Any:
        """Return the residuals of a term, in the tree that its function returns; of a complex one its parts."""
        how = how or Quadrature(self.quadrature)
        how.members = self.family.members(row) if self.family else 0
        with integrating(how):
            return real_residuals(tree.map(plain, term.residual(self.known(params, row), row)))

    def loss(self, params: Tree, points: Mapping[str, Mapping[str, Array]]) -> Any:
        """Return half the sum of squares of the residuals times their scale: what an optimiser of losses takes."""
        return 0.5 * sum(np.sum(leaf**2) for leaf in self.residuals(params, points).values())

    def compiled(self, rule: Any, chunks: int | None = None) -> Any:
        """Return what an optimiser's `update` takes, compiled once: of the residuals, or of the loss.

        Args:
            rule: an optimiser of `primad.optimize`.
            chunks: as `solve` takes it.
        """
        key = rule, chunks is None
        if key not in self._compiled:
            while len(self._compiled) >= KEPT:
                del self._compiled[next(iter(self._compiled))]
            function = self.residuals if isinstance(rule, RESIDUAL_RULES) else self.loss
            self._compiled[key] = rule.compile(function if chunks is None else distribute(function))
        return self._compiled[key]

    def computed_by(self, chunks: int | None) -> OneProcess:
        """Return who computes at the points: this process, or the processes of a job, at so many chunks of points."""
        if chunks not in self._processes:
            self._processes[chunks] = OneProcess(self) if chunks is None else SharedPoints(self, chunks)
        return self._processes[chunks]

    def known(self, params: Tree, row: Row) -> Mapping[str, Any]:
        """Return all that functions may ask for by name, at the points of a term."""
        names, statement = self.domain.names, self.statement
        unknowns, inputs = self.fields(params, row["at"], row), self.family.at(row)
        found = {**statement.constants, **params["coefficients"], **unknowns, **inputs, "points": row["at"]}
        if "normal" in row:
            found["n"] = normal_of(row, names, space_of(self.domain))
        return ChainMap(found, Place(names, row["at"]))  # type: ignore[arg-type]

    def fields(self, params: Tree, at: Any, functions: Row | None = None) -> dict[str, FieldAt]:
        """Return the unknowns at points.

        Args:
            params: as `init` returns them.
            at: the points, one a row.
            functions: of a family, as the method `points` returns them among others; then values have an axis of
                functions before that of points.
        """
        found, numbers = dict[str, FieldAt](), self.family.numbers(functions or {})
        for group in self.groups:
            u = group.on(self.domain, params["networks"][group.key], at, numbers)
            found.update({group.names[0]: u} if len(group.names) == 1 else dict(zip(group.names, u, strict=True)))
        return {name: found[name] for name in self.unknowns}

    def load(self, path: str | os.PathLike[str]) -> Solution:
        """Return the solution whose parameters `Solution.save` wrote.

        Args:
            path: the file.

        Raises:
            ShapeError: if the file holds something else, or other arrays.
            ProblemError: if the parameters are those of another problem: of other equations, conditions or constants.
        """
        params = load_parameters(path, self.init(), self)
        return Solution(self, params, None, self.points(), History(()), "loaded", f"loaded from {path}")

    @entrance
    def solve(self, *unnamed: Any, method: str = "network", **settings: Any) -> Any:
        """Find parameters for which the residuals are small. See `Settings` for the arguments.

        Args:
            *unnamed: none: all settings have names.
            method: "network"; or "elements", "volumes", or "differences" or "spectral": then the settings are those of
                `primad.pde.Elements`, `Volumes`, or `Lines`, and of its `solve`.
            **settings: fields of `primad.pde.Settings`.

        Returns:
            the solution, a `Solution` of networks; also where Ctrl-C, or a value that is not finite, ended the search.
        """
        if unnamed:
            raise unnamed_setting(unnamed[0])
        if method == "elements":
            return by_elements(self, **settings)
        if method in ("differences", "spectral"):
            return by_lines(self, method, **settings)
        if method == "volumes":
            return by_volumes(self, **settings)
        if method != "network":
            raise unknown_method(method)
        return solve(self, settings_of(settings))
