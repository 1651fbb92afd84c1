"""Equations F(x, a) = 0 as programs: residuals, the Jacobian in x, and its factors, kept for all directions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import MatrixError, NotFiniteError
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM, SPARSE_SHARE, RecordedJacobian
from primad.implicit.matrix_factors import MatrixFactors
from primad.ir.key import Key
from primad.ir.program import ClosedProgram, Program
from primad.ir.walks import dependents
from primad.programs.derived_programs import derived
from primad.programs.jacobians.jacobian_programs import only, restricted, tangent_of
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.runtime.cache import Cache
from primad.runtime.calling import traced_operands
from primad.runtime.executors.dispatch import prepared_call
from primad.system.machine import SPARE_BYTES
from primad.transforms import reverse
from primad.transforms.lowering import expand, inline

Array = np.ndarray[Any, Any]

FOLD = 0.1
"""How much the Jacobian may change within the error of a solution, as a share of itself. At a regular one it is of the
size of rounding errors; where two solutions meet it is a half, since Newton's steps then halve the distance."""


class FactorsKey(NamedTuple):
    """Factors of an equation's Jacobian at a point."""

    of: Key
    values: bytes
    kind: str = "factors"


FACTORS = Cache(16, SPARE_BYTES // 4, fewest=2)
"""Factors of Jacobians at solutions: tangents and cotangents of one solution take the same. Of large matrices two stay,
so that an optimiser, whose matrices change at each step, does not hold those of steps before; chosen for programs that
take turns with two systems."""


class ImplicitEquation:
    """F(x, a) = 0, as a program (x, a, what was captured) -> (F, what its solver takes, settings).

    x is a row of unknowns.

    Attributes:
        of: the program; F has as many numbers as x.
        solver: (function, x0) -> x, of the user's; None for the one that there is.
        tolerance: how large the residual may be at a solution, as a share of the terms that it is a sum of.
        name: of the function that users call, which says what the solver takes.
        unknowns: takes a row of unknowns to what the solver takes; its `row` takes that back.
        settings: how many of the program's last results are what the solver takes beside the start.
        taken: the structure of what the solver takes; None where that is F.
    """

    def __init__(
        self,
        of: ClosedProgram,
        solver: Callable[..., Any] | None,
        tolerance: float,
        name: str,
        unknowns: Any,
        settings: int = 0,
        taken: Any = None,
    ) -> None:
        self.of, self.solver, self.tolerance, self.name, self.unknowns = of, solver, tolerance, name, unknowns
        self.settings, self.taken = settings, taken
        self.key = (of.key, solver, tolerance, name, unknowns, settings, taken)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImplicitEquation) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<equation of {self.of.program.label}>"

    @property
    def operand_types(self) -> list[Any]:
        """Types of what its ops take, which are x, a, and what the program captured."""
        return self.of.operand_types

    # -- numbers -------------------------------------------------------------------------------------------------------

    def values(self, x: Any, given: Sequence[Array]) -> list[Any]:
        """Return F, and what the solver takes; traced ones where a solver differentiates."""
        if isinstance(x, TracedArray):
            return inline(self.of.hoisted, traced_operands([x, *given]))
        return [np.asarray(found) for found in prepared_call(self.of).run([x, *given])]

    def for_solver(self, values: Sequence[Any]) -> Any:
        """Return what the solver takes, of what `values` returned."""
        if self.taken is None:
            return self.unknowns(values[0])
        return tree.unflatten(self.taken, [x[()] for x in values[1 : len(values) - self.settings]])

    def residual(self, x: Array, given: Sequence[Array]) -> Array:
        """Return F."""
        found: Array = self.values(x, given)[0]
        return found

    def jacobian(self, x: Array, given: Sequence[Array], output: int = 0) -> Any:
        """Return ∂F/∂x, as SciPy's sparse array where most of it is zero; or that of what the solver takes."""
        share = SPARSE_SHARE if len(x) >= SPARSE_FROM else 0.0
        return RecordedJacobian(self.of, output).at([x, *given], share)

    def factors(self, x: Array, given: Sequence[Array]) -> MatrixFactors:
        """Return the factors of the Jacobian at a solution, which are kept.

        Raises:
            MatrixError: where the Jacobian is singular there, as where two solutions meet.
        """
        digest = hashlib.blake2b(digest_size=32)
        for value in (x, *given):
            digest.update(np.ascontiguousarray(value).data)
        key = FactorsKey(self.of.key, digest.digest())
        found: MatrixFactors = FACTORS.get(key, lambda: self._regular(x, given))
        return found

    def _regular(self, x: Array, given: Sequence[Array]) -> MatrixFactors:
        matrix = self.jacobian(x, given)
        if not np.isfinite(matrix if isinstance(matrix, np.ndarray) else matrix.data).all():
            raise NotFiniteError(
                f"{self.name}: the Jacobian at the solution is not finite",
                fix="begin the search elsewhere, where f has finite derivatives.",
            )
        reason = "A small change of what it depends on would not change the solution by a small amount, or not at all."
        try:
            factors = MatrixFactors(matrix)
        except np.linalg.LinAlgError as error:
            raise self._singular(reason, str(error)) from None
        if self._is_fold(factors, x, given):
            raise self._singular(reason, "two solutions meet here")
        return factors

    def _is_fold(self, factors: MatrixFactors, x: Array, given: Sequence[Array]) -> bool:
        """Say whether the Jacobian differs from itself within what is not known of the solution.

        It is looked at in the direction in which the inverse is largest: one step of inverse iteration finds it where
        that matters.
        """
        with np.errstate(all="ignore"):
            weak = factors.solve(np.ones_like(x))
            weak = weak / np.linalg.norm(weak)
            unknown = np.sqrt(np.finfo(x.dtype).eps) * np.max(np.abs(x), initial=0.0)
            there = x - factors.solve(self.residual(x, given)) - unknown * weak
            change = (self.jacobian(there, given) - factors.matrix) @ weak
            return bool(np.linalg.norm(factors.solve(change)) > FOLD)

    def _singular(self, reason: str, found: str) -> MatrixError:
        return MatrixError(
            f"{self.name}: the Jacobian is singular at the solution ({found}), so it has no derivative",
            why=reason,
            fix="take the derivative away from such a point, or let the equation say which solution is meant.",
        )

    # -- programs ------------------------------------------------------------------------------------------------------

    @property
    def is_affine(self) -> bool:
        """Whether the Jacobian is the same at every x."""

        def found() -> bool:
            along = self.along(transposed=False)
            return not dependents(along.nodes, along.inputs[:1]).intersection(along.outputs)

        return bool(derived("equation is affine", self.of, (), found))

    def tangent(self, active: tuple[bool, ...]) -> Program:
        """Return the program (x, a, tangents of the active inputs) -> tangent of F."""
        found: Program = derived(
            "equation's tangent",
            self.of,
            active,
            lambda: expand(tangent_of(restricted(self.of.hoisted, 0, 0), active, True)),
        )
        return found

    def along(self, transposed: bool) -> Program:
        """Return the program (x, a, v) -> ∂F/∂x v, or its transpose times v."""

        def made() -> Program:
            program = restricted(self.of.hoisted, 0, 0)
            if not transposed:
                return expand(tangent_of(program, only(program, 0), True))
            back = reverse.vjp(program, only(program, 0))
            return expand(Program(back.trace, back.inputs, back.outputs[1:]))

        found: Program = derived("equation along", self.of, transposed, made)
        return found

    def change_along(self, active: tuple[bool, ...], transposed: bool) -> Program:
        """Return the program (x, a, v, tangents of active ones of x and a) -> tangent of what `along` gives."""
        found: Program = derived(
            "equation's change along",
            self.of,
            (active, transposed),
            lambda: expand(tangent_of(self.along(transposed), (*active, False), True)),
        )
        return found
