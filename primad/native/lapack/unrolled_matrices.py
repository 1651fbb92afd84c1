"""Small matrices with each element in a register: factorizations, triangular solves and cofactors, written out.

An element is a vector, whose lanes are the same element of several matrices of a stack, or of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from primad.ir.node import Node
from primad.native.emit.axis_loops import in_vectors
from primad.native.emit.emit_context import INT64, Site
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import View, counter_of, lanes_mask, merged
from primad.native.llvm.vectors import BOOL, MANGLED, Vector, lanes_of
from primad.native.unrolled.unrolled_context import Elements


class Computed(Struct, frozen=True):
    """What is computed of matrices.

    Attributes:
        results: the elements of each result.
        bad: conditions, of which the first that holds makes the op undefined.
        first: what the error says of the first condition; of the next it says one more, and so on.
    """

    results: Sequence[Elements]
    bad: Sequence[str] = ()
    first: int = 0


Small = Callable[..., Computed]
"""(vector, *elements of the operands, **params) -> what is computed."""


def is_small(node: Node) -> bool:
    """Say whether the matrices that an op works on are written out."""
    return math.prod([*node.inputs[-1].type.shape[-2:], node.inputs[0].type.shape[-1]]) <= BUDGET.products


def few_minors(node: Node) -> bool:
    """Say whether the cofactors of a matrix are written out."""
    return bool(node.type.shape[-1] <= BUDGET.minors)


# -- what is computed --------------------------------------------------------------------------------------------------


def eliminated(v: Vector, a: Elements) -> Computed:
    """Gaussian elimination with partial pivoting: the factors, the order of the rows and its sign."""
    n, factors, places = len(a), a.copy(), v.of(INT64)
    order = np.array([places.constant(i) for i in range(n)], object)
    parity = v.constant(1)
    for k in range(n):
        chosen, moved = _pivot(v, factors[k:, k])
        for row in (factors, order[:, None]):
            writer = v if row is factors else places
            for column in range(row.shape[1]):
                _exchange(writer, chosen, row[k:, column])
        if moved:
            parity = v.choose(moved, v.op("fneg", parity), parity)
        usable = v.compare("une", factors[k, k], v.constant(0))
        for i in range(k + 1, n):
            factor = v.choose(usable, v.op("fdiv", factors[i, k], factors[k, k]), v.constant(0))
            factors[i, k] = factor
            less = v.op("fneg", factor)
            for j in range(k + 1, n):
                factors[i, j] = v.intrinsic("fma", less, factors[k, j], factors[i, j])
    found = np.empty((), object)
    found[()] = parity
    return Computed([factors, order, found])


def _pivot(v: Vector, column: Elements) -> tuple[list[str], str]:
    """Return for each element behind the first whether it is the first of the largest, and whether any is."""
    best, larger = v.intrinsic("fabs", column[0]), []
    for element in column[1:]:
        size = v.intrinsic("fabs", element)
        larger.append(v.compare("ogt", size, best))
        best = v.choose(larger[-1], size, best)
    chosen, later = [], ""
    for found in reversed(larger):
        chosen.append(v.logic("and", found, v.logic("xor", later, v.of(BOOL).constant(True))) if later else found)
        later = v.logic("or", later, found) if later else found
    return chosen[::-1], later


def _exchange(v: Vector, chosen: Sequence[str], column: Elements) -> None:
    """Exchange the first element with the chosen one."""
    first = column[0]
    for i, here in enumerate(chosen, 1):
        column[0] = v.choose(here, column[i], column[0])
        column[i] = v.choose(here, first, column[i])


def solved(v: Vector, a: Elements, b: Elements, *, lower: bool, transpose: bool, unit: bool) -> Computed:
    """Solve triangular systems, row by row."""
    a, n = (a.T if transpose else a), len(a)
    x = b.copy()
    for i in range(n) if lower != transpose else reversed(range(n)):
        known = range(i) if lower != transpose else range(i + 1, n)
        for column in range(x.shape[1]):
            for k in known:
                x[i, column] = v.intrinsic("fma", v.op("fneg", a[i, k]), x[k, column], x[i, column])
            if not unit:
                x[i, column] = v.op("fdiv", x[i, column], a[i, i])
    bad = [] if unit or not x.shape[1] else [v.compare("oeq", a[i, i], v.constant(0)) for i in range(n)]
    return Computed([x], bad)


def factored(v: Vector, a: Elements) -> Computed:
    """Cholesky's factorization."""
    n, bad = len(a), []
    found = np.full(a.shape, v.constant(0), object)
    for j in range(n):
        for i in range(j, n):
            rest = a[i, j]
            for k in range(j):
                rest = v.intrinsic("fma", v.op("fneg", found[i, k]), found[j, k], rest)
            if i == j:
                bad.append(v.compare("ule", rest, v.constant(0)))
                found[j, j] = v.intrinsic("sqrt", rest)
            else:
                found[i, j] = v.op("fdiv", rest, found[j, j])
    return Computed([found], bad, first=1)


def minors(v: Vector, a: Elements) -> Computed:
    """The cofactors, by expanding smaller and smaller determinants along their first rows."""
    return Computed([_signed_minors(v, a, lambda rows, columns: _determinant(v, a, rows, columns))])


def minors_along(v: Vector, a: Elements, b: Elements) -> Computed:
    """How the cofactors change along b: the same sums by the product rule."""
    return Computed([_signed_minors(v, a, lambda rows, columns: _change(v, a, b, rows, columns))])


Places = tuple[int, ...]


def _signed_minors(v: Vector, a: Elements, minor: Callable[[Places, Places], str]) -> Elements:
    n, found = len(a), np.empty(a.shape, object)
    for i, j in np.ndindex(a.shape):
        rows, columns = (tuple([k for k in range(n) if k != left_out]) for left_out in (i, j))
        value = minor(rows, columns)
        found[i, j] = v.op("fneg", value) if (i + j) % 2 else value
    return found


def _determinant(v: Vector, a: Elements, rows: Places, columns: Places) -> str:
    if not rows:
        return v.constant(1)
    terms = []
    for place, column in enumerate(columns):
        rest = _determinant(v, a, rows[1:], (*columns[:place], *columns[place + 1 :]))
        terms.append((a[rows[0], column], rest))
    return _alternating(v, terms)


def _change(v: Vector, a: Elements, b: Elements, rows: Places, columns: Places) -> str:
    if not rows:
        return v.constant(0)
    parts = []
    for place, column in enumerate(columns):
        others = (*columns[:place], *columns[place + 1 :])
        here, below = _determinant(v, a, rows[1:], others), _change(v, a, b, rows[1:], others)
        moved = v.op("fmul", b[rows[0], column], here)
        parts.append((v.constant(1), v.intrinsic("fma", a[rows[0], column], below, moved)))
    return _alternating(v, parts)


def _alternating(v: Vector, terms: Sequence[tuple[str, str]]) -> str:
    """Return the sum of products with signs that alternate."""
    total = v.op("fmul", *terms[0])
    for place, (x, y) in enumerate(terms[1:], 1):
        total = v.intrinsic("fma", v.op("fneg", x) if place % 2 else x, y, total)
    return total


# -- loops over stacks -------------------------------------------------------------------------------------------------


def write_small(site: Site, compute: Small) -> None:
    """Write the loop over a stack of small matrices: as many at once as a vector has lanes."""
    _Stack(site, compute).write()


class _Stack:
    """A loop over a stack of small matrices that is being written."""

    def __init__(self, site: Site, compute: Small) -> None:
        self.site, self.code, self.compute = site, site.code, compute
        self.batch = site.operands[0].shape[:-2]
        self.results = [view for view in site.results if view is not None]
        self.dtype = site.operands[0].dtype

    def write(self) -> None:
        """Write it."""
        if 0 in self.batch:
            return
        counter = counter_of(self.batch)
        views = [*self.site.operands, *self.results, counter]
        axes = merged([(n, *[view.strides[i] for view in views]) for i, n in enumerate(self.batch)])
        row = max(axes, key=lambda axis: axis[0], default=None)
        lanes = 1 if row is None else lanes_of(self.dtype)
        steps = [0] * len(views) if row is None else row[1:]

        def some(places: list[str], count: int) -> None:
            self._some(Vector(self.code, self.dtype, lanes), places, steps, count)

        self.code.over(
            views,
            [*[self.code.start(view) for view in views[:-1]], "null"],
            [axis for axis in axes if axis is not row],
            lambda places: in_vectors(self.code, views, places, row, lanes, some),
        )

    def _some(self, v: Vector, places: list[str], steps: Sequence[int], count: int) -> None:
        """Write what is done with some matrices."""
        operands = self.site.operands
        read = [
            self._read(v, view, place, step, count) for view, place, step in zip(operands, places, steps, strict=False)
        ]
        done = self.compute(v, *read, **self.site.params)
        if done.bad:
            self._fail(v, done, (places[-1], steps[-1]), count)
        found = [x for x, view in zip(done.results, self.site.results, strict=True) if view is not None]
        after = len(operands)
        for view, place, step, elements in zip(self.results, places[after:], steps[after:], found, strict=False):
            self._write(v.of(view.dtype), view, place, step, count, elements)

    def _fail(self, v: Vector, done: Computed, counter: tuple[str, int], count: int) -> None:
        """Say for which matrices the op is not defined, and which condition is the first that holds."""
        code, (place, step) = self.code, counter
        bad, which = done.bad[-1], v.of(INT64).constant(done.first + len(done.bad) - 1)
        for earlier in done.bad[:-1]:
            bad = v.logic("or", bad, earlier)
        with code.when(_any(v, bad, count)):
            for k, condition in reversed(list(enumerate(done.bad[:-1], done.first))):
                which = v.of(INT64).choose(condition, v.of(INT64).constant(k), which)
            for lane in range(count):
                here = code.emit(f"extractelement {v.bool} {bad}, i64 {lane}")
                value = code.emit(f"extractelement {v.of(INT64).type} {which}, i64 {lane}")
                self.site.fail(here, partial(self._number, place, step * lane), value)

    def _number(self, place: str, more: int) -> str:
        """Write the number of a matrix."""
        first = self.code.emit(f"ptrtoint ptr {place} to i64")
        return self.code.emit(f"add i64 {first}, {more}")

    def _read(self, v: Vector, view: View, place: str, step: int, count: int) -> Elements:
        found = np.empty(view.shape[len(self.batch) :], object)
        v, code = v.of(view.dtype), self.code
        for index in np.ndindex(found.shape):
            at = self._element(view, place, index)
            if count == 1 or step in (0, 1):
                found[index] = code.read(view.dtype, at, step if count > 1 else 1, count, v.lanes)
                continue
            name = f"llvm.masked.gather.v{v.lanes}{MANGLED[v.scalar]}.v{v.lanes}p0"
            mask = (f"<{v.lanes} x i1>", lanes_mask(count, v.lanes))
            found[index] = code.call(
                v.type, name, self._places(v, at, step), ("i32", "1"), mask, (v.type, v.constant(0.5))
            )
        return found

    def _write(self, v: Vector, view: View, place: str, step: int, count: int, elements: Elements) -> None:
        for index in np.ndindex(elements.shape):
            at, value = self._element(view, place, index), str(elements[index])
            if count == 1 or step == 1:
                self.code.write(view.dtype, at, 1, count, v.lanes, value)
                continue
            name = f"llvm.masked.scatter.v{v.lanes}{MANGLED[v.scalar]}.v{v.lanes}p0"
            mask = (f"<{v.lanes} x i1>", lanes_mask(count, v.lanes))
            self.code.run(name, (v.type, value), self._places(v, at, step), ("i32", "1"), mask)

    def _places(self, v: Vector, place: str, step: int) -> tuple[str, str]:
        """Return the addresses of an element of the matrices, one in each lane."""
        far = v.of(INT64).listed([lane * step for lane in range(v.lanes)])
        kind = f"<{v.lanes} x ptr>"
        return kind, self.code.emit(f"getelementptr {v.scalar}, ptr {place}, <{v.lanes} x i64> {far}")

    def _element(self, view: View, place: str, index: tuple[int, ...]) -> str:
        steps = view.strides[len(self.batch) :]
        offset = sum(i * step for i, step in zip(index, steps, strict=True))
        return self.code.place(view.cell, place, offset) if offset else place


def _any(v: Vector, conditions: str, count: int) -> str:
    """Return whether a condition holds in one of the first lanes."""
    kept = v.logic("and", conditions, lanes_mask(count, v.lanes))
    bits = v.code.once(f"bitcast {v.bool} {kept} to i{v.lanes}")
    return v.code.once(f"icmp ne i{v.lanes} {bits}, 0")
