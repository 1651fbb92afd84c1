"""`primad.numpy.special` where programs look for `autograd.scipy.special`."""

from typing import Any

from primad.compat.autograd.importing import missing
from primad.numpy import special as _special
from primad.numpy.special import *

psi = _special.digamma


def __getattr__(name: str) -> Any:
    missing(__name__, name, _special.__all__)
