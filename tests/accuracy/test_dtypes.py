"""Special functions of half precision, integers and booleans are computed in the dtype of SciPy's loops."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import special

import primad
import primad.scipy.special as recorded
from tests.accuracy.functions import FUNCTIONS, name_of

UFUNCS = [name for name in FUNCTIONS if isinstance(getattr(special, name_of(name)), np.ufunc)]
FIRST, REST = (np.float16, np.int16, np.uint8, np.int64, np.bool_), (np.float16, np.float32, np.float64, np.int32)


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", UFUNCS)
def test_recorded_and_computed_dtypes_are_those_of_scipy(name: str) -> None:
    entry, seen = FUNCTIONS[name], []

    def function(*operands: Any) -> Any:
        found = entry.of(recorded, name, *entry.plain[0], *operands)
        seen.append(found.dtype)
        return found

    arguments = len(entry.grids)
    for first, rest in product(FIRST, REST if arguments > 1 else REST[:1]):
        operands = [np.ones(2, first), *[np.ones(2, rest)] * (arguments - 1)]
        expected = np.asarray(entry.of(special, name, *entry.plain[0], *operands)).dtype
        found = primad.jit(function, backend="reference")(*operands).dtype
        assert seen[-1] == found == expected, (first, rest)
