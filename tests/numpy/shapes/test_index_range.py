"""Index arrays whose numbers are not known: in range they are NumPy's, out of range on any axis an error."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.errors import PrimadError

TAKES: dict[str, Callable[..., Any]] = {
    "x[i, j]": lambda x, *index: x[index],
    "add_at": lambda x, *index: pnp.add_at(x, index, 2.0),
    "the gradient of x[i, j]": lambda x, *index: primad.grad(lambda x: np.sum(x[index] ** 2))(x),
}


def expected(name: str, x: Any, index: tuple[Any, ...]) -> Any:
    if name == "x[i, j]":
        return x[index]
    out = x.copy() if name == "add_at" else np.zeros_like(x)
    np.add.at(out, index, 2.0 if name == "add_at" else 2.0 * x[index])
    return out


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize(("shape", "count"), [((2, 3), 2), ((4, 2, 5), 2), ((2, 1, 3), 3)])
def test_every_position_and_those_beside(name: str, shape: tuple[int, ...], count: int) -> None:
    """One number out of range must not reach the place of another, as 3 of an axis of 3 would that of the next row."""
    function = primad.jit(TAKES[name])
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for numbers in product(*[range(-n - 1, n + 2) for n in shape[:count]]):
        index = tuple([np.array([0, number]) for number in numbers])
        if all(-n <= number < n for number, n in zip(numbers, shape, strict=False)):
            np.testing.assert_array_equal(function(x, *index), expected(name, x, index))
        else:
            with pytest.raises(PrimadError):
                function(x, *index)
