"""`Jacobian` and `Hessian` of functions: only the rows or columns that an index asks for are computed, and kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.paddle.functions.creation import assign_value_, zeros_like
from primad.compat.paddle.functions.manipulation import concat, reshape, stack
from primad.compat.paddle.incubate.autograd.products import check_inputs, is_sequence, listed, pull, push, separated
from primad.compat.paddle.settings.errors import InvalidArgumentError, PreconditionError


class Jacobian:
    """The derivative of a function as a matrix: outputs by inputs, each flattened and joined.

    With `is_batched`, axis 0 of all arguments and results is a batch, and there is one matrix for each of its samples;
    a sample's results must depend on that sample's arguments alone.

    Indexing computes what it needs: rows by reverse mode or columns by forward mode, whichever are fewer, each at most
    once. Indexes are those of NumPy: numbers, slices with any step, an ellipsis, lists of numbers.

    Args:
        func: a function of tensors that returns a tensor or a sequence of them.
        xs: its arguments, a tensor or a sequence.
        is_batched: whether axis 0 is a batch.

    Raises:
        ArgumentTypeError: for arguments of wrong types.

    Example:
        >>> from primad.compat import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> J = paddle.incubate.autograd.Jacobian(lambda x, y: paddle.matmul(x, y), [x, x])
        >>> J.shape
        (4, 8)
        >>> J[0].tolist()
        [1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        self._batched = int(is_batched)
        self._xs = [separated(x) for x in check_inputs(func, xs)]
        value = func(*self._xs) if is_sequence(xs) else func(self._xs[0])
        self._ys = listed(value)
        self._y, self._x = self._flat(self._ys), [_count(x, self._batched) for x in self._xs]
        self._rows: dict[int, Any] = {}
        self._columns: dict[int, Any] = {}

    def _flat(self, values: list[Any]) -> Any:
        """Return values flattened and joined."""
        parts = [reshape(value, [*value.shape[: self._batched], _count(value, self._batched)]) for value in values]
        return parts[0] if len(parts) == 1 else concat(parts, self._batched)

    @property
    def shape(self) -> tuple[int, ...]:
        """(outputs, inputs), after the length of the batch, if there is one."""
        return (*self._xs[0].shape[: self._batched], self._y.shape[-1], sum(self._x))

    def _row(self, number: int) -> Any:
        if number not in self._rows:
            y = self._y[:, number] if self._batched else self._y[number]
            self._rows[number] = self._flat(pull([y], self._xs, None))
        return self._rows[number]

    def _column(self, number: int) -> Any:
        if number not in self._columns:
            along, start = [], 0
            for x, count in zip(self._xs, self._x, strict=True):
                along.append(_unit(x, number - start, self._batched) if 0 <= number - start < count else zeros_like(x))
                start += count
            self._columns[number] = push([self._y], self._xs, along)[0]
        return self._columns[number]

    def __getitem__(self, index: Any) -> Any:
        shape = self.shape
        items = _expanded(index, len(shape))
        batch, (rows, columns) = items[: self._batched], items[self._batched :]
        wanted = [
            _positions(item, length) for item, length in zip((rows, columns), shape[self._batched :], strict=True)
        ]
        by_columns = len(wanted[1]) < len(wanted[0])
        numbers = wanted[1] if by_columns else wanted[0]
        if not numbers:
            raise InvalidArgumentError(f"the index {index!r} selects nothing from a matrix of shape {shape}")
        lines = [self._column(i) if by_columns else self._row(i) for i in numbers]
        matrix = stack(lines, -1 if by_columns else self._batched)
        chosen = columns if by_columns else rows
        line = 0 if isinstance(chosen, (int, np.integer)) else slice(None)
        picked = (*batch, rows, line) if by_columns else (*batch, line, columns)
        return matrix if all(isinstance(item, slice) and item == slice(None) for item in picked) else matrix[picked]


class Hessian:
    """The second derivative of a function with one result as a symmetric matrix over the flattened, joined arguments.

    Args:
        func: a function of tensors with a result of one element, or of one for each sample with `is_batched`.
        xs: its arguments, a tensor or a sequence.
        is_batched: whether axis 0 is a batch; see `Jacobian`.

    Raises:
        PreconditionError: if the function has more than one result.

    Example:
        >>> from primad.compat import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> paddle.incubate.autograd.Hessian(lambda x: paddle.sum(x * x), x)[:].tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        def gradient(*arguments: Any) -> Any:
            first = Jacobian(func, list(arguments) if is_sequence(xs) else arguments[0], is_batched)
            if first.shape[-2] != 1:
                raise PreconditionError(
                    "The function given to Hessian should return as single element Tensor or batched single element "
                    "Tensor."
                )
            return first[:, 0] if is_batched else first[0]

        self._jacobian = Jacobian(gradient, xs, is_batched)

    @property
    def shape(self) -> tuple[int, ...]:
        """(inputs, inputs), after the length of the batch, if there is one."""
        return self._jacobian.shape

    def __getitem__(self, index: Any) -> Any:
        return self._jacobian[index]


def _count(value: Any, batched: int) -> int:
    """Return the number of elements, in a batch those of one sample."""
    lengths = list(value.shape[batched:])
    if -1 in lengths:
        raise InvalidArgumentError(
            f"a length of {value.name} is unknown, shape {tuple(value.shape)}",
            why="The matrix needs as many rows or columns as there are elements.",
            fix="give the length in data(shape=…), or take axis 0 as a batch with is_batched=True.",
        )
    return math.prod(lengths)


def _unit(x: Any, number: int, batched: int) -> Any:
    """Return a tensor of the shape of x that is 1 at one flat position (of each sample), else 0."""
    sample = np.zeros(x.shape[batched:], x.dtype.numpy)
    sample.flat[number] = 1
    return zeros_like(x) + type(x).apply(assign_value_, (), {"values": sample}, "assign")


def _expanded(index: Any, ndim: int) -> list[Any]:
    """Return one index for each axis."""
    items = list(index) if isinstance(index, tuple) else [index]
    if items.count(Ellipsis) > 1 or len(items) - items.count(Ellipsis) > ndim:
        raise IndexError(f"the index {index!r} does not fit a matrix with {ndim} axes")
    if Ellipsis not in items:
        items.append(Ellipsis)
    place = items.index(Ellipsis)
    return [*items[:place], *[slice(None)] * (ndim - len(items) + 1), *items[place + 1 :]]


def _positions(item: Any, length: int) -> list[int]:
    """Return the positions on an axis that an index selects."""
    try:
        return [int(i) for i in np.atleast_1d(np.arange(length)[item])]
    except IndexError as error:
        raise IndexError(f"{error}; a Jacobian takes numbers, slices, an ellipsis and lists of numbers") from None
