"""Programs as text: printing, reading back, checking; damaged and hostile text is refused and executes nothing."""

from __future__ import annotations

import contextlib
import html as html_module
import itertools
import json
import math
import random
import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

import primad
from primad import ArrayType, ProgramError
from primad.functional.parsing import known_ops
from primad.ir.json_form import LARGEST_ARRAY, packed, unpacked
from primad.ir.node import CAPTURED
from primad.ir.parse import parse
from primad.ir.program import Cost
from primad.ir.text import render
from primad.numpy.special import logsumexp, softmax
from primad.recording import tree
from primad.transforms import jvp, vjp, vmap
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from tests.cases import CASES

X = np.array([0.5, -1.0, 2.0])
W = np.arange(6.0).reshape(2, 3)
BIG = np.arange(40.0).reshape(2, 20)


def network(x: Any) -> Any:
    return np.sum(np.tanh(W @ x + 1.0) ** 2)


FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "arithmetic": (lambda x, y: (x + 2.0) * y - x / y + x**y + x**3 - 1.0, (X, X + 5.0)),
    "literals": (lambda x: x * math.nan + math.inf - (-math.inf) * x + 1e-300 * x + x * 0.1, (X,)),
    "negative zero": (lambda x: np.maximum(x, -0.0) + np.maximum(x, 0.0), (X,)),
    "booleans": (lambda x: np.where((x > 0) & True, x, 0.0), (X,)),
    "integers": (lambda x: x // 2 + 3, (np.arange(3),)),
    "float32": (lambda x: x * 2 + np.float32(0.1), (X.astype(np.float32),)),
    "reductions": (lambda x: np.mean(x) + np.std(x) * np.max(x) + np.prod(x) + logsumexp(x), (X,)),
    "shapes": (lambda x: np.concatenate([x.reshape(3, 1), np.ones((3, 2))], axis=1)[::-1].T[:, 1:], (X,)),
    "indexing": (lambda x: x[[0, 2, 2]] + np.sort(x), (X,)),
    "softmax": (lambda x: softmax(x, axis=-1), (X,)),
    "activations": (lambda x: primad.nn.gelu(x) + primad.nn.silu(x) + primad.nn.relu(x), (X,)),
    "einsum": (lambda m, x: np.einsum("ij,j->i", m, x), (W, X)),
    "captured": (network, (X,)),
    "captured, nan and -0.0": (lambda x: x * np.array([math.nan, -0.0, math.inf]), (X,)),
    "captured booleans": (lambda x: np.where(np.array([True, False, True]), x, 1.0), (X,)),
    "tree": (lambda p: {"out": p["w"] @ p["x"], "two": (p["x"], 3.0)}, ({"w": W, "x": X},)),
    "constant": (lambda x: (2.0, x), (X,)),
    "zero-size": (lambda x: np.sum(x[:0]), (X,)),
    "0-d": (lambda x: np.sin(x), (0.5,)),
    "grad": (primad.grad(network), (X,)),
    "jvp": (lambda x, v: primad.jvp(network, (x,), (v,)), (X, X)),
    "hessian": (lambda x: primad.hessian(network)(x) * 1.0, (X,)),
    "hessian of a hessian": (lambda x: primad.hessian(lambda y: np.sum(primad.hessian(network)(y)))(x) * 1.0, (X,)),
    "block of a hessian": (lambda x: primad.hessian(network)(x)[1:, 0], (X,)),
    "trace of a hessian": (lambda x: np.trace(primad.hessian(network)(x)), (X,)),
    "hessian-vector product": (lambda x, v: primad.hessian(network)(x) @ v, (X, X)),
    "jacobian": (primad.jacobian(lambda x: np.tanh(W @ x)), (X,)),
    "vmap of grad": (primad.vmap(primad.grad(network)), (np.stack([X, X]),)),
    "checkpoint": (primad.grad(primad.checkpoint(network)), (X,)),
    "loop": (primad.grad(lambda x: primad.scan(lambda c, _: (np.sin(c) * W[0], c), x, length=4)[1][2, 0]), (X,)),
    "several results": (lambda x: np.linalg.qr(np.outer(x, x) + np.eye(3)), (X,)),
    "grad of a laplacian": (primad.grad(primad.laplacian(network)), (X,)),
    "derivative of a closure": (lambda x: primad.grad(lambda y: np.sum(x * y * 2.5))(x), (X,)),
}


def packed_round_trip(program: primad.Program) -> None:
    """What is packed says all of a program: names, types, the user's lines."""
    text = json.dumps(packed(program, known_ops()))
    again = unpacked(json.loads(text), known_ops())
    assert (again.key, str(again), again.label) == (program.key, str(program), program.label)
    assert json.dumps(packed(again, known_ops())) == text
    lines = [[each.lines.get(node) for node in each.nodes] for each in (again, program)]
    assert lines[0] == lines[1]
    again.check()


def round_trip(program: primad.Program) -> primad.Program:
    packed_round_trip(program)
    text = str(program)
    read = primad.parse(text)
    assert str(read) == text
    assert read.key == program.key
    read.check()
    return read


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_round_trip(name: str) -> None:
    f, args = FUNCTIONS[name]
    program = primad.trace(f)(*args)
    program.check()
    read = round_trip(program)
    leaves = tree.leaves(args)
    expected = tree.leaves(program(*args))
    found = tree.leaves(read(*leaves))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype
    for transformed in (primad.lower(program), primad.simplify(program), primad.simplify(primad.lower(program))):
        transformed.check()
        round_trip(transformed)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_give_well_formed_programs(name: str) -> None:
    f, args = FUNCTIONS[name]
    program = primad.trace(f)(*args).hoisted()
    n = len(program.inputs)
    active = [type.is_float for type in program.in_types]
    for derived in (
        jvp(program, active),
        vjp(program, active),
        vmap(program, [True] + [False] * (n - 1), 3),
        jvp(vjp(program, active), [*active, *[True] * (len(vjp(program, active).inputs) - n)]),
    ):
        derived.check()
        round_trip(derived)
        primad.simplify(derived).check()


def test_reading_keeps_bits() -> None:
    program = primad.trace(lambda x: (x * 0.1, x + (0.1 + 0.2), np.maximum(x, -0.0), x * 5e-324))(0.3)
    read = primad.parse(str(program))
    for a, b in zip(program(0.3), read(0.3), strict=True):
        assert np.float64(a).tobytes() == np.float64(b).tobytes()
    assert "-0.0" in str(program) and "5e-324" in str(program)


def test_long_captured_arrays_are_given() -> None:
    program = primad.trace(lambda x: np.sum(BIG * x))(1.0)
    text = str(program)
    assert "captured\n" in text
    assert primad.parse(text, captured=[BIG])(2.0) == program(2.0)
    with pytest.raises(ProgramError, match="no value was given for a captured array of type float64\\[2,20\\]"):
        primad.parse(text)
    with pytest.raises(ProgramError, match=r"must have type float64\[2,20\]"):
        primad.parse(text, captured=[BIG.T])


def test_costs_are_added_count_by_count() -> None:
    names = [field.name for field in fields(Cost)]
    one, other = (Cost(*range(start, start + len(names))) for start in (1, 100))
    assert [getattr(one + other, name) for name in names] == [101 + 2 * i for i in range(len(names))]


def test_own_primitives() -> None:
    cube = primad.elementwise("cube_of_text", lambda x: x * x * x, partials=[lambda out, x: 3.0 * x * x])
    text = str(primad.trace(lambda x: cube(x) + 1.0)(2.0))
    assert primad.parse(text, primitives=[cube])(2.0) == 9.0
    with pytest.raises(ProgramError, match="unknown op 'cube_of_text'"):
        primad.parse(text)
    sin = primad.elementwise("sin", np.sin, partials=[lambda out, x: np.cos(x)])
    with pytest.raises(ProgramError, match="name of one of primad's own ops"):
        primad.parse(text, primitives=[sin])


def test_user_lines() -> None:
    program = primad.trace(lambda x: np.sin(x) * 2.0)(0.5)
    text = render(program, lines=True)
    assert "test_program_text.py:" in text
    assert primad.parse(text).key == program.key


def test_input_names() -> None:
    def f(weight: Any, data: Any, nan: Any) -> Any:
        return weight * data["a-b"] + data["0"] + nan

    program = primad.trace(f)(1.0, {"a-b": 2.0, "0": 3.0}, 4.0)
    round_trip(program)
    assert str(program).startswith("program(weight: float64[], data_")
    assert primad.parse(str(program))(1.0, 3.0, 2.0, 4.0) == program(1.0, {"a-b": 2.0, "0": 3.0}, 4.0)


def test_what_cannot_be_packed() -> None:
    """An op that is not known or has the name of another, a large array, one in another order, a NaN of other bits."""
    sin = primad.elementwise("sin", np.sin, partials=[lambda out, x: np.cos(x)])
    wide, other = np.ones((2, LARGEST_ARRAY // 16 + 1)), np.frombuffer(np.uint64(0xFFF8 << 48).tobytes())[0]
    for function in (sin, lambda x: x + wide, lambda x: x + W.T, lambda x: x * float(other), primad.grad(sin)):
        assert packed(primad.trace(lambda x, f=function: np.sum(f(x[0])))(np.ones(1)), known_ops()) is None


def test_what_is_packed_tells_programs_apart() -> None:
    """By captured arrays, signs of zero, types of params and the lines of the user's."""

    def said(f: Any) -> str:
        return json.dumps(packed(primad.trace(f)(X), known_ops()))

    functions = [
        lambda x: x * np.ones(3), lambda x: x * np.array([1.0, 1.0, 2.0]), lambda x: np.maximum(x, 0.0),
        lambda x: np.maximum(x, -0.0), lambda x: np.sum(x), lambda x: np.sum(x, keepdims=True), lambda x: x[:2],
        lambda x: x[1:], primad.grad(np.sum), primad.grad(lambda x: np.sum(x * 2.0)),
        primad.grad(lambda x: np.sum(x * 3.0)), lambda x: np.sin(x),
    ]  # fmt: skip
    functions.append(lambda x: np.sin(x))  # the last again, on another line
    assert len({said(f) for f in functions}) == len(functions)


@pytest.mark.parametrize("name", ["tree", "grad", "captured", "literals"])
def test_damaged_packed_programs(name: str) -> None:
    """One value replaced by another: a ProgramError, or a well-formed program."""
    f, args = FUNCTIONS[name]
    whole = packed(primad.trace(f)(*args), known_ops())
    rng = random.Random(name)
    refused = 0
    for _ in range(150):
        damaged = json.loads(json.dumps(whole))
        place: Any = damaged
        while True:
            key = rng.choice([*(place if isinstance(place, dict) else range(len(place)))])
            if not isinstance(place[key], (list, dict)) or not place[key] or rng.random() < 0.05:
                break
            place = place[key]
        place[key] = rng.choice([-1, 0, 1, 10**9, 0.5, True, None, "sin", "float64", [], [0], {}, {"program": 0}])
        try:
            unpacked(damaged, known_ops()).check()
        except ProgramError:
            refused += 1
    assert refused > 20


def test_heads_are_said_once_and_operands_stand_before() -> None:
    """Ops with the same params, types and lines share a head; an operand is a node that is there already."""
    whole = packed(primad.trace(lambda x: sum(np.sin(x + i) for i in range(9)))(0.5), known_ops())
    (program,) = whole
    assert len(program["rows"]) > len(program["heads"]) + 9
    for row in program["rows"]:
        for place in range(1, len(row)):
            before, row[place] = row[place], -1
            with pytest.raises(ProgramError):
                unpacked(whole, known_ops())
            row[place] = before
    unpacked(whole, known_ops()).check()


GOOD = str(primad.trace(lambda x: np.sum(np.sin(x)[None] * 2.0, axis=1))(X))

HOSTILE: dict[str, str] = {
    "empty": "",
    "spaces": "   \n ",
    "not a program": "hello world",
    "python": "__import__('os').system('true')",
    "a call as an operand": "program(x: float64[]) { a: float64[] = sin __import__ return a }",
    "only the start": "program(",
    "unclosed": GOOD[:-1],
    "text after the end": GOOD + " x",
    "unknown op": "program(x: float64[]) { a: float64[] = system x return a }",
    "unknown name": "program(x: float64[]) { a: float64[] = sin y return a }",
    "used before it is defined": "program(x: float64[]) { a: float64[] = sin b b: float64[] = sin x return a }",
    "defined twice": "program(x: float64[]) { a: float64[] = sin x a: float64[] = cos x return a }",
    "input twice": "program(x: float64[], x: float64[]) { return x }",
    "wrong type": "program(x: float64[]) { a: float32[] = sin x return a }",
    "wrong shape": "program(x: float64[3]) { a: float64[4] = sin x return a }",
    "too many operands": "program(x: float64[]) { a: float64[] = sin x x return a }",
    "no operands": "program(x: float64[]) { a: float64[] = sin return a }",
    "missing param": "program(x: float64[3]) { a: float64[] = sum x return a }",
    "unknown param": "program(x: float64[]) { a: float64[] = sin x evil=1 return a }",
    "param of a wrong kind": "program(x: float64[3]) { a: float64[] = sum x axes=3 return a }",
    "string param": 'program(x: float64[3]) { a: float64[] = sum x axes="0" return a }',
    "bad label": 'program(x: float64[3]) { a: float64[] = contract x x labels="a" return a }',
    "bad escape": 'program(x: float64[3]) { a: float64[] = contract x x labels="\\x" return a }',
    "object dtype": "program(x: object[3]) { return x }",
    "complex dtype": "program(x: complex256[3]) { return x }",
    "complex without parts": "program(z: complex128[]) { a: complex128[] = add z complex(1.0) return a }",
    "complex element of reals": "program(x: float64[]) { a: float64[] = add x complex(1.0, 0.0) return a }",
    "real element of complex": "program(z: complex128[]) { a: complex128[] = add z 1.0 return a }",
    "no such dtype": "program(x: float65[3]) { return x }",
    "negative length": "program(x: float64[-3]) { return x }",
    "huge length": "program(x: float64[" + "9" * 40 + "]) { return x }",
    "huge shape": "program(x: float64[1000000000,1000000000]) { return x }",
    "huge number": "program(x: int64[]) { a: int64[] = add x " + "9" * 5000 + " return a }",
    "integer beyond int64": "program(x: int64[]) { a: int64[] = add x " + "9" * 40 + " return a }",
    "float beyond float64": "program(x: float64[]) { a: float64[] = add x " + "9" * 400 + " return a }",
    "deep parentheses": "program(x: float64[]) { a: float64[] = sum x axes=" + "(" * 100_000 + " return a }",
    "deep balanced parentheses": "program(x: float64[]) { a: float64[] = sum x axes="
    + "(" * 10_000
    + ")" * 10_000
    + " return a }",
    "deep programs": "program(x: float64[]) { a: float64[] = checkpoint x of=" * 2_000,
    "captured of a wrong length": "program(x: float64[2]) { a: float64[2] = captured [1.0, 2.0, 3.0] return a }",
    "captured words": "program(x: float64[2]) { a: float64[2] = captured [x, y] return a }",
    "outer": "program(x: float64[2]) { a: float64[2] = outer return a }",
    "null byte": "program(x: float64[2]) \x00{ return x }",
    "literal without a type": "program() { a: float64[] = sin 1.0 return a }",
    "opaque param": "program(x: float64[]) { a: float64[] = custom_jvp x rule=<f> return a }",
    "held program of other types": "program(x: float64[3]) { a: float64[] = checkpoint x "
    "of=program(y: float64[]) { return y } return a }",
    "a program where none is taken": "program(x: float64[2]) { a: float64[] = sum x axes=program() { return } "
    "return a }",
    "no program where one is taken": "program(x: float64[]) { a: float64[] = checkpoint x of=1 return a }",
    "more results than there are": "program(x: float64[]) { a: float64[], b: float64[] = checkpoint x "
    "of=program(y: float64[]) { return y } return a }",
    "axes that are no integers": "program(x: float64[2]) { a: float64[] = sum x axes=(0.0,) return a }",
    "axes that are a number": "program(x: float64[2]) { a: float64[] = sum x axes=0 return a }",
    "axes that are truths": "program(x: float64[2, 2]) { a: float64[2] = sum x axes=(True,) return a }",
    "captured nothing": "program(x: float64[1]) { a: float64[1] = captured [None] return a }",
    "captured fractions of integers": "program(x: float64[]) { a: int64[1] = captured [1.5] return a }",
    "a literal of another kind": "program(x: float64[]) { a: bool[] = logical_not 2:bool[] return a }",
    "unterminated string": 'program(x: float64[]) { a: float64[] = sum x axes="0 return a }',
    "dunder attribute": "program(x: float64[]) { a: float64[] = x.__class__ x return a }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text(name: str) -> None:
    with pytest.raises(ProgramError):
        primad.parse(HOSTILE[name])


TOKEN = re.compile(r"[A-Za-z_][\w.]*|-?\d+\.?\d*(?:e[-+]?\d+)?|[^\s\w]")
VALUES = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "0.0",
    "1.0",
    "-0.0",
    "2.5",
    "nan",
    "inf",
    "True",
    "False",
    "None",
    '"x"',
    "()",
    "(0,)",
]


def said(text: str) -> set[str]:
    """Return the params and captured arrays in a text; an integer may stand for the float that equals it there."""
    arrays = [re.sub(r"(?<![\w.])-?\d+(?![\w.])", r"\g<0>.0", found) for found in re.findall(r"captured \[.*\]", text)]
    return {*re.findall(r"\w+=[^\s{]+", text), *arrays}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_mutated_programs_are_refused_or_say_what_they_mean(name: str) -> None:
    """One token replaced by another of the program or by some value: a ProgramError, or a program that runs.

    A program that is read prints params and elements that stand in the text, not values that are equal to them.
    """
    f, arguments = FUNCTIONS[name]
    program = primad.trace(f)(*arguments)
    text, given = str(program), [node.params[0][1].array for node in program.nodes if node.op is CAPTURED]
    given = [array for array in given if array.size > 16]
    places = list(TOKEN.finditer(text))
    rng = random.Random(name)
    for _ in range(60):
        place = rng.choice(places)
        new = rng.choice([*VALUES, rng.choice(places)[0]])
        mutated = text[: place.start()] + new + text[place.end() :]
        try:
            read = primad.parse(mutated, captured=given)
        except ProgramError:
            continue
        assert said(str(read)) <= said(mutated), mutated
        values = [np.ones(type.shape, type.dtype) for type in read.in_types]
        with contextlib.suppress(primad.PrimadError, IndexError):
            read(*values)


def test_params_of_another_kind_are_refused_or_understood() -> None:
    """Each param of each op, replaced by a number, a word, a truth, nothing or a tuple, where it was something else."""
    refused, kinds = 0, itertools.cycle(["0", '"ab"', "()", "1.5", "True", '(0, "a")', "None"])
    for name, case in CASES.items():
        program = one_op(case.op, case.draw(Seeded(0)), case.through)
        if packed(program, known_ops()) is None:
            continue
        text = str(program)
        for found in re.finditer(r" (\w+)=(\([^()]*\)|[^\s({]+)(?=[ \n])", text):
            for kind in itertools.islice(kinds, 2):
                if kind[0] != found[2][0]:
                    try:
                        primad.parse(f"{text[: found.start(2)]}{kind}{text[found.end(2) :]}").check()
                    except ProgramError:
                        refused += 1
                    except Exception as error:
                        raise AssertionError(f"{name}: {found[1]}={kind}") from error
    assert refused > 50
    pool = str(primad.trace(lambda x: primad.nn.max_pool(x, 1))(np.ones((1, 4, 4, 1)))).replace("((0,0),(0,0))", "(0,)")
    for text in (pool, HOSTILE["axes that are a number"]):
        with pytest.raises(ProgramError, match=r"max_pool takes no padding=\(0,\)|sum takes no axes=0"):
            primad.parse(text)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_damaged_text(data: Any) -> None:
    """Any damage gives a ProgramError or a well-formed program, and nothing else."""
    start = data.draw(st.integers(0, len(GOOD)))
    stop = data.draw(st.integers(start, min(len(GOOD), start + 6)))
    piece = data.draw(st.text(alphabet="abx01-.,:()[]{}= \n\"'#float64sin\\", max_size=6))
    damaged = GOOD[:start] + piece + GOOD[stop:]
    try:
        program = primad.parse(damaged)
    except ProgramError:
        return
    program.check()


def test_check_finds_wrong_types() -> None:
    program = primad.trace(lambda x: np.sin(x) * 2.0)(0.5)
    program.outputs[0].type = ArrayType((2,), np.float64)
    with pytest.raises(ProgramError, match=r"has type .* but its op infers"):
        program.check()


def test_a_program_shows_itself_in_notebooks() -> None:
    program = primad.trace(lambda x: np.where(x < 1.0, x, 2.0))(np.ones(3))
    html = program._repr_html_()
    assert html.startswith(f"<pre>{html_module.escape(str(program))}</pre><p>$")
    latex = primad.trace(lambda x, y: x * np.sqrt(y))(1.0, 1.0)._repr_latex_()
    assert latex == r"$\displaystyle x \sqrt{y}$"
    for large in (primad.trace(np.sin)(np.ones(500)), primad.trace(np.sort)(np.ones(3))):
        assert large._repr_latex_() is None
        assert large._repr_html_() == f"<pre>{html_module.escape(str(large))}</pre>"


def test_an_error_shows_the_text_just_before_it() -> None:
    text = str(primad.trace(lambda x: np.sum(np.sin(np.cos(np.exp(x)))))(X)).replace("sum", "sum wrong=3")
    with pytest.raises(ProgramError, match="wrong") as caught:
        primad.parse(text)
    assert "exp" not in str(caught.value)


ODD = {"": "x", "3d": "x_3d", "return": "x_return", "a b": "a_b", "a.b": "a_b_1", "é": "x_é", "w": "w"}


def test_names_of_inputs_are_made_readable() -> None:
    program = primad.trace(lambda *xs: sum(xs[1:], xs[0]))(*map(float, range(len(ODD))))
    program.names = tuple(ODD)
    text = str(program)
    assert re.findall(r"(\w+): float64\[\]", text.partition(")")[0]) == list(ODD.values())
    assert str(primad.parse(text)) == text
    program.names = ("one", "two")  # of another program
    assert program.names == tuple([f"x{i}" for i in range(len(ODD))])


def test_the_longest_text_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primad.ir.parse.MAX_TEXT", len(GOOD))
    primad.parse(GOOD)
    with pytest.raises(ProgramError, match="longer than"):
        primad.parse(GOOD + " ")


@pytest.mark.parametrize("error", [ValueError(), ValueError("odd"), KeyError(), AssertionError()])
def test_an_error_that_says_nothing_is_named(error: Exception) -> None:
    class Ops(dict[str, Any]):
        def __contains__(self, name: object) -> bool:
            raise error

        def __getitem__(self, name: object) -> Any:
            raise error

        def get(self, name: object, default: Any = None) -> Any:
            raise error

    with pytest.raises(ProgramError, match="odd" if error.args else type(error).__name__):
        parse("program(x: float64[]) {\n  a: float64[] = sin x\n  return a\n}", Ops())


OTHER_NAN = struct.unpack("d", struct.pack("Q", 0x7FF8000000000001))[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, True), (OTHER_NAN, False), (complex(math.nan, math.inf), True), (complex(OTHER_NAN, 0.0), False),
        (complex(0.0, OTHER_NAN), False), (complex(1.0, -0.0), True), (-math.inf, True),
    ],
)  # fmt: skip
def test_numbers_are_packed_with_all_their_bits_or_not_at_all(value: complex, said: bool) -> None:
    program = primad.trace(lambda x: x * value)(X.astype(type(value)))
    found = packed(program, known_ops())
    assert (found is not None) == said
    if found is not None:
        assert str(packed(unpacked(found, known_ops()), known_ops())) == str(found)


def test_the_largest_array_that_is_packed() -> None:
    count = LARGEST_ARRAY // 8
    for size, said in ((count, True), (count + 1, False)):
        program = primad.trace(lambda x, size=size: x[:1] * np.arange(float(size)))(X)
        assert (packed(program, known_ops()) is not None) == said
