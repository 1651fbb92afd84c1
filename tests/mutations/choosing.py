"""Which slips are tried, and which tests are asked about each, in which order."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.asked_tests import asked, closeness, importing, mirrors, places, read
from tests.mutations.covered_lines import Covered, spread
from tests.mutations.slips import Slip, slips_in

ENGINE = (
    "ir", "simplify", "ops", "transforms", "native", "runtime", "programs", "functional", "numpy", "integrate",
    "optimize", "pde",
)  # fmt: skip
"""The packages in which slips are drawn, unless others are named."""
WEIGHTS = {
    "clause dropped": 6, "comparison turned": 6, "component left out": 4, "digit": 3, "off by one": 4,
    "operands swapped": 3, "sign": 3, "not dropped": 2, "any for all": 1, "all for any": 1, "min for max": 1,
    "max for min": 1,
}  # fmt: skip
"""How often each kind of slip is drawn beside the others. Chosen: guards are what tests look at least."""


def engine_files(root: Path, within: Sequence[str] = ()) -> list[str]:
    """Return the sources in which slips are drawn."""
    starts = [f"primad/{name}/" for name in ENGINE] if not within else [name.rstrip("/") for name in within]
    found = [path.relative_to(root).as_posix() for path in sorted((root / "primad").rglob("*.py"))]
    return [path for path in found if any(path.startswith(start) for start in starts)]


def drawn(seed: int, count: int, files: Iterable[str], root: Path) -> list[Slip]:
    """Draw slips: first the kind, then the package, then one of all its slips of that kind; none twice in a line."""
    choose = random.Random(seed)
    of: dict[str, dict[str, list[Slip]]] = {}
    for path in files:
        package = "/".join(path.split("/")[:2])
        for slip in slips_in(path, (root / path).read_text(encoding="utf-8")):
            of.setdefault(slip.kind, {}).setdefault(package, []).append(slip)
    found: list[Slip] = []
    taken: set[tuple[str, int]] = set()
    while len(found) < count and of:
        kinds = sorted(of)
        kind = choose.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
        packages = of[kind]
        package = choose.choice(sorted(packages))
        slips = packages[package]
        slip = slips.pop(choose.randrange(len(slips)))
        if not slips:
            del packages[package]
            if not packages:
                del of[kind]
        if (slip.path, slip.line) not in taken:
            taken.add((slip.path, slip.line))
            found.append(slip)
    return found


@dataclass(frozen=True)
class Batch:
    """Tests of one file that are run together, the quickest first."""

    file: str
    tests: tuple[str, ...]
    seconds: float


AT_FIRST, OF_THE_FIRST = 16, 100
"""Tests of a file that are run before those of other files, and of the file that has most to do with the slip. Chosen:
most slips are caught by the first, and what is left by tests that were written for it."""
SOON, SOON_OF_THE_FIRST = 2.0, 12.0
"""Seconds that these take at most. Chosen: within a minute twenty files are asked."""


NAMED = 8
"""Cases of a file that have the name of what changes, which are run before all others. Chosen: most are quick."""
MOST_OTHERS = 40
"""Cases that the map does not know, of one file. Chosen: there are a hundred for each test of some ops."""


def batches(slip: Slip, covered: Covered, root: Path) -> list[Batch]:
    """Return the tests that run what a slip changes, those that are likely to catch it soon first.

    These are the tests that run what few run around it, of files that import its module, have its name or are of the
    package that mirrors its own, that take little time, and above all those of a case that has the name of what
    changes: `primad verify` asks everything about one op.
    """
    where = places(slip, covered, root)
    files: dict[str, list[str]] = {}
    for test in sorted(asked(slip, covered, root, where)):
        files.setdefault(test.partition("::")[0], []).append(test)
    known = {test for tests in files.values() for test in tests}
    named: dict[str, list[str]] = {}
    for file, every in covered.all_of.items():  # the map does not know all cases, and not what a read file runs
        if file in files or mirrors(file, slip):
            named[file] = [test for test in every if _is_named(test, slip.names)]
            files.setdefault(file, []).extend([test for test in named[file] if test not in known])
    near = closeness(slip, covered, root, where)
    ranked: list[tuple[float, str]] = []
    for file, some in files.items():
        best = max((_worth(test, covered, near) for test in some), default=0.0)
        if covered.is_shared(file, slip.path, slip.line, slip.last):  # it takes what all of them take
            best = min(best, 1.0 / (0.5 + sum(covered.seconds.get(test, 0.0) for test in covered.all_of[file])))
        ranked.append((best * _affinity(file, slip, root) * (2.0 if named.get(file) else 1.0), file))
    ranked.sort(reverse=True)
    earliest, first, later, last = [], [], [], []
    for _, file in ranked:
        chosen = _by_cost(files[file], covered, slip.names, near)
        some = [test for test in chosen[:NAMED] if test in named.get(file, ())]
        if some:
            earliest.append(_batch(file, some, covered))
            chosen = chosen[len(some) :]
        # What tests of a file share takes most of their time.
        shared = covered.is_shared(file, slip.path, slip.line, slip.last)
        limits = (AT_FIRST, SOON) if first else (OF_THE_FIRST, SOON_OF_THE_FIRST)
        at_first = len(chosen) if shared else _how_many(chosen, covered, *limits)
        for part, to in ((chosen[:at_first], first), (chosen[at_first:], later)):
            if part:
                to.append(_batch(file, part, covered))
        names = dict.fromkeys(test.partition("[")[0] for test in files[file])
        rest = [case for name in names for case in covered.others.get(name, ()) if case not in files[file]]
        if rest:  # cases that were not run for the map may run the line as well
            last.append(Batch(file, tuple(spread(rest, MOST_OTHERS)), 0.0))
    return [*earliest, *first, *later, *last]


def _batch(file: str, tests: Sequence[str], covered: Covered) -> Batch:
    return Batch(file, tuple(tests), sum(covered.seconds.get(test, 0.0) for test in tests))


def _how_many(tests: Sequence[str], covered: Covered, most: int, seconds: float) -> int:
    """Return how many of the first tests take so many seconds together: one at least, and no more than so many."""
    for i, test in enumerate(tests[:most]):
        seconds -= covered.seconds.get(test, 0.1)
        if seconds < 0:
            return i + 1
    return min(most, len(tests))


def _affinity(file: str, slip: Slip, root: Path) -> float:
    """Return how much a file of tests is about a slip: it imports its module, has its name, or mirrors its package.

    Whatever a component is left out of is a key, which tests of keys are about.
    """
    *folders, name = slip.path.removesuffix(".py").split("/")[2:]
    imports = importing(slip).search(read(file, root))
    is_key = slip.kind == "component left out" or re.search(r"Key\(", slip.before)
    about = _words(name, *folders[-1:], *(["key"] if is_key else []))
    shared = _words(file.rpartition("/")[2].removesuffix(".py")) & about
    return (4.0 if imports else 1.0) * (3.0 if shared else 1.0) * (2.0 if mirrors(file, slip) else 1.0)


def _words(*names: str) -> set[str]:
    """Return the words of names, in the singular."""
    return {word.removesuffix("s") for name in names for word in name.split("_")} - {"test"}


def _is_named(case: str, names: Sequence[str]) -> bool:
    """Say whether a case has one of some names, or what it begins with: `pad_type` is a part of the record of pad."""
    said = re.split(r"\W+", case.partition("[")[2])
    plain = [name.strip("_") for name in names]
    return any(name in said or (name.rpartition("_")[0] or name) in said for name in plain)


def _by_cost(tests: Sequence[str], covered: Covered, names: Sequence[str], near: Mapping[str, float]) -> list[str]:
    """Return tests in an order: those with the name of what changes, then a case of each test, then the others.

    Among these come first the ones that have most to do with what changes, for the time that they take.
    """
    seen: dict[str, int] = {}
    ranked = []
    for test in sorted(tests, key=lambda test: -_worth(test, covered, near)):
        name = test.partition("[")[0]
        turn = seen[name] = seen.get(name, 0) + 1
        ranked.append((0 if "[" in test and _is_named(test, names) else turn, -_worth(test, covered, near), test))
    return [test for _, _, test in sorted(ranked)]


def _worth(test: str, covered: Covered, near: Mapping[str, float]) -> float:
    """Return how much a test has to do with what changes, for the time that it takes."""
    return (0.01 + near.get(test, 0.0)) / (0.5 + covered.seconds.get(test, 0.1))
