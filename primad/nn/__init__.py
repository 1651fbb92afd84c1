"""Activations of neural networks: composites over `primad.numpy`."""

from primad.nn.activations import COMPOSITES, gelu, relu, sigmoid, silu, softmax, softplus

__all__ = ["COMPOSITES", "gelu", "relu", "sigmoid", "silu", "softmax", "softplus"]
