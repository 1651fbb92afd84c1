"""The elements of an array that is written to while a function is recorded: what they are, reading and writing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from primad.errors import IndexShapeError, MissingAttributeError, ShapeError, TracingError
from primad.ir.array_types import ArrayType, check_dtype
from primad.numpy.inplace.boolean_index import Chosen, Mask
from primad.numpy.inplace.buffer_contents import (
    ArrayMemory,
    ChosenMemory,
    Numbers,
    PartMemory,
    is_basic,
    is_one_element,
    items,
    known,
    with_dots,
)
from primad.numpy.promotion import any_traced, convert, joined
from primad.numpy.shapes.index_updates import set_at
from primad.recording.foreign import plain, refuse_among
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray, lift, settled
from primad.recording.tracing import RECORDING

_COPY = "y = primad.numpy.copy(y) may be written to."


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
            METHODS["written into"]((self._array,))
        value = settled(value)
        value = joined(value) if any_traced([value]) else plain(value)
        numbers = np.arange(value.size).reshape(value.shape)

        def write(marks: np.ndarray[Any, Any]) -> None:
            marks.flat[index] = numbers

        self._array.mark(write, value)


class ArrayView(TracedArray):
    """Elements of a memory that traced values can be written into.

    Args:
        memory: what it shares with other views.
        view: NumPy's view of the memory's plain numbers: which elements these are.
    """

    __slots__ = ()
    _has_memory = True  # what it holds now, no call of the same arguments tells

    def __init__(self, memory: ArrayMemory | ChosenMemory | PartMemory, view: Numbers) -> None:
        self.memory = memory
        self._view = view

    @classmethod
    def made(cls, array: Any) -> Any:
        """Return a fresh array as one that traced values can be written into, where a function is being recorded.

        Args:
            array: an array that nothing else refers to, one that is read-only, of which a copy is made, or a traced
                array. Outside of a recording, and where its dtype is not one of traced arrays, it is returned as it is.
        """
        trace = RECORDING.get()
        if trace is None:
            return array
        if isinstance(array, TracedArray):
            array = settled(array)
        if type(array) is TracedArray:
            numbers = np.empty(array.shape, array.dtype)
            return cls(ArrayMemory(numbers, trace, array), numbers)
        if type(array) is not np.ndarray or array.dtype.kind not in "biufc" or array.dtype.itemsize > 16:
            return array
        if not array.flags.writeable:
            array = array.copy("K")
        if array.flags.c_contiguous:
            return cls(ArrayMemory(array, trace), array)
        numbers = array.T if array.flags.f_contiguous else array.copy("C")
        return cls(ArrayMemory(numbers, trace), numbers.T if array.flags.f_contiguous else numbers)

    @classmethod
    def live(cls, found: Any, *arrays: ArrayView) -> Any:
        """Return what NumPy's functions gave of plain numbers: as views where they share memory with arrays.

        Args:
            found: an array, a list or tuple of arrays, or anything else, which is returned as it is.
            arrays: whose numbers the function was given.
        """
        if type(found) is list or type(found) is tuple:
            return type(found)([cls.live(item, *arrays) for item in found])
        if type(found) is not np.ndarray:
            return found
        for array in arrays:
            if np.may_share_memory(found, array.memory.numbers) and array.memory.holds(found):
                if found.dtype != array.dtype:
                    raise TracingError(
                        f"a view of dtype {found.dtype} of an array of dtype {array.dtype} that may be written to",
                        why="What is written into the one would not be seen in the other.",
                        fix="y.astype(dtype) converts; primad.value(y).view(dtype) shows the bits of a copy.",
                    )
                return cls(array.memory, found)
        if arrays and not found.size and found.dtype == arrays[0].dtype:  # of no elements NumPy shares none
            return cls(ArrayMemory(found, arrays[0].memory.trace), found)
        return cls.made(found) if found.flags.writeable and found.ndim else found

    def __settled__(self) -> Any:
        now = self.memory.get(self._view, ...)
        if type(now) is np.ndarray:
            now.flags.writeable = False  # what is written into a copy would be lost
        return now

    @property
    def numbers(self) -> Numbers | None:
        """The elements themselves, to be read; None if one of them is traced."""
        return _read_only(self._view) if self.memory.is_plain(self._view) else None

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Any:  # type: ignore[override]
        """The node of what it holds now."""
        now = self.__settled__()
        return lift(now, RECORDING.get() or self.memory.trace)

    @property
    def type(self) -> ArrayType:
        """Shape and dtype together."""
        return ArrayType(self._view.shape, self._view.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; assigned to, it reshapes in place."""
        lengths: tuple[int, ...] = self._view.shape
        return lengths

    @shape.setter
    def shape(self, shape: Any) -> None:
        found = self._view.reshape(shape)
        if found.size and not np.may_share_memory(found, self._view):
            raise AttributeError(f"shape {shape} needs a copy")
        self._view = found

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        found: np.dtype[Any] = self._view.dtype
        return found

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._view.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._view.size

    @property
    def T(self) -> Self:
        """A view with its axes reversed."""
        return type(self)(self.memory, self._view.T)

    @property
    def mT(self) -> Self:
        """A view with its last two axes exchanged."""
        return type(self)(self.memory, self._view.mT)

    @property
    def real(self) -> Self:
        """A view of the real parts; a real array itself."""
        return self._of_parts(False) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """A view of the imaginary parts; of a real array plain zeros, to be read, as NumPy's are."""
        return self._of_parts(True) if self.dtype.kind == "c" else np.imag(_read_only(self._view))

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise MissingAttributeError(
                f"the imaginary parts of an array of dtype {self.dtype} cannot be written",
                why="It has none: an array keeps its dtype when it is written to.",
                fix="y = y.astype(complex) makes an array that has them.",
            )
        self.imag[...] = value

    def _of_parts(self, imaginary: bool) -> Self:
        assert not isinstance(self.memory, PartMemory)
        return type(self)(PartMemory(self.memory, imaginary), self._view.imag if imaginary else self._view.real)

    @property
    def flat(self) -> Any:
        """All elements in a row, to be read, written and iterated over."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    # -- reading and writing -------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is int or is_one_element(self._view, index):
            return self._of_basic(index)
        index = known(index)
        traced = [item for item in items(index) if type(item) is TracedArray]
        if traced:
            if Mask.of(index, self.shape) is not None:
                return TracedArray(self.node)[index]
            found = TracedArray(self.node)[index]
            rest = tuple([item for item in items(index) if type(item) is not TracedArray])
            if any(item.shape for item in traced) or not is_basic(rest):
                return self.made(found)
            return found if found.shape == () else self._chosen(index, found.shape)
        return self._of_basic(index) if is_basic(index) else self.made(self.memory.get(self._view, index))

    def _of_basic(self, index: Any) -> Any:
        """Return a view of what a basic index names; of a single element what it is now."""
        part = self._view[index]
        return type(self)(self.memory, part) if isinstance(part, np.ndarray) else self.memory.get(self._view, index)

    def _chosen(self, index: Any, shape: tuple[int, ...]) -> Self:
        memory = ChosenMemory(self, index, shape)
        return type(self)(memory, memory.numbers)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check_recording()
        index = index if index.__class__ is int else known(index)
        if isinstance(value, ArrayView) and value._is_of(self, index):
            return  # y[i] += v has written already
        mask = Mask.of(index, self.shape)
        if mask is not None:
            self[mask.around] = mask.put(TracedArray(self[mask.around].node), value)
            return
        if isinstance(value, Chosen):
            raise IndexShapeError(
                "elements that a boolean index of unknown values chooses are written elsewhere than at that index",
                fix="mask = y > 0; y[mask] = v[mask].",
            )
        value = settled(value)
        if any(type(item) is TracedArray for item in items(index)):
            self.memory.put(self._view, ..., convert(set_at(TracedArray(self.node), index, value), self.dtype))
        elif any_traced([value]):
            self.memory.put(self._view, index, convert(joined(value), self.dtype))
        else:
            if type(value) not in (float, int, bool):
                refuse_among((value,))
                check_dtype(np.asarray(value).dtype)
            self.memory.put_numbers(self._view, index, value)

    def _is_of(self, array: ArrayView, index: Any) -> bool:
        """Say whether this is a view of an array at an index."""
        if isinstance(self.memory, ChosenMemory) and self._view is self.memory.numbers:
            return self.memory.is_of(array, index)
        if self.memory is not array.memory or not is_basic(index):
            return False
        part: Numbers = array._view[with_dots(index)]
        return part.__array_interface__ == self._view.__array_interface__

    def _check_recording(self) -> None:
        """Raise unless the array may be written to now."""
        if not self._view.flags.writeable:
            raise ShapeError(
                "assignment destination is read-only", why="It is a view that NumPy lets be read.", fix=_COPY
            )
        now, own = RECORDING.get(), self.memory.trace
        if now is own or (now is None and not self.memory.pieces):
            return
        raise TracingError(
            "an array was written to in another recording than the one that made it",
            why="A function inside the one that made it is being recorded (by grad, jit, vmap, scan, …), or its own "
            "recording has ended: what is written now would leave that function, or happen once instead of each time.",
            fix="copy it there first, y = primad.numpy.copy(y), and return the copy.",
        )

    def take_over(self, name: str, found: Any, casting: Any = "same_kind", spreads: bool = True) -> Self:
        """Become the result of an operation, as NumPy's arrays do for `+=` and `out=`.

        Args:
            name: of the operation.
            found: its result.
            casting: the rule by which it is cast.
            spreads: whether it may have fewer elements and is broadcast.

        Raises:
            ShapeError: if it does not fit.
            TracingError: if it cannot be cast by the rule.
        """
        own, shape = self.shape, np.shape(found)
        if shape != own and not (spreads and len(shape) <= len(own) and np.broadcast_shapes(shape, own) == own):
            raise ShapeError(
                f"{name}: an operand of shape {own} cannot be written into: the result has shape {shape}",
                fix=f"write the result into an array of shape {shape}.",
            )
        check_cast(name, found.dtype, self.dtype, casting)
        self[...] = found
        return self

    def mark(self, write: Callable[[Numbers], Any], value: Any) -> None:
        """Write the values whose numbers `write` puts into an array of this shape."""
        marks = np.full(self.shape, -1)
        write(marks)
        hit = marks >= 0
        self[hit] = value.reshape(-1)[marks[hit]]


def _read_only(view: Numbers) -> Numbers:
    shown = view.view()
    shown.flags.writeable = False
    return shown


def check_cast(name: str, dtype: Any, own: Any, casting: Any = "same_kind") -> None:
    """Raise unless values of a dtype may be written into an array of a dtype."""
    if not np.can_cast(dtype, own, casting):
        raise TracingError(
            f"Cannot cast {name!r} output from {dtype!r} to {own!r} with casting rule {casting!r}",
            why="An array keeps its dtype when it is written to.",
            fix="make it an array of floats: np.zeros(3), np.array([1.0, 2.0]), y.astype(float).",
        )


METHODS["flat"] = Flat
