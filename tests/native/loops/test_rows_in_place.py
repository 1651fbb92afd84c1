"""Loops read rows where they lie, however far apart, and write them where they are joined with others."""

import numpy as np
import pytest

import primad
from primad.native.llvm.compiler import compiler
from primad.runtime.plan.native_regions import Partition
from primad.simplify import simplify

pytestmark = pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")

SEEN = {
    "all": lambda x: x,
    "every second": lambda x: x[::2],
    "without edges": lambda x: x[1:-1],
    "some columns": lambda x: np.concatenate([x[:, 2:], x[:, :2]], axis=1)[:, : x.shape[1] - 3],
    "transposed": lambda x: (x.T @ x)[:9].T,
    "the same": lambda x: np.broadcast_to(x[3], (7, x.shape[1])),
}
JOINED = {
    "alone": lambda first, rows: rows,
    "after the first": lambda first, rows: np.concatenate([first[None], rows]),
    "in a row": lambda first, rows: np.concatenate([first[None] * 2.0, rows.reshape(-1, len(first)), first[None]]),
    "beside": lambda first, rows: np.concatenate([rows, rows * 2.0], axis=1),
    "beside within": lambda first, rows: np.concatenate([np.concatenate([first[None], rows]), rows[:1]])[1:],
}


def step(total, row):
    """Return a step that is too long for registers."""
    total = np.tanh(total + row) * np.cos(total[::-1]) + np.roll(row, 1)
    return total, np.sin(total) * row


def taken(total, rows, reverse):
    """Return what the loop returns, computed by NumPy."""
    found = [None] * len(rows)
    for i in reversed(range(len(rows))) if reverse else range(len(rows)):
        total, found[i] = step(total, rows[i])
    return total, np.array(found)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("joined", JOINED)
@pytest.mark.parametrize("seen", SEEN)
def test_rows_are_read_and_written_where_they_lie(seen, joined):
    x = np.random.default_rng(0).normal(size=(15, 160))

    def of(scan, reverse):
        def result(x):
            rows = SEEN[seen](x)
            total, found = scan(np.ones(rows.shape[1]), rows, reverse)
            return JOINED[joined](total, found)

        return result

    for reverse in (False, True):
        function = of(lambda start, rows, reverse: primad.scan(step, start, rows, reverse=reverse), reverse)
        np.testing.assert_allclose(primad.jit(function)(x), of(taken, reverse)(x), rtol=1e-10, atol=1e-10)


def test_operands_that_lie_in_order_need_no_memory():
    """Nor do results that are used."""
    x = np.ones((400, 160))

    def of(x):
        total, rows = primad.scan(step, np.ones(160), x[::2])
        return total, np.concatenate([x[:1], rows])

    parts = Partition(simplify(primad.lower(primad.trace(of)(x))))
    assert parts.is_one_part and parts.scratch < x.nbytes / 8
