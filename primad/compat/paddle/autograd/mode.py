"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.eager.tensor import RECORDING, Tensor


class _Switch:
    """A context manager and decorator that sets the mode and restores it."""

    mode: bool

    def __enter__(self) -> _Switch:
        RECORDING.append(self.mode)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        RECORDING.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that runs in this mode."""

        @wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return inner


class no_grad(_Switch):
    """Operations inside are not recorded: their results stop gradients. Context manager and decorator.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> x = paddle.to_tensor(1.0, stop_gradient=False)
        >>> with paddle.no_grad():
        ...     y = x * 2
        >>> y.stop_gradient
        True
    """

    mode = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """Decorate a function given at once (`@paddle.no_grad`), too."""
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        pass


class enable_grad(_Switch):
    """Operations inside are recorded, also within no_grad. Context manager and decorator."""

    mode = True


class set_grad_enabled(_Switch):
    """Set whether operations are recorded, from now on; as a context manager, until its end.

    Args:
        mode: whether they are.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before = RECORDING[-1]
        RECORDING[-1] = self.mode

    def __enter__(self) -> set_grad_enabled:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        RECORDING[-1] = self._before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that runs in this mode."""
        RECORDING[-1] = self._before

        @wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with set_grad_enabled(self.mode):
                return function(*args, **kwargs)

        return inner


def is_grad_enabled() -> bool:
    """Whether operations are recorded; False in static mode."""
    return RECORDING[-1] and Value.kind[-1] is Tensor
