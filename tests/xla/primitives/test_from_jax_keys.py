"""JAX's random keys in loops, stacks and rules of a user's own, and what is done for an effect and refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.errors import TracingError

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
jnp, lax, random = jax.numpy, jax.lax, jax.random

X = np.linspace(0.2, 0.9, 6)


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


@jax.custom_jvp
def pushed(key: Any, x: Any) -> Any:
    return x**2 * random.uniform(key)


pushed.defjvp(lambda p, t: (pushed(*p), 2 * p[1] * t[1] * random.uniform(p[0])))


@jax.custom_jvp
def moved_on(key: Any, x: Any) -> Any:
    """Return the next key beside a value."""
    new, own = random.split(key)
    return new, x * random.uniform(own)


moved_on.defjvp(
    lambda p, t: (moved_on(*p), (np.zeros((), jax.dtypes.float0), t[1] * random.uniform(random.split(p[0])[1])))
)


@jax.custom_vjp
def pulled(key: Any, x: Any) -> Any:
    return x**2 * random.uniform(key)


pulled.defvjp(
    lambda key, x: (pulled(key, x), (key, x)), lambda kept, ct: (None, 2 * kept[1] * ct * random.uniform(kept[0]))
)


def drawn_after(key: Any, x: Any) -> Any:
    key, x = moved_on(key, x)
    return x * random.uniform(key)


FUNCTIONS = {
    "a key for each": lambda s, x: jax.vmap(lambda i, a: random.uniform(random.key(i), (2,)).sum() * a)(
        s + jnp.arange(6), x),
    "keys of keys": lambda s, x: jax.vmap(lambda k, a: random.uniform(random.fold_in(k, 3)) * a)(
        random.split(random.key(s), 6), x),
    "a rule": lambda s, x: pushed(random.key(s), x),
    "a rule that gives a key": lambda s, x: drawn_after(random.key(s), x),
    "a pullback": lambda s, x: pulled(random.key(s), x),
    "a rule for each": lambda s, x: jax.vmap(pushed)(random.split(random.key(s), 6), x),
    "loops side by side": lambda s, x: jax.vmap(
        lambda a: lax.while_loop(lambda v: v[0] < 3, lambda v: v * (1 + a) + 0.1, jnp.stack([a, a * a]))[1])(x),
    "applied as it is": lambda s, x: x.at[jnp.array([0, 1])].apply(lambda v: v) * x,
    "applied a number": lambda s, x: x.at[jnp.array([0, 1])].apply(lambda v: 2.0) * x,
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_are_those_of_jax(name: str) -> None:
    """With a seed that is known, and with one that is an argument; JAX has no derivative of some of them."""
    of_jax, ours = jax.jit(FUNCTIONS[name]), primad.from_jax(FUNCTIONS[name])
    near = [np.asarray(of_jax(3, jnp.asarray(X + h * np.cos(X)))) for h in (-1e-5, 0.0, 1e-5)]
    np.testing.assert_allclose(ours(3, X), near[1], rtol=1e-12)
    value, pullback = primad.vjp(primad.jit(lambda x: ours(x[0].astype(int) + 3, x), backend="reference"), X)
    np.testing.assert_allclose(value, near[1], rtol=1e-12)
    np.testing.assert_allclose(pullback(X)[0] @ np.cos(X), X @ (near[2] - near[0]) / 2e-5, rtol=1e-7)


def written(x: Any) -> Any:
    return jax.experimental.io_callback(lambda: np.float64(3.0), jax.ShapeDtypeStruct((), "float64")) * x


REFUSED = {
    "an effect": written,
    "a token": lambda x: (lax.create_token(), x)[1],
    "keys of another kind": lambda x: random.uniform(random.key(3, impl="rbg")) * x,
    "a device for one of two": lambda x: sum(jax.device_put([x, x * 2], [None, jax.devices()[0]])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_program_has_not_is_refused(name: str) -> None:
    with pytest.raises(TracingError, match="has no meaning here"):
        primad.from_jax(REFUSED[name])(jnp.asarray(X))


def test_whole_numbers_are_taken_in_thirty_two_bits() -> None:
    with jax.enable_x64(False):
        found = primad.from_jax(lambda n, x: x * n)(np.arange(3), np.ones(3, np.float32))
    assert found.dtype == np.float32 and found.tolist() == [0.0, 1.0, 2.0]


def test_what_jax_computes_of_numbers_alone() -> None:
    def called(x: Any) -> Any:
        return jax.pure_callback(lambda: np.float64(3.0), jax.ShapeDtypeStruct((), "float64")) * x

    np.testing.assert_allclose(primad.from_jax(called)(X), 3 * X)
