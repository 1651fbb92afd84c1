"""What a value is: whether it is traced, the type that it stands for, and the vector space that it is an element of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Any, NoReturn

import numpy as np

from primad import numpy as pn
from primad.errors import TracingError
from primad.functional.recorded_values import value
from primad.recording import tree
from primad.recording.traced_array import TracedArray, settled
from primad.recording.tracing import type_of

Function = Callable[..., Any]

Box = TracedArray
"""What stands for a value while a function is differentiated."""


def isbox(x: Any) -> bool:
    """Say whether a value is traced."""
    return isinstance(settled(x), TracedArray)


def getval(x: Any) -> Any:
    """Return the value of a traced array, others as they are.

    Raises:
        TracingError: where only its type is known (under jit and vmap).
    """
    x = settled(x)
    return value(x) if isinstance(x, TracedArray) else x


def kind_of(x: Any) -> type:
    """Return the type that the value of a traced array has, that of others themselves."""
    x = settled(x)
    return type(np.zeros(x.shape, x.dtype)[()]) if isinstance(x, TracedArray) else type(x)


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called with plain values; its result counts as a constant."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, args), **kwargs)

    return update_wrapper(function, f_raw)


class VSpace:
    """The vector space that a value is an element of: an array, a number, or a tuple, list or dict of such.

    Args:
        value: an element of the space.

    Attributes:
        size: the number of real numbers in an element: a complex one counts as two.
        iscomplex: whether some of them are complex.
        shape: of arrays their shape; of containers a container of the spaces of the items.
        dtype: of arrays their dtype, of containers None.

    Example:
        >>> from primad.compat.autograd.extend import vspace
        >>> space = vspace([np.ones(2), 3.0])
        >>> space.size, space.inner_prod([np.ones(2), 3.0], space.ones())
        (3, np.float64(5.0))
    """

    def __init__(self, value: Any) -> None:
        leaves, self._structure = tree.flatten(value)
        self._types = [type_of(leaf) for leaf in leaves]
        self.size = sum([type.size * (1 + type.is_complex) for type in self._types])
        self.iscomplex = any(type.is_complex for type in self._types)
        contains = isinstance(value, (tuple, list, dict))
        self.shape: Any = tree.map(VSpace, value) if contains else self._types[0].shape
        self.dtype = None if contains else self._types[0].dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and (self._structure, self._types) == (other._structure, other._types)

    def __hash__(self) -> int:
        return hash(tuple(self._types))

    def __repr__(self) -> str:
        return f"VSpace({tree.unflatten(self._structure, self._types)})"

    def _filled(self, make: Function) -> Any:
        """Return the element whose real parts, and then the imaginary ones, a function gives for shapes."""
        leaves = []
        for type in self._types:
            number = make(type.shape) + 1j * make(type.shape) if type.is_complex else make(type.shape)
            leaves.append(np.asarray(number).astype(type.dtype)[()])
        return tree.unflatten(self._structure, leaves)

    def zeros(self) -> Any:
        """Return the element whose numbers are 0."""
        return self._filled(np.zeros)

    def ones(self) -> Any:
        """Return the element whose numbers are 1, of complex numbers the imaginary parts too."""
        return self._filled(np.ones)

    def randn(self) -> Any:
        """Return an element whose numbers are drawn from the standard normal distribution (`np.random`)."""
        return self._filled(lambda shape: np.random.randn(*shape))

    def standard_basis(self) -> Iterator[Any]:
        """Yield the elements of which one number is 1, the others 0: each real part, then its imaginary part."""
        shapes = [type.shape + (2,) * type.is_complex for type in self._types]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        for number in range(self.size):
            parts = [
                part.reshape(shape)
                for part, shape in zip(np.split(np.eye(1, self.size, number)[0], ends), shapes, strict=True)
            ]
            leaves = [
                (part[..., 0] + 1j * part[..., 1] if type.is_complex else part).astype(type.dtype)[()]
                for part, type in zip(parts, self._types, strict=True)
            ]
            yield tree.unflatten(self._structure, leaves)

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two elements."""
        return tree.map(lambda a, b: a + b, x, y)

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return a multiple of an element."""
        return tree.map(lambda item: item * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the sum of the products of the numbers of two elements, of real and of imaginary parts alike."""
        products = tree.leaves(tree.map(lambda a, b: pn.sum(pn.real(pn.conj(a) * b)), x, y))
        return sum(products[1:], products[0])

    def covector(self, x: Any) -> Any:
        """Return what `inner_prod` with an element is as a cotangent: its complex conjugate."""
        return tree.map(pn.conj, x)

    @classmethod
    def register(cls, value_type: type, vspace_maker: Function | None = None) -> NoReturn:
        """Refuse: values of a user's own type are no arrays.

        Raises:
            TracingError: always.
        """
        raise TracingError(
            f"VSpace.register({value_type.__name__}) is not supported",
            why="Derivatives are taken in numbers, arrays, and tuples, lists, dicts and named tuples of them.",
            fix="pass the arrays that the value consists of.",
        )


def vspace(value: Any) -> VSpace:
    """Return the vector space of a value, traced or not."""
    return VSpace(value)
