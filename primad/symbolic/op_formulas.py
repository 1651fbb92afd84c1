"""Programs on SymPy expressions: what every op is as a formula, for all values of its operands and not at a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from primad import ops
from primad.errors import TracingError
from primad.ir.array_types import TupleType
from primad.ops.record.primitive import Primitive
from primad.verify.cases.case_table import cases
from primad.verify.exact import exact_fourier
from primad.verify.exact.object_arrays import Definition, Evaluator, pointwise
from primad.verify.exact.sympy_numbers import Symbols

SIMPLE = 10**6
"""Denominators of floats that are shown as fractions."""


class Formulas(Symbols):
    """SymPy expressions whose comparisons are conditions; numbers as people write them."""

    def number(self, value: Any) -> Any:
        """Return the number that a scalar stands for: a fraction or constant that rounds to it, or the float."""
        if isinstance(value, int):
            return sympy.Integer(value)
        if isinstance(value, complex):
            return self.number(value.real) + sympy.I * self.number(value.imag)
        if not np.isfinite(value):
            return super().number(value)
        fraction = Fraction(value).limit_denominator(SIMPLE)
        if float(fraction) == value:
            return sympy.Rational(fraction.numerator, fraction.denominator)
        exact = super().number(value)
        return sympy.Float(value) if exact.is_Rational else exact

    def less(self, x: Any, y: Any) -> Any:
        """Return the condition x < y."""
        return sympy.Lt(x, y)

    def equal(self, x: Any, y: Any) -> Any:
        """Return the condition x = y."""
        return sympy.Eq(x, y)

    def floor(self, x: Any) -> Any:
        """Return the largest integer not above x."""
        return sympy.floor(x)

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x where a condition holds, else y."""
        return sympy.Piecewise((x, condition), (y, True))


def _condition(value: Any) -> Any:
    """Return a boolean of NumPy, or a condition, as SymPy's."""
    return sympy.sympify(bool(value)) if isinstance(value, (bool, np.bool_)) else value


def _select(n: Any, condition: Any, x: Any, y: Any) -> Any:
    return n.choose(_condition(condition), x, y)


def _truncate(n: Any, x: Any, dtype: str) -> Any:
    x = _number(n, x)
    if dtype == "bool":
        return sympy.Ne(x, 0)
    return x if x.is_integer else sympy.sign(x) * sympy.floor(sympy.Abs(x))


def _number(n: Any, x: Any) -> Any:
    """Return what a condition is as a number: 1 where it holds; a number as it is."""
    if isinstance(x, (bool, np.bool_, sympy.logic.boolalg.Boolean)) and not isinstance(x, sympy.Symbol):
        return n.choose(_condition(x), n.number(1), n.number(0))
    return n.number(x.item()) if isinstance(x, np.generic) else x


def _log_gamma(n: Any, x: Any) -> Any:
    """SymPy's logarithm of Γ is complex for negative x; primad's is that of |Γ|."""
    return n.choose(sympy.Gt(x, 0), sympy.loggamma(x), sympy.log(sympy.Abs(sympy.gamma(x))))


def _of(function: Callable[..., Any]) -> Definition:
    return pointwise(lambda n, *elements: function(*elements))


def _extremum(function: Callable[..., Any]) -> Definition:
    def best(n: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        rows = x.transpose((*kept, *axes)).reshape((*[x.shape[axis] for axis in kept], -1))
        out = np.empty(rows.shape[:-1], object)
        for index in np.ndindex(out.shape):
            out[index] = function(*rows[index])
        return out

    return best


def _logical(function: Callable[..., Any]) -> Definition:
    return pointwise(lambda n, *elements: function(*map(_condition, elements)))


POINTWISE: dict[Primitive, Definition] = {
    ops.neg: _of(lambda x: -x),
    ops.add: _of(lambda x, y: x + y),
    ops.sub: _of(lambda x, y: x - y),
    ops.mul: _of(lambda x, y: x * y),
    ops.abs: _of(sympy.Abs),
    ops.maximum: _of(sympy.Max),
    ops.minimum: _of(sympy.Min),
    ops.exp2: _of(lambda x: sympy.Integer(2) ** x),
    ops.tan: _of(sympy.tan),
    ops.sinh: _of(sympy.sinh),
    ops.cosh: _of(sympy.cosh),
    ops.sech2: _of(lambda x: sympy.sech(x) ** 2),
    ops.arctan2: _of(sympy.atan2),
    ops.direction: _of(lambda x, y: x / sympy.sqrt(x**2 + y**2)),
    ops.arcsin: _of(sympy.asin),
    ops.arccos: _of(sympy.acos),
    ops.arcsinh: _of(sympy.asinh),
    ops.arccosh: _of(sympy.acosh),
    ops.arctanh: _of(sympy.atanh),
    ops.cbrt: _of(lambda x: sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3)),
    ops.gammaln: pointwise(_log_gamma),
    ops.sign: _of(sympy.sign),
    ops.floor: _of(sympy.floor),
    ops.floor_divide: pointwise(lambda n, x, y: sympy.floor(n.divide(x, y))),
    ops.remainder: _of(lambda x, y: sympy.nan if y == 0 else sympy.Mod(x, y)),
    ops.fmod: _of(lambda x, y: sympy.nan if y == 0 else sympy.sign(x) * sympy.Mod(sympy.Abs(x), sympy.Abs(y))),
    ops.less_equal: _of(sympy.Le),
    ops.logical_and: _logical(sympy.And),
    ops.logical_or: _logical(sympy.Or),
    ops.logical_not: _logical(sympy.Not),
    ops.select: pointwise(_select),
    ops.mask: pointwise(lambda n, c, x: _select(n, c, x, n.number(0))),
    ops.defined_where: pointwise(lambda n, c, x: _select(n, c, x, n.number(math.nan))),
    ops.truncate: pointwise(_truncate),
    ops.cast: lambda n, x, *, dtype: pointwise(_number)(n, x),
    ops.real_part: _of(sympy.re),
    ops.imaginary_part: _of(sympy.im),
    ops.conj: _of(sympy.conjugate),
    ops.complex_of: _of(lambda x, y: x + sympy.I * y),
    ops.stop_gradient: lambda n, x: x,
    ops.barrier: lambda n, x: x,
}
"""Ops of single elements whose formula is another one than what their records say that they mean."""

WHOLE: dict[Primitive, Definition] = {
    ops.reduce_max: _extremum(sympy.Max),
    ops.reduce_min: _extremum(sympy.Min),
    ops.fft: exact_fourier.fft,
    ops.rfft: exact_fourier.rfft,
    ops.irfft: exact_fourier.irfft,
    ops.dct: exact_fourier.dct,
    ops.dst: exact_fourier.dst,
}
"""Ops of arrays that are not what NumPy makes of them."""

REFUSED: dict[Primitive, str] = {
    ops.argsort: "The order of elements is no formula.",
    ops.window_argmax: "Which element of a window is the largest is no formula.",
    ops.draw: "Random numbers are no formula.",
    ops.left_shift: "SymPy's integers have no bits.",
    ops.right_shift: "SymPy's integers have no bits.",
    **dict.fromkeys(
        (
            ops.gamma_density,
            ops.gammainc,
            ops.gammaincc,
            ops.gammaincinv,
            ops.gammainccinv,
            ops.log_gamma_tail,
            ops.gamma_hazard,
            ops.beta_density,
            ops.betainc,
            ops.betaincc,
            ops.betaincinv,
            ops.betainccinv,
            ops.log_beta_tail,
            ops.beta_hazard,
        ),
        "SymPy does not differentiate incomplete gamma and beta functions in all arguments.",
    ),
    **dict.fromkeys(
        (
            ops.member,
            ops.power_integral,
            ops.legendre_integral,
            ops.carlson_second,
            ops.jacobi_amplitude,
            ops.hurwitz,
            ops.owens_t,
            ops.lambertw,
        ),
        "SymPy has it in another form, or not at all.",
    ),
    ops.lu: "Which row is the pivot depends on values.",
    ops.qr: "The factors' signs depend on values, and their formulas are too long to be of use.",
    **dict.fromkeys((ops.eig, ops.eigh), "Eigenvalues are roots of polynomials, for which there is no formula."),
    ops.svd: "Singular values are roots of polynomials, for which there is no formula.",
    **dict.fromkeys((ops.expm, ops.expm_frechet, ops.sqrtm), "Its formula has the eigenvalues in it."),
    **dict.fromkeys((ops.logm, ops.logm_frechet), "Its formula has the logarithms of the eigenvalues in it."),
    ops.solve_sylvester: "Its formula is that of a system of as many equations as there are elements.",
    **dict.fromkeys(
        (ops.gaps, ops.left_vectors, ops.slopes, ops.spread), "Which eigenvalues are equal depends on values."
    ),
}
"""Ops that have no formula, where their operands depend on symbols, and why."""

INDEXING: dict[Primitive, str] = dict.fromkeys(
    (ops.gather, ops.scatter_add), "Which element an index takes is no formula."
)
"""Ops that have none where their indices depend on symbols."""

AS_NUMPY = frozenset(
    {
        ops.broadcast, ops.sum, ops.gather, ops.scatter_add, ops.cumsum, ops.flip, ops.permute, ops.reshape,
        ops.concatenate, ops.pad, ops.slice_, ops.windows, ops.overlap_add, ops.contract, ops.project, ops.eye,
        ops.iota, ops.solve_triangular, ops.cholesky, ops.cofactors, ops.cofactors_along,
    }
)  # fmt: skip
"""Ops that move, add and multiply elements, which the exact arithmetic does on expressions as on numbers."""


def is_known(op: Primitive) -> bool:
    """Say whether a composite has a textbook formula, which is shown instead of its definition."""
    return _meaning(op) is not None


def _meaning(op: Primitive) -> Definition | None:
    """Return what a composite is proved to mean."""
    case = cases().get(op.name)
    return case.symbolic if case is not None and case.op is op and not op.holds_program else None


class Writer(Evaluator):
    """Runs programs on expressions. Floats are expressions; so are integers and booleans that depend on symbols."""

    def __init__(self) -> None:
        super().__init__(Formulas(), {**POINTWISE, **WHOLE})

    def apply(
        self, op: Primitive, operands: Sequence[Any], params: dict[str, Any], type: Any, types: Sequence[Any] = ()
    ) -> Any:
        """Apply one op.

        Raises:
            TracingError: if it has no formula.
        """
        reason = REFUSED.get(op, "") if any(map(depends, operands)) else ""
        if op in INDEXING and depends(operands[1]):
            reason = INDEXING[op]
        if op.kind == "custom" and op.meaning is None and op not in PRIMITIVES:
            reason = "What a function computes that is not recorded is known to NumPy only."
        if reason:
            raise no_formula(op, reason)
        try:
            meaning = _meaning(op) if op.is_composite else None
            if meaning is not None:
                return self.array(meaning(self.numbers, *operands, **params), type)
            return super().apply(op, operands, params, type, types)
        except (TypeError, AttributeError) as error:
            raise no_formula(op, f"It needs values: {error}.") from None

    def array(self, value: Any, type: Any) -> Any:
        """Return a value as an array of expressions, or of plain integers and booleans."""
        if isinstance(type, TupleType) or type.is_float or not depends(value):
            return super().array(value, type)
        return np.asarray(value, object)


PRIMITIVES = frozenset({*POINTWISE, *WHOLE, *REFUSED, *AS_NUMPY})
"""All of primad's own but for those whose formula is what their records say that they mean."""


def depends(value: Any) -> bool:
    """Say whether an array, or one of a tuple, has an element that depends on a symbol."""
    if isinstance(value, tuple):
        return any(map(depends, value))
    value = np.asarray(value)
    return value.dtype == object and any(getattr(element, "free_symbols", None) for element in value.flat)


def no_formula(op: Primitive, reason: str) -> TracingError:
    """Return the error for an op that has no formula."""
    return TracingError(
        f"to_sympy: {op.name} has no formula in SymPy",
        why=reason,
        fix="leave this part out, or pass numbers in place of the symbols that it depends on.",
    )
