"""The checks of a record, each on one trial: they return how certain the result is, or raise `Wrong`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from primad.backends.mpmath import Precise
from primad.backends.objects import Evaluator
from primad.transforms import jvp, lower, transpose, vjp, vmap
from primad.types import ArrayType
from primad.verify.decide import Wrong, decide
from primad.verify.report import How
from primad.verify.trial import STEP_DIGITS, Trial, is_float, listed, run_floats

Check = Callable[[Trial], How | None]
"""None says that the check does not apply."""


def check_type(trial: Trial) -> How:
    """The inferred type is that of NumPy's result, in double and in single precision."""
    for single in (False,) if trial.op.holds_program else (False, True):
        operands, types = [], []
        values = iter(trial.values)
        for operand in trial.example.operands:
            narrow = single and operand.type.dtype == np.float64
            type = ArrayType(operand.type.shape, np.float32) if narrow else operand.type
            value = operand.literal if operand.literal is not None else next(values)
            operands.append(np.asarray(value, type.dtype) if operand.literal is None else type.dtype.type(value))
            types.append(type)
        inferred = trial.inferred(types)
        found = [ArrayType(result.shape, result.dtype) for result in trial.results(operands)]
        if inferred != found:
            raise Wrong(f"{trial.where()}: inferred type", found, inferred)
    return "tested"


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
    """A composite's definition in terms of other ops has the meaning of its NumPy function."""
    if trial.op.kind != "composite":
        return None
    expected = trial.evaluator.run(trial.program, trial.inputs)
    got = trial.evaluator.run(lower(trial.program), trial.inputs)
    how = _decided(f"{trial.where()}: lowering", expected, got, trial)
    values = trial.results(_operands(trial, trial.values))
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
    expected = trial.evaluator.run(program, inputs)
    count = len(expected)
    if trial.op.exempt:
        expected = [np.full(result.shape, sympy.Integer(0), object) for result in expected]
    for k in range(order):
        program = jvp(program)
        tangents = trial.directions("tuv"[k], program.in_types[len(inputs) :])
        expected = [derivative(result, floats, tangents) for result in expected]
        inputs, floats = [*inputs, *tangents], [*floats, *tangents]
    got = trial.evaluator.run(program, inputs)[-count:]
    how = _decided(f"{trial.where()}: derivative of order {order}", expected, got, trial)
    return "exempt" if trial.op.exempt else how


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
    cotangents = trial.directions("w", trial.program.out_types)
    pushed = trial.evaluator.run(forward, [*trial.inputs, *tangents])[len(cotangents) :]
    pulled = trial.evaluator.run(reverse, [*trial.inputs, *cotangents])[len(cotangents) :]
    how = _adjoint(trial, "the derivative", pushed, pulled, tangents, cotangents)
    vjp(forward)  # the tangent program is itself differentiable in reverse
    for chosen in _linear_groups(trial):
        found = _transpose_alone(trial, chosen)
        how = found if found == "numeric" else how
    return "exempt" if trial.op.exempt else how


def _pullback(trial: Trial) -> How:
    """The cotangents are SymPy's derivatives of ⟨w, y⟩, and so are theirs, for an op without a forward mode."""
    cotangents = trial.directions("w", trial.program.out_types)
    out = trial.evaluator.run(trial.program, trial.inputs)
    total = np.asarray(_inner(cotangents, out), object)
    pulled = trial.evaluator.run(vjp(trial.program), [*trial.inputs, *cotangents])[1:]
    how: How = "proved"
    for x, found in zip(_floats(trial), pulled, strict=True):
        expected = np.empty(x.shape, object)
        for index in np.ndindex(x.shape):
            expected[index] = sympy.diff(total[()], x[index])
        if decide(f"{trial.where()}: pullback", expected, found, trial.symbols) == "numeric":
            how = "numeric"
    return how


def _linear_groups(trial: Trial) -> list[tuple[int, ...]]:
    """Return the sets of operands in which the op is claimed to be jointly linear."""
    op, count = trial.case.through or trial.op, len(trial.program.inputs)
    if op.transpose is None or op.kind == "composite":
        return []
    positions = [i for i in range(count) if op.is_linear_in(i) and trial.program.in_types[i].is_float]
    return [tuple(positions)] if op.kind == "linear" else [(i,) for i in positions]


def _transpose_alone(trial: Trial, chosen: tuple[int, ...]) -> How:
    linear = [i in chosen for i in range(len(trial.inputs))]
    backward = transpose(trial.program, linear)
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
    total = sympy.Integer(0)
    for x, y in zip(xs, ys, strict=True):
        if x.shape != y.shape:
            raise Wrong("shape of a cotangent", y.shape, x.shape)
        total = sum((a * b for a, b in zip(x.flat, y.flat, strict=True)), total)
    return total


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
    left = sum(float(np.sum(w * y)) for w, y in zip(cotangents, out, strict=True))
    chosen = [x for x, on in zip(arrays, linear, strict=True) if on]
    right = sum(float(np.sum(x * y)) for x, y in zip(chosen, pulled, strict=True))
    if left != right:
        raise Wrong(f"{trial.where()}: adjoint identity on integers", left, right)


# -- axes --------------------------------------------------------------------------------------------------------------


def _operands(trial: Trial, arrays: Sequence[Any]) -> list[Any]:
    rest = iter(arrays)
    return [np.full(o.type.shape, o.literal) if o.literal is not None else next(rest) for o in trial.example.operands]


def _variant(trial: Trial, count: int) -> list[list[Any]]:
    """Return copies of the inputs with their elements in other orders."""
    return [[_shuffled(trial, x) for x in trial.values] for _ in range(count)]


def _shuffled(trial: Trial, x: Any) -> Any:
    flat = list(np.asarray(x).flat)
    for i in range(len(flat) - 1, 0, -1):
        j = trial.choose.integer(0, i)
        flat[i], flat[j] = flat[j], flat[i]
    if np.asarray(x).dtype.kind == "f":
        scale = trial.choose.among((1.0, 0.5, 0.75))
        flat = [value * scale for value in flat]
    return np.array(flat, x.dtype).reshape(np.shape(x))


@np.errstate(all="ignore")  # scaled values may lie outside of an op's domain
def check_batching(trial: Trial) -> How | None:
    """Batching any choice of operands gives what a loop over the batch gives."""
    count = len(trial.program.inputs)
    if not count:
        return None
    size = 3
    variants = _variant(trial, size)
    for flags in itertools.product((False, True), repeat=min(count, 3)):
        if not any(flags):
            continue
        flags = (*flags, *[False] * (count - len(flags)))
        rows = [[v[i] if flags[i] else trial.values[i] for i in range(count)] for v in variants]
        loop = [trial.results(_operands(trial, row)) for row in rows]
        stacked = [np.stack([v[i] for v in variants]) if flags[i] else trial.values[i] for i in range(count)]
        found = run_floats(vmap(trial.program, flags, size), stacked)
        for expected, got in zip(zip(*loop, strict=True), found, strict=True):
            close(f"{trial.where()}: batched operands {list(flags)} against a loop", np.stack(expected), got, trial)
    return "tested"


@np.errstate(all="ignore")  # so may coarse values
def check_axis_map(trial: Trial) -> How | None:
    """Along axes of equal labels the op does the same at every index, and mixes no two indices."""
    if trial.op.axes is None:
        return None
    operands = _operands(trial, trial.values)
    _axis_map(trial, operands)
    _axis_map(trial, [_coarse(trial, x) for x in operands])
    return "tested"


def _coarse(trial: Trial, x: Any) -> Any:
    """Return an array with many equal elements, to see what comparisons depend on."""
    if x.dtype.kind != "f":
        return x
    return np.array([trial.choose.among((0.5, 1.0)) for _ in range(x.size)], x.dtype).reshape(x.shape)


def _axis_map(trial: Trial, operands: Sequence[Any]) -> None:
    op, params = trial.op, trial.example.params
    assert op.axes is not None
    types = [operand.type for operand in trial.example.operands]
    inner, outer = op.axes(*types, **params)
    out = np.asarray(op.numpy(*operands, **params))
    if len(inner) != len(types) or any(len(labels) != type.ndim for labels, type in zip(inner, types, strict=True)):
        raise Wrong(f"{trial.where()}: axis map", "a label for each axis of each operand", inner)
    if len(outer) != out.ndim:
        raise Wrong(f"{trial.where()}: axis map", f"{out.ndim} labels of the result", outer)
    if op.pointwise and any(label is None for labels in (*inner, outer) for label in labels):
        raise Wrong(f"{trial.where()}: axis map of a pointwise op", "a label everywhere", (inner, outer))
    for axis, label in enumerate(outer):
        if label is not None:
            _one_label(trial, operands, inner, label, axis, out)
    stray = {label for labels in inner for label in labels} - set(outer)
    if stray - {None}:
        raise Wrong(f"{trial.where()}: axis map", "labels of operands that the result has, or None", stray)


def _one_label(trial: Trial, operands: Sequence[Any], inner: Any, label: Any, axis: int, out: Any) -> None:
    op, params = trial.op, trial.example.params
    n = out.shape[axis]
    places = [[i for i, found in enumerate(labels) if found == label] for labels in inner]
    for x, axes in zip(operands, places, strict=True):
        if len(axes) > 1 or any(np.shape(x)[i] != n for i in axes):
            raise Wrong(f"{trial.where()}: axis map, label {label!r}", f"one axis of length {n}", np.shape(x))
    order = np.roll(np.arange(n), 1)
    moved = [np.take(x, order, axes[0]) if axes else x for x, axes in zip(operands, places, strict=True)]
    what = f"{trial.where()}: the same op at every index of label {label!r}"
    close(what, np.take(out, order, axis), np.asarray(op.numpy(*moved, **params)), trial)
    others = [_shuffled(trial, x) if axes else x for x, axes in zip(operands, places, strict=True)]
    for index in range(n):
        kept = []
        for x, other, axes in zip(operands, others, places, strict=True):
            if axes:
                other = other.copy()
                chosen = tuple([index if i == axes[0] else slice(None) for i in range(other.ndim)])
                other[chosen] = np.asarray(x)[chosen]
            kept.append(other)
        what = f"{trial.where()}: index {index} of label {label!r} depends on that index only"
        close(what, np.take(out, index, axis), np.take(np.asarray(op.numpy(*kept, **params)), index, axis), trial)


def close(what: str, expected: Any, got: Any, trial: Trial | None = None, tolerance: float = 1e-10) -> None:
    """Compare arrays of floats (NaN equals NaN)."""
    expected, got = np.asarray(expected), np.asarray(got)
    inputs = {f"input {i}": x.tolist() for i, x in enumerate(trial.values)} if trial is not None else None
    if expected.shape != got.shape:
        raise Wrong(what, f"shape {expected.shape}", f"shape {got.shape}", inputs)
    if expected.dtype.kind != "f":
        if not np.array_equal(expected, got):
            raise Wrong(what, expected.tolist(), got.tolist(), inputs)
        return
    scale = float(np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected)))
    tolerance = max(tolerance, 1e-4 if np.float32 in (expected.dtype, got.dtype) else 0.0)
    if not np.allclose(got, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        raise Wrong(what, expected.tolist(), got.tolist(), inputs)


CHECKS: tuple[tuple[str, Check], ...] = (
    ("type", check_type),
    ("meaning", check_meaning),
    ("lowering", check_lowering),
    ("JVP", check_jvp),
    ("JVP of JVP", check_second_jvp),
    ("transpose", check_transpose),
    ("batching", check_batching),
    ("axis map", check_axis_map),
)
"""What is checked of every record, in the order of the table."""
