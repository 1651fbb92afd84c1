"""Functions that remember what they gave, by arguments of which `==` tells all, and which are all that they read."""

from __future__ import annotations

import ast
import re
from functools import cache

import numpy as np
import pytest

import primad
from tests.sources import PACKAGE, trees

MEMOS = {"lru_cache", "cache", "made_once"}
EXACT = {
    "int", "str", "bool", "type", "tuple", "frozenset", "None", "np.dtype", "Path", "Shape", "ArrayType", "Axis",
    "ClosedProgram", "Primitive", "ByKey", "Budget", "_Form",
}  # fmt: skip
"""Types whose values `==` tells apart, where they are used as they are said: no float, since 0.0 is −0.0, and nothing
that may be anything, since 1 is True."""
ALLOWED = {
    "compat/paddle/eager/gradients.py gradient_of operator": "a record, equal to itself only by its function",
    "compat/paddle/eager/gradients.py tangent_of operator": "as above",
    "compat/paddle/static/program.py _drawn_apart prototype": "as above",
    "compat/paddle/static/run/lowering.py _source prototype": "as above",
    "compat/paddle/optimizer/optimizer.py _compiled rule": "numbers of a rule that are equal make the same steps",
    "compat/paddle/static/optimization.py update_operator rule": "as above",
    "ir/parse.py _kinds op": "a record",
    "numpy/shapes/indexing.py _steps plain": "`_plain` takes no truth values",
    "native/emit/pointwise.py _written_out program": "programs are equal to themselves",
    "verify/checks/decide.py _expands_to_zero expression": "of equal expressions all are zero, or none",
    "verify/checks/decide.py _vanishes expression": "as above",
    "verify/exact/number_systems.py recognize value": "exact numbers have one zero",
}
"""Parameters of other types, and why that tells nothing apart that differs."""
AMBIENT = re.compile(r"\bLEFT_OUT\.get\(|\bstep_program\(")
"""What reads something that is no argument: the laws that are left out."""
ESTIMATES = {"most_work_of_step", "_compile_seconds_of_body", "_work_of_called", "_reason_within"}
"""What may be off a little where laws are left out."""


@cache
def memos() -> list[tuple[str, ast.FunctionDef, str]]:
    """Return all functions that remember: their files, themselves, their texts."""
    found = []
    for path, tree in trees(*MEMOS):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(name_of(each) in MEMOS for each in node.decorator_list):
                found.append((path.relative_to(PACKAGE).as_posix(), node, ast.unparse(node)))
    return found


APART = {
    "compat/mxnet/imperative/tape_recording.py": ["Applied", "Override"],  # by Settings, whose equality is exact
    "ops/record/definitions.py": [
        "lambda types, params: recorded(lower, types, params.value).out_types[0]",
        "lambda types, params: recorded(lower, types, params.value).cost()",
    ],  # by types, and params by their keys
    "optimize/gauss_newton/residual_models.py": ["self._make_parts", "self._make_pieces"],  # by keys of structures too
}
"""What is made to remember where it is used, by file."""


def test_what_remembers_without_saying_so_is_known() -> None:
    found: dict[str, list[str]] = {}
    for path, tree in trees(*MEMOS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and name_of(node) in MEMOS:
                found.setdefault(path.relative_to(PACKAGE).as_posix(), []).extend(map(ast.unparse, node.args))
    assert found == APART


def name_of(node: ast.AST) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return str(getattr(node, "id", getattr(node, "attr", "")))


def test_what_is_remembered_by_equality_is_told_apart_by_it() -> None:
    unused = set(ALLOWED)
    for file, function, _ in memos():
        given = function.args
        assert given.vararg is None and given.kwarg is None, f"{file}: {function.name} takes anything"
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            said = ast.unparse(each.annotation) if each.annotation else "Any"
            words = set(re.findall(r"[\w.]+", said.replace("np.dtype[Any]", "np.dtype"))) - {"..."}
            if not words <= EXACT:
                place = f"{file} {function.name} {each.arg}"
                assert place in ALLOWED, f"{place}: {said} may be equal to what is another; see ByKey"
                unused.discard(place)
    assert not unused
    assert len(memos()) > 40


def test_what_is_remembered_reads_nothing_but_its_arguments() -> None:
    for file, function, text in memos():
        arguments = {each.arg for each in function.args.args}
        if AMBIENT.search(text) and function.name not in ESTIMATES:
            assert "left_out" in arguments, f"{file}: {function.name} depends on which laws are left out"


@pytest.mark.parametrize("numbers", [(0.0, -0.0), (-0.0, 0.0), (1, 1.0), (True, 1), (2.0, 2)])
def test_ops_by_numbers_that_are_equal(numbers: tuple[float, float]) -> None:
    """Each gives what NumPy gives, natively and not, of arrays of each kind, whichever was asked for first."""
    divided = primad.elementwise("divided", lambda x, *, n: np.divide(x, n), partials=[lambda out, x, *, n: 1.0 / n])
    mixed = primad.composite("mixed", numpy=lambda x, *, n: np.multiply(x, n), lower=lambda x, *, n: x * n)
    with np.errstate(all="ignore"):
        for op in (divided, mixed):
            for x in (np.array([1.0, -2.0]), np.array([1.0, -2.0], np.float32), np.array([1, -2])):
                if op is divided and x.dtype.kind != "f":
                    continue
                for n in numbers:
                    for call in (primad.jit, primad.trace):
                        wanted = np.divide(x, n) if op is divided else np.multiply(x, n)
                        found = call(lambda x, op=op, n=n: op(x, n=n))(x)
                        found = found(x) if call is primad.trace else found
                        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes(), (op.name, n, call)
