"""Windows, convolution and pooling beyond what the proofs cover: large sizes, ties, NaN, memory, threads."""

from __future__ import annotations

import functools
import itertools
import random
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import primad
from primad import nn, ops
from primad.ir.law_families import LOCAL, without
from primad.ops.blocked import blocked_products
from primad.verify.checks.trial import run_as_it_stands

RNG = np.random.default_rng(7)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


def convolved(x: Any, w: Any, padding: int) -> Any:
    """Convolution with stride 1 as a sum over the elements of the kernel."""
    widths = [(0, 0), (0, 0), *[(padding, padding)] * (x.ndim - 2)]
    x = np.pad(x, widths)
    count = [n - k + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    total: Any = 0.0
    for element in np.ndindex(w.shape[2:]):
        seen = x[(..., *[slice(p, p + n) for p, n in zip(element, count, strict=True)])]
        total = total + np.einsum("nc...,oc->no...", seen, w[(..., *element)])
    return total


# -- products in blocks ------------------------------------------------------------------------------------------------


@pytest.fixture
def every_product_in_blocks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that draws how blocks are cut, so that small products meet every case."""
    found = random.Random(0)

    def draw() -> random.Random:
        for name in ("THREAD_WORK", "SHARED_FLOPS"):
            monkeypatch.setattr(blocked_products, name, 0)
        choices = {"BLOCK_BYTES": (64, 2**20), "NARROWEST": (1, 4, 256), "DEEPEST": (4, 8192), "SMALL": (1, 4, 32)}
        choices |= {"MOST_CHUNKS": (1, 3, 8), "ALONE_WORK": (0, 4e6)}
        for name, values in choices.items():
            monkeypatch.setattr(blocked_products, name, found.choice(values))
        forget()
        return found

    def forget() -> None:
        blocked_products._form.cache_clear()
        blocked_products._is_worthwhile.cache_clear()

    yield draw
    forget()


def _laid_out(letters: list[str], lengths: dict[str, int], choose: random.Random) -> Any:
    """Return an array whose axes lie in memory in any order, with gaps."""
    order = choose.sample(range(len(letters)), len(letters))
    x = RNG.normal(size=[2 * lengths[letters[i]] for i in order])
    cut = [slice(None, None, 2) if choose.random() < 0.5 else slice(0, lengths[letters[i]]) for i in order]
    return x[tuple(cut)].transpose(np.argsort(order))


def test_blocks_compute_what_einsum_does(every_product_in_blocks: Any) -> None:
    made = 0
    for _ in range(1500):
        choose = every_product_in_blocks()
        kinds = {letter: choose.choice("bixy") for letter in "abcdef"[: choose.randint(3, 6)]}
        lengths = {letter: choose.randint(1, 4) for letter in kinds}
        in_x, in_y, out = ([c for c, kind in kinds.items() if kind in group] for group in ("bix", "biy", "bxy"))
        for part in (in_x, in_y, out):
            choose.shuffle(part)
        if not in_x or not in_y:
            continue
        x, y = _laid_out(in_x, lengths, choose), _laid_out(in_y, lengths, choose)
        expected = np.einsum(f"{''.join(in_x)},{''.join(in_y)}->{''.join(out)}", x, y)
        target = np.empty(expected.shape) if choose.random() < 0.5 else None
        found = blocked_products.multiply(x, y, "".join(in_x), "".join(in_y), "".join(out), target)
        if found is None:
            continue
        made += 1
        assert target is None or found is target
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert made > 300


def test_an_array_may_be_multiplied_by_itself_with_its_axes_in_any_order(every_product_in_blocks: Any) -> None:
    """Only where each axis meets the same one of the other operand is half of the result enough."""
    for _ in range(300):
        choose = every_product_in_blocks()
        n = choose.randint(3, 4)
        x = normal(*(choose.randint(2, 3),) * n)
        in_x, in_y = "abcdefgh"[:n], choose.sample("abcdefgh"[: n + choose.randint(0, n)], n)
        both, either = sorted({*in_x} & {*in_y}), sorted({*in_x} ^ {*in_y})
        out = "".join(choose.sample(either, len(either)) + [c for c in both if choose.random() < 0.2])
        found = blocked_products.multiply(x, x, in_x, "".join(in_y), out)
        if found is not None:
            np.testing.assert_allclose(found, np.einsum(f"{in_x},{''.join(in_y)}->{out}", x, x), rtol=1e-12, atol=1e-12)


def test_a_product_may_be_written_over_its_operand(every_product_in_blocks: Any) -> None:
    every_product_in_blocks()
    x, y = normal(6, 6), normal(6, 6)
    expected = x @ y
    np.testing.assert_allclose(blocked_products.multiply(x, y, "ab", "bc", "ac", x), expected)


# -- convolution -------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("x", "w", "padding"),
    [((1, 16, 40, 40), (24, 16, 3, 3), 1), ((8, 6, 20, 20), (12, 6, 5, 5), 0), ((2, 64, 9, 9), (64, 64, 3, 3), 1),
     ((2, 3, 3000), (8, 3, 7), 3), ((1, 4, 12, 13, 14), (6, 4, 2, 3, 2), 1)],
)  # fmt: skip
def test_large_convolutions_and_their_gradients(x: Any, w: Any, padding: int) -> None:
    x, w = normal(*x), normal(*w)
    expected = convolved(x, w, padding)
    ct = normal(*expected.shape)

    def loss(x: Any, w: Any) -> Any:
        return np.sum(ct * nn.conv(x, w, padding=padding))

    np.testing.assert_allclose(nn.conv(x, w, padding=padding), expected, rtol=1e-9, atol=1e-9)
    compiled = primad.jit(lambda x, w: nn.conv(x, w, padding=padding))
    np.testing.assert_allclose(compiled(x, w), expected, rtol=1e-9, atol=1e-9)
    for argument, value in enumerate((x, w)):
        gradient = primad.jit(primad.grad(loss, argnums=argument))(x, w)
        direction = normal(*value.shape)
        moved = (direction, w) if argument == 0 else (x, direction)
        assert np.sum(gradient * direction) == pytest.approx(np.sum(ct * convolved(*moved, padding)), rel=1e-8)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x, w = normal(2, 32, 40, 40).astype(np.float32), normal(48, 32, 3, 3).astype(np.float32)
    gradient = primad.grad(lambda x, w: np.sum(np.sin(nn.max_pool(nn.conv(x, w, padding=1), 2))), argnums=(0, 1))
    before = primad.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            primad.set_num_threads(count)
            found.append(primad.jit(gradient)(x, w))
    finally:
        primad.set_num_threads(before)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize(("batch", "channels", "made"), [(8, 16, 16), (2, 64, 256)])
def test_the_windows_of_a_batch_are_never_all_in_memory(batch: int, channels: int, made: int) -> None:
    x, w = normal(batch, channels, 48, 48).astype(np.float32), normal(made, channels, 3, 3).astype(np.float32)
    gradient = primad.jit(primad.grad(lambda x, w: np.sum(nn.conv(x, w, padding=1) ** 2), argnums=(0, 1)))
    gradient(x, w)
    tracemalloc.start()
    gradient(x, w)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    results = x.nbytes * made // channels
    assert peak < 6 * x.nbytes + 3 * results  # the windows of x and of the cotangent take 9 times as much


def test_a_mean_over_windows_has_no_array_of_windows() -> None:
    x = normal(1, 64, 160, 160).astype(np.float32)
    pooled = primad.jit(lambda x: nn.avg_pool(x, 3, 1, 1))
    pooled(x)
    tracemalloc.start()
    pooled(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * x.nbytes


def test_gradients_of_convolutions_are_convolutions() -> None:
    types = [primad.ArrayType((4, 8, 16, 16), float), primad.ArrayType((8, 8, 3, 3), float)]

    def counts(stride: int) -> Counter[str]:
        gradient = primad.grad(lambda x, w: np.sum(nn.conv(x, w, stride=stride, padding=1) ** 2), argnums=(0, 1))
        return Counter(node.op.name for node in primad.simplify(primad.trace(gradient)(*types)).nodes)

    assert counts(1)["contract"] == 3 and not counts(1)["overlap_add"]
    assert counts(2)["contract"] == 3 and counts(2)["overlap_add"] == 1


def test_per_example_gradients_and_hessian_products() -> None:
    x, w = normal(3, 1, 2, 5, 5), normal(2, 2, 3, 3)

    def loss(w: Any, x: Any) -> Any:
        return np.sum(nn.conv(x, w, stride=2, padding=1) ** 3)

    each = primad.vmap(primad.grad(loss), in_axes=(None, 0))(w, x)
    np.testing.assert_allclose(each, [primad.grad(loss)(w, example) for example in x])
    primad.check_grads(lambda w: loss(w, x[0]), (w,), order=3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.conv(normal(2, 3), normal(3, 3)), "spatial"),
        (lambda: nn.conv(normal(1, 2, 5), normal(3, 3, 2)), "do not fit"),
        (lambda: nn.conv(normal(1, 2, 5), normal(3, 2, 6)), "do not fit into an axis of length 5"),
        (lambda: nn.conv(normal(1, 2, 5), normal(3, 2, 2), stride=0), "stride"),
        (lambda: nn.conv(normal(1, 2, 5), normal(3, 2, 2), padding=(1, 1)), "padding"),
        (lambda: nn.conv_transpose(normal(1, 2, 5), normal(2, 2, 2), output_padding=1), "output_padding"),
        (lambda: nn.max_pool(normal(1, 2, 5), (2, 2)), "kernel"),
        (lambda: primad.jit(lambda x: nn.max_pool(x, 1, padding=1))(normal(1, 2, 5)), "lies outside"),
        (lambda: nn.adaptive_avg_pool(normal(1, 2, 5), (1, 2)), "output_size"),
        (lambda: primad.trace(lambda x: ops.windows(x, axes=(1,), count=(1,), size=(2,), step=(1,), dilation=(1,),
                                                    low=(0,)))(np.ones(3)), "axes"),
    ],
)  # fmt: skip
def test_errors(call: Any, words: str) -> None:
    with pytest.raises(primad.ShapeError, match=words):
        call()


# -- pooling -----------------------------------------------------------------------------------------------------------


def pooled_gradient(x: Any, **options: Any) -> Any:
    return primad.grad(lambda x: np.sum(nn.max_pool(x, **options)))(x)


def test_a_tie_gives_the_derivative_to_the_first_element_of_the_window() -> None:
    x = np.array([[[[1.0, 1.0], [1.0, 1.0]]]])
    np.testing.assert_array_equal(pooled_gradient(x, kernel=2), [[[[1.0, 0.0], [0.0, 0.0]]]])
    np.testing.assert_array_equal(pooled_gradient(np.zeros((1, 1, 3)), kernel=2, stride=1), [[[1.0, 1.0, 0.0]]])
    found = primad.grad(lambda x: np.sum(nn.adaptive_max_pool(x, 2)))(np.zeros((1, 1, 3)))
    np.testing.assert_array_equal(found, [[[1.0, 1.0, 0.0]]])


def test_padding_is_never_chosen() -> None:
    x = np.full((1, 1, 3), -np.inf)
    x[0, 0, 1] = -5.0
    np.testing.assert_array_equal(nn.max_pool(x, 2, 2, 1), [[[-np.inf, -5.0]]])
    np.testing.assert_array_equal(pooled_gradient(x, kernel=2, stride=2, padding=1), [[[1.0, 1.0, 0.0]]])


def test_nan_is_the_largest() -> None:
    x = np.array([[[1.0, np.nan, 7.0, np.nan, 2.0, 3.0]]])
    np.testing.assert_array_equal(nn.max_pool(x, 3), [[[np.nan, np.nan]]])
    np.testing.assert_array_equal(pooled_gradient(x, kernel=3), [[[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]]])


def test_large_windows_and_many_pieces() -> None:
    x = normal(2, 9, 60, 60)
    expected = np.lib.stride_tricks.sliding_window_view(x, (20, 20), (2, 3))[:, :, ::5, ::7]
    np.testing.assert_array_equal(nn.max_pool(x, 20, (5, 7)), expected.max((4, 5)))
    np.testing.assert_allclose(nn.avg_pool(x, 20, (5, 7)), expected.mean((4, 5)))


@pytest.mark.parametrize("count", [1, 3, 5, 7, 9])
def test_adaptive_pooling(count: int) -> None:
    x = normal(2, 3, 7)
    shares = [x[..., 7 * i // count : -(-7 * (i + 1) // count)] for i in range(count)]
    np.testing.assert_array_equal(nn.adaptive_max_pool(x, count), np.stack([s.max(-1) for s in shares], -1))
    np.testing.assert_allclose(nn.adaptive_avg_pool(x, count), np.stack([s.mean(-1) for s in shares], -1))


def test_single_precision_stays() -> None:
    x, w = np.ones((1, 2, 6), np.float32), np.ones((2, 2, 3), np.float32)
    for f in (
        lambda x: nn.conv(x, w),
        lambda x: nn.conv_transpose(x, w),
        lambda x: nn.max_pool(x, 2),
        lambda x: nn.avg_pool(x, 3, 2, 1, count_include_pad=False),
        lambda x: nn.adaptive_avg_pool(x, 4),
        lambda x: nn.adaptive_max_pool(x, 4),
    ):
        assert f(x).dtype == primad.jit(f)(x).dtype == np.float32


@pytest.mark.parametrize(
    ("size", "axis"), [(2, 0), ((2, 3), None), ((3, 1), (1, -2)), ((2, 2), (1, 1)), (4, 1), ((), ())]
)
def test_windows_of_a_traced_array_are_numpys(size, axis):
    x = np.arange(12.0).reshape(3, 4)
    view = functools.partial(np.lib.stride_tricks.sliding_window_view, window_shape=size, axis=axis)
    np.testing.assert_array_equal(primad.jit(view)(x), view(x))
    weights = np.random.default_rng(2).standard_normal(view(x).shape)
    step = np.random.default_rng(3).standard_normal(x.shape)
    gradient = primad.grad(lambda x: np.sum(weights * view(x) ** 2))(x)
    np.testing.assert_allclose(np.sum(gradient * step), np.sum(2 * weights * view(x) * view(step)), rtol=1e-12)
    with pytest.raises(primad.ShapeError, match="sliding_window_view"):
        primad.trace(lambda x: np.lib.stride_tricks.sliding_window_view(x, 5, 0))(x)


PLACED = {
    f"{x},{y}->abpq": None
    for places in itertools.product(("x", "y", "xy"), repeat=4)
    for x, y in [["".join(c for c, at in zip("abpq", places, strict=True) if name in at) for name in "xy"]]
    if x and y
}
"""Products of which the first operand, the second, or both have each of the places and each of the elements."""


@pytest.mark.parametrize(
    ("labels", "step"),
    [(labels, (1, 1)) for labels in PLACED]
    + [(x, s) for x in ("ap,bq->abpq", "ab,pq->abpq") for s in [(1, 2), (2, 2)]],
)
def test_overlapping_products_are_those_of_all_windows(labels, step):
    """Whichever operand has the places, the elements, or a part of both; and whichever steps there are."""
    lengths = {"a": 3, "b": 4, "p": 2, "q": 3}
    parts = labels.partition("->")[0].split(",")
    arrays = [normal(*[lengths[letter] for letter in part]) for part in parts]

    def function(x, y):
        options = {"axes": (0, 1), "length": (4, 5), "step": step, "dilation": (1, 1), "low": (0, 1)}
        return ops.overlap_add(ops.contract(x, y, labels=labels), **options)

    with without(LOCAL):
        wanted = run_as_it_stands(primad.trace(function)(*arrays), arrays)
    np.testing.assert_allclose(
        run_as_it_stands(primad.trace(function)(*arrays), arrays), wanted, rtol=1e-12, atol=1e-12
    )
