"""Sums add each of their terms once, however often derivatives of products do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primad
from primad.ir.law_families import LOCAL, without
from primad.ir.node import Leaf
from primad.simplify import simplify
from primad.simplify.like_terms import add_once
from primad.transforms import lower

INPUTS = 4
MAKERS = {
    "add": lambda x, y, factor: x + y,
    "multiple": lambda x, y, factor: factor * x,
    "sub": lambda x, y, factor: x - y,
    "maximum": lambda x, y, factor: np.maximum(x, y),
}
STEP = st.tuples(
    st.sampled_from(["add", "add", "add", *MAKERS]),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([-2.0, 0.5, 2.0, 3.0]),
)


def ops_of(program):
    return sum(not isinstance(node.op, Leaf) for node in program.nodes)


@given(st.lists(STEP, min_size=1, max_size=14), st.integers(1, 3))
def test_sums_stay_what_they_are_and_never_take_more(steps, outputs):
    """The numbers are small enough that all sums are exact."""

    def function(*inputs):
        values = list(inputs)
        for kind, i, j, factor in steps:
            values.append(MAKERS[kind](values[-1 - i % len(values)], values[-1 - j % len(values)], factor))
        return values[-outputs:]

    points = np.random.default_rng(0).integers(-9, 9, (INPUTS, 3)).astype(float)
    with without(LOCAL):
        program = lower(primad.trace(function)(*points))
    found = add_once(program)
    assert ops_of(found) <= ops_of(program)
    for form in (found, add_once(found)):
        for x, y in zip(primad.jit(form, backend="reference")(*points), function(*points), strict=True):
            np.testing.assert_array_equal(x, y)


SUMS = {
    "each once": (lambda a, b, c: (a + b) + (b + c), 3),
    "twice, and three times": (lambda a, b, c: ((a + b) + (b + c)) + ((b + c) + (c + a)), 4),
    "equal factors": (lambda a, b, c: 3.0 * a + 3.0 * b + c, 3),
    "a part that is read elsewhere": (lambda a, b, c: ((a + b) + (b + c), np.sin(a + b)), 4),
    "opposite signs": (lambda a, b, c: (a + b) + (-2.0 * b + c), 4),
    "halves, whose sum may be too large": (lambda a, b, c: 0.5 * a + 0.5 * b, 3),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_takes_so_many_ops(name):
    function, most = SUMS[name]
    assert ops_of(simplify(primad.trace(function)(1.0, 2.0, 3.0))) == most


def test_factors_that_a_dtype_cannot_tell_are_not_added_up():
    """In 16 bits there is no 2049, and 65536 is infinite."""

    def function(a, b):
        return (2048.0 * a + b) + (a + b)

    for dtype, fewer in (("float16", False), ("float32", True)):
        given = np.ones(3, dtype), np.zeros(3, dtype)
        program = lower(primad.trace(function)(*given))
        assert (ops_of(add_once(program)) < ops_of(program)) is fewer


def test_factors_whose_sum_is_infinite_are_not_added_up():
    def function(a, b, c):
        return (1e308 * a + b) + (1e308 * a + c)

    program = lower(primad.trace(function)(*[0.0] * 3))
    for point in ((0.0, 1.0, 2.0), (1e-300, 0.0, 0.0), (0.5, 0.0, 0.0)):
        (found,) = (primad.jit(add_once(program), backend="reference")(*point),)
        np.testing.assert_array_equal(found, function(*point))


@pytest.mark.exhaustive
def test_derivatives_of_a_unit_take_a_square_of_the_order():
    """Products of Taylor coefficients take a square of the order; additions by Pascal's triangle take a cube of it."""

    def all_orders(order):
        def function(t):
            f, results = (lambda t: np.tanh(np.sin(t))), []
            for _ in range(order + 1):
                results.append(f(t))
                f = primad.derivative(f)
            return results

        return ops_of(simplify(primad.trace(function)(0.3)))

    for order in (4, 8, 12):
        assert all_orders(order) <= 3 * order**2 + 12


def test_sums_without_a_term_that_stands_twice_stay_as_they_are():
    """Another order of additions would round otherwise."""
    for function in (lambda a, b, c: (a + b) + (c + 1.0), lambda a, b, c: (a + 2.0 * b) + (c + 3.0 * a * b)):
        program = lower(primad.trace(function)(1.0, 2.0, 3.0))
        assert add_once(program) is program
