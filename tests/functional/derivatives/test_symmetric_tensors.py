"""All derivatives of an order are a tensor, of which each of equal entries is computed once, where it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.functional.derivatives import symmetric_tensors

RNG = np.random.default_rng(0)
B = RNG.normal(size=(6, 6))
FUNCTIONS = {
    "number": lambda x: np.sum(np.sin(B[: x.size, : x.size] @ x.reshape(-1))) * np.exp(0.1 * np.sum(x**2)),
    "vector": lambda x: np.tanh(B[:3, : x.size] @ x.reshape(-1)) * np.sum(x),
    "matrix": lambda x: np.outer(np.sin(x.reshape(-1)), np.cos(B[0, : x.size] * x.reshape(-1))),
    "one": lambda x: np.sum(x**3)[None],
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("shape", [(4,), (2, 3), (1,), (0,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_entries_are_those_of_nested_jacobians(name: str, shape: tuple[int, ...]) -> None:
    f, x = FUNCTIONS[name], RNG.normal(size=shape)
    full = f
    for order in (1, 2, 3):
        full = primad.jacfwd(full)
        expected, T = np.asarray(full(x)), primad.derivatives(f, order)(x)
        assert T.shape == expected.shape and T.dtype == expected.dtype and T.size == expected.size
        np.testing.assert_allclose(np.asarray(T), expected, rtol=1e-9, atol=1e-9)
        places = np.unravel_index(T.indices, shape) if T.size else ()
        if not T.size:
            assert T.distinct().shape == (T.count, *np.shape(f(x)))
            continue
        rows = (slice(None),) * np.ndim(f(x))
        axes = [places[axis][:, k] for k in range(order) for axis in range(len(shape))]
        by_rows = np.moveaxis(expected[(*rows, *axes)], -1, 0)
        np.testing.assert_allclose(T.distinct(), by_rows, rtol=1e-9, atol=1e-9)
        assert len({*map(tuple, T.indices.tolist())}) == T.count
        for _ in range(3):
            index = tuple(
                int(RNG.integers(-n, n)) if RNG.random() < 0.5 else slice(*sorted(RNG.integers(0, n + 1, 2).tolist()))
                for n in T.shape
            )
            assert np.shape(T[index]) == expected[index].shape
            np.testing.assert_allclose(T[index], expected[index], rtol=1e-9, atol=1e-9)
        v = RNG.normal(size=shape)
        along = np.asarray(T.along(v))
        np.testing.assert_allclose(along, np.tensordot(expected, v, len(shape)), rtol=1e-9, atol=1e-9)


def test_of_numbers_complex_results_and_branches() -> None:
    assert primad.derivatives(np.exp, 4)(0.0)[()] == 1.0
    of_circle = primad.derivatives(lambda x: np.exp(1j * x), 2)(np.array([1.0, 2.0]))
    np.testing.assert_allclose(of_circle[0, 0, 0], -np.exp(1j))
    branch = primad.derivatives(lambda x: x[0] ** 3 if x[0] > 0 else x[0] ** 2 * x[1], 2)
    assert branch(np.array([-1.0, 2.0]))[...].tolist() == [[4.0, -2.0], [-2.0, 0.0]]
    second = primad.derivatives(lambda a, b: np.sum(a * b**3), 2, argnums=1)(2.0, np.ones(2))
    assert second[0].tolist() == [12.0, 0.0]
    assert primad.derivatives(lambda x: np.sum(x**3), 3)(np.ones(2, np.float32)).distinct().dtype == np.float32


def test_it_is_recorded() -> None:
    f, x = FUNCTIONS["number"], RNG.normal(size=4)
    T = primad.derivatives(f, 3)(x)
    np.testing.assert_allclose(primad.jit(primad.derivatives(f, 3))(x), T[...], rtol=1e-12)
    np.testing.assert_allclose(primad.jit(lambda x: primad.derivatives(f, 3)(x).distinct())(x), T.distinct())
    slope = primad.grad(lambda x: primad.derivatives(f, 2)(x)[0, 1])(x)
    np.testing.assert_allclose(slope, T[0, 1], rtol=1e-9)
    rows = primad.vmap(lambda x: primad.derivatives(f, 2)(x)[0])(np.stack([x, 2 * x]))
    np.testing.assert_allclose(rows[1], primad.hessian(f)(2 * x)[0], rtol=1e-9)


def test_each_of_equal_entries_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of order 3 of a number a gradient for each pair of elements; of an array a push for each triple; of one, one."""
    taken: list[int] = []
    vmap = symmetric_tensors.vmap

    def counted(function: Any) -> Any:
        mapped = vmap(function)

        def run(*stacks: Any) -> Any:
            taken.append(len(stacks[0]))
            return mapped(*stacks)

        return run

    monkeypatch.setattr(symmetric_tensors, "vmap", counted)
    x = np.linspace(0.1, 1.0, 6)
    for name, ask, directions in [
        ("number", lambda T: T[...], 21),
        ("vector", lambda T: T.distinct(), 56),
        ("number", lambda T: (T[4, 0, 2], T[...]), 1 + 21),
        ("vector", lambda T: T[:, 0, 1], 6),
    ]:
        taken.clear()
        ask(primad.derivatives(FUNCTIONS[name], 3)(x))
        assert sum(taken) == directions


def test_blocks_have_what_one_has(monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=5)
    whole = [primad.derivatives(FUNCTIONS[name], 3)(x).distinct() for name in ("number", "vector")]
    monkeypatch.setattr(symmetric_tensors, "together", lambda count, *types: min(count, 4))
    for name, expected in zip(("number", "vector"), whole, strict=True):
        found = primad.derivatives(FUNCTIONS[name], 3)(x).distinct()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_arithmetic_and_numpys_functions_take_the_whole_array() -> None:
    f, x = FUNCTIONS["number"], RNG.normal(size=4)
    T, wanted = primad.derivatives(f, 2)(x), np.asarray(primad.hessian(f)(x))
    for use in (lambda T: 2.0 * T - T @ x, lambda T: -T, lambda T: np.einsum("ij->i", T), lambda T: np.stack([T, T])):
        np.testing.assert_allclose(use(T), use(wanted), rtol=1e-12)
        given = primad.jit(lambda x, use=use: use(primad.derivatives(f, 2)(x)))(x)
        np.testing.assert_allclose(given, use(wanted), rtol=1e-12)
    assert float(primad.derivatives(np.sin, 4)(0.5)) == np.sin(0.5)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda f, x: primad.derivatives(f, 0), primad.PrimadError, "order must be"),
        (lambda f, x: primad.derivatives(f, 2)(np.arange(3)), primad.NotDifferentiableError, "dtype int64"),
        (lambda f, x: primad.derivatives(f, 2)(x + 1j), primad.NotDifferentiableError, "complex argument"),
        (lambda f, x: primad.derivatives(lambda t: f(t[0]), 2)((x, x)), primad.PrimadError, "one array"),
        (lambda f, x: primad.derivatives(f, 2, argnums=(0,))(x), primad.PrimadError, "one array"),
        (lambda f, x: primad.derivatives(lambda t: (t, t), 2)(x), primad.PrimadError, "2 results"),
        (lambda f, x: primad.derivatives(f, 2)(x)[[0, 1]], primad.PrimadError, "whole numbers and slices"),
        (lambda f, x: primad.derivatives(f, 2)(x)[True], primad.PrimadError, "whole numbers and slices"),
        (lambda f, x: primad.derivatives(f, 2)(x)[0, 0, 0], IndexError, "2 axes"),
        (lambda f, x: primad.derivatives(f, 2)(x)[4], IndexError, "out of bounds"),
        (lambda f, x: primad.derivatives(f, 2)(x).along(x, x, x), primad.PrimadError, "3 directions"),
        (lambda f, x: primad.derivatives(f, 2)(x).along(x[:2]), primad.PrimadError, r"float64\[2\]"),
        (lambda f, x: primad.derivatives(np.prod, 9)(np.ones(50))[...], MemoryError, "would not fit"),
        (lambda f, x: primad.derivatives(np.sum, 4)(np.ones(200000))[...], MemoryError, "would not fit"),
        (lambda f, x: primad.derivatives(np.sum, 4)(np.ones(200000)).indices, MemoryError, "would not fit"),
        (lambda f, x: primad.derivatives(f, 2)(x).__iadd__(1.0), primad.PrimadError, "read-only"),
    ],
)
def test_what_is_refused(ask: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ask(FUNCTIONS["number"], RNG.normal(size=4))
