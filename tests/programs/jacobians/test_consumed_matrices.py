"""Any use of a matrix of derivatives that is recorded is what the same use of its numbers is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp

X = np.linspace(0.3, 1.1, 4)
V = np.array([0.5, -1.0, 2.0, 0.25])
M = np.arange(12.0).reshape(3, 4) / 7
PICKED = np.array([[1, 0, 3, 2]])


def vectors(x: Any) -> Any:
    """Return three numbers."""
    return np.stack([np.sum(np.sin(x) * x), x[0] * x[3] ** 2, np.prod(x)])


def tables(x: Any) -> Any:
    """Return four numbers for a table."""
    return np.sin(x[:, 0]) * x[::-1, 1] + np.sum(x) ** 2


OF_JACOBIANS: dict[str, Callable[[Any], Any]] = {
    "times a vector": lambda J: J @ V,
    "vector times": lambda J: V[:3] @ J,
    "rows times a vector": lambda J: J[1:] @ V,
    "vector times rows": lambda J: V[:2] @ J[1:],
    "columns times a vector": lambda J: J[:, 1:3] @ V[:2],
    "vector times columns": lambda J: V[:3] @ J[:, 1:3],
    "scaled columns": lambda J: np.einsum("ij,j->ij", J, V),
    "scaled columns, summed": lambda J: np.einsum("ij,j->j", J, V),
    "rows with rows": lambda J: np.einsum("ij,ij->i", J, M),
    "columns with columns": lambda J: np.einsum("ij,ij->j", J, M),
    "all of it": lambda J: np.einsum("ij,ij->", J, M),
    "outer": lambda J: np.einsum("ij,k->ijk", J, V),
    "matrix": lambda J: J @ M.T,
    "complex": lambda J: J.astype(np.complex128) * 1j,
    "single": lambda J: J.astype(np.float32),
    "single and back": lambda J: J.astype(np.float32).astype(np.float64),
    "picked along rows": lambda J: pnp.take_along_axis(J, np.array([[1, 0, 2, 1]]), 0),
    "picked along columns": lambda J: pnp.take_along_axis(J, np.array([[1], [0], [3]]), 1),
    "taken rows": lambda J: J[np.array([[2, 0], [1, 1]])],
    "taken columns": lambda J: J[:, np.array([[2, 0], [1, 3]])],
    "taken columns of the transposed one": lambda J: J.T[:, np.array([[2, 0], [1, 1]])],
    "taken rows of the transposed one": lambda J: J.T[np.array([[2, 0], [1, 3]])],
    "reshaped": lambda J: J.reshape(3, 2, 2),
    "in one row": lambda J: J.reshape(12),
    "with further axes": lambda J: J.reshape(1, 3, 1, 4, 1),
    "in other rows": lambda J: J.reshape(2, 6),
    "with further axes in other rows": lambda J: J.reshape(1, 3, 2, 1, 2, 1),
    "nothing": lambda J: J[:0].reshape(4, 0),
    "diagonal": lambda J: np.diagonal(J),
    "another diagonal": lambda J: np.diagonal(J, 1),
}
OF_TABLES: dict[str, Callable[[Any], Any]] = {
    "diagonal of rows and the first axis": lambda J: np.diagonal(J, axis1=0, axis2=1),
    "diagonal of both axes": lambda J: np.diagonal(J, axis1=1, axis2=2),
    "times a table": lambda J: np.einsum("ajk,jk->a", J, np.outer(V, V[:2])),
    "times a vector": lambda J: np.einsum("ajk,k->aj", J, V[:2]),
}


def check(function: Callable[..., Any], *args: Any) -> None:
    """Compare what is recorded with what is computed of the matrix's numbers."""
    use, matrix = function, args[0]
    recorded = primad.jit(lambda *xs: use(matrix(*xs)), backend="reference")(*args[1:])
    np.testing.assert_allclose(recorded, use(np.asarray(matrix(*args[1:]))), rtol=1e-6, atol=1e-12)
    assert recorded.dtype == use(np.asarray(matrix(*args[1:]))).dtype


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", OF_JACOBIANS)
def test_uses_of_jacobians(name: str) -> None:
    check(OF_JACOBIANS[name], primad.jacobian(vectors), X)
    if "single" not in name:
        check(lambda J: OF_JACOBIANS[name](J.astype(np.float64)), primad.jacobian(vectors), X.astype(np.float32))


@pytest.mark.parametrize("name", OF_TABLES)
def test_uses_of_jacobians_by_tables(name: str) -> None:
    check(OF_TABLES[name], primad.jacobian(tables), np.stack([X, V], 1))


OF_HESSIANS: dict[str, Callable[[Any], Any]] = {
    "diagonals": lambda H: np.diagonal(H, axis1=1, axis2=2),
    "traces": lambda H: np.trace(H, axis1=1, axis2=2),
    "diagonals, summed over functions": lambda H: np.sum(np.diagonal(H, axis1=1, axis2=2), axis=0),
    "diagonals beside functions": lambda H: np.diagonal(H[:, :, :3], axis1=0, axis2=2),
    "times": lambda H: H @ V,
    "a part times": lambda H: H[:, 1:, :2] @ V[:2],
}


@pytest.mark.parametrize("name", OF_HESSIANS)
def test_uses_of_hessians(name: str) -> None:
    check(OF_HESSIANS[name], primad.hessian(vectors), X)


def test_mixed_derivatives_by_a_vector_and_a_table() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x) * y[:, 0] * y[::-1, 1]) + np.prod(x) * np.sum(y**2)

    y = np.stack([X, V], 1)
    for axes in ((0, 1), (1, 0), (0, 2)):
        check(
            lambda H, axes=axes: np.diagonal(H, axis1=axes[0], axis2=axes[1]),
            lambda x, y: primad.hessian(f, argnums=(0, 1))(x, y)[0][1],
            X,
            y,
        )


@pytest.mark.parametrize("step", [1, 2])
def test_laplacians_through_choices(step: int) -> None:
    """What is chosen by all elements together is no number through which derivatives go."""
    x = np.linspace(-0.5, 1.0, 30)

    def f(x: Any) -> Any:
        return np.where(np.any(x[::step] > 2.0), 3.0, np.sin(np.sum(x**2)) * np.cos(np.sum(x)) ** 2) + np.sum(x) ** 3

    expected = np.trace(np.asarray(primad.hessian(f)(x)))
    np.testing.assert_allclose(primad.laplacian(f)(x), expected, rtol=1e-10)
