"""What an eager tensor is and holds: its type, and its elements as arrays and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.settings import place
from primad.compat.paddle.settings.dtypes import as_dtype, dtype
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError
from primad.compat.tape import TapeValue

_numbers = itertools.count()


class EagerValue(Value):
    """An array that is on the tape, and the name of its tensor."""

    __slots__ = ("_entry", "_name")

    _entry: TapeValue
    _name: str | None

    @property
    def name(self) -> str:
        """Its name; tensors get one when they are first asked."""
        if self._name is None:
            self._name = f"generated_tensor_{next(_numbers)}"
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def shape(self) -> list[int]:
        """Lengths of the axes."""
        return list(self._entry.array.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self._entry.array.ndim)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self._entry.array.size)

    @property
    def dtype(self) -> dtype:
        """Data type of the elements."""
        return as_dtype(self._entry.array.dtype)

    @property
    def place(self) -> place.CPUPlace:
        """Where it is, on the CPU."""
        return place.CPUPlace()

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        return self._entry.call is None

    @property
    def inplace_version(self) -> int:
        """How often it has been overwritten in place."""
        return self._entry.version

    # -- values --------------------------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy of the value."""
        return np.array(self._entry.array)

    def item(self, *index: int) -> Any:
        """Return one element as a Python number.

        Raises:
            InvalidArgumentError: without an index, if there are several.
        """
        if not index and self.size != 1:
            raise InvalidArgumentError(f"item() of a tensor of shape {self.shape}", fix="say which element.")
        return self._entry.array.item(*index)

    def tolist(self) -> Any:
        """Return the elements as nested lists."""
        return self._entry.array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._entry.array, dtype)

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __bool__(self) -> bool:
        return bool(self._single("bool"))

    def __index__(self) -> int:
        if self._entry.array.dtype.kind not in "iu":
            raise ArgumentTypeError(f"only an integer tensor can be an index, got {self.dtype}")
        return int(self._single("int"))

    def _single(self, target: str) -> Any:
        if self.size != 1:
            raise ArgumentTypeError(
                f"{target}() needs a tensor with one element, got shape {self.shape}",
                fix="reduce it, or use .numpy().",
            )
        return self._entry.array.reshape(-1)[0]

    def __len__(self) -> int:
        if not self._entry.array.ndim:
            raise ArgumentTypeError("len() of a 0-D tensor.")
        return len(self._entry.array)

    def __iter__(self) -> Iterator[Any]:
        if not self._entry.array.ndim:
            raise ArgumentTypeError("iteration over a 0-D tensor.")
        return iter([self[i] for i in range(len(self))])  # type: ignore[index]

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)

    def __hash__(self) -> int:
        return id(self)
