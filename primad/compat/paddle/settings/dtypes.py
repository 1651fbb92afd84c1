"""Paddle's data types, and the default one."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.paddle.settings.errors import ArgumentTypeError


class dtype:
    """A data type. There is one object for each name, so that types compare by identity.

    Attributes:
        name: as in Paddle's texts (`float32`).
        numpy: NumPy's type.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(name)

    def __repr__(self) -> str:
        return f"paddle.{self.name}"

    @property
    def is_floating(self) -> bool:
        """Whether tensors of this type can have gradients."""
        return self.numpy.kind == "f"


bool_, uint8, int8, int16, int32, int64, float16, float32, float64 = DTYPES = tuple(
    dtype(name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
)
_BY_NUMPY = {kind.numpy: kind for kind in DTYPES}
_DEFAULT = [float32]


def as_dtype(given: Any) -> dtype:
    """Return the data type that a dtype, a name, or a NumPy or Python type stands for.

    Raises:
        ArgumentTypeError: if there is none.
    """
    if isinstance(given, dtype):
        return given
    if isinstance(given, str):
        given = given.removeprefix("paddle.")
    try:
        return _BY_NUMPY[np.dtype(given)]
    except (TypeError, KeyError):
        raise ArgumentTypeError(
            f"{given!r} is not a data type of primad.compat.paddle", fix=f"use one of {', '.join(map(str, DTYPES))}."
        ) from None


def set_default_dtype(d: Any) -> None:
    """Set the type of tensors made from Python floats: float16, float32 or float64.

    Raises:
        ArgumentTypeError: for other types.
    """
    found = as_dtype(d)
    if not found.is_floating:
        raise ArgumentTypeError(f"set_default_dtype only supports [float16, float32, float64], but received {d}")
    _DEFAULT[0] = found


def get_default_dtype() -> str:
    """Return the name of the type of tensors made from Python floats."""
    return _DEFAULT[0].name


def default_numpy() -> np.dtype[Any]:
    """Return NumPy's type of tensors made from Python floats."""
    return _DEFAULT[0].numpy
