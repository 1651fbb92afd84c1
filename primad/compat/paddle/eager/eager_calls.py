"""What eager tensors have beyond the shared methods: arithmetic with numbers as operands, and writing in place.

A number beside a tensor is an operand like any other, so that one that changes from step to step (a learning rate, a
weight of a loss) needs no new plan. Exponents stay attributes: the derivative of x² is not that of xʸ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.paddle.autograd.backward import backward_of
from primad.compat.paddle.eager.arrays import as_array
from primad.compat.paddle.eager.methods import BINARY, COMPARISONS, attach
from primad.compat.paddle.eager.operators import Prototype, Value, apply
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions import creation, indexing, math, numerics, statistics
from primad.compat.paddle.functions.inplace import IN_PLACE
from primad.compat.paddle.settings.dtypes import as_dtype, default_numpy
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError
from primad.compat.tape import TapeValue

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def _operand(tensor: Tensor, other: Any, divides: bool) -> tuple[Tensor, Tensor]:
    """Return a tensor and what meets it as two tensors of data types that go together.

    Raises:
        ArgumentTypeError: where Paddle has no promotion: between integers of different widths, integers and floats.
    """
    own = tensor._entry.array.dtype
    if isinstance(other, _NUMBERS):
        kind = np.asarray(other).dtype.kind
        if own.kind != "f" and (kind == "f" or divides):
            tensor = math.cast(tensor, default_numpy())
        elif own.kind == "b" and kind in "iu":
            tensor = math.cast(tensor, "int64")
        return tensor, Tensor(TapeValue(np.asarray(other, tensor._entry.array.dtype)))
    if not isinstance(other, Tensor):
        other = Tensor(TapeValue(as_array(other)))
    theirs = other._entry.array.dtype
    if theirs != own:
        if own.kind == "f" and theirs.kind == "f":
            wide = np.promote_types(own, theirs)
            return math.cast(tensor, wide), math.cast(other, wide)
        if "b" not in (own.kind, theirs.kind):
            raise ArgumentTypeError(
                f"operands of data types {tensor.dtype} and {other.dtype} do not go together",
                why="Type promotion only supports calculations between floating-point numbers.",
                fix="convert one of them with .astype.",
            )
    return tensor, other


def _arithmetic(record: Prototype, reflected: bool, divides: bool = False) -> Callable[[Tensor, Any], Any]:
    attributes = dict(record.attributes)

    def combine(self: Tensor, other: Any) -> Any:
        if type(other) is not Tensor or other._entry.array.dtype != self._entry.array.dtype:
            if not isinstance(other, (Tensor, *_NUMBERS, np.ndarray, list, tuple)):
                return NotImplemented
            self, other = _operand(self, other, divides)
        return Tensor.apply(record, (other, self) if reflected else (self, other), attributes, "")

    return combine


def _power(self: Tensor, other: Any) -> Any:
    if isinstance(other, _NUMBERS):
        number = other.item() if isinstance(other, np.generic) else other
        if self._entry.array.dtype.kind != "f" and isinstance(number, float):
            self = math.cast(self, default_numpy())
        return math.pow(self, number)
    return _general_power(self, other)


_general_power = _arithmetic(math.elementwise_pow_, False)


# -- in place ----------------------------------------------------------------------------------------------------------


def _set_item(self: Tensor, index: Any, value: Any) -> None:
    if not isinstance(value, Value):
        value = Tensor(TapeValue(as_array(value).astype(self._entry.array.dtype)))
    self._overwrite("x[…] = …", lambda x: indexing.setitem(x, index, value))


def set_value(self: Tensor, value: Any) -> None:
    """Overwrite the value, without recording it.

    Raises:
        InvalidArgumentError: for a value of another shape.
    """
    array = as_array(value) if not isinstance(value, Tensor) else value._entry.array
    if array.shape != self._entry.array.shape:
        raise InvalidArgumentError(f"set_value: a value of shape {list(array.shape)} for a tensor of {self.shape}")
    self._store(np.array(array, self._entry.array.dtype))


def assign(x: Any, output: Tensor | None = None) -> Any:
    """Return a copy of a tensor, an array, a number or a list; or write it into the tensor `output`."""
    if output is None:
        return creation.assign(x)
    return output._overwrite("assign", lambda _: creation.assign(x), same_shape=False)


def uniform_(self: Tensor, min: float = -1.0, max: float = 1.0, seed: int = 0, name: Any = None) -> Tensor:
    """Overwrite the tensor with numbers drawn uniformly from [min, max), and return it."""
    return self._overwrite("uniform_", lambda x: creation.uniform(x.shape, x.dtype, min, max, seed))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, name: Any = None) -> Tensor:
    """Overwrite the tensor with numbers drawn from a normal distribution, and return it."""
    return self._overwrite("normal_", lambda x: creation.gaussian(x.shape, mean, std, dtype=x.dtype))


def zero_(self: Tensor) -> Tensor:
    """Overwrite the tensor with zeros, and return it."""
    return fill_(self, 0)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite the tensor with one value, and return it."""
    return self._overwrite("fill_", lambda x: creation.full_like(x, value))


attach(Tensor)
for _name, _record in (*BINARY.items(), *COMPARISONS.items()):
    _divides = _name == "truediv"
    setattr(Tensor, f"__{_name}__", _power if _name == "pow" else _arithmetic(_record, False, _divides))
    if _name in BINARY:
        setattr(Tensor, f"__r{_name}__", _arithmetic(_record, True, _divides))
for _name in IN_PLACE:
    setattr(Tensor, _name, IN_PLACE[_name])
for _name in ("argmax", "argmin", "argsort", "sort", "topk", "var", "std", "median"):
    setattr(Tensor, _name, getattr(statistics, _name))
for _name in numerics.__all__:
    setattr(Tensor, _name, getattr(numerics, _name))
for _name, _function in (
    ("__setitem__", _set_item),
    ("__hash__", lambda self: id(self)),
    ("backward", backward_of),
    ("clone", creation.assign),
    ("fill_", fill_),
    ("normal_", normal_),
    ("set_value", set_value),
    ("uniform_", uniform_),
    ("zero_", zero_),
    ("numel", lambda self: Tensor(TapeValue(np.asarray(self.size)))),
    ("dim", lambda self: self.ndim),
    ("cpu", lambda self: self),
    ("element_size", lambda self: self._entry.array.itemsize),
):
    setattr(Tensor, _name, _function)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Any:
    """Return a tensor with a copy of the data; in static mode, a constant of the program.

    Args:
        data: a number, a nested list, an array or a tensor. Python floats become the default data type.
        dtype: data type, by default that of the data.
        place: ignored; there is only the CPU.
        stop_gradient: whether gradients stop at the tensor.

    Raises:
        ArgumentTypeError, InvalidArgumentError: for data that is no rectangular array of real numbers.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> paddle.to_tensor([[1, 2], [3, 4]], dtype="float32")
        Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=True,
               [[1., 2.],
                [3., 4.]])
    """
    given = None if dtype is None else as_dtype(dtype).numpy
    array = data._entry.array if isinstance(data, Tensor) else as_array(data, given)
    wanted = array.dtype if given is None else given
    as_dtype(wanted)
    if Value.kind[-1] is not Tensor:
        constant = apply(creation.assign_value_, values=np.array(array, wanted))
        constant.stop_gradient = stop_gradient
        return constant
    return Tensor(TapeValue(np.array(array, wanted), not stop_gradient))


__all__ = ["assign", "to_tensor"]
