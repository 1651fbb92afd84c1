"""What is derived of a body for a batch is known by which arguments have it: any of them, in any order of asking."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad

RNG = np.random.default_rng(3)
X, Y, K = RNG.uniform(0.5, 1.5, 3), RNG.uniform(0.5, 1.5, 3), RNG.uniform(0.2, 0.6, 3)


def while_loop(x: Any, y: Any, k: Any) -> Any:
    def step(state: Any) -> Any:
        n, x, y = state
        return n + 1, x + k * y, y * 0.5 + k

    return primad.while_loop(lambda state: state[0] < 3, step, (0, x, y))[1:]


def while_of_values(x: Any, y: Any, k: Any) -> Any:
    return primad.while_loop(lambda state: state[0] < 4.0, lambda state: (state[0] + k, state[1] * k), (x, y))


def scan(x: Any, y: Any, k: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        x, y = state
        return (x + k * y, y * 0.5), x * k

    return primad.scan(step, (x, y), None, length=3)


def cond(x: Any, y: Any, k: Any) -> Any:
    return primad.cond(x < y, lambda x, y: x * y + k, lambda x, y: x - y * k, x, y)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [while_loop, while_of_values, scan, cond])
@pytest.mark.parametrize("backwards", [False, True])
def test_any_arguments_may_have_the_batch(function: Callable[..., Any], backwards: bool) -> None:
    choices = [flags for flags in itertools.product((True, False), repeat=3) if any(flags)]
    for flags in choices[::-1] if backwards else choices:
        args = [x if on else x[0] for x, on in zip((X, Y, K), flags, strict=True)]
        found = primad.vmap(function, in_axes=tuple(0 if on else None for on in flags))(*args)
        each = [function(*[x[i] if on else x for x, on in zip(args, flags, strict=True)]) for i in range(len(X))]
        expected = [np.stack(leaves) for leaves in zip(*map(primad.recording.tree.leaves, each), strict=True)]
        for one, other in zip(primad.recording.tree.leaves(found), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)
