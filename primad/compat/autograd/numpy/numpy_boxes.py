"""What `autograd.numpy.numpy_boxes` has for programs: the class of traced arrays."""

from typing import Any

from primad.compat.autograd.importing import missing
from primad.compat.autograd.values import Box

ArrayBox = Box

__all__ = ["ArrayBox"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
