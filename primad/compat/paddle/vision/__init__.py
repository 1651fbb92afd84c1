"""paddle.vision: the VGG models."""

from typing import Any

from primad.compat.paddle.settings import errors
from primad.compat.paddle.vision import models

__all__ = ["models"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.vision", name, __all__)
