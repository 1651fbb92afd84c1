"""What computes few elements in the place of a definition has its bits, at special values too."""

from functools import partial

import numpy as np
import pytest

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import same_bits

VALUES = np.array([0.0, -0.0, 0.5, -3.0, 5e-324, 1e-160, 1e308, -1.7e308, np.inf, -np.inf, np.nan])
PAIRS = np.array([(x, y) for x in VALUES for y in VALUES])
ORDINARY = np.array([(0.5, -3.0), (-3.0, 0.5), (0.0, 2.0), (-0.0, 1.0)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_elements_have_the_bits_of_the_definition(dtype: type) -> None:
    with np.errstate(all="ignore"):
        pairs = PAIRS.astype(dtype)
    sets = [*pairs, *pairs[:, None], ORDINARY.astype(dtype), pairs, pairs[:110].reshape(10, 11, 2)]
    for pair in sets:
        x, y = pair[..., 0], pair[..., 1]
        for op, operands in ((ops.direction, (x, y)), (ops.select, (np.asarray(x < y), x, y))):
            few = op.work.few(*[ArrayType(z.shape, z.dtype) for z in operands])
            with np.errstate(all="ignore"):
                expected, found = op.numpy(*operands), few(*operands)
            assert same_bits(np.asarray(expected), np.asarray(found)), (op, operands)
    for number in (*pairs[:, 0], dtype(1), np.asarray(dtype(2)), ORDINARY[0].astype(dtype)):
        params = {"shape": (2, 3, *number.shape), "axes": (0, 1)}
        few = ops.broadcast.work.few(ArrayType(number.shape, dtype), **params) or partial(ops.broadcast.numpy, **params)
        assert same_bits(ops.broadcast.numpy(number, **params), few(number))
