"""What others' errors mean that a traced array led to: NumPy's, SciPy's and Python's."""

from __future__ import annotations

import ast
import dis
import re
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from msgspec import Struct

from primad.errors import (
    PACKAGE,
    IndexShapeError,
    PrimadError,
    ShapeError,
    TracingError,
    is_users,
    suggestion,
    users_frame,
)
from primad.ir.node import Trace
from primad.recording.plain_makers import instead_of_plain
from primad.recording.refusals import Refusal, in_primads_names, made_again, met, needs_numbers, way_out
from primad.recording.scipy_names import READ
from primad.recording.user_expressions import CodePlace, Doing, doing

Step = tuple[FrameType, int, int]
"""Of a traceback: the frame, the instruction, the line."""


class _Failure(Struct, frozen=True):
    """An error that left the user's function.

    Attributes:
        error: the error.
        kind: the class of primad's that stands for its own.
        arguments: of the function.
        trace: in which it was recorded.
        steps: from the user's innermost frame to where it was raised.
        now: the user's expression.
        where: the user's line.
    """

    error: Exception
    kind: type[PrimadError]
    arguments: Any
    trace: Trace
    steps: Sequence[Step]
    now: Doing
    where: str | None

    @property
    def text(self) -> str:
        """What it says."""
        return str(self.error) or type(self.error).__name__

    @property
    def inside(self) -> bool:
        """Whether primad's own code ran below the user's."""
        return any(frame.f_code.co_filename.startswith(PACKAGE) for frame, _, _ in self.steps[1:])


def explained(error: Exception, arguments: Any, trace: Trace) -> PrimadError | None:
    """Return ours for an error that a traced array led to, or None if it is the user's own.

    NumPy and SciPy replace exceptions that a conversion raises, Python raises its own where an operator is missing, and
    functions of primad let errors of NumPy through.

    Args:
        error: what left the user's function.
        arguments: those of the function.
        trace: in which it was recorded.
    """
    steps = list(_steps(error))
    place = max([i for i, (frame, _, _) in enumerate(steps) if is_users(frame.f_code.co_filename)], default=-1)
    frame, instruction, line = steps[place] if place >= 0 else (None, -1, 0)
    if frame is not None and place == len(steps) - 1 and _raises(frame, instruction):
        return None
    for cause in _causes(error):
        if isinstance(cause, PrimadError) and not isinstance(cause, AttributeError):  # those are often only probes
            return cause
    # At any step: C code that goes on with an error set makes Python's own lookups fail further in.
    refusal = trace.noted.get(Refusal)
    if refusal is not None and any(refusal.place == (at.f_code, running) for at, running, _ in steps):
        refused: PrimadError = refusal.error()
        return refused
    kind = next((ours for theirs, ours in _KINDS.items() if isinstance(error, theirs)), None)
    if kind is None or _has_its_own_meaning(error):
        return None
    where = f"{frame.f_code.co_filename}:{line}" if frame is not None else None
    below = steps if frame is None else steps[place:]
    now = doing(frame, instruction) if frame is not None else _given_to_a_transform()
    failure = _Failure(error, kind, arguments, trace, below, now, where)
    return next((found for reading in _READINGS if (found := reading(failure)) is not None), None)


def _has_its_own_meaning(error: Exception) -> bool:
    """Say whether an error is of a class that a library made for it, as pint's of units that do not belong together."""
    library = type(error).__module__.partition(".")[0]
    return library not in ("builtins", "numpy", "scipy") and "TracedArray" not in str(error)


def _given_to_a_transform() -> Doing:
    """Return the call of a library's function that is recorded itself: no line of the user's is in the traceback."""
    now = doing(users_frame())
    return now if now.module.startswith(("scipy", "math")) else Doing()


# -- readings of an error, the first that fits counts ------------------------------------------------------------------


def _met_another(failure: _Failure) -> PrimadError | None:
    """Read it as what an array that is more than its elements said when it met a traced one."""
    for frame, _, _ in failure.steps:
        traced = any(hasattr(value, "node") for value in frame.f_locals.values())
        found = met(frame, failure.now.text) if traced else None
        if found is not None:
            return TracingError(*found, where=failure.where)
    return None


def _two_namespaces(failure: _Failure) -> PrimadError | None:
    """Read it as `array_namespace` of a traced and a plain array, which array_api_compat takes for two libraries'."""
    if not failure.text.startswith("Multiple namespaces"):
        return None
    made = "make the plain one with primad.numpy, where it is used: primad.numpy.array(a)."
    return TracingError(
        f"{failure.now.text or 'array_namespace'}: a traced and a plain array",
        why="By the Array-API standard they belong to two libraries, primad.numpy and NumPy.",
        fix=way_out(failure.now) if failure.now.module.startswith("scipy") else made,
        where=failure.where,
    )


def _used_as_index(failure: _Failure) -> PrimadError | None:
    """Read it as a traced number that was an index, which NumPy makes an array of objects of."""
    made = failure.trace.noted.get(CodePlace)
    if made is None or not isinstance(failure.error, IndexError) or not failure.steps:
        return None
    frame, instruction, _ = failure.steps[0]
    if (made.code, made.instruction) != (frame.f_code, instruction):
        return None
    return TracingError(*needs_numbers(failure.now, "an index", made.met, made), where=failure.where)


def _list_of_numbers(failure: _Failure) -> PrimadError | None:
    """Read it as a list that was passed for an array."""
    listed = _listed(failure.arguments)
    if not listed or failure.inside or not re.search("list|tuple|sequence", failure.text):
        return None
    return TracingError(
        f"{failure.now.text or 'the function'}: {failure.text}",
        why=f"Argument {listed - 1} is a list of numbers: to primad a tree of numbers, not an array.",
        fix="pass an array: np.array([…]).",
        where=failure.where,
    )


def _written_to_a_copy(failure: _Failure) -> PrimadError | None:
    """Read it as a write into the numbers of an array that primad.numpy made."""
    if not isinstance(failure.error, ValueError) or not failure.text.endswith("read-only") or failure.inside:
        return None
    return ShapeError(
        f"{failure.now.text or 'the function'}: {failure.text}",
        why="The numbers of an array that primad.numpy made in a recording (np.asarray(y), or what NumPy makes of it) "
        "are a copy: what is written there would not reach the array.",
        fix="write into the array itself, or into a copy: np.array(y), primad.numpy.copy(y).",
        where=failure.where,
    )


_OF_OBJECTS = re.compile(
    r"dtype\('O'\)|dtype=object|dtype object|object arrays|no callable \w+ method|holds references"
    "|not supported for the input types|Could not convert object"
)
"""What NumPy and SciPy say of arrays of objects that they do not compute on."""


def _array_of_objects(failure: _Failure) -> PrimadError | None:
    """Read it as what does not compute on NumPy's arrays of objects."""
    made, now = failure.trace.noted.get(CodePlace), failure.now
    if made is None or failure.inside:
        return None
    divided = isinstance(failure.error, ZeroDivisionError) and (in_primads_names(now) or made_again(now, made))
    if not (divided or _OF_OBJECTS.search(failure.text)):
        return None
    return failure.kind(
        f"{now.text or 'a function'}: {_cleaned(failure.text)}",
        why="NumPy puts traced numbers into an array of objects, and computes on that with operators only, as on "
        "Fractions.",
        fix=in_primads_names(now) or made_again(now, made, always=True) or way_out(now),
        where=failure.where,
    )


def _of_traced(failure: _Failure) -> PrimadError | None:
    """Read it as what Python, NumPy or SciPy say of an expression with a traced array."""
    now, text = failure.now, failure.text
    if not (failure.inside or "TracedArray" in text or now.gives_traced_away):
        return None
    if "unhashable" in text and now.module.startswith("scipy"):
        text = "it needs numbers"
    fix = _fix(now, text)
    return failure.kind(
        f"{now.text or 'a function'}, on a traced array: {_cleaned(text)}", fix=fix, where=failure.where
    )


_FIXES = {
    r"unsupported operand|not supported between": "an operand is a number, or an array of numbers: np.asarray(x), "
    "float(x).",
    r"integer": "int(x) is a plain integer, where values are known.",
    r"unhashable": "use a name, or a plain number that is read on purpose, primad.value(x).",
    r"keyword argument|positional argument": "help(function) says what it takes.",
    r"has no setter": "assign what a function returns: x = np.reshape(x, shape).",
    r"[Cc]ould not convert": f"{READ}.",
    r"not callable": "x[i] takes elements; a product is x * y.",
}
"""What to write instead, by what Python and NumPy say."""


def _fix(now: Doing, text: str) -> str:
    """Return what to write instead of an expression that Python, NumPy or SciPy refused; "" where nothing is known."""
    if now.module in ("math", "cmath", "statistics") or now.module.startswith("scipy"):
        return way_out(now)
    made = instead_of_plain(now, now.module, now.name_of(now.node.func)) if isinstance(now.node, ast.Call) else ""
    if made:
        return made
    name = re.search(r"module '(primad[\w.]*)' has no attribute '(\w+)'", text)
    if name:
        known = dir(sys.modules[name[1]])
        return suggestion(name[2], known) or f"dir({name[1]}) lists its names."
    found = next((fix for pattern, fix in _FIXES.items() if re.search(pattern, text)), "")
    return found or ("" if now.module.startswith(("numpy", "primad")) else f"{READ}.")


_READINGS = (
    _two_namespaces, _met_another, _used_as_index, _list_of_numbers, _written_to_a_copy, _array_of_objects, _of_traced,
)  # fmt: skip
_KINDS: dict[type[Exception], type[PrimadError]] = {
    IndexError: IndexShapeError,
    ValueError: ShapeError,
    TypeError: TracingError,
    AttributeError: TracingError,
    KeyError: TracingError,
    SystemError: TracingError,
    NotImplementedError: TracingError,
    AssertionError: TracingError,
    ZeroDivisionError: ShapeError,
}
_CLASS = re.compile(
    r"(?:\b(?:type|object|argument) )?(?:<class )?'?(?:[\w.]*\.)?(?:TracedArray|WritableArray|ArrayView)'?>?"
)


def _cleaned(text: str) -> str:
    """Return Python's words with what users call our classes."""
    return _CLASS.sub("a traced array", text)


def _steps(error: BaseException) -> Iterator[Step]:
    """Yield the steps of a traceback, outermost first, without the one that caught it."""
    step = error.__traceback__.tb_next if error.__traceback__ is not None else None
    while step is not None:
        yield step.tb_frame, step.tb_lasti, step.tb_lineno
        step = step.tb_next


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__


def _raises(frame: FrameType, instruction: int) -> bool:
    return dis.opname[frame.f_code.co_code[instruction]] in ("RAISE_VARARGS", "RERAISE")


def _listed(arguments: Any) -> int:
    """Return 1 + the position of the first argument that is a list or tuple of numbers; 0 if there is none.

    What `jit` records takes the positional arguments as one, and those with names as another.
    """
    if len(arguments) == 2 and type(arguments[0]) is tuple and type(arguments[1]) is dict:
        arguments = arguments[0]
    for i, argument in enumerate(arguments):
        if isinstance(argument, (list, tuple)) and argument and all(hasattr(item, "node") for item in argument):
            return i + 1
    return 0
