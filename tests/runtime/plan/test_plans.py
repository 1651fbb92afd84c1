"""Every plan of random programs agrees with the reference interpreter, and bit by bit with itself on any threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad import ops
from primad.ir.node import LITERAL
from primad.ir.signature import Signature
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.blocked import blocked_products
from primad.parallel import threads as chunks
from primad.recording import tree
from primad.recording.tracing import program_of, record, type_of
from primad.runtime.executors import native_executor
from primad.runtime.plan import buffers, fusion, memory_limit, native_calls
from primad.runtime.plan.compiled_program import CompiledProgram, compiled_program
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.recompute import recompute
from primad.runtime.tiling import tile_choice, tileable_axes, tiled_plan
from primad.simplify import simplify
from primad.simplify.barriers import without_barriers
from primad.system.machine import CALL_ELEMENTS
from primad.verify.cases.drawn_cases import Seeded
from tests.cases import CASES
from tests.sweeps import thinned

LENGTHS = (1, 1, 2, 3, 4, 5, 8, 9, 17)
BATCHES = (0, 1, 2, 5, 9, 37)
WIDTHS = (8, 9, 17)
LARGEST = 4000


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Seeded], None]]:
    """Return a function that makes the least array worth tiles, kernels, chunks, blocks and buffers."""

    def force(choose: Seeded) -> None:
        tile, smallest = choose.among((2, 3, 4)), choose.among((2, 2, 64))
        for module in (fusion, tiled_plan):
            monkeypatch.setattr(module, "CALL_ELEMENTS", smallest)
        monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: tile)
        monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", choose.among(((1,), (2, 3), (4, 8), ())))
        monkeypatch.setattr(native_calls, "THREAD_WORK", choose.among((64, 1 << 20)))
        least = {
            fusion: {"BUDGET": replace(BUDGET, worth_kernels=0)},
            buffers: {"LOOP_ELEMENTS": 1},
            native_executor: {"WORTHWHILE_BYTES": 1},
            tiled_plan: {"WORTHWHILE_BYTES": 1, "LARGE_BYTES": 0},
            tileable_axes: {"MOST_CHUNKS": 0},
            native_calls: {"WHOLE_VECTORS": 16},
            blocked_products: {"SHARED_FLOPS": 1, "THREAD_WORK": 1}
            | {"ALONE_WORK": 64, "BLOCK_BYTES": 64, "NARROWEST": 2, "DEEPEST": 3, "SMALL": 2},
        }
        for module, values in least.items():
            for name, value in values.items():
                monkeypatch.setattr(module, name, value)

    def forget() -> None:
        blocked_products._form.cache_clear()
        blocked_products._is_worthwhile.cache_clear()

    before = chunks.get_num_threads()
    forget()
    yield force
    forget()
    chunks.set_num_threads(before)


def draw(choose: Seeded) -> tuple[Callable[..., list[Any]], list[Any]]:
    """Draw a function of arrays, some with a batch axis somewhere, and its arguments."""
    dtype = choose.among((np.float64, np.float64, np.float32))
    dims = [choose.among(BATCHES), choose.among(LENGTHS), choose.among(LENGTHS), choose.among(WIDTHS)]
    rng = np.random.default_rng(choose.integer(0, 10**6))

    def array() -> Any:
        shape = [choose.among((*dims, 1)) for _ in range(choose.integer(0, 3))]
        if choose.integer(0, 2):
            shape[-1:] = dims[-1:]  # kernels want a long last axis
        x = rng.normal(size=shape).astype(dtype)
        if x.size and choose.integer(0, 15) == 0:
            x.flat[0] = choose.among((np.nan, np.inf, -np.inf, -0.0))
        return x

    arguments = [array() for _ in range(choose.integer(1, 3))]
    batched = choose.among(((dims[1], dims[0]), (dims[0], dims[1], dims[3])))
    arguments.append(rng.normal(size=batched).astype(dtype))
    if choose.integer(0, 5) == 0:
        arguments.append((3 * array()).astype(choose.among((np.float64, np.float32, np.bool_))))
    captured = [array(), rng.normal(size=(dims[0], dims[1], dims[3])).astype(dtype)]
    turns = [choose.integer(0, 10**6) for _ in range(choose.integer(2, 12))]

    def f(*xs: Any) -> list[Any]:
        values = list(xs)
        for turn in turns:
            pick = Seeded(turn)
            recent = [pick.among(values[-4:] if pick.integer(0, 2) else values) for _ in range(2)]
            x, y = (v if v.dtype.kind == "f" else v.astype(dtype) for v in recent)
            step = pick.among(STEPS)
            try:
                value = step(x, pick.among((y, y, pick.among(captured))), pick)
            except (ValueError, IndexError):  # shapes that the step is not for
                continue
            if value.size <= LARGEST and value.ndim <= 4:
                values.append(value)
        made = values[len(xs) :] or values
        last = Seeded(turns[0])
        return [made[-1], *(last.among(values) for _ in range(last.integer(0, 3)))]

    return f, arguments


def _axis(x: Any, pick: Seeded) -> int:
    return pick.integer(0, x.ndim - 1) if x.ndim else 0


def places(y: Any, count: int, length: int, pick: Seeded) -> Any:
    """Return so many indices of an axis: an array of its own, or computed from values."""
    flat = np.reshape(y, (-1,))
    if pick.integer(0, 1) or not flat.shape[0]:
        return np.random.default_rng(pick.integer(0, 99)).integers(-length, length, count)
    found = np.tile(np.where(flat > 0.3, length - 1, np.where(flat > -0.3, -1, 0)), -(-count // flat.shape[0]))
    return found[:count].astype(np.int64)


def rows(x: Any, y: Any, pick: Seeded) -> Any:
    """Take rows at indices along an axis: fewer than there are, or more."""
    axis = pick.integer(0, x.ndim - 1)
    count, length = pick.among(LENGTHS), x.shape[axis]
    return np.take(x, places(y, count, length, pick) if length else np.zeros(0, int), axis=axis)


def spread(x: Any, y: Any, pick: Seeded) -> Any:
    """Add rows at indices along an axis, all of those of x or more than they are."""
    axis, size = pick.integer(0, x.ndim - 1), pick.among(LENGTHS)
    return ops.scatter_add(x, places(y, x.shape[axis], size, pick), axis=axis, batch=0, size=size)


STEPS: tuple[Callable[[Any, Any, Seeded], Any], ...] = (
    lambda x, y, pick: x + y,
    lambda x, y, pick: x * y,
    lambda x, y, pick: x / (1 + y * y),
    lambda x, y, pick: np.maximum(x, y) - x,
    lambda x, y, pick: np.tanh(x) * np.sin(y),
    lambda x, y, pick: np.exp(np.minimum(x, 1.0)),
    lambda x, y, pick: np.where(x > 0.1, x, y),
    lambda x, y, pick: x > y,
    lambda x, y, pick: np.sum(x * x, axis=_axis(x, pick), keepdims=bool(pick.integer(0, 1))),
    lambda x, y, pick: np.sum(x * y),
    lambda x, y, pick: np.mean(x, axis=(0, x.ndim - 1), keepdims=True) - x,
    lambda x, y, pick: np.std(x, axis=_axis(x, pick), keepdims=True) + x,
    lambda x, y, pick: np.sum(np.tanh(y) * y[:, :1] * x, axis=((0,), (1,), (0, 1))[pick.integer(0, 2)]),
    lambda x, y, pick: np.sum(np.tanh(x) * np.sin(x), axis=pick.among((0, 1))),
    lambda x, y, pick: np.max(x, axis=_axis(x, pick), keepdims=True) - x,
    lambda x, y, pick: np.transpose(x),
    lambda x, y, pick: np.reshape(x, (-1,)),
    lambda x, y, pick: np.flip(x, _axis(x, pick)),
    lambda x, y, pick: x[1 :: pick.integer(1, 2)],
    lambda x, y, pick: np.concatenate([x, np.sin(x)], axis=_axis(x, pick)),
    lambda x, y, pick: np.broadcast_to(x, (pick.among(LENGTHS), *x.shape)),
    lambda x, y, pick: np.expand_dims(x, pick.integer(0, x.ndim)),
    lambda x, y, pick: np.pad(x, [(1, 2)] * x.ndim) * 2.0,
    lambda x, y, pick: np.matmul(x, y),
    lambda x, y, pick: np.matmul(x, np.swapaxes(y, -1, -2)),
    lambda x, y, pick: np.tensordot(x, y, axes=((_axis(x, pick),), (_axis(y, pick),))),
    lambda x, y, pick: np.multiply.outer(x, y),
    lambda x, y, pick: np.cumsum(x, axis=_axis(x, pick)),
    lambda x, y, pick: x.astype(pick.among((np.float32, np.float64))),
    lambda x, y, pick: rows(np.tanh(x) * x, y, pick),
    lambda x, y, pick: rows(x, y, pick),
    lambda x, y, pick: spread(x, y, pick),
    lambda x, y, pick: spread(np.sin(x) * 2.0, y, pick),
    lambda x, y, pick: np.expand_dims(x, 0) - np.expand_dims(x, 1),  # pairs
    lambda x, y, pick: np.exp(-np.abs(x @ np.swapaxes(x, -1, -2))) @ np.tanh(x),
)


def loss(f: Callable[..., list[Any]]) -> Callable[..., Any]:
    """Return the sum of a function's float results, bent, and of its first argument."""
    return lambda *xs: sum((np.sum(np.sin(y)) for y in f(*xs) if y.dtype.kind == "f"), np.sum(xs[0]))


def other_memory(x: Any, choose: Seeded) -> Any:
    """Return the same values with other strides, or read-only, or where no element is aligned."""
    way = choose.integer(0, 4)
    if way == 0 or not x.ndim:
        return x
    if way == 1:
        return np.asfortranarray(x)
    if way == 2:
        twice = np.zeros([2 * n for n in x.shape], x.dtype)[(slice(None, None, -2),) * x.ndim]
    else:
        twice = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    twice[...] = x
    twice.flags.writeable = way != 3
    return twice


def plans_of(program: Any, signature: Signature) -> Iterator[Any]:
    """Yield every plan of a recorded program, and whether scalars are among its inputs."""
    lowered = simplify(program.hoisted())
    yield tiled_plan.make_plan(lowered), True
    yield Plan(without_barriers(lowered), CALL_ELEMENTS), True
    whole = compiled_program(simplify(program.hoisted(scalars=False)), signature)
    if whole is not None:
        yield whole, False


def bits(values: list[Any]) -> list[bytes]:
    return [np.asarray(value).tobytes() for value in values]


def assert_agree(found: list[Any], wanted: list[Any], tolerance: float, what: str) -> None:
    for got, want in zip(found, map(np.asarray, wanted), strict=True):
        assert np.shape(got) == want.shape and got.dtype == want.dtype, what
        scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=1.0))
        if scale < 1e30:
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale, err_msg=what)


@thinned(5, start=range(0, 100, 10))
def test_plans_of_random_programs(forced: Callable[[Seeded], None], start: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(start, start + 10):
        choose = Seeded(seed)
        f, arguments = draw(choose)
        forced(choose)
        functions = [f]
        if arguments[0].dtype.kind == "f":
            functions += [primad.grad(loss(f)), primad.grad(primad.checkpoint(loss(f)))][choose.integer(0, 1) :]
        for function in functions:
            seen.update(check(function, arguments, choose, f"seed {seed}"))
    assert seen["NativeTiles"] + seen["InterpretedTiles"] and seen["Plan"]


def check(function: Callable[..., Any], arguments: list[Any], choose: Seeded, what: str) -> Iterator[str]:
    """Run every plan of a function and yield their kinds."""
    leaves, in_tree = tree.flatten(tuple(arguments))
    types = [type_of(leaf) for leaf in leaves]
    program = record(function, types, in_tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    constants = [node.params[0][1].array for node in program.sources if node.op is not LITERAL]
    signature = Signature(in_tree, tuple((type, False) for type in types), len(constants), program.out_tree)
    sources = program.source_values
    lowered = simplify(program.hoisted())
    wanted = Plan(lowered).run([*arrays, *sources])
    single = any(node.type.dtype == np.float32 for node in lowered.nodes)
    for plan, scalars in plans_of(program, signature):
        kind = type(plan.tiles or plan).__name__
        rest = sources if scalars else constants
        chunks.set_num_threads(1)
        first = plan.run([*arrays, *rest])
        kept = bits(first)
        assert_agree(first, wanted, 2e-3 if single else 1e-9, f"{what}: {kind}")
        again = plan.run([*[other_memory(x, choose) for x in arrays], *rest])
        assert_agree(again, wanted, 2e-3 if single else 1e-9, f"{what}: {kind} of other memory")
        assert bits(first) == kept, f"{what}: {kind} wrote into an earlier result"
        for i, x in enumerate(first):
            others = [*arrays, *rest, *again, *first[:i]]
            assert not any(np.may_share_memory(x, y) for y in others if np.ndim(x)), f"{what}: {kind} shares memory"
        for threads in (2, 3):
            chunks.set_num_threads(threads)
            assert bits(plan.run([*arrays, *rest])) == kept, f"{what}: {kind} on {threads} threads"
        if isinstance(plan, CompiledProgram) and (entry := plan.entry(rest)) is not None:
            called = entry(*arguments)
            assert called is NotImplemented or bits(tree.leaves(called)) == kept, f"{what}: called from Python"
        yield kind


# -- guards ------------------------------------------------------------------------------------------------------------


def test_a_value_and_all_that_only_it_used_move_together() -> None:
    """Whatever the order of operands: each is repeated once, and taken out of its group once."""

    def f(x: Any, y: Any, turned: bool) -> Any:
        a = x * y
        b = a + x
        c = a * b if turned else b * a
        d = b - c if turned else c - b
        return d, d + x

    for turned in (False, True):
        program = primad.lower(primad.trace(lambda x, y, turned=turned: f(x, y, turned))(np.ones(9), np.ones(9)))
        *first, last = [node for node in program.nodes if node.inputs]
        steps = [*first, last]
        assert recompute([first, [last]], steps, [last]) == [steps]
        assert recompute([first, [last]], steps, [first[-1], last]) == [first, [last]]


def test_a_program_without_a_tree_says_how_many_arguments_it_takes() -> None:
    whole = primad.trace(lambda x, y: x + y)(1.0, 2.0)
    program = primad.Program(whole.trace, whole.inputs, whole.outputs)
    assert program.in_tree is None and program(1.0, 2.0) == 3.0
    with pytest.raises(primad.ShapeError, match="takes 2 arguments"):
        program(1.0)


def test_limits_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine does not say how much it has there is none; what is no number of bytes is refused."""
    plan = Plan(primad.lower(primad.trace(lambda x: np.cumsum(np.sin(x)))(np.ones(9))))
    monkeypatch.setattr(memory_limit, "physical_memory", lambda: plan.peak_bytes - 1)
    with pytest.raises(primad.PrimadError, match="would need"):
        memory_limit.check_memory(plan)
    monkeypatch.setattr(memory_limit, "physical_memory", lambda: None)
    memory_limit.check_memory(plan)
    for wrong in (1.5, "9", -1):
        with pytest.raises(primad.ShapeError, match="positive number of bytes"):
            primad.jit(np.sin, memory=wrong)(1.0)


def test_results_of_half_precision_are_so() -> None:
    """Of all elementwise ops, of which SciPy's have no loops of it and give wider numbers, and of their derivatives."""
    x = np.full(3, 0.5, np.float16)
    for name, case in CASES.items():
        drawn = case.draw(Seeded(name))
        if not case.op.axes.pointwise or not all(o.type.is_float for o in drawn.operands):
            continue
        values = [x] * len(drawn.operands)
        try:
            program = program_of([type_of(x)] * len(values), lambda *xs, op=case.op, of=drawn: [op(*xs, **of.params)])
            results = Plan(program).run(values)
        except (primad.PrimadError, ImportError):  # of a function with several results, of a program, or of newer SciPy
            continue
        assert [found.dtype for found in results] == [type.dtype for type in program.out_types], name
    assert primad.grad(lambda x: np.sum(np.logaddexp(x, x + 1)))(x).dtype == np.float16
    assert primad.jit(primad.nn.gelu)(x).dtype == np.float16
