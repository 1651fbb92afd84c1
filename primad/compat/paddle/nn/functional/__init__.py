"""paddle.nn.functional: activations, layers and losses as functions."""

from typing import Any

from primad.compat.paddle import errors
from primad.compat.paddle.nn.functional import activation, common, loss, vision
from primad.compat.paddle.nn.functional.activation import (
    gelu as gelu,
)
from primad.compat.paddle.nn.functional.activation import (
    log_softmax as log_softmax,
)
from primad.compat.paddle.nn.functional.activation import (
    relu as relu,
)
from primad.compat.paddle.nn.functional.activation import (
    sigmoid as sigmoid,
)
from primad.compat.paddle.nn.functional.activation import (
    silu as silu,
)
from primad.compat.paddle.nn.functional.activation import (
    softmax as softmax,
)
from primad.compat.paddle.nn.functional.activation import (
    softplus as softplus,
)
from primad.compat.paddle.nn.functional.activation import (
    swish as swish,
)
from primad.compat.paddle.nn.functional.activation import (
    tanh as tanh,
)
from primad.compat.paddle.nn.functional.common import (
    batch_norm as batch_norm,
)
from primad.compat.paddle.nn.functional.common import (
    cosine_similarity as cosine_similarity,
)
from primad.compat.paddle.nn.functional.common import (
    dropout as dropout,
)
from primad.compat.paddle.nn.functional.common import (
    embedding as embedding,
)
from primad.compat.paddle.nn.functional.common import (
    layer_norm as layer_norm,
)
from primad.compat.paddle.nn.functional.common import (
    linear as linear,
)
from primad.compat.paddle.nn.functional.common import (
    normalize as normalize,
)
from primad.compat.paddle.nn.functional.common import (
    one_hot as one_hot,
)
from primad.compat.paddle.nn.functional.common import (
    pad as pad,
)
from primad.compat.paddle.nn.functional.loss import (
    binary_cross_entropy as binary_cross_entropy,
)
from primad.compat.paddle.nn.functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from primad.compat.paddle.nn.functional.loss import (
    cross_entropy as cross_entropy,
)
from primad.compat.paddle.nn.functional.loss import (
    kl_div as kl_div,
)
from primad.compat.paddle.nn.functional.loss import (
    l1_loss as l1_loss,
)
from primad.compat.paddle.nn.functional.loss import (
    mse_loss as mse_loss,
)
from primad.compat.paddle.nn.functional.loss import (
    nll_loss as nll_loss,
)
from primad.compat.paddle.nn.functional.loss import (
    smooth_l1_loss as smooth_l1_loss,
)
from primad.compat.paddle.nn.functional.loss import (
    softmax_with_cross_entropy as softmax_with_cross_entropy,
)
from primad.compat.paddle.nn.functional.loss import (
    square_error_cost as square_error_cost,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_avg_pool2d as adaptive_avg_pool2d,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_avg_pool3d as adaptive_avg_pool3d,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_max_pool1d as adaptive_max_pool1d,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_max_pool2d as adaptive_max_pool2d,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from primad.compat.paddle.nn.functional.vision import (
    avg_pool1d as avg_pool1d,
)
from primad.compat.paddle.nn.functional.vision import (
    avg_pool2d as avg_pool2d,
)
from primad.compat.paddle.nn.functional.vision import (
    avg_pool3d as avg_pool3d,
)
from primad.compat.paddle.nn.functional.vision import (
    conv1d as conv1d,
)
from primad.compat.paddle.nn.functional.vision import (
    conv1d_transpose as conv1d_transpose,
)
from primad.compat.paddle.nn.functional.vision import (
    conv2d as conv2d,
)
from primad.compat.paddle.nn.functional.vision import (
    conv2d_transpose as conv2d_transpose,
)
from primad.compat.paddle.nn.functional.vision import (
    conv3d as conv3d,
)
from primad.compat.paddle.nn.functional.vision import (
    conv3d_transpose as conv3d_transpose,
)
from primad.compat.paddle.nn.functional.vision import (
    max_pool1d as max_pool1d,
)
from primad.compat.paddle.nn.functional.vision import (
    max_pool2d as max_pool2d,
)
from primad.compat.paddle.nn.functional.vision import (
    max_pool3d as max_pool3d,
)

__all__ = [*activation.__all__, *common.__all__, *loss.__all__, *vision.__all__]


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.nn.functional", name, __all__)
