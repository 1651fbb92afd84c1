"""paddle.vision.models: the VGG networks (Simonyan & Zisserman 2015), with new weights."""

from __future__ import annotations

from typing import Any

from primad.compat.paddle.functions.manipulation import flatten
from primad.compat.paddle.nn import BatchNorm2D, Conv2D, Dropout, Layer, Linear, Sequential
from primad.compat.paddle.nn.layer.simple import CLASSES
from primad.compat.paddle.settings.errors import UnimplementedError

STAGES = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
"""Number of convolutions before each pooling, by the number of layers with weights."""
CHANNELS = (64, 128, 256, 512, 512)


class VGG(Layer):
    """Convolutions and pooling, then three linear layers.

    Args:
        features: the convolutional part.
        num_classes: number of outputs; 0 leaves the linear layers out.
        with_pool: whether the last maps are pooled to 7×7.
    """

    def __init__(self, features: Layer, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.features = features
        self.num_classes, self.with_pool = num_classes, with_pool
        if with_pool:
            self.avgpool = CLASSES["AdaptiveAvgPool2D"]((7, 7))  # type: ignore[arg-type]
        if num_classes > 0:
            relu = CLASSES["ReLU"]
            self.classifier = Sequential(
                Linear(512 * 7 * 7, 4096), relu(), Dropout(), Linear(4096, 4096), relu(), Dropout(),
                Linear(4096, num_classes),
            )  # fmt: skip

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes, for images of shape (batch, 3, height, width)."""
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(flatten(x, 1)) if self.num_classes > 0 else x


def _vgg(layers: int, pretrained: bool, batch_norm: bool, options: dict[str, Any]) -> VGG:
    if pretrained:
        raise UnimplementedError(
            f"vgg{layers}(pretrained=True)",
            why="primad brings no weights and downloads nothing.",
            fix="make the model with pretrained=False and load weights with set_state_dict(paddle.load(path)).",
        )
    parts: list[Layer] = []
    before = 3
    for channels, count in zip(CHANNELS, STAGES[layers], strict=True):
        for _ in range(count):
            parts.append(Conv2D(before, channels, 3, padding=1))
            if batch_norm:
                parts.append(BatchNorm2D(channels))
            parts.append(CLASSES["ReLU"]())
            before = channels
        parts.append(CLASSES["MaxPool2D"](2, 2))  # type: ignore[arg-type]
    return VGG(Sequential(*parts), **options)


def vgg11(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """Return VGG11 with new weights.

    Args:
        pretrained: must be False.
        batch_norm: whether each convolution is followed by a BatchNorm2D.
        kwargs: num_classes and with_pool of `VGG`.

    Raises:
        UnimplementedError: for pretrained=True.
    """
    return _vgg(11, pretrained, batch_norm, kwargs)


def vgg13(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """Return VGG13 with new weights (see `vgg11`)."""
    return _vgg(13, pretrained, batch_norm, kwargs)


def vgg16(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """Return VGG16 with new weights (see `vgg11`)."""
    return _vgg(16, pretrained, batch_norm, kwargs)


def vgg19(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """Return VGG19 with new weights (see `vgg11`)."""
    return _vgg(19, pretrained, batch_norm, kwargs)
