"""Layers' functions: plain and traced arrays agree, edges, and values of other systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import nn

RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 5))
LABELS = np.array([1, 4, -100, 0])
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0, 1.5])


def both(function: Any, *args: Any) -> Any:
    """Run a function plainly and under jit, which must agree, and return the result."""
    plain = function(*args)
    close = 64 * np.finfo(plain.dtype).eps if plain.dtype.kind == "f" else 0
    np.testing.assert_allclose(primad.jit(function)(*args), plain, rtol=close, atol=close)
    return plain


# -- random draws ------------------------------------------------------------------------------------------------------


def test_equal_keys_draw_equal_bits_and_other_keys_do_not() -> None:
    first = both(lambda key: nn.uniform(key, (1000,)), np.int64(3))
    assert np.array_equal(first, nn.uniform(3, (1000,)))
    assert not np.array_equal(first, nn.uniform(4, (1000,)))
    assert first.min() >= 0.0 and first.max() < 1.0
    assert abs(first.mean() - 0.5) < 0.05


def test_the_bits_never_change() -> None:
    np.testing.assert_array_equal(nn.uniform(0, (2,)), [0.011546754286331562, 0.24154919656271812])
    np.testing.assert_array_equal(nn.split(-1), [2166953674393202173, 6616023899027637099])
    np.testing.assert_array_equal(nn.uniform(9, (5,)), np.random.Generator(np.random.Philox(key=9)).random(5))


def test_draws_of_each_dtype() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        found = nn.uniform(1, (4001,), dtype)
        assert found.dtype == dtype and found.max() < 1 and len(np.unique(found)) > 1500
    assert nn.uniform(1, ()).shape == ()


def test_a_batch_of_keys_is_a_loop_over_keys() -> None:
    keys = nn.split(11, 3)
    expected = np.stack([nn.uniform(int(key), (2, 2)) for key in keys])
    np.testing.assert_array_equal(nn.uniform(keys, (2, 2)), expected)
    np.testing.assert_array_equal(primad.vmap(lambda key: nn.uniform(key, (2, 2)))(keys), expected)


def test_two_draws_are_two_nodes_unless_their_keys_are_equal() -> None:
    def count(second: int) -> int:
        program = primad.trace(lambda key: nn.uniform(key, (2,)) + nn.uniform(key + second, (2,)))(np.int64(0))
        return sum(node.op.name == "draw" for node in program.nodes)

    assert count(1) == 2
    assert len(primad.trace(lambda key: nn.uniform(key, (2,)) * nn.uniform(key, (2,)))(np.int64(0)).nodes) == 3


def test_keys_are_integers() -> None:
    with pytest.raises(primad.ShapeError, match="key must be integers"):
        nn.uniform(0.5, (2,))
    with pytest.raises(primad.ShapeError, match="one integer"):
        nn.dropout(X, np.arange(4))
    with pytest.raises(primad.NotDifferentiableError):
        primad.grad(lambda key: np.sum(nn.uniform(key, (2,))))(3)


def test_dropout_keeps_the_mean_and_its_derivative_is_its_mask() -> None:
    ones = np.ones((100, 100))
    kept = both(lambda x, key: nn.dropout(x, key, 0.25), ones, np.int64(5))
    assert set(np.unique(kept)) == {0.0, 1 / 0.75}
    assert abs(kept.mean() - 1) < 0.02
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(nn.dropout(x, 5, 0.25)))(ones), kept)
    np.testing.assert_array_equal(nn.dropout(X, 0, 0.0), X)
    np.testing.assert_array_equal(both(lambda x: nn.dropout(x, 0, 1.0), X), np.zeros_like(X))
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(nn.dropout(x, 0, 1.0)))(X), np.zeros_like(X))
    with pytest.raises(primad.ShapeError, match="probability"):
        nn.dropout(X, 0, 1.5)


# -- embedding ---------------------------------------------------------------------------------------------------------


def test_embedding() -> None:
    indices = np.array([[0, 2], [3, 0]])
    np.testing.assert_array_equal(both(nn.embedding, indices, X), X[indices])
    padded = both(lambda i, t: nn.embedding(i, t, padding_index=0), indices, X)
    np.testing.assert_array_equal(padded[indices == 0], 0)
    gradient = primad.grad(lambda t: np.sum(nn.embedding(indices, t, padding_index=-4) ** 2))(X)
    np.testing.assert_allclose(gradient, np.where(np.arange(4)[:, None] >= 2, 2 * X, 0))
    with pytest.raises(primad.ShapeError, match="must be integers"):
        nn.embedding(np.array([0.5]), X)


def test_one_hot_outside_the_range_is_zero() -> None:
    np.testing.assert_array_equal(
        both(lambda i: nn.one_hot(i, 2, np.float32), np.array([0, 1, 2, -1])), [[1, 0], [0, 1], [0, 0], [0, 0]]
    )
    assert nn.one_hot(1, 3).tolist() == [0, 1, 0]


# -- normalisation -----------------------------------------------------------------------------------------------------


def test_batch_norm_with_its_own_statistics_has_no_derivative_along_shifts() -> None:
    def f(x: Any, scale: Any) -> Any:
        return nn.batch_norm(x, *nn.batch_statistics(x), scale)

    out = both(f, X, WEIGHT)
    np.testing.assert_allclose(out.mean(0), 0, atol=1e-15)
    np.testing.assert_allclose(out.std(0), WEIGHT, rtol=1e-4)
    primad.check_grads(f, (X, WEIGHT), order=2)
    gradient = primad.grad(lambda x: np.sum(np.sin(f(x, WEIGHT))))(X)
    np.testing.assert_allclose(gradient.sum(0), 0, atol=1e-14)


def test_normalisation_of_images_and_single_precision() -> None:
    x = RNG.normal(size=(2, 3, 4, 4)).astype(np.float32)
    mean, variance = nn.batch_statistics(x)
    out = both(lambda x: nn.batch_norm(x, mean, variance), x)
    assert out.dtype == np.float32 and mean.shape == (3,)
    np.testing.assert_allclose(out.mean((0, 2, 3)), 0, atol=1e-6)
    last = both(lambda x: nn.layer_norm(x, (-2, -1), np.ones((4, 4), np.float32)), x)
    np.testing.assert_allclose(last.mean((2, 3)), 0, atol=1e-6)
    assert last.dtype == np.float32
    with pytest.raises(primad.ShapeError, match="3 channels"):
        nn.batch_norm(x, mean, variance, np.ones(4))
    with pytest.raises(primad.ShapeError, match="scale of shape"):
        nn.layer_norm(x, -1, np.ones(3))


# -- losses ------------------------------------------------------------------------------------------------------------


def test_cross_entropy_of_large_logits_and_ignored_labels() -> None:
    big = X * 1000
    assert np.isfinite(both(lambda x: nn.cross_entropy(x, LABELS), big))
    gradient = primad.grad(lambda x: nn.cross_entropy(x, LABELS))(X)
    np.testing.assert_array_equal(gradient[2], 0)
    expected = (nn.softmax(X, -1) - nn.one_hot(LABELS, 5)) / 3
    np.testing.assert_allclose(gradient[[0, 1, 3]], expected[[0, 1, 3]], rtol=1e-13)


def test_forms_of_cross_entropy_agree() -> None:
    labels = np.array([1, 4, 2, 0])
    hard = both(lambda x: nn.cross_entropy(x, labels, reduction="none"), X)
    np.testing.assert_allclose(nn.cross_entropy(X, nn.one_hot(labels, 5), soft_label=True, reduction="none"), hard)
    np.testing.assert_allclose(nn.cross_entropy(X, labels[:, None]), hard.mean())
    np.testing.assert_allclose(nn.cross_entropy(X.T, labels, axis=0), hard.mean())
    np.testing.assert_allclose(nn.nll_loss(primad.numpy.special.log_softmax(X, -1), labels), hard.mean())
    smooth = 0.9 * nn.one_hot(labels, 5) + 0.02
    np.testing.assert_allclose(
        nn.cross_entropy(X, labels, label_smoothing=0.1), nn.cross_entropy(X, smooth, soft_label=True)
    )
    np.testing.assert_allclose(
        nn.cross_entropy(X, labels, weight=WEIGHT), np.sum(hard * WEIGHT[labels]) / WEIGHT[labels].sum()
    )


def test_binary_cross_entropy_with_logits_is_accurate_in_both_tails() -> None:
    x = np.array([-40.0, 40.0, -40.0, 40.0])
    y = np.array([0.0, 1.0, 1.0, 0.0])
    found = both(lambda x: nn.binary_cross_entropy_with_logits(x, y, reduction="none"), x)
    np.testing.assert_allclose(found, [np.exp(-40), np.exp(-40), 40, 40], rtol=1e-14)
    p = nn.sigmoid(X)
    np.testing.assert_allclose(nn.binary_cross_entropy(p, p), nn.binary_cross_entropy_with_logits(X, p))
    assert nn.binary_cross_entropy(np.zeros(1), np.ones(1)) == np.inf
    assert nn.binary_cross_entropy(np.zeros(1), np.ones(1), least_log=-100.0) == 100


def test_a_loss_does_not_broadcast() -> None:
    with pytest.raises(primad.ShapeError, match="differ"):
        nn.mse_loss(np.ones((3, 1)), np.ones(3))
    with pytest.raises(primad.ShapeError, match="reduction"):
        nn.mse_loss(np.ones(3), np.ones(3), "average")


# -- activations -------------------------------------------------------------------------------------------------------

KINKS: list[tuple[str, Any, float, float]] = [
    ("relu", nn.relu, 0.0, 0.0),
    ("relu6 below", nn.relu6, 0.0, 0.0),
    ("relu6 above", nn.relu6, 6.0, 0.0),
    ("leaky_relu", nn.leaky_relu, 0.0, 0.01),
    ("elu", lambda x: nn.elu(x, 0.5), 0.0, 0.5),
    ("celu", lambda x: nn.celu(x, 0.5), 0.0, 1.0),
    ("selu", nn.selu, 0.0, nn.activations.SELU_SCALE * nn.activations.SELU_ALPHA),
    ("hardtanh below", nn.hardtanh, -1.0, 0.0),
    ("hardtanh above", nn.hardtanh, 1.0, 0.0),
    ("hard_sigmoid below", lambda x: nn.hard_sigmoid(x, 0.25), -2.0, 0.0),
    ("hard_sigmoid above", lambda x: nn.hard_sigmoid(x, 0.25), 2.0, 0.0),
    ("hard_swish below", nn.hard_swish, -3.5, 0.0),
    ("hard_swish above", nn.hard_swish, 3.5, 1.0),
    ("hardshrink", nn.hardshrink, 0.5, 0.0),
    ("softshrink", nn.softshrink, -0.5, 0.0),
    ("thresholded_relu", nn.thresholded_relu, 1.0, 0.0),
    ("softsign", nn.softsign, 0.0, 1.0),
    ("mish", nn.mish, 0.0, 0.6),
    ("prelu", lambda x: nn.prelu(x, 0.25), 0.0, 0.25),
]


@pytest.mark.parametrize(("function", "at", "expected"), [row[1:] for row in KINKS], ids=[row[0] for row in KINKS])
def test_derivatives_at_kinks(function: Any, at: float, expected: float) -> None:
    np.testing.assert_allclose(primad.grad(function)(at), expected, rtol=1e-12)
    np.testing.assert_allclose(primad.jvp(function, (at,), (1.0,))[1], expected, rtol=1e-12)


# PyTorch 2.13.0, float64; Paddle 3.3.1 has the same, to the digits of its float32 slopes and factors.
AT = np.array([-2.0, -0.3, 0.4, 4.0])
GOLDEN: dict[str, tuple[Any, list[float]]] = {
    "leaky_relu": (lambda x: nn.leaky_relu(x, 0.1), [-0.2, -0.03, 0.4, 4.0]),
    "elu": (lambda x: nn.elu(x, 0.5), [-0.43233235838169365, -0.12959088965914106, 0.4, 4.0]),
    "celu": (lambda x: nn.celu(x, 0.5), [-0.4908421805556329, -0.22559418195298678, 0.4, 4.0]),
    "selu": (nn.selu, [-1.5201664685956948, -0.45566731537912203, 0.4202803949421922, 4.202803949421922]),
    "gelu": (nn.gelu, [-0.04550026389635842, -0.1146265733433142, 0.2621686966441297, 3.9998733150326675]),
    "gelu tanh": (
        lambda x: nn.gelu(x, approximate=True),
        [-0.04540230591222494, -0.11462907645724074, 0.2621611694273562, 3.9999297540518075],
    ),
    "relu6": (nn.relu6, [0.0, 0.0, 0.4, 4.0]),
    "hardtanh": (nn.hardtanh, [-1.0, -0.3, 0.4, 1.0]),
    "hard_sigmoid": (nn.hard_sigmoid, [0.16666666666666666, 0.45, 0.5666666666666667, 1.0]),
    "hard_swish": (nn.hard_swish, [-0.3333333333333333, -0.135, 0.22666666666666668, 4.0]),
    "hardshrink": (nn.hardshrink, [-2.0, 0.0, 0.0, 4.0]),
    "softshrink": (nn.softshrink, [-1.5, -0.0, 0.0, 3.5]),
    "softsign": (nn.softsign, [-0.6666666666666666, -0.23076923076923075, 0.28571428571428575, 0.8]),
    "tanhshrink": (nn.tanhshrink, [-1.035972419924183, -0.008687387548409087, 0.020051037744775124, 3.000670700260933]),
    "mish": (nn.mish, [-0.2525014826957089, -0.15113317713833455, 0.2890305340723631, 3.9974128069762385]),
    "log_sigmoid": (
        nn.log_sigmoid,
        [-2.1269280110429727, -0.8543552444685272, -0.5130152523999526, -0.018149927917809738],
    ),
    "silu": (nn.silu, [-0.2384058440442351, -0.1276672449565023, 0.2394750640449808, 3.928055160151634]),
    "thresholded_relu": (lambda x: nn.thresholded_relu(x, 0.3), [0.0, 0.0, 0.4, 4.0]),
    "softplus": (nn.softplus, [0.1269280110429725, 0.5543552444685271, 0.9130152523999526, 4.0181499279178094]),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_activations_agree_with_other_systems(name: str) -> None:
    function, expected = GOLDEN[name]
    np.testing.assert_allclose(both(function, AT), expected, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize(
    "name", ["gelu", "elu", "celu", "selu", "mish", "silu", "softsign", "tanhshrink", "log_sigmoid", "hard_swish"]
)
def test_activations_far_out_are_finite_with_all_derivatives(name: str) -> None:
    function = getattr(nn, name)
    for x in (-800.0, -40.0, 40.0, 800.0):
        values = [function(x), primad.grad(function)(x), primad.derivative(function, 3)(x)]
        assert np.all(np.isfinite(values)), (x, values)


def test_gates_and_draws() -> None:
    np.testing.assert_allclose(both(lambda x: nn.glu(x, 0), X), X[:2] / (1 + np.exp(-X[2:])))
    np.testing.assert_allclose(both(nn.swiglu, X[:, :4]), nn.silu(X[:, :2]) * X[:, 2:4])
    np.testing.assert_array_equal(both(lambda x: nn.maxout(x, 2, 0), X), np.maximum(X[[0, 2]], X[[1, 3]]))
    with pytest.raises(primad.ShapeError, match="groups"):
        nn.maxout(X, 2, 1)
    with pytest.raises(primad.ShapeError, match="5 channels"):
        nn.prelu(X, np.ones(4))
    np.testing.assert_allclose(nn.prelu(X, np.full(5, 0.25)), nn.leaky_relu(X, 0.25))
    drawn = both(lambda x: nn.rrelu(x, 3), X)
    slopes = (drawn / X)[X < 0]
    assert slopes.min() >= 0.125 and slopes.max() <= 1 / 3 and len(np.unique(slopes)) == slopes.size
    hard = both(lambda x: nn.gumbel_softmax(x, 5, 0.5, hard=True), X)
    assert set(np.unique(hard)) == {0.0, 1.0} and np.array_equal(hard.sum(1), np.ones(4))
    soft = primad.grad(lambda x: np.sum(nn.gumbel_softmax(x, 5, 0.5) * X))(X)
    np.testing.assert_allclose(primad.grad(lambda x: np.sum(nn.gumbel_softmax(x, 5, 0.5, hard=True) * X))(X), soft)
