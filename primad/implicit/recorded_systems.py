"""Equations whose solver is recorded: its steps are part of the program, and run natively with what is around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import MatrixError
from primad.functional.control.while_loops import while_loop
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM
from primad.functional.derived_calls import Call
from primad.implicit.equations import FOLD, Array, ImplicitEquation
from primad.implicit.krylov_methods import LinearResidual
from primad.implicit.solution_search import MOST_POLISHING, MOST_STEPS, ROUNDED, returned
from primad.ir.program import ClosedProgram, Program
from primad.programs.derived_programs import derived
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.calling import arrays, traced_operands
from primad.runtime.executors.dispatch import prepared_call
from primad.transforms import batching
from primad.transforms.lowering import inline

MOST_PASSES = 4
"""Times that a solver is applied, each to what the one before left of the right side. Chosen: one that stops at a share
of 1e-5 is exact to the last digit after three."""


LEFT = 1e-9
"""What a pass may leave, as a share of the right side, so that there is no further one. Chosen: ten times what our own
solvers leave."""

HELPS = 0.1
"""What a pass leaves of what the one before left, at most, where a further one helps. Chosen: rounding errors stay."""

EXACT = 1e-10
"""What a residual may be, as a share of its terms, for a recorded solver's result to be taken as it is: derivatives are
then exact to ten digits, and the Jacobian need not be computed as a whole. Chosen: solvers that square their errors
end below it."""


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
        numbers = of.program.source_values  # which are exponents in what the other solution takes
        return prepared_call(of).run([*values, *numbers])[0]


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
    if not of.is_affine:
        return None

    def solutions(b: Any, *operands: Any) -> list[Any]:
        return [_in_passes(of, b, operands, transposed) for transposed in ((False, True) if both else (False,))]

    found = _recorded(solutions, (operands[0], *operands), both)
    return None if found is None else (RecordedSystem(of, found[0]), found[1])


def recorded_root(
    of: ImplicitEquation, operands: Sequence[Any], is_traced: bool
) -> tuple[RecordedRoot, list[Any]] | None:
    """Return an equation with a recorded solver, and what the solver captured; None where there is none.

    Newton's steps that follow factorise the Jacobian: that of few unknowns only is computed as a whole in a program.

    Args:
        of: the equation, with its solver.
        operands: of the equation; only their types matter.
        is_traced: whether some of them are traced.
    """
    x0 = operands[0]
    if x0.size >= SPARSE_FROM or x0.dtype not in (np.float32, np.float64):
        return None
    found = _recorded(lambda *operands: [_searched(of, *operands)], operands, is_traced)
    return None if found is None else (RecordedRoot(of, found[0]), found[1])


def _recorded(
    function: Callable[..., Any], args: Sequence[Any], is_traced: bool
) -> tuple[ClosedProgram, list[Any]] | None:
    """Record a solver; return its program, and the values that it captured."""
    try:
        program = Call(function, args, known=False).program
    except Exception:  # what the user's code raises where it is given no numbers
        return None
    if any(type != program.in_types[0] for type in program.out_types):
        return None
    near = [x for x in args if isinstance(x, TracedArray)]
    if is_traced or program.captured:
        return ClosedProgram(program), list(traced_operands([*near, *program.sources])[len(near) :])
    return ClosedProgram(program), arrays(program.source_values)


def _in_passes(of: ImplicitEquation, b: Any, operands: Sequence[Any], transposed: bool) -> Any:
    """Apply the solver until what it leaves of b is below the tolerance; where that is never, the loop fails.

    It is applied to what is below the tolerance only as long as that helps: an error of 1e-6 of b may be one of 1e-2 of
    x.
    """
    unknowns, along = of.unknowns, of.along(transposed)
    zeros: Array = np.zeros(b.shape, b.dtype)

    def times(row: Any) -> Any:
        return inline(along, traced_operands([*operands, row]))[0]

    def solution(right: Any) -> Any:
        assert of.solver is not None
        return unknowns.row(returned(of.solver(LinearResidual(times, right, unknowns), unknowns(zeros))))

    size, rounded = pnp.max(abs(b), initial=0.0), ROUNDED * float(np.finfo(b.dtype).eps)
    least, exact = [max(share, rounded) * size for share in (of.tolerance, min(of.tolerance, LEFT))]

    def is_left(state: Any) -> Any:
        left = pnp.max(abs(state[1]), initial=0.0)
        is_small = (left <= least) & (left < np.inf)  # what is NaN or infinite is left too
        return ~is_small | ((left > exact) & (left <= HELPS * state[2]) & (state[3] < MOST_PASSES))

    def step(state: Any) -> Any:
        x = state[0] + solution(state[1])
        return x, b - times(x), pnp.max(abs(state[1]), initial=0.0), state[3] + 1

    return while_loop(is_left, step, (zeros, b, size, 0), MOST_PASSES)[0]


# -- equations that are not linear -------------------------------------------------------------------------------------


class DenseSystem(ImplicitEquation):
    """The linear system at a solution of an equation of few unknowns, with factors that the program computes."""

    def __init__(self, of: ImplicitEquation) -> None:
        own = of.of, None, of.tolerance, of.name, of.unknowns, of.settings
        super().__init__(*own)
        self.equation = ImplicitEquation(*own)
        self.key: Any = (*self.key, "dense")

    def steps(self, transposed: bool) -> Program:
        """Return the program (b, x, a) -> the solution with the Jacobian at x or with its transpose."""
        types = self.of.operand_types

        def made() -> Program:
            return program_of([types[0], *types], lambda b, *operands: [self._solution(b, operands, transposed)])

        found: Program = derived("dense system", self.of, transposed, made)
        return found

    def run(self, transposed: bool, values: Sequence[Any]) -> Any:
        """Run the steps on arrays."""
        b, *operands = values
        return self.equation.factors(operands[0], operands[1:]).solve(np.asarray(b), transposed)

    def _solution(self, b: Any, operands: Sequence[Any], transposed: bool) -> Any:
        """Solve, and fail at a fold: what `ImplicitEquation.factors` says of it is said there."""
        x, *given = operands
        columns = _columns(self, operands)
        matrix, factored = (columns, columns.T) if transposed else (columns.T, columns.T)
        ones = np.ones(x.shape, x.dtype)
        weak = pnp.linalg.solve(factored, ones)
        weak = weak / pnp.linalg.norm(weak)
        unknown = np.sqrt(np.finfo(x.dtype).eps) * pnp.max(abs(x))
        there = x - pnp.linalg.solve(factored, _residual(self, operands)) - unknown * weak
        change = _along(self, [there, *given], weak) - _along(self, operands, weak)
        is_fold = ~(pnp.linalg.norm(pnp.linalg.solve(factored, change)) <= FOLD)
        return while_loop(lambda u: is_fold, lambda u: u + 1, pnp.linalg.solve(matrix, b), 1)


class RecordedRoot(ImplicitEquation):
    """An equation with a solver that is a program. Its ops take the equation's operands, then what the solver captured.

    Attributes:
        equation: the equation with its solver as it was given.
        system: the linear system at a solution.
    """

    def __init__(self, of: ImplicitEquation, found: ClosedProgram) -> None:
        super().__init__(of.of, None, of.tolerance, of.name, of.unknowns, of.settings)
        self.equation, self.system, self._found = of, DenseSystem(of), found
        self.key: Any = (*self.key, found.key)

    @property
    def operand_types(self) -> list[Any]:
        """Types of what its ops take."""
        return self._found.operand_types

    @property
    def steps(self) -> Program:
        """The program (x0, a, what the solver captured) -> the solution."""
        return self._found.hoisted

    def run(self, values: Sequence[Any]) -> Any:
        """Run the steps on arrays."""
        return prepared_call(self._found).run(values)[0]


def _residual(of: ImplicitEquation, operands: Sequence[Any]) -> Any:
    return inline(of.of.hoisted, traced_operands(operands))[0]


def _along(of: ImplicitEquation, operands: Sequence[Any], v: Any) -> Any:
    return inline(of.along(False), traced_operands([*operands, v]))[0]


def _columns(of: ImplicitEquation, operands: Sequence[Any]) -> Any:
    """Return the columns of the Jacobian, as rows."""
    count = operands[0].size
    program = batching.vmap(of.along(False), [*[False] * len(operands), True], count)
    return inline(program, traced_operands([*operands, np.eye(count, dtype=operands[0].dtype)]))[0]


def _searched(of: ImplicitEquation, x0: Any, *given: Any) -> Any:
    """Return the solution that the user's solver and Newton's steps find; fail wherever `solve` has more to look at."""
    unknowns, results = of.unknowns, len(of.of.out_types) - of.settings
    assert of.solver is not None

    def values(x: Any) -> list[Any]:
        return inline(of.of.hoisted, traced_operands([x, *given]))

    def function(x: Any) -> Any:
        return of.for_solver(values(unknowns.row(x).astype(x0.dtype)))

    settings = values(x0)[results:]
    x = unknowns.row(returned(of.solver(function, unknowns(x0), *settings))).astype(x0.dtype)
    found, first = values(x)[0], abs(values(x0)[0])
    eps = float(np.finfo(x0.dtype).eps)
    tolerance = max(of.tolerance, ROUNDED * eps)
    least = abs(_along(of, [x, *given], x))  # at least so large are the terms: less than |J| |x|
    is_exact = (abs(found) <= max(min(tolerance, EXACT), ROUNDED * eps) * least) & (eps * first <= tolerance * least)
    is_exact = is_exact & np.isfinite(found)

    def step(state: Any) -> Any:
        x, found, count, _, is_doubtful = state
        matrix = _columns(of, [x, *given]).T
        near = abs(matrix) @ pnp.maximum(abs(x), abs(x0))
        scale = pnp.maximum(abs(matrix) @ abs(x), pnp.max(first))  # of infinite ones nothing is sure
        is_sure = (abs(found) <= tolerance * pnp.minimum(scale, near)) & (eps * first <= tolerance * near)
        is_sure = is_sure & np.isfinite(found)
        new = x - pnp.linalg.solve(matrix, found)
        after = values(new)[0]
        rows = pnp.sum(abs(matrix), axis=1)
        is_better = pnp.linalg.norm(after / rows) < 0.5 * pnp.linalg.norm(found / rows)
        goes_on = is_better & (count + 1 < MOST_POLISHING) & pnp.any(abs(after) > eps * near)
        is_doubtful = is_doubtful | ((count == 0) & ~pnp.all(is_sure))
        return pnp.where(is_better, new, x), pnp.where(is_better, after, found), count + 1, goes_on, is_doubtful

    start = (x, found, 0, ~pnp.all(is_exact), False)
    return while_loop(lambda state: state[3] | state[4], step, start, MOST_POLISHING)[0]


# -- solutions within loops --------------------------------------------------------------------------------------------


WITHIN_LOOPS = {"root": False, "fixed_point": False, "linear_solve": False, "minimize": True, "least_squares": True}
"""Whose solutions Newton's steps find in loops, and whether the Jacobian, a Hessian, is to be positive definite on the
way: that it is a minimum that is found."""


def is_dense(of: ImplicitEquation) -> bool:
    """Say whether an equation has so few unknowns that a program computes the Jacobian as a whole."""
    x0 = of.operand_types[0]
    return x0.size < SPARSE_FROM and x0.dtype in (np.float32, np.float64)


def has_newtons_steps(of: ImplicitEquation) -> bool:
    """Say whether Newton's steps may find the solution of an equation without a solver of the user's."""
    return of.solver is None and of.name in WITHIN_LOOPS and is_dense(of)


def newtons_steps(of: ImplicitEquation) -> Program:
    """Return the program (x0, a) -> the solution by Newton's steps; it fails where these do not lead to one at once."""
    types, is_minimum = of.operand_types, WITHIN_LOOPS[of.name]

    def made() -> Program:
        return program_of(types, lambda x0, *given: [_by_newton(of, x0, given, is_minimum)])

    found: Program = derived("Newton's steps", of.of, (of.tolerance, is_minimum), made)
    return found


def _by_newton(of: ImplicitEquation, x0: Any, given: Sequence[Any], is_minimum: bool) -> Any:
    """Take Newton's steps, shorter ones where the residual would grow, until the next one would be a rounding error.

    Residuals are compared in units of the rows of the Jacobian at the start. Its determinant keeps its sign on the way:
    where it changes there is another solution near, and which is found would be chance. Where that is so, and where the
    residual does not say that this is a solution, the loop does not end, and fails.
    """
    eps = float(np.finfo(x0.dtype).eps)
    tolerance = max(of.tolerance, ROUNDED * eps)

    def step(state: Any) -> Any:
        x, move, norm, size, share, first, rows, sign, _ = state
        is_first = size == np.inf
        new = x - share * move
        found, matrix = _residual(of, [new, *given]), _columns(of, [new, *given]).T
        after = pnp.linalg.solve(matrix, found)
        first = pnp.where(is_first, abs(found), first)
        rows = pnp.where(is_first, pnp.sum(abs(matrix), axis=1), rows)
        own = _direction(matrix, is_minimum)
        sign = pnp.where(is_first | (own == sign), own, 0)
        scale = pnp.maximum(pnp.max(abs(new)), pnp.max(abs(x0)))
        square, length = pnp.sum(pnp.square(found / rows)), pnp.max(abs(after))
        goes = is_first | (square <= norm)
        ratio = pnp.where(is_first, 1, length / size)  # which is squared from step to step
        is_rounded = length * pnp.square(ratio) <= eps * pnp.max(abs(new))
        terms, near = abs(matrix) @ abs(new), abs(matrix) @ pnp.maximum(abs(new), abs(x0))
        left = abs(found) / pnp.minimum(pnp.maximum(terms, pnp.max(first)), near)
        left = pnp.where(found == 0, 0, left)
        is_small = is_rounded & pnp.all(left <= np.sqrt(eps))
        is_known = (sign != 0) & pnp.all(eps * first <= tolerance * near)
        ends = goes & is_small & is_known & (length <= np.sqrt(eps) * scale)
        share = pnp.where(goes, pnp.minimum(2 * share, 1), share / 2)
        kept = [pnp.where(goes, *pair) for pair in ((new, x), (after, move), (square, norm), (length, size))]
        return (*kept, share, first, rows, sign, ends)

    zeros, (square, size, share, sign) = np.zeros_like(x0), np.array([np.inf, np.inf, 0.5, 0.0], x0.dtype)
    start = (x0, zeros, square, size, share, zeros, zeros, sign, np.False_)
    found = while_loop(lambda state: ~state[-1], step, start, MOST_STEPS)
    return found[0] - found[1]


def _direction(matrix: Any, is_minimum: bool) -> Any:
    """Return the sign of the determinant of a matrix; of a Hessian 1 where it is positive definite."""
    if is_minimum:
        return pnp.sign(pnp.min(pnp.diagonal(pnp.linalg.cholesky(matrix))))
    return pnp.linalg.slogdet(matrix)[0]
