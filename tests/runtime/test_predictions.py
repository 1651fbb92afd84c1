"""Predicted seconds are what the model says, computed here by hand, on both sides of each of its thresholds.

No program runs: nodes are priced on a machine whose speeds are so far apart that it shows what is counted where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.native.emit.op_table import one_loop_of
from primad.native.loops.body_programs import form_of
from primad.recording.tracing import program_of
from primad.runtime import cost_model
from primad.runtime.cost_model import (
    DEFINITION_CALLS,
    ENTRY_CALLS,
    FLOPS_OF_A_MATRIX,
    FUNCTION_SECONDS,
    HALF_OF_IT,
    INSTRUCTION_SECONDS,
    LAPACK_SECONDS,
    LAPACK_SHARE,
    LATENCY_SECONDS,
    LIKELY_STEPS,
    LOOP_CALLS,
    LOOP_SECONDS,
    PART_CALLS,
    SMALL_FLOP_SECONDS,
    STEP_CALLS,
    TOGETHER,
    Machine,
    Prediction,
    as_one_function,
    by_numpy,
    by_steps,
    in_one_function,
)
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.runtime.tiling import block_sums, tile_choice, tiled_plan
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.tile_program import partition_of
from primad.runtime.tiling.tileable_axes import tileable_dimensions
from primad.simplify import simplify

SLOW = Machine(1e4, 1e3, 1e4, 1e-4, 1e-2, 1.0, 1e-5, 1e-3)
FAST = Machine(1e15, 1e15, 1e15, 1e-15, 1e-15, 1e-15, 1e-15, 1e-15)
"""A machine on which the least that anything takes is all that it takes."""


def program(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Program:
    return program_of([ArrayType(shape, np.dtype(float)) for shape in shapes], lambda *xs: [function(*xs)])


def node(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Node:
    """Return the last node of a function of arrays."""
    return program(function, *shapes).outputs[0]


def lapack(rows: int, stack: int, flops: float, peak: float) -> float:
    return stack * LAPACK_SECONDS + flops / (LAPACK_SHARE * rows / (rows + HALF_OF_IT) * peak)


def contract(labels: str) -> Callable[..., Any]:
    return lambda x, y: ops.contract(x, y, labels=labels)


STACK = node(np.linalg.inv, (3, 20, 20))


class Priced(NamedTuple):
    """A node, and what it takes by NumPy and in a native function, on the slow machine."""

    node: Node
    by_numpy: Prediction
    inside: Prediction


PRICED = {
    "a function": Priced(node(np.exp, (7,)), Prediction(elements=0.07, calls=STEP_CALLS), Prediction(kernels=0.007)),
    "arithmetic": Priced(
        node(np.add, (7,), (7,)), Prediction(elements=7e-4, calls=STEP_CALLS), Prediction(kernels=7e-5)
    ),
    "a sum": Priced(
        node(lambda x: np.sum(x, axis=0), (20, 3)),
        Prediction(elements=60e-4, calls=DEFINITION_CALLS),
        Prediction(kernels=60e-4 + LOOP_SECONDS),
    ),
    "a product": Priced(
        node(contract("ij,jk->ik"), (10, 20), (20, 3)),
        Prediction(products=1200 / 1e4 + 260e-4, calls=DEFINITION_CALLS),
        Prediction(products=1200 / 1e3 + 260e-4 + LOOP_SECONDS),
    ),
    "a view": Priced(node(lambda x: np.reshape(x, (4, 5)), (20,)), Prediction(calls=DEFINITION_CALLS), Prediction()),
    "a loop along an axis": Priced(
        node(np.cumsum, (30,)),
        Prediction(elements=30e-4, calls=DEFINITION_CALLS),
        Prediction(kernels=30e-4 + LOOP_SECONDS),
    ),
    "a stack of matrices": Priced(
        STACK,
        Prediction(elements=lapack(20, 3, STACK.op.cost(STACK).flops, 1e4), calls=DEFINITION_CALLS),
        Prediction(kernels=1200e-5),
    ),
}


@pytest.mark.parametrize("name", PRICED)
def test_nodes_take_what_they_count(name: str) -> None:
    priced = PRICED[name]
    for found, expected in (
        (by_numpy(priced.node, SLOW), priced.by_numpy),
        (in_one_function([priced.node], SLOW), priced.inside),
    ):
        for part in ("products", "kernels", "elements", "calls"):
            assert getattr(found, part) == pytest.approx(getattr(expected, part), rel=1e-9), part


def test_the_least_that_anything_takes() -> None:
    for given, least in ((node(np.exp, (7,)), FUNCTION_SECONDS), (node(np.add, (7,), (7,)), LATENCY_SECONDS)):
        assert in_one_function([given], FAST).total == pytest.approx(least)


def test_arrays_that_no_cache_holds_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = {"arithmetic": 3 * 7 * 8, "a product": (200 + 60 + 30) * 8}
    for name, nbytes in moved.items():
        for cached, waits in ((nbytes, False), (nbytes - 1, True)):
            monkeypatch.setattr(cost_model, "CACHED_BYTES", cached)
            waiting = replace(SLOW, bandwidth=10.0)
            found, held = by_numpy(PRICED[name].node, waiting), PRICED[name].by_numpy
            expected = nbytes / 10.0 if waits else held.elements + held.products
            assert found.elements + found.products == pytest.approx(expected)
            assert Prediction(calls=2.0).moving(nbytes, waiting).total == pytest.approx(nbytes / 10.0 if waits else 2.0)
    assert Prediction(calls=1e9).moving(nbytes, waiting).total == 1e9  # what takes longer anyway


def test_an_op_of_many_flops_is_a_factorization() -> None:
    for rows in (20, 48, 60):
        given = node(np.linalg.cholesky, (rows, rows))
        flops = given.op.cost(given).flops
        expected = lapack(rows, 1, flops, 1e4) if flops > FLOPS_OF_A_MATRIX * rows**2 else rows**2 * 1e-4
        assert by_numpy(given, SLOW).elements == pytest.approx(expected)
    assert (
        node(np.linalg.cholesky, (48, 48)).op.cost(node(np.linalg.cholesky, (48, 48))).flops
        == FLOPS_OF_A_MATRIX * 48**2
    )


@pytest.mark.parametrize("stack", [1, TOGETHER - 1, TOGETHER])
def test_small_matrices_are_factorized_in_the_lanes_of_vectors(stack: int) -> None:
    given = node(np.linalg.cholesky, (stack, 8, 8))
    flops = given.op.cost(given).flops
    written_out = flops * SMALL_FLOP_SECONDS / (TOGETHER if stack >= TOGETHER else 1) + LOOP_SECONDS
    assert in_one_function([given], SLOW).kernels == pytest.approx(written_out)
    large = node(np.linalg.cholesky, (stack, 40, 40))
    by_lapack = lapack(40, stack, large.op.cost(large).flops, 1e15) + LOOP_SECONDS
    assert in_one_function([large], FAST).kernels == pytest.approx(by_lapack)


def test_predictions_add_up() -> None:
    one, other = Prediction(1.0, 2.0, 4.0, 8.0), Prediction(16.0, 32.0, 64.0, 128.0)
    assert one + other == Prediction(17.0, 34.0, 68.0, 136.0) and (one + other).total == 255.0
    assert one.times(3.0) == Prediction(3.0, 6.0, 12.0, 24.0)


@pytest.mark.parametrize("length", [1, LIKELY_STEPS, LIKELY_STEPS + 1, 50])
def test_a_loop_takes_its_steps_and_one_that_ends_by_itself_a_few(length: int) -> None:
    step = as_one_function(program(lambda x: np.exp(x) * 2.0, (1000,)), SLOW).kernels

    def scanned(x: Any) -> Any:
        return primad.scan(lambda c, _: (np.exp(c) * 2.0, None), x, length=length)[0]

    def ending(x: Any) -> Any:
        return primad.while_loop(lambda c: np.sum(c) < 9.0, lambda c: np.exp(c) * 2.0, x, max_steps=length)

    found = in_one_function(program(scanned, (1000,)).nodes, SLOW).kernels
    assert found == pytest.approx(length * step, rel=1e-3)
    ends = in_one_function(program(ending, (1000,)).nodes, SLOW).kernels
    assert min(LIKELY_STEPS, length) * step <= ends * (1 + 1e-9) < min(LIKELY_STEPS, length) * 1.2 * step


def test_a_loop_beside_other_steps_is_called() -> None:
    step = as_one_function(program(np.exp, (1000,)), SLOW).kernels
    for length in (2, 5):
        found = by_numpy(
            node(lambda x, n=length: primad.scan(lambda c, _: (np.exp(c), None), x, length=n)[0], (1000,)), SLOW
        )
        assert found.calls == LOOP_CALLS and found.kernels == pytest.approx(length * step)


def test_a_loop_in_a_loop_is_a_part_of_its_native_function() -> None:
    def inner(c: Any) -> Any:
        return primad.scan(lambda d, _: (np.sin(d), None), c, length=30)[0]

    found = by_numpy(node(lambda x: primad.scan(lambda c, _: (inner(c), None), x, length=5)[0], (10,)), SLOW)
    assert found.calls == LOOP_CALLS and found.elements == 0


def test_a_stack_of_loops_takes_its_members_in_the_lanes_of_vectors() -> None:
    def ending(x: Any) -> Any:
        return primad.while_loop(lambda c: c * c > 2.0, lambda c: np.sin(c) * 0.7 + 0.01, x, max_steps=LIKELY_STEPS + 9)

    whole = simplify(program(primad.vmap(ending), (900,)).hoisted())
    (stack,) = [x for x in whole.nodes if not isinstance(x.op, Leaf) and x.op.name == "while_loop"]
    form = form_of(stack)
    assert form is not None and form.separate
    one = one_loop_of(form.of, (True,) * form.carry)
    assert one is not None and one[0].lanes > 1
    expected = LIKELY_STEPS * 900 / one[0].lanes * one[1] * INSTRUCTION_SECONDS
    assert in_one_function([stack], SLOW).kernels == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(20, 8), (8, 20), (1, 1), (3, 7, 2)])
def test_matrices_have_as_many_rows_as_their_shorter_side(shape: tuple[int, ...]) -> None:
    given = node(np.sin, shape)
    rows = min(shape[-2:])
    expected = int(np.prod(shape[:-2])) * LAPACK_SECONDS + 9e3 / (LAPACK_SHARE * rows / (rows + HALF_OF_IT))
    assert cost_model._by_lapack(given, 9000, 1.0) == pytest.approx(expected)


def test_steps_follow_each_other() -> None:
    alone = [PRICED[name].node for name in ("a function", "a product")]
    rest = {"kernel": None, "inputs": (), "results": (), "in_place": frozenset(), "work": 7, "flops": 300}
    native: list[Any] = [NativeStep(**rest), NativePart(**rest, nodes=alone, scratch=0, failing=(), lines={})]
    found = by_steps([*native, *native, *alone], SLOW)
    inside = in_one_function(alone, SLOW)
    expected = Prediction(300 / 1e3, 7e-5, calls=PART_CALLS) + inside + Prediction(calls=PART_CALLS)
    expected = expected.times(2) + by_numpy(alone[0], SLOW) + by_numpy(alone[1], SLOW)
    for part in ("products", "kernels", "elements", "calls"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), rel=1e-9), part
    twice = by_steps([alone[0]], SLOW, lambda _: 2.0)
    assert twice == by_numpy(alone[0], SLOW).times(2.0)


def test_what_is_in_registers_takes_its_longest_chain() -> None:
    for depth in (1, 5):

        def chain(x: Any, y: Any, depth: int = depth) -> Any:
            for _ in range(depth):
                x = np.exp(x)
            return np.reshape(x, ()) + y  # a view takes nothing

        found = as_one_function(program(chain, (1,), ()), replace(FAST, call=1.0))
        assert found.calls == ENTRY_CALLS
        assert found.kernels == pytest.approx(depth * FUNCTION_SECONDS + LATENCY_SECONDS)


@pytest.mark.parametrize("other", [lambda y: y, np.sin])
def test_blocks_take_their_share_of_large_products(
    other: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them where both operands are one matrix."""
    given = simplify(program(lambda x: ops.contract(y := np.tanh(x), other(y), labels="ij,ik->jk"), (60, 5)))
    partition = partition_of(given, max(tileable_dimensions(given), key=lambda dimension: dimension.length), ())
    monkeypatch.setattr(block_sums, "LARGE_SUM", 0)
    monkeypatch.setattr(block_sums, "BLOCK_BYTES", 60 * 5 * 8 // 2)
    blocks = block_sums.BlockTiles(partition, block_sums.large_products(partition), Plan)
    assert 1 < blocks.count < 60
    flops = 2 * 5 * 5 * blocks.length / (1 + (other is not np.sin))
    expected = blocks.plan.predicted(SLOW) + Prediction(products=flops / SLOW.peak)
    assert blocks.predicted_each(SLOW).total == pytest.approx(expected.total)


def test_products_that_are_half_of_the_work_are_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_sums, "LARGE_SUM", 0)
    for columns, count in ((4, 0), (5, 1)):  # `x @ w` takes as many flops as the sum of products with 4 columns
        shapes = (60, 4), (4, 3), (60, columns)
        given = simplify(program(lambda x, w, z: ops.contract(z, x @ w, labels="ij,ik->jk"), *shapes))
        partition = partition_of(given, max(tileable_dimensions(given), key=lambda dimension: dimension.length), ())
        assert len(block_sums.large_products(partition)) == count


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = primad.get_num_threads()
    yield primad.set_num_threads
    primad.set_num_threads(before)


def test_tiles_in_python_wait_for_each_other(threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their arithmetic is shared by threads, as many as there are chunks, and their calls are not."""
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", ())
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    tiles = tiled_plan.make_plan(simplify(program(lambda x: np.sum(np.exp(x) * x, axis=1), (12, 5)))).tiles
    assert isinstance(tiles, InterpretedTiles) and tiles.chunks == 3
    each = tiles.plan.predicted(SLOW)
    for count in (1, 2, 3, 4):
        threads(count)
        shares = min(count, 3)
        assert tiles.predicted_each(SLOW).calls == pytest.approx(each.calls * shares)
        found = tiles.predicted(SLOW)
        assert found.calls == pytest.approx(3 * each.calls)
        assert found.elements == pytest.approx(3 * each.elements / shares)
