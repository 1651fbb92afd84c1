"""JAX's indices that are known: those that go along one axis are slices, and give what JAX gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primad
from primad.ir.program import Program

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


X = np.random.default_rng(3).normal(size=(5, 7))
SLICES: dict[str, tuple[Any, ...]] = {
    "neighbours": (np.arange(1, 4),),
    "every second": (slice(None), np.arange(0, 7, 2)),
    "along one row": (np.array([2, 2, 2]), np.array([1, 3, 5])),
    "along one column": (np.array([1, 2, 3]), np.array([4, 4, 4])),
    "one": (np.array([3]),),
    "one of a row": (np.array([3]), np.array([6])),
}
NO_SLICES: dict[str, tuple[Any, ...]] = {
    "backwards": (np.array([3, 2, 1]),),
    "with a gap": (np.array([0, 1, 3]),),
    "with a gap in a row": (np.array([2, 2, 2]), np.array([1, 2, 5])),
    "again": (np.array([1, 1, 1]),),
    "one element again": (np.array([1, 1]), np.array([2, 2])),
    "a diagonal": (np.arange(5), np.arange(5)),
    "of two axes": (np.array([[0, 1], [2, 3]]),),
    "none": (np.array([], int),),
}
INDICES = SLICES | NO_SLICES


def _names(program: Program) -> set[str]:
    return {node.op.name for node in program.nodes}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", INDICES)
def test_known_indices(name: str) -> None:
    """Elements that are taken, replaced and added to, with their derivatives, are JAX's."""
    index = tuple([jnp.asarray(i) if isinstance(i, np.ndarray) else i for i in INDICES[name]])

    def function(x: Any) -> Any:
        x = jnp.asarray(x)
        taken = x[index]
        own = jnp.sin(taken) * jnp.cos(jnp.arange(taken.size, dtype=float)).reshape(taken.shape)
        if name not in ("again", "one element again"):
            x = x.at[index].set(own)
        return jnp.sum((x.at[index].add(2.0 * own) * jnp.arange(35.0).reshape(5, 7)) ** 2)

    own = primad.from_jax(function)
    np.testing.assert_allclose(own(X), function(X), rtol=1e-13)
    np.testing.assert_allclose(primad.grad(own)(X), jax.grad(function)(X), rtol=1e-12, atol=1e-12)
    taken = primad.lower(primad.trace(primad.from_jax(lambda x: x[index]))(X))
    assert ("gather" in _names(taken)) == (name in NO_SLICES and name != "none")


SMOOTH = {
    "abs": jnp.abs,
    "with a second derivative": lambda x: jnp.abs(x) * jnp.log(1.0 + jnp.abs(x)),
    "cube": lambda x: jnp.abs(x) ** 3,
    "product": lambda x: jnp.abs(x) * jnp.abs(2.0 * x),
    "copysign": lambda x: jnp.copysign(x, 1.0),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SMOOTH)
def test_absolute_values_at_zero(name: str) -> None:
    """Slopes of |x| at zeros of both signs are JAX's, so functions that are smooth there have second derivatives."""
    function = SMOOTH[name]
    x = np.array([0.0, -0.0, 1.5, -2.0, np.inf])
    own = primad.from_jax(function)
    assert not np.signbit(own(x)).any()
    np.testing.assert_array_equal(own(x), function(x))
    x = x[:-1]
    slope, again = (jax.grad(lambda x: jnp.sum(function(x))), primad.grad(lambda x: np.sum(own(x))))
    np.testing.assert_allclose(again(x), slope(x), rtol=1e-13)
    second = jax.grad(lambda x: jnp.sum(slope(x)))(x)
    np.testing.assert_allclose(primad.grad(lambda x: np.sum(again(x)))(x), second, rtol=1e-13)
