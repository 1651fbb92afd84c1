"""The beta distribution."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.importing import missing
from primad.scipy.stats import beta as _own

logpdf = _own.logpdf
pdf = _own.pdf

__all__ = ["logpdf", "pdf"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
