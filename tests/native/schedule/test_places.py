"""Where values lie that are parts of another one: they are computed there, and no loop moves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.native.complex_numbers.realify import in_parts
from primad.native.llvm.compiler import compiler
from primad.native.schedule.layout import Layout, layout_of

X, Z = np.linspace(0.5, 2.0, 240), np.exp(1j * np.linspace(0.0, 3.0, 240))
FUNCTIONS = {
    "stacked": (lambda x: np.stack([x * x, x + 1.0]), X),
    "stacked last": (lambda x: np.stack([x * x, x + 1.0, x - 2.0], axis=-1), X),
    "stacked between": (lambda x: np.stack([x * x, x + 1.0], axis=1), X.reshape(12, 20)),
    "joined columns": (lambda x: np.concatenate([(x * x)[:, None], (x + 1.0)[:, None]], axis=1), X),
    "padded column": (lambda x: np.pad((x * x)[None, :, None], ((0, 0), (1, 2), (0, 1))), X),
    "complex": (lambda z: z * z + 3.0, Z),
    "complex stacked": (lambda z: np.stack([z * z, z + 1j], axis=-1), Z),
}


def laid_out(function: Callable[..., Any], x: Any) -> Layout:
    program = primad.lower(primad.trace(function)(x))
    layout = layout_of(in_parts(program) or program)
    assert layout is not None
    return layout


@pytest.mark.skipif(compiler() is None, reason="there is no native code")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_are_computed_in_their_place(name: str) -> None:
    function, x = FUNCTIONS[name]
    layout = laid_out(function, x)
    (result,) = layout.program.outputs
    computed = {unit for unit in layout.units if unit.nodes[0].op.name not in ("concatenate", "pad", "reshape")}
    assert computed and {layout.view(value).buffer for unit in computed for value in unit.results} == {result}
    np.testing.assert_allclose(primad.jit(function)(x), function(x), rtol=1e-15)
    every_second = primad.jit(lambda x: function(x)[..., ::2])(x)
    np.testing.assert_allclose(every_second, function(x)[..., ::2], rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (np.stack([x * x, x]), x * x),
        lambda x: np.stack([x * x, np.sin(x * x)]),
        lambda x: np.stack([x * x, x * x]),
        lambda x: np.stack([x, x[::-1]]),
        lambda x: np.concatenate([(x * x).reshape(12, 20), x.reshape(12, 20)], axis=1),
    ],
    ids=["also a result", "also read", "twice", "an input", "other rows"],
)
@pytest.mark.skipif(compiler() is None, reason="there is no native code")
def test_what_cannot_lie_there_is_moved(function: Callable[..., Any]) -> None:
    for found, expected in zip(primad.jit(lambda x: function(x))(X), function(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
