"""From an equation, as it is written, to a weak form.

An equation that is linear in second derivatives is A(x, u) : ∇∇u + b(x, u, ∇u) = 0, and A : ∇∇u = ∇·(A∇u) − (∇·A)·∇u.
So for every v that vanishes where u is given

    ∫ −A∇u · ∇v + (b − (∇·A)·∇u) v dx + ∮ v n·A∇u ds = 0.

A is the derivative of what the user's function returns by second derivatives, b its value where these are zero, and
∇·A that of A along coordinates and u: all are exact, and nothing is recognised by its name. Of ∇·(k∇u), written
out as it is by `primad.pde.diffusion`, the terms with ∇k cancel.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.fields.given_fields import GivenField
from primad.pde.fields.named_fields import FieldAt
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.point_arguments import Place
from primad.pde.geometry.sampling import Array
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import depends
from primad.recording import tree

Arrays = tuple[Any, ...]
Numbers = Mapping[str, Any]


class WeakForm:
    """The weak form of an equation of second order, at points.

    Args:
        function: of the equation: of what it asks for by name.
        name: of the unknown.
        domain: whose coordinates there are.
        what: the equation in words, for messages.
    """

    def __init__(self, function: Callable[..., Any], name: str, domain: Domain, what: str) -> None:
        self.function, self.name, self.domain, self.what = function, name, domain, what
        self.pairs = tuple(combinations_with_replacement(range(domain.dimension), 2))

    def strong(self, at: Any, u: Any, slopes: Arrays, curves: Arrays, numbers: Numbers) -> Any:
        """Return what the equation says is zero, at points.

        Args:
            at: the points, one a row.
            u: the values of the unknown.
            slopes: its first derivatives, one array for each coordinate.
            curves: its second derivatives, one for each pair of coordinates.
            numbers: coefficients and constants by name.
        """
        return self._evaluated(lambda known: by_name(self.function, known), at, u, slopes, curves, numbers)

    def _evaluated(
        self,
        function: Callable[[Mapping[str, Any]], Any],
        at: Any,
        u: Any,
        slopes: Arrays,
        curves: Arrays,
        numbers: Numbers,
    ) -> Any:
        names = self.domain.names

        def take(name: str, along: tuple[str, ...]) -> Any:
            places = tuple([names.index(one) for one in along])
            if not name:
                return at[..., places[0]]
            if len(places) > 1:
                return curves[self.pairs.index(places)]
            return slopes[places[0]] if places else u

        field = GivenField(self.name, self.domain, take, np.shape(u))
        known = ChainMap({**numbers, self.name: field, "points": at}, Place(names, at))  # type: ignore[arg-type]
        (found,) = tree.leaves(
            tree.map(lambda leaf: leaf.value if isinstance(leaf, FieldAt) else leaf, function(known))
        )
        return found if np.ndim(found) else np.broadcast_to(found, np.shape(u))

    def second(self, at: Any, u: Any, slopes: Arrays, numbers: Numbers) -> tuple[list[list[Any]], Any]:
        """Return A, a list of rows, and b."""
        nothing, units = _units(len(self.pairs), np.shape(u))
        size = self.domain.dimension
        matrix: list[list[Any]] = [[None] * size for _ in range(size)]
        rest = None
        for place, (i, j) in enumerate(self.pairs):
            rest, slope = jvp(lambda curves: self.strong(at, u, slopes, curves, numbers), (nothing,), (units[place],))
            matrix[i][j] = matrix[j][i] = slope if i == j else 0.5 * slope
        return matrix, rest

    def terms(self, at: Any, u: Any, slopes: Arrays, numbers: Numbers) -> tuple[Arrays, Any]:
        """Return the flux A∇u, an array for each coordinate, and what is integrated times v besides it."""
        matrix, rest = self.second(at, u, slopes, numbers)
        size = self.domain.dimension
        for i in range(size):

            def row(at: Any, u: Any, i: int = i) -> Any:
                return tuple(self.second(at, u, slopes, numbers)[0][i])

            along = np.broadcast_to(np.eye(size)[i], np.shape(at))
            _, changes = jvp(row, (at, u), (along, slopes[i]))
            rest = rest - sum(change * slope for change, slope in zip(changes, slopes, strict=True))
        return tuple([sum(matrix[i][j] * slopes[j] for j in range(size)) for i in range(size)]), rest

    def through(
        self, residual: Callable[[Mapping[str, Any]], Any], at: Any, normal: Array, u: Any, numbers: Numbers
    ) -> tuple[Any, Any]:
        """Return the flux n·A∇u that a condition at the boundary gives, and by which share it gives another.

        Of a condition c·∇u + r(x, u) = 0, where c has the direction of A n, it is −|A n| r / |c|.

        Args:
            residual: of the condition: of what is known by name.
            at: points of the boundary.
            normal: the outward normals.
            u: the values of the unknown.
            numbers: coefficients, constants and what else the condition asks for.
        """
        size = self.domain.dimension
        nothing, units = _units(size, np.shape(u))
        curves = _units(len(self.pairs), np.shape(u))[0]
        found, direction = None, []
        for unit in units:
            found, slope = jvp(
                lambda slopes: self._evaluated(residual, at, u, slopes, curves, numbers), (nothing,), (unit,)
            )
            direction.append(slope)
        matrix, _ = self.second(at, u, nothing, numbers)
        out = [sum(matrix[i][j] * normal[:, j] for j in range(size)) for i in range(size)]
        share = _dot(out, direction) / _dot(direction, direction)
        across = [a - share * c for a, c in zip(out, direction, strict=True)]
        return -share * found, _dot(across, across) / _dot(out, out)

    # -- what it asks of the equation ----------------------------------------------------------------------------------

    def check(self, numbers: Numbers) -> None:
        """Raise unless the equation has second derivatives, is linear in them, and their factors have no first ones.

        Raises:
            ProblemError: if it is another equation.
        """
        at, u, slopes = self._drawn(2)
        curves = tuple([u + i for i in range(len(self.pairs))])

        def factors(at: Any, u: Any, slopes: Arrays, curves: Arrays) -> Any:
            units = _units(len(curves), np.shape(u))[1]
            return [jvp(lambda c: self.strong(at, u, slopes, c, numbers), (curves,), (unit,))[1] for unit in units]

        def second(at: Any, u: Any, slopes: Arrays) -> Any:
            return tuple([entry for row in self.second(at, u, slopes, numbers)[0] for entry in row])

        if any(depends(factors, (at, u, slopes, curves), 3)):
            self._refuse("is not linear in second derivatives")
        if any(depends(second, (at, u, slopes), 2)):
            self._refuse("has first derivatives in the factors of second ones")

    def _refuse(self, how: str) -> None:
        raise ProblemError(
            f"elements: {self.what} {how}",
            why="Elements take what is A(x, u) : ∇∇u + b(x, u, ∇u) = 0, which has a weak form with a flux A∇u.",
            fix='solve it with a network: method="network".',
        )

    def _drawn(self, count: int) -> tuple[Array, Array, Arrays]:
        at = self.domain.interior(count).at
        u = np.linspace(0.3, 0.7, count)
        return at, u, tuple([u + 0.1 * i for i in range(self.domain.dimension)])

    def check_condition(
        self, residual: Callable[[Mapping[str, Any]], Any], at: Array, normal: Array, numbers: Numbers, what: str
    ) -> None:
        """Raise unless a condition at the boundary gives the flux through it.

        Raises:
            ProblemError: if it does not.
        """
        size = self.domain.dimension
        u = np.linspace(0.3, 0.7, len(at))
        slopes, curves = tuple([u + 0.1 * i for i in range(size)]), tuple([u for _ in self.pairs])

        def given(slopes: Arrays) -> Any:
            return self._evaluated(residual, at, u, slopes, curves, numbers)

        def factors(slopes: Arrays) -> Any:
            return [jvp(given, (slopes,), (unit,))[1] for unit in _units(size, u.shape)[1]]

        found = [np.asarray(one) for one in factors(slopes)]
        if not np.all(_dot(found, found) > 0):
            raise ProblemError(
                f"elements: {what} does not have ∂{self.name}/∂n in it everywhere",
                fix=f"where {self.name} itself is given write pde.Dirichlet({self.name}=…, on=…).",
            )
        if any(depends(factors, (slopes,), 0)):
            raise ProblemError(
                f"elements: {what} is not linear in the derivatives of {self.name}",
                why="It gives the flux through the boundary only if it is.",
                fix='solve the problem with a network: method="network".',
            )
        off = self.through(residual, at, normal, u, numbers)[1]
        if not np.all(off <= np.sqrt(np.finfo(np.float64).eps)):
            raise ProblemError(
                f"elements: {what} does not give the flux through the boundary",
                why="The factors of second derivatives take the normal to another direction than the condition's.",
                fix="write a condition on n·A∇u, with the same factors A as in the equation: pde.Condition(lambda u, "
                "n: …).",
            )


def _units(count: int, shape: tuple[int, ...]) -> tuple[Arrays, list[Arrays]]:
    """Return so many arrays of zeros, and the directions in which one of them is of ones."""
    zeros, ones = np.zeros(shape), np.ones(shape)
    return (zeros,) * count, [tuple([ones if k == i else zeros for k in range(count)]) for i in range(count)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))
