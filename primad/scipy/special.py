"""SciPy's special functions under their path: those that are recorded, which are SciPy's own on plain arrays."""

from __future__ import annotations

from typing import Any

from primad.numpy import special as _recorded
from primad.numpy.special import *
from primad.scipy import other_names

psi = _recorded.psi

__all__ = [*_recorded.__all__, "psi"]


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that is not recorded."""
    raise other_names.missing("scipy.special", name, __all__)
