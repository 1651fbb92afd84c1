"""MXNet's operators: one record each, in a table that symbols, arrays and recorded computations share."""

from primad.compat.mxnet.operators import elementwise, indexing, losses, neural, reductions, shaping, windows
from primad.compat.mxnet.operators.record import TABLE, Operator

__all__ = ["TABLE", "Operator", "elementwise", "indexing", "losses", "neural", "reductions", "shaping", "windows"]
