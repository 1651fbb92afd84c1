"""`numpy.random` where programs look for `autograd.numpy.random`: draws are constants."""

from typing import Any

from numpy import random as _random
from numpy.random import *

from primad.compat.autograd.importing import missing


def __getattr__(name: str) -> Any:
    missing(__name__, name, _random.__all__)
