"""`jit` of what runs step by step: arrays of known types go to their plan directly, others are told apart."""

import itertools
import random

import numpy as np
import pytest

import primad


def spectral(x, y):
    return np.fft.ifft(np.fft.fft(x, axis=-1) * np.fft.fft(y, axis=-1), axis=-1).real + y


class Marked(np.ndarray):
    pass


COLUMN = np.linspace(-1.0, 2.0, 12)
ARGUMENTS = {
    "array": COLUMN,
    "single": COLUMN.astype(np.float32),
    "whole": np.arange(12),
    "other order": COLUMN.astype(">f8"),
    "strided": np.linspace(-1.0, 2.0, 24)[::2],
    "backwards": COLUMN[::-1],
    "short": COLUMN[:3].repeat(4),
    "one row": COLUMN[None],
    "rows": COLUMN * np.ones((3, 1)),
    "subclass": COLUMN.view(Marked),
    "complex": COLUMN + 1j,
}


@pytest.mark.parametrize("threads", [None, 1])
def test_arrays_of_known_types_need_no_key(threads, monkeypatch):
    f = primad.jit(spectral, threads=threads)
    y = np.cos(COLUMN)
    first = f(COLUMN, y)
    monkeypatch.setattr(primad.recording.tree, "flatten", None)
    assert np.array_equal(f(COLUMN, y), first)
    assert np.allclose(f(COLUMN[::-1], y), spectral(COLUMN[::-1], y))
    with pytest.raises(TypeError):  # what has another type goes another way
        f(COLUMN.astype(np.float32), y)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_between(seed):
    """Each combination of arguments twice, in an order of its own: values and dtypes are NumPy's."""
    calls = list(itertools.product(ARGUMENTS, repeat=2)) * 2
    random.Random(seed).shuffle(calls)
    f = primad.jit(spectral)
    for names in calls:
        x, y = (ARGUMENTS[name] for name in names)
        plain = [np.asarray(value) for value in (x, y)]
        expected, found = spectral(*plain), f(x, y)
        assert found.dtype == expected.dtype and found.shape == expected.shape, names
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-5), names


def test_numbers_are_not_taken_for_arrays_without_axes():
    """A Python number leaves single precision as it is, an array without axes does not."""
    f = primad.jit(lambda x, scale: np.fft.fft(x) * scale)
    x, scale = COLUMN.astype(np.complex64), np.array(2.0)
    for factor in (2.0, scale, 2.0, scale, np.float64(2.0), 2):
        assert f(x, factor).dtype == (np.fft.fft(x) * factor).dtype


def test_results_are_rebuilt_and_are_arrays_of_their_own():
    f = primad.jit(lambda x: {"same": x, "spectrum": (np.fft.rfft(x), [np.fft.rfft(x)])})
    for _ in range(2):
        found = f(COLUMN)
        assert list(found) == ["same", "spectrum"] and np.array_equal(found["spectrum"][1][0], np.fft.rfft(COLUMN))
        assert not np.shares_memory(found["same"], COLUMN)
        assert not np.shares_memory(found["spectrum"][0], found["spectrum"][1][0])
