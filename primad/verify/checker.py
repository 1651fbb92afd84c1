"""Running the checks: collect what to verify, draw trials, and gather rows."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal
from typing import Any

from primad.errors import TracingError, suggestion
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive
from primad.verify.cases.case_table import cases
from primad.verify.cases.drawn_cases import Case, Choices, Example, Seeded, default_case
from primad.verify.checks.axis_checks import check_axis_map
from primad.verify.checks.box_checks import box_laws_row, box_rows
from primad.verify.checks.complex_record_checks import complex_row
from primad.verify.checks.consumer_checks import consumers_row
from primad.verify.checks.decide import FAULTS, Wrong
from primad.verify.checks.function_checks import RULED, FunctionCase, function_case, function_rows
from primad.verify.checks.law_checks import constructor_row, law_rows, pass_laws
from primad.verify.checks.record_checks import CHECKS, Check
from primad.verify.checks.slope_checks import slopes_row
from primad.verify.checks.special_checks import special_row
from primad.verify.checks.trial import Trial
from primad.verify.exact.sympy_numbers import UndecidedError
from primad.verify.verdicts import ORDER, How, Report, Row
from primad.verify.verify_progress import shown

Subject = Case | Law | FunctionCase
MORE = 3
"""How many times as many examples of params there are for what is said of axes: they cost little."""


def run(
    things: Sequence[Any],
    examples: Sequence[Example] | None,
    domain: Sequence[tuple[float, float]] | None,
    symbolic: Callable[..., Any] | Mapping[Primitive, Callable[..., Any]] | None,
    choices: Callable[[str], Choices] | None,
    on_row: Callable[[Row], None] | None,
    jobs: int = 1,
) -> Report:
    """See `primad.verify`."""
    if jobs != 1 and (choices or not all(isinstance(thing, str) for thing in things)):
        raise TracingError(
            "verify: several processes verify what is built in, and things that are yours are in this one",
            fix="give names, or leave out jobs=.",
        )
    report = Report()
    started = time.perf_counter()
    found = subjects(things, examples, domain, symbolic)
    every = (rows(subject, choices or Seeded) for subject in found)
    with shown(len(found)) as (show_row, show_subject):
        told = [tell for tell in (show_row, on_row) if tell is not None]
        for of_subject in every if jobs == 1 else _in_processes(tuple(things), len(found), jobs):
            for row in of_subject:
                report.rows.append(row)
                for tell in told:
                    tell(row)
            if show_subject is not None:
                show_subject()
    report.seconds = time.perf_counter() - started
    return report


def _in_processes(names: tuple[str, ...], count: int, jobs: int) -> Iterator[list[Row]]:
    """Yield the rows of each subject in order; processes take one after the other.

    Examples are drawn by the names of ops, so a report does not depend on which process takes what.
    """
    context = get_context("spawn")  # a fork would have this process's locks, and none of its threads
    with ProcessPoolExecutor(min(jobs, count), context, partial(signal, SIGINT, SIG_IGN)) as pool:
        yield from pool.map(partial(_rows_of, names), range(count))


def _rows_of(names: tuple[str, ...], number: int) -> list[Row]:
    return list(rows(subjects(names)[number], Seeded))


def subjects(things: Sequence[Any], examples: Any = None, domain: Any = None, symbolic: Any = None) -> list[Subject]:
    """Return the cases and laws that the arguments of `verify` name."""
    if not things:
        return [*cases().values(), *pass_laws()]
    return [subject for thing in things for subject in _subjects_of(thing, examples, domain, symbolic)]


def _subjects_of(thing: Any, examples: Any, domain: Any, symbolic: Any) -> Sequence[Subject]:
    if isinstance(thing, str):
        return _named(thing)
    if isinstance(thing, Law | Case):
        return [thing]
    if isinstance(thing, Primitive):
        known = cases().get(thing.name)
        if known is not None and known.op is thing:
            return [known]
        _check_params(thing, examples or [Example(())])
        return [default_case(thing, examples, domain, _arity(thing), symbolic)]
    if isinstance(thing, RULED):
        return [function_case(thing, examples)]
    raise TracingError(
        f"verify: got a {type(thing).__name__}",
        fix="pass names of built-in ops, primitives, composites, laws, or functions that are opaque or have "
        "rules of their own.",
    )


def _named(name: str) -> Sequence[Subject]:
    """Return the case of the op, or the laws, that have a name."""
    table = cases()
    laws = [law for law in pass_laws() if law.name == name]
    if name not in table and not laws:
        names = known_names()
        near = suggestion(name, names)
        raise TracingError(
            f"verify: there is no op named {name!r}",
            fix=f"{near} `primad verify --list` shows all names." if near else f"choose from {', '.join(names)}.",
        )
    return laws or [table[name]]


def known_names() -> list[str]:
    """Return the names of all that `verify` knows: ops, composites and laws."""
    return list(dict.fromkeys([*cases(), *[law.name for law in pass_laws()]]))


def _check_params(op: Primitive, examples: Sequence[Example]) -> None:
    """Raise unless every example gives the params that the op's NumPy function needs."""
    try:
        parameters = inspect.signature(op.numpy).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    missing = next((m for example in examples if (m := [n for n in needed if n not in example.params])), None)
    if missing is not None:
        params = ", ".join(f"{name!r}: …" for name in needed)
        raise TracingError(
            f"verify: {op.name} has params, {', '.join(needed)}, and no example gives {', '.join(missing)}",
            fix=f"from primad.verify import Example, Operand; verify({op.name}, "
            f"examples=[Example((Operand(primad.ArrayType((3,), float)),), {{{params}}})]).",
        )


def _arity(op: Primitive) -> int:
    """Return how many operands an op takes, from its partial derivatives or its NumPy function."""
    if op.derivative.partials:
        return len(op.derivative.partials)
    try:
        parameters = inspect.signature(op.numpy).parameters.values()
    except ValueError:  # a ufunc without a signature
        return int(getattr(op.numpy, "nin", 1))
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def rows(subject: Subject, source: Callable[[str], Choices], op: Primitive | None = None) -> Iterable[Row]:
    """Check one subject.

    Args:
        subject: a case or a law.
        source: makes a source of choices for a name.
        op: the record to check in place of the case's own (a corrupted copy).
    """
    if isinstance(subject, Law):
        yield from _laws("law", [subject])
        return
    if isinstance(subject, FunctionCase):
        yield from function_rows(subject, source)
        return
    op = op or subject.op
    for what, check in CHECKS:
        row = check_row(subject, op, what, check, source)
        if row is not None:
            yield row
    constructed = _guarded(op, "rewrites", lambda: constructor_row(subject, op, source))
    if constructed is not None:
        yield constructed
    for what, special in (
        ("special values", special_row),
        ("special points", slopes_row),
        ("complex numbers", complex_row),
    ):
        found = _guarded(op, what, lambda special=special: special(subject, op, source))  # type: ignore[misc]
        if found is not None:
            yield found
    consumed = _guarded(op, "consumers", lambda: consumers_row(subject, op, source))
    if consumed is not None:
        yield consumed
    yield from box_rows(subject, op, source)
    yield from _laws(op.name, (*op.laws.own, *op.laws.consumed))


def _laws(name: str, laws: Sequence[Law]) -> Iterable[Row]:
    yield from law_rows(name, laws)
    on_boxes = box_laws_row(name, laws)
    if on_boxes is not None:
        yield on_boxes


def _guarded(op: Primitive, what: str, check: Callable[[], Row | None]) -> Row | None:
    try:
        return check()
    except Wrong as wrong:
        return Row(op.name, what, "failed", str(wrong))
    except FAULTS as error:
        return Row(op.name, what, "failed", f"{type(error).__name__}: {error}")


def check_row(case: Case, op: Primitive, what: str, check: Check, source: Callable[[str], Choices]) -> Row | None:
    """Run one check on all examples of a case."""
    found: list[How] = []
    remarks: dict[str, None] = {}
    more = check is check_axis_map and not op.axes.pointwise and op.domain is None
    for index in range(case.examples * (MORE if more else 1)):
        choose = source(f"{op.name}, {index}")
        try:
            how, remark = _attempt(case, op, check, choose)
        except Wrong as wrong:
            return Row(op.name, what, "failed", str(wrong))
        except FAULTS as error:
            return Row(op.name, what, "failed", f"{type(error).__name__}: {error}")
        if how is not None:
            found.append(how)
            remarks.update({remark: None} if remark else {})
    if not found:
        return None
    worst = max(found, key=ORDER.index)
    note = op.derivative.exempt if worst == "exempt" else "; ".join([_count(found), *remarks])
    return Row(op.name, what, worst, note)


def _count(found: Sequence[How]) -> str:
    numeric = found.count("numeric")
    examples = f"{len(found)} examples"
    return f"{examples}, of which {numeric} numerically" if numeric and numeric < len(found) else examples


def _attempt(case: Case, op: Primitive, check: Check, choose: Choices) -> tuple[How | None, str]:
    """Run a check on one example; a point on the edge of two regions is drawn again. Return its remark, too."""
    for _ in range(5):
        with suppress(UndecidedError):
            trial = Trial(case, op, choose)
            return check(trial), trial.remark
    trial = Trial(case, op, choose)
    return check(trial), trial.remark
