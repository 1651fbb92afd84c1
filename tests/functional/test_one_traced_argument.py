"""One traced array among plain ones is enough: whichever argument of a function it is, or leaf of a tree."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
from primad import integrate

A, B, C = np.array([0.3, 0.7, 1.1]), np.array([1.2, 0.4, 0.9]), np.array([0.5, 1.5, 0.8])


def product(a: Any, b: Any, c: Any) -> Any:
    return a * np.sin(b) + b * c


def tangents(primals: Any, moved: Any) -> Any:
    return product(*primals), sum(x * y for x, y in zip(moved, primals, strict=True))


def pulled(primals: Any, cotangent: Any) -> Any:
    return tuple([cotangent * x for x in primals])


RULED, PULLED = primad.custom_jvp(product), primad.custom_vjp(product)
RULED.defjvp(tangents)
PULLED.defvjp(lambda a, b, c: (product(a, b, c), (a, b, c)), pulled)

CALLS = {
    "jit": primad.jit(product),
    "jit of a tree": lambda a, b, c: primad.jit(lambda t: product(*t))((a, b, c)),
    "vmap": primad.vmap(product),
    "vmap of what is shared": lambda a, b, c: primad.vmap(product, in_axes=(0, None, 0))(a, b[0], c),
    "checkpoint": primad.checkpoint(product),
    "map": lambda a, b, c: primad.map(lambda row: product(*row), (a, b, c)),
    "scan": lambda a, b, c: primad.scan(lambda s, x: (product(s, *x), s), a[0], (b, c))[0],
    "scan of a tree": lambda a, b, c: primad.scan(lambda s, x: ((s[1], s[0] * x), s[0]), (a, b), c)[0][1],
    "associative scan": lambda a, b, c: primad.associative_scan(np.multiply, a * b + c),
    "fori_loop": lambda a, b, c: primad.fori_loop(0, 3, lambda i, s: (s[0] * s[1], s[1], s[2] + s[0]), (a, b, c))[2],
    "while_loop": lambda a, b, c: primad.while_loop(
        lambda s: s[3] < 3, lambda s: (s[0] * s[1] + s[2], s[1], s[2], s[3] + 1), (a, b, c, 0)
    )[0],
    "cond": lambda a, b, c: primad.cond(True, product, lambda *xs: xs[0], a, b, c),
    "switch": lambda a, b, c: primad.switch(1, [lambda *xs: xs[0], product], a, b, c),
    "a rule of tangents": RULED,
    "a rule of cotangents": PULLED,
    "jvp": lambda a, b, c: primad.jvp(product, (a, b, c), (c, a, b))[1],
    "linearize": lambda a, b, c: primad.linearize(lambda x, y: x * np.sin(y), a, a)[1](b, c),
    "vjp": lambda a, b, c: primad.vjp(lambda x, y: x * np.sin(y), a, b)[1](c)[1],
    "linear_transpose": lambda a, b, c: primad.linear_transpose(lambda x: x * b, a)(c)[0] * a,
    "vjp of two values": lambda a, b, c: primad.vjp(lambda x: (np.sin(x), x**2), a)[1]((b, c))[0],
    "linear_transpose of two values": lambda a, b, c: (
        primad.linear_transpose(lambda x: (x * 2.0, x[::-1]), A)((b, c))[0] * a
    ),
    "hvp": lambda a, b, c: primad.hvp(lambda x: np.sum(x**3 * b), a, c),
    "taylor": lambda a, b, c: primad.taylor(lambda x: np.sin(x) * b, a, c, 2)[2],
    "quad": lambda a, b, c: integrate.quad(lambda t, p, q: np.sin(p * t) * q, a[0], b[0], args=(b[1], c[1]))[0],
    "quad in parts": lambda a, b, c: integrate.quad(np.sin, a[0], b[0] + 2.0, points=[c[1], 1.0])[0] * c,
    "solve_ivp": lambda a, b, c: (
        integrate.solve_ivp(lambda t, y, p, q: -p * y * q, (0.0, 1.0), a, args=(b, c), t_eval=[1.0]).y
    ),
    "root": lambda a, b, c: primad.implicit.root(lambda x, p, q: x**3 + p * x - q, A, b, c) * a,
    "stop_gradient": lambda a, b, c: a * primad.stop_gradient(b * c),
}
"""Functions of three arrays."""


def held(function: Any, *given: Any) -> set[str]:
    """Return the ops of a function's program that hold programs."""
    program = primad.trace(function)(*given)
    return {node.op.name for node in program.nodes if getattr(node.op, "holds_program", False)}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", CALLS)
def test_each_argument_alone_may_be_traced(name: str) -> None:
    """Its derivative is what it is where all are, and values are the same."""
    call, given = CALLS[name], (A, B, C)
    run = partial(primad.jit, backend="reference")  # nothing to compile
    whole = run(primad.grad(lambda *xs: np.sum(call(*xs)), argnums=(0, 1, 2)))(*given)
    expected = np.asarray(call(*given))
    for i in range(3):

        def alone(x: Any, i: int = i) -> Any:
            return call(*given[:i], x, *given[i + 1 :])

        assert held(alone, given[i]) == held(call, *given)
        slope = run(primad.grad(lambda x, alone=alone: np.sum(alone(x))))(given[i])
        np.testing.assert_allclose(run(alone)(given[i]), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(slope, whole[i], rtol=1e-6, atol=1e-9)
