"""Neural networks: composites over `primad.numpy`, random draws with keys, losses, initialisers and update rules."""

from primad.nn import activations, convolution, initializers, lookup, losses, normalization, pooling, random
from primad.nn.activations import (
    celu,
    elu,
    gelu,
    glu,
    gumbel_softmax,
    hard_sigmoid,
    hard_swish,
    hardshrink,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    maxout,
    mish,
    prelu,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    softshrink,
    softsign,
    swiglu,
    tanhshrink,
    thresholded_relu,
)
from primad.nn.convolution import conv, conv_transpose
from primad.nn.lbfgs import LBFGS, LBFGSState
from primad.nn.lookup import embedding, one_hot
from primad.nn.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
    squared_error,
)
from primad.nn.normalization import batch_norm, batch_statistics, layer_norm
from primad.nn.optimizers import SGD, Adam, AdamState, AdamW, Momentum, MomentumState
from primad.nn.pooling import adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool
from primad.nn.random import dropout, split, uniform
from primad.nn.saving import load, save

COMPOSITES = (
    *activations.COMPOSITES,
    *convolution.COMPOSITES,
    *lookup.COMPOSITES,
    *losses.COMPOSITES,
    *normalization.COMPOSITES,
    *pooling.COMPOSITES,
    *random.COMPOSITES,
)
"""The composite ops of this layer, for `primad.verify`."""

__all__ = [
    "LBFGS",
    "SGD",
    "Adam",
    "AdamState",
    "AdamW",
    "LBFGSState",
    "Momentum",
    "MomentumState",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "batch_norm",
    "batch_statistics",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv",
    "conv_transpose",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hard_sigmoid",
    "hard_swish",
    "hardshrink",
    "hardtanh",
    "huber_loss",
    "initializers",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "load",
    "log_sigmoid",
    "log_softmax",
    "max_pool",
    "maxout",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "save",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "split",
    "squared_error",
    "swiglu",
    "tanhshrink",
    "thresholded_relu",
    "uniform",
]


def __dir__() -> list[str]:
    return sorted(__all__)
