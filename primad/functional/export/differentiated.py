"""Functions with those that are their derivatives, for systems that differentiate by calling functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.jit import jit
from primad.recording import tree
from primad.recording.tracing import is_weak, type_of

Array = Any
Flat = Callable[[tuple[Array, ...], tuple[Any, ...]], Any]
"""A function of a tuple of arrays and of one of Python numbers, which derivatives leave alone."""


class MixedKey(NamedTuple):
    """A call with arguments of any structure, of which some leaves are Python numbers."""

    numbers: tuple[bool, ...]
    in_tree: Any
    entries: Hashable
    kind: str = "mixed"


def numbers_among(leaves: Sequence[Any]) -> tuple[bool, ...]:
    """Say which leaves are Python numbers, which adopt the dtype of what they meet."""
    return tuple([is_weak(leaf) or isinstance(leaf, bool) for leaf in leaves])


class FlatFunction:
    """A function of the arrays and the numbers among the leaves of a function's arguments.

    Attributes:
        function: of arguments of any structure.
        in_tree: that structure.
        where: which leaves are numbers.
    """

    def __init__(self, function: Callable[..., Any], in_tree: Any, where: Sequence[bool]) -> None:
        self.function, self.in_tree, self.where = function, in_tree, where
        self.__qualname__ = getattr(function, "__qualname__", "function")

    def __call__(self, arrays: tuple[Array, ...], numbers: tuple[Any, ...]) -> Any:
        """Return the function's result."""
        arrays_left, numbers_left = iter(arrays), iter(numbers)
        leaves = [next(numbers_left if number else arrays_left) for number in self.where]
        return self.function(*tree.unflatten(self.in_tree, leaves))


class Differentiated:
    """A function of arrays with those that are its derivatives, each made when it is first asked for.

    Attributes:
        function: the function.
        made: of a derivative, what it is derived from, and the name of the attribute there that it is.
        run: the function, compiled.
        n: how many arrays it takes; whoever calls it or makes a node of it tells.
    """

    def __init__(self, function: Flat, made: tuple[Differentiated, str] | None = None) -> None:
        self.function, self.made = function, made
        self.run = jit(function)
        self.n = 0

    @cached_property
    def pullback(self) -> Self:
        """The function of its arrays and of cotangents of its float results that returns cotangents of its floats.

        Those of complex numbers are conjugates of primad's: ∂f/∂x + i ∂f/∂y.
        """

        def pulled(given: tuple[Array, ...], numbers: tuple[Any, ...]) -> Any:
            floats, of_floats, cotangents = self._of_floats(given, numbers)
            pulled_back = vjp(of_floats, *floats)[1](tuple(map(_conjugate, cotangents)))
            return tuple(map(_conjugate, pulled_back))

        return type(self)(pulled, (self, "pullback"))

    @cached_property
    def pushforward(self) -> Self:
        """The function of its arrays and of tangents of its floats that returns tangents of its float results."""

        def pushed(given: tuple[Array, ...], numbers: tuple[Any, ...]) -> Any:
            floats, of_floats, tangents = self._of_floats(given, numbers)
            return jvp(of_floats, tuple(floats), tangents)[1]

        return type(self)(pushed, (self, "pushforward"))

    def _of_floats(
        self, given: tuple[Array, ...], numbers: tuple[Any, ...]
    ) -> tuple[list[Array], Callable[..., tuple[Array, ...]], tuple[Array, ...]]:
        """Return the floats among its arrays, the float results as a function of them, and what else was given."""
        arrays, rest = given[: self.n], given[self.n :]
        places = [i for i, array in enumerate(arrays) if type_of(array).is_float]

        def of_floats(*values: Array) -> tuple[Array, ...]:
            whole = list(arrays)
            for place, value in zip(places, values, strict=True):
                whole[place] = value
            results = tree.flatten(self.function(tuple(whole), numbers))[0]
            return tuple([result for result in results if type_of(result).is_float])

        return [arrays[place] for place in places], of_floats, rest


def _conjugate(x: Array) -> Array:
    """Return the conjugates of complex numbers, and real ones as they are."""
    return np.conj(x) if type_of(x).is_complex else x
