"""The methods of symbols and arrays that are operators of the same name."""

from __future__ import annotations

FLUENT = {
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel", "argmin",
    "argsort", "broadcast_axes", "broadcast_like", "broadcast_to", "cbrt", "ceil", "clip", "cos", "cosh", "degrees",
    "depth_to_space", "diag", "exp", "expand_dims", "expm1", "fix", "flip", "floor", "log", "log10", "log1p",
    "log2", "log_softmax", "max", "mean", "min", "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick",
    "prod", "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape_like", "rint", "round", "rsqrt",
    "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like", "softmax",
    "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "squeeze", "sum", "swapaxes", "take", "tan",
    "tanh", "tile", "topk", "transpose", "trunc", "zeros_like", "flatten",
}  # fmt: skip
