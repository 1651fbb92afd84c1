"""Rows that are taken, and slices, go towards the inputs: what is not read is not computed, nor differentiated."""

import numpy as np
import pytest

import primad
from primad import ops
from primad.recording.tracing import record, type_of
from primad.recording.tree import flatten
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import tiled_plan
from primad.simplify import simplify
from primad.simplify.slice_pushdown import take_early, windows_alone
from primad.transforms import jvp, lower, vjp
from primad.transforms.lowering import expand
from primad.verify.cases.drawn_cases import Seeded
from tests.runtime.plan.test_plans import assert_agree, draw

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(8000, 6))
W = RNG.normal(size=(6, 6))
FEW = RNG.permutation(8000)[:80]


def network(w, x=POINTS):
    return np.tanh(np.tanh(x @ w) @ w)


def cost(function, *arguments):
    return simplify(primad.trace(function)(*arguments)).cost()


READ = {
    "rows": lambda w, some: network(w)[some],
    "rows of a column": lambda w, some: network(w)[some, 2],
    "take": lambda w, some: np.take(network(w), some, axis=0),
    "a slice": lambda w, some: network(w)[: len(some)],
    "rows of a transposed array": lambda w, some: np.cos(network(w).T)[:, some] * 2.0,
    "rows of a sum": lambda w, some: np.sum(network(w) ** 2, axis=1)[some],
    "rows in two ways": lambda w, some: network(w)[some] * np.sin(network(w))[some],
}
DERIVED = {
    "the value": lambda f: f,
    "the Jacobian": primad.jacobian,
    "forward mode": primad.jacfwd,
    "a gradient": lambda f: primad.grad(lambda w: np.sum(f(w) ** 2)),
    "a Hessian": lambda f: primad.hessian(lambda w: np.sum(f(w) ** 2)),
    "a pullback": lambda f: lambda w: primad.vjp(f, w)[1](f(w)),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize("derived", DERIVED)
def test_rows_cost_their_share(form, derived):
    """A hundredth of the rows costs little more than a hundredth, and has the same values."""

    def of(some):
        return DERIVED[derived](lambda w: READ[form](w, some))

    assert cost(of(FEW), W).flops <= 0.012 * cost(DERIVED[derived](network), W).flops
    if derived == "the value":
        found = primad.jit(of(FEW))(W)
        np.testing.assert_allclose(found, of(FEW)(W), rtol=1e-12, atol=1e-12)
    else:
        few = DERIVED[derived](lambda w: READ[form](w, np.arange(80)) if "slice" in form else ROWS[form](w))
        np.testing.assert_allclose(of(FEW)(W), few(W), rtol=1e-9, atol=1e-9)


ROWS = {  # the same, of a network at few points
    "rows": lambda w: network(w, POINTS[FEW]),
    "rows of a column": lambda w: network(w, POINTS[FEW])[:, 2],
    "take": lambda w: network(w, POINTS[FEW]),
    "rows of a transposed array": lambda w: np.cos(network(w, POINTS[FEW]).T) * 2.0,
    "rows of a sum": lambda w: np.sum(network(w, POINTS[FEW]) ** 2, axis=1),
    "rows in two ways": lambda w: network(w, POINTS[FEW]) * np.sin(network(w, POINTS[FEW])),
}


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y[RNG.integers(0, 8000, 8000)],  # as many rows as there are
        lambda y: y[FEW] @ np.sum(y, axis=0),  # all are needed
        lambda y: y[1:] - y[:-1],
        lambda y: np.sum(y[FEW]) + np.sum(y[FEW[::-1]]),  # in two ways: one value would become two
    ],
)
def test_nothing_is_moved_that_would_cost_more(read):
    program = lower(primad.trace(lambda w: read(network(w)))(W))
    assert take_early(program).cost().flops <= program.cost().flops
    assert len(take_early(program).nodes) <= len(program.nodes)


def test_rows_at_the_end_of_a_jacobian_leave_it_in_tiles(monkeypatch):
    """Few rows of many points, with respect to parameters that they share: tiles along the rows that are read."""
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    some = RNG.permutation(8000)[:2000]
    program = simplify(primad.trace(primad.jacobian(lambda w: network(w)[some, 0]))(W).hoisted())
    plan = tiled_plan.make_plan(program)
    assert plan.tiles.partition.dimension.length == 2000 and plan.tiles.count > 8
    assert plan.flops <= 0.26 * cost(primad.jacobian(lambda w: network(w)[:, 0]), W).flops


@pytest.mark.parametrize("many", [3000, 7000, 20_000])
def test_many_rows_at_the_end_of_a_jacobian_cost_one_pullback_of_each_point(monkeypatch, many):
    """Fewer than there are points are computed alone; of more, some of them twice, the points' own rows are taken."""
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    some = RNG.integers(0, 8000, many)
    jacobian = primad.jacobian(lambda w: network(w)[some, 0])
    whole = cost(primad.jacobian(lambda w: network(w)[:, 0]), W).flops
    program = simplify(primad.trace(jacobian)(W).hoisted())
    plan = tiled_plan.make_plan(program)
    assert program.cost().flops <= 1.03 * min(1, many / 8000) * whole + (many > 8000) * many * W.size
    assert plan.tiles.partition.dimension.length == many
    if many > 8000:
        assert plan.parts[0][0].tiles.partition.dimension.length == 8000
    assert plan.flops <= 1.05 * program.cost().flops
    wanted = primad.jacfwd(lambda w: network(w)[:, 0])(W)[some]
    np.testing.assert_allclose(plan.run([W, POINTS, some]), [wanted], rtol=1e-9, atol=1e-12)


def test_explain_does_not_call_rows_coupled_that_are_taken_early():
    assert "coupled" not in str(primad.explain(primad.jacobian(lambda w: network(w)[FEW, 0]), W))


def test_an_index_out_of_range_is_named_as_where_it_was_written():
    where = np.array([3, 9000])
    messages = []
    for indexed in (lambda x, i: np.tanh(x)[i], lambda x, i: x[i]):
        with pytest.raises(primad.PrimadError, match="9000") as caught:
            primad.jit(indexed)(POINTS, where)
        assert "test_slice_pushdown.py" in str(caught.value)
        messages.append(caught.value.failure.place)
    assert messages[0] == messages[1]


MADE = {
    "broadcast": lambda x: np.broadcast_to(x[0], (6000,)),
    "tiled": lambda x: np.tile(x[:1] * 2, 6000),
    "repeated": lambda x: np.repeat(x[:1] * 3, 6000),
    "zeros": lambda x: np.zeros(6000) * x[0],
    "full": lambda x: np.full(6000, 2.0) + x,
    "counted": lambda x: np.arange(6000) * x[0],
    "padded": lambda x: np.pad(x[:20] * 2, (10, 5970)),
    "spread": lambda x: ops.pad(x[:2000] * 2, low=(0,), high=(2,), interior=(2,)),
    "joined": lambda x: np.concatenate([x[:10] * 2, x[:5990] * 3]),
    "of an outer sum": lambda x: np.add.outer(x[:3], np.broadcast_to(x[0], (6000,)))[1],
    "turned": lambda x: np.roll(x[::-1], 3),
    "added up": lambda x: np.cumsum(x),
}
TAKEN = {
    "indexed": lambda y, i: y[i],
    "taken": lambda y, i: np.take(y, i),
    "taken along": lambda y, i: np.take_along_axis(y, i, 0),
    "of a slice": lambda y, i: y[:5990][i],
    "of columns": lambda y, i: (y[None, :] + np.ones((3, 1)))[:, i],
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("made", MADE)
def test_an_index_out_of_range_is_never_lost(made, taken):
    def f(x, where):
        return np.sum(TAKEN[taken](np.sin(MADE[made](x) * 2.0), where))

    for run in (primad.jit(f), primad.jit(f, backend="reference"), primad.grad(f)):
        with pytest.raises(primad.PrimadError, match="7000"):
            run(POINTS[:6000, 0], np.array([0, 7000]))


@pytest.mark.parametrize("window", [slice(0, 3), slice(2, 40), slice(37, 2100, 2), slice(5980, 6000)])
@pytest.mark.parametrize("made", MADE)
def test_windows_are_those_of_the_whole(made, window):
    program = expand(primad.trace(lambda x: np.sin(MADE[made](x) * 2.0)[window] * 3.0)(POINTS[:6000, 0]))
    for early in (take_early(program, smallest=1, rows=1), windows_alone(program)):
        found, wanted = (Plan(lower(each)).run([POINTS[:6000, 0]]) for each in (early, program))
        assert_agree(found, wanted, 1e-12, made)


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_random_programs_keep_the_error_of_an_index_out_of_range(start):
    """Whatever is between what makes a value and what takes rows of it."""
    for seed in range(start, start + 20):
        f, arguments = draw(Seeded(seed))
        leaves, in_tree = flatten(tuple(arguments))
        types = record(f, [type_of(leaf) for leaf in leaves], in_tree).out_types
        for which, axis in [(i, seed % t.ndim) for i, t in enumerate(types) if t.size and t.ndim]:

            def read(where, *xs, f=f, which=which, axis=axis):
                return np.take(f(*xs)[which], where, axis=axis)

            leaves, in_tree = flatten((np.array([0, 10**6]), *arguments))
            recorded = record(read, [type_of(leaf) for leaf in leaves], in_tree)
            program = expand(recorded.hoisted())
            for each in (program, take_early(program, smallest=1, rows=1), simplify(program)):
                with pytest.raises(primad.PrimadError, match="1000000"):
                    Plan(lower(each)).run([*map(np.asarray, leaves), *recorded.source_values])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_programs(start):
    """Values and derivatives are those of the program from which everything is read."""
    moved = 0
    for seed in range(start, start + 20):
        f, arguments = draw(Seeded(seed))
        leaves, in_tree = flatten(tuple(arguments))
        program = expand(record(f, [type_of(leaf) for leaf in leaves], in_tree).hoisted())
        values = [*map(np.asarray, leaves), *record(f, [type_of(leaf) for leaf in leaves], in_tree).source_values]
        early = take_early(program, smallest=1, rows=(1, 4)[seed % 2])
        moved += early.key != program.key
        single = any(node.type.dtype == np.float32 for node in program.nodes)
        rng = np.random.default_rng(seed)
        for transform in (lambda program: program, jvp, vjp):
            pair = [lower(transform(each)) for each in (early, program)]
            more = [rng.normal(size=t.shape).astype(t.dtype) for t in pair[0].in_types[len(values) :]]
            found, wanted = (Plan(each).run([*values, *more]) for each in pair)
            assert_agree(found, wanted, 2e-3 if single else 1e-9, f"seed {seed}")
    assert moved


def test_values_of_an_open_recording_stay_what_they_are():
    """A program that closes over them is simplified while they are recorded: they are no part of it."""

    seen = []

    def outer(y):
        scaled = np.sin(y) * 2.0
        inner = take_early(lower(primad.trace(lambda x: np.sum(np.tanh(x * scaled)[FEW]))(POINTS[:, 0])))
        seen.append(inner.captured == [scaled.node])
        return scaled

    primad.trace(outer)(POINTS[:, 1])
    assert seen == [True]
