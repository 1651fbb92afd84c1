"""Definitions that write into an array they are given: the same numbers, whatever order the array has."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from primad.ops import contract
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from tests.cases import CASES

WRITING = [
    name for name, case in CASES.items() if "out" in inspect.signature(case.op.numpy).parameters and not case.through
]


def outputs(like: Any) -> list[Any]:
    """Return arrays of a shape: in each order, and with gaps."""
    gaps = np.full((*like.shape, 2), 7, like.dtype)[..., 0]
    return [np.full(like.shape, 7, like.dtype, order) for order in ("C", "F")] + [gaps]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.filterwarnings("ignore")
def test_what_is_written_is_what_is_returned(name: str) -> None:
    trial = Trial(CASES[name], CASES[name].op, Seeded(name))
    node = next(node for node in trial.program.nodes if node.op is CASES[name].op)
    known = dict(zip(trial.program.inputs, trial.values, strict=True))
    if any(x not in known for x in node.inputs):
        pytest.skip("an operand is a literal")
    arrays, params = [np.asarray(known[x]) for x in node.inputs], dict(node.params)
    wanted = np.asarray(node.op.numpy(*arrays, **params))
    for out in outputs(wanted):
        node.op.numpy(*arrays, **params, out=out)
        np.testing.assert_array_equal(out, wanted)
    if node.op.axes.pointwise:
        first = [np.asarray(x[(0,) * x.ndim]) for x in arrays]
        for out in outputs(wanted[(0,) * wanted.ndim]):
            node.op.numpy(*first, **params, out=out)
            np.testing.assert_array_equal(out, node.op.numpy(*first, **params))


@pytest.mark.parametrize(
    "labels", ["ab,bc->ac", "ab,bc->ca", "abc,cd->dab", "cab,cd->bad", "abc,bcd->da", "ab,ab->ba", "a,b->ba"]
)
@pytest.mark.parametrize("dtype", [float, int, complex])
def test_products_are_written_in_the_order_of_their_letters(labels: str, dtype: type) -> None:
    lengths = {"a": 3, "b": 4, "c": 5, "d": 2}
    rng = np.random.default_rng(0)
    x, y = (
        rng.integers(-9, 9, [lengths[c] for c in part]).astype(dtype) for part in labels[: labels.index("-")].split(",")
    )
    wanted = np.einsum(labels, x, y)
    for out in outputs(wanted):
        contract.numpy(x, y, labels=labels, out=out)
        np.testing.assert_array_equal(out, wanted)
