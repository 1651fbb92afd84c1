"""Every limit of a size, from both sides: what is just as large is within it, or is not, as the table says."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad import ops
from primad.functional.control import inlining
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program
from primad.ir.signature import Signature
from primad.native.complex_numbers import transforms
from primad.native.cpython import entry_point
from primad.native.emit.op_table import length_of, reason, runs_apart, short_length
from primad.native.lapack.unrolled_matrices import few_minors, is_small
from primad.native.llvm import compiler as native
from primad.native.llvm.compile_limits import BUDGET
from primad.native.loops.batched_while import AT_ONCE, member_of
from primad.native.loops.body_programs import form_of, most_work_of, step_program
from primad.native.module import outlined_text
from primad.native.module.program_text import ProgramWriter, TooLongError
from primad.native.schedule import register_blocks, stencil_split
from primad.native.schedule.layout import layout_of
from primad.recording import tree
from primad.runtime import cost_model
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors import native_executor
from primad.runtime.executors.executor import PLAIN
from primad.runtime.loops.rematerialised_rows import pieces
from primad.runtime.loops.row_streams import KeptStreams, streams_of
from primad.runtime.plan import blocking, compiled_program, memory_limit, native_regions
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_regions import Partition
from primad.runtime.plan.workspaces import SpareWorkspaces, Workspace
from primad.runtime.tiling import block_sums, complex_plans, tile_choice, tiled_plan
from primad.runtime.tiling.tile_program import TilePartition, partition_of
from primad.runtime.tiling.tileable_axes import tileable_dimensions
from primad.simplify import simplify
from primad.system.machine import FIRST_CACHE

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")

SPEEDS = Machine(1e10, 1e10, 1e10, 1e-10, 1e-9, 1e-6, 5e-11, 1e-9)


class Limit(NamedTuple):
    """A limit that is given to what asks for it, or stands in a module, or in the budget that a module reads.

    Attributes:
        size: what is compared with it.
        admits: `limit -> whether so much is admitted`.
        equal: whether just as much is.
        where: the module, and the name there, `BUDGET.name` or `CORE.name`; '' where `admits` takes the limit itself.
        also: further ones, and what they are meanwhile.
    """

    size: Callable[[], float]
    admits: Callable[..., bool]
    equal: bool
    where: str = ""
    also: Mapping[str, float] = MappingProxyType({})


def lowered(function: Callable[..., Any], *arguments: Any) -> Program:
    return simplify(primad.trace(function)(*arguments).hoisted())


def node_of(program: Program, op: str) -> Node:
    return next(node for node in program.nodes if not isinstance(node.op, Leaf) and node.op.name == op)


def with_airy(x: Any) -> Any:
    y = np.tanh(x) * x + np.cos(x)
    y = ops.airy(y * y + 1.5, n=1) * y
    return np.sum(np.tanh(y @ square(6)) * np.exp(-y))


@primad.jit
def sines(x: Any) -> Any:
    for _ in range(30):
        x = np.sin(x) * x
    return x


def steps_of(program: Program) -> list[Node]:
    return [node for node in program.nodes if not isinstance(node.op, Leaf)]


def square(n: int, *stack: int) -> np.ndarray[Any, Any]:
    return np.broadcast_to(np.eye(n) * 3.0 + np.arange(n), (*stack, n, n))


def tree_of(values: Any) -> Any:
    return tree.flatten(values)[1]


def entry_of(arguments: Any, results: Any, work: int = 0) -> Any:
    one = ArrayType((2,), np.float64)
    count, outputs = (len(tree.flatten(values)[0]) for values in (arguments, results))
    signature = Signature(tree_of(tuple(arguments)), ((one, False),) * count, 0, tree_of(results))
    return entry_point.write_cpython_entry(signature, [one] * outputs, 0, work)


def overlapping() -> Program:
    back = {"axes": (0,), "step": (1,), "dilation": (1,), "low": (0,)}
    return lowered(lambda y: ops.overlap_add(y, length=(9,), **back), np.ones((4, 6)))


def scanned(x: Any) -> Any:
    return primad.scan(lambda c, row: (np.tanh(c) @ x + row, c), x[0], x)


def repeated(x: Any) -> Any:
    return primad.vmap(lambda x: primad.while_loop(lambda c: c * c > 2.0, lambda c: c * 0.7 + 0.01, x, 50))(x)


SCAN = lowered(scanned, square(3))
LOOP = node_of(SCAN, "scan")
ENDING = node_of(
    lowered(lambda x: primad.while_loop(lambda x: x[0] < 9.0, lambda x: x + x, x), np.ones(5)), "while_loop"
)
STACK = node_of(lowered(repeated, np.arange(9.0)), "while_loop")
MEMBER = member_of(form_of(STACK).of, (True,) * form_of(STACK).carry)
FACTORS = lowered(np.linalg.cholesky, square(2, 3))
CHOLESKY = node_of(FACTORS, "cholesky")
PRODUCT = lowered(lambda x: np.tanh(x) @ x, square(5))
INVERSE = node_of(lowered(np.linalg.inv, square(8)), "solve_triangular")
SMOOTH = lowered(lambda x: np.roll(x, 1) + np.roll(x, -1) * x, np.ones(300))
LINE = lowered(lambda x: np.sin(x) * x, np.ones(50))
IN_REGISTERS = lowered(lambda x: np.sin(x) * x, np.ones(20))
CHAIN = lowered(lambda x: np.exp(np.sin(x)), np.ones(50))


BACK = lowered(primad.grad(lambda x: np.sum(scanned(x)[0])), square(3))
LARGER = lowered(
    lambda x, z: (primad.grad(lambda x: np.sum(scanned(x)[0]))(x), np.sort(np.cumsum(z))), square(3), np.ones(99)
)
MIXED = lowered(with_airy, np.ones((40, 6)))
VIEWED = lowered(lambda x, w: np.sum(np.tanh(x) * w[2:5]), np.ones((40, 3)), np.ones(10))
SUMMED = lowered(lambda x: np.sum(np.tanh(x) * x), np.ones(40))
with pytest.MonkeyPatch.context() as patched:
    patched.setattr(inlining, "RECORDED_IN_PLACE", 10)
    CALLING = lowered(lambda x: np.sum(sines(sines(sines(x)))), np.ones(40))
CALL = node_of(CALLING, "call")
NORMED = lowered(lambda x: np.tanh(x) / np.sum(np.tanh(x)), np.ones(40))
MIXING = lowered(lambda x: np.sum(np.tanh(np.cumsum(np.tanh(x), axis=0))), np.ones((40, 3)))
SQUARED = lowered(lambda x: np.tanh(x).T @ np.tanh(x), np.ones((64, 24)))
WAVES = lowered(lambda z: np.fft.fft(np.exp(z) * z, axis=1) * np.exp(z), np.ones((32, 7), complex))
PRICED = SimpleNamespace(cost=lambda: SimpleNamespace(flops=20))


def repeated_steps(x: Any) -> Any:
    for i in range(4):
        for _ in range(25):
            x = np.sin(x) * x
        x = np.sum(x) + np.cumsum(x) * (i + 0.5)
    return x


REPEATED = lowered(repeated_steps, np.ones(50))
TILED_PLAN, TILE_PROGRAM = "runtime.tiling.tiled_plan", "runtime.tiling.tile_program"
TEXT = "native.module.outlined_text.BUDGET"


def cost(node: Node) -> Any:
    return node.op.cost(node)


def is_written_within(limit: float) -> bool:
    try:
        ProgramWriter(layout_of(LINE), limit).write()
    except TooLongError:
        return False
    return True


def characters() -> float:
    writer = ProgramWriter(layout_of(LINE))
    writer.write()
    (text,) = writer._functions
    return len(text) * (1 + len(text) / BUDGET.long_function)


def spare(limit: int, sizes: list[int]) -> list[int]:
    """Return which workspaces are kept."""
    kept, own = SpareWorkspaces(limit), []
    for size in sizes:
        workspace = Workspace([], [])
        workspace.size = size
        kept.give(workspace, own)
    return [workspace.size for workspace in own]


def parts_of(program: Program) -> float:
    return outlined_text._seconds_of_parts(outlined_text.PartedProgram(program))


def is_cut() -> bool:
    return "part0" in outlined_text._written(LINE).functions


def cut(program: Program) -> TilePartition:
    return partition_of(program, max(tileable_dimensions(program), key=lambda dimension: dimension.length), ())


def block_tiles() -> block_sums.BlockTiles:
    """Return blocks of products whose operands take four blocks' bytes, and whose sum takes much of one."""
    partition = cut(SQUARED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_sums, "LARGE_SUM", 0)
        patch.setattr(block_sums, "BLOCK_BYTES", 64 * 24 * 8 // 4)
        return block_sums.BlockTiles(partition, block_sums.large_products(partition), Plan)


def working_bytes(count: int, group: int) -> int:
    """Return the bytes of blocks whose sums take 60 bytes, and all else 40."""
    total = SimpleNamespace(type=SimpleNamespace(nbytes=60))
    of = SimpleNamespace(totals=[total], total_of=[0], sums=[total])
    blocks = SimpleNamespace(partition=of, count=count, _group=group, _forms={}, plan=SimpleNamespace(peak_bytes=40))
    return block_sums.BlockTiles.working_bytes.fget(blocks)


LIMITS = {
    "bytes that a cache holds": Limit(
        lambda: 800, lambda: Prediction().moving(800, SPEEDS).total == 0, True, "runtime.cost_model.CACHED_BYTES"
    ),
    "flops of an element, before LAPACK": Limit(
        lambda: cost(INVERSE).flops / 64,
        lambda: cost_model.by_numpy(INVERSE, SPEEDS).elements < cost_model.LAPACK_SECONDS / 2,
        True,
        "runtime.cost_model.FLOPS_OF_A_MATRIX",
    ),
    "flops of a step that is taken as a whole": Limit(
        lambda: form_of(LOOP).of.hoisted.cost().flops,
        lambda: cost_model.by_numpy(LOOP, SPEEDS).calls == cost_model.LOOP_CALLS * SPEEDS.call,
        True,
        "runtime.cost_model.ALONE_WORK",
    ),
    "matrices that are few": Limit(
        lambda: 3,
        lambda: cost_model._of_matrices(CHOLESKY, 12, SPEEDS) > 12 * cost_model.SMALL_FLOP_SECONDS,
        False,
        "runtime.cost_model.TOGETHER",
    ),
    "bytes of rows that are copied at once": Limit(
        lambda: 12 * 8,
        lambda: len(pieces(0, 4, False, [np.ones((3, 4)).T])) == 1,
        True,
        "runtime.loops.rematerialised_rows.PIECE_BYTES",
    ),
    "bytes of rows that are all held": Limit(
        lambda: 9 * 8, lambda limit: KeptStreams({LOOP: (0,)}, limit, None, {}).times(LOOP) == 1.0, True
    ),
    "flops of products on one thread": Limit(
        lambda: cost(node_of(PRODUCT, "contract")).matmul_flops,
        lambda: not Plan(PRODUCT)._single_threaded,
        False,
        "runtime.plan.interpreter.BLAS_THREADS_FLOPS",
    ),
    "flops of a step beside tiles": Limit(
        lambda: cost(CHOLESKY).flops,
        lambda: blocking.beside_tiles(FACTORS) is blocking.single_threaded_blas,
        False,
        "runtime.plan.blocking.SHARED_FLOPS",
    ),
    "work of a program that is a function": Limit(
        lambda: compiled_program.work_of(steps_of(LINE)),
        lambda: compiled_program.work_of(steps_of(LINE)) is not None,
        True,
        "runtime.plan.compiled_program.ALONE_WORK",
    ),
    "bytes of a program that is a function": Limit(
        lambda: sum(cost(node).bytes for node in steps_of(LINE)),
        lambda: compiled_program.work_of(steps_of(LINE)) is not None,
        True,
        "runtime.plan.compiled_program.WORTHWHILE_BYTES",
    ),
    "bytes of one step of a loop": Limit(
        lambda: LOOP.type.nbytes + form_of(LOOP).of.program.cost().bytes,
        lambda: compiled_program.work_of([LOOP]) is not None,
        True,
        "runtime.plan.compiled_program.WORTHWHILE_BYTES",
    ),
    "bytes of one step of a loop that ends by itself": Limit(
        lambda: form_of(ENDING).of.program.cost().bytes,
        lambda: compiled_program.work_of([ENDING]) is not None,
        True,
        "runtime.plan.compiled_program.WORTHWHILE_BYTES",
    ),
    "work of a loop in a program that is a function": Limit(
        lambda: most_work_of(form_of(LOOP)),
        lambda: compiled_program.work_of([LOOP]) is not None,
        True,
        "runtime.plan.compiled_program.BUDGET.uninterrupted",
    ),
    "elements of a constant in a part": Limit(
        lambda: 9,
        lambda: native_regions.is_native(Trace().build(ops.eye, (), (("dtype", "float64"), ("n", 3)))),
        True,
        "runtime.plan.native_regions.BUDGET.constant",
    ),
    "bytes of a workspace that is kept": Limit(lambda: 80, lambda limit: spare(limit, [40]) == [40], True),
    "bytes of all workspaces": Limit(lambda: 80, lambda limit: spare(limit, [30, 20, 30]) == [30, 20, 30], True),
    "bytes of a limit of memory": Limit(
        lambda: 1, lambda limit: is_accepted(lambda: memory_limit.check_limit(limit), primad.ShapeError), True
    ),
    "complex numbers of transforms": Limit(
        lambda: 8, lambda: transforms.are_short((8,), 8), True, "native.complex_numbers.transforms.MOST"
    ),
    "leaves of a call": Limit(
        lambda: 3, lambda: entry_of([1.0, 2.0, 3.0], [1.0]) is not None, True, "native.cpython.entry_point.MOST_LEAVES"
    ),
    "leaves of results": Limit(
        lambda: 3, lambda: entry_of([1.0], [1.0, 2.0, 3.0]) is not None, True, "native.cpython.entry_point.MOST_LEAVES"
    ),
    "nodes of a call": Limit(
        lambda: 4, lambda: entry_of([[1.0, 2.0]], [1.0]) is not None, True, "native.cpython.entry_point.MOST_PARTS"
    ),
    "nodes of a result": Limit(
        lambda: 4, lambda: entry_point.is_plain(tree_of([1.0, 2.0, 3.0])), True, "native.cpython.entry_point.MOST_PARTS"
    ),
    "work that other threads wait for": Limit(
        lambda: 7,
        lambda: entry_of([1.0], 1.0, 7).text == entry_of([1.0], 1.0, 0).text,
        False,
        "native.cpython.entry_point.THREAD_WORK",
    ),
    "elements that are sorted": Limit(
        lambda: 50,
        lambda: not reason(node_of(lowered(np.argsort, np.ones(50)), "argsort")),
        True,
        "native.emit.op_table.BUDGET.unrolled",
    ),
    "elements of windows that are added": Limit(
        lambda: 6,
        lambda: not reason(node_of(overlapping(), "overlap_add")),
        True,
        "native.emit.window_loops.BUDGET.unrolled",
    ),
    "work of a loop": Limit(
        lambda: most_work_of(form_of(LOOP)), lambda: not reason(LOOP), True, "native.emit.op_table.BUDGET.uninterrupted"
    ),
    "instructions of loops that run apart": Limit(
        lambda: AT_ONCE * length_of(MEMBER.program),
        lambda: runs_apart(form_of(STACK)),
        True,
        "native.emit.op_table.BUDGET.instructions",
    ),
    "steps of loops that run apart": Limit(
        lambda: 50 * length_of(MEMBER.program),
        lambda: not reason(STACK),
        True,
        "native.emit.op_table.BUDGET.uninterrupted",
    ),
    "loops that run apart on one thread": Limit(
        lambda: 9 * length_of(MEMBER.program), lambda: not reason(STACK), True, "native.emit.op_table.BUDGET.alone"
    ),
    "instructions of a body": Limit(
        lambda: length_of(IN_REGISTERS),
        lambda: short_length(IN_REGISTERS) is not None,
        True,
        "native.emit.op_table.BUDGET.instructions",
    ),
    "elements that most instructions are of": Limit(
        lambda: 50, lambda: short_length(LINE) is not None, True, "native.emit.op_table.BUDGET.in_registers"
    ),
    "elements of a matrix that is written out": Limit(
        lambda: 8, lambda: is_small(CHOLESKY), True, "native.lapack.unrolled_matrices.BUDGET.products"
    ),
    "rows of cofactors that are written out": Limit(
        lambda: 2, lambda: few_minors(CHOLESKY), True, "native.lapack.unrolled_matrices.BUDGET.minors"
    ),
    "bytes of pieces in a cache": Limit(
        lambda: 2 * 8, lambda limit: register_blocks._fits(FIRST_CACHE, limit, 2, 8, 64), True
    ),
    "bytes of streams that are arrays": Limit(
        lambda: streams_of(steps_of(BACK), BACK.outputs).nbytes,
        lambda: not Plan(BACK).streams.of,
        True,
        "runtime.loops.row_streams.SPARE_BYTES",
    ),
    "bytes of streams of a plan in tiles": Limit(
        lambda: streams_of(steps_of(LARGER), LARGER.outputs).nbytes,
        lambda limit: getattr(tiled_plan.make_plan(LARGER, memory=4 * limit), "memory", None) is None,
        True,
    ),
    "characters of mixed tiles": Limit(
        lambda: Partition(cut(MIXED).tile(4)[0]).length,
        lambda: tile_choice.mixed_tiles(cut(MIXED)) is not None,
        True,
        "runtime.tiling.tile_choice.BUDGET.tile_text",
    ),
    "memory of mixed tiles": Limit(
        lambda: 2 * Partition(cut(MIXED).tile(4)[0]).scratch,
        lambda: tile_choice.mixed_tiles(cut(MIXED)).length == 8,
        True,
        "runtime.tiling.tile_choice.SCRATCH_BYTES",
    ),
    "bytes of a view that tiles see through": Limit(
        lambda: 24,
        lambda: cut(VIEWED).with_views_inside().inputs != cut(VIEWED).inputs,
        True,
        f"{TILE_PROGRAM}.SMALL_VIEW",
    ),
    "bytes of what such a view shows": Limit(
        lambda: 80,
        lambda: cut(VIEWED).with_views_inside().inputs != cut(VIEWED).inputs,
        True,
        f"{TILE_PROGRAM}.SMALL_ROOT",
    ),
    "bytes of a program that stays whole": Limit(
        lambda: 2 * 40 * 8,
        lambda: tiled_plan._tiled(SUMMED, tileable_dimensions(SUMMED), 4) is None,
        False,
        f"{TILED_PLAN}.WORTHWHILE_BYTES",
    ),
    "ops of a program that is cut through its calls": Limit(
        lambda: CALLING.cost().nodes,
        lambda: tiled_plan._through_calls(CALLING, (), None) is not None,
        True,
        f"{TILED_PLAN}.MOST_OPS",
    ),
    "bytes of a program that is computed twice": Limit(
        lambda: Plan(NORMED).peak_bytes,
        lambda: isinstance(tiled_plan._tiled(NORMED, tileable_dimensions(NORMED), 4), Plan),
        False,
        f"{TILED_PLAN}.LARGE_BYTES",
        {f"{TILED_PLAN}.CORE.again": 0},
    ),
    "flops of stages": Limit(
        lambda: 1.5,
        lambda: tiled_plan._gains(SimpleNamespace(is_tiled=True, flops=30, program=PRICED)),
        True,
        f"{TILED_PLAN}.CORE.again",
    ),
    "stages around what mixes": Limit(
        lambda: 2, lambda stages: tiled_plan._around_mixers(MIXING, stages, (), None) is not None, True
    ),
    "loops over boxes": Limit(
        lambda: 3 * 2,
        lambda: bool(layout_of(SMOOTH)._read_in_parts),
        True,
        "native.schedule.layout.BUDGET.in_boxes",
        {"native.schedule.layout.LOOP_ELEMENTS": 1},
    ),
    "ops in boxes": Limit(
        lambda: stencil_split._Boxes(SMOOTH, 0).program().trace.size - 1,
        lambda: is_accepted(lambda: stencil_split._Boxes(SMOOTH, 0).program(), stencil_split._TooManyError),
        True,
        "native.schedule.stencil_split.BUDGET.in_boxes",
    ),
    "seconds worth cutting": Limit(
        lambda: outlined_text._compile_seconds(LINE),
        lambda: not is_cut(),
        True,
        f"{TEXT}.worth_cutting",
        {f"{TEXT}.always_cut": 0},
    ),
    "seconds that are cut always": Limit(
        lambda: outlined_text._compile_seconds(LINE),
        lambda: not is_cut(),
        True,
        f"{TEXT}.always_cut",
        {f"{TEXT}.worth_cutting": 0, f"{TEXT}.share": 0},
    ),
    "share of seconds that parts take": Limit(
        lambda: parts_of(LINE) / outlined_text._compile_seconds(LINE),
        lambda: is_cut(),
        False,
        f"{TEXT}.share",
        {f"{TEXT}.worth_cutting": 0},
    ),
    "seconds that parts may take": Limit(
        lambda: parts_of(LINE),
        lambda: outlined_text._written(LINE) is not None,
        True,
        f"{TEXT}.most",
        {f"{TEXT}.worth_cutting": 0},
    ),
    "seconds that repeated parts may take": Limit(
        lambda: parts_of(REPEATED), lambda: not outlined_text.too_long(REPEATED), True, f"{TEXT}.most"
    ),
    "characters of a function": Limit(characters, is_written_within, True),
    "blocks without groups": Limit(
        lambda: 4, lambda: block_tiles().length == 16, True, "runtime.tiling.block_sums.GROUP"
    ),
    "blocks of a group": Limit(lambda: 3, lambda limit: working_bytes(3, limit) == 100, True),
    "bytes of complex numbers that stay whole": Limit(
        lambda: sum(node.type.nbytes for node in steps_of(WAVES)),
        lambda: complex_plans.complex_plan(WAVES, PLAIN) is None,
        False,
        "runtime.tiling.complex_plans.WORTHWHILE_BYTES",
    ),
}


def is_accepted(check: Callable[[], Any], error: type[Exception]) -> bool:
    try:
        check()
    except error:
        return False
    return True


def put(patch: pytest.MonkeyPatch, where: str, value: float) -> None:
    for record in ("BUDGET", "CORE"):
        module, _, field = f"primad.{where}".partition(f".{record}.")
        if field:
            known = getattr(importlib.import_module(module), record)
            patch.setattr(f"{module}.{record}", replace(known, **{field: value}))
            return
    patch.setattr(f"primad.{where}", value)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even small programs, into tiles of 4 or 8."""
    for name, value in {"WORTHWHILE_BYTES": 1, "LARGE_BYTES": 0}.items():
        monkeypatch.setattr(tiled_plan, name, value)
    monkeypatch.setattr(native_executor, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    monkeypatch.setattr(tiled_plan, "is_pointwise", lambda nodes: False)
    for name in ("NATIVE_LENGTHS", "MIXED_LENGTHS"):
        monkeypatch.setattr(tile_choice, name, (4, 8))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit(name: str, small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = LIMITS[name]
    size = limit.size()
    for where, value in limit.also.items():
        put(monkeypatch, where, value)
    for value in (size - 1, size, size + 1):
        if limit.where:
            put(monkeypatch, limit.where, value)
        admitted = limit.admits() if limit.where else limit.admits(value)
        assert admitted == (value > size or (value == size and limit.equal)), value


def test_a_program_that_is_called_counts_as_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be it too large by itself, or with what is beside it."""
    of_called = compiled_program._work_of_called
    inside, whole = compiled_program.work_of(steps_of(step_program(form_of(CALL).of))), compiled_program.work_of([CALL])
    assert inside is not None and whole is not None and inside < whole
    for limit in (1, inside - 1, inside, whole - 1, whole):
        of_called.cache_clear()
        monkeypatch.setattr(compiled_program, "ALONE_WORK", limit)
        assert (compiled_program.work_of([CALL]) is not None) == (limit == whole)
    of_called.cache_clear()
