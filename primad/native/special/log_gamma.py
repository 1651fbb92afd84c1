"""The logarithm of the gamma function, in double precision: about its zeros, far from them, and reflected."""

from __future__ import annotations

import math

from primad.native.emit.emit_context import Pointwise, times
from primad.native.emit.vector_functions import function
from primad.native.emit.vector_math import in_double
from primad.native.llvm.vectors import Vector
from primad.native.special.fits import LOG_GAMMA, SINC, STIRLING


def _of_positive(v: Vector, x: str) -> str:
    """Return log Γ(x) of x ≥ 0: (x − 1)·(x − 2) times a fit, below 1 of x + 1 (DLMF 5.5.1); from 3 on Stirling's."""
    one, zero = v.constant(1), v.constant(0)
    low, far = v.compare("olt", x, one), v.compare("oge", x, v.constant(LOG_GAMMA.high))
    log, less = function(v, "log", x), v.op("fsub", x, one)
    first, second = v.choose(low, x, less), v.choose(low, less, v.op("fsub", x, v.constant(2)))
    fit = LOG_GAMMA.at(v, v.choose(low, v.op("fadd", x, one), x))
    near = v.op("fadd", v.op("fmul", v.op("fmul", first, second), fit), v.choose(low, v.op("fneg", log), zero))
    inverse = v.op("fdiv", one, x)
    scaled = v.op("fmul", inverse, v.constant(LOG_GAMMA.high))
    constant = v.constant(0.5 * math.log(2 * math.pi) - 0.5)
    rest = v.intrinsic("fma", STIRLING.at(v, v.op("fmul", scaled, scaled)), inverse, constant)
    lead = v.op("fsub", x, v.constant(0.5))
    return v.choose(far, v.intrinsic("fma", lead, v.op("fsub", log, one), rest), near)


def _product(v: Vector, x: str, y: str) -> tuple[str, str]:
    """Return x·y and what rounding it lost."""
    product = v.op("fmul", x, y)
    return product, v.intrinsic("fma", x, y, v.op("fneg", product))


def _of_four(v: Vector, x: str) -> tuple[str, str]:
    """Return −x(x + 1)(x + 2)(x + 3), and what is lost of it, for −3 < x < −2."""
    after = [v.op("fadd", x, v.constant(k)) for k in (1, 2, 3)]
    a, of_a = _product(v, x, after[2])
    b, of_b = _product(v, after[0], after[1])
    product, lost = _product(v, a, v.op("fneg", b))
    lost = v.op("fsub", lost, v.intrinsic("fma", a, of_b, v.op("fmul", b, of_a)))
    return product, lost


def _gammaln(v: Vector, x: str) -> str:
    """Return log |Γ(x)|; for x ≤ 0 it is −log |sin πx|/π − log Γ(1 − x) (DLMF 5.5.3).

    Between −3 and −2, where it is small and both of these are not, it is log Γ(x + 4) − log |x(x + 1)(x + 2)(x + 3)|.
    """
    one, infinity = v.constant(1), v.constant(math.inf)
    below = v.compare("ole", x, v.constant(0))
    small = v.logic("and", v.compare("ogt", x, v.constant(-3)), v.compare("olt", x, v.constant(-2)))
    moved = v.choose(small, v.op("fadd", x, v.constant(4)), v.op("fsub", one, x))
    found = _of_positive(v, v.choose(below, moved, x))
    some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, below))

    def with_reflections() -> str:
        away = v.op("fsub", x, v.intrinsic("rint", x))
        wave = v.op("fmul", v.intrinsic("fabs", away), SINC.at(v, v.op("fmul", away, away)))
        four, lost = _of_four(v, x)
        log = function(v, "log", v.choose(small, four, wave))
        of_four = v.op("fsub", found, v.op("fadd", log, v.op("fdiv", lost, four)))
        reflected = v.choose(small, of_four, v.op("fneg", v.op("fadd", log, found)))
        reflected = v.choose(v.compare("oeq", away, v.constant(0)), infinity, reflected)
        reflected = v.choose(v.compare("oeq", x, v.constant(-math.inf)), x, reflected)  # as SciPy's
        return v.choose(below, reflected, found)

    return v.code.either(v.type, some, with_reflections, lambda: found)


gammaln = Pointwise(in_double(_gammaln), function=True, times_exp=times(3.5))
"""How it is written; the time is that of positive numbers, measured."""
