"""`primad.scipy.linalg` where programs look for `autograd.scipy.linalg`."""

from typing import Any

from primad.compat.autograd.importing import missing
from primad.scipy import linalg as _linalg
from primad.scipy.linalg import *


def __getattr__(name: str) -> Any:
    missing(__name__, name, _linalg.__all__)
