"""Tests draw the same in any order."""

import numpy as np
import pytest

RANDOM = np.random.default_rng(0)
DRAWN = {"made": set(), "drawn": set()}


@pytest.fixture
def made() -> float:
    return RANDOM.normal()


@pytest.mark.parametrize("again", range(3))
def test_a_test_draws_the_same_whatever_ran_before(again: int, made: float) -> None:
    """And something else than its fixtures have drawn."""
    drawn = RANDOM.normal()
    assert drawn != made
    DRAWN["made"].add(made)
    DRAWN["drawn"].add(drawn)
    assert len(DRAWN["made"]) == len(DRAWN["drawn"]) == 1
