"""Layers with parameters, and the plain ones: Linear, convolutions, Embedding, normalisation, Dropout, Flatten."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions.manipulation import flatten, lengths
from primad.compat.paddle.nn import functional as F
from primad.compat.paddle.nn.layer.layer import Layer
from primad.compat.paddle.settings.default_initializers import Constant, Normal, XavierNormal
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.compat.paddle.settings.parameters import ParamAttr
from primad.compat.tape import TapeValue


class Identity(Layer):
    """Return the input."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


class Linear(Layer):
    """x·weight + bias.

    Args:
        in_features: length of the last axis of the input.
        out_features: length of the last axis of the result.
        weight_attr: how to make the weight, of shape (in_features, out_features).
        bias_attr: how to make the bias; False leaves it out.
        name: the layer's name.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> paddle.nn.Linear(3, 2)(paddle.ones([4, 3])).shape
        [4, 2]
    """

    def __init__(
        self, in_features: int, out_features: int, weight_attr: Any = None, bias_attr: Any = None, name: Any = None
    ) -> None:
        super().__init__(name)
        self._sizes = (in_features, out_features)
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        """Return input·weight + bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in_features={self._sizes[0]}, out_features={self._sizes[1]}, dtype={self._dtype}"


class Embedding(Layer):
    """Rows of a table, one for each integer.

    Args:
        num_embeddings: number of rows.
        embedding_dim: length of a row.
        padding_idx: a row that stands for nothing: it is zero, and has no gradient.
        max_norm: not supported.
        norm_type: not supported.
        sparse: ignored: gradients are dense.
        weight_attr: how to make the table.
        name: the layer's name.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        sparse: bool = False,
        weight_attr: Any = None,
        name: Any = None,
    ) -> None:
        super().__init__(name)
        if max_norm is not None:
            raise InvalidArgumentError("Embedding: max_norm is not supported")
        self._sizes = (num_embeddings, embedding_dim)
        self._padding = padding_idx
        self.weight = self.create_parameter(self._sizes, weight_attr, default_initializer=XavierNormal())
        if padding_idx is not None and self.weight is not None:
            self.weight._entry.array[padding_idx] = 0

    def forward(self, x: Any) -> Any:
        """Return the rows at positions x."""
        return F.embedding(x, self.weight, self._padding)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return ", ".join(map(str, self._sizes))


class _Convolution(Layer):
    """A convolution with weight and bias."""

    rank: ClassVar[int]
    transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise InvalidArgumentError(f"{type(self).__name__}: padding_mode {padding_mode!r} is not supported")
        if in_channels % groups:
            raise InvalidArgumentError("in_channels must be divisible by groups.")
        kernel = lengths(kernel_size) * (self.rank if isinstance(kernel_size, int) else 1)
        self._text = f"{in_channels}, {out_channels}, kernel_size={list(kernel)}, data_format={data_format}"
        self._options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self._options["data_format"] = data_format
        if self.transposed:
            shape = [in_channels, out_channels // groups, *kernel]
            default: Any = None
        else:
            shape = [out_channels, in_channels // groups, *kernel]
            default = Normal(0.0, math.sqrt(2.0 / (math.prod(kernel) * in_channels)))
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=default)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any) -> Any:
        """Convolve."""
        function = getattr(F, f"conv{self.rank}d" + ("_transpose" if self.transposed else ""))
        return function(x, self.weight, self.bias, **self._options)

    def extra_repr(self) -> str:
        """Return channels and kernel."""
        return self._text


class Conv1D(_Convolution):
    """Convolution over one spatial axis (see `paddle.nn.functional.conv1d`)."""

    rank = 1

    def __init__(self, *args: Any, data_format: str = "NCL", **kwargs: Any) -> None:
        super().__init__(*args, **{"data_format": data_format, **kwargs})


class Conv2D(_Convolution):
    """Convolution over two spatial axes (see `paddle.nn.functional.conv2d`)."""

    rank = 2


class Conv3D(_Convolution):
    """Convolution over three spatial axes (see `paddle.nn.functional.conv3d`)."""

    rank = 3

    def __init__(self, *args: Any, data_format: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(*args, **{"data_format": data_format, **kwargs})


class _TransposedConvolution(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, "zeros", weight_attr, bias_attr,
            data_format,
        )  # fmt: skip
        self._options["output_padding"] = output_padding


class Conv1DTranspose(_TransposedConvolution):
    """The transpose of a convolution over one spatial axis."""

    rank = 1


class Conv2DTranspose(_TransposedConvolution):
    """The transpose of a convolution over two spatial axes."""

    rank = 2


class Conv3DTranspose(_TransposedConvolution):
    """The transpose of a convolution over three spatial axes."""

    rank = 3


class BatchNorm(Layer):
    """Normalise each channel over the batch while training, with running statistics otherwise.

    Args:
        num_features: number of channels.
        momentum: how much of the running statistics is kept in a step.
        epsilon: added to the variance.
        weight_attr: how to make the factors; False leaves them out.
        bias_attr: how to make the shifts; False leaves them out.
        data_format: 'NC…' if the channel axis is the second, else it is the last.
        use_global_stats: whether the running statistics are used also while training.
        name: the layer's name.
    """

    ranks: ClassVar[tuple[int, ...]] = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: Any = None,
    ) -> None:
        super().__init__(name)
        self._text = f"num_features={num_features}, momentum={momentum}, epsilon={epsilon}"
        self._options: dict[str, Any] = {"momentum": momentum, "epsilon": epsilon, "data_format": data_format}
        self._options["use_global_stats"] = use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        for name, start in (("_mean", 0.0), ("_variance", 1.0)):
            if Value.kind[-1] is Tensor:
                self.register_buffer(name, Tensor(TapeValue(np.full(num_features, start, self._dtype))))
            else:
                held = ParamAttr(trainable=False, initializer=Constant(start))
                setattr(self, name, self.create_parameter([num_features], held))

    def forward(self, x: Any) -> Any:
        """Normalise."""
        if len(x.shape) not in self.ranks:
            expected = " or ".join(map(str, self.ranks))
            raise InvalidArgumentError(f"{type(self).__name__} takes {expected} axes, got shape {x.shape}")
        return F.batch_norm(
            x, self._mean, self._variance, self.weight, self.bias, training=self.training, **self._options
        )

    def extra_repr(self) -> str:
        """Return the options."""
        return self._text


class BatchNorm1D(BatchNorm):
    """BatchNorm of tensors with 2 or 3 axes."""

    ranks = (2, 3)


class BatchNorm2D(BatchNorm):
    """BatchNorm of tensors with 4 axes."""

    ranks = (4,)


class BatchNorm3D(BatchNorm):
    """BatchNorm of tensors with 5 axes."""

    ranks = (5,)


class LayerNorm(Layer):
    """Normalise each sample over its last axes.

    Args:
        normalized_shape: their lengths.
        epsilon: added to the variance.
        weight_attr: how to make the factors; False leaves them out.
        bias_attr: how to make the shifts; False leaves them out.
        name: the layer's name.
    """

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: Any = None,
    ) -> None:
        super().__init__(name)
        self._shape, self._epsilon = lengths(normalized_shape), epsilon
        size = [math.prod(self._shape)]
        self.weight = self.create_parameter(size, weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(size, bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        """Normalise."""
        return F.layer_norm(input, self._shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"normalized_shape={list(self._shape)}, epsilon={self._epsilon}"


class Dropout(Layer):
    """Set elements to 0 with probability p while training (see `paddle.nn.functional.dropout`)."""

    def __init__(self, p: float = 0.5, axis: Any = None, mode: str = "upscale_in_train", name: Any = None) -> None:
        super().__init__()
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, input: Any) -> Any:
        """Drop elements."""
        return F.dropout(input, self.p, self.axis, self.training, self.mode)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class Flatten(Layer):
    """Join the axes from start_axis to stop_axis to one."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: Any) -> Any:
        """Join the axes."""
        return flatten(input, self.start_axis, self.stop_axis)


__all__ = [
    "BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose",
    "Conv3D", "Conv3DTranspose", "Dropout", "Embedding", "Flatten", "Identity", "LayerNorm", "Linear",
]  # fmt: skip
