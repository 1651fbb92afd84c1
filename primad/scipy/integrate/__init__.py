"""Integrals and initial value problems of `scipy.integrate` under their path, recorded where something is traced.

Where nothing is traced they are SciPy's own.
"""

from typing import Any

from primad.scipy import other_names
from primad.scipy.integrate import initial_values_and_integrals as _of_functions
from primad.scipy.integrate import samples as _samples
from primad.scipy.integrate.initial_values_and_integrals import *
from primad.scipy.integrate.samples import *

__all__: list[str] = []
__all__ += _of_functions.__all__
__all__ += _samples.__all__


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that there is not."""
    raise other_names.missing("scipy.integrate", name, __all__)
