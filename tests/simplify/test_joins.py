"""Joined arrays that are joined again are one: where they are, and where another op has their params."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.verify.checks.trial import run_as_it_stands


def joined(*arrays: Any) -> Any:
    return ops.concatenate(*arrays, axis=0)


INNER: dict[str, Any] = {
    "joined": joined, "along another axis": lambda x, y: ops.concatenate(x, y, axis=1),
    "added up": lambda x, y: np.cumsum(x, axis=0) + y, "sorted": lambda x, y: np.sort(x, axis=0),
    "turned": lambda x, y: np.flip(x, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_only_joins_along_the_same_axis_are_opened(name: str, place: int) -> None:
    inner = INNER[name]
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4))

    def function(x: Any, y: Any) -> Any:
        found = inner(x, y)
        rest = [ops.concatenate(x, x, axis=1), found] if name == "along another axis" else [joined(x, y), y]
        return joined(*rest[:place], found, *rest[place:])

    program = primad.trace(function)(x, y)
    (found,) = run_as_it_stands(program, [x, y])
    with np.errstate(all="ignore"):
        wanted = primad.jit(function, backend="reference")(x, y)
    np.testing.assert_array_equal(found, wanted)
    rows = {"joined": (x, y), "sorted": (np.sort(x, axis=0),), "turned": (x[::-1],)}.get(name)
    if rows is not None:
        parts = [np.concatenate([x, y]), y]
        np.testing.assert_array_equal(found, np.concatenate([*parts[:place], *rows, *parts[place:]]))
