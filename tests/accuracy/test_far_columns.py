"""Products of matrices whose columns are far from zero: no law that they go through may cancel what they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import numpy as pnp
from primad.scipy.special import logsumexp

ROWS, COLUMNS, SHOWN = 4000, 600, 3
AWAY = 300.0
"""How far columns are from zero, in their deviations."""


def from_a_row(x: Any, w: Any) -> Any:
    return x.T @ (x - (w * 0 + AWAY))


def of_variance(x: Any, w: Any) -> Any:
    return primad.hessian(lambda w: np.var(x @ w))(w)[...]


def of_softmax(x: Any, w: Any) -> Any:
    return primad.hessian(lambda w: logsumexp(x @ w))(w)[...]


def exact(function: Callable[..., Any], x: Any, w: Any) -> Any:
    """Return some columns of the products in extended precision."""
    x, w = x.astype(np.longdouble), w.astype(np.longdouble)
    chances = np.exp(x @ w - np.max(x @ w))
    chances = chances / np.sum(chances) if function is of_softmax else np.full(ROWS, np.longdouble(1) / ROWS)
    near = x - chances @ x
    if function is from_a_row:
        return x[:, :SHOWN].T @ (x - AWAY)
    return (2 if function is of_variance else 1) * (near[:, :SHOWN] * chances[:, None]).T @ near


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [from_a_row, of_variance, of_softmax])
def test_columns_far_from_zero_keep_their_digits(function: Callable[..., Any], dtype: str) -> None:
    """Rounding of the columns themselves, relative to their deviations, is all that is lost.

    The row from which a softmax's columns are counted is rounded too, and the columns are multiplied with that.
    """
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(ROWS, COLUMNS)) + AWAY).astype(dtype)
    w = (rng.normal(size=COLUMNS) / COLUMNS).astype(dtype)
    found = np.asarray(primad.jit(lambda w: function(pnp.asarray(x), w))(w))[:SHOWN]
    wanted = exact(function, x, w)
    error = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    assert error < 8 * AWAY * (AWAY if function is of_softmax else 1) * np.finfo(dtype).eps
