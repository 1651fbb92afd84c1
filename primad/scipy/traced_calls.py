"""When a function under one of SciPy's paths is recorded: if an argument is traced, or what a function closes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.errors import NotDifferentiableError
from primad.recording import tree
from primad.recording.traced_array import TracedArray, settled

Function = Callable[..., Any]


def as_args(args: Any) -> tuple[Any, ...]:
    """Return SciPy's `args`: one that is no tuple is the only one."""
    return args if isinstance(args, tuple) else (args,)


def is_recorded(given: Any, probe: Function | None = None) -> bool:
    """Say whether something is traced: an argument, or what a function closes over.

    Args:
        given: arguments.
        probe: calls the function where the solver starts. If it fails, SciPy's own solver will tell.
    """
    if has_traced(given):
        return True
    if probe is None:
        return False
    try:
        return has_traced(probe())
    except Exception:
        return False


def has_traced(values: Any) -> bool:
    """Say whether a leaf of a tree is traced."""
    return any(isinstance(settled(leaf), TracedArray) for leaf in tree.leaves(values) if leaf is not None)


def refuse(name: str, **given: Any) -> None:
    """Raise for options that have no meaning for a solution that is recorded.

    Args:
        name: of SciPy's function, with its module.
        given: options that were given.
    """
    for option, value in given.items():
        if value is not None and value is not False:
            raise NotDifferentiableError(
                f"scipy.{name}: {option}={value!r} on traced arrays",
                why="What is recorded is the solution, and not the steps to it.",
                fix=f"leave {option} out.",
            )
