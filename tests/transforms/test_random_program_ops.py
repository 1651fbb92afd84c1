"""Random programs that hold programs (calls, checkpoints, rules of a user's own), nested: nothing changes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
from primad.functional.parsing import known_ops
from primad.ir.json_form import packed, unpacked
from primad.ir.node import Leaf
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import Primitive, as_tuple
from primad.programs.call import call
from primad.programs.checkpoint import checkpoint
from primad.recording import tree
from primad.runtime.executors.dispatch import REFERENCE, prepare
from primad.transforms import jvp, lower, vjp, vmap
from primad.transforms.lowering import apply_program_op
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import thinned

Function = Callable[..., Any]


# -- one program held by another ---------------------------------------------------------------------------------------


def by_an_op(op: Primitive, program: Program) -> Function:
    of = ClosedProgram(program)
    return lambda *xs: as_tuple(apply_program_op(op, of, xs))


def by_custom_jvp(program: Program) -> Function:
    """A rule that is right: the program's own derivative."""
    plain = results_of(program)
    found = primad.custom_jvp(plain)
    found.defjvp(lambda primals, tangents: primad.jvp(plain, primals, tangents))
    return found


def by_custom_vjp(program: Program) -> Function:
    plain = results_of(program)
    found = primad.custom_vjp(plain)
    found.defvjp(lambda *xs: (plain(*xs), xs), lambda xs, cotangents: primad.vjp(plain, *xs)[1](cotangents))
    return found


def results_of(program: Program) -> Function:
    return lambda *xs: tuple(tree.leaves(program(*xs)))


MARKS: dict[str, Callable[[Program], Function]] = {
    "call": partial(by_an_op, call),
    "checkpoint": partial(by_an_op, checkpoint),
    "custom_jvp": by_custom_jvp,
    "custom_vjp": by_custom_vjp,
}


def nested(program: Program, names: Sequence[str]) -> Program:
    """Return a program that computes the same through programs inside programs, the last mark outermost.

    Each level computes the mean of what the mark gives and of the program beside it, so that equal values meet.
    """
    for name in names:
        marked, plain = MARKS[name](program), results_of(program)

        def body(*xs: Any, marked: Function = marked, plain: Function = plain) -> Any:
            return tuple([0.75 * x + 0.25 * y for x, y in zip(marked(*xs), plain(*xs), strict=True)])

        program = primad.trace(body)(*program.in_types)
    return program


def values(program: Program, seed: int, native: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    arguments = [rng.uniform(0.3, 1.2, type.shape) for type in program.in_types]
    with np.errstate(all="ignore"):
        if native:
            return tuple(tree.leaves(program(*arguments)))
        return tuple(prepare(program, executor=REFERENCE).run(arguments))


def agree(direct: Program, indirect: Program, seed: int, native: bool = False) -> None:
    for expected, got in zip(values(direct, seed, native), values(indirect, seed, native), strict=True):
        scale = 1 + np.nanmax(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9 * scale)


FORWARD: list[Callable[[Program], Program]] = [
    jvp, vjp,
    lambda p: jvp(jvp(p)), lambda p: jvp(vjp(p)), lambda p: vjp(jvp(p)), lambda p: vjp(vjp(p)),
    lambda p: jvp(jvp(jvp(p))), lambda p: vjp(jvp(jvp(p))), lambda p: jvp(vjp(jvp(p))), lambda p: vjp(vjp(vjp(p))),
]  # fmt: skip
"""Both modes, at orders 1, 2 and 3."""
REVERSE: list[Callable[[Program], Program]] = [vjp, lambda p: vjp(vjp(p)), lambda p: vjp(vjp(vjp(p)))]
"""What a rule for reverse mode only allows."""


@pytest.mark.one_in(4)
@thinned(2, seed=[*range(12), 156])  # a loop that is read again
def test_programs_inside_programs_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    program = draw_program(Seeded(seed), most=3)
    names = [rng.choice(list(MARKS)) for _ in range(rng.choice((1, 2, 2, 3)))]
    marked = nested(program, names)
    agree(program, marked, seed, native=True)
    changes = REVERSE if "custom_vjp" in names else FORWARD
    for change in rng.sample(changes, 2):
        agree(change(program), change(marked), seed)
    first = rng.choice(changes[:2])
    every = [rng.random() < 0.7 for _ in program.inputs]
    every[0] = True
    agree(vmap(program, every, 2), vmap(marked, every, 2), seed)
    agree(first(vmap(program, every, 2)), first(vmap(marked, every, 2)), seed)
    derived = first(program)
    flags = [rng.random() < 0.7 for _ in derived.inputs]
    flags[-1] = True
    agree(vmap(derived, flags, 2), vmap(first(marked), flags, 2), seed, native=True)


def unknown(program: Program) -> list[Primitive]:
    """Return the ops of a program, and of those that it holds, that random programs have of their own."""
    found: dict[str, Primitive] = {}
    stack = [program]
    while stack:
        for node in stack.pop().nodes:
            if not isinstance(node.op, Leaf):
                stack += [of.hoisted for of in node.op.held(node.params)]
                if node.op.name not in known_ops():
                    found[node.op.name] = node.op
    return list(found.values())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_programs_inside_programs_read_back(seed: int) -> None:
    """Their text has the same key; lowering leaves calls, of programs of primitives, and what these compute."""
    rng = random.Random(seed)
    names = [rng.choice(("call", "checkpoint")) for _ in range(rng.choice((1, 2, 3)))]
    marked = nested(draw_program(Seeded(seed), most=3), names)
    for program in (marked, vjp(marked), jvp(vjp(marked)), lower(vjp(marked))):
        assert primad.parse(str(program), primitives=unknown(program)).key == program.key
        known = known_ops() | {op.name: op for op in unknown(program)}
        assert unpacked(json.loads(json.dumps(packed(program, known))), known).key == program.key
        program.check()
    stack = [lower(vjp(marked))]
    while stack:
        for node in stack.pop().nodes:
            if not isinstance(node.op, Leaf):
                assert not node.op.is_composite
                stack += [of.hoisted for of in node.op.held(node.params)]


@pytest.mark.parametrize("mark", ["call", "checkpoint", "scan"])
@pytest.mark.parametrize("stacked", [False, True])
def test_a_rule_may_take_the_derivative_of_what_holds_programs(mark: str, stacked: bool) -> None:
    """Values that a rule's own `jvp` computes beside tangents, and reads again, do not depend on the tangents."""
    inner = primad.trace(lambda x: np.sin(x) * x)(primad.ArrayType((3,), float))

    def held(x: Any) -> Any:
        if mark == "scan":
            return primad.scan(lambda c, row: (np.sin(c) * row, c), x, x)[0]
        return MARKS[mark](inner)(x)[0]

    program = primad.trace(lambda x: np.exp(np.sin(held(x))))(primad.ArrayType((3,), float))
    marked = nested(program, ["custom_jvp"])
    if stacked:
        program, marked = vmap(program, [True], 2), vmap(marked, [True], 2)
    for change in (vjp, lambda p: vjp(jvp(p)), lambda p: vjp(vjp(p))):
        agree(change(program), change(marked), 1)
