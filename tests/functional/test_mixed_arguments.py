"""Several arguments of which some are of a kind: complex, traced, changed by a step, out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.derivatives import listed_entries

X = np.linspace(0.3, 1.0, 4)
Z = X + 1j


@pytest.mark.parametrize("arguments", [(X, Z), (Z, X)])
@pytest.mark.parametrize("holomorphic", [True, False])
def test_one_of_two_arguments_is_complex(arguments: Any, holomorphic: bool) -> None:
    said = "a function that is not complex" if holomorphic else "by a complex argument"
    with pytest.raises(NotDifferentiableError, match=said):
        primad.grad(lambda x, z: np.sum(x * z), argnums=(0, 1), holomorphic=holomorphic)(*arguments)


@pytest.mark.parametrize("traced", [(0,), (1,), (0, 1), ()])
def test_one_of_two_cotangents_is_traced(traced: tuple[int, ...]) -> None:
    transposed = primad.linear_transpose(lambda x: (3.0 * x, x[1:]), X)
    cotangents = np.cos(X), np.sin(X[1:])

    def pulled(*given: Any) -> Any:
        return transposed(tuple([given[traced.index(i)] if i in traced else ct for i, ct in enumerate(cotangents)]))[0]

    found = primad.jit(pulled)(*[cotangents[i] for i in traced])
    np.testing.assert_allclose(found, 3 * cotangents[0] + np.append(0, cotangents[1]))


def test_one_of_two_carried_values_is_a_number_that_adopts_a_type() -> None:
    """The other one, an array, would become one of another type."""

    def step(i: Any, carry: Any) -> Any:
        return carry[0] + 0.5, carry[1] * 1.5

    with pytest.raises(ShapeError, match=r"the carry\[1\] has type int64\[3\] before"):
        primad.jit(lambda a: primad.fori_loop(0, 4, step, (1, a)))(np.arange(3))


def test_an_array_of_one_number_adopts_no_type() -> None:
    def choose(x: Any) -> Any:
        return primad.cond(x[0] > 0, lambda v: v * 2.0, lambda v: v.astype(int) ** 0, x)

    with pytest.raises(ShapeError, match="int64"):
        primad.jit(choose)(X)


@pytest.mark.parametrize("index", [([0], [4]), ([4], [0]), ([0, 1], [0, -5])])
def test_one_of_two_indices_is_out_of_range(index: Any) -> None:
    with pytest.raises(IndexError):
        primad.jacobian(lambda x: np.sin(x) * np.roll(x, 1))(X)[index]


@pytest.mark.parametrize("turned", [False, True])
def test_entries_are_read_from_blocks_of_rows_and_columns(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_entries, "SPARE_DOUBLES", 60)
    monkeypatch.setattr(listed_entries, "FEW", 3)
    x = np.linspace(0.1, 1.0, 30)
    J = primad.jacobian(np.cumsum)(x)
    rows, columns = np.arange(30)[::-1], np.arange(30) // 3
    index = (columns, rows) if turned else (rows, columns)
    np.testing.assert_array_equal(J[index], np.asarray(J)[index])


def test_products_with_a_lazy_matrix_by_scipys_names() -> None:
    J = primad.jacobian(lambda x: np.append(np.sin(x) * x[::-1], x[0]))(X)
    whole, columns = np.asarray(J), np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(J.matmat(columns), whole @ columns)
    np.testing.assert_allclose(J.rmatmat(np.arange(10.0).reshape(5, 2)), whole.T @ np.arange(10.0).reshape(5, 2))


def test_a_lazy_matrix_is_no_shape() -> None:
    with pytest.raises(TypeError):
        np.reshape(np.arange(16.0), primad.jacobian(np.sin)(X))
