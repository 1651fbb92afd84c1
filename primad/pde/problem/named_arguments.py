"""Functions that take what they need by name: coordinates, unknowns, coefficients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError, TracingError, suggestion
from primad.pde.geometry.point_arguments import numbers

Function = Callable[..., Any]


def arguments(function: Function, what: str, example: str = "x") -> tuple[str, ...]:
    """Return the names of the arguments that a function wants.

    Args:
        function: the function; arguments with a default are its own.
        what: whose function it is, for messages.
        example: what it might ask for, for messages.

    Raises:
        TracingError: if it is no function, or takes what has no name.
    """
    if not callable(function):
        raise TracingError(
            f"{what} is a number or a function of named arguments, got {type(function).__name__}",
            fix=f"write a function of coordinates: lambda {example}: np.sin({example}).",
        )
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise _nameless(what, getattr(function, "__name__", repr(function)), example) from None
    found = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _nameless(what, getattr(function, "__name__", repr(function)), example)
        if parameter.default is parameter.empty:
            found.append(parameter.name)
    return tuple(found)


def _nameless(what: str, name: str, example: str) -> TracingError:
    written = name if name.isidentifier() else "…"
    return TracingError(
        f"{what}: the arguments of {name} have no names",
        why="Functions are given what they ask for by name.",
        fix=f"write lambda {example}: {written}({example}), with the names of coordinates.",
    )


def check_arguments(function: Function, known: Mapping[str, str], what: str, fix: str = "") -> tuple[str, ...]:
    """Return the names of the arguments that a function wants, which must be known.

    Args:
        function: the function.
        known: what there is, by name, and what kind of thing it is.
        what: whose function it is, for messages.
        fix: what to do where it wants something else, if it is not to give that to the problem.

    Raises:
        ProblemError: if it wants something else.
    """
    wanted = arguments(function, what, next((name for name, kind in known.items() if kind == "coordinates"), "x"))
    for name in wanted:
        if name not in known:
            kinds: dict[str, list[str]] = {}
            for other, kind in known.items():
                kinds.setdefault(kind, []).append(other)
            have = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
            raise ProblemError(
                f"{what} asks for {name!r}, which is not known",
                why=f"There are {have}.",
                fix=suggestion(name, known)
                or fix
                or "give it to the problem as one of its unknowns, coefficients or constants, or take it out.",
            )
    return wanted


def check_exact(function: Function, name: str, coordinates: Sequence[str]) -> None:
    """Raise unless the right values of an unknown are a function of coordinates, or of `points`.

    Raises:
        ProblemError: if the function asks for something else.
        TracingError: if it is none.
    """
    known = dict.fromkeys(coordinates, "coordinates") | {"points": "all in one array"}
    check_arguments(function, known, f"the exact {name}", f"write {name}=lambda {', '.join(coordinates)}: ….")


def by_name(function: Function, values: Mapping[str, Any]) -> Any:
    """Call a function with what it asks for."""
    return function(**{name: values[name] for name in arguments(function, "a function")})


def on_points(value: Any, columns: Mapping[str, Any], count: int, what: str) -> np.ndarray[Any, Any]:
    """Return a number, or a function of coordinates, at points.

    Args:
        value: the number or function.
        columns: the coordinates, and what else there is, by name.
        count: how many points there are.
        what: whose value it is, for messages.

    Raises:
        ProblemError: if a value is NaN or infinite, or there are too many or too few.
    """
    found = numbers(by_name(value, columns) if callable(value) else value)
    if found.ndim and found.shape != (count,):
        raise ProblemError(f"{what} has the shape {found.shape} at {count} points", fix="return one number a point.")
    found = np.broadcast_to(found, (count,)).copy()
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        place = ", ".join(f"{name} = {column[bad[0]]:g}" for name, column in columns.items() if np.ndim(column) == 1)
        raise ProblemError(f"{what} is {found[bad[0]]} at {place}", fix="mend the data, or leave such points out.")
    return found
