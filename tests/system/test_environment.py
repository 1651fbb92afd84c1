"""Every environment variable that primad reads, with values that it should not have: they are left out, in words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.native.llvm.compiler import compiler
from primad.parallel.threads import MOST_THREADS, _default_threads
from primad.system import environment
from primad.system.disk_cache import DiskCache, disk_cache, folder
from primad.system.environment import LEAST_CACHE_BYTES
from primad.system.machine import cache, facts_for_bits, processors

SOURCES = Path(primad.__file__).parent
HOSTILE = (
    "", " ", "0", "1", "2", "-1", "+1", "1.5", "1e3", "abc", "no", "true", "None", "٣", "²", "0x10", "1_000", "99" * 40,
    str(2**64), "nan", "inf", "~nouser/x", "~", "/dev/null", "/dev/null/x", "/proc/nothing", "a" * 5000, "\udcff", "%s",
    "{}", "rm -rf", "relative/folder", "//", "..",
)  # fmt: skip


def second_cache() -> int:
    return cache(2).size


def gradient() -> Any:
    with pytest.raises(primad.TracingError) as caught:
        primad.grad(lambda x: x * "a")(1.0)
    return caught.value


READERS: dict[str, tuple[Callable[[], Any], Callable[[Any], bool]]] = {
    "PRIMAD_CACHE": (disk_cache, lambda found: found is None or isinstance(found, DiskCache)),
    "PRIMAD_CACHE_BYTES": (second_cache, lambda found: found >= LEAST_CACHE_BYTES),
    "PRIMAD_NUM_THREADS": (_default_threads, lambda found: 1 <= found <= MOST_THREADS),
    "PRIMAD_NATIVE": (facts_for_bits, lambda found: isinstance(found["native code"], bool)),
    "PRIMAD_TRACEBACK": (gradient, lambda found: "a text, 'a'" in str(found)),
}
"""What reads each variable, and what holds of what it reads."""


def test_every_variable_of_the_source_is_tried_here() -> None:
    found = set()
    for path in SOURCES.rglob("*.py"):
        found |= set(re.findall(r"[\"']PRIMAD_[A-Z_]+[\"']", path.read_text()))
    assert {name.strip("\"'") for name in found} == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_hostile_values(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    read, holds = READERS[name]
    for text in HOSTILE:
        monkeypatch.setenv(name, text)
        environment._leave_out.cache_clear()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert holds(read()), text
        assert all(f"the environment variable {name} is" in str(warning.message) for warning in told)
        good = name in ("PRIMAD_CACHE", "PRIMAD_TRACEBACK") or not text.strip() or text in ("0", "1", "2")
        assert good or told, f"{name}={text!r} is left out in silence"


def test_good_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRIMAD_NUM_THREADS", "3")
    monkeypatch.setenv("PRIMAD_CACHE_BYTES", str(2**20))
    monkeypatch.setenv("PRIMAD_NATIVE", "0")
    monkeypatch.setenv("PRIMAD_CACHE", str(tmp_path / "kept"))
    assert _default_threads() == 3 and second_cache() == 2**20 and not facts_for_bits()["native code"]
    found = disk_cache()
    assert found is not None and not found.refused and found.path == tmp_path / "kept"
    monkeypatch.delenv("PRIMAD_NUM_THREADS")
    assert _default_threads() == processors()


def test_a_home_that_there_is_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMAD_CACHE", "~nouser/x")
    kept = disk_cache()
    assert kept is not None and "there is no home ~nouser" in kept.refused and "PRIMAD_CACHE" in kept.refused
    assert kept.get(("a",)) is None and kept.count == 0
    kept.put(("a",), b"")
    assert str(folder()) == "~nouser/x"


SMALL = """
import numpy as np, primad
x = np.sin(np.arange(9000.0) ** 2).reshape(3000, 3)
w = np.linspace(0.0, 1.0, 30).reshape(3, 10)
f = lambda w: np.sum(np.tanh(x @ w) ** 2)
found = [primad.jit(f)(w), primad.grad(f)(w).sum(), primad.jit(lambda x: np.linalg.inv(x.T @ x))(x).sum(),
         primad.jit(lambda x: np.sort(x, 0).sum() + np.var(x) + np.sum(x[1:] * x[:-1]))(x)]
"""


def test_the_smallest_cache_computes_what_others_do() -> None:
    """All that is cut by the size of a cache, in a process of its own: constants are read once."""
    environ = {**os.environ, "PRIMAD_CACHE_BYTES": str(LEAST_CACHE_BYTES), "PRIMAD_NATIVE": "0"}
    command = [sys.executable, "-c", f"{SMALL}\nprint(*found)"]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    here: dict[str, Any] = {}
    exec(SMALL, here)
    np.testing.assert_allclose([float(number) for number in ran.stdout.split()], here["found"], rtol=1e-12)


@pytest.mark.skipif(compiler() is None, reason="there is no native code here")
def test_warnings_name_the_variable_and_what_it_may_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMAD_NUM_THREADS", "many")
    environment._leave_out.cache_clear()
    with pytest.warns(RuntimeWarning, match="PRIMAD_NUM_THREADS is a whole number from 1 to 65536; 'many' is left out"):
        _default_threads()
