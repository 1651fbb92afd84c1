"""Proving laws: both sides of the statement on symbols, on floats as the law's class demands, and as it is applied."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.node import INPUT, Node
from primad.ir.program import Program
from primad.ops.record.fields import Law, LawClass
from primad.ops.record.primitive import Primitive
from primad.recording.tracing import trace
from primad.simplify.axis_orders import permute_late
from primad.simplify.collapse import collapse
from primad.simplify.factor_linear import factor_linear
from primad.simplify.outer_products import outer_products
from primad.simplify.scattered_sums import scatter_short_terms
from primad.simplify.slice_pushdown import take_early
from primad.simplify.transformed_sums import transform_terms
from primad.verify.cases.drawn_cases import Case, Choices, Seeded
from primad.verify.checks.decide import FAULTS, Wrong, decide
from primad.verify.checks.operand_forms import combined, described, forms_of, others, rewriters, traced
from primad.verify.checks.trial import Trial, close, run_as_it_stands
from primad.verify.exact.number_systems import recognize
from primad.verify.exact.object_arrays import Evaluator
from primad.verify.exact.sympy_numbers import Symbols
from primad.verify.verdicts import How, Row

SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, -0.75, 3.0, np.inf, -np.inf, np.nan, 5e-324, -1e308, 1e-200, 7e300)
"""Floats on which identities of exact arithmetic fail, if they fail anywhere."""
ROUNDS = 40
"""How often a law is tried on floats."""


def law_rows(name: str, laws: Sequence[Law]) -> Iterable[Row]:
    """Prove laws, one row each."""
    for law in laws:
        try:
            how, note = prove_law(law, Seeded(law.name))
        except Wrong as wrong:
            how, note = "failed", str(wrong)
        except FAULTS as error:
            how, note = "failed", f"{type(error).__name__}: {error}"
        yield Row(name, f"law: {law.name}", how, note)


def prove_law(law: Law, choose: Choices) -> tuple[How, str]:
    """Prove one law.

    Returns:
        the certainty and a note.

    Raises:
        Wrong: if the two sides differ, or the law's rewrite does not make them the same node.
    """
    symbols = Symbols()
    names = inspect.signature(law.statement).parameters
    arguments = [_symbols(name, shape, symbols, choose) for name, shape in zip(names, law.shapes, strict=True)]
    types = [ArrayType(shape, np.float64) for shape in law.shapes]
    left, right = (_exact(side) for side in _sides(law, types, arguments, symbols))
    how = decide(law.name, right, left, symbols)
    for _ in range(ROUNDS):
        _on_floats(law, choose, law.holds)
    if law.complex is not None:
        _over_complex(law, choose)
    program = trace(law.statement)(*types)
    if program.outputs[0] is program.outputs[1]:
        return how, law.holds
    if law.rewrite is not None:
        raise Wrong(f"{law.name}: the rewrite", "one node for both sides", str(program))
    _by_pass(law, trace(lambda *arrays: law.statement(*arrays)[0])(*types), choose)
    return how, f"{law.holds}, applied by a pass"


def _sides(law: Law, types: Sequence[ArrayType], arguments: Sequence[Any], symbols: Symbols) -> Sequence[Any]:
    """Return both sides of a statement on symbols; no law is applied.

    Ops that hold a program are built for it; those of complex numbers, and a few of real ones, do not run on symbols.
    """
    with without(LOCAL, DIRECTIONS):
        program = trace(law.statement)(*types)
        if not any(getattr(node.op, "holds_program", False) or node.type.is_complex for node in program.nodes):
            with suppress(AttributeError, TypeError):
                return law.statement(*arguments)
        return Evaluator(symbols).run(program, arguments)


def _by_pass(law: Law, left: Program, choose: Choices) -> None:
    """The pass that applies the law changes the program, and not its value."""
    early, late = partial(take_early, smallest=1), partial(permute_late, smallest=1)
    places = partial(scatter_short_terms, fewest=2, smallest=1)
    passes = collapse, factor_linear, partial(outer_products, smallest=1), early, transform_terms, late, places
    after = next((found for found in (rewrite(left) for rewrite in passes) if found.key != left.key), left)
    if after is left:
        raise Wrong(f"{law.name}: the passes", "another program", str(left))
    arguments = [
        np.array([choose.integer(-9, 9) for _ in range(t.size)], float).reshape(t.shape) for t in left.in_types
    ]
    close(f"{law.name}: the pass", run_as_it_stands(left, arguments)[0], run_as_it_stands(after, arguments)[0])


class Sampled(sympy.Dummy):  # type: ignore[misc]
    """A symbol that statements can compare (`c > 0`) and truncate: that is decided at its sample value."""

    point: Fraction

    def __lt__(self, other: Any) -> bool:
        return bool(self.point < other)

    def __gt__(self, other: Any) -> bool:
        return bool(self.point > other)

    def __int__(self) -> int:
        return int(self.point)


def _symbols(name: str, shape: tuple[int, ...], symbols: Symbols, choose: Choices) -> Any:
    out = np.empty(shape, object)
    for index in np.ndindex(shape):
        symbol = out[index] = Sampled("_".join([name, *map(str, index)]), real=True)
        symbol.point = Fraction(choose.integer(-300, 300) * 2 + 1, 256)
        symbols.add(symbol, symbol.point)
    return out


def _exact(side: Any) -> Any:
    """Replace the floats of a side by the numbers that they stand for."""
    side = np.asarray(side)
    out = np.empty(side.shape, object)
    for index in np.ndindex(side.shape):
        element = side[index]
        element = element.item() if isinstance(element, np.generic) else element
        expression = sympy.sympify(int(element) if isinstance(element, bool) else element)
        found = {number: recognize(float(number))[0] for number in expression.atoms(sympy.Float)}
        floats = {number: sympy.Rational(*ratio.as_integer_ratio()) for number, ratio in found.items()}
        out[index] = expression.xreplace(floats)
    return out


def _over_complex(law: Law, choose: Choices) -> None:
    """The law holds for complex arguments as it says, and is applied to them; conditions and parts are real."""
    names = inspect.signature(law.statement).parameters
    wide = [name != "c" for name in names]
    types = [ArrayType(shape, complex if on else float) for shape, on in zip(law.shapes, wide, strict=True)]
    try:
        program = trace(law.statement)(*types)
    except ShapeError:  # it is of parts
        return
    if law.rewrite is not None and program.outputs[0] is not program.outputs[1]:
        raise Wrong(f"{law.name}: the rewrite, of complex numbers", "one node for both sides", str(program))
    for _ in range(ROUNDS):
        _on_floats(law, choose, law.complex, wide)


def _on_floats(law: Law, choose: Choices, holds: LawClass | None, wide: Sequence[bool] = ()) -> None:
    arguments: list[Any] = []
    for i, shape in enumerate(law.shapes):
        pool = SPECIAL if holds == "bitwise" else SPECIAL[:7]
        parts = [
            [choose.among(pool) for _ in range(int(np.prod(shape)))] for _ in range(2 if any(wide[i : i + 1]) else 1)
        ]
        values = [complex(*both) for both in zip(*parts, strict=True)] if len(parts) > 1 else parts[0]
        arguments.append(np.array(values).reshape(shape))
    with np.errstate(all="ignore"):
        left, right = (np.asarray(side) for side in law.statement(*arguments))
    names = dict(zip(inspect.signature(law.statement).parameters, (x.tolist() for x in arguments), strict=True))
    if holds == "bitwise":
        same = left.shape == right.shape and left.dtype == right.dtype and _bits(left, right)
        if not same:
            raise Wrong(f"{law.name}: bits", left.tolist(), right.tolist(), names)
        return
    finite = np.isfinite(left) & np.isfinite(right)
    if left.shape != right.shape or not np.allclose(left[finite], right[finite], rtol=1e-12, atol=1e-12):
        raise Wrong(f"{law.name}: values", left.tolist(), right.tolist(), names)


def _bits(x: Any, y: Any) -> bool:
    """Say whether two arrays have the same bits, any NaN being as good as another."""
    if x.dtype.kind == "c":
        return _bits(x.real, y.real) and _bits(x.imag, y.imag)
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    equal = (x == y) & (np.signbit(x) == np.signbit(y))
    return bool(np.all(equal | (np.isnan(x) & np.isnan(y))))


# -- laws as applied ---------------------------------------------------------------------------------------------------


def constructor_row(case: Case, op: Primitive, source: Any) -> Row | None:
    """Apply an op to operands of every form that its laws look for, and compare with its NumPy function.

    A statement shows one instance of a law; this shows that its rewrite is right wherever it fires, and that it fires.
    """
    if not op.laws.own and not op.axes.pointwise:
        return None
    fired: dict[str, bool] = {law.name: False for law in op.laws.own if law.rewrite is not None}
    count = 0
    try:
        for index in range(case.examples):
            most = 60 if index and all(fired.values()) else 2000
            count += _constructor(Trial(case, op, source(f"{op.name}, {index}")), fired, most)
    except Wrong as wrong:
        return Row(op.name, "rewrites", "failed", str(wrong))
    silent = [name for name, on in fired.items() if not on]
    if silent:
        return Row(op.name, "rewrites", "failed", f"never applied: {'; '.join(silent)}")
    return Row(op.name, "rewrites", "tested", f"{count} combinations of operands") if count else None


def _constructor(trial: Trial, fired: dict[str, bool], most: int) -> int:
    """Try laws on operands in every form; return on how many combinations.

    What no law has rewritten is not run: its value is that of the NumPy function by definition.
    """
    op, params = trial.op, trial.example.params
    combinations: list[tuple[Node, ...]] = []
    used: list[list[Any]] = []
    tried = 0

    def build(*arrays: Any) -> list[Any]:
        nonlocal tried
        results = []
        for chosen in combined(trial.choose, forms_of(trial, arrays), most):
            tried += 1
            values = [traced(value, arrays) for value in chosen]
            nodes = tuple(value.node for value in values)
            for name, _, rewrite in rewriters(op, nodes):
                fired[name] = rewrite(nodes[0].trace, nodes, params) is not None or fired.get(name, False)
            plain = all(node.op is INPUT and node.type == nodes[0].type for node in nodes)
            if op.axes.pointwise and len(chosen) == 2 and plain:
                trial.case.op(*values[::-1], **params)  # laws of commuting operands look for it
            result = op(*chosen, **params)
            if result.node.op is not op or result.node.inputs != nodes or dict(result.node.params) != params:
                combinations.append(nodes)
                used.append(values)
                results.append(result)
        return [*results, *(value for values in used for value in values)]

    given = [*trial.values, *others(trial.values)]
    if not given:
        return 0
    program = trace(build)(*[ArrayType(x.shape, x.dtype) for x in given])
    with np.errstate(all="ignore"):
        found = run_as_it_stands(program, given)
        results, rest = found[: len(used)], iter(found[len(used) :])
        for nodes, result in zip(combinations, results, strict=True):
            values = [next(rest) for _ in nodes]
            what = f"{trial.where()} applied to {', '.join(described(node) for node in nodes)}"
            expected = np.asarray(op.numpy(*values, **params))
            finite = np.isfinite(expected)  # a law may hold for finite values only
            close(what, expected[finite], result[finite], trial)
    return tried


def pass_laws() -> Sequence[Law]:
    """Return the laws that belong to no op: those of passes over programs."""
    from primad.simplify.laws import PASS_LAWS  # a table beside the passes

    return PASS_LAWS
