"""Long programs in parts: cut where they repeat themselves, equal parts compiled once, equal to the reference."""

import random
import re
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.native.emit import op_table
from primad.native.llvm import compiler as native
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.scratch_memory import ALIGNMENT, Memory
from primad.native.module import outlined_text
from primad.native.schedule import outlining
from primad.native.schedule.outlining import PartedProgram
from primad.native.schedule.repetition import ends_of_pieces
from primad.programs.rerolling import repeated_runs
from primad.runtime.plan import compiled_program as runtime_compiled
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.transforms import vjp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.runtime.plan.test_compiled_program import check, plan_of
from tests.sweeps import WIDTHS, thinned

needs_compiler = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")


@pytest.fixture
def cut(monkeypatch):
    """Every program is cut, into the smallest parts."""
    small = replace(
        BUDGET,
        worth_cutting=-1.0,
        always_cut=-1.0,
        shortest_repeated=2,
        longest_repeated=6,
        longest_part=3,
        in_registers=-1,
    )
    for module in (outlining, outlined_text, op_table):
        monkeypatch.setattr(module, "BUDGET", small)


def rk4(steps):
    def rate(y):
        a, b, c = y[0], y[1], y[2]
        return np.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 8.0 / 3 * c])

    def run(y, h):
        for _ in range(steps):
            k1 = rate(y)
            k2 = rate(y + h / 2 * k1)
            k3 = rate(y + h / 2 * k2)
            k4 = rate(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return np.sum(y * y)

    return run


def horner(count):
    def run(x):
        total = 0.3 * x
        for number in range(count):
            total = total * x + (0.1 + 0.001 * number)
        return total

    return run


@needs_compiler
@pytest.mark.usefixtures("width", "cut")
@thinned(2, width=WIDTHS)
def test_random_programs_and_their_gradients_in_the_smallest_parts():
    several = 0
    for seed in range(30):
        program = draw_program(Seeded(seed))
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in program.in_types]
        for transformed in (program, vjp(program)):
            extra = [np.ones(type.shape, type.dtype) for type in transformed.in_types[len(arguments) :]]
            lowered = simplify(transformed)
            plan = runtime_compiled.compiled_program(lowered, None)
            if plan is None:
                continue
            several += len(PartedProgram(lowered).calls) > 2
            wanted = Plan(lowered).run([*arguments, *extra])
            for got, want in zip(plan.run([*arguments, *extra]), wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}\n{lowered}")
    assert several > 20


@needs_compiler
@pytest.mark.usefixtures("width", "cut")
def test_outputs_of_every_kind_in_parts():
    """Outputs that are arguments, numbers, views, each other, or read again, and values in several types."""

    def f(x, y):
        z = np.sin(x) * 2.5
        w = np.concatenate([z, y * 1.25]) + 0.75
        chosen = np.where(w > 0.5, w, np.float64(0.125))
        total = np.sum(np.outer(chosen, w), axis=0)
        return x, z, z, z[::-1], w[2:5], np.reshape(total, (2, -1)), chosen * total + w, w > 1.0, np.ones(3) * 0.5, y.T

    check(f, np.linspace(0.0, 1.0, 4), np.linspace(1.0, 2.0, 6))
    single = (np.linspace(0.0, 1.0, 4, dtype=np.float32), np.linspace(1.0, 2.0, 6, dtype=np.float32))
    check(lambda x, y: np.concatenate([np.tanh(x) * 0.25, y * 0.75]) * 1.5, *single)


@needs_compiler
@pytest.mark.usefixtures("cut")
def test_parts_read_views_of_what_others_made():
    """They begin inside of a value, and several values have their places in one memory."""

    def f(x):
        y, z = np.sin(x), np.cos(x)
        for i in range(1, 4):
            y, z = np.tanh(y[1:] * z[:-1]) * y[:1], np.sin(z[1:] - y[i]) * z[2]
        return y, z, np.sum(y[1:] * z[:-1])

    check(f, np.linspace(0.1, 2.0, 9))


@needs_compiler
@pytest.mark.usefixtures("cut")
def test_equal_functions_of_parts_are_one_but_those_that_name_their_part():
    """Loops whose members end by themselves count their turns in a number of their part, which others don't know."""

    def halved(x):
        return primad.while_loop(lambda c: c > 1.0, lambda c: c / 2.0, x, max_steps=50)

    def f(x, y):
        x = primad.vmap(halved)(x)
        for _ in range(4):
            x = np.sin(x * y) + np.cumsum(x)
        z = primad.vmap(halved)(x + 3.0)
        for _ in range(4):
            z = np.cos(z * y) + x
        return np.sum(z)

    arguments = np.linspace(1.0, 9.0, 9), np.ones(9)
    text = outlined_text.text_of(simplify(primad.lower(primad.trace(f)(*arguments)).hoisted()))
    functions = re.findall(r"^define .*?^}", text.functions, flags=re.MULTILINE | re.DOTALL)
    counting = [function for function in functions if "spent" in function]
    assert len(counting) > 1 and any("@KERNEL.shared" in function for function in functions)
    for function in counting:
        owner = re.search(r"@(KERNEL\.part\d+)", function).group(1)
        assert set(re.findall(r"@([\w.]+)\.spent", function)) == {owner}
    check(f, *arguments)


@needs_compiler
def test_the_steps_of_a_loop_are_compiled_once(monkeypatch):
    """The number of different parts does not grow with the number of steps, where these stay unrolled."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 10**9)
    for make, arguments in ((rk4, (np.array([1.0, 2.0, 3.0]), 0.01)), (horner, (0.7,))):
        counts = []
        for steps in (12, 24) if make is rk4 else (200, 400):
            program = primad.trace(primad.grad(make(steps)))(*arguments)
            parted = PartedProgram(simplify(primad.lower(program).hoisted(scalars=False)))
            counts.append((len(parted.parts), sum(len(part.program.nodes) for part in parted.parts)))
        (few, nodes), (more, more_nodes) = counts
        assert more <= few + 1 and more_nodes <= 1.2 * nodes
        check(primad.grad(make(steps)), *arguments)


@needs_compiler
@pytest.mark.usefixtures("cut")
def test_functions_that_parts_share_are_written_once(monkeypatch):
    """Parts that differ have loops that are equal: each is in the text, and compiled, once for all."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 10**9)

    def loss(x, y):
        for i in range(12):  # steps of three kinds in no order
            x, y = x * np.cos(y) + 0.1 * np.cumsum(y), y - 0.1 * x
            x, y = (x, y * y) if i in (1, 2, 6, 9) else (y, x) if i in (4, 5, 10) else (x / (1.0 + y * y), y)
        return np.sum(x * y)

    arguments = np.linspace(0.1, 1.0, 9), np.linspace(0.3, 0.9, 9)
    program = simplify(primad.lower(primad.trace(primad.grad(loss))(*arguments)).hoisted())
    assert len(PartedProgram(program).parts) > 5
    functions = outlined_text.text_of(program).functions
    found = re.findall(r"^define internal void @KERNEL(\.[.\w]+)(\(.*?^})", functions, re.MULTILINE | re.DOTALL)
    apart = [text for name, text in found if "@KERNEL" not in text]
    assert len(apart) == len(set(apart)) > 5
    assert all("shared" in name for name, text in found if "@KERNEL" not in text)
    check(primad.grad(loss), *arguments)


@needs_compiler
def test_a_program_that_would_take_too_long_to_compile_is_not(monkeypatch):
    monkeypatch.setattr(outlined_text, "BUDGET", replace(BUDGET, most=0.0))
    monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, instructions=1000))
    assert plan_of(rk4(20), np.ones(3), 0.01)[0] is None
    assert plan_of(rk4(1), np.ones(3), 0.01)[0] is not None


def test_pieces_of_any_sequence():
    """Pieces follow one another, are not too long, and of a sequence that repeats itself most are equal."""
    draw = random.Random(0)
    for _ in range(300):
        period = [draw.randrange(6) for _ in range(draw.randint(1, 40))]
        head, tail = ([draw.randrange(9) for _ in range(draw.randint(0, 60))] for _ in range(2))
        count = draw.randint(0, 30)
        marks = [*head, *period * count, *tail]
        shortest, longest, most = draw.randint(1, 20), draw.randint(20, 60), draw.randint(1, 30)
        crossing = [draw.randrange(5) for _ in range(len(marks) + 1)]
        ends = ends_of_pieces(marks, crossing, shortest, longest, most)
        assert ends == sorted(set(ends)) and ends[-1:] == ([len(marks)] if marks else [])
        pieces = [tuple(marks[a:b]) for a, b in pairwise([0, *ends])]
        assert all(0 < len(piece) <= max(longest, most) for piece in pieces)
        wide = longest // len(period) * len(period)
        if count * len(period) > 12 * max(wide, most) and wide >= shortest:
            assert len(set(pieces)) < len(pieces)


def test_places_in_memory_never_overlap():
    draw = random.Random(1)
    for _ in range(50):
        memory, taken, most = Memory(), [], 0
        for _ in range(100):
            if taken and draw.random() < 0.5:
                memory.free(taken.pop(draw.randrange(len(taken)))[0])
            else:
                size = draw.randint(0, 500)
                start = memory.take(size)
                assert start % ALIGNMENT == 0 and start + size <= memory.size
                assert all(start + size <= other or end <= start for other, end in taken)
                taken.append((start, start + max(1, size)))
            most = max(most, sum(end - start for start, end in taken))
        assert memory.size <= 4 * (most + 100 * ALIGNMENT)
