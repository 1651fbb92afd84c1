"""`fluid.backward`: the same functions as in `paddle.static`."""

from primad.compat.paddle.static.backward import append_backward, gradients

__all__ = ["append_backward", "gradients"]
