"""NumPy's objects that are called or indexed like functions: vectorize, r_ and c_, of traced values too."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.numpy.promotion import any_traced, convert, expand, joined, result_dtype, traced_operands
from primad.numpy.shapes.shaping import concatenate, ravel, reshape, stack
from primad.recording.traced_array import TracedArray, settled
from primad.recording.tracing import RECORDING

__all__ = ["c_", "r_", "vectorize"]


class Joiner:
    """What joins the items of an index to an array: np.r_ and np.c_.

    Args:
        plain: NumPy's own, which is asked where each element goes.
    """

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getitem__(self, index: Any) -> Any:
        index = settled(index)
        if not any_traced([index]):
            return self._plain[index]
        items = list(index) if isinstance(index, tuple) else [index]
        said = items[:1] if isinstance(items[0], str) else []
        items = [np.r_[item] if isinstance(item, slice) else joined(item) for item in items[len(said) :]]
        dtype = result_dtype(*items)  # in which a number of Python's adopts that of the arrays
        arrays = [convert(x, dtype) for x in traced_operands(*items)]
        starts = np.cumsum([0, *[x.size for x in arrays]])
        numbers = [start + np.arange(x.size).reshape(x.shape) for start, x in zip(starts, arrays, strict=False)]
        places = np.asarray(self._plain[(*said, *[n if n.ndim else n.item() for n in numbers])])
        pool = concatenate([ravel(x) for x in arrays])
        if np.array_equal(places.reshape(-1), np.arange(pool.size)):
            return reshape(pool, places.shape)
        return pool[places]


r_, c_ = Joiner(np.r_), Joiner(np.c_)


class vectorize:
    """np.vectorize: a function of numbers as a function of arrays, called once for each element.

    `primad.vmap` calls it once for all, where it asks for no values.

    Args:
        pyfunc: the function.
        options: NumPy's; `signature` does not go with traced values.

    Example:
        >>> import primad, primad.numpy as np
        >>> hinge = np.vectorize(lambda x: x * x if x > 0 else 0.0)
        >>> primad.grad(lambda x: hinge(x).sum())(np.array([3.0, -1.0]))
        array([6., 0.])
    """

    def __init__(self, pyfunc: Callable[..., Any] | None = None, **options: Any) -> None:
        self.pyfunc = pyfunc
        self._options = options
        self._plain = None if pyfunc is None else np.vectorize(pyfunc, **options)
        if self._plain is not None:
            update_wrapper(self, pyfunc)  # type: ignore[arg-type]
            self.__doc__ = self._plain.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for each element of arrays that are broadcast."""
        if self._plain is None:  # a decorator with options
            return vectorize(*args, **self._options)
        args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
        if RECORDING.get() is None:
            return self._plain(*args, **kwargs)
        if self._options.get("signature") is not None:
            raise TracingError("np.vectorize with a signature, of traced values", fix="primad.vmap maps over axes.")
        return self._each(dict(enumerate(args)) | kwargs)

    def _each(self, given: dict[Any, Any]) -> Any:
        """Call the function for each element and put its results together."""
        excluded = set(self._options.get("excluded") or ())
        arrays = {
            key: value if isinstance(value, TracedArray) or not any_traced([value]) else traced_operands(value)[0]
            for key, value in given.items()
            if key not in excluded
        }
        shape = np.broadcast_shapes(*map(np.shape, arrays.values()))
        types = self._plain.otypes if self._plain is not None else None
        if not np.prod(shape, dtype=int):
            if types is None:
                raise TracingError(
                    "np.vectorize of no elements: its results have no type", fix="give otypes=; primad.vmap has one."
                )
            empty = tuple([np.empty(shape, kind) for kind in types])
            return empty if len(empty) > 1 else empty[0]
        rows = {
            key: expand(value, shape) if isinstance(value, TracedArray) else np.broadcast_to(value, shape)
            for key, value in arrays.items()
        }
        found = []
        for place in np.ndindex(shape):
            now = {key: rows[key][place] if key in rows else value for key, value in given.items()}
            named = {key: value for key, value in now.items() if isinstance(key, str)}
            found.append(self.pyfunc(*[value for key, value in now.items() if key not in named], **named))  # type: ignore[misc]
        several = isinstance(found[0], tuple)
        columns = list(zip(*found, strict=True)) if several else [found]
        if types is not None and len(types) != len(columns):
            raise ShapeError(
                f"np.vectorize: {len(types)} otypes for {len(columns)} results",
                fix="write a letter for each result, as 'dd' for two.",
            )
        joint = [
            _joined(column, shape, kind) for column, kind in zip(columns, types or [None] * len(columns), strict=True)
        ]
        return tuple(joint) if several else joint[0]


def _joined(found: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return results, one for each element, as one array of a dtype: by default that of the first, as NumPy's is.

    Raises:
        ShapeError: if the others do not fit the first, which NumPy would cut off.
    """
    found = settled(list(found))
    first = dtype if dtype is not None else result_dtype(found[0])
    if dtype is None and not np.can_cast(result_dtype(*found), first, "same_kind"):
        raise ShapeError(
            f"np.vectorize: its first result is of dtype {first}, and others are {result_dtype(*found)}",
            fix="give otypes=, or return numbers of one kind.",
        )
    if not any_traced(found):
        return np.array(found).astype(first).reshape(shape)
    return convert(reshape(stack(traced_operands(*found)), shape), np.dtype(first))
