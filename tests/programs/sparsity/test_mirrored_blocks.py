"""Of blocks of a Hessian at mirrored places one is computed, and every entry is the derivative all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.programs.sparsity import compressed
from primad.programs.sparsity.found_entries import Found
from primad.runtime.cache import Cache
from tests.programs.sparsity.test_direct_entries import rosenbrock

RNG = np.random.default_rng(3)
PAIRS = np.array([(i, j) for i in range(20) for j in range(i) if RNG.random() < 0.3])
TURNED = np.where(RNG.random((len(PAIRS), 1)) < 0.5, PAIRS, PAIRS[:, ::-1])
BOTH_WAYS = np.concatenate([PAIRS, PAIRS[:5, ::-1]])
WEIGHTS = RNG.normal(size=len(PAIRS))
TRIPLES = np.array([np.sort(RNG.choice(20, 3, replace=False)) for _ in range(40)])


def between(pairs: Any) -> Callable[[Any], Any]:
    return lambda x: np.sum(np.exp(x[pairs[:, 0]] * np.sin(x[pairs[:, 1]])))


def of_triples(x: Any) -> Any:
    a, b, c = (x[TRIPLES[:, i]] for i in range(3))
    return np.sum(np.cos(a * b + c) / (2.0 + np.sin(b * c)))


def beams(x: Any) -> Any:
    return np.sum((x[4:] - 2 * x[2:-2] + x[:-4]) ** 4 + np.sin(x[3:-1] * x[1:-3]))


def star(x: Any) -> Any:
    """Many elements are added up for an entry, and its blocks have weights."""
    return np.sum(np.exp(x[PAIRS[:, 0] // 8] * np.sin(x[10 + PAIRS[:, 1] // 8])) * WEIGHTS) + np.sum(x**3)


CASES: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "a chain": (rosenbrock, True),
    "pairs in order": (between(PAIRS), True),
    "pairs in any order": (between(TURNED), True),
    "some pairs both ways": (between(BOTH_WAYS), False),
    "pairs, some again": (between(np.concatenate([PAIRS, PAIRS[:5]])), True),
    "an element with itself": (between(np.concatenate([PAIRS, [[3, 3]]])), False),
    "triples": (of_triples, False),
    "beams": (beams, False),
    "a star": (star, True),
    "no terms": (lambda x: np.sum(x[:0] * x[1:1]), False),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_entries_are_the_derivatives(name: str) -> None:
    function, _ = CASES[name]
    for x in RNG.normal(size=(3, 20)):
        H = primad.hessian(function)(x)
        want = np.asarray(H)
        jitted = primad.jit(lambda x, f=function: primad.hessian(f)(x).sparse("csc"))(x)
        for found in (H.sparse(), H.sparse("csc"), jitted):
            np.testing.assert_allclose(found.toarray(), want, rtol=1e-11, atol=1e-12 * (1 + np.abs(want).max()))


def of_blocks(function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, halved: bool) -> tuple[int, Any]:
    """Return how many elements the blocks of a Hessian have, and the matrix."""
    seen: list[Found] = []
    own = Found.__init__

    def noted(self: Found, entries: Any, symmetric: bool, *rest: Any) -> None:
        own(self, entries, symmetric and halved, *rest)
        seen.append(self)

    monkeypatch.setattr(compressed, "BUILT", Cache(8))  # none that was found earlier
    monkeypatch.setattr(Found, "__init__", noted)
    matrix = primad.hessian(lambda x: function(x))(np.linspace(-1.0, 1.2, 20)).sparse()
    blocks = seen[-1].blocks
    monkeypatch.undo()
    return 0 if blocks is None else sum(x.size for x in blocks.program.out_types), matrix


@pytest.mark.parametrize("name", [name for name, (_, halved) in CASES.items() if halved])
def test_one_of_two_mirrored_blocks_is_computed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    half, found = of_blocks(CASES[name][0], monkeypatch, True)
    assert (found != found.T).nnz == 0
    whole, want = of_blocks(CASES[name][0], monkeypatch, False)
    assert 0 < half < whole
    np.testing.assert_allclose(found.toarray(), want.toarray(), rtol=1e-12, atol=1e-13)
