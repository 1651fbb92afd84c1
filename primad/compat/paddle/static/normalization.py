"""Batch normalisation in programs: an operator that keeps running statistics in persistable variables."""

from __future__ import annotations

from typing import Any

from primad import nn
from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.static.variable import Variable


def _batch_norm(
    x: Any,
    scale: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    *,
    momentum: float,
    epsilon: float,
    is_test: bool,
    use_global_stats: bool,
    data_layout: str,
) -> Any:
    axis = 1 if data_layout.startswith("NC") else -1
    if is_test or use_global_stats:
        return nn.batch_norm(x, mean, variance, scale, bias, epsilon, axis), mean, variance
    batch_mean, batch_variance = nn.batch_statistics(x, axis)
    result = nn.batch_norm(x, batch_mean, batch_variance, scale, bias, epsilon, axis)
    kept = [momentum * old + (1.0 - momentum) * new for old, new in ((mean, batch_mean), (variance, batch_variance))]
    return result, kept[0], kept[1]


batch_norm_ = Prototype(
    "batch_norm",
    _batch_norm,
    ("X", "Scale", "Bias", "Mean", "Variance"),
    ("Y", "MeanOut", "VarianceOut"),
    {"momentum": 0.9, "epsilon": 1e-5, "is_test": False, "use_global_stats": False, "data_layout": "NCHW"},
)


def append_batch_norm(
    x: Variable,
    mean: Variable,
    variance: Variable,
    scale: Variable | None,
    shift: Variable | None,
    momentum: float,
    epsilon: float,
    data_layout: str,
    is_test: bool,
    use_global_stats: bool,
) -> Variable:
    """Append the normalisation of each channel; the running statistics are overwritten, unless they are used.

    Args:
        x: what to normalise.
        mean: running means, persistable.
        variance: running variances, persistable.
        scale: factors, or None.
        shift: shifts, or None.
        momentum: how much of the running statistics is kept in a run.
        epsilon: added to the variance.
        data_layout: 'NC…' if the channel axis is the second, else it is the last.
        is_test: whether to use the running statistics; `clone(for_test=True)` sets it.
        use_global_stats: whether to use the running statistics in training, too.
    """
    attributes = {
        "momentum": float(momentum),
        "epsilon": float(epsilon),
        "is_test": is_test,
        "use_global_stats": bool(use_global_stats),
        "data_layout": data_layout,
    }
    result: Variable = x.block.create_output("batch_norm", x.shape, x.dtype)
    slots = [x, scale, shift, mean, variance]
    x.block.append_operator(batch_norm_, slots, [result, mean, variance], attributes)
    return result
