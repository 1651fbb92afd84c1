"""Solvers of SciPy's for equations that are recorded: a call with its options as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import DomainError, NotDifferentiableError
from primad.implicit.recorded_equations import solved
from primad.scipy.traced_calls import has_traced

TOLERANCE = 1e-4
"""How large a residual may be at what one of SciPy's solvers found, as a share of its terms. Chosen: by their defaults
they stop at 1e-5 or below, and Newton's steps follow."""
DEGENERATE = 1e-9
"""How small a multiplier and what is left of its constraint may both be, as a share of the largest of their kind.
Chosen: SciPy's solvers of linear programs and of linear least squares are exact to 1e-10."""
Function = Callable[..., Any]


class SolverCall:
    """One of SciPy's solvers with its options, as `solver=` of an equation; equal for equal options.

    Args:
        call: (function, x0, *settings, **options) -> x, or SciPy's result; a function at the top of a module.
        options: plain values.
    """

    def __init__(self, call: Function, **options: Any) -> None:
        if has_traced(list(options.values())):
            name = next(key for key, value in options.items() if has_traced(value))
            raise NotDifferentiableError(
                f"{name} of a solver is traced",
                why="It says how a solution is found, which has no derivative.",
                fix=f"pass a plain number: primad.value({name}).",
            )
        self._call, self._options = call, options
        self._key = (call, _frozen(options))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SolverCall) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self, function: Function, x0: Any, *settings: Any) -> Any:
        """Find a solution.

        Raises:
            DomainError: if SciPy's result says that it found none.
        """
        found = self._call(function, x0, *settings, **self._options)
        if not getattr(found, "success", True):
            raise DomainError(
                f"scipy.optimize found no solution: {getattr(found, 'message', '')}",
                fix="start nearer to the solution, or choose another method.",
            )
        return found


def _frozen(value: Any) -> Any:
    """Return what stands for a value in a key."""
    if isinstance(value, dict):
        return (dict, *[(key, _frozen(value[key])) for key in sorted(value)])
    if isinstance(value, (list, tuple)):
        return (type(value), *map(_frozen, value))
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    return (type(value), value) if type(value).__hash__ is not None else _SameObject(value)


class _SameObject:
    """Something that is equal to itself alone."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def solution_of(
    function: Function,
    x0: Any,
    call: Function | None,
    name: str,
    settings: tuple[Any, ...] = (),
    **options: Any,
) -> Any:
    """Return the solution of an equation that one of SciPy's solvers finds.

    Args:
        function: x -> (what is zero, what the solver takes if that is something else).
        x0: a start, or any value like the solution.
        call: (function, x0, *settings, **options) -> x; None for what `primad.implicit` has.
        name: of SciPy's function.
        settings: of the solver, which may be traced.
        options: plain ones.
    """
    solver = None if call is None else SolverCall(call, **options)
    return solved(function, x0, (), solver, TOLERANCE, name, settings)


def refuse_degenerate(name: str, what: str, multipliers: Any, room: Any, small: Any, near: Any) -> None:
    """Raise where a constraint holds with equality, and its multiplier is zero to rounding.

    Args:
        name: of SciPy's function.
        what: the constraints are.
        multipliers: one for each.
        room: what is left of each; zero where it holds with equality.
        small: how large a multiplier may be that counts as zero: a number, or one for each.
        near: the same of what is left.

    Raises:
        DomainError: with the place of the first one.
    """
    twice = (np.abs(multipliers) <= small) & (room <= near)
    if twice.any():
        raise DomainError(
            f"{name}: the solution is degenerate: {what} {int(np.argmax(twice))} holds with equality, and its "
            "multiplier is 0",
            why="To one side of here the constraint is active, to the other it is not, or another solution is as good: "
            "the solution has no derivative.",
            fix="leave out what is redundant, or change the numbers a little.",
        )
