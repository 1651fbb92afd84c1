"""What docs/design.md says of all programs, ops or laws: each sentence that does has a test, most of them elsewhere."""

from __future__ import annotations

import ast
import gc
import re
import weakref
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import fields

import primad
from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Zero
from primad.ir.law_families import LOCAL, without
from primad.ir.node import Trace
from primad.ops.record.fields import DerivativeRules, Law
from primad.ops.record.kinds import custom, elementwise, linear, multilinear
from primad.ops.record.primitive import Primitive, full
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import trace
from primad.simplify.laws import PASS_LAWS
from primad.system.deferred import loaded
from primad.transforms import forward
from primad.transforms.forward import jvp
from primad.transforms.lowering import expand, lower
from primad.verify.cases.case_table import cases
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from primad.verify.random_programs import draw_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
CASES = cases()

CLAIMS = {
    "Each is imported when `jit` gets a function": "test_layers.py::test_importing_loads_no_more_than_it_must",
    "knows no operation by name": "test_layers.py::test_no_op_is_known_by_name",
    "frees what is not needed any more": "test_tiled_plans.py::test_a_run_takes_no_more_memory_than_planned",
    "nothing is computed twice": "test_design.py::test_a_differentiated_composite_is_gone",
    "Such a node is replaced only when a plan is made": "test_user_rules.py::test_rules_in_both_modes",
    "So a rule holds at every order": "test_user_rules.py::test_rules_in_both_modes",
    "the derivatives of every order use the same": "test_counts.py::test_nested_jvp_is_taylor_mode",
    "There are no rules for reverse mode": "test_design.py::test_a_record_has_no_rule_for_reverse_mode",
    "forward and reverse mode cannot disagree": "test_fuzz.py::test_random_programs",
    "a linear op only its transpose": "test_design.py::test_rules_of_one_result_never_see_a_zero",
    "which no rule of an op with one result": "test_design.py::test_rules_of_one_result_never_see_a_zero",
    "This removes from every other rule": "test_design.py::test_primitives_neither_broadcast_nor_promote",
    "labels every axis of the operands": "test_verify.py::test_record",
    "*summed* if only operands do": "test_verify.py::test_every_corruption_is_caught",
    "There is no stack of traces": "test_design.py::test_traces_know_their_age_and_share_no_table",
    "never merged, so two perturbations cannot be confused": "test_tracing.py::test_inputs_are_never_merged",
    "threads share no table of nodes": "test_design.py::test_traces_know_their_age_and_share_no_table",
    "It is built only when it is lowered": "test_design.py::test_a_derivative_is_one_node_that_is_not_built",
    "second directional derivatives only": "test_verify.py::test_laws",
    "objects that compute nothing until they are used": (
        "test_lazy_matrices.py::test_looking_at_a_derivative_computes_nothing"
    ),
    "they are equal for finite values only": "test_verify.py::test_laws",
    "Laws of the first two classes are applied": "test_verify.py::test_no_law_is_left_out_where_it_applies",
    "Finite ones are applied only to zeros": "test_design.py::test_finite_laws_are_of_masks_identities_and_linear_ops",
    "`verify` holds each law, alone, to its class": "test_special_verification.py::test_laws_at_special_values",
    "a broadcast leaves every pointwise op": "test_design.py::test_a_broadcast_leaves_every_pointwise_op",
    "a mask every pointwise op that is linear": "test_design.py::test_a_mask_leaves_every_linear_op_and_view",
    "every view that moves or repeats all elements": "test_design.py::test_a_mask_leaves_every_linear_op_and_view",
    "for these properties and for no name": "test_design.py::test_families_ask_for_no_name",
    "The pass runs only on sums over directions": "test_design.py::test_sums_that_the_user_wrote_stay_where_they_are",
    "that know their values and compute nothing": "test_design.py::test_recording_computes_what_python_asks_for",
    "just what it depends on is computed": "test_design.py::test_recording_computes_what_python_asks_for",
    "Only on a miss is the derivative built": "test_counts.py::test_a_repeated_call_replans_nothing",
    "and no array stays what it is": "test_derivatives.py::test_keyword_arguments_and_static_things",
    "only mapped over and summed, as the collocation points": (
        "test_tiled_plans.py::test_an_axis_that_ops_mix_is_not_cut"
    ),
    "or where an op has no native loop": "test_native_tiles.py::test_operands_that_have_no_native_loop_are_interpreted",
    "operands that are no matrices in memory": "test_windows.py::test_the_windows_of_a_batch_are_never_all_in_memory",
    "No lowering replaces a call": "test_calls.py::test_text_reads_back_and_lowering_descends",
    "`jit(f)` records `f` on types only": "test_tracing.py::test_jit_caches_by_types_and_static_arguments",
    "results share no memory with arguments": "test_special_values.py::test_results_share_no_memory",
    "there is nothing to pay": "test_design.py::test_plain_arrays_build_no_node",
    "never from how long something took": "test_machine.py::test_no_clock_is_read_by_what_chooses",
    "A function that cannot be recorded": "test_opaque.py::test_every_use_gives_what_the_recorded_function_gives",
    "It has no rule and no axis map": "test_opaque.py::test_opaque_rules_reach_the_order_at_which_they_have_rules",
    "that runs goes through one door": "test_executors.py::test_programs_are_called_through_the_door",
    "may only be found while a program runs": "test_executors.py::test_an_op_that_raises_says_for_which_values",
    "however the program runs": ("test_executors.py::test_a_failure_names_op_place_and_line_however_it_runs"),
    "Imports point downwards only": "test_layers.py::test_imports_point_down",
    "with no rule of their own": "test_design.py::test_other_systems_have_no_rule_of_their_own",
    "common subexpressions do not arise": "test_design.py::test_no_program_has_two_equal_nodes",
    "`primad.lower` shows the primitives": "test_design.py::test_lowering_leaves_primitives",
    "Primitives do not broadcast and do not promote": "test_design.py::test_primitives_neither_broadcast_nor_promote",
    "they are freed with it": "test_design.py::test_nodes_are_freed_with_their_trace",
    "results do not depend on the number of threads": "test_tiled_plans.py::test_results_do_not_depend_on_threads",
    "NumPy hands each operation to them": (
        "test_numpy_functions.py::test_every_function_works_or_is_refused_with_a_reason"
    ),
    "proved as all laws are": "test_verify.py::test_every_corruption_of_a_law_of_consumers_is_caught",
    "What is derived from a call is a call again": "test_calls.py::test_what_is_derived_of_a_call_is_found_again",
    "All bodies are made by the transforms above": "test_design.py::test_bodies_of_loops_are_derived_once",
    "a branch is a scan of at most one step": "test_design.py::test_a_branch_is_a_scan_of_at_most_one_step",
    "calls each op's NumPy definition": "test_executors.py::test_every_executor_runs_every_op",
    "What would lose a derivative silently raises": "test_errors.py::test_mistake",
    "which axes of all values of a program": (
        "test_dimensions.py::test_random_programs_depend_on_inputs_as_their_axes_say"
    ),
    "the transpose of what is linear in them": "test_loops.py::test_a_loop_is_one_node_and_its_gradient_two",
    "nodes are copied, and no law, type or key is asked for": (
        "test_following_recordings.py::test_what_does_the_same_is_not_looked_up"
    ),
    "executed but the code, and nothing is believed": "test_plan_form.py::test_what_is_no_plan_is_an_error",
    "each time it runs on a machine": "test_machine.py::test_a_program_is_the_same_in_every_process",
    "many short parts of a long array at their places": (
        "test_scattered_sums.py::test_gradients_of_many_windows_and_their_derivatives"
    ),
    "each term is added once": "test_like_terms.py::test_a_sum_takes_so_many_ops",
    "a named tuple of all that it depends on": "test_cache_keys.py::test_every_key_of_a_cache_has_a_class",
    "Each field of each key is tested": "test_cache_keys.py::test_each_field_alone_tells_two_keys_apart",
    "A program of large products runs whole": "test_whole_products.py::test_derivatives_of_large_products_run_whole",
    "so that it is so to the last bit": "test_symmetric_products.py::test_half_of_what_is_symmetric_is_computed",
    "one pullback for all points": "test_residual_jacobians.py::test_points_that_stay_apart_take_one_pullback",
}
"""Words of the page, and the test that fails where they are not true."""

UNIVERSAL = re.compile(r"\b(only|never|every|no|nothing|none|cannot)\b", re.IGNORECASE)
GENERAL = re.compile(r"\b(always|(?<!nearly )all|each|at most)\b", re.IGNORECASE)
"""Words that say something of everything too, but for rows that say what is in a file."""


def sentences() -> list[str]:
    text = re.sub(r"```.*?```", "", PAGE.split("## What comes next")[0], flags=re.DOTALL)
    rows = [line for line in text.split("\n") if line.startswith("|")]
    prose = "\n".join("" if line.startswith(("|", "#")) else line for line in text.split("\n"))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=- |\d\. )", prose)]
    rows = [row.rsplit("|", 2)[0] if row.count("|") == 4 else row for row in rows]  # what to do is no claim
    return [*rows, *(s for part in paragraphs for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", part))]


def test_every_claim_about_everything_has_a_test() -> None:
    said = sentences()
    assert len(said) > 80
    claimed = [s for s in said if UNIVERSAL.search(s) or (GENERAL.search(s) and not s.startswith("| `"))]
    missing = [s for s in claimed if not any(words in s for words in CLAIMS)]
    assert not missing
    for words, name in CLAIMS.items():
        assert any(words in s for s in said), f"the page does not say: {words}"
        file, function = name.split("::")
        [path] = (ROOT / "tests").rglob(file)
        assert f"def {function}(" in path.read_text(encoding="utf-8"), name


def test_each_capability_to_come_touches_five_files_at_most() -> None:
    rows = [line for line in PAGE.split("## What comes next")[1].split("\n") if line.startswith("| ")][1:]
    assert len(rows) >= 3
    for row in rows:
        touched = row.split("|")[3]
        assert 1 <= len(touched.split("`")) // 2 <= 5
        for file in re.findall(r"`([\w/]+\.py)`", touched):
            assert (ROOT / "primad" / file.removeprefix("primad/")).is_file(), file


def test_every_folder_is_in_the_table_of_layers() -> None:
    table = PAGE.split("## Layers")[1]
    for path in (ROOT / "primad").iterdir():
        if path.suffix == ".py" and path.stem[0] != "_" and path.name != "__main__.py":
            assert f"`{path.name}`" in table, path.name
        elif path.is_dir() and (path / "__init__.py").is_file() and path.name != "demos":
            assert f"`{path.name}/`" in table, path.name


# -- one form of program -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_no_program_has_two_equal_nodes(seed: int) -> None:
    program = draw_program(Seeded(seed))
    derived = jvp(expand(program), [type.is_float for type in program.in_types])
    for found in (program, lower(program), derived):
        inner = [(node.op, node.inputs, node.params) for node in found.nodes if node.inputs]
        assert len(inner) == len(set(inner))


def tried(name: str) -> Trial:
    return Trial(CASES[name], CASES[name].op, Seeded(name))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.op.kind == "composite"])
def test_lowering_leaves_primitives(name: str) -> None:
    if not CASES[name].op.derivative.only_transposed:
        assert all(getattr(node.op, "kind", "") != "composite" for node in lower(tried(name).program).nodes)


BARE = [
    name
    for name, case in CASES.items()
    if case.op.kind == "composite" and case.op.derivative.jvp is None and not case.op.derivative.only_transposed
]


@pytest.mark.parametrize("name", BARE)
def test_a_differentiated_composite_is_gone(name: str) -> None:
    program = tried(name).program
    active = [type.is_float for type in program.in_types]
    if any(active):
        assert CASES[name].op not in {node.op for node in jvp(expand(program), active).nodes}


# -- rules -------------------------------------------------------------------------------------------------------------


def test_a_record_has_no_rule_for_reverse_mode() -> None:
    names = {field.name for field in (*fields(Primitive), *fields(DerivativeRules))}
    assert names & {"vjp", "pullback", "gradient", "grad", "backward"} == set()
    for op in ops.ALL:
        if not op.holds_program:
            linear_somewhere = op.derivative.linear_operands is None or len(op.derivative.linear_operands) > 0
            assert op.derivative.jvp is not None, op
            assert linear_somewhere == (op.derivative.transpose is not None), op


def test_records_declare_what_their_definitions_take() -> None:
    """Plans give a definition what its record declares: a parameter of such a name that it does not is never given."""
    for op in {*ops.ALL, *(case.op for case in CASES.values())}:
        function, facts = loaded(op.numpy), op.memory
        taken = set() if isinstance(function, np.ufunc) else set(signature(function).parameters)
        declared = {"out": facts.out, "each": facts.each, "wanted": facts.wanted, "memory": facts.limit}
        assert taken & set(declared) == {name for name, fact in declared.items() if fact}, op


def test_rules_of_one_result_never_see_a_zero() -> None:
    seen: list[int] = []

    def look(result: Any, *values: Any) -> Any:
        seen.append(1)
        assert not any(isinstance(value, Zero) for value in values)
        return result

    def pulls(rule: Any) -> Any:
        return lambda ct, x, y: look(rule(ct, x, y), ct, x, y)

    product = elementwise(
        "probe_of_partials",
        np.multiply,
        [lambda out, x, y: look(y, out, x, y), lambda out, x, y: look(x, out, x, y)],
    )
    both = multilinear(
        "probe_of_factors",
        np.multiply,
        infer=lambda x, y: x,
        transpose=[pulls(lambda ct, x, y: ct * y), pulls(lambda ct, x, y: x * ct)],
    )
    difference = linear(
        "probe_of_terms",
        np.subtract,
        infer=lambda x, y: x,
        transpose=[pulls(lambda ct, x, y: ct), pulls(lambda ct, x, y: -ct)],
        operands=None,
    )
    own = custom(
        "probe_of_contributions",
        np.multiply,
        infer=lambda x, y: x,
        jvp=[lambda t, out, x, y: look(t * y, t, out, x, y), lambda t, out, x, y: look(x * t, t, out, x, y)],
    )
    x, y = np.array([1.5, -2.0]), np.array([0.5, 3.0])
    for op in (product, both, difference, own):
        expected = (np.ones(2), -np.ones(2)) if op is difference else (y, x)

        def total(x: Any, y: Any, op: Primitive = op) -> Any:
            return np.sum(op(x, y))

        for i in (0, 1):
            np.testing.assert_array_equal(primad.grad(total, argnums=i)(x, y), expected[i])
        np.testing.assert_array_equal(primad.grad(total, argnums=(0, 1))(x, y), expected)
    assert len(seen) > 12


@pytest.mark.parametrize(
    "name", [n for n, c in CASES.items() if c.op.axes.pointwise and len(tried(n).example.types) > 1]
)
def test_primitives_neither_broadcast_nor_promote(name: str) -> None:
    example = tried(name).example
    longer = [ArrayType((7, *type.shape), type.dtype) for type in example.types]
    wider = [ArrayType(type.shape, np.float32 if type.dtype == np.float64 else np.int8) for type in example.types]
    last = len(longer) - 1
    for other in (longer, wider):
        if other is wider and example.types[0].dtype != example.types[last].dtype:
            continue  # a condition has a dtype of its own
        types = [*example.types[:last], other[last]]
        with pytest.raises(ShapeError):
            CASES[name].op.infer(*types, **example.params)


# -- arenas ------------------------------------------------------------------------------------------------------------


def test_nodes_are_freed_with_their_trace() -> None:
    class Watched(Trace):
        __slots__ = ("__weakref__",)

    arena = Watched()
    x = arena.input(ArrayType((3,), np.float64))
    arena.build(ops.sin, (x,), ())
    gone = weakref.ref(arena)
    del arena, x
    gc.collect()
    assert gone() is None


def test_traces_know_their_age_and_share_no_table() -> None:
    """No module of programs or recording has a list, dict or set that grows while functions are recorded."""
    recording = ("traced_array", "tracing")
    for path in (
        *(ROOT / "primad" / "ir").glob("*.py"),
        *(ROOT / "primad" / "recording" / f"{name}.py" for name in recording),
        *(ROOT / "primad" / "functional" / f"{name}.py" for name in ("following", "known_calls")),
    ):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            value = getattr(node, "value", None)
            assert not isinstance(value, (ast.Dict, ast.List, ast.Set)), f"{path.name}:{node.lineno}"
    assert [name for name in Trace.__slots__ if "trace" in name or "level" in name or "parent" in name] == []


def test_a_derivative_is_one_node_that_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    make = Trace._new
    program = primad.trace(lambda x: primad.hessian(lambda y: np.sum(np.sin(y) ** 3))(x) * 2.0)
    monkeypatch.setattr(Trace, "_new", lambda self, *args: built.append(1) or make(self, *args))
    found = program(np.ones(50))
    assert [node.op.name for node in found.nodes if node.op is not None].count("hessian") == 1
    assert len(built) < 20


# -- laws --------------------------------------------------------------------------------------------------------------


def laws() -> list[Law]:
    return [*(law for case in CASES.values() for law in (*case.op.laws.own, *case.op.laws.consumed)), *PASS_LAWS]


def test_finite_laws_are_of_masks_identities_and_linear_ops() -> None:
    finite = [law for law in laws() if law.holds == "finite"]
    assert finite
    for law in finite:
        with without(LOCAL):
            program = trace(lambda *xs, law=law: law.statement(*xs)[0])(
                *[ArrayType(shape, np.float64) for shape in law.shapes]
            )
        assert {node.op for node in program.nodes} & {ops.mask, ops.eye, ops.overlap_add, ops.fft, ops.rfft}, law.name


POINTWISE = [name for name, case in CASES.items() if case.op.axes.pointwise and case.op.laws.outermost is None]


@pytest.mark.parametrize("name", POINTWISE)
def test_a_broadcast_leaves_every_pointwise_op(name: str) -> None:
    example = tried(name).example

    def wide(*arrays: TracedArray) -> Any:
        given = iter(arrays)
        operands = [next(given) if operand.literal is None else operand.literal for operand in example.operands]
        spread = [
            ops.broadcast(x, shape=(5, *x.shape), axes=(0,)) if isinstance(x, TracedArray) else x for x in operands
        ]
        return CASES[name].op(*spread, **example.params)

    if example.types:
        assert trace(wide)(*example.types).outputs[0].op is ops.broadcast


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.op.linear_groups(2)])
def test_a_mask_leaves_every_linear_op_and_view(name: str) -> None:
    op, example = CASES[name].op, tried(name).example
    if op is ops.mask or CASES[name].through is not None or any(x.literal is not None for x in example.operands):
        return
    result = op.infer(*example.types, **example.params)
    moves = op.memory.views and not op.axes.pointwise and result.size >= example.types[0].size
    if not (moves or (op.axes.pointwise and not op.memory.views)):
        return
    for group in op.linear_groups(len(example.types)):
        if not all(example.types[i].is_float for i in group):
            continue

        def masked(*arrays: TracedArray, group: tuple[int, ...] = group) -> Any:
            condition = arrays[group[0]].real > 0.0
            operands = [ops.mask(condition, x) if i in group else x for i, x in enumerate(arrays)]
            return op(*operands, **example.params)

        assert trace(masked)(*example.types).outputs[0].op is ops.mask


def test_families_ask_for_no_name() -> None:
    """An op that nobody has heard of is left by broadcasts and masks for being pointwise and linear."""
    twice = linear("never heard of", lambda x: 2 * x, infer=lambda x: x, transpose=[lambda ct, x: twice(ct)])
    program = trace(lambda x: twice(ops.broadcast(ops.mask(x > 0.0, x), shape=(4, 3), axes=(0,))))
    found = program(ArrayType((3,), float)).outputs[0]
    assert found.op is ops.mask
    assert [node.op for node in found.inputs] == [ops.broadcast, ops.broadcast]
    assert found.inputs[1].inputs[0].op is twice


def test_sums_that_the_user_wrote_stay_where_they_are() -> None:
    small = primad.simplify(primad.trace(lambda x, y: np.sum(x - y))(np.ones(1000), np.ones(1000)))
    assert [node.op for node in small.nodes if node.inputs] == [ops.sub, ops.sum]
    x = 1e16 + np.arange(4.0)
    assert primad.jit(lambda x, y: np.sum(x - y))(x, x - 2.0) == np.sum(x - (x - 2.0))


# -- evaluation --------------------------------------------------------------------------------------------------------


def test_recording_computes_what_python_asks_for() -> None:
    computed: list[str] = []

    def noted(name: str) -> Primitive:
        def run(x: Any) -> Any:
            computed.append(name)
            return x * 2.0

        return elementwise(name, run, [lambda out, x: full(2.0, x)])

    wanted, other = noted("wanted"), noted("other")
    seen: list[list[str]] = []

    def f(x: Any) -> Any:
        a, b = wanted(x), other(x)
        seen.append(list(computed))
        if a > 0.0:
            seen.append(list(computed))
        return a * b

    assert primad.grad(f)(3.0) == 24.0
    assert seen == [[], ["wanted"]]


# -- others ------------------------------------------------------------------------------------------------------------


def test_plain_arrays_build_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something was recorded")

    monkeypatch.setattr(Trace, "__init__", refuse)
    x = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    for name in ("sin", "exp", "add", "matmul", "sum", "mean", "where", "reshape", "einsum", "trace", "sort"):
        args: tuple[Any, ...] = {
            "add": (x, x), "matmul": (x, x.T), "where": (x > 0.5, x, 0.0), "reshape": (x, (3, 2)),
            "einsum": ("ij,kj->ik", x, x),
        }.get(name, (x,))  # fmt: skip
        np.testing.assert_array_equal(getattr(primad.numpy, name)(*args), getattr(np, name)(*args))


def test_other_systems_have_no_rule_of_their_own() -> None:
    """No layer over another system's API makes an op, or gives a function a rule of the engine's."""
    makers = {"elementwise", "linear", "multilinear", "custom", "piecewise_constant", "custom_jvp", "custom_vjp"}
    for path in (ROOT / "primad" / "compat").rglob("*.py"):
        if path.parts[-2:] == ("autograd", "extend.py"):
            continue  # `autograd.extend.primitive` hands on the rules of its caller
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("primad"):
                made = makers & {alias.name for alias in node.names}
                assert not made or "compat" in (node.module or ""), f"{path}:{node.lineno}: {made}"


# -- loops -------------------------------------------------------------------------------------------------------------


def test_a_branch_is_a_scan_of_at_most_one_step() -> None:
    program = primad.trace(lambda x: primad.cond(x > 0, np.sin, np.cos, x))(1.0)
    branches = [node for node in program.nodes if getattr(node.op, "holds_program", False)]
    assert branches
    for node in branches:
        params = dict(node.params)
        assert (node.op.name, params["length"], params["counted"]) == ("scan", 1, True)


def test_bodies_of_loops_are_derived_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that stands in several loops, and again in later calls, is differentiated once."""
    derived: list[Any] = []
    push = forward.jvp

    def noted(program: Any, *args: Any, **options: Any) -> Any:
        derived.append(program)
        return push(program, *args, **options)

    monkeypatch.setattr(forward, "jvp", noted)

    def loops(x: Any, count: int) -> Any:
        for _ in range(count):
            x, _ = primad.scan(lambda c, _: (np.sin(c) * 1.7301, None), x, None, length=3)
        return x

    primad.grad(lambda x: loops(x, 1))(0.5)
    once = [program for program in derived if any(node.op is ops.sin for node in program.nodes)]
    derived.clear()
    primad.grad(lambda x: loops(x, 4))(0.5)
    again = [program for program in derived if any(node.op is ops.sin for node in program.nodes)]
    assert once and not again
