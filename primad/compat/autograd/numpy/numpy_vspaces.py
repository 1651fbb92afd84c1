"""What `autograd.numpy.numpy_vspaces` has for programs: the classes of the spaces that arrays are elements of."""

from typing import Any

from primad.compat.autograd.importing import missing
from primad.compat.autograd.values import VSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]


class ArrayVSpace(VSpace):
    """The space of an array. Programs put an `__init__` of their own into it, which must change no other space."""


class ComplexArrayVSpace(ArrayVSpace):
    """The space of a complex array."""


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
