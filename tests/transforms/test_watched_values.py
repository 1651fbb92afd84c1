"""Programs whose inner values are watched, and programs that are cut where values are known."""

import itertools

import numpy as np
import pytest

import primad
from primad.transforms import cut, vjp
from primad.transforms.lowering import lower


def test_cut_reads_what_is_known():
    program = primad.trace(lambda x, w: np.sum(np.exp(x @ w) ** 2))(np.ones((2, 3)), np.ones((3, 4)))
    inner = primad.trace(lambda x, w: np.exp(x @ w))(np.ones((2, 3)), np.ones((3, 4)))
    derived = lower(vjp(program))
    rest = cut(derived, 1)
    assert rest.cost().nodes <= derived.cost().nodes
    x, w = np.random.default_rng(0).normal(size=(2, 3)), np.random.default_rng(1).normal(size=(3, 4))
    value, *gradients = derived(x, w, 1.0)
    for a, b in zip(rest(x, w, 1.0, value), gradients, strict=True):
        np.testing.assert_array_equal(a, b)
    known = cut(lower(vjp(inner)), 1)
    assert known.cost().matmul_flops == 2 * 2 * 2 * 3 * 4, "the product of the primal pass is not computed again"


def test_cut_of_inputs_and_constants():
    program = primad.trace(lambda x: (x, 2.0, x * 3.0))(1.0)
    assert cut(program, 2)(5.0, 5.0, 2.0) == 15.0


def test_vjp_with_numbers_as_seeds_and_watched_values():
    program = primad.trace(lambda x: (np.sin(x) * 2.0, np.sin(x)))(0.5)
    result = vjp(program, seeds=[3.0, False], watched=[False, True])
    assert len(result.inputs) == 1
    *_, gradient, inner = result(0.5)
    np.testing.assert_allclose([gradient, inner], [6.0 * np.cos(0.5), 6.0])


def test_vjp_of_a_watched_input():
    program = primad.trace(lambda x: (x * x, x))(3.0)
    *_, gradient, same = vjp(program, seeds=[1.0, 10.0], watched=[False, True])(3.0)
    assert gradient == same == 16.0


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_what_reaches_a_watched_value_reaches_those_before_it(order: tuple[int, ...]):
    """Of a chain x, sin x, (sin x)², in any order of outputs, each gets its seed and what comes by those after it."""
    values = lambda x: (x, np.sin(x), np.sin(x) ** 2)  # noqa: E731
    program = primad.trace(lambda x: tuple([values(x)[i] for i in order]))(0.5)
    seeds = [2.0, 3.0, 5.0]
    middle = seeds[1] + seeds[2] * 2.0 * np.sin(0.5)
    whole = seeds[0] + middle * np.cos(0.5), middle, seeds[2]
    for watched in itertools.product((False, True), repeat=3):
        results = vjp(program, seeds=[seeds[i] for i in order], watched=watched)(0.5)
        expected = [whole[0], *[whole[i] for i, on in zip(order, watched, strict=True) if on]]
        np.testing.assert_allclose(results[3:], expected, rtol=1e-14)
