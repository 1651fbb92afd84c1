"""Operands in every form that laws look for, and the laws that an op of them may meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import LITERAL, Node, literal_value
from primad.ops.arrays.frequency_pairs import hermitian_ends, weigh_pairs
from primad.ops.record.fields import LawClass, Rewrite
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray
from primad.verify.cases.drawn_cases import Choices
from primad.verify.checks.trial import Trial

FILLS = (0.0, 1.0, -1.0, 2.0)
FACTORS = (np.inf, -np.inf, np.nan, -2.0, 0.5)
"""Further literals and factors, on the other side of what guards of laws ask: of each sign, and no numbers."""
WHOLE_FACTORS = (-2, 2**62, -(2**63))
"""The same for integers, which wrap."""
EXTREME_FACTORS = (1e308, -1e308, 1e200, 1e-200, 1e-300)
"""Factors of which sums and products overflow, or vanish."""
FAMILIES: dict[Any, LawClass] = {ops.broadcast: "bitwise", ops.neg: "real", ops.mask: "finite"}
"""What families of laws promise, by the op that they keep outermost."""


def rewriters(op: Primitive, nodes: Sequence[Node]) -> list[tuple[str, LawClass, Rewrite]]:
    """Return the laws of an op that could be applied to operands, and what each promises."""
    over = any(node.type.is_complex for node in nodes)
    promised = [(law, law.complex if over else law.holds) for law in op.laws.own]
    found = [(law.name, held, law.rewrite) for law, held in promised if law.rewrite is not None and held is not None]
    families = op.families([node.op for node in nodes])
    return [*found, *[(f"{x.name} is outside", FAMILIES[x], rewrite) for x, rewrite in families.items()]]


def others(values: Sequence[Any]) -> list[Any]:
    """Return arrays of the same types, with other floats."""
    return [x if x.dtype.kind not in "fc" else (x * 0.5 + 0.25).astype(x.dtype) for x in values]


def traced(value: Any, arrays: Sequence[Any]) -> Any:
    """Return a form as a traced array; a number fills one of the type of the first array."""
    if isinstance(value, TracedArray):
        return value
    return TracedArray(arrays[0].node.trace.literal(value, arrays[0].type))


def described(node: Node) -> str:
    """Say which form an operand has."""
    inner = ", ".join(str(operand.op.name) for operand in node.inputs)
    params = "".join(f" {name}={value}" for name, value in node.params)
    return f"{node.op.name}{params}({inner})"


def may_overflow(nodes: Sequence[Node]) -> bool:
    """Say whether a factor of which products overflow is among operands, or what they are made of."""
    found = [x for node in nodes for x in (node, *node.inputs) if x.op is LITERAL]
    return any(literal_value(x) in EXTREME_FACTORS for x in found)


def combined(choose: Choices, forms: Sequence[Sequence[Any]], most: int) -> Iterable[list[Any]]:
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


def forms_of(trial: Trial, arrays: Sequence[Any], refused: bool = False) -> list[list[Any]]:
    """Return for each operand of an example the forms that it is tried in.

    Args:
        trial: the example.
        arrays: traced arrays of the types of the inputs, and as many others.
        refused: whether forms that laws refuse are among them.
    """
    half = len(trial.values)
    found: list[list[Any]] = []
    position = 0
    for operand in trial.example.operands:
        if operand.literal is not None:
            found.append([operand.literal])
            continue
        x, z = arrays[position], arrays[half + position]
        first = next(i for i in range(half) if arrays[i].type == x.type)
        both = arrays[first], arrays[half + first]
        if operand.array is not None and x.dtype.kind != "b":
            found.append([x])  # indices, of which other forms might be out of range
        else:
            found.append(_forms(x, z, *both))
            found[-1] += _transformed(trial, x, z) if x.dtype.kind in "fc" else []
            if refused and x.dtype.kind != "b":
                found[-1] += _refused(x, z, *both, trial.op.axes.pointwise)
        position += 1
    return found


def _forms(x: Any, z: Any, first: Any, second: Any) -> list[Any]:
    """Return arrays of the type of x in the forms that laws look for.

    Args:
        x: an array of this operand's type.
        z: another.
        first: the `x` of the first operand of its type, for laws about operands that have something in common.
        second: the `z` of that operand.
    """
    kind, fill = x.dtype.kind, _literals(x, FILLS if x.dtype.kind != "b" else (0, 1))
    if kind == "b":
        return [x, *fill, ops.logical_not(x)]
    below, twice, thrice = _below(x, z), fill[3], *_literals(x, (3.0,))
    forms = [
        x, z, *fill, *_literals(x, (-0.0,)), ops.neg(x), ops.neg(z), ops.mul(twice, x), ops.mul(x, thrice),
        ops.sub(x, z), ops.mask(below, x), ops.mask(below, z), ops.mask(below, ops.mask(below, x)),
    ]  # fmt: skip
    if kind in "fc":
        forms += [ops.div(x, z), ops.div(z, z)]
    if kind == "c":
        forms += [*_literals(x, (1j, complex(1.0, -0.0))), *_of_parts(x, z)]
    if x.type == first.type and x is not first:
        forms += [first, ops.mul(twice, first), ops.mask(_below(first, second), x), ops.neg(first)]
        forms += [ops.div(x, second)] if kind in "fc" else []
    return [*forms, *_moved(x, z), *[form for axis in range(x.ndim) for form in _along(x, z, first, axis)]]


def _below(x: Any, z: Any) -> Any:
    """Return where x is below z; of complex numbers, where their real parts are."""
    return ops.less(ops.real_part(x), ops.real_part(z)) if x.dtype.kind == "c" else ops.less(x, z)


def _of_parts(x: Any, z: Any) -> list[Any]:
    """Return complex numbers that are made of parts, and of real ones."""
    part, other = ops.real_part(x), ops.imaginary_part(z)
    forms = [ops.conj(x), ops.complex_of(part, other), ops.conj(ops.complex_of(part, other))]
    if x.ndim and x.size:
        forms.append(ops.flip(ops.fft(x, axes=(0,), inverse=False, norm="ortho"), axes=(0,)))
    return [*forms, ops.cast(part, dtype=str(x.dtype))]


def _transformed(trial: Trial, x: Any, z: Any) -> list[Any]:
    """Return transforms along the axes of an example, if laws of its op look for them, and conjugates of products."""
    names = {name for law in trial.op.laws.own for name in law.at or ()}
    params = trial.example.params
    forms = [ops.conj(ops.mul(ops.conj(x), z))] if "conj" in names else []
    if "fft" in names:
        norms = ("forward", "ortho")
        forms += [ops.fft(x, **{**params, "inverse": back, "norm": norm}) for back in (False, True) for norm in norms]
    if "rfft" in names:
        back = ops.irfft(x, axis=params["axis"], n=params["n"], norm="backward")
        forms.append(ops.rfft(ops.mul(back, back), axis=params["axis"], norm="ortho"))
    lengths = [(axis, n) for axis in range(x.ndim) for n in (2 * x.shape[axis] - 2, 2 * x.shape[axis] - 1) if n]
    if "weigh_pairs" in names:
        forms += [weigh_pairs(x, axis=axis, n=n, factor=2.0) for axis, n in lengths]
    if "hermitian_ends" in names:
        for axis, n in lengths:
            others = tuple([i for i in range(x.ndim) if i != axis])
            forms += [hermitian_ends(x, axis=axis, n=n, axes=axes) for axes in dict.fromkeys(((), others))]
    if "irfft" in names:
        half, n = ops.conj(ops.rfft(x, axis=params["axis"], norm="ortho")), x.shape[params["axis"]]
        forms += [ops.irfft(half, axis=params["axis"], n=n, norm=norm) for norm in ("ortho", "forward")]
    return forms


def _literals(x: Any, values: Sequence[complex]) -> list[Any]:
    """Return arrays of the type of x that are filled with one number."""
    return [TracedArray(x.node.trace.literal(value, x.type)) for value in values]


def _moved(x: Any, z: Any) -> list[Any]:
    """Return forms whose elements stand elsewhere, all together, or are products or sums of others."""
    ndim, shape = x.ndim, x.shape
    ones = (1,) * ndim
    pair = [ops.reshape(value, shape=(1, *shape)) for value in (x, z)]
    forms = [ops.sum(ops.concatenate(*pair, axis=0), axes=(0,))]
    if ndim:
        order, flat = tuple(reversed(range(ndim))), ops.reshape(x, shape=(x.size,))
        wide = ops.pad(x, low=ones, high=ones, interior=(0,) * ndim)
        forms += [
            ops.reshape(ops.flip(flat, axes=(0,)), shape=shape),
            ops.permute(ops.permute(x, order=order), order=order),
            ops.permute(ops.reshape(x, shape=shape[::-1]), order=order),
            ops.flip(x, axes=tuple(range(ndim))),
            ops.slice_(wide, start=ones, stop=tuple(n + 1 for n in shape), step=ones),
        ]
    if ndim and x.size:
        top, bottom = _among_zeros(x, 0, 1), _among_zeros(z, 1, shape[0])
        forms += [top, ops.add(z, top), bottom]
    if ndim == 2 and x.size:
        column, row = _first(x, 1), _first(z, 0)
        forms.append(ops.contract(column, row, labels="a,b->ab"))
    if ndim == 2 and x.size and shape[0] == shape[1]:
        identity = TracedArray(x.node.trace.build(ops.eye, (), (("dtype", str(x.dtype)), ("n", shape[0]))))
        one = ops.broadcast(_first(_first(x, 0), 0), shape=shape, axes=(0, 1))
        forms += [
            identity,
            ops.mul(ops.broadcast(_first(x, 0), shape=shape, axes=(0,)), identity),
            ops.mul(one, identity),
        ]
    return forms


def _along(x: Any, z: Any, first: Any, axis: int) -> list[Any]:
    """Return forms that are made of others along an axis."""
    ndim, n, shape = x.ndim, x.shape[axis], x.shape
    forms = [ops.broadcast(_first(x, axis), shape=shape, axes=(axis,)), ops.flip(x, axes=(axis,))]
    if x.type == first.type and x.dtype.kind in "fc":
        forms += [_part_of_common(first, axis, 0 if x is first else n, step) for step in (1, 2)]
    if n > 1:
        head = ops.slice_(x, start=(0,) * ndim, stop=_replaced(shape, axis, 1), step=(1,) * ndim)
        tail = ops.slice_(z, start=_replaced((0,) * ndim, axis, 1), stop=shape, step=(1,) * ndim)
        forms.append(ops.concatenate(head, tail, axis=axis))
    return forms


def _first(x: Any, axis: int) -> Any:
    """Return what stands at the first index of an axis; of an axis without any, infinities."""
    if not x.shape[axis]:
        total = ops.sum(x, axes=(axis,))
        return ops.log(total) if x.dtype.kind in "fc" else total
    row = ops.slice_(x, start=(0,) * x.ndim, stop=_replaced(x.shape, axis, 1), step=(1,) * x.ndim)
    return ops.reshape(row, shape=x.shape[:axis] + x.shape[axis + 1 :])


def _part_of_common(first: Any, axis: int, begin: int, step: int) -> Any:
    """Return a part of an array that is three times as long, along an axis from an index on."""
    none, n = (0,) * first.ndim, first.shape[axis]
    common = ops.exp(ops.pad(first, low=none, high=_replaced(none, axis, 2 * n), interior=none))
    stop = _replaced(first.shape, axis, min(begin + step * n, 3 * n))
    return ops.slice_(
        common, start=_replaced(none, axis, begin), stop=stop, step=_replaced((1,) * first.ndim, axis, step)
    )


def _among_zeros(x: Any, start: int, stop: int, axis: int = 0) -> Any:
    """Return what stands between two indices of an axis of an array, with zeros in place of the rest."""
    low, high = [0] * x.ndim, [0] * x.ndim
    low[axis], high[axis] = start, x.shape[axis] - stop
    end = [n - b for n, b in zip(x.shape, high, strict=True)]
    part = ops.slice_(x, start=tuple(low), stop=tuple(end), step=(1,) * x.ndim)
    return ops.pad(part, low=tuple(low), high=tuple(high), interior=(0,) * x.ndim)


def _refused(x: Any, z: Any, first: Any, second: Any, pointwise: bool) -> list[Any]:
    """Return further forms, on the other side of what the guards of laws ask; see `_forms`.

    Factors that overflow are for pointwise ops: in sums the order of terms decides whether they do.
    """
    literals = _literals(x, FACTORS if x.dtype.kind in "fc" else WHOLE_FACTORS)
    literals += _literals(x, EXTREME_FACTORS) if pointwise and x.dtype.kind in "fc" else []
    found = [*literals, *[ops.mul(literal, x) for literal in literals]]
    if x.type == first.type:
        found += [ops.mul(literal, first) for literal in literals]
        found += [ops.sub(second, first), ops.mask(_below(second, first), x)]
    for axis in range(x.ndim):
        n, none = x.shape[axis], (0,) * x.ndim
        found += [_among_zeros(y, a, n, axis) for y, a in ((x, n // 2), (z, max(0, n - 1)), (z, n))]
        found.append(ops.broadcast(ops.neg(_first(z, axis)), shape=x.shape, axes=(axis,)))
        if n % 2 and n > 1:
            every_other = ops.slice_(z, start=none, stop=x.shape, step=_replaced((1,) * x.ndim, axis, 2))
            found.append(ops.pad(every_other, low=none, high=none, interior=_replaced(none, axis, 1)))
    return found


def _replaced(entries: tuple[int, ...], axis: int, entry: int) -> tuple[int, ...]:
    return (*entries[:axis], entry, *entries[axis + 1 :])
