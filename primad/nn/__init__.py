"""What neural networks are made of: composites over the primitives."""

from primad.nn import activations, convolution, pooling
from primad.nn.activations import gelu, relu, sigmoid, silu, softmax, softplus
from primad.nn.convolution import conv, conv_transpose
from primad.nn.pooling import adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool

COMPOSITES = (*activations.COMPOSITES, *convolution.COMPOSITES, *pooling.COMPOSITES)

__all__ = [
    "COMPOSITES",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "conv",
    "conv_transpose",
    "gelu",
    "max_pool",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]
