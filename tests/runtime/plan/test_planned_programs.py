"""Planned programs: their texts, what their ops compute, and how little runs between these."""

from textwrap import dedent

import numpy as np
import pytest

import primad
from primad import ops
from primad.ops.record.primitive import consuming, project
from primad.parallel.threads import on_threads, single_threaded_blas
from primad.runtime.executors import native_executor
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.plan.donation import match
from primad.runtime.plan.planned_program import PlannedOp, PlannedProgram
from primad.runtime.tiling import tile_choice, tiled_plan
from primad.simplify import simplify
from tests.counted import calls_of


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Cut even small programs."""
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", (4, 8))
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "LARGE_BYTES", 0)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def loss(w, x):
    return np.sum(np.tanh(x @ (2.0 * w)) ** 2)


def centred(x):
    return np.sum(np.exp(np.sin(x) - np.mean(np.sin(x), 0)))


def energy(x):
    d = x[:, None] - x
    return np.sum(np.exp(-np.sum(d * d, axis=-1)), axis=1) @ x


def middle(x):
    return np.sum(np.tanh(np.sort(np.sin(x) * x)) * 2.0)


CASES = {
    "loss": (loss, (normal(3, 2), normal(40, 3))),
    "gradient": (primad.value_and_grad(loss), (normal(3, 2), normal(40, 3))),
    "rows": (lambda w, x: (np.tanh(x @ w), x, w * 2.0, x), (normal(3, 2), normal(40, 3))),
    "centred": (centred, (normal(40, 3),)),
    "gradient of centred": (primad.grad(centred), (normal(40, 3),)),
    "energy": (energy, (normal(40, 3),)),
    "step": (lambda x: x * energy(x), (normal(40, 3),)),
    "middle": (middle, (normal(40),)),
}
TEXTS = {
    "loss": """
        program(w: float64[3,2], x: float64[40,3], c0: float64[3,2]) {
          a: float64[3,2] = steps w c0
          b: float64[] = tiles x a
          return b
        }
    """,
    "gradient": """
        program(w: float64[3,2], x: float64[40,3], c0: float64[3,2]) {
          a: float64[3,2] = steps w c0
          b: float64[], c: float64[3,2] = tiles x a
          d: float64[3,2] = steps c0 c
          return b, d
        }
    """,
    "rows": """
        program(w: float64[3,2], x: float64[40,3], c0: float64[3,2]) {
          a: float64[3,2] = steps w c0
          b: float64[40,2] = tiles x w
          return b, x, a, x
        }
    """,
    "centred": """
        program(x: float64[40,3]) {
          a: float64[3] = stage x
          b: float64[] = stage x a
          return b
        }
        program(x0: float64[40,3]) {
          a: float64[3] = tiles x0
          return a
        }
        program(x0: float64[40,3], x1: float64[3]) {
          a: float64[3] = steps x1
          b: float64[] = tiles x0 a
          return b
        }
    """,
    "gradient of centred": """
        program(x: float64[40,3]) {
          a: float64[3] = stage x
          b: float64[40,3] = stage x a
          return b
        }
        program(x0: float64[40,3]) {
          a: float64[3] = tiles x0
          return a
        }
        program(x0: float64[40,3], x1: float64[3]) {
          a: float64[3] = stage x0 x1
          b: float64[40,3] = stage x0 x1 a
          return b
        }
        program(x0: float64[40,3], x1: float64[3]) {
          a: float64[3] = steps x1
          b: float64[3] = tiles x0 a
          return b
        }
        program(x0: float64[40,3], x1: float64[3], x2: float64[3]) {
          a: float64[3], b: float64[3] = steps x1 x2
          c: float64[40,3] = tiles x0 a b
          return c
        }
    """,
    "energy": """
        program(x: float64[40,3]) {
          a: float64[3] = tiles x x
          return a
        }
    """,
    "step": """
        program(x: float64[40,3]) {
          a: float64[40] = tiles x x
          b: float64[40,3] = steps x a
          return b
        }
        program(x0: float64[40,3], x1: float64[40]) {
          a: float64[3] = stage x0 x1
          b: float64[40,3] = stage x0 a
          return b
        }
        program(x0: float64[40,3], x1: float64[3]) {
          a: float64[40,3] = tiles x1 x0
          return a
        }
    """,
    "middle": """
        program(x: float64[40], c0: float64[40]) {
          a: float64[40], b: int64[40] = steps x
          c: float64[] = tiles a b c0
          return c
        }
        program(x0: float64[40]) {
          a: float64[40] = stage x0
          b: float64[40], c: int64[40] = stage a
          return b, c
        }
        program(x0: float64[40]) {
          a: float64[40] = tiles x0
          return a
        }
    """,
}
"""Of each case, the planned program, and those that its stages are."""


def plan_of(name, donated=()):
    function, arguments = CASES[name]
    program = primad.trace(function)(*arguments)
    return tiled_plan.make_plan(simplify(program.hoisted()), donated), [*arguments, *program.source_values]


def levels(plan):
    """Yield a planned program, and those that its ops run."""
    if isinstance(plan, PlannedProgram):
        yield plan
    for part, _ in plan.parts:
        yield from levels(part)


def applied(plan, given):
    """Yield each op of a planned program with its operands and results, run one after the other."""
    known = dict(zip(plan.planned.inputs, given, strict=True))
    for node in plan.planned.nodes:
        if isinstance(node.op, PlannedOp):
            operands = [known[operand] for operand in node.inputs]
            known[node] = node.op.by.run(operands)
            yield node.op.by, operands, known[node]
        elif node.op is project:
            known[node] = known[node.inputs[0]][dict(node.params)["index"]]


@pytest.mark.parametrize("name", CASES)
def test_the_text_of_a_planned_program(name):
    plan, _ = plan_of(name)
    assert "\n".join(level.planned.text() for level in levels(plan)) == dedent(TEXTS[name]).strip()


@pytest.mark.parametrize("name", CASES)
def test_an_op_computes_what_its_program_does(name):
    """Of whatever level: the reference executor runs the programs, and their results are those of the whole."""
    plan, given = plan_of(name)
    whole = REFERENCE.prepare(plan.program, PLAIN).run(given)
    waiting = [(plan, given, whole)]
    seen = 0
    for level, arguments, expected in waiting:
        for found, want in zip(level.run(arguments), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
        for by, operands, results in applied(level, arguments) if isinstance(level, PlannedProgram) else ():
            assert [np.shape(x) for x in results] == [type.shape for type in by.program.out_types]
            waiting.append((by, operands, REFERENCE.prepare(by.program, PLAIN).run(operands)))
            seen += 1
    assert seen


@pytest.mark.parametrize("name", CASES)
def test_donated_memory_has_the_results_in_the_end(name):
    """Whether tiles write them there, what comes after does, or neither can: the argument is read until the end."""
    function, arguments = CASES[name]
    program = simplify(primad.trace(function)(*arguments).hoisted())
    donated = match(program.out_types, program.in_types, range(len(arguments)))
    given = [*map(np.array, arguments), *primad.trace(function)(*arguments).source_values]
    expected = REFERENCE.prepare(program, PLAIN).run(given)
    found = tiled_plan.make_plan(program, donated).run(given)
    for result, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, want, rtol=1e-12, atol=1e-12)
    assert all(found[output] is given[place] for output, place in donated)
    assert donated or name in ("loss", "centred", "energy", "middle")


def test_no_law_knows_a_planned_op():
    plan, _ = plan_of("gradient")
    op = next(node.op for node in plan.planned.nodes if isinstance(node.op, PlannedOp))
    for other in ops.ALL:
        assert not consuming(other, op) and not other.families([op])
    assert op.rewrite(plan.planned.trace, (), ()) is None


@pytest.mark.parametrize("name", CASES)
def test_little_is_called_beside_the_ops(name):
    """Five functions of the interpreter's own, and what gives BLAS one thread."""
    plan, given = plan_of(name)

    def counted():
        for by, operands, _ in applied(plan, given):
            by.run(operands)  # which may make memory that it keeps
        alone = sum(calls_of(by.run, operands) for by, operands, _ in applied(plan, given))
        return calls_of(plan.run, given) - alone - calls_of(single_threaded_blas, lambda: None)

    assert on_threads(1, counted) <= 5
