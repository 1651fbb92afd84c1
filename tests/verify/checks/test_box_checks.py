"""Rules are right on boxes, and what is wrong anywhere on a box is caught there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from primad import numpy as pnp
from primad import ops
from primad.enclosures.bounds import Bounds
from primad.ops.record.primitive import Primitive
from primad.verify import verify
from primad.verify.cases.drawn_cases import Choices, Seeded
from primad.verify.checks.box_checks import CELLS, CLOSE, Gap, box_laws_row, box_rows, said
from primad.verify.checks.decide import Wrong
from primad.verify.checks.law_checks import pass_laws
from primad.verify.verdicts import Row
from tests.cases import CASES, NAMES
from tests.sweeps import thinned
from tests.verify.checks.test_verify import _wrong_side, changed_in, corruptions

WITH_BOUNDS = [
    "neg", "add", "sub", "mul", "div", "power", "abs", "maximum", "minimum", "exp", "expm1", "log", "exp2", "log2",
    "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sech2", "arctan", "hypot", "arctan2",
    "direction", "erf", "erfc", "ndtr", "arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "leg", "cbrt",
    "logistic", "softplus", "select", "mask", "defined_where", "broadcast", "sum", "reshape", "permute", "slice",
    "pad", "concatenate", "flip", "barrier", "cumsum", "gather", "scatter_add", "contract", "erfinv", "erfi",
    "logit", "exp1", "windows", "overlap_add",
]  # fmt: skip
"""Primitives that have bounds, as have the programs of their rules. Those of others have none: of γ's slope, which is
a polygamma; of a largest element, where it is compared with all; of remainders by what varies."""
AT_ONE_EXAMPLE = ("JVP on a box", "transpose on a box")


def found(name: str, number: int = 0, op: Primitive | None = None, examples: int = 1) -> dict[str, Row]:
    """Return the rows of an op, by what they say, on examples of its case from a number on."""
    case = replace(CASES[name], examples=examples)

    def source(of: str) -> Choices:
        return Seeded(f"{name}, {number + int(of.rpartition(', ')[2])}")

    return {row.what: row for row in box_rows(case, op or case.op, source)}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WITH_BOUNDS)
def test_every_primitive_with_bounds_is_right_on_a_box(name: str) -> None:
    """Of a few examples one has elements at least."""
    rows = next(rows for rows in (found(name, number) for number in range(6)) if len(rows) == 2)
    for row in rows.values():
        assert row.how == "on a box", row
        assert float(row.note.rpartition(" ")[2]) <= CLOSE


@pytest.mark.one_in(4)
@thinned(12, name=NAMES, number=range(4))
def test_no_rule_is_wrong_on_a_box(name: str, number: int) -> None:
    """Programs and composites are compared where they have bounds."""
    assert all(row.how == "on a box" for row in found(name, number).values())


def test_laws_hold_on_boxes() -> None:
    laws = [law for case in CASES.values() for law in (*case.op.laws.own, *case.op.laws.consumed)]
    row = box_laws_row("all", [*laws, *pass_laws()])
    assert row is not None and row.how == "on a box", row
    count, of = [int(number) for number in row.note.replace(" laws", "").split(",")[0].split(" of ")]
    assert of == len(laws) + len(pass_laws()) and count > 0.8 * of


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", WITH_BOUNDS)
def test_what_is_wrong_is_caught_on_a_box(name: str) -> None:
    """Of all corruptions of a derivative, at the examples at which it has an effect."""
    for what, check, op in corruptions(CASES[name].op):
        if check not in ("JVP", "transpose"):
            continue
        rows = found(name, 0, op, examples=6)
        assert rows[f"{check} on a box"].how == "failed", (what, rows)
    for law in (*CASES[name].op.laws.own, *CASES[name].op.laws.consumed):
        row = box_laws_row(name, [_wrong_side(law)])
        assert row is None or row.how == "failed", law.name


def test_a_rule_that_is_wrong_between_points_is_caught() -> None:
    """In a gap of a hundredth, at no point that is drawn; and by a thirtieth of what it should be."""

    def slope(tangents: Any, out: Any, x: Any) -> Any:
        return pnp.where((x > 0.7003) & (x < 0.7103), 1.03 * out, out) * tangents[0]

    rows = found("exp", op=changed_in(ops.exp, "derivative", jvp=slope), examples=4)
    assert rows["JVP on a box"].how == "failed"
    assert "in [" in rows["JVP on a box"].note and "mean derivative on a box" in rows["JVP on a box"].note


def test_a_derivative_that_nothing_is_an_integral_of_is_caught() -> None:
    """The mean over a cell is compared with what the function does on it, for every place of the other operand."""

    def slope(tangents: Any, out: Any, x: Any, y: Any) -> Any:
        return y * tangents[0] + pnp.where(y > 2.5, x + 0.3, x) * tangents[1]

    rows = found("mul", op=changed_in(ops.mul, "derivative", jvp=slope), examples=4)
    assert rows["JVP on a box"].how == "failed"


def test_bounds_that_meet_say_by_how_much_they_differ_at_most() -> None:
    gap = Gap()
    assert gap.part == 0.0
    gap.compare(
        "", Bounds(np.array([1.0, -4.0]), np.array([1.5, -3.0])), Bounds(np.array([1.25, -3.5]), np.array([2.0, -2.5]))
    )
    assert (gap.distance, gap.size) == (1.5, 3.0) and 0.5 <= gap.part < 0.5 + 1e-15
    gap.compare("", Bounds(np.array([0.0]), np.array([0.0])), Bounds(np.array([0.0]), np.array([0.0])))
    assert gap.distance == 1.5
    for low, high in ((0.0, 0.9), (1.6, 2.0)):
        with pytest.raises(Wrong, match=r"expected in \[1, 1.5\]"):
            gap.compare("", Bounds(np.array([1.0]), np.array([1.5])), Bounds(np.array([low]), np.array([high])))
    assert [said(part) for part in (0.0, 0.0301, 2.2e-16, 0.1, 0.099)] == ["0", "0.031", "2.2e-16", "0.1", "0.099"]


def test_cells_of_one_operand_fill_its_domain() -> None:
    """A rule that is wrong in the first or the last of them is caught."""
    (operand,) = CASES["exp"].draw(Seeded(0)).operands
    width = (operand.high - operand.low) / CELLS[1][0]
    for edge in (operand.low, operand.high):

        def slope(tangents: Any, out: Any, x: Any, edge: float = edge) -> Any:
            return pnp.where(abs(x - edge) < 1.01 * width, out + 5.0, out) * tangents[0]

        assert found("exp", op=changed_in(ops.exp, "derivative", jvp=slope))["JVP on a box"].how == "failed"


@pytest.mark.exhaustive
def test_the_report_says_what_holds_on_boxes() -> None:
    report = verify("tanh", "mul")
    assert report.ok
    boxes = {(row.name, row.what) for row in report.rows if row.how == "on a box"}
    derivatives = {(name, what) for name in ("tanh", "mul") for what in AT_ONE_EXAMPLE}
    assert boxes == {*derivatives, ("mul", "laws on boxes")}
    assert "5 on a box" in report.summary()
