"""From SymPy's expressions to steps: sums, products, powers, functions, choices, and derivatives of given functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from primad.errors import TracingError, suggestion
from primad.symbolic import vocabulary as words
from primad.symbolic.jets import Jet, Orders
from primad.symbolic.recipe import Recipe

DIGITS = 30
"""Decimal digits to which constants are computed before they are rounded to floats."""
KNOWN = {function.__name__ for table in (*words.TABLES, words.REWRITTEN) for function in table}


class Translator:
    """Turns expressions into steps of a recipe.

    Args:
        recipe: where the steps go.
        places: the places of symbols.
        functions: for each unknown function, the place of the callable that is given for it and the component of its
            result (None: the result itself).
        caller: the public function, for messages.
    """

    def __init__(
        self, recipe: Recipe, places: Mapping[Any, int], functions: Mapping[Any, tuple[int, int | None]], caller: str
    ) -> None:
        self.caller = caller
        self.recipe = recipe
        self.functions = functions
        self._places: dict[Any, int] = dict(places)
        self._jets: dict[Any, tuple[Jet, int]] = {}

    def place(self, expression: Any) -> int:
        """Return the place of an expression's value, after adding the steps that make it."""
        waiting = [expression]
        while waiting:
            current = waiting[-1]
            missing = []
            if current not in self._places:
                missing = [part for part in self._parts(current) if part not in self._places]
                if not missing:
                    self._places[current] = self._build(current)
            if missing:
                waiting.extend(missing)
            else:
                waiting.pop()
        return self._places[expression]

    def _parts(self, expression: Any) -> list[Any]:
        """Return the expressions whose values an expression is made of."""
        if is_constant(expression):
            return []
        if isinstance(expression, sympy.Add):
            return [term for _, term in _terms(expression)]
        if isinstance(expression, sympy.Mul):
            _, above, below = _factors(expression)
            return [*above, *below]
        if isinstance(expression, sympy.Pow):
            return [expression.base] if _multiplied(expression) else [expression.base, expression.exp]
        if isinstance(expression, sympy.Piecewise):
            return [part for pair in expression.args for part in (pair.expr, pair.cond)]
        if isinstance(expression, (AppliedUndef, sympy.Derivative, sympy.Subs)):
            return list(self._applied(expression)[1])
        if expression.func in words.OF_AN_ORDER:
            return [expression.args[1]]
        if expression.func in words.REWRITTEN:
            return [words.REWRITTEN[expression.func](*expression.args)]
        if not any(expression.func in table for table in words.TABLES):
            raise _unknown(expression, self.caller)
        return list(expression.args)

    def _build(self, expression: Any) -> int:
        """Add the last step of an expression whose parts have their places."""
        if is_constant(expression):
            return self.recipe.number(number_of(expression, self.caller))
        for kind, build in self._BUILDERS.items():
            if isinstance(expression, kind):
                return build(self, expression)
        function, parts = expression.func, self._parts(expression)
        operands = [self._places[part] for part in parts]
        if function in words.REWRITTEN:
            return operands[0]
        if function in words.CHAINED:
            return self._chain(words.CHAINED[function], operands)
        (table,) = (table for table in words.TABLES if function in table)
        return self.recipe.step(table[function], *operands)

    def _chain(self, function: Callable[..., Any], operands: Sequence[int]) -> int:
        result, *rest = operands
        for operand in rest:
            result = self.recipe.step(function, result, operand)
        return result

    def _sum(self, expression: Any) -> int:
        total = None
        for sign, part in sorted(_terms(expression), key=lambda term: term[0] < 0):
            operand = self._places[part]
            if total is None:
                total = operand if sign > 0 else self.recipe.step(words.negative, operand)
            else:
                total = self.recipe.step(words.add if sign > 0 else words.subtract, total, operand)
        assert total is not None
        return total

    def _product(self, expression: Any) -> int:
        number, above, below = _factors(expression)
        coefficient = number_of(number, self.caller)
        negative = not isinstance(coefficient, complex) and coefficient < 0
        coefficient = -coefficient if negative else coefficient
        top = [self._places[part] for part in above]
        if coefficient != 1 or not top:
            # Last, so that products which differ by a number share all the rest.
            top.append(self.recipe.number(coefficient))
        result = self._chain(words.multiply, top)
        if below:
            bottom = self._chain(words.multiply, [self._places[part] for part in below])
            result = self.recipe.step(words.divide, result, bottom)
        return self.recipe.step(words.negative, result) if negative else result

    def _power(self, expression: Any) -> int:
        base, exponent = expression.base, expression.exp
        if base == sympy.E:
            return self.recipe.step(words.UNARY[sympy.exp], self._places[exponent])
        if _multiplied(expression):
            return self._products(self._places[base], exponent)
        if base == 2:
            return self.recipe.step(words.exp2, self._places[exponent])
        return self.recipe.step(words.power, self._places[base], self._places[exponent])

    def _products(self, base: int, exponent: Any) -> int:
        """Multiply: whole powers by squaring, halves by a square root."""
        if exponent < 0:
            return self.recipe.step(words.reciprocal, self._products(base, -exponent))
        whole, half = divmod(exponent, 1)
        result = None if whole == 0 else self._whole_power(base, int(whole))
        if half:
            root = self.recipe.step(words.root, base)
            return root if result is None else self.recipe.step(words.multiply, result, root)
        assert result is not None
        return result

    def _whole_power(self, base: int, exponent: int) -> int:
        if exponent == 1:
            return base
        if exponent % 2:
            return self.recipe.step(words.multiply, self._whole_power(base, exponent - 1), base)
        return self.recipe.step(words.square, self._whole_power(base, exponent // 2))

    def _piecewise(self, expression: Any) -> int:
        """Choose the first piece whose condition holds; without one, NaN that depends on all that the pieces do."""
        result: int | None = None
        pairs = [(self._places[pair.expr], pair.cond) for pair in expression.args]
        for place, condition in reversed(pairs):
            if condition == True:  # noqa: E712  SymPy's truth is no Python truth
                result = place
                continue
            if result is None:
                atoms = expression.free_symbols | expression.atoms(AppliedUndef)
                others = sorted([self._places[atom] for atom in atoms if atom in self._places])
                result = self.recipe.step(words.defined, self._places[condition], place, *others)
            else:
                result = self.recipe.step(words.choose, self._places[condition], place, result)
        assert result is not None
        return result

    def _of_order(self, expression: Any) -> int:
        order, argument = expression.args
        least = words.LEAST_ORDER.get(expression.func)
        if not is_constant(order):
            raise TracingError(
                f"{self.caller}: {expression} has an order that is no number", fix="substitute a number."
            )
        if least is not None and not (order.is_Integer and order >= least):
            raise TracingError(
                f"{self.caller}: {expression} is of the order {order}", fix=f"it has integer orders from {least} on."
            )
        number = int(order) if order.is_Integer else float(real_number(order, self.caller))
        return self.recipe.step(words.OfOrder(expression.func, number), self._places[argument])

    def _applied(self, expression: Any) -> tuple[Any, tuple[Any, ...], Orders]:
        """Return the unknown function, where it is taken, and how often it is differentiated in each argument."""
        point: dict[Any, Any] = {}
        inner = expression
        if isinstance(inner, sympy.Subs):
            point = dict(zip(inner.variables, inner.point, strict=True))
            inner = inner.expr
        orders: dict[Any, int] = {}
        if isinstance(inner, sympy.Derivative):
            for variable, count in inner.variable_count:
                if not count.is_Integer:
                    raise TracingError(f"{self.caller}: the order of {expression} is no number", fix="substitute one.")
                orders[variable] = orders.get(variable, 0) + int(count)
            inner = inner.expr
        if not isinstance(inner, AppliedUndef):
            raise _unknown(expression, self.caller)
        found = tuple([orders.pop(argument, 0) for argument in inner.args])
        if orders:
            raise _unknown(expression, self.caller)
        if inner.func not in self.functions:
            raise _unknown(inner, self.caller)
        return inner.func, tuple([argument.xreplace(point) for argument in inner.args]), found

    def _value_of_function(self, expression: Any) -> int:
        function, point, orders = self._applied(expression)
        callable_, component = self.functions[function]
        places = tuple([self._places[part] for part in point])
        if (callable_, places) not in self._jets:
            jet = Jet(str(function), "complex" in number_kind(function))
            self._jets[callable_, places] = jet, self.recipe.step(jet, callable_, *places)
        jet, results = self._jets[callable_, places]
        return self.recipe.step(Item(jet.place_of(component, orders)), results)

    _BUILDERS: Mapping[Any, Callable[[Translator, Any], int]] = {
        sympy.Add: _sum,
        sympy.Mul: _product,
        sympy.Pow: _power,
        sympy.Piecewise: _piecewise,
        **dict.fromkeys(words.OF_AN_ORDER, _of_order),
        AppliedUndef: _value_of_function,
        sympy.Derivative: _value_of_function,
        sympy.Subs: _value_of_function,
    }


class Item:
    """A step that takes one of several results."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __call__(self, values: Sequence[Any]) -> Any:
        """Take it."""
        return values[self.place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and self.place == other.place

    def __hash__(self) -> int:
        return hash((Item, self.place))


def _terms(expression: Any) -> list[tuple[int, Any]]:
    """Return the terms of a sum, those with a negative number in front as what is subtracted."""
    return [(-1, -term) if term.as_coeff_Mul()[0].is_negative else (1, term) for term in expression.args]


def _factors(expression: Any) -> tuple[Any, list[Any], list[Any]]:
    """Return the number in front of a product, what stands above the fraction bar, and what stands below.

    Only what is computed by multiplications stands below: a quotient by x^(3/2) has no derivative at 0, x^(-3/2) has.
    """
    numbers = [factor for factor in expression.args if is_constant(factor)]
    above, below = [], []
    for factor in expression.args:
        if is_constant(factor):
            continue
        if isinstance(factor, sympy.Pow) and _multiplied(factor) and factor.exp < 0:
            below.append(1 / factor)
        else:
            above.append(factor)
    return sympy.Mul(*numbers), above, below


def _multiplied(power: Any) -> bool:
    """Say whether a power is computed by multiplications, and perhaps a square root.

    A product with a square root has no derivative at 0, where x^(3/2) has one: only what is positive is computed so.
    """
    exponent = power.exp
    if not exponent.is_Rational:
        return False
    return bool(exponent.q == 1 or (exponent.q == 2 and (abs(exponent.p) == 1 or power.base.is_positive)))


def number_kind(symbol: Any) -> dict[str, bool]:
    """Return what SymPy is told of a symbol or an unknown function: that it is real, unless it is a complex one."""
    return {"complex": True} if symbol.is_complex is True and symbol.is_extended_real is not True else {"real": True}


def is_constant(expression: Any) -> bool:
    """Say whether an expression depends on nothing."""
    return not expression.free_symbols and not expression.has(AppliedUndef)


def real_number(expression: Any, caller: str) -> Any:
    """Return the real number that a constant expression is, rounded once.

    Raises:
        TracingError: if it is not a real number, or is not known.
    """
    found = number_of(expression, caller)
    if isinstance(found, complex):
        raise TracingError(f"{caller}: {expression} is not a real number", fix="orders of functions are real numbers.")
    return found


def number_of(expression: Any, caller: str) -> Any:
    """Return the number that a constant expression is, each part rounded once.

    Raises:
        TracingError: if it is not known, or infinite and not real.
    """
    if expression in (sympy.true, sympy.false):
        return bool(expression)
    value = sympy.N(expression, DIGITS)
    if value is sympy.nan:
        return math.nan
    if value.is_extended_real and (value.is_Number or value.is_infinite):
        return float(value)
    parts = value.as_real_imag() if value.is_number and value.is_finite else ()
    if not parts or not all(part.is_Number for part in parts):
        raise _unknown(expression, caller)
    return complex(*map(float, parts))


def _unknown(expression: Any, caller: str) -> TracingError:
    name = getattr(expression.func, "__name__", str(expression.func))
    if isinstance(expression, AppliedUndef):
        return TracingError(
            f"{caller}: {expression} is an unknown function, for which nothing is given",
            fix=f"pass functions={{{name}: f}}, where f takes {len(expression.args)} number(s) and returns a number.",
        )
    return TracingError(
        f"{caller}: there is nothing in primad for {name}, in {expression}",
        why=suggestion(name, KNOWN),
        fix="rewrite the expression (expression.rewrite(…)), or put sympy.Function('f')(…) in its place and pass "
        "functions={f: …}.",
    )
