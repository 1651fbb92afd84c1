"""Which tests run a line: what coverage.py finds, a file of tests at a time, kept in a folder that git ignores.

Of a test with many cases some are run, spread over all: the others are taken to run the same lines. A map holds the
text of the sources that it is of, so that it serves when they have changed: lines are found again by their neighbours.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ".mutations"
ALL = "*"
"""The name of all tests of a file."""
CASES = 6
"""Cases of a test that are run to see its lines. Chosen: a map of the whole suite takes a third of the suite's time."""


class _Noted:
    """A plugin of pytest that tells coverage.py which test runs, and keeps a few cases of each."""

    def __init__(self, coverage: Any, file: str) -> None:
        self.coverage = coverage
        self._file = file
        self._running = ""
        self.seconds: dict[str, float] = {}
        self.others: dict[str, list[str]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        of: dict[str, list[Any]] = {}
        for item in items:
            of.setdefault(item.nodeid.partition("[")[0], []).append(item)
        kept = set()
        for name, cases in of.items():
            some = spread(cases, CASES)
            kept.update(case.nodeid for case in some)
            self.others[name] = [case.nodeid for case in cases if case not in some]
        items[:] = [item for item in items if item.nodeid in kept]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """What several tests share runs for all of them, and not for the first alone."""
        if fixturedef.scope == "function":
            yield
            return
        self.coverage.switch_context(f"{self._file}::{ALL}")
        yield
        self.coverage.switch_context(self._running)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self._running = item.nodeid
        self.coverage.switch_context(item.nodeid)
        begun = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - begun
        self.coverage.switch_context("")


def spread(items: Sequence[Any], most: int) -> list[Any]:
    """Return some items of many, from the first to the last at equal distances."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def measure(test_file: str, to: Path) -> None:
    """Run a file of tests and write which lines each of its tests runs; for a process of its own."""
    import coverage

    covering = coverage.Coverage(data_file=None, config_file=False, source=["primad"], messages=False)
    covering.start()
    noted = _Noted(covering, test_file)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "-W", "ignore", test_file]
    pytest.main(options, plugins=[noted])
    covering.stop()
    data = covering.get_data()
    tests = [*noted.seconds, f"{test_file}::{ALL}"]
    number = {test: i for i, test in enumerate(tests)}
    lines: dict[str, dict[int, list[int]]] = {}
    texts: dict[str, str] = {}
    for file in data.measured_files():
        path = Path(file).relative_to(ROOT).as_posix()
        found = {
            line: sorted(number[context] for context in contexts if context in number)
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        lines[path] = {line: some for line, some in found.items() if some}
        texts[path] = Path(file).read_text(encoding="utf-8")
    said = {
        "tests": tests,
        "seconds": [noted.seconds.get(test, 0.0) for test in tests],
        "others": noted.others,
        "lines": lines,
        "texts": texts,
    }
    draft = to.with_suffix(".draft")
    draft.write_bytes(gzip.compress(json.dumps(said).encode(), 3))
    draft.replace(to)


def place_of(test_file: str, root: Path = ROOT) -> Path:
    """Return where the map of a file of tests is kept: by its name and its text."""
    text = (root / test_file).read_bytes()
    return root / KEPT / f"{sha256(test_file.encode() + text).hexdigest()[:24]}.json.gz"


@dataclass
class Covered:
    """Which tests run which lines.

    Attributes:
        seconds: what each test that was run took, of a processor.
        others: by the name of a test, the cases that were not run.
        lines: by file and line, the tests that run it, of the sources as they are.
        missing: the files of tests of which there is no map.
        all_of: by file, all tests.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    all_of: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, test_files: Iterable[str], sources: Path, root: Path = ROOT) -> Covered:
        """Read what is known of files of tests, for the sources in a copy of the tree."""
        found = cls()
        moved: dict[tuple[str, str], dict[int, int]] = {}
        for test_file in test_files:
            place = place_of(test_file, root)
            if not place.exists():
                found.missing.append(test_file)
                continue
            said = json.loads(gzip.decompress(place.read_bytes()))
            tests = said["tests"]
            took = dict(zip(tests, said["seconds"], strict=True))
            took.pop(f"{test_file}::{ALL}", None)
            found.seconds.update(took)
            found.others.update(said["others"])
            found.all_of[test_file] = [*took, *(case for cases in said["others"].values() for case in cases)]
            for path, lines in said["lines"].items():
                text = said["texts"][path]
                if (path, text) not in moved:
                    now = sources / path
                    moved[path, text] = moved_lines(text, now.read_text(encoding="utf-8") if now.exists() else "")
                to = moved[path, text]
                own = found.lines.setdefault(path, {})
                for line, numbers in lines.items():
                    if int(line) in to:
                        own.setdefault(to[int(line)], set()).update(tests[i] for i in numbers)
        return found

    def of(self, path: str, first: int, last: int) -> set[str]:
        """Return the tests that run one of some lines of a file."""
        own = self.lines.get(path, {})
        tests = {test for line in range(first, last + 1) for test in own.get(line, ())}
        for some in [test for test in tests if test.endswith(f"::{ALL}")]:
            tests.remove(some)
            tests.update(self.all_of[some.partition("::")[0]])
        return tests

    def is_shared(self, test_file: str, path: str, first: int, last: int) -> bool:
        """Say whether one of some lines is run by what the tests of a file share, such as a fixture of all of them."""
        own = self.lines.get(path, {})
        return any(f"{test_file}::{ALL}" in own.get(line, ()) for line in range(first, last + 1))


def moved_lines(before: str, after: str) -> dict[int, int]:
    """Return where each line of a text is in a later one; a changed line is where those around it are."""
    if before == after:
        return {i: i for i in range(1, before.count("\n") + 2)}
    old, new = before.splitlines(), after.splitlines()
    found: dict[int, int] = {}
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal" or (how == "replace" and d > c):
            for i in range(a, b):
                found[i + 1] = min(c + i - a, d - 1) + 1
    return found


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]))
