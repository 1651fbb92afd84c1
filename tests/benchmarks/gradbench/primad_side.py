"""The evaluations in primad: a file for each."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .formats import ARGUMENTS
from .tool import Side


def functions(evaluation: str) -> Mapping[str, Callable[..., Any]]:
    """Return the functions of an evaluation."""
    if evaluation not in ARGUMENTS:
        raise LookupError(f"there is no evaluation {evaluation!r}; there are {', '.join(ARGUMENTS)}")
    found: Mapping[str, Callable[..., Any]] = import_module(f".{evaluation}", __package__).FUNCTIONS
    return found


SIDE = Side("primad", functions)
