"""Large arrays that several programs capture are one copy, for as long as one of them holds it."""

from __future__ import annotations

import gc

import numpy as np

import primad
from primad.ir import node


def _captured(program: primad.Program) -> list[np.ndarray]:
    return [n.params[0][1].array for n in program.nodes if n.op is node.CAPTURED]


def test_programs_share_copies_of_equal_large_arrays() -> None:
    data = np.arange(float(node._LARGE))
    first, second = [primad.trace(lambda x: x * data)(np.ones(data.size)) for _ in range(2)]
    data[0] = 7.0  # which neither sees
    third = primad.trace(lambda x: x * data)(np.ones(data.size))
    (a,), (b,), (c,) = map(_captured, (first, second, third))
    assert a is b and a is not c and a[0] == 0.0 and c[0] == 7.0 and not a.flags.writeable


def test_bits_and_types_tell_arrays_apart() -> None:
    zeros = np.zeros(node._LARGE)
    arrays = zeros, -zeros, zeros.astype("float32"), zeros.astype("int64"), zeros.reshape(2, -1)
    found = [_captured(primad.trace(lambda x, a=a: x * a)(a)) for a in arrays]
    assert len({id(each[0]) for each in found if each}) == len([each for each in found if each])


def test_a_copy_goes_with_the_last_program_that_holds_it() -> None:
    data = np.cos(np.arange(float(node._LARGE)))
    program = primad.trace(lambda x: x * data)(np.ones(data.size))
    keys = {key for key, each in node._SHARED.items() if each.array is _captured(program)[0]}
    assert keys
    del program
    gc.collect()
    assert not keys & set(node._SHARED)
