"""The documented way to add an elementwise op is the one in which an op of primad's was added: three files name it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from msgspec.structs import force_setattr
from scipy import special

import primad
from primad import ops
from primad.native.emit.op_table import has_code
from primad.native.llvm.compiler import compiler
from primad.numpy.special import ndtr
from primad.verify.random_programs import drawn

ROOT = Path(__file__).parents[2]
MOST_FILES = 3
USERS = ("stats", "enclosures", "native/special")
"""Folders of what uses the op, and of what it may be given besides: bounds of its values, instructions of vectors."""
X = np.linspace(-2.0, 2.0, 7)


def documented() -> dict[str, str]:
    """Return the lines that the document adds, by file."""
    document = (ROOT / "docs" / "adding_a_primitive.md").read_text(encoding="utf-8")
    (change,) = re.findall(r"^```diff\n(.*?)^```", document, flags=re.M | re.S)
    parts = [part.partition("\n") for part in re.split(r"^\+\+\+ ", change, flags=re.M)[1:]]
    assert all(line.startswith("+") for _, _, lines in parts for line in lines.splitlines())
    return {name: re.sub(r"^\+", "", lines, flags=re.M) for name, _, lines in parts}


def test_the_documented_change_is_all_that_an_op_takes() -> None:
    change = documented()
    assert len(change) <= MOST_FILES
    for name, lines in change.items():
        assert (ROOT / name).read_text(encoding="utf-8").count(lines) == 1, f"{name} is not as documented:\n{lines}"
    paths = [path for path in (ROOT / "primad").rglob("*.py") if not path.parent.as_posix().endswith(USERS)]
    files = [path for path in paths if re.search(r"\bndtr\b", path.read_text("utf-8"))]
    assert {str(path.relative_to(ROOT)) for path in files} == set(change)


def test_all_else_follows() -> None:
    density = np.exp(-0.5 * X * X) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(primad.vmap(primad.grad(special.ndtr))(X), density, rtol=1e-14)
    np.testing.assert_allclose(primad.jit(ndtr)(X), special.ndtr(X), rtol=1e-14)
    report = primad.verify("ndtr")
    assert report.ok and report.counts["proved"] >= 3, report
    (node,) = primad.trace(ndtr)(X).outputs
    assert compiler() is None or has_code(node)
    assert "ndtr" in [case.op.name for case in drawn()]
    assert "erfc" in str(primad.to_sympy(primad.trace(ndtr)(0.5)))


def test_an_op_without_a_meaning_is_named() -> None:
    """SciPy's function of a traced array is the op again, which says nothing of what it means."""
    meaning = ops.ndtr.meaning
    force_setattr(ops.ndtr, "meaning", None)
    try:
        failures = primad.verify("ndtr").failures
    finally:
        force_setattr(ops.ndtr, "meaning", meaning)
    assert failures and all("what the op means" in row.note for row in failures)
