"""`primad.numpy` where programs look for `autograd.numpy`."""

from typing import Any

from primad import numpy as _numpy
from primad.compat.autograd.numpy import linalg  # noqa: F401
from primad.compat.autograd.numpy import random as random
from primad.numpy import *  # type: ignore[no-redef]


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return sorted([*dir(_numpy), "random"])
