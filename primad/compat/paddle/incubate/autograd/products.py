"""`vjp` and `jvp` of functions of tensors or static variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad.compat.forward import tangents as eager_tangents
from primad.compat.paddle.autograd.backward import grad
from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions.creation import assign, ones_like, zeros_like
from primad.compat.paddle.settings.errors import ArgumentTypeError, PreconditionError
from primad.compat.paddle.static.backward import gradients
from primad.compat.paddle.static.forward import tangents as static_tangents
from primad.compat.paddle.static.variable import Variable


def vjp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Return a function's value and the product of a vector with its Jacobian (reverse mode).

    Args:
        func: a function of tensors that returns a tensor or a sequence of them.
        xs: its arguments, a tensor or a sequence. They need no `stop_gradient=False`.
        v: the vector, of the shape of the value; ones by default.

    Returns:
        (value, product), the product with the structure of xs: zeros for arguments that the value does not depend on.

    Raises:
        ArgumentTypeError: for arguments of wrong types.
        PreconditionError: if v does not fit the value.

    Example:
        >>> from primad.compat import paddle
        >>> x = paddle.ones([2, 2])
        >>> paddle.incubate.autograd.vjp(lambda x: paddle.matmul(x, x), x)[1].tolist()
        [[4.0, 4.0], [4.0, 4.0]]
    """
    inputs = check_inputs(func, xs, v)
    separate = [separated(x) for x in inputs]
    value = func(*separate) if is_sequence(xs) else func(separate[0])
    outputs = listed(value)
    weights = check_vector(v, outputs)
    pulled = pull(outputs, separate, weights)
    return value, tuple(pulled) if is_sequence(xs) else pulled[0]


def jvp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Return a function's value and the product of its Jacobian with a vector (forward mode, in one pass).

    Args:
        func: a function of tensors that returns a tensor or a sequence of them.
        xs: its arguments, a tensor or a sequence. They need no `stop_gradient=False`.
        v: the vector, of the shapes of xs; ones by default.

    Returns:
        (value, product), the product with the structure of the value: zeros where it does not depend on xs.

    Raises:
        ArgumentTypeError: for arguments of wrong types.
        PreconditionError: if v does not fit xs.

    Example:
        >>> from primad.compat import paddle
        >>> x = paddle.ones([2, 2])
        >>> v = paddle.to_tensor([[1.0, 0.0], [0.0, 0.0]])
        >>> paddle.incubate.autograd.jvp(lambda x: paddle.matmul(x, x), x, v)[1].tolist()
        [[2.0, 1.0], [1.0, 0.0]]
    """
    inputs = check_inputs(func, xs, v)
    along = check_vector(v, inputs)
    separate = [separated(x) for x in inputs]
    value = func(*separate) if is_sequence(xs) else func(separate[0])
    pushed = push(listed(value), separate, along)
    return value, tuple(pushed) if is_sequence(value) else pushed[0]


# -- both modes --------------------------------------------------------------------------------------------------------


def pull(outputs: Sequence[Any], inputs: Sequence[Any], weights: Sequence[Any] | None) -> list[Any]:
    """Return the gradients of weighted outputs, zeros for inputs that they do not depend on."""
    if isinstance(inputs[0], Variable):
        found: Sequence[Any] = gradients(list(outputs), list(inputs), None if weights is None else list(weights))
    else:
        given = None if weights is None else list(weights)
        found = grad(list(outputs), list(inputs), given, create_graph=True, allow_unused=True)
    return [zeros_like(x) if gradient is None else gradient for x, gradient in zip(inputs, found, strict=True)]


def push(outputs: Sequence[Any], inputs: Sequence[Any], along: Sequence[Any] | None) -> list[Any]:
    """Return the tangents of outputs along tangents of the inputs (ones, where there are none)."""
    if isinstance(inputs[0], Variable):
        found: Sequence[Any] = static_tangents(outputs, inputs, along)
        return [zeros_like(y) if tangent is None else tangent for y, tangent in zip(outputs, found, strict=True)]
    directions = [ones_like(x) for x in inputs] if along is None else along
    unique = list(dict.fromkeys(y._entry for y in outputs))
    pushed = eager_tangents(unique, [x._entry for x in inputs], [v._entry for v in directions])
    tangent_of = dict(zip(unique, pushed, strict=True))
    return [Tensor(tangent_of[y._entry]) for y in outputs]


def separated(x: Any) -> Any:
    """Return a value of its own for an argument, so that one given twice counts as two.

    It stays connected to the argument, if that needs a gradient.
    """
    copy = assign(x) if not x.stop_gradient or isinstance(x, Variable) else x.detach()
    copy.stop_gradient = False
    return copy


# -- arguments ---------------------------------------------------------------------------------------------------------


def is_sequence(value: Any) -> bool:
    """Say whether a value is a list or tuple."""
    return isinstance(value, (list, tuple))


def listed(value: Any) -> list[Any]:
    """Return a value, or the values in a sequence, as a list."""
    return list(value) if is_sequence(value) else [value]


def check_inputs(func: Any, xs: Any, v: Any = None) -> list[Any]:
    """Return the arguments as a list.

    Raises:
        ArgumentTypeError: if func cannot be called, or xs or v are no values or sequences of them.
    """
    if not callable(func):
        raise ArgumentTypeError(f"Expected 'fun' is Callable, but got {type(func)}.")
    for name, given in (("xs", xs), ("v", v)):
        if given is None and name == "v":
            continue
        if not isinstance(given, Value) and not is_sequence(given):
            raise ArgumentTypeError(f"Expected '{name}' is a Tensor|Sequence[Tensor],but got {type(given)}.")
        if not all(isinstance(item, Value) for item in listed(given)):
            raise ArgumentTypeError(f"All elements of '{name}' should be Tensor.")
    return listed(xs)


def check_vector(v: Any, of: Sequence[Any]) -> list[Any] | None:
    """Return the vector as a list.

    Raises:
        PreconditionError: if it does not have the number and the shapes of what it belongs to.
    """
    if v is None:
        return None
    given = listed(v)
    if len(given) != len(of):
        raise PreconditionError(
            f"The argument v is a tuple of invalid length:should be {len(of)} but got {len(given)}."
        )
    for i, (item, value) in enumerate(zip(given, of, strict=True)):
        if tuple(item.shape) != tuple(value.shape):
            raise PreconditionError(
                f"The v[{i}] has invalid shape: should be {tuple(value.shape)} but got {tuple(item.shape)}."
            )
    return given
