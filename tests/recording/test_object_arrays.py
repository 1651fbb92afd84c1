"""NumPy's arrays of objects with traced numbers: what is computed with them is right, or the way out that is named is.

Every program is written with NumPy's plain functions. It gives what the same program gives with primad's names for
them, under every transform, or an error that names an expression that does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.special

import primad
import primad.numpy as pnp
import primad.scipy.linalg
from primad import PrimadError

X = np.array([0.3, 0.7, 1.1])
Form = Callable[[Any, Any], Any]
WORK: dict[str, Form] = {
    "two functions": lambda x, np: np.array([x[0] * x[1], np.sin(x[2])]),
    "a tuple and numbers": lambda x, np: np.array((x[0], 1.0, True, 2)),
    "comprehension": lambda x, np: np.array([xi**2 for xi in x]),
    "a matrix": lambda x, np: np.array([[x[0], 1.0], [2.0, x[1]]]),
    "asarray": lambda x, np: np.asarray([x[0], x[1]]),
    "a right side": lambda x, np: np.array([x[1], -np.sin(x[0]) - 0.1 * x[1]]) * x[2],
    "a rotation": lambda x, np: np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]) @ x[:2],
    "products of both": lambda x, np: np.array([[x[0], 1.0], [2.0, x[1]]]) @ np.array([x[1], x[2]]),
    "from the left": lambda x, np: x[:2] @ np.array([[x[0], 1.0], [2.0, x[1]]]),
    "plain times it": lambda x, np: np.ones((2, 2)) @ np.array([x[0], x[1]]),
    "arithmetic": lambda x, np: (2 * np.array([x[0], x[1]]) - x[2]) / np.array([1.0, x[2]]) ** 2,
    "a transpose": lambda x, np: np.array([[x[0], 1.0], [2.0, x[1]]]).T.reshape(4)[1:],
    "a write": lambda x, np: (lambda a: (a.__setitem__(0, 3.0), a * x[1])[1])(np.array([x[0], x[1]])),
    "a sum": lambda x, np: np.sum(np.array([x[0], x[1] * x[2]])),
    "a cross product": lambda x, np: np.cross([x[0], x[1], 1.0], [0.0, x[1], 1.0]),
    "dot": lambda x, np: np.dot([x[0], 1.0], [x[1], x[2]]),
    "einsum": lambda x, np: np.einsum("i,i", np.array([x[0], 1.0]), x[:2]),
    "concatenated": lambda x, np: np.concatenate([[x[0], 1.0], [x[1]]]),
    "with a traced one": lambda x, np: np.concatenate([np.array([x[0], 1.0]), x]),
    "appended": lambda x, np: np.append(np.array([x[0]]), x[1]),
    "diagonal": lambda x, np: np.diag([x[0], 1.0]),
    "polyval": lambda x, np: np.polyval([x[0], 1.0, x[1]], x[2]),
    "functions of traced ones": lambda x, np: np.exp([x[0], x[1]]) + np.arctan2([x[0], x[1]], x[2]),
    "a number": lambda x, np: np.asarray(x[0]) * np.array(x[1]),
    "a tree": lambda x, np: {"a": np.array([x[0], 1.0]), "b": [np.array([x[1]])]},
    "kept float32": lambda x, np: np.array([x[0].astype(np.float32), x[1].astype(np.float32)]),
    "an argument": lambda x, np: primad.grad(lambda y: (y**3).sum())(np.array([x[0], x[1]])),
    "of a jacobian": lambda x, np: primad.jacobian(lambda y: y * y[0])(np.array([x[0], x[1]])) @ np.array([x[2], 1.0]),
    "jitted": lambda x, np: primad.jit(lambda y: np.sin(y))(np.array([x[0], x[1]])),
    "mapped": lambda x, np: primad.vmap(lambda y: y * y)(np.array([x[0], x[1]])),
    "carried": lambda x, np: primad.scan(lambda c, _: (c * x[2], None), np.array([x[0], x[1]]), length=3)[0],
    "solved": lambda x, np: primad.scipy.linalg.solve(np.array([[x[0], 1.0], [2.0, x[1]]]), x[:2]),
    "written into": lambda x, np: primad.numpy.set_at(np.array([x[0], x[1]]), 0, x[2]),
    "primad's function": lambda x, np: primad.numpy.tanh(np.array([x[0], 1.0])),
    "chosen": lambda x, np: primad.numpy.where(x[:2] > 0.5, np.array([x[0], x[1]]), 0.0),
    "a method": lambda x, np: x[:2].dot(np.array([x[0], x[1]])),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WORK)
def test_plain_numpy_gives_what_primads_names_give(name: str) -> None:
    form = WORK[name]

    def plain(x: Any) -> Any:
        return form(x, np)

    def named(x: Any) -> Any:
        return form(x, pnp)

    def both(of: Callable[[Callable[[Any], Any]], Any]) -> None:
        found, wanted = primad.recording.tree.leaves(of(plain)), primad.recording.tree.leaves(of(named))
        assert [np.shape(x) for x in found] == [np.shape(x) for x in wanted]
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-14)

    both(lambda f: primad.jit(f)(X))
    both(lambda f: primad.jacobian(f)(X))
    both(lambda f: primad.vmap(f)(np.stack([X, 2 * X])))
    both(lambda f: primad.jvp(f, (X,), (X,))[1])


REFUSED: dict[str, Form] = {
    "a dtype": lambda x, np: np.array([x[0], 1.0], dtype=float),
    "astype": lambda x, np: np.array([[x[0], 1.0]]).astype(float),
    "rows": lambda x, np: np.array([x, x]),
    "a determinant": lambda x, np: np.linalg.det(np.array([[x[0], 1.0], [2.0, x[1]]])),
    "an equation": lambda x, np: np.linalg.solve(np.array([[x[0], 1.0], [2.0, x[1]]]), np.array([1.0, x[1]])),
    "SciPy's equation": lambda x, np: scipy.linalg.solve(np.array([[x[0], 1.0], [2.0, x[1]]]), [1.0, 0.0]),
    "a special function": lambda x, np: scipy.special.erf([x[0], x[1]]),
    "a transform": lambda x, np: np.fft.hfft([x[0], x[1]]),
    "a transform to real numbers": lambda x, np: np.fft.irfft([x[0], x[1], 1.0], n=4),
    "a mean": lambda x, np: np.mean([x[0], 1.0]),
    "a deviation": lambda x, np: np.std(np.array([x[0], 1.0])),
    "a function of numbers too": lambda x, np: np.exp(np.array([x[0], 1.0])),
    "rounded": lambda x, np: np.round(np.array([x[0], 1.0]), 1),
    "floor": lambda x, np: np.floor(np.array([x[0], 1.0])),
    "not a number": lambda x, np: np.isnan(np.array([x[0], 1.0])) * x[0],
    "interpolated": lambda x, np: np.interp(np.array([x[0], x[1]]), [0.0, 1.0], [0.0, 2.0]),
    "divided by zero": lambda x, np: 1.0 / np.array([x[0], 0.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_the_expression_that_a_message_names_works(name: str) -> None:
    form = REFUSED[name]
    for transform in (primad.jit, primad.jacobian):
        with pytest.raises(PrimadError, match=rf"\n  in {re.escape(__file__)}:\d+$") as caught:
            transform(lambda x: form(x, np))(X)
        named = re.search(r"Fix: write (.*): primad\.numpy takes traced values in lists\.", str(caught.value))
        assert named, str(caught.value)
        scope = {"primad": primad, "np": np, "scipy": scipy}
        with np.errstate(divide="ignore"):
            found = primad.jit(lambda x: eval(named[1], {**scope, "x": x}))(X)  # noqa: B023
            np.testing.assert_allclose(found, form(X, pnp), rtol=1e-12)


def test_an_array_that_has_a_name_is_made_again_where_it_was_made() -> None:
    def f(x: Any) -> Any:
        matrix = np.array([[x[0], 1.0], [2.0, x[1]]])
        return np.linalg.det(matrix)

    with pytest.raises(PrimadError) as caught:
        primad.grad(f)(X)
    line = f.__code__.co_firstlineno + 1
    told = "make the array with primad.numpy: matrix = primad.numpy.array([[x[0], 1.0], [2.0, x[1]]]), in "
    assert f"Fix: {told}{__file__}:{line}." in str(caught.value)


def test_a_choice_that_needs_values_is_named_where_there_are_none() -> None:
    with pytest.raises(
        PrimadError, match=r"Fix: write np\.maximum\(primad\.numpy\.array\(\[x\[0\], x\[1\]\]\), 0\.5\)"
    ):
        primad.jit(lambda x: np.maximum(np.array([x[0], x[1]]), 0.5))(X)
    np.testing.assert_array_equal(
        primad.jacobian(lambda x: np.maximum(np.array([x[0], x[1]]), 0.5))(X), [[0, 0, 0], [0, 1, 0]]
    )


def test_numbers_that_scipy_asks_for_are_refused_and_not_taken() -> None:
    spline = scipy.interpolate.UnivariateSpline(np.arange(6.0), np.arange(6.0) ** 2)
    with pytest.raises(PrimadError, match=r"spline\(x\[0\]\)(?s:.*)Fix: (?s:.*)primad\.opaque"):
        primad.grad(lambda x: spline(x[0]))(X)


def test_an_array_that_may_be_written_to_is_not_taken_for_a_number() -> None:
    def f(x: Any, start: Any) -> Any:
        total = pnp.array(start(x))
        before = np.array([total, x[1]])
        total += x[2]
        return before.sum() if start(x) is x[0] else primad.numpy.sum(before)

    with pytest.raises(PrimadError, match=r"Fix: write primad\.numpy\.array\(\[total, x\[1\]\]\)"):
        primad.grad(lambda x: f(x, lambda x: x[0]))(X)
    with pytest.raises(PrimadError, match=r"what is written to it later"):
        primad.grad(lambda x: f(x, lambda x: 1.0))(X)


def test_an_array_that_outlives_its_recording_says_so() -> None:
    kept: list[Any] = []
    primad.grad(lambda x: kept.append(np.array([x[0], x[1]])) or x[0])(X)
    with pytest.raises(primad.TracingError, match="used after its trace ended"):
        primad.grad(lambda x: (kept[0] * x[:2]).sum())(X)
