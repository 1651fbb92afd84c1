"""Losses: how far predictions are from targets. `reduction` is "mean", "sum" or "none" (one number an element)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import is_complex
from primad.nn.operands import floats, integers, same_shape
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.complex_numbers import squares
from primad.numpy.elementwise.ufuncs import absolute, log, maximum, where
from primad.numpy.reduce.reductions import mean
from primad.numpy.reduce.reductions import sum as total
from primad.numpy.shapes.indexing import take, take_along_axis
from primad.numpy.shapes.shaping import expand_dims, squeeze
from primad.numpy.special import log_softmax, logsumexp, softplus, xlogy
from primad.ops.record.kinds import composite
from primad.ops.record.operand_types import refuse_complex
from primad.ops.record.primitive import Primitive

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "kl_div",
    "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss", "squared_error",
]  # fmt: skip


def _squared_error(x: Any, y: Any) -> Any:
    return squares(x - y)


def _huber(x: Any, y: Any, *, delta: float) -> Any:
    d = x - y
    size = absolute(d)
    return where(size <= delta, 0.5 * squares(d), delta * size - 0.5 * delta * delta)


def _picked(x: Any, labels: Any, axis: int) -> Any:
    return squeeze(take_along_axis(x, expand_dims(labels, axis), axis), axis)


def _cross_entropy(logits: Any, labels: Any, *, axis: int, ignore_index: int) -> Any:
    counted = labels != ignore_index
    picked = _picked(logits, where(counted, labels, 0), axis)
    return where(counted, logsumexp(logits, axis=axis) - picked, 0.0)


def _binary_cross_entropy(x: Any, y: Any) -> Any:
    return -(xlogy(y, x) + xlogy(1.0 - y, 1.0 - x))


def _with_logits(x: Any, y: Any) -> Any:
    return y * softplus(-x) + (1.0 - y) * softplus(x)


squared_error_: Primitive = composite("squared_error", numpy=_squared_error, lower=_squared_error, doc="|x − y|².")
huber_: Primitive = composite(
    "huber", numpy=_huber, lower=_huber, doc="(x − y)²/2 up to |x − y| = δ, beyond that its tangent δ·|x − y| − δ²/2."
)
cross_entropy_: Primitive = composite(
    "cross_entropy",
    numpy=_cross_entropy,
    lower=_cross_entropy,
    doc="log Σ exp(x) − x[label] along an axis; 0 where the label is to be ignored.",
)
binary_cross_entropy_: Primitive = composite(
    "binary_cross_entropy",
    numpy=_binary_cross_entropy,
    lower=_binary_cross_entropy,
    doc="−y·log x − (1 − y)·log(1 − x).",
)
binary_cross_entropy_with_logits_: Primitive = composite(
    "binary_cross_entropy_with_logits",
    numpy=_with_logits,
    lower=_with_logits,
    doc="Binary cross entropy of logistic(x): y·softplus(−x) + (1 − y)·softplus(x), accurate for large |x|.",
)

COMPOSITES = (squared_error_, huber_, cross_entropy_, binary_cross_entropy_, binary_cross_entropy_with_logits_)


def _reduce(name: str, values: Any, reduction: str, weight: Any = None) -> Any:
    """Weight losses and reduce them; a weighted mean divides by the sum of the weights."""
    if weight is not None:
        values = values * weight
    if reduction == "none":
        return values
    if reduction == "sum":
        return total(values)
    if reduction == "mean":
        return mean(values) if weight is None else total(values) / total(weight)
    raise ShapeError(
        f"{name}: the reduction must be 'mean', 'sum' or 'none', got {reduction!r}", fix="write one of these."
    )


def _pair(name: str, x: Any, y: Any) -> list[Any]:
    x, y = floats(x, y)
    same_shape(name, x, y)
    return [x, y]


def squared_error(x: Any, y: Any) -> Any:
    """Return (x − y)², element by element; of complex numbers |x − y|².

    Raises:
        ShapeError: if the shapes differ.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        array([0., 4.])
    """
    return squared_error_(*_pair("squared_error", x, y))


def mse_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    """Return the mean (or sum) of (x − y)², of complex numbers of |x − y|².

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        np.float64(2.0)
    """
    return _reduce("mse_loss", squared_error(x, y), reduction)


def l1_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    """Return the mean (or sum) of |x − y|; its derivative where x = y is 0.

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.
    """
    x, y = _pair("l1_loss", x, y)
    return _reduce("l1_loss", absolute(x - y), reduction)


def huber_loss(x: Any, y: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """Return the mean (or sum) of Huber's function: d²/2 for |d| ≤ δ, else δ·|d| − δ²/2, with d = x − y (Huber 1964).

    Args:
        x: an array.
        y: an array of the same shape.
        delta: δ, where the parabola becomes its tangent.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.huber_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
        array([0.125, 2.5  ])
    """
    return _reduce("huber_loss", huber_(*_pair("huber_loss", x, y), delta=float(delta)), reduction)


def smooth_l1_loss(x: Any, y: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """Return Huber's function divided by δ, whose slope beyond δ is 1 (Girshick 2015); see `huber_loss`.

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.
    """
    return huber_loss(x, y, delta, reduction) / delta


def cross_entropy(
    logits: Any,
    labels: Any,
    axis: int = -1,
    soft_label: bool = False,
    ignore_index: int = -100,
    weight: Any = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Return the cross entropy of labels with the softmax of logits.

    Args:
        logits: an array with a class axis.
        labels: integers of the shape of the logits without that axis (a class axis of length 1 is allowed); or, with
            `soft_label`, probabilities of the shape of the logits.
        axis: the class axis.
        soft_label: whether labels are probabilities.
        ignore_index: samples with this label count nothing, in sums and in means.
        weight: a weight for each class; a mean divides by the sum of the samples' weights.
        label_smoothing: the share ε of each label that is spread evenly over all classes.
        reduction: "mean", "sum" or "none".

    Returns:
        a scalar, or one number per sample.

    Raises:
        ShapeError: if shapes or dtypes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.cross_entropy(np.zeros((3, 4)), np.array([0, 1, 3]))
        np.float64(1.3862943611198906)
    """
    (logits,) = floats(logits)
    axis = normalize_axis("cross_entropy", axis, logits.ndim)
    if soft_label:
        return _soft_cross_entropy(logits, labels, axis, weight, label_smoothing, reduction)
    labels = _labels("cross_entropy", logits, labels, axis)
    losses = cross_entropy_(logits, labels, axis=axis, ignore_index=ignore_index)
    counted = labels != ignore_index
    weights = _sample_weights(labels, counted, weight, logits)
    if not label_smoothing:
        return _reduce("cross_entropy", losses, reduction, weights)
    even = _class_mean(-log_softmax(logits, axis), weight, axis)
    smoothed = (1.0 - label_smoothing) * losses * weights + label_smoothing * where(counted, even, 0.0)
    if reduction == "mean":
        return total(smoothed) / total(weights)
    return _reduce("cross_entropy", smoothed, reduction)


def _labels(name: str, logits: Any, labels: Any, axis: int) -> Any:
    labels = integers(f"{name}: labels", labels)
    shape = logits.shape[:axis] + logits.shape[axis + 1 :]
    if labels.shape == (*logits.shape[:axis], 1, *logits.shape[axis + 1 :]):
        labels = squeeze(labels, axis)
    if labels.shape != shape:
        raise ShapeError(
            f"{name}: labels of shape {labels.shape} for logits of shape {logits.shape}, axis {axis}",
            fix=f"give one label for each row of logits, an array of shape {shape}.",
        )
    return labels


def _sample_weights(labels: Any, counted: Any, weight: Any, like: Any) -> Any:
    """Return the weight of each sample: that of its class, 0 where it is ignored."""
    if weight is None:
        return counted.astype(like.dtype)
    (weight,) = floats(weight)
    return where(counted, take(weight, where(counted, labels, 0), axis=0), 0.0).astype(like.dtype)


def _class_mean(values: Any, weight: Any, axis: int) -> Any:
    """Return the mean over classes, each multiplied by its weight."""
    if weight is not None:
        (weight,) = floats(weight)
        values = values * weight.reshape(tuple([-1 if i == axis else 1 for i in range(values.ndim)]))
    return mean(values, axis=axis)


def _soft_cross_entropy(logits: Any, labels: Any, axis: int, weight: Any, smoothing: float, reduction: str) -> Any:
    logits, labels = _pair("cross_entropy", logits, labels)
    if smoothing:
        labels = (1.0 - smoothing) * labels + smoothing / logits.shape[axis]
    losses = -total(labels * log_softmax(logits, axis), axis=axis)
    if weight is None:
        return _reduce("cross_entropy", losses, reduction)
    (weight,) = floats(weight)
    shape = tuple([-1 if i == axis else 1 for i in range(logits.ndim)])
    return _reduce("cross_entropy", losses, reduction, total(labels * weight.reshape(shape), axis=axis))


def nll_loss(
    log_probabilities: Any,
    labels: Any,
    axis: int = -1,
    ignore_index: int = -100,
    weight: Any = None,
    reduction: str = "mean",
) -> Any:
    """Return the negative log likelihood of labels: −log p[label], as `cross_entropy` after a log-softmax.

    Args:
        log_probabilities: an array with a class axis.
        labels: integers of its shape without that axis.
        axis: the class axis.
        ignore_index: samples with this label count nothing.
        weight: a weight for each class.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: if shapes or dtypes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.nll_loss(np.log(np.array([[0.25, 0.75]])), np.array([1]), reduction="sum")
        np.float64(0.2876820724517809)
    """
    (log_probabilities,) = floats(log_probabilities)
    axis = normalize_axis("nll_loss", axis, log_probabilities.ndim)
    labels = _labels("nll_loss", log_probabilities, labels, axis)
    counted = labels != ignore_index
    losses = where(counted, -_picked(log_probabilities, where(counted, labels, 0), axis), 0.0)
    return _reduce("nll_loss", losses, reduction, _sample_weights(labels, counted, weight, log_probabilities))


def binary_cross_entropy(
    x: Any, y: Any, weight: Any = None, reduction: str = "mean", least_log: float = -math.inf
) -> Any:
    """Return −y·log x − (1 − y)·log(1 − x): the cross entropy of probabilities x with labels y in [0, 1].

    Args:
        x: probabilities.
        y: labels, of the same shape.
        weight: a factor of each element's loss.
        reduction: "mean", "sum" or "none".
        least_log: logarithms below it are replaced by it. Frameworks take −100, which hides that a probability is 0;
            `binary_cross_entropy_with_logits` has no such edge.

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.
    """
    x, y = _pair("binary_cross_entropy", x, y)
    if is_complex(x.dtype):
        raise refuse_complex("binary_cross_entropy")
    if least_log == -math.inf:
        losses = binary_cross_entropy_(x, y)
    else:
        with np.errstate(divide="ignore"):
            losses = -(y * maximum(log(x), least_log) + (1.0 - y) * maximum(log(1.0 - x), least_log))
    return _reduce("binary_cross_entropy", losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(
    x: Any, y: Any, weight: Any = None, positive_weight: Any = None, reduction: str = "mean"
) -> Any:
    """Return the binary cross entropy of the probabilities logistic(x), accurate for logits of any size.

    Args:
        x: logits.
        y: labels in [0, 1], of the same shape.
        weight: a factor of each element's loss.
        positive_weight: a factor of the part of the loss that belongs to y.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.binary_cross_entropy_with_logits(np.array([0.0, 1000.0]), np.array([1.0, 1.0]), reduction="none")
        array([0.69314718, 0.        ])
    """
    x, y = _pair("binary_cross_entropy_with_logits", x, y)
    if positive_weight is None:
        losses = binary_cross_entropy_with_logits_(x, y)
    else:
        losses = positive_weight * y * softplus(-x) + (1.0 - y) * softplus(x)
    return _reduce("binary_cross_entropy_with_logits", losses if weight is None else losses * weight, reduction)


def kl_div(log_x: Any, y: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """Return y·(log y − log x): the divergence of probabilities x from probabilities y, element by element.

    Args:
        log_x: logarithms of probabilities.
        y: probabilities of the same shape, or their logarithms with `log_target`.
        reduction: "mean", "sum", "none", or "batchmean": the sum divided by the length of the first axis.
        log_target: whether y holds logarithms.

    Raises:
        ShapeError: if the shapes differ or the reduction is unknown.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.kl_div(np.log(np.array([0.5, 0.5])), np.array([1.0, 0.0]), reduction="sum")
        np.float64(0.6931471805599453)
    """
    log_x, y = _pair("kl_div", log_x, y)
    losses = np.exp(y) * (y - log_x) if log_target else xlogy(y, y) - y * log_x
    if reduction == "batchmean":
        return total(losses) / losses.shape[0]
    return _reduce("kl_div", losses, reduction)
