"""The elements of a traced array in a row: what `x.flat` is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from primad.numpy.promotion import any_traced, joined
from primad.recording.foreign import plain
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray, settled


class Flat:
    """All elements of a traced array in a row: what `x.flat` is.

    Args:
        array: the array.
    """

    def __init__(self, array: TracedArray) -> None:
        self._array = array

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Any]:
        return (self._array[place] for place in np.ndindex(self._array.shape))

    def __getitem__(self, index: Any) -> Any:
        found = self._array.reshape(-1)[index]
        return found.copy() if hasattr(found, "mark") else found

    def __setitem__(self, index: Any, value: Any) -> None:
        if not hasattr(self._array, "mark"):
            self._array[index] = value  # which says what to write instead
        value = settled(value)
        value = joined(value) if any_traced([value]) else plain(value)
        numbers = np.arange(value.size).reshape(value.shape)

        def write(marks: np.ndarray[Any, Any]) -> None:
            marks.flat[index] = numbers

        self._array.mark(write, value)


METHODS["flat"] = Flat
