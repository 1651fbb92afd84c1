"""Tiles as one native function: last tiles of any length, slices of any axis, sums, and what may go wrong between."""

import itertools
import signal
import tracemalloc
from functools import partial

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.native.llvm import compiler as native
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.blocked import blocked_products, blocked_sums
from primad.parallel import threads as chunks
from primad.runtime.executors import native_executor
from primad.runtime.plan import blocking
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_steps import NativePart
from primad.runtime.plan.planned_program import PlannedProgram
from primad.runtime.tiling import (
    block_sums,
    interpreted_tiles,
    tile_choice,
    tileable_axes,
    tiled_plan,
)
from primad.simplify import simplify
from primad.system import machine
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from tests.cases import CASES

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")

POINTS = [8, 9, 15, 16, 17, 31, 40, 67]
DTYPES = [np.float64, np.float32]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Cut even small programs, into tiles of 4 or 8."""
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", (4, 8))
    monkeypatch.setattr(tile_choice, "MIXED_LENGTHS", (4, 8))
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "LARGE_BYTES", 0)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    monkeypatch.setattr(tiled_plan, "is_pointwise", lambda nodes: False)


def prepared(function, *arguments):
    """Return a lowered program and its arguments."""
    program = primad.trace(function)(*arguments)
    return simplify(program.hoisted()), [*arguments, *program.source_values]


def check(function, *arguments, tolerance=200, kind=tile_choice.NativeTiles):
    """Compare a plan with the reference, for several numbers of threads bit by bit; return the plan."""
    program, given = prepared(function, *arguments)
    plan = tiled_plan.make_plan(program)
    assert isinstance(plan.tiles, kind)
    wanted = Plan(program).run(given)
    before = chunks.get_num_threads()
    kept = None
    try:
        for threads in (1, 2, 3):
            chunks.set_num_threads(threads)
            found = plan.run([np.array(x) for x in given])
            for got, want in zip(found, map(np.asarray, wanted), strict=True):
                assert np.shape(got) == want.shape and got.dtype == want.dtype
                if want.dtype.kind == "f":
                    scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=1.0))
                    error = tolerance * np.finfo(want.dtype).eps
                    np.testing.assert_allclose(got, want, rtol=error, atol=error * scale)
                else:
                    np.testing.assert_array_equal(got, want)
            kept = kept or [np.asarray(x).tobytes() for x in found]
            assert [np.asarray(x).tobytes() for x in found] == kept
    finally:
        chunks.set_num_threads(before)
    return plan


def normal(*shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("points", POINTS)
def test_sums_and_slices_of_every_form(points, dtype):
    def f(x, w, v):
        y = np.tanh(x @ w)
        return y, y.T, y @ v, np.sum(y), np.sum(y, axis=0), y.T @ x, np.sum(y @ v), y[:, ::2], x @ w > 0.1

    check(f, normal(points, 3, dtype=dtype), normal(3, 5, dtype=dtype), normal(5, dtype=dtype, seed=1))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("points", POINTS)
def test_points_along_the_last_axis(points, dtype):
    def f(x, w):
        y = np.sin(w @ x)
        return y, np.sum(y, axis=1), y * y, np.sum(y * x[:1]), np.concatenate([y, x], axis=0)

    check(f, normal(3, points, dtype=dtype), normal(5, 3, dtype=dtype))


@pytest.mark.parametrize("points", POINTS)
def test_vectors_of_points(points):
    check(lambda x, y: (np.sum(np.exp(x) * y), np.dot(x, y), np.maximum(x, y)), normal(points), normal(points, seed=1))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_sums_of_several_types(order):
    """Those of a type that lie behind one another are added up at once, in groups of tiles and over chunks."""

    def f(x):
        y = np.tanh(x)
        single, double, whole = y.astype(np.float32), y * 0.3, (y > 0.1).astype(int)
        kinds = [[np.sum(z), np.sum(z, axis=0)] for z in (single, double, whole)]
        return [total for i in order for total in kinds[i]]

    check(f, normal(701, 3))


def test_sums_that_are_results_and_parts_of_sums():
    """What adds sums up is added to one memory, unless one of them is wanted by itself, or twice."""

    def f(x):
        y, z, w = (np.sum(part(x), axis=0) for part in (np.tanh, np.sin, np.cos))
        u, v = np.sum(np.exp(x), axis=0), np.sum(x * x, axis=0)
        return y, y + z, w * w + (w + u), v + u * 2.0

    check(f, normal(67, 3))


@pytest.mark.parametrize("points", POINTS)
def test_directions_between_points_and_widths(points):
    def f(x, w, u):
        y = np.einsum("td,dij->tij", x, w)
        z = np.einsum("tij,jk->tik", np.tanh(y), u)
        return np.einsum("tik,tij->kj", z, y), np.sum(z, axis=1), np.swapaxes(z, 0, 1)

    check(f, normal(points, 3), normal(3, 4, 5), normal(5, 6))


def test_equal_layers_share_their_functions():
    def network(x, ws):
        for i in range(ws.shape[0]):
            x = np.tanh(x @ ws[i])
        return np.sum(x)

    texts = []
    for depth in (3, 9):
        program = simplify(primad.trace(network)(normal(64, 6), normal(depth, 6, 6)))
        partition = tiled_plan.make_plan(program).tiles.partition
        layout = tile_choice.layout_of(*partition.tile(8))
        texts.append(tile_choice.ProgramWriter(layout).write().functions.count("define internal"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("points", [8, 9, 21])
def test_what_is_repeated_for_a_short_tile_is_in_no_sum(points):
    x = normal(points, 3)
    for value, place in itertools.product((np.inf, np.nan, 0.0, -np.inf), (-1, 0)):
        x[place] = value
        check(lambda x: (np.sum(x, axis=0), np.sum(np.exp(x) @ np.ones((3, 2))), x.T @ np.tanh(x)), x)


def test_arrays_that_repeat_along_the_points_are_read_once():
    x = normal(1000, 8)
    row = np.broadcast_to(np.arange(8.0), x.shape)
    f = lambda x, row: np.sum(np.sort(np.full(8, 2.0)) @ (np.sin(x) * row).T)  # noqa: E731
    program, given = prepared(f, x, row)
    plan = tiled_plan.make_plan(program)
    (found,) = plan.run(given)
    np.testing.assert_allclose(found, f(x, row), rtol=1e-12)
    assert plan.tiles._plain(row, plan.program.inputs[1]).shape == (plan.tiles.length, 8)


@pytest.mark.parametrize("points", POINTS)
def test_a_donated_argument_is_read_before_it_is_written(points):
    def f(x, w):
        y = x @ w
        return np.tanh(y) + x[:, ::-1], np.sum(y)

    x, w = normal(points, 6), normal(6, 6)
    expected = f(x, w)
    compiled = primad.jit(f, donate=0)
    given = x.copy()
    found = compiled(given, w)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    assert found[0] is given or np.shares_memory(found[0], given)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_views_of_donated_arguments_are_results_too():
    """What is written over an argument comes after all that shows it, though a view has no loop of its own."""
    functions = {
        "itself, reversed": lambda x, y: (x[:, ::-1], y, np.sum(np.tanh(x) * y)),
        "one exchanged for the other": lambda x, y: (y[:, ::-1], x[:, ::-1], np.sum(np.tanh(x) * y)),
        "beside another result": lambda x, y: (np.tanh(x @ y.T @ y), x[:, ::-1], x[:, 2:4], np.sum(y)),
    }
    x, y, donated = normal(37, 20), normal(37, 20, seed=1), ((0, 0), (1, 1))
    for name, f in functions.items():
        program, given = prepared(f, x, y)
        plan = tiled_plan.make_plan(program, donated)
        assert plan.tiles is not None, name
        given = [np.array(value) for value in given]
        found = plan.run(given)
        assert found[0] is given[0] and found[1] is given[1]
        for got, want in zip(found, f(x, y), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=name)


def test_operands_that_have_no_native_loop_are_interpreted():
    def f(x):
        return np.sum(np.sort(np.tanh(x), axis=1) * x)

    plan = tiled_plan.make_plan(simplify(primad.trace(f)(normal(40, BUDGET.unrolled + 1))))
    assert isinstance(plan.tiles, tile_choice.InterpretedTiles)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("points", POINTS)
def test_an_op_without_a_loop_bounds_the_native_parts_of_a_tile(points):
    """Special functions, long sorts between layers: the rest of a tile is native."""
    w = normal(6, 6)

    def f(x, w):
        y = np.tanh(x @ w) * x + np.cos(x)
        y = np.tanh(y @ w) + np.sin(y) * 0.5
        z = ops.airy(y * y + 1.5, n=1) if points % 2 else np.sort(np.concatenate([y] * 40, axis=1), axis=1)[:, :6]
        h = np.tanh((z * y) @ w) * np.exp(-y)
        return np.sum(h, axis=0), h[:, 1], w.T @ np.sum(h * z, axis=0)

    plan = check(f, normal(points, 6), w, kind=tile_choice.InterpretedTiles)
    assert any(isinstance(unit, NativePart) for unit in plan.tiles.plan.units)


def test_an_index_out_of_range_in_a_mixed_tile_is_named_with_its_place():
    def f(x, i):
        y = np.tanh(np.tanh(x) * 2.0 + np.cos(x))
        y = np.sort(np.concatenate([y] * 40, axis=1), axis=1)[:, :6] * y
        return np.sum(np.take_along_axis(y, i, axis=1) * np.exp(y[:, :1]), axis=0)

    x, i = normal(40, 6), np.zeros((40, 1), int)
    program, given = prepared(f, x, i)
    plan = tiled_plan.make_plan(program)
    assert any(isinstance(unit, NativePart) for unit in plan.tiles.plan.units)
    given[1][29] = 9
    places = []
    for run in (plan.run, Plan(program).run):
        with pytest.raises(primad.PrimadError, match="9") as caught:
            run(given)
        places.append(caught.value.failure.place)
    assert places[0] == places[1]


SPREADS = {  # shape of what is added, its axes before the indices, their number, how many are a batch
    "rows": ((0, 3), 0, 1, 0),
    "numbers": ((0,), 0, 1, 0),
    "the middle of three axes": ((2, 0, 3), 1, 1, 0),
    "the outer of two index axes": ((2, 0, 5, 3), 1, 2, 0),
    "the inner of two index axes": ((5, 0, 3), 0, 2, 0),
    "beside a batch": ((2, 0, 3), 1, 1, 1),
    "beside a batch and an axis": ((2, 3, 5, 0, 2), 2, 2, 1),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("form", SPREADS)
@pytest.mark.parametrize("points", [8, 13, 31])
def test_scatters_are_sums_over_tiles(points, form, monkeypatch):
    """Whatever axis of the indices the tiles lie along: they add to one array for each chunk."""
    monkeypatch.setattr(tileable_axes, "MOST_CHUNKS", 0)
    shape, axis, own, batch = SPREADS[form]
    shape = tuple(n or points for n in shape)
    i, j = np.random.default_rng(3).integers(-4, 4, (2, *shape[:batch], *shape[axis : axis + own]))

    def f(x, y, i, j):
        z = np.tanh(x) * y
        left = ops.scatter_add(z * x, i, axis=axis, batch=batch, size=4)
        right = ops.scatter_add(z, j, axis=axis, batch=batch, size=4)
        return left - right, np.exp(left + right), z

    x, y = normal(*shape), normal(*shape, seed=1)
    check(f, x, y, i, j, tolerance=2000)
    at = tuple(n - 1 for n in i.shape)
    i[at] = 4
    program, given = prepared(f, x, y, i, j)
    for plan in (tiled_plan.make_plan(program), Plan(program)):
        with pytest.raises(primad.PrimadError, match=r"index 4") as caught:
            plan.run(given)
        assert caught.value.failure.place == at


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4"])
def test_sums_over_tiles_keep_their_type(dtype, monkeypatch):
    """Small integers have no more bits in a sum of sums than in one sum: what is too large wraps."""
    monkeypatch.setattr(tileable_axes, "MOST_CHUNKS", 0)
    x, i = np.random.default_rng(0).integers(0, 100, (2, 67))
    check(lambda x, i: (ops.scatter_add(x * x, i % 3, axis=0, batch=0, size=3),), x.astype(dtype), i)


@pytest.mark.parametrize("points", [40, 67])
def test_forces_between_pairs_are_added_in_tiles(points, monkeypatch):
    monkeypatch.setattr(tileable_axes, "MOST_CHUNKS", 0)
    i, j = np.random.default_rng(5).integers(0, 9, (2, points))

    def energy(x):
        d = x[i] - x[j]
        return np.sum(np.exp(-np.sum(d * d, axis=1)))

    plan = check(primad.grad(energy), normal(9, 3))
    assert all(part is plan.tiles for part, _ in plan.parts)
    assert plan.tiles.partition.dimension.length == points
    monkeypatch.setattr(tile_choice, "compiler", lambda: None)
    check(primad.grad(energy), normal(9, 3), kind=tile_choice.InterpretedTiles)


def test_scatters_into_more_than_the_tiles_values_take_are_made_whole():
    def f(x, i):
        return ops.scatter_add(np.tanh(x) * x, i, axis=0, batch=0, size=1000)

    program, _ = prepared(f, normal(67), np.arange(67) % 5)
    assert tiled_plan.make_plan(program).tiles is None


def test_arrays_that_grow_in_many_steps():
    def f(x):
        y = np.sin(x)
        for _ in range(1100):
            y = np.pad(y, ((0, 0), (0, 1))) * 1.0
        return np.sum(y, axis=0)

    check(lambda x: (f(x),), normal(9, 3))


def test_texts_that_take_long_to_compile_are_interpreted(monkeypatch):
    def f(x):
        y = x
        for _ in range(8):
            y = np.concatenate([np.sin(y[:, :1]), y], axis=1)
        return np.sum(y, axis=0)

    program = simplify(primad.trace(f)(normal(40, 3)))
    assert isinstance(tiled_plan.make_plan(program).tiles, tile_choice.NativeTiles)
    monkeypatch.setattr(tile_choice, "BUDGET", replace(BUDGET, tile_text=1000))
    assert isinstance(tiled_plan.make_plan(program).tiles, tile_choice.InterpretedTiles)


def test_what_llvm_refuses_is_interpreted(monkeypatch):
    def refuse(self, texts):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(type(native.compiler()), "kernels", refuse)
    x = normal(40, 3)
    program = simplify(primad.trace(lambda x: np.sum(np.tanh(x), axis=0))(x))
    with pytest.warns(RuntimeWarning, match="NumPy runs instead: no such instruction"):
        plan = tiled_plan.make_plan(program)
    assert isinstance(plan.tiles, tile_choice.InterpretedTiles)
    np.testing.assert_allclose(plan.run([x])[0], np.sum(np.tanh(x), axis=0), rtol=1e-12)


@pytest.mark.parametrize("arguments", [(normal(40, 6), normal(6, 6)), (normal(40, 6, 6), normal(40, 6, 6))])
def test_large_matrices_are_for_blas(monkeypatch, arguments):
    f = lambda x, w: np.sum(np.tanh(x @ w), axis=-1)  # noqa: E731
    check(f, *arguments)
    monkeypatch.setattr(tile_choice, "LARGEST_MATRIX", 6 * 6 * 8 - 1)
    monkeypatch.setattr(tile_choice, "WIDTH_BYTES", 64)
    monkeypatch.setattr(tile_choice, "blas_has_long_vectors", lambda: False)
    check(f, *arguments)
    monkeypatch.setattr(tile_choice, "blas_has_long_vectors", lambda: True)
    assert isinstance(tiled_plan.make_plan(simplify(primad.trace(f)(*arguments))).tiles, tile_choice.InterpretedTiles)


def test_a_stack_of_small_matrices_is_not_one_large_matrix(monkeypatch):
    """Each has its turn: what a product reads again and again is one of them."""

    def f(factors, points):
        centred = points[:, None] * np.arange(1.0, 10)[:, None]
        return np.sum(np.exp(-np.sum(np.einsum("kij,nkj->nki", factors, centred) ** 2, axis=2)))

    factors, points = normal(9, 6, 6), normal(1000, 6)
    monkeypatch.setattr(tile_choice, "LARGEST_MATRIX", 6 * 6 * 8)
    plan = tiled_plan.make_plan(simplify(primad.lower(primad.trace(f)(factors, points))))
    assert isinstance(plan.tiles, tile_choice.NativeTiles)
    np.testing.assert_allclose(plan.run([factors, points])[0], f(factors, points), rtol=1e-12)
    monkeypatch.setattr(tile_choice, "LARGEST_MATRIX", 6 * 6 * 8 - 1)
    monkeypatch.setattr(tile_choice, "blas_has_long_vectors", lambda: True)
    plan = tiled_plan.make_plan(simplify(primad.lower(primad.trace(f)(factors, points))))
    assert not isinstance(plan.tiles, tile_choice.NativeTiles)


def test_a_number_of_points_compiled_before_serves_others():
    f = lambda x: np.sum(np.tanh(x @ np.full((3, 3), 0.5)), axis=0)  # noqa: E731
    functions = [tiled_plan.make_plan(simplify(primad.trace(f)(normal(n, 3)))).tiles.kernel for n in (40, 48, 1001)]
    assert functions[0] is functions[1] is functions[2]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_an_interrupt_ends_a_long_run():
    x, w = np.ones((32_000, 64)), np.eye(64)

    def f(x, w):
        for _ in range(40):
            x = x @ w
        return x

    compiled = primad.jit(f, donate=0)
    compiled(x, w)
    before = (
        signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT)),
    )
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            compiled(x, 2.0 * w)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])
    written = x.copy()
    assert set(np.unique(written)) <= {1.0, 2.0**40} and 1.0 in written
    np.testing.assert_array_equal(x, written)


def test_truth_values_and_masks():
    def f(x, chosen):
        y = x @ np.full((4, 4), 0.25)
        return np.where(chosen, y, 0.0), np.sum(np.where(y > x, x, y), axis=0), np.logical_and(chosen, y > 0.0)

    check(f, normal(37, 4), normal(37, 4, seed=3) > 0)


def test_a_reduction_beside_its_terms():
    """Sums that are read again along the points make two stages, each in native tiles."""

    def f(x):
        y = x @ np.full((3, 3), 0.5)
        return (y - np.mean(y, axis=0)) / np.std(y, axis=0)

    x = normal(40, 3)
    program, given = prepared(f, x)
    plan = tiled_plan.make_plan(program)
    first, second = [part for part, _ in plan.parts]
    assert isinstance(first.tiles, tile_choice.NativeTiles) and second.is_tiled
    np.testing.assert_allclose(plan.run(given)[0], f(x), rtol=1e-12)


def untiled(plan):
    """Yield the programs of what runs outside of tiles."""
    if isinstance(plan, Plan):
        yield plan.program
    elif isinstance(plan, PlannedProgram):
        for part, _ in plan.parts:
            yield from untiled(part)


def evidence(parameters, distances, y):
    covariance = np.exp(-distances / np.exp(parameters[0])) + np.exp(parameters[1]) * np.eye(len(y))
    return y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(covariance)[1]


@pytest.mark.parametrize("name", ["Hessian", "gradient"])
def test_no_stage_factorizes_again(name):
    """What costs more to compute again than to keep is computed by one stage."""
    x, y = normal(64), normal(64, seed=1)
    given = [normal(2), (x[:, None] - x) ** 2, y]
    function = {
        "Hessian": lambda p, d, y: primad.hessian(evidence)(p, d, y)[:],
        "gradient": primad.grad(evidence, (0, 1)),
    }[name]
    program, given = prepared(function, *given)
    plan = tiled_plan.make_plan(program)
    assert plan.why == tiled_plan.STAGES
    costly = {ops.lu, ops.cholesky, ops.solve_triangular}
    wanted = [node.op for node in program.nodes if node.op in costly and node.type.size > 64]
    found = [x.op for part in untiled(plan) for x in part.nodes if x.op in costly and x.type.size > 64]
    assert wanted and sorted(op.name for op in found) == sorted(op.name for op in wanted)
    for got, want in zip(plan.run(given), Plan(program).run(given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * np.max(np.abs(want)))


@pytest.mark.parametrize("n", [64, 1000])
def test_blas_has_threads_beside_tiles_for_large_steps_only(n):
    def f(a, x):
        return np.linalg.solve(a, x), np.sum(np.tanh(x), axis=1)

    program = simplify(primad.trace(f)(ArrayType((n, n), np.dtype(float)), ArrayType((n, n), np.dtype(float))))

    def count():
        return [library.num_threads for library in machine.blas().lib_controllers]

    outside = count()
    inside = blocking.beside_tiles(program)(count)
    assert inside == (outside if n == 1000 else [1] * len(outside)) and count() == outside


def several_results():
    """Yield the ops that make several results of matrices, with params as the table of cases draws them."""
    for case in CASES.values():
        example = case.draw(Seeded(0))
        program = one_op(case.op, example, case.through)
        several = any(node.op is case.op and isinstance(node.type, TupleType) for node in program.nodes)
        real = not any(type.is_complex for type in program.out_types)
        if several and real and len(example.operands) == 1 and not case.op.programs.names:
            yield case.op, partial(case.op, **example.params)


OF_SEVERAL = dict(several_results())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("compiled", [True, False], ids=["native", "interpreted"])
@pytest.mark.parametrize("points", [8, 17])
@pytest.mark.parametrize("op", OF_SEVERAL, ids=lambda op: op.name)
def test_ops_of_several_results_are_inside(op, points, compiled, monkeypatch):
    a, of = normal(points, 3, 3), OF_SEVERAL[op]
    a = a @ np.swapaxes(a, 1, 2) + np.eye(3)  # whose factors do not depend on how they are found
    kind = tile_choice.NativeTiles
    if not compiled:
        monkeypatch.setattr(tile_choice, "compiler", lambda: None)
        kind = interpreted_tiles.InterpretedTiles
    used = {
        "all": lambda x: [np.abs(y) * 1.0 for y in of(x + 0.0)],
        "the first": lambda x: np.abs(of(x * 1.0)[0]) + 1.0,
        "a sum": lambda x: np.sum(np.abs(of(np.sin(x))[0]), axis=0),
        "what is made along the points": lambda x: np.abs(of(np.broadcast_to(np.ones(3), x.shape) + x)[0]),
    }
    for function in used.values():
        partition = check(function, a, kind=kind).tiles.partition
        assert op not in {node.op for node in (*partition.before, *partition.after)}


def test_no_op_of_several_results_is_forgotten():
    assert {op.name for op in OF_SEVERAL} >= {"lu", "qr", "eigh", "svd"}


def test_views_need_no_loop():
    x = normal(24, 4)
    plan = check(lambda x: (ops.flip(x, axes=(1,)) * 2.0, np.sum(x[:, 1:3].T @ x)), x)
    assert plan.tiles.loops == 1


def test_tiles_of_large_slices_are_short(monkeypatch):
    x, y = normal(40, 5, 6), normal(40, 6, 7)
    f = lambda x, y: np.einsum("tij,tjk->tik", x, y)  # noqa: E731
    assert check(f, x, y).tiles.length == 8
    monkeypatch.setattr(tile_choice, "STREAMED_BYTES", 4 * (x.nbytes + y.nbytes + 40 * 35 * 8) // 40)
    assert check(f, x, y).tiles.length == 4


# -- large sums of products --------------------------------------------------------------------------------------------


def rows(x, w):
    """Values of points, as wide as w: the slopes of residuals."""
    return np.tanh(x @ w) * np.sum(x, axis=-1)[..., None]


SUMS = {
    "rows with themselves": lambda x, w: rows(x, w).T @ rows(x, w),
    "with slopes and values": lambda x, w: (rows(x, w).T @ rows(x, w), rows(x, w).T @ x[:, 0], rows(x, w)),
    "damped and solved": lambda x, w: np.linalg.solve(
        rows(x, w).T @ rows(x, w) + 50.0 * np.eye(w.shape[1], dtype=w.dtype), rows(x, w).T @ x[:, 0]
    ),
    "components": lambda x, w: np.tensordot(
        y := np.stack([rows(x, w), np.cos(rows(x, w))], 1), y, axes=((0, 1), (0, 1))
    ),
    "other rows": lambda x, w: rows(x, w).T @ np.sin(rows(x, w)),
    "turned": lambda x, w: np.einsum("ab,ac->cb", rows(x, w), np.sin(rows(x, w))),
    "three axes": lambda x, w: np.einsum("abc,ad->cbd", np.reshape(rows(x, w), (-1, 4, 6)), rows(x, w) * 2.0),
    "two in one": lambda x, w: rows(x, w).T @ rows(x, w) + (y := np.sin(rows(x, w))).T @ y + rows(x, w).T @ y,
    "with itself in another order": lambda x, w: np.einsum(
        "nij,nki->jk", y := np.reshape(np.concatenate([rows(x, w)] * 24, 1), (-1, 24, 24)), y
    ),
    "weights": lambda x, w: (rows(x, w) * x[:, :1] ** 2).T @ rows(x, w),
    "points last": lambda x, w: (y := np.tanh(w.T @ x.T)) @ y.T,
    "used again": lambda x, w: np.sum(np.tanh(rows(x, w) @ (rows(x, w).T @ rows(x, w))), axis=0),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("points", [9, 67])
@pytest.mark.parametrize("name", SUMS)
def test_large_sums_of_products(monkeypatch, name, points):
    """In blocks of points, of which the last may be short, and pieces of which the last may be narrow."""
    monkeypatch.setattr(block_sums, "LARGE_SUM", 8 * 23 * 23)
    monkeypatch.setattr(block_sums, "BLOCK_BYTES", 24 * 16 * 8)
    monkeypatch.setattr(blocked_sums, "PANEL", 7)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    for dtype in DTYPES:
        x, w = normal(points, 3, dtype=dtype), normal(3, 24, seed=1, dtype=dtype)
        if dtype == np.float32:
            monkeypatch.setattr(block_sums, "LARGE_SUM", 4 * 23 * 23)
        if name == "used again":
            program, given = prepared(SUMS[name], x, w)
            plan = tiled_plan.make_plan(program)
            assert isinstance(plan.parts[0][0].tiles, block_sums.BlockTiles)
            np.testing.assert_allclose(plan.run(given)[0], Plan(program).run(given)[0], rtol=1e-3, atol=1e-3)
        else:
            plan = check(SUMS[name], x, w, tolerance=3000, kind=block_sums.BlockTiles)
            assert plan.tiles.count == -(-points // plan.tiles.length)
            assert points < 40 or plan.tiles.count > 1


@pytest.mark.one_in(6)
@pytest.mark.parametrize("second", ["nij", "nji", "nik", "nki", "nkj", "njk", "nkl", "ijn", "jin", "kin"])
def test_every_product_over_points(monkeypatch, second):
    """Of an array with itself and with another of its shape; letters that both have are summed or stay."""
    monkeypatch.setattr(block_sums, "LARGE_SUM", 8)
    monkeypatch.setattr(block_sums, "BLOCK_BYTES", 24 * 16 * 8)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    x = normal(67, 5, 5)
    blocks = 0
    for first in ("nij", "ijn"):
        shared = set(first) & set(second) - {"n"}
        alone = "".join(sorted(set(first) ^ set(second)))
        for kept in itertools.chain(*(itertools.combinations(sorted(shared), r) for r in range(len(shared) + 1))):
            out = "".join((*kept, *alone))
            for outs in {out, out[::-1]}:
                for other in (lambda y: y, np.sin):

                    def product(x, first=first, outs=outs, other=other):
                        y = np.tanh(x) * 1.5
                        left, right = (y if labels[0] == "n" else np.moveaxis(y, 0, -1) for labels in (first, second))
                        return np.einsum(f"{first},{second}->{outs}", left, other(right))

                    program, given = prepared(product, x)
                    plan = tiled_plan.make_plan(program)
                    blocks += isinstance(getattr(plan, "tiles", None), block_sums.BlockTiles)
                    want = Plan(program).run(given)[0]
                    np.testing.assert_allclose(plan.run(given)[0], want, rtol=1e-11, atol=1e-11)
    assert blocks > 0 or set(second) == set("nij")


def test_half_of_a_symmetric_sum_is_computed(monkeypatch):
    """Of a matrix with itself, the pieces on the diagonal and above it; of two matrices, all."""
    made = []
    monkeypatch.setattr(blocked_sums, "PANEL", 7)
    x = normal(30, 24)
    total = np.zeros((24, 24))

    def each(work, count):
        made.append(count)
        return [work(i) for i in reversed(range(count))]

    blocked_sums.add_product(total, x, x, each)
    blocked_sums.mirror(total)
    np.testing.assert_allclose(total, x.T @ x, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(total, total.T)
    blocked_sums.add_product(total, x, x.copy(), each)
    np.testing.assert_allclose(total, 2 * x.T @ x, rtol=1e-13, atol=1e-13)
    assert made == [4 * 5 // 2, 4 * 4]
    y = normal(1000, 400)
    both = [blocked_products.multiply(y, other, "ab", "ac", "bc", each=each) for other in (y, y.copy())]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(both[0], both[0].T)


def test_one_block_is_in_memory(monkeypatch):
    monkeypatch.setattr(block_sums, "LARGE_SUM", 8)
    monkeypatch.setattr(block_sums, "BLOCK_BYTES", 3 << 20)
    x, d = normal(16_000, 64), normal(16_000)
    program, given = prepared(lambda x, d: x.T @ (x * d[:, None]) + x.T @ (y := np.sin(x)) + y.T @ y, x, d)
    plan = tiled_plan.make_plan(program)
    assert isinstance(plan.tiles, block_sums.BlockTiles) and plan.tiles.count > 4
    before = chunks.get_num_threads()
    chunks.set_num_threads(1)
    try:
        plan.run(given)
        tracemalloc.start()
        plan.run(given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        chunks.set_num_threads(before)
    copied = plan.tiles.length * x.strides[0]  # of x, as an operand
    assert peak <= 1.25 * (plan.peak_bytes + copied) + 300_000


def test_a_failure_in_a_block_is_named_with_its_place(monkeypatch):
    monkeypatch.setattr(block_sums, "LARGE_SUM", 0)
    monkeypatch.setattr(block_sums, "BLOCK_BYTES", 24 * 16 * 8)

    def f(x, w, i):
        y = np.tanh(x @ w) * w[0][i]
        return y.T @ y

    i = np.zeros((67, 24), int)
    i[40, 5] = 30
    program, given = prepared(f, normal(67, 3), normal(3, 24), i)
    plan = tiled_plan.make_plan(program)
    assert isinstance(plan.tiles, block_sums.BlockTiles)
    places = []
    for run in (plan.run, Plan(program).run):
        with pytest.raises(primad.PrimadError, match="30") as caught:
            run(given)
        places.append(caught.value.failure.place)
    assert places[0] == places[1]


@primad.opaque(result=lambda x: x)
def smoothed(x):
    return x * 0.5


MIXING = {
    "cumsum": lambda y, i: np.cumsum(y, axis=0),
    "rows": lambda y, i: y[i],
    "few rows": lambda y, i: y[i[:5]],
    "sort": lambda y, i: np.sort(y, axis=0),
    "opaque": lambda y, i: smoothed(y),
    "turned": lambda y, i: y + y[::-1],
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("mixing", MIXING)
@pytest.mark.parametrize("points", [16, 31])
def test_what_mixes_points_bounds_the_tiles(points, mixing):
    """Layers before and after an op that mixes the points run in tiles; so do their gradients."""
    w = normal(6, 6, seed=1)
    i = np.random.default_rng(2).integers(0, points, points)

    def f(x, w):
        y = MIXING[mixing](np.tanh(np.tanh(x @ w) @ w), i)
        return np.sum(np.tanh(y @ w) * y, axis=0), y

    def gradient(x, w):
        return primad.grad(lambda x: np.sum(f(x, w)[0] ** 2))(x)

    for function in (f,) if mixing == "opaque" else (f, gradient):
        program, given = prepared(function, normal(points, 6), w)
        plan = tiled_plan.make_plan(program)
        assert plan.is_tiled
        kept = None
        for threads in (1, 3):
            found = chunks.on_threads(threads, lambda: plan.run([np.array(x) for x in given]))  # noqa: B023
            for got, want in zip(found, Plan(program).run(given), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
            kept = kept or [np.asarray(x).tobytes() for x in found]
            assert [np.asarray(x).tobytes() for x in found] == kept


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_views_are_read_where_they_lie_and_many_small_totals_are_joined_at_once(dtype, monkeypatch):
    monkeypatch.setattr(
        tiled_plan, "WORTHWHILE_BYTES", 60_000
    )  # less than the values along the axis, more than the totals
    count = BUDGET.worth_a_region + 8

    def fit(coefficients, t):
        value = 0 * t
        for i in reversed(range(count)):
            value = value * t + coefficients[i, 0]
        return np.sum((np.sin(t) - value) ** 2)

    rng = np.random.default_rng(0)
    coefficients, t = rng.normal(size=(count, 2)).astype(dtype), rng.uniform(-1, 1, 403).astype(dtype)
    plan = check(primad.grad(fit), coefficients, t, tolerance=2000)
    tiles, last = [part for part, _ in plan.parts]
    assert tiles is plan.tiles
    assert len(last.units) < 5


def test_small_views_of_views_are_read_through():
    def f(w, x):
        return np.sum(np.exp(x) * w[1:3].T[0] - w[2]), np.tanh(x * w[1]) + np.reshape(w[:1], ()), w[1:3]

    check(f, normal(4), normal(67, seed=1))


def log_sum_exp(x, axis=None):
    largest = x.max(axis=axis, keepdims=True)
    return np.sum(largest + np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((10**6,), None), ((1000, 1000), None), ((1000, 1000), 0), ((1000, 1000), -1), ((250_000, 4), 0)],
)
def test_a_large_log_sum_exp_takes_memory_of_tiles(shape, axis):
    """Two passes over its eight megabytes; so do its gradients along axes of which there are many."""
    program = simplify(primad.trace(lambda x: log_sum_exp(x, axis))(primad.ArrayType(shape, float)))
    plan = tiled_plan.make_plan(program)
    assert plan.is_tiled
    room = 2 * tile_choice.SCRATCH_BYTES + 1e6
    assert chunks.on_threads(2, lambda: plan.peak_bytes) <= room and plan.flops <= 1.01 * program.cost().flops
    if axis is not None and min(shape) > 4:
        program = simplify(primad.trace(primad.grad(lambda x: log_sum_exp(x, axis)))(primad.ArrayType(shape, float)))
        slope = tiled_plan.make_plan(program)
        assert slope.tiles is not None and chunks.on_threads(2, lambda: slope.peak_bytes) <= 8e6 + room
    x = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(plan.run([x]), [log_sum_exp(x, axis)], rtol=1e-12)


@pytest.mark.parametrize(("width", "long"), [(32, False), (32, True), (64, False), (64, True)])
def test_blas_is_as_wide_as_native_code_or_not(width, long, monkeypatch):
    """Its vectors are half as long only beside the longest ones, where it has none of these."""
    monkeypatch.setattr(tile_choice, "WIDTH_BYTES", width)
    monkeypatch.setattr(tile_choice, "blas_has_long_vectors", lambda: long)
    assert tile_choice.blas_is_as_wide() == (width == 32 or long)
