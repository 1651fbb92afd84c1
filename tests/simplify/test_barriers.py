"""Programs in which nothing is computed twice."""

import numpy as np

import primad
from primad import ops
from primad.simplify.barriers import without_barriers
from primad.transforms import lower


def test_barriers_are_taken_out_and_nothing_else_is():
    def function(x):
        return np.sum(primad.checkpoint(lambda y: np.sin(np.cos(y)) * y)(x))

    program = lower(primad.trace(primad.grad(function))(np.ones(3)))
    assert any(node.op is ops.barrier for node in program.nodes)
    found = without_barriers(program)
    assert not any(node.op is ops.barrier for node in found.nodes)
    assert without_barriers(found) is found
    np.testing.assert_allclose(found(np.ones(3)), primad.grad(lambda x: np.sum(np.sin(np.cos(x)) * x))(np.ones(3)))
