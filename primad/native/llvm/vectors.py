"""Vectors in LLVM text: their types, constants, instructions, and the functions of the C library for them.

Nothing here may change a result's IEEE semantics: no fast-math flags, no contraction. Every lane of a vector is
computed from its own operands alone, so a value does not depend on where in a loop its element stands.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from primad.native.llvm.builder import Builder
from primad.system.machine import CORE, FEWEST_REGISTERS, LONGEST_VECTOR_BYTES, VECTOR_BYTES

WIDTH_BYTES = VECTOR_BYTES
"""How long the vectors are that code is written for."""
LONGEST_SIDE = FEWEST_REGISTERS // 2
"""Rows of a block that a loop keeps in registers, and vectors in a row, at most: half of the registers that all
processors have. The blocks of products, and so the bits of their sums, depend on it."""
MOST_DOUBLES = LONGEST_VECTOR_BYTES // 8
"""Doubles of the longest vectors that a processor may have."""

ROUNDED_AS_OTHERS = 4
"""What AVX-512's instructions take to round as all others do. Given by Intel."""

LIBMVEC = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos",
    "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "atan", "atan2", "hypot", "pow",
)  # fmt: skip
"""Functions that glibc has for vectors; each stays below 4 ulp for both widths, which the tests check."""
OF_TWO = frozenset(("atan2", "hypot", "pow"))
"""Those of two operands."""


@lru_cache(maxsize=1)
def libmvec() -> dict[str, int]:
    """Return the addresses of the vector functions of the C library; empty where it has none."""
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return {}
    found: dict[str, int] = {}
    for name in LIBMVEC:
        for symbol in (symbol_of(name, scalar, width) for scalar in ("double", "float") for width in (32, 64)):
            function = getattr(library, symbol, None)
            address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
            if address is not None:
                found[symbol] = address
    return found


def symbol_of(name: str, scalar: str, width: int) -> str:
    """Return the name of libmvec's function of vectors of so many bytes."""
    size, end = (8, "") if scalar == "double" else (4, "f")
    operands = "vv" if name in OF_TWO else "v"
    return f"_ZGV{'e' if width == 64 else 'd'}N{width // size}{operands}_{name}{end}"


BOOL = np.dtype(bool)
INTEGERS = {
    "|i1": "i8", "|u1": "i8", "<i2": "i16", "<u2": "i16", "<i4": "i32", "<u4": "i32", "<i8": "i64", "<u8": "i64",
}  # fmt: skip
CELLS = {"<f8": "double", "<f4": "float", "|b1": "i8", **INTEGERS}
"""LLVM's type of an element in memory, for the dtypes that there is native code for."""
MANGLED = {"double": "f64", "float": "f32", **{cell: cell for cell in INTEGERS.values()}}
"""These types in the names of LLVM's intrinsics."""
BY_SIZE: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.float64),
    4: np.dtype(np.float32),
    2: np.dtype(np.int16),
    1: np.dtype(np.int8),
}
"""The dtype that stands for all of a size where only the number of lanes matters."""


def lanes_of(dtype: np.dtype[Any]) -> int:
    """Return how many numbers of a type a vector has."""
    return WIDTH_BYTES // dtype.itemsize


def number_text(dtype: np.dtype[Any], value: float) -> str:
    """Return a number as LLVM text writes it; of a truth value, as it lies in memory."""
    if dtype.kind != "f":
        return str(int(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(dtype.type(value))))[0]:016X}"


def filled(dtype: np.dtype[Any], lanes: int, value: float) -> str:
    """Return a vector of equal elements, as they lie in memory."""
    return "<" + ", ".join([f"{CELLS[dtype.str]} {number_text(dtype, value)}"] * lanes) + ">"


class Vector:
    """Writes straight-line code on vectors of one type.

    Attributes:
        code: the function that is written.
        dtype: the type.
        scalar: LLVM's type of an element: 'double', 'float', 'i64', …, or 'i1' for truth values.
        lanes: how many elements a vector has.
        type: LLVM's type of a vector.
        bool: and of a vector of truth values.
    """

    def __init__(self, code: Builder, dtype: np.dtype[Any], lanes: int = 0) -> None:
        self.code = code
        self.dtype = dtype
        self.scalar = "i1" if dtype.kind == "b" else CELLS[dtype.str]
        self.lanes = lanes or lanes_of(dtype)
        self.type = f"<{self.lanes} x {self.scalar}>"
        self.bool = f"<{self.lanes} x i1>"

    def of(self, dtype: Any) -> Vector:
        """Return the writer for vectors of as many elements of another type."""
        return self if dtype == self.dtype else Vector(self.code, np.dtype(dtype), self.lanes)

    @property
    def signed(self) -> bool:
        """Whether it is of integers with a sign."""
        return self.dtype.kind == "i"

    @property
    def integers(self) -> Vector:
        """The writer for integers with a sign of the same size."""
        return self.of(f"i{self.dtype.itemsize}")

    def constant(self, value: float) -> str:
        """Return a vector of equal elements."""
        if self.dtype.kind == "b":
            return self.listed([bool(value)] * self.lanes)
        return filled(self.dtype, self.lanes, self.dtype.type(value).item())

    def listed(self, values: Sequence[float]) -> str:
        """Return a vector of elements that are known."""
        return "<" + ", ".join([f"{self.scalar} {number_text(self.dtype, value)}" for value in values]) + ">"

    def repeated(self, number: str) -> str:
        """Return a vector whose elements all are a number."""
        one = self.code.emit(f"insertelement {self.type} poison, {self.scalar} {number}, i64 0")
        return self.code.emit(
            f"shufflevector {self.type} {one}, {self.type} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def widened(self, x: str, lanes: int) -> str:
        """Return a vector of so many lanes several times, one behind another, which takes no instruction."""
        if lanes == self.lanes:
            return x
        return self.code.picked(f"<{lanes} x {self.scalar}>", x, "poison", (i % lanes for i in range(self.lanes)))

    def in_step(self, x: str) -> str:
        """Return a value of several of the processor's vectors, of which nothing is read before all are known.

        LLVM would else write what is computed of one vector before what is computed of the next: it saves registers.
        Both on x86 and on ARM `x` stands for the registers of vectors that every instruction for them takes.
        """
        lanes = min(WIDTH_BYTES, VECTOR_BYTES) // self.dtype.itemsize
        parts = [self.code.picked(self.type, x, "poison", range(i, i + lanes)) for i in range(0, self.lanes, lanes)]
        kind = f"<{lanes} x {self.scalar}>"
        most = CORE.in_flight
        parts = [part for i in range(0, len(parts), most) for part in self.code.met(kind, parts[i : i + most])]
        while lanes < self.lanes:
            kind, lanes = f"<{lanes} x {self.scalar}>", 2 * lanes
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.code.picked(kind, one, other, range(lanes)) for one, other in pairs]
        return parts[0]

    def op(self, name: str, *operands: str) -> str:
        """Apply an instruction, as `fadd`."""
        return self.code.once(f"{name} {self.type} " + ", ".join(operands))

    def arithmetic(self, name: str, *operands: str) -> str:
        """Apply `add`, `sub` or `mul`, of floats or integers."""
        return self.op(f"f{name}" if self.dtype.kind == "f" else name, *operands)

    def intrinsic(self, name: str, *operands: str) -> str:
        """Call an LLVM intrinsic, as `fabs`."""
        return self.call(f"llvm.{name}.v{self.lanes}{MANGLED[self.scalar]}", *operands)

    def product_sum(self, factors: Sequence[str], total: str = "") -> str:
        """Return a total, if there is one, + the product of one or two factors, of floats rounded once."""
        if total and len(factors) == 2 and self.dtype.kind == "f":
            return self.intrinsic("fma", *factors, total)
        product = factors[0] if len(factors) == 1 else self.arithmetic("mul", *factors)
        return self.arithmetic("add", total, product) if total else product

    def times_powers(self, x: str, n: str) -> str | None:
        """Return x·2ⁿ of whole numbers n, rounded once, by AVX-512's instruction; None where there is none for this."""
        lanes = LONGEST_VECTOR_BYTES // self.dtype.itemsize
        doubled = self.lanes >= lanes and self.lanes.bit_count() == 1  # the numbers of lanes that pairs of vectors have
        if WIDTH_BYTES < LONGEST_VECTOR_BYTES or self.scalar != "double" or not doubled:
            return None
        kind, found = f"<{lanes} x {self.scalar}>", []
        for start in range(0, self.lanes, lanes):
            part = [self.code.picked(self.type, y, "poison", range(start, start + lanes)) for y in (x, n)]
            operands = [(kind, y) for y in (*part, part[0])]
            as_others = [("i8", "-1"), ("i32", str(ROUNDED_AS_OTHERS))]
            found.append(self.code.call_once(kind, "llvm.x86.avx512.mask.scalef.pd.512", *operands, *as_others))
        while len(found) > 1:
            kind, lanes = f"<{lanes} x {self.scalar}>", 2 * lanes
            found = [self.code.picked(kind, *pair, range(lanes)) for pair in zip(found[::2], found[1::2], strict=True)]
        return found[0]

    def call(self, symbol: str, *operands: str) -> str:
        """Call a function of vectors."""
        return self.code.call_once(self.type, symbol, *[(self.type, x) for x in operands])

    def each(self, symbol: str, *operands: str, then: Sequence[tuple[str, str]] = ()) -> str:
        """Call a function of numbers for each lane.

        Args:
            symbol: its name.
            operands: vectors.
            then: further operands, each a type and a value.
        """
        found = "poison"
        for lane in range(self.lanes):
            values = [self.code.once(f"extractelement {self.type} {x}, i64 {lane}") for x in operands]
            one = self.code.call_once(self.scalar, symbol, *[(self.scalar, x) for x in values], *then)
            found = self.code.once(f"insertelement {self.type} {found}, {self.scalar} {one}, i64 {lane}")
        return found

    def compare(self, name: str, x: str, y: str) -> str:
        """Compare two vectors of floats, as `olt`, or of integers, as `slt`."""
        return self.code.once(f"{'fcmp' if self.dtype.kind == 'f' else 'icmp'} {name} {self.type} {x}, {y}")

    def order(self, name: str, x: str, y: str) -> str:
        """Compare two vectors of any type: `lt`, `le`, `gt`, `eq`; with a NaN nothing is true, `ne` is."""
        if self.dtype.kind == "f":
            return self.compare(f"{'u' if name == 'ne' else 'o'}{name}", x, y)
        return self.compare(name if name in ("eq", "ne") else f"{'s' if self.signed else 'u'}{name}", x, y)

    def choose(self, condition: str, x: str, y: str) -> str:
        """Take lanes of x where the condition holds, of y elsewhere."""
        return self.code.once(f"select {self.bool} {condition}, {self.type} {x}, {self.type} {y}")

    def logic(self, name: str, x: str, y: str) -> str:
        """Combine truth values."""
        return self.code.once(f"{name} {self.bool} {x}, {y}")

    def changed(self, how: str, x: str, target: Vector) -> str:
        """Convert a vector by an instruction, as `bitcast` or `fptosi`."""
        return self.code.once(f"{how} {self.type} {x} to {target.type}")


class Number(Vector):
    """Writes straight-line code on single numbers of one type."""

    def __init__(self, code: Builder, dtype: np.dtype[Any]) -> None:
        super().__init__(code, dtype, 1)
        self.type, self.bool = self.scalar, "i1"

    def of(self, dtype: Any) -> Vector:
        """Return the writer for numbers of another type."""
        return self if dtype == self.dtype else Number(self.code, np.dtype(dtype))

    def constant(self, value: float) -> str:
        """Return a number that is known."""
        return number_text(self.dtype, value)
