"""Sums in which one term is looked for and replaced."""

from __future__ import annotations

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.law_families import LOCAL, without
from primad.ir.node import Node, is_literal
from primad.simplify import factor_linear
from primad.simplify.factor_linear import instead_in_sum
from primad.transforms import lower


@pytest.mark.parametrize("length", [1, 2, 5, 32, 33, 40])
def test_as_many_additions_are_looked_into_as_is_said(length: int) -> None:
    """The first term of a sum is the last that is looked at: it is found in sums of 32 additions, and not in longer."""

    def function(first: float, *others: float) -> float:
        for i, term in enumerate(others):
            first = first - term if i % 2 else first + term
        return first

    program = primad.trace(function)(*[float(i) for i in range(length + 1)])
    wanted = program.inputs[0]

    def instead(node: Node, sign: int) -> Node | None:
        return node.trace.literal(7.0, node.type) if node is wanted else None

    found = instead_in_sum(program.outputs[0], instead)
    assert (found is not None) == (length <= 32)
    if found is not None:
        while found.op in (ops.add, ops.sub):
            found = found.inputs[0]
        assert is_literal(found, 7.0)


def test_sums_are_moved_through_as_many_linear_ops_as_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three transpositions that terms share is moved behind their sum, if so many are looked through."""
    turned = lambda x: ops.permute(ops.permute(x, order=(1, 0, 2)), order=(0, 2, 1))  # noqa: E731

    def counted(deepest: int) -> int:
        monkeypatch.setattr(factor_linear, "DEEPEST", deepest)
        with without(LOCAL):
            program = primad.trace(lambda x, y: turned(x) + turned(y))(np.ones((2, 3, 4)), np.ones((2, 3, 4)))
            return sum(node.op is ops.permute for node in factor_linear.factor_linear(program).nodes)

    assert [counted(deepest) for deepest in range(4)] == [4, 3, 2, 2]


LINEAR = {
    "turned": lambda x: x.T,
    "conjugate": np.conj,
    "turned conjugate": lambda x: np.conj(x.T),
    "transformed": np.fft.fft,
    "in double precision": lambda x: x.astype(np.result_type(x.dtype, np.float64)),
    "real": np.real,
    "imaginary": np.imag,
    "summed": lambda x: np.sum(x, axis=0),
}
SUMS = {
    "sum": lambda f, x, y, c, d: c * f(x) + d * f(y),
    "difference": lambda f, x, y, c, d: c * f(x) - f(d * y),
    "negative": lambda f, x, y, c, d: -(c * f(x)) - d * (c * f(y)),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("sum", SUMS)
@pytest.mark.parametrize("name", LINEAR)
def test_numbers_are_moved_through_what_is_linear_in_them(name: str, sum: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    arguments = [(rng.normal(size=shape) + 1j * rng.normal(size=shape)) for shape in ((3, 3), (3, 3), (), ())]
    arguments = [np.asarray(x if np.issubdtype(dtype, np.complexfloating) else x.real).astype(dtype) for x in arguments]
    function = lambda *xs: SUMS[sum](LINEAR[name], *xs)  # noqa: E731
    found, expected = factor_linear.factor_linear(primad.trace(function)(*arguments))(*arguments), function(*arguments)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=20 * np.finfo(dtype).eps, atol=40 * np.finfo(dtype).eps)


def test_terms_that_are_one_of_several_results_stay() -> None:
    """What gives several results has no sum of them."""
    x, y = np.arange(6.0).reshape(3, 2) ** 2 + 1, np.eye(3, 2)
    program = primad.trace(lambda x, y: np.linalg.qr(x)[1] + np.linalg.qr(y)[1])(x, y)
    found = factor_linear.factor_linear(lower(program))
    np.testing.assert_allclose(found(x, y), program(x, y), rtol=1e-14)
