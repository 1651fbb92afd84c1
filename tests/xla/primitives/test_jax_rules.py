"""Functions of JAX's with rules of their own: what they close over, and how often their rules are read."""

from __future__ import annotations

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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", WAYS)
def test_a_function_with_a_rule_closes_over_its_own_values(rule, way):
    f = WAYS[way](RULES[rule])
    own = primad.from_jax(f)
    for x in (X, X + 1, X):
        np.testing.assert_allclose(own(x), f(x), rtol=1e-12)


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


@pytest.mark.parametrize("rule", [*RULES.values(), in_a_step])
def test_a_rule_over_values_of_the_functions_own_is_an_error_that_says_so(rule):
    """By JAX's meaning it is traced with the function; here where a derivative is asked for."""
    for way in ("constants by one equation", "the number of a step"):
        f = WAYS[way](rule)
        for transform in (primad.grad, lambda g: primad.jit(primad.grad(g)), primad.hessian):
            with pytest.raises(primad.TracingError, match=r"(?s)a rule.*closes over a value.*pass the value.*\.py:\d"):
                np.asarray(transform(primad.from_jax(lambda x, f=f: f(x).sum()))(X))
    scaled = primad.from_jax(lambda c, x: rule(2.0 * c, x).sum())
    with pytest.raises(primad.PrimadError, match="closes over a value"):
        primad.grad(scaled, argnums=1)(0.7, X)
    np.testing.assert_allclose(primad.grad(primad.from_jax(lambda x: rule(SEVERAL[0], x).sum()))(X),
                               jax.grad(lambda x: rule(SEVERAL[0], x).sum())(X), rtol=1e-12)  # fmt: skip
