"""From equations, as they are written, to a weak form.

Equations that are linear in second derivatives are Σ A(x, u) : ∇∇u + b(x, u, ∇u, ∂u/∂t) = 0, a sum over the unknowns,
and A : ∇∇u = ∇·(A∇u) − (∇·A)·∇u. So for every v that vanishes where an unknown is given

    ∫ −A∇u · ∇v + (b − (∇·A)·∇u) v dx + ∮ v n·A∇u ds = 0.

A is the derivative of what the user's function returns by second derivatives, b its value where these are zero, and
∇·A that of A along coordinates and unknowns: all are exact, and nothing is recognised by its name. Of ∇·(k∇u), written
out as it is by `primad.pde.diffusion`, the terms with ∇k cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from primad import numpy as pnp
from primad.functional.derivatives.first_order import jvp
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import space_of, time_of
from primad.pde.problem.given_values import residuals_at
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import which_depend

Arrays = tuple[Any, ...]
Numbers = Mapping[str, Any]
Residual = Callable[[Mapping[str, Any]], Any]
"""A function of what is known by name, that returns what is to be zero, or several such."""


class State(NamedTuple):
    """What is known at points besides second derivatives.

    Attributes:
        at: the points of space, one a row.
        time: the time; None of a problem without it.
        u: the values of each unknown.
        slopes: of each unknown the derivatives along each coordinate of space.
        rates: the derivative along time of each unknown.
    """

    at: Any
    time: Any
    u: Arrays
    slopes: tuple[Arrays, ...]
    rates: Arrays


class WeakForm:
    """The weak form of equations of second order, at points.

    Args:
        functions: the equations: of what they ask for by name.
        names: of the unknowns.
        domain: whose coordinates there are.
        seconds: the second derivatives that equations ask for: which unknown, along which coordinates of space.

    Attributes:
        uniform: of each of `seconds` its factor in each equation, where it is a number that depends on nothing.
    """

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        names: Sequence[str],
        domain: Domain,
        seconds: Sequence[tuple[int, int, int]],
    ) -> None:
        self.functions, self.names, self.domain = tuple(functions), tuple(names), domain
        self.space, self.time = space_of(domain), time_of(domain)
        self.seconds = tuple(seconds)
        self.uniform: Sequence[Sequence[float | None]] = [[None]] * len(self.seconds)

    def equations(self, known: Mapping[str, Any]) -> list[Any]:
        """Return what all equations say is zero, of what is known by name."""
        return [by_name(function, known) for function in self.functions]

    def evaluated(self, function: Residual, state: State, curves: Arrays, numbers: Numbers) -> list[Any]:
        """Return what is to be zero, an array over points each.

        Args:
            function: returns it, of what is known by name.
            state: what is known at points.
            curves: the second derivatives, one for each of `seconds`.
            numbers: coefficients, constants and what else there is by name.
        """
        space = self.space

        def take(name: str, along: tuple[str, ...]) -> Any:
            place = self.names.index(name)
            if not along:
                return state.u[place]
            if along == (self.time,):
                return state.rates[place]
            axes = tuple([space.index(one) for one in along])
            if len(axes) > 1:
                return curves[self.seconds.index((place, *axes))]
            return state.slopes[place][axes[0]]

        return residuals_at(function, self.names, self.domain, self.points(state.at, state.time), take, numbers)

    def points(self, at: Any, time: Any) -> Any:
        """Return points with all coordinates, time included."""
        if self.time is None:
            return at
        columns = {name: at[..., axis] for axis, name in enumerate(self.space)}
        columns[self.time] = pnp.broadcast_to(time, np.shape(at)[:-1])
        return pnp.stack([columns[name] for name in self.domain.names], axis=-1)

    def second(self, state: State, numbers: Numbers) -> tuple[list[list[Any]], list[Any]]:
        """Return the factors of second derivatives, for each of `seconds` and each equation, and all b.

        Factors that depend on nothing are numbers.
        """
        nothing, units = units_of(len(self.seconds), np.shape(state.u[0]))
        rest: Sequence[Any] | None = None
        factors: list[list[Any]] = []
        for place, (known, unit) in enumerate(zip(self.uniform, units, strict=True)):
            if None not in known:
                factors.append(list(known))
                continue

            def along(c: Any, place: int = place) -> Any:
                curves = (*nothing[:place], c, *nothing[place + 1 :])  # so that others have no part in the factors
                return self.evaluated(self.equations, state, curves, numbers)

            found, slope = jvp(along, (nothing[place],), (unit[place],))
            rest = found
            factors.append([one if given is None else given for one, given in zip_longest(slope, known)])
        return factors, list(self.evaluated(self.equations, state, nothing, numbers) if rest is None else rest)

    def terms(self, state: State, numbers: Numbers) -> tuple[list[list[Any]], list[Any]]:
        """Return for each equation the flux A∇u along each coordinate, and what is integrated times v besides it.

        The number 0 stands for a flux that there is none of.
        """
        factors, rest = self.second(state, numbers)
        axes = range(len(self.space))
        flux: list[list[Any]] = [[0.0 for _ in axes] for _ in rest]
        moving = self._moving(state, numbers)
        for axis in axes:
            about = self._along(axis)
            for place, k, share, other in about:
                for e, factor in enumerate(factors[place]):
                    flux[e][axis] = _plus(flux[e][axis], share * factor, state.slopes[k][other])
            changing = [(*one, e) for one in about for e in moving[one[0]]]
            if not changing:
                continue

            def own(at: Any, u: Any, changing: Any = changing) -> Any:
                found = self.second(state._replace(at=at, u=u), numbers)[0]
                return tuple([found[place][e] for place, *_, e in changing])

            step = np.broadcast_to(np.eye(len(self.space))[axis], np.shape(state.at))
            moved = tuple([slopes[axis] for slopes in state.slopes])
            _, changes = jvp(own, (state.at, state.u), (step, moved))
            for (_, k, share, other, e), change in zip(changing, changes, strict=True):
                rest[e] = rest[e] - share * change * state.slopes[k][other]
        return flux, rest

    def _moving(self, state: State, numbers: Numbers) -> list[list[int]]:
        """Return for each of `seconds` the equations whose factor of it depends on the place or on unknowns.

        Of all others ∇·A is zero. Written as a product with zero it would stay in all that is derived.
        """
        if all(None not in known for known in self.uniform):
            return [[] for _ in self.seconds]
        at, nothing = np.zeros(np.shape(state.at)), np.zeros(np.shape(state.u[0]))

        def own(at: Any, u: Any) -> Any:
            drawn = state._replace(at=at, u=u, slopes=((nothing,) * len(self.space),) * len(u), rates=u)
            return tuple([tuple(row) for row in self.second(drawn, numbers)[0]])

        found = np.reshape(which_depend(own, (at, (nothing,) * len(state.u))), (len(self.seconds), -1))
        return [np.flatnonzero(row).tolist() for row in found]

    def _along(self, axis: int) -> list[tuple[int, int, float, int]]:
        """Return the second derivatives along an axis: place, unknown, the share of its factor, the other axis.

        The factor of a mixed derivative is halved, so that A is symmetric.
        """
        found = []
        for place, (k, i, j) in enumerate(self.seconds):
            if axis in (i, j):
                found.append((place, k, 1.0 if i == j else 0.5, i + j - axis))
        return found

    def normal_flux(self, state: State, normal: Any, numbers: Numbers) -> tuple[list[Any], list[list[Any]]]:
        """Return n·A∇u of each equation, and its factors of the derivatives of each unknown along the normal."""
        factors, rest = self.second(state, numbers)
        flux: list[Any] = [0.0 for _ in rest]
        across: list[list[Any]] = [[np.zeros(np.shape(state.u[0])) for _ in self.names] for _ in rest]
        for axis in range(len(self.space)):
            for place, k, share, other in self._along(axis):
                for e, factor in enumerate(factors[place]):
                    flux[e] = _plus(flux[e], share * factor, normal[:, axis] * state.slopes[k][other])
                    across[e][k] = _plus(across[e][k], share * factor, normal[:, axis] * normal[:, other])
        return flux, across


def _plus(total: Any, factor: Any, one: Any) -> Any:
    """Return a sum with a further product, without what numbers among the factors leave out."""
    one = (one if factor else 0.0) if isinstance(factor, float) and factor in (0.0, 1.0) else factor * one
    if isinstance(one, float) and not one:
        return total
    return one if isinstance(total, float) and not total else total + one


def units_of(count: int, shape: tuple[int, ...]) -> tuple[Arrays, list[Arrays]]:
    """Return so many arrays of zeros, and the directions in which one of them is of ones."""
    zeros, ones = np.zeros(shape), np.ones(shape)
    return (zeros,) * count, [tuple([ones if k == i else zeros for k in range(count)]) for i in range(count)]
