"""The families in JAX: with the zero-coordinate shift by hand in three forms, and vectorised without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import families
import jax
import jax.numpy as jnp

FORMS = ("jax, shifted", "jax, shifted, combined by hand", "jax, shifted in reverse", "jax, vectorised")


def nested(u: Callable[[Any], Any], along: str, names: str) -> Callable[[Any], Any]:
    """Return a derivative of a function of the coordinates' vector, by one direction after another."""
    for letter in along:
        direction = jnp.eye(len(names))[names.index(letter)]
        u = _pushed(u, direction)
    return u


def _pushed(u: Callable[[Any], Any], direction: Any) -> Callable[[Any], Any]:
    return lambda z: jax.jvp(u, (z,), (direction.astype(z.dtype),))[1]


def combined(u: Callable[[Any], Any], family: families.Family, z: Any) -> list[Any]:
    """Return the combinations of a function's derivatives."""
    return [
        sum(factor * nested(u, along, family.names)(z) for along, factor in one.items()) for one in family.combinations
    ]


def shifted(family: families.Family, parameters: Any, codes: Any, at: Any) -> list[Any]:
    """Differentiate all solutions at all points by one shift of the coordinates, forwards."""
    return combined(
        lambda z: families.solutions(jnp, family, parameters, codes, at + z), family, jnp.zeros(2, at.dtype)
    )


def by_hand(family: families.Family, parameters: Any, codes: Any, at: Any) -> list[Any]:
    """Differentiate the basis by one shift, add its derivatives up, and multiply by the codes last."""

    def basis(z: Any) -> Any:
        found = families.trunk(jnp, family, parameters, at + z)
        found = jnp.concatenate([found, jnp.ones_like(found[:, :1])], axis=1)  # that the bias is a factor of
        return found if family.transform is None else found * family.transform(jnp, at + z)[:, None]

    bias = jnp.broadcast_to(parameters["bias"], (len(codes), 1))
    factors = jnp.concatenate([codes, bias], axis=1)
    return [factors @ one.T for one in combined(basis, family, jnp.zeros(2, at.dtype))]


def in_reverse(family: families.Family, parameters: Any, codes: Any, at: Any) -> list[Any]:
    """Differentiate a sum by scalars in reverse, and then by the factors in the sum: the form that was published."""

    def total(z: Any, factors: Any) -> Any:
        return jnp.sum(factors * families.solutions(jnp, family, parameters, codes, at + z))

    def derivative(along: str) -> Callable[[Any, Any], Any]:
        found = total
        for letter in along:
            found = _component(found, family.names.index(letter))
        return found

    def sums(factors: Any, one: dict[str, float]) -> Any:
        zero = jnp.zeros(2, at.dtype)
        return sum(factor * derivative(along)(zero, factors) for along, factor in one.items())

    ones = jnp.ones((len(codes), len(at)), at.dtype)
    return [jax.grad(sums)(ones, one) for one in family.combinations]


def _component(f: Callable[..., Any], place: int) -> Callable[..., Any]:
    return lambda z, factors: jax.grad(f)(z, factors)[place]


def vectorised(family: families.Family, parameters: Any, codes: Any, at: Any) -> list[Any]:
    """Differentiate the solution of one function at one point, mapped over both."""

    def of_one(code: Any, point: Any) -> list[Any]:
        return combined(lambda z: families.solutions(jnp, family, parameters, code, z), family, point)

    return list(jax.vmap(jax.vmap(of_one, (None, 0)), (0, None))(codes, at))


FIELDS = dict(zip(FORMS, (shifted, by_hand, in_reverse, vectorised), strict=True))


def step(form: str, name: str, data: dict[str, Any]) -> Callable[[], float]:
    """Return what makes a step of Adam, and returns the loss before it."""
    jax.config.update("jax_enable_x64", True)
    value = jax.value_and_grad(families.loss(jnp, families.FAMILIES[name], FIELDS[form]))

    @jax.jit
    def advanced(parameters: Any, first: Any, second: Any, count: Any, arrays: Any) -> Any:
        loss, gradient = value(parameters, arrays)
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, gradient)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        moved = jax.tree.map(
            lambda p, m, v: (p - rate * m / (jnp.sqrt(v) + 1e-8)).astype(p.dtype), parameters, first, second
        )
        return loss, moved, first, second, count

    data = jax.tree.map(jnp.asarray, data)
    parameters = data.pop("parameters")
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state = [parameters, zeros, zeros, jnp.zeros((), data["all"].dtype)]

    def advance() -> float:
        loss, *state[:] = advanced(*state, data)
        return float(jax.block_until_ready(loss))

    return advance
