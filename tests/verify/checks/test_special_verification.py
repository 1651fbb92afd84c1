"""Laws and derivatives at special values, and what is said of axes that are not whole: `verify` sees wrong guards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad import ops
from primad.ir.axes import AxisMap, Strided
from primad.ir.node import is_literal
from primad.ops.elementwise.arithmetic import _scaled, _times
from primad.ops.record.fields import Rewrite, always
from primad.ops.record.primitive import Primitive, apply
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checker import check_row
from primad.verify.checks.axis_checks import check_axis_map
from primad.verify.checks.slope_checks import slopes_row
from primad.verify.checks.special_checks import special_row
from tests.cases import CASES, NAMES
from tests.sweeps import thinned


@pytest.mark.one_in(12)
@thinned(2, name=[name for name in NAMES if CASES[name].op.laws.own or CASES[name].op.axes.pointwise])
def test_laws_at_special_values(name: str) -> None:
    row = special_row(CASES[name], CASES[name].op, Seeded)
    assert row is None or row.how != "failed", row


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_at_special_points(name: str) -> None:
    row = slopes_row(CASES[name], CASES[name].op, Seeded)
    assert row is None or row.how != "failed", row


@pytest.mark.parametrize("name", ["abs", "arctanh", "cbrt", "div", "hypot", "log", "maximum", "power", "sqrt"])
def test_what_is_said_to_be_smooth_is_so_at_special_points(name: str) -> None:
    op = CASES[name].op
    wrong = replace(op, derivative=replace(op.derivative, smooth=always))
    row = slopes_row(replace(CASES[name], op=wrong), wrong, Seeded)
    assert row.how == "failed" and "said to be smooth" in row.note


# -- the checks are tested: guards that let too much through -----------------------------------------------------------


def _like_terms_of_any_sign(trace: Any, inputs: Any, params: Any) -> Any:
    (a, x), (b, y) = _scaled(inputs[0]), _scaled(inputs[1])
    return _times(trace, a + b, x) if x is y and x.type.is_float else None


def _pads_with_a_gap(trace: Any, inputs: Any, params: Any) -> Any:
    x, y = inputs
    if x.op is not ops.pad or y.op is not ops.pad or x.type.ndim != 1:
        return None
    (low,), (high,) = dict(x.params)["low"], dict(y.params)["high"]
    inner = apply(trace, ops.concatenate, x.inputs[0], y.inputs[0], axis=0)
    gap = x.type.shape[0] - low - high - inner.type.shape[0]
    return None if gap < 0 else apply(trace, ops.pad, inner, low=(low,), high=(high + gap,), interior=(0,))


def _minus_a_negative_zero(trace: Any, inputs: Any, params: Any) -> Any:
    return inputs[0] if is_literal(inputs[1], -0.0) else None


def _identity_of_any_labels(trace: Any, inputs: Any, params: Any) -> Any:
    alike = ops.contract.infer(*[x.type for x in inputs], **params) == inputs[1].type
    return inputs[1] if inputs[0].op is ops.eye and alike else None


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("op", "law", "rewrite"),
    [
        (ops.add, "like terms", _like_terms_of_any_sign),
        (ops.add, "arrays side by side", _pads_with_a_gap),
        (ops.sub, "x − 0 = x", _minus_a_negative_zero),
        (ops.contract, "contracting with the identity", _identity_of_any_labels),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_a_guard_that_lets_too_much_through_is_seen(op: Primitive, law: str, rewrite: Rewrite) -> None:
    laws = tuple([replace(x, rewrite=rewrite) if x.name.startswith(law) else x for x in op.laws.own])
    row = special_row(CASES[op.name], replace(op, laws=replace(op.laws, own=laws)), Seeded)
    assert laws != op.laws.own and row is not None and row.how == "failed"


@pytest.mark.parametrize(
    ("op", "operand", "partial"),
    [
        (ops.power, 0, lambda out, x, y: y * ops.power(x, y - 1)),  # NaN at 0⁰
        (ops.power, 1, lambda out, x, y: ops.select((x == 0) & (y >= 0), x * 0, out * ops.log(x))),
        (ops.hypot, 0, lambda out, x, y: x / out),
        (ops.abs, 0, lambda out, x: ops.div(x, out)),
    ],
)
def test_a_slope_that_is_wrong_at_a_point_is_seen(op: Primitive, operand: int, partial: Any) -> None:
    right = primad.elementwise(op.name, op.numpy, op.derivative.partials)
    assert slopes_row(replace(CASES[op.name], op=right, symbolic=_meaning(op)), right, Seeded).how == "tested"
    partials = [partial if i == operand else rule for i, rule in enumerate(op.derivative.partials)]
    wrong = primad.elementwise(op.name, op.numpy, partials)
    row = slopes_row(replace(CASES[op.name], op=wrong, symbolic=_meaning(op)), wrong, Seeded)
    assert row is not None and row.how == "failed"


def _meaning(op: Primitive) -> Any:
    from primad.verify.exact.object_arrays import definition_of

    return definition_of(op)


@pytest.mark.parametrize("name", ["pad", "slice"])
def test_an_axis_that_is_not_whole_is_no_name(name: str) -> None:
    op = CASES[name].op

    def axes(*types: Any, **params: Any) -> AxisMap:
        found = op.axes.map(*types, **params)
        whole = lambda x: x.name if isinstance(x, Strided) and x.step == 1 and not x.start else x  # noqa: E731
        return AxisMap(*[tuple([tuple(map(whole, part)) for part in side]) for side in (found.operands, found.results)])

    row = check_row(CASES[name], replace(op, axes=replace(op.axes, map=axes)), "axis map", check_axis_map, Seeded)
    assert row is not None and row.how == "failed"


# -- what these checks found -------------------------------------------------------------------------------------------


def test_a_sum_of_no_terms_is_zero_whatever_they_would_be() -> None:
    x = np.array([np.inf, -1.0, np.nan])
    found = primad.jit(lambda x: np.sum(np.broadcast_to(x, (0, 3)), axis=0))(x)
    assert found.tolist() == [0.0] * 3 and not np.signbit(found).any()
    assert primad.grad(lambda x: np.sum(np.broadcast_to(x, (0, 3)) * x))(x).tolist() == [0.0] * 3


def test_an_infinite_matrix_meets_the_zeros_of_a_vector() -> None:
    found = primad.jit(lambda x: np.matmul(primad.numpy.full((2, 2), np.inf), x))(np.array([0.0, 1.0]))
    assert np.isnan(found).all()
