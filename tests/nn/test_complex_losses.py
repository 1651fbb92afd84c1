"""Losses of complex numbers are real: those of the sizes of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import PrimadError, nn

X, Y = np.array([1 + 2j, -0.5j, 3.0]), np.array([1 + 1j, 0.25, 1 - 1j])
LOSSES: dict[str, tuple[Any, Any]] = {
    "mse_loss": (nn.mse_loss, lambda d: np.mean(d**2)),
    "l1_loss": (nn.l1_loss, np.mean),
    "huber_loss": (nn.huber_loss, lambda d: np.mean(np.where(d <= 1, d**2 / 2, d - 0.5))),
    "smooth_l1_loss": (nn.smooth_l1_loss, lambda d: np.mean(np.where(d <= 1, d**2 / 2, d - 0.5))),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_losses_are_of_sizes(name: str, dtype: Any) -> None:
    loss, of_sizes = LOSSES[name]
    x, y = X.astype(dtype), Y.astype(dtype)
    for found in (loss(x, y), primad.jit(loss)(x, y)):
        assert np.asarray(found).dtype == np.zeros(0, dtype).real.dtype
        np.testing.assert_allclose(found, of_sizes(np.abs(x - y)), rtol=1e-6)
    along = np.array([1, 1j, 1 - 1j], dtype)
    slope = (of_sizes(np.abs(X + 1e-6 * along - Y)) - of_sizes(np.abs(X - 1e-6 * along - Y))) / 2e-6
    gradient = primad.grad(lambda x: loss(x, y))(x)
    np.testing.assert_allclose(np.sum(gradient * along).real, slope, rtol=1e-5)


@pytest.mark.parametrize("loss", [nn.binary_cross_entropy, nn.binary_cross_entropy_with_logits])
def test_losses_of_probabilities_refuse_complex_numbers(loss: Any) -> None:
    with pytest.raises(PrimadError):
        primad.jit(loss)(X, Y)
