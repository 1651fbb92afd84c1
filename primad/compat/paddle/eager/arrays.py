"""Numbers, lists and arrays as arrays of the data types that Paddle gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.settings.dtypes import default_numpy
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError


def as_array(value: Any, beside: np.dtype[Any] | None = None) -> np.ndarray[Any, Any]:
    """Return a number, list or array as an array of the type that Paddle gives it.

    Args:
        value: what to convert.
        beside: data type of the tensor that it meets, or that is wanted; Python's numbers adopt it.
    """
    if isinstance(value, (bool, int, float, np.generic)):
        kind = np.asarray(value).dtype.kind
        if kind not in "biuf":
            raise ArgumentTypeError(f"{value!r} cannot be a tensor: complex numbers and texts are not supported")
        if beside is not None and (beside.kind == "f" or (beside.kind in "iu" and kind in "biu") or kind == "b"):
            return np.asarray(value, beside)
        if isinstance(value, np.generic) and beside is None:
            return np.asarray(value)
        return np.asarray(value, default_numpy() if kind == "f" else "bool" if kind == "b" else "int64")
    if isinstance(value, np.ndarray):
        return value
    return _from_sequence(value, beside)


def _from_sequence(value: Any, wanted: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    leaves = list(_leaves(value))
    array = np.asarray(_plain(value)) if leaves else np.zeros(np.shape(value), default_numpy())
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"a {type(value).__name__} of {array.dtype} elements cannot be a tensor",
            why="Nested lists must be rectangular, and hold real numbers.",
        )
    python = not any(isinstance(leaf, (np.ndarray, np.generic, Value)) for leaf in leaves)
    return array.astype(default_numpy() if wanted is None else wanted) if python and array.dtype.kind == "f" else array


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value._entry.array if isinstance(value, Value) else value  # type: ignore[attr-defined]
