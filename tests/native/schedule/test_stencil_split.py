"""Programs in boxes: what reads its neighbours is one loop, and has the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
import primad.numpy as pnp
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.native.schedule import stencil_split
from primad.native.schedule.layout import layout_of
from primad.native.schedule.stencil_split import in_boxes
from primad.runtime.executors.dispatch import REFERENCE, prepare
from primad.simplify import simplify


def program_of(function, *arguments):
    return simplify(primad.lower(primad.trace(function)(*arguments)))


def cut(v, axis, start, stop):
    return v[(slice(None),) * axis + (slice(start, stop),)]


def joined(axis, *parts):
    return np.concatenate(parts, axis=axis)


def padded(v, axis, low, high):
    return pnp.pad(v, [(low, high) if i == axis else (0, 0) for i in range(v.ndim)])


STEPS = {
    "rolled": lambda u, v, a, k: joined(a, cut(u, a, k, None), cut(u, a, None, k)),
    "behind a constant": lambda u, v, a, k: joined(a, np.ones_like(cut(v, a, 0, k)), cut(u, a, None, -k)),
    "with zeros": lambda u, v, a, k: padded(cut(u, a, k, None) * cut(v, a, None, -k), a, k, 0),
    "with zeros around": lambda u, v, a, k: padded(cut(u, a, k, -k), a, k, k),
    "difference": lambda u, v, a, k: joined(a, cut(u, a, 0, k), cut(u, a, k, None) - cut(v, a, None, -k)),
    "product": lambda u, v, a, k: u * v - k,
    "chosen": lambda u, v, a, k: np.where(u < v, u, 0.5 * v),
    "function": lambda u, v, a, k: np.tanh(u),
    "sum": lambda u, v, a, k: u + 1e-3 * np.sum(v),
    "rows": lambda u, v, a, k: u * np.sum(v, axis=a, keepdims=True) * 1e-3,
    "reversed": lambda u, v, a, k: np.flip(u, a) + v,
    "every second": lambda u, v, a, k: joined(
        a, u[(slice(None),) * a + (slice(0, None, 2),)], u[(slice(None),) * a + (slice(1, None, 2),)]
    ),
}


def drawn(steps):
    def run(x, y):
        values = [x, y]
        for name, axis, k, i, j in steps:
            values.append(STEPS[name](values[-1 - i % len(values)], values[-1 - j % len(values)], axis % x.ndim, k))
        return values[-1], values[-2], 2 * cut(x + y, 0, 0, 0)

    return run


STEP = st.tuples(
    st.sampled_from(sorted(STEPS)), st.integers(0, 1), st.integers(1, 3), st.integers(0, 3), st.integers(0, 3)
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEP, min_size=2, max_size=7), shape=st.sampled_from([(260,), (20, 13), (7, 40)]))
def test_random_programs_in_boxes_have_the_same_bits(steps, shape):
    x, y = np.random.default_rng(len(steps)).uniform(-1, 1, (2, *shape))
    program = program_of(drawn(steps), x, y)
    changed = program
    for axis in range(len(shape)):
        try:
            changed = stencil_split._Boxes(changed, axis).program()
        except stencil_split._TooManyError:
            continue
    changed.check()
    before, after = (prepare(p, executor=REFERENCE).run([x, y]) for p in (program, changed))
    for ours, theirs in zip(after, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def slope(x, y):
    return np.concatenate([x[:1], x[1:] * y[:-1]])


def runge_kutta(x, y):
    k1 = slope(x, y)
    k2 = slope(x, y + 0.25 * k1)
    k3 = slope(x, y + 0.25 * k2)
    k4 = slope(x, y + 0.5 * k3)
    return y + 0.5 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def functions_of_neighbours(x, y):
    for _ in range(5):
        y = y + np.exp(-(slope(x, y) ** 2))
    return y


def long_loops(program):
    return sum(unit.nodes[0].type.size >= stencil_split.SHORTEST for unit in layout_of(program).units)


def test_a_step_of_runge_and_kutta_is_one_loop():
    x, y = np.random.default_rng(0).normal(size=(2, 1000))
    program = program_of(runge_kutta, x, y)
    changed = in_boxes(program)
    joins = [node for node in changed.nodes if node.op.name == "concatenate"]
    assert len(joins) == 1 and long_loops(changed) == 2 < long_loops(program)
    np.testing.assert_array_equal(primad.jit(runge_kutta)(x, y), primad.jit(runge_kutta, backend="reference")(x, y))


def automaton(x, y):
    for _ in range(4):
        x = y ^ np.concatenate([x[:1], ~(x[1:] & (x | y)[:-1])])
    return x


def test_truth_values_of_neighbours_are_those_of_numpy():
    x, y = np.random.default_rng(0).normal(size=(2, 1000)) > 0
    in_boxes(program_of(automaton, x, y)).check()
    np.testing.assert_array_equal(primad.jit(automaton)(x, y), automaton(x, y))


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
def test_loops_of_such_steps_and_their_gradients_agree():
    def last(x, steps):
        return primad.fori_loop(0, steps, lambda i, y: runge_kutta(x, y), np.zeros(len(x)))[-1]

    x = np.random.default_rng(0).uniform(0.5, 1.5, 400)
    for steps in (1, 7):
        f = primad.grad(lambda x, steps=steps: last(x, steps))
        np.testing.assert_allclose(primad.jit(f)(x), primad.jit(f, backend="reference")(x), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    "function",
    [
        functions_of_neighbours,
        lambda x, y: slope(x[:100], y[:100]),
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.cumsum(slope(x, np.cumsum(slope(x, y)))),
    ],
    ids=["functions are not computed again", "short arrays", "nothing is read beside", "only ends are joined"],
)
def test_what_gains_nothing_stays_as_it_is(function):
    x, y = np.random.default_rng(0).normal(size=(2, 1000))
    program = program_of(function, x, y)
    assert in_boxes(program) is program


def test_programs_in_boxes_are_bounded():
    def many(x, y):
        for _ in range(60):
            y = slope(x, y) + x
        return y

    x, y = np.random.default_rng(0).normal(size=(2, 1000))
    program = program_of(many, x, y)
    assert len(in_boxes(program).nodes) <= max(len(program.nodes), BUDGET.in_boxes + 20)


def test_complex_numbers_are_left_to_numpy():
    z = np.arange(300) * (1 - 2j)
    roll = STEPS["rolled"]
    found = primad.jit(lambda z, x: roll(z, z, 0, 3) * roll(x, x, 0, 3))(z, z.real)
    np.testing.assert_array_equal(found, np.roll(z, -3) * np.roll(z.real, -3))
