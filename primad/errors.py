"""The error classes, and the one shape of their messages: what was wrong, why, how to fix it, where."""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from collections.abc import Iterable
from functools import lru_cache
from types import FrameType
from typing import Any

from numpy.linalg import LinAlgError

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_DEMOS = PACKAGE + "demos" + os.sep
_PYTHON = os.path.dirname(os.__file__) + os.sep
_LIBRARIES = (
    "array_api_compat", "astropy", "click", "cyipopt", "numpy", "openmdao", "optree", "pandas", "pint", "scipy",
    "typer", "unyt", "xarray",
)  # fmt: skip
_COMMANDS = ("primad", "primad.exe")
"""The files of the command, which an installation writes."""
_PLUMBING = (*(f"-packages{os.sep}{name}{os.sep}" for name in _LIBRARIES), "<frozen", "<__array_function__")


@lru_cache(maxsize=4096)
def is_primads(filename: str) -> bool:
    """Say whether a file is one of primad's own, or what NumPy calls it through."""
    return (filename.startswith(PACKAGE) and not filename.startswith(_DEMOS)) or "<__array_function__" in filename


@lru_cache(maxsize=4096)
def is_users(filename: str) -> bool:
    """Say whether a file is the user's own code: not primad's, Python's, or of a library that asks for numbers.

    A library's compiled Cython code has the names of files that only its makers have.
    """
    if is_primads(filename):
        return False
    if filename.startswith(_PYTHON) and "-packages" not in filename:
        return False
    if os.path.basename(filename) in _COMMANDS or filename.endswith((".pyx", ".pxi")):
        return False
    return not any(part in filename for part in _PLUMBING)


def _is_made(frame: FrameType) -> bool:
    """Say whether a frame of a function from a text is one that primad or a library made, as SciPy does its solvers."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("primad", *_LIBRARIES)


def users_frame(depth: int = 1) -> FrameType | None:
    """Return the innermost frame that is the user's own code, or None.

    Args:
        depth: how many innermost frames are known not to be.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        filename = frame.f_code.co_filename
        if is_users(filename) and not (filename == "<string>" and _is_made(frame)):
            return frame
        frame = frame.f_back
    return None


def user_line(depth: int = 1) -> str | None:
    """Return `file:line` of the innermost frame that is the user's own code, or None (see `users_frame`)."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename not in _OTHERS:  # which takes a third of a call, and is asked of each op that is recorded
            if not is_users(filename):
                _OTHERS.add(filename)
            elif not (filename == "<string>" and _is_made(frame)):
                return _place(filename, frame.f_lineno)
        frame = frame.f_back
    return None


_OTHERS: set[str] = set()
"""The files whose code is known not to be the user's: they are no more than there are in primad and libraries."""


@lru_cache(maxsize=4096)
def _place(filename: str, line: int) -> str:
    return f"{filename}:{line}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the user's line, however many of primad's functions lie between."""
    frame = users_frame(2) or sys._getframe(1)
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    module = names.get("__name__", "<unknown>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def shown_place(place: str) -> str:
    """Return `file:line` as messages show it: a cell of a notebook by its number, and not by a file of the kernel's."""
    file, _, line = place.rpartition(":")
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = None if shell is None else shell.compile.format_code_name(file)
    return place if cell is None else f"{' '.join(cell)}, line {line}"


_SINGULARS = {
    "axes": "axis", "matrices": "matrix", "indices": "index", "processes": "process", "entries": "entry",
}  # fmt: skip
_ONE = re.compile(
    r"(?<![\w.,:\[(=/*+-])1 ((?:positional |equal |spatial |batch )?)(arguments|axes|bytes|characters|chunks|columns|"
    r"components|conditions|coordinates|devices|dimensions|elements|entries|equations|functions|indices|inputs|lengths|letters|"
    r"matrices|names|nodes|operands|outputs|parameters|partial derivatives|parts|points|processes|residuals|results|"
    r"rows|steps|times|unknowns|values|weights)\b"
)


def singular(text: str) -> str:
    """Return a text with "1 axis" for "1 axes": counts stand in many messages."""
    return _ONE.sub(lambda found: f"1 {found[1]}{_SINGULARS.get(found[2], found[2].removesuffix('s'))}", text)


class PrimadError(Exception):
    """Base of primad's errors.

    Args:
        what: the operation, what was wrong with it, and what it got.
        why: the reason, where it is not obvious.
        fix: what to write instead.
        where: `file:line`; by default the user's line that is running.
    """

    failure: Any = None
    """Where data failed, if that was found while a program ran (`primad.runtime.failure.Failure`)."""

    def __init__(self, what: str, why: str = "", fix: str = "", where: str | None = None) -> None:
        where = where or user_line()
        self._parts = what, why, where
        where = where and shown_place(where)
        what = singular(what)
        lines = [what, why and f"  {why}", fix and f"  Fix: {fix}", where and f"  in {where}"]
        super().__init__("\n".join(line for line in lines if line))
        self.what = what

    def with_fix(self, fix: str) -> PrimadError:
        """Return the same error with another way out, which a caller knows better."""
        what, why, where = self._parts
        return type(self)(what, why, fix, where)

    def __reduce__(self) -> Any:
        return _again, (type(self), self.args, self.what)  # with the line where it was raised, and no other


def _again(kind: type[PrimadError], args: tuple[Any, ...], what: str) -> PrimadError:
    """Return an error that was sent to another process."""
    error = kind.__new__(kind, *args)
    error.args, error.what = args, what
    return error


class ShapeError(PrimadError, ValueError):
    """Shapes, axes, sizes, index letters or tree structures that do not fit together."""


class IndexShapeError(ShapeError, IndexError):
    """An index that does not fit the array (also an IndexError, which Python's iteration protocol expects)."""


class ArraySizeError(ShapeError):
    """An array that is larger than any memory."""


class DomainError(PrimadError, ValueError):
    """A value for which a function is not defined, as a negative power of an integer among the integers."""


class NotFiniteError(DomainError):
    """A value that a computation goes on from is NaN or infinite."""


class StepsError(PrimadError, RuntimeError):
    """A loop that has not ended after as many steps as it may take."""


class MatrixError(PrimadError, LinAlgError):
    """A matrix that is singular, or not positive definite, where it must not be."""


class TracingError(PrimadError, TypeError):
    """A value was needed where only a type is known, or something was traced that cannot be."""

    only_types = False
    """Whether a value was needed while a function was recorded on types alone."""


class MissingAttributeError(TracingError, AttributeError):
    """An attribute that a traced or lazy array does not have."""


class NotDifferentiableError(PrimadError, TypeError):
    """The derivative that was asked for does not exist or has no rule."""


class EnclosureError(PrimadError, ValueError):
    """Bounds cannot be given: an op has none, is not defined on all of a box, or a branch depends on the point."""


class MemoryLimitError(PrimadError, MemoryError):
    """A program whose arrays would not fit into memory, found before it runs."""


class ProblemError(PrimadError, ValueError):
    """A problem that does not say what it must, or contradicts itself or its data; a run that cannot be made."""


class ProgramError(PrimadError, RuntimeError):
    """A program is not well formed: a bug in primad or in a rule, or program text that was damaged."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the names that are nearest to one that is not known; "" if none is near."""
    near = difflib.get_close_matches(name, {other: None for other in known if not other.startswith("_")}, 3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def no_attribute(owner: str, name: str, known: Iterable[str], fix: str = "") -> MissingAttributeError:
    """Return the error for an attribute that an object does not have."""
    return MissingAttributeError(
        f"{owner} has no attribute {name!r}", fix=fix or suggestion(name, known) or "dir(x) lists what it has."
    )
