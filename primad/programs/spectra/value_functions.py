"""Functions of eigenvalues in a program: what of it is computed from each value alone, as a program of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.axes import result_types
from primad.ir.node import LITERAL, Leaf, Node, literal_value
from primad.ir.program import ClosedProgram
from primad.ir.replay import rebuild
from primad.ops.linalg.factorization import conjugated
from primad.ops.record.primitive import full, project
from primad.programs.spectra.roles import Role, repeats_along, role_of
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import program_of

Part = slice | Node | None
"""How places of the eigenvalues are chosen: by a slice, or at indices that a node has. None: all, in order."""


class Factor(Struct, frozen=True):
    """A function of the values, at all places or at chosen ones, that vectors are scaled by; and what is made of it."""

    node: Node
    part: Part = None
    conjugate: bool = False
    inverse: bool = False


class Spectrum(Struct, frozen=True, eq=False):
    """The eigenvalues of one application, and what of a program is a function of them.

    Attributes:
        source: the application.
        behind: what depends on it.
        live: what depends on what the program will be differentiated by.
        stack: lengths of axes in front, along which functions differ and the matrices are the same.
    """

    source: Node
    behind: frozenset[Node]
    live: frozenset[Node]
    stack: tuple[int, ...] = ()

    @property
    def values(self) -> ArrayType:
        """Type of the eigenvalues."""
        one: ArrayType = result_types(self.source.type)[0]
        return ArrayType((*self.stack, *one.shape), one.dtype)

    @property
    def has_sides(self) -> bool:
        """Whether the vectors to the other side are others, conjugates of complex ones or rows of the inverse."""
        return self.lower is None or self.source.inputs[0].type.is_complex

    @property
    def lower(self) -> bool | None:
        """Whether the lower triangle of Hermitian matrices is read; None of general ones."""
        lower: bool | None = dict(self.source.params).get("lower")
        return lower

    def matrix(self, mapping: dict[Node, Node]) -> TracedArray:
        """Return what stands for the matrices."""
        return TracedArray(mapping.get(self.source.inputs[0], self.source.inputs[0]))

    def stacked(self, lengths: Sequence[int]) -> Spectrum:
        """Return the eigenvalues of a stack of the same matrices."""
        return replace(self, stack=(*lengths, *self.stack))

    def product(
        self, scale: Sequence[Factor], part: Part, mapping: dict[Node, Node]
    ) -> tuple[ClosedProgram, list[Any]] | None:
        """Return the program of a product of functions of the values, and what it takes besides.

        What has only a part of the places is a sum over all, where each counts as often as it is chosen.
        """
        if part is not None and self.lower is None:
            return None  # values of general matrices have no order
        values = self.values
        leaves = _Leaves(self, mapping)
        if not all(leaves.collect(factor.node, factor.part) for factor in scale):
            return None
        given = list(leaves.operands)
        if part is not None:
            given.append(_times_chosen(part, values, self.matrix(mapping), mapping))

        def body(w: Any, *others: Any) -> list[Any]:
            known = leaves.known(w, others)
            total = full(1.0, w)
            for factor in scale:
                x = TracedArray(known[factor.node])
                x = conjugated(x) if factor.conjugate else x
                total = _product(total, 1 / x if factor.inverse else x)
            if part is None:
                return [total]
            times = others[-1]
            return [ops.select(times > 0, _product(total, times), full(0.0, total))]

        return ClosedProgram(program_of([values, *(x.type for x in given)], body)), given


def choice(node: Node, axis: int) -> Part:
    """Return how a node chooses places of its operand along an axis, if it does this and nothing else."""
    role, params = role_of(node), dict(node.params)
    if role is Role.TAKES_RANGE:
        start, stop, step = params["start"], params["stop"], params["step"]
        others = [i for i in range(len(start)) if i != axis]
        kept = all((start[i], stop[i], step[i]) == (0, node.inputs[0].type.shape[i], 1) for i in others)
        return slice(start[axis], stop[axis], step[axis]) if kept else None
    if role is Role.TURNS_ROUND:
        return slice(None, None, -1) if tuple(params["axes"]) == (axis,) else None
    if role is Role.TAKES_PLACES:
        plain = (params["axis"], params["batch"], node.inputs[1].type.ndim) == (axis, 0, 1)
        return node.inputs[1] if plain else None
    return None


def part_of(factors: Sequence[Node], behind: frozenset[Node]) -> Part:
    """Return how functions of the values choose places of them."""
    waiting = [node for node in factors if node in behind]
    seen = set(waiting)
    for node in waiting:
        found = choice(node, node.type.ndim - 1) if node.op is not project else None
        if found is not None:
            return found
        if node.op.axes.pointwise:
            waiting += [x for x in node.inputs if x in behind and x not in seen]
            seen.update(node.inputs)
    return None


def _times_chosen(part: Any, values: ArrayType, near: Any, mapping: dict[Node, Node]) -> Any:
    """Return how often each place of the values is chosen."""
    if isinstance(part, slice):
        chosen = np.zeros(values.shape, values.dtype)
        chosen[..., part] = 1
        return TracedArray(lift(chosen, near.node.trace))
    indices = TracedArray(mapping.get(part, part))
    ones = np.ones(indices.shape, values.dtype)
    n = values.shape[-1]
    times = ops.scatter_add(TracedArray(lift(ones, near.node.trace)), indices, axis=0, batch=0, size=n)
    return ops.broadcast(times, shape=values.shape, axes=tuple(range(values.ndim - 1)))


def _product(x: Any, y: Any) -> Any:
    dtype = str(np.result_type(x.dtype, y.dtype))
    return ops.cast(x, dtype=dtype) * ops.cast(y, dtype=dtype)


class _Leaves:
    """What functions of the eigenvalues take besides them: numbers of each matrix, or one for each value.

    Attributes:
        operands: what they are, of complex ones for each matrix both parts.
    """

    def __init__(self, spectrum: Spectrum, mapping: dict[Node, Node]) -> None:
        self._source, self._mapping, self._values = spectrum.source, mapping, spectrum.values
        self._stack, self._are_general = spectrum.stack, spectrum.lower is None
        self._moving = spectrum.behind | spectrum.live
        self._inner: dict[Node, None] = {}
        self._same: dict[Node, Node] = {}
        self._places: dict[Node, tuple[int, int]] = {}
        self.operands: list[Any] = []

    def collect(self, node: Node, part: Part = None) -> bool:
        """Take in a function of the values at some places; say whether it is one."""
        if node in self._places or node in self._inner:
            return True
        if self._is_values(node) and part is None:
            return self._note(node)
        if isinstance(node.op, Leaf) or node not in self._moving:
            return self._constant(node, part)
        last = node.type.ndim - 1
        if repeats_along(node, last):
            return self._constant(node, part)
        role = role_of(node)
        same = role is Role.REGROUPS and long_axes(node.type.shape) == long_axes(node.inputs[0].type.shape)
        same |= role is Role.REPEATS and all(i < len(self._stack) for i in dict(node.params)["axes"])
        chosen = part is not None and choice(node, last) == part
        if same or chosen:
            self._same[node] = node.inputs[0]
            found = self.collect(node.inputs[0], None if chosen else part)
        else:
            able = node.op.axes.pointwise and (not self._are_general or node.op.complex == "analytic")
            found = able and all(self.collect(x, part) for x in node.inputs)
        return found and self._note(node)

    def _note(self, node: Node) -> bool:
        self._inner[node] = None
        return True

    def _constant(self, node: Node, part: Part) -> bool:
        """Take in what is no function of the values: a number of each matrix, or one for each value."""
        if node.op is LITERAL:
            return self._note(node)
        if repeats_along(node, node.type.ndim - 1):
            number = self._for_each_matrix(node)
            return number is not None and self._take(node, number)
        own = self._values.shape[max(0, self._values.ndim - node.type.ndim) :]
        if part is not None or long_axes(node.type.shape) != long_axes(own):
            return False
        x = ops.reshape(TracedArray(self._mapping.get(node, node)), shape=own)
        new = tuple(range(self._values.ndim - len(own)))
        return self._take(node, ops.broadcast(x, shape=self._values.shape, axes=new))

    def _is_values(self, node: Node) -> bool:
        return node.op is project and node.inputs[0] is self._source and dict(node.params)["index"] == 0

    def _for_each_matrix(self, node: Node) -> Any:
        """Return what is repeated for all values of a matrix, a number for each; None if it is none.

        Where functions have more axes than the values, as rows of a matrix have, those in front have one element.
        """
        more = node.type.ndim - self._values.ndim
        surplus, front = max(0, more), max(0, -more)
        lengths, stack = node.type.shape[:-1], self._values.shape[:-1]
        if any(n != 1 for n in lengths[:surplus]) or lengths[surplus:] != stack[front:]:
            return None
        repeated = [i for i in dict(node.params)["axes"] if surplus <= i < len(lengths)]
        x = TracedArray(self._mapping.get(node.inputs[0], node.inputs[0]))
        once = tuple([n for i, n in enumerate(lengths) if i >= surplus and i not in repeated])
        axes = (*range(front), *[front + i - surplus for i in repeated])
        return ops.broadcast(ops.reshape(x, shape=once), shape=stack, axes=axes)

    def _take(self, node: Node, operand: Any) -> bool:
        """Note an operand; of a complex one its parts, since functions need not be analytic in it."""
        parts = [operand]
        if operand.dtype.kind == "c" and operand.ndim < self._values.ndim:
            parts = [ops.real_part(operand), ops.imaginary_part(operand)]
        self._places[node] = (len(self.operands), len(parts))
        self.operands += parts
        return True

    def known(self, w: Any, given: Sequence[Any]) -> dict[Node, Node]:
        """Return what stands for the nodes of the functions, of values and of operands."""
        known: dict[Node, Node] = {}
        for node, (start, count) in self._places.items():
            x = given[start] if count == 1 else ops.complex_of(*given[start : start + count])
            if x.ndim < w.ndim:
                x = ops.broadcast(x, shape=w.shape, axes=(x.ndim,))
            known[node] = x.node
        for node in self._inner:
            if node.op is LITERAL:
                literal = ArrayType(w.shape, node.type.dtype)
                known[node] = w.node.trace.literal(literal_value(node), literal)
            elif self._is_values(node):
                known[node] = w.node
            else:
                known[node] = known[self._same[node]] if node in self._same else rebuild(node, known, w.node.trace)
        return known


def long_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths of the axes that have more than one element."""
    return tuple([n for n in shape if n != 1])
