"""The eager tensor: a NumPy array computed at once, and a place on the tape if it needs a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from primad.compat.paddle.eager.arrays import as_array
from primad.compat.paddle.eager.eager_value import EagerValue
from primad.compat.paddle.eager.hooks import HookHandle
from primad.compat.paddle.eager.operators import Prototype, Value
from primad.compat.paddle.eager.printing import describe
from primad.compat.paddle.settings.dtypes import as_dtype
from primad.compat.paddle.settings.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionError,
)
from primad.compat.paddle.settings.naming import Layer
from primad.compat.paddle.settings.randomness import generator
from primad.compat.tape import TapeCall, TapeValue, computed, refusal
from primad.errors import PrimadError
from primad.recording.traced_array import TracedArray

RECORDING: list[bool] = [True]
"""The mode flag that no_grad and its relatives set: whether operators are recorded on the tape."""

STOPPING = frozenset(("fill_any_like", "elementwise_floordiv"))
"""Operators whose results stop gradients, as in Paddle: they depend on shapes alone, or in steps."""


class Tensor(EagerValue):
    """An array that is computed at once.

    Made by `to_tensor`, the creation functions and every operation. Operators, indexing and methods are those of
    Paddle; gradients accumulate in `.grad`.
    """

    __slots__ = ("persistable",)
    __array_priority__ = 1000

    _peers: list[ref[Tensor]] | tuple[()] = ()
    """Tensors that share its memory, itself among them, once one was detached."""

    def __init__(
        self,
        value: Any = (),
        name: str | None = None,
        *,
        dtype: Any = None,
        place: Any = None,
        persistable: bool = False,
        zero_copy: bool = False,
        stop_gradient: bool = True,
    ) -> None:
        """Make a tensor of an array, a list or a tensor; programs call `to_tensor`.

        Args:
            value: what it holds; or an entry of the tape, which the tensor then is.
            name: its name.
            dtype: data type, by default that of the value.
            place: ignored; there is only the CPU.
            persistable: whether it is saved with its layer.
            zero_copy: ignored: values are copied.
            stop_gradient: whether gradients stop at it.

        Raises:
            InvalidArgumentError: for a number, which `to_tensor` takes.
        """
        if value.__class__ is not TapeValue:
            value = _given(value, dtype, stop_gradient)
        self._entry: TapeValue = value
        self._name = name
        self.persistable = persistable

    def __repr__(self) -> str:
        return describe("Tensor", self)

    __str__ = __repr__

    def __deepcopy__(self, memo: Any) -> Tensor:
        if not self.is_leaf:
            raise PreconditionError(
                "only leaf tensors can be copied with deepcopy", fix="use .clone(), or .detach() first."
            )
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for name in _slots(type(self)):
            if hasattr(self, name):
                setattr(copied, name, getattr(self, name))
        copied._entry = TapeValue(self._entry.array.copy(), self._entry.active)
        copied._name = None
        return copied

    def __copy__(self) -> Tensor:
        return Tensor(self._entry)

    def __reduce__(self) -> Any:
        raise PreconditionError("tensors are not pickled", fix="use paddle.save and paddle.load, or .numpy().")

    # -- gradients -----------------------------------------------------------------------------------------------------

    @property
    def stop_gradient(self) -> bool:
        """Whether gradients do not pass through it."""
        return not self._entry.active

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        self._entry.active = not stop

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, or None."""
        found: Tensor | None = self._entry.gradient
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise ArgumentTypeError(f"a gradient must be a Tensor or None, got {type(value).__name__}")
            if value.shape != self.shape:
                raise InvalidArgumentError(f"a gradient of shape {value.shape} does not fit a tensor of {self.shape}")
        self._entry.gradient = value

    def gradient(self) -> np.ndarray[Any, Any] | None:
        """Return the accumulated gradient as a NumPy array, or None."""
        return None if self.grad is None else self.grad.numpy()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zeros, or let go of it."""
        if not set_to_zero:
            self._entry.gradient = None
        elif self.grad is not None:
            self._entry.gradient = accumulated(np.zeros_like(self._entry.array))

    clear_grad = clear_gradient

    def retain_grads(self) -> None:
        """Ask backward passes to keep the gradient of a tensor that is no leaf, after the hooks that it has by now."""
        if self._entry.retained is None:
            self._entry.retained = tuple(self._entry.hooks or ())

    def detach(self) -> Tensor:
        """Return a tensor through which no gradient passes, and which shares memory: writing into one writes both."""
        made = Tensor(TapeValue(self._entry.array))
        made._entry.version = self._entry.version
        if not isinstance(self._peers, list):
            self._peers = [ref(self)]
        self._peers[:] = [*(peer for peer in self._peers if peer() is not None), ref(made)]
        made._peers = self._peers
        return made

    def detach_(self) -> Tensor:
        """Cut the tensor from what it was computed from, and return it."""
        version = self._entry.version
        self._entry = TapeValue(self._entry.array)
        self._entry.version = version
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
        """Call a function of this tensor's accumulated gradient in each backward pass; what it returns replaces it.

        Raises:
            PreconditionError: if the tensor stops gradients.
        """
        if self.stop_gradient:
            raise PreconditionError(
                "Cannot register hook on a tensor that stop gradient.", fix="set stop_gradient = False first."
            )
        entry = self._entry

        def apply(gradient: TapeValue) -> TapeValue | None:
            changed = hook(Tensor(gradient))
            if changed is not None and not isinstance(changed, Tensor):
                raise ArgumentTypeError(f"a hook must return a Tensor or None, got {type(changed).__name__}")
            return None if changed is None else changed._entry

        return HookHandle(entry, apply)

    # -- operations ----------------------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, operator: Prototype, slots: Sequence[Any], attributes: dict[str, Any], layer: str | Layer) -> Any:
        """Compute an operator at once, and record it where a gradient may be asked for."""
        entries: list[TapeValue] = []
        pattern: list[int | None] = []
        active = False
        for slot in slots:
            if isinstance(slot, Tensor):
                entry = slot._entry
                entries.append(entry)
                pattern.append(-1)
                active = active or entry.active
            elif slot is None:
                pattern.append(None)
            elif isinstance(slot, list):
                several = [_operand(item, slots) for item in slot]
                entries += several
                pattern.append(len(several))
                active = active or any(entry.active for entry in several)
            else:
                entry = _operand(slot, slots)
                entries.append(entry)
                pattern.append(-1)
                active = active or entry.active
        if operator.draw is not None:
            entries.append(TapeValue(operator.draw(generator(), **attributes)))
            pattern.append(-1)
        shape, named = tuple(pattern), tuple(attributes.items())
        arrays = [entry.array for entry in entries]
        try:
            found = computed(operator, shape, named, arrays)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, PrimadError):
                raise
            raise refusal(operator, shape, named, arrays) or _misfit(operator, arrays, error) from None
        recorded = active and RECORDING[-1] and operator.type not in STOPPING
        call = TapeCall(operator, shape, named, tuple(entries)) if recorded else None
        many = type(found) is tuple or type(found) is list
        made = [_result(array, call, i) for i, array in enumerate(found if many else (found,))]
        return made if many else made[0]

    def _overwrite(self, operator: str, compute: Callable[[Tensor], Tensor], same_shape: bool = True) -> Tensor:
        """Give this tensor the value that a function of it has, in place.

        Raises:
            InvalidArgumentError: for a leaf that needs a gradient.
        """
        old = self._entry
        if old.call is None and old.active and RECORDING[-1]:
            raise InvalidArgumentError(
                f"Leaf Var ({self.name}) that doesn't stop gradient can't use inplace strategy.",
                why=f"{operator} would overwrite the value that the gradient is taken at.",
                fix="write into a clone, or inside paddle.no_grad().",
            )
        old.version += 1  # before the operation reads it: its own derivative may look at the old value, no other one
        try:
            new = compute(self)._entry
            if same_shape and new.array.shape != old.array.shape:
                raise InvalidArgumentError(
                    f"{operator}: a tensor of shape {self.shape} cannot hold a result of shape {list(new.array.shape)}"
                )
        except Exception:
            old.version -= 1
            raise
        if new.call is not None or old.call is not None:
            self._entry = TapeValue(old.array, new.active, new.call, new.index)
            self._entry.retained, self._entry.owner = old.retained, old.owner
        self._entry.version = old.version - 1
        self._store(new.array)
        return self

    def _store(self, array: np.ndarray[Any, Any]) -> None:
        """Put an array in the place of the value, here and in the tensors that share its memory."""
        self._entry.array = array
        self._entry.version += 1
        for peer in self._peers:
            tensor = peer()
            if tensor is not None and tensor is not self:
                tensor._entry.array = array
                tensor._entry.version = self._entry.version


Value.kind.append(Tensor)


def _slots(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        yield from getattr(base, "__slots__", ())


def _given(value: Any, dtype: Any, stop_gradient: bool) -> TapeValue:
    """Return an entry with a copy of a user's array, list or tensor."""
    if not isinstance(value, (np.ndarray, list, tuple, Tensor)):
        raise InvalidArgumentError(
            f"Tensor() takes an array, a list or a tensor, got {type(value).__name__}", fix="use paddle.to_tensor."
        )
    array = value._entry.array if isinstance(value, Tensor) else as_array(value)
    wanted = array.dtype if dtype is None else as_dtype(dtype).numpy
    as_dtype(wanted)
    return TapeValue(np.array(array, wanted), not stop_gradient)


def _result(array: Any, call: TapeCall | None, index: int) -> Tensor:
    if type(array) is not np.ndarray and type(array) is not TracedArray:
        array = np.asarray(array)
    if call is None or array.dtype.kind != "f":
        return Tensor(TapeValue(array))
    made = Tensor(TapeValue(array, True, call, index))
    made._entry.owner = ref(made)
    return made


def _operand(value: Any, beside: Sequence[Any]) -> TapeValue:
    """Return the entry of an operand: a Python number takes the data type of the tensors beside it."""
    if isinstance(value, Tensor):
        return value._entry
    if isinstance(value, Value):
        raise ArgumentTypeError(
            "an eager operation got a variable of a static program", fix="run it with paddle.static.Executor."
        )
    return TapeValue(
        as_array(value, next((slot._entry.array.dtype for slot in beside if isinstance(slot, Tensor)), None))
    )


def _misfit(operator: Prototype, arrays: Sequence[Any], error: Exception) -> PrimadError:
    """Return the error of an operator that NumPy refused to compute, with what it was given."""
    given = ", ".join(f"{np.dtype(array.dtype).name}{list(array.shape)}" for array in arrays)
    why = f"The tensors that it got are {given}." if given else ""
    if isinstance(error, IndexError) and not isinstance(error, ValueError):
        return OutOfRangeError(f"{operator.type}: {error}", why)
    if isinstance(error, TypeError):
        return ArgumentTypeError(f"{operator.type}: {error}", why)
    if isinstance(error, AttributeError):
        return InvalidArgumentError(f"{operator.type}: an operand is no Tensor ({error})", why, "use paddle.to_tensor.")
    return InvalidArgumentError(f"{operator.type}: {error}", why)


def accumulated(array: Any) -> Tensor:
    """Return an array as the gradient of a leaf; like Paddle's, it does not stop gradients."""
    return Tensor(TapeValue(array, True))
