"""Programs as expressions: `to_sympy`, and LaTeX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from primad.errors import PrimadError, ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, without
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.tracing import argument_names, check_function, trace
from primad.symbolic.from_expressions import elements
from primad.symbolic.op_formulas import Writer, is_known
from primad.symbolic.translation import number_kind
from primad.system.quantities import several
from primad.transforms.lowering import lower_except

LONGEST = 4000
"""Characters of a formula that is shown without being asked for."""
MOST_ELEMENTS = 400
"""Elements computed by a program whose formula is shown without being asked for."""


def to_sympy(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return SymPy expressions for the results of a program.

    Derivatives are carried out, comparisons become `Piecewise`, `Max`, `Min` and `Abs`; the formulas hold for all real
    values of the symbols, of complex ones (`sympy.Symbol("z", complex=True)`) for all complex values. Floats in them
    are the fractions and constants (1/10, π) that round to them.

    Args:
        function: a function of arrays, or a Program.
        arguments: what stands for its arguments, in trees as the function takes them. A symbol or an expression is a
            number; a `sympy.Array` or `Matrix`, or a NumPy array of symbols, is an array; for a `primad.ArrayType`
            symbols are made, by the names of the parameters. Anything else is passed as it is. A Program may be given
            alone.

    Returns:
        the tree of the function's result: expressions for numbers, a `sympy.Array` for each array with axes.

    Raises:
        TracingError: for an op that has no formula (sorting, random draws, indices that depend on symbols, functions
            that are not recorded), by name.
        ShapeError: for arguments that do not fit the function or Program.

    Example:
        >>> import numpy as np, primad, sympy
        >>> x, t = sympy.symbols("x t")
        >>> primad.to_sympy(lambda x, t: primad.grad(lambda x: np.sin(x) * np.exp(-t))(x), x, t)
        exp(-t)*cos(x)
    """
    check_function(function)
    leaves, structure = tree.flatten(arguments)
    if isinstance(function, Program):
        return _formulas(function, _operands(function, leaves))
    _check_count(function, arguments)
    names = argument_names(function, structure)
    values: dict[int, Any] = {}
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, ArrayType):
            values[place] = _symbols(names[place] if place < len(names) else f"x{place}", leaf)
        elif _is_symbolic(leaf):
            values[place] = _array(leaf)
    types = [leaves[place] if isinstance(leaves[place], ArrayType) else _type(values[place]) for place in values]

    def recorded(*traced: Any) -> Any:
        found = list(leaves)
        for place, value in zip(values, traced, strict=True):
            found[place] = value
        return function(*tree.unflatten(structure, found))

    recorded.__qualname__ = getattr(function, "__qualname__", "function")
    return _formulas(trace(recorded)(*types), list(values.values()))


def _check_count(function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Raise unless a function takes so many arguments."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        if isinstance(function, np.ufunc):
            if len(arguments) != function.nin:
                raise TypeError(f"it takes {function.nin}")
        else:
            inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ShapeError(
            f"to_sympy({name}) was given {several(len(arguments), 'argument')} for the function: {error}",
            fix=f'give what stands for each: to_sympy({name}, sympy.Symbol("x")) for a number, or '
            "primad.ArrayType((3,), float) for an array of symbols.",
        ) from None
    except ValueError:  # a function that does not tell
        return


def _operands(program: Program, leaves: Sequence[Any]) -> list[Any]:
    """Return what stands for the inputs of a program: what is given, or symbols for all of them if nothing is."""
    given = list(leaves) or list(program.in_types)
    if len(given) != len(program.inputs):
        raise ShapeError(
            f"to_sympy: the program has {len(program.inputs)} inputs, got {len(given)}",
            fix="give one value for each input, or none at all for symbols.",
        )
    operands = []
    for name, type, leaf in zip(program.names, program.in_types, given, strict=True):
        found = _symbols(name, type) if isinstance(leaf, ArrayType) else _array(leaf) if _is_symbolic(leaf) else leaf
        if np.shape(found) != type.shape:
            raise ShapeError(
                f"to_sympy: the input {name} has the type {type}, got the shape {np.shape(found)}",
                fix="give an array of that shape, or none at all for symbols.",
            )
        operands.append(found if _is_symbolic(found) else np.asarray(found, type.dtype))
    return operands


def latex(program: Program) -> str:
    """Return the formulas of a program in LaTeX, one line for each result."""
    return _lines(to_sympy(program))


def _lines(found: Any) -> str:
    lines = [sympy.latex(each) for each in tree.leaves(found)]
    return lines[0] if len(lines) == 1 else r"\begin{gathered} " + r" \\ ".join(lines) + r" \end{gathered}"


def short_formulas(program: Program, arguments: Sequence[Any] = ()) -> Any:
    """Return what `to_sympy` does if the program has formulas and they are likely to be short, else None."""
    written = lower_except(program, is_known)
    if sum(node.type.size for node in written.nodes if not isinstance(node.op, Leaf)) > MOST_ELEMENTS:
        return None
    try:
        return to_sympy(program, *arguments)
    except PrimadError:
        return None


def short_latex(program: Program) -> str | None:
    """Return the formulas of a program in LaTeX if it has some and they are short, else None."""
    found = short_formulas(program)
    text = "" if found is None else _lines(found)
    return text if 0 < len(text) <= LONGEST else None


def _formulas(program: Program, arguments: Sequence[Any]) -> Any:
    with without(DIRECTIONS):  # sums as they are written: π²·f − f would become 8.87·f
        results = Writer().run(lower_except(program, is_known), arguments)
    found = [_result(value) for value in results]
    return found[0] if program.out_tree is None and len(found) == 1 else _in_tree(program, found)


def _in_tree(program: Program, results: list[Any]) -> Any:
    return tuple(results) if program.out_tree is None else tree.unflatten(program.out_tree, results)


def _result(value: Any) -> Any:
    """Return an array of expressions as SymPy's, and one without axes as its element."""
    value = np.asarray(value)
    items = [item.item() if isinstance(item, np.generic) else item for item in value.flat]
    return sympy.Array(items, value.shape) if value.shape else sympy.sympify(items[0])


def _symbols(name: str, type: ArrayType) -> Any:
    """Return an array of symbols for an argument."""
    out = np.empty(type.shape, object)
    for index in np.ndindex(type.shape):
        label = "_".join(
            [name, "".join(map(str, index)) if max(type.shape) <= 10 else "_".join(map(str, index))]
            if index
            else [name]
        )
        assumed = {"f": {"real": True}, "b": {}, "c": {"complex": True}}.get(type.dtype.kind, {"integer": True})
        out[index] = sympy.Symbol(label, **assumed)
    return out


def _is_symbolic(leaf: Any) -> bool:
    return isinstance(leaf, (sympy.Basic, sympy.MatrixBase, sympy.NDimArray)) or (
        isinstance(leaf, np.ndarray) and leaf.dtype == object
    )


def _is_complex(symbol: Any) -> bool:
    return "complex" in number_kind(symbol)


def _array(leaf: Any) -> Any:
    shape, found = elements(leaf, "to_sympy")
    out = np.empty(len(found), object)
    out[:] = found
    return out.reshape(shape)


def _type(value: Any) -> ArrayType:
    """Return the type of an array of expressions: integers where SymPy knows them to be, complex where it may."""
    if any(element.has(sympy.I) or any(map(_is_complex, element.free_symbols)) for element in value.flat):
        return ArrayType(value.shape, np.complex128)
    whole = value.size and all(element.is_integer and element.free_symbols for element in value.flat)
    return ArrayType(value.shape, np.int64 if whole else np.float64)
