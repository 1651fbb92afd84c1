"""The law of Fourier transforms of sums in which a term was transformed back: that term takes no transform at all.

F(F⁻¹(z) − b) is z − F(b): of a misfit whose model is a product in Fourier space, the gradient takes one transform less,
and two where F(b) is known. It is applied where nothing else uses the term, the sum, and what lies between; so each
time there is a transform less. Numbers that are the same along the axes stay outside. Like the law of transforms that
undo each other it is a finite one: a NaN in z stays in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT, LOCAL
from primad.ir.node import LITERAL, Node, literal_value
from primad.ir.program import Program
from primad.ops.arrays.frequency_pairs import hermitian_ends
from primad.ops.record.primitive import apply
from primad.transforms.lowering import lower, rewritten

Mapping = dict[Node, Node]
Build = Callable[[Mapping], Node]
"""Builds the transform of a value on what stands for the nodes of a program."""
_OPS = {1: ops.add, -1: ops.sub}
MOST_TERMS = 32
"""Values of a sum that are looked at. Chosen: misfits have two or three."""


def transform_terms(program: Program) -> Program:
    """Return the program with transforms of sums as sums of transforms, where some of those undo others.

    Args:
        program: a lowered program.
    """
    if LOCAL in LEFT_OUT.get():
        return program
    while True:
        uses = Counter([*program.outputs, *[operand for node in program.nodes for operand in node.inputs]])
        found = {node: _Sum(node, uses).build(node.inputs[0]) for node in program.nodes if _axes(node)}
        chosen = {node: build for node, build in found.items() if build is not None}
        if not chosen:
            return lower(program)
        program = _built(program, chosen)


def _built(program: Program, chosen: dict[Node, Build]) -> Program:
    return rewritten(program, lambda node, mapping, _: chosen[node](mapping) if node in chosen else None, copy=True)


def _axes(node: Node) -> tuple[int, ...]:
    """Return the axes of a transform that another one can undo; none of other nodes."""
    if node.op is ops.fft:
        return tuple(dict(node.params)["axes"])
    return (dict(node.params)["axis"],) if node.op is ops.rfft or node.op is ops.irfft else ()


class _Sum:
    """What a transform is taken of, divided into what is undone by it and the rest.

    Args:
        transform: the application.
        uses: how often each value of the program is used.
    """

    def __init__(self, transform: Node, uses: Counter[Node]) -> None:
        self.transform, self.uses, self.left = transform, uses, MOST_TERMS
        self.axes = _axes(transform)

    def build(self, x: Node) -> Build | None:
        """Return what builds the transform of a value; None where no part of it is undone.

        Factors of the whole stay outside; within, so that the rest is transformed once, it is added up first.
        """
        factor = self._factor(x)
        if factor is not None and self.left > 0:
            self.left -= 1
            part = self.build(x.inputs[factor])
            return None if part is None else self._multiple(x, factor, part)
        undone, rest = self._divided(x)
        if undone is None or rest is None:
            return undone
        return lambda mapping: _added([(1, undone(mapping)), (1, self._of(rest(mapping)))])

    def _divided(self, x: Node) -> tuple[Build | None, Build | None]:
        """Return what builds the transform of all parts that are undone, and what builds the others, untransformed."""
        self.left -= 1
        if self.uses[x] == 1 and self.left >= 0:
            if self._is_undone(x):
                return lambda mapping: self._of(mapping[x]), None
            factor = self._factor(x)
            if factor is not None:
                undone, rest = self._divided(x.inputs[factor])
                if undone is not None:
                    return self._multiple(x, factor, undone), rest and self._multiple(x, factor, rest)
            if x.op is ops.add or x.op is ops.sub or x.op is ops.neg:
                terms = [(sign, *self._divided(term)) for sign, term in self._terms(x)]
                return _sum_of([(sign, part) for sign, part, _ in terms]), _sum_of([(sign, r) for sign, _, r in terms])
        return None, lambda mapping: mapping.get(x, x)

    def _of(self, new: Node) -> Node:
        return apply(new.trace, self.transform.op, new, **dict(self.transform.params))

    def _is_undone(self, x: Node) -> bool:
        params = dict(self.transform.params)
        if self.transform.op is ops.rfft:
            return x.op is ops.irfft and dict(x.params)["axis"] == params["axis"]
        if self.transform.op is ops.irfft:
            same = x.op is ops.rfft and dict(x.params)["axis"] == params["axis"]
            return same and x.inputs[0].type.shape[params["axis"]] == params["n"]
        if x.op is hermitian_ends and dict(x.params)["axis"] not in self.axes:
            (x,) = x.inputs
        if x.op is not ops.fft or self.uses[x] > 1:
            return False
        given = dict(x.params)
        return given["inverse"] != params["inverse"] and {*self.axes} <= {*given["axes"]}

    def _terms(self, x: Node) -> list[tuple[int, Node]]:
        """Return the terms of a sum with their signs; the sums among them that are used elsewhere are terms."""
        found, waiting = [], [(1, x)]
        while waiting:
            sign, node = waiting.pop()
            if self.left < 0 or self.uses[node] > 1 or node.op not in (ops.add, ops.sub, ops.neg):
                found.append((sign, node))
                continue
            self.left -= 1
            last = sign if node.op is ops.add else -sign
            waiting += [(last, node.inputs[-1]), *[(sign, first) for first in node.inputs[:-1]]]
        return found

    def _factor(self, x: Node) -> int | None:
        """Return which operand of a multiple, used nowhere else, is multiplied by a number."""
        if self.uses[x] > 1:
            return None
        places = {ops.mul: (0, 1), ops.div: (0,)}.get(x.op, ())
        return next((place for place in places if self._is_number(x.inputs[1 - place])), None)

    def _is_number(self, x: Node) -> bool:
        """Say whether a factor is the same along the axes of the transform, and real where its result is."""
        if x.op is LITERAL:
            return self.transform.type.is_complex or not literal_value(x).imag
        if x.op is not ops.broadcast or not {*self.axes} <= {*dict(x.params)["axes"]}:
            return False
        return self.transform.type.is_complex or _is_real(x.inputs[0])

    def _multiple(self, x: Node, place: int, part: Build) -> Build:
        """Return what builds the multiple of a part, by the number of a product or a quotient."""
        number = x.inputs[1 - place]

        def build(mapping: Mapping) -> Node:
            found = part(mapping)
            operands = [found, _spread(mapping.get(number, number), found)]
            return apply(found.trace, x.op, *operands[:: 1 if place == 0 else -1])

        return build


def _sum_of(terms: Sequence[tuple[int, Build | None]]) -> Build | None:
    """Return what builds the sum of those terms that there are."""
    known = [(sign, build) for sign, build in terms if build is not None]
    return (lambda mapping: _added([(sign, build(mapping)) for sign, build in known])) if known else None


def _is_real(x: Node) -> bool:
    return x.op is ops.cast and not x.inputs[0].type.is_complex


def _spread(number: Node, like: Node) -> Node:
    """Return a factor of a value as one of its transform, which has another type."""
    type: ArrayType = like.type
    if number.op is LITERAL:
        value = literal_value(number)
        return like.trace.literal(value if type.is_complex else value.real, type)
    inner = number.inputs[0] if type.is_complex or not number.type.is_complex else number.inputs[0].inputs[0]
    inner = apply(like.trace, ops.cast, inner, dtype=str(type.dtype))
    return apply(like.trace, ops.broadcast, inner, shape=type.shape, axes=dict(number.params)["axes"])


def _added(terms: Sequence[tuple[int, Node]]) -> Node:
    """Return the sum of terms with signs, of which the first that is added comes first."""
    (sign, total), *others = sorted(terms, key=lambda term: -term[0])
    if sign < 0:
        total = apply(total.trace, ops.neg, total)
    for sign, term in others:
        total = apply(term.trace, _OPS[sign], total, term)
    return total
