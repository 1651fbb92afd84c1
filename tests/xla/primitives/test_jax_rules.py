"""Functions of JAX's with rules of their own: what they close over, and how often their rules are read."""

from __future__ import annotations

import math

import numpy as np
import pytest

import primad
from primad.functional.export import jaxprs
from primad.functional.rules.rule_identity import Rule

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
jnp, lax = jax.numpy, jax.lax
X = np.array([0.4, 0.9, 1.3])


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def pulled(c, x):
    """c sin x, whose pullback is twice its own, by a function that closes over c and has such a pullback too."""

    @jax.custom_vjp
    def inner(x):
        return c * jnp.cos(x)

    inner.defvjp(lambda x: (inner(x), x), lambda x, ct: (-3 * c * jnp.sin(x) * ct,))

    @jax.custom_vjp
    def outer(x):
        return c * jnp.sin(x)

    outer.defvjp(lambda x: (outer(x), x), lambda x, ct: (2 * inner(x) * ct,))
    return outer(x)


def pushed(c, x):
    @jax.custom_jvp
    def f(x):
        return c * jnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 2 * c * jnp.cos(primals[0]) * tangents[0]))
    return f(x)


RULES = {"pullback": pulled, "push": pushed}
SEVERAL = (np.array([2.0, 3.0, 5.0]), np.array([2.0, 3.0, -5.0]), np.zeros(3), -np.zeros(3))
WAYS = {
    "constants": lambda f: lambda x: sum(k * f(c, x) for k, c in enumerate(SEVERAL, 1)),
    "constants by one equation": lambda f: lambda x: sum(k * jax.jit(f)(c, x) for k, c in enumerate(SEVERAL, 1)),
    "in a loop": lambda f: lambda x: lax.fori_loop(0, 3, lambda i, y: f(SEVERAL[0], y), x),
    "the number of a step": lambda f: lambda x: lax.scan(lambda y, c: (f(c, y), None), x, jnp.arange(1.0, 4.0))[0],
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", WAYS)
def test_a_function_with_a_rule_closes_over_its_own_values(rule, way):
    f = WAYS[way](RULES[rule])
    own = primad.from_jax(f)
    for x in (X, X + 1, X):
        np.testing.assert_allclose(own(x), f(x), rtol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", ["constants", "in a loop"])
def test_so_does_its_rule(rule, way):
    f = WAYS[way](RULES[rule])
    gradient = primad.grad(primad.from_jax(lambda x: f(x) @ jnp.cos(x)))
    for x in (X, X + 1, X):
        np.testing.assert_allclose(gradient(x), jax.grad(lambda x: f(x) @ jnp.cos(x))(x), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_over_constants_is_not_recorded_to_be_told_from_others(rule, monkeypatch):
    """It stands in a jaxpr, which does not change: read again, it is the rule that it was, with the jaxprs of it."""
    recorded, made = [], []
    own, make = Rule._recorded, jaxprs.jax_module().make_jaxpr
    monkeypatch.setattr(Rule, "_recorded", lambda self: recorded.append(self) or own(self))
    f = WAYS["constants"](RULES[rule])
    gradient = primad.grad(primad.from_jax(lambda x: f(x).sum()))
    gradient(X)
    monkeypatch.setattr(jaxprs.jax_module(), "make_jaxpr", lambda *a, **k: made.append(a) or make(*a, **k))
    gradient(X + 1)
    assert recorded == made == []


def in_a_step(c, x):
    """c sin x, with a pullback that closes over c inside of a jitted function and of a loop."""

    @jax.custom_vjp
    def f(x):
        return c * jnp.sin(x)

    def pull(x, ct):
        return (lax.fori_loop(0, 2, lambda i, y: jax.jit(lambda y: jnp.where(y > 0, c * y, y))(y), jnp.cos(x) * ct),)

    f.defvjp(lambda x: (jnp.sin(x), x), pull)
    return f(x)


def by_hand(c, x):
    """c sin x, with a JVP that holds c in a tuple, and calls a function with another JVP that closes over c."""

    @jax.custom_jvp
    def inner(x):
        return c * jnp.cos(x)

    inner.defjvp(lambda primals, tangents: (inner(*primals), 3 * c * primals[0] * tangents[0]))
    held = {"factor": (c, 2.0)}

    @jax.custom_jvp
    def f(x):
        return c * jnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), math.prod(held["factor"]) * inner(primals[0]) * tangents[0]))
    return f(x)


OVER_TRACED = {
    "constants by one equation": lambda f: lambda x: sum(k * f(c, x) for k, c in enumerate(SEVERAL, 1)),
    "the number of a step": lambda f: lambda x: f(3.0, f(2.0, f(1.0, x))),
}
"""The same as functions of constants, whose derivatives JAX knows: it traces rules when those of others are past."""


def seconds(f):
    return jax.jacrev(jax.grad(f))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("rule", [*RULES.values(), in_a_step, by_hand])
@pytest.mark.parametrize("way", OVER_TRACED)
def test_rules_close_over_what_was_traced(rule, way):
    """Anew where it has other values: in each step of a loop, at each place of a call."""
    own, same = WAYS[way](rule), OVER_TRACED[way](rule)
    converted = primad.from_jax(lambda x: own(x) @ jnp.cos(x))
    found = primad.grad(converted), primad.jit(primad.grad(converted)), primad.hessian(converted)
    wanted = [transform(lambda x: same(x) @ jnp.cos(x)) for transform in (jax.grad, jax.grad, seconds)]
    for x in (X, X + 1):
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got(x), want(x), rtol=1e-12, atol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rule", [*RULES.values(), in_a_step, by_hand])
def test_rules_close_over_arguments(rule):
    """A derivative by these would miss their part in the rule: it is an error."""
    scaled = primad.from_jax(lambda c, x: rule(2.0 * c, x).sum())
    gradient = primad.grad(scaled, argnums=1)
    found = (
        gradient,
        primad.jit(gradient),
        lambda c, x: primad.vmap(gradient, in_axes=(0, None))(np.stack([c, 0 * c]), x)[0],
    )
    for c in (0.7, 0.9):
        wanted = jax.grad(lambda x, c=c: rule(2.0 * c, x).sum())(X)
        for own in found:
            np.testing.assert_allclose(own(np.float64(c), X), wanted, rtol=1e-12)
    with pytest.raises(primad.NotDifferentiableError, match="closes over a value that is being differentiated"):
        primad.grad(scaled)(0.7, X)


def test_a_rule_over_traced_values_that_are_not_found_is_an_error_that_says_so():
    """Such as the default of an argument, which is no part of a closure."""

    def f(c, x):
        g = jax.custom_vjp(jnp.sin)
        g.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct, c=c: (c * ct,))
        return g(x)

    for way in ("constants by one equation", "the number of a step"):
        own = WAYS[way](f)
        for transform in (primad.grad, lambda g: primad.jit(primad.grad(g)), primad.hessian):
            with pytest.raises(primad.TracingError, match=r"(?s)a rule.*closes over a value.*pass the value.*\.py:\d"):
                np.asarray(transform(primad.from_jax(lambda x, own=own: own(x).sum()))(X))
