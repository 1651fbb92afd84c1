"""Loops: a scan has the values and derivatives, of any order, of its steps written one after the other."""

from __future__ import annotations

import itertools
import re
import signal
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.functional.control import inlining as jitted
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.native.emit import op_table, vector_functions
from primad.native.llvm import vectors
from primad.native.llvm.compile_limits import BUDGET
from primad.programs.loops import closed_bodies, residual_selection
from primad.programs.loops.scan import Form
from primad.programs.loops.scan import scan as scan_op
from primad.programs.loops.while_loop import while_loop as while_op
from primad.programs.rerolling.node_sequences import same_value
from primad.recording import tree
from primad.recording.tracing import program_of
from primad.runtime.cache import Cache
from primad.runtime.executors import dispatch
from primad.runtime.loops import binomial_schedule, driven_loops, loop_executables, loop_runs, row_streams
from primad.runtime.plan import compiled_program
from primad.runtime.plan.interpreter import Plan
from primad.simplify.own_definitions import is_cheap
from primad.transforms import jvp, vjp, vmap
from primad.transforms.lowering import inline
from primad.transforms.reverse import transposed_program
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program, refilled
from tests.sweeps import thinned

Function = Callable[..., Any]
X = np.ones(3)


def unrolled(f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    """Do what a scan does, by a loop of Python."""
    rows = primad.recording.tree.leaves(xs)
    count = rows[0].shape[0] if rows else length
    assert count is not None
    structure = primad.recording.tree.flatten(xs)[1]
    carry, found = init, {}
    for i in reversed(range(count)) if reverse else range(count):
        carry, found[i] = f(carry, primad.recording.tree.unflatten(structure, [x[i] for x in rows]))
    ys = [primad.recording.tree.flatten(found[i]) for i in range(count)]
    stacks = [primad.numpy.stack(column) for column in zip(*[leaves for leaves, _ in ys], strict=True)]
    return carry, primad.recording.tree.unflatten(ys[0][1], stacks) if ys else None


def close(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    for got, wanted in zip(primad.recording.tree.leaves(found), primad.recording.tree.leaves(expected), strict=True):
        scale = 1 + np.nanmax(np.abs(wanted), initial=0.0)
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale)


def pendulum(loop: Function, count: int = 5) -> Function:
    """A tree is carried; the body closes over a traced value, an array, and a number."""

    def loss(p: Any) -> Any:
        force = np.linspace(0.1, 0.5, count)
        offset = np.array([0.3, -0.2])

        def step(state: Any, f: Any) -> Any:
            x, v = state["x"], state["v"]
            v = v + 0.1 * (f * np.cos(x) - p[0] * np.sin(x) - p[1] * v + offset)
            x = x + 0.1 * v
            return {"x": x, "v": v}, (np.sum(x * v), v * v)

        start = {"x": np.array([0.5, 1.0]) * p[1], "v": np.zeros(2)}
        state, (energy, speed) = loop(step, start, force)
        return np.sum(state["x"] ** 2) + np.sum(energy * force) + np.sum(np.sin(speed))

    return loss


def derivatives(f: Function) -> list[Any]:
    p, v = np.array([0.7, 0.2]), np.array([1.0, -0.5])
    stack = np.stack([p, 2 * p, p + 1])
    return [
        f(p),
        primad.grad(f)(p),
        primad.jvp(f, (p,), (v,)),
        primad.vjp(f, p)[1](1.5),
        primad.linearize(f, p)[1](v),
        primad.hessian(f)(p),
        primad.jvp(primad.grad(f), (p,), (v,)),
        primad.grad(lambda q: primad.jvp(f, (q,), (v,))[1])(p),
        primad.grad(lambda q: np.sum(primad.grad(f)(q) * v))(p),
        primad.vmap(f)(stack),
        primad.vmap(primad.grad(f))(stack),
        primad.grad(lambda qs: np.sum(primad.vmap(f)(qs) ** 2))(stack),
        primad.grad(lambda q: np.trace(primad.hessian(f)(q)))(p),
        primad.laplacian(f)(p),
        primad.taylor(f, p, v, 3),
        primad.jit(primad.value_and_grad(f))(p),
    ]


def test_derivatives_are_those_of_the_steps() -> None:
    close(derivatives(pendulum(primad.scan)), derivatives(pendulum(unrolled)), 1e-8)


def test_nested_loops() -> None:
    def nested(loop: Function) -> Function:
        def f(p: Any) -> Any:
            def outer(c: Any, x: Any) -> Any:
                def inner(d: Any, y: Any) -> Any:
                    return np.sin(d * p[0]) + x * y, d * c

                d, ys = loop(inner, c * p[1], np.array([0.1, 0.4]))
                return d + 0.1 * np.sum(ys), ys

            c, ys = loop(outer, p[0] * np.array([0.2, 0.5]), np.array([0.5, -0.3, 0.2]))
            return np.sum(c) + np.sum(ys**2)

        return f

    close(derivatives(nested(primad.scan)), derivatives(nested(unrolled)), 1e-8)


@pytest.mark.one_in(4)
@thinned(3, seed=range(24))
def test_loops_of_random_programs(seed: int) -> None:
    """Values, derivatives of orders 1 and 2 and stacks are those of the steps, for 0 to 4 of them, both ways."""
    choose = Seeded(seed)
    program = draw_program(choose, 4)
    count, length, reverse = len(program.inputs), seed % 5, bool(seed % 2)
    carried = choose.integer(0, count)
    others = [refill for refill in range(carried, count) if choose.integer(0, 1)]

    def body(carry: Any, x: Any) -> Any:
        state, rows = list(carry), iter(x)
        inputs = [*state, *(next(rows) if i in others else kept[i] for i in range(carried, count))]
        out = inline(program, inputs)
        after = [np.sin(refilled(out[i % len(out)], state[i].shape)) for i in range(carried)]
        return after, [np.sin(y) for y in out]

    kept: dict[int, Any] = {}

    def whole(loop: Function) -> primad.Program:
        def f(*args: Any) -> Any:
            kept.update({i: args[i] for i in range(carried, count)})
            xs = [args[i] for i in others]
            return loop(body, list(args[:carried]), xs, length, reverse)

        types = [
            primad.ArrayType((length, *type.shape) if i in others else type.shape, float)
            for i, type in enumerate(program.in_types)
        ]
        return primad.trace(f)(*types)

    if length == 0:
        (_, direct), looped = (None, None), whole(primad.scan)
        values = [np.full(type.shape, 0.5) for type in looped.in_types]
        close(looped(*values)[0], values[:carried])
        primad.simplify(vjp(jvp(looped)))
        return
    direct, looped = whole(unrolled), whole(primad.scan)
    rng = np.random.default_rng(seed)
    every = [True] * count
    for change in (lambda p: p, jvp, lambda p: jvp(vjp(p)), lambda p: vjp(jvp(p)), lambda p: vjp(vmap(p, every, 2))):
        expected, found = primad.simplify(change(direct)), primad.simplify(change(looped))
        values = [rng.uniform(0.3, 1.2, type.shape) for type in expected.in_types]
        with np.errstate(all="ignore"):
            close(found(*values), expected(*values), 1e-7)


def test_a_python_number_may_be_carried_under_jit() -> None:
    """Its loop has several results, and none of them says what type the number adopts."""
    found = primad.jit(lambda x: primad.scan(lambda c, _: (np.sin(c), c), x, length=2))(1.0)
    close(found, (np.sin(np.sin(1.0)), np.array([1.0, np.sin(1.0)])))


class Steps:
    """Loops and branches by Python, which know their values."""

    scan = staticmethod(unrolled)

    @staticmethod
    def while_loop(goes_on: Function, body: Function, state: Any, most: int) -> Any:
        while primad.value(goes_on(state)):
            state = body(state)
        return state

    @staticmethod
    def cond(on: Any, yes: Function, no: Function, *operands: Any) -> Any:
        return yes(*operands) if primad.value(on) else no(*operands)


def drawn_loops(rng: Any, depth: int) -> Function:
    """Draw what is done in a step: (way, p, state, x) -> (state, y), with a loop, a branch or a call inside."""
    kind = ("scan", "while_loop", "cond")[int(rng.integers(0, 3))] if depth else "plain"
    shape = int(rng.integers(0, 3))
    factor, shift = rng.uniform(0.4, 0.9), rng.uniform(-0.5, 0.5)
    matrix, called = rng.uniform(-0.6, 0.6, (3, 3)), bool(rng.integers(2))

    def written(way: Any, p: Any, state: Any, x: Any) -> Any:
        moved = np.sin(factor * state + x * p[0]) if shape else state @ matrix + shift * np.cos(state * p[1] + x)
        return (moved, np.sum(moved) * x) if shape < 2 else (moved[::-1] * p[1], np.stack([x, p[0]]))

    def plain(way: Any, *args: Any) -> Any:
        return primad.jit(lambda *args: written(way, *args))(*args) if called and way is primad else written(way, *args)

    if not depth:
        return plain
    inside = drawn_loops(rng, depth - 1)
    length, reverse, most = int(rng.integers(0, 5)), bool(rng.integers(2)), int(rng.integers(1, 7))
    bound, keeps = rng.uniform(-1.0, 2.0), bool(rng.integers(2))
    other = drawn_loops(rng, depth - 1)

    def step(way: Any, p: Any, state: Any, x: Any) -> Any:
        state, y = plain(way, p, state, x)
        if kind == "scan":
            rows = np.linspace(-0.5, 0.5, length) + x
            state, ys = way.scan(lambda c, r: inside(way, p, c, r), state, rows, None, reverse)
            return state + (0.1 * np.sum(ys**2) if keeps and length else 0.0), y
        if kind == "cond":
            state = way.cond(
                np.sum(state) > bound, lambda c: inside(way, p, c, x)[0], lambda c: other(way, p, c, 2 * x)[0], state
            )
            return state, y
        state, n = way.while_loop(
            lambda c: (c[1] < most) & (np.sum(c[0] ** 2) > bound),
            lambda c: (inside(way, p, c[0], x)[0], c[1] + 1),
            (state, 0),
            10,
        )
        return state + (0.0 * n if keeps else 0.0), y

    return step


@pytest.mark.one_in(2)
@thinned(2, seed=range(6))
def test_random_loops_inside_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In registers or by calls, with vectors of any width, they have the values and derivatives of Python's steps."""
    if seed in (1, 4):
        monkeypatch.setattr(vectors, "WIDTH_BYTES", 64)
        monkeypatch.setattr(vector_functions, "libmvec", dict)  # whose functions take no vectors that a processor lacks
    if seed % 2:
        monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, instructions=-1))
    if seed % 3:
        monkeypatch.setattr(closed_bodies, "SHORT_STEP", -1)
    monkeypatch.setattr(jitted, "RECORDED_IN_PLACE", 0)
    rng = np.random.default_rng(seed)
    step = drawn_loops(rng, 2)
    count, reverse = int(rng.integers(2, 5)), bool(rng.integers(2))

    rows = np.linspace(0.2, 0.8, count)

    def whole(way: Any) -> Function:
        def f(p: Any) -> Any:
            start = np.array([0.3, -0.2, 0.5]) * p[1]
            state, ys = way.scan(lambda c, x: step(way, p, c, x), start, rows, None, reverse)
            return np.sum(state**2) + np.sum(ys)

        return f

    looped, plain = whole(primad), whole(Steps)
    points, v = np.array([[0.7, 0.4], [1.1, -0.6]]), np.array([1.0, -0.5])
    gradients = [primad.value_and_grad(plain)(p) for p in points]
    close(primad.jit(primad.value_and_grad(looped))(points[0]), gradients[0], 1e-8)
    close(primad.vmap(primad.grad(looped))(points), np.stack([gradient for _, gradient in gradients]), 1e-8)
    if seed % 3 == 0:
        close(primad.jit(lambda p: primad.hvp(looped, p, v))(points[0]), primad.hvp(plain, points[0], v), 1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(0,), (4, 0)])
@pytest.mark.parametrize("instructions", [BUDGET.instructions, -1])
def test_loops_of_no_elements(shape: tuple[int, ...], instructions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of no elements have a place in each kind of loop, too."""
    monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, instructions=instructions))

    def f(v: Any) -> Any:
        _, v = primad.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.sin(s[1])), (0, v))
        v = primad.cond(np.sum(v) > 0, lambda c: np.sin(c), lambda c: c * c, v)
        v, sums = primad.scan(lambda c, x: (np.sin(c) * x, np.sum(c)), v, np.ones((3, *shape)))
        return np.sum(v) + np.sum(sums)

    v = np.zeros(shape)
    assert primad.jit(f)(v) == 0.0
    for transform in (primad.grad, primad.hessian, lambda f: primad.vmap(primad.grad(f))):
        given = v[None] if transform not in (primad.grad, primad.hessian) else v
        found = primad.jit(transform(f))(given)
        assert found.shape == transform(f)(given).shape and not found.size


def loops_in(program: primad.Program) -> list[Any]:
    return [node for node in program.nodes if node.op is scan_op]


def least_bytes(wanted: list[Any], free: set[Any]) -> int:
    """Find by trying all sets how many bytes must be kept."""
    found = dict.fromkeys(x for node in wanted for x in ancestors(node) if x not in free)
    nodes = [x for x in found if not residual_selection._is_constant(x)]
    best = sum(node.type.nbytes for node in nodes)
    for chosen in itertools.product((False, True), repeat=len(nodes)):
        kept = {node for node, on in zip(nodes, chosen, strict=True) if on}
        if sum(node.type.nbytes for node in kept) < best and all(follows(node, kept | free) for node in wanted):
            best = sum(node.type.nbytes for node in kept)
    return best


def ancestors(node: Any) -> list[Any]:
    return [node, *(x for operand in node.inputs for x in ancestors(operand))]


def follows(node: Any, known: set[Any]) -> bool:
    again = residual_selection._is_constant(node) or is_cheap(node)
    return node in known or (again and all(follows(x, known) for x in node.inputs))


@pytest.mark.parametrize("seed", range(20))
def test_the_fewest_bytes_are_kept_from_which_the_rest_follows(seed: int) -> None:
    choose = Seeded(seed)

    def f(x: Any, y: Any, z: Any) -> list[Any]:
        made = [x, y, z]
        for _ in range(6):
            kind, a, b = choose.integer(0, 4), *(made[choose.integer(0, len(made) - 1)] for _ in range(2))
            a, b = np.broadcast_arrays(a, b) if kind < 3 else (a, b)
            made.append([a * b, a + b, a - 2 * b, np.tanh(a), np.sum(a)][kind])
        return made

    program = primad.simplify(primad.trace(f)(np.ones(4), np.ones(2)[0], np.ones(4)))
    wanted = [node for node in program.outputs if choose.integer(0, 1)]
    free = {program.inputs[2]}
    found = residual_selection.fewest(wanted, free)
    assert all(follows(node, {*found}) for node in wanted)
    assert sum(node.type.nbytes for node in found if node not in free) == least_bytes(wanted, free)


def test_of_a_step_of_arithmetic_its_state_is_kept() -> None:
    """However much its derivative reads: what follows from it by arithmetic is computed again."""

    def f(p: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            k = p[0] * c * c - p[1] * np.flip(c)
            return c + 0.1 * (k + (c + 0.1 * k) ** 3), None

        return np.sum(primad.scan(step, p, length=5)[0])

    first, _ = loops_in(primad.simplify(vjp(primad.trace(f)(np.array([0.7, 0.2])))))
    assert [type.shape for type in first.type.types] == [(2,), (5, 2)]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_comes_back_to_a_matrix_is_one_product_after_the_loop(reverse: bool) -> None:
    """Vectors of each step are stacked, no sum is carried; all orders, modes and stacks are those of the steps."""

    def recurrent(loop: Function) -> Function:
        def f(w: Any) -> Any:
            def step(c: Any, x: Any) -> Any:
                z = np.concatenate([c, x]) @ w + np.max(w)
                return np.tanh(z[:8]) * z[8:], np.sum(c)

            c, y = loop(step, w[0, :8], np.sin(np.arange(24.0)).reshape(3, 8), reverse=reverse)
            return np.sum(c**2) + np.sum(y)

        return f

    f, plain = recurrent(primad.scan), recurrent(unrolled)
    w, v = np.cos(np.arange(512.0)).reshape(2, 16, 16) / 4
    _, back = loops_in(primad.simplify(vjp(primad.trace(f)(w))))
    assert all(type.size < w.size for type in back.type.types)
    ways: list[Function] = [
        lambda f: primad.grad(f)(w),
        lambda f: primad.jvp(primad.grad(f), (w,), (v,)),
        lambda f: primad.grad(lambda u: np.sum(primad.grad(f)(u) * v))(w),
        lambda f: primad.grad(lambda u: primad.jvp(f, (u,), (v,))[1])(w),
        lambda f: primad.vmap(primad.grad(f))(np.stack([w, v])),
        lambda f: primad.grad(lambda ws: np.sum(primad.vmap(f)(ws) ** 2))(np.stack([w, v])),
    ]
    close([way(f) for way in ways], [way(plain) for way in ways])


def test_a_loop_is_one_node_and_its_gradient_two() -> None:
    """However many steps there are, programs are as long."""
    sizes = []
    for count in (3, 300):
        program = primad.simplify(vjp(primad.trace(pendulum(primad.scan, count))(np.array([0.7, 0.2]))))
        assert len(loops_in(program)) == 2
        sizes.append(len(program.nodes))
    assert sizes[0] == sizes[1]


def test_a_loop_of_at_most_one_step_is_its_body() -> None:
    """Laws see through it, and so do derivatives; in any case it is what a loop of as many steps gives."""
    p = np.array([0.7, 0.2])
    one = pendulum(primad.scan, 1)
    close(derivatives(one), derivatives(pendulum(unrolled, 1)))
    assert "scan" not in str(primad.trace(primad.grad(one))(p))
    for reverse in (False, True):

        def none(p: Any, reverse: bool = reverse) -> Any:
            rows = np.zeros((0, 2)) * p
            return primad.scan(lambda c, x: (c * np.sin(x), (c, np.sum(x))), 3 * p, rows, reverse=reverse)

        carry, (states, sums) = none(p)
        np.testing.assert_array_equal(carry, 3 * p)
        assert (states.shape, sums.shape) == ((0, 2), (0,))
        assert "scan" not in str(primad.trace(none)(p))
        np.testing.assert_array_equal(primad.jacobian(lambda p: none(p)[0])(p)[:], 3 * np.eye(2))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_counted_loop_takes_as_many_steps_as_there_are_rows_at_most(reverse: bool) -> None:
    """Of a count below none it takes none: by its definition, in native code and written out, as Python's loop does."""
    types = [ArrayType((2,), float), ArrayType((), float)]
    body = ClosedProgram(program_of(types, lambda c, x: [np.sin(c) * x, c * x]))
    given = [np.array([0.7, 0.2]), np.array([0.5, 1.5, 2.5])]
    options = {"of": body, "carry": 1, "stacked": 1, "length": 3, "reverse": reverse, "counted": True}
    program = program_of(
        [ArrayType((), np.int64), types[0], ArrayType((3,), float)], lambda *xs: list(scan_op(*xs, **options))
    )
    for count in range(-2, 6):
        state, rows = given[0], np.zeros((3, 2))
        taken = range(min(max(count, 0), 3))
        for i in reversed(taken) if reverse else taken:
            state, rows[i] = np.sin(state) * given[1][i], state * given[1][i]
        operands = [np.array(count), *given]
        for found in (scan_op.numpy(*operands, **options), program(*operands), dispatch.prepare(program).run(operands)):
            close(list(found), [state, rows])


@pytest.mark.parametrize("length", range(3))
def test_loops_whose_bodies_are_constants(length: int) -> None:
    """Nothing that they take is traced; this raised a ShapeError for a number."""
    for y in (1.5, np.ones(2)):
        f = primad.jit(lambda x, y=y: x * primad.scan(lambda c, _: ((), y), (), length=length)[1])
        np.testing.assert_array_equal(f(2.0), np.full((length, *np.shape(y)), 2.0 * y))
        np.testing.assert_array_equal(primad.scan(lambda c, _, y=y: ((), y), (), length=length)[1], f(1.0))


def test_text_reads_back_and_lowering_descends() -> None:
    def f(x: Any) -> Any:
        return primad.scan(lambda c, y: (c * np.mean(y), c), 1.5, x)

    program = primad.trace(f)(np.ones((4, 3)))
    again = primad.parse(str(program))
    assert again.key == program.key
    close(again(np.ones((4, 3))), primad.recording.tree.leaves(program(np.ones((4, 3)))))
    lowered = primad.lower(program)
    (loop,) = loops_in(lowered)
    assert not any(node.op.name == "mean" for node in dict(loop.params)["of"].hoisted.nodes)
    assert lowered.cost().flops == pytest.approx(4 * (3 + 1 + 1), abs=8)


def test_fori_loop_map_and_associative_scan() -> None:
    assert primad.fori_loop(2, 6, lambda i, x: x * 0.5 + i, 1.0) == pytest.approx(8.0625)
    assert primad.fori_loop(3, 1, lambda i, x: x + i, 1.0) == 1.0
    x = np.linspace(0.1, 0.9, 7)

    def power(p: Any) -> Any:
        return primad.fori_loop(0, 4, lambda i, c: c * p + i, 1.0)  # p**4 + p**2 + 2 p + 3

    close(primad.grad(power)(0.5), 3.5)
    close(primad.map(lambda row: {"y": np.sum(np.sin(row))}, x[:, None])["y"], np.sin(x))
    close(primad.grad(lambda x: np.sum(primad.map(np.sin, x) ** 2))(x), 2 * np.sin(x) * np.cos(x))
    for n in range(8):
        for reverse in (False, True):
            given = np.stack([x[:n], x[:n] ** 2], axis=1)
            expected = np.flip(np.cumprod(np.flip(given, 0), 0), 0) if reverse else np.cumprod(given, 0)
            close(primad.associative_scan(np.multiply, given, reverse), expected)
    for axis in (1, -1):
        close(primad.associative_scan(np.add, x[None, :], axis=axis), np.cumsum(x)[None, :])
    close(primad.associative_scan(np.add, x[:, None], axis=-2), np.cumsum(x)[:, None])
    for leaves, axis in (((x, x[None]), 1), ((x[None], x), -2), ((x, x), 1), ((), 0)):
        with pytest.raises(primad.ShapeError, match=f"no axis {axis}: their shapes"):
            primad.associative_scan(lambda a, b: a, leaves, axis=axis)
    matrices = np.random.default_rng(0).normal(size=(5, 2, 2))
    products = [matrices[0]]
    for matrix in matrices[1:]:
        products.append(products[-1] @ matrix)
    close(primad.associative_scan(np.matmul, matrices), np.stack(products))
    flipped = primad.associative_scan(np.matmul, matrices[::-1])
    close(primad.associative_scan(np.matmul, matrices, reverse=True), flipped[::-1])
    close(
        primad.grad(lambda m: np.sum(primad.associative_scan(np.matmul, m)[-1]))(matrices),
        primad.grad(lambda m: np.sum(m[0] @ m[1] @ m[2] @ m[3] @ m[4]))(matrices),
    )


def test_what_is_carried_adopts_the_dtype_that_it_gets() -> None:
    x = np.ones(3, np.float32)
    total, _ = primad.scan(lambda c, y: (c + y, None), 0, x)
    assert total == 3 and total.dtype == np.float32
    count, _ = primad.scan(lambda c, _: (c + 1, None), 0, length=4)
    assert count == 4 and count.dtype.kind == "i"
    state, _ = primad.scan(lambda c, y: ((c[1], c[0] * y), None), (0, 0), x)
    assert all(part.dtype == np.float32 for part in state)
    assert primad.scan(lambda c, y: (0.0, c), np.float32(2), x)[1].dtype == np.float32


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float16", "float32"]
)
def test_a_carried_number_adopts_every_dtype_in_every_loop(dtype: str) -> None:
    rows = np.arange(1, 4).astype(dtype)

    def scanned(start: Any, x: Any) -> Any:
        return primad.scan(lambda c, y: (c + y, c), start, x)

    def repeated(start: Any, x: Any) -> Any:
        return primad.fori_loop(0, 3, lambda i, c: c + x[1], start)

    def awaited(start: Any, x: Any) -> Any:
        return primad.while_loop(lambda c: c < 5, lambda c: c + x[0], start)

    for loop, expected in ((scanned, (7, np.array([1, 2, 4]))), (repeated, 7), (awaited, 5)):
        for found in (loop(1, rows), primad.jit(loop)(1, rows), primad.jit(lambda x, loop=loop: loop(1, x))(rows)):
            for got, wanted in zip(tree.leaves(found), tree.leaves(expected), strict=True):
                assert np.all(got == wanted) and got.dtype == dtype
        if dtype == "uint8":
            for wrong in (-1, 300):
                with pytest.raises(OverflowError):
                    loop(wrong, rows)


def test_a_linear_loop_with_a_counter_is_transposed() -> None:
    """What does not depend on the linear operands runs before, as a loop of its own."""

    def f(x: Any) -> Any:
        def step(c: Any, y: Any) -> Any:
            return (c[0] * np.sin(c[1]) + y, c[1] * 1.5), c[0] * c[1]

        return primad.scan(step, (x[0], 0.3), x)[1]

    x = np.arange(6.0).reshape(3, 2)
    program = primad.trace(f)(x)
    back = primad.simplify(transposed_program(program, [True]))
    assert len(loops_in(back)) == 2
    expected = primad.vjp(f, x)[1](x)[0]
    close(back(x), expected)
    close(primad.linear_transpose(f, x)(x)[0], expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: primad.scan(lambda c, x: (np.stack([c, c]), None), 0.5, X), r"float64\[\] before.*float64\[2\]"),
        (lambda: primad.scan(lambda c, x: (c["a"], None), {"a": np.float32(1)}, X), "structure"),
        (lambda: primad.scan(lambda c, x: ({"a": c["a"] * x}, None), {"a": np.float32(1)}, X), r"\['a'\].*float32"),
        (lambda: primad.scan(lambda c, x: c, 0.5, X), "pair"),
        (lambda: primad.scan(lambda c, x: (c, x), 0.5), "length"),
        (lambda: primad.scan(lambda c, x: (c, x), 0.5, (np.ones(3), np.ones(4))), "3 and 4"),
        (lambda: primad.scan(lambda c, x: (c, x), 0.5, X, 2), "3 and 2"),
        (lambda: primad.scan(lambda c, x: (c, x), 0.5, 1.0), "axes"),
        (lambda: primad.scan(lambda c, x: (c if c > 0 else x, x), 0.5, X), "truth value"),
        (lambda: primad.fori_loop(0.5, 3, lambda i, x: x, 0.0), "integers"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_the_line(call: Function, message: str) -> None:
    with pytest.raises(primad.PrimadError, match=message) as caught:
        call()
    assert f"in {__file__}:" in str(caught.value)


def test_a_value_that_leaves_a_body_is_refused() -> None:
    kept = []

    def body(c: Any, x: Any) -> Any:
        kept.append(c * x)
        return c + x, None

    def f(p: Any) -> Any:
        return primad.scan(body, p, np.ones(3))[0] + kept[-1]

    with pytest.raises(primad.TracingError, match=r"after its trace ended.*body"):
        primad.grad(f)(0.5)


def test_a_loop_that_adds_a_constant_is_not_linear() -> None:
    def affine(x: Any) -> Any:
        return primad.scan(lambda c, y: (c + y + 1.0, None), x[0], x)[0]

    with pytest.raises(primad.NotDifferentiableError, match="affine"):
        primad.linear_transpose(affine, X)


@pytest.fixture(params=["straight", "driven", "one by one"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Ways to run loops; returns a word of the summary."""
    monkeypatch.setattr(loop_executables, "EXECUTABLES", Cache(512))
    if request.param != "straight":
        monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, instructions=-1))
    if request.param == "one by one":
        monkeypatch.setattr(loop_executables, "compiler", lambda: None)
        monkeypatch.setattr(dispatch, "prepared_for_calls", lambda *asked, kept: dispatch.prepared(*asked))
    for module in (loop_executables, driven_loops):
        monkeypatch.setattr(module, "UNINTERRUPTED", 100)  # in pieces of few steps
    return {"straight": "registers", "driven": "calls", "one by one": "Python"}[str(request.param)]


def ways_taken() -> set[str]:
    found = [value.summary for key, value in loop_executables.EXECUTABLES.items() if key.kind == "loop"]
    return {word for summary in found for word in ("registers", "calls", "Python") if word in summary}


def test_all_ways_to_run_a_loop_agree(way: str) -> None:
    """Over rows both ways, with integers and booleans carried, with and without rows, results and fixed operands."""

    def f(p: Any, reverse: bool) -> Any:
        def step(c: Any, x: Any) -> Any:
            n, on, v, m = c
            v = np.where(on, np.sin(v) * p + x, v * x[0] + n) @ m
            return (n + 1, np.sum(v) > 0.2, v, m * 0.9 + 0.1 * np.max(m)), (v, n * 2, np.sum(v) * p)

        xs = np.linspace(-1.0, 1.0, 22).reshape(11, 2)
        c, ys = primad.scan(step, (1, True, p, np.eye(2)), xs, reverse=reverse)
        return c[2], c[3], ys

    def plain(p: Any, reverse: bool) -> Any:
        xs = np.linspace(-1.0, 1.0, 22).reshape(11, 2)
        n, on, v, m, rows = 1, True, p, np.eye(2), {}
        for i in reversed(range(11)) if reverse else range(11):
            x = xs[i]
            v = (np.sin(v) * p + x if on else v * x[0] + n) @ m
            rows[i] = v, n * 2, np.sum(v) * p
            n, on, m = n + 1, primad.value(np.sum(v)) > 0.2, m * 0.9 + 0.1 * np.max(m)
        stacks = [primad.numpy.stack(list(column)) for column in zip(*[rows[i] for i in range(11)], strict=True)]
        return v, m, tuple(stacks)

    p = np.array([0.7, -0.3])
    for reverse in (False, True):
        close(f(p, reverse), plain(p, reverse), 1e-12)

        def total(p: Any, g: Function, reverse: bool = reverse) -> Any:
            v, _, (rows, _, sums) = g(p, reverse)
            return np.sum(v * rows) + np.sum(np.sin(sums))

        close(primad.grad(total)(p, f), primad.grad(total)(p, plain), 1e-10)
    assert ways_taken() == {way}


def test_all_ways_to_run_a_while_loop_agree(way: str) -> None:
    def f(a: Any) -> Any:
        return primad.while_loop(lambda s: s[1] < 25, lambda s: (s[0] * a + np.sin(s[0]), s[1] + 1), (a, 0))[0]

    def plain(a: Any) -> Any:
        x = a
        for _ in range(25):
            x = x * a + np.sin(x)
        return x

    for a in (0.3, 0.9):
        close(f(a), plain(a), 1e-12)
        close(primad.grad(f)(a), primad.grad(plain)(a), 1e-10)
    assert primad.while_loop(lambda s: s < 0, lambda s: s + 1, 3.0) == 3.0
    assert primad.while_loop(lambda s: s < 25, lambda s: s + 1, 0, max_steps=25) == 25
    with pytest.raises(primad.StepsError):
        primad.while_loop(lambda s: s < 25, lambda s: s + 1, 0, max_steps=24)
    assert ways_taken() == {way}


def test_an_op_that_fails_in_a_native_loop_is_named() -> None:
    def f(x: Any) -> Any:
        return primad.scan(lambda c, i: (c + primad.numpy.take(x, i), None), 0.0, np.array([0, 1, 7, 2]))[0]

    with pytest.raises(primad.IndexShapeError, match="7"):
        primad.jit(f)(X)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each run of a loop adds how many steps it took; nothing has been planned yet."""
    found: list[int] = []

    def counted(self: Any, state: Any, rows: Any, fixed: Any, results: Any, steps: int) -> int:
        done = run(self, state, rows, fixed, results, steps)
        found.append(abs(done))
        return done

    run = loop_executables._NativeLoop.run
    monkeypatch.setattr(loop_executables._NativeLoop, "run", counted)
    monkeypatch.setattr(dispatch, "EXECUTABLES", Cache(512))
    return found


def limited(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    """Let loops hold so many bytes of their rows."""
    monkeypatch.setattr(row_streams, "SPARE_BYTES", budget)
    monkeypatch.setattr(dispatch, "EXECUTABLES", Cache(512))


def least_passed(blocks: int, states: int) -> int:
    """Find by trying all schedules how many blocks are passed to find the states before all."""
    best: dict[tuple[int, int], int] = {}
    for c in range(1, states + 1):
        for n in range(blocks + 1):
            splits = [m + best[n - m, c - 1] + best[m, c] for m in range(1, n)] if c > 1 else [n * (n - 1) // 2]
            best[n, c] = min(splits) if n > 1 else 0
    return best[blocks, states]


def test_binomial_schedules_are_the_best_of_all() -> None:
    for states in range(1, 6):
        for blocks in range(1, 40):
            least = least_passed(blocks, states)
            assert binomial_schedule.passed(blocks, states) == least
            if blocks > 1 and states > 1:
                first = binomial_schedule.distance(blocks, states)
                assert first + least_passed(blocks - first, states - 1) + least_passed(first, states) == least


def test_what_is_kept_fits_and_all_is_kept_where_it_does() -> None:
    for steps, row, state, budget in itertools.product((5, 300, 10**6), (8, 24_000), (8, 8_000), (10**5, 2 * 10**8)):
        found = binomial_schedule.cut(steps, row, state, budget)
        if row + state <= budget:
            assert found.block * row + found.states * state <= budget
        blocks = -(-steps // found.block)
        assert found.again == found.block * binomial_schedule.passed(blocks, found.states)
        assert steps * row > budget or found.again <= steps // 4


def carried_far(loop: Function, n: int, reverse: bool = False) -> Function:
    """Rows both ways, results, and a parameter."""

    def f(p: Any) -> Any:
        xs = np.sin(np.arange(3.0 * n)).reshape(n, 3)

        def step(c: Any, x: Any) -> Any:
            c = np.sin(c * p + x) + 0.1 * np.flip(c)
            return c, c * x

        c, ys = loop(step, p[0] * np.ones(3), xs, reverse=reverse)
        return np.sum(c) + np.sum(ys**2)

    return f


@pytest.mark.one_in(2)
@pytest.mark.parametrize("budget", [300, 700, 2000, 4000])
def test_steps_are_taken_again_as_often_as_theory_says(
    budget: int, taken: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once forward and once back, and again by the schedule: in blocks, of which the last one is at hand."""
    chosen: list[Any] = []

    def remembered(*args: Any) -> Any:
        chosen.append((args[0], cut(*args)))
        return chosen[-1][1]

    cut = loop_runs.cut
    monkeypatch.setattr(loop_runs, "cut", remembered)
    limited(monkeypatch, budget)
    p, n = np.array([0.7, 0.2, 0.4]), 150
    found = primad.grad(carried_far(primad.scan, n))(p)
    ((steps, (block, states, _)),) = chosen
    blocks = -(-n // block)
    assert steps == n
    # Each block runs once to have its rows, and once back; the last one, which may be short, is never passed.
    assert sum(taken) == 2 * n + block * least_passed(blocks, states)
    assert max(taken) == block
    close(found, primad.grad(carried_far(unrolled, n))(p))


@pytest.mark.parametrize(("n", "reverse"), [(83, False), (61, True)])
def test_loops_in_blocks_have_all_derivatives(n: int, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order of modes: forward, reverse and both twice, on stacks, and in two parts."""
    f = carried_far(primad.scan, n, reverse)
    p, v = np.array([0.7, 0.2, 0.4]), np.array([1.0, -0.5, 0.3])
    ways: list[Function] = [
        lambda: primad.grad(f)(p),
        lambda: primad.hvp(f, p, v),
        lambda: primad.jvp(primad.grad(f), (p,), (v,)),
        lambda: primad.grad(lambda q: np.sum(primad.grad(f)(q) * v))(p),
        lambda: primad.grad(lambda q: primad.jvp(f, (q,), (v,))[1])(p),
        lambda: primad.hessian(f)(p),
        lambda: primad.grad(lambda q: primad.hvp(f, q, v)[0])(p),
        lambda: primad.vmap(primad.grad(f))(np.stack([p, v])),
        lambda: primad.vjp(f, p)[1](1.5),
        lambda: primad.linearize(f, p)[1](v),
        lambda: primad.jit(primad.grad(f))(p),
    ]
    whole = [way() for way in ways]
    limited(monkeypatch, 5000)
    close([way() for way in ways], whole, 1e-10)


def test_the_budget_of_loops_follows_that_of_jit(taken: list[int]) -> None:
    p, n = np.array([0.7, 0.2, 0.4]), 4000
    gradient = primad.grad(carried_far(primad.scan, n))
    whole = primad.jit(gradient)(p)
    assert not taken  # the loops are in one native function
    close(primad.jit(gradient, memory=3_000_000)(p), whole, 1e-12)
    assert sum(taken) == 2 * n
    taken.clear()
    close(primad.jit(gradient, memory=350_000)(p), whole, 1e-12)
    assert 2 * n < sum(taken) <= 3 * n
    with pytest.raises(primad.MemoryLimitError):
        primad.jit(gradient, memory=50_000)(p)


def test_a_while_loop_keeps_states_without_knowing_its_length(
    taken: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows while they fit; then states, and few more steps are taken again than if the length had been known."""

    def f(a: Any, n: int, loop: Function) -> Any:
        def goes_on(s: Any) -> Any:
            return s[1] < n

        def body(s: Any) -> Any:
            return (np.sin(s[0] * a) + 0.3 * s[0], s[1] + 1)

        return np.sum(loop(goes_on, body, (a * np.ones(3), 0))[0])

    def plain(goes_on: Function, body: Function, s: Any) -> Any:
        while goes_on(s):
            s = body(s)
        return s

    for budget, n in ((2_000_000, 60), (3000, 7), (3000, 100), (1500, 80), (3000, 101)):
        limited(monkeypatch, budget)
        taken.clear()
        close(primad.grad(f)(1.2, n, primad.while_loop), primad.grad(f)(1.2, n, plain))
        assert (sum(taken) == 2 * n) == (n < 50 or budget > 10**6)
        close(
            primad.hvp(lambda a, n=n: f(a, n, primad.while_loop), 1.2, 1.0),
            primad.hvp(lambda a, n=n: f(a, n, plain), 1.2, 1.0),
        )


def test_the_memory_of_a_gradient_does_not_grow_with_the_steps() -> None:
    """Of 3000 steps of 1000 numbers 10 MB are held, where their rows would take more than 48 MB."""

    def f(x: Any) -> Any:
        return np.sum(primad.scan(lambda c, _: (c + 1e-3 * (np.sin(c) - c * np.flip(c)), None), x, length=3000)[0] ** 2)

    x = np.linspace(0.0, 1.0, 1000)
    gradient = primad.jit(primad.grad(f), memory=10_000_000)
    expected = gradient(x)
    tracemalloc.start()
    try:
        found = gradient(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 11_000_000
    np.testing.assert_array_equal(found, expected)
    close(found, primad.jit(primad.grad(f), memory=10**9)(x), 1e-12)


def test_states_of_a_loop_of_unknown_length_are_nearly_the_best() -> None:
    """Whatever the length turns out to be: at most 40 % more blocks are passed than with the best schedule for it."""
    for states in range(2, 7):
        schedule = binomial_schedule.Online(states)
        for blocks in range(2, 60):
            schedule.at(blocks - 1)
            kept = schedule.kept
            assert len(kept) <= states
            assert kept[0] == 0
            ends = [*kept, blocks - 1]  # the last one is at hand
            gaps = [b - a for a, b in itertools.pairwise(ends)]
            again = sum(least_passed(gap, states - i) for i, gap in enumerate(gaps))
            assert blocks - 1 + again <= 1.4 * least_passed(blocks, states)


def test_explain_says_how_loops_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(p: Any) -> Any:
        return primad.scan(lambda c, _: (np.sin(c) * p, None), p, length=20)[0]

    def g(m: Any) -> Any:
        return primad.scan(lambda c, _: (primad.hvp(np.linalg.det, c, m), None), m, length=4)[0]

    text = str(primad.explain(f, 0.5))
    assert "a loop of 20 steps: in the same native function, its carried values in registers" in text
    assert "20 times" in text
    assert "held at once" not in text
    limited(monkeypatch, 1500)
    with monkeypatch.context() as patch:
        patch.setattr(compiled_program, "WORTHWHILE_BYTES", 1)  # else it is one function, which holds all
        text = str(primad.explain(primad.grad(carried_far(primad.scan, 12_000)), np.array([0.7, 0.2, 0.4])))
    assert re.search(r"of \S+ kB for other loops what \d+ steps make is held at once, and computed again", text)
    assert "a loop of 4 steps: step by step from Python" in (text := str(primad.explain(g, 2 * np.eye(5))))
    assert "second derivatives of det" in text
    text = str(primad.explain(lambda m: primad.scan(lambda c, _: (np.linalg.inv(c), None), m, length=4)[0], np.eye(2)))
    assert "a loop of 4 steps: in the same native function" in text
    assert "runs with NumPy" not in text


def test_a_loop_takes_the_memory_of_one_step() -> None:
    """A program with one is a native function as long as its work is not worth threads, however often it writes."""

    def f(u: Any, steps: int) -> Any:
        return primad.scan(lambda u, _: (u + 0.1 * (np.roll(u, 1) - u) * u, None), u, length=steps)[0]

    u = np.linspace(0.1, 0.9, 500)
    for steps, how in ((400, "plan: one native function"), (4000, "plan: step by step")):
        text = str(primad.explain(lambda u, steps=steps: np.sum(f(u, steps)), u))
        assert how in text, text
    wanted = u
    for _ in range(400):
        wanted = wanted + 0.1 * (np.roll(wanted, 1) - wanted) * wanted
    np.testing.assert_allclose(primad.jit(lambda u: f(u, 400))(u), wanted, rtol=1e-12)


def test_a_loop_inside_takes_what_its_steps_take() -> None:
    """However many steps it might take: a program with its derivative is one native function, as with few."""

    def f(x: Any, **most: int) -> Any:
        def step(y: Any, t: Any) -> tuple[Any, None]:
            near = primad.while_loop(
                lambda s: abs(s[0] - s[1]) > 1e-12, lambda s: (np.cos(x * s[0]), s[0]), (y, y + 1.0), **most
            )
            return near[0] + 0.1 * t, None

        return primad.scan(step, x, np.arange(5.0))[0]

    def roots(a: Any, **most: int) -> Any:
        return np.sum(primad.while_loop(lambda x: np.max(abs(x * x - a)) > 1e-10, lambda x: (x + a / x) / 2, a, **most))

    for g, x in ((f, 0.5), (roots, np.linspace(1.0, 2.0, 12))):
        few, many = primad.grad(lambda x, g=g: g(x, max_steps=100)), primad.grad(g)
        np.testing.assert_allclose(many(x), few(x), rtol=1e-14)
        text = str(primad.explain(many, x))
        assert "plan: one native function" in text, text


class Alarm(Exception):
    pass


@pytest.mark.parametrize("counted", [False, True])
def test_a_long_native_loop_sees_signals(counted: bool) -> None:
    """Without that it would take minutes."""

    def ring(*_: Any) -> None:
        raise Alarm

    number, steps = ArrayType((), float), 10**11
    of = ClosedProgram(primad.recording.tracing.trace(np.sin)(number))
    form = Form(1, 0, steps, False, counted)._asdict()
    f = primad.jit(lambda n, x: scan_op(*[n] * counted, x, of=of, **form) + 1.0)
    if counted:  # the loop is a part of a native function, and looks for signals itself
        assert "plan: one native function" in str(primad.explain(f, 1, 0.5))
        assert f(2, 0.5) == pytest.approx(np.sin(np.sin(0.5)) + 1.0)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(Alarm):
            f(steps, 0.5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_rules_of_a_users_own_checkpoints_calls_and_opaque_functions_in_bodies() -> None:
    """With rules that are wrong on purpose one sees whether they are used, at every order."""

    @primad.custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(primals[0]), 3.0 * f(primals[0]) * tangents[0]

    @primad.custom_vjp
    def h(x: Any) -> Any:
        return np.sin(x)

    h.defvjp(lambda x: (h(x), x), lambda x, ct: (3.0 * h(x) * ct,))

    for inner in (f, h, primad.checkpoint(f), primad.jit(f), lambda x: f(primad.stop_gradient(x) * 0 + x)):

        def through(x: Any, inner: Any = inner) -> Any:
            return primad.scan(lambda c, _: (inner(c), None), x, length=1)[0]

        assert through(0.5) == pytest.approx(np.sin(0.5))
        assert primad.grad(through)(0.5) == pytest.approx(3.0 * np.sin(0.5))
        assert primad.grad(primad.grad(through))(0.5) == pytest.approx(9.0 * np.sin(0.5))
        assert primad.vmap(primad.grad(through))(np.array([0.5, 0.7])) == pytest.approx(3.0 * np.sin([0.5, 0.7]))

        def twice(x: Any, inner: Any = inner) -> Any:
            return primad.scan(lambda c, _: (inner(c), None), x, length=2)[0]

        assert primad.grad(twice)(0.5) == pytest.approx(9.0 * np.sin(0.5) * np.sin(np.sin(0.5)))

    double = primad.opaque(lambda x: x * 2.0, result=primad.ArrayType((), float))
    assert primad.scan(lambda c, _: (double(c), None), 0.5, length=3)[0] == 4.0
    long = primad.jit(lambda x: [x := np.sin(x) * 1.1 for _ in range(100)][-1])

    def repeated(x: Any) -> Any:
        return primad.scan(lambda c, _: (long(long(long(long(long(long(long(c))))))), None), x, length=2)[0]

    x = 0.4
    expected = x
    for _ in range(1400):
        expected = np.sin(expected) * 1.1
    assert repeated(x) == pytest.approx(expected)
    step = 1e-6
    slope = (repeated(x + step) - repeated(x - step)) / (2 * step)
    assert primad.grad(repeated)(x) == pytest.approx(slope, rel=1e-4, abs=1e-9)


def test_a_loop_may_take_other_rows_than_a_stream_has() -> None:
    """Rows behind those that were computed are zeros, whether the rows are a stream or an array."""
    number = ArrayType((), float)
    makes = ClosedProgram(primad.recording.tracing.trace(lambda c: (np.sin(c), c * c))(number))
    takes = ClosedProgram(primad.recording.tracing.trace(lambda c, row: (np.cos(c) + row, c * row))(number, number))
    start, streams = np.array(1.0), set()
    for made, steps, reverse in itertools.product((0, 3, 5, 8), (0, 1, 4, 8), (False, True)):
        rows = [loop_runs.run_scan(makes, [start], 1, 0, 8, made, False, *held)[1] for held in (((0,), 24), ())]
        streams.add(type(rows[0]).__name__)
        found, wanted = ([*loop_runs.run_scan(takes, [start, x], 1, 1, 8, steps, reverse)] for x in rows)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, y)
    assert "Rows" in streams


def test_a_loop_that_does_not_end_says_so_however_its_rows_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return primad.while_loop(lambda c: c < c + c, lambda c: np.sin(c) * 1.5, x, max_steps=9)

    recorded = primad.trace(primad.grad(f))(0.5)
    for budget in (1, 24, 10**6):
        monkeypatch.setattr(row_streams, "SPARE_BYTES", budget)
        plan = Plan(primad.simplify(recorded.hoisted()))
        assert bool(plan.streams.of) == (budget < 72)
        with pytest.raises(primad.PrimadError, match="max_steps=9"):
            plan.run([np.array(0.5), *recorded.source_values])


def test_a_stack_of_loops_says_first_which_of_them_go_on() -> None:
    """By truth values with one axis; anything else that is carried first is refused."""
    truth, number = ArrayType((), bool), ArrayType((), float)
    for first, refused in (
        (ArrayType((4,), bool), False),
        (ArrayType((4,), float), True),
        (ArrayType((4, 2), bool), True),
    ):
        program = program_of([first, number], lambda go, x: [go, x, np.any(go > 0)])
        given = {"of": ClosedProgram(program), "carry": 2, "most": 9, "separate": True}
        if refused:
            with pytest.raises(primad.ShapeError):
                while_op.infer(truth, first, number, **given)
        else:
            while_op.infer(truth, first, number, **given)


def test_values_from_outside_of_a_run_are_one_where_they_are_the_same_literal() -> None:
    traces = [primad.ir.node.Trace() for _ in range(2)]
    wide, narrow = ArrayType((3,), np.dtype(float)), ArrayType((3,), np.dtype(np.float32))
    one, again = (trace.literal(1.0, wide) for trace in traces)
    x, y = (trace.input(wide) for trace in traces)
    assert same_value(one, again) and same_value(x, x)
    for other in (traces[1].literal(2.0, wide), traces[1].literal(1.0, narrow), traces[1].literal(-1.0, wide), y):
        assert not same_value(one, other)
    assert not same_value(x, y) and not same_value(traces[0].literal(0.0, wide), traces[1].literal(-0.0, wide))
