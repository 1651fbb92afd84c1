"""Loops over stacks of spectra, in which equal values are looked for: what derivatives of eigenvalues ask for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primad.ir.node import Node
from primad.native.emit.emit_context import Site
from primad.native.lapack.matrix_loops import LAPACK, Parts, Stack, placed
from primad.native.llvm.strided_views import View
from primad.native.llvm.vectors import MANGLED, number_text
from primad.ops.linalg.equal_values import ROUNDING


class _Spectra:
    """A loop over spectra that is being written.

    Args:
        site: the op.
        spectrum: which of its operands has the values.
    """

    def __init__(self, site: Site, spectrum: int) -> None:
        self.site, self.code = site, site.code
        self.x = site.operands[spectrum]
        self.views = [self.x, *[view for i, view in enumerate(site.operands) if i != spectrum], site.out]
        self.n, self.dtype, self.cell = self.x.shape[-1], self.x.dtype, self.x.cell
        self.eps = float(np.finfo(self.dtype).eps)
        self.stack = Stack(site, self.views, own_axes=1)

    def over(self, body: Callable[[list[str], Callable[[], str]], None]) -> None:
        """Write the loop: body(addresses of the spectrum, other operands and the result; what writes its number)."""
        if self.n:
            self.stack.over(body)

    def number(self, value: float) -> str:
        """Return a number of the values' type."""
        return number_text(self.dtype, value)

    def element(self, view: View, start: str, *index: str) -> str:
        """Return the address of an element of what a view has for one spectrum."""
        for i, step in zip(index, view.strides[len(view.strides) - len(index) :], strict=True):
            start = self.code.place(view.cell, start, self.code.emit(f"mul i64 {i}, {step}"))
        return start

    def load(self, view: View, start: str, *index: str) -> str:
        """Load an element."""
        return self.code.emit(f"load {self.cell}, ptr {self.element(view, start, *index)}, align 1")

    def op(self, name: str, x: str, y: str) -> str:
        """Apply an instruction."""
        return self.code.emit(f"{name} {self.cell} {x}, {y}")

    def size(self, x: str) -> str:
        """Return |x|."""
        return self.code.call(self.cell, f"llvm.fabs.{MANGLED[self.cell]}", (self.cell, x))

    def largest(self, view: View, start: str) -> str:
        """Return the largest size of an element, or NaN if one is."""

        def turn(i: str, values: list[str]) -> list[str]:
            size = self.size(self.load(view, start, i))
            larger = self.op("fcmp ugt", size, values[0])
            unknown = self.op("fcmp uno", values[0], values[0])
            found = self.code.emit(f"select i1 {larger}, {self.cell} {size}, {self.cell} {values[0]}")
            return [self.code.emit(f"select i1 {unknown}, {self.cell} {values[0]}, {self.cell} {found}")]

        return self.code.loop(self.n, turn, ["0.0"], self.cell)[0]

    def rounding(self, start: str) -> str:
        """Return how far apart values are that are equal to rounding."""
        return self.op("fmul", self.number(ROUNDING * self.n * self.eps), self.largest(self.x, start))

    def near(self, start: str, i: str, j: str, rounding: str) -> str:
        """Return whether two values are equal to rounding."""
        apart = self.op("fsub", self.load(self.x, start, j), self.load(self.x, start, i))
        return self.op("fcmp ole", self.size(apart), rounding)

    def is_zero(self, start: str, i: str, rounding: str) -> str:
        """Return whether a value is 0 to rounding."""
        return self.op("fcmp ole", self.size(self.load(self.x, start, i)), rounding)

    def pairs(self, body: Callable[[str, str], None]) -> None:
        """Write a loop over all pairs of values."""

        def row(i: str, _: list[str]) -> None:
            self.code.loop(self.n, lambda j, _: body(i, j))

        self.code.loop(self.n, row)

    def both(self, *conditions: str) -> str:
        """Return whether all conditions hold."""
        found, *others = conditions
        for other in others:
            found = self.code.emit(f"and i1 {found}, {other}")
        return found


def write_gaps(site: Site) -> None:
    """Write the loops of the inverse distances between values; two that are equal are reported."""
    on = _Spectra(site, 0)
    code, out = site.code, site.out

    def spectrum(starts: list[str], place: Callable[[], str]) -> None:
        x, target = starts
        rounding = on.rounding(x)

        def pair(i: str, j: str) -> None:
            later = code.emit(f"icmp ugt i64 {j}, {i}")
            site.fail(on.both(later, on.near(x, i, j, rounding)), place, i)
            same = code.emit(f"icmp eq i64 {i}, {j}")
            above, more = (
                code.emit(f"select i1 {same}, {on.cell} {on.number(a)}, {on.cell} {on.number(1 - a)}") for a in (0, 1)
            )
            apart = on.op("fsub", on.load(on.x, x, j), on.load(on.x, x, i))
            value = on.op("fdiv", above, on.op("fadd", apart, more))
            code.do(f"store {on.cell} {value}, ptr {on.element(out, target, i, j)}, align 1")

        on.pairs(pair)

    on.over(spectrum)


def write_spread(site: Site) -> None:
    """Write the loops that put cotangents on a diagonal; of equal values with different ones, the first is reported."""
    on = _Spectra(site, 1)
    code, out, (cotangents, _) = site.code, site.out, site.operands
    singular = site.params["singular"]

    def spectrum(starts: list[str], place: Callable[[], str]) -> None:
        x, given, target = starts
        rounding = on.rounding(x)
        allowed = on.op("fmul", on.number(float(np.sqrt(np.finfo(on.dtype).eps))), on.largest(cotangents, given))

        def value(i: str, _: list[str]) -> None:
            own = on.load(cotangents, given, i)
            if singular:
                moves = on.op("fcmp ogt", on.size(own), allowed)
                site.fail(on.both(on.is_zero(x, i, rounding), moves), place, i)
            code.loop(on.n, lambda j, _: pair(i, j, own))

        def pair(i: str, j: str, own: str) -> None:
            apart = on.size(on.op("fsub", on.load(cotangents, given, j), own))
            site.fail(on.both(on.near(x, i, j, rounding), on.op("fcmp ogt", apart, allowed)), place, i)
            same = code.emit(f"icmp eq i64 {i}, {j}")
            kept = code.emit(f"select i1 {same}, {on.cell} {own}, {on.cell} 0.0")
            code.do(f"store {on.cell} {kept}, ptr {on.element(out, target, i, j)}, align 1")

        code.loop(on.n, value)

    on.over(spectrum)


# -- slopes ------------------------------------------------------------------------------------------------------------


def memory_of_blocks(node: Node) -> int:
    """Return the bytes of a block of equal values, and of what LAPACK needs to work on it."""
    return placed(None, _blocks(node))[1]


def _blocks(node: Node) -> Parts:
    n, dtype = node.type.shape[-1], node.type.dtype
    work: Parts = {"work": ((2 * n + 1,), dtype), "integers": ((1,), np.dtype(np.int32))}
    return {"block": ((n * n,), dtype), "slopes": ((n,), dtype), **work}


def write_slopes(site: Site) -> None:
    """Write the loops of the slopes of values: a diagonal, and where values are equal the eigenvalues of a block."""
    on = _Spectra(site, 1)
    if on.n:
        _Slopes(site, on).write()


class _Slopes:
    """Slopes of values that are being written."""

    def __init__(self, site: Site, on: _Spectra) -> None:
        self.site, self.code, self.on = site, site.code, on
        self.changes, self.out = site.operands[0], site.out
        self.singular = site.params["singular"]
        self.memory = placed(site.own, _blocks(site.node))[0]
        self.start, self.size, self.info = (self.code.room(kind) for kind in ("i64", "i32", "i32"))

    def write(self) -> None:
        """Write the loops."""
        self.on.over(self._spectrum)

    def _spectrum(self, starts: list[str], place: Callable[[], str]) -> None:
        x, changes, target = starts
        on, code = self.on, self.code
        rounding = on.rounding(x)

        def steep(i: str, j: str) -> None:
            moves = on.op("fcmp une", on.load(self.changes, changes, i, j), "0.0")
            zero = on.both(on.is_zero(x, i, rounding), on.is_zero(x, j, rounding))
            self.site.fail(on.both(zero, moves), place, i)

        if self.singular:
            on.pairs(steep)

        def alone(i: str, _: list[str]) -> None:
            code.do(
                f"store {on.cell} {on.load(self.changes, changes, i, i)}, "
                f"ptr {on.element(self.out, target, i)}, align 1"
            )

        code.loop(on.n, alone)

        def ending(stop: str, _: list[str]) -> None:
            """End the block before a value, unless that is equal to the last one."""
            last = code.emit(f"icmp eq i64 {stop}, {on.n}")
            here = code.emit(f"select i1 {last}, i64 {on.n - 1}, i64 {stop}")
            apart = code.emit(f"xor i1 {on.near(x, code.emit(f'sub i64 {stop}, 1'), here, rounding)}, true")
            with code.when(code.emit(f"or i1 {last}, {apart}")):
                start = code.emit(f"load i64, ptr {self.start}")
                count = code.emit(f"sub i64 {stop}, {start}")
                with code.when(code.emit(f"icmp ugt i64 {count}, 1")):
                    self._block(changes, target, start, count)
                code.store("i64", stop, self.start)

        code.store("i64", 0, self.start)
        code.loop(on.n + 1, ending, start="1")

    def _block(self, changes: str, target: str, start: str, count: str) -> None:
        """Write the slopes of equal values, unless changes are not finite."""
        on, code = self.on, self.code
        block, slopes, work, integers = (
            code.start(self.memory[name]) for name in ("block", "slopes", "work", "integers")
        )

        def row(i: str, totals: list[str]) -> list[str]:
            return code.loop(count, lambda j, values: element(i, j, values), totals, on.cell)

        def element(i: str, j: str, totals: list[str]) -> list[str]:
            p, q = (code.emit(f"add i64 {start}, {k}") for k in (i, j))
            both = on.op("fadd", on.load(self.changes, changes, p, q), on.load(self.changes, changes, q, p))
            half = on.op("fmul", both, on.number(0.5))
            at = code.emit(f"add i64 {code.emit(f'mul i64 {i}, {count}')}, {j}")
            code.store(on.cell, half, code.place(on.cell, block, at))
            return [on.op("fadd", totals[0], on.op("fsub", half, half))]

        (total,) = code.loop(count, row, ["0.0"], on.cell)
        with code.when(on.op("fcmp oeq", total, "0.0")):
            code.store("i32", code.emit(f"trunc i64 {count} to i32"), self.size)
            stack, size = on.stack, ("ptr", self.size)
            letters = stack.letter("N"), stack.letter("L")
            rooms = ("ptr", work), stack.number(2 * on.n + 1), ("ptr", integers), stack.number(1)
            stack.call(
                LAPACK, "syevd", *letters, size, ("ptr", block), size, ("ptr", slopes), *rooms, ("ptr", self.info)
            )
            failed = code.emit(f"icmp ne i32 {code.emit(f'load i32, ptr {self.info}')}, 0")

            def copy(i: str, _: list[str]) -> None:
                place = code.emit(f"add i64 {start}, {i}")
                if self.singular:  # these are in descending order
                    place = code.emit(
                        f"sub i64 {code.emit(f'add i64 {start}, {count}')}, {code.emit(f'add i64 {i}, 1')}"
                    )
                value = code.load(on.cell, slopes, i)
                value = code.emit(f"select i1 {failed}, {on.cell} {on.number(np.nan)}, {on.cell} {value}")
                code.do(f"store {on.cell} {value}, ptr {on.element(self.out, target, place)}, align 1")

            code.loop(count, copy)
