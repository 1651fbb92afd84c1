"""Entries that blocks have are those that following all elements finds, at points of different zeros too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import numpy as pnp
from primad.programs.sparsity.kept_entries import KeptEntries

RNG = np.random.default_rng(7)
COUNT, CELLS = 1100, 1500
NODES = RNG.integers(0, COUNT, (CELLS, 3))
TABLE = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
SOME = RNG.integers(0, 2, (CELLS, 1)) * RNG.uniform(1.0, 2.0, (CELLS, 1))
OTHERS = RNG.integers(0, 2, (CELLS, 2)) * RNG.uniform(1.0, 2.0, (CELLS, 2))
FEW = np.where(np.arange(CELLS)[:, None] == 17, 0.0, 1.0)
PLACES = RNG.integers(1, 3, (CELLS, 3))
WIDE = RNG.integers(0, COUNT, (CELLS, 40))
FORTY = np.diag(RNG.uniform(1.0, 2.0, 40))
FOLLOWED = {"placed", "apart"}
X = RNG.uniform(0.5, 1.5, COUNT)


def _added(own: Any) -> Any:
    return pnp.add_at(np.zeros(COUNT), NODES.ravel(), pnp.reshape(own, (-1,)))


def linear(x: Any) -> Any:
    return _added((SOME * (x[NODES] @ TABLE)) @ TABLE.T)


def crossed(x: Any) -> Any:
    through = x[NODES] @ TABLE
    return _added((OTHERS * through + SOME * OTHERS * through**2) @ TABLE.T)


def chosen(x: Any) -> Any:
    return _added(np.where(FEW > 0, x[NODES] ** 2, 0.0))


def cancelled(x: Any) -> Any:
    """What is not moved of a known array, and zero at one point only."""
    return _added(((1.0 - FEW) * x[NODES] + np.roll(x[NODES], 1, axis=1)) * OTHERS[:, :1])


def unknown(x: Any) -> Any:
    return _added(np.sin(x[NODES]) * SOME + (x[NODES] @ TABLE)[:, :1])


def two_kinds(x: Any) -> Any:
    short = x[NODES[:600]]
    return _added((x[NODES] @ TABLE) @ TABLE.T) + pnp.add_at(
        np.zeros(COUNT), NODES[:600, 0], np.sum(OTHERS[:600] * (short @ TABLE), axis=1) ** 2
    )


def scaled_twice(scale: Any, x: Any) -> Any:
    """A product of two known arrays, which is computed where it is asked for, scales what is given."""
    return primad.jvp(lambda w: w * scale * x, (np.ones((CELLS, 1)),), (np.full((CELLS, 1), 2.0),))[1]


def twice(x: Any) -> Any:
    return _added(scaled_twice(np.sign(SOME), x[NODES] @ TABLE) @ TABLE.T)


def placed(x: Any) -> Any:
    """Each point has places of its own, none of which is 0."""
    return _added(np.sin(np.take_along_axis(np.sin(x[NODES]), PLACES, axis=1)))


def running(x: Any) -> Any:
    own = np.cumsum(np.sin(x[WIDE[:, :8]]), axis=1) ** 2
    return pnp.add_at(np.zeros(COUNT), WIDE[:, :8].ravel(), own.ravel())


def apart(x: Any) -> Any:
    """Blocks have forty elements for each that is not zero."""
    own = (np.sin(x[WIDE]) @ FORTY) ** 2
    return pnp.add_at(np.zeros(COUNT), WIDE.ravel(), own.ravel())


FUNCTIONS = [twice, placed, running, apart, linear, crossed, chosen, cancelled, unknown, two_kinds]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_entries_of_blocks_are_those_that_are_followed(
    function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = primad.jacobian(function)(X)
    found = matrix.sparse()
    assert _by_blocks(function) is (function.__name__ not in FOLLOWED)
    np.testing.assert_allclose(found.toarray(), primad.jacfwd(function)(X), rtol=1e-9, atol=1e-10)
    monkeypatch.setattr(KeptEntries, "_by_blocks", lambda *_: (None, None))
    followed = primad.jacobian(lambda x: function(x) + 2.5)(X).sparse()
    np.testing.assert_array_equal(found.indptr, followed.indptr)
    np.testing.assert_array_equal(found.indices, followed.indices)


def _by_blocks(function: Callable[[Any], Any]) -> bool:
    """Say whether entries are found without all elements being followed."""
    followed: list[None] = []
    with pytest.MonkeyPatch.context() as patch:
        own = KeptEntries._entries
        patch.setattr(KeptEntries, "_entries", lambda *given: (followed.append(None), own(*given))[1])
        primad.jacobian(lambda x: function(x) + np.sin(0.5))(X).sparse()
    return not followed


@pytest.mark.parametrize("scaled", [lambda s, x: s * x, lambda s, x: np.where(s > 0, np.sin(x), 0.0), scaled_twice])
def test_zeros_elsewhere_are_other_entries(scaled: Callable[[Any, Any], Any]) -> None:
    """Entries that were found for some zeros are found anew for others, at one point alone as well."""
    scales = np.ones((CELLS, 1))
    jacobian = primad.jacobian(lambda x: _added(scaled(scales, x[NODES] @ TABLE) @ TABLE.T))
    for places in ([], [3], [4], [3, 4], []):
        scales = np.ones((CELLS, 1))
        scales[places] = 0.0
        found = jacobian(X).sparse()
        there = np.ones(CELLS, bool)
        there[places] = False
        rows, columns = np.nonzero(TABLE @ TABLE.T)
        wanted = {*zip(NODES[there][:, rows].ravel().tolist(), NODES[there][:, columns].ravel().tolist(), strict=True)}
        assert {*zip(*[x.tolist() for x in found.nonzero()], strict=True)} <= wanted
        assert found.nnz == len(wanted)
