"""Rows that the steps of a loop compute are reached by the same rows of what it takes, and by what is carried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.programs.sparsity import dependence

WEIGHTS = np.linspace(0.5, 1.5, 12)
PLACES = np.arange(12) * 5 % 12


def products(row: Any) -> Any:
    return primad.scan(lambda c, a: (c * a, c), 1.0, row)[1]


STEPS: dict[str, Callable[[Any], Any]] = {
    "each row": lambda x: primad.map(lambda row: row[0] * np.sin(row[1]), (x[1:], x[:-1])),
    "blocks of rows": lambda x: primad.map(lambda row: np.outer(row, row) + np.sort(row), x.reshape(4, 3)),
    "rows and what all take": lambda x: primad.map(lambda row: row * x[:2], x),
    "known rows": lambda x: primad.map(lambda row: row[0] * x[row[1]], (WEIGHTS, PLACES)),
    "known rows and others": lambda x: primad.map(lambda row: row[0] * row[1] ** 2, (WEIGHTS, x)),
    "rows of zeros": lambda x: primad.map(lambda row: row[0] * row[1], ((WEIGHTS > 1) * 1.0, x)),
    "a sum beside": lambda x: primad.scan(lambda c, a: (c + a**2, np.sin(a)), 0.0, x)[1],
    "the last row": lambda x: primad.scan(lambda c, a: (a, a * c), 1.0, x)[1],
    "from the end": lambda x: primad.scan(lambda c, a: (c * 0.5, c * a), x[0], x, reverse=True)[1],
    "two results": lambda x: np.stack(primad.scan(lambda c, a: (c, (a**2, c * np.cos(a))), x[3], x)[1]),
    "a loop in a step": lambda x: primad.map(products, x.reshape(4, 3)),
    "a system in a step": lambda x: primad.map(lambda row: np.linalg.solve(np.diag(row) + 1, row), x.reshape(4, 3)),
    "what is added": lambda x: primad.scan(lambda c, a: (c + a**3, None), 0.0, x)[0],
}  # fmt: skip
TIGHT = set(STEPS) - {
    "the last row",
    "from the end",
    "blocks of rows",
    "rows and what all take",
    "known rows",
    "a loop in a step",
}
"""Of these no entry is found that is zero."""


def nonzeros(matrix: Callable[[Any], Any], size: int) -> Any:
    """Return where a matrix has entries that are not zero at one of some points."""
    points = np.random.default_rng(0).uniform(0.5, 1.5, (3, size))
    return np.any([np.asarray(matrix(x)).reshape(-1, size) != 0 for x in points], axis=0)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_are_not_followed_one_by_one_miss_no_entry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "MOST_STEPPED", 0)

    def f(x: Any) -> Any:
        return STEPS[name](x)

    def g(x: Any) -> Any:
        return np.sum(STEPS[name](x) ** 2)

    x = np.linspace(0.5, 1.5, 12)
    for lazy, whole in (
        (primad.jacobian(f)(x), nonzeros(lambda x: primad.jacobian(f)(x)[:], 12)),
        (primad.hessian(g)(x), nonzeros(lambda x: primad.hessian(g)(x)[:], 12)),
    ):
        found = lazy.pattern().toarray()
        assert not (whole & ~found).any()
        np.testing.assert_allclose(lazy.sparse().toarray(), np.asarray(lazy[:]).reshape(found.shape), atol=1e-13)
    if name in TIGHT:
        assert primad.jacobian(f)(x).pattern().nnz == nonzeros(lambda x: primad.jacobian(f)(x)[:], 12).sum()


def test_many_rows_have_as_many_entries_as_steps() -> None:
    """Rows of all steps taken together would have 10¹⁰ entries."""

    def f(x: Any) -> Any:
        return np.sum(primad.map(lambda row: np.prod(row) * np.sin(row[0]), x.reshape(-1, 4)))

    hessian = primad.hessian(f)(np.linspace(0.0, 1.0, 100_000))
    assert hessian.pattern().nnz == 25_000 * 13
    assert hessian.coloring().directions == 3


@pytest.mark.parametrize("name", sorted(TIGHT))
@pytest.mark.parametrize("most", [1, 40, 100])
def test_large_steps_are_followed_some_at_a_time(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reaches all values of all steps would take as much memory as these, which no run holds at a time."""
    monkeypatch.setattr(dependence, "MOST_STEPPED", 0)
    x = np.linspace(0.5, 1.5, 12)
    whole = primad.jacobian(lambda x: STEPS[name](x))(x).pattern().toarray()
    monkeypatch.setattr(dependence, "MOST_TOGETHER", most)
    cut = primad.jacobian(lambda x: STEPS[name](x) * 1.0)(x).pattern().toarray()
    np.testing.assert_array_equal(cut, whole)


def test_an_op_that_takes_no_further_axis_mixes_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any) -> Any:
        raise primad.NotDifferentiableError("no axis map")

    monkeypatch.setattr(dependence, "MOST_STEPPED", 0)
    monkeypatch.setattr(dependence, "vmap", refused)
    assert primad.jacobian(lambda x: primad.map(np.sin, x))(np.ones(5)).pattern().nnz == 25
