"""Programs of complex numbers go where those of real ones do: texts, JSON, pickles, files, donation, processes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.functional.parsing import known_ops
from primad.ir.json_form import packed, unpacked
from primad.recording import tree

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(6, 4)) + 1j * RNG.normal(size=(6, 4))
MATRIX = RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4))
FILTER = np.array([1.0, 0.5j, -0.25, complex(-0.0, 0.125)])


def stepped(z: Any) -> Any:
    return primad.scan(lambda c, row: (c * np.exp(0.1j * row) + row, np.abs(c)), z[0], z)


def searched(z: Any) -> Any:
    step = lambda state: (state[0] / (1.5 + 0.5j), state[1] + 1)  # noqa: E731
    return primad.while_loop(lambda state: np.sum(np.abs(state[0])) > 1.0, step, (z, np.int64(0)))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda z: (z * (2.0 - 1j) + 1j) / (3j - z) - complex(-0.0, 1.5) ** 2,
    "zeros with signs": lambda z: (z * complex(-0.0, -0.0), z + complex(0.0, -0.0), 1 / (z * 0.5 + complex(-0.0, 1.0))),
    "parts": lambda z: (z.real, z.imag, np.conj(z), np.abs(z), np.angle(z), np.sign(z)),
    "functions": lambda z: np.exp(1j * z) + np.sqrt(z) * np.log(z) + np.tanh(z) ** 3,
    "a constant": lambda z: z * FILTER + np.array([1j, 2.0, -3j, 0.0]),
    "products": lambda z: (z @ MATRIX, np.einsum("ab,cb->ac", z, z.conj()), np.sum(z, axis=0), np.prod(z, axis=1)),
    "transforms": lambda z: (np.fft.ifft(np.fft.fft(z) * FILTER), np.fft.irfft(np.fft.rfft(z.real), 4)),
    "shapes": lambda z: (z[::-1, 1:3], np.concatenate([z, 1j * z]), np.where(z.real > 0, z, -z), np.sort(z)),
    "matrices": lambda z: (np.linalg.solve(MATRIX, z[:4]), np.linalg.det(z[:4]), np.linalg.qr(z)[1]),
    "functions of matrices": lambda z: (lambda w, v: (v * np.exp(1j * w)) @ v.conj().T)(*np.linalg.eigh(z[:4])),
    "a loop": stepped,
    "a loop with an end": searched,
    "narrow": lambda z: z.astype(np.complex64) * np.complex64(0.5 + 1j),
    "a gradient": lambda z: primad.grad(lambda z: np.sum(np.abs(np.sin(z)) ** 2))(z),
    "a gradient of a function of matrices": lambda z: primad.grad(
        lambda a: np.sum(np.abs((lambda w, v: (v * w**3) @ v.conj().T)(*np.linalg.eigh(a))) ** 2)
    )(z[:4] @ z[:4].conj().T),
}


def same_bits(found: Any, expected: Any) -> None:
    pairs = zip(tree.leaves(found), tree.leaves(expected), strict=True)
    for x, y in pairs:
        assert np.asarray(x).dtype == np.asarray(y).dtype and np.shape(x) == np.shape(y)
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def through_json(program: primad.Program) -> primad.Program:
    return unpacked(json.loads(json.dumps(packed(program, known_ops()))), known_ops())


@pytest.mark.parametrize("name", PROGRAMS)
def test_texts_packed_forms_and_pickles(name: str) -> None:
    """A program that is read again is the same one and gives the same bits; so is what is derived from it."""
    program = primad.trace(PROGRAMS[name])(POINTS)
    for each in (program, primad.simplify(primad.lower(program))):
        each.check()
        read = primad.parse(str(each))
        assert str(read) == str(each) and read.key == each.key
        for again in (
            read,
            through_json(each),
            pickle.loads(pickle.dumps(each)),
        ):
            assert again.key == each.key
            same_bits(tree.leaves(again(POINTS)), tree.leaves(each(POINTS)))


def test_pickles_of_functions() -> None:
    for function in (primad.jit(stepped), primad.jit(searched)):
        expected = function(POINTS)
        same_bits(pickle.loads(pickle.dumps(function))(POINTS), expected)


@pytest.mark.parametrize("shape", [(3,), (300, 200)])
@pytest.mark.parametrize(
    "function",
    [
        lambda z, u: z - 0.1 * u,
        lambda z, u: (u, z),
        lambda z, u: (z * u, pnp.conj(z) + 1j * u),
        lambda z, u: z - 0.1 * pnp.conj(primad.grad(lambda v: pnp.sum(pnp.abs(pnp.sin(v) * u) ** 2))(z)),
        lambda z, u: pnp.fft.fft(z) * u,
        lambda z, u: pnp.flip(z, 0) + u,
    ],
)
def test_donation(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """Results lie where donated arrays lay, and are what they are without."""
    rng = np.random.default_rng(6)
    given = [rng.normal(size=shape) + 1j * rng.normal(size=shape) for _ in range(2)]
    expected = [np.array(x) for x in tree.leaves(primad.jit(function)(*given))]
    donated = [x.copy() for x in given]
    found = tree.leaves(primad.jit(function, donate=(0, 1))(*donated))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    assert sum(any(x is y for y in donated) for x in found) == len(found)


DISTRIBUTED: dict[str, Callable[..., Any]] = {
    "a loss": lambda w, z: np.mean(np.abs(np.tanh(z @ w) - z[:, 0]) ** 2),
    "a complex sum": lambda w, z: np.sum(np.exp(1j * z @ w)),
    "points": lambda w, z: np.sum(np.abs(np.conj(z) * w)) + np.sum(z.imag),
}


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_distribute(name: str) -> None:
    function = DISTRIBUTED[name]
    z = RNG.normal(size=(50, 3)) + 1j * RNG.normal(size=(50, 3))
    w = np.array([0.3 + 0.1j, -0.2j, 0.5])
    derived = function if name == "a complex sum" else primad.value_and_grad(function)
    found = primad.distribute(derived)(w, primad.Share.of(z))
    for x, y in zip(tree.leaves(found), tree.leaves(derived(w, z)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_files(tmp_path: Path) -> None:
    values = {"w": POINTS, "narrow": [POINTS.astype(np.complex64), np.complex128(1 - 2j)], "real": np.ones(2)}
    file = tmp_path / "values.safetensors"
    primad.nn.save(file, values, about={"of": "a test"})
    same_bits(primad.nn.load(file, values), values)
    assert primad.nn.load(file)["w"].dtype == np.complex128 and primad.nn.told(file) == {"of": "a test"}
