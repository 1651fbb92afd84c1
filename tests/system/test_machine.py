"""The machine is asked once, and what is chosen for a program is the same each time it runs on a machine."""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from primad.native.llvm.compile_limits import BUDGET
from primad.system.machine import ASSUMED, CORE, DataCache, cache
from tests.sources import PACKAGE, trees

CACHES = {
    0: {"level": "1", "type": "Data", "size": "48K", "ways_of_associativity": "12", "number_of_sets": "64"},
    1: {"level": "1", "type": "Instruction", "size": "32K", "ways_of_associativity": "8", "number_of_sets": "64"},
    2: {"level": "2", "type": "Unified", "size": "4M", "ways_of_associativity": "16", "number_of_sets": "4096"},
}


def written(system: Path, sharing: str, siblings: str) -> Path:
    """Write what Linux would say of a processor whose second-level cache some others share."""
    for i, entries in CACHES.items():
        folder = system / "cache" / f"index{i}"
        folder.mkdir(parents=True)
        own = {"coherency_line_size": "64", "shared_cpu_list": sharing if i == 2 else siblings}
        for name, text in (entries | own).items():
            (folder / name).write_text(text + "\n")
    (system / "topology").mkdir()
    (system / "topology" / "thread_siblings_list").write_text(siblings + "\n")
    return system


@pytest.mark.parametrize(
    ("sharing", "siblings", "size"),
    [("0", "0", 4096), ("0,8", "0,8", 4096), ("0-3", "0", 1024), ("0-1,8-9", "0,8", 2048)],
)
def test_a_core_has_its_part_of_a_cache(tmp_path: Path, sharing: str, siblings: str, size: int) -> None:
    system = written(tmp_path, sharing, siblings)
    assert cache(1, system) == DataCache(48 * 1024, 12, 64, 4096)
    assert cache(2, system) == DataCache(size * 1024, 16, 64, 4096 * 64)


def test_what_the_system_does_not_tell_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(name: str) -> int:
        raise ValueError(name)

    for answer in (refuses, lambda name: 0, lambda name: -1):
        monkeypatch.setattr(os, "sysconf", answer)
        assert [cache(level, tmp_path) for level in (1, 2)] == [ASSUMED[1], ASSUMED[2]]
    (tmp_path / "cache" / "index0").mkdir(parents=True)
    (tmp_path / "cache" / "index0" / "level").write_text("none\n")
    assert cache(2, tmp_path) == ASSUMED[2]
    monkeypatch.setenv("PRIMAD_CACHE_BYTES", str(2**18))
    assert cache(2, tmp_path) == DataCache(2**18, 16, 64, 2**14)


def in_a_process(code: str, **variables: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return found.stdout


def test_shares_of_a_cache() -> None:
    """The constants were tuned with 1 MB of second-level cache for a core; others have the same shares of theirs."""
    code = """
from primad.ops.blocked import blocked_products as products, pieces
from primad.native.schedule import register_blocks as blocks
from primad.runtime.plan import blocking as large_steps
from primad.runtime.tiling import tile_choice as tiles, tiled_plan as tiling
print(products.BLOCK_BYTES, pieces.PIECE_BYTES, blocks.SECOND_BYTES, large_steps.BLOCK_BYTES, tiles.SCRATCH_BYTES,
      tiles.LARGEST_MATRIX, tiling.TILE_BYTES)
"""
    for size in (512, 1024):
        found = map(int, in_a_process(code, PRIMAD_CACHE_BYTES=str(size * 1024)).split())
        assert [size * 1024 / share for share in found] == [1, 4, 2, 8, 1, 4, 2]


UNITS = re.compile(
    r"\b(axes|blocks|bytes|calls?|characters|chains|chunks|columns|cycles|decorators|elements|entries|flags?|flops|functions|instructions|"
    r"kernels?|lanes|leaves|level|matrices|neighbours|nodes|number|ops|parts|places?|position|products|programs?|rows|rules|seconds|"
    r"share|stages|steps|sums|threads|tiles|times|values|vectors)\b",
    re.IGNORECASE,
)
TUNED = ("functional", "native", "ops", "parallel", "runtime", "system")
MOST_NUMBERS = 39
"""Tuned numbers of what plans and compiles: each more is to be tuned for the next machine too."""


def constants(tree: ast.Module) -> Iterator[tuple[str, Any, bool]]:
    """Yield names of numbers of a module, the docstring of those assigned together, and whether it is one number."""
    numbers = (ast.BinOp, ast.Constant, ast.Tuple, ast.Load, ast.operator, ast.UnaryOp, ast.unaryop)
    for node, after in itertools.pairwise([*tree.body, ast.Pass()]):
        if isinstance(node, ast.Assign) and all(isinstance(part, numbers) for part in ast.walk(node.value)):
            values = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            names = ast.unparse(node.targets)
            if (
                names.upper() == names
                and not names.startswith(("_", "(_"))
                and all(type(value) in (int, float) for value in values)
            ):
                text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
                yield names, text, len(values) == 1 or isinstance(node.value, ast.BinOp)


ORIGIN = re.compile(r"\b(Measured|Fitted|Tuned|Estimated|Given|Chosen)\b")
"""How a number was found: by one measurement, by several that a formula is to meet, by trying which is the fastest, by
an argument about times, by something outside of primad; or it is one of many that would do, for a reason."""


def test_every_number_says_what_it_counts_and_where_it_comes_from() -> None:
    """A tuned number says its unit and its origin in sentences; the machine's are in `primad.system.machine`."""
    found, silent, alone = 0, [], []
    for path in [path for folder in TUNED for path in sorted((PACKAGE / folder).rglob("*.py"))]:
        for name, said, single in constants(ast.parse(path.read_text())):
            found += 1
            if path.relative_to(PACKAGE).parts[0] not in ("parallel", "system") and single:
                alone.append(f"{path.relative_to(PACKAGE)}: {name}")
            begun = said and (said[0].isupper() or said[0] in "`−")
            if not begun or not UNITS.search(said) or not ORIGIN.search(said):
                silent.append(f"{path.relative_to(PACKAGE)}: {name}: {said or 'no docstring'}")
    assert found > 50
    assert not silent, "\n".join(silent)
    assert len(alone) <= MOST_NUMBERS, "\n".join(alone)


def test_every_number_of_a_table_says_what_it_counts() -> None:
    """A table of numbers (what a core does, what compiling may cost) says the unit of each of its fields."""
    for table in (CORE, BUDGET):
        said = inspect.getdoc(type(table)) or ""
        for entry in fields(table):
            found = re.search(rf"^    {entry.name}: (.*(?:\n        .*)*)", said, re.MULTILINE)
            assert found and UNITS.search(found[1]), entry.name


def test_no_clock_is_read_by_what_chooses() -> None:
    """Choices affect bits; so none may depend on how long something took."""
    # What lies above what chooses: a search may end when its time is over, and the gallery says how long it took.
    above = ("explanation", "verify", "compat", "pde", "cli")
    shows = PACKAGE / "system" / "live_display.py"  # what is in progress, now and then
    clocks = {"time", "timeit", "datetime"}
    for path, tree in trees(*clocks):
        if path.relative_to(PACKAGE).parts[0] in above or path == shows:
            continue
        for node in ast.walk(tree):
            names: list[Any] = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not clocks & set(names), f"{path} reads a clock"


def test_a_program_is_the_same_in_every_process() -> None:
    code = """
import hashlib
import numpy as np
import primad
from primad.native.llvm import compiler
said = hashlib.sha256()
if compiler.compiler() is not None:
    compile = compiler._Compiler._compile
    def noted(self, texts):
        said.update("".join(texts).encode())
        return compile(self, texts)
    compiler._Compiler._compile = noted
def loss(w, x):
    y = np.tanh(x @ w[0]) @ w[1]
    return np.sum(np.exp(-y * y) * np.mean(y))
rng = np.random.default_rng(0)
w = [rng.normal(size=(8, 32)), rng.normal(size=(32, 1))]
for n in (16, 5000):
    for value in primad.grad(loss)(w, rng.normal(size=(n, 8))):
        said.update(value.tobytes())
    for value in primad.jit(primad.grad(loss))(w, rng.normal(size=(n, 8))):
        said.update(value.tobytes())
print(said.hexdigest())
"""
    found = {
        in_a_process(code, PYTHONHASHSEED=str(seed), PRIMAD_NUM_THREADS=str(threads))
        for seed, threads in ((0, 1), (1, 2), (2, 5))
    }
    assert len(found) == 1
