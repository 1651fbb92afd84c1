"""Products that are symmetric by what is done to rows of their operands: found, half computed, and mirrored."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.arrays.contraction import matrix_form
from primad.runtime.tiling.self_adjoint_products import is_self_adjoint
from primad.simplify import simplify
from tests.runtime.tiling.test_symmetric_products import COLUMNS, RNG, D, X, blocks_in, in_blocks
from tests.runtime.tiling.test_symmetric_products import small_blocks as small_blocks

Function = Callable[..., Any]


def cox(w: Any, x: Any) -> Any:
    """Cox's partial likelihood: each that fails is compared with those that are left."""
    z = x @ w
    return np.sum((D > 0) * (np.log(np.cumsum(np.exp(z)[::-1])[::-1]) - z))


HALVED: dict[str, Function] = {
    "the length of a curve": lambda w, x: np.sum(np.sqrt(1 + np.diff(x @ w) ** 2)),
    "Cox's partial likelihood": cox,
    "running sums": lambda w, x: np.sum(np.cos(np.cumsum(x @ w))),
    "second differences": lambda w, x: np.sum(np.exp(np.diff(x @ w, 2) / 9)),
    "both, weighed": lambda w, x: np.sum(np.sin(np.diff(np.cumsum(x @ w) * D.astype(x.dtype)))) + np.sum((x @ w) ** 3),
    "every second point": lambda w, x: np.sum(np.exp(np.sin((x @ w)[::2]))),
    "neighbours": lambda w, x: np.sum(np.sin((z := x @ w)[1:] * z[:-1])),
    "around": lambda w, x: np.sum(np.tanh(np.roll(z := x @ w, 3) - z) ** 2),
}
WHOLE: dict[str, Function] = {
    "a running sum": lambda x, d: x.T @ np.cumsum(x, axis=0),
    "shifted": lambda x, d: x[1:].T @ x[:-1],
    "weighed before and after": lambda x, d: x.T @ np.flip(d[:, None] * np.flip(np.cumsum(x, 0), 0), 0),
    "turned once": lambda x, d: x.T @ (d[:, None] * x[::-1]),
    "differences with others": lambda x, d: np.diff(x, axis=0).T @ np.diff(np.sin(x), axis=0),
    "running sums of columns": lambda x, d: x.T @ np.cumsum(x, axis=1),
}
STEPS: tuple[Function, ...] = (
    lambda x, d: x[::-1],
    lambda x, d: np.cumsum(x, axis=0),
    lambda x, d: np.cumsum(x[::-1], axis=0)[::-1],
    lambda x, d: x * d,
    lambda x, d: x / (2.0 + np.cos(d)),
    lambda x, d: x - np.concatenate([x[1:], x[:1]]),
    lambda x, d: -x,
    lambda x, d: np.concatenate([np.diff(x, axis=0), x[:1]]) + x,
)
"""What is done to rows, by weights of one axis more than the rows have."""
SUMS = (5, 7)
"""Which of these add up several words."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", HALVED)
def test_half_of_a_hessian_of_moved_points_is_computed(name: str, dtype: Any) -> None:
    x, w = X.astype(dtype), np.linspace(-0.1, 0.1, COLUMNS, dtype=dtype)
    blocks, found, want = in_blocks(lambda w, x: primad.hessian(HALVED[name])(w, x)[:, :], w, x)
    assert blocks.count > 1
    assert "half of 1 by symmetry" in blocks.each
    np.testing.assert_array_equal(found, found.T)
    scale = 1000 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, want, rtol=scale, atol=scale * np.abs(want).max())


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_not_symmetric_is_computed_whole(name: str) -> None:
    assert not claimed(WHOLE[name], X, D)


def claimed(function: Function, *arguments: Any) -> bool:
    """Say whether the last product of a function is said to be symmetric."""
    program = simplify(primad.trace(function)(*arguments).hoisted())
    product = next(node for node in reversed(program.nodes) if node.op is primad.ops.contract)
    form = matrix_form(dict(product.params)["labels"])
    assert form is not None
    x_order, y_order, _, rows, summed, _ = form
    assert summed == 1
    x, y = product.inputs
    return is_self_adjoint(x, (*x_order[rows:], *x_order[:rows]), y, y_order)


def chain(steps: Any, x: Any, d: Any) -> Any:
    for step in steps:
        x = STEPS[step](x, d)
    return x


def test_what_is_said_to_be_symmetric_is_so_for_all_that_is_done_to_rows() -> None:
    """None that is not symmetric is claimed, and each Hessian is that has no more words than are kept.

    Those of three steps that are sums may have more.
    """
    x, found = np.tanh(X[:9, :4]), []
    for _ in range(60):
        first, second = (RNG.integers(len(STEPS), size=RNG.integers(0, 4)) for _ in range(2))

        def product(x: Any, d: Any, first: Any = first, second: Any = second) -> Any:
            y = np.tanh(x)
            return chain(first, y, d[:, None]).T @ chain(second, y, d[:, None])

        value = np.asarray(primad.jit(product)(x, D[:9]))
        said = claimed(product, x, D[:9])
        assert not said or np.allclose(value, value.T, rtol=1e-9, atol=1e-9 * np.abs(value).max())
        found.append(said)
        loss = lambda w, first=first: np.sum(np.sin(chain(first, x @ w, D[:9]) / 9))  # noqa: E731
        hessian = lambda w, loss=loss: primad.hessian(loss)(w)[:, :]  # noqa: E731
        assert claimed(hessian, np.linspace(0.1, 0.2, 4)) or len(first) in (0, sum(np.isin(first, SUMS)) // 3 * 3), (
            first
        )
    assert 3 < sum(found) < 40


def test_long_sums_are_looked_through_once() -> None:
    """Each of 40 values is taken twice, and of 300 ops some are left."""

    def twice(x: Any, d: Any) -> Any:
        z = x
        for i in range(40):
            z = z + np.cos(d + i)[:, None] * z[::-1]
        return x.T @ z

    def long(x: Any, d: Any) -> Any:
        z = x
        for i in range(300):
            z = np.cumsum(z / (2.0 + d + i)[:, None], axis=0)
        return x.T @ z

    for function in (twice, long):
        before = time.process_time()
        assert not claimed(function, X, D)
        assert time.process_time() - before < 20.0


def test_large_operands_are_not_held_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from primad.runtime.tiling import block_sums, tiled_plan

    function = lambda w, x: primad.hessian(HALVED["the length of a curve"])(w, x)[:, :]  # noqa: E731
    program = simplify(primad.trace(function)(np.zeros(COLUMNS), X).hoisted())
    assert "half of 1" in blocks_in(tiled_plan.make_plan(program))[0].each
    monkeypatch.setattr(block_sums, "BUDGET", replace(BUDGET, moved=1))
    assert not any("half of" in blocks.each for blocks in blocks_in(tiled_plan.make_plan(program)))
