"""Convolution and pooling (`paddle.nn.functional`), channels first or last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from primad import nn
from primad.compat.paddle.eager.operators import Prototype, apply, prototype
from primad.compat.paddle.settings.errors import InvalidArgumentError

Sizes = Any


def _channels_first(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of an array with channels first take its first operand with channels last, too."""

    def with_format(x: Any, *others: Any, data_format: str, **options: Any) -> Any:
        if data_format.startswith("NC"):
            return compute(x, *others, **options)
        return np.moveaxis(compute(np.moveaxis(x, -1, 1), *others, **options), 1, -1)

    return with_format


def _biased(result: Any, bias: Any) -> Any:
    return result if bias is None else result + bias.reshape((-1, *[1] * (result.ndim - 2)))


@prototype("conv", inputs="Input Filter Bias", outputs="Output", strides=1, paddings=0, dilations=1, groups=1,
           data_format="NCHW")  # fmt: skip
@_channels_first
def conv_(x: Any, weight: Any, bias: Any, *, strides: Any, paddings: Any, dilations: Any, groups: int) -> Any:
    return _biased(nn.conv(x, weight, strides, paddings, dilations, groups), bias)


@prototype("conv_transpose", inputs="Input Filter Bias", outputs="Output", strides=1, paddings=0, output_padding=0,
           dilations=1, groups=1, data_format="NCHW")  # fmt: skip
@_channels_first
def conv_transpose_(
    x: Any, weight: Any, bias: Any, *, strides: Any, paddings: Any, output_padding: Any, dilations: Any, groups: int
) -> Any:
    return _biased(nn.conv_transpose(x, weight, strides, paddings, output_padding, dilations, groups), bias)


def _frozen(value: Any) -> Any:
    return tuple([_frozen(item) for item in value]) if isinstance(value, (list, tuple)) else value


def _paddings(padding: Any, x: Any, kernel: Any, stride: Any, dilation: Any, data_format: str) -> Any:
    """Return Paddle's forms of padding as one of primad's: a number, one for each axis, or a pair for each."""
    rank = len(x.shape) - 2
    first = data_format.startswith("NC")
    if isinstance(padding, str):
        named = padding.upper()
        if named == "VALID":
            return 0
        if named != "SAME":
            raise InvalidArgumentError(f"padding {padding!r} is not known", fix="use 'same', 'valid' or numbers.")
        spatial = x.shape[2:] if first else x.shape[1:-1]
        pairs = []
        for n, k, s, d in zip(spatial, *(_each(value, rank) for value in (kernel, stride, dilation)), strict=True):
            total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            pairs.append((total // 2, total - total // 2))
        return tuple(pairs)
    padding = _frozen(padding)
    if isinstance(padding, int) or (len(padding) == rank and isinstance(padding[0], int)):
        return padding
    if len(padding) == 2 * rank and isinstance(padding[0], int):
        return tuple([(padding[2 * i], padding[2 * i + 1]) for i in range(rank)])
    if len(padding) == rank + 2:
        return padding[2:] if first else padding[1:-1]
    if len(padding) == 1:
        return padding[0]
    raise InvalidArgumentError(f"padding {padding!r} does not fit {rank} spatial axes")


def _each(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value) * (rank if len(value) == 1 else 1)


def _check_rank(name: str, x: Any, rank: int) -> None:
    if len(x.shape) != rank + 2:
        raise InvalidArgumentError(f"{name} takes a tensor with {rank + 2} axes, got shape {list(x.shape)}")


def _windows(
    name: str, rank: int, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, data_format: str
) -> dict[str, Any]:
    """Return the attributes that say where windows lie; without a stride, one beside the other."""
    _check_rank(name, x, rank)
    pairs = _paddings(padding, x, kernel, kernel if stride is None else stride, dilation, data_format)
    return {"strides": _frozen(stride), "paddings": pairs, "data_format": data_format}


def _convolution(rank: int) -> Callable[..., Any]:
    name = f"conv{rank}d"
    record = replace(conv_, type=name)

    def convolve(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Sizes = 1,
        padding: Any = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        data_format: str = "NCHW",
        name: Any = None,
    ) -> Any:
        options = _windows(convolve.__name__, rank, x, weight.shape[2:], stride, padding, dilation, data_format)
        return apply(record, x, weight, bias, groups=groups, dilations=_frozen(dilation), **options, name=name)

    convolve.__name__ = convolve.__qualname__ = name
    convolve.__doc__ = (
        f"Convolve over {rank} spatial axes.\n\n"
        "Args:\n    x: shape (batch, channels, *spatial), or channels last.\n"
        "    weight: shape (outputs, channels / groups, *kernel).\n    bias: one number per output, or None.\n"
        "    stride: distance of windows.\n    padding: numbers, pairs, 'same' or 'valid'.\n"
        "    dilation: distance of elements in a window.\n    groups: number of parts of the channels.\n"
        "    data_format: 'NC…' for channels first.\n    name: ignored."
    )
    return convolve


conv1d, conv2d, conv3d = (_convolution(rank) for rank in (1, 2, 3))


def _transposed(rank: int) -> Callable[..., Any]:
    name = f"conv{rank}d_transpose"
    record = replace(conv_transpose_, type=name)

    def convolve(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Sizes = 1,
        padding: Any = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
        output_size: Any = None,
        data_format: str = "NCHW",
        name: Any = None,
    ) -> Any:
        options = _windows(convolve.__name__, rank, x, weight.shape[2:], stride, padding, dilation, data_format)
        if output_size is not None:
            raise InvalidArgumentError(f"{convolve.__name__}: output_size is not supported", fix="use output_padding.")
        options |= {"output_padding": _frozen(output_padding), "dilations": _frozen(dilation), "groups": groups}
        return apply(record, x, weight, bias, **options, name=name)

    convolve.__name__ = convolve.__qualname__ = name
    convolve.__doc__ = (
        f"The transpose of a convolution over {rank} spatial axes; the weight has shape (channels, outputs / groups, "
        "*kernel)."
    )
    return convolve


conv1d_transpose, conv2d_transpose, conv3d_transpose = (_transposed(rank) for rank in (1, 2, 3))


# -- pooling -----------------------------------------------------------------------------------------------------------


@prototype("max_pool", ksize=2, strides=None, paddings=0, ceil_mode=False, data_format="NCHW")
@_channels_first
def max_pool_(x: Any, *, ksize: Any, strides: Any, paddings: Any, ceil_mode: bool) -> Any:
    return nn.max_pool(x, ksize, strides, paddings, ceil_mode)


@prototype("avg_pool", ksize=2, strides=None, paddings=0, ceil_mode=False, exclusive=True, data_format="NCHW")
@_channels_first
def avg_pool_(x: Any, *, ksize: Any, strides: Any, paddings: Any, ceil_mode: bool, exclusive: bool) -> Any:
    return nn.avg_pool(x, ksize, strides, paddings, ceil_mode, count_include_pad=not exclusive)


@prototype("adaptive_max_pool", output_size=1, data_format="NCHW")
@_channels_first
def adaptive_max_pool_(x: Any, *, output_size: Any) -> Any:
    return nn.adaptive_max_pool(x, output_size)


@prototype("adaptive_avg_pool", output_size=1, data_format="NCHW")
@_channels_first
def adaptive_avg_pool_(x: Any, *, output_size: Any) -> Any:
    return nn.adaptive_avg_pool(x, output_size)


def _max_pooling(rank: int) -> Callable[..., Any]:
    record = replace(max_pool_, type=f"pool{rank}d")

    def pool(
        x: Any,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: Any = None,
    ) -> Any:
        options = _windows(pool.__name__, rank, x, kernel_size, stride, padding, 1, data_format)
        if return_mask:
            raise InvalidArgumentError(f"{pool.__name__}: return_mask=True is not supported")
        return apply(record, x, ksize=_frozen(kernel_size), ceil_mode=ceil_mode, **options, name=name)

    pool.__name__ = pool.__qualname__ = f"max_pool{rank}d"
    pool.__doc__ = (
        f"The largest element of each window over {rank} spatial axes; at a tie the first has the derivative."
    )
    return pool


def _avg_pooling(rank: int) -> Callable[..., Any]:
    record = replace(avg_pool_, type=f"pool{rank}d")

    def pool(
        x: Any,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: Any = None,
        data_format: str = "NCHW",
        name: Any = None,
    ) -> Any:
        options = _windows(pool.__name__, rank, x, kernel_size, stride, padding, 1, data_format)
        if divisor_override is not None:
            raise InvalidArgumentError(f"{pool.__name__}: divisor_override is not supported", fix="scale the result.")
        options |= {"ksize": _frozen(kernel_size), "ceil_mode": ceil_mode, "exclusive": exclusive}
        return apply(record, x, **options, name=name)

    pool.__name__ = pool.__qualname__ = f"avg_pool{rank}d"
    pool.__doc__ = f"The mean of each window over {rank} spatial axes; exclusive leaves the padding out of the count."
    return pool


def _adaptive_pooling(rank: int, kind: str, record: Prototype) -> Callable[..., Any]:
    def pool(x: Any, output_size: Any, data_format: str = "NCHW", name: Any = None) -> Any:
        _check_rank(pool.__name__, x, rank)
        return apply(
            record, x, layer=pool.__name__, output_size=_frozen(output_size), data_format=data_format, name=name
        )

    pool.__name__ = pool.__qualname__ = f"adaptive_{kind}_pool{rank}d"
    pool.__doc__ = f"Pool {rank} spatial axes to a given size; None keeps the length of an axis."
    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pooling(rank) for rank in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pooling(rank) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive_pooling(rank, "avg", adaptive_avg_pool_) for rank in (1, 2, 3)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    _adaptive_pooling(rank, "max", adaptive_max_pool_) for rank in (1, 2, 3)
)

_NAMES = "conv{}d conv{}d_transpose max_pool{}d avg_pool{}d adaptive_avg_pool{}d adaptive_max_pool{}d"
__all__ = [name.format(rank) for rank in (1, 2, 3) for name in _NAMES.split()]
