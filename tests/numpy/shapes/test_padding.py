"""Padding whose widths are larger than what is padded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import primad
from primad import numpy as pnp


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["even", "odd"])
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_pad_reflects_as_often_as_the_widths_ask_for(mode: str, kind: str) -> None:
    """Widths up to three times the length, on either side of each multiple of it; NumPy's numbers."""
    for length in (1, 3):
        x = np.arange(1.0, length + 1) ** 2
        for widths in itertools.product({0, 1, length - 1, length, length + 1, 2 * length + 1, 3 * length}, repeat=2):
            program = primad.trace(lambda x, widths=widths: pnp.pad(x, widths, mode=mode, reflect_type=kind))(x)
            np.testing.assert_array_equal(program(x), np.pad(x, widths, mode=mode, reflect_type=kind), str(widths))


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "wrap"])
def test_what_is_left_out_is_as_numpy_has_it(mode: str) -> None:
    """Ends, values and lengths of statistics have defaults of their own."""
    x = np.array([[3.0, 1.0, 2.0], [5.0, 9.0, 4.0]])
    for widths in (0, 2, (1, 3), ((2, 0), (0, 1))):
        program = primad.trace(lambda x, widths=widths: pnp.pad(x, widths, mode))(x)
        np.testing.assert_allclose(program(x), np.pad(x, widths, mode), rtol=1e-14)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_what_is_put_around_once_is_views_of_the_array(mode: str) -> None:
    """No index is read for each element, and none is added to in derivatives; corners are those of NumPy."""
    rng = np.random.default_rng(0)
    for shape, widths in (
        ((4, 3), 1),
        ((5, 4), ((3, 0), (1, 2))),
        ((3, 4, 3), ((0, 0), (2, 1), (2, 2))),
        ((4,), (3, 1)),
    ):
        x, w = rng.normal(size=shape), rng.normal(size=np.pad(np.zeros(shape), widths).shape)
        program = primad.trace(lambda x, widths=widths: pnp.pad(x, widths, mode))(x)
        assert {op.name for op in program.ops}.isdisjoint({"gather", "scatter_add"})
        np.testing.assert_array_equal(program(x), np.pad(x, widths, mode))
        gradient = primad.grad(lambda x, widths=widths, w=w: np.sum(pnp.pad(x, widths, mode) * w))(x)
        places = np.pad(np.arange(x.size).reshape(shape), widths, mode)
        wanted = np.bincount(places.ravel(), w.ravel(), x.size).reshape(shape)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_widths_from_none_to_several_times_the_length_are_as_numpy_has_them(mode: str) -> None:
    for length in (1, 2, 3):
        x = np.arange(1.0, length + 1) ** 2
        for widths in itertools.product(range(2 * length + 2), repeat=2):
            program = primad.trace(lambda x, widths=widths: pnp.pad(x, widths, mode))(x)
            np.testing.assert_array_equal(program(x), np.pad(x, widths, mode), str(widths))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_widths_below_none_are_refused(mode: str) -> None:
    with pytest.raises(ValueError, match="negative"):
        primad.trace(lambda x: pnp.pad(x, (1, -1), mode))(np.ones(3))
