"""`numpy.fft` where programs look for `autograd.numpy.fft`: of constants; of traced arrays as far as primad has it."""

from typing import Any

from numpy import fft as _fft
from numpy.fft import *

from primad.compat.autograd.importing import missing


def __getattr__(name: str) -> Any:
    missing(__name__, name, _fft.__all__)
