"""The command line: what it lists, runs and returns."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import primad
from primad import cli


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(cli.app, arguments)


def test_version(run):
    assert run("--version").output == f"primad {primad.__version__}\n"


def test_without_a_command_it_prints_help(run):
    output = run().output
    assert all(command in output for command in ("demo", "verify", "fuzz"))


def test_demo_lists_the_demos(run):
    result = run("demo")
    assert result.exit_code == 0
    assert "burgers" in result.output and "derivatives" in result.output
    assert "Burgers' equation" in result.output


def test_an_unknown_demo_is_an_error_that_names_the_others(run):
    result = run("demo", "heat")
    assert result.exit_code == 2
    assert "burgers" in result.output


def test_installed_demos_come_first(tmp_path, monkeypatch):
    (tmp_path / "primad" / "demos").mkdir(parents=True)
    (tmp_path / "scientific_examples").mkdir()
    (tmp_path / "scientific_examples" / "old.py").write_text('"""Old."""')
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "primad" / "cli.py"))
    (tmp_path / "primad" / "demos" / "new.py").write_text('"""New."""')
    assert list(cli.demos()) == ["new"]


def test_demo_runs_with_its_own_options(tmp_path):
    arguments = ["--steps", "1", "--adam-steps", "1", "--points", "20", "--width", "2", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "primad", "demo", "burgers", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("relative L2 error: ")
    assert (tmp_path / "parameters.safetensors").exists()


def test_the_command_starts_without_the_heavy_modules():
    code = "import sys, primad.cli; print([m for m in ('sympy', 'matplotlib', 'scipy.optimize') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stderr


def test_verify_passes_names_on_and_returns_the_exit_code(run, monkeypatch):
    commands = pytest.importorskip("primad.verify.commands")
    seen = []
    monkeypatch.setattr(commands, "verify_command", lambda names: seen.append(names) or 1)
    assert run("verify", "sin", "tanh").exit_code == 1
    assert run("verify").exit_code == 1
    assert seen == [["sin", "tanh"], []]


def test_fuzz_passes_count_and_seed_on(run, monkeypatch):
    commands = pytest.importorskip("primad.verify.commands")
    seen = []
    monkeypatch.setattr(commands, "fuzz_command", lambda n, seed: seen.append((n, seed)) or 0)
    assert run("fuzz", "-n", "7", "--seed", "3").exit_code == 0
    assert run("fuzz").exit_code == 0
    assert seen == [(7, 3), (1000, 0)]
    assert run("fuzz", "-n", "0").exit_code == 2
