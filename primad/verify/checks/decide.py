"""Deciding whether two arrays of SymPy expressions are equal: a proof, a number to 50 digits, or a counterexample."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from primad.errors import PrimadError
from primad.verify.exact.high_precision import Precise
from primad.verify.exact.sympy_numbers import DIGITS, Symbols
from primad.verify.verdicts import How

AGREE = 50
"""Digits to which numbers must agree."""
FAULTS = (PrimadError, ArithmeticError, TypeError, ValueError, AttributeError, IndexError, KeyError, AssertionError)
"""What a wrong rule may raise."""
LARGE = 400
"""Expressions with more operations are not given to SymPy's simplifiers: they would take minutes."""


class Wrong(Exception):
    """Two things that must be equal differ.

    Args:
        what: what was compared.
        expected, got: the two values.
        inputs: the values of the inputs, by name.
    """

    def __init__(self, what: str, expected: Any, got: Any, inputs: dict[str, Any] | None = None) -> None:
        lines = [what]
        if inputs:
            lines.append("at " + ", ".join(f"{name} = {value}" for name, value in inputs.items()))
        lines += [f"expected {expected}", f"got {got}"]
        super().__init__("\n".join(lines))


def decide(what: str, expected: Any, got: Any, symbols: Symbols | Precise) -> How:
    """Compare two arrays of expressions.

    Returns:
        'proved' or 'numeric'.

    Raises:
        Wrong: with the sample values at which they differ.
    """
    expected, got = np.asarray(expected, object), np.asarray(got, object)
    if expected.shape != got.shape:
        raise Wrong(what, f"shape {expected.shape}", f"shape {got.shape}")
    if isinstance(symbols, Precise):
        for x, y in zip(expected.flat, got.flat, strict=True):
            if not abs(x - y) <= symbols.context.mpf(10) ** -AGREE * (1 + abs(x)):
                raise Wrong(what, symbols.context.nstr(x, 15), symbols.context.nstr(y, 15))
        return "numeric"
    result: How = "proved"
    for index in np.ndindex(expected.shape):
        if _decide(what, index, sympy.sympify(expected[index]), sympy.sympify(got[index]), symbols) == "numeric":
            result = "numeric"
    return result


def _decide(what: str, index: tuple[int, ...], expected: Any, got: Any, symbols: Symbols) -> How:
    if expected == got:
        return "proved"
    difference = expected - got
    if difference == 0 or _expands_to_zero(_renamed(difference)):
        return "proved"
    a, b = symbols.value(expected), symbols.value(got)
    gap = abs(a - b)
    if not (gap <= sympy.Float(10, DIGITS) ** -AGREE * (1 + abs(a))):
        where = f"{what}, element {list(index)}" if index else what
        used = sorted(difference.free_symbols, key=str)
        inputs = {str(symbol): str(sympy.Float(symbols.sample[symbol], 8)) for symbol in used}
        raise Wrong(
            where, f"{sympy.Float(a, 15)}  = {_short(expected)}", f"{sympy.Float(b, 15)}  = {_short(got)}", inputs
        )
    return "proved" if vanishes(difference, symbols) else "numeric"


def _renamed(expression: Any) -> Any:
    """Number the symbols, which keep their signs.

    The elements of an array have the same expression of other symbols: what is shown of one holds for all of them.
    """
    symbols = sorted(expression.free_symbols, key=str)
    return expression.xreplace(
        {x: sympy.Symbol(f"s{i}", real=x.is_real, positive=x.is_positive) for i, x in enumerate(symbols)}
    )


@lru_cache(maxsize=1024)
def _expands_to_zero(expression: Any) -> bool:
    return bool(sympy.expand(expression) == 0)


def _short(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 200 else text[:197] + "…"


def vanishes(expression: Any, symbols: Symbols) -> bool:
    """Say whether SymPy can show, within a bounded effort, that an expression is zero for signs as in the sample."""
    if sympy.count_ops(expression) > LARGE:
        return False
    if expression.has(sympy.tanh):
        expression = expression.rewrite(sympy.exp)
    if expression.has(sympy.erfc):
        expression = expression.rewrite(sympy.erf)
    # A polynomial is the same for all signs, such as one in tangents.
    signs = {}
    for i, x in enumerate(sorted(expression.free_symbols, key=str)):
        plain = expression.is_polynomial(x)
        signs[x] = sympy.Symbol(f"s{i}", positive=True) * (1 if plain else sympy.sign(symbols.sample[x]))
    return _vanishes(expression.xreplace(signs))


@lru_cache(maxsize=1024)
def _vanishes(expression: Any) -> bool:
    attempts = [_numerator]
    if expression.has(sympy.log):
        attempts.append(_exponential)
    attempts.append(_of_powers)
    return any(attempt(expression) == 0 for attempt in attempts) or sympy.simplify(expression) == 0


def _numerator(expression: Any) -> Any:
    """Put everything over one denominator, with exponentials of sums as products."""
    expression = sympy.expand(expression, power_exp=True, power_base=True, log=True)
    return sympy.expand(sympy.together(expression).as_numer_denom()[0])


def _exponential(expression: Any) -> Any:
    """A real number is 0 where its exponential is 1, in which sums of logarithms are products."""
    return _numerator(sympy.exp(sympy.expand(expression, log=False)) - 1)


def _of_powers(expression: Any) -> Any:
    """Put everything over one denominator, with powers of numbers as powers of new symbols: aˣ = exp(x log a) = gⁿ.

    There is one symbol for all exponents that are rational multiples of each other, such as x, −x and x/2.
    """
    expression = sympy.expand(expression, power_exp=True, power_base=True, log=True)
    powers = [power for power in expression.atoms(sympy.Pow, sympy.exp) if _of_number(power)]
    exponents = {}
    for power in powers:
        base, exponent = power.as_base_exp()
        exponents[power] = sympy.expand(sympy.log(base) * exponent).as_coeff_Mul(rational=True)
    replaced = {}
    for part in {part for _, part in exponents.values()}:
        alike = {power: factor for power, (factor, other) in exponents.items() if other == part}
        common, symbol = sympy.ilcm(1, *[factor.q for factor in alike.values()]), sympy.Dummy(positive=True)
        replaced.update({power: symbol ** (factor * common) for power, factor in alike.items()})
    return _numerator(expression.xreplace(replaced))


def _of_number(power: Any) -> bool:
    base, exponent = power.as_base_exp()
    return bool(base.is_positive and not base.free_symbols and exponent.free_symbols)
