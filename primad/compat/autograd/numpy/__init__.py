"""`primad.numpy` where programs look for `autograd.numpy`."""

from typing import Any

from primad import numpy as _numpy
from primad.compat.autograd.numpy import linalg  # noqa: F401
from primad.compat.autograd.numpy import random as random
from primad.numpy import *  # type: ignore[no-redef]
from primad.recording.traced_array import TracedArray


def isscalar(element: Any) -> bool:
    """Say whether a value is a number: traced ones without axes count, as elements of arrays do."""
    return bool(_numpy.isscalar(element)) or (isinstance(element, TracedArray) and not element.ndim)


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return sorted([*dir(_numpy), "random"])
