"""Products with matrices that are zero in places, whatever the numbers elsewhere, have no entries there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.ops.record.kinds import multilinear
from primad.programs.sparsity import constants

N = 12
X = np.random.default_rng(0).uniform(0.5, 2.0, N)
CYCLE = np.arange(N), (np.arange(N) + 1) % N

TIGHT: dict[str, Callable[[Any], Any]] = {
    "a diagonal": lambda x: np.diag(x) @ x,
    "of functions": lambda x: np.diag(x**2) @ np.sin(x),
    "from the left": lambda x: x @ np.diag(x),
    "three diagonals": lambda x: (np.diag(x) + np.diag(x[1:], 1) + np.diag(x[:-1] ** 2, -1)) @ x,
    "and an identity": lambda x: (np.eye(N) + np.diag(x)) @ x,
    "two diagonals": lambda x: np.diag(x) @ np.diag(x[::-1]),
    "a triangle": lambda x: np.tril(np.outer(x, x)) @ x,
    "above the diagonal": lambda x: np.triu(x.reshape(3, 4), 1) @ x[:4],
    "Kronecker's": lambda x: np.kron(np.eye(4), x[:9].reshape(3, 3)) @ x,
    "blocks": lambda x: np.block([[np.diag(x[:3]), np.zeros((3, 3))], [np.zeros((3, 3)), np.diag(x[3:6])]]) @ x[:6],
    "chosen": lambda x: np.where(np.eye(N) > 0, x, 0.0) @ x,
    "element by element": lambda x: (np.diag(x) * np.outer(x, x)).sum(axis=1),
    "a quotient": lambda x: (np.diag(x) / (2 + np.outer(x, x))) @ x,
    "written at indices": lambda x: pnp.add_at(np.zeros((N, N)), CYCLE, x) @ x,
    "turned": lambda x: np.diag(x)[::-1].T @ x,
    "joined": lambda x: np.concatenate([np.diag(x[:6]), np.zeros((6, 6))], axis=1) @ x,
}


@pytest.mark.parametrize("name", TIGHT)
def test_no_entries_where_a_matrix_is_zero(name: str) -> None:
    J = primad.jacobian(TIGHT[name])(X)
    dense = np.asarray(J).reshape(-1, N)
    np.testing.assert_array_equal(J.pattern().toarray(), dense != 0)
    np.testing.assert_allclose(J.sparse().toarray(), dense, rtol=1e-12)


def test_hessians() -> None:
    H = primad.hessian(lambda x: x @ np.diag(x) @ x)(X)
    assert H.pattern().nnz == N
    np.testing.assert_allclose(H.sparse().toarray(), np.diag(6 * X))


def matrices(rng: Any) -> Callable[[Any], Any]:
    """Return a random function from twelve numbers to a matrix, of which some elements are zero."""
    shift, places = int(rng.integers(-3, 4)), rng.integers(0, N, (2, N))
    zeros = rng.random((N, N)) < 0.5
    some: list[Callable[[Any], Any]] = [
        lambda x: np.diag(x),
        lambda x: np.roll(np.diag(x), shift, axis=0),
        lambda x: np.diag(x) - np.roll(np.diag(x), shift, axis=1),
        lambda x: np.where(zeros, 0.0, np.outer(x, x)),
        lambda x: zeros * np.outer(x, np.sin(x)),
        lambda x: pnp.add_at(np.zeros((N, N)), tuple(places), x),
        lambda x: np.kron(np.eye(4), x[:9].reshape(3, 3)).T,
        lambda x: np.where(x > 1.0, np.tril(np.outer(x, x), shift), 0.0),
        lambda x: np.cumsum(np.diag(x), axis=0),
        lambda x: np.diff(np.pad(np.diag(x), ((1, 0), (0, 0))), axis=0),
    ]
    return some[rng.integers(len(some))]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(30))
def test_no_entry_is_missed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    if seed % 4 == 0:
        monkeypatch.setattr(constants, "MOST_DEEP", 3)
    first, second, third = (matrices(rng) for _ in range(3))
    ways: list[Callable[[Any], Any]] = [
        lambda x: first(x) @ second(x) @ third(x) @ x,
        lambda x: (first(x) - second(x)) @ (third(x) @ x**2),
        lambda x: np.sum(first(x) * second(x).T * third(x), axis=1),
        lambda x: first(x) @ np.tanh(second(x) @ x) - third(x).T @ x,
    ]
    for way in ways:
        J = primad.jacobian(way)(X)
        assert not np.asarray(J)[~J.pattern().toarray()].any()


def test_products_whose_terms_have_signs_are_not_taken_for_sums() -> None:
    """Of zeros and ones a cross product is zero where that of others is not."""
    cross = multilinear(
        "crossed", numpy=lambda x, y: np.cross(x, y), infer=lambda x, y: x, axes=None,
        transpose=[lambda ct, x, y: cross(y, ct), lambda ct, x, y: cross(ct, x)],
    )  # fmt: skip
    function = lambda x: np.diag(cross(np.where(np.arange(3) < 2, x, 0.0), x)) @ x  # noqa: E731
    J = primad.jacobian(function)(X[:3])
    assert not np.asarray(J)[~J.pattern().toarray()].any()


def test_shared_factors_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each square has the same factor twice: of forty there would be 2⁴⁰ ways to its zeros."""
    asked = 0
    own = constants.Constants._support

    def counted(self: Any, node: Any, depth: int) -> Any:
        nonlocal asked
        asked += 1
        return own(self, node, depth)

    monkeypatch.setattr(constants.Constants, "_support", counted)

    def squares(x: Any) -> Any:
        for _ in range(39):
            x = x * x[::-1] * 0.5
        return x

    primad.jacobian(squares)(X).pattern()
    assert 0 < asked < 1000
