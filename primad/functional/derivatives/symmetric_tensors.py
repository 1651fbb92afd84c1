"""Derivatives of any order as symmetric tensors: entries are computed when they are asked for, each of equal ones once.

An entry is told by the elements of the argument that it is differentiated in, in any order: there are
C(n + k − 1, k) distinct ones of order k, of nᵏ. They are stored as LAPACK stores the upper triangle of a symmetric
matrix: the largest number counts first, so that those of the first m elements are the first C(m + k − 1, k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from primad import numpy as pnp
from primad.errors import MemoryLimitError, ShapeError, TracingError
from primad.functional.complex_checks import check_real
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.first_order import function_name, jvp
from primad.functional.derivatives.gradients import grad
from primad.functional.selected_arguments import Selected, check_differentiable
from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.programs.jacobians.diagonals import together
from primad.recording import tree
from primad.recording.tracing import type_of
from primad.system.machine import SPARE_DOUBLES

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
P = ParamSpec("P")


class SymmetricTensor(NDArrayOperatorsMixin):
    """All derivatives of one order at a point, computed only where they are asked for.

    `T[i, j, k]` is an entry, and slices give blocks. `T[...]` and `np.asarray(T)` are the whole array, which arithmetic
    and NumPy's functions take. `T.distinct()` has each of equal entries once, for the elements of the argument that
    `T.indices` names. `T.along(u, v)` multiplies by vectors.

    Args:
        function: of one array or number, with an array or number as its result.
        x: the point.
        order: how often it is differentiated.
        types: of the argument and of the result.
    """

    def __init__(self, function: Function, x: Any, order: int, types: tuple[ArrayType, ArrayType]) -> None:
        self._function, self._x, self.order = function, x, order
        self._argument, self._result = types

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array, that of the result and then of the argument for each time it is differentiated."""
        return self._result.shape + self._argument.shape * self.order

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of the whole array."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self._result.dtype

    @property
    def count(self) -> int:
        """How many distinct entries there are for each element of the result."""
        return _count(self._argument.size, self.order)

    @property
    def indices(self) -> Array:
        """The elements of the argument that each distinct entry is differentiated in, rows of ascending numbers.

        Raises:
            MemoryLimitError: where the entries would not fit into memory.
        """
        n = self._argument.size
        self._check_room(self.count)
        found = np.zeros((1, 0), np.int64)
        for k in range(1, self.order + 1):
            heads = [found[: _count(last + 1, k - 1)] for last in range(n)]
            lasts = np.repeat(np.arange(n), [len(head) for head in heads])
            found = np.column_stack([np.concatenate([found[:0], *heads]), lasts])
        return found

    def distinct(self) -> Any:
        """Compute each of equal entries once.

        Returns:
            an array with an axis for the rows of `indices`, then those of the result.

        Raises:
            MemoryLimitError: where they would not fit into memory.

        Example:
            >>> import numpy as np, primad
            >>> T = primad.derivatives(lambda x: x[0] ** 2 * x[1], 3)(np.array([1.0, 2.0]))
            >>> T.indices.tolist(), T.distinct()
            ([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], array([0., 2., 0., 0.]))
        """
        return self._entries(self.indices)

    def along(self, *directions: Any) -> Any:
        """Return the tensor times vectors: derivatives along directions.

        Args:
            *directions: arrays like the argument, as many as the order at most.

        Returns:
            a number or array for as many vectors as the order says, for fewer a tensor of a lower order.

        Raises:
            ShapeError: for more directions than that, or others than the argument.

        Example:
            >>> import numpy as np, primad
            >>> T = primad.derivatives(lambda x: np.sum(x**4), 3)(np.array([1.0, 2.0]))
            >>> v = np.ones(2)
            >>> T.along(v, v, v), np.diag(T.along(v))
            (np.float64(72.0), array([24., 48.]))
        """
        if len(directions) > self.order:
            raise ShapeError(
                f"along: {len(directions)} directions for derivatives of order {self.order}",
                fix=f"pass up to {self.order}, or take derivatives(f, {len(directions)}).",
            )
        for direction in directions:
            if type_of(direction).shape != self._argument.shape:
                raise ShapeError(
                    f"along: a direction of type {type_of(direction)} for an argument {self._argument}",
                    fix="give a direction of the shape and dtype of the argument.",
                )
        along = _pushed(self._function, directions)
        left = self.order - len(directions)
        return SymmetricTensor(along, self._x, left, (self._argument, self._result)) if left else along(self._x)

    def __getitem__(self, index: Any) -> Any:
        own, numbers = self._places(index)
        self._check_room(math.prod(map(max, zip(*[x.shape for x in numbers], strict=True))))
        wanted = np.stack(np.broadcast_arrays(*numbers), axis=-1)
        ranked = np.sort(wanted.reshape(-1, self.order), axis=1)
        once, place = _once(ranked)
        found = self._entries(once)[place]
        found = pnp.reshape(found, (*wanted.shape[:-1], *self._result.shape))
        back = range(wanted.ndim - 1, found.ndim)
        found = pnp.transpose(found, (*back, *range(wanted.ndim - 1)))
        return found[own]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[...], dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise TracingError("a tensor of derivatives is read-only", fix="change a copy: np.array(T).")
        return getattr(ufunc, method)(*_whole(inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_whole(args), **{key: _whole(value) for key, value in kwargs.items()})

    def __float__(self) -> float:
        return float(self[...])

    def __settled__(self) -> Any:
        """Return the whole array, which is what a recorded function returns."""
        return self[...]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d derivative")
        return self.shape[0]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TracingError("a tensor of derivatives is read-only", fix="change a copy: np.array(T).")

    def __repr__(self) -> str:
        kind = f"{self.dtype}[{','.join(map(str, self.shape))}]"
        return f"SymmetricTensor({kind}, order {self.order}, {self.count} distinct entries)"

    def _places(self, index: Any) -> tuple[tuple[Any, ...], list[Array]]:
        """Return the index of the result's axes, and for each derivative the numbers of the argument's elements.

        Raises:
            ShapeError: for what is no whole number, slice or ellipsis.
            IndexError: for too many of them, and for numbers out of range.
        """
        parts = list(index) if isinstance(index, tuple) else [index]
        for part in parts:
            whole = isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))
            if not whole and not isinstance(part, slice) and part is not Ellipsis:
                raise ShapeError(
                    f"a tensor of derivatives indexed by {part!r}",
                    fix="index it with whole numbers and slices, or the whole array: np.asarray(T)[…].",
                )
        filled = [place for place, part in enumerate(parts) if part is Ellipsis]
        left = self.ndim - len(parts) + len(filled)
        if len(filled) > 1 or left < 0:
            raise IndexError(f"too many indices for a tensor of derivatives with {self.ndim} axes")
        at = filled[0] if filled else len(parts)
        parts[at : at + len(filled)] = [slice(None)] * left
        axes, rows = self._argument.ndim, len(self._result.shape)
        shown = [np.arange(n)[part] for n, part in zip(self.shape, parts, strict=True)]
        kept = sum(x.ndim for x in shown[rows:])
        numbers, done = [], 0
        for k in range(self.order):
            number = np.zeros((1,) * kept, np.int64)
            for n, x in zip(self._argument.shape, shown[rows + k * axes : rows + (k + 1) * axes], strict=True):
                number = number * n + (x.reshape((-1,) + (1,) * (kept - done - 1)) if x.ndim else x)
                done += x.ndim
            numbers.append(number)
        return tuple(parts[:rows]), numbers

    def _check_room(self, count: int) -> None:
        if count * self._result.size > SPARE_DOUBLES:
            raise MemoryLimitError(
                f"{count * self._result.size} derivatives of order {self.order} would not fit into memory",
                fix="ask for the entries that are needed, T[i, j, k], or for products with vectors, T.along(u, v).",
            )

    def _entries(self, wanted: Array) -> Any:
        """Compute distinct entries, each named by ascending numbers; the first axis of the result is theirs."""
        n, real = self._argument.size, not self._result.shape and not self._result.is_complex
        if not len(wanted):
            return pnp.zeros((0, *self._result.shape), self.dtype)
        heads, place = _once(wanted[:, :-1])
        if not real or len(heads) >= len(wanted):  # a gradient gives more than a push and costs little more
            return pnp.concatenate([found for _, found in self._mapped(self._function, wanted)])[: len(wanted)]
        parts, order = [], []
        for begin, found in self._mapped(grad(self._function), heads):
            here = np.flatnonzero((place >= begin) & (place < begin + found.shape[0]))
            rows = pnp.reshape(found, (found.shape[0], n))
            parts.append(rows[place[here] - begin, wanted[here, -1]])
            order.append(here)
        return pnp.concatenate(parts)[np.argsort(np.concatenate(order))]

    def _mapped(self, function: Function, rows: Array) -> Iterator[tuple[int, Any]]:
        """Give the derivatives of a function along the elements that rows of numbers name, some rows at a time."""
        argument, times = self._argument, rows.shape[1]
        if not times:
            yield 0, pnp.expand_dims(function(self._x), 0)
            return
        block = together(len(rows), argument, self._result)
        along = vmap(lambda *directions: _pushed(function, directions)(self._x))
        numbers = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % block, axis=0)])
        for begin in range(0, len(numbers), block):
            own = numbers[begin : begin + block]
            seeds = (own[:, :, None] == np.arange(argument.size)).astype(argument.dtype)
            yield begin, along(*[seeds[:, k].reshape(block, *argument.shape) for k in range(times)])


def _count(n: int, order: int) -> int:
    """Return how many multisets of so many of n elements there are."""
    return math.comb(n + order - 1, order) if n or order else 1


def _whole(x: Any) -> Any:
    """Return the whole array of a tensor, of those in lists and tuples too."""
    if isinstance(x, (list, tuple)):
        return type(x)([_whole(item) for item in x])
    return x[...] if isinstance(x, SymmetricTensor) else x


def _once(rows: Array) -> tuple[Array, Array]:
    """Return each of equal rows once, and for each row which of these it is."""
    found, place = np.unique(rows, axis=0, return_inverse=True)
    return found, place.reshape(-1)


def _pushed(function: Function, directions: Sequence[Any]) -> Function:
    """Return the derivative of a function along directions, one after the other."""
    for direction in directions:

        def pushed(x: Any, function: Function = function, direction: Any = direction) -> Any:
            return jvp(lambda y: function(y), (x,), (direction,))[1]

        function = pushed
    return function


@transform
def derivatives(function: Callable[P, Any], order: int, argnums: int = 0) -> Callable[P, SymmetricTensor]:
    """Return the function that gives all derivatives of an order, as a lazy symmetric tensor.

    Each of equal derivatives is computed once. Of a number as the result, gradients of directional derivatives give the
    entries, a gradient for each C(n + k − 2, k − 1) of their elements but the last; of arrays, and where few are asked
    for, directional derivatives alone (A. Griewank and A. Walther, Evaluating Derivatives, second edition, chapter 13,
    compare ways).

    Args:
        function: a function of arrays, with one array or number as its result.
        order: how often to differentiate, 1 or more. Order 2 of sparse functions is `hessian`, which finds the zeros.
        argnums: the argument, an array or number.

    Returns:
        a function of the same arguments that gives a `SymmetricTensor`, of shape result + argument · order.

    Raises:
        NotDifferentiableError: for integer and complex arguments, or an op without a rule.
        ShapeError: for an order below 1, a tree as the argument, or several results.

    Example:
        >>> import numpy as np, primad
        >>> T = primad.derivatives(lambda x: np.prod(x), 3)(np.array([1.0, 2.0, 3.0, 4.0]))
        >>> T, T[0, 1, 3]
        (SymmetricTensor(float64[4,4,4], order 3, 20 distinct entries), np.float64(3.0))
    """
    if not isinstance(order, (int, np.integer)) or order < 1:
        raise ShapeError(
            f"derivatives: the order must be an integer ≥ 1, got {order!r}",
            fix="write a whole number, as 2 for second derivatives.",
        )

    def derivatives_of(*args: Any, **kwargs: Any) -> SymmetricTensor:
        selected = Selected(function, args, kwargs, argnums, "derivatives")
        program = selected.call.program
        if not selected.single or not (selected.trees[0] is None or selected.trees[0].is_leaf()):
            raise ShapeError("derivatives: the argument must be one array", fix="pass one array, and take it apart.")
        if len(program.outputs) != 1:
            raise ShapeError(
                f"derivatives({function_name(function)}): there are {len(program.outputs)} results",
                fix="return one array, as np.concatenate makes of several.",
            )
        (position,), (result,) = selected.positions[0], program.out_types
        check_differentiable(result, "the result", "derivatives")
        check_real([program.in_types[position]], "derivatives")
        place = selected.argnums[0]

        def of_one(x: Any) -> Any:
            (found,) = tree.leaves(function(*args[:place], x, *args[place + 1 :], **kwargs))
            return found

        return SymmetricTensor(of_one, args[place], int(order), (program.in_types[position], result))

    return derivatives_of
