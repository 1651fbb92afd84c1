"""Padding whose widths are larger than what is padded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import primad
from primad import numpy as pnp


@pytest.mark.parametrize("kind", ["even", "odd"])
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_pad_reflects_as_often_as_the_widths_ask_for(mode: str, kind: str) -> None:
    """Widths up to three times the length, on either side of each multiple of it; NumPy's numbers."""
    for length in (1, 3):
        x = np.arange(1.0, length + 1) ** 2
        for widths in itertools.product({0, 1, length - 1, length, length + 1, 2 * length + 1, 3 * length}, repeat=2):
            program = primad.trace(lambda x, widths=widths: pnp.pad(x, widths, mode=mode, reflect_type=kind))(x)
            np.testing.assert_array_equal(program(x), np.pad(x, widths, mode=mode, reflect_type=kind), str(widths))
