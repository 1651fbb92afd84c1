"""Eigenvectors of general matrices: which eigenvalues count as equal; quick answers are those of all passes."""

import numpy as np
import pytest

from primad.ops.linalg import general_spectra
from primad.ops.linalg.general_spectra import too_near, with_real_elements


def nearly_equal(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, eigenvalues and their numbers of a stack of matrices, some of which are nearly not diagonalizable."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    a = rng.normal(size=(3, n, n)) + 1j * rng.normal(size=(3, n, n))
    if n > 1 and seed % 2:
        a[1, 0] = a[1, 1] * (1 + 10.0 ** rng.uniform(-17, 0))
        a[2] = np.diag(np.ones(n)) * 3 + np.triu(a[2], 1) * 10.0 ** rng.uniform(-9, 0)
        a[2] += np.diag(np.arange(n)) * 10.0 ** rng.uniform(-16, -1)
    w, v = np.linalg.eig(a)
    return v, w, np.broadcast_to(np.arange(n)[:, None], (3, n, 1))


def test_what_is_far_apart_is_not_too_near() -> None:
    """The quick answer may be no where all passes find nothing, and is never yes where they find something."""
    quick = slow = 0
    for seed in range(400):
        v, w, told = nearly_equal(seed)
        try:
            left = np.linalg.inv(v)
        except np.linalg.LinAlgError:
            continue
        with np.errstate(all="ignore"):
            near = bool(np.any(too_near(np, v, w, told, left)))
            far = general_spectra._are_far_apart(v, w, left)
        assert not (near and far), seed
        quick, slow = quick + far, slow + near
    assert quick > 200 and slow > 20


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nothing_is_far_apart_from_what_is_no_number(value: float) -> None:
    v, w, _ = nearly_equal(0)
    w = w.copy()
    w[0, 0] = value
    with np.errstate(all="ignore"):
        assert not general_spectra._are_far_apart(v, w, np.linalg.inv(v))


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_vectors_that_have_real_elements_stay_as_they_are(seed: int) -> None:
    v, w, _ = nearly_equal(seed)
    a = v @ (w[..., None] * np.linalg.inv(v))
    values, vectors, place = general_spectra._eig(a)
    turned, there = with_real_elements(np, np.linalg.eig(a)[1])
    np.testing.assert_array_equal(place, there)
    np.testing.assert_allclose(vectors, turned, rtol=1e-15)  # which divides by sizes to find that a factor is 1
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], atol=1e-12)
