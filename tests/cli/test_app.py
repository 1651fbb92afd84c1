"""The command line: what it lists, runs and returns."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import primad
from primad.cli import app
from primad.cli.gallery import examples
from primad.explanation.explain_command import argument
from primad.system.disk_cache import disk_cache
from primad.system.machine import processors


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app.app, arguments)


def test_version(run):
    assert run("--version").output == f"primad {primad.__version__}\n"


def test_without_a_command_it_prints_help(run):
    output = run().output
    assert all(command in output for command in ("examples", "explain", "verify", "fuzz"))


def commands():
    """Return every command with its path, those of groups too."""
    found, left = [], [("primad", typer.main.get_command(app.app))]
    while left:
        path, command = left.pop()
        found.append((path, command))
        left += [(f"{path} {name}", each) for name, each in getattr(command, "commands", {}).items()]
    return found


@pytest.mark.parametrize(("path", "command"), commands(), ids=lambda item: item if isinstance(item, str) else "")
def test_every_command_and_every_option_has_a_help_text(path, command):
    assert command.help
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{path}: {parameter.name} has no help"


def test_misspelt_names_are_suggested(run):
    result = run("examples", "run", "robertso")
    assert result.exit_code == 2 and "Did you mean robertson?" in result.output
    result = run("verify", "tanhh")
    assert result.exit_code == 2
    assert result.output.splitlines()[:2] == [
        "verify: there is no op named 'tanhh'",
        "  Fix: did you mean tanh or tan or tanhshrink? `primad verify --list` shows all names.",
    ]
    assert "primad:" not in result.output
    assert "choose from" in run("verify", "qqqqq").output


MODEL = """
import numpy as np
import primad
from neighbour import WIDTH


def u(x):
    return np.sum(np.tanh(x @ np.ones((WIDTH, WIDTH))) ** 2)


def loss(x, scale=1.0):
    return scale * np.sum(primad.grad(u)(x) ** 2)


class model:
    loss = staticmethod(loss)


def branches(x):
    return x if x > 0 else -x


PI = 3.0
if __name__ == "__main__":
    raise SystemExit("it is not the script that runs")
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "explained_model.py").write_text(MODEL)
    (tmp_path / "neighbour.py").write_text("WIDTH = 3")
    return tmp_path / "explained_model.py"


def test_explain_shows_the_report_and_writes_the_picture(run, model, tmp_path):
    picture = tmp_path / "picture.svg"
    result = run("explain", f"{model}:loss", "--arg", "f64[100,3]", "-a", "2.0", "-o", str(picture))
    assert result.exit_code == 0, result.output
    assert "primad.explain(loss)" in result.output and "plan: " in result.output
    assert str(picture) in result.output and picture.read_text().startswith("<svg")
    assert run("explain", f"{model}:model.loss", "--arg", "float32[3]").exit_code == 0


@pytest.mark.parametrize(
    ("target", "arguments", "code", "message"),
    [
        ("{}:los", ["-a", "1.0"], 2, "has no function 'los'\n  Fix: did you mean loss?"),
        ("{}:qqqq", ["-a", "1.0"], 2, "has no function 'qqqq'\n  Fix: choose from u, loss, model, branches."),
        ("{}:PI", [], 2, "PI in {} is no function, but of type float"),
        ("{}", [], 2, "names no function"),
        ("loss", [], 2, "'loss' names no function\n  Fix: write FILE:FUNCTION, such as model.py:loss."),
        ("no/where.py:loss", [], 2, "there is no file no/where.py"),
        ("{}:loss", [], 2, "loss(x, scale=1.0) was given 0 arguments: missing a required argument: 'x'\n  Fix: "),
        ("{}:loss", ["-a", "q8[3]"], 2, "the argument 'q8[3]' is no type\n  Fix: give a type such as f64[1000,3]"),
        ("{}:loss", ["-a", "f64[3"], 2, "the argument 'f64[3' is no type"),
        ("{}:loss", ["-a", "f64[3]", "-o", "picture.png"], 2, "cannot write picture.png\n  Fix: end it in .svg"),
        ("{}:branches", ["-a", "f64[]"], 1, "truth value"),
        ("{}:loss", ["-a", "f64[4]"], 1, "matmul: shapes (4,) and (3, 3) do not fit"),
    ],
)  # fmt: skip
def test_errors_of_explain(run, model, target, arguments, code, message):
    result = run("explain", target.format(model), *arguments)
    assert result.exit_code == code
    assert message.format(model) in result.output


def test_errors_of_the_users_own_are_shown_from_their_file_on(run, tmp_path):
    for text, line in (
        ("def f(x):\n    return g(x)\ndef g(x):\n    return {}[x.ndim]", "return {}[x.ndim]"),
        ("1 / 0", "1 / 0"),
    ):
        file = tmp_path / "broken_model.py"
        file.write_text(text)
        result = run("explain", f"{file}:f", "-a", "f64[3]")
        lines = result.output.splitlines()
        assert result.exit_code == 1 and lines[0] == "Traceback (most recent call last):"
        assert line in result.output and f'File "{file}"' in lines[1]
        assert "primad" not in result.output.replace(str(tmp_path), "") and "typer" not in result.output


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_verify_shows_how_far_it_is_where_that_is_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    for stream, seen in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert primad.verify("exp").ok
        assert ("exp: " in stream.getvalue()) == seen
        assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "text", ["f64[3,2]", "float32[]", "i64[5]", "b[2]", "u8[1]", "f16[ 2 , 2 ]", "3", "-2.5", "1e-3"]
)
def test_arguments_of_explain(text):
    value = argument(text)
    if "[" not in text:
        assert value == float(text) and type(value) is (int if text == "3" else float)
        return
    numbers = tuple(int(n) for n in text.partition("[")[2][:-1].split(",") if n.strip())
    assert value.shape == numbers and value.dtype.kind == text[0]
    assert np.all((value >= 0) & (value < 1))


def test_the_command_starts_without_the_heavy_modules():
    code = "import sys, primad.cli; print([m for m in ('sympy', 'matplotlib', 'scipy.optimize') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stderr


def test_what_is_kept_is_shown_and_removed(run, monkeypatch, tmp_path):
    assert "PRIMAD_CACHE turns it off" in run("cache").output
    monkeypatch.setenv("PRIMAD_CACHE", str(tmp_path / "kept"))
    assert "0 files, 0 bytes of 268 MB" in run("cache").output
    disk_cache().put(("key",), bytes(959))
    assert str(tmp_path / "kept") in run("cache").output and "1 file, 1 kB of" in run("cache").output
    assert "0 files" in run("cache", "--clear").output and not list((tmp_path / "kept").iterdir())
    (tmp_path / "wide").mkdir(mode=0o755)
    monkeypatch.setenv("PRIMAD_CACHE", str(tmp_path / "wide"))
    refused = run("cache", "--clear")
    assert refused.exit_code == 1 and "mode is 755" in refused.output


def test_verify_passes_names_on_and_returns_the_exit_code(run, monkeypatch):
    commands = pytest.importorskip("primad.verify.verify_commands")
    seen = []
    monkeypatch.setattr(commands, "verify_command", lambda names, jobs: seen.append((names, jobs)) or 1)
    assert run("verify", "sin", "tanh").exit_code == 1
    assert run("verify", "-j", "3", "sin").exit_code == 1
    assert run("verify").exit_code == 1
    assert seen == [(["sin", "tanh"], 1), (["sin"], 3), ([], processors())]
    assert run("verify", "-j", "0").exit_code == 2


def test_fuzz_passes_count_and_seed_on(run, monkeypatch):
    commands = pytest.importorskip("primad.verify.verify_commands")
    seen = []
    monkeypatch.setattr(commands, "fuzz_command", lambda n, seed: seen.append((n, seed)) or 0)
    assert run("fuzz", "-n", "7", "--seed", "3").exit_code == 0
    assert run("fuzz").exit_code == 0
    assert seen == [(7, 3), (1000, 0)]
    assert run("fuzz", "-n", "0").exit_code == 2


def test_names_stand_in_a_column_of_their_own(run):
    known = examples()
    for line in run("examples", "list").output.splitlines():
        name, gap, title = line.partition("  ")
        assert gap and name in known and title.strip() == known[name].title


def test_the_names_that_verify_knows_are_listed(run):
    names = run("verify", "--list").output.splitlines()
    assert len(set(names)) == len(names) and {"tanh", "add", "softmax"} <= set(names)


@pytest.mark.parametrize(
    ("words", "expected"), [("examples run kd", "kdv"), ("verify tanhs", "tanhshrink"), ("ver", "verify")]
)
def test_a_shell_completes_commands_and_names(run, words, expected):
    environment = {
        "_PRIMAD_COMPLETE": "complete_bash", "COMP_WORDS": f"primad {words}", "COMP_CWORD": str(len(words.split())),
    }  # fmt: skip
    result = CliRunner().invoke(app.app, [], env=environment, prog_name="primad")
    assert expected in result.output.split()


def test_the_table_of_commands_in_the_documents_has_all_of_them():
    table = (Path(primad.__file__).parents[1] / "docs" / "api" / "files.md").read_text()
    for path, _ in commands()[1:]:
        assert f"`{path}" in table or path == "primad examples", path


def test_an_error_of_the_command_names_no_line_of_the_command(tmp_path):
    script = tmp_path / "primad"
    script.write_text("from primad.cli.app import main\nmain()\n")
    run = subprocess.run([sys.executable, str(script), "verify", "nosuch"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "nosuch" in run.stdout and str(tmp_path) not in run.stdout
