"""The gallery: every example at toy size, with its picture and record; the command; the pages made of records."""

import io
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from primad.cli import app, gallery
from tests.sweeps import chosen

PNG = b"\x89PNG\r\n\x1a\n"
EXAMPLES = gallery.examples()
DOCS = Path(__file__).parents[2] / "docs"
TRIED = ("burgers_jax", "grating", "lambert_w", "poisson_2d", "topology_optimisation", "waveguide_bend")
"""What the suite runs: an equation, JAX's device, a primitive, eigenvectors, a design, a sparse complex system."""


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore:.*points only:UserWarning")  # a toy has few
@pytest.mark.parametrize("name", chosen(EXAMPLES, TRIED))
def test_toy_runs_reach_what_they_declare(name, tmp_path, capsys):
    if EXAMPLES[name].missing:
        pytest.skip(f"it needs {EXAMPLES[name].said['Needs']}")
    record = gallery.run_example(EXAMPLES[name], tmp_path, toy=True)
    assert not record["missed"], gallery.in_words(record)
    assert all(np.isfinite(value) for value in record["figures"].values())
    assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)
    assert json.loads((tmp_path / f"{name}.json").read_text()) == record
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.json", f"{name}.png"]
    with Image.open(tmp_path / f"{name}.png") as picture:
        assert picture.size[0] == 160 * gallery.WIDTH  # letters are equally large in all


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_declare_themselves_and_are_short(name):
    example = EXAMPLES[name]
    assert example.title and "Reference" in example.said
    assert example.limits(True) and example.limits(False), "what it should reach"
    lines = [line for line in example.path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 100, "an example is short: a hundred lines that are not blank, its docstring among them"


SMALL = '''"""A small example.

Reference: none, and this line
goes on.
Reach: error 1e-3, seconds 5
Toy: error {limit}
Published: error 0.1
{needs}
"""

import numpy as np


def solve(toy, seed):
    {before}
    return {{"error": 10.0 * seed + toy}}, (np.arange(3.0),)


def draw(x):
    import matplotlib.pyplot as plt

    plt.plot(x)
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "examples"
    place.mkdir()

    def write(name, limit="5", before="pass", needs=""):
        (place / f"{name}.py").write_text(
            SMALL.format(limit=limit, before=before, needs=needs).replace("\n\nReach", "\nReach")
        )

    write("first")
    write("second", limit="0.5")
    (place / "_hidden.py").write_text("")
    found = gallery.examples
    monkeypatch.setattr(gallery, "examples", lambda: found(place))
    write.out = tmp_path / "out"
    return write


def run(*arguments):
    return CliRunner().invoke(app.app, ["examples", *map(str, arguments)])


def test_what_a_docstring_says(folder):
    example = gallery.examples()["first"]
    assert list(gallery.examples()) == ["first", "second"]
    assert example.title == "A small example"
    assert example.said["Reference"] == "none, and this line goes on."
    assert example.limits(False) == {"error": 1e-3, "seconds": 5.0} and example.limits(True) == {"error": 5.0}
    assert run("list").output.splitlines()[0].split(maxsplit=1) == ["first", "A small example"]


def test_a_run_says_what_it_missed_and_is_no_failure(folder):
    result = run("run", "--all", "--toy", "--out", folder.out)
    assert result.exit_code == 0, result.output
    first, second, last = result.output.splitlines()
    assert first.startswith("first") and "error 1 " in first and "missed" not in first
    assert second.endswith("missed: error") and str(folder.out.name) in last
    record = json.loads((folder.out / "second.json").read_text())
    assert record["toy"] and record["missed"] == ["error"] and record["seed"] == 0
    assert record["figures"]["error"] == 1.0 and record["figures"]["seconds"] >= 0


def test_a_terminal_shows_what_is_running(folder, monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Screen())
    gallery.run_examples([gallery.examples()["first"]], folder.out, True, 0, False)
    shown = sys.stdout.getvalue().splitlines()[:2]
    assert "first" in shown[0] and "is running" in shown[0] and "error 1 " in shown[1], "and then the figures"


def test_what_needs_a_module_that_is_not_there_is_left_out(folder):
    folder("first", before="raise RuntimeError('not run')", needs="Needs: no_such_module (pip install it)")
    result = run("run", "--all", "--toy", "--out", folder.out)
    assert result.exit_code == 0 and "left out: it needs no_such_module (pip install it)" in result.output


def test_the_seed_reaches_the_example(folder):
    run("run", "first", "--seed", "3", "--out", folder.out)
    assert json.loads((folder.out / "first.json").read_text())["figures"]["error"] == 30.0


def test_names_may_be_patterns(folder):
    folder("third")
    result = run("run", "second", "*d", "--out", folder.out)
    assert [line.split()[0] for line in result.output.splitlines()[:-1]] == ["second", "third"], "each once"


def test_resume_leaves_out_what_is_done_at_this_size(folder):
    run("run", "first", "--toy", "--out", folder.out)
    folder("first", before="raise RuntimeError('run again')")
    assert run("run", "first", "--toy", "--resume", "--out", folder.out).exit_code == 0
    assert run("run", "first", "--toy", "--out", folder.out).exit_code == 1
    assert run("run", "first", "--resume", "--out", folder.out).exit_code == 1, "the full run was not made"
    (folder.out / "first.json").write_text("{")
    assert run("run", "first", "--toy", "--resume", "--out", folder.out).exit_code == 1, "a damaged record is none"


def test_one_failure_does_not_stop_the_others(folder):
    folder("first", before="raise RuntimeError('of the example')")
    result = run("run", "--all", "--toy", "--out", folder.out)
    assert result.exit_code == 1 and "second" in result.output and "failed: first" in result.output
    assert not (folder.out / "first.json").exists() and (folder.out / "second.json").exists()


def test_an_interrupt_that_the_example_survives_ends_the_run_after_it(folder):
    survived = "import signal, contextlib\n    with contextlib.suppress(KeyboardInterrupt): signal.raise_signal(2)"
    folder("first", before=survived)
    result = run("run", "--all", "--toy", "--out", folder.out)
    assert result.exit_code == 130
    assert (folder.out / "first.png").exists() and not (folder.out / "second.json").exists()
    assert json.loads((folder.out / "first.json").read_text())["interrupted"]
    folder("first")
    assert run("run", "--all", "--toy", "--resume", "--out", folder.out).exit_code == 0
    assert not json.loads((folder.out / "first.json").read_text())["interrupted"], "what was interrupted is run again"


def test_an_interrupt_that_the_example_does_not_survive_writes_nothing(folder):
    folder("first", before="import signal; signal.raise_signal(signal.SIGINT)")
    result = run("run", "--all", "--toy", "--out", folder.out)
    assert result.exit_code == 130 and "interrupted" in result.output
    assert not list(folder.out.iterdir())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_matplotlib_there_are_records_and_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr(gallery, "find_spec", lambda name: None)
    assert "primad[plot]" in run("run", "first", "--out", folder.out).output
    assert [path.name for path in folder.out.iterdir()] == ["first.json"]


@pytest.mark.exhaustive
def test_the_page_says_of_how_many_runs_its_figures_are(folder, monkeypatch):
    """One run of all is one, whatever fails or is missed; what was run at toy size only was not run."""
    script = runpy.run_path(str(DOCS / "gallery.py"))
    settings = {"HERE": folder.out, "examples": gallery.examples, "TOPICS": {"All": "first second"}}
    for name, value in settings.items():
        monkeypatch.setitem(script["pages"].__globals__, name, value)
    times = iter(f"2000-01-0{day} 12:00:00" for day in (1, 2, 3))
    monkeypatch.setattr(gallery, "_now", lambda: next(times))
    run("run", "--all", "--out", folder.out)
    (folder.out / "first.png").unlink()  # what could not be drawn is on the page all the same
    cards, page = script["pages"](folder.out).values()
    assert "of one run, of one command, begun 2000-01-01 12:00 UTC" in page
    first, second = page.split("## ")[1:]
    assert "Reached: error 0 (at most 1e-3); seconds" in first and "first.webp" not in page + cards
    assert "pictures/gallery/second.webp" in second and "pictures/gallery/thumbnails/second.webp" in cards
    run("run", "second", "--seed", "3", "--out", folder.out)
    page = script["pages"](folder.out)["gallery_figures.md"]
    assert "of 2 runs into one folder" in page and "**error 30**, missed (at most" in page
    run("run", "second", "--toy", "--out", folder.out)
    assert "Reached: not run." in script["pages"](folder.out)["gallery_figures.md"].split("## second")[1]
    machine = {"processor": "P", "processors": 2}
    said = [script["history"]([{"run": run, "machine": machine} for run in "abc"[:count]]) for count in range(4)]
    for begun, text in zip(("never", "a", "a and b", "a, b and c"), said, strict=True):
        assert f"begun {begun} UTC" in text


def test_the_pages_pictures_are_of_one_width_and_in_full_colour(tmp_path):
    """Thumbnails have one size and show the first of several panels; each example has a topic and its two pictures."""
    script = runpy.run_path(str(DOCS / "gallery.py"))
    names = [name for names in script["TOPICS"].values() for name in names.split()]
    assert sorted(names) == sorted(EXAMPLES)
    pictures = {path.stem: path for path in (DOCS / "pictures" / "gallery").glob("*.webp")}
    thumbnails = {path.stem: path for path in (DOCS / "pictures" / "gallery" / "thumbnails").glob("*.webp")}
    assert set(pictures) == set(thumbnails) == set(EXAMPLES)
    for name in EXAMPLES:
        with Image.open(pictures[name]) as picture, Image.open(thumbnails[name]) as thumbnail:
            assert picture.size[0] == script["WIDTH"] and thumbnail.size == script["THUMBNAIL"], name
    ramp = np.broadcast_to(np.arange(400) % 256, (200, 400))
    two = np.full((200, 800, 3), 255, np.uint8)
    two[:, :210], two[:, 250:] = ramp[:, :210, None], 0
    Image.fromarray(two).save(tmp_path / "two.png")
    assert script["panel"](Image.fromarray(two)).size == (230, 200)
    four = np.concatenate([two, np.full((40, 800, 3), 255, np.uint8), two])
    assert script["panel"](Image.fromarray(four)).size == (230, 220)
    script["reduce"](tmp_path / "two.png", tmp_path)
    with Image.open(tmp_path / "two.webp") as picture:
        assert len(np.unique(np.asarray(picture)[..., 0])) > 128  # no bands


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give names of examples, or --all"),
        (("first", "--all"), "give names of examples, or --all"),
        (("frist",), "Did you mean first?"),
        (("first", "x*"), "There is no example 'x*'"),
    ],
)
def test_errors_of_the_command(folder, arguments, message):
    result = run("run", *arguments)
    assert result.exit_code == 2 and message in result.output


def test_installed_examples_come_first(tmp_path, monkeypatch):
    (tmp_path / "primad" / "demos").mkdir(parents=True)
    (tmp_path / "scientific_examples").mkdir()
    (tmp_path / "scientific_examples" / "old.py").write_text('"""Old."""')
    monkeypatch.setattr(gallery, "__file__", str(tmp_path / "primad" / "cli" / "gallery.py"))
    (tmp_path / "primad" / "demos" / "new.py").write_text('"""New."""')
    assert list(gallery.examples()) == ["new"]


def test_an_example_runs_as_a_script(tmp_path):
    script = Path(EXAMPLES["robertson"].path)
    command = [sys.executable, str(script), "--toy"]
    path = os.pathsep.join([str(script.parent.parent), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("robertson") and (tmp_path / "examples_out" / "robertson.png").exists()
