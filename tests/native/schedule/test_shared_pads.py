"""One array that is padded in several ways is padded once: the same bits from fewer loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad import ops
from primad.native.schedule.shared_pads import with_shared_pads
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.transforms.lowering import lower


def pads_of(program: Any) -> list[Any]:
    return [node for node in program.nodes if node.op is ops.pad]


def lowered(function: Any, *args: Any) -> Any:
    return simplify(lower(primad.trace(function)(*args)))


def test_the_transpose_of_a_stencil_pads_once() -> None:
    def laplacian(u: Any) -> Any:
        return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]

    u = np.random.default_rng(0).normal(size=(7, 9))
    program = lowered(primad.grad(lambda u: np.sum(np.sin(laplacian(u)))), u)
    shared = with_shared_pads(program)
    assert (len(pads_of(program)), len(pads_of(shared))) == (4, 1)
    (found,), (wanted,) = Plan(shared).run([u]), Plan(program).run([u])
    assert np.array_equal(found, wanted)


def test_pads_of_other_arrays_shapes_and_steps_stay() -> None:
    def function(x: Any, y: Any) -> Any:
        return (
            np.sum(np.pad(x, (1, 2)) * np.pad(y, (2, 1))) + np.sum(np.pad(x, (0, 1))) + np.sum(np.pad(x, (4, 0)) ** 2)
        )

    program = lowered(function, np.ones(5), np.ones(5))
    assert with_shared_pads(program) is program


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=2, max_size=6),
    st.integers(1, 5),
    st.integers(0, 4),
)
def test_random_pads_keep_their_bits(pads: list[tuple[int, int, bool]], rows: int, columns: int) -> None:
    """Of two arrays, to one shape, in any order, twice the same or around nothing: one of each, unless it is larger."""

    def function(x: Any, y: Any) -> Any:
        total = 0.0
        for low, left, which in pads:
            around = np.pad((y if which else x) * 1.5, ((low, 3 - low), (left, 2 - left)))
            total = total + np.sin(around) * (1.0 + low)
        return total

    rng = np.random.default_rng(rows)
    arguments = [rng.normal(size=(rows, columns)), rng.normal(size=(rows, columns))]
    program = lowered(function, *arguments)
    shared = with_shared_pads(program)
    expected = 0
    for own in ([pad[:2] for pad in set(pads) if pad[2] is which] for which in (False, True)):
        ways = len(own)
        wide = math.prod(
            n + m + np.ptp(at) for n, m, at in zip((rows, columns), (3, 2), np.array(own or [(0, 0)]).T, strict=True)
        )
        expected += 1 if ways and wide <= ways * (rows + 3) * (columns + 2) else ways
    assert len(pads_of(shared)) <= expected
    (found,), (wanted,) = Plan(shared).run(arguments), Plan(program).run(arguments)
    assert np.array_equal(found, wanted)


def test_zeros_between_elements_are_no_pads_around() -> None:
    def spread(x: Any) -> Any:
        return ops.pad(x, low=(0,), high=(2,), interior=(1,)) + ops.pad(x, low=(2,), high=(0,), interior=(1,))

    program = lowered(spread, np.arange(1.0, 9.0))
    assert len(pads_of(program)) == 2 and with_shared_pads(program) is program


def test_pads_that_have_little_in_common_stay() -> None:
    """One array that has two far corners in it would be larger than both."""

    def corners(x: Any) -> Any:
        return np.sum(np.pad(x, ((0, 40), (0, 40))) * np.sin(np.pad(x, ((40, 0), (40, 0)))))

    program = lowered(corners, np.ones((4, 4)))
    assert with_shared_pads(program) is program
