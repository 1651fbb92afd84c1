"""The checks of a record, each on one trial: they return how certain the result is, or raise `Wrong`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType
from primad.ops.record.primitive import Primitive
from primad.transforms import jvp, lower, transpose, vjp
from primad.transforms.lowering import without_calls
from primad.transforms.reverse import transposed_program
from primad.verify.cases.case_table import cases
from primad.verify.checks.axis_checks import check_axis_map, check_batching, check_rows, check_running, check_sum
from primad.verify.checks.decide import Wrong, decide
from primad.verify.checks.memory_checks import check_memory
from primad.verify.checks.trial import STEP_DIGITS, Trial, close, is_float, listed, run_floats
from primad.verify.exact.high_precision import Precise
from primad.verify.exact.object_arrays import Evaluator
from primad.verify.verdicts import How

SINGLE = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
"""The dtypes of single precision, by those of double precision."""
Check = Callable[[Trial], How | None]
"""None says that the check does not apply."""


def _refuses(trial: Trial) -> How:
    """An op that cannot be computed says so."""
    try:
        trial.op.numpy(*trial.operands(trial.values), **trial.example.params)
    except NotDifferentiableError:
        return "tested"
    raise Wrong(f"{trial.where()}: value", "an error", "a value")


def check_type(trial: Trial) -> How | None:
    """The inferred type is that of NumPy's result, in double and in single precision."""
    if trial.op.derivative.only_transposed:
        return _refuses(trial)
    for single in (False,) if trial.op.holds_program else (False, True):
        operands, types = [], []
        values = iter(trial.values)
        for operand in trial.example.operands:
            narrow = single and operand.type.dtype in SINGLE
            type = ArrayType(operand.type.shape, SINGLE[operand.type.dtype]) if narrow else operand.type
            value = operand.literal if operand.literal is not None else next(values)
            operands.append(np.asarray(value, type.dtype) if operand.literal is None else type.dtype.type(value))
            types.append(type)
        inferred = trial.inferred(types)
        found = [ArrayType(result.shape, result.dtype) for result in trial.results(operands)]
        if single and _is_own(trial.op) and found == [ArrayType(type.shape, np.float64) for type in inferred]:
            trial.remark = "in single precision it computes in double, and its result is rounded"
        elif inferred != found:
            raise Wrong(f"{trial.where()}: inferred type", found, inferred)
    return "tested"


def _is_own(op: Primitive) -> bool:
    """Say whether an op is a user's own, whose function may know doubles only, as SciPy's splines do."""
    known = cases().get(op.name)
    return known is None or known.op is not op


def check_meaning(trial: Trial) -> How | None:
    """The NumPy function computes what the mathematical definition says, to a few ulps."""
    if trial.meaning is None or trial.case.symbols_only:
        return None
    precise = Precise()
    evaluator = Evaluator(precise, {trial.op: trial.meaning})
    values = iter(trial.values)
    operands: list[Any] = []
    exact: list[Any] = []
    for operand in trial.example.operands:
        value = np.full(operand.type.shape, operand.literal) if operand.literal is not None else next(values)
        operands.append(value)
        exact.append(evaluator.array(value, operand.type))
    types: list[Any] = [operand.type for operand in trial.example.operands]
    through = trial.case.through
    if through is not None:
        types = [through.infer(*types)]
        exact = [evaluator.apply(through, exact, {}, types[0])]
    type = trial.op.infer(*types, **trial.example.params)
    expected = listed(evaluator.apply(trial.op, exact, trial.example.params, type))
    for exactly, got in zip(expected, trial.results(operands), strict=True):
        close(f"{trial.where()}: value of the NumPy function", exactly.astype(got.dtype), got, trial, 1e-12)
    return "tested"


def check_lowering(trial: Trial) -> How | None:
    """An op's definition in terms of other ops has the meaning of its NumPy function."""
    if trial.op.lower is None or trial.case.rounded:
        return None
    expected = trial.evaluator.run(trial.program, trial.inputs)
    got = trial.evaluator.run(lower(without_calls(trial.program)), trial.inputs)
    how = _decided(f"{trial.where()}: lowering", expected, got, trial)
    values = trial.results(trial.operands(trial.values))
    for value, floats in zip(values, run_floats(trial.program, trial.values), strict=True):
        close(f"{trial.where()}: lowering", value, floats, trial)
    return how


def _decided(what: str, expected: Sequence[Any], got: Sequence[Any], trial: Trial) -> How:
    """Decide whether results are equal, each to each; the least certain answer counts."""
    found = [decide(what, x, y, trial.symbols) for x, y in zip(expected, got, strict=True)]
    return "numeric" if "numeric" in found else found[0]


def derivative(outputs: Any, inputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the directional derivatives of expressions, by SymPy."""
    direction = {x: t for xs, ts in zip(inputs, tangents, strict=True) for x, t in zip(xs.flat, ts.flat, strict=True)}
    out = np.empty(outputs.shape, object)
    for index in np.ndindex(outputs.shape):
        expression = sympy.sympify(outputs[index])
        symbols = sorted(expression.free_symbols & direction.keys(), key=str)
        out[index] = sum((sympy.diff(expression, x) * direction[x] for x in symbols), sympy.Integer(0))
    return out


def _floats(trial: Trial) -> list[Any]:
    return [x for x, type in zip(trial.inputs, trial.program.in_types, strict=True) if type.is_float]


def _differentiable(trial: Trial) -> bool:
    return any(is_float(trial.program.out_types)) and any(is_float(trial.program.in_types))


def check_jvp(trial: Trial) -> How | None:
    """The JVP is SymPy's derivative of the op."""
    return _jvp(trial, 1)


def check_second_jvp(trial: Trial) -> How | None:
    """The JVP of the JVP is SymPy's second derivative."""
    return _jvp(trial, 2)


def _jvp(trial: Trial, order: int) -> How | None:
    if not _differentiable(trial) or trial.case.reverse_only:
        return None
    program, inputs, floats = trial.program, trial.inputs, _floats(trial)
    if trial.case.numeric:
        return _quotient(trial, order)
    values = expected = trial.evaluator.run(program, inputs)
    count = len(expected)
    if trial.op.derivative.exempt:
        expected = [np.full(result.shape, sympy.Integer(0), object) for result in expected]
    for k in range(order):
        program = jvp(program)
        tangents = trial.directions("tuv"[k], program.in_types[len(inputs) :])
        expected = [derivative(result, floats, tangents) for result in expected]
        inputs, floats = [*inputs, *tangents], [*floats, *tangents]
    found = trial.evaluator.run(program, inputs)
    how = _decided(f"{trial.where()}: derivative of order {order}", expected, found[-count:], trial)
    if trial.op.derivative.linearize is not None:  # it gives the values too
        _decided(f"{trial.where()}: values beside the derivative", values, found[:count], trial)
    return "exempt" if trial.op.derivative.exempt else how


def _quotient(trial: Trial, order: int) -> How:
    """Compare the last of `order` JVPs with the central difference quotient of the program before it."""
    before, inputs = trial.program, trial.inputs
    for k in range(order):
        after = jvp(before)
        tangents = trial.directions("tuv"[k], after.in_types[len(inputs) :])
        if k + 1 < order:
            before, inputs = after, [*inputs, *tangents]
    moving = iter(tangents)
    step = trial.symbols.context.mpf(10) ** -STEP_DIGITS
    steps = [next(moving) * step if type.is_float else x * 0 for x, type in zip(inputs, before.in_types, strict=True)]
    right, left = (
        trial.evaluator.run(before, [x + s for x, s in zip(inputs, there, strict=True)])
        for there in (steps, [-s for s in steps])
    )
    expected = [(x - y) / (2 * step) for x, y in zip(right, left, strict=True)]
    got = trial.evaluator.run(after, [*inputs, *tangents])[-len(expected) :]
    return _decided(f"{trial.where()}: derivative of order {order}", expected, got, trial)


def check_transpose(trial: Trial) -> How | None:
    """⟨w, J t⟩ = ⟨Jᵀ w, t⟩ for the derivative, and for the op itself in the operands in which it is linear."""
    if not _differentiable(trial):
        return None
    if trial.case.reverse_only:
        return _pullback(trial)
    forward, reverse = jvp(trial.program), vjp(trial.program)
    types = [type for type in trial.program.in_types if type.is_float]
    tangents = trial.directions("t", types)
    floats = is_float(trial.program.out_types)
    cotangents = trial.directions("w", [type for type in trial.program.out_types if type.is_float])
    pushed = trial.evaluator.run(forward, [*trial.inputs, *tangents])[len(floats) :]
    pushed = [found for found, on in zip(pushed, floats, strict=True) if on]
    results = trial.evaluator.run(reverse, [*trial.inputs, *cotangents])
    how = _adjoint(trial, "the derivative", pushed, results[len(floats) :], tangents, cotangents)
    if trial.op.derivative.linearize is not None:
        _decided(f"{trial.where()}: values with residuals", _values(trial), results[: len(floats)], trial)
    vjp(forward)  # the tangent program is itself differentiable in reverse
    for chosen in linear_groups(trial):
        found = _transpose_alone(trial, chosen)
        how = found if found == "numeric" else how
    return "exempt" if trial.op.derivative.exempt else how


def _values(trial: Trial) -> list[Any]:
    return trial.evaluator.run(trial.program, trial.inputs)


def _pullback(trial: Trial) -> How:
    """The cotangents are SymPy's derivatives of ⟨w, y⟩, and so are theirs, for an op without a forward mode."""
    cotangents = trial.directions("w", trial.program.out_types)
    out = _values(trial)
    total = np.asarray(_inner(cotangents, out), object)
    results = trial.evaluator.run(vjp(trial.program), [*trial.inputs, *cotangents])
    how = _decided(f"{trial.where()}: values with residuals", out, results[: len(out)], trial)
    for x, found in zip(_floats(trial), results[len(out) :], strict=True):
        expected = np.empty(x.shape, object)
        for index in np.ndindex(x.shape):
            expected[index] = sympy.diff(total[()], x[index])
        if decide(f"{trial.where()}: pullback", expected, found, trial.symbols) == "numeric":
            how = "numeric"
    return how


def linear_groups(trial: Trial) -> list[tuple[int, ...]]:
    """Return the sets of operands in which the op is claimed to be jointly linear."""
    types = trial.program.in_types
    op = trial.case.through or trial.op
    groups = [tuple([i for i in group if types[i].is_float]) for group in op.linear_groups(len(types))]
    return [group for group in (*groups, trial.example.linear) if group]


def _transpose_alone(trial: Trial, chosen: tuple[int, ...]) -> How:
    linear = [i in chosen for i in range(len(trial.inputs))]
    # Before a user's program is transposed its calls are replaced; here their own rule is asked.
    backward = (transposed_program if trial.op.programs.called else transpose)(trial.program, linear)
    others = [x for x, on in zip(trial.inputs, linear, strict=True) if not on]
    cotangents = trial.directions("w", trial.program.out_types)
    operands = [trial.inputs[i] for i in chosen]
    out = trial.evaluator.run(trial.program, trial.inputs)
    pulled = trial.evaluator.run(backward, [*others, *cotangents])
    how = _adjoint(trial, f"the op in operands {list(chosen)}", out, pulled, operands, cotangents)
    if trial.op.kind in ("linear", "multilinear"):
        _bit_exact(trial, linear, backward)
    return how


def _adjoint(trial: Trial, what: str, out: Any, pulled: Any, operands: Any, cotangents: Any) -> How:
    """The identity holds for all operands, so each coefficient of both sides must agree: compare the two sums."""
    left = _inner(cotangents, out)
    right = _inner(pulled, operands)
    return decide(f"{trial.where()}: adjoint identity of {what}", left, right, trial.symbols)


def _inner(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return the pairing Σ xy, of complex numbers its real part."""
    total = sympy.Integer(0)
    for x, y in zip(xs, ys, strict=True):
        if x.shape != y.shape:
            raise Wrong("shape of a cotangent", y.shape, x.shape)
        total = sum((a * b for a, b in zip(x.flat, y.flat, strict=True)), total)
    return total.as_real_imag()[0] if total.has(sympy.I) else total


def _bit_exact(trial: Trial, linear: Sequence[bool], backward: Any) -> None:
    """On small integers floating point is exact, so the two sides agree bit for bit."""
    types = trial.program.in_types
    arrays = [
        x if not type.is_float else trial.integers([type])[0] for x, type in zip(trial.values, types, strict=True)
    ]
    cotangents = trial.integers(trial.program.out_types)
    out = run_floats(trial.program, arrays)
    others = [x for x, on in zip(arrays, linear, strict=True) if not on]
    pulled = run_floats(backward, [*others, *cotangents])
    left = sum(float(np.sum(w * y).real) for w, y in zip(cotangents, out, strict=True))
    chosen = [x for x, on in zip(arrays, linear, strict=True) if on]
    right = sum(float(np.sum(x * y).real) for x, y in zip(chosen, pulled, strict=True))
    if left != right:
        raise Wrong(f"{trial.where()}: adjoint identity on integers", left, right)


CHECKS: tuple[tuple[str, Check], ...] = (
    ("type", check_type),
    ("meaning", check_meaning),
    ("lowering", check_lowering),
    ("JVP", check_jvp),
    ("JVP of JVP", check_second_jvp),
    ("transpose", check_transpose),
    ("batching", check_batching),
    ("axis map", check_axis_map),
    ("sum over directions", check_sum),
    ("rows at indices", check_rows),
    ("elements that have come", check_running),
    ("memory", check_memory),
)
"""What is checked of every record, in the order of the table."""
