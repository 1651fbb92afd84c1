"""Equations of fields, written with SymPy: residuals at points, LaTeX, and sources for solutions that are chosen."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.pde.equations.written_terms import EquationSymbols, Terms, check_integrals
from primad.pde.fields.named_fields import FieldAt
from primad.pde.written_names import names_in
from primad.recording import tree
from primad.system.deferred import sympy


class Equation:
    """An equation, or a system, for functions of coordinates; called with fields at points, it gives its residuals.

    Args:
        expression: a SymPy `Eq`, an expression that is to be zero, a matrix of these, or a tuple, list or dict.
        functions: known functions of the equation, such as data, as functions of as many numbers.
        name: what it is called.
        coordinates: names, in the order of the arguments of unknown functions; needed where these occur at other places
            only, as in an integral. A `Problem` gives those of its domain.

    Attributes:
        residuals: the expressions that are to be zero, in the tree of the equation.
        unknowns: the unknown functions, as they stand in the equation: u(x, t).
        coordinates: the symbols that the unknown functions are taken at.
        coefficients: the other symbols, which a call gives values for by name.

    Example:
        >>> import numpy as np, primad.pde as pde, sympy
        >>> x, t, k = sympy.symbols("x t k")
        >>> u = sympy.Function("u")(x, t)
        >>> heat = pde.Equation(sympy.Eq(u.diff(t), k * u.diff(x, 2)))
        >>> found = pde.Field(lambda x, t: np.exp(-2 * t) * np.sin(x), "x t")
        >>> heat(found(np.array([0.5, 1.0]), 0.0), k=2.0)
        array([0., 0.])
    """

    def __init__(
        self,
        expression: Any,
        *,
        functions: Mapping[Any, Callable[..., Any]] | None = None,
        name: str = "",
        coordinates: str | Sequence[str] = (),
    ) -> None:
        from primad.symbolic.from_expressions import elements  # loads when it is called, with SymPy
        from primad.symbolic.residual_functions import difference

        self.name = name
        self.functions = dict(functions or {})
        self.residuals = tree.map(lambda each: difference(each, "Equation"), expression)
        self._flat = [each for leaf in tree.leaves(self.residuals) for each in elements(leaf, "Equation")[1]]
        self.unknowns: tuple[Any, ...] = _unknowns(self._flat, _heads(self.functions), names_in(coordinates))
        self.coordinates: tuple[Any, ...] = tuple(dict.fromkeys(symbol for u in self.unknowns for symbol in u.args))
        for each in self._flat:
            check_integrals(each, [str(symbol) for symbol in self.coordinates])
        symbols = {symbol for each in self._flat for symbol in each.free_symbols}
        self.coefficients: tuple[Any, ...] = tuple(sorted(symbols - set(self.coordinates), key=str))
        names = [str(each) for each in (*(unknown.func for unknown in self.unknowns), *self.coefficients)]
        parameters = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names]
        self.__signature__ = inspect.Signature(parameters)
        self.__name__ = name or "equation"
        known = EquationSymbols({u.func: u for u in self.unknowns}, self.coordinates, self.coefficients, self.functions)
        self._terms = Terms([each.doit(integrals=False) for each in self._flat], known)

    def __call__(self, *fields: Any, **values: Any) -> Any:
        """Return the residuals at the points of fields.

        Args:
            fields: the unknowns at points, in the order of `unknowns`, or by name; then the coefficients.
            values: the same, by name.

        Returns:
            an array for each equation, in the tree in which they were given.

        Raises:
            ShapeError: if an unknown or a coefficient is missing, or is at other points.
        """
        from primad.symbolic.translation import number_kind  # loads when it is called, with SymPy

        try:
            given = self.__signature__.bind(*fields, **values).arguments
        except TypeError as error:
            raise ShapeError(
                f"{self!r} takes {self.__signature__}: {error}",
                fix="pass a field at points for each unknown, and coefficients by name.",
            ) from None
        found: dict[Any, FieldAt] = {}
        for unknown in self.unknowns:
            value = given[str(unknown.func)]
            if not isinstance(value, FieldAt):
                raise ShapeError(
                    f"{self!r} takes {unknown.func} as a field at points, got {type(value).__name__}",
                    fix="u = primad.pde.Field(function, 'x t'), then u(x, t) or u.on(points).",
                )
            if value.value.dtype.kind == "c" and "complex" not in number_kind(unknown.func):
                raise TracingError(
                    f"{self!r}: the field given for {unknown.func} has complex values",
                    why="An unknown function is read as a real one, of which SymPy makes another formula.",
                    fix=f"make it complex wherever it stands: sympy.Function({str(unknown.func)!r}, complex=True).",
                )
            found[unknown] = value
        known: dict[Any, Any] = {unknown.func: field for unknown, field in found.items()}
        known.update({symbol: self._coordinate(symbol, found) for symbol in self.coordinates})
        for symbol in self.coefficients:
            value = given[str(symbol)]
            known[symbol] = value.value if isinstance(value, FieldAt) else value
        results = iter(self._terms(known))
        shape = found[self.unknowns[0]].shape_of_points
        return tree.map(lambda leaf: _arranged(leaf, results, shape), self.residuals)

    def _coordinate(self, symbol: Any, found: Mapping[Any, FieldAt]) -> Any:
        owner = next(unknown for unknown in self.unknowns if symbol in unknown.args)
        return found[owner].coordinate(str(symbol))

    def substituted(self, solution: Mapping[Any, Any]) -> Any:
        """Return the residuals as expressions, with expressions for the unknowns: zero for a solution.

        Args:
            solution: expressions in the coordinates, by the unknowns or their names.

        Raises:
            TracingError: if an unknown is missing.
        """
        named = {str(getattr(key, "func", key)): value for key, value in solution.items()}
        missing = [unknown for unknown in self.unknowns if str(unknown.func) not in named]
        if missing:
            raise TracingError(
                f"{self!r}: there is no expression for {missing[0]}",
                fix=f"pass {{'{missing[0].func}': …}}, an expression of SymPy for each unknown.",
            )

        def solved(each: Any) -> Any:
            for unknown in self.unknowns:
                chosen = sympy.sympify(named[str(unknown.func)], strict=True)
                each = each.replace(unknown.func, sympy.Lambda(unknown.args, chosen))
            return each.doit(integrals=False)

        return tree.map(solved, self.residuals)

    def _repr_latex_(self) -> str:
        """Return the equation in LaTeX, for notebooks."""
        lines = [f"{sympy.latex(each)} = 0" for each in self._flat]
        inside = lines[0] if len(lines) == 1 else r"\begin{gathered} " + r" \\ ".join(lines) + r" \end{gathered}"
        return f"$\\displaystyle {inside}$"

    def __repr__(self) -> str:
        return f"Equation({self.name or ', '.join(f'{each} = 0' for each in self._flat)})"


def manufactured(equation: Equation, solution: Mapping[Any, Any]) -> Equation:
    """Return the equation with the sources with which chosen functions solve it: derived, not typed.

    Args:
        equation: an equation without sources.
        solution: expressions in the coordinates, by the unknowns or their names.

    Example:
        >>> import primad.pde as pde, sympy
        >>> x, y = sympy.symbols("x y")
        >>> pde.manufactured(pde.poisson(0), {"u": x**3 * y})
        Equation(6*x*y - Derivative(u(x, y), (x, 2)) - Derivative(u(x, y), (y, 2)) = 0)
    """
    sources = equation.substituted(solution)
    return Equation(
        tree.map(lambda left, source: left - source, equation.residuals, sources), functions=equation.functions
    )


def _arranged(leaf: Any, results: Any, points: tuple[int, ...]) -> Any:
    """Return the residuals of a leaf of the equation's tree, as an array of its shape behind the points."""
    from primad.symbolic.from_expressions import elements  # loads when it is called, with SymPy

    shape, parts = elements(leaf, "Equation")
    found = [next(results) for _ in parts]
    return pnp.reshape(pnp.stack(found, axis=-1), (*points, *shape)) if shape else found[0]


def _heads(functions: Mapping[Any, Any]) -> set[Any]:
    """Return known functions themselves where they may have arguments: f for f(x)."""
    applied = sympy.core.function.AppliedUndef
    return {getattr(known, "func", known) if isinstance(known, applied) else known for known in functions}


def _unknowns(expressions: Sequence[Any], known: set[Any], coordinates: Sequence[str]) -> tuple[Any, ...]:
    """Return the unknown functions of an equation as they stand at its points, u(x, t).

    Raises:
        TracingError: if there are none, or it is not said which places are those points.
    """
    found: dict[Any, set[Any]] = {}
    for each in expressions:
        _note(each, known, frozenset(), found)
    if not found:
        raise TracingError("Equation: there is no unknown function", fix="write u as sympy.Function('u')(x, t).")
    symbols = {str(symbol): symbol for each in expressions for symbol in each.free_symbols}
    chosen = []
    for function in sorted(found, key=str):
        places = [at for at in found[function] if at[0] == "point"]
        atoms = [atom for _, atom in places if not coordinates or {str(x) for x in atom.args} <= set(coordinates)]
        if not atoms and len(found[function]) == len(places):
            atoms = [atom for _, atom in places]  # at no coordinates, which the problem says
        counts = {len(atom.args) for _, atom in found[function]}
        if len(atoms) > 1 or (not atoms and counts != {len(coordinates)}):
            shown = " and ".join(sorted(str(atom) for atom in (atoms or [atom for _, atom in found[function]])))
            raise TracingError(
                f"Equation: {function} is taken at {shown}: which are the points of the equation is not said",
                why="They are where an unknown function is taken at coordinates alone, as u(x, t), and once.",
                fix='name the coordinates in the order of the arguments: pde.Equation(…, coordinates="x t").',
            )
        own = [symbols.get(name, sympy.Symbol(name)) for name in coordinates]
        chosen.append(atoms[0] if atoms else function(*own))
    return tuple(chosen)


def _note(expression: Any, known: set[Any], bound: frozenset[Any], found: dict[Any, set[Any]]) -> None:
    """Note where unknown functions are taken: at a point of the equation, or elsewhere."""
    if isinstance(expression, sympy.core.function.AppliedUndef) and expression.func not in known:
        alone = all(isinstance(x, sympy.Symbol) and x not in bound for x in expression.args)
        different = len(set(expression.args)) == len(expression.args)
        found.setdefault(expression.func, set()).add(("point" if alone and different else "elsewhere", expression))
    if isinstance(expression, (sympy.Integral, sympy.Subs)):
        inner = [limit[0] for limit in expression.limits] if hasattr(expression, "limits") else expression.variables
        _note(expression.args[0], known, bound | set(inner), found)
        for rest in expression.args[1:]:
            _note(rest, known, bound, found)
        return
    for part in expression.args:
        _note(part, known, bound, found)
