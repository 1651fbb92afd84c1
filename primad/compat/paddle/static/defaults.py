"""The default programs, which operators are appended to: `program_guard` puts others on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from primad.compat.paddle.static.program import Program

MAIN: list[Program] = []
"""The programs that describe computations; the last one counts, the first is there from the start."""
STARTUP: list[Program] = []
"""The programs that fill parameters; the last one counts, the first is there from the start."""


def default_main_program() -> Program:
    """Return the program that operators are appended to."""
    return MAIN[-1]


def default_startup_program() -> Program:
    """Return the program that fills the parameters."""
    return STARTUP[-1]
