"""Directions of derivatives as NumPy's users write them: np.array([1, 0, 0]), also inside of transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import primad

X = np.array([1.0, 2.0, 3.0])


def cubes(x: Any) -> Any:
    return x**3


def total(x: Any) -> Any:
    return np.sum(x**3)


ALONG: dict[str, Callable[[Any, Any], Any]] = {
    "jvp": lambda x, v: primad.jvp(cubes, (x,), (v,))[1],
    "vjp": lambda x, v: primad.vjp(cubes, x)[1](v)[0],
    "linearize": lambda x, v: primad.linearize(cubes, x)[1](v),
    "linear_transpose": lambda x, v: primad.linear_transpose(lambda y: x * y, x)(v)[0],
    "hvp": lambda x, v: primad.hvp(total, x, v),
    "J @ v": lambda x, v: primad.jacobian(cubes)(x) @ v,
    "v @ J": lambda x, v: v @ primad.jacobian(cubes)(x),
    "H @ v": lambda x, v: primad.hessian(total)(x) @ v,
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("name", ALONG)
def test_integers_are_directions(name: str, dtype: str) -> None:
    along, v = ALONG[name], np.array([1, 0, 1])
    wanted = along(X, v.astype(float))
    single = X.astype(np.float32)
    np.testing.assert_array_equal(along(X, v.astype(dtype)), wanted)
    np.testing.assert_array_equal(primad.jit(along)(X, v.astype(dtype)), wanted)
    assert primad.jit(along)(single, v.astype(dtype)).dtype == (
        np.result_type(single, dtype) if "@" in name else np.float32
    )
    mapped = primad.vmap(lambda v: along(X, v))(np.eye(3, dtype=dtype))
    np.testing.assert_array_equal(mapped, [along(X, row) for row in np.eye(3)])


def test_scipy_probes_with_small_integers() -> None:
    found = scipy.optimize.minimize(
        lambda x: np.sum((x - X) ** 2), 0 * X, jac=lambda x: 2 * (x - X), method="trust-constr",
        hessp=lambda x, v: primad.hvp(lambda x: np.sum((x - X) ** 2), x, v),
    )  # fmt: skip
    np.testing.assert_allclose(found.x, X, atol=1e-6)


def test_a_list_is_said_to_be_a_tree() -> None:
    with pytest.raises(primad.ShapeError, match=r"Fix: a list is a tree of numbers: pass np\.array"):
        primad.jvp(cubes, (X,), ([1, 0, 0],))
    with pytest.raises(primad.ShapeError, match=r"expected the tree") as raised:
        primad.vjp(cubes, X)[1]({"x": X})
    assert "list" not in str(raised.value)
