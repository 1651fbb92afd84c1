"""Families of problems by physics-informed DeepONets, at published sizes: primad, JAX by hand, and DeepXDE."""
