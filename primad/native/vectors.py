"""LLVM text for pointwise functions of vectors: arithmetic as instructions, exp and its kin as calls into libmvec.

Nothing here may change a result's IEEE semantics: no fast-math flags, no contraction. Every lane of a vector is
computed from its own operands alone, so a value does not depend on where in a loop its element stands.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from primad.machine import VECTOR_BYTES
from primad.native.builder import Builder

Emit = Callable[..., str]


WIDTH_BYTES = VECTOR_BYTES
"""How long the vectors are that code is written for."""

LIBMVEC = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "erf", "erfc", "atan",
    "atan2", "hypot",
)  # fmt: skip
"""Functions that glibc has for vectors; each stays below 4 ulp for both widths, which the tests check."""
OF_TWO = frozenset(("atan2", "hypot"))
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


def symbol_of(name: str, scalar: str, width: int | None = None) -> str:
    """Return the name of libmvec's function of vectors of a width, by default of `WIDTH_BYTES`."""
    width = width or WIDTH_BYTES
    size, end = (8, "") if scalar == "double" else (4, "f")
    operands = "vv" if name in OF_TWO else "v"
    return f"_ZGV{'e' if width == 64 else 'd'}N{width // size}{operands}_{name}{end}"


CELLS = {"<f8": "double", "<f4": "float", "|b1": "i8"}
"""LLVM's type of an element, for the dtypes that there is native code for."""
MANGLED = {"double": "f64", "float": "f32", "i8": "i8"}
"""These types in the names of LLVM's intrinsics."""


def lanes_of(dtype: np.dtype[Any]) -> int:
    """Return how many numbers of a float type a vector has."""
    return WIDTH_BYTES // dtype.itemsize


def filled(cell: str, lanes: int, value: float) -> str:
    """Return a vector of equal elements; an i8 must be 0."""
    if cell == "i8":
        return "zeroinitializer"
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return "<" + ", ".join([f"{cell} 0x{bits:016X}"] * lanes) + ">"


class Vector:
    """Writes straight-line code on vectors of one float type.

    Attributes:
        code: the function that is written.
        dtype: the float type.
        scalar: 'double' or 'float'.
        lanes: how many elements a vector has.
        type: LLVM's type of a vector.
        bool: and of a vector of truth values.
    """

    def __init__(self, code: Builder, dtype: np.dtype[Any]) -> None:
        self.code = code
        self.dtype = dtype
        self.scalar = CELLS[dtype.str]
        self.lanes = lanes_of(dtype)
        self.type = f"<{self.lanes} x {self.scalar}>"
        self.bool = f"<{self.lanes} x i1>"

    def constant(self, value: float) -> str:
        """Return a vector of equal elements."""
        return filled(self.scalar, self.lanes, float(self.dtype.type(value)))

    def truth(self, value: bool) -> str:
        """Return a vector of equal truth values."""
        return "<" + ", ".join(["i1 true" if value else "i1 false"] * self.lanes) + ">"

    def op(self, name: str, *operands: str) -> str:
        """Apply an instruction of floats, as `fadd`."""
        return self.code.once(f"{name} {self.type} " + ", ".join(operands))

    def intrinsic(self, name: str, *operands: str) -> str:
        """Call an LLVM intrinsic of floats, as `fabs`."""
        return self.call(f"llvm.{name}.v{self.lanes}{MANGLED[self.scalar]}", *operands)

    def call(self, symbol: str, *operands: str) -> str:
        """Call a function of vectors."""
        return self.code.call_once(self.type, symbol, *[(self.type, x) for x in operands])

    def function(self, name: str, *operands: str) -> str:
        """Call a vector function of the C library."""
        return self.call(symbol_of(name, self.scalar), *operands)

    def compare(self, name: str, x: str, y: str) -> str:
        """Compare two vectors of floats."""
        return self.code.once(f"fcmp {name} {self.type} {x}, {y}")

    def choose(self, condition: str, x: str, y: str) -> str:
        """Take lanes of x where the condition holds, of y elsewhere."""
        return self.code.once(f"select {self.bool} {condition}, {self.type} {x}, {self.type} {y}")

    def logic(self, name: str, x: str, y: str) -> str:
        """Combine truth values."""
        return self.code.once(f"{name} {self.bool} {x}, {y}")


def _plain(name: str) -> Emit:
    return lambda v, *operands: v.op(name, *operands)


def _called(name: str) -> Emit:
    return lambda v, *operands: v.function(name, *operands)


def _larger(order: str) -> Emit:
    def emit(v: Vector, x: str, y: str) -> str:
        # A NaN in y fails the comparison and is chosen; one in x is chosen by being unordered with itself. Of equal
        # operands y is chosen, as NumPy does: it shows where they are zeros of different signs.
        return v.choose(v.logic("or", v.compare(order, x, y), v.compare("uno", x, x)), x, y)

    return emit


def _exp_below_zero(v: Vector, x: str) -> str:
    """Return exp(x) for x ≤ 0 within about 1 ulp, for functions that add errors of their own; libmvec's has up to 3."""
    if v.scalar == "float":
        return v.function("exp", x)
    x = v.choose(v.compare("olt", x, v.constant(-800)), v.constant(-800), x)
    magic = v.constant(1.5 * 2.0**52)  # adding it rounds to an integer, whose bits are then the lowest ones

    def power_of_two(shifted: str) -> str:
        integers = f"<{v.lanes} x i64>"
        bits = v.code.once(f"bitcast {v.type} {shifted} to {integers}")
        places = "<" + ", ".join(["i64 52"] * v.lanes) + ">"
        one = "<" + ", ".join([f"i64 {1023 << 52}"] * v.lanes) + ">"
        exponent = v.code.once(f"add {integers} {v.code.once(f'shl {integers} {bits}, {places}')}, {one}")
        return v.code.once(f"bitcast {integers} {exponent} to {v.type}")

    n = v.op("fsub", v.op("fadd", v.op("fmul", x, v.constant(1 / math.log(2))), magic), magic)
    rest = v.intrinsic("fma", n, v.constant(-6.93147180369123816490e-01), x)
    rest = v.intrinsic("fma", n, v.constant(-1.90821492927058770002e-10), rest)
    tail = _polynomial(v, rest, *[1 / math.factorial(k) for k in range(13, 1, -1)])
    near_one = v.op("fadd", v.intrinsic("fma", v.op("fmul", rest, rest), tail, rest), v.constant(1))
    # In two steps, since the whole power may lie below the smallest normal number.
    first = v.op("fadd", v.op("fmul", n, v.constant(0.5)), magic)
    second = v.op("fadd", v.op("fsub", n, v.op("fsub", first, magic)), magic)
    return v.op("fmul", v.op("fmul", near_one, power_of_two(first)), power_of_two(second))


def _decay(v: Vector, x: str) -> tuple[str, str]:
    """Return |x| and exp(−2|x|), which tanh and sech² share."""
    size = v.intrinsic("fabs", x)
    return size, _exp_below_zero(v, v.op("fmul", size, v.constant(-2)))


def _polynomial(v: Vector, x: str, *coefficients: float) -> str:
    """Evaluate a polynomial, highest power first, by Estrin's scheme: pairs side by side, then pairs of pairs."""
    terms = [v.constant(coefficient) for coefficient in reversed(coefficients)]
    while len(terms) > 1:
        odd = [terms.pop()] if len(terms) % 2 else []
        terms = [v.intrinsic("fma", high, x, low) for low, high in zip(terms[::2], terms[1::2], strict=True)] + odd
        if len(terms) > 1:
            x = v.op("fmul", x, x)
    return terms[0]


def _tanh(v: Vector, x: str) -> str:
    """|x| + |x|³·P(x²)/Q(x²) near 0 (the fractions of the Cephes library), 1 − 2e/(1 + e) elsewhere, e = exp(−2|x|)."""
    size, e = _decay(v, x)
    square = v.op("fmul", size, size)
    cube = v.op("fmul", size, square)
    if v.scalar == "double":
        p = _polynomial(v, square, -9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
        q = _polynomial(v, square, 1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)
    else:
        p = _polynomial(
            v, square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
        )
        q = v.constant(1)
    small = v.compare("olt", size, v.constant(0.625))
    above = v.choose(small, v.op("fmul", cube, p), v.op("fmul", e, v.constant(-2)))
    below = v.choose(small, q, v.op("fadd", e, v.constant(1)))
    start = v.choose(small, size, v.constant(1))
    return v.intrinsic("copysign", v.op("fadd", start, v.op("fdiv", above, below)), x)


def _sech2(v: Vector, x: str) -> str:
    """4e/(1 + e(2 + e)) with e = exp(−2|x|); rounding 1 + e and squaring it would exceed 4 ulp in places."""
    _, e = _decay(v, x)
    below = v.op("fadd", v.op("fmul", e, v.op("fadd", e, v.constant(2))), v.constant(1))
    return v.op("fdiv", v.op("fmul", e, v.constant(4)), below)


def _logistic(v: Vector, x: str) -> str:
    """1/(1 + e) for x ≥ 0 and e/(1 + e) below, with e = exp(−|x|): accurate in both tails."""
    e = _exp_below_zero(v, v.op("fneg", v.intrinsic("fabs", x)))
    one = v.constant(1)
    above = v.choose(v.compare("olt", x, v.constant(0)), e, one)
    return v.op("fdiv", above, v.op("fadd", e, one))


def _softplus(v: Vector, x: str) -> str:
    """max(x, 0) + log1p(exp(−|x|))."""
    e = _exp_below_zero(v, v.op("fneg", v.intrinsic("fabs", x)))
    positive = v.choose(v.compare("ugt", x, v.constant(0)), x, v.constant(0))
    return v.op("fadd", positive, v.function("log1p", e))


def _sign(v: Vector, x: str) -> str:
    zero = v.constant(0)
    negative = v.choose(v.compare("olt", x, zero), v.constant(-1), v.op("fadd", x, zero))
    return v.choose(v.compare("ogt", x, zero), v.constant(1), negative)


def _direction(v: Vector, x: str, y: str) -> str:
    """x/hypot(x, y), with the limits at infinity and 0 at the origin."""
    zero, one, infinity = v.constant(0), v.constant(1), v.constant(math.inf)
    far_x = v.compare("oeq", v.intrinsic("fabs", x), infinity)
    far_y = v.compare("oeq", v.intrinsic("fabs", y), infinity)
    near = v.choose(far_y, one, v.op("fmul", y, zero))
    x, y = v.choose(far_x, v.intrinsic("copysign", one, x), x), v.choose(far_x, near, y)
    length = v.function("hypot", x, y)
    return v.op("fdiv", x, v.choose(v.compare("oeq", length, zero), one, length))


def _leg(v: Vector, x: str) -> str:
    one = v.constant(1)
    return v.intrinsic("sqrt", v.op("fmul", v.op("fsub", one, x), v.op("fadd", one, x)))


EMITTERS: dict[str, Emit] = {
    "neg": _plain("fneg"),
    "add": _plain("fadd"),
    "sub": _plain("fsub"),
    "mul": _plain("fmul"),
    "div": _plain("fdiv"),
    "abs": lambda v, x: v.intrinsic("fabs", x),
    "sqrt": lambda v, x: v.intrinsic("sqrt", x),
    "floor": lambda v, x: v.intrinsic("floor", x),
    "sign": _sign,
    "maximum": _larger("ogt"),
    "minimum": _larger("olt"),
    "less": lambda v, x, y: v.compare("olt", x, y),
    "less_equal": lambda v, x, y: v.compare("ole", x, y),
    "equal": lambda v, x, y: v.compare("oeq", x, y),
    "logical_and": lambda v, x, y: v.logic("and", x, y),
    "logical_or": lambda v, x, y: v.logic("or", x, y),
    "logical_not": lambda v, x: v.logic("xor", x, v.truth(True)),
    "select": lambda v, c, x, y: v.choose(c, x, y),
    "mask": lambda v, c, x: v.choose(c, x, v.constant(0)),
    "exp": _called("exp"),
    "exp2": _called("exp2"),
    "expm1": _called("expm1"),
    "log": _called("log"),
    "log2": _called("log2"),
    "log10": _called("log10"),
    "log1p": _called("log1p"),
    "sin": _called("sin"),
    "cos": _called("cos"),
    "tan": _called("tan"),
    "sinh": _called("sinh"),
    "cosh": _called("cosh"),
    "arctan": _called("atan"),
    "arctan2": _called("atan2"),
    "hypot": _called("hypot"),
    "direction": _direction,
    "leg": _leg,
    "erf": _called("erf"),
    "erfc": _called("erfc"),
    "tanh": _tanh,
    "sech2": _sech2,
    "logistic": _logistic,
    "softplus": _softplus,
}
"""The pointwise ops that have native code, by name."""

TRUTHS = {"logical_and": (0, 1), "logical_or": (0, 1), "logical_not": (0,), "select": (0,), "mask": (0,)}
"""The operands that are truth values, of the ops that take any."""

NEEDS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in LIBMVEC if not name.startswith("atan")},
    "arctan": ("atan",),
    "arctan2": ("atan2",),
    "direction": ("hypot",),
    "tanh": ("exp",),
    "sech2": ("exp",),
    "logistic": ("exp",),
    "softplus": ("exp", "log1p"),
}
"""The library functions that an op's code calls: transcendental ops, which are worth a kernel of their own."""
