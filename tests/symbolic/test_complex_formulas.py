"""Formulas of complex numbers, both ways: SymPy's values, what is real by assumption, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import I

import primad
import primad.pde as pde
from primad.errors import PrimadError, ShapeError, TracingError
from primad.symbolic import vocabulary

z, w = sympy.symbols("z w", complex=True)
x, t = sympy.symbols("x t")
u, psi = sympy.Function("u"), sympy.Function("psi", complex=True)
AT = {z: sympy.Rational(7, 10) - sympy.Rational(2, 5) * I, w: sympy.Rational(-11, 10) + sympy.Rational(3, 10) * I}
POINT = tuple(complex(value) for value in AT.values())
REAL_ONLY = {
    sympy.acot, sympy.airyai, sympy.airyaiprime, sympy.airybi, sympy.airybiprime, sympy.erfinv, sympy.floor,
    sympy.gamma, sympy.loggamma,
}  # fmt: skip
"""Functions that are refused of complex numbers."""


def wave(x: Any, t: Any) -> Any:
    """A soliton of the nonlinear Schrödinger equation."""
    return np.exp(0.5j * t) / np.cosh(x)


SCHRODINGER = I * psi(x, t).diff(t) + psi(x, t).diff(x, 2) / 2 + sympy.Abs(psi(x, t)) ** 2 * psi(x, t)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("function", [f for f in vocabulary.UNARY if f is not sympy.Not], ids=str)
def test_functions_of_a_complex_number(function: Any) -> None:
    """Each is SymPy's, or is refused and listed."""
    for symbol in (z, w):
        compiled = primad.from_sympy(function(symbol), (z, w))
        if function in REAL_ONLY:
            with pytest.raises((ShapeError, TracingError)):
                compiled(*POINT)
            continue
        assert np.isclose(compiled(*POINT), complex(function(AT[symbol]).evalf(17)), rtol=1e-13, atol=0)


@pytest.mark.parametrize(
    "expression",
    [
        sympy.exp(I * z) * w + z.conjugate() / w + sympy.Abs(z) ** 2 + sympy.re(w) * I,
        z**-2 * w**3 - (2 - 3 * I) * z,
        sympy.sqrt(z) + z ** sympy.Rational(1, 3) + z**w + 2**z,
        sympy.sqrt(-3) * z / w - I * w - sympy.log(-2),
        sympy.cot(z) + sympy.asech(w) + sympy.csch(z),
        sympy.Piecewise((z, sympy.re(z) > 0), (w, True)) * sympy.Piecewise((z, sympy.im(z) > 0), (w, True)),
        sympy.diff(sympy.exp(z * w) * z**3, z),
    ],
)
def test_formulas_of_complex_numbers(expression: Any) -> None:
    expected = complex(expression.subs(AT).evalf(17))
    found = primad.from_sympy(expression, (z, w))
    assert np.isclose(found(*POINT), expected, rtol=1e-13)
    again = primad.to_sympy(pickle.loads(pickle.dumps(found)), z, w)
    assert np.isclose(complex(again.subs(AT).evalf(17)), expected, rtol=1e-12)


def test_precision_and_kind_of_results() -> None:
    """Parts are real, what contains I is complex, each in the precision of the arguments."""
    expressions = [sympy.re(z), z * x, x**2, sympy.exp(I * x), sympy.Matrix([x, I])]
    found = primad.from_sympy(expressions, (z, x))(np.ones(2, np.complex64), np.float32(2))
    assert [each.dtype.char for each in found] == ["f", "F", "f", "F", "F"]
    assert primad.from_sympy(sympy.sqrt(z), z)(-1.0) == 1j  # of a complex number that happens to be real
    assert np.isnan(primad.from_sympy(sympy.sqrt(x), x)(-1.0))


def test_derivatives_of_complex_formulas() -> None:
    f = primad.from_sympy(z**2 * sympy.exp(z), z)
    assert np.isclose(primad.grad(f, holomorphic=True)(0.5j), (2 * 0.5j - 0.25) * np.exp(0.5j))
    square = primad.from_sympy(sympy.Abs(z) ** 2, z)
    assert primad.grad(square)(1.0 + 2.0j) == 2.0 - 4.0j


def test_complex_unknown_functions() -> None:
    points = np.array([0.3, -1.0]), 0.2
    for residual in (
        primad.residual_of(SCHRODINGER, {psi: lambda p, x, t: wave(x, t)}, (x, t))(None, *points),
        pde.Equation(SCHRODINGER)(pde.Field(wave, "x t")(points[0], np.full(2, 0.2))),
    ):
        assert residual.dtype == complex and np.abs(residual).max() < 1e-14
    value = primad.from_sympy(psi(z, t), (z, t), functions={psi: wave})
    assert np.isclose(value(1j / 3, 0.2), wave(1j / 3, 0.2))


def test_what_is_read_as_real_takes_no_complex_values() -> None:
    """SymPy makes x² of |x|² where x is real: a complex value would be another number without a word."""
    real = SCHRODINGER.subs(psi(x, t), u(x, t)).doit()
    calls: list[Any] = [
        lambda: primad.from_sympy(sympy.Abs(x) ** 2, x)(1j),
        lambda: primad.from_sympy(sympy.Abs(u(x, t)) ** 2, (x, t), functions={u: wave})(1.0, 1.0),
        lambda: primad.residual_of(real, {u: lambda p, x, t: wave(x, t)}, (x, t))(None, 1.0, 1.0),
        lambda: pde.Equation(real)(pde.Field(wave, "x t")(np.ones(2), np.ones(2))),
    ]
    for call in calls:
        with pytest.raises(TracingError, match=r"complex values[\s\S]*complex=True"):
            call()
    with pytest.raises(TracingError, match="by complex numbers"):
        primad.from_sympy(psi(z, t).diff(z), (z, t), functions={psi: wave})(1j, 1.0)


def test_formulas_of_programs_with_complex_symbols() -> None:
    """|z|² of a symbol that is said to be complex is not z²; expressions with I are complex numbers, too."""

    def f(z: Any) -> Any:
        return np.abs(z) ** 2 + np.conj(z) * np.exp(1j * z.real)

    formula = primad.to_sympy(f, z)
    assert np.isclose(complex(formula.subs(AT).evalf(17)), f(POINT[0]))
    parts = primad.to_sympy(f, x + 2 * I)
    assert np.isclose(complex(parts.subs({x: sympy.Rational(1, 3)}).evalf(17)), f(1 / 3 + 2j))
    made = primad.to_sympy(f, primad.ArrayType((), complex))
    (symbol,) = made.free_symbols
    assert symbol.is_complex and np.isclose(primad.from_sympy(made, symbol)(POINT[0]), f(POINT[0]))


def test_numbers_that_are_neither() -> None:
    with pytest.raises(PrimadError, match="ComplexInfinity"):
        primad.from_sympy(sympy.zoo * x, x)
    with pytest.raises(TracingError, match="orders of functions are real"):
        primad.from_sympy(sympy.besselj(I, x), x)
