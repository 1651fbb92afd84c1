"""`primad.numpy.linalg` where programs look for `autograd.numpy.linalg`."""

from typing import Any

from numpy.linalg import LinAlgError as LinAlgError

from primad.compat.autograd.importing import missing
from primad.numpy import linalg as _linalg
from primad.numpy.linalg import *


def __getattr__(name: str) -> Any:
    missing(__name__, name, _linalg.__all__)
