"""What is not differentiated and no array stays what it is."""

import math
from functools import partial

import numpy as np
import pytest

import primad
from primad.runtime.cache import EXECUTABLES

X = np.array([0.5, 1.5])
TRANSFORMS = {
    "grad": primad.grad,
    "value_and_grad": primad.value_and_grad,
    "jacobian": primad.jacobian,
    "jacfwd": primad.jacfwd,
    "jacrev": primad.jacrev,
    "hessian": primad.hessian,
    "laplacian": primad.laplacian,
    "grad of grad": lambda f, argnums: primad.grad(lambda *args: np.sum(primad.grad(f, argnums)(*args)), argnums),
    "jit of grad": lambda f, argnums: (
        lambda *args: primad.jit(lambda v: primad.grad(f, argnums)(*args[:argnums], v, *args[argnums + 1 :]))(
            args[argnums]
        )
    ),
}
KEPT = {
    "number": (0.7, lambda c: math.log(c)),
    "NumPy's number": (np.float64(0.7), lambda c: math.log(c)),
    "integer": (3, lambda c: sum(range(c)) + len([0] * c)),
    "flag": (True, lambda c: 2.0 if c is True else 3.0),
    "text": ("b", lambda c: {"a": 1.0, "b": 2.0}[c]),
    "function": (math.exp, lambda c: c(0.5)),
    "nothing": (None, lambda c: 1.0 if c is None else 2.0),
    "list": ([2, "a", 0.5], lambda c: c[0] * math.sqrt(c[2]) * len(c[1])),
    "tree": (
        {"n": 2, "way": "up", "w": np.array([1.0, 2.0]), "rate": 0.5},
        lambda c: np.sum(c["w"] ** c["n"]) * math.exp(c["rate"]) * (1 if c["way"] == "up" else 2),
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_other_arguments_are_what_they_were(transform, kept, first):
    value, use = KEPT[kept]

    def f(c, x):
        return np.sum(x**3) * use(c)

    order = f if first else lambda x, c: f(c, x)
    args, place = ((value, X), 1) if first else ((X, value), 0)
    found = TRANSFORMS[transform](order, place)(*args)
    expected = TRANSFORMS[transform](lambda x: np.sum(x**3) * use(value), 0)(X)
    pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
    for a, b in pairs:
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-13)


@pytest.mark.parametrize("kept", KEPT)
def test_vmap_keeps_what_it_does_not_map(kept):
    value, use = KEPT[kept]
    mapped = primad.vmap(lambda x, c: np.sum(x) * use(c), in_axes=(0, None))
    np.testing.assert_allclose(mapped(np.array([X, 2 * X]), value), np.array([2.0, 4.0]) * use(value), rtol=1e-13)
    assert primad.vmap(lambda x, c: x * c, (0, None))(X.astype(np.float32), 2.0).dtype == np.float32


def test_numbers_that_change_find_their_plan():
    """A number in arithmetic of traced arrays is an input of the plan, though the function saw a plain number."""
    gradient = primad.grad(lambda x, rate, steps: np.sum(np.sin(x * rate) / steps) * math.exp(rate))
    gradient(X, 0.3, 7)
    known = len(EXECUTABLES)
    for rate, steps in ((0.4, 8), (0.5, 9), (3, 10), (np.float64(0.25), 11)):
        expected = np.cos(X * rate) * rate / steps * math.exp(rate)
        np.testing.assert_allclose(gradient(X, rate, steps), expected, rtol=1e-13)
    assert len(EXECUTABLES) == known


def test_a_program_takes_plain_numbers_beside_traced_arrays():
    program = primad.trace(lambda x, c: np.sum(x * c))(X.astype(np.float32), np.float32(2.0))
    gradient = primad.grad(program)(X.astype(np.float32), 2.0)
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [2.0, 2.0])


def test_keywords_are_what_they_were():
    assert primad.grad(lambda x, *, c: x * math.log(c))(1.0, c=2.0) == math.log(2.0)
    assert primad.grad(partial(lambda c, x: x * math.log(c), 2.0))(1.0) == math.log(2.0)
