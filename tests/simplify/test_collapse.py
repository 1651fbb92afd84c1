"""Sums that go towards the inputs: only through what is computed in floats."""

from typing import Any

import numpy as np
import pytest

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LOCAL, without
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


@pytest.mark.parametrize("labels", ["ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "ij,ij->ij", "i,j->ij"])
@pytest.mark.parametrize("dtype", [float, int])  # a sum of integers stays where it is
@pytest.mark.parametrize("same", [(), (0,), (1,), (0, 1)])
def test_sums_of_products_count_what_is_the_same_along_an_axis(labels: str, same: tuple[int, ...], dtype: type) -> None:
    """Operands that are constant along their first or last axis, summed over each axis of the product."""
    before, _, out = labels.partition("->")
    shapes = [tuple([2 + "bijk".index(letter) for letter in part]) for part in before.split(",")]
    for axis in range(len(out)):
        for constant in (0, -1):
            places = [constant % len(shape) if i in same else None for i, shape in enumerate(shapes)]

            def product(*arrays: Any, places: Any = places, axis: int = axis) -> Any:
                operands = [
                    x if place is None else ops.broadcast(x, shape=shape, axes=(place,))
                    for x, shape, place in zip(arrays, shapes, places, strict=True)
                ]
                return ops.sum(ops.contract(*operands, labels=labels), axes=(axis,))

            given = [
                tuple(np.delete(shape, [] if place is None else place))
                for shape, place in zip(shapes, places, strict=True)
            ]
            with without(LOCAL):
                program = trace(product)(*[ArrayType(shape, np.dtype(dtype)) for shape in given])
            arrays = [np.arange(1, 1 + np.prod(shape), dtype=dtype).reshape(shape) for shape in given]
            (found,), (wanted,) = (run_as_it_stands(p, arrays) for p in (collapse(program), program))
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("laws", ["local", "none"])  # without local laws an operand may be a sum of what was broadcast
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("places", [((0,), (1,)), ((0, 2), (1,)), ((1, 2), (0, 2)), ((0,), ()), ((), (0, 1, 2))])
def test_sums_of_products_go_to_the_factors_along_their_own_axes(
    places: tuple[tuple[int, ...], tuple[int, ...]], axes: tuple[int, ...], laws: str
) -> None:
    """Factors that are constant along some axes, with sums along these and along others."""
    shape = (2, 3, 4)

    def product(*arrays: Any) -> Any:
        wide = [ops.broadcast(x, shape=shape, axes=own) for x, own in zip(arrays, places, strict=True)]
        return ops.sum(ops.mul(*wide), axes=axes)

    arrays = [np.cos(np.arange(np.prod(kept)).reshape(kept)) for kept in [np.delete(shape, own) for own in places]]
    with without(LOCAL):
        program = trace(product)(*[ArrayType(x.shape, x.dtype) for x in arrays])
        found = collapse(program)
    if laws == "local":
        found = collapse(program)
    wanted = run_as_it_stands(program, arrays)
    np.testing.assert_allclose(run_as_it_stands(found, arrays)[0], wanted[0], rtol=1e-13, atol=1e-14)
