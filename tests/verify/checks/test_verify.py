"""Every record and law is proved on examples that are drawn; the checker is itself tested: it catches wrong rules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from msgspec.structs import force_setattr, replace

import primad
from primad import nn, ops
from primad import numpy as pnp
from primad.functional.rules import custom_ops
from primad.ir.array_types import ArrayType, TupleType, Zero
from primad.ir.axes import AxisMap, Strided, along, same_params
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive
from primad.simplify import simplify
from primad.transforms import jvp, vjp
from primad.verify import Example, Operand
from primad.verify.cases.drawn_cases import Seeded, floats
from primad.verify.checker import check_row, rows
from primad.verify.checks import decide
from primad.verify.checks.law_checks import constructor_row, law_rows, pass_laws
from primad.verify.checks.record_checks import CHECKS, check_second_jvp
from primad.verify.random_programs import draw_program
from tests.cases import CASES, NAMES
from tests.sweeps import chosen, thinned


def test_every_op_has_a_case() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("primad.")]
    holding = {
        record
        for module in modules
        for record in vars(module).values()
        if isinstance(record, Primitive) and record.holds_program
    }
    assert {case.op for case in CASES.values()} == {
        *ops.ALL,
        *pnp.COMPOSITES,
        *nn.COMPOSITES,
        *holding,
        custom_ops.custom_pullback,
    }


@pytest.mark.one_in(12)
@thinned(6, number=range(6), name=NAMES)
def test_record(name: str, number: int) -> None:
    """One of six examples of each op is proved, the others in the sweep."""
    case = replace(CASES[name], examples=1)
    for what, check in CHECKS:
        if check is not check_second_jvp:
            row = check_row(case, case.op, what, check, lambda _: Seeded(f"{name}, {number}"))
            assert row is None or row.how != "failed", row


def check_second_derivative(name: str, number: int) -> None:
    case = replace(CASES[name], examples=1)
    if case.op.axes.pointwise:  # one element shows it as well as many
        sizes = [sum(type.size for type in case.draw(Seeded(f"{name}, {i}")).types) for i in range(4)]
        number = sorted(range(4), key=sizes.__getitem__)[(NAMES.index(name) + number) % 4]
    row = check_row(case, case.op, "JVP of JVP", check_second_jvp, lambda _: Seeded(f"{name}, {number}"))
    assert row is None or row.how != "failed", row


OTHERWISE = [name for name in NAMES if CASES[name].op.axes.pointwise or CASES[name].op.lower is not None]


@pytest.mark.one_in(2)
@thinned(4, name=[name for name in NAMES if name not in OTHERWISE], number=range(4))
def test_second_derivatives(name: str, number: int) -> None:
    """Each op is proved on one of its four examples, on the others in the sweep."""
    check_second_derivative(name, number)


@pytest.mark.one_in(12)
@thinned(16, name=OTHERWISE, number=range(4))
def test_second_derivatives_that_are_seen_otherwise(name: str, number: int) -> None:
    """Every fourth op is proved, which takes longest; tests/ops/elementwise/test_accuracy.py has three orders.

    Composites are made of ops whose second derivatives are proved.
    """
    check_second_derivative(name, number)


WITH_LAWS = [
    name for name in NAMES if CASES[name].op.laws.own or CASES[name].op.laws.consumed or CASES[name].op.axes.pointwise
]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", WITH_LAWS)
def test_laws(name: str) -> None:
    case = CASES[name]
    found = [constructor_row(case, case.op, Seeded), *law_rows(name, (*case.op.laws.own, *case.op.laws.consumed))]
    assert all(row is None or row.how != "failed" for row in found), found


def test_laws_of_passes() -> None:
    assert all(row.how == "proved" for row in law_rows("law", pass_laws()))


# -- the checker is tested: corrupt each rule of each record in turn ---------------------------------------------------


def changed_in(op: Primitive, group: str, **fields: Any) -> Primitive:
    """Return a record in which some fields of a group are others."""
    return replace(op, **{group: replace(getattr(op, group), **fields)})


def _negative(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(*args: Any, **params: Any) -> Any:
        return _changed(lambda x: -x, rule(*args, **params))

    return corrupted


def _twice(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(*args: Any, **params: Any) -> Any:
        return _changed(lambda x: x + x, rule(*args, **params))

    return corrupted


def _changed(change: Callable[[Any], Any], value: Any) -> Any:
    """Change each of what a rule gives: one value, or several; zeros and what is absent stay."""
    if isinstance(value, (tuple, list)):
        return type(value)(_changed(change, part) for part in value)
    return value if value is None or isinstance(value, Zero) else change(value)


def _nothing(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(tangents: Any, out: Any, *inputs: Any, **params: Any) -> Any:
        return tuple(Zero(part.type) for part in out) if isinstance(out, tuple) else Zero(out.type)

    return corrupted


def _without_last_term(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(tangents: Any, out: Any, *inputs: Any, **params: Any) -> Any:
        present = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, Zero)]
        changed = [Zero(t.type) if i == present[-1] and len(present) > 1 else t for i, t in enumerate(tangents)]
        return rule(changed, out, *inputs, **params)

    return corrupted


def _with_part(rule: Callable[..., Any], part: int, change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Change the values or the tangents that a program op gives."""

    def corrupted(*args: Any, **params: Any) -> Any:
        found = list(rule(*args, **params))
        found[part] = _changed(change, found[part])
        return tuple(found)

    return corrupted


def _something(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tangents, out, *inputs, **params: next(t for t in tangents if not isinstance(t, Zero))


def _wrong_labels(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Swap the labels of the result, or claim that mixed axes are mapped."""

    def corrupted(*types: Any, **params: Any) -> Any:
        found = rule(*types, **params)
        if any(len(outer) > 1 and len(set(outer) - {None}) > 1 for outer in found.results):
            return AxisMap(found.operands, tuple([outer[::-1] for outer in found.results]))
        sides = [
            [["wrong" if x is None else x for x in part] for part in side] for side in (found.operands, found.results)
        ]
        return AxisMap(*[tuple(map(tuple, side)) for side in sides])

    return corrupted


def _other_roles(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Claim that mapped axes are summed, and that parts of axes start elsewhere."""

    def corrupted(*types: Any, **params: Any) -> Any:
        found = rule(*types, **params)

        def other(label: Any) -> Any:
            if isinstance(label, Strided):
                return replace(label, start=label.start + label.step)
            return None if found.role(label) == "mapped" else label

        inner = [tuple([other(x) if isinstance(x, Strided) else x for x in labels]) for labels in found.operands]
        return AxisMap(tuple(inner), tuple([tuple(map(other, outer)) for outer in found.results]))

    return corrupted


def _unlabelled(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(*types: Any, **params: Any) -> Any:
        found = rule(*types, **params)
        return AxisMap(found.operands, tuple([(None,) * len(outer) for outer in found.results]))

    return corrupted


def _same_params(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda change, **params: params


def _same_unless_inserted(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda change, **params: rule(change, **params) if change.results[0].inserted else params


def _refusing(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda change, **params: None


def _refusing_unless_inserted(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda change, **params: rule(change, **params) if change.results[0].inserted else None


def _single(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(*types: Any, **params: Any) -> Any:
        return _each_type(lambda type: ArrayType(type.shape, np.int32), rule(*types, **params))

    return corrupted


def _longer(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(*types: Any, **params: Any) -> Any:
        return _each_type(lambda type: ArrayType((*type.shape, 2), type.dtype), rule(*types, **params))

    return corrupted


def _each_type(change: Callable[[ArrayType], ArrayType], type: Any) -> Any:
    return TupleType(tuple(map(change, type.types))) if isinstance(type, TupleType) else change(type)


def _other_value(rule: Callable[..., Any]) -> Callable[..., Any]:
    def corrupted(*arrays: Any, **params: Any) -> Any:
        result = rule(*arrays, **params)
        return tuple(map(_another, result)) if isinstance(result, tuple) else _another(result)

    return corrupted


def _another(value: Any) -> Any:
    result = np.asarray(value)
    return ~result if result.dtype.kind == "b" else -result - 1 if result.dtype.kind in "iu" else 2 * result + 1


def _without_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a definition that takes none of the arguments by which plans tell it what to do with memory."""
    told = ("out", "each", "wanted", "memory")

    def plain(*arrays: Any, **params: Any) -> Any:
        assert not any(name in params for name in told)
        return function(*arrays, **params)

    return plain


def _elsewhere(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays, out=None, **params: function(*arrays, **params)


def _seven(law: Law) -> Law:
    def rewrite(trace: Any, inputs: Any, params: Any) -> Any:
        assert law.rewrite is not None
        result = law.rewrite(trace, inputs, params)
        return None if result is None else trace.literal(7, result.type)

    return replace(law, rewrite=rewrite)


def _silent(law: Law) -> Law:
    return replace(law, rewrite=lambda trace, inputs, params: None)


def _wrong_side(law: Law) -> Law:
    def statement(*args: Any) -> Any:
        left, right = law.statement(*args)
        return left, right + 1

    return replace(law, statement=statement) if law.shapes else law


def corruptions(op: Primitive) -> Iterator[tuple[str, str, Primitive]]:
    """Yield (what is wrong, the check that should see it, the corrupted record)."""
    rules = op.derivative
    if rules.jvp is not None:
        if op.kind == "piecewise constant":
            if op.name in ("sign", "floor", "floor_divide", "stop_gradient"):
                yield "a derivative where there is none", "JVP", changed_in(op, "derivative", jvp=_something(rules.jvp))
        else:
            yield "sign of the JVP", "JVP", changed_in(op, "derivative", jvp=_negative(rules.jvp))
            yield "factor of the JVP", "JVP", changed_in(op, "derivative", jvp=_twice(rules.jvp))
            yield "JVP is zero", "JVP", changed_in(op, "derivative", jvp=_nothing(rules.jvp))
            if len(rules.partials) > 1 or op.name in ("mul", "contract", "add", "sub", "select", "concatenate"):
                yield "missing term of the JVP", "JVP", changed_in(op, "derivative", jvp=_without_last_term(rules.jvp))
    if rules.linearize is not None:
        check = "transpose" if CASES[op.name].reverse_only else "JVP"
        for what, part, wrong in (
            ("sign of the tangents", 1, lambda x: -x),
            ("factor of the tangents", 1, lambda x: x + x),
            ("tangents are zero", 1, lambda x: Zero(x.type)),
            ("values beside the tangents", 0, lambda x: x + x),
        ):
            yield what, check, changed_in(op, "derivative", linearize=_with_part(rules.linearize, part, wrong))
    if rules.transpose is not None:
        yield "sign of the transpose", "transpose", changed_in(op, "derivative", transpose=_negative(rules.transpose))
        yield "factor of the transpose", "transpose", changed_in(op, "derivative", transpose=_twice(rules.transpose))
    if op.axes.map is not None:
        if op.name != "cast":
            yield "labels of the axis map", "axis map", changed_in(op, "axes", map=_wrong_labels(op.axes.map))
        if op.name not in ("eye", "iota"):  # which have no axis but mixed ones
            yield "roles of the axis map", "axis map", changed_in(op, "axes", map=_other_roles(op.axes.map))
        if op.axes.pointwise:
            yield "missing labels", "axis map", changed_in(op, "axes", map=_unlabelled(op.axes.map))
    if op.axes.adapt is not None and op.name not in ("eye", "iota"):
        keeps = op.axes.adapt is same_params  # params that say nothing about axes can only be refused
        wrong, changed = (_refusing, _refusing_unless_inserted) if keeps else (_same_params, _same_unless_inserted)
        yield "params of the batched op", "batching", changed_in(op, "axes", adapt=wrong(op.axes.adapt))
        yield "params after axes changed", "axis map", changed_in(op, "axes", adapt=changed(op.axes.adapt))
    if op.indexing.takes_rows is not None:
        elsewhere = lambda *types, **params: (op.indexing.takes_rows(*types, **params) + 1) % types[0].ndim  # noqa: E731
        yield "axis of the rows", "rows at indices", changed_in(op, "indexing", takes_rows=elsewhere)
    if op.indexing.adds_rows is not None:
        further = lambda *types, **params: range(op.indexing.adds_rows(*types, **params).start + 1)  # noqa: E731
        yield "axes of the rows", "rows at indices", changed_in(op, "indexing", adds_rows=further)
    if op.indexing.joins:
        backwards = lambda *xs, axis: op.numpy(*xs[::-1], axis=axis)  # noqa: E731
        yield "order of what is joined", "rows at indices", replace(op, numpy=backwards)
    if (run := op.indexing.running) is not None:
        back = lambda *types, **params: run(*types, **params)._replace(reverse=not run(*types, **params).reverse)  # noqa: E731
        yield "way along an axis", "elements that have come", changed_in(op, "indexing", running=back)
    for argument, without in (("out", None), ("each", False), ("wanted", False), ("limit", False)):
        if getattr(op.memory, argument) != without:
            yield f"no {argument}", "memory", replace(op, numpy=_without_arguments(op.numpy))
    if op.memory.out is not None:
        yield "another array than out", "memory", replace(op, numpy=_elsewhere(op.numpy))
    yield "inferred dtype", "type", replace(op, infer=_single(op.infer))
    yield "inferred shape", "type", replace(op, infer=_longer(op.infer))
    wrong_value = _other_value(op.numpy) if not rules.only_transposed else lambda *arrays, **params: arrays[0]
    yield "the NumPy function", "meaning", replace(op, numpy=wrong_value)
    if op.lower is not None:
        yield "sign of the lowering", "lowering", replace(op, lower=_negative(op.lower))
        yield "factor of the lowering", "lowering", replace(op, lower=_twice(op.lower))
    for i, law in enumerate(op.laws.own):
        for name, corrupt in (("rewrite of", _seven), ("silent", _silent), ("statement of", _wrong_side)):
            changed = corrupt(law)
            if changed is not law and (i == 0 or corrupt is not _silent):  # a law that does nothing is like another
                yield (
                    f"{name} '{law.name}'",
                    law.name if corrupt is _wrong_side else "rewrites",
                    changed_in(op, "laws", own=(*op.laws.own[:i], changed, *op.laws.own[i + 1 :])),
                )


def caught(name: str, expected: str, op: Primitive) -> bool:
    """Say whether the checker sees that a record is wrong, looking first where it should."""
    case = CASES[name]
    checks = dict(CHECKS)
    if expected in checks:
        first = check_row(case, op, expected, checks[expected], Seeded)
    elif expected == "rewrites":
        first = constructor_row(case, op, Seeded)
    else:
        (first,) = law_rows(name, [law for law in op.laws.own if law.name == expected])
    return (first is not None and first.how == "failed") or any(row.how == "failed" for row in rows(case, Seeded, op))


@pytest.mark.one_in(6)
@thinned(8, name=NAMES)
def test_every_corruption_is_caught(name: str) -> None:
    """Each check sees what is wrong with dozens of ops: an eighth of all shows that it looks."""
    missed = [what for what, check, op in corruptions(CASES[name].op) if not caught(name, check, op)]
    assert not missed


def test_every_corruption_of_a_law_of_passes_is_caught() -> None:
    for law in pass_laws():
        (row,) = law_rows("law", [_wrong_side(law)])
        assert row.how == "failed"


CONSUMED = [name for name in NAMES if CASES[name].op.laws.consumed]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", chosen(CONSUMED, [name for name in CONSUMED if name not in ("hessian", "jacobian")]))
def test_every_corruption_of_a_law_of_consumers_is_caught(name: str) -> None:
    """Each of these laws is applied to its own statement: what is wrong with it is put into the record itself."""
    op = CASES[name].op
    laws, consumed = op.laws, op.laws.consumed
    try:
        for i, law in enumerate(consumed):
            for corrupt in (_seven, _silent, _wrong_side):
                changed = corrupt(law)
                others = replace(laws, consumed=(*consumed[:i], changed, *consumed[i + 1 :]))
                force_setattr(op, "laws", others)
                _forget_laws()
                (row,) = law_rows(name, [changed])
                assert row.how == "failed", f"{corrupt.__name__}: {law.name}"
    finally:
        force_setattr(op, "laws", laws)
        _forget_laws()


def _forget_laws() -> None:
    for case in CASES.values():
        case.op._contexts.clear()


def test_a_law_of_the_wrong_class_is_caught() -> None:
    law = Law("x + 0 = x", "bitwise", lambda x: (ops.add(x, 0.0), x), ((3,),))
    report = primad.verify(law)
    assert not report.ok
    assert "bits" in report.failures[0].note  # −0.0 + 0.0 is 0.0


# -- users' primitives -------------------------------------------------------------------------------------------------


def test_a_users_primitive_is_proved() -> None:
    cube = primad.elementwise("cube", lambda x: x * x * x, partials=[lambda out, x: 3.0 * x * x])
    report = primad.verify(cube)
    assert report.ok
    assert {row.what for row in report.rows if row.how == "proved"} == {"JVP", "JVP of JVP", "transpose"}


def test_a_users_wrong_primitive_is_reported_with_a_counterexample() -> None:
    cube = primad.elementwise("cube", lambda x: x * x * x, partials=[lambda out, x: 2.0 * x * x])
    report = primad.verify(cube)
    assert not report.ok
    (first, *_) = report.failures
    assert first.what == "JVP"
    assert "expected" in first.note and "3*t0" in first.note and "x_0 = " in first.note
    assert "failed" in str(report)


def test_a_users_numpy_function_is_recorded_where_symbols_do_not_know_it() -> None:
    wave = primad.elementwise("wave", lambda x: np.exp(np.sin(x)), partials=[lambda out, x: out * primad.numpy.cos(x)])
    assert primad.verify(wave).ok


def test_a_users_linear_primitive_is_verified_on_its_examples() -> None:
    def reverse(x: Any) -> Any:
        return np.flip(x, 0)

    def record(transpose: Any) -> Primitive:
        return primad.linear(
            "reverse",
            reverse,
            infer=lambda x: x,
            transpose=[transpose],
            axes=lambda x: along(x.ndim, [0]),
        )

    right = record(lambda ct, x: ops.flip(ct, axes=(0,)))
    examples = [Example((floats((3,)),)), Example((floats((2, 3)),))]
    found = {row.what: row.how for row in primad.verify(right, examples=examples).rows}
    assert found["transpose"] == "proved" and found["JVP"] == "proved"
    assert found["batching"] == "failed"  # flipping the first axis of a batch flips the batch
    wrong = record(lambda ct, x: ct)
    assert "adjoint identity" in next(row.note for row in primad.verify(wrong, examples=examples).failures)


def test_names_and_unknown_names() -> None:
    report = primad.verify("sin", ops.cos)
    assert report.ok and {row.name for row in report.rows} == {"sin", "cos"}
    assert "2 verified" in report.summary()
    with pytest.raises(primad.TracingError, match="no op named 'sine'"):
        primad.verify("sine")


@pytest.mark.exhaustive
def test_the_report_is_the_same_for_any_number_of_processes() -> None:
    names = ("cumsum", "sin", "permute", "mean")
    one, two = (primad.verify(*names, jobs=jobs) for jobs in (1, 2))
    assert one.ok and one.rows == two.rows
    with pytest.raises(primad.TracingError, match="jobs="):
        primad.verify(ops.cos, jobs=2)


def test_an_exemption_says_why() -> None:
    rows = [row for row in primad.verify("stop_gradient").rows if row.how == "exempt"]
    assert rows and "by decree" in rows[0].note


def test_reverse_mode_lowers_the_composites_of_a_users_rule() -> None:
    @primad.custom_jvp
    def average(x: Any) -> Any:
        return np.mean(np.sin(x))

    average.defjvp(lambda primals, tangents: primad.jvp(lambda x: np.mean(np.sin(x)), primals, tangents))
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(primad.grad(average)(x), np.cos(x) / 2)


def test_rules_of_complex_arguments_are_tried_off_the_real_axis() -> None:
    @primad.custom_jvp
    def size(z: Any) -> Any:
        return z * np.conj(z)

    def rule(right: bool) -> Any:
        def pushed(primals: Any, tangents: Any) -> Any:
            (z,), (t,) = primals, tangents
            return size(z), t * (np.conj(z) if right else z) + z * np.conj(t)

        return pushed

    examples = [Example((Operand(ArrayType((2,), complex)),))]
    for right in (True, False):  # the wrong one is right at real numbers
        size.defjvp(rule(right))
        assert primad.verify(size, examples=examples).ok is right


def _derived_texts(seeds: range) -> list[str]:
    texts = []
    for seed in seeds:
        program = draw_program(Seeded(seed))
        texts += [str(program), str(simplify(vjp(jvp(program))))]
    trivial = primad.trace(
        lambda x: (
            x[1:, ::2], x[None, 0], np.flip(x, ()), np.reshape(x, x.shape), np.transpose(x, (0, 1)), np.sum(x, ()),
            np.concatenate([x]), np.pad(x, 0), np.broadcast_to(x, x.shape), x * 1.0 + 0.0 - x / 1.0, x**1.0, x + x,
        )
    )  # fmt: skip
    return [*texts, str(trivial(np.ones((4, 4))))]


def test_no_law_is_left_out_where_it_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws are tried only where the operands' ops allow them (`at`, `only`); trying all of them finds nothing more.

    Of a law in `consumed`, `at` is the op that consumes: a part of what the law says.
    """
    indexed = _derived_texts(range(40))
    consumed, may_apply = {id(law) for case in CASES.values() for law in case.op.laws.consumed}, Law.may_apply
    monkeypatch.setattr(Primitive, "_contexts", property(lambda self: {}))
    monkeypatch.setattr(Law, "may_apply", lambda self, given: id(self) not in consumed or may_apply(self, given))
    assert _derived_texts(range(40)) == indexed


def test_an_op_with_params_says_what_to_pass_and_that_works() -> None:
    power = primad.elementwise("power_n", lambda x, *, n: x**n, partials=[lambda out, x, *, n: n * x ** (n - 1)])
    with pytest.raises(primad.TracingError, match="verify: power_n has params, n, and no example gives n") as caught:
        primad.verify(power)
    fix = (
        str(caught.value)
        .partition("Fix: ")[2]
        .partition(".\n")[0]
        .replace("…", "3.0")
        .replace("verify(power_n", "verify(power")
    )
    scope = {"power": power, "primad": primad, "verify": primad.verify}
    statement, _, expression = fix.partition("; ")
    exec(statement, scope)
    assert eval(expression, scope).ok
    with pytest.raises(primad.TracingError, match="no example gives n"):
        primad.verify(power, examples=[Example((Operand(primad.ArrayType((3,), float)),))])


def test_a_report_shows_itself_in_notebooks() -> None:
    wrong = primad.elementwise("wrong<b>", np.arctan, partials=[lambda out, x: 1.0 / (1.0 - x * x)])
    report = primad.verify(wrong)
    html = report._repr_html_()
    assert html.count("<tr>") == 1 + len(report.rows)
    assert "wrong&lt;b&gt;" in html and "<b>failed</b>" in html and "wrong<b>" not in html
    assert repr(report) == f"<Report: {report.summary()}>"


def test_powers_of_numbers_and_exponentials_are_told_to_be_equal() -> None:
    x, y = sympy.symbols("x y")
    symbols: Any = SimpleNamespace(sample={x: sympy.Rational(-3, 2), y: sympy.Rational(2, 3)})
    mean = 2**x / (2**x + 2**y)
    d = (x - y) * sympy.log(2)
    half = 1 / (sympy.exp(d / 2) + sympy.exp(-d / 2)) ** 2
    for zero in (mean - 1 / (1 + sympy.exp(-d)), mean * (1 - mean) - half, 9 ** (x / 2) - sympy.exp(x * sympy.log(3))):
        assert decide._of_powers(zero) == 0 and decide.vanishes(zero, symbols)
    for other in (mean - 1 / (1 + sympy.exp(d)), mean * (1 - mean) - 2 * half, 9 ** (x / 2) - sympy.exp(x)):
        assert decide._of_powers(other) != 0 and not decide.vanishes(other, symbols)


def test_a_users_primitive_is_tried_within_its_domain_only() -> None:
    """A rule that divides by x is right where x is not 0, which is all that was asked."""
    same = primad.elementwise("same", lambda x: x * 1.0, partials=[lambda out, x: out / x])
    known = partial(primad.verify, same, symbolic=lambda numbers, x: x)
    assert known(domain=[(0.5, 2.0)]).ok and known().ok
    assert [row.what for row in known(domain=[(-1.0, 2.0)]).failures] == ["special points"]


@pytest.mark.exhaustive
def test_the_report_that_users_see_has_no_failure():
    """Its examples are drawn by names, and so are others than those of the tests above."""
    report = primad.verify()
    assert report.ok, [str(row) for row in report.failures]
