"""Eigenvectors of general matrices: which eigenvalues count as equal; quick answers are those of all passes."""

from typing import Any

import numpy as np
import pytest

from primad.ops.linalg import general_spectra
from primad.ops.linalg.eigen import where_finite
from primad.ops.linalg.general_spectra import too_near, with_real_elements
from primad.parallel import threads
from primad.runtime.plan.blocking import in_chunks


@pytest.mark.parametrize("of", [np.linalg.eig, np.linalg.eigh, lambda a: np.linalg.svd(a, full_matrices=False)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_pieces_of_a_stack_are_its_matrices_one_by_one(of: Any, dtype: type) -> None:
    """In the same bits on any number of threads: of some matrices all eigenvalues are real, and one is no number."""
    rng = np.random.default_rng(1)
    stack = rng.normal(size=(5, 8, 32, 32)).astype(dtype)
    stack[:2] = stack[:2] + np.swapaxes(stack[:2], -1, -2)
    stack[3, 4, 5, 6] = np.nan
    alone = [where_finite(of, a) for a in stack.reshape(40, 32, 32)]
    found = [threads.on_threads(count, lambda: where_finite(of, stack, in_chunks)) for count in (1, 2)]
    for one, two, *matrices in zip(*found, *alone, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one.reshape(40, *one.shape[2:]), np.stack(matrices).astype(one.dtype))
    assert 32 in [np.isnan(x).sum() for x in found[0]]


def test_an_error_in_a_piece_is_that_of_the_stack() -> None:
    def failing(a: Any) -> Any:
        if (a == 7.0).any():
            raise np.linalg.LinAlgError("no convergence")
        return (a,)

    stack = np.zeros((40, 32, 32))
    np.testing.assert_array_equal(where_finite(failing, stack, in_chunks)[0], stack)
    stack[21, 3, 3] = 7.0
    with pytest.raises(np.linalg.LinAlgError, match="no convergence"):
        where_finite(failing, stack, in_chunks)


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
    np.testing.assert_array_equal(vectors, turned)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], atol=1e-12)
