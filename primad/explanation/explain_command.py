"""The command `primad explain`: a function of a file, on arguments of given types."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from primad.errors import PrimadError, ShapeError, TracingError, suggestion
from primad.explanation.explained import explain
from primad.ir.array_types import ArrayType

_SHORT = {"f": "float", "i": "int", "u": "uint", "b": "bool"}
_ARGUMENT = "a type such as f64[1000,3], f32[] or i64[5], or a number"
SUFFIXES = (".svg", ".html", ".txt")


def explain_command(target: str, arguments: Sequence[str], output: Path | None, say: Callable[[str], None]) -> int:
    """Explain a function of a file.

    Args:
        target: `FILE:FUNCTION`.
        arguments: one text for each argument of the function.
        output: where to write the picture, or None.
        say: prints a text.

    Returns:
        the exit code: 0, 1 if the function cannot be explained, 2 for a wrong target or argument.
    """
    try:
        name, function = load(target)
        values = [argument(text, place) for place, text in enumerate(arguments)]
        _check_count(name, function, len(values))
        if output is not None and output.suffix not in SUFFIXES:
            raise ShapeError(f"cannot write {output}", fix=f"end it in {', '.join(SUFFIXES)}.")
    except PrimadError as error:
        say(_without_line(error))
        return 2
    except Exception as error:
        say(_as_user_saw(error, target))
        return 1
    try:
        explanation = explain(function, *values)
    except PrimadError as error:
        say(str(error))
        return 1
    except Exception as error:
        say(_as_user_saw(error, target))
        return 1
    say(str(explanation))
    if output is not None:
        say(f"\nwritten to {explanation.save(output).resolve()}")
    return 0


def load(target: str) -> tuple[str, Callable[..., Any]]:
    """Run a file as a module, as a script without its main part, and return the name of a function of it and itself.

    Raises:
        TracingError: if there is no such file or function.
    """
    file, _, name = target.rpartition(":")
    path = Path(file)
    if not file or not name:
        raise TracingError(f"{target!r} names no function", fix="write FILE:FUNCTION, such as model.py:loss.")
    if not path.is_file():
        raise TracingError(
            f"there is no file {path}", fix="write its path from the folder that you are in, or its whole path."
        )
    module = _run(path)
    found: Any = module
    for part in name.split("."):
        owner, found = found, getattr(found, part, None)
        if found is None:
            functions = [other for other, value in vars(owner).items() if callable(value) and other[0] != "_"]
            near = suggestion(part, functions)
            raise TracingError(f"{path} has no function {part!r}", fix=near or f"choose from {', '.join(functions)}.")
    if not callable(found):
        raise TracingError(
            f"{name} in {path} is no function, but of type {type(found).__name__}", fix="write the name of a function."
        )
    return name, found


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise TracingError(f"{path} is no Python file", fix="rename it so that its name ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # it may import its neighbours, as a script may
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def argument(text: str, place: int = 0) -> Any:
    """Return the argument that a text stands for: a number, or an array of a type, filled with numbers from 0 to 1.

    Raises:
        ShapeError: if it stands for neither.
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    parts = re.fullmatch(r"\s*([a-z]+)(\d*)\s*\[([\d\s,]*)\]\s*", text)
    try:
        if parts is None:
            raise TypeError
        name = _SHORT.get(parts[1], parts[1])
        dtype = np.dtype(name + parts[2])
        type = ArrayType(tuple([int(n) for n in parts[3].split(",") if n.strip()]), dtype)
    except (TypeError, PrimadError):
        raise ShapeError(f"the argument {text!r} is no type", fix=f"give {_ARGUMENT}.") from None
    values = np.random.default_rng(place).random(type.shape)
    return values.astype(dtype) if type.is_float else np.zeros(type.shape, dtype)


def _check_count(name: str, function: Callable[..., Any], given: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(given))
    except TypeError as error:
        raise ShapeError(
            f"{name}{signature} was given {given} arguments: {error}", fix=f"give each with --arg: {_ARGUMENT}."
        ) from None


def _as_user_saw(error: Exception, target: str) -> str:
    """Return an error of the user's own with the lines that led to it in the file and from there on."""
    file = str(Path(target.rpartition(":")[0]).resolve())
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != file:
        frames = frames.tb_next
    return "".join(traceback.format_exception(error.with_traceback(frames))).rstrip()


def _without_line(error: PrimadError) -> str:
    """Return a message without the line that it came from: what is wrong is on the command line."""
    return str(error).rpartition("\n  in ")[0] or str(error)
