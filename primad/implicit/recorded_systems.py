"""Linear systems whose solver is recorded: its steps are part of the program, and run natively with what is around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import MatrixError
from primad.functional.control.while_loops import while_loop
from primad.functional.derived_calls import Call
from primad.implicit.equations import Array, ImplicitEquation
from primad.implicit.krylov_methods import LinearResidual
from primad.implicit.solution_search import ROUNDED
from primad.ir.program import ClosedProgram, Program
from primad.programs.derived_programs import derived
from primad.recording.traced_array import TracedArray
from primad.runtime.calling import arrays, traced_operands
from primad.runtime.executors.dispatch import prepared_call
from primad.transforms.lowering import inline

MOST_PASSES = 4
"""Times that a solver is applied, each to what the one before left of the right side. Chosen: one that stops at a share
of 1e-5 is exact to the last digit after three."""


class LinearEquation(ImplicitEquation):
    """An equation that is linear in x: where its matrix is singular there is no solution."""

    def _singular(self, reason: str, found: str) -> MatrixError:
        return MatrixError(
            f"{self.name}: the matrix is singular ({found})",
            why="The solver's steps do not arrive, and the matrix has no factors.",
            fix="leave out equations that follow from others, or fix the unknowns that they leave open.",
        )


class RecordedSystem(ImplicitEquation):
    """A x = b for an equation that is linear in x, with a solver that is a program.

    Its ops take b, then the equation's operands (of which x says the type only), then what the solver captured.

    Attributes:
        equation: the equation without its solver.
        solvers: the program (b, the equation's operands) -> solutions with A and, if asked for, with its transpose.
    """

    def __init__(self, of: ImplicitEquation, solvers: ClosedProgram) -> None:
        own = of.of, None, of.tolerance, of.name, of.unknowns, of.settings
        super().__init__(*own)
        self.equation = LinearEquation(*own)
        self.solvers = solvers
        self.key: Any = (*self.key, solvers.key, len(solvers.out_types))

    @property
    def operand_types(self) -> list[Any]:
        """Types of what its ops take behind b."""
        return self.solvers.operand_types[1:]

    def steps(self, transposed: bool) -> Program:
        """Return the program (b, x, a, what the solver captured) -> the solution with A or with its transpose."""

        def made() -> Program:
            whole = self.solvers.hoisted
            return Program(whole.trace, whole.inputs, [whole.outputs[int(transposed)]])

        found: Program = derived("solver's steps", self.solvers, transposed, made)
        return found

    def run(self, transposed: bool, values: Sequence[Any]) -> Any:
        """Run the steps on arrays."""
        of: ClosedProgram = derived("solver", self.solvers, transposed, lambda: ClosedProgram(self.steps(transposed)))
        return prepared_call(of).run(values)[0]


def recorded_system(
    of: ImplicitEquation, operands: Sequence[Any], both: bool
) -> tuple[RecordedSystem, list[Any]] | None:
    """Return an equation that is linear in x as a system with a recorded solver, and what the solver captured.

    None where the function is not linear in x, or the solver cannot be recorded: it branches on values, or calls
    code that takes arrays only.

    Args:
        of: the equation, with its solver.
        operands: of the equation; only their types matter.
        both: whether the transposed system will be solved too.
    """
    if not _is_linear(of):
        return None

    def solutions(b: Any, *operands: Any) -> list[Any]:
        return [_in_passes(of, b, operands, transposed) for transposed in ((False, True) if both else (False,))]

    try:
        call = Call(solutions, (operands[0], *operands), known=False)
    except Exception:  # what the user's code raises where it is given no numbers
        return None
    if any(type != operand.type for type, operand in zip(call.program.out_types, call.program.inputs, strict=False)):
        return None
    if call.program.captured or both:
        beside: list[Any] = [*call.program.sources]
    else:
        beside = arrays(call.program.source_values)
    near = [x for x in operands if isinstance(x, TracedArray)]
    if call.program.captured or near:
        beside = traced_operands([*near, *beside])[len(near) :]
    return RecordedSystem(of, ClosedProgram(call.program)), beside


def _is_linear(of: ImplicitEquation) -> bool:
    """Say whether the derivative in x does not depend on x."""
    along = of.along(False)
    x = along.inputs[0]
    return x not in along.outputs and not any(x in node.inputs for node in along.nodes)


def _in_passes(of: ImplicitEquation, b: Any, operands: Sequence[Any], transposed: bool) -> Any:
    """Apply the solver until what it leaves of b is below the tolerance; where that is never, the loop fails."""
    unknowns, along = of.unknowns, of.along(transposed)
    zeros: Array = np.zeros(b.shape, b.dtype)

    def times(row: Any) -> Any:
        return inline(along, traced_operands([*operands, row]))[0]

    def solution(right: Any) -> Any:
        assert of.solver is not None
        found = of.solver(LinearResidual(times, right, unknowns), unknowns(zeros))
        return unknowns.row(getattr(found, "x", getattr(found, "root", getattr(found, "params", found))))

    least = max(of.tolerance, ROUNDED * float(np.finfo(b.dtype).eps)) * pnp.max(abs(b))
    is_left: Callable[[Any], Any] = lambda state: ~(pnp.max(abs(state[1])) <= least)  # noqa: E731  # NaN is left too

    def step(state: Any) -> Any:
        x = state[0] + solution(state[1])
        return x, b - times(x)

    return while_loop(is_left, step, (zeros, b), MOST_PASSES)[0]
