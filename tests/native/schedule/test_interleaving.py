"""Loops with long chains of ops: several vectors at once compute what one after the other would."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.native.llvm.vectors import WIDTH_BYTES
from primad.native.module.program_text import ProgramWriter, kernel_of
from primad.native.schedule.layout import layout_of

needs_compiler = pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
STEPS = {
    "sum": lambda v, x, c: v + x,
    "product": lambda v, x, c: v * x + c,
    "largest": lambda v, x, c: np.maximum(v, x * c),
    "smallest": lambda v, x, c: np.minimum(x, v - c),
    "choice": lambda v, x, c: np.where(v < x, v + c, -v),
    "quotient": lambda v, x, c: v / (1.5 + np.abs(x)),
    "count": lambda v, x, c: v - (v < c),
    "twice": lambda v, x, c: v * 0.5 + v * x,
}


def chain(names, branches):
    """Return a function whose ops each read the one before, in one chain or in several."""

    def run(x, c):
        values = [x + i for i in range(branches)]
        for i, name in enumerate(names):
            k = i % branches
            values[k] = STEPS[name](values[k], x, c[i % len(c)])
        return (*values, sum(values))

    return run


def text(function, *arguments):
    layout = layout_of(primad.lower(primad.trace(function)(*arguments)))
    assert layout is not None
    whole = kernel_of(ProgramWriter(layout).write())
    assert compiler().kernels([whole])
    return whole


@needs_compiler
@settings(max_examples=15, deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=12, max_size=40),
    branches=st.integers(1, 3),
    shape=st.one_of(st.tuples(st.integers(1, 140)), st.tuples(st.integers(1, 4), st.integers(1, 70))),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_random_chains_have_the_bits_of_the_interpreter(names, branches, shape, dtype):
    rng = np.random.default_rng(len(names))
    x, c = rng.uniform(-1, 1, shape).astype(dtype), rng.uniform(-1, 1, 5).astype(dtype)
    f = chain(names, branches)
    for ours, theirs in zip(primad.jit(f)(x, c), primad.jit(f, backend="reference")(x, c), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@needs_compiler
def test_a_long_chain_is_written_for_several_vectors_and_others_for_one(any_width):
    x, c = np.linspace(-1, 1, 200), np.arange(5.0)
    assert "asm sideeffect" in text(chain(["product"] * 20, 1), x, c)
    for shorter in (chain(["product"] * 8, 1), chain(["product"] * 40, 16)):
        assert "asm sideeffect" not in text(shorter, x, c)
    assert "asm sideeffect" not in text(chain(["product"] * 20, 1), x[:2], c), "there is one vector only"
    assert "asm sideeffect" not in text(lambda x, c: chain(["product"] * 20, 1)(np.exp(x), c)[0], x, c)


@needs_compiler
def test_how_often_vectors_wait_for_each_other_is_bounded():
    x, c = np.linspace(-1, 1, 200), np.arange(5.0)
    meetings = text(chain(["product"] * 1000, 1), x, c).count("asm sideeffect")
    assert 0 < meetings <= 2 * BUDGET.meetings  # two where vectors are longer than the host has


@needs_compiler
def test_the_gradient_of_a_long_polynomial_agrees_in_tiles():
    def loss(c):
        t = np.linspace(-1.0, 1.0, 3001)
        value = np.zeros(3001)
        for i in range(40):
            value = value * t + c[i]
        return np.sum((np.sign(t) - value) ** 2)

    c = np.random.default_rng(0).normal(size=40)
    ours, theirs = primad.grad(loss)(c), primad.jit(primad.grad(loss), backend="reference")(c)
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-9)


@needs_compiler
def test_short_rows_of_a_few_ops_alone_are_written_out():
    """A row of as many vectors as may be has code for each of them if little is computed, and a loop else."""
    lanes = WIDTH_BYTES // 8

    def size(ops, vectors):
        def rows(x, r):
            for _ in range(ops):
                x = x * r - 0.5
            return x

        return len(text(rows, np.ones((50, vectors * lanes)), np.ones(vectors * lanes)))

    row = BUDGET.row
    assert size(1, row) > 1.3 * size(1, 1) and size(1, 100 * row) < size(1, row)
    some = BUDGET.row_ops // row
    assert size(some, row) < 1.2 * size(some, 100 * row)
