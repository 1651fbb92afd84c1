"""Equations of fields, written with SymPy: residuals at points, LaTeX, and sources for solutions that are chosen."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.pde.fields.named_fields import FieldAt
from primad.recording import tree
from primad.system.deferred import sympy


class Equation:
    """An equation, or a system, for functions of coordinates; called with fields at points, it gives its residuals.

    Args:
        expression: a SymPy `Eq`, an expression that is to be zero, a matrix of these, or a tuple, list or dict.
        functions: known functions of the equation, such as data, as functions of as many numbers.
        name: what it is called.

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
        self, expression: Any, *, functions: Mapping[Any, Callable[..., Any]] | None = None, name: str = ""
    ) -> None:
        from primad.symbolic.from_expressions import elements  # loads when it is called, with SymPy
        from primad.symbolic.residual_functions import difference

        self.name = name
        self.functions = dict(functions or {})
        self.residuals = tree.map(lambda each: difference(each, "Equation"), expression)
        self._flat = [each for leaf in tree.leaves(self.residuals) for each in elements(leaf, "Equation")[1]]
        heads = {
            getattr(known, "func", known) if isinstance(known, sympy.core.function.AppliedUndef) else known
            for known in self.functions
        }
        found = {
            atom
            for each in self._flat
            for atom in each.atoms(sympy.core.function.AppliedUndef)
            if atom.func not in heads
        }
        by_name: dict[str, Any] = {}
        for atom in sorted(found, key=str):
            if by_name.setdefault(str(atom.func), atom) != atom:
                raise TracingError(
                    f"Equation: {atom.func} is taken at different places, {by_name[str(atom.func)]} and {atom}",
                    why="A field is given at the points of the equation.",
                    fix="use primad.residual_of, whose unknowns are functions that may be called anywhere.",
                )
        if not by_name:
            raise TracingError("Equation: there is no unknown function", fix="write u as sympy.Function('u')(x, t).")
        self.unknowns: tuple[Any, ...] = tuple(by_name.values())
        places = [symbol for unknown in self.unknowns for symbol in unknown.args]
        for place in places:
            if not isinstance(place, sympy.Symbol):
                raise TracingError(
                    f"Equation: the unknown functions are taken at {place}, which is no coordinate",
                    fix="primad.residual_of takes such equations, as u(0, t) and u(2 * x, t).",
                )
        self.coordinates: tuple[Any, ...] = tuple(dict.fromkeys(places))
        symbols = {symbol for each in self._flat for symbol in each.free_symbols}
        self.coefficients: tuple[Any, ...] = tuple(sorted(symbols - set(self.coordinates), key=str))
        names = [str(each) for each in (*(unknown.func for unknown in self.unknowns), *self.coefficients)]
        parameters = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names]
        self.__signature__ = inspect.Signature(parameters)
        self.__name__ = name or "equation"
        self._prepare()

    def _prepare(self) -> None:
        """Put a symbol in the place of each derivative, and compile what is left."""
        from primad.symbolic.from_expressions import Compiled  # loads when it is called, with SymPy
        from primad.symbolic.translation import number_kind

        atoms: dict[Any, Any] = {}
        prepared = []
        for each in self._flat:
            expression = each.doit(integrals=False)
            derivatives = sorted(expression.atoms(sympy.Derivative), key=str)
            own = [d for d in derivatives if d.expr in self.unknowns]
            for atom in (*own, *self.unknowns):  # derivatives first, which contain the functions
                base = atom.expr if isinstance(atom, sympy.Derivative) else atom
                atoms.setdefault(atom, sympy.Dummy(str(atom), **number_kind(base.func)))
                expression = expression.xreplace({atom: atoms[atom]})
            prepared.append(expression)
        self._derivatives = list(atoms)
        arguments = [*atoms.values(), *self.coordinates, *self.coefficients]
        self._compiled = Compiled(prepared, arguments, list(self.functions), "Equation")

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
        arrays = []
        for atom in self._derivatives:
            unknown, along = _derivative(atom)
            arrays.append(found[unknown].d(" ".join(along)))
        first = found[self.unknowns[0]]
        arrays += [self._coordinate(symbol, found) for symbol in self.coordinates]
        arrays += [given[str(symbol)] for symbol in self.coefficients]
        arrays = [each.value if isinstance(each, FieldAt) else each for each in arrays]
        results = iter(self._compiled(arrays, list(self.functions.values())))
        shape = first.shape_of_points
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
        chosen = {unknown: sympy.sympify(named[str(unknown.func)], strict=True) for unknown in self.unknowns}
        return tree.map(lambda each: each.subs(chosen, simultaneous=True).doit(integrals=False), self.residuals)

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


def _derivative(atom: Any) -> tuple[Any, list[str]]:
    """Return the unknown function, and the names of the coordinates along which it is differentiated."""
    if not isinstance(atom, sympy.Derivative):
        return atom, []
    return atom.expr, [str(symbol) for symbol, times in atom.variable_count for _ in range(int(times))]
