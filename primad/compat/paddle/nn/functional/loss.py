"""Losses (`paddle.nn.functional`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import nn
from primad.compat.paddle.eager.operators import Prototype, apply, prototype
from primad.compat.paddle.functions.manipulation import unsqueeze
from primad.compat.paddle.functions.math import elementwise_sub_, log, mean, square_, sum
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.compat.paddle.settings.naming import Layer

_REDUCTIONS = ("none", "mean", "sum")


def _check_reduction(name: str, reduction: str, allowed: tuple[str, ...] = _REDUCTIONS) -> None:
    if reduction not in allowed:
        raise InvalidArgumentError(
            f"The value of 'reduction' in {name} should be one of {', '.join(map(repr, allowed))}, but received "
            f"{reduction!r}, which is not allowed."
        )


def square_error_cost(input: Any, label: Any) -> Any:
    """Return (input − label)², elementwise."""
    layer = Layer("square_error_cost")
    return apply(square_, apply(elementwise_sub_, input, label, layer=layer), layer=layer)


def _reduced(loss: Any, reduction: str, name: str | None) -> Any:
    return loss if reduction == "none" else mean(loss, name=name) if reduction == "mean" else sum(loss, name=name)


def mse_loss(input: Any, label: Any, reduction: str = "mean", name: Any = None) -> Any:
    """Return the mean (or sum) of (input − label)²."""
    _check_reduction("mse_loss", reduction)
    return _reduced(square_error_cost(input, label), reduction, name)


def _paired(type: str, compute: Callable[..., Any], **attributes: Any) -> Prototype:
    return Prototype(type, compute, ("X", "Y"), ("Out",), {"reduction": "mean", **attributes})


l1_loss_ = _paired("l1_loss", nn.l1_loss)
smooth_l1_loss_ = _paired(
    "smooth_l1_loss",
    lambda x, y, *, reduction, delta, is_huber: (nn.huber_loss if is_huber else nn.smooth_l1_loss)(
        x, y, delta, reduction
    ),
    delta=1.0,
    is_huber=True,
)
kl_div_ = _paired("kldiv_loss", nn.kl_div, log_target=False)


def l1_loss(input: Any, label: Any, reduction: str = "mean", name: Any = None) -> Any:
    """Return the mean (or sum) of |input − label|."""
    _check_reduction("L1Loss", reduction)
    return apply(l1_loss_, input, label, reduction=reduction, name=name)


def smooth_l1_loss(
    input: Any, label: Any, reduction: str = "mean", delta: float = 1.0, is_huber: bool = True, name: Any = None
) -> Any:
    """Return the mean (or sum) of d²/2 up to |d| = delta and its tangent beyond; divided by delta if not is_huber."""
    _check_reduction("smooth_l1_loss", reduction)
    return apply(smooth_l1_loss_, input, label, reduction=reduction, delta=float(delta), is_huber=is_huber, name=name)


def kl_div(input: Any, label: Any, reduction: str = "mean", log_target: bool = False, name: Any = None) -> Any:
    """Return label·(log label − input): the divergence of probabilities from those of which input is the logarithm."""
    _check_reduction("kl_div", reduction, ("mean", "sum", "batchmean", "none"))
    return apply(kl_div_, input, label, reduction=reduction, log_target=log_target, name=name)


@prototype("cross_entropy", inputs="Logits Label Weight", outputs="Loss", axis=-1, soft_label=False,
           ignore_index=-100, label_smoothing=0.0, reduction="mean")  # fmt: skip
def cross_entropy_(
    logits: Any,
    label: Any,
    weight: Any,
    *,
    axis: int,
    soft_label: bool,
    ignore_index: int,
    label_smoothing: float,
    reduction: str,
) -> Any:
    options: dict[str, Any] = {"axis": axis, "ignore_index": ignore_index, "weight": weight, "reduction": reduction}
    return nn.cross_entropy(logits, label, soft_label=soft_label, label_smoothing=label_smoothing, **options)


def cross_entropy(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: Any = None,
) -> Any:
    """Return the cross entropy of labels with the softmax of logits.

    Args:
        input: logits, or probabilities with use_softmax=False.
        label: integers of the shape of the input without its class axis, or with length 1 there; or, with soft_label,
            probabilities.
        weight: a weight for each class; a mean divides by the sum of the samples' weights.
        ignore_index: samples with this label count nothing.
        reduction: 'mean', 'sum' or 'none'.
        soft_label: whether labels are probabilities.
        axis: the class axis.
        use_softmax: whether the input is logits.
        label_smoothing: share of each label that is spread over all classes.
        name: of the result, in a program.

    Raises:
        InvalidArgumentError: if the reduction is not known or shapes do not fit.
    """
    _check_reduction("softmax_cross_entropy", reduction)
    count = len(input.shape)
    if len(label.shape) not in (count, count - 1):
        raise InvalidArgumentError(
            f"Expected input_dims - 1 == label_dims or input_dims == label_dims, got (input_dims {count}, label_dims "
            f"{len(label.shape)})"
        )
    kept = reduction == "none" and not soft_label and len(label.shape) == count
    # The softmax of log p is p.
    logits = input if use_softmax else log(input)
    options: dict[str, Any] = {
        "axis": axis,
        "soft_label": soft_label,
        "ignore_index": ignore_index,
        "reduction": reduction,
    }
    loss = apply(cross_entropy_, logits, label, weight, label_smoothing=label_smoothing, name=name, **options)
    return unsqueeze(loss, axis, name=name) if kept or (soft_label and reduction == "none") else loss


def softmax_with_cross_entropy(
    logits: Any, label: Any, soft_label: bool = False, ignore_index: int = -100, axis: int = -1, **ignored: Any
) -> Any:
    """Return the cross entropy of each sample, with the class axis kept at length 1."""
    return cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)


@prototype("nll_loss", inputs="X Label Weight", ignore_index=-100, reduction="mean")
def nll_loss_(x: Any, label: Any, weight: Any, *, ignore_index: int, reduction: str) -> Any:
    return nn.nll_loss(x, label, 1, ignore_index, weight, reduction)


def nll_loss(
    input: Any, label: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: Any = None
) -> Any:
    """Return the negative log likelihood of labels; the class axis is the second."""
    _check_reduction("nll_loss", reduction)
    return apply(nll_loss_, input, label, weight, ignore_index=ignore_index, reduction=reduction, name=name)


@prototype("bce_loss", inputs="X Label Weight", reduction="mean")
def binary_cross_entropy_(x: Any, label: Any, weight: Any, *, reduction: str) -> Any:
    return nn.binary_cross_entropy(x, label, weight, reduction, least_log=-100.0)


def binary_cross_entropy(input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: Any = None) -> Any:
    """Return −label·log(input) − (1 − label)·log(1 − input), with logarithms not below −100."""
    _check_reduction("binary_cross_entropy", reduction)
    return apply(binary_cross_entropy_, input, label, weight, reduction=reduction, name=name)


@prototype("sigmoid_cross_entropy_with_logits", inputs="X Label Weight PosWeight", reduction="mean")
def with_logits_(x: Any, label: Any, weight: Any, positive: Any, *, reduction: str) -> Any:
    return nn.binary_cross_entropy_with_logits(x, label, weight, positive, reduction)


def binary_cross_entropy_with_logits(
    logit: Any, label: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, name: Any = None
) -> Any:
    """Return the binary cross entropy of sigmoid(logit), accurate for logits of any size."""
    _check_reduction("binary_cross_entropy_with_logits", reduction)
    return apply(with_logits_, logit, label, weight, pos_weight, reduction=reduction, name=name)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div", "l1_loss", "mse_loss",
    "nll_loss", "smooth_l1_loss", "softmax_with_cross_entropy", "square_error_cost",
]  # fmt: skip
