"""The equation that the error of a solution obeys, and what a comparison principle asks of it.

With R(x, u, ∇u, ∇²u) = 0 for the true solution u, R(û, …) = r for the one that was found, and e = u − û

    −r = R(u, ∇u, ∇²u) − R(u, ∇û, ∇²û)  +  R(u, ∇û, ∇²û) − R(û, ∇û, ∇²û).

R is linear in second derivatives, with factors A that have no first ones, so the first difference is A : ∇²e + b·∇e
with some b. R does not jump with u, so the second is e times ∂R/∂u at ∇û, ∇²û and values between û and u. Derivatives
of R are those of the equation as the user wrote it; whether they depend on anything is read off their programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, enclose
from primad.errors import EnclosureError, ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.geometry.intervals import Interval, Time, factors_of, space_of, time_of
from primad.pde.geometry.point_arguments import as_normal
from primad.pde.problem.given_values import residuals_at
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import depends, may_jump_with
from primad.pde.solve.certified.faces import Face, faces_of

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.solve.certified.seams import Addition

Array = Any
VALUE, SLOPES, CURVES = 1, 2, 3
"""Places of the arguments of an equation: points, the value, first and second derivatives."""
KINDS = ("Dirichlet condition", "Neumann condition", "Robin condition", "periodic condition", "initial condition")
"""Conditions that a comparison principle takes, on any face, whether they hold by construction or are fitted."""
REPEATING = ("periodic condition", "initial condition")
"""Those of a conservation law whose unknown repeats."""


class ErrorEquation:
    """The equation of the error of a solution, as functions of one point, a vector.

    Args:
        problem: with one equation for one unknown, and values given on the whole boundary of a box.
        params: the parameters that were found.
        correction: what is added to the solution whose error is meant; None for nothing.
        repeats: whether the problem is a conservation law without diffusion whose unknown repeats in all of space, for
            `integral_bounds`, and not one of those that a comparison principle is applied to.

    Attributes:
        time: the place of time among the coordinates; None where there is none.
        space: the places of those of space.
        repeated: those of them in which the unknown repeats.
        rate: the factor of the derivative in time.
        varies: whether factors of the error depend on its size.
        moves: whether the factors of its slopes do.
        bends: whether the factors of its slopes depend on slopes, so that only those of the solution are known.
        faces: what is said on each face of the box, and at the start.

    Raises:
        ProblemError: if the problem has no error bound here, with the reason.
    """

    def __init__(
        self, problem: Problem, params: Any, repeats: bool = False, correction: Addition | None = None
    ) -> None:
        self.problem, self.params, self.correction = problem, params, correction
        _check_statement(problem, repeats)
        names, (self.unknown,) = problem.domain.names, problem.unknowns
        (equation,), time = problem.statement.equations, time_of(problem.domain)
        self.time = None if time is None else names.index(time)
        self.space = tuple([names.index(name) for name in space_of(problem.domain)])
        self.repeated = tuple([names.index(name) for name in problem.statement.periodic(problem.unknowns)])
        self._equation = equation.function
        self._pairs = tuple(combinations_with_replacement(range(len(names)), 2))
        self._numbers = {**problem.statement.constants, **params["coefficients"]}
        asked = {tuple(sorted(names.index(name) for name in one)) for one in problem.asked[equation.name][self.unknown]}
        self._first = [(i,) in asked for i in range(len(names))]
        self._second = [pair in asked for pair in self._pairs]
        if max(map(len, asked), default=0) > 2 or (
            self.time is not None and any(self.time in one and len(one) > 1 for one in asked)
        ):
            refuse("derivatives of an order above two in space, or one in time", "those up to these")
        (self.term,) = [term for term in problem.terms.values() if term.kind == "equation"]
        self.faces = faces_of(problem, self.unknown)
        self._check_factors()
        if repeats:
            self._check_conserved()

    # -- functions of one point ----------------------------------------------------------------------------------------

    def residual(self, at: Array) -> Any:
        """Return r."""
        at, (u,), slopes, curves = self._found(at)
        return pnp.reshape(self._strong(at, (u,), slopes, curves), ())

    def reaction(self, at: Array, error: Any = 0.0) -> Any:
        """Return ∂R/∂u at û plus an error."""
        at, (u,), slopes, curves = self._found(at)
        return self._parts(VALUE, at, (u + error,), slopes, curves)[0]

    def drift(self, at: Array, error: Any = 0.0) -> list[Any]:
        """Return the factor of each first derivative, at û plus an error."""
        at, (u,), slopes, curves = self._found(at)
        return self._parts(SLOPES, at, (u + error,), slopes, curves)

    def second(self, at: Array, error: Any = 0.0) -> list[list[Any]]:
        """Return the symmetric matrix A of the coordinates of space, at û plus an error."""
        at, (u,), slopes, curves = self._found(at)
        parts = dict(zip(self._pairs, self._parts(CURVES, at, (u + error,), slopes, curves), strict=True))
        return [[parts[min(i, j), max(i, j)] * (1.0 if i == j else 0.5) for j in self.space] for i in self.space]

    def mismatch(self, face: Face) -> Callable[[Array], Any]:
        """Return by how much what is said on a face is off, as a function of a point on it."""
        names = self.problem.domain.names
        normal = np.eye(len(names))[face.column] * face.side
        n = as_normal(normal, names, space_of(self.problem.domain))

        def off(at: Array) -> Any:
            rows = pnp.reshape(at, (1, -1))
            u = self.problem.fields(self.params, rows)[self.unknown]
            found = face.value * u.value if face.value else 0.0
            if self.correction is not None:
                found = found + face.value * self.correction.value(at)
            if face.slope:
                found = found + face.slope * face.side * u.d(names[face.column])
            if face.slope and self.correction is not None:
                found = found + face.slope * face.side * self.correction.derivative(at, (face.column,))
            return pnp.reshape(found, ()) - face.given({**{name: at[i] for i, name in enumerate(names)}, "n": n})

        return off

    def jump(self, column: int, low: float, high: float) -> Callable[[Array], Any]:
        """Return by how much û differs between the ends of a coordinate, as a function of a point.

        Args:
            column: the place of the coordinate.
            low: where it begins.
            high: where it ends.
        """
        names = self.problem.domain.names

        def between(at: Array) -> Any:
            ends = [pnp.stack([end if i == column else at[i] for i in range(len(names))]) for end in (low, high)]
            first, last = [self.problem.fields(self.params, pnp.reshape(x, (1, -1)))[self.unknown].value for x in ends]
            return pnp.reshape(last - first, ())

        return between

    def derivative(self, at: Array, along: Sequence[int]) -> Any:
        """Return a derivative of û with its correction, at a point, by the places of coordinates."""
        names, rows = self.problem.domain.names, pnp.reshape(at, (1, -1))
        u = self.problem.fields(self.params, rows)[self.unknown]
        found = pnp.reshape(u.d(" ".join([names[i] for i in along])) if along else u.value, ())
        return found if self.correction is None else found + self.correction.derivative(at, along)

    def _found(self, at: Array) -> tuple[Any, tuple[Any], tuple[Any, ...], tuple[Any, ...]]:
        """Return a point as a row, and û there with those derivatives that the equation has."""
        rows = pnp.reshape(at, (1, -1))
        names = self.problem.domain.names
        u = self.problem.fields(self.params, rows)[self.unknown]
        zero = 0.0 * u.value

        def corrected(found: Any, *along: int) -> Any:
            if self.correction is None:
                return found
            return found + pnp.reshape(self.correction.derivative(at, along), (1,))

        slopes = [corrected(u.d(names[i]), i) if used else zero for i, used in enumerate(self._first)]
        pairs = zip(self._pairs, self._second, strict=True)
        curves = [corrected(u.d(f"{names[i]} {names[j]}"), i, j) if used else zero for (i, j), used in pairs]
        return rows, (corrected(u.value),), tuple(slopes), tuple(curves)

    def _strong(self, at: Any, value: Any, slopes: Any, curves: Any) -> Any:
        names = self.problem.domain.names

        def take(name: str, along: tuple[str, ...]) -> Any:
            places = tuple([names.index(one) for one in along])
            if len(places) > 1:
                return curves[self._pairs.index(places)]
            return slopes[places[0]] if places else value[0]

        def equation(known: Any) -> Any:
            return by_name(self._equation, known)

        (found,) = residuals_at(equation, (self.unknown,), self.problem.domain, at, take, self._numbers)
        return found

    def _parts(self, place: int, *given: Any) -> list[Any]:
        """Return the derivative of the residual by each of the arrays in one of its arguments, at one point."""
        return [pnp.reshape(part, ()) for part in _partial(self._strong, given, place)]

    # -- what is asked of the equation ---------------------------------------------------------------------------------

    def _check_factors(self) -> None:
        at = self.problem.domain.interior(2).at
        u = np.linspace(0.3, 0.7, 2)
        given = at, (u,), (u,) * at.shape[1], tuple([u + i for i in range(len(self._pairs))])

        def by(place: int) -> Callable[..., Any]:
            return lambda *given: _partial(self._strong, given, place)

        if any(depends(by(CURVES), given, CURVES) + depends(by(CURVES), given, SLOPES)):
            refuse("second derivatives whose factors have derivatives of the unknown in them", "A(x, u) : ∇²u + …")
        if any(may_jump_with(self._strong, given, place) for place in (VALUE, SLOPES, CURVES)):
            refuse(
                f"a term that jumps where {self.unknown} or a derivative takes some value, or hides its own derivative",
                "what is continuous in them, and has the derivatives that it says",
            )
        self.varies = any(depends(by(VALUE), given, VALUE) + depends(by(CURVES), given, VALUE))
        self.moves = any(depends(by(SLOPES), given, VALUE))
        self.bends = any(depends(by(SLOPES), given, SLOPES))
        if self.time is not None:
            time = self.time

            def rate(*given: Any) -> Any:
                return by(SLOPES)(*given)[time]

            if any(any(depends(rate, given, place)) for place in range(len(given))):
                refuse("a derivative in time whose factor varies", "a constant one")
            self.rate = float(np.asarray(rate(*given))[0])
            if not self.rate:
                refuse("no derivative in time", "∂u/∂t, or a domain without time")
            return
        linear = [depends(by(of), given, place) for of in (VALUE, SLOPES, CURVES) for place in (VALUE, SLOPES, CURVES)]
        if any(any(one) for one in linear):
            refuse("a nonlinear equation without time", "linear ones, which have one solution")

    def _check_conserved(self) -> None:
        """Raise unless the equation is ∂u/∂t + ∇·F(u) = f(x, t): with slopes 0, no u moves its residual."""
        if self.time is None or any(self._second):
            refuse("second derivatives, or no time", "∂u/∂t + ∇·F(u) = f(x, t), where all of space repeats")
        at = self.problem.domain.interior(2).at
        u = np.linspace(0.3, 0.7, 2)
        none = tuple([0.0 * u for _ in self._pairs])

        def slopes(*given: Any) -> Any:
            return _partial(self._strong, given, SLOPES)

        def moved(at: Any, value: Any) -> Any:
            zeros = tuple([np.zeros(1) for _ in range(at.shape[1])])
            return _partial(self._strong, (at, (value,), zeros, tuple([np.zeros(1) for _ in none])), VALUE)[0]

        given = at, (u,), (u,) * at.shape[1], none
        low, high = np.asarray(self.problem.domain.bounds, float).T
        anything = IntervalArray(np.full(1, -np.inf), np.full(1, np.inf))
        try:
            source = enclose(moved, IntervalArray(low[None], high[None]), anything)
            moves = bool(np.any(source.low != 0) or np.any(source.high != 0))
        except EnclosureError:
            moves = True
        if any(depends(slopes, given, 0)) or self.bends or moves:
            refuse(
                "a flux that depends on the place, or a source that depends on the unknown",
                "∂u/∂t + ∇·F(u) = f(x, t), where all of space repeats",
            )


def _check_statement(problem: Problem, repeats: bool) -> None:
    domain, equations = problem.domain, problem.statement.equations
    factors = factors_of(domain)
    if problem.complex or problem.family:
        refuse("a complex unknown or a family", "one real problem at a time: solution.given(…)")
    if problem.integrals | problem.elsewhere:
        refuse("an integral, or an unknown at another place", "values and derivatives at points")
    if len(problem.unknowns) != 1 or len(equations) != 1 or len(next(iter(problem.labels.values()))) != 1:
        refuse("several unknowns or equations", "one equation for one unknown, to which the principle applies")
    if not space_of(domain) or not all(type(factor) in (Interval, Time) for factor in factors):
        refuse(f"the domain {domain!r}", "intervals and boxes, times an interval of time")
    if equations[0].domain is not domain:
        refuse("an equation in a part of the domain", "one that holds in all of it")
    faces = {f"{name}{end}" for name in space_of(domain) for end in "-+"} | ({"initial"} if time_of(domain) else set())
    if set(domain.parts) != faces:
        refuse(f"the parts {', '.join(domain.parts)} of the boundary", "whole faces")
    kinds = REPEATING if repeats else KINDS
    for condition in problem.statement.conditions:
        if condition.kind not in kinds:
            refuse(f"a condition of the kind {condition.kind!r}", f"those of the kinds {', '.join(kinds)}")
    said = {face.part for face in faces_of(problem, problem.unknowns[0])}
    said |= {f"{name}{end}" for name in problem.statement.periodic(problem.unknowns) for end in "-+"}
    if missing := faces - said:
        refuse(f"no such condition on {', '.join(sorted(missing))}", "one on each face of the domain, and at the start")


def refuse(what: str, taken: str) -> NoReturn:
    """Raise for a problem that has no error bound here.

    Raises:
        ProblemError: always.
    """
    raise ProblemError(
        f"certify_error: the problem has {what}",
        why=f"The comparison principle that bounds the error is applied to {taken}.",
        fix="solution.certify() bounds the residuals of any problem.",
    )


def _partial(function: Callable[..., Any], given: Sequence[Any], place: int) -> list[Any]:
    """Return the derivative of a function by each of the arrays in one of its arguments, point by point."""
    found = []
    for k, array in enumerate(given[place]):

        def moved(array: Any, k: int = k) -> Any:
            row = tuple([array if i == k else one for i, one in enumerate(given[place])])
            return function(*[row if i == place else one for i, one in enumerate(given)])

        found.append(jvp(moved, (array,), (pnp.ones_like(array),))[1])
    return found
