"""The arguments of a derived function: which are differentiated, which are left as they are, and what is put back."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, ShapeError, TracingError
from primad.functional.derived_calls import Call
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.traced_array import TracedArray


def check_differentiable(type: ArrayType, what: str, transform: str) -> None:
    """Raise unless derivatives can be taken with respect to a value of this type."""
    if not type.is_float:
        raise NotDifferentiableError(
            f"{what} of {transform} has dtype {type.dtype}",
            why="Derivatives are taken with respect to floating-point values; an integer cannot change by a little.",
            fix="pass a float (3.0, not 3), or convert with x.astype(float).",
        )


def choose_arguments(
    function: Callable[..., Any], args: Sequence[Any], argnums: Any, transform: str
) -> tuple[int, ...]:
    """Return the chosen positions as nonnegative numbers.

    Raises:
        TracingError: if there is no such argument.
    """
    if argnums.__class__ is int and 0 <= argnums < len(args):
        return (argnums,)
    chosen = []
    for number in (argnums,) if not isinstance(argnums, (tuple, list)) else argnums:
        try:
            number = operator.index(number)
        except TypeError:
            raise TracingError(
                f"{transform}: argnums must be integers, got {argnums!r}",
                fix="count the positional arguments from 0; several are a tuple, (0, 2).",
            ) from None
        if not -len(args) <= number < len(args):
            name = getattr(function, "__name__", "the function")
            raise TracingError(
                f"{transform}({name}): argnums={argnums} but the call has {len(args)} positional arguments",
                fix="argnums counts them from 0; arguments with names are not differentiated.",
            )
        chosen.append(number % len(args))
    return tuple(chosen)


def axis_of(axis: Any, ndim: int, what: str) -> int:
    """Return an axis that the user named, counted from the first one.

    Raises:
        ShapeError: if an array with `ndim` axes has none of this number.
    """
    if not isinstance(axis, (int, np.integer)) or not -ndim <= axis < ndim:
        raise ShapeError(
            f"{what} {axis!r} does not fit an array with {ndim} axes",
            fix=f"write an axis from 0 to {ndim - 1}." if ndim else "give an array that has axes, or no axis.",
        )
    return int(axis) % ndim


def _is_flat(in_tree: Any) -> bool:
    """Say whether all arguments are arrays."""
    return in_tree is tree.flat(in_tree.num_leaves)


def _places(in_tree: Any, argnums: Sequence[int]) -> tuple[list[Any], list[Sequence[int]]]:
    """Return the structures of chosen arguments, None where all arguments are arrays, and where their leaves stand."""
    if _is_flat(in_tree):
        return [None] * len(argnums), [(number,) for number in argnums]
    children = in_tree.children()
    starts = [0, *accumulate([structure.num_leaves for structure in children])]
    return [children[number] for number in argnums], [range(starts[number], starts[number + 1]) for number in argnums]


def returning_pair(function: Callable[..., Any], transform: str) -> Callable[..., Any]:
    """Return a function that raises where what it returns is no pair of a value and something beside it."""

    def inner(*args: Any) -> Any:
        result = function(*args)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ShapeError(
                f"{transform} with has_aux=True needs a function that returns a pair (value, aux)",
                fix="return value, aux; of these the value is differentiated.",
            )
        return result

    return inner


_Choice = tuple[list[Any], list[Sequence[int]], tuple[bool, ...], list[int]]


class Selected:
    """A recorded call, and which of its flattened arguments are differentiated.

    What is not chosen and no array (Python's numbers, strings, callables, …) is passed through as it is.

    Attributes:
        places: where the leaves stand that are differentiated, in the order of a derivative's results.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Any,
        transform: str,
        has_aux: bool = False,
    ) -> None:
        self.transform = transform
        self.single = not isinstance(argnums, (tuple, list))
        self.argnums = choose_arguments(function, args, argnums, transform)
        if kwargs:
            function = partial(function, **kwargs)
        if len(args) > 1 or not self.argnums:
            function, args = keep(function, args, [i in self.argnums for i in range(len(args))])
        self.has_aux = has_aux
        self.call = Call(returning_pair(function, transform) if has_aux else function, args)
        kept = self.call.kept
        if kept is None or not _is_flat(self.call.in_tree):  # equal structures may differ in keys, 1 and True
            self.trees, self.positions, self.active, self.places = self._choice()
            return
        choice: _Choice | None = kept.choices.get(self.argnums)
        if choice is None:
            choice = kept.choices[self.argnums] = self._choice()
        self.trees, self.positions, self.active, self.places = choice

    def _choice(self) -> _Choice:
        """Return the structures of chosen arguments, where their leaves stand, and which of all leaves these are."""
        types = self.call.types
        trees, positions = _places(self.call.in_tree, self.argnums)
        for number, places in zip(self.argnums, positions, strict=True):
            for place, position in enumerate(places):
                if types[position].dtype.kind != "f" and not types[position].is_complex:
                    leaf = f"element {place} of " if len(places) > 1 else ""
                    check_differentiable(types[position], f"{leaf}argument {number}", self.transform)
        chosen = {position for places in positions for position in places}
        return trees, positions, tuple([i in chosen for i in range(len(types))]), sorted(chosen)

    @property
    def value_tree(self) -> Any:
        """The structure of what is differentiated, the value of a function that may return more beside it."""
        return self.call.out_tree.children()[0] if self.has_aux else self.call.out_tree

    def aux(self) -> Any:
        """Return what the function returns beside its value, of which only that is computed; None if it does not."""
        if not self.has_aux:
            return None
        whole, aux_tree = self.call.program, self.call.out_tree.children()[1]
        outputs = whole.outputs[self.value_tree.num_leaves :]
        program = Program(whole.trace, whole.inputs, outputs, whole.in_tree, aux_tree, whole.names, whole.label)
        program.lines = whole.lines
        return program(*tree.unflatten(self.call.in_tree, self.call.leaves))

    def pack(self, values: dict[int, Any]) -> Any:
        """Return derivatives, given by flat position, in the structure of the chosen arguments."""
        if self.single and self.trees[0] is None:
            (place,) = self.positions[0]
            return like_argument(values[place], self.call.leaves[place])
        trees = []
        for positions, structure in zip(self.positions, self.trees, strict=True):
            found = [like_argument(values[i], self.call.leaves[i]) for i in positions]
            trees.append(found[0] if structure is None else tree.unflatten(structure, found))
        return trees[0] if self.single else tuple(trees)


def like_argument(value: Any, argument: Any) -> Any:
    """Return a derivative as its argument was given: an array for an array, a scalar for a number."""
    if isinstance(argument, np.ndarray) and isinstance(value, np.generic):
        return np.asarray(value)
    return value


def keep(
    function: Callable[..., Any], args: Sequence[Any], chosen: Sequence[bool]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Keep Python's numbers and whatever is no array from being traced, in arguments that are not chosen.

    Returns:
        a function of the arguments in which None stands for what is kept, and these arguments.
    """
    if all(on or type(arg) is np.ndarray or type(arg) is TracedArray for on, arg in zip(chosen, args, strict=True)):
        return function, tuple(args)
    flat = [tree.flatten(arg) for arg in args]
    kept = [[not on and not _is_array(leaf) for leaf in leaves] for on, (leaves, _) in zip(chosen, flat, strict=True)]
    if not any(map(any, kept)):
        return function, tuple(args)
    left = [
        tree.unflatten(structure, [None if stays else leaf for leaf, stays in zip(leaves, stay, strict=True)])
        for (leaves, structure), stay in zip(flat, kept, strict=True)
    ]

    def filled(*values: Any) -> Any:
        full = []
        for value, (leaves, structure), stay in zip(values, flat, kept, strict=True):
            given = iter(tree.leaves(value))
            full.append(tree.unflatten(structure, [x if y else next(given) for x, y in zip(leaves, stay, strict=True)]))
        return function(*full)

    filled.__qualname__ = getattr(function, "__qualname__", "function")
    filled.__wrapped__ = function  # type: ignore[attr-defined]  # the names of arguments are the function's
    return filled, tuple(left)


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") and not isinstance(leaf, np.generic)
