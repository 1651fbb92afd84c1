"""Which tests may see a slip: those that run it, or what is made of it, or name it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tests.mutations.covered_lines import Covered
from tests.mutations.slips import Slip, names_of

PROOFS = dict.fromkeys(("ops", "simplify", "numpy", "programs", "nn"), "verify")
"""Packages whose records and laws the tests of another one prove."""
NEAR = 10.0
"""Lines from a slip at which a line counts half. Chosen: about half of a function."""


def asked(slip: Slip, covered: Covered, root: Path, places: Mapping[str, Sequence[int]]) -> set[str]:
    """Return the tests that run one of the places that a slip is seen from, or of files that name what it changes."""
    found = {test for path, lines in places.items() for test in _running(path, lines, covered)}
    text = read(slip.path, root)
    everywhere = _lines_of_functions(text)
    if slip.line not in everywhere:
        found.update(_naming(slip, covered, root))
        return found or _running(slip.path, everywhere, covered)
    if found or (found := covered.of(slip.path, *slip.statement)):
        return found | _of_tables(slip, covered, root)
    # None of the cases that the map knows runs it: others of those that run what is around it may, or, if none runs
    # that, whatever is made while a file of tests is read.
    first, last = _function_around(text, slip.line)
    around = _running(slip.path, range(first, last + 1), covered)
    near = around or _running(slip.path, everywhere, covered).union(_naming(slip, covered, root))
    others = {case for test in near for case in covered.others.get(test.partition("[")[0], ())}
    return (others or near) if around else others | near


def _running(path: str, lines: Iterable[int], covered: Covered) -> set[str]:
    """Return the tests that run one of some lines."""
    return {test for line in lines for test in covered.of(path, line, line)}


def places(slip: Slip, covered: Covered, root: Path) -> dict[str, list[int]]:
    """Return the lines that a test must run to see a slip, by file.

    Those of a function are its own. What is outside of functions runs while its file is read, for the test that reads
    it first or for none: it is seen from the lines of functions, of its file or of those that import it, that name it.
    """
    if _is_of_function(slip, root):
        return {slip.path: list(range(slip.line, slip.last + 1))}
    found = {path: _lines_that_name(read(path, root), slip.names) for path in (slip.path, *_users(slip, covered, root))}
    return {path: lines for path, lines in found.items() if lines}


def _users(slip: Slip, covered: Covered, root: Path) -> list[str]:
    """Return the files of the package that import a slip's module."""
    pattern = importing(slip)
    return [path for path in covered.lines if path != slip.path and pattern.search(read(path, root))]


def _naming(slip: Slip, covered: Covered, root: Path) -> list[str]:
    """Return the tests of files that import a slip's module which name what it changes, or what names it."""
    pattern, found = importing(slip), []
    for file, tests in covered.all_of.items():
        text = read(file, root)
        if pattern.search(text):
            names = _made_of(text, slip.names)
            found += [test for test in tests if _name_of(test) in names]
    return found


def _of_tables(slip: Slip, covered: Covered, root: Path) -> set[str]:
    """Return the tests that ask tables made with what changes, while their file is read: the map does not know those.

    Only files of the package that mirrors the slip's own are looked at.
    """
    names = {name for name in slip.names if len(name) > 1 and not name.startswith("_")}
    found: set[str] = set()
    for file, tests in covered.all_of.items():
        text = read(file, root)
        if mirrors(file, slip) and names & _words_of(text):
            tables = {own for given, said, calls in _parts(text) if not calls and names & said for own in given}
            asking = _made_of(text, sorted(tables))
            found.update(test for test in tests if _name_of(test) in asking)
    return found


def _made_of(text: str, names: Sequence[str]) -> set[str]:
    """Return names, and those that a source gives to what it makes with them."""
    found = {name for name in names if len(name) > 1}
    while more := {own for given, said, _ in _parts(text) if said & found for own in given} - found:
        found |= more
    return found


@lru_cache(maxsize=1024)
def _parts(text: str) -> tuple[tuple[tuple[str, ...], frozenset[str], bool], ...]:
    """Return what each statement at the top of a source names, the words in it, and whether it is a function."""
    rows, found = text.splitlines(), []
    for statement in ast.parse(text).body:
        first = min([statement.lineno, *(x.lineno for x in getattr(statement, "decorator_list", ()))])
        said = _words_of("\n".join(rows[first - 1 : statement.end_lineno]))
        found.append((names_of(statement), said, isinstance(statement, ast.FunctionDef)))
    return tuple(found)


def _name_of(test: str) -> str:
    return test.partition("::")[2].partition("[")[0]


def mirrors(file: str, slip: Slip) -> bool:
    """Say whether a file of tests is of the package that mirrors a slip's own."""
    package = slip.path.split("/")[1]
    return file.split("/")[1] in (package, PROOFS.get(package))


def closeness(slip: Slip, covered: Covered, root: Path, places: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Return how much a test has to do with what a slip changes: lines count that are near, and that few tests run."""
    naming = [] if _is_of_function(slip, root) else _naming(slip, covered, root)
    found = {test: 1.0 / len(naming) for test in naming}
    for path, wanted in places.items():
        inside = _lines_of_functions(read(path, root))
        for line in inside & covered.lines.get(path, {}).keys():
            tests = covered.of(path, line, line)
            share = 1.0 / (len(tests) * (1.0 + min(abs(line - own) for own in wanted) / NEAR))
            for test in tests:
                found[test] = found.get(test, 0.0) + share
    return found


def importing(slip: Slip) -> re.Pattern[str]:
    """Return what a file says that imports a slip's module."""
    module = re.escape(slip.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    within, _, last = module.rpartition(r"\.")
    return re.compile(rf"\b{module}\b|from {within} import .*\b{last}\b")


def read(path: str, root: Path) -> str:
    """Return the text of a file, nothing if there is none."""
    place = root / path
    return place.read_text(encoding="utf-8") if place.exists() else ""


@lru_cache(maxsize=1024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


@lru_cache(maxsize=1024)
def _functions(text: str) -> tuple[tuple[int, int], ...]:
    """Return the first and last lines of what the functions of a source do when they are called, outer ones first."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node.body[0].lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.Lambda):
            found.append((node.body.lineno, node.body.end_lineno or node.body.lineno))
    return tuple(found)


@lru_cache(maxsize=1024)
def _lines_of_functions(text: str) -> frozenset[int]:
    return frozenset(line for first, last in _functions(text) for line in range(first, last + 1))


def _is_of_function(slip: Slip, root: Path) -> bool:
    return slip.line in _lines_of_functions(read(slip.path, root))


def _function_around(text: str, line: int) -> tuple[int, int]:
    """Return the lines of the innermost function around a line."""
    return max((first, last) for first, last in _functions(text) if first <= line <= last)


def _lines_that_name(text: str, names: Sequence[str]) -> list[int]:
    """Return the lines of functions that say one of some names."""
    wanted = {name for name in names if len(name) > 1}
    inside = _lines_of_functions(text) if wanted & _words_of(text) else ()
    rows = text.splitlines()
    return [line for line in sorted(inside) if wanted.intersection(re.findall(r"\w+", rows[line - 1]))]
