"""Uses of primad whose types mypy checks, as an editor sees them; `test_public_names.py` runs them as well."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import primad

Vector = np.ndarray[Any, np.dtype[np.float64]]


def loss(x: Vector, scale: float = 1.0) -> np.float64:
    """Return a number."""
    return np.sum(x**2) * scale


def field(x: Vector) -> Vector:
    """Return an array."""
    return np.sin(x)


def model(parameters: dict[str, Vector], x: Vector) -> np.float64:
    """Return a number that depends on a tree."""
    return np.sum(parameters["w"] * x)


def uses() -> list[tuple[Any, type]]:
    """Return results of transforms, and the class that each is said to have."""
    x, v = np.ones(3), np.arange(3.0)
    gradient = assert_type(primad.grad(loss)(x, scale=2.0), Vector)
    of_tree = assert_type(primad.grad(model)({"w": x}, v), dict[str, Vector])
    both = assert_type(primad.value_and_grad(loss)(x), tuple[np.float64, Vector])
    fast = assert_type(primad.jit(loss)(x, scale=2.0), np.float64)
    nested = assert_type(primad.jit(primad.vmap(field))(x), Vector)
    hessian = assert_type(primad.hessian(loss)(x), primad.Hessian)
    jacobian = assert_type(primad.jacobian(field)(x), primad.Jacobian)
    dense = assert_type(primad.jacfwd(field)(x), np.ndarray[Any, Any])
    pushed = assert_type(primad.jvp(field, (x,), (v,)), tuple[Vector, Vector])
    value, linear = primad.linearize(field, x)
    product = assert_type(primad.hvp(loss, gradient, v), Vector)
    third = assert_type(primad.derivative(field, 3)(x), Vector)
    sum_of_second = assert_type(primad.laplacian(loss)(x), np.float64)
    coefficients = assert_type(primad.taylor(field, x, v, 2), tuple[Vector, ...])
    program = assert_type(primad.trace(field)(x), primad.Program)
    again = assert_type(primad.checkpoint(field)(x), Vector)
    primad.grad(primad.grad(lambda y: y**3))(2.0)  # strict mode knows nothing of a lambda, and says nothing
    primad.jit(primad.value_and_grad(lambda a, b: a * b, argnums=1))(1.0, 2.0)
    primad.vmap(primad.grad(np.sin))(x)
    return [
        (gradient, np.ndarray),
        (of_tree["w"], np.ndarray),
        (both[0], np.float64),
        (both[1], np.ndarray),
        (fast, np.float64),
        (nested, np.ndarray),
        (hessian, primad.Hessian),
        (hessian.matvec(v), np.ndarray),
        (jacobian, primad.Jacobian),
        (dense, np.ndarray),
        (pushed[1], np.ndarray),
        (assert_type(value, Vector), np.ndarray),
        (linear(v), np.ndarray),
        (product, np.ndarray),
        (third, np.ndarray),
        (sum_of_second, np.float64),
        (coefficients[2], np.ndarray),
        (program, primad.Program),
        (again, np.ndarray),
    ]
