"""What the engine does with a program grows as the program does: no walk takes every path.

In `x = x + x * x`, twelve times, as many paths as 2 to the 12 lead from the last value to the first. A walk over nodes
that does not know where it has been takes all of them; so does one over programs that hold programs. What counts is
calls of functions, Python's and C's.
"""

import sys

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad import ops
from primad.explanation.called_programs import called_by
from primad.explanation.explained import _notes
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.native.loops import body_programs
from primad.ops.record.primitive import as_tuple
from primad.programs.call import call
from primad.programs.checkpoint import checkpoint
from primad.programs.loops.scan import scan
from primad.recording.tracing import trace
from primad.runtime.executors.dispatch import prepare
from primad.transforms import jvp, lower, vjp, vmap
from primad.transforms.lowering import applications, apply_program_op
from primad.verify.cases.case_table import cases
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from tests.sweeps import thinned

HOLDING = {name: case for name, case in cases().items() if case.op.holds_program}
SHORT, LONG = 4, 12
MOST = 2 * (LONG / SHORT) ** 2
"""How many times as many calls there may be: some work is done for each
node, or level, on all that lie below it."""


class TooManyError(Exception):
    pass


def calls(work, most=10**9):
    """Count the calls of functions in some work, which is not finished where there are too many."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += 1
        if count > most:
            raise TooManyError

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    except TooManyError:
        pass
    finally:
        sys.setprofile(before)
    return count


def powers(x, depth):
    for _ in range(depth):
        x = x + x * x
    return x


def turns(x, depth):
    """Linear in x, by views and joined parts."""
    for i in range(depth if x.ndim == 1 else 0):
        cut, n = 1 + i % (x.shape[0] - 1), x.shape[0]
        ends = ops.slice_(x, start=(cut,), stop=(n,), step=(1,)), ops.slice_(x, start=(0,), stop=(cut,), step=(1,))
        x = x + ops.concatenate(*ends, axis=0)
    return x


def deepened(of, depth, chain):
    """Return a program of the same types with a chain before each of its floats."""
    types = of.program.in_types
    floats = lambda xs: [chain(x, depth) if x.dtype == float else x for x in xs]  # noqa: E731
    return ClosedProgram(trace(lambda *xs: of.program(*floats(xs)))(*types))


def run(program):
    types = program.in_types
    prepare(program).run([np.full(t.shape, 0.3, t.dtype) if t.is_float else np.ones(t.shape, t.dtype) for t in types])


@pytest.mark.one_in(6)
@thinned(2, chain=[powers, turns], name=list(HOLDING))
def test_ops_that_hold_programs(name, chain):
    case = HOLDING[name]
    example = next(x for x in map(case.draw, map(Seeded, range(9))) if x.params.get("length", 2) > 1)
    if chain is powers and (example.linear or "linear" in example.params):
        pytest.skip("its program is linear")

    def work(depth):
        held = {key: deepened(of, depth, chain) for key, of in example.params.items() if key in case.op.programs.names}
        program = one_op(case.op, replace(example, params={**example.params, **held}))
        run(vmap(program, [True] * len(program.inputs), 2))
        gradient = vjp(program)
        run(vjp(gradient) if case.reverse_only else jvp(gradient))

    few = calls(lambda: work(SHORT))
    assert calls(lambda: work(LONG), MOST * few) < MOST * few


@pytest.mark.parametrize("order", ["gradient", "Hessian"])
def test_a_step_of_many_stages_is_differentiated(order):
    """The step of a simulation: each stage is read several times by the next."""

    def work(stages):
        def step(y, row, p):
            for _ in range(stages):
                y = y + 0.1 * np.stack([-p * y[0] * y[1], p * y[0] * y[1] - y[1], y[1]])
            return y, (y[1] - row) ** 2

        def loss(p):
            start = np.stack([p, 1.0 - p, 0.0 * p])
            return np.sum(primad.scan(lambda y, row: step(y, row, p), start, np.ones(3))[1])

        np.asarray((primad.grad if order == "gradient" else primad.hessian)(loss)(0.7))

    few = calls(lambda: work(2))
    assert calls(lambda: work(8), MOST * few) < MOST * few


# -- programs inside programs ------------------------------------------------------------------------------------------


def nested(op, depth):
    """Return a program that holds two, each of which holds the next two, and so on: 2 to the depth paths."""
    type = ArrayType((), float)
    params = {"carry": 1, "stacked": 0, "length": 2, "reverse": False, "counted": False} if op is scan else {}

    def both(f, g):
        def body(x):
            (a,), (b,) = [as_tuple(apply_program_op(op, of, (x,), **params)) for of in (f, g)]
            return a + b * x

        return ClosedProgram(trace(body)(type))

    f, g = ClosedProgram(trace(lambda x: x * x + x)(type)), ClosedProgram(trace(lambda x: x * x * x)(type))
    for _ in range(depth):
        f, g = both(f, g), both(g, f)
    return f.program


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "work",
    [prepare, lambda p: prepare(jvp(p)), lambda p: prepare(vmap(p, [True], 2)), lambda p: list(applications(p))],
    ids=["plan", "jvp", "vmap", "applications"],
)
@pytest.mark.parametrize("op", [call, checkpoint, scan], ids=lambda op: op.name)
def test_programs_that_hold_the_same_programs(op, work):
    few = calls(lambda: work(nested(op, 4)))
    assert calls(lambda: work(nested(op, 16)), MOST * few) < MOST * few


def test_walks_over_bodies():
    def work(depth):
        program = lower(nested(call, depth))
        return len(list(body_programs.nodes_within(program))) + len(body_programs.lines_within(program))

    few = calls(lambda: work(4))
    assert calls(lambda: work(16), MOST * few) < MOST * few


def test_what_is_called_is_counted_without_taking_every_path():
    def work(program):
        return called_by(program), _notes(program)

    few = calls(lambda: work(nested(call, 4)))
    assert calls(lambda: work(nested(call, 16)), MOST * few) < MOST * few
    assert sum(entry.times for entry in called_by(nested(call, 5))) == 2**6 - 2
