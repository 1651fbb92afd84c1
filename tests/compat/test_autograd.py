"""The same programs here and in HIPS autograd, whose results are in `golden/autograd.json`."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.compat import autograd

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "golden"))

import autograd_rules
from autograd_programs import PROGRAMS, system
from encoding import differences, encode

GOLDEN = json.loads((Path(__file__).parent / "golden" / "autograd.json").read_text())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("program", [*PROGRAMS, *autograd_rules.PROGRAMS])
def test_same_as_autograd(program: Callable[[Any], Any]) -> None:
    found = json.loads(json.dumps(encode(program(system("primad.compat.autograd")))))
    assert list(differences(found, GOLDEN[program.__name__], 1e-8)) == []


def test_programs_may_write_into_arrays_and_be_compiled() -> None:
    anp = system("primad.compat.autograd").np

    def f(x: Any) -> Any:
        y = anp.zeros(3)
        for i in range(3):
            y[i] = anp.sin(x[i]) * x[0]
        return anp.sum(y)

    x = np.array([0.4, 1.0, 2.0])
    slope = autograd.grad(f)(x)
    assert np.allclose(primad.jit(autograd.grad(f))(x), slope)
    primad.check_grads(f, (x,))


def test_a_primitive_without_a_rule_says_so() -> None:
    @autograd.primitive
    def cube(x: Any) -> Any:
        return float(x) ** 3

    assert cube(2.0) == 8.0
    with pytest.raises(primad.errors.NotDifferentiableError, match="no rule for argument 0"):
        autograd.grad(cube)(2.0)
    autograd.defvjp(cube, lambda ans, x: lambda g: 3.0 * g * x**2)
    assert autograd.grad(autograd.grad(cube))(2.0) == 12.0
    assert np.allclose(primad.jit(autograd.grad(cube))(2.0), 12.0)
    with pytest.raises(primad.errors.NotDifferentiableError, match="defjvp"):
        autograd.deriv(cube)(2.0)
    autograd.defjvp(cube, "same", argnums=[0])
    assert autograd.deriv(cube)(2.0) == 1.0


def test_flattening_and_hessian_products() -> None:
    vector, back = system("primad.compat.autograd").flatten({"a": np.ones((2, 2)), "b": 3.0})
    assert vector.tolist() == [1.0] * 4 + [3.0] and back(vector)["a"].shape == (2, 2)
    f = lambda x: np.sum(x**3)  # noqa: E731
    product, gradient = autograd.make_hvp(f)(np.ones(2))
    assert np.allclose(product(np.array([1.0, 2.0])), [6.0, 12.0]) and np.allclose(gradient, 3.0)
    assert autograd.multigrad_dict(lambda a, b=3.0: a * b)(2.0) == {"a": 3.0, "b": 2.0}


# -- rules for one mode, for the other, or for both --------------------------------------------------------------------


def product(rules: dict[str, dict[int, Any]]) -> Any:
    """Return x y² as a primitive with rules of some kinds for some arguments; wrong ones show which was taken."""

    @autograd.primitive
    def product(x: Any, y: Any) -> Any:
        return x * y**2

    for name, of_arguments in rules.items():
        for place, rule in of_arguments.items():
            getattr(autograd, name)(product, rule, argnums=[place])
    return product


PULLS = {0: lambda ans, x, y: lambda g: g * y**2, 1: lambda ans, x, y: lambda g: 2.0 * g * x * y}
PUSHES = {0: lambda g, ans, x, y: g * y**2, 1: lambda g, ans, x, y: 2.0 * g * x * y}
CHOICES = list(itertools.product(("none", "zero", "right"), repeat=2))
X, Y = np.array([0.5, 2.0]), np.array([1.5, -1.0])


def chosen(rules: dict[int, Any], choices: Any) -> dict[int, Any]:
    return {i: rules[i] if choice == "right" else None for i, choice in enumerate(choices) if choice != "none"}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("pulls", CHOICES, ids="-".join)
@pytest.mark.parametrize("pushes", CHOICES, ids="-".join)
def test_rules_serve_their_mode_and_none_is_zero(pulls: Any, pushes: Any) -> None:
    f = product({"defvjp": chosen(PULLS, pulls), "defjvp": chosen(PUSHES, pushes)})
    right = [np.broadcast_to(Y**2, 2), 2.0 * X * Y]
    lacking = primad.errors.NotDifferentiableError
    for moving in ((0,), (1,), (0, 1)):
        total = lambda x, y: autograd.numpy.sum(f(x, y))  # noqa: E731
        pull, push = ([kind[i] for i in moving] for kind in (pulls, pushes))
        reverse = pull if "none" not in pull else push
        forward = push
        if "none" in reverse:
            with pytest.raises(lacking, match="defvjp"):
                autograd.grad(total, moving)(X, Y)
        else:
            expected = [right[i] * (kind == "right") for i, kind in zip(moving, reverse, strict=True)]
            np.testing.assert_allclose(autograd.grad(total, moving)(X, Y), expected)
        given = tuple([(X, Y)[i] for i in moving])
        if "none" in forward:
            with pytest.raises(lacking, match="defjvp"):
                autograd.make_jvp(f, moving)(X, Y)(given)
        else:
            expected = [right[i] * (X, Y)[i] * (kind == "right") for i, kind in zip(moving, forward, strict=True)]
            np.testing.assert_allclose(autograd.make_jvp(f, moving)(X, Y)(given)[1], sum(expected))


def test_two_sided_rules_compose_to_every_order_and_under_vmap() -> None:
    f = product({"defvjp": PULLS, "defjvp": PUSHES})
    plain = lambda x, y: x * y**2  # noqa: E731
    for of in (
        lambda f: autograd.grad(autograd.grad(f, 1), 0)(1.5, 2.0),
        lambda f: autograd.deriv(autograd.grad(f, 1), 1)(1.5, 2.0),
        lambda f: autograd.grad(lambda y: autograd.deriv(f, 1)(1.5, y) ** 2)(2.0),
        lambda f: autograd.hessian(f, 1)(1.5, 2.0),
        lambda f: primad.derivative(lambda y: f(1.5, y), 2)(2.0),
        lambda f: primad.vmap(primad.grad(f, 1))(X, Y),
        lambda f: primad.vmap(lambda y: primad.grad(lambda y: primad.jvp(lambda y: f(1.5, y), (y,), (y,))[1] ** 2)(y))(
            Y
        ),
        lambda f: primad.jit(primad.grad(f, 1))(1.5, 2.0),
        lambda f: np.array(primad.jacfwd(f, 1)(X, Y)),
        lambda f: np.array(primad.jacrev(f, 1)(X, Y)),
    ):
        np.testing.assert_allclose(of(f), of(plain), rtol=1e-12)


def test_same_is_the_function_itself_forwards_and_its_transpose_is_asked_for() -> None:
    twice = autograd.primitive(lambda x: x + x)
    autograd.defjvp(twice, "same")
    assert autograd.deriv(twice)(3.0) == 2.0
    with pytest.raises(primad.errors.NotDifferentiableError):
        autograd.grad(twice)(3.0)
    autograd.defvjp(twice, lambda ans, x: lambda g: 2.0 * g)
    assert autograd.grad(twice)(3.0) == 2.0 and autograd.deriv(twice)(3.0) == 2.0


def test_a_primitive_is_called_once_with_plain_arrays() -> None:
    seen = []

    @autograd.primitive
    def square(x: Any) -> Any:
        y = primad.numpy.zeros(np.shape(x))  # inside of a recording it would be an array that takes traced values
        seen.append((type(x), type(y)))
        return x**2 + y

    autograd.defvjp(square, lambda ans, x: lambda g: 2.0 * g * x)
    for k in range(3):
        x = X + k
        np.testing.assert_allclose(autograd.elementwise_grad(square)(x), 2.0 * x)
        np.testing.assert_allclose(autograd.value_and_grad(lambda x: autograd.numpy.sum(square(x)))(x)[0], np.sum(x**2))
    assert len(seen) == 6 and set(seen) == {(np.ndarray, np.ndarray)}


OTHERS = {
    "an integer": 3,
    "a string": "twice",
    "options": {"factor": 2.0, "name": "x"},
    "nothing": None,
    "a function": np.sin,
}


@pytest.mark.parametrize("other", OTHERS)
def test_arguments_that_do_not_move_may_be_anything(other: str) -> None:
    def f(x: Any, y: Any, *, also: Any = None) -> Any:
        assert y is OTHERS[other] and also is OTHERS[other]
        return autograd.numpy.sum(x**2)

    y = OTHERS[other]
    call = {"also": y}
    assert np.allclose(autograd.grad(f)(X, y, **call), 2.0 * X)
    assert np.allclose(autograd.grad(lambda y, x, also: f(x, y, also=also), 1)(y, X, y), 2.0 * X)
    assert np.allclose(autograd.value_and_grad(f)(X, y, **call)[1], 2.0 * X)
    assert np.allclose(autograd.grad_and_aux(lambda x, y, also: (f(x, y, also=also), 1.0))(X, y, **call)[0], 2.0 * X)
    assert np.allclose(autograd.jacobian(f)(X, y, **call), 2.0 * X)
    assert np.allclose(autograd.hessian(f)(X, y, **call), 2.0 * np.eye(2))
    assert np.allclose(autograd.elementwise_grad(f)(X, y, **call), 2.0 * X)
    assert np.allclose(autograd.make_vjp(f)(X, y, **call)[0](1.0), 2.0 * X)
    assert np.allclose(autograd.make_jvp(f)(X, y, **call)(X)[1], 2.0 * X @ X)
    assert np.allclose(autograd.make_hvp(f)(X, y, **call)[0](X), 2.0 * X)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 3, 4)])
def test_products_with_jacobians_sum_the_axes_of_the_tensor(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    weights, tensor, x = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=shape), rng.normal(size=5)
    f = lambda x: autograd.numpy.sin(autograd.numpy.dot(weights, x))  # noqa: E731
    wanted = np.tensordot(tensor, np.cos(weights @ x)[..., None] * weights, len(shape))
    for name in ("tensor_jacobian_product", "vector_jacobian_product"):
        assert np.allclose(getattr(autograd, name)(f)(x, tensor), wanted)


def test_elements_of_arrays_are_numbers() -> None:
    anp = autograd.numpy
    f = lambda x: x[0] * 3.0 if anp.isscalar(x[0]) and anp.isscalar(2.0) and not anp.isscalar(x) else x[1]  # noqa: E731
    assert autograd.grad(f)(np.ones(2)).tolist() == [3.0, 0.0]


def test_holomorphic_grad() -> None:
    """It is the gradient of the real part, as autograd's, and so f' of what is holomorphic."""
    z = np.array([1 + 2j, -0.5j])
    found = autograd.holomorphic_grad(lambda z: np.sum(np.exp(z) * z))(z)
    np.testing.assert_allclose(found, np.exp(z) * (1 + z), rtol=1e-14)
    np.testing.assert_allclose(autograd.holomorphic_grad(np.sin)(z[0]), np.cos(z[0]), rtol=1e-14)
    np.testing.assert_allclose(autograd.holomorphic_grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z.conj())
    np.testing.assert_allclose(autograd.holomorphic_grad(lambda z: np.sum(z * z.conj() + 1j * z.real))(z), 2 * z.conj())
    with pytest.warns(UserWarning, match="not complex"):
        found = autograd.holomorphic_grad(lambda x: np.sum(x * (x + 1j)))(z.real)
    np.testing.assert_allclose(found, 2 * z.real)
