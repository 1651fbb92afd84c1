"""Eager tensors: values, hooks, gradients and printing."""
