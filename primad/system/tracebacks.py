"""Tracebacks with the user's frames, and without primad's own between them.

An error that leaves what a user calls has passed through the recording, the transforms and the plan. Its message names
the user's line; the frames in between are of use to who works on primad only, and there are a hundred of them in a
notebook. So the functions that users call take them out. The environment variable `PRIMAD_TRACEBACK`, set to 1, leaves
them all in. They stay, too, in an error that is not primad's and was raised inside of primad: that is a defect, and the
frames say where.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar, cast

from primad.errors import PrimadError, is_primads, is_users

F = TypeVar("F", bound=Callable[..., Any])


def entrance(function: F) -> F:
    """Let the errors of a function that users call have the users' frames only."""

    @wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            leave_users_frames(error)
            raise

    return cast(F, entered)


def leave_users_frames(error: BaseException) -> None:
    """Take primad's own frames out of the traceback of an error, and of those that it shows as its causes."""
    if os.environ.get("PRIMAD_TRACEBACK", "") not in ("", "0"):
        return
    seen: list[BaseException] = []
    shown: BaseException | None = error
    while shown is not None and shown not in seen:
        seen.append(shown)
        _filter(shown)
        if isinstance(shown, PrimadError) and shown.__cause__ is not None and not _has_users(shown.__cause__):
            shown.__cause__, shown.__suppress_context__ = None, True  # what a library said, which the message says
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


def _has_users(error: BaseException) -> bool:
    """Say whether a user's code was running when an error was raised."""
    step = error.__traceback__
    while step is not None:
        if is_users(_file(step)):
            return True
        step = step.tb_next
    return False


def _filter(error: BaseException) -> None:
    steps: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    if not isinstance(error, PrimadError) and steps and is_primads(_file(steps[-1])):
        return
    kept = [step for step in steps if not is_primads(_file(step))]
    if isinstance(error, PrimadError):  # whose message says what the libraries in between were asked for
        kept = [step for step in kept if is_users(_file(step))]
    last: TracebackType | None = None
    for step in reversed(kept):
        last = TracebackType(last, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = last


def _file(step: TracebackType) -> str:
    return step.tb_frame.f_code.co_filename
