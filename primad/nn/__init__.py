"""Neural networks: composites over `primad.numpy`, random draws with keys, losses, initialisers and update rules."""

from primad.nn import activations, convolution, initializers, lookup, losses, normalization, pooling, random
from primad.nn.activations import gelu, relu, sigmoid, silu, softmax, softplus
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
    "COMPOSITES",
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
    "conv",
    "conv_transpose",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "huber_loss",
    "initializers",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "load",
    "max_pool",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "relu",
    "save",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "split",
    "squared_error",
    "uniform",
]
