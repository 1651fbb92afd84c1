"""Functions made of expressions: `from_sympy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef, UndefinedFunction
from sympy.matrices.expressions.matexpr import MatrixElement

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.functional.derived_calls import run_once
from primad.functional.jit import jit
from primad.recording import tree
from primad.symbolic.argument_values import as_complex, as_numbers, common, is_complex, like
from primad.symbolic.recipe import Recipe
from primad.symbolic.translation import Translator, is_constant, number_kind

Shape = tuple[int, ...]
LEFT = (sympy.Sum, sympy.Product, sympy.Integral, sympy.Limit)
"""What stands in no expression that is computed: SymPy must have carried it out."""


def from_sympy(
    expression: Any, arguments: Any = None, *, functions: Mapping[Any, Callable[..., Any]] | None = None
) -> Any:
    """Return a compiled function of arrays for a SymPy expression.

    It runs on numbers and NumPy arrays, which broadcast, as one program, and can be recorded, differentiated,
    mapped and jitted as any other function. Equal parts are computed once, whole powers by multiplication. Symbols
    and unknown functions stand for real numbers, unless SymPy is told otherwise: `sympy.Symbol("z", complex=True)`.
    Functions of real numbers are real ones (the logarithm of a negative number is NaN), of complex numbers complex.

    Args:
        expression: an expression, a matrix or an array of them, or a tree (list, tuple, dict) of these.
        arguments: the symbols, in the order of the function's arguments. In place of a symbol may stand a list, Matrix,
            Array or MatrixSymbol: that argument is an array, whose last axes are these; the axes before are points.
        functions: for each unknown function of the expression (`u` for `u(x, t)` and its derivatives) a function of as
            many numbers that returns a number. It is mapped over points and differentiated. A tuple of unknown
            functions may stand for the components of one function's result. What a function closes over is read at
            each call.

    Returns:
        a function of arrays. Its result has the tree of the expression; each array in it has the common shape of the
        arguments, and behind it the shape of the matrix or array.

    Raises:
        TracingError: for text, without arguments, for symbols that are none of them, and for functions that primad does
            not have and that are not given; when it is called, for complex values of what stands for real ones.

    Example:
        >>> import numpy as np, primad, sympy
        >>> x, y = sympy.symbols("x y")
        >>> f = primad.from_sympy(sympy.sin(x) ** 2 + y / 2, (x, y))
        >>> f(np.array([0.0, np.pi / 2]), 1.0)
        array([0.5, 1.5])
        >>> primad.grad(f, 1)(0.0, 1.0)
        np.float64(0.5)
        >>> z = sympy.Symbol("z", complex=True)
        >>> primad.grad(primad.from_sympy(sympy.Abs(z) ** 2 + sympy.re(sympy.I * z), z))(1.0 + 2.0j)
        np.complex128(2-3j)
    """
    if arguments is None:
        raise _without_arguments(expression)
    listed = list(arguments) if isinstance(arguments, (list, tuple)) else [arguments]
    compiled = Compiled(expression, listed, list(functions or {}), "from_sympy")
    if not functions:
        return jit(_Function(compiled, []))
    # A supplied function may close over what changes between calls, which jit would take once and for all.
    return partial(_run, _Function(compiled, list(functions.values())))


def _without_arguments(expression: Any) -> TracingError:
    """Return the error for an expression alone."""
    symbols = {symbol for leaf in tree.leaves(expression) for symbol in getattr(leaf, "free_symbols", ())}
    names = sorted(map(str, symbols))
    return TracingError(
        "from_sympy needs the arguments of the function",
        why="An expression does not say in which order a function takes its symbols.",
        fix=f"name them: from_sympy(expression, ({', '.join(names)}{',' * (len(names) == 1)})).",
    )


class _Function:
    """Compiled expressions with the functions that are given for the unknown ones; it can be pickled."""

    def __init__(self, compiled: Compiled, given: list[Callable[..., Any]]) -> None:
        self.compiled = compiled
        self.given = given
        self.__name__ = self.__qualname__ = "from_sympy"

    def __call__(self, *values: Any) -> Any:
        """Compute the expressions at arrays."""
        return self.compiled(values, self.given)


def _run(function: _Function, *values: Any) -> Any:
    return run_once(function, values)


class Compiled:
    """Expressions as one recipe.

    Args:
        expressions: a tree of expressions.
        arguments: symbols, or arrays of them, one for each array that a call takes.
        functions: unknown functions, or tuples of them, one for each callable that a call takes.
        caller: the public function, for messages.
    """

    def __init__(self, expressions: Any, arguments: Sequence[Any], functions: Sequence[Any], caller: str) -> None:
        self.caller = caller
        leaves, self.tree = tree.flatten(expressions)
        self.arguments = [_Argument(argument, caller) for argument in arguments]
        symbols = [symbol for argument in self.arguments for symbol in argument.symbols]
        groups = [given if isinstance(given, tuple) else (given,) for given in functions]
        names = [[head(each, caller) for each in group] for group in groups]
        for each in (known := [*symbols, *(name for group in names for name in group)]):
            if known.count(each) > 1:
                raise TracingError(
                    f"{caller}: {each} is given twice",
                    fix="give each symbol and each function once, by a name of its own.",
                )
        recipe = self.recipe = Recipe(len(symbols) + len(functions))
        real = _real(symbols, caller)
        unknown: dict[Any, tuple[int, int | None]] = {}
        renamed = {}
        for place, (given, group) in enumerate(zip(functions, names, strict=True), len(symbols)):
            for component, name in enumerate(group):
                renamed[name] = new = sympy.Function(name.__name__, **number_kind(name))
                unknown[new] = (place, component if isinstance(given, tuple) else None)
        places = {real[symbol]: place for place, symbol in enumerate(symbols)}
        translator = Translator(recipe, places, unknown, caller)
        self.layout: list[tuple[Shape, list[int]]] = []
        for leaf in leaves:
            shape, found = elements(leaf, caller)
            prepared = [_prepared(element, real, renamed, caller) for element in found]
            self.layout.append((shape, [translator.place(element) for element in prepared]))
        self.wanted = list(dict.fromkeys(place for _, found in self.layout for place in found))
        recipe.keep(self.wanted)

    def uses(self, function: int) -> bool:
        """Say whether the expressions contain an unknown function (or one of a tuple), given by its position."""
        return self.recipe.uses(sum(len(argument.symbols) for argument in self.arguments) + function)

    def __call__(self, values: Sequence[Any], callables: Sequence[Any]) -> Any:
        """Compute the expressions at arrays, with callables for the unknown functions."""
        if len(values) != len(self.arguments):
            names = ", ".join(argument.name for argument in self.arguments)
            raise ShapeError(
                f"{self.caller}: the function takes {len(self.arguments)} arguments ({names}), got {len(values)}",
                fix=f"give values for {names}, in this order.",
            )
        parts = [argument.split(value) for argument, value in zip(self.arguments, values, strict=True)]
        flat = [part for each in parts for part in each]
        whole = common(flat)
        found = dict(zip(self.wanted, self.recipe.run([*flat, *callables], self.wanted), strict=True))
        results = []
        for shape, places in self.layout:
            elements = [like(found[place], whole) for place in places]
            if not shape:
                results.append(elements[0])
                continue
            stacked = pnp.stack(elements, axis=-1) if elements else np.zeros((*pnp.shape(whole), 0))
            results.append(pnp.reshape(stacked, (*pnp.shape(whole), *shape)))
        return tree.unflatten(self.tree, results)


class _Argument:
    """An argument of the function: a symbol, or an array of symbols.

    Attributes:
        symbols: the symbols.
        shape: the axes that the argument has behind those of the points.
    """

    def __init__(self, argument: Any, caller: str) -> None:
        self.shape, self.symbols = elements(argument, caller)
        self.name = str(argument)
        for symbol in self.symbols:
            if not isinstance(symbol, (sympy.Symbol, MatrixElement)):
                raise TracingError(
                    f"{caller}: the argument {symbol} is no symbol", fix="use sympy.Symbol or sympy.symbols."
                )

    def split(self, value: Any) -> list[Any]:
        """Return the values of the symbols."""
        value = as_numbers(value)
        if any("complex" in number_kind(symbol) for symbol in self.symbols):
            value = as_complex(value)
        elif is_complex(value):
            raise TracingError(
                f"the argument {self.name} has complex values",
                why="A symbol is read as a real number, of which SymPy makes another formula.",
                fix=f"make the symbol a complex one, sympy.Symbol({self.name!r}, complex=True), wherever it stands.",
            )
        if not self.shape:
            return [value]
        if pnp.ndim(value) < len(self.shape) or pnp.shape(value)[-len(self.shape) :] != self.shape:
            raise ShapeError(
                f"the argument {self.name} must have the shape {self.shape} behind the axes of the points, "
                f"got {pnp.shape(value)}",
                fix="put the axes of the points first, and those of the argument last.",
            )
        return [value[(..., *index)] for index in np.ndindex(self.shape)]


def elements(value: Any, caller: str) -> tuple[Shape, list[Any]]:
    """Return the shape and the elements of an expression, a matrix, or an array of expressions.

    Raises:
        TracingError: for text, and for what is no expression.
    """
    if isinstance(value, sympy.MatrixExpr):
        value = value.doit().as_explicit()
    if isinstance(value, (sympy.MatrixBase, sympy.NDimArray)):
        shape = tuple(int(length) for length in value.shape)
        return shape, [value[index] for index in np.ndindex(shape)]
    if isinstance(value, (list, tuple, sympy.Tuple, np.ndarray)):
        array = np.array(value, object)
        return array.shape, [elements(item, caller)[1][0] for item in array.flat]
    if isinstance(value, str):
        raise TracingError(
            f"{caller} takes SymPy expressions, got the text {value!r}",
            why="Reading text as an expression would execute it.",
            fix="build the expression from sympy.Symbol objects; if you trust the text, sympy.parse_expr reads it.",
        )
    try:
        return (), [sympy.sympify(value, strict=True)]
    except sympy.SympifyError:
        raise TracingError(
            f"{caller} takes SymPy expressions, got {type(value).__name__}",
            fix="build it from sympy.Symbol objects and numbers.",
        ) from None


def head(function: Any, caller: str) -> Any:
    """Return an unknown function itself where it may have arguments: `u` for `u(x, t)`."""
    found = function.func if isinstance(function, AppliedUndef) else function
    if not isinstance(found, UndefinedFunction):
        raise TracingError(f"{caller}: {function!r} is no unknown function", fix="use sympy.Function('u').")
    return found


def _real(symbols: Sequence[Any], caller: str) -> dict[Any, Any]:
    """Return a real symbol for each one about which nothing is said; complex ones as they are."""
    found: dict[Any, Any] = {}
    for symbol in symbols:
        if "complex" in number_kind(symbol):
            found[symbol] = symbol
            continue
        if symbol.is_extended_real is False:
            raise TracingError(
                f"{caller}: the symbol {symbol} is not real, and may be infinite",
                fix=f"make it a complex one: sympy.Symbol({str(symbol)!r}, complex=True).",
            )
        known = symbol.is_extended_real and isinstance(symbol, sympy.Symbol)  # and no element of a matrix
        real = symbol if known else sympy.Symbol(str(symbol), real=True)
        found[symbol] = sympy.Dummy(str(symbol), real=True) if real is not symbol and real in symbols else real
    return found


def _prepared(expression: Any, real: Mapping[Any, Any], renamed: Mapping[Any, Any], caller: str) -> Any:
    """Return an expression of real symbols and functions, with what SymPy can carry out carried out."""
    for old, new in renamed.items():
        expression = expression.replace(old, new)
    expression = expression.xreplace(real)
    others = sorted(str(symbol) for symbol in expression.free_symbols - set(real.values()))
    if others:
        raise TracingError(
            f"{caller}: {expression} contains {', '.join(others)}, which the function has no argument for",
            fix="add the symbol to the arguments, or substitute a number: expression.subs(symbol, 1).",
        )
    if expression.has(sympy.Derivative, sympy.Subs, sympy.MatrixExpr, *LEFT):
        expression = expression.doit(integrals=False)  # SymPy may search for an integral without end
    for each in sorted(expression.atoms(*LEFT), key=str):
        if not is_constant(each):
            raise TracingError(
                f"{caller}: {each} is not carried out",
                fix="call doit() on it first, or approximate it: a Sum of numbers times values at the nodes.",
            )
    return expression
