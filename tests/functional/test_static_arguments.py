"""Arguments that are constants for `jit`, however they are declared and passed; and arguments passed by keyword."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad

X = np.arange(3.0)
WAYS: list[dict[str, Any]] = [
    {"static_argnums": (1, 2)},
    {"static_argnums": (-2, -1)},
    {"static_argnums": np.int64(1), "static_argnames": "n"},
    {"static_argnames": ["n", "mode"]},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_static_parameter_is_static_passed_either_way(way: dict[str, Any]) -> None:
    """What is chosen by Python's `if` and `range` needs their values; equal calls are recorded once."""
    recorded = []

    def f(x: Any, mode: str = "a", n: int = 2) -> Any:
        recorded.append((mode, n))
        factor = 2.0 if mode == "a" else 3.0
        for _ in range(n):
            factor = factor * x
        return np.sum(factor)

    plain = [((X,), {}), ((X, "b"), {}), ((X, "a", 3), {}), ((), {"x": X, "n": 3, "mode": "b"}), ((X, "b"), {"n": 1})]
    expected = [f(*args, **kwargs) for args, kwargs in plain]
    jitted = primad.jit(f, **way)
    for _ in range(2):
        recorded.clear()
        for (args, kwargs), value in zip(plain, expected, strict=True):
            assert jitted(*args, **kwargs) == value
    assert not recorded
    np.testing.assert_array_equal(primad.grad(jitted)(X, mode="b"), 6 * X)
    assert primad.jit(lambda x: jitted(x, n=3, mode="b"))(X) == f(X, "b", 3)


def test_static_names_of_all_kinds_of_parameters() -> None:
    only = primad.jit(lambda x, *, k: x * (2.0 if k == "two" else 3.0), static_argnames="k")
    any_ = primad.jit(lambda x, **options: x * len(options["k"]), static_argnames="k")
    for jitted in (only, any_):
        np.testing.assert_array_equal(jitted(X, k="two") / X[1], jitted(X, k="two"))
        assert jitted(X, k="two")[1] in (2.0, 3.0) and jitted(X, k="three")[1] in (3.0, 5.0)
    last = primad.jit(lambda *values: values[0] * len(values[-1]), static_argnums=-1)
    assert last(X, "ab")[1] == 2.0 and last(X, X, "abc")[1] == 3.0

    class Model:
        def value(self, x: Any, mode: str) -> Any:
            return x * len(mode)

    assert primad.jit(Model().value, static_argnames="mode")(X, mode="ab")[1] == 2.0
    assert primad.jit(Model.value, static_argnums=(0, 2))(Model(), X, mode="ab")[1] == 2.0


def test_what_is_said_of_static_arguments() -> None:
    def f(x: Any, mode: str) -> Any:
        return x * len(mode)

    with pytest.raises(primad.TracingError, match=r"names 'kind'(?s:.)*x, mode"):
        primad.jit(f, static_argnames="kind")
    with pytest.raises(primad.TracingError, match="static_argnames='mode'"):
        primad.jit(f)(X, mode="ab")
    with pytest.raises(primad.TracingError, match="static argument 'mode' is not hashable"):
        primad.jit(f, static_argnums=1)(X, mode=["ab"])


def scaled(x: Any, *, k: Any, mode: str = "sin") -> Any:
    return np.sin(x) * k if mode == "sin" else x * k


@pytest.mark.parametrize(
    "transform",
    [
        primad.grad, primad.value_and_grad, primad.jacobian, primad.hessian, primad.laplacian, primad.jit,
        primad.checkpoint, primad.derivative,
    ],
)  # fmt: skip
def test_transforms_take_keyword_arguments(transform: Any) -> None:
    """As if they were closed over."""
    found, wanted = transform(scaled)(1.0, k=2.0), transform(lambda x: scaled(x, k=2.0))(1.0)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


def test_keyword_arguments_of_what_shows_programs_and_maps() -> None:
    for function in (scaled, primad.jit(scaled, static_argnames="mode")):
        report = primad.explain(function, X, k=2.0, mode="line")
        assert report.name == "scaled" and "sin" not in report.svg()
    program = primad.trace(scaled)(X, k=2.0)
    assert program.names == ("x", "k")
    np.testing.assert_array_equal(program(X, 2.0), scaled(X, k=2.0))
    np.testing.assert_array_equal(primad.vmap(scaled)(X, k=X), scaled(X, k=X))
    np.testing.assert_array_equal(primad.vmap(scaled, in_axes=1)(X[None], k=X), scaled(X, k=X)[:, None])
    np.testing.assert_array_equal(
        primad.grad(lambda k: np.sum(primad.checkpoint(scaled)(X, k=k)))(2.0), np.sum(np.sin(X))
    )
