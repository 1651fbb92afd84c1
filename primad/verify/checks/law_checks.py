"""Proving laws: both sides of the statement on symbols, on floats as the law's class demands, and as it is applied."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.node import INPUT, Node
from primad.ir.program import Program
from primad.ops.record.primitive import Law, Primitive
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import trace
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.simplify.collapse import collapse
from primad.simplify.factor_linear import gather
from primad.simplify.outer_products import outer_products
from primad.simplify.slice_pushdown import take_early
from primad.verify.cases.drawn_cases import Case, Choices, Seeded
from primad.verify.checks.decide import FAULTS, Wrong, decide
from primad.verify.checks.trial import Trial, close
from primad.verify.exact.object_arrays import Evaluator, recognize
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
        _on_floats(law, choose)
    program = trace(law.statement)(*types)
    if program.outputs[0] is program.outputs[1]:
        return how, law.holds
    if law.rewrite is not None:
        raise Wrong(f"{law.name}: the rewrite", "one node for both sides", str(program))
    _by_pass(law, trace(lambda *arrays: law.statement(*arrays)[0])(*types), choose)
    return how, f"{law.holds}, applied by a pass"


def _sides(law: Law, types: Sequence[ArrayType], arguments: Sequence[Any], symbols: Symbols) -> Sequence[Any]:
    """Return both sides of a statement on symbols; ops that hold a program are built for it, and no law is applied."""
    with without(LOCAL, DIRECTIONS):
        program = trace(law.statement)(*types)
        if not any(getattr(node.op, "holds_program", False) for node in program.nodes):
            return law.statement(*arguments)
        return Evaluator(symbols).run(program, arguments)


def _by_pass(law: Law, left: Program, choose: Choices) -> None:
    """The pass that applies the law changes the program, and not its value."""
    passes = collapse, gather, partial(outer_products, smallest=1), partial(take_early, smallest=1)
    after = next((found for found in (rewrite(left) for rewrite in passes) if found.key != left.key), left)
    if after is left:
        raise Wrong(f"{law.name}: the passes", "another program", str(left))
    arguments = [
        np.array([choose.integer(-9, 9) for _ in range(t.size)], float).reshape(t.shape) for t in left.in_types
    ]
    close(f"{law.name}: the pass", _run(left, arguments)[0], _run(after, arguments)[0])


def _run(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Run a program as it stands: no law is tried again."""
    return REFERENCE.prepare(program, PLAIN).run(arguments)


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


def _on_floats(law: Law, choose: Choices) -> None:
    arguments = []
    for shape in law.shapes:
        pool = SPECIAL if law.holds == "bitwise" else SPECIAL[:7]
        values = [choose.among(pool) for _ in range(int(np.prod(shape)))]
        arguments.append(np.array(values).reshape(shape))
    with np.errstate(all="ignore"):
        left, right = (np.asarray(side) for side in law.statement(*arguments))
    names = dict(zip(inspect.signature(law.statement).parameters, (x.tolist() for x in arguments), strict=True))
    if law.holds == "bitwise":
        same = left.shape == right.shape and left.dtype == right.dtype and _bits(left, right)
        if not same:
            raise Wrong(f"{law.name}: bits", left.tolist(), right.tolist(), names)
        return
    finite = np.isfinite(left) & np.isfinite(right)
    if left.shape != right.shape or not np.allclose(left[finite], right[finite], rtol=1e-12, atol=1e-12):
        raise Wrong(f"{law.name}: values", left.tolist(), right.tolist(), names)


def _bits(x: Any, y: Any) -> bool:
    """Say whether two arrays have the same bits, any NaN being as good as another."""
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    equal = (x == y) & (np.signbit(x) == np.signbit(y))
    return bool(np.all(equal | (np.isnan(x) & np.isnan(y))))


# -- laws as applied ---------------------------------------------------------------------------------------------------


def constructor_row(case: Case, op: Primitive, source: Any) -> Row | None:
    """Apply an op to operands of every form that its laws look for, and compare with its NumPy function.

    A statement shows one instance of a law; this shows that its rewrite is right wherever it fires, and that it fires.
    """
    if not op.laws and not op.pointwise:
        return None
    fired: dict[str, bool] = {law.name: False for law in op.laws if law.rewrite is not None}
    count = 0
    try:
        for index in range(case.examples):
            count += _constructor(Trial(case, op, source(f"{op.name}, {index}")), fired, 2000 if index == 0 else 60)
    except Wrong as wrong:
        return Row(op.name, "rewrites", "failed", str(wrong))
    silent = [name for name, on in fired.items() if not on]
    if silent:
        return Row(op.name, "rewrites", "failed", f"never applied: {'; '.join(silent)}")
    return Row(op.name, "rewrites", "tested", f"{count} combinations of operands") if count else None


def _constructor(trial: Trial, fired: dict[str, bool], most: int) -> int:
    op, params = trial.op, trial.example.params
    operands = trial.example.operands
    others = [_other(trial, x) for x in trial.values]
    combinations: list[list[Any]] = []
    used: list[list[Any]] = []

    def build(*arrays: Any) -> list[Any]:
        half = len(trial.values)
        forms: list[list[Any]] = []
        position = 0
        for operand in operands:
            if operand.literal is not None:
                forms.append([operand.literal])
                continue
            x, z = arrays[position], arrays[half + position]
            first = next(i for i in range(half) if arrays[i].type == x.type)
            forms.append(_forms(x, z, arrays[first], arrays[half + first]))
            position += 1
        results = []
        for chosen in _choose(trial.choose, forms, most):
            values = [_traced(value, arrays) for value in chosen]
            nodes = tuple(value.node for value in values)
            rewriters = [(law.name, law.rewrite) for law in op.laws if law.rewrite is not None]
            families = op.families([node.op for node in nodes])
            for name, rewrite in [*rewriters, *((f"{x.name} is outside", rule) for x, rule in families.items())]:
                fired[name] = rewrite(nodes[0].trace, nodes, params) is not None or fired.get(name, False)
            combinations.append([value.node for value in values])
            used.append(values)
            plain = all(node.op is INPUT and node.type == nodes[0].type for node in nodes)
            if op.pointwise and len(chosen) == 2 and plain:
                trial.case.op(*values[::-1], **params)  # laws of commuting operands look for it
            results.append(op(*chosen, **params))
        return [*results, *(value for values in used for value in values)]

    types = [ArrayType(np.shape(x), np.asarray(x).dtype) for x in (*trial.values, *others)]
    if not types:
        return 0
    program = trace(build)(*types)
    with np.errstate(all="ignore"):
        found = _run(program, [*trial.values, *others])
        results, rest = found[: len(used)], iter(found[len(used) :])
        for nodes, result in zip(combinations, results, strict=True):
            values = [next(rest) for _ in nodes]
            what = f"{trial.where()} applied to {', '.join(_describe(node) for node in nodes)}"
            expected = np.asarray(op.numpy(*values, **params))
            finite = np.isfinite(expected)  # a law may hold for finite values only
            close(what, expected[finite], result[finite], trial)
    return len(used)


def _traced(value: Any, arrays: Sequence[Any]) -> Any:
    if isinstance(value, TracedArray):
        return value
    return TracedArray(arrays[0].node.trace.literal(value, arrays[0].type))


def _describe(node: Node) -> str:
    inner = ", ".join(str(operand.op.name) for operand in node.inputs)
    params = "".join(f" {name}={value}" for name, value in node.params)
    return f"{node.op.name}{params}({inner})"


def _other(trial: Trial, x: Any) -> Any:
    return x if x.dtype.kind != "f" else (x * 0.5 + 0.25).astype(x.dtype)


def _choose(choose: Choices, forms: Sequence[Sequence[Any]], most: int) -> Iterable[list[Any]]:
    """Yield combinations of forms: all of them if they are few, else every pair on the diagonal and a random choice."""
    total = int(np.prod([len(form) for form in forms]))
    if total <= most:
        for index in np.ndindex(*[len(form) for form in forms]):
            yield [form[i] for form, i in zip(forms, index, strict=True)]
        return
    for i in range(max(len(form) for form in forms)):
        yield [form[i % len(form)] for form in forms]
    for _ in range(most):
        yield [choose.among(form) for form in forms]


def _forms(x: Any, z: Any, first: Any, second: Any) -> list[Any]:
    """Return arrays of the type of x in the forms that laws look for.

    Args:
        x: an array of this operand's type.
        z: another.
        first: the `x` of the first operand of its type, for laws about operands that have something in common.
        second: the `z` of that operand.
    """
    node, kind = x.node, x.dtype.kind
    fill = [
        TracedArray(node.trace.literal(value, x.type)) for value in ((0.0, 1.0, -1.0, 2.0) if kind == "f" else (0, 1))
    ]
    if kind == "b":
        return [x, *fill, ops.logical_not(x)]
    if kind != "f":
        return [x]
    below = ops.less(x, z)
    zero = TracedArray(node.trace.literal(-0.0, x.type))
    forms = [
        x, z, *fill, zero, ops.neg(x), ops.neg(z), 2.0 * x, x * 3.0, ops.sub(x, z), ops.div(x, z), ops.div(z, z),
        ops.mask(below, x), ops.mask(below, z), ops.mask(below, ops.mask(below, x)),
    ]  # fmt: skip
    if x.type == first.type and x is not first:
        forms += [first, 2.0 * first, ops.div(x, second), ops.mask(ops.less(first, second), x), ops.neg(first)]
    ndim, shape = x.ndim, x.shape
    ones = (1,) * ndim
    if ndim:
        flat = ops.reshape(x, shape=(x.size,))
        forms += [
            ops.reshape(ops.flip(flat, axes=(0,)), shape=shape),
            ops.permute(ops.permute(x, order=_reverse(ndim)), order=_reverse(ndim)),
        ]
        forms += [
            ops.permute(ops.reshape(x, shape=shape[::-1]), order=_reverse(ndim)),
            ops.flip(x, axes=tuple(range(ndim))),
        ]
        wide = ops.pad(x, low=ones, high=ones, interior=(0,) * ndim)
        forms.append(ops.slice_(wide, start=ones, stop=tuple(n + 1 for n in shape), step=ones))
        (top,) = _among_zeros(x, (0,) * ndim, (1, *shape[1:]))
        forms += [top, ops.add(z, top), *_among_zeros(z, (1, *(0,) * (ndim - 1)), shape)]
    for axis in range(ndim):
        stop = tuple(1 if i == axis else n for i, n in enumerate(shape))
        row = ops.slice_(x, start=(0,) * ndim, stop=stop, step=ones)
        row = ops.reshape(row, shape=shape[:axis] + shape[axis + 1 :])
        forms.append(ops.broadcast(row, shape=shape, axes=(axis,)))
        forms.append(ops.flip(x, axes=(axis,)))
        if x.type == first.type:
            forms.append(_part_of_common(first, axis, 0 if x is first else shape[axis]))
        if shape[axis] > 1:
            start = tuple(1 if i == axis else 0 for i in range(ndim))
            head = ops.slice_(x, start=(0,) * ndim, stop=stop, step=ones)
            tail = ops.slice_(z, start=start, stop=shape, step=ones)
            forms.append(ops.concatenate(head, tail, axis=axis))
    pair = [ops.reshape(value, shape=(1, *shape)) for value in (x, z)]
    forms.append(ops.sum(ops.concatenate(*pair, axis=0), axes=(0,)))
    if ndim == 2:
        column = ops.reshape(ops.slice_(x, start=(0, 0), stop=(shape[0], 1), step=ones), shape=shape[:1])
        row = ops.reshape(ops.slice_(z, start=(0, 0), stop=(1, shape[1]), step=ones), shape=shape[1:])
        forms.append(ops.contract(column, row, labels="a,b->ab"))
    if ndim == 2 and shape[0] == shape[1]:
        identity = TracedArray(node.trace.build(ops.eye, (), (("dtype", str(x.dtype)), ("n", shape[0]))))
        row = ops.reshape(ops.slice_(x, start=(0, 0), stop=(1, shape[1]), step=ones), shape=shape[1:])
        forms += [identity, ops.mul(ops.broadcast(row, shape=shape, axes=(0,)), identity)]
    return forms


def _part_of_common(first: Any, axis: int, begin: int) -> Any:
    """Return a part of an array that is twice as long, along an axis from an index on."""
    none = (0,) * first.ndim
    longer = tuple([n if i == axis else 0 for i, n in enumerate(first.shape)])
    common = ops.exp(ops.pad(first, low=none, high=longer, interior=none))
    start = tuple([begin if i == axis else 0 for i in range(first.ndim)])
    stop = tuple([a + n for a, n in zip(start, first.shape, strict=True)])
    return ops.slice_(common, start=start, stop=stop, step=(1,) * first.ndim)


def _among_zeros(x: Any, start: tuple[int, ...], stop: tuple[int, ...]) -> list[Any]:
    """Return a part of an array with zeros in place of the rest."""
    none = (0,) * x.ndim
    part = ops.slice_(x, start=start, stop=stop, step=(1,) * x.ndim)
    return [ops.pad(part, low=start, high=tuple(n - b for n, b in zip(x.shape, stop, strict=True)), interior=none)]


def _reverse(ndim: int) -> tuple[int, ...]:
    return tuple(reversed(range(ndim)))


def pass_laws() -> Sequence[Law]:
    """Return the laws that belong to no op: those of passes over programs."""
    from primad.simplify.laws import PASS_LAWS  # a table beside the passes

    return PASS_LAWS
