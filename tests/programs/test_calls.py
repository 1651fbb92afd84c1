"""Calls: a jitted function that a program repeats is recorded, planned and differentiated once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.functional.control import inlining as jitted
from primad.functional.control.inlining import RECORDED_IN_PLACE
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram, Program
from primad.native.emit import op_table
from primad.native.llvm.compile_limits import BUDGET
from primad.programs import derived_programs
from primad.programs.call import call
from primad.programs.checkpoint import checkpoint
from primad.programs.loops import closed_bodies
from primad.runtime.cache import Cache
from primad.runtime.executors import dispatch
from primad.runtime.loops import loop_executables
from primad.runtime.tiling import tiled_plan
from primad.runtime.tiling.tiled_plan import make_plan
from primad.transforms import jvp, vjp, vmap
from primad.transforms.lowering import applications, apply_program_op, without_calls
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import thinned

Function = Callable[..., Any]


def plain_step(state: Any, p: Any) -> Any:
    """About sixty nodes, with a composite and trees."""
    x, v = state["x"], state["v"]
    for k in range(8):
        force = np.sin(x * p) - 0.1 * v * np.cos(x + 0.3 * k) - 0.05 * np.mean(x)
        v = v + 0.01 * force
        x = x + 0.01 * v
    return {"x": x, "v": v}


def simulation(step: Function, count: int) -> Function:
    def loss(p: Any) -> Any:
        state = {"x": np.array([1.0, 0.5, 0.2]), "v": np.zeros(3)}
        for _ in range(count):
            state = step(state, p)
        return np.sum(state["x"] ** 2)

    return loss


def called(program: Program) -> list[Any]:
    """Return the programs that a program calls, once for each call."""
    return [dict(node.params)["of"] for node in program.nodes if node.op is call]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """Empty caches; returns the programs that calls run, of which executables are made from now on."""
    made: list[Program] = []
    original = dispatch.NATIVE.as_function

    def counted(program: Program, signature: Any, options: Any) -> Any:
        if signature is None:
            made.append(program)
        return original(program, signature, options)

    monkeypatch.setattr(dispatch, "EXECUTABLES", Cache(512))
    monkeypatch.setattr(derived_programs, "BUILT", Cache(512))
    monkeypatch.setattr(dispatch.NATIVE, "as_function", counted)
    return made


def test_planning_grows_with_the_distinct_code(fresh: list[Program]) -> None:
    """Nodes to plan: a few for each further step. Plans of what is called: as many for 100 steps as for 400."""
    step = primad.jit(plain_step)
    sizes, distinct = {}, {}
    for count in (100, 400):
        program = primad.simplify(vjp(primad.trace(simulation(step, count))(0.7)))
        sizes[count] = len(program.nodes)
        distinct[count] = len({of.key for of in called(program)})
    assert (sizes[400] - sizes[100]) / 300 <= 12
    assert distinct[100] == distinct[400] <= 3
    primad.grad(simulation(step, 100))(0.7)
    planned = len(fresh)
    assert not planned  # in a loop that is found, no step is apart
    primad.grad(simulation(step, 400))(0.7)
    primad.jit(primad.grad(simulation(primad.jit(plain_step), 150)))(0.3)
    assert len(fresh) == planned


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("size", "most"), [(3, 7), (1100, 2)])  # residuals joined, and apart
def test_what_is_derived_of_a_call_is_found_again(
    fresh: list[Program], monkeypatch: pytest.MonkeyPatch, size: int, most: int
) -> None:
    """For another number of steps the program of the steps is planned, and nothing of a step: at any order and mode."""
    monkeypatch.setattr(jitted, "RECORDED_IN_PLACE", 100)
    prepared: list[Program] = []
    original = dispatch.NATIVE.prepare

    def counted(program: Program, options: Any) -> Any:
        prepared.append(program)
        return original(program, options)

    monkeypatch.setattr(dispatch.NATIVE, "prepare", counted)
    step = primad.jit(plain_step)

    def loss(count: int) -> Function:
        def total(p: Any) -> Any:
            state = {"x": np.linspace(0.0, 1.0, size), "v": np.zeros(size)}
            for _ in range(count):
                state = step(state, p)
            return np.sum(state["x"])

        return total

    ways: list[Function] = [
        lambda n: primad.jit(loss(n))(0.7),
        lambda n: primad.grad(loss(n))(0.7),
        lambda n: primad.jvp(loss(n), (0.7,), (1.0,)),
        lambda n: primad.jit(primad.grad(loss(n)))(0.7),
        lambda n: primad.vmap(primad.grad(loss(n)))(np.array([0.7, 0.3])),
        lambda n: primad.grad(primad.grad(loss(n)))(0.7),
        lambda n: primad.jvp(primad.grad(loss(n)), (0.7,), (1.0,)),
    ]
    for derive in ways[:most]:
        derive(8)
        before, whole = len(fresh), len(prepared)
        derive(11)
        assert len(fresh) == before
        assert len(prepared) <= whole + 1


def derivatives(f: Function) -> list[Any]:
    stack = np.array([0.7, 0.3])
    return [
        f(0.7),
        primad.grad(f)(0.7),
        primad.jvp(f, (0.7,), (1.5,)),
        primad.vjp(f, 0.7)[1](1.5),
        primad.linearize(f, 0.7)[1](1.5),
        primad.grad(primad.grad(f))(0.7),
        primad.jvp(primad.grad(f), (0.7,), (1.5,))[1],
        primad.grad(lambda p: primad.jvp(f, (p,), (1.5,))[1])(0.7),
        primad.vmap(primad.grad(f))(stack),
        primad.jit(primad.value_and_grad(f))(0.7),
        primad.jit(f)(0.7),
    ]


@pytest.mark.exhaustive
def test_derivatives_through_calls_are_those_in_place() -> None:
    step = primad.jit(plain_step)
    assert called(primad.trace(simulation(step, 11))(0.7))
    found, expected = derivatives(simulation(step, 11)), derivatives(simulation(plain_step, 11))
    for got, wanted in zip(primad.recording.tree.leaves(found), primad.recording.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)


@pytest.mark.one_in(2)
@thinned(3, seed=range(8))
def test_calls_of_random_programs(seed: int) -> None:
    """A program and a call of it have the same values, derivatives of orders 1 and 2, and stacks."""
    program = draw_program(Seeded(seed))
    of = ClosedProgram(program)
    caller = primad.trace(lambda *xs: apply_program_op(call, of, xs))(*program.in_types)
    assert called(caller) == [of]
    rng = np.random.default_rng(seed)
    every = [True] * len(program.inputs)
    for change in (jvp, lambda p: jvp(vjp(p)), lambda p: vjp(jvp(p)), lambda p: vjp(vmap(p, every, 2))):
        direct, indirect = primad.simplify(change(program)), primad.simplify(change(caller))
        values = [rng.uniform(0.3, 1.2, type.shape) for type in direct.in_types]
        with np.errstate(all="ignore"):
            expected, found = direct(*values), indirect(*values)
        for got, wanted in zip(
            primad.recording.tree.leaves(found), primad.recording.tree.leaves(expected), strict=True
        ):
            np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8 * (1 + np.nanmax(np.abs(wanted), initial=0.0)))


def test_forward_mode_computes_values_and_tangents_in_one_application() -> None:
    """Where nothing is transposed no law has to join anything: a mark costs nothing, and a call stays one."""
    x = ArrayType((3,), float)
    directly = [primad.trace(lambda x: plain_step({"x": x, "v": x}, 0.7)["x"])(x)]
    for _ in range(2):
        directly.append(jvp(directly[-1]))
    for op in (call, checkpoint):
        program = primad.trace(lambda x, op=op: apply_program_op(op, ClosedProgram(directly[0]), [x]))(x)
        for plain in map(primad.simplify, directly):
            marked = primad.simplify(program)
            assert len(called(marked)) == (op is call)
            assert primad.simplify(without_calls(marked)).cost() == plain.cost()
            program = jvp(program)


def test_tiles_run_through_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the points; where nothing is large, or a program is long, calls stay."""

    def loss(p: Any, x: Any, step: Function) -> Any:
        state = {"x": x, "v": x * 0.0}
        for _ in range(6):
            state = step(state, p)
        return np.sum(state["x"] ** 2)

    def pointwise(state: Any, p: Any) -> Any:
        x, v = state["x"], state["v"]
        for k in range(12):
            v = v - 0.01 * np.sin(p * x + 0.1 * k)
            x = x + 0.01 * v
        return {"x": x, "v": v}

    monkeypatch.setattr(jitted, "RECORDED_IN_PLACE", 60)
    step = primad.jit(pointwise)

    def planned(step: Function, size: int, along: tuple[int, int] | None = None) -> Any:
        program = primad.trace(partial(loss, step=step))(0.7, np.zeros(size))
        return make_plan(primad.simplify(vjp(program, (True, False))), along=along)

    plans = [planned(f, 60_000) for f in (step, pointwise)]
    assert all(plan.tiles is not None for plan in plans)
    assert all(plan.peak_bytes < 60_000 * 8 for plan in plans)  # one of some four hundred values
    assert not called(planned(step, 30, along=(1, 0)).program)  # an axis that is named can be cut
    x = np.linspace(-1.0, 1.0, 60_000)
    found = primad.grad(partial(loss, step=step))(0.7, x)
    assert found == pytest.approx(primad.grad(partial(loss, step=pointwise))(0.7, x), rel=1e-9)
    assert called(planned(step, 30).program)
    monkeypatch.setattr(tiled_plan, "MOST_OPS", 300)
    assert called(planned(step, 60_000).program)


@pytest.mark.exhaustive
def test_explain_names_what_is_called() -> None:
    """The step's pieces by name, as often as the program and what it calls call them, with their part of the work."""
    step = primad.jit(plain_step)

    def twice(state: Any, p: Any) -> Any:
        for _ in range(14):
            state = step(state, p)
        return state

    report = primad.explain(primad.grad(simulation(primad.jit(twice), 20)), 0.7)
    program = report.program
    direct = called(program)
    runs = [*direct, *(inner for of in direct for inner in called(of.hoisted))]
    assert len(runs) > len(direct) > 0
    for name in ("twice", "plain_step"):
        entries = [entry for entry in report.calls if name in entry.name]
        own = [of for of in runs if name in of.program.label]
        assert sum(entry.times for entry in entries) == len(own)
        flops = sum(of.hoisted.cost().flops for of in own)
        assert sum(entry.share for entry in entries) == pytest.approx(flops / program.cost().flops)
        assert all(f"calls {entry}" in str(report) for entry in entries)
    assert sum(entry.times for entry in report.calls) == len(runs)


def test_what_is_small_or_rare_is_recorded_in_place() -> None:
    """The laws see through it: the same program as without jit."""
    few = simulation(primad.jit(plain_step), 5)
    assert primad.trace(few)(0.7).key == primad.trace(simulation(plain_step, 5))(0.7).key
    small = primad.jit(lambda x: 1.01 * np.sin(x))

    def many(x: Any, f: Function) -> Any:
        for _ in range(RECORDED_IN_PLACE):
            x = f(x)
        return x

    assert not called(primad.trace(partial(many, f=small))(0.7))


def test_a_jitted_function_in_a_laplacian_costs_what_it_costs_without() -> None:
    def u(x: Any, w: Any) -> Any:
        for matrix in w:
            x = np.tanh(matrix @ x)
        return np.sum(x)

    def loss(w: Any, points: Any, f: Function) -> Any:
        return np.sum(primad.vmap(primad.laplacian(lambda x: f(x, w)))(points) ** 2)

    w = [np.eye(4) * 0.5, np.ones((4, 4)) / 4]
    args = w, np.ones((7, 4))
    costs = []
    for f in (u, primad.jit(u)):
        program = primad.trace(primad.grad(lambda w, points, f=f: loss(w, points, f)))(*args)
        costs.append(primad.simplify(program).cost())
    assert costs[0] == costs[1]


def test_static_arguments_tell_calls_apart() -> None:
    """A function with a static argument is called as one without, a program for each value of the argument."""

    def plain(x: Any, how: Any, scale: Any = 1.0) -> Any:
        for _ in range(30):
            x = x + 0.01 * scale * (np.sin(x) if how == "sine" else np.cos(x))
        return x

    step = primad.jit(plain, static_argnums=1)

    def run(x: Any, f: Function, hows: Any) -> Any:
        for _ in range(22):
            for how in hows:
                x = f(x, how, scale=0.5)
        return np.sum(x)

    x = np.array([0.3, 0.7])
    program = primad.trace(partial(run, f=step, hows=("sine", "cosine")))(x)
    assert len({of.key for of in called(program)}) == 2
    found = primad.grad(partial(run, f=step, hows=("sine", "cosine")))(x)
    expected = primad.grad(partial(run, f=plain, hows=("sine", "cosine")))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    uncomparable = (x, np.ones(2))  # recorded in place, as ever
    assert not called(primad.trace(partial(run, f=step, hows=[uncomparable]))(x))


def test_functions_that_see_values_or_close_over_traced_ones_stay_in_place() -> None:
    @primad.jit
    def branching(x: Any) -> Any:
        for _ in range(40):
            x = np.sin(x) + (0.1 if x > 0 else -0.1)
        return x

    def f(x: Any) -> Any:
        for _ in range(30):
            x = branching(x)
        return x

    expected = 0.7
    for _ in range(30 * 40):
        expected = np.sin(expected) + (0.1 if expected > 0 else -0.1)
    assert primad.value_and_grad(f)(0.7)[0] == pytest.approx(expected)

    def g(x: Any) -> Any:
        inner = primad.jit(lambda y: plain_step({"x": y * x, "v": y}, 0.7)["x"])
        y = np.ones(3)
        for _ in range(30):
            y = inner(y * x)
        return np.sum(y)

    def direct(x: Any) -> Any:
        y = np.ones(3)
        for _ in range(30):
            y = plain_step({"x": y * x * x, "v": y * x}, 0.7)["x"]
        return np.sum(y)

    assert primad.grad(g)(0.99) == pytest.approx(primad.grad(direct)(0.99), rel=1e-9)


def test_numbers_adopt_the_dtype_that_they_meet_in_a_call_too() -> None:
    def step(x: Any, h: Any) -> Any:
        for _ in range(30):
            x = x + h * np.sin(x)
        return x

    def run(x: Any, f: Function) -> Any:
        for _ in range(40):
            x = f(x, h=0.01)
        return np.sum(x)

    x = np.ones(3, np.float32)
    assert called(primad.trace(partial(run, f=primad.jit(step)))(x))
    found = primad.grad(partial(run, f=primad.jit(step)))(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, primad.grad(partial(run, f=step))(x), rtol=1e-4)


def test_rules_of_a_users_own_hold_inside_of_calls_at_every_order() -> None:
    """With a rule that is wrong on purpose one sees whether it is used."""

    @primad.custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), 3.0 * f(x) * t

    @primad.custom_vjp
    def h(x: Any) -> Any:
        return np.sin(x)

    h.defvjp(lambda x: (h(x), x), lambda x, ct: (3.0 * h(x) * ct,))

    for inner in (f, h):
        of = ClosedProgram(primad.trace(lambda x, inner=inner: inner(x) * 1.0 + 0.0 * x)(0.5))
        through = primad.grad(lambda x, of=of: call(x, *[0.0] * len(of.program.sources), of=of))
        assert through(0.5) == pytest.approx(3.0 * np.sin(0.5))
        assert primad.grad(through)(0.5) == pytest.approx(9.0 * np.sin(0.5))
        assert primad.grad(primad.grad(through))(0.5) == pytest.approx(27.0 * np.sin(0.5))


def test_text_reads_back_and_lowering_descends() -> None:
    program = primad.trace(simulation(primad.jit(plain_step), 20))(0.7)
    again = primad.parse(str(program))
    assert again.key == program.key
    assert again(0.7) == program(0.7)
    assert any(node.op.name == "mean" for node in called(program)[0].hoisted.nodes)
    lowered = primad.lower(program)
    assert len(called(lowered)) == len(called(program)) > 0
    assert not any(node.op.name == "mean" for of in called(lowered) for node in of.hoisted.nodes)
    plain = primad.lower(primad.trace(simulation(plain_step, 20))(0.7))
    assert lowered.cost().flops == pytest.approx(plain.cost().flops, rel=0.1)


def test_transposing_looks_into_calls() -> None:
    def affine(x: Any, shift: float) -> Any:
        for k in range(40):
            x = x * 1.01 + np.flip(x) * 0.1 * k + shift
        return x

    def repeated(x: Any, shift: float) -> Any:
        f = primad.jit(lambda x: affine(x, shift))
        for _ in range(20):
            x = f(x) * 1e-3
        return x

    x = np.array([1.0, 2.0])
    assert called(primad.trace(partial(repeated, shift=0.0))(x))
    pulled = primad.linear_transpose(partial(repeated, shift=0.0), x)(x)[0]
    np.testing.assert_allclose(pulled, primad.vjp(partial(repeated, shift=0.0), x)[1](x)[0], rtol=1e-9)
    with pytest.raises(primad.NotDifferentiableError, match="affine"):
        primad.linear_transpose(partial(repeated, shift=1.0), x)


def test_what_happens_along_an_axis_is_seen_through_calls() -> None:
    """The function of a point stays one of each point, however often a step is repeated."""

    @primad.jit
    def pointwise(x: Any) -> Any:
        for k in range(8):
            x = np.sin(np.cos(x) * x + k) + 0.1 * np.exp(-x * x)
        return x

    def repeated(x: Any) -> Any:
        for _ in range(30):
            x = pointwise(x)
        return x

    x = np.linspace(0.1, 0.9, 5)
    assert called(primad.trace(repeated)(x))
    np.testing.assert_allclose(primad.derivative(repeated)(x), primad.jvp(repeated, (x,), (np.ones(5),))[1], rtol=1e-9)


@pytest.mark.one_in(2)
@thinned(2, size=[2, 200], instructions=[BUDGET.instructions, -1])
def test_calls_in_bodies_of_loops_are_native(size: int, instructions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In registers or by calls, in each other and in loops of loops, with the values and derivatives of the steps."""
    monkeypatch.setattr(jitted, "RECORDED_IN_PLACE", 0)
    monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, instructions=instructions))
    monkeypatch.setattr(closed_bodies, "SHORT_STEP", instructions)
    for module in (dispatch, loop_executables):
        monkeypatch.setattr(module, "EXECUTABLES", Cache(512))

    def force(x: Any, p: Any) -> Any:
        return np.sin(x * p) - 0.1 * x[::-1]

    def model(mark: Function, scan: Function) -> Function:
        pull = mark(force)

        def move(c: Any, p: Any) -> Any:
            x, v = c
            v = v + 0.1 * pull(x, p)
            return (x + 0.1 * v, v), np.sum(x * v)

        move = mark(move)

        def step(c: Any, h: Any) -> Any:
            c, y = move(c, h)
            (x, v), ys = scan(lambda c, p: move(c, p * h), c, np.array([0.3, 0.8]))
            return (x, v + 0.01 * pull(v, h)), y + np.sum(ys)

        def loss(p: Any) -> Any:
            start = np.linspace(0.2, 0.9, size)
            (x, v), ys = scan(step, (start, start * p), p * np.array([0.5, 0.9, 1.2]))
            return np.sum(x * v) + np.sum(ys**2)

        return loss

    def steps(f: Function, carry: Any, xs: Any) -> Any:
        found = []
        for x in xs:
            carry, y = f(carry, x)
            found.append(y)
        return carry, np.stack(found)

    looped, plain = model(primad.jit, primad.scan), model(lambda f: f, steps)
    in_bodies = [node for node in applications(primad.trace(looped)(0.7)) if node.op is call]
    assert bool(in_bodies) == (instructions < 0 or size > 2)
    found, expected = (primad.recording.tree.leaves(derivatives(f)) for f in (looped, plain))
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)
    ways = [made.summary for key, made in loop_executables.EXECUTABLES.items() if key.kind == "loop"]
    assert ways and not [summary for summary in ways if "Python" in summary]
    assert primad.explain(primad.grad(looped), 0.7).plan.summary == "one native function"


def test_an_op_that_fails_in_a_call_in_a_native_loop_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jitted, "RECORDED_IN_PLACE", 0)
    picked = primad.jit(lambda x, i: primad.numpy.take(x, i) * 2.0 + np.sum(np.exp(x)))

    def total(x: Any) -> Any:
        return primad.scan(lambda c, i: (c + picked(x, i), None), 0.0, np.array([0, 1, 77, 2]))[0]

    with pytest.raises(primad.IndexShapeError, match=r"(?s)77.*test_calls\.py"):
        primad.jit(total)(np.ones(60))
