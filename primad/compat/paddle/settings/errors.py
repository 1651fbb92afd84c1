"""Errors of Paddle's classes with primad's message: what was wrong, why, how to fix it, where."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from primad.errors import PrimadError


class InvalidArgumentError(PrimadError, ValueError):
    """An argument's value does not fit (Paddle's InvalidArgument)."""


class OutOfRangeError(PrimadError, IndexError):
    """An index or a label that names no element (Paddle's OutOfRange)."""


class PreconditionError(PrimadError, RuntimeError):
    """Something was asked for in a state in which it cannot be done (Paddle's PreconditionNotMet, Unavailable)."""


class ArgumentAssertionError(PrimadError, AssertionError):
    """An argument that Paddle asserts to be otherwise."""


class ArgumentTypeError(PrimadError, TypeError):
    """An argument of the wrong type."""


class UnimplementedError(PrimadError, NotImplementedError):
    """Something that is known and not supported, or that a user's class does not define."""


class ExternalError(PrimadError, OSError):
    """A user's class that failed where Paddle calls it from outside (Paddle's External)."""


class FatalError(PrimadError, SystemError):
    """Something that Paddle ends with a SystemError (Paddle's Fatal)."""


class MissingParametersError(PrimadError, AttributeError):
    """An eager optimiser that was made without parameters."""


class UnsupportedNameError(PrimadError, AttributeError):
    """A name of Paddle's that this layer does not have."""


def check(condition: bool, what: str, why: str = "", fix: str = "") -> None:
    """Raise ArgumentAssertionError unless the condition holds."""
    if not condition:
        raise ArgumentAssertionError(what, why, fix)


def unsupported(module: str, name: str, names: Any, instead: dict[str, str] | None = None) -> UnsupportedNameError:
    """Return the error for a name that a module does not have, saying what exists instead.

    Args:
        module: the module as users write it (`paddle.nn`).
        name: what was asked for.
        names: the names that exist.
        instead: what to write for names that are known to be missing.
    """
    close = get_close_matches(name, list(names), 3, 0.6)
    fix = (instead or {}).get(name) or ("did you mean " + " or ".join(close) + "?" if close else "")
    return UnsupportedNameError(
        f"{module}.{name} is not supported by primad.compat.paddle",
        why="This layer covers automatic differentiation and what training and physics-informed networks need.",
        fix=fix or f"dir({module}) lists what exists; primad.numpy and primad.nn have more functions of plain arrays.",
    )
