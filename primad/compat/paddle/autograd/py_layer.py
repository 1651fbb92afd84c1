"""PyLayer: an operation whose derivative a user writes.

`forward` runs without being recorded, and its result is one call on the tape with a pullback of its own. When a
gradient arrives there, `backward` runs on tensors that have values, as in Paddle: it may look at them. With
create_graph its operations are recorded, so gradients of any order pass through it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from primad.compat.paddle.autograd.mode import no_grad
from primad.compat.paddle.eager.tensor import RECORDING, Tensor
from primad.compat.paddle.settings.errors import (
    ExternalError,
    InvalidArgumentError,
    PreconditionError,
    UnimplementedError,
)
from primad.compat.tape import TapeCall, TapeValue


class PyLayerContext:
    """What `forward` keeps for `backward`; attributes may be set freely.

    Attributes:
        not_differentiable: results without a gradient.
        materialize_grads: whether gradients that do not arrive are zeros, or None.
    """

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] | None = None
        self.not_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`; to be called once.

        Raises:
            PreconditionError: if called again.
        """
        if self._saved is not None:
            raise PreconditionError("save_for_backward can only be called once", fix="pass all tensors together.")
        self._saved = tensors

    def saved_tensor(self) -> tuple[Any, ...]:
        """Return the tensors that were kept."""
        return self._saved or ()

    def mark_not_inplace(self, *tensors: Any) -> None:
        """Accept tensors that `forward` returns as they came; each result is a tensor of its own here anyway."""

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Name results that have no gradient; they stop gradients."""
        self.not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether gradients that do not arrive are zeros (True) or None."""
        self.materialize_grads = bool(value)


class PyLayer:
    """An operation with a derivative of its own: subclass it with static methods `forward` and `backward`.

    `forward(ctx, *args, **kwargs)` returns a tensor or a tuple of them; `backward(ctx, *grads)` one gradient for each
    tensor among the arguments of `forward`, None for those that stop gradients.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> class Cube(paddle.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, dy):
        ...         (x,) = ctx.saved_tensor()
        ...         return 3 * x * x * dy
        >>> x = paddle.to_tensor(2.0, stop_gradient=False)
        >>> Cube.apply(x).backward()
        >>> float(x.grad)
        12.0
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the results; to be defined.

        Raises:
            UnimplementedError: unless a subclass defines it.
        """
        raise UnimplementedError("You must implement the forward function for PyLayer.")

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return gradients of the arguments for gradients of the results; to be defined.

        Raises:
            ExternalError: unless a subclass defines it.
        """
        raise ExternalError("You must implement the backward function for PyLayer.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record it with `backward` as its derivative.

        Raises:
            UnimplementedError: if `forward` is missing.
            InvalidArgumentError: if it returns something else than tensors.
        """
        context = PyLayerContext()
        with no_grad():
            found = cls.forward(context, *args, **kwargs)
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        if not any(isinstance(result, Tensor) for result in results):
            raise InvalidArgumentError(
                f"{cls.__name__}.forward returned {type(found).__name__}",
                why="At least one output of `PyLayer.forward` must be a Tensor.",
            )
        given = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)]
        operands = tuple([tensor._entry for tensor in given])
        call = None
        if RECORDING[-1] and any(entry.active for entry in operands):
            pull = _Pullback(
                cls, context, given, [result if isinstance(result, Tensor) else None for result in results]
            )
            call = TapeCall(cls, (-1,) * len(operands), (), operands, pull)
        for i, result in enumerate(results):
            if isinstance(result, Tensor):
                if any(result is other for other in given):
                    result = results[i] = result.detach()
                if call is not None and not any(result is other for other in context.not_differentiable):
                    # The tensor itself joins the tape: `forward` may have saved it for `backward`.
                    active = result._entry.array.dtype.kind == "f"
                    result._entry = TapeValue(result._entry.array, active, call if active else None, i)
        return type(found)(results) if isinstance(found, (tuple, list)) else results[0]


class _Pullback:
    """From gradients of the results to gradients of the operands, by the user's `backward`."""

    def __init__(
        self, layer: type[PyLayer], context: PyLayerContext, given: list[Tensor], results: list[Tensor | None]
    ) -> None:
        self._layer, self._context = layer, context
        self._active = [not tensor.stop_gradient for tensor in given]
        self._like = [(tensor._entry.array.shape, tensor._entry.array.dtype) for tensor in given]
        self._shapes = [
            None if result is None else (result._entry.array.shape, result._entry.array.dtype) for result in results
        ]

    def __call__(self, arriving: list[TapeValue | None]) -> list[TapeValue | None]:
        arriving = [*arriving, *[None] * (len(self._shapes) - len(arriving))]
        gradients = [
            self._gradient(entry, like) for entry, like in zip(arriving, self._shapes, strict=True) if like is not None
        ]
        found = self._layer.backward(self._context, *gradients)
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        name = f"{self._layer.__name__}.backward"
        if len(results) != len(self._active):
            if len(results) != sum(self._active):
                raise InvalidArgumentError(
                    f"{name} returned {len(results)} gradients for {len(self._active)} tensors",
                    fix="return one for each tensor among the arguments of forward.",
                )
            given = iter(results)
            results = [next(given) if on else None for on in self._active]
        entries: list[TapeValue | None] = []
        for i, (result, on) in enumerate(zip(results, self._active, strict=True)):
            if not on:
                entries.append(None)
                continue
            if not isinstance(result, Tensor):
                raise InvalidArgumentError(
                    f"{name} returned {type(result).__name__} as gradient {i}",
                    why="That argument of forward does not stop gradients, so its gradient must be a Tensor.",
                )
            shape, dtype = self._like[i]
            entry = result._entry
            if entry.array.shape != shape:
                raise InvalidArgumentError(f"{name}: gradient {i} has shape {result.shape}, expected {list(shape)}")
            entries.append(entry if entry.array.dtype == dtype else result.astype(str(dtype))._entry)  # type: ignore[attr-defined]
        return entries

    def _gradient(self, entry: TapeValue | None, like: tuple[tuple[int, ...], np.dtype[Any]]) -> Tensor | None:
        if entry is not None:
            return Tensor(entry)
        return Tensor(TapeValue(np.zeros(*like))) if self._context.materialize_grads else None


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` whose own gradients are wrong: what it returns stops gradients."""

    @wraps(backward)
    def wrapped(ctx: Any, *args: Any) -> Any:
        with no_grad():
            return backward(ctx, *args)

    return wrapped
