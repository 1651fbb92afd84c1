"""Functions that cannot be recorded: an op that calls back, with arrays, when a program runs.

The op knows the types of its results and nothing else. A rule for its derivative is given as for any other function,
with `custom_jvp` or `custom_vjp`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from pkgutil import resolve_name
from typing import Any, Literal, NoReturn, get_args, overload

import numpy as np

from primad.errors import NotDifferentiableError, ShapeError, TracingError
from primad.functional.rules.readings import Readable
from primad.functional.transformed import is_sent, name_of, not_pickled
from primad.ir.array_types import ArrayType, in_machine_order, type_of_results
from primad.ir.replay import newest
from primad.ops.record.fields import Axes, DerivativeRules
from primad.ops.record.primitive import Primitive
from primad.recording import tree
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import check_function, type_of

Function = Callable[..., Any]
Mapping = Literal["sequential", "vectorized", "refused"]
Batches = tuple[tuple[tuple[bool, ...], int], ...]
"""For each vmap, from the inside out, which operands have its axis, and its length."""


@overload
def opaque(function: Function, *, result: Any, vmap: Mapping = ..., name: str = ...) -> Opaque: ...
@overload
def opaque(*, result: Any, vmap: Mapping = ..., name: str = ...) -> Callable[[Function], Opaque]: ...
def opaque(function: Function | None = None, *, result: Any, vmap: Mapping = "sequential", name: str = "") -> Any:
    """Make a function that cannot be recorded (LAPACK, a root finder, a table, a simulation) usable in programs.

    It is called with arrays each time a program runs, never with traced ones. It must be pure: it may be called any
    number of times, in any order, or not at all where nothing needs its result. Its arguments are copies, which it may
    keep or change; its results are copied.

    It has no derivative of its own: wrap it in `custom_jvp` or `custom_vjp`, whose rule is written with functions that
    can be recorded, for derivatives of every order, or is opaque too, for as many orders as there are rules. Make it
    once, at the top of a module: plans are found again by the object.

    Args:
        function: a function of arrays and pytrees of arrays; a value without axes is a NumPy scalar. Keywords that it
            is called with are constants (hashable), which it gets as they are.
        result: types of the results, a tree of `primad.ArrayType`s (or of arrays like them); or a function of the types
            of the arguments, and of the keywords, that returns it.
        vmap: 'sequential', called once for each element of the mapped axis; 'vectorized', called once, with all
            arguments and results having the mapped axes in front; 'refused', an error.
        name: its name in program texts; by default that of the function.

    Returns:
        a function of the same arguments. Without `function`, a decorator.

    Raises:
        ShapeError: when it runs, if its results are not of the declared structure and types.
        NotDifferentiableError: when it is differentiated without a rule.

    Example:
        >>> import numpy as np, primad
        >>> from scipy.optimize import brentq
        >>> @primad.custom_jvp
        ... @primad.opaque(result=lambda c: c)
        ... def wright_omega(c):
        ...     return brentq(lambda w: w + np.log(w) - c, 1e-9, 1e9)
        >>> @wright_omega.defjvp
        ... def rule(primals, tangents):
        ...     (c,), (t,) = primals, tangents
        ...     w = wright_omega(c)
        ...     return w, t * w / (1 + w)
        >>> round(primad.grad(primad.grad(wright_omega))(1.0), 12)
        np.float64(0.125)
    """
    if vmap not in get_args(Mapping):
        raise TracingError(
            f"opaque: vmap must be one of {', '.join(map(repr, get_args(Mapping)))}, got {vmap!r}",
            fix="leave it out: one element of the batch after the other is computed then.",
        )
    if isinstance(result, type):  # it could be called, but not with types
        raise TracingError(
            f"opaque: result is the class {result.__name__}", fix="give a type of arrays: primad.ArrayType((), float)."
        )
    if function is None:
        return partial(opaque, result=result, vmap=vmap, name=name)
    check_function(function, "opaque: ")
    return Opaque(function, result, vmap, name)


class MappingRefusedError(TracingError):
    """An opaque function that is declared not to be mapped was."""


class Opaque(Readable):
    """A function that is called back when a program runs; `primad.opaque` makes it.

    Attributes:
        primitive: the op that programs apply; `primad.parse` takes it to read them back.
    """

    __name__: str

    def __init__(self, function: Function, result: Any, vmap: Mapping, name: str) -> None:
        self.options = {"result": result, "vmap": vmap, "name": name}
        self._function = function
        update_wrapper(self, function, updated=())
        found = name or getattr(function, "__name__", type(function).__name__)
        self.__name__ = found if re.fullmatch(r"[A-Za-z_]\w*", found) else "opaque"
        self.primitive = Primitive(
            name=self.__name__,
            kind="custom",
            numpy=self._compute,
            infer=self._infer,
            derivative=DerivativeRules(jvp=self._push),
            axes=Axes(batch=self._batch),
        )

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Call the function: record one op if an argument is traced, else compute it."""
        leaves, in_tree = tree.flatten(args)
        types = [type_of(leaf) for leaf in leaves]
        _, out_tree = self._declared(in_tree, types, params)
        options = dict(params) if in_tree == _flat(len(leaves)) else {**params, "arguments": in_tree}
        traced = [leaf.node for leaf in leaves if isinstance(leaf, TracedArray)]
        if traced:
            self._check_hashable(params)
            trace = newest(traced, traced[0].trace)
            leaves = [leaf if isinstance(leaf, TracedArray) else TracedArray(lift(leaf, trace)) for leaf in leaves]
        results = self.primitive(*leaves, **options)
        return tree.unflatten(out_tree, results if isinstance(results, tuple) else [results])

    def __repr__(self) -> str:
        return f"<opaque function {self.__name__}>"

    def __copy__(self) -> Opaque:
        return self

    def __deepcopy__(self, memo: Any) -> Opaque:
        return self

    def __reduce__(self) -> Any:
        name = name_of(self, anywhere=True)
        if name is not None:
            return resolve_name, (name,)
        if not is_sent(self._function) or not is_sent(self.options["result"]):
            raise not_pickled(f"the opaque function {self.__name__}", "or its result= was.", "or give that one a name")
        return partial(opaque, **self.options), (self._function,)

    def parts(self) -> Sequence[Any]:
        """Return its op, which is equal to itself only, and what its results are declared to be."""
        return self.primitive, self.options["result"]

    @property
    def where(self) -> str | None:
        """The line of the function's definition."""
        code = getattr(self._function, "__code__", None)
        return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    def _check_hashable(self, params: dict[str, Any]) -> None:
        for name, value in params.items():
            if isinstance(value, TracedArray):
                raise TracingError(f"{self.__name__}: the keyword {name} is traced", fix="pass arrays by position.")
            try:
                hash(value)
            except TypeError:
                raise TracingError(
                    f"{self.__name__}: the keyword {name} is not hashable: {value!r}",
                    why="Keywords of an opaque function are constants of the program.",
                    fix="pass arrays by position, and a tuple for a list.",
                ) from None

    def _declared(
        self, in_tree: Any, types: Sequence[ArrayType], params: dict[str, Any]
    ) -> tuple[list[ArrayType], Any]:
        """Return the types of the results that are declared for arguments of these types, and their tree."""
        declared = self.options["result"]
        if callable(declared):
            declared = declared(*tree.unflatten(in_tree, types), **params)
        leaves, out_tree = tree.flatten(declared)
        if not leaves:
            raise ShapeError(f"{self.__name__}: result= declares no array", fix="give an ArrayType for each result.")
        return [type_of(leaf) for leaf in leaves], out_tree

    # -- the fields of the record --------------------------------------------------------------------------------------

    def _infer(self, *types: ArrayType, batches: Batches = (), arguments: Any = None, **params: Any) -> Any:
        found, _ = self._declared(arguments or _flat(len(types)), _rows(types, batches), params)
        wide = _wide(found, batches)
        return type_of_results(wide)

    def _compute(self, *arrays: Any, batches: Batches = (), arguments: Any = None, **params: Any) -> Any:
        values = [in_machine_order(np.asarray(array)) for array in arrays]
        in_tree = arguments or _flat(len(arrays))
        declared, out_tree = self._declared(in_tree, _rows(values, batches), params)
        wide = _wide(declared, batches)
        if math.prod(_sizes(batches)) == 0:
            results = [np.empty(type.shape, type.dtype) for type in wide]
        elif self.options["vmap"] == "vectorized":
            values = [_spread(x, i, batches) for i, x in enumerate(values)]
            results = self._called(in_tree, values, params, out_tree, wide)
        else:
            results = self._looped(in_tree, values, params, out_tree, declared, batches)
        return results[0] if len(results) == 1 else tuple(results)

    def _looped(
        self,
        in_tree: Any,
        values: Sequence[Any],
        params: dict[str, Any],
        out_tree: Any,
        types: Sequence[ArrayType],
        batches: Batches,
    ) -> list[Any]:
        if not batches:
            return self._called(in_tree, values, params, out_tree, types)
        results = [np.empty(type.shape, type.dtype) for type in _wide(types, batches)]
        mapped = [[flags[i] for flags, _ in reversed(batches)] for i in range(len(values))]
        for index in np.ndindex(_sizes(batches)):
            rows = [
                x[tuple([i for i, on in zip(index, own, strict=True) if on])]
                for x, own in zip(values, mapped, strict=True)
            ]
            try:
                found = self._called(in_tree, rows, params, out_tree, types)
            except Exception as error:
                error.add_note(f"  for element {index if len(index) > 1 else index[0]} of what vmap maps")
                raise
            for result, row in zip(results, found, strict=True):
                result[index] = row
        return results

    def _called(
        self, in_tree: Any, values: Sequence[Any], params: dict[str, Any], out_tree: Any, types: Sequence[ArrayType]
    ) -> list[Any]:
        """Call the function once, on copies, and return copies of its results."""
        found = self._function(*tree.unflatten(in_tree, [np.array(value)[()] for value in values]), **params)
        leaves = tree.flatten_as(out_tree, found, f"the result of {self.__name__}")
        return [self._checked(leaf, type) for leaf, type in zip(leaves, types, strict=True)]

    def _checked(self, leaf: Any, type: ArrayType) -> Any:
        array = in_machine_order(np.array(leaf))
        number = isinstance(leaf, (bool, int, float)) and not isinstance(leaf, np.generic)
        if number and np.can_cast(array.dtype, type.dtype, "same_kind"):
            array = array.astype(type.dtype)
        if array.shape != type.shape or array.dtype != type.dtype:
            raise ShapeError(
                f"{self.__name__} returned {array.dtype}{list(array.shape)} where {type} is declared",
                why="Programs are planned with the types that result= declares.",
                fix="convert the result with np.asarray(…, dtype), or correct result=.",
                where=self.where,
            )
        return array[()]

    def _batch(
        self, flags: tuple[bool, ...], size: int, /, *operands: Any, batches: Batches = (), **params: Any
    ) -> Any:
        if self.options["vmap"] == "refused":
            raise MappingRefusedError(
                f"vmap of {self.__name__}, which is declared with vmap='refused'",
                why="vmap, and derivatives along many directions at once, call it with stacks of its arguments.",
                fix="declare it 'sequential' or 'vectorized', or do not map the arguments that it depends on "
                "(in_axes=None).",
            )
        return self.primitive(*operands, batches=(*batches, (flags, size)), **params)

    def _push(self, tangents: Sequence[Any], out: Any, *inputs: Any, **params: Any) -> NoReturn:
        raise NotDifferentiableError(
            f"{self.__name__} is opaque, and has no derivative",
            why="It was not recorded: it is called back when the program runs. A rule that calls it has a derivative "
            "only if it has a rule itself.",
            fix=f"wrap {self.__name__} in primad.custom_jvp (or custom_vjp) and give it a rule; use "
            "primad.stop_gradient where the derivative is meant to be zero.",
        )


def _flat(count: int) -> Any:
    """Return the tree of `count` arguments that are arrays."""
    return tree.flatten((0,) * count)[1]


def _sizes(batches: Batches) -> tuple[int, ...]:
    """Return the lengths of the mapped axes, which are in front, the last mapped first."""
    return tuple([size for _, size in reversed(batches)])


def _rows(operands: Sequence[Any], batches: Batches) -> list[ArrayType]:
    """Return the types of the operands (arrays or types) without the mapped axes, which they have in front."""
    leading = [sum(flags[i] for flags, _ in batches) for i in range(len(operands))]
    return [ArrayType(x.shape[axes:], x.dtype) for x, axes in zip(operands, leading, strict=True)]


def _wide(types: Sequence[ArrayType], batches: Batches) -> tuple[ArrayType, ...]:
    """Return the types of results with the mapped axes in front."""
    return tuple([ArrayType((*_sizes(batches), *type.shape), type.dtype) for type in types])


def _spread(x: Any, position: int, batches: Batches) -> Any:
    """Give an operand all the mapped axes; along those that it does not have, it is constant."""
    own = [flags[position] for flags, _ in reversed(batches)]
    leading = [slice(None) if on else None for on in own]
    shape = (*_sizes(batches), *x.shape[sum(own) :])
    return np.broadcast_to(x[tuple(leading)], shape)
