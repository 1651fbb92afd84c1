"""Trees of arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.recording import tree


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the elements of a tree as a vector, and the function that makes such a tree of a vector."""
    leaves, structure = tree.flatten(value)
    shapes = [np.shape(leaf) for leaf in leaves]
    cuts = np.cumsum([0, *[int(np.prod(shape)) for shape in shapes]])

    def unflatten(vector: Any) -> Any:
        parts = [
            pn.reshape(vector[begin:end], shape) for begin, end, shape in zip(cuts[:-1], cuts[1:], shapes, strict=True)
        ]
        return tree.unflatten(structure, parts)

    return pn.concatenate([pn.ravel(pn.asarray(leaf)) for leaf in leaves]) if leaves else np.zeros(0), unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Return a function of the flattened first argument with a flattened result, the way back, and the example."""
    vector, unflatten = flatten(example)
    return (lambda x, *args: flatten(func(unflatten(x), *args))[0]), unflatten, vector
