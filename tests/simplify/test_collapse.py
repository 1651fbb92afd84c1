"""Sums that go towards the inputs: only through what is computed in floats."""

import numpy as np
import pytest

from primad import ops
from primad.ir.array_types import ArrayType
from primad.recording.tracing import trace
from primad.simplify.collapse import collapse
from primad.verify.checks.trial import run_as_it_stands


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8])
def test_a_sum_of_numbers_made_of_small_integers_stays_a_sum_of_floats(dtype: type) -> None:
    """The integers would wrap."""
    program = trace(lambda x: ops.sum(ops.cast(x, dtype="float64"), axes=(0,)))(ArrayType((2, 3), dtype))
    x = np.full((2, 3), np.iinfo(dtype).max, dtype)
    (found,) = run_as_it_stands(collapse(program), [x])
    assert found.tolist() == np.sum(x.astype(float), axis=0).tolist()
