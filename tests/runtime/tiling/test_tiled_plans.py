"""Tiled plans agree with the reference interpreter, and with themselves for any number of threads."""

import gc
import inspect
import itertools
import os
import signal
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from msgspec.structs import replace
from threadpoolctl import threadpool_limits

import primad
from primad.ir.array_types import ArrayType
from primad.ir.node import Trace
from primad.ir.program import Program
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.blocked import blocked_reductions
from primad.parallel import threads as chunks
from primad.runtime.executors import native_executor
from primad.runtime.plan import blocking, workspaces
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import tile_choice, tiled_plan
from primad.runtime.tiling.tileable_axes import tileable_dimensions
from primad.simplify import simplify
from primad.system.deferred import loaded
from primad.system.process import collector_paused
from tests.sweeps import thinned


@pytest.fixture(params=["native", "interpreted"])
def small_tiles(monkeypatch, request):
    """Cut even small programs, into tiles that are native functions where that can be, or that never are."""
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", (4,) if request.param == "native" else ())
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "LARGE_BYTES", 0)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)


def network(parameters, x):
    (w1, b1), (w2, b2) = parameters
    return np.tanh(x @ w1 + b1) @ w2 + b2


def parameters(dtype=np.float64, width=5):
    rng = np.random.default_rng(0)
    shapes = [((2, width), (width,)), ((width, 1), (1,))]
    return [(rng.normal(size=a).astype(dtype), rng.normal(size=b).astype(dtype)) for a, b in shapes]


def residual_loss(p, x):
    def u(y):
        return network(p, y)[:, 0]

    ones = np.ones(x.shape, x.dtype)
    _, first = primad.jvp(u, (x,), (ones,))
    _, second = primad.jvp(lambda y: primad.jvp(u, (y,), (ones,))[1], (x,), (ones,))
    return np.mean((first + u(x) * second) ** 2)


def per_point(p, x):
    return primad.vmap(lambda y: primad.grad(lambda z: network(p, z)[0])(y))(x)


def with_statistics(p, x):
    u = network(p, x)[:, 0]
    return np.std(u) + np.log(np.sum(np.exp(u)))


def normalised(p, x):
    u = network(p, x)
    return (u - np.mean(u, axis=0)) / np.std(u, axis=0)


def transposed_points(p, x):
    return np.sum(np.sin(np.einsum("ij,jk->ki", x, p[0][0])) ** 2, axis=1)


def several_outputs(p, x):
    u = network(p, x)
    return {
        "sum": u.sum(),
        "points": u[:, 0] ** 2,
        "parameters": p[0][0] * 2.0,
        "input": x,
        "norm": np.sum(p[1][0] ** 2),
    }


def with_constants(p, x):
    weights = np.linspace(0.0, 1.0, x.shape[0])
    return np.sum(weights * network(p, x)[:, 0]) * np.sum(weights)


PROGRAMS = [
    residual_loss,
    primad.grad(residual_loss),
    per_point,
    with_statistics,
    primad.grad(with_statistics),
    normalised,
    transposed_points,
    several_outputs,
    with_constants,
    primad.grad(with_constants),
]


def prepared(function, dtype, points):
    x = np.random.default_rng(1).normal(size=(points, 2)).astype(dtype)
    program = primad.trace(function)(parameters(dtype), x)
    arguments = [np.asarray(leaf) for pair in parameters(dtype) for leaf in pair] + [x]
    hoisted = program.hoisted()
    values = [node.params[0][1].array if node.op.name == "captured" else None for node in program.sources]
    for i, node in enumerate(program.sources):
        if values[i] is None:
            values[i] = np.broadcast_to(np.asarray(node.params[0][1], node.type.dtype), node.type.shape)
    return simplify(hoisted), [*arguments, *values]


@pytest.mark.one_in(6)
@thinned(2, function=PROGRAMS, dtype=[np.float64, np.float32], points=[37, 8, 9, 1])
def test_tiles_agree_with_the_reference(small_tiles, function, dtype, points):
    program, arguments = prepared(function, dtype, points)
    expected = Plan(program).run(arguments)
    plan = tiled_plan.make_plan(program)
    if points > 8:
        assert not isinstance(plan, Plan), "this program has a dimension to cut"
    found = plan.run(arguments)
    tolerance = 1e-12 if dtype is np.float64 else 3e-5
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b) and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(8, 1_000_000), (1_000_000, 8)])
def test_a_few_long_rows_are_cut_along_the_rows(shape, axis):
    program = simplify(primad.trace(lambda x: np.sum(np.tanh(x) * x, axis=axis))(primad.ArrayType(shape, np.float64)))
    plan = tiled_plan.make_plan(program)
    assert plan.tiles.partition.dimension.length == 1_000_000
    assert plan.tiles.working_bytes < 4e6


def test_no_points_at_all(small_tiles):
    assert primad.jit(lambda x: np.sum(np.sin(x), axis=0))(np.zeros((0, 3))).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("function", [primad.grad(residual_loss), primad.grad(with_statistics)])
def test_results_do_not_depend_on_threads(small_tiles, function):
    program, arguments = prepared(function, np.float64, 101)
    plan = tiled_plan.make_plan(program)
    before = chunks.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            chunks.set_num_threads(count)
            results.append([np.asarray(value).tobytes() for value in plan.run(arguments)])
    finally:
        chunks.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_results_do_not_depend_on_the_threads_of_blas():
    rng = np.random.default_rng(0)
    compiled = primad.jit(lambda a, v: np.sort(a.T @ v))
    for shape in ((700, 700), (100_000, 2), (450_000, 1)):
        a, v = rng.normal(size=shape), rng.normal(size=shape[0])
        results = []
        for count in (1, 2, 3):
            with threadpool_limits(count):
                results.append(compiled(a, v).tobytes())
        assert results[0] == results[1] == results[2]


def test_an_axis_that_ops_mix_is_not_cut():
    program = simplify(primad.trace(lambda x: np.sum(np.sort(np.sin(x), axis=0)))(np.zeros((50, 3))))
    cut = {dimension.axis.get(program.inputs[0]) for dimension in tileable_dimensions(program)}
    assert 0 not in cut and 1 in cut


def test_an_error_in_a_tile_reaches_the_caller(small_tiles):
    def fail(x):
        raise ArithmeticError("boom") if x.shape == (4,) else ValueError("last tile")

    broken = primad.elementwise("broken", fail, partials=[lambda out, x: out])

    def loss(x):
        doubled = 2.0 * x
        return np.sum(broken(doubled) ** 2)

    line = loss.__code__.co_firstlineno + 2
    for function in (loss, primad.grad(loss)):
        with pytest.raises(ArithmeticError, match="boom") as caught:
            primad.jit(function)(np.zeros(40))
        assert caught.value.__notes__ == [f"  while computing broken: float64[4] in {__file__}:{line}"]


@pytest.mark.one_in(2)
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signal.pthread_kill")
def test_nothing_is_written_after_an_interrupt(small_tiles):
    started, finished = [], []

    def slow(x):
        x = np.array(x)  # which cannot be recorded: it is called, and gets no native code
        if not started:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        started.append(x.shape)
        time.sleep(0.05)
        finished.append(x.shape)
        return x * 1.0

    op = primad.elementwise("slow", slow, partials=[lambda out, x: out])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            primad.jit(lambda x: np.sum(op(x)), threads=3)(np.ones(400))
    finally:
        signal.signal(signal.SIGINT, before)
    assert 0 < len(started) == len(finished) < 100


def test_threads_are_a_positive_number():
    with pytest.raises(primad.ShapeError, match="positive"):
        chunks.set_num_threads(0)
    with pytest.raises(primad.ShapeError, match="positive"):
        primad.jit(np.sin, threads=0)


def test_a_call_inside_a_call_has_its_own_number_of_threads():
    """Whatever happens in there, the outer one has its number again afterwards."""

    def fails():
        raise ValueError

    def outer():
        inner = chunks.on_threads(1, chunks.thread_count)
        again = chunks.thread_count()
        with pytest.raises(ValueError):
            chunks.on_threads(2, fails)
        return inner, again, chunks.thread_count()

    before = chunks.thread_count()
    assert chunks.on_threads(before + 3, outer) == (1, before + 3, before + 3) and chunks.thread_count() == before


def test_a_call_may_have_its_own_number_of_threads(small_tiles):
    running, most = set(), []

    def watch(x):
        x = np.array(x)  # which cannot be recorded: it is called, and gets no native code
        running.add(threading.get_ident())
        most.append(len(running))
        return x * 1.0

    watched = primad.elementwise("watched", watch, partials=[lambda out, x: out])
    x = np.linspace(0.0, 1.0, 101)
    results = {threads: primad.jit(lambda x: np.sum(watched(x)), threads=threads)(x) for threads in (1, 2, 3)}
    assert len({value.tobytes() for value in results.values()}) == 1
    running.clear()
    primad.jit(lambda x: np.sum(watched(x)), threads=1)(x)
    assert running == {threading.get_ident()}


@pytest.mark.parametrize("both", [np.add, np.maximum, np.minimum])
def test_large_reductions_in_pieces_and_side_by_side_are_those_of_numpy(monkeypatch, both):
    monkeypatch.setattr(blocked_reductions, "STREAMED_BYTES", 64)
    monkeypatch.setattr(blocked_reductions, "LOOP_ELEMENTS", 16)
    monkeypatch.setattr(blocked_reductions, "LEFT_SHARE", 2)
    rng = np.random.default_rng(0)
    for shape, dtype in itertools.product(
        [(1000,), (7, 3), (50, 4), (3, 50, 2), (64, 1), (430, 3), (0, 4)], ["f8", "f4", "i4", "u1", "?"]
    ):
        x = (3 * rng.normal(size=shape)).astype(dtype)
        x[1:2] = np.nan if x.dtype.kind == "f" and rng.integers(2) else 1
        for y, count in itertools.product((x, x[::-1], np.asfortranarray(x)), range(len(shape) + 1)):
            for axes in itertools.combinations(range(len(shape)), count):
                if (both is np.add and dtype == "?") or 0 in [shape[axis] for axis in axes]:
                    continue
                found, wanted = (
                    blocked_reductions.reduction(both, y, axes=axes),
                    both.reduce(y, axis=axes, dtype=y.dtype),
                )
                assert type(found) is type(wanted) and found.dtype == wanted.dtype
                rounding = np.sum(np.abs(y, where=y == y, out=np.zeros_like(y)), dtype=float) if both is np.add else 0
                epsilon = np.finfo(dtype).eps if x.dtype.kind == "f" else 0
                np.testing.assert_allclose(found, wanted, rtol=0, atol=8 * epsilon * rounding)


def test_a_large_reduction_is_shared_by_threads_with_the_same_bits(monkeypatch):
    monkeypatch.setattr(blocked_reductions, "STREAMED_BYTES", 1024)
    x = np.random.default_rng(0).normal(size=(4000, 3))
    used = []
    monkeypatch.setattr(blocking, "run_chunks", lambda *rest: used.append(rest[-1]) or chunks.run_chunks(*rest))
    plan = Plan(simplify(primad.trace(lambda x: (x.max(), x.sum(axis=0)))(x)))
    found = [chunks.on_threads(n, lambda: plan.run([x])) for n in (1, 2, 3)]
    assert used and len({(most.tobytes(), total.tobytes()) for most, total in found}) == 1


def test_what_would_not_fit_into_memory_is_refused_with_its_line():
    def distances(x):
        difference = x[:, None, :] - x[None, :, :]
        return np.sort(np.ravel(difference))

    line = distances.__code__.co_firstlineno + 1
    with pytest.raises(primad.MemoryLimitError, match=r"sub: float64\[100,100,30\], 2.4 MB") as caught:
        primad.jit(distances, memory=1_000_000)(np.ones((100, 30)))
    assert f"{__file__}:{line}" in str(caught.value) and isinstance(caught.value, MemoryError)
    with pytest.raises(primad.MemoryLimitError, match="GB"):
        primad.jit(distances)(np.ones((200_000, 30)))
    with pytest.raises(primad.ShapeError, match="positive"):
        primad.jit(distances, memory=0)


def test_the_user_may_say_which_axis_is_cut(small_tiles):
    x, y = np.random.default_rng(4).normal(size=(2, 24, 40, 3))

    def f(x, y):
        return np.sum(np.tanh(x @ np.ones((3, 2))) * y[..., :2])

    program = simplify(primad.trace(f)(x, y))
    cut = {tiled_plan.make_plan(program, along=(0, axis)).tiles.partition.dimension.length for axis in (0, 1)}
    assert cut == {24, 40}
    results = [primad.jit(f, along=along)(x, y) for along in ((0, 0), (1, 1), None)]
    np.testing.assert_allclose(results, f(x, y), rtol=1e-12)
    with pytest.raises(primad.ShapeError, match=r"axis 0 of the argument of type float64.400,3. cannot be cut"):
        primad.jit(lambda x: np.sum(np.sort(x @ np.ones((3, 40)), axis=0)), along=(0, 0))(np.ones((400, 3)))
    with pytest.raises(primad.ShapeError, match="does not fit an array with 3 axes"):
        primad.jit(f, along=(0, 3))(x, y)
    with pytest.raises(primad.ShapeError, match="2 arrays"):
        primad.jit(lambda p: p[0] + p[1], along=(0, 0))((x, y))


@pytest.mark.exhaustive
def test_a_checkpoint_computes_inner_values_again_instead_of_keeping_them():
    rng = np.random.default_rng(2)
    weights = [rng.normal(size=(60, 60)) / 8 for _ in range(24)]
    x = rng.normal(size=(300, 60))

    def block(x, weights):
        for w in weights:
            x = np.tanh(x @ w)
        return np.sort(x, axis=0)

    def loss(block):
        def f(weights, x):
            for i in range(0, 24, 4):
                x = block(x, weights[i : i + 4])
            return np.sum(x**2)

        return f

    kept, again = loss(block), loss(primad.checkpoint(block))
    plans = [tiled_plan.make_plan(simplify(primad.trace(primad.value_and_grad(f))(weights, x))) for f in (kept, again)]
    assert plans[1].peak_bytes < plans[0].peak_bytes / 2
    assert plans[0].flops < plans[1].flops < 1.5 * plans[0].flops
    for f in (primad.grad, lambda f: primad.grad(lambda w, x: np.sum(primad.grad(f)(w, x)[0] ** 2))):
        for a, b in zip(primad.jit(f(kept))(weights, x), primad.jit(f(again))(weights, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_checkpoint_costs_nothing_in_tiles():
    f = primad.checkpoint(lambda w, x: np.tanh(x @ w))
    arguments = np.ones((3, 64)), np.ones((20_000, 3))

    def plan(g):
        return tiled_plan.make_plan(simplify(primad.trace(primad.grad(lambda w, x: np.mean(g(w, x) ** 2)))(*arguments)))

    first, second = plan(f), plan(lambda w, x: np.tanh(x @ w))
    assert first.tiles is not None and first.flops == second.flops


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [residual_loss, primad.grad(residual_loss), primad.grad(with_statistics)])
@pytest.mark.parametrize("points", [2_000, 50_000])
def test_a_run_takes_no_more_memory_than_planned(function, points):
    rng = np.random.default_rng(1)
    arguments = (parameters(width=64), rng.normal(size=(points, 2)))
    leaves = primad.recording.tree.leaves(arguments)
    program = simplify(primad.trace(function)(*arguments))
    plan = tiled_plan.make_plan(primad.ir.program.ClosedProgram(program).hoisted)
    values = [*leaves, *program.source_values]
    tracemalloc.start()
    try:
        plan.run(values)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 1.25 * plan.peak_bytes + 300_000  # copies that kernels and BLAS make are not planned
    assert plan.peak_bytes <= 4 * peak + 300_000


def test_a_program_inside_a_tile_does_not_wait_for_the_threads(small_tiles):
    inner = primad.jit(lambda x: np.sum(np.sin(x)))

    def calls_primad(x):
        return x * inner(np.ones(40))

    op = primad.elementwise("calls_primad", calls_primad, partials=[lambda out, x: out / x])
    found = primad.jit(lambda x: np.sum(op(x)))(np.ones(40))
    assert found == pytest.approx(1600 * np.sin(1.0))


def test_threads_may_change_while_programs_run(small_tiles):
    before = chunks.get_num_threads()
    program, arguments = prepared(primad.grad(residual_loss), np.float64, 101)
    plan = tiled_plan.make_plan(program)
    expected = [np.asarray(value).tobytes() for value in plan.run(arguments)]
    stop = threading.Event()

    def change():
        count = 0
        while not stop.is_set():
            count += 1
            chunks.set_num_threads(1 + count % 3)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(30):
            assert [np.asarray(value).tobytes() for value in plan.run(arguments)] == expected
    finally:
        stop.set()
        changer.join()
        chunks.set_num_threads(before)


def operand_types(op, shape):
    """Return types of operands that an op without params takes; None where it has params."""
    counts = (len(op.derivative.partials),) if op.derivative.partials else (1, 2, 3)
    for dtypes in itertools.chain(*[itertools.product((float, bool), repeat=count) for count in counts]):
        types = [ArrayType(shape, np.dtype(dtype)) for dtype in dtypes]
        try:
            inspect.signature(op.numpy).bind(*types)
            op.infer(*types)
        except (primad.PrimadError, TypeError):
            continue
        return types
    return None


DEFINED_IN_STEPS = [
    op
    for op in primad.ops.ALL
    if op.axes.pointwise and not op.memory.views and not isinstance(loaded(op.numpy), np.ufunc)
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("shape", [(300_000,), (2, 150_000)])
@pytest.mark.parametrize("op", DEFINED_IN_STEPS, ids=lambda op: op.name)
def test_no_pointwise_definition_takes_more_memory_than_planned(op, shape):
    types = operand_types(op, shape)
    if types is None:
        return
    rng = np.random.default_rng(0)
    arguments = [
        (rng.uniform(0.1, 1.9, shape)).round(0 if type.dtype.kind == "b" else 9).astype(type.dtype) for type in types
    ]
    trace = Trace()
    inputs = [trace.input(type) for type in types]
    plan = Plan(Program(trace, inputs, [trace.place(op, tuple(inputs), ())], names=["x", "y", "z"][: len(inputs)]))
    with np.errstate(all="ignore"):
        whole = op.numpy(*arguments)
    plan.run(arguments)  # what comes with a first call is no array
    tracemalloc.start()
    try:
        (result,) = plan.run(arguments)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(result, whole)
    assert peak <= plan.peak_bytes + 8 * blocking.BLOCK_BYTES  # less than one array more


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(small_tiles):
    f = primad.jit(lambda x: np.sum(np.sin(x)))
    expected = f(np.ones(40))
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if f(np.ones(40)) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_may_come_anywhere(monkeypatch, threads):
    class Impatient:
        def __init__(self):
            self.lock = threading.Lock()

        def __enter__(self):
            assert self.lock.acquire(timeout=10)

        def __exit__(self, *error):
            self.lock.release()

    monkeypatch.setattr(chunks, "Lock", Impatient)
    before = chunks.get_num_threads()
    chunks.set_num_threads(threads)
    lines = itertools.count()

    def interrupts_at(line):
        def trace(frame, event, _):
            code = frame.f_code
            if code.co_filename != chunks.__file__ or code.co_name not in ("run_on_threads", "run"):
                return None
            if event == "line" and next(lines) == line:
                raise KeyboardInterrupt
            return trace

        return trace

    try:
        for line in range(1000):
            lines = itertools.count()
            outer = sys.gettrace()
            sys.settrace(interrupts_at(line))
            try:
                chunks.run_on_threads(lambda: None, 2, lambda: None, joins=True)
            except KeyboardInterrupt:
                pass
            else:
                break
            finally:
                sys.settrace(outer)
            assert not getattr(chunks._THREAD, "chunk", False)
        assert 10 < line < 1000
    finally:
        chunks.set_num_threads(before)


def test_an_interrupt_between_spare_frames_leaves_them_usable():
    class Interrupted(list):
        def pop(self):
            super().pop()
            raise KeyboardInterrupt

    spare = workspaces.SpareWorkspaces(1000)
    own = Interrupted()
    frame = lambda: workspaces.Workspace([ArrayType((300,), np.dtype(np.uint8))], [])  # noqa: E731
    spare.give(frame(), own)
    with pytest.raises(KeyboardInterrupt):
        spare.take(own)
    others = []
    for _ in range(5):
        spare.give(frame(), others)
    assert len(others) == 3
    assert all(spare.take(others) is not None for _ in range(3)) and spare.take(others) is None


@pytest.mark.parametrize("enabled", [True, False])
def test_planning_leaves_the_collector_as_it_was(enabled):
    def fail(x):
        states.append(gc.isenabled())
        raise ArithmeticError("boom")

    states = []
    rule = primad.custom_jvp(lambda x: x * 2.0)
    rule.defjvp(lambda primals, tangents: fail(primals))
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        primad.jit(lambda x: states.append(gc.isenabled()) or np.sum(np.sin(x)))(np.ones(7))
        assert gc.isenabled() == enabled and states == [False]  # recording, too, makes what stays
        with pytest.raises(ArithmeticError):
            primad.jit(primad.grad(lambda x: rule(x)))(1.0)
        assert gc.isenabled() == enabled
        assert not collector_paused(lambda: collector_paused(gc.isenabled) or gc.isenabled())
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert states


APART = {
    "a literal": lambda x, c: (x * 2.0)[:, None] - (x + 2.0),
    "a captured array": lambda x, c: (x * c)[:, None] - (x + c),
    "an argument": lambda x, c: (x * x[0])[:, None] - (x + np.sin(x)),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("hoisted", [True, False])
@pytest.mark.parametrize("name", APART)
def test_what_both_indices_of_an_axis_read(name, hoisted, small_tiles, monkeypatch):
    """Literals and arrays stand in the planned program where both indices need them."""
    monkeypatch.setattr(tiled_plan, "is_pointwise", lambda nodes: False)
    x, c = np.random.default_rng(0).normal(size=(2, 40))

    def f(x):
        return np.sum(APART[name](x, c) ** 2 * np.exp(-((x[:, None] - x) ** 2)))

    recorded = primad.trace(f)(x)
    program = simplify(recorded.hoisted(scalars=False) if hoisted else recorded)
    arrays = [node.params[0][1].array for node in recorded.sources if node.op.name == "captured"]
    plan = tiled_plan.make_plan(program)
    assert tiled_plan.APART in plan.summary
    assert plan.run([x, *(arrays if hoisted else [])])[0] == pytest.approx(f(x))
    shown = [line for line in plan.details if not line.startswith("  ")]
    lines = plan.planned.text().splitlines()[1:]
    assert shown == [line.strip() for line in lines if " = " in line]
    assert any("captured" in line for line in shown) == (name == "a captured array" and not hoisted)


def test_steps_beside_tiles_that_take_donated_memory_are_no_parts(monkeypatch):
    """Parts write where they like; a plan of steps writes into what is donated."""
    monkeypatch.setattr(tiled_plan, "BUDGET", replace(BUDGET, worth_a_region=3))

    def f(x):
        return np.cumsum(np.sin(x) * x) + np.cos(x)

    program = simplify(primad.trace(f)(np.ones(40)).hoisted())
    plain, donated = (tiled_plan._outside(program, 1, donated) for donated in ((), ((0, 0),)))
    assert plain is not None and donated.donated == ((0, 0),)


def test_an_axis_that_is_named_is_cut_whatever_rows_loops_keep(small_tiles):
    """Where many rows would be kept the plan is one of steps, unless an axis is asked for."""

    def f(x, z):
        rows = primad.scan(lambda c, row: (np.tanh(c * 0.9 + row), c), x[0], x)[1]
        return np.sum(rows * x) + np.sum(np.tanh(z) * z)

    program = simplify(primad.trace(primad.grad(f, argnums=(0, 1)))(np.ones((30, 8)), np.ones(40)).hoisted())
    plans = [tiled_plan.make_plan(program, along=along, memory=100) for along in (None, (1, 0))]
    assert [plan.memory if isinstance(plan, Plan) else None for plan in plans] == [100, None]


def test_what_mixes_a_long_axis_is_planned_once_where_nothing_is_tiled(monkeypatch):
    """Stages around mixers are dropped where none has tiles: no steps are planned or compiled for them."""
    made = []
    monkeypatch.setattr(tiled_plan, "Plan", lambda program, *rest: made.append(program) or Plan(program, *rest))

    def loss(x, y, target):
        return np.sum((np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), x.shape[-1]) - target) ** 2)

    jitted = primad.jit(primad.value_and_grad(loss, (0, 1)))
    value, _ = jitted(*np.random.default_rng(0).normal(size=(3, 2**16)))
    assert np.isfinite(value) and len(made) == 1
