"""An index that meets itself: pairs, attention and kernels run in tiles, in memory that grows with one index only."""

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.node import CAPTURED, leaf_value
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.planned_program import PlannedProgram
from primad.runtime.tiling import tiled_plan
from primad.runtime.tiling.tile_program import with_compared
from primad.simplify import simplify
from primad.transforms.axis_split import SplitAxes, split_axes


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Cut even small programs."""
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 8)


def energy(x):
    """Atoms that repel and attract, all pairs by broadcasting."""
    distances = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1) + 0.1
    return np.sum(1.0 / distances**3 - 1.0 / distances)


def attention(query, key, value, x):
    def heads(weights):
        return np.swapaxes(np.reshape(x @ weights, (len(x), 2, -1)), 0, 1)

    q, k, v = heads(query), heads(key), heads(value)
    return np.sum((primad.nn.softmax(q @ np.swapaxes(k, -1, -2), axis=-1) @ v) ** 2)


def layered(x, w):
    """What was summed over one index is added to what has the other, and meets itself again."""
    for _ in range(2):
        h = np.tanh(x @ w)
        kernel = np.exp(-np.sum((h[:, None] - h[None]) ** 2, axis=-1))
        x = x + kernel @ h - np.sum(kernel, axis=0)[:, None]
    return np.sum(x**2)


def kernel(x, y):
    """A quadratic form of a kernel's matrix, with a constant on its diagonal and one that is shared."""
    scaled = x * 2.0 + 1.0
    matrix = np.exp(-((scaled[:, None] - scaled[None]) ** 2)) + np.eye(len(x))
    return (y * 2.0 + 1.0) @ matrix @ (y * 2.0 + 1.0)


def constants(x):
    """Literals along both indices, which are one node before."""
    rows = np.tanh(x) * 2.0 + 3.0
    columns = np.sin(x) * 2.0 + 3.0
    weights = np.ones_like(x) * 2.0
    return np.sum(np.tanh(rows[:, None] - columns) * (weights[:, None] + weights) + np.sum(weights * rows))


def itself(x, w):
    """Points that are computed equal themselves to the last bit, whatever tiles they are in."""
    h = np.tanh(x @ w)
    same = np.all(h[:, None] == h[None], axis=-1)
    return np.sum(np.where(same, 1.0, 0.0)) + np.sum(np.where(h[:, None] < h[None], h[:, None] ** 2, 0.0))


def triples(x):
    """An index that meets itself three times, beside pairs."""
    pairs = np.tanh(x[:, None] - x)
    return np.sum(np.tanh(pairs[:, :, None] * x) * pairs[:, None]) + np.sum(pairs**2)


def masked(x):
    """Each row attends to those before it only; the mask is captured."""
    scores = np.where(np.tri(len(x), dtype=bool), x @ x.T, -1e30)
    return np.sum(np.tanh(primad.nn.softmax(scores, axis=-1) @ x))


def across(x):
    """Sums over both indices of pairs, one of the other, so that no order of tiles has each complete."""
    matrix = np.tanh(x[:, None] * x[None] + 0.5)
    rows = matrix / np.sum(matrix, axis=1, keepdims=True)
    return np.sum((rows / np.sum(rows, axis=0)) ** 2)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


CASES = {
    "energy": (energy, (normal(41, 3),)),
    "attention": (attention, (*normal(3, 6, 4), normal(37, 6))),
    "layered": (layered, (normal(29, 3), normal(3, 3))),
    "kernel": (kernel, (normal(33), normal(33, seed=1))),
    "constants": (constants, (normal(33),)),
    "itself": (itself, (normal(509, 7), normal(7, 3))),
    "triples": (triples, (normal(12),)),
    "masked": (masked, (normal(26, 4),)),
    "across": (across, (np.abs(normal(30)),)),
}


def program_of(function, *arguments):
    program = primad.trace(function)(*arguments)
    return simplify(program.hoisted()), [*arguments, *program.source_values]


def apart_plans(plan):
    """Yield the parts of a plan in which an index was split."""
    if isinstance(plan, PlannedProgram) and plan.why.startswith(tiled_plan.APART):
        yield plan
    for part, _ in plan.parts:
        yield from apart_plans(part)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("derive", ["value", "gradient", "hessian product"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_whole(name, derive):
    function, arguments = CASES[name]
    moving = tuple(range(len(arguments)))
    gradient = primad.grad(function, moving)
    derived = {
        "value": function,
        "gradient": gradient,
        "hessian product": lambda *xs: primad.jvp(gradient, xs, tuple(np.cos(x) for x in arguments))[1],
    }[derive]
    program, given = program_of(derived, *arguments)
    plan = tiled_plan.make_plan(program)
    for found, expected in zip(plan.run(given), Plan(program).run(given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.max(np.abs(expected)))
    if derive == "value" and name in ("energy", "kernel", "masked"):
        assert list(apart_plans(plan)), plan.details


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["energy", "attention", "masked"])
def test_gradients_never_hold_all_pairs(name):
    sizes = []
    for count in (256, 1024):
        arguments = [normal(count, 6) if x.shape[0] == CASES[name][1][-1].shape[0] else x for x in CASES[name][1]]
        program, _ = program_of(primad.grad(CASES[name][0], tuple(range(len(arguments)))), *arguments)
        plan = tiled_plan.make_plan(program)
        assert list(apart_plans(plan))
        sizes.append(plan.peak_bytes)
    assert sizes[1] < 6 * sizes[0] and sizes[1] < 8 * 1024**2


def test_only_inputs_are_given_twice_and_what_needs_them_twice():
    program, _ = program_of(energy, normal(41, 3))
    split = split_axes(program)
    assert isinstance(split, SplitAxes)
    assert split.copied == program.inputs[:1]
    assert split.program.cost().flops == program.cost().flops


def test_donated_memory_is_written_at_the_end():
    x = normal(64, 4)
    step = primad.jit(lambda y: y - 0.01 * primad.grad(energy)(y), donate=0)
    expected = x - 0.01 * primad.grad(energy)(x)
    given = x.copy()
    result = step(given)
    assert np.shares_memory(result, given)
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_explain_names_it():
    program, _ = program_of(energy, normal(400, 3))
    assert "an axis that meets itself is two" in tiled_plan.make_plan(program).summary


def test_what_the_second_stage_compares_with_a_result_of_the_first_is_not_computed_again():
    """A largest element is one of those that it was found among, to the last bit."""

    def largest(w, x):
        return np.max(np.tanh(x @ w) * 2.0)

    program, _ = program_of(primad.grad(largest), normal(3), normal(40, 3))
    (found,) = [node for node in program.nodes if node.op is ops.reduce_max]
    assert with_compared(program, [found]) == [found, found.inputs[0]]
    program, _ = program_of(lambda x: np.sum((np.tanh(x) - np.mean(np.tanh(x))) ** 2), normal(40))
    (found,) = [node for node in program.nodes if node.op is ops.sum and node not in program.outputs]
    assert with_compared(program, [found]) == [found]


def summed_before(x):
    """A sum over the index before it meets itself, and pairs."""
    return np.sum(np.tanh(x[:, None] - x) * np.sum(np.cos(x)))


def turned(x):
    """Pairs with their axes exchanged, whose sums meet the index once more."""
    pairs = np.tanh(2.0 * x[:, None] - x)
    return np.sum(np.sum(np.sin(pairs.T), axis=0) * np.cos(x))


def rows_again(x):
    """Rows of pairs, which meet each other."""
    rows = np.sum(np.tanh(x[:, None] - x), axis=1)
    return np.sum(np.tanh(rows[:, None] * rows))


def products_of_rows(x):
    """Rows of pairs, of which each is multiplied by each other."""
    pairs = np.tanh(x[:, None] - x)
    return np.sum(np.tanh(pairs @ pairs.T))


def sums_of_columns(x):
    """Sums over the first index, which meet the second one again: a broadcast whose first axis is of no colour yet."""
    pairs = np.tanh(x[:, None] - x)
    return np.sum(pairs * np.sum(pairs, axis=0))


def sums_of_rows(x):
    """The same with the colours turned."""
    pairs = np.tanh(x[:, None] - x)
    return np.sum(pairs.T * np.sum(pairs, axis=1))


def two_sizes(x):
    """Two indices that meet themselves, of which the first one is short."""
    few = np.tanh(x[:5])
    return np.sum(np.tanh(few[:, None] - few)) + np.sum(np.tanh(x[:, None] - x))


def factors(x):
    """What meets itself is made of one of several results."""
    logarithms = np.linalg.slogdet(x[:, None, None] * np.eye(2) + 0.1)[1]
    return np.sum(np.tanh(logarithms[:, None] - logarithms))


@pytest.mark.parametrize("function", [summed_before, turned, sums_of_columns, sums_of_rows, two_sizes])
def test_the_largest_index_that_meets_itself_has_two_colours(function):
    program, _ = program_of(function, normal(41))
    split = split_axes(program)
    assert isinstance(split, SplitAxes)
    assert split.copied == program.inputs[:1]


def test_what_meets_itself_is_computed_before_or_not_told_apart():
    for function in (rows_again, products_of_rows):
        assert isinstance(split_axes(program_of(function, normal(41))[0]), list)
    assert split_axes(program_of(factors, normal(41))[0]) is None


def test_what_is_captured_stays_so():
    weights = normal(41, 41)
    program = simplify(primad.trace(lambda x: np.sum(weights * np.tanh(x[:, None] - x)))(normal(41)))
    split = split_axes(program)
    assert isinstance(split, SplitAxes)
    assert split.copied == program.inputs[:1]
    (before,), (after,) = ([x for x in y.sources if x.op is CAPTURED] for y in (program, split.program))
    assert leaf_value(after) is leaf_value(before)
