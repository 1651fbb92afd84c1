"""Functions for PyTensor and PyMC: one Op of its graphs, with derivatives of primad's to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from primad.errors import NotDifferentiableError, PrimadError, ShapeError, TracingError
from primad.functional.export.differentiated import Differentiated, Flat, FlatFunction, MixedKey, numbers_among
from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.tracing import check_function, is_weak, record, type_of
from primad.runtime.cache import Cache
from primad.system.process import MOST_KEPT, made_once

Variable = Any
TRIED = (3, 2, 4, 8, 16, 1)
"""Lengths with which a function is recorded where a variable's is not known before it runs, to learn the dtypes and the
numbers of axes of its results. Chosen: 1 last, since an axis of that length is broadcast and squeezed away."""


@transform
def to_pytensor(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of PyTensor's variables that computes what `function` does, as one `Op` of the graph.

    The Op runs the function compiled by `primad.jit`. `pytensor.grad` and `pushforward` (`Rop` before PyTensor 3), to
    any order, make Ops again, of primad's derivatives; so PyMC samples a model with a solver of differential equations
    in it without finite differences. Needs the extra `primad[pytensor]`.

    Args:
        function: a function of arrays and pytrees of arrays.

    Returns:
        a function of variables, arrays, Python numbers and pytrees of them, whose result has variables for arrays.
        Their dtypes, and where those of the arguments are known their shapes, are found when the graph is built. By
        integers there is no gradient: they are disconnected.

    Raises:
        TracingError: if PyTensor is not installed; for an argument that is no dense array there.
        ShapeError: where a shape must be known and is not.
        NotDifferentiableError: from `pytensor.grad`, for complex numbers, of which PyTensor has no gradients; for an op
            without a rule.

    Example:
        >>> import numpy as np, primad
        >>> f = primad.to_pytensor(lambda x: np.sum(np.sin(x) ** 2))
        >>> pytensor = __import__("pytensor.tensor")  # doctest: +SKIP
        >>> x = pytensor.tensor.vector("x")  # doctest: +SKIP
        >>> pytensor.grad(f(x), x).eval({x: np.ones(2)})  # doctest: +SKIP
        array([0.90929743, 0.90929743])
    """
    check_function(function)
    kept = Cache(MOST_KEPT)

    def converted(*args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        where = numbers_among(leaves)
        given: OfVariables = kept.get(
            MixedKey(where, in_tree, structure_key(in_tree)),
            lambda: OfVariables(FlatFunction(function, in_tree, where)),
        )
        variables = [_variable(leaf) for leaf, number in zip(leaves, where, strict=True) if not number]
        numbers = tuple([leaf for leaf, number in zip(leaves, where, strict=True) if number])
        results = op_of(given, numbers)(*variables, return_list=True)
        return tree.unflatten(given.results(variables, numbers).out_tree, results)

    return converted


class ReturnedTypes(NamedTuple):
    """What a function returns for variables.

    Attributes:
        types: dtype and shape of each result; None for a length that is not known.
        out_tree: their structure.
    """

    types: tuple[tuple[str, tuple[int | None, ...]], ...]
    out_tree: Any


class ResultsKey(NamedTuple):
    """What the types of results depend on: dtypes and shapes of the variables, and the Python numbers, as written."""

    types: tuple[tuple[str, tuple[int | None, ...]], ...]
    numbers: str
    kind: str = "results"


class OfVariables(Differentiated):
    """A function of variables' arrays with those that are its derivatives; read back from a pickle it is one again."""

    def __init__(self, function: Flat, made: tuple[Differentiated, str] | None = None) -> None:
        super().__init__(function, made)
        self._results = Cache(MOST_KEPT)

    def __reduce__(self) -> Any:
        made = (OfVariables, (self.function,)) if self.made is None else (getattr, self.made)
        return *made, {"n": self.n}

    def __str__(self) -> str:
        if self.made is not None:
            return f"{self.made[1]} of {self.made[0]}"
        return f"primad {getattr(self.function, '__qualname__', 'function')}"

    def results(self, variables: Sequence[Variable], numbers: tuple[Any, ...]) -> ReturnedTypes:
        """Return what it returns for variables and Python numbers: a value by recording it, a derivative without."""
        self.n = len(variables)
        if self.made is None:
            types = tuple([(str(x.type.dtype), tuple(x.type.shape)) for x in variables])
            found: ReturnedTypes = self._results.get(
                ResultsKey(types, repr(numbers)), lambda: self._recorded(types, numbers)
            )
            return found
        function, kind = self.made
        assert isinstance(function, OfVariables)
        first = variables[: function.n]
        like = [(str(x.type.dtype), tuple(x.type.shape)) for x in first]
        if kind == "pushforward":
            like = list(function.results(first, numbers).types)
        return ReturnedTypes(tuple([one for one in like if np.dtype(one[0]).kind in "fc"]), None)

    def _recorded(self, types: Sequence[tuple[str, tuple[int | None, ...]]], numbers: tuple[Any, ...]) -> ReturnedTypes:
        """Return the types of its results, from a recording.

        Raises:
            ShapeError: if lengths are not known, and it cannot be recorded with any that are tried.
        """
        if all(length is not None for _, shape in types for length in shape):
            return self._recorded_with(0, types, numbers)
        first: PrimadError | None = None
        for length in TRIED:
            try:
                found = self._recorded_with(length, types, numbers)
            except PrimadError as error:
                first = first or error
            else:
                unknown = [(dtype, (None,) * len(shape)) for dtype, shape in found.types]
                return ReturnedTypes(tuple(unknown), found.out_tree)
        raise ShapeError(
            f"to_pytensor: the function cannot be recorded with arrays of {TRIED[0]} elements along an axis whose "
            f"length is not known: {first}",
            why="PyTensor asks for the dtypes and the numbers of axes of its results when the graph is built.",
            fix="give the variable a shape: pt.vector('x', shape=(5,)), or pt.specify_shape(x, (5,)).",
        ) from first

    def _recorded_with(
        self, length: int, types: Sequence[tuple[str, tuple[int | None, ...]]], numbers: tuple[Any, ...]
    ) -> ReturnedTypes:
        """Return the types of its results, with a length in place of those that are not known."""
        arrays = [ArrayType(tuple([length if n is None else n for n in shape]), np.dtype(d)) for d, shape in types]
        weak = (*[False] * len(arrays), *map(is_weak, numbers))
        in_tree = tree.flatten(((0.0,) * len(arrays), numbers))[1]
        program = record(self.function, (*arrays, *map(type_of, numbers)), in_tree, weak=weak)
        leaves = [(str(type.dtype), type.shape) for type in program.out_types if isinstance(type, ArrayType)]
        return ReturnedTypes(tuple(leaves), program.out_tree)


def op_of(function: OfVariables, numbers: tuple[Any, ...]) -> Any:
    """Return the Op that computes a function, with these Python numbers among its arguments."""
    return _op_class()(function, numbers)


def _init(op: Any, function: OfVariables, numbers: tuple[Any, ...]) -> None:
    op.function, op.numbers, op.written = function, numbers, repr(numbers)


def _make_node(op: Any, *inputs: Variable) -> Any:
    pytensor = pytensor_module()
    variables = [_variable(x) for x in inputs]
    types = op.function.results(variables, op.numbers).types
    outputs = [pytensor.tensor.TensorType(dtype, shape=shape)() for dtype, shape in types]
    return pytensor.graph.basic.Apply(op, variables, outputs)


def _perform(op: Any, node: Any, inputs: Sequence[Any], storage: Sequence[list[Any]]) -> None:
    found = tree.flatten(op.function.run(tuple(map(np.asarray, inputs)), op.numbers))[0]
    for cell, value, variable in zip(storage, found, node.outputs, strict=True):
        cell[0] = _checked(np.asarray(value), variable)


def _connection_pattern(op: Any, node: Any) -> list[list[bool]]:
    return [[_moves(x) and _moves(y) for y in node.outputs] for x in node.inputs]


def _infer_shape(op: Any, fgraph: Any, node: Any, shapes: Sequence[Any]) -> Any:
    made = op.function.made
    if made is None or made[1] != "pullback":
        raise pytensor_module().tensor.exceptions.ShapeError("known from its type, or when it has run")
    first = zip(node.inputs[: made[0].n], shapes, strict=False)
    return [shape for x, shape in first if _moves(x)]


def _pullback(op: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], given: Sequence[Variable]) -> Any:
    _check_real("a gradient", (*inputs, *outputs))
    cotangents = _with_zeros(outputs, given)
    if not cotangents or not any(map(_moves, inputs)):
        return [_disconnected() for _ in inputs]
    found = iter(op_of(op.function.pullback, op.numbers)(*inputs, *cotangents, return_list=True))
    return [next(found) if _moves(x) else _disconnected() for x in inputs]


def _pushforward(op: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], given: Sequence[Any]) -> Any:
    _check_real("a derivative", (*inputs, *outputs))
    if all(_is_absent(t) or not _moves(x) for t, x in zip(given, inputs, strict=True)):
        return [_disconnected() for _ in outputs]
    tangents = _with_zeros(inputs, given)
    found = iter(op_of(op.function.pushforward, op.numbers)(*inputs, *tangents, return_list=True))
    return [next(found) if _moves(y) else _disconnected() for y in outputs]


def _r_op(op: Any, inputs: Sequence[Variable], given: Sequence[Any]) -> Any:
    """Return tangents as PyTensor before 3 wants them: None for none."""
    found = _pushforward(op, inputs, op.make_node(*inputs).outputs, given)
    return [None if _is_absent(tangent) else tangent for tangent in found]


@made_once()
def _op_class() -> Any:
    """Return the class of Ops, which derives from PyTensor's."""
    base = pytensor_module().graph.op.Op
    if hasattr(base, "pullback"):
        rules: dict[str, Any] = {"pullback": _pullback, "pushforward": _pushforward}
    else:  # before PyTensor 3
        rules = {"L_op": _pullback, "R_op": _r_op}
    types = {"make_node": _make_node, "connection_pattern": _connection_pattern, "infer_shape": _infer_shape}
    own = {
        "__init__": _init,
        "__props__": ("function", "written"),
        "__reduce__": lambda op: (op_of, (op.function, op.numbers)),
        "__str__": lambda op: str(op.function),
        "perform": _perform,
    }
    return type("Applied", (base,), {**own, **types, **rules})


@lru_cache(maxsize=1)
def pytensor_module() -> Any:
    """Import PyTensor.

    Raises:
        TracingError: if it is not installed.
    """
    try:
        import pytensor
        import pytensor.tensor
    except ImportError:
        raise TracingError(
            "functions for PyTensor need PyTensor, which is not installed", fix="pip install 'primad[pytensor]'."
        ) from None
    return pytensor


def _variable(leaf: Any) -> Variable:
    """Return a leaf of the arguments as a variable that is a dense array.

    Raises:
        TracingError: if it is none.
    """
    pytensor = pytensor_module()
    try:
        found = pytensor.tensor.as_tensor_variable(leaf)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise TracingError(
            f"to_pytensor: {type(leaf).__name__} is no dense array in PyTensor: {error}",
            fix="pass a tensor variable, an array or a Python number; of a sparse matrix x.toarray().",
        ) from None
    return found


def _moves(variable: Variable) -> bool:
    """Say whether a variable has derivatives: numbers with a fraction, real or complex."""
    return np.dtype(variable.type.dtype).kind in "fc"


def _disconnected() -> Variable:
    """Return what stands for a derivative that is not there."""
    return pytensor_module().gradient.DisconnectedType()()


def _is_absent(given: Any) -> bool:
    """Say whether a tangent or cotangent is none."""
    return given is None or isinstance(given.type, pytensor_module().gradient.DisconnectedType)


def _with_zeros(variables: Sequence[Variable], given: Sequence[Any]) -> list[Variable]:
    """Return the tangents or cotangents of those variables that have derivatives, zeros for absent ones."""
    pairs = zip(variables, given, strict=True)
    return [x.zeros_like() if _is_absent(t) else t for x, t in pairs if _moves(x)]


def _check_real(what: str, variables: Sequence[Variable]) -> None:
    """Raise for complex numbers.

    Raises:
        NotDifferentiableError: if there are some.
    """
    found = [x for x in variables if np.dtype(x.type.dtype).kind == "c"]
    if found:
        raise NotDifferentiableError(
            f"to_pytensor: {what} of or by {found[0].type}: PyTensor has no derivatives by complex numbers",
            fix="take and return real parts and imaginary parts: z.real and z.imag.",
        )


def _checked(value: np.ndarray[Any, Any], variable: Variable) -> Any:
    """Return a result that is what was told when the graph was built.

    Raises:
        ShapeError: if its dtype or its number of axes is another.
    """
    if value.dtype == variable.type.dtype and value.ndim == variable.type.ndim:
        return value
    raise ShapeError(
        f"to_pytensor: the result is {value.dtype} with {value.ndim} axes, and was {variable.type} when the graph was "
        "built",
        why="The function does other things for other lengths, and the lengths of its arguments were not known then.",
        fix="give the variables shapes: pt.vector('x', shape=(5,)), or pt.specify_shape(x, (5,)).",
    )
