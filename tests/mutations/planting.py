"""A copy of the tree in which one slip at a time is planted, and tests are run that may catch it.

Tests run in forks of a process that has imported what is not primad's, so that a slip costs hardly more than its tests.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.mutations.choosing import Batch
from tests.mutations.covered_lines import ROOT
from tests.mutations.slips import Slip

LEFT_OUT = (".git", ".venv*", ".mutations", "docs", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")
IMPORTED = (
    "pytest", "hypothesis", "numpy", "scipy.special", "scipy.linalg", "scipy.optimize", "scipy.integrate", "sympy",
    "mpmath", "optree", "safetensors.numpy", "threadpoolctl", "llvmlite.binding", "rich.console", "typer",
)  # fmt: skip
"""What is imported once, before any fork."""
PATIENCE = 6.0
"""Seconds of a clock for a second of a processor. Chosen: others may use the processors too."""


HANGING = 8.0
"""How much longer than usual a test takes that hangs. Chosen: a slip may make it slower, and what it hits caught."""


@dataclass
class Outcome:
    """What became of a slip.

    Attributes:
        slip: it.
        how: "caught", "survived", "stale" (its place is not there), "uncovered" or "equivalent".
        by: the test that failed, or why nothing did.
        ran: how many tests were run.
        seconds: what it took.
    """

    slip: Slip
    how: str
    by: str = ""
    ran: int = 0
    seconds: float = 0.0


@dataclass
class _Run:
    """What a fork has said: the tests that began, which failed, and how it ended; and the seconds of the last test."""

    begun: list[str] = field(default_factory=list)
    failed: str = ""
    ended: str = ""
    last: float = 0.0


class Field:
    """A copy of the tree, to plant slips in.

    Args:
        each: seconds of a processor that the tests of one slip may take.
        root: the tree.

    Attributes:
        root: the copy.
        usual: the seconds that tests take.
    """

    def __init__(self, each: float, root: Path = ROOT) -> None:
        self.each = each
        self.usual: Mapping[str, float] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="mutations-")
        self.root = Path(self._folder.name) / "tree"
        shutil.copytree(root, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        self._planted = 0
        self._green: set[str] = set()
        self._red: set[str] = set()

    def __enter__(self) -> Field:
        for name in IMPORTED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, of: TracebackType | None) -> None:
        self._folder.cleanup()

    @contextlib.contextmanager
    def planted(self, slip: Slip) -> Iterator[None]:
        """Plant a slip for a while. No two texts of a file have the same time, by which Python finds its bytecode."""
        path = self.root / slip.path
        about, text = path.stat(), path.read_text(encoding="utf-8")
        path.write_text(slip.planted(text), encoding="utf-8")
        self._planted += 1
        os.utime(path, (about.st_atime, about.st_mtime + 1000 + self._planted))
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))

    def tried(self, slip: Slip, asked: Sequence[Batch]) -> Outcome:
        """Plant a slip and run the tests that may catch it, until one does or the time is over."""
        begun, left, ran = time.monotonic(), self.each, 0
        if not asked:
            return Outcome(slip, "uncovered", "no test runs this line")
        while left > 0:
            files = [[test for test in batch.tests if test not in self._red] for batch in asked]
            with self.planted(slip):
                run, used = self._run(lambda files=files: _tests(files), left)
            left -= used
            ran += len(run.begun)
            by = run.failed or self._unexplained(run, asked[0])
            if not by:
                break
            if self._is_green(by):
                return Outcome(slip, "caught", by, ran, time.monotonic() - begun)
        count = sum(len(batch.tests) for batch in asked)
        passed = f"all {ran} tests passed" if ran >= count else f"{ran} of {count} tests passed in the time"
        return Outcome(slip, "survived", passed, ran, time.monotonic() - begun)

    def verified(self, slip: Slip) -> Outcome:
        """Plant a slip and ask `primad verify` alone: first about the ops of its file, then about everything."""
        begun, left = time.monotonic(), self.each
        while True:
            with self.planted(slip):
                run, used = self._run(lambda: _verify(slip, self._red), left)
            left -= used
            by = run.failed or (run.ended if run.ended not in ("", "passed", "time") else "")
            if not by or not run.failed or self._is_proved(slip, by):
                how = "caught" if by else "survived"
                return Outcome(slip, how, by or f"{len(run.begun)} rows", len(run.begun), time.monotonic() - begun)

    def _unexplained(self, run: _Run, first: Batch) -> str:
        """Return the test that a run ended in; nothing if it ended well, or its time was over with tests to come."""
        if run.ended == "passed":
            return ""
        if not run.begun:  # not even the first could be read
            return next((test for test in first.tests if test not in self._red), "")
        hangs = run.last > HANGING * self.usual.get(run.begun[-1], 1.0) + 1.0
        return run.begun[-1] if run.ended != "time" or hangs else ""

    def _is_green(self, test: str) -> bool:
        """Say whether a test passes where nothing is planted."""
        if test not in self._green and test not in self._red:
            run, _ = self._run(lambda: _tests([[test]]), 60.0)
            (self._green if run.ended == "passed" and run.begun else self._red).add(test)
        return test in self._green

    def _is_proved(self, slip: Slip, row: str) -> bool:
        """Say whether a row holds where nothing is planted."""
        if row not in self._green and row not in self._red:
            run, _ = self._run(lambda: _verify(slip, self._red, row), self.each)
            (self._red if run.failed == row else self._green).add(row)
        return row in self._green

    def _run(self, work: Callable[[], Any], seconds: float) -> tuple[_Run, float]:
        """Run something in a fork that tells of its tests; return what it said and the seconds that it used."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _become(self.root, writing, seconds)
            try:
                _tell(writing, "ended", work())
            except BaseException as error:
                _tell(writing, "ended", f"{type(error).__name__}: {error}"[:200].replace("\n", " "))
            os._exit(0)
        os.close(writing)
        run, at, deadline, buffer = _Run(), 0.0, time.monotonic() + PATIENCE * seconds + 5.0, b""
        while (wait := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([reading], [], [], wait)
            found = os.read(reading, 65536) if ready else b""
            if not found:
                break
            *lines, buffer = (buffer + found).split(b"\n")
            for line in lines:
                what, _, about = line.decode().partition(" ")
                if what == "begun":
                    spent, _, test = about.partition(" ")
                    at = float(spent)
                    run.begun.append(test)
                else:
                    setattr(run, what, about)
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
        if not run.ended and not run.failed:
            over = deadline <= time.monotonic() or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
            run.ended = "time" if over else f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "died"
        run.last = used.ru_utime + used.ru_stime - at
        return run, used.ru_utime + used.ru_stime


def _tell(writing: int, what: str, about: str) -> None:
    spent = f"{time.process_time():.3f} " if what == "begun" else ""
    os.write(writing, f"{what} {spent}{about}\n".encode())


def _become(root: Path, writing: int, seconds: float) -> None:
    """Make a fork the process that works in the copy: its folder, its path, its group, its limits."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    os.chdir(root)
    limit = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.update(PYTHONPATH=str(root), CI="true", PRIMAD_CACHE="0")
    sys.path[:] = [str(root), *[path for path in sys.path if Path(path or ".").resolve() != ROOT]]
    sys.dont_write_bytecode = False
    names = [name for name in sys.modules if name.partition(".")[0] in ("primad", "tests")]
    Told.forgotten = [sys.modules.pop(name) for name in names]
    Told.writing = writing


class Told:
    """A plugin of pytest that tells, through a pipe, which test begins and which fails.

    Attributes:
        writing: the pipe.
        forgotten: modules of the tree itself: to free what they keep of a run of tests takes longer than most tests.
    """

    writing = -1
    forgotten: Sequence[Any] = ()

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Tell that a test begins."""
        _tell(self.writing, "begun", nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Tell that a test failed, and end."""
        if report.failed:
            _tell(self.writing, "failed", report.nodeid)
            os._exit(0)

    def pytest_collectreport(self, report: Any) -> None:
        """Tell that a file could not be read, and end."""
        if report.failed:
            _tell(self.writing, "failed", report.nodeid)
            os._exit(0)


def _tests(files: Sequence[Sequence[str]]) -> str:
    """Run tests, file after file, so that no file is read before it is its turn."""
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    # A failure is enough: the smallest example is not looked for, and draws are the same each time.
    phases = [Phase.explicit, Phase.generate]
    checks = list(HealthCheck)
    settings.register_profile(
        "slips", derandomize=True, database=None, deadline=None, phases=phases, suppress_health_check=checks
    )
    settings.load_profile("slips")
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported already
    for tests in files:
        if tests:
            pytest.main([*options, *tests], [Told()])
    return "passed"


def _verify(slip: Slip, known: Set[str], alone: str = "") -> str:
    """Ask about the ops of a slip's file and then about all, or for one row; rows known to fail are left out."""
    from primad.ops.record.primitive import Primitive
    from primad.verify.cases.case_table import cases
    from primad.verify.checker import run

    def look(row: Any) -> None:
        said = f"verify {row.name}: {row.what}"
        if row.how == "failed" and said not in known and alone in ("", said):
            _tell(Told.writing, "failed", said)
            os._exit(0)
        _tell(Told.writing, "begun", row.name)

    if alone:
        run((alone.split(" ")[1].rstrip(":"),), None, None, None, None, look)
        return "passed"
    module = importlib.import_module(slip.path.removesuffix(".py").replace("/", "."))
    own = {op.name for op in vars(module).values() if isinstance(op, Primitive)} & cases().keys()
    named = [name for name in own if name in {given.strip("_") for given in slip.names}]
    for names in (named, sorted(own - {*named}), ()):
        if names or names == ():
            run(names, None, None, None, None, look)
    return "passed"
