"""Sums of products with zeros around them: inside, the products lie nowhere; the bits are the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.ir.program import Program
from primad.native.llvm import compiler as native
from primad.native.schedule.inner_loops import with_inner_loops
from primad.native.schedule.layout import layout_of
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import middle_programs
from primad.simplify import simplify
from primad.transforms.lowering import lower

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")


def lowered(function: Any, *args: Any) -> Program:
    return simplify(lower(primad.trace(function)(*args)))


def weighed(u: Any, weights: Any) -> Any:
    """Weigh the neighbours of each element, one by one."""
    rows, columns = weights.shape
    n, m = u.shape[0] - rows + 1, u.shape[1] - columns + 1
    return sum(weights[i, j] * u[i : i + n, j : j + m] for i in range(rows) for j in range(columns))


def written(program: Program) -> int:
    """Return the bytes that the loops of a program write."""
    layout = layout_of(program)
    assert layout is not None
    return sum(sum(node.type.nbytes for node in unit.results) for unit in layout.units)


def test_the_transpose_of_weighed_neighbours_writes_no_products() -> None:
    u, weights = np.random.default_rng(0).normal(size=(60, 70)), np.random.default_rng(1).normal(size=(3, 3))
    program = lowered(primad.grad(lambda u, w: np.sum(weighed(np.pad(u, 1), w) ** 2)), u, weights)
    changed = with_inner_loops(program)
    assert written(program) > 12 * u.nbytes
    assert written(changed) < 6 * u.nbytes
    (found,), (wanted,) = Plan(changed).run([u, weights]), REFERENCE.prepare(program, PLAIN).run([u, weights])
    np.testing.assert_array_equal(found, wanted)


def test_a_plan_of_middle_size_holds_none() -> None:
    u, weights = np.random.default_rng(0).normal(size=(256, 256)), np.random.default_rng(1).normal(size=(5, 5))
    program = lowered(primad.grad(lambda u, w: np.sum(weighed(u, w) ** 2)), u, weights)
    plan = middle_programs.middle_plan(program, PLAIN)
    assert plan is not None and plan.peak_bytes < 5 * u.nbytes


def test_a_program_stays_where_there_is_little_to_save() -> None:
    u, weights = np.ones((60, 70)), np.ones((3, 3))

    def few(u: Any, w: Any) -> Any:
        return np.sum(weighed(u, w[:1]) ** 2)

    def far(u: Any, w: Any) -> Any:  # nearly all of the sum reads zeros of some product
        return np.sum((weighed(u[:20], w) + weighed(u[40:], w)) ** 2)

    def complex_numbers(u: Any, w: Any) -> Any:
        return np.sum(np.abs(weighed(u * (1.0 + 2.0j), w)) ** 2)

    def small(u: Any, w: Any) -> Any:
        return np.sum(weighed(u[:12, :12], w) ** 2)

    for function in (few, far, complex_numbers, small):
        program = lowered(primad.grad(function), u, weights)
        assert with_inner_loops(program) is program


def test_products_that_something_else_reads_stay() -> None:
    def function(u: Any, w: Any) -> Any:
        return tuple([np.pad(w[i, j] * u, ((i, 2 - i), (j, 2 - j))) for i in range(3) for j in range(3)])

    u, w = np.random.default_rng(0).normal(size=(60, 70)), np.ones((3, 3))
    program = lowered(lambda u, w: (sum(function(u, w)), *function(u, w)), u, w)
    assert with_inner_loops(program) is program


@pytest.mark.parametrize("rows", [slice(1, 1), slice(40, 40), slice(0, 1), slice(30, 31)], ids=str)
def test_few_rows_of_a_sum_are_read(rows: slice) -> None:
    """None, one at the edge, whose products are half zeros, and one inside."""

    def function(u: Any, k: Any) -> Any:
        return sum(np.pad(k[i] * u, ((i, 3 - i), (0, 0))) for i in range(4))

    u, k = np.random.default_rng(0).normal(size=(60, 50)), np.arange(1.0, 5.0)
    program = primad.lower(primad.trace(lambda u, k: function(u, k)[rows])(u, k))
    (found,), (wanted,) = (REFERENCE.prepare(x, PLAIN).run([u, k]) for x in (with_inner_loops(program), program))
    np.testing.assert_array_equal(found, wanted)


pads = st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["product", "sum", "row", "plain", "square"]))


@settings(max_examples=30)
@given(st.lists(pads, min_size=4, max_size=9), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_random_sums_keep_their_bits(
    terms: list[Any], odd: bool, sliced: bool, three: bool, inside_another: bool
) -> None:
    """Of products with scalars and rows, of numbers and infinities and zeros of both signs, read whole or in part."""
    rng = np.random.default_rng(len(terms))
    u = rng.normal(size=(40, 41, 3) if three else (40, 41))
    row, k = rng.normal(size=u.shape[-1]), rng.normal(size=len(terms))
    if odd:
        u[0], u[-1], u[5, 5], k[0] = -0.0, np.inf, np.nan, -np.inf

    def function(u: Any, row: Any, k: Any) -> Any:
        total = 0.0
        forms = {"product": lambda x: x * u, "sum": lambda x: u - x, "row": lambda x: x * u * row, "plain": lambda _: u,
                 "square": lambda x: (x * u) ** 2}  # fmt: skip
        for x, (low, left, how) in zip(k, terms, strict=True):
            around = ((low, 3 - low), (left, 3 - left), (0, 0))[: u.ndim]
            total = total - np.pad(forms[how](x), around) if how == "sum" else total + np.pad(forms[how](x), around)
        total = total[1:-2, 2:-1] if sliced else total
        return np.exp(total) * total if inside_another else total

    program = lowered(function, u, row, k)
    changed = with_inner_loops(program)
    with np.errstate(all="ignore"):
        (found,), (wanted,) = (REFERENCE.prepare(x, PLAIN).run([u, row, k]) for x in (changed, program))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
        np.testing.assert_array_equal(Plan(changed).run([u, row, k])[0], Plan(program).run([u, row, k])[0])
