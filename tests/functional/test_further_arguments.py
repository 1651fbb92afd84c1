"""Functions that transforms make take all arguments of the function, and differentiate the chosen one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.recording import tree

X, RATE = np.array([0.3, 0.7]), np.array([2.0, 0.5])


def each(x: Any, rate: Any, power: Any = 1.0) -> Any:
    """Act on each element."""
    return np.sin(rate * x) ** 2 * power


def total(x: Any, rate: Any, power: Any = 1.0) -> Any:
    """Add up over the elements."""
    return np.sum(each(x, rate, power))


TRANSFORMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "grad": (primad.grad, total),
    "value_and_grad": (primad.value_and_grad, total),
    "jacobian": (primad.jacobian, each),
    "jacfwd": (primad.jacfwd, each),
    "jacrev": (primad.jacrev, each),
    "hessian": (primad.hessian, total),
    "laplacian": (primad.laplacian, total),
    "derivative": (primad.derivative, each),
    "second derivative": (lambda f, argnums: primad.derivative(f, 2, argnums=argnums), each),
    "derivative of order 0": (lambda f, argnums: primad.derivative(f, 0, argnums=argnums), each),
}


@pytest.mark.parametrize("argnums", [0, 1, -1])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_further_arguments_are_as_closed_over(name: str, argnums: int) -> None:
    transform, function = TRANSFORMS[name]
    other = [X, RATE]
    at = other.pop(argnums)
    alone = (lambda x: function(x, *other, 3.0)) if argnums == 0 else (lambda rate: function(*other, rate, 3.0))
    expected = transform(alone, argnums=0)(at)
    for found in (
        transform(function, argnums=argnums)(X, RATE, power=3.0),
        primad.jit(transform(function, argnums=argnums))(X, RATE, power=3.0),
    ):
        for one, two in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_call_without_the_argument_says_so(name: str) -> None:
    transform, function = TRANSFORMS[name]
    if name != "derivative of order 0":
        with pytest.raises(primad.TracingError, match="argnums=0 but the call has 0 positional arguments"):
            transform(function, argnums=0)(rate=RATE)


def test_an_integer_in_a_list_is_named() -> None:
    with pytest.raises(primad.NotDifferentiableError, match="element 1 of argument 0 of grad has dtype int64"):
        primad.grad(lambda y: y[0] * y[1])([1.0, 2])
