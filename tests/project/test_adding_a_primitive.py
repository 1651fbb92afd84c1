"""The documented way to add an elementwise op works as it is written, and touches four files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_FILES = 4

TRIAL = """
import numpy as np
import primad
from primad.native.llvm.compiler import compiler
from primad.native.emit.op_table import has_code
from primad.numpy.special import bell
from primad.verify.fuzz import fuzz_one
from primad.verify.random_programs import drawn

x = np.linspace(-2.0, 2.0, 7)
np.testing.assert_allclose(primad.vmap(primad.grad(bell))(x), -2 * x * np.exp(-x * x), rtol=1e-14)
np.testing.assert_allclose(primad.jit(bell)(x), np.exp(-x * x), rtol=1e-14)
report = primad.verify("bell")
assert report.ok and report.counts["proved"] >= 3, report
(node,) = primad.trace(bell)(x).outputs
assert compiler() is None or has_code(node)
assert "bell" in [case.op.name for case in drawn()]
"""


def apply_changes(text: str, root: Path) -> set[str]:
    """Make the changes of the document's diff: each place is found by the lines around it, which stand there once."""
    touched = set()
    for part in re.split(r"^\+\+\+ ", text, flags=re.M)[1:]:
        name, *lines = part.splitlines()
        before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
        after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
        path = root / name
        found = path.read_text(encoding="utf-8")
        assert found.count(before) == 1, f"{name} has changed where the document changes it: {before!r}"
        path.write_text(found.replace(before, after), encoding="utf-8")
        touched.add(name)
    return touched


def test_the_documented_change_adds_an_op(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "adding_a_primitive.md").read_text(encoding="utf-8")
    (change,) = re.findall(r"^```diff\n(.*?)^```", document, flags=re.M | re.S)
    shutil.copytree(ROOT / "primad", tmp_path / "primad", ignore=shutil.ignore_patterns("__pycache__"))
    assert len(apply_changes(change, tmp_path)) <= MOST_FILES
    ran = subprocess.run([sys.executable, "-c", TRIAL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
