"""What the builder of LLVM text writes computes what it says, whatever stands inside of what."""

from __future__ import annotations

import ast
import ctypes
import re
from random import Random
from typing import Any

import numpy as np
import pytest

from primad.native.llvm.builder import Builder, module
from primad.native.llvm.compiler import compiler
from tests.sources import PACKAGE

pytestmark = pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")


def compiled(code: Builder) -> Any:
    """Return what was written as a function of the address of memory and a number."""
    code.do("ret void")
    code.label("out")
    code.do("ret void")
    host = compiler()
    assert host is not None
    head = "void @KERNEL(ptr %memory, i64 %count, i64 %b, i64 %c)"
    (kernel,) = host.kernels([module([code.function(head)], code.declared.values())])
    return kernel


class Both:
    """Writes random code, with a model in Python that does the same on a list of numbers."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.code = Builder()

    def block(self, depth: int, known: list[tuple[str, str]]) -> str:
        """Write some statements; return them as Python text. Known are pairs of the LLVM and the Python name."""
        lines = []
        known = list(known)
        for _ in range(self.choose.randint(1, 3)):
            lines.append(self.statement(depth, known))
        return "\n".join(lines)

    def value(self, known: list[tuple[str, str]]) -> tuple[str, str]:
        """Write a sum of two known values; the same sum may be known, and then it is not written again."""
        (x, px), (y, py) = self.choose.choice(known), self.choose.choice(known)
        return self.code.once(f"add i64 {x}, {y}"), f"({px} + {py})"

    def statement(self, depth: int, known: list[tuple[str, str]]) -> str:
        code, kind = self.code, self.choose.choice(["store", "store", "loop", "when", "either", "require"])
        if depth == 0 or kind == "store":
            (value, said), place = self.value(known), self.choose.randrange(4)
            old = code.load("i64", "%memory", place)
            code.store("i64", code.emit(f"add i64 {old}, {value}"), code.place("i64", "%memory", place))
            return f"memory[{place}] += {said}"
        if kind == "loop":
            return self.loop(depth, known)
        value, said = self.value(known)
        least = self.choose.randint(-1, 9)
        condition, test = code.emit(f"icmp sgt i64 {value}, {least}"), f"{said} > {least}"
        if kind == "when":
            with code.when(condition):
                inside = self.block(depth - 1, known)
            return f"if {test}:\n{indented(inside)}"
        if kind == "require":
            code.require(condition, "out")
            return f"if not {test}: return"
        said_of: list[str] = []

        def way() -> str:
            found, text = self.value(known)
            said_of.append(text)
            return found

        chosen, name = code.either("i64", condition, way, way), f"e{code.fresh()}"
        known.append((chosen, name))
        return f"{name} = {said_of[0]} if {test} else {said_of[1]}"

    def loop(self, depth: int, known: list[tuple[str, str]]) -> str:
        code, k = self.code, self.code.fresh()
        start, turns, step = self.choose.choice([(0, 1, 1), (0, 2, 1), (0, 3, 2), (1, 2, 1), (-3, 4, 3)])
        inner = ""

        def turn(index: str, values: list[str]) -> list[str]:
            nonlocal inner
            inner = self.block(depth - 1, [*known, (index, f"i{k}"), (values[0], f"c{k}")])
            return [code.emit(f"add i64 {values[0]}, {index}")]

        end = start + (turns - 1) * step + 1
        (total,) = code.loop(end, turn, ["5"], "i64", str(start), step)
        known.append((total, f"c{k}"))
        return f"c{k} = 5\nfor i{k} in range({start}, {end}, {step}):\n{indented(inner)}\n    c{k} += i{k}"


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(100))
def test_random_code_does_what_a_model_does(seed: int) -> None:
    both = Both(seed)
    body = both.block(3, [("%count", "count"), ("3", "3"), ("-2", "-2")])
    names: dict[str, Any] = {}
    exec(f"def model(memory, count):\n{indented(body)}", names)
    kernel = compiled(both.code)
    for count in (0, 2):
        memory, expected = np.zeros(4, np.int64), [0] * 4
        names["model"](expected, count)
        kernel.function(memory.ctypes.data_as(ctypes.c_void_p), count, 0, 0)
        assert memory.tolist() == expected, body


FOR_OPTIMISATION = re.compile(
    r"noalias|dereferenceable|llvm\.assume|![a-z]|\bf(?:add|sub|mul|div|cmp|neg) (?:fast|n|arcp|contract|afn|re)"
)


def test_texts_say_nothing_that_only_optimisation_goes_by() -> None:
    """What such words say wrongly would be seen in the sweep only: the suite compiles without optimisation."""
    written = sorted((PACKAGE / "native").rglob("*.py"))
    strings = [
        (path, node.value)
        for path in written
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert not [(path.name, text) for path, text in strings if FOR_OPTIMISATION.search(text)]
    assert FOR_OPTIMISATION.search("%c = fadd nnan double %a, %b") and FOR_OPTIMISATION.search("ptr noalias %a")
