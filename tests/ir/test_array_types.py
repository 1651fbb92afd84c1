"""Types of arrays: sizes that no machine has are refused when they are named."""

from __future__ import annotations

import pytest

from primad import ArrayType
from primad.errors import PrimadError


@pytest.mark.parametrize(("shape", "fits"), [((2**42, 2**1), True), ((2**43 + 1,), False), ((2**31, 2**31), False)])
def test_an_array_holds_64_tebibytes_at_most(shape: tuple[int, ...], fits: bool) -> None:
    if fits:
        assert ArrayType(shape, float).nbytes == 2**46
    else:
        with pytest.raises(PrimadError, match="larger than any memory"):
            ArrayType(shape, float)
