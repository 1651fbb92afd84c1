"""Loops over stacks of matrices, each of which LAPACK or BLAS works on: by the addresses that SciPy exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad.ir.node import Node
from primad.native.emit.copies import write_copy
from primad.native.emit.emit_context import Site
from primad.native.llvm.scratch_memory import aligned
from primad.native.llvm.strided_views import Code, View, contiguous, counter_of, row_major
from primad.native.llvm.symbols import MARK, address_of

BLAS, LAPACK = "scipy.linalg.cython_blas", "scipy.linalg.cython_lapack"
Operand = tuple[str, str]
"""The type of an operand, and the operand."""
Parts = dict[str, tuple[tuple[int, ...], Any]]
"""Arrays in an op's own memory: their shapes and dtypes."""
_LETTER = {8: "d", 4: "s"}


def not_exported(module: str, name: str) -> Callable[[Node], str]:
    """Return what says why SciPy's function cannot be called for a node; '' where it can."""

    def limit(node: Node) -> str:
        full = _LETTER[node.inputs[0].type.dtype.itemsize] + name
        return "" if address_of(module, full) else f"SciPy does not export {full} for native code"

    return limit


def copied_matrices(node: Node) -> int:
    """Return the bytes of the first operand, of which there may be a copy whose matrices lie row by row."""
    return int(node.inputs[0].type.nbytes)


def placed(buffer: Any, parts: Parts) -> tuple[dict[str, View], int]:
    """Return where arrays lie in an op's own memory, column by column, and how many bytes they take."""
    found: dict[str, View] = {}
    size = 0
    for name, (shape, dtype) in parts.items():
        found[name] = View(buffer, size // dtype.itemsize, shape, contiguous(shape[::-1])[::-1], dtype)
        size = aligned(size + found[name].nbytes)
    return found, size


def _by_rows(view: View) -> bool:
    """Say whether each matrix of a stack lies row by row."""
    return view.strides[-2:] == contiguous(view.shape[-2:])


class Stack:
    """Calls for each matrix of a stack; in the languages of LAPACK, all operands are addresses.

    Args:
        site: the op.
        views: the operands and results that the calls read and write.
        own_axes: how many axes of the first of them belong to a matrix.
    """

    def __init__(self, site: Site, views: Sequence[View], own_axes: int = 2) -> None:
        self.site, self.code, self.views = site, site.code, views
        self.dtype = views[0].dtype
        self.cell = views[0].cell
        self.batch = views[0].shape[: len(views[0].shape) - own_axes]

    def number(self, value: int) -> Operand:
        """Return an operand that is an integer."""
        return self._operand("i32", str(value))

    def letter(self, value: str) -> Operand:
        """Return an operand that is a letter."""
        return self._operand("i8", str(ord(value)))

    def _operand(self, cell: str, value: str) -> Operand:
        room = self.code.room(cell)
        self.code.store(cell, value, room)
        return "ptr", room

    def call(self, module: str, name: str, *operands: Operand) -> None:
        """Call a function of the matrices' precision."""
        self.code.run(f"{MARK}{module}.{_LETTER[self.dtype.itemsize]}{name}", *operands)

    def over(self, body: Callable[[list[str], Callable[[], str]], None]) -> None:
        """Write the loop over the stack: body(addresses of the matrices, what writes the number of this one)."""
        code, batch = self.code, self.batch
        counter = counter_of(batch)
        axes = [(n, *[view.strides[i] for view in self.views], counter.strides[i]) for i, n in enumerate(batch)]

        def turn(pointers: list[str]) -> None:
            *matrices, place = pointers
            body(matrices, lambda: code.emit(f"ptrtoint ptr {place} to i64"))

        if 0 not in batch:
            code.over([*self.views, counter], [*map(code.start, self.views), "null"], axes, turn)


def _matrices_by_rows(site: Site) -> View:
    """Return the matrices of the first operand, copied if they do not lie row by row."""
    x = site.operands[0]
    if _by_rows(x):
        return x
    assert site.own is not None
    copy = row_major(x.shape, x.dtype, site.own)
    write_copy(site.code, x, copy)
    return copy


def triangular_solver(node: Node) -> str:
    """Return the name of BLAS's function for right-hand sides; for a vector it need not pack the matrix."""
    return "trsv" if node.type.shape[-1] == 1 else "trsm"


def write_solve_triangular(site: Site) -> None:
    """Write the loops of triangular solves; a zero on a diagonal is reported."""
    out = site.out
    params = site.params
    write_copy(site.code, site.operands[1], out)
    a = _matrices_by_rows(site)
    *_, n, m = out.shape
    if 0 in out.shape:
        return
    stack = Stack(site, [a, out])
    # Row by row, a matrix is what LAPACK takes for its transpose: xᵀ aᵀ = bᵀ.
    side, plain, turned = [stack.letter(c) for c in "RNT"]
    triangle, unit = stack.letter("U" if params["lower"] else "L"), stack.letter("U" if params["unit"] else "N")
    columns, rows, one = stack.number(m), stack.number(n), site.code.room(a.cell)
    site.code.store(a.cell, "1.0", one)
    name = triangular_solver(site.node)

    def solve(matrices: list[str], place: Callable[[], str]) -> None:
        if not params["unit"]:
            site.code.loop(n, lambda i, _: _require_nonzero(site, a, matrices[0], i, place))
        source, target = (("ptr", matrix) for matrix in matrices)
        if name == "trsv":
            how = plain if params["transpose"] else turned
            stack.call(BLAS, name, triangle, how, unit, rows, source, rows, target, columns)
        else:
            how = turned if params["transpose"] else plain
            shape = (columns, rows, ("ptr", one))
            stack.call(BLAS, name, side, triangle, how, unit, *shape, source, rows, target, columns)

    stack.over(solve)


def _diagonal(site: Site, a: View, matrix: str, i: str) -> str:
    """Load an element of the diagonal of a matrix."""
    (at,) = site.code.step([a], [matrix], i, [a.strides[-2] + a.strides[-1]])
    return site.code.emit(f"load {a.cell}, ptr {at}, align 1")


def _require_nonzero(site: Site, a: View, matrix: str, i: str, place: Callable[[], str]) -> None:
    zero = site.code.emit(f"fcmp oeq {a.cell} {_diagonal(site, a, matrix, i)}, 0.0")
    site.fail(zero, place, i)


def _require_number(site: Site, a: View, matrix: str, i: str, place: Callable[[], str]) -> None:
    """Say that a minor is not positive where it is NaN, which LAPACK may take for a number that is."""
    value = _diagonal(site, a, matrix, i)
    unknown = site.code.emit(f"fcmp uno {a.cell} {value}, {value}")
    site.fail(unknown, place, site.code.emit(f"add i64 {i}, 1"))


def write_cholesky(site: Site) -> None:
    """Write the loops of Cholesky's factorization, in the place of the result."""
    (x,), out = site.operands, site.out
    code, n = site.code, out.shape[-1]
    write_copy(code, x, out)
    if 0 in out.shape:
        return
    stack = Stack(site, [out])
    upper, size, info = stack.letter("U"), stack.number(n), code.room("i32")

    def factor(matrices: list[str], place: Callable[[], str]) -> None:
        (matrix,) = matrices
        stack.call(LAPACK, "potrf", upper, size, ("ptr", matrix), size, ("ptr", info))
        order = code.emit(f"sext i32 {code.emit(f'load i32, ptr {info}')} to i64")
        site.fail(code.emit(f"icmp ne i64 {order}, 0"), place, order)
        code.loop(n, lambda i, _: _require_number(site, out, matrix, i, place))
        code.loop(n - 1, lambda i, _: _clear_behind_diagonal(code, out, matrix, i))

    stack.over(factor)


def _clear_behind_diagonal(code: Code, out: View, matrix: str, i: str) -> None:
    """Write zeros behind the diagonal of a row."""
    n = out.shape[-1]
    (row,) = code.step([out], [matrix], i, [n])
    first = code.emit(f"add i64 {i}, 1")
    code.loop(n, lambda j, _: code.store(out.cell, "0.0", code.place(out.cell, row, j)), start=first)
