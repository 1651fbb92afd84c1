"""Lambert's W function, of real and complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import exp
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.system.deferred import special

__all__ = ["lambertw"]


def _branch(z: Any, *, k: int) -> Any:
    found = special.lambertw(z, k)
    return np.asarray(found if np.iscomplexobj(z) else found.real, np.asarray(z).dtype)


lambertw: Primitive = elementwise(
    "lambertw",
    numpy=_branch,
    partials=[lambda out, z, *, k: exp(-out) / (1.0 + out)],  # DLMF 4.13.4
    meaning=lambda numbers, z, *, k: numbers.lambertw(z, k),
    complex="analytic",
    doc="The branch k of Lambert's function W, W·exp(W) = z. Its slope is infinite at −1/e.",
)
