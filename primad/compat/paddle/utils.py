"""paddle.utils: names of variables."""

from typing import Any

from primad.compat.paddle.settings import errors
from primad.compat.paddle.settings import naming as unique_name

__all__ = ["unique_name"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.utils", name, __all__)
