"""Recording an equation with its solver: what all functions that contain one share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ShapeError
from primad.functional.derived_calls import Call
from primad.implicit import krylov_methods
from primad.implicit.equations import ImplicitEquation
from primad.implicit.recorded_systems import RecordedRoot, recorded_root, recorded_system
from primad.implicit.solution_ops import solution, stepwise_root, stepwise_solution
from primad.implicit.unknowns import Unknowns, numbers
from primad.ir.key import Key
from primad.ir.program import ClosedProgram
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of
from primad.runtime.cache import Cache
from primad.runtime.calling import arrays, traced_operands
from primad.system.process import MOST_KEPT

TOLERANCE = 1e-6
"""How large a residual may be at a solution, as a share of the terms that it is a sum of. Chosen: solvers stop at 1e-8,
and what does not converge stays at 1."""


def solved(
    function: Callable[..., Any],
    x0: Any,
    args: Any,
    solver: Any,
    tolerance: float,
    name: str,
    settings: Sequence[Any] = (),
    of: Callable[..., Any] | None = None,
) -> Any:
    """Return the solution of an equation, a tree like x0.

    Args:
        function: (x, *args) -> what is zero at the solution, and what the solver takes if that is something else.
        x0: where to start.
        args: what the equation depends on.
        solver: the user's.
        tolerance: of the residual.
        name: what users call.
        settings: arrays that the solver takes beside the start, such as bounds; they may be traced.
        of: the user's function, where that is not `function`: while it does the same in a further call, what was
            recorded and planned is taken again.
    """
    _check_options(name, solver, tolerance)
    unknowns = Unknowns(x0, name)

    def equation(row: Any, settings: Any, *args: Any) -> Any:
        found, *others = function(unknowns(row), *args)
        residual = as_row(name, found, unknowns)
        if residual.shape != row.shape:
            is_complex = residual.size == 2 * row.size and any(type_of(x).is_complex for x in tree.leaves(found))
            raise ShapeError(
                f"{name}: the function has {residual.size} results for {row.size} unknowns",
                why="A complex number is two; the function's are complex, and x0 is real." if is_complex else "",
                fix="start at complex numbers: x0 + 0j."
                if is_complex
                else "give as many equations as unknowns; least_squares takes any number.",
            )
        return [residual, *others, *settings]

    row = unknowns.row(x0)
    call = Call(equation, (row, tuple(settings), *args), known=False, of=function if of is None else of)
    count = len(settings)
    others = call.out_tree.children()[1 : len(call.out_tree.children()) - count]
    program = ClosedProgram(call.program)
    implicit = ImplicitEquation(program, solver, tolerance, name, unknowns, count, *others)
    found = solved_in_steps(implicit, call)
    if found is not None:
        return unknowns(found)
    if call.nested:
        return unknowns(solution(*traced_operands([*call.leaves, *call.program.sources]), of=implicit))
    return unknowns(solution(*arrays([*call.leaves, *call.program.source_values]), of=implicit))


class StepsKey(NamedTuple):
    """An equation, and a solver for it."""

    of: Key
    solver: Any
    kind: str = "steps"


UNRECORDED = Cache(MOST_KEPT)
"""Which solvers could not be recorded: trying again would take as long as finding a solution of one unknown."""


def solved_in_steps(of: ImplicitEquation, call: Call) -> Any:
    """Return the solution by a solver that can be recorded, as a row; None where it cannot be.

    Args:
        of: the equation, with its solver.
        call: its recording.
    """
    key = StepsKey(of.of.key, of.solver)
    if of.solver is None or of.name not in RECORDED or UNRECORDED.find(key):
        return None
    is_traced = call.nested
    operands: list[Any] = (
        traced_operands([*call.leaves, *call.program.sources])
        if is_traced
        else arrays([*call.leaves, *call.program.source_values])
    )
    found = RECORDED[of.name](of, operands, is_traced)
    if found is None:
        UNRECORDED.put(key, True)
        return None
    recorded, beside = found
    if any(isinstance(x, TracedArray) for x in beside) and not is_traced:
        operands = traced_operands([*operands, *beside])[: len(operands)]
    if isinstance(recorded, RecordedRoot):
        return stepwise_root(*operands, *beside, of=recorded)
    right = -of.values(operands[0], operands[1:])[0]
    return stepwise_solution(right, *operands, *beside, of=recorded, transposed=False)


RECORDED: dict[str, Any] = {"linear_solve": recorded_system, "root": recorded_root, "fixed_point": recorded_root}
"""What records the solvers of the functions that users call, where it is known what a solver's steps are to reach."""


def _check_options(name: str, solver: Any, tolerance: Any) -> None:
    if solver is not None and not callable(solver):
        way = f"pass one: solver={_meant(solver)}."
        raise ShapeError(f"{name}: solver must be a function, got {solver!r}", fix=way)
    is_number = isinstance(tolerance, (int, float, np.integer, np.floating)) and not isinstance(tolerance, bool)
    if not is_number or not 0 < tolerance < np.inf:
        raise ShapeError(
            f"{name}: tolerance must be a positive number, got {tolerance!r}",
            fix=f"leave it out: it is {TOLERANCE:g}, a share of the terms of the residual.",
        )


def _meant(solver: Any) -> str:
    """Return the function that a name is likely to mean, as it is written."""
    from scipy import optimize  # loads when something is wrong

    name = solver if isinstance(solver, str) else ""
    if name in krylov_methods.__all__:
        return f"primad.implicit.{name}"
    return f"lambda f, x0: {f'scipy.optimize.{name}(f, …)' if callable(getattr(optimize, name, None)) else '…'}"


def check_function(name: str, function: Any) -> None:
    """Raise if what is to be solved is no function."""
    if not callable(function):
        raise ShapeError(
            f"{name} takes a function of the unknowns first, got a {type(function).__name__}",
            fix=f"{name}(lambda x: …, x0).",
        )


def as_row(name: str, found: Any, unknowns: Unknowns) -> Any:
    """Return what a function gives as one row."""
    leaves = tree.leaves(found)
    if not leaves or any(leaf is None for leaf in leaves):
        raise ShapeError(
            f"{name}: the function returns {found!r}, which is no number", fix="return what is zero at the solution."
        )
    return numbers(leaves, unknowns.dtype)


def differences(name: str, found: Any, wanted: Any, of: str) -> list[Any]:
    """Return the leaves of what a function gives, less those of a tree that it is to be like."""
    pair = [tree.leaves(found), tree.leaves(wanted)]
    shapes = [tuple([np.shape(leaf) for leaf in leaves]) for leaves in pair]
    if shapes[0] != shapes[1]:
        raise ShapeError(
            f"{name}: the function gives the shapes {shapes[0]} for {of} of the shapes {shapes[1]}",
            fix="give what the function takes.",
        )
    return [a - b for a, b in zip(*pair, strict=True)]
