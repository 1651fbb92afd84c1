"""Tensors as text, in Paddle's form."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.paddle.settings.errors import ArgumentTypeError, check


class PrintOptions:
    """How tensors are printed.

    Attributes:
        precision: digits after the point.
        threshold: tensors with more elements are shortened.
        edgeitems: how many elements are shown at each end then.
        linewidth: longest line.
        sci_mode: whether numbers are written with exponents.
    """

    def __init__(self) -> None:
        self.precision, self.threshold, self.edgeitems, self.linewidth, self.sci_mode = 8, 1000, 3, 80, False


OPTIONS = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Change how tensors are printed (see `PrintOptions`); None leaves an option as it is.

    Raises:
        ArgumentTypeError: for a value of the wrong type.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            if not isinstance(value, int):
                raise ArgumentTypeError(f"set_printoptions: {name} must be an int, got {type(value).__name__}")
            check(value >= 0, f"set_printoptions: {name} must not be negative")
            setattr(OPTIONS, name, value)
    if sci_mode is not None:
        OPTIONS.sci_mode = bool(sci_mode)


def describe(kind: str, tensor: Any) -> str:
    """Return the text of a tensor."""
    array = np.asarray(tensor._entry.array)
    head = (
        f"{kind}(shape={tensor.shape}, dtype={tensor.dtype.name}, place={tensor.place}, "
        f"stop_gradient={tensor.stop_gradient},"
    )
    return f"{head}\n{' ' * 7}{_nested(array, 7)})"


def _nested(array: np.ndarray[Any, Any], indent: int) -> str:
    if array.size == 0:
        return "[]"
    shortened = array.size > OPTIONS.threshold
    shown = _edges(array) if shortened else array
    texts = [_item(value) for value in shown.reshape(-1)]
    signed = any(text.startswith("-") for text in texts)
    width = max(len(text) for text in texts)
    return _lines(array, indent, width, signed, shortened)


def _edges(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    n = OPTIONS.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * n:
            array = np.take(array, [*range(n), *range(length - n, length)], axis)
    return array


def _item(value: Any) -> str:
    if value.dtype.kind != "f":
        return str(value)
    if OPTIONS.sci_mode:
        return f"{value:.{OPTIONS.precision}e}"
    if np.ceil(value) == value:
        return f"{value:.0f}."
    return f"{value:.{OPTIONS.precision}f}"


def _padded(value: Any, width: int, signed: bool) -> str:
    text = _item(value)
    if width <= len(text):
        return text
    return (text if not signed or text.startswith("-") else " " + text).ljust(width)


def _lines(array: np.ndarray[Any, Any], indent: int, width: int, signed: bool, shortened: bool) -> str:
    n = OPTIONS.edgeitems
    cut = shortened and array.ndim > 0 and array.shape[0] > 2 * n
    if array.ndim == 0:
        return _padded(array[()], width, signed)
    rows = [*array[:n], *array[-n:]] if cut else list(array)
    if array.ndim == 1:
        items = [_padded(value, width, signed) for value in rows]
        if cut:
            items.insert(n, "...")
        per_line = max(1, (OPTIONS.linewidth - indent) // (width + 2))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_lines(row, indent + 1, width, signed, shortened) for row in rows]
    if cut:
        parts.insert(n, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
