"""Which contractions are computed in blocks, and how, on both sides of each limit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from primad.ops.blocked import blocked_products
from primad.ops.blocked.blocked_products import made_in_order, multiply
from primad.ops.blocked.pieces import in_order


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {"THREAD_WORK": 1000, "SHARED_FLOPS": 100_000, "SMALL": 4}.items():
        monkeypatch.setattr(blocked_products, name, value)
    for made in (blocked_products._form, blocked_products._is_worthwhile):
        made.cache_clear()
    yield
    for made in (blocked_products._form, blocked_products._is_worthwhile):
        made.cache_clear()


def ones(*shape: int) -> Any:
    return np.ones(shape)


CHOSEN = {
    "work for threads, and nothing to sum": ("ij,jk->ik", ones(25, 1), ones(1, 20), True),
    "too little work": ("ij,jk->ik", ones(25, 1), ones(1, 19), False),
    "as many flops as are shared": ("ij,jk->ik", ones(50, 20), ones(20, 50), True),
    "fewer": ("ij,jk->ik", ones(50, 20), ones(20, 49), False),
    "an operand that is copied": ("iaj,ijk->ak", ones(5, 10, 5), ones(5, 5, 20), True),
    "the other operand": ("ijk,iaj->ka", ones(5, 5, 20), ones(5, 10, 5), True),
    "little work on one that is copied": ("iaj,ijk->ak", ones(5, 10, 5), ones(5, 5, 19), False),
    "as much work on one that is not": ("aij,ijk->ak", ones(10, 5, 5), ones(5, 5, 20), False),
    "windows that overlap": ("ij,jk->ik", sliding_window_view(ones(14), 5), ones(5, 10), True),
    "windows on the other side": ("ij,jk->ik", ones(10, 5), sliding_window_view(ones(14), 10), True),
    "two windows that overlap": ("ij,jk->ik", sliding_window_view(ones(5), 4), ones(4, 125), True),
    "windows side by side": ("ij,jk->ik", ones(10, 5), ones(5, 10), False),
    "no letter of its own": ("ij,jk->k", ones(10, 20), ones(20, 500), False),
    "nothing that is summed": ("i,j->ij", ones(400), ones(400), False),
    "no elements": ("ij,jk->ik", ones(0, 20), ones(20, 5000), False),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_blocks_are_taken_where_they_are_worth_it(name: str) -> None:
    labels, x, y, wanted = CHOSEN[name]
    inputs, out = labels.split("->")
    found = multiply(x, y, *inputs.split(","), out)
    assert (found is not None) == wanted
    if found is not None:
        np.testing.assert_allclose(found, np.einsum(labels, x, y))


@pytest.mark.parametrize(
    ("out", "rows", "in_order"),
    [("ik", 0, True), ("ki", 0, True), ("iko", 3, True), ("koi", 3, True), ("kio", 4, True), ("kio", 3, False)],
)
def test_results_are_made_in_order_where_matrices_are_not_small_then(out: str, rows: int, in_order: bool) -> None:
    """The last letters of a result are the columns of its matrices, those before them the rows."""
    y, in_y = ((20, 40, rows), "jko") if "o" in out else ((20, 40), "jk")
    x = ones(40, 20)
    assert made_in_order("ij", in_y, out, x.shape, y) == in_order


@pytest.mark.parametrize("letters", ["a", "ab", "ba", "abc"])
def test_cuts_cover_all_in_equal_slices(letters: str) -> None:
    for lengths in itertools.product((1, 2, 7, 12), repeat=len(letters)):
        sizes = dict(zip(letters, lengths, strict=True))
        whole = int(np.prod(lengths))
        for width in (1, 3, 8, 200):
            product = blocked_products._Product(None, sizes, None, None, None, None)  # type: ignore[arg-type]
            cuts = list(product._cuts(letters, width))
            (letter,) = {letter for letter, _, _ in cuts}
            each = whole // sizes[letter]
            assert letter == next((c for c in letters if sizes[c] > 1), letters[0])
            assert [i for _, part, _ in cuts for i in range(sizes[letter])[part]] == list(range(sizes[letter]))
            assert [i for _, _, part in cuts for i in range(part.start, part.stop)] == list(range(whole))
            widths = [part.stop - part.start for _, _, part in cuts]
            assert widths[:-1] == widths[:1] * (len(widths) - 1)
            assert max(widths) <= max(width, each) + each * (width % each > 0)
            assert len(cuts) == 1 or max(widths) > width // 2 or max(widths) == each


LIMITS = {
    "THREAD_WORK": 0, "SHARED_FLOPS": 0, "BLOCK_BYTES": 10**6, "NARROWEST": 4, "DEEPEST": 10**6, "MATRIX": 10,
    "SMALL": 4, "MOST_CHUNKS": 6, "ALONE_WORK": 0,
}  # fmt: skip
PLAIN, STACKS = ("ij,jk->ik", (40, 5), (5, 60)), ("bij,bjk->bik", (8, 2, 3), (8, 3, 4))
DEEP, COPIED = ("ij,jk->ik", (2, 100), (100, 3)), ("iaj,ijk->ak", (5, 60, 5), (5, 5, 40))
SHARED = {
    "blocks of columns": (PLAIN, {}, [6]),
    "blocks of rows": (("ij,jk->ik", (60, 5), (5, 40)), {}, [6]),
    "blocks that are as narrow as may be": (PLAIN, {"NARROWEST": 20}, [3]),
    "half of the chunks, of narrower ones": (PLAIN, {"NARROWEST": 30}, [3]),
    "pieces of small matrices": (PLAIN, {"NARROWEST": 60, "SMALL": 25}, [2]),
    "pieces of several products": (("bij,bjk->bik", (3, 40, 5), (3, 5, 60)), {"NARROWEST": 30}, [6]),
    "a product or two for each chunk": (("bij,bjk->bik", (9, 40, 5), (9, 5, 20)), {"NARROWEST": 30}, [6]),
    "no piece of a small matrix": (PLAIN, {"NARROWEST": 60, "SMALL": 41}, [1]),
    "blocks of what is copied": (COPIED, {"BLOCK_BYTES": 25 * 8 * 20}, [3]),
    "large blocks of what is copied": (COPIED, {"BLOCK_BYTES": 25 * 8 * 30}, [6, 6, 6, 6]),
    "narrow blocks of what is copied": (COPIED, {"BLOCK_BYTES": 25 * 8 * 12}, [5]),
    "a deep sum": (DEEP, {"DEEPEST": 99, "BLOCK_BYTES": 48}, [6]),
    "a deep sum in few blocks": (DEEP, {"DEEPEST": 99, "NARROWEST": 30}, [4]),
    "a deep sum in blocks of a matrix": (DEEP, {"DEEPEST": 99, "MATRIX": 25}, [4]),
    "a sum that is not deep": (DEEP, {"DEEPEST": 100, "BLOCK_BYTES": 48}, [1]),
    "a deep sum of a large result": (DEEP, {"DEEPEST": 99, "BLOCK_BYTES": 47}, [1]),
    "stacks of small products": (STACKS, {"ALONE_WORK": 49}, [1]),
    "stacks in pieces": (STACKS, {"ALONE_WORK": 49, "BLOCK_BYTES": 8 * 96 // 4}, [4]),
    "stacks in pieces that nearly fit": (STACKS, {"ALONE_WORK": 49, "BLOCK_BYTES": 8 * 96 // 4 - 1}, [5]),
    "stacks in chunks": (STACKS, {"ALONE_WORK": 49, "BLOCK_BYTES": 1}, [6]),
    "stacks of products with work for threads": (STACKS, {"ALONE_WORK": 48}, [6]),
}
"""Labels and shapes, limits that differ, and how many chunks are shared, each time that some are."""


@pytest.mark.parametrize("name", SHARED)
def test_chunks_are_as_many_as_limits_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (labels, *shapes), changed, expected = SHARED[name]
    for limit, value in (LIMITS | changed).items():
        monkeypatch.setattr(blocked_products, limit, value)
    shared: list[int] = []

    def each(work: Any, count: int) -> Any:
        shared.append(count)
        return in_order(work, count)

    x, y = (np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes))
    inputs, out = labels.split("->")
    for turned in (1.0, 0.6 + 0.8j):  # complex numbers as real ones
        shared.clear()
        found = multiply(turned * x, y.astype(type(turned)), *inputs.split(","), out, each=each)
        np.testing.assert_allclose(found, np.einsum(labels, turned * x, y), rtol=1e-12, atol=1e-12)
        assert shared == expected or turned != 1.0  # a block has half as many complex numbers


@pytest.mark.parametrize("where", ["over the first operand", "over the second one", "with gaps", "turned"])
def test_results_may_be_written_anywhere(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in LIMITS.items():
        monkeypatch.setattr(blocked_products, limit, value)
    columns = 40 if where == "over the second one" else 60  # then by rows, each of which reads all of the second
    x, y = (np.random.default_rng(i).normal(size=shape) for i, shape in enumerate([(60, 60), (60, columns)]))
    expected = x @ y
    places = {"over the first operand": x, "over the second one": y, "with gaps": np.empty((60, 120))[:, ::2]}
    target = places.get(where, np.empty((60, 60)).T)
    assert multiply(x, y, "ij", "jk", "ik", target) is target
    np.testing.assert_allclose(target, expected, rtol=1e-12, atol=1e-12)


WRITTEN = {
    "rows of two axes that lie apart": ("abj,jk->abk", (6, 10, 8), (8, 40), np.empty((10, 6, 40)).transpose(1, 0, 2)),
    "in another order than that of the product": ("ij,jko->kio", (40, 8), (8, 5, 3), np.empty((5, 40, 3))),
}
"""Labels, shapes, and where the result is to be, which no product can write at once."""


@pytest.mark.parametrize("name", WRITTEN)
def test_results_that_no_product_writes_at_once_are_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in LIMITS.items():
        monkeypatch.setattr(blocked_products, limit, value)
    labels, *shapes, target = WRITTEN[name]
    inputs, out = labels.split("->")
    x, y = (np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes))
    assert multiply(x, y, *inputs.split(","), out, target) is target
    np.testing.assert_allclose(target, np.einsum(labels, x, y), rtol=1e-12, atol=1e-12)
