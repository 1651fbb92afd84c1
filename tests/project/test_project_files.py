"""What public hosts read of the project: the files are whole, and say what the rest of the project says."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import primad

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOP = {
    ".ci", ".github", ".gitignore", ".pre-commit-config.yaml", ".readthedocs.yaml", "CHANGELOG.md", "CITATION.cff",
    "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "docs", "primad", "pyproject.toml", "scientific_examples",
    "tests",
}  # fmt: skip
"""What the repository holds at its top."""


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_nothing_stands_at_the_top_by_accident() -> None:
    kept = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    if not kept:
        pytest.skip("this is no clone")
    assert {name.split("/")[0] for name in kept} == TOP


def test_the_version_stands_everywhere_alike() -> None:
    assert primad.__version__ == PROJECT["version"]
    assert f"\nversion: {primad.__version__}\n" in text("CITATION.cff")
    assert PROJECT["license"] in text("CITATION.cff")


def test_the_workflow_runs_the_commands_of_this_project() -> None:
    workflow = text(".github/workflows/checks.yml")
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "run: .ci/run" in workflow
    assert '-m pip install -e ".[test]"' in workflow and "-m pytest" in workflow
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert re.search(rf'python: \["{re.escape(lowest)}"', workflow)


def test_the_linters_before_a_commit_are_those_of_the_checks() -> None:
    hooks = re.findall(r"entry: (\w+)(?: (\w+))?", text(".pre-commit-config.yaml"))
    for program, command in hooks:
        assert f'/{program}" {command}'.rstrip() in text(".ci/run")


@pytest.mark.parametrize("name", ["defect", "slow", "wish"])
def test_forms_for_reports_name_functions_that_exist(name: str) -> None:
    form = text(f".github/ISSUE_TEMPLATE/{name}.yml")
    for function in re.findall(r"primad\.(\w+)\(", form):
        assert callable(getattr(primad, function))


def test_versions_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMAD_NUM_THREADS", "2")
    primad.show_versions()
    shown = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    wanted = {re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]}
    assert wanted <= shown.keys()
    assert shown["primad"] == primad.__version__
    assert shown["PRIMAD_NUM_THREADS"] == "2"
    assert str(Path.home()) not in "".join(shown.values())


def test_no_case_is_named_by_an_address(request: pytest.FixtureRequest) -> None:
    """Processes that share the work must know a case by the same name."""
    assert not [item.nodeid for item in request.session.items if " at 0x" in item.nodeid]
