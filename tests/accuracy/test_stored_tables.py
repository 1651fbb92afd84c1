"""Special functions are as right as their page says, at the points of stored tables of references."""

from __future__ import annotations

import json

import numpy as np
import pytest

import primad
import primad.scipy.special as recorded
from tests.accuracy import page, stored
from tests.accuracy.distributions import DISTRIBUTIONS
from tests.accuracy.functions import FUNCTIONS, LEFT_OUT, name_of
from tests.accuracy.grids import POSITIVE, points
from tests.accuracy.reference import ORDERS, reference, slopes

TABLES = stored.read()
KNOWN = json.loads(page.KNOWN.read_text(encoding="utf-8"))


def test_every_recorded_function_has_a_table_or_a_reason() -> None:
    assert {name_of(name) for name in FUNCTIONS} | set(LEFT_OUT) == set(recorded.__all__)
    assert set(TABLES) == set(FUNCTIONS)
    named = page.PAGE.read_text(encoding="utf-8")
    assert not [name for name in [*TABLES, *KNOWN] if f"`{name}`" not in named]


@pytest.mark.one_in(16)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_within_bounds_but_where_the_page_says(name: str) -> None:
    found, known = page.beyond(name, TABLES[name]), KNOWN.get(name, {})
    added = {what: set(off) - set(known.get(what, [])) for what, off in found.items()}
    at = TABLES[name].at
    assert not any(added.values()), {what: [at[k].tolist() for k in off if k >= 0] for what, off in added.items()}


def test_a_reference_is_right() -> None:
    """Derivatives of x³·y by differences, tiny and huge; log of a negative number is none."""
    for x, y in ((2.0, 3.0), (1e-200, 5e-324), (-1e90, 7.0)):
        row = reference(lambda m, x, y: x**3 * y, (x, y), 10.0)
        assert row is not None
        exact = [x**3 * y, 3 * x**2 * y, 6 * x * y, 6 * y, x**3, 0.0, 0.0]
        np.testing.assert_allclose(row[: 1 + 2 * ORDERS], exact, rtol=1e-15, atol=1e-320)
    assert reference(lambda m, x: m.log(x), (-1.0,), 10.0) is None


def test_grids_are_drawn_alike_each_time() -> None:
    first, second = (points((POSITIVE, POSITIVE), 20, 3) for _ in range(2))
    assert (first == second).all() and (first > 0).all() and first.min() < 1e-100 < 1e100 < first.max()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("x", [1e-8, 1e-13, 1e-17, 1e-100, 1e-250])
def test_incomplete_beta_functions_of_small_shapes_far_left(x: float) -> None:
    """The integral over what lies to the right of x spans all sizes from x to 1."""
    for a, b in ((0.001, 0.02), (0.001, 300.0), (0.03, 0.5), (0.2, 3.0)):
        exact = slopes(DISTRIBUTIONS["betainc"].meaning, (a, b, x), (0, 1), 20.0)
        found = primad.grad(recorded.betainc, (0, 1))(a, b, x)
        np.testing.assert_allclose(found, exact, rtol=2e-12, err_msg=f"{a}, {b}")
