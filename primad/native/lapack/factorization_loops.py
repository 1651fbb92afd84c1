"""Loops over stacks of matrices that LAPACK factorizes: each is copied, column by column, and its factors copied back.

LAPACK is called as NumPy calls it, so that values have the same order. Vectors of a spectrum may have other signs,
where these follow from roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.node import Node
from primad.native.emit.elementwise_loop import pointwise_at
from primad.native.emit.emit_context import INT64, Loops, Site
from primad.native.lapack.matrix_loops import BLAS, LAPACK, Operand, Parts, Stack, not_exported, placed
from primad.native.llvm.strided_views import View
from primad.native.llvm.vectors import BY_SIZE, number_text
from primad.system.machine import LAPACK_BLOCK

INT32 = np.dtype(np.int32)


class Factorization(Struct, frozen=True):
    """How LAPACK factorizes a matrix.

    Attributes:
        functions: LAPACK's functions.
        parts: (rows, columns, dtype) -> the arrays that it needs; 'a' is the copy of the matrix.
        call: (matrices, which results are wanted) -> writes the calls for one matrix.
        found: the part that each result is copied from.
        gives_up: whether LAPACK may not find results: they are NaN then, as they are for matrices that are not finite.
        speed: the share that it has of the speed of other factorizations; only predictions depend on it.
    """

    functions: tuple[str, ...]
    parts: Callable[[int, int, Any], Parts]
    call: Callable[[Matrices, Sequence[bool]], None]
    found: tuple[str, ...]
    gives_up: bool = False
    speed: float = 1.0

    def loops(self) -> Loops:
        """Return the loops of the factorization."""
        limits = [not_exported(LAPACK, name) for name in self.functions]
        return Loops(
            lambda site: Matrices(site, self).write(),
            limit=lambda node: next(filter(None, [limit(node) for limit in limits]), ""),
            anywhere=False,
            memory=lambda node: placed(None, self._parts(node))[1],
            lapack=self.speed,
        )

    def _parts(self, node: Node) -> Parts:
        *_, rows, columns = node.inputs[0].type.shape
        return self.parts(rows, columns, node.inputs[0].type.dtype)

    def placed(self, site: Site) -> dict[str, View]:
        """Return where the arrays lie in an op's own memory, column by column."""
        return placed(site.own, self._parts(site.node))[0]


class Matrices(Stack):
    """A stack of matrices that LAPACK factorizes one by one.

    Attributes:
        rows, columns: how many each has.
        parts: the arrays of the op's own memory.
        params: of the op.
    """

    def __init__(self, site: Site, how: Factorization) -> None:
        self.found = [(view, part) for view, part in zip(site.results, how.found, strict=True) if view is not None]
        super().__init__(site, [*site.operands, *[view for view, _ in self.found]])
        self.how = how
        self.wanted = [view is not None for view in site.results]
        self.rows, self.columns = site.operands[0].shape[-2:]
        self.parts = how.placed(site)
        self.params = dict(site.node.params)
        self.info = self.code.room("i32")

    def part(self, name: str) -> Operand:
        """Return an array as an operand."""
        return "ptr", self.code.start(self.parts[name])

    def room(self, name: str) -> tuple[Operand, Operand]:
        """Return an array as an operand, and its length."""
        return self.part(name), self.number(math.prod(self.parts[name].shape))

    def lapack(self, name: str, *operands: Operand) -> None:
        """Call a function of LAPACK's; what it says goes to `info`."""
        self.call(LAPACK, name, *operands, ("ptr", self.info))

    def write(self) -> None:
        """Write the loop over the stack."""
        if 0 not in self.views[0].shape:
            self.over(lambda matrices, _: self._one(matrices))

    def _one(self, matrices: list[str]) -> None:
        source, *targets = matrices
        copy = self.parts["a"]
        self.copy(self.views[0], source, copy, self.part("a")[1])
        if self.how.gives_up:
            self.code.store("i32", 1, self.info)
            with self.code.when(self._is_finite(copy)):
                self.how.call(self, self.wanted)
            bad = self.code.emit(f"icmp ne i32 {self.code.emit(f'load i32, ptr {self.info}')}, 0")
            with self.code.when(bad):
                for _, name in self.found:
                    self.fill(self.parts[name], self.part(name)[1], math.nan)
        else:
            self.how.call(self, self.wanted)
        for (view, name), target in zip(self.found, targets, strict=True):
            self.copy(self.parts[name], self.part(name)[1], view, target)

    def _is_finite(self, copy: View) -> str:
        """Return whether no element of a copy is NaN or infinite: x − x is 0."""
        code, cell, start = self.code, copy.cell, self.part("a")[1]

        def turn(i: str, values: list[str]) -> list[str]:
            x = code.load(cell, start, i)
            return [code.emit(f"fadd {cell} {values[0]}, {code.emit(f'fsub {cell} {x}, {x}')}")]

        (total,) = code.loop(math.prod(copy.shape), turn, ["0.0"], cell)
        return code.emit(f"fcmp oeq {cell} {total}, 0.0")

    def copy(self, source: View, start: str, target: View, end: str) -> None:
        """Copy a matrix, or what one has of a result, between addresses."""
        shape = target.shape if target.buffer == self.site.own else source.shape
        steps = [view.strides[len(view.strides) - len(shape) :] for view in (source, target)]
        axes = [(n, *both) for n, *both in zip(shape, *steps, strict=True)]
        size = BY_SIZE[target.dtype.itemsize]
        pointwise_at(self.code, [source], [target], [start, end], axes, size, lambda _, values: values)

    def fill(self, view: View, start: str, value: float) -> None:
        """Fill an array of the own memory."""
        count = math.prod(view.shape)
        pointwise_at(
            self.code, [], [view], [start], [(count, 1)], view.dtype, lambda v, _: [v.of(view.dtype).constant(value)]
        )


# -- lu ----------------------------------------------------------------------------------------------------------------


def _lu_parts(n: int, _: int, dtype: Any) -> Parts:
    return {"a": ((n, n), dtype), "pivots": ((n,), INT32), "order": ((n,), INT64), "parity": ((), dtype)}


def _call_getrf(on: Matrices, wanted: Sequence[bool]) -> None:
    code, n, size = on.code, on.rows, on.number(on.rows)
    on.lapack("getrf", size, size, on.part("a"), size, on.part("pivots"))
    (_, pivots), (_, order), (_, parity) = map(on.part, ("pivots", "order", "parity"))
    code.loop(n, lambda i, _: code.store("i64", i, code.place("i64", order, i)))

    def exchange(i: str, values: list[str]) -> list[str]:
        number = code.emit(f"sext i32 {code.load('i32', pivots, i)} to i64")
        pivot = code.emit(f"sub i64 {number}, 1")
        here, there = code.place("i64", order, i), code.place("i64", order, pivot)
        first, second = (code.emit(f"load i64, ptr {place}") for place in (here, there))
        code.store("i64", second, here)
        code.store("i64", first, there)
        same = code.emit(f"icmp eq i64 {pivot}, {i}")
        turned = code.emit(f"fneg {on.cell} {values[0]}")
        return [code.emit(f"select i1 {same}, {on.cell} {values[0]}, {on.cell} {turned}")]

    (sign,) = code.loop(n, exchange, [number_text(on.dtype, 1)], on.cell)
    code.store(on.cell, sign, parity)


LU = Factorization(("getrf",), _lu_parts, _call_getrf, ("a", "order", "parity")).loops()


# -- cofactors ---------------------------------------------------------------------------------------------------------


def _cofactor_parts(n: int, columns: int, dtype: Any) -> Parts:
    return {**_lu_parts(n, columns, dtype), "adjugate": ((n, n), dtype), "cofactors": ((n, n), dtype)}


def _call_for_cofactors(on: Matrices, wanted: Sequence[bool]) -> None:
    """With p a = l u, the cofactors are the sign of p times (adj(u) l⁻¹ p)ᵀ, where adj(u) needs no division."""
    _call_getrf(on, wanted)
    code, n, size = on.code, on.rows, on.number(on.rows)
    one = code.room(on.cell)
    code.store(on.cell, number_text(on.dtype, 1), one)
    (_, u), (_, order), (_, parity), (_, adjugate), (_, found) = map(
        on.part, ("a", "order", "parity", "adjugate", "cofactors")
    )
    _write_adjugate(on, u, adjugate)
    letters = [on.letter(c) for c in "RLNU"]
    on.call(BLAS, "trsm", *letters, size, size, ("ptr", one), ("ptr", u), size, ("ptr", adjugate), size)
    sign = code.emit(f"load {on.cell}, ptr {parity}")

    def column(r: str, _: list[str]) -> None:
        row = code.load("i64", order, r)
        start = code.place(on.cell, adjugate, code.emit(f"mul i64 {r}, {n}"))

        def element(i: str, _: list[str]) -> None:
            value = code.emit(f"fmul {on.cell} {sign}, {code.load(on.cell, start, i)}")
            at = code.emit(f"add i64 {row}, {code.emit(f'mul i64 {i}, {n}')}")
            code.store(on.cell, value, code.place(on.cell, found, at))

        code.loop(n, element)

    code.loop(n, column)


def _write_adjugate(on: Matrices, u: str, adjugate: str) -> None:
    """Write the adjugate of a triangular matrix, one row and column more at a time.

    Of the matrix with a further column c above d it is d times the last one, minus that times c, and its determinant.
    """
    code, n, cell = on.code, on.rows, on.cell

    def at(start: str, i: str, j: str) -> str:
        return code.place(cell, start, code.emit(f"add i64 {i}, {code.emit(f'mul i64 {j}, {n}')}"))

    def load(start: str, i: str, j: str) -> str:
        return code.emit(f"load {cell}, ptr {at(start, i, j)}")

    def further(k: str, determinant: list[str]) -> list[str]:
        end = load(u, k, k)

        def row(i: str, _: list[str]) -> None:
            def term(j: str, total: list[str]) -> list[str]:
                old = load(adjugate, i, j)
                code.store(cell, code.emit(f"fmul {cell} {end}, {old}"), at(adjugate, i, j))
                product = code.emit(f"fmul {cell} {old}, {load(u, j, k)}")
                return [code.emit(f"fsub {cell} {total[0]}, {product}")]

            (total,) = code.loop(k, term, ["0.0"], cell, start=i)
            code.store(cell, total, at(adjugate, i, k))

        with code.when(code.emit(f"icmp ne i64 {k}, 0")):
            code.loop(k, row)
        code.store(cell, determinant[0], at(adjugate, k, k))
        return [code.emit(f"fmul {cell} {determinant[0]}, {end}")]

    on.fill(on.parts["adjugate"], adjugate, 0.0)
    code.loop(n, further, [number_text(on.dtype, 1)], cell)


COFACTORS = Factorization(("getrf",), _cofactor_parts, _call_for_cofactors, ("cofactors",)).loops()


# -- qr ----------------------------------------------------------------------------------------------------------------


def _qr_parts(m: int, n: int, dtype: Any) -> Parts:
    return {"a": ((m, n), dtype), "r": ((n, n), dtype), "tau": ((n,), dtype), "work": ((LAPACK_BLOCK * n,), dtype)}


def _call_geqrf(on: Matrices, wanted: Sequence[bool]) -> None:
    rows, columns, tau = on.number(on.rows), on.number(on.columns), on.part("tau")
    on.lapack("geqrf", rows, columns, on.part("a"), rows, tau, *on.room("work"))
    if wanted[1]:
        _keep_upper(on)
    if wanted[0]:
        on.lapack("orgqr", rows, columns, columns, on.part("a"), rows, tau, *on.room("work"))


def _keep_upper(on: Matrices) -> None:
    """Copy what lies on and above the diagonal."""
    code, (_, a), (_, r) = on.code, on.part("a"), on.part("r")

    def column(j: str, _: list[str]) -> None:
        first, kept = (code.place(on.cell, start, code.emit(f"mul i64 {j}, {n}")) for start, n in heights)

        def element(i: str, _: list[str]) -> None:
            below = code.emit(f"icmp ugt i64 {i}, {j}")
            value = code.emit(f"select i1 {below}, {on.cell} 0.0, {on.cell} {code.load(on.cell, first, i)}")
            code.store(on.cell, value, code.place(on.cell, kept, i))

        code.loop(on.columns, element)

    heights = ((a, on.rows), (r, on.columns))
    code.loop(on.columns, column)


QR = Factorization(("geqrf", "orgqr"), _qr_parts, _call_geqrf, ("a", "r")).loops()


# -- spectra -----------------------------------------------------------------------------------------------------------


# Half of the flops of these two are products of a matrix and a vector, which wait for memory: half of the speed.


def _eigh_parts(n: int, _: int, dtype: Any) -> Parts:
    work = {"work": ((1 + 6 * n + 2 * n * n,), dtype), "integers": ((3 + 5 * n,), INT32)}
    return {"a": ((n, n), dtype), "w": ((n,), dtype), **work}


def _call_syevd(on: Matrices, wanted: Sequence[bool]) -> None:
    job, triangle = "V" if wanted[1] else "N", "L" if on.params["lower"] else "U"
    letters, size = (on.letter(job), on.letter(triangle)), on.number(on.rows)
    on.lapack("syevd", *letters, size, on.part("a"), size, on.part("w"), *on.room("work"), *on.room("integers"))


EIGH = Factorization(("syevd",), _eigh_parts, _call_syevd, ("w", "a"), gives_up=True, speed=0.5).loops()


def _svd_parts(m: int, n: int, dtype: Any) -> Parts:
    k = min(m, n)
    results: Parts = {"u": ((m, k), dtype), "s": ((k,), dtype), "vh": ((k, n), dtype)}
    work: Parts = {"work": ((4 * k * k + 10 * k + max(m, n),), dtype), "integers": ((8 * k,), INT32)}
    return {"a": ((m, n), dtype), **results, **work}


def _call_gesdd(on: Matrices, wanted: Sequence[bool]) -> None:
    job = on.letter("S" if wanted[0] or wanted[2] else "N")
    rows, columns, few = map(on.number, (on.rows, on.columns, min(on.rows, on.columns)))
    results = on.part("s"), on.part("u"), rows, on.part("vh"), few
    on.lapack("gesdd", job, rows, columns, on.part("a"), rows, *results, *on.room("work"), on.part("integers"))


SVD = Factorization(("gesdd",), _svd_parts, _call_gesdd, ("u", "s", "vh"), gives_up=True, speed=0.5).loops()
