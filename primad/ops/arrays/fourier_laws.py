"""How Fourier transforms are simplified: pairs that undo each other, and transforms of which a half says all.

The transform of real numbers is Hermitian, h(−k) is the conjugate of h(k), and so are products, sums and conjugates of
such. What is transformed to real numbers needs the first half only, which transforms of real numbers compute and take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from types import MappingProxyType
from typing import Any

from primad.ir.array_types import ArrayType, real_dtype
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ops.arrays.broadcasting import broadcast
from primad.ops.arrays.frequency_pairs import hermitian_ends, weigh_pairs
from primad.ops.arrays.reshaping import flip
from primad.ops.arrays.slicing import concatenate, slice_
from primad.ops.elementwise.arithmetic import add, mul, neg, sub
from primad.ops.elementwise.conversion import cast, complex_of, conj, imaginary_part, real_part
from primad.ops.elementwise.division import div
from primad.ops.elementwise.elementary import exp
from primad.ops.elementwise.plane import hypot
from primad.ops.record.primitive import Primitive, apply

Inputs = tuple[Node, ...]
Params = dict[str, Any]
Rewrite = Callable[[Trace, Inputs, Params], Node | None]
Question = tuple[Any, ...]
"""What `Halves` is asked: one of its methods, and the arguments."""
Asking = Generator[Question, Any, Any]
"""Answers a question by others: yields these, is sent their answers, and returns its own."""
Later = Callable[[], Primitive]
"""A transform, whose record holds the laws about it."""
SWAPPED = MappingProxyType({"backward": "forward", "ortho": "ortho", "forward": "backward"})
"""The name of the scale that the transform there has in that direction, for the transform back."""
_POWERS = MappingProxyType({"backward": 0.0, "ortho": -0.5, "forward": -1.0})
"""Of the number of elements: the scale of a transform there."""


def _scaled(trace: Trace, x: Node, count: int, power: float) -> Node:
    """Multiply by a power of a number of elements."""
    return x if power == 0 or count == 1 else apply(trace, mul, x, trace.literal(float(count) ** power, x.type))


# -- there and back ----------------------------------------------------------------------------------------------------


def undone(fft: Later) -> Rewrite:
    """Make the constructor form of a transform of what was transformed the other way."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        if z.op is not fft():
            return None
        given = dict(z.params)
        common = [axis for axis in params["axes"] if axis in given["axes"]]
        if not common or given["inverse"] == params["inverse"]:
            return None
        (x,) = z.inputs
        for each in (given, params):
            axes = tuple([axis for axis in each["axes"] if axis not in common])
            x = apply(trace, fft(), x, **{**each, "axes": axes}) if axes else x
        powers = [_POWERS[SWAPPED[each["norm"]] if each["inverse"] else each["norm"]] for each in (given, params)]
        return _scaled(trace, x, math.prod([z.type.shape[axis] for axis in common]), 1 + sum(powers))

    return rewrite


def conjugate_outside(fft: Later) -> Rewrite:
    """Make the constructor form of a transform of conjugates: the conjugates of that the other way."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        return apply(trace, conj, _back(fft(), trace, z.inputs[0], params)) if z.op is conj else None

    return rewrite


def weights_outside(fft: Later) -> Rewrite:
    """Make the constructor form of a transform of weighted frequencies along another axis."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        if z.op is not weigh_pairs or (given := dict(z.params))["axis"] in params["axes"]:
            return None
        return apply(trace, weigh_pairs, apply(trace, fft(), z.inputs[0], **params), **given)

    return rewrite


def ends_outside(fft: Later) -> Rewrite:
    """Make the constructor form of a transform, along other axes, of what has Hermitian ends.

    Along an axis where k is turned to −k it is no more: the transform of a conjugate is the conjugate at −k.
    """

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        if z.op is not hermitian_ends or (given := dict(z.params))["axis"] in params["axes"]:
            return None
        turned = tuple(sorted({*given["axes"]} ^ {*params["axes"]}))
        return apply(trace, hermitian_ends, apply(trace, fft(), z.inputs[0], **params), **{**given, "axes": turned})

    return rewrite


def _back(fft: Primitive, trace: Trace, z: Node, params: Params) -> Node:
    """Transform the other way: of conjugates it is the conjugate."""
    turned = {"inverse": not params["inverse"], "norm": SWAPPED[params["norm"]]}
    return apply(trace, fft, z, **{**params, **turned})


def real_undone(rfft: Later) -> Rewrite:
    """Make the constructor form of real numbers from their transform."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        if z.op is not rfft() or (given := dict(z.params))["axis"] != params["axis"]:
            return None
        (x,) = z.inputs
        if x.type.shape[params["axis"]] != params["n"]:
            return None
        return _scaled(trace, x, params["n"], 1 + _POWERS[given["norm"]] + _POWERS[SWAPPED[params["norm"]]])

    return rewrite


def half_undone(irfft: Later) -> Rewrite:
    """Make the constructor form of the transform of real numbers that were transformed to: what these were read of."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (x,) = inputs
        if x.op is not irfft() or (given := dict(x.params))["axis"] != params["axis"]:
            return None
        z = apply(trace, hermitian_ends, x.inputs[0], axis=given["axis"], n=given["n"], axes=())
        return _scaled(trace, z, given["n"], 1 + _POWERS[params["norm"]] + _POWERS[SWAPPED[given["norm"]]])

    return rewrite


def ends_as_read(irfft: Later) -> Rewrite:
    """Make the constructor form of a transform to real numbers, which reads the real part of each end."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        if z.op is not hermitian_ends or dict(z.params) != {"axis": params["axis"], "n": params["n"], "axes": ()}:
            return None
        return apply(trace, irfft(), z.inputs[0], **params)

    return rewrite


def turned_factors(fft: Later, irfft: Later) -> Rewrite:
    """Make the constructor form of what is transformed to real numbers, where the sign of a zero says nothing."""

    def turned(trace: Trace, z: Node) -> Node | None:
        """Return the conjugate of a product with a conjugate, or of its transform."""
        if z.op is mul and any(x.op is conj for x in z.inputs):
            return apply(trace, mul, *[apply(trace, conj, x) for x in z.inputs])
        inner = turned(trace, z.inputs[0]) if z.op is fft() else None
        return None if inner is None else _back(fft(), trace, inner, dict(z.params))

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        found = turned(trace, z.inputs[0]) if z.op is conj else None
        return None if found is None else apply(trace, irfft(), found, **params)

    return rewrite


# -- halves ------------------------------------------------------------------------------------------------------------


_HERMITIAN = (mul, div, add, sub, neg, exp)
"""Functions of Hermitian numbers that are Hermitian; not those with a branch cut: √h(0) is imaginary where h(0) < 0."""
_SIGNS = MappingProxyType({mul: math.prod, div: math.prod, neg: math.prod, hypot: lambda signs: 1})
"""What is even (1) or odd (-1) of operands that are even or odd, where these need not be alike."""


class Halves:
    """The first halves, along the last of some axes, of numbers that are Hermitian along these.

    Whether a value is Hermitian is a question about its operands. Each is asked once in a trace, so that a value that
    is used twice, or transformed back after each of many steps, costs no more; and the chain of questions is a list, so
    that it may be as long as the program.

    Args:
        fft, rfft: the ops.
        trace: where they are built.
        axes: along which the transform goes, in order.
    """

    def __init__(self, fft: Primitive, rfft: Primitive, trace: Trace, axes: tuple[int, ...]) -> None:
        self._fft, self._rfft, self._trace, self._axes = fft, rfft, trace, axes
        self._known: dict[Question, Any] = trace.noted.setdefault((Halves, axes), {})

    def of(self, z: Node, turned: bool) -> Node | None:
        """Return the half of a value, or of its conjugate; None where it is not Hermitian by what it is made of."""
        found: Node | None = self._answer((Halves._of, z, turned))
        return found

    def of_part(self, z: Node, turned: bool) -> Node | None:
        """Return the half of the Hermitian part of a value, (z(k) + the conjugate of z(−k))/2, or of its conjugate's.

        Returns:
            None where no factor is Hermitian: then nothing is gained.
        """
        found: Node | None = self._answer((Halves._of_part, z, turned))
        return found

    def _answer(self, question: Question) -> Any:
        """Answer a question by what it asks in turn: a method that yields questions and returns the answer."""
        if question not in self._known:
            open_ones = [(question, question[0](self, *question[1:]))]
            answer = None
            while open_ones:
                asked, steps = open_ones[-1]
                try:
                    wanted = steps.send(answer)
                except StopIteration as end:
                    open_ones.pop()
                    answer = self._known[asked] = end.value
                    continue
                answer = self._known.get(wanted)
                if wanted not in self._known:
                    open_ones.append((wanted, wanted[0](self, *wanted[1:])))
        return self._known[question]

    def _of(self, z: Node, turned: bool) -> Asking:
        if z.op is LITERAL:
            return None if literal_value(z).imag else self._filled(z)
        if z.op is conj:
            return (yield Halves._of, z.inputs[0], not turned)
        if z.op in _HERMITIAN:
            known = yield from _all_of([(Halves._of, x, turned) for x in z.inputs])
            return None if known is None else apply(self._trace, z.op, *known)
        if z.op is broadcast and z.inputs[0].op is cast and not z.inputs[0].inputs[0].type.is_complex:
            return self._filled(z) if {*self._axes} <= {*dict(z.params)["axes"]} else None
        if z.op is cast and not z.inputs[0].type.is_complex:
            even = yield Halves._even_or_odd, z.inputs[0]
            return apply(self._trace, cast, even[0], **dict(z.params)) if even is not None and even[1] == 1 else None
        if z.op is complex_of:
            parts = yield from _all_of([(Halves._even_or_odd, x) for x in z.inputs])
            if parts is None or [sign for _, sign in parts] != [1, -1]:
                return None
            (even, _), (odd, _) = parts
            return apply(self._trace, complex_of, even, apply(self._trace, neg, odd) if turned else odd)
        return self._of_transform(z, turned) if z.op is self._fft else None

    def _of_part(self, z: Node, turned: bool) -> Asking:
        found = yield Halves._of, z, turned
        if found is not None:
            return found
        if z.op is conj:
            return (yield Halves._of_part, z.inputs[0], not turned)
        if z.op in (add, sub, neg):
            known = yield from _all_of([(Halves._of_part, x, turned) for x in z.inputs])
            return None if known is None else apply(self._trace, z.op, *known)
        if z.op is not mul:
            return None
        for x, other in (z.inputs, z.inputs[::-1]):
            factor = yield Halves._of, x, turned
            if factor is not None:
                any_numbers = isinstance(other.op, Leaf)
                part = self._of_filter(other, turned) if any_numbers else (yield Halves._of_part, other, turned)
                return None if part is None else apply(self._trace, mul, factor, part)
        return None

    def _even_or_odd(self, x: Node) -> Asking:
        """Answer with the half of real numbers, and 1 where they are even, -1 where they are odd; None for others."""
        if x.op is LITERAL or (x.op is broadcast and {*self._axes} <= {*dict(x.params)["axes"]}):
            return self._filled(x), 1
        if x.op in (real_part, imaginary_part):
            half = yield Halves._of, x.inputs[0], False
            return None if half is None else (apply(self._trace, x.op, half), 1 if x.op is real_part else -1)
        if isinstance(x.op, Leaf) or not x.op.axes.pointwise:
            return None
        known = yield from _all_of([(Halves._even_or_odd, operand) for operand in x.inputs])
        if known is None:
            return None
        signs = [sign for _, sign in known]
        expected = signs[0] if x.op in (add, sub) else 1
        if x.op not in _SIGNS and {*signs} != {expected}:
            return None
        sign = _SIGNS[x.op](signs) if x.op in _SIGNS else expected
        return apply(self._trace, x.op, *[half for half, _ in known], **dict(x.params)), sign

    def _of_filter(self, z: Node, turned: bool) -> Node:
        """Return the half of the Hermitian part of any numbers."""
        *others, last = self._axes
        mirrored = z
        for axis in others:
            mirrored = self._mirrored(mirrored, axis, z.type.shape[axis])
        count = z.type.shape[last] // 2 + 1
        kept, mirrored = self._cut(z, last, 0, count), apply(self._trace, conj, self._mirrored(mirrored, last, count))
        total = apply(self._trace, add, kept, mirrored)
        half = apply(self._trace, mul, total, self._trace.literal(0.5, total.type))
        return apply(self._trace, conj, half) if turned else half

    def _mirrored(self, z: Node, axis: int, count: int) -> Node:
        """Return what stands at −k along an axis, for the first k."""
        n = z.type.shape[axis]
        first, rest = self._cut(z, axis, 0, 1), self._cut(z, axis, n - count + 1, n)
        return apply(self._trace, concatenate, first, apply(self._trace, flip, rest, axes=(axis,)), axis=axis)

    def _cut(self, z: Node, axis: int, first: int, end: int) -> Node:
        shape = z.type.shape
        start = tuple([first if i == axis else 0 for i in range(len(shape))])
        stop = tuple([end if i == axis else n for i, n in enumerate(shape)])
        return apply(self._trace, slice_, z, start=start, stop=stop, step=(1,) * len(shape))

    def _filled(self, x: Node) -> Node:
        """Return the half of what is the same along the axes."""
        shape = list(x.type.shape)
        shape[self._axes[-1]] = shape[self._axes[-1]] // 2 + 1
        if x.op is LITERAL:
            return self._trace.literal(literal_value(x), ArrayType(tuple(shape), x.type.dtype))
        return apply(self._trace, broadcast, x.inputs[0], **{**dict(x.params), "shape": tuple(shape)})

    def _of_transform(self, z: Node, turned: bool) -> Node | None:
        """Return the half of the transform of real numbers: the inverse one is the conjugate of that with its scale."""
        params, (x,) = dict(z.params), z.inputs
        if x.op is not cast or x.inputs[0].type.is_complex or tuple(sorted(params["axes"])) != self._axes:
            return None
        inverse, norm = params["inverse"], params["norm"]
        norm = SWAPPED[norm] if inverse else norm
        found = apply(self._trace, cast, x.inputs[0], dtype=str(real_dtype(z.type.dtype)))
        found = apply(self._trace, self._rfft, found, axis=self._axes[-1], norm=norm)
        if self._axes[:-1]:
            found = apply(self._trace, self._fft, found, axes=self._axes[:-1], inverse=False, norm=norm)
        return found if inverse is turned else apply(self._trace, conj, found)


def _all_of(questions: Sequence[Question]) -> Asking:
    """Ask each, and answer with all their answers; None where one is None."""
    found = []
    for question in questions:
        found.append((yield question))
    return None if None in found else found


def to_real(fft: Later, rfft: Later, irfft: Later, filtered: bool) -> Rewrite:
    """Make the constructor form of the real part of a transform, where it is real, or a factor's is."""

    def rewrite(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
        (z,) = inputs
        given = dict(z.params)
        axes, inverse, norm = tuple(sorted(given["axes"])), given["inverse"], given["norm"]
        halves = Halves(fft(), rfft(), trace, axes)
        found = halves.of(z.inputs[0], not inverse)
        if filtered:
            found = halves.of_part(z.inputs[0], not inverse) if found is None else None
        if found is None:
            return None
        norm = norm if inverse else SWAPPED[norm]
        if axes[:-1]:
            found = apply(trace, fft(), found, axes=axes[:-1], inverse=True, norm=norm)
        return apply(trace, irfft(), found, axis=axes[-1], n=z.type.shape[axes[-1]], norm=norm)

    return rewrite
