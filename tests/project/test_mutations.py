"""The command that plants slips: it finds them, places them, asks the right tests and believes no test blindly."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mutations import planting
from tests.mutations.choosing import Batch, batches, drawn, engine_files
from tests.mutations.covered_lines import ROOT, Covered, moved_lines, spread
from tests.mutations.listed_slips import changed_lines, equivalents, fixed_slips
from tests.mutations.planting import Field
from tests.mutations.slips import Slip, anchored, slips_in
from tests.mutations.witnesses import Witnesses

TOY = '''
"""1 < 2 in a docstring is no comparison."""
from collections import namedtuple

TOLERANCE: float = 0.125
NamedKey = namedtuple("NamedKey", "x y")
SHAPES = ((2, 3), (4,))
"""Nothing."""
STEPS = 12
"""Steps. Chosen: as many as the others."""


class Limits:
    """Bounds of what is done. They are chosen so that it takes no second."""

    most: int = 7


def known(x, y, n=3):
    """Return x."""
    assert x < 1
    key = (x, y, "é–", n)
    named = NamedKey(x, y)
    if not x and (y == 2 or n > 1) and n is not None:
        raise ValueError(f"{x + 1} of {y - 1}")
    return max(x - y, x / (y + 1)), all(i in key for i in range(n))
'''


def found_in_toy() -> list[Slip]:
    return slips_in("primad/toy.py", TOY)


def test_each_kind_of_slip_is_found_and_nothing_that_says_nothing() -> None:
    found = {(slip.kind, slip.before, slip.after) for slip in found_in_toy()}
    assert found == {
        ("digit", "0.125", "0.128"),
        ("off by one", "3", "4"), ("off by one", "3", "2"),
        ("component left out", '(x, y, "é–", n)', '(y, "é–", n,)'),
        ("component left out", '(x, y, "é–", n)', '(x, "é–", n,)'),
        ("component left out", '(x, y, "é–", n)', "(x, y, n,)"),
        ("component left out", '(x, y, "é–", n)', '(x, y, "é–",)'),
        ("component left out", "x", "None"), ("component left out", "y", "None"),
        ("clause dropped", "not x and (y == 2 or n > 1) and n is not None", "((y == 2 or n > 1) and (n is not None))"),
        ("clause dropped", "not x and (y == 2 or n > 1) and n is not None", "(not x and (n is not None))"),
        ("clause dropped", "not x and (y == 2 or n > 1) and n is not None", "(not x and (y == 2 or n > 1))"),
        ("clause dropped", "y == 2 or n > 1", "((y == 2))"), ("clause dropped", "y == 2 or n > 1", "((n > 1))"),
        ("not dropped", "not x", "(x)"), ("comparison turned", "==", "!="), ("comparison turned", ">", ">="),
        ("comparison turned", "is not", "is"), ("off by one", "2", "3"), ("off by one", "2", "1"),
        ("off by one", "1", "2"), ("max for min", "max", "min"), ("all for any", "all", "any"),
        ("comparison turned", "in", "not in"), ("operands swapped", "x - y", "(y) - (x)"),
        ("operands swapped", "x / (y + 1)", "((y + 1)) / (x)"), ("sign", "-", "+"), ("sign", "+", "-"),
    }  # fmt: skip


def test_every_slip_is_python_and_another_program() -> None:
    for slip in found_in_toy():
        assert ast.dump(ast.parse(slip.planted(TOY))) != ast.dump(ast.parse(TOY)), slip
        assert slip.names[0] in ("TOLERANCE", "NamedKey", "known")


def test_slips_of_the_engine_are_python() -> None:
    for slip in drawn(0, 60, engine_files(ROOT, within=["primad/ir", "primad/functional"]), ROOT):
        text = (ROOT / slip.path).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(slip.planted(text))) != ast.dump(ast.parse(text)), slip
        assert all(line.strip() == line for lines in changed_lines(slip, ROOT) for line in lines.split("\n"))


def test_a_seed_draws_the_same_slips_and_another_one_others() -> None:
    files = engine_files(ROOT, within=["primad/ir"])
    first, again, other = (drawn(seed, 30, files, ROOT) for seed in (1, 1, 2))
    assert first == again and first != other
    assert len({(slip.path, slip.line) for slip in first}) == 30
    assert len({slip.kind for slip in first}) > 5


def test_the_fixed_list_stands_where_it_says() -> None:
    """As far as the share allows that is to be caught: what has moved is mended there when somebody looks."""
    entries = fixed_slips()
    assert len(entries) == 100 and sum(entry.verify for entry in entries) == 15
    assert len({(entry.path, entry.old, entry.new) for entry in entries}) == 100
    gone = [f"{entry.path}: {entry.old}" for entry in entries if entry.slip(ROOT) is None]
    assert len(gone) <= 5, "\n".join(["mend these places in tests/mutations/fixed_slips.toml:", *gone])


def test_slips_without_an_effect_say_why() -> None:
    for (path, before, after), why in equivalents().items():
        assert before != after and (ROOT / path).exists() and why.endswith("."), path


def test_a_place_that_is_not_there_once_is_no_place() -> None:
    assert anchored("primad/toy.py", TOY, "nowhere", "x") is None
    assert anchored("primad/toy.py", TOY, "x", "y") is None
    slip = anchored("primad/toy.py", TOY, "max(x - y", "max(y - x")
    assert slip is not None and TOY.splitlines()[slip.line - 1].startswith("    return")
    assert slip.names == ("known",) and slip.statement == (slip.line, slip.line)
    with pytest.raises(SyntaxError):
        anchored("primad/toy.py", TOY, "max(x - y", "max(x -")


def test_lines_are_found_again_after_a_change() -> None:
    before = "a\nb\nc\nd\n"
    assert moved_lines(before, before)[4] == 4
    assert moved_lines(before, "new\na\nB\nc\nd\n") == {1: 2, 2: 3, 3: 4, 4: 5}
    assert moved_lines(before, "") == {}
    assert spread(range(100), 3) == [0, 50, 99] and spread([1, 2], 3) == [1, 2]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree that has the toy among its sources, and the tests that there are."""
    (tmp_path / "primad" / "ir").mkdir(parents=True)
    (tmp_path / "primad" / "ir" / "toy.py").write_text(TOY)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


def test_tests_of_few_lines_that_mirror_the_file_come_first(root: Path) -> None:
    slip = next(slip for slip in slips_in("primad/ir/toy.py", TOY) if slip.before == ">")
    same, mirrored, other = (
        "tests/ir/test_constants.py",
        "tests/ir/test_program_keys.py",
        "tests/pde/fields/test_fields.py",
    )
    near, slow, far = f"{same}::t", f"{mirrored}::w", f"{other}::v[sin]"
    seconds = {near: 0.1, f"{other}::u": 0.1, far: 0.2, slow: 9.0}
    covered = Covered(seconds, {f"{other}::v": [f"{other}::v[known]", f"{other}::v[cos]"]})
    covered.lines["primad/ir/toy.py"] = {slip.line: {near, slow, far}}
    covered.all_of = {same: [near], mirrored: [slow], other: [*seconds, f"{other}::v[known]", f"{other}::v[cos]"]}
    asked = batches(slip, covered, root)
    assert [batch.file for batch in asked] == [other, same, other, mirrored, other]
    assert asked[0].tests == (f"{other}::v[known]",) and asked[2].tests == (far,)
    assert asked[4].tests == (f"{other}::v[cos]",)


def test_tests_of_what_few_tests_run_near_a_line_come_first(root: Path) -> None:
    """Of a line that all run, tests of what is near it are asked, and of keys where something is left out of one."""
    slips = slips_in("primad/ir/toy.py", TOY)
    slip = next(slip for slip in slips if slip.before == ">")
    common = [f"tests/ir/test_constants.py::t{i}" for i in range(9)]
    about = ["tests/pde/fields/test_fields.py::u", "tests/pde/fields/test_fields.py::w"]
    seconds = dict.fromkeys([*common, *about], 0.1)
    lines = {slip.line: {*common, *about}, slip.line + 2: {about[1]}}
    covered = Covered(seconds, lines={"primad/ir/toy.py": lines})
    assert batches(slip, covered, root)[0].file == "tests/pde/fields/test_fields.py"
    assert batches(slip, covered, root)[0].tests == (about[1], about[0])
    covered.seconds = {"tests/ir/test_constants.py::t": 0.1, "tests/ir/test_program_keys.py::t": 0.1}
    covered.lines["primad/ir/toy.py"] = {i: {*covered.seconds} for i in range(1, 30)}
    key = next(slip for slip in slips if slip.kind == "component left out")
    assert batches(key, covered, root)[0].file == "tests/ir/test_program_keys.py"


SEEN = """
from primad.ir import toy
TABLE = {"a": toy.known}

def test_of_a_table(name):
    assert TABLE[name]

def test_of_a_constant():
    assert toy.TOLERANCE < 1

def test_of_neither():
    pass
"""


def test_what_runs_while_a_file_is_read_is_asked_of_those_who_name_it(root: Path) -> None:
    """Of a constant nobody runs the line, or whoever reads the file first; a table is made before any test."""
    (root / "tests").unlink()
    (root / "tests" / "ir").mkdir(parents=True)
    file, other = "tests/ir/test_toy.py", "tests/pde/test_other.py"
    (root / file).write_text(SEEN)
    tests = [f"{file}::test_of_a_table[a]", f"{file}::test_of_a_constant", f"{file}::test_of_neither"]
    covered = Covered(dict.fromkeys([*tests, f"{other}::t"], 0.1), all_of={file: tests, other: [f"{other}::t"]})
    slips = slips_in("primad/ir/toy.py", TOY)
    constant = next(slip for slip in slips if slip.kind == "digit")
    covered.lines["primad/ir/toy.py"] = {constant.line: {tests[2]}}
    assert [batch.tests for batch in batches(constant, covered, root)] == [(tests[1],)]
    inside = next(slip for slip in slips if slip.before == ">")
    covered.lines["primad/ir/toy.py"][inside.line] = {tests[1]}
    assert {test for batch in batches(inside, covered, root) for test in batch.tests} == {*tests[:2]}
    covered.others[f"{other}::t"] = [f"{other}::t[1]"]
    covered.lines["primad/ir/toy.py"] = {inside.line + 2: {f"{other}::t"}}  # another case may run the line
    assert {test for batch in batches(inside, covered, root) for test in batch.tests} == {f"{other}::t[1]"}


TESTED = """
import time
from primad.toy import known

def test_maximum():
    assert known(-1.0, 3.0)[0] == -0.25

def test_of_no_tree():
    assert False

def test_ends(n=5):
    deadline = time.process_time() + 30
    while n != 3 and time.process_time() < deadline:
        n -= known(-1.0, 3.0)[0] == -0.25
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="the system has no forks")
def test_slips_are_planted_and_caught_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tests that pass where nothing is planted, also by one that does not end; what is copied stays as it is."""
    monkeypatch.setattr(planting, "PATIENCE", 100.0)  # the processor may be busy with others
    for name, text in (("primad/__init__.py", ""), ("primad/toy.py", TOY), ("tests/test_toy.py", TESTED)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    maximum, red, ends = (f"tests/test_toy.py::test_{name}" for name in ("maximum", "of_no_tree", "ends"))
    slips = {(slip.before, slip.after): slip for slip in found_in_toy()}
    with Field(2.0, tmp_path) as field:
        field.usual = {ends: 0.01}
        hanging = field.tried(slips["max", "min"], [Batch("tests/test_toy.py", (ends,), 0.1)])
    with Field(60.0, tmp_path) as field:
        caught = field.tried(slips["max", "min"], [Batch("tests/test_toy.py", (red, maximum), 0.1)])
        survived = field.tried(slips["0.125", "0.128"], [Batch("tests/test_toy.py", (red, maximum, ends), 0.1)])
        nothing = field.tried(slips["0.125", "0.128"], [])
        assert (field.root / "primad/toy.py").read_text(encoding="utf-8") == TOY
    assert (caught.how, caught.by) == ("caught", maximum)
    assert (hanging.how, hanging.by) == ("caught", ends)
    assert survived.how == "survived" and nothing.how == "uncovered"
    assert (tmp_path / "primad/toy.py").read_text(encoding="utf-8") == TOY


GUARDED = """
def clipped(x, low, high):
    if x < low or x > high or x is None:
        return low
    return x if 0 < low < high and high else None or ()
"""


def test_clauses_and_comparisons_that_no_call_could_miss_are_found(tmp_path: Path) -> None:
    (tmp_path / "primad/ir").mkdir(parents=True)
    path = "primad/ir/toy.py"
    (tmp_path / path).write_text(GUARDED)
    run = Witnesses(tmp_path)
    names = run.notes()
    exec(compile(run.code(path, GUARDED), path, "exec"), names)
    assert [names["clipped"](*args) for args in ((1, 1, 2), (0, 1, 2), (1, -1, 2), (1, 0, 2))] == [1, 1, (), ()]
    run.write(tmp_path / "seen")
    witnesses = Witnesses(tmp_path)
    assert len(witnesses.unwitnessed()) == len(witnesses.slips) == 11
    assert not any(ran for _, ran in witnesses.unwitnessed())
    witnesses.read(tmp_path / "seen")
    assert [(slip.line, slip.before, slip.after) for slip, ran in witnesses.unwitnessed() if ran] == [
        (3, "x < low or x > high or x is None", "((x < low) or (x > high))"),
        (3, "x < low or x > high or x is None", "((x < low) or (x is None))"),
        (3, ">", ">="),
        (5, "0 < low < high and high", "((0 < low < high))"),
        (5, "<", "<="),
        (5, "None or ()", "(())"),
    ]
    (tmp_path / "seen/1.seen").write_bytes(b"1")
    with pytest.raises(ValueError, match="of another source"):
        witnesses.read(tmp_path / "seen")


FOLDED = """
def spread(xs, of, offset):
    if any(x > of for x in xs) and all(xs):
        return max(xs) - min(xs, key=abs) + offset
    return max(of, len(xs)) // 3
"""
ONE, OTHER = ([2.0, 5.0], 3, 0), ([3.0, 3.0], 1, 0)


@pytest.mark.parametrize(
    ("calls", "left"),
    [
        ((ONE,), {"all", "sign"}),
        ((OTHER,), {"any", "all", "max", "min", "sign", "operands swapped"}),
        ((ONE, ([], 2, 4)), {"all", "sign"}),
        ((ONE, ([0.0, 4.0], 1, 0), (*ONE[:2], 4)), set()),
    ],
    ids=["one call", "equal numbers", "without an offset", "all of it"],
)
def test_functions_and_operands_that_no_call_could_miss_are_found(
    tmp_path: Path, calls: tuple[tuple[list[float], int, int], ...], left: set[str]
) -> None:
    (tmp_path / "primad/ir").mkdir(parents=True)
    (tmp_path / "primad/ir/toy.py").write_text(FOLDED)
    run = Witnesses(tmp_path)
    plain: dict[str, Any] = {}
    exec(FOLDED, plain)
    noted = run.notes()
    exec(compile(run.code("primad/ir/toy.py", FOLDED), "toy", "exec"), noted)
    for call in calls:
        assert noted["spread"](*call) == plain["spread"](*call)
    found = {slip.kind.partition(" for ")[0] for slip, ran in run.unwitnessed() if ran}
    assert found - {"clause dropped", "comparison turned"} == left
