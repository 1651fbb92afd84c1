"""What guards of native code keep out: each case is one that would be wrong, or fail, without its guard."""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.functional.control.while_loops import while_rows
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf
from primad.ir.program import ClosedProgram, Program
from primad.native.complex_numbers.complex_arithmetic import Parts
from primad.native.complex_numbers.part_rules import rule_of
from primad.native.cpython import entry_point, object_layout
from primad.native.emit import scipy_functions
from primad.native.emit.elementwise_loop import _in_turn
from primad.native.emit.emit_context import Loops, Way
from primad.native.emit.op_table import reason, short_length, way_of
from primad.native.llvm import compiler as native
from primad.native.llvm.compiler import _folder, compiler
from primad.native.llvm.strided_views import View
from primad.native.loops.batched_while import _stay_apart, _without_choices, member_of
from primad.native.unrolled.unrolled_indexing import known_places
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.transforms.dimensions import Dimensions, axis_map
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from tests.cases import CASES
from tests.guarded import check, needs_llvm, run_in_registers, run_natively

pytestmark = needs_llvm
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


# -- loops -------------------------------------------------------------------------------------------------------------

ALONG = {
    "apart": lambda x: np.sin(x) * 2.0,
    "a captured array": lambda x: x + np.arange(4.0),
    "an op that counts": lambda x: x + ops.cast(TracedIota.of(x), dtype="float64"),
    "a sum": lambda x: x - np.sum(x),
    "pairs": lambda x: x[:, None] * x,
    "neighbours": lambda x: np.cumsum(x),
}


class TracedIota:
    """The numbers of a stack's members, made by an op."""

    @staticmethod
    def of(x: Any) -> Any:
        from primad.recording.traced_array import TracedArray

        return TracedArray(x.node.trace.build(ops.iota, (), (("dtype", "int64"), ("n", 4))))


@pytest.mark.parametrize("name", ALONG)
def test_loops_that_need_each_other_do_not_run_apart(name: str) -> None:
    program = primad.lower(primad.trace(ALONG[name])(np.ones(4)))
    assert _stay_apart(Dimensions(program).of(program.inputs[0], 0)) == (name == "apart")


@pytest.mark.parametrize("axis", [0, 1])
def test_members_of_a_stack_are_its_first_axis(axis: int) -> None:
    x = np.ones((4, 4))

    def step(go: Any, x: Any) -> list[Any]:
        more = go & (np.sum(x, axis=1 - axis) > 1.0)
        return [more, x * 0.5, np.any(more)]

    program = program_of([primad.ArrayType((4,), bool), primad.ArrayType(x.shape, float)], step)
    assert (member_of(ClosedProgram(program), (True, True)) is None) == (axis == 1)


CHOICES = {
    "guarded": (True, lambda go, x: np.where(go, x * 0.5, x)),
    "used after the choice": (False, lambda go, x: np.where(go, x * 0.5, x) + 1.0),
    "chosen by another condition": (False, lambda go, x: np.where(x > 1.0, np.where(go, x * 0.5, x), 3.0)),
    "chosen for all by another condition": (False, lambda go, x: np.where(x[:, :1] > 1.0, np.where(go, x, 1.0), 3.0)),
    "a choice within": (True, lambda go, x: np.where(go, np.where(x > 1.0, x * 0.5, 7.0), x)),
    "a function": (False, lambda go, x: np.where(go, np.exp(x), x)),
    "no choice": (True, lambda go, x: x * 0.5),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_member_leaves_out_the_choices_that_guard_what_it_carries(name: str) -> None:
    left_out, step = CHOICES[name]
    go = np.ones(1, bool)

    def function(go: Any, x: Any) -> Any:
        return go & (np.sum(x) > 1.0), step(go[:, None], x)

    for x in (np.full((1, 2), 2.0), np.full((1, 2), 0.5)):
        program = primad.lower(primad.trace(function)(go, x))
        changed = _without_choices(program)
        assert (changed is not program) == left_out
        found, wanted = (REFERENCE.prepare(each, PLAIN).run([go, x]) for each in (changed, program))
        np.testing.assert_array_equal(found[1], wanted[1])


def test_loops_of_members_that_do_not_lie_in_whole_steps_of_their_size() -> None:
    """The field of a record: rows whose distance is no multiple of an element's bytes."""
    records = np.zeros(9, [("row", "f8", (3,)), ("number", "i4")])
    records["row"] = RNG.uniform(3, 9, (9, 3))
    halve = primad.vmap(lambda x: primad.while_loop(lambda c: np.sum(c) > 2.0, lambda c: c * 0.5, x, 99))
    np.testing.assert_array_equal(halve(records["row"]), halve(records["row"].copy()))


@pytest.mark.parametrize("begins", [False, True])
def test_a_loop_of_no_steps(begins: bool) -> None:
    """Where its condition does not hold it takes none, and else says so: alone, in stacks, with derivatives."""

    def halved(x: Any) -> Any:
        return primad.while_loop(lambda c: c > 2.0, lambda c: c * 0.5, x, max_steps=0)

    x = np.array([5.0 if begins else 1.0, 0.5])
    for run in (halved, primad.jit(halved), primad.value_and_grad(halved)):
        for given, function in ((x[0], run), (x, primad.vmap(run)), (x, primad.jit(primad.vmap(run)))):
            if begins:
                with pytest.raises(primad.PrimadError, match="max_steps=0"):
                    function(given)
            else:
                found = function(given)
                np.testing.assert_array_equal(found[0] if isinstance(found, tuple) else found, given)


def test_rows_that_were_not_computed_are_zeros_for_a_loop_that_carries_their_number() -> None:
    def f(x: Any) -> Any:
        count, _, rows = while_rows(lambda c: c > 0.3, lambda c: (c * 0.5, c + 1.0), x, 9)
        return primad.scan(lambda c, row: (c + (row > 0.5), c), count, rows)

    check(f, np.array(3.0))


# -- indices -----------------------------------------------------------------------------------------------------------

OUTSIDE = {
    "a known index": (lambda x, i: ops.gather(x, np.array([1, 9]), axis=0, batch=0), np.ones(3)),
    "a negative one": (lambda x, i: ops.gather(x, np.array([-4]), axis=0, batch=0), np.ones(3)),
    "an index": (lambda x, i: ops.gather(x, i, axis=0, batch=0), np.ones(3)),
    "of nothing": (lambda x, i: ops.gather(x, i, axis=0, batch=0), np.ones(0)),
    "of no rows": (lambda x, i: ops.gather(x, i, axis=0, batch=0), np.ones((0, 2))),
    "a known place of a sum": (
        lambda x, i: ops.scatter_add(x, np.array([0, 1, 7]), axis=0, batch=0, size=5),
        np.ones(3),
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_outside_is_named(name: str) -> None:
    function, x = OUTSIDE[name]
    for run in (function, primad.jit(function)):
        with pytest.raises(IndexError, match=r"out of|empty axes"):
            run(x, np.array([7]))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "int8"])
@pytest.mark.parametrize("rows", [(), (2,)])
def test_each_of_many_indices_is_looked_at(dtype: str, rows: tuple[int, ...]) -> None:
    """They are compared in vectors, of which the last is partly filled, and one by one where that is not enough."""
    x = normal(100, *rows)
    taken = primad.jit(lambda x, i: ops.gather(x, i, axis=0, batch=0))
    added = primad.jit(lambda x, i: ops.scatter_add(x, i, axis=0, batch=0, size=100))
    indices = np.random.default_rng(0).integers(0, 100, 203).astype(dtype)
    for place in (0, 100, 202):
        for index in (0, 99, 100, 120, -1, -100, -101, -128):
            if index < 0 and dtype == "uint16":
                continue
            indices[place] = index
            if -100 <= index < 100:
                np.testing.assert_array_equal(taken(x, indices), x[indices])
                expected = np.zeros((100, *rows))
                np.add.at(expected, indices, x[indices])
                np.testing.assert_array_equal(added(x[indices], indices), expected)
                continue
            for run, given in ((taken, x), (added, normal(203, *rows))):
                with pytest.raises(IndexError, match=rf"{index}\b.*out of"):
                    run(given, indices)
        indices[place] = 5


def test_an_index_that_is_known_to_be_outside_is_no_known_place() -> None:
    for index, known in ((-3, True), (2, True), (-4, False), (3, False)):
        trace = primad.ir.node.Trace()
        x, i = trace.input(primad.ArrayType((3,), float)), trace.capture(np.array([index]))
        taken = trace.place(ops.gather, (x, i), (("axis", 0), ("batch", 0)))
        assert (known_places(taken) is not None) == known


def test_places_that_are_known_are_no_choices() -> None:
    """However many elements there are in registers: each is read where it is."""
    x, places = normal(60), np.arange(60) // 2
    taken = primad.lower(primad.trace(lambda x: ops.gather(x, places, axis=0, batch=0))(x))
    assert short_length(taken) is not None
    np.testing.assert_array_equal(run_in_registers(taken, [x], True)[0], x[places])


# -- layouts -----------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "three arrays that take turns": (lambda x: x[0:80:2] + x[1:81:2] * x[2:82:2], normal(90)),
    "rows of rows that lie apart": (
        lambda x: ops.scatter_add(x[:, :2, :3], np.array([4, 0, 4]), axis=0, batch=0, size=5),
        normal(3, 3, 4),
    ),
    "columns that lie apart": (
        lambda x: ops.scatter_add(x[:, :, 0], np.array([4, 0, 4]), axis=0, batch=0, size=5),
        normal(3, 2, 4),
    ),
    "windows of zeros": (
        lambda x: (
            np.sin(x[:5, None])
            + ops.windows(x * 0.0, axes=(0,), count=(5,), size=(2,), step=(1,), dilation=(1,), low=(1,))
        ),
        normal(7),
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout(name: str) -> None:
    check(*LAYOUTS[name])


def test_windows_of_a_literal() -> None:
    """Where they need no zeros around it, they are as literal; else it lies with them in memory."""
    for low in (0, 1):
        trace = primad.ir.node.Trace()
        x = trace.input(primad.ArrayType((5, 2), float))
        twos = trace.literal(2.0, primad.ArrayType((6,), np.dtype(float)))
        params = {"axes": (0,), "count": (5,), "size": (2,), "step": (1,), "dilation": (1,), "low": (low,)}
        seen = trace.place(ops.windows, (twos,), tuple(sorted(params.items())))
        product = trace.place(ops.mul, (seen, x), ())
        program = Program(trace, [x], [product])
        given = normal(5, 2)
        (wanted,) = REFERENCE.prepare(program, PLAIN).run([given])
        np.testing.assert_array_equal(run_natively(program, [given], True)[0], wanted)


# -- ops ---------------------------------------------------------------------------------------------------------------


def test_what_sums_over_an_axis_can_add_to_a_sum() -> None:
    """So that native tiles can sum: what sums, as an op's record says, adds to what is there, and has one
    result. All its operands have that axis, so that none of them is a sum over it itself."""
    for case in CASES.values():
        for seed in range(2):
            program = one_op(case.op, case.draw(Seeded(seed)), case.through)
            for node in [node for node in program.nodes if not isinstance(node.op, Leaf)]:
                found = axis_map(node)
                labels = {label for labels in found.operands for label in labels if label is not None}
                sums = {label for label in labels if found.role(label) == "summed"}
                assert all(sums <= {*operand} for operand in found.operands), node.op.name
                if isinstance(node.type, TupleType):
                    named = {label for labels in found.results for label in labels if label is not None}
                    assert not sums and named <= labels, node.op.name
                elif sums:
                    how = way_of(node)
                    assert reason(node) or how is Way.SUM or (isinstance(how, Loops) and how.adds), node.op.name


opaque = primad.elementwise("opaque", lambda x: np.vectorize(float)(x), partials=[lambda out, x: out])


def whole(x: Any) -> Any:
    return (x * 3.0).astype(np.int64)


OWN = {
    "of known ops": (True, lambda x: x * x + 1.0, np.float64),
    "with a wider number within": (False, lambda x: (x.astype(np.float64) * 2.0).astype(np.float32), np.float32),
    "with numbers of 16 bits within": (False, lambda x: x.astype(np.float16).astype(x.dtype), np.float32),
    "with an op that is not written": (False, lambda x: ops.airy(x, n=1), np.float64),
    "with an op of whole numbers": (False, lambda x: ops.power(whole(x), whole(x) + 1).astype(x.dtype), np.float64),
    "with an op that cannot be recorded": (False, lambda x: opaque(x) + 1.0, np.float64),
}


@pytest.mark.parametrize("name", OWN)
def test_an_op_of_ones_own_is_written_as_what_it_is_made_of(name: str) -> None:
    written, function, dtype = OWN[name]
    own = primad.elementwise("own", function, partials=[lambda out, x: out])
    x = np.linspace(0.3, 2.0, 7).astype(dtype)
    (node,) = primad.trace(own)(x).outputs
    assert (not reason(node)) == written
    np.testing.assert_allclose(primad.jit(lambda x: own(x) * x)(x), np.asarray(function(x)) * x, rtol=1e-6)


def test_a_function_that_scipy_lacks_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    node = primad.trace(primad.numpy.special.dawsn)(normal(3)).outputs[0]
    assert not reason(node)
    monkeypatch.setattr(scipy_functions, "variant_of_doubles", lambda *about: "")
    assert reason(node)


# -- the interpreter of Python -----------------------------------------------------------------------------------------


def test_objects_are_made_where_they_look_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    table = object_layout.numpy_table.__wrapped__
    assert table() is not None
    other = type("implementation", (), {"name": "pypy"})
    changes: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
        "another interpreter": lambda patch: patch.setattr(sys, "implementation", other),
        "objects that are counted": lambda patch: patch.setattr(sys, "gettotalrefcount", int, raising=False),
        "no lock": lambda patch: patch.setattr(sys, "version", f"{sys.version} free-threading build"),
        "short addresses": lambda patch: patch.setattr(ctypes, "sizeof", lambda of: 4),
    }
    for name, change in changes.items():
        with monkeypatch.context() as patch:
            change(patch)
            assert table() is None, name


def test_a_program_is_called_by_its_plan_where_objects_look_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_point, "numpy_table", lambda: None)
    function = primad.jit(lambda x: np.sin(x) * 3.25)
    np.testing.assert_allclose(function(np.ones(3)), np.sin(1.0) * 3.25 * np.ones(3))


# -- what is compiled --------------------------------------------------------------------------------------------------


def texts(count: int) -> list[str]:
    """Return texts of functions, which differ."""
    body = "define i64 @KERNEL(ptr %0, ptr %1) {{\n  ret i64 {}\n}}\n"
    return [body.format(1000 + i) for i in range(count)]


def test_the_kernels_that_were_asked_for_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compiler()
    assert host is not None
    monkeypatch.setattr(host, "_cache", OrderedDict())
    many = texts(4)
    host.kernels(many[:3])
    for most, characters, left in ((3, 10**6, 3), (9, sum(map(len, many[1:])), 3), (9, 1, 1), (2, 10**6, 2)):
        host._cache.clear()
        monkeypatch.setattr(native, "CACHED_KERNELS", most)
        monkeypatch.setattr(native, "CACHED_TEXT", characters)
        for text in many:
            host.kernels([text])
        assert list(host._cache) == many[4 - left :]
    host._cache.clear()
    monkeypatch.setattr(native, "CACHED_TEXT", 1)
    monkeypatch.setattr(native, "CACHED_KERNELS", 9)
    host.kernels(many)
    assert list(host._cache) == many  # what a plan has asked for together stays together


def test_a_file_that_is_no_machine_code_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compiler()
    assert host is not None
    kept = {}

    class Cache:
        def get(self, key: Any) -> bytes | None:
            return kept.get(key)

        def put(self, key: Any, body: bytes) -> None:
            kept[key] = body

    monkeypatch.setattr(native, "disk_cache", Cache)
    code = host._object(texts(1)[0])
    ((key, right),) = kept.items()
    assert host._object(texts(1)[0]) == code == right
    kept[key] = b"text"
    assert host._object(texts(1)[0])[:4] == code[:4] and kept[key] != b"text"


def test_a_package_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_a_folder").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("only_a_folder", "nowhere_at_all"):
        with pytest.raises(ImportError, match=name):
            _folder(name)


def test_arrays_take_turns_in_groups() -> None:
    """Of more that begin one after the other than there are steps, the rest is of no group."""
    for step, groups in (
        (2, {1: [], 2: [[0, 1]], 3: [[0, 1]], 4: [[0, 1], [2, 3]]}),
        (3, {2: [], 3: [[0, 1, 2]], 5: [[0, 1, 2]], 6: [[0, 1, 2], [3, 4, 5]]}),
        (4, {4: []}),
    ):
        views = [View("x", offset, (9,), (step,), np.dtype(float)) for offset in range(6)]
        for count, found in groups.items():
            assert _in_turn(views[:count], [step] * count) == found


def test_what_does_no_arithmetic_is_written_for_each_part_of_complex_numbers() -> None:
    program = primad.trace(lambda z: primad.stop_gradient(z) * z)(1j)
    (node,) = [node for node in program.nodes if node.op is ops.stop_gradient]
    (real, imaginary) = rule_of(node)(Parts(2.0, 3.0))
    assert (real, imaginary) == (2.0, 3.0)
