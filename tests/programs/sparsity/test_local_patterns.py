"""Entries at a point: what is not chosen there is left out, and what was found there is used nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from tests.programs.sparsity.test_sparse_patterns import TIGHT

KNOTS = np.arange(12) / 8


def limited(x: Any) -> Any:
    steps = np.diff(x)
    smaller = np.minimum(np.abs(steps[1:]), np.abs(steps[:-1]))
    return np.where(steps[1:] * steps[:-1] > 0, smaller, 0.0)


def branched(x: Any) -> Any:
    return primad.cond(x[0] > 0, lambda x: x**2, lambda x: np.roll(x, 1) * x, x)


CHOOSING: dict[str, Callable[..., Any]] = {
    "the larger": lambda x: np.maximum(x, x[::-1]) ** 2,
    "chosen by values": lambda x: np.where(x > 0, x**2, np.roll(x, 1) * x),
    "clipped": lambda x: np.clip(x, -0.5, 0.5) * np.roll(x, 1),
    "rectified": lambda x: np.maximum(x, 0),
    "sorted": lambda x: np.sort(x) ** 2,
    "largest of rows": lambda x: np.max(x.reshape(3, 4), axis=1) * x[:3],
    "at an index by values": lambda x: x[np.argmax(x)] * x[:2],
    "in an order by values": lambda x: pnp.take(x, np.argsort(x))[:3] ** 2,
    "medians": lambda x: np.median(x.reshape(3, 4), axis=1),
    "interpolated": lambda x: np.interp(x[:3] * 0.1 + 0.5, KNOTS[:9], x[3:]),
    "a branch": branched,
    "largest so far": lambda x: np.maximum.accumulate(x),
    "pieces": lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: 0 * t, lambda t: t**2]),
    "a limiter": limited,
    "selected": lambda x: np.select([x < -0.5, x < 0.5], [x, np.roll(x, 1)], np.roll(x, 2)),
    "nested": lambda x: np.sort(np.maximum(np.roll(x, 1), x * x))[3:] * branched(x)[3:],
}


def points() -> list[Any]:
    return list(np.random.default_rng(0).normal(size=(4, 12)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CHOOSING)
def test_entries_at_a_point_are_those_that_are_not_zero_there(name: str) -> None:
    f, sizes = CHOOSING[name], set()
    for x in [*points(), points()[0]]:
        J = primad.jacobian(f)(x)
        dense = np.asarray(J).reshape(-1, 12)
        np.testing.assert_allclose(J.sparse(local=True).toarray(), dense, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(J.pattern(local=True).toarray(), dense != 0)
        assert (J.pattern().toarray() >= (dense != 0)).all()
        sizes.add((J.pattern().nnz, J.pattern(local=True).nnz))
    assert all(local <= everywhere for everywhere, local in sizes)
    assert min(local for _, local in sizes) < max(everywhere for everywhere, _ in sizes)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CHOOSING)
def test_second_derivatives_at_a_point(name: str) -> None:
    for x in points()[:2]:
        H = primad.hessian(lambda x: np.sum(CHOOSING[name](x) ** 2))(x)
        np.testing.assert_allclose(H.sparse(local=True).toarray(), np.asarray(H), rtol=1e-12, atol=1e-13)
        assert H.pattern(local=True).nnz <= H.pattern().nnz


@pytest.mark.parametrize(
    "name", ["elementwise", "a stencil", "cells", "a loop", "until", "nothing", "a dense row and column"]
)
def test_without_choices_they_are_those_everywhere(name: str) -> None:
    J = primad.jacobian(TIGHT[name])(np.linspace(0.5, 1.6, 12))
    np.testing.assert_array_equal(J.pattern(local=True).toarray(), J.pattern().toarray())
    np.testing.assert_allclose(J.sparse(local=True).toarray(), J.sparse().toarray())


def test_a_number_that_is_zero_at_the_point_is_an_entry() -> None:
    J = primad.jacobian(lambda x: np.where(x < 1, x**2, np.roll(x, 1)))(np.array([0.0, 2.0, 0.5]))
    np.testing.assert_array_equal(J.pattern(local=True).toarray(), [[1, 0, 0], [1, 0, 0], [0, 0, 1]])
    assert J.sparse(local=True).nnz == 3 and J.sparse(local=True)[0, 0] == 0


def controlled(z: Any, increments: Any, states: Any, weights: Any) -> Any:
    """Return what a course of 20 steps costs: of 4 increments, a slack variable, and 3 numbers that say where it is."""
    x = (states @ z).reshape(-1, 3)
    seen = np.sin(x[:, 0]) * x[:, 1] + np.exp(0.1 * x[:, 2]) * x[:, 0] * x[:, 1]
    return seen @ weights @ seen + np.sum((increments @ z) ** 2) + 1e4 * z[4] ** 2


def test_zeros_of_other_arguments_count_at_a_point() -> None:
    """Matrices that are given choose some of the unknowns: 185 of 4225 entries, as where they are captured."""
    z, (increments, states) = np.sin(np.arange(1.0, 66.0)), np.split(np.eye(65)[[*range(4), *range(5, 65)]], [4])
    for weights, entries in ((np.eye(20), 185), (np.eye(20) + np.eye(20, k=9), 185 + 2 * 9 * 11), (np.eye(20), 185)):
        H = primad.hessian(controlled)(z, increments, states, weights)
        closed = primad.hessian(lambda z, w=weights: controlled(z, increments, states, w))(z)
        assert (H.pattern().nnz, H.pattern(local=True).nnz, closed.pattern().nnz) == (4225, entries, entries)
        for found in (H.sparse(local=True), closed.sparse()):
            np.testing.assert_allclose(found.toarray(), np.asarray(H), rtol=1e-12, atol=1e-12)


def test_zeros_of_what_is_differentiated_do_not_count_at_a_point() -> None:
    zeros, ones = np.zeros(3), np.ones(3)
    for argument, entries in ((0, 3), (1, 0)):  # by x, where y is 1; by y, where x is 0
        assert primad.jacobian(lambda x, y: x * y, argument)(zeros, ones).pattern(local=True).nnz == entries
    (xx, xy), (yx, yy) = primad.hessian(lambda x, y: np.sum(x**2 * y**2), (0, 1))(zeros, zeros)
    assert [H.pattern(local=True).nnz for H in (xx, xy, yx, yy)] == [0, 3, 3, 0]


def test_rows_that_are_pulled_back_and_matrices_that_are_shown_otherwise() -> None:
    def f(x: Any) -> Any:
        return np.append(np.maximum(x, x[::-1]), np.sum(np.maximum(x, 0) ** 2))

    for x in points():
        J = primad.jacobian(f)(x)
        assert (J.coloring(local=True).rows >= 0).any() and J.coloring(local=True).directions == 2
        np.testing.assert_allclose(J.sparse(local=True).toarray(), np.asarray(J), rtol=1e-12)
        np.testing.assert_allclose(J.T.sparse("csc", local=True).toarray(), np.asarray(J).T, rtol=1e-12)
        np.testing.assert_array_equal(J.T.pattern(local=True).toarray(), np.asarray(J).T != 0)


def test_what_was_found_at_a_point_is_not_used_where_something_else_is_chosen() -> None:
    f = primad.jacobian(CHOOSING["the larger"])
    up, down = np.arange(1.0, 13.0), np.arange(12.0, 0.0, -1)
    A = f(up).sparse(local=True)
    assert f(2 * up).sparse(out=A, local=True) is A
    np.testing.assert_array_equal(A.toarray(), np.asarray(f(2 * up)))
    with pytest.raises(primad.ShapeError, match="other places"):
        f(down).sparse(out=A, local=True)
    with pytest.raises(primad.ShapeError, match="other places"):
        f(up).sparse(out=A)
    np.testing.assert_array_equal(f(down).sparse(local=True).toarray(), np.asarray(f(down)))


def test_the_entries_are_those_of_the_choices_that_were_found() -> None:
    """Rounding may differ between the program that chooses and that of the products, which takes what was chosen."""

    def f(x: Any) -> Any:
        total = np.sum(x * np.roll(x, 1) / 3)
        return np.where(x * x / 3 + total > total + x * (x / 3), x**2, np.roll(x, 1) ** 2)

    for x in points():
        J = primad.jacobian(f)(x)
        kept = J.pattern(local=True).toarray()
        both = np.stack([np.diag(2 * x), np.roll(np.diag(2 * np.roll(x, 1)), -1, 1)])
        found = J.sparse(local=True).toarray()
        np.testing.assert_allclose(found, np.where(kept, both.sum(axis=0), 0))
        assert kept.sum() == 12


def test_neighbours_of_points_on_a_line() -> None:
    """Who is whose neighbour, and near enough, says the point: of 4225 entries 185 are left, as in a published case.

    The 65 points stand in five groups; each is pushed by the next ones of its group: 3 · 65 − 2 · 5 entries.
    """

    def pushed(x: Any) -> Any:
        order = np.argsort(x)
        gaps = np.diff(pnp.take(x, order))
        pushes = np.where(gaps < 1.0, 1 / gaps**2, 0.0)
        return pnp.take(np.pad(pushes, (1, 0)) - np.pad(pushes, (0, 1)), np.argsort(order))

    where = 0.3 * np.arange(65) + 2.0 * (np.arange(65) // 13)
    x = np.random.default_rng(2).permutation(where)
    J = primad.jacobian(pushed)(x)
    assert J.pattern().nnz == 4225 and J.pattern(local=True).nnz == 185
    near = np.abs(x - x[:, None]) < 0.4
    np.testing.assert_array_equal(J.pattern(local=True).toarray(), near)
    np.testing.assert_allclose(J.sparse(local=True).toarray(), J[:], rtol=1e-12)
    assert J.coloring(local=True).directions <= 4


def test_recorded_matrices_have_no_point() -> None:
    with pytest.raises(primad.ShapeError, match="leave local=True out"):
        primad.jit(lambda x: primad.jacobian(np.sin)(x).pattern(local=True).nnz * x)(np.ones(3))
