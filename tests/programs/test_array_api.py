"""The command that runs the suite of the Array-API standard: what it finds in a small suite of the same form."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.programs.array_api import KNOWN, NAMESPACES, known, results, told

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--max-examples")
    parser.addoption("--hypothesis-seed")
"""
SUITE = """
import os
from importlib import import_module

xp = import_module(os.environ["ARRAY_API_TESTS_MODULE"])

def test_names():
    assert xp.sum(xp.asarray([1.0, 2.0])) == 3.0 and xp.__array_api_version__

def test_neither():
    assert not hasattr(xp, "asarray")

def test_one_namespace():
    assert xp.__name__ == "numpy", "another name"
"""


def run(arguments: Sequence[str], cwd: Path, within: int) -> Any:
    options = ["-p", "no:hypothesispytest", "-c", os.devnull, "--rootdir=."]
    command = [sys.executable, *arguments, *options]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=within)


def test_what_fails_with_primad_only_is_told(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ARRAY_API_TESTS_MODULE", "")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    folder = tmp_path / "array_api_tests"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(SUITE)
    before, now = [results(run, tmp_path, name, 2) for name in NAMESPACES]
    name = next(each for each in before if each.endswith("test_one_namespace"))
    assert [bool(why) for why in before.values()] == [False, True, False]
    assert "another name" in now[name]
    assert told(before, now, {}) == 1
    assert f"{name}: NOT LISTED" in capsys.readouterr().out
    assert told(before, now, known(f"# why\n{name}: it is called so")) == 0
    said = capsys.readouterr().out
    assert "3 tests; 2 pass with NumPy, 1 of these with primad.numpy" in said and f"{name}: it is called so" in said
    assert told(before, before, {name: "it is called so"}) == 1  # listed, and passes
    assert told(before, {}, {name: "it is called so"}) == 1  # the others were not collected
    with pytest.raises(SystemExit, match="did not run with numpy"):
        results(lambda *_: subprocess.CompletedProcess([], 1, "", "no pytest"), tmp_path, "numpy", 2)


def test_the_list_can_be_read() -> None:
    assert all(name and reason for name, reason in known(KNOWN.read_text(encoding="utf-8")).items())
