"""Rooms that can be read: few entries a folder, short files and functions, one meaning a name, the field's words."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.documents import ROOT
from tests.sources import PACKAGE

MOST_ENTRIES, LONGEST_FILE, LONGEST_FUNCTION = 15, 400, 60
SAME = {
    "diagonals": "diagonals of matrices: NumPy's, and those of matrices of derivatives",
    "distributions": "distribution functions, as functions of numbers and as SciPy's objects",
    "draws": "random draws from keys, of numbers and of distributions",
    "elliptic": "elliptic integrals: ops, and under SciPy's names",
    "factorizations": "factorizations of matrices, of SciPy's names and of JAX's primitives",
    "filters": "digital filters, of signals and of images",
    "fourier": "Fourier transforms: ops, and under SciPy's names",
    "indexing": "indices of arrays, NumPy's and JAX's",
    "matrix_exponentials": "ops, and under SciPy's names",
    "matrix_functions": "ops, and under SciPy's names",
    "object_arrays": "NumPy's arrays of objects, with traced numbers or with exact ones",
    "other_names": "names of SciPy's that are not there, and what to take instead",
    "quadrature": "integrals by weighted sums of values",
    "samples": "functions that are known at some points: integrals and interpolation under SciPy's names",
    "special": "special functions under SciPy's names, and the module that SciPy has",
}
"""Names of several modules of the engine, and the one meaning that they share."""


@cache
def texts() -> list[tuple[Path, str]]:
    """Return the path and the text of each file."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if "demos" not in path.parts]
    return [(path, path.read_text(encoding="utf-8")) for path in paths]


def engine() -> list[tuple[str, ...]]:
    """Return the paths of the engine's modules, in parts."""
    paths = [path.relative_to(PACKAGE).with_suffix("").parts for path, _ in texts()]
    return [parts for parts in paths if parts[0] != "compat" and parts[-1][0] != "_"]


def words_of(name: str) -> str:
    """Return the words of a name in small letters, with spaces around them."""
    return f" {' '.join(re.findall(r'[a-z]+|[A-Z][a-z]*|[0-9]+', name)).lower()} "


def test_folders_have_few_entries() -> None:
    """Beside their `__init__`; the package's own entries are its layers, which a test of the design knows."""
    entries = {parts[:i] for parts in engine() for i in range(2, len(parts) + 1)}
    count = Counter(entry[:-1] for entry in entries)
    assert len(count) > 60
    assert {folder: n for folder, n in count.items() if n > MOST_ENTRIES} == {}


def spans(text: str) -> Iterator[int]:
    """Yield how many lines each function has, its docstring included, by its indentation."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if re.match(r" *(async )?def ", line):
            depth = len(line) - len(line.lstrip())
            deeper = (" " * (depth + 1), " " * depth + ")")
            yield 1 + sum(1 for _ in itertools.takewhile(lambda x: not x or x.startswith(deeper), lines[i + 1 :]))  # noqa: B023


def functions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the place of each function, and how many lines it has beside its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            said = ast.get_docstring(node, clean=False)
            yield node.lineno, (node.end_lineno or 0) - node.lineno + 1 - (said.count("\n") + 1 if said else 0)


def test_files_and_functions_are_short() -> None:
    long = [f"{path}" for path, text in texts() if text.count("\n") > LONGEST_FILE]
    candidates = [(path, text) for path, text in texts() if max(spans(text), default=0) > LONGEST_FUNCTION]
    assert len(candidates) > 20
    for path, text in candidates:  # reading all trees takes ten times as long
        long += [f"{path}:{line}" for line, length in functions(text) if length > LONGEST_FUNCTION]
    assert not long


def test_names_of_modules_have_one_meaning() -> None:
    count = Counter(parts[-1] for parts in engine())
    assert {name for name, times in count.items() if times > 1} == set(SAME)


def test_no_name_has_a_retired_word() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("## Words that are not used")[1]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)[1:]
    retired = [word for words in rows for word in words.split(", ")]
    assert len(retired) > 5
    names = {part for parts in engine() for part in parts}
    for path, content in texts():
        if path.relative_to(PACKAGE).parts[0] != "compat":
            names |= {*re.findall(r"^ *(?:def|class) (\w+)", content, re.MULTILINE)}
    assert len(names) > 5000
    assert [name for name in names if any(f" {word} " in words_of(name) for word in retired)] == []


TESTED_ELSEWHERE = {
    "scipy/linear_filters": "what filters are made of: tests/scipy/test_signal.py and test_ndimage.py",
    "verify/cases": "the table of cases, which tests/verify/checks proves and all others draw from",
    "verify/exact": "numbers with which tests/verify/checks proves the cases",
}
"""Rooms of which no test has the path, and where they are tested."""


def test_tests_are_found_by_the_path_of_what_they_test() -> None:
    """Those of `primad/native/schedule` are `tests/native/schedule`, or files `tests/native/test_schedule*`."""
    rooms = {path.parent.relative_to(PACKAGE) for path, _ in texts() if len(path.relative_to(PACKAGE).parts) > 2}
    rooms = {Path(*room.parts[:2]) for room in rooms if room.parts[0] != "compat"}
    assert len(rooms) > 45
    tests = ROOT / "tests"
    without = {
        room.as_posix()
        for room in rooms
        if not list((tests / room).glob("test_*.py")) and not list((tests / room.parent).glob(f"test_{room.name}*.py"))
    }
    assert without == TESTED_ELSEWHERE.keys()


def test_folders_of_tests_are_rooms() -> None:
    """No folder of tests mirrors what is not there; helpers of the tests of a room have folders of their own."""
    tests = ROOT / "tests"
    mirrored = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - {Path("project")}
    own = {Path("accuracy"), Path()}
    assert {folder.as_posix() for folder in mirrored - own if not (PACKAGE / folder).is_dir()} == set()
