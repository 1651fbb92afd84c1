"""What a record says of complex numbers: that it refuses them, or that its rules and laws hold over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from primad.errors import PrimadError, ShapeError
from primad.ops.record.primitive import Primitive
from primad.transforms import jvp
from primad.verify.cases.complex_cases import over_complex
from primad.verify.cases.drawn_cases import Case, Choices
from primad.verify.checks.decide import Wrong, decide
from primad.verify.checks.record_checks import (
    Check,
    check_jvp,
    check_meaning,
    check_second_jvp,
    check_transpose,
    check_type,
)
from primad.verify.checks.special_checks import special_row
from primad.verify.checks.trial import Trial
from primad.verify.verdicts import How, Row


def complex_row(case: Case, op: Primitive, source: Callable[[str], Choices]) -> Row | None:
    """Check a record on complex operands: types, values, rules and laws, or that it refuses them.

    The rules are compared with difference quotients at 50 digits along complex directions, the transpose by the pairing
    Re Σ ct·t, and that of an op which is said to be analytic by the equations of Cauchy and Riemann.
    """
    wide = over_complex(case)
    drawn = [wide.draw(source(f"{op.name}, {index}")) for index in range(wide.examples)]
    if not any(type.is_complex for example in drawn for type in example.types) or not _has_rules(case, op, drawn):
        return None
    if op.complex == "refused":
        return _refusal(op, [example for example in drawn if any(type.is_complex for type in example.types)])
    for index in range(wide.examples):
        trial = Trial(wide, op, source(f"{op.name}, complex, {index}"))
        for check in (check_type, check_meaning) if op.derivative.exempt else CHECKS:
            check(trial)
    if any(law.rewrite is not None and law.complex is not None for law in op.laws.own):
        row = special_row(replace(wide, examples=1), op, source, COMBINATIONS)
        if row is not None and row.how == "failed":
            return Row(op.name, WHAT, "failed", row.note)
    return Row(op.name, WHAT, "numeric", f"{op.complex}, {wide.examples} examples")


def _has_rules(case: Case, op: Primitive, drawn: Iterable[Any]) -> bool:
    """Say whether an op has rules that are to hold over the complex numbers, or says that it refuses them.

    A composite with a rule of its own has one if its definition takes complex operands.
    """
    if op.complex != "as defined":
        return op.complex != "real-linear"
    with suppress(PrimadError):
        for example in drawn:
            types: list[Any] = [operand.type for operand in example.operands]
            op.infer(*(types if case.through is None else [case.through.infer(*types)]), **example.params)
        return op.has_rule and not op.holds_program
    return False


def _refusal(op: Primitive, drawn: Iterable[Any]) -> Row:
    for example in drawn:
        with suppress(ShapeError):
            op.infer(*[operand.type for operand in example.operands], **example.params)
            raise Wrong(f"{op.name} of complex operands", "a refusal, as the record says", "a type")
    return Row(op.name, WHAT, "tested", "refused")


def _is_analytic(trial: Trial) -> How | None:
    """Along i·t the derivative is i times that along t: the equations of Cauchy and Riemann."""
    if trial.op.complex != "analytic" or not any(type.is_complex for type in trial.program.out_types):
        return None
    program = jvp(trial.program)
    types = [type for type in trial.program.in_types if type.is_float]
    tangents = trial.directions("t", types)
    turned = [t * trial.symbols.number(1j) for t in tangents]
    count = len(trial.program.outputs)
    along, across = (trial.evaluator.run(program, [*trial.inputs, *ts])[count:] for ts in (tangents, turned))
    for x, y in zip(along, across, strict=True):
        decide(f"{trial.where()}: the derivative along i t", x * trial.symbols.number(1j), y, trial.symbols)
    return "numeric"


WHAT = "complex numbers"
COMBINATIONS = 1000
"""Combinations of operands that laws are tried on, at most. Chosen: a fifth of those for real operands."""
CHECKS: tuple[Check, ...] = (check_type, check_meaning, check_jvp, check_second_jvp, check_transpose, _is_analytic)
