"""`jacobian` and `hessian` of tensors that have been computed: rows are evaluated when they are asked for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.compat.paddle.autograd.backward import run
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions.indexing import getitem
from primad.compat.paddle.functions.manipulation import stack
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.compat.tape import TapeValue


class Jacobian:
    """The derivative of one tensor by another, row by row.

    Indexing computes the rows that are asked for and keeps them; any operator or attribute of a tensor computes all.

    Attributes:
        shape: [M, N], or [B, M, N] with a batch axis; axes that ys or xs do not have are left out.
    """

    def __init__(self, ys: Tensor, xs: Tensor, batched: bool) -> None:
        self._ys, self._xs, self._batched = ys, xs, batched
        first = int(batched)
        _check_rank("ys", ys, batched)
        _check_rank("xs", xs, batched)
        self.shape = [*xs.shape[:first], *ys.shape[first:], *xs.shape[first:]]
        self._axis = first if ys.ndim > first else None
        self._rows: dict[int, Tensor] = {}
        self._whole: Tensor | None = None

    def _row(self, number: int) -> Tensor:
        """Return the derivative of one component of ys (of each, summed over the batch)."""
        found = self._rows.get(number)
        if found is None:
            seed = np.zeros(self._ys.shape, self._ys._entry.array.dtype)
            seed[(slice(None),) * int(self._batched) + ((number,) if self._axis is not None else ())] = 1
            found = self._rows[number] = derivative(self._ys, self._xs, seed)
        return found

    def whole(self) -> Tensor:
        """Return all of it as a tensor."""
        if self._whole is None:
            count = 1 if self._axis is None else self._ys.shape[self._axis]
            rows = [self._row(i) for i in range(count)]
            self._whole = rows[0] if self._axis is None else stack(rows, self._axis)
        return self._whole

    def __getitem__(self, index: Any) -> Tensor:
        if not self.shape:
            raise IndexError("0-D tensor can not be indexed.")
        items = index if isinstance(index, tuple) else (index,)
        place = self._axis
        plain = all(isinstance(item, (int, np.integer, slice)) for item in items)
        if place is None or not plain or len(items) <= place or len(items) > len(self.shape):
            return getitem(self.whole(), index)  # type: ignore[no-any-return]
        before, chosen, rest = items[:place], items[place], items[place + 1 :]
        count = self.shape[place]
        if isinstance(chosen, slice):
            numbers = range(count)[chosen]
            if not numbers:
                return getitem(self.whole(), index)  # type: ignore[no-any-return]
            rows = stack([self._row(i) for i in numbers], place)
            return getitem(rows, (*before, slice(None), *rest))  # type: ignore[no-any-return]
        number = operator.index(chosen)
        if not -count <= number < count:
            raise IndexError(f"index {number} is out of range for axis {place} of length {count}")
        row = self._row(number % count)
        return getitem(row, (*before, *rest)) if before or rest else row

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def __len__(self) -> int:
        return self.shape[0]

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return repr(self.whole())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.whole().__array__(dtype)


class Hessian(Jacobian):
    """The second derivative of one tensor: the Jacobian of its gradient."""


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Jacobian, *others: Any) -> Any:
        given = [other.whole() if isinstance(other, Jacobian) else other for other in others]
        return getattr(self.whole(), name)(*given)

    return apply


for _name in (
    "add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "matmul", "radd", "rsub", "rmul", "rtruediv", "rpow",
    "rmatmul", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge",
):  # fmt: skip
    setattr(Jacobian, f"__{_name}__", _operator(f"__{_name}__"))


def derivative(ys: Tensor, xs: Tensor, seed: np.ndarray[Any, Any]) -> Tensor:
    """Return the gradient of ys, weighted, by xs, itself recorded; zeros where ys does not depend on xs."""
    entry = ys._entry
    if entry.active and xs._entry.active:
        (found,) = run([entry], [TapeValue(seed)], [xs._entry], record=True)
        if found is not None:
            return Tensor(found)
    return Tensor(TapeValue(np.zeros_like(xs._entry.array)))


def _check_rank(name: str, tensor: Tensor, batched: bool) -> None:
    allowed = (1, 2) if batched else (0, 1)
    if tensor.ndim not in allowed:
        raise InvalidArgumentError(
            f"{name}.ndim should be {allowed[0]} or {allowed[1]} when is_batched={batched} but got {tensor.ndim}",
            fix="flatten it, or choose batch_axis.",
        )


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """Return the derivative of ys by xs, for tensors that have been computed.

    Args:
        ys: a tensor of rank 0 or 1 ([B] or [B, M] with a batch axis), or a tuple of them.
        xs: what to differentiate by, of rank 0 or 1 ([B] or [B, N]), or a tuple.
        batch_axis: None, or 0: row b of ys depends on row b of xs only.

    Returns:
        a `Jacobian` of shape [M, N] ([B, M, N]); for tuples a tuple, nested by ys first.

    Raises:
        InvalidArgumentError: for other ranks and batch axes.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.jacobian(x * x, x)[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    if batch_axis is not None and batch_axis != 0:
        raise InvalidArgumentError(f"batch_axis should be None or 0, but got {batch_axis}.")
    return _each(ys, lambda y: _each(xs, lambda x: Jacobian(y, x, batch_axis == 0)))


def hessian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """Return the second derivative of a scalar ys by xs, for tensors that have been computed.

    Args:
        ys: a tensor with one element (one for each row with a batch axis: [B] or [B, 1]).
        xs: a tensor of rank 0 or 1 ([B] or [B, N]), or a tuple.
        batch_axis: None, or 0: row b of ys depends on row b of xs only.

    Returns:
        a `Hessian` of shape [N, N] ([B, N, N]); for a tuple a tuple of tuples H[i][j].

    Raises:
        InvalidArgumentError: if ys has more elements, and for other batch axes.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.hessian((x * x * x).sum(), x)[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    if batch_axis is None:
        if ys.size > 1:
            raise InvalidArgumentError(f"Only support ys.numel()({ys.size})==1 when batch_axis is None.")
        first = getitem(ys, 0) if ys.ndim else ys
    elif isinstance(batch_axis, int):
        if ys.size and ys.size != ys.shape[0]:
            raise InvalidArgumentError(
                f"Only support ys[0].numel()({ys.size // ys.shape[0]})==1 when batch_axis is int"
            )
        if batch_axis != 0:
            raise InvalidArgumentError(f"Only support batch_axis=0 yet, but got {batch_axis}.")
        first = getitem(ys, (slice(None), 0)) if ys.ndim == 2 else ys
    else:
        raise InvalidArgumentError(f"batch_axis should be None or int, but got {type(batch_axis)}.")
    batched = batch_axis == 0

    def second(x: Tensor) -> Any:
        gradient = Jacobian(first, x, batched).whole()
        return _each(xs, lambda other: Hessian(gradient, other, batched))

    return _each(xs, second)


def _each(given: Any, function: Callable[[Tensor], Any]) -> Any:
    if isinstance(given, Sequence):
        return tuple([function(item) for item in given])
    return function(given)
