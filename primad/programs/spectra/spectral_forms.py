"""Where a program of eigenvectors is a function of the matrix: V diag(f(w)) Vᴴ, in the forms that people write.

A value that is linear in one factor of the vectors, (Σₐ v[a, i] x[a, …]) g[i], is followed from op to op until it meets
another one with a factor of the conjugates, and the sum over i is taken: then it is x f(A) y, with f = g h. So are sums
over all of f(w). What is found is written with ops that have derivatives also where eigenvalues are equal. All else stays
what it is, and is refused there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node, Trace
from primad.ir.program import ClosedProgram, Program
from primad.ir.replay import needed_between, rebuild
from primad.ops.arrays.contraction import ALPHABET, letters, split
from primad.ops.linalg.factorization import conjugated
from primad.ops.record.primitive import full, project
from primad.programs.spectra.spectral_ops import matrix_function, spectral_sum
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import program_of
from primad.transforms.dimensions import dependents
from primad.transforms.lowering import apply_program_op, rewritten


@dataclass(frozen=True)
class Factor:
    """A function of the values that a factor of the vectors is scaled by: a node, and what is made of it."""

    node: Node
    conjugate: bool = False
    inverse: bool = False


@dataclass(frozen=True)
class Turned:
    """A value that is linear in the vectors: Σ over rows of v (or of its conjugate) times x, scaled along an axis.

    Attributes:
        of: the application whose vectors they are.
        axis: where the places of the eigenvalues are among its axes.
        lead: where the axes of a stack are.
        x: what the vectors are multiplied by, with the rows along `axis`; None where it is the identity.
        rows: where the rows are if x is None.
        conjugate: whether it is of the conjugates.
        scale: functions of the values that it is scaled by.
        part: start and stop of the places that it has; None for all.
    """

    of: Node
    axis: int
    lead: tuple[int, ...]
    x: Any = None
    rows: int = -1
    conjugate: bool = False
    scale: tuple[Factor, ...] = ()
    part: tuple[int, int] | None = None


def spectral_form(program: Program, live: set[Node]) -> Program:
    """Return a program in which functions of matrices are ops of their own, where they are found.

    Args:
        program: a program whose composites are replaced by their definitions.
        live: the nodes that depend on what it will be differentiated by.
    """
    sources = [node for node in program.nodes if node.op is ops.eigh and node in live and node.type.types[0].size]
    if not sources:
        return program
    reader = _Reader(program, sources, live)
    found = rewritten(program, reader.change)
    return found if reader.found else program


class _Reader:
    """Follows values of a program from the vectors on while it is written anew."""

    def __init__(self, program: Program, sources: Sequence[Node], live: set[Node]) -> None:
        self.found = False
        self._live = live
        self._behind = {source: dependents(program.nodes, [source]) for source in sources}
        self._turned: dict[Node, Turned] = {}
        self._diagonals: dict[Node, Node] = {}

    def change(self, node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        """Return what stands for a node that is a function of a matrix; note what may become one."""
        if isinstance(node.op, Leaf):
            return None
        result: Any = None
        if node.op is project:
            self._begin(node)
        elif node.op is ops.contract:
            result = self._contraction(node, mapping, trace)
        elif node.op is ops.sum:
            result = self._sum(node, mapping, trace)
        else:
            self._follow(node, mapping)
        if result is None:
            return None
        self.found = True
        return lift(result, trace)

    # -- values that are linear in the vectors

    def _begin(self, node: Node) -> None:
        (source,) = node.inputs
        if source in self._behind and dict(node.params)["index"] == 1:
            ndim = node.type.ndim
            self._turned[node] = Turned(source, ndim - 1, tuple(range(ndim - 2)), rows=ndim - 2)

    def _follow(self, node: Node, mapping: dict[Node, Node]) -> None:
        op, inputs = node.op, node.inputs
        widens = op is ops.cast and (node.type.is_complex or not inputs[0].type.is_complex)
        if op is ops.reshape and self._is_diagonal(node):
            self._diagonals[node] = inputs[0].inputs[0]
        if (op is ops.permute or widens) and inputs[0] in self._diagonals:
            self._diagonals[node] = self._diagonals[inputs[0]]
        there = [x for x in inputs if x in self._turned]
        if len(there) != 1:
            return
        y = self._turned[there[0]]
        params = dict(node.params)
        if op is ops.permute:
            order = params["order"]
            self._turned[node] = self._moved(y, order, None if y.x is None else ops.permute(y.x, order=order))
        elif op is ops.conj:
            scale = tuple([replace(f, conjugate=not f.conjugate) for f in y.scale])
            x = None if y.x is None else conjugated(y.x)
            self._turned[node] = replace(y, x=x, conjugate=not y.conjugate, scale=scale)
        elif op is ops.slice_:
            self._cut(node, y, **params)
        elif op in (ops.mul, ops.div) and (op is ops.mul or inputs[0] is there[0]):
            self._scaled(node, y, inputs[1] if inputs[0] is there[0] else inputs[0], mapping)
        elif op is ops.neg or widens:
            self._turned[node] = replace(y, x=op(self._whole(y, mapping), **params))

    @staticmethod
    def _moved(y: Turned, order: Sequence[int], x: Any) -> Turned:
        place = list(order).index
        rows = place(y.rows) if y.x is None else -1
        return replace(y, axis=place(y.axis), lead=tuple([place(i) for i in y.lead]), x=x, rows=rows)

    def _whole(self, y: Turned, mapping: dict[Node, Node]) -> Any:
        """Return what the vectors are multiplied by, also where it is the identity."""
        if y.x is not None:
            return y.x
        a = TracedArray(mapping.get(y.of.inputs[0], y.of.inputs[0]))
        order = sorted(range(a.ndim), key=[*y.lead, y.rows, y.axis].__getitem__)
        eye = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return TracedArray(lift(np.transpose(eye, np.argsort(order).argsort()), a.node.trace))

    def _cut(self, node: Node, y: Turned, *, start: Any, stop: Any, step: Any) -> None:
        """A part of the vectors is all of them, scaled by ones and zeros, but for the length of the axis."""
        shape = node.inputs[0].type.shape
        others = [i for i in range(len(shape)) if i != y.axis]
        kept = all((start[i], stop[i], step[i]) == (0, shape[i], 1) for i in others)
        if kept and step[y.axis] == 1 and y.part is None and not y.scale and y.x is None:
            self._turned[node] = replace(y, part=(start[y.axis], stop[y.axis]))

    def _scaled(self, node: Node, y: Turned, by: Node, mapping: dict[Node, Node]) -> None:
        """Products and quotients: by what is the same for all values, or by one number for each."""
        inverse = node.op is ops.div
        factor = self._along(by, y)
        if factor is not None and y.part is None:
            self._turned[node] = replace(y, scale=(*y.scale, Factor(factor, inverse=inverse)))
        elif by.op is LITERAL or (by.op is ops.broadcast and y.axis in dict(by.params)["axes"]):
            if y.part is None:
                x = node.op(self._whole(y, mapping), TracedArray(rebuild(by, mapping, mapping[node.inputs[0]].trace)))
                self._turned[node] = replace(y, x=x)

    def _along(self, by: Node, y: Turned) -> Node | None:
        """Return the vector of one number for each value that a factor is, spread along the other axes."""
        values = y.of.type.types[0].shape
        axes = (*y.lead, y.axis)
        if by.op is ops.broadcast:
            own = tuple([i for i in range(by.type.ndim) if i not in dict(by.params)["axes"]])
            return by.inputs[0] if by.inputs[0].type.shape == values and own == axes else None
        return by if by.type.shape == values and axes == tuple(range(by.type.ndim)) and by.op is not LITERAL else None

    @staticmethod
    def _is_diagonal(node: Node) -> bool:
        """Say whether a node is np.diag of a vector: its elements with zeros between them, as a square matrix."""
        (padded,) = node.inputs
        if padded.op is not ops.pad or padded.type.ndim != 1:
            return False
        n = padded.inputs[0].type.shape[0]
        params = dict(padded.params)
        wanted = {"low": (0,), "high": (0,), "interior": (n,)}
        return node.type.shape == (n, n) and all(tuple(params[name]) == value for name, value in wanted.items())

    # -- contractions

    def _contraction(self, node: Node, mapping: dict[Node, Node], trace: Trace) -> Any:
        labels = dict(node.params)["labels"]
        first, second, out = split(labels)
        pairs = list(zip(node.inputs, (first, second), strict=True))
        there = [(self._turned[x], at) for x, at in pairs if x in self._turned]
        if len(there) == 2:
            return self._met(node, there, out, mapping)
        if len(there) == 1:
            place = 0 if node.inputs[0] in self._turned else 1
            self._multiplied(node, there[0], pairs[1 - place], out, mapping)
            return None
        if first == second and out == first[:-1]:
            return self._trace_of(node.inputs, mapping, trace)
        return None

    def _multiplied(
        self, node: Node, one: tuple[Turned, str], other: tuple[Node, str], out: str, mapping: dict[Node, Node]
    ) -> None:
        y, at = one
        by, places = other
        e = at[y.axis]
        lead = [at[i] for i in y.lead]
        if by in self._diagonals and e in places and e not in out and y.part is None:
            (new,) = set(places) - {e}
            if set(out) == {*at, new} - {e} and new not in at:
                x = None if y.x is None else _permuted(y.x, at.replace(e, new), out)
                self._turned[node] = Turned(
                    y.of, out.index(new), tuple([out.index(c) for c in lead]), x,
                    out.index(at[y.rows]) if x is None else -1, y.conjugate, (*y.scale, Factor(self._diagonals[by])),
                )
            return
        if e not in out or any(c not in out for c in lead):
            return
        where = {"axis": out.index(e), "lead": tuple([out.index(c) for c in lead])}
        if e in places:
            if places == "".join(lead) + e and set(out) == set(at) and y.part is None:
                x = None if y.x is None else _permuted(y.x, at, out)
                rows = out.index(at[y.rows]) if x is None else -1
                self._turned[node] = replace(y, **where, x=x, rows=rows, scale=(*y.scale, Factor(by)))
            return
        given = TracedArray(mapping.get(by, by))
        if y.x is None:
            r = at[y.rows]
            if r in places and r not in out and set(places) == {c for c in out if c != e} | {r}:
                self._turned[node] = replace(y, **where, x=_permuted(given, places, out.replace(e, r)), rows=-1)
                return
        x = ops.contract(self._whole(y, mapping), given, labels=letters(at, places, out))
        self._turned[node] = replace(y, **where, x=x, rows=-1)

    def _met(
        self, node: Node, there: Sequence[tuple[Turned, str]], out: str, mapping: dict[Node, Node]
    ) -> Any:
        """Two values meet at the places of the eigenvalues: they are joined by a function of the matrix."""
        (y, at), (z, to) = there
        e = at[y.axis]
        lead = "".join(at[i] for i in y.lead)
        met = y.of is z.of and e == to[z.axis] and e not in out and y.part == z.part
        if not met or lead != "".join(to[i] for i in z.lead) or (y.conjugate == z.conjugate and node.type.is_complex):
            return None
        if node.type.is_complex and not y.of.type.types[1].is_complex and y.conjugate == z.conjugate:
            return None
        if y.conjugate and not z.conjugate:
            (y, at), (z, to) = (z, to), (y, at)
        function = self._function(y, (*y.scale, *z.scale), mapping)
        if function is None:
            return None
        row, column = [c for c in ALPHABET if c not in at + to + out][:2]
        value, have = function, lead + row + column
        dtype = str(node.type.dtype)
        value = ops.cast(value, dtype=dtype)
        for one, places, mine in ((y, at, row), (z, to, column)):
            if one.x is None and places[one.rows] not in have:
                have = have.replace(mine, places[one.rows])
                continue
            x = ops.cast(self._whole(one, mapping), dtype=dtype)
            own = places.replace(e, mine)
            later = set(out) | (set(to) | {column} if one is y else set())
            keep = "".join(dict.fromkeys(c for c in have + own if c != mine and c in later))
            value, have = ops.contract(value, x, labels=letters(have, own, keep)), keep
        return _permuted(value, have, out) if set(have) == set(out) else None

    # -- functions of the values

    def _function(self, y: Turned, scale: Sequence[Factor], mapping: dict[Node, Node]) -> Any:
        """Return V diag(g) Vᴴ for a product g of functions of the values; None where one of them is something else."""
        a = TracedArray(mapping.get(y.of.inputs[0], y.of.inputs[0]))
        if y.part is None:
            found = self._body(y.of, scale, mapping)
        else:
            values = y.of.type.types[0]
            chosen = TracedArray(lift(_indicator(values, *y.part), a.node.trace))
            found = ClosedProgram(program_of([values, values], lambda w, x: [x])), [chosen]
        if found is None:
            return None
        of, leaves = found
        return matrix_function(of, a, leaves, [], dict(y.of.params)["lower"])

    def _sum(self, node: Node, mapping: dict[Node, Node], trace: Trace) -> Any:
        (x,) = node.inputs
        last = x.type.ndim - 1
        axes = dict(node.params)["axes"]
        found = self._trace_of((x,), mapping, trace) if last in axes else None
        return None if found is None else ops.sum(found, axes=tuple([i for i in axes if i != last]))

    def _trace_of(self, factors: Sequence[Node], mapping: dict[Node, Node], trace: Trace) -> Any:
        """Return the sum over all eigenvalues of a product of functions of them, where it is one."""
        for source, behind in self._behind.items():
            values = source.type.types[0]
            if all(x.type.shape == values.shape for x in factors) and not behind.isdisjoint(factors):
                found = self._body(source, [Factor(x) for x in factors], mapping)
                if found is None or any(leaf.ndim == values.ndim for leaf in found[1]):
                    return None
                of, leaves = found
                a = TracedArray(mapping.get(source.inputs[0], source.inputs[0]))
                options = {"lower": dict(source.params)["lower"], "dtype": str(a.dtype)}
                return apply_program_op(spectral_sum, of, [a, *leaves], **options)
        return None

    def _body(
        self, source: Node, scale: Sequence[Factor], mapping: dict[Node, Node]
    ) -> tuple[ClosedProgram, list[Any]] | None:
        """Return the program of a product of functions of the values, and what it takes besides."""
        values = source.type.types[0]
        leaves = _Leaves(source, self._behind[source], self._live, mapping)
        if not all(leaves.collect(factor.node) for factor in scale):
            return None

        def body(w: Any, *given: Any) -> list[Any]:
            known = leaves.known(w, given)
            total = full(1.0, w)
            for factor in scale:
                x = TracedArray(known[factor.node])
                x = conjugated(x) if factor.conjugate else x
                total = _product(total, 1 / x if factor.inverse else x)
            return [total]

        types = [values, *(x.type for x in leaves.operands)]
        return ClosedProgram(program_of(types, body)), leaves.operands


def _indicator(values: ArrayType, start: int, stop: int) -> Any:
    """Return ones at the places of a part of the values, and zeros elsewhere."""
    places = np.arange(values.shape[-1])
    chosen = ((places >= start) & (places < stop)).astype(values.dtype)
    return np.broadcast_to(chosen, values.shape)


def _product(x: Any, y: Any) -> Any:
    dtype = str(np.result_type(x.dtype, y.dtype))
    return ops.cast(x, dtype=dtype) * ops.cast(y, dtype=dtype)


def _permuted(x: Any, have: str, wanted: str) -> Any:
    return ops.permute(x, order=tuple([have.index(c) for c in wanted]))


class _Leaves:
    """What functions of the eigenvalues take besides them: numbers of each matrix, or one for each value.

    Attributes:
        operands: what they are, of complex ones for each matrix both parts.
    """

    def __init__(self, source: Node, behind: set[Node], live: set[Node], mapping: dict[Node, Node]) -> None:
        self._source, self._behind, self._live, self._mapping = source, behind, live, mapping
        self._values = source.type.types[0]
        self._order: list[Node] = []
        self._places: dict[Node, tuple[int, int]] = {}
        self.operands: list[Any] = []

    def collect(self, node: Node) -> bool:
        """Take in a function of the values; say whether it is one."""
        if node in self._order or node in self._places:
            return True
        if self._is_values(node) or node.op is LITERAL:
            self._order.append(node)
            return True
        inner = not isinstance(node.op, Leaf) and node.op.axes.pointwise and not node.op.holds_program
        if node.type.shape != self._values.shape:
            return False
        if node.op is ops.broadcast and self._values.ndim - 1 in dict(node.params)["axes"]:
            self._take(node, self._for_each_matrix(node))
            return True
        if node in self._behind or node in self._live:
            if not inner or not all(self.collect(x) for x in node.inputs):
                return False
            self._order.append(node)
            return True
        self._take(node, TracedArray(self._mapping.get(node, node)))
        return True

    def _is_values(self, node: Node) -> bool:
        return node.op is project and node.inputs[0] is self._source and dict(node.params)["index"] == 0

    def _for_each_matrix(self, node: Node) -> Any:
        x = TracedArray(self._mapping.get(node.inputs[0], node.inputs[0]))
        axes = tuple([i for i in dict(node.params)["axes"] if i < self._values.ndim - 1])
        return ops.broadcast(x, shape=self._values.shape[:-1], axes=axes)

    def _take(self, node: Node, operand: Any) -> None:
        """Note an operand; the parts of a complex one, by which functions have derivatives that are no complex factors."""
        parts = [operand]
        if operand.dtype.kind == "c" and operand.ndim < self._values.ndim:
            parts = [ops.real_part(operand), ops.imaginary_part(operand)]
        self._places[node] = (len(self.operands), len(parts))
        self.operands += parts

    def known(self, w: Any, given: Sequence[Any]) -> dict[Node, Node]:
        """Return what stands for the nodes of the functions, of values and of operands."""
        known: dict[Node, Node] = {}
        for node, (start, count) in self._places.items():
            x = given[start] if count == 1 else ops.complex_of(*given[start : start + count])
            if x.ndim < w.ndim:
                x = ops.broadcast(x, shape=w.shape, axes=(x.ndim,))
            known[node] = x.node
        for node in self._order:
            known[node] = w.node if self._is_values(node) else rebuild(node, known, w.node.trace)
        return known
