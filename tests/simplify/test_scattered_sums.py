"""Many short parts of a long array are added at their places, not as arrays with zeros around them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primad
from primad import ops
from primad.ir.law_families import LOCAL, ROUNDING, without
from primad.simplify import simplify
from primad.simplify.scattered_sums import FEWEST, SHORT, scatter_short_terms
from primad.system.machine import CALL_ELEMENTS
from primad.transforms import lower

PLACES = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 8), st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=30
)


def kinds(program: primad.Program) -> set[Any]:
    return {node.op for node in program.nodes}


@given(PLACES, st.sampled_from([np.float64, np.float32, np.complex128]), st.booleans())
def test_sums_stay_what_they_are(places: list[tuple[int, int, int, int]], dtype: Any, more: bool) -> None:
    """The numbers are small enough that all sums are exact. Parts overlap, have gaps, and lie in rows and columns."""
    x = np.random.default_rng(0).integers(-9, 9, (15, 12)).astype(dtype)

    def f(x: Any) -> Any:
        parts = [x[i : i + n * gap : gap, j : j + n] for i, j, n, gap in places]
        total = sum([np.sum(part * part * (k % 5)) for k, part in enumerate(parts)])
        return np.real(total + np.sum(x[1:] * x[:-1]) * more)

    program = lower(primad.trace(primad.grad(f))(x))
    found = scatter_short_terms(program, smallest=1)
    assert (found is not program) == (ops.scatter_add in kinds(found)) and scatter_short_terms(
        found, smallest=1
    ) is found
    for form in (program, found):
        (given_,) = np.atleast_1d(primad.jit(form, backend="reference")(x))[None]
        np.testing.assert_array_equal(given_, primad.grad(f)(x))


def windows(count: int, width: int, size: int) -> Any:
    def f(y: Any) -> Any:
        return sum([np.sum(np.sin(y[i * 11 % (size - width) :][:width])) for i in range(count)])

    return lower(primad.trace(primad.grad(f))(np.linspace(0.0, 1.0, size)))


@pytest.mark.parametrize(
    ("count", "width", "size", "is_scattered"),
    [
        (32, 2, CALL_ELEMENTS // 32, True), (32, 2, CALL_ELEMENTS // 32 - 1, False),
        (FEWEST, 2, 500, True), (FEWEST - 1, 2, 500, False), (40, 50, 50 * SHORT, True),
        (40, 50, 50 * SHORT - 1, False), (40, 200, 500, False),
    ],
)  # fmt: skip
def test_few_and_long_terms_stay(count: int, width: int, size: int, is_scattered: bool) -> None:
    program = windows(count, width, size)
    found = scatter_short_terms(program)
    assert (found is not program) == is_scattered
    assert (ops.pad in kinds(found)) != is_scattered
    for family in (LOCAL, ROUNDING):
        with without(family):
            assert scatter_short_terms(program) is program


def test_a_part_of_the_sum_that_is_read_elsewhere_stays() -> None:
    starts = np.random.default_rng(2).integers(0, 490, 40).tolist()

    def put(part: Any, i: int) -> Any:
        return ops.pad(part, low=(i,), high=(497 - i,), interior=(0,))

    def f(y: Any) -> Any:
        first = sum([put(np.sin(y[i : i + 3]), i) for i in starts[:20]])
        return first + sum([put(np.cos(y[i : i + 3]), i) for i in starts[20:]]), np.exp(first)

    y = np.linspace(0.0, 1.0, 500)
    program = lower(primad.trace(f)(y))
    found = scatter_short_terms(program)
    assert sum(node.op is ops.scatter_add for node in found.nodes) == 2
    for one, other in zip(primad.jit(found)(y), f(y), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


def test_gradients_of_many_windows_and_their_derivatives() -> None:
    """What `simplify` makes of them has no array with zeros around it, and the Hessian is that of differences."""
    starts = np.random.default_rng(1).integers(0, 190, 60).tolist()

    def f(y: Any) -> Any:
        return sum([np.prod(y[i : i + 3]) * y[i + 5] for i in starts])

    y = np.linspace(0.5, 1.5, 200)
    gradient = primad.jit(primad.grad(f))
    assert ops.pad not in kinds(simplify(primad.trace(primad.grad(f))(y)))
    step = 1e-5 * np.eye(200)[starts[0]]
    product = (gradient(y + step) - gradient(y - step)) / 2e-5
    np.testing.assert_allclose(primad.hessian(f)(y)[starts[0]], product, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(gradient(y) @ np.ones(200), (f(y + 1e-6) - f(y - 1e-6)) / 2e-6, rtol=1e-8)
