"""`primad.numpy.special` where programs look for `autograd.scipy.special`; SciPy's own of what that does not have.

SciPy's functions take plain arrays, and traced ones where primad records them, or say that it does not.
"""

from typing import Any

from scipy import special as _special
from scipy.special import *

from primad.compat.autograd.importing import missing
from primad.numpy.special import *


def __getattr__(name: str) -> Any:
    missing(__name__, name, _special.__all__)
