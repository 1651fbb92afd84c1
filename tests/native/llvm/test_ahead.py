"""LLVM that is loaded on a thread while a function is recorded: a head start, of which nothing depends."""

import os
import subprocess
import sys

import pytest

from primad.native.llvm import compiler

SCRIPTS = {
    "jit is all": "primad.jit(np.sin)",
    "a call": "assert primad.jit(np.sin)(0.5) == np.sin(0.5)",
    "a fork at once": """
f = primad.jit(primad.grad(lambda x: np.sum(np.tanh(x) ** 2)))
child = os.fork()
x = np.ones(5)
assert np.allclose(f(x), 2 * np.tanh(x) / np.cosh(x) ** 2)
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("native", ["1", "0"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_processes_end_as_they_do_without(name, native, tmp_path):
    """With nothing on the disk, so that LLVM has to say what processor this is."""
    environment = {**os.environ, "PRIMAD_CACHE": str(tmp_path / "cache"), "PRIMAD_NATIVE": native}
    script = f"import os, numpy as np, primad\n{SCRIPTS[name]}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_no_thread_is_no_error(monkeypatch):
    def refused(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(compiler, "start_new_thread", refused)
    before = list(compiler._AHEAD)
    compiler._ahead(lambda: None)
    assert before == compiler._AHEAD


def test_nothing_begins_without_native_code(monkeypatch):
    begun = []
    monkeypatch.setattr(compiler, "_ahead", begun.append)
    monkeypatch.setattr(compiler, "is_off", lambda name: True)
    compiler.start_compiler._make()
    assert begun == []
    monkeypatch.setattr(compiler, "is_off", lambda name: False)
    compiler.start_compiler._make()
    assert begun == [compiler.compiler]


def test_what_goes_wrong_ahead_is_left_to_who_needs_it():
    def wrong():
        raise ValueError("not here")

    compiler._ahead(wrong)
    begun = compiler._AHEAD.pop()
    assert begun.acquire(timeout=5)
