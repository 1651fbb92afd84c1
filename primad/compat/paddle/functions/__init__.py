"""Paddle's functions of tensors."""
