"""What a notebook gets while something runs, and what its errors say: one output, and the numbers of cells."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import primad
from primad import optimize
from primad.pde.solve.progress import Bar
from primad.system import live_display

CELLS = (
    "import numpy as np, primad\nx = np.ones(3)",
    "def f(x):\n    y = np.zeros(3)\n    y[0] = x[0]\n    return y.sum()",
    "primad.grad(f)(x)",
    "primad.jit(lambda x: np.linalg.inv(x[0] * np.zeros((2, 2))))(x)",
    "def g(x):\n    v = np.array([x[0], 1.0])\n    return np.linalg.norm(np.exp(v))",
    "primad.grad(g)(x)",
    "print(primad.explain(f := lambda x: np.sum(np.sort(np.sin(x))), np.ones(3000))._repr_html_())",
    "primad.vmap(lambda a: np.linalg.cholesky(a))(-np.ones((2, 2, 2)))",
)
RUN = """
import json, re, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
shell.colors = "nocolor"
for cell in json.loads(sys.argv[1]):
    with capture_output() as found:
        shell.run_cell(cell, store_history=True)
    print(json.dumps(found.stdout))
"""


@pytest.fixture(scope="module")
def outputs() -> list[str]:
    pytest.importorskip("IPython")
    command = [sys.executable, "-W", "ignore", "-c", RUN, json.dumps(CELLS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('"')]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("cell", "where"), [(2, "Cell In[2], line 3"), (3, "Cell In[4], line 1"), (5, "Cell In[5], line 3")]
)
def test_an_error_names_the_cell_and_shows_the_users_lines_only(outputs: list[str], cell: int, where: str) -> None:
    told = outputs[cell]
    assert f"\n  in {where}" in told
    assert "/primad/" not in told.replace(sys.prefix, "") and "ipykernel" not in told and "ipython-input" not in told
    assert len(told.splitlines()) < 30


def test_pictures_and_errors_of_libraries_name_cells_too(outputs: list[str]) -> None:
    assert "Cell In[7], line 1" in outputs[6] and "ipython-input" not in outputs[6]
    assert "in Cell In[8], line 1" in outputs[7] and "_linalg.py" not in outputs[7] and "direct cause" not in outputs[7]


def test_the_line_where_an_array_was_made_is_a_cells_too(outputs: list[str]) -> None:
    assert "v = primad.numpy.array([x[0], 1.0]), in Cell In[5], line 2." in outputs[5]


class Output:
    """What `IPython.display.display` returns for an output that may be updated."""

    def __init__(self, states: list[str]) -> None:
        self._states = states

    def update(self, data: dict[str, str], raw: bool) -> None:
        self._states.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let this process be a notebook's, and return what its outputs show one after the other."""
    display = pytest.importorskip("IPython.display")
    shown: list[list[str]] = []

    def show(data: dict[str, str], raw: bool, display_id: bool) -> Output:
        shown.append([data["text/plain"]])
        return Output(shown[-1])

    monkeypatch.setattr(live_display, "is_notebook", lambda: True)
    monkeypatch.setattr(display, "display", show)
    return shown


class Run:
    """The history of a run, as far as a bar shows it."""

    names = ("equation", "boundary")

    def __init__(self, done: int) -> None:
        self.seconds, self.values, self.losses = [0.1 * done], [1.0 / (1 + done)], [(0.5, 0.25)]
        self._done = done

    def __len__(self) -> int:
        return self._done


@pytest.mark.filterwarnings("error")
def test_a_run_has_one_output_in_a_notebook(notebook: list[list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    bar = Bar(SimpleNamespace(steps=50, seconds=None), 0)  # type: ignore[arg-type]
    bar.start()
    for done in range(1, 51):
        bar.show(Run(done), 0.0)  # type: ignore[arg-type]
    bar.stop()
    optimize.solve(optimize.LBFGS(), lambda x: np.sum((x - 1) ** 4), np.ones(3) * 3, steps=8, progress=True)
    assert len(notebook) == 2
    assert "50/50 loss" in notebook[0][-1] and "equation 5.0e-01" in notebook[0][-1] and "value" in notebook[1][-1]
    for states in notebook:
        assert 2 <= len(states) <= 20 and not any("\x1b" in state for state in states)
    assert "\x1b[1A" not in capfd.readouterr().err


def test_states_are_sent_seldom(notebook: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(live_display.time, "monotonic", lambda: now[0])
    with live_display.LiveDisplay("a bar", transient=True) as live:
        for _ in range(100):
            now[0] += live_display.SECONDS / 10
            live.changed()
    assert 10 <= len(notebook[0]) <= 13 and notebook[0][-1] == ""


def test_matrices_and_trees_of_them_show_their_numbers() -> None:
    x = np.array([1.0, 2.0])
    assert "[[2. 0.]\n [0. 4.]]" in str(primad.jacobian(lambda x: x * x)(x))
    assert "[[2. 0.]\n [0. 2.]]" in str(primad.hessian(lambda x: np.sum(x * x))(x))
    assert "3." in str(primad.jacobian(lambda t: t * 3.0)(1.0))
    assert "6." in str(primad.hessian(lambda t: t * t * 3.0)(1.0))
    found = str(primad.jacobian(lambda p: {"y": p["a"] * 2.0})({"a": x}))
    assert "[[2. 0.]\n [0. 2.]]" in found
