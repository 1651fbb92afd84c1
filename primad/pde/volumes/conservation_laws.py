"""From equations, as they are written, to a conservation law: M ∂u/∂t + ∇·F(u) + s(x, t, u) = 0.

A flux is stated as one (`primad.pde.flux_divergence`), or by its slopes: of terms A(u) ∂u/∂x it is ∫ A(σu) u dσ from 0
to 1, if there is one. That there is one, and that the integral is exact, is checked by its derivative, which has to be
A again. Which factors of derivatives there are is found by derivatives of what the user's function returns.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.fields.flux_operators import CellField, Flux, components
from primad.pde.fields.named_fields import FieldAt
from primad.pde.geometry.intervals import space_of, time_of
from primad.pde.geometry.point_arguments import Place
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import depends
from primad.recording import tree

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Numbers = Mapping[str, Any]
Call = tuple[Flux, tuple[int, ...]]
"""A flux, and the places of the unknowns that are its arguments."""
NODES = (1, 2, 4, 8, 16)
"""Numbers of points of Gauss's quadrature that are tried: of n, polynomials of degree 2n − 1 in u have exact fluxes."""
CLOSE = 1e-9
"""Relative difference of the slope of an integrated flux from the stated one up to which it is rounding: quadratures
that are not exact differ by more, unless they converge to it."""
REAL = 1e-6
"""Imaginary parts of speeds, relative to the largest speed, up to which they are rounding: equal eigenvalues of
matrices in double precision come as pairs with the square root of it."""


class ConservationLaw:
    """The conservation law that the equations of a problem state, at points.

    Args:
        problem: whose equations are of first order.
        numbers: coefficients and constants by name.
        states: of the unknowns, a row for each, at which flux and speeds are checked.

    Raises:
        ProblemError: if the equations are no conservation law.
    """

    def __init__(self, problem: Problem, numbers: Numbers, states: Any) -> None:
        self.problem, self.names = problem, problem.unknowns
        self.time, self.space = str(time_of(problem.domain)), space_of(problem.domain)
        self._middle = problem.domain.bounds.mean(axis=1)
        self._check(numbers, states)

    def _evaluated(
        self, at: Any, u: Any, rates: Any, slopes: Sequence[Any], divergences: Sequence[Any] | None, numbers: Numbers
    ) -> tuple[Any, list[Call]]:
        """Return what the equations say is zero, a row for each, and the fluxes that they state, in their order.

        Args:
            at: the points, one a row.
            u: the values of the unknowns, a row for each.
            rates: their derivatives in time.
            slopes: their derivatives along each coordinate of space.
            divergences: of the stated fluxes; None for zeros.
            numbers: coefficients and constants by name.
        """
        domain, calls, count = self.problem.domain, list[Call](), u.shape[1]

        def take(name: str, along: tuple[str, ...]) -> Any:
            if not name:
                return at[:, domain.names.index(along[0])]
            place = self.names.index(name)
            if not along:
                return u[place]
            return rates[place] if along == (self.time,) else slopes[self.space.index(along[0])][place]

        def divergence_of(flux: Flux, names: tuple[str, ...]) -> Any:
            before = sum(len(places) for _, places in calls)
            calls.append((flux, tuple([self.names.index(name) for name in names])))
            if divergences is None:
                found = [np.zeros(count) for _ in names]
            else:
                found = list(divergences[before : before + len(names)])
            return found[0] if len(found) == 1 else tuple(found)

        fields = {name: CellField(name, domain, take, (count,), divergence_of=divergence_of) for name in self.names}
        known = ChainMap({**numbers, **fields, "points": at}, Place(domain.names, at))  # type: ignore[arg-type]
        found = [by_name(equation.function, known) for equation in self.problem.statement.equations]
        leaves = tree.leaves(tree.map(lambda leaf: leaf.value if isinstance(leaf, FieldAt) else leaf, found))
        return pnp.stack([pnp.broadcast_to(leaf, (count,)) for leaf in leaves]), calls

    # -- what volumes ask for ------------------------------------------------------------------------------------------

    def flux(self, axis: int, states: Any, numbers: Numbers) -> Any:
        """Return the flux along a coordinate of space, of states whose first axis are the unknowns."""
        u = pnp.reshape(states, (len(self.names), -1))
        found = self._stated(axis, u, numbers) if self._fluxes else 0.0
        if self._nodes:
            found = found + self._integrated(axis, u, numbers, self._nodes)
        return pnp.reshape(pnp.broadcast_to(self._solved(found), u.shape), states.shape)

    def source(self, at: Any, states: Any, numbers: Numbers) -> Any:
        """Return what is added to ∂u/∂t besides the divergence of the flux: −s(x, t, u), divided by M."""
        u = pnp.reshape(states, (len(self.names), -1))
        nothing = np.zeros(u.shape)
        found, _ = self._evaluated(at, u, nothing, [nothing] * len(self.space), None, numbers)
        return -pnp.reshape(self._solved(found), states.shape)

    def _solved(self, values: Any) -> Any:
        return values if self._inverse is None else self._inverse @ values

    def _places(self, u: Any) -> Any:
        return np.broadcast_to(self._middle, (u.shape[1], len(self._middle)))

    def _stated(self, axis: int, u: Any, numbers: Numbers) -> Any:
        """Return the part of the flux that is stated as one."""
        at, nothing = self._places(u), np.zeros(u.shape)
        slopes = [nothing] * len(self.space)
        _, calls = self._evaluated(at, u, nothing, slopes, None, numbers)
        parts: list[Any] = []
        for flux, places in calls:
            rows = components(flux(*[u[place] for place in places]), len(self.space), len(places))
            parts += [pnp.broadcast_to(part, (u.shape[1],)) for part in rows[axis]]
        return jvp(
            lambda given: self._evaluated(at, u, nothing, slopes, given, numbers)[0],
            (tuple([np.zeros(u.shape[1]) for _ in parts]),),
            (tuple(parts),),
        )[1]

    def _sloped(self, axis: int, u: Any, direction: Any, numbers: Numbers) -> Any:
        """Return A(u) times a direction, for derivatives along one coordinate."""
        nothing = np.zeros(u.shape)

        def residual(slope: Any) -> Any:
            slopes = [slope if place == axis else nothing for place in range(len(self.space))]
            return self._evaluated(self._places(u), u, nothing, slopes, None, numbers)[0]

        return jvp(residual, (nothing,), (direction,))[1]

    def _integrated(self, axis: int, u: Any, numbers: Numbers, nodes: int) -> Any:
        places, weights = np.polynomial.legendre.leggauss(nodes)
        return sum(
            0.5 * weight * self._sloped(axis, 0.5 * (1.0 + place) * u, u, numbers)
            for place, weight in zip(places.tolist(), weights.tolist(), strict=True)
        )

    def _slope_of_integral(self, axis: int, u: Any, direction: Any, numbers: Numbers, nodes: int) -> Any:
        return jvp(lambda u: self._integrated(axis, u, numbers, nodes), (u,), (direction,))[1]

    # -- what it asks of the equations ---------------------------------------------------------------------------------

    def _check(self, numbers: Numbers, states: Any) -> None:
        count = len(self.names)
        at, nothing = self._places(states), np.zeros(states.shape)
        slopes = [nothing] * len(self.space)
        found, calls = self._evaluated(at, states, nothing, slopes, None, numbers)
        if len(found) != count:
            self._refuse(f"has {len(found)} equations for {count} unknowns", "one for each unknown")
        self._fluxes = sum(len(places) for _, places in calls)
        given = [np.zeros(states.shape[1]) for _ in range(self._fluxes)]
        self._check_factors((at, states, nothing, slopes, given), numbers)
        columns = [
            jvp(lambda r: self._evaluated(at, states, r, slopes, None, numbers)[0], (nothing,), (unit,))[1]
            for unit in _units(states.shape)
        ]
        mass = np.stack([np.asarray(column)[:, 0] for column in columns], axis=1)
        if abs(np.linalg.det(mass)) < CLOSE * np.max(np.abs(mass), initial=0.0) ** count:
            self._refuse(f"does not say what ∂/∂{self.time} of each unknown is", "a derivative in time of each")
        self._inverse = None if np.array_equal(mass, np.eye(count)) else np.linalg.inv(mass)
        self._nodes = self._chosen_nodes(states, numbers)
        self._check_speeds(states, numbers)

    def _check_factors(self, given: tuple[Any, ...], numbers: Numbers) -> None:
        """Raise unless factors of derivatives in time and of divergences are constant, and those of slopes of u."""
        at, u, rates, slopes, divergences = given

        def residual(at: Any, u: Any, rates: Any, slopes: Any, divergences: Any, numbers: Any) -> Any:
            return self._evaluated(at, u, rates, slopes, divergences, numbers)[0]

        def of_rates(at: Any, u: Any, rates: Any, slopes: Any, divergences: Any, numbers: Any) -> Any:
            return [
                jvp(lambda r: residual(at, u, r, slopes, divergences, numbers), (rates,), (unit,))[1]
                for unit in _units(np.shape(u))
            ]

        def of_divergences(at: Any, u: Any, rates: Any, slopes: Any, divergences: Any, numbers: Any) -> Any:
            def part(given: Any) -> Any:
                return residual(at, u, rates, slopes, given, numbers)

            return jvp(part, (divergences,), ([np.ones(len(at)) for _ in divergences],))[1]

        def of_slopes(at: Any, u: Any, rates: Any, slopes: Any, divergences: Any, numbers: Any) -> Any:
            units = [(axis, unit) for axis in range(len(self.space)) for unit in _units(np.shape(u))]
            nothing = np.zeros(np.shape(u))
            return [
                jvp(
                    lambda s: residual(at, u, rates, s, divergences, numbers),
                    (slopes,),
                    ([unit if place == axis else nothing for place in range(len(self.space))],),
                )[1]
                for axis, unit in units
            ]

        arguments = (at, u, rates, slopes, divergences, dict(numbers))
        checks = (
            (of_rates, f"derivatives along {self.time}", (0, 1, 2, 3, 4, 5), "are plain numbers"),
            (of_divergences, "divergences of fluxes", (0, 1, 2, 3, 4), "are coefficients and constants"),
            (of_slopes, "derivatives in space", (0, 2, 3, 4), "are functions of the unknowns alone"),
        )
        for factors, what, places, wanted in checks:
            if factors is of_divergences and not divergences:
                continue
            if any(any(depends(factors, arguments, place)) for place in places):
                self._refuse(f"has other factors of {what}", f"equations in which these {wanted}")

    def _chosen_nodes(self, states: Any, numbers: Numbers) -> int:
        """Return how many points a quadrature of the flux of slopes takes; 0 if there are no slopes."""
        axes = range(len(self.space))
        wanted = [[self._sloped(axis, states, unit, numbers) for unit in _units(states.shape)] for axis in axes]
        size = max(float(np.max(np.abs(one))) for row in wanted for one in row)
        if not size:
            return 0
        for nodes in NODES:
            found = [
                [self._slope_of_integral(axis, states, unit, numbers, nodes) for unit in _units(states.shape)]
                for axis in axes
            ]
            if np.max(np.abs(np.asarray(found) - np.asarray(wanted))) < CLOSE * size:
                return nodes
        return self._refuse("has factors of derivatives in space that are no derivatives of a flux", "what has a flux")

    def _check_speeds(self, states: Any, numbers: Numbers) -> None:
        """Raise for an equation that is not hyperbolic at the states."""
        for axis, name in enumerate(self.space):
            columns = [
                jvp(lambda u, axis=axis: self.flux(axis, u, numbers), (states,), (unit,))[1]
                for unit in _units(states.shape)
            ]
            found = np.linalg.eigvals(np.moveaxis(np.asarray(columns), (0, 1, 2), (2, 1, 0)))
            if np.max(np.abs(np.imag(found))) > REAL * np.max(np.abs(found)):
                self._refuse(f"has waves along {name} whose speeds are not real", "hyperbolic equations")

    def _refuse(self, how: str, taken: str) -> int:
        names = ", ".join(self.names)
        raise ProblemError(
            f"volumes: the problem {how}",
            why=f"Volumes take conservation laws ∂u/∂{self.time} + ∇·f(u) = s: {taken}.",
            fix=f"state the flux, {self.names[0]}.{self.time} + pde.flux_divergence(flux, {names}); or solve it with a "
            'network: method="network".',
        )


def _units(shape: tuple[int, ...]) -> list[Any]:
    """Return for each row of an array the direction in which it is of ones."""
    found = []
    for place in range(shape[0]):
        unit = np.zeros(shape)
        unit[place] = 1.0
        found.append(unit)
    return found
