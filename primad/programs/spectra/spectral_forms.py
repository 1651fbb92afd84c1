"""Where a program of eigenvectors is a function of the matrix: V diag(f(w)) Vᴴ, in the forms that people write.

A value that is linear in one factor of the vectors, (Σₐ v[a, i] x[a, …]) g[i], is followed from op to op until it meets
another one with a factor of the conjugates, and the sum over i is taken: then it is x f(A) y, with f = g h. A sum over
all of f(w) is the trace of f(A). What is found is written with ops that have derivatives also where eigenvalues are
equal. All else stays what it is, and is refused there.

Of general matrices the inverse of v stands for the conjugates, or a system of equations with v, and f is analytic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from primad import ops
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program
from primad.ir.walks import dependents
from primad.ops.arrays.contraction import ALPHABET, letters, split
from primad.ops.record.primitive import project
from primad.programs.spectra.roles import Role, repeats_along, role_of
from primad.programs.spectra.spectral_ops import spectral_sum
from primad.programs.spectra.turned_values import Pair, Turned, along, permuted
from primad.programs.spectra.value_functions import Factor, Spectrum, choice, long_axes, part_of
from primad.recording.traced_array import TracedArray, lift
from primad.transforms.lowering import active_nodes, apply_program_op, expand, rewritten


def spectral_form(program: Program, active: Sequence[bool]) -> Program:
    """Return a program in which functions of matrices are ops of their own, where they are found.

    Args:
        program: a program whose composites are replaced by their definitions, where they depend on what is active.
        active: which inputs it will be differentiated by.
    """
    whole = expand(program)
    live = active_nodes(whole, active)
    sources = [
        node for node in whole.nodes if role_of(node) is Role.DECOMPOSES and node in live and node.inputs[0].type.size
    ]
    if not sources:
        return program
    spectra = [Spectrum(node, frozenset(dependents(whole.nodes, [node])), frozenset(live)) for node in sources]
    reader = _Reader(spectra)
    found = rewritten(whole, reader.change)
    return found if reader.found else program


class _Reader:
    """Follows values of a program from the vectors on while it is written anew.

    Attributes:
        found: whether there was a function of a matrix.
    """

    def __init__(self, spectra: Sequence[Spectrum]) -> None:
        self.found = False
        self._spectra = {spectrum.source: spectrum for spectrum in spectra}
        self._turned: dict[Node, Turned] = {}
        self._pairs: dict[Node, Pair] = {}
        self._diagonals: dict[Node, Node] = {}
        self._parts: dict[Node, tuple[Role, Node]] = {}

    def change(self, node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        """Return what stands for a node that is a function of a matrix; note what may become one."""
        if isinstance(node.op, Leaf):
            return None
        forms: dict[Role | None, Callable[..., Any]] = {
            Role.CONTRACTS: self._contraction,
            Role.ADDS_UP: self._sum,
            Role.SOLVES: self._solution,
        }
        form, result = forms.get(role_of(node)), None
        if node.op is project:
            self._begin(node)
        elif form is not None:
            result = form(node, mapping)
        else:
            self._diagonal(node)
            self._pair(node)
            if node not in self._pairs:
                self._follow(node, mapping)
        if result is None:
            return None
        self.found = True
        return lift(result, trace)

    # -- values that are linear in the vectors

    def _begin(self, node: Node) -> None:
        (source,) = node.inputs
        if source in self._spectra and dict(node.params)["index"] == 1:
            ndim = node.type.ndim
            self._turned[node] = Turned(self._spectra[source], ndim - 1, tuple(range(ndim - 2)), rows=ndim - 2)

    def _follow(self, node: Node, mapping: dict[Node, Node]) -> None:
        role, inputs, params = role_of(node), node.inputs, dict(node.params)
        there = [x for x in inputs if x in self._turned]
        if len(there) != 1:
            return
        y = self._turned[there[0]]
        new: Turned | None = None
        match role:
            case Role.MOVES:
                new = y.moved(params["order"])
            case Role.REPEATS:
                new = y.spread(params["axes"], params["shape"])
            case Role.CONJUGATES:
                new = y.conjugates()
            case Role.TAKES_REAL | Role.TAKES_IMAGINARY:
                self._parts[node] = (role, inputs[0])
            case Role.INVERTS if y.are_vectors:
                new = y.inverse()
            case Role.REGROUPS:
                new = y.squeezed(node.type.shape)
            case _ if y.part is None and y.of.lower is not None and choice(node, y.axis) is not None:
                new = replace(y, part=choice(node, y.axis))
            case Role.MULTIPLIES:
                new = self._scaled(node, y, inputs[1] if inputs[0] is there[0] else inputs[0], mapping)
            case Role.DIVIDES if inputs[0] is there[0]:
                new = self._scaled(node, y, inputs[1], mapping)
            case Role.CONVERTS:
                new = y if y.x is None else replace(y, x=node.op(y.x, **params))
            case Role.NEGATES:
                new = replace(y, x=-y.whole(node.type.dtype, mapping))
        if new is not None:
            self._turned[node] = new

    @staticmethod
    def _scaled(node: Node, y: Turned, by: Node, mapping: dict[Node, Node]) -> Turned | None:
        """Products and quotients: by one number for each value, or by what is the same for all values."""
        factor = along(by, (*y.lead, y.axis))
        if factor is not None:
            return y.scaled(factor, role_of(node) is Role.DIVIDES)
        if y.part is not None or not repeats_along(by, y.axis):
            return None
        return replace(y, x=node.op(y.whole(node.type.dtype, mapping), TracedArray(mapping.get(by, by))))

    def _diagonal(self, node: Node) -> None:
        """Note np.diag of a vector: its elements with zeros between them, as a square matrix."""
        source = node.inputs[0] if node.inputs else node
        if role_of(node) in (Role.MOVES, Role.CONVERTS) and source in self._diagonals:
            self._diagonals[node] = self._diagonals[source]
        made = (role_of(node), role_of(source))
        if made != (Role.REGROUPS, Role.SPREADS_OUT):
            return
        n = source.inputs[0].type.size
        params = dict(source.params)
        wanted = {"low": (0,), "high": (0,), "interior": (n,)}
        if node.type.shape == (n, n) and all(tuple(params[name]) == value for name, value in wanted.items()):
            self._diagonals[node] = source.inputs[0]

    # -- products of two

    def _pair(self, node: Node) -> None:
        """Note elementwise products of two values, or |y|² of one, and what scales them."""
        role, inputs = role_of(node), node.inputs
        new: Pair | None = None
        first = inputs[0] if inputs else node
        match role:
            case Role.MULTIPLIES if all(x in self._turned for x in inputs):
                new = self._paired([self._turned[x] for x in inputs], node)
            case Role.ADDS:
                new = self._square_of_size(node)
            case Role.MULTIPLIES if len({*inputs} & {*self._pairs}) == 1:
                place = 0 if first in self._pairs else 1
                new = self._scaled_pair(self._pairs[inputs[place]], inputs[1 - place], role)
            case Role.DIVIDES if first in self._pairs:
                new = self._scaled_pair(self._pairs[first], inputs[1], role)
            case Role.TAKES_REAL if first in self._pairs:
                new = replace(self._pairs[first], real=True)
            case Role.CONVERTS if first in self._pairs:
                new = self._pairs[first]
        if new is not None:
            self._pairs[node] = new

    @staticmethod
    def _paired(values: Sequence[Turned], node: Node) -> Pair | None:
        labels = ALPHABET[: node.type.ndim]
        pair = Pair((values[0], values[1]), (labels, labels), labels)
        return pair if pair.fits else None

    def _square_of_size(self, node: Node) -> Pair | None:
        """Return y ȳ where a node is Re(y)² + Im(y)²."""
        found = set()
        for x in node.inputs:
            if role_of(x) is Role.MULTIPLIES and x.inputs[0] is x.inputs[1] and x.inputs[0] in self._parts:
                found.add(self._parts[x.inputs[0]])
        if len(found) != 2 or len({of for _, of in found}) != 1:
            return None
        y = self._turned[next(iter(found))[1]]
        other = y.conjugates()
        pair = None if other is None else self._paired([y, other], node)
        return None if pair is None else replace(pair, real=True)

    @staticmethod
    def _scaled_pair(pair: Pair, by: Node, role: Role | None) -> Pair | None:
        factor = along(by, [pair.out.index(c) for c in pair.lead + pair.summed])
        return None if factor is None else pair.scaled(factor, role is Role.DIVIDES)

    def _solution(self, node: Node, mapping: dict[Node, Node]) -> Any:
        """Take a system with the matrix of vectors, or with the transposed one, as a product with the inverse."""
        matrix, right = node.inputs
        y = self._turned.get(matrix)
        if y is None or not y.are_vectors or right.type.ndim != matrix.type.ndim:
            return None
        left, last = y.inverse(), node.type.ndim - 1
        z = self._turned.get(right)
        if left.axis == last - 1 and z is None:
            self._turned[node] = replace(left, rows=-1, x=TracedArray(mapping.get(right, right)))
        if left.axis == last and z is not None:
            lead, places = ALPHABET[: last - 1], ALPHABET[last - 1 : last + 2]
            pair = Pair((left, z), (lead + places[:2], lead + places[1:]), lead + places[::2])
            return self._summed(pair, node, mapping) if pair.fits else None
        return None

    # -- sums

    def _sum(self, node: Node, mapping: dict[Node, Node]) -> Any:
        (x,) = node.inputs
        axes = dict(node.params)["axes"]
        if x in self._pairs:
            pair = self._pairs[x]
            pair = replace(pair, out="".join(c for i, c in enumerate(pair.out) if i not in axes))
            return self._summed(pair, node, mapping)
        last = x.type.ndim - 1
        found = self._trace_of((x,), mapping) if last in axes else None
        if found is None and role_of(x) in (Role.TAKES_REAL, Role.TAKES_IMAGINARY) and last in axes:
            found = self._trace_of(x.inputs, mapping)
            take = ops.real_part if role_of(x) is Role.TAKES_REAL else ops.imaginary_part
            found = None if found is None else take(found)
        return None if found is None else ops.sum(found, axes=tuple([i for i in axes if i != last]))

    def _summed(self, pair: Pair, node: Node, mapping: dict[Node, Node]) -> Any:
        """Return what stands for a sum of a pair; note it where it is not yet one over the eigenvalues."""
        if pair.summed not in pair.out:
            found = pair.joined(node.type.dtype, mapping)
            return found if found is None or found.dtype == node.type.dtype else None
        if all(c in pair.out for c in pair.lead):
            self._pairs[node] = pair
        return None

    def _contraction(self, node: Node, mapping: dict[Node, Node]) -> Any:
        first, second, out = split(dict(node.params)["labels"])
        both = list(zip(node.inputs, (first, second), strict=True))
        there = [x in self._turned for x in node.inputs]
        if all(there):
            pair = Pair((self._turned[both[0][0]], self._turned[both[1][0]]), (first, second), out)
            if pair.fits:
                return self._summed(pair, node, mapping)
            return None
        if any(there):
            place = there.index(True)
            self._multiplied(node, both[place], both[1 - place], out, mapping)
            return None
        for (x, at), (by, to) in (both, both[::-1]):
            if x in self._pairs:
                return self._weighed(node, (x, at), (by, to), out, mapping)
        return self._trace_of(node.inputs, mapping) if first == second and out == first[:-1] else None

    def _weighed(
        self, node: Node, one: tuple[Node, str], other: tuple[Node, str], out: str, mapping: dict[Node, Node]
    ) -> Any:
        """A pair times one number for each value, perhaps summed."""
        (x, at), (by, to) = one, other
        pair = self._pairs[x]
        if to != "".join(at[pair.out.index(c)] for c in pair.lead + pair.summed):
            return None
        names = dict(zip(at, pair.out, strict=True))
        return self._summed(replace(pair.scaled(by), out="".join(names[c] for c in out)), node, mapping)

    def _multiplied(
        self, node: Node, one: tuple[Node, str], other: tuple[Node, str], out: str, mapping: dict[Node, Node]
    ) -> None:
        """Note what a value is after a contraction with something that is not one."""
        (value, at), (by, places) = one, other
        y = self._turned[value]
        e, lead = at[y.axis], "".join(at[i] for i in y.lead)
        if by in self._diagonals and e in places and e not in out:
            (new,) = set(places) - {e}
            if new not in at:
                self._turned[node] = y.moved([at.replace(e, new).index(c) for c in out]).scaled(self._diagonals[by])
            return
        if e not in out or any(c not in out for c in lead):
            return
        if e in places:
            new_axes = places.removesuffix(lead + e)
            if not {*new_axes} & {*at}:
                wide = y.spread(range(len(new_axes)), by.type.shape)
                if wide is not None:
                    self._turned[node] = wide.moved([(new_axes + at).index(c) for c in out]).scaled(by)
            return
        given = TracedArray(mapping.get(by, by))
        where: dict[str, Any] = {"axis": out.index(e), "lead": tuple([out.index(c) for c in lead]), "rows": -1}
        r = at[y.rows] if y.x is None else ""
        if r and r not in out and set(places) == {c for c in out if c != e} | {r}:
            self._turned[node] = replace(y, **where, x=permuted(given, places, out.replace(e, r)))
        else:
            x = ops.contract(y.whole(node.type.dtype, mapping), given, labels=letters(at, places, out))
            self._turned[node] = replace(y, **where, x=x)

    def _trace_of(self, factors: Sequence[Node], mapping: dict[Node, Node]) -> Any:
        """Return the sum over all eigenvalues of a product of functions of them, where it is one."""
        for spectrum in self._spectra.values():
            lead = factors[0].type.shape[:-1]  # the values may lie along another axis, and have further ones
            if spectrum.behind.isdisjoint(factors) or long_axes(lead) != long_axes(spectrum.values.shape[:-1]):
                continue
            part = part_of(factors, spectrum.behind)
            found = spectrum.product([Factor(x, part) for x in factors], part, mapping)
            if found is not None:
                a = spectrum.matrix(mapping)
                options: dict[str, Any] = {"lower": spectrum.lower, "dtype": str(a.dtype), "repeated": 0}
                total = apply_program_op(spectral_sum, found[0], [a, *found[1]], **options)
                return ops.reshape(total, shape=lead)
        return None
