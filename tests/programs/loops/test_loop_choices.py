"""What is taken out of a step, computed after a loop, or kept for its pullback, on both sides of each condition."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf
from primad.ir.program import ClosedProgram, Program
from primad.programs.compacting import compact
from primad.programs.loops import residual_selection
from primad.programs.loops.body_split import _hoisted
from primad.programs.loops.deferred_sums import sum_of_steps
from primad.programs.loops.residual_selection import fewest
from primad.programs.loops.scan import scan
from primad.programs.packing.scalar_groups import _second_sign
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.loop_diagnostics import unrolled_loops
from primad.programs.rerolling.rerolled_loops import rolled
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of

SQUARE = ArrayType((3, 3), np.dtype(float))


def program(function: Callable[..., list[Any]], *shapes: tuple[int, ...]) -> Program:
    return program_of([ArrayType(shape, np.dtype(float)) for shape in shapes], function)


def identity(x: Any) -> Any:
    """Return what an op makes of nothing, beside an array."""
    return TracedArray(x.node.trace.build(ops.eye, (), (("dtype", "float64"), ("n", 3))))


HOISTED: dict[str, tuple[Callable[[Any, Any], list[Any]], list[str]]] = {
    "what is computed of it": (lambda c, f: [c @ np.sin(f)], ["sin"]),
    "a result": (lambda c, f: [np.cos(c), np.sin(f)], ["sin"]),
    "itself": (lambda c, f: [c @ f], []),
    "what is computed of the carried value too": (lambda c, f: [np.sin(c @ f)], []),
    "another shape": (lambda c, f: [c @ np.reshape(np.reshape(f, (9,))[::-1], (3, 3))], ["reshape"]),
    "a larger view": (lambda c, f: [c * ops.broadcast(f[0], shape=(3, 3), axes=(1,))], ["reshape"]),
    "what may fail": (lambda c, f: [c @ np.linalg.cholesky(f)], []),
    "a loop": (lambda c, f: [c @ primad.scan(lambda x, _: (x @ x, None), f, length=3)[0]], []),
    "one of several results": (lambda c, f: [c @ ops.eigh(f, lower=True)[1]], ["project"]),
    "of nothing": (lambda c, f: [c @ identity(c)], []),
    "a number": (lambda c, f: [c * 2.0], []),
}
"""A step of a carried value and of what is the same in all steps, and the ops whose results are taken out."""


@pytest.mark.parametrize("name", HOISTED)
def test_what_is_taken_out_of_a_step(name: str) -> None:
    function, wanted = HOISTED[name]
    step = program(function, (3, 3), (3, 3))
    before, rest = _hoisted(step, [1])
    taken = [] if before is None else [node.op.name for node in before.outputs if not isinstance(node.op, Leaf)]
    assert taken == wanted and (before is not None or rest is step)
    rng = np.random.default_rng(0)
    c, f = (x @ x.T for x in rng.normal(size=(2, 3, 3)))
    found = rest(c, f, *([] if before is None else tree.leaves(before(f))))
    for got, want in zip(tree.leaves(found), tree.leaves(step(c, f)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def outer(u: Any, v: Any) -> Any:
    return ops.contract(u, v, labels="i,j->ij")


SUMS: dict[str, tuple[Callable[[Any, Any], Any], int, bool]] = {
    "rows of as many bytes": (outer, 2, True),
    "rows of more bytes": (outer, 3, False),
    "one that needs each step's array": (lambda u, v: np.sin(outer(u, v)), 2, False),
    "and again what is small": (lambda u, v: outer(np.sin(u), np.cos(v)), 2, True),
}
"""What is summed over steps, of two rows of four; how many steps, and whether the sum waits for the end."""


@pytest.mark.parametrize("name", SUMS)
def test_which_sums_over_steps_are_computed_after_the_loop(name: str) -> None:
    function, length, waits = SUMS[name]
    step = program(lambda u, v: [function(u, v)], (4,), (4,))
    found = sum_of_steps(step, step.outputs[0], step.inputs, [], length)
    assert (found is not None) == waits


@pytest.mark.parametrize(("longest", "is_least"), [(2, False), (3, True)])
def test_the_least_values_of_long_programs_are_not_looked_for(
    longest: int, is_least: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residual_selection, "LONGEST", longest)
    chain = program(lambda x: [np.exp(np.sin(np.exp(x)))], (4,))
    found = fewest(chain.outputs, {*chain.inputs}, chain.nodes)
    assert found == [*(chain.inputs if is_least else chain.outputs)]


@pytest.mark.parametrize(
    ("function", "sign"),
    [
        (np.add, 1),
        (np.subtract, -1),
        (lambda x, y: 2 * x + y, None),
        (lambda x, y: y - x, None),
        (lambda x, y: x + 2 * y, None),
        (lambda x, y: x, None),
        (lambda x, y: y, None),
    ],
)
def test_which_ops_add_up(function: Callable[[Any, Any], Any], sign: int | None) -> None:
    class Op:
        numpy = staticmethod(function)

    assert _second_sign(Op()) == sign


def turning(x: Any) -> Any:
    for k in range(100):
        x = np.cumsum(np.sin(x), axis=k % 2) * 0.5
    return x


def test_a_loop_of_which_parameters_differ_says_which() -> None:
    (note,) = unrolled_loops(primad.trace(turning)(np.ones((5, 5))))
    assert "cumsum has another axis in each" in note


def best_path(weights: Any, entries: Any) -> Any:
    best = entries[0]
    for t in range(1, len(entries)):
        best = np.max(best[:, None] + weights, axis=0) + entries[t]
    return np.max(best)


def orthogonal(a: Any) -> Any:
    found: list[Any] = []
    for j in range(20):
        v = a[:, j]
        for w in found:
            v = v - np.dot(w, v) * w
        found.append(v / np.sqrt(np.dot(v, v)))
    return found[-1]


@pytest.mark.parametrize(
    ("function", "shapes", "reason"),
    [
        (best_path, [(5, 5), (60, 5)], "they are 177 ops, of which 250 are worth a loop"),
        (orthogonal, [(20, 20)], "then 36), as where a loop inside"),
    ],
)
def test_a_loop_that_is_short_or_of_other_lengths_says_so(function: Any, shapes: Any, reason: str) -> None:
    program = primad.trace(function)(*[np.ones(shape) for shape in shapes])
    (note,) = unrolled_loops(program)
    assert reason in note
    assert reason in str(primad.explain(function, *[np.ones(shape) for shape in shapes]))


def orthogonal_by_products(a: Any) -> Any:
    """What is advised for `orthogonal`."""
    found = primad.numpy.zeros(a.shape)
    for j in range(30):
        v = a[:, j]
        v = v - np.where(np.arange(len(found)) < j, found @ v, 0.0) @ found
        found[j] = v / np.sqrt(np.dot(v, v))
    return np.sum(found)


def test_a_loop_without_one_inside_is_found() -> None:
    program = primad.trace(orthogonal_by_products)(np.eye(30))
    assert any("one scan" in note for note in rolled(program).notes)


def test_results_of_steps_are_what_is_carried_unchanged() -> None:
    """Be it the first or a later one of what is carried: values, tangents, and second ones."""

    def f(a: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return (np.sin(c[0] * x), c[1], c[2]), (c[1], c[2] * 2.0, c[2])

        return primad.scan(step, (a, a**2, a**3), np.arange(1.0, 4.0))[1]

    a = 0.7
    wanted = [[[x] * 3 for x in each] for each in ((a**2, 2 * a**3, a**3), (2 * a, 6 * a**2, 3 * a**2))]
    found = primad.jit(lambda a: primad.jvp(f, (a,), (1.0,)), backend="reference")(a)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("recorded", list(itertools.product((True, False), repeat=3)))
def test_a_loop_of_one_step_is_that_step_whatever_is_recorded(recorded: tuple[bool, ...], length: int) -> None:
    """Of what is carried, the rows and what the step takes from outside, some are plain arrays."""
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape) for shape in ((2,), (length, 2), (2,))]

    def f(*xs: Any) -> Any:
        c, rows, k = (x if on else plain for x, plain, on in zip(xs, given, recorded, strict=True))
        return primad.scan(lambda c, row: (np.sin(c) * row + k, c * k), c, rows)

    found = primad.trace(f)(*given)
    wanted = given[0], []
    for row in given[1]:
        wanted = np.sin(wanted[0]) * row + given[2], [*wanted[1], wanted[0] * given[2]]
    for got, want in zip(found(*given), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert any(not isinstance(node.op, Leaf) and node.op.name == "scan" for node in found.nodes) == (
        length > 1 and any(recorded)
    )


def shifted(x: Any, rest: Any) -> Any:
    return x + 0.1 * (np.roll(x, 1, 0) - 2.0 * x + np.roll(x, -1, 0))


def weighed(x: Any, rest: Any) -> Any:
    return np.tanh(rest @ x)


def chosen_anew(x: Any, rest: Any) -> Any:
    return np.sin(0.9 * x) + 0.1 * x


def summed_up(x: Any, rest: Any) -> Any:
    return np.tanh(np.cumsum(x) / 1000.0)


def averaged(x: Any, rest: Any) -> Any:
    return np.tanh(np.convolve(x, rest, "same"))


def centred(x: Any, rest: Any) -> Any:
    return np.sin(x - np.mean(x))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("step", "shape", "weights", "is_loop"),
    [
        (shifted, (131_072,), (1,), True),
        (shifted, (512, 512), (1,), False),  # which runs in tiles along the other axis
        (shifted, (65_536,), (1,), False),  # in a cache
        (weighed, (128,), (128, 128), True),
        (weighed, (64,), (64, 64), False),
        (weighed, (128, 200), (128, 128), False),  # which computes more than it moves
        (chosen_anew, (200_000,), (1,), False),  # one loop over elements has all steps
        (centred, (200_000,), (1,), False),
        (summed_up, (200_000,), (1,), False),
        (averaged, (20_000,), (5,), False),
    ],
)
def test_few_steps_are_a_loop_where_they_move_long_arrays(
    step: Callable[[Any, Any], Any], shape: tuple[int, ...], weights: tuple[int, ...], is_loop: bool
) -> None:
    def loss(x: Any, rest: Any) -> Any:
        for _ in range(12):
            x = step(x, rest)
        return np.sum(x**2)

    rng = np.random.default_rng(0)
    arguments = rng.normal(size=shape), rng.normal(size=weights) / weights[0] ** 0.5
    recorded = primad.trace(loss)(*arguments)
    found = compact(recorded)
    assert len(recorded.nodes) < repeated_runs.FEWEST_NODES
    ops_of = [node.op for node in found.nodes if not isinstance(node.op, Leaf)]
    assert any(op.programs.loop is not None for op in ops_of) == is_loop
    np.testing.assert_allclose(found(*arguments), loss(*arguments), rtol=1e-12)
    gradient = primad.grad(loss, argnums=(0, 1))(*arguments)
    direction = [rng.normal(size=x.shape) for x in arguments]
    small = 1e-6
    ends = [loss(*[x + sign * small * d for x, d in zip(arguments, direction, strict=True)]) for sign in (1, -1)]
    wanted = (ends[0] - ends[1]) / (2 * small)
    np.testing.assert_allclose(sum(np.vdot(g, d) for g, d in zip(gradient, direction, strict=True)), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "wanted", [(True, False, True, True), (False, False, True, False), (False, False, False, True)]
)
def test_numbers_that_are_exponents_in_what_is_left_out_are_there(wanted: tuple[bool, ...]) -> None:
    """They are part of the whole step, and operands of the part of it that is needed."""
    step = program(lambda c, row: [0.5 * c, row**7.0, 7.0 * np.sin(row), 3.5 * row + c**3.5], (52,), (52,))
    rows = np.random.default_rng(0).uniform(0.5, 1.0, (30, 52))
    how = {"of": ClosedProgram(step), "carry": 1, "stacked": 1, "length": 30, "reverse": False, "counted": False}
    whole = scan.numpy(rows[0], rows, *step.source_values, **how)
    part = scan.numpy(rows[0], rows, *step.source_values, **how, wanted=wanted)
    for found, expected, on in zip(part, whole, wanted, strict=True):
        if on:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
