"""Arrays that hold values, can be written in place, and are recorded inside `mx.autograd.record()`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from primad.compat.mxnet.context import Context, current_context
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import written
from primad.compat.mxnet.imperative import tape_recording
from primad.compat.mxnet.imperative.array_operand import Operand
from primad.compat.mxnet.imperative.operator_calls import function_of, sort_arguments
from primad.compat.mxnet.imperative.operator_parameters import Settings
from primad.compat.mxnet.imperative.tape_recording import Memory
from primad.compat.mxnet.operators import TABLE, Operator
from primad.compat.mxnet.operators.indexing import GETITEM, Index, kept_index, plain_index
from primad.system.process import made_once


class NDArray(Operand):
    """An array. Made by `array`, `zeros`, …, by operators, and by indexing.

    Writing (`x[:] = …`, `x += …`) changes the array in place; executors and slices that share its memory see it.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> x = mx.nd.array([[1, 2], [3, 4]])
        >>> x[0] += 1
        >>> x
        <BLANKLINE>
        [[2. 3.]
         [3. 4.]]
        <NDArray 2x2 @cpu(0)>
    """

    __slots__ = ("_context", "_grad", "memory")
    _written = "an NDArray"

    @staticmethod
    def _pairs(operation: str) -> tuple[str, str]:
        return f"broadcast_{operation}", ""

    def __init__(self, memory: Memory | np.ndarray[Any, Any], context: Context | None = None) -> None:
        self.memory = memory if isinstance(memory, Memory) else Memory(memory)
        self._context = context or current_context()
        self._grad: NDArray | None = None

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """The memory itself; write through `store`."""
        found: np.ndarray[Any, Any] = self.memory.array
        return found

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        found: tuple[int, ...] = self.values.shape
        return found

    @property
    def dtype(self) -> Any:
        """NumPy's scalar type of the elements."""
        return self.values.dtype.type

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.values.size

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.values.ndim

    @property
    def context(self) -> Context:
        """The device."""
        return self._context

    ctx = context

    @property
    def stype(self) -> str:
        """'default', for arrays here are dense."""
        return "default"

    @property
    def T(self) -> NDArray:
        """The array with its axes reversed."""
        return apply("transpose", (self,))

    @property
    def grad(self) -> NDArray | None:
        """The buffer that `backward` writes the gradient into, None unless `attach_grad` was called."""
        return self._grad

    @property
    def _fresh_grad(self) -> bool:
        """Whether `backward` has reached the array since this was set to False."""
        return self.memory.gradient is not None and self.memory.gradient.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if self.memory.gradient is not None:
            self.memory.gradient.fresh = fresh

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray]:
        return iter([self[i] for i in range(self.shape[0])])

    def __repr__(self) -> str:
        return f"\n{self.values!s}\n<NDArray {'x'.join(map(str, self.shape))} @{self._context}>"

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size == 1:
            return bool(self.asscalar())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __reduce__(self) -> Any:
        return array, (self.values, self._context, self.values.dtype)

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        return operator.index(self.asscalar())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype)

    # -- values --------------------------------------------------------------------------------------------------------

    def asnumpy(self) -> Any:
        """Return a NumPy array with a copy of the values."""
        return np.array(self.values)

    def asscalar(self) -> Any:
        """Return the value of an array with one element, as a NumPy scalar."""
        if self.size != 1:
            raise ValueError("The current array is not a scalar")
        return self.values.reshape(1)[0]

    def copy(self) -> NDArray:
        """Return a copy, recorded as the identity."""
        return apply("_copy", (self,))

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy the values into another array, converting them, or to a device.

        Raises:
            MXNetError: if the shapes differ.
        """
        if isinstance(other, Context):
            return NDArray(np.array(self.values), other)
        other._receive(self.copy() if self.memory.active else self)
        return other

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """Return the array in another dtype; itself if it has it and `copy` is false."""
        if not copy and np.dtype(dtype) == self.values.dtype:
            return self
        return apply("Cast", (self,), {"dtype": np.dtype(dtype)})

    def as_in_context(self, context: Context) -> NDArray:
        """Return the array on a device: itself."""
        return self if context == self._context else self.copyto(context)

    as_in_ctx = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """Return the array itself."""
        return self

    def tostype(self, stype: str) -> NDArray:
        """Return the array itself; only 'default' exists."""
        if stype != "default":
            raise MXNetError(f"storage type {stype!r} does not exist here: arrays are dense")
        return self

    def wait_to_read(self) -> None:
        """Return at once: values are computed at once."""

    wait_to_write = wait_to_read

    # -- indexing ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        index = plain_index(key)
        if tape_recording.modes.recording and self.memory.active:
            return NDArray(
                tape_recording.invoke(GETITEM, Settings({"index": Index(index)}), [self.memory])[0], self._context
            )
        found = self.values[index]
        if not isinstance(found, np.ndarray) or found.ndim == 0:
            return NDArray(
                Memory(self.values[kept_index(index, self.shape)].reshape(1), self.memory.counter), self._context
            )
        shared = np.shares_memory(found, self.values)
        return NDArray(Memory(found, self.memory.counter if shared else None), self._context)

    def __setitem__(self, key: Any, value: Any) -> None:
        index = plain_index(key)
        if isinstance(value, NDArray):
            if _recorded(value) and index == slice(None) and value.shape == self.shape:
                value.copyto(self)
                return
            self._write(value)
            given = value.values
        else:
            self._write()
            given = np.asarray(value)
        target = np.shape(self.values[index])
        surplus = given.ndim - len(target)
        if surplus > 0 and given.shape[:surplus] == (1,) * surplus:
            given = given.reshape(given.shape[surplus:])
        try:
            self.values[index] = given
        except ValueError:
            raise ValueError(f"shape mismatch: a value of shape {given.shape} does not fit {target}") from None

    def _write(self, value: NDArray | None = None) -> None:
        """Note that the memory is about to be written.

        Args:
            value: what is written, if it is an array.

        Raises:
            MXNetError: if the array or the value is part of a computation that is being recorded.
        """
        if _recorded(self):
            raise MXNetError(
                "Assigning to NDArrays that are already in a computational graph will cause undefined behavior when "
                "evaluating gradients. Please call backward first to clear the graph or do this out side of a record "
                "section."
            )
        if value is not None and _recorded(value):
            raise MXNetError(
                "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd.",
                why="What was written would count as a constant.",
                fix="make a new array: x = x + y, or join parts with concat or where.",
            )
        self.memory.counter[0] += 1

    def _receive(self, result: NDArray) -> None:
        """Take the values of another array, and its place in what is recorded.

        Raises:
            MXNetError: if the shapes differ, or the array is part of a computation that is being recorded.
        """
        if result.shape != self.shape:
            raise MXNetError(
                f"Incompatible attr in node  at 0-th output: expected {written(self.shape)}, got "
                f"{written(result.shape)}"
            )
        self._write()
        self.values[...] = result.values
        if _recorded(result):
            entry = result.astype(self.dtype, copy=False).memory
            self.memory = Memory(self.values, self.memory.counter, entry.active, entry.call, entry.index)

    # -- gradients -----------------------------------------------------------------------------------------------------

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Give the array a gradient buffer of zeros; it is cut from what it was computed from."""
        self.mark(NDArray(np.zeros_like(self.values), self._context), grad_req)

    def mark(self, gradient: NDArray, grad_req: str) -> None:
        """Let the gradient go into a buffer of the user's."""
        self.memory = tape_recording.variable(self.memory, gradient.memory, grad_req)
        self._grad = gradient

    def detach(self) -> NDArray:
        """Return the array as a constant, sharing its memory."""
        return NDArray(Memory(self.values, self.memory.counter), self._context)

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Write gradients into the buffers of what the array was computed from; see `mx.autograd.backward`."""
        tape_recording.backward([self.memory], [None if out_grad is None else out_grad.memory], retain_graph)

    # -- Python's operators --------------------------------------------------------------------------------------------

    def _apply(self, name: str, hint: str, inputs: Sequence[Any], parameters: dict[str, Any]) -> Any:
        return apply(name, inputs, parameters)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return call(TABLE[name], name, (self, *args), kwargs)

    def _with(self, other: Any, operation: str, reflected: bool = False) -> Self:
        if isinstance(other, np.ndarray):
            other = array(other, self._context, self.values.dtype)
        return super()._with(other, operation, reflected)

    def _in_place(self, other: Any, operation: str) -> Self:
        result = self._with(other, operation)
        self._write(result)
        self.values[...] = result.values
        return self

    def __iadd__(self, other: Any) -> Self:
        return self._in_place(other, "add")

    def __isub__(self, other: Any) -> Self:
        return self._in_place(other, "sub")

    def __imul__(self, other: Any) -> Self:
        return self._in_place(other, "mul")

    def __itruediv__(self, other: Any) -> Self:
        return self._in_place(other, "div")

    def __imod__(self, other: Any) -> Self:
        return self._in_place(other, "mod")

    def __neg__(self) -> NDArray:
        return apply("negative", (self,))

    def reshape(self, *args: Any, **kwargs: Any) -> Self:
        """Return the array in another shape, given as one tuple or as lengths; it shares the memory."""
        result = super().reshape(*args, **kwargs)
        if not result.memory.active:
            result.memory = Memory(self.values.reshape(result.shape), self.memory.counter)
        return result


def _recorded(array: NDArray) -> bool:
    """Say whether an array is part of a computation that is being recorded."""
    return tape_recording.modes.recording and array.memory.active


# -- operators ---------------------------------------------------------------------------------------------------------


def invoke(record: Operator, inputs: Sequence[NDArray], settings: Settings) -> list[NDArray]:
    """Apply an operator: compute its outputs, and record it if that is on.

    Raises:
        MXNetError: if the inputs do not fit.
    """
    names = record.input_names(settings, len(inputs))
    if len(inputs) != len(names):
        raise MXNetError(f"Operator {record.name} expects {len(names)} inputs, but got {len(inputs)} instead.")
    memories = tape_recording.invoke(record, settings, [array.memory for array in inputs])
    return [NDArray(memory, inputs[0].context if inputs else None) for memory in memories]


def apply(name: str, inputs: Sequence[NDArray], parameters: dict[str, Any] | None = None) -> NDArray:
    """Apply an operator with one output by name."""
    record = TABLE[name]
    return invoke(record, inputs, record.settings(parameters or {}))[0]


def call(record: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call an operator's function on arrays; `out=` receives the result."""
    out = kwargs.pop("out", None)
    kwargs.pop("name", None)
    kwargs.pop("ctx", None)
    places, named, parameters = sort_arguments(record, NDArray, args, kwargs)
    settings = record.settings(parameters)
    names = record.input_names(settings, len(places) + len(named))
    given = {**dict(zip(names, places, strict=False)), **named}
    inputs = [given[name] for name in names if given.get(name) is not None]
    results = invoke(record, inputs, settings)
    if out is not None:
        targets = out if isinstance(out, (list, tuple)) else [out]
        for target, result in zip(targets, results, strict=True):
            target._receive(result)
        return out
    return results[0] if len(results) == 1 else results


@made_once()
def operator_function(name: str) -> Callable[..., Any]:
    """Return the function of an operator on arrays."""
    return function_of(name, TABLE[name], call)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array with a copy of the values; float32 unless they come from an NDArray or a dtype is given."""
    if dtype is None:
        dtype = source_array.dtype if isinstance(source_array, NDArray) else np.float32
    values = source_array.values if isinstance(source_array, NDArray) else source_array
    found = np.array(values, dtype)
    return NDArray(found.reshape(1) if found.ndim == 0 else found, ctx)
