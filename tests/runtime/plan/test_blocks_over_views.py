"""Steps that run block by block may write over an operand, also where that is read in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.runtime.plan.interpreter import Plan

RNG = np.random.default_rng(0)
LARGE = (500, 3000)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "backwards": lambda x: ops.flip(x, axes=(1,)),
    "from below": lambda x: ops.flip(x, axes=(0,)),
    "as it is": lambda x: x,
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_mask_of_what_is_read_in_another_order(name: str, order: Any) -> None:
    x, kept = np.array(RNG.normal(size=LARGE), order=order), RNG.random(LARGE) < 0.5
    masked = primad.trace(lambda kept, x: ops.exp(ops.mask(kept, VIEWS[name](ops.neg(x)))))(kept, x)
    found = np.asarray(Plan(masked.hoisted()).run([kept, x, *masked.source_values])[0])
    turned = {"backwards": x[:, ::-1], "from below": x[::-1], "as it is": x}[name]
    np.testing.assert_allclose(found, np.exp(np.where(kept, -turned, 0.0)), rtol=1e-14)
