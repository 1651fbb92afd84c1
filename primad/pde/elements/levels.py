"""The level of an unknown of which equations and conditions say how it changes, and nowhere what it is.

With u every u + c is a solution then, and there is one only where what flows in goes out again: the equations for all
nodes add up to a number that no u changes. So one node's value is held, and its place among the unknowns is taken by a
number λ that is added to the equation everywhere: it is zero where there is a solution, and says otherwise by how much
the right side misses (P. Bochev & R. B. Lehoucq, SIAM Review 47 (2005) 50). The mean is given afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import DomainError, ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.weak_forms import units_of
from primad.pde.geometry.sampling import Array
from primad.pde.problem.inner_conditions import Integral
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import which_depend
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

MISSES = 0.01
"""By how much what flows in and what goes out may differ, as a share of them. Chosen: quadrature and straight edges
leave less on elements that show what a solution looks like."""


class Level:
    """The level of one unknown, or of several that are tied: the integral of all is zero, or one has a given value.

    Args:
        elements: whose unknown it is.
        unknowns: those to which one constant may be added.
        condition: the integral; None where there is none.

    Raises:
        ProblemError: if the integral does not say what the level is.
    """

    def __init__(self, elements: Elements, unknowns: Sequence[int], condition: Integral | None) -> None:
        self._elements, self._unknowns, self._condition = elements, unknowns, condition
        self._own: Array = np.concatenate([np.arange(*elements.offsets[[k, k + 1]]) for k in unknowns])
        self._shares: Array = np.concatenate([self._shares_of(k) for k in unknowns])
        rows = np.zeros(elements.offsets[-1])
        rows[self._own] = self._shares
        self._rows: Array = np.asarray(elements.gathered(rows))
        self.place = int(np.flatnonzero(np.isin(elements.free, self._own))[0])
        self._others: Array = (np.arange(len(elements.free)) != self.place).astype(float)
        if condition is not None:
            self._check_integral(condition)

    def _shares_of(self, k: int) -> Array:
        """Return the integrals of the shape functions of an unknown."""
        own = [(one.spaces[k], one.weights) for one in self._elements.inside]
        return np.asarray(np.sum([space.integrals(each) for space, each in own if space is not None], axis=0))

    def parts(self, free: Any) -> tuple[Any, Any]:
        """Return values at free nodes, and λ, of the unknowns that are searched for."""
        return free * self._others, free[self.place]

    def balanced(self, rows: Any, missing: Any) -> Any:
        """Return the residual at free nodes with λ in the equation."""
        return rows + missing * self._rows

    def set(self, values: Any, numbers: Mapping[str, Any]) -> Any:
        """Return the values at all nodes with the level that they are to have."""
        step = np.zeros(self._elements.offsets[-1])
        step[self._own] = 1.0
        if self._condition is None:
            return values - np.sum(values[self._own] * self._shares) / np.sum(self._shares) * step
        level, slope = jvp(lambda one: self._integral(one, numbers), (values,), (step,))
        return values + (self._condition.value - level) / slope * step

    def _integral(self, values: Any, numbers: Mapping[str, Any]) -> Any:
        condition, total = self._condition, 0.0
        assert condition is not None
        for inside in self._elements.inside:
            state = inside.state(self._elements.parts(values))
            curves, _ = units_of(len(inside.form.seconds), np.shape(inside.weights))
            (found,) = inside.form.evaluated(lambda known: by_name(condition.residual, known), state, curves, numbers)
            total = total + np.sum(inside.weights * found)
        return total

    def _check_integral(self, condition: Integral) -> None:
        known, step = self._elements.numbers({}, partly=True), np.zeros(self._elements.offsets[-1])
        step[self._own] = 1.0

        def slope(values: Any) -> Any:
            return jvp(lambda one: self._integral(one, known), (values,), (step,))[1]

        name = self._elements.problem.unknowns[self._unknowns[0]]
        if condition.on is not None or any(which_depend(lambda x: (slope(x),), (step,))) or not slope(step):
            raise ProblemError(
                f"elements: {condition.what} does not say what the level of {name} is",
                why="Of an integral over the domain that is linear in it, elements find it without a search.",
                fix=f"write pde.Integral(lambda {name}: {name}.value, …).",
            )

    def check(self, values: Any, missing: Any, numbers: Mapping[str, Any]) -> None:
        """Raise if the equation has no solution.

        Args:
            values: what was found at all nodes.
            missing: λ.
            numbers: coefficients and constants by name.

        Raises:
            DomainError: if λ is not zero, up to what quadrature leaves.
        """
        if is_traced(missing) or is_traced(values):
            return
        elements, parts, sizes = self._elements, self._elements.parts(np.asarray(values)), 0.0
        for k in self._unknowns:
            sizes += elements.edges.size(parts, k, numbers)
            for inside in [one for one in elements.inside if one.spaces[k] is not None]:
                rest = inside.form.terms(inside.state(parts), numbers)[1][elements.pairing.equations[k]]
                sizes += float(np.sum(inside.weights * np.abs(rest)))
        sizes += sum(float(np.sum(np.abs(rows))) for _, rows in elements.between.added(parts, None, None, numbers))
        off, whole = float(missing), float(np.sum(self._shares))
        if abs(off) * whole > MISSES * sizes:
            name = elements.problem.unknowns[self._unknowns[0]]
            raise DomainError(
                f"elements: the equation for {name} and its conditions have no solution: what flows in and what goes "
                f"out differ by {abs(off) * whole:.4g}, {abs(off) * whole / sizes:.1%} of all that does",
                why=f"Nothing says what {name} is, so its equation can hold in the mean only if these are equal.",
                fix=f"add {off:.6g} to the equation, or change a condition; or give {name} somewhere.",
            )
